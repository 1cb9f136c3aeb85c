/* Diagnostics and statuses: one line, first error wins, nothing a terminal could obey. */
#include "base/diag.h"
#include "tests/unit.h"
#include <string.h>

START_TEST(file_place_what)
{
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_diag_set(&diag, GSRT_EINPUT, "m.gguf", "byte 24", "version %d; use %d", 9, 3), GSRT_EINPUT);
    ck_assert_str_eq(diag.text, "m.gguf: byte 24: version 9; use 3");
    ck_assert_int_eq(diag.status, GSRT_EINPUT);
}
END_TEST

START_TEST(first_error_wins)
{
    gsrt_diag diag = {0};
    (void)gsrt_diag_set(&diag, GSRT_EINPUT, NULL, NULL, "first");
    ck_assert_int_eq(gsrt_diag_set(&diag, GSRT_EIO, NULL, NULL, "second"), GSRT_EIO);
    ck_assert_str_eq(diag.text, "first");
    ck_assert_int_eq(diag.status, GSRT_EINPUT);
    ck_assert_int_eq(gsrt_diag_set(NULL, GSRT_EIO, NULL, NULL, "nobody reads"), GSRT_EIO);
}
END_TEST

START_TEST(control_bytes_are_replaced)
{
    gsrt_diag diag = {0};
    (void)gsrt_diag_set(&diag, GSRT_EINPUT, "a\nb", "\x1b[31m", "tab\there\x7f");
    ck_assert_str_eq(diag.text, "a?b: ?[31m: tab?here?");
}
END_TEST

START_TEST(long_input_is_cut)
{
    char name[5000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    gsrt_diag diag = {0};
    (void)gsrt_diag_set(&diag, GSRT_EINPUT, name, name, "%s", name);
    ck_assert_uint_eq(strlen(diag.text), GSRT_DIAG_TEXT_MAX - 1);
}
END_TEST

START_TEST(every_status_has_name_and_text)
{
#define CHECK_STATUS(name, number, text)                                                                               \
    ck_assert_str_eq(gsrt_status_name(GSRT_##name), #name);                                                            \
    ck_assert_str_eq(gsrt_status_text(GSRT_##name), text);
    GSRT_STATUS_LIST(CHECK_STATUS)
#undef CHECK_STATUS
    ck_assert_ptr_nonnull(gsrt_status_name((gsrt_status)9999));
    ck_assert_ptr_nonnull(gsrt_status_text((gsrt_status)9999));
}
END_TEST

int main(void)
{
    const TTest *tests[] = {file_place_what, first_error_wins, control_bytes_are_replaced, long_input_is_cut,
                            every_status_has_name_and_text};
    return unit_run("diag", tests, sizeof tests / sizeof tests[0]);
}
