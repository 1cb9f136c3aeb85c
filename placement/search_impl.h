/* What the files of the search share: the space of candidates, their judgement, the bounds, the policies.
 *
 *     search.c       the policies' table, and what is around each of them
 *     search_space   what a candidate is: classes of engines, numeric choices, sketches; a sketch becomes a deployment
 *     search_judge   is a candidate feasible, and how good is it
 *     search_rivals  who was rejected, and why
 *     search_context positions divided among the members of a group: the moves
 *     search_offload KV in a second memory tier: who may, and the moves
 *     search_work    what layers amount to
 *     search_bound   what no deployment can exceed
 *     search_stages  nor any stages, in whatever of the ways (search_ways) engines share one
 *     search_latency nor any steps, in whatever groups
 *     search_shape   replicas of one class, their batches, and what several pools make together
 *     search_greedy, search_dp, search_local, search_exhaustive, search_milp: the policies
 */
#ifndef GSRT_PLACEMENT_SEARCH_IMPL_H
#define GSRT_PLACEMENT_SEARCH_IMPL_H

#include "placement/search.h"

enum {
    GSRT__LEVELS_MAX = 8,     /* nested places of one engine */
    GSRT__SKETCH_POOLS = 6,   /* of a candidate */
    GSRT__SKETCH_STAGES = 64, /* of a replica */
    GSRT__SKETCH_MEMBERS = 8, /* classes of engines in one stage */
    GSRT__NUMERICS_MAX = 16,  /* ways to compute: as given, and one per evidence */
    GSRT__SHARERS_MAX = 32,   /* engines in a place within which different ones share a stage */
    GSRT__REACHES_MAX = 512,  /* layouts of which it is remembered whether their engines reach each other */
    GSRT__PAIRS_BITS = 14,    /* 2^ so many pairs of engines of which it is remembered whether they reach each other */
    GSRT__STARTS_MAX = 16,    /* near rivals that are climbed, too */
    GSRT__WALKS_MAX = 64,     /* of local search */
    GSRT__VERDICTS_MAX = 256, /* verdicts of the contract's judge that are remembered */
    GSRT__RIVALS_MAX = 48,    /* rivals kept of each reason while a search runs */
};

/* Engines that are alike: all instances of one part. */
typedef struct gsrt__engine_class {
    uint32_t part, memory; /* of the fleet; memory GSRT_FLEET_NONE: none that it reaches */
    uint64_t total;
    uint64_t levels[GSRT__LEVELS_MAX]; /* instances in one place of each level, the innermost first; the last: total */
    uint32_t level_count;
    uint32_t kernels;           /* the same number: the same software, by which kernels are proved or measured */
    const char *barred;         /* why the site's rules bar it (a reason); NULL: they do not */
    double capacity, bandwidth; /* B (certainly there) and B/s of its memory, of one engine; 0: unknown */
    double peers;               /* instances of `memory` that one engine reaches */
    uint32_t far, far_link;     /* second memory tier, and the link to it; GSRT_FLEET_NONE: it has none */
    double far_capacity;        /* B, as capacity */
    double far_peers;           /* as peers */
    const char *far_barred;     /* as barred */
    double price, power_max;    /* $/s, W; negative: unknown */
    double power_idle;          /* W at most, when it does nothing; 0: unknown */
} gsrt__engine_class;

/* What a layer (or embed, or output) amounts to. */
typedef struct gsrt__layer_work {
    double matrix_elements, matrix_bytes; /* of matrices that every row is multiplied with */
    double table_bytes;                   /* of tables that are looked up */
    double expert_elements, expert_bytes; /* of one expert */
    uint32_t expert_count, chosen_count;  /* 0: no experts */
    double score_elements;                /* multiplications of one row with one position, in a decode step */
    double prefill_score_elements;        /* likewise of a prefill */
    double elementwise_elements;          /* of each row, that norms, sums and activations pass through */
    double activation_bytes;              /* of one element */
    double state_bytes;                   /* of one position */
    uint32_t window;                      /* positions that are kept; 0: all */
} gsrt__layer_work;

