#include "tests/backends/contract.h"
#include "backends/exec.h"
#include "backends/oracle.h"
#include "backends/pack.h"
#include "tests/backends/support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the checks run on; set once by contract_run before libcheck starts. */
static const gsrt_kernels *kernels;
static unsigned skip; /* run every skip-th shape */

static bool is_skipped(void)
{
    static unsigned number;
    return number++ % skip != 0;
}

static void *must_alloc(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (memory == NULL)
        abort();
    return memory;
}

static void pack_now(gsrt_matrix *matrix)
{
    gsrt_packing packing;
    if (gsrt__packing_start(&packing, kernels, matrix) == GSRT_OK)
        while (!gsrt__packing_step(&packing))
            ;
}

/* ---- products ---- */

/* out [row_count][subtree_count * outputs], the outputs in two halves as two threads would do it. */
static void product(const gsrt_matrix *matrix, const void *x, size_t x_row_bytes, uint32_t row_count, const float *bias,
                    uint32_t cut, float *out)
{
    const gsrt_linear_ops *ops = gsrt_linear_ops_of(kernels, matrix->dtype);
    gsrt_linear_task task = {.matrix = matrix,
                             .packed = gsrt__packed_data(matrix, kernels->isa),
                             .chunking = gsrt_chunking_of(matrix),
                             .x = x,
                             .x_stride_bytes = x_row_bytes,
                             .row_count = row_count,
                             .bias = bias,
                             .out = out};
    task.out_stride = (size_t)task.chunking.subtree_count * matrix->row_count;
    size_t prepared_bytes = ops->prepared_bytes(&task);
    uint8_t *prepared = must_alloc(prepared_bytes), *scratch = must_alloc(ops->scratch_bytes(&task));
    memset(prepared, 0xff, prepared_bytes);
    if (prepared_bytes > 0) {
        task.prepared = prepared;
        ops->prepare(&task, 0, row_count / 2);
        ops->prepare(&task, row_count / 2, row_count);
    }
    if (cut > 0)
        ops->linear(&task, 0, cut, scratch);
    if (cut < matrix->row_count)
        ops->linear(&task, cut, matrix->row_count, scratch);
    free(prepared);
    free(scratch);
}

static void expect_equal(const char *what, const gsrt_matrix *matrix, uint32_t rows, const float *got,
                         const float *want, size_t count)
{
    size_t at = test_first_difference(got, want, count);
    ck_assert_msg(at == count, "%s: %s [%u, %u of %u..%u, group %u] times %u rows differs at %zu: %a, oracle %a", what,
                  gsrt_dtype_name(matrix->dtype), matrix->row_count, matrix->k_total, matrix->k_first,
                  matrix->k_first + matrix->k_count, matrix->k_group, rows, at, (double)got[at], (double)want[at]);
}

/* One matrix and batch: from the file and packed, with and without bias, outputs cut in two. */
static void check_product(uint64_t *state, test_values values, gsrt_matrix *matrix, uint32_t row_count)
{
    size_t x_row_bytes, width = (size_t)gsrt_chunking_of(matrix).subtree_count * matrix->row_count;
    uint8_t *x = test_random_x(state, values, matrix, row_count, &x_row_bytes);
    float *want = must_alloc(width * row_count * sizeof(float)), *got = must_alloc(width * row_count * sizeof(float));
    float *bias = must_alloc(matrix->row_count * sizeof(float));
    test_random_fill(state, values, bias, matrix->row_count);
    bool has_bias = gsrt_chunking_of(matrix).subtree_count == 1 && matrix->k_count == matrix->k_total &&
                    test_random(state) % 2 == 0;
    for (uint32_t row = 0; row < row_count; row++)
        gsrt_oracle_linear(matrix, x + row * x_row_bytes, has_bias ? bias : NULL, want + row * width);
    uint32_t cut = (uint32_t)(test_random(state) % (matrix->row_count / GSRT_PANEL_OUTPUTS + 1)) * GSRT_PANEL_OUTPUTS;
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        if (is_packed != 0)
            pack_now(matrix);
        memset(got, 0x55, width * row_count * sizeof(float));
        product(matrix, x, x_row_bytes, row_count, has_bias ? bias : NULL, cut, got);
        expect_equal(is_packed != 0 ? "packed" : "file", matrix, row_count, got, want, width * row_count);
    }
    gsrt_matrix_unpack(matrix);
    free(x), free(want), free(got), free(bias);
}

