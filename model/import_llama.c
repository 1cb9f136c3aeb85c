#include "model/import_llama.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct import {
    const gsrt_gguf *gguf;
    gsrt_workload *workload;
    gsrt_diag *diag;
    bool *is_used; /* [tensor_count] of the file: an op reads it */
    gsrt_rope rope;
    float epsilon;
    float attention_scale;
    uint32_t region; /* being built */
    uint32_t layer;  /* of that region */
} import;

uint32_t gsrt_import_unit(uint32_t width)
{
    uint32_t unit = width < 32 ? width : 32;
    while (unit > 1 && width % unit != 0)
        unit--;
    return unit;
}

static gsrt_status fail_key(const import *im, const char *key, const char *what)
{
    char place[GSRT_NAME_BYTES_MAX + 16];
    (void)snprintf(place, sizeof place, "key '%s'", key);
    return gsrt_diag_set(im->diag, GSRT_EINPUT, gsrt_gguf_name(im->gguf), place, "%s", what);
}

static gsrt_status fail_tensor(const import *im, const char *name, const char *what)
{
    char place[GSRT_NAME_BYTES_MAX + 16];
    (void)snprintf(place, sizeof place, "tensor '%s'", name);
    return gsrt_diag_set(im->diag, GSRT_EINPUT, gsrt_gguf_name(im->gguf), place, "%s", what);
}

static gsrt_status fail_memory(const import *im)
{
    return gsrt_diag_set(im->diag, GSRT_ENOMEM, gsrt_gguf_name(im->gguf), NULL, "no memory for the workload");
}

/* A key that may be one number or, per layer, an array of equal numbers. */
static gsrt_status read_uniform(const import *im, const char *key, uint32_t *out)
{
    gsrt_gguf_array array;
    if (gsrt_gguf_array_of(im->gguf, key, &array, NULL) != GSRT_OK)
        return gsrt_gguf_u32(im->gguf, key, out, im->diag);
    if (!gsrt_gguf_type_is_integer(array.type) || array.count == 0)
        return fail_key(im, key, "is no array of integers; convert the file again");
    int64_t first = gsrt_gguf_array_integer(&array, 0);
    for (uint64_t i = 0; i < array.count; i++) {
        int64_t value = gsrt_gguf_array_integer(&array, i);
        if (value != first || value < 0 || value > UINT32_MAX)
            return fail_key(im, key, "differs from layer to layer, which is not supported; use a uniform model");
    }
    *out = (uint32_t)first;
    return GSRT_OK;
}

static gsrt_status need_uniform(const import *im, const char *key, uint32_t *out)
{
    gsrt_status status = read_uniform(im, key, out);
    return status == GSRT_ENOTFOUND ? gsrt_gguf_missing(im->gguf, key, im->diag) : status;
}

static gsrt_status uniform_or(const import *im, const char *key, uint32_t fallback, uint32_t *out)
{
    gsrt_status status = read_uniform(im, key, out);
    if (status != GSRT_ENOTFOUND)
        return status;
    *out = fallback;
    return GSRT_OK;
}

/* The architecture and name. */
static gsrt_status read_identity(import *im)
{
    gsrt_span architecture, name;
    gsrt_status status = gsrt_gguf_text(im->gguf, "general.architecture", &architecture, im->diag);
    if (status == GSRT_ENOTFOUND)
        return gsrt_gguf_missing(im->gguf, "general.architecture", im->diag);
    if (status != GSRT_OK)
        return status;
    if (!gsrt_span_equal(architecture, gsrt_span_of_text("llama"))) {
        char what[160];
        int len = architecture.len < 64 ? (int)architecture.len : 64;
        (void)snprintf(what, sizeof what, "unsupported architecture '%.*s'; supported: llama", len,
                       (const char *)architecture.data);
        return fail_key(im, "general.architecture", what);
    }
    status = gsrt_gguf_text(im->gguf, "general.name", &name, im->diag);
    if (status == GSRT_ENOTFOUND)
        name = gsrt_span_of_text("unnamed");
    else if (status != GSRT_OK)
        return status;
    size_t len = name.len < GSRT_NAME_BYTES_MAX ? name.len : GSRT_NAME_BYTES_MAX;
    gsrt_workload *w = im->workload;
    w->has_weights = true;
    w->name = gsrt_arena_copy_text(&w->arena, (const char *)name.data, len);
    w->architecture = gsrt_arena_copy_text(&w->arena, "llama", 5);
    return w->name == NULL || w->architecture == NULL ? fail_memory(im) : GSRT_OK;
}

