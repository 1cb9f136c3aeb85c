/* What a run did: report.json and plan.json (docs/schemas/report.schema.json, plan.schema.json).
 *
 * The runtime fills a gsrt_report of borrowed texts and arrays, and writes it once, at the end, even of a run that
 * failed. Zero means "nothing of it happened" for counts; a time that was not measured is negative and becomes null.
 * Whatever a profile's device reports is marked as simulated wherever it stands.
 */
#ifndef GSRT_LAUNCH_REPORT_H
#define GSRT_LAUNCH_REPORT_H

#include "base/buffer.h"
#include "placement/objective.h"
#include "placement/plan.h"

#define GSRT_REPORT_SCHEMA "gsrt-report/1"
#define GSRT_PLAN_SCHEMA "gsrt-plan/1"

typedef struct gsrt_report_contract {
    const char *kind;                    /* "bitwise"; "budgets": the plan narrows regions, and so does the reference */
    bool is_verified;                    /* a reference pass was made: kept, compared and different mean something */
    const char *unverified_because;      /* when it was not; NULL: "verify: none" */
    uint64_t compared;                   /* logit hashes compared */
    uint64_t different;                  /* of these, not equal; kept: verified, and 0 */
    uint32_t first_request, first_index; /* of the first that differs; index counts the answer's tokens */
    uint32_t violations;                 /* of budgets, seen by the watch; kept: none */
    const struct gsrt_violation_seen *violation; /* the first of them; launch/eras.h */
} gsrt_report_contract;

typedef struct gsrt_report_request {
    const uint32_t *prompt_tokens; /* [prompt_token_count], as tokenised; NULL only when there are none */
    uint32_t prompt_token_count;
    const uint32_t *tokens; /* [token_count], the answer */
    uint32_t token_count;
    const char *text;              /* of the answer, UTF-8 */
    const char *finish;            /* "stop", "length", "refused", "cancelled", "failed" */
    const char *error;             /* why it was refused or failed; NULL: it was not */
    uint32_t timed_count;          /* of the tokens: those that the writer saw emitted */
    double ttft_ms;                /* submission to first token; < 0: none, or a process that died saw it */
    double decode_tokens_per_s;    /* after the first token that the writer saw emitted; < 0: fewer than two */
    uint32_t prefix_tokens_reused; /* positions whose KV was there already */
} gsrt_report_request;

/* What one rank did. Byte counts of weights concern its share of the model. */
typedef struct gsrt_report_rank {
    uint32_t rank;
    const char *host;
    int64_t pid;
    bool has_role; /* false: spare or idle; stage and member mean nothing */
    uint32_t stage, member;
    const char *isa;
    uint32_t thread_count;
    uint64_t weight_bytes_touched; /* read by its kernels at least once */
    uint64_t weight_bytes_share;   /* what the plan gives to it */
    uint64_t weight_bytes_copies;  /* declared copies beyond the share: norms, KV heads that several members need */
    uint32_t rows_per_step_max;
    uint64_t rows_total, steps;
    uint64_t gathered_bytes, reduced_bytes; /* received from its group */
    uint64_t packed_bytes;
    uint64_t kv_streamed_bytes, kv_gathered_bytes; /* to its second place; from replicas of others */
    uint64_t kv_held_bytes, kv_left_out;           /* at most, in its replica; blocks that found no room there */
    double pack_ms, load_ms;
    uint64_t messages_sent, messages_received;
} gsrt_report_rank;

typedef struct gsrt_report_backend {
    uint32_t rank;
    const char *kind;  /* "cpu", "inline", "profile" */
    const char *name;  /* of the processor or the profile */
    bool is_simulated; /* timing, memory, power and heat are a declared profile's, not measured */
    uint64_t busy_ns;  /* time of its work; simulated where the backend is */
    double energy_j;   /* simulated only; < 0: unknown */
    double temperature_c;
} gsrt_report_backend;

/* An incident in short; incidents/NUMBER.json has it whole. */
typedef struct gsrt_report_failure {
    uint32_t incident;     /* its number */
    const char *kind;      /* "killed", "stopped", "left", "link", "partition", "unknown" */
    const uint32_t *ranks; /* [rank_count], each once */
    uint32_t rank_count;
    double detected_ms;  /* fault to first sight; < 0: nobody knows when the fault was */
    double recovered_ms; /* fault, or first sight, to first new token; < 0: it has not recovered */
    uint64_t lost_tokens, recomputed_tokens;
    const char *method; /* "in_place", "spare", "reshaped", "full"; NULL: none was chosen */
} gsrt_report_failure;

typedef struct gsrt_report_versions {
    const char *gsrt, *numerics; /* never NULL; the others: NULL = unknown or not used */
    const char *git, *ucx, *mpi, *compiler;
} gsrt_report_versions;

typedef struct gsrt_report_times {
    const char *started; /* "2026-01-02T03:04:05Z"; NULL: unknown (twin) */
    double load_ms;      /* until the workers were ready; < 0: unknown, here and below */
    double generate_ms;  /* first step to last token; virtual time in the twin */
    double verify_ms;    /* the reference pass */
    double total_ms;
} gsrt_report_times;

typedef struct gsrt_report_refused {
    uint64_t number;
    const char *why;
} gsrt_report_refused;

