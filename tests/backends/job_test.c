/* Jobs: what a program's instructions do beyond the layer of device_test: cutting K and finishing the tree, placing
 * pieces, several sequences in one job, rope's variants, zero heads, what is refused. */
#include "backends/exec.h"
#include "backends/oracle.h"
#include "backends/rope.h"
#include "tests/backends/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct runner {
    gsrt_pool *pool;
    gsrt_exec *exec;
    gsrt_workspace *workspace;
} runner;

static runner runner_create(const gsrt_program *program, uint32_t rows)
{
    runner r = {.pool = gsrt__pool_create(&(gsrt_pool_options){.thread_count = 2})};
    gsrt_isa isa;
    ck_assert_int_eq(gsrt_isa_detect(&isa, NULL), GSRT_OK);
    (void)gsrt_mxcsr_set();
    r.exec = gsrt__exec_create(gsrt_kernels_of(isa), r.pool);
    r.workspace = gsrt_workspace_create(program, rows);
    ck_assert(r.exec != NULL && r.workspace != NULL);
    return r;
}

static void runner_free(runner *r)
{
    gsrt__exec_free(r->exec);
    gsrt__pool_free(r->pool);
    gsrt_workspace_free(r->workspace);
}

static gsrt_job job_of(const gsrt_program *program, const runner *r, uint32_t rows)
{
    return (gsrt_job){.program = program,
                      .instr_count = program->instr_count,
                      .workspace = r->workspace,
                      .row_count = rows,
                      .wanted_count = 0};
}

/* Three members share K; each multiplies its share, PLACE collects the sums, TREE finishes them. */
START_TEST(cut_product)
{
    enum { ROWS = 5, OUT = 19, K = 1600 };
    for (int d = 0; d < 5; d++) {
        uint64_t state = 1;
        gsrt_matrix whole = test_random_matrix(&state, TEST_VALUES_PLAIN, test_dtypes[d], OUT, K, 32);
        size_t x_bytes;
        uint8_t *x = test_random_x(&state, TEST_VALUES_PLAIN, &whole, ROWS, &x_bytes);
        float want[ROWS][OUT], bias[OUT];
        test_random_fill(&state, TEST_VALUES_PLAIN, bias, OUT);
        for (int row = 0; row < ROWS; row++)
            gsrt_oracle_linear(&whole, x + (size_t)row * x_bytes, bias, want[row]);

        uint32_t ends[3] = {3, 3, 7}, chunk_count = 7, firsts[3] = {0, 3, 3}, total = 0, columns[3];
        gsrt_span pieces[3];
        gsrt_slot slots[2] = {{.width = 0}, {.width = OUT}};
        float *sums[3];
        for (int m = 0; m < 3; m++) {
            gsrt_matrix part = test_cut_k(&whole, firsts[m], ends[m]);
            uint32_t count = gsrt_subtree_count(firsts[m], ends[m], chunk_count);
            gsrt_slot member_slots[2] = {
                {.format = gsrt_dtype_is_quantised(part.dtype) ? GSRT_SLOT_Q8 : GSRT_SLOT_F32, .width = part.k_count},
                {.width = count * OUT}};
            gsrt_instr linear = {
                .kind = GSRT_INSTR_LINEAR, .in = {0, GSRT_NO_SLOT, GSRT_NO_SLOT}, .out = 1, .matrix = &part};
            gsrt_program program = {.instrs = &linear, .instr_count = 1, .slots = member_slots, .slot_count = 2};
            runner r = runner_create(&program, ROWS);
            size_t row_bytes = gsrt_slot_row_bytes(&member_slots[0]);
            size_t skip = part.k_first * x_bytes / K;
            for (size_t row = 0; row < ROWS; row++)
                memcpy((uint8_t *)gsrt_workspace_slot(r.workspace, 0) + row * row_bytes, x + row * x_bytes + skip,
                       row_bytes);
            gsrt_job job = job_of(&program, &r, ROWS);
            if (part.k_count > 0)
                ck_assert_int_eq(gsrt__exec_run(r.exec, &job), GSRT_OK);
            size_t bytes = sizeof(float) * ROWS * count * OUT;
            sums[m] = malloc(bytes + 1);
            ck_assert_ptr_nonnull(sums[m]);
            memcpy(sums[m], gsrt_workspace_slot(r.workspace, 1), bytes);
            pieces[m] = gsrt_span_of(sums[m], bytes);
            columns[m] = total * OUT;
            total += count;
            runner_free(&r);
        }
        slots[0].width = total * OUT;
        gsrt_instr instrs[4];
        for (uint32_t m = 0; m < 3; m++)
            instrs[m] = (gsrt_instr){.kind = GSRT_INSTR_PLACE,
                                     .in = {GSRT_NO_SLOT, GSRT_NO_SLOT, GSRT_NO_SLOT},
                                     .out = 0,
                                     .column_first = columns[m],
                                     .piece = m};
        instrs[3] = (gsrt_instr){.kind = GSRT_INSTR_TREE,
                                 .in = {0, GSRT_NO_SLOT, GSRT_NO_SLOT},
                                 .out = 1,
                                 .matrix = &whole,
                                 .vector = bias,
                                 .chunk_ends = ends,
                                 .share_count = 3};
        gsrt_program program = {.instrs = instrs, .instr_count = 4, .slots = slots, .slot_count = 2};
        runner r = runner_create(&program, ROWS);
        gsrt_job job = job_of(&program, &r, ROWS);
        job.pieces = pieces;
        job.piece_count = 3;
        ck_assert_int_eq(gsrt__exec_run(r.exec, &job), GSRT_OK);
        ck_assert_uint_eq(test_first_difference(gsrt_workspace_slot(r.workspace, 1), want[0], ROWS * OUT), ROWS * OUT);
        job.piece_count = 2; /* a piece that is not there */
        ck_assert_int_eq(gsrt__exec_run(r.exec, &job), GSRT_EINVAL);
        job.piece_count = 3;
        pieces[0].len -= 4; /* a piece of the wrong size */
        ck_assert_int_eq(gsrt__exec_run(r.exec, &job), GSRT_EINVAL);
        runner_free(&r);
        for (int m = 0; m < 3; m++)
            free(sums[m]);
        free(x), free((void *)(uintptr_t)whole.rows);
    }
}
END_TEST

