/* The small containers of the tokenizer: dictionary, queue of merges, list of ids. */
#include <stdlib.h>
#include <xxhash.h>

#include "model/tokenizer_impl.h"

static int compare_texts(const gsrt__dictionary_entry *a, const gsrt__dictionary_entry *b)
{
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    if (a->len != b->len)
        return a->len < b->len ? -1 : 1;
    return a->len == 0 ? 0 : memcmp(a->text, b->text, a->len);
}

static int compare_entries(const void *left, const void *right)
{
    const gsrt__dictionary_entry *a = left, *b = right;
    int order = compare_texts(a, b);
    return order != 0 ? order : (a->token > b->token) - (a->token < b->token);
}

/* Of equal texts keep the last. */
static uint32_t drop_duplicates(gsrt__dictionary_entry *entries, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 == count || compare_texts(&entries[i], &entries[i + 1]) != 0)
            entries[kept++] = entries[i];
    }
    return kept;
}

bool gsrt__dictionary_build(gsrt__dictionary *dictionary, gsrt_arena *arena, gsrt__dictionary_entry *entries,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        entries[i].hash = XXH3_64bits(entries[i].text, entries[i].len);
    if (count > 0)
        qsort(entries, count, sizeof *entries, compare_entries);
    count = drop_duplicates(entries, count);
    uint32_t bits = 1;
    while ((1u << bits) < count)
        bits++;
    uint32_t *starts = gsrt_arena_take(arena, ((size_t)1 << bits) + 1, sizeof *starts);
    if (starts == NULL)
        return false;
    uint32_t at = 0;
    for (uint32_t bucket = 0; bucket <= (1u << bits); bucket++) {
        while (at < count && (uint32_t)(entries[at].hash >> (64 - bits)) < bucket)
            at++;
        starts[bucket] = at;
    }
    *dictionary = (gsrt__dictionary){.entries = entries, .count = count, .starts = starts, .bits = bits};
    return true;
}

uint32_t gsrt__dictionary_find(const gsrt__dictionary *dictionary, const uint8_t *text, size_t len)
{
    if (len > UINT32_MAX)
        return GSRT_TOKEN_NONE;
    gsrt__dictionary_entry wanted = {.hash = XXH3_64bits(text, len), .text = text, .len = (uint32_t)len};
    uint32_t bucket = (uint32_t)(wanted.hash >> (64 - dictionary->bits));
    uint32_t low = dictionary->starts[bucket], high = dictionary->starts[bucket + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = compare_texts(&wanted, &dictionary->entries[middle]);
        if (order == 0)
            return dictionary->entries[middle].token;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return GSRT_TOKEN_NONE;
}

/* Twice the room, at least 64 items; NULL: no memory, the old block is untouched. */
static void *grow(void *data, size_t size, size_t *room)
{
    size_t wanted = *room == 0 ? 64 : *room * 2, bytes;
    void *larger = gsrt_size_mul(wanted, size, &bytes) ? realloc(data, bytes) : NULL;
    if (larger != NULL)
        *room = wanted;
    return larger;
}

static bool is_better(const gsrt__candidate *a, const gsrt__candidate *b)
{
    return a->order != b->order ? a->order < b->order : a->left < b->left;
}

gsrt_status gsrt__merges_push(gsrt__queue *queue, gsrt__candidate candidate)
{
    if (queue->count == queue->room) {
        gsrt__candidate *items = grow(queue->items, sizeof *items, &queue->room);
        if (items == NULL)
            return GSRT_ENOMEM;
        queue->items = items;
    }
    size_t at = queue->count++;
    while (at > 0 && is_better(&candidate, &queue->items[(at - 1) / 2])) {
        queue->items[at] = queue->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    queue->items[at] = candidate;
    return GSRT_OK;
}

bool gsrt__merges_pop(gsrt__queue *queue, gsrt__candidate *out)
{
    if (queue->count == 0)
        return false;
    *out = queue->items[0];
    gsrt__candidate last = queue->items[--queue->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= queue->count)
            break;
        if (child + 1 < queue->count && is_better(&queue->items[child + 1], &queue->items[child]))
            child++;
        if (!is_better(&queue->items[child], &last))
            break;
        queue->items[at] = queue->items[child];
        at = child;
    }
    if (queue->count > 0)
        queue->items[at] = last;
    return true;
}

void gsrt__merges_fini(gsrt__queue *queue)
{
    free(queue->items);
    *queue = (gsrt__queue){0};
}

gsrt_status gsrt__ids_push(gsrt__ids *ids, uint32_t id)
{
    if (ids->count == ids->room) {
        uint32_t *data = grow(ids->data, sizeof *data, &ids->room);
        if (data == NULL)
            return GSRT_ENOMEM;
        ids->data = data;
    }
    ids->data[ids->count++] = id;
    return GSRT_OK;
}
