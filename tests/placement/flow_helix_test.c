/* The published instances of Helix, where the shared data are: what our importer makes of clusters and profiles is what
 * Gurobi was given; its placements score what it said; ours are better, within proven bounds. And files that are not
 * what they should be are refused. */
#include "bench/helix_model.h"

#include "placement/flow_bound.h"
#include "placement/flow_evaluate.h"
#include "placement/flow_search.h"
#include "tests/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool shared_folder(char *room, size_t room_bytes)
{
    const char *folder = getenv("GSRT_SHARED_DATA"), *source = getenv("GSRT_SRCDIR");
    if (folder != NULL)
        (void)snprintf(room, room_bytes, "%s/planner/helix", folder);
    else
        (void)snprintf(room, room_bytes, "%s/../shared/data/planner/helix", source != NULL ? source : ".");
    if (access(room, R_OK) == 0)
        return true;
    printf("SKIP: no %s (set GSRT_SHARED_DATA)\n", room);
    return false;
}

static gsrt_helix_published published;

static void open_case(const char *folder, const gsrt_helix_case *which)
{
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_helix_open(folder, which, &diag, &published) == GSRT_OK, "%s", diag.text);
}

START_TEST(the_importer_makes_what_gurobi_was_given)
{
    char folder[512];
    if (!shared_folder(folder, sizeof folder))
        return;
    for (const gsrt_helix_case *c = gsrt_helix_cases; c->has_program; c++) {
        open_case(folder, c);
        const gsrt_helix_problem *given = &published.program, *ours = &published.imported;
        uint32_t coefficients = 0, links = 0;
        ck_assert_uint_eq(ours->node_count, given->node_count);
        ck_assert_uint_eq(ours->layer_count, given->layer_count);
        for (uint32_t i = 0; i < given->node_count; i++) {
            ck_assert_uint_eq(ours->layers_max[i], given->layers_max[i]);
            for (uint32_t k = 0; k < given->layers_max[i]; k++, coefficients++)
                ck_assert_msg(fabs(ours->throughput[i][k] / given->throughput[i][k] - 1.0) < 1e-14,
                              "%s: node %u, %u layers: %.17g instead of %.17g", c->name, i, k + 1,
                              ours->throughput[i][k], given->throughput[i][k]);
        }
        for (uint32_t from = 0; from <= GSRT_HELIX_SINK; from++)
            for (uint32_t to = 0; to <= GSRT_HELIX_SINK; to++) {
                ck_assert_double_eq(ours->links[from][to], given->links[from][to]);
                links += given->links[from][to] > 0.0;
            }
        printf("%s: %u throughputs and %u links are the program's\n", c->name, coefficients, links);
        ck_assert_uint_gt(links, 100);
    }
}
END_TEST

START_TEST(at_least_its_incumbents_within_proven_bounds)
{
    char folder[512];
    if (!shared_folder(folder, sizeof folder))
        return;
    static const double bars[] = {286.587, 1289.56, 4137.5};
    for (size_t i = 0; gsrt_helix_cases[i].has_program; i++) {
        gsrt_flow_instance *instance = NULL;
        uint32_t prices[GSRT_HELIX_NODE_COUNT_MAX];
        gsrt_flow_hold holds[GSRT_HELIX_NODE_COUNT_MAX];
        gsrt_flow_amount bound, again;
        gsrt_flow_found found;
        open_case(folder, &gsrt_helix_cases[i]);
        ck_assert_int_eq(gsrt_helix_instance(&published.imported, &instance), GSRT_OK);
        gsrt_flow_evaluator *evaluator = gsrt_flow_evaluator_create(instance);
        ck_assert_ptr_nonnull(evaluator);
        ck_assert(gsrt_flow_holds_check(instance, published.holds));
        double theirs = gsrt_flow_token_s(gsrt_flow_evaluate(evaluator, published.holds));
        ck_assert_double_eq_tol(theirs, published.objective, 1e-5);

        ck_assert_int_eq(gsrt_flow_bound_find(instance, 256, prices, &bound), GSRT_OK);
        ck_assert_int_eq(gsrt_flow_bound_of_prices(instance, prices, &again), GSRT_OK);
        ck_assert_int_eq(again, bound);
        ck_assert_int_lt(bound, gsrt_flow_capacity_bound(instance));
        gsrt_flow_options options = {.policy = "local", .budget = 100000, .seed = 1, .bound = bound};
        ck_assert_int_eq(gsrt_flow_search(instance, &options, NULL, holds, &found), GSRT_OK);
        ck_assert(gsrt_flow_holds_check(instance, holds));
        ck_assert_int_eq(gsrt_flow_evaluate(evaluator, holds), found.amount);
        printf("%s: theirs %.4f, ours %.4f, bound %.4f, sum of capacities %.4f\n", gsrt_helix_cases[i].name, theirs,
               gsrt_flow_token_s(found.amount), gsrt_flow_token_s(bound),
               gsrt_flow_token_s(gsrt_flow_capacity_bound(instance)));
        ck_assert_double_ge(gsrt_flow_token_s(found.amount), bars[i]);
        ck_assert_double_ge(gsrt_flow_token_s(found.amount), theirs - 1e-5);
        if (i < 2)
            ck_assert_int_eq(found.amount, bound); /* proven optimal */
        (void)gsrt_flow_evaluator_free(evaluator);
        (void)gsrt_flow_instance_free(instance);
    }
}
END_TEST

