/* The ranks of a job as a fleet: what it says of them, whose word it is, and plans to and fro. */
#include "launch/rank_fleet.h"

#include "base/limits.h"
#include "placement/workload.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_BYTES = 2048, RANKS = 5 };

static gsrt_scenario *scenario_of(const char *devices)
{
    char text[TEXT_BYTES];
    gsrt_scenario *scenario = NULL;
    gsrt_diag diag = {0};
    const char *source = getenv("GSRT_SRCDIR");
    (void)snprintf(text, sizeof text,
                   "{gsrt: 1, name: a, workload: {model: m, requests: [{prompt: x}]}, plan: auto, fleet: {devices: "
                   "[%s]}, twin: {link: {latency_us: 4, bandwidth_gbps: 8}}}",
                   devices);
    char path[4200];
    (void)snprintf(path, sizeof path, "%s/scenarios/a.yaml", source == NULL ? "." : source);
    gsrt_status status = gsrt_scenario_read_span(gsrt_span_of_text(text), path, NULL, 0, &scenario, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    return scenario;
}

/* Ranks 0, 3 and 4 are plain CPUs, 1 is declared, 2 is a simulated accelerator. */
static gsrt_scenario *mixed(void)
{
    return scenario_of("{rank: 1, declares: {f32: '50 GFLOPS', bandwidth: '20 GB/s [15, 25]', memory: '4 GiB'}}, "
                       "{rank: 2, profile: profiles/gpu-72w.json}");
}

static void open_fleet(const gsrt_scenario *scenario, gsrt_rank_fleet *out)
{
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_rank_fleet_open(scenario, RANKS, out, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
}

START_TEST(parts)
{
    gsrt_scenario *scenario = mixed();
    gsrt_rank_fleet r;
    open_fleet(scenario, &r);
    const gsrt_fleet *f = r.fleet;
    gsrt_findings findings;
    gsrt_findings_init(&findings);
    gsrt_fleet_check(f, 0, &findings);
    ck_assert_uint_eq(findings.error_count, 0);
    gsrt_findings_fini(&findings);
    uint32_t alike = gsrt_fleet_part_named(f, "ranks0"), gpu = gsrt_fleet_part_named(f, "rank2");
    ck_assert(alike != GSRT_FLEET_NONE && gpu != GSRT_FLEET_NONE);
    ck_assert_uint_eq(f->parts[alike].count, 3);
    ck_assert_str_eq(f->parts[gpu].product, "gpu-72w");
    ck_assert_str_eq(f->parts[gpu].software[0].name, GSRT_CANONICAL_SOFTWARE);
    gsrt_quantity rate = gsrt_part_rate(&f->parts[alike], GSRT_CLASS_MATMUL, GSRT_FORMAT_I8);
    ck_assert(rate.is_known && rate.value == 40e9);
    ck_assert_int_eq(rate.source, GSRT_SOURCE_GUESS);
    uint32_t declared = gsrt_fleet_part_named(f, "rank1");
    rate = gsrt_part_rate(&f->parts[declared], GSRT_CLASS_MATMUL, GSRT_FORMAT_F32);
    ck_assert(rate.value == 50e9);
    ck_assert_int_eq(rate.source, GSRT_SOURCE_DECLARED);
    const gsrt_link *bus = &f->links[gsrt_fleet_link_named(f, "rank1.ddr->rank1")];
    ck_assert(bus->bandwidth.lo == 15e9 && bus->bandwidth.hi == 25e9);
    const gsrt_link *link = &f->links[gsrt_fleet_link_named(f, "rank1->network")];
    ck_assert(link->bandwidth.value == 1e9 && link->latency.value == 2e-6);
    gsrt_rank_fleet_fini(&r);
    (void)gsrt_scenario_free(scenario);
}
END_TEST

START_TEST(ranks_and_instances)
{
    gsrt_scenario *scenario = mixed();
    gsrt_rank_fleet r;
    open_fleet(scenario, &r);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        ck_assert_uint_eq(gsrt_rank_fleet_rank(&r, r.parts[rank], r.instances[rank]), rank);
    ck_assert_uint_eq(r.instances[3], 1);
    ck_assert_uint_eq(r.instances[4], 2);
    ck_assert_uint_eq(gsrt_rank_fleet_rank(&r, r.parts[0], 3), RANKS);
    gsrt_rank_fleet_fini(&r);
    (void)gsrt_scenario_free(scenario);
}
END_TEST

/* Stages 0-2 on ranks 4 and 0, 3:1, and 3-4 on rank 2. */
static gsrt_plan *two_stages(void)
{
    static uint32_t ranks[] = {4, 0, 2}, shares[] = {3, 1, 1};
    gsrt_plan *plan = gsrt_plan_create(2);
    ck_assert_ptr_nonnull(plan);
    plan->stages[0] = (gsrt_plan_stage){.layer_last = 2, .member_count = 2, .ranks = ranks, .shares = shares};
    plan->stages[1] = (gsrt_plan_stage){
        .layer_first = 3, .layer_last = 4, .member_count = 1, .ranks = ranks + 2, .shares = shares + 2};
    return plan;
}

/* embed, five layers without anything, output */
static void make_regions(gsrt_region *regions, gsrt_workload *out)
{
    for (uint32_t r = 0; r < 7; r++)
        regions[r] = (gsrt_region){.layer = r == 0 || r == 6 ? GSRT_NO_INDEX : r - 1};
    *out = (gsrt_workload){.regions = regions, .region_count = 7};
}

START_TEST(to_and_fro)
{
    gsrt_scenario *scenario = mixed();
    gsrt_rank_fleet r;
    gsrt_region room[7];
    gsrt_workload regions;
    const gsrt_plan_narrowed narrowed[] = {{GSRT_PLAN_LAYER + 2, GSRT_DTYPE_Q8_0}, {GSRT_PLAN_OUTPUT, GSRT_DTYPE_F16}};
    gsrt_diag diag = {0};
    make_regions(room, &regions);
    open_fleet(scenario, &r);
    gsrt_plan *plan = two_stages(), *again = NULL;
    ck_assert_int_eq(gsrt_plan_narrow(plan, narrowed, 2), GSRT_OK);
    gsrt_deployment *d = gsrt_rank_fleet_deployment(&r, &regions, plan, 8, 64, 512);
    ck_assert_ptr_nonnull(d);
    ck_assert(d->choices[2].weights_are_as_given && !d->choices[3].weights_are_as_given);
    ck_assert_int_eq(d->choices[3].weights, GSRT_DTYPE_Q8_0);
    ck_assert_int_eq(d->choices[6].weights, GSRT_DTYPE_F16);
    ck_assert_int_eq(d->pools[0].stages[0].algorithm, GSRT_ALGORITHM_SUBTREES);
    ck_assert_int_eq(d->pools[0].stages[1].algorithm, GSRT_ALGORITHM_NONE);
    ck_assert_msg(gsrt_rank_fleet_plan(&r, &regions, d, &again, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_uint_eq(again->stage_count, 2);
    ck_assert_uint_eq(again->stages[0].ranks[0], 4);
    ck_assert_uint_eq(again->stages[0].shares[0], 3);
    ck_assert_uint_eq(again->stages[0].ranks[1], 0);
    ck_assert_uint_eq(again->stages[1].ranks[0], 2);
    ck_assert_uint_eq(again->stages[1].layer_first, 3);
    ck_assert_uint_eq(again->spare_count, 2);
    ck_assert(again->spares[0] == 1 && again->spares[1] == 3);
    ck_assert_int_eq(again->exchange, GSRT_EXCHANGE_REDUCE);
    ck_assert(again->narrowed_count == 2 && again->narrowed[0].place == GSRT_PLAN_LAYER + 2);
    ck_assert_int_eq(again->narrowed[1].weights, GSRT_DTYPE_F16);
    ck_assert_int_eq(gsrt_plan_check(again, NULL, RANKS, "s.yaml", &diag), GSRT_OK);
    (void)gsrt_plan_free(again);
    d->pools[0].replica_count = 2;
    ck_assert_int_eq(gsrt_rank_fleet_plan(&r, &regions, d, &again, &diag), GSRT_EUNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(diag.text, "replicas beside each other"));
    d->pools[0].replica_count = 1;
    diag = (gsrt_diag){0};
    d->choices[3].state_is_as_given = false;
    ck_assert_int_eq(gsrt_rank_fleet_plan(&r, &regions, d, &again, &diag), GSRT_EUNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(diag.text, "KV in another format"));
    diag = (gsrt_diag){0};
    d->choices[3] = (gsrt_region_choice){.weights = GSRT_DTYPE_MXFP4, .state_is_as_given = true};
    ck_assert_int_eq(gsrt_rank_fleet_plan(&r, &regions, d, &again, &diag), GSRT_EUNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(diag.text, "weights in such a format"));
    diag = (gsrt_diag){0};
    d->choices[3] =
        (gsrt_region_choice){.compute = GSRT_FORMAT_BF16, .weights_are_as_given = true, .state_is_as_given = true};
    ck_assert_int_eq(gsrt_rank_fleet_plan(&r, &regions, d, &again, &diag), GSRT_EUNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(diag.text, "products of inputs"));
    (void)gsrt_deployment_free(d);
    (void)gsrt_plan_free(plan);
    gsrt_rank_fleet_fini(&r);
    (void)gsrt_scenario_free(scenario);
}
END_TEST

START_TEST(refusals)
{
    gsrt_scenario *scenario = scenario_of("{rank: 0, profile: /no/such.json}");
    gsrt_rank_fleet r;
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_rank_fleet_open(scenario, RANKS, &r, &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "/no/such.json"));
    gsrt_rank_fleet_fini(&r);
    (void)gsrt_scenario_free(scenario);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {parts, ranks_and_instances, to_and_fro, refusals};
    return unit_run("rank_fleet", tests, sizeof tests / sizeof tests[0]);
}
