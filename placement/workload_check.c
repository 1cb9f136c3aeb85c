/* The rules that every workload obeys before anything executes it. The numbers are cited by the tests.
 *
 *  1  counts and sizes lie within base/limits.h, and head counts divide
 *  2  tensors: whole quantisation blocks per row, sizes that follow from shape and type
 *  3  values: widths that follow from how they are split
 *  4  regions: embed, layer 0.., output, in this order; their ops follow each other and leave none out
 *  5  ops: tensors and values of the shapes that the kind demands
 *  6  each value is written once, before it is read; only ROPE may write the value it reads
 *  7  a region reads only its own values and the one that enters it; each value is read, or leaves its region
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "placement/workload.h"

typedef struct check {
    const gsrt_workload *workload;
    const char *file;
    gsrt_diag *diag;
    uint32_t *writer; /* [value_count]: region that wrote it, GSRT_NO_INDEX = nobody yet */
    bool *is_read;    /* [value_count] */
} check;

static gsrt_status fail(const check *c, const char *place, const char *what)
{
    return gsrt_diag_set(c->diag, GSRT_EINPUT, c->file, place,
                         "%s; this model cannot be run, check how it was converted", what);
}

static gsrt_status fail_op(const check *c, const gsrt_op *op, const char *what)
{
    char place[GSRT_NAME_BYTES_MAX + 64];
    const gsrt_workload *w = c->workload;
    (void)snprintf(place, sizeof place, "op %td (%s)", op - w->ops, gsrt_op_kind_name(op->kind));
    if (op->tensor < w->tensor_count)
        (void)snprintf(place, sizeof place, "op %td (%s of '%.200s')", op - w->ops, gsrt_op_kind_name(op->kind),
                       w->tensors[op->tensor].name);
    return fail(c, place, what);
}

/* Rule 1. */
static gsrt_status check_counts(const check *c)
{
    const gsrt_workload *w = c->workload;
    const struct {
        const char *name;
        uint64_t value, max;
    } counts[] = {
        {"layer count", w->layer_count, GSRT_LAYER_COUNT_MAX},
        {"embedding length", w->dim, GSRT_DIM_MAX},
        {"feed-forward length", w->ffn_dim, GSRT_DIM_MAX},
        {"head count", w->head_count, GSRT_DIM_MAX},
        {"KV head count", w->kv_head_count, w->head_count},
        {"head size", w->head_dim, GSRT_HEAD_DIM_MAX},
        {"heads times head size", (uint64_t)w->head_count * w->head_dim, GSRT_DIM_MAX},
        {"vocabulary", w->vocab_count, GSRT_VOCAB_COUNT_MAX},
        {"context length", w->context_max, GSRT_CONTEXT_MAX},
        {"tensor count", w->tensor_count, GSRT_TENSOR_COUNT_MAX},
        {"region count", w->region_count, GSRT_LAYER_COUNT_MAX + 2},
        {"op count", w->op_count, GSRT_TENSOR_COUNT_MAX * 8},
        {"value count", w->value_count, GSRT_TENSOR_COUNT_MAX * 8},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (counts[i].value == 0 || counts[i].value > counts[i].max) {
            char what[96];
            (void)snprintf(what, sizeof what, "%" PRIu64 " is not in 1..%" PRIu64, counts[i].value, counts[i].max);
            return fail(c, counts[i].name, what);
        }
    }
    if (w->head_count % w->kv_head_count != 0)
        return fail(c, "KV head count", "it does not divide the head count");
    return GSRT_OK;
}

