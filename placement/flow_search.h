/* The search for a placement of a flow instance. A pure function of its inputs: budgets are counted, not timed.
 *
 * Policies, by name:
 *   greedy   a chain of groups: strong nodes alone, weak ones together, each followed by a neighbour that it has a link
 * to local    from there, seeded simulated annealing over chains, for a wanted flow that is halved between the best
 *            that is served and the least that was not; then single nodes are moved and exchanged, each time by the
 *            exact score, which also finds placements that are no chains
 */
#ifndef GSRT_PLACEMENT_FLOW_SEARCH_H
#define GSRT_PLACEMENT_FLOW_SEARCH_H

#include "base/diag.h"
#include "placement/flow_instance.h"

typedef struct gsrt_flow_options {
    const char *policy;     /* "greedy", "local" */
    uint64_t budget;        /* chains and placements that are rated at most */
    uint64_t seed;          /* of "local" */
    gsrt_flow_amount bound; /* nothing is better (flow_bound.h): reached, the search ends. > 0 */
} gsrt_flow_options;

typedef struct gsrt_flow_found {
    gsrt_flow_amount amount;   /* exact score; 0: no flow was found */
    uint64_t evaluation_count; /* of the budget */
} gsrt_flow_found;

/* holds [node_count]: the best placement that was found, whose score is found->amount.
 * GSRT_OK | GSRT_EINPUT: no such policy | GSRT_ENOMEM. Cost: some 2 us per evaluation for 42 nodes. */
GSRT_MUST_CHECK gsrt_status gsrt_flow_search(const gsrt_flow_instance *instance, const gsrt_flow_options *options,
                                             gsrt_diag *diag, gsrt_flow_hold *holds, gsrt_flow_found *found);
/* By index; NULL past the last. */
const char *gsrt_flow_policy_name(size_t index);

#endif
