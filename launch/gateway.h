/* The gateway: on the leader of a view, where requests enter and tokens leave. It says START with the plan of the view,
 * waits for every member's READY, tells all who plays which role, starts the scheduler, and submits the requests that
 * have not ended, each with what is known of its answer. When the last answer has ended, it asks every member for its
 * account and has the report made. Meanwhile it moves regions from rank to rank (launch/moves.h). A view change ends
 * it; the next view's leader starts another, which goes on from what was emitted. */
#ifndef GSRT_LAUNCH_GATEWAY_H
#define GSRT_LAUNCH_GATEWAY_H

#include "health/membership.h"
#include "launch/answers.h"
#include "launch/rank.h"
#include "launch/watch.h"
#include "placement/fallback.h"
#include "placement/scheduler_actor.h"

/* What a rank said of itself, kept: its texts are copied. */
typedef struct gsrt_account {
    gsrt_msg_facts facts;
    char isa[33], kind[33], name[257];
    bool is_known;
} gsrt_account;
void gsrt_account_keep(gsrt_account *account, const gsrt_msg_facts *facts);

typedef struct gsrt_gateway_options {
    const gsrt_rank *rank; /* of the leader; borrowed, like all here */
    gsrt_answers *answers; /* open: what was seen of what was emitted before is in them */
    const char *directory; /* of the run; every rank is told */
    gsrt_diag *diag;       /* why the run ended */
    gsrt_scheduler_facts *scheduler_facts;
    gsrt_account *accounts;       /* [rank_count]: written as they come */
    uint64_t *ready_ns, *done_ns; /* when the first plan was ready, and when the last answer had ended; 0: not yet */
    gsrt_membership_fence (*fenced)(void *arg, uint64_t now_ns); /* whether something may be emitted now */
    /* Before the first token of this view is emitted: take up what another one has emitted until now (*diag). */
    gsrt_status (*begin_emitting)(void *arg, gsrt_diag *diag);
    /* A budget is exceeded in this view: have the next one's plan narrow less (*diag). */
    gsrt_status (*on_violation)(void *arg, const gsrt_violation_seen *seen, gsrt_diag *diag);
    void (*on_done)(void *arg);       /* all is known: make the report, and say VERDICT to the root */
    struct gsrt_snapshots *snapshots; /* found, and made */
    struct gsrt_replicas *replicas;   /* where they are, and what is restored from them */
    struct gsrt_moves *moves;         /* which are due; told what became of them */
    struct gsrt_healing *healing;     /* told what happens; does what faults are due */
    gsrt_watch *const *watch;         /* over what is narrowed; *watch NULL: nobody */
    void *arg;                        /* of the four functions */
} gsrt_gateway_options;

/* Start it on the leader's node; *out its address. As gsrt_node_spawn. */
GSRT_MUST_CHECK gsrt_status gsrt_gateway_start(const gsrt_gateway_options *options, gsrt_address *out);

#endif
