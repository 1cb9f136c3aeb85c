/* Flow placements: the score against all cuts, the search against all placements, bounds against both, and the
 * published instances of Helix where they are. */
#include "placement/flow_bound.h"
#include "placement/flow_chain.h"
#include "placement/flow_evaluate.h"
#include "placement/flow_search.h"

#include "base/random.h"
#include "tests/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SMALL_NODES = 4, SMALL_LAYERS = 5 };

static uint32_t drawn(uint64_t seed, uint64_t *counter, uint32_t below)
{
    return (uint32_t)(gsrt_random_u64(seed, 99, (*counter)++) % below);
}

/* A few nodes and layers, throughputs that fall with layers (mostly), links that are missing or narrow at times. */
static gsrt_flow_instance *drawn_instance(uint64_t seed)
{
    uint64_t counter = 0;
    uint32_t nodes = 2 + drawn(seed, &counter, SMALL_NODES - 1), layers = 2 + drawn(seed, &counter, SMALL_LAYERS - 1);
    gsrt_flow_instance *instance = gsrt_flow_instance_create(nodes, layers, drawn(seed, &counter, 2) == 1);
    ck_assert_ptr_nonnull(instance);
    for (uint32_t i = 0; i < nodes; i++) {
        double token_s[SMALL_LAYERS];
        uint32_t most = 1 + drawn(seed, &counter, layers);
        for (uint32_t k = 0; k < most; k++)
            token_s[k] = (double)(1 + drawn(seed, &counter, 60)) / (k + 1.0);
        ck_assert_int_eq(gsrt_flow_instance_set_node(instance, i, token_s, most), GSRT_OK);
    }
    for (uint32_t from = 0; from <= nodes; from++)
        for (uint32_t to = 0; to < nodes + 2; to++)
            if (from != to && to != nodes && drawn(seed, &counter, 5) > 0)
                ck_assert_int_eq(gsrt_flow_instance_set_link(instance, from, to, 1.0 + drawn(seed, &counter, 40)),
                                 GSRT_OK);
    return instance;
}

/* Some hold that the node can, nothing included. */
static gsrt_flow_hold drawn_hold(const gsrt_flow_instance *instance, uint32_t node, uint64_t seed, uint64_t *counter)
{
    uint32_t count = drawn(seed, counter, instance->nodes[node].layers_max + 1);
    return (gsrt_flow_hold){.first = drawn(seed, counter, instance->layer_count - count + 1), .count = count};
}

/* The least capacity over all ways to cut source from sink: vertices are each node's two sides. */
static gsrt_flow_amount least_cut(const gsrt_flow_instance *instance, const gsrt_flow_hold *holds)
{
    uint32_t n = instance->node_count;
    gsrt_flow_amount least = INT64_MAX;
    for (uint32_t cut = 0; cut < 1u << (2 * n);
         cut++) { /* bit 2i: entry of node i is on the source's side; 2i + 1: exit */
        gsrt_flow_amount sum = 0;
        for (uint32_t from = 0; from <= n; from++) {
            bool is_out = from == n || (cut >> (2 * from + 1) & 1) != 0;
            if (from < n && holds[from].count > 0 && (cut >> (2 * from) & 1) != 0 && !is_out)
                sum += gsrt_flow_throughput(instance, from, holds[from].count);
            for (uint32_t to = 0; is_out && to < n + 2; to++)
                if (gsrt_flow_follows(instance, holds, from, to) && (to == n + 1 || (cut >> (2 * to) & 1) == 0))
                    sum += gsrt_flow_link(instance, from, to);
        }
        least = sum < least ? sum : least;
    }
    return least;
}

