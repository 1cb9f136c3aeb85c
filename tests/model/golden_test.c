/* The reference pass against a trained model: the golden tokens and logits, and a float64 forward for every weight
 * type. Error of a position: norm of the difference over the norm; asserted is the largest over all positions. Needs
 * the shared data. */
#include "model/import_llama.h"
#include "model/reference.h"

#include <math.h>
#include <string.h>

#include "tests/model/float64_forward.h"
#include "tests/model/shared_data.h"
#include "tests/unit.h"

enum { POSITIONS_MAX = 256, VOCAB = 512 };

/* f32, f16 and bf16: what the issue asks for. q8_0 and q4_0 also round activations to int8 per block of 32, which is
 * part of their definition (docs/numerics.md, section 3): a bound with a little room above what is measured. */
static const double bound_plain = 5e-6;
static const double bound_quantised = 5e-2;

typedef struct opened {
    gsrt_gguf *gguf;
    gsrt_workload *workload;
    gsrt_weights *weights;
    gsrt_reference *reference;
} opened;

static opened open_model(const char *type)
{
    char name[128], path[512];
    (void)snprintf(name, sizeof name, "models/stories260K/stories260K-%s.gguf", type);
    shared_path(path, sizeof path, name);
    opened o = {0};
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_gguf_open(path, &o.gguf, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_import_gguf(o.gguf, &o.workload, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_weights_create(o.gguf, o.workload, &o.weights, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_int_eq(gsrt_reference_create(o.weights, POSITIONS_MAX, &o.reference), GSRT_OK);
    return o;
}

static void close_model(opened *o)
{
    gsrt_reference_free(o->reference);
    gsrt_weights_free(o->weights);
    gsrt_workload_free(o->workload);
    gsrt_gguf_free(o->gguf);
}

/* tokens [count] of golden/<name>.tokens.json, and its prompt length. */
static uint32_t read_tokens(const char *name, uint32_t *tokens, uint32_t *prompt_length)
{
    char path[128];
    (void)snprintf(path, sizeof path, "models/stories260K/golden/%s.tokens.json", name);
    gsrt_span file = read_shared(path);
    ck_assert_ptr_nonnull(file.data);
    const char *at = strstr((const char *)file.data, "\"tokens\": [");
    const char *length = strstr((const char *)file.data, "\"prompt_length\": ");
    ck_assert(at != NULL && length != NULL);
    *prompt_length = (uint32_t)strtoul(length + strlen("\"prompt_length\": "), NULL, 10);
    at += strlen("\"tokens\": [");
    uint32_t count = 0;
    for (char *end; count < POSITIONS_MAX; at = end + 1) {
        tokens[count++] = (uint32_t)strtoul(at, &end, 10);
        if (*end != ',')
            break;
    }
    free((void *)(uintptr_t)file.data);
    return count;
}

static uint32_t largest(const float *logits)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < VOCAB; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

static double error_of(const float *got, const double *wanted)
{
    double difference = 0, norm = 0;
    for (uint32_t i = 0; i < VOCAB; i++) {
        difference += ((double)got[i] - wanted[i]) * ((double)got[i] - wanted[i]);
        norm += wanted[i] * wanted[i];
    }
    return sqrt(difference / norm);
}

/* Teacher forced: logits of every position against the golden file, and its greedy token the next one of the text. */
static void check_golden(const char *name)
{
    char path[128];
    uint32_t tokens[POSITIONS_MAX], prompt_length;
    uint32_t count = read_tokens(name, tokens, &prompt_length);
    ck_assert_uint_ge(count, 200);
    (void)snprintf(path, sizeof path, "models/stories260K/golden/%s.logits.f32", name);
    gsrt_span file = read_shared(path);
    ck_assert_uint_eq(file.len, count * VOCAB * sizeof(float));
    opened o = open_model("f32");
    double worst = 0;
    for (uint32_t p = 0; p < count; p++) {
        const float *logits;
        double wanted[VOCAB];
        ck_assert_int_eq(gsrt_reference_step(o.reference, tokens[p], p, &logits), GSRT_OK);
        for (uint32_t i = 0; i < VOCAB; i++) {
            float value;
            memcpy(&value, file.data + ((size_t)p * VOCAB + i) * sizeof value, sizeof value);
            wanted[i] = (double)value;
        }
        worst = fmax(worst, error_of(logits, wanted));
        if (p + 1 >= prompt_length && p + 1 < count)
            ck_assert_msg(largest(logits) == tokens[p + 1], "%s, position %u: wanted %u, got %u", name, p,
                          tokens[p + 1], largest(logits));
    }
    printf("%s: %u positions, largest relative error %.3g (bound %.3g)\n", name, count, worst, bound_plain);
    ck_assert_double_le(worst, bound_plain);
    close_model(&o);
    free((void *)(uintptr_t)file.data);
}

START_TEST(golden_from_bos)
{
    check_golden("from-bos");
}
END_TEST

START_TEST(golden_dog_and_cat)
{
    check_golden("dog-and-cat");
}
END_TEST

/* Free running: each token is what the last logits say. */
START_TEST(greedy_tokens)
{
    static const char *const names[] = {"from-bos", "dog-and-cat"};
    for (size_t n = 0; n < 2; n++) {
        uint32_t tokens[POSITIONS_MAX], prompt_length;
        uint32_t count = read_tokens(names[n], tokens, &prompt_length);
        opened o = open_model("f32");
        uint32_t token = tokens[0];
        for (uint32_t p = 0; p < count; p++) {
            const float *logits = NULL;
            ck_assert_msg(token == tokens[p], "%s, position %u: wanted %u, got %u", names[n], p, tokens[p], token);
            bool is_wanted = p + 1 >= prompt_length;
            ck_assert_int_eq(gsrt_reference_step(o.reference, token, p, is_wanted ? &logits : NULL), GSRT_OK);
            if (p + 1 < count)
                token = is_wanted ? largest(logits) : tokens[p + 1];
        }
        close_model(&o);
    }
}
END_TEST

/* Both prompts against float64 on the same file's dequantised weights. */
static void check_type(const char *type, double bound)
{
    static const char *const names[] = {"from-bos", "dog-and-cat"};
    double worst = 0;
    for (size_t n = 0; n < 2; n++) {
        uint32_t tokens[POSITIONS_MAX], prompt_length;
        uint32_t count = read_tokens(names[n], tokens, &prompt_length);
        opened o = open_model(type);
        float64_model *exact = float64_create(o.gguf, POSITIONS_MAX);
        ck_assert_uint_eq(float64_vocab(exact), VOCAB);
        for (uint32_t p = 0; p < count; p++) {
            const float *logits;
            ck_assert_int_eq(gsrt_reference_step(o.reference, tokens[p], p, &logits), GSRT_OK);
            worst = fmax(worst, error_of(logits, float64_step(exact, tokens[p], p)));
        }
        float64_free(exact);
        close_model(&o);
    }
    printf("%s: largest relative error against float64 on dequantised weights %.3g (bound %.3g)\n", type, worst, bound);
    ck_assert_double_le(worst, bound);
    ck_assert_double_gt(worst, 0);
}

START_TEST(float64_f32)
{
    check_type("f32", bound_plain);
}
END_TEST

START_TEST(float64_f16)
{
    check_type("f16", bound_plain);
}
END_TEST

START_TEST(float64_bf16)
{
    check_type("bf16", bound_plain);
}
END_TEST

START_TEST(float64_q8_0)
{
    check_type("q8_0", bound_quantised);
}
END_TEST

START_TEST(float64_q4_0)
{
    check_type("q4_0", bound_quantised);
}
END_TEST

int main(void)
{
    if (shared_is_absent("golden_test", "models/stories260K/golden"))
        return SKIPPED;
    (void)setenv("CK_DEFAULT_TIMEOUT", "300", 0); /* sanitizers and busy machines are slow */
    const TTest *tests[] = {golden_from_bos, golden_dog_and_cat, greedy_tokens, float64_f32,
                            float64_f16,     float64_bf16,       float64_q8_0,  float64_q4_0};
    return unit_run("golden", tests, sizeof tests / sizeof tests[0]);
}
