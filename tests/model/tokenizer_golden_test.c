/* Real vocabularies: exactly the ids that llama.cpp's own tests expect, and back to the same text. Inputs that broke
 * other tokenizers. Needs the shared data. */
#include "model/tokenizer.h"

#include <string.h>

#include "model/utf8.h"
#include "tests/model/shared_data.h"
#include "tests/unit.h"

static const char separator[] = "\n__ggml_vocab_test__\n";

static gsrt_tokenizer *load(const char *name)
{
    char path[512];
    shared_path(path, sizeof path, name);
    gsrt_gguf *gguf = NULL;
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_gguf_open(path, &gguf, &diag) == GSRT_OK, "%s", diag.text);
    gsrt_tokenizer *tokenizer = NULL;
    gsrt_status status = gsrt_tokenizer_create(gguf, &tokenizer, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    gsrt_gguf_free(gguf);
    return tokenizer;
}

/* Decoding gives the text back. */
static void check_round_trip(const gsrt_tokenizer *t, gsrt_span text, const uint32_t *ids, size_t count)
{
    gsrt_buffer out;
    gsrt_buffer_init(&out, 1 << 20);
    gsrt_utf8 utf8;
    gsrt_utf8_init(&utf8);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(
            gsrt_utf8_push(&utf8, gsrt_tokenizer_piece(t, ids[i], i == 0 ? GSRT_TOKEN_NONE : ids[i - 1]), &out),
            GSRT_OK);
    ck_assert_int_eq(gsrt_utf8_flush(&utf8, &out), GSRT_OK);
    ck_assert_msg(gsrt_span_equal(gsrt_buffer_span(&out), text), "'%.*s' became '%.*s'", (int)text.len,
                  (const char *)text.data, (int)out.len, (const char *)out.data);
    gsrt_buffer_fini(&out);
}

/* One input and its line of expected ids; returns the line behind it. */
static const char *check_input(const gsrt_tokenizer *t, size_t number, gsrt_span text, const char *line)
{
    uint32_t *ids = NULL;
    size_t count = 0, at = 0;
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_tokenizer_encode(t, text, &(gsrt_encode_options){0}, &ids, &count, &diag);
    ck_assert_msg(status == GSRT_OK, "input %zu: %s", number, diag.text);
    while (*line != '\n' && *line != 0) {
        char *end;
        unsigned long wanted = strtoul(line, &end, 10);
        if (end == line)
            break;
        ck_assert_msg(at < count && ids[at] == wanted, "input %zu '%.*s', place %zu: wanted %lu, got %ld", number,
                      (int)text.len, (const char *)text.data, at, wanted, at < count ? (long)ids[at] : -1L);
        line = end;
        at++;
    }
    ck_assert_msg(at == count, "input %zu: wanted %zu ids, got %zu", number, at, count);
    check_round_trip(t, text, ids, count);
    free(ids);
    const char *next = strchr(line, '\n');
    return next == NULL ? "" : next + 1;
}

static void check_vocabulary(const char *name)
{
    char path[128];
    gsrt_tokenizer *tokenizer = load(name);
    (void)snprintf(path, sizeof path, "%s.inp", name);
    gsrt_span inputs = read_shared(path);
    (void)snprintf(path, sizeof path, "%s.out", name);
    gsrt_span outputs = read_shared(path);
    ck_assert(inputs.data != NULL && outputs.data != NULL);
    const char *text = (const char *)inputs.data, *line = (const char *)outputs.data;
    size_t number = 0;
    for (const char *end; (end = strstr(text, separator)) != NULL; text = end + strlen(separator)) {
        line = check_input(tokenizer, number++, gsrt_span_of(text, (size_t)(end - text)), line);
    }
    ck_assert_msg(*line == 0, "the expected ids go on: '%.40s'", line);
    ck_assert_uint_ge(number, 40);
    printf("%s: %zu inputs\n", name, number);
    free((void *)(uintptr_t)inputs.data);
    free((void *)(uintptr_t)outputs.data);
    gsrt_tokenizer_free(tokenizer);
}

START_TEST(gpt2_ids)
{
    check_vocabulary("models/tokenizers/ggml-vocab-gpt-2.gguf");
}
END_TEST

START_TEST(llama_spm_ids)
{
    check_vocabulary("models/tokenizers/ggml-vocab-llama-spm.gguf");
}
END_TEST

START_TEST(deepseek_coder_ids)
{
    check_vocabulary("models/tokenizers/ggml-vocab-deepseek-coder.gguf");
}
END_TEST

