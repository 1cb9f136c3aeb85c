/* jansson's own printer writes 17 digits for every real, so the tree is walked here; recursion is bounded by what built
 * it: our code, or gsrt_json_parse. */
#include "base/json.h"

#include "base/limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- texts ---- */

/* Bytes of the well-formed UTF-8 sequence at `at`, which has `left` bytes; 0: malformed. */
static size_t sequence_bytes(const uint8_t *at, size_t left)
{
    uint8_t lead = at[0];
    if (lead < 0x80)
        return 1;
    size_t len = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || len > left)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    bool is_overlong = (lead == 0xe0 && at[1] < 0xa0) || (lead == 0xf0 && at[1] < 0x90);
    bool is_outside = (lead == 0xed && at[1] >= 0xa0) || (lead == 0xf4 && at[1] >= 0x90);
    return is_overlong || is_outside ? 0 : len;
}

static gsrt_status print_escaped(gsrt_buffer *out, uint8_t byte)
{
    switch (byte) {
    case '"': return gsrt_buffer_append(out, "\\\"", 2);
    case '\\': return gsrt_buffer_append(out, "\\\\", 2);
    case '\n': return gsrt_buffer_append(out, "\\n", 2);
    case '\t': return gsrt_buffer_append(out, "\\t", 2);
    case '\r': return gsrt_buffer_append(out, "\\r", 2);
    default: return gsrt_buffer_print(out, "\\u%04x", byte);
    }
}

gsrt_status gsrt_json_print_text(gsrt_buffer *out, gsrt_span text)
{
    size_t start = out->len;
    gsrt_status status = gsrt_buffer_append(out, "\"", 1);
    for (size_t at = 0; at < text.len && status == GSRT_OK;) {
        uint8_t byte = text.data[at];
        size_t len = sequence_bytes(text.data + at, text.len - at);
        if (len == 0)
            status = gsrt_buffer_append(out, "\xef\xbf\xbd", 3);
        else if (byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f)
            status = print_escaped(out, byte);
        else
            status = gsrt_buffer_append(out, text.data + at, len);
        at += len == 0 ? 1 : len;
    }
    if (status == GSRT_OK)
        status = gsrt_buffer_append(out, "\"", 1);
    if (status != GSRT_OK)
        out->len = start;
    return status;
}

json_t *gsrt_json_text(const char *text)
{
    if (text == NULL)
        return json_null();
    json_t *made = json_string(text);
    if (made != NULL)
        return made;
    gsrt_buffer clean;
    gsrt_buffer_init(&clean, 4 * strlen(text) + 16);
    size_t len = strlen(text);
    gsrt_status status = GSRT_OK;
    for (size_t at = 0; at < len && status == GSRT_OK;) {
        size_t bytes = sequence_bytes((const uint8_t *)text + at, len - at);
        status =
            bytes == 0 ? gsrt_buffer_append(&clean, "\xef\xbf\xbd", 3) : gsrt_buffer_append(&clean, text + at, bytes);
        at += bytes == 0 ? 1 : bytes;
    }
    if (status == GSRT_OK)
        made = json_stringn((const char *)clean.data, clean.len);
    gsrt_buffer_fini(&clean);
    return made;
}

/* ---- numbers ---- */

/* %g would write 100 as 1e+02. */
static bool is_short_integer(double number)
{
    return fabs(number) < 1e6 && trunc(number) == number;
}

gsrt_status gsrt_json_print_f64(gsrt_buffer *out, double number)
{
    if (!isfinite(number))
        return gsrt_buffer_append(out, "null", 4);
    char text[40];
    if (is_short_integer(number))
        return gsrt_buffer_print(out, "%.0f", number);
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    return gsrt_buffer_append(out, text, strlen(text));
}

gsrt_status gsrt_json_print_f32(gsrt_buffer *out, float number)
{
    if (!isfinite(number))
        return gsrt_buffer_append(out, "null", 4);
    char text[40];
    if (is_short_integer((double)number))
        return gsrt_buffer_print(out, "%.0f", (double)number);
    for (int digits = 1; digits <= 9; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, (double)number);
        if (strtof(text, NULL) == number)
            break;
    }
    return gsrt_buffer_append(out, text, strlen(text));
}

