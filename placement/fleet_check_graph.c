/* What only the graph shows: links and their ends, paths and their links, what reaches what, power and its budgets. */
#include "placement/fleet_check.h"

#include <stdlib.h>

static const double REGION_LATENCY_S_MIN = 20e-6; /* light in 4 km of glass: no two regions are closer */

/* ---- links ---- */

/* The region around a part; GSRT_FLEET_NONE: none. */
static uint32_t region_of(const gsrt_fleet *fleet, uint32_t part)
{
    uint32_t at = fleet->parts[part].within.location;
    while (at != GSRT_FLEET_NONE && fleet->places[at].kind != GSRT_PLACE_REGION)
        at = fleet->places[at].within.location;
    return at;
}

/* Is a part's place the other one's, or around it? A part that is nowhere is near everything. */
static bool is_near(const gsrt_fleet *fleet, uint32_t part, uint32_t other)
{
    uint32_t place = fleet->parts[part].within.location;
    return place == GSRT_FLEET_NONE || gsrt_fleet_common_place(fleet, part, other) == place;
}

static void check_pairing(gsrt__checker *c, const gsrt_link *link)
{
    uint32_t place = gsrt_fleet_common_place(c->fleet, link->from, link->to);
    uint64_t m = gsrt_fleet_count_in(c->fleet, link->from, place), n = gsrt_fleet_count_in(c->fleet, link->to, place);
    const char *within = place == GSRT_FLEET_NONE ? "the fleet" : c->fleet->places[place].name;
    if (link->from == link->to && (!link->is_to_all || m < 2))
        gsrt__find(c, "link_to_itself", link->where, "to",
                   "it begins and ends at the same part; write 'pairing: all' for links among several of them");
    else if (!link->is_to_all && m % n != 0 && n % m != 0)
        gsrt__find(
            c, "uneven_pairing", link->where, NULL,
            "%llu '%.80s' cannot be dealt evenly to %llu '%.80s' in %.80s; change a count, or write 'pairing: all'",
            (unsigned long long)m, c->fleet->parts[link->from].name, (unsigned long long)n,
            c->fleet->parts[link->to].name, within);
}

static void check_ends(gsrt__checker *c, const gsrt_link *link)
{
    const uint32_t ends[] = {link->from, link->to};
    for (size_t i = 0; i < 2; i++) {
        const gsrt_part *end = &c->fleet->parts[ends[i]];
        if (link->bandwidth.is_known && end->bandwidth.is_known && link->bandwidth.lo > end->bandwidth.hi)
            gsrt__find(c, "link_above_endpoint", link->where, "bandwidth",
                       "%.4g GB/s, and '%.80s' passes %.4g GB/s at most; correct one of them", link->bandwidth.lo / 1e9,
                       end->name, end->bandwidth.hi / 1e9);
    }
    bool has_memory =
        c->fleet->parts[link->from].kind == GSRT_PART_MEMORY || c->fleet->parts[link->to].kind == GSRT_PART_MEMORY;
    if (link->kind == GSRT_LINK_MEMORY && !has_memory)
        gsrt__find(c, "memory_link_without_memory", link->where, "kind",
                   "of kind memory, and neither end is one; take another kind");
    if (link->kind == GSRT_LINK_MEMORY && link->collectives != 0)
        gsrt__find(c, "collectives_on_memory", link->where, "collectives",
                   "an engine and its memory need no collectives; remove them");
    uint32_t from = region_of(c->fleet, link->from), to = region_of(c->fleet, link->to);
    if (from != to && from != GSRT_FLEET_NONE && to != GSRT_FLEET_NONE && link->latency.is_known &&
        link->latency.hi < REGION_LATENCY_S_MIN)
        gsrt__find(c, "faster_than_light", link->where, "latency",
                   "%.4g us between two regions: light takes longer; look for a slipped unit", link->latency.hi * 1e6);
}

static void check_contention(gsrt__checker *c, const gsrt_link *link)
{
    if (link->contention == GSRT_FLEET_NONE)
        return;
    const gsrt_part *shared = &c->fleet->parts[link->contention];
    if (link->where == shared->where) /* an engine's own memory, looked at as a part */
        return;
    if (!is_near(c->fleet, link->contention, link->from) && !is_near(c->fleet, link->contention, link->to))
        gsrt__find(c, "contention_elsewhere", link->where, "contention",
                   "'%.80s' stands elsewhere than both ends; name what the link runs through", shared->name);
    if (!shared->bandwidth.is_known)
        gsrt__find(c, "contention_unknown", link->where, "contention",
                   "nobody says how much '%.80s' passes at once; add its 'bandwidth'", shared->name);
}

typedef struct pair {
    uint32_t from, to;
} pair;