START_TEST(a_score_is_the_least_cut)
{
    uint32_t flowing = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        gsrt_flow_instance *instance = drawn_instance(seed);
        gsrt_flow_evaluator *evaluator = gsrt_flow_evaluator_create(instance);
        uint64_t counter = 1000;
        for (int round = 0; round < 10; round++) {
            gsrt_flow_hold holds[SMALL_NODES];
            for (uint32_t i = 0; i < instance->node_count; i++)
                holds[i] = drawn_hold(instance, i, seed, &counter);
            ck_assert(gsrt_flow_holds_check(instance, holds));
            gsrt_flow_amount amount = gsrt_flow_evaluate(evaluator, holds), in = 0, out = 0;
            ck_assert_int_eq(amount, least_cut(instance, holds));
            flowing += amount > 0;
            for (uint32_t i = 0; i < instance->node_count; i++) {
                gsrt_flow_amount through = gsrt_flow_routed(evaluator, gsrt_flow_source(instance), i);
                gsrt_flow_amount on = gsrt_flow_routed(evaluator, i, gsrt_flow_sink(instance));
                in += through;
                out += on;
                for (uint32_t j = 0; j < instance->node_count; j++) {
                    through += gsrt_flow_routed(evaluator, j, i);
                    on += gsrt_flow_routed(evaluator, i, j);
                }
                ck_assert_int_eq(through, on);
                ck_assert_int_le(through, gsrt_flow_throughput(instance, i, holds[i].count));
            }
            ck_assert(in == amount && out == amount);
        }
        (void)gsrt_flow_evaluator_free(evaluator);
        (void)gsrt_flow_instance_free(instance);
    }
    ck_assert_uint_gt(flowing, 100);
}
END_TEST

/* The best of all placements. */
static gsrt_flow_amount optimum(const gsrt_flow_instance *instance, gsrt_flow_evaluator *evaluator,
                                gsrt_flow_hold *holds, uint32_t node)
{
    if (node == instance->node_count)
        return gsrt_flow_evaluate(evaluator, holds);
    gsrt_flow_amount best = 0;
    for (uint32_t count = 0; count <= instance->nodes[node].layers_max; count++)
        for (uint32_t first = 0; first + count <= instance->layer_count && (count > 0 || first == 0); first++) {
            holds[node] = (gsrt_flow_hold){.first = first, .count = count};
            gsrt_flow_amount amount = optimum(instance, evaluator, holds, node + 1);
            best = amount > best ? amount : best;
        }
    return best;
}

START_TEST(the_search_finds_what_there_is_and_bounds_hold)
{
    uint32_t count = 0, found_all = 0, greedy_all = 0, tight = 0;
    for (uint64_t seed = 0; seed < 80; seed++) {
        gsrt_flow_instance *instance = drawn_instance(seed);
        gsrt_flow_evaluator *evaluator = gsrt_flow_evaluator_create(instance);
        gsrt_flow_hold holds[SMALL_NODES];
        gsrt_flow_amount best = optimum(instance, evaluator, holds, 0), bound, again;
        uint32_t prices[SMALL_NODES];
        ck_assert_int_eq(gsrt_flow_bound_find(instance, 200, prices, &bound), GSRT_OK);
        ck_assert_int_le(best, bound);
        ck_assert_int_le(bound, gsrt_flow_capacity_bound(instance) + 1);
        ck_assert_int_eq(gsrt_flow_bound_of_prices(instance, prices, &again), GSRT_OK);
        ck_assert_int_eq(bound, again);
        uint64_t counter = 2000;
        for (int round = 0; round < 20; round++) { /* any prices at all */
            for (uint32_t i = 0; i < instance->node_count; i++)
                prices[i] = drawn(seed, &counter, 50);
            ck_assert_int_eq(gsrt_flow_bound_of_prices(instance, prices, &again), GSRT_OK);
            ck_assert_int_le(best, again);
        }
        if (best > 0) {
            gsrt_flow_found found;
            gsrt_flow_options options = {.policy = "local", .budget = 20000, .seed = 7, .bound = bound};
            ck_assert_int_eq(gsrt_flow_search(instance, &options, NULL, holds, &found), GSRT_OK);
            ck_assert(gsrt_flow_holds_check(instance, holds));
            ck_assert_int_eq(gsrt_flow_evaluate(evaluator, holds), found.amount);
            ck_assert_int_le(found.amount, best);
            ck_assert_uint_le(found.evaluation_count, options.budget);
            count += 1;
            ck_assert_int_ge(found.amount, best / 4 * 3);
            found_all += found.amount == best;
            tight += bound == best;
            options.policy = "greedy";
            ck_assert_int_eq(gsrt_flow_search(instance, &options, NULL, holds, &found), GSRT_OK);
            ck_assert_int_le(found.amount, best);
            greedy_all += found.amount == best;
        }
        (void)gsrt_flow_evaluator_free(evaluator);
        (void)gsrt_flow_instance_free(instance);
    }
    printf("%u instances with a flow: local is optimal in %u, greedy in %u, the bound in %u\n", count, found_all,
           greedy_all, tight);
    ck_assert_uint_gt(count, 40);
    ck_assert_uint_ge(found_all * 20, count * 19);
}
END_TEST

