#include "model/weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct gsrt_weights {
    const gsrt_workload *workload;
    gsrt_span file;
    bool is_mapped;       /* pages can be given back: the file still has them */
    uint8_t *is_touched;  /* one bit per row of every tensor */
    uint64_t *bit_firsts; /* [tensor_count]: the bit of its row 0 */
    uint64_t touched_bytes, total_bytes;
};

gsrt_status gsrt_weights_create(const gsrt_gguf *gguf, const gsrt_workload *workload, gsrt_weights **out,
                                gsrt_diag *diag)
{
    gsrt_span file = gsrt_gguf_bytes(gguf), ignored;
    uint64_t bits = 0, total = 0;
    gsrt_status status = gsrt_workload_executable(workload, gsrt_gguf_name(gguf), diag);
    if (status != GSRT_OK)
        return status;
    for (uint32_t i = 0; i < workload->tensor_count; i++) {
        const gsrt_tensor *t = &workload->tensors[i];
        if (!gsrt_span_cut(file, t->offset_bytes, t->size_bytes, &ignored)) {
            char place[GSRT_NAME_BYTES_MAX + 16];
            (void)snprintf(place, sizeof place, "tensor '%s'", t->name);
            return gsrt_diag_set(diag, GSRT_EINPUT, gsrt_gguf_name(gguf), place,
                                 "lies outside the file; import the workload from this file");
        }
        bits += t->row_count;
        total += t->size_bytes;
    }
    gsrt_weights *weights = calloc(1, sizeof *weights);
    if (weights == NULL)
        return GSRT_ENOMEM;
    *weights = (gsrt_weights){.workload = workload,
                              .file = file,
                              .is_mapped = gsrt_gguf_is_mapped(gguf),
                              .is_touched = calloc(bits / 8 + 1, 1),
                              .bit_firsts = calloc((size_t)workload->tensor_count + 1, sizeof(uint64_t)),
                              .total_bytes = total};
    if (weights->is_touched == NULL || weights->bit_firsts == NULL) {
        gsrt_weights_free(weights);
        return gsrt_diag_set(diag, GSRT_ENOMEM, gsrt_gguf_name(gguf), NULL, "no memory for the table of weights");
    }
    for (uint32_t i = 0; i < workload->tensor_count; i++)
        weights->bit_firsts[i + 1] = weights->bit_firsts[i] + workload->tensors[i].row_count;
    *out = weights;
    return GSRT_OK;
}

gsrt_weights *gsrt_weights_free(gsrt_weights *weights)
{
    if (weights != NULL) {
        free(weights->is_touched);
        free(weights->bit_firsts);
        free(weights);
    }
    return NULL;
}

const gsrt_workload *gsrt_weights_workload(const gsrt_weights *weights)
{
    return weights->workload;
}

uint64_t gsrt_weights_row_bytes(const gsrt_weights *weights, uint32_t tensor)
{
    if (tensor >= weights->workload->tensor_count)
        return 0;
    const gsrt_tensor *t = &weights->workload->tensors[tensor];
    return t->size_bytes / t->row_count;
}

static bool has_rows(const gsrt_weights *weights, uint32_t tensor, uint32_t row_first, uint32_t row_count)
{
    if (tensor >= weights->workload->tensor_count)
        return false;
    uint32_t rows = weights->workload->tensors[tensor].row_count;
    return row_first <= rows && row_count <= rows - row_first;
}

const uint8_t *gsrt_weights_rows(const gsrt_weights *weights, uint32_t tensor, uint32_t row_first, uint32_t row_count,
                                 size_t *out_bytes)
{
    if (!has_rows(weights, tensor, row_first, row_count))
        return NULL;
    uint64_t row_bytes = gsrt_weights_row_bytes(weights, tensor);
    if (out_bytes != NULL)
        *out_bytes = (size_t)(row_bytes * row_count);
    return weights->file.data + weights->workload->tensors[tensor].offset_bytes + row_bytes * row_first;
}

const float *gsrt_weights_vector(const gsrt_weights *weights, uint32_t tensor)
{
    if (tensor >= weights->workload->tensor_count)
        return NULL;
    const gsrt_tensor *t = &weights->workload->tensors[tensor];
    if (t->dtype != GSRT_DTYPE_F32 || t->row_count != 1)
        return NULL;
    return (const float *)(const void *)(weights->file.data + t->offset_bytes);
}

void gsrt_weights_touch(gsrt_weights *weights, uint32_t tensor, uint32_t row_first, uint32_t row_count,
                        uint32_t column_first, uint32_t column_count)
{
    if (!has_rows(weights, tensor, row_first, row_count))
        return;
    const gsrt_tensor *t = &weights->workload->tensors[tensor];
    if (column_first > t->column_count || column_count > t->column_count - column_first)
        return;
    uint64_t bytes = column_count / gsrt_dtype_block(t->dtype) * gsrt_dtype_block_bytes(t->dtype);
    for (uint64_t bit = weights->bit_firsts[tensor] + row_first, end = bit + row_count; bit < end; bit++) {
        uint8_t mask = (uint8_t)(1u << bit % 8);
        if ((weights->is_touched[bit / 8] & mask) == 0)
            weights->touched_bytes += bytes;
        weights->is_touched[bit / 8] |= mask;
    }
}

uint64_t gsrt_weights_touched_bytes(const gsrt_weights *weights)
{
    return weights->touched_bytes;
}

uint64_t gsrt_weights_total_bytes(const gsrt_weights *weights)
{
    return weights->total_bytes;
}

/* madvise on the pages that the rows lie on; `is_inner`: only pages that hold nothing else. */
static void advise(const gsrt_weights *weights, uint32_t tensor, uint32_t row_first, uint32_t row_count, int advice,
                   bool is_inner)
{
    size_t bytes = 0;
    const uint8_t *rows = gsrt_weights_rows(weights, tensor, row_first, row_count, &bytes);
    if (rows == NULL || bytes == 0)
        return;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)rows, end = first + bytes;
    if (is_inner) {
        first = (first + page - 1) / page * page;
        end = end / page * page;
    } else {
        first = first / page * page;
    }
    if (first < end)
        (void)madvise((void *)first, end - first, advice);
}

void gsrt_weights_prefetch(const gsrt_weights *weights, uint32_t tensor, uint32_t row_first, uint32_t row_count)
{
    advise(weights, tensor, row_first, row_count, MADV_WILLNEED, false);
}

void gsrt_weights_release(const gsrt_weights *weights, uint32_t tensor, uint32_t row_first, uint32_t row_count)
{
    if (weights->is_mapped)
        advise(weights, tensor, row_first, row_count, MADV_DONTNEED, true);
}
