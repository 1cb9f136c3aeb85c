/* Flow placements on Helix's published instances: our score, time and bound beside Gurobi's.
 *
 *     bench/helix ../shared/data/planner/helix > bench/HELIX.md
 *
 * Scores and bounds are functions of the inputs; only times vary. Times are of one processing unit, each the median of
 * five, with reading the files left out.
 */
#include "bench/helix_model.h"
#include "bench/measure.h"

#include "placement/flow_bound.h"
#include "placement/flow_evaluate.h"
#include "placement/flow_search.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_COUNT = 256, TIMES = 5, SEED_COUNT = 5 };
static const uint64_t BUDGET = 500000;

/* What Gurobi's log says, from milp_summary.csv. */
typedef struct gurobi {
    double seconds, incumbent, bound;
} gurobi;

typedef struct result {
    double theirs, ours[SEED_COUNT], greedy, bound, capacity; /* token/s */
    double search_s, bound_s;                                 /* of seed 1 */
    uint64_t evaluation_count;
} result;

static int fail(const char *what)
{
    (void)fprintf(stderr, "helix: %s\n", what);
    return 1;
}

static bool read_gurobi(const char *folder, const char *name, gurobi *out)
{
    char path[1024], line[512];
    bool is_found = false;
    (void)snprintf(path, sizeof path, "%s/milp_summary.csv", folder);
    FILE *file = fopen(path, "r");
    while (file != NULL && !is_found && fgets(line, sizeof line, file) != NULL) {
        size_t len = strlen(name);
        const char *field = line + strlen(line);
        for (int commas = 0; commas < 4 && field > line; commas += *field == ',')
            field -= 1;
        is_found = strncmp(line, name, len) == 0 && line[len] == ',' &&
                   sscanf(field, ",%lf,%lf,%lf", &out->seconds, &out->incumbent, &out->bound) == 3;
    }
    if (file != NULL)
        (void)fclose(file);
    return is_found;
}

static double seconds_since(uint64_t begin_ns)
{
    return (double)(gsrt_measure_now_ns() - begin_ns) * 1e-9;
}

/* published: NULL where no placement of theirs is there to be scored. */
static gsrt_status run_case(const gsrt_flow_instance *instance, const gsrt_helix_published *published, result *out)
{
    uint32_t prices[GSRT_HELIX_NODE_COUNT_MAX];
    gsrt_flow_hold holds[GSRT_HELIX_NODE_COUNT_MAX];
    gsrt_flow_amount bound = 0;
    gsrt_flow_found found = {0};
    double search_s[TIMES], bound_s[TIMES];
    gsrt_flow_evaluator *evaluator = gsrt_flow_evaluator_create(instance);
    if (evaluator == NULL)
        return GSRT_ENOMEM;
    if (published != NULL)
        out->theirs = gsrt_flow_token_s(gsrt_flow_evaluate(evaluator, published->holds));
    (void)gsrt_flow_evaluator_free(evaluator);
    out->capacity = gsrt_flow_token_s(gsrt_flow_capacity_bound(instance));
    gsrt_status status = GSRT_OK;
    for (int i = 0; status == GSRT_OK && i < TIMES; i++) {
        uint64_t begin_ns = gsrt_measure_now_ns();
        status = gsrt_flow_bound_find(instance, STEP_COUNT, prices, &bound);
        bound_s[i] = seconds_since(begin_ns);
    }
    out->bound = gsrt_flow_token_s(bound);
    gsrt_flow_options options = {.policy = "greedy", .budget = BUDGET, .seed = 1, .bound = bound};
    if (status == GSRT_OK)
        status = gsrt_flow_search(instance, &options, NULL, holds, &found);
    out->greedy = gsrt_flow_token_s(found.amount);
    options.policy = "local";
    for (int i = 0; status == GSRT_OK && i < TIMES; i++) {
        uint64_t begin_ns = gsrt_measure_now_ns();
        status = gsrt_flow_search(instance, &options, NULL, holds, &found);
        search_s[i] = seconds_since(begin_ns);
    }
    out->evaluation_count = found.evaluation_count;
    for (options.seed = 1; status == GSRT_OK && options.seed <= SEED_COUNT; options.seed++) {
        status = gsrt_flow_search(instance, &options, NULL, holds, &found);
        out->ours[options.seed - 1] = gsrt_flow_token_s(found.amount);
    }
    if (status == GSRT_OK) {
        out->search_s = gsrt_measure_median(search_s, TIMES);
        out->bound_s = gsrt_measure_median(bound_s, TIMES);
    }
    return status;
}

