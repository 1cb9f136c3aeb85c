/* A scenario: everything that a run is asked to do, read from YAML (docs/scenario.md,
 * docs/schemas/scenario.schema.json).
 *
 * Read once, resolved (defaults filled in, paths made relative to the scenario's file, --set applied), then read-only.
 * Unknown keys are errors that suggest the nearest known one. All text is UTF-8. Paths are absolute once resolved: in
 * the file they are relative to it, in a --set to the working directory.
 */
#ifndef GSRT_LAUNCH_SCENARIO_H
#define GSRT_LAUNCH_SCENARIO_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/diag.h"
#include "health/faults.h"
#include "health/healer.h"
#include "model/synthetic.h"
#include "placement/objective.h"
#include "placement/plan.h"

/* placement/contract.h and placement/search.h: a fleet's nouns stay out of here, where links and parts are others. */
struct gsrt_contract;
struct gsrt_policy_rules;

enum { GSRT_SCENARIO_MAX_TOKENS_DEFAULT = 128, GSRT_SCENARIO_BUDGET_DEFAULT = 10000 };

typedef struct gsrt_scenario_request {
    const char *prompt;            /* NULL when prompt_tokens is given */
    const uint32_t *prompt_tokens; /* [prompt_token_count] or NULL */
    uint32_t prompt_token_count;
    uint32_t max_tokens;  /* default GSRT_SCENARIO_MAX_TOKENS_DEFAULT */
    float temperature;    /* default 0: greedy */
    uint32_t top_k;       /* default 0: off */
    float top_p;          /* default 1: off */
    uint64_t seed;        /* default 0 */
    bool is_ignoring_eos; /* ignore_eos */
    const char *place;    /* "workload.requests[3]", for errors */
} gsrt_scenario_request;

typedef struct gsrt_scenario_device {
    uint32_t rank;
    const char *profile;   /* path of a profile's JSON; NULL: the CPU itself */
    uint32_t thread_count; /* 0: runtime.threads */
    /* what a plan takes the CPU to be (of a profile: what it declares); unknown: the twin's model of a core */
    gsrt_quantity rates[3]; /* op/s: f32; f16 and bf16; quantised */
    gsrt_quantity memory_bandwidth, memory;
} gsrt_scenario_device;

typedef struct gsrt_scenario_link { /* twin: */
    double latency_us;              /* one way; default 5 */
    double bandwidth_gbps;          /* bits: 10^9 bit/s; default 100 */
} gsrt_scenario_link;

/* moves: a region that goes to another rank. */
typedef struct gsrt_scenario_move {
    uint32_t stage, member, to; /* whose; the rank that takes it */
    gsrt_moment when;
} gsrt_scenario_move;
/* What a plan is made for, and how it is looked for (launch/scenario_planning.c). */
typedef struct gsrt_scenario_planning {
    bool is_auto;             /* plan: auto */
    const char *policy;       /* plan.policy, default "dp" */
    uint64_t budget;          /* plan.budget, default GSRT_SCENARIO_BUDGET_DEFAULT: evaluations of the cost model */
    uint64_t seed;            /* plan.seed, default 1 */
    const char *inventory;    /* fleet.inventory: absolute path; NULL: the ranks are the fleet */
    const char *evidence;     /* absolute path; NULL: none */
    gsrt_objective objective; /* default: the median latency */
    gsrt_demand demand;       /* what is unknown or 0 follows from the requests: gsrt_planning_open */
    struct gsrt_policy_rules *rules; /* in the arena; default: anybody's, anywhere */
    /* after launch/plan_resolve.h has planned */
    char *planned; /* owned: plan.json of the plan that was found ("gsrt-plan/2"); NULL: none was looked for */
    gsrt_quantity predicted[GSRT_MEASURE_COUNT][GSRT_PERCENTILE_COUNT]; /* of the plan; without sources; else unknown */
} gsrt_scenario_planning;

