/* Plans that are run before one of them is chosen, in the twin or by ranks of this machine (launch/trial.h): the plan
 * that the model predicts to be best, and its closest rivals; then the chosen one once more for each rank, which is
 * killed in the middle of the answer.
 *
 * What is observed decides between finalists, where the objective is observed (not money, power or memory): the twin
 * has the runtime's own scheduler, batches and messages, which the model has only in the mean; a machine is what it is.
 * A finalist that does not come to its end, or whose tokens differ from the reference, is out; one that misses a limit
 * of the objective stands behind those that keep it. Only plans of the job's ranks can be rehearsed; the scenario's
 * faults and moves are not.
 *
 * Each rehearsal is an ordinary run, kept in DIR/rehearsal/; in the twin, a function of the scenario and the number of
 * ranks. Main thread. Cost: a run each.
 */
#ifndef GSRT_LAUNCH_REHEARSAL_H
#define GSRT_LAUNCH_REHEARSAL_H

#include "launch/options.h"
#include "launch/plan_fallbacks.h"

enum { GSRT_REHEARSAL_NAME_BYTES = 48, GSRT_REHEARSAL_LIMIT_BYTES = 128 };

typedef struct gsrt_rehearsed {
    char run[GSRT_REHEARSAL_NAME_BYTES];     /* "rehearsal/finalist-1", within the directory of the plan */
    char *words;                             /* the plan; owned */
    int exit_code;                           /* of that run: 0, or it is out */
    bool is_verified;                        /* its tokens were compared with the reference's, and are these */
    gsrt_quantity predicted;                 /* the objective */
    double observed;                         /* the objective in its base unit; < 0: it is not observed */
    bool is_live;                            /* on this machine; else in the twin */
    bool misses_limit;                       /* of the objective, as it was seen */
    char missed[GSRT_REHEARSAL_LIMIT_BYTES]; /* the first: "tpot p50 24.1 us, and the limit is 20 us" */
    bool is_chosen;
} gsrt_rehearsed;

typedef struct gsrt_rehearsal {
    gsrt_rehearsed finalists[GSRT_REHEARSAL_FINALISTS_MAX]; /* the model's choice, then its rivals, the closest first */
    uint32_t finalist_count;
} gsrt_rehearsal;

/* Run the choice and up to count - 1 of its rivals; take the best as the choice (gsrt_planning_prefer).
 * options->directory: exists, holds nothing of a rehearsal. *out: fini in any case.
 * GSRT_OK | GSRT_EUNSUPPORTED: the plan is none of the job's ranks (*diag) | GSRT_EPEER, GSRT_ECONTRACT: no finalist
 * came through (*diag) | GSRT_EIO | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_rehearsal_run_finalists(gsrt_planning *planning, const gsrt_options *options,
                                                         uint32_t count, gsrt_rehearsal *out, gsrt_diag *diag);
/* Run the choice once for each rank that the fallbacks name, and have it killed for good in the middle of the first
 * answer. What does not come to its end with the same tokens is not protected, and the fallback says why.
 * GSRT_OK | GSRT_EIO | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_rehearsal_run_losses(const gsrt_planning *planning, const gsrt_options *options,
                                                      gsrt_plan_fallbacks *fallbacks, gsrt_diag *diag);
void gsrt_rehearsal_fini(gsrt_rehearsal *rehearsal);

#endif
