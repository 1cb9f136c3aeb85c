/* config.json: the numbers that the makers of models have published come out, and what is wrong is named. */
#include "model/config_json.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "placement/workload_text.h"
#include "placement/workload_totals.h"
#include "tests/model/shared_data.h"
#include "tests/unit.h"

#define LLAMA_31                                                                                                       \
    "'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'vocab_size': 128256, 'rope_theta': 500000.0, "     \
    "'max_position_embeddings': 131072, 'num_key_value_heads': 8, 'rms_norm_eps': 1e-05, 'torch_dtype': 'bfloat16', "  \
    "'rope_scaling': {'rope_type': 'llama3', 'factor': 8.0, 'low_freq_factor': 1.0, 'high_freq_factor': 4.0, "         \
    "'original_max_position_embeddings': 8192}"
#define QWEN3_MOE                                                                                                      \
    "'architectures': ['Qwen3MoeForCausalLM'], 'model_type': 'qwen3_moe', 'vocab_size': 151936, 'head_dim': 128, "     \
    "'max_position_embeddings': 40960, 'num_key_value_heads': 4, 'num_experts': 128, 'num_experts_per_tok': 8, "       \
    "'norm_topk_prob': true, 'torch_dtype': 'bfloat16'"
#define DEEPSEEK                                                                                                       \
    "'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, "                        \
    "'max_position_embeddings': 163840, 'torch_dtype': 'bfloat16', 'rope_scaling': {'type': 'yarn', 'factor': 40, "    \
    "'mscale': 1.0, 'mscale_all_dim': 1.0, 'original_max_position_embeddings': 4096}"
#define GPT_OSS                                                                                                        \
    "'architectures': ['GptOssForCausalLM'], 'model_type': 'gpt_oss', 'hidden_size': 2880, 'intermediate_size': "      \
    "2880, "                                                                                                           \
    "'num_attention_heads': 64, 'num_key_value_heads': 8, 'head_dim': 64, 'vocab_size': 201088, 'sliding_window': "    \
    "128, "                                                                                                            \
    "'max_position_embeddings': 131072, 'num_experts_per_tok': 4, 'torch_dtype': 'bfloat16', 'quantization_config': "  \
    "{'quant_method': 'mxfp4', 'modules_to_not_convert': ['lm_head']}"
#define GEMMA2                                                                                                         \
    "'architectures': ['Gemma2ForCausalLM'], 'model_type': 'gemma2', 'vocab_size': 256000, "                           \
    "'max_position_embeddings': 8192, 'sliding_window': 4096, 'torch_dtype': 'float32'"
#define GPT2 "'architectures': ['GPT2LMHeadModel'], 'model_type': 'gpt2', 'vocab_size': 50257, 'n_positions': 1024"

/* A file of our own with a published model's numbers, and what its maker, or the weights' index, says of it. */
typedef struct published {
    const char *file, *json;
    uint64_t total, active; /* active 0: all */
    uint64_t state_bytes;   /* per position, in the format of the weights */
    const char *layer_op;   /* an op that the second layer has */
} published;

