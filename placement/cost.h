/* The cost model: what a deployment is predicted to do, with intervals, and from what that follows.
 *
 * A registry of equations over quantities (roofline per class of work and format, alpha-beta-contention for transfers
 * and collectives, queueing, capacity, energy, money, reliability). Each result's lo..hi comes from its inputs' and
 * from the equations' own errors (gsrt_equation.error_lo, error_hi), cause by cause: what has one cause moves
 * everything that rests on it together, causes are independent. What was not stated is unknown, and what depends on it
 * is unknown, too: the planner must do without or say so. docs/planning.md lists the equations and what is not
 * modelled.
 *
 * Where steps meet: batch_max sequences are in one decode step of a replica, and as many steps are in flight as it has
 * stages. What each engine keeps in memory is defined in docs/planning.md ("What a plan must satisfy").
 */
#ifndef GSRT_PLACEMENT_COST_H
#define GSRT_PLACEMENT_COST_H

#include "placement/deployment.h"
#include "placement/objective.h"

typedef enum gsrt_cost_mode {
    GSRT_COST_SOURCED,    /* what data sheets, papers and discovery say */
    GSRT_COST_CALIBRATED, /* what was measured of a part stands in for what is claimed of it */
} gsrt_cost_mode;

/* ---- the registry ---- */

enum { GSRT_EQUATION_INPUT_COUNT_MAX = 6 };

/* One equation. It rises or falls with each input as long as the others stay, so that the interval of its result is
 * found at the ends of its inputs'. */
typedef struct gsrt_equation {
    const char *name;          /* "roofline" */
    const char *formula;       /* "max(ops / (rate * share), bytes / (bandwidth * share))" */
    const char *source;        /* of the formula */
    double error_lo, error_hi; /* the truth is within [error_lo, error_hi] times what is computed */
    gsrt_source error_source;  /* of these two; GUESS: debt. DERIVED: the equation is exact */
    uint32_t input_count;
    gsrt_dimension inputs[GSRT_EQUATION_INPUT_COUNT_MAX], output;
    bool is_of_any_dimension; /* sums and the like: all inputs and the output have the same one */
    int8_t directions[GSRT_EQUATION_INPUT_COUNT_MAX]; /* 1: rises with it; -1: falls */
    double (*compute)(const double *inputs);
} gsrt_equation;

/* NULL past the last. */
const gsrt_equation *gsrt_equation_at(size_t index);
/* NULL: there is none. */
const gsrt_equation *gsrt_equation_named(const char *name);
/* inputs [input_count]: different things, which err independently: what each does to the interval is added in squares,
 * and so is the equation's own error. (In a prediction, where results share inputs, it is added by cause.) Any unknown:
 * unknown. Dimensions are asserted. Confidence is the inputs' lowest: nodes share inputs, so that a product would count
 * them again and again. */
gsrt_quantity gsrt_equation_apply(const gsrt_equation *equation, const gsrt_quantity *inputs);

/* What no inventory states and every prediction needs (a share of the stated rate that is achieved, say), each with its
 * source: an input like any other. Unknown: there is none of this name. */
gsrt_quantity gsrt_cost_assumed(const char *name);

/* ---- derivations ---- */

/* One step of the reasoning: an input (equation NULL) or the result of an equation. */
typedef struct gsrt_cost_node {
    const char *name;     /* "pool 0 stage 1 member 0 decode: matrices" */
    const char *equation; /* name in the registry; NULL: an input */
    gsrt_quantity value;
    uint32_t inputs[GSRT_EQUATION_INPUT_COUNT_MAX]; /* nodes; GSRT_NO_INDEX: none */
} gsrt_cost_node;

/* The nodes that were recorded, inputs before what follows from them. */
typedef struct gsrt_derivation {
    gsrt_arena arena;
    gsrt_cost_node *nodes;
    uint32_t count, capacity;
} gsrt_derivation;

void gsrt_derivation_init(gsrt_derivation *why);
void gsrt_derivation_fini(gsrt_derivation *why);

/* One thing that a prediction rests on. */
typedef struct gsrt_influence {
    uint32_t node;        /* an input; GSRT_NO_INDEX: an equation's own error */
    const char *equation; /* then its name */
    double
        width; /* |result at its hi - result at its lo|, all else at its value; infinite of an input that is unknown */
    bool is_debt; /* nobody sourced it, or it is a guess */
} gsrt_influence;

/* The dependency cone of node `node`: all inputs and equations with an error of their own that it follows from, the
 * most influential first (then by node, then by name).
 * out [room]; returns how many there are, which may be more than room; *out_failed: no memory, nothing was written.
 * cost O(cone * (inputs + equations)). */
size_t gsrt_derivation_influences(const gsrt_derivation *why, uint32_t node, gsrt_influence *out, size_t room,
                                  bool *out_failed);

/* ---- predictions ---- */

