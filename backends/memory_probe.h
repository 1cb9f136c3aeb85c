/* Read bandwidth of the memory, measured: the limit that decoding at batch 1 is held against.
 *
 * A region of memory far larger than the caches is read from one end to the other by 1 or more threads, each bound to
 * its own processing unit and reading its own contiguous part. Both a plain loop and one that prefetches are timed; the
 * better one counts, so that the limit is not too kind to what is compared with it.
 * Legal order: create, run any number of times, free. One thread calls; others are started and joined inside run.
 */
#ifndef GSRT_BACKENDS_MEMORY_PROBE_H
#define GSRT_BACKENDS_MEMORY_PROBE_H

#include <stddef.h>
#include <stdint.h>

enum { GSRT_MEMORY_PROBE_THREADS_MAX = 1024 };
#define GSRT_MEMORY_ANYWHERE UINT32_MAX

typedef struct gsrt_memory_probe gsrt_memory_probe;

/* `bytes` of memory in huge pages where the system has them, written once, in the NUMA domain of that number (hwloc's
 * logical index) or wherever the caller's thread gets it. Owned; NULL: no memory, or the system does not let us choose
 * its domain. */
gsrt_memory_probe *gsrt_memory_probe_create(size_t bytes, uint32_t domain);
gsrt_memory_probe *gsrt_memory_probe_free(gsrt_memory_probe *probe);

/* Read everything once with thread_count threads (1..GSRT_MEMORY_PROBE_THREADS_MAX) on processing units cpu_first,
 * cpu_first + 1, ... of those allowed, once in each way. Returns bytes per second of the better way, from the first
 * thread's start to the last one's end; 0: thread_count is out of range, or a thread could not be started. */
double gsrt_memory_probe_run(const gsrt_memory_probe *probe, uint32_t cpu_first, uint32_t thread_count);

/* What the loop is made of: "AVX2" or "64-bit words". */
const char *gsrt_memory_probe_kind(void);

#endif
