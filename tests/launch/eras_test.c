/* Eras: which token is of which, and narrowed.json: read back the same, hostile ones refused. */
#include "launch/eras.h"

#include "tests/unit.h"

#include <stdlib.h>

enum { REQUESTS = 2, TEXT_BYTES = 4096 };

static const gsrt_violation_seen seen = {
    .statistic = "divergence", .seen = 0.53125, .bound = 0.01, .request = 1, .position = 12};

/* Three eras: layers 1 and 2; then layer 2; then nothing, which has not begun. */
static gsrt_eras three_eras(void)
{
    gsrt_eras eras;
    const gsrt_plan_narrowed two[] = {{GSRT_PLAN_LAYER + 1, GSRT_DTYPE_Q8_0}, {GSRT_PLAN_LAYER + 2, GSRT_DTYPE_F16}};
    gsrt_plan *plan = gsrt_plan_create(1);
    ck_assert(plan != NULL && gsrt_plan_narrow(plan, two, 2) == GSRT_OK);
    ck_assert_int_eq(gsrt_eras_init(&eras, plan, REQUESTS), GSRT_OK);
    ck_assert_int_eq(gsrt_plan_narrow(plan, two + 1, 1), GSRT_OK);
    ck_assert_int_eq(gsrt_eras_add(&eras, 1, &seen, plan), GSRT_OK);
    gsrt_eras_begin(&eras, (const uint32_t[]){7, 0});
    ck_assert_int_eq(gsrt_plan_narrow(plan, NULL, 0), GSRT_OK);
    ck_assert_int_eq(gsrt_eras_add(&eras, 3, &seen, plan), GSRT_OK);
    (void)gsrt_plan_free(plan);
    return eras;
}

START_TEST(tokens_have_their_era)
{
    gsrt_eras eras = three_eras();
    ck_assert_uint_eq(gsrt_eras_of(&eras, 0, 6), 0);
    ck_assert_uint_eq(gsrt_eras_of(&eras, 0, 7), 1);
    ck_assert_uint_eq(gsrt_eras_of(&eras, 1, 0), 1);
    ck_assert(!gsrt_eras_last(&eras)->has_begun);
    gsrt_eras_begin(&eras, (const uint32_t[]){9, 0});
    ck_assert_uint_eq(gsrt_eras_of(&eras, 0, 8), 1);
    ck_assert_uint_eq(gsrt_eras_of(&eras, 0, 9), 2);
    ck_assert_uint_eq(gsrt_eras_of(&eras, 1, 0), 2); /* the one between has none of this request */
    gsrt_eras_fini(&eras);
}
END_TEST

START_TEST(read_back_the_same)
{
    gsrt_eras eras = three_eras(), again = three_eras();
    gsrt_buffer first, second;
    gsrt_diag diag = {0};
    gsrt_buffer_init(&first, TEXT_BYTES);
    gsrt_buffer_init(&second, TEXT_BYTES);
    ck_assert_int_eq(gsrt_eras_print(&eras, &first), GSRT_OK);
    ck_assert_msg(gsrt_eras_read(&again, gsrt_buffer_span(&first), "n.json", &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_int_eq(gsrt_eras_print(&again, &second), GSRT_OK);
    ck_assert(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
    ck_assert(again.items[1].narrowed_count == 1 && again.items[1].narrowed[0].place == GSRT_PLAN_LAYER + 2);
    ck_assert_int_eq(again.items[1].narrowed[0].weights, GSRT_DTYPE_F16);
    ck_assert(again.items[1].first[0] == 7 && !again.items[2].has_begun);
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
    gsrt_eras_fini(&eras);
    gsrt_eras_fini(&again);
}
END_TEST

START_TEST(hostile_files_are_refused)
{
#define ERA(narrowed, first)                                                                                           \
    "{\"schema\": \"gsrt-narrowed/1\", \"eras\": [{\"view\": 1, \"statistic\": \"divergence\", \"seen\": 1, "          \
    "\"bound\": 0.1, \"request\": 0, \"position\": 3, \"narrowed\": " narrowed ", \"first\": " first "}]}"
    static const char *const bad[] = {
        "{}",
        "{\"schema\": \"gsrt-narrowed/2\", \"eras\": []}",
        "{\"schema\": \"gsrt-narrowed/1\", \"eras\": {}}",
        "{\"schema\": \"gsrt-narrowed/1\", \"eras\": [7]}",
        ERA("[]", "[1]"),
        ERA("[]", "[1, -1]"),
        ERA("[]", "7"),
        ERA("{}", "null"),
        ERA("[{\"region\": \"layer.01\", \"weights\": \"q8_0\"}]", "null"),
        ERA("[{\"region\": \"layer.1\", \"weights\": \"f32\"}]", "null"),
        ERA("[{\"region\": \"output\", \"weights\": \"f16\"}, {\"region\": \"embed\", \"weights\": \"f16\"}]", "null"),
        ERA("[{\"region\": \"layer.1024\", \"weights\": \"f16\"}]", "null"),
    };
    static const char good[] = ERA("[{\"region\": \"layer.1023\", \"weights\": \"f16\"}]", "[1, 2]");
    gsrt_eras eras = three_eras();
    gsrt_diag diag = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        diag = (gsrt_diag){0};
        ck_assert_msg(gsrt_eras_read(&eras, gsrt_span_of_text(bad[i]), "n.json", &diag) == GSRT_EINPUT, "%s", bad[i]);
        ck_assert_uint_eq(eras.count, 3);
    }
    diag = (gsrt_diag){0};
    ck_assert_msg(gsrt_eras_read(&eras, gsrt_span_of_text(good), "n.json", &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_uint_eq(eras.count, 2);
    gsrt_eras_fini(&eras);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {tokens_have_their_era, read_back_the_same, hostile_files_are_refused};
    return unit_run("eras", tests, sizeof tests / sizeof tests[0]);
}
