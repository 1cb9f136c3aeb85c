/* The workload: what is to be computed, without a word about where.
 *
 * Named, typed tensors; an op list; regions (runs of ops that are placed as a whole); states (what a sequence leaves
 * behind for its later positions: the KV cache). Importers (model/) build it, validate it once, and from then on it is
 * read-only. The runtime executes this list: there is no forward function per model family; the planner reads the same
 * list, with or without weights. It can hold more than the runtime executes: gsrt_workload_executable tells.
 *
 * A value (an op's input or output) is an activation of shape [rows, width]; rows is symbolic (gsrt_rows). A tensor is
 * a weight. Both are named by dense indices into their tables. Control flow is the two phases, prefill and decode, in
 * which the list is run over and over, and the choice of experts, which is data (ROUTE). Communication is not in here:
 * the plan that splits an op brings it. Nothing is drawn at random: sampling follows the last op, keyed by position.
 *
 * Legal order: create, add tensors / values / states / regions / ops in execution order, check, then only read; free.
 * Thread: building is single threaded; reading from any thread. Cost: memory O(tensors + ops).
 */
#ifndef GSRT_PLACEMENT_WORKLOAD_H
#define GSRT_PLACEMENT_WORKLOAD_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/limits.h"

/* Numbers and names are stable. HEADS below: an op with head_dim > 0 works on each head of that size by itself. */
typedef enum gsrt_op_kind {
    GSRT_OP_EMBED,     /* out[r] = row token[r] of tensor, widened to f32; tensor [vocab, dim] */
    GSRT_OP_RMSNORM,   /* out[r] = in0[r] / sqrt(mean(in0[r]^2) + epsilon) * (gain_offset + tensor); tensor [width], or
                          [head_dim], the same for all heads */
    GSRT_OP_LINEAR,    /* out[r] = tensor * in0[r] (+ bias); tensor [outputs, inputs]; split by output units */
    GSRT_OP_ROPE,      /* rotate pairs of every head of in0, width heads*head_dim; may be in place: out == in[0] */
    GSRT_OP_ATTENTION, /* in0 query [heads*head_dim], in1 key [kv_heads*head_dim], in2 value [kv_heads*value_head_dim];
                          stores k and v in `state`, then attends causally; out [heads*value_head_dim]. tensor: none,
                          or one more score per head, [heads] (a sink) */
    GSRT_OP_SWIGLU,    /* out = silu(in0) * in1, elementwise; limit > 0: gpt-oss's, clamped there */
    GSRT_OP_ADD,       /* out = in0 + in1, elementwise */
    GSRT_OP_LOGITS,    /* like LINEAR; only for rows whose logits are wanted; tensor [vocab, dim]; softcap > 0:
                          softcap * tanh(x / softcap) of each */
    GSRT_OP_LAYERNORM, /* out[r] = (in0[r] - mean) / sqrt(variance + epsilon) * tensor + bias; tensor, bias [width] */
    GSRT_OP_POSITION,  /* out[r] = in0[r] + row position[r] of tensor; tensor [positions, dim] */
    GSRT_OP_SCALE,     /* out = scale * in0; or, with in1 [1], sigmoid(in1[r]) * in0[r] */
    GSRT_OP_GELU,      /* out = gelu(in0), the tanh form */
    GSRT_OP_GEGLU,     /* out = gelu(in0) * in1, elementwise, the tanh form */
    GSRT_OP_LATENT_ATTENTION, /* MLA: in0 query [heads*head_dim], in1 latent, in2 rotated key that all heads share;
                                 stores in1 and in2 in `state`; each head's rest of the key, and its value, is
                                 tensor [heads*(head_dim - in2 + value_head_dim), latent] times the latent (either way
                                 round: "absorbed"); then as ATTENTION; out [heads*value_head_dim] */
    GSRT_OP_ROUTE,         /* scores of tensor [experts, dim] * in0 (+ bias); out [experts]: the weight of each, 0 but
                              for those chosen (gsrt_routing) */
    GSRT_OP_EXPERT_LINEAR, /* LINEAR by each expert chosen: tensor `stack` of [outputs, inputs], bias [experts,
                              outputs]; in1 the routing; in0 of a token, or of (token, expert); out of (token, expert)
                            */
    GSRT_OP_COMBINE,       /* out = sum of in0 over the chosen experts, each times its weight in in1 */
} gsrt_op_kind;
enum { GSRT_OP_KIND_COUNT = GSRT_OP_COMBINE + 1 };

/* What one unit of a split is; see gsrt_op.unit. EXPERT_LINEAR can be split by experts, too, whatever its values say.
 */
