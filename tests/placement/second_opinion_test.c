/* Two implementations of the same rules, on the same random deployments: what the cost model says that an engine must
 * hold is what the checker counts; what the judge of contracts admits the checker admits. */
#include "placement/deployment_check.h"
#include "tests/placement/triples.h"
#include "tests/unit.h"

#include <stdio.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TRIPLES = 100 };
#else
enum { TRIPLES = 1000 };
#endif

enum { DEPLOYMENTS = 4, STREAM_DEPLOYMENT = 50 };

/* All memories are far too small, so that the checker names what each would have to hold. */
static void shrink_memories(triple *t)
{
    for (uint32_t p = 0; p < t->fleet->part_count; p++) {
        gsrt_quantity *capacity = (gsrt_quantity *)&t->fleet->parts[p].capacity;
        if (t->fleet->parts[p].kind == GSRT_PART_MEMORY)
            *capacity = gsrt_quantity_exact(1, (gsrt_dimension){.byte = 1});
    }
}

/* The memory that only this engine reads ("e0.hbm"); GSRT_FLEET_NONE: it shares one, or nobody says how fast its own is
 * and it uses the host's. */
static uint32_t own_memory(const triple *t, uint32_t engine)
{
    char name[GSRT_FLEET_NAME_BYTES_MAX + 8];
    (void)snprintf(name, sizeof name, "%s.hbm", t->fleet->parts[engine].name);
    uint32_t own = gsrt_fleet_part_named(t->fleet, name);
    for (uint32_t i = 0; i < t->fleet->link_count; i++) {
        const gsrt_link *link = &t->fleet->links[i];
        if (link->to == engine && link->from == own && !gsrt_quantity_is_valid_on(&link->bandwidth, t->problem.today))
            return GSRT_FLEET_NONE;
    }
    return own;
}

static void compare_memories(const triple *t, const gsrt_deployment *deployment, const gsrt_violations *found,
                             const gsrt_cost *cost)
{
    double most[64] = {0};
    bool is_known = true; /* the checker looks for a memory whose bandwidth is stated */
    for (uint32_t i = 0; i < cost->memory_count; i++) {
        const gsrt_cost_memory *m = &cost->memories[i];
        uint32_t engine = deployment->pools[m->pool].stages[m->stage].members[m->member].part;
        uint32_t memory = own_memory(t, engine);
        double bytes = m->weights.value + m->state.value + m->buffers.value;
        if (memory != GSRT_FLEET_NONE && memory < 64 && bytes > most[memory])
            most[memory] = bytes;
    }
    for (uint32_t i = 0; i < found->count; i++) {
        const gsrt_violation *v = &found->items[i];
        is_known = is_known && (strcmp(v->rule, "m4") != 0 || strcmp(v->reason, GSRT_REASON_UNKNOWN) != 0);
        if (strcmp(v->reason, GSRT_REASON_MEMORY) != 0 || strstr(t->fleet->parts[v->index].name, ".hbm") == NULL)
            continue;
        ck_assert_msg(v->needed.value == most[v->index], "seed %llu: '%s' holds %.17g, or %.17g for the cost model",
                      (unsigned long long)t->seed, t->fleet->parts[v->index].name, v->needed.value, most[v->index]);
        most[v->index] = 0;
    }
    for (uint32_t p = 0; p < 64 && is_known; p++)
        ck_assert_msg(most[p] == 0, "seed %llu: '%s' holds %.17g only for the cost model", (unsigned long long)t->seed,
                      t->fleet->parts[p].name, most[p]);
}

static bool is_about_contract(const gsrt_violation *v)
{
    return strcmp(v->rule, "k1") == 0 || strcmp(v->rule, "g1") == 0;
}

static void compare_verdicts(const triple *t, const gsrt_deployment *deployment, const gsrt_violations *found)
{
    const gsrt_search_problem *p = &t->problem;
    const char *first = NULL;
    bool is_confirmed = false;
    gsrt_verdict verdict;
    ck_assert_int_eq(
        gsrt_contract_judge(p->contract, p->workload, p->fleet, deployment, p->evidence, p->evidence_count, &verdict),
        GSRT_OK);
    for (uint32_t i = 0; i < found->count; i++) {
        if (!is_about_contract(&found->items[i]))
            continue;
        first = first == NULL ? found->items[i].constraint : first;
        is_confirmed = is_confirmed || (!verdict.is_kept && strcmp(verdict.reason, found->items[i].reason) == 0);
    }
    ck_assert_msg(verdict.is_kept == (first == NULL), "seed %llu: the judge says '%s' and the checker '%s'",
                  (unsigned long long)t->seed, verdict.is_kept ? "kept" : verdict.constraint,
                  first == NULL ? "kept" : first);
    ck_assert_msg(verdict.is_kept || is_confirmed, "seed %llu: no '%s' for the checker", (unsigned long long)t->seed,
                  verdict.is_kept ? "" : verdict.reason);
    gsrt_verdict_fini(&verdict);
}

START_TEST(both_say_the_same)
{
    uint32_t compared = 0;
    for (uint64_t seed = 1; seed <= TRIPLES; seed++) {
        triple t;
        triple_draw(seed, &t);
        shrink_memories(&t);
        for (uint64_t i = 0; i < DEPLOYMENTS; i++) {
            gsrt_violations found;
            gsrt_cost cost;
            gsrt_deployment *deployment = triple_deploy(&t, (dice){seed, STREAM_DEPLOYMENT + i, 0});
            if (deployment == NULL)
                continue;
            gsrt_cost_question question = {
                .workload = t.workload, .fleet = t.fleet, .deployment = deployment, .demand = &t.problem.demand};
            ck_assert_int_eq(gsrt_deployment_check(&t.problem, deployment, NULL, &found), GSRT_OK);
            ck_assert_int_eq(gsrt_cost_predict(&question, NULL, &cost), GSRT_OK);
            compare_memories(&t, deployment, &found, &cost);
            compare_verdicts(&t, deployment, &found);
            compared++;
            gsrt_cost_fini(&cost);
            gsrt_violations_fini(&found);
            deployment = gsrt_deployment_free(deployment);
        }
        triple_drop(&t);
    }
    ck_assert_uint_ge(compared, 2 * TRIPLES);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {both_say_the_same};
    return unit_run("second_opinion", tests, sizeof tests / sizeof tests[0]);
}
