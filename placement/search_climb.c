/* The moves that make one candidate of another, and the climb: the first move that makes it better is made, until none
 * does. The order of moves is fixed, so the top depends on nothing but the start.
 */
#include "placement/search_impl.h"

#include <assert.h>
#include <string.h>

typedef enum move_kind {
    MOVE_BATCH_DOUBLE,
    MOVE_BATCH_HALVE,
    MOVE_BATCH_MORE, /* the next of the lattice */
    MOVE_BATCH_LESS,
    MOVE_CHUNK_MORE,
    MOVE_CHUNK_LESS,
    MOVE_BATCH_FOR_CHUNK, /* both need memory: the one instead of the other */
    MOVE_CHUNK_FOR_BATCH,
    MOVE_REPLICAS_MOST,
    MOVE_REPLICAS_MORE,
    MOVE_REPLICAS_LESS,
    MOVE_REPLICAS_HALVE,
    MOVE_OVERLAP,
    MOVE_POWER_LESS,
    MOVE_POWER_MORE,
    MOVE_DRAFT_MORE,
    MOVE_DRAFT_LESS,
    MOVE_WIDER, /* groups of one class: twice as many engines, as many stages or half of them */
    MOVE_WIDER_SHORTER,
    MOVE_NARROWER,
    MOVE_NARROWER_LONGER,
    MOVE_LONGER, /* one stage more, of the same width */
    MOVE_SHORTER,
    MOVE_OTHER_CLASS, /* the next one of the fleet; only until a plan was found: each class is climbed for itself */
    MOVE_FIXED_COUNT,
    /* then: each mode of a mixture of experts; each collective algorithm; each numeric choice; each boundary of stages
     * both ways; each share of a mixed stage both ways; KV in a second memory tier, and the context in parts, where
     * that is allowed */
} move_kind;

/* Batches of small instances: 1, 2, 3, 4, 6, 8, 12 ...; else eight to an octave: 1, 2, ... 8, 9, ... 16, 18, ... So
 * that the space is finite, and the same for every policy. */
uint32_t gsrt__batch_on_lattice(const gsrt__search *s, uint64_t batch)
{
    uint32_t mantissas = s->is_small ? 2 : 8, unit = 1, most = gsrt__batch_most(s);
    if (batch >= most)
        return most;
    while (batch / unit >= (uint64_t)mantissas * 2)
        unit *= 2;
    return (uint32_t)(batch / unit * unit);
}

static uint32_t lattice_step(const gsrt__search *s, uint32_t batch)
{
    uint32_t mantissas = s->is_small ? 2 : 8, unit = 1;
    while (batch / unit >= mantissas * 2)
        unit *= 2;
    return unit;
}

bool gsrt__set_batch(const gsrt__search *s, gsrt__sketch_pool *pool, uint64_t batch)
{
    uint32_t least = 1, next = gsrt__batch_on_lattice(s, batch);
    for (uint32_t i = 0; i < pool->stage_count; i++)
        least = pool->stages[i].data_width > least ? pool->stages[i].data_width : least;
    if (next < least || next == pool->batch_max)
        return false;
    pool->batch_max = next;
    return true;
}

static bool set_chunk(const gsrt__search *s, gsrt__sketch_pool *pool, bool is_more)
{
    uint32_t before = pool->prefill_tokens;
    pool->prefill_tokens = gsrt__next_chunk(s, before, is_more);
    return pool->prefill_tokens != before;
}

static bool set_replicas(gsrt__search *s, gsrt__sketch *sketch, uint32_t pool, uint64_t count)
{
    uint64_t most = gsrt__replicas_max(s, sketch, pool);
    if (s->problem->is_for_execution || count < 1 || count > most || count == sketch->pools[pool].replica_count)
        return false;
    sketch->pools[pool].replica_count = count;
    return true;
}

static bool set_power(gsrt__search *s, gsrt__sketch_pool *pool, double factor)
{
    double most = 0, idle = 0;
    for (uint32_t i = 0; i < pool->stage_count; i++)
        for (uint32_t m = 0; m < pool->stages[i].member_count; m++) {
            const gsrt__engine_class *class = &s->classes[pool->stages[i].members[m].class];
            most = class->power_max > most ? class->power_max : most;
            idle = class->power_idle > idle ? class->power_idle : idle;
        }
    double now = pool->power_cap_w > 0 ? pool->power_cap_w : most;
    if (s->problem->is_for_execution || s->is_small || most <= 0 || now * factor < most / 4 || now * factor <= idle ||
        (pool->power_cap_w <= 0 && factor > 1))
        return false;
    pool->power_cap_w = now * factor >= most ? 0 : now * factor;
    return true;
}

