/* Models with random weights: the same bytes every time, loadable, and numbers that stay finite. */
#include "bench/randmodel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/import_llama.h"
#include "model/reference.h"
#include "model/tokenizer.h"
#include "tests/unit.h"

static const gsrt_dtype dtypes[] = {GSRT_DTYPE_F32, GSRT_DTYPE_F16, GSRT_DTYPE_BF16, GSRT_DTYPE_Q8_0, GSRT_DTYPE_Q4_0};
enum { DTYPE_COUNT = sizeof dtypes / sizeof dtypes[0] };

static char directory[] = "gsrt-randmodel-XXXXXX"; /* in the working directory */

static void path_of(char path[64], const char *name)
{
    (void)snprintf(path, 64, "%s/%s.gguf", directory, name);
}

static void write_model(const gsrt_randmodel_options *options, const char *path)
{
    gsrt_diag diag = {.status = GSRT_OK};
    ck_assert_msg(gsrt_randmodel_write(options, path, NULL, &diag) == GSRT_OK, "%s", diag.text);
}

/* The whole file; the caller frees. */
static uint8_t *read_file(const char *path, size_t *out_bytes)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    *out_bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*out_bytes);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, *out_bytes, file), *out_bytes);
    (void)fclose(file);
    return bytes;
}

static gsrt_randmodel_options tiny(gsrt_dtype dtype)
{
    gsrt_randmodel_options options;
    ck_assert(gsrt_randmodel_preset("tiny", &options));
    options.dtype = dtype;
    return options;
}

START_TEST(same_options_same_bytes)
{
    char a[64], b[64];
    path_of(a, "a");
    path_of(b, "b");
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        gsrt_randmodel_options options = tiny(dtypes[i]);
        size_t a_bytes, b_bytes;
        write_model(&options, a);
        write_model(&options, b);
        uint8_t *first = read_file(a, &a_bytes), *second = read_file(b, &b_bytes);
        ck_assert_uint_eq(a_bytes, b_bytes);
        ck_assert_int_eq(memcmp(first, second, a_bytes), 0);
        free(second);
        options.seed++;
        write_model(&options, b);
        second = read_file(b, &b_bytes);
        ck_assert_uint_eq(a_bytes, b_bytes);
        ck_assert_int_ne(memcmp(first, second, a_bytes), 0);
        free(first);
        free(second);
    }
    (void)unlink(a);
    (void)unlink(b);
}
END_TEST

/* Load, count, and run three positions with the plain pass. */
static void run_model(const gsrt_randmodel_options *options)
{
    char path[64];
    gsrt_diag diag = {.status = GSRT_OK};
    gsrt_gguf *gguf = NULL;
    gsrt_workload *workload = NULL;
    gsrt_weights *weights = NULL;
    gsrt_reference *reference = NULL;
    path_of(path, "run");
    write_model(options, path);
    ck_assert_msg(gsrt_gguf_open(path, &gguf, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_import_gguf(gguf, &workload, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_weights_create(gguf, workload, &weights, &diag) == GSRT_OK, "%s", diag.text);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < workload->op_count; i++)
        if (workload->ops[i].kind == GSRT_OP_LINEAR || workload->ops[i].kind == GSRT_OP_LOGITS)
            bytes += workload->tensors[workload->ops[i].tensor].size_bytes;
    ck_assert_uint_eq(bytes, gsrt_randmodel_token_bytes(options));
    ck_assert_int_eq(gsrt_reference_create(weights, 3, &reference), GSRT_OK);
    for (uint32_t position = 0; position < 3; position++) {
        const float *logits = NULL;
        double sum = 0;
        ck_assert_int_eq(gsrt_reference_step(reference, 259 + position, position, &logits), GSRT_OK);
        for (uint32_t i = 0; i < workload->vocab_count; i++) {
            ck_assert(isfinite(logits[i]));
            sum += (double)logits[i] * (double)logits[i];
        }
        double size = sqrt(sum / workload->vocab_count);
        ck_assert_msg(size > 0.1 && size < 10, "%s: logits of size %g", gsrt_dtype_name(options->dtype), size);
    }
    gsrt_reference_free(reference);
    gsrt_weights_free(weights);
    gsrt_workload_free(workload);
    gsrt_gguf_free(gguf);
    (void)unlink(path);
}

START_TEST(every_format_loads_and_stays_finite)
{
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        gsrt_randmodel_options options = tiny(dtypes[i]);
        run_model(&options);
        options.is_tied = true;
        run_model(&options);
    }
}
END_TEST

START_TEST(its_tokenizer_reads_any_text)
{
    char path[64];
    gsrt_diag diag = {.status = GSRT_OK};
    gsrt_gguf *gguf = NULL;
    gsrt_tokenizer *tokenizer = NULL;
    gsrt_randmodel_options options = tiny(GSRT_DTYPE_Q8_0);
    options.vocab_count = 2000; /* words of one, two and three letters */
    path_of(path, "tokens");
    write_model(&options, path);
    ck_assert_msg(gsrt_gguf_open(path, &gguf, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_tokenizer_create(gguf, &tokenizer, &diag) == GSRT_OK, "%s", diag.text);
    gsrt_tokenizer_free(tokenizer);
    gsrt_gguf_free(gguf);
    (void)unlink(path);
}
END_TEST

START_TEST(wrong_shapes_are_refused)
{
    char path[64];
    path_of(path, "refused");
    gsrt_randmodel_options wrong[6];
    for (size_t i = 0; i < 6; i++)
        wrong[i] = tiny(GSRT_DTYPE_Q8_0);
    wrong[0].dim = 65;
    wrong[1].hidden = 0;
    wrong[2].kv_head_count = 3;
    wrong[3].vocab_count = 100;
    wrong[4].layer_count = 0;
    wrong[5].head_count = 0;
    for (size_t i = 0; i < 6; i++) {
        gsrt_diag diag = {.status = GSRT_OK};
        ck_assert_int_eq(gsrt_randmodel_write(&wrong[i], path, NULL, &diag), GSRT_EINVAL);
        ck_assert_msg(strstr(diag.text, "; ") != NULL, "no remedy in '%s'", diag.text);
        ck_assert_int_ne(access(path, F_OK), 0);
    }
    gsrt_diag diag = {.status = GSRT_OK};
    gsrt_randmodel_options good = tiny(GSRT_DTYPE_Q8_0);
    ck_assert_int_eq(gsrt_randmodel_write(&good, "/nowhere/at/all", NULL, &diag), GSRT_EIO);
    ck_assert_ptr_nonnull(strstr(diag.text, "/nowhere/at/all"));
    ck_assert(!gsrt_randmodel_preset("2b", &good));
}
END_TEST

int main(void)
{
    if (mkdtemp(directory) == NULL)
        return 1;
    const TTest *tests[] = {same_options_same_bytes, every_format_loads_and_stays_finite, its_tokenizer_reads_any_text,
                            wrong_shapes_are_refused};
    int result = unit_run("randmodel", tests, sizeof tests / sizeof tests[0]);
    (void)rmdir(directory);
    return result;
}
