/* Do those who must exchange reach each other, over links whose bandwidth and latency are known, and which the site's
 * rules trust? Routes are the cost model's. Asked in a fleet that has only such links; if there is no way, once more in
 * one that has those that are not trusted, too, to say which rule it was. Where the demand names an origin: is there a
 * way from there to each pool, and back?
 *
 * All pairs of small fleets; of large ones, the first and the last instance: instances of a part are alike, so that
 * what lies between is joined in the same way.
 */
#include <string.h>

#include "placement/cost_impl.h"
#include "placement/search_impl.h"

enum { ALL_PAIRS_MAX = 8, ALL_REPLICAS_MAX = 8, SMALL_PART_MAX = 16 };

static bool is_passable(const gsrt__search *s, const gsrt_link *link, bool any_trust)
{
    const gsrt_fleet *f = &s->fleet;
    gsrt_trust least = s->problem->rules.trust_min;
    if (link->kind == GSRT_LINK_MEMORY)
        return true;
    if (!link->bandwidth.is_known || !link->latency.is_known)
        return false;
    return any_trust ||
           (link->trust >= least && f->parts[link->from].trust >= least && f->parts[link->to].trust >= least &&
            gsrt__place_is_trusted(f, &f->parts[link->from].within, least) &&
            gsrt__place_is_trusted(f, &f->parts[link->to].within, least));
}

static gsrt_status keep_passable(gsrt__search *s, bool any_trust, gsrt_fleet *out)
{
    *out = s->fleet;
    gsrt_link *links = gsrt_arena_take(&s->arena, s->fleet.link_count, sizeof *links);
    if (links == NULL)
        return GSRT_ENOMEM;
    out->link_count = 0;
    for (uint32_t i = 0; i < s->fleet.link_count; i++)
        if (is_passable(s, &s->fleet.links[i], any_trust))
            links[out->link_count++] = s->fleet.links[i];
    out->links = links;
    return GSRT_OK;
}

gsrt_status gsrt__reach_find(gsrt__search *s)
{
    for (uint32_t any = 0; any < 2; any++) {
        gsrt_status status = keep_passable(s, any == 1, &s->ways[any].fleet);
        if (status != GSRT_OK)
            return status;
        s->ways[any].profile = gsrt_cost_profile_create(s->problem->workload, &s->ways[any].fleet);
        s->ways[any].pairs = gsrt_arena_take(&s->arena, (size_t)1 << GSRT__PAIRS_BITS, sizeof *s->ways[any].pairs);
        if (s->ways[any].profile == NULL || s->ways[any].pairs == NULL)
            return GSRT_ENOMEM;
    }
    return GSRT_OK;
}

void gsrt__reach_fini(gsrt__search *s)
{
    for (uint32_t any = 0; any < 2; any++)
        (void)gsrt_cost_profile_free(s->ways[any].profile);
}

typedef struct asking {
    gsrt__walk walk;
    uint64_t *pairs;
    uint64_t from_replica, to_replica;
    uint32_t member; /* of the stage that is left, when there is no way */
    bool is_joined;
} asking;

/* One word for a pair of engines, never 0, the last bit free; 0: their numbers are too large for that. */
static uint64_t pair_of(uint32_t from, uint64_t from_instance, uint32_t to, uint64_t to_instance)
{
    enum { PART_BITS = 9, INSTANCE_BITS = 22 };
    if (((from | to) >> PART_BITS) != 0 || ((from_instance | to_instance) >> INSTANCE_BITS) != 0)
        return 0;
    uint64_t left = (uint64_t)from << INSTANCE_BITS | from_instance;
    uint64_t right = (uint64_t)to << INSTANCE_BITS | to_instance;
    return (left << (PART_BITS + INSTANCE_BITS) | right | UINT64_C(1) << 62) << 1;
}

