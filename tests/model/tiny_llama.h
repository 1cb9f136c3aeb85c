/* A tiny Llama model with made-up weights, as a GGUF file in memory: right as written, and easy to make wrong. For
 * tests. */
#ifndef GSRT_TESTS_MODEL_TINY_LLAMA_H
#define GSRT_TESTS_MODEL_TINY_LLAMA_H

#include <stdio.h>

#include "base/dtype.h"
#include "tests/model/gguf_writer.h"

typedef struct tiny_llama {
    uint32_t layers, dim, ffn, heads, kv_heads, vocab, context;
    uint32_t head_dim;   /* 0: dim / heads, and no key for it */
    bool has_output;     /* false: tied to the embedding */
    bool has_biases;     /* on q, k, v and the attention output */
    bool has_rope_freqs; /* rope_freqs.weight */
    gsrt_dtype dtype;    /* of the matrices: f32, or q8_0 with zeros */
    const char *without; /* a tensor to leave out */
    const char *wrong;   /* a tensor with one row (vector: element) too many */
    const char *as_f16;  /* a tensor to write as zeros in f16 */
    const char *as_q4_k; /* a tensor to write as zeros in a type that we cannot compute with */
} tiny_llama;

static const tiny_llama tiny_usual = {
    .layers = 2, .dim = 16, .ffn = 12, .heads = 4, .kv_heads = 2, .vocab = 11, .context = 32, .has_output = true};

/* Numbers in [-0.5, 0.5) that depend on name and index only. */
static inline float tiny_weight(const char *name, size_t i)
{
    uint32_t x = 2166136261u;
    for (; *name != 0; name++)
        x = (x ^ (uint8_t)*name) * 16777619u;
    x = (x ^ (uint32_t)i) * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    return (float)(x >> 8) / 16777216.0f - 0.5f;
}

static inline void tiny_tensor(gguf_writer *w, const tiny_llama *m, const char *name, uint64_t columns, uint64_t rows)
{
    if (m->without != NULL && strcmp(m->without, name) == 0)
        return;
    bool is_matrix = rows > 0;
    if (m->wrong != NULL && strcmp(m->wrong, name) == 0) {
        columns += is_matrix ? 0 : 1;
        rows += is_matrix ? 1 : 0;
    }
    uint64_t count = columns * (is_matrix ? rows : 1);
    if (m->as_f16 != NULL && strcmp(m->as_f16, name) == 0) {
        gguf_add(w, name, columns, rows, GSRT_DTYPE_F16, NULL, 2 * count);
        return;
    }
    if (m->as_q4_k != NULL && strcmp(m->as_q4_k, name) == 0) {
        gguf_add(w, name, 256, 1, 12, NULL, 144);
        return;
    }
    if (is_matrix && m->dtype == GSRT_DTYPE_Q8_0) {
        gguf_add(w, name, columns, rows, GSRT_DTYPE_Q8_0, NULL, count / 32 * 34);
        return;
    }
    float *data = malloc(count * sizeof *data);
    if (data == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        data[i] = tiny_weight(name, i) + (is_matrix ? 0.0f : 1.0f);
    gguf_add(w, name, columns, rows, GSRT_DTYPE_F32, data, count * sizeof *data);
    free(data);
}

static inline void tiny_layer(gguf_writer *w, const tiny_llama *m, uint32_t layer)
{
    uint32_t head_dim = m->head_dim > 0 ? m->head_dim : m->dim / m->heads;
    const struct {
        const char *name;
        uint32_t columns, rows;
        bool is_bias;
    } tensors[] = {
        {"attn_norm.weight", m->dim, 0, false},
        {"attn_q.weight", m->dim, m->heads * head_dim, false},
        {"attn_k.weight", m->dim, m->kv_heads * head_dim, false},
        {"attn_v.weight", m->dim, m->kv_heads * head_dim, false},
        {"attn_output.weight", m->heads * head_dim, m->dim, false},
        {"ffn_norm.weight", m->dim, 0, false},
        {"ffn_gate.weight", m->dim, m->ffn, false},
        {"ffn_up.weight", m->dim, m->ffn, false},
        {"ffn_down.weight", m->ffn, m->dim, false},
        {"attn_q.bias", m->heads * head_dim, 0, true},
        {"attn_k.bias", m->kv_heads * head_dim, 0, true},
        {"attn_v.bias", m->kv_heads * head_dim, 0, true},
        {"attn_output.bias", m->dim, 0, true},
    };
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "blk.%u.%s", layer, tensors[i].name);
        if (!tensors[i].is_bias || m->has_biases)
            tiny_tensor(w, m, name, tensors[i].columns, tensors[i].rows);
    }
}

/* Keys and tensors; the caller may add keys and then ends the writer. */
static inline void tiny_write(gguf_writer *w, const tiny_llama *m)
{
    gguf_begin(w);
    gguf_text(w, "general.architecture", "llama");
    gguf_text(w, "general.name", "tiny");
    gguf_u32(w, "llama.block_count", m->layers);
    gguf_u32(w, "llama.embedding_length", m->dim);
    gguf_u32(w, "llama.feed_forward_length", m->ffn);
    gguf_u32(w, "llama.attention.head_count", m->heads);
    gguf_u32(w, "llama.attention.head_count_kv", m->kv_heads);
    gguf_u32(w, "llama.context_length", m->context);
    gguf_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    if (m->head_dim > 0)
        gguf_u32(w, "llama.attention.key_length", m->head_dim);
    tiny_tensor(w, m, "token_embd.weight", m->dim, m->vocab);
    for (uint32_t i = 0; i < m->layers; i++)
        tiny_layer(w, m, i);
    tiny_tensor(w, m, "output_norm.weight", m->dim, 0);
    if (m->has_output)
        tiny_tensor(w, m, "output.weight", m->dim, m->vocab);
    if (m->has_rope_freqs)
        tiny_tensor(w, m, "rope_freqs.weight", (m->head_dim > 0 ? m->head_dim : m->dim / m->heads) / 2, 0);
}

#endif
