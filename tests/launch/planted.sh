#!/bin/bash
# Planted bugs: gsrt is built with each of them, from the objects of this build and the few that the switch is about, and
# a campaign of a bounded number of seeds must find it. The one without finds nothing in those seeds.
set -u
build=$(cd "${GSRT_BUILDDIR:-.}" && pwd)
source=$(cd "${GSRT_SRCDIR:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
batch=24 batches=5

unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs the tests: what it would say goes into the lists below
variable() { make -C "$build" -s --no-print-directory print-list LIST="$1"; }

if variable SANITIZE_CFLAGS | grep -q fsanitize; then
    echo "not built with sanitizers"
    exit 77
fi
cd "$build" || exit 1
compiler=$(variable CC)
flags="$(variable AM_CPPFLAGS) $(variable CPPFLAGS) $(variable MPI_CFLAGS) $(variable AM_CFLAGS) $(variable CFLAGS)"
libraries="$(variable launch_libs) $(variable LIBS)"

# plant SWITCH SOURCE...: $work/SWITCH. What is compiled here stands before the libraries, so that theirs is not taken.
plant() {
    local switch=$1 file objects=()
    shift
    for file in "$@"; do
        # shellcheck disable=SC2086
        $compiler $flags -D"$switch" -Wno-error -w -c "$source/$file" -o "$work/$switch-$(basename "$file" .c).o" || exit 1
        objects+=("$work/$switch-$(basename "$file" .c).o")
    done
    # shellcheck disable=SC2086
    $compiler $(variable AM_CFLAGS) $(variable CFLAGS) $(variable AM_LDFLAGS) \
        -o "$work/$switch" "${objects[@]}" launch/main_gsrt.o $libraries || exit 1
}

# campaign PROGRAM FIRST: a batch of seeds
campaign() {
    timeout 300 "$1" twin "$source/scenarios/faulted-cluster.yaml" \
        --set 'workload.requests[0].max_tokens=40' --set 'workload.requests[1].max_tokens=32' \
        --set 'faults=[{kill: 1, when: {request: 0, token: 10}}, {kill: 0, when: {request: 0, token: 25}}]' \
        --set twin.seed="$2" --seeds $batch -o "$work/kept" >"$work/out" 2>&1
}

# found SWITCH SOURCE...: some batch ends with 5
found() {
    local first=1 i
    plant "$@"
    for ((i = 0; i < batches; i++)); do
        campaign "$work/$1" $first
        case $? in
        0) first=$((first + batch)) ;;
        5)
            echo "$1: $(grep -m1 '^seed .* BROKE' "$work/out") ($((first + batch - 1)) seeds)"
            [ $((first + batch)) -le "$furthest" ] || furthest=$((first + batch))
            return
            ;;
        *)
            cat "$work/out"
            echo "$1: the campaign itself failed"
            exit 1
            ;;
        esac
    done
    echo "$1: not found in $((batch * batches)) seeds"
    exit 1
}

furthest=1
found GSRT_PLANT_NO_FENCING health/membership_contact.c
found GSRT_PLANT_NO_DEDUPLICATION launch/tokens.c
found GSRT_PLANT_EARLY_EMISSION launch/gateway.c
found GSRT_PLANT_NO_CANCEL actors/node_wire.c actors/node_deliver.c
found GSRT_PLANT_DOUBLE_VOTE health/membership_vote.c
for ((first = 1; first < furthest; first += batch)); do
    if ! campaign "$build/gsrt" $first; then
        cat "$work/out"
        echo "without a planted bug something is found too"
        exit 1
    fi
done
echo "5 planted bugs found; nothing without them in $((furthest - 1)) seeds"
