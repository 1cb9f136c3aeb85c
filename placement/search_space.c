/* The space of candidates: classes of engines with their places, the ways to compute, and how a sketch becomes a
 * deployment.
 *
 * A class is a part; its instances are alike, and neighbours in number are neighbours in place. So a candidate says "so
 * many of this class", and the layout below says which: groups inside the smallest place that holds a replica, replicas
 * side by side. 16,384 engines are as many classes as the inventory has entries.
 */
#include "placement/search_impl.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* ---- the fleet on a day: what has expired is unknown ---- */

static void expire(gsrt_quantity *quantity, int32_t today)
{
    if (!gsrt_quantity_is_valid_on(quantity, today))
        *quantity = (gsrt_quantity){0};
}

static void *copied(gsrt__search *s, const void *items, size_t count, size_t size)
{
    void *copy = gsrt_arena_take(&s->arena, count, size);
    if (copy != NULL && count > 0)
        memcpy(copy, items, count * size);
    return copy;
}

gsrt_status gsrt__fleet_on(gsrt__search *s, const gsrt_fleet *fleet, int32_t today, gsrt_fleet *out)
{
    *out = *fleet;
    gsrt_place *places = copied(s, fleet->places, fleet->place_count, sizeof *places);
    gsrt_part *parts = copied(s, fleet->parts, fleet->part_count, sizeof *parts);
    gsrt_link *links = copied(s, fleet->links, fleet->link_count, sizeof *links);
    if (places == NULL || parts == NULL || links == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < fleet->place_count; i++) {
        gsrt_quantity *all[] = {&places[i].power_budget, &places[i].cooling_budget, &places[i].energy_price,
                                &places[i].mttf};
        for (size_t q = 0; q < sizeof all / sizeof all[0]; q++)
            expire(all[q], today);
    }
    for (uint32_t i = 0; i < fleet->part_count; i++) {
        gsrt_part *p = &parts[i];
        gsrt_quantity *all[] = {&p->capacity, &p->bandwidth, &p->launch_overhead, &p->power_idle, &p->power_max,
                                &p->price,    &p->mttf};
        for (size_t q = 0; q < sizeof all / sizeof all[0]; q++)
            expire(all[q], today);
        if (p->rates == NULL)
            continue;
        gsrt_quantity *rates = copied(s, p->rates, (size_t)GSRT_CLASS_COUNT * GSRT_FORMAT_COUNT, sizeof *rates);
        if (rates == NULL)
            return GSRT_ENOMEM;
        for (uint32_t q = 0; q < (uint32_t)GSRT_CLASS_COUNT * GSRT_FORMAT_COUNT; q++)
            expire(&rates[q], today);
        p->rates = rates;
    }
    for (uint32_t i = 0; i < fleet->link_count; i++) {
        gsrt_link *l = &links[i];
        gsrt_quantity *all[] = {&l->bandwidth, &l->latency, &l->setup,      &l->energy,
                                &l->price,     &l->mttf,    &l->correlation};
        for (size_t q = 0; q < sizeof all / sizeof all[0]; q++)
            expire(all[q], today);
    }
    out->places = places;
    out->parts = parts;
    out->links = links;
    return GSRT_OK;
}

bool gsrt__place_is_trusted(const gsrt_fleet *fleet, const gsrt_within *within, gsrt_trust least)
{
    for (uint32_t d = 0; d < within->domain_count; d++)
        if (fleet->places[within->domains[d]].trust < least)
            return false;
    for (uint32_t at = within->location; at != GSRT_FLEET_NONE; at = fleet->places[at].within.location) {
        if (fleet->places[at].trust < least)
            return false;
        const gsrt_within *outer = &fleet->places[at].within;
        for (uint32_t d = 0; d < outer->domain_count; d++)
            if (fleet->places[outer->domains[d]].trust < least)
                return false;
    }
    return true;
}

/* ---- classes of engines ---- */

bool gsrt__is_in(const gsrt_fleet *fleet, const gsrt_within *within, uint32_t place)
{
    for (uint32_t d = 0; d < within->domain_count; d++)
        if (within->domains[d] == place || gsrt__is_in(fleet, &fleet->places[within->domains[d]].within, place))
            return true;
    if (within->location == GSRT_FLEET_NONE)
        return false;
    return within->location == place || gsrt__is_in(fleet, &fleet->places[within->location].within, place);
}

