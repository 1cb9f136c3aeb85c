/* The ranks of a job as a fleet to plan for: each one an engine with its memory, all joined by one switch.
 *
 * What an engine can do is what its profile declares; of a CPU what the scenario declares, else the twin's model of a
 * core, which is a guess and says so. Nothing is measured here: every rank makes the same fleet of the same scenario,
 * so that all come to the same plan without a word.
 *
 * Written as an inventory first: there is one reader and one check of fleets. Ranks that are alike are one part with a
 * count; its instances are these ranks in their order.
 */
#ifndef GSRT_LAUNCH_RANK_FLEET_H
#define GSRT_LAUNCH_RANK_FLEET_H

#include "launch/scenario.h"
#include "placement/deployment.h"

typedef struct gsrt_rank_fleet {
    gsrt_fleet *fleet;   /* owned */
    uint32_t rank_count; /* of the job */
    uint32_t *parts;     /* [rank_count] the part of each rank; owned, like the next */
    uint64_t *instances; /* [rank_count] */
} gsrt_rank_fleet;

/* Reads the profiles that the scenario names. *out is set up here; fini in any case.
 * GSRT_OK | GSRT_EINPUT (a profile) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_rank_fleet_open(const gsrt_scenario *scenario, uint32_t rank_count,
                                                 gsrt_rank_fleet *out, gsrt_diag *diag);
void gsrt_rank_fleet_fini(gsrt_rank_fleet *ranks);

/* The rank that is an instance of a part; rank_count: none. O(ranks). */
uint32_t gsrt_rank_fleet_rank(const gsrt_rank_fleet *ranks, uint32_t part, uint64_t instance);

/* The plan by which the runtime executes a deployment on these ranks; ranks without a role stand by. *out owned.
 * GSRT_OK | GSRT_EUNSUPPORTED (gsrt_deployment_executable) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_rank_fleet_plan(const gsrt_rank_fleet *ranks, const gsrt_workload *workload,
                                                 const gsrt_deployment *deployment, gsrt_plan **out, gsrt_diag *diag);

/* The other way round: a plan of these ranks as a deployment, with these batches; spares do not count. *out owned;
 * NULL: no memory. */
gsrt_deployment *gsrt_rank_fleet_deployment(const gsrt_rank_fleet *ranks, const gsrt_workload *workload,
                                            const gsrt_plan *plan, uint32_t batch_max, uint32_t prefill_tokens,
                                            uint32_t context_max);

#endif
