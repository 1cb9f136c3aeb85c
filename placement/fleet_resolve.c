/* From names to indices: on-board memory becomes parts and links, two-way links become two, every list is put in the
 * order of names, and only then does anything get an index. So the order in which an inventory lists its entries cannot
 * be seen in the fleet. */
#include "base/limits.h"
#include "base/nearest.h"
#include "placement/fleet_impl.h"

#include <stdio.h>
#include <stdlib.h>

enum { PLACE_BYTES_MAX = 640, NEAREST_FINDINGS_MAX = 32 };

typedef struct resolver {
    gsrt__inventory *inventory;
    gsrt_fleet *fleet;
    gsrt_place *places;
    gsrt_part *parts;
    gsrt_link *links;
    const char **place_names, **part_names, **link_names;
    bool is_quiet;     /* what is wrong here was said before */
    gsrt_status worst; /* GSRT_EINPUT once a fleet is no longer to be had */
} resolver;

static void refuse(resolver *r, const char *where, const char *key, const char *reason, const char *what)
{
    r->worst = r->worst == GSRT_ENOMEM ? r->worst : GSRT_EINPUT;
    if (r->is_quiet)
        return;
    char place[PLACE_BYTES_MAX];
    (void)snprintf(place, sizeof place, "%s%s%s", where, key == NULL ? "" : ".", key == NULL ? "" : key);
    gsrt_findings_add(r->inventory->findings, reason, place, "%s", what);
}

/* The index of `name` in names[count], which are sorted; refused where there is none. */
static uint32_t index_of(resolver *r, const char *name, const char *const *names, uint32_t count, const char *noun,
                         const char *where, const char *key)
{
    uint32_t found = gsrt__fleet_named(names, count, sizeof *names, name);
    if (found != GSRT_FLEET_NONE)
        return found;
    /* Distances are dear, and a file with thousands of wrong names does not need thousands of hints. */
    const char *nearest =
        r->inventory->findings->error_count < NEAREST_FINDINGS_MAX ? gsrt_nearest(name, names, count) : NULL;
    char what[PLACE_BYTES_MAX];
    (void)snprintf(what, sizeof what, "there is no %s '%.100s'; %s%s%s", noun, name,
                   nearest == NULL ? "add it, or name another" : "did you mean '", nearest == NULL ? "" : nearest,
                   nearest == NULL ? "" : "'?");
    refuse(r, where, key, "unknown_name", what);
    return GSRT_FLEET_NONE;
}

/* ---- expansion ---- */

/* "a" "b" "c" in one text, in the fleet's arena. */
static const char *joined(resolver *r, const char *a, const char *b, const char *c)
{
    size_t bytes = strlen(a) + strlen(b) + strlen(c) + 1;
    char *made = gsrt_arena_take(r->inventory->arena, bytes, 1);
    if (made != NULL)
        (void)snprintf(made, bytes, "%s%s%s", a, b, c);
    return made;
}

/* An engine's memory as a part, dealt with the engines one to one. */
static gsrt__raw_part memory_part(const gsrt__raw_part *engine, const gsrt__onboard *onboard, const char *name)
{
    uint64_t count = (uint64_t)engine->part.count * onboard->count;
    return (gsrt__raw_part){.part = {.name = name,
                                     .where = engine->part.where,
                                     .kind = GSRT_PART_MEMORY,
                                     .tier = onboard->tier,
                                     .trust = engine->part.trust,
                                     .count = count > GSRT_FLEET_TOTAL_MAX ? GSRT_FLEET_TOTAL_MAX : (uint32_t)count,
                                     .capacity = onboard->capacity,
                                     .bandwidth = onboard->bandwidth},
                            .in = engine->in,
                            .is_onboard = true};
}

