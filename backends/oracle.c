#include "backends/oracle.h"
#include "backends/numerics.h"
#include "backends/rope.h"

#include <assert.h>

/* ---- weights as numbers ---- */

static const uint8_t *block_at(const gsrt_matrix *matrix, uint32_t row, uint32_t k)
{
    const uint8_t *bytes = matrix->rows + (size_t)row * matrix->row_stride_bytes;
    return bytes + k / gsrt_dtype_block(matrix->dtype) * gsrt_dtype_block_bytes(matrix->dtype);
}

/* The weight of an unquantised matrix at (row, k). */
static float weight_at(const gsrt_matrix *matrix, uint32_t row, uint32_t k)
{
    const uint8_t *bytes = block_at(matrix, row, k);
    if (matrix->dtype == GSRT_DTYPE_F16)
        return gsrt_widen_f16(gsrt_load_u16(bytes));
    if (matrix->dtype == GSRT_DTYPE_BF16)
        return gsrt_widen_bf16(gsrt_load_u16(bytes));
    float value;
    __builtin_memcpy(&value, bytes, sizeof value);
    return value;
}

/* The integers of the quantised block at `bytes`; returns its scale. */
static float block_read(gsrt_dtype dtype, const uint8_t *bytes, int32_t q[32])
{
    if (dtype == GSRT_DTYPE_Q8_0) {
        const int8_t *values = (const int8_t *)(bytes + 2); /* through int8_t *: see KERNELS, GCC 12.2 */
        for (int i = 0; i < 32; i++)
            q[i] = values[i];
    } else {
        for (int i = 0; i < 16; i++) {
            q[i] = (bytes[2 + i] & 15) - 8;
            q[i + 16] = (bytes[2 + i] >> 4) - 8;
        }
    }
    return gsrt_widen_f16(gsrt_load_u16(bytes));
}

void gsrt_oracle_embed(const gsrt_matrix *matrix, uint32_t row, float *out)
{
    if (!gsrt_dtype_is_quantised(matrix->dtype)) {
        for (uint32_t k = 0; k < matrix->k_total; k++)
            out[k] = weight_at(matrix, row, k);
        return;
    }
    for (uint32_t k = 0; k < matrix->k_total; k += 32) {
        int32_t q[32];
        float d = block_read(matrix->dtype, block_at(matrix, row, k), q);
        for (uint32_t i = 0; i < 32; i++)
            out[k + i] = (float)q[i] * d;
    }
}

/* ---- sums ---- */

void gsrt_oracle_quantise(const float *x, uint32_t count, gsrt_q8_block *out)
{
    assert(count % 32 == 0);
    for (uint32_t b = 0; b < count / 32; b++, x += 32, out++) {
        float amax = 0.0f;
        bool is_finite = true;
        for (int i = 0; i < 32; i++) {
            if (!isfinite(x[i]))
                is_finite = false;
            if (fabsf(x[i]) > amax)
                amax = fabsf(x[i]);
        }
        out->scale = is_finite ? amax / 127.0f : gsrt_float_of(0x7fc00000u);
        for (int i = 0; i < 32; i++) {
            float q = is_finite && out->scale > 0.0f ? nearbyintf(x[i] / out->scale) : 0.0f;
            q = q > 127.0f ? 127.0f : q < -127.0f ? -127.0f : q;
            out->q[i] = (int8_t)q;
        }
    }
}

/* The sum of chunk `c`. */
static float chunk_sum(const gsrt_matrix *matrix, const void *x, uint32_t row, uint32_t chunk, uint32_t c)
{
    uint32_t k_end = (c + 1) * chunk < matrix->k_total ? (c + 1) * chunk : matrix->k_total;
    float acc = 0.0f;
    if (!gsrt_dtype_is_quantised(matrix->dtype)) {
        const float *values = x;
        for (uint32_t k = c * chunk; k < k_end; k++)
            acc = fmaf(weight_at(matrix, row, k), values[k - matrix->k_first], acc);
        return acc;
    }
    const gsrt_q8_block *blocks = x;
    for (uint32_t k = c * chunk; k < k_end; k += 32) {
        const gsrt_q8_block *block = &blocks[(k - matrix->k_first) / 32];
        int32_t q[32], isum = 0;
        float d = block_read(matrix->dtype, block_at(matrix, row, k), q);
        for (int i = 0; i < 32; i++)
            isum += q[i] * block->q[i];
        acc = fmaf((float)isum, d * block->scale, acc);
    }
    return acc;
}

