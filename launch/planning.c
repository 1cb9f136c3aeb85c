#include "launch/planning.h"

#include "base/limits.h"
#include "launch/admission.h"
#include "launch/answers.h"
#include "launch/fleet_source.h"
#include "launch/read_file.h"
#include "model/validate.h"
#include "placement/deployment_executable.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { RIVALS_KEPT = 32, BYTES_PER_TOKEN = 4 };

/* ---- reading ---- */

static gsrt_status read_config(gsrt_planning *p, const char *path, gsrt_diag *diag)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_JSON_BYTES_MAX);
    gsrt_status status = gsrt_read_file(path, "give the config.json of a model", &text, diag);
    if (status == GSRT_OK)
        status = gsrt_import_config(gsrt_buffer_span(&text), path, &p->own_workload, &p->config, diag);
    gsrt_buffer_fini(&text);
    return status;
}

static gsrt_status open_workload(gsrt_planning *p, const gsrt_loaded *loaded, gsrt_diag *diag)
{
    const gsrt_scenario *s = p->scenario;
    gsrt_status status = GSRT_OK;
    if (s->config != NULL)
        status = read_config(p, s->config, diag);
    else if (s->synthetic != NULL)
        status = gsrt_synthetic_build(s->synthetic, s->file, &p->own_workload, diag);
    else if (loaded == NULL)
        status = gsrt_loaded_open(s->model, false, &p->own_loaded, diag);
    if (status != GSRT_OK)
        return status;
    p->loaded = s->model == NULL ? NULL : loaded != NULL ? loaded : &p->own_loaded;
    p->workload = p->loaded != NULL ? p->loaded->workload : p->own_workload;
    return gsrt_workload_hash_of(p->workload, &p->hash);
}

static gsrt_status open_fleet(gsrt_planning *p, int32_t today, gsrt_diag *diag)
{
    const char *path = p->scenario->planning.inventory;
    p->is_of_ranks = path == NULL;
    if (p->is_of_ranks)
        return gsrt_rank_fleet_open(p->scenario, p->rank_count, &p->ranks, diag);
    gsrt_status status = gsrt_fleet_source_read(path, &p->findings, &p->inventory, diag);
    if (status == GSRT_OK)
        gsrt_fleet_check(p->inventory, today, &p->findings);
    if (status == GSRT_OK && p->findings.error_count > 0)
        status = gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "%zu error%s; see 'gsrt fleet check'",
                               p->findings.error_count, p->findings.error_count == 1 ? "" : "s");
    return status;
}

/* ---- the demand of the requests ---- */

static gsrt_status count_prompt(const gsrt_planning *p, const gsrt_scenario_request *request, size_t *out,
                                gsrt_diag *diag)
{
    uint32_t *tokens = NULL;
    if (request->prompt_tokens != NULL || p->loaded != NULL) {
        gsrt_status status = gsrt_request_tokens(p->scenario, request, p->loaded == NULL ? NULL : p->loaded->tokenizer,
                                                 &tokens, out, diag);
        free(tokens);
        return status;
    }
    *out = strlen(request->prompt) / BYTES_PER_TOKEN + 1; /* without a tokenizer */
    return GSRT_OK;
}

/* The mean of all requests, and their spread. */
typedef struct spread {
    double sum, lo, hi;
} spread;

static void add_to(spread *s, double number)
{
    s->lo = s->sum == 0 || number < s->lo ? number : s->lo;
    s->hi = number > s->hi ? number : s->hi;
    s->sum += number;
}

static gsrt_quantity mean_of(const spread *s, uint32_t count, const char *source)
{
    gsrt_quantity q = gsrt_quantity_exact(s->sum / count, (gsrt_dimension){.token = 1});
    q.lo = fmin(s->lo, q.value);
    q.hi = fmax(s->hi, q.value);
    q.source = GSRT_SOURCE_DECLARED;
    q.source_text = source;
    return q;
}

