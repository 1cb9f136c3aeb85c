#!/bin/bash
# A campaign, through the program: seeds with faults of their own end with the same answer, bit for bit; the result does
# not depend on the number of processes; nothing is left behind; a seed is run again by itself. With an argument: so many
# seeds of scenarios/faulted-cluster.yaml, for a machine that has the time (make campaign).
set -u
gsrt=${GSRT_BUILDDIR:-.}/gsrt
source=${GSRT_SRCDIR:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ $# -gt 0 ]; then
    exec "$gsrt" twin "$source/scenarios/faulted-cluster.yaml" --seeds "$1"
fi

# the same cluster with shorter answers
campaign() { # FILE OPTION...
    local out=$1
    shift
    if ! timeout 300 "$@" -o "$work/kept" >"$work/$out" 2>"$work/err"; then
        cat "$work/$out" "$work/err"
        echo "$*: failed"
        exit 1
    fi
}
short=(twin "$source/scenarios/faulted-cluster.yaml"
    --set 'workload.requests[0].max_tokens=40' --set 'workload.requests[1].max_tokens=32'
    --set 'faults=[{kill: 1, when: {request: 0, token: 10}}, {kill: 0, when: {request: 0, token: 25}}]')

# without what is of the clock
stable() { sed -e '/^took /d' "$work/$1"; }

fail() {
    cat "$work"/all "$work"/one "$work"/err 2>/dev/null
    echo "$1"
    exit 1
}

campaign all "$gsrt" "${short[@]}" --seeds 40
grep -q '^faulted-cluster: 40 seeds from 1: .* 0 broken$' "$work/all" || fail 'not 40 seeds without a break'
[ ! -e "$work/kept" ] || fail 'something was left behind'
grep -q '^run twice with the same outcome: 1;' "$work/all" || fail 'no seed was run twice'

campaign one taskset -c "$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')" "$gsrt" "${short[@]}" --seeds 10
campaign all "$gsrt" "${short[@]}" --seeds 10
diff <(stable all) <(stable one) || fail 'one process and several come to different results'

campaign one "$gsrt" "${short[@]}" --set twin.seed=7 --seeds 1
[ -s "$work/kept/tokens.jsonl" ] || fail 'a single seed keeps its run directory'
grep -q '^seed 7 draws$' "$work/one" || fail 'a single seed does not say what it draws'
rm -rf "$work/kept"

campaign one "$gsrt" "${short[@]}" --seeds 2 --json
"${PYTHON3:-python3}" - "$work/one" <<'PY' || fail 'the JSON is wrong'
import json, sys
got = json.load(open(sys.argv[1]))
assert got["schema"] == "gsrt-campaign/1" and got["seeds"] == 2 and got["broken"] == 0 and got["broken_seeds"] == [], got
assert got["complete"] + got["no_quorum"] == 2 and got["faults"]["scenario"] == 4 and got["events"] > 0, got
assert got["simulated_recovery_ms"]["total"]["worst"] >= got["simulated_recovery_ms"]["total"]["median"] > 0, got
PY
echo "53 seeds"
