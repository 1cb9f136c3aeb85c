/* The policies' table, and what is around each of them: the space is made, the contract asked, the policy run, bound
 * and rivals added to what it found.
 */
#include "placement/search_impl.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

enum { SMALL_ENGINES_MAX = 6, SMALL_LAYERS_MAX = 8 };

typedef struct policy {
    const char *name;
    void (*run)(gsrt__search *s);
    bool is_for_small; /* takes small instances only */
} policy;

static const policy policies[] = {
    {"exhaustive", gsrt__search_exhaustive, true},
    {"greedy", gsrt__search_greedy, false},
    {"dp", gsrt__search_dp, false},
    {"local", gsrt__search_local, false},
    {"milp", gsrt__search_milp, false},
};
enum { POLICY_COUNT = sizeof policies / sizeof policies[0] };

const char *gsrt_search_policy_name(size_t index)
{
    return index < POLICY_COUNT ? policies[index].name : NULL;
}

static const policy *policy_named(const char *name)
{
    for (size_t i = 0; i < POLICY_COUNT; i++)
        if (strcmp(policies[i].name, name) == 0)
            return &policies[i];
    return NULL;
}

static uint64_t engine_count(const gsrt__search *s)
{
    uint64_t count = 0;
    for (uint32_t c = 0; c < s->class_count; c++)
        count += s->classes[c].total;
    return count;
}

/* What the policies look at. */
static gsrt_status prepare(gsrt__search *s)
{
    const gsrt_search_problem *q = s->problem;
    gsrt_status status = gsrt__rivals_init(s);
    if (status == GSRT_OK)
        status = gsrt_judge_init(&s->judge, q->contract, q->workload, q->evidence, q->evidence_count);
    if (status == GSRT_OK)
        status = gsrt__fleet_on(s, q->fleet, q->today, &s->fleet);
    if (status == GSRT_OK)
        status = gsrt__reach_find(s);
    if (status == GSRT_OK)
        status = gsrt__classes_find(s);
    if (status != GSRT_OK)
        return status;
    double context = q->demand.prompt_tokens.hi + q->demand.output_tokens.hi;
    s->layer_count = q->workload->layer_count;
    s->context_max = (uint32_t)(context + 0.999);
    s->is_small = s->layer_count <= SMALL_LAYERS_MAX && engine_count(s) <= SMALL_ENGINES_MAX;
    s->used = gsrt_arena_take(&s->arena, s->class_count, sizeof *s->used);
    s->profile = s->used == NULL ? NULL : gsrt_cost_profile_create(q->workload, &s->fleet);
    s->memo = gsrt_cost_memo_create();
    if (s->profile == NULL || s->memo == NULL)
        return GSRT_ENOMEM;
    gsrt__tiers_find(s);
    status = gsrt__numerics_find(s);
    gsrt_diag missing = {0};
    s->is_executable = !q->is_for_execution || gsrt_workload_executable(q->workload, NULL, &missing) == GSRT_OK;
    if (!s->is_executable)
        s->not_executable = gsrt_arena_copy_text(&s->arena, missing.text, strlen(missing.text));
    if (status == GSRT_OK)
        status = gsrt__rates_find(s);
    if (status == GSRT_OK)
        status = gsrt__work_find(s);
    return status == GSRT_OK ? gsrt__admitted_find(s) : status;
}

static double gap_between(double bound, const gsrt_quantity *objective)
{
    double size = objective->value < 0 ? -objective->value : objective->value;
    double difference = bound > objective->value ? bound - objective->value : objective->value - bound;
    return size > 0 ? difference / size : difference > 0 ? HUGE_VAL : 0;
}

