/* Predictions for cases in a plain text, one a line, for bench/reality: what the cost model says of configurations that
 * somebody measured.
 *
 *     reality_cases FLEET.yaml CATALOGUE.yaml < cases > predictions
 *
 * A case: "case" ID CONFIG.json ENGINE WIDTH DATA EXPERTS STAGES ALGORITHM WEIGHTS STATE COMPUTE BATCH CONCURRENCY
 * CHUNK PROMPT OUTPUT LEAST FIRST GATHER, separated by blanks. ALGORITHM: a name, or "best": the one that is predicted
 * to be fastest, as libraries choose by themselves. WEIGHTS, STATE: a dtype, or "given". LEAST: the shortest of prompts
 * and answers over the longest, which PROMPT and OUTPUT are. FIRST: 1 where the server's steps hold prompts or answers,
 * prompts first. GATHER: steps that a prompt waits at most for others to prefill with.
 *
 * Or a piece of work: "op" ID ENGINE CLASS FORMAT OPERATIONS BYTES.
 *
 * Or an exchange over a link and back: "collective" ID LINK EQUATION WIDTH BYTES.
 *
 * Or whether a deployment fits: "memory", then as a case.
 *
 * The prediction of a case: ID, then for ttft and tpot: value lo hi, in s; fill level of the fullest memory and the
 * batch that fits; the times of a prefill and a decode step; then what a greedy roofline needs of the workload: weight
 * bytes, active parameters, KV bytes of a sequence; tokens/s: value lo hi. Of work and exchanges: ID, value lo hi, in
 * s. Of "memory": ID, the fill level, whether the checker calls it too small. Or ID and "refused" and why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/config_json.h"
#include "placement/deployment_check.h"
#include "placement/rejection.h"
#include "placement/workload_totals.h"

typedef struct test_case {
    char id[256], config[1024], engine[128], algorithm[32], weights[32], state[32], compute[32];
    unsigned width, data, experts, stages, batch, concurrency, chunk, first, gather;
    double prompt, output, least;
} test_case;

static void fail(const char *what, const char *which)
{
    (void)fprintf(stderr, "reality_cases: %s '%s'\n", what, which);
    exit(2);
}

static gsrt_span read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        fail("could not open", path);
    long size = ftell(file);
    uint8_t *bytes = malloc((size_t)size + 1);
    rewind(file);
    if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size)
        fail("could not read", path);
    (void)fclose(file);
    return gsrt_span_of(bytes, (size_t)size);
}

static gsrt_yaml *read_yaml(const char *path)
{
    gsrt_diag diag = {0};
    gsrt_yaml *yaml = NULL;
    gsrt_span text = read_whole(path);
    if (gsrt_yaml_parse(text, path, &yaml, &diag) != GSRT_OK)
        fail("cannot read", diag.text);
    free((void *)(uintptr_t)text.data);
    return yaml;
}

static gsrt_fleet *read_fleet(const char *path, const char *catalogue)
{
    gsrt_fleet *fleet = NULL;
    gsrt_findings findings;
    gsrt_yaml *yaml = read_yaml(path), *types = read_yaml(catalogue);
    gsrt_findings_init(&findings);
    const gsrt_yaml *catalogues[] = {types};
    if (gsrt_fleet_read(yaml, catalogues, 1, &findings, &fleet) != GSRT_OK)
        fail("no fleet in", path);
    gsrt_findings_fini(&findings);
    (void)gsrt_yaml_free(yaml);
    (void)gsrt_yaml_free(types);
    return fleet;
}

static gsrt_workload *read_workload(const char *path)
{
    gsrt_diag diag = {0};
    gsrt_config_report report;
    gsrt_workload *workload = NULL;
    gsrt_span json = read_whole(path);
    gsrt_config_report_init(&report);
    if (gsrt_import_config(json, path, &workload, &report, &diag) != GSRT_OK)
        workload = NULL;
    gsrt_config_report_fini(&report);
    free((void *)(uintptr_t)json.data);
    return workload;
}

static gsrt_dtype dtype_named(const char *name)
{
    static const gsrt_dtype all[] = {GSRT_DTYPE_F32,  GSRT_DTYPE_F16,   GSRT_DTYPE_Q4_0,    GSRT_DTYPE_Q8_0,
                                     GSRT_DTYPE_BF16, GSRT_DTYPE_MXFP4, GSRT_DTYPE_F8_E4M3, GSRT_DTYPE_NVFP4};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(gsrt_dtype_name(all[i]), name) == 0)
            return all[i];
    }
    fail("no such dtype", name);
    return GSRT_DTYPE_F32;
}

static gsrt_format format_named(const char *name)
{
    for (gsrt_format format = 0; format < GSRT_FORMAT_COUNT; format++) {
        if (strcmp(gsrt_format_word(format), name) == 0)
            return format;
    }
    fail("no such format", name);
    return GSRT_FORMAT_F32;
}

static gsrt_deployment *deployment_of(const test_case *t, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    gsrt_deployment *d = gsrt_deployment_create(w, 1);
    if (d == NULL || gsrt_deployment_add_stages(d, 0, t->stages) != GSRT_OK)
        fail("no memory for", t->id);
    gsrt_deployment_pool *pool = &d->pools[0];
    pool->phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    pool->replica_count = 1;
    pool->batch_max = t->batch;
    pool->prefill_tokens = t->chunk;
    d->context_max = (uint32_t)(t->prompt + t->output);
    for (uint32_t s = 0; s < t->stages; s++) {
        gsrt_deployment_stage *stage = &pool->stages[s];
        if (gsrt_deployment_add_members(d, 0, s, 1) != GSRT_OK)
            fail("no memory for", t->id);
        stage->layer_first = w->layer_count * s / t->stages;
        stage->layer_last = w->layer_count * (s + 1) / t->stages - 1;
        stage->data_width = t->data;
        stage->expert_width = t->experts;
        stage->context_width = 1;
        stage->members[0] = (gsrt_deployment_members){.part = gsrt_fleet_part_named(fleet, t->engine),
                                                      .instance_first = (uint64_t)s * t->width,
                                                      .instance_count = t->width,
                                                      .block_replicas = 1,
                                                      .share = 1};
        if (stage->members[0].part == GSRT_FLEET_NONE)
            fail("no such engine", t->engine);
    }
    for (uint32_t r = 0; r < d->region_count; r++) {
        gsrt_region_choice *choice = &d->choices[r];
        choice->arithmetic = GSRT_ARITHMETIC_NATIVE;
        choice->compute = format_named(t->compute);
        choice->weights_are_as_given = strcmp(t->weights, "given") == 0;
        choice->state_is_as_given = strcmp(t->state, "given") == 0;
        if (!choice->weights_are_as_given)
            choice->weights = dtype_named(t->weights);
        if (!choice->state_is_as_given)
            choice->state = dtype_named(t->state);
        /* embedding and logits are not quantised by the libraries that these were measured with */
        if (w->regions[r].layer == GSRT_NO_INDEX) {
            choice->weights_are_as_given = true;
            choice->compute = GSRT_FORMAT_BF16;
        }
    }
    return d;
}