/* Rule 2. */
static gsrt_status check_tensors(const check *c)
{
    for (uint32_t i = 0; i < c->workload->tensor_count; i++) {
        const gsrt_tensor *t = &c->workload->tensors[i];
        char place[GSRT_NAME_BYTES_MAX + 16];
        (void)snprintf(place, sizeof place, "tensor '%s'", t->name);
        if (!gsrt_dtype_is_known((uint32_t)t->dtype))
            return fail(c, place, "its type is not supported");
        if (t->row_count == 0 || t->row_count > GSRT_DIM_MAX || t->column_count == 0 || t->column_count > GSRT_DIM_MAX)
            return fail(c, place, "a dimension is 0 or too large");
        size_t block = gsrt_dtype_block(t->dtype);
        if (t->column_count % block != 0)
            return fail(c, place, "its rows are no whole number of quantisation blocks");
        uint64_t row_bytes = t->column_count / block * gsrt_dtype_block_bytes(t->dtype);
        if (t->size_bytes != row_bytes * t->row_count || t->offset_bytes > UINT64_MAX - t->size_bytes)
            return fail(c, place, "its size does not follow from its shape and type");
    }
    return GSRT_OK;
}

/* Rule 3. */
static gsrt_status check_values(const check *c)
{
    const gsrt_workload *w = c->workload;
    for (uint32_t i = 0; i < w->value_count; i++) {
        const gsrt_value *v = &w->values[i];
        bool is_right = v->width > 0 && v->width <= GSRT_DIM_MAX;
        switch (v->split) {
        case GSRT_SPLIT_NONE: is_right = is_right && v->unit == 0; break;
        case GSRT_SPLIT_HEADS:
            is_right = is_right && v->unit == w->head_dim &&
                       v->width == w->head_dim * (v->is_kv ? w->kv_head_count : w->head_count);
            break;
        case GSRT_SPLIT_OUTPUT: is_right = is_right && v->unit > 0 && v->width % v->unit == 0; break;
        case GSRT_SPLIT_VOCAB: is_right = is_right && v->unit == 1 && v->width == w->vocab_count; break;
        default: is_right = false; break;
        }
        if (!is_right) {
            char place[GSRT_NAME_BYTES_MAX + 16];
            (void)snprintf(place, sizeof place, "value '%s'", v->name);
            return fail(c, place, "its width does not follow from how it is split");
        }
    }
    return GSRT_OK;
}

/* Rule 4. */
static gsrt_status check_regions(const check *c)
{
    const gsrt_workload *w = c->workload;
    if (w->region_count != w->layer_count + 2)
        return fail(c, "regions", "there must be one for the embedding, one per layer and one for the output");
    uint32_t op = 0;
    for (uint32_t i = 0; i < w->region_count; i++) {
        const gsrt_region *r = &w->regions[i];
        bool is_layer = i > 0 && i + 1 < w->region_count;
        char place[GSRT_NAME_BYTES_MAX + 16];
        (void)snprintf(place, sizeof place, "region '%s'", r->name);
        if (r->layer != (is_layer ? i - 1 : (uint32_t)GSRT_NO_INDEX))
            return fail(c, place, "regions are not in the order embedding, layers, output");
        if (r->op_first != op || r->op_count == 0 || r->op_count > w->op_count - op)
            return fail(c, place, "its ops do not follow those of the region before");
        op += r->op_count;
        for (uint32_t k = r->op_first; k < op; k++) {
            if (w->ops[k].region != i)
                return fail_op(c, &w->ops[k], "it names another region than the one that holds it");
        }
        bool enters = i == 0 ? r->in == GSRT_NO_INDEX : r->in == w->regions[i - 1].out;
        if (!enters || r->out >= w->value_count)
            return fail(c, place, "what enters it is not what leaves the region before");
    }
    return op == w->op_count ? GSRT_OK : fail(c, "regions", "some ops belong to no region");
}

static const gsrt_value *input(const check *c, const gsrt_op *op, int index)
{
    return op->in[index] < c->workload->value_count ? &c->workload->values[op->in[index]] : NULL;
}

/* Number of inputs that `kind` reads. */
static uint32_t input_count(gsrt_op_kind kind)
{
    switch (kind) {
    case GSRT_OP_EMBED: return 0;
    case GSRT_OP_RMSNORM:
    case GSRT_OP_LINEAR:
    case GSRT_OP_ROPE:
    case GSRT_OP_LOGITS: return 1;
    case GSRT_OP_SWIGLU:
    case GSRT_OP_ADD: return 2;
    case GSRT_OP_ATTENTION: return 3;
    }
    return 0;
}

