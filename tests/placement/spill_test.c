/* Where requests come from: what the way to another region costs, by hand; who is sent there; what a percentile sees of
 * it; who is refused; and that the search stays at home while that suffices, and spills where it does not.
 */
#include "placement/cost.h"
#include "placement/deployment_check.h"
#include "tests/placement/fleets.h"
#include "tests/placement/triples.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TODAY = 20787 };

/* Three regions of three engines each, all alike (more than a small instance has: that has one pool). 40 ms lead from
 * home to away, 45 ms back; to the third, 10 ms each way on from away. */
#define SITE(number)                                                                                                   \
    "  - {name: e" number ", kind: engine, in: node" number ", count: 3, launch_overhead: \"2 us\", price: \"1 $/h\"," \
    " software: {gsrt-canonical: \"1\"}, rates: {matmul: {f32: \"60 TFLOPS\"}, vector: {f32: \"10 TFLOPS\"}}, memory:" \
    " [{tier: hbm, capacity: \"2 GB\", bandwidth: \"1 TB/s\"}]}\n"                                                     \
    "  - {name: border" number ", kind: switch, in: node" number "}\n"
#define INNER(number)                                                                                                  \
    "  - {from: e" number ", to: border" number ", kind: network, both: true, bandwidth: \"50 GB/s\", latency: "       \
    "\"3 us\"}\n"
#define INVENTORY(wan)                                                                                                 \
    "gsrt_fleet: 1\nname: made\nas_of: 2026-11-01\nsource: \"declared: the test\"\nplaces:\n"                          \
    "  - {name: home, kind: region}\n  - {name: away, kind: region}\n  - {name: third, kind: region}\n"                \
    "  - {name: node0, kind: node, in: home}\n  - {name: node1, kind: node, in: away}\n"                               \
    "  - {name: node2, kind: node, in: third}\nparts:\n" SITE("0") SITE("1") SITE("2") "links:\n" INNER("0")           \
        INNER("1") INNER("2") wan
#define THERE "  - {name: there, from: border0, to: border1, kind: wan, bandwidth: \"1 GB/s\", latency: \"40 ms\"}\n"
#define BACK "  - {name: back, from: border1, to: border0, kind: wan, bandwidth: \"1 GB/s\", latency: \"45 ms\"}\n"
#define ON                                                                                                             \
    "  - {name: on, from: border1, to: border2, kind: wan, both: true, bandwidth: \"1 GB/s\", latency: \"10 ms\"}\n"
#define ALL INVENTORY(THERE BACK ON)

typedef struct world {
    gsrt_workload *workload;
    gsrt_fleet *fleet;
    gsrt_contract *contract;
    gsrt_deployment *deployment;
    gsrt_search_problem problem;
} world;

static gsrt_fleet *fleet_of(const char *inventory)
{
    gsrt_findings findings;
    gsrt_fleet *fleet = NULL;
    char room[2048];
    gsrt_status status = read_fleet(inventory, NULL, &fleet, &findings);
    ck_assert_msg(status == GSRT_OK && findings.count == 0, "%s", found(&findings, room, sizeof room));
    gsrt_findings_fini(&findings);
    return fleet;
}

static world world_of(const char *inventory, const char *origin)
{
    static const model_shape shape = {.layers = 4,
                                      .dim = 1024,
                                      .heads = 8,
                                      .kv_heads = 8,
                                      .head_dim = 128,
                                      .ffn = 4096,
                                      .vocab = 1000,
                                      .context = 1024,
                                      .weights = GSRT_DTYPE_F16,
                                      .state = GSRT_DTYPE_F32};
    world w = {.workload = made_model(&shape), .fleet = fleet_of(inventory), .contract = gsrt_contract_bitwise()};
    w.problem =
        (gsrt_search_problem){.workload = w.workload,
                              .fleet = w.fleet,
                              .contract = w.contract,
                              .demand = {.prompt_tokens = gsrt_quantity_exact(256, (gsrt_dimension){.token = 1}),
                                         .output_tokens = gsrt_quantity_exact(64, (gsrt_dimension){.token = 1}),
                                         .origin = origin},
                              .today = TODAY};
    return w;
}

