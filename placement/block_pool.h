/* The KV block numbers: which are free, which are shared, and which hold a known run of tokens (prefix reuse).
 *
 * A block that holds a full, computed run of tokens is in the prefix table: found by (the block before it, its tokens).
 * The table compares the tokens themselves, so a collision of hashes cannot change an answer. A block whose last
 * reference goes stays in the table until it is needed for something else, oldest first.
 * Pure, not thread safe. Cost: O(1) per block, O(tokens of a block) per look-up.
 */
#ifndef GSRT_PLACEMENT_BLOCK_POOL_H
#define GSRT_PLACEMENT_BLOCK_POOL_H

#include "base/limits.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gsrt_block_pool gsrt_block_pool;

#define GSRT_NO_BLOCK UINT32_MAX

gsrt_block_pool *gsrt_block_pool_create(uint32_t block_count); /* owned; NULL: no memory */
gsrt_block_pool *gsrt_block_pool_free(gsrt_block_pool *pool);

uint32_t gsrt_block_pool_free_count(const gsrt_block_pool *pool);
/* Take the free block that was used longest ago, with one reference, out of the prefix table. GSRT_NO_BLOCK: none. */
uint32_t gsrt_block_pool_take(gsrt_block_pool *pool);
void gsrt_block_pool_ref(gsrt_block_pool *pool, uint32_t block);
void gsrt_block_pool_unref(gsrt_block_pool *pool, uint32_t block);
bool gsrt_block_pool_is_free(const gsrt_block_pool *pool, uint32_t block);
/* It is in the prefix table: what it holds may be asked for. */
bool gsrt_block_pool_is_noted(const gsrt_block_pool *pool, uint32_t block);

/* The block that follows `previous` (GSRT_NO_BLOCK: the first of a request) and holds tokens
 * [GSRT_KV_BLOCK_POSITIONS]; GSRT_NO_BLOCK: unknown. No reference is taken. */
uint32_t gsrt_block_pool_find(const gsrt_block_pool *pool, uint32_t previous, const uint32_t *tokens);
/* Note that `block`, referenced, holds these tokens after `previous`, computed. Returns the block that the table has
 * for them: `block`, or one that was noted earlier with the same content. */
uint32_t gsrt_block_pool_note(gsrt_block_pool *pool, uint32_t block, uint32_t previous, const uint32_t *tokens);

bool gsrt_block_pool_check(const gsrt_block_pool *pool);

#endif
