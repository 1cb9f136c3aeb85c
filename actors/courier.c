#include "actors/courier.h"

#include "actors/node.h"
#include "mailbox/body.h"

#include <stdlib.h>

gsrt_letter *gsrt_letter_create(gsrt_address to, gsrt_kind kind, const void *body)
{
    if (gsrt_body_check(kind, body) != GSRT_OK)
        return NULL;
    size_t bytes = gsrt_body_flat_bytes(kind, body);
    gsrt_letter *letter = malloc(sizeof *letter + bytes);
    if (letter == NULL)
        return NULL;
    letter->to = to;
    letter->kind = kind;
    letter->body_bytes = bytes;
    if (gsrt_body_copy(kind, body, letter->body, bytes) != GSRT_OK)
        return gsrt_letter_free(letter);
    return letter;
}

gsrt_letter *gsrt_letter_free(gsrt_letter *letter)
{
    free(letter);
    return NULL;
}

gsrt_status gsrt_courier_send(gsrt_actor *self, gsrt_address to, gsrt_kind kind, const void *body,
                              gsrt_payload *payload)
{
    const gsrt_node *node = gsrt_node_of(self);
    gsrt_address actor = gsrt_address_is_role(to) ? gsrt_role_resolve(node, to) : to;
    if (actor == GSRT_NOBODY)
        return GSRT_ENOACTOR;
    uint32_t rank = gsrt_address_rank(actor);
    gsrt_address link = gsrt_role_resolve(node, gsrt_address_of_role(GSRT_ROLE_LINK, 0, rank));
    if (rank == gsrt_node_rank(node) || link == GSRT_NOBODY)
        return gsrt_send(self, to, kind, body, payload);
    gsrt_letter *letter = gsrt_letter_create(to, kind, body);
    if (letter == NULL)
        return GSRT_ENOMEM;
    gsrt_status status =
        gsrt_send(self, link, GSRT_KIND_CARRY, &(gsrt_msg_carry){.letter = (uint64_t)(uintptr_t)letter}, payload);
    if (status != GSRT_OK)
        gsrt_letter_free(letter);
    return status;
}
