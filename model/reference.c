#include "model/reference.h"

#include <assert.h>
#include <stdlib.h>

#include "backends/numerics.h"
#include "backends/oracle.h"
#include "model/narrow.h"

/* How a region's pass differs from the workload. */
typedef struct rounding {
    gsrt_dtype state, inputs;
} rounding;

struct gsrt_reference {
    const gsrt_workload *workload;
    const gsrt_weights *weights;
    uint32_t position_count;
    uint32_t next;            /* positions 0 .. next - 1 are in the cache */
    float **values;           /* [value_count] each [width] */
    float *memory;            /* of all values */
    float *keys;              /* [layer][position][kv_head][head_dim] */
    float *contents;          /* the V of KV, same shape */
    gsrt_q8_block *quantised; /* [widest value / 32] */
    float *rounded;           /* [widest value] inputs, where they are rounded */
    gsrt_matrix *matrices;    /* [tensor_count] */
    gsrt_matrix *replaced;    /* [op_count]; rows NULL: the tensor's */
    rounding *roundings;      /* [region_count]; F32 is 0 */
    gsrt_rope_table **ropes;  /* [op_count]; only the first op of each kind of RoPE owns one */
};

/* Equal field by field: two ops with the same RoPE share a table. */
static bool is_same_rope(const gsrt_rope *a, const gsrt_rope *b)
{
    return a->is_neox == b->is_neox && a->dim_rotated == b->dim_rotated && a->base == b->base && a->scale == b->scale &&
           a->factors_tensor == b->factors_tensor && a->is_yarn == b->is_yarn &&
           a->context_original == b->context_original && a->yarn_extension_factor == b->yarn_extension_factor &&
           a->yarn_attention_factor == b->yarn_attention_factor && a->yarn_beta_fast == b->yarn_beta_fast &&
           a->yarn_beta_slow == b->yarn_beta_slow;
}

/* The first op whose RoPE equals that of `op`. */
static uint32_t rope_owner(const gsrt_workload *w, uint32_t op)
{
    uint32_t first = 0;
    while (w->ops[first].kind != GSRT_OP_ROPE || w->ops[first].head_dim != w->ops[op].head_dim ||
           !is_same_rope(w->ops[first].rope, w->ops[op].rope))
        first++;
    return first;
}

static gsrt_status create_ropes(gsrt_reference *r)
{
    const gsrt_workload *w = r->workload;
    for (uint32_t i = 0; i < w->op_count; i++) {
        if (w->ops[i].kind != GSRT_OP_ROPE || rope_owner(w, i) != i)
            continue;
        const gsrt_rope *rope = w->ops[i].rope;
        gsrt_rope_options options = {.is_neox = rope->is_neox,
                                     .head_dim = w->ops[i].head_dim,
                                     .dim_rotated = rope->dim_rotated,
                                     .base = rope->base,
                                     .scale = rope->scale,
                                     .factors = rope->factors_tensor == GSRT_NO_INDEX
                                                    ? NULL
                                                    : gsrt_weights_vector(r->weights, rope->factors_tensor),
                                     .is_yarn = rope->is_yarn,
                                     .context_original = rope->context_original,
                                     .yarn_extension_factor = rope->yarn_extension_factor,
                                     .yarn_attention_factor = rope->yarn_attention_factor,
                                     .yarn_beta_fast = rope->yarn_beta_fast,
                                     .yarn_beta_slow = rope->yarn_beta_slow,
                                     .position_count = r->position_count};
        r->ropes[i] = gsrt_rope_table_create(&options);
        if (r->ropes[i] == NULL)
            return GSRT_ENOMEM;
    }
    return GSRT_OK;
}

static gsrt_status create_values(gsrt_reference *r)
{
    const gsrt_workload *w = r->workload;
    size_t total = 0, widest = 0, at = 0;
    for (uint32_t i = 0; i < w->value_count; i++) {
        total += w->values[i].width;
        widest = w->values[i].width > widest ? w->values[i].width : widest;
    }
    r->memory = calloc(total + 1, sizeof(float));
    r->values = calloc((size_t)w->value_count + 1, sizeof(float *));
    r->quantised = calloc(widest / 32 + 1, sizeof(gsrt_q8_block));
    r->rounded = calloc(widest + 1, sizeof(float));
    size_t cached;
    if (r->memory == NULL || r->values == NULL || r->quantised == NULL || r->rounded == NULL ||
        !gsrt_size_mul((size_t)w->kv_head_count * w->head_dim * w->layer_count, r->position_count, &cached))
        return GSRT_ENOMEM;
    r->keys = calloc(cached, sizeof(float));
    r->contents = calloc(cached, sizeof(float));
    for (uint32_t i = 0; i < w->value_count; i++) {
        r->values[i] = r->memory + at;
        at += w->values[i].width;
    }
    return r->keys == NULL || r->contents == NULL ? GSRT_ENOMEM : GSRT_OK;
}

