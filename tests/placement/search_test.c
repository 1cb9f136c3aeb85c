/* The search: policies against the exhaustive one, bounds that hold, plans that follow the objective, names that do not
 * matter, and a fast engine that is left out.
 */
#include "placement/search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "placement/deployment_executable.h"
#include "placement/workload_text.h"
#include "tests/placement/fleets.h"

enum { TODAY = 20787 };

/* ---- problems ---- */

/* Llama-like layers of 16 million parameters: text form, so that nothing but placement/ is needed. */
static gsrt_workload *made_model(uint32_t layers)
{
    static char text[1 << 16];
    size_t used = 0;
    gsrt_workload *w = NULL;
    gsrt_diag diag = {0};
#define PUT(...) used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__)
    PUT("gsrt-workload 1\nworkload name=\"made\" architecture=\"llama\" layers=%u dim=1024 ffn=4096 heads=8 kv_heads=8 "
        "head_dim=128 value_head_dim=128 vocab=1024 context=8192\n",
        layers);
    PUT("tensor name=\"embed\" dtype=f16 stack=1 rows=1024 columns=1024 bytes=2097152\n");
    for (uint32_t l = 0; l < layers; l++) {
        static const char *const names[] = {"q", "k", "v", "o"};
        for (size_t i = 0; i < 4; i++)
            PUT("tensor name=\"%u.%s\" dtype=f16 stack=1 rows=1024 columns=1024 bytes=2097152\n", l, names[i]);
        PUT("tensor name=\"%u.up\" dtype=f16 stack=1 rows=4096 columns=1024 bytes=8388608\n", l);
        PUT("tensor name=\"%u.down\" dtype=f16 stack=1 rows=1024 columns=4096 bytes=8388608\n", l);
    }
    PUT("value name=\"x\" width=1024\n");
    for (uint32_t l = 0; l < layers; l++) {
        PUT("value name=\"%u.q\" width=1024 split=heads unit=128\n", l);
        PUT("value name=\"%u.k\" width=1024 split=heads unit=128 kv=true\n", l);
        PUT("value name=\"%u.v\" width=1024 split=heads unit=128 kv=true\n", l);
        PUT("value name=\"%u.a\" width=1024 split=heads unit=128\n", l);
        PUT("value name=\"%u.o\" width=1024 split=output unit=32\n", l);
        PUT("value name=\"%u.up\" width=4096 split=output unit=32\n", l);
        PUT("value name=\"%u.act\" width=4096 split=output unit=32\n", l);
        PUT("value name=\"%u.out\" width=1024\n", l);
    }
    PUT("value name=\"logits\" width=1024 rows=wanted split=vocab unit=1\n");
    for (uint32_t l = 0; l < layers; l++)
        PUT("state name=\"%u.kv\" kind=kv layer=%u dtype=f16 key_width=1024 value_width=1024\n", l, l);
    PUT("op kind=embed region=0 out=0 tensor=0 k_group=1\n");
    for (uint32_t l = 0; l < layers; l++) {
        uint32_t t = 1 + 6 * l, v = 1 + 8 * l, in = l == 0 ? 0 : v - 1;
        for (uint32_t i = 0; i < 3; i++)
            PUT("op kind=linear region=%u layer=%u in0=%u out=%u tensor=%u k_group=1\n", l + 1, l, in, v + i, t + i);
        PUT("op kind=attention region=%u layer=%u state=%u in0=%u in1=%u in2=%u out=%u scale=0.088388346 head_dim=128 "
            "k_group=1\n",
            l + 1, l, l, v, v + 1, v + 2, v + 3);
        PUT("op kind=linear region=%u layer=%u in0=%u out=%u tensor=%u k_group=128\n", l + 1, l, v + 3, v + 4, t + 3);
        PUT("op kind=linear region=%u layer=%u in0=%u out=%u tensor=%u k_group=1\n", l + 1, l, v + 4, v + 5, t + 4);
        PUT("op kind=gelu region=%u layer=%u in0=%u out=%u k_group=1\n", l + 1, l, v + 5, v + 6);
        PUT("op kind=linear region=%u layer=%u in0=%u out=%u tensor=%u k_group=1\n", l + 1, l, v + 6, v + 7, t + 5);
    }
    PUT("op kind=logits region=%u in0=%u out=%u tensor=0 k_group=1\n", layers + 1, 8 * layers, 8 * layers + 1);
    PUT("region name=\"embed\" count=1 out=0 phases=prefill+decode legal=recompute deterministic=true\n");
    for (uint32_t l = 0; l < layers; l++)
        PUT("region name=\"layer.%u\" layer=%u first=%u count=8 in=%u out=%u phases=prefill+decode "
            "legal=recompute+checkpoint+page+reorder effects=reads_state+writes_state deterministic=true\n",
            l, l, 1 + 8 * l, 8 * l, 8 * l + 8);
    PUT("region name=\"output\" first=%u count=1 in=%u out=%u phases=prefill+decode sensitivity=choice "
        "legal=recompute+reorder effects=emits deterministic=true\nend\n",
        1 + 8 * layers, 8 * layers, 8 * layers + 1);
#undef PUT
    gsrt_status status = gsrt_workload_read(gsrt_span_of_text(text), "made", &w, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    return w;
}

#define ENGINE(name, count, rate, bandwidth, capacity, price)                                                          \
    "  - {name: " name ", kind: engine, vendor: Maker, product: Fast, in: node, count: " count ", price: \"" price     \
    " $/h\", launch_overhead: \"2 us\", power_idle: \"50 W\", power_max: \"300 W\", software: {gsrt-canonical: "       \
    "\"1\"}, rates: {matmul: {f32: \"" rate " TFLOPS\", i8: \"" rate " TOPS\"}, vector: {f32: \"10 TFLOPS\"}}, "       \
    "memory: [{tier: hbm, capacity: \"" capacity " GB\", bandwidth: \"" bandwidth " GB/s\"}]}\n"
#define LINK(name, bandwidth, latency)                                                                                 \
    "  - {from: " name ", to: bus, kind: network, both: true, bandwidth: \"" bandwidth " GB/s\", latency: \"" latency  \
    "\"}\n"
#define FLEET(parts, links)                                                                                            \
    "gsrt_fleet: 1\nname: made\nas_of: 2026-11-01\nsource: \"declared: the test\"\n"                                   \
    "places:\n  - {name: home, kind: region}\n  - {name: node, kind: node, in: home}\nparts:\n" parts                  \
    "  - {name: bus, kind: switch, in: node}\nlinks:\n" links

typedef struct made {
    gsrt_search_problem problem;
    gsrt_contract *contract;
    gsrt_workload *workload;
    gsrt_fleet *fleet;
} made;

static made problem_of(const char *inventory, uint32_t layers, gsrt_measure measure, gsrt_percentile percentile)
{
    gsrt_findings findings;
    made m = {.contract = gsrt_contract_bitwise(), .workload = made_model(layers)};
    gsrt_status status = read_fleet(inventory, NULL, &m.fleet, &findings);
    char room[2048];
    ck_assert_msg(status == GSRT_OK, "%s", found(&findings, room, sizeof room));
    gsrt_findings_fini(&findings);
    m.problem =
        (gsrt_search_problem){.workload = m.workload,
                              .fleet = m.fleet,
                              .contract = m.contract,
                              .objective = {.measure = measure, .percentile = percentile},
                              .demand = {.prompt_tokens = gsrt_quantity_exact(256, (gsrt_dimension){.token = 1}),
                                         .output_tokens = gsrt_quantity_exact(64, (gsrt_dimension){.token = 1})},
                              .today = TODAY};
    return m;
}

static void problem_fini(made *m)
{
    (void)gsrt_workload_free(m->workload);
    (void)gsrt_fleet_free(m->fleet);
    (void)gsrt_contract_free(m->contract);
}

static gsrt_search_result *searched(const made *m, const char *policy, uint64_t budget)
{
    gsrt_search_result *result = NULL;
    gsrt_diag diag = {0};
    const gsrt_search_options options = {.policy = policy, .budget = budget, .seed = 7, .kept_max = 24};
    gsrt_status status = gsrt_search(&m->problem, &options, &diag, &result);
    if (status == GSRT_EUNSUPPORTED)
        return NULL;
    ck_assert_msg(status == GSRT_OK, "%s: %s", policy, diag.text);
    return result;
}

static bool uses(const gsrt_fleet *fleet, const gsrt_deployment *d, const char *part)
{
    for (uint32_t p = 0; p < d->pool_count; p++)
        for (uint32_t i = 0; i < d->pools[p].stage_count; i++)
            for (uint32_t m = 0; m < d->pools[p].stages[i].member_count; m++)
                if (strcmp(fleet->parts[d->pools[p].stages[i].members[m].part].name, part) == 0)
                    return true;
    return false;
}

static void print_plan(const char *who, const gsrt_fleet *fleet, const gsrt_search_result *r)
{
    printf("  %s: %g:", who, r->objective.value);
    for (uint32_t p = 0; r->best != NULL && p < r->best->pool_count; p++) {
        const gsrt_deployment_pool *pool = &r->best->pools[p];
        printf(" %llu x", (unsigned long long)pool->replica_count);
        for (uint32_t i = 0; i < pool->stage_count; i++) {
            printf(" [%u-%u", pool->stages[i].layer_first, pool->stages[i].layer_last);
            for (uint32_t m = 0; m < pool->stages[i].member_count; m++)
                printf(" %u %s/%u", pool->stages[i].members[m].instance_count,
                       fleet->parts[pool->stages[i].members[m].part].name, pool->stages[i].members[m].share);
            printf(" %s%s]", gsrt_collective_algorithm_name(pool->stages[i].algorithm),
                   pool->stages[i].overlaps ? " overlapped" : "");
        }
        printf(" batch %u chunk %u", pool->batch_max, pool->prefill_tokens);
    }
    printf("\n");
}

/* ---- near the optimum ---- */

static double gap_to(const gsrt_search_result *best, const gsrt_search_result *other, bool is_maximised)
{
    double a = best->objective.value, b = other->objective.value;
    return is_maximised ? (a - b) / a : (b - a) / a;
}

START_TEST(policies_come_near_the_optimum)
{
    static const char *const inventories[] = {
        FLEET(ENGINE("big", "2", "60", "2000", "2", "3") ENGINE("small", "1", "20", "800", "1", "1"),
              LINK("big", "50", "2 us") LINK("small", "20", "2 us")),
        FLEET(ENGINE("big", "1", "60", "2000", "0.06", "3") ENGINE("small", "2", "20", "800", "0.05", "1"),
              LINK("big", "100", "1 us") LINK("small", "100", "1 us")),
        FLEET(ENGINE("big", "1", "60", "2000", "0.02", "3") ENGINE("small", "1", "20", "800", "0.02", "1"),
              LINK("big", "50", "2 us") LINK("small", "20", "2 us")),
    };
    static const gsrt_measure measures[] = {GSRT_MEASURE_THROUGHPUT, GSRT_MEASURE_LATENCY, GSRT_MEASURE_COST};
    static const char *const others[] = {"greedy", "dp", "local", "milp"};
    double gaps[4][16];
    uint32_t counts[4] = {0};
    for (size_t f = 0; f < sizeof inventories / sizeof inventories[0]; f++)
        for (size_t k = 0; k < sizeof measures / sizeof measures[0]; k++) {
            made m = problem_of(inventories[f], 3, measures[k], GSRT_PERCENTILE_50);
            bool is_maximised = gsrt_measure_is_maximised(measures[k]);
            gsrt_search_result *best = searched(&m, "exhaustive", 2000000);
            ck_assert(best != NULL && best->is_complete);
            for (size_t p = 0; p < 4; p++) {
                gsrt_search_result *other = searched(&m, others[p], 3000);
                if (other == NULL)
                    continue;
                ck_assert_msg((other->best == NULL) == (best->best == NULL), "%s, fleet %zu, %s", others[p], f,
                              gsrt_measure_word(measures[k]));
                if (best->best != NULL) {
                    double gap = gap_to(best, other, is_maximised), optimum = best->objective.value;
                    ck_assert_msg(gap > -1e-12, "%s beats the optimum by %g", others[p], -gap);
                    ck_assert_msg(is_maximised ? other->bound >= optimum : other->bound <= optimum,
                                  "fleet %zu: bound %g of %s against %g", f, other->bound,
                                  gsrt_measure_word(measures[k]), optimum);
                    gaps[p][counts[p]++] = gap;
                    if (p > 0 && gap > 0.01) {
                        printf("fleet %zu, %s: %s is %.1f %% off\n", f, gsrt_measure_word(measures[k]), others[p],
                               100 * gap);
                        print_plan("optimum", m.fleet, best);
                        print_plan(others[p], m.fleet, other);
                    }
                }
                (void)gsrt_search_result_free(other);
            }
            (void)gsrt_search_result_free(best);
            problem_fini(&m);
        }
    for (size_t p = 0; p < 4; p++) {
        for (uint32_t i = 1; i < counts[p]; i++)
            for (uint32_t k = i; k > 0 && gaps[p][k] < gaps[p][k - 1]; k--) {
                double swap = gaps[p][k];
                gaps[p][k] = gaps[p][k - 1];
                gaps[p][k - 1] = swap;
            }
        if (counts[p] == 0)
            continue;
        double worst = gaps[p][counts[p] - 1];
        printf("%s: gap to the optimum over %u problems: median %.2f %%, worst %.2f %%\n", others[p], counts[p],
               100 * gaps[p][counts[p] / 2], 100 * worst);
        ck_assert_msg(p == 0 || p == 3 || worst < 0.25, "%s: worst gap %g", others[p], worst);
    }
}
END_TEST

/* ---- intent, names, transfers ---- */

START_TEST(objectives_make_different_plans)
{
    static const char inventory[] =
        FLEET(ENGINE("big", "4", "60", "2000", "4", "9") ENGINE("small", "4", "20", "800", "4", "1"),
              LINK("big", "50", "2 us") LINK("small", "20", "2 us"));
    made fast = problem_of(inventory, 8, GSRT_MEASURE_LATENCY, GSRT_PERCENTILE_99);
    made cheap = problem_of(inventory, 8, GSRT_MEASURE_COST, GSRT_PERCENTILE_50);
    gsrt_search_result *a = searched(&fast, "dp", 5000), *b = searched(&cheap, "dp", 5000);
    ck_assert(a->best != NULL && b->best != NULL);
    ck_assert(uses(fast.fleet, a->best, "big"));
    ck_assert(!uses(cheap.fleet, b->best, "big") && uses(cheap.fleet, b->best, "small"));
    (void)gsrt_search_result_free(a);
    (void)gsrt_search_result_free(b);
    problem_fini(&fast);
    problem_fini(&cheap);
}
END_TEST

static void check_same(const gsrt_deployment *a, const gsrt_deployment *b)
{
    ck_assert_uint_eq(a->pool_count, b->pool_count);
    for (uint32_t p = 0; p < a->pool_count; p++) {
        const gsrt_deployment_pool *x = &a->pools[p], *y = &b->pools[p];
        ck_assert_uint_eq(x->stage_count, y->stage_count);
        ck_assert_uint_eq(x->replica_count, y->replica_count);
        ck_assert_uint_eq(x->batch_max, y->batch_max);
        ck_assert_uint_eq(x->prefill_tokens, y->prefill_tokens);
        for (uint32_t i = 0; i < x->stage_count; i++) {
            ck_assert_uint_eq(x->stages[i].layer_last, y->stages[i].layer_last);
            ck_assert_uint_eq(x->stages[i].members[0].part, y->stages[i].members[0].part);
            ck_assert_uint_eq(x->stages[i].members[0].instance_count, y->stages[i].members[0].instance_count);
        }
    }
}

START_TEST(names_of_makers_do_not_matter)
{
    static const char inventory[] =
        FLEET(ENGINE("big", "4", "60", "2000", "4", "9") ENGINE("small", "4", "20", "800", "4", "1"),
              LINK("big", "50", "2 us") LINK("small", "20", "2 us"));
    static char renamed[sizeof inventory];
    memcpy(renamed, inventory, sizeof inventory);
    for (char *at = renamed; (at = strstr(at, "Maker")) != NULL;)
        memcpy(at, "Other", 5);
    for (char *at = renamed; (at = strstr(at, "Fast")) != NULL;)
        memcpy(at, "Slow", 4);
    made a = problem_of(inventory, 8, GSRT_MEASURE_THROUGHPUT, GSRT_PERCENTILE_50);
    made b = problem_of(renamed, 8, GSRT_MEASURE_THROUGHPUT, GSRT_PERCENTILE_50);
    gsrt_search_result *x = searched(&a, "local", 4000), *y = searched(&b, "local", 4000);
    ck_assert(x->best != NULL && y->best != NULL);
    ck_assert(x->objective.value == y->objective.value && x->evaluation_count == y->evaluation_count);
    check_same(x->best, y->best);
    (void)gsrt_search_result_free(x);
    (void)gsrt_search_result_free(y);
    problem_fini(&a);
    problem_fini(&b);
}
END_TEST

/* The fast engine holds half of the layers, and the way to it takes a millisecond. */
START_TEST(the_fastest_engine_is_left_out)
{
    static const char inventory[] =
        FLEET(ENGINE("fast", "1", "500", "4000", "0.06", "3") ENGINE("near", "2", "60", "2000", "0.2", "3"),
              LINK("fast", "1", "1 ms") LINK("near", "100", "1 us"));
    made m = problem_of(inventory, 4, GSRT_MEASURE_LATENCY, GSRT_PERCENTILE_50);
    gsrt_search_result *result = searched(&m, "dp", 5000);
    ck_assert(result->best != NULL);
    ck_assert(!uses(m.fleet, result->best, "fast"));
    const gsrt_rival *with = NULL;
    for (uint32_t i = 0; i < result->rival_count && with == NULL; i++)
        if (strcmp(result->rivals[i].rejection.reason, GSRT_REASON_WORSE) == 0 &&
            uses(m.fleet, result->rivals[i].deployment, "fast"))
            with = &result->rivals[i];
    ck_assert(with != NULL);
    printf("latency: %g s without the fastest engine, %g s with it\n", result->objective.value, with->objective.value);
    ck_assert(with->objective.value > result->objective.value);
    (void)gsrt_search_result_free(result);
    problem_fini(&m);
}
END_TEST

/* One case: small memories, so that memory is what limits batches, and plans that fill it come closest to the bound.
 * With a window of its own for each layer there are too many kinds of layers for the bound by stages, and the others
 * hold. */
static void check_bound(const char *inventory, gsrt_measure measure, bool has_windows, uint32_t drafts)
{
    made m = problem_of(inventory, 12, measure, GSRT_PERCENTILE_50);
    m.problem.demand.draft_tokens = drafts;
    for (uint32_t l = 0; has_windows && l < 12; l++)
        m.workload->states[l].window = 200 + l;
    gsrt_search_result *result = searched(&m, "dp", 3000);
    ck_assert(result->best != NULL);
    double value = result->objective.value;
    ck_assert_msg(gsrt_measure_is_maximised(measure) ? result->bound >= value : result->bound <= value,
                  "%s of %g, bound %g", gsrt_measure_word(measure), value, result->bound);
    ck_assert(isfinite(result->bound) && result->bound > 0);
    if (measure == GSRT_MEASURE_THROUGHPUT) /* the better of the two, where both are there */
        ck_assert((strstr(result->bound_reason, "in groups that exchange") != NULL) == !has_windows);
    (void)gsrt_search_result_free(result);
    problem_fini(&m);
}

START_TEST(no_plan_passes_the_bound)
{
    static const char *const inventories[] = {
        FLEET(ENGINE("big", "16", "60", "2000", "0.08", "3"), LINK("big", "50", "2 us")),
        FLEET(ENGINE("big", "16", "60", "2000", "0.3", "3") ENGINE("small", "24", "20", "800", "0.05", "1"),
              LINK("big", "200", "1 us") LINK("small", "20", "2 us")),
    };
    static const gsrt_measure measures[] = {GSRT_MEASURE_THROUGHPUT, GSRT_MEASURE_COST, GSRT_MEASURE_TPOT,
                                            GSRT_MEASURE_LATENCY};
    for (size_t f = 0; f < sizeof inventories / sizeof inventories[0]; f++)
        for (size_t k = 0; k < sizeof measures / sizeof measures[0]; k++)
            for (uint32_t windows = 0; windows < 2; windows++)
                for (uint32_t drafts = 0; drafts < 3; drafts += 2)
                    check_bound(inventories[f], measures[k], windows == 1, drafts);
}
END_TEST

/* Speculative decoding is chosen where a step costs little more for more rows; not by who could not run it. */
START_TEST(drafts_are_a_choice)
{
    made m = problem_of(FLEET(ENGINE("big", "16", "60", "2000", "2", "3"), LINK("big", "50", "2 us")), 12,
                        GSRT_MEASURE_TPOT, GSRT_PERCENTILE_50);
    gsrt_search_result *without = searched(&m, "dp", 3000);
    m.problem.demand.draft_tokens = 4;
    gsrt_search_result *with = searched(&m, "dp", 3000);
    ck_assert(without->best != NULL && with->best != NULL);
    ck_assert_uint_eq(without->best->pools[0].draft_tokens, 0);
    ck_assert_uint_gt(with->best->pools[0].draft_tokens, 0);
    ck_assert_uint_le(with->best->pools[0].draft_tokens, 4);
    ck_assert(with->objective.value < without->objective.value);
    ck_assert(with->bound <= with->objective.value);
    for (uint32_t i = 0; i < m.workload->op_count; i++) /* to one that the runtime has kernels for */
        if (m.workload->ops[i].kind == GSRT_OP_GELU) {
            m.workload->ops[i].kind = GSRT_OP_SWIGLU;
            m.workload->ops[i].in[1] = m.workload->ops[i].in[0];
        }
    for (uint32_t l = 0; l < 12; l++)
        m.workload->states[l].dtype = GSRT_DTYPE_F32;
    m.workload->has_weights = m.problem.is_for_execution = true;
    gsrt_search_result *run = searched(&m, "dp", 3000);
    ck_assert_msg(run->best != NULL, "%s", run->rival_count > 0 ? run->rivals[0].rejection.constraint : "no rival");
    ck_assert_uint_eq(run->best->pools[0].draft_tokens, 0);
    (void)gsrt_search_result_free(run);
    (void)gsrt_search_result_free(with);
    (void)gsrt_search_result_free(without);
    problem_fini(&m);
}
END_TEST

/* The memory of its host, which an engine reaches over a coherent link. */
#define HOST_PART                                                                                                      \
    "  - {name: dram, kind: memory, tier: lpddr, in: node, capacity: \"480 GB\", bandwidth: \"500 GB/s\"}\n"
#define HOST_LINK "  - {from: big, to: dram, kind: memory, both: true, bandwidth: \"450 GB/s\", latency: \"1 us\"}\n"

static bool rests_on(const made *m, const gsrt_deployment *deployment, const char *name)
{
    gsrt_derivation why;
    gsrt_cost cost;
    const gsrt_cost_question question = {
        .workload = m->workload, .fleet = m->fleet, .deployment = deployment, .demand = &m->problem.demand};
    bool is_there = false;
    gsrt_derivation_init(&why);
    ck_assert_int_eq(gsrt_cost_predict(&question, &why, &cost), GSRT_OK);
    for (uint32_t i = 0; i < why.count; i++)
        is_there = is_there || strstr(why.nodes[i].name, name) != NULL;
    gsrt_cost_fini(&cost);
    gsrt_derivation_fini(&why);
    return is_there;
}

static made hosted_problem(const char *inventory)
{
    made m = problem_of(inventory, 12, GSRT_MEASURE_THROUGHPUT, GSRT_PERCENTILE_50);
    for (uint32_t r = 0; r < m.workload->region_count; r++)
        m.workload->regions[r].legal |= m.workload->regions[r].layer == GSRT_NO_INDEX ? 0 : GSRT_LEGAL_OFFLOAD_STATE;
    return m;
}

/* Weights fill the memory but for a few sequences: where KV may lie in the memory of the host, there is a plan at all,
 * or more of them run at once. Where there is room for all, or nobody may run it, nothing changes. */
START_TEST(kv_goes_where_there_is_room)
{
#define HOSTED(capacity)                                                                                               \
    FLEET(ENGINE("big", "1", "60", "2000", capacity, "3") HOST_PART, LINK("big", "50", "2 us") HOST_LINK)
    static const struct {
        const char *inventory;
        bool has_plan, is_used;
    } cases[] = {{HOSTED("0.312"), false, true}, {HOSTED("0.34"), true, true}, {HOSTED("60"), true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        made m = hosted_problem(cases[i].inventory);
        m.problem.demand.concurrency = 16;
        gsrt_diag missing = {0};
        gsrt_search_result *without = searched(&m, "dp", 3000);
        m.problem.demand.kv_offload = true;
        gsrt_search_result *with = searched(&m, "dp", 3000);
        ck_assert(with->best != NULL && (without->best != NULL) == cases[i].has_plan);
        ck_assert(with->best->pools[0].kv_offload <= GSRT_KV_OFFLOAD_PARTS);
        ck_assert_int_eq(with->best->pools[0].kv_offload > 0, cases[i].is_used);
        ck_assert_int_eq(rests_on(&m, with->best, "offloaded KV that is read"), cases[i].is_used);
        ck_assert(with->bound >= with->objective.value);
        if (cases[i].has_plan && cases[i].is_used) {
            printf("KV %u/4 in the host's memory: %g tok/s, and %g without\n", with->best->pools[0].kv_offload,
                   with->objective.value, without->objective.value);
            ck_assert(with->objective.value > 1.2 * without->objective.value);
        }
        if (!cases[i].is_used)
            ck_assert(with->objective.value == without->objective.value &&
                      with->best->pools[0].batch_max == without->best->pools[0].batch_max);
        if (cases[i].is_used) {
            gsrt_deployment *alone = gsrt_deployment_copy(with->best);
            alone->pools[0].replica_count = 1;
            for (uint32_t s = 0; s < alone->pools[0].stage_count; s++)
                alone->pools[0].stages[s].overlaps = false;
            ck_assert_int_eq(gsrt_deployment_executable(alone, m.workload, &missing), GSRT_EUNSUPPORTED);
            ck_assert_ptr_nonnull(strstr(missing.text, "second memory tier"));
            (void)gsrt_deployment_free(alone);
        }
        m.problem.is_for_execution = true;
        gsrt_search_result *run = searched(&m, "dp", 3000);
        ck_assert(run->best == NULL || run->best->pools[0].kv_offload == 0);
        (void)gsrt_search_result_free(run);
        (void)gsrt_search_result_free(with);
        (void)gsrt_search_result_free(without);
        problem_fini(&m);
    }
}
END_TEST

START_TEST(what_does_not_exist_is_refused)
{
    made m = problem_of(FLEET(ENGINE("big", "8", "60", "2000", "2", "3"), LINK("big", "50", "2 us")), 3,
                        GSRT_MEASURE_THROUGHPUT, GSRT_PERCENTILE_50);
    gsrt_search_result *result = NULL;
    gsrt_diag diag = {0}, other = {0};
    gsrt_search_options options = {.policy = "oracle", .budget = 10};
    ck_assert_int_eq(gsrt_search(&m.problem, &options, &diag, &result), GSRT_EINPUT);
    options.policy = "exhaustive";
    ck_assert_int_eq(gsrt_search(&m.problem, &options, &other, &result), GSRT_EUNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(other.text, "at most 6 engines"));
    problem_fini(&m);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {policies_come_near_the_optimum, objectives_make_different_plans,
                            names_of_makers_do_not_matter,  the_fastest_engine_is_left_out,
                            no_plan_passes_the_bound,       drafts_are_a_choice,
                            kv_goes_where_there_is_room,    what_does_not_exist_is_refused};
    return unit_run("search", tests, sizeof tests / sizeof tests[0]);
}
