/* What the scheduler's machine is created with, is fed and decides, as msgpack for the trace and for replay.
 *
 *   options        [prefill_chunk, batch_requests, block_count, window, context_max, is_reusing_prefixes,
 *                  snapshot_tokens, snapshot_first, [stop, ...]]
 *   event, action  [kind, body], the body as mailbox/codec.h writes it: SUBMIT, TOKENS; STEP, RESTORE, TOKEN,
 *                  FINISHED, SNAPSHOT
 *
 * Thread: any; no state.
 */
#ifndef GSRT_PLACEMENT_SCHEDULER_CODEC_H
#define GSRT_PLACEMENT_SCHEDULER_CODEC_H

#include "base/buffer.h"
#include "base/span.h"
#include "placement/scheduler.h"

/* Append it. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT; the body: also as gsrt_body_encode. */
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_options_encode(const gsrt_scheduler_options *options, gsrt_buffer *buffer);
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_record_encode(gsrt_kind kind, const void *body, gsrt_buffer *buffer);
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_action_encode(const gsrt_scheduler_action *action, gsrt_buffer *buffer);

/* stops: room for out->stops [GSRT_SCHEDULER_STOPS_MAX]. GSRT_OK | GSRT_EDECODE. */
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_options_decode(gsrt_span bytes, uint32_t *stops,
                                                          gsrt_scheduler_options *out);
/* Of an event or an action: *out_kind; *out_body is that kind's struct, borrowed from `scratch` and `bytes`.
 * GSRT_OK | GSRT_EDECODE | GSRT_EKIND | as gsrt_body_decode. */
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_record_decode(gsrt_span bytes, gsrt_buffer *scratch, gsrt_kind *out_kind,
                                                         const void **out_body);
/* Only its kind. GSRT_OK | GSRT_EDECODE. */
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_record_kind(gsrt_span bytes, gsrt_kind *out_kind);

#endif
