/* Typed access to GGUF metadata: what was checked when the file was opened is decoded when it is asked for. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "model/gguf_impl.h"

bool gsrt_gguf_type_is_integer(gsrt_gguf_type type)
{
    return type <= GSRT_GGUF_I32 || type == GSRT_GGUF_U64 || type == GSRT_GGUF_I64;
}

bool gsrt_gguf_type_is_float(gsrt_gguf_type type)
{
    return type == GSRT_GGUF_F32 || type == GSRT_GGUF_F64;
}

const char *gsrt_gguf_type_name(gsrt_gguf_type type)
{
    static const char *const names[] = {"u8",   "i8",   "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "text", "array", "u64", "i64", "f64"};
    return (size_t)type < sizeof names / sizeof names[0] ? names[type] : "?";
}

/* Sign-extended or zero-extended to 64 bits; saturated at INT64_MAX. */
static int64_t decode_integer(gsrt_gguf_type type, const uint8_t *data)
{
    uint64_t raw = 0;
    switch (type) {
    case GSRT_GGUF_U8: return data[0];
    case GSRT_GGUF_I8: return (int8_t)data[0];
    case GSRT_GGUF_U16: memcpy(&raw, data, 2); return (int64_t)raw;
    case GSRT_GGUF_I16: memcpy(&raw, data, 2); return (int16_t)raw;
    case GSRT_GGUF_U32: memcpy(&raw, data, 4); return (int64_t)raw;
    case GSRT_GGUF_I32: memcpy(&raw, data, 4); return (int32_t)raw;
    case GSRT_GGUF_U64: memcpy(&raw, data, 8); return raw > INT64_MAX ? INT64_MAX : (int64_t)raw;
    case GSRT_GGUF_I64: memcpy(&raw, data, 8); return (int64_t)raw;
    case GSRT_GGUF_F32:
    case GSRT_GGUF_BOOL:
    case GSRT_GGUF_TEXT:
    case GSRT_GGUF_ARRAY:
    case GSRT_GGUF_F64: break;
    }
    return 0;
}

static double decode_float(gsrt_gguf_type type, const uint8_t *data)
{
    float narrow = 0;
    double wide = 0;
    if (type == GSRT_GGUF_F64) {
        memcpy(&wide, data, sizeof wide);
        return wide;
    }
    memcpy(&narrow, data, sizeof narrow);
    return (double)narrow;
}

static gsrt_status fail(const gsrt_gguf *gguf, const char *key, gsrt_diag *diag, const char *wanted,
                        const gsrt__gguf_entry *entry)
{
    char place[GSRT_NAME_BYTES_MAX + 16];
    (void)snprintf(place, sizeof place, "key '%s'", key);
    return gsrt_diag_set(diag, GSRT_EINPUT, gguf->name, place, "has type %s, wanted %s; convert the file again",
                         gsrt_gguf_type_name(entry->type), wanted);
}

gsrt_status gsrt_gguf_missing(const gsrt_gguf *gguf, const char *key, gsrt_diag *diag)
{
    char place[GSRT_NAME_BYTES_MAX + 16];
    (void)snprintf(place, sizeof place, "key '%s'", key);
    return gsrt_diag_set(diag, GSRT_EINPUT, gguf->name, place, "is missing; convert the file again");
}

gsrt_status gsrt_gguf_u32(const gsrt_gguf *gguf, const char *key, uint32_t *out, gsrt_diag *diag)
{
    const gsrt__gguf_entry *entry = gsrt__gguf_find(gguf, key);
    if (entry == NULL)
        return GSRT_ENOTFOUND;
    if (!gsrt_gguf_type_is_integer(entry->type))
        return fail(gguf, key, diag, "an integer", entry);
    int64_t value = decode_integer(entry->type, entry->bytes.data);
    if (value < 0 || value > UINT32_MAX) {
        char place[GSRT_NAME_BYTES_MAX + 16];
        (void)snprintf(place, sizeof place, "key '%s'", key);
        return gsrt_diag_set(diag, GSRT_EINPUT, gguf->name, place,
                             "the value %" PRId64 " is not in 0..%" PRIu32 "; convert the file again", value,
                             UINT32_MAX);
    }
    *out = (uint32_t)value;
    return GSRT_OK;
}

