/* The two parts of a config.json that come in many spellings: rotation with its scaling, and formats of weights. */
#include <string.h>

#include "backends/trig.h"
#include "model/config_impl.h"

/* ---- rotation ---- */

/* As transformers computes it: wave lengths past the original context are divided by `factor`, those of up to a quarter
 * of it (high_freq_factor 4) are kept, and between the two it is interpolated. */
static gsrt_status read_llama3(const gsrt__keys *scaling, gsrt_arena *arena, gsrt__shape *shape)
{
    float factor, low, high;
    uint32_t original;
    gsrt_status status = gsrt__key_f32(scaling, "factor", 0, &factor);
    if (status == GSRT_OK)
        status = gsrt__key_f32(scaling, "low_freq_factor", 1, &low);
    if (status == GSRT_OK)
        status = gsrt__key_f32(scaling, "high_freq_factor", 4, &high);
    if (status == GSRT_OK)
        status =
            gsrt__key_u32(scaling, "original_max_position_embeddings", 1, UINT32_MAX - 1, GSRT__NO_FALLBACK, &original);
    if (status != GSRT_OK)
        return status;
    if (!(factor >= 1) || !(low > 0) || !(high > low))
        return gsrt__key_fail(scaling, "factor",
                              "must be at least 1, and high_freq_factor above low_freq_factor; take "
                              "the file from its maker again");
    uint32_t pairs = shape->rope.dim_rotated / 2;
    shape->factors = gsrt_arena_take(arena, pairs, sizeof *shape->factors);
    if (shape->factors == NULL)
        return GSRT_ENOMEM;
    double log_base = gsrt_log64((double)shape->rope.base);
    for (uint32_t i = 0; i < pairs; i++) {
        double wave = 2 * 3.14159265358979323846 * gsrt_exp64((double)i / pairs * log_base); /* as numerics.md */
        double smooth = (original / wave - (double)low) / (double)(high - low);
        smooth = smooth < 0 ? 0 : smooth > 1 ? 1 : smooth;
        shape->factors[i] = (float)(1 / ((1 - smooth) / (double)factor + smooth));
    }
    return GSRT_OK;
}

static gsrt_status read_longrope(const gsrt__keys *scaling, gsrt_arena *arena, gsrt__shape *shape, gsrt_buffer *notes)
{
    const json_t *factors = gsrt__key(scaling, "long_factor");
    uint32_t pairs = shape->rope.dim_rotated / 2;
    if (!json_is_array(factors) || json_array_size(factors) != pairs)
        return gsrt__key_fail(scaling, "long_factor",
                              "must be an array of %u numbers, one per rotated pair; take the "
                              "file from its maker again",
                              pairs);
    shape->factors = gsrt_arena_take(arena, pairs, sizeof *shape->factors);
    if (shape->factors == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < pairs; i++) {
        double number = json_number_value(json_array_get(factors, i));
        if (!(number > 0) || !(number < 1e30))
            return gsrt__key_fail(scaling, "long_factor",
                                  "must hold positive numbers; take the file from its maker again");
        shape->factors[i] = (float)number;
    }
    return gsrt_buffer_print(notes, "rotation: the factors for long contexts are taken for short ones, too\n");
}

/* transformers' own formula of how YaRN stretches scores. */
static float mscale_of(float factor, float mscale)
{
    return factor <= 1 ? 1 : 0.1f * mscale * (float)gsrt_log64((double)factor) + 1;
}

