/* The job's secret, and what is proved with it: SipHash-2-4 (Aumann, Bernstein 2012), a keyed 64-bit hash.
 * The secret is drawn by rank 0, travels over the launcher's wire-up only, and never over our own sockets.
 * Thread: any; no state.
 */
#ifndef GSRT_MAILBOX_SECRET_H
#define GSRT_MAILBOX_SECRET_H

#include "base/span.h"
#include "base/status.h"

enum { GSRT_SECRET_BYTES = 16 };

typedef struct gsrt_secret {
    uint8_t bytes[GSRT_SECRET_BYTES];
} gsrt_secret;

/* Fill `out` from the kernel's generator. GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_secret_draw(void *out, size_t len);

/* The proof of knowing `secret`, for these bytes. */
uint64_t gsrt_secret_prove(const gsrt_secret *secret, gsrt_span bytes);

#endif
