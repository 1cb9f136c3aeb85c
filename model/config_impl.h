/* Within model/ only: a config.json, read (config_keys.c), understood (config_shape.c, with
 * config_family.c and config_rope.c), and built (config_layers.c, with config_builder.c). */
#ifndef GSRT_MODEL_CONFIG_IMPL_H
#define GSRT_MODEL_CONFIG_IMPL_H

#include "base/json.h"
#include "model/config_json.h"

/* ---- keys ---- */

/* One object of the file. `prefix` stands before its keys in messages: "text_config.". */
typedef struct gsrt__keys {
    const char *file;
    gsrt_diag *diag;
    const json_t *object; /* borrowed */
    const char *prefix;
} gsrt__keys;

/* The value of `key`; NULL: absent or null. Borrowed. */
const json_t *gsrt__key(const gsrt__keys *keys, const char *key);

/* Note what is wrong with `key`, with its remedy; returns GSRT_EINPUT. */
gsrt_status gsrt__key_fail(const gsrt__keys *keys, const char *key, const char *format, ...) GSRT_PRINTF(3, 4);

/* The value of `key`, between min and max; where it is absent `fallback`, or an error when that is GSRT__NO_FALLBACK.
 * GSRT_OK | GSRT_EINPUT. */
#define GSRT__NO_FALLBACK UINT32_MAX
GSRT_MUST_CHECK gsrt_status gsrt__key_u32(const gsrt__keys *keys, const char *key, uint32_t min, uint32_t max,
                                          uint32_t fallback, uint32_t *out);
/* A finite number that a float holds; integers too. */
GSRT_MUST_CHECK gsrt_status gsrt__key_f32(const gsrt__keys *keys, const char *key, float fallback, float *out);
GSRT_MUST_CHECK gsrt_status gsrt__key_bool(const gsrt__keys *keys, const char *key, bool fallback, bool *out);
/* A string; NULL fallback is allowed. Borrowed. */
GSRT_MUST_CHECK gsrt_status gsrt__key_text(const gsrt__keys *keys, const char *key, const char *fallback,
                                           const char **out);
/* Is there an object `key`? *out is it, with keys named "key." in messages in `room`. */
GSRT_MUST_CHECK gsrt_status gsrt__key_object(const gsrt__keys *keys, const char *key, char room[static 64],
                                             gsrt__keys *out, bool *is_there);

/* ---- shape ---- */

typedef enum gsrt__qk_norm { GSRT__QK_NORM_NONE, GSRT__QK_NORM_HEAD, GSRT__QK_NORM_WHOLE } gsrt__qk_norm;
typedef enum gsrt__fusion { GSRT__FUSION_NONE, GSRT__FUSION_ROWS, GSRT__FUSION_GPT2 } gsrt__fusion;

/* How the weights are stored. */
typedef struct gsrt__formats {
    gsrt_dtype plain;      /* norms, tables, what is not quantised */
    gsrt_dtype quantised;  /* matrices of the layers; the same as plain where nothing is */
    gsrt_dtype state;      /* the KV cache */
    const json_t *ignored; /* names and patterns of modules that stay plain; NULL: none */
    bool is_experts_only;
} gsrt__formats;

/* A model of any family, in one vocabulary. */
typedef struct gsrt__shape {
    const char *architecture; /* of the workload: "llama", "deepseek_v3" */
    uint32_t layers, dim, ffn, heads, kv_heads, head_dim, vocab, context;
    float epsilon;
    bool is_layernorm, is_tied, is_sandwiched; /* sandwiched: norms behind attention and feed-forward, too */
    float gain_offset, embedding_scale;        /* scale 0: none */
    gsrt__fusion fusion;
    bool has_qkv_bias, has_o_bias, has_ffn_bias;
    gsrt__qk_norm qk_norm;
    float attention_scale, attention_softcap, logits_softcap;
    bool has_sinks;
    gsrt_op_kind activation; /* SWIGLU, GEGLU, GELU */
    float swiglu_limit;
    uint32_t position_rows; /* learned positions; 0: RoPE */
    gsrt_rope rope, rope_local;
    float *factors;                         /* [rope.dim_rotated / 2] in the arena; NULL: none */
    uint32_t windows[GSRT_LAYER_COUNT_MAX]; /* of each layer; 0: none */
    bool has_local_rope;                    /* layers with a window use rope_local */
    /* latent attention; kv_rank 0: none */
    uint32_t q_rank, kv_rank, nope_dim, rope_dim, value_dim;
    /* mixture of experts */
    gsrt_routing routing; /* expert_count 0: none */
    uint32_t expert_ffn, shared_ffn;
    bool is_dense[GSRT_LAYER_COUNT_MAX]; /* where there are experts, layers without */
    bool has_correction, has_router_bias, has_expert_bias, has_shared_gate;
    const char *router_name, *experts_name; /* "mlp.gate", "mlp.experts" */
    gsrt__formats formats;
} gsrt__shape;

