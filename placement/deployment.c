#include "placement/deployment.h"

#include <stdlib.h>
#include <string.h>

/* What the inputs of a region's products are in the canonical arithmetic (docs/numerics.md), its matrices as given. */
static gsrt_format canonical_format(const gsrt_workload *workload, uint32_t region)
{
    if (workload->ops == NULL) /* of a copy: overwritten */
        return GSRT_FORMAT_F32;
    const gsrt_region *r = &workload->regions[region];
    for (uint32_t i = r->op_first; i < r->op_first + r->op_count; i++) {
        const gsrt_op *op = &workload->ops[i];
        if (op->kind != GSRT_OP_LINEAR && op->kind != GSRT_OP_LOGITS && op->kind != GSRT_OP_EXPERT_LINEAR &&
            op->kind != GSRT_OP_LATENT_ATTENTION)
            continue;
        gsrt_dtype dtype = workload->tensors[op->tensor].dtype;
        if (dtype == GSRT_DTYPE_Q8_0 || dtype == GSRT_DTYPE_Q4_0)
            return GSRT_FORMAT_I8;
    }
    return GSRT_FORMAT_F32;
}

gsrt_deployment *gsrt_deployment_create(const gsrt_workload *workload, uint32_t pool_count)
{
    gsrt_deployment *d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    gsrt_arena_init(&d->arena, GSRT_DEPLOYMENT_BYTES_MAX);
    d->pools = gsrt_arena_take(&d->arena, pool_count, sizeof *d->pools);
    d->choices = gsrt_arena_take(&d->arena, workload->region_count, sizeof *d->choices);
    if (d->pools == NULL || d->choices == NULL)
        return gsrt_deployment_free(d);
    d->pool_count = pool_count;
    d->region_count = workload->region_count;
    for (uint32_t i = 0; i < d->region_count; i++)
        d->choices[i] = (gsrt_region_choice){
            .weights_are_as_given = true, .state_is_as_given = true, .compute = canonical_format(workload, i)};
    return d;
}

gsrt_deployment *gsrt_deployment_free(gsrt_deployment *deployment)
{
    if (deployment != NULL)
        gsrt_arena_fini(&deployment->arena);
    free(deployment);
    return NULL;
}

gsrt_status gsrt_deployment_add_stages(gsrt_deployment *deployment, uint32_t pool, uint32_t count)
{
    gsrt_deployment_stage *stages = gsrt_arena_take(&deployment->arena, count, sizeof *stages);
    if (stages == NULL)
        return GSRT_ENOMEM;
    deployment->pools[pool].stages = stages;
    deployment->pools[pool].stage_count = count;
    return GSRT_OK;
}

gsrt_status gsrt_deployment_add_members(gsrt_deployment *deployment, uint32_t pool, uint32_t stage, uint32_t count)
{
    gsrt_deployment_members *members = gsrt_arena_take(&deployment->arena, count, sizeof *members);
    if (members == NULL)
        return GSRT_ENOMEM;
    deployment->pools[pool].stages[stage].members = members;
    deployment->pools[pool].stages[stage].member_count = count;
    return GSRT_OK;
}

/* An array that the original borrows from its arena becomes the copy's own. */
static gsrt_status copy_stages(gsrt_deployment *to, const gsrt_deployment *from, uint32_t pool)
{
    const gsrt_deployment_pool *source = &from->pools[pool];
    gsrt_status status = gsrt_deployment_add_stages(to, pool, source->stage_count);
    for (uint32_t s = 0; status == GSRT_OK && s < source->stage_count; s++) {
        gsrt_deployment_stage *stage = &to->pools[pool].stages[s];
        *stage = source->stages[s];
        status = gsrt_deployment_add_members(to, pool, s, source->stages[s].member_count);
        if (status == GSRT_OK && stage->member_count > 0)
            memcpy(stage->members, source->stages[s].members, stage->member_count * sizeof *stage->members);
    }
    return status;
}

gsrt_deployment *gsrt_deployment_copy(const gsrt_deployment *deployment)
{
    gsrt_workload regions = {.region_count = deployment->region_count};
    gsrt_deployment *copy = gsrt_deployment_create(&regions, deployment->pool_count);
    if (copy == NULL)
        return NULL;
    copy->context_max = deployment->context_max;
    memcpy(copy->choices, deployment->choices, deployment->region_count * sizeof *copy->choices);
    for (uint32_t p = 0; p < deployment->pool_count; p++) {
        copy->pools[p] = deployment->pools[p];
        if (copy_stages(copy, deployment, p) != GSRT_OK)
            return gsrt_deployment_free(copy);
    }
    return copy;
}

uint32_t gsrt_deployment_stage_width(const gsrt_deployment_stage *stage)
{
    uint32_t width = 0;
    for (uint32_t m = 0; m < stage->member_count; m++)
        width += stage->members[m].instance_count;
    return width;
}

uint64_t gsrt_deployment_engine_count(const gsrt_deployment *deployment)
{
    uint64_t count = 0;
    for (uint32_t p = 0; p < deployment->pool_count; p++) {
        const gsrt_deployment_pool *pool = &deployment->pools[p];
        for (uint32_t s = 0; s < pool->stage_count; s++)
            count += pool->replica_count * gsrt_deployment_stage_width(&pool->stages[s]);
    }
    return count;
}

uint64_t gsrt_deployment_instance(const gsrt_deployment_members *members, uint64_t replica)
{
    return members->instance_first + replica / members->block_replicas * members->block_stride +
           replica % members->block_replicas * members->instance_count;
}

const char *gsrt_arithmetic_name(gsrt_arithmetic arithmetic)
{
    return arithmetic == GSRT_ARITHMETIC_CANONICAL ? "canonical" : "native";
}

const char *gsrt_collective_algorithm_name(gsrt_collective_algorithm algorithm)
{
    static const char *const names[GSRT_ALGORITHM_COUNT] = {"none", "gather", "subtrees", "ring", "tree", "switch"};
    return names[algorithm];
}
