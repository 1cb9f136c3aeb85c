/* This machine as a fleet: its topology (hwloc), the counters that can be read (PAPI), its accelerators (NVML), and,
 * when asked for, what it does when it is measured.
 */
#ifndef GSRT_LAUNCH_FLEET_DISCOVER_H
#define GSRT_LAUNCH_FLEET_DISCOVER_H

#include "launch/fleet_measure.h"

typedef struct gsrt_discovery {
    const char *nvml_path; /* the library to ask; NULL: the system's, if it has one */
    bool is_measuring;     /* else nothing is measured, and the same machine gives the same fleet */
    gsrt_measuring measuring;
    gsrt_measured_links links; /* of gsrt_fleet_links_measure; all 0: not measured */
    int32_t today;             /* days since 1970-01-01; what is measured is dated with it */
} gsrt_discovery;

/* *out owned: gsrt_fleet_free. What a source does not know, or there is no such source, is a note in *findings.
 * GSRT_OK | GSRT_EINPUT: *diag says why: no topology, or the library that somebody named is none | GSRT_ENOMEM |
 * GSRT_EIO. thread: no other may run, because of fork. cost: processes of some seconds at most; measuring: some seconds
 * for each processor and memory, which should do nothing else meanwhile. */
GSRT_MUST_CHECK gsrt_status gsrt_fleet_discover(const gsrt_discovery *discovery, gsrt_findings *findings,
                                                gsrt_fleet **out, gsrt_diag *diag);

#endif