/* Of the process that wrote the report. */
typedef struct gsrt_report_snapshots {
    uint32_t committed, failed;
    uint64_t restored;                  /* number of the one that it went on from last; 0: none */
    uint64_t restored_positions;        /* of all requests: not computed again */
    const gsrt_report_refused *refused; /* [refused_count]: damaged, and left out */
    uint32_t refused_count;
} gsrt_report_snapshots;

/* Of the process that wrote the report. */
typedef struct gsrt_report_replicas {
    uint64_t restored_positions; /* of all requests: not computed again */
} gsrt_report_replicas;

typedef enum gsrt_move_outcome {
    GSRT_MOVE_DONE = 1,
    GSRT_MOVE_REFUSED,   /* it could not begin */
    GSRT_MOVE_ABANDONED, /* something came in between */
} gsrt_move_outcome;
const char *gsrt_move_outcome_name(gsrt_move_outcome outcome); /* "done", "refused", "abandoned"; static */

enum { GSRT_MOVE_WHY_BYTES = 256 };

/* What was narrowed, and what its watch has seen (launch/eras.h, launch/watch.h). */
typedef struct gsrt_report_narrowed {
    const struct gsrt_eras *eras;
    uint32_t every; /* each so many-th request is watched; 0: none */
    const struct gsrt_watch_facts *watched;
} gsrt_report_narrowed;

/* What became of a move of a region. */
typedef struct gsrt_report_move {
    uint32_t stage, member, from, to;
    gsrt_move_outcome outcome;
    double pause_ms;               /* for so long no step was computed; < 0: it was not done */
    uint64_t bytes;                /* of KV that were copied */
    char why[GSRT_MOVE_WHY_BYTES]; /* it was not done; empty: it was */
    uint64_t order;                /* of whoever asked for it; 0: the scenario */
} gsrt_report_move;
/* What was predicted of a plan that was looked for, to stand beside what was observed; of one that was written, all
 * values are unknown. */
typedef struct gsrt_report_predicted {
    const gsrt_quantity (*values)[GSRT_PERCENTILE_COUNT]; /* [GSRT_MEASURE_COUNT] */
    double time_scale;                                    /* observed times of simulated devices are stretched by it */
    gsrt_measure measure;                                 /* what the plan was chosen by */
    gsrt_percentile percentile;
} gsrt_report_predicted;

typedef struct gsrt_report {
    int exit_code;
    const char *name;                    /* of the scenario */
    const char *world;                   /* "real" or "twin": the times of a twin are modelled, never observed */
    const char *error;                   /* the diagnostic of a run that failed; NULL: none */
    const char *model_file, *model_hash; /* hash: NULL = not computed */
    gsrt_report_contract contract;
    const gsrt_report_request *requests; /* [request_count] */
    uint32_t request_count;
    const gsrt_plan *plan;         /* NULL: there was none */
    const gsrt_workload *workload; /* NULL: it was not loaded */
    const gsrt_report_rank *ranks; /* [rank_count] */
    uint32_t rank_count;
    const gsrt_report_backend *backends; /* [backend_count] */
    uint32_t backend_count;
    const gsrt_report_predicted *predicted; /* NULL: nothing was predicted, and nothing observed */
    const gsrt_report_snapshots *snapshots; /* NULL: the scenario asks for none */
    const gsrt_report_replicas *replicas;   /* likewise */
    const gsrt_report_failure *failures;    /* [failure_count], in the order of their numbers */
    uint32_t failure_count;
    const gsrt_report_move *moves; /* [move_count], in the order of their ends */
    uint32_t move_count;
    const gsrt_report_narrowed *narrowed; /* NULL: nothing is */
    gsrt_report_versions versions;
    gsrt_report_times times;
} gsrt_report;

/* Append report.json. The same report gives the same bytes. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_report_write_json(const gsrt_report *report, gsrt_buffer *out);

/* Append plan.json: the plan, and what it becomes when any one rank or host is lost, each checked like the plan itself
 * (placement/fallback.h), or why it is not protected against that. workload may be NULL: then without the units of each
 * member. rank_count 0: without fallbacks. hosts: [rank_count], or NULL: unknown, and only ranks are looked at.
 * is_replicating: also where the second place of each rank's KV is (placement/second_place.h). planned: the plan that
 * was looked for, as JSON; NULL: it was written. Errors as above.
 * O(ranks^2). */
GSRT_MUST_CHECK gsrt_status gsrt_report_write_plan_json(const gsrt_plan *plan, const gsrt_workload *workload,
                                                        uint32_t rank_count, const char *const *hosts,
                                                        bool is_replicating, const char *planned, gsrt_buffer *out);

/* The line that ends every run, without a newline, one of
 *     contract bitwise: kept (200 of 200 logit hashes equal the reference)
 *     contract bitwise: VIOLATED (3 of 200 logit hashes differ from the reference; first: request 0, token 17)
 *     contract bitwise: not verified (verify: none)
 *     contract budgets: VIOLATED (divergence 0.53 of at most 0.01 in request 0 at position 12; what violated it was
 *                                 disabled)
 * The last with unverified_because when that is set; a pass that compared nothing has not verified anything either.
 * Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_report_print_verdict(const gsrt_report_contract *contract, gsrt_buffer *out);

/* The exit code in the bytes of a report.json. GSRT_OK | GSRT_EINPUT: it is none | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_report_read_exit(gsrt_span json, int *out);

#endif
