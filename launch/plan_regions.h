/* In which regions a plan serves requests, where it matters where they come from (demand.origin). */
#ifndef GSRT_LAUNCH_PLAN_REGIONS_H
#define GSRT_LAUNCH_PLAN_REGIONS_H

#include "launch/planning.h"

typedef struct gsrt_plan_region {
    const char *name;   /* of the fleet; "no region": engines that stand in none */
    bool is_origin;     /* requests come from there */
    bool is_entered;    /* requests are sent there; false: they only pass through stages there */
    const char *only;   /* "prefill" or "decode", where that is all that is done there; NULL: both are */
    double share;       /* 0..1 of all requests: computed there, or a part of them */
    gsrt_quantity more; /* s to their first token, of those that are sent there: the most; 0 of the origin */
} gsrt_plan_region;

/* Region `index` of the choice, the origin first, then in the order of names; false: there are no more.
 * cost  what was predicted of it, for a demand with an origin. */
bool gsrt_plan_region_at(const gsrt_planning *planning, const gsrt_cost *cost, uint32_t index, gsrt_plan_region *out);

/* ", in us-east": each region but the origin in which a pool has engines. Nothing without an origin. Errors as
 * gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_regions_words(const gsrt_planning *planning, const gsrt_deployment_pool *pool,
                                                    gsrt_buffer *out);

/* A sentence a line: where requests are served, and what those pay that go elsewhere. Nothing without an origin. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_regions_say(const gsrt_planning *planning, gsrt_buffer *out);

#endif
