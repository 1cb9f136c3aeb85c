/* Tokenizers from crafted files: how texts are cut and merged, and the tables that are refused. Real vocabularies are
 * in tokenizer_golden_test.c. */
#include "model/tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/model/gguf_writer.h"
#include "tests/unit.h"

#define MARK "\xe2\x96\x81"

enum { SPM_COUNT = 20 };
static const char *const spm_texts[SPM_COUNT] = {"<unk>",  "<s>",    "</s>",    "<0x0A>",  "<0xC3>", MARK,     "a",
                                                 "b",      "c",      "ab",      MARK "ab", "bc",     "<tool>", "<t",
                                                 "<0xE6>", "<0xAD>", MARK MARK, "<0x64>",  "s",      "<"};
static const int32_t spm_types[SPM_COUNT] = {2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1, 1, 4, 1, 6, 6, 1, 6, 1, 1};
static const float spm_scores[SPM_COUNT] = {0, 0, 0, 0, 0, -9, -9, -9, -9, -1, -2, -3, 0, -4, 0, 0, -5, 0, -9, -9};

static void write_spm(gguf_writer *w)
{
    gguf_begin(w);
    gguf_text(w, "tokenizer.ggml.model", "llama");
    gguf_texts(w, "tokenizer.ggml.tokens", spm_texts, SPM_COUNT);
}

static void write_spm_tables(gguf_writer *w)
{
    write_spm(w);
    gguf_array(w, "tokenizer.ggml.scores", GSRT_GGUF_F32, SPM_COUNT, spm_scores, sizeof spm_scores);
    gguf_array(w, "tokenizer.ggml.token_type", GSRT_GGUF_I32, SPM_COUNT, spm_types, sizeof spm_types);
}

/* Byte-level: one token per byte (in byte order), then these. */
static const char *const bpe_merged[] = {"ab", "\304\240ab", "abc", "<|end|>", "\304\240a"};
enum { BPE_COUNT = 261 };

static void write_bpe(gguf_writer *w, const char *pre, const char *const *merges, size_t merge_count)
{
    static char bytes[256][4];
    const char *texts[BPE_COUNT];
    int32_t types[BPE_COUNT];
    unsigned other = 256;
    for (unsigned b = 0; b < 256; b++) {
        bool is_printable = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad);
        unsigned code = is_printable ? b : other++;
        if (code < 0x80)
            (void)snprintf(bytes[b], sizeof bytes[b], "%c", (int)code);
        else
            (void)snprintf(bytes[b], sizeof bytes[b], "%c%c", (int)(0xc0 | code >> 6), (int)(0x80 | (code & 0x3f)));
        texts[b] = bytes[b];
        types[b] = 1;
    }
    for (unsigned i = 0; i < 5; i++) {
        texts[256 + i] = bpe_merged[i];
        types[256 + i] = i == 3 ? 3 : 1;
    }
    gguf_begin(w);
    gguf_text(w, "tokenizer.ggml.model", "gpt2");
    gguf_text(w, "tokenizer.ggml.pre", pre);
    gguf_texts(w, "tokenizer.ggml.tokens", texts, BPE_COUNT);
    gguf_array(w, "tokenizer.ggml.token_type", GSRT_GGUF_I32, BPE_COUNT, types, sizeof types);
    gguf_texts(w, "tokenizer.ggml.merges", merges, merge_count);
}

static const char *const bpe_merges[] = {"a b", "\xc4\xa0 a", "\xc4\xa0 ab", "ab c"};

static gsrt_status create(gguf_writer *w, gsrt_tokenizer **out, gsrt_diag *diag)
{
    gsrt_buffer file;
    gguf_end(w, &file);
    gsrt_gguf *gguf = NULL;
    gsrt_status status = gsrt_gguf_open_span(gsrt_buffer_span(&file), "m.gguf", &gguf, diag);
    if (status == GSRT_OK)
        status = gsrt_tokenizer_create(gguf, out, diag);
    gsrt_gguf_free(gguf);
    gsrt_buffer_fini(&file); /* the tokenizer does not need the file */
    return status;
}

