#include "backends/kv_impl.h"
#include "base/span.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

gsrt_kv *gsrt_kv_create(uint32_t layer_count, uint32_t kv_head_count, uint32_t head_dim, uint32_t block_count)
{
    gsrt_kv *kv = calloc(1, sizeof *kv);
    if (kv == NULL)
        return NULL;
    *kv = (gsrt_kv){
        .layer_count = layer_count,
        .kv_head_count = kv_head_count,
        .head_dim = head_dim,
        .head_pad = (head_dim + 15) / 16 * 16,
        .block_count = block_count,
    };
    kv->cell_floats = (size_t)GSRT_KV_BLOCK_POSITIONS * ((size_t)kv->head_dim + kv->head_pad);
    size_t cells, bytes;
    if (!gsrt_size_mul(layer_count, block_count, &cells) || !gsrt_size_mul(cells, kv_head_count, &cells) ||
        !gsrt_size_mul(cells, kv->cell_floats * sizeof(float), &bytes))
        return gsrt_kv_free(kv);
    if (bytes == 0)
        return kv;
    /* untouched pages cost nothing, and read as zero */
    void *cells_at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (cells_at == MAP_FAILED)
        return gsrt_kv_free(kv);
    kv->cells = cells_at;
    kv->bytes = bytes;
    return kv;
}

gsrt_kv *gsrt_kv_free(gsrt_kv *kv)
{
    if (kv == NULL)
        return NULL;
    if (kv->cells != NULL)
        munmap(kv->cells, kv->bytes);
    free(kv);
    return NULL;
}

size_t gsrt_kv_bytes(const gsrt_kv *kv)
{
    return kv->bytes;
}

uint32_t gsrt_kv_block_count(const gsrt_kv *kv)
{
    return kv->block_count;
}

void gsrt__kv_store(gsrt_kv *kv, uint32_t layer, uint32_t kv_head, uint32_t block, uint32_t offset, const float *k,
                    const float *v)
{
    assert(layer < kv->layer_count && kv_head < kv->kv_head_count);
    assert(block < kv->block_count && offset < GSRT_KV_BLOCK_POSITIONS);
    float *to = gsrt__kv_k(kv, layer, kv_head, block) + offset;
    for (uint32_t d = 0; d < kv->head_dim; d++)
        to[(size_t)d * GSRT_KV_BLOCK_POSITIONS] = k[d];
    memcpy(gsrt__kv_v(kv, layer, kv_head, block) + (size_t)offset * kv->head_pad, v, kv->head_dim * sizeof(float));
}

void gsrt_kv_read(const gsrt_kv *kv, uint32_t layer, uint32_t kv_head, uint32_t block, uint32_t position_count,
                  float *k, float *v)
{
    assert(layer < kv->layer_count && kv_head < kv->kv_head_count && block < kv->block_count);
    assert(position_count <= GSRT_KV_BLOCK_POSITIONS);
    const float *from_k = gsrt__kv_k(kv, layer, kv_head, block);
    const float *from_v = gsrt__kv_v(kv, layer, kv_head, block);
    for (uint32_t j = 0; j < position_count; j++) {
        for (uint32_t d = 0; d < kv->head_dim; d++)
            k[(size_t)j * kv->head_dim + d] = from_k[(size_t)d * GSRT_KV_BLOCK_POSITIONS + j];
        memcpy(v + (size_t)j * kv->head_dim, from_v + (size_t)j * kv->head_pad, kv->head_dim * sizeof(float));
    }
}

void gsrt_kv_write(gsrt_kv *kv, uint32_t layer, uint32_t kv_head, uint32_t block, uint32_t position_count,
                   const float *k, const float *v)
{
    for (uint32_t j = 0; j < position_count; j++)
        gsrt__kv_store(kv, layer, kv_head, block, j, k + (size_t)j * kv->head_dim, v + (size_t)j * kv->head_dim);
}

static size_t layer_bytes(const gsrt_kv *kv)
{
    return kv->kv_head_count * kv->cell_floats * sizeof(float);
}

size_t gsrt_kv_page_bytes(const gsrt_kv *kv)
{
    return kv->layer_count * layer_bytes(kv);
}

void gsrt_kv_page_read(const gsrt_kv *kv, uint32_t block, void *to)
{
    assert(block < kv->block_count);
    for (uint32_t layer = 0; layer < kv->layer_count && layer_bytes(kv) > 0; layer++)
        memcpy((uint8_t *)to + layer * layer_bytes(kv), gsrt__kv_k(kv, layer, 0, block), layer_bytes(kv));
}

void gsrt_kv_page_write(gsrt_kv *kv, uint32_t block, const void *from)
{
    assert(block < kv->block_count);
    for (uint32_t layer = 0; layer < kv->layer_count && layer_bytes(kv) > 0; layer++)
        memcpy(gsrt__kv_k(kv, layer, 0, block), (const uint8_t *)from + layer * layer_bytes(kv), layer_bytes(kv));
}
