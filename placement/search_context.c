/* The context in parts, as a choice of the search: whole pools are asked to divide positions by so many, and each stage
 * does by the most that its sharers allow.
 */
#include "placement/search_impl.h"

bool gsrt__may_divide_context(const gsrt__search *s)
{
    return s->problem->demand.context_parallel && !s->problem->is_for_execution;
}

static uint32_t sharers_of(const gsrt__sketch_stage *stage)
{
    return gsrt__stage_width(stage) / stage->data_width;
}

/* The largest divisor of a number up to `most`; at least 1. */
static uint32_t divisor_at_most(uint32_t number, uint32_t most)
{
    uint32_t divisor = most < number ? most : number;
    while (divisor > 1 && number % divisor != 0)
        divisor--;
    return divisor > 0 ? divisor : 1;
}

uint32_t gsrt__context_parts(const gsrt__sketch_pool *pool)
{
    uint32_t parts = 1;
    for (uint32_t i = 0; i < pool->stage_count; i++)
        parts = pool->stages[i].context_width > parts ? pool->stages[i].context_width : parts;
    return parts;
}

bool gsrt__set_context(gsrt__sketch_pool *pool, uint32_t parts)
{
    bool is_changed = false;
    for (uint32_t i = 0; i < pool->stage_count; i++) {
        gsrt__sketch_stage *stage = &pool->stages[i];
        uint32_t width = divisor_at_most(sharers_of(stage), parts);
        is_changed = is_changed || width != stage->context_width;
        stage->context_width = width;
    }
    return is_changed;
}

static uint32_t parts_most(const gsrt__sketch_pool *pool)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < pool->stage_count; i++)
        most = sharers_of(&pool->stages[i]) > most ? sharers_of(&pool->stages[i]) : most;
    return most;
}

bool gsrt__set_context_next(const gsrt__search *s, gsrt__sketch_pool *pool)
{
    uint32_t most = parts_most(pool);
    for (uint32_t parts = gsrt__context_parts(pool) + 1; gsrt__may_divide_context(s) && parts <= most; parts++)
        if (gsrt__set_context(pool, parts))
            return true;
    return false;
}

static bool set_context_last(gsrt__sketch_pool *pool)
{
    for (uint32_t parts = gsrt__context_parts(pool); parts > 1; parts--)
        if (gsrt__set_context(pool, parts - 1))
            return true;
    return false;
}

bool gsrt__context_more(gsrt__search *s, gsrt__sketch *sketch)
{
    gsrt__sketch *more = gsrt__may_divide_context(s) ? gsrt__sketch_room(s) : NULL;
    gsrt__judgement j = {0};
    bool is_more = false;
    if (more == NULL)
        return false;
    gsrt__sketch_copy(more, sketch);
    for (uint32_t p = 0; p < more->pool_count; p++)
        if (gsrt__is_batch_least(&more->pools[p]) && gsrt__set_context_next(s, &more->pools[p]))
            is_more = true;
    if (is_more)
        gsrt__judge_contract(s, more, &j);
    is_more = is_more && s->status == GSRT_OK && j.failure_count == 0;
    if (is_more)
        gsrt__sketch_copy(sketch, more);
    gsrt__sketch_give_back(s, more);
    return is_more;
}

bool gsrt__context_move(const gsrt__search *s, gsrt__sketch_pool *pool, uint32_t move)
{
    enum { MORE, LESS, ALL, NONE, KINDS };
    uint64_t before = gsrt__context_parts(pool);
    bool is_changed = false;
    switch (move % KINDS) {
    case MORE: is_changed = gsrt__set_context_next(s, pool); break;
    case LESS: is_changed = set_context_last(pool); break;
    case ALL: is_changed = gsrt__set_context(pool, parts_most(pool)); break;
    case NONE: is_changed = gsrt__set_context(pool, 1); break;
    }
    if (!is_changed || move < KINDS)
        return is_changed;
    return gsrt__set_batch(s, pool, pool->batch_max * gsrt__context_parts(pool) / before);
}
