/* Where a run's results go, and its end: the run directory and its files, the terminal, the reference pass, the report
 * and the verdict. The same in both worlds; held by whoever has the gateway.
 * Legal order: prepare, open, (the run), conclude, fini. Node's thread.
 */
#ifndef GSRT_LAUNCH_OUTCOME_H
#define GSRT_LAUNCH_OUTCOME_H

#include "ckpt/recorder.h"
#include "launch/answers.h"
#include "launch/gateway.h"
#include "launch/options.h"
#include "launch/run_directory.h"

typedef struct gsrt_outcome {
    const gsrt_options *options; /* borrowed, like the two below */
    const gsrt_scenario *scenario;
    const gsrt_loaded *loaded;
    bool is_twin;
    gsrt_answers answers;
    gsrt_terminal terminal;
    gsrt_run_directory *directory;
    gsrt_account *accounts; /* [rank_count] */
    uint32_t rank_count;
    gsrt_scheduler_facts scheduler_facts;
    const char *const *hosts;             /* [rank_count]; borrowed; NULL: unknown */
    uint64_t start_ns, ready_ns, done_ns; /* of the world's clock */
    const char *ucx;                      /* lane in use, for the report; NULL: none */
    bool has_terminal;
} gsrt_outcome;

/* Tokenise and check the requests. GSRT_OK | GSRT_EINPUT (*diag) | GSRT_ENOMEM. Call fini in any case. */
GSRT_MUST_CHECK gsrt_status gsrt_outcome_prepare(gsrt_outcome *outcome, gsrt_diag *diag);
/* Show the plan, create the run directory and everything that is written while running. Errors as above. */
GSRT_MUST_CHECK gsrt_status gsrt_outcome_open(gsrt_outcome *outcome, gsrt_diag *diag);
/* After the loop ended with `exit_code`: compare with the reference where the scenario asks for it, write report.json,
 * say the verdict. Returns the exit code of the run. May block for as long as the reference pass takes. */
int gsrt_outcome_conclude(gsrt_outcome *outcome, int exit_code, const char *error);
void gsrt_outcome_fini(gsrt_outcome *outcome);

/* Real time, monotonic, in ns. */
uint64_t gsrt_outcome_clock_ns(void);

#endif
