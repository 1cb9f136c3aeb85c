/* From GGUF metadata to the tokenizer's tables. Everything in the file is checked here, once. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/tokenizer_impl.h"
#include "model/utf8.h"

/* Tables of the largest legal vocabulary (2^20 tokens, 2^20 merges): dictionary 24 and 4 bytes, spans 32, ranks 4,
 * merges 16, specials 2 * 28 per token, and the texts of the file twice. */
enum { ARENA_BYTES_MAX = 512 << 20 };

/* What is only needed while loading. */
typedef struct loading {
    gsrt_tokenizer *t;
    const gsrt_gguf *gguf;
    gsrt_diag *diag;
    gsrt_span *texts;
    gsrt_span *pieces;
    uint8_t *types;
} loading;

static gsrt_status fail(const loading *l, const char *key, const char *what)
{
    char place[GSRT_NAME_BYTES_MAX + 16];
    (void)snprintf(place, sizeof place, "key '%s'", key);
    return gsrt_diag_set(l->diag, GSRT_EINPUT, gsrt_gguf_name(l->gguf), place, "%s; convert the file again", what);
}

static gsrt_status fail_token(const loading *l, uint64_t token, const char *what)
{
    char place[64];
    (void)snprintf(place, sizeof place, "key 'tokenizer.ggml.tokens', token %" PRIu64, token);
    return gsrt_diag_set(l->diag, GSRT_EINPUT, gsrt_gguf_name(l->gguf), place, "%s; convert the file again", what);
}

static gsrt_status fail_memory(const loading *l)
{
    return gsrt_diag_set(l->diag, GSRT_ENOMEM, gsrt_gguf_name(l->gguf), NULL, "no memory for the tokenizer");
}

/* The array `key`, which must have one element per token. */
static gsrt_status read_parallel(const loading *l, const char *key, gsrt_gguf_array *out)
{
    gsrt_status status = gsrt_gguf_array_of(l->gguf, key, out, l->diag);
    if (status == GSRT_OK && out->count != l->t->count)
        return fail(l, key, "has another number of elements than there are tokens");
    return status;
}

static gsrt_status read_texts(loading *l)
{
    static const char key[] = "tokenizer.ggml.tokens";
    gsrt_gguf_array tokens;
    gsrt_status status = gsrt_gguf_array_of(l->gguf, key, &tokens, l->diag);
    if (status == GSRT_ENOTFOUND)
        return gsrt_gguf_missing(l->gguf, key, l->diag);
    if (status != GSRT_OK)
        return status;
    if (tokens.type != GSRT_GGUF_TEXT)
        return fail(l, key, "is no array of texts");
    if (tokens.count == 0 || tokens.count > GSRT_VOCAB_COUNT_MAX)
        return fail(l, key, "has no tokens, or more than 1048576");
    gsrt_tokenizer *t = l->t;
    t->count = (uint32_t)tokens.count;
    uint8_t *bytes = gsrt_arena_take(&t->arena, tokens.bytes.len, 1);
    l->texts = gsrt_arena_take(&t->arena, t->count, sizeof *l->texts);
    l->pieces = gsrt_arena_take(&t->arena, t->count, sizeof *l->pieces);
    l->types = gsrt_arena_take(&t->arena, t->count, 1);
    if (bytes == NULL || l->texts == NULL || l->pieces == NULL || l->types == NULL)
        return fail_memory(l);
    gsrt_span rest = tokens.bytes, text;
    for (uint32_t i = 0; gsrt_gguf_array_next_text(&rest, &text); i++) {
        if (text.len > GSRT_TOKEN_BYTES_MAX)
            return fail_token(l, i, "its text is longer than 4096 bytes");
        if (text.len > 0)
            memcpy(bytes, text.data, text.len);
        l->texts[i] = gsrt_span_of(bytes, text.len);
        bytes += text.len;
    }
    t->texts = l->texts;
    t->pieces = l->pieces;
    t->types = l->types;
    return GSRT_OK;
}

/* "<0x0A>" -> 10, -1: something else. */
static int parse_byte_text(gsrt_span text)
{
    static const char digits[] = "0123456789ABCDEF";
    if (text.len != 6 || memcmp(text.data, "<0x", 3) != 0 || text.data[5] != '>')
        return -1;
    const char *high = memchr(digits, text.data[3], 16), *low = memchr(digits, text.data[4], 16);
    return high == NULL || low == NULL ? -1 : (int)((high - digits) * 16 + (low - digits));
}

