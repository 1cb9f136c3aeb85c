/* The region actor: executes one member's part of the workload, step by step.
 *
 *   STEP from the scheduler: queued, in order
 *   ACTIVATION from the stage before: kept until its step's turn
 *     -> segment -> JOB to the device -> JOB_DONE -> exchange (PIECE to and from the group) -> next segment ...
 *     -> ACTIVATION to the next stage, or TOKENS to the scheduler (and LOGITS to the gateway)
 *
 * State of the step in hand:  IDLE -> COMPUTING -> (EXCHANGING -> COMPUTING)* -> IDLE
 *   IDLE        no job is out; the next step waits for its STEP or its activation
 *   COMPUTING   exactly one job is out
 *   EXCHANGING  no job is out; pieces are missing
 * Between steps:
 *   SNAPSHOT from the scheduler -> its cells are copied, and written beside (ckpt/snapshot.h) -> SNAPSHOT_PART to the
 *            gateway; one at a time: a second one meanwhile is declined
 *   RESTORE  cells of a request that goes on, from the replica or the snapshot into blocks that no step uses yet
 *   blocks that the step completed -> the own replica, and from there CELLS to the second place (ckpt/replica.h)
 *   KEPT     the second place has room for the next
 *   COPY     it moves: its pages go to the region that follows it (model/region_move.h)
 * One step at a time; the device is the bottleneck, and order makes the KV cache right. Early pieces wait in an
 * exchange store. Thread: the node's; the matrices are computed on the device's threads.
 */
#ifndef GSRT_MODEL_REGION_ACTOR_H
#define GSRT_MODEL_REGION_ACTOR_H

#include "actors/node.h"
#include "backends/device.h"
#include "ckpt/replica.h"
#include "model/lower.h"
#include "placement/second_place.h"

typedef struct gsrt_region_facts {
    uint64_t steps, rows, wanted_rows;
    uint32_t rows_max;                      /* of one step */
    uint64_t gathered_bytes, reduced_bytes; /* received from other members */
    uint64_t activation_bytes;              /* received from the stage before */
    uint64_t exchanges;
    uint64_t streamed_bytes; /* to its second place */
    uint64_t busy_ns;        /* of the device, for this region */
} gsrt_region_facts;

typedef struct gsrt_region_options {
    gsrt_lowered *lowered; /* borrowed for the actor's life, like all pointers here */
    const gsrt_plan *plan;
    uint32_t stage, member;
    gsrt_weights *weights; /* embedding rows are declared as touched here */
    gsrt_kv *kv;           /* NULL: nothing is computed (twin with numerics off) */
    gsrt_workspace *workspace;
    uint32_t rows_max, vocab_count;
    gsrt_region_facts *facts;      /* written as it runs */
    const char *directory;         /* the run's, for snapshots; NULL: none are kept */
    const gsrt_snapshot *snapshot; /* what a RESTORE takes from; NULL: there is none */
    gsrt_replica *replica;         /* of this rank: likewise, and where blocks are kept; NULL: there is none */
    uint32_t second_place;         /* the rank that keeps them too; GSRT_NO_PLACE: they are kept nowhere */
} gsrt_region_options;

/* Start it on `node`; *out its address. Whoever says who plays which role binds GSRT_ROLE_REGION(stage, member) to it,
 * on this node too: until then another region may still play it. */
GSRT_MUST_CHECK gsrt_status gsrt_region_actor_start(gsrt_node *node, const gsrt_region_options *options,
                                                    gsrt_address *out);

#endif
