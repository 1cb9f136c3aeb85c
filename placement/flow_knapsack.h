/* The most throughput that a layer can get for a price. Inside placement/: see flow_bound.h. */
#ifndef GSRT_PLACEMENT_FLOW_KNAPSACK_H
#define GSRT_PLACEMENT_FLOW_KNAPSACK_H

#include "placement/flow_instance.h"

typedef struct gsrt_flow_knapsack {
    gsrt_arena arena;
    const gsrt_flow_instance *instance;
    gsrt_flow_amount **throughput; /* [node][layers_max + 1], no more than the node's links carry */
    gsrt_flow_amount *best;        /* [GSRT_FLOW_PRICE_MAX + 1] */
    uint16_t *choices;             /* [node_count][GSRT_FLOW_PRICE_MAX + 1] layers that the node holds; 0: not taken */
    gsrt_flow_amount link_bound;   /* what all links of the source, or of the sink, carry */
} gsrt_flow_knapsack;

GSRT_MUST_CHECK gsrt_status gsrt_flow_knapsack_init(gsrt_flow_knapsack *knapsack, const gsrt_flow_instance *instance);
void gsrt_flow_knapsack_fini(gsrt_flow_knapsack *knapsack);

/* The maximum for a layer that costs at most `price` <= GSRT_FLOW_PRICE_MAX when node i asks floor(prices[i] / k) on
 * each of its k layers. counts [node_count]: what reaches it (0: not on this layer). */
gsrt_flow_amount gsrt_flow_knapsack_solve(gsrt_flow_knapsack *knapsack, const uint32_t *prices, uint32_t price,
                                          uint32_t *counts);

#endif
