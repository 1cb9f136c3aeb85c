/* The rules that every workload obeys before anything executes it. The numbers are cited by the tests.
 *
 *  1  counts and sizes lie within base/limits.h, and head counts divide
 *  2  tensors: whole quantisation blocks per row, sizes that follow from shape and type
 *  3  values: widths that follow from how they are split
 *  4  regions: embed, layer 0.., output, in this order; their ops follow each other and leave none out; what is said of
 *     them is what their ops imply, or less
 *  5  ops: tensors, values and states of the shapes that the kind demands, and none that it does not read
 *     (workload_check_ops.c)
 *  6  each value is written once, before it is read; only ROPE may write the value it reads
 *  7  a region reads only its own values and the one that enters it; each value is read, or leaves its region
 *  8  each state is written by one op, of its own layer; each tensor is read, or has views or factors that are
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "placement/workload_impl.h"

typedef gsrt__workload_check check;

gsrt_status gsrt__workload_fail(const check *c, const char *place, const char *what)
{
    return gsrt_diag_set(c->diag, GSRT_EINPUT, c->file, place,
                         "%s; this model cannot be run, check how it was converted", what);
}

gsrt_status gsrt__workload_fail_op(const check *c, const gsrt_op *op, const char *what)
{
    char place[GSRT_NAME_BYTES_MAX + 64];
    const gsrt_workload *w = c->workload;
    (void)snprintf(place, sizeof place, "op %td (%s)", op - w->ops, gsrt_op_kind_name(op->kind));
    if (op->tensor < w->tensor_count)
        (void)snprintf(place, sizeof place, "op %td (%s of '%.200s')", op - w->ops, gsrt_op_kind_name(op->kind),
                       w->tensors[op->tensor].name);
    return gsrt__workload_fail(c, place, what);
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
        {"head size of values", w->value_head_dim, GSRT_HEAD_DIM_MAX},
        {"heads times head size", (uint64_t)w->head_count * w->head_dim, GSRT_DIM_MAX},
        {"heads times head size of values", (uint64_t)w->head_count * w->value_head_dim, GSRT_DIM_MAX},
        {"vocabulary", w->vocab_count, GSRT_VOCAB_COUNT_MAX},
        {"context length", w->context_max, GSRT_CONTEXT_MAX},
        {"tensor count", w->tensor_count, GSRT_TENSOR_COUNT_MAX},
        {"region count", w->region_count, GSRT_LAYER_COUNT_MAX + 2},
        {"op count", w->op_count, GSRT_TENSOR_COUNT_MAX * 8},
        {"value count", w->value_count, GSRT_TENSOR_COUNT_MAX * 8},
        {"state count", w->state_count, w->op_count},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (counts[i].value == 0 || counts[i].value > counts[i].max) {
            char what[96];
            (void)snprintf(what, sizeof what, "%" PRIu64 " is not in 1..%" PRIu64, counts[i].value, counts[i].max);
            return gsrt__workload_fail(c, counts[i].name, what);
        }
    }
    if (w->head_count % w->kv_head_count != 0)
        return gsrt__workload_fail(c, "KV head count", "it does not divide the head count");
    if (w->name == NULL || w->architecture == NULL)
        return gsrt__workload_fail(c, "name", "the model has no name or no architecture");
    return GSRT_OK;
}

/* Rule 2, of one tensor. NULL: it is right. */
static const char *wrong_with_tensor(const gsrt_workload *w, const gsrt_tensor *t)
{
    if (!gsrt_dtype_is_known((uint32_t)t->dtype))
        return "its type is not supported";
    if (t->row_count == 0 || t->row_count > GSRT_DIM_MAX || t->column_count == 0 || t->column_count > GSRT_DIM_MAX)
        return "a dimension is 0 or too large";
    if (t->stack_count == 0 || t->stack_count > GSRT_EXPERT_COUNT_MAX)
        return "its stack has no matrix, or too many";
    if ((unsigned)t->layout >= GSRT_LAYOUT_COUNT)
        return "its layout is not known";
    size_t block = gsrt_dtype_block(t->dtype);
    if ((t->layout == GSRT_LAYOUT_ROWS ? t->column_count : t->row_count) % block != 0)
        return "its rows are no whole number of quantisation blocks";
    /* at most 2^24 * 2^24 * 2^12 elements of 4 bytes: 62 bits */
    uint64_t bytes = gsrt_tensor_elements(t) / block * gsrt_dtype_block_bytes(t->dtype);
    if (t->size_bytes != bytes || t->offset_bytes > UINT64_MAX - bytes || (!w->has_weights && t->offset_bytes != 0))
        return "its size does not follow from its shape and type, or it lies nowhere";
    if (!t->is_view)
        return t->base == 0 && t->base_row == 0 ? NULL : "it names a base and is no view";
    if (t->base >= w->tensor_count || w->tensors[t->base].is_view)
        return "the tensor that it is a view of is missing, or a view itself";
    const gsrt_tensor *base = &w->tensors[t->base];
    if (base->dtype != t->dtype || base->layout != t->layout || base->stack_count != t->stack_count ||
        base->column_count != t->column_count || base->is_constant != t->is_constant || t->base_row > base->row_count ||
        t->row_count > base->row_count - t->base_row)
        return "it does not lie within the tensor that it is a view of";
    return NULL;
}

