/* The canonical order around a product of matrices; compiled into every vector kernel.
 *
 * Outputs go in groups of 64, tokens in blocks of 512, K in pieces inside a chunk. A tile of outputs of a piece is
 * widened into scratch, where it stays in the first-level cache while all tiles of tokens pass over it in one stream:
 *
 *     for groups of outputs, blocks of tokens, sub-trees, chunks, pieces:
 *         for tiles of outputs:
 *             widen
 *             for tiles of tokens:
 *                 tile    registers: tile_tokens x tile_outputs
 *                         after a chunk's last piece: its sums are merged into the tile's stack of the tree,
 *                         after a sub-tree's last chunk all of it, and what is left goes to the rows
 *
 * Scratch: weights | stack [depth][tiles of tokens][tiles of outputs][tile_tokens][tile_outputs].
 */
#ifndef GSRT_BACKENDS_GEMM_H
#define GSRT_BACKENDS_GEMM_H

#include "backends/walk.h"

enum { GEMM_GROUP_OUTPUTS = 64, GEMM_BLOCK_TOKENS = 512 };

/* What a tile does with its registers: sums [tile_tokens][tile_outputs] += the piece, from +0 when is_first; then
 * older + sums, once for each of merge_count levels below, in the registers; the result goes onto the last of them. */
typedef struct gemm_sums {
    float *at;
    size_t level_floats; /* the level below is at at - level_floats */
    uint32_t merge_count;
    bool is_first;
} gemm_sums;

typedef struct gemm_ops {
    uint32_t tile_tokens, tile_outputs;
    uint32_t piece_elements; /* of K: what keeps a tile of weights in the first-level cache; a multiple of unit */
    uint32_t unit;           /* elements of K that one step of the tile takes: 1, or 32 for blocks */
    size_t w_unit_bytes;     /* of a tile of outputs */
    size_t x_unit_bytes;     /* of a tile of tokens; both multiples of 8 */
    /* Weights of outputs [out_first, + tile_outputs) (zero or anything past the last), elements [k_first, k_first +
     * k_count) of the share. */
    void (*widen)(const gsrt_linear_task *task, uint32_t out_first, uint32_t k_first, uint32_t k_count, uint8_t *to);
    void (*tile)(const uint8_t *w, const uint8_t *x, uint32_t unit_count, const gemm_sums *sums);
} gemm_ops;

static inline uint32_t gemm_tile_count(const gemm_ops *ops, uint32_t row_count)
{
    return (row_count + ops->tile_tokens - 1) / ops->tile_tokens;
}

/* Where the piece ends that holds element `k` of the share: shares begin at a chunk. */
static inline uint32_t gemm_piece_end(const gemm_ops *ops, const gsrt_linear_task *task, uint32_t k)
{
    uint32_t chunk_first = k / task->chunking.chunk * task->chunking.chunk;
    uint32_t chunk_end = task->matrix->k_count - chunk_first < task->chunking.chunk
                             ? task->matrix->k_count
                             : chunk_first + task->chunking.chunk;
    uint32_t piece_first = chunk_first + (k - chunk_first) / ops->piece_elements * ops->piece_elements;
    return chunk_end - piece_first < ops->piece_elements ? chunk_end : piece_first + ops->piece_elements;
}

/* Bytes of the activations: [pieces][tiles of tokens][units of the piece] of x_unit_bytes, so that what passes over a
 * tile of weights is one stream. */
static inline size_t gemm_prepared_bytes(const gemm_ops *ops, const gsrt_linear_task *task)
{
    return (size_t)gemm_tile_count(ops, task->row_count) * (task->matrix->k_count / ops->unit) * ops->x_unit_bytes;
}

/* The activations of a tile of tokens in the piece [k_first, k_end). */
static inline uint8_t *gemm_prepared(const gemm_ops *ops, const gsrt_linear_task *task, uint32_t k_first,
                                     uint32_t k_end, uint32_t tile)
{
    size_t before = (size_t)k_first * gemm_tile_count(ops, task->row_count) + (size_t)(k_end - k_first) * tile;
    return task->prepared + before / ops->unit * ops->x_unit_bytes;
}

static inline size_t gemm_weight_bytes(const gemm_ops *ops)
{
    return ops->piece_elements / ops->unit * ops->w_unit_bytes;
}

/* Tiles of tokens that pass over the weights before the next block of tokens begins. */
static inline uint32_t gemm_block_tiles(const gemm_ops *ops)
{
    return (GEMM_BLOCK_TOKENS + ops->tile_tokens - 1) / ops->tile_tokens;
}

static inline size_t gemm_level_floats(const gemm_ops *ops)
{
    return (size_t)gemm_block_tiles(ops) * ops->tile_tokens * GEMM_GROUP_OUTPUTS;
}

static inline size_t gemm_scratch_bytes(const gemm_ops *ops, const gsrt_linear_task *task)
{
    uint32_t depth = 2;
    while (1u << (depth - 2) < task->chunking.count)
        depth++;
    return gemm_weight_bytes(ops) + depth * gemm_level_floats(ops) * sizeof(float);
}