static bool region_is_allowed(const gsrt_fleet *fleet, const gsrt_part *part, const gsrt_policy_rules *rules)
{
    if (rules->regions_allowed == NULL)
        return true;
    for (uint32_t at = part->within.location; at != GSRT_FLEET_NONE; at = fleet->places[at].within.location)
        for (uint32_t r = 0; fleet->places[at].kind == GSRT_PLACE_REGION && r < rules->region_allowed_count; r++)
            if (strcmp(fleet->places[at].name, rules->regions_allowed[r]) == 0)
                return true;
    return false;
}

static const gsrt_link *link_between(const gsrt_fleet *fleet, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < fleet->link_count; i++)
        if (fleet->links[i].from == from && fleet->links[i].to == to && fleet->links[i].kind == GSRT_LINK_MEMORY)
            return &fleet->links[i];
    return NULL;
}

/* The memory that is joined to the engine both ways by the fastest links; the first in the fleet's order among equals.
 */
static void find_memory(const gsrt_fleet *fleet, gsrt__engine_class *class, const gsrt_policy_rules *rules)
{
    class->memory = GSRT_FLEET_NONE;
    for (uint32_t i = 0; i < fleet->link_count; i++) {
        const gsrt_link *out = &fleet->links[i];
        const gsrt_link *back = out->kind == GSRT_LINK_MEMORY && out->from == class->part
                                    ? link_between(fleet, out->to, class->part)
                                    : NULL;
        if (back == NULL || fleet->parts[out->to].kind != GSRT_PART_MEMORY)
            continue;
        double bandwidth = back->bandwidth.is_known ? back->bandwidth.value : 0;
        bool is_better = class->memory == GSRT_FLEET_NONE || bandwidth > class->bandwidth ||
                         (bandwidth == class->bandwidth && out->to < class->memory);
        if (!is_better)
            continue;
        const gsrt_part *memory = &fleet->parts[out->to];
        uint64_t first;
        uint64_t reached = gsrt_fleet_peers(fleet, i, 0, &first);
        class->memory = out->to;
        class->peers = (double)reached;
        class->bandwidth = bandwidth * class->peers;
        class->capacity = memory->capacity.is_known ? memory->capacity.lo * class->peers : 0;
        bool is_trusted = memory->trust >= rules->trust_min && out->trust >= rules->trust_min &&
                          back->trust >= rules->trust_min &&
                          gsrt__place_is_trusted(fleet, &memory->within, rules->trust_min);
        class->barred = is_trusted ? NULL : GSRT_REASON_POLICY;
    }
}

static void find_levels(const gsrt_fleet *fleet, gsrt__engine_class *class)
{
    const gsrt_part *part = &fleet->parts[class->part];
    for (uint32_t at = part->within.location; at != GSRT_FLEET_NONE; at = fleet->places[at].within.location) {
        uint64_t count = gsrt_fleet_count_in(fleet, class->part, at);
        bool is_new = class->level_count == 0 || class->levels[class->level_count - 1] != count;
        if (is_new && count > 1 && class->level_count < GSRT__LEVELS_MAX - 1)
            class->levels[class->level_count++] = count;
    }
    if (class->level_count == 0 || class->levels[class->level_count - 1] != part->total)
        class->levels[class->level_count++] = part->total;
}

static double known_or(const gsrt_quantity *quantity, double otherwise)
{
    return quantity->is_known ? quantity->value : otherwise;
}

static bool has_same_software(const gsrt_part *a, const gsrt_part *b)
{
    bool is_same = a->software_count == b->software_count;
    for (uint32_t i = 0; is_same && i < a->software_count; i++)
        is_same = strcmp(a->software[i].name, b->software[i].name) == 0 &&
                  strcmp(a->software[i].version, b->software[i].version) == 0;
    return is_same;
}

gsrt_status gsrt__classes_find(gsrt__search *s)
{
    const gsrt_fleet *fleet = &s->fleet;
    const gsrt_policy_rules *rules = &s->problem->rules;
    s->classes = gsrt_arena_take(&s->arena, fleet->part_count, sizeof *s->classes);
    if (s->classes == NULL)
        return GSRT_ENOMEM;
    for (uint32_t p = 0; p < fleet->part_count; p++) {
        const gsrt_part *part = &fleet->parts[p];
        if (part->kind != GSRT_PART_ENGINE)
            continue;
        gsrt__engine_class *class = &s->classes[s->class_count++];
        *class = (gsrt__engine_class){.part = p,
                                      .far = GSRT_FLEET_NONE,
                                      .total = part->total,
                                      .price = known_or(&part->price, -1),
                                      .power_max = known_or(&part->power_max, -1),
                                      .power_idle = part->power_idle.is_known ? part->power_idle.hi : 0};
        while (!has_same_software(&fleet->parts[s->classes[class->kernels].part], part))
            class->kernels++; /* ends at the class itself */
        find_memory(fleet, class, rules);
        find_levels(fleet, class);
        if (part->trust < rules->trust_min || !gsrt__place_is_trusted(fleet, &part->within, rules->trust_min) ||
            !region_is_allowed(fleet, part, rules))
            class->barred = GSRT_REASON_POLICY;
    }
    return GSRT_OK;
}