/* Q8 pieces of uneven width land where they belong. */
START_TEST(place_quantised)
{
    gsrt_slot slot = {.format = GSRT_SLOT_Q8, .width = 160};
    gsrt_q8_block first[2][2], second[2][3];
    memset(first, 1, sizeof first);
    memset(second, 2, sizeof second);
    gsrt_span pieces[2] = {gsrt_span_of(first, sizeof first), gsrt_span_of(second, sizeof second)};
    gsrt_instr instrs[2];
    for (uint32_t i = 0; i < 2; i++)
        instrs[i] = (gsrt_instr){.kind = GSRT_INSTR_PLACE,
                                 .in = {GSRT_NO_SLOT, GSRT_NO_SLOT, GSRT_NO_SLOT},
                                 .out = 0,
                                 .column_first = i * 64,
                                 .piece = i};
    gsrt_program program = {.instrs = instrs, .instr_count = 2, .slots = &slot, .slot_count = 1};
    runner r = runner_create(&program, 2);
    gsrt_job job = job_of(&program, &r, 2);
    job.pieces = pieces;
    job.piece_count = 2;
    ck_assert_int_eq(gsrt__exec_run(r.exec, &job), GSRT_OK);
    const gsrt_q8_block *blocks = gsrt_workspace_slot(r.workspace, 0);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(blocks[i].q[31], i % 5 < 2 ? 1 : 2);
    runner_free(&r);
}
END_TEST

static void check_angle(const gsrt_rope_table *table, uint32_t position, uint32_t pair, double theta, double mscale)
{
    const float *row = gsrt_rope_row(table, position);
    ck_assert_ptr_nonnull(row);
    ck_assert_double_eq_tol((double)row[2 * pair], cos(theta) * mscale, 1e-7);
    ck_assert_double_eq_tol((double)row[2 * pair + 1], sin(theta) * mscale, 1e-7);
}

