#include "backends/memory_probe.h"

#include "backends/pool.h"

#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    PREFETCH_BYTES = 4096,
    STEP_BYTES = 256,
    HUGE_PAGE_BYTES = 2 << 20,
};

struct gsrt_memory_probe {
    uint8_t *data;
    size_t bytes; /* a multiple of HUGE_PAGE_BYTES */
};

typedef uint64_t read_fn(const uint8_t *data, size_t bytes);

static uint64_t read_words(const uint8_t *data, size_t bytes)
{
    uint64_t sum[4] = {0};
    for (size_t i = 0; i < bytes; i += 32) {
        uint64_t x[4];
        memcpy(x, data + i, sizeof x);
        for (int j = 0; j < 4; j++)
            sum[j] ^= x[j];
    }
    return sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t fold(const __m256i sum[8])
{
    __m256i all = sum[0];
    for (int j = 1; j < 8; j++)
        all = _mm256_xor_si256(all, sum[j]);
    uint64_t out[4];
    _mm256_storeu_si256((__m256i *)(void *)out, all);
    return out[0] ^ out[1] ^ out[2] ^ out[3];
}

__attribute__((target("avx2"))) static uint64_t read_avx2(const uint8_t *data, size_t bytes)
{
    __m256i sum[8];
    for (int j = 0; j < 8; j++)
        sum[j] = _mm256_setzero_si256();
    for (size_t i = 0; i < bytes; i += STEP_BYTES) {
        for (int j = 0; j < 8; j++)
            sum[j] = _mm256_xor_si256(sum[j], _mm256_load_si256((const __m256i *)(const void *)(data + i + 32 * j)));
    }
    return fold(sum);
}

__attribute__((target("avx2"))) static uint64_t read_avx2_prefetching(const uint8_t *data, size_t bytes)
{
    __m256i sum[8];
    for (int j = 0; j < 8; j++)
        sum[j] = _mm256_setzero_si256();
    for (size_t i = 0; i < bytes; i += STEP_BYTES) {
        for (int j = 0; j < STEP_BYTES; j += 64) /* past the end a prefetch does nothing */
            _mm_prefetch((const char *)data + i + PREFETCH_BYTES + j, _MM_HINT_NTA);
        for (int j = 0; j < 8; j++)
            sum[j] = _mm256_xor_si256(sum[j], _mm256_load_si256((const __m256i *)(const void *)(data + i + 32 * j)));
    }
    return fold(sum);
}

static unsigned choose(read_fn *out[2])
{
    if (__builtin_cpu_supports("avx2")) {
        out[0] = read_avx2;
        out[1] = read_avx2_prefetching;
        return 2;
    }
    out[0] = read_words;
    return 1;
}
#else
static unsigned choose(read_fn *out[2])
{
    out[0] = read_words;
    return 1;
}
#endif

const char *gsrt_memory_probe_kind(void)
{
    read_fn *ways[2];
    return choose(ways) == 2 ? "AVX2" : "64-bit words";
}

/* ---- memory ---- */

/* Bind memory that nobody has touched to a domain. */
static bool bind_to(uint8_t *data, size_t bytes, uint32_t domain)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return false;
    bool is_bound = false;
    if (hwloc_topology_load(topology) == 0) {
        hwloc_obj_t node = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, domain);
        bool is_only = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) == 1;
        is_bound =
            node != NULL && (is_only || hwloc_set_area_membind(topology, data, bytes, node->nodeset, HWLOC_MEMBIND_BIND,
                                                               HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_STRICT) == 0);
    }
    hwloc_topology_destroy(topology);
    return is_bound;
}

gsrt_memory_probe *gsrt_memory_probe_create(size_t bytes, uint32_t domain)
{
    gsrt_memory_probe *probe = malloc(sizeof *probe);
    if (probe == NULL)
        return NULL;
    probe->bytes = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    probe->data = aligned_alloc(HUGE_PAGE_BYTES, probe->bytes);
    if (probe->data == NULL || (domain != GSRT_MEMORY_ANYWHERE && !bind_to(probe->data, probe->bytes, domain)))
        return gsrt_memory_probe_free(probe);
    (void)madvise(probe->data, probe->bytes, MADV_HUGEPAGE); /* without it the figure is a little lower */
    memset(probe->data, 0x5a, probe->bytes);
    return probe;
}

gsrt_memory_probe *gsrt_memory_probe_free(gsrt_memory_probe *probe)
{
    if (probe != NULL)
        free(probe->data);
    free(probe);
    return NULL;
}

/* ---- reading ---- */

/* Threads start reading together: bound, each waits for the others, or hears that one is missing. */
typedef struct start {
    _Atomic uint32_t ready_count;
    _Atomic int word; /* 0 wait, 1 read, -1 give up */
} start;

typedef struct worker {
    pthread_t thread;
    start *start;
    read_fn *read;
    const uint8_t *data;
    size_t bytes;
    uint32_t cpu;
    uint64_t begin_ns, end_ns, sum;
} worker;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *work(void *arg)
{
    worker *w = arg;
    (void)gsrt__bind_thread(w->cpu);
    atomic_fetch_add_explicit(&w->start->ready_count, 1, memory_order_release);
    int word;
    while ((word = atomic_load_explicit(&w->start->word, memory_order_acquire)) == 0)
        sched_yield();
    w->begin_ns = now_ns();
    w->sum = word > 0 ? w->read(w->data, w->bytes) : 0;
    w->end_ns = now_ns();
    return NULL;
}

/* Bytes per second of all; 0: not all threads could be started. */
static double run_once(const gsrt_memory_probe *probe, read_fn *read, uint32_t cpu_first, worker *workers,
                       uint32_t count)
{
    start all = {0};
    size_t part = probe->bytes / count / STEP_BYTES * STEP_BYTES;
    uint32_t started = 0;
    for (; started < count; started++) {
        workers[started] = (worker){.start = &all,
                                    .read = read,
                                    .data = probe->data + started * part,
                                    .bytes = part,
                                    .cpu = cpu_first + started};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
            break;
    }
    while (atomic_load_explicit(&all.ready_count, memory_order_acquire) < started)
        sched_yield();
    atomic_store_explicit(&all.word, started == count ? 1 : -1, memory_order_release);
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    for (uint32_t i = 0; i < started; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        begin_ns = workers[i].begin_ns < begin_ns ? workers[i].begin_ns : begin_ns;
        end_ns = workers[i].end_ns > end_ns ? workers[i].end_ns : end_ns;
        volatile uint64_t sink = workers[i].sum; /* the reads must not be optimised away */
        (void)sink;
    }
    return started < count || end_ns <= begin_ns ? 0 : (double)(part * count) / ((double)(end_ns - begin_ns) * 1e-9);
}

double gsrt_memory_probe_run(const gsrt_memory_probe *probe, uint32_t cpu_first, uint32_t thread_count)
{
    if (thread_count == 0 || thread_count > GSRT_MEMORY_PROBE_THREADS_MAX)
        return 0;
    worker *workers = calloc(thread_count, sizeof *workers);
    read_fn *ways[2];
    double best = 0;
    unsigned way_count = choose(ways);
    for (unsigned i = 0; i < way_count && workers != NULL; i++) {
        double now = run_once(probe, ways[i], cpu_first, workers, thread_count);
        best = now > best ? now : best;
    }
    free(workers);
    return best;
}
