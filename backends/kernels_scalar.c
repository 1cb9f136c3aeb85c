/* Kernels in plain C: the oracle behind the table of kernels. */
#include "backends/kernels.h"
#include "backends/oracle.h"

static size_t no_bytes(const gsrt_linear_task *task)
{
    (void)task;
    return 0;
}

static void prepare_nothing(const gsrt_linear_task *task, uint32_t row_first, uint32_t row_end)
{
    (void)task;
    (void)row_first;
    (void)row_end;
}

static void linear(const gsrt_linear_task *task, uint32_t out_first, uint32_t out_end, uint8_t *scratch)
{
    (void)scratch;
    const gsrt_chunking *chunking = &task->chunking;
    for (uint32_t row = 0; row < task->row_count; row++) {
        const void *x = (const uint8_t *)task->x + row * task->x_stride_bytes;
        float *out = task->out + row * task->out_stride;
        for (uint32_t at = chunking->first; at < chunking->end; out += task->matrix->row_count) {
            uint32_t end = gsrt_subtree_end(at, chunking->end, chunking->count);
            for (uint32_t o = out_first; o < out_end; o++) {
                float sum = gsrt_oracle_node(task->matrix, x, o, at, end);
                out[o] = task->bias == NULL ? sum : sum + task->bias[o];
            }
            at = end;
        }
    }
}

static size_t no_packed_bytes(const gsrt_matrix *matrix)
{
    (void)matrix;
    return 0;
}

static void pack_nothing(const gsrt_matrix *matrix, uint8_t *to, uint32_t panel_first, uint32_t panel_end)
{
    (void)matrix;
    (void)to;
    (void)panel_first;
    (void)panel_end;
}

static void attend(const gsrt_attention_block *block, const float *q, float *m, float *l, float *o)
{
    float scores[GSRT_ATTENTION_BLOCK];
    float largest = -INFINITY, sum = 0.0f;
    for (uint32_t j = 0; j < block->count; j++) {
        float dot = 0.0f;
        for (uint32_t d = 0; d < block->head_dim; d++)
            dot = fmaf(q[d], block->k[(size_t)d * GSRT_ATTENTION_BLOCK + j], dot);
        scores[j] = dot * block->scale;
        largest = scores[j] > largest ? scores[j] : largest;
    }
    for (uint32_t d = 0; d < block->head_pad; d++)
        o[d] = 0.0f;
    for (uint32_t j = 0; j < block->count; j++) {
        const float *v = block->v + (size_t)j * block->head_pad;
        float e = gsrt_exp_f32(scores[j] - largest);
        sum = sum + e;
        for (uint32_t d = 0; d < block->head_dim; d++)
            o[d] = fmaf(e, v[d], o[d]);
    }
    *m = largest;
    *l = sum;
}

static void combine(uint32_t head_pad, float *left_m, float *left_l, float *left_o, float right_m, float right_l,
                    const float *right_o)
{
    gsrt_combine_factors f = gsrt_combine_factors_of(*left_m, right_m);
    *left_l = fmaf(right_l, f.right, *left_l * f.left);
    for (uint32_t d = 0; d < head_pad; d++)
        left_o[d] = fmaf(right_o[d], f.right, left_o[d] * f.left);
    *left_m = f.m;
}

static const gsrt_linear_ops products = {
    .prepared_bytes = no_bytes,
    .prepare = prepare_nothing,
    .scratch_bytes = no_bytes,
    .linear = linear,
    .packed_bytes = no_packed_bytes,
    .pack = pack_nothing,
};

const gsrt_kernels gsrt__kernels_scalar = {
    .isa = GSRT_ISA_SCALAR,
    .products = {&products, &products},
    .embed = gsrt_oracle_embed,
    .quantise = gsrt_oracle_quantise,
    .rmsnorm = gsrt_oracle_rmsnorm,
    .swiglu = gsrt_oracle_swiglu,
    .attend = attend,
    .combine = combine,
};