static gsrt__raw_link memory_link(const gsrt__raw_part *engine, const gsrt__onboard *onboard, const char *memory,
                                  bool is_read)
{
    return (gsrt__raw_link){.link = {.where = engine->part.where,
                                     .kind = GSRT_LINK_MEMORY,
                                     .trust = engine->part.trust,
                                     .is_coherent = true,
                                     .bandwidth = onboard->bandwidth,
                                     .latency = onboard->latency},
                            .from = is_read ? memory : engine->part.name,
                            .to = is_read ? engine->part.name : memory,
                            .contention = memory};
}

/* All parts and links, with what on-board memory and two-way links stand for. */
static gsrt_status expand(resolver *r)
{
    gsrt__inventory *inventory = r->inventory;
    size_t part_count = inventory->part_count, link_count = inventory->link_count;
    for (uint32_t i = 0; i < inventory->part_count; i++) {
        part_count += inventory->parts[i].memory_count;
        link_count += 2 * (size_t)inventory->parts[i].memory_count;
    }
    for (uint32_t i = 0; i < inventory->link_count; i++)
        link_count += inventory->links[i].is_both ? 1 : 0;
    if (part_count > GSRT_FLEET_PARTS_MAX || link_count > GSRT_FLEET_LINKS_MAX) {
        refuse(
            r, inventory->name, NULL, "too_many",
            "more parts or links than are read, on-board memory counted; put equal ones into one entry with a count");
        return GSRT_OK;
    }
    gsrt__raw_part *parts = gsrt_arena_take(&inventory->scratch, part_count, sizeof *parts);
    gsrt__raw_link *links = gsrt_arena_take(&inventory->scratch, link_count, sizeof *links);
    if (parts == NULL || links == NULL)
        return GSRT_ENOMEM;
    uint32_t parts_used = 0, links_used = 0;
    for (uint32_t i = 0; i < inventory->link_count; i++) {
        const gsrt__raw_link *link = &inventory->links[i];
        links[links_used++] = *link;
        if (!link->is_both)
            continue;
        gsrt__raw_link *back = &links[links_used++];
        *back = *link;
        back->from = link->to;
        back->to = link->from;
        back->link.name = link->link.name == NULL ? NULL : joined(r, link->link.name, ".back", "");
    }
    for (uint32_t i = 0; i < inventory->part_count; i++) {
        const gsrt__raw_part *part = &inventory->parts[i];
        parts[parts_used++] = *part;
        for (uint32_t m = 0; m < part->memory_count; m++) {
            const char *name = joined(r, part->part.name, ".", part->memory[m].name);
            if (name == NULL)
                return GSRT_ENOMEM;
            if (strlen(name) > GSRT_FLEET_NAME_BYTES_MAX)
                refuse(r, part->part.where, "memory", "bad_name",
                       "its name and that of its memory are too long together");
            parts[parts_used++] = memory_part(part, &part->memory[m], name);
            links[links_used++] = memory_link(part, &part->memory[m], name, true);
            links[links_used++] = memory_link(part, &part->memory[m], name, false);
        }
    }
    for (uint32_t i = 0; i < links_used; i++) {
        if (links[i].link.name == NULL)
            links[i].link.name = joined(r, links[i].from, "->", links[i].to);
        if (links[i].link.name == NULL)
            return GSRT_ENOMEM;
        if (strlen(links[i].link.name) > GSRT_FLEET_LINK_NAME_BYTES_MAX)
            refuse(r, links[i].link.where, "name", "bad_name", "its name, with what is put behind it, is too long");
    }
    inventory->parts = parts;
    inventory->links = links;
    inventory->part_count = parts_used;
    inventory->link_count = links_used;
    return GSRT_OK;
}

/* ---- order ---- */

static int order_of(const char *name, const char *where, const char *other_name, const char *other_where)
{
    int order = strcmp(name, other_name);
    return order != 0 ? order : strcmp(where, other_where);
}

static int order_places(const void *a, const void *b)
{
    const gsrt_place *x = &((const gsrt__raw_place *)a)->place, *y = &((const gsrt__raw_place *)b)->place;
    return order_of(x->name, x->where, y->name, y->where);
}