typedef struct gemm_state {
    const gemm_ops *ops;
    const gsrt_linear_task *task;
    uint32_t out_first, out_end; /* of the group */
    uint8_t *weights;
    float *stack;
    size_t level_floats;
    uint32_t tile_first;     /* of the block of tokens */
    uint32_t tile_count;     /* in this block */
    uint32_t out_tile_count; /* of outputs, in this group */
    uint32_t subtree;
    bool is_final; /* the piece at hand is the last one of its sub-tree */
} gemm_state;

static inline float *gemm_entry(const gemm_state *s, uint32_t level, uint32_t token_tile, uint32_t out_tile)
{
    size_t tile_floats = (size_t)s->ops->tile_tokens * s->ops->tile_outputs;
    size_t index = (size_t)token_tile * (GEMM_GROUP_OUTPUTS / s->ops->tile_outputs) + out_tile;
    return s->stack + level * s->level_floats + index * tile_floats;
}

/* A finished tile of a sub-tree goes to its rows. */
static inline void gemm_write(const gemm_state *s, uint32_t token_tile, uint32_t out_tile)
{
    const gemm_ops *ops = s->ops;
    uint32_t row = (s->tile_first + token_tile) * ops->tile_tokens, rows = s->task->row_count - row;
    const float *sums = gemm_entry(s, 0, token_tile, out_tile);
    for (uint32_t t = 0; t < ops->tile_tokens && t < rows; t++)
        walk_write(s->task, row + t, s->subtree, s->out_first + out_tile * ops->tile_outputs, ops->tile_outputs,
                   sums + t * ops->tile_outputs);
}

/* One piece of a chunk over all tiles; entries at `level` are the chunk's sums. A tile of weights stays in the
 * first-level cache while the tokens pass. */
static inline void gemm_piece(const gemm_state *s, uint32_t k_first, uint32_t k_end, bool is_first, uint32_t level,
                              uint32_t merge_count)
{
    const gemm_ops *ops = s->ops;
    uint32_t unit_count = (k_end - k_first) / ops->unit;
    gemm_sums sums = {.level_floats = s->level_floats, .merge_count = merge_count, .is_first = is_first};
    for (uint32_t o = 0; o < s->out_tile_count; o++) {
        ops->widen(s->task, s->out_first + o * ops->tile_outputs, k_first, k_end - k_first, s->weights);
        const uint8_t *x = gemm_prepared(ops, s->task, k_first, k_end, s->tile_first);
        for (uint32_t t = 0; t < s->tile_count; t++, x += unit_count * ops->x_unit_bytes) {
            sums.at = gemm_entry(s, level, t, o);
            ops->tile(s->weights, x, unit_count, &sums);
            if (s->is_final)
                gemm_write(s, t, o);
        }
    }
}

static inline void gemm_group(gemm_state *s)
{
    const gsrt_matrix *matrix = s->task->matrix;
    const gsrt_chunking *chunking = &s->task->chunking;
    s->subtree = 0;
    for (uint32_t at = chunking->first; at < chunking->end; s->subtree++) {
        uint32_t end = gsrt_subtree_end(at, chunking->end, chunking->count), depth = 0;
        for (uint32_t c = at; c < end; c++) {
            uint32_t chunk_first = c * chunking->chunk - matrix->k_first, k_end = chunk_first, merge_count = 0;
            for (uint32_t bits = c - at; (bits & 1) != 0; bits >>= 1)
                merge_count++;
            if (c + 1 == end) /* what is left, from the top down */
                merge_count = depth;
            uint32_t chunk_end =
                matrix->k_count - chunk_first < chunking->chunk ? matrix->k_count : chunk_first + chunking->chunk;
            for (uint32_t k = chunk_first; k < chunk_end; k = k_end) {
                k_end = gemm_piece_end(s->ops, s->task, k);
                s->is_final = c + 1 == end && k_end == chunk_end;
                gemm_piece(s, k, k_end, k == chunk_first, depth, k_end == chunk_end ? merge_count : 0);
            }
            depth += 1 - merge_count;
        }
        at = end;
    }
}

/* Outputs [out_first, out_end) of all rows. */
static inline void gemm_run(const gemm_ops *ops, const gsrt_linear_task *task, uint32_t out_first, uint32_t out_end,
                            uint8_t *scratch)
{
    gemm_state s = {
        .ops = ops,
        .task = task,
        .weights = scratch,
        .stack = (float *)(void *)(scratch + gemm_weight_bytes(ops)),
        .level_floats = gemm_level_floats(ops),
    };
    uint32_t tile_end = gemm_tile_count(ops, task->row_count), block_tiles = gemm_block_tiles(ops);
    for (; out_first < out_end; out_first += GEMM_GROUP_OUTPUTS) {
        s.out_first = out_first;
        s.out_end = out_end - out_first < GEMM_GROUP_OUTPUTS ? out_end : out_first + GEMM_GROUP_OUTPUTS;
        s.out_tile_count = (s.out_end - out_first + ops->tile_outputs - 1) / ops->tile_outputs;
        for (s.tile_first = 0; s.tile_first < tile_end; s.tile_first += s.tile_count) {
            s.tile_count = tile_end - s.tile_first < block_tiles ? tile_end - s.tile_first : block_tiles;
            gemm_group(&s);
        }
    }
}

#endif
