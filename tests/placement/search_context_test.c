/* The context in parts: what it does to memories, where the search chooses it, and that bounds know of it. */
#include "placement/cost.h"
#include "placement/deployment_check.h"
#include "placement/deployment_executable.h"
#include "placement/workload_text.h"
#include "tests/placement/fleets.h"
#include "tests/placement/triples.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TODAY = 20787, LAYERS_MAX = 16 };

#define INVENTORY(count, rate, capacity, bandwidth)                                                                    \
    "gsrt_fleet: 1\nname: made\nas_of: 2026-11-01\nsource: \"declared: the test\"\n"                                   \
    "places:\n  - {name: home, kind: region}\n  - {name: node, kind: node, in: home}\nparts:\n"                        \
    "  - {name: gpu, kind: engine, in: node, count: " count                                                            \
    ", price: \"3 $/h\", launch_overhead: \"2 us\", software: "                                                        \
    "{gsrt-canonical: \"1\"}, rates: {matmul: {f32: \"" rate " TFLOPS\"}, vector: {f32: \"10 TFLOPS\"}}, memory: "     \
    "[{tier: hbm, capacity: \"" capacity " GB\", bandwidth: \"2 TB/s\"}]}\n"                                           \
    "  - {name: bus, kind: switch, in: node}\nlinks:\n"                                                                \
    "  - {from: gpu, to: bus, kind: network, both: true, bandwidth: \"" bandwidth " GB/s\", latency: \"1 us\"}\n"

/* A dense model of so many layers; kv_heads 0: with one latent for all of them. */
static model_shape shape_of(uint32_t layers, uint32_t kv_heads)
{
    return (model_shape){.layers = layers,
                         .dim = 1024,
                         .heads = 16,
                         .kv_heads = kv_heads == 0 ? 16 : kv_heads,
                         .head_dim = 64,
                         .ffn = 4096,
                         .vocab = 8192,
                         .context = 16384,
                         .latent = kv_heads == 0 ? 512 : 0,
                         .weights = GSRT_DTYPE_F16,
                         .state = GSRT_DTYPE_F16};
}

/* A problem whose contract admits attention in parts, by evidence of just that. */
typedef struct made {
    gsrt_workload *workload;
    gsrt_fleet *fleet;
    gsrt_contract_rule rule;
    gsrt_contract contract;
    char hash[40];
    const char *layers[LAYERS_MAX];
    gsrt_evidence_change change;
    gsrt_evidence_figure figure;
    gsrt_evidence evidence;
    gsrt_search_problem problem;
} made;

