/* Fallback plans: for every set of ranks that are there, of random plans, the plan is legal and names nobody who is
 * not. */
#include "placement/fallback.h"

#include "base/random.h"
#include "tests/unit.h"

enum { LAYERS = 7, RANKS = 7 };

static gsrt_plan *random_plan(uint64_t seed)
{
    gsrt_plan_carrier c = {.exchange = (uint32_t)gsrt_random_u64(seed, 1, 0) % (GSRT_EXCHANGE_SCATTER + 1)};
    uint32_t layer = 0, rank = 0;
    c.stage_count = 1 + (uint32_t)gsrt_random_u64(seed, 1, 1) % 3;
    for (uint32_t s = 0; s < c.stage_count; s++) {
        c.layers[2 * s] = layer;
        layer += s + 1 == c.stage_count ? LAYERS - layer : 2;
        c.layers[2 * s + 1] = layer - 1;
        c.member_counts[s] = 1 + (uint32_t)gsrt_random_u64(seed, 2, s) % 2;
        for (uint32_t m = 0; m < c.member_counts[s]; m++, c.role_count++) {
            c.ranks[c.role_count] = rank++;
            c.shares[c.role_count] = m == 0 ? 1 : (uint32_t)gsrt_random_u64(seed, 3, s) % 3;
        }
    }
    if (gsrt_random_u64(seed, 4, 0) % 2 == 0)
        c.spares[c.spare_count++] = rank + 1 < RANKS ? rank + 1 : rank;
    gsrt_plan *plan;
    ck_assert_int_eq(gsrt_plan_unpack(&c, &plan), GSRT_OK);
    return plan;
}

static void check_without(const gsrt_plan *full, uint32_t set)
{
    bool is_there[RANKS];
    uint32_t missing = 0, there = 0, stage, member;
    for (uint32_t r = 0; r < RANKS; r++) {
        is_there[r] = (set >> r & 1u) != 0;
        there += is_there[r] ? 1 : 0;
        missing += !is_there[r] && gsrt_plan_role_of(full, r, &stage, &member) ? 1 : 0;
    }
    gsrt_plan *plan = NULL;
    gsrt_way way;
    gsrt_workload workload = {.layer_count = LAYERS, .head_count = 8};
    gsrt_diag diag = {0};
    if (there == 0) {
        ck_assert_int_eq(gsrt_plan_without(full, is_there, RANKS, &plan, &way), GSRT_EINFEASIBLE);
        return;
    }
    ck_assert_int_eq(gsrt_plan_without(full, is_there, RANKS, &plan, &way), GSRT_OK);
    ck_assert_int_eq(gsrt_plan_check(plan, &workload, RANKS, "f", &diag), GSRT_OK);
    uint32_t role_count = 0, full_count = 0;
    for (uint32_t r = 0; r < RANKS; r++) {
        bool has_role = gsrt_plan_role_of(plan, r, &stage, &member);
        ck_assert(!has_role || is_there[r]);
        role_count += has_role ? 1 : 0;
        full_count += gsrt_plan_role_of(full, r, &stage, &member) ? 1 : 0;
    }
    ck_assert_uint_eq(role_count + plan->spare_count, there);
    ck_assert_int_eq(way, missing == 0 ? GSRT_WAY_FULL : role_count < full_count ? GSRT_WAY_RESHAPED : GSRT_WAY_SPARE);
    ck_assert_uint_eq(role_count, there < full_count ? there : full_count); /* nobody idles while a role is vacant */
    ck_assert(gsrt_plan_is_equal(plan, full) == (missing == 0));
    (void)gsrt_plan_free(plan);
}

START_TEST(every_set_of_survivors_has_a_legal_plan)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        gsrt_plan *full = random_plan(seed);
        for (uint32_t set = 0; set < 1u << RANKS; set++)
            check_without(full, set);
        (void)gsrt_plan_free(full);
    }
}
END_TEST

START_TEST(layers_of_a_lost_stage_go_to_its_neighbour)
{
    gsrt_plan_carrier c = {.stage_count = 3,
                           .layers = {0, 1, 2, 3, 4, 6},
                           .member_counts = {1, 1, 1},
                           .ranks = {0, 1, 2},
                           .shares = {1, 1, 1},
                           .role_count = 3};
    gsrt_plan *full, *plan;
    gsrt_way way;
    ck_assert_int_eq(gsrt_plan_unpack(&c, &full), GSRT_OK);
    ck_assert_int_eq(gsrt_plan_without(full, (const bool[]){true, false, true}, 3, &plan, &way), GSRT_OK);
    ck_assert_uint_eq(plan->stage_count, 2);
    ck_assert_uint_eq(plan->stages[0].layer_last, 3);
    ck_assert_uint_eq(plan->stages[1].layer_first, 4);
    (void)gsrt_plan_free(plan);
    ck_assert_int_eq(gsrt_plan_without(full, (const bool[]){false, false, true}, 3, &plan, &way), GSRT_OK);
    ck_assert_uint_eq(plan->stage_count, 1);
    ck_assert_uint_eq(plan->stages[0].layer_first, 0);
    ck_assert_uint_eq(plan->stages[0].layer_last, 6);
    ck_assert_str_eq(gsrt_way_name(way), "reshaped");
    (void)gsrt_plan_free(plan);
    (void)gsrt_plan_free(full);
}
END_TEST

START_TEST(what_came_over_the_wire_is_checked)
{
    gsrt_plan_carrier good = {.stage_count = 1, .member_counts = {1}, .ranks = {0}, .shares = {1}, .role_count = 1};
    gsrt_plan *plan = NULL;
    ck_assert_int_eq(gsrt_plan_unpack(&good, &plan), GSRT_OK);
    gsrt_plan_carrier again;
    gsrt_plan_pack(plan, &again);
    (void)gsrt_plan_free(plan);
    ck_assert_int_eq(gsrt_plan_unpack(&again, &plan), GSRT_OK);
    (void)gsrt_plan_free(plan);
    for (int i = 0; i < 6; i++) {
        gsrt_plan_carrier bad = good;
        if (i == 0)
            bad.stage_count = 0;
        else if (i == 1)
            bad.stage_count = GSRT_STAGE_COUNT_MAX + 1;
        else if (i == 2)
            bad.member_counts[0] = 2;
        else if (i == 3)
            bad.member_counts[0] = 0;
        else if (i == 4)
            bad.exchange = GSRT_EXCHANGE_SCATTER + 1;
        else
            bad.role_count = 2;
        ck_assert_int_eq(gsrt_plan_unpack(&bad, &plan), GSRT_EDECODE);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {every_set_of_survivors_has_a_legal_plan, layers_of_a_lost_stage_go_to_its_neighbour,
                            what_came_over_the_wire_is_checked};
    return unit_run("fallback", tests, sizeof tests / sizeof tests[0]);
}
