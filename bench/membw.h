/* Read bandwidth of the memory: the limit that decoding at batch 1 is held against.
 *
 * A region of memory far larger than the caches is read from one end to the other by 1 or more threads, each bound to
 * its own processing unit and reading its own contiguous part. Both a plain loop and one that prefetches are timed; the
 * better one counts, so that the limit is not too kind to what is compared with it.
 * Legal order: create, run any number of times, free. One thread calls; others are started inside run.
 */
#ifndef GSRT_BENCH_MEMBW_H
#define GSRT_BENCH_MEMBW_H

#include <stddef.h>
#include <stdint.h>

enum { GSRT_MEMBW_THREADS_MAX = 64 };

typedef struct gsrt_membw gsrt_membw;

/* `bytes` of memory in huge pages where the system has them, written once. Owned; NULL: no memory. */
gsrt_membw *gsrt_membw_create(size_t bytes);
gsrt_membw *gsrt_membw_free(gsrt_membw *membw);

/* Read everything once with thread_count threads (1..GSRT_MEMBW_THREADS_MAX), once in each way. Returns bytes per
 * second of the better way, from the first thread's start to the last one's end; 0: thread_count is out of range.
 * Aborts when threads cannot be started. */
double gsrt_membw_run(gsrt_membw *membw, unsigned thread_count);

/* What the loop is made of: "AVX2" or "64-bit words". */
const char *gsrt_membw_kind(void);

#endif
