/* Which way back: what is possible, what it is predicted to cost, and what a preference changes. */
#include "health/healer.h"
#include "tests/unit.h"

static const uint64_t ms = 1000000;

/* Two stages, the first split 3 to 5; rank 3 stands by where has_spare. */
static gsrt_plan *plan_of(bool has_spare)
{
    gsrt_plan_carrier c = {.stage_count = 2,
                           .layers = {0, 2, 3, 4},
                           .member_counts = {2, 1},
                           .ranks = {0, 1, 2},
                           .shares = {3, 5, 1},
                           .role_count = 3,
                           .spares = {3},
                           .spare_count = has_spare ? 1 : 0};
    gsrt_plan *plan;
    ck_assert_int_eq(gsrt_plan_unpack(&c, &plan), GSRT_OK);
    return plan;
}

static gsrt_heal_answer ask(const gsrt_heal_question *question)
{
    gsrt_heal_answer answer;
    ck_assert_int_eq(gsrt_heal(question, &answer), GSRT_OK);
    ck_assert(answer.is_possible[answer.method]);
    return answer;
}

START_TEST(a_spare_or_the_next_incarnation)
{
    gsrt_plan *plan = plan_of(true);
    bool is_there[] = {true, false, true, true};
    gsrt_heal_question q = {.full = plan,
                            .is_there = is_there,
                            .rank_count = 4,
                            .respawn_ns = 40 * ms,
                            .take_ns = 5 * ms,
                            .recompute_ns = 10 * ms,
                            .step_ns = ms,
                            .steps_left = 100};
    gsrt_heal_answer a = ask(&q);
    ck_assert_int_eq(a.method, GSRT_METHOD_SPARE);
    ck_assert_uint_eq(a.loss_ns[GSRT_METHOD_SPARE], 25 * ms); /* two pauses; the part is taken in only one */
    ck_assert_uint_eq(a.loss_ns[GSRT_METHOD_IN_PLACE], 55 * ms);
    ck_assert(!a.is_possible[GSRT_METHOD_RESHAPED] && !a.is_possible[GSRT_METHOD_FULL]);
    q.recompute_ns = 100 * ms; /* the second pause costs more than the wait */
    ck_assert_int_eq(ask(&q).method, GSRT_METHOD_IN_PLACE);
    q.prefer = GSRT_METHOD_SPARE;
    ck_assert_int_eq(ask(&q).method, GSRT_METHOD_SPARE);
    q.prefer = GSRT_METHOD_RESHAPED; /* not possible while somebody stands by: by time then */
    ck_assert_int_eq(ask(&q).method, GSRT_METHOD_IN_PLACE);
    q.prefer = 0;
    q.is_last = true; /* nobody comes back: no second pause, and nobody to wait for */
    a = ask(&q);
    ck_assert_int_eq(a.method, GSRT_METHOD_SPARE);
    ck_assert_uint_eq(a.loss_ns[GSRT_METHOD_SPARE], 105 * ms);
    ck_assert(!a.is_possible[GSRT_METHOD_IN_PLACE]);
    gsrt_plan_free(plan);
}
END_TEST

START_TEST(the_survivors_divide_the_work)
{
    gsrt_plan *plan = plan_of(false);
    bool is_there[] = {true, false, true};
    gsrt_heal_question q = {.full = plan,
                            .is_there = is_there,
                            .rank_count = 3,
                            .respawn_ns = 40 * ms,
                            .take_ns = 5 * ms,
                            .step_ns = 10 * ms,
                            .steps_left = 1000};
    gsrt_heal_answer a = ask(&q);
    /* 3 layers of 5/8 and 2 of 1 become 3 of 1 and 2 of 1: a step takes 5 / 3.875 as long, until the return */
    uint64_t slowed = a.loss_ns[GSRT_METHOD_RESHAPED] - 10 * ms;
    ck_assert_uint_ge(slowed, 4 * 29 * ms / 10);
    ck_assert_uint_le(slowed, 4 * 30 * ms / 10);
    ck_assert_int_eq(a.method, GSRT_METHOD_RESHAPED);
    q.is_last = true; /* for all that is left */
    uint64_t for_good = ask(&q).loss_ns[GSRT_METHOD_RESHAPED];
    ck_assert_uint_ge(for_good, 1000 * 29 * ms / 10);
    gsrt_plan_free(plan);
}
END_TEST

START_TEST(nobody_and_nobody_missing)
{
    gsrt_plan *plan = plan_of(true);
    bool is_there[] = {true, true, true, false};
    gsrt_heal_question q = {.full = plan, .is_there = is_there, .rank_count = 4, .take_ns = ms, .respawn_ns = ms};
    gsrt_heal_answer a = ask(&q); /* only the spare is lost */
    ck_assert_int_eq(a.method, GSRT_METHOD_FULL);
    bool none[] = {false, false, false, false};
    q.is_there = none;
    ck_assert_int_eq(ask(&q).method, GSRT_METHOD_IN_PLACE);
    q.is_last = true;
    ck_assert_int_eq(gsrt_heal(&q, &a), GSRT_EINFEASIBLE);
    gsrt_plan_free(plan);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {a_spare_or_the_next_incarnation, the_survivors_divide_the_work, nobody_and_nobody_missing};
    return unit_run("healer", tests, sizeof tests / sizeof tests[0]);
}
