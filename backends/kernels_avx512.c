/* The table of the AVX-512 kernels. EMBED and QUANTISE are bound by memory or divisions: 256 bits do. */
#include "backends/lanes_avx512.h"

#include "backends/kernels_avx512.h"
#include "backends/lanes_rows.h"
#include "backends/rows_avx2.h"

const gsrt_kernels gsrt__kernels_avx512 = {
    .isa = GSRT_ISA_AVX512,
    .products = {&gsrt__float_avx512, &gsrt__quant_avx512},
    .embed = rows_embed,
    .quantise = rows_quantise,
    .rmsnorm = lanes_rmsnorm,
    .swiglu = lanes_swiglu,
    .attend = lanes_attend,
    .combine = lanes_combine,
};
