/* Layout of the file: header, metadata, tensor table, padding, data, all in one pass, because every offset follows from
 * the options. The tensor table and the data walk the same list (tensor_at). Bytes of a tensor come from Philox keyed
 * by (seed, number of the tensor), so a change of one shape does not move the other tensors' streams.
 */
#include "bench/randmodel.h"

#include "base/buffer.h"
#include "base/limits.h"
#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ALIGNMENT = 32,
    HEADER_BYTES_MAX = 64 << 20,
    CHUNK_RANDOM_BYTES = 1 << 18, /* random bytes drawn at once */
    CODES = 65536,                /* distinct 16-bit values of a weight */
    WORDS_FIRST = 259 + 96,       /* first synthetic word of the vocabulary */
};

enum { TYPE_U32 = 4, TYPE_I32 = 5, TYPE_F32 = 6, TYPE_BOOL = 7, TYPE_STRING = 8, TYPE_ARRAY = 9 };
enum { TOKEN_NORMAL = 1, TOKEN_UNKNOWN = 2, TOKEN_CONTROL = 3, TOKEN_BYTE = 6 };

typedef struct tensor {
    char name[64];
    uint32_t k, rows; /* rows 0: a vector of k */
    double deviation; /* of a matrix */
    gsrt_dtype dtype;
} tensor;

bool gsrt_randmodel_preset(const char *name, gsrt_randmodel_options *out)
{
    static const struct {
        const char *name;
        gsrt_randmodel_options options;
    } presets[] = {
        {"tiny", {GSRT_DTYPE_Q8_0, 64, 2, 160, 4, 2, 384, 512, 1, false}},
        {"small", {GSRT_DTYPE_Q8_0, 512, 3, 1536, 8, 4, 1024, 512, 1, false}},
        {"1b", {GSRT_DTYPE_Q8_0, 2048, 16, 8192, 32, 8, 32000, 2048, 1, false}},
    };
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (strcmp(name, presets[i].name) == 0) {
            *out = presets[i].options;
            return true;
        }
    }
    return false;
}

static gsrt_status refuse(gsrt_diag *diag, const char *option, uint32_t value, const char *remedy)
{
    return gsrt_diag_set(diag, GSRT_EINVAL, NULL, option, "%u is out of range; %s", value, remedy);
}

gsrt_status gsrt_randmodel_check(const gsrt_randmodel_options *options, gsrt_diag *diag)
{
    const gsrt_randmodel_options *o = options;
    if (!gsrt_dtype_is_computed((uint32_t)o->dtype))
        return refuse(diag, "dtype", (uint32_t)o->dtype, "use f32, f16, bf16, q8_0 or q4_0");
    if (o->head_count == 0 || o->head_count > 1024)
        return refuse(diag, "heads", o->head_count, "use 1 to 1024");
    if (o->kv_head_count == 0 || o->head_count % o->kv_head_count != 0)
        return refuse(diag, "kv-heads", o->kv_head_count, "it must divide the number of heads");
    if (o->dim == 0 || o->dim > 65536 || o->dim % 32 != 0 || o->dim % o->head_count != 0 ||
        o->dim / o->head_count % 2 != 0 || o->dim / o->head_count > GSRT_HEAD_DIM_MAX)
        return refuse(diag, "dim", o->dim, "use a multiple of 32 whose share per head is even and at most 512");
    if (o->hidden == 0 || o->hidden > 262144 || o->hidden % 32 != 0)
        return refuse(diag, "hidden", o->hidden, "use a multiple of 32 up to 262144");
    if (o->layer_count == 0 || o->layer_count > GSRT_LAYER_COUNT_MAX)
        return refuse(diag, "layers", o->layer_count, "use 1 to 1024");
    if (o->vocab_count < GSRT_RANDMODEL_VOCAB_MIN || o->vocab_count > GSRT_RANDMODEL_VOCAB_MAX)
        return refuse(diag, "vocab", o->vocab_count, "use 355 to 524288");
    if (o->context == 0 || o->context > GSRT_CONTEXT_MAX)
        return refuse(diag, "context", o->context, "use 1 to 1048576");
    return GSRT_OK;
}

/* ---- the list of tensors ---- */

static uint32_t tensor_count_of(const gsrt_randmodel_options *o)
{
    return (o->is_tied ? 2u : 3u) + 9u * o->layer_count;
}

