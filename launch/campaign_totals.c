#include "launch/campaign_totals.h"

#include "base/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const end_names[] = {"complete", "no_quorum", "broken"};

/* ---- summing ---- */

static gsrt_status add_value(gsrt_campaign_series *series, uint32_t value)
{
    if (series->count == series->capacity) {
        size_t capacity = series->capacity == 0 ? 256 : 2 * series->capacity;
        uint32_t *room = realloc(series->values, capacity * sizeof *room);
        if (room == NULL)
            return GSRT_ENOMEM;
        series->values = room;
        series->capacity = capacity;
    }
    series->values[series->count++] = value;
    return GSRT_OK;
}

/* Keeps the lowest seeds, ascending. */
static void name_seed(gsrt_campaign_totals *totals, const gsrt_campaign_result *result)
{
    gsrt_campaign_named *named = totals->named[result->end];
    uint32_t *count = &totals->named_counts[result->end], at = *count;
    if (at == GSRT_CAMPAIGN_NAMED_MAX && named[at - 1].seed < result->seed)
        return;
    at -= at == GSRT_CAMPAIGN_NAMED_MAX;
    *count = at + 1;
    for (; at > 0 && named[at - 1].seed > result->seed; at--)
        named[at] = named[at - 1];
    named[at].seed = result->seed;
    memcpy(named[at].why, result->why, sizeof named[at].why);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t mixed = (a ^ b) * 0x9E3779B97F4A7C15u;
    return mixed ^ mixed >> 29;
}

gsrt_status gsrt_campaign_totals_add(gsrt_campaign_totals *totals, const gsrt_campaign_result *result)
{
    gsrt_status status = GSRT_OK;
    totals->seed_count += 1;
    totals->repeated_count += result->is_repeated;
    totals->end_counts[result->end] += 1;
    for (int kind = 0; kind < GSRT_CAMPAIGN_KIND_COUNT; kind++)
        totals->fault_counts[kind] += result->fault_counts[kind];
    for (int method = 0; method < GSRT_HEAL_METHOD_COUNT; method++)
        totals->method_counts[method] += result->method_counts[method];
    totals->incident_count += result->incident_count;
    totals->event_count += result->event_count;
    totals->digest += mix(mix(result->seed, result->digest), (uint64_t)result->end);
    if (result->inbox_bytes_max > totals->inbox_bytes_max)
        totals->inbox_bytes_max = result->inbox_bytes_max;
    if (result->waiting_max > totals->waiting_max)
        totals->waiting_max = result->waiting_max;
    if (result->end == GSRT_CAMPAIGN_COMPLETE && result->after_quiet_ns > totals->after_quiet_ns_max)
        totals->after_quiet_ns_max = result->after_quiet_ns;
    for (uint32_t i = 0; i < result->recovery_count && status == GSRT_OK; i++) {
        const gsrt_campaign_recovery *recovery = &result->recoveries[i];
        for (int phase = 0; phase < GSRT_PHASE_COUNT && status == GSRT_OK; phase++)
            status = add_value(&totals->series[phase], recovery->phase_us[phase]);
        if (status == GSRT_OK)
            status = add_value(&totals->series[GSRT_PHASE_COUNT], recovery->total_us);
    }
    if (result->end != GSRT_CAMPAIGN_COMPLETE)
        name_seed(totals, result);
    return status;
}

void gsrt_campaign_totals_fini(gsrt_campaign_totals *totals)
{
    for (int i = 0; i < GSRT_CAMPAIGN_SERIES_COUNT; i++)
        free(totals->series[i].values);
    *totals = (gsrt_campaign_totals){0};
}

/* ---- telling ---- */

