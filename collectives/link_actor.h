/* The link actor: this rank's way to one peer. It carries what the courier gives it (actors/courier.h), in order, waits
 * when the peer exerts back pressure, and counts what went over.
 * Rule: a letter is freed exactly once, here. Because the sender has forgotten it.
 */
#ifndef GSRT_COLLECTIVES_LINK_ACTOR_H
#define GSRT_COLLECTIVES_LINK_ACTOR_H

#include "actors/node.h"

typedef struct gsrt_link_facts {
    uint64_t letters, payload_bytes; /* sent */
    uint64_t gathered_bytes;         /* of PIECE payloads */
    uint64_t stalls;                 /* times the peer said full */
    uint32_t waiting_max;            /* letters that waited at once */
} gsrt_link_facts;

/* Start this node's link to rank `peer` and bind its role. `facts` is written as it runs; borrowed for its life. */
GSRT_MUST_CHECK gsrt_status gsrt_link_actor_start(gsrt_node *node, uint32_t peer, gsrt_link_facts *facts);

#endif
