/* plan.json of a plan that was looked for (docs/schemas/plan.schema.json, "gsrt-plan/2"): the choice, what is predicted
 * of it and why, what proves that it keeps the contract, what becomes of it when something is lost, and what was
 * rejected. The same planning gives the same bytes: no clock, no paths of this machine but those that the user named.
 */
#ifndef GSRT_LAUNCH_PLAN_JSON_H
#define GSRT_LAUNCH_PLAN_JSON_H

#include "launch/json_tree.h"
#include "launch/plan_fallbacks.h"
#include "launch/planning.h"
#include "launch/rehearsal.h"

#define GSRT_PLANNED_SCHEMA "gsrt-plan/2"

/* After a search, successful or not. fallbacks: NULL where there is no choice; rehearsal: NULL where there was none.
 * Owned: json_decref; NULL: no memory. */
json_t *gsrt_plan_json(const gsrt_planning *planning, const gsrt_plan_fallbacks *fallbacks,
                       const gsrt_rehearsal *rehearsal);

#endif
