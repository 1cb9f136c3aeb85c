#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/config_impl.h"
#include "model/import_llama.h"

void gsrt__build_note(gsrt__builder *b, gsrt_status status)
{
    if (b->status == GSRT_OK && status != GSRT_OK)
        b->status = gsrt_diag_set(b->diag, status, b->file, NULL, "no memory for the workload; give a smaller model");
}

/* The full name of a tensor of this layer: "model.layers.3.mlp.gate.weight". In the builder, until the next call. */
const char *gsrt__build_name(gsrt__builder *b, const char *module, const char *suffix)
{
    bool is_gpt2 = b->s->fusion == GSRT__FUSION_GPT2;
    if (b->layer == GSRT_NO_INDEX)
        (void)snprintf(b->name, sizeof b->name, "%s%s", module, suffix);
    else
        (void)snprintf(b->name, sizeof b->name, "%s.%" PRIu32 ".%s%s", is_gpt2 ? "transformer.h" : "model.layers",
                       b->layer, module, suffix);
    return b->name;
}

/* ---- formats ---- */

/* Does the pattern of a list of modules that stay as they are mean this one? Names, parts of them that end at a dot,
 * and shell patterns occur. */
static bool is_meant(const char *pattern, const char *module)
{
    if (strncmp(pattern, "language_model.", 15) == 0)
        pattern += 15;
    size_t len = strlen(pattern);
    if (fnmatch(pattern, module, 0) == 0 || (strncmp(module, pattern, len) == 0 && module[len] == '.'))
        return true;
    char prefix[GSRT_NAME_BYTES_MAX];
    for (const char *dot = strchr(module, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        (void)snprintf(prefix, sizeof prefix, "%.*s", (int)(dot - module), module);
        if (fnmatch(pattern, prefix, 0) == 0)
            return true;
    }
    const char *last = strrchr(module, '.');
    return last != NULL && strcmp(last + 1, pattern) == 0;
}

/* The format of a layer's matrix. */
gsrt_dtype gsrt__build_format(gsrt__builder *b, const char *module, bool is_expert)
{
    const gsrt__formats *f = &b->s->formats;
    if (f->is_experts_only && !is_expert)
        return f->plain;
    const char *name = gsrt__build_name(b, module, "");
    for (size_t i = 0; i < json_array_size(f->ignored); i++) {
        const char *pattern = json_string_value(json_array_get(f->ignored, i));
        if (pattern != NULL && is_meant(pattern, name))
            return f->plain;
    }
    return f->quantised;
}

/* ---- tensors, values, ops ---- */

uint32_t gsrt__build_tensor(gsrt__builder *b, const gsrt_tensor *item)
{
    uint32_t index = GSRT_NO_INDEX;
    gsrt_tensor t = *item;
    if (b->status != GSRT_OK)
        return index;
    size_t block = gsrt_dtype_block(t.dtype);
    if (t.column_count % block != 0) {
        b->status =
            gsrt_diag_set(b->diag, GSRT_EINPUT, b->file, "key 'quantization_config'",
                          "'%s' has rows of %" PRIu32 " elements, no whole number of blocks of %zu (%s); take the "
                          "file from its maker again",
                          t.name, t.column_count, block, gsrt_dtype_name(t.dtype));
        return index;
    }
    t.size_bytes = gsrt_tensor_elements(&t) / block * gsrt_dtype_block_bytes(t.dtype);
    gsrt__build_note(b, gsrt_workload_add_tensor(b->w, &t, &index));
    return index;
}

uint32_t gsrt__build_matrix(gsrt__builder *b, const char *module, gsrt_dtype dtype, uint32_t stack, uint32_t rows,
                            uint32_t columns)
{
    gsrt_layout layout =
        b->s->fusion == GSRT__FUSION_GPT2 && b->layer != GSRT_NO_INDEX ? GSRT_LAYOUT_COLUMNS : GSRT_LAYOUT_ROWS;
    gsrt_tensor t = {.name = gsrt__build_name(b, module, ".weight"),
                     .dtype = dtype,
                     .stack_count = stack,
                     .row_count = rows,
                     .column_count = columns,
                     .layout = layout};
    return gsrt__build_tensor(b, &t);
}

/* Rows of the fused tensor `base`. */
uint32_t gsrt__build_view(gsrt__builder *b, uint32_t base, const char *part, uint32_t row_first, uint32_t rows)
{
    if (b->status != GSRT_OK)
        return GSRT_NO_INDEX;
    gsrt_tensor t = b->w->tensors[base];
    (void)snprintf(b->name, sizeof b->name, "%.200s[%s]", t.name, part);
    t.name = b->name;
    t.row_count = rows;
    t.is_view = true;
    t.base = base;
    t.base_row = row_first;
    return gsrt__build_tensor(b, &t);
}

/* suffix: ".weight", ".bias", or a part of a fused bias. */
uint32_t gsrt__build_vector(gsrt__builder *b, const char *module, const char *suffix, uint32_t count)
{
    gsrt_tensor t = {.name = gsrt__build_name(b, module, suffix),
                     .dtype = b->s->formats.plain,
                     .stack_count = 1,
                     .row_count = 1,
                     .column_count = count};
    return gsrt__build_tensor(b, &t);
}

uint32_t gsrt__build_value(gsrt__builder *b, const char *name, uint32_t width, gsrt_rows rows, gsrt_split_kind split,
                           uint32_t unit)
{
    uint32_t index = GSRT_NO_INDEX;
    char full[GSRT_NAME_BYTES_MAX];
    if (b->status != GSRT_OK)
        return index;
    if (b->layer == GSRT_NO_INDEX)
        (void)snprintf(full, sizeof full, "%s", name);
    else
        (void)snprintf(full, sizeof full, "blk.%" PRIu32 ".%s", b->layer, name);
    gsrt_value v = {.name = full, .width = width, .rows = rows, .split = split, .unit = unit};
    gsrt__build_note(b, gsrt_workload_add_value(b->w, &v, &index));
    return index;
}

uint32_t gsrt__build_plain(gsrt__builder *b, const char *name, uint32_t width)
{
    return gsrt__build_value(b, name, width, GSRT_ROWS_TOKENS, GSRT_SPLIT_NONE, 0);
}

uint32_t gsrt__build_chunks(gsrt__builder *b, const char *name, uint32_t width, gsrt_rows rows)
{
    return gsrt__build_value(b, name, width, rows, GSRT_SPLIT_OUTPUT, gsrt_import_unit(width));
}

uint32_t gsrt__build_heads(gsrt__builder *b, const char *name, bool is_kv, uint32_t head_dim)
{
    uint32_t heads = is_kv ? b->s->kv_heads : b->s->heads;
    uint32_t value = gsrt__build_value(b, name, heads * head_dim, GSRT_ROWS_TOKENS, GSRT_SPLIT_HEADS, head_dim);
    if (b->status == GSRT_OK)
        b->w->values[value].is_kv = is_kv;
    return value;
}

gsrt_op gsrt__build_blank(const gsrt__builder *b, gsrt_op_kind kind)
{
    return (gsrt_op){.kind = kind,
                     .region = b->region,
                     .layer = b->layer,
                     .state = GSRT_NO_INDEX,
                     .in = {GSRT_NO_INDEX, GSRT_NO_INDEX, GSRT_NO_INDEX},
                     .out = GSRT_NO_INDEX,
                     .tensor = GSRT_NO_INDEX,
                     .bias = GSRT_NO_INDEX,
                     .k_group = 1};
}

uint32_t gsrt__build_op(gsrt__builder *b, const gsrt_op *op)
{
    uint32_t ignored;
    if (b->status == GSRT_OK)
        gsrt__build_note(b, gsrt_workload_add_op(b->w, op, &ignored));
    return op->out;
}
