/* Weights as they lie in the file, eight rows at a time: loads and transpositions in 256-bit registers. Used by the
 * AVX2 and the AVX-512 kernels alike. */
#ifndef GSRT_BACKENDS_FILE_AVX2_H
#define GSRT_BACKENDS_FILE_AVX2_H

#include "backends/kernels.h"

#include <immintrin.h>
#include <string.h>

/* Row pointers for outputs [out_first, out_first + count); past the last output the last one is repeated, so that lanes
 * without an output read valid memory. `k_first` counts from the share's start. */
static inline void file_rows(const gsrt_matrix *matrix, uint32_t out_first, uint32_t count, uint32_t k_first,
                             const uint8_t **rows)
{
    size_t block = gsrt_dtype_block(matrix->dtype);
    size_t offset = (matrix->k_first + (size_t)k_first) / block * gsrt_dtype_block_bytes(matrix->dtype);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = out_first + i < matrix->row_count ? out_first + i : matrix->row_count - 1;
        rows[i] = matrix->rows + row * matrix->row_stride_bytes + offset;
    }
}

/* r[i] lane j <-> r[j] lane i. */
static inline __attribute__((always_inline)) void transpose_8x8(__m256 r[8])
{
    __m256 a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        a[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
    }
}

/* Elements [k, k + 8) of eight rows, widened: columns[i] holds element k + i, lanes are rows. */
static inline __attribute__((always_inline)) void file_columns(gsrt_dtype dtype, const uint8_t *const rows[8], size_t k,
                                                               __m256 columns[8])
{
    for (int i = 0; i < 8; i++) {
        if (dtype == GSRT_DTYPE_F32) {
            columns[i] = _mm256_loadu_ps((const float *)(const void *)(rows[i] + k * 4));
            continue;
        }
        __m128i halves = _mm_loadu_si128((const __m128i *)(const void *)(rows[i] + k * 2));
        columns[i] = dtype == GSRT_DTYPE_F16
                         ? _mm256_cvtph_ps(halves)
                         : _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
    }
    transpose_8x8(columns);
}

/* The same at a row's end: only `count` < 8 elements exist; the rest is zero. */
static inline void file_columns_tail(gsrt_dtype dtype, const uint8_t *const rows[8], size_t k, uint32_t count,
                                     __m256 columns[8])
{
    uint8_t copies[8][32] = {{0}};
    const uint8_t *ends[8];
    size_t bytes = gsrt_dtype_block_bytes(dtype);
    for (int i = 0; i < 8; i++) {
        memcpy(copies[i], rows[i] + k * bytes, count * bytes);
        ends[i] = copies[i];
    }
    file_columns(dtype, ends, 0, columns);
}

/* The 32 integers of a block of q8_0 or q4_0 (minus 8 already). */
static inline __attribute__((always_inline)) __m256i file_block(gsrt_dtype dtype, const uint8_t *block)
{
    if (dtype == GSRT_DTYPE_Q8_0)
        return _mm256_loadu_si256((const __m256i *)(const void *)(block + 2));
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(block + 2));
    __m128i mask = _mm_set1_epi8(15);
    __m256i nibbles = _mm256_set_m128i(_mm_and_si128(_mm_srli_epi16(bytes, 4), mask), _mm_and_si128(bytes, mask));
    return _mm256_sub_epi8(nibbles, _mm256_set1_epi8(8));
}

/* Scales of block `b` of eight rows. */
static inline __attribute__((always_inline)) __m128i file_scales(const uint8_t *const rows[8], size_t offset)
{
    __m128i scales = _mm_setzero_si128();
    scales = _mm_insert_epi16(scales, gsrt_load_u16(rows[0] + offset), 0);
    scales = _mm_insert_epi16(scales, gsrt_load_u16(rows[1] + offset), 1);
    scales = _mm_insert_epi16(scales, gsrt_load_u16(rows[2] + offset), 2);
    scales = _mm_insert_epi16(scales, gsrt_load_u16(rows[3] + offset), 3);
    scales = _mm_insert_epi16(scales, gsrt_load_u16(rows[4] + offset), 4);
    scales = _mm_insert_epi16(scales, gsrt_load_u16(rows[5] + offset), 5);
    scales = _mm_insert_epi16(scales, gsrt_load_u16(rows[6] + offset), 6);
    return _mm_insert_epi16(scales, gsrt_load_u16(rows[7] + offset), 7);
}

/* A block of eight rows as eight lines: lines[j] holds integers 4j..4j+3 of row i in its 32-bit lane i. */
static inline __attribute__((always_inline)) void file_lines(gsrt_dtype dtype, const uint8_t *const rows[8],
                                                             size_t offset, __m256i lines[8])
{
    __m256 r[8];
    for (int i = 0; i < 8; i++)
        r[i] = _mm256_castsi256_ps(file_block(dtype, rows[i] + offset));
    transpose_8x8(r);
    for (int i = 0; i < 8; i++)
        lines[i] = _mm256_castps_si256(r[i]);
}

#endif
