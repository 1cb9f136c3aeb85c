/* Routes through the fleet, ways between its regions, and what exchanges over routes cost.
 *
 * A state of the route search is a part and a run of its instances that can be reached; a link leads from a run to a
 * run (gsrt_fleet_peers deals in order). A part is entered again only where that reaches more: up to the switch and
 * down again. The way with the least latency plus time of a reference message over all its links is taken.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement/cost_impl.h"

enum { STATE_COUNT_MAX = 96, HOP_COUNT_MAX = 32 };

#define REFERENCE_BYTES 1e6
#define UNKNOWN_PENALTY_S 1e3

typedef struct state {
    uint32_t part, link, before; /* link by which it was reached, from the state `before` */
    uint64_t first, count;
    double cost;
    bool is_done;
} state;

typedef struct search {
    const gsrt__walk *walk;
    state states[STATE_COUNT_MAX];
    uint32_t count;
} search;

static double link_cost(const gsrt_link *link)
{
    return (link->latency.is_known ? link->latency.value : UNKNOWN_PENALTY_S) +
           (link->bandwidth.is_known ? REFERENCE_BYTES / link->bandwidth.value : UNKNOWN_PENALTY_S);
}

static void follow(search *s, uint32_t at, uint32_t link)
{
    const gsrt_fleet *f = s->walk->fleet;
    const gsrt_link *l = &f->links[link];
    const state *here = &s->states[at];
    uint64_t first, last_first, last_count;
    if (f->parts[l->to].kind == GSRT_PART_MEMORY)
        return; /* nothing passes through one */
    (void)gsrt_fleet_peers(f, link, here->first, &first);
    last_count = gsrt_fleet_peers(f, link, here->first + here->count - 1, &last_first);
    state next = {l->to, link, at, first, last_first + last_count - first, here->cost + link_cost(l), false};
    for (uint32_t i = 0; i < s->count; i++) {
        const state *other = &s->states[i];
        if (other->part == next.part && other->cost <= next.cost && other->first <= next.first &&
            other->first + other->count >= next.first + next.count)
            return;
    }
    if (s->count < STATE_COUNT_MAX)
        s->states[s->count++] = next;
}

static uint32_t cheapest(const search *s)
{
    uint32_t best = GSRT_NO_INDEX;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!s->states[i].is_done && (best == GSRT_NO_INDEX || s->states[i].cost < s->states[best].cost))
            best = i;
    }
    return best;
}

/* The links of the best way, the last first; their number, 0 where there is none. */
static uint32_t find_route(const gsrt__walk *walk, uint32_t from, uint64_t from_instance, uint32_t to,
                           uint64_t to_instance, uint32_t *out_links)
{
    const gsrt_fleet *f = walk->fleet;
    search s;
    s.walk = walk;
    s.count = 1;
    s.states[0] = (state){from, GSRT_FLEET_NONE, GSRT_NO_INDEX, from_instance, 1, 0, false};
    for (uint32_t at = 0; at != GSRT_NO_INDEX; at = cheapest(&s)) {
        state *here = &s.states[at];
        here->is_done = true;
        if (at != 0 && f->parts[here->part].kind == GSRT_PART_ENGINE) {
            if (here->part != to || to_instance < here->first || to_instance >= here->first + here->count)
                continue;
            uint32_t count = 0;
            for (uint32_t i = at; i != 0 && count < HOP_COUNT_MAX; i = s.states[i].before)
                out_links[count++] = s.states[i].link;
            return count;
        }
        for (uint32_t i = walk->profile->link_first[here->part]; i < walk->profile->link_first[here->part + 1]; i++) {
            uint32_t link = walk->profile->link_order[i];
            if (f->links[link].kind != GSRT_LINK_MEMORY)
                follow(&s, at, link);
        }
    }
    return 0;
}

/* Of `senders` neighbouring instances of `from`, those whose way leads through one instance of `part`. */
static double senders_through(const gsrt_fleet *f, uint32_t from, uint32_t part, uint64_t senders)
{
    uint32_t place = gsrt_fleet_common_place(f, from, part);
    uint64_t here = gsrt_fleet_count_in(f, from, place), parts = gsrt_fleet_count_in(f, part, place);
    uint64_t each = (here + parts - 1) / parts;
    return (double)(each < senders ? each : senders);
}

