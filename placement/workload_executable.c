/* What the runtime demands of a workload beyond being right; the backends and the lowering (model/) rely on it. */
#include <stdio.h>

#include "placement/workload.h"

static gsrt_status missing(const char *file, const char *place, const char *what, gsrt_diag *diag)
{
    return gsrt_diag_set(diag, GSRT_EUNSUPPORTED, file, place, "%s; it can be planned for, not run", what);
}

/* NULL: it can be read. */
static const char *missing_for_tensor(const gsrt_tensor *t)
{
    if (!gsrt_dtype_is_computed((uint32_t)t->dtype))
        return "no kernel reads this type";
    if (t->stack_count != 1 || t->layout != GSRT_LAYOUT_ROWS || t->is_view || t->is_constant)
        return "stacks, views, constants and transposed tensors are not read";
    return NULL;
}

static bool is_f32(const gsrt_workload *w, uint32_t tensor)
{
    return tensor == GSRT_NO_INDEX || w->tensors[tensor].dtype == GSRT_DTYPE_F32;
}

/* NULL: there is a kernel. */
static const char *missing_for_op(const gsrt_workload *w, const gsrt_op *op)
{
    static const char vector[] = "norms, biases and factors are read in f32 only";
    switch (op->kind) {
    case GSRT_OP_EMBED:
    case GSRT_OP_ADD: return NULL;
    case GSRT_OP_RMSNORM:
        if (op->head_dim != 0 || op->gain_offset != 0)
            return "there is no kernel for norms of heads, and gains with an offset";
        return is_f32(w, op->tensor) ? NULL : vector;
    case GSRT_OP_LINEAR:
    case GSRT_OP_LOGITS:
        if (op->softcap != 0)
            return "there is no kernel for capped logits";
        return is_f32(w, op->bias) ? NULL : vector;
    case GSRT_OP_ROPE:
        if (op->rope->dim_first != 0 || w->values[op->out].split != GSRT_SPLIT_HEADS)
            return "only the leading elements of split heads are rotated";
        return is_f32(w, op->rope->factors_tensor) ? NULL : vector;
    case GSRT_OP_ATTENTION:
        if (op->softcap != 0 || op->tensor != GSRT_NO_INDEX)
            return "there is no kernel for capped scores and sinks";
        return NULL;
    case GSRT_OP_SWIGLU: return op->limit == 0 ? NULL : "there is no kernel for the clamped form";
    case GSRT_OP_LAYERNORM:
    case GSRT_OP_POSITION:
    case GSRT_OP_SCALE:
    case GSRT_OP_GELU:
    case GSRT_OP_GEGLU:
    case GSRT_OP_LATENT_ATTENTION:
    case GSRT_OP_ROUTE:
    case GSRT_OP_EXPERT_LINEAR:
    case GSRT_OP_COMBINE: break;
    }
    return "there is no kernel for this kind of op";
}

gsrt_status gsrt_workload_executable(const gsrt_workload *workload, const char *file, gsrt_diag *diag)
{
    const gsrt_workload *w = workload;
    char place[GSRT_NAME_BYTES_MAX + 64];
    if (!w->has_weights)
        return missing(file, NULL, "there are no weights", diag);
    if (w->value_head_dim != w->head_dim)
        return missing(file, "head size of values", "it differs from that of keys", diag);
    for (uint32_t i = 0; i < w->op_count; i++) {
        const char *what = missing_for_op(w, &w->ops[i]);
        if (what != NULL) {
            (void)snprintf(place, sizeof place, "op %u (%s in %s)", i, gsrt_op_kind_name(w->ops[i].kind),
                           w->regions[w->ops[i].region].name);
            return missing(file, place, what, diag);
        }
    }
    for (uint32_t i = 0; i < w->tensor_count; i++) {
        const char *what = missing_for_tensor(&w->tensors[i]);
        if (what != NULL) {
            (void)snprintf(place, sizeof place, "tensor '%s'", w->tensors[i].name);
            return missing(file, place, what, diag);
        }
    }
    for (uint32_t i = 0; i < w->state_count; i++) {
        if (w->states[i].dtype != GSRT_DTYPE_F32 || w->states[i].window != 0)
            return missing(file, w->states[i].name, "states are kept in f32 and without a window", diag);
    }
    return GSRT_OK;
}
