/* A whole small layer on devices: every instruction, prefill in chunks and decode, against the same layer written with
 * the oracle; for every instruction set of this processor, threads 1..4, from the file and packed. */
#include "backends/device.h"
#include "backends/kernels.h"
#include "backends/oracle.h"
#include "tests/backends/support.h"

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DIM = 96,
    HEADS = 6,
    KV_HEADS = 2,
    HEAD_DIM = 16,
    FFN = 160,
    VOCAB = 130,
    POSITIONS = 150,
    ROWS_MAX = 160,
    MATRICES = 9
};

enum { W_EMBED, W_Q, W_K, W_V, W_O, W_GATE, W_UP, W_DOWN, W_OUTPUT };

enum { S_X, S_NORM, S_IN8, S_Q, S_K, S_V, S_ATT, S_ATT8, S_ADD, S_GATE, S_UP, S_ACT, S_ACT8, S_SEL, S_SEL8, S_LOGITS };

typedef struct layer {
    gsrt_dtype dtype;
    gsrt_matrix matrices[MATRICES];
    float norm[DIM], bias[DIM];
    gsrt_rope_table *rope;
    uint16_t kv_of_head[HEADS];
    gsrt_slot slots[16];
    gsrt_instr instrs[32];
    gsrt_program program;
    float *logits; /* [POSITIONS][VOCAB] by the oracle */
    uint32_t tokens[POSITIONS];
} layer;

static const uint32_t shapes[MATRICES][2] = {{VOCAB, DIM},
                                             {HEADS * HEAD_DIM, DIM},
                                             {KV_HEADS * HEAD_DIM, DIM},
                                             {KV_HEADS * HEAD_DIM, DIM},
                                             {DIM, HEADS *HEAD_DIM},
                                             {FFN, DIM},
                                             {FFN, DIM},
                                             {DIM, FFN},
                                             {VOCAB, DIM}};

static void add(layer *l, gsrt_instr instr)
{
    l->instrs[l->program.instr_count++] = instr;
}

/* QUANTISE when the weights are quantised; returns the slot to multiply with. */
static uint16_t quantised(layer *l, uint16_t from, uint16_t to)
{
    if (!gsrt_dtype_is_quantised(l->dtype))
        return from;
    add(l, (gsrt_instr){.kind = GSRT_INSTR_QUANTISE, .in = {from, GSRT_NO_SLOT, GSRT_NO_SLOT}, .out = to});
    return to;
}

static void linear(layer *l, uint16_t from, int matrix, const float *bias, uint16_t to)
{
    add(l, (gsrt_instr){.kind = GSRT_INSTR_LINEAR,
                        .in = {from, GSRT_NO_SLOT, GSRT_NO_SLOT},
                        .out = to,
                        .matrix = &l->matrices[matrix],
                        .vector = bias});
}

static void unary(layer *l, gsrt_instr_kind kind, uint16_t from, uint16_t to)
{
    add(l, (gsrt_instr){.kind = kind,
                        .in = {from, GSRT_NO_SLOT, GSRT_NO_SLOT},
                        .out = to,
                        .vector = l->norm,
                        .epsilon = 1e-5f,
                        .matrix = &l->matrices[W_EMBED],
                        .rope = l->rope,
                        .head_count = from == S_K ? KV_HEADS : HEADS,
                        .head_dim = HEAD_DIM});
}

