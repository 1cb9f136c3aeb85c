/* To and from the transport.
 *
 * Out: encode into the node's scratch, number the message within its stream (from, to), post. Signals and forwarded
 * messages that find the peer's window full wait in its pending list; until that is empty others are refused, so that
 * order is kept.
 * In: refuse what is stale or not for the wire; find the receiver (or forward); check the stream; append to the queue,
 * still encoded. Calls and replies are settled here, when they come in, not when they are delivered.
 *
 * Streams: a transport keeps order per peer and loses nothing while the peer lives, so a gap can only be seen by an
 * actor that has moved: some of its messages come by its old rank. It gets them in order: those that came early are
 * held. Streams that nobody used for long are forgotten all at once when there are GSRT_STREAM_COUNT_MAX: then the
 * sender's numbers go on above all that were ever given, and the receiver starts at what comes.
 */
#include "actors/node_impl.h"
#include "mailbox/body.h"
#include "mailbox/codec.h"
#include "mailbox/keepers.h"

#include <stdlib.h>

/* ---- out ---- */

/* GSRT_OK: the place of the stream's last sequence. */
static gsrt_status stream_sent(gsrt_node *node, gsrt_address from, gsrt_address to, uint64_t **out)
{
    gsrt_status status = gsrt__map_put(&node->sent, from, to, out);
    if (status == GSRT_ELIMIT) {
        gsrt__map_clear(&node->sent);
        node->sent_floor = node->sent_most;
        status = gsrt__map_put(&node->sent, from, to, out);
    }
    if (status == GSRT_OK && **out == 0)
        **out = node->sent_floor;
    return status;
}

/* Into the room that there is from before; more is only made for a body that does not fit. */
static gsrt_status encode(gsrt_node *node, const gsrt__post *post, gsrt_span *out)
{
    gsrt_buffer *room = &node->encode;
    size_t len;
    gsrt_status status = gsrt_body_encode(post->kind, post->body, room->data, room->capacity, &len);
    if (status == GSRT_ELIMIT && room->capacity < GSRT_BODY_BYTES_MAX) {
        size_t bytes = gsrt_body_encoded_bytes_max(post->kind, post->body);
        uint8_t *data;
        gsrt_buffer_reset(room);
        status = gsrt_buffer_extend(room, bytes < GSRT_BODY_BYTES_MAX ? bytes : GSRT_BODY_BYTES_MAX, &data);
        if (status == GSRT_OK)
            status = gsrt_body_encode(post->kind, post->body, data, room->capacity, &len);
    }
    if (status == GSRT_OK)
        *out = gsrt_span_of(room->data, len);
    return status;
}

static gsrt_status post_envelope(gsrt_node *node, uint32_t rank, const gsrt_envelope *envelope)
{
    gsrt_status status = node->transport->ops->post(node->transport, rank, envelope);
    if (status == GSRT_OK) {
        const gsrt_node_recorder *recorder = &node->options.recorder;
        node->facts.messages_sent++;
        if (recorder->message != NULL)
            recorder->message(recorder->arg, gsrt__round_now(node), envelope, true);
    }
    return status;
}

/* false: some still wait. */
static bool pending_flush(gsrt_node *node, uint32_t rank)
{
    gsrt__peer *peer = &node->peers[rank];
    while (peer->pending_first != NULL) {
        gsrt__pending *pending = peer->pending_first;
        if (post_envelope(node, rank, &pending->envelope) == GSRT_EFULL)
            return false;
        peer->pending_first = pending->next;
        if (peer->pending_first == NULL)
            peer->pending_last = NULL;
        peer->pending_bytes -= sizeof *pending + pending->envelope.body.len;
        gsrt_payload_unref(pending->envelope.payload);
        free(pending);
    }
    return true;
}

static gsrt_status pending_add(gsrt_node *node, uint32_t rank, const gsrt_envelope *envelope)
{
    gsrt__peer *peer = &node->peers[rank];
    size_t bytes = sizeof(gsrt__pending) + envelope->body.len;
    if (peer->pending_bytes + bytes > GSRT_PENDING_BYTES_MAX)
        return GSRT_ELIMIT;
    gsrt__pending *pending = malloc(bytes);
    if (pending == NULL)
        return GSRT_ENOMEM;
    pending->next = NULL;
    pending->envelope = *envelope;
    if (envelope->body.len > 0)
        memcpy(pending->body, envelope->body.data, envelope->body.len);
    pending->envelope.body.data = pending->body;
    pending->envelope.payload = gsrt_payload_ref(envelope->payload);
    if (peer->pending_last == NULL)
        peer->pending_first = pending;
    else
        peer->pending_last->next = pending;
    peer->pending_last = pending;
    peer->pending_bytes += bytes;
    return GSRT_OK;
}