typedef struct gsrt_scenario {
    gsrt_arena arena;
    const char *file; /* as the user gave it */
    const char *name;
    /* one of three; without weights there is a plan, and no run */
    const char *model;  /* absolute path of a GGUF file; NULL: another of them */
    const char *config; /* absolute path of a config.json */
    const gsrt_synthetic *synthetic;
    gsrt_scenario_request *requests;
    uint32_t request_count;
    const char *contract; /* what a run keeps and verifies: "bitwise", whatever less is asked for; "budgets" where
                             its plan narrows regions */
    struct gsrt_contract *asked; /* owned: what a plan must keep */
    gsrt_scenario_planning planning;
    uint32_t watch;    /* default 16: each 16th request is compared with weights as given; 0: none */
    gsrt_plan *plan;   /* owned; layers and roles checked, not yet against the model and the number of ranks; NULL:
                          planning.is_auto, and nobody has planned yet */
    bool is_verifying; /* verify: reference; default none */
    const char *logits_file; /* output.logits, in the run directory unless absolute; NULL: none */
    /* runtime: */
    uint32_t thread_count;    /* runtime.threads, default 1: compute threads per rank */
    uint32_t prefill_chunk;   /* runtime.prefill_chunk, default 512 rows, 1..GSRT_BATCH_ROWS_MAX */
    uint32_t batch_requests;  /* runtime.batch, default 8: requests decoded together at most */
    uint32_t kv_block_count;  /* runtime.kv_blocks: default 0 = as many as the requests need */
    bool is_reusing_prefixes; /* runtime.prefix_reuse, default true */
    uint32_t snapshot_tokens; /* runtime.snapshot_tokens, default 0: none; a snapshot of the KV after so many tokens */
    bool is_replicating;      /* runtime.kv_replicas, default true */
    bool is_packing;          /* runtime.packing, default true */
    bool is_binding;          /* runtime.binding, default true; false: threads are not bound */
    int32_t spin_us;          /* runtime.spin_us, default -1: 0 where ranks outnumber cores, else 20 */
    /* faults:, moves: and healing: */
    gsrt_fault *faults; /* legal, but not yet checked against the number of ranks: gsrt_faults_check */
    uint32_t fault_count;
    gsrt_scenario_move *moves; /* likewise: gsrt_scenario_check_moves */
    uint32_t move_count;
    uint32_t restart_max;        /* healing.restarts, default 3: next incarnations of one rank within the window */
    uint32_t restart_window_ms;  /* healing.restart_window_s, default 60 s */
    gsrt_incident_method prefer; /* healing.prefer; default 0: by predicted time */
    uint32_t contact_ms;         /* healing.contact_ms, default 50 */
    /* fleet: and twin: */
    gsrt_scenario_device *devices; /* fleet.devices; ranks not named have the CPU */
    uint32_t device_count;
    gsrt_scenario_link link; /* twin.link */
    uint32_t
        twin_rank_count; /* twin.ranks; default: as many as the plan names, or fleet.devices where it is to be made */
    uint64_t twin_seed;  /* twin.seed, default 1 */
    bool is_numeric_in_twin; /* twin.numerics, default true */
    double time_scale;       /* fleet.time_scale, default 1: stretches the simulated time of profiles */
} gsrt_scenario;

typedef struct gsrt_scenario_set {
    const char *key;   /* dotted: "workload.model", "workload.requests[0].seed", "plan.exchange" */
    const char *value; /* parsed as a YAML scalar or flow value */
} gsrt_scenario_set;

/* Read and resolve. *out owned. GSRT_OK | GSRT_EINPUT (with file, line and column, remedy) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_scenario_read(const char *path, const gsrt_scenario_set *sets, size_t set_count,
                                               gsrt_scenario **out, gsrt_diag *diag);
/* The same from bytes; `path` names them in errors and anchors relative paths. */
GSRT_MUST_CHECK gsrt_status gsrt_scenario_read_span(gsrt_span bytes, const char *path, const gsrt_scenario_set *sets,
                                                    size_t set_count, gsrt_scenario **out, gsrt_diag *diag);
gsrt_scenario *gsrt_scenario_free(gsrt_scenario *scenario);

/* Are there the ranks that its moves name, and, once there is a plan, the stages and members?
 * GSRT_OK | GSRT_EINFEASIBLE (*diag) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_scenario_check_moves(const gsrt_scenario *scenario, uint32_t rank_count,
                                                      gsrt_diag *diag);
/* Can it be run, not only planned for? GSRT_OK | GSRT_EINPUT. */
GSRT_MUST_CHECK gsrt_status gsrt_scenario_check_runs(const gsrt_scenario *scenario, gsrt_diag *diag);

/* The resolved scenario as YAML: reading it again gives the same scenario (scenario.yaml of the run directory). */
GSRT_MUST_CHECK gsrt_status gsrt_scenario_print(const gsrt_scenario *scenario, gsrt_buffer *out);

/* What fleet.devices says of a rank; NULL: nothing, it has the CPU. */
const gsrt_scenario_device *gsrt_scenario_device_of(const gsrt_scenario *scenario, uint32_t rank);

#endif
