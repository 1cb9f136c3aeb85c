/* Rule 5 of workload_check.c: what each kind of op demands of its values, tensors and states. */
#include <math.h>

#include "placement/workload_impl.h"

typedef gsrt__workload_check check;

/* What a kind has. Inputs: at least, at most. */
typedef struct demand {
    uint8_t inputs_min, inputs_max;
    bool has_tensor, has_bias, has_state, has_head_dim; /* a bias, and where it may be none a tensor, may be missing */
    bool is_tensor_optional;
} demand;

static const demand demands[GSRT_OP_KIND_COUNT] = {
    [GSRT_OP_EMBED] = {.has_tensor = true},
    [GSRT_OP_RMSNORM] = {.inputs_min = 1, .inputs_max = 1, .has_tensor = true, .has_head_dim = true},
    [GSRT_OP_LINEAR] = {.inputs_min = 1, .inputs_max = 1, .has_tensor = true, .has_bias = true},
    [GSRT_OP_ROPE] = {.inputs_min = 1, .inputs_max = 1, .has_head_dim = true},
    [GSRT_OP_ATTENTION] = {.inputs_min = 3,
                           .inputs_max = 3,
                           .has_tensor = true,
                           .is_tensor_optional = true,
                           .has_state = true,
                           .has_head_dim = true},
    [GSRT_OP_SWIGLU] = {.inputs_min = 2, .inputs_max = 2},
    [GSRT_OP_ADD] = {.inputs_min = 2, .inputs_max = 2},
    [GSRT_OP_LOGITS] = {.inputs_min = 1, .inputs_max = 1, .has_tensor = true, .has_bias = true},
    [GSRT_OP_LAYERNORM] = {.inputs_min = 1, .inputs_max = 1, .has_tensor = true, .has_bias = true},
    [GSRT_OP_POSITION] = {.inputs_min = 1, .inputs_max = 1, .has_tensor = true},
    [GSRT_OP_SCALE] = {.inputs_min = 1, .inputs_max = 2},
    [GSRT_OP_GELU] = {.inputs_min = 1, .inputs_max = 1},
    [GSRT_OP_GEGLU] = {.inputs_min = 2, .inputs_max = 2},
    [GSRT_OP_LATENT_ATTENTION] =
        {.inputs_min = 3, .inputs_max = 3, .has_tensor = true, .has_state = true, .has_head_dim = true},
    [GSRT_OP_ROUTE] = {.inputs_min = 1, .inputs_max = 1, .has_tensor = true, .has_bias = true},
    [GSRT_OP_EXPERT_LINEAR] = {.inputs_min = 2, .inputs_max = 2, .has_tensor = true, .has_bias = true},
    [GSRT_OP_COMBINE] = {.inputs_min = 2, .inputs_max = 2},
};

static gsrt_status fail(const check *c, const gsrt_op *op, const char *what)
{
    return gsrt__workload_fail_op(c, op, what);
}

static const gsrt_value *input(const check *c, const gsrt_op *op, int index)
{
    return &c->workload->values[op->in[index]];
}

/* It has what its kind reads, and nothing else. */
static gsrt_status check_demand(const check *c, const gsrt_op *op)
{
    const demand *d = &demands[op->kind];
    for (uint32_t i = 0; i < 3; i++) {
        if (op->in[i] == GSRT_NO_INDEX ? i < d->inputs_min : i >= d->inputs_max)
            return fail(c, op, i < d->inputs_min ? "an input is missing" : "it has more inputs than its kind reads");
    }
    if (op->tensor == GSRT_NO_INDEX ? d->has_tensor && !d->is_tensor_optional
                                    : !d->has_tensor || op->tensor >= c->workload->tensor_count)
        return fail(c, op, "the tensor is missing, or its kind reads none");
    if (op->bias != GSRT_NO_INDEX && (!d->has_bias || op->bias >= c->workload->tensor_count))
        return fail(c, op, "the bias is missing, or its kind reads none");
    if (op->state == GSRT_NO_INDEX ? d->has_state : !d->has_state || op->state >= c->workload->state_count)
        return fail(c, op, "the state is missing, or its kind has none");
    if (op->head_dim != 0 && !d->has_head_dim)
        return fail(c, op, "its kind does not work on heads");
    if ((op->rope != NULL) != (op->kind == GSRT_OP_ROPE) || (op->routing != NULL) != (op->kind == GSRT_OP_ROUTE))
        return fail(c, op, "the rotation or the routing is missing, or its kind has none");
    if (!isfinite(op->epsilon) || !isfinite(op->gain_offset) || !isfinite(op->scale) || !(op->softcap >= 0) ||
        !isfinite(op->softcap) || !(op->limit >= 0) || !isfinite(op->limit))
        return fail(c, op, "a constant is not finite, or negative");
    return GSRT_OK;
}

