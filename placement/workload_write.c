#include <xxhash.h>

#include "placement/workload_text_impl.h"

static gsrt_status print_record(gsrt__text_kind kind, const void *object, gsrt_buffer *out)
{
    const gsrt__text_record *r = &gsrt__text_records[kind];
    gsrt_status status = gsrt_buffer_print(out, "%s", r->word);
    for (uint32_t i = 0; i < r->count && status == GSRT_OK; i++) {
        if (gsrt__text_is_neutral(object, &r->fields[i]))
            continue;
        status = gsrt_buffer_print(out, " %s=", r->fields[i].key);
        if (status == GSRT_OK)
            status = gsrt__text_print(object, &r->fields[i], out);
    }
    return status == GSRT_OK ? gsrt_buffer_append(out, "\n", 1) : status;
}

static gsrt_status print_all(const gsrt_workload *w, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, "gsrt-workload %d\n", GSRT_WORKLOAD_TEXT_VERSION);
    if (status == GSRT_OK)
        status = print_record(GSRT__RECORD_WORKLOAD, w, out);
    for (uint32_t i = 0; i < w->tensor_count && status == GSRT_OK; i++)
        status = print_record(GSRT__RECORD_TENSOR, &w->tensors[i], out);
    for (uint32_t i = 0; i < w->value_count && status == GSRT_OK; i++)
        status = print_record(GSRT__RECORD_VALUE, &w->values[i], out);
    for (uint32_t i = 0; i < w->state_count && status == GSRT_OK; i++)
        status = print_record(GSRT__RECORD_STATE, &w->states[i], out);
    for (uint32_t i = 0; i < w->op_count && status == GSRT_OK; i++) {
        status = print_record(GSRT__RECORD_OP, &w->ops[i], out);
        if (status == GSRT_OK && w->ops[i].rope != NULL)
            status = print_record(GSRT__RECORD_ROPE, w->ops[i].rope, out);
        if (status == GSRT_OK && w->ops[i].routing != NULL)
            status = print_record(GSRT__RECORD_ROUTING, w->ops[i].routing, out);
    }
    for (uint32_t i = 0; i < w->region_count && status == GSRT_OK; i++)
        status = print_record(GSRT__RECORD_REGION, &w->regions[i], out);
    return status == GSRT_OK ? gsrt_buffer_append(out, "end\n", 4) : status;
}

gsrt_status gsrt_workload_write(const gsrt_workload *workload, gsrt_buffer *out)
{
    size_t start = out->len;
    gsrt_status status = print_all(workload, out);
    if (status != GSRT_OK)
        out->len = start;
    return status;
}

gsrt_status gsrt_workload_hash_of(const gsrt_workload *workload, gsrt_workload_hash *out)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_WORKLOAD_BYTES_MAX);
    gsrt_status status = gsrt_workload_write(workload, &text);
    if (status == GSRT_OK) {
        XXH128_hash_t hash = XXH3_128bits(text.data, text.len);
        *out = (gsrt_workload_hash){.low = hash.low64, .high = hash.high64};
    }
    gsrt_buffer_fini(&text);
    return status;
}
