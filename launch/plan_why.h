/* Why a plan is what it is, in sentences made from the facts: what the objective is made of, what binds, what the
 * closest rival would have been better and worse at, and which faster engine was left out, with the figures.
 */
#ifndef GSRT_LAUNCH_PLAN_WHY_H
#define GSRT_LAUNCH_PLAN_WHY_H

#include "launch/planning.h"

/* Append a sentence a line. Of a planning with a choice. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. Predicts a few rivals. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_why(const gsrt_planning *planning, gsrt_buffer *out);

/* A constraint, and how much of it is used. */
typedef struct gsrt_plan_binding {
    char constraint[160]; /* "memory of rank1", "limit of ttft p99" */
    gsrt_quantity used, available;
    double share; /* used / available; for what must be at least so much, the inverse */
} gsrt_plan_binding;

enum { GSRT_PLAN_BINDINGS_MAX = 32 };

/* The constraints of the choice, the tightest first; returns how many were written. */
uint32_t gsrt_plan_bindings(const gsrt_planning *planning, gsrt_plan_binding out[GSRT_PLAN_BINDINGS_MAX]);

/* The name of a part, or of the rank that is its instance. Returns `room` or the part's name. */
const char *gsrt_plan_part_name(const gsrt_planning *planning, uint32_t part, uint64_t instance, char room[64]);

#endif
