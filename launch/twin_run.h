/* `gsrt twin`: the scenario's whole cluster in this process, in virtual time (actors/twin.h). The same actors as in the
 * real world; what it measures is modelled, and the report says so.
 *
 * Whoever wants to do more than let it run (launch/campaign_seed.c) takes the steps itself; legal order: the first
 * three fields of gsrt_twin_job, prepare, start, gsrt_twin_run on its twin, conclude, fini. Main thread.
 */
#ifndef GSRT_LAUNCH_TWIN_RUN_H
#define GSRT_LAUNCH_TWIN_RUN_H

#include "actors/twin.h"
#include "launch/options.h"
#include "launch/seat.h"

/* Run the scenario in the twin. Returns the exit code. */
int gsrt_twin_run_scenario(const gsrt_options *options);

/* ---- in steps ---- */

typedef struct gsrt_twin_job gsrt_twin_job;

/* What one rank of the twin holds; all but `run` and `loaded` belong to one incarnation. */
typedef struct gsrt_twin_rank {
    gsrt_twin_job *run;
    gsrt_loaded loaded;
    gsrt_seat seat;
    gsrt_recorder *recorder;
    bool is_started;
} gsrt_twin_rank;

/* Who looks on. */
typedef struct gsrt_twin_watch {
    void *arg;
    const gsrt_terminal_options *terminal; /* where the run is shown; NULL: what this process has */
    double jitter;                         /* as gsrt_twin_options.jitter */
    /* A token has come to the sink: it was taken (is_new), or compared with what it had. NULL: nobody is told. */
    void (*on_token)(void *arg, const gsrt_seat *seat, const gsrt_msg_token *token, bool is_new);
    /* The membership of a rank is about to do this. NULL: nobody is told. */
    void (*on_membership)(void *arg, const gsrt_seat *seat, const gsrt_membership_action *action);
    /* A message has come to an actor. NULL: nobody is told. */
    void (*on_message)(void *arg, const gsrt_seat *seat, const gsrt_envelope *envelope);
} gsrt_twin_watch;

struct gsrt_twin_job {
    const gsrt_options *options; /* borrowed; set before prepare, and so the next two */
    gsrt_twin_watch watch;
    gsrt_scenario *scenario; /* owned; NULL: it is read */
    gsrt_diag diag;
    uint32_t rank_count;
    gsrt_twin_rank *ranks; /* [rank_count] */
    gsrt_twin *twin;
    char *directory; /* of the run, once its first leader has created it; owned */
    int exit_code;   /* of the report */
    bool is_concluded;
    uint64_t end_ns; /* virtual time when the twin was freed */
};

/* Read and check everything. GSRT_OK | GSRT_EINPUT, GSRT_EINFEASIBLE (diag) | GSRT_ENOMEM. fini in any case. */
GSRT_MUST_CHECK gsrt_status gsrt_twin_job_prepare(gsrt_twin_job *run);
/* Create the twin and every rank. GSRT_OK | GSRT_EINPUT (diag) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_twin_job_start(gsrt_twin_job *run);
/* All of it, once prepared: start, run to the end or an interrupt, conclude. Returns the exit code. */
int gsrt_twin_job_serve(gsrt_twin_job *run);
/* The twin has come to its end with `status` (of gsrt_twin_run): the report, where it did not come to one by itself.
 * Returns the exit code. */
int gsrt_twin_job_conclude(gsrt_twin_job *run, gsrt_status status);
/* Whoever led last and lives; NULL: nobody. Borrowed until fini. */
gsrt_seat *gsrt_twin_job_leader(gsrt_twin_job *run);
void gsrt_twin_job_fini(gsrt_twin_job *run);

#endif