typedef struct gsrt_cost_memory {
    uint32_t pool, stage, member;          /* of the deployment */
    gsrt_quantity weights, state, buffers; /* B, of one instance: the one that holds most */
    gsrt_quantity capacity; /* B, of all memories that an instance reaches, shared ones not divided; may be unknown */
    uint32_t far;           /* its second memory tier; GSRT_FLEET_NONE: nothing is offloaded, or there is none */
    gsrt_quantity offloaded, far_capacity; /* likewise of that; 0 and unknown: nothing is offloaded */
    gsrt_quantity far_held; /* B, in all of its second tier that an instance reaches, put there by all that reach it */
} gsrt_cost_memory;

/* A pool, seen from where requests come from. */
typedef struct gsrt_cost_route {
    uint32_t region;    /* the place that its first engine stands in; GSRT_FLEET_NONE: in no region */
    bool is_away;       /* requests pay for the way: it stands elsewhere, or hands them on to one that does */
    double share;       /* 0..1 of all requests that pass through it */
    gsrt_quantity more; /* s that they pay, in their first token; unknown: there is no way */
} gsrt_cost_route;

typedef struct gsrt_cost {
    gsrt_quantity values[GSRT_MEASURE_COUNT][GSRT_PERCENTILE_COUNT]; /* those without percentiles: the same in all */
    uint32_t nodes[GSRT_MEASURE_COUNT][GSRT_PERCENTILE_COUNT];       /* of the derivation; GSRT_NO_INDEX without one */
    gsrt_quantity prefill_step, decode_step; /* s: of the slowest pool's replica, with the chunk and the batch of the
                                                demand, through all stages */
    gsrt_quantity transfer_share;            /* of a decode step that is spent on links: a plain number */
    gsrt_cost_memory *memories;              /* [memory_count]; owned */
    uint32_t memory_count;
    gsrt_cost_route *routes; /* [pool_count of the deployment]; owned; NULL: the demand names no origin */
} gsrt_cost;

/* A queue that grows without bound: the waiting time of more traffic than there is capacity for, in s. */
#define GSRT_COST_NEVER_S 1e12

/* What a workload amounts to per layer, and how a fleet hangs together: made once, then only read. */
typedef struct gsrt_cost_profile gsrt_cost_profile;
/* Borrows both until freed. NULL: no memory. */
gsrt_cost_profile *gsrt_cost_profile_create(const gsrt_workload *workload, const gsrt_fleet *fleet);
gsrt_cost_profile *gsrt_cost_profile_free(gsrt_cost_profile *profile);

/* What was found of the ways between engines, kept from one question to the next that differs in its deployment only.
 */
typedef struct gsrt_cost_memo gsrt_cost_memo;
gsrt_cost_memo *gsrt_cost_memo_create(void); /* NULL: no memory */
gsrt_cost_memo *gsrt_cost_memo_free(gsrt_cost_memo *memo);

/* What is asked. All borrowed. */
typedef struct gsrt_cost_question {
    const gsrt_workload *workload;
    const gsrt_fleet *fleet;
    const gsrt_deployment *deployment;
    const gsrt_demand *demand;
    gsrt_cost_mode mode;
    int32_t today;                    /* what is not valid on this day is unknown; 0: nobody asks */
    bool is_plain;                    /* values only: each lo and hi is the value; in a third of the time */
    const gsrt_cost_profile *profile; /* of these two; NULL: made on the way, which costs O(ops + links) */
    gsrt_cost_memo *memo;             /* written to and read where is_plain; NULL: nothing is kept */
} gsrt_cost_question;

/* Predict. *out is set up here, freed with gsrt_cost_fini. why: NULL, or where each step is recorded (set up by the
 * caller with gsrt_derivation_init). The deployment refers to parts and layers that exist (checked by the caller); it
 * need not fit. GSRT_OK | GSRT_ENOMEM. Cost: O(distinct layers * stages), some 30 us (is_plain), 100 us
 * without `why`. Pure. */
GSRT_MUST_CHECK gsrt_status gsrt_cost_predict(const gsrt_cost_question *question, gsrt_derivation *why, gsrt_cost *out);
void gsrt_cost_fini(gsrt_cost *cost);

/* What an engine achieves at best: what is stated times a share <= 1 (docs/planning.md). No prediction takes less time
 * than operations / rate or bytes / bandwidth, value by value. Unknown where nothing is stated.
 * part an engine; format: of the inputs. */
gsrt_quantity gsrt_cost_rate(const gsrt_fleet *fleet, uint32_t part, gsrt_rate_class class, gsrt_format format,
                             gsrt_cost_mode mode);
/* Of the memory that the engine reads its weights from. */
gsrt_quantity gsrt_cost_bandwidth(const gsrt_cost_profile *profile, uint32_t part, gsrt_cost_mode mode);
/* The memory in which offloaded KV of an engine lies (docs/planning.md, m5); GSRT_FLEET_NONE: there is none. */
uint32_t gsrt_cost_second_tier(const gsrt_fleet *fleet, uint32_t part);
/* The format that attention is computed in: that of `choice`, widened where attention is never that narrow. */
gsrt_format gsrt_cost_attention_format(const gsrt_region_choice *choice, gsrt_dtype state);

#endif
