/* Plans: what is refused, and how; roles; apportioning against its definition. */
#include "placement/plan.h"

#include "base/random.h"
#include "tests/unit.h"

/* Stages of `plan` from the arrays; member arrays borrowed. */
static gsrt_plan *plan_of(const gsrt_plan_stage *stages, uint32_t stage_count, uint32_t *spares, uint32_t spare_count)
{
    gsrt_plan *plan = gsrt_plan_create(stage_count);
    ck_assert_ptr_nonnull(plan);
    for (uint32_t s = 0; s < stage_count; s++)
        plan->stages[s] = stages[s];
    plan->spares = spares;
    plan->spare_count = spare_count;
    return plan;
}

static void expect(const gsrt_plan_stage *stages, uint32_t stage_count, uint32_t *spares, uint32_t spare_count,
                   uint32_t layer_count, uint32_t rank_count, gsrt_status wanted, const char *text)
{
    gsrt_plan *plan = plan_of(stages, stage_count, spares, spare_count);
    gsrt_workload workload = {.layer_count = layer_count, .head_count = 8};
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_plan_check(plan, layer_count == 0 ? NULL : &workload, rank_count, "f.yaml", &diag);
    ck_assert_str_eq(gsrt_status_name(status), gsrt_status_name(wanted));
    ck_assert_str_eq(diag.text, text);
    (void)gsrt_plan_free(plan);
}

static uint32_t ranks[][2] = {{0, 1}, {2, 3}, {1, 2}, {0, 0}, {4, 5}};
static uint32_t shares[][2] = {{1, 1}, {3, 5}, {0, 0}, {0, 1}};

#define STAGE(first, last, which, share, count)                                                                        \
    {                                                                                                                  \
        .layer_first = (first), .layer_last = (last), .member_count = (count), .ranks = ranks[which],                  \
        .shares = shares[share]                                                                                        \
    }

START_TEST(good_plans_pass)
{
    uint32_t spares[] = {4};
    const gsrt_plan_stage two[] = {STAGE(0, 2, 0, 1, 2), STAGE(3, 4, 1, 3, 2)};
    expect(two, 2, spares, 1, 5, 5, GSRT_OK, "");
    expect(two, 2, spares, 1, 0, 5, GSRT_OK, "");
    expect(two, 2, spares, 1, 5, 8, GSRT_OK, "");
}
END_TEST

START_TEST(layers_are_covered_once)
{
    const gsrt_plan_stage overlap[] = {STAGE(0, 2, 0, 0, 2), STAGE(2, 4, 1, 0, 2)};
    expect(overlap, 2, NULL, 0, 5, 4, GSRT_EINPUT,
           "f.yaml: plan.stages[1].layers: layer 2 is already in plan.stages[0]; give each layer to exactly one stage");
    const gsrt_plan_stage gap[] = {STAGE(0, 1, 0, 0, 2), STAGE(3, 4, 1, 0, 2)};
    expect(gap, 2, NULL, 0, 5, 4, GSRT_EINPUT,
           "f.yaml: plan.stages[1].layers: layer 2 is in no stage; give each layer to exactly one stage");
    const gsrt_plan_stage late[] = {STAGE(2, 4, 0, 0, 2)};
    expect(late, 1, NULL, 0, 5, 4, GSRT_EINPUT,
           "f.yaml: plan.stages[0].layers: layers 0 to 1 are in no stage; give each layer to exactly one stage");
    const gsrt_plan_stage shorter[] = {STAGE(0, 2, 0, 0, 2)};
    expect(
        shorter, 1, NULL, 0, 5, 4, GSRT_EINPUT,
        "f.yaml: plan.stages: layers 3 to 4 are in no stage (the model has 5 layers); give each layer to exactly one "
        "stage");
    const gsrt_plan_stage longer[] = {STAGE(0, 5, 0, 0, 2)};
    expect(longer, 1, NULL, 0, 5, 4, GSRT_EINPUT,
           "f.yaml: plan.stages[0].layers: layer 5 is past the model's last, 4 (it has 5 layers)");
    const gsrt_plan_stage backwards[] = {STAGE(2, 0, 0, 0, 2)};
    expect(backwards, 1, NULL, 0, 5, 4, GSRT_EINPUT,
           "f.yaml: plan.stages[0].layers: first layer 2 is past the last, 0; 'layers: [first, last]' is inclusive");
    const gsrt_plan_stage unsorted[] = {STAGE(3, 4, 0, 0, 2), STAGE(0, 2, 1, 0, 2)};
    expect(unsorted, 2, NULL, 0, 5, 4, GSRT_EINPUT,
           "f.yaml: plan.stages[0].layers: layers 0 to 2 are in no stage; give each layer to exactly one stage");
    const gsrt_plan_stage swapped[] = {STAGE(0, 1, 0, 0, 2), STAGE(4, 4, 1, 0, 2), STAGE(2, 3, 4, 0, 2)};
    expect(swapped, 3, NULL, 0, 5, 6, GSRT_EINPUT,
           "f.yaml: plan.stages[1].layers: layers 2 to 3 are in no stage; give each layer to exactly one stage");
}
END_TEST

