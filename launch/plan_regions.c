#include "launch/plan_regions.h"

#include "launch/plan_words.h"

/* Where a part stands: the origin, where that is around it, else its own region. */
static uint32_t region_of(const gsrt_planning *p, uint32_t part, uint32_t origin)
{
    const gsrt_fleet *fleet = p->problem.fleet;
    return origin != GSRT_FLEET_NONE && gsrt_fleet_stands_in(fleet, part, origin) ? origin
                                                                                  : gsrt_fleet_region_of(fleet, part);
}

static bool has_engines_in(const gsrt_planning *p, const gsrt_deployment_pool *pool, uint32_t region, uint32_t origin)
{
    for (uint32_t s = 0; s < pool->stage_count; s++) {
        for (uint32_t m = 0; m < pool->stages[s].member_count; m++) {
            if (region_of(p, pool->stages[s].members[m].part, origin) == region)
                return true;
        }
    }
    return false;
}

/* false: no pool has engines there. */
static bool look_at(const gsrt_planning *p, const gsrt_cost *cost, uint32_t region, uint32_t origin,
                    gsrt_plan_region *out)
{
    double shares[2] = {0, 0}; /* that are prefilled there, decoded there */
    bool is_there = false;
    *out = (gsrt_plan_region){.name = region == GSRT_FLEET_NONE ? "no region" : p->problem.fleet->places[region].name,
                              .is_origin = region != GSRT_FLEET_NONE && region == origin,
                              .more = gsrt_quantity_exact(0, gsrt_measure_dimension(GSRT_MEASURE_TTFT))};
    for (uint32_t i = 0; i < p->choice->pool_count; i++) {
        const gsrt_deployment_pool *pool = &p->choice->pools[i];
        const gsrt_cost_route *route = &cost->routes[i];
        if (!has_engines_in(p, pool, region, origin))
            continue;
        is_there = true;
        shares[0] += (pool->phases & GSRT_PHASE_PREFILL) != 0 ? route->share : 0;
        shares[1] += (pool->phases & GSRT_PHASE_DECODE) != 0 ? route->share : 0;
        bool is_entered = region_of(p, pool->stages[0].members[0].part, origin) == region;
        out->is_entered = out->is_entered || is_entered;
        if (is_entered && !out->is_origin && (!route->more.is_known || route->more.value > out->more.value))
            out->more = route->more;
    }
    out->share = shares[0] > shares[1] ? shares[0] : shares[1];
    out->only = shares[0] > 0 && shares[1] == 0 ? "prefill" : shares[1] > 0 && shares[0] == 0 ? "decode" : NULL;
    return is_there;
}

bool gsrt_plan_region_at(const gsrt_planning *planning, const gsrt_cost *cost, uint32_t index, gsrt_plan_region *out)
{
    const gsrt_fleet *fleet = planning->problem.fleet;
    uint32_t origin = gsrt_fleet_place_named(fleet, planning->problem.demand.origin), seen = 0;
    if (origin != GSRT_FLEET_NONE && look_at(planning, cost, origin, origin, out) && seen++ == index)
        return true;
    for (uint32_t place = 0; place < fleet->place_count; place++) {
        if (place != origin && fleet->places[place].kind == GSRT_PLACE_REGION &&
            look_at(planning, cost, place, origin, out) && seen++ == index)
            return true;
    }
    return look_at(planning, cost, GSRT_FLEET_NONE, origin, out) && seen == index;
}

gsrt_status gsrt_plan_regions_words(const gsrt_planning *planning, const gsrt_deployment_pool *pool, gsrt_buffer *out)
{
    const gsrt_fleet *fleet = planning->problem.fleet;
    gsrt_status status = GSRT_OK;
    if (planning->problem.demand.origin == NULL)
        return GSRT_OK;
    uint32_t origin = gsrt_fleet_place_named(fleet, planning->problem.demand.origin);
    for (uint32_t place = 0; place < fleet->place_count && status == GSRT_OK; place++) {
        if (place != origin && fleet->places[place].kind == GSRT_PLACE_REGION &&
            has_engines_in(planning, pool, place, origin))
            status = gsrt_buffer_print(out, ", in %s", fleet->places[place].name);
    }
    return status;
}

gsrt_status gsrt_plan_regions_say(const gsrt_planning *planning, gsrt_buffer *out)
{
    const gsrt_planning *p = planning;
    gsrt_plan_region region;
    gsrt_status status = GSRT_OK;
    char more[GSRT_PLAN_WORDS_BYTES];
    bool is_away = false;
    if (p->problem.demand.origin == NULL)
        return GSRT_OK;
    for (uint32_t i = 0; status == GSRT_OK && gsrt_plan_region_at(p, &p->cost, i, &region); i++) {
        if (region.is_origin)
            continue;
        is_away = true;
        status = region.is_entered
                     ? gsrt_buffer_print(out, "spills to %s%s%s: %.3g %% of the requests, %s more to the first token\n",
                                         region.name, region.only == NULL ? "" : ", only to ",
                                         region.only == NULL ? "" : region.only, region.share * 100,
                                         gsrt_plan_number(&region.more, more))
                     : gsrt_buffer_print(out, "computes a part of %.3g %% of the requests in %s\n", region.share * 100,
                                         region.name);
    }
    if (status == GSRT_OK && !is_away)
        status =
            gsrt_buffer_print(out, "all requests are served in %s, where they come from\n", p->problem.demand.origin);
    return status;
}
