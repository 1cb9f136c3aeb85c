#!/bin/bash
# gsrt fleet discover --measure over three ranks on two hosts: one inventory, that of rank 0's host, in order; the way to
# the other host is in it, that to the other rank of this host is told. Without namespaces: two ranks on one host.
set -u
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
gsrt=${GSRT_BUILDDIR:-.}/gsrt
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    cat "$work/out" "$work/err"
    echo "$1"
    exit 1
}

timeout 300 bash "$(dirname "$0")/two_hosts.sh" -n 3 "$gsrt" fleet discover --measure >"$work/out" 2>"$work/err"
got=$?
hosts=2
if [ "$got" -eq 77 ]; then
    hosts=1
    timeout 300 "${GSRT_MPIRUN:-mpirun}" -q -n 2 "$gsrt" fleet discover --measure >"$work/out" 2>"$work/err"
    got=$?
fi
[ "$got" -eq 0 ] || fail "exit code $got"
[ "$(grep -c '^gsrt_fleet: 1$' "$work/out")" -eq 1 ] || fail 'not one inventory'
grep -q 'this machine: ranks: .* us and .* GB/s one way over .*twin: {link: {latency_us: ' "$work/err" ||
    fail 'nothing is said of the ranks of this host'
if [ "$hosts" -eq 2 ]; then
    [ "$(grep -c 'source: "measured: .* between ranks on 2 hosts over tcp/' "$work/out")" -eq 4 ] ||
        fail 'not a bandwidth and a latency both ways'
elif grep -q 'name: "network"' "$work/out"; then
    fail 'a network on one host'
fi
"$gsrt" fleet check "$work/out" >"$work/err" || fail 'the inventory is not in order'
"$gsrt" fleet show "$work/out" 2>"$work/err" | cmp - "$work/out" || fail 'it does not read back the same'
