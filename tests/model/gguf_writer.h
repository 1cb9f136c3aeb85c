/* Writes GGUF files into memory, right ones and wrong ones: nothing is checked, every field can be set. For tests. */
#ifndef GSRT_TESTS_MODEL_GGUF_WRITER_H
#define GSRT_TESTS_MODEL_GGUF_WRITER_H

#include <stdlib.h>

#include "base/buffer.h"
#include "model/gguf.h"

typedef struct gguf_writer {
    gsrt_buffer keys, tensors, data;
    uint64_t key_count, tensor_count;
    uint32_t version, alignment; /* alignment: of the data section and of tensors added with gguf_add */
} gguf_writer;

static inline void gguf_begin(gguf_writer *w)
{
    *w = (gguf_writer){.version = 3, .alignment = 32};
    gsrt_buffer_init(&w->keys, 64 << 20);
    gsrt_buffer_init(&w->tensors, 64 << 20);
    gsrt_buffer_init(&w->data, 64 << 20);
}

static inline void gguf_put(gsrt_buffer *buffer, const void *data, size_t len)
{
    if (gsrt_buffer_append(buffer, data, len) != GSRT_OK)
        abort();
}

static inline void gguf_put_u32(gsrt_buffer *buffer, uint32_t value)
{
    gguf_put(buffer, &value, sizeof value);
}

static inline void gguf_put_u64(gsrt_buffer *buffer, uint64_t value)
{
    gguf_put(buffer, &value, sizeof value);
}

static inline void gguf_put_text(gsrt_buffer *buffer, gsrt_span text)
{
    gguf_put_u64(buffer, text.len);
    gguf_put(buffer, text.data, text.len);
}

/* A key with a value of `type` whose bytes are given. */
static inline void gguf_key(gguf_writer *w, const char *key, uint32_t type, const void *value, size_t len)
{
    gguf_put_text(&w->keys, gsrt_span_of_text(key));
    gguf_put_u32(&w->keys, type);
    gguf_put(&w->keys, value, len);
    w->key_count++;
}

static inline void gguf_u32(gguf_writer *w, const char *key, uint32_t value)
{
    gguf_key(w, key, GSRT_GGUF_U32, &value, sizeof value);
}

static inline void gguf_f32(gguf_writer *w, const char *key, float value)
{
    gguf_key(w, key, GSRT_GGUF_F32, &value, sizeof value);
}

static inline void gguf_bool(gguf_writer *w, const char *key, bool value)
{
    uint8_t byte = value;
    gguf_key(w, key, GSRT_GGUF_BOOL, &byte, 1);
}

static inline void gguf_text(gguf_writer *w, const char *key, const char *value)
{
    gguf_key(w, key, GSRT_GGUF_TEXT, NULL, 0);
    gguf_put_text(&w->keys, gsrt_span_of_text(value));
}

/* An array of fixed-size elements. */
static inline void gguf_array(gguf_writer *w, const char *key, uint32_t type, uint64_t count, const void *data,
                              size_t len)
{
    gguf_key(w, key, GSRT_GGUF_ARRAY, &type, sizeof type);
    gguf_put_u64(&w->keys, count);
    gguf_put(&w->keys, data, len);
}

static inline void gguf_texts(gguf_writer *w, const char *key, const char *const *texts, size_t count)
{
    gguf_array(w, key, GSRT_GGUF_TEXT, count, NULL, 0);
    for (size_t i = 0; i < count; i++)
        gguf_put_text(&w->keys, gsrt_span_of_text(texts[i]));
}

/* An entry of the tensor table, as given. */
static inline void gguf_entry(gguf_writer *w, const char *name, uint32_t dim_count, const uint64_t *dims, uint32_t type,
                              uint64_t offset)
{
    gguf_put_text(&w->tensors, gsrt_span_of_text(name));
    gguf_put_u32(&w->tensors, dim_count);
    for (uint32_t i = 0; i < dim_count; i++)
        gguf_put_u64(&w->tensors, dims[i]);
    gguf_put_u32(&w->tensors, type);
    gguf_put_u64(&w->tensors, offset);
    w->tensor_count++;
}

/* A tensor [rows, columns] (rows 0: a vector) of `bytes` bytes; data NULL: zeros. */
static inline void gguf_add(gguf_writer *w, const char *name, uint64_t columns, uint64_t rows, uint32_t type,
                            const void *data, size_t bytes)
{
    static const uint8_t zeros[256];
    uint64_t dims[2] = {columns, rows};
    gguf_put(&w->data, zeros, (w->alignment - w->data.len % w->alignment) % w->alignment);
    gguf_entry(w, name, rows == 0 ? 1 : 2, dims, type, w->data.len);
    if (data != NULL)
        gguf_put(&w->data, data, bytes);
    for (size_t i = 0; data == NULL && i < bytes; i++)
        gguf_put(&w->data, zeros, 1);
}

/* The file; frees the writer. Owned: gsrt_buffer_fini. */
static inline void gguf_end(gguf_writer *w, gsrt_buffer *out)
{
    static const uint8_t zeros[1 << 12];
    gsrt_buffer_init(out, 128 << 20);
    gguf_put(out, "GGUF", 4);
    gguf_put_u32(out, w->version);
    gguf_put_u64(out, w->tensor_count);
    gguf_put_u64(out, w->key_count);
    gguf_put(out, w->keys.data, w->keys.len);
    gguf_put(out, w->tensors.data, w->tensors.len);
    if (w->data.len > 0)
        gguf_put(out, zeros, (w->alignment - out->len % w->alignment) % w->alignment);
    gguf_put(out, w->data.data, w->data.len);
    gsrt_buffer_fini(&w->keys);
    gsrt_buffer_fini(&w->tensors);
    gsrt_buffer_fini(&w->data);
}

#endif