START_TEST(other_files_are_refused)
{
    static const char *const programs[] = {"",
                                           "Maximize\n",
                                           "Bounds",
                                           " end_constraint_0: start_0 + hold_0_1 <= 60\n",
                                           " node_throughput_constraint_99: - 1 hold_99_1\n",
                                           " node_throughput_constraint_0: - 1 hold_1_1\n",
                                           " node_throughput_constraint_0: - x hold_0_1\n",
                                           " node_throughput_constraint_0: - 1 hold_0_0\n",
                                           " node_throughput_constraint_0: - 1 hold_0_33\n",
                                           " node_throughput_constraint_0: - inf hold_0_1\n",
                                           " edge_flow_constr_0: flow_0\n",
                                           " edge_flow_constr_0_1: flow_0_1 - x switch_0_1\n"};
    static const char *const clusters[] = {"",
                                           "[ComputeNode-0]\n",
                                           "[ComputeNode-64]\ntype=A100\n",
                                           "[ComputeNode-0]\ntype=\n",
                                           "[ComputeNode-0]\ntype=A100\n[Link-0]\n",
                                           "[ComputeNode-0]\ntype=A100\n[Link-0-1]\nbandwidth=1 * bps\n",
                                           "[ComputeNode-0]\ntype=A100\n[Link-0-1]\nbandwidth=-1 * mbps\n"};
    static const char *const profiles[] = {"", "a,b\n", "1,2\n1,3\n", "1,x\n", "1;2\n", "1,-2\n", "1\n"};
    static const char *const placements[] = {"offset=x\n",
                                             "compute_node_1=[0]\noffset=2\ncompute_node_1=[0]\n",
                                             "compute_node_1=[0, 2]\n",
                                             "compute_node_1=0\n",
                                             "compute_node_99=[0]\n",
                                             "compute_node_1=[a]\n"};
    gsrt_helix_problem problem;
    gsrt_helix_profile profile;
    gsrt_flow_hold holds[GSRT_HELIX_NODE_COUNT_MAX];
    double objective;
#define REFUSED(texts, read, out)                                                                                      \
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts)[0]; i++) {                                                    \
        gsrt_diag diag = {0};                                                                                          \
        ck_assert_msg(read(gsrt_span_of_text((texts)[i]), "file", &diag, out) == GSRT_EINPUT, "'%s'", (texts)[i]);     \
        ck_assert_msg(diag.text[0] != 0, "'%s' was refused without a word", (texts)[i]);                               \
    }
    REFUSED(programs, gsrt_helix_read_program, &problem)
    REFUSED(clusters, gsrt_helix_read_cluster, &problem)
    REFUSED(profiles, gsrt_helix_read_profile, &profile)
    REFUSED(placements, gsrt_helix_read_placement, holds)
    REFUSED(profiles, gsrt_helix_read_objective, &objective)

    gsrt_diag diag = {0};
    ck_assert_int_eq(
        gsrt_helix_read_placement(gsrt_span_of_text("offset=2\ncompute_node_3=[4, 5, 6]\n"), "file", &diag, holds),
        GSRT_OK);
    ck_assert(holds[1].first == 4 && holds[1].count == 3 && holds[0].count == 0);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {
        the_importer_makes_what_gurobi_was_given,
        at_least_its_incumbents_within_proven_bounds,
        other_files_are_refused,
    };
    return unit_run("flow_helix", tests, sizeof tests / sizeof tests[0]);
}
