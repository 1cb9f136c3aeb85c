/* The importer: the workload that a Llama file becomes, and the files that it refuses. */
#include "model/import_llama.h"

#include <math.h>
#include <string.h>

#include "tests/model/tiny_llama.h"
#include "tests/unit.h"

static gsrt_status import(gguf_writer *w, gsrt_workload **out, gsrt_diag *diag)
{
    gsrt_buffer file;
    gguf_end(w, &file);
    gsrt_gguf *gguf = NULL;
    gsrt_status status = gsrt_gguf_open_span(gsrt_buffer_span(&file), "m.gguf", &gguf, diag);
    if (status == GSRT_OK)
        status = gsrt_import_gguf(gguf, out, diag);
    gsrt_gguf_free(gguf);
    gsrt_buffer_fini(&file); /* the workload does not need the file */
    return status;
}

static gsrt_workload *accept(gguf_writer *w)
{
    gsrt_workload *workload = NULL;
    gsrt_diag diag = {0};
    ck_assert_msg(import(w, &workload, &diag) == GSRT_OK, "%s", diag.text);
    return workload;
}

static void refuse(gguf_writer *w, const char *what)
{
    gsrt_workload *workload = NULL;
    gsrt_diag diag = {0};
    gsrt_status status = import(w, &workload, &diag);
    ck_assert_msg(status == GSRT_EINPUT, "wanted a refusal with '%s', got %s", what, gsrt_status_name(status));
    ck_assert_msg(strncmp(diag.text, "m.gguf: ", 8) == 0 && strstr(diag.text, what) != NULL, "wanted '%s' in '%s'",
                  what, diag.text);
}

static const gsrt_value *value_of(const gsrt_workload *w, const char *name)
{
    for (uint32_t i = 0; i < w->value_count; i++) {
        if (strcmp(w->values[i].name, name) == 0)
            return &w->values[i];
    }
    ck_abort_msg("no value '%s'", name);
}

START_TEST(units)
{
    ck_assert_uint_eq(gsrt_import_unit(64), 32);
    ck_assert_uint_eq(gsrt_import_unit(172), 4);
    ck_assert_uint_eq(gsrt_import_unit(16), 16);
    ck_assert_uint_eq(gsrt_import_unit(37), 1);
    ck_assert_uint_eq(gsrt_import_unit(62), 31);
}
END_TEST

START_TEST(regions_and_ops)
{
    static const gsrt_op_kind layer[] = {GSRT_OP_RMSNORM, GSRT_OP_LINEAR,  GSRT_OP_LINEAR,    GSRT_OP_LINEAR,
                                         GSRT_OP_ROPE,    GSRT_OP_ROPE,    GSRT_OP_ATTENTION, GSRT_OP_LINEAR,
                                         GSRT_OP_ADD,     GSRT_OP_RMSNORM, GSRT_OP_LINEAR,    GSRT_OP_LINEAR,
                                         GSRT_OP_SWIGLU,  GSRT_OP_LINEAR,  GSRT_OP_ADD};
    gguf_writer writer;
    tiny_write(&writer, &tiny_usual);
    gsrt_workload *w = accept(&writer);
    ck_assert_uint_eq(w->region_count, 4);
    ck_assert_str_eq(w->regions[0].name, "embed");
    ck_assert_str_eq(w->regions[2].name, "layer.1");
    ck_assert_str_eq(w->regions[3].name, "output");
    ck_assert_uint_eq(w->regions[2].op_count, sizeof layer / sizeof layer[0]);
    for (uint32_t i = 0; i < w->regions[2].op_count; i++) {
        const gsrt_op *op = &w->ops[w->regions[2].op_first + i];
        ck_assert_str_eq(gsrt_op_kind_name(op->kind), gsrt_op_kind_name(layer[i]));
        ck_assert_uint_eq(op->layer, 1);
        uint32_t k_group = i == 7 ? w->head_dim : 1; /* the attention's output projection */
        ck_assert_uint_eq(op->k_group, k_group);
    }
    ck_assert_float_eq(w->ops[w->regions[1].op_first + 6].scale, 0.5f); /* 1 / sqrt(4) */
    ck_assert_uint_eq(w->regions[1].in, w->regions[0].out);
    ck_assert(!w->output_is_tied);
    ck_assert_str_eq(w->name, "tiny");
    gsrt_workload_free(w);
}
END_TEST

