#include "base/yaml_reader.h"

#include "base/limits.h"
#include "base/nearest.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIELD_COUNT_MAX = 64, WHAT_BYTES_MAX = 640, PLACE_BYTES_MAX = 512, LIST_BYTES_MAX = 256 };

/* ---- place and message ---- */

size_t gsrt_yaml_path_enter(gsrt_yaml_reader *reader, const char *key, uint32_t index)
{
    size_t mark = reader->path_len;
    char *end = reader->path + mark;
    size_t left = sizeof reader->path - mark;
    int n = key == NULL ? snprintf(end, left, "[%" PRIu32 "]", index)
                        : snprintf(end, left, "%s%.64s", mark == 0 ? "" : ".", key);
    reader->path_len += n > 0 && (size_t)n < left ? (size_t)n : 0;
    return mark;
}

void gsrt_yaml_path_leave(gsrt_yaml_reader *reader, size_t mark)
{
    reader->path_len = mark;
    reader->path[mark] = 0;
}

static gsrt_status refuse_at(gsrt_yaml_reader *reader, const gsrt_yaml_node *at, const char *path, const char *reason,
                             const char *what)
{
    char place[PLACE_BYTES_MAX];
    const char *file = at->origin == NULL ? reader->file : NULL;
    gsrt_yaml_place(at, path, place, sizeof place);
    if (reader->sink == NULL)
        return gsrt_diag_set(reader->diag, GSRT_EINPUT, file, place, "%s", what);
    reader->sink(reader->sink_context, reason, file, place, what);
    return GSRT_EINPUT;
}

static const char *path_of(const gsrt_yaml_reader *reader)
{
    return reader->path_len == 0 ? NULL : reader->path;
}