static int order_pairs(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to ? 1 : 0;
}

/* Each coherent link has one back. */
static void check_coherence(gsrt__checker *c)
{
    pair *pairs = calloc((size_t)c->fleet->link_count + 1, sizeof *pairs);
    if (pairs == NULL) {
        c->findings->is_out_of_memory = true;
        return;
    }
    size_t count = 0;
    for (uint32_t i = 0; i < c->fleet->link_count; i++) {
        if (c->fleet->links[i].is_coherent)
            pairs[count++] = (pair){c->fleet->links[i].from, c->fleet->links[i].to};
    }
    qsort(pairs, count, sizeof *pairs, order_pairs);
    for (uint32_t i = 0; i < c->fleet->link_count; i++) {
        const gsrt_link *link = &c->fleet->links[i];
        pair back = {link->to, link->from};
        if (link->is_coherent && bsearch(&back, pairs, count, sizeof *pairs, order_pairs) == NULL)
            gsrt__find(c, "one_way_coherence", link->where, "coherent",
                       "coherent, and there is no coherent link back; write 'both: true', or remove 'coherent'");
    }
    free(pairs);
}

/* ---- paths ---- */

static void check_path(gsrt__checker *c, const gsrt_path *path)
{
    double latency_s = 0;
    for (uint32_t i = 0; i < path->link_count; i++) {
        const gsrt_link *link = &c->fleet->links[path->links[i]];
        const gsrt_link *next = i + 1 < path->link_count ? &c->fleet->links[path->links[i + 1]] : NULL;
        if (next != NULL && link->to != next->from)
            gsrt__find(c, "path_broken", path->where, "links",
                       "'%.100s' ends at '%.80s', and '%.100s' begins at '%.80s'; put the links in order", link->name,
                       c->fleet->parts[link->to].name, next->name, c->fleet->parts[next->from].name);
        latency_s += link->latency.is_known ? link->latency.lo : 0;
        if (path->bandwidth.is_known && link->bandwidth.is_known && path->bandwidth.lo > link->bandwidth.hi)
            gsrt__find(c, "path_above_link", path->where, "bandwidth",
                       "%.4g GB/s over '%.100s', which passes %.4g GB/s at most; correct one of them",
                       path->bandwidth.lo / 1e9, link->name, link->bandwidth.hi / 1e9);
    }
    if (path->latency.is_known && path->latency.hi < latency_s)
        gsrt__find(c, "path_below_latency", path->where, "latency",
                   "%.4g us, and its links take %.4g us together; correct one of them", path->latency.hi * 1e6,
                   latency_s * 1e6);
}

/* ---- what reaches what ---- */

/* Mark the parts on a way from (or, backward, to) a part of `kind`. Room: first [part_count + 1], where the links of
 * each part begin in by_end [link_count]; queue [part_count]. */
static void reach(const gsrt_fleet *fleet, gsrt_part_kind kind, bool is_backward, bool *marks, uint32_t *first,
                  uint32_t *by_end, uint32_t *queue)
{
    memset(first, 0, ((size_t)fleet->part_count + 1) * sizeof *first);
    for (uint32_t i = 0; i < fleet->link_count; i++)
        first[is_backward ? fleet->links[i].to : fleet->links[i].from]++;
    for (uint32_t i = 0; i < fleet->part_count; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < fleet->link_count; i++) /* from the end of each run to its beginning */
        by_end[--first[is_backward ? fleet->links[i].to : fleet->links[i].from]] = i;
    uint32_t head = 0, tail = 0;
    for (uint32_t i = 0; i < fleet->part_count; i++) {
        marks[i] = fleet->parts[i].kind == kind;
        if (marks[i])
            queue[tail++] = i;
    }
    while (head < tail) {
        uint32_t part = queue[head++];
        for (uint32_t i = first[part]; i < first[part + 1]; i++) {
            uint32_t other = is_backward ? fleet->links[by_end[i]].from : fleet->links[by_end[i]].to;
            if (!marks[other]) {
                marks[other] = true;
                queue[tail++] = other;
            }
        }
    }
}

