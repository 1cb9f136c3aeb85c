/* A deployment that satisfies everything, small enough to be computed by hand; and all that it is a deployment of. For
 * tests, which spoil it. */
#ifndef GSRT_TESTS_PLACEMENT_DEPLOYMENT_SITE_H
#define GSRT_TESTS_PLACEMENT_DEPLOYMENT_SITE_H

#include "placement/deployment_check.h"
#include "tests/placement/fleets.h"
#include "tests/placement/triples.h"

#include <string.h>

/* What the fuller half of the engines below must hold, computed by hand from docs/planning.md, m1 to m3:
 * weights: 2 layers, each 2 norms of 512 x 4 B, and half of q, o (512 x 512), k, v (256 x 512), gate, up (1024 x 512)
 * and down (512 x 1024) in f16: 2 * (4096 + 2 * 262144 + 2 * 131072 + 3 * 524288) = 4726784; norm and half of the
 * output, 2048 + 512000 state: 2 layers * 2 KV heads * 128 * 4 B * 256 positions * 4 sequences * 2 steps in flight =
 * 4194304 buffers: 64 rows * (4 * 512 + 2 * 1024 + 2 * 512 + 2 * 512) + 4 rows * 1000 logits, of 4 B = 1588864 */
enum { NEEDED_BYTES = 4726784 + 514048 + 4194304 + 1588864, STATE_BYTES = 4194304 };

/* With a quarter of the KV in the second tier, m2 and m5: 64 of the 256 positions of both layers lie there, of all four
 * engines of a node: 4 * 4194304 / 4. Those who hold it near keep room for two blocks of 64 positions of one layer:
 * 2 * 64 * 2 KV heads * 128 * 4 B * 4 sequences. */
enum { FAR_BYTES = 4194304, STAGED_BYTES = 524288 };

/* With the context of a stage in two parts, m2 and m3: each engine keeps half of the 256 positions, of all four KV
 * heads; and of each row of a step of 4 the queries of all 8 heads, and what comes out of them with a log-sum-exp,
 * twice: 4 * 8 * (64 + 2 * 65) of 4 B. */
enum { MERGED_BYTES = 24832 };

static const char site_inventory[] =
    "gsrt_fleet: 1\n"
    "name: planted\n"
    "source: \"declared: here\"\n"
    "places:\n"
    "  - {name: home, kind: region}\n"
    "  - {name: rack, kind: rack, in: home, power_budget: \"3200 W\", cooling_budget: \"3200 W\"}\n"
    "  - {name: node, kind: node, in: [rack, feed], count: 2}\n"
    "  - {name: feed, kind: power, in: rack, count: 2, power_budget: \"1600 W\"}\n"
    "parts:\n"
    "  - {name: e, kind: engine, in: node, count: 4, power_max: \"400 W\", software: {gsrt-canonical: \"1\"},"
    " rates: {matmul: {f32: \"10 TFLOPS\", bf16: \"40 TFLOPS\"}, vector: {f32: \"5 TFLOPS\"}},"
    " memory: [{tier: hbm, capacity: \"11024000 B\", bandwidth: \"1 TB/s\"}]}\n"
    "  - {name: dram, kind: memory, tier: ddr, in: node, capacity: \"4194304 B\", bandwidth: \"80 GB/s\"}\n"
    "  - {name: cxl, kind: memory, tier: cxl, in: node, capacity: \"1 GB\"}\n"
    "  - {name: mesh, kind: fabric, in: node}\n"
    "  - {name: nic, kind: nic, in: node}\n"
    "  - {name: leaf, kind: switch, in: rack}\n"
    "links:\n"
    "  - {name: host, from: e, to: dram, kind: pcie, both: true, bandwidth: \"50 GB/s\", latency: \"1 us\"}\n"
    "  - {name: slow, from: e, to: cxl, kind: pcie, both: true, bandwidth: \"20 GB/s\", latency: \"1 us\"}\n"
    "  - {name: up, from: e, to: mesh, kind: coherent, both: true, bandwidth: \"100 GB/s\", latency: \"1 us\"}\n"
    "  - {name: out, from: e, to: nic, kind: pcie, both: true, bandwidth: \"50 GB/s\", latency: \"2 us\"}\n"
    "  - {name: far, from: nic, to: leaf, kind: network, both: true, bandwidth: \"50 GB/s\", latency: \"3 us\"}\n";

/* A deployment that satisfies everything, and what it is a deployment of. All of it may be spoiled. */
typedef struct site {
    gsrt_workload *workload;
    gsrt_fleet *fleet;
    gsrt_deployment *deployment;
    gsrt_contract_rule rules[2];
    gsrt_contract contract;
    gsrt_cost cost;
    const char *regions[1];
    gsrt_search_problem problem;
} site;

static inline gsrt_part *part_of(const site *s, const char *name)
{
    return (gsrt_part *)&s->fleet->parts[gsrt_fleet_part_named(s->fleet, name)];
}

static inline gsrt_place *place_of(const site *s, const char *name)
{
    return (gsrt_place *)&s->fleet->places[gsrt_fleet_place_named(s->fleet, name)];
}

