/* Validation: rounding, statistics, and evidence made on real weights: the embedded model, and stories260K of the
 * shared data, whose f16 and bf16 files say what narrowing its f32 file must give. Then the whole way: a contract with
 * budgets, what it admits, and a violation. */
#include "model/validate.h"

#include <math.h>
#include <string.h>

#include "backends/numerics.h"
#include "model/import_llama.h"
#include "model/narrow.h"
#include "model/reference.h"
#include "model/validate_figures.h"
#include "tests/model/shared_data.h"
#include "tests/placement/judged.h"
#include "tests/unit.h"

/* ---- rounding ---- */

START_TEST(halves_are_nearest)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float f16 = gsrt_widen_f16((uint16_t)bits), bf16 = gsrt_widen_bf16((uint16_t)bits);
        if (f16 == f16)
            ck_assert_uint_eq(gsrt_narrow_f16(f16), bits);
        else
            ck_assert(isnan(gsrt_widen_f16(gsrt_narrow_f16(f16))));
        if (bf16 == bf16)
            ck_assert_uint_eq(gsrt_narrow_bf16(bf16), bits);
        else
            ck_assert(isnan(gsrt_widen_bf16(gsrt_narrow_bf16(bf16))));
        /* Halfway to the next magnitude goes to the even one; a little more or less to the nearer. */
        if ((bits & 0x7fffu) >= 0x7bffu)
            continue;
        float next = gsrt_widen_f16((uint16_t)(bits + 1)), half = (float)(((double)f16 + (double)next) / 2);
        ck_assert_uint_eq(gsrt_narrow_f16(half), bits + (bits & 1));
        ck_assert_uint_eq(gsrt_narrow_f16(nextafterf(half, f16)), bits);
        ck_assert_uint_eq(gsrt_narrow_f16(nextafterf(half, next)), bits + 1);
    }
    ck_assert_uint_eq(gsrt_narrow_f16(65519.996f), 0x7bff);
    ck_assert_uint_eq(gsrt_narrow_f16(-65520.0f), 0xfc00);
    ck_assert_uint_eq(gsrt_narrow_bf16(gsrt_float_of(0x3f808000u)), 0x3f80); /* ties to even */
    ck_assert_uint_eq(gsrt_narrow_bf16(gsrt_float_of(0x3f818000u)), 0x3f82);
    ck_assert_uint_eq(gsrt_narrow_bf16(gsrt_float_of(0x3f808001u)), 0x3f81);
}
END_TEST

START_TEST(blocks_are_within_half_a_step)
{
    float x[64], y[64];
    for (int i = 0; i < 64; i++)
        x[i] = (float)((i * 37) % 64 - 29) / 31;
    gsrt_narrow_round(x, 64, GSRT_DTYPE_Q8_0, y);
    for (int i = 0; i < 64; i++)
        ck_assert_float_le(fabsf(x[i] - y[i]), 34.0f / 31 / 127 * 0.51f);
    gsrt_narrow_round(x, 64, GSRT_DTYPE_Q4_0, y);
    for (int i = 0; i < 64; i++) /* the side away from the extreme reaches 7 steps only */
        ck_assert_float_le(fabsf(x[i] - y[i]), 34.0f / 31 / 8 * 1.01f);
    memset(x, 0, sizeof x);
    gsrt_narrow_round(x, 64, GSRT_DTYPE_Q8_0, y);
    gsrt_narrow_round(x, 64, GSRT_DTYPE_Q4_0, y + 32 - 32);
    for (int i = 0; i < 64; i++)
        ck_assert(y[i] == 0);
    x[5] = INFINITY;
    x[40] = NAN;
    gsrt_narrow_round(x, 64, GSRT_DTYPE_Q8_0, y);
    ck_assert(isfinite(y[0]) && y[5] > 8e6f && isfinite(y[40]));
}
END_TEST

/* ---- statistics ---- */