static tensor tensor_at(const gsrt_randmodel_options *o, uint32_t number)
{
    uint32_t kv_dim = o->dim / o->head_count * o->kv_head_count;
    const struct {
        const char *name;
        uint32_t k, rows;
    } parts[9] = {
        {"attn_norm", o->dim, 0},        {"attn_q", o->dim, o->dim},      {"attn_k", o->dim, kv_dim},
        {"attn_v", o->dim, kv_dim},      {"attn_output", o->dim, o->dim}, {"ffn_norm", o->dim, 0},
        {"ffn_gate", o->dim, o->hidden}, {"ffn_up", o->dim, o->hidden},   {"ffn_down", o->hidden, o->dim},
    };
    tensor t = {.dtype = o->dtype};
    uint32_t head = o->is_tied ? 2 : 3;
    if (number >= head) {
        uint32_t part = (number - head) % 9;
        snprintf(t.name, sizeof t.name, "blk.%u.%s.weight", (number - head) / 9, parts[part].name);
        t.k = parts[part].k;
        t.rows = parts[part].rows;
    } else {
        static const char *const names[3] = {"token_embd.weight", "output_norm.weight", "output.weight"};
        snprintf(t.name, sizeof t.name, "%s", names[number]);
        t.k = o->dim;
        t.rows = number == 1 ? 0 : o->vocab_count;
    }
    if (t.rows == 0)
        t.dtype = GSRT_DTYPE_F32;
    bool is_embedding = number == 0 && !o->is_tied;
    t.deviation = is_embedding ? 1.0 : 1.0 / sqrt((double)t.k);
    return t;
}

static uint64_t tensor_bytes(const tensor *t)
{
    uint64_t elements = (uint64_t)t->k * (t->rows == 0 ? 1 : t->rows);
    return elements / gsrt_dtype_block(t->dtype) * gsrt_dtype_block_bytes(t->dtype);
}

uint64_t gsrt_randmodel_token_bytes(const gsrt_randmodel_options *options)
{
    uint64_t bytes = 0;
    for (uint32_t i = options->is_tied ? 0 : 1; i < tensor_count_of(options); i++) {
        tensor t = tensor_at(options, i);
        bytes += t.rows == 0 ? 0 : tensor_bytes(&t);
    }
    return bytes;
}

/* ---- metadata; `ok` collects failures so that the writers read as a list ---- */

typedef struct writer {
    gsrt_buffer buffer;
    uint64_t key_count;
    gsrt_status status;
} writer;

static void put(writer *w, const void *data, size_t len)
{
    if (w->status == GSRT_OK)
        w->status = gsrt_buffer_append(&w->buffer, data, len);
}

static void put_u32(writer *w, uint32_t value)
{
    put(w, &value, sizeof value);
}

static void put_u64(writer *w, uint64_t value)
{
    put(w, &value, sizeof value);
}

static void put_text(writer *w, const char *text)
{
    put_u64(w, strlen(text));
    put(w, text, strlen(text));
}

static void key(writer *w, const char *name, uint32_t type)
{
    put_text(w, name);
    put_u32(w, type);
    w->key_count++;
}

static void key_u32(writer *w, const char *name, uint32_t value)
{
    key(w, name, TYPE_U32);
    put_u32(w, value);
}

static void key_f32(writer *w, const char *name, float value)
{
    key(w, name, TYPE_F32);
    put(w, &value, sizeof value);
}

static void key_bool(writer *w, const char *name, bool value)
{
    uint8_t byte = value;
    key(w, name, TYPE_BOOL);
    put(w, &byte, 1);
}

static void key_text(writer *w, const char *name, const char *text)
{
    key(w, name, TYPE_STRING);
    put_text(w, text);
}

static void key_array(writer *w, const char *name, uint32_t type, uint64_t count)
{
    key(w, name, TYPE_ARRAY);
    put_u32(w, type);
    put_u64(w, count);
}

/* Words number 0, 1, ...: all strings of 1, 2, 3, ... letters; each twice, with a leading U+2581 (SentencePiece's
 * space) and without; of one letter only the former, since the bare letters are among the printable ASCII. */