static gsrt_status read_types(loading *l)
{
    static const char key[] = "tokenizer.ggml.token_type";
    gsrt_gguf_array types;
    gsrt_status status = read_parallel(l, key, &types);
    if (status != GSRT_OK && status != GSRT_ENOTFOUND)
        return status;
    bool is_given = status == GSRT_OK;
    if (is_given && types.type != GSRT_GGUF_I32 && types.type != GSRT_GGUF_U32)
        return fail(l, key, "is no array of 32-bit integers");
    for (uint32_t i = 0; i < l->t->count; i++) {
        int64_t type = is_given ? gsrt_gguf_array_integer(&types, i) : GSRT__TOKEN_NORMAL;
        if (type < 0 || type > GSRT__TOKEN_BYTE)
            return fail_token(l, i, "its type is not in 0..6");
        if (!is_given && !l->t->is_bpe && parse_byte_text(l->texts[i]) >= 0)
            type = GSRT__TOKEN_BYTE;
        l->types[i] = type == 0 ? GSRT__TOKEN_NORMAL : (uint8_t)type;
    }
    return GSRT_OK;
}

static gsrt_status read_token_id(const loading *l, const char *key, uint32_t fallback, uint32_t *out)
{
    gsrt_status status = gsrt_gguf_u32(l->gguf, key, out, l->diag);
    if (status == GSRT_ENOTFOUND) {
        *out = fallback < l->t->count ? fallback : GSRT_TOKEN_NONE;
        return GSRT_OK;
    }
    if (status == GSRT_OK && *out >= l->t->count)
        return fail(l, key, "names a token past the end of the vocabulary");
    return status;
}

/* Chat models end a turn with a control token that many files do not name by key. */
static uint32_t find_turn_end(const gsrt_tokenizer *t)
{
    static const char *const texts[] = {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|EOT|>"};
    for (uint32_t i = 0; i < t->count; i++) {
        for (size_t k = 0; t->types[i] == GSRT__TOKEN_CONTROL && k < sizeof texts / sizeof texts[0]; k++) {
            if (gsrt_span_equal(t->texts[i], gsrt_span_of_text(texts[k])))
                return i;
        }
    }
    return GSRT_TOKEN_NONE;
}

static gsrt_status read_special_ids(const loading *l)
{
    gsrt_tokenizer *t = l->t;
    bool is_spm = !t->is_bpe, adds_bos_usually = is_spm || gsrt__splitter_adds_bos(t->splitter);
    uint32_t eot = GSRT_TOKEN_NONE, eom = GSRT_TOKEN_NONE;
    gsrt_status status = read_token_id(l, "tokenizer.ggml.bos_token_id", is_spm ? 1 : GSRT_TOKEN_NONE, &t->bos);
    if (status == GSRT_OK)
        status = read_token_id(l, "tokenizer.ggml.eos_token_id", is_spm ? 2 : GSRT_TOKEN_NONE, &t->eos);
    if (status == GSRT_OK)
        status = read_token_id(l, "tokenizer.ggml.unknown_token_id", is_spm ? 0 : GSRT_TOKEN_NONE, &t->unknown);
    if (status == GSRT_OK)
        status = read_token_id(l, "tokenizer.ggml.eot_token_id", find_turn_end(t), &eot);
    if (status == GSRT_OK)
        status = read_token_id(l, "tokenizer.ggml.eom_token_id", GSRT_TOKEN_NONE, &eom);
    if (status == GSRT_OK)
        status = gsrt_gguf_bool_or(l->gguf, "tokenizer.ggml.add_bos_token",
                                   adds_bos_usually && t->bos != GSRT_TOKEN_NONE, &t->adds_bos, l->diag);
    if (status == GSRT_OK)
        status = gsrt_gguf_bool_or(l->gguf, "tokenizer.ggml.add_eos_token", false, &t->adds_eos, l->diag);
    if (status == GSRT_OK)
        status = gsrt_gguf_bool_or(l->gguf, "tokenizer.ggml.add_space_prefix", is_spm, &t->adds_space, l->diag);
    t->adds_space = t->adds_space && is_spm;
    t->stops[0] = t->eos;
    t->stops[1] = eot;
    t->stops[2] = eom;
    t->stops[3] = GSRT_TOKEN_NONE;
    if (status == GSRT_OK && t->adds_bos && t->bos == GSRT_TOKEN_NONE)
        return fail(l, "tokenizer.ggml.add_bos_token", "is true, but no BOS token is named");
    if (status == GSRT_OK && t->adds_eos && t->eos == GSRT_TOKEN_NONE)
        return fail(l, "tokenizer.ggml.add_eos_token", "is true, but no EOS token is named");
    return status;
}

/* Texts that plain text may become: never control tokens, so that nobody can write them. */
static gsrt_status build_dictionary(const loading *l)
{
    gsrt_tokenizer *t = l->t;
    gsrt__dictionary_entry *entries = gsrt_arena_take(&t->arena, t->count, sizeof *entries);
    if (entries == NULL)
        return fail_memory(l);
    static const uint8_t mark[3] = {0xe2, 0x96, 0x81};
    uint32_t count = 0;
    t->splits_at_space = true;
    for (uint32_t i = 0; i < t->count; i++) {
        bool is_plain = t->types[i] == GSRT__TOKEN_NORMAL || t->types[i] == GSRT__TOKEN_USER_DEFINED ||
                        t->types[i] == GSRT__TOKEN_UNUSED;
        gsrt_span text = t->texts[i];
        if (!is_plain || text.len == 0)
            continue;
        entries[count++] = (gsrt__dictionary_entry){.text = text.data, .len = (uint32_t)text.len, .token = i};
        t->token_bytes_max = text.len > t->token_bytes_max ? (uint32_t)text.len : t->token_bytes_max;
        bool is_in_marks = true;
        for (size_t at = 0; at < text.len && t->splits_at_space;) {
            bool is_mark = text.len - at >= sizeof mark && memcmp(text.data + at, mark, sizeof mark) == 0;
            t->splits_at_space = is_in_marks || !is_mark;
            is_in_marks = is_in_marks && is_mark;
            at += is_mark ? sizeof mark : 1;
        }
    }
    return gsrt__dictionary_build(&t->dictionary, &t->arena, entries, count) ? GSRT_OK : fail_memory(l);
}

static int compare_lengths(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left < right) - (left > right);
}