typedef enum gsrt_split_kind {
    GSRT_SPLIT_NONE,   /* every member of the group computes all of it */
    GSRT_SPLIT_HEADS,  /* units are query heads; key/value widths follow by gsrt_kv_head_of */
    GSRT_SPLIT_OUTPUT, /* units are output chunks of `unit` elements */
    GSRT_SPLIT_VOCAB,  /* units are vocabulary rows */
} gsrt_split_kind;
enum { GSRT_SPLIT_KIND_COUNT = GSRT_SPLIT_VOCAB + 1 };

/* The symbolic dimension: how many rows a value has in a step. */
typedef enum gsrt_rows {
    GSRT_ROWS_TOKENS, /* the step's tokens: in decode one per sequence of the batch */
    GSRT_ROWS_CHOSEN, /* tokens times the experts that each chose */
    GSRT_ROWS_WANTED, /* the tokens whose logits are wanted: at most one per sequence, unless all are asked for */
} gsrt_rows;
enum { GSRT_ROWS_COUNT = GSRT_ROWS_WANTED + 1 };

typedef enum gsrt_layout {
    GSRT_LAYOUT_ROWS,    /* a row's columns (K) are contiguous */
    GSRT_LAYOUT_COLUMNS, /* a column's rows are: the file holds the transposed matrix */
} gsrt_layout;
enum { GSRT_LAYOUT_COUNT = GSRT_LAYOUT_COLUMNS + 1 };

#define GSRT_NO_INDEX UINT32_MAX /* an index that names nothing */

typedef struct gsrt_tensor {
    const char *name;      /* as in the model file */
    gsrt_dtype dtype;      /* of the elements in the file */
    uint32_t stack_count;  /* matrices of this shape, one after the other: one per expert; usually 1 */
    uint32_t row_count;    /* outputs (vectors: 1) */
    uint32_t column_count; /* inputs = K; contiguous in the file */
    gsrt_layout layout;
    uint64_t offset_bytes; /* of the first element, from the start of the file; 0 without weights */
    uint64_t size_bytes;   /* stack_count * row_count * bytes of a row */
    bool is_constant;      /* follows from the configuration: no parameter */
    bool is_view;          /* aliases rows of tensor `base` from `base_row` on (of each matrix of its stack) */
    uint32_t base;         /* no view itself; 0 when is_view is not set */
    uint32_t base_row;
} gsrt_tensor;

typedef struct gsrt_value {
    const char *name;      /* "blk.0.q" */
    uint32_t width;        /* elements per row */
    gsrt_rows rows;        /* how many rows */
    gsrt_split_kind split; /* how a group that splits it holds it: NONE = replicated */
    uint32_t unit;         /* elements per unit (head_dim for heads; 0 when split is NONE) */
    bool is_kv;            /* HEADS only: width counts KV heads, not query heads */
} gsrt_value;

typedef enum gsrt_state_kind {
    GSRT_STATE_KV,     /* keys and values of each KV head */
    GSRT_STATE_LATENT, /* MLA: one latent and one rotated key for all heads */
} gsrt_state_kind;
enum { GSRT_STATE_KIND_COUNT = GSRT_STATE_LATENT + 1 };

/* Of each sequence, per position: [positions][key | value]. Written once per position, read by all later ones; what is
 * written depends on the tokens up to there only, so that it can be shared by equal prefixes, paged, or made again. */
typedef struct gsrt_state {
    const char *name; /* "blk.0.kv" */
    gsrt_state_kind kind;
    uint32_t layer; /* the layer that writes it */
    gsrt_dtype dtype;
    uint32_t key_width;   /* elements per position; LATENT: of the rotated key */
    uint32_t value_width; /* elements per position; LATENT: of the latent */
    uint32_t window;      /* positions that are looked at, its own included; 0: all */
} gsrt_state;

/* RoPE with its scaling variants. Angle of pair i at position p: see docs/numerics.md. */
typedef struct gsrt_rope {
    bool is_neox;            /* pairs (i, i + rotated/2) instead of (2i, 2i+1) */
    uint32_t dim_first;      /* elements of each head before those that rotate */
    uint32_t dim_rotated;    /* elements of each head that rotate; even */
    float base;              /* theta */
    float scale;             /* linear scaling: multiplies the position; 1 = none */
    uint32_t factors_tensor; /* per-pair divisors of the frequency (rope_freqs.weight), GSRT_NO_INDEX = none */
    bool is_yarn;            /* YaRN: the four below apply */
    uint32_t context_original;
    float yarn_extension_factor, yarn_attention_factor;
    float yarn_beta_fast, yarn_beta_slow;
} gsrt_rope;

typedef enum gsrt_score {
    GSRT_SCORE_SOFTMAX,        /* over all experts, then chosen */
    GSRT_SCORE_SOFTMAX_CHOSEN, /* over those chosen */
    GSRT_SCORE_SIGMOID,        /* of each */
} gsrt_score;
enum { GSRT_SCORE_COUNT = GSRT_SCORE_SIGMOID + 1 };

