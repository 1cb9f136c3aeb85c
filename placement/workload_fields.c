/* What stands in the text of a workload: a table per record. */
#include "placement/workload_text_impl.h"

#include <inttypes.h>

#include "base/json.h"

static const char *const split_names[] = {"none", "heads", "output", "vocab"};
static const char *const rows_names[] = {"tokens", "chosen", "wanted"};
static const char *const layout_names[] = {"rows", "columns"};
static const char *const state_names[] = {"kv", "latent"};
static const char *const score_names[] = {"softmax", "softmax_chosen", "sigmoid"};
static const char *const sensitivity_names[] = {"smooth", "choice"};
static const char *const phase_names[] = {"prefill", "decode", "draft"};
static const char *const effect_names[] = {"reads_state", "writes_state", "emits"};
static const char *const legal_names[] = {"recompute",      "checkpoint",      "page",          "quantise_weights",
                                          "quantise_state", "offload_weights", "offload_state", "reorder",
                                          "absorb",         "split_experts"};
static const char *const kind_names[] = {
    "embed",    "rmsnorm", "linear", "rope",  "attention",        "swiglu", "add",           "logits", "layernorm",
    "position", "scale",   "gelu",   "geglu", "latent_attention", "route",  "expert_linear", "combine"};

#define COUNT_OF(array) ((uint32_t)(sizeof(array) / sizeof(array)[0]))
#define NAMES(array) array, COUNT_OF(array)
#define AT(type, member) ((uint32_t)offsetof(type, member))

_Static_assert(sizeof kind_names / sizeof kind_names[0] == GSRT_OP_KIND_COUNT, "one name per kind");
_Static_assert(sizeof split_names / sizeof split_names[0] == GSRT_SPLIT_KIND_COUNT, "one name per split");
_Static_assert(sizeof(gsrt_op_kind) == 4 && sizeof(gsrt_dtype) == 4 && sizeof(gsrt_rows) == 4,
               "enums are written as u32");

static const gsrt__text_field workload_fields[] = {
    {"name", GSRT__TEXT_TEXT, AT(gsrt_workload, name), NULL, 0},
    {"architecture", GSRT__TEXT_TEXT, AT(gsrt_workload, architecture), NULL, 0},
    {"layers", GSRT__TEXT_U32, AT(gsrt_workload, layer_count), NULL, 0},
    {"dim", GSRT__TEXT_U32, AT(gsrt_workload, dim), NULL, 0},
    {"ffn", GSRT__TEXT_U32, AT(gsrt_workload, ffn_dim), NULL, 0},
    {"heads", GSRT__TEXT_U32, AT(gsrt_workload, head_count), NULL, 0},
    {"kv_heads", GSRT__TEXT_U32, AT(gsrt_workload, kv_head_count), NULL, 0},
    {"head_dim", GSRT__TEXT_U32, AT(gsrt_workload, head_dim), NULL, 0},
    {"value_head_dim", GSRT__TEXT_U32, AT(gsrt_workload, value_head_dim), NULL, 0},
    {"vocab", GSRT__TEXT_U32, AT(gsrt_workload, vocab_count), NULL, 0},
    {"context", GSRT__TEXT_U32, AT(gsrt_workload, context_max), NULL, 0},
    {"tied", GSRT__TEXT_BOOL, AT(gsrt_workload, output_is_tied), NULL, 0},
    {"weights", GSRT__TEXT_BOOL, AT(gsrt_workload, has_weights), NULL, 0},
};

static const gsrt__text_field tensor_fields[] = {
    {"name", GSRT__TEXT_TEXT, AT(gsrt_tensor, name), NULL, 0},
    {"dtype", GSRT__TEXT_DTYPE, AT(gsrt_tensor, dtype), NULL, 0},
    {"stack", GSRT__TEXT_U32, AT(gsrt_tensor, stack_count), NULL, 0},
    {"rows", GSRT__TEXT_U32, AT(gsrt_tensor, row_count), NULL, 0},
    {"columns", GSRT__TEXT_U32, AT(gsrt_tensor, column_count), NULL, 0},
    {"layout", GSRT__TEXT_ENUM, AT(gsrt_tensor, layout), NAMES(layout_names)},
    {"offset", GSRT__TEXT_U64, AT(gsrt_tensor, offset_bytes), NULL, 0},
    {"bytes", GSRT__TEXT_U64, AT(gsrt_tensor, size_bytes), NULL, 0},
    {"constant", GSRT__TEXT_BOOL, AT(gsrt_tensor, is_constant), NULL, 0},
    {"view", GSRT__TEXT_BOOL, AT(gsrt_tensor, is_view), NULL, 0},
    {"base", GSRT__TEXT_U32, AT(gsrt_tensor, base), NULL, 0},
    {"base_row", GSRT__TEXT_U32, AT(gsrt_tensor, base_row), NULL, 0},
};

