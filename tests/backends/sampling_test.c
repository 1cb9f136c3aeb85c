/* Sampling against the definition written down plainly: sort, exponentials, running sums, all in binary64. */
#include "backends/numerics.h"
#include "backends/sampling.h"
#include "backends/trig.h"
#include "base/random.h"
#include "tests/backends/support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const float *sorted_by; /* for qsort: the logits */

static int larger_first(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (sorted_by[x] != sorted_by[y])
        return sorted_by[x] > sorted_by[y] ? -1 : 1;
    return x < y ? -1 : 1;
}

static uint32_t plain_sample(const float *logits, uint32_t n, const gsrt_sampling *s)
{
    uint32_t order[4096], count = 0;
    double p[4096], total = 0.0, sum = 0.0;
    for (uint32_t i = 0; i < n; i++)
        if (!isnan(logits[i]))
            order[count++] = i;
    if (count == 0)
        return 0;
    sorted_by = logits;
    qsort(order, count, sizeof order[0], larger_first);
    if (s->temperature == 0.0f || isinf(logits[order[0]]))
        return order[0];
    if (s->top_k > 0 && s->top_k < count)
        count = s->top_k;
    for (uint32_t i = 0; i < count; i++) {
        p[i] = gsrt_exp64(((double)logits[order[i]] - (double)logits[order[0]]) / (double)s->temperature);
        total += p[i];
    }
    if (s->top_p < 1.0f) {
        uint32_t kept = 0;
        for (; kept < count; kept++) {
            if (kept > 0 && sum >= (double)s->top_p * total)
                break;
            sum += p[kept];
        }
        count = kept;
        total = sum;
    }
    double u = gsrt_random_f64(s->seed, GSRT_SAMPLING_STREAM, s->position) * total;
    sum = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sum += p[i];
        if (sum > u)
            return order[i];
    }
    return order[count - 1];
}

START_TEST(equals_the_plain_one)
{
    static float logits[4096];
    static uint8_t scratch[4096 * 16];
    static const float temperatures[] = {0.0f, 0.3f, 1.0f, 1.7f, 30.0f};
    static const float top_ps[] = {1.0f, 0.95f, 0.5f, 0.0f, 0.999f};
    uint64_t state = 9;
    for (int trial = 0; trial < 3000; trial++) {
        uint32_t n = 1 + (uint32_t)(test_random(&state) % (trial % 10 == 0 ? 4096 : 200));
        for (uint32_t i = 0; i < n; i++) {
            logits[i] = test_random_f32(&state, (test_values)(trial % 3)) * 8.0f;
            if (trial % 4 == 0)
                logits[i] = floorf(logits[i]); /* many ties, zeros of both signs */
        }
        gsrt_sampling s = {.is_sampled = true,
                           .temperature = temperatures[test_random(&state) % 5],
                           .top_k = (uint32_t)(test_random(&state) % 3 * 20),
                           .top_p = top_ps[test_random(&state) % 5],
                           .seed = test_random(&state),
                           .position = test_random(&state) % 1000};
        ck_assert_uint_le(gsrt_sample_scratch_bytes(n), sizeof scratch);
        gsrt_sample_result result = gsrt_sample(logits, n, &s, scratch);
        ck_assert_uint_eq(result.token, plain_sample(logits, n, &s));
        XXH128_hash_t hash = XXH3_128bits(logits, n * sizeof(float));
        ck_assert(result.hash_low == hash.low64 && result.hash_high == hash.high64);
    }
}
END_TEST

START_TEST(edges)
{
    uint8_t scratch[256];
    gsrt_sampling greedy = {.is_sampled = true}, warm = {.is_sampled = true, .temperature = 1.0f, .top_p = 1.0f};
    float nans[3] = {NAN, NAN, NAN}, ties[4] = {NAN, -0.0f, 0.0f, -1.0f}, infinite[3] = {1.0f, INFINITY, INFINITY};
    float low[3] = {-INFINITY, NAN, -INFINITY};
    ck_assert_uint_eq(gsrt_sample(nans, 3, &greedy, scratch).token, 0);
    ck_assert_uint_eq(gsrt_sample(nans, 3, &warm, scratch).token, 0);
    ck_assert_uint_eq(gsrt_sample(ties, 4, &greedy, scratch).token, 1);
    ck_assert_uint_eq(gsrt_sample(infinite, 3, &warm, scratch).token, 1);
    ck_assert_uint_eq(gsrt_sample(low, 3, &warm, scratch).token, 0);
}
END_TEST

/* The share of draws follows the probabilities: 100 logits, 20,000 positions, five deviations. */
START_TEST(draws_follow_the_probabilities)
{
    enum { COUNT = 5, DRAWS = 20000 };
    float logits[COUNT] = {0.0f, 1.0f, 2.0f, -1.0f, 0.5f};
    uint8_t scratch[COUNT * 16];
    int counts[COUNT] = {0};
    double total = 0.0;
    for (int i = 0; i < COUNT; i++)
        total += exp((double)logits[i]);
    for (uint64_t position = 0; position < DRAWS; position++) {
        gsrt_sampling s = {.is_sampled = true, .temperature = 1.0f, .top_p = 1.0f, .seed = 4, .position = position};
        counts[gsrt_sample(logits, COUNT, &s, scratch).token]++;
    }
    for (int i = 0; i < COUNT; i++) {
        double p = exp((double)logits[i]) / total;
        ck_assert_double_eq_tol(counts[i], DRAWS * p, 5 * sqrt(DRAWS * p * (1 - p)));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sampling");
    TCase *tcase = tcase_create("sampling");
    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, equals_the_plain_one);
    tcase_add_test(tcase, edges);
    tcase_add_test(tcase, draws_follow_the_probabilities);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