static bool has_shape(const check *c, uint32_t tensor, uint32_t rows, uint32_t columns)
{
    const gsrt_workload *w = c->workload;
    return tensor < w->tensor_count && w->tensors[tensor].row_count == rows &&
           w->tensors[tensor].column_count == columns;
}

static bool is_vector(const check *c, uint32_t tensor, uint32_t count)
{
    return has_shape(c, tensor, 1, count) && c->workload->tensors[tensor].dtype == GSRT_DTYPE_F32;
}

static gsrt_status check_linear(const check *c, const gsrt_op *op, const gsrt_value *in, const gsrt_value *out)
{
    if (!has_shape(c, op->tensor, out->width, in->width))
        return fail_op(c, op, "the tensor is not [outputs, inputs] of its values");
    if (op->bias != GSRT_NO_INDEX && !is_vector(c, op->bias, out->width))
        return fail_op(c, op, "the bias is no f32 vector of the outputs");
    if (op->k_group == 0 || in->width % op->k_group != 0)
        return fail_op(c, op, "the inputs are no whole number of groups");
    return GSRT_OK;
}

static gsrt_status check_rope(const check *c, const gsrt_op *op, const gsrt_value *in, const gsrt_value *out)
{
    const gsrt_rope *rope = op->rope;
    if (rope == NULL || op->head_dim != c->workload->head_dim || in->split != GSRT_SPLIT_HEADS ||
        in->width != out->width || in->is_kv != out->is_kv || out->split != GSRT_SPLIT_HEADS)
        return fail_op(c, op, "it must rotate heads");
    if (rope->dim_rotated == 0 || rope->dim_rotated % 2 != 0 || rope->dim_rotated > op->head_dim)
        return fail_op(c, op, "the number of rotated elements is odd, 0 or above the head size");
    if (!(rope->base > 0) || !isfinite(rope->base) || !(rope->scale > 0) || !isfinite(rope->scale))
        return fail_op(c, op, "base and scale must be positive");
    if (rope->factors_tensor != GSRT_NO_INDEX && !is_vector(c, rope->factors_tensor, rope->dim_rotated / 2))
        return fail_op(c, op, "the frequency factors are no f32 vector with one number per rotated pair");
    if (rope->is_yarn &&
        (rope->context_original == 0 || !isfinite(rope->yarn_extension_factor) ||
         !isfinite(rope->yarn_attention_factor) || !(rope->yarn_beta_fast > 0) || !(rope->yarn_beta_slow > 0)))
        return fail_op(c, op, "the YaRN parameters are not usable");
    return GSRT_OK;
}

static gsrt_status check_attention(const check *c, const gsrt_op *op, const gsrt_value *out)
{
    const gsrt_workload *w = c->workload;
    const gsrt_value *q = input(c, op, 0), *k = input(c, op, 1), *v = input(c, op, 2);
    if (q->split != GSRT_SPLIT_HEADS || q->is_kv || k->split != GSRT_SPLIT_HEADS || !k->is_kv ||
        v->split != GSRT_SPLIT_HEADS || !v->is_kv || out->split != GSRT_SPLIT_HEADS || out->is_kv)
        return fail_op(c, op, "query, key, value and output must be split by heads");
    if (op->head_dim != w->head_dim || op->layer >= w->layer_count || !(op->scale > 0) || !isfinite(op->scale))
        return fail_op(c, op, "head size, layer or scale is wrong");
    return GSRT_OK;
}

