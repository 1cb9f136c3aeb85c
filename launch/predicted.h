/* Predicted beside observed: what a plan that was looked for promised, and what came of it. */
#ifndef GSRT_LAUNCH_PREDICTED_H
#define GSRT_LAUNCH_PREDICTED_H

#include "base/json.h"
#include "launch/report.h"

/* One row: a measure as predicted and as observed. */
typedef struct gsrt_predicted_row {
    gsrt_measure measure;
    gsrt_percentile percentile;
    gsrt_quantity predicted;
    double observed; /* in base units; < 0: it was not */
} gsrt_predicted_row;

enum { GSRT_PREDICTED_ROWS_MAX = 12 };

/* The rows of a report with `predicted`; returns how many. Times of a run on simulated devices are divided by
 * fleet.time_scale, which had stretched them. */
uint32_t gsrt_predicted_rows(const gsrt_report *report, gsrt_predicted_row out[GSRT_PREDICTED_ROWS_MAX]);
/* "virtual time of the twin", "simulated time of the devices", "measured"; static. */
const char *gsrt_predicted_observed_as(const gsrt_report *report);

/* "latency p50 12.3 ms [10 ms, 15 ms], observed 13 ms (simulated ...)", of what the plan was chosen by. false: that is
 * not observed. */
bool gsrt_predicted_text(const gsrt_report *report, char *room, size_t room_bytes);

/* The same as JSON: {observed_as, rows: [...]}; owned; NULL: no memory. */
json_t *gsrt_predicted_json(const gsrt_report *report);

#endif