/* Which experts a token takes: the sparsity of a mixture of experts. */
typedef struct gsrt_routing {
    uint32_t expert_count;
    uint32_t chosen_count;       /* highest scores */
    uint32_t group_count;        /* experts are chosen from the best groups only; 0: there are none */
    uint32_t group_chosen_count; /* how many groups; 0 without */
    gsrt_score score;
    bool is_renormalised;       /* the weights of those chosen are divided by their sum */
    float scale;                /* then multiplied by this */
    uint32_t correction_tensor; /* [experts], added to a score when choosing, not when weighing; GSRT_NO_INDEX = none */
} gsrt_routing;

typedef struct gsrt_op {
    gsrt_op_kind kind;
    uint32_t region;             /* index of its region */
    uint32_t layer;              /* its region's layer, or GSRT_NO_INDEX */
    uint32_t state;              /* ATTENTION, LATENT_ATTENTION: what it writes and reads; else GSRT_NO_INDEX */
    uint32_t in[3];              /* values; GSRT_NO_INDEX = none */
    uint32_t out;                /* value */
    uint32_t tensor;             /* weight; GSRT_NO_INDEX = none */
    uint32_t bias;               /* vector [outputs]; GSRT_NO_INDEX = none */
    float epsilon;               /* RMSNORM, LAYERNORM */
    float gain_offset;           /* RMSNORM */
    float scale;                 /* ATTENTION, LATENT_ATTENTION: multiplies q.k; SCALE */
    float softcap;               /* ATTENTION: on the scores; LOGITS; 0 = none */
    float limit;                 /* SWIGLU; 0 = none */
    uint32_t head_dim;           /* ROPE, ATTENTION, LATENT_ATTENTION; RMSNORM of heads; else 0 */
    uint32_t k_group;            /* LINEAR, LOGITS: elements of K that stay together in a chunk (head size of in0, else
                                    1) */
    const gsrt_rope *rope;       /* ROPE; borrowed from the workload's arena */
    const gsrt_routing *routing; /* ROUTE; borrowed from the workload's arena */
} gsrt_op;

/* When a region runs: bits. */
typedef enum gsrt_phase {
    GSRT_PHASE_PREFILL = 1, /* many tokens of a sequence at once: bound by arithmetic, judged by throughput */
    GSRT_PHASE_DECODE = 2,  /* one token per sequence: bound by memory, every step waits for it */
    GSRT_PHASE_DRAFT = 4,   /* a speculative branch: its answer may be thrown away */
} gsrt_phase;

/* What small errors inside a region can do. */
typedef enum gsrt_sensitivity {
    GSRT_SENSITIVITY_SMOOTH, /* small errors stay small: the answer is continuous in them */
    GSRT_SENSITIVITY_CHOICE, /* it chooses (experts, the next token): an error of any size can change the choice */
} gsrt_sensitivity;
enum { GSRT_SENSITIVITY_COUNT = GSRT_SENSITIVITY_CHOICE + 1 };

/* What may be done to a region without changing what it means: bits. Whether it may under a contract, the contract
 * says; importers allow what the ops allow (gsrt_workload_describe), an author may forbid. */
typedef enum gsrt_legal {
    GSRT_LEGAL_RECOMPUTE = 1,        /* a step may be run again: it writes the same state */
    GSRT_LEGAL_CHECKPOINT = 2,       /* its state may be copied out and put back */
    GSRT_LEGAL_PAGE = 4,             /* its state may lie in pages, shared by equal prefixes */
    GSRT_LEGAL_QUANTISE_WEIGHTS = 8, /* it has matrices of 16 or 32 bits */
    GSRT_LEGAL_QUANTISE_STATE = 16,  /* its state has 16 or 32 bits */
    GSRT_LEGAL_OFFLOAD_WEIGHTS = 32, /* weights may wait in a slower memory */
    GSRT_LEGAL_OFFLOAD_STATE = 64,   /* state may */
    GSRT_LEGAL_REORDER = 128,        /* it has sums over K: another order is the same but for rounding */
    GSRT_LEGAL_ABSORB = 256,         /* it has LATENT_ATTENTION: its matrix may be multiplied with the query instead */
    GSRT_LEGAL_SPLIT_EXPERTS = 512,  /* it has experts: they may lie apart */
} gsrt_legal;

/* What others can see of a region's work: bits. Reads come before writes of the same step. */
typedef enum gsrt_effect {
    GSRT_EFFECT_READS_STATE = 1,
    GSRT_EFFECT_WRITES_STATE = 2, /* of this position; the same again where the step is repeated */
    GSRT_EFFECT_EMITS = 4,        /* logits: the one thing that an observer sees, in the order of positions */
} gsrt_effect;

