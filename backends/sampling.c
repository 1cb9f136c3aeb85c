#include "backends/sampling.h"
#include "backends/numerics.h"
#include "backends/trig.h"
#include "base/random.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { RADIX_BITS = 11, RADIX_SIZE = 1 << RADIX_BITS, RADIX_PASSES = 3 };

/* A candidate in 64 bits: the key above (smaller = larger logit), the token below. */
typedef uint64_t candidate;

size_t gsrt_sample_scratch_bytes(uint32_t vocab_count)
{
    return 2 * (size_t)vocab_count * sizeof(candidate);
}

/* Maps logits to keys in reverse order; -0 and +0 get the same key. */
static uint32_t key_of(float logit)
{
    uint32_t bits = gsrt_bits_of(logit == 0.0f ? 0.0f : logit);
    uint32_t ascending = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    return ~ascending;
}

/* Stable, so equal logits stay in order of their tokens. Returns whichever of the two arrays holds the result. */
static candidate *sort_candidates(candidate *from, candidate *to, uint32_t count)
{
    for (uint32_t pass = 0; pass < RADIX_PASSES; pass++) {
        uint32_t shift = 32 + pass * RADIX_BITS;
        uint32_t offsets[RADIX_SIZE] = {0};
        for (uint32_t i = 0; i < count; i++)
            offsets[from[i] >> shift & (RADIX_SIZE - 1)]++;
        uint32_t sum = 0;
        for (uint32_t digit = 0; digit < RADIX_SIZE; digit++) {
            uint32_t number = offsets[digit];
            offsets[digit] = sum;
            sum += number;
        }
        for (uint32_t i = 0; i < count; i++)
            to[offsets[from[i] >> shift & (RADIX_SIZE - 1)]++] = from[i];
        candidate *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

static uint32_t greedy(const float *logits, uint32_t vocab_count)
{
    uint32_t best = GSRT_VOCAB_COUNT_MAX;
    float largest = 0.0f;
    for (uint32_t token = 0; token < vocab_count; token++) {
        float logit = logits[token];
        if (logit != logit)
            continue;
        if (best == GSRT_VOCAB_COUNT_MAX || logit > largest) {
            best = token;
            largest = logit;
        }
    }
    return best == GSRT_VOCAB_COUNT_MAX ? 0 : best;
}

static uint32_t draw(const float *logits, uint32_t vocab_count, const gsrt_sampling *sampling, candidate *scratch)
{
    uint32_t first = greedy(logits, vocab_count);
    if (!(sampling->temperature > 0.0f) || !isfinite(logits[first]))
        return first;

    uint32_t count = 0;
    for (uint32_t token = 0; token < vocab_count; token++)
        if (logits[token] == logits[token])
            scratch[count++] = (candidate)key_of(logits[token]) << 32 | token;
    candidate *order = sort_candidates(scratch, scratch + vocab_count, count);
    double *weights = (double *)(order == scratch ? scratch + vocab_count : scratch);
    if (sampling->top_k > 0 && sampling->top_k < count)
        count = sampling->top_k;

    double total = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        double distance = (double)logits[(uint32_t)order[i]] - (double)logits[first];
        weights[i] = gsrt_exp64(distance / (double)sampling->temperature);
        total += weights[i];
    }
    if (sampling->top_p < 1.0f) {
        double bound = (double)sampling->top_p * total, sum = 0.0;
        uint32_t kept = 0;
        while (kept < count && (kept == 0 || sum < bound))
            sum += weights[kept++];
        count = kept;
        total = sum;
    }
    double point = gsrt_random_f64(sampling->seed, GSRT_SAMPLING_STREAM, sampling->position) * total;
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sum += weights[i];
        if (sum > point)
            return (uint32_t)order[i];
    }
    return (uint32_t)order[count - 1];
}

gsrt_sample_result gsrt_sample(const float *logits, uint32_t vocab_count, const gsrt_sampling *sampling, void *scratch)
{
    XXH128_hash_t hash = XXH3_128bits(logits, (size_t)vocab_count * sizeof(float));
    gsrt_sample_result result = {.token = 0, .hash_low = hash.low64, .hash_high = hash.high64};
    if (sampling->is_sampled)
        result.token = draw(logits, vocab_count, sampling, scratch);
    return result;
}
