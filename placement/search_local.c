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

/* Structure: halve or double the width of all groups of a pool, with twice or half the stages; or drop a pool. */
static bool restructure(gsrt__search *s, gsrt__sketch *sketch, uint32_t p, uint64_t draw)
{
    gsrt__sketch_pool *pool = &sketch->pools[p];
    if (draw % 4 == 3 && sketch->pool_count > 1 && pool->phases == (GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE)) {
        gsrt__sketch_pool_copy(pool, &sketch->pools[sketch->pool_count - 1]);
        sketch->pool_count--;
        return true;
    }
    const gsrt__sketch_stage *first = &pool->stages[0];
    uint32_t width = gsrt__stage_width(first), stages = pool->stage_count, batch = pool->batch_max;
    for (uint32_t i = 0; i < stages; i++)
        if (pool->stages[i].member_count != 1 || pool->stages[i].members[0].class != first->members[0].class)
            return false;
    bool is_wider = draw % 2 == 0;
    gsrt__shape shape = {.class = first->members[0].class,
                         .width = is_wider ? width * 2 : width / 2,
                         .stage_count = draw % 4 == 2 ? stages
                                        : is_wider    ? (stages + 1) / 2
                                                      : stages * 2};
    if (shape.width == 0 || (uint64_t)shape.width * shape.stage_count > s->classes[shape.class].total)
        return false;
    shape.algorithm = gsrt__first_algorithm(s, sketch->numeric, shape.class, shape.width);
    uint32_t phases = pool->phases, chunk = pool->prefill_tokens;
    if (!gsrt__shape_pool(s, sketch->numeric, &shape, pool))
        return false;
    pool->phases = phases;
    pool->prefill_tokens = chunk;
    pool->batch_max = batch;
    uint64_t most = s->problem->is_for_execution ? 1 : gsrt__replicas_max(s, sketch, p);
    pool->replica_count = most;
    return most > 0;
}

static bool walk(gsrt__search *s, gsrt__sketch *at, gsrt__judgement *j, gsrt__sketch *next, uint64_t *counter)
{
    for (uint32_t step = 0; step < MOVES_PER_WALK; step++) {
        gsrt__judgement found;
        uint32_t pool = (uint32_t)drawn(s, counter, at->pool_count);
        uint32_t count = move_count(s, next, at, pool);
        uint64_t draw = drawn(s, counter, (uint64_t)count + 4);
        bool is_last;
        gsrt__sketch_copy(next, at);
        bool is_moved = draw < count ? gsrt__move(s, next, pool, (uint32_t)draw, &is_last)
                                     : restructure(s, next, pool, draw - count);
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