/* Keys that change what the model computes in ways that no op expresses: only their neutral value is taken. */
static gsrt_status refuse_unsupported(const import *im)
{
    static const struct {
        const char *key;
        double neutral;
    } keys[] = {
        {"llama.expert_count", 0},        {"llama.expert_used_count", 0},      {"llama.logit_scale", 1},
        {"llama.residual_scale", 1},      {"llama.embedding_scale", 1},        {"llama.attention.sliding_window", 0},
        {"llama.attention.clamp_kqv", 0}, {"llama.attn_logit_softcapping", 0}, {"llama.final_logit_softcapping", 0},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        float real = 0;
        uint32_t whole = 0;
        if (!gsrt_gguf_has(im->gguf, keys[i].key))
            continue;
        gsrt_status as_real = gsrt_gguf_f32(im->gguf, keys[i].key, &real, NULL);
        gsrt_status as_whole = gsrt_gguf_u32(im->gguf, keys[i].key, &whole, NULL);
        bool is_neutral = (as_real == GSRT_OK && (double)real == keys[i].neutral) ||
                          (as_whole == GSRT_OK && (double)whole == keys[i].neutral);
        if (!is_neutral)
            return fail_key(im, keys[i].key, "asks for a computation that is not supported; use a plain Llama model");
    }
    return GSRT_OK;
}

static gsrt_status read_shape(import *im)
{
    gsrt_workload *w = im->workload;
    gsrt_status status = need_uniform(im, "llama.block_count", &w->layer_count);
    if (status == GSRT_OK)
        status = need_uniform(im, "llama.embedding_length", &w->dim);
    if (status == GSRT_OK)
        status = need_uniform(im, "llama.feed_forward_length", &w->ffn_dim);
    if (status == GSRT_OK)
        status = need_uniform(im, "llama.attention.head_count", &w->head_count);
    if (status == GSRT_OK)
        status = uniform_or(im, "llama.attention.head_count_kv", w->head_count, &w->kv_head_count);
    if (status == GSRT_OK)
        status = need_uniform(im, "llama.context_length", &w->context_max);
    if (status != GSRT_OK)
        return status;
    if (w->head_count == 0 || w->kv_head_count == 0 || w->head_count % w->kv_head_count != 0)
        return fail_key(im, "llama.attention.head_count",
                        "the head count is 0 or no multiple of the KV head count; convert the file again");
    if (!gsrt_gguf_has(im->gguf, "llama.attention.key_length") && w->dim % w->head_count != 0)
        return fail_key(
            im, "llama.attention.key_length",
            "is missing, and the embedding length is no multiple of the head count; convert the file again");
    status = uniform_or(im, "llama.attention.key_length", w->dim / w->head_count, &w->head_dim);
    if (status == GSRT_OK)
        status = uniform_or(im, "llama.attention.value_length", w->head_dim, &w->value_head_dim);
    if (status == GSRT_OK && w->value_head_dim != w->head_dim)
        return fail_key(im, "llama.attention.value_length",
                        "differs from the key length, which is not supported; use a model with equal lengths");
    if (status == GSRT_OK && (w->layer_count > GSRT_LAYER_COUNT_MAX || w->dim > GSRT_DIM_MAX ||
                              w->ffn_dim > GSRT_DIM_MAX || w->head_count > GSRT_DIM_MAX ||
                              w->head_dim > GSRT_HEAD_DIM_MAX || w->head_count > GSRT_DIM_MAX / (w->head_dim + 1)))
        return gsrt_diag_set(im->diag, GSRT_EINPUT, gsrt_gguf_name(im->gguf), "keys 'llama.*'",
                             "the shape is too large: %" PRIu32 " layers, dim %" PRIu32 ", ffn %" PRIu32 ", %" PRIu32
                             " heads of %" PRIu32 "; the limits are in base/limits.h, use a smaller model",
                             w->layer_count, w->dim, w->ffn_dim, w->head_count, w->head_dim);
    if (w->context_max > GSRT_CONTEXT_MAX)
        w->context_max = GSRT_CONTEXT_MAX; /* a bound on requests, which are refused by name past it */
    return status;
}

