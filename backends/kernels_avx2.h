/* Inside the AVX2 kernels. */
#ifndef GSRT_BACKENDS_KERNELS_AVX2_H
#define GSRT_BACKENDS_KERNELS_AVX2_H

#include "backends/kernels.h"

extern const gsrt_linear_ops gsrt__float_avx2;
extern const gsrt_linear_ops gsrt__quant_avx2;

#endif
