/* Free blocks are a doubly linked list in order of last use; the prefix table is open chaining over the blocks
 * themselves (no allocation after create). A block's identity in the table is (previous block, its generation, tokens):
 * the generation says that the previous block still holds what it held when this one was noted. */
#include "placement/block_pool.h"

#include <stdlib.h>
#include <string.h>

typedef struct block {
    uint32_t references;
    uint32_t free_next, free_previous; /* in the free list when references == 0 */
    uint32_t chain_next;               /* in its bucket when is_noted */
    bool is_noted;
    uint32_t previous;            /* block before it */
    uint64_t previous_generation; /* of that block when this one was noted */
    uint64_t generation;          /* grows each time the block is taken */
    uint32_t tokens[GSRT_KV_BLOCK_POSITIONS];
} block;

struct gsrt_block_pool {
    uint32_t block_count, bucket_count, free_count;
    uint32_t free_first, free_last;
    block *blocks;     /* [block_count] */
    uint32_t *buckets; /* [bucket_count] */
};

gsrt_block_pool *gsrt_block_pool_free(gsrt_block_pool *pool)
{
    if (pool != NULL) {
        free(pool->blocks);
        free(pool->buckets);
        free(pool);
    }
    return NULL;
}

static void free_list_append(gsrt_block_pool *pool, uint32_t number)
{
    block *b = &pool->blocks[number];
    b->free_next = GSRT_NO_BLOCK;
    b->free_previous = pool->free_last;
    if (pool->free_last != GSRT_NO_BLOCK)
        pool->blocks[pool->free_last].free_next = number;
    else
        pool->free_first = number;
    pool->free_last = number;
    pool->free_count += 1;
}

static void free_list_remove(gsrt_block_pool *pool, uint32_t number)
{
    block *b = &pool->blocks[number];
    if (b->free_previous != GSRT_NO_BLOCK)
        pool->blocks[b->free_previous].free_next = b->free_next;
    else
        pool->free_first = b->free_next;
    if (b->free_next != GSRT_NO_BLOCK)
        pool->blocks[b->free_next].free_previous = b->free_previous;
    else
        pool->free_last = b->free_previous;
    pool->free_count -= 1;
}

gsrt_block_pool *gsrt_block_pool_create(uint32_t block_count)
{
    gsrt_block_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pool->block_count = block_count;
    pool->bucket_count = block_count + 1;
    pool->free_first = pool->free_last = GSRT_NO_BLOCK;
    pool->blocks = calloc((size_t)block_count + 1, sizeof *pool->blocks);
    pool->buckets = calloc(pool->bucket_count, sizeof *pool->buckets);
    if (pool->blocks == NULL || pool->buckets == NULL)
        return gsrt_block_pool_free(pool);
    for (uint32_t i = 0; i < pool->bucket_count; i++)
        pool->buckets[i] = GSRT_NO_BLOCK;
    for (uint32_t i = 0; i < block_count; i++)
        free_list_append(pool, i);
    return pool;
}

uint32_t gsrt_block_pool_free_count(const gsrt_block_pool *pool)
{
    return pool->free_count;
}

bool gsrt_block_pool_is_free(const gsrt_block_pool *pool, uint32_t number)
{
    return number < pool->block_count && pool->blocks[number].references == 0;
}

bool gsrt_block_pool_is_noted(const gsrt_block_pool *pool, uint32_t number)
{
    return number < pool->block_count && pool->blocks[number].is_noted;
}

static uint64_t generation_of(const gsrt_block_pool *pool, uint32_t number)
{
    return number == GSRT_NO_BLOCK ? 0 : pool->blocks[number].generation;
}

static uint32_t bucket_of(const gsrt_block_pool *pool, uint32_t previous, uint64_t previous_generation,
                          const uint32_t *tokens)
{
    uint64_t hash = previous_generation * 0x9E3779B97F4A7C15u + previous;
    for (uint32_t i = 0; i < GSRT_KV_BLOCK_POSITIONS; i++) {
        hash = (hash ^ tokens[i]) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    return (uint32_t)(hash % pool->bucket_count);
}

static void forget(gsrt_block_pool *pool, uint32_t number)
{
    block *b = &pool->blocks[number];
    if (!b->is_noted)
        return;
    uint32_t *at = &pool->buckets[bucket_of(pool, b->previous, b->previous_generation, b->tokens)];
    while (*at != number)
        at = &pool->blocks[*at].chain_next;
    *at = b->chain_next;
    b->is_noted = false;
}

uint32_t gsrt_block_pool_take(gsrt_block_pool *pool)
{
    uint32_t number = pool->free_first;
    if (number == GSRT_NO_BLOCK)
        return GSRT_NO_BLOCK;
    free_list_remove(pool, number);
    forget(pool, number);
    pool->blocks[number].references = 1;
    pool->blocks[number].generation += 1;
    return number;
}

void gsrt_block_pool_ref(gsrt_block_pool *pool, uint32_t number)
{
    if (pool->blocks[number].references == 0)
        free_list_remove(pool, number);
    pool->blocks[number].references += 1;
}

void gsrt_block_pool_unref(gsrt_block_pool *pool, uint32_t number)
{
    pool->blocks[number].references -= 1;
    if (pool->blocks[number].references == 0)
        free_list_append(pool, number);
}

uint32_t gsrt_block_pool_find(const gsrt_block_pool *pool, uint32_t previous, const uint32_t *tokens)
{
    uint64_t generation = generation_of(pool, previous);
    uint32_t at = pool->buckets[bucket_of(pool, previous, generation, tokens)];
    for (; at != GSRT_NO_BLOCK; at = pool->blocks[at].chain_next) {
        const block *b = &pool->blocks[at];
        if (b->previous == previous && b->previous_generation == generation &&
            memcmp(b->tokens, tokens, sizeof b->tokens) == 0)
            return at;
    }
    return GSRT_NO_BLOCK;
}

uint32_t gsrt_block_pool_note(gsrt_block_pool *pool, uint32_t number, uint32_t previous, const uint32_t *tokens)
{
    block *b = &pool->blocks[number];
    if (b->is_noted)
        return number;
    uint32_t known = gsrt_block_pool_find(pool, previous, tokens);
    if (known != GSRT_NO_BLOCK)
        return known;
    b->previous = previous;
    b->previous_generation = generation_of(pool, previous);
    memcpy(b->tokens, tokens, sizeof b->tokens);
    uint32_t *bucket = &pool->buckets[bucket_of(pool, previous, b->previous_generation, tokens)];
    b->chain_next = *bucket;
    *bucket = number;
    b->is_noted = true;
    return number;
}

bool gsrt_block_pool_check(const gsrt_block_pool *pool)
{
    uint32_t free_seen = 0, noted_seen = 0, noted = 0, unreferenced = 0;
    for (uint32_t at = pool->free_first; at != GSRT_NO_BLOCK; at = pool->blocks[at].free_next) {
        if (pool->blocks[at].references != 0 || free_seen++ > pool->block_count)
            return false;
    }
    for (uint32_t i = 0; i < pool->block_count; i++) {
        noted += pool->blocks[i].is_noted ? 1 : 0;
        unreferenced += pool->blocks[i].references == 0 ? 1 : 0;
    }
    for (uint32_t i = 0; i < pool->bucket_count; i++) {
        for (uint32_t at = pool->buckets[i]; at != GSRT_NO_BLOCK; at = pool->blocks[at].chain_next) {
            if (!pool->blocks[at].is_noted || noted_seen++ > pool->block_count)
                return false;
        }
    }
    return free_seen == pool->free_count && unreferenced == pool->free_count && noted_seen == noted;
}