static gsrt__term link_input(gsrt__walk *walk, uint32_t link, const char *property, gsrt_quantity claim)
{
    gsrt_quantity q = gsrt__stated(walk->fleet, walk->question->mode, GSRT_FLEET_NONE, link, property, claim);
    return gsrt__input(walk, walk->fleet->links[link].name, property, &q);
}

/* What a link gives each of the senders: its own bandwidth, and that of what they share. */
static gsrt__term link_bandwidth(gsrt__walk *walk, uint32_t link, uint32_t from, uint64_t senders)
{
    const gsrt_fleet *f = walk->fleet;
    const gsrt_link *l = &f->links[link];
    gsrt__term own = link_input(walk, link, "bandwidth", l->bandwidth), bandwidth = own;
    /* there are as many links as instances at the end that has more */
    double on_it = fmin(senders_through(f, from, l->from, senders), senders_through(f, from, l->to, senders));
    if (on_it > 1) {
        const gsrt__term inputs[] = {own, own, gsrt__counted(walk, "senders on it", on_it, GSRT__PLAIN)};
        bandwidth = gsrt__derive(walk, GSRT__EQUATION_CONTENTION, "bandwidth of each sender", inputs);
    }
    uint32_t shared[] = {l->contention, l->from, l->to};
    for (uint32_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        if (shared[i] == GSRT_FLEET_NONE || f->parts[shared[i]].kind == GSRT_PART_ENGINE ||
            (i > 0 && shared[i] == l->contention))
            continue;
        const gsrt_part *part = &f->parts[shared[i]];
        double through = senders_through(f, from, shared[i], senders);
        if (!part->bandwidth.is_known && (i > 0 || through <= 1))
            continue;
        gsrt_quantity q =
            gsrt__stated(f, walk->question->mode, shared[i], GSRT_FLEET_NONE, "bandwidth", part->bandwidth);
        const gsrt__term inputs[] = {bandwidth, gsrt__input(walk, part->name, "bandwidth", &q),
                                     gsrt__counted(walk, "senders through it", through, GSRT__PLAIN)};
        bandwidth = gsrt__derive(walk, GSRT__EQUATION_CONTENTION, "bandwidth of each sender", inputs);
    }
    return bandwidth;
}

static gsrt__reach find_reach(gsrt__walk *walk, uint32_t from, uint64_t from_instance, uint32_t to,
                              uint64_t to_instance, uint64_t senders)
{
    uint32_t links[HOP_COUNT_MAX];
    bool exists = from_instance < walk->fleet->parts[from].total && to_instance < walk->fleet->parts[to].total;
    uint32_t count = exists ? find_route(walk, from, from_instance, to, to_instance, links) : 0;
    gsrt_quantity unknown = {0};
    gsrt__reach reach = {.has_switch = count > 0};
    if (count == 0) {
        reach.latency = reach.bandwidth = gsrt__input(walk, NULL, "no route", &unknown);
        return reach;
    }
    for (uint32_t i = count; i-- > 0;) {
        const gsrt_link *link = &walk->fleet->links[links[i]];
        gsrt__term latency = link_input(walk, links[i], "latency", link->latency);
        gsrt__term bandwidth = link_bandwidth(walk, links[i], from, senders);
        bool is_first = i == count - 1;
        reach.latency = is_first ? latency : gsrt__derive2(walk, GSRT__EQUATION_SUM, "latency", reach.latency, latency);
        reach.bandwidth =
            is_first ? bandwidth
                     : gsrt__derive2(walk, GSRT__EQUATION_SMALLER, "bandwidth of a route", reach.bandwidth, bandwidth);
        reach.has_switch = reach.has_switch && (link->collectives & 1u << GSRT_COLLECTIVE_ALL_REDUCE) != 0;
    }
    return reach;
}

/* ---- between regions ---- */

/* How a part is reached from a region: by which link, GSRT_FLEET_NONE where it stands there. */
typedef struct reached {
    double latency; /* s; HUGE_VAL: it is not */
    uint32_t link;
} reached;

