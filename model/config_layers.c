/* From a shape to the op list. */
#include <inttypes.h>
#include <stdio.h>

#include "model/config_impl.h"

/* ---- parts of a layer ---- */

static uint32_t add_norm(gsrt__builder *b, const char *module, const char *value, uint32_t in, uint32_t width)
{
    gsrt_op op = gsrt__build_blank(b, b->s->is_layernorm ? GSRT_OP_LAYERNORM : GSRT_OP_RMSNORM);
    op.in[0] = in;
    op.epsilon = b->s->epsilon;
    op.gain_offset = b->s->is_layernorm ? 0 : b->s->gain_offset;
    op.tensor = gsrt__build_vector(b, module, ".weight", width);
    if (b->s->is_layernorm)
        op.bias = gsrt__build_vector(b, module, ".bias", width);
    op.out = gsrt__build_plain(b, value, width);
    return gsrt__build_op(b, &op);
}

static uint32_t add_linear(gsrt__builder *b, uint32_t in, uint32_t tensor, uint32_t bias, uint32_t k_group,
                           uint32_t out)
{
    gsrt_op op = gsrt__build_blank(b, GSRT_OP_LINEAR);
    op.in[0] = in;
    op.tensor = tensor;
    op.bias = bias;
    op.k_group = k_group;
    op.out = out;
    return gsrt__build_op(b, &op);
}

static uint32_t width_of(const gsrt__builder *b, uint32_t value)
{
    return b->status == GSRT_OK ? b->w->values[value].width : 1;
}

/* A matrix of its own, [width of out, width of in]. */
static uint32_t add_projection(gsrt__builder *b, const char *module, uint32_t in, bool has_bias, uint32_t out)
{
    uint32_t tensor =
        gsrt__build_matrix(b, module, gsrt__build_format(b, module, false), 1, width_of(b, out), width_of(b, in));
    uint32_t bias = has_bias ? gsrt__build_vector(b, module, ".bias", width_of(b, out)) : GSRT_NO_INDEX;
    return add_linear(b, in, tensor, bias, 1, out);
}

static uint32_t add_binary(gsrt__builder *b, gsrt_op_kind kind, uint32_t left, uint32_t right, uint32_t out)
{
    gsrt_op op = gsrt__build_blank(b, kind);
    op.in[0] = left;
    op.in[1] = right;
    op.limit = kind == GSRT_OP_SWIGLU ? b->s->swiglu_limit : 0;
    op.out = out;
    return gsrt__build_op(b, &op);
}

static uint32_t add_sum(gsrt__builder *b, const char *name, uint32_t left, uint32_t right)
{
    return add_binary(b, GSRT_OP_ADD, left, right, gsrt__build_plain(b, name, b->s->dim));
}

static uint32_t add_activation(gsrt__builder *b, uint32_t gated, uint32_t raised, uint32_t out)
{
    if (b->s->activation != GSRT_OP_GELU)
        return add_binary(b, b->s->activation, gated, raised, out);
    gsrt_op op = gsrt__build_blank(b, GSRT_OP_GELU);
    op.in[0] = raised;
    op.out = out;
    return gsrt__build_op(b, &op);
}

/* ---- attention ---- */

static void add_rope(gsrt__builder *b, uint32_t value, uint32_t head_dim, uint32_t dim_first)
{
    bool is_local = b->s->has_local_rope && b->s->windows[b->layer] > 0;
    gsrt_rope rope = is_local ? b->s->rope_local : b->s->rope;
    gsrt_op op = gsrt__build_blank(b, GSRT_OP_ROPE);
    if (b->s->position_rows > 0)
        return;
    rope.dim_first = dim_first;
    rope.factors_tensor = is_local ? GSRT_NO_INDEX : b->factors;
    op.in[0] = op.out = value;
    op.head_dim = head_dim;
    op.rope = &rope;
    (void)gsrt__build_op(b, &op);
}

