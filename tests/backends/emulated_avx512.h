/* Put before a source of the AVX-512 kernels (-include) to run them on any processor with AVX2: SIMDe's emulation under
 * the native names, what SIMDe 0.7.4 lacks, and other names for what the source exports.
 */
#ifndef GSRT_TESTS_BACKENDS_EMULATED_AVX512_H
#define GSRT_TESTS_BACKENDS_EMULATED_AVX512_H

#include <immintrin.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#define gsrt__kernels_avx512 gsrt__kernels_avx512_emulated
#define gsrt__float_avx512 gsrt__float_avx512_emulated
#define gsrt__quant_avx512 gsrt__quant_avx512_emulated

static inline simde__m512 emulated_cvtph_ps(__m256i halves)
{
    float values[16];
    _mm256_storeu_ps(values, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
    _mm256_storeu_ps(values + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
    return simde_mm512_loadu_ps(values);
}
#define _mm512_cvtph_ps(halves) emulated_cvtph_ps(halves)

static inline simde__m512i emulated_cvtepu16_epi32(__m256i halves)
{
    int32_t values[16];
    _mm256_storeu_si256((__m256i *)(void *)values, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(halves)));
    _mm256_storeu_si256((__m256i *)(void *)(values + 8), _mm256_cvtepu16_epi32(_mm256_extracti128_si256(halves, 1)));
    return simde_mm512_loadu_si512(values);
}
#define _mm512_cvtepu16_epi32(halves) emulated_cvtepu16_epi32(halves)

static inline simde__m512 emulated_cvtepi32_ps(simde__m512i integers)
{
    int32_t values[16];
    float floats[16];
    simde_mm512_storeu_si512(values, integers);
    for (int i = 0; i < 16; i++)
        floats[i] = (float)values[i];
    return simde_mm512_loadu_ps(floats);
}
#define _mm512_cvtepi32_ps(integers) emulated_cvtepi32_ps(integers)

#endif
