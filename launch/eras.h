/* The eras of a run: which regions were narrowed when its tokens were made.
 *
 * A run begins with what its plan narrows. A violation of a budget begins another era, with what is left of that; the
 * tokens emitted before stay, and from the first new one on everything is computed as the new era has it. A token that
 * is computed again is compared with the one that was emitted where both are of one era.
 *
 *   era 0            era 1: add (the violation is known) -> begin (who emitted before has stopped; counts are known)
 *   |---------------------|------------------------------------------------->
 *
 * narrowed.json of the run directory holds them, so that whoever leads next, or resumes, knows them. Thread: its
 * owner's.
 */
#ifndef GSRT_LAUNCH_ERAS_H
#define GSRT_LAUNCH_ERAS_H

#include "base/json.h"
#include "placement/plan.h"

/* What the watch has seen (launch/watch.h). */
typedef struct gsrt_violation_seen {
    const char *statistic; /* "divergence" or "absolute_error": of placement/contract.h; static */
    double seen, bound;
    uint32_t request, position;
} gsrt_violation_seen;

typedef struct gsrt_era {
    uint32_t view;                /* in which the violation was seen; era 0: 0 */
    gsrt_violation_seen why;      /* of era 0: nothing */
    gsrt_plan_narrowed *narrowed; /* [narrowed_count]; owned */
    uint32_t narrowed_count;
    bool has_begun;
    uint32_t *first; /* [request_count]: the first token of each that is of this era; owned */
} gsrt_era;

/* Each takes back at least one change of a plan, or all: more are a mistake. */
enum { GSRT_ERA_COUNT_MAX = 16 };

typedef struct gsrt_eras {
    gsrt_era items[GSRT_ERA_COUNT_MAX];
    uint32_t count, request_count;
} gsrt_eras;

/* Era 0 narrows what the plan does. GSRT_OK | GSRT_ENOMEM. In any case gsrt_eras_fini. */
GSRT_MUST_CHECK gsrt_status gsrt_eras_init(gsrt_eras *eras, const gsrt_plan *plan, uint32_t request_count);
void gsrt_eras_fini(gsrt_eras *eras); /* zeroed is fine */

/* A violation was seen in view `view`; `plan` narrows what is left. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_eras_add(gsrt_eras *eras, uint32_t view, const gsrt_violation_seen *why,
                                          const gsrt_plan *plan);
/* The last one begins now: token_counts [request_count] have been emitted. */
void gsrt_eras_begin(gsrt_eras *eras, const uint32_t *token_counts);

const gsrt_era *gsrt_eras_last(const gsrt_eras *eras);
/* Which era a token is of. O(eras). */
uint32_t gsrt_eras_of(const gsrt_eras *eras, uint32_t request, uint32_t index);

/* [{"region": "layer.1", "weights": "q8_0"}]; owned; NULL: no memory. */
json_t *gsrt_narrowed_json(const gsrt_plan_narrowed *narrowed, uint32_t count);
/* What was seen, and under the key `narrowed` what it left; owned; NULL: no memory. */
json_t *gsrt_era_json(const gsrt_era *era, const char *narrowed);

/* narrowed.json. Errors as gsrt_json_print. */
GSRT_MUST_CHECK gsrt_status gsrt_eras_print(const gsrt_eras *eras, gsrt_buffer *out);
/* What an earlier leader wrote, hostile input: instead of what there is but era 0. GSRT_OK | GSRT_EINPUT: nothing has
 * changed | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_eras_read(gsrt_eras *eras, gsrt_span json, const char *file, gsrt_diag *diag);

#endif