START_TEST(splits_of_values)
{
    gguf_writer writer;
    tiny_write(&writer, &tiny_usual);
    gsrt_workload *w = accept(&writer);
    const struct {
        const char *name;
        gsrt_split_kind split;
        uint32_t width, unit;
        bool is_kv;
    } wanted[] = {
        {"embed.x", GSRT_SPLIT_NONE, 16, 0, false},
        {"blk.0.attn_norm", GSRT_SPLIT_NONE, 16, 0, false},
        {"blk.0.q", GSRT_SPLIT_HEADS, 16, 4, false},
        {"blk.0.k", GSRT_SPLIT_HEADS, 8, 4, true},
        {"blk.1.v", GSRT_SPLIT_HEADS, 8, 4, true},
        {"blk.0.attn", GSRT_SPLIT_HEADS, 16, 4, false},
        {"blk.0.attn_out", GSRT_SPLIT_OUTPUT, 16, 16, false},
        {"blk.0.ffn_hidden", GSRT_SPLIT_OUTPUT, 12, 12, false},
        {"blk.0.ffn_out", GSRT_SPLIT_OUTPUT, 16, 16, false},
        {"blk.1.x", GSRT_SPLIT_NONE, 16, 0, false},
        {"output.norm", GSRT_SPLIT_NONE, 16, 0, false},
        {"logits", GSRT_SPLIT_VOCAB, 11, 1, false},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const gsrt_value *v = value_of(w, wanted[i].name);
        ck_assert_msg(v->split == wanted[i].split && v->width == wanted[i].width && v->unit == wanted[i].unit &&
                          v->is_kv == wanted[i].is_kv,
                      "%s: split %d, width %u, unit %u", v->name, (int)v->split, v->width, v->unit);
    }
    gsrt_workload_free(w);
}
END_TEST

START_TEST(tied_and_biased)
{
    tiny_llama m = tiny_usual;
    m.has_output = false;
    m.has_biases = true;
    m.has_rope_freqs = true;
    m.head_dim = 6; /* dim / heads is 4 */
    gguf_writer writer;
    tiny_write(&writer, &m);
    gguf_u32(&writer, "llama.rope.dimension_count", 6);
    gsrt_workload *w = accept(&writer);
    ck_assert(w->output_is_tied);
    const gsrt_op *logits = &w->ops[w->op_count - 1];
    ck_assert_str_eq(w->tensors[logits->tensor].name, "token_embd.weight");
    const gsrt_op *q = &w->ops[w->regions[1].op_first + 1];
    ck_assert_str_eq(w->tensors[q->bias].name, "blk.0.attn_q.bias");
    ck_assert_uint_eq(w->tensors[q->bias].column_count, 24);
    const gsrt_op *rope = &w->ops[w->regions[1].op_first + 4];
    ck_assert_str_eq(w->tensors[rope->rope->factors_tensor].name, "rope_freqs.weight");
    ck_assert_uint_eq(w->head_dim, 6);
    gsrt_workload_free(w);
}
END_TEST

static const gsrt_rope *rope_of(const gsrt_workload *w)
{
    return w->ops[w->regions[1].op_first + 4].rope;
}

