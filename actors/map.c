#include "actors/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_MIN = 16 };

/* Two multiplications spread any pattern of addresses; the constants are odd and without structure. */
static uint32_t home_of(const gsrt__map *map, uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b * 0x9E3779B97F4A7C15u)) * 0xD6E8FEB86659FD93u;
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
    return (uint32_t)(x >> 32) & (map->capacity - 1);
}

void gsrt__map_init(gsrt__map *map, uint32_t count_max)
{
    *map = (gsrt__map){.count_max = count_max};
}

void gsrt__map_fini(gsrt__map *map)
{
    free(map->entries);
    *map = (gsrt__map){0};
}

void gsrt__map_clear(gsrt__map *map)
{
    if (map->count > 0)
        memset(map->entries, 0, map->capacity * sizeof *map->entries);
    map->count = 0;
}

/* Where the key is, or the empty entry where it belongs. */
static gsrt__map_entry *seek(const gsrt__map *map, uint64_t a, uint64_t b)
{
    uint32_t i = home_of(map, a, b);
    while (map->entries[i].a != 0 && (map->entries[i].a != a || map->entries[i].b != b))
        i = (i + 1) & (map->capacity - 1);
    return &map->entries[i];
}

uint64_t *gsrt__map_find(const gsrt__map *map, uint64_t a, uint64_t b)
{
    if (map->count == 0)
        return NULL;
    gsrt__map_entry *entry = seek(map, a, b);
    return entry->a == 0 ? NULL : &entry->value;
}

static gsrt_status grow(gsrt__map *map)
{
    gsrt__map bigger = *map;
    bigger.capacity = map->capacity == 0 ? CAPACITY_MIN : map->capacity * 2;
    bigger.entries = calloc(bigger.capacity, sizeof *bigger.entries);
    if (bigger.entries == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < map->capacity; i++)
        if (map->entries[i].a != 0)
            *seek(&bigger, map->entries[i].a, map->entries[i].b) = map->entries[i];
    free(map->entries);
    *map = bigger;
    return GSRT_OK;
}

gsrt_status gsrt__map_put(gsrt__map *map, uint64_t a, uint64_t b, uint64_t **out)
{
    assert(a != 0);
    uint64_t *found = gsrt__map_find(map, a, b);
    if (found != NULL) {
        *out = found;
        return GSRT_OK;
    }
    if (map->count >= map->count_max)
        return GSRT_ELIMIT;
    if (map->count >= map->capacity / 4 * 3) {
        gsrt_status status = grow(map);
        if (status != GSRT_OK)
            return status;
    }
    gsrt__map_entry *entry = seek(map, a, b);
    *entry = (gsrt__map_entry){.a = a, .b = b};
    map->count++;
    *out = &entry->value;
    return GSRT_OK;
}

bool gsrt__map_remove(gsrt__map *map, uint64_t a, uint64_t b)
{
    if (gsrt__map_find(map, a, b) == NULL)
        return false;
    uint32_t mask = map->capacity - 1;
    uint32_t hole = (uint32_t)(seek(map, a, b) - map->entries);
    map->entries[hole].a = 0;
    map->count--;
    /* Whoever probed past the hole moves into it. */
    for (uint32_t i = (hole + 1) & mask; map->entries[i].a != 0; i = (i + 1) & mask) {
        uint32_t home = home_of(map, map->entries[i].a, map->entries[i].b);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->entries[hole] = map->entries[i];
            map->entries[i].a = 0;
            hole = i;
        }
    }
    return true;
}
