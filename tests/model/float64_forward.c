#include "tests/model/float64_forward.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct layer {
    double *attn_norm, *q, *k, *v, *o, *ffn_norm, *gate, *down, *up;
    double *q_bias, *k_bias, *v_bias, *o_bias; /* NULL: none */
} layer;

struct float64_model {
    uint32_t layer_count, dim, ffn_dim, heads, kv_heads, head_dim, vocab, rotated, position_count;
    double base, epsilon;
    double scale, context_original, attention_factor; /* of RoPE */
    bool is_yarn;
    double *factors;                          /* [rotated / 2] NULL: none */
    double *embedding, *output_norm, *output; /* output may be embedding */
    layer *layers;
    double *keys, *values; /* [layer][position][kv_heads * head_dim] */
    double *logits;
};

static void *room(size_t count)
{
    void *memory = calloc(count + 1, sizeof(double));
    if (memory == NULL)
        abort();
    return memory;
}

/* f16 by its definition. */
static double half_to_double(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static uint16_t load_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static double element(const gsrt_gguf_tensor *t, const uint8_t *data, uint64_t i)
{
    float single;
    uint32_t wide;
    switch (t->type) {
    case 0: memcpy(&single, data + 4 * i, 4); return (double)single;
    case 1: return half_to_double(load_u16(data + 2 * i));
    case 30:
        wide = (uint32_t)load_u16(data + 2 * i) << 16;
        memcpy(&single, &wide, 4);
        return (double)single;
    case 8: {
        const uint8_t *block = data + i / 32 * 34;
        return half_to_double(load_u16(block)) * (double)(int8_t)block[2 + i % 32];
    }
    case 2: {
        const uint8_t *block = data + i / 32 * 18;
        unsigned at = (unsigned)(i % 32), both = block[2 + at % 16];
        return half_to_double(load_u16(block)) * ((double)(at < 16 ? both & 15u : both >> 4) - 8.0);
    }
    default: abort();
    }
}

/* A tensor as doubles; NULL: there is none and none is needed. */
static double *GSRT_PRINTF(3, 4) load(const gsrt_gguf *gguf, bool is_needed, const char *format, ...)
{
    char name[128];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);
    const gsrt_gguf_tensor *t = gsrt_gguf_tensor_find(gguf, name);
    if (t == NULL && !is_needed)
        return NULL;
    if (t == NULL)
        abort();
    uint64_t count = t->dims[0] * t->dims[1];
    double *out = room(count);
    const uint8_t *data = gsrt_gguf_bytes(gguf).data + t->offset_bytes;
    for (uint64_t i = 0; i < count; i++)
        out[i] = element(t, data, i);
    return out;
}

static uint32_t whole(const gsrt_gguf *gguf, const char *key)
{
    uint32_t value;
    if (gsrt_gguf_u32(gguf, key, &value, NULL) != GSRT_OK)
        abort();
    return value;
}

static double real(const gsrt_gguf *gguf, const char *key)
{
    float value;
    if (gsrt_gguf_f32(gguf, key, &value, NULL) != GSRT_OK)
        abort();
    return (double)value;
}

static double real_or(const gsrt_gguf *gguf, const char *key, double fallback)
{
    return gsrt_gguf_has(gguf, key) ? real(gguf, key) : fallback;
}

static uint32_t whole_or(const gsrt_gguf *gguf, const char *key, uint32_t fallback)
{
    return gsrt_gguf_has(gguf, key) ? whole(gguf, key) : fallback;
}

static void read_rope(float64_model *m, const gsrt_gguf *gguf)
{
    gsrt_span type = gsrt_span_of_text("linear");
    if (gsrt_gguf_has(gguf, "llama.rope.scaling.type") &&
        gsrt_gguf_text(gguf, "llama.rope.scaling.type", &type, NULL) != GSRT_OK)
        abort();
    m->base = real_or(gguf, "llama.rope.freq_base", 10000);
    m->rotated = whole_or(gguf, "llama.rope.dimension_count", m->head_dim);
    m->scale = 1 / real_or(gguf, "llama.rope.scaling.factor", 1);
    m->is_yarn = gsrt_span_equal(type, gsrt_span_of_text("yarn"));
    m->attention_factor = real_or(gguf, "llama.rope.scaling.attn_factor", 1);
    m->context_original = whole_or(gguf, "llama.rope.scaling.original_context_length", 1);
    m->factors = load(gguf, false, "rope_freqs.weight");
}

