#!/bin/bash
# One answer: gsrt-launch under mpirun gives the same tokens and logit hashes for every number of ranks, stages and
# shares, batch, prefill chunk, instruction set and number of threads; and they are those of the plain reference pass.
set -u
launch=${GSRT_BUILDDIR:-.}/gsrt-launch
mpirun=${GSRT_MPIRUN:-mpirun}
models=${GSRT_SHARED_DATA:-${GSRT_SRCDIR:-.}/../shared/data}/models/stories260K
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
runs=0

# scenario MODEL STAGES: the scenario file of most runs
scenario() {
    cat >"$work/scenario.yaml" <<YAML
gsrt: 1
name: one-answer
workload:
  model: $1
  requests:
    - {prompt_tokens: [1, 403], max_tokens: 24, ignore_eos: true}
    - {prompt_tokens: [1, 320, 261, 450, 335, 270, 380, 401, 307, 411, 260], max_tokens: 12, temperature: 0.9, top_p: 0.8, seed: 7, ignore_eos: true}
contract: bitwise
plan:
  stages: [$2]
verify: reference
YAML
}

# answer NAME N [OPTION...]: run it on N ranks; the sorted tokens.jsonl is $work/NAME
answer() {
    local name=$1 n=$2
    shift 2
    if ! timeout 300 "$mpirun" -q -n "$n" "$launch" "$work/scenario.yaml" -o "$work/run-$name" "$@" \
        >"$work/out" 2>&1; then
        cat "$work/out"
        echo "$name: $n ranks, $*: failed"
        exit 1
    fi
    if ! grep -q 'contract bitwise: kept (36 of 36 logit hashes equal the reference)' "$work/out"; then
        cat "$work/out"
        echo "$name: the contract was not kept"
        exit 1
    fi
    LC_ALL=C sort "$work/run-$name/tokens.jsonl" >"$work/$name"
    runs=$((runs + 1))
}

# same NAME: as the first run of this model
same() {
    if ! cmp -s "$work/base" "$work/$1"; then
        diff "$work/base" "$work/$1" | head -4
        echo "$1: the answer differs from that of one rank"
        exit 1
    fi
}

# plan NAME N STAGES [OPTION...]
plan() {
    local name=$1 n=$2 stages=$3
    shift 3
    scenario "$model" "$stages"
    rm -rf "$work/run-$name"
    answer "$name" "$n" "$@"
    same "$name"
}

# request FILE NUMBER: tokens and hashes of one request, without its number
request() { grep "^{\"request\":$2," "$1" | sed 's/^{"request":[0-9]*,//'; }

# among: the first request of the base alone, with seven others, and again behind a long prefix that is known
among() {
    local i common
    scenario "$model" '{layers: [0, 4], ranks: [0, 1]}'
    for i in 2 3 4 5 6 7; do
        sed -i "/^contract/i\\    - {prompt_tokens: [1, $((400 + i)), $((260 + i))], max_tokens: $((10 + i)), temperature: 1, seed: $i, ignore_eos: true}" \
            "$work/scenario.yaml"
    done
    rm -rf "$work/run-eight"
    timeout 300 "$mpirun" -q -n 2 "$launch" "$work/scenario.yaml" -o "$work/run-eight" >"$work/out" 2>&1 || fail eight
    cmp -s <(request "$work/run-base/tokens.jsonl" 0) <(request "$work/run-eight/tokens.jsonl" 0) || fail 'eight: request 0'
    cmp -s <(request "$work/run-base/tokens.jsonl" 1) <(request "$work/run-eight/tokens.jsonl" 1) || fail 'eight: request 1'
    common=$(seq -s ', ' 301 1 430)
    sed -i "/prompt_tokens/d; /requests:/a\\    - {prompt_tokens: [1, $common], max_tokens: 9, ignore_eos: true}\n    - {prompt_tokens: [1, $common], max_tokens: 9, ignore_eos: true}" \
        "$work/scenario.yaml"
    rm -rf "$work/run-prefix"
    timeout 300 "$mpirun" -q -n 2 "$launch" "$work/scenario.yaml" -o "$work/run-prefix" --set runtime.batch=1 \
        >"$work/out" 2>&1 || fail prefix
    cmp -s <(request "$work/run-prefix/tokens.jsonl" 0) <(request "$work/run-prefix/tokens.jsonl" 1) || fail 'prefix: answers'
    grep -q '"prefix_tokens_reused":128' <(tr -d ' \n' <"$work/run-prefix/report.json") || fail 'prefix: nothing reused'
    grep -q 'kept (18 of 18' "$work/out" || fail 'prefix: contract'
    runs=$((runs + 2))
}

