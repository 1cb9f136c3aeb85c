/* The decoder of GGUF's header: magic, version, counts, metadata, tensor table.
 *
 * A cursor walks the file once; every length is compared with the bytes that are left before it is used, and every
 * count with the most that these bytes could hold before a table is allocated. Tables are then sorted, so that
 * duplicates lie side by side and look-ups are binary searches (a hash could be attacked with chosen keys).
 */
#include "model/gguf_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"

enum {
    ENTRY_BYTES_MIN = 8 + 1 + 4 + 1,          /* key length, one byte of key, type, one byte of value */
    TENSOR_BYTES_MIN = 8 + 1 + 4 + 8 + 4 + 8, /* name, dimension count, one dimension, type, offset */
    ALIGNMENT_DEFAULT = 32,
};

/* The tensor types of the format, so that a tensor's size is known even where we cannot compute with it. */
typedef struct tensor_type {
    uint32_t number;
    uint32_t block;       /* elements per block */
    uint32_t block_bytes; /* bytes per block */
    const char *name;
} tensor_type;

static const tensor_type tensor_types[] = {
    {0, 1, 4, "f32"},         {1, 1, 2, "f16"},         {2, 32, 18, "q4_0"},      {3, 32, 20, "q4_1"},
    {6, 32, 22, "q5_0"},      {7, 32, 24, "q5_1"},      {8, 32, 34, "q8_0"},      {9, 32, 36, "q8_1"},
    {10, 256, 84, "q2_k"},    {11, 256, 110, "q3_k"},   {12, 256, 144, "q4_k"},   {13, 256, 176, "q5_k"},
    {14, 256, 210, "q6_k"},   {15, 256, 292, "q8_k"},   {16, 256, 66, "iq2_xxs"}, {17, 256, 74, "iq2_xs"},
    {18, 256, 98, "iq3_xxs"}, {19, 256, 50, "iq1_s"},   {20, 32, 18, "iq4_nl"},   {21, 256, 110, "iq3_s"},
    {22, 256, 82, "iq2_s"},   {23, 256, 136, "iq4_xs"}, {24, 1, 1, "i8"},         {25, 1, 2, "i16"},
    {26, 1, 4, "i32"},        {27, 1, 8, "i64"},        {28, 1, 8, "f64"},        {29, 256, 56, "iq1_m"},
    {30, 1, 2, "bf16"},       {34, 256, 54, "tq1_0"},   {35, 256, 66, "tq2_0"},   {39, 32, 17, "mxfp4"},
};

typedef struct cursor {
    gsrt_span bytes;
    size_t at;
    const char *file;
    gsrt_diag *diag;
} cursor;

static size_t bytes_left(const cursor *c)
{
    return c->bytes.len - c->at;
}

static gsrt_status fail_at(const cursor *c, const char *what)
{
    char place[48];
    (void)snprintf(place, sizeof place, "byte %zu", c->at);
    return gsrt_diag_set(c->diag, GSRT_EINPUT, c->file, place, "%s; the file is damaged, fetch or convert it again",
                         what);
}

static gsrt_status fail_truncated(const cursor *c, const char *what)
{
    char place[48];
    (void)snprintf(place, sizeof place, "byte %zu", c->at);
    return gsrt_diag_set(c->diag, GSRT_EINPUT, c->file, place,
                         "the file ends inside %s; it was cut short, fetch it again", what);
}

static gsrt_status take_u32(cursor *c, const char *what, uint32_t *out)
{
    if (bytes_left(c) < 4)
        return fail_truncated(c, what);
    memcpy(out, c->bytes.data + c->at, 4);
    c->at += 4;
    return GSRT_OK;
}

static gsrt_status take_u64(cursor *c, const char *what, uint64_t *out)
{
    if (bytes_left(c) < 8)
        return fail_truncated(c, what);
    memcpy(out, c->bytes.data + c->at, 8);
    c->at += 8;
    return GSRT_OK;
}