static gsrt_status read_scales(import *im)
{
    gsrt_status status = gsrt_gguf_f32(im->gguf, "llama.attention.layer_norm_rms_epsilon", &im->epsilon, im->diag);
    if (status == GSRT_ENOTFOUND)
        return gsrt_gguf_missing(im->gguf, "llama.attention.layer_norm_rms_epsilon", im->diag);
    if (status != GSRT_OK)
        return status;
    float usual = im->workload->head_dim > 0 ? 1.0f / sqrtf((float)im->workload->head_dim) : 1.0f;
    return gsrt_gguf_f32_or(im->gguf, "llama.attention.scale", usual, &im->attention_scale, im->diag);
}

/* The scaling type decides which of the scaling keys count; a file without one but with a factor means linear. */
static gsrt_status read_rope_scaling(import *im)
{
    const gsrt_gguf *g = im->gguf;
    gsrt_rope *rope = &im->rope;
    gsrt_span type = gsrt_span_of_text("linear");
    float factor = 0, attention = 1;
    gsrt_status status = gsrt_gguf_text(g, "llama.rope.scaling.type", &type, im->diag);
    if (status == GSRT_OK || status == GSRT_ENOTFOUND)
        status = gsrt_gguf_f32_or(g, "llama.rope.scale_linear", 0, &factor, im->diag);
    if (status == GSRT_OK)
        status = gsrt_gguf_f32_or(g, "llama.rope.scaling.factor", factor, &factor, im->diag);
    if (status == GSRT_OK)
        status = gsrt_gguf_f32_or(g, "llama.rope.scaling.attn_factor", 1, &attention, im->diag);
    if (status != GSRT_OK)
        return status;
    rope->is_yarn = gsrt_span_equal(type, gsrt_span_of_text("yarn"));
    bool is_linear = gsrt_span_equal(type, gsrt_span_of_text("linear"));
    if (!rope->is_yarn && !is_linear && !gsrt_span_equal(type, gsrt_span_of_text("none")))
        return fail_key(im, "llama.rope.scaling.type", "this scaling is not supported; supported: none, linear, yarn");
    if (factor < 0)
        return fail_key(im, "llama.rope.scaling.factor", "must not be negative; convert the file again");
    rope->scale = (rope->is_yarn || is_linear) && factor > 0 ? 1.0f / factor : 1.0f;
    rope->yarn_attention_factor = attention;
    if (!rope->is_yarn)
        return attention == 1 ? GSRT_OK
                              : fail_key(im, "llama.rope.scaling.attn_factor",
                                         "is supported with YaRN only; use a model with factor 1");
    status = gsrt_gguf_u32_or(g, "llama.rope.scaling.original_context_length", im->workload->context_max,
                              &rope->context_original, im->diag);
    if (status == GSRT_OK)
        status = gsrt_gguf_f32_or(g, "llama.rope.scaling.yarn_ext_factor", 1, &rope->yarn_extension_factor, im->diag);
    if (status == GSRT_OK)
        status = gsrt_gguf_f32_or(g, "llama.rope.scaling.yarn_beta_fast", 32, &rope->yarn_beta_fast, im->diag);
    if (status == GSRT_OK)
        status = gsrt_gguf_f32_or(g, "llama.rope.scaling.yarn_beta_slow", 1, &rope->yarn_beta_slow, im->diag);
    return status;
}

