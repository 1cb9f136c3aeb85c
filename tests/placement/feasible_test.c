/* Feasible, always: on random problems (tests/placement/triples.h) every plan that a policy returns satisfies the
 * independent checker; where one policy can show that there is a plan, no other may miss it; and each rejection says
 * the truth: its reason is the checker's, its smallest change admits the plan, and 99 % of that change do not.
 *
 * GSRT_TRIPLES: how many problems (10,000 take a quarter of an hour). GSRT_TRIPLES_FIRST: the first one's seed.
 */
#include "placement/deployment_check.h"
#include "tests/placement/triples.h"
#include "tests/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TRIPLES = 60 };
#else
enum { TRIPLES = 600 };
#endif

enum { TRIPLES_TO_TELL = 600 };
enum { BUDGET = 100, BUDGET_EXHAUSTIVE = 2000, EXHAUSTIVE_ENGINES = 8, RIVALS = 8 };

/* What is counted over all problems. */
typedef struct tally {
    uint64_t problems, feasible, plans, rivals, confirmed, changes, exhausted;
    uint64_t offloaded_plans, offloaded_rivals, offloaded_changes; /* of them, with KV in a second memory tier */
    uint64_t away_plans;                                     /* of plans, with requests that go to another region */
    uint64_t divided_plans, divided_rivals, divided_changes; /* with the context in parts */
    uint64_t reasons[32];
    const char *words[32];
} tally;

/* One problem while it is played. */
typedef struct game {
    triple t;
    gsrt_fleet *today; /* the fleet as it is known on the day: what has expired is unknown */
    tally *tally;
    const char *policy;
} game;

#define FAIL(g, ...)                                                                                                   \
    do {                                                                                                               \
        char said_[2048];                                                                                              \
        (void)snprintf(said_, sizeof said_, __VA_ARGS__);                                                              \
        ck_abort_msg("GSRT_TRIPLES_FIRST=%llu, %s: %s", (unsigned long long)(g)->t.seed, (g)->policy, said_);          \
    } while (0)

/* ---- the fleet of the day ---- */

static void expire(const gsrt_quantity *quantity, int32_t today)
{
    if (!gsrt_quantity_is_valid_on(quantity, today))
        *(gsrt_quantity *)quantity = (gsrt_quantity){0};
}

static void expire_fleet(gsrt_fleet *fleet, int32_t today)
{
    for (uint32_t i = 0; i < fleet->place_count; i++) {
        const gsrt_place *p = &fleet->places[i];
        const gsrt_quantity *const all[] = {&p->power_budget, &p->cooling_budget, &p->energy_price, &p->mttf};
        for (size_t q = 0; q < sizeof all / sizeof all[0]; q++)
            expire(all[q], today);
    }
    for (uint32_t i = 0; i < fleet->part_count; i++) {
        const gsrt_part *p = &fleet->parts[i];
        const gsrt_quantity *const all[] = {
            &p->capacity, &p->bandwidth, &p->launch_overhead, &p->power_idle, &p->power_max, &p->price, &p->mttf};
        for (size_t q = 0; q < sizeof all / sizeof all[0]; q++)
            expire(all[q], today);
        for (size_t q = 0; p->rates != NULL && q < (size_t)GSRT_CLASS_COUNT * GSRT_FORMAT_COUNT; q++)
            expire(&p->rates[q], today);
    }
    for (uint32_t i = 0; i < fleet->link_count; i++) {
        const gsrt_link *l = &fleet->links[i];
        const gsrt_quantity *const all[] = {&l->bandwidth, &l->latency, &l->setup,      &l->energy,
                                            &l->price,     &l->mttf,    &l->correlation};
        for (size_t q = 0; q < sizeof all / sizeof all[0]; q++)
            expire(all[q], today);
    }
}

/* ---- what the checker says ---- */

