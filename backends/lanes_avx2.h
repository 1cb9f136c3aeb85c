/* Eight binary32 lanes, for the kernels that are written once for all widths. A source includes exactly one lanes_*.h.
 */
#ifndef GSRT_BACKENDS_LANES_H
#define GSRT_BACKENDS_LANES_H

#include "backends/kernels.h"

#include <immintrin.h>

#define GSRT_LANES_ARE_WIDE 0
enum { LANES = 8 };
typedef __m256 lanes;

static inline lanes lanes_load(const float *from)
{
    return _mm256_loadu_ps(from);
}

static inline void lanes_store(float *to, lanes a)
{
    _mm256_storeu_ps(to, a);
}

static inline lanes lanes_set1(float value)
{
    return _mm256_set1_ps(value);
}

static inline lanes lanes_fma(lanes a, lanes b, lanes c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline lanes lanes_add(lanes a, lanes b)
{
    return _mm256_add_ps(a, b);
}

static inline lanes lanes_sub(lanes a, lanes b)
{
    return _mm256_sub_ps(a, b);
}

static inline lanes lanes_mul(lanes a, lanes b)
{
    return _mm256_mul_ps(a, b);
}

static inline lanes lanes_div(lanes a, lanes b)
{
    return _mm256_div_ps(a, b);
}

/* a > b ? a : b, so b where either is NaN. */
static inline lanes lanes_max(lanes a, lanes b)
{
    return _mm256_max_ps(a, b);
}

/* LANES weights, widened exactly. */
static inline lanes lanes_load_weights(gsrt_dtype dtype, const uint8_t *from)
{
    if (dtype == GSRT_DTYPE_F32)
        return _mm256_loadu_ps((const float *)(const void *)from);
    __m128i halves = _mm_loadu_si128((const __m128i *)(const void *)from);
    if (dtype == GSRT_DTYPE_F16)
        return _mm256_cvtph_ps(halves);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

/* docs/numerics.md, section 4, lane by lane. */
static inline lanes lanes_exp(lanes x)
{
    __m256 magic = _mm256_set1_ps(0x1.8p+23f);
    __m256 t = _mm256_fmadd_ps(x, _mm256_set1_ps(0x1.715476p+0f), magic);
    __m256 n = _mm256_sub_ps(t, magic);
    __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-0x1.63p-1f), x);
    r = _mm256_fmadd_ps(n, _mm256_set1_ps(0x1.bd0106p-13f), r);
    __m256 one = _mm256_set1_ps(1.0f);
    __m256 p = _mm256_set1_ps(0x1.6d117cp-10f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.120be2p-7f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.555518p-5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.5554dcp-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
    p = _mm256_fmadd_ps(p, r, one);
    p = _mm256_fmadd_ps(p, r, one);
    __m256i power = _mm256_add_epi32(_mm256_slli_epi32(_mm256_castps_si256(t), 23), _mm256_castps_si256(one));
    __m256 y = _mm256_mul_ps(p, _mm256_castsi256_ps(power));
    y = _mm256_blendv_ps(y, _mm256_set1_ps(INFINITY), _mm256_cmp_ps(x, _mm256_set1_ps(88.0f), _CMP_GT_OQ));
    return _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(-87.0f), _CMP_LT_OQ), y);
}

#endif
