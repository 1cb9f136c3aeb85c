/* One run of the twin whose end matters to the caller: where it is kept, how it ended, and its report. Apart from
 * launch/twin_run.h because those who plan know other parts and links than those who run.
 */
#ifndef GSRT_LAUNCH_TWIN_TRIAL_H
#define GSRT_LAUNCH_TWIN_TRIAL_H

#include "base/json.h"
#include "launch/options.h"

typedef struct gsrt_twin_trial {
    int exit_code;
    json_t *report; /* report.json; owned: json_decref; NULL: it did not come to one */
    char why[160];  /* exit_code is not 0 */
} gsrt_twin_trial;

/* Run `scenario` (taken over in any case) on rank_count ranks, into `directory`, which it creates; nothing is shown.
 * GSRT_OK, however it ended | GSRT_ECANCELED: interrupted | GSRT_EINPUT, GSRT_EIO (*diag: its report) | GSRT_ENOMEM.
 * Main thread. */
GSRT_MUST_CHECK gsrt_status gsrt_twin_try(const gsrt_options *options, gsrt_scenario *scenario, uint32_t rank_count,
                                          const char *directory, gsrt_twin_trial *out, gsrt_diag *diag);

#endif
