/* Bodies in memory: a flat copy equals its original, may be moved, and prints. */
#include "mailbox/body.h"

#include "tests/mailbox/bodies.h"
#include "tests/unit.h"

#include <jansson.h>
#include <stdlib.h>

START_TEST(every_copy_is_equal_after_a_move)
{
    bodies source;
    bodies_init(&source, 1, 100);
    for (size_t k = 0; k < BODIES_KIND_COUNT; k++) {
        const gsrt_kind_info *info = gsrt_kind_describe(bodies_kinds[k]);
        for (int round = 0; round < 20; round++) {
            const void *body = bodies_take(&source, info);
            ck_assert_int_eq(gsrt_body_check(info->kind, body), GSRT_OK);
            size_t bytes = gsrt_body_flat_bytes(info->kind, body);
            ck_assert_uint_eq(bytes % 8, 0);
            uint8_t *flat = malloc(bytes), *moved = malloc(bytes);
            ck_assert_int_eq(gsrt_body_copy(info->kind, body, flat, bytes - 8), GSRT_ELIMIT);
            ck_assert_int_eq(gsrt_body_copy(info->kind, body, flat, bytes), GSRT_OK);
            ck_assert(bodies_equal(info, body, flat));
            memcpy(moved, flat, bytes);
            memset(flat, 0xa5, bytes);
            free(flat);
            gsrt_body_relocate(info->kind, moved);
            ck_assert_msg(bodies_equal(info, body, moved), "%s", info->name);
            free(moved);
        }
    }
    bodies_fini(&source);
}
END_TEST

START_TEST(check_finds_what_is_past_its_limit)
{
    gsrt_msg_moved moved = {.rank = GSRT_RANK_COUNT_MAX};
    ck_assert_int_eq(gsrt_body_check(GSRT_KIND_MOVED, &moved), GSRT_OK);
    moved.rank++;
    ck_assert_int_eq(gsrt_body_check(GSRT_KIND_MOVED, &moved), GSRT_EINVAL);
    gsrt_msg_step step = {.tokens = NULL, .tokens_count = 1};
    ck_assert_int_eq(gsrt_body_check(GSRT_KIND_STEP, &step), GSRT_EINVAL);
    step.tokens_count = 0;
    ck_assert_int_eq(gsrt_body_check(GSRT_KIND_STEP, &step), GSRT_OK);
    gsrt_msg_ready ready = {.why = gsrt_span_of("", 2049)};
    ck_assert_int_eq(gsrt_body_check(GSRT_KIND_READY, &ready), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_body_check((gsrt_kind)999, &ready), GSRT_EKIND);
    ck_assert_uint_eq(gsrt_body_flat_bytes((gsrt_kind)999, &ready), 0);
}
END_TEST

START_TEST(every_kind_prints_json)
{
    bodies source;
    bodies_init(&source, 2, 1000);
    gsrt_buffer out;
    gsrt_buffer_init(&out, 1 << 20);
    for (size_t k = 0; k < BODIES_KIND_COUNT; k++) {
        const gsrt_kind_info *info = gsrt_kind_describe(bodies_kinds[k]);
        for (int round = 0; round < 5; round++) {
            gsrt_buffer_reset(&out);
            ck_assert_int_eq(gsrt_body_print(info->kind, bodies_take(&source, info), &out), GSRT_OK);
            json_error_t error;
            json_t *json = json_loadb((const char *)out.data, out.len, JSON_ALLOW_NUL, &error);
            ck_assert_msg(json != NULL || strstr(error.text, "too big") != NULL, "%s: %s: %.*s", info->name, error.text,
                          (int)out.len, (const char *)out.data);
            ck_assert_uint_eq(json == NULL ? info->field_count : json_object_size(json), info->field_count);
            json_decref(json);
        }
    }
    gsrt_buffer_reset(&out);
    uint32_t tokens[20] = {1, 2};
    gsrt_msg_tokens message = {.step = 9, .tokens = tokens, .tokens_count = 20};
    ck_assert_int_eq(gsrt_body_print(GSRT_KIND_TOKENS, &message, &out), GSRT_OK);
    ck_assert_int_eq(gsrt_buffer_append(&out, "", 1), GSRT_OK);
    ck_assert_str_eq((const char *)out.data,
                     "{\"step\": 9, \"tokens\": [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
                     "\"... 4 more\"], \"hash_lows\": [], \"hash_highs\": []}");
    gsrt_buffer_fini(&out);
    bodies_fini(&source);
}
END_TEST

START_TEST(kinds_are_described)
{
    ck_assert_str_eq(gsrt_kind_name(GSRT_KIND_STEP), "step");
    ck_assert_str_eq(gsrt_kind_name((gsrt_kind)0), "?");
    ck_assert(gsrt_kind_is_known(GSRT_KIND_STEP) && !gsrt_kind_is_known(0) && !gsrt_kind_is_known(UINT64_MAX));
    ck_assert(gsrt_kind_is_local_only(GSRT_KIND_JOB) && !gsrt_kind_is_local_only(GSRT_KIND_STEP));
    ck_assert(gsrt_kind_is_local_only((gsrt_kind)999));
    const gsrt_kind_info *info = gsrt_kind_describe(GSRT_KIND_TOKEN);
    ck_assert(info->is_flat);
    ck_assert(!gsrt_kind_describe(GSRT_KIND_PING)->is_flat);
    ck_assert_uint_eq(info->field_count, 5);
    ck_assert_str_eq(info->fields[1].name, "index");
    ck_assert_uint_eq(info->fields[1].offset, offsetof(gsrt_msg_token, index));
    ck_assert_uint_eq(info->fields[1].limit, GSRT_CONTEXT_MAX);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {every_copy_is_equal_after_a_move, check_finds_what_is_past_its_limit,
                            every_kind_prints_json, kinds_are_described};
    return unit_run("body", tests, sizeof tests / sizeof tests[0]);
}
