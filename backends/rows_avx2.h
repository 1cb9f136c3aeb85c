/* EMBED and QUANTISE in 256-bit registers, for the AVX2 and the AVX-512 kernels. */
#ifndef GSRT_BACKENDS_ROWS_AVX2_H
#define GSRT_BACKENDS_ROWS_AVX2_H

#include "backends/file_avx2.h"
#include "backends/oracle.h"

static void rows_embed(const gsrt_matrix *matrix, uint32_t row, float *out)
{
    const uint8_t *from = matrix->rows + row * matrix->row_stride_bytes;
    if (matrix->dtype == GSRT_DTYPE_F32) {
        memcpy(out, from, matrix->k_total * sizeof(float));
        return;
    }
    if (!gsrt_dtype_is_quantised(matrix->dtype)) {
        uint32_t k = 0;
        for (; k + 8 <= matrix->k_total; k += 8) {
            __m128i halves = _mm_loadu_si128((const __m128i *)(const void *)(from + (size_t)k * 2));
            __m256 wide = matrix->dtype == GSRT_DTYPE_F16
                              ? _mm256_cvtph_ps(halves)
                              : _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
            _mm256_storeu_ps(out + k, wide);
        }
        for (; k < matrix->k_total; k++) {
            uint16_t half = gsrt_load_u16(from + (size_t)k * 2);
            out[k] = matrix->dtype == GSRT_DTYPE_F16 ? gsrt_widen_f16(half) : gsrt_widen_bf16(half);
        }
        return;
    }
    for (uint32_t b = 0; b < matrix->k_total / 32; b++, from += gsrt_dtype_block_bytes(matrix->dtype)) {
        int8_t q[32];
        _mm256_storeu_si256((__m256i *)(void *)q, file_block(matrix->dtype, from));
        __m256 scale = _mm256_set1_ps(gsrt_widen_f16(gsrt_load_u16(from)));
        for (uint32_t i = 0; i < 32; i += 8) {
            __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(q + i)));
            _mm256_storeu_ps(out + (size_t)b * 32 + i, _mm256_mul_ps(_mm256_cvtepi32_ps(wide), scale));
        }
    }
}

/* docs/numerics.md, section 3. */
static void rows_quantise(const float *x, uint32_t count, gsrt_q8_block *out)
{
    const __m256 no_sign = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    for (uint32_t b = 0; b < count / 32; b++, x += 32, out++) {
        __m256 v[4];
        for (int i = 0; i < 4; i++)
            v[i] = _mm256_loadu_ps(x + i * 8);
        /* by their bits: so a NaN counts as the largest of all */
        __m256i bits = _mm256_castps_si256(_mm256_and_ps(v[0], no_sign));
        for (int i = 1; i < 4; i++)
            bits = _mm256_max_epi32(bits, _mm256_castps_si256(_mm256_and_ps(v[i], no_sign)));
        __m128i top = _mm_max_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
        top = _mm_max_epi32(top, _mm_shuffle_epi32(top, 0x4e));
        top = _mm_max_epi32(top, _mm_shuffle_epi32(top, 0xb1));
        uint32_t amax_bits = (uint32_t)_mm_cvtsi128_si32(top);
        bool is_finite = amax_bits < 0x7f800000u;
        out->scale = is_finite ? gsrt_float_of(amax_bits) / 127.0f : gsrt_float_of(0x7fc00000u);
        if (!is_finite || out->scale == 0.0f) {
            memset(out->q, 0, sizeof out->q);
            continue;
        }
        __m256 scale = _mm256_set1_ps(out->scale);
        __m256i q[4];
        for (int i = 0; i < 4; i++) /* at most 190 in size, so no conversion overflows */
            q[i] = _mm256_cvtps_epi32(_mm256_div_ps(v[i], scale));
        __m256i low = _mm256_packs_epi32(q[0], q[1]), high = _mm256_packs_epi32(q[2], q[3]);
        __m256i bytes = _mm256_max_epi8(_mm256_packs_epi16(low, high), _mm256_set1_epi8(-127));
        bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        _mm256_storeu_si256((__m256i *)(void *)out->q, bytes);
    }
}

#endif