/* Note that an op reads the tensor. */
static void mark_used(import *im, const gsrt_gguf_tensor *tensor)
{
    im->is_used[tensor - gsrt_gguf_tensor_at(im->gguf, 0)] = true;
}

/* Add tensor `name` to the workload with the shape that the caller needs; rows = 1 means a vector.
 * *out_index: its index; GSRT_NO_INDEX where it is absent and optional. */
static gsrt_status add_tensor(import *im, const char *name, uint32_t rows, uint32_t columns, bool is_optional,
                              uint32_t *out_index)
{
    const gsrt_gguf_tensor *t = gsrt_gguf_tensor_find(im->gguf, name);
    if (t == NULL && is_optional) {
        *out_index = GSRT_NO_INDEX;
        return GSRT_OK;
    }
    if (t == NULL)
        return fail_tensor(im, name, "is missing; convert the file again");
    char what[200];
    bool is_vector = rows == 1;
    if (!gsrt_dtype_is_computed(t->type)) {
        (void)snprintf(what, sizeof what,
                       "type %s is not supported; supported: f32, f16, bf16, q8_0, q4_0: convert "
                       "or quantise the model to one of these",
                       t->type_name);
        return fail_tensor(im, name, what);
    }
    if (is_vector && t->type != GSRT_DTYPE_F32) {
        (void)snprintf(what, sizeof what, "type %s is not supported for vectors; keep norms and biases in f32",
                       t->type_name);
        return fail_tensor(im, name, what);
    }
    if (t->dims[0] != columns || t->dims[1] != rows || t->dims[2] != 1 || t->dims[3] != 1) {
        (void)snprintf(what, sizeof what,
                       "its shape is [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "], but the keys of the file "
                       "ask for [%" PRIu32 ", %" PRIu32 "]; convert the file again",
                       t->dims[0], t->dims[1], t->dims[2], t->dims[3], columns, rows);
        return fail_tensor(im, name, what);
    }
    mark_used(im, t);
    gsrt_tensor tensor = {.name = name,
                          .dtype = (gsrt_dtype)t->type,
                          .stack_count = 1,
                          .row_count = rows,
                          .column_count = columns,
                          .offset_bytes = t->offset_bytes,
                          .size_bytes = t->size_bytes};
    return gsrt_workload_add_tensor(im->workload, &tensor, out_index) == GSRT_OK ? GSRT_OK : fail_memory(im);
}

/* blk.<layer>.<suffix> */
static const char *layer_name(const import *im, const char *suffix, char *out)
{
    (void)snprintf(out, GSRT_NAME_BYTES_MAX, "blk.%" PRIu32 ".%s", im->layer, suffix);
    return out;
}

static gsrt_status add_value(import *im, const char *name, uint32_t width, gsrt_split_kind split, bool is_kv,
                             uint32_t *out_index)
{
    uint32_t unit = 0;
    switch (split) {
    case GSRT_SPLIT_NONE: unit = 0; break;
    case GSRT_SPLIT_HEADS: unit = im->workload->head_dim; break;
    case GSRT_SPLIT_OUTPUT: unit = gsrt_import_unit(width); break;
    case GSRT_SPLIT_VOCAB: unit = 1; break;
    }
    char full[GSRT_NAME_BYTES_MAX];
    gsrt_value value = {.name = im->layer == GSRT_NO_INDEX ? name : layer_name(im, name, full),
                        .width = width,
                        .rows = split == GSRT_SPLIT_VOCAB ? GSRT_ROWS_WANTED : GSRT_ROWS_TOKENS,
                        .split = split,
                        .unit = unit,
                        .is_kv = is_kv};
    return gsrt_workload_add_value(im->workload, &value, out_index) == GSRT_OK ? GSRT_OK : fail_memory(im);
}

