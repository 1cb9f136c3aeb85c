/* Spans: a cut lies inside, or is refused; sizes that overflow are refused; outputs stay untouched on refusal. */
#include "base/span.h"
#include "tests/unit.h"

START_TEST(cut_inside)
{
    static const uint8_t bytes[4] = {1, 2, 3, 4};
    gsrt_span out;
    ck_assert(gsrt_span_cut(gsrt_span_of(bytes, 4), 1, 2, &out));
    ck_assert_ptr_eq(out.data, bytes + 1);
    ck_assert_uint_eq(out.len, 2);
    ck_assert(gsrt_span_cut(gsrt_span_of(bytes, 4), 4, 0, &out));
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

START_TEST(cut_outside_is_refused)
{
    static const uint8_t bytes[4] = {0};
    static const struct {
        size_t offset, len;
    } bad[] = {{0, 5}, {4, 1}, {5, 0}, {1, SIZE_MAX}, {SIZE_MAX, 1}, {SIZE_MAX, SIZE_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        gsrt_span out = gsrt_span_of(bytes, 3);
        ck_assert_msg(!gsrt_span_cut(gsrt_span_of(bytes, 4), bad[i].offset, bad[i].len, &out), "case %zu was cut", i);
        ck_assert_uint_eq(out.len, 3);
    }
    gsrt_span empty;
    ck_assert(gsrt_span_cut(gsrt_span_of(NULL, 0), 0, 0, &empty));
    ck_assert_ptr_null(empty.data);
}
END_TEST

START_TEST(equality)
{
    ck_assert(gsrt_span_equal(gsrt_span_of_text("abc"), gsrt_span_of_text("abc")));
    ck_assert(!gsrt_span_equal(gsrt_span_of_text("abc"), gsrt_span_of_text("abd")));
    ck_assert(!gsrt_span_equal(gsrt_span_of_text("abc"), gsrt_span_of_text("ab")));
    ck_assert(gsrt_span_equal(gsrt_span_of(NULL, 0), gsrt_span_of_text("")));
}
END_TEST

START_TEST(sizes_do_not_wrap)
{
    size_t out = 17;
    ck_assert(!gsrt_size_mul(SIZE_MAX / 2 + 1, 2, &out));
    ck_assert(!gsrt_size_add(SIZE_MAX, 1, &out));
    ck_assert_uint_eq(out, 17);
    ck_assert(gsrt_size_mul(SIZE_MAX / 2, 2, &out));
    ck_assert_uint_eq(out, SIZE_MAX - 1);
    ck_assert(gsrt_size_add(SIZE_MAX - 1, 1, &out));
    ck_assert_uint_eq(out, SIZE_MAX);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {cut_inside, cut_outside_is_refused, equality, sizes_do_not_wrap};
    return unit_run("span", tests, sizeof tests / sizeof tests[0]);
}
