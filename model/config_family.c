/* What the keys of each family mean, past those that all have (config_shape.c). */
#include <math.h>
#include <string.h>

#include "model/config_impl.h"

static gsrt_status read_activation(const gsrt__keys *k, const char *key, const char *usual, const char *wanted,
                                   const char *wanted_too)
{
    const char *name;
    gsrt_status status = gsrt__key_text(k, key, usual, &name);
    if (status == GSRT_OK && strcmp(name, wanted) != 0 && strcmp(name, wanted_too) != 0)
        return gsrt__key_fail(k, key, "'%.40s' is not supported for this family; supported: %s", name, wanted);
    return status;
}

/* Which layers are dense: of Qwen (every decoder_sparse_step-th has experts, but for a list) and of DeepSeek. */
static gsrt_status read_dense_layers(const gsrt__keys *k, gsrt__shape *s)
{
    uint32_t step, first, frequency;
    gsrt_status status = gsrt__key_u32(k, "decoder_sparse_step", 1, GSRT_LAYER_COUNT_MAX, 1, &step);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "first_k_dense_replace", 0, GSRT_LAYER_COUNT_MAX, 0, &first);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "moe_layer_freq", 1, GSRT_LAYER_COUNT_MAX, 1, &frequency);
    for (uint32_t i = 0; i < s->layers && status == GSRT_OK; i++)
        s->is_dense[i] = (i + 1) % step != 0 || i < first || i % frequency != 0;
    const json_t *only = gsrt__key(k, "mlp_only_layers");
    for (size_t i = 0; i < json_array_size(only) && status == GSRT_OK; i++) {
        json_int_t layer = json_integer_value(json_array_get(only, i));
        if (layer < 0 || layer >= (json_int_t)s->layers)
            return gsrt__key_fail(k, "mlp_only_layers",
                                  "names a layer that there is not; take the file from its maker again");
        s->is_dense[layer] = true;
    }
    return status;
}

static gsrt_status read_routing(const gsrt__keys *k, const char *experts_key, gsrt__shape *s)
{
    gsrt_routing *r = &s->routing;
    *r = (gsrt_routing){.scale = 1, .correction_tensor = GSRT_NO_INDEX};
    gsrt_status status = gsrt__key_u32(k, experts_key, 1, GSRT_EXPERT_COUNT_MAX, GSRT__NO_FALLBACK, &r->expert_count);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "num_experts_per_tok", 1, r->expert_count, GSRT__NO_FALLBACK, &r->chosen_count);
    return status == GSRT_OK ? read_dense_layers(k, s) : status;
}

/* Mixtral, Qwen2-MoE, Qwen3-MoE. */
static gsrt_status read_llama_experts(const gsrt__keys *k, const gsrt__family *f, gsrt__shape *s)
{
    bool is_mixtral = strcmp(f->model_type, "mixtral") == 0, is_qwen2 = strcmp(f->model_type, "qwen2_moe") == 0;
    gsrt_status status = read_routing(k, is_mixtral ? "num_local_experts" : "num_experts", s);
    s->router_name = is_mixtral ? "block_sparse_moe.gate" : "mlp.gate";
    s->experts_name = is_mixtral ? "block_sparse_moe.experts" : "mlp.experts";
    if (status != GSRT_OK)
        return status;
    if (is_mixtral) {
        s->expert_ffn = s->ffn;
        s->routing.score = GSRT_SCORE_SOFTMAX_CHOSEN;
        return GSRT_OK;
    }
    status = gsrt__key_u32(k, "moe_intermediate_size", 1, GSRT_DIM_MAX, GSRT__NO_FALLBACK, &s->expert_ffn);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "shared_expert_intermediate_size", 0, GSRT_DIM_MAX, 0, &s->shared_ffn);
    if (status == GSRT_OK && s->shared_ffn > 0 && !is_qwen2)
        return gsrt__key_fail(k, "shared_expert_intermediate_size",
                              "is not supported for this family; take the file from "
                              "its maker again");
    s->has_shared_gate = s->shared_ffn > 0;
    return status == GSRT_OK ? gsrt__key_bool(k, "norm_topk_prob", false, &s->routing.is_renormalised) : status;
}