/* An op of the region that is being built, with nothing in it yet. */
static gsrt_op blank_op(const import *im, gsrt_op_kind kind)
{
    return (gsrt_op){.kind = kind,
                     .region = im->region,
                     .layer = im->layer,
                     .state = GSRT_NO_INDEX,
                     .in = {GSRT_NO_INDEX, GSRT_NO_INDEX, GSRT_NO_INDEX},
                     .out = GSRT_NO_INDEX,
                     .tensor = GSRT_NO_INDEX,
                     .bias = GSRT_NO_INDEX,
                     .k_group = 1};
}

static gsrt_status add_op(import *im, const gsrt_op *op)
{
    uint32_t ignored;
    return gsrt_workload_add_op(im->workload, op, &ignored) == GSRT_OK ? GSRT_OK : fail_memory(im);
}

static gsrt_status add_norm(import *im, const char *tensor, const char *value, uint32_t in, uint32_t *out)
{
    char full[GSRT_NAME_BYTES_MAX];
    gsrt_op op = blank_op(im, GSRT_OP_RMSNORM);
    op.in[0] = in;
    op.epsilon = im->epsilon;
    const char *name = im->layer == GSRT_NO_INDEX ? tensor : layer_name(im, tensor, full);
    gsrt_status status = add_tensor(im, name, 1, im->workload->dim, false, &op.tensor);
    if (status == GSRT_OK)
        status = add_value(im, value, im->workload->dim, GSRT_SPLIT_NONE, false, &op.out);
    if (status == GSRT_OK)
        status = add_op(im, &op);
    *out = op.out;
    return status;
}

/* What a LINEAR of a layer is made of. */
typedef struct linear {
    const char *tensor; /* without its layer and without ".weight" */
    const char *value;
    uint32_t outputs;
    uint32_t k_group;
    gsrt_split_kind split;
    bool is_kv;
} linear;

static gsrt_status add_linear(import *im, const linear *l, uint32_t in, uint32_t *out)
{
    char suffix[64], full[GSRT_NAME_BYTES_MAX];
    gsrt_op op = blank_op(im, GSRT_OP_LINEAR);
    op.in[0] = in;
    op.k_group = l->k_group;
    (void)snprintf(suffix, sizeof suffix, "%s.weight", l->tensor);
    gsrt_status status =
        add_tensor(im, layer_name(im, suffix, full), l->outputs, im->workload->values[in].width, false, &op.tensor);
    (void)snprintf(suffix, sizeof suffix, "%s.bias", l->tensor);
    if (status == GSRT_OK)
        status = add_tensor(im, layer_name(im, suffix, full), 1, l->outputs, true, &op.bias);
    if (status == GSRT_OK)
        status = add_value(im, l->value, l->outputs, l->split, l->is_kv, &op.out);
    if (status == GSRT_OK)
        status = add_op(im, &op);
    *out = op.out;
    return status;
}

static gsrt_status add_rope(import *im, uint32_t value)
{
    gsrt_op op = blank_op(im, GSRT_OP_ROPE);
    op.in[0] = op.out = value;
    op.head_dim = im->workload->head_dim;
    op.rope = &im->rope;
    return add_op(im, &op);
}

static gsrt_status add_binary(import *im, gsrt_op_kind kind, const char *value, gsrt_split_kind split, uint32_t left,
                              uint32_t right, uint32_t *out)
{
    gsrt_op op = blank_op(im, kind);
    op.in[0] = left;
    op.in[1] = right;
    gsrt_status status = add_value(im, value, im->workload->values[left].width, split, false, &op.out);
    *out = op.out;
    return status == GSRT_OK ? add_op(im, &op) : status;
}

