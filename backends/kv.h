/* The paged KV cache of one region: blocks of GSRT_KV_BLOCK_POSITIONS positions, which are also the blocks of the
 * canonical attention. Block numbers are assigned by the scheduler and mean the same on every rank; each rank stores
 * its own layers and KV heads under them. All f32. Thread: written and read by the device's threads only, while a job
 * runs; create/free from the owner.
 */
#ifndef GSRT_BACKENDS_KV_H
#define GSRT_BACKENDS_KV_H

#include "base/limits.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gsrt_kv gsrt_kv;

/* Room for block_count blocks of layer_count layers with kv_head_count heads (0 is legal). Memory is touched only when
 * blocks are written. Owned; NULL: no memory. */
gsrt_kv *gsrt_kv_create(uint32_t layer_count, uint32_t kv_head_count, uint32_t head_dim, uint32_t block_count);
gsrt_kv *gsrt_kv_free(gsrt_kv *kv);
size_t gsrt_kv_bytes(const gsrt_kv *kv);
uint32_t gsrt_kv_block_count(const gsrt_kv *kv);

/* Placement-free copy of positions [0, position_count) of one block: k and v each [position_count, head_dim] row-major
 * f32. For replicas, migration and tests. */
void gsrt_kv_read(const gsrt_kv *kv, uint32_t layer, uint32_t kv_head, uint32_t block, uint32_t position_count,
                  float *k, float *v);
void gsrt_kv_write(gsrt_kv *kv, uint32_t layer, uint32_t kv_head, uint32_t block, uint32_t position_count,
                   const float *k, const float *v);

/* The page of a block: all its cells as they lie, for another cache of the same shape. */
size_t gsrt_kv_page_bytes(const gsrt_kv *kv);
/* to, from: [gsrt_kv_page_bytes]; no job may be writing the block. Cost: a copy. */
void gsrt_kv_page_read(const gsrt_kv *kv, uint32_t block, void *to);
void gsrt_kv_page_write(gsrt_kv *kv, uint32_t block, const void *from);

#endif
