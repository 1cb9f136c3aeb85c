/* The resolved inventory, one key a line. Texts are always quoted, so no name is taken for a number. */
#include "base/json.h"
#include "placement/fleet_impl.h"

/* The first failure stays. */
typedef struct printer {
    const gsrt_fleet *fleet;
    gsrt_buffer *out;
    gsrt_status status;
} printer;

static void put(printer *p, const char *text)
{
    if (p->status == GSRT_OK)
        p->status = gsrt_buffer_append(p->out, text, strlen(text));
}

static void put_text(printer *p, const char *text)
{
    if (p->status == GSRT_OK)
        p->status = gsrt_yaml_print_text(p->out, text);
}

static void put_u32(printer *p, uint32_t number)
{
    if (p->status == GSRT_OK)
        p->status = gsrt_buffer_print(p->out, "%u", (unsigned)number);
}

static void put_day(printer *p, int32_t day)
{
    char room[12];
    put(p, gsrt_day_print(day, room));
}

static void key(printer *p, const char *name)
{
    put(p, "    ");
    put(p, name);
    put(p, ": ");
}

static void key_text(printer *p, const char *name, const char *text)
{
    if (text == NULL)
        return;
    key(p, name);
    put_text(p, text);
    put(p, "\n");
}

static void key_word(printer *p, const char *name, const char *word)
{
    key(p, name);
    put(p, word);
    put(p, "\n");
}

static void begin(printer *p, const char *name)
{
    put(p, "  - name: ");
    put_text(p, name);
    put(p, "\n");
}

/* value, and where it comes from, as the keys of a mapping */
static void put_stated(printer *p, const gsrt_quantity *quantity)
{
    put(p, "{value: \"");
    if (p->status == GSRT_OK)
        p->status = gsrt_quantity_print(quantity, p->out);
    put(p, "\"");
    if (quantity->source != GSRT_SOURCE_NONE) {
        put(p, ", source: ");
        put_text(p, quantity->source_text);
    }
    put(p, ", confidence: ");
    if (p->status == GSRT_OK)
        p->status = gsrt_json_print_f64(p->out, quantity->confidence);
    if (quantity->valid_from_day != GSRT_DAY_FIRST) {
        put(p, ", since: ");
        put_day(p, quantity->valid_from_day);
    }
    if (quantity->valid_until_day != GSRT_DAY_LAST) {
        put(p, ", until: ");
        put_day(p, quantity->valid_until_day);
    }
    put(p, "}\n");
}

static void put_properties(printer *p, const gsrt__property *properties, size_t count, const void *object)
{
    for (size_t i = 0; i < count; i++) {
        const gsrt_quantity *quantity = gsrt__quantity_in(object, &properties[i]);
        if (!quantity->is_known)
            continue;
        key(p, properties[i].key);
        put_stated(p, quantity);
    }
}

static void put_within(printer *p, const gsrt_within *within)
{
    if (within->location == GSRT_FLEET_NONE && within->domain_count == 0)
        return;
    key(p, "in");
    put(p, "[");
    if (within->location != GSRT_FLEET_NONE)
        put_text(p, p->fleet->places[within->location].name);
    for (uint32_t i = 0; i < within->domain_count; i++) {
        put(p, i > 0 || within->location != GSRT_FLEET_NONE ? ", " : "");
        put_text(p, p->fleet->places[within->domains[i]].name);
    }
    put(p, "]\n");
}

static void put_count(printer *p, uint32_t count)
{
    key(p, "count");
    put_u32(p, count);
    put(p, "\n");
}

static void put_place(printer *p, const gsrt_place *place)
{
    begin(p, place->name);
    key_word(p, "kind", gsrt_place_kind_word(place->kind));
    put_within(p, &place->within);
    put_count(p, place->count);
    key_word(p, "trust", gsrt_trust_word(place->trust));
    put_properties(p, gsrt__place_properties, GSRT__PLACE_PROPERTIES, place);
}

static void put_rates(printer *p, const gsrt_part *part)
{
    bool is_begun = false;
    for (size_t c = 0; c < GSRT_CLASS_COUNT; c++) {
        bool is_class_begun = false;
        for (size_t f = 0; f < GSRT_FORMAT_COUNT; f++) {
            gsrt_quantity rate = gsrt_part_rate(part, (gsrt_rate_class)c, (gsrt_format)f);
            if (!rate.is_known)
                continue;
            put(p, is_begun ? "" : "    rates:\n");
            if (!is_class_begun) {
                put(p, "      ");
                put(p, gsrt__class_words[c]);
                put(p, ":\n");
            }
            put(p, "        ");
            put(p, gsrt__format_words[f]);
            put(p, ": ");
            put_stated(p, &rate);
            is_begun = is_class_begun = true;
        }
    }
}

static void put_software(printer *p, const gsrt_part *part)
{
    if (part->software_count == 0)
        return;
    key(p, "software");
    put(p, "{");
    for (uint32_t i = 0; i < part->software_count; i++) {
        put(p, i > 0 ? ", " : "");
        put_text(p, part->software[i].name);
        put(p, ": ");
        put_text(p, part->software[i].version);
    }
    put(p, "}\n");
}