START_TEST(figures_are_what_they_say)
{
    double relative[2] = {0};
    gsrt__figures f = {.relative = relative};
    const float same[] = {1, 2, 3}, other[] = {1, 2, 3.5f}, wild[] = {1, NAN, 3};
    gsrt__figures_position(&f, same, same, 3, 2);
    ck_assert(f.absolute == 0 && f.divergence == 0 && f.lost == 0);
    ck_assert_uint_eq(f.different_count, 0);
    gsrt__figures_position(&f, same, other, 3, 2);
    double p[3], q[3], p_sum = 0, q_sum = 0, kl = 0;
    for (int i = 0; i < 3; i++) {
        p_sum += exp((double)same[i]);
        q_sum += exp((double)other[i]);
    }
    for (int i = 0; i < 3; i++) {
        p[i] = exp((double)same[i]) / p_sum;
        q[i] = exp((double)other[i]) / q_sum;
        kl += p[i] * log(p[i] / q[i]);
    }
    ck_assert_double_eq(f.absolute, 0.5);
    ck_assert_double_eq_tol(f.divergence, kl, 1e-14);
    ck_assert_double_le(f.divergence, 0.5 * 0.5 / 2);
    ck_assert_double_eq_tol(f.lost, log(p[2]) - log(q[2]), 1e-14);
    ck_assert_uint_eq(f.different_count, 1);
    gsrt__figures_region(&f, 1, same, other, 3);
    ck_assert_double_eq_tol(relative[1], 0.5 / sqrt(14), 1e-15);
    double ratio, upper;
    gsrt__figures_sequence(&f);
    ck_assert(!gsrt__figures_quality(&f, 0.95, &ratio, &upper)); /* one sequence has no variance */
    f.lost = 0.3;
    f.target_count = 3;
    gsrt__figures_sequence(&f);
    ck_assert(gsrt__figures_quality(&f, 0.95, &ratio, &upper));
    double lost = log(p[2]) - log(q[2]), r = (lost + 0.3) / 5;
    double s2 = pow(lost - 2 * r, 2) + pow(0.3 - 3 * r, 2);
    ck_assert_double_eq_tol(ratio, exp(r), 1e-14);
    ck_assert_double_eq_tol(upper, exp(r + sqrt(19) * sqrt(2 * s2) / 5), 1e-12);
    gsrt__figures_position(&f, same, wild, 3, 0);
    ck_assert(f.absolute > 1e300 && f.divergence > 1e300);
    gsrt__figures_sequence(&f);
    ck_assert(gsrt__figures_quality(&f, 0.95, &ratio, &upper) && upper > 1e300);
    ck_assert_double_ge(gsrt__figures_coverage(59, 0.95), 0.95);
    ck_assert_double_lt(gsrt__figures_coverage(58, 0.95), 0.95);
}
END_TEST

/* ---- real weights ---- */

typedef struct opened {
    gsrt_gguf *gguf;
    gsrt_workload *workload;
    gsrt_weights *weights;
    gsrt_tokenizer *tokenizer;
} opened;

