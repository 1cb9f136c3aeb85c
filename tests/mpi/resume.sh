#!/bin/bash
# Everything is killed at once, and the run goes on: keepers and workers and mpirun die by SIGKILL at a random token, then
# gsrt-launch --resume goes on, on another number of ranks, and is killed again; the answer is the undisturbed one, hash
# for hash. tests/mpi/resume.sh [KILLS]: so many (default 5). SEED repeats a sequence.
set -u
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
launch=$(realpath "${GSRT_BUILDDIR:-.}")/gsrt-launch
mpirun=${GSRT_MPIRUN:-mpirun}
model=$(realpath "${GSRT_SRCDIR:-.}")/models/tiny.gguf
kills=${1:-5}
RANDOM=${SEED:-$$}
first=${SEED:-$$}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    [ ! -e "$work/out" ] || tail -n 20 "$work/out"
    echo "SEED=$first: $*"
    exit 1
}

cat >"$work/scenario.yaml" <<YAML
gsrt: 1
name: resume
workload:
  model: $model
  requests:
    - {prompt: "Once upon a time", max_tokens: 120, seed: 1, ignore_eos: true}
    - {prompt_tokens: [1, 320, 261, 450, 335, 270, 380], max_tokens: 70, temperature: 0.9, top_p: 0.8, seed: 7, ignore_eos: true}
    - {prompt: "The cat", max_tokens: 5, temperature: 1, seed: 3, ignore_eos: true}
contract: bitwise
plan:
  stages:
    - {layers: [0, 2], ranks: [0, 1], split: [3, 5]}
    - {layers: [3, 4], ranks: [2]}
verify: reference
runtime: {batch: 2}
YAML

answer() { LC_ALL=C sort "$1/tokens.jsonl"; }

timeout 300 "$mpirun" -q -n 3 "$launch" "$work/scenario.yaml" -o "$work/whole" >"$work/out" 2>&1 || fail 'the undisturbed run failed'
answer "$work/whole" >"$work/base"
total=$(wc -l <"$work/base")

