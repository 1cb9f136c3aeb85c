#include "backends/pool.h"
#include "backends/numerics.h"

#include <assert.h>
#include <hwloc.h>
#include <immintrin.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct pool_worker {
    gsrt_pool *pool;
    pthread_t thread;
    uint32_t number; /* 1.. */
} pool_worker;

struct gsrt_pool {
    gsrt_pool_options options;
    uint32_t worker_count; /* started */
    /* the work at hand: written by the leader before `round` is raised with release */
    gsrt_pool_fn *fn;
    void *arg;
    uint32_t item_count, grain;
    bool is_closing;
    _Alignas(64) gsrt_gate round;       /* the workers wait here */
    _Alignas(64) _Atomic uint32_t next; /* next item */
    _Alignas(64) gsrt_gate pending;     /* workers that have not finished the round; the leader waits here */
    pool_worker workers[];
};

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

uint32_t gsrt__gate_wait(gsrt_gate *gate, uint32_t seen, uint32_t spin_us)
{
    uint32_t value;
    if (spin_us > 0) {
        uint64_t start_us = now_us();
        do {
            for (int i = 0; i < 64; i++) {
                value = atomic_load_explicit(&gate->word, memory_order_acquire);
                if (value != seen)
                    return value;
                _mm_pause();
            }
        } while (now_us() - start_us < spin_us);
    }
    /* sequentially consistent on both sides: either the adder sees this sleeper, or the sleeper sees the new word */
    atomic_fetch_add_explicit(&gate->sleeper_count, 1, memory_order_seq_cst);
    while ((value = atomic_load_explicit(&gate->word, memory_order_seq_cst)) == seen)
        syscall(SYS_futex, &gate->word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    atomic_fetch_sub_explicit(&gate->sleeper_count, 1, memory_order_relaxed);
    return value;
}

uint32_t gsrt__gate_add(gsrt_gate *gate, uint32_t value)
{
    uint32_t sum = atomic_fetch_add_explicit(&gate->word, value, memory_order_seq_cst) + value;
    if (atomic_load_explicit(&gate->sleeper_count, memory_order_seq_cst) > 0)
        syscall(SYS_futex, &gate->word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    return sum;
}

/* What a thread takes of the items left: large pieces first, the last ones a grain, so that threads end together. */
static uint32_t share_of(const gsrt_pool *pool, uint32_t left)
{
    uint32_t share = left / ((pool->worker_count + 1) * 4) / pool->grain * pool->grain;
    share = share < pool->grain ? pool->grain : share;
    return share < left ? share : left;
}

static void take_items(gsrt_pool *pool, uint32_t thread)
{
    assert(gsrt_mxcsr_is_canonical());
    uint32_t first = atomic_load_explicit(&pool->next, memory_order_relaxed);
    while (first < pool->item_count) {
        uint32_t count = share_of(pool, pool->item_count - first);
        if (atomic_compare_exchange_weak_explicit(&pool->next, &first, first + count, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            pool->fn(pool->arg, thread, first, first + count);
            first = atomic_load_explicit(&pool->next, memory_order_relaxed);
        }
    }
}

static void *worker_main(void *arg)
{
    pool_worker *worker = arg;
    gsrt_pool *pool = worker->pool;
    if (pool->options.is_bound)
        (void)gsrt__bind_thread(pool->options.cpu_first + worker->number);
    (void)gsrt_mxcsr_set();
    for (uint32_t seen = 0;;) {
        seen = gsrt__gate_wait(&pool->round, seen, pool->options.spin_us);
        if (pool->is_closing)
            return NULL;
        take_items(pool, worker->number);
        (void)gsrt__gate_add(&pool->pending, UINT32_MAX); /* minus one */
    }
}

gsrt_pool *gsrt__pool_create(const gsrt_pool_options *options)
{
    assert(options->thread_count >= 1);
    size_t bytes = sizeof(gsrt_pool) + (options->thread_count - 1) * sizeof(pool_worker);
    gsrt_pool *pool = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (pool == NULL)
        return NULL;
    memset(pool, 0, bytes);
    pool->options = *options;
    for (uint32_t i = 0; i + 1 < options->thread_count; i++) {
        pool->workers[i] = (pool_worker){.pool = pool, .number = i + 1};
        if (pthread_create(&pool->workers[i].thread, NULL, worker_main, &pool->workers[i]) != 0)
            return gsrt__pool_free(pool);
        pool->worker_count++;
    }
    return pool;
}

gsrt_pool *gsrt__pool_free(gsrt_pool *pool)
{
    if (pool == NULL)
        return NULL;
    pool->is_closing = true;
    (void)gsrt__gate_add(&pool->round, 1);
    for (uint32_t i = 0; i < pool->worker_count; i++)
        pthread_join(pool->workers[i].thread, NULL);
    free(pool);
    return NULL;
}

static void wait_workers(gsrt_pool *pool)
{
    uint32_t left = atomic_load_explicit(&pool->pending.word, memory_order_acquire);
    while (left != 0)
        left = gsrt__gate_wait(&pool->pending, left, pool->options.spin_us);
}

void gsrt__pool_run(gsrt_pool *pool, gsrt_pool_fn *fn, void *arg, uint32_t item_count, uint32_t grain)
{
    assert(grain >= 1);
    if (pool->worker_count == 0 || item_count <= grain) {
        if (item_count > 0)
            fn(arg, 0, 0, item_count);
        return;
    }
    pool->fn = fn;
    pool->arg = arg;
    pool->item_count = item_count;
    pool->grain = grain;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->pending.word, pool->worker_count, memory_order_relaxed);
    (void)gsrt__gate_add(&pool->round, 1); /* publishes the fields above */
    take_items(pool, 0);
    wait_workers(pool);
}

uint32_t gsrt__pool_thread_count(const gsrt_pool *pool)
{
    return pool->worker_count + 1;
}

bool gsrt__bind_thread(uint32_t index)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return false;
    bool is_bound = false;
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(topology) == 0) {
        int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
        if (count > 0) {
            hwloc_obj_t pu = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, index % (uint32_t)count);
            is_bound = pu != NULL && hwloc_set_cpubind(topology, pu->cpuset, HWLOC_CPUBIND_THREAD) == 0;
        }
    }
    hwloc_topology_destroy(topology);
    return is_bound;
}