static opened open_path(const char *path)
{
    opened o = {0};
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_gguf_open(path, &o.gguf, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_import_gguf(o.gguf, &o.workload, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_weights_create(o.gguf, o.workload, &o.weights, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_tokenizer_create(o.gguf, &o.tokenizer, &diag) == GSRT_OK, "%s", diag.text);
    return o;
}

static void close_model(opened *o)
{
    (void)gsrt_tokenizer_free(o->tokenizer);
    (void)gsrt_weights_free(o->weights);
    (void)gsrt_workload_free(o->workload);
    (void)gsrt_gguf_free(o->gguf);
}

static bool stories_is_absent(const char *test)
{
    return shared_is_absent(test, "models/stories260K/stories260K-f32.gguf");
}

static opened open_stories(const char *type)
{
    char name[128], path[512];
    (void)snprintf(name, sizeof name, "models/stories260K/stories260K-%s.gguf", type);
    shared_path(path, sizeof path, name);
    return open_path(path);
}

static opened open_tiny(void)
{
    char path[512];
    const char *source = getenv("GSRT_SRCDIR");
    (void)snprintf(path, sizeof path, "%s/models/tiny.gguf", source != NULL ? source : ".");
    return open_path(path);
}

/* `count` first sentences of stories, all different. Owned by the caller: free. */
static char *write_corpus(uint32_t count)
{
    static const char *const who[] = {"girl", "boy", "dog", "cat"}, *const names[] = {"Lily", "Tim", "Max", "Sue"};
    static const char *const what[] = {"loved to play", "found a red ball", "was very sad", "went to the park"};
    char *text = malloc((size_t)count * 160 + 1);
    size_t used = 0;
    ck_assert_ptr_nonnull(text);
    text[0] = 0;
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)sprintf(text + used, "Once upon a time, there was a little %s named %s. The %s %s.%s\n",
                                who[i % 4], names[i / 4 % 4], who[i % 4], what[i / 16 % 4], i % 3 == 0 ? "\n" : "");
    return text;
}

static gsrt_region_choice *as_given(const gsrt_workload *w)
{
    gsrt_region_choice *choices = calloc(w->region_count, sizeof *choices);
    ck_assert_ptr_nonnull(choices);
    for (uint32_t r = 0; r < w->region_count; r++) {
        choices[r] = (gsrt_region_choice){.weights_are_as_given = true, .state_is_as_given = true};
        choices[r].compute = gsrt_region_compute(w, r, &choices[r]);
    }
    return choices;
}

static void narrow(gsrt_region_choice *choices, const gsrt_workload *w, uint32_t region, gsrt_dtype dtype)
{
    choices[region].weights_are_as_given = false;
    choices[region].weights = dtype;
    choices[region].compute = gsrt_region_compute(w, region, &choices[region]);
}

static double upper_of(const gsrt_evidence *e, gsrt_contract_kind statistic, const char *region)
{
    for (uint32_t i = 0; i < e->figure_count; i++) {
        const gsrt_evidence_figure *f = &e->figures[i];
        if (f->statistic == statistic && (region == NULL || strcmp(f->region, region) == 0))
            return f->upper;
    }
    return -1;
}

/* The pass with f16 (bf16) weights that were made here is that of the file that others made: all logits, bit for bit.
 */
START_TEST(narrowed_weights_are_the_file_s)
{
    static const struct row {
        const char *type;
        gsrt_dtype dtype;
    } rows[] = {{"f16", GSRT_DTYPE_F16}, {"bf16", GSRT_DTYPE_BF16}};
    if (stories_is_absent("narrowed_weights_are_the_file_s"))
        return;
    opened wide = open_stories("f32");
    for (size_t k = 0; k < 2; k++) {
        opened file = open_stories(rows[k].type);
        gsrt_reference *made, *wanted;
        const gsrt_workload *w = wide.workload;
        uint8_t *rooms[512] = {0};
        ck_assert_int_eq(gsrt_reference_create(wide.weights, 8, &made), GSRT_OK);
        ck_assert_int_eq(gsrt_reference_create(file.weights, 8, &wanted), GSRT_OK);
        for (uint32_t i = 0; i < w->op_count; i++) {
            uint32_t t = w->ops[i].tensor;
            if (t == GSRT_NO_INDEX || w->tensors[t].row_count == 1 || file.workload->tensors[t].dtype != rows[k].dtype)
                continue;
            size_t count = (size_t)w->tensors[t].row_count * w->tensors[t].column_count;
            rooms[i] = malloc(count * 2);
            ck_assert_ptr_nonnull(rooms[i]);
            gsrt_narrow(
                (const float *)(const void *)gsrt_weights_rows(wide.weights, t, 0, w->tensors[t].row_count, NULL),
                count, rows[k].dtype, rooms[i]);
            gsrt_reference_replace(made, i, rows[k].dtype, rooms[i]);
        }
        for (uint32_t p = 0; p < 8; p++) {
            const float *a, *b;
            ck_assert_int_eq(gsrt_reference_step(made, 1 + p * 41, p, &a), GSRT_OK);
            ck_assert_int_eq(gsrt_reference_step(wanted, 1 + p * 41, p, &b), GSRT_OK);
            ck_assert_msg(memcmp(a, b, w->vocab_count * sizeof *a) == 0, "%s, position %u", rows[k].type, p);
        }
        for (uint32_t i = 0; i < 512; i++)
            free(rooms[i]);
        (void)gsrt_reference_free(made);
        (void)gsrt_reference_free(wanted);
        close_model(&file);
    }
    close_model(&wide);
}
END_TEST

/* The registry says that f16 and bf16 weights can be held as f32 without a change: not one bit. */
START_TEST(widened_weights_change_nothing)
{
    static const char *const types[] = {"f16", "bf16"};
    if (stories_is_absent("widened_weights_change_nothing"))
        return;
    for (size_t k = 0; k < 2; k++) {
        opened o = open_stories(types[k]);
        const gsrt_workload *w = o.workload;
        gsrt_reference *given, *wide;
        float *rooms[512] = {0};
        ck_assert_int_eq(gsrt_reference_create(o.weights, 8, &given), GSRT_OK);
        ck_assert_int_eq(gsrt_reference_create(o.weights, 8, &wide), GSRT_OK);
        for (uint32_t i = 0; i < w->op_count; i++) {
            const gsrt_tensor *t = w->ops[i].tensor == GSRT_NO_INDEX ? NULL : &w->tensors[w->ops[i].tensor];
            if (t == NULL || t->row_count == 1)
                continue;
            size_t count = (size_t)t->row_count * t->column_count;
            const uint8_t *bytes = gsrt_weights_rows(o.weights, w->ops[i].tensor, 0, t->row_count, NULL);
            rooms[i] = malloc(count * sizeof(float));
            ck_assert_ptr_nonnull(rooms[i]);
            for (size_t e = 0; e < count; e++)
                rooms[i][e] = t->dtype == GSRT_DTYPE_F16 ? gsrt_widen_f16(gsrt_load_u16(bytes + 2 * e))
                                                         : gsrt_widen_bf16(gsrt_load_u16(bytes + 2 * e));
            gsrt_reference_replace(wide, i, GSRT_DTYPE_F32, (const uint8_t *)rooms[i]);
        }
        for (uint32_t p = 0; p < 8; p++) {
            const float *a, *b;
            ck_assert_int_eq(gsrt_reference_step(given, 1 + p * 41, p, &a), GSRT_OK);
            ck_assert_int_eq(gsrt_reference_step(wide, 1 + p * 41, p, &b), GSRT_OK);
            ck_assert_msg(memcmp(a, b, w->vocab_count * sizeof *a) == 0, "%s, position %u", types[k], p);
        }
        for (uint32_t i = 0; i < 512; i++)
            free(rooms[i]);
        (void)gsrt_reference_free(given);
        (void)gsrt_reference_free(wide);
        close_model(&o);
    }
}
END_TEST

/* Keys and values in f16 and bf16, on the embedded model (whose weights are q8_0 already). */
START_TEST(keys_and_values_of_the_embedded_model)
{
    opened o = open_tiny();
    char *text = write_corpus(12);
    gsrt_region_choice *choices = as_given(o.workload);
    gsrt_evidence_list list;
    gsrt_diag diag = {0};
    gsrt_evidence_list_init(&list);
    gsrt_validate_options options = {.choices = choices,
                                     .corpus = "/texts/a.txt",
                                     .text = gsrt_span_of_text(text),
                                     .sequence_count_max = 4,
                                     .position_count_max = 12};
    for (uint32_t r = 1; r + 1 < o.workload->region_count; r++) {
        choices[r].state_is_as_given = false;
        choices[r].state = GSRT_DTYPE_F16;
    }
    ck_assert_msg(gsrt_validate(o.weights, o.tokenizer, &options, &list, &diag) == GSRT_OK, "%s", diag.text);
    for (uint32_t r = 1; r + 1 < o.workload->region_count; r++)
        choices[r].state = GSRT_DTYPE_BF16;
    ck_assert_msg(gsrt_validate(o.weights, o.tokenizer, &options, &list, &diag) == GSRT_OK, "%s", diag.text);
    const gsrt_evidence *f16 = &list.items[0], *bf16 = &list.items[1];
    ck_assert_str_eq(f16->changes[0].transformation, "kv:f32->f16");
    ck_assert_uint_eq(f16->changes[0].region_count, o.workload->layer_count);
    ck_assert_uint_eq(f16->sequence_count, 4);
    ck_assert_uint_eq(f16->position_count, 48);
    ck_assert_double_eq(upper_of(f16, GSRT_CONTRACT_EXACT_PATHS, NULL), -1); /* a sample is not all paths */
    double a = upper_of(f16, GSRT_CONTRACT_ABSOLUTE_ERROR, NULL),
           b = upper_of(bf16, GSRT_CONTRACT_ABSOLUTE_ERROR, NULL);
    ck_assert_msg(a > 0 && a < 0.5 && b > a && b < 5, "f16 %g, bf16 %g", a, b); /* eight times the rounding */
    ck_assert_double_le(upper_of(f16, GSRT_CONTRACT_DIVERGENCE, NULL), a * a / 2);
    ck_assert_double_le(upper_of(bf16, GSRT_CONTRACT_DIVERGENCE, NULL), b * b / 2);
    ck_assert_double_lt(f16->coverage, 0.95); /* four sequences are few, and it says so */
    gsrt_evidence_list_fini(&list);
    free(choices);
    free(text);
    close_model(&o);
}
END_TEST

START_TEST(what_cannot_be_validated_is_named)
{
    static const struct row {
        gsrt_region_choice choice;
        gsrt_status status;
        const char *says;
    } rows[] = {
        {{.weights_are_as_given = true, .state_is_as_given = true}, GSRT_EINPUT, "nothing is changed"},
        {{.weights = GSRT_DTYPE_F8_E4M3, .state_is_as_given = true},
         GSRT_EUNSUPPORTED,
         "region 'layer.1': nothing here computes with such weights"},
        {{.weights_are_as_given = true, .state = GSRT_DTYPE_Q8_0},
         GSRT_EUNSUPPORTED,
         "region 'layer.1': nothing here keeps KV in such a format"},
        {{.weights_are_as_given = true, .state_is_as_given = true, .compute = GSRT_FORMAT_F8},
         GSRT_EUNSUPPORTED,
         "region 'layer.1': nothing here computes so"},
        {{.weights = GSRT_DTYPE_F16, .state_is_as_given = true, .arithmetic = GSRT_ARITHMETIC_NATIVE},
         GSRT_EUNSUPPORTED,
         "region 'layer.1': native kernels"},
    };
    if (stories_is_absent("what_cannot_be_validated_is_named"))
        return;
    opened o = open_stories("f32");
    gsrt_evidence_list list;
    gsrt_evidence_list_init(&list);
    gsrt_validate_options options = {.corpus = "/texts/a.txt", .text = gsrt_span_of_text("Once upon a time\n")};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gsrt_region_choice *choices = as_given(o.workload);
        gsrt_diag diag = {0};
        gsrt_format compute = rows[i].choice.compute;
        choices[2] = rows[i].choice;
        choices[2].compute = compute != 0 ? compute : gsrt_region_compute(o.workload, 2, &choices[2]);
        options.choices = choices;
        ck_assert_int_eq(gsrt_validate(o.weights, o.tokenizer, &options, &list, &diag), rows[i].status);
        ck_assert_msg(strstr(diag.text, rows[i].says) != NULL, "'%s' instead of '%s'", diag.text, rows[i].says);
        free(choices);
    }
    gsrt_region_choice *choices = as_given(o.workload);
    gsrt_diag diag = {0};
    narrow(choices, o.workload, 2, GSRT_DTYPE_F16);
    options.choices = choices;
    options.text = gsrt_span_of_text(" \n\r\n");
    ck_assert_int_eq(gsrt_validate(o.weights, o.tokenizer, &options, &list, &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "/texts/a.txt: has no line of text"));
    ck_assert_uint_eq(list.count, 0);
    free(choices);
    gsrt_evidence_list_fini(&list);
    close_model(&o);
}
END_TEST