static uint32_t add_state(gsrt__builder *b, gsrt_state_kind kind, uint32_t key_width, uint32_t value_width)
{
    uint32_t index = GSRT_NO_INDEX;
    char name[32];
    (void)snprintf(name, sizeof name, "blk.%" PRIu32 ".kv", b->layer);
    gsrt_state state = {.name = name,
                        .kind = kind,
                        .layer = b->layer,
                        .dtype = b->s->formats.state,
                        .key_width = key_width,
                        .value_width = value_width,
                        .window = b->s->windows[b->layer]};
    if (b->status == GSRT_OK)
        gsrt__build_note(b, gsrt_workload_add_state(b->w, &state, &index));
    return index;
}

/* Query or key, normed where the model does so. */
static uint32_t add_head_norm(gsrt__builder *b, const char *module, const char *name, uint32_t in, bool is_kv)
{
    const gsrt__shape *s = b->s;
    if (s->qk_norm == GSRT__QK_NORM_NONE)
        return in;
    gsrt_op op = gsrt__build_blank(b, GSRT_OP_RMSNORM);
    op.in[0] = in;
    op.epsilon = s->epsilon;
    op.gain_offset = s->gain_offset;
    op.head_dim = s->qk_norm == GSRT__QK_NORM_HEAD ? s->head_dim : 0;
    op.tensor = gsrt__build_vector(b, module, ".weight", op.head_dim > 0 ? op.head_dim : width_of(b, in));
    op.out = gsrt__build_heads(b, name, is_kv, s->head_dim);
    return gsrt__build_op(b, &op);
}

