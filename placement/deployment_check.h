/* The independent checker: does a deployment satisfy everything that was asked? docs/planning.md, "What a plan must
 * satisfy", has the rules by their numbers; this is their second implementation, which shares no code with the search
 * and the cost model. It unrolls what they keep in counts, and is therefore slower, and plain.
 *
 * Pure. Thread: any. Cost: O(engines * (ops + width^2)) time, O(instances of the parts that are used) memory.
 */
#ifndef GSRT_PLACEMENT_DEPLOYMENT_CHECK_H
#define GSRT_PLACEMENT_DEPLOYMENT_CHECK_H

#include "placement/search.h"

/* What the right side of a violated rule belongs to: where a change would admit the deployment. */
typedef enum gsrt_subject {
    GSRT_SUBJECT_NONE,     /* no number */
    GSRT_SUBJECT_CAPACITY, /* of part `index` of the fleet */
    GSRT_SUBJECT_POWER,    /* power budget of place `index` */
    GSRT_SUBJECT_COOLING,  /* cooling budget of place `index` */
    GSRT_SUBJECT_LIMIT,    /* limits[index] of the objective */
    GSRT_SUBJECT_CONTEXT,  /* the deployment's context_max; index 0 */
    GSRT_SUBJECT_RULE,     /* bound of rules[index] of the contract */
} gsrt_subject;

typedef struct gsrt_violation {
    const char *rule;                /* its number in the docs, "m1"; static */
    const char *reason;              /* one of placement/rejection.h */
    const char *constraint;          /* "pools[0].stages[1].members[0]: memory of 'gpu.hbm'"; of the list's arena */
    gsrt_quantity needed, available; /* unknown where no number says it */
    gsrt_subject subject;
    uint32_t index; /* of the subject */
} gsrt_violation;

/* In the order of the rules; each thing that is wrong once, at the first place where it is. */
typedef struct gsrt_violations {
    gsrt_arena arena;
    gsrt_violation *items; /* [count] */
    uint32_t count, capacity;
} gsrt_violations;

/* Check `deployment` against the problem's fleet, contract, objective, demand and rules.
 * cost      what was predicted of it, by whomever; NULL: the objective and its limits are not looked at.
 * out       set up here, freed with gsrt_violations_fini; empty: it satisfies everything. Where it names things that do
 *           not exist (d1, e1), nothing else was looked at.
 * returns   GSRT_OK, whatever was found | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_deployment_check(const gsrt_search_problem *problem, const gsrt_deployment *deployment,
                                                  const gsrt_cost *cost, gsrt_violations *out);
void gsrt_violations_fini(gsrt_violations *violations);

/* The first violation with this reason; NULL: none. */
const gsrt_violation *gsrt_violation_with(const gsrt_violations *violations, const char *reason);

#endif
