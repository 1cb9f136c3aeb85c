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
    uint8_t *data; /* [len] */
} gsrt_payload;

/* `len` uninitialised bytes, one reference; NULL: no memory or len past GSRT_PAYLOAD_BYTES_MAX. */
gsrt_payload *gsrt_payload_create(size_t len);
gsrt_payload *gsrt_payload_ref(gsrt_payload *payload);   /* NULL stays NULL */
gsrt_payload *gsrt_payload_unref(gsrt_payload *payload); /* frees at zero; returns NULL */

#endif
