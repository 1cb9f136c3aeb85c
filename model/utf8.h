/* UTF-8 that arrives in pieces: byte-fallback tokens split characters, the reader must see whole ones only.
 *
 * Legal order: init, push any number of times, flush at the end. In place, 8 bytes, no allocation. Not thread safe.
 * Whatever comes in, valid UTF-8 comes out: a byte that cannot belong to a character becomes U+FFFD, one per maximal
 * malformed part (as the Unicode standard recommends, section 3.9).
 */
#ifndef GSRT_MODEL_UTF8_H
#define GSRT_MODEL_UTF8_H

#include "base/buffer.h"

typedef struct gsrt_utf8 {
    uint8_t held[4]; /* the beginning of a character */
    uint8_t held_count;
} gsrt_utf8;

static inline void gsrt_utf8_init(gsrt_utf8 *utf8)
{
    *utf8 = (gsrt_utf8){0};
}

/* Append to `out` all characters that are complete once `bytes` have come; the rest is held back (at most 3 bytes).
 * returns  GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT (of `out`; then what was pushed is partly lost). */
GSRT_MUST_CHECK gsrt_status gsrt_utf8_push(gsrt_utf8 *utf8, gsrt_span bytes, gsrt_buffer *out);

/* The text has ended: what is held back becomes U+FFFD. Errors as push. */
GSRT_MUST_CHECK gsrt_status gsrt_utf8_flush(gsrt_utf8 *utf8, gsrt_buffer *out);

/* How the bytes start: > 0: a whole character of that many bytes; 0: more bytes could complete one; < 0: minus the
 * number of bytes that are malformed together. len > 0. */
int gsrt_utf8_measure(const uint8_t *bytes, size_t len);

#endif