START_TEST(products)
{
    static const uint32_t ks[] = {32,  64,  96,   160,  256,  288,  320,  512, 544,
                                  768, 864, 1024, 2048, 2592, 4096, 5632, 8192};
    static const uint32_t outputs[] = {1, 7, 16, 31, 33, 64, 100};
    static const uint32_t batches[] = {1, 2, 3, 4, 5, 8, 9, 13, 30};
    gsrt_dtype dtype = test_dtypes[_i];
    uint64_t state = 1000 * (uint64_t)_i;
    for (size_t k = 0; k < sizeof ks / sizeof ks[0]; k++)
        for (int trial = 0; trial < 6; trial++) {
            uint32_t rows = batches[(k + (size_t)trial * 2) % 9], row_count = outputs[test_random(&state) % 7];
            test_values values = (test_values)(trial % 3);
            if (is_skipped() || (uint64_t)ks[k] * rows * row_count > 2000000)
                continue;
            gsrt_matrix matrix = test_random_matrix(&state, values, dtype, row_count, ks[k], 1);
            check_product(&state, values, &matrix, rows);
            free((void *)(uintptr_t)matrix.rows);
        }
}
END_TEST

/* Sums that do not fill a vector, a piece or a chunk: only without blocks. */
START_TEST(products_of_odd_k)
{
    static const uint32_t ks[] = {1, 2, 3, 7, 8, 9, 15, 33, 100, 255, 257, 500, 513, 769, 8193, 8200};
    gsrt_dtype dtype = test_dtypes[_i];
    uint64_t state = 77 + (uint64_t)_i;
    for (size_t k = 0; k < sizeof ks / sizeof ks[0]; k++)
        for (uint32_t rows = 1; rows < 16; rows += 1 + rows / 2 * 2) {
            if (is_skipped())
                continue;
            test_values values = (test_values)(rows % 3);
            gsrt_matrix matrix = test_random_matrix(&state, values, dtype, 37, ks[k], 1);
            check_product(&state, values, &matrix, rows);
            free((void *)(uintptr_t)matrix.rows);
        }
}
END_TEST

/* More rows than one block of tokens. */
START_TEST(products_of_many_rows)
{
    static const uint32_t batches[] = {255, 257, 300, 512};
    gsrt_dtype dtype = test_dtypes[_i];
    uint64_t state = 55 + (uint64_t)_i;
    for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
        gsrt_matrix matrix = test_random_matrix(&state, TEST_VALUES_EXTREME, dtype, 70, b % 2 == 0 ? 544 : 96, 1);
        check_product(&state, TEST_VALUES_EXTREME, &matrix, batches[b]);
        free((void *)(uintptr_t)matrix.rows);
    }
}
END_TEST

/* Chunks set by the size of heads, larger and smaller than usual. */
START_TEST(products_of_groups)
{
    static const uint32_t shapes[][2] = {{960, 96}, {640, 80}, {1280, 320}, {1536, 512}, {480, 48}, {768, 24}};
    gsrt_dtype dtype = test_dtypes[_i];
    uint64_t state = 99 + (uint64_t)_i;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (uint32_t rows = 1; rows < 16; rows += 5) {
            if (is_skipped())
                continue;
            gsrt_matrix matrix = test_random_matrix(&state, TEST_VALUES_EXTREME, dtype, 40, shapes[s][0], shapes[s][1]);
            check_product(&state, TEST_VALUES_EXTREME, &matrix, rows);
            free((void *)(uintptr_t)matrix.rows);
        }
}
END_TEST

/* A share of K of `whole`: its sums, into `sums` from `at` on; returns the number of its sub-trees. */
static uint32_t share_sums(const gsrt_matrix *whole, uint32_t first, uint32_t end, bool is_packed, const uint8_t *x,
                           size_t x_row_bytes, uint32_t row_count, float *sums, uint32_t at, uint32_t total)
{
    if (first == end)
        return 0;
    gsrt_matrix part = test_cut_k(whole, first, end);
    if (is_packed)
        pack_now(&part);
    size_t skip_bytes = part.k_first / gsrt_dtype_block(part.dtype) *
                        (gsrt_dtype_is_quantised(part.dtype) ? sizeof(gsrt_q8_block) : sizeof(float));
    uint32_t count = gsrt_chunking_of(&part).subtree_count;
    size_t part_width = (size_t)count * part.row_count, width = (size_t)total * part.row_count;
    float *out = must_alloc(part_width * row_count * sizeof(float));
    product(&part, x + skip_bytes, x_row_bytes, row_count, NULL, 0, out);
    for (uint32_t row = 0; row < row_count; row++)
        memcpy(sums + row * width + (size_t)at * part.row_count, out + row * part_width, part_width * sizeof(float));
    free(out);
    gsrt_matrix_unpack(&part);
    return count;
}