/* Post it, or let it wait here. GSRT_OK | GSRT_ELINK; lost and counted past the limits. */
static gsrt_status post_or_wait(gsrt_node *node, uint32_t rank, const gsrt_envelope *envelope)
{
    gsrt_status status = GSRT_EFULL;
    if (pending_flush(node, rank))
        status = post_envelope(node, rank, envelope);
    if (status == GSRT_EFULL)
        status = pending_add(node, rank, envelope);
    if (status == GSRT_OK || status == GSRT_ELINK)
        return status;
    node->facts.messages_dropped++;
    return GSRT_OK;
}

static gsrt_status wire_post(gsrt_node *node, uint32_t rank, const gsrt__post *post, bool may_wait)
{
    if (node->transport == NULL || rank >= node->options.rank_count || node->peers[rank].is_lost)
        return GSRT_ELINK;
    if (!may_wait && !pending_flush(node, rank))
        return GSRT_EFULL;
    gsrt_envelope envelope = {.kind = post->kind,
                              .epoch = node->epoch,
                              .from = post->from,
                              .to = post->to,
                              .cause = node->cause,
                              .call = post->call,
                              .is_reply = post->is_reply,
                              .deadline_ns = post->timeout_ns,
                              .payload = post->payload};
    gsrt_status status = encode(node, post, &envelope.body);
    uint64_t *last = NULL;
    if (status == GSRT_OK && post->from != GSRT_NOBODY)
        status = stream_sent(node, post->from, post->to, &last);
    if (status != GSRT_OK)
        return status;
    envelope.sequence = last == NULL ? 0 : *last + 1;
    status = may_wait ? post_or_wait(node, rank, &envelope) : post_envelope(node, rank, &envelope);
    if (status == GSRT_OK && last != NULL) {
        *last = envelope.sequence;
        if (*last > node->sent_most)
            node->sent_most = *last;
    }
    return status;
}

gsrt_status gsrt__wire_post(gsrt_node *node, uint32_t rank, const gsrt__post *post)
{
    return wire_post(node, rank, post, false);
}

gsrt_status gsrt__wire_post_signal(gsrt_node *node, uint32_t rank, const gsrt__post *post)
{
    gsrt_status status = wire_post(node, rank, post, true);
    if (status == GSRT_OK || status == GSRT_ELINK)
        return status;
    node->facts.messages_dropped++;
    return GSRT_OK;
}

void gsrt__wire_drop_pending(gsrt_node *node, uint32_t rank)
{
    gsrt__peer *peer = &node->peers[rank];
    while (peer->pending_first != NULL) {
        gsrt__pending *pending = peer->pending_first;
        peer->pending_first = pending->next;
        gsrt_payload_unref(pending->envelope.payload);
        free(pending);
    }
    peer->pending_last = NULL;
    peer->pending_bytes = 0;
}

bool gsrt__wire_is_flushed(const gsrt_node *node)
{
    for (uint32_t rank = 0; rank < node->options.rank_count; rank++)
        if (node->peers[rank].pending_first != NULL)
            return false;
    return node->transport == NULL || node->transport->ops->is_flushed(node->transport);
}

/* ---- in ---- */