/* The bytes that a vocabulary gives back are the bytes that went in, valid or not. */
static void check_bytes(const gsrt_tokenizer *t, gsrt_span text)
{
    uint32_t *ids = NULL;
    size_t count = 0;
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_tokenizer_encode(t, text, &(gsrt_encode_options){0}, &ids, &count, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    gsrt_buffer out;
    gsrt_buffer_init(&out, 1 << 20);
    for (size_t i = 0; i < count; i++) {
        gsrt_span piece = gsrt_tokenizer_piece(t, ids[i], i == 0 ? GSRT_TOKEN_NONE : ids[i - 1]);
        ck_assert_int_eq(gsrt_buffer_append(&out, piece.data, piece.len), GSRT_OK);
    }
    ck_assert(gsrt_span_equal(gsrt_buffer_span(&out), text));
    gsrt_buffer_fini(&out);
    free(ids);
}

START_TEST(inputs_that_broke_others)
{
    static const char *const names[] = {"llamacpp-11729-partial-utf8.bin", "llamacpp-2580-fullwidth-question.txt",
                                        "llamacpp-8691-full-char.bin", "llamacpp-8691-partial-utf8.bin"};
    gsrt_tokenizer *spm = load("models/tokenizers/ggml-vocab-llama-spm.gguf");
    gsrt_tokenizer *bpe = load("models/tokenizers/ggml-vocab-gpt-2.gguf");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char name[128];
        (void)snprintf(name, sizeof name, "bugs/tokenizer/%s", names[i]);
        gsrt_span text = read_shared(name);
        ck_assert_msg(text.data != NULL, "%s", name);
        check_bytes(spm, text);
        check_bytes(bpe, text);
        free((void *)(uintptr_t)text.data);
    }
    gsrt_tokenizer_free(spm);
    gsrt_tokenizer_free(bpe);
}
END_TEST

/* Every byte, and every pair of a few nasty ones, comes back as it was. */
START_TEST(any_bytes_round_trip)
{
    static const uint8_t nasty[] = {0x00, 0x20, 0x0a, 0x41, 0x80, 0xbf, 0xc0, 0xc3,
                                    0xe2, 0x96, 0x81, 0xed, 0xa0, 0xf0, 0xf4, 0xff};
    gsrt_tokenizer *spm = load("models/tokenizers/ggml-vocab-llama-spm.gguf");
    gsrt_tokenizer *bpe = load("models/tokenizers/ggml-vocab-gpt-2.gguf");
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t text[1] = {(uint8_t)byte};
        check_bytes(spm, gsrt_span_of(text, 1));
        check_bytes(bpe, gsrt_span_of(text, 1));
    }
    for (size_t i = 0; i < sizeof nasty * sizeof nasty; i++) {
        uint8_t text[4] = {'a', nasty[i / sizeof nasty], nasty[i % sizeof nasty], 'b'};
        check_bytes(spm, gsrt_span_of(text, 4));
        check_bytes(bpe, gsrt_span_of(text, 4));
    }
    gsrt_tokenizer_free(spm);
    gsrt_tokenizer_free(bpe);
}
END_TEST

/* Texts on which a quadratic tokenizer takes minutes; the test just has to end. */
static void check_long_prompts(const char *vocabulary)
{
    static const char *const units[] = {"a", " ", "\n", "1", "\xe6\xad", "ab \n", "\xe2\x96\x80", "!"};
    const size_t len = 1 << 16;
    char *text = malloc(len);
    ck_assert_ptr_nonnull(text);
    gsrt_tokenizer *t = load(vocabulary);
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        for (size_t i = 0; i < len; i++)
            text[i] = units[u][i % strlen(units[u])];
        check_bytes(t, gsrt_span_of(text, len));
    }
    gsrt_tokenizer_free(t);
    free(text);
}

START_TEST(long_prompts_spm)
{
    check_long_prompts("models/tokenizers/ggml-vocab-llama-spm.gguf");
}
END_TEST

START_TEST(long_prompts_gpt2)
{
    check_long_prompts("models/tokenizers/ggml-vocab-gpt-2.gguf");
}
END_TEST

START_TEST(long_prompts_deepseek_coder)
{
    check_long_prompts("models/tokenizers/ggml-vocab-deepseek-coder.gguf");
}
END_TEST

/* The small model: what the golden prompt must become, and how its text reads. */
START_TEST(stories_prompt)
{
    static const uint32_t wanted[] = {1, 291, 400, 428, 269, 265, 280, 294, 263, 377, 267, 265};
    gsrt_tokenizer *t = load("models/stories260K/stories260K-f32.gguf");
    uint32_t *ids = NULL;
    size_t count = 0;
    gsrt_encode_options options = {.is_framed = true};
    ck_assert_int_eq(
        gsrt_tokenizer_encode(t, gsrt_span_of_text("The dog and the cat went to the"), &options, &ids, &count, NULL),
        GSRT_OK);
    for (size_t i = 0; i < count && i < sizeof wanted / sizeof wanted[0]; i++)
        ck_assert_uint_eq(ids[i], wanted[i]);
    gsrt_span once = gsrt_tokenizer_piece(t, 403, gsrt_tokenizer_bos(t));
    ck_assert(gsrt_span_equal(once, gsrt_span_of_text("Once")));
    once = gsrt_tokenizer_piece(t, 403, 407);
    ck_assert(gsrt_span_equal(once, gsrt_span_of_text(" Once")));
    ck_assert(gsrt_tokenizer_is_stop(t, 2));
    ck_assert(!gsrt_tokenizer_is_stop(t, 403));
    free(ids);
    gsrt_tokenizer_free(t);
}
END_TEST

int main(void)
{
    if (shared_is_absent("tokenizer_golden_test", "models/tokenizers"))
        return SKIPPED;
    (void)setenv("CK_DEFAULT_TIMEOUT", "300", 0); /* sanitizers and busy machines are slow */
    const TTest *tests[] = {gpt2_ids,
                            llama_spm_ids,
                            deepseek_coder_ids,
                            inputs_that_broke_others,
                            any_bytes_round_trip,
                            long_prompts_spm,
                            long_prompts_gpt2,
                            long_prompts_deepseek_coder,
                            stories_prompt};
    return unit_run("tokenizer_golden", tests, sizeof tests / sizeof tests[0]);
}
