/* What can be seen in one entry, or in one and what was measured of it. */
#include "placement/fleet_check.h"

#include <stdarg.h>
#include <stdio.h>

enum { PLACE_BYTES_MAX = 640, WHAT_BYTES_MAX = 480, QUANTITY_BYTES_MAX = 128 };

static const double INTERVAL_RATIO_MAX = 1000; /* hi / lo of something that is worth stating */
static const double OPS_PER_JOULE_MAX = 1e15;  /* a hundred times the best that is sold */
static const double SHARP_RATIO_MAX = 2;       /* between claim and measurement, where they give no interval */

void gsrt__find(gsrt__checker *c, const char *reason, const char *where, const char *key, const char *format, ...)
{
    char place[PLACE_BYTES_MAX], what[WHAT_BYTES_MAX];
    (void)snprintf(place, sizeof place, "%s%s%s", where, key == NULL ? "" : ".", key == NULL ? "" : key);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    gsrt_findings_add(c->findings, reason, place, "%s", what);
}

/* The quantity as text; returns `room`. */
static const char *said(const gsrt_quantity *quantity, char room[QUANTITY_BYTES_MAX])
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, QUANTITY_BYTES_MAX - 1);
    if (gsrt_quantity_print(quantity, &text) != GSRT_OK)
        text.len = 0;
    (void)snprintf(room, QUANTITY_BYTES_MAX, "%.*s", (int)text.len, text.data == NULL ? "" : (const char *)text.data);
    gsrt_buffer_fini(&text);
    return room;
}

bool gsrt__is_onboard(const gsrt_fleet *fleet, const gsrt_part *part)
{
    char engine[GSRT_FLEET_NAME_BYTES_MAX + 1];
    const char *point = strrchr(part->name, '.');
    if (part->kind != GSRT_PART_MEMORY || point == NULL)
        return false;
    (void)snprintf(engine, sizeof engine, "%.*s", (int)(point - part->name), part->name);
    uint32_t index = gsrt_fleet_part_named(fleet, engine);
    return index != GSRT_FLEET_NONE && fleet->parts[index].where == part->where;
}

/* ---- one quantity ---- */

static void check_quantity(gsrt__checker *c, const gsrt_quantity *quantity, double min, double max, const char *where,
                           const char *key, gsrt_trust trust)
{
    if (!quantity->is_known)
        return;
    char text[QUANTITY_BYTES_MAX], limit_min[QUANTITY_BYTES_MAX], limit_max[QUANTITY_BYTES_MAX], day[12];
    gsrt_quantity least = gsrt_quantity_exact(min, quantity->dimension);
    gsrt_quantity most = gsrt_quantity_exact(max, quantity->dimension);
    if (quantity->lo < min || quantity->hi > max)
        gsrt__find(c, "outside_physical_limits", where, key,
                   "%s is outside of what there is, %s to %s; look for a slipped unit", said(quantity, text),
                   said(&least, limit_min), said(&most, limit_max));
    if (quantity->lo > 0 && quantity->hi / quantity->lo > INTERVAL_RATIO_MAX)
        gsrt__find(c, "wide_interval", where, key, "%s says next to nothing; measure it, or leave it out",
                   said(quantity, text));
    if (quantity->valid_until_day < c->today)
        gsrt__find(c, "expired", where, key, "valid until %s; look it up again, and change 'until'",
                   gsrt_day_print(quantity->valid_until_day, day));
    if (quantity->valid_from_day > c->today)
        gsrt__find(c, "not_yet_valid", where, key, "valid from %s on; leave it out until then",
                   gsrt_day_print(quantity->valid_from_day, day));
    if (quantity->source == GSRT_SOURCE_MEASURED && trust == GSRT_TRUST_UNTRUSTED)
        gsrt__find(
            c, "own_measurement", where, key,
            "whoever is not trusted measured this of himself; call it 'declared', and put measurements of others "
            "into 'measurements'");
}

static void check_properties(gsrt__checker *c, const gsrt__property *properties, size_t count, const void *object,
                             const char *where, gsrt_trust trust)
{
    for (size_t i = 0; i < count; i++)
        check_quantity(c, gsrt__quantity_in(object, &properties[i]), properties[i].min, properties[i].max, where,
                       properties[i].key, trust);
}

/* ---- entries ---- */

static void check_trust(gsrt__checker *c, gsrt_trust trust, const gsrt_within *within, const char *where)
{
    uint32_t at = within->location;
    for (; at != GSRT_FLEET_NONE; at = c->fleet->places[at].within.location) {
        const gsrt_place *place = &c->fleet->places[at];
        if (place->trust >= trust)
            continue;
        gsrt__find(c, "trust_raised", where, "trust",
                   "%s within '%.80s', which is %s; nothing is trusted more than where it stands",
                   gsrt_trust_word(trust), place->name, gsrt_trust_word(place->trust));
        return;
    }
}