static void build_program(layer *l)
{
    static const uint32_t widths[16] = {DIM,
                                        DIM,
                                        DIM,
                                        HEADS * HEAD_DIM,
                                        KV_HEADS * HEAD_DIM,
                                        KV_HEADS * HEAD_DIM,
                                        HEADS * HEAD_DIM,
                                        HEADS * HEAD_DIM,
                                        DIM,
                                        FFN,
                                        FFN,
                                        FFN,
                                        FFN,
                                        DIM,
                                        DIM,
                                        VOCAB};
    for (int s = 0; s < 16; s++)
        l->slots[s] = (gsrt_slot){.width = widths[s], .is_wanted = s >= S_SEL};
    l->slots[S_IN8].format = l->slots[S_ATT8].format = l->slots[S_ACT8].format = l->slots[S_SEL8].format = GSRT_SLOT_Q8;
    l->program = (gsrt_program){.instrs = l->instrs, .slots = l->slots, .slot_count = 16};
    add(l, (gsrt_instr){.kind = GSRT_INSTR_EMBED,
                        .in = {GSRT_NO_SLOT, GSRT_NO_SLOT, GSRT_NO_SLOT},
                        .out = S_X,
                        .matrix = &l->matrices[W_EMBED]});
    unary(l, GSRT_INSTR_RMSNORM, S_X, S_NORM);
    uint16_t in = quantised(l, S_NORM, S_IN8);
    linear(l, in, W_Q, NULL, S_Q);
    linear(l, in, W_K, NULL, S_K);
    linear(l, in, W_V, NULL, S_V);
    unary(l, GSRT_INSTR_ROPE, S_Q, S_Q);
    unary(l, GSRT_INSTR_ROPE, S_K, S_K);
    add(l, (gsrt_instr){.kind = GSRT_INSTR_ATTENTION,
                        .in = {S_Q, S_K, S_V},
                        .out = S_ATT,
                        .scale = 0.25f,
                        .head_count = HEADS,
                        .kv_head_count = KV_HEADS,
                        .head_dim = HEAD_DIM,
                        .kv_layer = 1,
                        .kv_of_head = l->kv_of_head});
    linear(l, quantised(l, S_ATT, S_ATT8), W_O, l->bias, S_ADD);
    add(l, (gsrt_instr){.kind = GSRT_INSTR_ADD, .in = {S_X, S_ADD, GSRT_NO_SLOT}, .out = S_X});
    in = quantised(l, S_X, S_IN8);
    linear(l, in, W_GATE, NULL, S_GATE);
    linear(l, in, W_UP, NULL, S_UP);
    add(l, (gsrt_instr){.kind = GSRT_INSTR_SWIGLU, .in = {S_GATE, S_UP, GSRT_NO_SLOT}, .out = S_ACT});
    linear(l, quantised(l, S_ACT, S_ACT8), W_DOWN, NULL, S_ADD);
    add(l, (gsrt_instr){.kind = GSRT_INSTR_SELECT, .in = {S_ADD, GSRT_NO_SLOT, GSRT_NO_SLOT}, .out = S_SEL});
    linear(l, quantised(l, S_SEL, S_SEL8), W_OUTPUT, NULL, S_LOGITS);
    add(l, (gsrt_instr){.kind = GSRT_INSTR_SAMPLE, .in = {S_LOGITS, GSRT_NO_SLOT, GSRT_NO_SLOT}, .out = GSRT_NO_SLOT});
}

/* ---- the same by the oracle ---- */

static void oracle_product(const layer *l, int matrix, const float *x, const float *bias, float *out)
{
    gsrt_q8_block blocks[FFN / 32];
    const void *in = x;
    if (gsrt_dtype_is_quantised(l->dtype)) {
        gsrt_oracle_quantise(x, shapes[matrix][1], blocks);
        in = blocks;
    }
    gsrt_oracle_linear(&l->matrices[matrix], in, bias, out);
}

