#include "backends/pack.h"
#include "backends/pages.h"

#include <stdatomic.h>
#include <stdlib.h>

static struct gsrt_packed *packed_free(struct gsrt_packed *packed)
{
    if (packed == NULL)
        return NULL;
    gsrt__pages_free(packed->data, packed->bytes);
    free(packed);
    return NULL;
}

static struct gsrt_packed *packed_create(gsrt_isa isa, size_t bytes)
{
    struct gsrt_packed *packed = calloc(1, sizeof *packed);
    if (packed == NULL)
        return NULL;
    packed->isa = isa;
    packed->bytes = bytes;
    packed->data = gsrt__pages_create(bytes);
    return packed->data == NULL ? packed_free(packed) : packed;
}

gsrt_status gsrt__packing_start(gsrt_packing *packing, const gsrt_kernels *kernels, gsrt_matrix *matrix)
{
    size_t bytes = gsrt_linear_ops_of(kernels, matrix->dtype)->packed_bytes(matrix);
    if (bytes == 0 || atomic_load_explicit(&matrix->packed, memory_order_acquire) != NULL)
        return GSRT_EUNSUPPORTED;
    struct gsrt_packed *packed = packed_create(kernels->isa, bytes);
    if (packed == NULL)
        return GSRT_ENOMEM;
    *packing = (gsrt_packing){
        .kernels = kernels,
        .matrix = matrix,
        .packed = packed,
        .panel_count = (matrix->row_count + GSRT_PANEL_OUTPUTS - 1) / GSRT_PANEL_OUTPUTS,
    };
    return GSRT_OK;
}

bool gsrt__packing_step(gsrt_packing *packing)
{
    if (packing->panel_next < packing->panel_count) {
        const gsrt_linear_ops *ops = gsrt_linear_ops_of(packing->kernels, packing->matrix->dtype);
        ops->pack(packing->matrix, packing->packed->data, packing->panel_next, packing->panel_next + 1);
        packing->panel_next++;
    }
    if (packing->panel_next < packing->panel_count)
        return false;
    struct gsrt_packed *none = NULL;
    /* release: the panels are seen by who sees the pointer; partner: the acquire in gsrt__packed_data. Two devices may
     * share a matrix: the first one wins */
    if (!atomic_compare_exchange_strong_explicit(&packing->matrix->packed, &none, packing->packed, memory_order_release,
                                                 memory_order_relaxed))
        packed_free(packing->packed);
    packing->packed = NULL;
    return true;
}

void gsrt__packing_drop(gsrt_packing *packing)
{
    packing->packed = packed_free(packing->packed);
}

const uint8_t *gsrt__packed_data(const gsrt_matrix *matrix, gsrt_isa isa)
{
    const struct gsrt_packed *packed = atomic_load_explicit(&matrix->packed, memory_order_acquire);
    return packed != NULL && packed->isa == isa ? packed->data : NULL;
}

void gsrt_matrix_unpack(gsrt_matrix *matrix)
{
    packed_free(atomic_exchange_explicit(&matrix->packed, NULL, memory_order_acq_rel));
}