/* By enumeration: what a layer gets at most for the price. */
static gsrt_flow_amount dearest(const gsrt_flow_instance *instance, const gsrt_flow_amount *most,
                                const uint32_t *prices, uint32_t node, uint32_t left)
{
    if (node == instance->node_count)
        return 0;
    gsrt_flow_amount best = dearest(instance, most, prices, node + 1, left);
    for (uint32_t k = 1; k <= instance->nodes[node].layers_max; k++) {
        gsrt_flow_amount passed = gsrt_flow_throughput(instance, node, k);
        if (prices[node] / k > left)
            continue;
        gsrt_flow_amount with = (passed < most[node] ? passed : most[node]) +
                                dearest(instance, most, prices, node + 1, left - prices[node] / k);
        best = with > best ? with : best;
    }
    return best;
}

START_TEST(a_bound_is_what_its_prices_say)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        gsrt_flow_instance *instance = drawn_instance(seed);
        uint32_t n = instance->node_count, prices[SMALL_NODES], sum = 0;
        gsrt_flow_amount most[SMALL_NODES], ends = INT64_MAX, bound;
        uint64_t counter = 3000;
        for (uint32_t i = 0; i < n + 2; i++) {
            gsrt_flow_amount in = i == n ? INT64_MAX : 0, out = i == n + 1 ? INT64_MAX : 0;
            for (uint32_t j = 0; j < n + 2; j++) {
                in += i == n ? 0 : gsrt_flow_link(instance, j, i);
                out += i == n + 1 ? 0 : gsrt_flow_link(instance, i, j);
            }
            gsrt_flow_amount less = in < out ? in : out;
            if (i >= n) {
                ends = less < ends ? less : ends;
                continue;
            }
            most[i] = less;
            prices[i] = drawn(seed, &counter, 30);
            sum += prices[i];
        }
        gsrt_flow_amount expected = dearest(instance, most, prices, 0, sum / instance->layer_count);
        expected = expected < ends ? expected : ends;
        ck_assert_int_eq(gsrt_flow_bound_of_prices(instance, prices, &bound), GSRT_OK);
        ck_assert_int_eq(bound, expected);
        prices[0] = UINT32_MAX;
        ck_assert_int_eq(gsrt_flow_bound_of_prices(instance, prices, &bound), GSRT_EINVAL);
        (void)gsrt_flow_instance_free(instance);
    }
}
END_TEST

/* Nodes in a line of throughput 10 / k with all links, six layers. */
static gsrt_flow_instance *alike_instance(uint32_t nodes)
{
    gsrt_flow_instance *instance = gsrt_flow_instance_create(nodes, 6, false);
    ck_assert_ptr_nonnull(instance);
    const double token_s[] = {10.0, 5.0, 10.0 / 3.0};
    for (uint32_t i = 0; i < nodes; i++)
        ck_assert_int_eq(gsrt_flow_instance_set_node(instance, i, token_s, 3), GSRT_OK);
    for (uint32_t from = 0; from <= nodes; from++)
        for (uint32_t to = 0; to < nodes + 2; to++)
            if (from != to && to != nodes && !(from == nodes && to == nodes + 1))
                ck_assert_int_eq(gsrt_flow_instance_set_link(instance, from, to, 100.0), GSRT_OK);
    return instance;
}

