/* What the files of the cost model share. The way of a prediction: cost_profile.c (once per workload and fleet) ->
 * cost.c (pools, demand, measures) -> cost_stage.c (times and memory of a stage) with cost_network.c (routes and
 * collectives), cost_context.c (the context in parts) and cost_offload.c (KV in a second memory tier) -> cost_pool.c
 * (load, waiting); cost_origin.c says which pools requests go to, by how far these are; every number passes through
 * cost_equations.c, has its interval from cost_spread.c, and is recorded by cost_derivation.c.
 */
#ifndef GSRT_PLACEMENT_COST_IMPL_H
#define GSRT_PLACEMENT_COST_IMPL_H

#include "placement/cost.h"

/* ---- equations ---- */

typedef enum gsrt__equation_id {
    GSRT__EQUATION_SUM,
    GSRT__EQUATION_LARGER,
    GSRT__EQUATION_SMALLER,
    GSRT__EQUATION_TIMES,
    GSRT__EQUATION_SHARE,
    GSRT__EQUATION_ROOFLINE,
    GSRT__EQUATION_STREAM,
    GSRT__EQUATION_LAUNCHES,
    GSRT__EQUATION_CONTENTION,
    GSRT__EQUATION_TOGETHER,
    GSRT__EQUATION_THROTTLE,
    GSRT__EQUATION_SEND,
    GSRT__EQUATION_GATHER,
    GSRT__EQUATION_SUBTREES,
    GSRT__EQUATION_RING,
    GSRT__EQUATION_TREE,
    GSRT__EQUATION_SWITCH,
    GSRT__EQUATION_ALL_TO_ALL,
    GSRT__EQUATION_OVERLAP,
    GSRT__EQUATION_PIPELINE_FILL,
    GSRT__EQUATION_ROUND_TRIP,
    GSRT__EQUATION_STALLED,
    GSRT__EQUATION_CLOSED_RATE,
    GSRT__EQUATION_BURST,
    GSRT__EQUATION_GATHERING,
    GSRT__EQUATION_QUEUE,
    GSRT__EQUATION_SLOT_QUEUE,
    GSRT__EQUATION_THERE_AND_BACK,
    GSRT__EQUATION_LATENCY,
    GSRT__EQUATION_TOKENS,
    GSRT__EQUATION_ACCEPTED,
    GSRT__EQUATION_QUOTIENT_TIME,
    GSRT__EQUATION_BUSY_POWER,
    GSRT__EQUATION_ENERGY,
    GSRT__EQUATION_MONEY,
    GSRT__EQUATION_POWER_PRICE,
    GSRT__EQUATION_FAILURES,
    GSRT__EQUATION_OWN_FAILURES,
    GSRT__EQUATION_MTTF,
    GSRT__EQUATION_FILL_LEVEL,
    GSRT__EQUATION_RATIO,
    GSRT__EQUATION_PART,
    GSRT__EQUATION_BUSY,
    GSRT__EQUATION_UTILISATION,
    GSRT__EQUATION_LITTLE,
    GSRT__EQUATION_EACH,
    GSRT__EQUATION_PRICE,
    GSRT__EQUATION_RATES,
    GSRT__EQUATION_COUNT,
} gsrt__equation_id;

extern const gsrt_equation gsrt__equations[GSRT__EQUATION_COUNT];

/* What no inventory states and every prediction needs; each with its source. */
typedef enum gsrt__assumption_id {
    GSRT__ASSUMPTION_MATMUL_SHARE,
    GSRT__ASSUMPTION_EXPERT_SHARE,
    GSRT__ASSUMPTION_ATTENTION_SHARE,
    GSRT__ASSUMPTION_MEMORY_SHARE,
    GSRT__ASSUMPTION_MEASURED_SHARE,
    GSRT__ASSUMPTION_LINK_SHARE,
    GSRT__ASSUMPTION_SWITCH_SHARE,
    GSRT__ASSUMPTION_START,
    GSRT__ASSUMPTION_SHORT_SHARE,
    GSRT__ASSUMPTION_LONG_START,
    GSRT__ASSUMPTION_LONG_LATENCY,
    GSRT__ASSUMPTION_SWITCH_START,
    GSRT__ASSUMPTION_FUSION,
    GSRT__ASSUMPTION_ATTENTION_PIECES,
    GSRT__ASSUMPTION_HOST_STEP,
    GSRT__ASSUMPTION_HOST_SEQUENCE,
    GSRT__ASSUMPTION_HOST_REQUEST,
    GSRT__ASSUMPTION_EXPERT_IMBALANCE,
    GSRT__ASSUMPTION_EXPOSED,
    GSRT__ASSUMPTION_SYNCHRONY,
    GSRT__ASSUMPTION_SYNCHRONY_EQUAL,
    GSRT__ASSUMPTION_SYNCHRONY_FIRST,
    GSRT__ASSUMPTION_ACCEPTANCE,
    GSRT__ASSUMPTION_COUNT,
} gsrt__assumption_id;

