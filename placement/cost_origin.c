/* Where requests come from, and which pools they go to. A pool stands in the region of its first engine. Pools that are
 * equally far are a circle: nearer circles are filled first, and within one all are equally busy.
 */
#include <math.h>

#include "placement/cost_impl.h"

static bool does_both(const gsrt_deployment_pool *pool)
{
    return pool->phases == (GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE);
}

/* Those that do one phase serve a request together: whatever way it takes through them, it pays for the farthest. */
static void join_phases(gsrt__walk *walk, gsrt__route *routes)
{
    const gsrt_deployment *d = walk->deployment;
    gsrt__term most = {0};
    bool is_away = false;
    for (uint32_t p = 0; p < d->pool_count; p++) {
        if (does_both(&d->pools[p]) || !routes[p].is_away)
            continue;
        most = is_away ? gsrt__derive2(walk, GSRT__EQUATION_LARGER, "farthest pool", most, routes[p].more)
                       : routes[p].more;
        is_away = true;
    }
    for (uint32_t p = 0; p < d->pool_count && is_away; p++) {
        if (does_both(&d->pools[p]))
            continue;
        routes[p].is_away = true;
        routes[p].more = most;
    }
}

/* No way: farther than all others. */
static double distance_of(const gsrt__route *route)
{
    if (!route->is_away)
        return 0;
    return route->more.quantity.is_known ? route->more.quantity.value : HUGE_VAL;
}

/* The next larger distance; negative: there is none. */
static double next_distance(const gsrt__route *routes, uint32_t count, double after)
{
    double next = -1;
    for (uint32_t p = 0; p < count; p++) {
        double distance = distance_of(&routes[p]);
        if (distance > after && (next < 0 || distance < next))
            next = distance;
    }
    return next;
}

uint32_t gsrt__routes_of(gsrt__walk *walk, gsrt__route *out)
{
    const gsrt_deployment *d = walk->deployment;
    const char *origin = walk->question->demand->origin;
    uint32_t circles = 0;
    if (origin == NULL)
        return 1;
    uint32_t home = gsrt_fleet_place_named(walk->fleet, origin);
    for (uint32_t p = 0; p < d->pool_count; p++) {
        uint32_t part = d->pools[p].stages[0].members[0].part;
        out[p].region = gsrt_fleet_region_of(walk->fleet, part);
        out[p].is_away = home == GSRT_FLEET_NONE || !gsrt_fleet_stands_in(walk->fleet, part, home);
        if (out[p].is_away)
            out[p].more = gsrt__there_and_back(walk, home, out[p].region);
    }
    gsrt__walk_at(walk, "%s", "");
    join_phases(walk, out);
    for (double at = next_distance(out, d->pool_count, -1); at >= 0; at = next_distance(out, d->pool_count, at)) {
        for (uint32_t p = 0; p < d->pool_count; p++) {
            if (distance_of(&out[p]) == at)
                out[p].circle = circles;
        }
        circles++;
    }
    return circles;
}

void gsrt__fill_circles(double amount, double most, const double *rooms, double *amounts, uint32_t count)
{
    double room = 0, left = amount;
    for (uint32_t c = 0; c < count; c++)
        room += rooms[c];
    double share = fmax(most, amount / room);
    for (uint32_t c = 0; c < count; c++) {
        amounts[c] = c + 1 == count ? left : fmin(left, share * rooms[c]);
        left -= amounts[c];
    }
}
