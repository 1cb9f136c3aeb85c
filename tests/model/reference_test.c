/* The plain pass on tiny made-up models, against float64: every variant of the architecture; and its own rules. */
#include "model/reference.h"

#include <math.h>
#include <string.h>

#include "model/import_llama.h"
#include "tests/model/float64_forward.h"
#include "tests/model/tiny_llama.h"
#include "tests/unit.h"

enum { POSITIONS = 32 };

typedef struct opened {
    gsrt_buffer file;
    gsrt_gguf *gguf;
    gsrt_workload *workload;
    gsrt_weights *weights;
    gsrt_reference *reference;
} opened;

/* Ends the writer. */
static opened open_model(gguf_writer *w)
{
    opened o = {0};
    gsrt_diag diag = {0};
    gguf_end(w, &o.file);
    ck_assert_msg(gsrt_gguf_open_span(gsrt_buffer_span(&o.file), "m.gguf", &o.gguf, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_import_gguf(o.gguf, &o.workload, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_weights_create(o.gguf, o.workload, &o.weights, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_int_eq(gsrt_reference_create(o.weights, POSITIONS, &o.reference), GSRT_OK);
    return o;
}

static void close_model(opened *o)
{
    gsrt_reference_free(o->reference);
    gsrt_weights_free(o->weights);
    gsrt_workload_free(o->workload);
    gsrt_gguf_free(o->gguf);
    gsrt_buffer_fini(&o->file);
}

static uint32_t token_at(uint32_t position, uint32_t vocab)
{
    return (position * 7 + 3) % vocab;
}

/* All positions within 5e-6 of float64. Ends the writer. */
static void check(const char *what, gguf_writer *w)
{
    opened o = open_model(w);
    float64_model *exact = float64_create(o.gguf, POSITIONS);
    double worst = 0;
    for (uint32_t p = 0; p < POSITIONS; p++) {
        const float *logits;
        uint32_t token = token_at(p, o.workload->vocab_count);
        ck_assert_int_eq(gsrt_reference_step(o.reference, token, p, &logits), GSRT_OK);
        const double *wanted = float64_step(exact, token, p);
        double difference = 0, norm = 0;
        for (uint32_t i = 0; i < o.workload->vocab_count; i++) {
            difference += pow((double)logits[i] - wanted[i], 2);
            norm += pow(wanted[i], 2);
        }
        worst = fmax(worst, sqrt(difference / norm));
    }
    ck_assert_msg(worst <= 5e-6, "%s: largest relative error %g", what, worst);
    float64_free(exact);
    close_model(&o);
}

START_TEST(shapes)
{
    gguf_writer w;
    tiny_llama m = tiny_usual;
    tiny_write(&w, &m);
    check("usual", &w);
    m.has_output = false;
    m.has_biases = true;
    tiny_write(&w, &m);
    check("tied, biases", &w);
    m = tiny_usual;
    m.head_dim = 6;
    tiny_write(&w, &m);
    check("head size of its own", &w);
    m = tiny_usual;
    m.kv_heads = 1;
    m.layers = 1;
    tiny_write(&w, &m);
    gguf_u32(&w, "llama.rope.dimension_count", 2);
    check("one KV head, part of the head rotated", &w);
    m = tiny_usual;
    m.kv_heads = m.heads;
    m.dim = 40;
    m.ffn = 300; /* more than one chunk of K */
    tiny_write(&w, &m);
    check("no groups, odd sizes", &w);
}
END_TEST

START_TEST(rope_variants)
{
    gguf_writer w;
    tiny_llama m = tiny_usual;
    m.dim = 64; /* heads of 16: pairs of all speeds */
    tiny_write(&w, &m);
    gguf_f32(&w, "llama.rope.freq_base", 500000);
    check("base", &w);
    tiny_write(&w, &m);
    gguf_text(&w, "llama.rope.scaling.type", "linear");
    gguf_f32(&w, "llama.rope.scaling.factor", 3);
    check("linear", &w);
    m.has_rope_freqs = true;
    tiny_write(&w, &m);
    check("frequency factors", &w);
    m.has_rope_freqs = false;
    tiny_write(&w, &m);
    gguf_text(&w, "llama.rope.scaling.type", "yarn");
    gguf_f32(&w, "llama.rope.scaling.factor", 4);
    gguf_f32(&w, "llama.rope.scaling.attn_factor", 0.9f);
    gguf_u32(&w, "llama.rope.scaling.original_context_length", 512);
    check("yarn", &w);
}
END_TEST

/* Going back to an earlier position and on again gives the same bits; leaving logits out changes nothing. */
START_TEST(steps_can_be_repeated)
{
    gguf_writer w;
    tiny_write(&w, &tiny_usual);
    opened o = open_model(&w);
    const float *logits;
    float first[11];
    for (uint32_t p = 0; p < 6; p++)
        ck_assert_int_eq(gsrt_reference_step(o.reference, token_at(p, 11), p, &logits), GSRT_OK);
    memcpy(first, logits, sizeof first);
    for (uint32_t p = 2; p < 6; p++)
        ck_assert_int_eq(gsrt_reference_step(o.reference, token_at(p, 11), p, p == 5 ? &logits : NULL), GSRT_OK);
    ck_assert_int_eq(memcmp(first, logits, sizeof first), 0);
    ck_assert_int_eq(gsrt_reference_step(o.reference, 1, 0, &logits), GSRT_OK);
    ck_assert_int_eq(gsrt_reference_step(o.reference, 1, 2, &logits), GSRT_EINVAL); /* 1 was forgotten */
    close_model(&o);
}
END_TEST

START_TEST(arguments_are_checked)
{
    gguf_writer w;
    tiny_write(&w, &tiny_usual);
    opened o = open_model(&w);
    const float *logits;
    gsrt_reference *other = NULL;
    ck_assert_int_eq(gsrt_reference_step(o.reference, 11, 0, &logits), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_reference_step(o.reference, 0, 1, &logits), GSRT_EINVAL);
    for (uint32_t p = 0; p < POSITIONS; p++)
        ck_assert_int_eq(gsrt_reference_step(o.reference, 0, p, NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_reference_step(o.reference, 0, POSITIONS, NULL), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_reference_create(o.weights, 0, &other), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_reference_create(o.weights, tiny_usual.context + 1, &other), GSRT_EINVAL);
    close_model(&o);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {shapes, rope_variants, steps_can_be_repeated, arguments_are_checked};
    return unit_run("reference", tests, sizeof tests / sizeof tests[0]);
}
