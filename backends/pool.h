/* Inside backends: the compute threads of one device. The leader (thread 0) is whoever calls gsrt__pool_run; the
 * workers wait for it. Items are handed out in grains, first come first served: which thread computes an item never
 * changes a bit, so the order may differ from run to run.
 *
 * Waiting: spin for spin_us, then block on a futex. With one thread there are no workers and run is a plain call.
 */
#ifndef GSRT_BACKENDS_POOL_H
#define GSRT_BACKENDS_POOL_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gsrt_pool gsrt_pool;

/* Compute items [first, end). thread: 0..thread_count - 1, each at most once at a time. */
typedef void gsrt_pool_fn(void *arg, uint32_t thread, uint32_t first, uint32_t end);

typedef struct gsrt_pool_options {
    uint32_t thread_count; /* with the leader; at least 1 */
    uint32_t spin_us;
    bool is_bound; /* bind worker i to allowed processing unit (cpu_first + i) mod their count */
    uint32_t cpu_first;
} gsrt_pool_options;

/* Owned; NULL: no memory or no thread. */
gsrt_pool *gsrt__pool_create(const gsrt_pool_options *options);
gsrt_pool *gsrt__pool_free(gsrt_pool *pool);

/* Run fn over items [0, item_count) in whole multiples of `grain` (at least 1; only the last piece may be less), and
 * wait for all. Leader only. */
void gsrt__pool_run(gsrt_pool *pool, gsrt_pool_fn *fn, void *arg, uint32_t item_count, uint32_t grain);
uint32_t gsrt__pool_thread_count(const gsrt_pool *pool);

/* Bind the calling thread to the index-th allowed processing unit (modulo their count), by hwloc. false: could not. */
bool gsrt__bind_thread(uint32_t index);

/* A number that threads wait on. */
typedef struct gsrt_gate {
    _Atomic uint32_t word;
    _Atomic uint32_t sleeper_count;
} gsrt_gate;

/* Returns the first value that differs from `seen`; spins for spin_us before it blocks. Acquire: partner of
 * gsrt__gate_add. */
uint32_t gsrt__gate_wait(gsrt_gate *gate, uint32_t seen, uint32_t spin_us);
/* Add to the number (release), wake all who wait, return the new value. No system call when nobody sleeps. */
uint32_t gsrt__gate_add(gsrt_gate *gate, uint32_t value);

#endif