/* One way to compute: what is chosen for each region. */
typedef struct gsrt__numeric {
    const char *name;
    gsrt_region_choice *choices;                /* [region_count] */
    bool is_refused;                            /* by the contract, on whatever engine */
    uint32_t matrix_formats, attention_formats; /* bits 1 << gsrt_format that products need */
    double *rates;                              /* [class][gsrt_rate_class]; see gsrt__rate */
    gsrt__layer_work *layers, embed, output;    /* [layer_count] */
} gsrt__numeric;

typedef struct gsrt__sketch_member {
    uint32_t class, count, share;
} gsrt__sketch_member;

typedef struct gsrt__sketch_stage {
    gsrt__sketch_member members[GSRT__SKETCH_MEMBERS];
    uint32_t member_count;
    uint32_t layer_first, layer_last;
    uint32_t data_width, expert_width, context_width;
    gsrt_collective_algorithm algorithm;
    bool overlaps;
} gsrt__sketch_stage;

typedef struct gsrt__sketch_pool {
    uint32_t phases;
    uint64_t replica_count;
    uint32_t batch_max, prefill_tokens;
    double power_cap_w;
    uint32_t draft_tokens;
    uint32_t kv_offload;
    uint32_t stage_count;
    gsrt__sketch_stage stages[GSRT__SKETCH_STAGES];
} gsrt__sketch_pool;

/* A candidate. Large: passed by pointer, copied with gsrt__sketch_copy. */
typedef struct gsrt__sketch {
    uint32_t pool_count, numeric;
    gsrt__sketch_pool pools[GSRT__SKETCH_POOLS];
} gsrt__sketch;

/* What was found about a candidate. */
typedef struct gsrt__judgement {
    bool is_feasible;
    uint32_t failure_count; /* constraints that failed; what follows is about the first */
    bool is_near;           /* only limits of the objective and power budgets fail, by numbers */
    uint32_t near_count;    /* of these */
    double violation;       /* then: how far they are exceeded, all together */
    bool is_hidden;         /* only this layout does not fit: no rival */
    const char *reason;
    const char *constraint;       /* of `texts`; NULL: made from the place and `what` when somebody reads it */
    const char *change;           /* likewise */
    const char *what;             /* the thing: a part's, a place's, a measure's name */
    uint32_t pool, stage, member; /* where; GSRT_NO_INDEX: nowhere in particular */
    double needed, available;     /* both 0: no number says it */
    double change_to;             /* the least right side that admits it; negative: no single change does */
    gsrt_dimension dimension;
    double score;            /* feasible: larger is better */
    gsrt_quantity objective; /* while the search runs without its interval */
    uint64_t engine_count;
    double fullness; /* the fullest memory over what it holds; 0: not known */
} gsrt__judgement;

typedef struct gsrt__rival {
    gsrt__sketch *sketch;
    gsrt__judgement judgement;
    uint64_t signature;
} gsrt__rival;

typedef struct gsrt__verdict_memory {
    uint64_t key;
    const char *reason, *constraint, *change; /* reason NULL: kept */
    double needed, available, change_to;
} gsrt__verdict_memory;

/* Whether a layout's engines reach each other, and requests them: reason NULL where they do. */
typedef struct gsrt__reach_memory {
    uint64_t key;
    bool is_set;
    const char *reason, *what;    /* what: there is not */
    uint32_t pool, stage, member; /* of the first that does not */
} gsrt__reach_memory;

