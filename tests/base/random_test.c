/* Philox4x32-10 against the known answers of Random123's kat_vectors, and the ranges of what is drawn from it. */
#include "base/random.h"
#include "tests/unit.h"

static void check_block(const uint32_t counter[4], const uint32_t key[2], const uint32_t expected[4])
{
    uint32_t out[4];
    gsrt_random_block(counter, key, out);
    for (int i = 0; i < 4; i++)
        ck_assert_msg(out[i] == expected[i], "word %d: expected %08x, got %08x", i, expected[i], out[i]);
}

START_TEST(known_answer_zeros)
{
    check_block((uint32_t[4]){0, 0, 0, 0}, (uint32_t[2]){0, 0},
                (uint32_t[4]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
}
END_TEST

START_TEST(known_answer_ones)
{
    check_block((uint32_t[4]){0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, (uint32_t[2]){0xffffffff, 0xffffffff},
                (uint32_t[4]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}
END_TEST

START_TEST(known_answer_pi)
{
    check_block((uint32_t[4]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, (uint32_t[2]){0xa4093822, 0x299f31d0},
                (uint32_t[4]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}
END_TEST

START_TEST(words_of_the_address_do_not_collide)
{
    uint64_t draws[] = {gsrt_random_u64(0, 0, 0),
                        gsrt_random_u64(1, 0, 0),
                        gsrt_random_u64(0, 1, 0),
                        gsrt_random_u64(0, 0, 1),
                        gsrt_random_u64(UINT64_C(1) << 32, 0, 0),
                        gsrt_random_u64(0, UINT64_C(1) << 32, 0),
                        gsrt_random_u64(0, 0, UINT64_C(1) << 32)};
    for (size_t i = 0; i < sizeof draws / sizeof draws[0]; i++) {
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(draws[i] != draws[j], "addresses %zu and %zu drew the same", i, j);
    }
    ck_assert_uint_eq(draws[0], UINT64_C(0xe169c58d6627e8d5));
}
END_TEST

START_TEST(floats_lie_in_the_unit_interval)
{
    double sum = 0;
    enum { COUNT = 20000 };
    for (uint64_t i = 0; i < COUNT; i++) {
        float f = gsrt_random_f32(7, 3, i);
        double d = gsrt_random_f64(7, 3, i);
        ck_assert_msg(f >= 0.0f && f < 1.0f, "f32 %a at %d", (double)f, (int)i);
        ck_assert_msg(d >= 0.0 && d < 1.0, "f64 %a at %d", d, (int)i);
        ck_assert_msg(d - (double)f >= 0.0 && d - (double)f < 0x1p-24, "f32 is not the top of f64 at %d", (int)i);
        sum += d;
    }
    /* the mean of 20000 uniform draws is 0.5 +- 0.002 (one sigma): five sigma */
    ck_assert_double_eq_tol(sum / COUNT, 0.5, 0.0102);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {known_answer_zeros, known_answer_ones, known_answer_pi, words_of_the_address_do_not_collide,
                            floats_lie_in_the_unit_interval};
    return unit_run("random", tests, sizeof tests / sizeof tests[0]);
}
