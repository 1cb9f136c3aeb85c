#include "launch/rehearsal.h"

#include "base/limits.h"
#include "launch/plan_words.h"
#include "launch/trial.h"
#include "placement/deployment_executable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOBODY = -1 };

/* What the runs share. */
typedef struct stage {
    const gsrt_planning *planning;
    const gsrt_options *options;
    gsrt_diag *diag;
} stage;

/* ---- one run ---- */

/* Killed in the middle of the first answer, and not started again: the others have to do without it. */
static gsrt_status lose(gsrt_scenario *scenario, uint32_t rank)
{
    gsrt_fault *fault = gsrt_arena_take(&scenario->arena, sizeof *fault, _Alignof(gsrt_fault));
    if (fault == NULL)
        return GSRT_ENOMEM;
    uint32_t middle = scenario->requests[0].max_tokens / 2;
    *fault = (gsrt_fault){.kind = GSRT_FAULT_KILL,
                          .rank = rank,
                          .times = 1,
                          .when = {.kind = GSRT_MOMENT_TOKEN, .token = middle > 0 ? middle : 1}};
    scenario->faults = fault;
    scenario->fault_count = 1;
    scenario->restart_max = 0;
    return GSRT_OK;
}

/* The scenario as it is, but for its plan, its faults and its moves. */
static gsrt_status write_scenario(const stage *s, const gsrt_deployment *deployment, int lost, gsrt_scenario **out)
{
    const gsrt_planning *p = s->planning;
    gsrt_scenario *scenario = NULL;
    gsrt_status status =
        gsrt_scenario_read(s->options->scenario, s->options->sets, s->options->set_count, &scenario, s->diag);
    if (status != GSRT_OK)
        return status;
    scenario->plan = gsrt_plan_free(scenario->plan);
    scenario->fault_count = scenario->move_count = 0;
    scenario->is_verifying = true;
    scenario->batch_requests = deployment->pools[0].batch_max;
    scenario->prefill_chunk = deployment->pools[0].prefill_tokens;
    status = gsrt_rank_fleet_plan(&p->ranks, p->workload, deployment, &scenario->plan, s->diag);
    gsrt_cost cost;
    if (status == GSRT_OK)
        status = gsrt_planning_predict(p, deployment, NULL, &cost);
    if (status == GSRT_OK) {
        gsrt_planning_note_predicted(&cost, &scenario->planning);
        gsrt_cost_fini(&cost);
    }
    if (status == GSRT_OK && lost != NOBODY)
        status = lose(scenario, (uint32_t)lost);
    if (status != GSRT_OK)
        scenario = gsrt_scenario_free(scenario);
    *out = scenario;
    return status;
}

/* Run `deployment`, into `run` of the plan's directory. */
static gsrt_status play(const stage *s, const gsrt_deployment *deployment, int lost, const char *run, gsrt_trial *out)
{
    char directory[GSRT_PATH_BYTES_MAX];
    gsrt_scenario *scenario = NULL;
    *out = (gsrt_trial){.exit_code = 5};
    if ((size_t)snprintf(directory, sizeof directory, "%s/%s", s->options->directory, run) >= sizeof directory)
        return gsrt_diag_set(s->diag, GSRT_EINPUT, s->options->directory, NULL, "this name is too long");
    gsrt_status status = write_scenario(s, deployment, lost, &scenario);
    gsrt_try *try_it = s->options->is_live ? gsrt_try_on_machine : gsrt_try_in_twin;
    return status == GSRT_OK ? try_it(s->options, scenario, s->planning->rank_count, directory, out, s->diag) : status;
}

/* ---- finalists ---- */

static bool is_verified(const json_t *report)
{
    return json_is_true(json_object_get(json_object_get(report, "contract"), "kept"));
}

/* As it was seen, in base units; < 0: it was not. */
static double observed_of(const json_t *report, gsrt_measure measure, gsrt_percentile percentile)
{
    const json_t *rows = json_object_get(json_object_get(report, "predicted"), "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *observed = json_object_get(row, "observed");
        const char *word = json_string_value(json_object_get(row, "measure"));
        const char *quantile = json_string_value(json_object_get(row, "percentile"));
        if (word != NULL && strcmp(word, gsrt_measure_word(measure)) == 0 &&
            (quantile == NULL || strcmp(quantile, gsrt_percentile_word(percentile)) == 0))
            return json_is_number(observed) ? json_number_value(observed) : -1;
    }
    return -1;
}

