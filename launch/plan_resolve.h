/* plan: auto, as a run sees it. */
#ifndef GSRT_LAUNCH_PLAN_RESOLVE_H
#define GSRT_LAUNCH_PLAN_RESOLVE_H

#include "launch/loaded.h"
#include "launch/scenario.h"

/* Where the scenario says plan: auto, and nobody has planned yet: give it the plan that its ranks come to. Every rank
 * does this by itself. The plan has still to be checked, as one that was written. Of a plan that was written: does the
 * contract keep what it narrows?
 * GSRT_OK | as open and search, and gsrt_admission_check. */
GSRT_MUST_CHECK gsrt_status gsrt_planning_resolve(gsrt_scenario *scenario, const gsrt_loaded *loaded,
                                                  uint32_t rank_count, gsrt_diag *diag);

#endif
