/* The writer of a trace: frames go into a fixed room and leave it through a sink, GSRT_TRACE_FLUSH_BYTES at a time.
 *
 * Legal order: init, write RUN, write others, write END, flush, fini. The first error (a sink's, or a frame past
 * GSRT_TRACE_FRAME_BYTES_MAX) is kept: later frames are not written, because a trace with a hole is none.
 * Memory: GSRT_TRACE_FLUSH_BYTES + one largest frame, taken once. Cost of a small frame: 20 to 40 ns, no malloc, no
 * system call but the sink's. Thread: one.
 */
#ifndef GSRT_CKPT_TRACE_WRITER_H
#define GSRT_CKPT_TRACE_WRITER_H

#include "ckpt/trace.h"

/* Takes `bytes`, borrowed until it returns: GSRT_OK, or why not. */
typedef gsrt_status gsrt_trace_sink(void *arg, gsrt_span bytes);

typedef struct gsrt_trace_writer {
    gsrt_trace_sink *sink; /* NULL: bytes are dropped, the checksum remains */
    void *sink_arg;
    uint8_t *room;        /* owned */
    size_t len;           /* bytes in room */
    uint64_t checksum;    /* of the trace so far */
    uint64_t frame_count; /* written so far */
    uint64_t byte_count;  /* written so far, magic included */
    gsrt_status status;   /* the first error */
} gsrt_trace_writer;

/* GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_trace_writer_init(gsrt_trace_writer *writer, gsrt_trace_sink *sink, void *sink_arg);
void gsrt_trace_writer_fini(gsrt_trace_writer *writer); /* does not flush */

/* gsrt_trace_write_<kind>(writer, &fields): append one frame. Texts and contents are copied. An error is kept in
 * writer->status, and returned by flush. END's frame_count is filled in by the writer. */
#define GSRT_TRACE_WRITE_DECLARE(NAME, number, name)                                                                   \
    void gsrt_trace_write_##name(gsrt_trace_writer *writer, const gsrt_trace_##name *fields);
GSRT_TRACE_KINDS(GSRT_TRACE_WRITE_DECLARE)
#undef GSRT_TRACE_WRITE_DECLARE

/* Hand everything to the sink. The first error since init, or GSRT_OK. */
GSRT_MUST_CHECK gsrt_status gsrt_trace_writer_flush(gsrt_trace_writer *writer);

#endif