/* Cut K at `ends`, finish the tree: the bits of the whole product. */
static void check_cut(gsrt_matrix *whole, const uint8_t *x, size_t x_row_bytes, uint32_t row_count, const float *want,
                      const uint32_t *ends, uint32_t share_count)
{
    uint32_t chunk_count = gsrt_chunking_of(whole).count, total = 0, first = 0, at = 0;
    for (uint32_t s = 0; s < share_count; first = ends[s++])
        total += gsrt_subtree_count(first, ends[s], chunk_count);
    size_t width = (size_t)total * whole->row_count;
    float *sums = must_alloc(width * row_count * sizeof(float));
    float *out = must_alloc(row_count * whole->row_count * sizeof(float));
    first = 0;
    for (uint32_t s = 0; s < share_count; first = ends[s++])
        at += share_sums(whole, first, ends[s], s % 2 == 0, x, x_row_bytes, row_count, sums, at, total);
    ck_assert_uint_eq(at, total);
    for (uint32_t row = 0; row < row_count; row++)
        gsrt_oracle_tree(sums + row * width, whole->row_count, chunk_count, ends, share_count,
                         out + (size_t)row * whole->row_count);
    expect_equal("cut", whole, row_count, out, want, (size_t)row_count * whole->row_count);
    free(sums), free(out);
}

/* All two-way cuts, and some of more shares. */
START_TEST(cuts_of_k)
{
    static const uint32_t ks[] = {512, 1312, 2304, 3072};
    gsrt_dtype dtype = test_dtypes[_i];
    uint64_t state = 5 + (uint64_t)_i;
    for (size_t k = 0; k < sizeof ks / sizeof ks[0]; k++)
        for (uint32_t rows = 1; rows < 14; rows += 9) {
            if (is_skipped())
                continue;
            gsrt_matrix matrix = test_random_matrix(&state, TEST_VALUES_EXTREME, dtype, 35, ks[k], 1);
            size_t x_row_bytes;
            uint8_t *x = test_random_x(&state, TEST_VALUES_EXTREME, &matrix, rows, &x_row_bytes);
            float *want = must_alloc(rows * matrix.row_count * sizeof(float));
            for (uint32_t row = 0; row < rows; row++)
                gsrt_oracle_linear(&matrix, x + row * x_row_bytes, NULL, want + (size_t)row * matrix.row_count);
            uint32_t count = gsrt_chunking_of(&matrix).count;
            for (uint32_t cut = 0; cut <= count; cut++)
                check_cut(&matrix, x, x_row_bytes, rows, want, (uint32_t[]){cut, count}, 2);
            for (int trial = 0; trial < 5; trial++) {
                uint32_t ends[4] = {0, 0, 0, count};
                for (int s = 2; s >= 0; s--)
                    ends[s] = (uint32_t)(test_random(&state) % (ends[s + 1] + 1));
                check_cut(&matrix, x, x_row_bytes, rows, want, ends, 4);
            }
            free(x), free(want), free((void *)(uintptr_t)matrix.rows);
        }
}
END_TEST

/* ---- the other ops ---- */

START_TEST(elementwise)
{
    static const uint32_t widths[] = {1, 5, 16, 17, 31, 64, 96, 200, 288, 2048};
    uint64_t state = 21;
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (int v = 0; v < 3; v++) {
            uint32_t n = widths[w];
            float *a = must_alloc(n * 4), *b = must_alloc(n * 4), *got = must_alloc(n * 4), *want = must_alloc(n * 4);
            test_random_fill(&state, (test_values)v, a, n);
            test_random_fill(&state, (test_values)v, b, n);
            for (uint32_t i = 0; i < n && v == 1; i++)
                a[i] *= (float)(test_random(&state) % 200); /* over the edges of exp */
            gsrt_oracle_rmsnorm(a, b, n, 1e-5f, want);
            kernels->rmsnorm(a, b, n, 1e-5f, got);
            ck_assert_uint_eq(test_first_difference(got, want, n), n);
            gsrt_oracle_swiglu(a, b, n, want);
            kernels->swiglu(a, b, n, got);
            ck_assert_uint_eq(test_first_difference(got, want, n), n);
            free(a), free(b), free(got), free(want);
        }
}
END_TEST