/* Where only values are asked for, and ways are remembered, the values are the same. */
static void check_ranking(const gsrt_cost_question *asked, const gsrt_cost *whole)
{
    gsrt_cost_question question = *asked;
    gsrt_cost cost;
    question.memo = gsrt_cost_memo_create();
    question.is_plain = true;
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(gsrt_cost_predict(&question, NULL, &cost), GSRT_OK);
        for (gsrt_measure m = 0; m < GSRT_MEASURE_COUNT; m++)
            for (gsrt_percentile k = 0; k < GSRT_PERCENTILE_COUNT; k++) {
                const gsrt_quantity *a = &cost.values[m][k], *b = &whole->values[m][k];
                ck_assert_msg(a->is_known == b->is_known && (!a->is_known || a->value == b->value),
                              "%s: %.17g for ranking, %.17g else", gsrt_measure_word(m), a->value, b->value);
            }
        gsrt_cost_fini(&cost);
    }
    question.memo = gsrt_cost_memo_free(question.memo);
}

/* A higher percentile is no less: neither what is predicted, nor either end of its interval. */
static void check_percentiles(const game *g, const gsrt_cost *cost)
{
    for (gsrt_measure m = 0; m <= GSRT_MEASURE_LATENCY; m++)
        for (gsrt_percentile k = 1; k < GSRT_PERCENTILE_COUNT; k++) {
            const gsrt_quantity *a = &cost->values[m][k - 1], *b = &cost->values[m][k];
            if (a->is_known && b->is_known && !(a->value <= b->value && a->lo <= b->lo && a->hi <= b->hi))
                FAIL(g, "%s %s is %.17g [%.17g, %.17g], and %s %.17g [%.17g, %.17g]", gsrt_measure_word(m),
                     gsrt_percentile_word(k - 1), a->value, a->lo, a->hi, gsrt_percentile_word(k), b->value, b->lo,
                     b->hi);
        }
}

/* Each request is prefilled somewhere, and decoded somewhere. */
static void check_shares(const game *g, const gsrt_deployment *deployment, const gsrt_cost *cost)
{
    double sums[2] = {0, 0};
    if ((cost->routes != NULL) != (g->t.problem.demand.origin != NULL))
        FAIL(g, "routes without an origin, or an origin without routes");
    if (cost->routes == NULL || !cost->values[GSRT_MEASURE_THROUGHPUT][0].is_known)
        return;
    for (uint32_t p = 0; p < deployment->pool_count; p++) {
        sums[0] += (deployment->pools[p].phases & GSRT_PHASE_PREFILL) != 0 ? cost->routes[p].share : 0;
        sums[1] += (deployment->pools[p].phases & GSRT_PHASE_DECODE) != 0 ? cost->routes[p].share : 0;
    }
    if (fabs(sums[0] - 1) > 1e-9 || fabs(sums[1] - 1) > 1e-9)
        FAIL(g, "%.17g of the requests are prefilled, %.17g decoded", sums[0], sums[1]);
}

static uint64_t is_away(const gsrt_deployment *deployment, const gsrt_cost *cost)
{
    for (uint32_t p = 0; cost->routes != NULL && p < deployment->pool_count; p++) {
        if (cost->routes[p].is_away && cost->routes[p].share > 0)
            return 1;
    }
    return 0;
}

static gsrt_cost predict(const game *g, const gsrt_deployment *deployment)
{
    const gsrt_search_problem *p = &g->t.problem;
    gsrt_cost cost;
    gsrt_cost_question question = {
        .workload = p->workload, .fleet = g->today, .deployment = deployment, .demand = &p->demand, .mode = p->mode};
    ck_assert_int_eq(gsrt_cost_predict(&question, NULL, &cost), GSRT_OK);
    check_ranking(&question, &cost);
    check_percentiles(g, &cost);
    check_shares(g, deployment, &cost);
    return cost;
}

/* Does the deployment refer to things that exist? Only then can anything be predicted of it. */
static bool has_shape(const gsrt_violations *found)
{
    for (uint32_t i = 0; i < found->count; i++) {
        if (strcmp(found->items[i].rule, "d1") == 0 || strcmp(found->items[i].rule, "e1") == 0)
            return false;
    }
    return true;
}

/* Check with the predictions, where there can be any. */
static void look(const game *g, const gsrt_deployment *deployment, gsrt_violations *out)
{
    ck_assert_int_eq(gsrt_deployment_check(&g->t.problem, deployment, NULL, out), GSRT_OK);
    if (!has_shape(out))
        return;
    gsrt_violations_fini(out);
    gsrt_cost cost = predict(g, deployment);
    ck_assert_int_eq(gsrt_deployment_check(&g->t.problem, deployment, &cost, out), GSRT_OK);
    gsrt_cost_fini(&cost);
}