json_t *gsrt_json_real(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

json_t *gsrt_json_u64(uint64_t number)
{
    return number <= INT64_MAX ? json_integer((json_int_t)number) : json_real((double)number);
}

/* ---- trees ---- */

static gsrt_status print_value(const json_t *value, bool is_compact, int depth, gsrt_buffer *out);

static gsrt_status print_break(bool is_compact, int depth, gsrt_buffer *out)
{
    return is_compact ? GSRT_OK : gsrt_buffer_print(out, "\n%*s", 2 * depth, "");
}

static gsrt_status print_object(const json_t *value, bool is_compact, int depth, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_append(out, "{", 1);
    bool is_first = true;
    /* jansson's iterators want a pointer that may be written through; nothing is written. */
    json_t *object = json_incref((json_t *)(uintptr_t)value);
    for (void *it = json_object_iter(object); it != NULL && status == GSRT_OK; it = json_object_iter_next(object, it)) {
        if (!is_first)
            status = gsrt_buffer_append(out, ",", 1);
        is_first = false;
        if (status == GSRT_OK)
            status = print_break(is_compact, depth + 1, out);
        if (status == GSRT_OK)
            status = gsrt_json_print_text(out, gsrt_span_of_text(json_object_iter_key(it)));
        if (status == GSRT_OK)
            status = gsrt_buffer_append(out, ": ", is_compact ? 1 : 2);
        if (status == GSRT_OK)
            status = print_value(json_object_iter_value(it), is_compact, depth + 1, out);
    }
    json_decref(object);
    if (status == GSRT_OK && !is_first)
        status = print_break(is_compact, depth, out);
    return status == GSRT_OK ? gsrt_buffer_append(out, "}", 1) : status;
}

static bool holds_trees(const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        if (json_is_object(item) || json_is_array(item))
            return true;
    }
    return false;
}

static gsrt_status print_array(const json_t *value, bool is_compact, int depth, gsrt_buffer *out)
{
    bool is_broken = !is_compact && holds_trees(value);
    size_t count = json_array_size(value);
    gsrt_status status = gsrt_buffer_append(out, "[", 1);
    for (size_t i = 0; i < count && status == GSRT_OK; i++) {
        if (i > 0)
            status = gsrt_buffer_append(out, ", ", is_compact || is_broken ? 1 : 2);
        if (status == GSRT_OK && is_broken)
            status = print_break(false, depth + 1, out);
        if (status == GSRT_OK)
            status = print_value(json_array_get(value, i), is_compact, depth + 1, out);
    }
    if (status == GSRT_OK && is_broken)
        status = print_break(false, depth, out);
    return status == GSRT_OK ? gsrt_buffer_append(out, "]", 1) : status;
}

static gsrt_status print_value(const json_t *value, bool is_compact, int depth, gsrt_buffer *out)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return print_object(value, is_compact, depth, out);
    case JSON_ARRAY: return print_array(value, is_compact, depth, out);
    case JSON_STRING:
        return gsrt_json_print_text(out, gsrt_span_of(json_string_value(value), json_string_length(value)));
    case JSON_INTEGER: return gsrt_buffer_print(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    case JSON_REAL: return gsrt_json_print_f64(out, json_real_value(value));
    case JSON_TRUE: return gsrt_buffer_append(out, "true", 4);
    case JSON_FALSE: return gsrt_buffer_append(out, "false", 5);
    case JSON_NULL: return gsrt_buffer_append(out, "null", 4);
    }
    return GSRT_EINVAL;
}

gsrt_status gsrt_json_print(const json_t *value, bool is_compact, gsrt_buffer *out)
{
    if (value == NULL)
        return GSRT_EINVAL;
    size_t start = out->len;
    gsrt_status status = print_value(value, is_compact, 0, out);
    if (status == GSRT_OK && !is_compact)
        status = gsrt_buffer_append(out, "\n", 1);
    if (status != GSRT_OK)
        out->len = start;
    return status;
}

/* ---- reading ---- */

/* Brackets nest at most GSRT_JSON_DEPTH_MAX deep outside of strings. */
static bool is_shallow(gsrt_span bytes)
{
    size_t depth = 0;
    bool is_in_text = false;
    for (size_t i = 0; i < bytes.len; i++) {
        uint8_t byte = bytes.data[i];
        if (is_in_text) {
            if (byte == '\\')
                i++;
            else if (byte == '"')
                is_in_text = false;
        } else if (byte == '"') {
            is_in_text = true;
        } else if ((byte == '{' || byte == '[') && ++depth > GSRT_JSON_DEPTH_MAX) {
            return false;
        } else if ((byte == '}' || byte == ']') && depth > 0) {
            depth--;
        }
    }
    return true;
}

gsrt_status gsrt_json_parse(gsrt_span bytes, const char *file, json_t **out, gsrt_diag *diag)
{
    if (bytes.len > GSRT_JSON_BYTES_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "%zu bytes; at most %d are read", bytes.len,
                             (int)GSRT_JSON_BYTES_MAX);
    if (!is_shallow(bytes))
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "nested more than %d deep", GSRT_JSON_DEPTH_MAX);
    json_error_t error;
    json_t *value =
        json_loadb(bytes.len == 0 ? "" : (const char *)bytes.data, bytes.len, JSON_REJECT_DUPLICATES, &error);
    if (value == NULL && json_error_code(&error) == json_error_out_of_memory)
        return GSRT_ENOMEM;
    if (value == NULL) {
        char place[64];
        (void)snprintf(place, sizeof place, "line %d, column %d", error.line, error.column);
        return gsrt_diag_set(diag, GSRT_EINPUT, file, place, "no valid JSON: %s; correct the file", error.text);
    }
    *out = value;
    return GSRT_OK;
}