/* The runtime's YaRN scales by attention_factor * (1 + 0.1 ln factor), so a stated factor is divided by that. */
static gsrt_status read_yarn(const gsrt__keys *scaling, gsrt__shape *shape)
{
    gsrt_rope *rope = &shape->rope;
    float factor, all, one, stated;
    gsrt_status status = gsrt__key_f32(scaling, "factor", 0, &factor);
    if (status == GSRT_OK)
        status = gsrt__key_f32(scaling, "beta_fast", 32, &rope->yarn_beta_fast);
    if (status == GSRT_OK)
        status = gsrt__key_f32(scaling, "beta_slow", 1, &rope->yarn_beta_slow);
    if (status == GSRT_OK)
        status = gsrt__key_f32(scaling, "mscale", 0, &one);
    if (status == GSRT_OK)
        status = gsrt__key_f32(scaling, "mscale_all_dim", 0, &all);
    if (status == GSRT_OK)
        status = gsrt__key_f32(scaling, "attention_factor", 0, &stated);
    if (status == GSRT_OK)
        status = gsrt__key_u32(scaling, "original_max_position_embeddings", 1, UINT32_MAX - 1, GSRT__NO_FALLBACK,
                               &rope->context_original);
    if (status != GSRT_OK)
        return status;
    if (!(factor >= 1) || !(rope->yarn_beta_fast > 0) || !(rope->yarn_beta_slow > 0))
        return gsrt__key_fail(scaling, "factor",
                              "must be at least 1, beta_fast and beta_slow positive; take the file from "
                              "its maker again");
    rope->is_yarn = true;
    rope->scale = 1 / factor;
    rope->yarn_extension_factor = 1;
    if (one > 0 && all > 0 && stated == 0)
        stated = mscale_of(factor, one) / mscale_of(factor, all);
    rope->yarn_attention_factor = stated > 0 ? stated / mscale_of(factor, 1) : 1;
    /* DeepSeek stretches the scores themselves, too */
    if (shape->kv_rank > 0 && all > 0)
        shape->attention_scale *= mscale_of(factor, all) * mscale_of(factor, all);
    return GSRT_OK;
}

static gsrt_status read_linear(const gsrt__keys *scaling, gsrt__shape *shape)
{
    float factor;
    gsrt_status status = gsrt__key_f32(scaling, "factor", 0, &factor);
    if (status == GSRT_OK && !(factor >= 1))
        return gsrt__key_fail(scaling, "factor", "must be at least 1; take the file from its maker again");
    shape->rope.scale = 1 / factor;
    return status;
}

gsrt_status gsrt__config_rope(const gsrt__keys *keys, gsrt_arena *arena, gsrt__shape *shape, gsrt_buffer *notes)
{
    char room[64];
    gsrt__keys scaling;
    const char *type = "default";
    bool is_there;
    gsrt_status status = gsrt__key_object(keys, "rope_parameters", room, &scaling, &is_there);
    if (status == GSRT_OK && is_there)
        status = gsrt__key_f32(&scaling, "rope_theta", shape->rope.base, &shape->rope.base);
    if (status == GSRT_OK && !is_there)
        status = gsrt__key_object(keys, "rope_scaling", room, &scaling, &is_there);
    if (status == GSRT_OK && !(shape->rope.base > 1))
        return gsrt__key_fail(keys, "rope_theta", "must be above 1; take the file from its maker again");
    if (status != GSRT_OK || !is_there)
        return status;
    status = gsrt__key_text(&scaling, "type", "default", &type);
    if (status == GSRT_OK)
        status = gsrt__key_text(&scaling, "rope_type", type, &type);
    /* DeepSeek-V2-Lite's copy has lost its type; only YaRN has an mscale */
    if (status == GSRT_OK && strcmp(type, "default") == 0 && gsrt__key(&scaling, "mscale_all_dim") != NULL)
        type = "yarn";
    if (status != GSRT_OK || strcmp(type, "default") == 0 || strcmp(type, "mrope") == 0)
        return status; /* of text alone, the three parts of a position are equal */
    if (strcmp(type, "linear") == 0)
        return read_linear(&scaling, shape);
    if (strcmp(type, "llama3") == 0)
        return read_llama3(&scaling, arena, shape);
    if (strcmp(type, "longrope") == 0 || strcmp(type, "su") == 0)
        return read_longrope(&scaling, arena, shape, notes);
    if (strcmp(type, "yarn") == 0)
        return read_yarn(&scaling, shape);
    return gsrt__key_fail(&scaling, "rope_type",
                          "'%.40s' is not supported; supported: default, linear, llama3, longrope, "
                          "mrope, yarn",
                          type);
}

/* ---- formats ---- */