static void check_rates(gsrt__checker *c, const gsrt_part *part)
{
    bool is_any_known = false;
    for (size_t class = 0; class < GSRT_CLASS_COUNT; class ++) {
        for (size_t format = 0; format < GSRT_FORMAT_COUNT; format++) {
            gsrt_quantity rate = gsrt_part_rate(part, (gsrt_rate_class) class, (gsrt_format)format);
            if (!rate.is_known)
                continue;
            is_any_known = true;
            char key[64], text[QUANTITY_BYTES_MAX], power[QUANTITY_BYTES_MAX];
            (void)snprintf(key, sizeof key, "rates.%s.%s", gsrt__class_words[class], gsrt__format_words[format]);
            check_quantity(c, &rate, gsrt__rate_property.min, gsrt__rate_property.max, part->where, key, part->trust);
            if (part->power_max.is_known && rate.lo > OPS_PER_JOULE_MAX * part->power_max.hi)
                gsrt__find(c, "rate_above_power", part->where, key,
                           "%s with %s: nothing computes that much with so little power; correct one of them",
                           said(&rate, text), said(&part->power_max, power));
        }
    }
    if (!is_any_known)
        gsrt__find(c, "rates_unknown", part->where, "rates",
                   "nobody says what '%.80s' computes how fast; add 'rates', or take a type of a catalogue",
                   part->name);
}

static void check_part(gsrt__checker *c, const gsrt_part *part)
{
    char idle[QUANTITY_BYTES_MAX], most[QUANTITY_BYTES_MAX];
    check_properties(c, gsrt__part_properties, GSRT__PART_PROPERTIES, part, part->where, part->trust);
    if (!gsrt__is_onboard(c->fleet, part))
        check_trust(c, part->trust, &part->within, part->where);
    if (part->power_idle.is_known && part->power_max.is_known && part->power_idle.lo > part->power_max.hi)
        gsrt__find(c, "idle_above_max", part->where, "power_idle", "%s idle, and %s at most; correct one of them",
                   said(&part->power_idle, idle), said(&part->power_max, most));
    if (part->kind == GSRT_PART_ENGINE)
        check_rates(c, part);
    if (part->kind == GSRT_PART_MEMORY && !part->bandwidth.is_known)
        gsrt__find(c, "bandwidth_unknown", part->where, "bandwidth", "nobody says how fast '%.80s' is; add 'bandwidth'",
                   part->name);
    if (part->kind == GSRT_PART_MEMORY && !part->capacity.is_known)
        gsrt__find(c, "capacity_unknown", part->where, "capacity", "nobody says what '%.80s' holds; add 'capacity'",
                   part->name);
}

static void check_link(gsrt__checker *c, const gsrt_link *link)
{
    const gsrt_part *from = &c->fleet->parts[link->from], *to = &c->fleet->parts[link->to];
    bool is_onboard = link->where == from->where || link->where == to->where;
    if (is_onboard) /* its numbers are the memory's, and were looked at there */
        return;
    check_properties(c, gsrt__link_properties, GSRT__LINK_PROPERTIES, link, link->where, link->trust);
    if (link->trust > from->trust || link->trust > to->trust)
        gsrt__find(c, "trust_raised", link->where, "trust",
                   "%s, and an end of it is %s; a link is trusted no more than its ends", gsrt_trust_word(link->trust),
                   gsrt_trust_word(from->trust < to->trust ? from->trust : to->trust));
    if (link->correlation.is_known && link->fails_with == GSRT_FLEET_NONE)
        gsrt__find(c, "misplaced_key", link->where, "correlation", "with what does it fail? add 'fails_with'");
    if (!link->bandwidth.is_known)
        gsrt__find(c, "bandwidth_unknown", link->where, "bandwidth",
                   "nobody says how fast '%.120s' is; add 'bandwidth'", link->name);
}

/* ---- measurements ---- */

/* Can the two not both be true? By their intervals; a number without one is not taken at its last digit. */
static bool do_exclude(const gsrt_quantity *a, const gsrt_quantity *b)
{
    if (gsrt_quantity_overlap(a, b))
        return false;
    if (a->lo < a->hi && b->lo < b->hi)
        return true;
    return a->lo > SHARP_RATIO_MAX * b->hi || b->lo > SHARP_RATIO_MAX * a->hi;
}

