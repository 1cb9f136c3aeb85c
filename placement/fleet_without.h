/* A fleet that has lost something: what is left to plan with when one failure domain is gone. */
#ifndef GSRT_PLACEMENT_FLEET_WITHOUT_H
#define GSRT_PLACEMENT_FLEET_WITHOUT_H

#include "base/diag.h"
#include "placement/fleet.h"

/* What fails at once: a place with all that is in it, or a part. One of the two is GSRT_FLEET_NONE. */
typedef struct gsrt_fleet_domain {
    uint32_t place, part;
} gsrt_fleet_domain;

/* The fleet without one instance of the domain. Counts are not unrolled: of a thing that several places hold one is
 * taken out of each, so that what is left is no more than what any single loss leaves. Links with an end that is gone
 * go, too. *out owned.
 * GSRT_OK | GSRT_EEMPTY: no engine is left | GSRT_ENOMEM. Cost: O(entries^2) at most. */
GSRT_MUST_CHECK gsrt_status gsrt_fleet_without(const gsrt_fleet *fleet, gsrt_fleet_domain domain, gsrt_fleet **out);

/* Does an instance of `part` fail with the domain? */
bool gsrt_fleet_is_in(const gsrt_fleet *fleet, uint32_t part, gsrt_fleet_domain domain);

#endif
