/* Local search: from what `dp` finds, moves drawn by the counter-based generator; a worse candidate is taken for a
 * while when it is within a margin that shrinks, so that small hills are left; each end is climbed. All draws come from
 * the seed, all margins from the share of the budget that is used up: no clock, no exp.
 */
#include "base/random.h"
#include "placement/search_impl.h"

#include <assert.h>
#include <string.h>

enum { STREAM_MOVE = 1, MOVES_PER_WALK = 96 };

static uint64_t drawn(const gsrt__search *s, uint64_t *counter, uint64_t below)
{
    return gsrt_random_u64(s->options->seed, STREAM_MOVE, (*counter)++) % below;
}

static uint32_t move_count(gsrt__search *s, gsrt__sketch *room, const gsrt__sketch *from, uint32_t pool)
{
    bool is_last = false;
    uint32_t count = 0;
    for (; !is_last; count++) {
        gsrt__sketch_copy(room, from);
        (void)gsrt__move(s, room, pool, count, &is_last);
    }
    return count - 1;
}

/* Not much worse: by a share of the better score's size. */
static bool is_close_enough(const gsrt__judgement *a, const gsrt__judgement *b, double margin)
{
    double size = b->score < 0 ? -b->score : b->score;
    return a->is_feasible && a->score >= b->score - margin * size;
}

static bool drop_pool(gsrt__sketch *sketch, uint32_t p)
{
    if (sketch->pool_count < 2 || sketch->pools[p].phases != (GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE))
        return false;
    gsrt__sketch_pool_copy(&sketch->pools[p], &sketch->pools[sketch->pool_count - 1]);
    sketch->pool_count--;
    return true;
}

static bool walk(gsrt__search *s, gsrt__sketch *at, gsrt__judgement *j, gsrt__sketch *next, uint64_t *counter)
{
    for (uint32_t step = 0; step < MOVES_PER_WALK; step++) {
        gsrt__judgement found;
        uint32_t pool = (uint32_t)drawn(s, counter, at->pool_count);
        uint32_t count = move_count(s, next, at, pool);
        uint64_t draw = drawn(s, counter, (uint64_t)count + 1);
        bool is_last;
        gsrt__sketch_copy(next, at);
        bool is_moved = draw < count ? gsrt__move(s, next, pool, (uint32_t)draw, &is_last) : drop_pool(next, pool);
        if (!is_moved)
            continue;
        if (!gsrt__consider(s, next, &found))
            return false;
        double left = 1 - (double)s->evaluation_count / (double)s->options->budget;
        if (gsrt__is_better(&found, j) || is_close_enough(&found, j, 0.2 * left)) {
            gsrt__sketch_copy(at, next);
            *j = found;
        }
    }
    return true;
}

void gsrt__search_local(gsrt__search *s)
{
    gsrt__search_dp(s);
    gsrt__sketch *at = gsrt__sketch_room(s), *next = gsrt__sketch_room(s);
    if (at == NULL || next == NULL || !s->has_best)
        return;
    uint64_t counter = 0, walks = 0;
    bool goes_on = true;
    while (goes_on && walks++ < GSRT__WALKS_MAX) {
        gsrt__judgement j = s->best_judgement;
        gsrt__sketch_copy(at, &s->best);
        goes_on = walk(s, at, &j, next, &counter);
        if (goes_on)
            gsrt__climb(s, at, &j);
    }
    gsrt__sketch_give_back(s, at);
    gsrt__sketch_give_back(s, next);
}