static bool set_drafts(const gsrt__search *s, gsrt__sketch_pool *pool, uint32_t count)
{
    if (s->problem->is_for_execution || s->is_small || (pool->phases & GSRT_PHASE_DECODE) == 0 ||
        count > s->problem->demand.draft_tokens)
        return false;
    pool->draft_tokens = count;
    return true;
}

bool gsrt__set_mode(const gsrt__search *s, gsrt__sketch_pool *pool, gsrt__mode mode)
{
    bool is_changed = false, divides = mode == GSRT__MODE_DATA || mode == GSRT__MODE_DATA_EXPERT;
    if (mode != GSRT__MODE_TENSOR && (s->expert_count == 0 || s->problem->is_for_execution))
        return false;
    for (uint32_t i = 1; divides && i < pool->stage_count; i++) /* all stages divide a batch alike */
        if (gsrt__stage_width(&pool->stages[i]) != gsrt__stage_width(&pool->stages[0]))
            return false;
    for (uint32_t i = 0; i < pool->stage_count; i++) {
        gsrt__sketch_stage *stage = &pool->stages[i];
        uint32_t width = gsrt__stage_width(stage), groups = width, most = s->expert_count > 0 ? s->expert_count : 1;
        while (groups > most || width % groups != 0)
            groups--;
        uint32_t data = mode == GSRT__MODE_DATA || mode == GSRT__MODE_DATA_EXPERT ? width : 1;
        uint32_t expert = mode == GSRT__MODE_EXPERT || mode == GSRT__MODE_DATA_EXPERT ? groups : 1;
        is_changed = is_changed || stage->data_width != data || stage->expert_width != expert;
        stage->data_width = data;
        stage->expert_width = expert;
        pool->batch_max = pool->batch_max < data ? data : pool->batch_max;
    }
    (void)gsrt__set_context(pool, gsrt__context_parts(pool));
    return is_changed;
}

static bool set_algorithm(gsrt__search *s, const gsrt__sketch *sketch, gsrt__sketch_pool *pool,
                          gsrt_collective_algorithm algorithm)
{
    bool is_changed = false;
    for (uint32_t i = 0; i < pool->stage_count && algorithm != GSRT_ALGORITHM_NONE; i++) {
        gsrt__sketch_stage *stage = &pool->stages[i];
        if (gsrt__stage_width(stage) < 2)
            continue;
        for (uint32_t m = 0; m < stage->member_count; m++)
            if (!gsrt__is_admitted(s, sketch->numeric, stage->members[m].class, algorithm))
                return false;
        is_changed = is_changed || stage->algorithm != algorithm;
        stage->algorithm = algorithm;
    }
    return is_changed;
}

static bool set_boundary(gsrt__sketch_pool *pool, uint32_t stage, bool is_later)
{
    gsrt__sketch_stage *left = &pool->stages[stage], *right = &pool->stages[stage + 1];
    if (is_later ? right->layer_first == right->layer_last : left->layer_first == left->layer_last)
        return false;
    left->layer_last = is_later ? left->layer_last + 1 : left->layer_last - 1;
    right->layer_first = left->layer_last + 1;
    return true;
}

static bool set_share(gsrt__sketch_pool *pool, uint32_t index, bool is_more)
{
    for (uint32_t i = 0; i < pool->stage_count; i++) {
        gsrt__sketch_stage *stage = &pool->stages[i];
        if (stage->member_count < 2)
            continue;
        if (index < stage->member_count) {
            uint32_t *share = &stage->members[index].share;
            uint32_t step = *share / 8 > 0 ? *share / 8 : 1;
            if (!is_more && *share <= step)
                return false;
            *share = is_more ? *share + step : *share - step;
            return *share < 1u << 16;
        }
        index -= stage->member_count;
    }
    return false;
}

static uint32_t share_count(const gsrt__sketch_pool *pool)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < pool->stage_count; i++)
        count += pool->stages[i].member_count > 1 ? pool->stages[i].member_count : 0;
    return count;
}

static gsrt__mode mode_of(const gsrt__sketch_stage *stage)
{
    if (stage->data_width > 1)
        return stage->expert_width > 1 ? GSRT__MODE_DATA_EXPERT : GSRT__MODE_DATA;
    return stage->expert_width > 1 ? GSRT__MODE_EXPERT : GSRT__MODE_TENSOR;
}