static void oracle_run(layer *l)
{
    static float k[POSITIONS][KV_HEADS * HEAD_DIM], v[POSITIONS][KV_HEADS * HEAD_DIM];
    for (uint32_t p = 0; p < POSITIONS; p++) {
        float x[DIM], norm[DIM], q[HEADS * HEAD_DIM], att[HEADS * HEAD_DIM], sum[DIM], gate[FFN], up[FFN], act[FFN];
        gsrt_oracle_embed(&l->matrices[W_EMBED], l->tokens[p], x);
        gsrt_oracle_rmsnorm(x, l->norm, DIM, 1e-5f, norm);
        oracle_product(l, W_Q, norm, NULL, q);
        oracle_product(l, W_K, norm, NULL, k[p]);
        oracle_product(l, W_V, norm, NULL, v[p]);
        ck_assert(gsrt_oracle_rope(q, HEADS, HEAD_DIM, l->rope, p));
        ck_assert(gsrt_oracle_rope(k[p], KV_HEADS, HEAD_DIM, l->rope, p));
        for (uint32_t head = 0; head < HEADS; head++) {
            uint32_t at = l->kv_of_head[head] * HEAD_DIM;
            gsrt_oracle_attention(q + head * HEAD_DIM, &k[0][at], &v[0][at], KV_HEADS * HEAD_DIM, HEAD_DIM, p + 1,
                                  0.25f, att + head * HEAD_DIM);
        }
        oracle_product(l, W_O, att, l->bias, sum);
        gsrt_oracle_add(x, sum, DIM, x);
        oracle_product(l, W_GATE, x, NULL, gate);
        oracle_product(l, W_UP, x, NULL, up);
        gsrt_oracle_swiglu(gate, up, FFN, act);
        oracle_product(l, W_DOWN, act, NULL, sum);
        oracle_product(l, W_OUTPUT, sum, NULL, l->logits + (size_t)p * VOCAB);
    }
}

static layer *layer_create(gsrt_dtype dtype)
{
    layer *l = calloc(1, sizeof *l);
    ck_assert_ptr_nonnull(l);
    uint64_t state = 100 + (uint64_t)dtype;
    l->dtype = dtype;
    for (int m = 0; m < MATRICES; m++)
        l->matrices[m] = test_random_matrix(&state, TEST_VALUES_PLAIN, dtype, shapes[m][0], shapes[m][1], 1);
    test_random_fill(&state, TEST_VALUES_PLAIN, l->norm, DIM);
    test_random_fill(&state, TEST_VALUES_PLAIN, l->bias, DIM);
    l->rope = gsrt_rope_table_create(&(gsrt_rope_options){
        .head_dim = HEAD_DIM, .dim_rotated = HEAD_DIM, .base = 10000.0f, .scale = 1.0f, .position_count = POSITIONS});
    ck_assert_ptr_nonnull(l->rope);
    for (uint16_t head = 0; head < HEADS; head++)
        l->kv_of_head[head] = head / (HEADS / KV_HEADS);
    for (uint32_t p = 0; p < POSITIONS; p++)
        l->tokens[p] = (uint32_t)(test_random(&state) % VOCAB);
    l->logits = calloc((size_t)POSITIONS * VOCAB, sizeof(float));
    ck_assert_ptr_nonnull(l->logits);
    build_program(l);
    oracle_run(l);
    return l;
}

static void layer_free(layer *l)
{
    for (int m = 0; m < MATRICES; m++) {
        gsrt_matrix_unpack(&l->matrices[m]);
        free((void *)(uintptr_t)l->matrices[m].rows);
    }
    gsrt_rope_table_free(l->rope);
    free(l->logits);
    free(l);
}

/* ---- running it ---- */

typedef struct waiter {
    _Atomic uint32_t done_count;
    gsrt_status status;
} waiter;

static void on_done(void *arg, gsrt_job *job, gsrt_status status, uint64_t work_ns)
{
    (void)job;
    (void)work_ns;
    waiter *w = arg;
    if (status != GSRT_OK)
        w->status = status;
    atomic_fetch_add_explicit(&w->done_count, 1, memory_order_release);
}