static const published models[] = {
    {"Llama-3.1-8B.json",
     "{" LLAMA_31
     ", 'hidden_size': 4096, 'intermediate_size': 14336, 'num_hidden_layers': 32, 'num_attention_heads': 32}",
     8030261248, 0, 131072, "swiglu"},
    {"Llama-3.1-405B.json",
     "{" LLAMA_31 ", 'hidden_size': 16384, 'intermediate_size': 53248, 'num_hidden_layers': 126, "
     "'num_attention_heads': 128}",
     405853388800, 0, 516096, "rope"},
    {"Mistral-7B-v0.1.json",
     "{'architectures': ['MistralForCausalLM'], 'hidden_size': 4096, 'intermediate_size': 14336, 'num_hidden_layers': "
     "32, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, 'vocab_size': 32000, 'max_position_embeddings': 32768, "
     "'sliding_window': 4096, 'torch_dtype': 'bfloat16'}",
     7241732096, 0, 131072, "attention"},
    {"Mixtral-8x7B-v0.1.json",
     "{'architectures': ['MixtralForCausalLM'], 'hidden_size': 4096, 'intermediate_size': 14336, 'num_hidden_layers': "
     "32, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, 'vocab_size': 32000, 'max_position_embeddings': 32768, "
     "'num_local_experts': 8, 'num_experts_per_tok': 2, 'torch_dtype': 'bfloat16'}",
     46702792704, 12879925248, 131072, "route"},
    {"Qwen2.5-7B.json",
     "{'architectures': ['Qwen2ForCausalLM'], 'hidden_size': 3584, 'intermediate_size': 18944, 'num_hidden_layers': "
     "28, "
     "'num_attention_heads': 28, 'num_key_value_heads': 4, 'vocab_size': 152064, 'max_position_embeddings': 131072, "
     "'sliding_window': 131072, 'max_window_layers': 28, 'use_sliding_window': false, 'torch_dtype': 'bfloat16'}",
     7615616512, 0, 57344, "linear"},
    {"Qwen1.5-MoE-A2.7B.json",
     "{'architectures': ['Qwen2MoeForCausalLM'], 'hidden_size': 2048, 'intermediate_size': 5632, 'num_hidden_layers': "
     "24, "
     "'num_attention_heads': 16, 'num_key_value_heads': 16, 'vocab_size': 151936, 'max_position_embeddings': 8192, "
     "'num_experts': 60, 'num_experts_per_tok': 4, 'moe_intermediate_size': 1408, 'torch_dtype': 'bfloat16', "
     "'shared_expert_intermediate_size': 5632}",
     14315784192, 2689173504, 196608, "scale"},
    {"Qwen3-0.6B.json",
     "{'architectures': ['Qwen3ForCausalLM'], 'hidden_size': 1024, 'intermediate_size': 3072, 'num_hidden_layers': 28, "
     "'num_attention_heads': 16, 'num_key_value_heads': 8, 'head_dim': 128, 'vocab_size': 151936, "
     "'max_position_embeddings': 40960, 'tie_word_embeddings': true, 'torch_dtype': 'bfloat16'}",
     596049920, 0, 114688, "rmsnorm"},
    {"Qwen3-30B-A3B.json",
     "{" QWEN3_MOE ", 'hidden_size': 2048, 'intermediate_size': 6144, 'moe_intermediate_size': 768, "
     "'num_hidden_layers': 48, 'num_attention_heads': 32}",
     30532122624, 3353032704, 98304, "expert_linear"},
    {"Qwen3-235B-A22B.json",
     "{" QWEN3_MOE ", 'hidden_size': 4096, 'intermediate_size': 12288, 'moe_intermediate_size': 1536, "
     "'num_hidden_layers': 94, 'num_attention_heads': 64}",
     235093634560, 22190763520, 192512, "combine"},
    {"DeepSeek-V2-Lite.json",
     "{'architectures': ['DeepseekV2ForCausalLM'], " DEEPSEEK ", 'hidden_size': 2048, 'intermediate_size': 10944, "
     "'moe_intermediate_size': 1408, 'num_hidden_layers': 27, 'num_attention_heads': 16, 'vocab_size': 102400, "
     "'n_routed_experts': 64, 'n_shared_experts': 2, 'num_experts_per_tok': 6, 'first_k_dense_replace': 1}",
     15706484224, 2661150208, 31104, "latent_attention"},
    {"DeepSeek-V3.json",
     "{'architectures': ['DeepseekV3ForCausalLM'], " DEEPSEEK ", 'hidden_size': 7168, 'intermediate_size': 18432, "
     "'moe_intermediate_size': 2048, 'num_hidden_layers': 61, 'num_attention_heads': 128, 'vocab_size': 129280, "
     "'q_lora_rank': 1536, 'n_routed_experts': 256, 'n_shared_experts': 1, 'num_experts_per_tok': 8, 'n_group': 8, "
     "'topk_group': 4, 'first_k_dense_replace': 3, 'topk_method': 'noaux_tc', 'num_nextn_predict_layers': 1}",
     671026419200, 37552297472, 70272, "latent_attention"},
    {"gpt-oss-20b.json",
     "{" GPT_OSS ", 'num_hidden_layers': 24, 'num_local_experts': 32, 'layer_types': ["
     "'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', "
     "'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', "
     "'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', "
     "'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', "
     "'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', "
     "'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention']}",
     20914757184, 4187440704, 49152, "expert_linear"},
    {"gpt-oss-120b.json", "{" GPT_OSS ", 'num_hidden_layers': 36, 'num_local_experts': 128}", 116829156672, 5711982912,
     73728, "route"},
    {"gemma-2-2b.json",
     "{" GEMMA2 ", 'hidden_size': 2304, 'intermediate_size': 9216, 'num_hidden_layers': 26, 'num_attention_heads': 8, "
     "'num_key_value_heads': 4}",
     2614341888, 0, 212992, "geglu"},
    {"gemma-2-27b.json",
     "{" GEMMA2
     ", 'hidden_size': 4608, 'intermediate_size': 36864, 'num_hidden_layers': 46, 'num_attention_heads': 32, "
     "'num_key_value_heads': 16, 'head_dim': 128, 'query_pre_attn_scalar': 144}",
     27227128320, 0, 753664, "geglu"},
    {"gemma-3-1b-it.json",
     "{'architectures': ['Gemma3ForCausalLM'], 'hidden_size': 1152, 'intermediate_size': 6912, 'num_hidden_layers': "
     "26, "
     "'num_attention_heads': 4, 'num_key_value_heads': 1, 'head_dim': 256, 'vocab_size': 262144, 'sliding_window': "
     "512, "
     "'max_position_embeddings': 32768, 'torch_dtype': 'bfloat16'}",
     999885952, 0, 26624, "geglu"},
    {"Phi-3-mini-4k-instruct.json",
     "{'architectures': ['Phi3ForCausalLM'], 'hidden_size': 3072, 'intermediate_size': 8192, 'num_hidden_layers': 32, "
     "'num_attention_heads': 32, 'vocab_size': 32064, 'max_position_embeddings': 4096, 'sliding_window': 2047, "
     "'torch_dtype': 'bfloat16'}",
     3821079552, 0, 393216, "linear"},
    {"gpt2.json", "{" GPT2 ", 'n_embd': 768, 'n_head': 12, 'n_layer': 12, 'torch_dtype': 'float32'}", 124439808, 0,
     73728, "gelu"},
    {"gpt2-xl.json", "{" GPT2 ", 'n_embd': 1600, 'n_head': 25, 'n_layer': 48, 'torch_dtype': 'float32'}", 1557611200, 0,
     614400, "layernorm"},
};
enum { MODEL_COUNT = sizeof models / sizeof models[0], JSON_BYTES_MAX = 4096 };

