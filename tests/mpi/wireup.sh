#!/bin/bash
# mpirun wires ranks up: messages of all sizes both ways over shared memory and TCP, idle ranks block, exit codes pass,
# a killed rank is noticed.
set -u
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
ranks=${GSRT_BUILDDIR:-.}/tests/mpi/ranks
mpirun=${GSRT_MPIRUN:-mpirun}

# expect CODE N VARIABLE=VALUE WHAT...: run WHAT on N ranks; its output goes to $output
expect() {
    local code=$1 n=$2 setting=$3 got
    shift 3
    output=$(env "$setting" timeout 300 "$mpirun" -q -n "$n" "$ranks" "$@" 2>&1)
    got=$?
    echo "$output"
    if [ "$got" -ne "$code" ]; then
        echo "$setting, $n ranks, $*: exit code $got, expected $code"
        exit 1
    fi
}

# contains TEXT: the last output has it
contains() {
    case $output in
    *"$1"*) ;;
    *)
        echo "missing in the output: $1"
        exit 1
        ;;
    esac
}

for n in 2 4; do
    expect 0 "$n" GSRT_TRANSPORT=shm exchange 8
    contains 'near sysv/memory'
    expect 0 "$n" GSRT_TRANSPORT=tcp exchange 8
    contains 'near tcp/'
done
expect 0 2 GSRT_TRANSPORT=shm exchange 32
expect 0 2 GSRT_TRANSPORT=tcp exchange 32
expect 0 1 GSRT_TRANSPORT= exchange 1
expect 0 3 GSRT_TRANSPORT= exchange 1
contains 'near sysv/memory'
hole=$(mktemp)
expect 0 3 GSRT_TRANSPORT=shm hole "$hole"
rm "$hole"
expect 0 3 GSRT_TRANSPORT=shm idle
expect 0 3 GSRT_TRANSPORT=tcp idle
expect 7 3 GSRT_TRANSPORT=shm exit 7
expect 0 3 GSRT_TRANSPORT=shm exit 0
expect 5 3 GSRT_TRANSPORT=shm die
contains 'was killed by signal 9'
expect 1 2 GSRT_TRANSPORT=pigeon exchange 1
contains "'pigeon' is not known"
output=$(env -u OMPI_COMM_WORLD_SIZE -u PMIX_RANK timeout 300 "$ranks" alone) || exit 1
contains '1 ranks'
output=$(env -u OMPI_COMM_WORLD_SIZE -u PMIX_RANK -u OMPI_ALLOW_RUN_AS_ROOT timeout 300 "$ranks" start 3 exit 9 2>&1)
code=$?
[ "$code" -eq 9 ] || {
    echo "$output"
    echo "mpirun started by the program itself: exit code $code, expected 9"
    exit 1
}
contains 'hosts 1'
expect 0 2 GSRT_TRANSPORT=shm latency 2000
contains 'us one way'