/* Add to the filter how `text` begins; a text of one byte is looked for with second byte 0. */
static void note_begin(uint8_t *begins, gsrt_span text)
{
    unsigned begin = text.data[0] + (text.len > 1 ? 256u * text.data[1] : 0u);
    begins[begin / 8] = (uint8_t)(begins[begin / 8] | 1u << begin % 8);
}

static gsrt_status build_specials(const loading *l, bool has_control, gsrt__specials *out)
{
    gsrt_tokenizer *t = l->t;
    uint32_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        gsrt__dictionary_entry *entries = NULL;
        uint32_t *lengths = NULL;
        uint8_t *begins = NULL;
        if (pass == 1) {
            entries = gsrt_arena_take(&t->arena, count, sizeof *entries);
            lengths = gsrt_arena_take(&t->arena, count, sizeof *lengths);
            begins = gsrt_arena_take(&t->arena, 8192, 1);
            if (entries == NULL || lengths == NULL || begins == NULL)
                return fail_memory(l);
        }
        count = 0;
        for (uint32_t i = 0; i < t->count; i++) {
            bool is_control = t->types[i] == GSRT__TOKEN_CONTROL || t->types[i] == GSRT__TOKEN_UNKNOWN;
            bool is_wanted = t->types[i] == GSRT__TOKEN_USER_DEFINED || (has_control && is_control);
            if (!is_wanted || t->texts[i].len == 0)
                continue;
            if (pass == 1) {
                uint32_t len = (uint32_t)t->texts[i].len;
                entries[count] = (gsrt__dictionary_entry){.text = t->texts[i].data, .len = len, .token = i};
                lengths[count] = len;
                note_begin(begins, t->texts[i]);
            }
            count++;
        }
        if (pass == 0)
            continue;
        uint32_t kept = 0;
        if (count > 0)
            qsort(lengths, count, sizeof *lengths, compare_lengths);
        for (uint32_t i = 0; i < count; i++) {
            if (i == 0 || lengths[i] != lengths[i - 1])
                lengths[kept++] = lengths[i];
        }
        *out = (gsrt__specials){.lengths = lengths, .length_count = kept, .begins = begins};
        if (!gsrt__dictionary_build(&out->dictionary, &t->arena, entries, count))
            return fail_memory(l);
    }
    return GSRT_OK;
}

