#include "placement/workload.h"

#include <inttypes.h>
#include <stdlib.h>

/* Tables double in the arena; what they outgrow stays there until free, less than the tables themselves. */
enum { ARENA_BYTES_MAX = 256 << 20, TABLE_FIRST = 16 };

struct gsrt__workload_room {
    uint32_t tensors, values, ops, regions;
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
    gsrt_op *table = grow(&workload->arena, workload->ops, workload->op_count, sizeof *table, &owned->room.ops);
    if (table == NULL)
        return GSRT_ENOMEM;
    workload->ops = table;
    table[workload->op_count] = copy;
    *out_index = workload->op_count++;
    return GSRT_OK;
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
    }
    return "?";
}
