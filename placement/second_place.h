/* The second place of what a rank holds: the most distant rank of the view, so that one failure does not take both.
 *
 * Another host comes before the same host; among equals one without a role (it is the likeliest to take the lost one's,
 * and has nothing else to do), then whoever is the second place of the fewest others, then the next in turn. Pure.
 */
#ifndef GSRT_PLACEMENT_SECOND_PLACE_H
#define GSRT_PLACEMENT_SECOND_PLACE_H

#include "placement/plan.h"

#define GSRT_NO_PLACE UINT32_MAX

/* out[rank_count]: the second place of each rank with a role in `plan`; GSRT_NO_PLACE: it has no role, or nobody else
 * is there. hosts: [rank_count] names; NULL: unknown, all are equal. O(roles * ranks). */
void gsrt_plan_second_places(const gsrt_plan *plan, const char *const *hosts, const bool *is_there, uint32_t rank_count,
                             uint32_t *out);

#endif