/* JSON with " for '. */
static gsrt_span quoted(const char *json, char room[JSON_BYTES_MAX])
{
    (void)snprintf(room, JSON_BYTES_MAX, "%s", json);
    for (char *at = room; *at != 0; at++)
        *at = *at == '\'' ? '"' : *at;
    return gsrt_span_of_text(room);
}

static const published *model_called(const char *file)
{
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        if (strcmp(models[i].file, file) == 0)
            return &models[i];
    }
    ck_abort_msg("no %s", file);
    return NULL;
}

static gsrt_workload *import(const char *file, const char *json, gsrt_config_report *report)
{
    char room[JSON_BYTES_MAX];
    gsrt_workload *w = NULL;
    gsrt_diag diag = {0};
    gsrt_config_report_init(report);
    gsrt_status status = gsrt_import_config(quoted(json, room), file, &w, report, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    ck_assert_int_eq(gsrt_buffer_append(&report->notes, "", 1), GSRT_OK);
    return w;
}

static const char *notes_of(const gsrt_config_report *report)
{
    return (const char *)report->notes.data;
}

/* The first op of `kind` in the layer. */
static const gsrt_op *op_of(const gsrt_workload *w, uint32_t layer, const char *kind)
{
    const gsrt_region *r = &w->regions[layer + 1];
    for (uint32_t i = r->op_first; i < r->op_first + r->op_count; i++) {
        if (strcmp(gsrt_op_kind_name(w->ops[i].kind), kind) == 0)
            return &w->ops[i];
    }
    return NULL;
}

START_TEST(published_counts)
{
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        const published *m = &models[i];
        gsrt_config_report report;
        gsrt_workload_totals totals;
        gsrt_workload *w = import(m->file, m->json, &report);
        ck_assert_int_eq(gsrt_workload_totals_of(w, &totals), GSRT_OK);
        ck_assert_msg(totals.parameters == m->total, "%s: %lu", m->file, (unsigned long)totals.parameters);
        ck_assert_msg(totals.parameters_active == (m->active > 0 ? m->active : m->total), "%s: active %lu", m->file,
                      (unsigned long)totals.parameters_active);
        ck_assert_msg(totals.state_bytes_per_position == m->state_bytes, "%s: state %lu", m->file,
                      (unsigned long)totals.state_bytes_per_position);
        ck_assert_msg(op_of(w, 1, m->layer_op) != NULL, "%s: no %s", m->file, m->layer_op);
        ck_assert_msg(!report.is_contradicted, "%s: %s", m->file, notes_of(&report));
        ck_assert_int_eq(gsrt_workload_executable(w, m->file, NULL), GSRT_EUNSUPPORTED);
        gsrt_workload_free(w);
        gsrt_config_report_fini(&report);
    }
}
END_TEST