static int compare(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* In ms; -1 where there is none. */
static void median_and_worst(gsrt_campaign_series *series, double *out_median, double *out_worst)
{
    *out_median = *out_worst = -1;
    if (series->count == 0)
        return;
    qsort(series->values, series->count, sizeof *series->values, compare);
    *out_median = series->values[series->count / 2] / 1e3;
    *out_worst = series->values[series->count - 1] / 1e3;
}

static const char *series_name(int index)
{
    return index == GSRT_PHASE_COUNT ? "total" : gsrt_incident_phase_name((gsrt_incident_phase)index);
}

static uint64_t recoveries_of(const gsrt_campaign_totals *totals)
{
    uint64_t count = 0;
    for (int method = 0; method < GSRT_HEAL_METHOD_COUNT; method++)
        count += totals->method_counts[method];
    return count;
}

static gsrt_status print_named(const gsrt_campaign_totals *totals, gsrt_campaign_end end, const char *scenario,
                               gsrt_buffer *out)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < totals->named_counts[end] && status == GSRT_OK; i++) {
        const gsrt_campaign_named *named = &totals->named[end][i];
        status = gsrt_buffer_print(out, "seed %" PRIu64 " %s: %s\n", named->seed,
                                   end == GSRT_CAMPAIGN_BROKEN ? "BROKE" : "has no quorum", named->why);
        if (status == GSRT_OK && end == GSRT_CAMPAIGN_BROKEN)
            status = gsrt_buffer_print(out, "  gsrt twin %s --set twin.seed=%" PRIu64 " --seeds 1 -o DIR\n", scenario,
                                       named->seed);
    }
    if (status == GSRT_OK && totals->end_counts[end] > totals->named_counts[end])
        status = gsrt_buffer_print(out, "and %" PRIu64 " more\n", totals->end_counts[end] - totals->named_counts[end]);
    return status;
}

static gsrt_status print_times(gsrt_campaign_totals *totals, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, "time to recovery, simulated ms     median      worst\n");
    for (int i = 0; i < GSRT_CAMPAIGN_SERIES_COUNT && status == GSRT_OK; i++) {
        double median, worst;
        median_and_worst(&totals->series[i], &median, &worst);
        status = median < 0 ? gsrt_buffer_print(out, "  %-27s %11s %10s\n", series_name(i), "-", "-")
                            : gsrt_buffer_print(out, "  %-27s %11.1f %10.1f\n", series_name(i), median, worst);
    }
    return status;
}

/* What it drew. */
static gsrt_status print_only_seed(const gsrt_campaign_base *base, gsrt_buffer *out)
{
    gsrt_campaign *campaign = malloc(sizeof *campaign);
    if (campaign == NULL)
        return GSRT_ENOMEM;
    gsrt_campaign_draw(base->seed_first, base->rank_count, base->begin_ns, base->end_ns, campaign);
    gsrt_status status = gsrt_buffer_print(out, "seed %" PRIu64 " draws\n", base->seed_first);
    if (status == GSRT_OK)
        status = gsrt_campaign_print_faults(campaign, base->rank_count, out);
    free(campaign);
    return status;
}

gsrt_status gsrt_campaign_print(gsrt_campaign_totals *totals, const gsrt_campaign_base *base, const char *scenario,
                                double elapsed_s, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(
        out,
        "%s: %" PRIu64 " seeds from %" PRIu64 ": %" PRIu64 " complete and equal to the reference, %" PRIu64
        " without a quorum, %" PRIu64 " broken\nfaults:",
        base->name, totals->seed_count, base->seed_first, totals->end_counts[GSRT_CAMPAIGN_COMPLETE],
        totals->end_counts[GSRT_CAMPAIGN_NO_QUORUM], totals->end_counts[GSRT_CAMPAIGN_BROKEN]);
    for (int kind = 0; kind < GSRT_CAMPAIGN_KIND_COUNT && status == GSRT_OK; kind++)
        status = gsrt_buffer_print(out, " %s %" PRIu64 ",", gsrt_campaign_kind_name((gsrt_campaign_kind)kind),
                                   totals->fault_counts[kind]);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, " and the scenario's own %" PRIu32 " in each\nrecoveries: %" PRIu64,
                                   base->fault_count, recoveries_of(totals));
    for (int method = 1; method < GSRT_HEAL_METHOD_COUNT && status == GSRT_OK; method++)
        status =
            gsrt_buffer_print(out, "%s %s %" PRIu64, method == 1 ? ":" : ",",
                              gsrt_incident_method_name((gsrt_incident_method)method), totals->method_counts[method]);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "\n");
    if (status == GSRT_OK)
        status = print_times(totals, out);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(
            out,
            "events: %" PRIu64 "; most that waited at once %" PRIu32 ", most bytes in inboxes %" PRIu64
            "\nrun twice with the same outcome: %" PRIu64 "; digest %016" PRIx64 "\n",
            totals->event_count, totals->waiting_max, totals->inbox_bytes_max, totals->repeated_count, totals->digest);
    if (status == GSRT_OK && elapsed_s > 0)
        status = gsrt_buffer_print(out, "took %.1f s: %.1f seeds/s, %.0f events/s\n", elapsed_s,
                                   (double)totals->seed_count / elapsed_s, (double)totals->event_count / elapsed_s);
    if (status == GSRT_OK && totals->seed_count == 1)
        status = print_only_seed(base, out);
    if (status == GSRT_OK)
        status = print_named(totals, GSRT_CAMPAIGN_NO_QUORUM, scenario, out);
    return status == GSRT_OK ? print_named(totals, GSRT_CAMPAIGN_BROKEN, scenario, out) : status;
}