START_TEST(a_rank_has_one_role)
{
    const gsrt_plan_stage both[] = {STAGE(0, 2, 0, 0, 2), STAGE(3, 4, 2, 0, 2)};
    expect(both, 2, NULL, 0, 5, 4, GSRT_EINPUT,
           "f.yaml: plan.stages[1].ranks: rank 1 already belongs to plan.stages[0]; give each rank one role");
    const gsrt_plan_stage twice[] = {STAGE(0, 4, 3, 0, 2)};
    expect(twice, 1, NULL, 0, 5, 4, GSRT_EINPUT, "f.yaml: plan.stages[0].ranks: rank 0 is named twice; name it once");
    uint32_t spares[] = {1, 3, 3};
    const gsrt_plan_stage one[] = {STAGE(0, 4, 0, 0, 2)};
    expect(one, 1, spares, 1, 5, 4, GSRT_EINPUT,
           "f.yaml: plan.spares: rank 1 already belongs to plan.stages[0]; give each rank one role");
    expect(one, 1, spares + 1, 2, 5, 4, GSRT_EINPUT, "f.yaml: plan.spares: rank 3 is named twice; name it once");
}
END_TEST

START_TEST(groups_have_members_and_shares)
{
    const gsrt_plan_stage nobody[] = {STAGE(0, 4, 0, 0, 0)};
    expect(nobody, 1, NULL, 0, 5, 4, GSRT_EINPUT,
           "f.yaml: plan.stages[0].ranks: the stage has no rank; name at least one");
    const gsrt_plan_stage nothing[] = {STAGE(0, 4, 0, 2, 2)};
    expect(nothing, 1, NULL, 0, 5, 4, GSRT_EINPUT,
           "f.yaml: plan.stages[0].split: all shares are 0; give at least one rank a share of the stage");
    expect(nothing, 0, NULL, 0, 5, 4, GSRT_EINPUT, "f.yaml: plan.stages: 0 stages; a plan has between 1 and 256");
    gsrt_plan_stage crowd[] = {STAGE(0, 4, 0, 0, 65)};
    expect(crowd, 1, NULL, 0, 5, 4, GSRT_EINPUT, "f.yaml: plan.stages[0].ranks: 65 ranks; a stage has at most 64");
}
END_TEST

START_TEST(missing_ranks_are_infeasible)
{
    uint32_t spares[] = {6}, far[] = {GSRT_RANK_COUNT_MAX};
    const gsrt_plan_stage two[] = {STAGE(0, 2, 0, 0, 2), STAGE(3, 4, 1, 0, 2)};
    expect(two, 2, NULL, 0, 5, 3, GSRT_EINFEASIBLE,
           "f.yaml: plan: the plan names rank 3 and so needs 4 ranks, but there are 3; start more ranks (mpirun -n 4) "
           "or change the plan");
    expect(
        two, 2, spares, 1, 5, 1, GSRT_EINFEASIBLE,
        "f.yaml: plan: the plan names rank 6 and so needs 7 ranks, but there is 1; start more ranks (mpirun -n 7) or "
        "change the plan");
    expect(two, 2, far, 1, 5, 4, GSRT_EINPUT,
           "f.yaml: plan.spares: rank 1024 is past the highest that is possible, 1023");
}
END_TEST

START_TEST(roles_are_found)
{
    uint32_t spares[] = {9};
    const gsrt_plan_stage two[] = {STAGE(0, 2, 0, 0, 2), STAGE(3, 4, 4, 0, 2)};
    gsrt_plan *plan = plan_of(two, 2, spares, 1);
    uint32_t stage = 77, member = 77;
    ck_assert(gsrt_plan_role_of(plan, 5, &stage, &member));
    ck_assert_uint_eq(stage, 1);
    ck_assert_uint_eq(member, 1);
    stage = member = 77;
    ck_assert(!gsrt_plan_role_of(plan, 9, &stage, &member));
    ck_assert(!gsrt_plan_role_of(plan, 2, &stage, &member));
    ck_assert_uint_eq(stage, 77);
    ck_assert_uint_eq(gsrt_plan_rank_count(plan), 10);
    (void)gsrt_plan_free(plan);
}
END_TEST

