#include "model/narrow.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/numerics.h"
#include "backends/oracle.h"

enum { BLOCK = 32, BLOCK_BYTES_MAX = 128 };

bool gsrt_narrow_is_known(gsrt_dtype dtype)
{
    return dtype == GSRT_DTYPE_F32 || dtype == GSRT_DTYPE_F16 || dtype == GSRT_DTYPE_BF16 || dtype == GSRT_DTYPE_Q8_0 ||
           dtype == GSRT_DTYPE_Q4_0;
}

/* Adding a number whose last place is worth what the result's is makes the processor round: to nearest, ties to even.
 */
uint16_t gsrt_narrow_f16(float x)
{
    uint32_t bits = gsrt_bits_of(x), sign = bits >> 16 & 0x8000u;
    float magnitude = gsrt_float_of(bits & 0x7fffffffu);
    if (magnitude != magnitude)
        return (uint16_t)(sign | 0x7e00u);
    if (magnitude >= 65520.0f) /* halfway between the largest f16 and the next power of two */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x1p-14f) /* denormal: steps of 2^-24, which is the last place of numbers in [0.5, 1) */
        return (uint16_t)(sign | (gsrt_bits_of(magnitude + 0.5f) - 0x3f000000u));
    uint32_t rounded = gsrt_bits_of(magnitude) + 0xfffu + (gsrt_bits_of(magnitude) >> 13 & 1u);
    return (uint16_t)(sign | ((rounded >> 13) - (112u << 10)));
}

uint16_t gsrt_narrow_bf16(float x)
{
    uint32_t bits = gsrt_bits_of(x);
    if (x != x)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static void store_u16(uint8_t *at, uint16_t value)
{
    memcpy(at, &value, sizeof value);
}

/* The f16 nearest to d, finite; its value. */
static float store_scale(uint8_t *at, float d)
{
    uint16_t half = gsrt_narrow_f16(d);
    if ((half & 0x7c00u) == 0x7c00u)
        half = 0x7bffu;
    store_u16(at, half);
    return gsrt_widen_f16(half);
}

static int nearest(float x, float d, int low, int high)
{
    float q = d == 0 ? 0 : nearbyintf(x / d);
    return q > (float)high ? high : q < (float)low ? low : q == q ? (int)q : 0;
}

static void narrow_q8_0(const float x[BLOCK], uint8_t *out)
{
    float largest = 0;
    for (int i = 0; i < BLOCK; i++)
        largest = fabsf(x[i]) > largest || x[i] != x[i] ? fabsf(x[i]) : largest;
    float d = store_scale(out, largest / 127);
    for (int i = 0; i < BLOCK; i++)
        out[2 + i] = (uint8_t)nearest(x[i], d, -127, 127);
}

static void narrow_q4_0(const float x[BLOCK], uint8_t *out)
{
    float extreme = 0;
    for (int i = 0; i < BLOCK; i++)
        extreme = fabsf(x[i]) > fabsf(extreme) || x[i] != x[i] ? x[i] : extreme;
    float d = store_scale(out, extreme / -8);
    for (int i = 0; i < BLOCK / 2; i++) {
        unsigned low = (unsigned)(nearest(x[i], d, -8, 7) + 8), high = (unsigned)(nearest(x[i + 16], d, -8, 7) + 8);
        out[2 + i] = (uint8_t)(low | high << 4);
    }
}

void gsrt_narrow(const float *x, size_t count, gsrt_dtype dtype, uint8_t *out)
{
    assert(gsrt_narrow_is_known(dtype) && count % gsrt_dtype_block(dtype) == 0);
    size_t block = gsrt_dtype_block(dtype), bytes = gsrt_dtype_block_bytes(dtype);
    for (size_t i = 0; i < count; i += block, out += bytes) {
        if (dtype == GSRT_DTYPE_F16)
            store_u16(out, gsrt_narrow_f16(x[i]));
        else if (dtype == GSRT_DTYPE_BF16)
            store_u16(out, gsrt_narrow_bf16(x[i]));
        else if (dtype == GSRT_DTYPE_Q8_0)
            narrow_q8_0(x + i, out);
        else if (dtype == GSRT_DTYPE_Q4_0)
            narrow_q4_0(x + i, out);
        else
            memcpy(out, &x[i], sizeof x[i]);
    }
}

void gsrt_narrow_round(const float *x, size_t count, gsrt_dtype dtype, float *out)
{
    if (dtype == GSRT_DTYPE_F32) {
        memmove(out, x, count * sizeof *x);
        return;
    }
    uint32_t block = (uint32_t)gsrt_dtype_block(dtype);
    for (size_t i = 0; i < count; i += block) {
        uint8_t bytes[BLOCK_BYTES_MAX];
        gsrt_narrow(x + i, block, dtype, bytes);
        gsrt_matrix one = {.dtype = dtype, .row_count = 1, .k_total = block, .k_count = block, .rows = bytes};
        gsrt_oracle_embed(&one, 0, out + i);
    }
}

/* ---- weights ---- */

static size_t bytes_of(gsrt_dtype dtype, uint32_t count)
{
    return (size_t)count / gsrt_dtype_block(dtype) * gsrt_dtype_block_bytes(dtype);
}

size_t gsrt_narrowing_row_bytes(const gsrt_narrowing *n)
{
    return bytes_of(n->held, n->k_count);
}

size_t gsrt_narrowing_bytes(const gsrt_narrowing *n)
{
    return bytes_of(n->held, n->k_first) + gsrt_narrowing_row_bytes(n) * n->row_count;
}

gsrt_status gsrt_narrow_weights(const gsrt_weights *weights, const gsrt_narrowing *n, uint8_t *out)
{
    const gsrt_tensor *t = &gsrt_weights_workload(weights)->tensors[n->tensor];
    gsrt_matrix matrix = {.dtype = t->dtype,
                          .row_count = n->row_count,
                          .k_total = t->column_count,
                          .k_count = t->column_count,
                          .rows = gsrt_weights_rows(weights, n->tensor, n->row_first, n->row_count, NULL),
                          .row_stride_bytes = gsrt_weights_row_bytes(weights, n->tensor)};
    float *row = malloc((size_t)t->column_count * sizeof *row);
    size_t front = bytes_of(n->held, n->k_first), row_bytes = gsrt_narrowing_row_bytes(n);
    if (row == NULL)
        return GSRT_ENOMEM;
    assert(n->k_first % gsrt_dtype_block(n->weights) == 0 && n->k_count % gsrt_dtype_block(n->weights) == 0);
    uint32_t mxcsr = gsrt_mxcsr_set();
    for (uint32_t r = 0; r < n->row_count; r++) {
        gsrt_oracle_embed(&matrix, r, row);
        if (n->held != n->weights)
            gsrt_narrow_round(row + n->k_first, n->k_count, n->weights, row + n->k_first);
        gsrt_narrow(row + n->k_first, n->k_count, n->held, out + front + r * row_bytes);
    }
    gsrt_mxcsr_restore(mxcsr);
    free(row);
    return GSRT_OK;
}