static gsrt_status read_llama(const gsrt__keys *k, const gsrt__family *f, gsrt__shape *s)
{
    bool has_bias = false;
    gsrt_status status = gsrt__key_bool(k, "attention_bias", f->has_qkv_bias, &has_bias);
    bool is_qwen2 = strncmp(f->model_type, "qwen2", 5) == 0 || strcmp(f->model_type, "mimo") == 0;
    if (status == GSRT_OK && is_qwen2)
        status = gsrt__key_bool(k, "qkv_bias", true, &has_bias);
    s->has_qkv_bias = has_bias;
    s->has_o_bias = has_bias && !is_qwen2;
    if (status == GSRT_OK)
        status = gsrt__key_bool(k, "mlp_bias", false, &s->has_ffn_bias);
    s->qk_norm = f->has_qk_norm ? GSRT__QK_NORM_HEAD : GSRT__QK_NORM_NONE;
    s->fusion = f->is_fused ? GSRT__FUSION_ROWS : GSRT__FUSION_NONE;
    if (status == GSRT_OK)
        status = read_activation(k, "hidden_act", "silu", "silu", "swish");
    return status == GSRT_OK && f->has_experts ? read_llama_experts(k, f, s) : status;
}

static gsrt_status read_gemma(const gsrt__keys *k, const gsrt__family *f, gsrt__shape *s)
{
    bool is_gemma2 = f->kind == GSRT__FAMILY_GEMMA2;
    float query_scale, local_base;
    s->activation = GSRT_OP_GEGLU;
    s->is_sandwiched = true;
    s->gain_offset = 1;
    s->embedding_scale = sqrtf((float)s->dim);
    s->qk_norm = is_gemma2 ? GSRT__QK_NORM_NONE : GSRT__QK_NORM_HEAD;
    gsrt_status status = read_activation(k, "hidden_activation", "gelu_pytorch_tanh", "gelu_pytorch_tanh", "gelu_new");
    if (status == GSRT_OK)
        status = gsrt__key_bool(k, "attention_bias", false, &s->has_qkv_bias);
    s->has_o_bias = s->has_qkv_bias;
    if (status == GSRT_OK)
        status = gsrt__key_f32(k, "query_pre_attn_scalar", 256, &query_scale);
    if (status == GSRT_OK && !(query_scale > 0))
        return gsrt__key_fail(k, "query_pre_attn_scalar", "must be positive; take the file from its maker again");
    s->attention_scale = 1 / sqrtf(query_scale);
    if (status == GSRT_OK)
        status = gsrt__key_f32(k, "attn_logit_softcapping", is_gemma2 ? 50 : 0, &s->attention_softcap);
    if (status == GSRT_OK)
        status = gsrt__key_f32(k, "final_logit_softcapping", is_gemma2 ? 30 : 0, &s->logits_softcap);
    if (status != GSRT_OK || is_gemma2)
        return status;
    status = gsrt__key_f32(k, "rope_local_base_freq", 10000, &local_base);
    s->has_local_rope = true;
    s->rope_local.base = local_base;
    return status;
}

static gsrt_status read_gpt2(const gsrt__keys *k, gsrt__shape *s)
{
    s->is_layernorm = true;
    s->fusion = GSRT__FUSION_GPT2;
    s->has_qkv_bias = s->has_o_bias = s->has_ffn_bias = true;
    s->activation = GSRT_OP_GELU;
    s->position_rows = s->context;
    if (s->context > GSRT_CONTEXT_MAX)
        return gsrt__key_fail(k, "n_positions", "must be at most %u; take the file from its maker again",
                              GSRT_CONTEXT_MAX);
    gsrt_status status = gsrt__key_f32(k, "layer_norm_epsilon", 1e-5f, &s->epsilon);
    return status == GSRT_OK ? read_activation(k, "activation_function", "gelu_new", "gelu_new", "gelu_pytorch_tanh")
                             : status;
}

static gsrt_status read_latent(const gsrt__keys *k, gsrt__shape *s)
{
    const uint32_t none = GSRT__NO_FALLBACK;
    gsrt_status status = gsrt__key_u32(k, "q_lora_rank", 1, GSRT_DIM_MAX, 0, &s->q_rank);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "kv_lora_rank", 1, GSRT_DIM_MAX / 2, none, &s->kv_rank);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "qk_nope_head_dim", 1, GSRT_HEAD_DIM_MAX / 2, none, &s->nope_dim);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "qk_rope_head_dim", 2, GSRT_HEAD_DIM_MAX / 2, none, &s->rope_dim);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "v_head_dim", 1, GSRT_HEAD_DIM_MAX, none, &s->value_dim);
    bool has_bias = false;
    if (status == GSRT_OK)
        status = gsrt__key_bool(k, "attention_bias", false, &has_bias);
    if (status == GSRT_OK && has_bias)
        return gsrt__key_fail(k, "attention_bias", "is not supported for this family; take a model without");
    s->head_dim = s->nope_dim + s->rope_dim;
    s->kv_heads = s->heads; /* all read the one latent */
    s->attention_scale = 1 / sqrtf((float)s->head_dim);
    return status;
}