/* Inputs of products in bf16: f32 weights are rounded, too. All paths of a corpus that is run whole are looked at. */
START_TEST(products_in_bf16)
{
    if (stories_is_absent("products_in_bf16"))
        return;
    opened o = open_stories("f32");
    gsrt_region_choice *choices = as_given(o.workload);
    gsrt_evidence_list list;
    gsrt_diag diag = {0};
    gsrt_evidence_list_init(&list);
    gsrt_validate_options options = {
        .choices = choices, .corpus = "/texts/a.txt", .text = gsrt_span_of_text("One day\nThe dog ran\n")};
    choices[1].compute = GSRT_FORMAT_BF16;
    ck_assert_msg(gsrt_validate(o.weights, o.tokenizer, &options, &list, &diag) == GSRT_OK, "%s", diag.text);
    const gsrt_evidence *e = &list.items[0];
    ck_assert_str_eq(e->changes[0].transformation, "compute:f32->bf16");
    ck_assert_double_gt(upper_of(e, GSRT_CONTRACT_RELATIVE_ERROR, "layer.0"), 1e-4);
    ck_assert_double_lt(upper_of(e, GSRT_CONTRACT_RELATIVE_ERROR, "layer.0"), 0.05);
    ck_assert_double_gt(upper_of(e, GSRT_CONTRACT_EXACT_PATHS, NULL), 0);
    free(choices);
    gsrt_evidence_list_fini(&list);
    close_model(&o);
}
END_TEST

