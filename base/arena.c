#include "base/arena.h"

#include <stdlib.h>

/* A block is as large as all before it together, so that a small arena is zeroed and freed at little cost. */
enum { BLOCK_BYTES_LEAST = 1024, BLOCK_BYTES_MOST = 64 * 1024, ALIGN = 16 };

struct gsrt__arena_block {
    struct gsrt__arena_block *next;
    size_t used;
    size_t capacity;
    _Alignas(16) uint8_t data[];
};

void gsrt_arena_init(gsrt_arena *arena, size_t bytes_max)
{
    *arena = (gsrt_arena){.bytes_max = bytes_max};
}

void gsrt_arena_fini(gsrt_arena *arena)
{
    struct gsrt__arena_block *block = arena->blocks;
    while (block != NULL) {
        struct gsrt__arena_block *next = block->next;
        free(block);
        block = next;
    }
    *arena = (gsrt_arena){0};
}

void *gsrt_arena_take(gsrt_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (!gsrt_size_mul(count, size, &bytes) || !gsrt_size_add(bytes, ALIGN - 1, &bytes))
        return NULL;
    bytes = bytes / ALIGN * ALIGN;
    if (bytes > arena->bytes_max - arena->bytes_used)
        return NULL;
    struct gsrt__arena_block *block = arena->blocks;
    if (block == NULL || block->capacity - block->used < bytes) {
        size_t capacity = arena->bytes_used < BLOCK_BYTES_LEAST  ? BLOCK_BYTES_LEAST
                          : arena->bytes_used < BLOCK_BYTES_MOST ? arena->bytes_used
                                                                 : BLOCK_BYTES_MOST;
        capacity = bytes > capacity ? bytes : capacity;
        block = calloc(1, sizeof *block + capacity);
        if (block == NULL)
            return NULL;
        block->capacity = capacity;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *room = block->data + block->used;
    block->used += bytes;
    arena->bytes_used += bytes;
    return room;
}

char *gsrt_arena_copy_text(gsrt_arena *arena, const char *text, size_t len)
{
    size_t bytes;
    char *copy = gsrt_size_add(len, 1, &bytes) ? gsrt_arena_take(arena, bytes, 1) : NULL;
    if (copy != NULL && len > 0)
        memcpy(copy, text, len);
    return copy;
}