fail() {
    cat "$work/out"
    echo "$model: $1"
    exit 1
}

if [ ! -f "$models/stories260K-f32.gguf" ]; then
    echo "no ../shared/data/models/stories260K (GSRT_SHARED_DATA)"
    exit 77
fi

whole='{layers: [0, 4], ranks: [0]}'
for dtype in f32 f16 bf16 q8_0 q4_0; do
    model=$(realpath "$models/stories260K-$dtype.gguf")
    rm -rf "$work"/run-*
    scenario "$model" "$whole"
    answer base 1
    plan split-8-uneven 8 '{layers: [0, 4], ranks: [0, 1, 2, 3, 4, 5, 6, 7], split: [3, 1, 1, 0, 1, 2, 1, 1]}'
    plan mixed 5 '{layers: [0, 1], ranks: [2, 0], split: [3, 5]}, {layers: [2, 4], ranks: [1, 4, 3]}'
    among
done

model=$(realpath "$models/stories260K-q8_0.gguf")
rm -rf "$work"/run-*
scenario "$model" "$whole"
answer base 1
plan two-stages 2 '{layers: [0, 2], ranks: [0]}, {layers: [3, 4], ranks: [1]}'
plan five-stages 5 '{layers: [0, 0], ranks: [4]}, {layers: [1, 1], ranks: [3]}, {layers: [2, 2], ranks: [2]}, {layers: [3, 3], ranks: [1]}, {layers: [4, 4], ranks: [0]}'
plan split-2 2 '{layers: [0, 4], ranks: [0, 1]}'
plan split-3 3 '{layers: [0, 4], ranks: [0, 1, 2]}'
plan split-4 4 '{layers: [0, 4], ranks: [3, 2, 1, 0]}'
plan chunk-1 2 '{layers: [0, 4], ranks: [0, 1]}' --set runtime.prefill_chunk=1
plan chunk-7 2 '{layers: [0, 4], ranks: [0, 1]}' --set runtime.prefill_chunk=7
plan alone 2 '{layers: [0, 4], ranks: [0, 1]}' --set runtime.batch=1
plan threads-2 2 '{layers: [0, 4], ranks: [0, 1]}' --set runtime.threads=2
plan unpacked 1 "$whole" --set runtime.packing=false
GSRT_ISA=scalar plan scalar 2 '{layers: [0, 4], ranks: [0, 1]}'
GSRT_TRANSPORT=tcp plan tcp 3 '{layers: [0, 4], ranks: [0, 1, 2]}'

# twin NAME STAGES [OPTION...]: the same in the twin, twice: the same answer, and the same traces bit for bit
twin() {
    local name=$1 stages=$2 again
    shift 2
    scenario "$model" "$stages"
    for again in a b; do
        if ! timeout 300 "${GSRT_BUILDDIR:-.}/gsrt" twin "$work/scenario.yaml" -o "$work/run-$name-$again" "$@" \
            >"$work/out" 2>&1; then
            cat "$work/out"
            echo "$name: the twin failed"
            exit 1
        fi
        LC_ALL=C sort "$work/run-$name-$again/tokens.jsonl" >"$work/$name"
        same "$name"
        runs=$((runs + 1))
    done
    if ! diff -r "$work/run-$name-a/trace" "$work/run-$name-b/trace"; then
        echo "$name: two runs of one seed left different traces"
        exit 1
    fi
}
twin twin-1 "$whole"
twin twin-5 '{layers: [0, 1], ranks: [2, 0], split: [3, 5]}, {layers: [2, 4], ranks: [1, 4, 3]}'
twin twin-8 '{layers: [0, 4], ranks: [0, 1, 2, 3, 4, 5, 6, 7], split: [3, 1, 1, 0, 1, 2, 1, 1]}'

# on two hosts (network namespaces), where that is permitted
scenario "$model" '{layers: [0, 1], ranks: [2, 0], split: [3, 5]}, {layers: [2, 4], ranks: [1, 3]}'
rm -rf "$work/run-hosts"
timeout 300 bash "${GSRT_SRCDIR:-.}/tests/mpi/two_hosts.sh" -n 4 "$launch" "$work/scenario.yaml" \
    -o "$work/run-hosts" >"$work/out" 2>&1
code=$?
if [ "$code" -eq 77 ]; then
    echo "two hosts left out: $(tail -n 1 "$work/out")"
elif [ "$code" -ne 0 ]; then
    cat "$work/out"
    echo "two hosts: exit code $code"
    exit 1
else
    LC_ALL=C sort "$work/run-hosts/tokens.jsonl" >"$work/hosts"
    same hosts
    runs=$((runs + 1))
fi
echo "$runs runs, one answer"
