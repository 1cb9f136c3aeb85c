#include "actors/slab.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void gsrt__slab_init(gsrt__slab *slab, size_t item_bytes, uint32_t count_max)
{
    assert(item_bytes >= sizeof(gsrt__slab_item));
    assert(count_max <= 1u << GSRT__SLAB_INDEX_BITS);
    *slab = (gsrt__slab){.item_bytes = (item_bytes + 15) / 16 * 16, .count_max = count_max};
}

void gsrt__slab_fini(gsrt__slab *slab)
{
    for (uint32_t i = 0; i < slab->chunk_count; i++)
        free(slab->chunks[i]);
    free(slab->chunks);
    *slab = (gsrt__slab){0};
}

static bool grow(gsrt__slab *slab)
{
    if (slab->chunk_count == slab->chunk_capacity) {
        uint32_t capacity = slab->chunk_capacity == 0 ? 4 : slab->chunk_capacity * 2;
        uint8_t **chunks = realloc(slab->chunks, capacity * sizeof *chunks);
        if (chunks == NULL)
            return false;
        slab->chunks = chunks;
        slab->chunk_capacity = capacity;
    }
    uint8_t *chunk = malloc(GSRT__SLAB_CHUNK_ITEMS * slab->item_bytes);
    if (chunk == NULL)
        return false;
    slab->chunks[slab->chunk_count++] = chunk;
    return true;
}

void *gsrt__slab_take(gsrt__slab *slab)
{
    if (slab->count >= slab->count_max)
        return NULL;
    gsrt__slab_item *item;
    if (slab->free_first != 0) {
        item = gsrt__slab_at(slab, slab->free_first - 1);
        slab->free_first = item->next_free;
    } else {
        if (slab->made == slab->chunk_count * GSRT__SLAB_CHUNK_ITEMS && !grow(slab))
            return NULL;
        slab->made++;
        item = gsrt__slab_at(slab, slab->made - 1);
        *item = (gsrt__slab_item){.index = slab->made - 1};
    }
    memset(item + 1, 0, slab->item_bytes - sizeof *item);
    item->generation++;
    slab->count++;
    return item;
}

void gsrt__slab_give(gsrt__slab *slab, void *given)
{
    gsrt__slab_item *item = given;
    assert(gsrt__slab_is_alive(item) && slab->count > 0);
    item->generation++;
    item->next_free = slab->free_first;
    slab->free_first = item->index + 1;
    slab->count--;
}
