#include "actors/alarms.h"

#include <assert.h>
#include <stdlib.h>

enum { ARITY = 4 };

static bool is_before(const gsrt__alarm *a, const gsrt__alarm *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->sequence < b->sequence;
}

static void place_at(gsrt__alarms *alarms, gsrt__alarm *alarm, uint32_t i)
{
    alarms->heap[i] = alarm;
    alarm->place = i + 1;
}

static void sift_up(gsrt__alarms *alarms, gsrt__alarm *alarm, uint32_t i)
{
    while (i > 0) {
        uint32_t parent = (i - 1) / ARITY;
        if (!is_before(alarm, alarms->heap[parent]))
            break;
        place_at(alarms, alarms->heap[parent], i);
        i = parent;
    }
    place_at(alarms, alarm, i);
}

static void sift_down(gsrt__alarms *alarms, gsrt__alarm *alarm, uint32_t i)
{
    for (;;) {
        uint32_t first = i * ARITY + 1;
        if (first >= alarms->count)
            break;
        uint32_t best = first;
        for (uint32_t j = first + 1; j < first + ARITY && j < alarms->count; j++)
            if (is_before(alarms->heap[j], alarms->heap[best]))
                best = j;
        if (!is_before(alarms->heap[best], alarm))
            break;
        place_at(alarms, alarms->heap[best], i);
        i = best;
    }
    place_at(alarms, alarm, i);
}

void gsrt__alarms_fini(gsrt__alarms *alarms)
{
    free(alarms->heap);
    *alarms = (gsrt__alarms){0};
}

gsrt_status gsrt__alarms_set(gsrt__alarms *alarms, gsrt__alarm *alarm, uint64_t due_ns)
{
    assert(alarm->place == 0);
    if (alarms->count == alarms->capacity) {
        uint32_t capacity = alarms->capacity == 0 ? 64 : alarms->capacity * 2;
        gsrt__alarm **heap = realloc(alarms->heap, capacity * sizeof(gsrt__alarm *));
        if (heap == NULL)
            return GSRT_ENOMEM;
        alarms->heap = heap;
        alarms->capacity = capacity;
    }
    alarm->due_ns = due_ns;
    alarm->sequence = alarms->sequence++;
    alarms->count++;
    sift_up(alarms, alarm, alarms->count - 1);
    return GSRT_OK;
}

void gsrt__alarms_cancel(gsrt__alarms *alarms, gsrt__alarm *alarm)
{
    if (alarm->place == 0)
        return;
    uint32_t i = alarm->place - 1;
    assert(alarms->heap[i] == alarm);
    alarm->place = 0;
    gsrt__alarm *last = alarms->heap[--alarms->count];
    if (last == alarm)
        return;
    if (i > 0 && is_before(last, alarms->heap[(i - 1) / ARITY]))
        sift_up(alarms, last, i);
    else
        sift_down(alarms, last, i);
}

bool gsrt__alarms_check(const gsrt__alarms *alarms)
{
    for (uint32_t i = 0; i < alarms->count; i++) {
        if (alarms->heap[i]->place != i + 1)
            return false;
        if (i > 0 && is_before(alarms->heap[i], alarms->heap[(i - 1) / ARITY]))
            return false;
    }
    return true;
}
