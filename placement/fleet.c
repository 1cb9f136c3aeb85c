#include "placement/fleet.h"

#include "base/limits.h"
#include "placement/fleet_impl.h"

#include <assert.h>
#include <stdlib.h>

gsrt_status gsrt_fleet_read(const gsrt_yaml *inventory, const gsrt_yaml *const *catalogues, size_t catalogue_count,
                            gsrt_findings *findings, gsrt_fleet **out)
{
    gsrt_fleet *fleet = calloc(1, sizeof *fleet);
    if (fleet == NULL)
        return GSRT_ENOMEM;
    gsrt_arena_init(&fleet->arena, GSRT_FLEET_ARENA_BYTES_MAX);
    gsrt__inventory raw = {.arena = &fleet->arena, .findings = findings, .as_of_day = GSRT_DAY_FIRST};
    gsrt_arena_init(&raw.scratch, GSRT_FLEET_ARENA_BYTES_MAX);
    gsrt_status status = gsrt__inventory_read(inventory, catalogues, catalogue_count, &raw);
    if (status == GSRT_OK)
        status = gsrt__inventory_resolve(&raw, fleet);
    fleet->name = raw.name;
    fleet->as_of_day = raw.as_of_day;
    gsrt_arena_fini(&raw.scratch);
    if (status == GSRT_OK && findings->is_out_of_memory)
        status = GSRT_ENOMEM;
    if (status != GSRT_OK) {
        (void)gsrt_fleet_free(fleet);
        return status;
    }
    *out = fleet;
    return GSRT_OK;
}

gsrt_fleet *gsrt_fleet_free(gsrt_fleet *fleet)
{
    if (fleet == NULL)
        return NULL;
    gsrt_arena_fini(&fleet->arena);
    free(fleet);
    return NULL;
}

/* ---- names ---- */

uint32_t gsrt__fleet_named(const void *items, uint32_t count, size_t size, const char *name)
{
    uint32_t first = 0, last = count;
    while (first < last) {
        uint32_t middle = first + (last - first) / 2;
        const char *here;
        memcpy(&here, (const char *)items + middle * size, sizeof here);
        int order = strcmp(here, name);
        if (order == 0)
            return middle;
        if (order < 0)
            first = middle + 1;
        else
            last = middle;
    }
    return GSRT_FLEET_NONE;
}

_Static_assert(offsetof(gsrt_place, name) == 0 && offsetof(gsrt_part, name) == 0 && offsetof(gsrt_link, name) == 0,
               "gsrt__fleet_named() reads the first member");

uint32_t gsrt_fleet_place_named(const gsrt_fleet *fleet, const char *name)
{
    return gsrt__fleet_named(fleet->places, fleet->place_count, sizeof *fleet->places, name);
}

uint32_t gsrt_fleet_part_named(const gsrt_fleet *fleet, const char *name)
{
    return gsrt__fleet_named(fleet->parts, fleet->part_count, sizeof *fleet->parts, name);
}

uint32_t gsrt_fleet_link_named(const gsrt_fleet *fleet, const char *name)
{
    return gsrt__fleet_named(fleet->links, fleet->link_count, sizeof *fleet->links, name);
}

gsrt_quantity gsrt_part_rate(const gsrt_part *part, gsrt_rate_class class, gsrt_format format)
{
    return part->rates == NULL ? (gsrt_quantity){0} : part->rates[(size_t) class * GSRT_FORMAT_COUNT + format];
}

/* ---- instances ---- */

static bool holds(const gsrt_fleet *fleet, uint32_t outer, uint32_t inner)
{
    while (inner != GSRT_FLEET_NONE && inner != outer)
        inner = fleet->places[inner].within.location;
    return inner == outer;
}

uint32_t gsrt_fleet_common_place(const gsrt_fleet *fleet, uint32_t part, uint32_t other_part)
{
    uint32_t at = fleet->parts[part].within.location, other = fleet->parts[other_part].within.location;
    while (at != GSRT_FLEET_NONE && !holds(fleet, at, other))
        at = fleet->places[at].within.location;
    return at;
}

bool gsrt_fleet_stands_in(const gsrt_fleet *fleet, uint32_t part, uint32_t place)
{
    uint32_t at = fleet->parts[part].within.location;
    while (at != GSRT_FLEET_NONE && at != place)
        at = fleet->places[at].within.location;
    return at != GSRT_FLEET_NONE;
}

uint32_t gsrt_fleet_region_of(const gsrt_fleet *fleet, uint32_t part)
{
    uint32_t at = fleet->parts[part].within.location;
    while (at != GSRT_FLEET_NONE && fleet->places[at].kind != GSRT_PLACE_REGION)
        at = fleet->places[at].within.location;
    return at;
}

uint64_t gsrt_fleet_count_in(const gsrt_fleet *fleet, uint32_t part, uint32_t place)
{
    if (place == GSRT_FLEET_NONE)
        return fleet->parts[part].total;
    assert(holds(fleet, place, fleet->parts[part].within.location));
    return fleet->parts[part].total / fleet->places[place].total;
}

uint64_t gsrt_fleet_peers(const gsrt_fleet *fleet, uint32_t link, uint64_t from, uint64_t *out_first)
{
    const gsrt_link *l = &fleet->links[link];
    uint32_t place = gsrt_fleet_common_place(fleet, l->from, l->to);
    uint64_t m = gsrt_fleet_count_in(fleet, l->from, place), n = gsrt_fleet_count_in(fleet, l->to, place);
    assert(from < fleet->parts[l->from].total);
    uint64_t first = from / m * n, within = from % m;
    if (l->is_to_all) {
        *out_first = first;
        return n;
    }
    *out_first = first + within * n / m;
    uint64_t next = (within + 1) * n / m, here = within * n / m;
    return next > here ? next - here : 1;
}
