/* Between the regions that a plan narrows and the choices of a deployment: the same thing, said for whoever executes
 * and for whoever plans. Names of places are those of regions: "embed", "layer.3", "output". Pure; thread: any. */
#ifndef GSRT_PLACEMENT_PLAN_CHOICES_H
#define GSRT_PLACEMENT_PLAN_CHOICES_H

#include "placement/deployment.h"
#include "placement/plan.h"

enum { GSRT_PLAN_PLACE_NAME_BYTES = 20 };

/* Of a workload that runs: where it stands in the workload's order. */
uint32_t gsrt_plan_place_of(const gsrt_workload *workload, uint32_t region);
/* "layer.3", in `room`. */
const char *gsrt_plan_place_name(uint32_t place, char room[GSRT_PLAN_PLACE_NAME_BYTES]);
/* false: it names no place. */
bool gsrt_plan_place_named(const char *name, uint32_t *out);

/* choices [region_count]: canonical kernels, weights as the plan has them, everything else as given. */
void gsrt_plan_choices(const gsrt_plan *plan, const gsrt_workload *workload, gsrt_region_choice *choices);
/* Have the plan narrow what these choices [region_count] narrow. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_take_choices(gsrt_plan *plan, const gsrt_workload *workload,
                                                   const gsrt_region_choice *choices);

#endif
