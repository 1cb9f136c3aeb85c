/* What a campaign has come to: the results of all seeds, summed. Results are added in any order; what is printed does
 * not depend on it. Pure. Thread: its owner's. Memory: 24 bytes per recovery. */
#ifndef GSRT_LAUNCH_CAMPAIGN_TOTALS_H
#define GSRT_LAUNCH_CAMPAIGN_TOTALS_H

#include "launch/campaign_seed.h"

enum {
    GSRT_CAMPAIGN_NAMED_MAX = 64,                      /* seeds of each kind of end that are named, the lowest ones */
    GSRT_CAMPAIGN_SERIES_COUNT = GSRT_PHASE_COUNT + 1, /* phases, and all of them together */
};

typedef struct gsrt_campaign_named {
    uint64_t seed;
    char why[240];
} gsrt_campaign_named;

typedef struct gsrt_campaign_series {
    uint32_t *values; /* [count], us; owned */
    size_t count, capacity;
} gsrt_campaign_series;

typedef struct gsrt_campaign_totals {
    uint64_t seed_count, repeated_count;
    uint64_t end_counts[3]; /* by gsrt_campaign_end */
    uint64_t fault_counts[GSRT_CAMPAIGN_KIND_COUNT];
    uint64_t method_counts[GSRT_HEAL_METHOD_COUNT];
    uint64_t incident_count, event_count, digest;
    uint64_t inbox_bytes_max;
    uint32_t waiting_max;
    int64_t after_quiet_ns_max; /* of complete ones */
    gsrt_campaign_series series[GSRT_CAMPAIGN_SERIES_COUNT];
    gsrt_campaign_named named[3][GSRT_CAMPAIGN_NAMED_MAX]; /* by end; ascending */
    uint32_t named_counts[3];
} gsrt_campaign_totals;

/* GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_campaign_totals_add(gsrt_campaign_totals *totals, const gsrt_campaign_result *result);
void gsrt_campaign_totals_fini(gsrt_campaign_totals *totals);

/* For a person, and as one line of JSON. `scenario`: its path, for the line that runs a seed again; elapsed_s: real
 * time, < 0: not to be told. Errors as gsrt_buffer_append. Sorts what it prints. */
GSRT_MUST_CHECK gsrt_status gsrt_campaign_print(gsrt_campaign_totals *totals, const gsrt_campaign_base *base,
                                                const char *scenario, double elapsed_s, gsrt_buffer *out);
GSRT_MUST_CHECK gsrt_status gsrt_campaign_print_json(gsrt_campaign_totals *totals, const gsrt_campaign_base *base,
                                                     double elapsed_s, gsrt_buffer *out);

#endif
