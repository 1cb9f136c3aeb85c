/* What each family's keys mean, in one vocabulary (gsrt__shape). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/config_impl.h"

static const gsrt__family families[] = {
    {"LlamaForCausalLM", "llama", GSRT__FAMILY_LLAMA, false, false, false, false, false},
    {"MistralForCausalLM", "mistral", GSRT__FAMILY_LLAMA, false, false, false, true, false},
    {"MixtralForCausalLM", "mixtral", GSRT__FAMILY_LLAMA, false, false, false, true, true},
    {"Qwen2ForCausalLM", "qwen2", GSRT__FAMILY_LLAMA, true, false, false, true, false},
    {"Qwen2MoeForCausalLM", "qwen2_moe", GSRT__FAMILY_LLAMA, true, false, false, true, true},
    {"Qwen3ForCausalLM", "qwen3", GSRT__FAMILY_LLAMA, false, true, false, true, false},
    {"Qwen3MoeForCausalLM", "qwen3_moe", GSRT__FAMILY_LLAMA, false, true, false, true, true},
    {"Qwen3VLForConditionalGeneration", "qwen3_vl", GSRT__FAMILY_LLAMA, false, true, false, false, false},
    {"Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe", GSRT__FAMILY_LLAMA, false, true, false, false, true},
    {"MiMoForCausalLM", "mimo", GSRT__FAMILY_LLAMA, true, false, false, true, false},
    {"Phi3ForCausalLM", "phi3", GSRT__FAMILY_LLAMA, false, false, true, true, false},
    {"Gemma2ForCausalLM", "gemma2", GSRT__FAMILY_GEMMA2, false, false, false, true, false},
    {"Gemma3ForCausalLM", "gemma3_text", GSRT__FAMILY_GEMMA3, false, true, false, true, false},
    {"Gemma3ForConditionalGeneration", "gemma3", GSRT__FAMILY_GEMMA3, false, true, false, true, false},
    {"GPT2LMHeadModel", "gpt2", GSRT__FAMILY_GPT2, true, false, false, false, false},
    {"DeepseekV2ForCausalLM", "deepseek_v2", GSRT__FAMILY_DEEPSEEK, false, false, false, false, true},
    {"DeepseekV3ForCausalLM", "deepseek_v3", GSRT__FAMILY_DEEPSEEK, false, false, false, false, true},
    {"KimiK25ForConditionalGeneration", "kimi_k25", GSRT__FAMILY_DEEPSEEK, false, false, false, false, true},
    {"GptOssForCausalLM", "gpt_oss", GSRT__FAMILY_GPT_OSS, true, false, false, true, true},
    {"MiniMaxM2ForCausalLM", "minimax_m2", GSRT__FAMILY_MINIMAX, false, false, false, false, true},
};
enum { FAMILY_COUNT = sizeof families / sizeof families[0] };

/* Keys whose presence asks for something that no op expresses. The first that is there is named. */
static const struct {
    const char *key, *what;
} strangers[] = {
    {"hybrid_override_pattern", "layers of state-space models (Mamba)"},
    {"mamba_num_heads", "layers of state-space models (Mamba)"},
    {"ssm_state_size", "layers of state-space models (Mamba)"},
    {"linear_num_key_heads", "layers of linear attention (gated delta rule)"},
    {"hc_mult", "hyper-connections and compressed attention (DeepSeek-V4)"},
    {"compress_ratios", "compressed attention (DeepSeek-V4)"},
    {"index_topk", "sparse attention with an indexer"},
    {"sparse_attention_config", "sparse attention by blocks"},
    {"hybrid_layer_pattern", "layers with different numbers of KV heads"},
    {"attention_chunk_size", "attention in chunks (Llama 4)"},
    {"global_head_dim", "layers with two head sizes (Gemma 4)"},
    {"block_configs", "layers that differ from each other (pruned by a search)"},
    {"type_vocab_size", "attention in both directions (BERT)"},
    {"word_embed_proj_dim", "the layers of OPT (ReLU, shifted positions)"},
};

static gsrt_status refuse_strangers(const gsrt__keys *keys)
{
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        if (gsrt__key(keys, strangers[i].key) != NULL)
            return gsrt__key_fail(keys, strangers[i].key, "asks for %s, which is not supported; take a model without",
                                  strangers[i].what);
    }
    return GSRT_OK;
}

