/* What becomes of a plan when ranks are missing: a pure function of the full plan and of who is there, so that every
 * rank that knows the view knows the plan.
 *
 * A missing rank's role goes to the first spare that is there, then to the lowest rank without a role; where there is
 * none, the group goes on without it, its share divided among the others in proportion to theirs; a stage of which
 * nobody is left gives its layers to the stage before it (the first one: to the next). Under the bitwise contract every
 * such plan gives the same bits (docs/numerics.md): its obligation is met by construction.
 */
#ifndef GSRT_PLACEMENT_FALLBACK_H
#define GSRT_PLACEMENT_FALLBACK_H

#include "placement/plan.h"

/* How a run goes on. The order is that of preference where the predicted times are equal. */
typedef enum gsrt_way {
    GSRT_WAY_FULL = 1, /* everybody with a role is there: the full plan */
    GSRT_WAY_SPARE,    /* others have taken the roles of the missing */
    GSRT_WAY_RESHAPED, /* the survivors divide the work anew */
} gsrt_way;
const char *gsrt_way_name(gsrt_way way); /* "full", "spare", "reshaped"; static */

/* The plan for those ranks of is_there[rank_count] that are true. *out owned. `full` has been checked for rank_count.
 * GSRT_OK | GSRT_EINFEASIBLE: nobody is there | GSRT_ENOMEM. O(ranks). */
GSRT_MUST_CHECK gsrt_status gsrt_plan_without(const gsrt_plan *full, const bool *is_there, uint32_t rank_count,
                                              gsrt_plan **out, gsrt_way *out_way);
/* The same stages, groups, shares, exchange and narrowed regions; spares do not count. */
bool gsrt_plan_is_equal(const gsrt_plan *a, const gsrt_plan *b);
/* The same, narrowed regions too, but for which ranks have the roles: what a role has to do is the same in both. */
bool gsrt_plan_has_layout_of(const gsrt_plan *a, const gsrt_plan *b);

/* A plan of its own, equal to `plan`. *out owned. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_copy(const gsrt_plan *plan, gsrt_plan **out);

/* A plan as it travels in a START: arrays, borrowed from `carrier`, which the caller keeps until it was sent. */
typedef struct gsrt_plan_carrier {
    uint32_t layers[2 * GSRT_STAGE_COUNT_MAX], member_counts[GSRT_STAGE_COUNT_MAX];
    uint32_t ranks[GSRT_RANK_COUNT_MAX], shares[GSRT_RANK_COUNT_MAX], spares[GSRT_RANK_COUNT_MAX];
    uint32_t narrowed[2 * GSRT_PLAN_PLACE_COUNT]; /* place and format in turn */
    uint32_t stage_count, role_count, spare_count, exchange, narrowed_count;
} gsrt_plan_carrier;
void gsrt_plan_pack(const gsrt_plan *plan, gsrt_plan_carrier *out);
/* Counts and numbers are checked against the limits, nothing else: gsrt_plan_check follows. *out owned.
 * GSRT_OK | GSRT_EDECODE | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_unpack(const gsrt_plan_carrier *carrier, gsrt_plan **out);

#endif