typedef struct gsrt_region {
    const char *name;  /* "embed", "layer.0" ..., "output" */
    uint32_t layer;    /* the layer it is, or GSRT_NO_INDEX for embed and output */
    uint32_t op_first; /* ops [op_first, op_first + op_count) */
    uint32_t op_count;
    uint32_t in;     /* value that enters it, GSRT_NO_INDEX for the first */
    uint32_t out;    /* value that leaves it */
    uint32_t phases; /* gsrt_phase bits */
    gsrt_sensitivity sensitivity;
    uint32_t legal;           /* gsrt_legal bits */
    uint32_t effects;         /* gsrt_effect bits: what its ops do, no more and no less */
    bool is_deterministic;    /* the same inputs give the same bits, each op being computed as docs/numerics.md says */
    float error_relative_max; /* envelope: relative error of `out` that its author allows; 0: not stated, the contract
                                 decides */
} gsrt_region;

typedef struct gsrt_workload {
    gsrt_arena arena; /* everything below lives here */
    const char *name; /* of the model */
    const char *architecture;
    uint32_t layer_count, dim, ffn_dim; /* ffn_dim: of dense layers, of one expert where there are none */
    uint32_t head_count, kv_head_count;
    uint32_t head_dim;       /* of a query and a key */
    uint32_t value_head_dim; /* of a value and of a head's output; usually the same */
    uint32_t vocab_count, context_max;
    bool output_is_tied;
    bool has_weights; /* the tensors' offsets are places in a file */
    gsrt_tensor *tensors;
    uint32_t tensor_count;
    gsrt_value *values;
    uint32_t value_count;
    gsrt_state *states;
    uint32_t state_count;
    gsrt_op *ops;
    uint32_t op_count;
    gsrt_region *regions; /* embed, layer 0.., output: in execution order */
    uint32_t region_count;
    uint64_t parameter_count; /* elements of the tensors that are neither views nor constants */
} gsrt_workload;

/* The KV head that query head `head` reads: head / (head_count / kv_head_count). */
static inline uint32_t gsrt_kv_head_of(const gsrt_workload *workload, uint32_t head)
{
    return head / (workload->head_count / workload->kv_head_count);
}

/* An empty workload; owned; NULL: no memory. */
gsrt_workload *gsrt_workload_create(void);
/* Accepts NULL; returns NULL. */
gsrt_workload *gsrt_workload_free(gsrt_workload *workload);

/* Append a copy of *item; names are copied into the arena; *out_index its dense index. GSRT_OK | GSRT_ENOMEM.
 * A tensor that is neither view nor constant adds to parameter_count. */
GSRT_MUST_CHECK gsrt_status gsrt_workload_add_tensor(gsrt_workload *workload, const gsrt_tensor *item,
                                                     uint32_t *out_index);
GSRT_MUST_CHECK gsrt_status gsrt_workload_add_value(gsrt_workload *workload, const gsrt_value *item,
                                                    uint32_t *out_index);
GSRT_MUST_CHECK gsrt_status gsrt_workload_add_state(gsrt_workload *workload, const gsrt_state *item,
                                                    uint32_t *out_index);
GSRT_MUST_CHECK gsrt_status gsrt_workload_add_region(gsrt_workload *workload, const gsrt_region *item,
                                                     uint32_t *out_index);
/* item->rope and item->routing are copied too. */
GSRT_MUST_CHECK gsrt_status gsrt_workload_add_op(gsrt_workload *workload, const gsrt_op *item, uint32_t *out_index);

/* Fill in phases, sensitivity, legal, effects and is_deterministic of *region as its ops (op_first, op_count), which
 * are in the workload already, imply. */
void gsrt_workload_describe(const gsrt_workload *workload, gsrt_region *region);

/* Validate everything: shapes, indices, dangling values and states, each value written once and before it is read,
 * head counts that divide, limits (the numbered rules are in workload_check.c). `file` is named in *diag. GSRT_OK |
 * GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_workload_check(const gsrt_workload *workload, const char *file, gsrt_diag *diag);

/* Can the runtime execute it? GSRT_OK | GSRT_EUNSUPPORTED: *diag names the first thing that is missing. Of a checked
 * workload. */
GSRT_MUST_CHECK gsrt_status gsrt_workload_executable(const gsrt_workload *workload, const char *file, gsrt_diag *diag);

const char *gsrt_op_kind_name(gsrt_op_kind kind);

/* Elements of a tensor, all of its stack. */
static inline uint64_t gsrt_tensor_elements(const gsrt_tensor *tensor)
{
    return (uint64_t)tensor->stack_count * tensor->row_count * tensor->column_count;
}

#endif