static void wait_done(waiter *w, uint32_t count)
{
    while (atomic_load_explicit(&w->done_count, memory_order_acquire) < count)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/* Run all positions in chunks of `chunk`, with the blocks of the cache in odd order; compare all logits. `cut` splits
 * each program into two jobs there. */
static void run_layer(layer *l, gsrt_device *device, waiter *w, uint32_t chunk, uint32_t cut)
{
    static const uint32_t blocks[3] = {4, 0, 2};
    gsrt_kv *kv = gsrt_kv_create(2, KV_HEADS, HEAD_DIM, 5);
    gsrt_workspace *workspace = gsrt_workspace_create(&l->program, ROWS_MAX);
    ck_assert(kv != NULL && workspace != NULL);
    gsrt_sampling *sampling = calloc(POSITIONS, sizeof *sampling);
    gsrt_sample_result *results = calloc(POSITIONS, sizeof *results);
    ck_assert(sampling != NULL && results != NULL);
    uint32_t wanted[ROWS_MAX], done = atomic_load(&w->done_count);
    for (uint32_t i = 0; i < ROWS_MAX; i++)
        wanted[i] = i;
    for (uint32_t p = 0; p < POSITIONS; p += chunk) {
        uint32_t rows = p + chunk < POSITIONS ? chunk : POSITIONS - p;
        gsrt_job_sequence sequence = {.row_count = rows, .position_first = p, .blocks = blocks};
        gsrt_job job = {.program = &l->program,
                        .instr_count = cut,
                        .workspace = workspace,
                        .kv = kv,
                        .row_count = rows,
                        .tokens = l->tokens + p,
                        .sequences = &sequence,
                        .sequence_count = 1,
                        .wanted = wanted,
                        .wanted_count = rows,
                        .sampling = sampling,
                        .results = results};
        gsrt_job rest = job;
        rest.instr_first = cut;
        rest.instr_count = l->program.instr_count - cut;
        ck_assert_int_eq(gsrt_device_submit(device, &job), GSRT_OK);
        ck_assert_int_eq(gsrt_device_submit(device, &rest), GSRT_OK);
        done += 2;
        wait_done(w, done);
        ck_assert_int_eq(w->status, GSRT_OK);
        const float *logits = gsrt_workspace_slot(workspace, S_LOGITS);
        size_t at = test_first_difference(logits, l->logits + (size_t)p * VOCAB, (size_t)rows * VOCAB);
        ck_assert_msg(at == (size_t)rows * VOCAB, "dtype %s, chunk %u, position %zu, token %zu: %a, oracle %a",
                      gsrt_dtype_name(l->dtype), chunk, p + at / VOCAB, at % VOCAB, (double)logits[at],
                      (double)l->logits[(size_t)p * VOCAB + at]);
        ck_assert_uint_ne(results[0].hash_low, 0);
    }
    free(sampling);
    free(results);
    gsrt_workspace_free(workspace);
    gsrt_kv_free(kv);
}

static bool is_usable(gsrt_isa isa)
{
    gsrt_isa found;
    setenv("GSRT_ISA", gsrt_isa_name(isa), 1);
    bool is_found = gsrt_isa_detect(&found, NULL) == GSRT_OK;
    unsetenv("GSRT_ISA");
    if (!is_found)
        printf("skipped: %s, not on this processor or not built\n", gsrt_isa_name(isa));
    return is_found;
}

/* The thread sanitizer looks at what threads do to each other, and makes everything a hundred times as slow. */
#ifdef __SANITIZE_THREAD__
enum { IS_FOR_RACES = 1, THREADS_FIRST = 2, THREADS_LAST = 3 };
#elif defined(__SANITIZE_ADDRESS__)
enum { IS_FOR_RACES = 0, THREADS_FIRST = 2, THREADS_LAST = 3 };
#else
enum { IS_FOR_RACES = 0, THREADS_FIRST = 1, THREADS_LAST = 4 };
#endif

START_TEST(layer_on_inline)
{
    gsrt_isa isa = (gsrt_isa)_i;
    if (!is_usable(isa))
        return;
    for (int d = 0; d < 5; d++)
        for (int is_packing = 0; is_packing < 2; is_packing++) {
            layer *l = layer_create(test_dtypes[d]);
            waiter w = {0};
            gsrt_device *device;
            gsrt_device_options options = {.isa = isa, .is_packing = is_packing != 0, .done = on_done, .done_arg = &w};
            ck_assert_int_eq(gsrt_device_create_inline(&options, &device, NULL), GSRT_OK);
            for (int m = 0; m < MATRICES; m++)
                ck_assert_int_eq(gsrt_device_pack(device, &l->matrices[m]), GSRT_OK);
            run_layer(l, device, &w, POSITIONS, 5);
            run_layer(l, device, &w, 7, 1);
            run_layer(l, device, &w, 1, 12);
            gsrt_device_facts facts;
            gsrt_device_read_facts(device, &facts);
            ck_assert_uint_eq(facts.row_count, 3 * POSITIONS);
            ck_assert(facts.isa == isa && !facts.is_simulated);
            ck_assert((facts.packed_bytes > 0) == (is_packing != 0 && isa != GSRT_ISA_SCALAR));
            gsrt_device_free(device);
            layer_free(l);
        }
}
END_TEST

START_TEST(layer_on_threads)
{
    gsrt_isa isa = (gsrt_isa)_i;
    if (!is_usable(isa))
        return;
    for (int d = 0; d < 5; d++) {
        layer *l = layer_create(test_dtypes[d]);
        for (uint32_t threads = THREADS_FIRST; threads <= THREADS_LAST; threads++) {
            waiter w = {0};
            gsrt_device *device;
            gsrt_device_options options = {.isa = isa,
                                           .thread_count = threads,
                                           .is_packing = threads >= 2,
                                           .is_bound = threads == 3,
                                           .spin_us = threads == 2 ? 20 : 0,
                                           .done = on_done,
                                           .done_arg = &w};
            ck_assert_int_eq(gsrt_device_create_cpu(&options, &device, NULL), GSRT_OK);
            for (int m = 0; m < MATRICES; m++) /* packed while it runs */
                ck_assert_int_eq(gsrt_device_pack(device, &l->matrices[m]), GSRT_OK);
            run_layer(l, device, &w, 64, 9);
            run_layer(l, device, &w, 13, 3);
            gsrt_device_free(device);
        }
        layer_free(l);
    }
}
END_TEST

START_TEST(many_jobs_in_order)
{
    layer *l = layer_create(GSRT_DTYPE_F32);
    waiter w = {0};
    gsrt_device *device;
    gsrt_device_options options = {.isa = GSRT_ISA_SCALAR, .done = on_done, .done_arg = &w};
    ck_assert_int_eq(gsrt_device_create_cpu(&options, &device, NULL), GSRT_OK);
    gsrt_workspace *workspace = gsrt_workspace_create(&l->program, 1);
    uint32_t token = VOCAB; /* one past the end: refused, not read */
    gsrt_job jobs[200];
    for (int i = 0; i < 200; i++) {
        jobs[i] = (gsrt_job){
            .program = &l->program, .instr_count = 1, .workspace = workspace, .row_count = 1, .tokens = &token};
        ck_assert_int_eq(gsrt_device_submit(device, &jobs[i]), GSRT_OK);
    }
    gsrt_device_free(device); /* every job is done before it returns */
    ck_assert_uint_eq(atomic_load(&w.done_count), 200);
    ck_assert_int_eq(w.status, GSRT_EINVAL);
    gsrt_workspace_free(workspace);
    layer_free(l);
}
END_TEST

START_TEST(forced_instruction_set)
{
    gsrt_isa isa;
    gsrt_diag diag = {0};
    setenv("GSRT_ISA", "sse9", 1);
    ck_assert_int_eq(gsrt_isa_detect(&isa, &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "'sse9'"));
    setenv("GSRT_ISA", "scalar", 1);
    ck_assert_int_eq(gsrt_isa_detect(&isa, NULL), GSRT_OK);
    ck_assert_int_eq(isa, GSRT_ISA_SCALAR);
    unsetenv("GSRT_ISA");
    ck_assert_int_eq(gsrt_isa_detect(&isa, NULL), GSRT_OK);
}
END_TEST

/* Another cache of the same shape has every cell of the block, and nothing of the others. */
START_TEST(a_page_is_copied_as_it_lies)
{
    enum { COUNT = GSRT_KV_BLOCK_POSITIONS };
    uint64_t state = 1;
    float k[COUNT * HEAD_DIM], v[COUNT * HEAD_DIM], k2[COUNT * HEAD_DIM], v2[COUNT * HEAD_DIM];
    float zero[COUNT * HEAD_DIM] = {0};
    gsrt_kv *from = gsrt_kv_create(3, 2, HEAD_DIM, 4), *to = gsrt_kv_create(3, 2, HEAD_DIM, 4);
    uint8_t *page = malloc(gsrt_kv_page_bytes(from));
    ck_assert_uint_eq(4 * gsrt_kv_page_bytes(from), gsrt_kv_bytes(from));
    for (uint32_t cell = 0; cell < 6; cell++) {
        test_random_fill(&state, TEST_VALUES_EXTREME, k, COUNT * HEAD_DIM);
        test_random_fill(&state, TEST_VALUES_EXTREME, v, COUNT * HEAD_DIM);
        gsrt_kv_write(from, cell / 2, cell % 2, 1, COUNT, k, v);
        gsrt_kv_write(from, cell / 2, cell % 2, 3, COUNT, v, k);
    }
    gsrt_kv_page_read(from, 3, page);
    gsrt_kv_page_write(to, 3, page);
    for (uint32_t cell = 0; cell < 6; cell++) {
        gsrt_kv_read(from, cell / 2, cell % 2, 3, COUNT, k, v);
        gsrt_kv_read(to, cell / 2, cell % 2, 3, COUNT, k2, v2);
        ck_assert_mem_eq(k, k2, sizeof k);
        ck_assert_mem_eq(v, v2, sizeof v);
        gsrt_kv_read(to, cell / 2, cell % 2, 1, COUNT, k2, v2);
        ck_assert_mem_eq(k2, zero, sizeof zero);
        ck_assert_mem_eq(v2, zero, sizeof zero);
    }
    free(page);
    gsrt_kv_free(from);
    gsrt_kv_free(to);
    from = gsrt_kv_create(3, 0, HEAD_DIM, 4);
    ck_assert_uint_eq(gsrt_kv_page_bytes(from), 0);
    gsrt_kv_page_read(from, 3, NULL);
    gsrt_kv_page_write(from, 3, NULL);
    gsrt_kv_free(from);
}
END_TEST

START_TEST(pages_read_back)
{
    enum { COUNT = 37 };
    uint64_t state = 1;
    float k[COUNT * HEAD_DIM], v[COUNT * HEAD_DIM], k2[COUNT * HEAD_DIM], v2[COUNT * HEAD_DIM];
    test_random_fill(&state, TEST_VALUES_EXTREME, k, COUNT * HEAD_DIM);
    test_random_fill(&state, TEST_VALUES_EXTREME, v, COUNT * HEAD_DIM);
    gsrt_kv *kv = gsrt_kv_create(3, 2, HEAD_DIM, 4);
    gsrt_kv_write(kv, 2, 1, 3, COUNT, k, v);
    gsrt_kv_read(kv, 2, 1, 3, COUNT, k2, v2);
    ck_assert_mem_eq(k, k2, sizeof k);
    ck_assert_mem_eq(v, v2, sizeof v);
    gsrt_kv_free(kv);
    kv = gsrt_kv_create(3, 0, HEAD_DIM, 4);
    ck_assert_ptr_nonnull(kv);
    ck_assert_uint_eq(gsrt_kv_bytes(kv), 0);
    gsrt_kv_free(kv);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device");
    TCase *tcase = tcase_create("device");
    tcase_set_timeout(tcase, 240);
    if (!IS_FOR_RACES)
        tcase_add_loop_test(tcase, layer_on_inline, GSRT_ISA_SCALAR, GSRT_ISA_AVX512 + 1);
    tcase_add_loop_test(tcase, layer_on_threads, GSRT_ISA_SCALAR, GSRT_ISA_AVX512 + 1);
    tcase_add_test(tcase, many_jobs_in_order);
    tcase_add_test(tcase, forced_instruction_set);
    tcase_add_test(tcase, pages_read_back);
    tcase_add_test(tcase, a_page_is_copied_as_it_lies);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
