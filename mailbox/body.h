/* Bodies in memory: check, copy, print. A copied body is one flat run of bytes:
 *
 *   [ struct gsrt_msg_<kind> ][ array or text of its first variable field ][ ... of the second ] ...
 *     pointers of the struct point into the run; each part starts at a multiple of 8
 *
 * so a local message needs no msgpack, and may be moved (gsrt_body_relocate). Thread: any; no state. Cost: O(bytes).
 */
#ifndef GSRT_MAILBOX_BODY_H
#define GSRT_MAILBOX_BODY_H

#include "base/buffer.h"
#include "base/status.h"
#include "mailbox/kinds.h"

/* Every field is within its limit, and no array or span is NULL with a length. GSRT_OK | GSRT_EKIND | GSRT_EINVAL. */
GSRT_MUST_CHECK gsrt_status gsrt_body_check(gsrt_kind kind, const void *body);

/* Bytes of a flat copy, a multiple of 8. 0: unknown kind. The body has been checked. */
size_t gsrt_body_flat_bytes(gsrt_kind kind, const void *body);

/* Deep copy into dest [dest_bytes], aligned to 8; dest then is the kind's struct.
 * GSRT_OK | GSRT_EKIND | GSRT_ELIMIT: dest_bytes < gsrt_body_flat_bytes(kind, body), and dest is unspecified. The body
 * has been checked. One walk over the fields. */
GSRT_MUST_CHECK gsrt_status gsrt_body_copy(gsrt_kind kind, const void *body, void *dest, size_t dest_bytes);

/* A flat copy was moved bytewise to `flat`: make its pointers point into the new place. */
void gsrt_body_relocate(gsrt_kind kind, void *flat);

/* Append the body as one JSON object for a person's eyes: {"step": 7, "tokens": [1, 2, ... 510 more]}. Not parsed by
 * anything: long arrays and bytes are cut. GSRT_OK | GSRT_EKIND | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_body_print(gsrt_kind kind, const void *body, gsrt_buffer *out);

#endif
