/* What launch/replay.c finds and launch/replay_print.c says; only these include it. */
#ifndef GSRT_LAUNCH_REPLAY_IMPL_H
#define GSRT_LAUNCH_REPLAY_IMPL_H

#include "launch/replay_machines.h"

typedef struct gsrt__replayed_trace {
    char *path; /* owned; as the user may type it */
    uint32_t rank, incarnation;
    uint32_t generation;                 /* 0: of the run as it began; else of its resumption number `generation` */
    char world[GSRT_NAME_BYTES_MAX + 1]; /* empty: no RUN frame was read */
    uint64_t frame_count;                /* read and whole */
    size_t torn_at_bytes;
    bool is_torn;
    gsrt_diag damage; /* GSRT_OK: none */
    gsrt_replay *replay;
} gsrt__replayed_trace;

typedef struct gsrt__replayed_run {
    const char *directory;
    gsrt__replayed_trace *traces; /* [trace_count] by rank and incarnation; owned */
    uint32_t trace_count;
    uint32_t rank_count; /* of the job; 0: no trace says it */
    bool is_damaged, is_different;
} gsrt__replayed_run;

/* Append what a person reads, or one JSON object. Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt__replayed_run_print(const gsrt__replayed_run *run, bool is_quiet, gsrt_buffer *out);
GSRT_MUST_CHECK gsrt_status gsrt__replayed_run_print_json(const gsrt__replayed_run *run, gsrt_buffer *out);
/* Whether there is a trace of this rank. */
bool gsrt__replayed_run_has_rank(const gsrt__replayed_run *run, uint32_t rank);

#endif