static gsrt_tokenizer *accept(gguf_writer *w)
{
    gsrt_tokenizer *t = NULL;
    gsrt_diag diag = {0};
    ck_assert_msg(create(w, &t, &diag) == GSRT_OK, "%s", diag.text);
    return t;
}

static void refuse(gguf_writer *w, const char *what)
{
    gsrt_tokenizer *t = NULL;
    gsrt_diag diag = {0};
    gsrt_status status = create(w, &t, &diag);
    ck_assert_msg(status == GSRT_EINPUT, "wanted a refusal with '%s', got %s", what, gsrt_status_name(status));
    ck_assert_msg(strncmp(diag.text, "m.gguf: ", 8) == 0 && strstr(diag.text, what) != NULL, "wanted '%s' in '%s'",
                  what, diag.text);
}

/* The ids of `text`, as decimal numbers with spaces between. */
static void check(const gsrt_tokenizer *t, const char *text, gsrt_encode_options options, const char *wanted)
{
    uint32_t *ids = NULL;
    size_t count = 0, used = 0;
    char got[256] = "";
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_tokenizer_encode(t, gsrt_span_of_text(text), &options, &ids, &count, &diag) == GSRT_OK, "%s",
                  diag.text);
    for (size_t i = 0; i < count && used < sizeof got - 16; i++)
        used += (size_t)snprintf(got + used, sizeof got - used, i == 0 ? "%u" : " %u", ids[i]);
    ck_assert_msg(strcmp(got, wanted) == 0, "'%s': got '%s', wanted '%s'", text, got, wanted);
    free(ids);
}

static const gsrt_encode_options plain = {0}, framed = {.is_framed = true}, special = {.is_special_parsed = true};

START_TEST(spm_merges_the_best_pair_first)
{
    gguf_writer w;
    write_spm_tables(&w);
    gsrt_tokenizer *t = accept(&w);
    check(t, "ab", plain, "10");    /* the space is added: "_ab" */
    check(t, "abc", plain, "10 8"); /* ab (-1) before bc (-3) */
    check(t, "bc", plain, "5 11");
    check(t, "a  b", plain, "5 6 16 7");
    check(t, "", plain, "");
    check(t, "ab", framed, "1 10");
    gsrt_tokenizer_free(t);
}
END_TEST

START_TEST(spm_bytes)
{
    gguf_writer w;
    write_spm_tables(&w);
    gsrt_tokenizer *t = accept(&w);
    check(t, "a\n", plain, "5 6 3");
    check(t, "\xe6\xad", plain, "5 14 15"); /* half a character */
    check(t, "d", plain, "5 17");
    check(t, "z", plain, "5 0"); /* no token and no byte token: unknown */
    gsrt_tokenizer_free(t);
}
END_TEST

START_TEST(spm_special_tokens)
{
    gguf_writer w;
    write_spm_tables(&w);
    gsrt_tokenizer *t = accept(&w);
    check(t, "ab<tool>ab", plain, "10 12 10"); /* user-defined: always found; a space is added behind it */
    check(t, "<s>", plain, "5 19 18 0");       /* control tokens cannot be written */
    check(t, "<s>ab</s>", special, "1 10 2");
    check(t, "<tool><tool>", plain, "12 12");
    gsrt_tokenizer_free(t);
}
END_TEST

START_TEST(spm_pieces)
{
    gguf_writer w;
    write_spm_tables(&w);
    gsrt_tokenizer *t = accept(&w);
    const struct {
        uint32_t token, previous;
        const char *wanted;
    } pieces[] = {
        {10, GSRT_TOKEN_NONE, "ab"}, {10, 1, "ab"}, {10, 6, " ab"}, {16, 1, " "},      {3, 6, "\n"}, {4, 6, "\xc3"},
        {12, 6, "<tool>"},           {1, 6, ""},    {0, 6, ""},     {SPM_COUNT, 6, ""}};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        gsrt_span piece = gsrt_tokenizer_piece(t, pieces[i].token, pieces[i].previous);
        ck_assert_msg(gsrt_span_equal(piece, gsrt_span_of_text(pieces[i].wanted)), "token %u: '%.*s'", pieces[i].token,
                      (int)piece.len, (const char *)piece.data);
    }
    ck_assert(gsrt_tokenizer_is_stop(t, 2) && !gsrt_tokenizer_is_stop(t, 1) &&
              !gsrt_tokenizer_is_stop(t, GSRT_TOKEN_NONE));
    ck_assert(gsrt_tokenizer_bos(t) == 1 && gsrt_tokenizer_eos(t) == 2 && gsrt_tokenizer_adds_bos(t));
    ck_assert_uint_eq(gsrt_tokenizer_count(t), SPM_COUNT);
    ck_assert_str_eq(gsrt_tokenizer_kind(t), "llama");
    gsrt_tokenizer_free(t);
}
END_TEST