static bool is_acceptable(const gsrt_node *node, uint32_t peer, const gsrt_envelope *envelope)
{
    if (peer >= node->options.rank_count || node->peers[peer].is_lost || gsrt_kind_is_local_only(envelope->kind))
        return false;
#ifndef GSRT_PLANT_NO_CANCEL
    if (envelope->kind >= (gsrt_kind)GSRT__DATA_KIND_FIRST && envelope->epoch != node->epoch)
        return false;
#endif
    if (gsrt_address_is_role(envelope->from) || envelope->to == GSRT_NOBODY ||
        (envelope->is_reply && envelope->call == 0) || (envelope->call != 0 && envelope->from == GSRT_NOBODY))
        return false;
    uint32_t from_rank = gsrt_address_rank(envelope->from);
    if (envelope->from != GSRT_NOBODY &&
        (from_rank >= node->options.rank_count ||
         gsrt_address_incarnation(envelope->from) != node->peers[from_rank].incarnation))
        return false;
    if (envelope->from != GSRT_NOBODY && gsrt__actor_find(node, envelope->from) != NULL)
        return false; /* whoever is here does not send from there */
    uint32_t to_rank = gsrt_address_rank(envelope->to);
    return gsrt_address_is_role(envelope->to) ||
           (to_rank < node->options.rank_count &&
            gsrt_address_incarnation(envelope->to) == node->peers[to_rank].incarnation);
}

/* Nobody is there: whoever waits for an answer gets it. */
static void answer_absence(gsrt_node *node, const gsrt_envelope *envelope)
{
    node->facts.messages_dropped++;
    if (envelope->call != 0 && !envelope->is_reply) {
        gsrt__signal_down(node, envelope->from, envelope->to, envelope->call, GSRT_EXIT_NO_ACTOR);
        return;
    }
    if (envelope->kind != GSRT_KIND_MONITOR && envelope->kind != GSRT_KIND_LINK)
        return;
    const void *body;
    if (gsrt_body_decode(envelope->kind, envelope->body, &node->decode, &body) != GSRT_OK) {
        node->facts.messages_refused++;
        return;
    }
    gsrt__record record = {.kind = (uint16_t)envelope->kind, .from = envelope->from, .to = envelope->to};
    record.as = envelope->to;
    gsrt__relation_signal(node, NULL, &record, body);
}

static void forward(gsrt_node *node, uint32_t peer, uint32_t rank, const gsrt_envelope *envelope)
{
    node->facts.messages_forwarded++;
    if (node->peers[rank].is_lost || post_or_wait(node, rank, envelope) != GSRT_OK) {
        answer_absence(node, envelope);
        return;
    }
    if (envelope->from == GSRT_NOBODY)
        return;
    gsrt_msg_moved body = {.subject = envelope->to, .rank = rank};
    gsrt__post post = {.kind = GSRT_KIND_MOVED, .to = envelope->from, .body = &body};
    (void)gsrt__wire_post_signal(node, peer, &post);
}

/* Into the queue, encoded as it came. */
static gsrt_status enqueue(gsrt_node *node, gsrt_actor *actor, const gsrt_envelope *envelope)
{
    gsrt__record *record = gsrt__queue_append(&node->queue, envelope->body.len, envelope->payload);
    if (record == NULL)
        return GSRT_ENOMEM;
    record->kind = (uint16_t)envelope->kind;
    record->flags = GSRT__RECORD_IS_ENCODED | (envelope->is_reply ? GSRT__RECORD_IS_REPLY : 0) |
                    (gsrt__is_signal(envelope->kind) ? GSRT__RECORD_IS_SIGNAL : GSRT__RECORD_IS_COUNTED);
    record->slot = actor->slot;
    record->epoch = envelope->kind >= (gsrt_kind)GSRT__DATA_KIND_FIRST ? envelope->epoch : node->epoch;
    record->from = envelope->from;
    record->to = actor->address;
    record->as = envelope->to;
    record->call = envelope->call;
    record->cause = envelope->cause;
    if (envelope->body.len > 0)
        memcpy(record->body, envelope->body.data, envelope->body.len);
    if (record->flags & GSRT__RECORD_IS_COUNTED)
        actor->waiting_count++;
    return GSRT_OK;
}

static void accept(gsrt_node *node, gsrt_actor *actor, const gsrt_envelope *envelope)
{
    const gsrt_node_recorder *recorder = &node->options.recorder;
    gsrt__call *made = NULL;
    gsrt_status status = GSRT_OK;
    if (envelope->is_reply) {
        made = gsrt__call_find_made(node, actor->address, envelope->call);
        if (made == NULL) {
            node->facts.messages_dropped++; /* late */
            return;
        }
    } else if (envelope->call != 0 && !gsrt__is_signal(envelope->kind)) {
        if (gsrt__call_find_got(node, envelope->from, envelope->call) != NULL) {
            node->facts.messages_refused++; /* that call is open already */
            return;
        }
        status = gsrt__call_note_got(node, actor, envelope->from, envelope->call, envelope->deadline_ns);
        if (status != GSRT_OK) {
            node->facts.messages_refused++;
            gsrt__signal_down(node, envelope->from, envelope->to, envelope->call, GSRT_EXIT_REFUSED);
            return;
        }
    }
    if (recorder->message != NULL)
        recorder->message(recorder->arg, gsrt__round_now(node), envelope, false);
    status = enqueue(node, actor, envelope);
    if (status == GSRT_OK && made != NULL)
        gsrt__call_close(node, made);
    else if (status != GSRT_OK)
        node->facts.messages_dropped++; /* no memory: a call ends by its timeout */
}

