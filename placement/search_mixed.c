/* Replicas of several classes of engines: pipelines whose stages are groups of different classes, the layers cut in
 * proportion to what each can do; and groups in which different engines share a stage by uneven parts.
 *
 * Groups are listed in an order, and the dynamic programming of gsrt__cut_layers gives each a run of layers or none. So
 * it finds the best cut for that order; the orders tried are that of the fleet, and by speed both ways.
 */
#include "placement/search_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SLOTS_MAX = 16, CLASSES_MAX = 6, SHARE_UNITS = 64 };

typedef struct list {
    uint32_t classes[CLASSES_MAX];
    uint32_t count;
} list;

/* What an engine can do for a decode step, in no unit: the harmonic mean of arithmetic and memory, as shares of the
 * class that is first in the fleet. */
static double speed_of(const gsrt__search *s, uint32_t numeric, uint32_t class)
{
    double rate = gsrt__rate(s, class, numeric, GSRT_CLASS_MATMUL), bandwidth = s->classes[class].bandwidth;
    double first_rate = gsrt__rate(s, 0, numeric, GSRT_CLASS_MATMUL), first_bandwidth = s->classes[0].bandwidth;
    double by_rate = first_rate > 0 ? rate / first_rate : rate;
    double by_bandwidth = first_bandwidth > 0 ? bandwidth / first_bandwidth : bandwidth;
    return by_rate > 0 && by_bandwidth > 0 ? 2 / (1 / by_rate + 1 / by_bandwidth) : 0;
}

/* ---- groups and slots ---- */

static gsrt__sketch_stage group_of(gsrt__search *s, uint32_t numeric, uint32_t class, uint32_t width)
{
    return (gsrt__sketch_stage){.members = {{class, width, 1}},
                                .member_count = 1,
                                .data_width = 1,
                                .expert_width = 1,
                                .context_width = 1,
                                .algorithm = gsrt__first_algorithm(s, numeric, class, width)};
}

/* Shares in proportion to speed, or to memory. */
static void set_shares(const gsrt__search *s, uint32_t numeric, gsrt__sketch_stage *group, gsrt__share_kind kind)
{
    double most = 0, each[GSRT__SKETCH_MEMBERS];
    for (uint32_t m = 0; m < group->member_count; m++) {
        uint32_t c = group->members[m].class;
        each[m] = kind == GSRT__SHARE_EVEN    ? 1
                  : kind == GSRT__SHARE_SPEED ? speed_of(s, numeric, c)
                                              : s->classes[c].capacity;
        most = each[m] > most ? each[m] : most;
    }
    for (uint32_t m = 0; m < group->member_count; m++) {
        double units = most > 0 ? each[m] / most * SHARE_UNITS + 0.5 : 1;
        group->members[m].share = units < 1 ? 1 : (uint32_t)units;
    }
}

/* A group of members of several classes. */
bool gsrt__mixed_group(gsrt__search *s, uint32_t numeric, const gsrt__sketch_member *members, uint32_t count,
                       gsrt__share_kind kind, gsrt__sketch_stage *out)
{
    uint32_t width = 0;
    *out = (gsrt__sketch_stage){.member_count = count, .data_width = 1, .expert_width = 1, .context_width = 1};
    for (uint32_t m = 0; m < count; m++) {
        out->members[m] = members[m];
        out->members[m].share = 1;
        width += members[m].count;
    }
    if (count > 1)
        set_shares(s, numeric, out, kind);
    out->algorithm = gsrt__first_algorithm(s, numeric, members[0].class, width);
    return width > 0;
}