static gsrt_status check_tensors(const check *c)
{
    const gsrt_workload *w = c->workload;
    uint64_t parameters = 0;
    for (uint32_t i = 0; i < w->tensor_count; i++) {
        const gsrt_tensor *t = &w->tensors[i];
        const char *wrong = wrong_with_tensor(w, t);
        if (wrong != NULL) {
            char place[GSRT_NAME_BYTES_MAX + 16];
            (void)snprintf(place, sizeof place, "tensor '%s'", t->name);
            return gsrt__workload_fail(c, place, wrong);
        }
        if (!t->is_view && !t->is_constant && __builtin_add_overflow(parameters, gsrt_tensor_elements(t), &parameters))
            return gsrt__workload_fail(c, "tensors", "they have more than 2^64 elements");
    }
    return parameters == w->parameter_count
               ? GSRT_OK
               : gsrt__workload_fail(c, "parameter count", "it is not the sum over the tensors");
}

/* Rule 3. */
static bool is_value_right(const gsrt_workload *w, const gsrt_value *v)
{
    if (v->width == 0 || v->width > GSRT_DIM_MAX || (unsigned)v->rows >= GSRT_ROWS_COUNT)
        return false;
    if (v->is_kv && v->split != GSRT_SPLIT_HEADS)
        return false;
    switch (v->split) {
    case GSRT_SPLIT_NONE: return v->unit == 0;
    case GSRT_SPLIT_HEADS:
        return (v->unit == w->head_dim || v->unit == w->value_head_dim) &&
               v->width == v->unit * (v->is_kv ? w->kv_head_count : w->head_count);
    case GSRT_SPLIT_OUTPUT: return v->unit > 0 && v->width % v->unit == 0;
    case GSRT_SPLIT_VOCAB: return v->unit == 1 && v->width == w->vocab_count;
    }
    return false;
}

static gsrt_status check_values(const check *c)
{
    const gsrt_workload *w = c->workload;
    for (uint32_t i = 0; i < w->value_count; i++) {
        if (!is_value_right(w, &w->values[i])) {
            char place[GSRT_NAME_BYTES_MAX + 16];
            (void)snprintf(place, sizeof place, "value '%s'", w->values[i].name);
            return gsrt__workload_fail(c, place, "its width does not follow from how it is split");
        }
    }
    return GSRT_OK;
}

/* Rule 8, but for who writes it. */
static gsrt_status check_states(const check *c)
{
    const gsrt_workload *w = c->workload;
    for (uint32_t i = 0; i < w->state_count; i++) {
        const gsrt_state *s = &w->states[i];
        bool is_right = (unsigned)s->kind < GSRT_STATE_KIND_COUNT && s->layer < w->layer_count &&
                        gsrt_dtype_is_known((uint32_t)s->dtype) && s->key_width > 0 && s->key_width <= GSRT_DIM_MAX &&
                        s->value_width > 0 && s->value_width <= GSRT_DIM_MAX &&
                        s->key_width % gsrt_dtype_block(s->dtype) == 0 &&
                        s->value_width % gsrt_dtype_block(s->dtype) == 0;
        if (!is_right) {
            char place[GSRT_NAME_BYTES_MAX + 16];
            (void)snprintf(place, sizeof place, "state '%s'", s->name);
            return gsrt__workload_fail(c, place, "its layer, type or widths are wrong");
        }
    }
    return GSRT_OK;
}