static gsrt_status take_text(cursor *c, const char *what, gsrt_span *out)
{
    uint64_t len = 0;
    gsrt_status status = take_u64(c, what, &len);
    if (status != GSRT_OK)
        return status;
    if (len > bytes_left(c) || len > GSRT_TEXT_BYTES_MAX) {
        c->at -= 8;
        char place[48];
        (void)snprintf(place, sizeof place, "byte %zu", c->at);
        return gsrt_diag_set(c->diag, GSRT_EINPUT, c->file, place,
                             "%s says it is %" PRIu64 " bytes long, but %zu are left and %u are allowed; the file is "
                             "damaged, fetch or convert it again",
                             what, len, bytes_left(c) - 8, GSRT_TEXT_BYTES_MAX);
    }
    *out = gsrt_span_of(c->bytes.data + c->at, (size_t)len);
    c->at += (size_t)len;
    return GSRT_OK;
}

/* A key or tensor name: not empty, no control bytes, copied with its terminating zero. */
static gsrt_status take_name(gsrt_gguf *gguf, cursor *c, const char *what, const char **out)
{
    cursor start = *c;
    gsrt_span text;
    gsrt_status status = take_text(c, what, &text);
    if (status != GSRT_OK)
        return status;
    char message[96];
    if (text.len == 0) {
        (void)snprintf(message, sizeof message, "%s is empty", what);
        return fail_at(&start, message);
    }
    if (text.len > GSRT_NAME_BYTES_MAX) {
        (void)snprintf(message, sizeof message, "%s is %zu bytes long, allowed are %d", what, text.len,
                       GSRT_NAME_BYTES_MAX);
        return fail_at(&start, message);
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < 0x20 || text.data[i] == 0x7f) {
            (void)snprintf(message, sizeof message, "%s holds the control byte 0x%02x", what, text.data[i]);
            return fail_at(&start, message);
        }
    }
    *out = gsrt_arena_copy_text(&gguf->arena, (const char *)text.data, text.len);
    return *out == NULL ? gsrt_diag_set(c->diag, GSRT_ENOMEM, c->file, NULL, "no memory for the file's names")
                        : GSRT_OK;
}

/* Bytes of one value of a fixed-size type, 0: TEXT, ARRAY or unknown. */
static size_t scalar_bytes(uint32_t type)
{
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < sizeof bytes ? bytes[type] : 0;
}

static gsrt_status fail_key(const cursor *c, const char *key, const char *what, uint64_t number)
{
    char place[GSRT_NAME_BYTES_MAX + 16];
    (void)snprintf(place, sizeof place, "key '%s'", key);
    return gsrt_diag_set(c->diag, GSRT_EINPUT, c->file, place, "%s %" PRIu64 "; the file is damaged, convert it again",
                         what, number);
}

static gsrt_status take_array(cursor *c, const char *key, gsrt_gguf_array *out)
{
    uint32_t type = 0;
    uint64_t count = 0;
    gsrt_status status = take_u32(c, "an array's element type", &type);
    if (status == GSRT_OK)
        status = take_u64(c, "an array's count", &count);
    if (status != GSRT_OK)
        return status;
    if (type != GSRT_GGUF_TEXT && scalar_bytes(type) == 0)
        return fail_key(c, key,
                        type == GSRT_GGUF_ARRAY ? "arrays of arrays are not supported: element type"
                                                : "unknown array element type",
                        type);
    size_t each_min = type == GSRT_GGUF_TEXT ? 8 : scalar_bytes(type);
    if (count > bytes_left(c) / each_min)
        return fail_key(c, key, "the file is too short for the array's element count", count);
    if (count > GSRT_ARRAY_COUNT_MAX)
        return fail_key(c, key, "an array may not have so many elements:", count);
    size_t start = c->at;
    if (type == GSRT_GGUF_TEXT) {
        gsrt_span ignored;
        for (uint64_t i = 0; i < count && status == GSRT_OK; i++)
            status = take_text(c, "an array's text", &ignored);
        if (status != GSRT_OK)
            return status;
    } else {
        c->at += (size_t)count * each_min;
    }
    *out = (gsrt_gguf_array){
        .type = (gsrt_gguf_type)type, .count = count, .bytes = gsrt_span_of(c->bytes.data + start, c->at - start)};
    return GSRT_OK;
}

