/* Foreign code that may crash, hang or scribble (a parser of somebody's file, a driver's library), in a process of its
 * own. What it hands back is bytes, which the caller must check like any input.
 */
#ifndef GSRT_LAUNCH_CHILD_H
#define GSRT_LAUNCH_CHILD_H

#include "base/buffer.h"

typedef struct gsrt_child_limits {
    uint32_t cpu_s;       /* of its processor's time; twice that until it is ended, whatever it waits for */
    uint64_t bytes;       /* of its address space; 0: as many as there are */
    size_t out_bytes_max; /* of what it hands back */
} gsrt_child_limits;

/* What runs there: fills *out, returns the exit code; 0: *out is handed back. Its standard error goes nowhere. */
typedef int gsrt_child_fn(void *arg, gsrt_buffer *out);

/* Run `fn` in a child process, append what it hands back to *out, and say in *out_how how it ended (as waitpid).
 * GSRT_OK: *out_how and *out are set, however it ended | GSRT_EFULL, GSRT_ENOMEM: of *out | GSRT_EIO: no process.
 * thread: no other may run, because of fork. cost: a process. */
GSRT_MUST_CHECK gsrt_status gsrt_child_run(const gsrt_child_limits *limits, gsrt_child_fn *fn, void *arg,
                                           gsrt_buffer *out, int *out_how);

/* "ended with signal 11", "takes too long", "gave up (7)"; of an *out_how that is not 0. Returns `room`. */
const char *gsrt_child_end(int how, char *room, size_t room_bytes);

#endif