/* OpenAI counts active parameters without the table that is only looked up. */
START_TEST(gpt_oss_as_its_card_says)
{
    const struct {
        const char *file;
        double active_billions;
    } cards[] = {{"gpt-oss-20b.json", 3.61}, {"gpt-oss-120b.json", 5.13}};
    for (size_t i = 0; i < 2; i++) {
        gsrt_config_report report;
        gsrt_workload_totals totals;
        gsrt_workload *w = import(cards[i].file, model_called(cards[i].file)->json, &report);
        ck_assert_int_eq(gsrt_workload_totals_of(w, &totals), GSRT_OK);
        ck_assert_double_eq_tol((double)(totals.parameters_active - totals.parameters_embedding) / 1e9,
                                cards[i].active_billions, 0.005);
        ck_assert_uint_eq(w->tensors[op_of(w, 0, "expert_linear")->tensor].dtype, GSRT_DTYPE_MXFP4);
        ck_assert_uint_eq(w->tensors[op_of(w, 0, "linear")->tensor].dtype, GSRT_DTYPE_BF16);
        gsrt_workload_free(w);
        gsrt_config_report_fini(&report);
    }
}
END_TEST

START_TEST(texts_round_trip)
{
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        gsrt_config_report report;
        gsrt_workload *w = import(models[i].file, models[i].json, &report), *again = NULL;
        gsrt_buffer first, second;
        gsrt_buffer_init(&first, GSRT_WORKLOAD_BYTES_MAX);
        gsrt_buffer_init(&second, GSRT_WORKLOAD_BYTES_MAX);
        gsrt_diag diag = {0};
        ck_assert_int_eq(gsrt_workload_write(w, &first), GSRT_OK);
        gsrt_status status = gsrt_workload_read(gsrt_buffer_span(&first), "again", &again, &diag);
        ck_assert_msg(status == GSRT_OK, "%s: %s", models[i].file, diag.text);
        ck_assert_int_eq(gsrt_workload_write(again, &second), GSRT_OK);
        ck_assert(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
        gsrt_buffer_fini(&first);
        gsrt_buffer_fini(&second);
        gsrt_workload_free(again);
        gsrt_workload_free(w);
        gsrt_config_report_fini(&report);
    }
}
END_TEST

