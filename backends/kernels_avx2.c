/* The table of the AVX2 kernels. */
#include "backends/lanes_avx2.h"

#include "backends/kernels_avx2.h"
#include "backends/lanes_rows.h"
#include "backends/rows_avx2.h"

const gsrt_kernels gsrt__kernels_avx2 = {
    .isa = GSRT_ISA_AVX2,
    .products = {&gsrt__float_avx2, &gsrt__quant_avx2},
    .embed = rows_embed,
    .quantise = rows_quantise,
    .rmsnorm = lanes_rmsnorm,
    .swiglu = lanes_swiglu,
    .attend = lanes_attend,
    .combine = lanes_combine,
};