gsrt_status gsrt_yaml_refuse(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char *format, ...)
{
    char what[WHAT_BYTES_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return refuse_at(reader, node, path_of(reader), "bad_value", what);
}

gsrt_status gsrt_yaml_refuse_key(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char *key,
                                 const char *format, ...)
{
    char what[WHAT_BYTES_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    size_t mark = gsrt_yaml_path_enter(reader, key, 0);
    gsrt_status status = refuse_at(reader, gsrt_yaml_find(node, key), path_of(reader), "bad_value", what);
    gsrt_yaml_path_leave(reader, mark);
    return status;
}

gsrt_status gsrt_yaml_refuse_as(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char *reason,
                                const char *format, ...)
{
    char what[WHAT_BYTES_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return refuse_at(reader, node, path_of(reader), reason, what);
}

const char *gsrt_yaml_found(const gsrt_yaml_node *node, char *room, size_t room_bytes)
{
    const char *type = gsrt_yaml_type_name(node->type);
    if (node->type == GSRT_YAML_NULL || node->text == NULL)
        (void)snprintf(room, room_bytes, "%s", type);
    else
        (void)snprintf(room, room_bytes, "'%.60s' (%s)", node->text, type);
    return room;
}

static gsrt_status refuse_type(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char *wanted,
                               const char *remedy)
{
    char found[GSRT_YAML_FOUND_BYTES_MAX];
    return gsrt_yaml_refuse_as(reader, node, "wrong_type", "must be %s, found %s%s", wanted,
                               gsrt_yaml_found(node, found, sizeof found), remedy);
}

/* ---- one value ---- */

/* Integers are compared as integers; the limits of the table are whole numbers below 2^53. */
static gsrt_status read_integer(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, int64_t min, int64_t max,
                                int64_t *out)
{
    if (node->type != GSRT_YAML_INTEGER)
        return refuse_type(reader, node, "an integer", "");
    errno = 0;
    long long value = strtoll(node->text, NULL, 10);
    if (errno != 0 || value < min || value > max)
        return gsrt_yaml_refuse_as(reader, node, "out_of_range",
                                   "must be between %" PRId64 " and %" PRId64 ", found %.40s", min, max, node->text);
    *out = value;
    return GSRT_OK;
}

static gsrt_status read_u64(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, uint64_t *out)
{
    if (node->type != GSRT_YAML_INTEGER)
        return refuse_type(reader, node, "an integer", "");
    errno = 0;
    unsigned long long value = strtoull(node->text, NULL, 10);
    if (errno != 0 || node->text[0] == '-')
        return gsrt_yaml_refuse_as(reader, node, "out_of_range", "must be between 0 and %" PRIu64 ", found %.40s",
                                   UINT64_MAX, node->text);
    *out = value;
    return GSRT_OK;
}

static gsrt_status read_real(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, double min, double max, double *out)
{
    if (node->type != GSRT_YAML_INTEGER && node->type != GSRT_YAML_NUMBER)
        return refuse_type(reader, node, "a number", "");
    char *end;
    double value = strtod(node->text, &end);
    if (*end != 0 || !isfinite(value))
        return gsrt_yaml_refuse_as(reader, node, "out_of_range", "must be a finite number, found %.40s", node->text);
    if (value < min || value > max)
        return gsrt_yaml_refuse_as(reader, node, "out_of_range", "must be between %g and %g, found %.40s", min, max,
                                   node->text);
    *out = value;
    return GSRT_OK;
}

static gsrt_status read_text(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, double min, double max,
                             const char **out)
{
    if (node->type != GSRT_YAML_TEXT)
        return refuse_type(reader, node, "text", node->text == NULL || *node->text == 0 ? "" : "; put it in quotes");
    if (node->text_len < min)
        return gsrt_yaml_refuse_as(reader, node, "out_of_range", "must not be empty");
    if (node->text_len > max)
        return gsrt_yaml_refuse_as(reader, node, "out_of_range", "%" PRIu32 " bytes; at most %.0f are allowed",
                                   node->text_len, max);
    *out = gsrt_arena_copy_text(reader->arena, node->text, node->text_len);
    return *out == NULL ? GSRT_ENOMEM : GSRT_OK;
}

/* The directory is canonical, so leading "./" and "../" can be taken off by hand; others are the system's business. */
static gsrt_status make_absolute(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char *path,
                                 const char **out)
{
    if (path[0] == '/') {
        *out = path;
        return GSRT_OK;
    }
    const char *base = node->origin == NULL ? reader->directory : reader->working;
    size_t base_len = strlen(base);
    while (strncmp(path, "./", 2) == 0 || strncmp(path, "../", 3) == 0) {
        if (path[1] == '.') {
            while (base_len > 0 && base[base_len - 1] != '/')
                base_len--;
            base_len -= base_len > 0 ? 1 : 0;
        }
        path += path[1] == '.' ? 3 : 2;
        path += strspn(path, "/");
    }
    while (base_len > 0 && base[base_len - 1] == '/')
        base_len--;
    size_t bytes = base_len + 1 + strlen(path) + 1;
    char *made = gsrt_arena_take(reader->arena, bytes, 1);
    if (made == NULL)
        return GSRT_ENOMEM;
    (void)snprintf(made, bytes, "%.*s/%s", (int)base_len, base, path);
    *out = made;
    return GSRT_OK;
}

static gsrt_status read_path(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char **out)
{
    const char *path;
    gsrt_status status = read_text(reader, node, 1, GSRT_PATH_BYTES_MAX, &path);
    return status == GSRT_OK ? make_absolute(reader, node, path, out) : status;
}

gsrt_status gsrt_yaml_read_field(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const gsrt_yaml_field *field,
                                 void *object)
{
    void *at = (char *)object + field->offset;
    int64_t integer = 0;
    double real = 0;
    gsrt_status status = GSRT_OK;
    switch (field->type) {
    case GSRT_YAML_FIELD_U32:
        status = read_integer(reader, node, (int64_t)field->min, (int64_t)field->max, &integer);
        if (status == GSRT_OK)
            *(uint32_t *)at = (uint32_t)integer;
        return status;
    case GSRT_YAML_FIELD_I32:
        status = read_integer(reader, node, (int64_t)field->min, (int64_t)field->max, &integer);
        if (status == GSRT_OK)
            *(int32_t *)at = (int32_t)integer;
        return status;
    case GSRT_YAML_FIELD_U64: return read_u64(reader, node, at);
    case GSRT_YAML_FIELD_F32:
        status = read_real(reader, node, field->min, field->max, &real);
        if (status == GSRT_OK)
            *(float *)at = strtof(node->text, NULL);
        return status;
    case GSRT_YAML_FIELD_F64:
        status = read_real(reader, node, field->min, field->max, &real);
        if (status == GSRT_OK)
            *(double *)at = real;
        return status;
    case GSRT_YAML_FIELD_BOOL:
        if (node->type != GSRT_YAML_BOOL)
            return refuse_type(reader, node, "true or false", "");
        *(bool *)at = node->text[0] == 't';
        return GSRT_OK;
    case GSRT_YAML_FIELD_TEXT: return read_text(reader, node, field->min, field->max, at);
    case GSRT_YAML_FIELD_PATH: return read_path(reader, node, at);
    case GSRT_YAML_FIELD_CALL: return field->read(reader, node, object);
    }
    return GSRT_EINVAL;
}

/* ---- mappings and lists ---- */

/* After a refusal only where somebody collects them; after anything else never. */
static bool goes_on(const gsrt_yaml_reader *reader, gsrt_status worst)
{
    return worst == GSRT_OK || (worst == GSRT_EINPUT && reader->sink != NULL);
}

static const gsrt_yaml_field *field_of(const gsrt_yaml_field *fields, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].key, key) == 0)
            return &fields[i];
    }
    return NULL;
}