/* The first class in "architectures" of the object; NULL: there is none. */
static const char *class_of(const gsrt__keys *keys)
{
    const json_t *classes = gsrt__key(keys, "architectures");
    return json_is_array(classes) ? json_string_value(json_array_get(classes, 0)) : NULL;
}

static const gsrt__family *family_of_class(const char *name)
{
    for (size_t i = 0; i < FAMILY_COUNT && name != NULL; i++) {
        if (strcmp(families[i].class_name, name) == 0)
            return &families[i];
    }
    return NULL;
}

static const gsrt__family *family_of_type(const char *name)
{
    for (size_t i = 0; i < FAMILY_COUNT && name != NULL; i++) {
        if (strcmp(families[i].model_type, name) == 0)
            return &families[i];
    }
    return NULL;
}

/* The class decides, as it does for every server; the type where there is no class. */
static gsrt_status find_family(const gsrt__keys *root, const gsrt__family **out, gsrt_buffer *notes)
{
    const char *name = class_of(root), *type;
    gsrt_status status = gsrt__key_text(root, "model_type", NULL, &type);
    if (status != GSRT_OK)
        return status;
    if (name == NULL && type == NULL &&
        (gsrt__key(root, "quantization") != NULL || gsrt__key(root, "producer") != NULL))
        return gsrt__key_fail(root, "architectures",
                              "is missing: this file describes a quantisation, not a model; give "
                              "the config.json beside it");
    if (name == NULL && type == NULL)
        return gsrt__key_fail(root, "architectures",
                              "is missing, and so is 'model_type'; give a config.json of a model");
    const gsrt__family *by_class = family_of_class(name), *by_type = family_of_type(type);
    *out = name != NULL ? by_class : by_type;
    if (*out == NULL)
        return gsrt__key_fail(
            root, name != NULL ? "architectures" : "model_type",
            "'%.60s' is not supported; supported: Llama, Mistral, Mixtral, Qwen2, Qwen3, their mixtures "
            "of experts, MiMo, DeepSeek-V2 and V3, Kimi-K2, gpt-oss, Gemma 2 and 3, Phi-3, GPT-2, "
            "MiniMax-M2",
            name != NULL ? name : type);
    if (by_type != NULL && by_class != NULL && by_type->kind != by_class->kind)
        return gsrt_buffer_print(notes, "family: architectures says %.60s, model_type says %.60s; the first is taken\n",
                                 name, type);
    if (by_type != NULL && by_class != NULL && by_type != by_class && gsrt__key(root, "text_config") == NULL)
        return gsrt_buffer_print(notes, "family: architectures says %.60s, model_type says %.60s; the first is taken\n",
                                 name, type);
    return GSRT_OK;
}

/* ---- what all have ---- */

/* Under these keys, most families; GPT-2 has its own. `gemma`: what a file of Gemma 3 may leave out. */
static gsrt_status read_sizes(const gsrt__keys *k, const gsrt__family *f, gsrt__shape *s)
{
    bool is_gemma3 = f->kind == GSRT__FAMILY_GEMMA3, is_gpt2 = f->kind == GSRT__FAMILY_GPT2;
    const uint32_t none = GSRT__NO_FALLBACK;
    gsrt_status status =
        gsrt__key_u32(k, is_gpt2 ? "n_layer" : "num_hidden_layers", 1, GSRT_LAYER_COUNT_MAX, none, &s->layers);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, is_gpt2 ? "n_embd" : "hidden_size", 1, GSRT_DIM_MAX, none, &s->dim);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, is_gpt2 ? "n_inner" : "intermediate_size", 1, GSRT_DIM_MAX,
                               is_gpt2 && s->dim <= GSRT_DIM_MAX / 4 ? 4 * s->dim : none, &s->ffn);
    if (status == GSRT_OK)
        status =
            gsrt__key_u32(k, is_gpt2 ? "n_head" : "num_attention_heads", 1, 65536, is_gemma3 ? 8 : none, &s->heads);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "num_key_value_heads", 1, 65536, is_gemma3 ? 4 : s->heads, &s->kv_heads);
    if (status == GSRT_OK && s->heads % s->kv_heads != 0)
        return gsrt__key_fail(k, "num_key_value_heads",
                              "does not divide the number of heads; take the file from its maker "
                              "again");
    uint32_t usual = status == GSRT_OK && s->dim % s->heads == 0 ? s->dim / s->heads : none;
    if (f->kind == GSRT__FAMILY_GEMMA2 || is_gemma3)
        usual = 256;
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "head_dim", 1, GSRT_HEAD_DIM_MAX, usual, &s->head_dim);
    if (status == GSRT_OK && s->head_dim > GSRT_HEAD_DIM_MAX)
        return gsrt__key_fail(k, "head_dim",
                              "is missing, and hidden_size gives heads of more than %d elements; take the "
                              "file from its maker again",
                              GSRT_HEAD_DIM_MAX);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "vocab_size", 1, GSRT_VOCAB_COUNT_MAX, is_gemma3 ? 262208 : none, &s->vocab);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, is_gpt2 ? "n_positions" : "max_position_embeddings", 1, UINT32_MAX - 1,
                               is_gemma3 ? 131072 : none, &s->context);
    s->value_dim = s->head_dim;
    return status;
}

