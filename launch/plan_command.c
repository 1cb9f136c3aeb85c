#include "launch/plan_command.h"

#include "base/limits.h"
#include "launch/plan_json.h"
#include "launch/plan_print.h"
#include "launch/plan_validate.h"
#include "launch/rehearsal.h"
#include "launch/run_directory.h"

#include <stdio.h>
#include <time.h>

enum { SECONDS_OF_DAY = 86400 };

/* What the command holds; undone in reverse by its end. */
typedef struct command {
    const gsrt_options *options;
    gsrt_diag diag;
    gsrt_scenario *scenario;
    gsrt_planning planning;
    gsrt_plan_fallbacks fallbacks;
    gsrt_rehearsal rehearsal;
    gsrt_run_directory *directory; /* NULL: nothing is kept */
    json_t *plan;
    gsrt_buffer text;
} command;

static gsrt_status open_all(command *c)
{
    const gsrt_options *options = c->options;
    gsrt_status status =
        gsrt_scenario_read(options->scenario, options->sets, options->set_count, &c->scenario, &c->diag);
    if (status != GSRT_OK)
        return status;
    if (options->policy != NULL)
        c->scenario->planning.policy = options->policy;
    if (options->budget > 0)
        c->scenario->planning.budget = options->budget;
    int32_t today = c->scenario->planning.inventory == NULL ? 0 : (int32_t)(time(NULL) / SECONDS_OF_DAY);
    status = gsrt_planning_open(&c->planning, c->scenario, NULL, c->scenario->twin_rank_count, today, &c->diag);
    if (status == GSRT_OK && options->rehearsal_count > 0 && !c->planning.problem.is_for_execution)
        return gsrt_diag_set(
            &c->diag, GSRT_EUNSUPPORTED, options->scenario, "--rehearse",
            "takes a model with weights on the ranks of a run; of anything else there are only predictions");
    if (status == GSRT_OK && options->rehearsal_count > 0)
        status = gsrt_scenario_check_moves(c->scenario, c->planning.rank_count, &c->diag);
    if (status == GSRT_OK && options->rehearsal_count > 0) /* the scenario that is kept must run */
        status = gsrt_faults_check(c->scenario->faults, c->scenario->fault_count, c->planning.rank_count,
                                   options->scenario, &c->diag);
    if (status == GSRT_OK && options->directory != NULL)
        status = gsrt_run_directory_create_plain(options->directory, &c->directory, &c->diag);
    return status;
}

/* Finalists and losses in the twin; the scenario that is kept has the plan that was chosen by that. */
static gsrt_status rehearse(command *c)
{
    gsrt_planning *p = &c->planning;
    gsrt_status status =
        gsrt_rehearsal_run_finalists(p, c->options, c->options->rehearsal_count, &c->rehearsal, &c->diag);
    if (status != GSRT_OK)
        return status;
    c->scenario->plan = gsrt_plan_free(c->scenario->plan);
    status = gsrt_rank_fleet_plan(&p->ranks, p->workload, p->choice, &c->scenario->plan, &c->diag);
    return status == GSRT_OK ? gsrt_scenario_check_moves(c->scenario, p->rank_count, &c->diag) : status;
}

/* What becomes of the choice. */
static gsrt_status try_choice(command *c)
{
    gsrt_status status = c->options->rehearsal_count > 0 ? rehearse(c) : GSRT_OK;
    if (status == GSRT_OK)
        status = gsrt_plan_fallbacks_find(&c->planning, &c->fallbacks);
    if (status == GSRT_OK && c->options->rehearsal_count > 0)
        status = gsrt_rehearsal_run_losses(&c->planning, c->options, &c->fallbacks, &c->diag);
    return status;
}

/* Without a choice there is still what was rejected, and why. */
static gsrt_status search(command *c)
{
    gsrt_status found = gsrt_planning_search(&c->planning, &c->diag);
    gsrt_status status = found == GSRT_OK ? try_choice(c) : found == GSRT_EINFEASIBLE ? GSRT_OK : found;
    if (status != GSRT_OK)
        return status;
    c->plan = gsrt_plan_json(&c->planning, &c->fallbacks, &c->rehearsal);
    return c->plan == NULL ? GSRT_ENOMEM : found;
}

static gsrt_status write_file(gsrt_run_directory *directory, const char *name, gsrt_buffer *text, gsrt_diag *diag)
{
    gsrt_status status = gsrt_run_directory_write(directory, name, gsrt_buffer_span(text), diag);
    gsrt_buffer_reset(text);
    return status;
}

static gsrt_status keep(command *c)
{
    gsrt_run_directory *directory = c->directory;
    if (directory == NULL)
        return GSRT_OK;
    gsrt_buffer_reset(&c->text);
    gsrt_status status = gsrt_json_print(c->plan, false, &c->text);
    if (status == GSRT_OK)
        status = write_file(directory, "plan.json", &c->text, &c->diag);
    if (status == GSRT_OK)
        status = gsrt_scenario_print(c->scenario, &c->text);
    if (status == GSRT_OK)
        status = write_file(directory, "scenario.yaml", &c->text, &c->diag);
    if (status == GSRT_OK && c->planning.evidence.count > 0)
        status = gsrt_evidence_list_print(&c->planning.evidence, &c->text);
    if (status == GSRT_OK && c->planning.evidence.count > 0)
        status = write_file(directory, "evidence.json", &c->text, &c->diag);
    return status;
}

static gsrt_status print(command *c)
{
    gsrt_buffer_reset(&c->text);
    gsrt_status status = c->options->is_json ? gsrt_json_print(c->plan, false, &c->text)
                                             : gsrt_plan_print_page(c->plan, c->options->verbosity > 0, &c->text);
    if (status == GSRT_OK && c->options->is_quiet && !c->options->is_json)
        gsrt_buffer_reset(&c->text);
    if (status == GSRT_OK && fwrite(c->text.data, 1, c->text.len, stdout) != c->text.len)
        status = GSRT_EIO;
    return status;
}

/* What is wrong with an inventory, one by one, before the line that says so. */
static void say_findings(command *c)
{
    gsrt_buffer_reset(&c->text);
    if (c->planning.findings.error_count > 0 && gsrt_findings_print(&c->planning.findings, &c->text) == GSRT_OK)
        (void)fwrite(c->text.data, 1, c->text.len, stderr);
}

int gsrt_plan_command(const gsrt_options *options)
{
    command c = {.options = options};
    gsrt_buffer_init(&c.text, GSRT_REPORT_BYTES_MAX);
    gsrt_status status = open_all(&c);
    if (status == GSRT_EINPUT)
        say_findings(&c);
    if (status == GSRT_OK && options->is_validating)
        status = gsrt_plan_validate(&c.planning, &c.diag);
    if (status == GSRT_OK)
        status = search(&c);
    if (c.plan != NULL) {
        gsrt_status printed = print(&c);
        if (printed == GSRT_OK)
            printed = keep(&c);
        status = printed == GSRT_OK ? status : printed;
    }
    if (status != GSRT_OK)
        (void)fprintf(stderr, "gsrt: error: %s\n", c.diag.status == GSRT_OK ? gsrt_status_text(status) : c.diag.text);
    json_decref(c.plan);
    (void)gsrt_run_directory_free(c.directory);
    gsrt_rehearsal_fini(&c.rehearsal);
    gsrt_plan_fallbacks_fini(&c.fallbacks);
    if (c.planning.scenario != NULL)
        gsrt_planning_fini(&c.planning);
    (void)gsrt_scenario_free(c.scenario);
    gsrt_buffer_fini(&c.text);
    return gsrt_exit_code(status);
}
