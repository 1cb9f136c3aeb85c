/* A deployment and its numbers in words, for people: one line each. Used by the table, plan.json and explain. */
#ifndef GSRT_LAUNCH_PLAN_WORDS_H
#define GSRT_LAUNCH_PLAN_WORDS_H

#include "launch/planning.h"

enum { GSRT_PLAN_WORDS_BYTES = 96 };

/* "12.3 ms": three digits in the unit that suits a value given in the base unit `unit` (gsrt_dimension_name); "never"
 * for what is past GSRT_COST_NEVER_S. Returns `room`. */
const char *gsrt_plan_value(double value, const char *unit, char room[GSRT_PLAN_WORDS_BYTES]);
/* The same of a quantity; "unknown". */
const char *gsrt_plan_number(const gsrt_quantity *quantity, char room[GSRT_PLAN_WORDS_BYTES]);

/* "layers 0-3 on rank1 + rank2 (5:3, subtrees); layers 4-4 on rank3; batch 8". Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_words_deployment(const gsrt_planning *planning, const gsrt_deployment *deployment,
                                                       gsrt_buffer *out);
/* The same as a text of its own: *out owned, free(). GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_words_copy(const gsrt_planning *planning, const gsrt_deployment *deployment,
                                                 char **out);
/* One stage of it, replica 0. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_words_members(const gsrt_planning *planning, const gsrt_deployment_stage *stage,
                                                    gsrt_buffer *out);

#endif
