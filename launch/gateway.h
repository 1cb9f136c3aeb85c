/* The gateway: on rank 0, where requests enter and tokens leave. It is that rank's root too: it waits for every rank's
 * READY, tells all who plays which role, starts the scheduler, submits the requests, and finishes node 0 with the run's
 * exit code when every answer has ended. */
#ifndef GSRT_LAUNCH_GATEWAY_H
#define GSRT_LAUNCH_GATEWAY_H

#include "launch/answers.h"
#include "launch/rank.h"
#include "placement/scheduler_actor.h"

typedef struct gsrt_gateway_options {
    gsrt_rank *rank;       /* of rank 0, started; borrowed, like all here */
    gsrt_answers *answers; /* initialised */
    gsrt_scheduler_facts *scheduler_facts;
} gsrt_gateway_options;

GSRT_MUST_CHECK gsrt_status gsrt_gateway_start(gsrt_node *node, const gsrt_gateway_options *options);
/* Tell every rank to end with exit_code. For node 0, outside any actor. */
void gsrt_gateway_stop_all(gsrt_node *node, uint32_t exit_code);

#endif