/* The KV cache of the layer: in f32, as backends/kv.h keeps it. */
static gsrt_status add_state(import *im, uint32_t *out_index)
{
    char full[GSRT_NAME_BYTES_MAX];
    uint32_t width = im->workload->kv_head_count * im->workload->head_dim;
    gsrt_state state = {.name = layer_name(im, "kv", full),
                        .kind = GSRT_STATE_KV,
                        .layer = im->layer,
                        .dtype = GSRT_DTYPE_F32,
                        .key_width = width,
                        .value_width = width};
    return gsrt_workload_add_state(im->workload, &state, out_index) == GSRT_OK ? GSRT_OK : fail_memory(im);
}

static gsrt_status add_attention(import *im, uint32_t norm, uint32_t *out)
{
    gsrt_workload *w = im->workload;
    uint32_t q_width = w->head_count * w->head_dim, kv_width = w->kv_head_count * w->head_dim;
    const linear q = {"attn_q", "q", q_width, 1, GSRT_SPLIT_HEADS, false};
    const linear k = {"attn_k", "k", kv_width, 1, GSRT_SPLIT_HEADS, true};
    const linear v = {"attn_v", "v", kv_width, 1, GSRT_SPLIT_HEADS, true};
    const linear o = {"attn_output", "attn_out", w->dim, w->head_dim, GSRT_SPLIT_OUTPUT, false};
    gsrt_op op = blank_op(im, GSRT_OP_ATTENTION);
    op.head_dim = w->head_dim;
    op.scale = im->attention_scale;
    gsrt_status status = add_linear(im, &q, norm, &op.in[0]);
    if (status == GSRT_OK)
        status = add_linear(im, &k, norm, &op.in[1]);
    if (status == GSRT_OK)
        status = add_linear(im, &v, norm, &op.in[2]);
    if (status == GSRT_OK)
        status = add_rope(im, op.in[0]);
    if (status == GSRT_OK)
        status = add_rope(im, op.in[1]);
    if (status == GSRT_OK)
        status = add_state(im, &op.state);
    if (status == GSRT_OK)
        status = add_value(im, "attn", q_width, GSRT_SPLIT_HEADS, false, &op.out);
    if (status == GSRT_OK)
        status = add_op(im, &op);
    return status == GSRT_OK ? add_linear(im, &o, op.out, out) : status;
}

static gsrt_status add_feed_forward(import *im, uint32_t norm, uint32_t *out)
{
    gsrt_workload *w = im->workload;
    const linear gate = {"ffn_gate", "ffn_gate", w->ffn_dim, 1, GSRT_SPLIT_OUTPUT, false};
    const linear up = {"ffn_up", "ffn_up", w->ffn_dim, 1, GSRT_SPLIT_OUTPUT, false};
    const linear down = {"ffn_down", "ffn_out", w->dim, 1, GSRT_SPLIT_OUTPUT, false};
    uint32_t gated = GSRT_NO_INDEX, raised = GSRT_NO_INDEX, hidden = GSRT_NO_INDEX;
    gsrt_status status = add_linear(im, &gate, norm, &gated);
    if (status == GSRT_OK)
        status = add_linear(im, &up, norm, &raised);
    if (status == GSRT_OK)
        status = add_binary(im, GSRT_OP_SWIGLU, "ffn_hidden", GSRT_SPLIT_OUTPUT, gated, raised, &hidden);
    return status == GSRT_OK ? add_linear(im, &down, hidden, out) : status;
}

/* Close the region whose ops started at `op_first`. */
static gsrt_status add_region(import *im, const char *name, uint32_t op_first, uint32_t in, uint32_t out)
{
    uint32_t ignored;
    gsrt_region region = {.name = name,
                          .layer = im->layer,
                          .op_first = op_first,
                          .op_count = im->workload->op_count - op_first,
                          .in = in,
                          .out = out};
    gsrt_workload_describe(im->workload, &region);
    im->region++;
    return gsrt_workload_add_region(im->workload, &region, &ignored) == GSRT_OK ? GSRT_OK : fail_memory(im);
}

