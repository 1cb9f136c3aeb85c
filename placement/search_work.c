/* What the layers of a workload amount to under a numeric choice, for bounds and for cutting coarsely: operations,
 * bytes of weights and of state, per layer. Communication and launches are left out, so that every
 * time made from this is at most what the cost model says (docs/planning.md, "Search and bounds").
 */
#include "placement/search_impl.h"
#include "placement/workload_totals.h"

#include <assert.h>

static double tensor_bytes(const gsrt_tensor *t, gsrt_dtype dtype, uint64_t elements)
{
    return (double)(elements / (t->column_count > 0 ? t->column_count : 1)) *
           (double)((t->column_count + gsrt_dtype_block(dtype) - 1) / gsrt_dtype_block(dtype)) *
           (double)gsrt_dtype_block_bytes(dtype);
}

static void add_matrix(const gsrt_workload *w, const gsrt_op *op, const gsrt_region_choice *choice,
                       gsrt__layer_work *out)
{
    const gsrt_tensor *t = &w->tensors[op->tensor];
    double elements = (double)t->row_count * t->column_count;
    double bytes = tensor_bytes(t, gsrt_choice_weights(choice, w, op), (uint64_t)t->row_count * t->column_count);
    if (t->is_constant)
        return;
    if (op->kind == GSRT_OP_EXPERT_LINEAR) {
        out->expert_elements += elements;
        out->expert_bytes += bytes;
        out->expert_count = t->stack_count;
    } else if (op->kind == GSRT_OP_EMBED) {
        out->table_bytes += bytes;
    } else {
        out->matrix_elements += elements;
        out->matrix_bytes += bytes;
    }
}

static void add_attention(const gsrt_workload *w, const gsrt_op *op, const gsrt_region_choice *choice,
                          gsrt__layer_work *out)
{
    const gsrt_state *state = &w->states[op->state];
    gsrt_dtype dtype = choice->state_is_as_given ? state->dtype : choice->state;
    double width = (double)state->key_width + state->value_width;
    double heads = (double)w->values[op->in[0]].width / op->head_dim;
    out->prefill_score_elements += (double)w->values[op->in[0]].width + w->values[op->out].width;
    out->score_elements += state->kind == GSRT_STATE_LATENT
                               ? heads * (2.0 * state->value_width + state->key_width) /* absorbed */
                               : (double)w->values[op->in[0]].width + w->values[op->out].width;
    out->state_bytes += width / (double)gsrt_dtype_block(dtype) * (double)gsrt_dtype_block_bytes(dtype);
    out->window = state->window;
}

/* Elements that norms, sums and activations read and write for each row. */
static void add_elementwise(const gsrt_workload *w, const gsrt_op *op, uint32_t chosen, gsrt__layer_work *out)
{
    const uint32_t values[] = {op->out, op->in[0], op->in[1], op->in[2]};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i] != GSRT_NO_INDEX)
            out->elementwise_elements +=
                (double)w->values[values[i]].width * (w->values[values[i]].rows == GSRT_ROWS_CHOSEN ? chosen : 1);
}

static void add_region(const gsrt_workload *w, uint32_t region, const gsrt_region_choice *choice, gsrt__layer_work *out)
{
    const gsrt_region *r = &w->regions[region];
    for (uint32_t i = r->op_first; i < r->op_first + r->op_count; i++) {
        const gsrt_op *op = &w->ops[i];
        if (op->tensor != GSRT_NO_INDEX &&
            (op->kind == GSRT_OP_LINEAR || op->kind == GSRT_OP_LOGITS || op->kind == GSRT_OP_EXPERT_LINEAR ||
             op->kind == GSRT_OP_EMBED || op->kind == GSRT_OP_ROUTE || op->kind == GSRT_OP_LATENT_ATTENTION))
            add_matrix(w, op, choice, out);
        if (op->kind == GSRT_OP_ATTENTION || op->kind == GSRT_OP_LATENT_ATTENTION)
            add_attention(w, op, choice, out);
        if (gsrt_op_class_of(op->kind) == GSRT_OP_CLASS_ELEMENTWISE)
            add_elementwise(w, op, out->chosen_count > 0 ? out->chosen_count : 1, out);
        if (op->kind == GSRT_OP_ROUTE)
            out->chosen_count = op->routing->chosen_count;
    }
}

gsrt_status gsrt__work_find(gsrt__search *s)
{
    const gsrt_workload *w = s->problem->workload;
    for (uint32_t n = 0; n < s->numeric_count; n++) {
        gsrt__numeric *numeric = &s->numerics[n];
        numeric->layers = gsrt_arena_take(&s->arena, w->layer_count, sizeof *numeric->layers);
        if (numeric->layers == NULL)
            return GSRT_ENOMEM;
        for (uint32_t r = 0; r < w->region_count; r++) {
            bool is_layer = w->regions[r].layer != GSRT_NO_INDEX;
            gsrt__layer_work *to = is_layer                  ? &numeric->layers[w->regions[r].layer]
                                   : r + 1 < w->region_count ? &numeric->embed
                                                             : &numeric->output;
            to->activation_bytes = numeric->choices[r].arithmetic == GSRT_ARITHMETIC_CANONICAL ? 4 : 2;
            add_region(w, r, &numeric->choices[r], to);
        }
        for (uint32_t l = 0; l < w->layer_count; l++) {
            const gsrt__layer_work *layer = &numeric->layers[l];
            s->expert_count = layer->expert_count > s->expert_count ? layer->expert_count : s->expert_count;
        }
    }
    return GSRT_OK;
}

/* Experts that at least one of `rows` tokens chooses, if each chooses evenly. */
static double experts_touched(const gsrt__layer_work *work, double rows)
{
    double missed = 1, base = 1 - (double)work->chosen_count / work->expert_count;
    uint64_t exponent = rows < 1 ? 1 : rows > 1e9 ? 1000000000 : (uint64_t)rows;
    for (double x = base; exponent > 0; exponent >>= 1, x *= x)
        if (exponent & 1)
            missed *= x;
    return work->expert_count * (1 - missed);
}

double gsrt__weight_bytes_read(const gsrt__layer_work *work, double rows)
{
    double experts = work->expert_count > 0 ? experts_touched(work, rows) * work->expert_bytes : 0;
    return work->matrix_bytes + experts;
}

double gsrt__weight_bytes(const gsrt__layer_work *work)
{
    return work->matrix_bytes + work->table_bytes + work->expert_count * work->expert_bytes;
}

double gsrt__row_elements(const gsrt__layer_work *work)
{
    return work->matrix_elements + work->chosen_count * work->expert_elements;
}

double gsrt__state_positions(const gsrt__layer_work *work, double positions)
{
    return work->window > 0 && work->window < positions ? work->window : positions;
}

double gsrt__replica_bytes(const gsrt__search *s, uint32_t numeric, double sequences)
{
    const gsrt__numeric *n = &s->numerics[numeric];
    double bytes = gsrt__weight_bytes(&n->embed) + gsrt__weight_bytes(&n->output);
    for (uint32_t l = 0; l < s->layer_count; l++)
        bytes += gsrt__weight_bytes(&n->layers[l]) +
                 sequences * n->layers[l].state_bytes * gsrt__state_positions(&n->layers[l], s->context_max);
    return bytes;
}