typedef struct gsrt__assumption {
    const char *name;
    double value, lo, hi;
    gsrt_dimension dimension;
    gsrt_source source;
    const char *source_text;
} gsrt__assumption;

extern const gsrt__assumption gsrt__assumptions[GSRT__ASSUMPTION_COUNT];
gsrt_quantity gsrt__assumed(gsrt__assumption_id id);

/* The result without an interval: lo and hi are the value. */
gsrt_quantity gsrt__equation_result(const gsrt_equation *equation, const gsrt_quantity *const *inputs);

/* x to the power of a whole number, by squaring: the same bits everywhere. */
double gsrt__power(double x, uint64_t exponent);

/* ---- the walk ---- */

/* Why a number may be off. Each cause moves all that rests on it together; different causes are independent. */
typedef enum gsrt__cause {
    GSRT__CAUSE_STATED_RATES, /* what is stated, by what it is a measure of */
    GSRT__CAUSE_STATED_BANDWIDTHS,
    GSRT__CAUSE_STATED_TIMES,
    GSRT__CAUSE_STATED_REST,
    GSRT__CAUSE_ROOFLINE, /* errors of equations */
    GSRT__CAUSE_STREAM,
    GSRT__CAUSE_EXCHANGES,
    GSRT__CAUSE_WAITING,
    GSRT__CAUSE_UPKEEP,
    GSRT__CAUSE_ASSUMED, /* each assumption: + its id */
    GSRT__CAUSE_COUNT = GSRT__CAUSE_ASSUMED + GSRT__ASSUMPTION_COUNT,
} gsrt__cause;

/* How far each cause alone moves a quantity, down and up. */
typedef struct gsrt__spread {
    uint32_t causes;    /* bits: those that move it */
    double least, most; /* all at their worst at once */
    double below[GSRT__CAUSE_COUNT], above[GSRT__CAUSE_COUNT];
} gsrt__spread;

/* A quantity and where it stands in the derivation. */
typedef struct gsrt__term {
    gsrt_quantity quantity;
    uint32_t node;              /* GSRT_NO_INDEX: nothing is recorded */
    const gsrt__spread *spread; /* NULL: exact, or intervals are not asked for */
} gsrt__term;

typedef struct gsrt__walk {
    const gsrt_cost_question *question;
    const gsrt_cost_profile *profile;
    const gsrt_workload *workload;
    const gsrt_fleet *fleet;
    const gsrt_deployment *deployment;
    bool is_smooth;       /* parts of a batch are not rounded up: times are at most the model's */
    gsrt_derivation *why; /* NULL: nothing is recorded */
    gsrt_arena *spreads;  /* NULL: no intervals */
    gsrt_status status;   /* the first failure; everything goes on, unused */
    char prefix[64];      /* of the names of results: "pool 0 stage 1 member 0 decode: " */
} gsrt__walk;

/* The interval of a result by that of its inputs: NULL where nothing moves it. */
const gsrt__spread *gsrt__spread_of(gsrt__walk *walk, gsrt__equation_id id, const gsrt__term *inputs,
                                    gsrt_quantity *result);
/* An input's: its whole interval has one cause. */
const gsrt__spread *gsrt__spread_by(gsrt__walk *walk, gsrt__cause cause, gsrt_quantity *quantity);

/* The result of an equation over inputs[input_count of the equation]; name: what it is here. */
gsrt__term gsrt__derive(gsrt__walk *walk, gsrt__equation_id id, const char *name, const gsrt__term *inputs);
gsrt__term gsrt__derive2(gsrt__walk *walk, gsrt__equation_id id, const char *name, gsrt__term a, gsrt__term b);
/* An input. of: what it belongs to ("gpu"; NULL: it belongs to the place in the walk), name: which. The same name again
 * is the same node. */