static void look_at_limits(const gsrt_objective *o, const json_t *report, gsrt_rehearsed *r)
{
    for (uint32_t i = 0; i < o->limit_count && !r->misses_limit; i++) {
        const gsrt_objective_limit *limit = &o->limits[i];
        char value[GSRT_PLAN_WORDS_BYTES], bound[GSRT_PLAN_WORDS_BYTES];
        double observed = observed_of(report, limit->measure, limit->percentile);
        bool is_kept =
            gsrt_measure_is_maximised(limit->measure) ? observed >= limit->bound.value : observed <= limit->bound.value;
        if (observed < 0 || is_kept)
            continue;
        gsrt_quantity number = gsrt_quantity_exact(observed, limit->bound.dimension);
        r->misses_limit = true;
        (void)snprintf(r->missed, sizeof r->missed, "%s%s%s %.30s, and the limit is %.30s",
                       gsrt_measure_word(limit->measure), limit->measure <= GSRT_MEASURE_LATENCY ? " " : "",
                       limit->measure <= GSRT_MEASURE_LATENCY ? gsrt_percentile_word(limit->percentile) : "",
                       gsrt_plan_number(&number, value), gsrt_plan_number(&limit->bound, bound));
    }
}

static gsrt_status rehearse(const stage *s, const gsrt_deployment *deployment, gsrt_rehearsal *all)
{
    const gsrt_objective *o = &s->planning->problem.objective;
    gsrt_rehearsed *r = &all->finalists[all->finalist_count];
    gsrt_trial end = {0};
    gsrt_cost cost;
    *r = (gsrt_rehearsed){.observed = -1, .is_live = s->options->is_live};
    (void)snprintf(r->run, sizeof r->run, "rehearsal/finalist-%" PRIu32, ++all->finalist_count);
    gsrt_status status = gsrt_planning_predict(s->planning, deployment, NULL, &cost);
    if (status != GSRT_OK)
        return status;
    r->predicted = cost.values[o->measure][o->percentile];
    r->predicted.source_text = NULL;
    gsrt_cost_fini(&cost);
    status = gsrt_plan_words_copy(s->planning, deployment, &r->words);
    if (status == GSRT_OK)
        status = play(s, deployment, NOBODY, r->run, &end);
    if (status != GSRT_OK)
        return status;
    r->exit_code = end.exit_code;
    r->is_verified = is_verified(end.report);
    r->observed = observed_of(end.report, o->measure, o->percentile);
    look_at_limits(o, end.report, r);
    if (end.exit_code != 0)
        (void)gsrt_diag_set(s->diag, end.exit_code == 4 ? GSRT_ECONTRACT : GSRT_EPEER, s->options->scenario, "plan",
                            "no finalist came through its rehearsal: %s", end.why);
    json_decref(end.report);
    return GSRT_OK;
}

static bool is_better(const gsrt_planning *p, const gsrt_rehearsed *a, const gsrt_rehearsed *b)
{
    if (b->exit_code != 0 || a->exit_code != 0)
        return a->exit_code == 0 && b->exit_code != 0;
    if (a->misses_limit != b->misses_limit)
        return b->misses_limit;
    if (a->observed < 0 || b->observed < 0)
        return false;
    return gsrt_measure_is_maximised(p->problem.objective.measure) ? a->observed > b->observed
                                                                   : a->observed < b->observed;
}

/* A rival that keeps everything, which a run can have. */
static bool is_finalist(const gsrt_planning *p, const gsrt_rival *rival)
{
    gsrt_diag missing = {0};
    return rival->deployment != NULL && strcmp(rival->rejection.reason, GSRT_REASON_WORSE) == 0 &&
           gsrt_deployment_executable(rival->deployment, p->workload, &missing) == GSRT_OK;
}

static gsrt_status note_seen(gsrt_planning *p, uint32_t rival, const gsrt_rehearsed *its, const gsrt_rehearsed *chosen)
{
    char why[GSRT_REHEARSAL_LIMIT_BYTES + 64];
    const char *where = chosen->is_live ? "on this machine" : "in the twin";
    if (its->exit_code != 0)
        (void)snprintf(why, sizeof why, "%s it ends with exit code %d", where, its->exit_code);
    else if (its->misses_limit && !chosen->misses_limit)
        (void)snprintf(why, sizeof why, "%s it misses a limit: %s", where, its->missed);
    else
        (void)snprintf(why, sizeof why, "the objective as seen %s", where);
    return gsrt_planning_note_seen(p, rival, why, its->exit_code != 0 ? -1 : its->observed, chosen->observed);
}