START_TEST(printed_for_people)
{
    uint32_t spares[] = {4};
    const gsrt_plan_stage two[] = {STAGE(0, 2, 0, 1, 2), STAGE(3, 3, 1, 0, 1)};
    gsrt_plan *plan = plan_of(two, 2, spares, 1);
    const gsrt_workload workload = {.layer_count = 4, .head_count = 8};
    gsrt_buffer text;
    gsrt_buffer_init(&text, 4096);
    ck_assert_int_eq(gsrt_plan_print(plan, &workload, &text), GSRT_OK);
    ck_assert_int_eq(gsrt_buffer_append(&text, "", 1), GSRT_OK);
    ck_assert_str_eq((const char *)text.data, "stage 0   layers 0-2       ranks 0,1         split 3:5  heads 3+5\n"
                                              "stage 1   layers 3         ranks 2\n"
                                              "spare ranks 4\n");
    gsrt_buffer_fini(&text);
    (void)gsrt_plan_free(plan);
}
END_TEST

/* ---- apportioning ---- */

START_TEST(known_apportionments)
{
    static const struct {
        uint32_t units, count, shares[5], first[6];
    } cases[] = {
        {8, 2, {3, 5}, {0, 3, 8}},
        {8, 2, {1, 1}, {0, 4, 8}},
        {5, 2, {1, 1}, {0, 3, 5}},             /* tie: the lowest member */
        {7, 3, {1, 1, 1}, {0, 3, 5, 7}},       /* one left */
        {2, 4, {1, 1, 1, 1}, {0, 1, 2, 2, 2}}, /* more members than units */
        {4, 3, {0, 1, 0}, {0, 0, 4, 4}},       /* no share, no units */
        {0, 2, {1, 2}, {0, 0, 0}},
        {100, 3, {14, 20, 66}, {0, 14, 34, 100}},
        {10, 4, {6, 6, 6, 2}, {0, 3, 6, 9, 10}},                         /* quotas 3 3 3 1: exact */
        {26, 5, {9061, 7179, 5259, 3319, 1182}, {0, 9, 16, 21, 25, 26}}, /* Balinski & Young's example */
        {UINT32_MAX, 2, {UINT32_MAX, UINT32_MAX}, {0, 2147483648u, UINT32_MAX}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t first[6];
        gsrt_apportion(cases[i].units, cases[i].shares, cases[i].count, first);
        for (uint32_t m = 0; m <= cases[i].count; m++)
            ck_assert_msg(first[m] == cases[i].first[m], "case %zu, member %u: %u, not %u", i, m, first[m],
                          cases[i].first[m]);
    }
}
END_TEST

/* Hamilton's definition: within one unit of the quota, nothing without a share, larger remainders first. */
START_TEST(apportionments_keep_the_definition)
{
    for (uint64_t round = 0; round < 1000; round++) {
        uint32_t shares_drawn[GSRT_GROUP_RANKS_MAX], first[GSRT_GROUP_RANKS_MAX + 1];
        uint32_t count = 1 + (uint32_t)(gsrt_random_u64(7, round, 0) % GSRT_GROUP_RANKS_MAX);
        uint32_t units = (uint32_t)(gsrt_random_u64(7, round, 1) % 300);
        uint64_t total = 0;
        for (uint32_t m = 0; m < count; m++) {
            shares_drawn[m] = (uint32_t)(gsrt_random_u64(7, round, 2 + m) % 9);
            total += shares_drawn[m];
        }
        if (total == 0)
            shares_drawn[0] = (uint32_t)(total = 1);
        gsrt_apportion(units, shares_drawn, count, first);
        ck_assert_uint_eq(first[0], 0);
        ck_assert_uint_eq(first[count], units);
        bool is_quota = true, is_largest_first = true;
        for (uint32_t m = 0; m < count; m++) {
            uint64_t floor = (uint64_t)units * shares_drawn[m] / total;
            uint64_t rest = (uint64_t)units * shares_drawn[m] % total;
            uint64_t given = first[m + 1] - first[m];
            is_quota = is_quota && (given == floor || (given == floor + 1 && rest > 0));
            for (uint32_t o = 0; o < count; o++) {
                uint64_t other_rest = (uint64_t)units * shares_drawn[o] % total;
                bool other_got = first[o + 1] - first[o] > (uint64_t)units * shares_drawn[o] / total;
                bool is_before = rest > other_rest || (rest == other_rest && m < o);
                is_largest_first = is_largest_first && !(is_before && other_got && given == floor);
            }
        }
        ck_assert_msg(is_quota, "round %d: outside of the quota", (int)round);
        ck_assert_msg(is_largest_first, "round %d: a smaller remainder came first", (int)round);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {good_plans_pass,
                            layers_are_covered_once,
                            a_rank_has_one_role,
                            groups_have_members_and_shares,
                            missing_ranks_are_infeasible,
                            roles_are_found,
                            printed_for_people,
                            known_apportionments,
                            apportionments_keep_the_definition};
    return unit_run("plan", tests, sizeof tests / sizeof tests[0]);
}
