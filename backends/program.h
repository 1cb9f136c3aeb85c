/* What a device executes: a program of instructions over slots, and a job that runs a part of it on some rows.
 *
 * The region actor (model/) lowers its share of the workload into one program per (plan, member) once; each step
 * submits jobs that name a run of instructions [first, first + count) of it. Between two runs the region exchanges
 * slots with the other members of its group.
 *
 * A slot is an activation matrix, row-major and contiguous: [rows, width] of f32, or [rows, width / 32] of
 * gsrt_q8_block (quantised activations). A member that holds a share of a value holds it as a slot of its own width.
 * Memory of the slots belongs to a workspace; one workspace per job in flight.
 *
 * Every instruction is defined, bit by bit, in docs/numerics.md.
 */
#ifndef GSRT_BACKENDS_PROGRAM_H
#define GSRT_BACKENDS_PROGRAM_H

#include "base/dtype.h"
#include "base/limits.h"
#include "base/span.h"
#include "base/status.h"

/* Activations of 32 neighbouring columns, quantised: value i is scale * q[i]; |q[i]| <= 127. On the wire as it is. */
typedef struct gsrt_q8_block {
    float scale;
    int8_t q[32];
} gsrt_q8_block;
_Static_assert(sizeof(gsrt_q8_block) == 36, "goes over the wire as it is");

typedef enum gsrt_slot_format {
    GSRT_SLOT_F32, /* width floats per row */
    GSRT_SLOT_Q8,  /* width / 32 gsrt_q8_block per row; width is a multiple of 32 */
} gsrt_slot_format;

typedef struct gsrt_slot {
    gsrt_slot_format format;
    uint32_t width; /* elements per row */
    bool is_wanted; /* its rows are the job's wanted rows, not all rows */
} gsrt_slot;

struct gsrt_packed; /* a matrix in the kernel's own layout; private to the backend */

/* A weight, or a share of it, as it lies in the mapped file: row r starts at rows + r * row_stride_bytes; elements of K
 * [k_first, k_first + k_count) are the share (k_count = k_total unless the product is split over K). */
typedef struct gsrt_matrix {
    const char *name; /* borrowed; for reports */
    gsrt_dtype dtype;
    uint32_t row_count; /* outputs of this share */
    uint32_t k_total;   /* K of the whole matrix: defines the chunks */
    uint32_t k_first, k_count;
    uint32_t k_group;    /* elements of K that stay in one chunk (head size), 1 = none */
    const uint8_t *rows; /* borrowed from the mapped file; element (0, 0) of the whole row, k_first not applied */
    uint64_t row_stride_bytes;
    struct gsrt_packed *_Atomic packed; /* NULL until packed; published with release, read with acquire */
} gsrt_matrix;

/* Rotary embedding: the angle table is made once by the backend from this (docs/numerics.md). */
typedef struct gsrt_rope_table gsrt_rope_table;

typedef enum gsrt_instr_kind {
    GSRT_INSTR_EMBED,     /* out = rows `token` of matrix, as f32 */
    GSRT_INSTR_RMSNORM,   /* out = rmsnorm(in0) * vector */
    GSRT_INSTR_QUANTISE,  /* out (Q8) = quantise(in0 (F32)) */
    GSRT_INSTR_LINEAR,    /* out = matrix * in0 (+ vector as bias); in0 is Q8 for quantised weights, F32 otherwise.
                             When the matrix is a share of K: out [rows, subtree_count * row_count], the sums of the
                             share's whole subtrees in order of chunk (subtree-major: subtree s at s * row_count) */
    GSRT_INSTR_TREE,      /* finish the sums of a product split over K: in0 [rows, subtree_total * width] -> out [rows,
                             width]; matrix names K, so the tree's shape is known */
    GSRT_INSTR_ROPE,      /* rotate in0 in place: width = heads * head_dim */
    GSRT_INSTR_ATTENTION, /* store in1 (k), in2 (v) into the KV pages, attend with in0 (q); out [rows, heads*head_dim]
                           */
    GSRT_INSTR_SWIGLU,    /* out = silu(in0) * in1 */
    GSRT_INSTR_ADD,       /* out = in0 + in1; out may be in0 */
    GSRT_INSTR_SELECT,    /* out (is_wanted) = the wanted rows of in0 */
    GSRT_INSTR_PLACE,     /* columns [column_first, + width of the piece) of out = the job's piece number `piece` */
    GSRT_INSTR_SAMPLE, /* in0 (is_wanted) holds whole logits: hash each row, sample where the job says; see results */
} gsrt_instr_kind;

enum { GSRT_NO_SLOT = 0xffffu };

typedef struct gsrt_instr {
    gsrt_instr_kind kind;
    uint16_t in[3], out; /* slots; GSRT_NO_SLOT = none */
    gsrt_matrix *matrix; /* EMBED, LINEAR, TREE; borrowed */
    const float *vector; /* RMSNORM weight [width]; LINEAR, TREE bias [outputs] or NULL; borrowed */
    const gsrt_rope_table *rope;
    float epsilon;          /* RMSNORM */
    float scale;            /* ATTENTION */
    uint32_t head_count;    /* ROPE: heads in the slot; ATTENTION: query heads of this share */
    uint32_t kv_head_count; /* ATTENTION: KV heads of this share */
    uint32_t head_dim;
    uint32_t kv_layer;          /* ATTENTION: index of its layer in the gsrt_kv */
    const uint16_t *kv_of_head; /* ATTENTION: [head_count] KV head (in the share) of each query head; borrowed */
    uint32_t column_first;      /* PLACE: first column (elements) */
    uint32_t piece;             /* PLACE: index into the job's pieces */
    /* TREE: where the shares of K were cut, as one past each share's last chunk, ascending (empty shares repeat a
     * number), the last one the chunk count: in0 holds the subtrees of these shares one after the other. */
    const uint32_t *chunk_ends; /* [share_count]; borrowed */
    uint32_t share_count;
} gsrt_instr;

