#include "mailbox/body.h"

#include <math.h>

enum { PRINTED_ITEMS_MAX = 16, PRINTED_BYTES_MAX = 256 };

/* A variable part of a body: where it lies and how long it is. */
typedef struct part {
    const uint8_t *data;
    size_t bytes;
    uint32_t count; /* elements of an array */
} part;

static size_t element_bytes(gsrt_field_type type)
{
    return type == GSRT_FIELD_TYPE_u64s ? sizeof(uint64_t) : sizeof(uint32_t);
}

static bool is_span(gsrt_field_type type)
{
    return type == GSRT_FIELD_TYPE_text || type == GSRT_FIELD_TYPE_bytes;
}

static part part_of(const gsrt_field_info *field, const void *body)
{
    const uint8_t *place = (const uint8_t *)body + field->offset;
    if (is_span(field->type)) {
        gsrt_span span;
        memcpy(&span, place, sizeof span);
        return (part){span.data, span.len, 0};
    }
    part array;
    memcpy(&array.data, place, sizeof array.data);
    memcpy(&array.count, (const uint8_t *)body + field->count_offset, sizeof array.count);
    array.bytes = array.count * element_bytes(field->type);
    return array;
}

static size_t round_up(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* false: past the limit, or a length without data. */
static bool is_field_good(const gsrt_field_info *field, const void *body)
{
    const uint8_t *place = (const uint8_t *)body + field->offset;
    if (field->type == GSRT_FIELD_TYPE_u32)
        return field->limit == 0 || *(const uint32_t *)(const void *)place <= field->limit;
    if (field->type == GSRT_FIELD_TYPE_u64)
        return field->limit == 0 || *(const uint64_t *)(const void *)place <= field->limit;
    if (field->type <= GSRT_FIELD_TYPE_boolean)
        return true;
    part value = part_of(field, body);
    if (value.bytes > 0 && value.data == NULL)
        return false;
    return is_span(field->type) ? value.bytes <= field->limit : value.count <= field->limit;
}

gsrt_status gsrt_body_check(gsrt_kind kind, const void *body)
{
    const gsrt_kind_info *info = gsrt_kind_describe((uint64_t)kind);
    if (info == NULL)
        return GSRT_EKIND;
    for (uint32_t i = 0; i < info->field_count; i++)
        if (!is_field_good(&info->fields[i], body))
            return GSRT_EINVAL;
    return GSRT_OK;
}

size_t gsrt_body_flat_bytes(gsrt_kind kind, const void *body)
{
    const gsrt_kind_info *info = gsrt_kind_describe((uint64_t)kind);
    if (info == NULL)
        return 0;
    size_t total = round_up(info->body_bytes);
    for (uint32_t i = 0; !info->is_flat && i < info->field_count; i++)
        if (info->fields[i].type > GSRT_FIELD_TYPE_boolean)
            total += round_up(part_of(&info->fields[i], body).bytes);
    return total;
}

/* Point a variable field of the struct at `flat` to `data`, keeping its length. */
static void point_field(const gsrt_field_info *field, uint8_t *flat, const uint8_t *data)
{
    _Static_assert(offsetof(gsrt_span, data) == 0, "a span and an array both begin with their pointer");
    memcpy(flat + field->offset, &data, sizeof data);
}

gsrt_status gsrt_body_copy(gsrt_kind kind, const void *body, void *dest, size_t dest_bytes)
{
    const gsrt_kind_info *info = gsrt_kind_describe((uint64_t)kind);
    if (info == NULL)
        return GSRT_EKIND;
    size_t used = round_up(info->body_bytes);
    if (dest_bytes < used)
        return GSRT_ELIMIT;
    uint8_t *flat = dest;
    memcpy(flat, body, info->body_bytes);
    for (uint32_t i = 0; !info->is_flat && i < info->field_count; i++) {
        const gsrt_field_info *field = &info->fields[i];
        if (field->type <= GSRT_FIELD_TYPE_boolean)
            continue;
        part value = part_of(field, body);
        if (dest_bytes - used < round_up(value.bytes))
            return GSRT_ELIMIT;
        if (value.bytes > 0)
            memcpy(flat + used, value.data, value.bytes);
        point_field(field, flat, flat + used);
        used += round_up(value.bytes);
    }
    return GSRT_OK;
}

void gsrt_body_relocate(gsrt_kind kind, void *flat)
{
    const gsrt_kind_info *info = gsrt_kind_describe((uint64_t)kind);
    if (info == NULL || info->is_flat)
        return;
    uint8_t *at = (uint8_t *)flat + round_up(info->body_bytes);
    for (uint32_t i = 0; i < info->field_count; i++) {
        const gsrt_field_info *field = &info->fields[i];
        if (field->type <= GSRT_FIELD_TYPE_boolean)
            continue;
        point_field(field, flat, at);
        at += round_up(part_of(field, flat).bytes);
    }
}

/* ---- printing ---- */

static gsrt_status print_number(gsrt_buffer *out, double value, int digits)
{
    /* JSON has no NaN and no infinity */
    return isfinite(value) ? gsrt_buffer_print(out, "%.*g", digits, value) : gsrt_buffer_print(out, "\"%g\"", value);
}

/* Text as a JSON string, cut at PRINTED_BYTES_MAX; whatever is not plain ASCII is escaped as a byte. */
static gsrt_status print_text(gsrt_buffer *out, gsrt_span text)
{
    gsrt_status status = gsrt_buffer_append(out, "\"", 1);
    for (size_t i = 0; i < text.len && i < PRINTED_BYTES_MAX && status == GSRT_OK; i++) {
        uint8_t c = text.data[i];
        if (c == '"' || c == '\\')
            status = gsrt_buffer_print(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            status = gsrt_buffer_print(out, "\\u%04x", c);
        else
            status = gsrt_buffer_append(out, &c, 1);
    }
    if (status == GSRT_OK && text.len > PRINTED_BYTES_MAX)
        status = gsrt_buffer_print(out, "... %zu more bytes", text.len - PRINTED_BYTES_MAX);
    return status == GSRT_OK ? gsrt_buffer_append(out, "\"", 1) : status;
}

static gsrt_status print_bytes(gsrt_buffer *out, gsrt_span bytes)
{
    gsrt_status status = gsrt_buffer_append(out, "\"", 1);
    for (size_t i = 0; i < bytes.len && i < PRINTED_BYTES_MAX / 8 && status == GSRT_OK; i++)
        status = gsrt_buffer_print(out, "%02x", bytes.data[i]);
    if (status == GSRT_OK && bytes.len > PRINTED_BYTES_MAX / 8)
        status = gsrt_buffer_print(out, "... of %zu bytes", bytes.len);
    return status == GSRT_OK ? gsrt_buffer_append(out, "\"", 1) : status;
}

static gsrt_status print_element(gsrt_buffer *out, gsrt_field_type type, const uint8_t *data, uint32_t i)
{
    if (type == GSRT_FIELD_TYPE_u32s)
        return gsrt_buffer_print(out, "%u", ((const uint32_t *)(const void *)data)[i]);
    if (type == GSRT_FIELD_TYPE_u64s)
        return gsrt_buffer_print(out, "%llu", (unsigned long long)((const uint64_t *)(const void *)data)[i]);
    return print_number(out, (double)((const float *)(const void *)data)[i], 9);
}

static gsrt_status print_array(gsrt_buffer *out, gsrt_field_type type, part array)
{
    gsrt_status status = gsrt_buffer_append(out, "[", 1);
    for (uint32_t i = 0; i < array.count && i < PRINTED_ITEMS_MAX && status == GSRT_OK; i++) {
        if (i > 0)
            status = gsrt_buffer_append(out, ", ", 2);
        if (status == GSRT_OK)
            status = print_element(out, type, array.data, i);
    }
    if (status == GSRT_OK && array.count > PRINTED_ITEMS_MAX)
        status = gsrt_buffer_print(out, ", \"... %u more\"", array.count - PRINTED_ITEMS_MAX);
    return status == GSRT_OK ? gsrt_buffer_append(out, "]", 1) : status;
}

static gsrt_status print_value(gsrt_buffer *out, const gsrt_field_info *field, const void *body)
{
    const void *place = (const uint8_t *)body + field->offset;
    switch (field->type) {
    case GSRT_FIELD_TYPE_u32: return gsrt_buffer_print(out, "%u", *(const uint32_t *)place);
    case GSRT_FIELD_TYPE_u64: return gsrt_buffer_print(out, "%llu", (unsigned long long)*(const uint64_t *)place);
    case GSRT_FIELD_TYPE_i64: return gsrt_buffer_print(out, "%lld", (long long)*(const int64_t *)place);
    case GSRT_FIELD_TYPE_f32: return print_number(out, (double)*(const float *)place, 9);
    case GSRT_FIELD_TYPE_f64: return print_number(out, *(const double *)place, 17);
    case GSRT_FIELD_TYPE_boolean: return gsrt_buffer_print(out, "%s", *(const bool *)place ? "true" : "false");
    case GSRT_FIELD_TYPE_text: return print_text(out, *(const gsrt_span *)place);
    case GSRT_FIELD_TYPE_bytes: return print_bytes(out, *(const gsrt_span *)place);
    case GSRT_FIELD_TYPE_u32s:
    case GSRT_FIELD_TYPE_u64s:
    case GSRT_FIELD_TYPE_f32s: return print_array(out, field->type, part_of(field, body));
    }
    return GSRT_EINVAL;
}

gsrt_status gsrt_body_print(gsrt_kind kind, const void *body, gsrt_buffer *out)
{
    const gsrt_kind_info *info = gsrt_kind_describe((uint64_t)kind);
    if (info == NULL)
        return GSRT_EKIND;
    gsrt_status status = gsrt_buffer_append(out, "{", 1);
    for (uint32_t i = 0; i < info->field_count && status == GSRT_OK; i++) {
        status = gsrt_buffer_print(out, "%s\"%s\": ", i > 0 ? ", " : "", info->fields[i].name);
        if (status == GSRT_OK)
            status = print_value(out, &info->fields[i], body);
    }
    return status == GSRT_OK ? gsrt_buffer_append(out, "}", 1) : status;
}