static gsrt_status add_embedding(import *im, uint32_t *out)
{
    gsrt_workload *w = im->workload;
    uint32_t op_first = w->op_count;
    gsrt_op op = blank_op(im, GSRT_OP_EMBED);
    gsrt_status status = add_tensor(im, "token_embd.weight", w->vocab_count, w->dim, false, &op.tensor);
    if (status == GSRT_OK)
        status = add_value(im, "embed.x", w->dim, GSRT_SPLIT_NONE, false, &op.out);
    if (status == GSRT_OK)
        status = add_op(im, &op);
    *out = op.out;
    return status == GSRT_OK ? add_region(im, "embed", op_first, GSRT_NO_INDEX, op.out) : status;
}

static gsrt_status add_layer(import *im, uint32_t in, uint32_t *out)
{
    uint32_t op_first = im->workload->op_count;
    uint32_t norm = GSRT_NO_INDEX, part = GSRT_NO_INDEX, middle = GSRT_NO_INDEX;
    gsrt_status status = add_norm(im, "attn_norm.weight", "attn_norm", in, &norm);
    if (status == GSRT_OK)
        status = add_attention(im, norm, &part);
    if (status == GSRT_OK)
        status = add_binary(im, GSRT_OP_ADD, "attn_x", GSRT_SPLIT_NONE, in, part, &middle);
    if (status == GSRT_OK)
        status = add_norm(im, "ffn_norm.weight", "ffn_norm", middle, &norm);
    if (status == GSRT_OK)
        status = add_feed_forward(im, norm, &part);
    if (status == GSRT_OK)
        status = add_binary(im, GSRT_OP_ADD, "x", GSRT_SPLIT_NONE, middle, part, out);
    char name[32];
    (void)snprintf(name, sizeof name, "layer.%" PRIu32, im->layer);
    return status == GSRT_OK ? add_region(im, name, op_first, in, *out) : status;
}

static gsrt_status add_output(import *im, uint32_t in)
{
    gsrt_workload *w = im->workload;
    uint32_t op_first = w->op_count;
    gsrt_op op = blank_op(im, GSRT_OP_LOGITS);
    gsrt_status status = add_norm(im, "output_norm.weight", "output.norm", in, &op.in[0]);
    if (status == GSRT_OK)
        status = add_tensor(im, "output.weight", w->vocab_count, w->dim, true, &op.tensor);
    if (status == GSRT_OK && op.tensor == GSRT_NO_INDEX) {
        w->output_is_tied = true;
        op.tensor = w->ops[0].tensor;
    }
    if (status == GSRT_OK)
        status = add_tensor(im, "output.bias", 1, w->vocab_count, true, &op.bias);
    if (status == GSRT_OK)
        status = add_value(im, "logits", w->vocab_count, GSRT_SPLIT_VOCAB, false, &op.out);
    if (status == GSRT_OK)
        status = add_op(im, &op);
    return status == GSRT_OK ? add_region(im, "output", op_first, in, op.out) : status;
}

/* The vocabulary is what the embedding has rows for; the keys that repeat it must agree. */
static gsrt_status read_vocab(import *im)
{
    const gsrt_gguf_tensor *t = gsrt_gguf_tensor_find(im->gguf, "token_embd.weight");
    if (t == NULL)
        return fail_tensor(im, "token_embd.weight", "is missing: the file holds no model; name one with weights");
    if (t->dims[1] > GSRT_VOCAB_COUNT_MAX)
        return fail_tensor(im, t->name, "the vocabulary is too large; at most 1048576 tokens are supported");
    im->workload->vocab_count = (uint32_t)t->dims[1];
    uint32_t declared;
    gsrt_status status = gsrt_gguf_u32_or(im->gguf, "llama.vocab_size", (uint32_t)t->dims[1], &declared, im->diag);
    if (status == GSRT_OK && declared != t->dims[1])
        return fail_key(im, "llama.vocab_size", "differs from the rows of token_embd.weight; convert the file again");
    gsrt_gguf_array tokens;
    if (status == GSRT_OK && gsrt_gguf_array_of(im->gguf, "tokenizer.ggml.tokens", &tokens, NULL) == GSRT_OK &&
        tokens.count != t->dims[1])
        return fail_key(im, "tokenizer.ggml.tokens",
                        "has another number of tokens than token_embd.weight has rows; convert the file again");
    return status;
}

