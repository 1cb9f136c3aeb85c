/* The bound on latencies against the cost model's own word: no group of engines, however wide, however rows and experts
 * are divided over it, and in how many parts the context, takes less for a step than the bound says; nor do groups that
 * follow each other, or chunks.
 */
#include "placement/cost.h"
#include "tests/placement/fleets.h"
#include "tests/placement/triples.h"

#include <math.h>
#include <stdio.h>

enum { ENGINES = 24, EXPERTS = 8, CHUNK_LEAST = 32, PROMPT = 256, OUTPUT = 64, TODAY = 20787 };

/* Nodes of four: groups of up to eight are bounded one by one, wider ones by what they have in common. */
#define INVENTORY(bandwidth, latency, overhead)                                                                        \
    "gsrt_fleet: 1\nname: made\nas_of: 2026-11-01\nsource: \"declared: the test\"\n"                                   \
    "places:\n  - {name: home, kind: region}\n  - {name: node, kind: node, in: home, count: 6}\nparts:\n"              \
    "  - {name: gpu, kind: engine, in: node, count: 4, launch_overhead: \"" overhead "\", software: {gsrt-canonical: " \
    "\"1\"}, rates: {matmul: {f32: \"60 TFLOPS\"}, vector: {f32: \"10 TFLOPS\"}}, memory: [{tier: hbm, capacity: "     \
    "\"80 GB\", bandwidth: \"2 TB/s\"}]}\n"                                                                            \
    "  - {name: bus, kind: switch, in: node}\n  - {name: spine, kind: switch, in: home}\nlinks:\n"                     \
    "  - {from: gpu, to: bus, kind: network, both: true, bandwidth: \"" bandwidth " GB/s\", latency: \"" latency       \
    "\"}\n"                                                                                                            \
    "  - {from: bus, to: spine, kind: network, both: true, bandwidth: \"20 GB/s\", latency: \"" latency "\"}\n"

static const model_shape shapes[] = {
    {.layers = 12,
     .dim = 1024,
     .heads = 16,
     .kv_heads = 4,
     .head_dim = 64,
     .ffn = 4096,
     .vocab = 8192,
     .context = 512,
     .weights = GSRT_DTYPE_F16,
     .state = GSRT_DTYPE_F16},
    {.layers = 12,
     .dim = 1024,
     .heads = 16,
     .kv_heads = 4,
     .head_dim = 64,
     .ffn = 2048,
     .vocab = 8192,
     .context = 512,
     .experts = EXPERTS,
     .chosen = 2,
     .weights = GSRT_DTYPE_F16,
     .state = GSRT_DTYPE_F16},
    {.layers = 12,
     .dim = 1024,
     .heads = 16,
     .kv_heads = 16,
     .head_dim = 64,
     .ffn = 512,
     .vocab = 1024,
     .context = 512,
     .experts = EXPERTS,
     .chosen = 4,
     .latent = 128,
     .weights = GSRT_DTYPE_F16,
     .state = GSRT_DTYPE_F16},
};

typedef struct asked {
    gsrt_search_problem problem;
    gsrt_cost_profile *profile;
    double bound[GSRT_MEASURE_COUNT], least[GSRT_MEASURE_COUNT]; /* of TTFT and TPOT */
    uint32_t part, experts;                                      /* the engine; how many experts there are, 1 without */
    uint64_t count;
} asked;

static void ask_measure(asked *a, const gsrt_deployment *d, gsrt_measure measure)
{
    const gsrt_cost_question question = {.workload = a->problem.workload,
                                         .fleet = a->problem.fleet,
                                         .deployment = d,
                                         .demand = &a->problem.demand,
                                         .today = TODAY,
                                         .is_plain = true,
                                         .profile = a->profile};
    const gsrt_deployment_stage *s = &d->pools[0].stages[0];
    gsrt_cost cost;
    ck_assert_int_eq(gsrt_cost_predict(&question, NULL, &cost), GSRT_OK);
    gsrt_quantity value = cost.values[measure][GSRT_PERCENTILE_50];
    ck_assert(value.is_known);
    ck_assert_msg(value.value >= a->bound[measure] * (1 - 1e-12),
                  "%s %g below the bound %g: %u stages of %u, data %u, experts %u, context %u, %s, chunk %u",
                  gsrt_measure_word(measure), value.value, a->bound[measure], d->pools[0].stage_count,
                  s->members[0].instance_count, s->data_width, s->expert_width, s->context_width,
                  gsrt_collective_algorithm_name(s->algorithm), d->pools[0].prefill_tokens);
    a->least[measure] = fmin(a->least[measure], value.value);
    a->count++;
    gsrt_cost_fini(&cost);
}