START_TEST(bpe_merges_by_rank)
{
    gguf_writer w;
    write_bpe(&w, "gpt-2", bpe_merges, 4);
    gguf_u32(&w, "tokenizer.ggml.eos_token_id", 259);
    gsrt_tokenizer *t = accept(&w);
    check(t, "ab", plain, "256");
    check(t, " ab", plain, "257"); /* "a b" before "_ a" */
    check(t, "abc", plain, "258");
    check(t, " a", plain, "260");
    check(t, "ab ab", plain, "256 257"); /* words do not merge */
    check(t, "a\xff", plain, "97 255");  /* not UTF-8: byte tokens */
    check(t, "<|end|>", special, "259");
    ck_assert(gsrt_tokenizer_is_stop(t, 259));
    gsrt_span piece = gsrt_tokenizer_piece(t, 257, 256);
    ck_assert(gsrt_span_equal(piece, gsrt_span_of_text(" ab")));
    ck_assert_uint_eq(gsrt_tokenizer_piece(t, 259, 256).len, 0);
    gsrt_tokenizer_free(t);
}
END_TEST

START_TEST(every_pre_tokenisation_compiles)
{
    static const char *const names[] = {"default",        "gpt-2",        "llama-bpe", "llama3",   "smaug-bpe",
                                        "deepseek-coder", "deepseek-llm", "qwen2",     "starcoder"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        gguf_writer w;
        write_bpe(&w, names[i], bpe_merges, 4);
        gsrt_tokenizer *t = accept(&w);
        check(t, "ab ab", plain, "256 257");
        check(t, "1234", plain, "49 50 51 52");
        check(t, "a\n\n b", plain, "97 10 10 32 98");
        gsrt_tokenizer_free(t);
    }
}
END_TEST

START_TEST(spm_tables_that_are_refused)
{
    static const uint8_t narrow[SPM_COUNT] = {0};
    float scores[SPM_COUNT] = {0};
    int32_t types[SPM_COUNT] = {0};
    gguf_writer w;
    write_spm(&w);
    refuse(&w, "key 'tokenizer.ggml.scores': is missing");
    write_spm(&w);
    gguf_array(&w, "tokenizer.ggml.scores", GSRT_GGUF_U8, SPM_COUNT, narrow, sizeof narrow);
    refuse(&w, "key 'tokenizer.ggml.scores': is no array of 32-bit floats");
    write_spm(&w);
    gguf_array(&w, "tokenizer.ggml.scores", GSRT_GGUF_F32, SPM_COUNT - 1, scores, sizeof scores - 4);
    refuse(&w, "key 'tokenizer.ggml.scores': has another number of elements");
    write_spm(&w);
    scores[7] = NAN;
    gguf_array(&w, "tokenizer.ggml.scores", GSRT_GGUF_F32, SPM_COUNT, scores, sizeof scores);
    refuse(&w, "holds a score that is not a number");
    write_spm(&w);
    gguf_array(&w, "tokenizer.ggml.token_type", GSRT_GGUF_U8, SPM_COUNT, narrow, sizeof narrow);
    refuse(&w, "key 'tokenizer.ggml.token_type': is no array of 32-bit integers");
    write_spm(&w);
    types[3] = 7;
    gguf_array(&w, "tokenizer.ggml.token_type", GSRT_GGUF_I32, SPM_COUNT, types, sizeof types);
    refuse(&w, "token 3: its type is not in 0..6");
    write_spm(&w);
    types[3] = 1;
    types[6] = 6;
    gguf_array(&w, "tokenizer.ggml.token_type", GSRT_GGUF_I32, SPM_COUNT, types, sizeof types);
    gguf_array(&w, "tokenizer.ggml.scores", GSRT_GGUF_F32, SPM_COUNT, spm_scores, sizeof spm_scores);
    refuse(&w, "token 6: is of type byte");
    write_spm_tables(&w);
    gguf_u32(&w, "tokenizer.ggml.eos_token_id", SPM_COUNT);
    refuse(&w, "key 'tokenizer.ggml.eos_token_id': names a token past the end");
    write_spm_tables(&w);
    gguf_u32(&w, "tokenizer.ggml.add_bos_token", 1);
    refuse(&w, "key 'tokenizer.ggml.add_bos_token': has type u32, wanted bool");
}
END_TEST

