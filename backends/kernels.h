/* Inside backends: the kernels of one instruction set, all with the bits of backends/oracle.h.
 *
 * LINEAR works on panels of outputs. Its activations may first be rewritten once for all panels (`prepare`, rows split
 * over threads), then panels are split over threads. Weights come from the mapped file, or packed (backends/pack.h).
 * Thread: any, with the canonical MXCSR; no state, no allocation.
 */
#ifndef GSRT_BACKENDS_KERNELS_H
#define GSRT_BACKENDS_KERNELS_H

#include "backends/device.h"
#include "backends/numerics.h"

/* Outputs are split between threads at multiples of this; also the rows of a packed panel. */
enum { GSRT_PANEL_OUTPUTS = 32 };

typedef struct gsrt_linear_task {
    const gsrt_matrix *matrix;
    const uint8_t *packed; /* [packed_bytes] in this instruction set's layout, or NULL: read the file's layout */
    gsrt_chunking chunking;
    const void *x; /* [row_count] rows: f32 [k_count], or gsrt_q8_block [k_count / 32] */
    size_t x_stride_bytes;
    uint32_t row_count;
    const float *bias; /* [matrix->row_count] or NULL */
    float *out;        /* row r, subtree s, output o at out[r * out_stride + s * matrix->row_count + o] */
    size_t out_stride;
    uint8_t *prepared; /* [prepared_bytes], 64-byte aligned; NULL when that is 0 */
} gsrt_linear_task;

/* One block of positions of one query. */
typedef struct gsrt_attention_block {
    const float *k; /* [head_dim][64] */
    const float *v; /* [64][head_pad] */
    uint32_t head_dim, head_pad;
    uint32_t count; /* positions that the query sees, 1..64 */
    float scale;
} gsrt_attention_block;

/* LINEAR for one family of weights. */
typedef struct gsrt_linear_ops {
    /* Bytes of `prepared` for this task; prepare is called for all rows before linear, unless it is 0. */
    size_t (*prepared_bytes)(const gsrt_linear_task *task);
    void (*prepare)(const gsrt_linear_task *task, uint32_t row_first, uint32_t row_end);
    /* Bytes of scratch per thread, 64-byte aligned. */
    size_t (*scratch_bytes)(const gsrt_linear_task *task);
    /* Outputs [out_first, out_end) of all rows; out_first is a multiple of GSRT_PANEL_OUTPUTS. */
    void (*linear)(const gsrt_linear_task *task, uint32_t out_first, uint32_t out_end, uint8_t *scratch);

    /* Bytes of the packed form, 0: this one is not packed. pack writes panels [panel_first, panel_end) of
     * ceil(row_count / GSRT_PANEL_OUTPUTS); `to` is the start of the whole, 64-byte aligned. */
    size_t (*packed_bytes)(const gsrt_matrix *matrix);
    void (*pack)(const gsrt_matrix *matrix, uint8_t *to, uint32_t panel_first, uint32_t panel_end);
} gsrt_linear_ops;

typedef struct gsrt_kernels {
    gsrt_isa isa;
    const gsrt_linear_ops *products[2]; /* [gsrt_dtype_is_quantised]; see gsrt_linear_ops_of */
    void (*embed)(const gsrt_matrix *matrix, uint32_t row, float *out);
    void (*quantise)(const float *x, uint32_t count, gsrt_q8_block *out);
    void (*rmsnorm)(const float *x, const float *weight, uint32_t width, float epsilon, float *out);
    void (*swiglu)(const float *gate, const float *up, uint32_t width, float *out);

    /* q [head_dim] -> *m, *l, o [head_pad] (elements from head_dim on: unspecified). */
    void (*attend)(const gsrt_attention_block *block, const float *q, float *m, float *l, float *o);
    /* left = left combined with right; o [head_pad]. */
    void (*combine)(uint32_t head_pad, float *left_m, float *left_l, float *left_o, float right_m, float right_l,
                    const float *right_o);
} gsrt_kernels;

/* The kernels of `isa`; NULL: not built into this binary. Whether the processor has them is gsrt_isa_detect's. */
const gsrt_kernels *gsrt_kernels_of(gsrt_isa isa);

extern const gsrt_kernels gsrt__kernels_scalar;
extern const gsrt_kernels gsrt__kernels_avx2;
extern const gsrt_kernels gsrt__kernels_avx512;

static inline const gsrt_linear_ops *gsrt_linear_ops_of(const gsrt_kernels *kernels, gsrt_dtype dtype)
{
    return kernels->products[gsrt_dtype_is_quantised(dtype) ? 1 : 0];
}

/* Combining two partial results of attention: the factors of both sides (docs/numerics.md, section 7). */
typedef struct gsrt_combine_factors {
    float m, left, right;
} gsrt_combine_factors;

static inline gsrt_combine_factors gsrt_combine_factors_of(float left_m, float right_m)
{
    float m = right_m > left_m ? right_m : left_m;
    return (gsrt_combine_factors){m, gsrt_exp_f32(left_m - m), gsrt_exp_f32(right_m - m)};
}

#endif