/* Another shape of a pool of one class; what is not of the shape stays. */
static bool set_shape(gsrt__search *s, gsrt__sketch *sketch, uint32_t p, move_kind move)
{
    gsrt__sketch_pool *pool = &sketch->pools[p];
    const gsrt__sketch_stage *first = &pool->stages[0];
    const gsrt__sketch_pool before = {.phases = pool->phases,
                                      .replica_count = pool->replica_count,
                                      .batch_max = pool->batch_max,
                                      .prefill_tokens = pool->prefill_tokens,
                                      .power_cap_w = pool->power_cap_w,
                                      .draft_tokens = pool->draft_tokens,
                                      .kv_offload = pool->kv_offload};
    uint32_t width = gsrt__stage_width(first), stages = pool->stage_count, parts = gsrt__context_parts(pool);
    bool overlaps = first->overlaps;
    for (uint32_t i = 0; i < stages; i++)
        if (pool->stages[i].member_count != 1 || pool->stages[i].members[0].class != first->members[0].class)
            return false;
    gsrt__shape shape = {
        .class = first->members[0].class, .width = width, .stage_count = stages, .mode = mode_of(first)};
    bool is_wider = move == MOVE_WIDER || move == MOVE_WIDER_SHORTER;
    if (is_wider)
        shape.width = width * 2;
    if (move == MOVE_NARROWER || move == MOVE_NARROWER_LONGER)
        shape.width = width / 2;
    if (move == MOVE_WIDER_SHORTER)
        shape.stage_count = stages > 1 ? (stages + 1) / 2 : 0;
    if (move == MOVE_NARROWER_LONGER)
        shape.stage_count = stages * 2;
    if (move == MOVE_LONGER || move == MOVE_SHORTER)
        shape.stage_count = move == MOVE_LONGER ? stages + 1 : stages - 1;
    if (move == MOVE_OTHER_CLASS)
        shape.class = (shape.class + 1) % s->class_count;
    bool is_usable = s->classes[shape.class].barred == NULL &&
                     gsrt__incapable(s, shape.class, sketch->numeric) == NULL &&
                     (move != MOVE_OTHER_CLASS || (s->class_count > 1 && !s->has_best));
    if (shape.width == 0 || shape.stage_count == 0 || !is_usable ||
        (uint64_t)shape.width * shape.stage_count > s->classes[shape.class].total)
        return false;
    gsrt_collective_algorithm now = first->algorithm;
    shape.algorithm = shape.width > 1 && now != GSRT_ALGORITHM_NONE
                          ? now
                          : gsrt__first_algorithm(s, sketch->numeric, shape.class, shape.width);
    if (!gsrt__shape_pool(s, sketch->numeric, &shape, pool))
        return false;
    uint32_t least = pool->batch_max;
    pool->phases = before.phases;
    pool->batch_max = before.batch_max > least ? before.batch_max : least;
    pool->prefill_tokens = before.prefill_tokens;
    pool->power_cap_w = before.power_cap_w;
    pool->draft_tokens = before.draft_tokens;
    pool->kv_offload = before.kv_offload;
    for (uint32_t i = 0; i < pool->stage_count; i++)
        pool->stages[i].overlaps = overlaps;
    (void)gsrt__set_context(pool, parts);
    uint64_t most = s->problem->is_for_execution ? 1 : gsrt__replicas_max(s, sketch, p);
    pool->replica_count = before.replica_count < most ? before.replica_count : most;
    return most > 0;
}

static bool move_fixed(gsrt__search *s, gsrt__sketch *sketch, uint32_t p, move_kind move)
{
    gsrt__sketch_pool *pool = &sketch->pools[p];
    uint64_t batch = pool->batch_max, replicas = pool->replica_count;
    switch (move) {
    case MOVE_BATCH_DOUBLE: return gsrt__set_batch(s, pool, batch * 2);
    case MOVE_BATCH_HALVE: return gsrt__set_batch(s, pool, batch / 2);
    case MOVE_BATCH_MORE: return gsrt__set_batch(s, pool, batch + lattice_step(s, pool->batch_max));
    case MOVE_BATCH_LESS: return batch > 1 && gsrt__set_batch(s, pool, batch - 1);
    case MOVE_CHUNK_MORE: return set_chunk(s, pool, true);
    case MOVE_CHUNK_LESS: return set_chunk(s, pool, false);
    case MOVE_BATCH_FOR_CHUNK: return set_chunk(s, pool, false) && gsrt__set_batch(s, pool, batch * 2);
    case MOVE_CHUNK_FOR_BATCH: return set_chunk(s, pool, true) && gsrt__set_batch(s, pool, batch / 2);
    case MOVE_REPLICAS_MOST: return set_replicas(s, sketch, p, gsrt__replicas_max(s, sketch, p));
    case MOVE_REPLICAS_MORE: return set_replicas(s, sketch, p, replicas + 1);
    case MOVE_REPLICAS_LESS: return set_replicas(s, sketch, p, replicas - 1);
    case MOVE_REPLICAS_HALVE: return set_replicas(s, sketch, p, replicas / 2);
    case MOVE_OVERLAP:
        for (uint32_t i = 0; i < pool->stage_count; i++)
            pool->stages[i].overlaps = !pool->stages[i].overlaps;
        return !s->problem->is_for_execution;
    case MOVE_POWER_LESS: return set_power(s, pool, 0.875);
    case MOVE_POWER_MORE: return set_power(s, pool, 1 / 0.875);
    case MOVE_DRAFT_MORE: return set_drafts(s, pool, pool->draft_tokens + 1);
    case MOVE_DRAFT_LESS: return pool->draft_tokens > 0 && set_drafts(s, pool, pool->draft_tokens - 1);
    case MOVE_WIDER:
    case MOVE_WIDER_SHORTER:
    case MOVE_NARROWER:
    case MOVE_NARROWER_LONGER:
    case MOVE_LONGER:
    case MOVE_SHORTER:
    case MOVE_OTHER_CLASS: return set_shape(s, sketch, p, move);
    case MOVE_FIXED_COUNT: break;
    }
    return false;
}