static bool has_shape(const check *c, uint32_t tensor, uint32_t stack, uint32_t rows, uint32_t columns)
{
    const gsrt_tensor *t = tensor < c->workload->tensor_count ? &c->workload->tensors[tensor] : NULL;
    return t != NULL && t->stack_count == stack && t->row_count == rows && t->column_count == columns;
}

static bool is_vector(const check *c, uint32_t tensor, uint32_t count)
{
    return has_shape(c, tensor, 1, 1, count) && gsrt_dtype_block(c->workload->tensors[tensor].dtype) == 1;
}

static gsrt_status check_linear(const check *c, const gsrt_op *op, const gsrt_value *in, const gsrt_value *out)
{
    if (!has_shape(c, op->tensor, 1, out->width, in->width))
        return fail(c, op, "the tensor is not [outputs, inputs] of its values");
    if (op->bias != GSRT_NO_INDEX && !is_vector(c, op->bias, out->width))
        return fail(c, op, "the bias is no vector of the outputs");
    if (op->k_group == 0 || in->width % op->k_group != 0)
        return fail(c, op, "the inputs are no whole number of groups");
    return GSRT_OK;
}

static gsrt_status check_norm(const check *c, const gsrt_op *op, const gsrt_value *in, const gsrt_value *out)
{
    uint32_t width = op->head_dim > 0 ? op->head_dim : in->width;
    if (!is_vector(c, op->tensor, width) || in->width % width != 0 || out->width != in->width)
        return fail(c, op, "the tensor is no vector as long as its input, or as a head");
    if (op->bias != GSRT_NO_INDEX && !is_vector(c, op->bias, width))
        return fail(c, op, "the bias is no vector as long as its input");
    return op->epsilon >= 0 ? GSRT_OK : fail(c, op, "epsilon must not be negative");
}

static gsrt_status check_rope(const check *c, const gsrt_op *op, const gsrt_value *in, const gsrt_value *out)
{
    const gsrt_rope *rope = op->rope;
    if (op->head_dim == 0 || in->width % op->head_dim != 0 || in->width != out->width || in->is_kv != out->is_kv ||
        in->split != out->split || in->unit != out->unit || (in->unit != op->head_dim && in->split != GSRT_SPLIT_NONE))
        return fail(c, op, "it must rotate heads");
    if (rope->dim_rotated == 0 || rope->dim_rotated % 2 != 0 || rope->dim_rotated > op->head_dim ||
        rope->dim_first > op->head_dim - rope->dim_rotated)
        return fail(c, op, "the number of rotated elements is odd, 0 or above the head size");
    if (!(rope->base > 0) || !isfinite(rope->base) || !(rope->scale > 0) || !isfinite(rope->scale))
        return fail(c, op, "base and scale must be positive");
    if (rope->factors_tensor != GSRT_NO_INDEX && !is_vector(c, rope->factors_tensor, rope->dim_rotated / 2))
        return fail(c, op, "the frequency factors are no vector with one number per rotated pair");
    if (!isfinite(rope->yarn_extension_factor) || !isfinite(rope->yarn_attention_factor) ||
        !isfinite(rope->yarn_beta_fast) || !isfinite(rope->yarn_beta_slow))
        return fail(c, op, "the YaRN parameters are not usable");
    if (rope->is_yarn && (rope->context_original == 0 || !(rope->yarn_beta_fast > 0) || !(rope->yarn_beta_slow > 0)))
        return fail(c, op, "the YaRN parameters are not usable");
    return GSRT_OK;
}

static bool is_heads(const gsrt_value *value, bool is_kv, uint32_t unit)
{
    return value->split == GSRT_SPLIT_HEADS && value->is_kv == is_kv && value->unit == unit;
}

/* Head sizes, state and scale: of both kinds of attention. */
static gsrt_status check_attention_state(const check *c, const gsrt_op *op, gsrt_state_kind kind, uint32_t key_width,
                                         uint32_t value_width)
{
    const gsrt_workload *w = c->workload;
    if (op->head_dim != w->head_dim || op->layer >= w->layer_count || !(op->scale > 0))
        return fail(c, op, "head size, layer or scale is wrong");
    const gsrt_state *state = &w->states[op->state];
    if (state->kind != kind || state->layer != op->layer || state->key_width != key_width ||
        state->value_width != value_width)
        return fail(c, op, "the state is not of its layer, or not as wide as what is stored");
    return GSRT_OK;
}

