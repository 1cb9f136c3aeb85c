/* The coarse partition: for each class of engines the shapes of its replicas (width, stages, mode, collective), layers
 * cut by dynamic programming; the best few get their batch and climb; then classes beside each other, prefill and
 * decode apart, and pipelines over several classes.
 */
#include "placement/search_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { TOP_COUNT = 4, WIDTH_MAX = 64, STAGE_STEPS = 5 };

typedef struct found {
    gsrt__sketch *sketch;
    gsrt__judgement judgement;
} found;

/* The best few of one class, the best first; the rest is forgotten (rivals are remembered elsewhere). */
static void keep(gsrt__search *s, found *top, const gsrt__sketch *sketch, const gsrt__judgement *j)
{
    uint32_t at = TOP_COUNT - 1;
    if ((!j->is_feasible && !j->is_near) || (top[at].sketch != NULL && !gsrt__is_better(j, &top[at].judgement)))
        return;
    gsrt__sketch *room = top[at].sketch != NULL ? top[at].sketch : gsrt__sketch_room(s);
    if (room == NULL)
        return;
    gsrt__sketch_copy(room, sketch);
    for (; at > 0 && (top[at - 1].sketch == NULL || gsrt__is_better(j, &top[at - 1].judgement)); at--)
        top[at] = top[at - 1];
    top[at] = (found){room, *j};
}

/* A batch that should fit: what the memories leave after the weights. */
static uint32_t likely_batch(const gsrt__search *s, uint32_t numeric, uint32_t class, uint32_t width,
                             uint32_t stage_count)
{
    double none = gsrt__replica_bytes(s, numeric, 0), one = gsrt__replica_bytes(s, numeric, 1) - none;
    double room = 0.85 * s->classes[class].capacity * width * stage_count - none;
    double batch = one > 0 ? room / (one * stage_count) : 256;
    return gsrt__batch_on_lattice(s, batch < 1 ? 1 : (uint64_t)batch);
}

/* One shape at its likely batch and at the smallest; the better one counts. false: no budget was left. */
static bool try_shape(gsrt__search *s, uint32_t numeric, const gsrt__shape *shape, gsrt__sketch *room, found *top)
{
    gsrt__judgement j;
    room->pool_count = 1;
    room->numeric = numeric;
    gsrt__sketch_pool *pool = &room->pools[0];
    if (!gsrt__shape_pool(s, numeric, shape, pool))
        return true;
    uint64_t most = s->problem->is_for_execution ? 1 : gsrt__replicas_max(s, room, 0);
    pool->replica_count = most > 0 ? most : 1;
    uint32_t least = pool->batch_max, likely = likely_batch(s, numeric, shape->class, shape->width, shape->stage_count);
    for (uint32_t batch = likely > least ? likely : least;;) {
        pool->batch_max = batch;
        pool->prefill_tokens = gsrt__first_chunk(s);
        if (!gsrt__consider_smaller(s, room, &j))
            return false;
        while (!j.is_feasible && strcmp(j.reason, GSRT_REASON_POWER) == 0 && pool->replica_count > 1) {
            pool->replica_count /= 2; /* as many as a place may feed */
            if (!gsrt__consider(s, room, &j))
                return false;
        }
        keep(s, top, room, &j);
        bool is_full = !j.is_feasible && strcmp(j.reason, GSRT_REASON_MEMORY) == 0;
        if (batch == least || (!is_full && !j.is_feasible && strcmp(j.reason, GSRT_REASON_LIMIT) != 0))
            return true;
        batch = is_full ? gsrt__batch_on_lattice(s, batch / 2) : least;
        batch = batch < least ? least : batch;
    }
}

/* Stages of `width` engines that hold the workload: the fewest, and some more. */
static bool try_width(gsrt__search *s, uint32_t numeric, uint32_t class, uint32_t width, gsrt__sketch *room, found *top)
{
    const gsrt__engine_class *c = &s->classes[class];
    double needed = gsrt__replica_bytes(s, numeric, 1), none = gsrt__replica_bytes(s, numeric, 0);
    double near = fmax(none, needed - (gsrt__memory_most(s, class) - c->capacity)); /* what no second tier takes */
    uint64_t least = (uint64_t)(near / (c->capacity * width)) + 1;
    uint64_t counts[STAGE_STEPS] = {least, least + 1, least * 2, least * 3, least * 4}, last = 0;
    for (uint32_t i = 0; i < STAGE_STEPS; i++) {
        uint64_t stages = counts[i] > s->layer_count ? s->layer_count : counts[i];
        if (stages == last || stages * width > c->total || stages > GSRT__SKETCH_STAGES)
            continue;
        last = stages;
        for (uint32_t mode = 0; mode < (s->expert_count > 0 ? GSRT__MODE_COUNT : 1); mode++) {
            const gsrt__shape shape = {.class = class,
                                       .width = width,
                                       .stage_count = (uint32_t)stages,
                                       .algorithm = gsrt__first_algorithm(s, numeric, class, width),
                                       .mode = (gsrt__mode)mode};
            bool is_same = mode > 0 && (width == 1 || s->problem->is_for_execution);
            if (!is_same && !try_shape(s, numeric, &shape, room, top))
                return false;
        }
    }
    return true;
}

static bool try_class(gsrt__search *s, uint32_t numeric, uint32_t class, gsrt__sketch *room, found *top)
{
    const gsrt__engine_class *c = &s->classes[class];
    uint64_t node = c->levels[0], most = c->total < WIDTH_MAX ? c->total : WIDTH_MAX;
    if (c->capacity <= 0 || c->barred != NULL || gsrt__incapable(s, class, numeric) != NULL) {
        const gsrt__shape shape = {
            .class = class, .width = 1, .stage_count = 1}; /* noted as a rival, with its reason */
        return try_shape(s, numeric, &shape, room, top);
    }
    for (uint32_t width = 1; width <= most; width *= 2)
        if (!try_width(s, numeric, class, width, room, top))
            return false;
    bool is_power = (node & (node - 1)) == 0;
    return is_power || node > most || try_width(s, numeric, class, (uint32_t)node, room, top);
}