/* Every tensor as a whole matrix; k_group is filled in by the op that uses it. */
static gsrt_status create_matrices(gsrt_reference *r)
{
    const gsrt_workload *w = r->workload;
    r->matrices = calloc((size_t)w->tensor_count + 1, sizeof(gsrt_matrix));
    r->replaced = calloc((size_t)w->op_count + 1, sizeof(gsrt_matrix));
    r->roundings = calloc((size_t)w->region_count + 1, sizeof(rounding));
    r->ropes = calloc((size_t)w->op_count + 1, sizeof(gsrt_rope_table *));
    if (r->matrices == NULL || r->replaced == NULL || r->roundings == NULL || r->ropes == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < w->tensor_count; i++) {
        const gsrt_tensor *t = &w->tensors[i];
        gsrt_matrix *m = &r->matrices[i];
        m->name = t->name;
        m->dtype = t->dtype;
        m->row_count = t->row_count;
        m->k_total = m->k_count = t->column_count;
        m->k_group = 1;
        m->rows = gsrt_weights_rows(r->weights, i, 0, t->row_count, NULL);
        m->row_stride_bytes = gsrt_weights_row_bytes(r->weights, i);
    }
    return GSRT_OK;
}

gsrt_status gsrt_reference_create(const gsrt_weights *weights, uint32_t position_count, gsrt_reference **out)
{
    const gsrt_workload *workload = gsrt_weights_workload(weights);
    if (position_count == 0 || position_count > workload->context_max)
        return GSRT_EINVAL;
    gsrt_reference *r = calloc(1, sizeof *r);
    if (r == NULL)
        return GSRT_ENOMEM;
    r->workload = workload;
    r->weights = weights;
    r->position_count = position_count;
    gsrt_status status = create_values(r);
    if (status == GSRT_OK)
        status = create_matrices(r);
    if (status == GSRT_OK)
        status = create_ropes(r);
    if (status == GSRT_OK)
        *out = r;
    else
        gsrt_reference_free(r);
    return status;
}

gsrt_reference *gsrt_reference_free(gsrt_reference *reference)
{
    if (reference == NULL)
        return NULL;
    for (uint32_t i = 0; reference->ropes != NULL && i < reference->workload->op_count; i++)
        gsrt_rope_table_free(reference->ropes[i]);
    free(reference->ropes);
    free(reference->matrices);
    free(reference->replaced);
    free(reference->roundings);
    free(reference->quantised);
    free(reference->rounded);
    free(reference->keys);
    free(reference->contents);
    free(reference->values);
    free(reference->memory);
    free(reference);
    return NULL;
}

/* ---- what validation changes ---- */

void gsrt_reference_replace(gsrt_reference *reference, uint32_t op, gsrt_dtype dtype, const uint8_t *rows)
{
    gsrt_matrix *m = &reference->replaced[op];
    *m = reference->matrices[reference->workload->ops[op].tensor];
    m->dtype = dtype;
    m->rows = rows;
    m->row_stride_bytes = (uint64_t)m->k_total / gsrt_dtype_block(dtype) * gsrt_dtype_block_bytes(dtype);
}

void gsrt_reference_round(gsrt_reference *reference, uint32_t region, gsrt_dtype state, gsrt_dtype inputs)
{
    reference->roundings[region] = (rounding){.state = state, .inputs = inputs};
}

const float *gsrt_reference_value(const gsrt_reference *reference, uint32_t value)
{
    return reference->values[value];
}

static gsrt_matrix *matrix_of(gsrt_reference *r, const gsrt_op *op)
{
    gsrt_matrix *replaced = &r->replaced[op - r->workload->ops];
    return replaced->rows != NULL ? replaced : &r->matrices[op->tensor];
}

/* ---- ops ---- */

static void run_linear(gsrt_reference *r, const gsrt_op *op)
{
    gsrt_matrix *m = matrix_of(r, op);
    const float *x = r->values[op->in[0]];
    gsrt_dtype inputs = r->roundings[op->region].inputs;
    if (inputs != GSRT_DTYPE_F32) {
        gsrt_narrow_round(x, m->k_total, inputs, r->rounded);
        x = r->rounded;
    }
    const void *in = x;
    m->k_group = op->k_group;
    if (gsrt_dtype_is_quantised(m->dtype)) {
        gsrt_oracle_quantise(x, m->k_total, r->quantised);
        in = r->quantised;
    }
    const float *bias = op->bias == GSRT_NO_INDEX ? NULL : gsrt_weights_vector(r->weights, op->bias);
    gsrt_oracle_linear(m, in, bias, r->values[op->out]);
}