static const char *first_of(const gsrt_violations *found, char room[512])
{
    if (found->count == 0)
        return "nothing";
    (void)snprintf(room, 512, "%s, %s: %s (needed %.17g, available %.17g)", found->items[0].rule,
                   found->items[0].reason, found->items[0].constraint, found->items[0].needed.value,
                   found->items[0].available.value);
    return room;
}

/* ---- what is counted ---- */

static uint64_t is_offloaded(const gsrt_deployment *deployment)
{
    bool is_any = false;
    for (uint32_t p = 0; p < deployment->pool_count; p++)
        is_any = is_any || deployment->pools[p].kv_offload > 0;
    return is_any ? 1 : 0;
}

static uint64_t is_divided(const gsrt_deployment *deployment)
{
    bool is_any = false;
    for (uint32_t p = 0; p < deployment->pool_count; p++)
        for (uint32_t s = 0; s < deployment->pools[p].stage_count; s++)
            is_any = is_any || deployment->pools[p].stages[s].context_width > 1;
    return is_any ? 1 : 0;
}

/* ---- smallest changes ---- */

/* Set the right side of what was violated; the former value is returned. */
static gsrt_quantity set_right_side(game *g, const gsrt_violation *v, gsrt_quantity to)
{
    gsrt_quantity *at[2] = {NULL, NULL}, before = {0};
    switch (v->subject) {
    case GSRT_SUBJECT_CAPACITY:
        at[0] = (gsrt_quantity *)&g->t.fleet->parts[v->index].capacity;
        at[1] = (gsrt_quantity *)&g->today->parts[v->index].capacity;
        break;
    case GSRT_SUBJECT_POWER:
        at[0] = (gsrt_quantity *)&g->t.fleet->places[v->index].power_budget;
        at[1] = (gsrt_quantity *)&g->today->places[v->index].power_budget;
        break;
    case GSRT_SUBJECT_COOLING:
        at[0] = (gsrt_quantity *)&g->t.fleet->places[v->index].cooling_budget;
        at[1] = (gsrt_quantity *)&g->today->places[v->index].cooling_budget;
        break;
    case GSRT_SUBJECT_LIMIT: at[0] = &g->t.problem.objective.limits[v->index].bound; break;
    case GSRT_SUBJECT_RULE:
        before = gsrt_quantity_exact(g->t.rules[v->index].bound, (gsrt_dimension){0});
        g->t.rules[v->index].bound = to.value;
        return before;
    case GSRT_SUBJECT_CONTEXT:
    case GSRT_SUBJECT_NONE: FAIL(g, "no right side of '%s' to change", v->constraint);
    }
    before = *at[0];
    *at[0] = to;
    if (at[1] != NULL)
        *at[1] = to;
    return before;
}

/* With the right side at `value`: is the deployment admitted? */
static bool is_admitted_at(game *g, const gsrt_deployment *deployment, const gsrt_violation *v, double value,
                           gsrt_violations *out)
{
    gsrt_quantity to = gsrt_quantity_exact(value, v->needed.dimension);
    gsrt_quantity before = set_right_side(g, v, to);
    look(g, deployment, out);
    (void)set_right_side(g, v, before);
    return out->count == 0;
}

static void check_change(game *g, const gsrt_rival *rival, const gsrt_violation *v)
{
    gsrt_violations found;
    char room[512];
    double to = rival->rejection.change_to.value, from = v->available.is_known ? v->available.value : 0;
    if (v->subject == GSRT_SUBJECT_NONE)
        FAIL(g, "a smallest change of '%s', where the checker knows no number", rival->rejection.constraint);
    if (!is_admitted_at(g, rival->deployment, v, to, &found))
        FAIL(g, "'%s' at %.17g instead of %.17g does not admit: %s", v->constraint, to, from, first_of(&found, room));
    gsrt_violations_fini(&found);
    if (is_admitted_at(g, rival->deployment, v, from + 0.99 * (to - from), &found))
        FAIL(g, "'%s': less than the smallest change admits, %.17g instead of %.17g", v->constraint, to, from);
    gsrt_violations_fini(&found);
    g->tally->changes++;
    g->tally->offloaded_changes += is_offloaded(rival->deployment);
    g->tally->divided_changes += is_divided(rival->deployment);
}

