/* The trace: what one incarnation of one rank saw and decided, in order. Format version 2 (docs/adr/0005-trace.md).
 *
 *   file    = magic[8] frame*             magic = "GSRTT" 0 version-u16
 *   frame   = length-u32 length_check-u32 checksum-u64 body[length]       integers little endian
 *   body    = msgpack array [kind, the kind's fields in the order of the table below]
 *
 * Frames are chained: checksum = xxh3-64(body, seed = the checksum before), the first seed being xxh3-64(magic); and
 * length_check = ~length ^ low half of the checksum before. So a changed byte, a frame left out, repeated or moved is
 * refused where it is, and a cut tail is told from a changed length. The first frame is RUN. The last is END; without
 * it the trace is torn, which is legal only for an incarnation that was killed.
 *
 * The reader is strict, allocates nothing and trusts nothing. Cost: O(bytes). Thread: one per reader.
 */
#ifndef GSRT_CKPT_TRACE_H
#define GSRT_CKPT_TRACE_H

#include "base/buffer.h"
#include "base/diag.h"
#include "base/limits.h"
#include "base/span.h"

enum { GSRT_TRACE_VERSION = 2, GSRT_TRACE_MAGIC_BYTES = 8, GSRT_TRACE_HEAD_BYTES = 16 };

/* The one table of frames: K(NAME, number, name). Numbers are never reused.
 * GSRT_TRACE_FIELDS_NAME(F): F(type, field, limit); types u32 u64 (limit: largest value, 0 = any), text bytes (limit:
 * bytes). time_ns is the world's time, virtual in the twin, when the round of the node began in which it was recorded.
 */
#define GSRT_TRACE_KINDS(K)                                                                                            \
    K(RUN, 1, run)                                                                                                     \
    K(MESSAGE, 2, message)                                                                                             \
    K(EVENT, 3, event)                                                                                                 \
    K(ACTION, 4, action)                                                                                               \
    K(NOTE, 5, note)                                                                                                   \
    K(END, 6, end)                                                                                                     \
    K(INIT, 7, init)                                                                                                   \
    K(LOST, 8, lost)

/* whose trace this is; world: "real" or "twin" */
#define GSRT_TRACE_FIELDS_RUN(F)                                                                                       \
    F(u64, time_ns, 0)                                                                                                 \
    F(u64, run_id, 0)                                                                                                  \
    F(u32, rank, GSRT_RANK_COUNT_MAX)                                                                                  \
    F(u32, incarnation, 255)                                                                                           \
    F(text, program, GSRT_NAME_BYTES_MAX)                                                                              \
    F(text, world, GSRT_NAME_BYTES_MAX)
/* an envelope was sent (is_sent 1) or received (0): kind as in mailbox/kinds.h; body_hash = xxh3-64 of its body */
#define GSRT_TRACE_FIELDS_MESSAGE(F)                                                                                   \
    F(u64, time_ns, 0)                                                                                                 \
    F(u32, is_sent, 1)                                                                                                 \
    F(u32, kind, 65535)                                                                                                \
    F(u32, epoch, 0)                                                                                                   \
    F(u64, from, 0)                                                                                                    \
    F(u64, to, 0)                                                                                                      \
    F(u64, sequence, 0)                                                                                                \
    F(u64, cause, 0)                                                                                                   \
    F(u64, call, 0)                                                                                                    \
    F(u32, body_bytes, 0)                                                                                              \
    F(u64, body_hash, 0)                                                                                               \
    F(u32, payload_bytes, 0)
/* a pure machine of `actor` was fed an event, or decided on an action; content: msgpack, whole */
#define GSRT_TRACE_FIELDS_EVENT(F)                                                                                     \
    F(u64, time_ns, 0)                                                                                                 \
    F(u64, actor, 0)                                                                                                   \
    F(u64, id, 0)                                                                                                      \
    F(u64, cause, 0)                                                                                                   \
    F(text, machine, GSRT_NAME_BYTES_MAX)                                                                              \
    F(bytes, content, GSRT_TRACE_FRAME_BYTES_MAX)