float64_model *float64_create(const gsrt_gguf *gguf, uint32_t position_count)
{
    float64_model *m = calloc(1, sizeof *m);
    if (m == NULL)
        abort();
    m->layer_count = whole(gguf, "llama.block_count");
    m->dim = whole(gguf, "llama.embedding_length");
    m->ffn_dim = whole(gguf, "llama.feed_forward_length");
    m->heads = whole(gguf, "llama.attention.head_count");
    m->kv_heads = whole(gguf, "llama.attention.head_count_kv");
    m->epsilon = real(gguf, "llama.attention.layer_norm_rms_epsilon");
    m->head_dim = whole_or(gguf, "llama.attention.key_length", m->dim / m->heads);
    read_rope(m, gguf);
    m->vocab = (uint32_t)gsrt_gguf_tensor_find(gguf, "token_embd.weight")->dims[1];
    m->position_count = position_count;
    m->embedding = load(gguf, true, "token_embd.weight");
    m->output_norm = load(gguf, true, "output_norm.weight");
    m->output = load(gguf, false, "output.weight");
    m->layers = calloc(m->layer_count, sizeof *m->layers);
    if (m->layers == NULL)
        abort();
    for (uint32_t i = 0; i < m->layer_count; i++) {
        m->layers[i] = (layer){.attn_norm = load(gguf, true, "blk.%u.attn_norm.weight", i),
                               .q = load(gguf, true, "blk.%u.attn_q.weight", i),
                               .k = load(gguf, true, "blk.%u.attn_k.weight", i),
                               .v = load(gguf, true, "blk.%u.attn_v.weight", i),
                               .o = load(gguf, true, "blk.%u.attn_output.weight", i),
                               .ffn_norm = load(gguf, true, "blk.%u.ffn_norm.weight", i),
                               .gate = load(gguf, true, "blk.%u.ffn_gate.weight", i),
                               .down = load(gguf, true, "blk.%u.ffn_down.weight", i),
                               .up = load(gguf, true, "blk.%u.ffn_up.weight", i),
                               .q_bias = load(gguf, false, "blk.%u.attn_q.bias", i),
                               .k_bias = load(gguf, false, "blk.%u.attn_k.bias", i),
                               .v_bias = load(gguf, false, "blk.%u.attn_v.bias", i),
                               .o_bias = load(gguf, false, "blk.%u.attn_output.bias", i)};
    }
    size_t cached = (size_t)m->layer_count * position_count * m->kv_heads * m->head_dim;
    m->keys = room(cached);
    m->values = room(cached);
    m->logits = room(m->vocab);
    return m;
}

void float64_free(float64_model *m)
{
    for (uint32_t i = 0; i < m->layer_count; i++) {
        layer *l = &m->layers[i];
        double *all[] = {l->attn_norm, l->q,  l->k,      l->v,      l->o,      l->ffn_norm, l->gate,
                         l->down,      l->up, l->q_bias, l->k_bias, l->v_bias, l->o_bias};
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
            free(all[k]);
    }
    double *all[] = {m->embedding, m->output_norm, m->output, m->keys, m->values, m->logits, m->factors};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        free(all[k]);
    free(m->layers);
    free(m);
}

uint32_t float64_vocab(const float64_model *m)
{
    return m->vocab;
}

static void normalise(const double *x, const double *weight, uint32_t n, double epsilon, double *out)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    double scale = 1.0 / sqrt(sum / n + epsilon);
    for (uint32_t i = 0; i < n; i++)
        out[i] = x[i] * scale * weight[i];
}

/* out [rows] = matrix [rows, columns] * x (+ bias) */
static void multiply(const double *matrix, const double *x, const double *bias, uint32_t rows, uint32_t columns,
                     double *out)
{
    for (uint32_t r = 0; r < rows; r++) {
        double sum = bias == NULL ? 0 : bias[r];
        for (uint32_t c = 0; c < columns; c++)
            sum += matrix[(size_t)r * columns + c] * x[c];
        out[r] = sum;
    }
}

/* The pair whose wavelength makes `turns` turns within the original context (YaRN). */
static double pair_of_turns(const float64_model *m, double turns)
{
    return m->rotated * log(m->context_original / (turns * 2 * acos(-1.0))) / (2 * log(m->base));
}

/* Angle of `pair` at `position`: position * base^(-2 pair / rotated) / factor, scaled; YaRN scales slow pairs only. */
static double angle_of(const float64_model *m, uint32_t pair, uint32_t position)
{
    double angle = position * pow(m->base, -2.0 * pair / m->rotated) / (m->factors == NULL ? 1 : m->factors[pair]);
    double low = floor(pair_of_turns(m, 32)), high = ceil(pair_of_turns(m, 1));
    if (!m->is_yarn)
        return angle * m->scale;
    low = fmax(0, low);
    high = fmin(m->rotated - 1.0, high);
    double unscaled = 1 - fmin(1, fmax(0, (pair - low) / fmax(0.001, high - low)));
    return angle * m->scale * (1 - unscaled) + angle * unscaled;
}