/* ---- prefill and decode apart ---- */

static void try_apart(gsrt__search *s, const gsrt__sketch *prefill, const gsrt__sketch *decode, gsrt__sketch *room)
{
    gsrt__judgement best = {0}, j;
    gsrt__sketch *top = gsrt__sketch_room(s);
    if (top == NULL)
        return;
    bool is_same_class = prefill->pools[0].stages[0].members[0].class == decode->pools[0].stages[0].members[0].class;
    for (uint32_t eighths = 1; eighths < 8; eighths++) {
        room->pool_count = 2;
        room->numeric = decode->numeric;
        gsrt__sketch_pool_copy(&room->pools[0], &prefill->pools[0]);
        gsrt__sketch_pool_copy(&room->pools[1], &decode->pools[0]);
        room->pools[0].phases = GSRT_PHASE_PREFILL;
        room->pools[1].phases = GSRT_PHASE_DECODE;
        uint64_t most = gsrt__replicas_max(s, room, 0);
        uint64_t part = most * eighths / 8;
        room->pools[0].replica_count = is_same_class ? part : most;
        if (room->pools[0].replica_count == 0)
            continue;
        most = gsrt__replicas_max(s, room, 1);
        room->pools[1].replica_count = most;
        if (most == 0)
            continue;
        if (!gsrt__consider(s, room, &j))
            break;
        if (gsrt__is_better(&j, &best)) {
            best = j;
            gsrt__sketch_copy(top, room);
        }
        if (!is_same_class)
            break;
    }
    if (best.is_feasible)
        gsrt__climb(s, top, &best);
    gsrt__sketch_give_back(s, top);
}

/* ---- all of it ---- */

static void try_numeric(gsrt__search *s, uint32_t numeric, gsrt__sketch *room)
{
    found best = {0};
    found *tops = gsrt_arena_take(&s->arena, (size_t)s->class_count * TOP_COUNT, sizeof *tops);
    if (tops == NULL) {
        s->status = GSRT_ENOMEM;
        return;
    }
    for (uint32_t c = 0; c < s->class_count; c++) {
        found *top = &tops[(size_t)c * TOP_COUNT];
        if (!try_class(s, numeric, c, room, top))
            return;
        for (uint32_t i = 0; i < TOP_COUNT && top[i].sketch != NULL; i++) {
            if (!gsrt__fit_batch(s, top[i].sketch, 0, &top[i].judgement))
                return;
            if (i > 0 && gsrt__is_better(&top[i].judgement, &top[0].judgement)) {
                found swap = top[0];
                top[0] = top[i];
                top[i] = swap;
            }
        }
        if (top[0].sketch == NULL)
            continue;
        gsrt__climb(s, top[0].sketch, &top[0].judgement);
        if (best.sketch == NULL || gsrt__is_better(&top[0].judgement, &best.judgement))
            best = top[0];
    }
    if (best.sketch != NULL && !s->problem->is_for_execution && !s->is_small) {
        gsrt__judgement j = best.judgement;
        gsrt__sketch_copy(room, best.sketch);
        for (uint32_t c = 0; c < s->class_count; c++)
            if (tops[(size_t)c * TOP_COUNT].sketch != NULL && tops[(size_t)c * TOP_COUNT].sketch != best.sketch)
                (void)gsrt__pools_join(s, room, &j, &tops[(size_t)c * TOP_COUNT].sketch->pools[0]);
        bool is_start =
            s->problem->demand.origin != NULL || !s->has_best; /* several regions, or more than each alone */
        if (is_start && room->pool_count > 1)
            gsrt__climb(s, room, &j);
        for (uint32_t a = 0; a < s->class_count; a++)
            for (uint32_t b = 0; b < s->class_count; b++)
                if (tops[(size_t)a * TOP_COUNT].sketch != NULL && tops[(size_t)b * TOP_COUNT].sketch != NULL)
                    try_apart(s, tops[(size_t)a * TOP_COUNT].sketch, tops[(size_t)b * TOP_COUNT].sketch, room);
    }
    gsrt__search_mixed(s, numeric);
    for (uint32_t i = 0; i < s->class_count * TOP_COUNT; i++)
        if (tops[i].sketch != NULL)
            gsrt__sketch_give_back(s, tops[i].sketch);
}

void gsrt__search_dp(gsrt__search *s)
{
    gsrt__sketch *room = gsrt__sketch_room(s);
    if (room == NULL)
        return;
    uint64_t end = s->budget_now;
    uint32_t left = 0;
    for (uint32_t n = 0; n < s->numeric_count; n++)
        left += s->numerics[n].is_refused ? 0 : 1;
    for (uint32_t n = 0; n < s->numeric_count && s->status == GSRT_OK; n++) {
        if (s->numerics[n].is_refused)
            continue;
        /* until a plan was found, each has its part of the budget */
        s->budget_now = s->evaluation_count < end ? s->evaluation_count + (end - s->evaluation_count) / left : end;
        left--;
        try_numeric(s, n, room);
    }
    s->budget_now = end;
    gsrt__judgement j = s->best_judgement;
    if (s->has_best) {
        gsrt__sketch_copy(room, &s->best);
        gsrt__climb(s, room, &j);
        gsrt__climb_rivals(s, GSRT_REASON_WORSE);
    }
    gsrt__sketch_give_back(s, room);
}
