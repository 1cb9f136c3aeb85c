/* A transformer of any shape, built by hand: dense or with experts, keys and values of heads or one latent. */
#include "tests/placement/triples.h"

#include "base/diag.h"
#include "tests/unit.h"

#include <stdio.h>

typedef struct builder {
    const model_shape *s;
    gsrt_workload *w;
    uint32_t layer; /* GSRT_NO_INDEX: none */
} builder;

static const char *name_of(const builder *b, const char *name, char *room, size_t bytes)
{
    if (b->layer == GSRT_NO_INDEX)
        (void)snprintf(room, bytes, "%s", name);
    else
        (void)snprintf(room, bytes, "blk.%u.%s", b->layer, name);
    return room;
}

static uint32_t add_tensor(builder *b, const char *name, gsrt_dtype dtype, uint32_t stack, uint32_t rows,
                           uint32_t columns)
{
    char room[64];
    uint32_t index = 0;
    gsrt_tensor t = {.name = name_of(b, name, room, sizeof room),
                     .dtype = dtype,
                     .stack_count = stack,
                     .row_count = rows,
                     .column_count = columns};
    t.size_bytes = gsrt_tensor_elements(&t) / gsrt_dtype_block(dtype) * gsrt_dtype_block_bytes(dtype);
    ck_assert_int_eq(gsrt_workload_add_tensor(b->w, &t, &index), GSRT_OK);
    return index;
}

static uint32_t add_matrix(builder *b, const char *name, uint32_t rows, uint32_t columns)
{
    return add_tensor(b, name, b->s->weights, 1, rows, columns);
}

static uint32_t add_value(builder *b, const char *name, uint32_t width, gsrt_rows rows, gsrt_split_kind split,
                          uint32_t unit)
{
    char room[64];
    uint32_t index = 0;
    gsrt_value v = {.name = name_of(b, name, room, sizeof room), .width = width, .rows = rows, .split = split};
    v.unit = unit;
    ck_assert_int_eq(gsrt_workload_add_value(b->w, &v, &index), GSRT_OK);
    return index;
}

static uint32_t add_plain(builder *b, const char *name, uint32_t width)
{
    return add_value(b, name, width, GSRT_ROWS_TOKENS, GSRT_SPLIT_NONE, 0);
}

/* Chunks of 32, the last one short where the width is no multiple. */
static uint32_t add_chunks(builder *b, const char *name, uint32_t width, gsrt_rows rows)
{
    return add_value(b, name, width, rows, GSRT_SPLIT_OUTPUT, width < 32 ? width : 32);
}

static uint32_t add_heads(builder *b, const char *name, bool is_kv)
{
    uint32_t heads = is_kv ? b->w->kv_head_count : b->w->head_count;
    uint32_t index = add_value(b, name, heads * b->s->head_dim, GSRT_ROWS_TOKENS, GSRT_SPLIT_HEADS, b->s->head_dim);
    b->w->values[index].is_kv = is_kv;
    return index;
}

static gsrt_op blank(const builder *b, gsrt_op_kind kind)
{
    gsrt_op op = {.kind = kind, .region = b->w->region_count, .layer = b->layer, .state = GSRT_NO_INDEX, .k_group = 1};
    for (int i = 0; i < 3; i++)
        op.in[i] = GSRT_NO_INDEX;
    op.tensor = op.bias = GSRT_NO_INDEX;
    return op;
}

static uint32_t add_op(builder *b, const gsrt_op *op)
{
    uint32_t index;
    ck_assert_int_eq(gsrt_workload_add_op(b->w, op, &index), GSRT_OK);
    return op->out;
}

static uint32_t add_linear(builder *b, gsrt_op_kind kind, uint32_t in, uint32_t tensor, uint32_t k_group, uint32_t out)
{
    gsrt_op op = blank(b, kind);
    op.in[0] = in;
    op.tensor = tensor;
    op.k_group = k_group;
    op.out = out;
    return add_op(b, &op);
}

static uint32_t add_norm(builder *b, const char *name, uint32_t in)
{
    gsrt_op op = blank(b, GSRT_OP_RMSNORM);
    op.in[0] = in;
    op.tensor = add_tensor(b, name, GSRT_DTYPE_F32, 1, 1, b->s->dim);
    op.epsilon = 1e-5f;
    op.out = add_plain(b, name, b->s->dim);
    return add_op(b, &op);
}

static uint32_t add_two(builder *b, gsrt_op_kind kind, uint32_t left, uint32_t right, uint32_t out)
{
    gsrt_op op = blank(b, kind);
    op.in[0] = left;
    op.in[1] = right;
    op.out = out;
    return add_op(b, &op);
}

