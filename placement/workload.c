#include "placement/workload.h"

#include <inttypes.h>
#include <stdlib.h>

/* Tables double in the arena; what they outgrow stays there until free, less than the tables themselves. */
enum { ARENA_BYTES_MAX = 256 << 20, TABLE_FIRST = 16 };

struct gsrt__workload_room {
    uint32_t tensors, values, states, ops, regions;
};

/* The workload and, out of sight, how many entries its tables have room for. */
typedef struct owned_workload {
    gsrt_workload workload; /* first: the two pointers are the same */
    struct gsrt__workload_room room;
} owned_workload;

gsrt_workload *gsrt_workload_create(void)
{
    owned_workload *owned = calloc(1, sizeof *owned);
    if (owned == NULL)
        return NULL;
    gsrt_arena_init(&owned->workload.arena, ARENA_BYTES_MAX);
    return &owned->workload;
}

gsrt_workload *gsrt_workload_free(gsrt_workload *workload)
{
    if (workload == NULL)
        return NULL;
    gsrt_arena_fini(&workload->arena);
    free(workload);
    return NULL;
}

/* A table of `size` byte entries with room for one more: the old one, or a copy of twice its length. NULL: no memory.
 */
static void *grow(gsrt_arena *arena, void *table, uint32_t count, size_t size, uint32_t *room)
{
    if (count < *room)
        return table;
    uint32_t wanted = *room == 0 ? TABLE_FIRST : *room * 2;
    void *copy = gsrt_arena_take(arena, wanted, size);
    if (copy == NULL)
        return NULL;
    if (count > 0)
        memcpy(copy, table, count * size);
    *room = wanted;
    return copy;
}

static const char *copy_name(gsrt_workload *workload, const char *name)
{
    return name == NULL ? NULL : gsrt_arena_copy_text(&workload->arena, name, strlen(name));
}

gsrt_status gsrt_workload_add_tensor(gsrt_workload *workload, const gsrt_tensor *item, uint32_t *out_index)
{
    owned_workload *owned = (owned_workload *)workload;
    gsrt_tensor copy = *item;
    copy.name = copy_name(workload, item->name);
    gsrt_tensor *table =
        grow(&workload->arena, workload->tensors, workload->tensor_count, sizeof *table, &owned->room.tensors);
    if (table == NULL || copy.name == NULL)
        return GSRT_ENOMEM;
    workload->tensors = table;
    table[workload->tensor_count] = copy;
    workload->parameter_count += copy.is_view || copy.is_constant ? 0 : gsrt_tensor_elements(&copy);
    *out_index = workload->tensor_count++;
    return GSRT_OK;
}

gsrt_status gsrt_workload_add_value(gsrt_workload *workload, const gsrt_value *item, uint32_t *out_index)
{
    owned_workload *owned = (owned_workload *)workload;
    gsrt_value copy = *item;
    copy.name = copy_name(workload, item->name);
    gsrt_value *table =
        grow(&workload->arena, workload->values, workload->value_count, sizeof *table, &owned->room.values);
    if (table == NULL || copy.name == NULL)
        return GSRT_ENOMEM;
    workload->values = table;
    table[workload->value_count] = copy;
    *out_index = workload->value_count++;
    return GSRT_OK;
}

gsrt_status gsrt_workload_add_state(gsrt_workload *workload, const gsrt_state *item, uint32_t *out_index)
{
    owned_workload *owned = (owned_workload *)workload;
    gsrt_state copy = *item;
    copy.name = copy_name(workload, item->name);
    gsrt_state *table =
        grow(&workload->arena, workload->states, workload->state_count, sizeof *table, &owned->room.states);
    if (table == NULL || copy.name == NULL)
        return GSRT_ENOMEM;
    workload->states = table;
    table[workload->state_count] = copy;
    *out_index = workload->state_count++;
    return GSRT_OK;
}

gsrt_status gsrt_workload_add_region(gsrt_workload *workload, const gsrt_region *item, uint32_t *out_index)
{
    owned_workload *owned = (owned_workload *)workload;
    gsrt_region copy = *item;
    copy.name = copy_name(workload, item->name);
    gsrt_region *table =
        grow(&workload->arena, workload->regions, workload->region_count, sizeof *table, &owned->room.regions);
    if (table == NULL || copy.name == NULL)
        return GSRT_ENOMEM;
    workload->regions = table;
    table[workload->region_count] = copy;
    *out_index = workload->region_count++;
    return GSRT_OK;
}

