#!/bin/bash
# Between two hosts: UCX goes over TCP, within one over shared memory; sentinels reach across; codes come back.
set -u
two_hosts=$(dirname "$0")/two_hosts.sh
ranks=${GSRT_BUILDDIR:-.}/tests/mpi/ranks

# expect CODE N TEXT WHAT...
expect() {
    local code=$1 n=$2 text=$3 output got
    shift 3
    output=$(timeout 300 bash "$two_hosts" -n "$n" "$ranks" "$@" 2>&1)
    got=$?
    echo "$output"
    [ "$got" -ne 77 ] || exit 77
    case $output in
    *"$text"*) ;;
    *) got="$got, and no '$text' in the output" ;;
    esac
    if [ "$got" != "$code" ]; then
        echo "$n ranks on two hosts, $*: exit code $got, expected $code"
        exit 1
    fi
}

expect 0 2 'far tcp/eth0 hosts 2' exchange 8
expect 0 4 'near sysv/memory far tcp/eth0 hosts 2' exchange 4
expect 0 2 'idle: rank 1' idle
expect 7 3 'hosts 2' exit 7
expect 5 2 'was killed by signal 9' die
