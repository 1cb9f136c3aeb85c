/* The scalar pieces of the canonical arithmetic: errors of exp, log, sin, cos; widening; shapes of sums. */
#include "backends/numerics.h"
#include "backends/oracle.h"
#include "backends/trig.h"
#include "tests/backends/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double ulp_error(float got, double want)
{
    float rounded = (float)want;
    float next = nextafterf(fabsf(rounded), INFINITY);
    return fabs((double)got - want) / ((double)next - fabs((double)rounded));
}

START_TEST(exp_within_an_ulp)
{
    double worst = 0.0, at = 0.0;
    for (float x = -86.9f; x <= 88.0f; x += 0.00031f) {
        double error = ulp_error(gsrt_exp_f32(x), exp((double)x));
        if (error > worst) {
            worst = error;
            at = (double)x;
        }
    }
    printf("exp: worst error %.3f ulp at %g\n", worst, at);
    ck_assert_double_lt(worst, 1.0);
    ck_assert_uint_eq(gsrt_bits_of(gsrt_exp_f32(0.0f)), 0x3f800000u);
    ck_assert_uint_eq(gsrt_bits_of(gsrt_exp_f32(-0.0f)), 0x3f800000u);
    ck_assert(gsrt_exp_f32(-INFINITY) == 0.0f && gsrt_exp_f32(-1e30f) == 0.0f);
    ck_assert(gsrt_exp_f32(INFINITY) == INFINITY && gsrt_exp_f32(89.0f) == INFINITY);
    ck_assert(isnan(gsrt_exp_f32(NAN)));
}
END_TEST

START_TEST(binary64_functions)
{
    double worst_exp = 0.0, worst_log = 0.0, worst_sin = 0.0;
    uint64_t state = 7;
    for (int i = 0; i < 300000; i++) {
        double x = ((double)(int64_t)test_random(&state)) * 0x1p-63 * 40.0;
        double error = fabs((double)(((long double)gsrt_exp64(x) - expl((long double)x)) / expl((long double)x)));
        error -= fabs(x) * 0x1p-53;
        worst_exp = error > worst_exp ? error : worst_exp;
        double y = ldexp(1.0 + (double)(test_random(&state) >> 11) * 0x1p-53, (int)(test_random(&state) % 60) - 30);
        long double ln = logl((long double)y);
        error = fabs((double)(((long double)gsrt_log64(y) - ln) / ln));
        worst_log = error > worst_log ? error : worst_log;
        double angle = (double)(test_random(&state) >> 11) * 0x1p-33; /* up to 2^20 */
        double s, c;
        gsrt_sincos64(angle, &s, &c);
        double e1 = fabs((double)((long double)s - sinl((long double)angle)));
        double e2 = fabs((double)((long double)c - cosl((long double)angle)));
        worst_sin = fmax(worst_sin, fmax(e1, e2));
    }
    printf("exp64 %.2e relative, log64 %.2e relative, sin64 and cos64 %.2e absolute\n", worst_exp, worst_log,
           worst_sin);
    ck_assert_double_lt(worst_exp, 4e-16);
    ck_assert_double_lt(worst_log, 4e-16);
    ck_assert_double_lt(worst_sin, 4e-16);
    ck_assert(gsrt_exp64(-INFINITY) == 0.0 && gsrt_exp64(INFINITY) == INFINITY && isnan(gsrt_exp64(NAN)));
    ck_assert(isnan(gsrt_log64(-1.0)) && isnan(gsrt_log64(0.0)));
}
END_TEST

START_TEST(widening_is_exact)
{
    for (uint32_t half = 0; half < 65536; half++) {
        int exponent = (int)(half >> 10 & 31);
        double mantissa = (double)(half & 1023), sign = (half & 0x8000) != 0 ? -1.0 : 1.0;
        float got = gsrt_widen_f16((uint16_t)half);
        if (exponent == 31) {
            ck_assert(mantissa != 0 ? isnan(got) : (double)got == sign * INFINITY);
            continue;
        }
        double want = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024.0 + mantissa, exponent - 25);
        ck_assert_double_eq((double)got, sign * want);
        ck_assert_int_eq(signbit(got) != 0, sign < 0);
    }
    ck_assert_uint_eq(gsrt_bits_of(gsrt_widen_bf16(0x8001)), 0x80010000u);
}
END_TEST

START_TEST(chunks)
{
    ck_assert_uint_eq(gsrt_chunk_of(2048, 1, GSRT_DTYPE_F32), 256);
    ck_assert_uint_eq(gsrt_chunk_of(8192, 1, GSRT_DTYPE_F32), 256);
    ck_assert_uint_eq(gsrt_chunk_of(8193, 1, GSRT_DTYPE_F32), 512);
    ck_assert_uint_eq(gsrt_chunk_of(64, 8, GSRT_DTYPE_Q8_0), 256);
    ck_assert_uint_eq(gsrt_chunk_of(960, 80, GSRT_DTYPE_F16), 240);
    ck_assert_uint_eq(gsrt_chunk_of(960, 80, GSRT_DTYPE_Q4_0), 160);
    ck_assert_uint_eq(gsrt_chunk_of(4096, 512, GSRT_DTYPE_F16), 512);
    for (uint32_t k = 32; k < 200000; k += 32 * (k / 999 + 1)) {
        uint32_t chunk = gsrt_chunk_of(k, 1, GSRT_DTYPE_Q8_0);
        ck_assert(chunk % 32 == 0 && gsrt_chunk_count(k, chunk) <= 33);
    }
}
END_TEST

