/* The score of a placement: the maximum flow from source to sink, exact.
 *
 * Every node is an arc of its throughput, every link over which tokens may go (gsrt_flow_follows) an arc of its own.
 * Tokens only go forward through the layers, so that there are no cycles. An evaluator keeps the room that it works in;
 * one caller at a time. Pure.
 */
#ifndef GSRT_PLACEMENT_FLOW_EVALUATE_H
#define GSRT_PLACEMENT_FLOW_EVALUATE_H

#include "placement/flow_instance.h"

typedef struct gsrt_flow_evaluator gsrt_flow_evaluator;

/* For an instance that is complete, borrowed until free. Owned; NULL: no memory. */
gsrt_flow_evaluator *gsrt_flow_evaluator_create(const gsrt_flow_instance *instance);
gsrt_flow_evaluator *gsrt_flow_evaluator_free(gsrt_flow_evaluator *evaluator);

/* The maximum flow of holds [node_count], which pass gsrt_flow_holds_check. Cost: O(links + flow), some 5 us for 42
 * nodes. Source: Dinic 1970. */
gsrt_flow_amount gsrt_flow_evaluate(gsrt_flow_evaluator *evaluator, const gsrt_flow_hold *holds);

/* Of the last evaluation: what goes over this link; the routing's weights. O(links of `from`). */
gsrt_flow_amount gsrt_flow_routed(const gsrt_flow_evaluator *evaluator, uint32_t from, uint32_t to);

#endif