static void put_counters(printer *p, const gsrt_part *part)
{
    if (part->counters == NULL)
        return;
    key(p, "counters");
    put(p, "[");
    for (uint32_t i = 0; i < part->counter_count; i++) {
        put(p, i > 0 ? ", " : "");
        put_text(p, part->counters[i]);
    }
    put(p, "]\n");
}

static void put_part(printer *p, const gsrt_part *part)
{
    begin(p, part->name);
    key_word(p, "kind", gsrt_part_kind_word(part->kind));
    put_within(p, &part->within);
    put_count(p, part->count);
    key_word(p, "trust", gsrt_trust_word(part->trust));
    key_text(p, "vendor", part->vendor);
    key_text(p, "product", part->product);
    if (part->kind == GSRT_PART_MEMORY)
        key_word(p, "tier", gsrt_tier_word(part->tier));
    put_properties(p, gsrt__part_properties, GSRT__PART_PROPERTIES, part);
    put_rates(p, part);
    put_software(p, part);
    put_counters(p, part);
}

static void put_link(printer *p, const gsrt_link *link)
{
    begin(p, link->name);
    key_text(p, "from", p->fleet->parts[link->from].name);
    key_text(p, "to", p->fleet->parts[link->to].name);
    key_word(p, "kind", gsrt_link_kind_word(link->kind));
    key_word(p, "pairing", link->is_to_all ? "all" : "dealt");
    key_word(p, "coherent", link->is_coherent ? "true" : "false");
    if (link->collectives != 0) {
        key(p, "collectives");
        const char *separator = "[";
        for (size_t i = 0; i < GSRT_COLLECTIVE_COUNT; i++) {
            if ((link->collectives & 1u << i) == 0)
                continue;
            put(p, separator);
            put(p, gsrt__collective_words[i]);
            separator = ", ";
        }
        put(p, "]\n");
    }
    if (link->contention != GSRT_FLEET_NONE)
        key_text(p, "contention", p->fleet->parts[link->contention].name);
    if (link->fails_with != GSRT_FLEET_NONE)
        key_text(p, "fails_with", p->fleet->places[link->fails_with].name);
    key_word(p, "trust", gsrt_trust_word(link->trust));
    put_properties(p, gsrt__link_properties, GSRT__LINK_PROPERTIES, link);
}

static void put_path(printer *p, const gsrt_path *path)
{
    begin(p, path->name);
    key(p, "links");
    for (uint32_t i = 0; i < path->link_count; i++) {
        put(p, i == 0 ? "[" : ", ");
        put_text(p, p->fleet->links[path->links[i]].name);
    }
    put(p, "]\n");
    put_properties(p, gsrt__path_properties, GSRT__PATH_PROPERTIES, path);
}

static void put_measurement(printer *p, const gsrt_measurement *m)
{
    bool is_place = m->place != GSRT_FLEET_NONE, is_part = m->part != GSRT_FLEET_NONE;
    put(p, is_place ? "  - place: " : is_part ? "  - part: " : "  - link: ");
    put_text(p, is_place  ? p->fleet->places[m->place].name
                : is_part ? p->fleet->parts[m->part].name
                          : p->fleet->links[m->link].name);
    put(p, "\n");
    key_text(p, "property", m->property);
    key(p, "on");
    put_day(p, m->day);
    put(p, "\n");
    key(p, "value");
    put_stated(p, &m->value);
}

static void section(printer *p, const char *name, uint32_t count)
{
    put(p, name);
    put(p, count == 0 ? ": []\n" : ":\n");
}

gsrt_status gsrt_fleet_print(const gsrt_fleet *fleet, gsrt_buffer *out)
{
    printer p = {.fleet = fleet, .out = out};
    size_t start = out->len;
    put(&p, "gsrt_fleet: 1\nname: ");
    put_text(&p, fleet->name);
    put(&p, "\n");
    if (fleet->as_of_day != GSRT_DAY_FIRST) {
        put(&p, "as_of: ");
        put_day(&p, fleet->as_of_day);
        put(&p, "\n");
    }
    section(&p, "places", fleet->place_count);
    for (uint32_t i = 0; i < fleet->place_count; i++)
        put_place(&p, &fleet->places[i]);
    section(&p, "parts", fleet->part_count);
    for (uint32_t i = 0; i < fleet->part_count; i++)
        put_part(&p, &fleet->parts[i]);
    section(&p, "links", fleet->link_count);
    for (uint32_t i = 0; i < fleet->link_count; i++)
        put_link(&p, &fleet->links[i]);
    section(&p, "paths", fleet->path_count);
    for (uint32_t i = 0; i < fleet->path_count; i++)
        put_path(&p, &fleet->paths[i]);
    section(&p, "measurements", fleet->measurement_count);
    for (uint32_t i = 0; i < fleet->measurement_count; i++)
        put_measurement(&p, &fleet->measurements[i]);
    if (p.status != GSRT_OK)
        out->len = start;
    return p.status;
}
