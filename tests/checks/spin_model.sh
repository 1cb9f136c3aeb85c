#!/usr/bin/env bash
# SPIN searches the model of the membership protocol, docs/models/membership.pml, within bounds that are declared here.
# A search fails when it finds an error or was cut short; a planted bug that is not found fails too.
set -u
model=$GSRT_SRCDIR/docs/models/membership.pml
memory_mib=1500 depth_max=100000

if ! command -v spin >/dev/null; then
    echo "spin is not installed"
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# search BOUNDS...: prints what pan says.
search() {
    spin -a "$@" "$model" >spin.out 2>&1 || { cat spin.out; return 1; }
    ${GSRT_CC:-gcc} -O0 -w -DSAFETY -DNOCLAIM -DMEMLIM="$memory_mib" -o pan pan.c || return 1
    ./pan -m"$depth_max" 2>&1
}

failures=0

# holds BOUNDS...: nothing is wrong, and everything was searched.
holds() {
    search "$@" >pan.out
    if grep -q 'errors: 0' pan.out && ! grep -qE 'Search not completed|max search depth|out of memory' pan.out; then
        echo "holds: $* ($(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.out) states)"
    else
        echo "FAILED: $*"
        tail -n 30 pan.out | cut -c1-200
        failures=$((failures + 1))
    fi
}

# is_found BOUNDS...: an assertion is violated.
is_found() {
    search "$@" >pan.out
    if grep -q 'assertion violated' pan.out; then
        echo "found: $*"
    else
        echo "FAILED to find: $*"
        tail -n 30 pan.out | cut -c1-200
        failures=$((failures + 1))
    fi
}

# agreement: two proposers in each other's way
holds -DKILLS=0 -DSLOTS=2 -DTICKS=0 -DEPOCHS=2
# leases, a death, testaments, a second incarnation
holds -DKILLS=1 -DSLOTS=1 -DTICKS=1 -DEPOCHS=2
# progress: a death, and a lost host
holds -DPROGRESS -DKILLS=1 -DSLOTS=2 -DTICKS=0 -DEPOCHS=3
holds -DPROGRESS -DKILLS=0 -DLOST=1 -DSLOTS=2 -DTICKS=0 -DEPOCHS=3

is_found -DPLANT_DOUBLE_VOTE -DKILLS=0 -DSLOTS=2 -DTICKS=0 -DEPOCHS=2
is_found -DPLANT_NO_LEASE -DKILLS=1 -DSLOTS=1 -DTICKS=1 -DEPOCHS=2
is_found -DPLANT_PONG -DKILLS=1 -DSLOTS=1 -DTICKS=1 -DEPOCHS=2
[ "$failures" = 0 ]
