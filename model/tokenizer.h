/* Text to token ids and back, as the GGUF file's tokenizer metadata says.
 *
 * Two kinds: SentencePiece-style ("llama": scores, byte fallback, space prefix) and byte-level BPE ("gpt2": merges,
 * pre-tokenisation by tokenizer.ggml.pre). Any bytes are accepted: what is not UTF-8 becomes byte tokens.
 *
 * Legal order: create, encode and piece any number of times, free. Read-only after create: any thread.
 * Cost: create O(vocab log vocab); encode O(n log n) time, at most 64 bytes of memory per byte of text.
 */
#ifndef GSRT_MODEL_TOKENIZER_H
#define GSRT_MODEL_TOKENIZER_H

#include "model/gguf.h"

#define GSRT_TOKEN_NONE UINT32_MAX /* no token */

typedef struct gsrt_tokenizer gsrt_tokenizer;

/* From the metadata of `gguf`, which may be freed afterwards.
 * out      owned; free with gsrt_tokenizer_free.
 * returns  GSRT_OK | GSRT_ENOTFOUND (the file has no tokenizer; *diag untouched: prompts must be token ids) |
 *          GSRT_EINPUT (*diag: unsupported model or pre-tokenisation, inconsistent tables) | GSRT_ENOMEM.
 * source   llama.cpp's llama-vocab.cpp for the behaviour.   test  tests/model/tokenizer_test.c
 */
GSRT_MUST_CHECK gsrt_status gsrt_tokenizer_create(const gsrt_gguf *gguf, gsrt_tokenizer **out, gsrt_diag *diag);
/* Accepts NULL; returns NULL. */
gsrt_tokenizer *gsrt_tokenizer_free(gsrt_tokenizer *tokenizer);

typedef struct gsrt_encode_options {
    bool is_framed;         /* begin and end the text with BOS and EOS where the model asks for them */
    bool is_special_parsed; /* control tokens may be written as text ("</s>"); never for text that users type */
} gsrt_encode_options;

/* Encode `text` (any bytes, at most GSRT_PROMPT_BYTES_MAX).
 * out_ids  [*out_count], owned, free with free(); NULL when the count is 0.
 * returns  GSRT_OK | GSRT_ELIMIT (text too long) | GSRT_EINPUT (a byte has no token in this vocabulary; *diag) |
 *          GSRT_ENOMEM.
 */
GSRT_MUST_CHECK gsrt_status gsrt_tokenizer_encode(const gsrt_tokenizer *tokenizer, gsrt_span text,
                                                  const gsrt_encode_options *options, uint32_t **out_ids,
                                                  size_t *out_count, gsrt_diag *diag);

/* The bytes that `token` stands for when it follows `previous` (GSRT_TOKEN_NONE: it is the first). May be part of a
 * character: feed it to gsrt_utf8. Control tokens and ids outside the vocabulary stand for nothing. A leading space
 * that encoding had added is dropped at the start (first token, or after BOS). Borrowed until free. */
gsrt_span gsrt_tokenizer_piece(const gsrt_tokenizer *tokenizer, uint32_t token, uint32_t previous);

/* Does generation end with this token (EOS, end of turn, end of message)? */
bool gsrt_tokenizer_is_stop(const gsrt_tokenizer *tokenizer, uint32_t token);

uint32_t gsrt_tokenizer_count(const gsrt_tokenizer *tokenizer);   /* tokens of the vocabulary */
uint32_t gsrt_tokenizer_bos(const gsrt_tokenizer *tokenizer);     /* GSRT_TOKEN_NONE: none */
uint32_t gsrt_tokenizer_eos(const gsrt_tokenizer *tokenizer);     /* GSRT_TOKEN_NONE: none */
bool gsrt_tokenizer_adds_bos(const gsrt_tokenizer *tokenizer);    /* what is_framed puts in front */
const char *gsrt_tokenizer_kind(const gsrt_tokenizer *tokenizer); /* "llama" or "gpt2"; static */

#endif