static gsrt_status derive_demand(gsrt_planning *p, gsrt_diag *diag)
{
    const gsrt_scenario *s = p->scenario;
    gsrt_demand *demand = &p->problem.demand;
    *demand = s->planning.demand;
    if (s->request_count == 0 && !(demand->prompt_tokens.is_known && demand->output_tokens.is_known))
        return gsrt_diag_set(diag, GSRT_EINPUT, s->file, "demand",
                             "is not known, and there are no requests; add 'demand: {prompt_tokens: 512, "
                             "output_tokens: 128}'");
    spread prompts = {0}, outputs = {0};
    for (uint32_t i = 0; i < s->request_count; i++) {
        size_t count = 0;
        gsrt_status status = count_prompt(p, &s->requests[i], &count, diag);
        if (status != GSRT_OK)
            return status;
        add_to(&prompts, (double)(count > 0 ? count : 1));
        add_to(&outputs, s->requests[i].max_tokens);
    }
    if (!demand->prompt_tokens.is_known)
        demand->prompt_tokens = mean_of(&prompts, s->request_count, "declared: prompts of workload.requests");
    if (!demand->output_tokens.is_known)
        demand->output_tokens = mean_of(&outputs, s->request_count, "declared: max_tokens of workload.requests");
    if (!demand->arrival.is_known && demand->concurrency == 0 && s->request_count > 0)
        demand->concurrency = s->request_count < s->batch_requests ? s->request_count : s->batch_requests;
    return GSRT_OK;
}

/* How another server schedules can be asked of machines; the ranks have this one's scheduler. */
static gsrt_status check_server(const gsrt_planning *p, gsrt_diag *diag)
{
    const gsrt_demand *demand = &p->problem.demand;
    const char *place = demand->prefills_first     ? "demand.prefills_first"
                        : demand->gather_steps > 0 ? "demand.gather_steps"
                                                   : NULL;
    if (place == NULL || !p->is_of_ranks)
        return GSRT_OK;
    return gsrt_diag_set(diag, GSRT_EINPUT, p->scenario->file, place,
                         "is how another server schedules, and the runtime does not; remove it, or plan for an "
                         "inventory");
}

/* Requests come from one region of the inventory. */
static gsrt_status check_origin(const gsrt_planning *p, gsrt_diag *diag)
{
    const gsrt_fleet *fleet = p->problem.fleet;
    const char *origin = p->problem.demand.origin, *file = p->scenario->file;
    if (origin == NULL)
        return GSRT_OK;
    if (p->is_of_ranks)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "demand.origin",
                             "is a region of an inventory, and the ranks stand in none; remove it, or plan for an "
                             "inventory");
    uint32_t place = gsrt_fleet_place_named(fleet, origin);
    if (place == GSRT_FLEET_NONE || fleet->places[place].kind != GSRT_PLACE_REGION)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "demand.origin",
                             "'%s' is no region of %s; give a place of kind region that it has ('gsrt fleet show' "
                             "lists them)",
                             origin, p->scenario->planning.inventory);
    if (fleet->places[place].total > 1)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "demand.origin",
                             "'%s' is %" PRIu64
                             " regions of %s, and requests come from one; give a place that is there "
                             "once",
                             origin, fleet->places[place].total, p->scenario->planning.inventory);
    return GSRT_OK;
}

/* Regions that the site allows are regions that there are. */
static gsrt_status check_regions(const gsrt_planning *p, gsrt_diag *diag)
{
    const gsrt_policy_rules *rules = &p->problem.rules;
    const gsrt_fleet *fleet = p->problem.fleet;
    for (uint32_t i = 0; !p->is_of_ranks && i < rules->region_allowed_count; i++) {
        uint32_t place = gsrt_fleet_place_named(fleet, rules->regions_allowed[i]);
        if (place == GSRT_FLEET_NONE || fleet->places[place].kind != GSRT_PLACE_REGION)
            return gsrt_diag_set(diag, GSRT_EINPUT, p->scenario->file, "rules.regions",
                                 "'%s' is no region of %s; give places of kind region that it has ('gsrt fleet show' "
                                 "lists them)",
                                 rules->regions_allowed[i], p->scenario->planning.inventory);
    }
    return GSRT_OK;
}

/* ---- open, fini ---- */

