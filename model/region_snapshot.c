#include "model/region_snapshot.h"

/* KV heads [first, end) of the model. */
typedef struct heads {
    uint32_t first, end;
} heads;

static heads heads_of(const gsrt_region_options *o, uint32_t member)
{
    const gsrt_workload *workload = gsrt_weights_workload(o->weights);
    const gsrt_plan_stage *stage = &o->plan->stages[o->stage];
    uint32_t first[GSRT_GROUP_RANKS_MAX + 1];
    gsrt_apportion(workload->head_count, stage->shares, stage->member_count, first);
    if (first[member] == first[member + 1])
        return (heads){0, 0};
    return (heads){gsrt_kv_head_of(workload, first[member]), gsrt_kv_head_of(workload, first[member + 1] - 1) + 1};
}

/* Where query heads of one KV head are split between members, both hold it; the lowest keeps it. Members' heads ascend,
 * so that those of the members before end where the last of them ends. */
static heads kept_heads(const gsrt_region_options *o)
{
    heads own = heads_of(o, o->member);
    for (uint32_t m = 0; m < o->member; m++) {
        heads before = heads_of(o, m);
        own.first = before.end > own.first ? before.end : own.first;
    }
    return own.first < own.end ? own : (heads){0, 0};
}

static bool is_sound(const gsrt_region_options *o, const gsrt_msg_snapshot *message)
{
    uint64_t total = 0;
    if (message->requests_count != message->block_counts_count)
        return false;
    for (uint32_t i = 0; i < message->requests_count; i++)
        total += message->block_counts[i];
    for (uint32_t i = 0; i < message->blocks_count; i++) {
        if (message->blocks[i] >= gsrt_kv_block_count(o->kv))
            return false;
    }
    return total == message->blocks_count;
}

gsrt_status gsrt__region_collect(const gsrt_region_options *o, const gsrt_msg_snapshot *message,
                                 gsrt_snapshot_part **out)
{
    const gsrt_plan_stage *stage = &o->plan->stages[o->stage];
    heads own = heads_of(o, o->member), kept = kept_heads(o);
    uint32_t layer_count = o->lowered->kv_layer_count, first_block = 0;
    if (!is_sound(o, message) || layer_count != stage->layer_last - stage->layer_first + 1)
        return GSRT_EINVAL;
    gsrt_snapshot_part *part = gsrt_snapshot_part_create(message->number, o->lowered->head_dim,
                                                         message->blocks_count * layer_count * (kept.end - kept.first));
    if (part == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < message->requests_count; i++) {
        gsrt_snapshot_cell cell = {.request = message->requests[i]};
        for (uint32_t layer = 0; layer < layer_count; layer++) {
            cell.layer = stage->layer_first + layer;
            for (cell.head = kept.first; cell.head < kept.end; cell.head++) {
                for (cell.block = 0; cell.block < message->block_counts[i]; cell.block++) {
                    float *k, *v;
                    gsrt_snapshot_part_add(part, &cell, &k, &v);
                    gsrt_kv_read(o->kv, layer, cell.head - own.first, message->blocks[first_block + cell.block],
                                 GSRT_KV_BLOCK_POSITIONS, k, v);
                }
            }
        }
        first_block += message->block_counts[i];
    }
    *out = part;
    return GSRT_OK;
}

gsrt_status gsrt__region_restore(const gsrt_region_options *o, const gsrt_msg_restore *message)
{
    const gsrt_plan_stage *stage = &o->plan->stages[o->stage];
    heads own = heads_of(o, o->member);
    gsrt_snapshot_cell cell = {.request = message->request};
    for (uint32_t i = 0; i < message->blocks_count; i++) {
        if (message->blocks[i] >= gsrt_kv_block_count(o->kv))
            return GSRT_EINVAL;
    }
    for (uint32_t layer = 0; layer < o->lowered->kv_layer_count; layer++) {
        cell.layer = stage->layer_first + layer;
        for (cell.head = own.first; cell.head < own.end; cell.head++) {
            for (cell.block = 0; cell.block < message->blocks_count; cell.block++) {
                const float *k, *v;
                if (o->snapshot == NULL || !gsrt_snapshot_get(o->snapshot, &cell, &k, &v))
                    return GSRT_ENOTFOUND;
                gsrt_kv_write(o->kv, layer, cell.head - own.first, message->blocks[cell.block], GSRT_KV_BLOCK_POSITIONS,
                              k, v);
            }
        }
    }
    return GSRT_OK;
}
