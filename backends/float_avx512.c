/* LINEAR for f32, f16, bf16 weights in 512-bit registers. */
#include "backends/lanes_avx512.h"

#include "backends/float_lanes.h"
#include "backends/kernels_avx512.h"

const gsrt_linear_ops gsrt__float_avx512 = {
    .prepared_bytes = float_prepared_bytes,
    .prepare = float_prepare,
    .scratch_bytes = float_scratch_bytes,
    .linear = float_linear,
    .packed_bytes = float_packed_bytes,
    .pack = float_pack,
};
