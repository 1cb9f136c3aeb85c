#include "base/json.h"
#include "base/msgpack.h"
#include "ckpt/trace.h"

#include <inttypes.h>

const char *gsrt_trace_kind_name(uint64_t kind)
{
    switch (kind) {
#define KIND_NAME(NAME, number, name)                                                                                  \
    case number: return #name;
        GSRT_TRACE_KINDS(KIND_NAME)
#undef KIND_NAME
    default: return NULL;
    }
}

static gsrt_status print_hex(gsrt_span bytes, gsrt_buffer *out)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t *room;
    gsrt_status status = gsrt_buffer_extend(out, 2 + 2 * bytes.len, &room);
    if (status != GSRT_OK)
        return status;
    *room++ = '"';
    for (size_t i = 0; i < bytes.len; i++) {
        *room++ = (uint8_t)digits[bytes.data[i] >> 4];
        *room++ = (uint8_t)digits[bytes.data[i] & 15];
    }
    *room = '"';
    return GSRT_OK;
}

static gsrt_status print_scalar(gsrt_unpack *unpack, gsrt_unpack_type type, gsrt_buffer *out)
{
    switch (type) {
    case GSRT_UNPACK_NIL: gsrt_unpack_nil(unpack); return gsrt_buffer_append(out, "null", 4);
    case GSRT_UNPACK_BOOL: return gsrt_buffer_print(out, gsrt_unpack_bool(unpack) ? "true" : "false");
    case GSRT_UNPACK_UINT: return gsrt_buffer_print(out, "%" PRIu64, gsrt_unpack_uint(unpack, UINT64_MAX));
    case GSRT_UNPACK_INT: return gsrt_buffer_print(out, "%" PRId64, gsrt_unpack_int(unpack, INT64_MIN, INT64_MAX));
    case GSRT_UNPACK_F32: return gsrt_json_print_f32(out, gsrt_unpack_f32(unpack));
    case GSRT_UNPACK_F64: return gsrt_json_print_f64(out, gsrt_unpack_f64(unpack));
    case GSRT_UNPACK_STR: return gsrt_json_print_text(out, gsrt_unpack_str(unpack, SIZE_MAX));
    case GSRT_UNPACK_BIN: return print_hex(gsrt_unpack_bin(unpack, SIZE_MAX), out);
    case GSRT_UNPACK_NONE:
    case GSRT_UNPACK_ARRAY:
    case GSRT_UNPACK_MAP: break;
    }
    return GSRT_EDECODE;
}

/* One whole msgpack value as JSON. A map becomes an array of [key, value], because its keys may be anything. The value
 * was skipped once before, so its nesting is bounded. */
static gsrt_status print_value(gsrt_unpack *unpack, gsrt_buffer *out)
{
    gsrt_unpack_type type = gsrt_unpack_peek(unpack);
    if (type != GSRT_UNPACK_ARRAY && type != GSRT_UNPACK_MAP)
        return print_scalar(unpack, type, out);
    bool is_map = type == GSRT_UNPACK_MAP;
    uint32_t count = is_map ? gsrt_unpack_map(unpack, UINT32_MAX) : gsrt_unpack_array(unpack, UINT32_MAX);
    gsrt_status status = gsrt_buffer_append(out, "[", 1);
    for (uint32_t i = 0; i < count && status == GSRT_OK; i++) {
        status = gsrt_buffer_print(out, "%s%s", i == 0 ? "" : ",", is_map ? "[" : "");
        if (status == GSRT_OK)
            status = print_value(unpack, out);
        if (status == GSRT_OK && is_map)
            status = gsrt_buffer_append(out, ",", 1);
        if (status == GSRT_OK && is_map)
            status = print_value(unpack, out);
        if (status == GSRT_OK && is_map)
            status = gsrt_buffer_append(out, "]", 1);
    }
    return status == GSRT_OK ? gsrt_buffer_append(out, "]", 1) : status;
}

gsrt_status gsrt_trace_print_content(gsrt_span content, gsrt_buffer *out)
{
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, content);
    (void)gsrt_unpack_skip(&unpack);
    if (gsrt_unpack_end(&unpack) != GSRT_OK)
        return print_hex(content, out);
    gsrt_unpack_init(&unpack, content);
    return print_value(&unpack, out);
}

static gsrt_status print_u32(uint32_t value, gsrt_buffer *out)
{
    return gsrt_buffer_print(out, "%" PRIu32, value);
}

static gsrt_status print_u64(uint64_t value, gsrt_buffer *out)
{
    return gsrt_buffer_print(out, "%" PRIu64, value);
}

static gsrt_status print_text(gsrt_span text, gsrt_buffer *out)
{
    return gsrt_json_print_text(out, text);
}

#define PRINT_u32 print_u32
#define PRINT_u64 print_u64
#define PRINT_text print_text
#define PRINT_bytes gsrt_trace_print_content
#define PRINT_FIELD(type, field, limit)                                                                                \
    if (status == GSRT_OK)                                                                                             \
        status = gsrt_buffer_print(out, ",\"" #field "\":");                                                           \
    if (status == GSRT_OK)                                                                                             \
        status = PRINT_##type(fields->field, out);
#define PRINTER(NAME, number, name)                                                                                    \
    static gsrt_status print_##name(const gsrt_trace_##name *fields, gsrt_buffer *out)                                 \
    {                                                                                                                  \
        gsrt_status status = GSRT_OK;                                                                                  \
        GSRT_TRACE_FIELDS_##NAME(PRINT_FIELD) return status;                                                           \
    }
GSRT_TRACE_KINDS(PRINTER)

gsrt_status gsrt_trace_print(const gsrt_trace_frame *frame, gsrt_buffer *out)
{
    size_t start = out->len;
    gsrt_status status = gsrt_buffer_print(out, "{\"frame\":%" PRIu64 ",\"type\":\"%s\"", frame->number,
                                           gsrt_trace_kind_name((uint64_t)frame->kind));
    if (status == GSRT_OK) {
        switch (frame->kind) {
#define PRINT_KIND(NAME, number, name)                                                                                 \
    case GSRT_TRACE_##NAME: status = print_##name(&frame->name, out); break;
            GSRT_TRACE_KINDS(PRINT_KIND)
#undef PRINT_KIND
        }
    }
    if (status == GSRT_OK)
        status = gsrt_buffer_append(out, "}", 1);
    if (status != GSRT_OK)
        out->len = start;
    return status;
}