/* Does a link lead on from where it begins? Only what stands in the region may begin at an engine. */
static bool leads_on(const gsrt_fleet *f, const gsrt_link *link, const reached *from)
{
    gsrt_part_kind kind = f->parts[link->from].kind;
    return (link->kind == GSRT_LINK_NETWORK || link->kind == GSRT_LINK_WAN) && link->latency.is_known &&
           link->bandwidth.is_known && kind != GSRT_PART_MEMORY && f->parts[link->to].kind != GSRT_PART_MEMORY &&
           (kind != GSRT_PART_ENGINE || from->link == GSRT_FLEET_NONE);
}

/* Every part by the least latency (Bellman, Ford). Parts, not instances: whatever a link's counts, each instance of
 * either end has one at the other. [part_count], freed by the caller. */
static reached *reach_from(gsrt__walk *walk, uint32_t region)
{
    const gsrt_fleet *f = walk->fleet;
    reached *all = calloc(f->part_count, sizeof *all);
    if (all == NULL) {
        walk->status = GSRT_ENOMEM;
        return NULL;
    }
    for (uint32_t p = 0; p < f->part_count; p++)
        all[p] = (reached){gsrt_fleet_stands_in(f, p, region) ? 0 : HUGE_VAL, GSRT_FLEET_NONE};
    for (bool is_shorter = true; is_shorter;) {
        is_shorter = false;
        for (uint32_t i = 0; i < f->link_count; i++) {
            const gsrt_link *link = &f->links[i];
            double latency = all[link->from].latency + (link->latency.is_known ? link->latency.value : 0);
            if (latency < all[link->to].latency && leads_on(f, link, &all[link->from])) {
                all[link->to] = (reached){latency, i};
                is_shorter = true;
            }
        }
    }
    return all;
}

/* The links of the shortest way, one after the other. */
static gsrt__term way_between(gsrt__walk *walk, uint32_t from, uint32_t to)
{
    const gsrt_fleet *f = walk->fleet;
    gsrt_quantity unknown = {0};
    gsrt__term sum = gsrt__input(walk, NULL, "no way", &unknown);
    uint32_t at = GSRT_FLEET_NONE;
    bool is_first = true;
    reached *all = reach_from(walk, from);
    for (uint32_t p = 0; all != NULL && p < f->part_count; p++) {
        if (gsrt_fleet_stands_in(f, p, to) && !gsrt_fleet_stands_in(f, p, from) &&
            all[p].latency < (at == GSRT_FLEET_NONE ? HUGE_VAL : all[at].latency))
            at = p;
    }
    for (; at != GSRT_FLEET_NONE && all[at].link != GSRT_FLEET_NONE; at = f->links[all[at].link].from) {
        gsrt__term latency = link_input(walk, all[at].link, "latency", f->links[all[at].link].latency);
        sum = is_first ? latency : gsrt__derive2(walk, GSRT__EQUATION_SUM, "latency of the way", sum, latency);
        is_first = false;
    }
    free(all);
    return sum;
}

static gsrt__term find_there_and_back(gsrt__walk *walk, uint32_t origin, uint32_t region)
{
    const gsrt_place *places = walk->fleet->places;
    gsrt_quantity unknown = {0};
    if (origin == GSRT_FLEET_NONE || region == GSRT_FLEET_NONE)
        return gsrt__input(walk, NULL, "no way", &unknown);
    gsrt__walk_at(walk, "from %s to %s: ", places[origin].name, places[region].name);
    gsrt__term there = way_between(walk, origin, region), back = way_between(walk, region, origin);
    return gsrt__derive2(walk, GSRT__EQUATION_THERE_AND_BACK, "there and back", there, back);
}

/* ---- what is kept ---- */

enum { MEMO_COUNT = 1024, MEMO_REGIONS = 16 };

typedef struct remembered {
    uint32_t from, to;
    uint64_t from_instance, to_instance, senders; /* senders 0: nothing yet */
    gsrt__reach reach;
} remembered;

struct gsrt_cost_memo {
    remembered ways[MEMO_COUNT]; /* by hash; the last one wins */
    struct {
        uint32_t region;
        bool is_set;
        gsrt__term more;
    } regions[MEMO_REGIONS]; /* from the origin; likewise */
};

gsrt_cost_memo *gsrt_cost_memo_create(void)
{
    return calloc(1, sizeof(gsrt_cost_memo));
}

gsrt_cost_memo *gsrt_cost_memo_free(gsrt_cost_memo *memo)
{
    free(memo);
    return NULL;
}

