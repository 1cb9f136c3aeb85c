/* A workload on a fleet as a flow instance: heterogeneous routing, where every engine holds its own run of layers.
 *
 * Nodes are engines, one each. What an engine passes with k layers follows from the cost model's step times of k layers
 * and from the largest batch whose KV fits beside their weights; what a link passes from its route's bandwidth. Where
 * tokens take more than one way through a placement, each request is routed by itself, which the runtime cannot execute
 * yet: that is for prediction only, `executable: false`, missing capability GSRT_FLOW_CAPABILITY. A placement with one
 * way is a pipeline of uneven stages in the best order, and a deployment like any other. Pure.
 */
#ifndef GSRT_PLACEMENT_FLOW_FLEET_H
#define GSRT_PLACEMENT_FLOW_FLEET_H

#include "base/diag.h"
#include "placement/cost.h"
#include "placement/flow_instance.h"

#define GSRT_FLOW_CAPABILITY "request routing between stages"

typedef struct gsrt_flow_engine {
    uint32_t part; /* an engine of the fleet */
    uint64_t instance;
} gsrt_flow_engine;

/* All borrowed. */
typedef struct gsrt_flow_question {
    const gsrt_workload *workload;
    const gsrt_fleet *fleet;
    const gsrt_demand *demand; /* prompt and output: known */
    gsrt_cost_mode mode;
    int32_t today;                   /* as gsrt_cost_question's */
    const gsrt_flow_engine *engines; /* [engine_count], one node each */
    uint32_t engine_count;           /* 1..GSRT_FLOW_NODE_COUNT_MAX */
    uint32_t batch_max;              /* sequences of one step at most */
    uint32_t prefill_tokens;         /* of one prefill step at most */
} gsrt_flow_question;

/* throughput[k]: output token/s, each with its share of the prompt's prefill, of k layers without embedding and logits
 * (all layers, and all but one: with them), taken from the workload's second layer on; 0 where a number was never
 * stated or nothing fits. Links: 0 without a route of known bandwidth; source and sink reach every engine without
 * limit. GSRT_OK: *out owned | GSRT_EUNSUPPORTED: no engine passes anything, *diag says why | GSRT_ENOMEM. Cost:
 * O(kinds of engines * layers * log batch) predictions of a stage, and a route for each pair. */
GSRT_MUST_CHECK gsrt_status gsrt_flow_instance_of(const gsrt_flow_question *question, gsrt_diag *diag,
                                                  gsrt_flow_instance **out);

/* The placement holds [engine_count] as a deployment: one replica of one pool, a stage for each engine that tokens
 * pass, with the largest batch (a power of two, at most batch_max) that fits on all of them; 1 where none does.
 * instance: gsrt_flow_instance_of's for this question. GSRT_OK: *out owned | GSRT_EUNSUPPORTED: tokens take more than
 * one way, or none; *diag names GSRT_FLOW_CAPABILITY | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_flow_deployment_of(const gsrt_flow_question *question,
                                                    const gsrt_flow_instance *instance, const gsrt_flow_hold *holds,
                                                    gsrt_diag *diag, gsrt_deployment **out);

#endif
