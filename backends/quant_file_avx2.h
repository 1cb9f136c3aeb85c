/* LINEAR for q8_0 and q4_0 from the file's layout, for a small batch: eight rows at a time in 256-bit registers. Used
 * by the AVX2 and the AVX-512 kernels alike. */
#ifndef GSRT_BACKENDS_QUANT_FILE_AVX2_H
#define GSRT_BACKENDS_QUANT_FILE_AVX2_H

#include "backends/file_avx2.h"
#include "backends/walk.h"

enum { QUANT_FILE_ROWS_AT_ONCE = 4 };

static inline const gsrt_q8_block *quant_x(const gsrt_linear_task *task, uint32_t row)
{
    return (const gsrt_q8_block *)(const void *)((const uint8_t *)task->x + row * task->x_stride_bytes);
}

/* Products of four neighbours, summed: exact, |w| <= 128 and |x| <= 127. */
static inline __attribute__((always_inline)) __m256i quant_dot4(__m256i w_abs, __m256i w, __m256i x)
{
    __m256i pairs = _mm256_maddubs_epi16(w_abs, _mm256_sign_epi8(x, w));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

/* Lane i of the result is the sum of all lanes of r[i]. */
static inline __attribute__((always_inline)) __m256i quant_reduce_8(const __m256i r[8])
{
    __m256i a = _mm256_hadd_epi32(_mm256_hadd_epi32(r[0], r[1]), _mm256_hadd_epi32(r[2], r[3]));
    __m256i b = _mm256_hadd_epi32(_mm256_hadd_epi32(r[4], r[5]), _mm256_hadd_epi32(r[6], r[7]));
    return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

static inline __attribute__((always_inline)) void quant_file_rows(gsrt_dtype dtype, const int rows,
                                                                  const uint8_t *const *w, size_t ahead,
                                                                  const gsrt_q8_block *const *x, uint32_t block_count,
                                                                  float *sums)
{
    enum { GROUPS = GSRT_PANEL_OUTPUTS / 8 };
    const size_t block_bytes = dtype == GSRT_DTYPE_Q8_0 ? 34 : 18;
    __m256 acc[QUANT_FILE_ROWS_AT_ONCE][GROUPS];
    for (int r = 0; r < rows; r++)
        for (int g = 0; g < GROUPS; g++)
            acc[r][g] = _mm256_setzero_ps();
    for (uint32_t b = 0; b < block_count; b++)
        for (int g = 0; g < GROUPS; g++) {
            const uint8_t *const *w8 = w + (size_t)g * 8;
            __m256i parts[QUANT_FILE_ROWS_AT_ONCE][8];
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++) {
                __m256i q = file_block(dtype, w8[i] + b * block_bytes);
                __m256i q_abs = _mm256_abs_epi8(q);
                _mm_prefetch((const char *)w8[i] + b * block_bytes + ahead, _MM_HINT_T1);
#pragma GCC unroll 4
                for (int r = 0; r < rows; r++)
                    parts[r][i] = quant_dot4(q_abs, q, _mm256_loadu_si256((const __m256i *)(const void *)x[r][b].q));
            }
            __m256 scales = _mm256_cvtph_ps(file_scales(w8, b * block_bytes));
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                __m256 scale = _mm256_mul_ps(scales, _mm256_set1_ps(x[r][b].scale));
                acc[r][g] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(quant_reduce_8(parts[r])), scale, acc[r][g]);
            }
        }
    for (int r = 0; r < rows; r++)
        for (int g = 0; g < GROUPS; g++)
            _mm256_storeu_ps(sums + r * GSRT_PANEL_OUTPUTS + g * 8, acc[r][g]);
}

static inline __attribute__((always_inline)) void quant_file_chunk_of(gsrt_dtype dtype, const gsrt_linear_task *task,
                                                                      uint32_t panel, uint32_t k_first, uint32_t k_end,
                                                                      uint32_t row_first, uint32_t row_count,
                                                                      float *sums)
{
    const uint8_t *w[GSRT_PANEL_OUTPUTS];
    file_rows(task->matrix, panel * GSRT_PANEL_OUTPUTS, GSRT_PANEL_OUTPUTS, k_first, w);
    const gsrt_q8_block *x[QUANT_FILE_ROWS_AT_ONCE];
    for (uint32_t r = 0; r < row_count; r++)
        x[r] = quant_x(task, row_first + r) + k_first / 32;
    size_t ahead = GSRT_PANEL_OUTPUTS * task->matrix->row_stride_bytes; /* the same place in the next panel */
    uint32_t count = (k_end - k_first) / 32;
    switch (row_count) {
    case 1: quant_file_rows(dtype, 1, w, ahead, x, count, sums); break;
    case 2: quant_file_rows(dtype, 2, w, ahead, x, count, sums); break;
    case 3: quant_file_rows(dtype, 3, w, ahead, x, count, sums); break;
    case 4: quant_file_rows(dtype, 4, w, ahead, x, count, sums); break;
    default: break;
    }
}

static void quant_file_chunk_q8(const gsrt_linear_task *task, uint32_t panel, uint32_t k_first, uint32_t k_end,
                                uint32_t row_first, uint32_t row_count, float *sums)
{
    quant_file_chunk_of(GSRT_DTYPE_Q8_0, task, panel, k_first, k_end, row_first, row_count, sums);
}

static void quant_file_chunk_q4(const gsrt_linear_task *task, uint32_t panel, uint32_t k_first, uint32_t k_end,
                                uint32_t row_first, uint32_t row_count, float *sums)
{
    quant_file_chunk_of(GSRT_DTYPE_Q4_0, task, panel, k_first, k_end, row_first, row_count, sums);
}

static inline walk_chunk_fn *quant_file_chunk_fn(gsrt_dtype dtype)
{
    return dtype == GSRT_DTYPE_Q8_0 ? quant_file_chunk_q8 : quant_file_chunk_q4;
}

/* The sum of the 32 integers of a block of activations. */
static inline int32_t quant_block_sum(const gsrt_q8_block *block)
{
    __m256i q = _mm256_loadu_si256((const __m256i *)(const void *)block->q);
    __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);
    __m256i quads = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(quads), _mm256_extracti128_si256(quads, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
    return _mm_cvtsi128_si32(half);
}

#endif
