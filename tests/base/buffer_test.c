/* Buffers: grow up to the ceiling and no further, and append all or nothing. */
#include "base/buffer.h"
#include "tests/unit.h"

START_TEST(append_reset_and_print)
{
    gsrt_buffer buffer;
    gsrt_buffer_init(&buffer, 1024);
    ck_assert_int_eq(gsrt_buffer_append(&buffer, "abc", 3), GSRT_OK);
    ck_assert_int_eq(gsrt_buffer_print(&buffer, "%d-%s", 42, "x"), GSRT_OK);
    ck_assert_uint_eq(buffer.len, 7);
    ck_assert(gsrt_span_equal(gsrt_buffer_span(&buffer), gsrt_span_of_text("abc42-x")));
    ck_assert_int_eq(gsrt_buffer_append(&buffer, NULL, 0), GSRT_OK);
    gsrt_buffer_reset(&buffer);
    ck_assert_uint_eq(buffer.len, 0);
    gsrt_buffer_fini(&buffer);
}
END_TEST

START_TEST(ceiling_is_exact)
{
    gsrt_buffer buffer;
    gsrt_buffer_init(&buffer, 1000);
    uint8_t *room;
    ck_assert_int_eq(gsrt_buffer_extend(&buffer, 1000, &room), GSRT_OK);
    memset(room, 7, 1000);
    ck_assert_uint_le(buffer.capacity, 1000);
    ck_assert_int_eq(gsrt_buffer_append(&buffer, "x", 1), GSRT_ELIMIT);
    ck_assert_int_eq(gsrt_buffer_append(&buffer, "x", SIZE_MAX), GSRT_ELIMIT);
    ck_assert_uint_eq(buffer.len, 1000);
    ck_assert_int_eq(buffer.data[999], 7);
    gsrt_buffer_fini(&buffer);
}
END_TEST

START_TEST(content_survives_growth)
{
    gsrt_buffer buffer;
    gsrt_buffer_init(&buffer, 1u << 20);
    for (uint32_t i = 0; i < 10000; i++)
        ck_assert_int_eq(gsrt_buffer_append(&buffer, &i, sizeof i), GSRT_OK);
    for (uint32_t i = 0; i < 10000; i++) {
        uint32_t value;
        memcpy(&value, buffer.data + i * sizeof value, sizeof value);
        ck_assert_uint_eq(value, i);
    }
    gsrt_buffer_fini(&buffer);
    ck_assert_ptr_null(buffer.data);
}
END_TEST

START_TEST(print_past_the_ceiling_appends_nothing)
{
    gsrt_buffer buffer;
    gsrt_buffer_init(&buffer, 8);
    ck_assert_int_eq(gsrt_buffer_print(&buffer, "%s", "1234567890"), GSRT_ELIMIT);
    ck_assert_uint_eq(buffer.len, 0);
    gsrt_buffer_fini(&buffer);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {append_reset_and_print, ceiling_is_exact, content_survives_growth,
                            print_past_the_ceiling_appends_nothing};
    return unit_run("buffer", tests, sizeof tests / sizeof tests[0]);
}