/* ---- sketches ---- */

void gsrt__sketch_pool_copy(gsrt__sketch_pool *to, const gsrt__sketch_pool *from)
{
    memcpy(to, from, offsetof(gsrt__sketch_pool, stages) + from->stage_count * sizeof *from->stages);
}

bool gsrt__may_share(const gsrt__search *s, uint32_t a, uint32_t b)
{
    uint32_t place = gsrt_fleet_common_place(&s->fleet, s->classes[a].part, s->classes[b].part);
    uint64_t engines = 0;
    for (uint32_t c = 0; c < s->class_count; c++) {
        uint32_t part = s->classes[c].part;
        if (place == GSRT_FLEET_NONE || gsrt__is_in(&s->fleet, &s->fleet.parts[part].within, place))
            engines += gsrt_fleet_count_in(&s->fleet, part, place);
    }
    return engines <= GSRT__SHARERS_MAX;
}

void gsrt__sketch_copy(gsrt__sketch *to, const gsrt__sketch *from)
{
    to->pool_count = from->pool_count;
    to->numeric = from->numeric;
    for (uint32_t p = 0; p < from->pool_count; p++)
        gsrt__sketch_pool_copy(&to->pools[p], &from->pools[p]);
}

static uint32_t rooms_max(const gsrt__search *s)
{
    return 8 * s->class_count + 32;
}

gsrt__sketch *gsrt__sketch_room(gsrt__search *s)
{
    if (s->room_count > 0)
        return s->rooms[--s->room_count];
    if (s->rooms == NULL)
        s->rooms = gsrt_arena_take(&s->arena, rooms_max(s), sizeof(gsrt__sketch *));
    gsrt__sketch *room = s->rooms == NULL ? NULL : gsrt_arena_take(&s->arena, 1, sizeof *room);
    if (room == NULL)
        s->status = GSRT_ENOMEM;
    return room;
}

void gsrt__sketch_give_back(gsrt__search *s, gsrt__sketch *sketch)
{
    assert(s->room_count < rooms_max(s));
    s->rooms[s->room_count++] = sketch;
}

uint32_t gsrt__stage_width(const gsrt__sketch_stage *stage)
{
    uint32_t width = 0;
    for (uint32_t m = 0; m < stage->member_count; m++)
        width += stage->members[m].count;
    return width;
}

static uint64_t mixed_in(uint64_t hash, uint64_t value)
{
    for (uint32_t i = 0; i < 8; i++)
        hash = (hash ^ (value >> (8 * i) & 0xff)) * 1099511628211u; /* FNV-1a */
    return hash;
}

/* What makes two candidates different to a reader: who works together and how; not the sizes of batches, the layers'
 * exact split, or how many replicas. */
uint64_t gsrt__sketch_signature(const gsrt__sketch *sketch)
{
    uint64_t hash = mixed_in(14695981039346656037u, sketch->numeric);
    for (uint32_t p = 0; p < sketch->pool_count; p++) {
        const gsrt__sketch_pool *pool = &sketch->pools[p];
        hash = mixed_in(mixed_in(hash, pool->phases), pool->stage_count);
        for (uint32_t i = 0; i < pool->stage_count; i++) {
            const gsrt__sketch_stage *stage = &pool->stages[i];
            hash = mixed_in(mixed_in(hash, stage->data_width), stage->expert_width);
            hash = mixed_in(hash, stage->context_width);
            hash = mixed_in(hash, stage->algorithm);
            for (uint32_t m = 0; m < stage->member_count; m++)
                hash = mixed_in(mixed_in(hash, stage->members[m].class), stage->members[m].count);
        }
    }
    return hash;
}

/* ---- the layout: which instances ---- */

/* How the stages of one pool lie on one class. */
typedef struct layout {
    uint64_t width_sum, width_max; /* of a replica, on this class */
    uint64_t block, per_block;     /* close: replicas stand per_block side by side in each block of so many instances */
    bool is_close;
} layout;

static uint64_t rounded_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Instances that `replicas` replicas of a group of `width` take when each stage has nodes of its own. */
static uint64_t striped_span(const gsrt__engine_class *class, uint64_t width, uint64_t replicas)
{
    uint64_t node = class->levels[0];
    if (width > node)
        return replicas * rounded_up(width, node);
    return rounded_up(replicas, node / width) / (node / width) * node;
}