gsrt__term gsrt__input(gsrt__walk *walk, const char *of, const char *name, const gsrt_quantity *quantity);
/* A number that follows from workload, deployment and demand alone. */
gsrt__term gsrt__counted(gsrt__walk *walk, const char *name, double value, gsrt_dimension dimension);
gsrt__term gsrt__assume(gsrt__walk *walk, gsrt__assumption_id id);
void gsrt__walk_at(gsrt__walk *walk, const char *format, ...) GSRT_PRINTF(2, 3);

/* ---- the profile ---- */

typedef enum gsrt__work_class {
    GSRT__WORK_MATRIX,
    GSRT__WORK_EXPERT,
    GSRT__WORK_LOGITS, /* a matrix for the rows that are wanted */
    GSRT__WORK_LOOKUP, /* one row of a table each */
    GSRT__WORK_LATENT, /* the matrix of LATENT_ATTENTION */
} gsrt__work_class;

/* Matrices of a layer that are alike: of one shape, used for the same rows, cut in the same way. */
typedef struct gsrt__piece {
    gsrt__work_class class;
    gsrt_split_kind split; /* of what comes out */
    uint32_t unit;         /* rows that stay together; all of them without a split */
    uint32_t rows, columns;
    uint32_t expert_count, chosen_count; /* EXPERT; else 1 */
    uint32_t matrix_count;
    gsrt_dtype dtype;   /* as given */
    bool is_kv;         /* units are KV heads */
    bool is_attention;  /* of the part of a layer for which data_width divides the batch */
    bool can_narrow;    /* a chosen format applies to it */
    bool is_weightless; /* constant */
} gsrt__piece;

enum { GSRT__PIECE_COUNT_MAX = 24 };

/* A layer (or embed, or output), and all that are like it. Per row: of each token. */
typedef struct gsrt__layer_kind {
    gsrt__piece pieces[GSRT__PIECE_COUNT_MAX];
    uint32_t piece_count;
    uint32_t state; /* one that is like its own; GSRT_NO_INDEX: none */
    uint32_t head_count;
    uint32_t op_count;                           /* pieces of work, were each launched by itself; no attention */
    uint32_t attention_count;                    /* ops of attention */
    uint32_t gather_count, reduce_count;         /* exchanges, by the two ways */
    double whole_bytes;                          /* norms, biases, tables of positions: on every member, as given */
    double score_elements;                       /* per row and position: products with keys and values; LATENT:
                                                    absorbed */
    double score_elements_expanded;              /* LATENT: with keys and values made again; else the same */
    double elementwise_whole, elementwise_split; /* per row: read and written by norms, sums, activations */
    double gather_elements, reduce_elements;     /* per row */
    double dispatch_elements;                    /* per row and expert chosen: what travels to it */
    double widest_whole;                         /* the widest value that is not split */
} gsrt__layer_kind;

/* The second memory tier of an engine: of the memories but its own that links of kind memory or pcie join to it both
 * ways, all of them with bandwidth and latency, the one that it reads at the highest bandwidth. */
typedef struct gsrt__far {
    uint32_t memory;      /* GSRT_FLEET_NONE: there is none */
    uint32_t read, write; /* links: from it, and to it */
    uint64_t instances;   /* of the memory that one engine reaches, and fills evenly */
} gsrt__far;

/* own: the memory that the engine uses. */
gsrt__far gsrt__far_of(const gsrt_fleet *fleet, uint32_t engine, uint32_t own);

typedef struct gsrt__engine {
    uint32_t memory, link;     /* part and link that it reads; GSRT_FLEET_NONE: none known */
    uint64_t memory_instances; /* that one engine reaches */
    uint64_t sharers;          /* engines that share one memory */
    gsrt_quantity bandwidth;   /* of one engine, as stated: the link's, and the memory's divided by the sharers */
    gsrt__far far;
} gsrt__engine;

struct gsrt_cost_profile {
    const gsrt_workload *workload;
    const gsrt_fleet *fleet;
    gsrt_arena arena;
    gsrt__layer_kind *kinds; /* [kind_count] */
    uint32_t kind_count;
    uint32_t *kind_of_region;             /* [region_count] */
    uint32_t *region_of_layer;            /* [layer_count] */
    uint32_t region_embed, region_output; /* GSRT_NO_INDEX: none */
    bool output_is_tied;                  /* the same tensor embeds and computes the logits */
    gsrt__engine *engines;                /* [part_count of the fleet] */
    uint32_t *link_order;                 /* [link_count], by `from` */
    uint32_t *link_first;                 /* [part_count + 1] into link_order */
};

