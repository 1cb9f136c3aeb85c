#!/bin/bash
# Bad input, through the programs: one clear error that names the file and the remedy, exit code 2 (1 for usage, 3 where no
# plan is possible), little memory, nothing left behind; Ctrl-C ends every rank and keeps what was recorded.
set -u
build=${GSRT_BUILDDIR:-.}
source=${GSRT_SRCDIR:-.}
mpirun=${GSRT_MPIRUN:-mpirun}
bugs=${GSRT_SHARED_DATA:-$source/../shared/data}/bugs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checked=0

# refuse CODE TEXT COMMAND...: it ends with CODE and one error line that holds TEXT, and writes no run directory
refuse() {
    local code=$1 text=$2 got
    shift 2
    rm -rf "$work/run"
    (
        # address space, libraries and the mapped model included: a count from a file that is believed would break it
        [ "$1" != "$build/gsrt" ] || ulimit -v 600000
        timeout 300 "$@" -o "$work/run"
    ) >"$work/out" 2>"$work/err"
    got=$?
    if [ "$got" -ne "$code" ]; then
        cat "$work/err"
        echo "$*: exit code $got, expected $code"
        exit 1
    fi
    if [ "$(grep -c 'error:' "$work/err")" -ne 1 ] || ! grep -qF -- "$text" "$work/err"; then
        cat "$work/err"
        echo "$*: not one error with: $text"
        exit 1
    fi
    if [ -e "$work/run" ] || [ -s "$work/out" ]; then
        echo "$*: something was left behind"
        exit 1
    fi
    checked=$((checked + 1))
}

# the scenario of most cases; $1: the model, $2: the stages
scenario() {
    cat >"$work/scenario.yaml" <<YAML
gsrt: 1
name: bad-input
workload:
  model: $1
  requests:
    - {prompt: "Once", max_tokens: 4}
contract: bitwise
plan:
  stages: [$2]
YAML
}

tiny=$(realpath "$source/models/tiny.gguf")
whole='{layers: [0, 4], ranks: [0]}'
twin() { refuse "$1" "$2" "$build/gsrt" twin "$work/scenario.yaml"; }

if [ -d "$bugs/gguf" ]; then
    for file in "$bugs"/gguf/*.gguf "$bugs"/weights/*; do
        scenario "$file" "$whole"
        twin 2 "$(basename "$file")"
    done
    for file in "$bugs"/tokenizer/*; do # any bytes are text: never an abort
        python3 - "$file" "$work/scenario.yaml" "$tiny" <<'PY' || exit 1
import sys
text = open(sys.argv[1], "rb").read().decode("utf-8", "replace").rstrip("\n")
quoted = "".join("\\u%04x" % ord(c) if ord(c) < 0x10000 else "\\U%08x" % ord(c) for c in text)
open(sys.argv[2], "w").write(
    'gsrt: 1\nname: text\nworkload:\n  model: %s\n  requests:\n    - {prompt: "%s", max_tokens: 4}\n'
    "contract: bitwise\nplan:\n  stages: [{layers: [0, 4], ranks: [0]}]\nverify: reference\n" % (sys.argv[3], quoted)
)
PY
        rm -rf "$work/run"
        if ! "$build/gsrt" twin "$work/scenario.yaml" -o "$work/run" >"$work/out" 2>&1; then
            cat "$work/out"
            echo "$file: a prompt of these bytes ends the run"
            exit 1
        fi
        checked=$((checked + 1))
    done
fi

head -c 100000 "$tiny" >"$work/cut.gguf"
scenario "$work/cut.gguf" "$whole"
twin 2 cut.gguf
scenario "$work" "$whole"
twin 2 'is a directory'
scenario "$work/none.gguf" "$whole"
twin 2 none.gguf
cp "$tiny" "$work/changed.gguf"
printf 'x' | dd of="$work/changed.gguf" bs=1 seek=1000000 conv=notrunc 2>/dev/null
sed 's/tiny.gguf/changed.gguf/' "$source/models/tiny.gguf.xxh3" >"$work/changed.gguf.xxh3"
scenario "$work/changed.gguf" "$whole"
twin 2 changed.gguf
scenario "$tiny" "$whole"
refuse 2 "did you mean 'model'?" "$build/gsrt" twin "$work/scenario.yaml" --set workload.modle=x
refuse 2 'max_tokens' "$build/gsrt" twin "$work/scenario.yaml" --set 'workload.requests[0].max_tokens=many'
refuse 2 'workload.requests[0]: a prompt of' "$build/gsrt" twin "$work/scenario.yaml" \
    --set 'workload.requests[0].max_tokens=600'
refuse 2 'none.yaml' "$build/gsrt" twin "$work/none.yaml"
refuse 1 "unknown option '--jsno'" "$build/gsrt" twin "$work/scenario.yaml" --jsno
scenario "$tiny" '{layers: [0, 2], ranks: [0]}, {layers: [2, 4], ranks: [1]}'
twin 2 'plan.stages[1]'
scenario "$tiny" '{layers: [0, 2], ranks: [0]}, {layers: [4, 4], ranks: [1]}'
twin 2 'plan.stages[1]'
scenario "$tiny" '{layers: [0, 3], ranks: [0]}'
twin 2 'plan'
scenario "$tiny" '{layers: [0, 2], ranks: [0]}, {layers: [3, 4], ranks: [0]}'
twin 2 'plan.stages[1]'

# the same under mpirun: each rank ends with the code, and one of them says why
launch() { refuse "$1" "$2" "$mpirun" -q -n "$3" "$build/gsrt-launch" "$work/scenario.yaml"; }
scenario "$work/cut.gguf" "$whole"
launch 2 cut.gguf 4
scenario "$tiny" '{layers: [0, 4], ranks: [0, 1, 2]}'
launch 3 'start more ranks' 2

# Ctrl-C in the middle of an answer: no process, and the lines so far are whole
scenario "$tiny" '{layers: [0, 2], ranks: [0]}, {layers: [3, 4], ranks: [1, 2]}'
# shellcheck disable=SC2046
requests=$(printf '{prompt: "Once upon a time", max_tokens: 500, ignore_eos: true}, %.0s' $(seq 64))
rm -rf "$work/run"
"$mpirun" -q -n 4 "$build/gsrt-launch" "$work/scenario.yaml" --set "workload.requests=[$requests]" \
    --set runtime.batch=1 -o "$work/run" >"$work/out" 2>&1 &
job=$!
end=$((SECONDS + 30))
until [ -s "$work/run/tokens.jsonl" ]; do
    if [ "$SECONDS" -ge "$end" ] || ! kill -0 "$job" 2>/dev/null; then
        cat "$work/out"
        echo 'the run did not begin'
        exit 1
    fi
    read -r -t 0.05 <> <(:) || true
done
kill -INT "$job"
wait "$job"
code=$?
[ "$code" -ne 0 ] || { echo 'an interrupted run must not look like a good one'; exit 1; }
if pgrep -f -- "$work/scenario.yaml" >/dev/null; then
    echo "still there: $(pgrep -f -- "$work/scenario.yaml" | xargs)"
    exit 1
fi
if grep -v '^{"request":[0-9]*,.*"}$' "$work/run/tokens.jsonl"; then
    echo 'a line of tokens.jsonl is not whole'
    exit 1
fi
grep -q '"exit":130' <(tr -d ' \n' <"$work/run/report.json") || { echo 'report.json does not say 130'; exit 1; }
echo "$checked inputs refused or taken as they should be; Ctrl-C after $(wc -l <"$work/run/tokens.jsonl") tokens"