START_TEST(rope_scaling)
{
    gguf_writer writer;
    tiny_write(&writer, &tiny_usual);
    gsrt_workload *w = accept(&writer);
    ck_assert(rope_of(w)->scale == 1 && rope_of(w)->base == 10000 && !rope_of(w)->is_yarn && !rope_of(w)->is_neox);
    gsrt_workload_free(w);
    tiny_write(&writer, &tiny_usual);
    gguf_text(&writer, "llama.rope.scaling.type", "linear");
    gguf_f32(&writer, "llama.rope.scaling.factor", 4);
    gguf_f32(&writer, "llama.rope.freq_base", 500000);
    w = accept(&writer);
    ck_assert(rope_of(w)->scale == 0.25f && rope_of(w)->base == 500000);
    gsrt_workload_free(w);
    tiny_write(&writer, &tiny_usual);
    gguf_f32(&writer, "llama.rope.scale_linear", 2); /* the key of older files */
    w = accept(&writer);
    ck_assert_float_eq(rope_of(w)->scale, 0.5f);
    gsrt_workload_free(w);
    tiny_write(&writer, &tiny_usual);
    gguf_text(&writer, "llama.rope.scaling.type", "none");
    gguf_f32(&writer, "llama.rope.scaling.factor", 4);
    w = accept(&writer);
    ck_assert_float_eq(rope_of(w)->scale, 1);
    gsrt_workload_free(w);
    tiny_write(&writer, &tiny_usual);
    gguf_text(&writer, "llama.rope.scaling.type", "yarn");
    gguf_f32(&writer, "llama.rope.scaling.factor", 8);
    gguf_u32(&writer, "llama.rope.scaling.original_context_length", 16);
    gguf_f32(&writer, "llama.rope.scaling.attn_factor", 0.5f);
    w = accept(&writer);
    const gsrt_rope *rope = rope_of(w);
    ck_assert(rope->is_yarn && rope->scale == 0.125f && rope->context_original == 16 &&
              rope->yarn_attention_factor == 0.5f);
    ck_assert(rope->yarn_beta_fast == 32 && rope->yarn_beta_slow == 1 && rope->yarn_extension_factor == 1);
    gsrt_workload_free(w);
    tiny_write(&writer, &tiny_usual);
    gguf_text(&writer, "llama.rope.scaling.type", "longrope");
    refuse(&writer, "key 'llama.rope.scaling.type': this scaling is not supported");
}
END_TEST

START_TEST(keys_of_other_types)
{
    static const uint32_t same[] = {2, 2}, different[] = {2, 1};
    tiny_llama m = tiny_usual;
    gguf_writer writer;
    tiny_write(&writer, &m);
    gguf_key(&writer, "llama.vocab_size", GSRT_GGUF_U64, "\x0b\0\0\0\0\0\0\0", 8); /* any integer type will do */
    gguf_array(&writer, "llama.rope.dimension_count", GSRT_GGUF_U32, 2, same, sizeof same);
    refuse(&writer, "key 'llama.rope.dimension_count': has type array");
    tiny_write(&writer, &m);
    gguf_array(&writer, "llama.attention.key_length", GSRT_GGUF_U32, 2, different, sizeof different);
    refuse(&writer, "key 'llama.attention.key_length': differs from layer to layer");
    m.head_dim = 0;
    m.heads = 8;
    m.kv_heads = 8;
    tiny_write(&writer, &m);
    gguf_array(&writer, "llama.attention.value_length", GSRT_GGUF_U32, 2, same, sizeof same);
    gsrt_workload *w = accept(&writer);
    ck_assert_uint_eq(w->head_dim, 2);
    gsrt_workload_free(w);
}
END_TEST