bool gsrt__move(gsrt__search *s, gsrt__sketch *sketch, uint32_t p, uint32_t move, bool *out_is_last)
{
    gsrt__sketch_pool *pool = &sketch->pools[p];
    *out_is_last = false;
    if (move < MOVE_FIXED_COUNT)
        return move_fixed(s, sketch, p, (move_kind)move);
    move -= MOVE_FIXED_COUNT;
    if (move < GSRT__MODE_COUNT)
        return gsrt__set_mode(s, pool, (gsrt__mode)move);
    move -= GSRT__MODE_COUNT;
    if (move < GSRT_ALGORITHM_COUNT)
        return set_algorithm(s, sketch, pool, (gsrt_collective_algorithm)move);
    move -= GSRT_ALGORITHM_COUNT;
    if (move < s->numeric_count) {
        bool is_other = move != sketch->numeric && !s->numerics[move].is_refused;
        sketch->numeric = move;
        return is_other;
    }
    move -= s->numeric_count;
    if (move < 2 * (pool->stage_count - 1))
        return set_boundary(pool, move / 2, move % 2 == 0);
    move -= 2 * (pool->stage_count - 1);
    if (!s->is_small && move < 2 * share_count(pool))
        return set_share(pool, move / 2, move % 2 == 0);
    move -= s->is_small ? 0 : 2 * share_count(pool);
    if (s->problem->demand.kv_offload && move < GSRT__OFFLOAD_MOVES)
        return gsrt__offload_move(s, pool, move);
    move -= s->problem->demand.kv_offload ? GSRT__OFFLOAD_MOVES : 0;
    if (gsrt__may_divide_context(s) && move < GSRT__CONTEXT_MOVES)
        return gsrt__context_move(s, pool, move);
    *out_is_last = true;
    return false;
}

void gsrt__climb(gsrt__search *s, gsrt__sketch *sketch, gsrt__judgement *j)
{
    gsrt__sketch *tried = gsrt__sketch_room(s);
    if (tried == NULL)
        return;
    bool is_better = true;
    while (is_better) {
        is_better = false;
        for (uint32_t p = 0; p < sketch->pool_count; p++) {
            bool is_last = false;
            for (uint32_t move = 0; !is_last; move++) {
                gsrt__judgement found;
                gsrt__sketch_copy(tried, sketch);
                if (!gsrt__move(s, tried, p, move, &is_last))
                    continue;
                if (!gsrt__consider(s, tried, &found)) {
                    gsrt__sketch_give_back(s, tried);
                    return;
                }
                if (!gsrt__is_better(&found, j))
                    continue;
                gsrt__sketch_copy(sketch, tried);
                *j = found;
                is_better = true;
                move--; /* the same once more */
            }
        }
    }
    gsrt__sketch_give_back(s, tried);
}

void gsrt__climb_rivals(gsrt__search *s, const char *reason)
{
    gsrt__sketch *starts[GSRT__STARTS_MAX];
    gsrt__judgement judgements[GSRT__STARTS_MAX];
    uint32_t count = 0, most = s->is_small ? GSRT__STARTS_MAX : GSRT__STARTS_MAX / 4;
    while (count < most && gsrt__rival_of(s, reason, count) != NULL) {
        const gsrt__rival *rival = gsrt__rival_of(s, reason, count);
        starts[count] = gsrt__sketch_room(s);
        if (starts[count] == NULL)
            return;
        gsrt__sketch_copy(starts[count], rival->sketch);
        judgements[count++] = rival->judgement;
    }
    for (uint32_t i = 0; i < count; i++) {
        gsrt__climb(s, starts[i], &judgements[i]);
        gsrt__sketch_give_back(s, starts[i]);
    }
}
