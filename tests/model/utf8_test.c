/* Incremental UTF-8: whole characters only, whatever the cuts and whatever the bytes. */
#include "model/utf8.h"

#include <string.h>

#include "tests/unit.h"

/* Push `bytes` cut after every byte whose bit is set in `cuts`, flush, compare. */
static void check_cut(gsrt_span bytes, unsigned cuts, const char *wanted)
{
    gsrt_utf8 utf8;
    gsrt_buffer out;
    gsrt_utf8_init(&utf8);
    gsrt_buffer_init(&out, 1 << 16);
    size_t begin = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        if ((cuts >> i & 1) == 0 && i + 1 < bytes.len)
            continue;
        ck_assert_int_eq(gsrt_utf8_push(&utf8, gsrt_span_of(bytes.data + begin, i + 1 - begin), &out), GSRT_OK);
        begin = i + 1;
        /* what is out is whole characters */
        for (size_t at = 0; at < out.len;) {
            int size = gsrt_utf8_measure(out.data + at, out.len - at);
            ck_assert_int_gt(size, 0);
            at += (size_t)size;
        }
    }
    ck_assert_int_eq(gsrt_utf8_flush(&utf8, &out), GSRT_OK);
    ck_assert_msg(gsrt_span_equal(gsrt_buffer_span(&out), gsrt_span_of_text(wanted)), "cuts %x: '%.*s', wanted '%s'",
                  cuts, (int)out.len, (const char *)out.data, wanted);
    gsrt_buffer_fini(&out);
}

static void check(const char *bytes, const char *wanted)
{
    size_t len = strlen(bytes);
    for (unsigned cuts = 0; cuts < 1u << len; cuts++)
        check_cut(gsrt_span_of(bytes, len), cuts, wanted);
}

#define BAD "\xef\xbf\xbd"

START_TEST(whole_characters)
{
    check("a\xc3\xa9z", "a\xc3\xa9z");
    check("\xe6\xad\xaa\xf0\x9f\x9a\x80", "\xe6\xad\xaa\xf0\x9f\x9a\x80");
}
END_TEST

START_TEST(malformed_parts)
{
    check("\xe6\xad", BAD);                            /* cut short: one mark */
    check("\346\255a", BAD "a");                       /* the byte that broke it is kept */
    check("\xe6\xad\xe6\xad\xaa", BAD "\xe6\xad\xaa"); /* even where it begins a character */
    check("\x80"
          "a\xbf",
          BAD "a" BAD);                         /* continuation without a beginning */
    check("\xc0\xaf", BAD BAD);                 /* overlong */
    check("\xed\xa0\x80", BAD BAD BAD);         /* a surrogate */
    check("\xf4\x90\x80\x80", BAD BAD BAD BAD); /* past U+10FFFF */
    check("\360\237\232b", BAD "b");
    check("\xff\xfe", BAD BAD);
}
END_TEST

START_TEST(limits_are_kept)
{
    gsrt_utf8 utf8;
    gsrt_buffer out;
    gsrt_utf8_init(&utf8);
    gsrt_buffer_init(&out, 2);
    ck_assert_int_eq(gsrt_utf8_push(&utf8, gsrt_span_of_text("abc"), &out), GSRT_ELIMIT);
    gsrt_buffer_fini(&out);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {whole_characters, malformed_parts, limits_are_kept};
    return unit_run("utf8", tests, sizeof tests / sizeof tests[0]);
}
