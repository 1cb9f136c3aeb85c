/* JSON: the same values give the same bytes, reals are the shortest that come back, bad documents are refused. */
#include "base/json.h"

#include "base/limits.h"
#include "base/random.h"
#include "tests/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void expect(json_t *value, bool is_compact, const char *wanted)
{
    gsrt_buffer out;
    gsrt_buffer_init(&out, 1 << 16);
    ck_assert_int_eq(gsrt_json_print(value, is_compact, &out), GSRT_OK);
    ck_assert_int_eq(gsrt_buffer_append(&out, "", 1), GSRT_OK);
    ck_assert_str_eq((const char *)out.data, wanted);
    gsrt_buffer_fini(&out);
    json_decref(value);
}

START_TEST(trees)
{
    const char *format = "{s:i, s:[i,i], s:[{s:b}, []], s:{}, s:n, s:f}";
    expect(
        json_pack(format, "z", 1, "a", 2, 3, "m", "x", 1, "e", "n", "f", 0.1), false,
        "{\n  \"z\": 1,\n  \"a\": [2, 3],\n  \"m\": [\n    {\n      \"x\": true\n    },\n    []\n  ],\n  \"e\": {},\n"
        "  \"n\": null,\n  \"f\": 0.1\n}\n");
    expect(json_pack(format, "z", 1, "a", 2, 3, "m", "x", 0, "e", "n", "f", 0.1), true,
           "{\"z\":1,\"a\":[2,3],\"m\":[{\"x\":false},[]],\"e\":{},\"n\":null,\"f\":0.1}");
    gsrt_buffer out;
    gsrt_buffer_init(&out, 8);
    ck_assert_int_eq(gsrt_json_print(NULL, false, &out), GSRT_EINVAL);
    json_t *longer = json_string("longer than the buffer");
    ck_assert_int_eq(gsrt_json_print(longer, false, &out), GSRT_ELIMIT);
    ck_assert_uint_eq(out.len, 0);
    json_decref(longer);
    gsrt_buffer_fini(&out);
}
END_TEST

START_TEST(known_numbers)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "1"},
                 {-2.5, "-2.5"},
                 {100, "100"},
                 {0.1, "0.1"},
                 {1e21, "1e+21"},
                 {1.0 / 3, "0.3333333333333333"},
                 {5e-324, "5e-324"},
                 {123456, "123456"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect(gsrt_json_real(cases[i].number), true, cases[i].text);
    expect(gsrt_json_real((double)NAN), true, "null");
    expect(gsrt_json_real((double)-INFINITY), true, "null");
    expect(gsrt_json_u64(INT64_MAX), true, "9223372036854775807");
    expect(gsrt_json_u64(UINT64_MAX), true, "1.8446744073709552e+19");
}
END_TEST

START_TEST(numbers_come_back)
{
    gsrt_buffer out;
    gsrt_buffer_init(&out, 128);
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t bits = gsrt_random_u64(3, 0, i);
        uint32_t low = (uint32_t)bits;
        double real;
        float single;
        memcpy(&real, &bits, sizeof real);
        memcpy(&single, &low, sizeof single);
        gsrt_buffer_reset(&out);
        if (gsrt_json_print_f64(&out, real) != GSRT_OK || gsrt_buffer_append(&out, "", 1) != GSRT_OK)
            ck_abort();
        if (isfinite(real) && strtod((const char *)out.data, NULL) != real)
            ck_abort_msg("%a: %s", real, (const char *)out.data);
        gsrt_buffer_reset(&out);
        if (gsrt_json_print_f32(&out, single) != GSRT_OK || gsrt_buffer_append(&out, "", 1) != GSRT_OK)
            ck_abort();
        if (isfinite(single) && strtof((const char *)out.data, NULL) != single)
            ck_abort_msg("%a: %s", (double)single, (const char *)out.data);
    }
    gsrt_buffer_reset(&out);
    ck_assert_int_eq(gsrt_json_print_f32(&out, 0.7F), GSRT_OK);
    ck_assert_int_eq(gsrt_json_print_f32(&out, INFINITY), GSRT_OK);
    ck_assert_uint_eq(out.len, 7);
    ck_assert_mem_eq(out.data, "0.7null", 7);
    gsrt_buffer_fini(&out);
}
END_TEST

START_TEST(texts)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "\"\""},
        {"a\"b\\c\n\t\r", "\"a\\\"b\\\\c\\n\\t\\r\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
        {"caf\xc3\xa9 \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xf0\x9f\x98\x80\""},
        {"\xc3", "\"\xef\xbf\xbd\""},                                                 /* cut short */
        {"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                                 /* overlong */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},                 /* a surrogate */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* past U+10FFFF */
        {"\xffx", "\"\xef\xbf\xbdx\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect(gsrt_json_text(cases[i].text), true, cases[i].json);
        gsrt_buffer out;
        gsrt_buffer_init(&out, 256);
        ck_assert_int_eq(gsrt_json_print_text(&out, gsrt_span_of_text(cases[i].text)), GSRT_OK);
        ck_assert_uint_eq(out.len, strlen(cases[i].json));
        ck_assert_mem_eq(out.data, cases[i].json, out.len);
        gsrt_buffer_fini(&out);
    }
    expect(gsrt_json_text(NULL), true, "null");
}
END_TEST

static void refuse(const char *text, const char *wanted)
{
    gsrt_diag diag = {0};
    json_t *value = NULL;
    ck_assert_int_eq(gsrt_json_parse(gsrt_span_of_text(text), "f.json", &value, &diag), GSRT_EINPUT);
    ck_assert_ptr_null(value);
    ck_assert_msg(strstr(diag.text, wanted) != NULL, "%s", diag.text);
}

START_TEST(parsing)
{
    json_t *value;
    ck_assert_int_eq(gsrt_json_parse(gsrt_span_of_text("{\"b\": 1, \"a\": [\"[[{\\\"\"]}"), "f", &value, NULL),
                     GSRT_OK);
    expect(value, true, "{\"b\":1,\"a\":[\"[[{\\\"\"]}");
    refuse("{\"a\": 1, \"a\": 2}", "f.json: line 1, column 12: no valid JSON: duplicate object key");
    refuse("{", "f.json: line 1, column 1: no valid JSON: ");
    refuse("", "f.json: line 1, column 0: no valid JSON: ");
    char deep[2 * GSRT_JSON_DEPTH_MAX + 3] = {0};
    memset(deep, '[', GSRT_JSON_DEPTH_MAX + 1);
    memset(deep + GSRT_JSON_DEPTH_MAX + 1, ']', GSRT_JSON_DEPTH_MAX + 1);
    refuse(deep, "f.json: nested more than 32 deep");
    ck_assert_int_eq(gsrt_json_parse(gsrt_span_of(deep + 1, 2 * GSRT_JSON_DEPTH_MAX), "f", &value, NULL), GSRT_OK);
    json_decref(value);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {trees, known_numbers, numbers_come_back, texts, parsing};
    return unit_run("json", tests, sizeof tests / sizeof tests[0]);
}