/* What is claimed of it; unknown: nothing. *out_trust: by whom. */
static gsrt_quantity claim_of(const gsrt__checker *c, const gsrt_measurement *m, gsrt_trust *out_trust)
{
    const gsrt_fleet *fleet = c->fleet;
    if (m->place != GSRT_FLEET_NONE) {
        const gsrt_place *place = &fleet->places[m->place];
        *out_trust = place->trust;
        return *gsrt__quantity_in(place,
                                  gsrt__property_named(gsrt__place_properties, GSRT__PLACE_PROPERTIES, m->property));
    }
    if (m->link != GSRT_FLEET_NONE) {
        const gsrt_link *link = &fleet->links[m->link];
        *out_trust = link->trust;
        return *gsrt__quantity_in(link,
                                  gsrt__property_named(gsrt__link_properties, GSRT__LINK_PROPERTIES, m->property));
    }
    const gsrt_part *part = &fleet->parts[m->part];
    *out_trust = part->trust;
    const gsrt__property *property = gsrt__property_named(gsrt__part_properties, GSRT__PART_PROPERTIES, m->property);
    if (property != NULL)
        return *gsrt__quantity_in(part, property);
    const char *format = strchr(m->property, '.') + 1;
    for (size_t i = 0; i < (size_t)GSRT_CLASS_COUNT * GSRT_FORMAT_COUNT; i++) {
        size_t class = i / GSRT_FORMAT_COUNT, len = strlen(gsrt__class_words[class]);
        if (strncmp(m->property, gsrt__class_words[class], len) == 0 && m->property[len] == '.' &&
            strcmp(gsrt__format_words[i % GSRT_FORMAT_COUNT], format) == 0)
            return gsrt_part_rate(part, (gsrt_rate_class) class, (gsrt_format)(i % GSRT_FORMAT_COUNT));
    }
    return (gsrt_quantity){0};
}

static void check_measurements(gsrt__checker *c)
{
    char claimed[QUANTITY_BYTES_MAX], measured[QUANTITY_BYTES_MAX], day[12];
    for (uint32_t i = 0; i < c->fleet->measurement_count; i++) {
        const gsrt_measurement *m = &c->fleet->measurements[i];
        gsrt_trust trust;
        gsrt_quantity claim = claim_of(c, m, &trust);
        if (m->day > c->today)
            gsrt__find(c, "from_the_future", m->where, "on", "measured on %s, which is still to come; correct the day",
                       gsrt_day_print(m->day, day));
        if (!m->value.is_known)
            continue;
        if (claim.is_known && do_exclude(&claim, &m->value)) {
            bool is_doubtful = trust < GSRT_TRUST_OPERATOR && claim.source <= GSRT_SOURCE_DECLARED;
            gsrt__find(c, is_doubtful ? "claim_contradicted" : "measurement_differs", m->where, "value",
                       "%s is claimed%s, and %s was measured; correct the claim, or give it an interval",
                       said(&claim, claimed), is_doubtful ? " by somebody who is not trusted" : "",
                       said(&m->value, measured));
        }
        const gsrt_measurement *before = i > 0 ? m - 1 : NULL;
        if (before != NULL && strcmp(before->name, m->name) == 0 && before->day == m->day && before->value.is_known &&
            do_exclude(&before->value, &m->value))
            gsrt__find(c, "measurements_disagree", m->where, "value",
                       "%s and %s were measured on the same day; repeat the measurement", said(&before->value, claimed),
                       said(&m->value, measured));
    }
}

void gsrt_fleet_check(const gsrt_fleet *fleet, int32_t today, gsrt_findings *findings)
{
    gsrt__checker c = {.fleet = fleet, .today = today, .findings = findings};
    char day[12];
    bool has_engine = false;
    if (fleet->as_of_day != GSRT_DAY_FIRST && fleet->as_of_day > today)
        gsrt__find(&c, "from_the_future", fleet->name, "as_of", "taken on %s, which is still to come; correct the day",
                   gsrt_day_print(fleet->as_of_day, day));
    for (uint32_t i = 0; i < fleet->place_count; i++) {
        const gsrt_place *place = &fleet->places[i];
        check_properties(&c, gsrt__place_properties, GSRT__PLACE_PROPERTIES, place, place->where, place->trust);
        check_trust(&c, place->trust, &place->within, place->where);
    }
    for (uint32_t i = 0; i < fleet->part_count; i++) {
        check_part(&c, &fleet->parts[i]);
        has_engine = has_engine || fleet->parts[i].kind == GSRT_PART_ENGINE;
    }
    for (uint32_t i = 0; i < fleet->link_count; i++)
        check_link(&c, &fleet->links[i]);
    for (uint32_t i = 0; i < fleet->path_count; i++)
        check_properties(&c, gsrt__path_properties, GSRT__PATH_PROPERTIES, &fleet->paths[i], fleet->paths[i].where,
                         GSRT_TRUST_OPERATOR);
    if (!has_engine)
        gsrt__find(&c, "no_engine", fleet->name, "parts", "no part computes anything; add an engine");
    gsrt__check_graph(&c);
    check_measurements(&c);
}