/* node(level, index) of section 2. */
static float tree_node(const gsrt_matrix *matrix, const void *x, uint32_t row, uint32_t chunk, uint32_t chunk_count,
                       uint32_t level, uint32_t index)
{
    if (level == 0)
        return chunk_sum(matrix, x, row, chunk, index);
    float left = tree_node(matrix, x, row, chunk, chunk_count, level - 1, 2 * index);
    if ((uint64_t)(2 * index + 1) << (level - 1) >= chunk_count)
        return left;
    return left + tree_node(matrix, x, row, chunk, chunk_count, level - 1, 2 * index + 1);
}

float gsrt_oracle_node(const gsrt_matrix *matrix, const void *x, uint32_t row, uint32_t chunk_first, uint32_t chunk_end)
{
    gsrt_chunking chunking = gsrt_chunking_of(matrix);
    uint32_t level = 0;
    while ((chunk_first >> level << level) != chunk_first || chunk_first + (1u << level) < chunk_end)
        level++;
    return tree_node(matrix, x, row, chunking.chunk, chunking.count, level, chunk_first >> level);
}

void gsrt_oracle_linear(const gsrt_matrix *matrix, const void *x, const float *bias, float *out)
{
    gsrt_chunking chunking = gsrt_chunking_of(matrix);
    bool is_whole = chunking.first == 0 && chunking.end == chunking.count;
    assert(is_whole || bias == NULL);
    uint32_t at = chunking.first;
    for (uint32_t s = 0; s < chunking.subtree_count; s++) {
        uint32_t end = gsrt_subtree_end(at, chunking.end, chunking.count);
        for (uint32_t row = 0; row < matrix->row_count; row++) {
            float sum = gsrt_oracle_node(matrix, x, row, at, end);
            out[(size_t)s * matrix->row_count + row] = bias == NULL ? sum : sum + bias[row];
        }
        at = end;
    }
}

/* The node that covers chunks [index << level, ...), from the given subtrees that lie within it; takes them in order.
 */
static float finish_node(const float *sums, uint32_t width, uint32_t column, const uint32_t *firsts,
                         const uint32_t *ends, uint32_t *at, uint32_t chunk_count, uint32_t level, uint32_t index)
{
    uint64_t first = (uint64_t)index << level, end = (uint64_t)(index + 1) << level;
    if (end > chunk_count)
        end = chunk_count;
    if (firsts[*at] == first && ends[*at] == end)
        return sums[(size_t)(*at)++ * width + column];
    assert(level > 0);
    float left = finish_node(sums, width, column, firsts, ends, at, chunk_count, level - 1, 2 * index);
    if ((uint64_t)(2 * index + 1) << (level - 1) >= chunk_count)
        return left;
    return left + finish_node(sums, width, column, firsts, ends, at, chunk_count, level - 1, 2 * index + 1);
}

void gsrt_oracle_tree(const float *sums, uint32_t width, uint32_t chunk_count, const uint32_t *chunk_ends,
                      uint32_t share_count, float *out)
{
    uint32_t firsts[GSRT_CHUNK_COUNT_MAX], ends[GSRT_CHUNK_COUNT_MAX], node_count = 0, at = 0, level = 0;
    assert(chunk_count <= GSRT_CHUNK_COUNT_MAX);
    for (uint32_t share = 0; share < share_count; share++)
        for (; at < chunk_ends[share]; at = ends[node_count++]) {
            firsts[node_count] = at;
            ends[node_count] = gsrt_subtree_end(at, chunk_ends[share], chunk_count);
        }
    while ((1u << level) < chunk_count)
        level++;
    for (uint32_t column = 0; column < width; column++) {
        uint32_t next = 0;
        out[column] = finish_node(sums, width, column, firsts, ends, &next, chunk_count, level, 0);
        assert(next == node_count);
    }
}

/* ---- elementwise ---- */

void gsrt_oracle_rmsnorm(const float *x, const float *weight, uint32_t width, float epsilon, float *out)
{
    float lanes[16] = {0};
    for (uint32_t i = 0; i < width; i++)
        lanes[i % 16] = fmaf(x[i], x[i], lanes[i % 16]);
    for (uint32_t half = 8; half > 0; half /= 2)
        for (uint32_t j = 0; j < half; j++)
            lanes[j] = lanes[j] + lanes[j + half];
    float r = 1.0f / sqrtf(lanes[0] / (float)width + epsilon);
    for (uint32_t i = 0; i < width; i++)
        out[i] = (x[i] * r) * weight[i];
}

