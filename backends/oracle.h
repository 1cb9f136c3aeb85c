/* Every op of docs/numerics.md in plain C, one row at a time, on plain arrays: the reference that all kernels must
 * equal bit for bit. Slow on purpose. Needs the canonical MXCSR (gsrt_mxcsr_set). Any thread; no state.
 */
#ifndef GSRT_BACKENDS_ORACLE_H
#define GSRT_BACKENDS_ORACLE_H

#include "backends/program.h"

/* out [column_count] = row `row` of the whole matrix (all of K), as f32. */
void gsrt_oracle_embed(const gsrt_matrix *matrix, uint32_t row, float *out);

/* x [count] -> out [count / 32]; count is a multiple of 32. */
void gsrt_oracle_quantise(const float *x, uint32_t count, gsrt_q8_block *out);

/* out = matrix * x (+ bias). x holds the share's columns only: f32 [k_count], or gsrt_q8_block [k_count / 32] for
 * quantised weights. Whole K: out [row_count]. A share of K: out [subtree_count][row_count]; bias must be NULL. */
void gsrt_oracle_linear(const gsrt_matrix *matrix, const void *x, const float *bias, float *out);

/* One output of the above: the sum over the chunks [chunk_first, chunk_end) of the whole K, which must be one node of
 * the tree and lie within the matrix's share. */
float gsrt_oracle_node(const gsrt_matrix *matrix, const void *x, uint32_t row, uint32_t chunk_first,
                       uint32_t chunk_end);

/* Finish a tree: sums [node count][width] as LINEAR left them for shares that end at chunk_ends (see gsrt_instr). */
void gsrt_oracle_tree(const float *sums, uint32_t width, uint32_t chunk_count, const uint32_t *chunk_ends,
                      uint32_t share_count, float *out);

/* out may be x. */
void gsrt_oracle_rmsnorm(const float *x, const float *weight, uint32_t width, float epsilon, float *out);
void gsrt_oracle_swiglu(const float *gate, const float *up, uint32_t width, float *out);
void gsrt_oracle_add(const float *a, const float *b, uint32_t width, float *out);

/* Rotates x [head_count][head_dim] in place for `position`. false: no memory for the table. */
bool gsrt_oracle_rope(float *x, uint32_t head_count, uint32_t head_dim, const gsrt_rope_table *table,
                      uint32_t position);

/* One query head at position position_count - 1. q [head_dim]; k and v: position j at k + j * stride, [head_dim] each;
 * out [head_dim]. head_dim at most GSRT_HEAD_DIM_MAX. */
void gsrt_oracle_attention(const float *q, const float *k, const float *v, size_t stride, uint32_t head_dim,
                           uint32_t position_count, float scale, float *out);

#endif