static gsrt_status report(gsrt__search *s, gsrt_search_result *result)
{
    uint32_t full;
    bool is_optimum = s->is_complete && s->has_best;
    gsrt_status status = is_optimum ? GSRT_OK : gsrt__bound(s, &result->bound, &result->bound_reason);
    result->evaluation_count = s->evaluation_count;
    result->is_complete = s->is_complete;
    result->gap = HUGE_VAL;
    if (status == GSRT_OK && s->has_best)
        status = gsrt__sketch_deploy(s, &s->best, &result->best, &full);
    if (status == GSRT_OK && s->has_best) {
        s->best_judgement.objective = gsrt__objective_of(s, result->best);
        result->objective = s->best_judgement.objective;
        status = s->status;
        if (s->is_complete) {
            result->bound = result->objective.value;
            result->bound_reason = "every candidate was evaluated";
        }
        result->gap = gap_between(result->bound, &result->objective);
    }
    return status == GSRT_OK ? gsrt__rivals_report(s, result) : status;
}

static gsrt_status unsupported(const gsrt__search *s, const char *name, gsrt_diag *diag)
{
    return gsrt_diag_set(diag, GSRT_EUNSUPPORTED, NULL, NULL,
                         "policy '%s' takes at most %d engines and %d layers, here are %llu and %u; use dp or local",
                         name, SMALL_ENGINES_MAX, SMALL_LAYERS_MAX, (unsigned long long)engine_count(s),
                         s->layer_count);
}

/* How much memory is wanting, where no policy has proposed what does not fit: of an engine of each class by itself, and
 * of the smallest group that would hold the workload. */
static void look_at_memory(gsrt__search *s)
{
    gsrt__sketch *one = gsrt__sketch_room(s);
    gsrt__judgement j;
    for (uint32_t n = 0; one != NULL && n < s->numeric_count; n++) {
        for (uint32_t c = 0; !s->numerics[n].is_refused && c < s->class_count; c++) {
            const gsrt__shape shape = {.class = c, .width = 1, .stage_count = 1, .algorithm = GSRT_ALGORITHM_NONE};
            one->pool_count = 1;
            one->numeric = n;
            if (gsrt__shape_pool(s, n, &shape, &one->pools[0]))
                (void)gsrt__consider_smaller(s, one, &j);
        }
    }
    if (one != NULL)
        gsrt__sketch_give_back(s, one);
    gsrt__search_greedy(s);
}

/* The best for another objective, with rivals of its own; *out: a copy. false: there is none. */
static bool probe(gsrt__search *s, const gsrt_search_problem *other, uint64_t budget, gsrt__sketch *out)
{
    const gsrt_search_problem *asked = s->problem;
    gsrt__rival *rivals = s->rivals;
    uint32_t *counts = s->rival_counts;
    uint64_t end = s->budget_now;
    s->status = gsrt__rivals_init(s);
    s->problem = other;
    s->budget_now = s->evaluation_count + budget;
    s->is_probing = true;
    if (s->status == GSRT_OK)
        gsrt__search_dp(s);
    gsrt__rivals_fini(s);
    bool has_best = s->has_best;
    if (has_best)
        gsrt__sketch_copy(out, &s->best);
    s->has_best = s->is_probing = false;
    s->budget_now = end;
    s->problem = asked;
    s->rivals = rivals;
    s->rival_counts = counts;
    return has_best && s->status == GSRT_OK;
}

/* What keeps the limits may lie where another objective leads: to each limited measure for itself, and on from there.
 */
static void seek_limits(gsrt__search *s)
{
    const gsrt_objective *o = &s->problem->objective;
    gsrt__sketch *from = gsrt__sketch_room(s);
    for (uint32_t i = 0; from != NULL && i < o->limit_count && !s->has_best && s->status == GSRT_OK; i++) {
        gsrt_search_problem other = *s->problem;
        gsrt__judgement j;
        uint64_t left = s->budget_now > s->evaluation_count ? s->budget_now - s->evaluation_count : 0;
        other.objective = (gsrt_objective){.measure = o->limits[i].measure, .percentile = o->limits[i].percentile};
        if (probe(s, &other, left / (o->limit_count - i), from) && gsrt__consider(s, from, &j) && !j.is_feasible)
            gsrt__climb(s, from, &j);
    }
    if (from != NULL)
        gsrt__sketch_give_back(s, from);
}

