#include "bench/membw.h"

#include "bench/measure.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    PREFETCH_BYTES = 4096,
    STEP_BYTES = 256,
    HUGE_PAGE_BYTES = 2 << 20,
};

struct gsrt_membw {
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

const char *gsrt_membw_kind(void)
{
    read_fn *ways[2];
    return choose(ways) == 2 ? "AVX2" : "64-bit words";
}

gsrt_membw *gsrt_membw_create(size_t bytes)
{
    gsrt_membw *membw = malloc(sizeof *membw);
    if (membw == NULL)
        return NULL;
    membw->bytes = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    membw->data = aligned_alloc(HUGE_PAGE_BYTES, membw->bytes);
    if (membw->data == NULL) {
        free(membw);
        return NULL;
    }
    (void)madvise(membw->data, membw->bytes, MADV_HUGEPAGE); /* without it the figure is a little lower */
    memset(membw->data, 0x5a, membw->bytes);
    return membw;
}

gsrt_membw *gsrt_membw_free(gsrt_membw *membw)
{
    if (membw != NULL)
        free(membw->data);
    free(membw);
    return NULL;
}

typedef struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    read_fn *read;
    const uint8_t *data;
    size_t bytes;
    unsigned index;
    uint64_t begin_ns, end_ns, sum;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    (void)gsrt_measure_bind(w->index);
    pthread_barrier_wait(w->start);
    w->begin_ns = gsrt_measure_now_ns();
    w->sum = w->read(w->data, w->bytes);
    w->end_ns = gsrt_measure_now_ns();
    return NULL;
}

static double run_once(gsrt_membw *membw, read_fn *read, unsigned thread_count)
{
    worker workers[GSRT_MEMBW_THREADS_MAX];
    pthread_barrier_t start;
    size_t part = membw->bytes / thread_count / STEP_BYTES * STEP_BYTES;
    if (pthread_barrier_init(&start, NULL, thread_count) != 0)
        return 0;
    for (unsigned i = 0; i < thread_count; i++) {
        workers[i] = (worker){.start = &start, .read = read, .data = membw->data + i * part, .bytes = part, .index = i};
        /* a thread that is missing would leave the others at the barrier: give up on the whole program */
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            abort();
    }
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    for (unsigned i = 0; i < thread_count; i++) {
        pthread_join(workers[i].thread, NULL);
        begin_ns = workers[i].begin_ns < begin_ns ? workers[i].begin_ns : begin_ns;
        end_ns = workers[i].end_ns > end_ns ? workers[i].end_ns : end_ns;
        volatile uint64_t sink = workers[i].sum; /* the reads must not be optimised away */
        (void)sink;
    }
    pthread_barrier_destroy(&start);
    return (double)(part * thread_count) / ((double)(end_ns - begin_ns) * 1e-9);
}

double gsrt_membw_run(gsrt_membw *membw, unsigned thread_count)
{
    if (thread_count == 0 || thread_count > GSRT_MEMBW_THREADS_MAX)
        return 0;
    read_fn *ways[2];
    double best = 0;
    unsigned way_count = choose(ways);
    for (unsigned i = 0; i < way_count; i++) {
        double now = run_once(membw, ways[i], thread_count);
        best = now > best ? now : best;
    }
    return best;
}