static void make(made *m, const model_shape *shape, const char *inventory, double prompt, double output)
{
    gsrt_findings findings;
    gsrt_workload_hash hash;
    *m = (made){.workload = made_model(shape)};
    ck_assert_int_eq(read_fleet(inventory, NULL, &m->fleet, &findings), GSRT_OK);
    ck_assert_uint_eq(findings.count, 0);
    gsrt_findings_fini(&findings);
    ck_assert_int_eq(gsrt_workload_hash_of(m->workload, &hash), GSRT_OK);
    (void)snprintf(m->hash, sizeof m->hash, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
    for (uint32_t r = 0; r < m->workload->region_count; r++)
        if (m->workload->regions[r].layer != GSRT_NO_INDEX)
            m->layers[m->change.region_count++] = m->workload->regions[r].name;
    m->change.transformation = "split:context";
    m->change.regions = m->layers;
    m->figure = (gsrt_evidence_figure){.statistic = GSRT_CONTRACT_DIVERGENCE, .measured = 0.0005, .upper = 0.001};
    m->evidence = (gsrt_evidence){.workload_hash = m->hash,
                                  .changes = &m->change,
                                  .change_count = 1,
                                  .corpus = "c",
                                  .confidence = 0.95,
                                  .coverage = 0.95,
                                  .figures = &m->figure,
                                  .figure_count = 1};
    m->rule = (gsrt_contract_rule){.glob = "*", .kind = GSRT_CONTRACT_DIVERGENCE, .bound = 0.01};
    m->contract = (gsrt_contract){.rules = &m->rule, .rule_count = 1};
    m->problem =
        (gsrt_search_problem){.workload = m->workload,
                              .fleet = m->fleet,
                              .contract = &m->contract,
                              .evidence = &m->evidence,
                              .evidence_count = 1,
                              .objective = {.measure = GSRT_MEASURE_THROUGHPUT},
                              .demand = {.prompt_tokens = gsrt_quantity_exact(prompt, (gsrt_dimension){.token = 1}),
                                         .output_tokens = gsrt_quantity_exact(output, (gsrt_dimension){.token = 1}),
                                         .context_parallel = true},
                              .today = TODAY};
}

static void made_end(made *m)
{
    (void)gsrt_workload_free(m->workload);
    (void)gsrt_fleet_free(m->fleet);
}

static gsrt_search_result *searched(const made *m, const char *policy, uint64_t budget)
{
    gsrt_search_result *result = NULL;
    gsrt_diag diag = {0};
    const gsrt_search_options options = {.policy = policy, .budget = budget, .seed = 7, .kept_max = 24};
    gsrt_status status = gsrt_search(&m->problem, &options, &diag, &result);
    ck_assert_msg(status == GSRT_OK, "%s: %s", policy, diag.text);
    return result;
}

static uint32_t parts_of(const gsrt_deployment *d)
{
    uint32_t parts = 1;
    for (uint32_t p = 0; p < d->pool_count; p++)
        for (uint32_t s = 0; s < d->pools[p].stage_count; s++)
            parts = d->pools[p].stages[s].context_width > parts ? d->pools[p].stages[s].context_width : parts;
    return parts;
}

/* ---- memory ---- */

/* All layers on eight engines, the context in so many parts: bytes of KV of each. *out_moves: new keys and values go to
 * another engine. */
static double state_of(const made *m, uint32_t parts, bool *out_moves)
{
    gsrt_deployment *d = gsrt_deployment_create(m->workload, 1);
    ck_assert(d != NULL && gsrt_deployment_add_stages(d, 0, 1) == GSRT_OK);
    ck_assert_int_eq(gsrt_deployment_add_members(d, 0, 0, 1), GSRT_OK);
    gsrt_deployment_pool *pool = &d->pools[0];
    d->context_max = 8192;
    pool->phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    pool->replica_count = 1;
    pool->batch_max = 4;
    pool->prefill_tokens = 64;
    pool->stages[0] = (gsrt_deployment_stage){.layer_last = m->workload->layer_count - 1,
                                              .members = pool->stages[0].members,
                                              .member_count = 1,
                                              .data_width = 1,
                                              .expert_width = 1,
                                              .context_width = parts,
                                              .algorithm = GSRT_ALGORITHM_GATHER};
    pool->stages[0].members[0] = (gsrt_deployment_members){.part = gsrt_fleet_part_named(m->fleet, "gpu"),
                                                           .instance_count = 8,
                                                           .block_replicas = 1,
                                                           .block_stride = 8,
                                                           .share = 1};
    gsrt_derivation why;
    gsrt_cost cost;
    const gsrt_cost_question question = {
        .workload = m->workload, .fleet = m->fleet, .deployment = d, .demand = &m->problem.demand};
    gsrt_derivation_init(&why);
    ck_assert_int_eq(gsrt_cost_predict(&question, &why, &cost), GSRT_OK);
    *out_moves = false;
    for (uint32_t i = 0; i < why.count; i++)
        *out_moves = *out_moves || strstr(why.nodes[i].name, "keys and values to their parts") != NULL;
    double state = cost.memories[0].state.value;
    gsrt_cost_fini(&cost);
    gsrt_derivation_fini(&why);
    (void)gsrt_deployment_free(d);
    return state;
}

/* A latent is there once instead of eight times; so is the KV head that eight have; where each has heads of its own,
 * it keeps as much, of other positions. */
START_TEST(kv_is_there_once)
{
    static const struct {
        uint32_t kv_heads, parts;
        double share;
        bool moves;
    } cases[] = {{0, 8, 8, false}, {0, 2, 2, false}, {1, 8, 8, false}, {2, 4, 4, false},
                 {2, 8, 4, true},  {8, 8, 1, true},  {16, 2, 1, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const model_shape shape = shape_of(4, cases[i].kv_heads);
        made m;
        bool moves;
        make(&m, &shape, INVENTORY("8", "60", "80", "400"), 8000, 100);
        double whole = state_of(&m, 1, &moves);
        ck_assert(!moves);
        ck_assert_double_eq(state_of(&m, cases[i].parts, &moves) * cases[i].share, whole);
        ck_assert_int_eq(moves, cases[i].moves);
        made_end(&m);
    }
}
END_TEST

/* ---- the search ---- */

static void check_feasible(const made *m, const gsrt_search_result *result)
{
    gsrt_violations found;
    ck_assert_int_eq(gsrt_deployment_check(&m->problem, result->best, NULL, &found), GSRT_OK);
    ck_assert_msg(found.count == 0, "%s", found.count > 0 ? found.items[0].constraint : "");
    gsrt_violations_fini(&found);
}

/* Long contexts of a latent, memories that hold few of them eight times: more of them run at once in parts. Not
 * without evidence, nor without anybody's leave, and the runtime executes none of it. */
START_TEST(long_contexts_are_divided)
{
    const model_shape shape = shape_of(12, 0);
    made m;
    gsrt_diag missing = {0};
    make(&m, &shape, INVENTORY("8", "60", "0.5", "400"), 6000, 8000);
    gsrt_search_result *with = searched(&m, "dp", 4000);
    ck_assert(with->best != NULL && parts_of(with->best) > 1);
    check_feasible(&m, with);
    m.problem.demand.context_parallel = false;
    gsrt_search_result *without = searched(&m, "dp", 4000);
    ck_assert(without->best != NULL && parts_of(without->best) == 1);
    printf("throughput of long contexts: %g in %u parts, batch %u; %g without\n", with->objective.value,
           parts_of(with->best), with->best->pools[0].batch_max, without->objective.value);
    ck_assert(with->objective.value > 1.2 * without->objective.value);
    ck_assert(with->objective.value <= with->bound);
    gsrt_deployment *alone = gsrt_deployment_copy(with->best);
    ck_assert(alone != NULL && parts_of(alone) == parts_of(with->best));
    alone->pools[0].replica_count = 1;
    ck_assert_int_eq(gsrt_deployment_executable(alone, m.workload, &missing), GSRT_EUNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(missing.text, "context that lies in parts"));
    (void)gsrt_deployment_free(alone);
    m.problem.demand.context_parallel = true;
    m.problem.evidence_count = 0;
    gsrt_search_result *unproven = searched(&m, "dp", 4000);
    ck_assert(unproven->best != NULL && parts_of(unproven->best) == 1);
    ck_assert(unproven->objective.value == without->objective.value);
    (void)gsrt_search_result_free(unproven);
    m.problem.evidence_count = 1;
    m.workload->has_weights = m.problem.is_for_execution = true;
    gsrt_search_result *run = searched(&m, "dp", 4000);
    ck_assert(run->best == NULL || parts_of(run->best) == 1);
    (void)gsrt_search_result_free(run);
    (void)gsrt_search_result_free(with);
    (void)gsrt_search_result_free(without);
    made_end(&m);
}
END_TEST

/* One latent of one sequence does not fit beside the weights, eighths of it do. */
START_TEST(what_does_not_fit_whole_fits_in_parts)
{
    const model_shape shape = shape_of(12, 0);
    made m;
    make(&m, &shape, INVENTORY("8", "60", "0.2", "400"), 14000, 500);
    gsrt_search_result *with = searched(&m, "greedy", 4000);
    ck_assert(with->best != NULL && parts_of(with->best) > 1);
    check_feasible(&m, with);
    (void)gsrt_search_result_free(with);
    made_end(&m);
}
END_TEST

/* Plans with and without parts stay within the bounds, also where memories are small, so that they come close; and
 * where one layer needs all engines, so that only parts keep them from reading everything eight times. */
START_TEST(no_plan_passes_the_bound)
{
    static const struct {
        const char *inventory;
        uint32_t layers;
    } cases[] = {{INVENTORY("8", "60", "0.2", "400"), 6},
                 {INVENTORY("16", "60", "0.12", "50"), 6},
                 {INVENTORY("12", "60", "4", "900"), 6},
                 {INVENTORY("8", "900", "0.02", "900"), 1}};
    static const gsrt_measure measures[] = {GSRT_MEASURE_THROUGHPUT, GSRT_MEASURE_COST, GSRT_MEASURE_TPOT,
                                            GSRT_MEASURE_TTFT, GSRT_MEASURE_LATENCY};
    uint32_t divided = 0;
    double closest = 0;
    for (size_t f = 0; f < sizeof cases / sizeof cases[0]; f++)
        for (size_t k = 0; k < sizeof measures / sizeof measures[0]; k++)
            for (uint32_t variant = 0; variant < 6; variant++) { /* KV heads; alone, or as many requests as fit */
                const model_shape shape = shape_of(cases[f].layers, variant / 2);
                made m;
                make(&m, &shape, cases[f].inventory, 2000, 12000);
                m.problem.objective.measure = measures[k];
                m.problem.demand.concurrency = variant % 2;
                gsrt_search_result *r = searched(&m, "dp", 2000);
                double value = r->objective.value;
                ck_assert_ptr_nonnull(r->best);
                ck_assert_msg(gsrt_measure_is_maximised(measures[k]) ? r->bound >= value : r->bound <= value,
                              "%s of %g, bound %g", gsrt_measure_word(measures[k]), value, r->bound);
                check_feasible(&m, r);
                divided += parts_of(r->best) > 1 ? 1 : 0;
                if (parts_of(r->best) > 1)
                    closest = fmax(closest, fmin(value / r->bound, r->bound / value));
                (void)gsrt_search_result_free(r);
                made_end(&m);
            }
    printf("%u plans with the context in parts; the closest is at %.3f of its bound\n", divided, closest);
    (void)fflush(stdout);
    ck_assert_uint_gt(divided, 5);
    ck_assert(closest > 0.5);
}
END_TEST

/* What is gone through holds all that the others find, and no bound excludes its optimum. */
START_TEST(policies_come_near_the_optimum)
{
    static const gsrt_measure measures[] = {GSRT_MEASURE_THROUGHPUT, GSRT_MEASURE_LATENCY};
    uint32_t divided = 0;
    for (size_t k = 0; k < sizeof measures / sizeof measures[0]; k++)
        for (uint32_t kv_heads = 0; kv_heads < 2; kv_heads++) {
            const model_shape shape = shape_of(3, kv_heads);
            made m;
            make(&m, &shape, INVENTORY("4", "60", "0.15", "200"), 12000, 4000);
            m.problem.objective.measure = measures[k];
            gsrt_search_result *best = searched(&m, "exhaustive", 2000000), *dp = searched(&m, "dp", 4000);
            ck_assert(best->is_complete && best->best != NULL && dp->best != NULL);
            double optimum = best->objective.value, value = dp->objective.value;
            bool is_maximised = gsrt_measure_is_maximised(measures[k]);
            double gap = is_maximised ? 1 - value / optimum : value / optimum - 1;
            printf("%s: optimum in %u parts, dp %.2f %% off\n", gsrt_measure_word(measures[k]), parts_of(best->best),
                   100 * gap);
            ck_assert_msg(gap > -1e-12 && gap < 0.1, "%g", gap);
            ck_assert(is_maximised ? dp->bound >= optimum : dp->bound <= optimum);
            divided += parts_of(best->best) > 1 ? 1 : 0;
            (void)gsrt_search_result_free(best);
            (void)gsrt_search_result_free(dp);
            made_end(&m);
        }
    ck_assert_uint_gt(divided, 0);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {kv_is_there_once, long_contexts_are_divided, what_does_not_fit_whole_fits_in_parts,
                            no_plan_passes_the_bound, policies_come_near_the_optimum};
    return unit_run("search_context", tests, sizeof tests / sizeof tests[0]);
}