/* With one algorithm, or the best. */
static gsrt_cost predict(const test_case *t, gsrt_deployment *d, const gsrt_cost_question *question)
{
    gsrt_cost best = {0};
    bool is_set = false, is_any = strcmp(t->algorithm, "best") == 0;
    for (gsrt_collective_algorithm a = GSRT_ALGORITHM_NONE; a <= GSRT_ALGORITHM_SWITCH; a++) {
        gsrt_cost cost;
        if (is_any ? a < GSRT_ALGORITHM_RING : strcmp(t->algorithm, gsrt_collective_algorithm_name(a)) != 0)
            continue;
        for (uint32_t s = 0; s < t->stages; s++)
            d->pools[0].stages[s].algorithm = a;
        if (gsrt_cost_predict(question, NULL, &cost) != GSRT_OK)
            fail("no memory for", t->id);
        const gsrt_quantity *now = &cost.values[GSRT_MEASURE_LATENCY][0], *then = &best.values[GSRT_MEASURE_LATENCY][0];
        if (!is_set || (now->is_known && (!then->is_known || now->value < then->value))) {
            gsrt_cost_fini(&best);
            best = cost;
            is_set = true;
        } else {
            gsrt_cost_fini(&cost);
        }
    }
    if (!is_set)
        fail("no such algorithm", t->algorithm);
    return best;
}