gsrt_status gsrt_planning_open(gsrt_planning *planning, const gsrt_scenario *scenario, const gsrt_loaded *loaded,
                               uint32_t rank_count, int32_t today, gsrt_diag *diag)
{
    gsrt_planning *p = planning;
    *p = (gsrt_planning){.scenario = scenario, .rank_count = rank_count};
    gsrt_config_report_init(&p->config);
    gsrt_findings_init(&p->findings);
    gsrt_evidence_list_init(&p->evidence);
    gsrt_derivation_init(&p->why);
    gsrt_status status = open_workload(p, loaded, diag);
    if (status == GSRT_OK)
        status = gsrt_contract_check(scenario->asked, p->workload, scenario->file, diag);
    if (status == GSRT_OK)
        status = open_fleet(p, today, diag);
    if (status == GSRT_OK)
        status = gsrt_admission_read_evidence(scenario->planning.evidence, p->loaded, &p->evidence, diag);
    if (status == GSRT_OK)
        status = derive_demand(p, diag);
    if (status != GSRT_OK)
        return status;
    p->problem.workload = p->workload;
    p->problem.fleet = p->is_of_ranks ? p->ranks.fleet : p->inventory;
    p->problem.contract = scenario->asked;
    p->problem.evidence = p->evidence.items;
    p->problem.evidence_count = p->evidence.count;
    p->problem.objective = scenario->planning.objective;
    p->problem.rules = *scenario->planning.rules;
    p->problem.mode = GSRT_COST_SOURCED;
    p->problem.is_for_execution = p->is_of_ranks && p->loaded != NULL;
    p->problem.batch_max = scenario->batch_requests;
    p->problem.prefill_tokens_max = scenario->prefill_chunk;
    p->problem.today = today;
    status = check_server(p, diag);
    if (status == GSRT_OK)
        status = check_regions(p, diag);
    return status == GSRT_OK ? check_origin(p, diag) : status;
}

void gsrt_planning_fini(gsrt_planning *planning)
{
    gsrt_planning *p = planning;
    if (p->has_choice) {
        gsrt_cost_fini(&p->cost);
        gsrt_verdict_fini(&p->verdict);
    }
    gsrt_derivation_fini(&p->why);
    (void)gsrt_deployment_free(p->choice);
    (void)gsrt_search_result_free(p->result);
    gsrt_evidence_list_fini(&p->evidence);
    gsrt_findings_fini(&p->findings);
    (void)gsrt_fleet_free(p->inventory);
    gsrt_rank_fleet_fini(&p->ranks);
    gsrt_config_report_fini(&p->config);
    (void)gsrt_workload_free(p->own_workload);
    gsrt_loaded_close(&p->own_loaded);
    *p = (gsrt_planning){0};
}

/* ---- search ---- */

gsrt_status gsrt_planning_predict(const gsrt_planning *planning, const gsrt_deployment *deployment,
                                  gsrt_derivation *why, gsrt_cost *out)
{
    const gsrt_search_problem *problem = &planning->problem;
    gsrt_cost_question question = {.workload = problem->workload,
                                   .fleet = problem->fleet,
                                   .deployment = deployment,
                                   .demand = &problem->demand,
                                   .mode = problem->mode};
    return gsrt_cost_predict(&question, why, out);
}

static gsrt_status check_choice(gsrt_planning *p, gsrt_diag *diag)
{
    gsrt_violations violations;
    gsrt_status status = gsrt_deployment_check(&p->problem, p->choice, &p->cost, &violations);
    if (status != GSRT_OK)
        return status;
    if (violations.count > 0)
        status = gsrt_diag_set(diag, GSRT_ESTATE, p->scenario->file, "plan",
                               "the checker refuses what the search found: rule %s, %s: %s; report this",
                               violations.items[0].rule, violations.items[0].reason, violations.items[0].constraint);
    gsrt_violations_fini(&violations);
    return status;
}

