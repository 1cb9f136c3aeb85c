/* The search for a deployment: feasible, good, and with a certified bound on how much better another could be.
 *
 * The hierarchy: prune what cannot be feasible; bound what remains analytically; cut coarsely (dynamic programming over
 * stages and groups); rank by the cost model; refine placement and batches; finalists are the caller's to profile or to
 * run in the twin. Policies stand behind one interface and are chosen by name: exhaustive, greedy, dp, local, milp.
 *
 * A pure function of its inputs: the budget is counted in evaluations of the cost model, never in time.
 */
#ifndef GSRT_PLACEMENT_SEARCH_H
#define GSRT_PLACEMENT_SEARCH_H

#include "placement/contract.h"
#include "placement/cost.h"
#include "placement/rejection.h"

/* Rules of the site. */
typedef struct gsrt_policy_rules {
    gsrt_trust trust_min;               /* of every place, part and link that is used */
    const char *const *regions_allowed; /* names of places of kind region; NULL: all */
    uint32_t region_allowed_count;
} gsrt_policy_rules;

typedef struct gsrt_search_problem {
    const gsrt_workload *workload;
    const gsrt_fleet *fleet;
    const gsrt_contract *contract;
    const gsrt_evidence *evidence; /* [evidence_count] */
    size_t evidence_count;
    gsrt_objective objective;
    gsrt_demand demand;
    gsrt_policy_rules rules;
    gsrt_cost_mode mode;
    bool is_for_execution;                  /* what the runtime lacks is not proposed */
    uint32_t batch_max, prefill_tokens_max; /* ... such as larger batches and chunks than these; 0: it takes any */
    int32_t today;                          /* days since 1970-01-01: what has expired is unknown */
} gsrt_search_problem;

typedef struct gsrt_search_options {
    const char *policy; /* "exhaustive", "greedy", "dp", "local", "milp" */
    uint64_t budget;    /* evaluations of the cost model at most; beside them, 1.25 times as many to go through a small
                           instance for which nothing was found */
    uint64_t seed;      /* of "local" */
    uint32_t kept_max;  /* rejected rivals that are kept, the closest first of each reason */
} gsrt_search_options;

typedef struct gsrt_rival {
    gsrt_deployment *deployment; /* owned by the result */
    gsrt_rejection rejection;
    gsrt_quantity objective; /* predicted; unknown where it was rejected before */
} gsrt_rival;

typedef struct gsrt_search_result {
    gsrt_arena arena;
    gsrt_deployment *best; /* owned; NULL: nothing is feasible */
    gsrt_quantity objective;
    double bound; /* no feasible deployment of the space that was searched is better than this, by the same cost
                     model: proof in docs/planning.md */
    double gap;   /* |bound - objective| / |objective|; infinity without a plan */
    const char *bound_reason; /* which bound it is */
    gsrt_rival *rivals;       /* [rival_count] */
    uint32_t rival_count;
    uint64_t evaluation_count;
    bool is_complete; /* the space was exhausted: the best is the optimum */
} gsrt_search_result;

/* GSRT_OK: *out owned, freed with gsrt_search_result_free; best may be NULL, and then rivals say why |
 * GSRT_EINPUT: no such policy | GSRT_EUNSUPPORTED: the policy cannot take this problem, *diag says why | GSRT_ENOMEM.
 */
GSRT_MUST_CHECK gsrt_status gsrt_search(const gsrt_search_problem *problem, const gsrt_search_options *options,
                                        gsrt_diag *diag, gsrt_search_result **out);
gsrt_search_result *gsrt_search_result_free(gsrt_search_result *result);
/* "exhaustive", ... by index; NULL past the last. */
const char *gsrt_search_policy_name(size_t index);

#endif
