/* Pre-tokenisation: text is cut into words before bytes are merged, by the regular expressions of the vocabulary's
 * tokenizer.json (published with the models), run by PCRE2.
 *
 * A pre-tokenisation is a list of expressions. Each cuts every word that the ones before it left, at the borders of its
 * matches; what lies between matches stays a word of its own. Bytes that are not UTF-8 are words of their own from the
 * start, so PCRE2 sees valid text only and need not check it (it would check the rest of the text at every match).
 * White space is spelled out: what \s means differs between engines. Patterns are linear: no nested repetition, and
 * runs of spaces that may fail are entered at their start only.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/tokenizer_impl.h"
#include "model/utf8.h"

enum { EXPRESSION_COUNT_MAX = 6 };

/* Unicode's White_Space, as the inside of a character class. */
#define WS "\\x{9}-\\x{d} \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define CONTRACTION "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
#define LETTERS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SYMBOLS " ?[^" WS "\\p{L}\\p{N}]+[\\r\\n]*"
#define SPACES "[" WS "]*[\\r\\n]+|[" WS "]+(?![^" WS "])|[" WS "]+"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" WS "\\p{L}\\p{N}]+|[" WS "]+(?![^" WS "])"
#define CJK "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+"
/* The cased letters that deepseek-llm's tokenizer lists. */
#define CASED                                                                                                          \
    "A-Za-z\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}\\x{1bc}-\\x{1bf}\\x{1c4}-\\x{293}"                    \
    "\\x{295}-\\x{2af}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37b}-\\x{37d}\\x{37f}\\x{386}\\x{388}-\\x{38a}"             \
    "\\x{38c}\\x{38e}-\\x{3a1}\\x{3a3}-\\x{3f5}\\x{3f7}-\\x{481}\\x{48a}-\\x{52f}\\x{531}-\\x{556}"                    \
    "\\x{10a0}-\\x{10c5}\\x{13a0}-\\x{13f5}\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}\\x{1cbd}-\\x{1cbf}"                  \
    "\\x{1d00}-\\x{1d2b}\\x{1d6b}-\\x{1d77}\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}\\x{1f18}-\\x{1f1d}"                  \
    "\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}\\x{1f50}-\\x{1f57}\\x{1f59}\\x{1f5b}\\x{1f5d}\\x{1f5f}-\\x{1f7d}"          \
    "\\x{1f80}-\\x{1fb4}\\x{1fb6}-\\x{1fbc}\\x{1fbe}\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}"         \
    "\\x{1fd6}-\\x{1fdb}\\x{1fe0}-\\x{1fec}\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}\\x{2102}\\x{2107}"                   \
    "\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}\\x{2126}\\x{2128}\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}" \
    "\\x{2139}\\x{213c}-\\x{213f}\\x{2145}-\\x{2149}\\x{214e}\\x{2183}\\x{2184}\\x{2c00}-\\x{2c7b}"                    \
    "\\x{2c7e}-\\x{2ce4}\\x{2ceb}-\\x{2cee}\\x{2cf2}\\x{2cf3}\\x{a640}-\\x{a66d}\\x{a680}-\\x{a69b}"                   \
    "\\x{a722}-\\x{a76f}\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}\\x{ab70}-\\x{abbf}\\x{fb00}-\\x{fb06}"                  \
    "\\x{fb13}-\\x{fb17}\\x{ff21}-\\x{ff3a}\\x{ff41}-\\x{ff5a}\\x{10400}-\\x{1044f}\\x{104b0}-\\x{104d3}"              \
    "\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}"

typedef struct preset {
    const char *const *names; /* NULL-terminated */
    const char *expressions[EXPRESSION_COUNT_MAX];
    bool ignores_merges, adds_bos;
} preset;