/* Any cut of K gives subtrees that the rest of the tree turns into the unsplit sum. */
START_TEST(any_cut_of_k)
{
    uint64_t state = 3;
    for (uint32_t count = 1; count <= 33; count++) {
        float leaves[33], whole;
        test_random_fill(&state, TEST_VALUES_PLAIN, leaves, count);
        uint32_t ends_single[33];
        for (uint32_t i = 0; i < count; i++)
            ends_single[i] = i + 1;
        gsrt_oracle_tree(leaves, 1, count, ends_single, count, &whole);
        for (int trial = 0; trial < 40; trial++) {
            uint32_t share_count = 1 + (uint32_t)(test_random(&state) % 5), ends[5], at = 0, sum_count = 0;
            float sums[33], finished;
            for (uint32_t s = 0; s < share_count; s++) {
                uint32_t left = count - at;
                ends[s] = s + 1 == share_count ? count : at + (uint32_t)(test_random(&state) % (left + 1));
                uint32_t before = sum_count;
                while (at < ends[s]) { /* each subtree by the same tree over its own leaves */
                    uint32_t end = gsrt_subtree_end(at, ends[s], count);
                    gsrt_oracle_tree(leaves + at, 1, end - at, ends_single, end - at, &sums[sum_count++]);
                    at = end;
                }
                ck_assert_uint_eq(sum_count - before, gsrt_subtree_count(s == 0 ? 0 : ends[s - 1], ends[s], count));
            }
            gsrt_oracle_tree(sums, 1, count, ends, share_count, &finished);
            ck_assert_uint_eq(gsrt_bits_of(finished), gsrt_bits_of(whole));
            gsrt_tree_step steps[GSRT_CHUNK_COUNT_MAX];
            ck_assert_uint_eq(gsrt_tree_plan(count, ends, share_count, steps, GSRT_CHUNK_COUNT_MAX), sum_count);
            for (uint32_t i = 0; i + 1 < sum_count; i++)
                sums[steps[i].into] = sums[steps[i].into] + sums[steps[i].from];
            ck_assert_uint_eq(gsrt_bits_of(sums[0]), gsrt_bits_of(whole));
        }
    }
    uint32_t bad[2] = {3, 2};
    ck_assert_uint_eq(gsrt_tree_plan(4, bad, 2, NULL, 0), 0);
    ck_assert_uint_eq(gsrt_tree_plan(4, bad, 1, NULL, 0), 0);
}
END_TEST

START_TEST(quantise_is_close)
{
    uint64_t state = 11;
    for (int trial = 0; trial < 2000; trial++) {
        float x[32];
        gsrt_q8_block block;
        test_random_fill(&state, trial % 2 == 0 ? TEST_VALUES_PLAIN : TEST_VALUES_EXTREME, x, 32);
        float shrink = trial % 5 == 0 ? 0x1p-120f : 1.0f, amax = 0.0f;
        for (int i = 0; i < 32; i++) {
            x[i] *= shrink;
            amax = fmaxf(amax, fabsf(x[i]));
        }
        gsrt_oracle_quantise(x, 32, &block);
        for (int i = 0; i < 32; i++) {
            double error = fabs((double)x[i] - (double)block.scale * block.q[i]);
            ck_assert_double_le(error, (double)amax / 254.0 * 1.000001 + 0x1p-142);
            ck_assert_int_ge(block.q[i], -127);
        }
    }
    float odd[32] = {[3] = INFINITY, [4] = 1.0f};
    gsrt_q8_block block;
    gsrt_oracle_quantise(odd, 32, &block);
    ck_assert_uint_eq(gsrt_bits_of(block.scale), 0x7fc00000u);
    ck_assert_int_eq(block.q[4], 0);
}
END_TEST

/* The error of quantised products against binary64 on the dequantised weights and the exact activations. */
START_TEST(quantised_products_error)
{
    for (int d = 3; d < 5; d++) {
        uint64_t state = 5;
        uint32_t k = 2048, rows = 64;
        gsrt_matrix matrix = test_random_matrix(&state, TEST_VALUES_PLAIN, test_dtypes[d], rows, k, 1);
        float *x = malloc(k * sizeof(float)), *w = malloc(k * sizeof(float)), *y = malloc(rows * sizeof(float));
        gsrt_q8_block *xq = malloc(k / 32 * sizeof *xq);
        ck_assert(x != NULL && w != NULL && y != NULL && xq != NULL);
        test_random_fill(&state, TEST_VALUES_PLAIN, x, k);
        gsrt_oracle_quantise(x, k, xq);
        gsrt_oracle_linear(&matrix, xq, NULL, y);
        double difference = 0.0, norm = 0.0;
        for (uint32_t row = 0; row < rows; row++) {
            double want = 0.0;
            gsrt_oracle_embed(&matrix, row, w);
            for (uint32_t i = 0; i < k; i++)
                want += (double)w[i] * (double)x[i];
            difference += (want - (double)y[row]) * (want - (double)y[row]);
            norm += want * want;
        }
        double error = sqrt(difference / norm);
        printf("%s: relative error %.2e\n", gsrt_dtype_name(test_dtypes[d]), error);
        ck_assert_double_lt(error, 1e-2);
        free(x), free(w), free(y), free(xq), free((void *)(uintptr_t)matrix.rows);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("numerics");
    TCase *tcase = tcase_create("numerics");
    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, exp_within_an_ulp);
    tcase_add_test(tcase, binary64_functions);
    tcase_add_test(tcase, widening_is_exact);
    tcase_add_test(tcase, chunks);
    tcase_add_test(tcase, any_cut_of_k);
    tcase_add_test(tcase, quantise_is_close);
    tcase_add_test(tcase, quantised_products_error);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
