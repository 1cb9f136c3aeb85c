/* The link actor: this rank's way to one peer. While it lives, what the courier (actors/courier.h) could not send for
 * lack of room waits, and it is told when there is room again.
 */
#ifndef GSRT_COLLECTIVES_LINK_ACTOR_H
#define GSRT_COLLECTIVES_LINK_ACTOR_H

#include "actors/courier.h"
#include "actors/node.h"

/* Start this node's link to rank `peer` and bind its role; a link that there was has nothing to do any more, and what
 * waited there is dropped. `facts` is written as it runs; borrowed for its life.
 * GSRT_OK | GSRT_EINVAL: no other rank | as gsrt_node_spawn and gsrt_role_bind. */
GSRT_MUST_CHECK gsrt_status gsrt_link_actor_start(gsrt_node *node, uint32_t peer, gsrt_link_facts *facts);

#endif
