/* The cost model: what a deployment is predicted to do, with intervals, and from what that follows.
 *
 * A registry of equations over quantities (roofline per class of work and format, alpha-beta-contention for transfers
 * and collectives, queueing, capacity, energy, money, reliability). Each result's lo..hi comes from its inputs' and
 * from the equation's own measured error (gsrt_equation.error_lo, error_hi). What was not stated is unknown, and what
 * depends on it is unknown, too: the planner must do without or say so.
 */
#ifndef GSRT_PLACEMENT_COST_H
#define GSRT_PLACEMENT_COST_H

#include "placement/deployment.h"
#include "placement/objective.h"

typedef enum gsrt_cost_mode {
    GSRT_COST_SOURCED,    /* what data sheets, papers and discovery say */
    GSRT_COST_CALIBRATED, /* with the corrections of a calibration on top */
} gsrt_cost_mode;

/* One step of the reasoning: an input (equation NULL) or the result of an equation. */
typedef struct gsrt_cost_node {
    const char *name;     /* "stage 1: weights read per step" */
    const char *equation; /* name in the registry; NULL: an input */
    gsrt_quantity value;
    uint32_t inputs[6]; /* nodes; GSRT_NO_INDEX: none */
} gsrt_cost_node;

/* The nodes that were recorded, inputs before what follows from them. */
typedef struct gsrt_derivation {
    gsrt_arena arena;
    gsrt_cost_node *nodes;
    uint32_t count, capacity;
} gsrt_derivation;

typedef struct gsrt_cost_memory {
    uint32_t pool, stage, member;                    /* of the deployment */
    gsrt_quantity weights, state, buffers, capacity; /* B, of one instance, at its peak */
} gsrt_cost_memory;

typedef struct gsrt_cost {
    gsrt_quantity values[GSRT_MEASURE_COUNT][GSRT_PERCENTILE_COUNT]; /* those without percentiles: the same in all */
    uint32_t nodes[GSRT_MEASURE_COUNT][GSRT_PERCENTILE_COUNT];       /* of the derivation; GSRT_NO_INDEX without one */
    gsrt_quantity prefill_step, decode_step; /* s: of the slowest pool's replica, a full chunk and a full batch */
    gsrt_quantity transfer_share;            /* of a decode step that is spent on links: a plain number */
    const gsrt_cost_memory *memories;        /* [memory_count], of `arena` */
    uint32_t memory_count;
    gsrt_arena arena;
} gsrt_cost;

/* What is asked. All borrowed. */
typedef struct gsrt_cost_question {
    const gsrt_workload *workload;
    const gsrt_fleet *fleet;
    const gsrt_deployment *deployment;
    const gsrt_demand *demand;
    gsrt_cost_mode mode;
} gsrt_cost_question;

/* Predict. *out is set up here, freed with gsrt_cost_fini. why: NULL, or where each step is recorded (set up by the
 * caller with gsrt_derivation_init). The deployment refers to parts and layers that exist (checked by the caller); it
 * need not fit. GSRT_OK | GSRT_ENOMEM. Cost: O(distinct layers * stages), some 10 us without `why`. Pure. */
GSRT_MUST_CHECK gsrt_status gsrt_cost_predict(const gsrt_cost_question *question, gsrt_derivation *why, gsrt_cost *out);
void gsrt_cost_fini(gsrt_cost *cost);

void gsrt_derivation_init(gsrt_derivation *why);
void gsrt_derivation_fini(gsrt_derivation *why);

#endif