#define GSRT_TRACE_FIELDS_ACTION(F) GSRT_TRACE_FIELDS_EVENT(F)
/* a pure machine of `actor` begins; content: the options that it was created with, msgpack, whole */
#define GSRT_TRACE_FIELDS_INIT(F) GSRT_TRACE_FIELDS_EVENT(F)
/* frame_count frames were recorded here and not kept: there was no room for them before the run had a directory */
#define GSRT_TRACE_FIELDS_LOST(F) F(u64, time_ns, 0) F(u64, frame_count, 0)
#define GSRT_TRACE_FIELDS_NOTE(F) F(u64, time_ns, 0) F(text, text, GSRT_TRACE_FRAME_BYTES_MAX)
/* frame_count: frames before this one */
#define GSRT_TRACE_FIELDS_END(F) F(u64, time_ns, 0) F(u64, frame_count, 0)

/* ---- what follows from the table ---- */

typedef enum gsrt_trace_kind {
#define GSRT_TRACE_ENUM(NAME, number, name) GSRT_TRACE_##NAME = (number),
    GSRT_TRACE_KINDS(GSRT_TRACE_ENUM)
#undef GSRT_TRACE_ENUM
} gsrt_trace_kind;

#define GSRT_TRACE_TYPE_u32 uint32_t
#define GSRT_TRACE_TYPE_u64 uint64_t
#define GSRT_TRACE_TYPE_text gsrt_span
#define GSRT_TRACE_TYPE_bytes gsrt_span
#define GSRT_TRACE_MEMBER(type, field, limit) GSRT_TRACE_TYPE_##type field;
#define GSRT_TRACE_STRUCT(NAME, number, name)                                                                          \
    typedef struct gsrt_trace_##name {                                                                                 \
        GSRT_TRACE_FIELDS_##NAME(GSRT_TRACE_MEMBER)                                                                    \
    } gsrt_trace_##name;
GSRT_TRACE_KINDS(GSRT_TRACE_STRUCT)
#undef GSRT_TRACE_STRUCT

/* One decoded frame; texts and contents are borrowed from the trace's bytes. */
typedef struct gsrt_trace_frame {
    gsrt_trace_kind kind;
    uint64_t number;     /* 0, 1, ... in its trace */
    size_t offset_bytes; /* of its head, in its trace */
    uint64_t checksum;   /* of the trace up to here: equal checksums mean equal traces so far */
    union {
#define GSRT_TRACE_UNION(NAME, number, name) gsrt_trace_##name name;
        GSRT_TRACE_KINDS(GSRT_TRACE_UNION)
#undef GSRT_TRACE_UNION
    };
} gsrt_trace_frame;

typedef struct gsrt_trace_reader {
    gsrt_span span;        /* the whole file; borrowed */
    const char *file;      /* named in errors; borrowed */
    size_t offset_bytes;   /* of the next frame */
    uint64_t frame_number; /* of the next frame */
    uint64_t checksum;     /* of the trace before the next frame */
    bool has_ended;        /* END was read */
    bool is_torn;          /* the bytes stop before an END: at offset_bytes */
} gsrt_trace_reader;

/* Check the magic and the version. GSRT_OK | GSRT_EINPUT. */
GSRT_MUST_CHECK gsrt_status gsrt_trace_reader_init(gsrt_trace_reader *reader, gsrt_span span, const char *file,
                                                   gsrt_diag *diag);

/* The next frame. GSRT_OK; GSRT_EEMPTY: no more (look at is_torn: whether that is legal is the caller's to say);
 * GSRT_EINPUT: a byte was changed, a value is out of its bounds, or something follows END: *diag names file, frame and
 * byte, and the reader stays there. */
GSRT_MUST_CHECK gsrt_status gsrt_trace_next(gsrt_trace_reader *reader, gsrt_trace_frame *out, gsrt_diag *diag);

/* "message"; static; NULL for no kind. */
const char *gsrt_trace_kind_name(uint64_t kind);

/* Append the frame as one line of JSON, without a newline. msgpack contents become JSON, unreadable ones hexadecimal.
 * Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_trace_print_content(gsrt_span content, gsrt_buffer *out); /* only such a content */
GSRT_MUST_CHECK gsrt_status gsrt_trace_print(const gsrt_trace_frame *frame, gsrt_buffer *out);

#endif
