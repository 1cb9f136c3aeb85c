/* A growable byte buffer with a hard ceiling.
 * Legal order: init, append any number of times, reset to reuse, fini. Not thread safe. Cost: amortised O(bytes).
 */
#ifndef GSRT_BASE_BUFFER_H
#define GSRT_BASE_BUFFER_H

#include "base/span.h"
#include "base/status.h"

typedef struct gsrt_buffer {
    uint8_t *data;    /* owned */
    size_t len;       /* bytes used */
    size_t capacity;  /* bytes allocated */
    size_t bytes_max; /* append fails with GSRT_ELIMIT past this */
} gsrt_buffer;

void gsrt_buffer_init(gsrt_buffer *buffer, size_t bytes_max);
void gsrt_buffer_fini(gsrt_buffer *buffer);

/* Forget the content, keep the memory. */
static inline void gsrt_buffer_reset(gsrt_buffer *buffer)
{
    buffer->len = 0;
}

/* GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT; on error nothing was appended. */
GSRT_MUST_CHECK gsrt_status gsrt_buffer_append(gsrt_buffer *buffer, const void *data, size_t len);

/* Room for `len` more bytes, uninitialised, appended; *out borrowed until the next call. Errors as append. */
GSRT_MUST_CHECK gsrt_status gsrt_buffer_extend(gsrt_buffer *buffer, size_t len, uint8_t **out);

/* printf at the end of the buffer, without the terminating zero. Errors as append. */
GSRT_MUST_CHECK gsrt_status gsrt_buffer_print(gsrt_buffer *buffer, const char *format, ...) GSRT_PRINTF(2, 3);

static inline gsrt_span gsrt_buffer_span(const gsrt_buffer *buffer)
{
    return gsrt_span_of(buffer->data, buffer->len);
}

#endif