/* Layers with a window: of "layer_types", or by the family's rule. */
static gsrt_status read_windows(const gsrt__keys *k, const gsrt__family *f, gsrt__shape *s)
{
    uint32_t window, first, pattern;
    bool is_used = true;
    gsrt_status status =
        gsrt__key_u32(k, "sliding_window", 1, UINT32_MAX - 1,
                      f->kind == GSRT__FAMILY_GEMMA2 || f->kind == GSRT__FAMILY_GEMMA3 ? 4096 : 0, &window);
    if (status == GSRT_OK) /* Qwen's switch */
        status = gsrt__key_bool(k, "use_sliding_window", gsrt__key(k, "max_window_layers") == NULL, &is_used);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "max_window_layers", 0, GSRT_LAYER_COUNT_MAX, 0, &first);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "sliding_window_pattern", 1, GSRT_LAYER_COUNT_MAX, 6, &pattern);
    const json_t *types = gsrt__key(k, "layer_types");
    if (status == GSRT_OK && types != NULL && (!json_is_array(types) || json_array_size(types) != s->layers))
        return gsrt__key_fail(k, "layer_types",
                              "must be an array with one text per layer, %u; take the file from its maker "
                              "again",
                              s->layers);
    if (!f->has_window || !is_used)
        window = 0;
    for (uint32_t i = 0; i < s->layers && status == GSRT_OK; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        bool is_full = i < first;
        if (types != NULL &&
            (type == NULL || (strcmp(type, "sliding_attention") != 0 && strcmp(type, "full_attention") != 0)))
            return gsrt__key_fail(k, "layer_types",
                                  "asks for '%.40s', which is not supported; supported: full_attention, "
                                  "sliding_attention",
                                  type == NULL ? "?" : type);
        if (type != NULL)
            is_full = strcmp(type, "full_attention") == 0;
        else if (f->kind == GSRT__FAMILY_GEMMA2)
            is_full = i % 2 == 1;
        else if (f->kind == GSRT__FAMILY_GEMMA3)
            is_full = (i + 1) % pattern == 0;
        if (!is_full && window == 0 && type != NULL && f->has_window && is_used)
            return gsrt__key_fail(k, "sliding_window",
                                  "is missing, but layer_types asks for it; take the file from its "
                                  "maker again");
        s->windows[i] = is_full ? 0 : window;
    }
    return status;
}

