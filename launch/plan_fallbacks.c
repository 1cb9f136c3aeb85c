#include "launch/plan_fallbacks.h"

#include "base/limits.h"
#include "launch/plan_words.h"
#include "placement/fallback.h"
#include "placement/fleet_without.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUDGET_SHARE = 8, BUDGET_MIN = 64 };

/* Room for one more; NULL: no memory, or there are enough. */
static gsrt_plan_fallback *add(gsrt_plan_fallbacks *all)
{
    if (all->count == GSRT_PLAN_FALLBACKS_MAX) {
        all->left_out++;
        return NULL;
    }
    return &all->items[all->count++];
}

/* Everything but the objective: its limits may be missed, and it may be unknown of what is left. */
static gsrt_status judge(const gsrt_planning *p, const gsrt_deployment *deployment, gsrt_plan_fallback *f)
{
    gsrt_cost cost;
    gsrt_violations violations;
    gsrt_status status = gsrt_planning_predict(p, deployment, NULL, &cost);
    if (status != GSRT_OK)
        return status;
    const gsrt_objective *o = &p->problem.objective;
    f->objective = cost.values[o->measure][o->percentile];
    f->objective.source_text = NULL;
    status = gsrt_deployment_check(&p->problem, deployment, &cost, &violations);
    gsrt_cost_fini(&cost);
    if (status != GSRT_OK)
        return status;
    f->is_protected = true;
    for (uint32_t i = 0; i < violations.count && f->is_protected; i++) {
        const gsrt_violation *v = &violations.items[i];
        if (strcmp(v->rule, "o1") == 0) {
            f->misses_limits |= v->subject == GSRT_SUBJECT_LIMIT || strcmp(v->reason, GSRT_REASON_LIMIT) == 0;
            continue;
        }
        f->is_protected = false;
        (void)snprintf(f->why, sizeof f->why, "%s (%s)", v->constraint, v->reason);
    }
    gsrt_violations_fini(&violations);
    return GSRT_OK;
}

/* ---- what evidence admits ---- */

/* What a violation that is seen in use leads to: nothing that rests on evidence (a watch, docs/scenario.md). */
static gsrt_status without_evidence(const gsrt_planning *p, gsrt_plan_fallbacks *all)
{
    gsrt_deployment *left = gsrt_deployment_copy(p->choice);
    gsrt_verdict verdict;
    uint32_t count = 0;
    if (left == NULL)
        return GSRT_ENOMEM;
    const gsrt_search_problem *q = &p->problem;
    gsrt_status status = gsrt_contract_disable(q->contract, q->workload, q->fleet, left, NULL, 0, &verdict, &count);
    if (status == GSRT_OK) {
        gsrt_plan_fallback *f = count == 0 ? NULL : add(all);
        if (f != NULL) {
            (void)snprintf(f->domain, sizeof f->domain, "what rests on evidence");
            f->way = "as given";
            status = judge(p, left, f);
        }
        if (f != NULL && status == GSRT_OK)
            status = gsrt_plan_words_copy(p, left, &f->words);
        gsrt_verdict_fini(&verdict);
    }
    (void)gsrt_deployment_free(left);
    return status;
}

/* ---- ranks ---- */

static gsrt_status without_rank(const gsrt_planning *p, const gsrt_plan *plan, uint32_t lost, gsrt_plan_fallback *f)
{
    bool is_there[GSRT_RANK_COUNT_MAX];
    gsrt_plan *left = NULL;
    gsrt_way way;
    const gsrt_deployment_pool *pool = &p->choice->pools[0];
    for (uint32_t rank = 0; rank < p->rank_count; rank++)
        is_there[rank] = rank != lost;
    gsrt_status status = gsrt_plan_without(plan, is_there, p->rank_count, &left, &way);
    if (status == GSRT_EINFEASIBLE) {
        (void)snprintf(f->why, sizeof f->why, "nobody is left");
        return GSRT_OK;
    }
    if (status != GSRT_OK)
        return status;
    f->way = gsrt_way_name(way);
    gsrt_deployment *d = gsrt_rank_fleet_deployment(&p->ranks, p->workload, left, pool->batch_max, pool->prefill_tokens,
                                                    p->choice->context_max);
    status = d == NULL ? GSRT_ENOMEM : judge(p, d, f);
    if (status == GSRT_OK)
        status = gsrt_plan_words_copy(p, d, &f->words);
    (void)gsrt_deployment_free(d);
    (void)gsrt_plan_free(left);
    return status;
}

static gsrt_status find_ranks(const gsrt_planning *p, gsrt_plan_fallbacks *all)
{
    gsrt_plan *plan = NULL;
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_rank_fleet_plan(&p->ranks, p->workload, p->choice, &plan, &diag);
    if (status == GSRT_EUNSUPPORTED)
        return GSRT_OK; /* without weights there may be a plan that nobody runs */
    for (uint32_t rank = 0; rank < p->rank_count && status == GSRT_OK; rank++) {
        gsrt_plan_fallback *f = add(all);
        if (f == NULL)
            continue;
        (void)snprintf(f->domain, sizeof f->domain, "rank%" PRIu32, rank);
        f->is_of_rank = true;
        f->rank = rank;
        status = without_rank(p, plan, rank, f);
    }
    (void)gsrt_plan_free(plan);
    return status;
}

/* ---- an inventory ---- */

