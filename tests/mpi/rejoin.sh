#!/bin/bash
# Workers die, and their next incarnations join: killed in turn, three generations; in the middle of a storm of messages;
# stopped, ended by order; by drills; two at once; until the budget is spent; with their keeper; before the wire-up.
set -u
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
rejoin=${GSRT_BUILDDIR:-.}/tests/mpi/rejoin
mpirun=${GSRT_MPIRUN:-mpirun}

# expect CODE N SETTING WHAT...: run WHAT on N ranks; its output goes to $output
expect() {
    local code=$1 n=$2 setting=$3 got
    shift 3
    output=$(env "$setting" timeout 300 "$mpirun" -q ${flags:-} -n "$n" "$rejoin" "$@" 2>&1)
    got=$?
    if [ "$got" -ne "$code" ]; then
        echo "$output"
        echo "$setting, $n ranks, $*: exit code $got, expected $code"
        exit 1
    fi
}

contains() {
    case $output in
    *"$1"*) ;;
    *)
        echo "$output"
        echo "missing in the output: $1"
        exit 1
        ;;
    esac
}

# count N WORD: so many lines of the output begin with it
count() {
    [ "$(grep -c "^$2" <<<"$output")" -eq "$1" ] || {
        echo "$output"
        echo "expected $1 lines with '$2'"
        exit 1
    }
}

# median WORD: of the numbers after it, microseconds since the kill
median() {
    grep '^round' <<<"$output" | grep -o "$1 [0-9]*" | cut -d' ' -f2 | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

for transport in shm tcp; do
    expect 0 4 GSRT_TRANSPORT=$transport rounds 12
    count 12 'round'
    echo "$transport: after SIGKILL, medians: sentinel $(median down) us, word $(median word) us, admitted $(median join) us," \
        "first message $(median said) us"
done
expect 0 2 GSRT_TRANSPORT= rounds 4
count 4 'round'
# over shared memory some of them leave others deaf, who start again (mailbox/README.md); when it was the killer, it kills
# once more in that round, so the victims need more restarts than usual
for transport in shm tcp; do
    GSRT_RESTART_MAX=32 expect 0 4 GSRT_TRANSPORT=$transport storm 8
    count 8 'round'
    echo "$transport: amid a storm: word $(median word) us, admitted $(median join) us"
done
expect 0 3 GSRT_TRANSPORT= stopped
echo "$output"
contains 'ordered: word'
expect 0 3 GSRT_TRANSPORT= drilled
expect 0 3 GSRT_TRANSPORT= fenced
GSRT_RESTART_MAX=0 expect 0 2 GSRT_TRANSPORT=shm deaf # which is nobody's death
contains 'rank 1 is deaf'
expect 0 3 GSRT_TRANSPORT= two
expect 0 3 GSRT_RESTART_MAX=1 budget
contains 'killed 2 times'
contains 'is not started again (1 restarts)'
expect 0 3 GSRT_RESTART_MAX=0 budget
contains 'killed 1 times'
expect 5 3 GSRT_RESTART_MAX=0 alone
expect 1 2 GSRT_RESTART_MAX=many rounds 0
contains "'many' is not a number"
start=$SECONDS
expect 5 3 GSRT_TRANSPORT= early
contains 'was killed by signal 9'
[ $((SECONDS - start)) -le 20 ] || {
    echo "a death before the wire-up ended the job only after $((SECONDS - start)) s"
    exit 1
}
flags=--enable-recovery
expect 0 3 GSRT_TRANSPORT= keeper
contains 'left, and its keeper cannot be reached'
