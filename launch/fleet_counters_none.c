/* Where GSRT was built without PAPI. */
#include "launch/fleet_counters.h"

gsrt_status gsrt_fleet_counters(gsrt_buffer *names, bool *out_is_known, gsrt_findings *findings)
{
    (void)names;
    *out_is_known = false;
    gsrt_findings_add(findings, "not_discovered", "this machine: counters",
                      "this build lacks PAPI; install libpapi-dev and configure again");
    return GSRT_OK;
}