/* The largest batch up to the one asked for that fits, as a server makes it; 1 where none does. */
static void fit_batch(const test_case *t, gsrt_deployment *d, const gsrt_cost_question *question)
{
    uint32_t fits = 0, too_many = t->batch + 1;
    while (too_many - fits > 1) {
        uint32_t middle = fits == 0 && too_many == t->batch + 1 ? t->batch : fits + (too_many - fits) / 2;
        d->pools[0].batch_max = middle;
        gsrt_cost cost = predict(t, d, question);
        if (cost.values[GSRT_MEASURE_MEMORY][0].value <= 1)
            fits = middle;
        else
            too_many = middle;
        gsrt_cost_fini(&cost);
    }
    d->pools[0].batch_max = fits > 0 ? fits : 1;
}

static gsrt_quantity spread_evenly(double longest, double least)
{
    gsrt_quantity q = gsrt_quantity_exact(longest * (1 + least) / 2, (gsrt_dimension){.token = 1});
    q.lo = longest * least;
    q.hi = longest;
    return q;
}

static void answer(const test_case *t, const gsrt_workload *w, const gsrt_fleet *fleet,
                   const gsrt_cost_profile *profile)
{
    gsrt_demand demand = {.prompt_tokens = spread_evenly(t->prompt, t->least),
                          .output_tokens = spread_evenly(t->output, t->least),
                          .concurrency = t->concurrency,
                          .prefills_first = t->first != 0,
                          .gather_steps = t->gather};
    gsrt_workload_totals totals = {0};
    gsrt_deployment *d = deployment_of(t, w, fleet);
    gsrt_cost_question question = {
        .workload = w, .fleet = fleet, .deployment = d, .demand = &demand, .profile = profile};
    fit_batch(t, d, &question);
    gsrt_cost cost = predict(t, d, &question);
    if (gsrt_workload_totals_of(w, &totals) != GSRT_OK)
        fail("no memory for", t->id);
    const gsrt_quantity *ttft = &cost.values[GSRT_MEASURE_TTFT][0], *tpot = &cost.values[GSRT_MEASURE_TPOT][0];
    const gsrt_quantity *tokens = &cost.values[GSRT_MEASURE_THROUGHPUT][0];
    if (ttft->is_known && tpot->is_known)
        (void)printf("%s %.9g %.9g %.9g %.9g %.9g %.9g %.6f %u %.9g %.9g %.9g %.9g %.9g %.9g %.9g %.9g\n", t->id,
                     ttft->value, ttft->lo, ttft->hi, tpot->value, tpot->lo, tpot->hi,
                     cost.values[GSRT_MEASURE_MEMORY][0].value, d->pools[0].batch_max, cost.prefill_step.value,
                     cost.decode_step.value, (double)totals.weight_bytes, (double)totals.parameters_active,
                     (double)gsrt_workload_state_bytes(w, (uint32_t)(t->prompt + t->output / 2)), tokens->value,
                     tokens->lo, tokens->hi);
    else
        (void)printf("%s refused unknown_quantity\n", t->id);
    gsrt_cost_fini(&cost);
    (void)gsrt_deployment_free(d);
}