static void list_words(char room[LIST_BYTES_MAX], const char *const *words, size_t count)
{
    size_t used = 0;
    room[0] = 0;
    for (size_t i = 0; i < count && used < LIST_BYTES_MAX; i++) {
        int n = snprintf(room + used, LIST_BYTES_MAX - used, "%s%s", i == 0 ? "" : ", ", words[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

static gsrt_status refuse_key(gsrt_yaml_reader *reader, const gsrt_yaml_node *child, const gsrt_yaml_field *fields,
                              size_t count)
{
    const char *known[FIELD_COUNT_MAX];
    assert(count <= FIELD_COUNT_MAX);
    for (size_t i = 0; i < count; i++)
        known[i] = fields[i].key;
    char what[WHAT_BYTES_MAX], list[LIST_BYTES_MAX];
    const char *where = reader->path_len == 0 ? reader->subject_name : reader->path;
    const char *nearest = gsrt_nearest(child->key, known, count);
    if (nearest != NULL) {
        (void)snprintf(what, sizeof what, "unknown key '%.64s' in %s; did you mean '%s'?", child->key, where, nearest);
    } else {
        list_words(list, known, count);
        (void)snprintf(what, sizeof what, "unknown key '%.64s' in %s; known are %s", child->key, where, list);
    }
    gsrt_yaml_node at = *child;
    at.line = child->key_line;
    at.column = child->key_column;
    return refuse_at(reader, &at, NULL, "unknown_key", what);
}

gsrt_status gsrt_yaml_read_mapping(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const gsrt_yaml_field *fields,
                                   size_t count, void *object)
{
    if (node->type != GSRT_YAML_MAPPING)
        return refuse_type(reader, node, "a mapping", "");
    gsrt_status worst = GSRT_OK;
    for (const gsrt_yaml_node *child = node->child_first; child != NULL && goes_on(reader, worst);
         child = child->next) {
        const gsrt_yaml_field *field = field_of(fields, count, child->key);
        gsrt_status status;
        if (field == NULL) {
            status = refuse_key(reader, child, fields, count);
        } else {
            size_t mark = gsrt_yaml_path_enter(reader, field->key, 0);
            status = gsrt_yaml_read_field(reader, child, field, object);
            gsrt_yaml_path_leave(reader, mark);
        }
        worst = status == GSRT_OK ? worst : status;
    }
    for (size_t i = 0; i < count && goes_on(reader, worst); i++) {
        if (fields[i].example != NULL && gsrt_yaml_find(node, fields[i].key) == NULL)
            worst = gsrt_yaml_refuse_as(reader, node, "missing_key", "key '%s' is missing; add '%s: %s'", fields[i].key,
                                        fields[i].key, fields[i].example);
    }
    return worst;
}

gsrt_status gsrt_yaml_read_items(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_arena *arena, size_t size,
                                 uint32_t count_min, uint32_t count_max, gsrt_yaml_read_fn *read, void **out_items,
                                 uint32_t *out_count)
{
    if (node->type != GSRT_YAML_SEQUENCE)
        return refuse_type(reader, node, "a list", "");
    if (node->child_count < count_min && count_min == 1)
        return gsrt_yaml_refuse_as(reader, node, "out_of_range", "must not be empty; give at least one");
    if (node->child_count < count_min || node->child_count > count_max)
        return gsrt_yaml_refuse_as(reader, node, "out_of_range", "must have %s%" PRIu32 " items, found %" PRIu32,
                                   count_min == count_max ? "" : "at most ", count_max, node->child_count);
    char *items = gsrt_arena_take(arena, node->child_count, size);
    if (items == NULL)
        return GSRT_ENOMEM;
    uint32_t index = 0;
    gsrt_status worst = GSRT_OK;
    for (const gsrt_yaml_node *child = node->child_first; child != NULL && goes_on(reader, worst);
         child = child->next) {
        size_t mark = gsrt_yaml_path_enter(reader, NULL, index);
        gsrt_status status = read(reader, child, items + index * size);
        gsrt_yaml_path_leave(reader, mark);
        worst = status == GSRT_OK ? worst : status;
        index++;
    }
    if (worst != GSRT_OK)
        return worst;
    *out_items = items;
    *out_count = node->child_count;
    return GSRT_OK;
}

gsrt_status gsrt_yaml_read_u32s(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_arena *arena, uint32_t max,
                                uint32_t count_min, uint32_t count_max, const uint32_t **out_items, uint32_t *out_count)
{
    if (node->type != GSRT_YAML_SEQUENCE)
        return refuse_type(reader, node, "a list of integers", "");
    if (node->child_count < count_min && count_min == 1)
        return gsrt_yaml_refuse_as(reader, node, "out_of_range", "must not be empty; give at least one");
    if (node->child_count < count_min || node->child_count > count_max)
        return gsrt_yaml_refuse_as(reader, node, "out_of_range", "must have %s%" PRIu32 " items, found %" PRIu32,
                                   count_min == count_max ? "" : "at most ", count_max, node->child_count);
    uint32_t *items = gsrt_arena_take(arena, node->child_count, sizeof *items);
    if (items == NULL)
        return GSRT_ENOMEM;
    uint32_t index = 0;
    for (const gsrt_yaml_node *child = node->child_first; child != NULL; child = child->next) {
        int64_t value;
        size_t mark = gsrt_yaml_path_enter(reader, NULL, index);
        gsrt_status status = read_integer(reader, child, 0, max, &value);
        gsrt_yaml_path_leave(reader, mark);
        if (status != GSRT_OK)
            return status;
        items[index++] = (uint32_t)value;
    }
    *out_items = items;
    *out_count = index;
    return GSRT_OK;
}

gsrt_status gsrt_yaml_read_word(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char *const *words,
                                size_t count, size_t *out_index)
{
    char list[LIST_BYTES_MAX], found[GSRT_YAML_FOUND_BYTES_MAX];
    list_words(list, words, count);
    if (node->type != GSRT_YAML_TEXT)
        return gsrt_yaml_refuse_as(reader, node, "unknown_word", "must be one of %s, found %s", list,
                                   gsrt_yaml_found(node, found, sizeof found));
    const char *text = node->text;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out_index = i;
            return GSRT_OK;
        }
    }
    const char *nearest = gsrt_nearest(text, words, count);
    return gsrt_yaml_refuse_as(reader, node, "unknown_word", "unknown word '%.60s'; %s%s%s", text,
                               nearest == NULL ? "it must be one of " : "did you mean '",
                               nearest == NULL ? list : nearest, nearest == NULL ? "" : "'?");
}