typedef enum gsrt__family_kind {
    GSRT__FAMILY_LLAMA, /* and those that differ by biases, norms of heads and windows only */
    GSRT__FAMILY_GEMMA2,
    GSRT__FAMILY_GEMMA3,
    GSRT__FAMILY_GPT2,
    GSRT__FAMILY_DEEPSEEK,
    GSRT__FAMILY_GPT_OSS,
    GSRT__FAMILY_MINIMAX,
} gsrt__family_kind;

typedef struct gsrt__family {
    const char *class_name; /* in "architectures" */
    const char *model_type;
    gsrt__family_kind kind;
    bool has_qkv_bias, has_qk_norm, is_fused, has_window, has_experts;
} gsrt__family;

/* What the family's own keys say; those that all have are in *shape already. GSRT_OK | GSRT_EINPUT. */
GSRT_MUST_CHECK gsrt_status gsrt__config_family(const gsrt__keys *k, const gsrt__family *f, gsrt__shape *s);

/* Fill *shape from the file's root object. Notes go to `notes`. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__config_shape(const gsrt__keys *root, gsrt_arena *arena, gsrt__shape *shape,
                                               gsrt_buffer *notes);
/* The parts of it: RoPE with its scaling; formats. */
GSRT_MUST_CHECK gsrt_status gsrt__config_rope(const gsrt__keys *keys, gsrt_arena *arena, gsrt__shape *shape,
                                              gsrt_buffer *notes);
GSRT_MUST_CHECK gsrt_status gsrt__config_formats(const gsrt__keys *root, const gsrt__keys *text, gsrt__formats *out,
                                                 gsrt_buffer *notes);

/* ---- building ---- */

/* The first failure sticks, and what follows it does nothing, so that the layers read as what they are. Indices are
 * GSRT_NO_INDEX then. */
typedef struct gsrt__builder {
    const gsrt__shape *s;
    const char *file;
    gsrt_diag *diag;
    gsrt_workload *w;
    gsrt_status status;
    uint32_t region, layer; /* being built; layer GSRT_NO_INDEX: none */
    uint32_t factors;       /* tensor of the rotation; GSRT_NO_INDEX: none */
    char name[GSRT_NAME_BYTES_MAX];
} gsrt__builder;

/* Keep the first error. */
void gsrt__build_note(gsrt__builder *b, gsrt_status status);
/* The full name of a tensor of this layer: "model.layers.3.mlp.gate.weight". In the builder, until the next call. */
const char *gsrt__build_name(gsrt__builder *b, const char *module, const char *suffix);
/* The format of a layer's matrix. */
gsrt_dtype gsrt__build_format(gsrt__builder *b, const char *module, bool is_expert);

/* Tensors: any; module.weight; rows of the fused tensor `base`; a vector, suffix ".weight", ".bias" or a part of one.
 */
uint32_t gsrt__build_tensor(gsrt__builder *b, const gsrt_tensor *item);
uint32_t gsrt__build_matrix(gsrt__builder *b, const char *module, gsrt_dtype dtype, uint32_t stack, uint32_t rows,
                            uint32_t columns);
uint32_t gsrt__build_view(gsrt__builder *b, uint32_t base, const char *part, uint32_t row_first, uint32_t rows);
uint32_t gsrt__build_vector(gsrt__builder *b, const char *module, const char *suffix, uint32_t count);

/* Values: any; not split; split by chunks; split by heads. */
uint32_t gsrt__build_value(gsrt__builder *b, const char *name, uint32_t width, gsrt_rows rows, gsrt_split_kind split,
                           uint32_t unit);
uint32_t gsrt__build_plain(gsrt__builder *b, const char *name, uint32_t width);
uint32_t gsrt__build_chunks(gsrt__builder *b, const char *name, uint32_t width, gsrt_rows rows);
uint32_t gsrt__build_heads(gsrt__builder *b, const char *name, bool is_kv, uint32_t head_dim);

/* An op of this region with nothing in it; then into the list: returns its output. */
gsrt_op gsrt__build_blank(const gsrt__builder *b, gsrt_op_kind kind);
uint32_t gsrt__build_op(gsrt__builder *b, const gsrt_op *op);

/* ---- layers ---- */

/* Build `workload` (empty) from *shape. GSRT_OK | GSRT_EINPUT (a format that does not fit a matrix) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__config_build(const gsrt__shape *shape, const char *file, gsrt_workload *workload,
                                               gsrt_diag *diag);

#endif
