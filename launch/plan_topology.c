#include "launch/plan_topology.h"

#include "launch/plan_words.h"

#include <inttypes.h>

enum { DEPTH_MAX = 16 };

static bool is_used(const gsrt_planning *p, uint32_t part)
{
    for (uint32_t i = 0; p->has_choice && i < p->choice->pool_count; i++) {
        for (uint32_t s = 0; s < p->choice->pools[i].stage_count; s++) {
            const gsrt_deployment_stage *stage = &p->choice->pools[i].stages[s];
            for (uint32_t m = 0; m < stage->member_count; m++) {
                if (stage->members[m].part == part)
                    return true;
            }
        }
    }
    return false;
}

static gsrt_status put_count(const char *name, uint32_t count, gsrt_buffer *out)
{
    return count > 1 ? gsrt_buffer_print(out, "%s x %" PRIu32, name, count) : gsrt_buffer_print(out, "%s", name);
}

/* The highest rate that it states for products, whatever the format. */
static gsrt_status put_engine(const gsrt_planning *p, uint32_t index, gsrt_buffer *out)
{
    const gsrt_fleet *fleet = p->problem.fleet;
    const gsrt_part *part = &fleet->parts[index];
    char text[GSRT_PLAN_WORDS_BYTES], other[GSRT_PLAN_WORDS_BYTES];
    gsrt_quantity best = {0};
    int best_format = 0;
    for (int f = 0; f < GSRT_FORMAT_COUNT; f++) {
        gsrt_quantity rate = gsrt_part_rate(part, GSRT_CLASS_MATMUL, (gsrt_format)f);
        if (rate.is_known && rate.value > best.value) {
            best = rate;
            best_format = f;
        }
    }
    gsrt_status status = GSRT_OK;
    if (part->product != NULL)
        status = gsrt_buffer_print(out, " (%s)", part->product);
    if (status == GSRT_OK)
        status =
            gsrt_buffer_print(out, ": products at %s%s%s", gsrt_plan_number(&best, text), best.is_known ? " in " : "",
                              best.is_known ? gsrt_format_word((gsrt_format)best_format) : "");
    for (uint32_t i = 0; i < fleet->link_count && status == GSRT_OK; i++) {
        const gsrt_link *link = &fleet->links[i];
        if (link->to == index && fleet->parts[link->from].kind == GSRT_PART_MEMORY)
            status = gsrt_buffer_print(out, ", %s at %s", gsrt_plan_number(&fleet->parts[link->from].capacity, text),
                                       gsrt_plan_number(&link->bandwidth, other));
    }
    return status;
}

static gsrt_status put_parts(const gsrt_planning *p, uint32_t location, int depth, gsrt_buffer *out)
{
    const gsrt_fleet *fleet = p->problem.fleet;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < fleet->part_count && status == GSRT_OK; i++) {
        const gsrt_part *part = &fleet->parts[i];
        if (part->within.location != location || part->kind == GSRT_PART_MEMORY)
            continue;
        status = gsrt_buffer_print(out, "%*s%s", 2 * depth, "", is_used(p, i) ? "* " : "  ");
        if (status == GSRT_OK)
            status = put_count(part->name, part->count, out);
        if (status == GSRT_OK)
            status = part->kind == GSRT_PART_ENGINE ? put_engine(p, i, out)
                                                    : gsrt_buffer_print(out, ": %s", gsrt_part_kind_word(part->kind));
        if (status == GSRT_OK)
            status = gsrt_buffer_append(out, "\n", 1);
    }
    return status;
}

static gsrt_status put_place(const gsrt_planning *p, uint32_t location, int depth, gsrt_buffer *out)
{
    const gsrt_fleet *fleet = p->problem.fleet;
    gsrt_status status = put_parts(p, location, depth, out);
    for (uint32_t i = 0; i < fleet->place_count && status == GSRT_OK && depth < DEPTH_MAX; i++) {
        const gsrt_place *place = &fleet->places[i];
        bool is_location = place->kind < GSRT_PLACE_POWER;
        if (!is_location || place->within.location != location)
            continue;
        status = gsrt_buffer_print(out, "%*s", 2 * depth, "");
        if (status == GSRT_OK)
            status = put_count(place->name, place->count, out);
        if (status == GSRT_OK)
            status = gsrt_buffer_append(out, "\n", 1);
        if (status == GSRT_OK)
            status = put_place(p, i, depth + 1, out);
    }
    return status;
}

/* There is a link the other way with the same figures: it is one line. */
static const gsrt_link *way_back(const gsrt_fleet *fleet, const gsrt_link *link)
{
    for (uint32_t i = 0; i < fleet->link_count; i++) {
        const gsrt_link *other = &fleet->links[i];
        if (other->from == link->to && other->to == link->from && other->bandwidth.value == link->bandwidth.value &&
            other->latency.value == link->latency.value)
            return other;
    }
    return NULL;
}

static gsrt_status put_links(const gsrt_planning *p, gsrt_buffer *out)
{
    const gsrt_fleet *fleet = p->problem.fleet;
    char bandwidth[GSRT_PLAN_WORDS_BYTES], latency[GSRT_PLAN_WORDS_BYTES];
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < fleet->link_count && status == GSRT_OK; i++) {
        const gsrt_link *link = &fleet->links[i], *back = way_back(fleet, link);
        if (link->kind == GSRT_LINK_MEMORY || (back != NULL && back < link))
            continue;
        status =
            gsrt_buffer_print(out, "%s %s %s: %s, %s\n", fleet->parts[link->from].name, back != NULL ? "<->" : "->",
                              fleet->parts[link->to].name, gsrt_plan_number(&link->bandwidth, bandwidth),
                              gsrt_plan_number(&link->latency, latency));
    }
    return status;
}

gsrt_status gsrt_plan_topology(const gsrt_planning *planning, gsrt_buffer *out)
{
    gsrt_status status = put_place(planning, GSRT_FLEET_NONE, 0, out);
    return status == GSRT_OK ? put_links(planning, out) : status;
}