gsrt_status gsrt_workload_add_op(gsrt_workload *workload, const gsrt_op *item, uint32_t *out_index)
{
    owned_workload *owned = (owned_workload *)workload;
    gsrt_op copy = *item;
    if (item->rope != NULL) {
        gsrt_rope *rope = gsrt_arena_take(&workload->arena, 1, sizeof *rope);
        if (rope == NULL)
            return GSRT_ENOMEM;
        *rope = *item->rope;
        copy.rope = rope;
    }
    if (item->routing != NULL) {
        gsrt_routing *routing = gsrt_arena_take(&workload->arena, 1, sizeof *routing);
        if (routing == NULL)
            return GSRT_ENOMEM;
        *routing = *item->routing;
        copy.routing = routing;
    }
    gsrt_op *table = grow(&workload->arena, workload->ops, workload->op_count, sizeof *table, &owned->room.ops);
    if (table == NULL)
        return GSRT_ENOMEM;
    workload->ops = table;
    table[workload->op_count] = copy;
    *out_index = workload->op_count++;
    return GSRT_OK;
}

/* Matrices of 16 or 32 bits, which could be narrower. */
static bool is_wide(gsrt_dtype dtype)
{
    return dtype == GSRT_DTYPE_F32 || dtype == GSRT_DTYPE_F16 || dtype == GSRT_DTYPE_BF16;
}

static void describe_op(const gsrt_workload *workload, const gsrt_op *op, gsrt_region *region)
{
    const gsrt_tensor *tensor = op->tensor < workload->tensor_count ? &workload->tensors[op->tensor] : NULL;
    if (tensor != NULL && (uint64_t)tensor->stack_count * tensor->row_count > 1 && is_wide(tensor->dtype))
        region->legal |= GSRT_LEGAL_QUANTISE_WEIGHTS;
    if (tensor != NULL)
        region->legal |= GSRT_LEGAL_OFFLOAD_WEIGHTS;
    if (op->state < workload->state_count) {
        region->legal |= GSRT_LEGAL_CHECKPOINT | GSRT_LEGAL_PAGE | GSRT_LEGAL_OFFLOAD_STATE;
        if (is_wide(workload->states[op->state].dtype))
            region->legal |= GSRT_LEGAL_QUANTISE_STATE;
        region->effects |= GSRT_EFFECT_READS_STATE | GSRT_EFFECT_WRITES_STATE;
    }
    switch (op->kind) {
    case GSRT_OP_LATENT_ATTENTION: region->legal |= GSRT_LEGAL_ABSORB | GSRT_LEGAL_REORDER; break;
    case GSRT_OP_EXPERT_LINEAR: region->legal |= GSRT_LEGAL_SPLIT_EXPERTS | GSRT_LEGAL_REORDER; break;
    case GSRT_OP_ROUTE:
        region->sensitivity = GSRT_SENSITIVITY_CHOICE;
        region->legal |= GSRT_LEGAL_REORDER;
        break;
    case GSRT_OP_LOGITS:
        region->sensitivity = GSRT_SENSITIVITY_CHOICE;
        region->effects |= GSRT_EFFECT_EMITS;
        region->legal |= GSRT_LEGAL_REORDER;
        break;
    case GSRT_OP_RMSNORM:
    case GSRT_OP_LAYERNORM:
    case GSRT_OP_LINEAR:
    case GSRT_OP_ATTENTION:
    case GSRT_OP_COMBINE: region->legal |= GSRT_LEGAL_REORDER; break;
    case GSRT_OP_EMBED:
    case GSRT_OP_ROPE:
    case GSRT_OP_SWIGLU:
    case GSRT_OP_ADD:
    case GSRT_OP_POSITION:
    case GSRT_OP_SCALE:
    case GSRT_OP_GELU:
    case GSRT_OP_GEGLU: break;
    }
}

void gsrt_workload_describe(const gsrt_workload *workload, gsrt_region *region)
{
    region->phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    region->sensitivity = GSRT_SENSITIVITY_SMOOTH;
    region->legal = GSRT_LEGAL_RECOMPUTE;
    region->effects = 0;
    region->is_deterministic = true;
    for (uint32_t i = 0; i < region->op_count; i++)
        describe_op(workload, &workload->ops[region->op_first + i], region);
}

const char *gsrt_op_kind_name(gsrt_op_kind kind)
{
    switch (kind) {
    case GSRT_OP_EMBED: return "embed";
    case GSRT_OP_RMSNORM: return "rmsnorm";
    case GSRT_OP_LINEAR: return "linear";
    case GSRT_OP_ROPE: return "rope";
    case GSRT_OP_ATTENTION: return "attention";
    case GSRT_OP_SWIGLU: return "swiglu";
    case GSRT_OP_ADD: return "add";
    case GSRT_OP_LOGITS: return "logits";
    case GSRT_OP_LAYERNORM: return "layernorm";
    case GSRT_OP_POSITION: return "position";
    case GSRT_OP_SCALE: return "scale";
    case GSRT_OP_GELU: return "gelu";
    case GSRT_OP_GEGLU: return "geglu";
    case GSRT_OP_LATENT_ATTENTION: return "latent_attention";
    case GSRT_OP_ROUTE: return "route";
    case GSRT_OP_EXPERT_LINEAR: return "expert_linear";
    case GSRT_OP_COMBINE: return "combine";
    }
    return "?";
}
