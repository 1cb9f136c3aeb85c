/* The recorder: what a node tells about its messages, events and actions becomes a trace, before the action runs.
 *
 * One recorder per (rank, incarnation). With a directory the trace is DIRECTORY/trace/rank-R.I.gsrtt
 * (in a run that was gone on with for the Gth time, rank-R.I.gG.gsrtt); with a sink its
 * bytes go there (the twin keeps them in memory, or drops them and compares gsrt_recorder_checksum).
 * A process records before it knows where its run is kept: with is_held the trace begins in memory, at most
 * GSRT_TRACE_HELD_BYTES of it, and gsrt_recorder_place gives it its file. What did not fit is counted in a frame LOST.
 * A trace that was never placed leaves nothing. Legal order: open, (record), place where held, record, close. After a
 * failed write the rest is dropped, and close says why: a trace with a hole is none. A killed process loses at most
 * what was not yet flushed (GSRT_TRACE_FLUSH_BYTES, and 32 messages): its trace is torn. Cost: see ckpt/trace_writer.h.
 * Thread: the node's.
 */
#ifndef GSRT_CKPT_RECORDER_H
#define GSRT_CKPT_RECORDER_H

#include "ckpt/trace.h"
#include "mailbox/envelope.h"

typedef struct gsrt_recorder gsrt_recorder;

typedef struct gsrt_recorder_options {
    const char *directory; /* the run directory, which exists; NULL: no file, or not yet */
    bool is_held;          /* directory and sink are NULL; gsrt_recorder_place follows */
    gsrt_status (*sink)(void *arg,
                        gsrt_span bytes); /* gets the bytes when directory is NULL; NULL: only the checksum */
    void *sink_arg;
    uint64_t run_id;
    uint32_t rank, incarnation;
    const char *program; /* name and version of what runs; NULL: "gsrt" */
    bool is_twin;
    uint64_t now_ns;
} gsrt_recorder_options;

/* *out owned: gsrt_recorder_close. GSRT_OK | GSRT_ENOMEM | GSRT_EIO: *diag names the file. A trace of the same rank and
 * incarnation that is already there is not overwritten. */
GSRT_MUST_CHECK gsrt_status gsrt_recorder_open(const gsrt_recorder_options *options, gsrt_recorder **out,
                                               gsrt_diag *diag);

/* Write what a held recorder has kept to DIRECTORY/trace/rank-R.I.gsrtt, and all that follows. Once. May block.
 * generation: how often the run was resumed; from 1 on a part of the name, as rank-R.I.gG.gsrtt.
 * GSRT_OK | GSRT_EIO: *diag names the file, and it is held still | GSRT_ESTATE: it is not held. */
GSRT_MUST_CHECK gsrt_status gsrt_recorder_place(gsrt_recorder *recorder, const char *directory, uint32_t generation,
                                                uint64_t now_ns, gsrt_diag *diag);

/* What a node calls (actors/node.h: gsrt_node_recorder, whose arg is the recorder). They cannot fail at once;
 * see gsrt_recorder_status. `bytes` is msgpack, copied. */
void gsrt_recorder_message(void *recorder, uint64_t now_ns, const gsrt_envelope *envelope, bool is_sent);
void gsrt_recorder_init(void *recorder, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause,
                        const char *machine, gsrt_span bytes);
void gsrt_recorder_event(void *recorder, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause,
                         const char *machine, gsrt_span bytes);
void gsrt_recorder_action(void *recorder, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause,
                          const char *machine, gsrt_span bytes);
/* Messages are put off: packed and hashed when something else is written or asked for, when 32 of them wait, or when
 * the node calls this because it has nothing to do. Their order in the trace, among themselves and with all else, is
 * that of the calls. */
void gsrt_recorder_catch_up(void *recorder);
/* Something worth reading in the trace that no machine decided. */
void gsrt_recorder_note(gsrt_recorder *recorder, uint64_t now_ns, const char *text);

/* Hand what is buffered to the file or the sink. The first error since open, or GSRT_OK. */
GSRT_MUST_CHECK gsrt_status gsrt_recorder_flush(gsrt_recorder *recorder);
gsrt_status gsrt_recorder_status(gsrt_recorder *recorder);

/* Of everything recorded so far: equal checksums mean equal traces. */
uint64_t gsrt_recorder_checksum(gsrt_recorder *recorder);
uint64_t gsrt_recorder_frame_count(gsrt_recorder *recorder);
uint64_t gsrt_recorder_byte_count(gsrt_recorder *recorder);

/* Write END, flush, free. NULL is legal. GSRT_OK, or the first error since open: *diag names the file. */
GSRT_MUST_CHECK gsrt_status gsrt_recorder_close(gsrt_recorder *recorder, uint64_t now_ns, gsrt_diag *diag);
/* Flush and free without END: the trace stays torn, as it would after a kill. NULL is legal. Results as close. */
GSRT_MUST_CHECK gsrt_status gsrt_recorder_abandon(gsrt_recorder *recorder, gsrt_diag *diag);

#endif