static gsrt_status take_entry(gsrt_gguf *gguf, cursor *c, gsrt__gguf_entry *out)
{
    gsrt_status status = take_name(gguf, c, "a key", &out->key);
    uint32_t type = 0;
    if (status == GSRT_OK)
        status = take_u32(c, "a value's type", &type);
    if (status != GSRT_OK)
        return status;
    size_t bytes = scalar_bytes(type);
    if (bytes == 0 && type != GSRT_GGUF_TEXT && type != GSRT_GGUF_ARRAY)
        return fail_key(c, out->key, "unknown value type", type);
    out->type = (gsrt_gguf_type)type;
    if (type == GSRT_GGUF_TEXT)
        return take_text(c, "a text", &out->bytes);
    if (type == GSRT_GGUF_ARRAY)
        return take_array(c, out->key, &out->array);
    if (!gsrt_span_cut(c->bytes, c->at, bytes, &out->bytes))
        return fail_truncated(c, "a value");
    if (type == GSRT_GGUF_BOOL && out->bytes.data[0] > 1)
        return fail_key(c, out->key, "a bool must be 0 or 1, not", out->bytes.data[0]);
    c->at += bytes;
    return GSRT_OK;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const gsrt__gguf_entry *)a)->key, ((const gsrt__gguf_entry *)b)->key);
}

static gsrt_status take_entries(gsrt_gguf *gguf, cursor *c)
{
    gguf->entries = gsrt_arena_take(&gguf->arena, gguf->key_count, sizeof *gguf->entries);
    if (gguf->entries == NULL)
        return gsrt_diag_set(c->diag, GSRT_ENOMEM, c->file, NULL, "no memory for %" PRIu32 " keys", gguf->key_count);
    for (uint32_t i = 0; i < gguf->key_count; i++) {
        gsrt_status status = take_entry(gguf, c, &gguf->entries[i]);
        if (status != GSRT_OK)
            return status;
    }
    if (gguf->key_count > 0)
        qsort(gguf->entries, gguf->key_count, sizeof *gguf->entries, compare_entries);
    for (uint32_t i = 1; i < gguf->key_count; i++) {
        if (strcmp(gguf->entries[i - 1].key, gguf->entries[i].key) == 0) {
            char place[GSRT_NAME_BYTES_MAX + 16];
            (void)snprintf(place, sizeof place, "key '%s'", gguf->entries[i].key);
            return gsrt_diag_set(c->diag, GSRT_EINPUT, c->file, place, "the key occurs twice; convert the file again");
        }
    }
    return GSRT_OK;
}

static gsrt_status fail_tensor(const cursor *c, const char *name, const char *what, uint64_t number)
{
    char place[GSRT_NAME_BYTES_MAX + 16];
    (void)snprintf(place, sizeof place, "tensor '%s'", name);
    return gsrt_diag_set(c->diag, GSRT_EINPUT, c->file, place, "%s %" PRIu64 "; the file is damaged, convert it again",
                         what, number);
}

/* Bytes of all elements. Every product is checked. */
static gsrt_status size_tensor(const cursor *c, gsrt_gguf_tensor *tensor)
{
    const tensor_type *type = NULL;
    for (size_t i = 0; i < sizeof tensor_types / sizeof tensor_types[0]; i++) {
        if (tensor_types[i].number == tensor->type)
            type = &tensor_types[i];
    }
    if (type == NULL)
        return fail_tensor(c, tensor->name, "unknown tensor type", tensor->type);
    tensor->type_name = type->name;
    if (tensor->dims[0] % type->block != 0)
        return fail_tensor(c, tensor->name, "its rows are no whole number of quantisation blocks: elements per row",
                           tensor->dims[0]);
    size_t size = type->block_bytes;
    bool fits = gsrt_size_mul(size, tensor->dims[0] / type->block, &size);
    for (uint32_t d = 1; d < tensor->dim_count && fits; d++)
        fits = gsrt_size_mul(size, tensor->dims[d], &size);
    if (!fits || size > c->bytes.len)
        return fail_tensor(c, tensor->name, "its dimensions need more bytes than the file has:", c->bytes.len);
    tensor->size_bytes = size;
    return GSRT_OK;
}

