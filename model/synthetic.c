/* The numbers become a shape, as a config.json does (config_shape.c), and are built by the same builder. */
#include "model/synthetic.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "model/config_impl.h"

enum { HEAD_COUNT_MAX = 65536, CONTEXT_DEFAULT = 32768, NAME_BYTES_MAX = 64 };

static const char *const format_words[] = {"f32", "f16", "bf16", "q8_0", "q4_0", "f8_e4m3", "mxfp4", "nvfp4"};
static const gsrt_dtype formats[] = {GSRT_DTYPE_F32,  GSRT_DTYPE_F16,     GSRT_DTYPE_BF16,  GSRT_DTYPE_Q8_0,
                                     GSRT_DTYPE_Q4_0, GSRT_DTYPE_F8_E4M3, GSRT_DTYPE_MXFP4, GSRT_DTYPE_NVFP4};
enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

static gsrt_status read_weights(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    size_t index;
    gsrt_status status = gsrt_yaml_read_word(reader, node, format_words, FORMAT_COUNT, &index);
    if (status == GSRT_OK)
        ((gsrt_synthetic *)object)->weights = formats[index];
    return status;
}

/* KV in blocks under one scale is nothing that anybody writes position by position. */
static gsrt_status read_state(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    static const char *const words[] = {"f32", "f16", "bf16", "f8_e4m3"};
    static const gsrt_dtype kinds[] = {GSRT_DTYPE_F32, GSRT_DTYPE_F16, GSRT_DTYPE_BF16, GSRT_DTYPE_F8_E4M3};
    size_t index;
    gsrt_status status = gsrt_yaml_read_word(reader, node, words, sizeof words / sizeof words[0], &index);
    if (status == GSRT_OK)
        ((gsrt_synthetic *)object)->state = kinds[index];
    return status;
}

static const gsrt_yaml_field synthetic_fields[] = {
    {"name", GSRT_YAML_FIELD_TEXT, offsetof(gsrt_synthetic, name), 1, NAME_BYTES_MAX, NULL, NULL},
    {"layers", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, layers), 1, GSRT_LAYER_COUNT_MAX, NULL, "32"},
    {"dim", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, dim), 1, GSRT_DIM_MAX, NULL, "4096"},
    {"heads", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, heads), 1, HEAD_COUNT_MAX, NULL, "32"},
    {"kv_heads", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, kv_heads), 1, HEAD_COUNT_MAX, NULL, NULL},
    {"head_dim", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, head_dim), 2, GSRT_HEAD_DIM_MAX, NULL, NULL},
    {"ffn", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, ffn), 1, GSRT_DIM_MAX, NULL, NULL},
    {"vocab", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, vocab), 1, GSRT_VOCAB_COUNT_MAX, NULL, "32000"},
    {"context", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, context), 1, GSRT_CONTEXT_MAX, NULL, NULL},
    {"window", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, window), 0, GSRT_CONTEXT_MAX, NULL, NULL},
    {"experts", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, experts), 0, GSRT_EXPERT_COUNT_MAX, NULL, NULL},
    {"experts_chosen", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, chosen), 1, GSRT_EXPERT_COUNT_MAX, NULL, NULL},
    {"expert_ffn", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, expert_ffn), 1, GSRT_DIM_MAX, NULL, NULL},
    {"shared_ffn", GSRT_YAML_FIELD_U32, offsetof(gsrt_synthetic, shared_ffn), 0, GSRT_DIM_MAX, NULL, NULL},
    {"tied", GSRT_YAML_FIELD_BOOL, offsetof(gsrt_synthetic, is_tied), 0, 0, NULL, NULL},
    {"weights", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_weights, NULL},
    {"state", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_state, NULL},
};

static gsrt_status check_heads(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_synthetic *s)
{
    if (s->kv_heads == 0)
        s->kv_heads = s->heads;
    if (s->heads % s->kv_heads != 0)
        return gsrt_yaml_refuse(reader, node,
                                "%" PRIu32 " KV heads do not divide %" PRIu32 " heads; give 'kv_heads' that do",
                                s->kv_heads, s->heads);
    if (s->head_dim == 0 && s->dim % s->heads != 0)
        return gsrt_yaml_refuse(reader, node,
                                "%" PRIu32 " heads do not divide a dim of %" PRIu32 "; give 'head_dim' or other heads",
                                s->heads, s->dim);
    if (s->head_dim == 0)
        s->head_dim = s->dim / s->heads;
    if (s->head_dim % 2 != 0 || s->head_dim > GSRT_HEAD_DIM_MAX)
        return gsrt_yaml_refuse(
            reader, node, "heads of %" PRIu32 " elements cannot be rotated; give an even 'head_dim' of at most %d",
            s->head_dim, GSRT_HEAD_DIM_MAX);
    if ((uint64_t)s->heads * s->head_dim > GSRT_DIM_MAX)
        return gsrt_yaml_refuse(reader, node, "all heads together have more than %u elements; give fewer 'heads'",
                                GSRT_DIM_MAX);
    return GSRT_OK;
}