/* Rule 5; inputs and output are known to exist. */
static gsrt_status check_shape(const check *c, const gsrt_op *op)
{
    const gsrt_workload *w = c->workload;
    const gsrt_value *in = input(c, op, 0), *out = &w->values[op->out];
    switch (op->kind) {
    case GSRT_OP_EMBED:
        return has_shape(c, op->tensor, w->vocab_count, out->width)
                   ? GSRT_OK
                   : fail_op(c, op, "the tensor is not [vocabulary, embedding length]");
    case GSRT_OP_RMSNORM:
        if (!is_vector(c, op->tensor, in->width) || out->width != in->width)
            return fail_op(c, op, "the tensor is no f32 vector as long as its input");
        return op->epsilon >= 0 && isfinite(op->epsilon) ? GSRT_OK : fail_op(c, op, "epsilon must not be negative");
    case GSRT_OP_LOGITS:
        if (out->split != GSRT_SPLIT_VOCAB)
            return fail_op(c, op, "logits are split by vocabulary");
        return check_linear(c, op, in, out);
    case GSRT_OP_LINEAR: return check_linear(c, op, in, out);
    case GSRT_OP_ROPE: return check_rope(c, op, in, out);
    case GSRT_OP_ATTENTION: return check_attention(c, op, out);
    case GSRT_OP_SWIGLU:
    case GSRT_OP_ADD:
        return in->width == input(c, op, 1)->width && in->width == out->width
                   ? GSRT_OK
                   : fail_op(c, op, "its values differ in width");
    }
    return fail_op(c, op, "unknown kind");
}

/* Rules 5, 6 and the first half of 7. */
static gsrt_status check_op(const check *c, const gsrt_op *op)
{
    const gsrt_workload *w = c->workload;
    const gsrt_region *region = &w->regions[op->region];
    if (op->layer != region->layer)
        return fail_op(c, op, "its layer is not its region's");
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t value = op->in[i];
        if (i >= input_count(op->kind)) {
            if (value != GSRT_NO_INDEX)
                return fail_op(c, op, "it has more inputs than its kind reads");
            continue;
        }
        if (value >= w->value_count)
            return fail_op(c, op, "an input is missing");
        if (c->writer[value] == GSRT_NO_INDEX)
            return fail_op(c, op, "it reads a value that nothing has written yet");
        if (c->writer[value] != op->region && value != region->in)
            return fail_op(c, op, "it reads a value of another region that does not enter this one");
        c->is_read[value] = true;
    }
    if (op->out >= w->value_count)
        return fail_op(c, op, "it has no output");
    bool is_in_place = op->kind == GSRT_OP_ROPE && op->out == op->in[0];
    if (c->writer[op->out] != GSRT_NO_INDEX && !is_in_place)
        return fail_op(c, op, "it writes a value that was written before");
    if (is_in_place && c->writer[op->out] != op->region)
        return fail_op(c, op, "it changes a value of another region");
    gsrt_status status = check_shape(c, op);
    if (status == GSRT_OK)
        c->writer[op->out] = op->region;
    return status;
}

static gsrt_status check_all(const check *c)
{
    const gsrt_workload *w = c->workload;
    gsrt_status status = check_counts(c);
    if (status == GSRT_OK)
        status = check_tensors(c);
    if (status == GSRT_OK)
        status = check_values(c);
    if (status == GSRT_OK)
        status = check_regions(c);
    for (uint32_t i = 0; i < w->op_count && status == GSRT_OK; i++)
        status = check_op(c, &w->ops[i]);
    for (uint32_t i = 0; i < w->region_count && status == GSRT_OK; i++) {
        uint32_t out = w->regions[i].out;
        if (c->writer[out] != i)
            status = fail(c, w->regions[i].name, "the value that leaves this region is not written in it");
        c->is_read[out] = true;
    }
    for (uint32_t i = 0; i < w->value_count && status == GSRT_OK; i++) {
        if (!c->is_read[i])
            status = fail(c, w->values[i].name, "nothing reads this value");
    }
    return status;
}

gsrt_status gsrt_workload_check(const gsrt_workload *workload, const char *file, gsrt_diag *diag)
{
    size_t count = (size_t)workload->value_count + 1;
    check c = {.workload = workload,
               .file = file,
               .diag = diag,
               .writer = malloc(count * sizeof(uint32_t)),
               .is_read = calloc(count, sizeof(bool))};
    gsrt_status status = GSRT_ENOMEM;
    if (c.writer != NULL && c.is_read != NULL) {
        memset(c.writer, 0xff, count * sizeof(uint32_t));
        status = check_all(&c);
    }
    free(c.writer);
    free(c.is_read);
    return status;
}
