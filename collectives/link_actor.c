#include "collectives/link_actor.h"

#include "actors/courier.h"

#include <stdlib.h>

typedef struct waiting {
    struct waiting *next;
    gsrt_letter *letter;   /* owned */
    gsrt_payload *payload; /* a reference, or NULL */
} waiting;

typedef struct link {
    gsrt_link_facts *facts;
    waiting *first, *last;
    uint32_t waiting_count;
} link;

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    (void)self;
    ((link *)state)->facts = *(gsrt_link_facts *const *)arg;
    return GSRT_OK;
}

/* GSRT_EFULL: keep it; anything else: it is gone, sent or dropped by the node's own rules. */
static gsrt_status pass_on(gsrt_actor *self, link *l, gsrt_letter *letter, gsrt_payload *payload)
{
    gsrt_status status = gsrt_send(self, letter->to, letter->kind, letter->body, payload);
    if (status == GSRT_EFULL) {
        l->facts->stalls += 1;
        return status;
    }
    size_t bytes = payload == NULL ? 0 : payload->len;
    l->facts->letters += 1;
    l->facts->payload_bytes += bytes;
    if (letter->kind == GSRT_KIND_PIECE)
        l->facts->gathered_bytes += bytes;
    gsrt_letter_free(letter);
    return GSRT_OK;
}

static void keep(gsrt_actor *self, link *l, gsrt_letter *letter, gsrt_payload *payload)
{
    waiting *w = malloc(sizeof *w);
    if (w == NULL) {
        gsrt_letter_free(letter);
        gsrt_exit(self, GSRT_EXIT_CRASH);
        return;
    }
    *w = (waiting){.letter = letter, .payload = gsrt_payload_ref(payload)};
    if (l->last != NULL)
        l->last->next = w;
    else
        l->first = w;
    l->last = w;
    l->waiting_count += 1;
    if (l->waiting_count > l->facts->waiting_max)
        l->facts->waiting_max = l->waiting_count;
}

static void drop_first(link *l)
{
    waiting *w = l->first;
    l->first = w->next;
    if (l->first == NULL)
        l->last = NULL;
    l->waiting_count -= 1;
    gsrt_payload_unref(w->payload);
    free(w);
}

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    link *l = state;
    if (message->kind == GSRT_KIND_CARRY) {
        gsrt_letter *letter = (gsrt_letter *)(uintptr_t)((const gsrt_msg_carry *)message->body)->letter;
        if (l->first != NULL || pass_on(self, l, letter, message->payload) == GSRT_EFULL)
            keep(self, l, letter, message->payload);
    } else if (message->kind == GSRT_KIND_WRITABLE) {
        while (l->first != NULL && pass_on(self, l, l->first->letter, l->first->payload) != GSRT_EFULL)
            drop_first(l);
    }
}

static void stop(gsrt_actor *self, void *state, uint32_t reason)
{
    link *l = state;
    (void)self;
    (void)reason;
    while (l->first != NULL) {
        gsrt_letter_free(l->first->letter);
        drop_first(l);
    }
}

static const gsrt_behaviour link_behaviour = {
    .name = "link", .state_bytes = sizeof(link), .init = init, .receive = receive, .stop = stop};

gsrt_status gsrt_link_actor_start(gsrt_node *node, uint32_t peer, gsrt_link_facts *facts)
{
    gsrt_address address;
    gsrt_status status = gsrt_node_spawn(node, &link_behaviour, &facts, &address);
    if (status != GSRT_OK)
        return status;
    return gsrt_role_bind(node, gsrt_address_of_role(GSRT_ROLE_LINK, 0, peer), address);
}
