#include "bench/fma.h"

#include <immintrin.h>
#include <stdbool.h>
#include <time.h>

/* Twelve independent sums hide the latency of four. The barrier keeps the compiler from seeing that it could compute
 * less. */
#define SUMS(type, set1, fma, count)                                                                                   \
    do {                                                                                                               \
        type s0 = set1(0), s1 = set1(1), s2 = set1(2), s3 = set1(3), s4 = set1(4), s5 = set1(5), s6 = set1(6);         \
        type s7 = set1(7), s8 = set1(8), s9 = set1(9), s10 = set1(10), s11 = set1(11);                                 \
        type m = set1(0.999f), n = set1(0.001f);                                                                       \
        for (long i = 0; i < (count); i++) {                                                                           \
            s0 = fma(s0, m, n), s1 = fma(s1, m, n), s2 = fma(s2, m, n), s3 = fma(s3, m, n);                            \
            s4 = fma(s4, m, n), s5 = fma(s5, m, n), s6 = fma(s6, m, n), s7 = fma(s7, m, n);                            \
            s8 = fma(s8, m, n), s9 = fma(s9, m, n), s10 = fma(s10, m, n), s11 = fma(s11, m, n);                        \
            __asm__ volatile("" : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4), "+x"(s5));                         \
            __asm__ volatile("" : "+x"(s6), "+x"(s7), "+x"(s8), "+x"(s9), "+x"(s10), "+x"(s11));                       \
        }                                                                                                              \
    } while (0)

__attribute__((target("avx2,fma"))) static void fma_avx2(long count)
{
    SUMS(__m256, _mm256_set1_ps, _mm256_fmadd_ps, count);
}

__attribute__((target("avx512f"))) static void fma_avx512(long count)
{
    SUMS(__m512, _mm512_set1_ps, _mm512_fmadd_ps, count);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double gsrt_fma_peak(void)
{
    enum { COUNT = 4000000, SUM_COUNT = 12 };
    bool is_wide = __builtin_cpu_supports("avx512f");
    double start_s = now_s();
    if (is_wide)
        fma_avx512(COUNT);
    else
        fma_avx2(COUNT);
    return (double)SUM_COUNT * COUNT * (is_wide ? 16 : 8) / (now_s() - start_s);
}