/* What is claimed, or in calibrated mode what was measured of it. property: "bandwidth", "matmul.bf16". part, link: one
 * of them is not GSRT_FLEET_NONE. */
gsrt_quantity gsrt__stated(const gsrt_fleet *fleet, gsrt_cost_mode mode, uint32_t part, uint32_t link,
                           const char *property, gsrt_quantity claim);

/* ---- network ---- */

/* How two instances reach each other while others send, too. */
typedef struct gsrt__reach {
    gsrt__term latency, bandwidth; /* s; B/s of each sender */
    bool has_switch;               /* every link of it can reduce by itself */
} gsrt__reach;

/* senders: how many of the sender's kind send at once. */
gsrt__reach gsrt__reach_between(gsrt__walk *walk, uint32_t from, uint64_t from_instance, uint32_t to,
                                uint64_t to_instance, uint64_t senders);

/* s for the first byte from one region to another, and back; unknown where there is no way. region GSRT_FLEET_NONE: is
 * none. */
gsrt__term gsrt__there_and_back(gsrt__walk *walk, uint32_t origin, uint32_t region);

/* The members of a stage, among each other. */
typedef struct gsrt__group {
    gsrt__reach far;               /* the worst pair */
    gsrt__term together_bandwidth; /* B/s of each member, where the members of a node share what leaves it */
    uint32_t width;
} gsrt__group;

/* Of replica 0 of a stage of at least two engines. */
gsrt__group gsrt__group_of(gsrt__walk *walk, const gsrt_deployment_stage *stage);
/* `count` exchanges of `bytes` each among `width` of the group by an algorithm. */
typedef struct gsrt__exchanged {
    gsrt__equation_id equation;
    uint32_t width;
    double count, bytes;
    bool is_native; /* by a library that starts each */
} gsrt__exchanged;

gsrt__term gsrt__exchange(gsrt__walk *walk, const gsrt__group *group, const gsrt__exchanged *what, const char *name);
/* The equation of an algorithm; not of GSRT_ALGORITHM_NONE. */
gsrt__equation_id gsrt__exchange_equation(gsrt_collective_algorithm algorithm);

/* ---- stages ---- */

/* A step of one phase. */
typedef struct gsrt__step {
    gsrt_phase phase;
    const char *name; /* "prefill" */
    double rows;      /* tokens */
    double sequences; /* that end in it: logits are wanted */
    double context;   /* positions that a row looks at, its own included, on average */
} gsrt__step;

typedef struct gsrt__stage_time {
    gsrt__term total;    /* s, with what is sent on to the next stage */
    gsrt__term transfer; /* s of it on links */
    gsrt__term busy;     /* a plain number 0..1: share of it in which the slowest member's arithmetic is busy */
} gsrt__stage_time;

gsrt__stage_time gsrt__stage_step(gsrt__walk *walk, uint32_t pool, uint32_t stage, const gsrt__step *step);

/* How much of a stage the fullest instance of a member entry has. */
typedef struct gsrt__cut {
    const gsrt_deployment_stage *stage;
    uint32_t width, member, first; /* of all; the entry; its first instance in the stage */
    uint32_t tensor_width;         /* of attention */
    bool is_even;
} gsrt__cut;

gsrt__cut gsrt__cut_of(const gsrt_deployment_stage *stage, uint32_t member);
/* The most of `unit_count` units, apportioned over each group_width instances in a row, that one of the entry has;
 * grouped: how many of so many groups it touches instead (KV heads of query heads); 0: units. together: what so many
 * neighbours have, which divides group_width; 1: of each. */
uint32_t gsrt__units_of(const gsrt__cut *cut, uint32_t unit_count, uint32_t group_width, uint32_t grouped,
                        uint32_t together);
/* Rows of a piece's matrix that an instance has, of one expert; and experts (1 without). */
double gsrt__rows_of(const gsrt_workload *workload, const gsrt__cut *cut, const gsrt__piece *piece);
double gsrt__experts_of(const gsrt__cut *cut, const gsrt__piece *piece);
/* Bytes of one row of a piece as a choice has it. */
double gsrt__row_bytes(const gsrt__piece *piece, const gsrt_region_choice *choice);
/* Bytes of one position of the state of a kind, of all heads that `together` neighbours attend with. */
double gsrt__position_bytes(const gsrt_workload *workload, const gsrt__cut *cut, const gsrt__layer_kind *kind,
                            const gsrt_region_choice *choice, uint32_t together);
