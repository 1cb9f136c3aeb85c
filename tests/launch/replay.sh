#!/bin/bash
# A run, replayed: gsrt replay finds every action of a real run and of a twin's equal. A trace in which a byte was changed,
# a frame left out or its end cut off is refused or said to be torn, with its place; one whose checksums were made right
# again differs where it was changed.
set -u
build=${GSRT_BUILDDIR:-.}
source=$(realpath "${GSRT_SRCDIR:-.}")
mpirun=${GSRT_MPIRUN:-mpirun}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checked=0

fail() {
    [ ! -e "$work/out" ] || head -c 4000 "$work/out"
    echo "$*"
    exit 1
}

# replays CODE RUN TEXT...: gsrt replay ends with CODE, and says each TEXT
replays() {
    local code=$1 run=$2 got text
    shift 2
    timeout 300 "$build/gsrt" replay "$run" >"$work/out" 2>&1
    got=$?
    [ "$got" -eq "$code" ] || fail "$run: exit code $got, expected $code"
    for text in "$@"; do
        grep -qF -- "$text" "$work/out" || fail "$run: does not say: $text"
    done
    checked=$((checked + 1))
}

cat >"$work/scenario.yaml" <<YAML
gsrt: 1
name: replay
workload:
  model: $source/models/tiny.gguf
  requests:
    - {prompt: "Once upon a time", max_tokens: 24, ignore_eos: true}
    - {prompt: "There was a", max_tokens: 12, temperature: 0.9, top_p: 0.8, seed: 7, ignore_eos: true}
    - {prompt: "There was a", max_tokens: 5, ignore_eos: true}
plan:
  stages:
    - {layers: [0, 2], ranks: [0, 1], split: [3, 5]}
    - {layers: [3, 4], ranks: [2]}
  spares: [3]
YAML

timeout 300 "$mpirun" -q -n 4 "$build/gsrt-launch" "$work/scenario.yaml" -o "$work/real" >"$work/out" 2>&1 ||
    fail 'the run failed'
timeout 300 "$build/gsrt" twin "$work/scenario.yaml" -o "$work/twin" >"$work/out" 2>&1 || fail 'the twin failed'
for run in real twin; do
    replays 0 "$work/$run" 'replay equal (4 traces, ' 'rank 0, incarnation 0: ' 'rank 3, incarnation 0: '
    [ "$(grep -c '^  membership: ' "$work/out")" -eq 4 ] || fail "$run: not four membership machines"
    # every token is an action, and an end each; every request and step an event
    grep -Eq '^  scheduler: [0-9]+ events fed, [0-9]+ actions compared$' "$work/out" || fail "$run: no scheduler"
    actions=$(sed -n 's/^  scheduler: .*fed, \([0-9]*\) actions.*/\1/p' "$work/out")
    [ "$actions" -ge $((24 + 12 + 5 + 3)) ] || fail "$run: only $actions actions of the scheduler"
done
"$build/gsrt" replay --json "$work/real" >"$work/out" || fail 'json: exit code'
grep -q '^{"verdict":"equal",' "$work/out" || fail 'json: no verdict'
[ -z "$("$build/gsrt" replay -q "$work/real" 2>&1)" ] || fail 'quiet: it said something'

# a rank is killed in the middle of an answer: its trace is torn where the kill found it, and equal up to there
cp "$work/scenario.yaml" "$work/kill.yaml"
printf 'faults:\n  - {kill: 1, when: {request: 0, token: 9}}\n' >>"$work/kill.yaml"
timeout 300 "$mpirun" -q -n 4 "$build/gsrt-launch" "$work/kill.yaml" -o "$work/real-kill" >"$work/out" 2>&1 ||
    fail 'the run with a kill failed'
timeout 300 "$build/gsrt" twin "$work/kill.yaml" -o "$work/twin-kill" >"$work/out" 2>&1 ||
    fail 'the twin with a kill failed'
for run in real-kill twin-kill; do
    replays 0 "$work/$run" 'rank 1, incarnation 0: ' 'torn at byte ' 'replay equal ('
    grep -A 3 '^rank 1, incarnation 0: ' "$work/out" | grep -q '^  torn at byte ' || fail "$run: rank 1.0 is not torn"
    # the plan of the second view has another scheduler
    grep -Eq '^  scheduler: .*, [2-9] machines$' "$work/out" || fail "$run: one scheduler only"
