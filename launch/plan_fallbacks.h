/* What becomes of a plan when one failure domain is lost, found and checked before anything fails. The first is the
 * loss of trust: what evidence admitted is violated in use, and regions are computed as given.
 *
 * The ranks of a job: each rank; the plan that the runtime falls back to by itself (placement/fallback.h). An
 * inventory: each place that holds engines of the plan, each of its engines and what joins them; planned anew on what
 * is left. Either is protected when the independent checker finds nothing against it: memory, contract, rules. The
 * objective's limits may be missed then, and the objective be unknown; that is said, and is no reason to stop.
 */
#ifndef GSRT_LAUNCH_PLAN_FALLBACKS_H
#define GSRT_LAUNCH_PLAN_FALLBACKS_H

#include "launch/planning.h"

typedef struct gsrt_plan_fallback {
    char domain[160]; /* "rank1"; "rack: one of 2"; "what rests on evidence" */
    const char *way;  /* "spare", "reshaped", "planned anew", "as given"; NULL: there is none */
    bool is_protected;
    char why[240];           /* why not */
    char *words;             /* the plan; owned; NULL: none */
    gsrt_quantity objective; /* predicted */
    bool misses_limits;
    bool is_of_rank; /* `rank` is the domain */
    uint32_t rank;
    /* by launch/rehearsal.h */
    bool is_rehearsed, is_verified; /* ...: with the tokens of the reference */
    bool is_live;                   /* on this machine; else in the twin */
    int exit_code;                  /* of the run in which it was lost */
    double detected_ms; /* from the loss to its first sight (virtual time in the twin); < 0: nobody knows when it was */
    double recovered_ms; /* from the loss (or its first sight) to the next new token; < 0: unknown */
    char method[16];     /* what the healer chose: "spare", "reshaped", ...; "none": the answers had ended before */
    char run[48];        /* "rehearsal/without-rank1" */
} gsrt_plan_fallback;

typedef struct gsrt_plan_fallbacks {
    gsrt_plan_fallback *items;
    uint32_t count;
    uint32_t left_out; /* domains past GSRT_PLAN_FALLBACKS_MAX */
} gsrt_plan_fallbacks;

enum { GSRT_PLAN_FALLBACKS_MAX = 64 };

/* Of a planning with a choice. *out is set up here; fini in any case. GSRT_OK | GSRT_ENOMEM. Cost: a prediction for
 * each rank; for an inventory a search for each domain, with a part of the budget. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_fallbacks_find(const gsrt_planning *planning, gsrt_plan_fallbacks *out);
void gsrt_plan_fallbacks_fini(gsrt_plan_fallbacks *fallbacks);

#endif
