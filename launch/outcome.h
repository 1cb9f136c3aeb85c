/* Where a run's results go, and its end: the run directory and its files, the terminal, the reference pass, the report
 * and the verdict. The same in both worlds; prepared by every rank, opened by those that come to lead.
 * Legal order: prepare; in every view that this rank leads open, and begin_emitting before the first token; conclude,
 * fini. Node's thread; conclude on any thread, while nothing else touches it.
 */
#ifndef GSRT_LAUNCH_OUTCOME_H
#define GSRT_LAUNCH_OUTCOME_H

#include "ckpt/recorder.h"
#include "health/incidents.h"
#include "launch/answers.h"
#include "launch/gateway.h"
#include "launch/moves.h"
#include "launch/options.h"
#include "launch/replicas.h"
#include "launch/run_directory.h"
#include "launch/snapshots.h"
#include "launch/watch.h"

typedef struct gsrt_outcome {
    const gsrt_options *options; /* borrowed, like the two below */
    const gsrt_scenario *scenario;
    const gsrt_loaded *loaded;
    bool is_twin;
    uint32_t process;                              /* rank and incarnation, as one number */
    const gsrt_terminal_options *terminal_options; /* NULL: what this process has */
    gsrt_answers answers;
    gsrt_terminal terminal;
    gsrt_run_directory *directory;
    gsrt_account *accounts; /* [rank_count] */
    uint32_t rank_count;
    gsrt_scheduler_facts scheduler_facts;
    gsrt_snapshots snapshots;
    gsrt_replicas replicas;
    gsrt_moves moves;
    gsrt_watch *watch;                    /* over what is narrowed; NULL: nothing is, or nobody watches; owned */
    gsrt_watch_facts watched;             /* by watches that are over */
    char evidence[GSRT_PATH_BYTES_MAX];   /* path of the run's own, for the watch */
    const char *const *hosts;             /* [rank_count]; borrowed; NULL: unknown */
    uint64_t start_ns, ready_ns, done_ns; /* of the world's clock */
    const char *ucx;                      /* lane in use, for the report; NULL: none */
    gsrt_report_failure *failures;        /* [failure_count]; owned */
    uint32_t *failure_ranks;              /* of all failures, one after the other; owned */
    uint32_t failure_count;
    bool has_terminal;
    bool is_beginner;        /* this rank has begun the run: it knows when requests came */
    bool is_resumed;         /* this rank has taken up a run whose processes had all died */
    uint32_t led_epoch;      /* the last view that this rank opened it for; 0: none */
    uint32_t emitting_epoch; /* the last view in which it began to emit; 0: none */
} gsrt_outcome;

/* Tokenise and check the requests. GSRT_OK | GSRT_EINPUT (*diag) | GSRT_ENOMEM. Call fini in any case. */
GSRT_MUST_CHECK gsrt_status gsrt_outcome_prepare(gsrt_outcome *outcome, gsrt_diag *diag);
/* For the view `epoch`, which this rank leads. path NULL: it is the run's first leader: show the plan, create the run
 * directory (or take up the one that is to be resumed) and everything that is written while running. Else another has:
 * open them where they are, and look at what was emitted. Nothing to do where this rank emitted in the view before.
 * Errors as above, and as gsrt_answers_restore. */
GSRT_MUST_CHECK gsrt_status gsrt_outcome_open(gsrt_outcome *outcome, uint32_t epoch, const char *path, gsrt_diag *diag);
/* Nothing is in the way of emitting in the view that it was opened for: whoever led before has stopped. Take up what
 * he has emitted since then; the sink is this rank's from here on. GSRT_ESTALE: he has seen a budget exceeded since
 * then, so that what this view computes is not to be emitted; the next one's plan narrows what is left. Errors as
 * gsrt_answers_restore. */
GSRT_MUST_CHECK gsrt_status gsrt_outcome_begin_emitting(gsrt_outcome *outcome, gsrt_diag *diag);
/* The watch has seen a budget exceeded in view `epoch`: the evidence says so from now on (evidence.json of the run),
 * and another era is due with what is left (narrowed.json); the next view's plan narrows that. Nothing is watched any
 * more in this view. GSRT_OK | GSRT_ECONTRACT: there is no plan left that is kept (*diag) | GSRT_EIO | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_outcome_violated(gsrt_outcome *outcome, const gsrt_violation_seen *seen,
                                                  uint32_t epoch, gsrt_diag *diag);
/* Keep what the report says of these incidents; once, before conclude. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_outcome_note_failures(gsrt_outcome *outcome, const gsrt_incidents *incidents);
/* After the loop ended with `exit_code`: compare with the reference where the scenario asks for it, write report.json,
 * say the verdict. Returns the exit code of the run. May block for as long as the reference pass takes. */
int gsrt_outcome_conclude(gsrt_outcome *outcome, int exit_code, const char *error);
void gsrt_outcome_fini(gsrt_outcome *outcome);

/* Real time, monotonic, in ns. */
uint64_t gsrt_outcome_clock_ns(void);

#endif
