#include "launch/tokens.h"

#include "base/json.h"
#include "base/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

struct gsrt_tokens {
    int descriptor;
    uint32_t request_count;
    gsrt_buffer line;
    uint32_t next[]; /* [request_count] index that is accepted next */
};

gsrt_status gsrt_tokens_create(int descriptor, uint32_t request_count, gsrt_tokens **out)
{
    gsrt_tokens *tokens = calloc(1, sizeof *tokens + request_count * sizeof tokens->next[0]);
    if (tokens == NULL) {
        (void)close(descriptor);
        return GSRT_ENOMEM;
    }
    tokens->descriptor = descriptor;
    tokens->request_count = request_count;
    gsrt_buffer_init(&tokens->line, GSRT_TOKEN_LINE_BYTES_MAX);
    *out = tokens;
    return GSRT_OK;
}

gsrt_tokens *gsrt_tokens_free(gsrt_tokens *tokens)
{
    if (tokens == NULL)
        return NULL;
    (void)close(tokens->descriptor);
    gsrt_buffer_fini(&tokens->line);
    free(tokens);
    return NULL;
}

uint32_t gsrt_tokens_count(const gsrt_tokens *tokens, uint32_t request)
{
    return request < tokens->request_count ? tokens->next[request] : 0;
}

static gsrt_status write_line(const gsrt_tokens *tokens)
{
    const uint8_t *at = tokens->line.data;
    size_t left = tokens->line.len;
    while (left > 0) {
        ssize_t n = write(tokens->descriptor, at, left);
        if (n < 0 && errno != EINTR)
            return GSRT_EIO;
        at += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    return GSRT_OK;
}

gsrt_status gsrt_tokens_append(gsrt_tokens *tokens, const gsrt_token *token)
{
    if (token->request >= tokens->request_count)
        return GSRT_EINVAL;
    uint32_t next = tokens->next[token->request];
    if (token->index != next)
        return token->index < next ? GSRT_ESTALE : GSRT_ESTATE;
    gsrt_buffer *line = &tokens->line;
    gsrt_buffer_reset(line);
    gsrt_status status = gsrt_buffer_print(
        line, "{\"request\":%" PRIu32 ",\"index\":%" PRIu32 ",\"token\":%" PRIu32 ",\"text\":", token->request,
        token->index, token->token);
    if (status == GSRT_OK)
        status = gsrt_json_print_text(line, token->text);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(line, ",\"logits\":\"%016" PRIx64 "%016" PRIx64 "\"}\n", token->hash_high,
                                   token->hash_low);
    if (status == GSRT_OK)
        status = write_line(tokens);
    if (status == GSRT_OK)
        tokens->next[token->request] = next + 1;
    return status;
}