/* Rotate the pairs (2i, 2i + 1) of each head. */
static void rotate(const float64_model *m, double *x, uint32_t heads, uint32_t position)
{
    double length = m->is_yarn ? m->attention_factor * (1 + 0.1 * log(1 / m->scale)) : 1;
    for (uint32_t h = 0; h < heads; h++) {
        for (uint32_t i = 0; i < m->rotated; i += 2) {
            double angle = angle_of(m, i / 2, position);
            double *pair = x + (size_t)h * m->head_dim + i, a = pair[0], b = pair[1];
            pair[0] = (a * cos(angle) - b * sin(angle)) * length;
            pair[1] = (a * sin(angle) + b * cos(angle)) * length;
        }
    }
}

/* Softmax attention of one query head over positions 0..position. */
static void attend(const float64_model *m, const double *q, const double *keys, const double *values, uint32_t position,
                   double *out)
{
    size_t stride = (size_t)m->kv_heads * m->head_dim;
    double *scores = room((size_t)position + 1);
    double largest = -INFINITY, total = 0;
    for (uint32_t p = 0; p <= position; p++) {
        for (uint32_t d = 0; d < m->head_dim; d++)
            scores[p] += q[d] * keys[p * stride + d];
        scores[p] /= sqrt(m->head_dim);
        largest = fmax(largest, scores[p]);
    }
    memset(out, 0, m->head_dim * sizeof *out);
    for (uint32_t p = 0; p <= position; p++) {
        double weight = exp(scores[p] - largest);
        total += weight;
        for (uint32_t d = 0; d < m->head_dim; d++)
            out[d] += weight * values[p * stride + d];
    }
    for (uint32_t d = 0; d < m->head_dim; d++)
        out[d] /= total;
    free(scores);
}

static void run_attention(float64_model *m, uint32_t index, uint32_t position, double *x)
{
    const layer *l = &m->layers[index];
    uint32_t q_width = m->heads * m->head_dim, kv_width = m->kv_heads * m->head_dim;
    double *keys = m->keys + (size_t)index * m->position_count * kv_width;
    double *values = m->values + (size_t)index * m->position_count * kv_width;
    double *normal = room(m->dim), *q = room(q_width), *heads = room(q_width), *out = room(m->dim);
    normalise(x, l->attn_norm, m->dim, m->epsilon, normal);
    multiply(l->q, normal, l->q_bias, q_width, m->dim, q);
    multiply(l->k, normal, l->k_bias, kv_width, m->dim, keys + (size_t)position * kv_width);
    multiply(l->v, normal, l->v_bias, kv_width, m->dim, values + (size_t)position * kv_width);
    rotate(m, q, m->heads, position);
    rotate(m, keys + (size_t)position * kv_width, m->kv_heads, position);
    for (uint32_t h = 0; h < m->heads; h++) {
        size_t kv = (size_t)(h / (m->heads / m->kv_heads)) * m->head_dim;
        attend(m, q + (size_t)h * m->head_dim, keys + kv, values + kv, position, heads + (size_t)h * m->head_dim);
    }
    multiply(l->o, heads, l->o_bias, m->dim, q_width, out);
    for (uint32_t i = 0; i < m->dim; i++)
        x[i] += out[i];
    free(normal);
    free(q);
    free(heads);
    free(out);
}

static void run_feed_forward(const float64_model *m, uint32_t index, double *x)
{
    const layer *l = &m->layers[index];
    double *normal = room(m->dim), *gate = room(m->ffn_dim), *up = room(m->ffn_dim), *out = room(m->dim);
    normalise(x, l->ffn_norm, m->dim, m->epsilon, normal);
    multiply(l->gate, normal, NULL, m->ffn_dim, m->dim, gate);
    multiply(l->up, normal, NULL, m->ffn_dim, m->dim, up);
    for (uint32_t i = 0; i < m->ffn_dim; i++)
        up[i] *= gate[i] / (1.0 + exp(-gate[i]));
    multiply(l->down, up, NULL, m->dim, m->ffn_dim, out);
    for (uint32_t i = 0; i < m->dim; i++)
        x[i] += out[i];
    free(normal);
    free(gate);
    free(up);
    free(out);
}

const double *float64_step(float64_model *m, uint32_t token, uint32_t position)
{
    double *x = room(m->dim), *normal = room(m->dim);
    memcpy(x, m->embedding + (size_t)token * m->dim, m->dim * sizeof *x);
    for (uint32_t i = 0; i < m->layer_count; i++) {
        run_attention(m, i, position, x);
        run_feed_forward(m, i, x);
    }
    normalise(x, m->output_norm, m->dim, m->epsilon, normal);
    multiply(m->output != NULL ? m->output : m->embedding, normal, NULL, m->vocab, m->dim, m->logits);
    free(x);
    free(normal);
    return m->logits;
}
