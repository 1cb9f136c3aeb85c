/* What is known to run out of memory is called feasible by nobody: not by the cost model, not by the independent
 * checker, not by the search; and what is known to run is not refused. The facts are published ones; bench/reality has
 * more. */
#include "placement/deployment_check.h"
#include "placement/rejection.h"
#include "tests/placement/fleets.h"
#include "tests/placement/triples.h"
#include "tests/unit.h"

#include <stdio.h>

#define LLAMA(LAYERS, DIM, HEADS, FFN)                                                                                 \
    {                                                                                                                  \
        .layers = (LAYERS), .dim = (DIM), .heads = (HEADS), .kv_heads = 8, .head_dim = 128, .ffn = (FFN),              \
        .vocab = 128256, .context = 131072, .weights = GSRT_DTYPE_BF16, .state = GSRT_DTYPE_BF16                       \
    }

static const model_shape llama_8b = LLAMA(32, 4096, 32, 14336), llama_70b = LLAMA(80, 8192, 64, 28672),
                         llama_405b = LLAMA(126, 16384, 128, 53248);

typedef struct fact {
    const model_shape *shape;
    const char *capacity;    /* of each accelerator */
    uint32_t nodes, engines; /* of each node */
    uint32_t positions;      /* of one sequence */
    bool runs;
    const char *source;
} fact;

static const fact facts[] = {
    {&llama_405b, "80 GB", 1, 8, 2048, false, "Llama 3 paper (arXiv 2407.21783), 6.1: BF16 does not fit 8 H100"},
    {&llama_405b, "80 GB", 2, 8, 2048, true, "the same: it is run on 16, in two pipelined machines"},
    {&llama_70b, "80 GB", 1, 1, 2048, false, "vllm-project/vllm#5711: BF16 does not fit one A100 of 80 GB"},
    {&llama_70b, "80 GB", 1, 2, 2048, true, "the same: two at a minimum"},
    {&llama_70b, "80 GB", 1, 2, 131072, false, "vllm-project/vllm#10517: 2 H100 do not hold 131,072 positions"},
    {&llama_8b, "24 GB", 1, 1, 131072, false, "Graph-COM/SubgraphRAG#19: an RTX 3090 does not hold 131,072 positions"},
    {&llama_8b, "24 GB", 1, 1, 32768, true, "the same: it holds 39,024"},
};

static gsrt_fleet *fleet_of(const fact *f)
{
    char text[2048];
    gsrt_findings findings;
    gsrt_fleet *fleet;
    (void)snprintf(
        text, sizeof text,
        "gsrt_fleet: 1\n"
        "name: published\n"
        "source: \"declared: here\"\n"
        "places:\n"
        "  - {name: hall, kind: region}\n"
        "  - {name: node, kind: node, in: hall, count: %u}\n"
        "parts:\n"
        "  - {name: e, kind: engine, in: node, count: %u, software: {gsrt-canonical: \"1\"},"
        " rates: {matmul: {f32: \"60 TFLOPS\"}, vector: {f32: \"60 TFLOPS\"}}, launch_overhead: \"3 us\","
        " memory: [{tier: hbm, capacity: \"%s\", bandwidth: \"3 TB/s\"}]}\n"
        "  - {name: mesh, kind: fabric, in: node}\n"
        "  - {name: leaf, kind: switch, in: hall}\n"
        "links:\n"
        "  - {from: e, to: mesh, kind: coherent, both: true, bandwidth: \"450 GB/s\", latency: \"1 us\"}\n"
        "  - {from: mesh, to: leaf, kind: network, both: true, bandwidth: \"400 GB/s\", latency: \"2 us\"}\n",
        f->nodes, f->engines, f->capacity);
    ck_assert_int_eq(read_fleet(text, NULL, &fleet, &findings), GSRT_OK);
    gsrt_findings_fini(&findings);
    return fleet;
}