gsrt__reach gsrt__reach_between(gsrt__walk *walk, uint32_t from, uint64_t from_instance, uint32_t to,
                                uint64_t to_instance, uint64_t senders)
{
    gsrt_cost_memo *memo = walk->question->is_plain && walk->why == NULL ? walk->question->memo : NULL;
    if (memo == NULL)
        return find_reach(walk, from, from_instance, to, to_instance, senders);
    static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = ((from * odd + to) * odd + from_instance) * odd + to_instance;
    hash = (hash * odd + senders) * odd;
    remembered *at = &memo->ways[(hash >> 32) % MEMO_COUNT];
    if (at->senders != senders || at->from != from || at->to != to || at->from_instance != from_instance ||
        at->to_instance != to_instance)
        *at = (remembered){from,        to,      from_instance,
                           to_instance, senders, find_reach(walk, from, from_instance, to, to_instance, senders)};
    return at->reach;
}

gsrt__term gsrt__there_and_back(gsrt__walk *walk, uint32_t origin, uint32_t region)
{
    gsrt_cost_memo *memo = walk->question->is_plain && walk->why == NULL ? walk->question->memo : NULL;
    if (memo == NULL)
        return find_there_and_back(walk, origin, region);
    uint32_t at = region % MEMO_REGIONS;
    if (!memo->regions[at].is_set || memo->regions[at].region != region) {
        memo->regions[at].more = find_there_and_back(walk, origin, region);
        memo->regions[at].region = region;
        memo->regions[at].is_set = true;
    }
    return memo->regions[at].more;
}

/* ---- groups ---- */

static bool is_worse(const gsrt__reach *a, const gsrt__reach *b)
{
    if (!a->bandwidth.quantity.is_known || !a->latency.quantity.is_known)
        return b->bandwidth.quantity.is_known && b->latency.quantity.is_known;
    if (!b->bandwidth.quantity.is_known || !b->latency.quantity.is_known)
        return false;
    return a->latency.quantity.value + REFERENCE_BYTES / a->bandwidth.quantity.value >
           b->latency.quantity.value + REFERENCE_BYTES / b->bandwidth.quantity.value;
}

/* Engines of an entry in one instance of the place that they stand in. */
static uint64_t members_nearby(const gsrt_fleet *f, const gsrt_deployment_members *members)
{
    uint32_t place = f->parts[members->part].within.location;
    uint64_t here = gsrt_fleet_count_in(f, members->part, place), offset = members->instance_first % here;
    uint64_t room = here - offset;
    return members->instance_count < room ? members->instance_count : room;
}

gsrt__group gsrt__group_of(gsrt__walk *walk, const gsrt_deployment_stage *stage)
{
    uint32_t width = gsrt_deployment_stage_width(stage);
    gsrt__group group = {.width = width};
    bool is_set = false;
    uint64_t nearby = width;
    gsrt__reach near = {0};
    for (uint32_t i = 0; i < stage->member_count; i++) {
        const gsrt_deployment_members *m = &stage->members[i];
        const gsrt_deployment_members *next = &stage->members[(i + 1) % stage->member_count];
        uint64_t last = m->instance_first + m->instance_count - 1;
        uint64_t here = members_nearby(walk->fleet, m);
        if (here < nearby)
            nearby = here;
        gsrt__reach reach[3];
        uint32_t count = 0;
        if (m->instance_count > 1)
            reach[count++] = gsrt__reach_between(walk, m->part, m->instance_first, m->part, last, width);
        if (stage->member_count > 1)
            reach[count++] = gsrt__reach_between(walk, m->part, last, next->part, next->instance_first, width);
        if (here > 1 && here < m->instance_count)
            near = reach[count++] =
                gsrt__reach_between(walk, m->part, m->instance_first, m->part, m->instance_first + 1, width);
        for (uint32_t k = 0; k < count; k++) {
            bool has_switch = (!is_set || group.far.has_switch) && reach[k].has_switch;
            if (!is_set || is_worse(&reach[k], &group.far))
                group.far = reach[k];
            group.far.has_switch = has_switch;
            is_set = true;
        }
    }
    group.together_bandwidth = group.far.bandwidth;
    if (near.bandwidth.quantity.is_known && group.far.bandwidth.quantity.is_known && nearby > 1) {
        gsrt__term together =
            gsrt__derive2(walk, GSRT__EQUATION_TOGETHER, "bandwidth out of a node",
                          gsrt__counted(walk, "members of a node", (double)nearby, GSRT__PLAIN), group.far.bandwidth);
        group.together_bandwidth =
            gsrt__derive2(walk, GSRT__EQUATION_SMALLER, "bandwidth of the group", together, near.bandwidth);
    }
    return group;
}

