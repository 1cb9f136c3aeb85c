/* Any bytes as text, with two small vocabularies that have a token for every byte: decoding gives the text back
 * (U+2581, SentencePiece's space, as a space), and incremental UTF-8 does not depend on where the text is cut.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model/tokenizer.h"
#include "model/utf8.h"
#include "tests/model/gguf_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES = 256, TEXT_BYTES = 8, COUNT_MAX = 320 };

static void must(bool is_true)
{
    if (!is_true)
        abort();
}

typedef struct vocabulary {
    char bytes[BYTES][TEXT_BYTES];
    const char *texts[COUNT_MAX];
    int32_t types[COUNT_MAX];
    float scores[COUNT_MAX];
    size_t count;
} vocabulary;

static void add(vocabulary *v, const char *text, int32_t type)
{
    v->texts[v->count] = text;
    v->types[v->count] = type;
    v->scores[v->count] = -(float)(v->count * 7 % 31);
    v->count++;
}

static gsrt_tokenizer *finish(gguf_writer *w, const vocabulary *v)
{
    gsrt_buffer file;
    gsrt_gguf *gguf = NULL;
    gsrt_tokenizer *tokenizer = NULL;
    gguf_texts(w, "tokenizer.ggml.tokens", v->texts, v->count);
    gguf_array(w, "tokenizer.ggml.token_type", GSRT_GGUF_I32, v->count, v->types, v->count * sizeof v->types[0]);
    gguf_array(w, "tokenizer.ggml.scores", GSRT_GGUF_F32, v->count, v->scores, v->count * sizeof v->scores[0]);
    gguf_end(w, &file);
    must(gsrt_gguf_open_span(gsrt_buffer_span(&file), "fuzz", &gguf, NULL) == GSRT_OK);
    must(gsrt_tokenizer_create(gguf, &tokenizer, NULL) == GSRT_OK);
    gsrt_gguf_free(gguf);
    gsrt_buffer_fini(&file);
    return tokenizer;
}

/* `last` may end the list with a token that spans the start of a word, so that words are not encoded one by one. */
static gsrt_tokenizer *make_spm(const char *last)
{
    static const char *const texts[] = {"\xe2\x96\x81",
                                        "a",
                                        "b",
                                        "ab",
                                        "\342\226\201a",
                                        "\xe2\x96\x81\xe2\x96\x81",
                                        "ba",
                                        "\xc3\xa9",
                                        "e",
                                        "aba",
                                        "\xe2\x96\x81\xe2\x96\x81\xe2\x96\x81",
                                        "aa",
                                        "aaaa"};
    vocabulary v = {.count = 0};
    gguf_writer w;
    add(&v, "<unk>", 2);
    add(&v, "<s>", 3);
    add(&v, "</s>", 3);
    for (unsigned b = 0; b < BYTES; b++) {
        (void)snprintf(v.bytes[b], TEXT_BYTES, "<0x%02X>", b);
        add(&v, v.bytes[b], 6);
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        add(&v, texts[i], 1);
    if (last != NULL)
        add(&v, last, 1);
    gguf_begin(&w);
    gguf_text(&w, "tokenizer.ggml.model", "llama");
    return finish(&w, &v);
}

static gsrt_tokenizer *make_bpe(const char *pre)
{
    static const char *const merged[] = {"ab", "aba", "\304\240a", "\xc4\xa0\xc4\xa0", "aa", "\xc3\x83\xc2\xa9"};
    static const char *const merges[] = {"a b", "ab a", "\xc4\xa0 a", "\xc4\xa0 \xc4\xa0", "a a", "\xc3\x83 \xc2\xa9"};
    vocabulary v = {.count = 0};
    gguf_writer w;
    unsigned other = 256;
    for (unsigned b = 0; b < BYTES; b++) {
        unsigned code = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad) ? b : other++;
        if (code < 0x80)
            (void)snprintf(v.bytes[b], TEXT_BYTES, "%c", (int)code);
        else
            (void)snprintf(v.bytes[b], TEXT_BYTES, "%c%c", (int)(0xc0 | code >> 6), (int)(0x80 | (code & 0x3f)));
        add(&v, v.bytes[b], 1);
    }
    for (size_t i = 0; i < sizeof merged / sizeof merged[0]; i++)
        add(&v, merged[i], 1);
    gguf_begin(&w);
    gguf_text(&w, "tokenizer.ggml.model", "gpt2");
    gguf_text(&w, "tokenizer.ggml.pre", pre);
    gguf_texts(&w, "tokenizer.ggml.merges", merges, sizeof merges / sizeof merges[0]);
    return finish(&w, &v);
}

/* What decoding must give: the text, with SentencePiece's mark as a space. */
static void write_expected(gsrt_span text, bool is_spm, gsrt_buffer *out)
{
    for (size_t i = 0; i < text.len;) {
        bool is_mark = is_spm && text.len - i >= 3 && memcmp(text.data + i, "\xe2\x96\x81", 3) == 0;
        must(gsrt_buffer_append(out, is_mark ? (const uint8_t *)" " : text.data + i, 1) == GSRT_OK);
        i += is_mark ? 3 : 1;
    }
}

static void check(gsrt_tokenizer *tokenizer, gsrt_span text)
{
    uint32_t *ids = NULL;
    size_t count = 0;
    gsrt_buffer decoded, expected, cut, whole;
    gsrt_utf8 by_token, at_once;
    gsrt_buffer_init(&decoded, 1 << 24);
    gsrt_buffer_init(&expected, 1 << 24);
    gsrt_buffer_init(&cut, 1 << 24);
    gsrt_buffer_init(&whole, 1 << 24);
    gsrt_utf8_init(&by_token);
    gsrt_utf8_init(&at_once);
    must(gsrt_tokenizer_encode(tokenizer, text, &(gsrt_encode_options){0}, &ids, &count, NULL) == GSRT_OK);
    for (size_t i = 0; i < count; i++) {
        gsrt_span piece = gsrt_tokenizer_piece(tokenizer, ids[i], i == 0 ? GSRT_TOKEN_NONE : ids[i - 1]);
        must(gsrt_buffer_append(&decoded, piece.data, piece.len) == GSRT_OK);
        must(gsrt_utf8_push(&by_token, piece, &cut) == GSRT_OK);
    }
    write_expected(text, gsrt_tokenizer_kind(tokenizer)[0] == 'l', &expected);
    must(gsrt_span_equal(gsrt_buffer_span(&decoded), gsrt_buffer_span(&expected)));
    must(gsrt_utf8_flush(&by_token, &cut) == GSRT_OK);
    must(gsrt_utf8_push(&at_once, gsrt_buffer_span(&decoded), &whole) == GSRT_OK);
    must(gsrt_utf8_flush(&at_once, &whole) == GSRT_OK);
    must(gsrt_span_equal(gsrt_buffer_span(&cut), gsrt_buffer_span(&whole)));
    gsrt_buffer_fini(&decoded);
    gsrt_buffer_fini(&expected);
    gsrt_buffer_fini(&cut);
    gsrt_buffer_fini(&whole);
    free(ids);
    gsrt_tokenizer_free(tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const pres[] = {"default",      "gpt-2", "llama-bpe", "deepseek-coder",
                                       "deepseek-llm", "qwen2", "starcoder"};
    gsrt_span text = gsrt_span_of(data, size < 4096 ? size : 4096);
    check(make_spm(NULL), text);
    check(make_spm("a\xe2\x96\x81"), text);
    unsigned which = size > 0 ? data[0] % (sizeof pres / sizeof pres[0]) : 0;
    check(make_bpe(pres[which]), text);
    return 0;
}