/* What a group is to the cut: as so many engines of its first class, with the memory that its shares can fill. */
static gsrt__slot slot_of(const gsrt__search *s, uint32_t numeric, const gsrt__sketch_stage *group, double extra)
{
    gsrt__slot slot = {.class = group->members[0].class, .capacity = HUGE_VAL, .extra_seconds = extra};
    double shares = 0, first = speed_of(s, numeric, slot.class), slowest = HUGE_VAL;
    for (uint32_t m = 0; m < group->member_count; m++)
        shares += (double)group->members[m].share * group->members[m].count;
    for (uint32_t m = 0; m < group->member_count; m++) {
        uint32_t c = group->members[m].class;
        double part = group->members[m].share / shares, speed = speed_of(s, numeric, c) / part;
        slowest = speed < slowest ? speed : slowest;
        slot.capacity = s->classes[c].capacity / part < slot.capacity ? s->classes[c].capacity / part : slot.capacity;
    }
    slot.speed = first > 0 ? slowest / first : 1;
    return slot;
}

/* Cut over these groups, judge, fit the batch. false: no budget was left. */
static bool try_groups(gsrt__search *s, uint32_t numeric, const gsrt__sketch_stage *groups, uint32_t count,
                       uint64_t replicas, uint32_t rows, bool is_sum, gsrt__sketch *room)
{
    gsrt__slot slots[SLOTS_MAX];
    uint32_t last[SLOTS_MAX + 1];
    for (uint32_t i = 0; i < count; i++)
        slots[i] = slot_of(s, numeric, &groups[i], 0);
    if (!gsrt__cut_layers(s, numeric, slots, count, rows, is_sum, last))
        return s->status == GSRT_OK;
    room->pool_count = 1;
    room->numeric = numeric;
    gsrt__sketch_pool *pool = &room->pools[0];
    pool->phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    pool->replica_count = replicas;
    pool->batch_max = gsrt__batch_on_lattice(s, rows);
    pool->prefill_tokens = gsrt__first_chunk(s);
    pool->power_cap_w = 0;
    pool->draft_tokens = 0;
    pool->kv_offload = 0;
    pool->stage_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (last[i] == last[i + 1])
            continue;
        gsrt__sketch_stage *stage = &pool->stages[pool->stage_count++];
        *stage = groups[i];
        stage->layer_first = last[i];
        stage->layer_last = last[i + 1] - 1;
    }
    gsrt__judgement j, best = s->best_judgement;
    bool had_best = s->has_best;
    if (!gsrt__consider_smaller(s, room, &j))
        return false;
    bool is_near = j.is_feasible && (!had_best || gsrt__is_better(&j, &best) ||
                                     (j.score > 0 ? j.score > best.score / 2 : j.score > best.score * 2));
    return !is_near || gsrt__fit_batch(s, room, 0, &j);
}

/* ---- pipelines ---- */

static void sort_by_speed(const gsrt__search *s, uint32_t numeric, list *classes, bool is_falling)
{
    for (uint32_t i = 1; i < classes->count; i++)
        for (uint32_t k = i; k > 0; k--) {
            double left = speed_of(s, numeric, classes->classes[k - 1]),
                   right = speed_of(s, numeric, classes->classes[k]);
            if (is_falling ? left >= right : left <= right)
                break;
            uint32_t swap = classes->classes[k];
            classes->classes[k] = classes->classes[k - 1];
            classes->classes[k - 1] = swap;
        }
}

/* One order of classes, one width: replicas from as many as possible to one. */
static bool try_order(gsrt__search *s, uint32_t numeric, const list *order, uint32_t width, gsrt__sketch *room)
{
    static const uint32_t rows_tried[] = {1, 32};
    uint64_t replicas = UINT64_MAX;
    uint32_t widths[CLASSES_MAX];
    for (uint32_t i = 0; i < order->count; i++) {
        const gsrt__engine_class *c = &s->classes[order->classes[i]];
        widths[i] = (uint32_t)(c->levels[0] < width ? c->levels[0] : width);
        replicas = c->total / widths[i] < replicas ? c->total / widths[i] : replicas;
    }
    for (replicas = s->problem->is_for_execution ? 1 : replicas; replicas >= 1; replicas /= 2) {
        gsrt__sketch_stage groups[SLOTS_MAX];
        uint32_t count = 0;
        for (uint32_t i = 0; i < order->count; i++) {
            uint64_t each = s->classes[order->classes[i]].total / widths[i] / replicas;
            for (uint64_t k = 0; k < each; k++) {
                if (count == SLOTS_MAX)
                    return true; /* fewer replicas have more stages still */
                groups[count++] = group_of(s, numeric, order->classes[i], widths[i]);
            }
        }
        for (size_t r = 0; r < sizeof rows_tried / sizeof rows_tried[0]; r++)
            for (uint32_t is_sum = 0; is_sum < 2; is_sum++)
                if (!try_groups(s, numeric, groups, count, replicas, rows_tried[r], is_sum == 1, room))
                    return false;
    }
    return true;
}