/* The table against libm in binary64, for each variant. */
START_TEST(rope_variants)
{
    float factors[32];
    for (int i = 0; i < 32; i++)
        factors[i] = 1.0f + (float)i * 0.25f;
    gsrt_rope_options plain = {.head_dim = 64,
                               .dim_rotated = 64,
                               .base = 500000.0f,
                               .scale = 0.5f,
                               .factors = factors,
                               .position_count = 70000};
    gsrt_rope_table *table = gsrt_rope_table_create(&plain);
    for (uint32_t p = 0; p < 70000; p += 12345)
        for (uint32_t i = 0; i < 32; i++)
            check_angle(table, p, i, 0.5 * p * pow(500000.0, -(double)i / 32) / (double)factors[i], 1.0);
    ck_assert_ptr_null(gsrt_rope_row(table, 70000));
    gsrt_rope_table_free(table);

    gsrt_rope_options yarn = {.head_dim = 128,
                              .dim_rotated = 128,
                              .base = 10000.0f,
                              .scale = 0.25f,
                              .is_yarn = true,
                              .context_original = 4096,
                              .yarn_extension_factor = 1.0f,
                              .yarn_attention_factor = 1.0f,
                              .yarn_beta_fast = 32.0f,
                              .yarn_beta_slow = 1.0f,
                              .position_count = 16384};
    table = gsrt_rope_table_create(&yarn);
    double low = floor(128 * log(4096 / (32 * 2 * M_PI)) / (2 * log(10000.0)));
    double high = ceil(128 * log(4096 / (1 * 2 * M_PI)) / (2 * log(10000.0)));
    for (uint32_t p = 0; p < 16384; p += 1111)
        for (uint32_t i = 0; i < 64; i++) {
            double extrap = p * pow(10000.0, -(double)i / 64);
            double mix = 1 - fmin(1, fmax(0, (i - low) / fmax(0.001, high - low)));
            check_angle(table, p, i, 0.25 * extrap * (1 - mix) + extrap * mix, 1 + 0.1 * log(4.0));
        }
    gsrt_rope_table_free(table);
    plain.dim_rotated = 65;
    ck_assert_ptr_null(gsrt_rope_table_create(&plain));
    plain.dim_rotated = 64;
    plain.base = NAN;
    ck_assert_ptr_null(gsrt_rope_table_create(&plain));
}
END_TEST

/* Rotating keeps lengths, leaves what lies past dim_rotated, and pairs as the variant says. */
START_TEST(rope_pairs)
{
    for (int is_neox = 0; is_neox < 2; is_neox++) {
        gsrt_rope_options options = {.is_neox = is_neox != 0,
                                     .head_dim = 8,
                                     .dim_rotated = 4,
                                     .base = 100.0f,
                                     .scale = 1.0f,
                                     .position_count = 10};
        gsrt_rope_table *table = gsrt_rope_table_create(&options);
        float x[16] = {1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 0, 0, 9, 9, 9, 9};
        ck_assert(gsrt_oracle_rope(x, 2, 8, table, 3));
        ck_assert(x[4] == 5 && x[7] == 8 && x[12] == 9);
        int partner = is_neox != 0 ? 2 : 1;
        ck_assert_double_eq_tol((double)x[8], cos(3.0), 1e-6);
        ck_assert_double_eq_tol((double)x[8 + partner], sin(3.0), 1e-6);
        gsrt_rope_table_free(table);
    }
}
END_TEST

/* Two sequences in one job, one in the middle of its answer, equal the same sequences alone; and a member without
 * heads. */