gsrt_status gsrt_gguf_f32(const gsrt_gguf *gguf, const char *key, float *out, gsrt_diag *diag)
{
    const gsrt__gguf_entry *entry = gsrt__gguf_find(gguf, key);
    if (entry == NULL)
        return GSRT_ENOTFOUND;
    if (!gsrt_gguf_type_is_float(entry->type))
        return fail(gguf, key, diag, "f32", entry);
    float value = (float)decode_float(entry->type, entry->bytes.data);
    if (!isfinite(value)) {
        char place[GSRT_NAME_BYTES_MAX + 16];
        (void)snprintf(place, sizeof place, "key '%s'", key);
        return gsrt_diag_set(diag, GSRT_EINPUT, gguf->name, place, "the value is not finite; convert the file again");
    }
    *out = value;
    return GSRT_OK;
}

gsrt_status gsrt_gguf_bool(const gsrt_gguf *gguf, const char *key, bool *out, gsrt_diag *diag)
{
    const gsrt__gguf_entry *entry = gsrt__gguf_find(gguf, key);
    if (entry == NULL)
        return GSRT_ENOTFOUND;
    if (entry->type != GSRT_GGUF_BOOL)
        return fail(gguf, key, diag, "bool", entry);
    *out = entry->bytes.data[0] != 0;
    return GSRT_OK;
}

gsrt_status gsrt_gguf_text(const gsrt_gguf *gguf, const char *key, gsrt_span *out, gsrt_diag *diag)
{
    const gsrt__gguf_entry *entry = gsrt__gguf_find(gguf, key);
    if (entry == NULL)
        return GSRT_ENOTFOUND;
    if (entry->type != GSRT_GGUF_TEXT)
        return fail(gguf, key, diag, "text", entry);
    *out = entry->bytes;
    return GSRT_OK;
}

gsrt_status gsrt_gguf_array_of(const gsrt_gguf *gguf, const char *key, gsrt_gguf_array *out, gsrt_diag *diag)
{
    const gsrt__gguf_entry *entry = gsrt__gguf_find(gguf, key);
    if (entry == NULL)
        return GSRT_ENOTFOUND;
    if (entry->type != GSRT_GGUF_ARRAY)
        return fail(gguf, key, diag, "an array", entry);
    *out = entry->array;
    return GSRT_OK;
}

gsrt_status gsrt_gguf_u32_or(const gsrt_gguf *gguf, const char *key, uint32_t fallback, uint32_t *out, gsrt_diag *diag)
{
    gsrt_status status = gsrt_gguf_u32(gguf, key, out, diag);
    if (status != GSRT_ENOTFOUND)
        return status;
    *out = fallback;
    return GSRT_OK;
}

gsrt_status gsrt_gguf_f32_or(const gsrt_gguf *gguf, const char *key, float fallback, float *out, gsrt_diag *diag)
{
    gsrt_status status = gsrt_gguf_f32(gguf, key, out, diag);
    if (status != GSRT_ENOTFOUND)
        return status;
    *out = fallback;
    return GSRT_OK;
}

gsrt_status gsrt_gguf_bool_or(const gsrt_gguf *gguf, const char *key, bool fallback, bool *out, gsrt_diag *diag)
{
    gsrt_status status = gsrt_gguf_bool(gguf, key, out, diag);
    if (status != GSRT_ENOTFOUND)
        return status;
    *out = fallback;
    return GSRT_OK;
}

static const uint8_t element_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

int64_t gsrt_gguf_array_integer(const gsrt_gguf_array *array, uint64_t index)
{
    if (index >= array->count || !gsrt_gguf_type_is_integer(array->type))
        return 0;
    return decode_integer(array->type, array->bytes.data + (size_t)index * element_bytes[array->type]);
}

double gsrt_gguf_array_float(const gsrt_gguf_array *array, uint64_t index)
{
    if (index >= array->count || !gsrt_gguf_type_is_float(array->type))
        return 0;
    return decode_float(array->type, array->bytes.data + (size_t)index * element_bytes[array->type]);
}

bool gsrt_gguf_array_next_text(gsrt_span *rest, gsrt_span *out)
{
    uint64_t len;
    if (rest->len < sizeof len)
        return false;
    memcpy(&len, rest->data, sizeof len);
    if (len > rest->len - sizeof len)
        return false;
    *out = gsrt_span_of(rest->data + sizeof len, (size_t)len);
    size_t step = sizeof len + (size_t)len;
    *rest = gsrt_span_of(rest->data + step, rest->len - step);
    return true;
}
