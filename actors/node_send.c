/* Sending: where a message goes, whether there is room for it, and who is told when there is again.
 *
 * Limits: an actor's inbox has GSRT_INBOX_MESSAGES_MAX places, a node's queue GSRT_INBOX_BYTES_MAX bytes, a peer its
 * window. Whoever is refused is noted at that place, once, and gets one WRITABLE when half of it is free again.
 * Replies, timers and signals are not refused: calls, timers and relations have limits of their own.
 */
#include "actors/node_impl.h"
#include "mailbox/body.h"

gsrt__route gsrt__route_of(const gsrt_node *node, gsrt_address to)
{
    uint32_t rank = gsrt_address_rank(to);
    if (gsrt_address_is_role(to)) {
        gsrt_address bound = gsrt_role_resolve(node, to);
        uint32_t role = (uint32_t)(to >> 56);
        if (bound != GSRT_NOBODY) {
            to = bound;
            rank = gsrt_address_rank(to);
        } else if (role == GSRT_ROLE_NODE || role == GSRT_ROLE_DEVICE || role == GSRT_ROLE_MEMBER ||
                   role == GSRT_ROLE_REPLICA) {
            rank = gsrt_address_serial(to); /* its member is the rank, which knows who it is */
            return (gsrt__route){rank == node->options.rank ? GSRT__ROUTE_NOWHERE : GSRT__ROUTE_RANK, rank, to, NULL};
        } else {
            return (gsrt__route){.kind = GSRT__ROUTE_NOWHERE, .rank = node->options.rank, .to = to};
        }
    }
    gsrt_actor *actor = gsrt__actor_find(node, to);
    if (actor != NULL)
        return (gsrt__route){GSRT__ROUTE_HERE, node->options.rank, to, actor};
    bool is_moved = gsrt__place_rank(node, to, &rank);
    if (to == GSRT_NOBODY || (rank == node->options.rank && !is_moved))
        return (gsrt__route){GSRT__ROUTE_NOWHERE, node->options.rank, to, NULL};
    return (gsrt__route){GSRT__ROUTE_RANK, rank, to, NULL};
}

static bool is_sendable(gsrt_kind kind, const void *body)
{
    return !gsrt__is_signal(kind) && body != NULL;
}

gsrt_status gsrt__send_check(gsrt_kind kind, const void *body)
{
    if (!is_sendable(kind, body))
        return GSRT_EINVAL;
    return gsrt_body_check(kind, body) == GSRT_OK ? GSRT_OK : GSRT_EINVAL;
}

gsrt_status gsrt__enqueue(gsrt_node *node, gsrt_actor *to, const gsrt__post *post, uint32_t flags)
{
    const gsrt_kind_info *info = gsrt_kind_describe((uint64_t)post->kind);
    size_t bytes = info->is_flat ? info->body_bytes : gsrt_body_flat_bytes(post->kind, post->body);
    gsrt__record *record = gsrt__queue_append(&node->queue, bytes, post->payload);
    if (record == NULL)
        return GSRT_ENOMEM;
    record->kind = (uint16_t)post->kind;
    record->flags = (uint16_t)flags;
    record->slot = to->slot;
    record->epoch = node->epoch;
    record->from = post->from;
    record->to = to->address;
    record->as = post->to;
    record->call = post->call;
    record->cause = node->cause;
    if (info->is_flat)
        memcpy(record->body, post->body, bytes);
    else if (gsrt_body_copy(post->kind, post->body, record->body, bytes) != GSRT_OK) {
        gsrt__queue_retract(&node->queue, record);
        return GSRT_EINVAL;
    }
    if (flags & GSRT__RECORD_IS_COUNTED)
        to->waiting_count++;
    return GSRT_OK;
}

/* ---- back pressure ---- */

void gsrt__refused_add(gsrt_actor *self, gsrt__list *place, uint32_t rank)
{
    if (self == NULL)
        return;
    for (gsrt__list *i = self->refusals.next; i != &self->refusals; i = i->next)
        if (GSRT__ITEM_OF(i, gsrt__refusal, by_actor)->place == place)
            return;
    gsrt__refusal *refusal = gsrt__slab_take(&self->node->refusals);
    if (refusal == NULL)
        return; /* as many wait as may: the sender's own timer has to try again */
    refusal->actor = self;
    refusal->place = place;
    refusal->rank = rank;
    gsrt__list_append(&self->refusals, &refusal->by_actor);
    gsrt__list_append(place, &refusal->by_place);
}

static void refusal_drop(gsrt_node *node, gsrt__refusal *refusal)
{
    gsrt__list_remove(&refusal->by_actor);
    gsrt__list_remove(&refusal->by_place);
    gsrt__slab_give(&node->refusals, refusal);
}

void gsrt__refused_wake(gsrt_node *node, gsrt__list *place)
{
    while (!gsrt__list_is_empty(place)) {
        gsrt__refusal *refusal = GSRT__ITEM_OF(place->next, gsrt__refusal, by_place);
        gsrt_actor *actor = refusal->actor;
        gsrt_msg_writable body = {.rank = refusal->rank};
        refusal_drop(node, refusal);
        gsrt__post post = {.kind = GSRT_KIND_WRITABLE, .from = actor->address, .to = actor->address, .body = &body};
        if (gsrt__enqueue(node, actor, &post, 0) != GSRT_OK)
            node->facts.messages_dropped++;
    }
}

