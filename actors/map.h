/* A hash map from a pair of 64-bit numbers to one: open addressing, linear probing, deletion by shifting back (no
 * tombstones, so it never degrades). `a` is never 0. Never walked in decisions. Bounded by count_max; grows by
 * doubling. Cost: one cache line or two per look-up; no allocation but when it grows. Thread: one.
 */
#ifndef GSRT_ACTORS_MAP_H
#define GSRT_ACTORS_MAP_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gsrt__map_entry {
    uint64_t a, b; /* the key; a = 0: empty */
    uint64_t value;
} gsrt__map_entry;

typedef struct gsrt__map {
    gsrt__map_entry *entries; /* [capacity]; owned */
    uint32_t capacity;        /* a power of two, or 0 */
    uint32_t count, count_max;
} gsrt__map;

void gsrt__map_init(gsrt__map *map, uint32_t count_max);
void gsrt__map_fini(gsrt__map *map);
void gsrt__map_clear(gsrt__map *map); /* keeps the memory */

/* The value's place, borrowed until the next put or remove; NULL: not there. */
uint64_t *gsrt__map_find(const gsrt__map *map, uint64_t a, uint64_t b);
/* The value's place, made with 0 when it was not there. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt__map_put(gsrt__map *map, uint64_t a, uint64_t b, uint64_t **out);
bool gsrt__map_remove(gsrt__map *map, uint64_t a, uint64_t b); /* whether it was there */

#endif
