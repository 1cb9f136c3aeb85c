/* The hardware counters of this machine that can be read, by PAPI's names of presets. */
#ifndef GSRT_LAUNCH_FLEET_COUNTERS_H
#define GSRT_LAUNCH_FLEET_COUNTERS_H

#include "base/buffer.h"
#include "placement/findings.h"

/* Append the names (letters, digits and _), a line each, to *names; *out_is_known false: nobody can say. Where there
 * are none, or nobody can say, a note in *findings says why. GSRT_OK | GSRT_ENOMEM | GSRT_EIO: no process. thread,
 * cost: as gsrt_child_run. */
GSRT_MUST_CHECK gsrt_status gsrt_fleet_counters(gsrt_buffer *names, bool *out_is_known, gsrt_findings *findings);

#endif
