#!/bin/bash
# Two hosts on one machine: runs mpirun over both.
#
#     tests/mpi/two_hosts.sh [-n RANKS] COMMAND...     default: 2 ranks; they alternate between the hosts
#
# Each host is a network namespace, joined by a veth pair (the same interface name in each), entered with its own UTS,
# IPC, PID and mount namespace: own host name (gsrt-a, gsrt-b), own /dev/shm, own /proc. mpirun and the first rank are
# on gsrt-a. Open MPI reaches gsrt-b through a small script in ssh's place. Exit code: mpirun's; 77 where namespaces are
# not permitted (the reason is the last line). Inside, GSRT_LINK_DOWN names a script that cuts the link: sh $GSRT_LINK_DOWN
set -u
n=2
if [ "${1:-}" = -n ]; then
    n=$2
    shift 2
fi
[ $# -gt 0 ] || {
    echo "usage: $0 [-n RANKS] COMMAND..." >&2
    exit 1
}
skip() {
    echo "skipped: $1"
    exit 77
}
mpirun=${GSRT_MPIRUN:-mpirun}
tag=g$$
a=$tag-a
b=$tag-b
work=$(mktemp -d) || exit 1
clean() {
    local ns pids
    for ns in "$a" "$b"; do
        pids=$(ip netns pids "$ns" 2>/dev/null)
        # shellcheck disable=SC2086  # a list of numbers
        [ -z "$pids" ] || kill -KILL $pids 2>/dev/null
        ip netns del "$ns" 2>/dev/null
    done
    rm -rf "$work"
}

[ "$(id -u)" = 0 ] || skip 'network namespaces need root'
command -v ip >/dev/null || skip 'the program ip is missing (iproute2)'
unshare --uts --ipc --mount --pid --fork true 2>"$work/why" || {
    why=$(cat "$work/why")
    rm -rf "$work"
    skip "no namespaces here: $why"
}
trap clean EXIT
trap 'exit 130' INT TERM
{ ip netns add "$a" && ip netns add "$b"; } 2>"$work/why" || skip "no network namespaces here: $(cat "$work/why")"
ip link add name eth0 netns "$a" type veth peer name eth0 netns "$b" 2>"$work/why" ||
    skip "no veth pairs here: $(cat "$work/why")"

# is_up NAMESPACE: its interface is operational
is_up() { ip -n "$1" -o link show eth0 | grep -q 'state UP'; }
i=0
for ns in "$a" "$b"; do
    i=$((i + 1))
    { ip -n "$ns" link set lo up && ip -n "$ns" addr add "10.77.0.$i/24" dev eth0 && ip -n "$ns" link set eth0 up; } ||
        skip 'the interfaces cannot be set up'
done
mkfifo "$work/never"
for ns in "$a" "$b"; do
    tries=0
    until is_up "$ns"; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || skip 'the link between the hosts does not come up'
        read -r -t 0.05 <>"$work/never" || true
    done
done

# enter NAMESPACE NAME COMMAND...: on that host
cat >"$work/enter" <<'EOF'
#!/bin/sh
ns=$1 name=$2
shift 2
exec ip netns exec "$ns" unshare --uts --ipc --mount --pid --fork --kill-child sh -c '
    mount --make-rprivate / && mount -t proc proc /proc && mount -t tmpfs -o size=1g tmpfs /dev/shm &&
        hostname "$1" || exit 77
    mount --bind "$2" /etc/hosts || exit 77
    shift 2
    exec "$@"' sh "$name" "$(dirname "$0")/hosts" "$@"
EOF
# ssh's place: agent [options] HOST COMMAND...
cat >"$work/agent" <<'EOF'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
here=$(dirname "$0")
case $host in
gsrt-a) exec "$here/enter" "$(cat "$here/a")" gsrt-a sh -c "$*" ;;
gsrt-b) exec "$here/enter" "$(cat "$here/b")" gsrt-b sh -c "$*" ;;
esac
echo "no such host: $host" >&2
exit 255
EOF
printf '127.0.0.1 localhost\n10.77.0.1 gsrt-a\n10.77.0.2 gsrt-b\n' >"$work/hosts"
printf '%s' "$a" >"$work/a"
printf '%s' "$b" >"$work/b"
printf '#!/bin/sh\nexec ip -n %s link set eth0 down\n' "$b" >"$work/link_down"
chmod +x "$work"/enter "$work"/agent "$work"/link_down
export GSRT_LINK_DOWN=$work/link_down OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# names of variables that must reach the second host
pass=()
for name in $(compgen -e | grep -E '^(GSRT_|UCX_)'); do
    pass+=(-x "$name")
done
"$work/enter" "$a" gsrt-a "$mpirun" -q --map-by node --oversubscribe --bind-to none -n "$n" \
    --host "gsrt-a:$n,gsrt-b:$n" --mca plm_rsh_agent "$work/agent" --mca plm rsh \
    --mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0 "${pass[@]}" "$@"