static void word_at(uint32_t number, char *out, size_t size)
{
    uint32_t of_length = 26, length = 1, kinds = 1;
    while (number >= of_length * kinds) {
        number -= of_length * kinds;
        of_length *= 26;
        length++;
        kinds = 2;
    }
    char letters[16] = {0};
    bool has_space = length == 1 || number % 2 == 0;
    uint32_t digits = length == 1 ? number : number / 2;
    for (uint32_t i = length; i-- > 0; digits /= 26)
        letters[i] = (char)('a' + digits % 26);
    snprintf(out, size, "%s%s", has_space ? "\u2581" : "", letters);
}

static void token_at(uint32_t number, char *out, size_t size)
{
    static const char *const special[3] = {"<unk>", "<s>", "</s>"};
    if (number < 3)
        snprintf(out, size, "%s", special[number]);
    else if (number < 259)
        snprintf(out, size, "<0x%02X>", number - 3);
    else if (number == 259)
        snprintf(out, size, "\u2581");
    else if (number < WORDS_FIRST)
        snprintf(out, size, "%c", (int)('!' + (number - 260)));
    else
        word_at(number - WORDS_FIRST, out, size);
}

static void put_tokenizer(writer *w, const gsrt_randmodel_options *o)
{
    key_text(w, "tokenizer.ggml.model", "llama");
    key_text(w, "tokenizer.ggml.pre", "default");
    key_array(w, "tokenizer.ggml.tokens", TYPE_STRING, o->vocab_count);
    for (uint32_t i = 0; i < o->vocab_count; i++) {
        char text[32];
        token_at(i, text, sizeof text);
        put_text(w, text);
    }
    key_array(w, "tokenizer.ggml.scores", TYPE_F32, o->vocab_count);
    for (uint32_t i = 0; i < o->vocab_count; i++) {
        float score = i < 259 ? 0.0f : -(float)(i - 259);
        put(w, &score, sizeof score);
    }
    key_array(w, "tokenizer.ggml.token_type", TYPE_I32, o->vocab_count);
    for (uint32_t i = 0; i < o->vocab_count; i++)
        put_u32(w, i == 0 ? TOKEN_UNKNOWN : i < 3 ? TOKEN_CONTROL : i < 259 ? TOKEN_BYTE : TOKEN_NORMAL);
    key_u32(w, "tokenizer.ggml.bos_token_id", 1);
    key_u32(w, "tokenizer.ggml.eos_token_id", 2);
    key_u32(w, "tokenizer.ggml.unknown_token_id", 0);
    key_bool(w, "tokenizer.ggml.add_bos_token", true);
    key_bool(w, "tokenizer.ggml.add_eos_token", false);
}

/* general.file_type: llama.cpp's number for "mostly this format". */
static uint32_t file_type_of(gsrt_dtype dtype)
{
    switch (dtype) {
    case GSRT_DTYPE_F32: return 0;
    case GSRT_DTYPE_F16: return 1;
    case GSRT_DTYPE_Q4_0: return 2;
    case GSRT_DTYPE_Q8_0: return 7;
    case GSRT_DTYPE_BF16: return 32;
    case GSRT_DTYPE_MXFP4:
    case GSRT_DTYPE_F8_E4M3:
    case GSRT_DTYPE_NVFP4: break; /* refused by gsrt_randmodel_check */
    }
    return 0;
}

