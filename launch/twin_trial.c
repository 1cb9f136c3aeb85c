#include "launch/twin_trial.h"

#include "base/limits.h"
#include "launch/interrupt.h"
#include "launch/read_file.h"
#include "launch/twin_run.h"

#include <stdio.h>
#include <stdlib.h>

static gsrt_status read_report(const char *directory, json_t **out, gsrt_diag *diag)
{
    char path[GSRT_PATH_BYTES_MAX + 16];
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_JSON_BYTES_MAX);
    (void)snprintf(path, sizeof path, "%s/report.json", directory);
    gsrt_status status = gsrt_read_file(path, "the twin has just written it", &text, diag);
    if (status == GSRT_OK)
        status = gsrt_json_parse(gsrt_buffer_span(&text), path, out, diag);
    gsrt_buffer_fini(&text);
    return status;
}

static gsrt_status run(gsrt_twin_job *job, gsrt_twin_trial *out, gsrt_diag *diag)
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
    gsrt_status status = read_report(job->directory, &out->report, diag);
    if (status != GSRT_OK && job->diag.status != GSRT_OK)
        *diag = job->diag; /* that is why there is none */
    return status;
}

gsrt_status gsrt_twin_try(const gsrt_options *options, gsrt_scenario *scenario, uint32_t rank_count,
                          const char *directory, gsrt_twin_trial *out, gsrt_diag *diag)
{
    *out = (gsrt_twin_trial){.exit_code = 5};
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