/* Everything about layers that are alike is said once: the regions of a stage that come first of theirs; *count: how
 * many there are. Begin with *cursor 0. false: no more. */
bool gsrt__next_region(const gsrt__walk *walk, uint32_t pool, uint32_t stage, uint32_t *cursor, uint32_t *region,
                       uint32_t *count);
/* Of one instance of member entry `member`. */
void gsrt__stage_memory(gsrt__walk *walk, uint32_t pool, uint32_t stage, uint32_t member, gsrt_cost_memory *out);
/* Bytes of an element of an activation. */
double gsrt__activation_bytes(const gsrt_region_choice *choice);
/* Of a step's rows, those of one data group. */
double gsrt__group_rows(const gsrt__walk *walk, const gsrt__cut *cut, double rows);
/* Of `positions` of a sequence, those that lie in the second memory tier. */
uint64_t gsrt__far_positions(const gsrt_deployment_pool *pool, uint64_t positions);

/* ---- parts of the context ---- */

/* On how many the positions of a sequence lie, >= 1. */
uint32_t gsrt__context_width(const gsrt_deployment_stage *stage);
/* Of `positions`, those that the fullest of them keeps: whole blocks. */
uint64_t gsrt__context_part(const gsrt_deployment_stage *stage, uint64_t positions);
/* What one row of attention takes to be divided by positions, in elements: queries of all heads of the group, and what
 * comes out, with its log-sum-exp. */
typedef struct gsrt__context_row {
    double queries, results;
} gsrt__context_row;
gsrt__context_row gsrt__context_row_of(const gsrt_workload *workload, const gsrt__cut *cut,
                                       const gsrt__layer_kind *kind);
/* Seconds that a layer with state exchanges for that in a step. Of a stage that divides positions. */
gsrt__term gsrt__context_exchanges(gsrt__walk *walk, const gsrt__group *group, const gsrt_deployment_stage *stage,
                                   uint32_t region, const gsrt__step *step);

/* ---- KV in a second memory tier ---- */

/* Seconds in which the slowest member of a stage moves what a step reads from its second tier and writes to it. Of a
 * pool that offloads. */
gsrt__term gsrt__offload_step(gsrt__walk *walk, uint32_t pool, uint32_t stage, const gsrt__step *step);
/* How full a second tier is: with all that the engines that reach one instance put there, own memories included.
 * memory: an entry that offloads, of memories [count]: all entries; its far_held is set. */
gsrt__term gsrt__offload_fill(gsrt__walk *walk, const gsrt_cost_memory *memories, uint32_t count,
                              gsrt_cost_memory *memory);

/* ---- pools ---- */

/* What is asked of each request. Numbers, not intervals: how requests differ is no uncertainty. */
typedef struct gsrt__request {
    double prompt, prompt_most, cached; /* tokens to be computed; of the longest; found in the cache */
    double output, output_most;
    double variation; /* squared coefficient of variation of the prompt */
    bool are_equal;   /* all prompts and answers of one length */
} gsrt__request;

/* One replica of a pool under some load. */
typedef struct gsrt__load {
    double held, held_most; /* sequences under way, and at most */
    double chunks;          /* steps that a prompt's prefill takes */
    double together;        /* prompts that one step holds, >= 1; at most `held` */
    gsrt__term first;       /* s: a prompt's own prefill */
    gsrt__term first_most;  /* s: the longest prompt's */
    gsrt__term service;     /* s of the replica's time that a prompt takes */
    gsrt__term shared;      /* s that each of `together` prompts takes when one step holds them all */
    gsrt__term trip;        /* s between two tokens of a sequence, undisturbed */
    gsrt__term prefill_step, decode_step, transfer;
    gsrt__term rate;     /* 1/s: requests that the replica completes, or prefills */
    gsrt__term capacity; /* 1/s: the same when it holds all that it can */
    gsrt__term busy[2];  /* share in which the arithmetic of its stages works: prefill, decode */
    double activity;     /* share of the time in which it has work */
    gsrt__term arrival;  /* 1/s: requests that arrive; unknown: closed */
    double present;      /* closed: requests that are there */
    bool does_prefill, does_decode;
} gsrt__load;

gsrt__request gsrt__request_of(const gsrt_demand *demand);
/* held: sequences under way in the replica, >= 1; cut to what it holds. */
gsrt__load gsrt__pool_load(gsrt__walk *walk, uint32_t pool, const gsrt__request *request, double held);
/* The most that a replica holds: a batch for each stage. */
double gsrt__held_most(const gsrt_deployment_pool *pool);

