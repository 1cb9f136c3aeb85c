#include "placement/findings.h"

#include "base/limits.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct reason_row {
    const char *reason;
    gsrt_finding_class class;
} reason_rows[] = {
    /* of the reader of YAML */
    {"unknown_key", GSRT_FINDING_MALFORMED},
    {"wrong_type", GSRT_FINDING_MALFORMED},
    {"missing_key", GSRT_FINDING_MALFORMED},
    {"out_of_range", GSRT_FINDING_MALFORMED},
    {"bad_value", GSRT_FINDING_MALFORMED},
    {"unknown_word", GSRT_FINDING_UNSUPPORTED},
    {"unsupported_version", GSRT_FINDING_UNSUPPORTED},
    /* of quantities */
    {"not_a_number", GSRT_FINDING_MALFORMED},
    {"missing_unit", GSRT_FINDING_MALFORMED},
    {"unknown_unit", GSRT_FINDING_MALFORMED},
    {"ambiguous_unit", GSRT_FINDING_MALFORMED},
    {"wrong_dimension", GSRT_FINDING_MALFORMED},
    {"lo_above_hi", GSRT_FINDING_CONTRADICTORY},
    {"value_outside_interval", GSRT_FINDING_CONTRADICTORY},
    {"bad_source", GSRT_FINDING_MALFORMED},
    {"bad_date", GSRT_FINDING_MALFORMED},
    {"validity_backwards", GSRT_FINDING_CONTRADICTORY},
    {"sure_guess", GSRT_FINDING_CONTRADICTORY},
    /* of names and references */
    {"bad_name", GSRT_FINDING_MALICIOUS},
    {"duplicate_name", GSRT_FINDING_CONTRADICTORY},
    {"unknown_name", GSRT_FINDING_MALFORMED},
    {"misplaced_key", GSRT_FINDING_CONTRADICTORY},
    {"place_in_itself", GSRT_FINDING_CONTRADICTORY},
    {"place_order", GSRT_FINDING_CONTRADICTORY},
    {"two_places", GSRT_FINDING_CONTRADICTORY},
    {"too_many", GSRT_FINDING_MALICIOUS},
    /* of the graph */
    {"link_to_itself", GSRT_FINDING_CONTRADICTORY},
    {"uneven_pairing", GSRT_FINDING_CONTRADICTORY},
    {"link_above_endpoint", GSRT_FINDING_CONTRADICTORY},
    {"one_way_coherence", GSRT_FINDING_CONTRADICTORY},
    {"contention_elsewhere", GSRT_FINDING_CONTRADICTORY},
    {"contention_unknown", GSRT_FINDING_MISSING},
    {"collectives_on_memory", GSRT_FINDING_CONTRADICTORY},
    {"path_broken", GSRT_FINDING_CONTRADICTORY},
    {"path_above_link", GSRT_FINDING_CONTRADICTORY},
    {"path_below_latency", GSRT_FINDING_CONTRADICTORY},
    {"memory_unreached", GSRT_FINDING_CONTRADICTORY},
    {"part_unreached", GSRT_FINDING_CONTRADICTORY},
    {"memory_link_without_memory", GSRT_FINDING_CONTRADICTORY},
    {"idle_above_max", GSRT_FINDING_CONTRADICTORY},
    {"budget_below_idle", GSRT_FINDING_CONTRADICTORY},
    {"faster_than_light", GSRT_FINDING_IMPLAUSIBLE},
    {"outside_physical_limits", GSRT_FINDING_IMPLAUSIBLE},
    {"wide_interval", GSRT_FINDING_IMPLAUSIBLE},
    {"rate_above_power", GSRT_FINDING_IMPLAUSIBLE},
    /* of time */
    {"expired", GSRT_FINDING_STALE},
    {"not_yet_valid", GSRT_FINDING_STALE},
    {"from_the_future", GSRT_FINDING_CONTRADICTORY},
    /* of trust and measurement */
    {"claim_contradicted", GSRT_FINDING_MALICIOUS},
    {"measurement_differs", GSRT_FINDING_CONTRADICTORY},
    {"measurements_disagree", GSRT_FINDING_CONTRADICTORY},
    {"trust_raised", GSRT_FINDING_MALICIOUS},
    {"own_measurement", GSRT_FINDING_MALICIOUS},
    /* of what nobody stated, or what this machine does not say */
    {"no_engine", GSRT_FINDING_MISSING},
    {"engine_without_memory", GSRT_FINDING_MISSING},
    {"rates_unknown", GSRT_FINDING_MISSING},
    {"capacity_unknown", GSRT_FINDING_MISSING},
    {"bandwidth_unknown", GSRT_FINDING_MISSING},
    {"not_discovered", GSRT_FINDING_MISSING},
};