static gsrt_status read_deepseek(const gsrt__keys *k, const gsrt__family *f, gsrt__shape *s)
{
    const char *score, *method;
    uint32_t shared = 0, groups = 0, groups_chosen = 0;
    bool is_v2 = strcmp(f->model_type, "deepseek_v2") == 0;
    s->router_name = "mlp.gate";
    s->experts_name = "mlp.experts";
    gsrt_status status = read_latent(k, s);
    if (status == GSRT_OK)
        status = read_routing(k, "n_routed_experts", s);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "moe_intermediate_size", 1, GSRT_DIM_MAX / 64, GSRT__NO_FALLBACK, &s->expert_ffn);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "n_shared_experts", 0, 64, 0, &shared);
    s->shared_ffn = shared * s->expert_ffn;
    if (status == GSRT_OK)
        status = gsrt__key_text(k, "scoring_func", is_v2 ? "softmax" : "sigmoid", &score);
    if (status == GSRT_OK)
        status = gsrt__key_text(k, "topk_method", is_v2 ? "greedy" : "noaux_tc", &method);
    if (status == GSRT_OK)
        status = gsrt__key_f32(k, "routed_scaling_factor", 1, &s->routing.scale);
    if (status == GSRT_OK)
        status = gsrt__key_bool(k, "norm_topk_prob", !is_v2, &s->routing.is_renormalised);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "n_group", 1, s->routing.expert_count, 1, &groups);
    if (status == GSRT_OK)
        status = gsrt__key_u32(k, "topk_group", 1, groups, 1, &groups_chosen);
    if (status == GSRT_OK)
        status = read_activation(k, "hidden_act", "silu", "silu", "swish");
    if (status != GSRT_OK)
        return status;
    if (strcmp(score, "softmax") != 0 && strcmp(score, "sigmoid") != 0)
        return gsrt__key_fail(k, "scoring_func", "'%.40s' is not supported; supported: softmax, sigmoid", score);
    s->routing.score = strcmp(score, "softmax") == 0 ? GSRT_SCORE_SOFTMAX : GSRT_SCORE_SIGMOID;
    s->has_correction = strcmp(method, "noaux_tc") == 0;
    if (groups > 1 && strcmp(method, "greedy") != 0) {
        s->routing.group_count = groups;
        s->routing.group_chosen_count = groups_chosen;
    }
    return GSRT_OK;
}

static gsrt_status read_gpt_oss(const gsrt__keys *k, gsrt__shape *s)
{
    s->has_sinks = s->has_router_bias = s->has_expert_bias = true;
    s->router_name = "mlp.router";
    s->experts_name = "mlp.experts";
    s->expert_ffn = s->ffn;
    gsrt_status status = read_routing(k, "num_local_experts", s);
    s->routing.score = GSRT_SCORE_SOFTMAX_CHOSEN;
    if (status == GSRT_OK)
        status = gsrt__key_bool(k, "attention_bias", true, &s->has_qkv_bias);
    s->has_o_bias = s->has_qkv_bias;
    if (status == GSRT_OK)
        status = gsrt__key_f32(k, "swiglu_limit", 7, &s->swiglu_limit);
    return status == GSRT_OK ? read_activation(k, "hidden_act", "silu", "silu", "swish") : status;
}

static gsrt_status read_minimax(const gsrt__keys *k, gsrt__shape *s)
{
    bool has_norm = false;
    s->router_name = "block_sparse_moe.gate";
    s->experts_name = "block_sparse_moe.experts";
    s->expert_ffn = s->ffn;
    gsrt_status status = read_routing(k, "num_local_experts", s);
    s->routing.score = GSRT_SCORE_SIGMOID;
    s->routing.is_renormalised = true;
    if (status == GSRT_OK)
        status = gsrt__key_bool(k, "use_routing_bias", true, &s->has_correction);
    if (status == GSRT_OK)
        status = gsrt__key_bool(k, "use_qk_norm", true, &has_norm);
    s->qk_norm = has_norm ? GSRT__QK_NORM_WHOLE : GSRT__QK_NORM_NONE;
    return status == GSRT_OK ? read_activation(k, "hidden_act", "silu", "silu", "swish") : status;
}

gsrt_status gsrt__config_family(const gsrt__keys *k, const gsrt__family *f, gsrt__shape *s)
{
    switch (f->kind) {
    case GSRT__FAMILY_LLAMA: return read_llama(k, f, s);
    case GSRT__FAMILY_GEMMA2:
    case GSRT__FAMILY_GEMMA3: return read_gemma(k, f, s);
    case GSRT__FAMILY_GPT2: return read_gpt2(k, s);
    case GSRT__FAMILY_DEEPSEEK: return read_deepseek(k, f, s);
    case GSRT__FAMILY_GPT_OSS: return read_gpt_oss(k, s);
    case GSRT__FAMILY_MINIMAX: return read_minimax(k, s);
    }
    return GSRT_EINVAL;
}
