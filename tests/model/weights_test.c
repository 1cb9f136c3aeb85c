/* Weights: rows of the mapped file, and what is counted as touched. */
#include "model/weights.h"

#include <string.h>
#include <unistd.h>

#include "model/import_llama.h"
#include "tests/model/tiny_llama.h"
#include "tests/unit.h"

typedef struct opened {
    gsrt_gguf *gguf;
    gsrt_workload *workload;
    gsrt_weights *weights;
} opened;

/* The model in a file, mapped. */
static opened open_model(const tiny_llama *model)
{
    char path[] = "weights_test.XXXXXX";
    gguf_writer w;
    gsrt_buffer bytes;
    opened o = {0};
    gsrt_diag diag = {0};
    tiny_write(&w, model);
    gguf_end(&w, &bytes);
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes.data, bytes.len), (ssize_t)bytes.len);
    (void)close(fd);
    gsrt_buffer_fini(&bytes);
    ck_assert_msg(gsrt_gguf_open(path, &o.gguf, &diag) == GSRT_OK, "%s", diag.text);
    (void)unlink(path);
    ck_assert_msg(gsrt_import_gguf(o.gguf, &o.workload, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_weights_create(o.gguf, o.workload, &o.weights, &diag) == GSRT_OK, "%s", diag.text);
    return o;
}

static void close_model(opened *o)
{
    gsrt_weights_free(o->weights);
    gsrt_workload_free(o->workload);
    gsrt_gguf_free(o->gguf);
}

static uint32_t tensor_of(const gsrt_workload *w, const char *name)
{
    for (uint32_t i = 0; i < w->tensor_count; i++) {
        if (strcmp(w->tensors[i].name, name) == 0)
            return i;
    }
    ck_abort_msg("no tensor '%s'", name);
}

START_TEST(rows_are_those_of_the_file)
{
    opened o = open_model(&tiny_usual);
    uint32_t q = tensor_of(o.workload, "blk.1.attn_q.weight");
    ck_assert_uint_eq(gsrt_weights_row_bytes(o.weights, q), 64);
    size_t bytes = 0;
    const uint8_t *rows = gsrt_weights_rows(o.weights, q, 3, 2, &bytes);
    ck_assert_uint_eq(bytes, 128);
    for (size_t i = 0; i < 32; i++) {
        float value;
        memcpy(&value, rows + 4 * i, 4);
        ck_assert_float_eq(value, tiny_weight("blk.1.attn_q.weight", 3 * 16 + i));
    }
    const float *norm = gsrt_weights_vector(o.weights, tensor_of(o.workload, "output_norm.weight"));
    ck_assert_float_eq(norm[5], tiny_weight("output_norm.weight", 5) + 1.0f);
    ck_assert_ptr_null(gsrt_weights_vector(o.weights, q)); /* a matrix */
    ck_assert_ptr_null(gsrt_weights_rows(o.weights, q, 15, 2, NULL));
    ck_assert_ptr_null(gsrt_weights_rows(o.weights, q, UINT32_MAX, 2, NULL));
    ck_assert_ptr_null(gsrt_weights_rows(o.weights, o.workload->tensor_count, 0, 1, NULL));
    ck_assert_ptr_nonnull(gsrt_weights_rows(o.weights, q, 16, 0, NULL)); /* an empty share is legal */
    close_model(&o);
}
END_TEST

START_TEST(rows_are_counted_once)
{
    opened o = open_model(&tiny_usual);
    uint32_t q = tensor_of(o.workload, "blk.0.attn_q.weight"), k = tensor_of(o.workload, "blk.0.attn_k.weight");
    ck_assert_uint_eq(gsrt_weights_touched_bytes(o.weights), 0);
    gsrt_weights_touch(o.weights, q, 0, 4, 0, 16);
    ck_assert_uint_eq(gsrt_weights_touched_bytes(o.weights), 4 * 64);
    gsrt_weights_touch(o.weights, q, 2, 4, 0, 16); /* rows 4 and 5 are new */
    ck_assert_uint_eq(gsrt_weights_touched_bytes(o.weights), 6 * 64);
    gsrt_weights_touch(o.weights, k, 0, 8, 4, 8); /* half of the columns */
    ck_assert_uint_eq(gsrt_weights_touched_bytes(o.weights), 6 * 64 + 8 * 32);
    gsrt_weights_touch(o.weights, q, 16, 1, 0, 16); /* outside: not counted */
    gsrt_weights_touch(o.weights, q, 0, 1, 8, 9);
    ck_assert_uint_eq(gsrt_weights_touched_bytes(o.weights), 6 * 64 + 8 * 32);
    for (uint32_t i = 0; i < o.workload->tensor_count; i++)
        gsrt_weights_touch(o.weights, i, 0, o.workload->tensors[i].row_count, 0, o.workload->tensors[i].column_count);
    ck_assert_uint_eq(gsrt_weights_touched_bytes(o.weights), gsrt_weights_total_bytes(o.weights) - 8 * 32);
    close_model(&o);
}
END_TEST

START_TEST(quantised_rows)
{
    tiny_llama model = tiny_usual;
    model.dim = model.ffn = 64;
    model.dtype = GSRT_DTYPE_Q8_0;
    opened o = open_model(&model);
    uint32_t down = tensor_of(o.workload, "blk.0.ffn_down.weight");
    ck_assert_uint_eq(gsrt_weights_row_bytes(o.weights, down), 2 * 34);
    gsrt_weights_touch(o.weights, down, 0, 3, 32, 32);
    ck_assert_uint_eq(gsrt_weights_touched_bytes(o.weights), 3 * 34);
    close_model(&o);
}
END_TEST

/* Advice changes nothing that can be seen: pages that were given back are read again. */
START_TEST(advice_changes_no_byte)
{
    tiny_llama model = tiny_usual;
    model.vocab = 1000; /* 64 KB: whole pages */
    opened o = open_model(&model);
    const uint8_t *rows = gsrt_weights_rows(o.weights, 0, 0, 1000, NULL);
    uint8_t before[64];
    memcpy(before, rows + 20000, sizeof before);
    gsrt_weights_prefetch(o.weights, 0, 0, 1000);
    gsrt_weights_release(o.weights, 0, 0, 1000);
    gsrt_weights_release(o.weights, 0, 999, 5); /* outside: nothing */
    ck_assert_int_eq(memcmp(before, rows + 20000, sizeof before), 0);
    close_model(&o);
}
END_TEST

START_TEST(another_files_workload_is_refused)
{
    opened big = open_model(&tiny_usual);
    tiny_llama model = tiny_usual;
    model.layers = 1;
    opened small = open_model(&model);
    gsrt_weights *weights = NULL;
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_weights_create(small.gguf, big.workload, &weights, &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "lies outside the file; "));
    close_model(&big);
    close_model(&small);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {rows_are_those_of_the_file, rows_are_counted_once, quantised_rows, advice_changes_no_byte,
                            another_files_workload_is_refused};
    return unit_run("weights", tests, sizeof tests / sizeof tests[0]);
}
