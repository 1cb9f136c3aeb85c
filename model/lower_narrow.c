/* What a member computes with in another format than the file's: its memory, how it is filled, and a drill. */
#include "model/lower_impl.h"

#include <stdlib.h>
#include <string.h>

void gsrt__lower_narrow(gsrt__lowering *l, const gsrt_op *op, gsrt__range rows, gsrt__range k, gsrt_matrix *matrix)
{
    gsrt_lowered *out = l->out;
    struct gsrt__lowered_rows made = {.what = {.tensor = op->tensor,
                                               .weights = matrix->dtype,
                                               .held = matrix->dtype,
                                               .row_first = rows.first,
                                               .row_count = rows.count,
                                               .k_first = k.first,
                                               .k_count = k.count}};
    if (!gsrt__lower_grow(l, (void **)&out->narrowed, out->narrowed_count, sizeof *out->narrowed))
        return;
    made.bytes = calloc(1, gsrt_narrowing_bytes(&made.what));
    if (made.bytes == NULL) {
        l->status = GSRT_ENOMEM;
        return;
    }
    out->narrowed[out->narrowed_count++] = made;
    out->is_raw = true;
    matrix->rows = made.bytes;
    matrix->row_stride_bytes = gsrt_narrowing_row_bytes(&made.what);
}

void gsrt__lower_narrowed_free(gsrt_lowered *lowered)
{
    for (uint32_t i = 0; i < lowered->narrowed_count; i++)
        free(lowered->narrowed[i].bytes);
    free(lowered->narrowed);
}

gsrt_status gsrt_lowered_narrow(const gsrt_lowered *lowered, const gsrt_weights *weights,
                                const atomic_bool *is_cancelled)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < lowered->narrowed_count && status == GSRT_OK; i++) {
        const struct gsrt__lowered_rows *r = &lowered->narrowed[i];
        if (is_cancelled != NULL && atomic_load_explicit(is_cancelled, memory_order_relaxed)) /* set by the owner */
            return GSRT_ECANCELED;
        status = gsrt_narrow_weights(weights, &r->what, r->bytes);
        gsrt_weights_release(weights, r->what.tensor, r->what.row_first, r->what.row_count);
    }
    return status;
}

/* One more in the exponent of each f16 or bf16 that stands at the beginning of a block. */
static void double_scales(uint8_t *bytes, size_t len, gsrt_dtype dtype)
{
    uint16_t one = dtype == GSRT_DTYPE_BF16 ? 0x80u : 0x400u, exponent = dtype == GSRT_DTYPE_BF16 ? 0x7f80u : 0x7c00u;
    for (size_t at = 0; at + sizeof(uint16_t) <= len; at += gsrt_dtype_block_bytes(dtype)) {
        uint16_t bits;
        memcpy(&bits, bytes + at, sizeof bits);
        if ((bits & exponent) != 0 && (uint16_t)((bits & exponent) + one) < exponent)
            bits = (uint16_t)(bits + one);
        memcpy(bytes + at, &bits, sizeof bits);
    }
}

void gsrt_lowered_corrupt(gsrt_lowered *lowered)
{
    for (uint32_t i = 0; i < lowered->narrowed_count; i++) {
        const struct gsrt__lowered_rows *r = &lowered->narrowed[i];
        size_t len = gsrt_narrowing_row_bytes(&r->what) * r->what.row_count;
        double_scales(r->bytes + gsrt_narrowing_bytes(&r->what) - len, len, r->what.held);
    }
}