/* ---- rivals ---- */

static void count_reason(tally *all, const char *reason)
{
    uint32_t i = 0;
    while (all->words[i] != NULL && strcmp(all->words[i], reason) != 0)
        i++;
    ck_assert_uint_lt(i, 31);
    all->words[i] = reason;
    all->reasons[i]++;
}

/* Feasible, but worse than what was chosen. */
static void check_worse(const game *g, const gsrt_search_result *result, const gsrt_rival *rival,
                        const gsrt_violations *found)
{
    const gsrt_objective *objective = &g->t.problem.objective;
    char room[512];
    if (found->count > 0)
        FAIL(g, "a rival that is only worse breaks a rule: %s", first_of(found, room));
    gsrt_cost cost = predict(g, rival->deployment);
    double value = cost.values[objective->measure][objective->percentile].value;
    bool is_better = gsrt_measure_is_maximised(objective->measure) ? value > result->objective.value
                                                                   : value < result->objective.value;
    gsrt_cost_fini(&cost);
    if (result->best == NULL || is_better)
        FAIL(g, "a rival that is called worse is better: %.17g, and the best %.17g", value, result->objective.value);
}

static void check_rival(game *g, const gsrt_search_result *result, const gsrt_rival *rival)
{
    gsrt_violations found;
    char room[512];
    look(g, rival->deployment, &found);
    g->tally->rivals++;
    count_reason(g->tally, rival->rejection.reason);
    if (strcmp(rival->rejection.reason, GSRT_REASON_WORSE) == 0) {
        check_worse(g, result, rival, &found);
    } else {
        const gsrt_violation *v = gsrt_violation_with(&found, rival->rejection.reason);
        if (v == NULL)
            FAIL(g, "rejected for '%s' (%s), where the checker finds %s", rival->rejection.reason,
                 rival->rejection.constraint, first_of(&found, room));
        if (rival->rejection.change_to.is_known)
            check_change(g, rival, v);
    }
    g->tally->confirmed++;
    g->tally->offloaded_rivals += is_offloaded(rival->deployment);
    g->tally->divided_rivals += is_divided(rival->deployment);
    gsrt_violations_fini(&found);
}

/* ---- plans ---- */

static void check_plan(game *g, const gsrt_search_result *result)
{
    const gsrt_objective *objective = &g->t.problem.objective;
    gsrt_violations found;
    char room[512];
    look(g, result->best, &found);
    if (found.count > 0)
        FAIL(g, "the plan breaks a rule: %s", first_of(&found, room));
    gsrt_violations_fini(&found);
    gsrt_cost cost = predict(g, result->best);
    double value = cost.values[objective->measure][objective->percentile].value;
    g->tally->away_plans += is_away(result->best, &cost);
    gsrt_cost_fini(&cost);
    if (value != result->objective.value)
        FAIL(g, "the plan promises %.17g, and %.17g is predicted", result->objective.value, value);
    if (gsrt_measure_is_maximised(objective->measure) ? value > result->bound * (1 + 1e-9)
                                                      : value < result->bound * (1 - 1e-9))
        FAIL(g, "the plan, %.17g, is better than the bound, %.17g", value, result->bound);
    g->tally->plans++;
    g->tally->offloaded_plans += is_offloaded(result->best);
    g->tally->divided_plans += is_divided(result->best);
}

/* Few enough to go through. */
static bool is_small(const gsrt_fleet *fleet)
{
    uint64_t engines = 0;
    for (uint32_t p = 0; p < fleet->part_count; p++)
        engines += fleet->parts[p].kind == GSRT_PART_ENGINE ? fleet->parts[p].total : 0;
    return engines <= EXHAUSTIVE_ENGINES;
}

