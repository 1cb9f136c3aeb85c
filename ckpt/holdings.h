/* Holdings: what the replicas of all ranks hold (ckpt/replica.h), as they told it in their PRESENT, and from whom a
 * rank takes the cells that it lacks. On the leader of a view, between PRESENT and START.
 *
 * Pure. Thread: one at a time. Legal order: create, note and forget in any number, blocks and draw, free.
 */
#ifndef GSRT_CKPT_HOLDINGS_H
#define GSRT_CKPT_HOLDINGS_H

#include "ckpt/snapshot.h"

typedef struct gsrt_holdings gsrt_holdings;

/* A rank gives another one the leading `block_count` blocks of cells [first, first + cell_count) of a request; cells by
 * layer, then KV head. As it travels in START: six numbers. */
typedef struct gsrt_transfer {
    uint32_t from, to, request, first, cell_count, block_count;
} gsrt_transfer;

enum { GSRT_TRANSFER_NUMBERS = 6 };

/* Owned; NULL: no memory. */
gsrt_holdings *gsrt_holdings_create(const gsrt_snapshot_shape *shape, uint32_t rank_count);
gsrt_holdings *gsrt_holdings_free(gsrt_holdings *holdings); /* accepts NULL; returns NULL */
/* What `rank` holds now, instead of what it held: numbers[count] of gsrt_replica_tell; copied. GSRT_OK | GSRT_EINPUT:
 * it is not that, and the rank holds nothing | GSRT_ENOMEM. O(count). */
GSRT_MUST_CHECK gsrt_status gsrt_holdings_note(gsrt_holdings *holdings, uint32_t rank, const uint32_t *numbers,
                                               uint32_t count);
/* Leading blocks of `request` of which each cell is held by one of the ranks that are there. O(ranks * cells). */
uint32_t gsrt_holdings_blocks(const gsrt_holdings *holdings, uint32_t request, const bool *is_there);
/* Who gives what to `to`, which needs the leading `block_count` (<= gsrt_holdings_blocks) blocks of these layers and
 * heads: append a gsrt_transfer for each run of cells that it lacks. The next rank after it that holds them gives them.
 * GSRT_OK | GSRT_ENOMEM. O(ranks * cells). */
typedef struct gsrt_holdings_need {
    uint32_t to, request, block_count;
    uint32_t layer_first, layer_count, head_first, head_count;
} gsrt_holdings_need;
GSRT_MUST_CHECK gsrt_status gsrt_holdings_draw(const gsrt_holdings *holdings, const gsrt_holdings_need *need,
                                               const bool *is_there, gsrt_buffer *out);

#endif