/* Rule 4. */
static gsrt_status check_regions(const check *c)
{
    const gsrt_workload *w = c->workload;
    if (w->region_count != w->layer_count + 2)
        return gsrt__workload_fail(c, "regions",
                                   "there must be one for the embedding, one per layer and one for the output");
    uint32_t op = 0;
    for (uint32_t i = 0; i < w->region_count; i++) {
        const gsrt_region *r = &w->regions[i];
        bool is_layer = i > 0 && i + 1 < w->region_count;
        char place[GSRT_NAME_BYTES_MAX + 16];
        (void)snprintf(place, sizeof place, "region '%s'", r->name);
        if (r->layer != (is_layer ? i - 1 : (uint32_t)GSRT_NO_INDEX))
            return gsrt__workload_fail(c, place, "regions are not in the order embedding, layers, output");
        if (r->op_first != op || r->op_count == 0 || r->op_count > w->op_count - op)
            return gsrt__workload_fail(c, place, "its ops do not follow those of the region before");
        op += r->op_count;
        for (uint32_t k = r->op_first; k < op; k++) {
            if (w->ops[k].region != i)
                return gsrt__workload_fail_op(c, &w->ops[k], "it names another region than the one that holds it");
        }
        bool enters = i == 0 ? r->in == GSRT_NO_INDEX : r->in == w->regions[i - 1].out;
        if (!enters || r->out >= w->value_count)
            return gsrt__workload_fail(c, place, "what enters it is not what leaves the region before");
    }
    return op == w->op_count ? GSRT_OK : gsrt__workload_fail(c, "regions", "some ops belong to no region");
}

static void mark_tensor(const check *c, uint32_t tensor)
{
    const gsrt_workload *w = c->workload;
    if (tensor >= w->tensor_count)
        return;
    c->is_used[tensor] = true;
    if (w->tensors[tensor].is_view)
        c->is_used[w->tensors[tensor].base] = true;
}

static void mark_tensors(const check *c, const gsrt_op *op)
{
    mark_tensor(c, op->tensor);
    mark_tensor(c, op->bias);
    if (op->rope != NULL)
        mark_tensor(c, op->rope->factors_tensor);
    if (op->routing != NULL)
        mark_tensor(c, op->routing->correction_tensor);
}

/* Rules 5, 6, the first half of 7, and who writes a state. */
static gsrt_status check_op(const check *c, const gsrt_op *op)
{
    const gsrt_workload *w = c->workload;
    const gsrt_region *region = &w->regions[op->region];
    if (op->layer != region->layer)
        return gsrt__workload_fail_op(c, op, "its layer is not its region's");
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t value = op->in[i];
        if (value == GSRT_NO_INDEX)
            continue;
        if (value >= w->value_count)
            return gsrt__workload_fail_op(c, op, "an input is missing");
        if (c->writer[value] == GSRT_NO_INDEX)
            return gsrt__workload_fail_op(c, op, "it reads a value that nothing has written yet");
        if (w->ops[c->writer[value]].region != op->region && value != region->in)
            return gsrt__workload_fail_op(c, op, "it reads a value of another region that does not enter this one");
        c->is_read[value] = true;
    }
    if (op->out >= w->value_count)
        return gsrt__workload_fail_op(c, op, "it has no output");
    bool is_in_place = op->kind == GSRT_OP_ROPE && op->out == op->in[0];
    if (c->writer[op->out] != GSRT_NO_INDEX && !is_in_place)
        return gsrt__workload_fail_op(c, op, "it writes a value that was written before");
    if (is_in_place && w->ops[c->writer[op->out]].region != op->region)
        return gsrt__workload_fail_op(c, op, "it changes a value of another region");
    gsrt_status status = gsrt__workload_check_shape(c, op);
    if (status != GSRT_OK)
        return status;
    c->writer[op->out] = (uint32_t)(op - w->ops);
    mark_tensors(c, op);
    if (op->state == GSRT_NO_INDEX)
        return GSRT_OK;
    if (c->is_written[op->state])
        return gsrt__workload_fail_op(c, op, "it writes a state that another op has written");
    c->is_written[op->state] = true;
    return GSRT_OK;
}