# tree PID: it and all that it has started, and they; where a process ends meanwhile, so much the better
tree() {
    local child
    echo "$1"
    # shellcheck disable=SC2013 # words, not lines
    for child in $(cat "/proc/$1/task"/*/children 2>/dev/null); do tree "$child"; done
}

# start N WORD...: on N ranks, in the background; $job is mpirun
start() {
    local n=$1
    shift
    "$mpirun" -q -n "$n" "$launch" "$@" >"$work/out" 2>&1 &
    job=$!
}

# kill_all_at LINES: once tokens.jsonl has so many; 1: the run was over before
kill_all_at() {
    local pids pid
    while kill -0 "$job" 2>/dev/null; do
        if [ -e "$run/tokens.jsonl" ] && [ "$(wc -l <"$run/tokens.jsonl")" -ge "$1" ]; then
            pids=$(tree "$job")
            # stopped first, so that none of them has time to do anything about the end of another
            # shellcheck disable=SC2086
            kill -STOP $pids 2>/dev/null
            pids=$(tree "$job")
            # shellcheck disable=SC2086
            kill -KILL $pids 2>/dev/null
            wait "$job" 2>/dev/null
            for pid in $pids; do
                while [ -e "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null; do :; done
            done
            return 0
        fi
    done
    wait "$job" || fail "a run ended with $? by itself"
    return 1
}

# refused CODE TEXT N WORD...: the run on N ranks (0: without mpirun) ends with this code, and says so
refused() {
    local code=$1 text=$2 n=$3 got
    shift 3
    if [ "$n" -eq 0 ]; then
        "$launch" "$@" >"$work/out" 2>&1
    else
        "$mpirun" -q -n "$n" "$launch" "$@" >"$work/out" 2>&1
    fi
    got=$?
    [ "$got" -eq "$code" ] || fail "$*: exit code $got, expected $code"
    grep -q "$text" "$work/out" || fail "$*: it did not say '$text'"
}

run=$work/run
done_kills=0
lives=0
while [ "$done_kills" -lt "$kills" ]; do
    rm -rf "$run"
    # half of the runs keep snapshots, so often that some die while one is being made
    start 3 "$work/scenario.yaml" -o "$run" --set runtime.snapshot_tokens=$((RANDOM % 2 * (1 + RANDOM % 20)))
    at=$((RANDOM % 12))
    while kill_all_at "$at"; do
        done_kills=$((done_kills + 1))
        # a torn line, as a full disk or a dying machine may leave one
        [ $((RANDOM % 2)) -eq 0 ] || [ ! -e "$run/tokens.jsonl" ] || printf '{"request":0,"ind' >>"$run/tokens.jsonl"
        n=$((1 << RANDOM % 3))
        lives=$((lives + 1))
        if [ ! -e "$run/scenario.yaml" ]; then
            # it died before it was a run
            refused 2 'run directory' 0 run --resume "$run"
            break
        fi
        start "$n" run --resume "$run"
        at=$((RANDOM % total))
        [ "$done_kills" -lt "$kills" ] || at=$((total + 1))
    done
    [ -e "$run/report.json" ] || continue
    answer "$run" | cmp -s - "$work/base" || fail 'a resumed run has other tokens or hashes'
    grep -q "kept ($total of $total logit hashes equal the reference)" "$work/out" || fail 'the contract was not kept'
done

mkdir "$work/empty"
refused 2 'is no run directory' 0 --resume "$work/empty"
refused 2 'this run is complete' 0 --resume "$run"
refused 2 'this run is complete' 2 run --resume "$run"
rm "$run/report.json"
printf 'samples 0123456789abcdef0123456789abcdef\n' >"$run/model"
refused 2 'begun with another model' 2 --resume "$run"
cp "$work/whole/model" "$run/model"
exec 9<"$run/tokens.jsonl"
flock -s 9
refused 2 'still going on' 2 --resume "$run"
exec 9<&-
rm -rf "$run/snapshots"
# what was emitted is computed again: other bits are found out
sed -i '/"request":0,"index":100,/,$d' "$run/tokens.jsonl"
cp "$run/tokens.jsonl" "$work/good"
sed '1s/"logits":"./"logits":"x/' "$work/good" >"$run/tokens.jsonl"
refused 2 'no line of tokens.jsonl' 2 --resume "$run"
sed '1{/"logits":"0/{s/"logits":"0/"logits":"1/;b};s/"logits":"./"logits":"0/}' "$work/good" >"$run/tokens.jsonl"
refused 4 'has other bits than were emitted' 2 --resume "$run"

# a fault that was done is not done again, and those of ranks that are not there do not stand in the way
cat >>"$work/scenario.yaml" <<YAML
faults:
  - {kill: 1, when: {request: 0, token: 30}}
  - {kill: 2, when: {request: 0, token: 119}}
  - {kill: 0, when: {seconds: 0}}
YAML
killed=false
while ! $killed; do
    rm -rf "$run"
    start 3 "$work/scenario.yaml" -o "$run"
    ! kill_all_at 80 || killed=true
done
count=$(find "$run/incidents" -name '*.json' | wc -l)
[ "$count" -ge 1 ] || fail 'the faults left no incident'
timeout 300 "$mpirun" -q -n 2 "$launch" --resume "$run" >"$work/out" 2>&1 || fail 'the run with faults was not resumed'
[ "$(find "$run/incidents" -name '*.json' | wc -l)" -eq "$count" ] || fail 'a fault was done again'
answer "$run" | cmp -s - "$work/base" || fail 'the run with faults has other tokens or hashes'
for name in rank-0.0 rank-1.0 rank-0.0.g1 rank-1.0.g1; do
    [ -e "$run/trace/$name.gsrtt" ] || fail "trace/$name.gsrtt is missing"
done
# snapshots: what they hold is not computed again, on any number of ranks; a damaged one is said, and the one before it
# taken, or none
snapshots() { (cd "$kept/snapshots" && find . -maxdepth 1 -name '*[0-9]' | sed 's|./||' | sort -n); }

# report KEY: of the snapshots in the report
report() { sed -n '/"snapshots": {/,/^  }/p' "$run/report.json" | tr -d ' \n' | sed -n "s/.*\"$1\":\([0-9a-z]*\).*/\1/p"; }

# restores N WHAT NUMBER REFUSED COMMAND...: once COMMAND has damaged it, the run goes on from snapshot NUMBER on N ranks
restores() {
    local n=$1 what=$2 number=$3 refused=$4
    shift 4
    rm -rf "$run"
    cp -r "$kept" "$run"
    rm -rf "$run/report.json" "$run/trace"
    head -n $((total - 8)) "$kept/tokens.jsonl" >"$run/tokens.jsonl"
    "$@"
    timeout 300 "$mpirun" -q -n "$n" "$launch" --resume "$run" >"$work/out" 2>&1 || fail "$what: not resumed"
    answer "$run" | cmp -s - "$work/base" || fail "$what: other tokens or hashes"
    [ "$(report restored)" = "$number" ] || fail "$what: restored snapshot $(report restored), expected $number"
    [ "$(grep -c 'is damaged and left out' "$work/out")" -eq "$refused" ] || fail "$what: expected $refused refused"
    [ "$(grep -c '"why"' "$run/report.json")" -eq "$refused" ] || fail "$what: expected $refused refused in report.json"
    [ "$number" = null ] || [ "$(report restored_positions)" -ge 64 ] || fail "$what: nothing was restored"
}

# flip FILE AT: the bits of one byte
flip() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    # shellcheck disable=SC2059 # the escape is made here
    printf "\\$(printf %03o $((byte ^ 255)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

sed -i '/^faults/,$d' "$work/scenario.yaml"
kept=$work/kept
while :; do
    rm -rf "$kept"
    timeout 300 "$mpirun" -q -n 3 "$launch" "$work/scenario.yaml" -o "$kept" --set runtime.snapshot_tokens=4 \
        >"$work/out" 2>&1 || fail 'the run with snapshots failed'
    answer "$kept" | cmp -s - "$work/base" || fail 'the run with snapshots has other tokens or hashes'
    [ "$(snapshots | wc -l)" -lt 2 ] || break # as many as the disk was fast enough for
done
[ "$(snapshots | wc -l)" -eq 2 ] || fail 'not two snapshots were kept'
newest=$(snapshots | tail -n 1)
before=$(snapshots | head -n 1)
at=$run/snapshots/$newest
for n in 1 2 4; do restores "$n" "intact on $n" "$newest" 0 true; done
restores 3 'a flipped byte' "$before" 1 flip "$at/0-1" 5000
restores 2 'a flipped byte of the manifest' "$before" 1 flip "$at/manifest" 20
restores 1 'a part that is cut off' "$before" 1 truncate -s -1 "$at/0-0"
restores 4 'a part that is missing' "$before" 1 rm "$at/1-0"
restores 2 'no manifest' "$before" 1 rm "$at/manifest"
restores 3 'one that was never committed' "$before" 0 mv "$at" "$at.part"
both() {
    truncate -s 10 "$at/1-0"
    flip "$run/snapshots/$before/0-0" 100
}
restores 2 'two damaged ones' null 2 both
# within a run, while one is being made: the leader is lost, then another
rm -rf "$run"
timeout 300 "$mpirun" -q -n 3 "$launch" "$work/scenario.yaml" -o "$run" --set runtime.snapshot_tokens=1 \
    --set 'faults=[{kill: 0, when: {request: 0, token: 90}}, {kill: 1, when: {request: 0, token: 105}}]' \
    >"$work/out" 2>&1 || fail 'the run with snapshots and faults failed'
answer "$run" | cmp -s - "$work/base" || fail 'the run with snapshots and faults has other tokens or hashes'
echo "$done_kills kills, $lives lives resumed, one answer"