static bool has_way(asking *a, uint32_t from, uint64_t from_instance, uint32_t to, uint64_t to_instance)
{
    uint64_t pair = pair_of(from, from_instance, to, to_instance);
    uint64_t *at = &a->pairs[pair * UINT64_C(0x9e3779b97f4a7c15) >> (64 - GSRT__PAIRS_BITS)];
    if (pair == 0 || (*at & ~UINT64_C(1)) != pair) {
        gsrt__reach reach = gsrt__reach_between(&a->walk, from, from_instance, to, to_instance, 1);
        *at = pair | (reach.latency.quantity.is_known ? 1 : 0);
    }
    return (*at & 1) != 0;
}

static void ask_pair(asking *a, const gsrt_deployment_members *from, uint32_t i, const gsrt_deployment_members *to,
                     uint32_t k)
{
    uint64_t left = gsrt_deployment_instance(from, a->from_replica) + i;
    uint64_t right = gsrt_deployment_instance(to, a->to_replica) + k;
    if (!a->is_joined || (from->part == to->part && left == right))
        return;
    a->is_joined = has_way(a, from->part, left, to->part, right);
}

/* Each member of one stage to each of another (or of the same): all pairs in small fleets, in large ones their ends. */
static void ask_stages(asking *a, const gsrt_deployment_stage *from, const gsrt_deployment_stage *to)
{
    for (uint32_t m = 0; m < from->member_count; m++)
        for (uint32_t n = 0; n < to->member_count && a->is_joined; n++) {
            const gsrt_deployment_members *left = &from->members[m], *right = &to->members[n];
            const gsrt_part *parts = a->walk.fleet->parts;
            bool is_small = left->instance_count <= ALL_PAIRS_MAX && right->instance_count <= ALL_PAIRS_MAX &&
                            parts[left->part].total <= SMALL_PART_MAX && parts[right->part].total <= SMALL_PART_MAX;
            uint32_t left_step = is_small || left->instance_count < 2 ? 1 : left->instance_count - 1;
            uint32_t right_step = is_small || right->instance_count < 2 ? 1 : right->instance_count - 1;
            a->member = m;
            for (uint32_t i = 0; i < left->instance_count; i += left_step)
                for (uint32_t k = 0; k < right->instance_count && a->is_joined; k += right_step)
                    ask_pair(a, left, i, right, k);
        }
}

static bool is_handed_over(const gsrt_deployment_pool *from, const gsrt_deployment_pool *to)
{
    bool makes = (from->phases & GSRT_PHASE_PREFILL) != 0, uses = (to->phases & GSRT_PHASE_DECODE) != 0;
    return from != to && makes && uses &&
           ((from->phases & GSRT_PHASE_DECODE) == 0 || (to->phases & GSRT_PHASE_PREFILL) == 0);
}

static void ask_pool(asking *a, const gsrt_deployment *d, const gsrt_deployment_pool *pool, uint32_t *out_stage)
{
    for (uint32_t i = 0; i < pool->stage_count && a->is_joined; i++) {
        const gsrt_deployment_stage *stage = &pool->stages[i];
        *out_stage = i;
        a->to_replica = a->from_replica;
        ask_stages(a, stage, stage);
        if (pool->stage_count > 1 && a->is_joined)
            ask_stages(a, stage, &pool->stages[(i + 1) % pool->stage_count]); /* the token goes back to the first */
        for (uint32_t q = 0; q < d->pool_count; q++) {
            const gsrt_deployment_pool *to = &d->pools[q];
            uint64_t step = to->replica_count > ALL_REPLICAS_MAX ? to->replica_count - 1 : 1;
            for (uint64_t r = 0; is_handed_over(pool, to) && r < to->replica_count; r += step)
                for (uint32_t k = 0; k < to->stage_count && a->is_joined; k++) {
                    a->to_replica = r;
                    if (stage->layer_first <= to->stages[k].layer_last &&
                        to->stages[k].layer_first <= stage->layer_last)
                        ask_stages(a, stage, &to->stages[k]);
                }
        }
    }
}