static void add_rope(builder *b, uint32_t value, uint32_t dim)
{
    gsrt_rope rope = {.dim_rotated = dim, .base = 10000, .scale = 1, .factors_tensor = GSRT_NO_INDEX};
    gsrt_op op = blank(b, GSRT_OP_ROPE);
    op.in[0] = op.out = value;
    op.head_dim = dim;
    op.rope = &rope;
    (void)add_op(b, &op);
}

static uint32_t add_state(builder *b, gsrt_state_kind kind, uint32_t key_width, uint32_t value_width)
{
    char room[64];
    uint32_t index;
    gsrt_state state = {.name = name_of(b, "kv", room, sizeof room), .kind = kind, .layer = b->layer};
    state.dtype = b->s->state;
    state.key_width = key_width;
    state.value_width = value_width;
    state.window = b->layer % 2 == 1 ? b->s->window : 0;
    ck_assert_int_eq(gsrt_workload_add_state(b->w, &state, &index), GSRT_OK);
    return index;
}

static uint32_t add_attention(builder *b, uint32_t normed)
{
    const model_shape *s = b->s;
    uint32_t head_dim = s->head_dim, kv_width = b->w->kv_head_count * head_dim, rotated = 32;
    gsrt_op op = blank(b, s->latent > 0 ? GSRT_OP_LATENT_ATTENTION : GSRT_OP_ATTENTION);
    op.in[0] = add_linear(b, GSRT_OP_LINEAR, normed, add_matrix(b, "q", s->heads * head_dim, s->dim), 1,
                          add_heads(b, "q", false));
    add_rope(b, op.in[0], head_dim);
    if (s->latent > 0) {
        op.in[1] = add_linear(b, GSRT_OP_LINEAR, normed, add_matrix(b, "kv_a", s->latent, s->dim), 1,
                              add_plain(b, "latent", s->latent));
        op.in[2] =
            add_linear(b, GSRT_OP_LINEAR, normed, add_matrix(b, "k_a", rotated, s->dim), 1, add_plain(b, "k", rotated));
        add_rope(b, op.in[2], rotated);
        op.tensor = add_matrix(b, "kv_b", s->heads * (head_dim - rotated + head_dim), s->latent);
        op.state = add_state(b, GSRT_STATE_LATENT, rotated, s->latent);
    } else {
        op.in[1] =
            add_linear(b, GSRT_OP_LINEAR, normed, add_matrix(b, "k", kv_width, s->dim), 1, add_heads(b, "k", true));
        op.in[2] =
            add_linear(b, GSRT_OP_LINEAR, normed, add_matrix(b, "v", kv_width, s->dim), 1, add_heads(b, "v", true));
        add_rope(b, op.in[1], head_dim);
        op.state = add_state(b, GSRT_STATE_KV, kv_width, kv_width);
    }
    op.scale = 0.125f;
    op.head_dim = head_dim;
    op.out = add_heads(b, "attn", false);
    uint32_t attended = add_op(b, &op);
    return add_linear(b, GSRT_OP_LINEAR, attended, add_matrix(b, "o", s->dim, s->heads * head_dim), head_dim,
                      add_chunks(b, "attn_out", s->dim, GSRT_ROWS_TOKENS));
}

static uint32_t add_dense(builder *b, uint32_t normed)
{
    const model_shape *s = b->s;
    uint32_t gate = add_linear(b, GSRT_OP_LINEAR, normed, add_matrix(b, "gate", s->ffn, s->dim), 1,
                               add_chunks(b, "gate", s->ffn, GSRT_ROWS_TOKENS));
    uint32_t up = add_linear(b, GSRT_OP_LINEAR, normed, add_matrix(b, "up", s->ffn, s->dim), 1,
                             add_chunks(b, "up", s->ffn, GSRT_ROWS_TOKENS));
    uint32_t hidden = add_two(b, GSRT_OP_SWIGLU, gate, up, add_chunks(b, "hidden", s->ffn, GSRT_ROWS_TOKENS));
    return add_linear(b, GSRT_OP_LINEAR, hidden, add_matrix(b, "down", s->dim, s->ffn), 1,
                      add_chunks(b, "ffn", s->dim, GSRT_ROWS_TOKENS));
}

static uint32_t add_expert(builder *b, const char *name, uint32_t in, uint32_t columns, uint32_t routing, uint32_t rows)
{
    gsrt_op op = blank(b, GSRT_OP_EXPERT_LINEAR);
    op.in[0] = in;
    op.in[1] = routing;
    op.tensor = add_tensor(b, name, b->s->weights, b->s->experts, rows, columns);
    op.out = add_chunks(b, name, rows, GSRT_ROWS_CHOSEN);
    return add_op(b, &op);
}

