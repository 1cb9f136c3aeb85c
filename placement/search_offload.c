/* KV in a second memory tier, as a choice of the search: which engines have one, who may use it, and the moves. */
#include "placement/cost_impl.h"
#include "placement/search_impl.h"

/* The second tier, and all that joins it to the engine, are trusted? */
static bool is_trusted(const gsrt__search *s, uint32_t engine, uint32_t memory)
{
    const gsrt_fleet *f = &s->fleet;
    gsrt_trust least = s->problem->rules.trust_min;
    bool is_right = f->parts[memory].trust >= least && gsrt__place_is_trusted(f, &f->parts[memory].within, least);
    for (uint32_t i = 0; i < f->link_count; i++) {
        const gsrt_link *l = &f->links[i];
        bool joins = (l->from == engine && l->to == memory) || (l->from == memory && l->to == engine);
        if (joins && (l->kind == GSRT_LINK_MEMORY || l->kind == GSRT_LINK_PCIE))
            is_right = is_right && l->trust >= least;
    }
    return is_right;
}

void gsrt__tiers_find(gsrt__search *s)
{
    for (uint32_t c = 0; c < s->class_count; c++) {
        gsrt__engine_class *class = &s->classes[c];
        const gsrt__far *far = &s->profile->engines[class->part].far;
        class->far = far->memory;
        class->far_link = far->write;
        class->far_peers = (double)far->instances;
        if (far->memory == GSRT_FLEET_NONE)
            continue;
        const gsrt_quantity *capacity = &s->fleet.parts[far->memory].capacity;
        class->far_capacity = capacity->is_known ? capacity->lo * (double)far->instances : 0;
        class->far_barred = is_trusted(s, class->part, far->memory) ? NULL : GSRT_REASON_POLICY;
    }
}

static bool may_offload(const gsrt__search *s)
{
    return s->problem->demand.kv_offload && !s->problem->is_for_execution;
}

/* Small instances have a coarser lattice of shares, too. */
static uint32_t step_of(const gsrt__search *s)
{
    return s->is_small ? 2 : 1;
}

double gsrt__memory_most(const gsrt__search *s, uint32_t class)
{
    return s->classes[class].capacity + (may_offload(s) ? s->classes[class].far_capacity : 0);
}

double gsrt__tiers_together(const gsrt__search *s)
{
    double sum = 0;
    for (uint32_t memory = 0; memory < s->fleet.part_count && may_offload(s); memory++) {
        bool is_used = false;
        for (uint32_t c = 0; c < s->class_count; c++)
            is_used = is_used || (s->classes[c].barred == NULL && s->classes[c].far == memory);
        if (is_used && s->fleet.parts[memory].capacity.is_known)
            sum += s->fleet.parts[memory].capacity.lo * (double)s->fleet.parts[memory].total;
    }
    return sum;
}

/* ---- what lies there ---- */

const gsrt__engine_class *gsrt__class_at(const gsrt__search *s, const gsrt__sketch *sketch, const gsrt_cost_memory *m)
{
    return &s->classes[sketch->pools[m->pool].stages[m->stage].members[m->member].class];
}

bool gsrt__is_offloaded_to(const gsrt_cost_memory *m, uint32_t memory)
{
    return m->far == memory && m->offloaded.value > 0;
}

const gsrt_cost_memory *gsrt__tier_entry(const gsrt__search *s, const gsrt__sketch *sketch, const gsrt_cost *cost,
                                         uint32_t memory, double *out_most)
{
    const gsrt_cost_memory *found = NULL;
    *out_most = 0;
    for (uint32_t e = 0; e < cost->memory_count; e++) {
        const gsrt_cost_memory *m = &cost->memories[e];
        const gsrt__engine_class *class = gsrt__class_at(s, sketch, m);
        double each = m->offloaded.value / class->far_peers;
        if (class->memory == memory)
            return NULL;
        if (gsrt__is_offloaded_to(m, memory) && each > *out_most) {
            *out_most = each;
            found = m;
        }
    }
    return found;
}

/* ---- moves ---- */

static bool set_offload(const gsrt__search *s, gsrt__sketch_pool *pool, uint32_t parts)
{
    bool has_tier = may_offload(s) && parts <= GSRT_KV_OFFLOAD_PARTS && parts % step_of(s) == 0;
    for (uint32_t i = 0; i < pool->stage_count && has_tier; i++)
        for (uint32_t m = 0; m < pool->stages[i].member_count; m++)
            has_tier = has_tier && s->classes[pool->stages[i].members[m].class].far != GSRT_FLEET_NONE;
    if (has_tier)
        pool->kv_offload = parts;
    return has_tier;
}

bool gsrt__set_offload_next(const gsrt__search *s, gsrt__sketch_pool *pool)
{
    return set_offload(s, pool, pool->kv_offload + step_of(s));
}

bool gsrt__offload_more(const gsrt__search *s, gsrt__sketch *sketch)
{
    bool is_more = false;
    for (uint32_t p = 0; p < sketch->pool_count; p++) {
        gsrt__sketch_pool *pool = &sketch->pools[p];
        if (gsrt__is_batch_least(pool) && gsrt__set_offload_next(s, pool))
            is_more = true;
    }
    return is_more;
}

/* What a sequence keeps in its engine's memory: blocks that are read are there in any case. */
static uint64_t kept(uint32_t parts)
{
    return parts == GSRT_KV_OFFLOAD_PARTS ? 1 : 2 * (GSRT_KV_OFFLOAD_PARTS - parts);
}

bool gsrt__offload_move(const gsrt__search *s, gsrt__sketch_pool *pool, uint32_t move)
{
    uint32_t now = pool->kv_offload, next = move % (GSRT_KV_OFFLOAD_PARTS + 1);
    bool fills = move > GSRT_KV_OFFLOAD_PARTS;
    if (next == now || !set_offload(s, pool, next))
        return false;
    return !fills || gsrt__set_batch(s, pool, pool->batch_max * kept(now) / kept(next));
}
