/* What the user wants of a deployment, and of what traffic: the objective, its hard limits, the demand. */
#ifndef GSRT_PLACEMENT_OBJECTIVE_H
#define GSRT_PLACEMENT_OBJECTIVE_H

#include "base/diag.h"
#include "base/yaml.h"
#include "placement/quantity.h"

/* What is predicted of a deployment. Numbers and words are stable. */
typedef enum gsrt_measure {
    GSRT_MEASURE_TTFT,       /* s: from a request's arrival to its first token, waiting included */
    GSRT_MEASURE_TPOT,       /* s between two tokens of a request */
    GSRT_MEASURE_LATENCY,    /* s: from arrival to the last token */
    GSRT_MEASURE_THROUGHPUT, /* token/s: generated, of the whole deployment */
    GSRT_MEASURE_COST,       /* $/token generated */
    GSRT_MEASURE_ENERGY,     /* J/token generated */
    GSRT_MEASURE_POWER,      /* W of all engines used */
    GSRT_MEASURE_MEMORY,     /* B: the fullest memory, over its capacity: a plain number */
    GSRT_MEASURE_MTTF,       /* s until something in it fails */
    GSRT_MEASURE_COUNT,
} gsrt_measure;

typedef enum gsrt_percentile {
    GSRT_PERCENTILE_50,
    GSRT_PERCENTILE_95,
    GSRT_PERCENTILE_99,
    GSRT_PERCENTILE_COUNT,
} gsrt_percentile;

/* At most (at least, for throughput and MTTF). */
typedef struct gsrt_objective_limit {
    gsrt_measure measure;
    gsrt_percentile percentile; /* of ttft, tpot and latency; else P50 */
    gsrt_quantity bound;
} gsrt_objective_limit;

enum { GSRT_OBJECTIVE_LIMIT_COUNT_MAX = 16 };

typedef struct gsrt_objective {
    gsrt_measure measure; /* made as small (throughput, mttf: as large) as possible */
    gsrt_percentile percentile;
    gsrt_objective_limit limits[GSRT_OBJECTIVE_LIMIT_COUNT_MAX];
    uint32_t limit_count;
} gsrt_objective;

/* The traffic. Open: requests arrive at `arrival`; closed: `concurrency` of them are always there. */
typedef struct gsrt_demand {
    gsrt_quantity prompt_tokens, output_tokens; /* token, per request; lo..hi: their spread */
    gsrt_quantity arrival;                      /* 1/s; unknown: closed */
    uint32_t concurrency;                       /* closed; 0: as many as the batches hold */
    double prefix_share;                        /* 0..1 of the prompt that is found in the cache */
    uint32_t draft_tokens; /* speculative decoding: so many may be proposed at once; 0: there is nobody who proposes */
    bool prefills_first;   /* the server's steps hold prompts while any waits, else answers; false: both at once */
    uint32_t gather_steps; /* a prompt waits for others to prefill with, so many steps at most; 0: it does not */
    bool kv_offload;       /* a part of the KV may lie in a second memory tier */
    const char *origin;    /* the place of kind region that requests come from; NULL: nobody asks how far they go */
    bool context_parallel; /* the positions of a sequence may be divided among the members of a stage */
} gsrt_demand;

bool gsrt_measure_is_maximised(gsrt_measure measure);
gsrt_dimension gsrt_measure_dimension(gsrt_measure measure);
const char *gsrt_measure_word(gsrt_measure measure);          /* "ttft", ... */
const char *gsrt_percentile_word(gsrt_percentile percentile); /* "p50", ... */

#endif