START_TEST(made_by_hand)
{
    /* six nodes of a layer each pass 10; twelve, in pairs, 20; with three layers each, three nodes pass 5 */
    static const struct {
        uint32_t nodes;
        double token_s;
    } cases[] = {{2, 10.0 / 3.0}, {3, 5.0}, {6, 10.0}, {12, 20.0}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        gsrt_flow_instance *instance = alike_instance(cases[c].nodes);
        gsrt_flow_hold holds[12];
        uint32_t prices[12];
        gsrt_flow_amount bound;
        gsrt_flow_found found;
        ck_assert_int_eq(gsrt_flow_bound_find(instance, 100, prices, &bound), GSRT_OK);
        gsrt_flow_options options = {.policy = "local", .budget = 50000, .seed = 1, .bound = bound};
        ck_assert_int_eq(gsrt_flow_search(instance, &options, NULL, holds, &found), GSRT_OK);
        ck_assert_int_eq(found.amount, gsrt_flow_amount_of(cases[c].token_s));
        ck_assert_int_eq(found.amount, bound);
        (void)gsrt_flow_instance_free(instance);
    }
}
END_TEST

START_TEST(partial_inference_and_narrow_links)
{
    /* node 0 holds layers 0-1, node 1 holds 1-2: only with partial inference may tokens go from one to the other */
    for (int is_partial = 0; is_partial < 2; is_partial++) {
        gsrt_flow_instance *instance = gsrt_flow_instance_create(2, 3, is_partial == 1);
        const double token_s[] = {9.0, 4.5};
        ck_assert_int_eq(gsrt_flow_instance_set_node(instance, 0, token_s, 2), GSRT_OK);
        ck_assert_int_eq(gsrt_flow_instance_set_node(instance, 1, token_s, 2), GSRT_OK);
        ck_assert_int_eq(gsrt_flow_instance_set_link(instance, gsrt_flow_source(instance), 0, 100.0), GSRT_OK);
        ck_assert_int_eq(gsrt_flow_instance_set_link(instance, 0, 1, 2.5), GSRT_OK);
        ck_assert_int_eq(gsrt_flow_instance_set_link(instance, 1, gsrt_flow_sink(instance), 100.0), GSRT_OK);
        gsrt_flow_evaluator *evaluator = gsrt_flow_evaluator_create(instance);
        gsrt_flow_hold holds[2] = {{0, 2}, {1, 2}};
        ck_assert_int_eq(gsrt_flow_evaluate(evaluator, holds), is_partial == 1 ? gsrt_flow_amount_of(2.5) : 0);
        holds[1] = (gsrt_flow_hold){2, 1};
        ck_assert_int_eq(gsrt_flow_evaluate(evaluator, holds), gsrt_flow_amount_of(2.5));
        holds[1].first = 3;
        ck_assert(!gsrt_flow_holds_check(instance, holds));
        (void)gsrt_flow_evaluator_free(evaluator);
        (void)gsrt_flow_instance_free(instance);
    }
    ck_assert_int_eq(gsrt_flow_amount_of(NAN), -1);
    ck_assert_int_eq(gsrt_flow_amount_of(-1.0), -1);
    ck_assert_int_eq(gsrt_flow_amount_of(INFINITY), gsrt_flow_amount_of(5e9));
}
END_TEST

