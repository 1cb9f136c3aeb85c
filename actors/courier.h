/* Sending without minding back pressure: what cannot go out at once waits for its peer.
 *
 * An actor that sends to another rank through the courier needs no queue of its own. While the peer has room a message
 * goes out at once, as by gsrt_send. When it has none, or is not connected yet, a copy (a letter) waits, and so does
 * everything after it, until the peer's link actor (collectives/link_actor.h) is told that there is room: order is
 * kept. Letters belong to the node, which frees each once, however its link ends. Memory is bounded by the protocol
 * above: a step's messages, times the steps in flight. Thread: the node's. Cost: that of gsrt_send; a malloc and a copy
 * for a letter.
 */
#ifndef GSRT_ACTORS_COURIER_H
#define GSRT_ACTORS_COURIER_H

#include "actors/actor.h"

/* What went to a peer through the courier. */
typedef struct gsrt_link_facts {
    uint64_t letters, payload_bytes; /* sent */
    uint64_t gathered_bytes;         /* of PIECE payloads */
    uint64_t stalls;                 /* times the peer said full */
    uint32_t waiting_max;            /* letters that waited at once */
} gsrt_link_facts;

/* Send to an actor or role anywhere; payload (may be NULL) is ref'ed. To a rank whose link is open: as above. Else, and
 * on this rank: as gsrt_send. An unbound role (its rank is lost) gets nothing, like all that is gone. GSRT_OK |
 * GSRT_ENOMEM | GSRT_EINVAL | GSRT_EFULL: this rank's own inbox, or no link. */
GSRT_MUST_CHECK gsrt_status gsrt_courier_send(gsrt_actor *self, gsrt_address to, gsrt_kind kind, const void *body,
                                              gsrt_payload *payload);

/* The link actor's side. From open to close, `link` gets the WRITABLE of `peer` when letters wait, and then flushes.
 * Whoever opens takes over from the one before: its letters are dropped and counted, and its flush and close do
 * nothing. facts    written as messages go; borrowed until close. returns  GSRT_OK | GSRT_EINVAL: no other rank. */
GSRT_MUST_CHECK gsrt_status gsrt_courier_open(gsrt_actor *link, uint32_t peer, gsrt_link_facts *facts);
/* Send what waits, in order, as far as there is room. Letters of an earlier epoch are refused and counted. */
void gsrt_courier_flush(gsrt_actor *link, uint32_t peer);
/* Letters that still wait are dropped and counted. From the link's stop. */
void gsrt_courier_close(gsrt_actor *link, uint32_t peer);

#endif
