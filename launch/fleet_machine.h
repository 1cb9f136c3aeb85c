/* What is known of this machine beside its topology; the writer of the inventory (fleet_hwloc.c) puts it where it
 * belongs. Filled by fleet_discover.c. */
#ifndef GSRT_LAUNCH_FLEET_MACHINE_H
#define GSRT_LAUNCH_FLEET_MACHINE_H

#include "base/buffer.h"
#include "launch/fleet_nvml.h"
#include "placement/fleet.h"

enum { GSRT_MACHINE_PACKAGES_MAX = 64, GSRT_MACHINE_DOMAINS_MAX = 64 };

/* The median of some passes, the lowest and the highest; all 0: not measured. */
typedef struct gsrt_measured {
    double value, lo, hi;
} gsrt_measured;

/* Of one processor, with all of its processing units that this process may use. */
typedef struct gsrt_measured_engine {
    gsrt_measured rates[GSRT_CLASS_COUNT][GSRT_FORMAT_COUNT]; /* op/s of the canonical kernels */
    gsrt_measured launch;                                     /* s of a piece of work that is next to nothing */
    uint32_t thread_count;
} gsrt_measured_engine;

/* Of one memory, read by the processing units closest to it. */
typedef struct gsrt_measured_memory {
    gsrt_measured one_thread, all_threads; /* B/s */
    uint32_t thread_count;                 /* of all_threads */
} gsrt_measured_memory;

/* Between ranks: latency of a small message (s) and bandwidth of a large one (B/s), one way. */
typedef struct gsrt_measured_links {
    uint32_t rank, rank_count, host_count;      /* rank: of this process */
    gsrt_measured near_latency, near_bandwidth; /* to another rank of rank 0's host */
    gsrt_measured far_latency, far_bandwidth;   /* to the slowest of the other hosts */
    char near_lane[64], far_lane[64];           /* how they go; "" where there is no such rank */
} gsrt_measured_links;

typedef struct gsrt_machine {
    bool has_counters;
    gsrt_span counters; /* names, a line each; borrowed */
    gsrt_nvml nvml;
    int32_t measured_day; /* GSRT_DAY_FIRST: nothing was measured */
    uint32_t pass_count;
    gsrt_measured_engine engines[GSRT_MACHINE_PACKAGES_MAX]; /* by hwloc's logical index, like the next */
    gsrt_measured_memory memories[GSRT_MACHINE_DOMAINS_MAX];
    gsrt_measured_links links;
} gsrt_machine;

#endif
