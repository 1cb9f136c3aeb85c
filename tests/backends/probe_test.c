/* The probes: that they count what they do, with every set of kernels; how fast is not asked. */
#include "backends/kernel_probe.h"
#include "backends/memory_probe.h"

#include "tests/unit.h"

#include <stdlib.h>

START_TEST(products_and_elementwise_work)
{
    static const gsrt_dtype dtypes[] = {GSRT_DTYPE_F32, GSRT_DTYPE_F16, GSRT_DTYPE_BF16, GSRT_DTYPE_Q8_0,
                                        GSRT_DTYPE_Q4_0};
    gsrt_kernel_probe_options options = {.k = 128, .output_count = 96, .row_count_max = 3, .thread_count = 2};
    for (size_t i = 0; i <= sizeof dtypes / sizeof dtypes[0]; i++) {
        bool is_product = i < sizeof dtypes / sizeof dtypes[0];
        options.kind = is_product ? GSRT_PROBE_PRODUCT : GSRT_PROBE_ELEMENTWISE;
        options.dtype = is_product ? dtypes[i] : GSRT_DTYPE_F32;
        gsrt_kernel_probe *probe = NULL;
        gsrt_diag diag = {0};
        ck_assert_msg(gsrt_kernel_probe_create(&options, &probe, &diag) == GSRT_OK, "%s", diag.text);
        ck_assert(gsrt_kernel_probe_run(probe, 3) > 0);
        double packing = -1, again = -1;
        ck_assert_int_eq(gsrt_kernel_probe_pack(probe, &packing), GSRT_OK);
        ck_assert_int_eq(gsrt_kernel_probe_pack(probe, &again), GSRT_OK);
        ck_assert(packing >= 0 && again == 0);
        ck_assert(gsrt_kernel_probe_run(probe, 1) > 0);
        ck_assert_double_eq(gsrt_kernel_probe_operations(probe, 3), is_product ? 2.0 * 3 * 128 * 96 : 8.0 * 3 * 128);
        size_t row_bytes = 128 / gsrt_dtype_block(options.dtype) * gsrt_dtype_block_bytes(options.dtype);
        ck_assert_uint_eq(gsrt_kernel_probe_weight_bytes(probe), is_product ? 96 * row_bytes : 0);
        ck_assert(gsrt_kernel_probe_run(probe, 4) == 0); /* more rows than there is room for */
        gsrt_kernel_probe_free(probe);
    }
}
END_TEST

START_TEST(plain_kernels_have_no_layout)
{
    ck_assert_int_eq(setenv("GSRT_ISA", "scalar", 1), 0);
    gsrt_kernel_probe_options options = {.dtype = GSRT_DTYPE_F32, .k = 64, .output_count = 64, .row_count_max = 1};
    gsrt_kernel_probe *probe = NULL;
    gsrt_diag diag = {0};
    double packing = -1;
    ck_assert_msg(gsrt_kernel_probe_create(&options, &probe, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_int_eq(gsrt_kernel_probe_pack(probe, &packing), GSRT_OK);
    ck_assert(packing == 0 && gsrt_kernel_probe_run(probe, 1) > 0);
    gsrt_kernel_probe_free(probe);
}
END_TEST

START_TEST(memory)
{
    static const uint32_t domains[] = {0, GSRT_MEMORY_ANYWHERE};
    for (size_t i = 0; i < 2; i++) {
        gsrt_memory_probe *probe = gsrt_memory_probe_create(1 << 20, domains[i]);
        ck_assert_ptr_nonnull(probe);
        ck_assert(gsrt_memory_probe_run(probe, 0, 1) > 0);
        ck_assert(gsrt_memory_probe_run(probe, 1, 3) > 0);
        ck_assert(gsrt_memory_probe_run(probe, 0, 0) == 0);
        ck_assert(gsrt_memory_probe_run(probe, 0, GSRT_MEMORY_PROBE_THREADS_MAX + 1) == 0);
        gsrt_memory_probe_free(probe);
    }
    ck_assert_ptr_null(gsrt_memory_probe_create(1 << 20, 1000000)); /* there is no such domain */
    ck_assert_ptr_null(gsrt_memory_probe_free(NULL));
}
END_TEST

int main(void)
{
    const TTest *tests[] = {products_and_elementwise_work, plain_kernels_have_no_layout, memory};
    return unit_run("probe", tests, sizeof tests / sizeof tests[0]);
}