static bool try_subset(gsrt__search *s, uint32_t numeric, const list *classes, gsrt__sketch *room)
{
    for (uint32_t order = 0; order < 3; order++) {
        list ordered = *classes;
        if (order > 0)
            sort_by_speed(s, numeric, &ordered, order == 1);
        for (uint32_t width = 1; width <= 8; width *= 2)
            if (!try_order(s, numeric, &ordered, width, room))
                return false;
    }
    return true;
}

/* ---- one stage of several classes ---- */

static bool try_shared(gsrt__search *s, uint32_t numeric, const list *classes, gsrt__sketch *room)
{
    for (uint32_t kind = 0; kind < GSRT__SHARE_COUNT; kind++) {
        gsrt__sketch_member members[CLASSES_MAX];
        gsrt__sketch_stage group;
        uint64_t replicas = UINT64_MAX;
        for (uint32_t i = 0; i < classes->count; i++) {
            const gsrt__engine_class *c = &s->classes[classes->classes[i]];
            if (c->levels[0] > 8 || !gsrt__may_share(s, classes->classes[0], classes->classes[i]))
                return true; /* small groups only */
            members[i] = (gsrt__sketch_member){classes->classes[i], (uint32_t)c->levels[0], 1};
            replicas = c->total / c->levels[0] < replicas ? c->total / c->levels[0] : replicas;
        }
        (void)gsrt__mixed_group(s, numeric, members, classes->count, (gsrt__share_kind)kind, &group);
        if (!try_groups(s, numeric, &group, 1, s->problem->is_for_execution ? 1 : replicas, 1, false, room))
            return false;
    }
    return true;
}

static bool try_both(gsrt__search *s, uint32_t numeric, const list *classes, gsrt__sketch *room)
{
    return try_subset(s, numeric, classes, room) && try_shared(s, numeric, classes, room);
}

/* All usable classes, all but one, and each pair. */
void gsrt__search_mixed(gsrt__search *s, uint32_t numeric)
{
    list usable = {0};
    for (uint32_t c = 0; c < s->class_count && usable.count < CLASSES_MAX; c++)
        if (s->classes[c].barred == NULL && s->classes[c].capacity > 0 && gsrt__incapable(s, c, numeric) == NULL)
            usable.classes[usable.count++] = c;
    gsrt__sketch *room = usable.count < 2 ? NULL : gsrt__sketch_room(s);
    if (room == NULL)
        return;
    bool goes_on = try_both(s, numeric, &usable, room);
    for (uint32_t out = 0; goes_on && usable.count > 3 && out < usable.count; out++) {
        list rest = {.count = 0};
        for (uint32_t i = 0; i < usable.count; i++)
            if (i != out)
                rest.classes[rest.count++] = usable.classes[i];
        goes_on = try_both(s, numeric, &rest, room);
    }
    for (uint32_t i = 0; goes_on && usable.count > 2 && i < usable.count; i++)
        for (uint32_t k = i + 1; goes_on && k < usable.count; k++) {
            list pair = {.classes = {usable.classes[i], usable.classes[k]}, .count = 2};
            goes_on = try_both(s, numeric, &pair, room);
        }
    gsrt__sketch_give_back(s, room);
}