/* Rule 4: what is said of a region. NULL: it is right. */
static const char *wrong_with_traits(const gsrt_workload *w, const gsrt_region *r)
{
    const uint32_t phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE | GSRT_PHASE_DRAFT;
    gsrt_region implied = {.op_first = r->op_first, .op_count = r->op_count};
    gsrt_workload_describe(w, &implied);
    if (r->phases == 0 || (r->phases & ~phases) != 0)
        return "it runs in no phase, or in one that is not known";
    if (r->effects != implied.effects)
        return "its effects are not those of its ops";
    if ((r->legal & ~implied.legal) != 0)
        return "it allows what its ops do not";
    if ((unsigned)r->sensitivity >= GSRT_SENSITIVITY_COUNT || r->sensitivity < implied.sensitivity)
        return "it chooses, and is not marked so";
    return r->error_relative_max >= 0 && isfinite(r->error_relative_max) ? NULL : "its error envelope is negative";
}

static gsrt_status check_traits(const check *c)
{
    const gsrt_workload *w = c->workload;
    for (uint32_t i = 0; i < w->region_count; i++) {
        const char *wrong = wrong_with_traits(w, &w->regions[i]);
        if (wrong != NULL) {
            char place[GSRT_NAME_BYTES_MAX + 16];
            (void)snprintf(place, sizeof place, "region '%s'", w->regions[i].name);
            return gsrt__workload_fail(c, place, wrong);
        }
    }
    return GSRT_OK;
}

/* The second half of 7, and the rest of 8: nothing dangles. */
static gsrt_status check_dangling(const check *c)
{
    const gsrt_workload *w = c->workload;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < w->region_count && status == GSRT_OK; i++) {
        uint32_t out = w->regions[i].out;
        if (c->writer[out] == GSRT_NO_INDEX || w->ops[c->writer[out]].region != i)
            status =
                gsrt__workload_fail(c, w->regions[i].name, "the value that leaves this region is not written in it");
        c->is_read[out] = true;
    }
    for (uint32_t i = 0; i < w->value_count && status == GSRT_OK; i++) {
        if (!c->is_read[i])
            status = gsrt__workload_fail(c, w->values[i].name, "nothing reads this value");
    }
    for (uint32_t i = 0; i < w->state_count && status == GSRT_OK; i++) {
        if (!c->is_written[i])
            status = gsrt__workload_fail(c, w->states[i].name, "nothing writes this state");
    }
    for (uint32_t i = 0; i < w->tensor_count && status == GSRT_OK; i++) {
        if (!c->is_used[i])
            status = gsrt__workload_fail(c, w->tensors[i].name, "no op reads this tensor");
    }
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
        status = check_states(c);
    if (status == GSRT_OK)
        status = check_regions(c);
    for (uint32_t i = 0; i < w->op_count && status == GSRT_OK; i++)
        status = check_op(c, &w->ops[i]);
    if (status == GSRT_OK)
        status = check_traits(c);
    return status == GSRT_OK ? check_dangling(c) : status;
}

gsrt_status gsrt_workload_check(const gsrt_workload *workload, const char *file, gsrt_diag *diag)
{
    const gsrt_workload *w = workload;
    size_t values = w->value_count, states = w->state_count, tensors = w->tensor_count;
    uint32_t *writer = malloc((values + 1) * sizeof *writer);
    bool *marks = calloc(values + states + tensors + 1, sizeof *marks);
    gsrt_status status = GSRT_ENOMEM;
    if (writer != NULL && marks != NULL) {
        memset(writer, 0xff, values * sizeof *writer);
        status = check_all(&(check){.workload = workload,
                                    .file = file,
                                    .diag = diag,
                                    .writer = writer,
                                    .is_read = marks,
                                    .is_written = marks + values,
                                    .is_used = marks + values + states});
    }
    free(writer);
    free(marks);
    return status;
}
