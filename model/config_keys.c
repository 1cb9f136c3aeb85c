#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "model/config_impl.h"

const json_t *gsrt__key(const gsrt__keys *keys, const char *key)
{
    const json_t *value = json_object_get(keys->object, key);
    return json_is_null(value) ? NULL : value;
}

gsrt_status gsrt__key_fail(const gsrt__keys *keys, const char *key, const char *format, ...)
{
    char place[160], what[640];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    (void)snprintf(place, sizeof place, "key '%s%s'", keys->prefix, key);
    return gsrt_diag_set(keys->diag, GSRT_EINPUT, keys->file, place, "%s", what);
}

gsrt_status gsrt__key_u32(const gsrt__keys *keys, const char *key, uint32_t min, uint32_t max, uint32_t fallback,
                          uint32_t *out)
{
    const json_t *value = gsrt__key(keys, key);
    if (value == NULL && fallback == GSRT__NO_FALLBACK)
        return gsrt__key_fail(keys, key, "is missing; take the config.json that belongs to the model");
    if (value == NULL) {
        *out = fallback;
        return GSRT_OK;
    }
    if (!json_is_integer(value) || json_integer_value(value) < (json_int_t)min ||
        json_integer_value(value) > (json_int_t)max)
        return gsrt__key_fail(keys, key, "must be an integer from %u to %u; take the file from its maker again", min,
                              max);
    *out = (uint32_t)json_integer_value(value);
    return GSRT_OK;
}

gsrt_status gsrt__key_f32(const gsrt__keys *keys, const char *key, float fallback, float *out)
{
    const json_t *value = gsrt__key(keys, key);
    double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
    if (value == NULL) {
        *out = fallback;
        return GSRT_OK;
    }
    if (!(fabs(number) <= 3e38))
        return gsrt__key_fail(keys, key, "must be a number; take the file from its maker again");
    *out = (float)number;
    return GSRT_OK;
}

gsrt_status gsrt__key_bool(const gsrt__keys *keys, const char *key, bool fallback, bool *out)
{
    const json_t *value = gsrt__key(keys, key);
    if (value != NULL && !json_is_boolean(value))
        return gsrt__key_fail(keys, key, "must be true or false; take the file from its maker again");
    *out = value == NULL ? fallback : json_is_true(value);
    return GSRT_OK;
}

gsrt_status gsrt__key_text(const gsrt__keys *keys, const char *key, const char *fallback, const char **out)
{
    const json_t *value = gsrt__key(keys, key);
    if (value != NULL && !json_is_string(value))
        return gsrt__key_fail(keys, key, "must be a text; take the file from its maker again");
    *out = value == NULL ? fallback : json_string_value(value);
    return GSRT_OK;
}

gsrt_status gsrt__key_object(const gsrt__keys *keys, const char *key, char room[static 64], gsrt__keys *out,
                             bool *is_there)
{
    const json_t *value = gsrt__key(keys, key);
    if (value != NULL && !json_is_object(value))
        return gsrt__key_fail(keys, key, "must be an object; take the file from its maker again");
    *is_there = value != NULL;
    (void)snprintf(room, 64, "%s%s.", keys->prefix, key);
    *out = (gsrt__keys){.file = keys->file, .diag = keys->diag, .object = value, .prefix = room};
    return GSRT_OK;
}
