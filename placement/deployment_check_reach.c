/* Rule l1: those who must exchange are joined, instance by instance, over links that say how fast they are. A route
 * begins and ends at an engine and passes parts that are neither engines nor memories. Rule l2: there is a way from the
 * region that requests come from to that of each pool, and back. */
#include "placement/deployment_check_impl.h"

#include <string.h>

typedef struct graph {
    const uint64_t *offsets; /* [part_count]: number of a part's first instance */
    uint32_t *marks;         /* [instances]: the walk that came by last */
    uint32_t *wanted;        /* [instances]: the walk that looks for it */
    uint64_t *queue;         /* [instances] */
    uint32_t *parts;         /* [instances]: of which part it is */
    uint32_t walk;
    uint64_t wanted_count; /* of the walk */
} graph;

/* ---- p1 of what is not an engine ---- */

static bool is_place_trusted(const gsrt__checking *c, uint32_t place)
{
    const gsrt_place *p = &c->fleet->places[place];
    if (p->trust < c->problem->rules.trust_min)
        return false;
    for (uint32_t i = 0; i < p->within.domain_count; i++) {
        if (!is_place_trusted(c, p->within.domains[i]))
            return false;
    }
    return p->within.location == GSRT_FLEET_NONE || is_place_trusted(c, p->within.location);
}

bool gsrt__check_is_trusted(const gsrt__checking *c, uint32_t part)
{
    const gsrt_part *p = &c->fleet->parts[part];
    if (p->trust < c->problem->rules.trust_min)
        return false;
    for (uint32_t i = 0; i < p->within.domain_count; i++) {
        if (!is_place_trusted(c, p->within.domains[i]))
            return false;
    }
    return p->within.location == GSRT_FLEET_NONE || is_place_trusted(c, p->within.location);
}

/* ---- walks ---- */

static bool is_passable(const gsrt__checking *c, const gsrt_link *link, bool only_trusted)
{
    if (link->kind == GSRT_LINK_MEMORY || !gsrt__check_is_usable(c, &link->bandwidth) ||
        !gsrt__check_is_usable(c, &link->latency))
        return false;
    return !only_trusted || (link->trust >= c->problem->rules.trust_min && gsrt__check_is_trusted(c, link->to));
}

static bool is_way(gsrt_part_kind kind)
{
    return kind != GSRT_PART_ENGINE && kind != GSRT_PART_MEMORY;
}

static void step_over(const gsrt__checking *c, graph *g, uint32_t link, uint64_t from, uint64_t *queued)
{
    uint64_t first, to = g->offsets[c->fleet->links[link].to];
    uint64_t count = gsrt_fleet_peers(c->fleet, link, from - g->offsets[c->fleet->links[link].from], &first);
    for (uint64_t i = to + first; i < to + first + count; i++) {
        if (g->marks[i] == g->walk)
            continue;
        g->marks[i] = g->walk;
        g->wanted_count -= g->wanted[i] == g->walk ? 1 : 0;
        if (is_way(c->fleet->parts[c->fleet->links[link].to].kind))
            g->queue[(*queued)++] = i;
    }
}

/* Everything that is wanted is reached from `from`? */
static bool walk_from(const gsrt__checking *c, graph *g, uint64_t from, bool only_trusted)
{
    uint64_t queued = 0;
    if (g->marks[from] != g->walk) {
        g->marks[from] = g->walk;
        g->wanted_count -= g->wanted[from] == g->walk ? 1 : 0;
    }
    g->queue[queued++] = from;
    for (uint64_t at = 0; at < queued && g->wanted_count > 0; at++) {
        for (uint32_t l = 0; l < c->fleet->link_count; l++) {
            const gsrt_link *link = &c->fleet->links[l];
            if (link->from == g->parts[g->queue[at]] && is_passable(c, link, only_trusted))
                step_over(c, g, l, g->queue[at], &queued);
        }
    }
    return g->wanted_count == 0;
}

static uint64_t vertex_of(const graph *g, const gsrt__stage_view *view, uint32_t at, uint64_t replica)
{
    return g->offsets[view->seats[at].part] + gsrt__check_instance(view, &view->seats[at], replica);
}

static void want_stage(graph *g, const gsrt__stage_view *view, uint64_t replica)
{
    for (uint32_t at = 0; at < view->width; at++) {
        uint64_t vertex = vertex_of(g, view, at, replica);
        if (g->wanted[vertex] != g->walk) {
            g->wanted[vertex] = g->walk;
            g->wanted_count++;
        }
    }
}

/* ---- who must reach whom ---- */

