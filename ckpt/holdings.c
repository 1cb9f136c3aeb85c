#include "ckpt/holdings.h"

#include "base/limits.h"

#include <stdlib.h>

/* What a rank said: {request, run_count, run_count times {blocks, cells}} for each request, ascending. */
typedef struct told {
    uint32_t *numbers; /* [count]; owned */
    uint32_t count;
} told;

struct gsrt_holdings {
    gsrt_snapshot_shape shape;
    uint32_t rank_count, cell_count;
    uint32_t *room; /* [rank_count + 1][cell_count]: leading blocks of one request by rank; in the last, the highest */
    told *ranks;    /* [rank_count] */
};

gsrt_holdings *gsrt_holdings_create(const gsrt_snapshot_shape *shape, uint32_t rank_count)
{
    gsrt_holdings *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->shape = *shape;
    h->rank_count = rank_count;
    h->cell_count = shape->layer_count * shape->kv_head_count;
    h->room = calloc((size_t)(rank_count + 1) * h->cell_count, sizeof *h->room);
    h->ranks = calloc(rank_count, sizeof *h->ranks);
    return h->room == NULL || h->ranks == NULL ? gsrt_holdings_free(h) : h;
}

gsrt_holdings *gsrt_holdings_free(gsrt_holdings *h)
{
    for (uint32_t rank = 0; h != NULL && h->ranks != NULL && rank < h->rank_count; rank++)
        free(h->ranks[rank].numbers);
    if (h != NULL) {
        free(h->ranks);
        free(h->room);
    }
    free(h);
    return NULL;
}

/* The numbers of one request, from `at` on; *out_next: where the next one begins. */
static bool is_sound(const gsrt_holdings *h, const uint32_t *numbers, uint32_t count, uint32_t at, uint32_t *out_next)
{
    uint32_t cells = 0;
    if (count - at < 2 || numbers[at] >= GSRT_REQUEST_COUNT_MAX || numbers[at + 1] > (count - at - 2) / 2)
        return false;
    *out_next = at + 2 + 2 * numbers[at + 1];
    for (uint32_t i = at + 2; i < *out_next; i += 2) {
        if (numbers[i] > GSRT_CONTEXT_MAX / GSRT_KV_BLOCK_POSITIONS || numbers[i + 1] > h->cell_count - cells)
            return false;
        cells += numbers[i + 1];
    }
    return cells == h->cell_count;
}

gsrt_status gsrt_holdings_note(gsrt_holdings *h, uint32_t rank, const uint32_t *numbers, uint32_t count)
{
    if (rank >= h->rank_count)
        return GSRT_EINPUT;
    free(h->ranks[rank].numbers);
    h->ranks[rank] = (told){0};
    for (uint32_t at = 0, next; at < count; at = next) {
        if (!is_sound(h, numbers, count, at, &next) || (next < count && numbers[next] <= numbers[at]))
            return GSRT_EINPUT;
    }
    if (count == 0)
        return GSRT_OK;
    uint32_t *copy = malloc(count * sizeof *copy);
    if (copy == NULL)
        return GSRT_ENOMEM;
    memcpy(copy, numbers, count * sizeof *copy);
    h->ranks[rank] = (told){.numbers = copy, .count = count};
    return GSRT_OK;
}

/* Leading blocks of each cell of `request` at `rank`, in its place of the room. */
static uint32_t *expand(const gsrt_holdings *h, uint32_t rank, uint32_t request)
{
    const told *t = &h->ranks[rank];
    uint32_t *counts = h->room + (size_t)rank * h->cell_count, at = 0, cell = 0;
    memset(counts, 0, h->cell_count * sizeof *counts);
    while (at < t->count && t->numbers[at] < request)
        at += 2 + 2 * t->numbers[at + 1];
    if (at == t->count || t->numbers[at] != request)
        return counts;
    for (uint32_t run = 0; run < t->numbers[at + 1]; run++) {
        for (uint32_t i = 0; i < t->numbers[at + 3 + 2 * run]; i++)
            counts[cell++] = t->numbers[at + 2 + 2 * run];
    }
    return counts;
}

uint32_t gsrt_holdings_blocks(const gsrt_holdings *h, uint32_t request, const bool *is_there)
{
    uint32_t *highest = h->room + (size_t)h->rank_count * h->cell_count, lowest = UINT32_MAX;
    memset(highest, 0, h->cell_count * sizeof *highest);
    for (uint32_t rank = 0; rank < h->rank_count; rank++) {
        if (!is_there[rank] || h->ranks[rank].count == 0)
            continue;
        const uint32_t *counts = expand(h, rank, request);
        for (uint32_t i = 0; i < h->cell_count; i++)
            highest[i] = counts[i] > highest[i] ? counts[i] : highest[i];
    }
    for (uint32_t i = 0; i < h->cell_count; i++)
        lowest = highest[i] < lowest ? highest[i] : lowest;
    return lowest;
}

/* The next rank after need->to, in turn, that holds all of what is needed of `cell`; need->to: itself. */
static uint32_t giver_of(const gsrt_holdings *h, const gsrt_holdings_need *need, const bool *is_there, uint32_t cell)
{
    for (uint32_t i = 0; i < h->rank_count; i++) {
        uint32_t rank = (need->to + i) % h->rank_count;
        if (is_there[rank] && h->room[(size_t)rank * h->cell_count + cell] >= need->block_count)
            return rank;
    }
    return need->to; /* nobody: more was asked for than gsrt_holdings_blocks */
}

gsrt_status gsrt_holdings_draw(const gsrt_holdings *h, const gsrt_holdings_need *need, const bool *is_there,
                               gsrt_buffer *out)
{
    gsrt_transfer t = {.to = need->to, .request = need->request, .block_count = need->block_count};
    gsrt_status status = GSRT_OK;
    for (uint32_t rank = 0; rank < h->rank_count; rank++)
        (void)expand(h, rank, need->request);
    for (uint32_t layer = need->layer_first; layer < need->layer_first + need->layer_count; layer++) {
        for (uint32_t head = need->head_first; head < need->head_first + need->head_count; head++) {
            uint32_t cell = layer * h->shape.kv_head_count + head, from = giver_of(h, need, is_there, cell);
            bool is_going_on = t.cell_count > 0 && t.from == from && t.first + t.cell_count == cell;
            if (!is_going_on && t.cell_count > 0 && status == GSRT_OK)
                status = gsrt_buffer_append(out, &t, sizeof t);
            if (!is_going_on)
                t = (gsrt_transfer){from, t.to, t.request, cell, 0, t.block_count};
            t.cell_count += from == t.to ? 0 : 1;
        }
    }
    if (t.cell_count > 0 && status == GSRT_OK)
        status = gsrt_buffer_append(out, &t, sizeof t);
    return status;
}
