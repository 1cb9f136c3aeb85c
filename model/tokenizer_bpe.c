/* Byte-level BPE: words from the pre-tokenisation, one symbol per byte, merged by the file's list, lowest rank first.
 */
#include <stdlib.h>

#include "model/tokenizer_impl.h"

#define NO_SYMBOL UINT32_MAX

/* GPT-2's table: printable Latin-1 bytes stand for themselves, the others for 256, 257, ... in order. */
static bool is_printable(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad && byte <= 0xff);
}

uint32_t gsrt__code_of_byte(uint8_t byte)
{
    if (is_printable(byte))
        return byte;
    uint32_t code = 256;
    for (unsigned other = 0; other < byte; other++)
        code += is_printable(other) ? 0 : 1;
    return code;
}

int gsrt__byte_of_code(uint32_t code)
{
    if (code < 256)
        return is_printable(code) ? (int)code : -1;
    for (int byte = 0; byte < 256; byte++) {
        if (!is_printable((unsigned)byte) && code-- == 256)
            return byte;
    }
    return -1;
}

typedef struct symbol {
    uint32_t token; /* GSRT_TOKEN_NONE: the byte has no token */
    uint32_t previous, next;
    uint32_t at; /* byte of the word; its length is up to the next symbol */
    bool is_gone;
} symbol;

typedef struct merging {
    const gsrt_tokenizer *tokenizer;
    symbol *symbols;
    uint32_t count;
    gsrt__queue queue;
} merging;

static const gsrt__merge *find_merge(const gsrt_tokenizer *t, uint32_t left, uint32_t right)
{
    uint32_t low = t->merge_starts[left], high = t->merge_starts[left + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->merges[middle].right == right)
            return &t->merges[middle];
        if (right < t->merges[middle].right)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static gsrt_status offer(merging *m, uint32_t left, uint32_t right)
{
    if (left == NO_SYMBOL || right == NO_SYMBOL || m->symbols[left].token == GSRT_TOKEN_NONE ||
        m->symbols[right].token == GSRT_TOKEN_NONE)
        return GSRT_OK;
    const gsrt__merge *found = find_merge(m->tokenizer, m->symbols[left].token, m->symbols[right].token);
    if (found == NULL)
        return GSRT_OK;
    return gsrt__merges_push(&m->queue, (gsrt__candidate){.order = found->rank,
                                                          .left = left,
                                                          .right = right,
                                                          .check = (uint32_t)(found - m->tokenizer->merges)});
}

static gsrt_status merge(merging *m)
{
    gsrt_status status = GSRT_OK;
    gsrt__candidate best;
    while (status == GSRT_OK && gsrt__merges_pop(&m->queue, &best)) {
        symbol *left = &m->symbols[best.left], *right = &m->symbols[best.right];
        const gsrt__merge *what = &m->tokenizer->merges[best.check];
        if (left->is_gone || right->is_gone || left->next != best.right || left->token != what->left ||
            right->token != what->right)
            continue;
        left->token = what->result;
        left->next = right->next;
        right->is_gone = true;
        if (right->next != NO_SYMBOL)
            m->symbols[right->next].previous = best.left;
        status = offer(m, left->previous, best.left);
        if (status == GSRT_OK)
            status = offer(m, best.left, left->next);
    }
    return status;
}

/* The token of the whole word in its byte-level spelling. */
static uint32_t find_word(const gsrt_tokenizer *t, gsrt_span word)
{
    uint8_t spelled[2048];
    size_t len = 0;
    if (word.len > sizeof spelled / 2)
        return GSRT_TOKEN_NONE;
    for (size_t i = 0; i < word.len; i++) {
        uint32_t code = gsrt__code_of_byte(word.data[i]);
        if (code >= 0x80) {
            spelled[len++] = (uint8_t)(0xc0 | code >> 6);
            spelled[len++] = (uint8_t)(0x80 | (code & 0x3f));
        } else {
            spelled[len++] = (uint8_t)code;
        }
    }
    return gsrt__dictionary_find(&t->dictionary, spelled, len);
}

static gsrt_status encode_word(merging *m, gsrt_span word, gsrt__ids *ids, gsrt_diag *diag)
{
    const gsrt_tokenizer *t = m->tokenizer;
    if (gsrt__splitter_ignores_merges(t->splitter)) {
        uint32_t whole = find_word(t, word);
        if (whole != GSRT_TOKEN_NONE)
            return gsrt__ids_push(ids, whole);
    }
    m->count = (uint32_t)word.len;
    for (uint32_t i = 0; i < m->count; i++)
        m->symbols[i] = (symbol){.token = t->byte_token[word.data[i]], .previous = i - 1, .next = i + 1, .at = i};
    m->symbols[m->count - 1].next = NO_SYMBOL; /* the first one's `previous` wraps to NO_SYMBOL */
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 1; i < m->count && status == GSRT_OK; i++)
        status = offer(m, i - 1, i);
    if (status == GSRT_OK)
        status = merge(m);
    for (uint32_t i = 0; i != NO_SYMBOL && status == GSRT_OK; i = m->symbols[i].next) {
        if (m->symbols[i].token != GSRT_TOKEN_NONE)
            status = gsrt__ids_push(ids, m->symbols[i].token);
        else
            status = gsrt__encode_byte(t, word.data[m->symbols[i].at], ids, diag);
    }
    return status;
}

gsrt_status gsrt__encode_bpe(const gsrt_tokenizer *tokenizer, gsrt_span text, gsrt__ids *ids, gsrt_diag *diag)
{
    uint32_t *ends = NULL, longest = 0, begin = 0;
    size_t count = 0;
    gsrt_status status = gsrt__splitter_cut(tokenizer->splitter, text, &ends, &count, diag);
    if (status != GSRT_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        longest = ends[i] - begin > longest ? ends[i] - begin : longest;
        begin = ends[i];
    }
    merging m = {.tokenizer = tokenizer, .symbols = malloc(((size_t)longest + 1) * sizeof(symbol))};
    status = m.symbols == NULL ? GSRT_ENOMEM : GSRT_OK;
    begin = 0;
    for (size_t i = 0; i < count && status == GSRT_OK; i++) {
        status = encode_word(&m, gsrt_span_of(text.data + begin, ends[i] - begin), ids, diag);
        begin = ends[i];
    }
    free(m.symbols);
    free(ends);
    gsrt__merges_fini(&m.queue);
    return status;
}