static const gsrt__text_field value_fields[] = {
    {"name", GSRT__TEXT_TEXT, AT(gsrt_value, name), NULL, 0},
    {"width", GSRT__TEXT_U32, AT(gsrt_value, width), NULL, 0},
    {"rows", GSRT__TEXT_ENUM, AT(gsrt_value, rows), NAMES(rows_names)},
    {"split", GSRT__TEXT_ENUM, AT(gsrt_value, split), NAMES(split_names)},
    {"unit", GSRT__TEXT_U32, AT(gsrt_value, unit), NULL, 0},
    {"kv", GSRT__TEXT_BOOL, AT(gsrt_value, is_kv), NULL, 0},
};

static const gsrt__text_field state_fields[] = {
    {"name", GSRT__TEXT_TEXT, AT(gsrt_state, name), NULL, 0},
    {"kind", GSRT__TEXT_KIND, AT(gsrt_state, kind), NAMES(state_names)},
    {"layer", GSRT__TEXT_INDEX, AT(gsrt_state, layer), NULL, 0},
    {"dtype", GSRT__TEXT_DTYPE, AT(gsrt_state, dtype), NULL, 0},
    {"key_width", GSRT__TEXT_U32, AT(gsrt_state, key_width), NULL, 0},
    {"value_width", GSRT__TEXT_U32, AT(gsrt_state, value_width), NULL, 0},
    {"window", GSRT__TEXT_U32, AT(gsrt_state, window), NULL, 0},
};

static const gsrt__text_field op_fields[] = {
    {"kind", GSRT__TEXT_KIND, AT(gsrt_op, kind), NAMES(kind_names)},
    {"region", GSRT__TEXT_INDEX, AT(gsrt_op, region), NULL, 0},
    {"layer", GSRT__TEXT_INDEX, AT(gsrt_op, layer), NULL, 0},
    {"state", GSRT__TEXT_INDEX, AT(gsrt_op, state), NULL, 0},
    {"in0", GSRT__TEXT_INDEX, AT(gsrt_op, in[0]), NULL, 0},
    {"in1", GSRT__TEXT_INDEX, AT(gsrt_op, in[1]), NULL, 0},
    {"in2", GSRT__TEXT_INDEX, AT(gsrt_op, in[2]), NULL, 0},
    {"out", GSRT__TEXT_INDEX, AT(gsrt_op, out), NULL, 0},
    {"tensor", GSRT__TEXT_INDEX, AT(gsrt_op, tensor), NULL, 0},
    {"bias", GSRT__TEXT_INDEX, AT(gsrt_op, bias), NULL, 0},
    {"epsilon", GSRT__TEXT_F32, AT(gsrt_op, epsilon), NULL, 0},
    {"gain_offset", GSRT__TEXT_F32, AT(gsrt_op, gain_offset), NULL, 0},
    {"scale", GSRT__TEXT_F32, AT(gsrt_op, scale), NULL, 0},
    {"softcap", GSRT__TEXT_F32, AT(gsrt_op, softcap), NULL, 0},
    {"limit", GSRT__TEXT_F32, AT(gsrt_op, limit), NULL, 0},
    {"head_dim", GSRT__TEXT_U32, AT(gsrt_op, head_dim), NULL, 0},
    {"k_group", GSRT__TEXT_U32, AT(gsrt_op, k_group), NULL, 0},
};