/* ---- the whole way ---- */

static void print_list(const gsrt_evidence_list *list, gsrt_buffer *out)
{
    gsrt_buffer_reset(out);
    ck_assert_int_eq(gsrt_evidence_list_print(list, out), GSRT_OK);
}

/* Budgets for two layers and the output, everything else bitwise. Lower precision is found by what was validated, used
 * there and nowhere else, and given up when it is seen to be worse than promised. */
START_TEST(budgets_by_region)
{
    if (stories_is_absent("budgets_by_region"))
        return;
    opened o = open_stories("f32");
    gsrt_workload *w = o.workload;
    gsrt_fleet *fleet = judged_fleet();
    gsrt_contract *contract = judged_contract("[{regions: layer.1, relative_error: "
                                              "0.2}, {regions: layer.2, relative_error: 0.2}]");
    char *text = write_corpus(64);
    gsrt_evidence_list list;
    gsrt_diag diag = {0};
    gsrt_evidence_list_init(&list);
    gsrt_region_choice *choices = as_given(w);
    gsrt_validate_options options = {
        .choices = choices, .corpus = "/texts/a.txt", .text = gsrt_span_of_text(text), .position_count_max = 12};

    /* One layer, then both; the same run twice is the same evidence. */
    narrow(choices, w, 2, GSRT_DTYPE_Q8_0);
    ck_assert_msg(gsrt_validate(o.weights, o.tokenizer, &options, &list, &diag) == GSRT_OK, "%s", diag.text);
    narrow(choices, w, 3, GSRT_DTYPE_Q8_0);
    ck_assert_msg(gsrt_validate(o.weights, o.tokenizer, &options, &list, &diag) == GSRT_OK, "%s", diag.text);
    gsrt_evidence_list again;
    gsrt_buffer first, second;
    gsrt_buffer_init(&first, 1 << 20);
    gsrt_buffer_init(&second, 1 << 20);
    gsrt_evidence_list_init(&again);
    ck_assert_int_eq(gsrt_validate(o.weights, o.tokenizer, &options, &again, &diag), GSRT_OK);
    ck_assert_int_eq(gsrt_evidence_list_add(&again, &list.items[0], &diag), GSRT_OK);
    again.items[2] = again.items[0]; /* in the order of the first list; there is room for eight */
    again.items[0] = again.items[1];
    again.items[1] = again.items[2];
    print_list(&list, &first);
    print_list(&again, &second);
    ck_assert(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
    gsrt_evidence_list_fini(&again);
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
    const gsrt_evidence *both = &list.items[1];
    ck_assert_uint_eq(both->sequence_count, 64);
    ck_assert_double_ge(both->coverage, GSRT_EVIDENCE_COVERAGE_MIN);
    printf("q8_0 in layer.1 and layer.2 of stories260K: logits %g, relative %g and %g, divergence %g, perplexity %g\n",
           upper_of(both, GSRT_CONTRACT_ABSOLUTE_ERROR, NULL), upper_of(both, GSRT_CONTRACT_RELATIVE_ERROR, "layer.1"),
           upper_of(both, GSRT_CONTRACT_RELATIVE_ERROR, "layer.2"), upper_of(both, GSRT_CONTRACT_DIVERGENCE, NULL),
           upper_of(both, GSRT_CONTRACT_QUALITY, NULL));

    /* Admitted as measured; not beyond: another layer, another format. */
    gsrt_deployment *d = judged_deployment(w, fleet, "cpu", 2, GSRT_ALGORITHM_GATHER);
    gsrt_verdict v;
    memcpy(d->choices, choices, w->region_count * sizeof *choices);
    ck_assert_int_eq(gsrt_contract_judge(contract, w, fleet, d, list.items, list.count, &v), GSRT_OK);
    ck_assert_msg(v.is_kept, "%s: %s", v.constraint, v.obligation);
    gsrt_verdict_fini(&v);
    narrow(d->choices, w, 4, GSRT_DTYPE_Q8_0);
    ck_assert_int_eq(gsrt_contract_judge(contract, w, fleet, d, list.items, list.count, &v), GSRT_OK);
    ck_assert_str_eq(v.constraint, "region 'layer.1': weights:f32->q8_0 under relative_error 0.2");
    gsrt_verdict_fini(&v);
    uint32_t taken = 0;
    ck_assert_int_eq(gsrt_contract_disable(contract, w, fleet, d, list.items, list.count, &v, &taken), GSRT_OK);
    ck_assert(v.is_kept && taken == 1 && d->choices[4].weights_are_as_given && !d->choices[3].weights_are_as_given);
    gsrt_verdict_fini(&v);

    /* The violation: a text on which the second layer is worse than its bound. Only the first one stays. */
    gsrt_evidence worse = *both;
    gsrt_evidence_figure seen = {
        .statistic = GSRT_CONTRACT_RELATIVE_ERROR, .region = "layer.2", .measured = 0.3, .upper = 0.3};
    worse.corpus = "traffic";
    worse.figures = &seen;
    worse.figure_count = 1;
    ck_assert_int_eq(gsrt_evidence_list_add(&list, &worse, &diag), GSRT_OK);
    ck_assert_int_eq(gsrt_contract_disable(contract, w, fleet, d, list.items, list.count, &v, &taken), GSRT_OK);
    ck_assert(v.is_kept && taken == 1);
    ck_assert(!d->choices[2].weights_are_as_given && d->choices[3].weights_are_as_given);
    gsrt_verdict_fini(&v);

    /* What was measured on other weights is of no use here. */
    char hash[33];
    gsrt_validate_hash_weights(o.weights, hash);
    gsrt_validate_keep_only(&list, hash);
    ck_assert_uint_eq(list.count, 3);
    opened other = open_stories("f16");
    gsrt_validate_hash_weights(other.weights, hash);
    gsrt_validate_keep_only(&list, hash);
    ck_assert_uint_eq(list.count, 0);
    close_model(&other);
    (void)gsrt_deployment_free(d);
    free(choices);
    free(text);
    gsrt_evidence_list_fini(&list);
    (void)gsrt_contract_free(contract);
    (void)gsrt_fleet_free(fleet);
    close_model(&o);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {halves_are_nearest,
                            blocks_are_within_half_a_step,
                            figures_are_what_they_say,
                            narrowed_weights_are_the_file_s,
                            widened_weights_change_nothing,
                            keys_and_values_of_the_embedded_model,
                            what_cannot_be_validated_is_named,
                            products_in_bf16,
                            budgets_by_region};
    return unit_run("validate", tests, sizeof tests / sizeof tests[0]);
}
