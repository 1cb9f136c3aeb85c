/* The fleet is printed, the tree of its text is cut, and read again: whatever the reader makes of a fleet, it makes of
 * this one. Entry i of each section is entry i of the fleet, because both are in the order of names. */
#include "placement/fleet_without.h"

#include "base/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_BYTES = 12 };

/* ---- what fails with what ---- */

static bool place_is_in(const gsrt_fleet *fleet, uint32_t place, uint32_t within);

static bool stands_in(const gsrt_fleet *fleet, const gsrt_within *at, uint32_t place)
{
    for (uint32_t i = 0; i < at->domain_count; i++) {
        if (place_is_in(fleet, at->domains[i], place))
            return true;
    }
    return at->location != GSRT_FLEET_NONE && place_is_in(fleet, at->location, place);
}

/* A place is in one of an earlier kind or of the same, never in itself: the recursion ends (fleet_resolve.c). */
static bool place_is_in(const gsrt_fleet *fleet, uint32_t place, uint32_t within)
{
    return place == within || stands_in(fleet, &fleet->places[place].within, within);
}

bool gsrt_fleet_is_in(const gsrt_fleet *fleet, uint32_t part, gsrt_fleet_domain domain)
{
    return domain.part != GSRT_FLEET_NONE ? part == domain.part
                                          : stands_in(fleet, &fleet->parts[part].within, domain.place);
}

/* ---- how many are left ---- */

typedef struct cut {
    const gsrt_fleet *fleet;
    uint32_t *places, *parts; /* counts that are left in each place; 0: gone */
} cut;

static bool is_dealt(gsrt_place_kind kind)
{
    return kind == GSRT_PLACE_POWER || kind == GSRT_PLACE_COOLING;
}

static bool names_domain(const gsrt_within *within, uint32_t place)
{
    for (uint32_t i = 0; i < within->domain_count; i++) {
        if (within->domains[i] == place)
            return true;
    }
    return false;
}

/* What stands in one of several power or cooling domains was dealt to them evenly. */
static uint32_t left_of_dealt(uint32_t count, uint32_t domain_count)
{
    uint32_t lost = count / domain_count + (count % domain_count != 0);
    return count - lost;
}

static void cut_place(cut *c, uint32_t place)
{
    const gsrt_fleet *fleet = c->fleet;
    uint32_t count = fleet->places[place].count;
    c->places[place] = count - 1;
    if (count > 1 && !is_dealt(fleet->places[place].kind))
        return;
    for (uint32_t i = 0; i < fleet->place_count; i++) {
        const gsrt_within *within = &fleet->places[i].within;
        if (count == 1 && i != place && place_is_in(fleet, i, place))
            c->places[i] = 0;
        else if (count > 1 && names_domain(within, place))
            c->places[i] = left_of_dealt(fleet->places[i].count, count);
    }
    for (uint32_t i = 0; i < fleet->part_count; i++) {
        const gsrt_within *within = &fleet->parts[i].within;
        if (count == 1 && stands_in(fleet, within, place))
            c->parts[i] = 0;
        else if (count > 1 && names_domain(within, place))
            c->parts[i] = left_of_dealt(fleet->parts[i].count, count);
    }
    for (uint32_t i = 0; i < fleet->part_count; i++) { /* in a place of which none is left */
        for (uint32_t j = 0; j < fleet->place_count; j++) {
            if (c->places[j] == 0 && stands_in(fleet, &fleet->parts[i].within, j) && j != place)
                c->parts[i] = 0;
        }
    }
}

/* A memory that only this engine reaches goes with it, in the same proportion. */
static void cut_part(cut *c, uint32_t part)
{
    const gsrt_fleet *fleet = c->fleet;
    c->parts[part] = fleet->parts[part].count - 1;
    for (uint32_t i = 0; i < fleet->link_count && fleet->parts[part].kind == GSRT_PART_ENGINE; i++) {
        const gsrt_link *link = &fleet->links[i];
        bool is_own = link->from == part && fleet->parts[link->to].kind == GSRT_PART_MEMORY &&
                      fleet->parts[link->to].total == fleet->parts[part].total;
        if (is_own)
            c->parts[link->to] = fleet->parts[link->to].count - 1;
    }
}

/* ---- the tree ---- */

static void set_count(gsrt_yaml *yaml, gsrt_yaml_node *entry, uint32_t count)
{
    for (gsrt_yaml_node *key = entry->child_first; key != NULL; key = key->next) {
        if (strcmp(key->key, "count") != 0)
            continue;
        char text[NUMBER_BYTES];
        int len = snprintf(text, sizeof text, "%" PRIu32, count);
        char *copy = gsrt_arena_copy_text(&yaml->arena, text, (size_t)len);
        if (copy != NULL) {
            key->text = copy;
            key->text_len = (uint32_t)len;
        }
    }
}

