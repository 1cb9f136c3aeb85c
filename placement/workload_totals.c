#include "placement/workload_totals.h"

#include <stdlib.h>

gsrt_op_class gsrt_op_class_of(gsrt_op_kind kind)
{
    switch (kind) {
    case GSRT_OP_EMBED:
    case GSRT_OP_POSITION: return GSRT_OP_CLASS_LOOKUP;
    case GSRT_OP_LINEAR:
    case GSRT_OP_LOGITS:
    case GSRT_OP_ROUTE: return GSRT_OP_CLASS_MATRIX;
    case GSRT_OP_EXPERT_LINEAR: return GSRT_OP_CLASS_EXPERT;
    case GSRT_OP_ATTENTION:
    case GSRT_OP_LATENT_ATTENTION: return GSRT_OP_CLASS_ATTENTION;
    case GSRT_OP_RMSNORM:
    case GSRT_OP_ROPE:
    case GSRT_OP_SWIGLU:
    case GSRT_OP_ADD:
    case GSRT_OP_LAYERNORM:
    case GSRT_OP_SCALE:
    case GSRT_OP_GELU:
    case GSRT_OP_GEGLU:
    case GSRT_OP_COMBINE: return GSRT_OP_CLASS_ELEMENTWISE;
    }
    return GSRT_OP_CLASS_ELEMENTWISE;
}

const char *gsrt_op_class_name(gsrt_op_class op_class)
{
    switch (op_class) {
    case GSRT_OP_CLASS_LOOKUP: return "lookup";
    case GSRT_OP_CLASS_MATRIX: return "matrix";
    case GSRT_OP_CLASS_EXPERT: return "expert";
    case GSRT_OP_CLASS_ATTENTION: return "attention";
    case GSRT_OP_CLASS_ELEMENTWISE: return "elementwise";
    }
    return "?";
}

static uint64_t state_position_bytes(const gsrt_state *state)
{
    return (uint64_t)(state->key_width + state->value_width) / gsrt_dtype_block(state->dtype) *
           gsrt_dtype_block_bytes(state->dtype);
}

uint64_t gsrt_workload_state_bytes(const gsrt_workload *workload, uint32_t positions)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < workload->state_count; i++) {
        const gsrt_state *s = &workload->states[i];
        bytes += state_position_bytes(s) * (s->window > 0 && s->window < positions ? s->window : positions);
    }
    return bytes;
}

/* How a tensor is used. */
enum { USED_BY_TABLE = 1, USED_OTHERWISE = 2 };

static uint32_t own_tensor(const gsrt_workload *w, uint32_t tensor)
{
    return w->tensors[tensor].is_view ? w->tensors[tensor].base : tensor;
}

/* Which part of a stack a token needs: the routing that its experts are chosen by. */
static void note_op(const gsrt_workload *w, const gsrt_op *op, uint32_t *chosen_of_value, uint32_t *chosen_of_tensor,
                    uint8_t *uses)
{
    if (op->kind == GSRT_OP_ROUTE)
        chosen_of_value[op->out] = op->routing->chosen_count;
    if (op->tensor != GSRT_NO_INDEX)
        uses[own_tensor(w, op->tensor)] |= op->kind == GSRT_OP_EMBED ? USED_BY_TABLE : USED_OTHERWISE;
    if (op->kind != GSRT_OP_EXPERT_LINEAR)
        return;
    chosen_of_tensor[own_tensor(w, op->tensor)] = chosen_of_value[op->in[1]];
    if (op->bias != GSRT_NO_INDEX)
        chosen_of_tensor[own_tensor(w, op->bias)] = chosen_of_value[op->in[1]];
}

gsrt_status gsrt_workload_totals_of(const gsrt_workload *workload, gsrt_workload_totals *out)
{
    const gsrt_workload *w = workload;
    uint32_t *chosen = calloc((size_t)w->value_count + w->tensor_count + 1, sizeof *chosen);
    uint8_t *uses = calloc((size_t)w->tensor_count + 1, 1);
    gsrt_workload_totals totals = {.parameters = w->parameter_count};
    gsrt_status status = chosen == NULL || uses == NULL ? GSRT_ENOMEM : GSRT_OK;
    for (uint32_t i = 0; i < w->op_count && status == GSRT_OK; i++) {
        note_op(w, &w->ops[i], chosen, chosen + w->value_count, uses);
        totals.op_counts[gsrt_op_class_of(w->ops[i].kind)]++;
    }
    for (uint32_t i = 0; i < w->tensor_count && status == GSRT_OK; i++) {
        const gsrt_tensor *t = &w->tensors[i];
        uint64_t elements = gsrt_tensor_elements(t), experts = t->stack_count > 1 ? t->stack_count : t->row_count;
        uint32_t needed = chosen[w->value_count + i];
        if (t->is_view || t->is_constant)
            continue;
        totals.weight_bytes += t->size_bytes;
        totals.parameters_active += needed > 0 ? elements / experts * needed : elements;
        totals.parameters_embedding += uses[i] == USED_BY_TABLE ? elements : 0;
    }
    for (uint32_t i = 0; i < w->state_count && status == GSRT_OK; i++) {
        uint64_t bytes = state_position_bytes(&w->states[i]);
        totals.state_bytes_per_position += bytes;
        totals.state_bytes_per_position_later += w->states[i].window == 0 ? bytes : 0;
    }
    free(chosen);
    free(uses);
    if (status == GSRT_OK)
        *out = totals;
    return status;
}