gsrt_status gsrt_rehearsal_run_finalists(gsrt_planning *planning, const gsrt_options *options, uint32_t count,
                                         gsrt_rehearsal *out, gsrt_diag *diag)
{
    gsrt_planning *p = planning;
    stage s = {.planning = p, .options = options, .diag = diag};
    uint32_t rivals[GSRT_REHEARSAL_FINALISTS_MAX] = {0}, best = 0;
    gsrt_diag failed = {0};
    *out = (gsrt_rehearsal){0};
    gsrt_status status = gsrt_planning_executable(p, diag);
    s.diag = &failed;
    if (status == GSRT_OK)
        status = rehearse(&s, p->choice, out);
    for (uint32_t i = 0; i < p->result->rival_count && out->finalist_count < count && status == GSRT_OK; i++) {
        const gsrt_rival *rival = &p->result->rivals[i];
        if (!is_finalist(p, rival))
            continue;
        rivals[out->finalist_count] = i;
        status = rehearse(&s, rival->deployment, out);
        if (status == GSRT_OK && is_better(p, &out->finalists[out->finalist_count - 1], &out->finalists[best]))
            best = out->finalist_count - 1;
    }
    if (status == GSRT_OK && out->finalists[best].exit_code != 0)
        status = failed.status;
    if (status != GSRT_OK) {
        if (failed.status != GSRT_OK)
            *diag = failed;
        return status;
    }
    out->finalists[best].is_chosen = true;
    if (best == 0)
        return GSRT_OK;
    rivals[0] = rivals[best]; /* whose place the model's choice takes */
    status = gsrt_planning_prefer(p, rivals[best], diag);
    for (uint32_t i = 0; i < best && status == GSRT_OK; i++) /* the model prefers these */
        status = note_seen(p, rivals[i], &out->finalists[i], &out->finalists[best]);
    return status;
}

void gsrt_rehearsal_fini(gsrt_rehearsal *rehearsal)
{
    for (uint32_t i = 0; i < rehearsal->finalist_count; i++)
        free(rehearsal->finalists[i].words);
    *rehearsal = (gsrt_rehearsal){0};
}

/* ---- losses ---- */

static void note_loss(const gsrt_trial *end, bool is_live, gsrt_plan_fallback *f)
{
    const json_t *failure = json_array_get(json_object_get(end->report, "failures"), 0);
    const json_t *recovered = json_object_get(failure, "recovered_ms");
    const json_t *detected = json_object_get(failure, "detected_ms");
    const char *method = json_string_value(json_object_get(failure, "method"));
    f->is_rehearsed = true;
    f->is_live = is_live;
    f->is_verified = is_verified(end->report);
    f->exit_code = end->exit_code;
    f->recovered_ms = json_is_number(recovered) ? json_number_value(recovered) : -1;
    f->detected_ms = json_is_number(detected) ? json_number_value(detected) : -1;
    (void)snprintf(f->method, sizeof f->method, "%s", method == NULL ? "none" : method);
    if (end->exit_code == 0)
        return;
    f->is_protected = false;
    (void)snprintf(f->why, sizeof f->why, "%s", end->why);
}

gsrt_status gsrt_rehearsal_run_losses(const gsrt_planning *planning, const gsrt_options *options,
                                      gsrt_plan_fallbacks *fallbacks, gsrt_diag *diag)
{
    stage s = {.planning = planning, .options = options, .diag = diag};
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < fallbacks->count && status == GSRT_OK; i++) {
        gsrt_plan_fallback *f = &fallbacks->items[i];
        gsrt_trial end = {0};
        if (!f->is_of_rank || f->words == NULL)
            continue;
        (void)snprintf(f->run, sizeof f->run, "rehearsal/without-rank%" PRIu32, f->rank);
        status = play(&s, planning->choice, (int)f->rank, f->run, &end);
        if (status == GSRT_OK)
            note_loss(&end, options->is_live, f);
        json_decref(end.report);
    }
    return status;
}
