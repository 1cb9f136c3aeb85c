#include "actors/events.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

enum { ARITY = 4 };

static bool is_before(const gsrt__event *a, const gsrt__event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->sequence < b->sequence;
}

void gsrt__events_fini(gsrt__events *events)
{
    free(events->heap);
    *events = (gsrt__events){0};
}

gsrt_status gsrt__events_add(gsrt__events *events, const gsrt__event *event)
{
    if (events->count == events->capacity) {
        uint32_t capacity = events->capacity == 0 ? 256 : events->capacity * 2;
        gsrt__event *heap = realloc(events->heap, capacity * sizeof *heap);
        if (heap == NULL)
            return GSRT_ENOMEM;
        events->heap = heap;
        events->capacity = capacity;
    }
    gsrt__event added = *event;
    added.sequence = events->sequence++;
    uint32_t i = events->count++;
    while (i > 0 && is_before(&added, &events->heap[(i - 1) / ARITY])) {
        events->heap[i] = events->heap[(i - 1) / ARITY];
        i = (i - 1) / ARITY;
    }
    events->heap[i] = added;
    return GSRT_OK;
}

gsrt__event gsrt__events_take(gsrt__events *events)
{
    assert(events->count > 0);
    gsrt__event first = events->heap[0];
    gsrt__event last = events->heap[--events->count];
    uint32_t i = 0;
    for (;;) {
        uint32_t child = i * ARITY + 1, best = child;
        if (child >= events->count)
            break;
        for (uint32_t j = child + 1; j < child + ARITY && j < events->count; j++)
            if (is_before(&events->heap[j], &events->heap[best]))
                best = j;
        if (!is_before(&events->heap[best], &last))
            break;
        events->heap[i] = events->heap[best];
        i = best;
    }
    if (events->count > 0)
        events->heap[i] = last;
    return first;
}