/* What a search holds while it runs. */
typedef struct gsrt__search {
    const gsrt_search_problem *problem;
    const gsrt_search_options *options;
    gsrt_diag *diag;
    gsrt_arena arena;
    gsrt_fleet fleet; /* on the day of the problem: what has expired is unknown */
    struct {
        gsrt_fleet fleet;           /* with links only that can be used */
        gsrt_cost_profile *profile; /* of it; owned */
        uint64_t *pairs; /* [1 << GSRT__PAIRS_BITS] engines that were asked about: see search_reach.c; by hash */
    } ways[2];           /* that are trusted; whoever says so */
    gsrt__reach_memory reaches[GSRT__REACHES_MAX];
    bool is_executable;         /* the workload: or nothing is, for execution */
    const char *not_executable; /* why */
    gsrt__engine_class *classes;
    uint32_t class_count;
    gsrt_cost_profile *profile; /* owned */
    gsrt_cost_memo *memo;       /* owned */
    gsrt_arena scratch;         /* of one judgement */
    uint64_t *used;             /* [class_count]: scratch of layouts */
    gsrt__numeric numerics[GSRT__NUMERICS_MAX];
    uint32_t numeric_count;
    uint32_t layer_count, expert_count, context_max;
    bool is_small; /* few engines and layers: the space is coarse enough to be exhausted */
    gsrt_judge judge;
    gsrt__verdict_memory verdicts[GSRT__VERDICTS_MAX];
    uint32_t verdict_count;
    uint64_t evaluation_count;
    gsrt_status status;   /* the first error: no memory. Everything ends soon after it */
    uint8_t *admitted;    /* [numeric][class][algorithm] 0: not asked yet, 1: the contract keeps it, 2: it does not */
    gsrt__sketch probe;   /* scratch */
    gsrt__sketch **rooms; /* [room_count] sketches that nobody uses now */
    uint32_t room_count;
    uint64_t budget_now; /* evaluations until a plan was found: the rest is for other ways to find one */
    bool is_probing;     /* for another objective, to go on from */
    bool has_near;       /* nothing feasible yet; this only exceeds limits */
    gsrt__sketch near;
    gsrt__judgement near_judgement;
    bool has_best;
    gsrt__sketch best;
    gsrt__judgement best_judgement;
    gsrt__rival *rivals; /* [reasons][GSRT__RIVALS_MAX], the closest first */
    uint32_t *rival_counts;
    bool is_complete;
} gsrt__search;

/* ---- search_space.c ---- */

/* The fleet as it is known today; arrays of the search's arena. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__fleet_on(gsrt__search *s, const gsrt_fleet *fleet, int32_t today, gsrt_fleet *out);
bool gsrt__place_is_trusted(const gsrt_fleet *fleet, const gsrt_within *within, gsrt_trust least);
GSRT_MUST_CHECK gsrt_status gsrt__classes_find(gsrt__search *s);
/* May engines of two classes share a stage? Only within a place of few engines: beyond, an exchange of every layer
 * passes from node to node, and pipelines join classes instead. */
bool gsrt__may_share(const gsrt__search *s, uint32_t a, uint32_t b);
void gsrt__sketch_copy(gsrt__sketch *to, const gsrt__sketch *from);
void gsrt__sketch_pool_copy(gsrt__sketch_pool *to, const gsrt__sketch_pool *from);
/* Room for a sketch, until it is given back; NULL: no memory, and s->status says so. */
gsrt__sketch *gsrt__sketch_room(gsrt__search *s);
void gsrt__sketch_give_back(gsrt__search *s, gsrt__sketch *sketch);
uint64_t gsrt__sketch_signature(const gsrt__sketch *sketch);
uint32_t gsrt__stage_width(const gsrt__sketch_stage *stage);
/* How many replicas of a pool fit beside the pools before it. */
uint64_t gsrt__replicas_max(gsrt__search *s, const gsrt__sketch *sketch, uint32_t pool);
/* *out owned. *out_full: the first pool for which there are not enough engines (it and the next ones lie past the last
 * instance); GSRT_NO_INDEX: there are. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__sketch_deploy(gsrt__search *s, const gsrt__sketch *sketch, gsrt_deployment **out,
                                                uint32_t *out_full);
/* Is something that stands `within` in a place, or in a domain, directly or by what is around it? */
bool gsrt__is_in(const gsrt_fleet *fleet, const gsrt_within *within, uint32_t place);

/* ---- search_reach.c ---- */

GSRT_MUST_CHECK gsrt_status gsrt__reach_find(gsrt__search *s);
void gsrt__reach_fini(gsrt__search *s);
/* Do all who must exchange reach each other, and requests them? reason NULL: yes. Borrowed until the next call. */
const gsrt__reach_memory *gsrt__unjoined(gsrt__search *s, const gsrt_deployment *d);

/* ---- search_numeric.c ---- */

GSRT_MUST_CHECK gsrt_status gsrt__numerics_find(gsrt__search *s);
/* Ask the contract about everything once; needs classes, numerics and rivals. */
GSRT_MUST_CHECK gsrt_status gsrt__admitted_find(gsrt__search *s);
/* Does the contract keep this way to compute, on such engines, with this collective? */
bool gsrt__is_admitted(gsrt__search *s, uint32_t numeric, uint32_t class, gsrt_collective_algorithm algorithm);

