#include "model/narrowed.h"

#include <stdlib.h>

#include "model/narrow.h"

typedef struct change {
    uint8_t *rows; /* owned; NULL: the op reads its tensor as it is */
    gsrt_dtype held;
} change;

struct gsrt_narrowed {
    uint32_t op_count;
    change *changes; /* [op_count] */
};

gsrt_dtype gsrt_narrowed_inputs(const gsrt_region_choice *choice)
{
    return choice->compute == GSRT_FORMAT_F16    ? GSRT_DTYPE_F16
           : choice->compute == GSRT_FORMAT_BF16 ? GSRT_DTYPE_BF16
                                                 : GSRT_DTYPE_F32;
}

/* The op's matrix rounded to the format of the weights, then to that of the inputs of products. */
static gsrt_status change_op(const gsrt_weights *weights, const gsrt_region_choice *choice, const gsrt_op *op,
                             change *out)
{
    const gsrt_workload *workload = gsrt_weights_workload(weights);
    const gsrt_tensor *t = &workload->tensors[op->tensor];
    gsrt_dtype format = gsrt_choice_weights(choice, workload, op);
    gsrt_dtype inputs = op->kind == GSRT_OP_EMBED ? GSRT_DTYPE_F32 : gsrt_narrowed_inputs(choice);
    gsrt_narrowing narrowing = {.tensor = op->tensor,
                                .weights = format,
                                .held = inputs == GSRT_DTYPE_F32 ? format : inputs,
                                .row_count = t->row_count,
                                .k_count = t->column_count};
    if (narrowing.held == t->dtype)
        return GSRT_OK;
    out->held = narrowing.held;
    out->rows = malloc(gsrt_narrowing_bytes(&narrowing));
    return out->rows == NULL ? GSRT_ENOMEM : gsrt_narrow_weights(weights, &narrowing, out->rows);
}

gsrt_status gsrt_narrowed_create(const gsrt_weights *weights, const gsrt_region_choice *choices, gsrt_narrowed **out)
{
    const gsrt_workload *w = gsrt_weights_workload(weights);
    gsrt_narrowed *narrowed = calloc(1, sizeof *narrowed);
    if (narrowed == NULL)
        return GSRT_ENOMEM;
    narrowed->op_count = w->op_count;
    narrowed->changes = calloc((size_t)w->op_count + 1, sizeof *narrowed->changes);
    gsrt_status status = narrowed->changes == NULL ? GSRT_ENOMEM : GSRT_OK;
    for (uint32_t i = 0; i < w->op_count && status == GSRT_OK; i++) {
        gsrt_op_kind kind = w->ops[i].kind;
        if (kind == GSRT_OP_EMBED || kind == GSRT_OP_LINEAR || kind == GSRT_OP_LOGITS)
            status = change_op(weights, &choices[w->ops[i].region], &w->ops[i], &narrowed->changes[i]);
    }
    if (status == GSRT_OK)
        *out = narrowed;
    else
        (void)gsrt_narrowed_free(narrowed);
    return status;
}

gsrt_narrowed *gsrt_narrowed_free(gsrt_narrowed *narrowed)
{
    for (uint32_t i = 0; narrowed != NULL && narrowed->changes != NULL && i < narrowed->op_count; i++)
        free(narrowed->changes[i].rows);
    if (narrowed != NULL)
        free(narrowed->changes);
    free(narrowed);
    return NULL;
}

void gsrt_narrowed_apply(const gsrt_narrowed *narrowed, gsrt_reference *reference)
{
    for (uint32_t i = 0; i < narrowed->op_count; i++) {
        if (narrowed->changes[i].rows != NULL)
            gsrt_reference_replace(reference, i, narrowed->changes[i].held, narrowed->changes[i].rows);
    }
}
