#include "tests/backends/support.h"
#include "backends/oracle.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

const gsrt_dtype test_dtypes[5] = {GSRT_DTYPE_F32, GSRT_DTYPE_F16, GSRT_DTYPE_BF16, GSRT_DTYPE_Q8_0, GSRT_DTYPE_Q4_0};

uint64_t test_random(uint64_t *state)
{
    return gsrt_random_u64(1, 2, (*state)++);
}

float test_random_f32(uint64_t *state, test_values values)
{
    static const float extremes[] = {0.0f,   -0.0f,  0x1p-149f, -0x1.8p-140f, 0x1p-126f, 3e38f,
                                     -1e30f, 1e-30f, 65504.0f,  1e-20f,       -1.0f,     0x1p-24f};
    static const float odd[] = {INFINITY, -INFINITY, NAN};
    uint64_t bits = test_random(state);
    if (values == TEST_VALUES_NAN && bits % 97 == 0)
        return odd[(bits >> 32) % 3];
    if (values != TEST_VALUES_PLAIN && bits % 11 == 0)
        return extremes[(bits >> 32) % (sizeof extremes / sizeof extremes[0])];
    return (float)(int32_t)(bits >> 32) * 0x1p-30f;
}

void test_random_fill(uint64_t *state, test_values values, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = test_random_f32(state, values);
}

/* An f16 by its bits. */
static uint16_t random_f16(uint64_t *state, test_values values)
{
    static const uint16_t extremes[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff, 0xfbff, 0x3c00};
    static const uint16_t odd[] = {0x7c00, 0xfc00, 0x7e01};
    uint64_t bits = test_random(state);
    if (values == TEST_VALUES_NAN && bits % 97 == 0)
        return odd[(bits >> 32) % 3];
    if (values != TEST_VALUES_PLAIN && bits % 7 == 0)
        return extremes[(bits >> 32) % 8];
    /* any mantissa and sign; exponents around 1/16 .. 2 */
    return (uint16_t)((bits & 0x83ff) | (11 + (bits >> 40) % 5) << 10);
}

static void random_block(uint64_t *state, test_values values, gsrt_dtype dtype, uint8_t *out)
{
    if (dtype == GSRT_DTYPE_F32 || dtype == GSRT_DTYPE_BF16) {
        float value = test_random_f32(state, values);
        uint32_t bits = gsrt_bits_of(value);
        if (dtype == GSRT_DTYPE_F32)
            memcpy(out, &bits, 4);
        else
            memcpy(out, (uint8_t *)&bits + 2, 2);
        return;
    }
    uint16_t half = random_f16(state, values);
    memcpy(out, &half, 2);
    if (dtype == GSRT_DTYPE_F16)
        return;
    size_t count = gsrt_dtype_block_bytes(dtype) - 2;
    for (size_t i = 0; i < count; i += 4) {
        uint64_t bits = test_random(state);
        memcpy(out + 2 + i, &bits, 4);
        if (values != TEST_VALUES_PLAIN && bits >> 61 == 0)
            memset(out + 2 + i, 0x80, 4); /* -128 */
    }
}

gsrt_matrix test_random_matrix(uint64_t *state, test_values values, gsrt_dtype dtype, uint32_t row_count,
                               uint32_t k_total, uint32_t k_group)
{
    size_t block_bytes = gsrt_dtype_block_bytes(dtype);
    size_t row_bytes = k_total / gsrt_dtype_block(dtype) * block_bytes;
    uint8_t *rows = malloc(row_bytes * row_count + 1);
    if (rows == NULL)
        abort();
    for (size_t at = 0; at < row_bytes * row_count; at += block_bytes)
        random_block(state, values, dtype, rows + at);
    return (gsrt_matrix){.name = "random",
                         .dtype = dtype,
                         .row_count = row_count,
                         .k_total = k_total,
                         .k_count = k_total,
                         .k_group = k_group,
                         .rows = rows,
                         .row_stride_bytes = row_bytes};
}

gsrt_matrix test_cut_rows(const gsrt_matrix *whole, uint32_t row_first, uint32_t row_count)
{
    return (gsrt_matrix){.name = whole->name,
                         .dtype = whole->dtype,
                         .row_count = row_count,
                         .k_total = whole->k_total,
                         .k_first = whole->k_first,
                         .k_count = whole->k_count,
                         .k_group = whole->k_group,
                         .rows = whole->rows + row_first * whole->row_stride_bytes,
                         .row_stride_bytes = whole->row_stride_bytes};
}

gsrt_matrix test_cut_k(const gsrt_matrix *whole, uint32_t chunk_first, uint32_t chunk_end)
{
    uint32_t chunk = gsrt_chunk_of(whole->k_total, whole->k_group, whole->dtype);
    gsrt_matrix part = test_cut_rows(whole, 0, whole->row_count);
    uint32_t end = chunk_end * chunk < whole->k_total ? chunk_end * chunk : whole->k_total;
    part.k_first = chunk_first * chunk;
    part.k_count = end - part.k_first;
    return part;
}

void *test_random_x(uint64_t *state, test_values values, const gsrt_matrix *matrix, uint32_t row_count,
                    size_t *out_row_bytes)
{
    size_t count = (size_t)matrix->k_count * row_count;
    float *x = malloc(count * sizeof(float) + 1);
    if (x == NULL)
        abort();
    test_random_fill(state, values, x, count);
    *out_row_bytes = matrix->k_count * sizeof(float);
    if (!gsrt_dtype_is_quantised(matrix->dtype))
        return x;
    gsrt_q8_block *blocks = malloc(count / 32 * sizeof *blocks + 1);
    if (blocks == NULL)
        abort();
    gsrt_oracle_quantise(x, (uint32_t)count, blocks);
    free(x);
    *out_row_bytes = matrix->k_count / 32 * sizeof *blocks;
    return blocks;
}

size_t test_first_difference(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gsrt_bits_of(a[i]) != gsrt_bits_of(b[i]) && !(isnan(a[i]) && isnan(b[i])))
            return i;
    return count;
}