static gsrt_status check_experts(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const gsrt_synthetic *s)
{
    bool has_keys = s->chosen > 0 || s->expert_ffn > 0 || s->shared_ffn > 0;
    if (s->experts == 0 && has_keys)
        return gsrt_yaml_refuse(reader, node, "has keys of experts but no experts; add 'experts: 8'");
    if (s->experts == 0 && s->ffn == 0)
        return gsrt_yaml_refuse_as(reader, node, "missing_key", "key 'ffn' is missing; add 'ffn: 11008'");
    if (s->experts > 0 && s->expert_ffn == 0)
        return gsrt_yaml_refuse_as(reader, node, "missing_key", "key 'expert_ffn' is missing; add 'expert_ffn: 1408'");
    if (s->experts > 0 && (s->chosen == 0 || s->chosen > s->experts))
        return gsrt_yaml_refuse(reader, node,
                                "a token must take 1 to %" PRIu32 " experts; give such a number as 'experts_chosen'",
                                s->experts);
    return GSRT_OK;
}

gsrt_status gsrt_synthetic_read(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_synthetic *out)
{
    *out = (gsrt_synthetic){
        .name = "synthetic", .context = CONTEXT_DEFAULT, .weights = GSRT_DTYPE_BF16, .state = GSRT_DTYPE_BF16};
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, synthetic_fields, out);
    if (status == GSRT_OK)
        status = check_heads(reader, node, out);
    return status == GSRT_OK ? check_experts(reader, node, out) : status;
}

static gsrt_status print_number(gsrt_buffer *out, const char *key, uint32_t number)
{
    return number == 0 ? GSRT_OK : gsrt_buffer_print(out, ", %s: %" PRIu32, key, number);
}

gsrt_status gsrt_synthetic_print(const gsrt_synthetic *synthetic, gsrt_buffer *out)
{
    const gsrt_synthetic *s = synthetic;
    const struct {
        const char *key;
        uint32_t number;
    } rows[] = {{"layers", s->layers},         {"dim", s->dim},
                {"heads", s->heads},           {"kv_heads", s->kv_heads},
                {"head_dim", s->head_dim},     {"ffn", s->ffn},
                {"vocab", s->vocab},           {"context", s->context},
                {"window", s->window},         {"experts", s->experts},
                {"experts_chosen", s->chosen}, {"expert_ffn", s->expert_ffn},
                {"shared_ffn", s->shared_ffn}};
    size_t start = out->len;
    gsrt_status status = gsrt_buffer_print(out, "{name: ");
    if (status == GSRT_OK)
        status = gsrt_yaml_print_text(out, s->name);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == GSRT_OK; i++)
        status = print_number(out, rows[i].key, rows[i].number);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, ", tied: %s, weights: %s, state: %s}", s->is_tied ? "true" : "false",
                                   gsrt_dtype_name(s->weights), gsrt_dtype_name(s->state));
    if (status != GSRT_OK)
        out->len = start;
    return status;
}

static void shape_of(const gsrt_synthetic *s, gsrt__shape *shape)
{
    gsrt_rope rope = {
        .is_neox = true, .dim_rotated = s->head_dim, .base = 10000, .scale = 1, .factors_tensor = GSRT_NO_INDEX};
    *shape = (gsrt__shape){.architecture = "synthetic",
                           .layers = s->layers,
                           .dim = s->dim,
                           .ffn = s->ffn > 0 ? s->ffn : s->expert_ffn,
                           .heads = s->heads,
                           .kv_heads = s->kv_heads,
                           .head_dim = s->head_dim,
                           .value_dim = s->head_dim,
                           .vocab = s->vocab,
                           .context = s->context,
                           .epsilon = 1e-6F,
                           .is_tied = s->is_tied,
                           .attention_scale = 1 / sqrtf((float)s->head_dim),
                           .activation = GSRT_OP_SWIGLU,
                           .rope = rope,
                           .rope_local = rope,
                           .expert_ffn = s->expert_ffn,
                           .shared_ffn = s->shared_ffn,
                           .router_name = "mlp.gate",
                           .experts_name = "mlp.experts",
                           .formats = {.plain = gsrt_dtype_block(s->weights) > 1 ? GSRT_DTYPE_BF16 : s->weights,
                                       .quantised = s->weights,
                                       .state = s->state}};
    for (uint32_t i = 0; i < s->layers; i++)
        shape->windows[i] = s->window;
    if (s->experts > 0)
        shape->routing = (gsrt_routing){.expert_count = s->experts,
                                        .chosen_count = s->chosen,
                                        .score = GSRT_SCORE_SOFTMAX,
                                        .is_renormalised = true,
                                        .scale = 1,
                                        .correction_tensor = GSRT_NO_INDEX};
}

gsrt_status gsrt_synthetic_build(const gsrt_synthetic *synthetic, const char *file, gsrt_workload **out,
                                 gsrt_diag *diag)
{
    gsrt__shape *shape = calloc(1, sizeof *shape);
    gsrt_workload *workload = gsrt_workload_create();
    gsrt_status status = shape == NULL || workload == NULL ? GSRT_ENOMEM : GSRT_OK;
    if (status == GSRT_OK) {
        shape_of(synthetic, shape);
        workload->name = gsrt_arena_copy_text(&workload->arena, synthetic->name, strlen(synthetic->name));
        workload->architecture = shape->architecture;
        status = workload->name == NULL ? GSRT_ENOMEM : gsrt__config_build(shape, file, workload, diag);
    }
    free(shape);
    if (status == GSRT_OK)
        *out = workload;
    else
        gsrt_workload_free(workload);
    return status;
}
