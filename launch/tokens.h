/* tokens.jsonl: a line per token, in the order in which the tokens were made.
 *
 *     {"request":0,"index":0,"token":403,"text":"Once","logits":"<xxh3-128 of the raw float32 logits, 32 hex digits>"}
 *
 * A sink in the sense of DESIGN: it accepts each (request, index) once and in order, and keeps nothing that was not
 * asked for. Each line is one write(), so that an interrupted run keeps all whole lines.
 */
#ifndef GSRT_LAUNCH_TOKENS_H
#define GSRT_LAUNCH_TOKENS_H

#include "base/buffer.h"
#include "base/diag.h"

typedef struct gsrt_tokens gsrt_tokens;

typedef struct gsrt_token {
    uint32_t request; /* below the request count */
    uint32_t index;   /* of the token within its answer, from 0 */
    uint32_t token;
    gsrt_span text; /* UTF-8: what this token completed; empty while a character is incomplete; borrowed */
    uint64_t hash_low, hash_high; /* of the logits it was drawn from */
} gsrt_token;

/* A sink on `descriptor`, which it owns from now on. *out owned. GSRT_OK | GSRT_ENOMEM (descriptor is closed). */
GSRT_MUST_CHECK gsrt_status gsrt_tokens_create(int descriptor, uint32_t request_count, gsrt_tokens **out);

/* Write one line.
 * GSRT_OK | GSRT_ESTALE: this index of this request is already there, nothing was written (a benign repetition after a
 * step was run again) | GSRT_ESTATE: an index before it is missing | GSRT_EINVAL: no such request | GSRT_EIO |
 * GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_tokens_append(gsrt_tokens *tokens, const gsrt_token *token);

/* Take up a file that another process began: each whole line is checked like any input and handed to `each` (may be
 * NULL; the token's text is borrowed for the call). A line that cannot be one of these, or is out of its order, is an
 * error, because nothing of an answer may be guessed.
 * is_ours: nobody else writes to it any more. What follows the last whole line, torn when a process died, is cut off,
 * and lines are appended from there on. Else it is only read, nothing may be appended, and it is to be taken up again.
 * Legal at any time; what was accepted is counted anew. `file` names it in *diag. GSRT_OK | GSRT_EINPUT | GSRT_EIO |
 * GSRT_ENOMEM | the status of `each`. */
GSRT_MUST_CHECK gsrt_status gsrt_tokens_restore(gsrt_tokens *tokens, const char *file, bool is_ours,
                                                gsrt_status (*each)(void *arg, const gsrt_token *token), void *arg,
                                                gsrt_diag *diag);
/* The same check on bytes; *out_len: up to where they are good. For gsrt_tokens_restore and its fuzz target. */
GSRT_MUST_CHECK gsrt_status gsrt_tokens_read(gsrt_tokens *tokens, gsrt_span bytes, const char *file,
                                             gsrt_status (*each)(void *arg, const gsrt_token *token), void *arg,
                                             size_t *out_len, gsrt_diag *diag);

/* Tokens accepted for `request` so far. */
uint32_t gsrt_tokens_count(const gsrt_tokens *tokens, uint32_t request);

/* Closes the file. Accepts NULL; returns NULL. */
gsrt_tokens *gsrt_tokens_free(gsrt_tokens *tokens);

#endif