START_TEST(sequences_in_one_job)
{
    enum { HEADS = 2, DIM = 16, WIDTH = HEADS * DIM, ROWS = 9 };
    uint16_t kv_of_head[HEADS] = {0, 1};
    gsrt_slot slots[4] = {{.width = WIDTH}, {.width = WIDTH}, {.width = WIDTH}, {.width = WIDTH}};
    gsrt_instr instr = {.kind = GSRT_INSTR_ATTENTION,
                        .in = {0, 1, 2},
                        .out = 3,
                        .scale = 0.25f,
                        .head_count = HEADS,
                        .kv_head_count = HEADS,
                        .head_dim = DIM,
                        .kv_of_head = kv_of_head};
    gsrt_program program = {.instrs = &instr, .instr_count = 1, .slots = slots, .slot_count = 4};
    runner r = runner_create(&program, ROWS);
    gsrt_kv *kv = gsrt_kv_create(1, HEADS, DIM, 8);
    uint64_t state = 2;
    float old_k[80 * DIM], old_v[80 * DIM], k[HEADS][89 * DIM], v[HEADS][89 * DIM];
    uint32_t blocks_a[2] = {5, 1}, blocks_b[1] = {3};
    for (uint32_t h = 0; h < HEADS; h++) { /* 80 positions of sequence a are there already */
        test_random_fill(&state, TEST_VALUES_PLAIN, old_k, 80 * DIM);
        test_random_fill(&state, TEST_VALUES_PLAIN, old_v, 80 * DIM);
        gsrt_kv_write(kv, 0, h, 5, 64, old_k, old_v);
        gsrt_kv_write(kv, 0, h, 1, 16, old_k + 64 * DIM, old_v + 64 * DIM);
        memcpy(k[h], old_k, sizeof old_k);
        memcpy(v[h], old_v, sizeof old_v);
    }
    float *in[3];
    for (uint32_t s = 0; s < 3; s++) {
        in[s] = gsrt_workspace_slot(r.workspace, s);
        test_random_fill(&state, TEST_VALUES_PLAIN, in[s], ROWS * WIDTH);
    }
    gsrt_job_sequence sequences[2] = {{.row_count = 4, .position_first = 80, .blocks = blocks_a},
                                      {.row_first = 4, .row_count = 5, .position_first = 0, .blocks = blocks_b}};
    gsrt_job job = job_of(&program, &r, ROWS);
    job.kv = kv;
    job.sequences = sequences;
    job.sequence_count = 2;
    ck_assert_int_eq(gsrt__exec_run(r.exec, &job), GSRT_OK);
    const float *out = gsrt_workspace_slot(r.workspace, 3);
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t h = 0; h < HEADS; h++) {
            float want[DIM], mine_k[5 * DIM], mine_v[5 * DIM];
            uint32_t at = row * WIDTH + h * DIM;
            for (uint32_t i = 0; i < 5; i++) {
                memcpy(mine_k + i * DIM, in[1] + (4 + i) * WIDTH + h * DIM, DIM * 4);
                memcpy(mine_v + i * DIM, in[2] + (4 + i) * WIDTH + h * DIM, DIM * 4);
            }
            if (row < 4) {
                memcpy(k[h] + (80 + row) * DIM, in[1] + at, DIM * 4);
                memcpy(v[h] + (80 + row) * DIM, in[2] + at, DIM * 4);
                gsrt_oracle_attention(in[0] + at, k[h], v[h], DIM, DIM, 81 + row, 0.25f, want);
            } else {
                gsrt_oracle_attention(in[0] + at, mine_k, mine_v, DIM, DIM, row - 3, 0.25f, want);
            }
            ck_assert_uint_eq(test_first_difference(out + at, want, DIM), DIM);
        }
    uint32_t bad_blocks[2] = {5, 8}; /* a block that the cache does not have */
    sequences[0].blocks = bad_blocks;
    ck_assert_int_eq(gsrt__exec_run(r.exec, &job), GSRT_EINVAL);
    instr.head_count = instr.kv_head_count = 0;
    job.kv = NULL;
    ck_assert_int_eq(gsrt__exec_run(r.exec, &job), GSRT_OK);
    gsrt_kv_free(kv);
    runner_free(&r);
}
END_TEST

START_TEST(costs)
{
    gsrt_matrix matrix = {.dtype = GSRT_DTYPE_Q8_0, .row_count = 10, .k_total = 64, .k_count = 64, .k_group = 1};
    gsrt_slot slots[2] = {{.format = GSRT_SLOT_Q8, .width = 64}, {.width = 10}};
    gsrt_instr instr = {.kind = GSRT_INSTR_LINEAR, .in = {0, GSRT_NO_SLOT, GSRT_NO_SLOT}, .out = 1, .matrix = &matrix};
    gsrt_program program = {.instrs = &instr, .instr_count = 1, .slots = slots, .slot_count = 2};
    gsrt_job job = {.program = &program, .instr_count = 1, .row_count = 3};
    gsrt_job_cost cost = gsrt_job_cost_of(&job);
    ck_assert_uint_eq(cost.weight_bytes, 10 * 2 * 34);
    ck_assert_uint_eq(cost.flops[2], 2 * 3 * 10 * 64);
    ck_assert_uint_eq(cost.flops[0] + cost.flops[1] + cost.attention_flops + cost.kv_bytes, 0);
    ck_assert_uint_eq(cost.activation_bytes, 3 * (2 * 36 + 40));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job");
    TCase *tcase = tcase_create("job");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, cut_product);
    tcase_add_test(tcase, place_quantised);
    tcase_add_test(tcase, rope_variants);
    tcase_add_test(tcase, rope_pairs);
    tcase_add_test(tcase, sequences_in_one_job);
    tcase_add_test(tcase, costs);
    suite_add_tcase(suite, tcase);
    SRunner *runner_ = srunner_create(suite);
    srunner_run_all(runner_, CK_ENV);
    int failed = srunner_ntests_failed(runner_);
    srunner_free(runner_);
    return failed == 0 ? 0 : 1;
}
