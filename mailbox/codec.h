/* Bodies and envelopes to msgpack and back, from the one table of kinds.
 *
 *     wire  = header array, then body array; the payload travels beside them
 *     header = [version, kind, epoch, from, to, sequence, cause, call, is_reply, deadline_ns, payload_bytes],
 *              each number always in its type's full width: 69 bytes, one shape, read without a branch per field
 *     body   = [field, field, ...] in table order
 *
 * Decoders trust nothing: what is not exactly such bytes, a number past its limit, a length past what is there, an
 * unknown kind or a kind that never comes from another rank is refused with a status. Outputs are written on GSRT_OK
 * only. The work of a decoder is O(bytes), its memory at most GSRT_BODY_FLAT_BYTES_MAX.
 * Thread: any; no state. Cost: a PING of 64 bytes takes 500 instructions for all four functions together, of which 180
 * are the body's decoding; 70 ns at best of a core of a 2-core Zen 3 virtual machine.
 */
#ifndef GSRT_MAILBOX_CODEC_H
#define GSRT_MAILBOX_CODEC_H

#include "base/buffer.h"
#include "base/status.h"
#include "mailbox/envelope.h"

/* Largest decoded body: a one-byte number of the wire becomes at most 8 bytes; plus the struct and alignment. */
#define GSRT_BODY_FLAT_BYTES_MAX (8 * (size_t)GSRT_BODY_BYTES_MAX + 4096)

/* Room that always suffices to encode `body`, without looking at each element. 0: unknown kind. */
size_t gsrt_body_encoded_bytes_max(gsrt_kind kind, const void *body);

/* Encode the struct `body` of `kind` into room [capacity]; *out_len its bytes.
 * GSRT_OK | GSRT_EKIND: unknown | GSRT_EINVAL: a field past its limit, or a length without data | GSRT_ELIMIT: more
 * than GSRT_BODY_BYTES_MAX, or more than capacity (which may be said up to 9 bytes too early); room is then
 * unspecified. Kinds of scope LOCAL are encoded too (for traces); only their way in is closed. */
GSRT_MUST_CHECK gsrt_status gsrt_body_encode(gsrt_kind kind, const void *body, void *room, size_t capacity,
                                             size_t *out_len);

/* Decode `bytes` into the memory of `scratch`, which is reset first: no allocation once it has grown.
 * *out_body is the kind's struct; its arrays lie in scratch (borrowed until its next use), text and bytes fields
 * are borrowed from `bytes`.
 * GSRT_OK | GSRT_EKIND | GSRT_EDECODE | GSRT_ENOMEM | GSRT_ELIMIT: scratch's ceiling is too low. */
GSRT_MUST_CHECK gsrt_status gsrt_body_decode(gsrt_kind kind, gsrt_span bytes, gsrt_buffer *scratch,
                                             const void **out_body);

/* Encode the header and append the (already encoded) body. payload_bytes is taken from envelope->payload.
 * GSRT_OK | GSRT_EKIND: unknown | GSRT_ELIMIT: capacity (GSRT_HEADER_BYTES_MAX + body.len is always enough), or the
 * body is longer than GSRT_BODY_BYTES_MAX. */
GSRT_MUST_CHECK gsrt_status gsrt_envelope_encode(const gsrt_envelope *envelope, void *room, size_t capacity,
                                                 size_t *out_len);

/* What gsrt_envelope_decode checks the header against. */
typedef struct gsrt_envelope_expectation {
    uint64_t payload_bytes; /* what came beside it; the header must say the same */
    uint32_t epoch_min;     /* older ones are stale; 0 = any */
} gsrt_envelope_expectation;

/* Decode a header from another rank. out->body is the rest of `bytes`, borrowed and not decoded yet; out->payload is
 * NULL: the caller sets it.
 * GSRT_OK | GSRT_EDECODE (also: version, lengths) | GSRT_EKIND: unknown or LOCAL | GSRT_ESTALE: epoch. */
GSRT_MUST_CHECK gsrt_status gsrt_envelope_decode(gsrt_span bytes, const gsrt_envelope_expectation *expectation,
                                                 gsrt_envelope *out);

#endif
