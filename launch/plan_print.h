/* A plan for people, from its plan.json ("gsrt-plan/2"): the same pages whether it was just made or read from a file.
 *
 * The tree may come from a file that anybody wrote: what is missing, or is something else, is left out.
 */
#ifndef GSRT_LAUNCH_PLAN_PRINT_H
#define GSRT_LAUNCH_PLAN_PRINT_H

#include "base/json.h"

/* The whole page: choice, predictions, memory, why, what binds, debt, fallbacks, what was rejected. is_long: all of the
 * lists, else their first lines. Errors as gsrt_buffer_append, here and below. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_print_page(const json_t *plan, bool is_long, gsrt_buffer *out);

/* One section: "choice", "predictions", "memory", "topology", "why", "binding", "proofs", "assumptions", "debt",
 * "fallbacks", "rejected", "search"; or what a prediction rests on: a measure, "ttft", with or without a percentile,
 * "ttft.p99". GSRT_ENOTFOUND: no such section, or the plan has none. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_print_section(const json_t *plan, const char *section, gsrt_buffer *out);
/* The names of the sections, by index; NULL past the last. */
const char *gsrt_plan_section_name(size_t index);

#endif