static gsrt_status plan_anew(const gsrt_planning *p, const gsrt_fleet *fleet, gsrt_plan_fallback *f)
{
    gsrt_planning left = *p; /* the same question on another fleet: borrows everything */
    uint64_t budget = p->scenario->planning.budget / BUDGET_SHARE;
    gsrt_search_options options = {.policy = p->scenario->planning.policy,
                                   .budget = budget > BUDGET_MIN ? budget : BUDGET_MIN,
                                   .seed = p->scenario->planning.seed,
                                   .kept_max = 1};
    gsrt_diag diag = {0};
    left.problem.fleet = fleet;
    left.problem.objective.limit_count = 0;
    gsrt_search_result *result = NULL;
    gsrt_status status = gsrt_search(&left.problem, &options, &diag, &result);
    if (status == GSRT_EUNSUPPORTED) {
        (void)snprintf(f->why, sizeof f->why, "%.200s", diag.text);
        return GSRT_OK;
    }
    if (status != GSRT_OK)
        return status;
    left.problem.objective.limit_count = p->problem.objective.limit_count;
    if (result->best != NULL) {
        f->way = "planned anew";
        status = judge(&left, result->best, f);
        if (status == GSRT_OK)
            status = gsrt_plan_words_copy(&left, result->best, &f->words);
    } else {
        const gsrt_rejection *first = result->rival_count == 0 ? NULL : &result->rivals[0].rejection;
        (void)snprintf(f->why, sizeof f->why, "%s (%s)", first == NULL ? "nothing can be tried" : first->constraint,
                       first == NULL ? "engines" : first->reason);
    }
    (void)gsrt_search_result_free(result);
    return status;
}

static gsrt_status without_domain(const gsrt_planning *p, gsrt_fleet_domain domain, gsrt_plan_fallbacks *all)
{
    const gsrt_fleet *fleet = p->problem.fleet;
    gsrt_plan_fallback *f = add(all);
    if (f == NULL)
        return GSRT_OK;
    bool is_place = domain.place != GSRT_FLEET_NONE;
    const char *name = is_place ? fleet->places[domain.place].name : fleet->parts[domain.part].name;
    uint32_t count = is_place ? fleet->places[domain.place].count : fleet->parts[domain.part].count;
    uint64_t total = is_place ? fleet->places[domain.place].total : fleet->parts[domain.part].total;
    if (total == 1)
        (void)snprintf(f->domain, sizeof f->domain, "%s", name);
    else
        (void)snprintf(f->domain, sizeof f->domain, "one of %" PRIu32 " %s%s", count, name,
                       total > count ? " in each place" : "");
    gsrt_fleet *left = NULL;
    gsrt_status status = gsrt_fleet_without(fleet, domain, &left);
    if (status == GSRT_EEMPTY) {
        (void)snprintf(f->why, sizeof f->why, "no engine is left");
        return GSRT_OK;
    }
    if (status == GSRT_OK)
        status = plan_anew(p, left, f);
    (void)gsrt_fleet_free(left);
    return status;
}

static bool is_used(const gsrt_planning *p, gsrt_fleet_domain domain)
{
    for (uint32_t i = 0; i < p->choice->pool_count; i++) {
        for (uint32_t s = 0; s < p->choice->pools[i].stage_count; s++) {
            const gsrt_deployment_stage *stage = &p->choice->pools[i].stages[s];
            for (uint32_t m = 0; m < stage->member_count; m++) {
                if (gsrt_fleet_is_in(p->problem.fleet, stage->members[m].part, domain))
                    return true;
            }
        }
    }
    return false;
}

/* Something between an engine of the plan and the rest. */
static bool joins(const gsrt_planning *p, uint32_t part)
{
    const gsrt_fleet *fleet = p->problem.fleet;
    gsrt_part_kind kind = fleet->parts[part].kind;
    if (kind == GSRT_PART_ENGINE || kind == GSRT_PART_MEMORY)
        return false;
    for (uint32_t i = 0; i < fleet->link_count; i++) {
        const gsrt_link *link = &fleet->links[i];
        uint32_t other = link->from == part ? link->to : link->to == part ? link->from : GSRT_FLEET_NONE;
        if (other != GSRT_FLEET_NONE && is_used(p, (gsrt_fleet_domain){.place = GSRT_FLEET_NONE, .part = other}))
            return true;
    }
    return false;
}

static gsrt_status find_domains(const gsrt_planning *p, gsrt_plan_fallbacks *all)
{
    const gsrt_fleet *fleet = p->problem.fleet;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < fleet->place_count && status == GSRT_OK; i++) {
        gsrt_fleet_domain domain = {.place = i, .part = GSRT_FLEET_NONE};
        if (is_used(p, domain))
            status = without_domain(p, domain, all);
    }
    for (uint32_t i = 0; i < fleet->part_count && status == GSRT_OK; i++) {
        gsrt_fleet_domain domain = {.place = GSRT_FLEET_NONE, .part = i};
        if (is_used(p, domain) || joins(p, i))
            status = without_domain(p, domain, all);
    }
    return status;
}

gsrt_status gsrt_plan_fallbacks_find(const gsrt_planning *planning, gsrt_plan_fallbacks *out)
{
    *out = (gsrt_plan_fallbacks){.items = calloc(GSRT_PLAN_FALLBACKS_MAX, sizeof *out->items)};
    if (out->items == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = without_evidence(planning, out);
    if (status != GSRT_OK)
        return status;
    return planning->is_of_ranks ? find_ranks(planning, out) : find_domains(planning, out);
}

void gsrt_plan_fallbacks_fini(gsrt_plan_fallbacks *fallbacks)
{
    for (uint32_t i = 0; fallbacks->items != NULL && i < fallbacks->count; i++)
        free(fallbacks->items[i].words);
    free(fallbacks->items);
    *fallbacks = (gsrt_plan_fallbacks){0};
}