/* ---- search_bound.c ---- */

/* The rate of an engine in the fastest format that a numeric choice computes in, op/s; 0: unknown. */
double gsrt__rate(const gsrt__search *s, uint32_t class, uint32_t numeric, gsrt_rate_class work);
GSRT_MUST_CHECK gsrt_status gsrt__rates_find(gsrt__search *s);
enum { GSRT__BOUND_MATRICES, GSRT__BOUND_EXPERTS, GSRT__BOUND_ATTENTION, GSRT__BOUND_STREAM, GSRT__BOUND_CATEGORIES };
/* Seconds of one engine for all of each category of a layer, at least: of one token in a step of `rows`; rows 0: of a
 * token of a prompt. */
void gsrt__bound_seconds(const gsrt__search *s, uint32_t numeric, uint32_t class, const gsrt__layer_work *work,
                         double rows, double out[GSRT__BOUND_CATEGORIES]);
/* Rows of a decode step for each sequence, at most: as many tokens may be accepted at once. */
double gsrt__rows_most(const gsrt__search *s);
GSRT_MUST_CHECK gsrt_status gsrt__bound(gsrt__search *s, double *out_value, const char **out_reason);

/* ---- search_stages.c ---- */

/* Tokens a second of all engines at most; COST, ENERGY: tokens for what weight[class] says that an engine costs a
 * second, at most. HUGE_VAL: nothing is known. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__bound_by_stages(gsrt__search *s, uint32_t numeric, const double *weight, double *out);

/* ---- search_latency.c ---- */

/* Seconds at least of a decode step, and of a prompt's prefill, through all layers, however groups of engines divide
 * them; 0: nothing is known. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__bound_of_steps(gsrt__search *s, uint32_t numeric, double *out_decode,
                                                 double *out_prefill);

/* ---- search_judge.c ---- */

/* What is predicted of the objective, with its interval. */
gsrt_quantity gsrt__objective_of(gsrt__search *s, const gsrt_deployment *d);

/* Only what the contract says of a candidate. */
void gsrt__judge_contract(gsrt__search *s, const gsrt__sketch *sketch, gsrt__judgement *out);

/* What an engine does not state that a numeric choice needs; NULL: nothing. */
const char *gsrt__incapable(const gsrt__search *s, uint32_t class, uint32_t numeric);

/* Judge a candidate; remember it when it is the best so far, or a close rival. false: the budget is used up (or no
 * memory), and nothing was judged. */
bool gsrt__consider(gsrt__search *s, const gsrt__sketch *sketch, gsrt__judgement *out);
/* Is a better than b? Feasible before what only exceeds limits, and that before the rest; the score, or by how much;
 * fewer engines. */
bool gsrt__is_better(const gsrt__judgement *a, const gsrt__judgement *b);

/* ---- search_offload.c ---- */

/* Of all classes; needs the profile. */
void gsrt__tiers_find(gsrt__search *s);
/* Bytes that an engine has for a stage at most: of its memory, and of its second tier where KV may lie there. */
double gsrt__memory_most(const gsrt__search *s, uint32_t class);
/* Bytes of all second tiers in which KV may lie; of each once. */
double gsrt__tiers_together(const gsrt__search *s);
/* The class of an entry of a prediction; and does that put KV into this memory as its second tier? */
const gsrt__engine_class *gsrt__class_at(const gsrt__search *s, const gsrt__sketch *sketch, const gsrt_cost_memory *m);
bool gsrt__is_offloaded_to(const gsrt_cost_memory *m, uint32_t memory);
/* The entry of which one engine puts most into one instance of a second tier, and how much; NULL: nobody puts anything
 * there, or it is somebody's own memory. */
const gsrt_cost_memory *gsrt__tier_entry(const gsrt__search *s, const gsrt__sketch *sketch, const gsrt_cost *cost,
                                         uint32_t memory, double *out_most);
/* The next larger share of the pool's KV. false: there is none, or an engine of it has no second tier, or nobody may.
 */
