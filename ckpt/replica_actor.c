#include "ckpt/replica_actor.h"

#include "actors/courier.h"
#include "ckpt/holdings.h"

#include <stdlib.h>
#include <string.h>

typedef struct replica_state {
    gsrt_replica_actor_options options;
    /* the gathering */
    gsrt_transfer *transfers; /* [transfer_count] that this rank still awaits; owned */
    uint32_t transfer_count, epoch;
    gsrt_address asker;
    uint64_t call; /* 0: none is open */
} replica_state;

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    (void)self;
    ((replica_state *)state)->options = *(const gsrt_replica_actor_options *)arg;
    return GSRT_OK;
}

static gsrt_snapshot_cell cell_of(const replica_state *s, uint32_t request, uint32_t number, uint32_t block)
{
    uint32_t heads = s->options.shape->kv_head_count;
    return (gsrt_snapshot_cell){.request = request, .layer = number / heads, .head = number % heads, .block = block};
}

/* ---- a gathering ---- */

/* The parts of one block that went to a rank already: few, for a part has all of the block that one rank computed. */
typedef struct sent_parts {
    const gsrt_payload *parts[8];
    uint32_t count;
} sent_parts;

static bool was_sent(sent_parts *sent, const gsrt_payload *part)
{
    for (uint32_t i = 0; i < sent->count; i++) {
        if (sent->parts[i] == part)
            return true;
    }
    if (sent->count < sizeof sent->parts / sizeof sent->parts[0])
        sent->parts[sent->count++] = part; /* beyond that it goes twice, and is known there */
    return false;
}

static gsrt_status give_cells(gsrt_actor *self, const replica_state *s, const gsrt_transfer *t, uint32_t block,
                              sent_parts *sent)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = t->first; i < t->first + t->cell_count && status == GSRT_OK; i++) {
        gsrt_snapshot_cell cell = cell_of(s, t->request, i, block);
        gsrt_payload *part = gsrt_replica_part_of(s->options.replica, &cell);
        if (part == NULL)
            return GSRT_EINVAL; /* this rank did not say that it held it */
        if (!was_sent(sent, part))
            status = gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REPLICA, 0, t->to), GSRT_KIND_CELLS,
                                       &(gsrt_msg_cells){.wants_reply = false}, part);
    }
    return status;
}

/* transfers[count]: of one request, to one rank; what of them is this rank's to give, each part once. */
static gsrt_status give(gsrt_actor *self, const replica_state *s, const gsrt_transfer *transfers, uint32_t count)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t block = 0; block < transfers[0].block_count; block++) {
        sent_parts sent = {0};
        for (uint32_t i = 0; i < count && status == GSRT_OK; i++) {
            if (transfers[i].from == gsrt_node_rank(gsrt_node_of(self)) && block < transfers[i].block_count)
                status = give_cells(self, s, &transfers[i], block, &sent);
        }
    }
    return status;
}

static gsrt_status give_all(gsrt_actor *self, const replica_state *s)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t first = 0, end; first < s->transfer_count && status == GSRT_OK; first = end) {
        const gsrt_transfer *t = &s->transfers[first];
        for (end = first + 1;
             end < s->transfer_count && s->transfers[end].to == t->to && s->transfers[end].request == t->request;)
            end++;
        status = give(self, s, t, end - first);
    }
    return status;
}

static bool has_come(const replica_state *s, const gsrt_transfer *t)
{
    const uint32_t *counts = gsrt_replica_counts(s->options.replica, t->request);
    for (uint32_t i = t->first; i < t->first + t->cell_count; i++) {
        if (counts == NULL || counts[i] < t->block_count)
            return false;
    }
    return true;
}

/* All that this rank was to be given has come: say so. What has come is not looked at again. */
static gsrt_status look(gsrt_actor *self, replica_state *s)
{
    if (s->call == 0 || s->epoch != gsrt_node_epoch(gsrt_node_of(self)))
        return GSRT_OK;
    while (s->transfer_count > 0 && has_come(s, &s->transfers[s->transfer_count - 1]))
        s->transfer_count -= 1;
    if (s->transfer_count > 0)
        return GSRT_OK;
    uint64_t call = s->call;
    s->call = 0;
    return gsrt_reply(self, s->asker, call, GSRT_KIND_GATHERED, &(gsrt_msg_gathered){.epoch = s->epoch}, NULL);
}

