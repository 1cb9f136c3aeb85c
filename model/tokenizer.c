#include "model/tokenizer.h"

#include <stdlib.h>

#include "model/tokenizer_impl.h"

gsrt_tokenizer *gsrt_tokenizer_free(gsrt_tokenizer *tokenizer)
{
    if (tokenizer == NULL)
        return NULL;
    gsrt__splitter_free(tokenizer->splitter);
    gsrt_arena_fini(&tokenizer->arena);
    free(tokenizer);
    return NULL;
}

gsrt_span gsrt_tokenizer_piece(const gsrt_tokenizer *tokenizer, uint32_t token, uint32_t previous)
{
    if (token >= tokenizer->count)
        return gsrt_span_of("", 0);
    gsrt_span piece = tokenizer->pieces[token];
    bool is_first = previous == GSRT_TOKEN_NONE || previous == tokenizer->bos;
    if (is_first && tokenizer->adds_space && piece.len > 0 && piece.data[0] == ' ')
        piece = gsrt_span_of(piece.data + 1, piece.len - 1);
    return piece;
}

bool gsrt_tokenizer_is_stop(const gsrt_tokenizer *tokenizer, uint32_t token)
{
    bool is_stop = false;
    for (size_t i = 0; i < sizeof tokenizer->stops / sizeof tokenizer->stops[0]; i++)
        is_stop = is_stop || (token != GSRT_TOKEN_NONE && tokenizer->stops[i] == token);
    return is_stop;
}

uint32_t gsrt_tokenizer_count(const gsrt_tokenizer *tokenizer)
{
    return tokenizer->count;
}

uint32_t gsrt_tokenizer_bos(const gsrt_tokenizer *tokenizer)
{
    return tokenizer->bos;
}

uint32_t gsrt_tokenizer_eos(const gsrt_tokenizer *tokenizer)
{
    return tokenizer->eos;
}

bool gsrt_tokenizer_adds_bos(const gsrt_tokenizer *tokenizer)
{
    return tokenizer->adds_bos;
}

const char *gsrt_tokenizer_kind(const gsrt_tokenizer *tokenizer)
{
    return tokenizer->is_bpe ? "gpt2" : "llama";
}