START_TEST(quantise)
{
    uint64_t state = 31;
    for (int trial = 0; trial < 600; trial++) {
        float x[64];
        gsrt_q8_block got[2], want[2];
        test_random_fill(&state, (test_values)(trial % 3), x, 64);
        float factor = trial % 7 == 0 ? 0x1p-140f : trial % 7 == 1 ? 0x1p-147f : trial % 7 == 2 ? 0x1p120f : 1.0f;
        for (int i = 0; i < 64; i++)
            x[i] = trial % 11 == 0 ? 0.0f * x[i] : x[i] * factor;
        gsrt_oracle_quantise(x, 64, want);
        kernels->quantise(x, 64, got);
        ck_assert_mem_eq(got, want, sizeof want);
    }
}
END_TEST

START_TEST(embed)
{
    uint64_t state = 41;
    for (int d = 0; d < 5; d++)
        for (int v = 0; v < 3; v++)
            for (uint32_t k = 32; k <= 96; k += gsrt_dtype_is_quantised(test_dtypes[d]) ? 32 : 13) {
                float got[96], want[96];
                gsrt_matrix matrix = test_random_matrix(&state, (test_values)v, test_dtypes[d], 3, k, 1);
                for (uint32_t row = 0; row < 3; row++) {
                    gsrt_oracle_embed(&matrix, row, want);
                    kernels->embed(&matrix, row, got);
                    ck_assert_uint_eq(test_first_difference(got, want, k), k);
                }
                free((void *)(uintptr_t)matrix.rows);
            }
}
END_TEST

/* ---- attention, through jobs: prefill in any chunks equals the oracle row by row ---- */

typedef struct attention_case {
    uint32_t heads, kv_heads, head_dim, positions, chunk;
    test_values values;
} attention_case;

/* Runs rows [first, first + count) of the sequence. q, k, v are [positions][width]. */
static void attention_rows(gsrt_exec *exec, gsrt_program *program, gsrt_kv *kv, const attention_case *c,
                           const float *const in[3], uint32_t first, uint32_t count, const uint32_t *blocks, float *out)
{
    gsrt_workspace *workspace = gsrt_workspace_create(program, count);
    ck_assert_ptr_nonnull(workspace);
    for (uint32_t s = 0; s < 3; s++) {
        size_t width = program->slots[s].width;
        memcpy(gsrt_workspace_slot(workspace, s), in[s] + first * width, count * width * sizeof(float));
    }
    gsrt_job_sequence sequence = {.row_count = count, .position_first = first, .blocks = blocks};
    gsrt_job job = {.program = program,
                    .instr_count = 1,
                    .workspace = workspace,
                    .kv = kv,
                    .row_count = count,
                    .sequences = &sequence,
                    .sequence_count = 1};
    ck_assert_int_eq(gsrt__exec_run(exec, &job), GSRT_OK);
    size_t width = c->heads * c->head_dim;
    memcpy(out + first * width, gsrt_workspace_slot(workspace, 3), count * width * sizeof(float));
    gsrt_workspace_free(workspace);
}

