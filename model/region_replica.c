#include "model/region_replica.h"

#include "actors/courier.h"
#include "model/region_snapshot.h"

#include <string.h>

static gsrt_plan_kv own_kv(const gsrt_region_options *o)
{
    return gsrt_plan_kv_of(o->plan, gsrt_weights_workload(o->weights), o->stage, o->member);
}

/* ---- into the own replica ---- */

/* Leading blocks of `request` that the own replica holds of all cells of this member. */
static uint32_t held_of(const gsrt_region_options *o, const gsrt_plan_kv *own, uint32_t request)
{
    const uint32_t *counts = gsrt_replica_counts(o->replica, request);
    uint32_t heads = gsrt_weights_workload(o->weights)->kv_head_count, lowest = UINT32_MAX;
    for (uint32_t layer = own->layer_first; counts != NULL && layer < own->layer_first + own->layer_count; layer++) {
        for (uint32_t head = own->head_first; head < own->head_first + own->head_count; head++) {
            uint32_t count = counts[layer * heads + head];
            lowest = count < lowest ? count : lowest;
        }
    }
    return counts == NULL ? 0 : lowest;
}

static gsrt_status keep_request(const gsrt_region_options *o, const gsrt_plan_kv *own, gsrt__region_stream *stream,
                                uint32_t request, const gsrt_job_sequence *sequence)
{
    uint32_t complete = (sequence->position_first + sequence->row_count) / GSRT_KV_BLOCK_POSITIONS;
    gsrt_status status = GSRT_OK;
    if (complete == sequence->position_first / GSRT_KV_BLOCK_POSITIONS)
        return GSRT_OK; /* none was completed */
    for (uint32_t block = held_of(o, own, request); block < complete && status == GSRT_OK; block++) {
        gsrt_payload *part = gsrt__region_copy_block(o, request, block, sequence->blocks);
        status = part == NULL ? GSRT_ENOMEM : gsrt_replica_put(o->replica, part, true, NULL);
        gsrt_payload_unref(part);
    }
    stream->held[request] = held_of(o, own, request);
    stream->request_end = request >= stream->request_end ? request + 1 : stream->request_end;
    stream->is_full = false;
    /* left out for lack of room; or over meanwhile: its last step was on the way */
    return status == GSRT_EFULL || status == GSRT_ESTATE ? GSRT_OK : status;
}

gsrt_status gsrt__region_keep(const gsrt_region_options *o, gsrt__region_stream *stream, const gsrt__step *step)
{
    gsrt_plan_kv own = own_kv(o);
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < step->sequence_count && own.head_count > 0 && status == GSRT_OK; i++) {
        if (step->requests[i] < GSRT_REQUEST_COUNT_MAX)
            status = keep_request(o, &own, stream, step->requests[i], &step->sequences[i]);
    }
    return status;
}

/* ---- to the second place ---- */

/* Put together from parts that came from roles of another plan. */
static gsrt_payload *gather_part(const gsrt_region_options *o, const gsrt_plan_kv *own, uint32_t request,
                                 uint32_t block)
{
    size_t floats = GSRT_KV_BLOCK_POSITIONS * (size_t)o->lowered->head_dim;
    gsrt_snapshot_cells cells;
    gsrt_payload *payload =
        gsrt_payload_create(gsrt_snapshot_cells_bytes(o->lowered->head_dim, own->layer_count * own->head_count));
    if (payload == NULL)
        return NULL;
    gsrt_snapshot_cells_begin(&cells, payload->data, 0, o->lowered->head_dim, own->layer_count * own->head_count);
    gsrt_snapshot_cell cell = {.request = request, .block = block};
    for (cell.layer = own->layer_first; cell.layer < own->layer_first + own->layer_count; cell.layer++) {
        for (cell.head = own->head_first; cell.head < own->head_first + own->head_count; cell.head++) {
            const float *k, *v;
            float *to_k, *to_v;
            if (!gsrt_replica_get(o->replica, &cell, &k, &v))
                return gsrt_payload_unref(payload);
            gsrt_snapshot_cells_add(&cells, &cell, &to_k, &to_v);
            memcpy(to_k, k, floats * sizeof *k);
            memcpy(to_v, v, floats * sizeof *v);
        }
    }
    return payload;
}

/* All cells of this member of one block: mostly the part that it put there itself. Owned; NULL: not held any more, or
 * no memory. */
static gsrt_payload *find_part(const gsrt_region_options *o, const gsrt_plan_kv *own, uint32_t request, uint32_t block)
{
    gsrt_snapshot_cell first = {.request = request, .layer = own->layer_first, .head = own->head_first, .block = block};
    gsrt_snapshot_cell last = {.request = request,
                               .layer = own->layer_first + own->layer_count - 1,
                               .head = own->head_first + own->head_count - 1,
                               .block = block};
    gsrt_payload *part = gsrt_replica_part_of(o->replica, &first);
    if (part == NULL)
        return NULL;
    /* of that size, with these corners: it has just these cells */
    bool is_own = part == gsrt_replica_part_of(o->replica, &last) &&
                  part->len == gsrt_snapshot_cells_bytes(o->lowered->head_dim, own->layer_count * own->head_count);
    return is_own ? gsrt_payload_ref(part) : gather_part(o, own, request, block);
}

gsrt_status gsrt__region_send_part(gsrt_actor *self, const gsrt_region_options *o, gsrt__region_stream *stream)
{
    gsrt_plan_kv own = own_kv(o);
    if (stream->is_waiting || stream->is_full)
        return GSRT_OK;
    for (uint32_t i = 0; i < stream->request_end; i++) {
        uint32_t request = (stream->next + i) % stream->request_end;
        if (stream->sent[request] >= stream->held[request])
            continue;
        gsrt_payload *part = find_part(o, &own, request, stream->sent[request]);
        if (part == NULL) { /* it is over */
            stream->sent[request] = stream->held[request];
            continue;
        }
        gsrt_status status = gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REPLICA, 0, o->second_place),
                                               GSRT_KIND_CELLS, &(gsrt_msg_cells){.wants_reply = true}, part);
        o->facts->streamed_bytes += part->len;
        gsrt_payload_unref(part);
        stream->is_waiting = true;
        stream->next = (request + 1) % stream->request_end;
        return status;
    }
    return GSRT_OK;
}

void gsrt__region_note_kept(gsrt__region_stream *stream, const gsrt_msg_kept *kept)
{
    stream->is_waiting = false;
    stream->is_full = kept->is_full;
    if (kept->request >= GSRT_REQUEST_COUNT_MAX || kept->is_full)
        return;
    uint32_t *sent = &stream->sent[kept->request];
    /* it may have been there from an earlier view; that it did not become more says that the request is over there */
    *sent = kept->block_count > *sent ? kept->block_count : stream->held[kept->request];
}
