/* tokens.jsonl as another process left it: what is accepted is in order, and is accepted again without its torn end. */
#include "launch/tokens.h"

#include <fcntl.h>
#include <stdlib.h>

enum { REQUESTS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check is a crash, which is what a fuzzer looks for. */
static void must(bool is_true)
{
    if (!is_true)
        abort();
}

typedef struct seen {
    uint32_t next[REQUESTS], count;
} seen;

static gsrt_status see(void *arg, const gsrt_token *token)
{
    seen *s = arg;
    must(token->request < REQUESTS && token->index == s->next[token->request]);
    s->next[token->request] += 1;
    s->count += 1;
    return GSRT_OK;
}

static gsrt_status take(gsrt_span bytes, seen *out, size_t *len)
{
    gsrt_tokens *tokens;
    gsrt_diag diag = {0};
    *out = (seen){.count = 0};
    must(gsrt_tokens_create(open("/dev/null", O_RDWR | O_CLOEXEC), REQUESTS, &tokens) == GSRT_OK);
    gsrt_status status = gsrt_tokens_read(tokens, bytes, "fuzz", see, out, len, &diag);
    must(status == GSRT_OK || diag.text[0] != 0);
    for (uint32_t request = 0; request < REQUESTS && status == GSRT_OK; request++)
        must(gsrt_tokens_count(tokens, request) == out->next[request]);
    (void)gsrt_tokens_free(tokens);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    seen first, second;
    size_t len, again;
    if (take(gsrt_span_of(data, size), &first, &len) != GSRT_OK)
        return 0;
    must(len <= size);
    must(take(gsrt_span_of(data, len), &second, &again) == GSRT_OK);
    must(again == len && second.count == first.count);
    return 0;
}
