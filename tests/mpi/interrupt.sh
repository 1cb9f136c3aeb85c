#!/bin/bash
# Ctrl-C ends every rank at once and leaves neither a process nor a shared-memory segment; so do SIGTERM to mpirun, the
# death of mpirun, and the death of a keeper.
set -u
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
ranks=${GSRT_BUILDDIR:-.}/tests/mpi/ranks
mpirun=${GSRT_MPIRUN:-mpirun}
mark=gsrt-interrupt-$$ # on the command line of every process of this test
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$1"
    sed 's/^/  | /' "$work/output"
    mine | xargs -r kill -KILL
    exit 1
}

# Processes of this test, by their command line; mpirun not among them once it has gone.
mine() {
    # the brackets keep grep from finding itself
    grep -l -z -x "${mark%?}[${mark: -1}]" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3
}

# Shared memory that the ranks of this drill made and nobody has any more: System V's by its creator, files by who maps
# them. What other jobs on this machine have meanwhile does not count.
left() {
    local file
    ipcs -m -p | awk -v pids=" $pids " '$3 ~ /^[0-9]+$/ && index(pids, " " $3 " ") { print "segment " $1 }'
    for file in /dev/shm/*; do
        [ -e "$file" ] && [ "$file" -nt "$work/never" ] && ! grep -qs -- "$file" /proc/[0-9]*/maps && echo "$file"
    done
}

# await SECONDS COMMAND...: until it succeeds
await() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        read -r -t 0.05 <>"$work/never" || true
    done
}
all_wait() { [ "$(grep -c '^waiting' "$work/output")" -eq 4 ]; }
none_is_left() { [ -z "$(mine)" ]; }
nothing_is_left() { [ -z "$(left)" ]; }

# drill NAME COMMAND...: start four ranks, run COMMAND when all wait, then all must go; the code of mpirun in $code
drill() {
    local name=$1 pids
    shift
    : >"$work/output"
    timeout 300 "$mpirun" -q -n 4 "$ranks" wait "$mark" >"$work/output" 2>&1 &
    launcher=$!
    await 30 all_wait || fail "$name: the ranks did not start"
    mpirun_pid=$(pgrep -P "$launcher")
    pids=$(mine | xargs)
    "$@"
    { wait "$launcher"; } 2>/dev/null
    code=$?
    await 10 none_is_left || fail "$name: still there: $(mine | xargs)"
    await 5 nothing_is_left || fail "$name: shared memory was left: $(left | xargs)"
    echo "$name: mpirun returned $code, all ranks ended"
}

press_ctrl_c() { kill -INT "$mpirun_pid"; }
terminate() { kill -TERM "$mpirun_pid"; }
kill_mpirun() { kill -KILL "$mpirun_pid"; }
# the parent of a worker is its keeper; both have the mark, and only the keeper has a child with it
kill_a_keeper() {
    local pid
    for pid in $(mine); do
        if [ "$pid" != "$mpirun_pid" ] && [ "$pid" != "$launcher" ] && [ -n "$(pgrep -P "$pid")" ]; then
            kill -KILL "$pid"
            return
        fi
    done
    fail 'no keeper found'
}

mkfifo "$work/never"
drill 'Ctrl-C' press_ctrl_c
[ "$(grep -c '^interrupted' "$work/output")" -eq 4 ] || fail 'not every rank ended in good order'
[ "$code" -ne 0 ] || fail 'an interrupted run must not look like a good one'
drill 'SIGTERM' terminate
drill 'mpirun killed' kill_mpirun
drill 'a keeper killed' kill_a_keeper