/* ---- streams ---- */

typedef enum turn { TURN_NOW, TURN_PAST, TURN_EARLY } turn;

/* Where the message stands in its stream; NOW also moves the stream on. */
static turn turn_of(gsrt_node *node, const gsrt_actor *actor, const gsrt_envelope *envelope)
{
    if (envelope->from == GSRT_NOBODY || envelope->sequence == 0)
        return TURN_NOW;
    uint64_t *last;
    gsrt_status status = gsrt__map_put(&node->seen, envelope->from, envelope->to, &last);
    if (status == GSRT_ELIMIT) {
        gsrt__map_clear(&node->seen);
        status = gsrt__map_put(&node->seen, envelope->from, envelope->to, &last);
    }
    if (status != GSRT_OK)
        return TURN_NOW; /* no memory to check it */
    if (*last != 0 && envelope->sequence <= *last)
        return TURN_PAST;
    if (actor->is_moved_here && envelope->sequence != *last + 1)
        return TURN_EARLY;
    *last = envelope->sequence;
    return TURN_NOW;
}

static bool hold(gsrt_node *node, uint32_t peer, const gsrt_envelope *envelope)
{
    if (node->held_count >= GSRT_HELD_COUNT_MAX)
        return false;
    gsrt__held *held = malloc(sizeof *held + envelope->body.len);
    if (held == NULL)
        return false;
    held->next = NULL;
    held->envelope = *envelope;
    held->peer = peer;
    held->due_ns = gsrt__now(node) + GSRT_HOLD_MS * 1000000ull;
    if (envelope->body.len > 0)
        memcpy(held->body, envelope->body.data, envelope->body.len);
    held->envelope.body.data = held->body;
    held->envelope.payload = gsrt_payload_ref(envelope->payload);
    gsrt__held **end = &node->held_first;
    while (*end != NULL)
        end = &(*end)->next;
    *end = held;
    node->held_count++;
    node->facts.messages_held++;
    return true;
}

static gsrt__held *held_unlink(gsrt_node *node, gsrt__held **place)
{
    gsrt__held *held = *place;
    *place = held->next;
    node->held_count--;
    return held;
}

static void held_free(gsrt__held *held)
{
    gsrt_payload_unref(held->envelope.payload);
    free(held);
}

/* Take those of the stream of `envelope` whose turn it is now. */
static void release_followers(gsrt_node *node, gsrt_actor *actor, gsrt_address from, gsrt_address to)
{
    gsrt__held **place = &node->held_first;
    while (*place != NULL) {
        gsrt_envelope *envelope = &(*place)->envelope;
        if (envelope->from != from || envelope->to != to) {
            place = &(*place)->next;
            continue;
        }
        turn is = turn_of(node, actor, envelope);
        if (is == TURN_EARLY) {
            place = &(*place)->next;
            continue;
        }
        gsrt__held *held = held_unlink(node, place);
        if (is == TURN_NOW)
            accept(node, actor, envelope);
        else
            node->facts.messages_refused++;
        held_free(held);
        place = &node->held_first; /* an earlier one may follow now */
    }
}

/* Its forerunners will not come any more: of all that are held in its stream the earliest opens the gap. */
static void release_oldest(gsrt_node *node)
{
    gsrt_address from = node->held_first->envelope.from, to = node->held_first->envelope.to;
    uint64_t first = UINT64_MAX;
    for (const gsrt__held *held = node->held_first; held != NULL; held = held->next)
        if (held->envelope.from == from && held->envelope.to == to && held->envelope.sequence < first)
            first = held->envelope.sequence;
    gsrt_actor *actor = gsrt__actor_find(node, gsrt__route_of(node, to).to);
    uint64_t *last = gsrt__map_find(&node->seen, from, to);
    if (actor != NULL && last != NULL) {
        *last = first - 1;
        release_followers(node, actor, from, to);
    } else {
        held_free(held_unlink(node, &node->held_first));
        node->facts.messages_dropped++;
    }
}