static void check_reach(gsrt__checker *c)
{
    const gsrt_fleet *fleet = c->fleet;
    size_t parts = (size_t)fleet->part_count + 1, links = (size_t)fleet->link_count + 1;
    bool *marks = calloc(parts, sizeof *marks), *is_linked = calloc(parts, sizeof *is_linked);
    uint32_t *first = calloc(parts, sizeof *first), *by_end = calloc(links, sizeof *by_end);
    uint32_t *queue = calloc(parts, sizeof *queue);
    if (marks == NULL || is_linked == NULL || first == NULL || by_end == NULL || queue == NULL) {
        c->findings->is_out_of_memory = true;
        goto out;
    }
    for (uint32_t i = 0; i < fleet->link_count; i++)
        is_linked[fleet->links[i].from] = is_linked[fleet->links[i].to] = true;
    reach(fleet, GSRT_PART_ENGINE, true, marks, first, by_end, queue);
    for (uint32_t i = 0; i < fleet->part_count; i++) {
        const gsrt_part *part = &fleet->parts[i];
        if (part->kind == GSRT_PART_MEMORY && !marks[i])
            gsrt__find(c, "memory_unreached", part->where, NULL, "no engine can read '%.80s'; add a link from it",
                       part->name);
        if (part->kind != GSRT_PART_MEMORY && part->kind != GSRT_PART_ENGINE && !is_linked[i])
            gsrt__find(c, "part_unreached", part->where, NULL, "'%.80s' is linked to nothing; add a link, or remove it",
                       part->name);
    }
    reach(fleet, GSRT_PART_MEMORY, false, marks, first, by_end, queue);
    for (uint32_t i = 0; i < fleet->part_count; i++) {
        const gsrt_part *part = &fleet->parts[i];
        if (part->kind == GSRT_PART_ENGINE && !marks[i])
            gsrt__find(c, "engine_without_memory", part->where, NULL,
                       "nobody says what memory '%.80s' computes from; add 'memory', or a link from one", part->name);
    }
out:
    free(marks);
    free(is_linked);
    free(first);
    free(by_end);
    free(queue);
}

/* ---- power ---- */

/* Add `each` watts of every instance of a part to every place that it is in: per instance of the place. */
static void add_power(const gsrt_fleet *fleet, const gsrt_part *part, double each_w, double *watts)
{
    const gsrt_within *within = &part->within;
    while (within != NULL) {
        for (uint32_t i = 0; i < within->domain_count; i++) {
            uint32_t domain = within->domains[i];
            watts[domain] += each_w * (double)part->total / (double)fleet->places[domain].total;
        }
        if (within->location == GSRT_FLEET_NONE)
            return;
        watts[within->location] += each_w * (double)part->total / (double)fleet->places[within->location].total;
        within = &fleet->places[within->location].within;
    }
}

static void check_power(gsrt__checker *c)
{
    const gsrt_fleet *fleet = c->fleet;
    double *watts = calloc((size_t)fleet->place_count + 1, sizeof *watts);
    if (watts == NULL) {
        c->findings->is_out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < fleet->part_count; i++) {
        if (fleet->parts[i].power_idle.is_known)
            add_power(fleet, &fleet->parts[i], fleet->parts[i].power_idle.lo, watts);
    }
    for (uint32_t i = 0; i < fleet->place_count; i++) {
        const gsrt_place *place = &fleet->places[i];
        const struct {
            const char *key;
            const gsrt_quantity *budget;
        } budgets[] = {{"power_budget", &place->power_budget}, {"cooling_budget", &place->cooling_budget}};
        for (size_t b = 0; b < 2; b++) {
            if (budgets[b].budget->is_known && watts[i] > budgets[b].budget->hi)
                gsrt__find(c, "budget_below_idle", place->where, budgets[b].key,
                           "%.4g W, and what is in it needs %.4g W when it does nothing; correct one of them",
                           budgets[b].budget->hi, watts[i]);
        }
    }
    free(watts);
}

/* Parts are dealt to power and cooling domains as to links. */
static void check_domains(gsrt__checker *c)
{
    for (uint32_t i = 0; i < c->fleet->part_count; i++) {
        const gsrt_part *part = &c->fleet->parts[i];
        for (uint32_t d = 0; d < part->within.domain_count && !gsrt__is_onboard(c->fleet, part); d++) {
            const gsrt_place *domain = &c->fleet->places[part->within.domains[d]];
            if (part->total % domain->total != 0 && domain->total % part->total != 0)
                gsrt__find(c, "uneven_pairing", part->where, "in",
                           "%llu '%.80s' cannot be dealt evenly to %llu '%.80s'; change a count",
                           (unsigned long long)part->total, part->name, (unsigned long long)domain->total,
                           domain->name);
        }
    }
}

void gsrt__check_graph(gsrt__checker *c)
{
    for (uint32_t i = 0; i < c->fleet->link_count; i++) {
        const gsrt_link *link = &c->fleet->links[i];
        check_pairing(c, link);
        check_ends(c, link);
        check_contention(c, link);
    }
    check_coherence(c);
    for (uint32_t i = 0; i < c->fleet->path_count; i++)
        check_path(c, &c->fleet->paths[i]);
    check_reach(c);
    check_domains(c);
    check_power(c);
}
