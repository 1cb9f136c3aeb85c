#include "launch/predicted.h"

#include "launch/json_tree.h"
#include "launch/plan_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_simulated(const gsrt_report *report)
{
    for (uint32_t i = 0; i < report->backend_count; i++) {
        if (report->backends[i].is_simulated)
            return true;
    }
    return false;
}

static bool is_twin(const gsrt_report *report)
{
    return strcmp(report->world, "twin") == 0;
}

const char *gsrt_predicted_observed_as(const gsrt_report *report)
{
    return is_twin(report)        ? "virtual time of the twin"
           : is_simulated(report) ? "simulated time of the devices: the clock, divided by fleet.time_scale"
                                  : "measured";
}

/* What the clock showed for one second of the devices' own time. */
static double stretch_of(const gsrt_report *report)
{
    return !is_twin(report) && is_simulated(report) ? report->predicted->time_scale : 1;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Nearest rank; < 0: nothing was observed. Sorts. */
static double quantile(double *numbers, size_t count, gsrt_percentile percentile)
{
    static const double shares[GSRT_PERCENTILE_COUNT] = {0.50, 0.95, 0.99};
    if (count == 0)
        return -1;
    qsort(numbers, count, sizeof *numbers, compare);
    double at = shares[percentile] * (double)count;
    size_t index = (size_t)at;
    index = at > (double)index || index == 0 ? index : index - 1;
    return numbers[index < count ? index : count - 1];
}

/* Of one request, in s; < 0: not observed. */
static double observe(const gsrt_report_request *request, gsrt_measure measure, double stretch)
{
    double ttft = request->ttft_ms >= 0 ? request->ttft_ms / 1e3 / stretch : -1;
    double tpot = request->decode_tokens_per_s > 0 ? 1 / request->decode_tokens_per_s / stretch : -1;
    if (measure == GSRT_MEASURE_TTFT)
        return ttft;
    if (measure == GSRT_MEASURE_TPOT)
        return tpot;
    if (request->token_count == 1)
        return ttft;
    return ttft < 0 || tpot < 0 ? -1 : ttft + tpot * (request->token_count - 1);
}

static double observed_time(const gsrt_report *report, gsrt_measure measure, gsrt_percentile percentile)
{
    double *numbers = calloc(report->request_count + 1, sizeof *numbers);
    size_t count = 0;
    if (numbers == NULL)
        return -1;
    for (uint32_t i = 0; i < report->request_count; i++) {
        double number = observe(&report->requests[i], measure, stretch_of(report));
        if (number >= 0)
            numbers[count++] = number;
    }
    double found = quantile(numbers, count, percentile);
    free(numbers);
    return found;
}

static uint64_t token_total(const gsrt_report *report)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < report->request_count; i++)
        total += report->requests[i].token_count;
    return total;
}

/* Of the tokens that came in the writer's time. */
static double observed_throughput(const gsrt_report *report)
{
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < report->request_count; i++)
        tokens += report->requests[i].timed_count;
    return tokens == 0 || !(report->times.generate_ms > 0)
               ? -1
               : (double)tokens * 1e3 / report->times.generate_ms * stretch_of(report);
}

/* Only where all that worked says what it took. */
static double observed_energy(const gsrt_report *report)
{
    uint64_t tokens = token_total(report);
    double sum = 0;
    for (uint32_t i = 0; i < report->backend_count; i++) {
        if (!report->backends[i].is_simulated || report->backends[i].energy_j < 0)
            return -1;
        sum += report->backends[i].energy_j;
    }
    return tokens == 0 || report->backend_count == 0 ? -1 : sum / (double)tokens;
}

