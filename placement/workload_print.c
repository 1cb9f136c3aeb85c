#include <inttypes.h>
#include <stdio.h>

#include "placement/workload_text.h"
#include "placement/workload_totals.h"

/* A name of a layer's without its number: "blk.7.q" -> "blk.*.q", so that layers that are alike look alike. */
static const char *without_number(const char *name, uint32_t layer, char out[GSRT_NAME_BYTES_MAX + 1])
{
    char number[16];
    int len = snprintf(number, sizeof number, ".%" PRIu32 ".", layer);
    const char *at = layer == GSRT_NO_INDEX ? NULL : strstr(name, number);
    if (at == NULL)
        return name;
    (void)snprintf(out, GSRT_NAME_BYTES_MAX + 1, "%.*s.*.%s", (int)(at - name), name, at + len);
    return out;
}

/* What enters a region is called so: its own name is that of the layer before. */
static gsrt_status print_value(const gsrt_workload *w, uint32_t value, const gsrt_op *op, gsrt_buffer *out)
{
    static const char *const rows[] = {"", " per expert", " wanted"};
    char room[GSRT_NAME_BYTES_MAX + 1];
    const gsrt_value *v = &w->values[value];
    return gsrt_buffer_print(out, "%s[%" PRIu32 "%s]",
                             value == w->regions[op->region].in ? "(in)" : without_number(v->name, op->layer, room),
                             v->width, rows[v->rows]);
}

static gsrt_status print_tensor(const gsrt_workload *w, const char *before, uint32_t tensor, uint32_t layer,
                                gsrt_buffer *out)
{
    char room[GSRT_NAME_BYTES_MAX + 1];
    if (tensor == GSRT_NO_INDEX)
        return GSRT_OK;
    const gsrt_tensor *t = &w->tensors[tensor];
    gsrt_status status =
        gsrt_buffer_print(out, "%s%s %s[", before, without_number(t->name, layer, room), gsrt_dtype_name(t->dtype));
    if (status == GSRT_OK && t->stack_count > 1)
        status = gsrt_buffer_print(out, "%" PRIu32 ", ", t->stack_count);
    return status == GSRT_OK ? gsrt_buffer_print(out, "%" PRIu32 ", %" PRIu32 "]", t->row_count, t->column_count)
                             : status;
}

static gsrt_status print_details(const gsrt_workload *w, const gsrt_op *op, gsrt_buffer *out)
{
    if (op->state != GSRT_NO_INDEX) {
        const gsrt_state *s = &w->states[op->state];
        gsrt_status status = gsrt_buffer_print(out, "; keeps %" PRIu32 " + %" PRIu32 " %s per position", s->key_width,
                                               s->value_width, gsrt_dtype_name(s->dtype));
        return status != GSRT_OK || s->window == 0 ? status : gsrt_buffer_print(out, ", the last %" PRIu32, s->window);
    }
    if (op->routing != NULL)
        return gsrt_buffer_print(out, "; %" PRIu32 " of %" PRIu32 " experts", op->routing->chosen_count,
                                 op->routing->expert_count);
    return GSRT_OK;
}

static gsrt_status print_op(const gsrt_workload *w, const gsrt_op *op, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, "  %-16s ", gsrt_op_kind_name(op->kind));
    for (uint32_t i = 0; i < 3 && op->in[i] != GSRT_NO_INDEX && status == GSRT_OK; i++) {
        status = print_value(w, op->in[i], op, out);
        if (status == GSRT_OK)
            status = gsrt_buffer_append(out, " ", 1);
    }
    if (status == GSRT_OK)
        status = gsrt_buffer_append(out, "-> ", 3);
    if (status == GSRT_OK)
        status = print_value(w, op->out, op, out);
    if (status == GSRT_OK)
        status = print_tensor(w, "; ", op->tensor, op->layer, out);
    if (status == GSRT_OK)
        status = print_tensor(w, " + ", op->bias, op->layer, out);
    if (status == GSRT_OK)
        status = print_details(w, op, out);
    return status == GSRT_OK ? gsrt_buffer_append(out, "\n", 1) : status;
}

/* What follows a region's name. */
static gsrt_status print_region(const gsrt_workload *w, const gsrt_region *r, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, ": ");
    if (status == GSRT_OK)
        status = gsrt_workload_print_phases(r->phases, out);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "; effects ");
    if (status == GSRT_OK)
        status = gsrt_workload_print_effects(r->effects, out);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "; allows ");
    if (status == GSRT_OK)
        status = gsrt_workload_print_legal(r->legal, out);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "%s%s\n", r->sensitivity == GSRT_SENSITIVITY_CHOICE ? "; it chooses" : "",
                                   r->is_deterministic ? "" : "; not deterministic");
    for (uint32_t i = r->op_first; i < r->op_first + r->op_count && status == GSRT_OK; i++)
        status = print_op(w, &w->ops[i], out);
    return status;
}

static gsrt_status print_block(const gsrt_workload *w, uint32_t first, uint32_t last, const gsrt_buffer *text,
                               gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, "%s", w->regions[first].name);
    if (status == GSRT_OK && last > first)
        status = gsrt_buffer_print(out, " .. %s", w->regions[last].name);
    return status == GSRT_OK ? gsrt_buffer_append(out, text->data, text->len) : status;
}

gsrt_status gsrt_workload_print(const gsrt_workload *workload, gsrt_buffer *out)
{
    const gsrt_workload *w = workload;
    gsrt_buffer now, next;
    gsrt_buffer_init(&now, GSRT_WORKLOAD_BYTES_MAX);
    gsrt_buffer_init(&next, GSRT_WORKLOAD_BYTES_MAX);
    uint32_t first = 0;
    gsrt_status status = print_region(w, &w->regions[0], &now);
    for (uint32_t i = 1; i <= w->region_count && status == GSRT_OK; i++) {
        gsrt_buffer_reset(&next);
        if (i < w->region_count)
            status = print_region(w, &w->regions[i], &next);
        if (status != GSRT_OK ||
            (i < w->region_count && gsrt_span_equal(gsrt_buffer_span(&now), gsrt_buffer_span(&next))))
            continue;
        status = print_block(w, first, i - 1, &now, out);
        first = i;
        gsrt_buffer swapped = now;
        now = next;
        next = swapped;
    }
    gsrt_buffer_fini(&now);
    gsrt_buffer_fini(&next);
    return status;
}