typedef struct gsrt_program {
    const gsrt_instr *instrs; /* [instr_count]; borrowed */
    uint32_t instr_count;
    const gsrt_slot *slots; /* [slot_count]; borrowed */
    uint32_t slot_count;
} gsrt_program;

/* Sampling of one wanted row. */
typedef struct gsrt_sampling {
    bool is_sampled;   /* false: only the hash (and the logits) */
    float temperature; /* 0 = greedy: the largest logit, ties to the lowest token */
    uint32_t top_k;    /* 0 = off */
    float top_p;       /* 1 = off */
    uint64_t seed;     /* of the request */
    uint64_t position; /* of the token that is drawn: key of the generator together with the seed */
} gsrt_sampling;

typedef struct gsrt_sample_result {
    uint32_t token;               /* valid when is_sampled */
    uint64_t hash_low, hash_high; /* xxh3-128 of the row's raw little-endian f32 logits [vocab] */
} gsrt_sample_result;

/* The rows of one request within a job: consecutive rows, consecutive positions. */
typedef struct gsrt_job_sequence {
    uint32_t row_first, row_count;
    uint32_t position_first;
    const uint32_t *blocks; /* KV block numbers of positions 0.. of the request, [ceil(end / block positions)] */
} gsrt_job_sequence;

typedef struct gsrt_workspace gsrt_workspace;
struct gsrt_kv;

typedef struct gsrt_job {
    const gsrt_program *program; /* borrowed until done, like all pointers here */
    uint32_t instr_first, instr_count;
    gsrt_workspace *workspace;
    struct gsrt_kv *kv;
    uint32_t row_count;                 /* 1..GSRT_BATCH_ROWS_MAX */
    const uint32_t *tokens;             /* [row_count] (EMBED) */
    const gsrt_job_sequence *sequences; /* [sequence_count], covering the rows in order */
    uint32_t sequence_count;
    const uint32_t *wanted; /* [wanted_count] rows whose logits are wanted, ascending */
    uint32_t wanted_count;
    const gsrt_sampling *sampling; /* [wanted_count] (SAMPLE) */
    gsrt_sample_result *results;   /* [wanted_count] (SAMPLE) */
    const gsrt_span *pieces;       /* PLACE: contiguous [rows, piece width] in the slot's format */
    uint32_t piece_count;
} gsrt_job;

/* ---- workspaces: memory of the slots ---- */

/* Room for `rows_max` rows in every slot of `program`. Owned; NULL: no memory. Any thread. */
gsrt_workspace *gsrt_workspace_create(const gsrt_program *program, uint32_t rows_max);
gsrt_workspace *gsrt_workspace_free(gsrt_workspace *workspace);
/* Memory of a slot, 64-byte aligned; borrowed until the workspace is freed. */
void *gsrt_workspace_slot(gsrt_workspace *workspace, uint32_t slot);
size_t gsrt_workspace_bytes(const gsrt_workspace *workspace);
/* Bytes of one row of `slot`. */
size_t gsrt_slot_row_bytes(const gsrt_slot *slot);

/* ---- the shape of a canonical sum (docs/numerics.md), needed to plan a split over K ---- */

/* Elements per chunk of a sum over k_total: a function of these three only. k_group must divide k_total. */
uint32_t gsrt_chunk_of(uint32_t k_total, uint32_t k_group, gsrt_dtype dtype);
/* Whole subtrees that make up chunks [chunk_first, chunk_end) of chunk_count: how many sums a share of K sends. */
uint32_t gsrt_subtree_count(uint32_t chunk_first, uint32_t chunk_end, uint32_t chunk_count);

/* ---- what a job costs, for models of devices (twin, profiles) ---- */

typedef struct gsrt_job_cost {
    uint64_t weight_bytes;     /* weights read */
    uint64_t kv_bytes;         /* KV read and written */
    uint64_t activation_bytes; /* slots read and written */
    uint64_t flops[3];         /* multiply-adds * 2 by class: 0 = f32 weights, 1 = f16/bf16 weights, 2 = quantised */
    uint64_t attention_flops;
} gsrt_job_cost;

gsrt_job_cost gsrt_job_cost_of(const gsrt_job *job);

/* ---- rope ---- */
typedef struct gsrt_rope_options {
    bool is_neox;
    uint32_t head_dim, dim_rotated;
    float base, scale;
    const float *factors; /* [dim_rotated / 2] or NULL; copied */
    bool is_yarn;
    uint32_t context_original;
    float yarn_extension_factor, yarn_attention_factor, yarn_beta_fast, yarn_beta_slow;
    uint32_t position_count; /* table covers positions 0.. position_count - 1 */
} gsrt_rope_options;
/* Owned; NULL: no memory or invalid options. The table is computed by our own sin and cos. */
gsrt_rope_table *gsrt_rope_table_create(const gsrt_rope_options *options);
gsrt_rope_table *gsrt_rope_table_free(gsrt_rope_table *table);

#endif