static bool is_sound(const replica_state *s, const gsrt_transfer *t)
{
    uint32_t cells = s->options.shape->layer_count * s->options.shape->kv_head_count;
    return t->request < GSRT_REQUEST_COUNT_MAX && t->first < cells && t->cell_count <= cells - t->first &&
           t->block_count <= GSRT_CONTEXT_MAX / GSRT_KV_BLOCK_POSITIONS && t->to < GSRT_RANK_COUNT_MAX &&
           t->to != t->from;
}

static gsrt_status read_transfers(replica_state *s, const gsrt_msg_gather *gather)
{
    uint32_t count = gather->transfers_count / GSRT_TRANSFER_NUMBERS;
    if (gather->transfers_count % GSRT_TRANSFER_NUMBERS != 0)
        return GSRT_EINVAL;
    free(s->transfers);
    s->transfer_count = 0;
    s->transfers = calloc(count + 1, sizeof *s->transfers);
    if (s->transfers == NULL)
        return GSRT_ENOMEM;
    if (count > 0)
        memcpy(s->transfers, gather->transfers, count * sizeof *s->transfers);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_sound(s, &s->transfers[i]))
            return GSRT_EINVAL;
    }
    s->transfer_count = count;
    return GSRT_OK;
}

static gsrt_status on_gather(gsrt_actor *self, replica_state *s, const gsrt_message *message)
{
    uint32_t own = gsrt_node_rank(gsrt_node_of(self)), awaited = 0;
    gsrt_status status = read_transfers(s, message->body);
    if (status == GSRT_OK)
        status = give_all(self, s);
    if (status != GSRT_OK)
        return status;
    for (uint32_t i = 0; i < s->transfer_count; i++) {
        if (s->transfers[i].to == own)
            s->transfers[awaited++] = s->transfers[i];
    }
    s->transfer_count = awaited;
    s->epoch = gsrt_node_epoch(gsrt_node_of(self));
    s->asker = message->from;
    s->call = message->call;
    return look(self, s);
}

/* ---- cells ---- */

/* Leading blocks that are held of all these cells. */
static uint32_t block_count_of(const replica_state *s, const gsrt_snapshot_view *view)
{
    const uint32_t *counts = gsrt_replica_counts(s->options.replica, view->cells[0].request);
    uint32_t lowest = GSRT_CONTEXT_MAX;
    for (uint32_t i = 0; i < view->cell_count; i++) {
        const gsrt_snapshot_cell *cell = &view->cells[i];
        uint32_t held = counts == NULL ? 0 : counts[cell->layer * s->options.shape->kv_head_count + cell->head];
        lowest = held < lowest ? held : lowest;
    }
    return lowest;
}

static gsrt_status on_cells(gsrt_actor *self, replica_state *s, const gsrt_message *message)
{
    bool wants_reply = ((const gsrt_msg_cells *)message->body)->wants_reply;
    gsrt_snapshot_view view;
    gsrt_status status = gsrt_replica_put(s->options.replica, message->payload, wants_reply, &view);
    if (status == GSRT_EINPUT)
        return GSRT_OK; /* refused: nobody of us sends that */
    if (status != GSRT_OK && status != GSRT_EFULL && status != GSRT_ESTATE)
        return status;
    if (!wants_reply) {
        *s->options.gathered_bytes += message->payload->len;
        return look(self, s);
    }
    gsrt_msg_kept kept = {
        .request = view.cells[0].request, .block_count = block_count_of(s, &view), .is_full = status == GSRT_EFULL};
    return gsrt_courier_send(self, message->from, GSRT_KIND_KEPT, &kept, NULL);
}

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    replica_state *s = state;
    gsrt_status status = GSRT_OK;
    if (message->kind == GSRT_KIND_CELLS) {
        status = on_cells(self, s, message);
    } else if (message->kind == GSRT_KIND_GATHER) {
        status = on_gather(self, s, message);
    } else if (message->kind == GSRT_KIND_FORGET) {
        const gsrt_msg_forget *forget = message->body;
        for (uint32_t i = 0; i < forget->requests_count; i++)
            gsrt_replica_forget(s->options.replica, forget->requests[i]);
    }
    if (status != GSRT_OK)
        gsrt_exit(self, GSRT_EXIT_CRASH);
}

static void stop(gsrt_actor *self, void *state, uint32_t reason)
{
    (void)self;
    (void)reason;
    free(((replica_state *)state)->transfers);
}

static const gsrt_behaviour replica_behaviour = {
    .name = "replica", .state_bytes = sizeof(replica_state), .init = init, .receive = receive, .stop = stop};

gsrt_status gsrt_replica_actor_start(gsrt_node *node, const gsrt_replica_actor_options *options, gsrt_address *out)
{
    return gsrt_node_spawn(node, &replica_behaviour, options, out);
}