static uint32_t window_of(const gsrt_workload *w, uint32_t layer)
{
    return w->states[layer].window;
}

START_TEST(windows)
{
    gsrt_config_report report;
    gsrt_workload *w = import("gpt-oss-20b.json", model_called("gpt-oss-20b.json")->json, &report);
    ck_assert_uint_eq(window_of(w, 0), 128);
    ck_assert_uint_eq(window_of(w, 1), 0);
    ck_assert_ptr_nonnull(op_of(w, 0, "attention"));
    ck_assert_uint_ne(op_of(w, 0, "attention")->tensor, GSRT_NO_INDEX); /* sinks */
    gsrt_workload_free(w);
    gsrt_config_report_fini(&report);
    w = import("gemma-3-1b-it.json", model_called("gemma-3-1b-it.json")->json, &report);
    for (uint32_t i = 0; i < w->layer_count; i++)
        ck_assert_uint_eq(window_of(w, i), (i + 1) % 6 == 0 ? 0 : 512);
    ck_assert_float_eq(op_of(w, 0, "rope")->rope->base, 10000);
    ck_assert_float_eq(op_of(w, 5, "rope")->rope->base, 1000000);
    gsrt_workload_free(w);
    gsrt_config_report_fini(&report);
    w = import("gemma-2-2b.json", model_called("gemma-2-2b.json")->json, &report);
    ck_assert_uint_eq(window_of(w, 0), 4096);
    ck_assert_uint_eq(window_of(w, 1), 0);
    ck_assert_float_eq(op_of(w, 0, "attention")->softcap, 50);
    ck_assert_float_eq(w->ops[w->op_count - 1].softcap, 30);
    ck_assert_float_eq(w->ops[1].scale, 48); /* sqrt(2304) */
    ck_assert(w->output_is_tied);
    gsrt_workload_free(w);
    gsrt_config_report_fini(&report);
    w = import("Qwen2.5-7B.json", model_called("Qwen2.5-7B.json")->json, &report);
    ck_assert_uint_eq(window_of(w, 27), 0);
    gsrt_workload_free(w);
    gsrt_config_report_fini(&report);
}
END_TEST

START_TEST(rotations)
{
    gsrt_config_report report;
    gsrt_workload *w = import("Llama-3.1-8B.json", model_called("Llama-3.1-8B.json")->json, &report);
    const gsrt_rope *rope = op_of(w, 0, "rope")->rope;
    ck_assert_uint_ne(rope->factors_tensor, GSRT_NO_INDEX);
    ck_assert(w->tensors[rope->factors_tensor].is_constant);
    ck_assert(rope->is_neox && rope->dim_rotated == 128 && rope->scale == 1);
    gsrt_workload_free(w);
    gsrt_config_report_fini(&report);
    w = import("DeepSeek-V3.json", model_called("DeepSeek-V3.json")->json, &report);
    rope = op_of(w, 0, "rope")->rope;
    ck_assert(rope->is_yarn && !rope->is_neox && rope->dim_first == 128 && rope->dim_rotated == 64);
    ck_assert_float_eq(rope->scale, 0.025f);
    /* 192^-0.5 * (0.1 ln 40 + 1)^2 */
    ck_assert_float_eq_tol(op_of(w, 0, "latent_attention")->scale, 0.1352338f, 1e-6f);
    ck_assert_ptr_nonnull(strstr(notes_of(&report), "left out: 1 layers that draft tokens"));
    ck_assert_ptr_null(op_of(w, 2, "route")); /* the first three are dense */
    const gsrt_routing *routing = op_of(w, 3, "route")->routing;
    ck_assert(routing->score == GSRT_SCORE_SIGMOID && routing->group_count == 8 && routing->group_chosen_count == 4);
    gsrt_workload_free(w);
    gsrt_config_report_fini(&report);
}
END_TEST

