#include "launch/part.h"

#include "placement/fallback.h"
#include "placement/scheduler.h"

#include <stdlib.h>

uint32_t gsrt_part_kv_blocks(const gsrt_scenario *scenario, uint32_t context_max)
{
    uint32_t requests =
        scenario->request_count < scenario->batch_requests ? scenario->request_count : scenario->batch_requests;
    return scenario->kv_block_count > 0 ? scenario->kv_block_count : requests * gsrt_kv_blocks_of(context_max);
}

/* Matrices stay packed, because the device may still be packing them: the device is freed first. */
static void part_rest(gsrt_part *part)
{
    part->workspace = gsrt_workspace_free(part->workspace);
    part->kv = gsrt_kv_free(part->kv);
}

static gsrt_part *part_free(gsrt_part *part)
{
    part_rest(part);
    for (uint32_t i = 0; part->lowered != NULL && i < part->lowered->matrix_count; i++)
        gsrt_matrix_unpack(part->lowered->matrices[i]);
    part->lowered = gsrt_lowered_free(part->lowered);
    part->plan = gsrt_plan_free(part->plan);
    free(part);
    return NULL;
}

/* A drill will damage what is narrowed: the kernels must read it as it lies. */
static bool is_to_be_corrupted(const gsrt_scenario *scenario)
{
    bool is_it = false;
    for (uint32_t i = 0; i < scenario->fault_count; i++)
        is_it |= scenario->faults[i].kind == GSRT_FAULT_CORRUPT;
    return is_it;
}

static gsrt_status pack(const gsrt_parts *parts, const gsrt_part *part)
{
    gsrt_status status = GSRT_OK;
    if (parts->device == NULL || !parts->scenario->is_packing ||
        (part->lowered->narrowed_count > 0 && is_to_be_corrupted(parts->scenario)))
        return GSRT_OK;
    for (uint32_t i = 0; i < part->lowered->matrix_count && status == GSRT_OK; i++) {
        status = gsrt_device_pack(parts->device, part->lowered->matrices[i]);
        if (status == GSRT_EUNSUPPORTED)
            status = GSRT_OK; /* this one stays as it lies in the file */
    }
    return status;
}

static gsrt_status create(gsrt_parts *parts, const gsrt_plan *plan, uint32_t stage, uint32_t member, gsrt_part **out)
{
    gsrt_part *part = calloc(1, sizeof *part);
    if (part == NULL)
        return GSRT_ENOMEM;
    part->stage = stage;
    part->member = member;
    gsrt_status status = gsrt_plan_copy(plan, &part->plan);
    if (status == GSRT_OK)
        status = gsrt_lower(parts->loaded->weights, part->plan, stage, member, parts->loaded->workload->context_max,
                            &part->lowered);
    /* kept even so: what is being packed already must stay until the device was freed */
    part->next = parts->first;
    parts->first = part;
    *out = part;
    return status;
}

/* Memory for computing: the same for every use of the part. */
static gsrt_status wake(const gsrt_parts *parts, gsrt_part *part)
{
    const gsrt_workload *w = parts->loaded->workload;
    if (parts->device == NULL || part->kv != NULL)
        return GSRT_OK;
    part->kv = gsrt_kv_create(part->lowered->kv_layer_count, part->lowered->kv_head_count, w->head_dim,
                              gsrt_part_kv_blocks(parts->scenario, w->context_max));
    part->workspace = gsrt_workspace_create(&part->lowered->program, GSRT_BATCH_ROWS_MAX);
    if (part->kv != NULL && part->workspace != NULL)
        return GSRT_OK;
    part_rest(part);
    return GSRT_ENOMEM;
}

static gsrt_part *find(const gsrt_parts *parts, const gsrt_plan *plan, uint32_t stage, uint32_t member)
{
    for (gsrt_part *part = parts->first; part != NULL; part = part->next) {
        if (part->lowered != NULL && part->stage == stage && part->member == member &&
            gsrt_plan_has_layout_of(part->plan, plan))
            return part;
    }
    return NULL;
}

gsrt_status gsrt_parts_take(gsrt_parts *parts, const gsrt_plan *plan, uint32_t stage, uint32_t member, gsrt_part **out)
{
    gsrt_part *part = find(parts, plan, stage, member);
    gsrt_status status = part == NULL ? create(parts, plan, stage, member, &part) : GSRT_OK;
    if (status != GSRT_OK)
        return status;
    gsrt_parts_rest(parts, part);
    if (!part->lowered->is_raw && !part->is_packed) {
        part->is_packed = true;
        status = pack(parts, part);
    }
    if (status == GSRT_OK && !part->lowered->is_raw)
        status = wake(parts, part);
    if (status == GSRT_OK)
        *out = part;
    return status;
}

void gsrt_parts_rest(gsrt_parts *parts, const gsrt_part *kept)
{
    for (gsrt_part *part = parts->first; part != NULL; part = part->next) {
        if (part != kept)
            part_rest(part);
    }
}

void gsrt_parts_free(gsrt_parts *parts)
{
    while (parts->first != NULL) {
        gsrt_part *part = parts->first;
        parts->first = part->next;
        part_free(part);
    }
}
