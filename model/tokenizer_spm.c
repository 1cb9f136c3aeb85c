/* SentencePiece-style encoding: the neighbours whose joint text is the best-scored token are merged until none are
 * left.
 *
 * Symbols form a doubly linked list over the text; candidates wait in a heap and are checked when taken, since the list
 * has changed meanwhile. Where no token spans the start of a word, words are independent and are encoded one by one:
 * the heap stays small and in the cache; the result is the same.
 */
#include <stdlib.h>

#include "model/tokenizer_impl.h"
#include "model/utf8.h"

#define NO_SYMBOL UINT32_MAX

static const uint8_t space_mark[3] = {0xe2, 0x96, 0x81}; /* U+2581 stands for a space */

typedef struct symbol {
    uint32_t at, len; /* bytes of the text; len 0: merged into the one before */
    uint32_t previous, next;
} symbol;

typedef struct merging {
    const gsrt_tokenizer *tokenizer;
    const uint8_t *text;
    symbol *symbols;
    uint32_t count;
    gsrt__queue queue;
} merging;

static gsrt_status offer(merging *m, uint32_t left, uint32_t right)
{
    if (left == NO_SYMBOL || right == NO_SYMBOL)
        return GSRT_OK;
    const symbol *l = &m->symbols[left];
    uint32_t len = l->len + m->symbols[right].len;
    if (len > m->tokenizer->token_bytes_max)
        return GSRT_OK;
    uint32_t token = gsrt__dictionary_find(&m->tokenizer->dictionary, m->text + l->at, len);
    if (token == GSRT_TOKEN_NONE)
        return GSRT_OK;
    return gsrt__merges_push(
        &m->queue, (gsrt__candidate){.order = m->tokenizer->ranks[token], .left = left, .right = right, .check = len});
}

static gsrt_status merge(merging *m)
{
    gsrt_status status = GSRT_OK;
    gsrt__candidate best;
    while (status == GSRT_OK && gsrt__merges_pop(&m->queue, &best)) {
        symbol *left = &m->symbols[best.left], *right = &m->symbols[best.right];
        if (left->len == 0 || right->len == 0 || left->len + right->len != best.check)
            continue;
        left->len += right->len;
        right->len = 0;
        left->next = right->next;
        if (right->next != NO_SYMBOL)
            m->symbols[right->next].previous = best.left;
        status = offer(m, left->previous, best.left);
        if (status == GSRT_OK)
            status = offer(m, best.left, left->next);
    }
    return status;
}

/* One symbol per character; bytes that are no character are one symbol each. */
static void list_symbols(merging *m, uint32_t begin, uint32_t end)
{
    m->count = 0;
    for (uint32_t at = begin; at < end;) {
        int size = gsrt_utf8_measure(m->text + at, end - at);
        uint32_t len = size > 0 ? (uint32_t)size : 1;
        m->symbols[m->count] = (symbol){.at = at, .len = len, .previous = m->count - 1, .next = m->count + 1};
        m->count++;
        at += len;
    }
    m->symbols[m->count - 1].next = NO_SYMBOL;
}

static gsrt_status encode_word(merging *m, uint32_t begin, uint32_t end, gsrt__ids *ids, gsrt_diag *diag)
{
    list_symbols(m, begin, end); /* the first one's `previous` wraps to NO_SYMBOL */
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 1; i < m->count && status == GSRT_OK; i++)
        status = offer(m, i - 1, i);
    if (status == GSRT_OK)
        status = merge(m);
    for (uint32_t i = 0; i != NO_SYMBOL && status == GSRT_OK; i = m->symbols[i].next) {
        const symbol *s = &m->symbols[i];
        uint32_t token = gsrt__dictionary_find(&m->tokenizer->dictionary, m->text + s->at, s->len);
        if (token != GSRT_TOKEN_NONE)
            status = gsrt__ids_push(ids, token);
        for (uint32_t b = 0; token == GSRT_TOKEN_NONE && b < s->len && status == GSRT_OK; b++)
            status = gsrt__encode_byte(m->tokenizer, m->text[s->at + b], ids, diag);
    }
    return status;
}

static bool is_mark(gsrt_span text, size_t at)
{
    return text.len - at >= sizeof space_mark && memcmp(text.data + at, space_mark, sizeof space_mark) == 0;
}

/* End of the word that starts at `begin`: a mark behind something else than a mark starts the next one. */
static size_t find_word_end(gsrt_span text, size_t begin)
{
    size_t at = begin;
    bool is_in_marks = true;
    while (at < text.len) {
        bool mark = is_mark(text, at);
        if (mark && !is_in_marks)
            break;
        is_in_marks = is_in_marks && mark;
        at += mark ? sizeof space_mark : 1;
    }
    return at;
}

static gsrt_status encode_words(const gsrt_tokenizer *tokenizer, gsrt_span text, gsrt__ids *ids, gsrt_diag *diag)
{
    size_t longest = 0;
    for (size_t begin = 0, end; begin < text.len; begin = end) {
        end = tokenizer->splits_at_space ? find_word_end(text, begin) : text.len;
        longest = end - begin > longest ? end - begin : longest;
    }
    merging m = {.tokenizer = tokenizer, .text = text.data, .symbols = malloc(longest * sizeof(symbol))};
    gsrt_status status = m.symbols == NULL ? GSRT_ENOMEM : GSRT_OK;
    for (size_t begin = 0, end; begin < text.len && status == GSRT_OK; begin = end) {
        end = tokenizer->splits_at_space ? find_word_end(text, begin) : text.len;
        status = encode_word(&m, (uint32_t)begin, (uint32_t)end, ids, diag);
    }
    free(m.symbols);
    gsrt__merges_fini(&m.queue);
    return status;
}

gsrt_status gsrt__encode_spm(const gsrt_tokenizer *tokenizer, gsrt_span text, bool is_after_special, gsrt__ids *ids,
                             gsrt_diag *diag)
{
    size_t room = 3 * (text.len + 1), len = 0;
    uint8_t *marked = malloc(room);
    if (marked == NULL)
        return GSRT_ENOMEM;
    if (tokenizer->adds_space && is_after_special) {
        memcpy(marked, space_mark, sizeof space_mark);
        len = sizeof space_mark;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == ' ') {
            memcpy(marked + len, space_mark, sizeof space_mark);
            len += sizeof space_mark;
        } else {
            marked[len++] = text.data[i];
        }
    }
    gsrt_status status = encode_words(tokenizer, gsrt_span_of(marked, len), ids, diag);
    free(marked);
    return status;
}