static gsrt_status check_attention(const check *c, const gsrt_op *op, const gsrt_value *out)
{
    const gsrt_workload *w = c->workload;
    const gsrt_value *k = input(c, op, 1), *v = input(c, op, 2);
    if (!is_heads(input(c, op, 0), false, w->head_dim) || !is_heads(k, true, w->head_dim) ||
        !is_heads(v, true, w->value_head_dim) || !is_heads(out, false, w->value_head_dim))
        return fail(c, op, "query, key, value and output must be split by heads");
    if (op->tensor != GSRT_NO_INDEX && !is_vector(c, op->tensor, w->head_count))
        return fail(c, op, "the sinks are no vector of the heads");
    return check_attention_state(c, op, GSRT_STATE_KV, k->width, v->width);
}

static gsrt_status check_latent_attention(const check *c, const gsrt_op *op, const gsrt_value *out)
{
    const gsrt_workload *w = c->workload;
    const gsrt_value *latent = input(c, op, 1), *key = input(c, op, 2);
    if (!is_heads(input(c, op, 0), false, w->head_dim) || latent->split != GSRT_SPLIT_NONE ||
        key->split != GSRT_SPLIT_NONE || key->width >= w->head_dim || !is_heads(out, false, w->value_head_dim))
        return fail(c, op, "query and output must be split by heads, the latent and the shared key not at all");
    uint32_t rows = w->head_count * (w->head_dim - key->width + w->value_head_dim);
    if (!has_shape(c, op->tensor, 1, rows, latent->width))
        return fail(c, op, "the tensor is not [heads * (rest of the key + value), latent]");
    return check_attention_state(c, op, GSRT_STATE_LATENT, key->width, latent->width);
}

static gsrt_status check_route(const check *c, const gsrt_op *op, const gsrt_value *in, const gsrt_value *out)
{
    const gsrt_routing *r = op->routing;
    if (out->width != r->expert_count || !has_shape(c, op->tensor, 1, r->expert_count, in->width))
        return fail(c, op, "the tensor is not [experts, inputs]");
    if (op->bias != GSRT_NO_INDEX && !is_vector(c, op->bias, r->expert_count))
        return fail(c, op, "the bias is no vector of the experts");
    if (r->correction_tensor != GSRT_NO_INDEX && !is_vector(c, r->correction_tensor, r->expert_count))
        return fail(c, op, "the correction is no vector of the experts");
    if (r->chosen_count == 0 || r->chosen_count > r->expert_count || (unsigned)r->score >= GSRT_SCORE_COUNT ||
        !(r->scale > 0) || !isfinite(r->scale))
        return fail(c, op, "it chooses no expert, or more than there are");
    if (r->group_count == 0 ? r->group_chosen_count != 0
                            : r->expert_count % r->group_count != 0 || r->group_chosen_count == 0 ||
                                  r->group_chosen_count > r->group_count ||
                                  r->chosen_count > r->expert_count / r->group_count * r->group_chosen_count)
        return fail(c, op, "the groups do not divide the experts, or hold too few");
    return GSRT_OK;
}

static gsrt_status check_expert_linear(const check *c, const gsrt_op *op, const gsrt_value *in, const gsrt_value *out)
{
    uint32_t experts = input(c, op, 1)->width;
    if (!has_shape(c, op->tensor, experts, out->width, in->width))
        return fail(c, op, "the tensor is not a stack of [outputs, inputs], one per expert");
    if (op->bias != GSRT_NO_INDEX && (!has_shape(c, op->bias, 1, experts, out->width) ||
                                      gsrt_dtype_block(c->workload->tensors[op->bias].dtype) != 1))
        return fail(c, op, "the bias is not [experts, outputs]");
    return GSRT_OK;
}