gsrt__equation_id gsrt__exchange_equation(gsrt_collective_algorithm algorithm)
{
    static const gsrt__equation_id equations[GSRT_ALGORITHM_COUNT] = {
        [GSRT_ALGORITHM_NONE] = GSRT__EQUATION_GATHER,       [GSRT_ALGORITHM_GATHER] = GSRT__EQUATION_GATHER,
        [GSRT_ALGORITHM_SUBTREES] = GSRT__EQUATION_SUBTREES, [GSRT_ALGORITHM_RING] = GSRT__EQUATION_RING,
        [GSRT_ALGORITHM_TREE] = GSRT__EQUATION_TREE,         [GSRT_ALGORITHM_SWITCH] = GSRT__EQUATION_SWITCH,
    };
    return equations[algorithm];
}

/* One way of passing the bytes. */
typedef struct passage {
    gsrt__term latency, share;
    bool is_started;
    gsrt__assumption_id start;
} passage;

static gsrt__term pass(gsrt__walk *walk, const gsrt__group *group, const gsrt__exchanged *what, const passage *by,
                       const char *name)
{
    bool is_chained = what->equation == GSRT__EQUATION_SWITCH || what->equation == GSRT__EQUATION_RING ||
                      what->equation == GSRT__EQUATION_TREE;
    gsrt__term count = gsrt__counted(walk, "exchanges", what->count, GSRT__PLAIN);
    const gsrt__term inputs[] = {
        count,
        by->latency,
        gsrt__counted(walk, "bytes exchanged", what->bytes, GSRT__BYTE),
        is_chained ? group->together_bandwidth : group->far.bandwidth,
        by->share,
        gsrt__counted(walk, "members", (double)what->width, GSRT__PLAIN),
    };
    gsrt__term passed = gsrt__derive(walk, what->equation, name, inputs);
    if (!by->is_started)
        return passed;
    gsrt__term starts =
        gsrt__derive2(walk, GSRT__EQUATION_LAUNCHES, "starts of exchanges", count, gsrt__assume(walk, by->start));
    return gsrt__derive2(walk, GSRT__EQUATION_SUM, "exchanges and their starts", passed, starts);
}

gsrt__term gsrt__exchange(gsrt__walk *walk, const gsrt__group *group, const gsrt__exchanged *what, const char *name)
{
    gsrt_quantity unknown = {0};
    if (what->equation == GSRT__EQUATION_SWITCH) {
        const passage sums = {
            group->far.has_switch ? group->far.latency : gsrt__input(walk, NULL, "sums in the switch", &unknown),
            gsrt__assume(walk, GSRT__ASSUMPTION_SWITCH_SHARE), what->is_native, GSRT__ASSUMPTION_SWITCH_START};
        return pass(walk, group, what, &sums, name);
    }
    gsrt__term share = gsrt__assume(walk, GSRT__ASSUMPTION_LINK_SHARE);
    const passage plain = {group->far.latency, share, false, GSRT__ASSUMPTION_START};
    if (!what->is_native)
        return pass(walk, group, what, &plain, name);
    /* libraries have a protocol for short messages, and one for long ones; the faster is taken */
    const passage brief = {group->far.latency,
                           gsrt__derive2(walk, GSRT__EQUATION_PART, "share of the link bandwidth, short messages",
                                         share, gsrt__assume(walk, GSRT__ASSUMPTION_SHORT_SHARE)),
                           true, GSRT__ASSUMPTION_START};
    const passage bulk = {gsrt__derive2(walk, GSRT__EQUATION_TIMES, "latency, long messages",
                                        gsrt__assume(walk, GSRT__ASSUMPTION_LONG_LATENCY), group->far.latency),
                          share, true, GSRT__ASSUMPTION_LONG_START};
    return gsrt__derive2(walk, GSRT__EQUATION_SMALLER, "exchanges by the faster protocol",
                         pass(walk, group, what, &brief, name), pass(walk, group, what, &bulk, name));
}