void gsrt__refusals_drop(gsrt_actor *actor)
{
    while (!gsrt__list_is_empty(&actor->refusals))
        refusal_drop(actor->node, GSRT__ITEM_OF(actor->refusals.next, gsrt__refusal, by_actor));
}

gsrt_status gsrt__send_here(gsrt_actor *self, gsrt_node *node, gsrt_actor *to, const gsrt__post *post)
{
    gsrt__list *place = NULL;
    if (to->waiting_count >= GSRT_INBOX_MESSAGES_MAX)
        place = &to->refused;
    else if (node->queue.bytes >= GSRT_INBOX_BYTES_MAX)
        place = &node->refused;
    if (place != NULL) {
        gsrt__refused_add(self, place, node->options.rank);
        return GSRT_EFULL;
    }
    gsrt_status status = gsrt__enqueue(node, to, post, GSRT__RECORD_IS_COUNTED);
    if (status == GSRT_OK)
        node->facts.messages_local++;
    return status;
}

gsrt_status gsrt__send_to_rank(gsrt_actor *self, gsrt_node *node, uint32_t rank, const gsrt__post *post)
{
    if (gsrt_kind_is_local_only(post->kind))
        return GSRT_EINVAL;
    gsrt_status status = gsrt__wire_post(node, rank, post);
    if (status == GSRT_EFULL)
        gsrt__refused_add(self, &node->peers[rank].refused, rank);
    return status == GSRT_ELIMIT ? GSRT_EINVAL : status;
}

/* ---- sending ---- */

/* What stays here is checked here, what leaves by its encoder. */
gsrt_status gsrt__send_anywhere(gsrt_actor *self, gsrt_node *node, const gsrt__post *given)
{
    if (!is_sendable(given->kind, given->body))
        return GSRT_EINVAL;
    gsrt_actor *actor = gsrt__actor_find(node, given->to); /* the way of most messages: no copy, no route */
    if (actor != NULL)
        return gsrt_body_check(given->kind, given->body) == GSRT_OK ? gsrt__send_here(self, node, actor, given)
                                                                    : GSRT_EINVAL;
    gsrt__route route = gsrt__route_of(node, given->to);
    gsrt__post post = *given;
    post.to = route.to;
    gsrt_status status = GSRT_ELINK;
    if (route.kind == GSRT__ROUTE_RANK)
        status = gsrt__send_to_rank(self, node, route.rank, &post);
    else if (gsrt_body_check(post.kind, post.body) != GSRT_OK)
        return GSRT_EINVAL;
    else if (route.kind == GSRT__ROUTE_HERE)
        status = gsrt__send_here(self, node, route.actor, &post);
    if (status != GSRT_ELINK)
        return status;
    node->facts.messages_dropped++;
    return GSRT_OK;
}

gsrt_status gsrt_send(gsrt_actor *self, gsrt_address to, gsrt_kind kind, const void *body, gsrt_payload *payload)
{
    return gsrt__send_anywhere(
        self, self->node,
        &(gsrt__post){.kind = kind, .from = self->address, .to = to, .body = body, .payload = payload});
}

gsrt_status gsrt_node_post(gsrt_node *node, gsrt_address to, gsrt_kind kind, const void *body, gsrt_payload *payload)
{
    uint64_t cause = node->cause;
    node->cause = 0;
    gsrt_status status =
        gsrt__send_anywhere(NULL, node, &(gsrt__post){.kind = kind, .to = to, .body = body, .payload = payload});
    node->cause = cause;
    return status;
}

gsrt_status gsrt__signal(gsrt_node *node, const gsrt__post *given, uint32_t flags)
{
    gsrt__route route = gsrt__route_of(node, given->to);
    gsrt__post post = *given;
    post.to = route.to;
    if (route.kind == GSRT__ROUTE_NOWHERE)
        return GSRT_ENOACTOR;
    if (route.kind == GSRT__ROUTE_RANK)
        return gsrt__wire_post_signal(node, route.rank, &post);
    if (gsrt__enqueue(node, route.actor, &post, flags | GSRT__RECORD_IS_SIGNAL) != GSRT_OK)
        node->facts.messages_dropped++;
    return GSRT_OK;
}

void gsrt__signal_down(gsrt_node *node, gsrt_address to, gsrt_address subject, uint64_t call, uint32_t reason)
{
    gsrt_msg_down body = {.subject = subject, .call = call, .reason = reason};
    /* From whom: its last word, in order after all others; roles send nothing. */
    gsrt_address from = gsrt_address_is_role(subject) ? GSRT_NOBODY : subject;
    gsrt__post post = {.kind = GSRT_KIND_DOWN, .from = from, .to = to, .body = &body};
    if (gsrt__signal(node, &post, call != 0 ? GSRT__RECORD_IS_SURE : 0) != GSRT_OK)
        node->facts.messages_dropped++;
}