static const char *const names_default[] = {"default", NULL};
static const char *const names_gpt2[] = {"gpt-2", "phi-2", "olmo", "mpt", NULL};
static const char *const names_llama3[] = {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", NULL};
static const char *const names_smaug[] = {"smaug-bpe", "dbrx", NULL};
static const char *const names_coder[] = {"deepseek-coder", NULL};
static const char *const names_deepseek[] = {"deepseek-llm", NULL};
static const char *const names_qwen2[] = {"qwen2", "deepseek-r1-qwen", "stablelm2", NULL};
static const char *const names_starcoder[] = {"starcoder", "refact", "command-r", "smollm", "codeshell", NULL};

static const preset presets[] = {
    {names_default, {"[\\p{P}$+<=>^~|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}, false, false},
    {names_gpt2, {GPT2}, false, false},
    {names_llama3, {CONTRACTION "|" LETTERS "|\\p{N}{1,3}|" SYMBOLS "|" SPACES}, true, true},
    {names_smaug, {CONTRACTION "|" LETTERS "|\\p{N}{1,3}|" SYMBOLS "|" SPACES}, false, false},
    {names_coder, {"[\\r\\n]", "[" WS "]?\\p{L}+", "[" WS "]?\\p{P}+", CJK, "\\p{N}"}, false, false},
    {names_deepseek,
     {"[\\r\\n]", "[" WS "]?[" CASED "]+",
      "[" WS "]?[!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{3000}-\\x{3002}]+",
      "(?<![" WS "])[" WS "]++\\z", CJK, "\\p{N}+"},
     false,
     false},
    {names_qwen2, {CONTRACTION "|" LETTERS "|\\p{N}|" SYMBOLS "|" SPACES}, false, false},
    {names_starcoder, {"\\p{N}", GPT2}, false, false},
};

struct gsrt__splitter {
    const preset *preset;
    pcre2_code *codes[EXPRESSION_COUNT_MAX];
    size_t count;
};

gsrt__splitter *gsrt__splitter_free(gsrt__splitter *splitter)
{
    if (splitter == NULL)
        return NULL;
    for (size_t i = 0; i < splitter->count; i++)
        pcre2_code_free(splitter->codes[i]);
    free(splitter);
    return NULL;
}

bool gsrt__splitter_ignores_merges(const gsrt__splitter *splitter)
{
    return splitter->preset->ignores_merges;
}

bool gsrt__splitter_adds_bos(const gsrt__splitter *splitter)
{
    return splitter->preset->adds_bos;
}

static const preset *find_preset(gsrt_span name)
{
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        for (const char *const *known = presets[i].names; *known != NULL; known++) {
            if (gsrt_span_equal(name, gsrt_span_of_text(*known)))
                return &presets[i];
        }
    }
    return NULL;
}

static gsrt_status fail_name(const char *file, gsrt_span name, gsrt_diag *diag)
{
    char known[256];
    size_t used = 0;
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        int n = snprintf(known + used, sizeof known - used, "%s%s", i == 0 ? "" : ", ", presets[i].names[0]);
        used += n > 0 ? (size_t)n : 0;
    }
    int len = name.len < 64 ? (int)name.len : 64;
    return gsrt_diag_set(diag, GSRT_EINPUT, file, "key 'tokenizer.ggml.pre'",
                         "unsupported pre-tokenisation '%.*s'; supported: %s and their synonyms", len,
                         (const char *)name.data, known);
}

gsrt_status gsrt__splitter_create(const char *file, gsrt_span name, gsrt__splitter **out, gsrt_diag *diag)
{
    const preset *found = find_preset(name);
    if (found == NULL)
        return fail_name(file, name, diag);
    gsrt__splitter *splitter = calloc(1, sizeof *splitter);
    if (splitter == NULL)
        return gsrt_diag_set(diag, GSRT_ENOMEM, file, NULL, "no memory for the tokenizer");
    splitter->preset = found;
    for (size_t i = 0; i < EXPRESSION_COUNT_MAX && found->expressions[i] != NULL; i++) {
        int error;
        PCRE2_SIZE offset;
        pcre2_code *code =
            pcre2_compile((PCRE2_SPTR)found->expressions[i], PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &offset, NULL);
        if (code == NULL) {
            gsrt__splitter_free(splitter);
            return gsrt_diag_set(diag, GSRT_EUNSUPPORTED, file, "key 'tokenizer.ggml.pre'",
                                 "PCRE2 cannot compile the expression (error %d at %zu); use PCRE2 10.34 or newer",
                                 error, (size_t)offset);
        }
        /* Only faster: without it (no executable memory allowed) the interpreter finds the same matches. */
        (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
        splitter->codes[splitter->count++] = code;
    }
    *out = splitter;
    return GSRT_OK;
}

/* Two lists of ends that change places with every expression. */
typedef struct cutting {
    const uint8_t *text;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    gsrt__ids from, to;
} cutting;

/* Cut the word [begin, end) at the borders of all matches. */
static gsrt_status cut_word(cutting *c, const pcre2_code *code, uint32_t begin, uint32_t end)
{
    gsrt_status status = GSRT_OK;
    size_t at = 0, len = end - begin;
    uint32_t last = begin;
    if (gsrt_utf8_measure(c->text + begin, len) <= 0)
        return gsrt__ids_push(&c->to, end);
    while (status == GSRT_OK && at < len) {
        int found = pcre2_match(code, c->text + begin, len, at, PCRE2_NO_UTF_CHECK, c->match, c->context);
        if (found == PCRE2_ERROR_NOMATCH)
            break;
        if (found < 0)
            return found == PCRE2_ERROR_NOMEMORY ? GSRT_ENOMEM : GSRT_ELIMIT;
        const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(c->match);
        uint32_t match_begin = begin + (uint32_t)offsets[0], match_end = begin + (uint32_t)offsets[1];
        if (match_begin > last)
            status = gsrt__ids_push(&c->to, match_begin);
        if (status == GSRT_OK && match_end > match_begin)
            status = gsrt__ids_push(&c->to, match_end);
        last = match_end;
        at = match_end > match_begin ? offsets[1]
                                     : offsets[1] + 1; /* no expression matches nothing; never stand still */
    }
    if (status == GSRT_OK && last < end)
        status = gsrt__ids_push(&c->to, end);
    return status;
}

/* Valid UTF-8 and what is not, in turn: the first cut. */
static gsrt_status cut_malformed(cutting *c, uint32_t len)
{
    gsrt_status status = GSRT_OK;
    bool was_valid = true;
    for (uint32_t at = 0; at < len && status == GSRT_OK;) {
        int size = gsrt_utf8_measure(c->text + at, len - at);
        if (at > 0 && (size > 0) != was_valid)
            status = gsrt__ids_push(&c->from, at);
        was_valid = size > 0;
        at += size > 0 ? (uint32_t)size : 1;
    }
    if (status == GSRT_OK && len > 0)
        status = gsrt__ids_push(&c->from, len);
    return status;
}

static gsrt_status cut_all(cutting *c, const gsrt__splitter *splitter, uint32_t len)
{
    gsrt_status status = cut_malformed(c, len);
    for (size_t i = 0; i < splitter->count && status == GSRT_OK; i++) {
        uint32_t begin = 0;
        c->to.count = 0;
        for (size_t word = 0; word < c->from.count && status == GSRT_OK; word++) {
            status = cut_word(c, splitter->codes[i], begin, c->from.data[word]);
            begin = c->from.data[word];
        }
        gsrt__ids swap = c->from;
        c->from = c->to;
        c->to = swap;
    }
    return status;
}

gsrt_status gsrt__splitter_cut(const gsrt__splitter *splitter, gsrt_span text, uint32_t **out_ends, size_t *out_count,
                               gsrt_diag *diag)
{
    cutting c = {.text = text.data,
                 .match = pcre2_match_data_create(1, NULL),
                 .context = pcre2_match_context_create(NULL),
                 .stack = pcre2_jit_stack_create(32 * 1024, 1024 * 1024, NULL)};
    gsrt_status status = GSRT_ENOMEM;
    if (c.match != NULL && c.context != NULL) {
        if (c.stack != NULL)
            pcre2_jit_stack_assign(c.context, NULL, c.stack);
        (void)pcre2_set_match_limit(c.context, UINT32_MAX);
        status = cut_all(&c, splitter, (uint32_t)text.len);
    }
    pcre2_match_data_free(c.match);
    pcre2_match_context_free(c.context);
    pcre2_jit_stack_free(c.stack);
    free(c.to.data);
    if (status != GSRT_OK) {
        free(c.from.data);
        return gsrt_diag_set(diag, status, NULL, "prompt", "could not be cut into words (%s); shorten it",
                             gsrt_status_text(status));
    }
    *out_ends = c.from.data;
    *out_count = c.from.count;
    return GSRT_OK;
}
