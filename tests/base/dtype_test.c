/* Formats: sizes agree with GGUF's, and only known numbers are known. */
#include "base/dtype.h"
#include "tests/unit.h"

START_TEST(sizes)
{
    static const struct {
        gsrt_dtype dtype;
        const char *name;
        size_t block, bytes;
    } expected[] = {{GSRT_DTYPE_F32, "f32", 1, 4},         {GSRT_DTYPE_F16, "f16", 1, 2},
                    {GSRT_DTYPE_BF16, "bf16", 1, 2},       {GSRT_DTYPE_Q8_0, "q8_0", 32, 34},
                    {GSRT_DTYPE_Q4_0, "q4_0", 32, 18},     {GSRT_DTYPE_MXFP4, "mxfp4", 32, 17},
                    {GSRT_DTYPE_F8_E4M3, "f8_e4m3", 1, 1}, {GSRT_DTYPE_NVFP4, "nvfp4", 16, 9}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        ck_assert_str_eq(gsrt_dtype_name(expected[i].dtype), expected[i].name);
        ck_assert_uint_eq(gsrt_dtype_block(expected[i].dtype), expected[i].block);
        ck_assert_uint_eq(gsrt_dtype_block_bytes(expected[i].dtype), expected[i].bytes);
        ck_assert_int_eq(gsrt_dtype_is_quantised(expected[i].dtype), expected[i].block > 1);
    }
}
END_TEST

START_TEST(known_numbers)
{
    uint32_t count = 0, computed = 0;
    for (uint32_t number = 0; number < 2000; number++) {
        if (!gsrt_dtype_is_known(number)) {
            ck_assert(!gsrt_dtype_is_computed(number));
            continue;
        }
        count++;
        computed += gsrt_dtype_is_computed(number);
        ck_assert_str_ne(gsrt_dtype_name((gsrt_dtype)number), "?");
        ck_assert_uint_gt(gsrt_dtype_block_bytes((gsrt_dtype)number), 0);
    }
    ck_assert_uint_eq(count, 8);
    ck_assert_uint_eq(computed, 5);
    ck_assert(!gsrt_dtype_is_known(UINT32_MAX));
}
END_TEST

int main(void)
{
    const TTest *tests[] = {sizes, known_numbers};
    return unit_run("dtype", tests, sizeof tests / sizeof tests[0]);
}
