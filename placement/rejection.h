/* Why a candidate was rejected: a reason of a closed list, the constraint, by how much it failed, and the smallest
 * change that would admit it. The list stands in docs/planning.md.
 */
#ifndef GSRT_PLACEMENT_REJECTION_H
#define GSRT_PLACEMENT_REJECTION_H

#include "placement/deployment.h"

/* Words are what plan.json says. */
#define GSRT_REASON_MEMORY "memory"                       /* weights, KV and buffers exceed a memory */
#define GSRT_REASON_CAPABILITY "capability"               /* an engine states no rate for a class of work and format */
#define GSRT_REASON_UNKNOWN "unknown_quantity"            /* a number that is needed was never stated */
#define GSRT_REASON_UNREACHABLE "unreachable"             /* no link joins two that must exchange */
#define GSRT_REASON_DIVISIBILITY "divisibility"           /* heads, experts or layers cannot be cut so */
#define GSRT_REASON_ENGINES "engines"                     /* more engines than there are, or one twice */
#define GSRT_REASON_CONTRACT_NARROWED "contract_narrowed" /* fewer bits than the contract allows */
#define GSRT_REASON_CONTRACT_REORDERED "contract_reordered" /* a sum in another order */
#define GSRT_REASON_CONTRACT_UNPROVEN "contract_unproven"   /* kernels that nobody has proved */
#define GSRT_REASON_CONTRACT_EVIDENCE "contract_evidence"   /* evidence is missing, or says no */
#define GSRT_REASON_LEGAL "illegal"                         /* the region's author forbids it */
#define GSRT_REASON_LIMIT "limit"                           /* a hard limit of the objective */
#define GSRT_REASON_POWER "power"                           /* a power or cooling budget of a place */
#define GSRT_REASON_POLICY "policy"                         /* trust, region, or another rule of the scenario */
#define GSRT_REASON_NOT_EXECUTABLE "not_executable"         /* the runtime lacks it */
#define GSRT_REASON_CONTEXT "context" /* demand exceeds the context that is kept, or the model's */
#define GSRT_REASON_WORSE "worse"     /* feasible, and the objective is worse */
#define GSRT_REASON_REHEARSED                                                                                          \
    "rehearsed" /* feasible, and predicted to be better, but it was worse when it was run in the twin */

typedef struct gsrt_rejection {
    const char *reason;              /* one of the above */
    const char *constraint;          /* "pools[0].stages[1].members[0]: memory of 'gpu.hbm'"; of the owner's arena */
    gsrt_quantity needed, available; /* by how much it failed; unknown where no number says it */
    const char *change;              /* for people: "capacity of 'gpu.hbm' of 87.1 GB instead of 80 GB" */
    gsrt_quantity change_to; /* the smallest value of the constraint's right side that admits it; unknown: none does */
} gsrt_rejection;

#endif