static bool has(const gsrt_deployment_pool *pool, gsrt_phase phase)
{
    return (pool->phases & (uint32_t)phase) != 0;
}

/* KV travels from the one pool to the other. */
static bool is_handed_over(const gsrt_deployment_pool *from, const gsrt_deployment_pool *to)
{
    return from != to && has(from, GSRT_PHASE_PREFILL) && has(to, GSRT_PHASE_DECODE) &&
           (!has(from, GSRT_PHASE_DECODE) || !has(to, GSRT_PHASE_PREFILL));
}

static bool shares_layers(const gsrt_deployment_stage *a, const gsrt_deployment_stage *b)
{
    return a->layer_first <= b->layer_last && b->layer_first <= a->layer_last;
}

static void want_all(const gsrt__checking *c, graph *g, uint32_t stage, uint64_t replica)
{
    const gsrt__stage_view *view = &c->stages[stage];
    const gsrt_deployment_pool *pool = &c->deployment->pools[view->pool];
    want_stage(g, view, replica);
    if (!view->is_last)
        want_stage(g, view + 1, replica);
    else if (!view->is_first)
        want_stage(g, view - view->stage, replica);
    for (uint32_t s = 0; s < c->stage_count; s++) {
        const gsrt__stage_view *other = &c->stages[s];
        const gsrt_deployment_pool *to = &c->deployment->pools[other->pool];
        for (uint64_t r = 0; is_handed_over(pool, to) && shares_layers(view->it, other->it) && r < to->replica_count;
             r++)
            want_stage(g, other, r);
    }
}

static void check_seat(gsrt__checking *c, graph *g, uint32_t stage, uint32_t at, uint64_t replica)
{
    const gsrt__stage_view *view = &c->stages[stage];
    uint64_t from = vertex_of(g, view, at, replica);
    for (uint32_t attempt = 0; attempt < 2; attempt++) {
        g->walk++;
        g->wanted_count = 0;
        want_all(c, g, stage, replica);
        if (walk_from(c, g, from, attempt == 0)) {
            if (attempt == 1)
                gsrt__check_violate(
                    c, &(gsrt_violation){.rule = "l1", .reason = GSRT_REASON_POLICY},
                    "pools[%u].stages[%u].members[%u]: '%s' reaches others only over what is not trusted", view->pool,
                    view->stage, view->seats[at].entry, c->fleet->parts[view->seats[at].part].name);
            return;
        }
    }
    gsrt__check_violate(c, &(gsrt_violation){.rule = "l1", .reason = GSRT_REASON_UNREACHABLE},
                        "pools[%u].stages[%u].members[%u]: '%s' does not reach all that it must", view->pool,
                        view->stage, view->seats[at].entry, c->fleet->parts[view->seats[at].part].name);
}

/* SWITCH: is there a part that all of them reach at once by a link that reduces? */
static void check_switch(gsrt__checking *c, const gsrt__stage_view *view, uint64_t replica)
{
    for (uint32_t l = 0; l < c->fleet->link_count; l++) {
        const gsrt_link *link = &c->fleet->links[l];
        uint64_t common = 0;
        bool is_one = is_passable(c, link, true) && (link->collectives & (1u << GSRT_COLLECTIVE_ALL_REDUCE)) != 0;
        for (uint32_t at = 0; at < view->width && is_one; at++) {
            uint64_t first = 0;
            is_one = view->seats[at].part == link->from &&
                     gsrt_fleet_peers(c->fleet, l, gsrt__check_instance(view, &view->seats[at], replica), &first) > 0 &&
                     (at == 0 || first == common);
            common = first;
        }
        if (is_one)
            return;
    }
    gsrt__check_violate(c, &(gsrt_violation){.rule = "l1", .reason = GSRT_REASON_CAPABILITY},
                        "pools[%u].stages[%u]: no switch that all of them have adds", view->pool, view->stage);
}

static bool set_up(gsrt__checking *c, graph *g)
{
    uint64_t total = 0, *offsets = gsrt__check_scratch(c, c->fleet->part_count, sizeof *offsets);
    for (uint32_t p = 0; p < c->fleet->part_count; p++)
        total += c->fleet->parts[p].total;
    *g = (graph){.offsets = offsets,
                 .marks = gsrt__check_scratch(c, total, sizeof(uint32_t)),
                 .wanted = gsrt__check_scratch(c, total, sizeof(uint32_t)),
                 .queue = gsrt__check_scratch(c, total, sizeof(uint64_t)),
                 .parts = gsrt__check_scratch(c, total, sizeof(uint32_t))};
    if (c->status != GSRT_OK)
        return false;
    total = 0;
    for (uint32_t p = 0; p < c->fleet->part_count; p++) {
        offsets[p] = total;
        for (uint64_t i = 0; i < c->fleet->parts[p].total; i++)
            g->parts[total++] = p;
    }
    return true;
}

