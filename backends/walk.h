/* The canonical order around the kernels' inner loops: which chunks, which tree. Compiled into every vector kernel.
 *
 * Small batches (walk_panel): for one panel of 32 outputs, chunk by chunk over all rows, so that a chunk of weights is
 * read once from memory and stays in the first-level cache; every row has its own stack of the tree.
 */
#ifndef GSRT_BACKENDS_WALK_H
#define GSRT_BACKENDS_WALK_H

#include "backends/kernels.h"

#include <string.h>

/* Levels of the tree of chunks: at most 65 leaves. */
enum { WALK_DEPTH_MAX = 9, WALK_ROWS_MAX = 16 };

/* Chunk sums of one panel: elements [k_first, k_end) of the share, rows [row_first, row_first + row_count): sums
 * [row_count][32]. */
typedef void walk_chunk_fn(const gsrt_linear_task *task, uint32_t panel, uint32_t k_first, uint32_t k_end,
                           uint32_t row_first, uint32_t row_count, float *sums);

/* to[i] = to[i] + from[i] */
static inline void walk_add(float *to, const float *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = to[i] + from[i];
}

static inline void walk_write(const gsrt_linear_task *task, uint32_t row, uint32_t subtree, uint32_t out_first,
                              uint32_t count, const float *sums)
{
    uint32_t row_count = task->matrix->row_count;
    if (out_first >= row_count)
        return;
    if (count > row_count - out_first)
        count = row_count - out_first;
    float *to = task->out + row * task->out_stride + (size_t)subtree * row_count + out_first;
    if (task->bias == NULL) {
        memcpy(to, sums, count * sizeof(float));
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        to[i] = sums[i] + task->bias[out_first + i];
}

/* All rows of the task for one panel; task->row_count at most WALK_ROWS_MAX. `rows_at_once`: of the chunk function. */
static inline __attribute__((always_inline)) void walk_panel(const gsrt_linear_task *task, uint32_t panel,
                                                             const uint32_t rows_at_once, walk_chunk_fn *chunk_fn)
{
    enum { P = GSRT_PANEL_OUTPUTS };
    _Alignas(64) float stack[WALK_DEPTH_MAX][WALK_ROWS_MAX][P];
    const gsrt_chunking *chunking = &task->chunking;
    uint32_t k_total = task->matrix->k_total, k_first = task->matrix->k_first, rows = task->row_count, subtree = 0;
    for (uint32_t at = chunking->first; at < chunking->end; subtree++) {
        uint32_t end = gsrt_subtree_end(at, chunking->end, chunking->count), depth = 0;
        for (uint32_t c = at; c < end; c++) {
            uint32_t from = c * chunking->chunk,
                     to = k_total - from < chunking->chunk ? k_total : from + chunking->chunk;
            for (uint32_t row = 0; row < rows; row += rows_at_once) {
                uint32_t count = rows - row < rows_at_once ? rows - row : rows_at_once;
                chunk_fn(task, panel, from - k_first, to - k_first, row, count, stack[depth][row]);
            }
            depth++;
            for (uint32_t bits = c - at; (bits & 1) != 0; bits >>= 1, depth--)
                walk_add(stack[depth - 2][0], stack[depth - 1][0], rows * P);
        }
        for (; depth > 1; depth--)
            walk_add(stack[depth - 2][0], stack[depth - 1][0], rows * P);
        for (uint32_t row = 0; row < rows; row++)
            walk_write(task, row, subtree, panel * P, P, stack[0][row]);
        at = end;
    }
}

#endif