bool gsrt__set_offload_next(const gsrt__search *s, gsrt__sketch_pool *pool);
/* Offload more of the KV of each pool whose batch is the smallest that there is. false: nothing more can be. */
bool gsrt__offload_more(const gsrt__search *s, gsrt__sketch *sketch);
/* The moves: to each share of the KV with the same batch, then with the one that takes as much memory as before. */
enum { GSRT__OFFLOAD_MOVES = 2 * (GSRT_KV_OFFLOAD_PARTS + 1) };
/* false: there is no such move, *pool may have changed. */
bool gsrt__offload_move(const gsrt__search *s, gsrt__sketch_pool *pool, uint32_t move);

/* ---- search_context.c ---- */

bool gsrt__may_divide_context(const gsrt__search *s);
/* Into how many parts, at most, stages of the pool divide positions. */
uint32_t gsrt__context_parts(const gsrt__sketch_pool *pool);
/* Each stage into as many as its sharers allow, up to `parts`. false: it is so already. */
bool gsrt__set_context(gsrt__sketch_pool *pool, uint32_t parts);
/* Into the next more parts. false: there are none, or nobody may. */
bool gsrt__set_context_next(const gsrt__search *s, gsrt__sketch_pool *pool);
/* Into more parts in each pool whose batch is the smallest that there is, if the contract keeps that. false: *sketch is
 * as it was. */
bool gsrt__context_more(gsrt__search *s, gsrt__sketch *sketch);
/* The moves: to more, fewer, the most, and one; with the same batch, then with as many times the batch as parts. */
enum { GSRT__CONTEXT_MOVES = 8 };
/* false: there is no such move, *pool may have changed. */
bool gsrt__context_move(const gsrt__search *s, gsrt__sketch_pool *pool, uint32_t move);

/* ---- search_work.c ---- */

/* The layers' work under each numeric choice; also the experts' count. */
GSRT_MUST_CHECK gsrt_status gsrt__work_find(gsrt__search *s);
/* Bytes of a replica that has so many sequences in flight. */
double gsrt__replica_bytes(const gsrt__search *s, uint32_t numeric, double sequences);
double gsrt__weight_bytes(const gsrt__layer_work *work);                      /* that are kept */
double gsrt__weight_bytes_read(const gsrt__layer_work *work, double rows);    /* by a step of so many rows */
double gsrt__row_elements(const gsrt__layer_work *work);                      /* that a row is multiplied with */
double gsrt__state_positions(const gsrt__layer_work *work, double positions); /* that are kept of so many */

/* ---- search_shape.c ---- */

enum {
    GSRT__BATCH_MAX = 1 << 20,
    GSRT__BATCH_SMALL_MAX = 64, /* of small instances */
    GSRT__CHUNK_MIN = 32,
    GSRT__CHUNK = 2048, /* tokens of a prefill step to begin with */
    GSRT__CHUNK_MAX = 16384,
};

/* How a mixture of experts lies on a group. */
typedef enum gsrt__mode {
    GSRT__MODE_TENSOR,      /* everything is cut */
    GSRT__MODE_EXPERT,      /* experts lie apart */
    GSRT__MODE_DATA_EXPERT, /* and attention works on parts of the batch */
    GSRT__MODE_DATA,        /* only that */
    GSRT__MODE_COUNT,
} gsrt__mode;

/* A group that can take a run of layers. */
typedef struct gsrt__slot {
    uint32_t class;
    double speed;    /* in engines of that class */
    double capacity; /* B */
    double extra_seconds;
} gsrt__slot;

/* Replicas of one class. */
typedef struct gsrt__shape {
    uint32_t class, width, stage_count;
    gsrt_collective_algorithm algorithm;
    gsrt__mode mode;
} gsrt__shape;

bool gsrt__cut_layers(gsrt__search *s, uint32_t numeric, const gsrt__slot *slots, uint32_t slot_count, double rows,
                      bool is_sum, uint32_t *out_last);
/* One replica of such a shape, the smallest batch. false: no such shape (more stages than layers). */
bool gsrt__shape_pool(gsrt__search *s, uint32_t numeric, const gsrt__shape *shape, gsrt__sketch_pool *out);
uint32_t gsrt__first_chunk(const gsrt__search *s);
/* The chunk of the space that is the next larger or smaller one; the same: there is none. */
uint32_t gsrt__next_chunk(const gsrt__search *s, uint32_t chunk, bool is_more);
/* The largest batch and chunk of the space. */
uint32_t gsrt__batch_most(const gsrt__search *s);
uint32_t gsrt__chunk_most(const gsrt__search *s);
/* Is the pool's batch the smallest that its parts can share? */
bool gsrt__is_batch_least(const gsrt__sketch_pool *pool);
/* As gsrt__consider; while memory is what fails, with smaller chunks of prompts: they need buffers; then, where the
 * batch is the smallest, with the context in more parts, or with more of the KV in a second memory tier. */