static void each_width(const gsrt__sketch_pool *pool, uint32_t class, layout *out)
{
    for (uint32_t i = 0; i < pool->stage_count; i++)
        for (uint32_t m = 0; m < pool->stages[i].member_count; m++)
            if (pool->stages[i].members[m].class == class) {
                uint32_t count = pool->stages[i].members[m].count;
                out->width_sum += count;
                out->width_max = count > out->width_max ? count : out->width_max;
            }
}

/* Replicas that fit from instance `first` on, laid out striped. */
static uint64_t striped_replicas(const gsrt__engine_class *class, const gsrt__sketch_pool *pool, uint32_t class_index,
                                 uint64_t first, uint64_t at_most)
{
    uint64_t low = 0, high = at_most; /* the largest count whose spans fit: by bisection, spans grow with it */
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2, span = 0;
        for (uint32_t i = 0; i < pool->stage_count; i++)
            for (uint32_t m = 0; m < pool->stages[i].member_count; m++)
                if (pool->stages[i].members[m].class == class_index)
                    span += striped_span(class, pool->stages[i].members[m].count, middle);
        if (first + span <= class->total)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* How many replicas of `pool` fit on a class from `first` on, at best; *out: how. 0 widths: as many as wanted. */
static uint64_t layout_of(const gsrt__search *s, const gsrt__sketch_pool *pool, uint32_t class_index, uint64_t first,
                          layout *out)
{
    const gsrt__engine_class *class = &s->classes[class_index];
    *out = (layout){0};
    each_width(pool, class_index, out);
    if (out->width_sum == 0)
        return UINT64_MAX;
    if (first >= class->total)
        return 0;
    uint64_t rest = class->total - first, close = 0;
    for (uint32_t l = 0; l < class->level_count && close == 0; l++) {
        if (class->levels[l] < out->width_sum)
            continue;
        out->block = class->levels[l] < rest ? class->levels[l] : rest;
        out->per_block = out->block / out->width_sum;
        close = rest / out->block * out->per_block;
    }
    /* A group that divides no node would lie across two when replicas stand side by side. */
    bool is_aligned = out->width_max > class->levels[0]
                          ? out->width_sum % class->levels[0] == 0
                          : class->levels[0] % out->width_max == 0 || out->width_sum <= class->levels[0];
    for (uint32_t i = 0; i < pool->stage_count && is_aligned && out->width_sum > class->levels[0]; i++)
        for (uint32_t m = 0; m < pool->stages[i].member_count; m++)
            if (pool->stages[i].members[m].class == class_index && pool->stages[i].members[m].count != out->width_max)
                is_aligned = false;
    uint64_t striped = striped_replicas(class, pool, class_index, first, rest / out->width_sum);
    out->is_close = is_aligned && close >= striped;
    return out->is_close ? close : striped;
}

/* Pools take the instances of a class one after the other, each from the beginning of a node. */
static uint64_t first_free(const gsrt__engine_class *class, uint64_t used)
{
    return rounded_up(used, class->levels[0]);
}

static uint64_t replicas_on(const gsrt__search *s, const gsrt__sketch_pool *pool, const uint64_t *used)
{
    uint64_t most = UINT64_MAX;
    for (uint32_t c = 0; c < s->class_count; c++) {
        layout how;
        uint64_t count = layout_of(s, pool, c, first_free(&s->classes[c], used[c]), &how);
        most = count < most ? count : most;
    }
    return most == UINT64_MAX ? 0 : most;
}

static void take(const gsrt__search *s, const gsrt__sketch_pool *pool, bool is_overfull, uint64_t *used)
{
    for (uint32_t c = 0; c < s->class_count; c++) {
        const gsrt__engine_class *class = &s->classes[c];
        uint64_t first = first_free(class, used[c]);
        layout how;
        if (layout_of(s, pool, c, first, &how) == UINT64_MAX)
            continue;
        if (is_overfull) {
            used[c] = first + how.width_sum * pool->replica_count;
        } else if (how.is_close) {
            used[c] = first + rounded_up(pool->replica_count, how.per_block) / how.per_block * how.block;
        } else {
            used[c] = first;
            for (uint32_t i = 0; i < pool->stage_count; i++)
                for (uint32_t m = 0; m < pool->stages[i].member_count; m++)
                    if (pool->stages[i].members[m].class == c)
                        used[c] += striped_span(class, pool->stages[i].members[m].count, pool->replica_count);
        }
    }
}

uint64_t gsrt__replicas_max(gsrt__search *s, const gsrt__sketch *sketch, uint32_t pool)
{
    memset(s->used, 0, s->class_count * sizeof *s->used);
    for (uint32_t p = 0; p < pool; p++)
        take(s, &sketch->pools[p], false, s->used);
    return replicas_on(s, &sketch->pools[pool], s->used);
}

/* Fill in the member entries of a pool on class `c`. is_overfull: there is no room; then they stand one behind the
 * other, past the last instance. */
static void lay_out(const gsrt__search *s, const gsrt__sketch_pool *pool, uint32_t c, uint64_t first, bool is_overfull,
                    gsrt_deployment_pool *out)
{
    const gsrt__engine_class *class = &s->classes[c];
    layout how;
    if (layout_of(s, pool, c, first, &how) == UINT64_MAX)
        return;
    uint64_t at = first, node = class->levels[0];
    for (uint32_t i = 0; i < pool->stage_count; i++) {
        for (uint32_t m = 0; m < pool->stages[i].member_count; m++) {
            const gsrt__sketch_member *member = &pool->stages[i].members[m];
            if (member->class != c)
                continue;
            gsrt_deployment_members *entry = &out->stages[i].members[m];
            *entry = (gsrt_deployment_members){
                .part = class->part, .instance_first = at, .instance_count = member->count, .share = member->share};
            if (is_overfull) {
                entry->block_replicas = 1;
                entry->block_stride = how.width_sum;
                at += member->count;
            } else if (how.is_close) {
                entry->block_replicas = how.per_block;
                entry->block_stride = how.block;
                at += how.per_block * member->count;
            } else {
                entry->block_replicas = member->count > node ? 1 : node / member->count;
                entry->block_stride = member->count > node ? rounded_up(member->count, node) : node;
                at += striped_span(class, member->count, pool->replica_count);
            }
        }
    }
}

static gsrt_status pool_deploy(const gsrt__search *s, const gsrt__sketch_pool *pool, bool is_overfull,
                               gsrt_deployment *d, uint32_t p)
{
    gsrt_status status = gsrt_deployment_add_stages(d, p, pool->stage_count);
    gsrt_deployment_pool *out = &d->pools[p];
    out->phases = pool->phases;
    out->replica_count = pool->replica_count;
    out->batch_max = pool->batch_max;
    out->prefill_tokens = pool->prefill_tokens;
    out->power_cap_w = pool->power_cap_w;
    out->draft_tokens = pool->draft_tokens;
    out->kv_offload = pool->kv_offload;
    for (uint32_t i = 0; status == GSRT_OK && i < pool->stage_count; i++) {
        const gsrt__sketch_stage *stage = &pool->stages[i];
        out->stages[i].layer_first = stage->layer_first;
        out->stages[i].layer_last = stage->layer_last;
        out->stages[i].data_width = stage->data_width;
        out->stages[i].expert_width = stage->expert_width;
        out->stages[i].context_width = stage->context_width;
        out->stages[i].algorithm = stage->algorithm;
        out->stages[i].overlaps = stage->overlaps;
        status = gsrt_deployment_add_members(d, p, i, stage->member_count);
    }
    for (uint32_t c = 0; status == GSRT_OK && c < s->class_count; c++)
        lay_out(s, pool, c, first_free(&s->classes[c], s->used[c]), is_overfull, out);
    return status;
}

gsrt_status gsrt__sketch_deploy(gsrt__search *s, const gsrt__sketch *sketch, gsrt_deployment **out, uint32_t *out_full)
{
    const gsrt_workload regions = {.region_count =
                                       s->problem->workload->region_count}; /* their choices are set below */
    gsrt_deployment *d = gsrt_deployment_create(&regions, sketch->pool_count);
    gsrt_status status = d == NULL ? GSRT_ENOMEM : GSRT_OK;
    memset(s->used, 0, s->class_count * sizeof *s->used);
    *out_full = GSRT_NO_INDEX;
    for (uint32_t p = 0; status == GSRT_OK && p < sketch->pool_count; p++) {
        const gsrt__sketch_pool *pool = &sketch->pools[p];
        bool is_overfull = *out_full != GSRT_NO_INDEX || pool->replica_count > replicas_on(s, pool, s->used);
        if (is_overfull && *out_full == GSRT_NO_INDEX)
            *out_full = p;
        status = pool_deploy(s, pool, is_overfull, d, p);
        take(s, pool, is_overfull, s->used);
    }
    if (status != GSRT_OK) {
        (void)gsrt_deployment_free(d);
        return status;
    }
    d->context_max = s->context_max;
    memcpy(d->choices, s->numerics[sketch->numeric].choices, d->region_count * sizeof *d->choices);
    *out = d;
    return GSRT_OK;
}