static int order_parts(const void *a, const void *b)
{
    const gsrt_part *x = &((const gsrt__raw_part *)a)->part, *y = &((const gsrt__raw_part *)b)->part;
    return order_of(x->name, x->where, y->name, y->where);
}

static int order_links(const void *a, const void *b)
{
    const gsrt_link *x = &((const gsrt__raw_link *)a)->link, *y = &((const gsrt__raw_link *)b)->link;
    return order_of(x->name, x->where, y->name, y->where);
}

static int order_paths(const void *a, const void *b)
{
    const gsrt_path *x = &((const gsrt__raw_path *)a)->path, *y = &((const gsrt__raw_path *)b)->path;
    return order_of(x->name, x->where, y->name, y->where);
}

/* What is measured, of whom, when, and then the numbers: equal in all of it are equal measurements. */
static int order_measurements(const void *a, const void *b)
{
    const gsrt_measurement *x = &((const gsrt__raw_measurement *)a)->measurement;
    const gsrt_measurement *y = &((const gsrt__raw_measurement *)b)->measurement;
    int order = strcmp(x->name, y->name);
    if (order != 0)
        return order;
    if (x->day != y->day)
        return x->day < y->day ? -1 : 1;
    double values[][2] = {{x->value.value, y->value.value}, {x->value.lo, y->value.lo}, {x->value.hi, y->value.hi}};
    for (size_t i = 0; i < 3; i++) {
        if (values[i][0] != values[i][1])
            return values[i][0] < values[i][1] ? -1 : 1;
    }
    return strcmp(x->where, y->where);
}

/* Sort items[count] of `size` bytes; their names, refused where one is given twice. name_at: of the name's pointer in
 * an item; where_at: likewise. NULL: no memory. */
static const char **sort(resolver *r, void *items, uint32_t count, size_t size, size_t name_at, size_t where_at,
                         int (*order)(const void *, const void *))
{
    const char **names = gsrt_arena_take(&r->inventory->scratch, count, sizeof *names);
    if (names == NULL)
        return NULL;
    if (count > 0)
        qsort(items, count, size, order);
    const char *where_before = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *item = (const char *)items + i * size, *where;
        memcpy(&names[i], item + name_at, sizeof names[i]);
        memcpy(&where, item + where_at, sizeof where);
        if (i > 0 && strcmp(names[i - 1], names[i]) == 0) {
            char what[PLACE_BYTES_MAX];
            (void)snprintf(what, sizeof what, "the name '%.100s' is given twice, first at %.300s; give it another",
                           names[i], where_before);
            refuse(r, where, NULL, "duplicate_name", what);
        }
        where_before = where;
    }
    return names;
}

/* ---- where things stand ---- */

static bool is_domain(gsrt_place_kind kind)
{
    return kind == GSRT_PLACE_POWER || kind == GSRT_PLACE_COOLING;
}

/* Is `outer` the place `inner`, or around it? The chain of a place that is in itself was cut. */
static bool is_around(const resolver *r, uint32_t outer, uint32_t inner)
{
    while (inner != GSRT_FLEET_NONE && inner != outer)
        inner = r->places[inner].within.location;
    return inner == outer;
}

/* Names to one location, the innermost, and domains. Locations besides must be around it; checked by check_within, when
 * all places have theirs. */
static gsrt_status place_within(resolver *r, const gsrt__in *in, const char *where, gsrt_within *out)
{
    uint32_t *domains = gsrt_arena_take(r->inventory->arena, in->count, sizeof *domains);
    if (domains == NULL)
        return GSRT_ENOMEM;
    *out = (gsrt_within){.location = GSRT_FLEET_NONE, .domains = domains};
    for (uint32_t i = 0; i < in->count; i++) {
        uint32_t index = index_of(r, in->names[i], r->place_names, r->inventory->place_count, "place", where, "in");
        if (index == GSRT_FLEET_NONE)
            continue;
        if (is_domain(r->places[index].kind)) {
            uint32_t at = out->domain_count++;
            for (; at > 0 && domains[at - 1] > index; at--)
                domains[at] = domains[at - 1];
            domains[at] = index;
        } else if (out->location == GSRT_FLEET_NONE || r->places[index].kind > r->places[out->location].kind) {
            out->location = index;
        }
    }
    return GSRT_OK;
}

