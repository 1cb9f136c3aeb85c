/* The workload: what is to be computed, without a word about where.
 *
 * Named, typed tensors; an op list; regions (runs of ops that are placed as a whole); state (the KV cache). Importers
 * (model/) build it, validate it once, and from then on it is read-only. The runtime executes this list: there is no
 * forward function per model family.
 *
 * A value (an op's input or output) is a float32 activation of shape [rows, width]; rows is symbolic (the tokens of a
 * step). A tensor is a weight. Both are named by dense indices into their tables.
 *
 * Legal order: create, add tensors / values / regions / ops in execution order, check, then only read; free.
 * Thread: building is single threaded; reading from any thread. Cost: memory O(tensors + ops).
 */
#ifndef GSRT_PLACEMENT_WORKLOAD_H
#define GSRT_PLACEMENT_WORKLOAD_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/limits.h"

typedef enum gsrt_op_kind {
    GSRT_OP_EMBED,     /* out[r] = row token[r] of tensor, widened to f32; tensor [vocab, dim] */
    GSRT_OP_RMSNORM,   /* out[r] = in0[r] / sqrt(mean(in0[r]^2) + epsilon) * tensor; tensor [dim] */
    GSRT_OP_LINEAR,    /* out[r] = tensor * in0[r] (+ bias); tensor [outputs, inputs]; split by output units */
    GSRT_OP_ROPE,      /* rotate pairs of every head of in0, width heads*head_dim; may be in place: out == in[0] */
    GSRT_OP_ATTENTION, /* in0 query [heads*head_dim], in1 key, in2 value [kv_heads*head_dim]; stores k and v in the
                          KV state of `layer`, then attends causally; out [heads*head_dim] */
    GSRT_OP_SWIGLU,    /* out = silu(in0) * in1, elementwise */
    GSRT_OP_ADD,       /* out = in0 + in1, elementwise */
    GSRT_OP_LOGITS,    /* like LINEAR; only for rows whose logits are wanted; tensor [vocab, dim] */
} gsrt_op_kind;

/* What one unit of a split is; see gsrt_op.unit. */
typedef enum gsrt_split_kind {
    GSRT_SPLIT_NONE,   /* every member of the group computes all of it */
    GSRT_SPLIT_HEADS,  /* units are query heads; key/value widths follow by gsrt_kv_head_of */
    GSRT_SPLIT_OUTPUT, /* units are output chunks of `unit` elements */
    GSRT_SPLIT_VOCAB,  /* units are vocabulary rows */
} gsrt_split_kind;

#define GSRT_NO_INDEX UINT32_MAX /* an index that names nothing */

typedef struct gsrt_tensor {
    const char *name;      /* as in the model file */
    gsrt_dtype dtype;      /* of the elements in the file */
    uint32_t row_count;    /* outputs (vectors: 1) */
    uint32_t column_count; /* inputs = K; contiguous in the file */
    uint64_t offset_bytes; /* of the first element, from the start of the file */
    uint64_t size_bytes;   /* row_count * bytes of a row */
} gsrt_tensor;

typedef struct gsrt_value {
    const char *name;      /* "blk.0.q" */
    uint32_t width;        /* elements per row */
    gsrt_split_kind split; /* how a group that splits it holds it: NONE = replicated */
    uint32_t unit;         /* elements per unit (head_dim for heads; 0 when split is NONE) */
    bool is_kv;            /* HEADS only: width counts KV heads, not query heads */
} gsrt_value;

/* RoPE with its scaling variants. Angle of pair i at position p: see docs/numerics.md. */
typedef struct gsrt_rope {
    bool is_neox;            /* pairs (i, i + rotated/2) instead of (2i, 2i+1) */
    uint32_t dim_rotated;    /* leading elements of each head that rotate; even */
    float base;              /* theta */
    float scale;             /* linear scaling: multiplies the position; 1 = none */
    uint32_t factors_tensor; /* per-pair divisors of the frequency (rope_freqs.weight), GSRT_NO_INDEX = none */
    bool is_yarn;            /* YaRN: the four below apply */
    uint32_t context_original;
    float yarn_extension_factor, yarn_attention_factor;
    float yarn_beta_fast, yarn_beta_slow;
} gsrt_rope;

typedef struct gsrt_op {
    gsrt_op_kind kind;
    uint32_t region;       /* index of its region */
    uint32_t layer;        /* KV state of ATTENTION; otherwise the layer or GSRT_NO_INDEX */
    uint32_t in[3];        /* values; GSRT_NO_INDEX = none */
    uint32_t out;          /* value */
    uint32_t tensor;       /* weight; GSRT_NO_INDEX = none */
    uint32_t bias;         /* LINEAR: vector of f32 [outputs]; GSRT_NO_INDEX = none */
    float epsilon;         /* RMSNORM */
    float scale;           /* ATTENTION: multiplies q.k */
    uint32_t head_dim;     /* ROPE, ATTENTION */
    uint32_t k_group;      /* LINEAR, LOGITS: elements of K that stay together in a chunk (head size of in0, else 1) */
    const gsrt_rope *rope; /* ROPE; borrowed from the workload's arena */
} gsrt_op;

typedef struct gsrt_region {
    const char *name;  /* "embed", "layer.0" ..., "output" */
    uint32_t layer;    /* the layer it is, or GSRT_NO_INDEX for embed and output */
    uint32_t op_first; /* ops [op_first, op_first + op_count) */
    uint32_t op_count;
    uint32_t in;  /* value that enters it, GSRT_NO_INDEX for the first */
    uint32_t out; /* value that leaves it */
} gsrt_region;

typedef struct gsrt_workload {
    gsrt_arena arena; /* everything below lives here */
    const char *name; /* of the model */
    const char *architecture;
    uint32_t layer_count, dim, ffn_dim;
    uint32_t head_count, kv_head_count, head_dim;
    uint32_t vocab_count, context_max;
    bool output_is_tied;
    gsrt_tensor *tensors;
    uint32_t tensor_count;
    gsrt_value *values;
    uint32_t value_count;
    gsrt_op *ops;
    uint32_t op_count;
    gsrt_region *regions; /* embed, layer 0.., output: in execution order */
    uint32_t region_count;
    uint64_t parameter_count;
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

/* Append a copy of *item; names are copied into the arena; *out_index its dense index. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_workload_add_tensor(gsrt_workload *workload, const gsrt_tensor *item,
                                                     uint32_t *out_index);
GSRT_MUST_CHECK gsrt_status gsrt_workload_add_value(gsrt_workload *workload, const gsrt_value *item,
                                                    uint32_t *out_index);
GSRT_MUST_CHECK gsrt_status gsrt_workload_add_region(gsrt_workload *workload, const gsrt_region *item,
                                                     uint32_t *out_index);
/* item->rope is copied too. */
GSRT_MUST_CHECK gsrt_status gsrt_workload_add_op(gsrt_workload *workload, const gsrt_op *item, uint32_t *out_index);

/* Validate everything: shapes, indices, dangling values, each value written once and before it is read, head counts
 * that divide, limits (the numbered rules are in workload_check.c). `file` is named in *diag. GSRT_OK | GSRT_EINPUT |
 * GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_workload_check(const gsrt_workload *workload, const char *file, gsrt_diag *diag);

const char *gsrt_op_kind_name(gsrt_op_kind kind);

#endif
