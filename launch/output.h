/* Standard output of a run, across whoever leads it: each byte once, wherever a process dies.
 *
 *   worker (terminal) --stream socket--> keeper: write(1), then the position --> shown (a file of the run directory)
 *
 * A worker's standard output is a socket to its keeper, which writes what comes through to its own. What a worker wrote
 * before it was killed is in the socket, and its keeper writes it before it says that the worker is dead; whoever leads
 * next reads the position, and goes on from exactly there. A keeper whose position is not the file's is behind another
 * leader, and writes nothing more. Only a keeper that is itself killed or stopped right between writing and counting
 * has a piece shown twice.
 *
 * One thread per end. The keeper's end never blocks but in gsrt_output_close.
 */
#ifndef GSRT_LAUNCH_OUTPUT_H
#define GSRT_LAUNCH_OUTPUT_H

#include "base/status.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GSRT_OUTPUT_FILE "shown"
enum {
    GSRT_OUTPUT_CHUNK_BYTES = 4096, /* what a writable pipe takes at once, pipe(7) */
    GSRT_OUTPUT_WORK_CHUNKS = 16,   /* at most, before others have their turn */
};

/* ---- the position: how many bytes of the answer are out ----
 * A line for each process that has led, in order, which its keeper alone writes anew; the last one holds. */

/* *out_owner: whose line that is. GSRT_OK | GSRT_EINPUT. */
GSRT_MUST_CHECK gsrt_status gsrt_output_read_position(int descriptor, uint64_t *out, uint32_t *out_owner);
/* Add a line, and leave the file's offset there. owner: of this process, unlike all others of the job. GSRT_OK |
 * GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_output_add_position(int descriptor, uint64_t position, uint32_t owner);

/* ---- the worker's end ---- */

/* What is written to `out` from now on goes on from the line that was added to the file `descriptor` (borrowed for the
 * call), and is counted there. GSRT_OK | GSRT_ENOTFOUND: `out` leads to no keeper, nobody counts | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_output_announce(int out, int descriptor);

/* ---- the keeper's end ---- */

typedef struct gsrt_output {
    int socket;     /* from the worker; -1: closed */
    int out;        /* where it goes; borrowed */
    int descriptor; /* of the position; -1: none was announced; owned */
    off_t line;     /* where its line begins */
    uint32_t owner;
    uint64_t position;
    bool is_behind; /* another leader has written since */
    uint8_t chunk[GSRT_OUTPUT_CHUNK_BYTES];
    size_t chunk_first, chunk_last; /* what of it waits to be written */
    int next_descriptor;            /* announced behind the chunk; -1: none */
} gsrt_output;

/* *out_worker_end: for the worker, closed on exec; the caller's. GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_output_open(gsrt_output *output, int out, int *out_worker_end);
/* What to wait for; .fd -1: nothing. */
struct pollfd gsrt_output_poll(const gsrt_output *output);
/* Write what can be read and written without waiting. */
void gsrt_output_work(gsrt_output *output);
/* The worker is dead: write what it has left, waiting up to limit_ms for a reader that does not read. false: that was
 * not enough; the position says how far it came. */
bool gsrt_output_close(gsrt_output *output, int limit_ms);
/* Wait until whoever reads `out` (a pipe or a terminal) has taken all that is in it, up to limit_ms: mpirun does not
 * read what is left when it has been interrupted and its processes have ended. */
void gsrt_output_linger(int out, int limit_ms);

#endif