START_TEST(what_a_chain_remembers_is_what_it_finds)
{
    gsrt_flow_instance *instance = alike_instance(9);
    gsrt_arena arena;
    gsrt_arena_init(&arena, 1 << 20);
    gsrt_flow_chain chain, fresh;
    gsrt_flow_target target;
    ck_assert_int_eq(gsrt_flow_chain_init(&chain, &arena, 9), GSRT_OK);
    ck_assert_int_eq(gsrt_flow_chain_init(&fresh, &arena, 9), GSRT_OK);
    ck_assert_int_eq(gsrt_flow_target_init(&target, &arena, 9), GSRT_OK);
    ck_assert_int_eq(gsrt_flow_instance_set_link(instance, 2, 3, 1.0), GSRT_OK);
    gsrt_flow_target_set(&target, instance, gsrt_flow_amount_of(12.0));
    uint64_t counter = 0;
    uint32_t grouped = 0;
    for (int step = 0; step < 20000; step++) {
        uint32_t kind = drawn(5, &counter, 5), a = drawn(5, &counter, 9), b = drawn(5, &counter, 9);
        uint32_t used = chain.used;
        if (kind == 0 || used == 0)
            gsrt_flow_chain_move(&chain, a, b < used ? b : used, drawn(5, &counter, 2) == 1);
        else if (kind == 1)
            gsrt_flow_chain_swap(&chain, a, b);
        else if (kind == 2 && a < used && b < used)
            gsrt_flow_chain_reverse(&chain, a < b ? a : b, a < b ? b : a);
        else if (kind == 3 && a > 0 && a < used)
            gsrt_flow_chain_cut(&chain, a);
        else if (drawn(5, &counter, 3) == 0)
            gsrt_flow_chain_spare(&chain, a);
        uint32_t seen = 0;
        for (uint32_t i = 0; i < 9; i++)
            seen |= 1u << chain.places[i].node;
        ck_assert_uint_eq(seen, (1u << 9) - 1);
        ck_assert(chain.used == 0 || chain.places[0].begins);
        gsrt_flow_distance kept = gsrt_flow_chain_distance(instance, &chain, &target);
        gsrt_flow_chain_copy(&fresh, &chain, 9);
        gsrt_flow_chain_forget(&fresh);
        gsrt_flow_distance found = gsrt_flow_chain_distance(instance, &fresh, &target);
        ck_assert_uint_eq(kept.layer_count, found.layer_count);
        ck_assert(kept.total == found.total && kept.is_served == found.is_served);
        grouped += kept.layer_count > 0;
    }
    ck_assert_uint_gt(grouped, 5000);
    gsrt_arena_fini(&arena);
    (void)gsrt_flow_instance_free(instance);
}
END_TEST

START_TEST(the_same_seed_gives_the_same)
{
    gsrt_flow_instance *instance = alike_instance(11);
    gsrt_flow_hold first[11], second[11];
    gsrt_flow_found a, b;
    gsrt_flow_options options = {.policy = "local", .budget = 3000, .seed = 3, .bound = gsrt_flow_amount_of(20.0)};
    ck_assert_int_eq(gsrt_flow_search(instance, &options, NULL, first, &a), GSRT_OK);
    ck_assert_int_eq(gsrt_flow_search(instance, &options, NULL, second, &b), GSRT_OK);
    ck_assert(a.amount == b.amount && a.evaluation_count == b.evaluation_count);
    ck_assert_mem_eq(first, second, sizeof first);
    ck_assert_uint_le(a.evaluation_count, options.budget);
    gsrt_diag diag = {0};
    options.policy = "oracle";
    ck_assert_int_eq(gsrt_flow_search(instance, &options, &diag, first, &a), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "oracle"));
    ck_assert_str_eq(gsrt_flow_policy_name(1), "local");
    ck_assert_ptr_null(gsrt_flow_policy_name(2));
    (void)gsrt_flow_instance_free(instance);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {
        a_score_is_the_least_cut,           the_search_finds_what_there_is_and_bounds_hold,
        a_bound_is_what_its_prices_say,     made_by_hand,
        partial_inference_and_narrow_links, what_a_chain_remembers_is_what_it_finds,
        the_same_seed_gives_the_same,
    };
    return unit_run("flow", tests, sizeof tests / sizeof tests[0]);
}