static gsrt_status read_rope(import *im)
{
    gsrt_status status = gsrt_gguf_f32_or(im->gguf, "llama.rope.freq_base", 10000.0f, &im->rope.base, im->diag);
    if (status == GSRT_OK)
        status = gsrt_gguf_u32_or(im->gguf, "llama.rope.dimension_count", im->workload->head_dim, &im->rope.dim_rotated,
                                  im->diag);
    if (status == GSRT_OK &&
        (im->rope.dim_rotated == 0 || im->rope.dim_rotated % 2 != 0 || im->rope.dim_rotated > im->workload->head_dim))
        return fail_key(im, "llama.rope.dimension_count",
                        "must be even and between 2 and the head size; convert the file again");
    if (status == GSRT_OK && !(im->rope.base > 0))
        return fail_key(im, "llama.rope.freq_base", "must be positive; convert the file again");
    if (status == GSRT_OK)
        status = read_rope_scaling(im);
    if (status == GSRT_OK)
        status = add_tensor(im, "rope_freqs.weight", 1, im->rope.dim_rotated / 2, true, &im->rope.factors_tensor);
    return status;
}

static gsrt_status refuse_unused(const import *im)
{
    for (uint32_t i = 0; i < gsrt_gguf_tensor_count(im->gguf); i++) {
        if (!im->is_used[i])
            return fail_tensor(im, gsrt_gguf_tensor_at(im->gguf, i)->name,
                               "no op of the Llama architecture reads this tensor, so the answer would be wrong "
                               "without it; use a plain Llama model");
    }
    return GSRT_OK;
}

static gsrt_status build(import *im)
{
    gsrt_status status = read_identity(im);
    if (status == GSRT_OK)
        status = refuse_unsupported(im);
    if (status == GSRT_OK)
        status = read_shape(im);
    if (status == GSRT_OK)
        status = read_scales(im);
    if (status == GSRT_OK)
        status = read_vocab(im);
    im->layer = GSRT_NO_INDEX;
    if (status == GSRT_OK)
        status = read_rope(im);
    uint32_t x = GSRT_NO_INDEX;
    if (status == GSRT_OK)
        status = add_embedding(im, &x);
    for (uint32_t i = 0; i < im->workload->layer_count && status == GSRT_OK; i++) {
        im->layer = i;
        status = add_layer(im, x, &x);
    }
    im->layer = GSRT_NO_INDEX;
    if (status == GSRT_OK)
        status = add_output(im, x);
    if (status == GSRT_OK)
        status = refuse_unused(im);
    return status == GSRT_OK ? gsrt_workload_check(im->workload, gsrt_gguf_name(im->gguf), im->diag) : status;
}

gsrt_status gsrt_import_gguf(const gsrt_gguf *gguf, gsrt_workload **out, gsrt_diag *diag)
{
import im = {.gguf = gguf, .diag = diag, .workload = gsrt_workload_create(), .is_used = calloc((size_t) gsrt_gguf_tensor_count(gguf) + 1, sizeof(bool)) };
    gsrt_status status = im.workload == NULL || im.is_used == NULL ? fail_memory(&im) : build(&im);
    free(im.is_used);
    if (status == GSRT_OK)
        *out = im.workload;
    else
        gsrt_workload_free(im.workload);
    return status;
}
