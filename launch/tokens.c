#include "launch/tokens.h"

#include "base/json.h"
#include "base/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    if (token->index > next)
        return GSRT_ESTATE;
#ifndef GSRT_PLANT_NO_DEDUPLICATION
    if (token->index < next)
        return GSRT_ESTALE;
#endif
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
        tokens->next[token->request] = token->index + 1;
    return status;
}

/* ---- taking up ---- */

static bool read_u32(const json_t *line, const char *key, uint32_t *out)
{
    const json_t *value = json_object_get(line, key);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    if (number < 0 || number > (json_int_t)UINT32_MAX)
        return false;
    *out = (uint32_t)number;
    return true;
}

/* 16 lower-case hexadecimal digits. */
static bool read_half(const char *digits, uint64_t *out)
{
    uint64_t value = 0;
    for (int i = 0; i < 16; i++) {
        bool is_number = digits[i] >= '0' && digits[i] <= '9', is_letter = digits[i] >= 'a' && digits[i] <= 'f';
        if (!is_number && !is_letter)
            return false;
        value = value << 4 | (uint64_t)(is_number ? digits[i] - '0' : digits[i] - 'a' + 10);
    }
    *out = value;
    return true;
}

static bool read_token(const json_t *line, gsrt_token *out)
{
    const json_t *text = json_object_get(line, "text"), *logits = json_object_get(line, "logits");
    if (!json_is_object(line) || json_object_size(line) != 5 || !json_is_string(text) || !json_is_string(logits) ||
        json_string_length(logits) != 32)
        return false;
    out->text = gsrt_span_of(json_string_value(text), json_string_length(text));
    return read_u32(line, "request", &out->request) && read_u32(line, "index", &out->index) &&
           read_u32(line, "token", &out->token) && read_half(json_string_value(logits), &out->hash_high) &&
           read_half(json_string_value(logits) + 16, &out->hash_low);
}

static gsrt_status read_line(gsrt_tokens *tokens, gsrt_span bytes, const char *file, const char *place,
                             gsrt_status (*each)(void *arg, const gsrt_token *token), void *arg, gsrt_diag *diag)
{
    json_t *line;
    gsrt_token token;
    gsrt_diag why = {0};
    gsrt_status status = gsrt_json_parse(bytes, file, &line, &why);
    if (status == GSRT_ENOMEM)
        return status;
    if (status != GSRT_OK)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, place, "this is no line of tokens.jsonl: it is not JSON");
    if (!read_token(line, &token))
        status = gsrt_diag_set(diag, GSRT_EINPUT, file, place, "this is no line of tokens.jsonl");
    else if (token.request >= tokens->request_count || token.index != tokens->next[token.request])
        status = gsrt_diag_set(diag, GSRT_EINPUT, file, place,
                               "request %" PRIu32 ", index %" PRIu32 " is out of its order; the file is another run's",
                               token.request, token.index);
    if (status == GSRT_OK) {
        tokens->next[token.request] += 1;
        status = each == NULL ? GSRT_OK : each(arg, &token);
    }
    json_decref(line);
    return status;
}

gsrt_status gsrt_tokens_read(gsrt_tokens *tokens, gsrt_span bytes, const char *file,
                             gsrt_status (*each)(void *arg, const gsrt_token *token), void *arg, size_t *out_len,
                             gsrt_diag *diag)
{
    size_t at = 0;
    gsrt_status status = GSRT_OK;
    for (uint32_t number = 1; status == GSRT_OK && at < bytes.len; number++) {
        const uint8_t *end = memchr(bytes.data + at, '\n', bytes.len - at);
        char place[32];
        if (end == NULL)
            break; /* torn */
        (void)snprintf(place, sizeof place, "line %" PRIu32, number);
        size_t len = (size_t)(end - bytes.data) - at;
        if (len > GSRT_TOKEN_LINE_BYTES_MAX)
            return gsrt_diag_set(diag, GSRT_EINPUT, file, place, "this line is longer than any can be");
        status = read_line(tokens, gsrt_span_of(bytes.data + at, len), file, place, each, arg, diag);
        at += len + 1;
    }
    *out_len = at;
    return status;
}

gsrt_status gsrt_tokens_restore(gsrt_tokens *tokens, const char *file, bool is_ours,
                                gsrt_status (*each)(void *arg, const gsrt_token *token), void *arg, gsrt_diag *diag)
{
    struct stat about;
    gsrt_buffer content;
    uint8_t *room;
    if (fstat(tokens->descriptor, &about) != 0)
        return gsrt_diag_set(diag, GSRT_EIO, file, NULL, "cannot be read: %s", strerror(errno));
    size_t size = (size_t)about.st_size, done = 0, good;
    memset(tokens->next, 0, tokens->request_count * sizeof tokens->next[0]);
    gsrt_buffer_init(&content, SIZE_MAX / 2);
    gsrt_status status = gsrt_buffer_extend(&content, size, &room);
    while (status == GSRT_OK && done < size) {
        ssize_t n = pread(tokens->descriptor, room + done, size - done, (off_t)done);
        if (n == 0 || (n < 0 && errno != EINTR))
            status = gsrt_diag_set(diag, GSRT_EIO, file, NULL, "cannot be read: %s", strerror(errno));
        done += n > 0 ? (size_t)n : 0;
    }
    if (status == GSRT_OK)
        status = gsrt_tokens_read(tokens, gsrt_buffer_span(&content), file, each, arg, &good, diag);
    if (status == GSRT_OK && is_ours &&
        (ftruncate(tokens->descriptor, (off_t)good) != 0 || lseek(tokens->descriptor, (off_t)good, SEEK_SET) < 0))
        status = gsrt_diag_set(diag, GSRT_EIO, file, NULL, "cannot be cut: %s", strerror(errno));
    gsrt_buffer_fini(&content);
    return status;
}