void gsrt__check_routes(gsrt__checking *c)
{
    graph g;
    if (!set_up(c, &g))
        return;
    for (uint32_t s = 0; s < c->stage_count && c->status == GSRT_OK; s++) {
        const gsrt__stage_view *view = &c->stages[s];
        for (uint64_t r = 0; r < c->deployment->pools[view->pool].replica_count; r++) {
            for (uint32_t at = 0; at < view->width; at++)
                check_seat(c, &g, s, at, r);
            if (view->it->algorithm == GSRT_ALGORITHM_SWITCH)
                check_switch(c, view, r);
        }
    }
}

/* ---- l2 ---- */

enum { UNSEEN, PASSED, STARTED };

static const char *region_around(const gsrt__checking *c, uint32_t part)
{
    for (uint32_t at = c->fleet->parts[part].within.location; at != GSRT_FLEET_NONE;
         at = c->fleet->places[at].within.location) {
        if (c->fleet->places[at].kind == GSRT_PLACE_REGION)
            return c->fleet->places[at].name;
    }
    return NULL;
}

static bool is_inside(const gsrt__checking *c, uint32_t part, const char *region)
{
    for (uint32_t at = c->fleet->parts[part].within.location; at != GSRT_FLEET_NONE;
         at = c->fleet->places[at].within.location) {
        if (strcmp(c->fleet->places[at].name, region) == 0)
            return true;
    }
    return false;
}

/* One link further from what is marked; false: it leads to nothing new. */
static bool mark_over(const gsrt__checking *c, const gsrt_link *link, uint8_t *marks, bool only_trusted)
{
    gsrt_part_kind from = c->fleet->parts[link->from].kind;
    bool begins = marks[link->from] == STARTED ? from != GSRT_PART_MEMORY : marks[link->from] == PASSED && is_way(from);
    if (!begins || marks[link->to] != UNSEEN || c->fleet->parts[link->to].kind == GSRT_PART_MEMORY ||
        (link->kind != GSRT_LINK_NETWORK && link->kind != GSRT_LINK_WAN) || !is_passable(c, link, only_trusted) ||
        (only_trusted && !gsrt__check_is_trusted(c, link->from)))
        return false;
    marks[link->to] = PASSED;
    return true;
}

static bool is_region_reached(const gsrt__checking *c, uint8_t *marks, const char *from, const char *to,
                              bool only_trusted)
{
    bool is_reached = false, is_new = true;
    for (uint32_t p = 0; p < c->fleet->part_count; p++)
        marks[p] = is_inside(c, p, from) ? STARTED : UNSEEN;
    while (is_new) {
        is_new = false;
        for (uint32_t l = 0; l < c->fleet->link_count; l++)
            is_new = mark_over(c, &c->fleet->links[l], marks, only_trusted) || is_new;
    }
    for (uint32_t p = 0; p < c->fleet->part_count; p++)
        is_reached = is_reached || (marks[p] == PASSED && is_inside(c, p, to));
    return is_reached;
}

void gsrt__check_origin(gsrt__checking *c)
{
    const char *origin = c->problem->demand.origin;
    uint8_t *marks = origin == NULL ? NULL : gsrt__check_scratch(c, c->fleet->part_count, sizeof *marks);
    for (uint32_t s = 0; marks != NULL && s < c->stage_count; s++) {
        const gsrt__stage_view *view = &c->stages[s];
        uint32_t part = view->it->members[0].part;
        const char *region = region_around(c, part);
        if (view->stage > 0 || is_inside(c, part, origin))
            continue;
        if (region != NULL && is_region_reached(c, marks, origin, region, true) &&
            is_region_reached(c, marks, region, origin, true))
            continue;
        bool is_policy = region != NULL && is_region_reached(c, marks, origin, region, false) &&
                         is_region_reached(c, marks, region, origin, false);
        gsrt_violation wrong = {.rule = "l2", .reason = is_policy ? GSRT_REASON_POLICY : GSRT_REASON_UNREACHABLE};
        gsrt__check_violate(c, &wrong, "pools[%u]: no way%s between '%s', where requests come from, and '%s'",
                            view->pool, is_policy ? " that is trusted" : "", origin, c->fleet->parts[part].name);
    }
}