static void check_within(resolver *r, const gsrt__in *in, const char *where, const gsrt_within *within)
{
    for (uint32_t i = 0; i < in->count; i++) {
        uint32_t index = 0;
        while (index < r->inventory->place_count && strcmp(r->place_names[index], in->names[i]) != 0)
            index++;
        if (index == r->inventory->place_count)
            continue;
        const gsrt_place *place = &r->places[index];
        if (!is_domain(place->kind) && within->location == GSRT_FLEET_NONE) /* was in itself, and is cut off */
            continue;
        uint32_t around = is_domain(place->kind) ? place->within.location : index;
        if (around == GSRT_FLEET_NONE || is_around(r, around, within->location))
            continue;
        char what[PLACE_BYTES_MAX];
        if (is_domain(place->kind))
            (void)snprintf(what, sizeof what,
                           "%s domain '%.80s' is in '%.80s', and this is not; take one that is nearby",
                           gsrt_place_kind_word(place->kind), place->name, r->places[around].name);
        else
            (void)snprintf(what, sizeof what, "in two places at once: '%.80s' and '%.80s'; leave one out",
                           r->places[within->location].name, place->name);
        refuse(r, where, "in", "two_places", what);
    }
}

/* What is stated, or else what the places around say. */
static gsrt_trust trust_of(const resolver *r, gsrt_trust stated, const gsrt_within *within)
{
    uint32_t at = within->location;
    for (; stated == GSRT_TRUST_COUNT && at != GSRT_FLEET_NONE; at = r->places[at].within.location)
        stated = r->places[at].trust;
    return stated == GSRT_TRUST_COUNT ? GSRT_TRUST_OPERATOR : stated;
}

/* count times the total of where it is. */
static uint64_t total_of(resolver *r, uint32_t count, const gsrt_within *within, const char *where)
{
    uint64_t total = count;
    uint32_t at = within->location;
    for (; at != GSRT_FLEET_NONE && total <= GSRT_FLEET_TOTAL_MAX; at = r->places[at].within.location)
        total *= r->places[at].count;
    if (total <= GSRT_FLEET_TOTAL_MAX)
        return total;
    char what[PLACE_BYTES_MAX];
    (void)snprintf(what, sizeof what, "more than %u of it, with the counts of the places around it; lower a count",
                   GSRT_FLEET_TOTAL_MAX);
    refuse(r, where, "count", "too_many", what);
    return 1;
}

static gsrt_status resolve_places(resolver *r)
{
    gsrt__inventory *inventory = r->inventory;
    for (uint32_t i = 0; i < inventory->place_count; i++)
        r->places[i] = inventory->places[i].place;
    for (uint32_t i = 0; i < inventory->place_count; i++) {
        gsrt_place *place = &r->places[i];
        gsrt_status status = place_within(r, &inventory->places[i].in, place->where, &place->within);
        if (status != GSRT_OK)
            return status;
    }
    for (uint32_t i = 0; i < inventory->place_count; i++) {
        gsrt_place *place = &r->places[i];
        uint32_t steps = 0, at = place->within.location;
        for (; at != GSRT_FLEET_NONE && steps <= inventory->place_count; steps++)
            at = r->places[at].within.location;
        if (at != GSRT_FLEET_NONE) {
            refuse(r, place->where, "in", "place_in_itself", "this place is within itself; take it out of one of them");
            place->within.location = GSRT_FLEET_NONE;
        }
    }
    for (uint32_t i = 0; i < inventory->place_count; i++) {
        gsrt_place *place = &r->places[i];
        uint32_t outer = place->within.location;
        if (outer != GSRT_FLEET_NONE && r->places[outer].kind > place->kind) {
            char what[PLACE_BYTES_MAX];
            (void)snprintf(what, sizeof what, "a %s cannot be in '%.80s', a %s; turn them round",
                           gsrt_place_kind_word(place->kind), r->places[outer].name,
                           gsrt_place_kind_word(r->places[outer].kind));
            refuse(r, place->where, "in", "place_order", what);
        }
        check_within(r, &inventory->places[i].in, place->where, &place->within);
        place->total = total_of(r, place->count, &place->within, place->where);
    }
    for (uint32_t i = 0; i < inventory->place_count; i++)
        r->places[i].trust = trust_of(r, r->places[i].trust, &r->places[i].within);
    return GSRT_OK;
}