/* Do requests come to each pool, and answers back? */
static void ask_origin(asking *a, const gsrt_deployment *d, uint32_t *out_pool)
{
    const char *origin = a->walk.question->demand->origin;
    uint32_t home = origin == NULL ? GSRT_FLEET_NONE : gsrt_fleet_place_named(a->walk.fleet, origin);
    for (uint32_t p = 0; origin != NULL && p < d->pool_count && a->is_joined; p++) {
        uint32_t part = d->pools[p].stages[0].members[0].part, region = gsrt_fleet_region_of(a->walk.fleet, part);
        *out_pool = p;
        a->is_joined = (home != GSRT_FLEET_NONE && gsrt_fleet_stands_in(a->walk.fleet, part, home)) ||
                       gsrt__there_and_back(&a->walk, home, region).quantity.is_known;
    }
}

static bool are_joined(gsrt__search *s, const gsrt_deployment *d, bool any_trust, gsrt__reach_memory *out)
{
    const gsrt_cost_question question = {.workload = s->problem->workload,
                                         .fleet = &s->ways[any_trust].fleet,
                                         .deployment = d,
                                         .demand = &s->problem->demand,
                                         .mode = s->problem->mode,
                                         .today = s->problem->today,
                                         .profile = s->ways[any_trust].profile,
                                         .is_plain = true};
    asking a = {.walk = {.question = &question,
                         .profile = s->ways[any_trust].profile,
                         .workload = s->problem->workload,
                         .fleet = &s->ways[any_trust].fleet,
                         .deployment = d},
                .pairs = s->ways[any_trust].pairs,
                .is_joined = true};
    for (uint32_t p = 0; p < d->pool_count && a.is_joined; p++) {
        const gsrt_deployment_pool *pool = &d->pools[p];
        uint64_t step = pool->replica_count > ALL_REPLICAS_MAX ? pool->replica_count - 1 : 1;
        out->pool = p;
        for (uint64_t r = 0; r < pool->replica_count && a.is_joined; r += step) {
            a.from_replica = r;
            ask_pool(&a, d, pool, &out->stage);
        }
    }
    out->member = a.member;
    out->what = "a way to all that it must exchange with";
    if (!a.is_joined)
        return false;
    ask_origin(&a, d, &out->pool);
    out->stage = out->member = 0;
    out->what = "a way between it and where requests come from";
    return a.is_joined;
}

/* ---- remembered by who stands where ---- */

static uint64_t hashed(uint64_t hash, uint64_t value)
{
    for (uint32_t i = 0; i < 8; i++)
        hash = (hash ^ (value >> (8 * i) & 0xff)) * 1099511628211u; /* FNV-1a */
    return hash;
}

static uint64_t key_of(const gsrt_deployment *d)
{
    uint64_t hash = 14695981039346656037u;
    for (uint32_t p = 0; p < d->pool_count; p++) {
        const gsrt_deployment_pool *pool = &d->pools[p];
        hash = hashed(hashed(hashed(hash, pool->phases), pool->replica_count), pool->stage_count);
        for (uint32_t i = 0; i < pool->stage_count; i++) {
            const gsrt_deployment_stage *stage = &pool->stages[i];
            hash = hashed(hash, stage->member_count);
            if (d->pool_count > 1) /* whose KV goes where depends on the layers */
                hash = hashed(hashed(hash, stage->layer_first), stage->layer_last);
            for (uint32_t m = 0; m < stage->member_count; m++)
                hash = hashed(hashed(hashed(hashed(hash, stage->members[m].part), stage->members[m].instance_first),
                                     stage->members[m].instance_count),
                              stage->members[m].block_stride);
        }
    }
    return hash;
}

const gsrt__reach_memory *gsrt__unjoined(gsrt__search *s, const gsrt_deployment *d)
{
    uint64_t key = key_of(d);
    gsrt__reach_memory *at = &s->reaches[key % GSRT__REACHES_MAX];
    if (!at->is_set || at->key != key) {
        *at = (gsrt__reach_memory){.key = key, .is_set = true};
        if (!are_joined(s, d, false, at)) {
            gsrt__reach_memory unused;
            at->reason = are_joined(s, d, true, &unused) ? GSRT_REASON_POLICY : GSRT_REASON_UNREACHABLE;
        }
    }
    return at;
}
