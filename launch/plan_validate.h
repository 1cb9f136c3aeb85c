/* gsrt plan --validate: measure on the model's weights what the contract admits only with evidence.
 *
 * Tried are the formats that a region's author and the contract leave open, all regions that one rule admits at once,
 * the least narrow first: KV in f16, weights in q8_0, both. What is found is added to the planning's evidence, and the
 * search takes it from there.
 */
#ifndef GSRT_LAUNCH_PLAN_VALIDATE_H
#define GSRT_LAUNCH_PLAN_VALIDATE_H

#include "launch/planning.h"

/* Between open and search. GSRT_OK | GSRT_EINPUT (no weights, no corpus, nothing to measure) | GSRT_ENOMEM. Blocks: two
 * plain passes over the corpus for each try. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_validate(gsrt_planning *planning, gsrt_diag *diag);

#endif