/* ---- SentencePiece ---- */

typedef struct scored {
    float score;
    uint32_t token;
} scored;

static int compare_scores(const void *a, const void *b)
{
    float left = ((const scored *)a)->score, right = ((const scored *)b)->score;
    return (left < right) - (left > right);
}

static gsrt_status read_scores(const loading *l)
{
    static const char key[] = "tokenizer.ggml.scores";
    gsrt_gguf_array scores;
    gsrt_status status = read_parallel(l, key, &scores);
    if (status == GSRT_ENOTFOUND)
        return gsrt_gguf_missing(l->gguf, key, l->diag);
    if (status != GSRT_OK)
        return status;
    if (scores.type != GSRT_GGUF_F32)
        return fail(l, key, "is no array of 32-bit floats");
    gsrt_tokenizer *t = l->t;
    scored *order = malloc(t->count * sizeof *order);
    uint32_t *ranks = gsrt_arena_take(&t->arena, t->count, sizeof *ranks);
    if (order == NULL || ranks == NULL) {
        free(order);
        return fail_memory(l);
    }
    bool is_number = true;
    for (uint32_t i = 0; i < t->count; i++) {
        order[i] = (scored){.score = (float)gsrt_gguf_array_float(&scores, i), .token = i};
        is_number = is_number && !isnan(order[i].score);
    }
    if (is_number) {
        qsort(order, t->count, sizeof *order, compare_scores);
        uint32_t rank = 0;
        for (uint32_t i = 0; i < t->count; i++) {
            rank += i > 0 && order[i].score < order[i - 1].score ? 1 : 0;
            ranks[order[i].token] = rank;
        }
    }
    free(order);
    t->ranks = ranks;
    return is_number ? GSRT_OK : fail(l, key, "holds a score that is not a number");
}

/* What a token stands for: marks are spaces again, byte tokens are bytes, control tokens nothing. */
static gsrt_status decode_spm(loading *l)
{
    gsrt_tokenizer *t = l->t;
    for (uint32_t i = 0; i < t->count; i++) {
        gsrt_span text = t->texts[i];
        int byte = t->types[i] == GSRT__TOKEN_BYTE ? parse_byte_text(text) : -1;
        if (t->types[i] == GSRT__TOKEN_BYTE && byte < 0)
            return fail_token(l, i, "is of type byte, but its text is not '<0x..>'");
        if (t->types[i] == GSRT__TOKEN_CONTROL || t->types[i] == GSRT__TOKEN_UNKNOWN) {
            l->pieces[i] = gsrt_span_of("", 0);
            continue;
        }
        if (t->types[i] == GSRT__TOKEN_USER_DEFINED) {
            l->pieces[i] = text;
            continue;
        }
        uint8_t *piece = gsrt_arena_take(&t->arena, text.len + 1, 1);
        if (piece == NULL)
            return fail_memory(l);
        size_t len = 0;
        for (size_t at = 0; byte < 0 && at < text.len;) {
            bool is_mark = text.len - at >= 3 && memcmp(text.data + at, "\xe2\x96\x81", 3) == 0;
            piece[len++] = is_mark ? ' ' : text.data[at];
            at += is_mark ? 3 : 1;
        }
        if (byte >= 0) {
            piece[len++] = (uint8_t)byte;
            t->byte_token[byte] = i;
        }
        l->pieces[i] = gsrt_span_of(piece, len);
    }
    return GSRT_OK;
}

/* ---- byte-level BPE ---- */

