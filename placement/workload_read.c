/* Strict: a value is parsed, written again, and must then be what stood there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "placement/workload_text_impl.h"

enum { TOKEN_BYTES_MAX = 256, NAMES_OF_A_RECORD = 2 };

typedef struct reader {
    gsrt_span rest;
    uint32_t line;
    const char *file;
    gsrt_diag *diag;
    gsrt_workload *workload;
    char names[NAMES_OF_A_RECORD][GSRT_NAME_BYTES_MAX + 1]; /* of the record being read */
    uint32_t name_count;
    gsrt_buffer scratch;
} reader;

static gsrt_status refuse(reader *r, const char *what, gsrt_span detail)
{
    char place[32];
    (void)snprintf(place, sizeof place, "line %" PRIu32, r->line);
    int len = detail.len < 60 ? (int)detail.len : 60;
    return gsrt_diag_set(r->diag, GSRT_EINPUT, r->file, place, "%s: '%.*s'; let gsrt write the workload again", what,
                         len, len == 0 ? "" : (const char *)detail.data);
}

static bool starts_with(gsrt_span text, const char *with)
{
    size_t len = strlen(with);
    return text.len >= len && memcmp(text.data, with, len) == 0;
}

/* The next line, without its end. false: there is no whole one. */
static bool next_line(reader *r, gsrt_span *out)
{
    const uint8_t *end = r->rest.len == 0 ? NULL : memchr(r->rest.data, '\n', r->rest.len);
    r->line++;
    if (end == NULL)
        return false;
    *out = gsrt_span_of(r->rest.data, (size_t)(end - r->rest.data));
    r->rest = gsrt_span_of(end + 1, r->rest.len - out->len - 1);
    return true;
}

