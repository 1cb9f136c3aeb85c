/* A run in the twin. */
#include "launch/interrupt.h"
#include "launch/trial.h"
#include "launch/twin_run.h"

#include <stdio.h>
#include <stdlib.h>

static gsrt_status run(gsrt_twin_job *job, gsrt_trial *out, gsrt_diag *diag)
{
    gsrt_status prepared = gsrt_twin_job_prepare(job);
    out->exit_code = prepared == GSRT_OK ? gsrt_twin_job_serve(job) : gsrt_exit_code(prepared);
    (void)snprintf(out->why, sizeof out->why, "in the twin it ends with exit code %d: %.100s", out->exit_code,
                   job->diag.status == GSRT_OK ? "see its report" : job->diag.text);
    if (out->exit_code == GSRT_EXIT_INTERRUPTED)
        return gsrt_diag_set(diag, GSRT_ECANCELED, job->options->directory, NULL,
                             "interrupted; what was rehearsed until then is left there");
    if (job->directory == NULL)
        return GSRT_OK;
    gsrt_status status = gsrt_trial_read_report(job->directory, &out->report, diag);
    if (status != GSRT_OK && job->diag.status != GSRT_OK)
        *diag = job->diag; /* that is why there is none */
    return status;
}

gsrt_status gsrt_try_in_twin(const gsrt_options *options, gsrt_scenario *scenario, uint32_t rank_count,
                             const char *directory, gsrt_trial *out, gsrt_diag *diag)
{
    *out = (gsrt_trial){.exit_code = 5};
    FILE *nowhere = fopen("/dev/null", "w");
    gsrt_twin_job *job = calloc(1, sizeof *job);
    gsrt_options own = *options;
    const gsrt_terminal_options terminal = {.out = nowhere, .err = nowhere, .is_quiet = true};
    own.directory = directory;
    own.rank_count = rank_count;
    gsrt_status status = job == NULL || nowhere == NULL ? GSRT_ENOMEM : gsrt_interrupt_install();
    if (status == GSRT_OK) {
        *job = (gsrt_twin_job){.options = &own, .watch.terminal = &terminal, .scenario = scenario};
        status = run(job, out, diag);
        gsrt_twin_job_fini(job);
    } else {
        (void)gsrt_scenario_free(scenario);
    }
    free(job);
    if (nowhere != NULL)
        (void)fclose(nowhere);
    return status;
}