/* How many rows the output has, given the first input's; and which rows the others must have. */
static bool are_rows_right(const check *c, const gsrt_op *op, const gsrt_value *out)
{
    if (op->kind == GSRT_OP_EMBED)
        return out->rows == GSRT_ROWS_TOKENS;
    gsrt_rows in = input(c, op, 0)->rows;
    for (int i = 1; i < 3 && op->in[i] != GSRT_NO_INDEX; i++) {
        bool is_routing = op->kind == GSRT_OP_EXPERT_LINEAR || op->kind == GSRT_OP_COMBINE;
        if (input(c, op, i)->rows != (is_routing ? GSRT_ROWS_TOKENS : in))
            return false;
    }
    switch (op->kind) {
    case GSRT_OP_LOGITS: return in == GSRT_ROWS_TOKENS && out->rows == GSRT_ROWS_WANTED;
    case GSRT_OP_EXPERT_LINEAR:
        return (in == GSRT_ROWS_TOKENS || in == GSRT_ROWS_CHOSEN) && out->rows == GSRT_ROWS_CHOSEN;
    case GSRT_OP_COMBINE: return in == GSRT_ROWS_CHOSEN && out->rows == GSRT_ROWS_TOKENS;
    case GSRT_OP_EMBED:
    case GSRT_OP_RMSNORM:
    case GSRT_OP_LINEAR:
    case GSRT_OP_ROPE:
    case GSRT_OP_ATTENTION:
    case GSRT_OP_SWIGLU:
    case GSRT_OP_ADD:
    case GSRT_OP_LAYERNORM:
    case GSRT_OP_POSITION:
    case GSRT_OP_SCALE:
    case GSRT_OP_GELU:
    case GSRT_OP_GEGLU:
    case GSRT_OP_LATENT_ATTENTION:
    case GSRT_OP_ROUTE: return out->rows == in;
    }
    return false;
}

/* Is the second input a routing? */
static bool reads_routing(const check *c, const gsrt_op *op)
{
    return c->workload->ops[c->writer[op->in[1]]].kind == GSRT_OP_ROUTE;
}

gsrt_status gsrt__workload_check_shape(const check *c, const gsrt_op *op)
{
    const gsrt_workload *w = c->workload;
    if ((unsigned)op->kind >= GSRT_OP_KIND_COUNT)
        return fail(c, op, "unknown kind");
    gsrt_status status = check_demand(c, op);
    if (status != GSRT_OK)
        return status;
    const gsrt_value *in = op->kind == GSRT_OP_EMBED ? NULL : input(c, op, 0), *out = &w->values[op->out];
    if (!are_rows_right(c, op, out))
        return fail(c, op, "the rows of its values do not go together");
    switch (op->kind) {
    case GSRT_OP_EMBED:
        return has_shape(c, op->tensor, 1, w->vocab_count, out->width)
                   ? GSRT_OK
                   : fail(c, op, "the tensor is not [vocabulary, embedding length]");
    case GSRT_OP_POSITION:
        return has_shape(c, op->tensor, 1, w->tensors[op->tensor].row_count, out->width) && in->width == out->width &&
                       w->tensors[op->tensor].row_count >= w->context_max
                   ? GSRT_OK
                   : fail(c, op, "the tensor is not [positions, embedding length], or has too few");
    case GSRT_OP_RMSNORM:
    case GSRT_OP_LAYERNORM: return check_norm(c, op, in, out);
    case GSRT_OP_LOGITS:
        if (out->split != GSRT_SPLIT_VOCAB)
            return fail(c, op, "logits are split by vocabulary");
        return check_linear(c, op, in, out);
    case GSRT_OP_LINEAR: return check_linear(c, op, in, out);
    case GSRT_OP_ROPE: return check_rope(c, op, in, out);
    case GSRT_OP_ATTENTION: return check_attention(c, op, out);
    case GSRT_OP_LATENT_ATTENTION: return check_latent_attention(c, op, out);
    case GSRT_OP_ROUTE: return check_route(c, op, in, out);
    case GSRT_OP_EXPERT_LINEAR:
        return reads_routing(c, op) ? check_expert_linear(c, op, in, out)
                                    : fail(c, op, "its second input is no routing");
    case GSRT_OP_COMBINE:
        return reads_routing(c, op) && in->width == out->width
                   ? GSRT_OK
                   : fail(c, op, "its second input is no routing, or its values differ in width");
    case GSRT_OP_SCALE:
        if (op->in[1] != GSRT_NO_INDEX && (input(c, op, 1)->width != 1 || op->scale != 0))
            return fail(c, op, "it has two factors");
        return in->width == out->width ? GSRT_OK : fail(c, op, "its values differ in width");
    case GSRT_OP_GELU: return in->width == out->width ? GSRT_OK : fail(c, op, "its values differ in width");
    case GSRT_OP_SWIGLU:
    case GSRT_OP_GEGLU:
    case GSRT_OP_ADD:
        return in->width == input(c, op, 1)->width && in->width == out->width
                   ? GSRT_OK
                   : fail(c, op, "its values differ in width");
    }
    return fail(c, op, "unknown kind");
}