static gsrt_status take_choice(gsrt_planning *p, gsrt_diag *diag)
{
    p->choice = gsrt_deployment_copy(p->result->best);
    if (p->choice == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = gsrt_planning_predict(p, p->choice, &p->why, &p->cost);
    if (status != GSRT_OK)
        return status;
    status = gsrt_contract_judge(p->problem.contract, p->workload, p->problem.fleet, p->choice, p->problem.evidence,
                                 p->problem.evidence_count, &p->verdict);
    if (status != GSRT_OK) {
        gsrt_cost_fini(&p->cost);
        return status;
    }
    p->has_choice = true;
    return check_choice(p, diag);
}

/* How much a rejection says to whoever wants a plan. */
static int worth(const gsrt_rejection *r)
{
    bool is_contract = strncmp(r->reason, "contract_", 9) == 0;
    bool is_unstated = strcmp(r->reason, GSRT_REASON_UNKNOWN) == 0;
    return r->change_to.is_known ? 4 : is_unstated ? 3 : r->needed.is_known ? 2 : !is_contract ? 1 : 0;
}

/* What stood in the way: what one change of a number would admit, if there is such; then what nobody stated; a
 * contract, which always has its rivals, last. NULL: nothing was tried. */
static const gsrt_rejection *main_reason(const gsrt_search_result *result)
{
    const gsrt_rejection *best = NULL;
    for (uint32_t i = 0; i < result->rival_count; i++) {
        const gsrt_rejection *rejection = &result->rivals[i].rejection;
        if (best == NULL || worth(rejection) > worth(best))
            best = rejection;
    }
    return best;
}

gsrt_status gsrt_planning_search(gsrt_planning *planning, gsrt_diag *diag)
{
    gsrt_planning *p = planning;
    gsrt_search_options options = {.policy = p->scenario->planning.policy,
                                   .budget = p->scenario->planning.budget,
                                   .seed = p->scenario->planning.seed,
                                   .kept_max = RIVALS_KEPT};
    gsrt_status status = gsrt_search(&p->problem, &options, diag, &p->result);
    if (status != GSRT_OK)
        return status;
    if (p->result->best == NULL) {
        const gsrt_rejection *first = main_reason(p->result);
        return gsrt_diag_set(diag, GSRT_EINFEASIBLE, p->scenario->file, "plan", "no plan is feasible: %s (%s)%s%s",
                             first == NULL ? "nothing can be tried" : first->constraint,
                             first == NULL ? "engines" : first->reason,
                             first == NULL || first->change == NULL ? "" : "; admitted by ",
                             first == NULL || first->change == NULL ? "; see 'gsrt plan'" : first->change);
    }
    return take_choice(p, diag);
}

static gsrt_quantity seen(const gsrt_objective *objective, double value)
{
    gsrt_quantity q = {0};
    if (!(value >= 0))
        return q;
    q = gsrt_quantity_exact(value, gsrt_measure_dimension(objective->measure));
    q.source = GSRT_SOURCE_DERIVED;
    return q;
}

gsrt_status gsrt_planning_note_seen(gsrt_planning *planning, uint32_t rival, const char *why, double its, double chosen)
{
    gsrt_search_result *r = planning->result;
    const gsrt_objective *o = &planning->problem.objective;
    const char *constraint = gsrt_arena_copy_text(&r->arena, why, strlen(why));
    if (constraint == NULL)
        return GSRT_ENOMEM;
    r->rivals[rival].rejection = (gsrt_rejection){.reason = GSRT_REASON_REHEARSED,
                                                  .constraint = constraint,
                                                  .needed = seen(o, chosen),
                                                  .available = seen(o, its),
                                                  .change = "it is admitted, and was not chosen"};
    return GSRT_OK;
}

gsrt_status gsrt_planning_prefer(gsrt_planning *planning, uint32_t rival, gsrt_diag *diag)
{
    gsrt_planning *p = planning;
    gsrt_search_result *r = p->result;
    gsrt_rival *other = &r->rivals[rival];
    const gsrt_rival former = {.deployment = p->choice, .objective = r->objective, .rejection = other->rejection};
    (void)gsrt_deployment_free(r->best);
    r->best = other->deployment;
    r->objective = other->objective;
    r->gap = fabs(r->bound - r->objective.value) / fabs(r->objective.value);
    *other = former;
    for (uint32_t i = 0; i < r->rival_count; i++) {
        if (strcmp(r->rivals[i].rejection.reason, GSRT_REASON_WORSE) == 0)
            r->rivals[i].rejection.needed = r->objective;
    }
    gsrt_cost_fini(&p->cost);
    gsrt_verdict_fini(&p->verdict);
    p->has_choice = false;
    p->choice = NULL;
    gsrt_derivation_fini(&p->why);
    gsrt_derivation_init(&p->why);
    return take_choice(p, diag);
}

void gsrt_planning_note_predicted(const gsrt_cost *cost, gsrt_scenario_planning *out)
{
    memcpy(out->predicted, cost->values, sizeof out->predicted);
    for (int m = 0; m < GSRT_MEASURE_COUNT; m++) {
        for (int q = 0; q < GSRT_PERCENTILE_COUNT; q++)
            out->predicted[m][q].source_text = NULL;
    }
}

gsrt_status gsrt_planning_executable(const gsrt_planning *planning, gsrt_diag *diag)
{
    const gsrt_planning *p = planning;
    gsrt_status status = gsrt_workload_executable(p->workload, NULL, diag);
    if (status == GSRT_OK && !p->is_of_ranks)
        status = gsrt_diag_set(diag, GSRT_EUNSUPPORTED, NULL, "fleet.inventory",
                               "the ranks of a run are no machines of an inventory; it can be planned for, not run");
    return status == GSRT_OK ? gsrt_deployment_executable(p->choice, p->workload, diag) : status;
}