void gsrt__wire_release_held(gsrt_node *node, uint64_t now_ns)
{
    while (node->held_first != NULL && node->held_first->due_ns <= now_ns)
        release_oldest(node);
}

void gsrt__wire_drop_held(gsrt_node *node)
{
    while (node->held_first != NULL)
        held_free(held_unlink(node, &node->held_first));
}

/* ---- the transport's callbacks ---- */

static void on_receive(void *arg, uint32_t peer, const gsrt_envelope *envelope)
{
    gsrt_node *node = arg;
    node->facts.messages_received++;
    if (!is_acceptable(node, peer, envelope)) {
        node->facts.messages_refused++;
        return;
    }
    if (envelope->kind == GSRT_KIND_MOVED) {
        const void *body;
        if (gsrt_body_decode(envelope->kind, envelope->body, &node->decode, &body) == GSRT_OK)
            gsrt__place_learn(node, ((const gsrt_msg_moved *)body)->subject, ((const gsrt_msg_moved *)body)->rank);
        else
            node->facts.messages_refused++;
        return;
    }
    gsrt_address to = envelope->to;
    if (gsrt_address_is_role(to))
        to = gsrt_role_resolve(node, to);
    gsrt_actor *actor = to == GSRT_NOBODY ? NULL : gsrt__actor_find(node, to);
    if (actor == NULL) {
        const uint64_t *place = to == GSRT_NOBODY ? NULL : gsrt__map_find(&node->places, to, 0);
        if (place != NULL && (*place & GSRT__PLACE_SURE) != 0 && !gsrt_address_is_role(envelope->to))
            forward(node, peer, (uint32_t)(*place & UINT32_MAX), envelope);
        else
            answer_absence(node, envelope);
        return;
    }
    switch (turn_of(node, actor, envelope)) {
    case TURN_PAST: node->facts.messages_refused++; return;
    case TURN_EARLY:
        if (hold(node, peer, envelope))
            return;
        break; /* as many are held as may be: out of order rather than lost */
    case TURN_NOW: break;
    }
    accept(node, actor, envelope);
    if (node->held_first != NULL)
        release_followers(node, actor, envelope->from, envelope->to);
}

static void on_writable(void *arg, uint32_t rank)
{
    gsrt_node *node = arg;
    if (rank < node->options.rank_count && pending_flush(node, rank))
        gsrt__refused_wake(node, &node->peers[rank].refused);
}

static void on_down(void *arg, uint32_t rank, gsrt_status why)
{
    gsrt_node *node = arg;
    if (rank >= node->options.rank_count || node->peers[rank].is_lost)
        return;
    if (node->on_suspect != NULL)
        node->on_suspect(node->on_suspect_arg, rank, why);
    else
        gsrt_node_rank_lost(node, rank);
}

static void on_join(void *arg, uint32_t rank, uint32_t incarnation)
{
    gsrt_node *node = arg;
    if (rank < node->options.rank_count)
        node->peers[rank].joined = (uint8_t)incarnation;
    if (node->on_join != NULL)
        node->on_join(node->on_join_arg, rank, incarnation);
    else
        gsrt_node_set_incarnation(node, rank, incarnation);
    if (rank < node->options.rank_count && node->peers[rank].incarnation == incarnation)
        on_writable(node, rank); /* for the letters that have waited for it */
}

static void on_deaf(void *arg)
{
    gsrt_node *node = arg;
    if (node->on_deaf != NULL)
        node->on_deaf(node->on_deaf_arg);
    else
        gsrt_node_finish(node, GSRT_EXIT_AGAIN);
}

void gsrt__wire_listen(gsrt_node *node)
{
    gsrt_transport_events events = {.arg = node,
                                    .on_receive = on_receive,
                                    .on_writable = on_writable,
                                    .on_down = on_down,
                                    .on_join = on_join,
                                    .on_deaf = on_deaf};
    gsrt_transport_listen(node->transport, &events);
}
