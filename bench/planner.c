/* Plan frontier models for big fleets: wall time, peak memory, the plan, and the certified gap. One row of
 * bench/PLANNER.md for each case, and below the table each plan in words.
 *
 *     bench/planner CONFIGS FLEETS [POLICY [BUDGET]]     directories of config.json files and of inventories
 *
 * There are no weights here, so the evidence that native kernels need is assumed, as if a validation had been done: it
 * is made from what the judge says that such deployments change. Each case runs in a process of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "model/config_json.h"
#include "placement/search.h"
#include "placement/workload_text.h"

enum { BUDGET = 20000, CHANGES_MAX = 32, EVIDENCE_MAX = 256, TODAY = 20787 /* 2026-11-30 */ };

static void fail(const char *what, const gsrt_diag *diag)
{
    fprintf(stderr, "planner: %s%s%s\n", what, diag != NULL ? ": " : "", diag != NULL ? diag->text : "");
    exit(2);
}

static gsrt_span file_read(const char *directory, const char *name)
{
    char path[GSRT_PATH_BYTES_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(GSRT_JSON_BYTES_MAX);
    if (file == NULL || data == NULL)
        fail(path, NULL);
    size_t len = fread(data, 1, GSRT_JSON_BYTES_MAX, file);
    (void)fclose(file);
    return gsrt_span_of(data, len);
}

static gsrt_workload *workload_read(const char *directory, const char *name)
{
    gsrt_diag diag = {0};
    gsrt_config_report report;
    gsrt_workload *workload = NULL;
    gsrt_config_report_init(&report);
    if (gsrt_import_config(file_read(directory, name), name, &workload, &report, &diag) != GSRT_OK)
        fail(name, &diag);
    gsrt_config_report_fini(&report);
    for (uint32_t r = 0; r < workload->region_count; r++) /* products in a narrower format than f32 are allowed */
        workload->regions[r].legal |= GSRT_LEGAL_QUANTISE_WEIGHTS;
    return workload;
}

static gsrt_yaml *yaml_read(const char *directory, const char *name)
{
    gsrt_diag diag = {0};
    gsrt_yaml *yaml = NULL;
    if (gsrt_yaml_parse(file_read(directory, name), name, &yaml, &diag) != GSRT_OK)
        fail(name, &diag);
    return yaml;
}

static gsrt_fleet *fleet_read(const char *directory, const char *name)
{
    gsrt_findings findings;
    gsrt_fleet *fleet = NULL;
    gsrt_findings_init(&findings);
    const gsrt_yaml *catalogues[] = {yaml_read(directory, "../catalogue/accelerators.yaml")};
    if (gsrt_fleet_read(yaml_read(directory, name), catalogues, 1, &findings, &fleet) != GSRT_OK)
        fail(name, NULL);
    gsrt_findings_fini(&findings);
    return fleet;
}

/* ---- assumed evidence ---- */

typedef struct assumed {
    gsrt_evidence items[EVIDENCE_MAX];
    size_t count;
    char hash[40];
} assumed;

/* Native kernels; f8 weights are multiplied as `f8`. */
static void choose_native(const gsrt_workload *w, gsrt_deployment *d, gsrt_format f8)
{
    for (uint32_t r = 0; r < w->region_count; r++) {
        d->choices[r].arithmetic = GSRT_ARITHMETIC_NATIVE;
        d->choices[r].compute = GSRT_FORMAT_BF16;
        for (uint32_t i = w->regions[r].op_first; i < w->regions[r].op_first + w->regions[r].op_count; i++)
            if (w->ops[i].tensor != GSRT_NO_INDEX && w->tensors[w->ops[i].tensor].dtype == GSRT_DTYPE_F8_E4M3)
                d->choices[r].compute = f8;
    }
}

/* Evidence for exactly what a deployment changes. */
static void assume(assumed *all, const gsrt_workload *w, const gsrt_fleet *fleet, const gsrt_contract *contract,
                   const gsrt_deployment *d)
{
    static const gsrt_evidence_figure figure = {.statistic = GSRT_CONTRACT_QUALITY, .measured = 1.001, .upper = 1.002};
    gsrt_evidence_change *changes = calloc(CHANGES_MAX, sizeof *changes);
    gsrt_verdict verdict;
    uint32_t count = 0;
    if (all->count == EVIDENCE_MAX || gsrt_contract_judge(contract, w, fleet, d, NULL, 0, &verdict) != GSRT_OK)
        fail("judge", NULL);
    for (uint32_t t = 0; t < verdict.transformation_count; t++) {
        const gsrt_transformation *x = &verdict.transformations[t];
        uint32_t c = 0;
        if (x->is_proved)
            continue;
        while (c < count && strcmp(changes[c].transformation, x->name) != 0)
            c++;
        if (c == CHANGES_MAX)
            fail("too many changes", NULL);
        if (c == count) {
            changes[count++].transformation = strdup(x->name);
            changes[c].regions = calloc(w->region_count, sizeof(char *));
        }
        ((const char **)(uintptr_t)changes[c].regions)[changes[c].region_count++] = w->regions[x->region].name;
    }
    gsrt_verdict_fini(&verdict);
    all->items[all->count++] = (gsrt_evidence){.workload_hash = all->hash,
                                               .changes = changes,
                                               .change_count = count,
                                               .corpus = "assumed",
                                               .corpus_hash = "00000000000000000000000000000000",
                                               .sequence_count = 59,
                                               .position_count = 59 * 128,
                                               .confidence = 0.95,
                                               .coverage = 0.95,
                                               .method = "assumed",
                                               .figures = &figure,
                                               .figure_count = 1};
}

/* Every collective, with and without overlap, parts of the batch, experts apart, whole prompts in one step. */
static void assume_native(assumed *all, const gsrt_workload *w, const gsrt_fleet *fleet, const gsrt_contract *contract,
                          gsrt_format f8, uint32_t context)
{
    bool has_experts = false;
    uint32_t engine = 0;
    for (uint32_t i = 0; i < w->op_count; i++)
        has_experts = has_experts || w->ops[i].kind == GSRT_OP_EXPERT_LINEAR;
    while (fleet->parts[engine].kind != GSRT_PART_ENGINE)
        engine++;
    for (uint32_t variant = 0; variant < GSRT_ALGORITHM_COUNT * 16; variant++) {
        gsrt_collective_algorithm algorithm = (gsrt_collective_algorithm)(variant / 16);
        bool is_alone = algorithm == GSRT_ALGORITHM_NONE;
        if (((variant & 2) != 0 && (!has_experts || is_alone)) || ((variant & 4) != 0 && (!has_experts || is_alone)) ||
            algorithm == GSRT_ALGORITHM_GATHER || algorithm == GSRT_ALGORITHM_SUBTREES ||
            algorithm == GSRT_ALGORITHM_TREE)
            continue;
        gsrt_deployment *d = gsrt_deployment_create(w, 1);
        if (d == NULL || gsrt_deployment_add_stages(d, 0, 1) != GSRT_OK ||
            gsrt_deployment_add_members(d, 0, 0, 1) != GSRT_OK)
            fail("no memory", NULL);
        uint32_t width = is_alone ? 1 : 2;
        d->context_max = context;
        d->pools[0].phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
        d->pools[0].replica_count = 1;
        d->pools[0].batch_max = 2;
        d->pools[0].prefill_tokens = (variant & 8) != 0 ? context : 1;
        gsrt_deployment_stage *stage = &d->pools[0].stages[0];
        stage->layer_last = w->layer_count - 1;
        stage->algorithm = algorithm;
        stage->overlaps = (variant & 1) != 0;
        stage->data_width = (variant & 2) != 0 ? width : 1;
        stage->expert_width = (variant & 4) != 0 ? width : 1;
        stage->context_width = 1;
        stage->members[0] = (gsrt_deployment_members){
            .part = engine, .instance_count = width, .block_replicas = 1, .block_stride = width, .share = 1};
        choose_native(w, d, f8);
        assume(all, w, fleet, contract, d);
        (void)gsrt_deployment_free(d);
    }
}

/* ---- one case ---- */

typedef struct one_case {
    const char *configs, *fleets, *policy;
    uint64_t budget;
    const char *model, *config, *fleet;
    gsrt_measure measure;
} one_case;

static const char *text_of(const gsrt_quantity *q, char *room, size_t bytes)
{
    gsrt_buffer buffer;
    gsrt_buffer_init(&buffer, bytes - 1);
    if (gsrt_quantity_print(q, &buffer) != GSRT_OK)
        fail("no memory", NULL);
    memcpy(room, buffer.data, buffer.len);
    room[buffer.len] = 0;
    gsrt_buffer_fini(&buffer);
    char *interval = strchr(room, '[');
    if (interval != NULL)
        interval[-1] = 0;
    return room;
}

static void print_plan(const gsrt_fleet *fleet, const gsrt_deployment *d)
{
    for (uint32_t p = 0; p < d->pool_count; p++) {
        const gsrt_deployment_pool *pool = &d->pools[p];
        printf("%s%llu x ", p == 0 ? "" : "; ", (unsigned long long)pool->replica_count);
        for (uint32_t s = 0; s < pool->stage_count; s++) {
            const gsrt_deployment_stage *stage = &pool->stages[s];
            printf("%s", s == 0 ? "" : " + ");
            for (uint32_t m = 0; m < stage->member_count; m++)
                printf("%s%u %s", m == 0 ? "" : " & ", stage->members[m].instance_count,
                       fleet->parts[stage->members[m].part].name);
            printf(" (%s", gsrt_collective_algorithm_name(stage->algorithm));
            if (stage->data_width > 1)
                printf(", data %u", stage->data_width);
            if (stage->expert_width > 1)
                printf(", experts %u", stage->expert_width);
            printf("%s)", stage->overlaps ? ", overlapped" : "");
        }
        printf(", batch %u%s", pool->batch_max,
               pool->phases == GSRT_PHASE_PREFILL  ? ", prefill"
               : pool->phases == GSRT_PHASE_DECODE ? ", decode"
                                                   : "");
    }
}

static void run(const one_case *c)
{
    static assumed evidence;
    gsrt_diag diag = {0};
    gsrt_workload *workload = workload_read(c->configs, c->config);
    gsrt_fleet *fleet = fleet_read(c->fleets, c->fleet);
    gsrt_contract_rule rule = {.glob = "*", .kind = GSRT_CONTRACT_QUALITY, .bound = 1.01, .corpus = "assumed"};
    gsrt_contract contract = {.rules = &rule, .rule_count = 1};
    gsrt_workload_hash hash;
    if (gsrt_workload_hash_of(workload, &hash) != GSRT_OK)
        fail("no memory", NULL);
    (void)snprintf(evidence.hash, sizeof evidence.hash, "%016llx%016llx", (unsigned long long)hash.high,
                   (unsigned long long)hash.low);
    gsrt_search_problem problem = {.workload = workload,
                                   .fleet = fleet,
                                   .contract = &contract,
                                   .objective = {.measure = c->measure, .percentile = GSRT_PERCENTILE_50},
                                   .demand = {.prompt_tokens = gsrt_quantity_exact(1024, (gsrt_dimension){.token = 1}),
                                              .output_tokens = gsrt_quantity_exact(512, (gsrt_dimension){.token = 1})},
                                   .today = TODAY};
    if (c->measure == GSRT_MEASURE_LATENCY)
        problem.demand.concurrency = 8;
    assume_native(&evidence, workload, fleet, &contract, GSRT_FORMAT_BF16, 1536);
    problem.evidence = evidence.items;
    problem.evidence_count = evidence.count;
    const gsrt_search_options options = {.policy = c->policy, .budget = c->budget, .seed = 1, .kept_max = 8};
    struct timespec before, after;
    struct rusage usage;
    gsrt_search_result *result = NULL;
    (void)clock_gettime(CLOCK_MONOTONIC, &before);
    if (gsrt_search(&problem, &options, &diag, &result) != GSRT_OK)
        fail("search", &diag);
    (void)clock_gettime(CLOCK_MONOTONIC, &after);
    (void)getrusage(RUSAGE_SELF, &usage);
    double seconds = (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
    char room[2][96];
    gsrt_quantity bound = result->objective;
    bound.value = bound.lo = bound.hi = result->bound;
    printf("| %s | %s | %s | %.2f s | %ld MB | %llu | ", c->model, c->fleet, gsrt_measure_word(c->measure), seconds,
           usage.ru_maxrss / 1024, (unsigned long long)result->evaluation_count);
    if (result->best == NULL)
        printf("- | - | - | no plan: %s |\n", result->rival_count > 0 ? result->rivals[0].rejection.constraint : "?");
    else {
        printf("%s | %s | %.0f %% | ", text_of(&result->objective, room[0], sizeof room[0]),
               text_of(&bound, room[1], sizeof room[1]), 100 * result->gap);
        print_plan(fleet, result->best);
        printf(" |\n");
    }
    for (uint32_t i = 0; getenv("GSRT_PLANNER_RIVALS") != NULL && i < result->rival_count; i++) {
        const gsrt_rival *r = &result->rivals[i];
        printf("    %s: %s; %s; ", r->rejection.reason, r->rejection.constraint, r->rejection.change);
        print_plan(fleet, r->deployment);
        printf("\n");
    }
    (void)gsrt_search_result_free(result);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *model, *config;
    } models[] = {{"Llama-3.1-405B", "meta-llama--Meta-Llama-3.1-405B_config.json"},
                  {"DeepSeek-V3", "deepseek-ai--DeepSeek-V3_config.json"},
                  {"Qwen3-235B-A22B", "Qwen--Qwen3-235B-A22B_config.json"}};
    static const char *const fleets[] = {"mixed-64.yaml", "mixed-1024.yaml", "mixed-16384.yaml"};
    static const gsrt_measure measures[] = {GSRT_MEASURE_THROUGHPUT, GSRT_MEASURE_COST, GSRT_MEASURE_LATENCY};
    if (argc < 3) {
        fprintf(stderr, "usage: %s CONFIGS FLEETS [POLICY [BUDGET]]\n", argv[0]);
        return 1;
    }
    printf("| model | fleet | objective | wall | peak memory | evaluations | predicted | bound | gap | plan |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n");
    (void)fflush(stdout);
    for (size_t f = 0; f < sizeof fleets / sizeof fleets[0]; f++)
        for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
            for (size_t k = 0; k < sizeof measures / sizeof measures[0]; k++) {
                one_case c = {.configs = argv[1],
                              .fleets = argv[2],
                              .policy = argc > 3 ? argv[3] : "dp",
                              .budget = argc > 4 ? strtoull(argv[4], NULL, 10) : BUDGET,
                              .model = models[m].model,
                              .config = models[m].config,
                              .fleet = fleets[f],
                              .measure = measures[k]};
                pid_t child = fork();
                int status = 0;
                if (child == 0) {
                    run(&c);
                    return 0;
                }
                if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
                    return 2;
            }
    return 0;
}