static void check_attention(const attention_case *c)
{
    uint64_t state = c->heads * 7 + c->head_dim + c->positions;
    uint16_t kv_of_head[16];
    uint32_t blocks[16];
    for (uint32_t h = 0; h < c->heads; h++)
        kv_of_head[h] = (uint16_t)(h * c->kv_heads / c->heads);
    for (uint32_t b = 0; b < 16; b++)
        blocks[b] = 15 - b;
    uint32_t widths[3] = {c->heads * c->head_dim, c->kv_heads * c->head_dim, c->kv_heads * c->head_dim};
    float *in[3];
    for (int s = 0; s < 3; s++) {
        in[s] = must_alloc((size_t)c->positions * widths[s] * sizeof(float));
        test_random_fill(&state, c->values, in[s], (size_t)c->positions * widths[s]);
    }
    size_t count = (size_t)c->positions * widths[0];
    float *want = must_alloc(count * sizeof(float)), *got = must_alloc(count * sizeof(float));
    for (uint32_t p = 0; p < c->positions; p++)
        for (uint32_t h = 0; h < c->heads; h++) {
            size_t at = p * (size_t)widths[0] + h * c->head_dim, kv_at = kv_of_head[h] * c->head_dim;
            gsrt_oracle_attention(in[0] + at, in[1] + kv_at, in[2] + kv_at, widths[1], c->head_dim, p + 1, 0.3f,
                                  want + at);
        }
    gsrt_slot slots[4] = {{.width = widths[0]}, {.width = widths[1]}, {.width = widths[2]}, {.width = widths[0]}};
    gsrt_instr instr = {.kind = GSRT_INSTR_ATTENTION,
                        .in = {0, 1, 2},
                        .out = 3,
                        .scale = 0.3f,
                        .head_count = c->heads,
                        .kv_head_count = c->kv_heads,
                        .head_dim = c->head_dim,
                        .kv_layer = 0,
                        .kv_of_head = kv_of_head};
    gsrt_program program = {.instrs = &instr, .instr_count = 1, .slots = slots, .slot_count = 4};
    gsrt_kv *kv = gsrt_kv_create(1, c->kv_heads, c->head_dim, 16);
    gsrt_pool *pool = gsrt__pool_create(&(gsrt_pool_options){.thread_count = 2});
    gsrt_exec *exec = gsrt__exec_create(kernels, pool);
    ck_assert(kv != NULL && pool != NULL && exec != NULL);
    for (uint32_t p = 0; p < c->positions; p += c->chunk)
        attention_rows(exec, &program, kv, c, (const float *const *)in, p,
                       c->positions - p < c->chunk ? c->positions - p : c->chunk, blocks, got);
    size_t at = test_first_difference(got, want, count);
    ck_assert_msg(at == count, "heads %u of %u, dim %u, chunk %u: differs at row %zu, element %zu: %a, oracle %a",
                  c->heads, c->kv_heads, c->head_dim, c->chunk, at / widths[0], at % widths[0], (double)got[at],
                  (double)want[at]);
    gsrt__exec_free(exec);
    gsrt__pool_free(pool);
    gsrt_kv_free(kv);
    free(want), free(got), free(in[0]), free(in[1]), free(in[2]);
}

START_TEST(attention)
{
    static const attention_case cases[] = {
        {1, 1, 8, 70, 70, TEST_VALUES_PLAIN},      {4, 1, 16, 200, 200, TEST_VALUES_PLAIN},
        {4, 2, 64, 330, 100, TEST_VALUES_PLAIN},   {4, 4, 128, 140, 1, TEST_VALUES_PLAIN},
        {9, 3, 48, 129, 7, TEST_VALUES_PLAIN},     {3, 1, 80, 129, 64, TEST_VALUES_PLAIN},
        {16, 1, 32, 100, 33, TEST_VALUES_PLAIN},   {2, 2, 100, 66, 66, TEST_VALUES_PLAIN},
        {2, 1, 256, 65, 20, TEST_VALUES_PLAIN},    {4, 2, 64, 200, 64, TEST_VALUES_EXTREME},
        {4, 2, 24, 200, 190, TEST_VALUES_EXTREME}, {4, 2, 64, 200, 64, TEST_VALUES_NAN},
    };
    if (!is_skipped() || _i % 3 == 0)
        check_attention(&cases[_i]);
}
END_TEST

int contract_run(const char *name, const gsrt_kernels *kernels_under_test, unsigned effort)
{
    kernels = kernels_under_test;
    skip = effort;
    uint32_t mxcsr = gsrt_mxcsr_set();
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, products, 0, 5);
    tcase_add_loop_test(tcase, products_of_odd_k, 0, 3);
    tcase_add_loop_test(tcase, products_of_many_rows, 0, 5);
    tcase_add_loop_test(tcase, products_of_groups, 0, 5);
    tcase_add_loop_test(tcase, cuts_of_k, 0, 5);
    tcase_add_test(tcase, elementwise);
    tcase_add_test(tcase, quantise);
    tcase_add_test(tcase, embed);
    tcase_add_loop_test(tcase, attention, 0, 12);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    gsrt_mxcsr_restore(mxcsr);
    return failed;
}