uint32_t gsrt_predicted_rows(const gsrt_report *report, gsrt_predicted_row out[GSRT_PREDICTED_ROWS_MAX])
{
    static const gsrt_measure timed[] = {GSRT_MEASURE_TTFT, GSRT_MEASURE_TPOT, GSRT_MEASURE_LATENCY};
    uint32_t count = 0;
    for (size_t m = 0; m < sizeof timed / sizeof timed[0]; m++) {
        for (int q = 0; q < GSRT_PERCENTILE_COUNT; q++)
            out[count++] = (gsrt_predicted_row){.measure = timed[m],
                                                .percentile = (gsrt_percentile)q,
                                                .predicted = report->predicted->values[timed[m]][q],
                                                .observed = observed_time(report, timed[m], (gsrt_percentile)q)};
    }
    out[count++] = (gsrt_predicted_row){.measure = GSRT_MEASURE_THROUGHPUT,
                                        .predicted = report->predicted->values[GSRT_MEASURE_THROUGHPUT][0],
                                        .observed = observed_throughput(report)};
    out[count++] = (gsrt_predicted_row){.measure = GSRT_MEASURE_ENERGY,
                                        .predicted = report->predicted->values[GSRT_MEASURE_ENERGY][0],
                                        .observed = observed_energy(report)};
    return count;
}

bool gsrt_predicted_text(const gsrt_report *report, char *room, size_t room_bytes)
{
    gsrt_predicted_row rows[GSRT_PREDICTED_ROWS_MAX];
    char value[GSRT_PLAN_WORDS_BYTES], lo[GSRT_PLAN_WORDS_BYTES], hi[GSRT_PLAN_WORDS_BYTES],
        observed[GSRT_PLAN_WORDS_BYTES], unit[32];
    uint32_t count = gsrt_predicted_rows(report, rows);
    for (uint32_t i = 0; i < count; i++) {
        const gsrt_predicted_row *row = &rows[i];
        bool has_percentile = row->measure <= GSRT_MEASURE_LATENCY;
        if (row->measure != report->predicted->measure || !row->predicted.is_known || row->observed < 0 ||
            (has_percentile && row->percentile != report->predicted->percentile))
            continue;
        gsrt_dimension_name(row->predicted.dimension, unit, sizeof unit);
        (void)snprintf(room, room_bytes, "%s%s%s %s (%s to %s), observed %s (%s)", gsrt_measure_word(row->measure),
                       has_percentile ? " " : "", has_percentile ? gsrt_percentile_word(row->percentile) : "",
                       gsrt_plan_value(row->predicted.value, unit, value), gsrt_plan_value(row->predicted.lo, unit, lo),
                       gsrt_plan_value(row->predicted.hi, unit, hi), gsrt_plan_value(row->observed, unit, observed),
                       gsrt_predicted_observed_as(report));
        return true;
    }
    return false;
}

json_t *gsrt_predicted_json(const gsrt_report *report)
{
    gsrt_predicted_row rows[GSRT_PREDICTED_ROWS_MAX];
    uint32_t count = gsrt_predicted_rows(report, rows);
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        const gsrt_predicted_row *row = &rows[i];
        bool is_both = row->predicted.is_known && row->observed >= 0;
        gsrt_tree t = {.value = json_object()};
        gsrt_tree_text(&t, "measure", gsrt_measure_word(row->measure));
        gsrt_tree_text(&t, "percentile",
                       row->measure <= GSRT_MEASURE_LATENCY ? gsrt_percentile_word(row->percentile) : NULL);
        gsrt_tree_set(&t, "predicted", gsrt_tree_quantity(&row->predicted));
        gsrt_tree_set(&t, "observed", row->observed < 0 ? json_null() : gsrt_json_real(row->observed));
        gsrt_tree_set(&t, "ratio",
                      is_both && row->predicted.value > 0 ? gsrt_json_real(row->observed / row->predicted.value)
                                                          : json_null());
        gsrt_tree_set(&t, "within",
                      is_both ? json_boolean(row->observed >= row->predicted.lo && row->observed <= row->predicted.hi)
                              : json_null());
        list = gsrt_tree_append(list, t.value);
    }
    gsrt_tree all = {.value = json_object()};
    gsrt_tree_text(&all, "observed_as", gsrt_predicted_observed_as(report));
    gsrt_tree_set(&all, "rows", list);
    return all.value;
}
