/* The gateway: on rank 0, where requests enter and tokens leave. It is that rank's root too: it says START, waits for
 * every rank's READY, tells all who plays which role, starts the scheduler, submits the requests, asks every rank for
 * its account when the last answer has ended, and then finishes every node. A rank or an actor that is lost ends the
 * run with 5. */
#ifndef GSRT_LAUNCH_GATEWAY_H
#define GSRT_LAUNCH_GATEWAY_H

#include "launch/answers.h"
#include "launch/rank.h"
#include "placement/scheduler_actor.h"

/* What a rank said of itself, kept: its texts are copied. */
typedef struct gsrt_account {
    gsrt_msg_facts facts;
    char isa[33], kind[33], name[257];
    bool is_known;
} gsrt_account;
void gsrt_account_keep(gsrt_account *account, const gsrt_msg_facts *facts);

typedef struct gsrt_gateway_options {
    gsrt_rank *rank;       /* of rank 0, started; borrowed, like all here */
    gsrt_answers *answers; /* initialised */
    const char *directory; /* of the run; every rank is told */
    gsrt_diag *diag;       /* why a rank could not start */
    gsrt_scheduler_facts *scheduler_facts;
    struct gsrt_account *accounts; /* [rank_count]: written as they come */
    uint64_t *done_ns;             /* when the last answer ended */
} gsrt_gateway_options;

GSRT_MUST_CHECK gsrt_status gsrt_gateway_start(gsrt_node *node, const gsrt_gateway_options *options);
/* Tell every rank to end with exit_code. For node 0, outside any actor. */
void gsrt_gateway_stop_all(gsrt_node *node, uint32_t exit_code);

#endif