static void put_metadata(writer *w, const gsrt_randmodel_options *o)
{
    key_text(w, "general.architecture", "llama");
    key_text(w, "general.name", "random weights");
    key_u32(w, "general.file_type", file_type_of(o->dtype));
    key_u32(w, "general.quantization_version", 2);
    key_u32(w, "general.alignment", ALIGNMENT);
    key_u32(w, "llama.context_length", o->context);
    key_u32(w, "llama.embedding_length", o->dim);
    key_u32(w, "llama.block_count", o->layer_count);
    key_u32(w, "llama.feed_forward_length", o->hidden);
    key_u32(w, "llama.attention.head_count", o->head_count);
    key_u32(w, "llama.attention.head_count_kv", o->kv_head_count);
    key_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    key_u32(w, "llama.rope.dimension_count", o->dim / o->head_count);
    key_f32(w, "llama.rope.freq_base", 10000.0f);
    key_u32(w, "llama.vocab_size", o->vocab_count);
    put_tokenizer(w, o);
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put_tensor_table(writer *w, const gsrt_randmodel_options *o)
{
    uint64_t offset = 0;
    for (uint32_t i = 0; i < tensor_count_of(o); i++) {
        tensor t = tensor_at(o, i);
        put_text(w, t.name);
        put_u32(w, t.rows == 0 ? 1 : 2);
        put_u64(w, t.k);
        if (t.rows != 0)
            put_u64(w, t.rows);
        put_u32(w, (uint32_t)t.dtype);
        put_u64(w, offset);
        offset = aligned(offset + tensor_bytes(&t));
    }
}

/* Header, metadata and tensor table, padded to where the data starts. */
static void put_head(writer *w, const gsrt_randmodel_options *o)
{
    uint64_t key_count_at = 16;
    put(w, "GGUF", 4);
    put_u32(w, 3);
    put_u64(w, tensor_count_of(o));
    put_u64(w, 0);
    put_metadata(w, o);
    if (w->status == GSRT_OK)
        memcpy(w->buffer.data + key_count_at, &w->key_count, sizeof w->key_count);
    put_tensor_table(w, o);
    static const uint8_t zeros[ALIGNMENT];
    put(w, zeros, (size_t)(aligned(w->buffer.len) - w->buffer.len));
}

/* ---- weights ---- */

/* To the nearest f16, ties to even; |value| must round into the normal range or be 0 (asserted by the table's caller:
 * smaller ones become 0, which is what a weight that small is worth). */
static uint16_t f16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude < 0x38800000u) /* below 2^-14 */
        return (uint16_t)sign;
    magnitude += 0xfffu + (magnitude >> 13 & 1u);
    uint32_t half = (magnitude - 0x38000000u) >> 13;
    return (uint16_t)(sign | (half > 0x7bffu ? 0x7bffu : half));
}

static uint16_t bf16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

typedef struct source {
    uint32_t key[2];
    uint32_t stream;
    uint64_t counter;
} source;

static void draw(source *from, uint8_t *out, size_t bytes) /* bytes: a multiple of 16 */
{
    for (size_t i = 0; i < bytes; i += 16) {
        uint32_t counter[4] = {(uint32_t)from->counter, (uint32_t)(from->counter >> 32), from->stream, 0x6d6b6d64u};
        uint32_t block[4];
        gsrt_random_block(counter, from->key, block);
        memcpy(out + i, block, 16);
        from->counter++;
    }
}

typedef struct scratch {
    uint8_t random[CHUNK_RANDOM_BYTES];
    uint8_t out[2 * CHUNK_RANDOM_BYTES]; /* f32 and f16 take 16 bits of randomness per weight */
    float value_of[CODES];               /* uniform over [-1, 1] * sqrt(3) * deviation */
    uint16_t half_of[CODES];             /* the same as f16 or bf16 */
    uint16_t scale_of[CODES];            /* f16 scales of quantised blocks: 0.5 to 1.5 times the mean */
} scratch;

static void fill_tables(scratch *s, const tensor *t)
{
    /* deviation of uniform integers -127..127 is 73.3, of -8..7 is 4.6 */
    double mean_scale = t->deviation / (t->dtype == GSRT_DTYPE_Q4_0 ? 4.6 : 73.3);
    for (uint32_t i = 0; i < CODES; i++) {
        double unit = ((double)i + 0.5) / (CODES / 2) - 1.0;
        s->value_of[i] = t->rows == 0 ? (float)(1.0 + 0.1 * unit) : (float)(unit * sqrt(3.0) * t->deviation);
        s->half_of[i] = t->dtype == GSRT_DTYPE_BF16 ? bf16_of(s->value_of[i]) : f16_of(s->value_of[i]);
        s->scale_of[i] = f16_of((float)(mean_scale * (1.0 + 0.5 * unit)));
    }
}