static gsrt_status take_tensor(gsrt_gguf *gguf, cursor *c, gsrt_gguf_tensor *tensor)
{
    gsrt_status status = take_name(gguf, c, "a tensor's name", &tensor->name);
    if (status == GSRT_OK)
        status = take_u32(c, "a tensor's dimension count", &tensor->dim_count);
    if (status != GSRT_OK)
        return status;
    if (tensor->dim_count == 0 || tensor->dim_count > GSRT_TENSOR_DIM_COUNT_MAX)
        return fail_tensor(c, tensor->name, "a tensor has 1 to 4 dimensions, not", tensor->dim_count);
    for (uint32_t d = 0; d < GSRT_TENSOR_DIM_COUNT_MAX; d++) {
        tensor->dims[d] = 1;
        if (d < tensor->dim_count && status == GSRT_OK)
            status = take_u64(c, "a tensor's dimensions", &tensor->dims[d]);
        if (status == GSRT_OK && tensor->dims[d] == 0)
            return fail_tensor(c, tensor->name, "a dimension must not be", 0);
    }
    if (status == GSRT_OK)
        status = take_u32(c, "a tensor's type", &tensor->type);
    if (status == GSRT_OK)
        status = take_u64(c, "a tensor's offset", &tensor->offset_bytes);
    return status == GSRT_OK ? size_tensor(c, tensor) : status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const gsrt_gguf_tensor *const *)a)->name, (*(const gsrt_gguf_tensor *const *)b)->name);
}

static int compare_offsets(const void *a, const void *b)
{
    uint64_t left = (*(const gsrt_gguf_tensor *const *)a)->offset_bytes;
    uint64_t right = (*(const gsrt_gguf_tensor *const *)b)->offset_bytes;
    return (left > right) - (left < right);
}

static gsrt_status read_alignment(const gsrt_gguf *gguf, const cursor *c, uint32_t *out)
{
    gsrt_status status = gsrt_gguf_u32_or(gguf, "general.alignment", ALIGNMENT_DEFAULT, out, c->diag);
    if (status != GSRT_OK)
        return status;
    if (*out < 8 || (*out & (*out - 1)) != 0 || *out > GSRT_ALIGNMENT_MAX)
        return fail_key(c, "general.alignment", "an alignment is a power of two from 8 to 1 MiB, not", *out);
    return GSRT_OK;
}

/* Offsets become places in the file: aligned, inside it, and no two tensors on the same bytes. */
static gsrt_status place_tensors(gsrt_gguf *gguf, const cursor *c, uint32_t alignment)
{
    size_t data_start = c->at;
    size_t data_bytes = 0;
    if (gsrt_size_add(data_start, (alignment - data_start % alignment) % alignment, &data_start) &&
        data_start <= c->bytes.len)
        data_bytes = c->bytes.len - data_start;
    for (uint32_t i = 0; i < gguf->tensor_count; i++) {
        gsrt_gguf_tensor *tensor = &gguf->tensors[i];
        if (tensor->offset_bytes % alignment != 0)
            return fail_tensor(c, tensor->name, "its offset is not a multiple of the alignment:", tensor->offset_bytes);
        if (tensor->offset_bytes > data_bytes || tensor->size_bytes > data_bytes - tensor->offset_bytes)
            return fail_tensor(c, tensor->name, "it ends past the end of the file; its offset is",
                               tensor->offset_bytes);
        tensor->offset_bytes += data_start;
    }
    if (gguf->tensor_count > 0)
        qsort(gguf->by_name, gguf->tensor_count, sizeof *gguf->by_name, compare_offsets);
    for (uint32_t i = 1; i < gguf->tensor_count; i++) {
        const gsrt_gguf_tensor *before = gguf->by_name[i - 1];
        if (before->offset_bytes + before->size_bytes > gguf->by_name[i]->offset_bytes) {
            char what[GSRT_NAME_BYTES_MAX + 64];
            (void)snprintf(what, sizeof what, "it overlaps tensor '%s' at byte", before->name);
            return fail_tensor(c, gguf->by_name[i]->name, what, gguf->by_name[i]->offset_bytes);
        }
    }
    return GSRT_OK;
}