/* What the cost model, and the search by it, say; and what the checker says. */
static void answer_memory(const test_case *t, const gsrt_workload *w, const gsrt_fleet *fleet,
                          const gsrt_cost_profile *profile)
{
    const gsrt_contract contract = {.rule_count = 0};
    gsrt_deployment *d = deployment_of(t, w, fleet);
    for (uint32_t s = 0; s < t->stages; s++)
        d->pools[0].stages[s].algorithm = t->width > 1 ? GSRT_ALGORITHM_RING : GSRT_ALGORITHM_NONE;
    const gsrt_search_problem problem = {.workload = w,
                                         .fleet = fleet,
                                         .contract = &contract,
                                         .objective = {.measure = GSRT_MEASURE_THROUGHPUT},
                                         .demand = {.prompt_tokens = spread_evenly(t->prompt, 1),
                                                    .output_tokens = spread_evenly(t->output, 1),
                                                    .concurrency = t->concurrency}};
    const gsrt_cost_question question = {
        .workload = w, .fleet = fleet, .deployment = d, .demand = &problem.demand, .profile = profile};
    gsrt_violations found;
    gsrt_cost cost;
    if (gsrt_cost_predict(&question, NULL, &cost) != GSRT_OK ||
        gsrt_deployment_check(&problem, d, NULL, &found) != GSRT_OK)
        fail("no memory for", t->id);
    double fullest = 0;
    for (uint32_t i = 0; i < cost.memory_count; i++) {
        const gsrt_cost_memory *m = &cost.memories[i];
        double level = (m->weights.value + m->state.value + m->buffers.value) / m->capacity.lo;
        fullest = level > fullest ? level : fullest;
    }
    for (uint32_t i = 0; i < found.count; i++) {
        if (strcmp(found.items[i].rule, "d1") == 0 || strcmp(found.items[i].rule, "e1") == 0)
            fail(found.items[i].constraint, t->id);
    }
    (void)printf("%s %.9g %d\n", t->id, fullest, gsrt_violation_with(&found, GSRT_REASON_MEMORY) != NULL ? 1 : 0);
    gsrt_violations_fini(&found);
    gsrt_cost_fini(&cost);
    (void)gsrt_deployment_free(d);
}

/* ---- single pieces of work and exchanges ---- */

static void print_quantity(const char *id, gsrt_quantity q)
{
    if (q.is_known)
        (void)printf("%s %.9g %.9g %.9g\n", id, q.value, q.lo, q.hi);
    else
        (void)printf("%s refused unknown_quantity\n", id);
}

static gsrt_rate_class class_named(const char *name)
{
    for (gsrt_rate_class class = 0; class < GSRT_CLASS_COUNT; class ++) {
        if (strcmp(gsrt_rate_class_word(class), name) == 0)
            return class;
    }
    fail("no such class of work", name);
    return GSRT_CLASS_MATMUL;
}

/* The achievable rates stand in for stated rates and shares. */
static void answer_op(const char *line, const gsrt_fleet *fleet, const gsrt_cost_profile *profile)
{
    char id[256], engine[128], class[32], format[32];
    double operations, bytes;
    if (sscanf(line, "op %255s %127s %31s %31s %lf %lf", id, engine, class, format, &operations, &bytes) != 6)
        fail("not an op", line);
    uint32_t part = gsrt_fleet_part_named(fleet, engine);
    const gsrt_dimension plain = {0};
    const gsrt_quantity inputs[] = {
        gsrt_quantity_exact(operations, (gsrt_dimension){.op = 1}),
        gsrt_cost_rate(fleet, part, class_named(class), format_named(format), GSRT_COST_SOURCED),
        gsrt_quantity_exact(1, plain),
        gsrt_quantity_exact(bytes, (gsrt_dimension){.byte = 1}),
        gsrt_cost_bandwidth(profile, part, GSRT_COST_SOURCED),
        gsrt_quantity_exact(1, plain),
    };
    gsrt_quantity launch = fleet->parts[part].launch_overhead;
    if (class_named(class) == GSRT_CLASS_ATTENTION)
        launch = gsrt_quantity_mul(launch, gsrt_cost_assumed("pieces of work of an attention"));
    print_quantity(id, gsrt_quantity_add(gsrt_equation_apply(gsrt_equation_named("roofline"), inputs), launch));
}

/* By one protocol. latency: of a hop over what the link states. */
static gsrt_quantity exchanged(const gsrt_equation *equation, const gsrt_link *way, double bytes, double width,
                               gsrt_quantity latency, gsrt_quantity share, gsrt_quantity start)
{
    const gsrt_dimension plain = {0};
    const gsrt_quantity inputs[] = {
        gsrt_quantity_exact(1, plain),
        gsrt_quantity_mul(gsrt_quantity_scale(way->latency, 2), latency),
        gsrt_quantity_exact(bytes, (gsrt_dimension){.byte = 1}),
        way->bandwidth,
        share,
        gsrt_quantity_exact(width, plain),
    };
    return gsrt_quantity_add(gsrt_equation_apply(equation, inputs), start);
}