static gsrt_status run_rope(gsrt_reference *r, const gsrt_op *op, uint32_t position)
{
    const gsrt_workload *w = r->workload;
    float *x = r->values[op->out];
    uint32_t width = w->values[op->out].width;
    if (op->out != op->in[0])
        memcpy(x, r->values[op->in[0]], width * sizeof(float));
    const gsrt_rope_table *table = r->ropes[rope_owner(w, (uint32_t)(op - w->ops))];
    return gsrt_oracle_rope(x, width / op->head_dim, op->head_dim, table, position) ? GSRT_OK : GSRT_ENOMEM;
}

static void run_attention(gsrt_reference *r, const gsrt_op *op, uint32_t position)
{
    const gsrt_workload *w = r->workload;
    size_t stride = (size_t)w->kv_head_count * w->head_dim;
    float *keys = r->keys + stride * r->position_count * op->layer;
    float *contents = r->contents + stride * r->position_count * op->layer;
    const rounding *how = &r->roundings[op->region];
    const float *query = r->values[op->in[0]];
    gsrt_narrow_round(r->values[op->in[1]], stride, how->inputs, keys + stride * position);
    gsrt_narrow_round(keys + stride * position, stride, how->state, keys + stride * position);
    gsrt_narrow_round(r->values[op->in[2]], stride, how->inputs, contents + stride * position);
    gsrt_narrow_round(contents + stride * position, stride, how->state, contents + stride * position);
    if (how->inputs != GSRT_DTYPE_F32) {
        gsrt_narrow_round(query, (size_t)w->head_count * w->head_dim, how->inputs, r->rounded);
        query = r->rounded;
    }
    for (uint32_t head = 0; head < w->head_count; head++) {
        size_t kv = (size_t)gsrt_kv_head_of(w, head) * w->head_dim;
        gsrt_oracle_attention(query + (size_t)head * w->head_dim, keys + kv, contents + kv, stride, w->head_dim,
                              position + 1, op->scale, r->values[op->out] + (size_t)head * w->head_dim);
    }
}

static gsrt_status run_op(gsrt_reference *r, const gsrt_op *op, uint32_t token, uint32_t position)
{
    float *out = r->values[op->out];
    uint32_t width = r->workload->values[op->out].width;
    switch (op->kind) {
    case GSRT_OP_EMBED: gsrt_oracle_embed(matrix_of(r, op), token, out); break;
    case GSRT_OP_RMSNORM:
        gsrt_oracle_rmsnorm(r->values[op->in[0]], gsrt_weights_vector(r->weights, op->tensor), width, op->epsilon, out);
        break;
    case GSRT_OP_LINEAR:
    case GSRT_OP_LOGITS: run_linear(r, op); break;
    case GSRT_OP_ROPE: return run_rope(r, op, position);
    case GSRT_OP_ATTENTION: run_attention(r, op, position); break;
    case GSRT_OP_SWIGLU: gsrt_oracle_swiglu(r->values[op->in[0]], r->values[op->in[1]], width, out); break;
    case GSRT_OP_ADD: gsrt_oracle_add(r->values[op->in[0]], r->values[op->in[1]], width, out); break;
    case GSRT_OP_LAYERNORM:
    case GSRT_OP_POSITION:
    case GSRT_OP_SCALE:
    case GSRT_OP_GELU:
    case GSRT_OP_GEGLU:
    case GSRT_OP_LATENT_ATTENTION:
    case GSRT_OP_ROUTE:
    case GSRT_OP_EXPERT_LINEAR:
    case GSRT_OP_COMBINE: assert(false && "refused by gsrt_weights_create"); break;
    }
    return GSRT_OK;
}

gsrt_status gsrt_reference_step(gsrt_reference *reference, uint32_t token, uint32_t position, const float **out_logits)
{
    const gsrt_workload *w = reference->workload;
    if (token >= w->vocab_count || position > reference->next || position >= reference->position_count)
        return GSRT_EINVAL;
    uint32_t mxcsr = gsrt_mxcsr_set();
    gsrt_status status = GSRT_OK;
    uint32_t region_count = out_logits == NULL ? w->region_count - 1 : w->region_count;
    for (uint32_t i = 0; i < region_count; i++) {
        const gsrt_region *region = &w->regions[i];
        for (uint32_t k = 0; k < region->op_count && status == GSRT_OK; k++)
            status = run_op(reference, &w->ops[region->op_first + k], token, position);
    }
    gsrt_mxcsr_restore(mxcsr);
    if (status != GSRT_OK)
        return status;
    reference->next = position + 1;
    if (out_logits != NULL)
        *out_logits = reference->values[w->regions[w->region_count - 1].out];
    return GSRT_OK;
}