static double percent_above(double bound, double score)
{
    double percent = 100.0 * (bound - score) / score;
    return percent > -0.005 ? fmax(percent, 0.0) : percent; /* published values have ten digits, ours 2^-20 */
}

static void print_head(void)
{
    printf("# Flow placements on Helix's published instances\n\n"
           "Made by `bench/helix ../shared/data/planner/helix`. token/s; both placements are scored by the same\n"
           "evaluator on the instance that our importer makes of clusters and profiles. Gurobi 11 ran on up to 20\n"
           "threads, ours on one core (median of %d times; %" PRIu64 " evaluations at most, %d steps of the bound).\n"
           "Gaps: (bound - score) / score. What the bounds prove and how: docs/planning.md. Of the last two only "
           "clusters and\n"
           "results are published: their score is as stated in milp_summary.csv.\n\n",
           TIMES, BUDGET, STEP_COUNT);
    printf("| instance | Gurobi: score | bound | gap %% | s | ours: score | bound | gap %% | search s | bound s | "
           "evaluations | greedy | sum of capacities |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

int main(int argc, char **argv)
{
    static gsrt_helix_published published;
    if (argc != 2)
        return fail("usage: helix FOLDER (../shared/data/planner/helix)");
    (void)gsrt_measure_bind(0);
    print_head();
    static char seeds[4096];
    for (const gsrt_helix_case *c = gsrt_helix_cases; c->name != NULL; c++) {
        gsrt_diag diag = {0};
        gsrt_flow_instance *instance = NULL;
        gurobi log;
        result r = {0};
        if (!read_gurobi(argv[1], c->name, &log))
            return fail("no such row in milp_summary.csv");
        r.theirs = log.incumbent;
        if (gsrt_helix_open(argv[1], c, &diag, &published) != GSRT_OK)
            return fail(diag.text);
        gsrt_status status = gsrt_helix_instance(&published.imported, &instance);
        if (status == GSRT_OK)
            status = run_case(instance, c->has_program ? &published : NULL, &r);
        (void)gsrt_flow_instance_free(instance);
        if (status != GSRT_OK)
            return fail(gsrt_status_text(status));
        printf("| %s | %.4f | %.4f | %.2f | %.0f | %.4f | %.4f | %.2f | %.3f | %.3f | %" PRIu64 " | %.4f | %.4f |\n",
               c->name, r.theirs, log.bound, percent_above(log.bound, r.theirs), log.seconds, r.ours[0], r.bound,
               percent_above(r.bound, r.ours[0]), r.search_s, r.bound_s, r.evaluation_count, r.greedy, r.capacity);
        size_t used = strlen(seeds);
        (void)snprintf(seeds + used, sizeof seeds - used, "| %s |", c->name);
        for (int i = 0; i < SEED_COUNT; i++) {
            used = strlen(seeds);
            (void)snprintf(seeds + used, sizeof seeds - used, " %.4f |%s", r.ours[i], i + 1 < SEED_COUNT ? "" : "\n");
        }
    }
    printf("\nThe table's score is that of seed 1. By seed:\n\n| instance | 1 | 2 | 3 | 4 | 5 "
           "|\n|---|---|---|---|---|---|\n%s",
           seeds);
    return 0;
}