static uint32_t add_experts(builder *b, uint32_t normed)
{
    const model_shape *s = b->s;
    gsrt_routing routing = {.expert_count = s->experts,
                            .chosen_count = s->chosen,
                            .is_renormalised = true,
                            .scale = 1,
                            .correction_tensor = GSRT_NO_INDEX};
    gsrt_op op = blank(b, GSRT_OP_ROUTE);
    op.in[0] = normed;
    op.tensor = add_tensor(b, "router", GSRT_DTYPE_F32, 1, s->experts, s->dim);
    op.routing = &routing;
    op.out = add_plain(b, "routing", s->experts);
    uint32_t chosen = add_op(b, &op);
    uint32_t gate = add_expert(b, "experts.gate", normed, s->dim, chosen, s->ffn);
    uint32_t up = add_expert(b, "experts.up", normed, s->dim, chosen, s->ffn);
    uint32_t hidden = add_two(b, GSRT_OP_SWIGLU, gate, up, add_chunks(b, "experts.hidden", s->ffn, GSRT_ROWS_CHOSEN));
    uint32_t down = add_expert(b, "experts.down", hidden, s->ffn, chosen, s->dim);
    return add_two(b, GSRT_OP_COMBINE, down, chosen, add_chunks(b, "experts.out", s->dim, GSRT_ROWS_TOKENS));
}

static void add_region(builder *b, const char *name, uint32_t op_first, uint32_t in, uint32_t out)
{
    uint32_t index;
    gsrt_region region = {.name = name,
                          .layer = b->layer,
                          .op_first = op_first,
                          .op_count = b->w->op_count - op_first,
                          .in = in,
                          .out = out};
    gsrt_workload_describe(b->w, &region);
    if (b->s->is_rigid && b->layer == 0)
        region.legal &= (uint32_t)(GSRT_LEGAL_RECOMPUTE | GSRT_LEGAL_CHECKPOINT | GSRT_LEGAL_PAGE);
    ck_assert_int_eq(gsrt_workload_add_region(b->w, &region, &index), GSRT_OK);
}

static uint32_t add_layer(builder *b, uint32_t x)
{
    char name[32];
    uint32_t first = b->w->op_count, dim = b->s->dim;
    uint32_t part = add_attention(b, add_norm(b, "attn_norm", x));
    uint32_t middle = add_two(b, GSRT_OP_ADD, x, part, add_plain(b, "middle", dim));
    uint32_t normed = add_norm(b, "ffn_norm", middle);
    part = b->s->experts > 0 ? add_experts(b, normed) : add_dense(b, normed);
    uint32_t out = add_two(b, GSRT_OP_ADD, middle, part, add_plain(b, "x", dim));
    (void)snprintf(name, sizeof name, "layer.%u", b->layer);
    add_region(b, name, first, x, out);
    return out;
}

gsrt_workload *made_model(const model_shape *shape)
{
    gsrt_diag diag = {0};
    builder b = {.s = shape, .w = gsrt_workload_create(), .layer = GSRT_NO_INDEX};
    gsrt_workload *w = b.w;
    ck_assert_ptr_nonnull(w);
    w->name = "made";
    w->architecture = "made";
    w->layer_count = shape->layers;
    w->dim = shape->dim;
    w->ffn_dim = shape->ffn;
    w->head_count = shape->heads;
    w->kv_head_count = shape->latent > 0 ? shape->heads : shape->kv_heads;
    w->head_dim = w->value_head_dim = shape->head_dim;
    w->vocab_count = shape->vocab;
    w->context_max = shape->context;
    w->output_is_tied = shape->is_tied;
    w->has_weights = shape->has_weights;
    gsrt_op op = blank(&b, GSRT_OP_EMBED);
    op.tensor = add_matrix(&b, "embed", shape->vocab, shape->dim);
    op.out = add_plain(&b, "x", shape->dim);
    uint32_t x = add_op(&b, &op);
    add_region(&b, "embed", 0, GSRT_NO_INDEX, x);
    for (b.layer = 0; b.layer < shape->layers; b.layer++)
        x = add_layer(&b, x);
    b.layer = GSRT_NO_INDEX;
    uint32_t first = w->op_count, normed = add_norm(&b, "output_norm", x);
    uint32_t tensor = shape->is_tied ? op.tensor : add_matrix(&b, "output", shape->vocab, shape->dim);
    uint32_t logits = add_value(&b, "logits", shape->vocab, GSRT_ROWS_WANTED, GSRT_SPLIT_VOCAB, 1);
    (void)add_linear(&b, GSRT_OP_LOGITS, normed, tensor, 1, logits);
    add_region(&b, "output", first, x, logits);
    ck_assert_msg(gsrt_workload_check(w, "made", &diag) == GSRT_OK, "%s", diag.text);
    return w;
}
