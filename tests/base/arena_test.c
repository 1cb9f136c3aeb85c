/* Arenas: zeroed, aligned, never moved, bounded. */
#include "base/arena.h"
#include "tests/unit.h"

START_TEST(zeroed_aligned_and_apart)
{
    gsrt_arena arena;
    gsrt_arena_init(&arena, 1u << 20);
    uint8_t *rooms[200];
    for (size_t i = 0; i < 200; i++) {
        rooms[i] = gsrt_arena_take(&arena, 1 + i, 3);
        ck_assert_ptr_nonnull(rooms[i]);
        ck_assert_uint_eq((uintptr_t)rooms[i] % 16, 0);
        for (size_t j = 0; j < 3 * (1 + i); j++)
            ck_assert_int_eq(rooms[i][j], 0);
        memset(rooms[i], (int)i, 3 * (1 + i));
    }
    for (size_t i = 0; i < 200; i++) {
        ck_assert_int_eq(rooms[i][0], (int)i);
        ck_assert_int_eq(rooms[i][3 * (1 + i) - 1], (int)i);
    }
    gsrt_arena_fini(&arena);
}
END_TEST

START_TEST(larger_than_a_block)
{
    gsrt_arena arena;
    gsrt_arena_init(&arena, 1u << 20);
    uint8_t *room = gsrt_arena_take(&arena, 300000, 1);
    ck_assert_ptr_nonnull(room);
    memset(room, 1, 300000);
    gsrt_arena_fini(&arena);
}
END_TEST

START_TEST(ceiling_and_overflow_are_refused)
{
    gsrt_arena arena;
    gsrt_arena_init(&arena, 1008);
    ck_assert_ptr_null(gsrt_arena_take(&arena, 1009, 1));
    ck_assert_ptr_null(gsrt_arena_take(&arena, SIZE_MAX, 2));
    ck_assert_ptr_null(gsrt_arena_take(&arena, SIZE_MAX, 1));
    ck_assert_ptr_nonnull(gsrt_arena_take(&arena, 1000, 1));
    ck_assert_ptr_null(gsrt_arena_take(&arena, 1, 1));
    ck_assert_uint_le(arena.bytes_used, arena.bytes_max);
    gsrt_arena_fini(&arena);

    /* rounding up to the alignment counts too: the ceiling is never passed, nor the sum wrapped */
    gsrt_arena_init(&arena, 17);
    ck_assert_ptr_null(gsrt_arena_take(&arena, 17, 1));
    ck_assert_ptr_nonnull(gsrt_arena_take(&arena, 16, 1));
    ck_assert_ptr_null(gsrt_arena_take(&arena, 1, 1));
    ck_assert_ptr_null(gsrt_arena_take(&arena, 1000000, 1));
    gsrt_arena_fini(&arena);
}
END_TEST

START_TEST(text_copies)
{
    gsrt_arena arena;
    gsrt_arena_init(&arena, 1000);
    char *copy = gsrt_arena_copy_text(&arena, "hello world", 5);
    ck_assert_str_eq(copy, "hello");
    ck_assert_str_eq(gsrt_arena_copy_text(&arena, NULL, 0), "");
    ck_assert_ptr_null(gsrt_arena_copy_text(&arena, "x", SIZE_MAX));
    gsrt_arena_fini(&arena);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {zeroed_aligned_and_apart, larger_than_a_block, ceiling_and_overflow_are_refused,
                            text_copies};
    return unit_run("arena", tests, sizeof tests / sizeof tests[0]);
}