START_TEST(fused_tensors)
{
    gsrt_config_report report;
    gsrt_workload *w = import("gpt2.json", model_called("gpt2.json")->json, &report);
    const gsrt_tensor *q = &w->tensors[op_of(w, 0, "linear")->tensor];
    ck_assert_str_eq(q->name, "transformer.h.0.attn.c_attn.weight[q]");
    ck_assert(q->is_view && q->layout == GSRT_LAYOUT_COLUMNS && w->tensors[q->base].row_count == 3 * 768);
    gsrt_workload_free(w);
    gsrt_config_report_fini(&report);
}
END_TEST

START_TEST(wrong_copies)
{
    const published *small = model_called("Qwen3-30B-A3B.json");
    const struct {
        const char *file, *json, *what;
    } copies[] = {
        {"Qwen3-235B-A22B.json", small->json, "states 235 B parameters, the keys of the file amount to 30.53 B"},
        {"Qwen3-30B-A22B.json", small->json, "states 22 B active parameters, the keys of the file amount to 3.353 B"},
        {"acme--Llama-8b_config.json", small->json, "the name 'Llama-8b' states 8 B"},
        {"models/Big-70B/config.json", small->json, "the name 'Big-70B' states 70 B"},
        {"Mixtral-8x3B-v0.1.json", model_called("Mixtral-8x7B-v0.1.json")->json, "states 24 B"},
        {"gpt2-355M.json", model_called("gpt2.json")->json, "states 0.355 B"},
    };
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        gsrt_config_report report;
        gsrt_workload *w = import(copies[i].file, copies[i].json, &report);
        ck_assert_msg(report.is_contradicted, "%s", copies[i].file);
        ck_assert_msg(strstr(notes_of(&report), copies[i].what) != NULL, "wanted '%s' in '%s'", copies[i].what,
                      notes_of(&report));
        gsrt_workload_free(w);
        gsrt_config_report_fini(&report);
    }
}
END_TEST

#define SMALL                                                                                                          \
    "{'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'hidden_size': 64, 'intermediate_size': 96, "      \
    "'num_hidden_layers': 2, 'num_attention_heads': 4, 'vocab_size': 100, 'max_position_embeddings': 128"