/* Stages that are alike, one after the other. A pool that only prefills waits for nothing else. */
static void ask(asked *a, uint32_t stages, gsrt_deployment_stage like, uint32_t width, uint32_t chunk)
{
    const gsrt_workload *w = a->problem.workload;
    gsrt_deployment *d = gsrt_deployment_create(w, 1);
    ck_assert(d != NULL && gsrt_deployment_add_stages(d, 0, stages) == GSRT_OK);
    d->context_max = PROMPT + OUTPUT;
    gsrt_deployment_pool *pool = &d->pools[0];
    pool->replica_count = 1;
    pool->batch_max = ENGINES;
    pool->prefill_tokens = chunk;
    for (uint32_t i = 0; i < stages; i++) {
        pool->stages[i] = like;
        pool->stages[i].layer_first = w->layer_count * i / stages;
        pool->stages[i].layer_last = w->layer_count * (i + 1) / stages - 1;
        ck_assert_int_eq(gsrt_deployment_add_members(d, 0, i, 1), GSRT_OK);
        pool->stages[i].members[0] = (gsrt_deployment_members){.part = a->part,
                                                               .instance_first = (uint64_t)i * width,
                                                               .instance_count = width,
                                                               .block_replicas = 1,
                                                               .block_stride = width,
                                                               .share = 1};
    }
    pool->phases = GSRT_PHASE_PREFILL;
    ask_measure(a, d, GSRT_MEASURE_TTFT);
    pool->phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    ask_measure(a, d, GSRT_MEASURE_TTFT);
    if (chunk == CHUNK_LEAST)
        ask_measure(a, d, GSRT_MEASURE_TPOT);
    (void)gsrt_deployment_free(d);
}

static void ask_groups(asked *a, uint32_t stages, uint32_t width)
{
    static const gsrt_collective_algorithm algorithms[] = {GSRT_ALGORITHM_GATHER, GSRT_ALGORITHM_SUBTREES};
    for (uint32_t data = 1; data <= width; data++)
        for (uint32_t experts = 1; experts <= width && experts <= a->experts; experts++)
            for (size_t i = 0; width % data == 0 && width % experts == 0 && i < (width > 1 ? 2u : 1u); i++)
                for (uint32_t parts = 1; parts <= width / data; parts++)
                    for (uint32_t chunk = CHUNK_LEAST; width / data % parts == 0 && chunk <= PROMPT; chunk *= 2)
                        ask(a, stages,
                            (gsrt_deployment_stage){.data_width = data,
                                                    .expert_width = experts,
                                                    .context_width = parts,
                                                    .algorithm = width > 1 ? algorithms[i] : GSRT_ALGORITHM_NONE,
                                                    .overlaps = width > 1},
                            width, chunk);
}

static double bound_of(gsrt_search_problem problem, gsrt_measure measure)
{
    static const gsrt_search_options options = {.policy = "greedy", .budget = 1};
    gsrt_search_result *result = NULL;
    gsrt_diag diag = {0};
    problem.objective = (gsrt_objective){.measure = measure, .percentile = GSRT_PERCENTILE_50};
    ck_assert_int_eq(gsrt_search(&problem, &options, &diag, &result), GSRT_OK);
    double bound = result->bound;
    (void)gsrt_search_result_free(result);
    ck_assert(isfinite(bound) && bound > 0);
    return bound;
}

static void check(const char *inventory, const model_shape *shape)
{
    gsrt_findings findings;
    gsrt_fleet *fleet = NULL;
    char room[2048];
    gsrt_workload *workload = made_model(shape);
    gsrt_contract *contract = gsrt_contract_bitwise();
    gsrt_status status = read_fleet(inventory, NULL, &fleet, &findings);
    ck_assert_msg(status == GSRT_OK, "%s", found(&findings, room, sizeof room));
    gsrt_findings_fini(&findings);
    asked a = {.problem = {.workload = workload,
                           .fleet = fleet,
                           .contract = contract,
                           .demand = {.prompt_tokens = gsrt_quantity_exact(PROMPT, (gsrt_dimension){.token = 1}),
                                      .output_tokens = gsrt_quantity_exact(OUTPUT, (gsrt_dimension){.token = 1}),
                                      .concurrency = 1,
                                      .context_parallel = true},
                           .today = TODAY},
               .profile = gsrt_cost_profile_create(workload, fleet),
               .experts = shape->experts > 0 ? shape->experts : 1};
    ck_assert_ptr_nonnull(a.profile);
    while (fleet->parts[a.part].kind != GSRT_PART_ENGINE)
        a.part++;
    static const gsrt_measure measures[] = {GSRT_MEASURE_TTFT, GSRT_MEASURE_TPOT};
    for (size_t i = 0; i < sizeof measures / sizeof measures[0]; i++) {
        a.bound[measures[i]] = bound_of(a.problem, measures[i]);
        a.least[measures[i]] = HUGE_VAL;
    }
    for (uint32_t stages = 1; stages <= 4; stages++)
        for (uint32_t width = 1; width * stages <= ENGINES; width++)
            ask_groups(&a, stages, width);
    ck_assert_uint_gt(a.count, 1000);
    /* and it is near enough to tell something: the best of these takes less than twice as long */
    double near = a.least[GSRT_MEASURE_TPOT] / a.bound[GSRT_MEASURE_TPOT];
    printf("%llu steps: TPOT at least %.3f times the bound, TTFT %.3f\n", (unsigned long long)a.count, near,
           a.least[GSRT_MEASURE_TTFT] / a.bound[GSRT_MEASURE_TTFT]);
    ck_assert_msg(near < 2, "%g", near);
    (void)gsrt_cost_profile_free(a.profile);
    (void)gsrt_contract_free(contract);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_workload_free(workload);
}

START_TEST(no_step_passes_the_bound)
{
    static const char *const inventories[] = {INVENTORY("50", "1 us", "2 us"), INVENTORY("400", "0.1 us", "0.1 us"),
                                              INVENTORY("5", "5 us", "20 us")};
    for (size_t i = 0; i < sizeof inventories / sizeof inventories[0]; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
            check(inventories[i], &shapes[k]);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {no_step_passes_the_bound};
    return unit_run("search_latency", tests, sizeof tests / sizeof tests[0]);
}