static void world_end(world *w)
{
    (void)gsrt_deployment_free(w->deployment);
    (void)gsrt_fleet_free(w->fleet);
    (void)gsrt_workload_free(w->workload);
    (void)gsrt_contract_free(w->contract);
}

/* A pool of one engine each: of the sites of `sites`, "01" is one at home and one away. */
static void deploy(world *w, const char *sites, const uint32_t *phases)
{
    (void)gsrt_deployment_free(w->deployment);
    uint32_t count = (uint32_t)strlen(sites);
    gsrt_deployment *d = gsrt_deployment_create(w->workload, count);
    for (uint32_t p = 0; p < count; p++) {
        const char name[] = {'e', sites[p], 0};
        ck_assert_int_eq(gsrt_deployment_add_stages(d, p, 1), GSRT_OK);
        ck_assert_int_eq(gsrt_deployment_add_members(d, p, 0, 1), GSRT_OK);
        gsrt_deployment_pool *pool = &d->pools[p];
        pool->phases = phases == NULL ? GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE : phases[p];
        pool->replica_count = 1;
        pool->batch_max = 2;
        pool->prefill_tokens = 256;
        pool->stages[0].layer_last = 3;
        pool->stages[0].data_width = pool->stages[0].expert_width = pool->stages[0].context_width = 1;
        pool->stages[0].members[0] = (gsrt_deployment_members){
            .part = gsrt_fleet_part_named(w->fleet, name), .instance_count = 1, .block_replicas = 1, .share = 1};
    }
    for (uint32_t r = 0; r < d->region_count; r++)
        d->choices[r].compute = GSRT_FORMAT_F32;
    d->context_max = 320;
    w->deployment = d;
}

static gsrt_cost predict(const world *w, gsrt_derivation *why)
{
    gsrt_cost cost;
    gsrt_cost_question question = {
        .workload = w->workload, .fleet = w->fleet, .deployment = w->deployment, .demand = &w->problem.demand};
    ck_assert_int_eq(gsrt_cost_predict(&question, why, &cost), GSRT_OK);
    return cost;
}

