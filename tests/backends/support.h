/* What the tests of backends/ share: random weights in the file's layout, values with extremes, comparison of bits. */
#ifndef GSRT_TESTS_BACKENDS_SUPPORT_H
#define GSRT_TESTS_BACKENDS_SUPPORT_H

#include "backends/numerics.h"
#include "backends/program.h"

/* What kind of numbers a random array holds. */
typedef enum test_values {
    TEST_VALUES_PLAIN,   /* around 1, both signs */
    TEST_VALUES_EXTREME, /* also zeros of both signs, denormals, huge, -128 weights, negative and denormal scales */
    TEST_VALUES_NAN,     /* also infinities and NaNs */
} test_values;

/* The next of a sequence of random numbers that depends on `state` only. */
uint64_t test_random(uint64_t *state);
float test_random_f32(uint64_t *state, test_values values);
void test_random_fill(uint64_t *state, test_values values, float *out, size_t count);

/* A random matrix [row_count, k_total] in the file's layout, whole K. rows is owned by the caller: free((void
 * *)m.rows). */
gsrt_matrix test_random_matrix(uint64_t *state, test_values values, gsrt_dtype dtype, uint32_t row_count,
                               uint32_t k_total, uint32_t k_group);
/* Outputs [row_first, +row_count) of `whole`; shares its memory. */
gsrt_matrix test_cut_rows(const gsrt_matrix *whole, uint32_t row_first, uint32_t row_count);
/* Elements of K of chunks [chunk_first, chunk_end) of `whole`; shares its memory. */
gsrt_matrix test_cut_k(const gsrt_matrix *whole, uint32_t chunk_first, uint32_t chunk_end);

/* Activations for `matrix` [rows]: f32, or quantised where the weights are. Owned by the caller. */
void *test_random_x(uint64_t *state, test_values values, const gsrt_matrix *matrix, uint32_t row_count,
                    size_t *out_row_bytes);

/* Index of the first element whose bits differ (NaNs are a class), or count. */
size_t test_first_difference(const float *a, const float *b, size_t count);

extern const gsrt_dtype test_dtypes[5];

#endif