/* Query, key and value: of one fused tensor, or of three. */
static void add_qkv(gsrt__builder *b, uint32_t normed, uint32_t out[3])
{
    static const char *const modules[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
    static const char *const names[] = {"q", "k", "v"}, *const parts[] = {".bias[q]", ".bias[k]", ".bias[v]"};
    const gsrt__shape *s = b->s;
    bool is_gpt2 = s->fusion == GSRT__FUSION_GPT2;
    const char *fused = is_gpt2 ? "attn.c_attn" : "self_attn.qkv_proj";
    uint32_t widths[] = {s->heads * s->head_dim, s->kv_heads * s->head_dim, s->kv_heads * s->head_dim}, row = 0;
    uint32_t base = GSRT_NO_INDEX;
    if (s->fusion != GSRT__FUSION_NONE)
        base = gsrt__build_matrix(b, fused, gsrt__build_format(b, fused, false), 1, widths[0] + widths[1] + widths[2],
                                  s->dim);
    for (int i = 0; i < 3; i++) {
        out[i] = gsrt__build_heads(b, names[i], i > 0, s->head_dim);
        if (s->fusion == GSRT__FUSION_NONE) {
            (void)add_projection(b, modules[i], normed, s->has_qkv_bias, out[i]);
            continue;
        }
        uint32_t view = gsrt__build_view(b, base, names[i], row, widths[i]);
        uint32_t bias = s->has_qkv_bias ? gsrt__build_vector(b, fused, parts[i], widths[i]) : GSRT_NO_INDEX;
        (void)add_linear(b, normed, view, bias, 1, out[i]);
        row += widths[i];
    }
}

static uint32_t add_attention_output(gsrt__builder *b, uint32_t attended)
{
    const gsrt__shape *s = b->s;
    const char *module = s->fusion == GSRT__FUSION_GPT2 ? "attn.c_proj" : "self_attn.o_proj";
    uint32_t tensor =
        gsrt__build_matrix(b, module, gsrt__build_format(b, module, false), 1, s->dim, s->heads * s->value_dim);
    uint32_t bias = s->has_o_bias ? gsrt__build_vector(b, module, ".bias", s->dim) : GSRT_NO_INDEX;
    return add_linear(b, attended, tensor, bias, s->value_dim,
                      gsrt__build_chunks(b, "attn_out", s->dim, GSRT_ROWS_TOKENS));
}

static uint32_t add_attention(gsrt__builder *b, uint32_t normed)
{
    const gsrt__shape *s = b->s;
    gsrt_op op = gsrt__build_blank(b, GSRT_OP_ATTENTION);
    add_qkv(b, normed, op.in);
    op.in[0] = add_head_norm(b, "self_attn.q_norm", "q_normed", op.in[0], false);
    op.in[1] = add_head_norm(b, "self_attn.k_norm", "k_normed", op.in[1], true);
    add_rope(b, op.in[0], s->head_dim, 0);
    add_rope(b, op.in[1], s->head_dim, 0);
    op.state = add_state(b, GSRT_STATE_KV, s->kv_heads * s->head_dim, s->kv_heads * s->head_dim);
    op.tensor = s->has_sinks ? gsrt__build_vector(b, "self_attn.sinks", "", s->heads) : GSRT_NO_INDEX;
    op.scale = s->attention_scale;
    op.softcap = s->attention_softcap;
    op.head_dim = s->head_dim;
    op.out = gsrt__build_heads(b, "attn", false, s->head_dim);
    return add_attention_output(b, gsrt__build_op(b, &op));
}

static uint32_t add_latent_attention(gsrt__builder *b, uint32_t normed)
{
    const gsrt__shape *s = b->s;
    gsrt_op op = gsrt__build_blank(b, GSRT_OP_LATENT_ATTENTION);
    uint32_t query_in = normed;
    if (s->q_rank > 0) {
        query_in = add_projection(b, "self_attn.q_a_proj", normed, false, gsrt__build_plain(b, "q_latent", s->q_rank));
        query_in = add_norm(b, "self_attn.q_a_layernorm", "q_latent_normed", query_in, s->q_rank);
    }
    op.in[0] = add_projection(b, s->q_rank > 0 ? "self_attn.q_b_proj" : "self_attn.q_proj", query_in, false,
                              gsrt__build_heads(b, "q", false, s->head_dim));
    const char *fused = "self_attn.kv_a_proj_with_mqa";
    uint32_t base =
        gsrt__build_matrix(b, fused, gsrt__build_format(b, fused, false), 1, s->kv_rank + s->rope_dim, s->dim);
    uint32_t latent = add_linear(b, normed, gsrt__build_view(b, base, "latent", 0, s->kv_rank), GSRT_NO_INDEX, 1,
                                 gsrt__build_plain(b, "latent", s->kv_rank));
    op.in[2] = add_linear(b, normed, gsrt__build_view(b, base, "key", s->kv_rank, s->rope_dim), GSRT_NO_INDEX, 1,
                          gsrt__build_plain(b, "k", s->rope_dim));
    op.in[1] = add_norm(b, "self_attn.kv_a_layernorm", "latent_normed", latent, s->kv_rank);
    add_rope(b, op.in[0], s->head_dim, s->nope_dim);
    add_rope(b, op.in[2], s->rope_dim, 0);
    op.state = add_state(b, GSRT_STATE_LATENT, s->rope_dim, s->kv_rank);
    const char *expand = "self_attn.kv_b_proj";
    op.tensor = gsrt__build_matrix(b, expand, gsrt__build_format(b, expand, false), 1,
                                   s->heads * (s->nope_dim + s->value_dim), s->kv_rank);
    op.scale = s->attention_scale;
    op.head_dim = s->head_dim;
    op.out = gsrt__build_heads(b, "attn", false, s->value_dim);
    return add_attention_output(b, gsrt__build_op(b, &op));
}

/* ---- feed-forward ---- */

/* Gate, up and down of `width`, under the names of `module`. */
static uint32_t add_gated(gsrt__builder *b, const char *module, uint32_t normed, uint32_t width, const char *out)
{
    char name[3][GSRT_NAME_BYTES_MAX];
    static const char *const parts[] = {"gate_proj", "up_proj", "down_proj"};
    for (int i = 0; i < 3; i++)
        (void)snprintf(name[i], sizeof name[i], "%s.%s", module, parts[i]);
    char value[3][64];
    static const char *const kinds[] = {"gate", "up", "hidden"};
    for (int i = 0; i < 3; i++)
        (void)snprintf(value[i], sizeof value[i], "%s_%s", out, kinds[i]);
    bool has_bias = b->s->has_ffn_bias;
    uint32_t gate = gsrt__build_chunks(b, value[0], width, GSRT_ROWS_TOKENS);
    uint32_t up = gsrt__build_chunks(b, value[1], width, GSRT_ROWS_TOKENS);
    if (b->s->fusion == GSRT__FUSION_ROWS) {
        uint32_t base = gsrt__build_matrix(b, "mlp.gate_up_proj", gsrt__build_format(b, "mlp.gate_up_proj", false), 1,
                                           2 * width, b->s->dim);
        (void)add_linear(b, normed, gsrt__build_view(b, base, "gate", 0, width), GSRT_NO_INDEX, 1, gate);
        (void)add_linear(b, normed, gsrt__build_view(b, base, "up", width, width), GSRT_NO_INDEX, 1, up);
    } else {
        (void)add_projection(b, name[0], normed, has_bias, gate);
        (void)add_projection(b, name[1], normed, has_bias, up);
    }
    uint32_t hidden = add_activation(b, gate, up, gsrt__build_chunks(b, value[2], width, GSRT_ROWS_TOKENS));
    return add_projection(b, name[2], hidden, has_bias, gsrt__build_chunks(b, out, b->s->dim, GSRT_ROWS_TOKENS));
}

static uint32_t add_feed_forward(gsrt__builder *b, uint32_t normed)
{
    const gsrt__shape *s = b->s;
    if (s->activation != GSRT_OP_GELU)
        return add_gated(b, "mlp", normed, s->ffn, "ffn");
    uint32_t up =
        add_projection(b, "mlp.c_fc", normed, true, gsrt__build_chunks(b, "ffn_up", s->ffn, GSRT_ROWS_TOKENS));
    uint32_t hidden =
        add_activation(b, GSRT_NO_INDEX, up, gsrt__build_chunks(b, "ffn_hidden", s->ffn, GSRT_ROWS_TOKENS));
    return add_projection(b, "mlp.c_proj", hidden, true, gsrt__build_chunks(b, "ffn", s->dim, GSRT_ROWS_TOKENS));
}

static uint32_t add_route(gsrt__builder *b, uint32_t normed)
{
    const gsrt__shape *s = b->s;
    gsrt_routing routing = s->routing;
    gsrt_op op = gsrt__build_blank(b, GSRT_OP_ROUTE);
    op.in[0] = normed;
    op.tensor = gsrt__build_matrix(b, s->router_name, s->formats.plain, 1, routing.expert_count, s->dim);
    if (s->has_router_bias)
        op.bias = gsrt__build_vector(b, s->router_name, ".bias", routing.expert_count);
    if (s->has_correction)
        routing.correction_tensor =
            gsrt__build_vector(b, s->router_name, ".e_score_correction_bias", routing.expert_count);
    op.routing = &routing;
    op.out = gsrt__build_plain(b, "routing", routing.expert_count);
    return gsrt__build_op(b, &op);
}

static uint32_t add_expert_linear(gsrt__builder *b, const char *part, uint32_t in, uint32_t routing, uint32_t out)
{
    const gsrt__shape *s = b->s;
    char module[GSRT_NAME_BYTES_MAX];
    (void)snprintf(module, sizeof module, "%s.*.%s", s->experts_name, part);
    gsrt_op op = gsrt__build_blank(b, GSRT_OP_EXPERT_LINEAR);
    op.in[0] = in;
    op.in[1] = routing;
    op.tensor = gsrt__build_matrix(b, module, gsrt__build_format(b, module, true), s->routing.expert_count,
                                   width_of(b, out), width_of(b, in));
    if (s->has_expert_bias) {
        gsrt_tensor bias = {.name = gsrt__build_name(b, module, ".bias"),
                            .dtype = s->formats.plain,
                            .stack_count = 1,
                            .row_count = s->routing.expert_count,
                            .column_count = width_of(b, out)};
        op.bias = gsrt__build_tensor(b, &bias);
    }
    op.out = out;
    return gsrt__build_op(b, &op);
}

/* The experts that all tokens take, beside the chosen ones. */
static uint32_t add_shared(gsrt__builder *b, uint32_t normed, uint32_t mixed)
{
    const gsrt__shape *s = b->s;
    uint32_t shared =
        add_gated(b, s->has_shared_gate ? "mlp.shared_expert" : "mlp.shared_experts", normed, s->shared_ffn, "shared");
    if (s->has_shared_gate) {
        gsrt_op op = gsrt__build_blank(b, GSRT_OP_SCALE);
        uint32_t tensor = gsrt__build_matrix(b, "mlp.shared_expert_gate", s->formats.plain, 1, 1, s->dim);
        op.in[0] = shared;
        op.in[1] = add_linear(b, normed, tensor, GSRT_NO_INDEX, 1, gsrt__build_plain(b, "shared_weight", 1));
        op.out = gsrt__build_chunks(b, "shared_weighed", s->dim, GSRT_ROWS_TOKENS);
        shared = gsrt__build_op(b, &op);
    }
    return add_sum(b, "ffn", mixed, shared);
}

static uint32_t add_experts(gsrt__builder *b, uint32_t normed)
{
    const gsrt__shape *s = b->s;
    uint32_t routing = add_route(b, normed);
    uint32_t gate = gsrt__build_chunks(b, "experts_gate", s->expert_ffn, GSRT_ROWS_CHOSEN);
    uint32_t up = gsrt__build_chunks(b, "experts_up", s->expert_ffn, GSRT_ROWS_CHOSEN);
    (void)add_expert_linear(b, "gate_proj", normed, routing, gate);
    (void)add_expert_linear(b, "up_proj", normed, routing, up);
    uint32_t hidden =
        add_activation(b, gate, up, gsrt__build_chunks(b, "experts_hidden", s->expert_ffn, GSRT_ROWS_CHOSEN));
    uint32_t down = add_expert_linear(b, "down_proj", hidden, routing,
                                      gsrt__build_chunks(b, "experts_down", s->dim, GSRT_ROWS_CHOSEN));
    gsrt_op op = gsrt__build_blank(b, GSRT_OP_COMBINE);
    op.in[0] = down;
    op.in[1] = routing;
    op.out = gsrt__build_chunks(b, "experts", s->dim, GSRT_ROWS_TOKENS);
    uint32_t mixed = gsrt__build_op(b, &op);
    return s->shared_ffn > 0 ? add_shared(b, normed, mixed) : mixed;
}

/* ---- regions ---- */

static void add_region(gsrt__builder *b, const char *name, uint32_t op_first, uint32_t in, uint32_t out)
{
    uint32_t ignored;
    gsrt_region region = {.name = name,
                          .layer = b->layer,
                          .op_first = op_first,
                          .op_count = b->w->op_count - op_first,
                          .in = in,
                          .out = out};
    if (b->status != GSRT_OK)
        return;
    gsrt_workload_describe(b->w, &region);
    gsrt__build_note(b, gsrt_workload_add_region(b->w, &region, &ignored));
    b->region++;
}

static uint32_t add_embedding(gsrt__builder *b)
{
    const gsrt__shape *s = b->s;
    bool is_gpt2 = s->fusion == GSRT__FUSION_GPT2;
    gsrt_op op = gsrt__build_blank(b, GSRT_OP_EMBED);
    op.tensor = gsrt__build_matrix(b, is_gpt2 ? "transformer.wte" : "model.embed_tokens", s->formats.plain, 1, s->vocab,
                                   s->dim);
    op.out = gsrt__build_plain(b, "embed.x", s->dim);
    uint32_t x = gsrt__build_op(b, &op);
    if (s->embedding_scale != 0) {
        op = gsrt__build_blank(b, GSRT_OP_SCALE);
        op.in[0] = x;
        op.scale = s->embedding_scale;
        op.out = gsrt__build_plain(b, "embed.scaled", s->dim);
        x = gsrt__build_op(b, &op);
    }
    if (s->position_rows > 0) {
        op = gsrt__build_blank(b, GSRT_OP_POSITION);
        op.in[0] = x;
        op.tensor = gsrt__build_matrix(b, "transformer.wpe", s->formats.plain, 1, s->position_rows, s->dim);
        op.out = gsrt__build_plain(b, "embed.placed", s->dim);
        x = gsrt__build_op(b, &op);
    }
    add_region(b, "embed", 0, GSRT_NO_INDEX, x);
    return x;
}

static uint32_t add_layer(gsrt__builder *b, uint32_t x)
{
    const gsrt__shape *s = b->s;
    bool is_gpt2 = s->fusion == GSRT__FUSION_GPT2;
    uint32_t op_first = b->w->op_count;
    uint32_t normed = add_norm(b, is_gpt2 ? "ln_1" : "input_layernorm", "attn_norm", x, s->dim);
    uint32_t part = s->kv_rank > 0 ? add_latent_attention(b, normed) : add_attention(b, normed);
    if (s->is_sandwiched)
        part = add_norm(b, "post_attention_layernorm", "attn_out_norm", part, s->dim);
    uint32_t middle = add_sum(b, "attn_x", x, part);
    const char *second = is_gpt2 ? "ln_2" : s->is_sandwiched ? "pre_feedforward_layernorm" : "post_attention_layernorm";
    normed = add_norm(b, second, "ffn_norm", middle, s->dim);
    bool has_experts = s->routing.expert_count > 0 && !s->is_dense[b->layer];
    part = has_experts ? add_experts(b, normed) : add_feed_forward(b, normed);
    if (s->is_sandwiched)
        part = add_norm(b, "post_feedforward_layernorm", "ffn_out_norm", part, s->dim);
    uint32_t out = add_sum(b, "x", middle, part);
    char name[32];
    (void)snprintf(name, sizeof name, "layer.%" PRIu32, b->layer);
    add_region(b, name, op_first, x, out);
    return out;
}

static void add_output(gsrt__builder *b, uint32_t x)
{
    const gsrt__shape *s = b->s;
    uint32_t op_first = b->w->op_count;
    gsrt_op op = gsrt__build_blank(b, GSRT_OP_LOGITS);
    op.in[0] =
        add_norm(b, s->fusion == GSRT__FUSION_GPT2 ? "transformer.ln_f" : "model.norm", "output.norm", x, s->dim);
    op.tensor =
        s->is_tied ? b->w->ops[0].tensor : gsrt__build_matrix(b, "lm_head", s->formats.plain, 1, s->vocab, s->dim);
    op.softcap = s->logits_softcap;
    op.out = gsrt__build_value(b, "logits", s->vocab, GSRT_ROWS_WANTED, GSRT_SPLIT_VOCAB, 1);
    (void)gsrt__build_op(b, &op);
    add_region(b, "output", op_first, x, op.out);
}

gsrt_status gsrt__config_build(const gsrt__shape *shape, const char *file, gsrt_workload *workload, gsrt_diag *diag)
{
    const gsrt__shape *s = shape;
    gsrt__builder b = {
        .s = s, .file = file, .diag = diag, .w = workload, .layer = GSRT_NO_INDEX, .factors = GSRT_NO_INDEX};
    gsrt_workload *w = workload;
    w->layer_count = s->layers;
    w->dim = s->dim;
    w->ffn_dim = s->ffn;
    w->head_count = s->heads;
    w->kv_head_count = s->kv_heads;
    w->head_dim = s->head_dim;
    w->value_head_dim = s->value_dim;
    w->vocab_count = s->vocab;
    w->context_max = s->context;
    w->output_is_tied = s->is_tied;
    if (s->factors != NULL) {
        gsrt_tensor factors = {.name = "rope.factors",
                               .dtype = GSRT_DTYPE_F32,
                               .stack_count = 1,
                               .row_count = 1,
                               .column_count = s->rope.dim_rotated / 2,
                               .is_constant = true};
        b.factors = gsrt__build_tensor(&b, &factors);
    }
    uint32_t x = add_embedding(&b);
    for (uint32_t i = 0; i < s->layers && b.status == GSRT_OK; i++) {
        b.layer = i;
        x = add_layer(&b, x);
    }
    b.layer = GSRT_NO_INDEX;
    if (b.status == GSRT_OK)
        add_output(&b, x);
    return b.status == GSRT_OK ? gsrt_workload_check(w, file, diag) : b.status;
}
