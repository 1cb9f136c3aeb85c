/* Within placement/contract*.c only. */
#ifndef GSRT_PLACEMENT_CONTRACT_IMPL_H
#define GSRT_PLACEMENT_CONTRACT_IMPL_H

#include "placement/contract.h"

/* All transformations of the deployment, region by region, in the order of their kinds, none twice. Names are static or
 * of `arena`. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__contract_derive(const gsrt_workload *workload, const gsrt_fleet *fleet,
                                                  const gsrt_deployment *deployment, gsrt_arena *arena,
                                                  const gsrt_transformation **out, uint32_t *out_count);

/* Does `stage` of a pool with stage_count stages compute the region? */
bool gsrt__contract_stage_runs(const gsrt_workload *workload, uint32_t region, const gsrt_deployment_pool *pool,
                               uint32_t stage);
/* Does the engine name the canonical kernels? */
bool gsrt__contract_part_is_canonical(const gsrt_part *part);
/* Has the region sums whose order could be another? */
bool gsrt__contract_region_sums(const gsrt_workload *workload, uint32_t region);

#endif