static gsrt_status resolve_parts(resolver *r)
{
    gsrt__inventory *inventory = r->inventory;
    for (uint32_t i = 0; i < inventory->part_count; i++) {
        gsrt_part *part = &r->parts[i];
        *part = inventory->parts[i].part;
        r->is_quiet = inventory->parts[i].is_onboard;
        gsrt_status status = place_within(r, &inventory->parts[i].in, part->where, &part->within);
        if (status != GSRT_OK)
            return status;
        check_within(r, &inventory->parts[i].in, part->where, &part->within);
        part->total = total_of(r, part->count, &part->within, part->where);
        part->trust = trust_of(r, part->trust, &part->within);
    }
    r->is_quiet = false;
    return GSRT_OK;
}

/* ---- links, paths, measurements ---- */

static uint32_t part_index(resolver *r, const char *name, const char *where, const char *key)
{
    return index_of(r, name, r->part_names, r->inventory->part_count, "part", where, key);
}

static void resolve_links(resolver *r)
{
    for (uint32_t i = 0; i < r->inventory->link_count; i++) {
        const gsrt__raw_link *raw = &r->inventory->links[i];
        gsrt_link *link = &r->links[i];
        *link = raw->link;
        link->from = part_index(r, raw->from, link->where, "from");
        link->to = part_index(r, raw->to, link->where, "to");
        if (link->trust == GSRT_TRUST_COUNT && link->from != GSRT_FLEET_NONE && link->to != GSRT_FLEET_NONE) {
            gsrt_trust from = r->parts[link->from].trust, to = r->parts[link->to].trust;
            link->trust = from < to ? from : to;
        }
        link->contention =
            raw->contention == NULL ? GSRT_FLEET_NONE : part_index(r, raw->contention, link->where, "contention");
        link->fails_with = raw->fails_with == NULL
                               ? GSRT_FLEET_NONE
                               : index_of(r, raw->fails_with, r->place_names, r->inventory->place_count, "place",
                                          link->where, "fails_with");
    }
}

static gsrt_status resolve_paths(resolver *r, gsrt_path *paths)
{
    for (uint32_t i = 0; i < r->inventory->path_count; i++) {
        const gsrt__raw_path *raw = &r->inventory->paths[i];
        uint32_t *links = gsrt_arena_take(r->inventory->arena, raw->link_count, sizeof *links);
        if (links == NULL)
            return GSRT_ENOMEM;
        for (uint32_t n = 0; n < raw->link_count; n++)
            links[n] =
                index_of(r, raw->links[n], r->link_names, r->inventory->link_count, "link", raw->path.where, "links");
        paths[i] = raw->path;
        paths[i].links = links;
        paths[i].link_count = raw->link_count;
    }
    return GSRT_OK;
}

static gsrt_status name_measurements(resolver *r)
{
    for (uint32_t i = 0; i < r->inventory->measurement_count; i++) {
        gsrt__raw_measurement *raw = &r->inventory->measurements[i];
        const char *of = raw->place != NULL ? raw->place : raw->part != NULL ? raw->part : raw->link;
        const char *kind = raw->place != NULL ? "place " : raw->part != NULL ? "part " : "link ";
        const char *subject = joined(r, kind, of, " ");
        raw->measurement.name = subject == NULL ? NULL : joined(r, subject, raw->measurement.property, "");
        if (raw->measurement.name == NULL)
            return GSRT_ENOMEM;
    }
    if (r->inventory->measurement_count > 0)
        qsort(r->inventory->measurements, r->inventory->measurement_count, sizeof *r->inventory->measurements,
              order_measurements);
    return GSRT_OK;
}