/* How much of a head rotates, and from which base. */
static gsrt_status read_rotation(const gsrt__keys *k, gsrt_arena *arena, gsrt__shape *s, gsrt_buffer *notes)
{
    float part = 1, usual = s->has_local_rope ? 1000000 : 10000, local_base = s->rope_local.base;
    uint32_t whole = s->kv_rank > 0 ? s->rope_dim : s->head_dim, rotated = 0;
    gsrt_status status = gsrt__key_f32(k, "rope_theta", usual, &s->rope.base);
    if (status == GSRT_OK)
        status = gsrt__key_f32(k, "partial_rotary_factor", 1, &part);
    if (status == GSRT_OK && !(part > 0 && part <= 1))
        return gsrt__key_fail(k, "partial_rotary_factor",
                              "must be above 0 and at most 1; take the file from its maker "
                              "again");
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "rotary_dim", 2, whole, (uint32_t)((float)whole * part), &rotated);
    if (status == GSRT_OK && (rotated < 2 || rotated % 2 != 0))
        return gsrt__key_fail(k, "head_dim",
                              "gives %u rotated elements, which must be even; take the file from its maker "
                              "again",
                              rotated);
    s->rope.is_neox = s->kv_rank == 0;
    s->rope.dim_first = s->kv_rank > 0 ? s->nope_dim : 0;
    s->rope.dim_rotated = rotated;
    s->rope.scale = 1;
    s->rope.factors_tensor = GSRT_NO_INDEX;
    s->rope_local = s->rope;
    s->rope_local.base = local_base;
    return status == GSRT_OK ? gsrt__config_rope(k, arena, s, notes) : status;
}

/* What a file asks for beside the layers, and a plan leaves out. */
static gsrt_status note_left_out(const gsrt__keys *root, const gsrt__keys *text, gsrt_buffer *notes)
{
    static const char *const drafts[] = {"num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers"};
    gsrt_status status = GSRT_OK;
    if (gsrt__key(root, "vision_config") != NULL)
        status = gsrt_buffer_print(notes, "left out: the part that sees (vision_config)\n");
    for (size_t i = 0; i < sizeof drafts / sizeof drafts[0] && status == GSRT_OK; i++) {
        json_int_t count = json_integer_value(gsrt__key(text, drafts[i]));
        if (count > 0)
            return gsrt_buffer_print(notes, "left out: %" JSON_INTEGER_FORMAT " layers that draft tokens (%s)\n", count,
                                     drafts[i]);
    }
    return status;
}

gsrt_status gsrt__config_shape(const gsrt__keys *root, gsrt_arena *arena, gsrt__shape *shape, gsrt_buffer *notes)
{
    char room[64];
    const gsrt__family *f = NULL;
    gsrt__keys text;
    bool has_text;
    gsrt_status status = gsrt__key_object(root, "text_config", room, &text, &has_text);
    if (status == GSRT_OK && !has_text)
        text = *root;
    if (status == GSRT_OK)
        status = refuse_strangers(&text);
    if (status == GSRT_OK)
        status = find_family(root, &f, notes);
    if (status != GSRT_OK)
        return status;
    *shape = (gsrt__shape){.architecture = f->model_type, .activation = GSRT_OP_SWIGLU};
    status = read_sizes(&text, f, shape);
    if (status == GSRT_OK)
        status = gsrt__key_f32(&text, "rms_norm_eps", 1e-6f, &shape->epsilon);
    if (status == GSRT_OK)
        shape->attention_scale = 1 / sqrtf((float)shape->head_dim);
    if (status == GSRT_OK)
        status = gsrt__config_family(&text, f, shape);
    bool is_usually_tied =
        f->kind == GSRT__FAMILY_GEMMA2 || f->kind == GSRT__FAMILY_GEMMA3 || f->kind == GSRT__FAMILY_GPT2;
    if (status == GSRT_OK)
        status = gsrt__key_bool(root, "tie_word_embeddings", is_usually_tied, &shape->is_tied);
    if (status == GSRT_OK)
        status = gsrt__key_bool(&text, "tie_word_embeddings", shape->is_tied, &shape->is_tied);
    if (status == GSRT_OK && shape->kv_rank == 0)
        status = read_windows(&text, f, shape);
    if (status == GSRT_OK && shape->position_rows == 0)
        status = read_rotation(&text, arena, shape, notes);
    if (status == GSRT_OK)
        status = gsrt__config_formats(root, &text, &shape->formats, notes);
    if (status == GSRT_OK && !(shape->epsilon >= 0))
        return gsrt__key_fail(&text, "rms_norm_eps", "must not be negative; take the file from its maker again");
    if (status == GSRT_OK && shape->context > GSRT_CONTEXT_MAX) {
        shape->context = GSRT_CONTEXT_MAX; /* a bound on requests, which are refused by name past it */
        status = gsrt_buffer_print(notes, "context: at most %u positions are served\n", GSRT_CONTEXT_MAX);
    }
    return status == GSRT_OK ? note_left_out(root, &text, notes) : status;
}
