/* Certified upper bounds on what any placement of a flow instance can carry.
 *
 * The certificate is one price per node: a whole number A[i] >= 0, which the node spreads over the layers that it
 * holds, floor(A[i] / k) on each of k. All layers together cost at most sum A, so some layer costs at most P =
 * floor(sum A / layer_count). The flow passes that layer on nodes that hold it; so it is at most
 *
 *     max  sum of throughput[i][k_i]   over sets of nodes whose prices floor(A[i] / k_i) sum to at most P
 *
 * a knapsack, solved here in whole numbers: no rounding, whatever the prices. Good prices come from a linear program
 * (docs/planning.md, "Flow placements"), but nothing depends on how they were found.
 * Throughputs are taken no larger than the node's links in, or out, together. Pure.
 */
#ifndef GSRT_PLACEMENT_FLOW_BOUND_H
#define GSRT_PLACEMENT_FLOW_BOUND_H

#include "placement/flow_instance.h"

/* The bound that these prices [node_count] prove. P is at most GSRT_FLOW_PRICE_MAX.
 * GSRT_OK | GSRT_EINVAL: dearer than that | GSRT_ENOMEM. Cost: O(P * sum of layers_max). */
GSRT_MUST_CHECK gsrt_status gsrt_flow_bound_of_prices(const gsrt_flow_instance *instance, const uint32_t *prices,
                                                      gsrt_flow_amount *out_bound);

/* The simple bound: the sum over nodes of max k * throughput[k], over the layers. */
gsrt_flow_amount gsrt_flow_capacity_bound(const gsrt_flow_instance *instance);

/* Prices that prove a low bound, by at most step_count_max steps of the linear program; deterministic.
 * out_prices [node_count]. GSRT_OK | GSRT_ENOMEM. Cost: a knapsack per step; some 1.5 ms for 42 nodes. */
GSRT_MUST_CHECK gsrt_status gsrt_flow_bound_find(const gsrt_flow_instance *instance, uint32_t step_count_max,
                                                 uint32_t *out_prices, gsrt_flow_amount *out_bound);

#endif
