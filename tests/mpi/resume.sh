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
more=${SNAPSHOT_TOKENS:+, snapshot_tokens: $SNAPSHOT_TOKENS}

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
runtime: {batch: 2$more}
YAML

answer() { LC_ALL=C sort "$1/tokens.jsonl"; }

timeout 120 "$mpirun" -q -n 3 "$launch" "$work/scenario.yaml" -o "$work/whole" >"$work/out" 2>&1 || fail 'the undisturbed run failed'
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
    start 3 "$work/scenario.yaml" -o "$run"
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
[ "$count" -eq 2 ] || fail "there were $count incidents, and two faults"
timeout 120 "$mpirun" -q -n 2 "$launch" --resume "$run" >"$work/out" 2>&1 || fail 'the run with faults was not resumed'
[ ! -e "$run/incidents/3.json" ] || fail 'a fault was done again'
answer "$run" | cmp -s - "$work/base" || fail 'the run with faults has other tokens or hashes'
for name in rank-0.0 rank-1.0 rank-0.0.g1 rank-1.0.g1; do
    [ -e "$run/trace/$name.gsrtt" ] || fail "trace/$name.gsrtt is missing"
done
echo "$done_kills kills, $lives lives resumed, one answer"