/* A stage in each node, of all its engines. */
static gsrt_deployment *deployment_of(const fact *f, const gsrt_workload *workload, const gsrt_fleet *fleet)
{
    gsrt_deployment *d = gsrt_deployment_create(workload, 1);
    ck_assert_ptr_nonnull(d);
    ck_assert_int_eq(gsrt_deployment_add_stages(d, 0, f->nodes), GSRT_OK);
    d->context_max = f->positions;
    for (uint32_t r = 0; r < d->region_count; r++)
        d->choices[r].compute = GSRT_FORMAT_F32;
    gsrt_deployment_pool *pool = &d->pools[0];
    pool->phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    pool->replica_count = 1;
    pool->batch_max = 1;
    pool->prefill_tokens = 512;
    for (uint32_t s = 0; s < f->nodes; s++) {
        gsrt_deployment_stage *stage = &pool->stages[s];
        ck_assert_int_eq(gsrt_deployment_add_members(d, 0, s, 1), GSRT_OK);
        stage->layer_first = f->shape->layers * s / f->nodes;
        stage->layer_last = f->shape->layers * (s + 1) / f->nodes - 1;
        stage->data_width = stage->expert_width = stage->context_width = 1;
        stage->algorithm = f->engines > 1 ? GSRT_ALGORITHM_GATHER : GSRT_ALGORITHM_NONE;
        stage->members[0] = (gsrt_deployment_members){.part = gsrt_fleet_part_named(fleet, "e"),
                                                      .instance_first = s * f->engines,
                                                      .instance_count = f->engines,
                                                      .block_replicas = 1,
                                                      .share = 1};
    }
    return d;
}

static void check(const fact *f)
{
    const gsrt_dimension token = {.token = 1};
    gsrt_workload *workload = made_model(f->shape);
    gsrt_fleet *fleet = fleet_of(f);
    gsrt_deployment *d = deployment_of(f, workload, fleet);
    const gsrt_contract_rule rule = {.glob = "*", .kind = GSRT_CONTRACT_BITWISE};
    const gsrt_contract contract = {.rules = &rule, .rule_count = 1};
    const gsrt_search_problem problem = {
        .workload = workload,
        .fleet = fleet,
        .contract = &contract,
        .objective = {.measure = GSRT_MEASURE_THROUGHPUT},
        .demand = {.prompt_tokens = gsrt_quantity_exact(f->positions - 128, token),
                   .output_tokens = gsrt_quantity_exact(128, token),
                   .concurrency = 1},
    };
    const gsrt_cost_question question = {
        .workload = workload, .fleet = fleet, .deployment = d, .demand = &problem.demand};
    gsrt_cost cost;
    ck_assert_int_eq(gsrt_cost_predict(&question, NULL, &cost), GSRT_OK);
    ck_assert_msg((cost.values[GSRT_MEASURE_MEMORY][0].value <= 1) == f->runs, "cost model, %s: %.3f of the memory",
                  f->source, cost.values[GSRT_MEASURE_MEMORY][0].value);
    gsrt_violations found;
    ck_assert_int_eq(gsrt_deployment_check(&problem, d, &cost, &found), GSRT_OK);
    ck_assert_msg((gsrt_violation_with(&found, GSRT_REASON_MEMORY) == NULL) == f->runs, "checker, %s", f->source);
    ck_assert_msg(!f->runs || found.count == 0, "checker, %s: %s", f->source,
                  found.count > 0 ? found.items[0].constraint : "");
    const gsrt_search_options options = {.policy = "greedy", .budget = 200, .kept_max = 4};
    gsrt_diag diag = {0};
    gsrt_search_result *result;
    ck_assert_int_eq(gsrt_search(&problem, &options, &diag, &result), GSRT_OK);
    ck_assert_msg((result->best != NULL) == f->runs, "search, %s", f->source);
    gsrt_search_result_free(result);
    gsrt_violations_fini(&found);
    gsrt_cost_fini(&cost);
    (void)gsrt_deployment_free(d);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_workload_free(workload);
}

START_TEST(what_ran_out_of_memory_is_called_feasible_by_nobody)
{
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        check(&facts[i]);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {what_ran_out_of_memory_is_called_feasible_by_nobody};
    return unit_run("out_of_memory", tests, sizeof tests / sizeof tests[0]);
}