static inline gsrt_link *link_of(const site *s, const char *from, const char *to)
{
    for (uint32_t i = 0; i < s->fleet->link_count; i++) {
        gsrt_link *link = (gsrt_link *)&s->fleet->links[i];
        if (strcmp(s->fleet->parts[link->from].name, from) == 0 && strcmp(s->fleet->parts[link->to].name, to) == 0)
            return link;
    }
    ck_abort_msg("no link from %s to %s", from, to);
}

static inline gsrt_deployment_pool *pool_of(const site *s)
{
    return &s->deployment->pools[0];
}

static inline gsrt_deployment_members *members_of(const site *s, uint32_t stage)
{
    return s->deployment->pools[0].stages[stage].members;
}

/* Two replicas of two stages of two engines: a replica in each node. */
static inline gsrt_deployment *made_deployment(const gsrt_workload *workload, uint32_t engine)
{
    gsrt_deployment *d = gsrt_deployment_create(workload, 1);
    ck_assert_ptr_nonnull(d);
    ck_assert_int_eq(gsrt_deployment_add_stages(d, 0, 2), GSRT_OK);
    d->context_max = 256;
    for (uint32_t r = 0; r < d->region_count; r++)
        d->choices[r].compute = GSRT_FORMAT_F32;
    d->pools[0].phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    d->pools[0].replica_count = 2;
    d->pools[0].batch_max = 4;
    d->pools[0].prefill_tokens = 64;
    for (uint32_t s = 0; s < 2; s++) {
        gsrt_deployment_stage *stage = &d->pools[0].stages[s];
        ck_assert_int_eq(gsrt_deployment_add_members(d, 0, s, 1), GSRT_OK);
        stage->layer_first = 2 * s;
        stage->layer_last = 2 * s + 1;
        stage->data_width = stage->expert_width = stage->context_width = 1;
        stage->algorithm = GSRT_ALGORITHM_GATHER;
        stage->members[0] = (gsrt_deployment_members){.part = engine,
                                                      .instance_first = 2 * s,
                                                      .instance_count = 2,
                                                      .block_replicas = 1,
                                                      .block_stride = 4,
                                                      .share = 1};
    }
    return d;
}

/* A quarter of the KV in the second tier, which just holds it, as does the first what is left. */
static inline void offload(const site *s)
{
    gsrt_quantity *capacity = &part_of(s, "e.hbm")->capacity;
    capacity->value = capacity->lo = capacity->hi = NEEDED_BYTES - STATE_BYTES / 4 + STAGED_BYTES;
    pool_of(s)->kv_offload = 1;
}

static inline gsrt_quantity known(double value, gsrt_measure measure)
{
    return gsrt_quantity_exact(value, gsrt_measure_dimension(measure));
}

static inline void site_make(site *s)
{
    static const model_shape shape = {.layers = 4,
                                      .dim = 512,
                                      .heads = 8,
                                      .kv_heads = 4,
                                      .head_dim = 64,
                                      .ffn = 1024,
                                      .vocab = 1000,
                                      .context = 1024,
                                      .weights = GSRT_DTYPE_F16,
                                      .state = GSRT_DTYPE_F32,
                                      .has_weights = true};
    gsrt_findings findings;
    *s = (site){.workload = made_model(&shape)};
    ck_assert_int_eq(read_fleet(site_inventory, NULL, &s->fleet, &findings), GSRT_OK);
    ck_assert_uint_eq(findings.count, 0);
    gsrt_findings_fini(&findings);
    s->deployment = made_deployment(s->workload, gsrt_fleet_part_named(s->fleet, "e"));
    s->rules[0] = (gsrt_contract_rule){.glob = "*", .kind = GSRT_CONTRACT_BITWISE};
    s->contract = (gsrt_contract){.rules = s->rules, .rule_count = 1};
    s->regions[0] = "home";
    s->problem = (gsrt_search_problem){
        .workload = s->workload,
        .fleet = s->fleet,
        .contract = &s->contract,
        .objective = {.measure = GSRT_MEASURE_THROUGHPUT, .limit_count = 1},
        .demand = {.prompt_tokens = gsrt_quantity_exact(200, (gsrt_dimension){.token = 1}),
                   .output_tokens = gsrt_quantity_exact(56, (gsrt_dimension){.token = 1})},
        .rules = {.trust_min = GSRT_TRUST_OPERATOR, .regions_allowed = s->regions, .region_allowed_count = 1},
        .today = 20000};
    s->problem.objective.limits[0] =
        (gsrt_objective_limit){.measure = GSRT_MEASURE_TPOT, .bound = known(0.02, GSRT_MEASURE_TPOT)};
    s->cost.values[GSRT_MEASURE_THROUGHPUT][0] = known(1000, GSRT_MEASURE_THROUGHPUT);
    s->cost.values[GSRT_MEASURE_TPOT][0] = known(0.02, GSRT_MEASURE_TPOT);
}

static inline void site_end(site *s)
{
    (void)gsrt_deployment_free(s->deployment);
    (void)gsrt_fleet_free(s->fleet);
    (void)gsrt_workload_free(s->workload);
}

#endif
