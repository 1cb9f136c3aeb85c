/* Inside backends: where a KV cell lies.
 *
 * A cell is one block of 64 positions of one KV head of one layer: K transposed, so that lanes run over positions, then
 * V row-major, so that lanes run over the head:
 *
 *     K [head_dim][64]   V [64][head_pad]          head_pad = head_dim rounded up to 16; the padding stays zero
 */
#ifndef GSRT_BACKENDS_KV_IMPL_H
#define GSRT_BACKENDS_KV_IMPL_H

#include "backends/kv.h"

struct gsrt_kv {
    uint32_t layer_count, kv_head_count, head_dim, head_pad, block_count;
    size_t cell_floats;
    size_t bytes;
    float *cells; /* [layer][block][kv_head] cells; owned mapping; NULL when bytes is 0 */
};

static inline float *gsrt__kv_k(const gsrt_kv *kv, uint32_t layer, uint32_t kv_head, uint32_t block)
{
    size_t cell = ((size_t)layer * kv->block_count + block) * kv->kv_head_count + kv_head;
    return kv->cells + cell * kv->cell_floats;
}

static inline float *gsrt__kv_v(const gsrt_kv *kv, uint32_t layer, uint32_t kv_head, uint32_t block)
{
    return gsrt__kv_k(kv, layer, kv_head, block) + (size_t)kv->head_dim * GSRT_KV_BLOCK_POSITIONS;
}

/* Store one position: k and v [head_dim]. */
void gsrt__kv_store(gsrt_kv *kv, uint32_t layer, uint32_t kv_head, uint32_t block, uint32_t offset, const float *k,
                    const float *v);

#endif
