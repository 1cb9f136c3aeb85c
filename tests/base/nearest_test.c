/* Edit distances from the literature, and what is near enough to be suggested. */
#include "base/nearest.h"

#include "tests/unit.h"

#include <stdint.h>

START_TEST(distances)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"abc", "", 3},
        {"kitten", "sitting", 3},
        {"saturday", "sunday", 3},
        {"modle", "model", 1},
        {"ca", "abc", 3},
        {"ab", "ba", 1},
        {"a", "a", 0},
        {"prompt", "promt", 1},
        {"flaw", "lawn", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t got = gsrt_edit_distance(cases[i].a, cases[i].b), back = gsrt_edit_distance(cases[i].b, cases[i].a);
        ck_assert_msg(got == cases[i].distance, "%s %s: %zu, not %zu", cases[i].a, cases[i].b, got, cases[i].distance);
        ck_assert_uint_eq(back, got);
    }
}
END_TEST

START_TEST(long_words_are_far_from_all)
{
    static const char longest[] = "123456789012345678901234567890123456789012345678901234567890123";
    static const char longer[] = "1234567890123456789012345678901234567890123456789012345678901234";
    ck_assert_uint_eq(gsrt_edit_distance(longest, longest), 0);
    ck_assert_uint_eq(gsrt_edit_distance(longer, longest), SIZE_MAX);
    const char *known[] = {longer};
    ck_assert_ptr_null(gsrt_nearest(longer, known, 1));
}
END_TEST

START_TEST(suggestions)
{
    static const char *const known[] = {"seed", "model", "max_tokens", "top_k", "top_p"};
    ck_assert_str_eq(gsrt_nearest("modle", known, 5), "model");
    ck_assert_str_eq(gsrt_nearest("max_token", known, 5), "max_tokens");
    ck_assert_str_eq(gsrt_nearest("maxtoken", known, 5), "max_tokens");
    ck_assert_str_eq(gsrt_nearest("top_x", known, 5), "top_k"); /* a tie: the first */
    ck_assert_ptr_null(gsrt_nearest("zebra", known, 5));
    ck_assert_ptr_null(gsrt_nearest("", known, 5));
    ck_assert_ptr_null(gsrt_nearest("seed", known, 0));
}
END_TEST

int main(void)
{
    const TTest *tests[] = {distances, long_words_are_far_from_all, suggestions};
    return unit_run("nearest", tests, sizeof tests / sizeof tests[0]);
}
