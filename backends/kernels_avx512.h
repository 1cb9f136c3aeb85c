/* Inside the AVX-512 kernels. */
#ifndef GSRT_BACKENDS_KERNELS_AVX512_H
#define GSRT_BACKENDS_KERNELS_AVX512_H

#include "backends/kernels.h"

extern const gsrt_linear_ops gsrt__float_avx512;
extern const gsrt_linear_ops gsrt__quant_avx512;

#endif