static const gsrt__text_field rope_fields[] = {
    {"neox", GSRT__TEXT_BOOL, AT(gsrt_rope, is_neox), NULL, 0},
    {"first", GSRT__TEXT_U32, AT(gsrt_rope, dim_first), NULL, 0},
    {"rotated", GSRT__TEXT_U32, AT(gsrt_rope, dim_rotated), NULL, 0},
    {"base", GSRT__TEXT_F32, AT(gsrt_rope, base), NULL, 0},
    {"scale", GSRT__TEXT_F32, AT(gsrt_rope, scale), NULL, 0},
    {"factors", GSRT__TEXT_INDEX, AT(gsrt_rope, factors_tensor), NULL, 0},
    {"yarn", GSRT__TEXT_BOOL, AT(gsrt_rope, is_yarn), NULL, 0},
    {"context_original", GSRT__TEXT_U32, AT(gsrt_rope, context_original), NULL, 0},
    {"yarn_extension", GSRT__TEXT_F32, AT(gsrt_rope, yarn_extension_factor), NULL, 0},
    {"yarn_attention", GSRT__TEXT_F32, AT(gsrt_rope, yarn_attention_factor), NULL, 0},
    {"yarn_beta_fast", GSRT__TEXT_F32, AT(gsrt_rope, yarn_beta_fast), NULL, 0},
    {"yarn_beta_slow", GSRT__TEXT_F32, AT(gsrt_rope, yarn_beta_slow), NULL, 0},
};

static const gsrt__text_field routing_fields[] = {
    {"experts", GSRT__TEXT_U32, AT(gsrt_routing, expert_count), NULL, 0},
    {"chosen", GSRT__TEXT_U32, AT(gsrt_routing, chosen_count), NULL, 0},
    {"groups", GSRT__TEXT_U32, AT(gsrt_routing, group_count), NULL, 0},
    {"groups_chosen", GSRT__TEXT_U32, AT(gsrt_routing, group_chosen_count), NULL, 0},
    {"score", GSRT__TEXT_ENUM, AT(gsrt_routing, score), NAMES(score_names)},
    {"renormalised", GSRT__TEXT_BOOL, AT(gsrt_routing, is_renormalised), NULL, 0},
    {"scale", GSRT__TEXT_F32, AT(gsrt_routing, scale), NULL, 0},
    {"correction", GSRT__TEXT_INDEX, AT(gsrt_routing, correction_tensor), NULL, 0},
};

static const gsrt__text_field region_fields[] = {
    {"name", GSRT__TEXT_TEXT, AT(gsrt_region, name), NULL, 0},
    {"layer", GSRT__TEXT_INDEX, AT(gsrt_region, layer), NULL, 0},
    {"first", GSRT__TEXT_U32, AT(gsrt_region, op_first), NULL, 0},
    {"count", GSRT__TEXT_U32, AT(gsrt_region, op_count), NULL, 0},
    {"in", GSRT__TEXT_INDEX, AT(gsrt_region, in), NULL, 0},
    {"out", GSRT__TEXT_INDEX, AT(gsrt_region, out), NULL, 0},
    {"phases", GSRT__TEXT_FLAGS, AT(gsrt_region, phases), NAMES(phase_names)},
    {"sensitivity", GSRT__TEXT_ENUM, AT(gsrt_region, sensitivity), NAMES(sensitivity_names)},
    {"legal", GSRT__TEXT_FLAGS, AT(gsrt_region, legal), NAMES(legal_names)},
    {"effects", GSRT__TEXT_FLAGS, AT(gsrt_region, effects), NAMES(effect_names)},
    {"deterministic", GSRT__TEXT_BOOL, AT(gsrt_region, is_deterministic), NULL, 0},
    {"error_relative_max", GSRT__TEXT_F32, AT(gsrt_region, error_relative_max), NULL, 0},
};

const gsrt__text_record gsrt__text_records[] = {
    [GSRT__RECORD_WORKLOAD] = {"workload", NAMES(workload_fields)},
    [GSRT__RECORD_TENSOR] = {"tensor", NAMES(tensor_fields)},
    [GSRT__RECORD_VALUE] = {"value", NAMES(value_fields)},
    [GSRT__RECORD_STATE] = {"state", NAMES(state_fields)},
    [GSRT__RECORD_OP] = {"op", NAMES(op_fields)},
    [GSRT__RECORD_ROPE] = {"rope", NAMES(rope_fields)},
    [GSRT__RECORD_ROUTING] = {"routing", NAMES(routing_fields)},
    [GSRT__RECORD_REGION] = {"region", NAMES(region_fields)},
};

