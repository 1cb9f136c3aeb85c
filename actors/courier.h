/* Sending without minding back pressure: what cannot go out at once waits in the link actor of the peer.
 *
 * An actor that sends to another rank through the courier needs no queue of its own: the letter is copied and handed to
 * the link actor (role GSRT_ROLE_LINK of the peer), which keeps order and sends when there is room. Memory is bounded
 * by the protocol above: a step's messages, times the steps in flight. Thread: the node's.
 */
#ifndef GSRT_ACTORS_COURIER_H
#define GSRT_ACTORS_COURIER_H

#include "actors/actor.h"

/* A message on its way: owned by whoever holds it. */
typedef struct gsrt_letter {
    gsrt_address to;
    gsrt_kind kind;
    size_t body_bytes;
    _Alignas(8) uint8_t body[]; /* flat copy (mailbox/body.h) */
} gsrt_letter;

/* Copy of a checked body. NULL: no memory, or a field past its limit. */
gsrt_letter *gsrt_letter_create(gsrt_address to, gsrt_kind kind, const void *body);
gsrt_letter *gsrt_letter_free(gsrt_letter *letter);

/* Send to an actor or role anywhere; payload (may be NULL) is ref'ed. On this rank: at once. On another: through its
 * link actor where one is bound, else directly.
 * GSRT_OK | GSRT_ENOMEM | GSRT_EINVAL | GSRT_ENOACTOR: an unbound role | GSRT_EFULL: this rank's own inbox. */
GSRT_MUST_CHECK gsrt_status gsrt_courier_send(gsrt_actor *self, gsrt_address to, gsrt_kind kind, const void *body,
                                              gsrt_payload *payload);

#endif
