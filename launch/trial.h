/* One run whose end matters to the caller: where it is kept, how it ended, and its report. In the twin, or by ranks of
 * this machine under mpirun. Apart from those who run because those who plan know other parts and links than they do.
 */
#ifndef GSRT_LAUNCH_TRIAL_H
#define GSRT_LAUNCH_TRIAL_H

#include "base/json.h"
#include "launch/options.h"

typedef struct gsrt_trial {
    int exit_code;
    json_t *report; /* report.json; owned: json_decref; NULL: it did not come to one */
    char why[160];  /* exit_code is not 0 */
} gsrt_trial;

/* Run `scenario` (taken over in any case) on rank_count ranks, into `directory`, which is created; nothing is shown.
 * GSRT_OK, however it ended | GSRT_ECANCELED: interrupted (*diag) | GSRT_EINPUT, GSRT_EIO: it could not begin, or its
 * report is none (*diag) | GSRT_ENOMEM. Main thread. */
typedef gsrt_status gsrt_try(const gsrt_options *options, gsrt_scenario *scenario, uint32_t rank_count,
                             const char *directory, gsrt_trial *out, gsrt_diag *diag);

gsrt_try gsrt_try_in_twin;
/* By gsrt-launch, from where this program lies, which starts mpirun. `directory`.yaml is there while it runs. */
gsrt_try gsrt_try_on_machine;

/* Read `directory`'s report.json. *out owned. GSRT_OK | GSRT_EINPUT | GSRT_EIO (*diag) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_trial_read_report(const char *directory, json_t **out, gsrt_diag *diag);

#endif