static gsrt_yaml_node *section_of(gsrt_yaml *yaml, const char *name)
{
    for (gsrt_yaml_node *node = yaml->root->child_first; node != NULL; node = node->next) {
        if (strcmp(node->key, name) == 0)
            return node;
    }
    return NULL;
}

typedef bool stays_fn(const cut *c, uint32_t index);

static bool place_stays(const cut *c, uint32_t index)
{
    return c->places[index] > 0;
}

static bool part_stays(const cut *c, uint32_t index)
{
    return c->parts[index] > 0;
}

static bool link_stays(const cut *c, uint32_t index)
{
    const gsrt_link *link = &c->fleet->links[index];
    return c->parts[link->from] > 0 && c->parts[link->to] > 0 &&
           (link->contention == GSRT_FLEET_NONE || c->parts[link->contention] > 0) &&
           (link->fails_with == GSRT_FLEET_NONE || c->places[link->fails_with] > 0);
}

static bool path_stays(const cut *c, uint32_t index)
{
    const gsrt_path *path = &c->fleet->paths[index];
    for (uint32_t i = 0; i < path->link_count; i++) {
        if (!link_stays(c, path->links[i]))
            return false;
    }
    return true;
}

static bool measurement_stays(const cut *c, uint32_t index)
{
    const gsrt_measurement *m = &c->fleet->measurements[index];
    return m->place != GSRT_FLEET_NONE  ? place_stays(c, m->place)
           : m->part != GSRT_FLEET_NONE ? part_stays(c, m->part)
                                        : link_stays(c, m->link);
}

/* Take out of a section what does not stay; counts: of what does, or NULL. */
static void cut_section(gsrt_yaml *yaml, const char *name, const cut *c, stays_fn *stays, const uint32_t *counts)
{
    gsrt_yaml_node *section = section_of(yaml, name), *last = NULL;
    uint32_t index = 0, kept = 0;
    if (section == NULL)
        return;
    gsrt_yaml_node *node = section->child_first;
    section->child_first = NULL;
    for (gsrt_yaml_node *next; node != NULL; node = next, index++) {
        next = node->next;
        if (!stays(c, index))
            continue;
        if (counts != NULL)
            set_count(yaml, node, counts[index]);
        node->next = NULL;
        if (last == NULL)
            section->child_first = node;
        else
            last->next = node;
        last = node;
        kept++;
    }
    section->child_last = last;
    section->child_count = kept;
}

static gsrt_status reread(const cut *c, gsrt_fleet **out)
{
    gsrt_buffer text;
    gsrt_yaml *yaml = NULL;
    gsrt_findings findings;
    gsrt_diag diag = {0};
    gsrt_findings_init(&findings);
    gsrt_buffer_init(&text, GSRT_FLEET_PRINT_BYTES_MAX);
    gsrt_status status = gsrt_fleet_print(c->fleet, &text);
    if (status == GSRT_OK)
        status = gsrt_yaml_parse(gsrt_buffer_span(&text), "the fleet", &yaml, &diag);
    if (status == GSRT_OK) {
        cut_section(yaml, "places", c, place_stays, c->places);
        cut_section(yaml, "parts", c, part_stays, c->parts);
        cut_section(yaml, "links", c, link_stays, NULL);
        cut_section(yaml, "paths", c, path_stays, NULL);
        cut_section(yaml, "measurements", c, measurement_stays, NULL);
        status = gsrt_fleet_read(yaml, NULL, 0, &findings, out);
    }
    (void)gsrt_yaml_free(yaml);
    gsrt_buffer_fini(&text);
    gsrt_findings_fini(&findings);
    return status == GSRT_EINPUT ? GSRT_EEMPTY : status; /* a part without any count is no fleet */
}

gsrt_status gsrt_fleet_without(const gsrt_fleet *fleet, gsrt_fleet_domain domain, gsrt_fleet **out)
{
    cut c = {.fleet = fleet,
             .places = calloc(fleet->place_count + 1, sizeof *c.places),
             .parts = calloc(fleet->part_count + 1, sizeof *c.parts)};
    gsrt_status status = c.places == NULL || c.parts == NULL ? GSRT_ENOMEM : GSRT_OK;
    if (status == GSRT_OK) {
        for (uint32_t i = 0; i < fleet->place_count; i++)
            c.places[i] = fleet->places[i].count;
        for (uint32_t i = 0; i < fleet->part_count; i++)
            c.parts[i] = fleet->parts[i].count;
        if (domain.part != GSRT_FLEET_NONE)
            cut_part(&c, domain.part);
        else
            cut_place(&c, domain.place);
        bool has_engine = false;
        for (uint32_t i = 0; i < fleet->part_count; i++)
            has_engine |= fleet->parts[i].kind == GSRT_PART_ENGINE && c.parts[i] > 0;
        status = has_engine ? reread(&c, out) : GSRT_EEMPTY;
    }
    free(c.places);
    free(c.parts);
    return status;
}