/* A percentile of the requests of some pools. */
typedef struct gsrt__level {
    char name[16];      /* "p95" */
    double part;        /* of the requests that are no slower: 0.95 */
    double exponential; /* that quantile of an exponential of mean 1 */
} gsrt__level;

double gsrt__percentile_part(gsrt_percentile percentile);
/* share: 0..1 of all requests, more than the percentile's part: the level at which they alone make up that part. */
gsrt__level gsrt__level_of(gsrt_percentile percentile, double share);

/* s until the first token of a request to a pool that prefills, waiting included. */
gsrt__term gsrt__first_token(gsrt__walk *walk, uint32_t pool, const gsrt__load *load, const gsrt__request *request,
                             const gsrt__level *level);
/* s between two tokens, in a pool that decodes. */
gsrt__term gsrt__each_token(gsrt__walk *walk, uint32_t pool, const gsrt__load *load, const gsrt__request *request,
                            gsrt_percentile percentile);

/* ---- where requests come from ---- */

/* A pool, seen from there. */
typedef struct gsrt__route {
    uint32_t region; /* as in gsrt_cost_route */
    bool is_away;
    gsrt__term more; /* s; of those that are away */
    uint32_t circle; /* pools of one circle are equally far; 0: the nearest */
} gsrt__route;

/* out [pool_count]; returns how many circles there are. Without an origin all pools are at home: one. */
uint32_t gsrt__routes_of(gsrt__walk *walk, gsrt__route *out);
/* Divide an amount over circles, the nearest first: each takes at most `most` of its room, or as much of it as all
 * would have to where that is more. amounts [count]. */
void gsrt__fill_circles(double amount, double most, const double *rooms, double *amounts, uint32_t count);

/* Power, money, failures: of all engines that the deployment uses. */
void gsrt__upkeep(gsrt__walk *walk, const gsrt__load *loads, gsrt__term throughput, gsrt__term *out_power,
                  gsrt__term *out_energy, gsrt__term *out_cost, gsrt__term *out_mttf);

/* ---- for bounds ---- */

/* One layer (or embed, or output) in a step of the first stage of the first pool. */
typedef struct gsrt__cost_layer {
    double work_s;     /* of the slowest member, launches included */
    double fixed_s;    /* of it, as long however many members there are: launches, and what each does for all rows */
    double exchange_s; /* among the members */
    double exposed;    /* of the shorter of the two as much stays visible, however many layers are summed */
    bool is_known;
} gsrt__cost_layer;

/* Parts of a batch are not rounded up here, so that times over rows fall as rows grow. A step of the stage takes at
 * least the larger of sum(work_s) + exposed * sum(exchange_s) and sum(exchange_s) + exposed * sum(work_s) over its
 * layers: what a bound adds up. question: is_plain, with a profile. */
gsrt__cost_layer gsrt__cost_layer_of(const gsrt_cost_question *question, uint32_t region, const gsrt__step *step);
/* Seconds that the slowest of at most `members` engines works, at least, where at most `sharers` of them share a row's
 * attention, launches included: each part of what one engine alone would do for these rows, divided by that. Which
 * engine, whether experts lie apart, and whether members exchange, is that of the stage that is set, which has engines
 * of one part. */
double gsrt__cost_work_at_least(const gsrt_cost_question *question, uint32_t region, const gsrt__step *step,
                                double sharers, double members);
/* The host's work that a step of so many sequences waits for besides, s. */
double gsrt__host_s(const gsrt_cost_question *question, double sequences);

/* ---- dimensions ---- */

#define GSRT__PLAIN ((gsrt_dimension){0})
#define GSRT__SECOND ((gsrt_dimension){.second = 1})
#define GSRT__BYTE ((gsrt_dimension){.byte = 1})
#define GSRT__OP ((gsrt_dimension){.op = 1})
#define GSRT__PER_SECOND ((gsrt_dimension){.second = -1})
#define GSRT__BYTE_RATE ((gsrt_dimension){.byte = 1, .second = -1})
#define GSRT__OP_RATE ((gsrt_dimension){.op = 1, .second = -1})
#define GSRT__WATT ((gsrt_dimension){.joule = 1, .second = -1})
#define GSRT__TOKEN ((gsrt_dimension){.token = 1})
#define GSRT__TOKEN_RATE ((gsrt_dimension){.token = 1, .second = -1})
#define GSRT__MONEY_RATE ((gsrt_dimension){.dollar = 1, .second = -1})

#endif
