/* A peer in a process of its own, which does what it is told line by line (bench/peers/llama_peer.c), so that two
 * engines can take turns while neither's libraries are in the other's process.
 * Legal order: start, ask any number of times, stop. One thread.
 */
#ifndef GSRT_BENCH_PEER_H
#define GSRT_BENCH_PEER_H

#include "base/diag.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct gsrt_peer {
    pid_t pid;
    FILE *to, *from;
    uint64_t start_ns; /* from fork until it said "ready" */
    char variant[64];  /* what it said of itself */
} gsrt_peer;

/* Start argv[0] and wait for "ready NS VARIANT". GSRT_OK | GSRT_EIO (*diag has its words). */
GSRT_MUST_CHECK gsrt_status gsrt_peer_start(char *const *argv, gsrt_peer *out, gsrt_diag *diag);

/* Say "verb number" and read "ok" and up to values_max numbers. *out_count (may be NULL when values_max is 0).
 * GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_peer_ask(gsrt_peer *peer, const char *verb, uint32_t number, uint64_t *values,
                                          size_t values_max, size_t *out_count, gsrt_diag *diag);

/* Ends it and waits for its end. A peer that is all zeros is left alone. */
void gsrt_peer_stop(gsrt_peer *peer);

#endif