/* Turn `blocks` blocks of randomness into blocks of the format, in s->out. Returns bytes written. */
static size_t convert(scratch *s, gsrt_dtype dtype, size_t blocks)
{
    const uint8_t *from = s->random;
    uint8_t *to = s->out;
    size_t random_bytes = dtype == GSRT_DTYPE_Q8_0 ? 34 : dtype == GSRT_DTYPE_Q4_0 ? 18 : 2;
    for (size_t i = 0; i < blocks; i++, from += random_bytes) {
        uint16_t code;
        memcpy(&code, from, sizeof code);
        switch (dtype) {
        case GSRT_DTYPE_F32:
            memcpy(to, &s->value_of[code], 4);
            to += 4;
            break;
        case GSRT_DTYPE_F16:
        case GSRT_DTYPE_BF16:
            memcpy(to, &s->half_of[code], 2);
            to += 2;
            break;
        case GSRT_DTYPE_Q8_0:
        case GSRT_DTYPE_Q4_0:
            memcpy(to, &s->scale_of[code], 2);
            memcpy(to + 2, from + 2, random_bytes - 2);
            for (size_t j = 2; dtype == GSRT_DTYPE_Q8_0 && j < 34; j++)
                to[j] = to[j] == 0x80 ? 0x81 : to[j]; /* quantisers write -127..127 */
            to += random_bytes;
            break;
        case GSRT_DTYPE_MXFP4:
        case GSRT_DTYPE_F8_E4M3:
        case GSRT_DTYPE_NVFP4: break; /* refused by gsrt_randmodel_check */
        }
    }
    return (size_t)(to - s->out);
}

static gsrt_status write_tensor(FILE *file, const gsrt_randmodel_options *o, uint32_t number, scratch *s)
{
    tensor t = tensor_at(o, number);
    source from = {.key = {(uint32_t)o->seed, (uint32_t)(o->seed >> 32)}, .stream = number};
    size_t random_bytes = t.dtype == GSRT_DTYPE_Q8_0 ? 34 : t.dtype == GSRT_DTYPE_Q4_0 ? 18 : 2;
    uint64_t blocks = tensor_bytes(&t) / gsrt_dtype_block_bytes(t.dtype);
    size_t blocks_at_once = CHUNK_RANDOM_BYTES / random_bytes;
    fill_tables(s, &t);
    for (uint64_t done = 0; done < blocks;) {
        size_t now = blocks - done < blocks_at_once ? (size_t)(blocks - done) : blocks_at_once;
        draw(&from, s->random, (now * random_bytes + 15) / 16 * 16);
        size_t bytes = convert(s, t.dtype, now);
        if (fwrite(s->out, 1, bytes, file) != bytes)
            return GSRT_EIO;
        done += now;
    }
    static const uint8_t zeros[ALIGNMENT];
    size_t padding = (size_t)(aligned(tensor_bytes(&t)) - tensor_bytes(&t));
    return fwrite(zeros, 1, padding, file) == padding ? GSRT_OK : GSRT_EIO;
}

static gsrt_status write_file(const gsrt_randmodel_options *o, FILE *file, scratch *s, uint64_t *out_bytes)
{
    writer head = {.status = GSRT_OK};
    gsrt_buffer_init(&head.buffer, HEADER_BYTES_MAX);
    put_head(&head, o);
    uint64_t bytes = head.buffer.len;
    gsrt_status status = head.status;
    if (status == GSRT_OK && fwrite(head.buffer.data, 1, head.buffer.len, file) != head.buffer.len)
        status = GSRT_EIO;
    gsrt_buffer_fini(&head.buffer);
    for (uint32_t i = 0; status == GSRT_OK && i < tensor_count_of(o); i++) {
        tensor t = tensor_at(o, i);
        status = write_tensor(file, o, i, s);
        bytes += aligned(tensor_bytes(&t));
    }
    if (status == GSRT_OK)
        *out_bytes = bytes;
    return status;
}

gsrt_status gsrt_randmodel_write(const gsrt_randmodel_options *options, const char *path, uint64_t *out_bytes,
                                 gsrt_diag *diag)
{
    gsrt_status status = gsrt_randmodel_check(options, diag);
    if (status != GSRT_OK)
        return status;
    scratch *s = malloc(sizeof *s);
    if (s == NULL)
        return gsrt_diag_set(diag, GSRT_ENOMEM, path, NULL, "no memory for the buffers; free some");
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        free(s);
        return gsrt_diag_set(diag, GSRT_EIO, path, NULL, "cannot be written: %s; name another file", strerror(errno));
    }
    uint64_t bytes = 0;
    status = write_file(options, file, s, &bytes);
    int error = errno;
    if (fclose(file) != 0 && status == GSRT_OK) {
        error = errno;
        status = GSRT_EIO;
    }
    free(s);
    if (status != GSRT_OK) {
        unlink(path);
        return gsrt_diag_set(diag, status, path, NULL, "could not be written: %s; free space or name another file",
                             status == GSRT_EIO ? strerror(error) : gsrt_status_text(status));
    }
    if (out_bytes != NULL)
        *out_bytes = bytes;
    return GSRT_OK;
}
