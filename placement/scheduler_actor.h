/* The scheduler's actor: feeds SUBMIT and TOKENS, MOVE, COPIED and RESUME to the machine (placement/scheduler.h), sends
 * each STEP, RESTORE and SNAPSHOT to every region, COPY to the one that moves, TOKEN, FINISHED, SNAPSHOT and HANDOVER
 * to the gateway. Every event and action is recorded before it is carried out. */
#ifndef GSRT_PLACEMENT_SCHEDULER_ACTOR_H
#define GSRT_PLACEMENT_SCHEDULER_ACTOR_H

#include "actors/node.h"
#include "placement/plan.h"
#include "placement/scheduler.h"

typedef struct gsrt_scheduler_facts {
    uint64_t steps, rows, prefix_tokens;
    uint32_t rows_max, sequences_max; /* of one step */
    uint64_t held_ns;                 /* when a move last began to hold the steps; 0: never */
    uint64_t rows_in_flight;          /* of steps that have not come back: what is lost when the view changes now */
} gsrt_scheduler_facts;

typedef struct gsrt_scheduler_actor_options {
    gsrt_scheduler_options machine;
    const gsrt_plan *plan;       /* borrowed for the actor's life */
    gsrt_scheduler_facts *facts; /* written as it runs; borrowed */
} gsrt_scheduler_actor_options;

/* Start it on `node` and bind GSRT_ROLE_SCHEDULER there (other nodes bind it to the same address). */
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_actor_start(gsrt_node *node, const gsrt_scheduler_actor_options *options,
                                                       gsrt_address *out);

#endif