/* Where the policy found nothing: from what only exceeds limits; else, after what does not look everywhere, by dynamic
 * programming; a small instance is gone through, with a budget of its own, so that no policy misses a plan that
 * `exhaustive` finds. */
static void find_any(gsrt__search *s, const policy *chosen)
{
    uint64_t budget = s->options->budget;
    gsrt__sketch *from = gsrt__sketch_room(s);
    s->budget_now = budget / 4 * 3;
    if (from != NULL && s->has_near) {
        gsrt__judgement j = s->near_judgement;
        gsrt__sketch_copy(from, &s->near);
        gsrt__climb(s, from, &j);
    }
    if (!s->has_best && s->has_near)
        gsrt__climb_rivals(s, GSRT_REASON_LIMIT);
    s->budget_now = budget;
    bool is_partial = chosen->run == gsrt__search_greedy || chosen->run == gsrt__search_milp;
    if (!s->has_best && is_partial && s->status == GSRT_OK)
        gsrt__search_dp(s);
    if (from != NULL)
        gsrt__sketch_give_back(s, from);
    if (!s->has_best && s->status == GSRT_OK)
        seek_limits(s);
    if (!s->has_best && s->is_small && s->status == GSRT_OK)
        gsrt__search_any(s);
    if (!s->has_best && s->status == GSRT_OK && gsrt__rival_of(s, GSRT_REASON_MEMORY, 0) == NULL)
        look_at_memory(s);
}

static gsrt_status run(gsrt__search *s, const policy *chosen, gsrt_search_result *result)
{
    uint64_t budget = s->options->budget;
    s->budget_now = chosen->is_for_small ? budget : budget / 2; /* what the contract refuses is considered in there */
    gsrt_status status = prepare(s);
    if (status == GSRT_OK && chosen->is_for_small && !s->is_small)
        status = unsupported(s, chosen->name, s->diag);
    if (status == GSRT_OK) {
        chosen->run(s);
        if (!s->has_best && !chosen->is_for_small && s->status == GSRT_OK)
            find_any(s, chosen);
        status = s->status;
    }
    return status == GSRT_OK ? report(s, result) : status;
}

gsrt_status gsrt_search(const gsrt_search_problem *problem, const gsrt_search_options *options, gsrt_diag *diag,
                        gsrt_search_result **out)
{
    const policy *chosen = policy_named(options->policy);
    if (chosen == NULL)
        return gsrt_diag_set(diag, GSRT_EINPUT, NULL, NULL, "no policy '%s'; use exhaustive, greedy, dp, local or milp",
                             options->policy);
    gsrt__search *s = calloc(1, sizeof *s);
    gsrt_search_result *result = calloc(1, sizeof *result);
    gsrt_status status = s == NULL || result == NULL ? GSRT_ENOMEM : GSRT_OK;
    if (status == GSRT_OK) {
        s->problem = problem;
        s->options = options;
        s->diag = diag;
        gsrt_arena_init(&s->arena, GSRT_SEARCH_BYTES_MAX);
        gsrt_arena_init(&result->arena, GSRT_SEARCH_BYTES_MAX);
        status = run(s, chosen, result);
        gsrt__rivals_fini(s);
        (void)gsrt_cost_profile_free(s->profile);
        (void)gsrt_cost_memo_free(s->memo);
        gsrt__reach_fini(s);
        gsrt_arena_fini(&s->arena);
    }
    free(s);
    if (status == GSRT_OK)
        *out = result;
    else
        (void)gsrt_search_result_free(result);
    return status;
}

gsrt_search_result *gsrt_search_result_free(gsrt_search_result *result)
{
    if (result == NULL)
        return NULL;
    for (uint32_t i = 0; i < result->rival_count; i++)
        (void)gsrt_deployment_free(result->rivals[i].deployment);
    (void)gsrt_deployment_free(result->best);
    gsrt_arena_fini(&result->arena);
    free(result);
    return NULL;
}