done

# ---- damage: $damaged is a copy of the real run in which the trace of rank 0 is another one ----

trace=$work/real/trace/rank-0.0.gsrtt
damaged=$work/damaged
name=$damaged/trace/rank-0.0.gsrtt
cp -r "$work/real" "$damaged"
edit() { "$build/tests/ckpt/edit_trace" "$trace" "$name" "$@" || fail "edit $*"; }

edit frames
mv "$name" "$work/frames"
bytes=$(stat -c %s "$trace")
frames=$(wc -l <"$work/frames")

# frame_at BYTE: which frame holds it
frame_at() { awk -v at="$1" '$2 <= at { n = $1 } END { print n }' "$work/frames"; }

# one byte: in the first frame, its head, the middle, the last; the place is said
for at in 9 15 30 200 $((bytes / 3)) $((bytes / 2)) $((bytes - 40)) $((bytes - 1)); do
    edit flip "$at"
    replays 2 "$damaged" "damaged: $name: frame $(frame_at "$at"), byte " 'replay damaged ('
done
edit flip 0
replays 2 "$damaged" "damaged: $name: byte 0: not a GSRT trace"
edit flip 6
replays 2 "$damaged" "damaged: $name: byte 6: trace format version"

# a frame left out: what follows it does not continue the chain
for frame in 1 $((frames / 2)) $((frames - 2)); do
    edit drop "$frame"
    replays 2 "$damaged" "damaged: $name: frame $frame, byte " 'replay damaged ('
done

# the end cut off, between two frames and within one: as after a kill
middle=$(awk -v n=$((frames / 2)) '$1 == n { print $2 }' "$work/frames")
for at in "$middle" $((middle + 3)) $((middle + 17)) $((bytes - 1)); do
    edit cut "$at"
    replays 0 "$damaged" "torn at byte " 'replay equal ('
    [ "$(grep -c 'torn at' "$work/out")" -eq 1 ] || fail 'cut: not one torn trace'
done
edit cut 4
replays 2 "$damaged" "damaged: $name: byte 0: not a GSRT trace"

# an action that was changed with all checksums made right: only the replay can tell
for frame in $(awk '$3 == "action"' "$work/frames" | awk 'NR % 17 == 3 { print $1 }'); do
    edit change "$frame"
    replays 4 "$damaged" "differs at frame $frame: " 'recorded: ' 'replayed: ' 'replay different ('
done
# an event that was changed: it is refused, or an action that follows from it is another one, or it makes no difference
for frame in $(awk '$3 == "event"' "$work/frames" | awk 'NR % 23 == 5 { print $1 }'); do
    edit change "$frame"
    "$build/gsrt" replay "$damaged" >"$work/out" 2>&1
    case $? in
    0 | 2 | 4) checked=$((checked + 1)) ;;
    *) fail "event $frame: neither equal, damaged nor different" ;;
    esac
done
# the options of a machine: none can begin with these; without them nothing can have been fed
init=$(awk '$3 == "init" { print $1; exit }' "$work/frames")
edit change "$init"
replays 2 "$damaged" "damaged: $name: frame $init, byte " 'cannot have begun with these options'

# another rank's trace under this name; no trace of a rank; no run at all
cp "$trace" "$name"
cp "$trace" "$damaged/trace/rank-0.0.g2.gsrtt" # as a run that was resumed leaves it
replays 0 "$damaged" 'rank 0, incarnation 0, generation 2: ' 'replay equal (5 traces, '
mv "$damaged/trace/rank-0.0.g2.gsrtt" "$damaged/trace/rank-0.0.x.gsrtt"
replays 2 "$damaged" 'error: ' 'rank-0.0.x.gsrtt: no trace of a run has this name'
rm "$damaged/trace/rank-0.0.x.gsrtt"
cp "$work/real/trace/rank-1.0.gsrtt" "$name"
replays 2 "$damaged" "frame 0: this is the trace of rank 1, incarnation 0"
rm "$name"
replays 0 "$damaged" 'rank 0: no trace' 'replay equal (3 traces, '
rm "$damaged"/trace/*
replays 2 "$damaged" 'error: ' 'holds no trace'
replays 2 "$work/nothing" 'error: ' 'trace/ cannot be read'
echo "$checked replays"
