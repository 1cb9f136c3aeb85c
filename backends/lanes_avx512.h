/* Sixteen binary32 lanes; see lanes_avx2.h. */
#ifndef GSRT_BACKENDS_LANES_H
#define GSRT_BACKENDS_LANES_H

#include "backends/kernels.h"

#include <immintrin.h>

#define GSRT_LANES_ARE_WIDE 1
enum { LANES = 16 };
typedef __m512 lanes;

static inline lanes lanes_load(const float *from)
{
    return _mm512_loadu_ps(from);
}

static inline void lanes_store(float *to, lanes a)
{
    _mm512_storeu_ps(to, a);
}

static inline lanes lanes_set1(float value)
{
    return _mm512_set1_ps(value);
}

static inline lanes lanes_fma(lanes a, lanes b, lanes c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline lanes lanes_add(lanes a, lanes b)
{
    return _mm512_add_ps(a, b);
}

static inline lanes lanes_sub(lanes a, lanes b)
{
    return _mm512_sub_ps(a, b);
}

static inline lanes lanes_mul(lanes a, lanes b)
{
    return _mm512_mul_ps(a, b);
}

static inline lanes lanes_div(lanes a, lanes b)
{
    return _mm512_div_ps(a, b);
}

/* a > b ? a : b, so b where either is NaN. */
static inline lanes lanes_max(lanes a, lanes b)
{
    return _mm512_max_ps(a, b);
}

/* LANES weights, widened exactly. */
static inline lanes lanes_load_weights(gsrt_dtype dtype, const uint8_t *from)
{
    if (dtype == GSRT_DTYPE_F32)
        return _mm512_loadu_ps((const float *)(const void *)from);
    __m256i halves = _mm256_loadu_si256((const __m256i *)(const void *)from);
    if (dtype == GSRT_DTYPE_F16)
        return _mm512_cvtph_ps(halves);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

/* docs/numerics.md, section 4, lane by lane. */
static inline lanes lanes_exp(lanes x)
{
    __m512 magic = _mm512_set1_ps(0x1.8p+23f);
    __m512 t = _mm512_fmadd_ps(x, _mm512_set1_ps(0x1.715476p+0f), magic);
    __m512 n = _mm512_sub_ps(t, magic);
    __m512 r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0x1.63p-1f), x);
    r = _mm512_fmadd_ps(n, _mm512_set1_ps(0x1.bd0106p-13f), r);
    __m512 one = _mm512_set1_ps(1.0f);
    __m512 p = _mm512_set1_ps(0x1.6d117cp-10f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.120be2p-7f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.555518p-5f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.5554dcp-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
    p = _mm512_fmadd_ps(p, r, one);
    p = _mm512_fmadd_ps(p, r, one);
    __m512i power = _mm512_add_epi32(_mm512_slli_epi32(_mm512_castps_si512(t), 23), _mm512_castps_si512(one));
    __m512 y = _mm512_mul_ps(p, _mm512_castsi512_ps(power));
    y = _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(x, _mm512_set1_ps(88.0f), _CMP_GT_OQ), _mm512_set1_ps(INFINITY));
    return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.0f), _CMP_LT_OQ), _mm512_setzero_ps());
}

#endif
