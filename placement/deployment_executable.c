/* What placement/plan.h can say: one pipeline of stages, each split over its members by shares, in canonical
 * arithmetic, its weights in the formats of the file or narrowed, region by region. Everything else is named here,
 * until the runtime learns it. */
#include "placement/deployment_executable.h"

#include <inttypes.h>
#include <stdio.h>

#include "placement/contract.h"
#include "placement/plan.h"

enum { WHERE_BYTES = 64 };

static gsrt_status lacks(gsrt_diag *diag, const char *where, const char *what)
{
    return gsrt_diag_set(diag, GSRT_EUNSUPPORTED, NULL, where,
                         "the runtime has no %s yet; it can be planned for, not run", what);
}

/* NULL: nothing is missing. */
static const char *stage_lacks(const gsrt_deployment_stage *stage)
{
    if (stage->data_width > 1)
        return "batch divided among the members of a stage";
    if (stage->expert_width > 1)
        return "experts that lie apart";
    if (stage->context_width > 1)
        return "context that lies in parts on the members of a stage";
    if (stage->algorithm > GSRT_ALGORITHM_SUBTREES)
        return "collective that sums in another order";
    if (stage->overlaps)
        return "exchange beside the next product";
    if (gsrt_deployment_stage_width(stage) > GSRT_GROUP_RANKS_MAX)
        return "group of so many members";
    return NULL;
}

static const char *pool_lacks(const gsrt_deployment_pool *pool)
{
    if (pool->replica_count > 1)
        return "replicas beside each other";
    if (pool->draft_tokens > 0)
        return "speculative decoding";
    if (pool->kv_offload > 0)
        return "KV in a second memory tier";
    if (pool->power_cap_w > 0)
        return "power caps";
    if (pool->stage_count > GSRT_STAGE_COUNT_MAX)
        return "pipeline of so many stages";
    return NULL;
}

static const char *choice_lacks(const gsrt_workload *workload, uint32_t region, const gsrt_region_choice *choice)
{
    if (choice->arithmetic != GSRT_ARITHMETIC_CANONICAL)
        return "kernels but the canonical ones";
    if (!choice->weights_are_as_given && !gsrt_plan_is_narrow(choice->weights))
        return "kernels for weights in such a format";
    if (choice->compute != gsrt_region_compute(workload, region, choice))
        return "products of inputs in another format than the canonical one";
    if (!choice->state_is_as_given)
        return "KV in another format than the model's";
    return NULL;
}

gsrt_status gsrt_deployment_executable(const gsrt_deployment *deployment, const gsrt_workload *workload,
                                       gsrt_diag *diag)
{
    char where[WHERE_BYTES];
    if (deployment->pool_count != 1)
        return lacks(diag, "pools", "pools for different phases");
    const gsrt_deployment_pool *pool = &deployment->pools[0];
    const char *what = pool_lacks(pool);
    if (what != NULL)
        return lacks(diag, "pools[0]", what);
    for (uint32_t s = 0; s < pool->stage_count; s++) {
        (void)snprintf(where, sizeof where, "pools[0].stages[%" PRIu32 "]", s);
        if ((what = stage_lacks(&pool->stages[s])) != NULL)
            return lacks(diag, where, what);
    }
    for (uint32_t r = 0; r < deployment->region_count; r++) {
        (void)snprintf(where, sizeof where, "choices[%" PRIu32 "]", r);
        if ((what = choice_lacks(workload, r, &deployment->choices[r])) != NULL)
            return lacks(diag, where, what);
    }
    return GSRT_OK;
}