/* Digits without a leading zero. */
static bool parse_u64(gsrt_span token, uint64_t max, uint64_t *out)
{
    uint64_t number = 0;
    if (token.len == 0 || (token.data[0] == '0' && token.len > 1))
        return false;
    for (size_t i = 0; i < token.len; i++) {
        uint8_t digit = (uint8_t)(token.data[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(number, (uint64_t)10, &number) ||
            __builtin_add_overflow(number, (uint64_t)digit, &number))
            return false;
    }
    *out = number;
    return number <= max;
}

static int hex_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9' ? byte - '0' : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool parse_text(gsrt_span token, char *out)
{
    size_t len = 0;
    if (token.len < 2 || token.data[0] != '"' || token.data[token.len - 1] != '"')
        return false;
    for (size_t i = 1; i < token.len - 1; i++) {
        uint8_t byte = token.data[i];
        if (byte == '\\') {
            if (i + 3 >= token.len - 1 || token.data[i + 1] != 'x' || hex_digit(token.data[i + 2]) < 0)
                return false;
            int low = hex_digit(token.data[i + 3]);
            byte = low < 0 ? 0 : (uint8_t)(hex_digit(token.data[i + 2]) * 16 + low);
            i += 3;
        }
        if (byte == 0 || len >= GSRT_NAME_BYTES_MAX)
            return false;
        out[len++] = (char)byte;
    }
    out[len] = 0;
    return true;
}

static bool parse_name(gsrt_span token, const char *const *names, uint32_t count, uint32_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        if (gsrt_span_equal(token, gsrt_span_of_text(names[i]))) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool parse_dtype(gsrt_span token, uint32_t *out)
{
    static const gsrt_dtype known[] = {GSRT_DTYPE_F32,  GSRT_DTYPE_F16,   GSRT_DTYPE_Q4_0,    GSRT_DTYPE_Q8_0,
                                       GSRT_DTYPE_BF16, GSRT_DTYPE_MXFP4, GSRT_DTYPE_F8_E4M3, GSRT_DTYPE_NVFP4};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (gsrt_span_equal(token, gsrt_span_of_text(gsrt_dtype_name(known[i])))) {
            *out = (uint32_t)known[i];
            return true;
        }
    }
    return false;
}

static bool parse_flags(gsrt_span token, const gsrt__text_field *f, uint32_t *out)
{
    uint32_t flags = 0;
    for (size_t at = 0; at < token.len;) {
        size_t end = at;
        uint32_t bit;
        while (end < token.len && token.data[end] != '+')
            end++;
        if (!parse_name(gsrt_span_of(token.data + at, end - at), f->names, f->count, &bit))
            return false;
        flags |= 1u << bit;
        at = end + 1;
    }
    *out = flags;
    return true;
}

/* A value into *object; it need not be written in the one right way yet. */
static bool parse_value(reader *r, gsrt_span token, const gsrt__text_field *f, void *object)
{
    char *at = (char *)object + f->offset, text[TOKEN_BYTES_MAX];
    uint64_t wide = 0;
    uint32_t number = 0;
    float real;
    switch (f->type) {
    case GSRT__TEXT_U64:
        if (!parse_u64(token, UINT64_MAX, &wide))
            return false;
        memcpy(at, &wide, sizeof wide);
        return true;
    case GSRT__TEXT_BOOL: *(bool *)at = true; return gsrt_span_equal(token, gsrt_span_of_text("true"));
    case GSRT__TEXT_TEXT: {
        char *name = r->names[r->name_count++];
        memcpy(at, &name, sizeof name);
        return parse_text(token, name);
    }
    case GSRT__TEXT_F32:
        if (token.len >= sizeof text)
            return false;
        memcpy(text, token.data, token.len);
        text[token.len] = 0;
        real = strtof(text, NULL);
        memcpy(&number, &real, sizeof number);
        break;
    case GSRT__TEXT_U32:
    case GSRT__TEXT_INDEX:
        if (!parse_u64(token, UINT32_MAX, &wide))
            return false;
        number = (uint32_t)wide;
        break;
    case GSRT__TEXT_KIND:
    case GSRT__TEXT_ENUM:
        if (!parse_name(token, f->names, f->count, &number))
            return false;
        break;
    case GSRT__TEXT_FLAGS:
        if (!parse_flags(token, f, &number))
            return false;
        break;
    case GSRT__TEXT_DTYPE:
        if (!parse_dtype(token, &number))
            return false;
        break;
    }
    memcpy(at, &number, sizeof number);
    return true;
}

/* From the blank before a key: does the field stand here? *out_token its value, *rest what follows. */
static bool take_field(gsrt_span *rest, const gsrt__text_field *f, gsrt_span *out_token)
{
    size_t key = strlen(f->key), end;
    if (rest->len < key + 2 || rest->data[0] != ' ' || memcmp(rest->data + 1, f->key, key) != 0 ||
        rest->data[key + 1] != '=')
        return false;
    bool is_quoted = false;
    for (end = key + 2; end < rest->len && (is_quoted || rest->data[end] != ' '); end++)
        is_quoted ^= rest->data[end] == '"';
    *out_token = gsrt_span_of(rest->data + key + 2, end - key - 2);
    *rest = gsrt_span_of(rest->data + end, rest->len - end);
    return true;
}

/* The fields of a record into *object, which holds the neutral values. */
static gsrt_status read_fields(reader *r, const gsrt__text_record *record, gsrt_span rest, void *object)
{
    r->name_count = 0;
    for (uint32_t i = 0; i < record->count; i++) {
        const gsrt__text_field *f = &record->fields[i];
        gsrt_span token;
        if (!take_field(&rest, f, &token)) {
            if (f->type == GSRT__TEXT_TEXT || f->type == GSRT__TEXT_KIND || f->type == GSRT__TEXT_DTYPE)
                return refuse(r, "a key is missing", gsrt_span_of_text(f->key));
            continue;
        }
        if (!parse_value(r, token, f, object))
            return refuse(r, f->key, token);
        gsrt_buffer_reset(&r->scratch);
        if (gsrt__text_print(object, f, &r->scratch) != GSRT_OK)
            return GSRT_ENOMEM;
        if (gsrt__text_is_neutral(object, f) || !gsrt_span_equal(token, gsrt_buffer_span(&r->scratch)))
            return refuse(r, "this is written in another way, or left out", token);
    }
    return rest.len == 0 ? GSRT_OK : refuse(r, "unknown, twice, or not in its place", rest);
}

static void set_neutral(const gsrt__text_record *record, void *object, size_t size)
{
    memset(object, 0, size);
    for (uint32_t i = 0; i < record->count; i++) {
        if (record->fields[i].type == GSRT__TEXT_INDEX)
            memset((char *)object + record->fields[i].offset, 0xff, sizeof(uint32_t));
    }
}

static bool is_record(gsrt_span line, gsrt__text_kind kind, gsrt_span *out_rest)
{
    size_t len = strlen(gsrt__text_records[kind].word);
    if (!starts_with(line, gsrt__text_records[kind].word) || (line.len > len && line.data[len] != ' '))
        return false;
    *out_rest = gsrt_span_of(line.data + len, line.len - len);
    return true;
}

/* An op, with the records that belong to it. *line: the first line that does not. */
static gsrt_status read_op(reader *r, gsrt_span *line, gsrt_span rest)
{
    gsrt_op op;
    gsrt_rope rope;
    gsrt_routing routing;
    uint32_t ignored;
    set_neutral(&gsrt__text_records[GSRT__RECORD_OP], &op, sizeof op);
    gsrt_status status = read_fields(r, &gsrt__text_records[GSRT__RECORD_OP], rest, &op);
    if (status == GSRT_OK && !next_line(r, line))
        return refuse(r, "the text ends without 'end'", r->rest);
    if (status == GSRT_OK && is_record(*line, GSRT__RECORD_ROPE, &rest)) {
        set_neutral(&gsrt__text_records[GSRT__RECORD_ROPE], &rope, sizeof rope);
        status = read_fields(r, &gsrt__text_records[GSRT__RECORD_ROPE], rest, &rope);
        op.rope = &rope;
        if (status == GSRT_OK && !next_line(r, line))
            return refuse(r, "the text ends without 'end'", r->rest);
    }
    if (status == GSRT_OK && is_record(*line, GSRT__RECORD_ROUTING, &rest)) {
        set_neutral(&gsrt__text_records[GSRT__RECORD_ROUTING], &routing, sizeof routing);
        status = read_fields(r, &gsrt__text_records[GSRT__RECORD_ROUTING], rest, &routing);
        op.routing = &routing;
        if (status == GSRT_OK && !next_line(r, line))
            return refuse(r, "the text ends without 'end'", r->rest);
    }
    return status == GSRT_OK ? gsrt_workload_add_op(r->workload, &op, &ignored) : status;
}

/* One record that is no op; the next line. */
static gsrt_status read_plain(reader *r, gsrt__text_kind kind, gsrt_span *line, gsrt_span rest)
{
    union {
        gsrt_tensor tensor;
        gsrt_value value;
        gsrt_state state;
        gsrt_region region;
    } item;
    uint32_t ignored;
    set_neutral(&gsrt__text_records[kind], &item, sizeof item);
    gsrt_status status = read_fields(r, &gsrt__text_records[kind], rest, &item);
    if (status == GSRT_OK && kind == GSRT__RECORD_TENSOR)
        status = gsrt_workload_add_tensor(r->workload, &item.tensor, &ignored);
    else if (status == GSRT_OK && kind == GSRT__RECORD_VALUE)
        status = gsrt_workload_add_value(r->workload, &item.value, &ignored);
    else if (status == GSRT_OK && kind == GSRT__RECORD_STATE)
        status = gsrt_workload_add_state(r->workload, &item.state, &ignored);
    else if (status == GSRT_OK)
        status = gsrt_workload_add_region(r->workload, &item.region, &ignored);
    if (status == GSRT_OK && !next_line(r, line))
        return refuse(r, "the text ends without 'end'", r->rest);
    return status;
}

/* The first record: its names move into the arena. */
static gsrt_status read_head(reader *r, gsrt_span *line)
{
    gsrt_span rest;
    gsrt_workload *w = r->workload;
    char version[32];
    (void)snprintf(version, sizeof version, "gsrt-workload %d", GSRT_WORKLOAD_TEXT_VERSION);
    if (!next_line(r, line) || !gsrt_span_equal(*line, gsrt_span_of_text(version)))
        return refuse(r, "this is no workload of a version that is read", gsrt_span_of_text(version));
    if (!next_line(r, line) || !is_record(*line, GSRT__RECORD_WORKLOAD, &rest))
        return refuse(r, "the record of the workload is missing", *line);
    gsrt_status status = read_fields(r, &gsrt__text_records[GSRT__RECORD_WORKLOAD], rest, w);
    w->name = status == GSRT_OK ? gsrt_arena_copy_text(&w->arena, r->names[0], strlen(r->names[0])) : NULL;
    w->architecture = status == GSRT_OK ? gsrt_arena_copy_text(&w->arena, r->names[1], strlen(r->names[1])) : NULL;
    if (status == GSRT_OK && (w->name == NULL || w->architecture == NULL))
        return GSRT_ENOMEM;
    if (status == GSRT_OK && !next_line(r, line))
        return refuse(r, "the text ends without 'end'", r->rest);
    return status;
}

static gsrt_status read_all(reader *r)
{
    static const gsrt__text_kind kinds[] = {GSRT__RECORD_TENSOR, GSRT__RECORD_VALUE, GSRT__RECORD_STATE,
                                            GSRT__RECORD_OP, GSRT__RECORD_REGION};
    gsrt_span line = {NULL, 0}, rest;
    gsrt_status status = read_head(r, &line);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        while (status == GSRT_OK && is_record(line, kinds[i], &rest))
            status = kinds[i] == GSRT__RECORD_OP ? read_op(r, &line, rest) : read_plain(r, kinds[i], &line, rest);
    }
    if (status == GSRT_OK && !gsrt_span_equal(line, gsrt_span_of_text("end")))
        return refuse(r, "unknown record, or not in its place", line);
    if (status == GSRT_OK && r->rest.len != 0)
        return refuse(r, "there is more after 'end'", r->rest);
    return status;
}

gsrt_status gsrt_workload_read(gsrt_span text, const char *file, gsrt_workload **out, gsrt_diag *diag)
{
    if (text.len > GSRT_WORKLOAD_BYTES_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "%zu bytes; at most %u are read, give a smaller model",
                             text.len, GSRT_WORKLOAD_BYTES_MAX);
    reader r = {.rest = text, .file = file, .diag = diag, .workload = gsrt_workload_create()};
    gsrt_buffer_init(&r.scratch, 8 * GSRT_NAME_BYTES_MAX);
    gsrt_status status = r.workload == NULL ? GSRT_ENOMEM : read_all(&r);
    if (status == GSRT_OK)
        status = gsrt_workload_check(r.workload, file, diag);
    if (status == GSRT_ENOMEM)
        (void)gsrt_diag_set(diag, GSRT_ENOMEM, file, NULL, "no memory for the workload; give a smaller model");
    gsrt_buffer_fini(&r.scratch);
    if (status == GSRT_OK)
        *out = r.workload;
    else
        gsrt_workload_free(r.workload);
    return status;
}