static gsrt_status take_tensors(gsrt_gguf *gguf, cursor *c)
{
    uint32_t alignment = ALIGNMENT_DEFAULT;
    gsrt_status status = read_alignment(gguf, c, &alignment);
    if (status != GSRT_OK)
        return status;
    gguf->tensors = gsrt_arena_take(&gguf->arena, gguf->tensor_count, sizeof *gguf->tensors);
    gguf->by_name = gsrt_arena_take(&gguf->arena, gguf->tensor_count, sizeof *gguf->by_name);
    if (gguf->tensors == NULL || gguf->by_name == NULL)
        return gsrt_diag_set(c->diag, GSRT_ENOMEM, c->file, NULL, "no memory for %" PRIu32 " tensors",
                             gguf->tensor_count);
    for (uint32_t i = 0; i < gguf->tensor_count; i++) {
        gguf->by_name[i] = &gguf->tensors[i];
        status = take_tensor(gguf, c, &gguf->tensors[i]);
        if (status != GSRT_OK)
            return status;
    }
    status = place_tensors(gguf, c, alignment);
    if (status != GSRT_OK)
        return status;
    if (gguf->tensor_count > 0)
        qsort(gguf->by_name, gguf->tensor_count, sizeof *gguf->by_name, compare_names);
    for (uint32_t i = 1; i < gguf->tensor_count; i++) {
        if (strcmp(gguf->by_name[i - 1]->name, gguf->by_name[i]->name) == 0)
            return fail_tensor(c, gguf->by_name[i]->name, "two tensors have this name, the second at byte",
                               gguf->by_name[i]->offset_bytes);
    }
    return GSRT_OK;
}

/* Magic and version. */
static gsrt_status take_identity(gsrt_gguf *gguf, cursor *c)
{
    if (c->bytes.len < 4 || memcmp(c->bytes.data, "GGUF", 4) != 0)
        return gsrt_diag_set(c->diag, GSRT_EINPUT, c->file, "byte 0",
                             "not a GGUF file: it does not start with 'GGUF'; convert the model to GGUF (for example "
                             "with llama.cpp's convert_hf_to_gguf.py)");
    c->at = 4;
    gsrt_status status = take_u32(c, "the version", &gguf->version);
    if (status != GSRT_OK)
        return status;
    if (gguf->version == 2 || gguf->version == 3)
        return GSRT_OK;
    bool is_big_endian = gguf->version != 0 && (gguf->version & 0xffffu) == 0;
    return gsrt_diag_set(c->diag, GSRT_EINPUT, c->file, "byte 4",
                         is_big_endian ? "the GGUF file is big-endian (version field %" PRIu32
                                         "); convert it for a little-endian machine"
                                       : "GGUF version %" PRIu32 " is not supported; convert the file to version 3",
                         gguf->version);
}

gsrt_status gsrt__gguf_parse(gsrt_gguf *gguf, gsrt_diag *diag)
{
    cursor c = {.bytes = gguf->bytes, .file = gguf->name, .diag = diag};
    uint64_t tensor_count = 0, key_count = 0;
    gsrt_status status = take_identity(gguf, &c);
    if (status == GSRT_OK)
        status = take_u64(&c, "the tensor count", &tensor_count);
    if (status == GSRT_OK)
        status = take_u64(&c, "the key count", &key_count);
    if (status != GSRT_OK)
        return status;
    if (key_count > bytes_left(&c) / ENTRY_BYTES_MIN || key_count > GSRT_METADATA_COUNT_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, c.file, "byte 16",
                             "the file says it has %" PRIu64 " keys, but its %zu bytes cannot hold them or more than "
                             "%d are too many; the file is damaged, fetch or convert it again",
                             key_count, c.bytes.len, GSRT_METADATA_COUNT_MAX);
    if (tensor_count > bytes_left(&c) / TENSOR_BYTES_MIN || tensor_count > GSRT_TENSOR_COUNT_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, c.file, "byte 8",
                             "the file says it has %" PRIu64 " tensors, but its %zu bytes cannot hold them or more "
                             "than %d are too many; the file is damaged, fetch or convert it again",
                             tensor_count, c.bytes.len, GSRT_TENSOR_COUNT_MAX);
    gguf->key_count = (uint32_t)key_count;
    gguf->tensor_count = (uint32_t)tensor_count;
    status = take_entries(gguf, &c);
    return status == GSRT_OK ? take_tensors(gguf, &c) : status;
}