static uint32_t u32_at(const void *object, const gsrt__text_field *f)
{
    uint32_t number;
    memcpy(&number, (const char *)object + f->offset, sizeof number);
    return number;
}

static gsrt_status print_flags(uint32_t flags, const char *const *names, uint32_t count, gsrt_buffer *out)
{
    const char *joint = "";
    gsrt_status status = flags == 0 ? gsrt_buffer_append(out, "-", 1) : GSRT_OK;
    for (uint32_t i = 0; i < count && status == GSRT_OK; i++) {
        if ((flags >> i & 1) == 0)
            continue;
        status = gsrt_buffer_print(out, "%s%s", joint, names[i]);
        joint = "+";
    }
    return status;
}

static gsrt_status print_text(const char *text, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_append(out, "\"", 1);
    for (; *text != 0 && status == GSRT_OK; text++) {
        uint8_t byte = (uint8_t)*text;
        if (byte < 0x20 || byte > 0x7e || byte == '"' || byte == '\\')
            status = gsrt_buffer_print(out, "\\x%02x", byte);
        else
            status = gsrt_buffer_append(out, text, 1);
    }
    return status == GSRT_OK ? gsrt_buffer_append(out, "\"", 1) : status;
}

bool gsrt__text_is_neutral(const void *object, const gsrt__text_field *f)
{
    uint64_t wide;
    switch (f->type) {
    case GSRT__TEXT_TEXT:
    case GSRT__TEXT_KIND:
    case GSRT__TEXT_DTYPE: return false;
    case GSRT__TEXT_INDEX: return u32_at(object, f) == GSRT_NO_INDEX;
    case GSRT__TEXT_BOOL: return !*((const bool *)object + f->offset);
    case GSRT__TEXT_U64: memcpy(&wide, (const char *)object + f->offset, sizeof wide); return wide == 0;
    case GSRT__TEXT_U32:
    case GSRT__TEXT_F32:
    case GSRT__TEXT_ENUM:
    case GSRT__TEXT_FLAGS: return u32_at(object, f) == 0;
    }
    return false;
}

gsrt_status gsrt__text_print(const void *object, const gsrt__text_field *f, gsrt_buffer *out)
{
    uint32_t number = 0;
    uint64_t wide;
    float real;
    const char *text;
    if (f->type != GSRT__TEXT_TEXT && f->type != GSRT__TEXT_BOOL && f->type != GSRT__TEXT_U64)
        number = u32_at(object, f);
    switch (f->type) {
    case GSRT__TEXT_U32:
    case GSRT__TEXT_INDEX: return gsrt_buffer_print(out, "%" PRIu32, number);
    case GSRT__TEXT_U64:
        memcpy(&wide, (const char *)object + f->offset, sizeof wide);
        return gsrt_buffer_print(out, "%" PRIu64, wide);
    case GSRT__TEXT_F32: memcpy(&real, &number, sizeof real); return gsrt_json_print_f32(out, real);
    case GSRT__TEXT_BOOL: return gsrt_buffer_append(out, "true", 4);
    case GSRT__TEXT_TEXT: memcpy(&text, (const char *)object + f->offset, sizeof text); return print_text(text, out);
    case GSRT__TEXT_KIND:
    case GSRT__TEXT_ENUM: return gsrt_buffer_print(out, "%s", f->names[number]);
    case GSRT__TEXT_FLAGS: return print_flags(number, f->names, f->count, out);
    case GSRT__TEXT_DTYPE: return gsrt_buffer_print(out, "%s", gsrt_dtype_name((gsrt_dtype)number));
    }
    return GSRT_EINVAL;
}

gsrt_status gsrt_workload_print_phases(uint32_t phases, gsrt_buffer *out)
{
    return print_flags(phases, NAMES(phase_names), out);
}

gsrt_status gsrt_workload_print_legal(uint32_t legal, gsrt_buffer *out)
{
    return print_flags(legal, NAMES(legal_names), out);
}

gsrt_status gsrt_workload_print_effects(uint32_t effects, gsrt_buffer *out)
{
    return print_flags(effects, NAMES(effect_names), out);
}