START_TEST(other_tables_that_are_refused)
{
    static const char *const not_tokens[] = {"a b", "a zz"}, *const not_pairs[] = {"ab"};
    static const int32_t numbers[] = {1, 2};
    gguf_writer w;
    gguf_begin(&w);
    gguf_text(&w, "tokenizer.ggml.model", "bert");
    refuse(&w, "unsupported tokenizer 'bert'; supported: llama");
    gguf_begin(&w);
    gguf_text(&w, "tokenizer.ggml.model", "llama");
    refuse(&w, "key 'tokenizer.ggml.tokens': is missing");
    gguf_begin(&w);
    gguf_text(&w, "tokenizer.ggml.model", "llama");
    gguf_array(&w, "tokenizer.ggml.tokens", GSRT_GGUF_I32, 2, numbers, sizeof numbers);
    refuse(&w, "key 'tokenizer.ggml.tokens': is no array of texts");
    gguf_begin(&w);
    gguf_text(&w, "tokenizer.ggml.model", "gpt2");
    gguf_text(&w, "tokenizer.ggml.pre", "made-up");
    refuse(&w, "unsupported pre-tokenisation 'made-up'; supported: default, gpt-2, llama-bpe");
    write_bpe(&w, "gpt-2", not_tokens, 2);
    refuse(&w, "merge 1 is not two tokens that make a third");
    write_bpe(&w, "gpt-2", not_pairs, 1);
    refuse(&w, "merge 0 is not two tokens");
    write_bpe(&w, "gpt-2", bpe_merges, 4);
    gguf_bool(&w, "tokenizer.ggml.add_bos_token", true);
    refuse(&w, "is true, but no BOS token is named");
}
END_TEST

START_TEST(no_tokenizer_is_no_error)
{
    gguf_writer w;
    gsrt_tokenizer *t = NULL;
    gsrt_diag diag = {0};
    gguf_begin(&w);
    ck_assert_int_eq(create(&w, &t, &diag), GSRT_ENOTFOUND);
    ck_assert_int_eq(diag.status, GSRT_OK);
}
END_TEST

START_TEST(texts_that_are_too_long)
{
    gguf_writer w;
    write_spm_tables(&w);
    gsrt_tokenizer *t = accept(&w);
    size_t len = GSRT_PROMPT_BYTES_MAX + 1;
    char *text = calloc(len, 1);
    uint32_t *ids = NULL;
    size_t count = 0;
    gsrt_diag diag = {0};
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(gsrt_tokenizer_encode(t, gsrt_span_of(text, len), &plain, &ids, &count, &diag), GSRT_ELIMIT);
    ck_assert_ptr_nonnull(strstr(diag.text, "prompt: it has 4194305 bytes, allowed are 4194304; "));
    free(text);
    gsrt_tokenizer_free(t);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {spm_merges_the_best_pair_first,
                            spm_bytes,
                            spm_special_tokens,
                            spm_pieces,
                            bpe_merges_by_rank,
                            every_pre_tokenisation_compiles,
                            spm_tables_that_are_refused,
                            other_tables_that_are_refused,
                            no_tokenizer_is_no_error,
                            texts_that_are_too_long};
    return unit_run("tokenizer", tests, sizeof tests / sizeof tests[0]);
}
