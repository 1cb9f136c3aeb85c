/* Items of one size, taken and given back without malloc after warm-up, found again by a handle that is never used for
 * two items. Items do not move. Bounded by count_max; memory is the most that was alive at once. Thread: one.
 *
 *   handle  63           20 19       0
 *           [ generation 44 ][ index 20 ]   the generation of a live item is odd, so a handle is never 0
 */
#ifndef GSRT_ACTORS_SLAB_H
#define GSRT_ACTORS_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GSRT__SLAB_INDEX_BITS = 20, GSRT__SLAB_CHUNK_ITEMS = 64 };

/* First member of every item. */
typedef struct gsrt__slab_item {
    uint64_t generation;
    uint32_t index;
    uint32_t next_free; /* index + 1; 0: none */
} gsrt__slab_item;

typedef struct gsrt__slab {
    uint8_t **chunks; /* [chunk_count] of [GSRT__SLAB_CHUNK_ITEMS][item_bytes]; owned */
    uint32_t chunk_count, chunk_capacity;
    size_t item_bytes;
    uint32_t free_first; /* index + 1; 0: none */
    uint32_t made;       /* items that exist, alive or free */
    uint32_t count, count_max;
} gsrt__slab;

void gsrt__slab_init(gsrt__slab *slab, size_t item_bytes, uint32_t count_max);
void gsrt__slab_fini(gsrt__slab *slab);

/* A live item, zeroed past its gsrt__slab_item. NULL: no memory, or count_max are alive. */
void *gsrt__slab_take(gsrt__slab *slab);
void gsrt__slab_give(gsrt__slab *slab, void *item);

static inline uint64_t gsrt__slab_handle(const gsrt__slab_item *item)
{
    return item->generation << GSRT__SLAB_INDEX_BITS | item->index;
}

/* By index, alive or not; NULL past the end. */
static inline gsrt__slab_item *gsrt__slab_at(const gsrt__slab *slab, uint32_t index)
{
    if (index >= slab->made)
        return NULL;
    return (gsrt__slab_item *)(void *)(slab->chunks[index / GSRT__SLAB_CHUNK_ITEMS] +
                                       index % GSRT__SLAB_CHUNK_ITEMS * slab->item_bytes);
}

static inline bool gsrt__slab_is_alive(const gsrt__slab_item *item)
{
    return item != NULL && item->generation % 2 == 1;
}

/* The live item of `handle`; NULL: gone, or never was. */
static inline void *gsrt__slab_find(const gsrt__slab *slab, uint64_t handle)
{
    gsrt__slab_item *item = gsrt__slab_at(slab, (uint32_t)handle & ((1u << GSRT__SLAB_INDEX_BITS) - 1));
    return gsrt__slab_is_alive(item) && gsrt__slab_handle(item) == handle ? item : NULL;
}

#endif
