/* Inside model/tokenizer*.c only. */
#ifndef GSRT_MODEL_TOKENIZER_IMPL_H
#define GSRT_MODEL_TOKENIZER_IMPL_H

#include "base/arena.h"
#include "base/buffer.h"
#include "model/tokenizer.h"

/* What a token is; numbers are GGUF's. */
typedef enum gsrt__token_type {
    GSRT__TOKEN_NORMAL = 1,
    GSRT__TOKEN_UNKNOWN = 2,
    GSRT__TOKEN_CONTROL = 3,
    GSRT__TOKEN_USER_DEFINED = 4,
    GSRT__TOKEN_UNUSED = 5,
    GSRT__TOKEN_BYTE = 6,
} gsrt__token_type;

/* ---- dictionary: a text's token. Sorted by hash and found through the hash's leading bits: as fast as a hash table,
 * and chosen collisions cost a binary search, not a walk. ---- */

typedef struct gsrt__dictionary_entry {
    uint64_t hash;
    const uint8_t *text;
    uint32_t len;
    uint32_t token;
} gsrt__dictionary_entry;

typedef struct gsrt__dictionary {
    gsrt__dictionary_entry *entries; /* [count], sorted by (hash, length, text); in the arena */
    uint32_t count;
    uint32_t *starts; /* [2^bits + 1]: first entry whose hash has at least these leading bits */
    uint32_t bits;
} gsrt__dictionary;

/* Takes entries as filled in by the caller (hash not yet), in the arena; of equal texts the last token stays.
 * false: no memory. */
bool gsrt__dictionary_build(gsrt__dictionary *dictionary, gsrt_arena *arena, gsrt__dictionary_entry *entries,
                            uint32_t count);
/* The token of text, GSRT_TOKEN_NONE: none. */
uint32_t gsrt__dictionary_find(const gsrt__dictionary *dictionary, const uint8_t *text, size_t len);

/* ---- special tokens: texts that are looked for in the text before it is encoded ---- */

typedef struct gsrt__specials {
    gsrt__dictionary dictionary;
    const uint32_t *lengths; /* [length_count] of their texts, longest first, each once */
    uint32_t length_count;
    const uint8_t *begins; /* [8192]: bit (first + 256 * second byte) is set where a text begins so */
} gsrt__specials;

/* Places of a text's special tokens: longer ones are found first, within one length the leftmost first. */
typedef struct gsrt__place {
    uint32_t at, len, token;
} gsrt__place;

/* *out_places [*out_count], by place, owned, free(); none overlap. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__specials_find(const gsrt__specials *specials, gsrt_span text,
                                                gsrt__place **out_places, size_t *out_count);

/* ---- merges of BPE: a pair of tokens becomes one, the lowest rank first ---- */

typedef struct gsrt__merge {
    uint32_t left, right; /* tokens */
    uint32_t rank;        /* its place in the file */
    uint32_t result;      /* token */
} gsrt__merge;

/* ---- the queue of merges: a binary heap, best first ---- */

typedef struct gsrt__candidate {
    uint32_t order; /* smaller is better */
    uint32_t left;  /* symbols; ties: the leftmost first */
    uint32_t right;
    uint32_t check; /* what must still hold when it is taken: see the caller */
} gsrt__candidate;

typedef struct gsrt__queue {
    gsrt__candidate *items; /* [room], owned */
    size_t count, room;
} gsrt__queue;

GSRT_MUST_CHECK gsrt_status gsrt__merges_push(gsrt__queue *queue, gsrt__candidate candidate);
/* false: empty. */
bool gsrt__merges_pop(gsrt__queue *queue, gsrt__candidate *out);
void gsrt__merges_fini(gsrt__queue *queue);

/* ---- a list of ids that grows ---- */

typedef struct gsrt__ids {
    uint32_t *data; /* [room], owned until taken */
    size_t count, room;
} gsrt__ids;

GSRT_MUST_CHECK gsrt_status gsrt__ids_push(gsrt__ids *ids, uint32_t id);

/* ---- pre-tokenisation (tokenizer_split.c) ---- */

typedef struct gsrt__splitter gsrt__splitter;

/* The pre-tokenisation called `name`; GSRT_EINPUT: there is none (*diag). */
GSRT_MUST_CHECK gsrt_status gsrt__splitter_create(const char *file, gsrt_span name, gsrt__splitter **out,
                                                  gsrt_diag *diag);
gsrt__splitter *gsrt__splitter_free(gsrt__splitter *splitter);
bool gsrt__splitter_ignores_merges(const gsrt__splitter *splitter); /* a word that is a token is not merged */
bool gsrt__splitter_adds_bos(const gsrt__splitter *splitter);       /* where the file does not say */
/* Cut text [len] into words: *out_ends [*out_count] are their ends, ascending, the last is len; owned, free(). */
GSRT_MUST_CHECK gsrt_status gsrt__splitter_cut(const gsrt__splitter *splitter, gsrt_span text, uint32_t **out_ends,
                                               size_t *out_count, gsrt_diag *diag);

/* ---- the tokenizer ---- */

struct gsrt_tokenizer {
    gsrt_arena arena;
    const char *file;
    bool is_bpe;
    uint32_t count;
    const gsrt_span *texts;      /* [count] as in the file */
    const gsrt_span *pieces;     /* [count] decoded */
    const uint8_t *types;        /* [count] gsrt__token_type */
    const uint32_t *ranks;       /* SPM: [count] 0 = highest score; equal scores, equal ranks */
    gsrt__dictionary dictionary; /* texts that may come out of encoding plain text */
    uint32_t byte_token[256];    /* GSRT_TOKEN_NONE: none */
    uint32_t bos, eos, unknown;
    uint32_t stops[4];
    bool adds_bos, adds_eos, adds_space;
    uint32_t token_bytes_max; /* longest text in the dictionary */
    bool splits_at_space;     /* SPM: no token spans the start of a word, so words are encoded one by one */
    gsrt__specials user;      /* user-defined tokens: found in any text */
    gsrt__specials special;   /* those and control tokens */
    gsrt__merge *merges;      /* BPE: [merge_count], sorted by (left, right) */
    uint32_t merge_count;
    const uint32_t *merge_starts; /* BPE: [count + 1]: the first merge whose left is this token */
    gsrt__splitter *splitter;
};

/* The byte that character `code` of a byte-level text stands for, -1: none (GPT-2's table); and the other way. */
int gsrt__byte_of_code(uint32_t code);
uint32_t gsrt__code_of_byte(uint8_t byte);

/* Encode one run of plain text. */
GSRT_MUST_CHECK gsrt_status gsrt__encode_spm(const gsrt_tokenizer *tokenizer, gsrt_span text, bool is_after_special,
                                             gsrt__ids *ids, gsrt_diag *diag);
GSRT_MUST_CHECK gsrt_status gsrt__encode_bpe(const gsrt_tokenizer *tokenizer, gsrt_span text, gsrt__ids *ids,
                                             gsrt_diag *diag);
/* The token of a byte that no text token covers; GSRT_EINPUT: there is none. */
GSRT_MUST_CHECK gsrt_status gsrt__encode_byte(const gsrt_tokenizer *tokenizer, uint8_t byte, gsrt__ids *ids,
                                              gsrt_diag *diag);

#endif