enum { REASON_COUNT = sizeof reason_rows / sizeof reason_rows[0], WHAT_BYTES_MAX = 640, PLACE_BYTES_MAX = 640 };

void gsrt_findings_init(gsrt_findings *findings)
{
    *findings = (gsrt_findings){0};
    gsrt_arena_init(&findings->arena, (size_t)GSRT_FINDING_COUNT_MAX * (WHAT_BYTES_MAX + PLACE_BYTES_MAX + 64));
}

void gsrt_findings_fini(gsrt_findings *findings)
{
    gsrt_arena_fini(&findings->arena);
    free(findings->items);
    *findings = (gsrt_findings){0};
}

const char *gsrt_finding_class_word(gsrt_finding_class class)
{
    static const char *const words[GSRT_FINDING_CLASS_COUNT] = {
        [GSRT_FINDING_MALFORMED] = "malformed",
        [GSRT_FINDING_UNSUPPORTED] = "unsupported",
        [GSRT_FINDING_CONTRADICTORY] = "contradictory",
        [GSRT_FINDING_STALE] = "stale",
        [GSRT_FINDING_IMPLAUSIBLE] = "implausible",
        [GSRT_FINDING_MALICIOUS] = "malicious",
        [GSRT_FINDING_MISSING] = "missing",
    };
    return words[class];
}

static const struct reason_row *row_of(const char *reason)
{
    for (size_t i = 0; i < REASON_COUNT; i++) {
        if (strcmp(reason_rows[i].reason, reason) == 0)
            return &reason_rows[i];
    }
    return NULL;
}

gsrt_finding_class gsrt_finding_class_of(const char *reason)
{
    const struct reason_row *row = row_of(reason);
    assert(row != NULL);
    return row->class;
}

const char *gsrt_finding_reason(size_t index)
{
    return index < REASON_COUNT ? reason_rows[index].reason : NULL;
}

static bool grow(gsrt_findings *findings)
{
    if (findings->count < findings->capacity)
        return true;
    size_t capacity = findings->capacity == 0 ? 16 : 2 * findings->capacity;
    gsrt_finding *items = realloc(findings->items, capacity * sizeof *items);
    if (items == NULL)
        return false;
    findings->items = items;
    findings->capacity = capacity;
    return true;
}

static void replace_control_bytes(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c != 0; c++) {
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
}

void gsrt_findings_add(gsrt_findings *findings, const char *reason, const char *place, const char *format, ...)
{
    const struct reason_row *row = row_of(reason);
    assert(row != NULL);
    if (row->class == GSRT_FINDING_MISSING)
        findings->note_count++;
    else
        findings->error_count++;
    if (findings->count >= GSRT_FINDING_COUNT_MAX)
        return;
    char what[WHAT_BYTES_MAX], where[PLACE_BYTES_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    (void)snprintf(where, sizeof where, "%s", place);
    replace_control_bytes(what);
    replace_control_bytes(where);
    char *kept_what = gsrt_arena_copy_text(&findings->arena, what, strlen(what));
    char *kept_where = gsrt_arena_copy_text(&findings->arena, where, strlen(where));
    if (kept_what == NULL || kept_where == NULL || !grow(findings)) {
        findings->is_out_of_memory = true;
        return;
    }
    findings->items[findings->count++] =
        (gsrt_finding){.reason = row->reason, .class = row->class, .place = kept_where, .what = kept_what};
}

gsrt_status gsrt_findings_print(const gsrt_findings *findings, gsrt_buffer *out)
{
    gsrt_status status = GSRT_OK;
    for (size_t i = 0; i < findings->count && status == GSRT_OK; i++) {
        const gsrt_finding *finding = &findings->items[i];
        status = gsrt_buffer_print(out, "%s: [%s] %s\n", finding->place, finding->reason, finding->what);
    }
    size_t dropped = findings->error_count + findings->note_count - findings->count;
    if (status == GSRT_OK && dropped > 0)
        status = gsrt_buffer_print(out, "%zu more were found, and are not listed\n", dropped);
    return status;
}
