/* Memory with one lifetime: allocate many small things, free them all at once.
 * Blocks are chained, never moved, so pointers stay good until reset or fini. Not thread safe.
 */
#ifndef GSRT_BASE_ARENA_H
#define GSRT_BASE_ARENA_H

#include "base/span.h"

struct gsrt__arena_block;

typedef struct gsrt_arena {
    struct gsrt__arena_block *blocks; /* newest first; owned */
    size_t bytes_used;                /* sum over all blocks */
    size_t bytes_max;                 /* allocation past this fails */
} gsrt_arena;

void gsrt_arena_init(gsrt_arena *arena, size_t bytes_max);
void gsrt_arena_fini(gsrt_arena *arena);

/* [count][size] zeroed bytes aligned for any type (16), borrowed until fini. NULL: no memory, past the ceiling, or
 * count * size overflows. Zero bytes give a valid pointer. */
void *gsrt_arena_take(gsrt_arena *arena, size_t count, size_t size);

/* A zero-terminated copy of text [len]; NULL as above. */
char *gsrt_arena_copy_text(gsrt_arena *arena, const char *text, size_t len);

#endif