static gsrt_status read_plain(const gsrt__keys *root, const gsrt__keys *text, gsrt_dtype *out, gsrt_buffer *notes)
{
    const gsrt__keys *const places[] = {text, root};
    static const char *const keys[] = {"torch_dtype", "dtype"};
    const char *name = NULL, *key = NULL;
    const gsrt__keys *place = root;
    for (int i = 0; i < 4 && name == NULL; i++) {
        place = places[i / 2];
        key = keys[i % 2];
        gsrt_status status = gsrt__key_text(place, key, NULL, &name);
        if (status != GSRT_OK)
            return status;
    }
    *out = GSRT_DTYPE_BF16;
    if (name == NULL)
        return gsrt_buffer_print(notes, "formats: the file names no torch_dtype; bf16 is assumed\n");
    if (strcmp(name, "float16") == 0)
        *out = GSRT_DTYPE_F16;
    else if (strcmp(name, "float32") == 0)
        *out = GSRT_DTYPE_F32;
    else if (strcmp(name, "bfloat16") != 0)
        return gsrt__key_fail(place, key, "'%.40s' is not supported; supported: bfloat16, float16, float32", name);
    return GSRT_OK;
}

static gsrt_status read_state(const gsrt__keys *quantisation, gsrt__formats *out)
{
    const json_t *scheme = gsrt__key(quantisation, "kv_cache_scheme");
    if (scheme == NULL)
        return GSRT_OK;
    const char *name = json_string_value(scheme), *type = json_string_value(json_object_get(scheme, "type"));
    bool is_fp8 = name != NULL ? strcmp(name, "FP8") == 0
                               : type != NULL && strcmp(type, "float") == 0 &&
                                     json_integer_value(json_object_get(scheme, "num_bits")) == 8;
    if (!is_fp8)
        return gsrt__key_fail(quantisation, "kv_cache_scheme", "is not supported; supported: FP8");
    out->state = GSRT_DTYPE_F8_E4M3;
    return GSRT_OK;
}

static gsrt_status read_quantised(const gsrt__keys *quantisation, gsrt__formats *out)
{
    const char *method, *algorithm;
    gsrt_status status = gsrt__key_text(quantisation, "quant_method", "modelopt", &method);
    if (status == GSRT_OK)
        status = gsrt__key_text(quantisation, "quant_algo", "", &algorithm);
    if (status != GSRT_OK)
        return status;
    const char *key = "quant_method";
    if (strcmp(method, "mxfp4") == 0) {
        out->quantised = GSRT_DTYPE_MXFP4;
        out->is_experts_only = true;
    } else if (strcmp(method, "fp8") == 0 && strcmp(algorithm, "") == 0) {
        out->quantised = GSRT_DTYPE_F8_E4M3;
    } else if (strcmp(algorithm, "FP8") == 0) {
        out->quantised = GSRT_DTYPE_F8_E4M3;
    } else if (strcmp(method, "modelopt") == 0 && strcmp(algorithm, "NVFP4") == 0) {
        out->quantised = GSRT_DTYPE_NVFP4;
    } else {
        key = strcmp(algorithm, "") == 0 ? key : "quant_algo";
        return gsrt__key_fail(quantisation, key,
                              "'%.40s' is not supported; supported: fp8, mxfp4, and modelopt's FP8 and "
                              "NVFP4: take the config.json of weights in one of these",
                              strcmp(algorithm, "") == 0 ? method : algorithm);
    }
    return GSRT_OK;
}

gsrt_status gsrt__config_formats(const gsrt__keys *root, const gsrt__keys *text, gsrt__formats *out, gsrt_buffer *notes)
{
    static const char *const lists[] = {"modules_to_not_convert", "ignore", "exclude_modules"};
    char room[64];
    gsrt__keys quantisation;
    bool is_there;
    gsrt_status status = read_plain(root, text, &out->plain, notes);
    out->quantised = out->state = out->plain;
    if (status == GSRT_OK)
        status = gsrt__key_object(text, "quantization_config", room, &quantisation, &is_there);
    if (status == GSRT_OK && !is_there)
        status = gsrt__key_object(root, "quantization_config", room, &quantisation, &is_there);
    if (status != GSRT_OK || !is_there)
        return status;
    status = read_quantised(&quantisation, out);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && status == GSRT_OK && out->ignored == NULL; i++) {
        out->ignored = gsrt__key(&quantisation, lists[i]);
        if (out->ignored != NULL && !json_is_array(out->ignored))
            status = gsrt__key_fail(&quantisation, lists[i], "must be an array; take the file from its maker again");
    }
    return status == GSRT_OK ? read_state(&quantisation, out) : status;
}