/* The code point of a whole character of `len` bytes. */
static uint32_t code_of(const uint8_t *bytes, size_t len)
{
    uint32_t code = len == 1 ? bytes[0] : bytes[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        code = code << 6 | (bytes[i] & 0x3fu);
    return code;
}

/* Characters are bytes again; what is not in GPT-2's table stays as it is. */
static gsrt_status decode_bpe(loading *l)
{
    gsrt_tokenizer *t = l->t;
    int byte_of[512];
    for (uint32_t code = 0; code < 512; code++)
        byte_of[code] = gsrt__byte_of_code(code);
    for (uint32_t i = 0; i < t->count; i++) {
        gsrt_span text = t->texts[i];
        uint8_t type = t->types[i];
        if (type == GSRT__TOKEN_CONTROL || type == GSRT__TOKEN_UNKNOWN || type == GSRT__TOKEN_USER_DEFINED) {
            l->pieces[i] = type == GSRT__TOKEN_USER_DEFINED ? text : gsrt_span_of("", 0);
            continue;
        }
        uint8_t *piece = gsrt_arena_take(&t->arena, text.len + 1, 1);
        if (piece == NULL)
            return fail_memory(l);
        size_t len = 0;
        for (size_t at = 0; at < text.len;) {
            int size = gsrt_utf8_measure(text.data + at, text.len - at);
            size_t used = size > 0 ? (size_t)size : 1;
            uint32_t code = size > 0 ? code_of(text.data + at, used) : UINT32_MAX;
            if (code < 512 && byte_of[code] >= 0) {
                piece[len++] = (uint8_t)byte_of[code];
            } else {
                memcpy(piece + len, text.data + at, used);
                len += used;
            }
            at += used;
        }
        l->pieces[i] = gsrt_span_of(piece, len);
    }
    return GSRT_OK;
}

static void find_byte_tokens(gsrt_tokenizer *t)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t code = gsrt__code_of_byte((uint8_t)byte);
        uint8_t text[2] = {(uint8_t)code, 0};
        size_t len = 1;
        if (code >= 0x80) {
            text[0] = (uint8_t)(0xc0 | code >> 6);
            text[1] = (uint8_t)(0x80 | (code & 0x3f));
            len = 2;
        }
        t->byte_token[byte] = gsrt__dictionary_find(&t->dictionary, text, len);
    }
}

