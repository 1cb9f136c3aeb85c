#include "model/region_snapshot.h"

#include <string.h>

static gsrt_plan_kv kv_of(const gsrt_region_options *o, uint32_t member)
{
    return gsrt_plan_kv_of(o->plan, gsrt_weights_workload(o->weights), o->stage, member);
}

/* Where query heads of one KV head are split between members, both hold it; the lowest keeps it. Members' heads ascend,
 * so that those of the members before end where the last of them ends. */
static gsrt_plan_kv kept_of(const gsrt_region_options *o)
{
    gsrt_plan_kv kept = kv_of(o, o->member);
    uint32_t end = kept.head_first + kept.head_count;
    for (uint32_t m = 0; m < o->member; m++) {
        gsrt_plan_kv before = kv_of(o, m);
        uint32_t before_end = before.head_first + before.head_count;
        kept.head_first = before_end > kept.head_first ? before_end : kept.head_first;
    }
    kept.head_count = kept.head_first < end ? end - kept.head_first : 0;
    return kept;
}

/* Add the cells of blocks [first, first + count) of a request, which lie at blocks[first...]. */
static void add_cells(const gsrt_region_options *o, const gsrt_plan_kv *kept, uint32_t request, uint32_t first,
                      uint32_t count, const uint32_t *blocks, gsrt_snapshot_cells *to)
{
    gsrt_plan_kv own = kv_of(o, o->member);
    size_t bytes = GSRT_KV_BLOCK_POSITIONS * o->lowered->head_dim * sizeof(float);
    gsrt_snapshot_cell cell = {.request = request};
    for (uint32_t layer = 0; layer < kept->layer_count; layer++) {
        cell.layer = kept->layer_first + layer;
        for (cell.head = kept->head_first; cell.head < kept->head_first + kept->head_count; cell.head++) {
            for (cell.block = first; cell.block < first + count; cell.block++) {
                float *k, *v;
                gsrt_snapshot_cells_add(to, &cell, &k, &v);
                if (o->kv != NULL) {
                    gsrt_kv_read(o->kv, layer, cell.head - own.head_first, blocks[cell.block], GSRT_KV_BLOCK_POSITIONS,
                                 k, v);
                } else {
                    memset(k, 0, bytes);
                    memset(v, 0, bytes);
                }
            }
        }
    }
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
    gsrt_plan_kv kept = kept_of(o);
    uint32_t first_block = 0;
    if (!is_sound(o, message) || o->lowered->kv_layer_count != kept.layer_count)
        return GSRT_EINVAL;
    gsrt_snapshot_part *part = gsrt_snapshot_part_create(message->number, o->lowered->head_dim,
                                                         message->blocks_count * kept.layer_count * kept.head_count);
    if (part == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < message->requests_count; i++) {
        add_cells(o, &kept, message->requests[i], 0, message->block_counts[i], message->blocks + first_block,
                  gsrt_snapshot_part_cells(part));
        first_block += message->block_counts[i];
    }
    *out = part;
    return GSRT_OK;
}

gsrt_payload *gsrt__region_copy_block(const gsrt_region_options *o, uint32_t request, uint32_t block,
                                      const uint32_t *blocks)
{
    gsrt_plan_kv own = kv_of(o, o->member);
    uint32_t cell_count = own.layer_count * own.head_count;
    gsrt_snapshot_cells cells;
    size_t bytes = gsrt_snapshot_cells_bytes(o->lowered->head_dim, cell_count);
    gsrt_payload *payload = bytes == 0 ? NULL : gsrt_payload_create(bytes);
    if (payload == NULL)
        return NULL;
    gsrt_snapshot_cells_begin(&cells, payload->data, 0, o->lowered->head_dim, cell_count);
    add_cells(o, &own, request, block, 1, blocks, &cells);
    return payload;
}

static bool find_cell(const gsrt_region_options *o, const gsrt_snapshot_cell *cell, const float **out_k,
                      const float **out_v)
{
    return (o->replica != NULL && gsrt_replica_get(o->replica, cell, out_k, out_v)) ||
           (o->snapshot != NULL && gsrt_snapshot_get(o->snapshot, cell, out_k, out_v));
}

gsrt_status gsrt__region_restore(const gsrt_region_options *o, const gsrt_msg_restore *message)
{
    gsrt_plan_kv own = kv_of(o, o->member);
    gsrt_snapshot_cell cell = {.request = message->request};
    for (uint32_t i = 0; i < message->blocks_count; i++) {
        if (message->blocks[i] >= gsrt_kv_block_count(o->kv))
            return GSRT_EINVAL;
    }
    for (uint32_t layer = 0; layer < o->lowered->kv_layer_count; layer++) {
        cell.layer = own.layer_first + layer;
        for (cell.head = own.head_first; cell.head < own.head_first + own.head_count; cell.head++) {
            for (cell.block = 0; cell.block < message->blocks_count; cell.block++) {
                const float *k, *v;
                if (!find_cell(o, &cell, &k, &v))
                    return GSRT_ENOTFOUND;
                gsrt_kv_write(o->kv, layer, cell.head - own.head_first, message->blocks[cell.block],
                              GSRT_KV_BLOCK_POSITIONS, k, v);
            }
        }
    }
    return GSRT_OK;
}