static void answer_collective(const char *line, const gsrt_fleet *fleet)
{
    char id[256], link[200], name[32];
    double width, bytes;
    if (sscanf(line, "collective %255s %199s %31s %lf %lf", id, link, name, &width, &bytes) != 5)
        fail("not a collective", line);
    const gsrt_equation *equation = gsrt_equation_named(name);
    const gsrt_link *way = &fleet->links[gsrt_fleet_link_named(fleet, link)];
    const gsrt_quantity one = gsrt_quantity_exact(1, (gsrt_dimension){0});
    if (strcmp(name, "switch") == 0) {
        print_quantity(id, exchanged(equation, way, bytes, width, one,
                                     gsrt_cost_assumed("share of the stated link bandwidth, sums in the switch"),
                                     gsrt_cost_assumed("start of a sum in the switch")));
        return;
    }
    const gsrt_quantity share = gsrt_cost_assumed("share of the stated link bandwidth");
    gsrt_quantity brief = exchanged(
        equation, way, bytes, width, one,
        gsrt_quantity_mul(share, gsrt_cost_assumed("share of the link bandwidth that short messages get of it")),
        gsrt_cost_assumed("start of an exchange"));
    gsrt_quantity bulk =
        exchanged(equation, way, bytes, width, gsrt_cost_assumed("latency of long messages over that of short ones"),
                  share, gsrt_cost_assumed("start of an exchange of long messages"));
    print_quantity(id, brief.value <= bulk.value ? brief : bulk);
}

/* ---- cases ---- */

/* The workload of the last case stays for the next. */
typedef struct memory {
    char config[1024];
    gsrt_workload *workload;
    gsrt_cost_profile *profile;
} memory;

static void answer_case(const char *line, const gsrt_fleet *fleet, memory *last)
{
    test_case t;
    bool is_memory = strncmp(line, "memory ", 7) == 0;
    if (sscanf(line, "%*s %255s %1023s %127s %u %u %u %u %31s %31s %31s %31s %u %u %u %lf %lf %lf %u %u", t.id,
               t.config, t.engine, &t.width, &t.data, &t.experts, &t.stages, t.algorithm, t.weights, t.state, t.compute,
               &t.batch, &t.concurrency, &t.chunk, &t.prompt, &t.output, &t.least, &t.first, &t.gather) != 19)
        fail("not a case", line);
    if (strcmp(t.config, last->config) != 0) {
        last->profile = gsrt_cost_profile_free(last->profile);
        (void)gsrt_workload_free(last->workload);
        last->workload = read_workload(t.config);
        last->profile = last->workload == NULL ? NULL : gsrt_cost_profile_create(last->workload, fleet);
        memcpy(last->config, t.config, sizeof last->config);
    }
    if (last->workload == NULL)
        (void)printf("%s refused config\n", t.id);
    else if (is_memory)
        answer_memory(&t, last->workload, fleet, last->profile);
    else
        answer(&t, last->workload, fleet, last->profile);
}

int main(int argc, char **argv)
{
    memory last = {0};
    char line[4096];
    if (argc != 3)
        fail("usage: reality_cases FLEET.yaml CATALOGUE.yaml < cases, not", argc > 1 ? argv[1] : "");
    gsrt_fleet *fleet = read_fleet(argv[1], argv[2]);
    gsrt_workload *nothing = gsrt_workload_create();
    gsrt_cost_profile *engines = nothing == NULL ? NULL : gsrt_cost_profile_create(nothing, fleet);
    if (engines == NULL)
        fail("no memory for", argv[1]);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "case ", 5) == 0 || strncmp(line, "memory ", 7) == 0)
            answer_case(line, fleet, &last);
        else if (strncmp(line, "op ", 3) == 0)
            answer_op(line, fleet, engines);
        else
            answer_collective(line, fleet);
    }
    (void)gsrt_cost_profile_free(engines);
    (void)gsrt_workload_free(nothing);
    (void)gsrt_cost_profile_free(last.profile);
    (void)gsrt_workload_free(last.workload);
    (void)gsrt_fleet_free(fleet);
    return 0;
}