START_TEST(models_that_are_refused)
{
    gguf_writer w;
    gguf_begin(&w);
    refuse(&w, "key 'general.architecture': is missing");
    gguf_begin(&w);
    gguf_text(&w, "general.architecture", "gpt2");
    refuse(&w, "unsupported architecture 'gpt2'; supported: llama");
    gguf_begin(&w);
    gguf_u32(&w, "general.architecture", 1);
    refuse(&w, "key 'general.architecture': has type u32, wanted text");
    gguf_begin(&w);
    gguf_text(&w, "general.architecture", "llama");
    refuse(&w, "key 'llama.block_count': is missing");
    tiny_write(&w, &tiny_usual);
    gguf_u32(&w, "llama.expert_count", 8);
    refuse(&w, "key 'llama.expert_count': asks for a computation that is not supported");
    tiny_write(&w, &tiny_usual);
    gguf_f32(&w, "llama.logit_scale", 0.5f);
    refuse(&w, "key 'llama.logit_scale'");
    tiny_write(&w, &tiny_usual);
    gguf_u32(&w, "llama.vocab_size", 12);
    refuse(&w, "key 'llama.vocab_size': differs");
    tiny_write(&w, &tiny_usual);
    gguf_u32(&w, "llama.rope.dimension_count", 3);
    refuse(&w, "key 'llama.rope.dimension_count': must be even");
    tiny_write(&w, &tiny_usual);
    gguf_add(&w, "blk.0.attn_q_norm.weight", 4, 0, 0, NULL, 16);
    refuse(&w, "tensor 'blk.0.attn_q_norm.weight': no op of the Llama architecture reads this tensor");
}
END_TEST

START_TEST(shapes_that_are_refused)
{
    gguf_writer w;
    tiny_llama m = tiny_usual;
    m.kv_heads = 3;
    tiny_write(&w, &m);
    refuse(&w, "key 'llama.attention.head_count'");
    m = tiny_usual;
    m.heads = m.kv_heads = 3;
    tiny_write(&w, &m);
    refuse(&w, "key 'llama.attention.key_length': is missing");
    m = tiny_usual;
    m.head_dim = 514;
    tiny_write(&w, &m);
    refuse(&w, "the shape is too large");
    m = tiny_usual;
    m.layers = 0;
    tiny_write(&w, &m);
    refuse(&w, "layer count: 0 is not in 1..1024");
    m = tiny_usual;
    m.context = 0;
    tiny_write(&w, &m);
    refuse(&w, "context length: 0 is not in");
    gguf_begin(&w);
    gguf_text(&w, "general.architecture", "llama");
    gguf_u32(&w, "llama.block_count", 4000000000u);
    gguf_u32(&w, "llama.embedding_length", 4000000000u);
    gguf_u32(&w, "llama.feed_forward_length", 1);
    gguf_u32(&w, "llama.attention.head_count", 4000000000u);
    gguf_u32(&w, "llama.context_length", 1);
    refuse(&w, "the shape is too large");
}
END_TEST

START_TEST(tensors_that_are_refused)
{
    static const char *const names[] = {"token_embd.weight",   "blk.0.attn_norm.weight",   "blk.0.attn_q.weight",
                                        "blk.1.attn_k.weight", "blk.1.attn_output.weight", "blk.0.ffn_down.weight",
                                        "output_norm.weight"};
    gguf_writer w;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char place[96];
        (void)snprintf(place, sizeof place, "tensor '%s': ", names[i]);
        tiny_llama m = tiny_usual;
        m.without = names[i];
        tiny_write(&w, &m);
        refuse(&w, place);
        m = tiny_usual;
        m.as_q4_k = names[i];
        tiny_write(&w, &m);
        refuse(&w, place);
        if (i == 0) /* the embedding's rows are the vocabulary: one more is a larger one */
            continue;
        m = tiny_usual;
        m.wrong = names[i];
        tiny_write(&w, &m);
        refuse(&w, place);
    }
    tiny_llama m = tiny_usual;
    m.as_f16 = "output_norm.weight";
    tiny_write(&w, &m);
    refuse(&w, "type f16 is not supported for vectors");
    m.as_f16 = "output.weight"; /* types may differ from tensor to tensor */
    tiny_write(&w, &m);
    gsrt_workload_free(accept(&w));
}
END_TEST

int main(void)
{
    const TTest *tests[] = {units,
                            regions_and_ops,
                            splits_of_values,
                            tied_and_biased,
                            rope_scaling,
                            keys_of_other_types,
                            models_that_are_refused,
                            shapes_that_are_refused,
                            tensors_that_are_refused};
    return unit_run("import", tests, sizeof tests / sizeof tests[0]);
}