static int compare_merges(const void *left, const void *right)
{
    const gsrt__merge *a = left, *b = right;
    if (a->left != b->left)
        return a->left < b->left ? -1 : 1;
    if (a->right != b->right)
        return a->right < b->right ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* "left right", cut at the first space behind the first byte: a token may be a space itself. */
static bool parse_merge(const gsrt_tokenizer *t, gsrt_span text, gsrt__merge *out)
{
    const uint8_t *space = text.len > 1 ? memchr(text.data + 1, ' ', text.len - 1) : NULL;
    uint8_t joint[2 * GSRT_TOKEN_BYTES_MAX];
    if (space == NULL || text.len > sizeof joint)
        return false;
    size_t left_len = (size_t)(space - text.data), right_len = text.len - left_len - 1;
    memcpy(joint, text.data, left_len);
    memcpy(joint + left_len, space + 1, right_len);
    out->left = gsrt__dictionary_find(&t->dictionary, joint, left_len);
    out->right = gsrt__dictionary_find(&t->dictionary, joint + left_len, right_len);
    out->result = gsrt__dictionary_find(&t->dictionary, joint, left_len + right_len);
    return out->left != GSRT_TOKEN_NONE && out->right != GSRT_TOKEN_NONE && out->result != GSRT_TOKEN_NONE;
}

static gsrt_status read_merges(const loading *l)
{
    static const char key[] = "tokenizer.ggml.merges";
    gsrt_tokenizer *t = l->t;
    gsrt_gguf_array merges;
    gsrt_status status = gsrt_gguf_array_of(l->gguf, key, &merges, l->diag);
    if (status == GSRT_ENOTFOUND)
        return gsrt_gguf_missing(l->gguf, key, l->diag);
    if (status != GSRT_OK)
        return status;
    if (merges.type != GSRT_GGUF_TEXT || merges.count > GSRT_VOCAB_COUNT_MAX)
        return fail(l, key, "is no array of at most 1048576 texts");
    uint32_t count = (uint32_t)merges.count, kept = 0;
    t->merges = gsrt_arena_take(&t->arena, count, sizeof *t->merges);
    uint32_t *starts = gsrt_arena_take(&t->arena, (size_t)t->count + 1, sizeof *starts);
    if (t->merges == NULL || starts == NULL)
        return fail_memory(l);
    gsrt_span rest = merges.bytes, text;
    for (uint32_t i = 0; gsrt_gguf_array_next_text(&rest, &text); i++) {
        if (!parse_merge(t, text, &t->merges[i])) {
            char what[96];
            (void)snprintf(what, sizeof what, "merge %" PRIu32 " is not two tokens that make a third", i);
            return fail(l, key, what);
        }
        t->merges[i].rank = i;
    }
    if (count > 0)
        qsort(t->merges, count, sizeof *t->merges, compare_merges);
    for (uint32_t i = 0; i < count; i++) { /* of equal pairs the first in the file counts */
        const gsrt__merge *last = kept > 0 ? &t->merges[kept - 1] : NULL;
        if (last == NULL || last->left != t->merges[i].left || last->right != t->merges[i].right)
            t->merges[kept++] = t->merges[i];
    }
    uint32_t at = 0;
    for (uint32_t left = 0; left <= t->count; left++) {
        while (at < kept && t->merges[at].left < left)
            at++;
        starts[left] = at;
    }
    t->merge_count = kept;
    t->merge_starts = starts;
    return GSRT_OK;
}

/* ---- the whole ---- */

static gsrt_status read_kind(loading *l, gsrt_span model)
{
    l->t->is_bpe = gsrt_span_equal(model, gsrt_span_of_text("gpt2"));
    if (!l->t->is_bpe && !gsrt_span_equal(model, gsrt_span_of_text("llama"))) {
        int len = model.len < 64 ? (int)model.len : 64;
        return gsrt_diag_set(l->diag, GSRT_EINPUT, gsrt_gguf_name(l->gguf), "key 'tokenizer.ggml.model'",
                             "unsupported tokenizer '%.*s'; supported: llama (SentencePiece), gpt2 (byte-level BPE)",
                             len, (const char *)model.data);
    }
    if (!l->t->is_bpe)
        return GSRT_OK;
    gsrt_span pre = gsrt_span_of_text("default"); /* what files without the key were made for */
    gsrt_status status = gsrt_gguf_text(l->gguf, "tokenizer.ggml.pre", &pre, l->diag);
    if (status != GSRT_OK && status != GSRT_ENOTFOUND)
        return status;
    return gsrt__splitter_create(gsrt_gguf_name(l->gguf), pre, &l->t->splitter, l->diag);
}

static gsrt_status load(loading *l, gsrt_span model)
{
    gsrt_tokenizer *t = l->t;
    t->file = gsrt_arena_copy_text(&t->arena, gsrt_gguf_name(l->gguf), strlen(gsrt_gguf_name(l->gguf)));
    memset(t->byte_token, 0xff, sizeof t->byte_token);
    gsrt_status status = t->file == NULL ? fail_memory(l) : read_kind(l, model);
    if (status == GSRT_OK)
        status = read_texts(l);
    if (status == GSRT_OK)
        status = read_types(l);
    if (status == GSRT_OK)
        status = read_special_ids(l);
    if (status == GSRT_OK)
        status = build_dictionary(l);
    if (status == GSRT_OK)
        status = build_specials(l, false, &t->user);
    if (status == GSRT_OK)
        status = build_specials(l, true, &t->special);
    if (status != GSRT_OK)
        return status;
    if (!t->is_bpe) {
        status = read_scores(l);
        return status == GSRT_OK ? decode_spm(l) : status;
    }
    find_byte_tokens(t);
    status = read_merges(l);
    return status == GSRT_OK ? decode_bpe(l) : status;
}

gsrt_status gsrt_tokenizer_create(const gsrt_gguf *gguf, gsrt_tokenizer **out, gsrt_diag *diag)
{
    gsrt_span model;
    gsrt_status status = gsrt_gguf_text(gguf, "tokenizer.ggml.model", &model, diag);
    if (status != GSRT_OK)
        return status; /* not found: the file has no tokenizer */
    loading l = {.t = calloc(1, sizeof(gsrt_tokenizer)), .gguf = gguf, .diag = diag};
    if (l.t == NULL)
        return fail_memory(&l);
    gsrt_arena_init(&l.t->arena, ARENA_BYTES_MAX);
    status = load(&l, model);
    if (status == GSRT_OK)
        *out = l.t;
    else
        gsrt_tokenizer_free(l.t);
    return status;
}
