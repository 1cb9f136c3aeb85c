/* The canonical sum over a group: who sends which columns of which sums to whom, and who finishes which columns.
 *
 * Each member holds the sums of its whole subtrees (docs/numerics.md, section 2), its nodes: [node_count of
 * it][columns]. All nodes together, in the order of members, finish one tree, and every member gets the whole result.
 * Two ways:
 *
 *   whole    one exchange: every member sends all that it holds to every other, and each finishes all columns
 *   ranges   two exchanges: every member owns a range of the columns, gets this range of everybody's nodes, finishes
 * the tree there, and sends the finished range to every other
 *
 *   three members with 2, 0 and 1 nodes, by ranges:      exchange 0                      exchange 1
 *        m0 [aaa|bbb|ccc]  m1 -  m2 [AAA|BBB|CCC]   -->  m0 aaa,AAA  m1 bbb,BBB  m2 ccc,CCC  -->  all: [sss|sss|sss]
 *           [ddd|eee|fff]                                   ddd         eee         fff
 *
 * The additions are those of the tree in both ways, column by column, so the way changes no bit. Recursive halving
 * would send the bytes of `ranges` in 2 log2(n) hops instead of 2, and only between nodes that are neighbours in the
 * tree: it is not here because messages to a group of at most GSRT_GROUP_RANKS_MAX members are cheaper than hops.
 *
 * Pure: a plan that every member computes for itself, the same everywhere. What is in flight is kept by
 * gsrt_exchange_store, an exchange number per exchange.
 * source  reduce-scatter and all-gather of long vectors: Thakur, Rabenseifner, Gropp 2005 (pairwise exchange).
 */
#ifndef GSRT_COLLECTIVES_REDUCTION_H
#define GSRT_COLLECTIVES_REDUCTION_H

#include "base/limits.h"
#include "base/status.h"

#include <stdint.h>

/* Columns of a range come in runs of so many: a cache line of f32. */
enum { GSRT_REDUCTION_COLUMNS = 16 };

typedef enum gsrt_reduction_way {
    GSRT_REDUCTION_CHEAPER, /* as an option: the one that costs less (gsrt_reduction_cost_bytes); ties: whole */
    GSRT_REDUCTION_WHOLE,
    GSRT_REDUCTION_RANGES,
} gsrt_reduction_way;

typedef struct gsrt_reduction_options {
    uint32_t member_count;       /* 1..GSRT_GROUP_RANKS_MAX */
    const uint32_t *node_counts; /* [member_count]; 0 is legal; not all 0 */
    uint32_t column_count;       /* > 0; node_count * column_count fits 32 bits */
    uint32_t row_count;          /* > 0: how many such sums a step usually has; only the choice looks at it */
    gsrt_reduction_way way;      /* RANGES needs GSRT_REDUCTION_COLUMNS columns for every member; else it is WHOLE */
} gsrt_reduction_options;

typedef struct gsrt_reduction {
    gsrt_reduction_way way; /* WHOLE or RANGES */
    uint32_t member_count, column_count;
    uint32_t node_firsts[GSRT_GROUP_RANKS_MAX + 1];   /* member m holds nodes [m, m + 1) of these */
    uint32_t column_firsts[GSRT_GROUP_RANKS_MAX + 1]; /* RANGES: member m owns columns [m, m + 1) of these */
} gsrt_reduction;

/* A run of columns, of a run of nodes (exchange 0) or of the result (exchange 1: node_count 1). Nothing: both counts 0.
 */
typedef struct gsrt_reduction_piece {
    uint32_t node_first, node_count;
    uint32_t column_first, column_count;
} gsrt_reduction_piece;

/* GSRT_OK | GSRT_EINVAL: an option out of range. Any thread; O(member_count). */
GSRT_MUST_CHECK gsrt_status gsrt_reduction_plan(const gsrt_reduction_options *options, gsrt_reduction *out);

/* 1 (whole) or 2 (ranges). */
uint32_t gsrt_reduction_exchange_count(const gsrt_reduction *reduction);

/* The columns over which `member` finishes the tree: all of them, or its range. Over every node. */
gsrt_reduction_piece gsrt_reduction_share(const gsrt_reduction *reduction, uint32_t member);

/* What `from` contributes to `to` in exchange 0 or 1; for from == to, what it keeps. */
gsrt_reduction_piece gsrt_reduction_piece_of(const gsrt_reduction *reduction, uint32_t exchange, uint32_t from,
                                             uint32_t to);

/* Bytes of f32 that `member` receives from others, over all exchanges, per row. */
uint64_t gsrt_reduction_received_bytes(const gsrt_reduction *reduction, uint32_t member);

/* Time until the slowest member has the result, in bytes sent (see gsrt_exchange_cost_bytes): hops, bytes received, and
 * the additions, each of which moves as many bytes through memory as it adds. */
uint64_t gsrt_reduction_cost_bytes(const gsrt_reduction *reduction, uint32_t row_count);

#endif