/* Does the policy find a plan? *out_is_complete: it went through all there are. */
static bool play_policy(game *g, const char *policy, uint64_t budget, bool *out_is_complete)
{
    gsrt_search_options options = {.policy = policy, .budget = budget, .seed = g->t.seed, .kept_max = RIVALS};
    gsrt_search_result *result = NULL;
    gsrt_diag diag = {0};
    g->policy = policy;
    *out_is_complete = false;
    gsrt_status status = gsrt_search(&g->t.problem, &options, &diag, &result);
    if (status == GSRT_EUNSUPPORTED)
        return false;
    if (status != GSRT_OK)
        FAIL(g, "%s: %s", gsrt_status_name(status), diag.text);
    if (result->best != NULL)
        check_plan(g, result);
    for (uint32_t r = 0; r < result->rival_count; r++)
        check_rival(g, result, &result->rivals[r]);
    bool has_plan = result->best != NULL;
    *out_is_complete = result->is_complete;
    result = gsrt_search_result_free(result);
    return has_plan;
}

static void play(uint64_t seed, tally *all)
{
    static const char *const policies[] = {"exhaustive", "greedy", "dp", "local"};
    game g = {.tally = all};
    bool has_plan[4], is_complete[4];
    triple_draw(seed, &g.t);
    g.today = triple_fleet(&g.t);
    expire_fleet(g.today, g.t.problem.today);
    has_plan[0] = is_complete[0] = false;
    for (int i = is_small(g.today) ? 0 : 1; i < 4; i++)
        has_plan[i] = play_policy(&g, policies[i], i == 0 ? BUDGET_EXHAUSTIVE : BUDGET, &is_complete[i]);
    for (int i = 1; i < 4; i++) {
        g.policy = policies[i];
        /* with as many evaluations as that one had */
        if (has_plan[0] && !has_plan[i] && !play_policy(&g, policies[i], BUDGET_EXHAUSTIVE, &is_complete[i]))
            FAIL(&g, "finds no plan where 'exhaustive' finds one");
        if (is_complete[0] && !has_plan[0] && has_plan[i])
            FAIL(&g, "finds a plan where 'exhaustive' says that there is none");
    }
    all->problems++;
    all->feasible += has_plan[0] || has_plan[1] || has_plan[2] || has_plan[3] ? 1 : 0;
    all->exhausted += is_complete[0] ? 1 : 0;
    g.today = gsrt_fleet_free(g.today);
    triple_drop(&g.t);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL || text[0] == 0 ? otherwise : strtoull(text, NULL, 10);
}

START_TEST(every_plan_is_feasible_and_every_rejection_true)
{
    uint64_t count = number_of("GSRT_TRIPLES", TRIPLES), first = number_of("GSRT_TRIPLES_FIRST", 1);
    tally all = {0};
    for (uint64_t i = 0; i < count; i++)
        play(first + i, &all);
    printf("%llu problems, %llu feasible, %llu gone through: %llu plans, %llu rejections, %llu of them with a change\n",
           (unsigned long long)all.problems, (unsigned long long)all.feasible, (unsigned long long)all.exhausted,
           (unsigned long long)all.plans, (unsigned long long)all.rivals, (unsigned long long)all.changes);
    printf("with KV in a second tier: %llu plans, %llu rejections, %llu of them with a change\n",
           (unsigned long long)all.offloaded_plans, (unsigned long long)all.offloaded_rivals,
           (unsigned long long)all.offloaded_changes);
    printf("of another region than requests come from: %llu plans\n", (unsigned long long)all.away_plans);
    printf("with the context in parts: %llu plans, %llu rejections, %llu of them with a change\n",
           (unsigned long long)all.divided_plans, (unsigned long long)all.divided_rivals,
           (unsigned long long)all.divided_changes);
    for (int i = 0; all.words[i] != NULL; i++)
        printf("  %s %llu\n", all.words[i], (unsigned long long)all.reasons[i]);
    ck_assert_uint_eq(all.confirmed, all.rivals);
    if (count >= TRIPLES_TO_TELL) {
        ck_assert_uint_gt(all.offloaded_plans, 0);
        ck_assert_uint_gt(all.away_plans, 0);
        ck_assert_uint_gt(all.offloaded_changes, 0);
        ck_assert_uint_gt(all.divided_plans, 0);
        ck_assert_uint_gt(all.divided_rivals, 0);
    }
    if (count >= 1000) {
        ck_assert_uint_ge(10 * all.feasible, 3 * all.problems);
        ck_assert_uint_ge(10 * (all.problems - all.feasible), 3 * all.problems);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {every_plan_is_feasible_and_every_rejection_true};
    return unit_run("feasible", tests, sizeof tests / sizeof tests[0]);
}