START_TEST(what_is_wrong_is_named)
{
    const struct {
        const char *json, *what;
    } wrong[] = {
        {"", "c.json: line 1, column 0: no valid JSON"},
        {"[]", "c.json: line 1: is no object"},
        {"{}", "c.json: key 'architectures': is missing, and so is 'model_type'; give a config.json"},
        {"{'producer': {}, 'quantization': {}}", "key 'architectures': is missing: this file describes a quantisation"},
        {"{'model_type': 7}", "key 'model_type': must be a text"},
        {"{'architectures': ['BertModel']}", "key 'architectures': 'BertModel' is not supported; supported: Llama"},
        {"{'model_type': 'mamba'}", "key 'model_type': 'mamba' is not supported"},
        {"{'architectures': ['LlamaForCausalLM']}", "key 'num_hidden_layers': is missing; take the config.json"},
        {SMALL ", 'num_hidden_layers': 3}", "duplicate object key"},
        {SMALL ", 'num_key_value_heads': 3}", "key 'num_key_value_heads': does not divide"},
        {SMALL ", 'num_key_value_heads': 0}", "key 'num_key_value_heads': must be an integer from 1 to 65536"},
        {SMALL ", 'num_key_value_heads': 'x'}", "key 'num_key_value_heads': must be an integer"},
        {SMALL ", 'head_dim': 100000}", "key 'head_dim': must be an integer from 1 to 512"},
        {SMALL ", 'head_dim': 15}", "key 'head_dim': gives 15 rotated elements"},
        {SMALL ", 'hidden_act': 'relu'}", "key 'hidden_act': 'relu' is not supported for this family; supported: silu"},
        {SMALL ", 'rope_theta': -1}", "key 'rope_theta': must be above 1"},
        {SMALL ", 'rope_theta': 'a'}", "key 'rope_theta': must be a number"},
        {SMALL ", 'rope_scaling': 3}", "key 'rope_scaling': must be an object"},
        {SMALL ", 'rope_scaling': {'rope_type': 'dynamic'}}",
         "key 'rope_scaling.rope_type': 'dynamic' is not supported"},
        {SMALL ", 'rope_scaling': {'type': 'linear'}}", "key 'rope_scaling.factor': must be at least 1"},
        {SMALL ", 'rope_scaling': {'type': 'yarn', 'factor': 4}}", "original_max_position_embeddings': is missing"},
        {SMALL ", 'rope_scaling': {'type': 'longrope', 'long_factor': [1]}}", "an array of 8 numbers"},
        {SMALL ", 'rms_norm_eps': -1}", "key 'rms_norm_eps': must not be negative"},
        {SMALL ", 'torch_dtype': 'int8'}", "key 'torch_dtype': 'int8' is not supported"},
        {SMALL ", 'layer_types': ['full_attention']}",
         "key 'layer_types': must be an array with one text per layer, 2"},
        {SMALL ", 'layer_types': ['full_attention', 'linear_attention']}", "asks for 'linear_attention'"},
        {SMALL ", 'index_topk': 64}", "key 'index_topk': asks for sparse attention with an indexer"},
        {SMALL ", 'quantization_config': {'quant_method': 'awq'}}", "quantization_config.quant_method': 'awq' is not"},
        {SMALL ", 'quantization_config': {'quant_method': 'modelopt', 'quant_algo': 'W4A8'}}", "quant_algo': 'W4A8'"},
        {SMALL ", 'quantization_config': {'quant_method': 'fp8', 'ignore': 3}}", "ignore': must be an array"},
        {SMALL ", 'text_config': 3}", "key 'text_config': must be an object"},
        {"{'architectures': ['LlamaForCausalLM'], 'hidden_size': 40, 'intermediate_size': 24, 'num_hidden_layers': 1, "
         "'num_attention_heads': 4, 'vocab_size': 9, 'max_position_embeddings': 8, 'quantization_config': "
         "{'quant_method': "
         "'modelopt', 'quant_algo': 'NVFP4'}}",
         "'model.layers.0.self_attn.q_proj.weight' has rows of 40 elements, no whole number of blocks of 16 (nvfp4)"},
        {"{" QWEN3_MOE
         ", 'hidden_size': 64, 'intermediate_size': 96, 'moe_intermediate_size': 32, 'num_hidden_layers': 2, "
         "'num_attention_heads': 4, 'mlp_only_layers': [2]}",
         "key 'mlp_only_layers': names a layer that there is not"},
        {"{'architectures': ['DeepseekV3ForCausalLM'], " DEEPSEEK ", 'hidden_size': 64, 'intermediate_size': 96, "
         "'moe_intermediate_size': 32, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'vocab_size': 9, "
         "'n_routed_experts': 8, 'num_experts_per_tok': 2, 'scoring_func': 'tanh'}",
         "key 'scoring_func': 'tanh' is not supported"},
        {"{'architectures': ['DeepseekV3ForCausalLM'], " DEEPSEEK ", 'hidden_size': 64, 'intermediate_size': 96, "
         "'moe_intermediate_size': 32, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'vocab_size': 9, "
         "'n_routed_experts': 8, 'num_experts_per_tok': 2, 'n_group': 3}",
         "the groups do not divide the experts"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char room[JSON_BYTES_MAX];
        gsrt_config_report report;
        gsrt_workload *w = NULL;
        gsrt_diag diag = {0};
        gsrt_config_report_init(&report);
        gsrt_status status = gsrt_import_config(quoted(wrong[i].json, room), "c.json", &w, &report, &diag);
        ck_assert_msg(status == GSRT_EINPUT, "%zu: wanted a refusal with '%s'", i, wrong[i].what);
        ck_assert_msg(strncmp(diag.text, "c.json: ", 8) == 0 && strstr(diag.text, wrong[i].what) != NULL,
                      "%zu: wanted '%s' in '%s'", i, wrong[i].what, diag.text);
        gsrt_config_report_fini(&report);
    }
}
END_TEST

START_TEST(what_is_assumed_is_noted)
{
    const struct {
        const char *file, *json, *what;
    } notes[] = {
        {"c.json", SMALL "}", "formats: the file names no torch_dtype; bf16 is assumed\n"},
        {"Small-FP8.json", SMALL ", 'torch_dtype': 'float16'}", "speaks of FP8, but there is no quantization_config"},
        {"c.json", SMALL ", 'vision_config': {}}", "left out: the part that sees (vision_config)\n"},
        {"c.json", SMALL ", 'max_position_embeddings_': 1, 'num_nextn_predict_layers': 2}",
         "left out: 2 layers that draft"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        gsrt_config_report report;
        gsrt_workload *w = import(notes[i].file, notes[i].json, &report);
        ck_assert_msg(strstr(notes_of(&report), notes[i].what) != NULL, "wanted '%s' in '%s'", notes[i].what,
                      notes_of(&report));
        gsrt_workload_free(w);
        gsrt_config_report_fini(&report);
    }
}
END_TEST

/* ---- published files ---- */

typedef struct tally {
    uint32_t files, imported, refused;
} tally;

static void try_shared(const char *path, tally *t)
{
    gsrt_span bytes = read_file(path);
    gsrt_workload *w = NULL;
    gsrt_config_report report;
    gsrt_diag diag = {0};
    gsrt_config_report_init(&report);
    gsrt_status status = gsrt_import_config(bytes, path, &w, &report, &diag);
    t->files++;
    if (status == GSRT_OK) {
        t->imported++;
        ck_assert_int_eq(gsrt_buffer_append(&report.notes, "", 1), GSRT_OK);
        ck_assert_msg(!report.is_contradicted, "%s: %s", path, notes_of(&report));
        gsrt_workload_free(w);
    } else {
        t->refused++;
        bool is_precise = strstr(diag.text, "': asks for ") != NULL ||
                          strstr(diag.text, "' is not supported") != NULL ||
                          strstr(diag.text, "this file describes a quantisation") != NULL ||
                          strstr(diag.text, "invalid token near 'Infinity'") != NULL;
        ck_assert_msg(status == GSRT_EINPUT && is_precise, "%s", diag.text);
    }
    gsrt_config_report_fini(&report);
    free((void *)(uintptr_t)bytes.data);
}

START_TEST(every_published_file)
{
    static const char *const folders[] = {"LLMServingSim",  "NeuSight",      "SimAI",
                                          "aiconfigurator", "inference-sim", "onnx-tool"};
    tally t = {0};
    if (shared_is_absent("every_published_file", "configs"))
        return;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char folder[512], path[1024], name[64];
        (void)snprintf(name, sizeof name, "configs/%s", folders[i]);
        shared_path(folder, sizeof folder, name);
        DIR *directory = opendir(folder);
        ck_assert_msg(directory != NULL, "no %s", folder);
        for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
            (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            if (strstr(entry->d_name, ".json") != NULL)
                try_shared(path, &t);
        }
        (void)closedir(directory);
    }
    printf("%u files: %u imported, %u refused by name\n", t.files, t.imported, t.refused);
    ck_assert_uint_ge(t.files, 96);
    ck_assert_uint_ge(t.imported, 43);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {published_counts,
                            gpt_oss_as_its_card_says,
                            texts_round_trip,
                            windows,
                            rotations,
                            fused_tensors,
                            wrong_copies,
                            what_is_wrong_is_named,
                            what_is_assumed_is_noted,
                            every_published_file};
    int failed = unit_run("config_json", tests, sizeof tests / sizeof tests[0]);
    return failed == 0 && shared_is_absent("every_published_file", "configs") ? SKIPPED : failed;
}