/* The same of one pool at home, or elsewhere, for a demand that says nothing of where it comes from. */
static gsrt_cost predict_alone(world *w, const char *site, uint32_t concurrency, double arrival)
{
    gsrt_demand before = w->problem.demand;
    w->problem.demand.origin = NULL;
    w->problem.demand.concurrency = concurrency;
    w->problem.demand.arrival = (gsrt_quantity){0};
    if (arrival > 0)
        w->problem.demand.arrival = gsrt_quantity_exact(arrival, (gsrt_dimension){.second = -1});
    deploy(w, site, NULL);
    gsrt_cost cost = predict(w, NULL);
    ck_assert_ptr_null(cost.routes);
    w->problem.demand = before;
    return cost;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static double value(const gsrt_cost *cost, gsrt_measure measure, gsrt_percentile percentile)
{
    ck_assert(cost->values[measure][percentile].is_known);
    return cost->values[measure][percentile].value;
}

/* 40 ms there, 45 ms back; the third is 10 ms farther both ways. All requests pay, and only in the first token. */
START_TEST(the_way_by_hand)
{
    static const struct {
        const char *site, *region;
        double more;
    } cases[] = {{"0", "home", 0}, {"1", "away", 0.085}, {"2", "third", 0.105}};
    world w = world_of(ALL, "home");
    gsrt_cost alone = predict_alone(&w, "0", 0, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        deploy(&w, cases[i].site, NULL);
        gsrt_cost cost = predict(&w, NULL);
        const gsrt_cost_route *route = &cost.routes[0];
        ck_assert_uint_eq(route->region, gsrt_fleet_place_named(w.fleet, cases[i].region));
        ck_assert_int_eq(route->is_away, i > 0);
        ck_assert_msg(is_near(route->more.value, cases[i].more), "%.17g", route->more.value);
        ck_assert(is_near(route->more.lo, cases[i].more) && is_near(route->more.hi, 1.5 * cases[i].more));
        ck_assert_double_eq(route->share, 1);
        for (gsrt_measure m = 0; m < GSRT_MEASURE_COUNT; m++) {
            for (gsrt_percentile p = 0; p < GSRT_PERCENTILE_COUNT; p++) {
                bool pays = m == GSRT_MEASURE_TTFT || m == GSRT_MEASURE_LATENCY;
                if (alone.values[m][p].is_known)
                    ck_assert(is_near(value(&cost, m, p), value(&alone, m, p) + (pays ? cases[i].more : 0)));
            }
        }
        gsrt_cost_fini(&cost);
    }
    gsrt_cost_fini(&alone);
    world_end(&w);
}
END_TEST

/* Each link of the way is an input of the first token, not of the ones after it. */
START_TEST(explained)
{
    world w = world_of(ALL, "home");
    gsrt_derivation why;
    gsrt_influence items[512];
    bool has_failed = false;
    deploy(&w, "2", NULL);
    gsrt_derivation_init(&why);
    gsrt_cost cost = predict(&w, &why);
    for (gsrt_measure m = GSRT_MEASURE_TTFT; m <= GSRT_MEASURE_TPOT; m++) {
        size_t count = gsrt_derivation_influences(&why, cost.nodes[m][GSRT_PERCENTILE_99], items, 512, &has_failed);
        uint32_t links = 0, equations = 0;
        ck_assert(!has_failed && count <= 512);
        for (size_t i = 0; i < count; i++) {
            const char *name = items[i].node == GSRT_NO_INDEX ? "" : why.nodes[items[i].node].name;
            links += strcmp(name, "there: latency") == 0 || strcmp(name, "back: latency") == 0 ||
                     strncmp(name, "on", 2) == 0;
            equations += items[i].node == GSRT_NO_INDEX && strcmp(items[i].equation, "there and back") == 0;
        }
        ck_assert_uint_eq(links, m == GSRT_MEASURE_TTFT ? 4 : 0); /* there, on, on back, back */
        ck_assert_uint_eq(equations, m == GSRT_MEASURE_TTFT ? 1 : 0);
    }
    gsrt_cost_fini(&cost);
    gsrt_derivation_fini(&why);
    world_end(&w);
}
END_TEST

/* Closed, places for two in each pool: two requests stay at home, whatever else is there; the third goes to the nearer
 * of the two others. Percentiles see what its share is: p50 is home's own, higher up; p99 is the slowest of both. */
START_TEST(home_first)
{
    world w = world_of(ALL, "home");
    gsrt_cost two = predict_alone(&w, "0", 2, 0), one = predict_alone(&w, "1", 1, 0);
    w.problem.demand.concurrency = 2;
    deploy(&w, "201", NULL);
    gsrt_cost cost = predict(&w, NULL);
    ck_assert(cost.routes[0].share == 0 && cost.routes[1].share == 1 && cost.routes[2].share == 0);
    ck_assert(is_near(value(&cost, GSRT_MEASURE_THROUGHPUT, 0), value(&two, GSRT_MEASURE_THROUGHPUT, 0)));
    for (gsrt_percentile p = 0; p < GSRT_PERCENTILE_COUNT; p++)
        ck_assert(is_near(value(&cost, GSRT_MEASURE_LATENCY, p), value(&two, GSRT_MEASURE_LATENCY, p)));
    gsrt_cost_fini(&cost);

    w.problem.demand.concurrency = 3;
    cost = predict(&w, NULL);
    double home = value(&two, GSRT_MEASURE_THROUGHPUT, 0), away = value(&one, GSRT_MEASURE_THROUGHPUT, 0);
    ck_assert(is_near(value(&cost, GSRT_MEASURE_THROUGHPUT, 0), home + away));
    ck_assert(is_near(cost.routes[1].share, home / (home + away)) &&
              is_near(cost.routes[2].share, away / (home + away)));
    ck_assert_double_eq(cost.routes[0].share, 0);
    ck_assert(value(&cost, GSRT_MEASURE_TTFT, GSRT_PERCENTILE_50) < 0.085);
    ck_assert(value(&cost, GSRT_MEASURE_TTFT, GSRT_PERCENTILE_50) > value(&two, GSRT_MEASURE_TTFT, GSRT_PERCENTILE_50));
    ck_assert(is_near(value(&cost, GSRT_MEASURE_TTFT, GSRT_PERCENTILE_99),
                      value(&one, GSRT_MEASURE_TTFT, GSRT_PERCENTILE_99) + 0.085));
    gsrt_cost_fini(&cost);

    /* as many as there is room for: all three are full */
    w.problem.demand.concurrency = 0;
    cost = predict(&w, NULL);
    ck_assert(is_near(value(&cost, GSRT_MEASURE_THROUGHPUT, 0), 3 * home));
    for (uint32_t p = 0; p < 3; p++)
        ck_assert(is_near(cost.routes[p].share, 1.0 / 3));
    ck_assert(value(&cost, GSRT_MEASURE_TTFT, GSRT_PERCENTILE_99) > 0.105);
    gsrt_cost_fini(&cost);
    gsrt_cost_fini(&two);
    gsrt_cost_fini(&one);
    world_end(&w);
}
END_TEST

static double recorded(const gsrt_derivation *why, const char *name)
{
    for (uint32_t i = 0; i < why->count; i++) {
        if (strcmp(why->nodes[i].name, name) == 0)
            return why->nodes[i].value.value;
    }
    ck_abort_msg("nothing is named '%s'", name);
}

/* Open, as many requests as one pool can do: 0.8 of them fill home to 0.8, the others go away, one pool as the other
 * would be with them alone. Half of all requests are 0.625 of those at home: -ln(0.375). */
START_TEST(nearer_pools_are_filled_to_four_fifths)
{
    world w = world_of(ALL, "home");
    gsrt_cost full = predict_alone(&w, "0", 0, 0);
    double most = value(&full, GSRT_MEASURE_THROUGHPUT, 0) / 64;
    gsrt_cost near = predict_alone(&w, "0", 0, 0.8 * most), far = predict_alone(&w, "1", 0, 0.2 * most);
    gsrt_derivation why;
    gsrt_derivation_init(&why);
    w.problem.demand.arrival = gsrt_quantity_exact(most, (gsrt_dimension){.second = -1});
    deploy(&w, "01", NULL);
    gsrt_cost cost = predict(&w, &why);
    ck_assert(is_near(cost.routes[0].share, 0.8) && is_near(cost.routes[1].share, 0.2));
    ck_assert(is_near(value(&cost, GSRT_MEASURE_THROUGHPUT, 0), 64 * most));
    ck_assert(is_near(recorded(&why, "pool 0 p62.5: percentile over mean"), 0.98082925301172619));
    ck_assert(is_near(recorded(&why, "pool 0: share of time in use"), 0.8));
    ck_assert(is_near(recorded(&why, "pool 1: share of time in use"), 0.2));
    ck_assert(value(&cost, GSRT_MEASURE_TTFT, GSRT_PERCENTILE_50) >
              value(&near, GSRT_MEASURE_TTFT, GSRT_PERCENTILE_50));
    ck_assert(value(&cost, GSRT_MEASURE_TTFT, GSRT_PERCENTILE_50) < 0.085);
    for (gsrt_percentile p = GSRT_PERCENTILE_95; p < GSRT_PERCENTILE_COUNT; p++)
        ck_assert(is_near(value(&cost, GSRT_MEASURE_TTFT, p),
                          fmax(value(&near, GSRT_MEASURE_TTFT, p), value(&far, GSRT_MEASURE_TTFT, p) + 0.085)));
    gsrt_cost_fini(&cost);
    gsrt_derivation_fini(&why);
    /* what home can do by itself with less than that stays there, and an idle pool changes nothing */
    w.problem.demand.arrival = gsrt_quantity_exact(0.8 * most, (gsrt_dimension){.second = -1});
    cost = predict(&w, NULL);
    ck_assert(cost.routes[0].share == 1 && cost.routes[1].share == 0);
    for (gsrt_percentile p = 0; p < GSRT_PERCENTILE_COUNT; p++)
        ck_assert(is_near(value(&cost, GSRT_MEASURE_LATENCY, p), value(&near, GSRT_MEASURE_LATENCY, p)));
    gsrt_cost_fini(&cost);
    /* more than both can do: nobody is served in time, near or far */
    w.problem.demand.arrival = gsrt_quantity_exact(2.1 * most, (gsrt_dimension){.second = -1});
    cost = predict(&w, NULL);
    ck_assert(value(&cost, GSRT_MEASURE_TTFT, GSRT_PERCENTILE_50) >= GSRT_COST_NEVER_S);
    ck_assert(is_near(cost.routes[0].share, 0.5));
    gsrt_cost_fini(&cost);
    gsrt_cost_fini(&full);
    gsrt_cost_fini(&near);
    gsrt_cost_fini(&far);
    world_end(&w);
}
END_TEST

/* Prefilled at home and decoded away, or the other way round: every request pays for the farther. */
START_TEST(phases_apart_pay_for_the_farther)
{
    static const uint32_t phases[] = {GSRT_PHASE_PREFILL, GSRT_PHASE_DECODE};
    world w = world_of(ALL, "home");
    for (int i = 0; i < 2; i++) {
        deploy(&w, i == 0 ? "01" : "10", phases);
        gsrt_cost paid = predict(&w, NULL);
        w.problem.demand.origin = NULL;
        gsrt_cost without = predict(&w, NULL);
        w.problem.demand.origin = "home";
        for (uint32_t p = 0; p < 2; p++)
            ck_assert(paid.routes[p].is_away && paid.routes[p].share == 1 && is_near(paid.routes[p].more.value, 0.085));
        for (gsrt_percentile p = 0; p < GSRT_PERCENTILE_COUNT; p++)
            ck_assert(is_near(value(&paid, GSRT_MEASURE_TTFT, p), value(&without, GSRT_MEASURE_TTFT, p) + 0.085));
        gsrt_cost_fini(&without);
        gsrt_cost_fini(&paid);
    }
    world_end(&w);
}
END_TEST

/* ---- who is refused ---- */

#define UNTRUSTED_BACK                                                                                                 \
    "  - {name: back, from: border1, to: border0, kind: wan, trust: untrusted, bandwidth: \"1 GB/s\", latency: "       \
    "\"45 ms\"}\n"
#define SILENT_BACK "  - {name: back, from: border1, to: border0, kind: wan, bandwidth: \"1 GB/s\"}\n"
/* a cable that is no network, and a way that would pass an engine of the third region */
#define CABLE "  - {name: back, from: border1, to: border0, kind: coherent, bandwidth: \"1 GB/s\", latency: \"1 ms\"}\n"
#define THROUGH                                                                                                        \
    "  - {name: in, from: border1, to: e2, kind: wan, bandwidth: \"1 GB/s\", latency: \"1 ms\"}\n"                     \
    "  - {name: out, from: e2, to: border0, kind: wan, bandwidth: \"1 GB/s\", latency: \"1 ms\"}\n"

START_TEST(where_there_is_no_way)
{
    static const struct {
        const char *inventory, *origin, *reason;
    } cases[] = {{ALL, "home", NULL},
                 {INVENTORY(THERE), "home", GSRT_REASON_UNREACHABLE},
                 {INVENTORY(BACK), "home", GSRT_REASON_UNREACHABLE},
                 {INVENTORY(THERE SILENT_BACK), "home", GSRT_REASON_UNREACHABLE},
                 {INVENTORY(THERE CABLE), "home", GSRT_REASON_UNREACHABLE},
                 {INVENTORY(THERE THROUGH), "home", GSRT_REASON_UNREACHABLE},
                 {INVENTORY(THERE UNTRUSTED_BACK), "home", GSRT_REASON_POLICY},
                 {ALL, "nowhere", GSRT_REASON_UNREACHABLE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world w = world_of(cases[i].inventory, cases[i].origin);
        gsrt_violations found;
        w.problem.rules.trust_min = GSRT_TRUST_OPERATOR;
        deploy(&w, "01", NULL);
        ck_assert_int_eq(gsrt_deployment_check(&w.problem, w.deployment, NULL, &found), GSRT_OK);
        ck_assert_uint_eq(found.count, cases[i].reason == NULL ? 0 : strcmp(cases[i].origin, "home") == 0 ? 1 : 2);
        if (cases[i].reason != NULL) {
            ck_assert_str_eq(found.items[0].rule, "l2");
            ck_assert_str_eq(found.items[0].reason, cases[i].reason);
        }
        gsrt_violations_fini(&found);
        bool is_there = cases[i].reason == NULL || strcmp(cases[i].reason, GSRT_REASON_POLICY) == 0;
        gsrt_cost cost = predict(&w, NULL);
        ck_assert_int_eq(cost.values[GSRT_MEASURE_TTFT][GSRT_PERCENTILE_99].is_known, is_there);
        gsrt_cost_fini(&cost);
        world_end(&w);
    }
}
END_TEST

/* ---- the search ---- */

static gsrt_search_result *searched(const world *w)
{
    gsrt_search_options options = {.policy = "dp", .budget = 3000, .seed = 1, .kept_max = 16};
    gsrt_search_result *result = NULL;
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_search(&w->problem, &options, &diag, &result), GSRT_OK);
    if (result->best != NULL) { /* nothing is better than the bound, and nobody is refused */
        gsrt_violations found;
        ck_assert_int_eq(gsrt_deployment_check(&w->problem, result->best, NULL, &found), GSRT_OK);
        ck_assert_uint_eq(found.count, 0);
        gsrt_violations_fini(&found);
        ck_assert(gsrt_measure_is_maximised(w->problem.objective.measure) ? result->bound >= result->objective.value
                                                                          : result->bound <= result->objective.value);
    }
    return result;
}

/* How much goes to each region: home, away, third. */
static void shares_of(world *w, const gsrt_deployment *d, double out[3])
{
    static const char *const regions[] = {"home", "away", "third"};
    (void)gsrt_deployment_free(w->deployment);
    w->deployment = gsrt_deployment_copy(d);
    gsrt_cost cost = predict(w, NULL);
    for (int r = 0; r < 3; r++) {
        out[r] = 0;
        for (uint32_t p = 0; p < d->pool_count; p++) {
            if (cost.routes[p].region == gsrt_fleet_place_named(w->fleet, regions[r]) &&
                (d->pools[p].phases & GSRT_PHASE_PREFILL) != 0)
                out[r] += cost.routes[p].share;
        }
    }
    gsrt_cost_fini(&cost);
}

static void look_for(gsrt_measure measure, double arrival, uint32_t concurrency, const char *const *allowed,
                     double out_shares[3])
{
    world w = world_of(ALL, "home");
    w.problem.objective = (gsrt_objective){.measure = measure, .percentile = GSRT_PERCENTILE_99};
    w.problem.demand.concurrency = concurrency;
    if (arrival > 0)
        w.problem.demand.arrival = gsrt_quantity_exact(arrival, (gsrt_dimension){.second = -1});
    if (allowed != NULL) {
        w.problem.rules.regions_allowed = allowed;
        w.problem.rules.region_allowed_count = 1;
    }
    gsrt_search_result *result = searched(&w);
    ck_assert_ptr_nonnull(result->best);
    shares_of(&w, result->best, out_shares);
    printf("%s, %g/s, %u at once: %g at home, %g away, %g in the third; %g, bound %g\n", gsrt_measure_word(measure),
           arrival, concurrency, out_shares[0], out_shares[1], out_shares[2], result->objective.value, result->bound);
    (void)gsrt_search_result_free(result);
    world_end(&w);
}

/* What the three engines at home can do at most, in requests per second. */
static double most_at_home(void)
{
    static const char *const only[] = {"home"};
    world w = world_of(ALL, "home");
    w.problem.objective.measure = GSRT_MEASURE_THROUGHPUT;
    w.problem.rules.regions_allowed = only;
    w.problem.rules.region_allowed_count = 1;
    gsrt_search_result *result = searched(&w);
    double most = result->objective.value / 64;
    (void)gsrt_search_result_free(result);
    world_end(&w);
    return most;
}

START_TEST(the_search_spills_where_home_does_not_suffice)
{
    static const char *const only_home[] = {"home"}, *const only_away[] = {"away"};
    double shares[3], most = most_at_home();
    look_for(GSRT_MEASURE_LATENCY, 0, 4, NULL, shares); /* few at once: nobody pays 85 ms */
    ck_assert(shares[0] == 1);
    look_for(GSRT_MEASURE_LATENCY, 0.2 * most, 0, NULL, shares);
    ck_assert(shares[0] == 1);
    look_for(GSRT_MEASURE_THROUGHPUT, 0, 0, NULL, shares); /* as many tokens as can be: all that there is */
    ck_assert(shares[0] > 0 && shares[1] > 0 && shares[2] > 0);
    look_for(GSRT_MEASURE_LATENCY, 1.5 * most, 0, NULL, shares); /* more than home can do: the rest goes near */
    ck_assert(shares[0] > 0.5 && shares[1] > 0.2);
    look_for(GSRT_MEASURE_THROUGHPUT, 0, 0, only_home, shares); /* where policy allows */
    ck_assert(shares[0] == 1);
    look_for(GSRT_MEASURE_LATENCY, 0, 4, only_away, shares);
    ck_assert(shares[1] == 1);
}
END_TEST

/* Nothing joins the regions, and home is barred: the reason is that there is no way. */
START_TEST(rejected_as_unreachable)
{
    static const char *const only_away[] = {"away"};
    world w = world_of(INVENTORY(""), "home");
    bool is_said = false;
    w.problem.objective.measure = GSRT_MEASURE_LATENCY;
    w.problem.rules.regions_allowed = only_away;
    w.problem.rules.region_allowed_count = 1;
    gsrt_search_result *result = searched(&w);
    ck_assert_ptr_null(result->best);
    for (uint32_t i = 0; i < result->rival_count; i++)
        is_said = is_said || (strcmp(result->rivals[i].rejection.reason, GSRT_REASON_UNREACHABLE) == 0 &&
                              strstr(result->rivals[i].rejection.constraint, "where requests come from") != NULL);
    ck_assert(is_said);
    (void)gsrt_search_result_free(result);
    world_end(&w);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {the_way_by_hand,
                            explained,
                            home_first,
                            nearer_pools_are_filled_to_four_fifths,
                            phases_apart_pay_for_the_farther,
                            where_there_is_no_way,
                            the_search_spills_where_home_does_not_suffice,
                            rejected_as_unreachable};
    return unit_run("spill", tests, sizeof tests / sizeof tests[0]);
}
