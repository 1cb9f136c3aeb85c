/* Norm, activation and attention, written once for all widths of lanes (include a lanes_*.h first). */
#ifndef GSRT_BACKENDS_LANES_ROWS_H
#define GSRT_BACKENDS_LANES_ROWS_H

static void lanes_rmsnorm(const float *x, const float *weight, uint32_t width, float epsilon, float *out)
{
    enum { VECTORS = 16 / LANES };
    lanes acc[VECTORS];
    for (int v = 0; v < VECTORS; v++)
        acc[v] = lanes_set1(0.0f);
    uint32_t i = 0;
    for (; i + 16 <= width; i += 16)
        for (int v = 0; v < VECTORS; v++) {
            lanes a = lanes_load(x + i + v * LANES);
            acc[v] = lanes_fma(a, a, acc[v]);
        }
    float sums[16];
    for (int v = 0; v < VECTORS; v++)
        lanes_store(sums + v * LANES, acc[v]);
    for (uint32_t j = 0; i + j < width; j++)
        sums[j] = fmaf(x[i + j], x[i + j], sums[j]);
    for (uint32_t half = 8; half > 0; half /= 2)
        for (uint32_t j = 0; j < half; j++)
            sums[j] = sums[j] + sums[j + half];
    float r = 1.0f / sqrtf(sums[0] / (float)width + epsilon);
    for (i = 0; i + LANES <= width; i += LANES)
        lanes_store(out + i, lanes_mul(lanes_mul(lanes_load(x + i), lanes_set1(r)), lanes_load(weight + i)));
    for (; i < width; i++)
        out[i] = (x[i] * r) * weight[i];
}

static void lanes_swiglu(const float *gate, const float *up, uint32_t width, float *out)
{
    uint32_t i = 0;
    lanes one = lanes_set1(1.0f), sign = lanes_set1(-0.0f);
    for (; i + LANES <= width; i += LANES) {
        lanes g = lanes_load(gate + i);
        lanes e = lanes_exp(lanes_sub(sign, g)); /* -0 - g is -g, also for zeros */
        lanes_store(out + i, lanes_mul(lanes_div(g, lanes_add(one, e)), lanes_load(up + i)));
    }
    for (; i < width; i++)
        out[i] = (gate[i] / (1.0f + gsrt_exp_f32(-gate[i]))) * up[i];
}

/* Scores of VECTORS * LANES positions from `first` on; lanes run over positions. */
static inline __attribute__((always_inline)) void score_positions(const gsrt_attention_block *block, const float *q,
                                                                  uint32_t first, const int vectors, float *scores)
{
    lanes acc[8];
    for (int v = 0; v < vectors; v++)
        acc[v] = lanes_set1(0.0f);
    const float *k = block->k + first;
    for (uint32_t d = 0; d < block->head_dim; d++, k += GSRT_ATTENTION_BLOCK) {
        lanes value = lanes_set1(q[d]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            acc[v] = lanes_fma(value, lanes_load(k + v * LANES), acc[v]);
    }
    lanes scale = lanes_set1(block->scale);
    for (int v = 0; v < vectors; v++)
        lanes_store(scores + first + v * LANES, lanes_mul(acc[v], scale));
}

/* VECTORS * LANES elements of the output, from `first` on; returns the sum of e. */
static inline __attribute__((always_inline)) float weigh_values(const gsrt_attention_block *block, const float *e,
                                                                uint32_t first, const int vectors, float *o)
{
    lanes acc[8];
    float sum = 0.0f;
    for (int v = 0; v < vectors; v++)
        acc[v] = lanes_set1(0.0f);
    const float *from = block->v + first;
    for (uint32_t j = 0; j < block->count; j++, from += block->head_pad) {
        lanes value = lanes_set1(e[j]);
        sum = sum + e[j];
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            acc[v] = lanes_fma(value, lanes_load(from + v * LANES), acc[v]);
    }
    for (int v = 0; v < vectors; v++)
        lanes_store(o + first + v * LANES, acc[v]);
    return sum;
}

static void lanes_attend(const gsrt_attention_block *block, const float *q, float *m, float *l, float *o)
{
    enum { BLOCK_VECTORS = GSRT_ATTENTION_BLOCK / LANES, HALF_VECTORS = BLOCK_VECTORS / 2 };
    float scores[GSRT_ATTENTION_BLOCK];
    uint32_t done;
    if (block->count > GSRT_ATTENTION_BLOCK / 2) {
        score_positions(block, q, 0, BLOCK_VECTORS, scores);
        done = GSRT_ATTENTION_BLOCK;
    } else {
        score_positions(block, q, 0, HALF_VECTORS, scores);
        done = GSRT_ATTENTION_BLOCK / 2;
    }
    for (uint32_t j = block->count; j < done; j++)
        scores[j] = -INFINITY; /* positions that the query does not see */

    lanes largest = lanes_set1(-INFINITY);
    for (uint32_t j = 0; j < done; j += LANES)
        largest = lanes_max(lanes_load(scores + j), largest);
    float maxima[LANES], top = -INFINITY;
    lanes_store(maxima, largest);
    for (int i = 0; i < LANES; i++)
        top = maxima[i] > top ? maxima[i] : top;
    lanes shift = lanes_set1(top);
    for (uint32_t j = 0; j < done; j += LANES)
        lanes_store(scores + j, lanes_exp(lanes_sub(lanes_load(scores + j), shift)));

    float sum = 0.0f;
    uint32_t d = 0;
    for (; d + 8 * LANES <= block->head_pad; d += 8 * LANES)
        sum = weigh_values(block, scores, d, 8, o);
    for (; d + 4 * LANES <= block->head_pad; d += 4 * LANES)
        sum = weigh_values(block, scores, d, 4, o);
    for (; d < block->head_pad; d += LANES)
        sum = weigh_values(block, scores, d, 1, o);
    *m = top;
    *l = sum;
}

static void lanes_combine(uint32_t head_pad, float *left_m, float *left_l, float *left_o, float right_m, float right_l,
                          const float *right_o)
{
    gsrt_combine_factors f = gsrt_combine_factors_of(*left_m, right_m);
    *left_l = fmaf(right_l, f.right, *left_l * f.left);
    lanes a = lanes_set1(f.left), b = lanes_set1(f.right);
    for (uint32_t d = 0; d < head_pad; d += LANES)
        lanes_store(left_o + d, lanes_fma(lanes_load(right_o + d), b, lanes_mul(lanes_load(left_o + d), a)));
    *left_m = f.m;
}

#endif