void gsrt_oracle_swiglu(const float *gate, const float *up, uint32_t width, float *out)
{
    for (uint32_t i = 0; i < width; i++)
        out[i] = (gate[i] / (1.0f + gsrt_exp_f32(-gate[i]))) * up[i];
}

void gsrt_oracle_add(const float *a, const float *b, uint32_t width, float *out)
{
    for (uint32_t i = 0; i < width; i++)
        out[i] = a[i] + b[i];
}

bool gsrt_oracle_rope(float *x, uint32_t head_count, uint32_t head_dim, const gsrt_rope_table *table, uint32_t position)
{
    const float *angles = gsrt_rope_row(table, position);
    if (angles == NULL)
        return false;
    uint32_t pair_count = gsrt_rope_dim_rotated(table) / 2;
    uint32_t step = gsrt_rope_is_neox(table) ? 1 : 2, distance = gsrt_rope_is_neox(table) ? pair_count : 1;
    for (uint32_t head = 0; head < head_count; head++)
        for (uint32_t i = 0; i < pair_count; i++) {
            float *pair = x + (size_t)head * head_dim + (size_t)i * step;
            float a = pair[0], b = pair[distance], c = angles[2 * i], s = angles[2 * i + 1];
            pair[0] = fmaf(a, c, -(b * s));
            pair[distance] = fmaf(a, s, b * c);
        }
    return true;
}

/* ---- attention ---- */

typedef struct partial {
    float m, l;
    float o[GSRT_HEAD_DIM_MAX];
} partial;

typedef struct attention {
    const float *q, *k, *v;
    size_t stride;
    uint32_t head_dim, position_count, block_count;
    float scale;
} attention;

static void attend_block(const attention *a, uint32_t block, partial *out)
{
    uint32_t first = block * GSRT_ATTENTION_BLOCK, count = a->position_count - first;
    if (count > GSRT_ATTENTION_BLOCK)
        count = GSRT_ATTENTION_BLOCK;
    float scores[GSRT_ATTENTION_BLOCK];
    out->m = -INFINITY;
    for (uint32_t j = 0; j < count; j++) {
        const float *k = a->k + (first + j) * a->stride;
        float dot = 0.0f;
        for (uint32_t d = 0; d < a->head_dim; d++)
            dot = fmaf(a->q[d], k[d], dot);
        scores[j] = dot * a->scale;
        out->m = scores[j] > out->m ? scores[j] : out->m;
    }
    out->l = 0.0f;
    for (uint32_t d = 0; d < a->head_dim; d++)
        out->o[d] = 0.0f;
    for (uint32_t j = 0; j < count; j++) {
        const float *v = a->v + (first + j) * a->stride;
        float e = gsrt_exp_f32(scores[j] - out->m);
        out->l = out->l + e;
        for (uint32_t d = 0; d < a->head_dim; d++)
            out->o[d] = fmaf(e, v[d], out->o[d]);
    }
}

/* left = left combined with right. */
static void combine(uint32_t head_dim, partial *left, const partial *right)
{
    float m = right->m > left->m ? right->m : left->m;
    float a = gsrt_exp_f32(left->m - m), b = gsrt_exp_f32(right->m - m);
    left->l = fmaf(right->l, b, left->l * a);
    for (uint32_t d = 0; d < head_dim; d++)
        left->o[d] = fmaf(right->o[d], b, left->o[d] * a);
    left->m = m;
}

static void attend_node(const attention *a, uint32_t level, uint32_t index, partial *out)
{
    if (level == 0) {
        attend_block(a, index, out);
        return;
    }
    attend_node(a, level - 1, 2 * index, out);
    if ((uint64_t)(2 * index + 1) << (level - 1) >= a->block_count)
        return;
    partial right;
    attend_node(a, level - 1, 2 * index + 1, &right);
    combine(a->head_dim, out, &right);
}

void gsrt_oracle_attention(const float *q, const float *k, const float *v, size_t stride, uint32_t head_dim,
                           uint32_t position_count, float scale, float *out)
{
    assert(head_dim <= GSRT_HEAD_DIM_MAX && position_count > 0);
    attention a = {.q = q,
                   .k = k,
                   .v = v,
                   .stride = stride,
                   .head_dim = head_dim,
                   .position_count = position_count,
                   .block_count = (position_count + GSRT_ATTENTION_BLOCK - 1) / GSRT_ATTENTION_BLOCK,
                   .scale = scale};
    uint32_t level = 0;
    while ((1u << level) < a.block_count)
        level++;
    partial whole;
    attend_node(&a, level, 0, &whole);
    for (uint32_t d = 0; d < head_dim; d++)
        out[d] = whole.o[d] / whole.l;
}
