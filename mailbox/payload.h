/* Tensor bytes that travel beside an envelope, not in it. Reference counted, 64-byte aligned, never changed once
 * shared. Any thread may ref and unref.
 */
#ifndef GSRT_MAILBOX_PAYLOAD_H
#define GSRT_MAILBOX_PAYLOAD_H

#include "base/span.h"

#include <stdatomic.h>

typedef struct gsrt_payload {
    atomic_uint references;
    size_t len;
    uint8_t *data;              /* [len] */
    struct gsrt_payload *whole; /* a view: of this one, which it holds; else NULL */
    void *block;                /* of the heap, in which it lies */
} gsrt_payload;

/* `len` uninitialised bytes, one reference; NULL: no memory or len past GSRT_PAYLOAD_BYTES_MAX. */
gsrt_payload *gsrt_payload_create(size_t len);
/* Bytes [first, first + len) of `whole`, without a copy: keeps a reference to it. first: a multiple of 64. NULL: no
 * memory, or beyond its end. */
gsrt_payload *gsrt_payload_view(gsrt_payload *whole, size_t first, size_t len);
gsrt_payload *gsrt_payload_ref(gsrt_payload *payload);   /* NULL stays NULL */
gsrt_payload *gsrt_payload_unref(gsrt_payload *payload); /* frees at zero; returns NULL */

/* Freed payloads stay with the process, instead of going back to the kernel each time: otherwise every large one costs
 * a page fault per 4 KiB, which is more than sending it (measured: 60 % of an all-reduce of 1 MiB). Once, before the
 * first payload of a process that sends payloads for a living; what stays is bounded by GSRT_SEND_BYTES_IN_FLIGHT_MAX
 * above the most that was in use. Main thread. */
void gsrt_payload_keep_memory(void);

#endif
