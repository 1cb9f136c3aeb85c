#include "actors/courier.h"

#include "actors/node_impl.h"
#include "mailbox/body.h"

#include <stdlib.h>

static void count_sent(gsrt_link_facts *facts, gsrt_kind kind, const gsrt_payload *payload)
{
    size_t bytes = payload == NULL ? 0 : payload->len;
    facts->letters += 1;
    facts->payload_bytes += bytes;
    if (kind == GSRT_KIND_PIECE)
        facts->gathered_bytes += bytes;
}

/* ---- letters that wait ---- */

/* A copy of the message. GSRT_OK | GSRT_ENOMEM. The body has been checked. */
static gsrt_status keep(gsrt_node *node, gsrt__way *way, gsrt_address from, gsrt_address to, gsrt_kind kind,
                        const void *body, gsrt_payload *payload)
{
    size_t bytes = gsrt_body_flat_bytes(kind, body);
    gsrt__letter *letter = malloc(sizeof *letter + bytes);
    if (letter == NULL)
        return GSRT_ENOMEM;
    *letter = (gsrt__letter){.kind = kind, .from = from, .to = to, .cause = node->cause, .epoch = node->epoch};
    if (gsrt_body_copy(kind, body, letter->body, bytes) != GSRT_OK) {
        free(letter);
        return GSRT_EINVAL;
    }
    letter->payload = gsrt_payload_ref(payload);
    if (way->last != NULL)
        way->last->next = letter;
    else
        way->first = letter;
    way->last = letter;
    way->waiting_count += 1;
    if (way->waiting_count > way->facts->waiting_max)
        way->facts->waiting_max = way->waiting_count;
    return GSRT_OK;
}

static void drop_first(gsrt__way *way)
{
    gsrt__letter *letter = way->first;
    way->first = letter->next;
    if (way->first == NULL)
        way->last = NULL;
    way->waiting_count -= 1;
    gsrt_payload_unref(letter->payload);
    free(letter);
}

/* A view may name a process before the transport has connected with it, or knows that the one before is gone. It will,
 * or another view comes. */
static bool is_connected(const gsrt_node *node, uint32_t rank)
{
    return node->peers[rank].is_lost || node->peers[rank].joined == node->peers[rank].incarnation;
}

/* ---- for everyone ---- */

gsrt_status gsrt_courier_send(gsrt_actor *self, gsrt_address to, gsrt_kind kind, const void *body,
                              gsrt_payload *payload)
{
    gsrt_node *node = self->node;
    gsrt__route route = gsrt__route_of(node, to);
    gsrt__way *way = route.kind == GSRT__ROUTE_RANK ? &node->peers[route.rank].way : NULL;
    if (way == NULL || way->link == NULL)
        return gsrt_send(self, to, kind, body, payload);
    if (gsrt_kind_is_local_only(kind))
        return GSRT_EINVAL;
    gsrt_status status = gsrt__send_check(kind, body);
    if (status != GSRT_OK)
        return status;
    status = GSRT_EFULL;
    if (!is_connected(node, route.rank)) {
        gsrt__refused_add(way->link, &node->peers[route.rank].refused, route.rank);
    } else if (way->first == NULL) { /* else it would overtake those that wait */
        const gsrt__post post = {.kind = kind, .from = self->address, .to = route.to, .body = body, .payload = payload};
        status = gsrt__send_to_rank(way->link, node, route.rank, &post);
        way->facts->stalls += status == GSRT_EFULL;
    }
    if (status == GSRT_EFULL)
        return keep(node, way, self->address, to, kind, body, payload);
    if (status == GSRT_OK)
        count_sent(way->facts, kind, payload);
    if (status != GSRT_ELINK)
        return status;
    node->facts.messages_dropped++;
    return GSRT_OK;
}

/* ---- for the link actor ---- */

void gsrt__courier_drop(gsrt_node *node, uint32_t rank)
{
    gsrt__way *way = &node->peers[rank].way;
    while (way->first != NULL) {
        node->facts.messages_dropped++;
        drop_first(way);
    }
}

gsrt_status gsrt_courier_open(gsrt_actor *link, uint32_t peer, gsrt_link_facts *facts)
{
    gsrt_node *node = link->node;
    if (peer >= node->options.rank_count || peer == node->options.rank)
        return GSRT_EINVAL;
    gsrt__way *way = &node->peers[peer].way;
    gsrt__courier_drop(node, peer);
    *way = (gsrt__way){.link = link, .facts = facts};
    return GSRT_OK;
}

/* Roles are resolved again: who plays one may have changed meanwhile. */
void gsrt_courier_flush(gsrt_actor *link, uint32_t peer)
{
    gsrt_node *node = link->node;
    gsrt__way *way = &node->peers[peer].way;
    if (way->link != link || !is_connected(node, peer))
        return; /* another has taken over; or it is told again */
    uint64_t cause = node->cause;
    while (way->first != NULL) {
        const gsrt__letter *letter = way->first;
        if (letter->epoch != node->epoch && letter->kind >= (gsrt_kind)GSRT__DATA_KIND_FIRST) {
            node->facts.messages_refused++;
            drop_first(way);
            continue;
        }
        node->cause = letter->cause;
        gsrt_status status = gsrt__send_anywhere(link, node,
                                                 &(gsrt__post){.kind = letter->kind,
                                                               .from = letter->from,
                                                               .to = letter->to,
                                                               .body = letter->body,
                                                               .payload = letter->payload});
        if (status == GSRT_EFULL) {
            way->facts->stalls += 1;
            break;
        }
        if (status == GSRT_OK)
            count_sent(way->facts, letter->kind, letter->payload);
        else
            node->facts.messages_dropped++;
        drop_first(way);
    }
    node->cause = cause;
}

void gsrt_courier_close(gsrt_actor *link, uint32_t peer)
{
    gsrt__way *way = &link->node->peers[peer].way;
    if (way->link != link)
        return;
    gsrt__courier_drop(link->node, peer);
    *way = (gsrt__way){0};
}