static void resolve_measurements(resolver *r, gsrt_measurement *measurements)
{
    for (uint32_t i = 0; i < r->inventory->measurement_count; i++) {
        const gsrt__raw_measurement *raw = &r->inventory->measurements[i];
        gsrt_measurement *m = &measurements[i];
        *m = raw->measurement;
        m->place = m->part = m->link = GSRT_FLEET_NONE;
        if (raw->place != NULL)
            m->place = index_of(r, raw->place, r->place_names, r->inventory->place_count, "place", m->where, "place");
        else if (raw->part != NULL)
            m->part = part_index(r, raw->part, m->where, "part");
        else
            m->link = index_of(r, raw->link, r->link_names, r->inventory->link_count, "link", m->where, "link");
        if (m->part != GSRT_FLEET_NONE && (raw->row->kinds & 1u << r->parts[m->part].kind) == 0)
            refuse(r, m->where, "property", "misplaced_key",
                   "a part of this kind has no such property; measure another");
    }
}

#define SORT(r, items, count, member, order)                                                                           \
    sort(r, items, count, sizeof *(items), offsetof(__typeof__(*(items)), member.name),                                \
         offsetof(__typeof__(*(items)), member.where), order)

gsrt_status gsrt__inventory_resolve(gsrt__inventory *inventory, gsrt_fleet *fleet)
{
    resolver r = {.inventory = inventory, .fleet = fleet};
    gsrt_status status = expand(&r);
    if (status != GSRT_OK || r.worst != GSRT_OK)
        return status != GSRT_OK ? status : r.worst;
    r.place_names = SORT(&r, inventory->places, inventory->place_count, place, order_places);
    r.part_names = SORT(&r, inventory->parts, inventory->part_count, part, order_parts);
    r.link_names = SORT(&r, inventory->links, inventory->link_count, link, order_links);
    const char **path_names = SORT(&r, inventory->paths, inventory->path_count, path, order_paths);
    r.places = gsrt_arena_take(inventory->arena, inventory->place_count, sizeof *r.places);
    r.parts = gsrt_arena_take(inventory->arena, inventory->part_count, sizeof *r.parts);
    r.links = gsrt_arena_take(inventory->arena, inventory->link_count, sizeof *r.links);
    gsrt_path *paths = gsrt_arena_take(inventory->arena, inventory->path_count, sizeof *paths);
    gsrt_measurement *measurements =
        gsrt_arena_take(inventory->arena, inventory->measurement_count, sizeof *measurements);
    if (r.place_names == NULL || r.part_names == NULL || r.link_names == NULL || path_names == NULL ||
        r.places == NULL || r.parts == NULL || r.links == NULL || paths == NULL || measurements == NULL)
        return GSRT_ENOMEM;
    status = resolve_places(&r);
    if (status == GSRT_OK)
        status = resolve_parts(&r);
    if (status == GSRT_OK) {
        resolve_links(&r);
        status = resolve_paths(&r, paths);
    }
    if (status == GSRT_OK)
        status = name_measurements(&r);
    if (status != GSRT_OK)
        return status;
    resolve_measurements(&r, measurements);
    if (r.worst != GSRT_OK)
        return r.worst;
    fleet->places = r.places;
    fleet->parts = r.parts;
    fleet->links = r.links;
    fleet->paths = paths;
    fleet->measurements = measurements;
    fleet->place_count = inventory->place_count;
    fleet->part_count = inventory->part_count;
    fleet->link_count = inventory->link_count;
    fleet->path_count = inventory->path_count;
    fleet->measurement_count = inventory->measurement_count;
    return GSRT_OK;
}