/* ---- JSON ---- */

static gsrt_status print_json_named(const gsrt_campaign_totals *totals, gsrt_campaign_end end, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, ",\"%s_seeds\":[", end_names[end]);
    for (uint32_t i = 0; i < totals->named_counts[end] && status == GSRT_OK; i++) {
        const gsrt_campaign_named *named = &totals->named[end][i];
        status = gsrt_buffer_print(out, "%s{\"seed\":%" PRIu64 ",\"why\":", i == 0 ? "" : ",", named->seed);
        if (status == GSRT_OK)
            status = gsrt_json_print_text(out, gsrt_span_of_text(named->why));
        if (status == GSRT_OK)
            status = gsrt_buffer_print(out, "}");
    }
    return status == GSRT_OK ? gsrt_buffer_print(out, "]") : status;
}

static gsrt_status print_json_times(gsrt_campaign_totals *totals, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, "},\"simulated_recovery_ms\":{");
    for (int i = 0; i < GSRT_CAMPAIGN_SERIES_COUNT && status == GSRT_OK; i++) {
        double median, worst;
        median_and_worst(&totals->series[i], &median, &worst);
        status = gsrt_buffer_print(out, "%s\"%s\":", i == 0 ? "" : ",", series_name(i));
        if (status == GSRT_OK)
            status = median < 0 ? gsrt_buffer_print(out, "null")
                                : gsrt_buffer_print(out, "{\"median\":%.3f,\"worst\":%.3f}", median, worst);
    }
    return status;
}

gsrt_status gsrt_campaign_print_json(gsrt_campaign_totals *totals, const gsrt_campaign_base *base, double elapsed_s,
                                     gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, "{\"schema\":\"gsrt-campaign/1\",\"name\":");
    if (status == GSRT_OK)
        status = gsrt_json_print_text(out, gsrt_span_of_text(base->name));
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, ",\"seed_first\":%" PRIu64 ",\"seeds\":%" PRIu64, base->seed_first,
                                   totals->seed_count);
    for (int end = 0; end < 3 && status == GSRT_OK; end++)
        status = gsrt_buffer_print(out, ",\"%s\":%" PRIu64, end_names[end], totals->end_counts[end]);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, ",\"faults\":{\"scenario\":%" PRIu64, totals->seed_count * base->fault_count);
    for (int kind = 0; kind < GSRT_CAMPAIGN_KIND_COUNT && status == GSRT_OK; kind++)
        status = gsrt_buffer_print(out, ",\"%s\":%" PRIu64, gsrt_campaign_kind_name((gsrt_campaign_kind)kind),
                                   totals->fault_counts[kind]);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "},\"incidents\":%" PRIu64 ",\"recoveries\":{", totals->incident_count);
    for (int method = 1; method < GSRT_HEAL_METHOD_COUNT && status == GSRT_OK; method++)
        status =
            gsrt_buffer_print(out, "%s\"%s\":%" PRIu64, method == 1 ? "" : ",",
                              gsrt_incident_method_name((gsrt_incident_method)method), totals->method_counts[method]);
    if (status == GSRT_OK)
        status = print_json_times(totals, out);
    if (status == GSRT_OK)
        status =
            gsrt_buffer_print(out,
                              "},\"events\":%" PRIu64 ",\"events_waiting_max\":%" PRIu32 ",\"inbox_bytes_max\":%" PRIu64
                              ",\"run_twice\":%" PRIu64 ",\"digest\":\"%016" PRIx64 "\",\"elapsed_s\":%.3f",
                              totals->event_count, totals->waiting_max, totals->inbox_bytes_max, totals->repeated_count,
                              totals->digest, elapsed_s);
    if (status == GSRT_OK)
        status = print_json_named(totals, GSRT_CAMPAIGN_NO_QUORUM, out);
    if (status == GSRT_OK)
        status = print_json_named(totals, GSRT_CAMPAIGN_BROKEN, out);
    return status == GSRT_OK ? gsrt_buffer_print(out, "}\n") : status;
}
