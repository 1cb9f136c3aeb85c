/* The replica's actor: the door of a rank's replica (ckpt/replica.h) for other ranks. It lives as long as its process,
 * through all views.
 *
 *   CELLS   from a region or another replica: taken; answered by KEPT where that is wanted
 *   FORGET  from the gateway: these requests are over
 *   GATHER  from this rank's root, when a view begins: give the others the cells that they lack, and answer with
 * GATHERED once all that this rank was to be given has come. A view change ends it.
 */
#ifndef GSRT_CKPT_REPLICA_ACTOR_H
#define GSRT_CKPT_REPLICA_ACTOR_H

#include "actors/node.h"
#include "ckpt/replica.h"

typedef struct gsrt_replica_actor_options {
    gsrt_replica *replica; /* borrowed for the actor's life, like all here */
    const gsrt_snapshot_shape *shape;
    uint64_t *gathered_bytes; /* of parts that came because this rank was to be given them; added to */
} gsrt_replica_actor_options;

/* Start it on `node`; *out its address. In each view GSRT_ROLE_REPLICA of this rank is to be bound to it. */
GSRT_MUST_CHECK gsrt_status gsrt_replica_actor_start(gsrt_node *node, const gsrt_replica_actor_options *options,
                                                     gsrt_address *out);

#endif