bool gsrt__consider_smaller(gsrt__search *s, gsrt__sketch *sketch, gsrt__judgement *out);
/* Raise the pool's batch from what it is to the best that fits. *out: of the best. false: no budget was left. */
bool gsrt__fit_batch(gsrt__search *s, gsrt__sketch *sketch, uint32_t pool, gsrt__judgement *out);

/* ---- search_climb.c ---- */

/* false: it is so already, or there are no experts. */
bool gsrt__set_mode(const gsrt__search *s, gsrt__sketch_pool *pool, gsrt__mode mode);
/* The largest batch of the space that is at most this; what the runtime takes at most is one. */
uint32_t gsrt__batch_on_lattice(const gsrt__search *s, uint64_t batch);
/* Set it to that. false: it is so already, or it is not enough for the parts that the batch is divided in. */
bool gsrt__set_batch(const gsrt__search *s, gsrt__sketch_pool *pool, uint64_t batch);

/* Change one thing after the other as long as that is better. *sketch and *j: from where; then the top. */
void gsrt__climb(gsrt__search *s, gsrt__sketch *sketch, gsrt__judgement *j);
/* Climb from the closest rivals of a reason: another start may lead higher. */
void gsrt__climb_rivals(gsrt__search *s, const char *reason);
/* Moves of one pool, numbered from 0; false: there is no such move, *sketch is as it was. Past the last: *out_is_last.
 */
bool gsrt__move(gsrt__search *s, gsrt__sketch *sketch, uint32_t pool, uint32_t move, bool *out_is_last);

/* ---- search_greedy.c ---- */

/* The collective that is tried first for groups of such engines. */
gsrt_collective_algorithm gsrt__first_algorithm(gsrt__search *s, uint32_t numeric, uint32_t class, uint32_t width);
/* Set another pool beside those of the sketch, as many of its replicas as fit. false: that is not better (or there is
 * no room), and the sketch is as it was. */
bool gsrt__pools_join(gsrt__search *s, gsrt__sketch *sketch, gsrt__judgement *j, const gsrt__sketch_pool *pool);

/* ---- search_mixed.c ---- */

/* How different engines share a stage. */
typedef enum gsrt__share_kind {
    GSRT__SHARE_SPEED,  /* in proportion to what they can do */
    GSRT__SHARE_MEMORY, /* to what they hold */
    GSRT__SHARE_EVEN,
    GSRT__SHARE_COUNT,
} gsrt__share_kind;

/* A stage without layers. false: it has no members. */
bool gsrt__mixed_group(gsrt__search *s, uint32_t numeric, const gsrt__sketch_member *members, uint32_t count,
                       gsrt__share_kind kind, gsrt__sketch_stage *out);
/* Replicas of several classes. */
void gsrt__search_mixed(gsrt__search *s, uint32_t numeric);

/* ---- the policies: all they find is remembered by gsrt__consider ---- */

void gsrt__search_greedy(gsrt__search *s);
void gsrt__search_dp(gsrt__search *s);
void gsrt__search_local(gsrt__search *s);
void gsrt__search_exhaustive(gsrt__search *s);
/* Anything feasible at all, of a small instance. */
void gsrt__search_any(gsrt__search *s);
void gsrt__search_milp(gsrt__search *s);

/* ---- search_rivals.c ---- */

GSRT_MUST_CHECK gsrt_status gsrt__rivals_init(gsrt__search *s);
void gsrt__rivals_fini(gsrt__search *s);
void gsrt__rival_note(gsrt__search *s, const gsrt__sketch *sketch, const gsrt__judgement *judgement);
/* The rivals of a reason, the closest first; NULL past the last. */
const gsrt__rival *gsrt__rival_of(const gsrt__search *s, const char *reason, uint32_t index);
/* The rivals of the result, with their texts. */
GSRT_MUST_CHECK gsrt_status gsrt__rivals_report(gsrt__search *s, gsrt_search_result *result);

#endif
