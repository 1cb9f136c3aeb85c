/* The number formats that weights and states may have, and their sizes. Numbers below 1000 are GGUF's (ggml_type),
 * those from 1000 on are ours, for formats that GGUF lacks. A stable number never changes its meaning.
 */
#ifndef GSRT_BASE_DTYPE_H
#define GSRT_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gsrt_dtype {
    GSRT_DTYPE_F32 = 0,
    GSRT_DTYPE_F16 = 1,
    GSRT_DTYPE_Q4_0 = 2,
    GSRT_DTYPE_Q8_0 = 8,
    GSRT_DTYPE_BF16 = 30,
    GSRT_DTYPE_MXFP4 = 39,     /* 32 e2m1 under one e8m0 scale (OCP microscaling) */
    GSRT_DTYPE_F8_E4M3 = 1000, /* scales (per tensor, or per block of 128 x 128: 0.02 %) lie elsewhere, not counted */
    GSRT_DTYPE_NVFP4 = 1001,   /* 16 e2m1 under one e4m3 scale, and one f32 per tensor, not counted */
} gsrt_dtype;

/* Elements per block: 1, or the number that shares a scale. */
static inline size_t gsrt_dtype_block(gsrt_dtype dtype)
{
    switch (dtype) {
    case GSRT_DTYPE_Q4_0:
    case GSRT_DTYPE_Q8_0:
    case GSRT_DTYPE_MXFP4: return 32;
    case GSRT_DTYPE_NVFP4: return 16;
    case GSRT_DTYPE_F32:
    case GSRT_DTYPE_F16:
    case GSRT_DTYPE_BF16:
    case GSRT_DTYPE_F8_E4M3: return 1;
    }
    return 1;
}

/* Bytes per block: f32 4, f16 and bf16 2, f8_e4m3 1, q8_0 34 (f16 scale, 32 int8), q4_0 18 (f16 scale, 16 bytes of
 * nibbles), mxfp4 17, nvfp4 9. */
static inline size_t gsrt_dtype_block_bytes(gsrt_dtype dtype)
{
    switch (dtype) {
    case GSRT_DTYPE_F32: return 4;
    case GSRT_DTYPE_F16:
    case GSRT_DTYPE_BF16: return 2;
    case GSRT_DTYPE_Q8_0: return 34;
    case GSRT_DTYPE_Q4_0: return 18;
    case GSRT_DTYPE_MXFP4: return 17;
    case GSRT_DTYPE_F8_E4M3: return 1;
    case GSRT_DTYPE_NVFP4: return 9;
    }
    return 0;
}

/* Elements share scales within a row. (f8_e4m3 does not: its scales are the tensor's.) */
static inline bool gsrt_dtype_is_quantised(gsrt_dtype dtype)
{
    return gsrt_dtype_block(dtype) > 1;
}

static inline const char *gsrt_dtype_name(gsrt_dtype dtype)
{
    switch (dtype) {
    case GSRT_DTYPE_F32: return "f32";
    case GSRT_DTYPE_F16: return "f16";
    case GSRT_DTYPE_BF16: return "bf16";
    case GSRT_DTYPE_Q8_0: return "q8_0";
    case GSRT_DTYPE_Q4_0: return "q4_0";
    case GSRT_DTYPE_MXFP4: return "mxfp4";
    case GSRT_DTYPE_F8_E4M3: return "f8_e4m3";
    case GSRT_DTYPE_NVFP4: return "nvfp4";
    }
    return "?";
}

/* true when `number` (from a file) is a format that backends compute with. The others can be planned for. */
static inline bool gsrt_dtype_is_computed(uint32_t number)
{
    return number == 0 || number == 1 || number == 2 || number == 8 || number == 30;
}

/* true when `number` (from a file) is one of the enum's values. */
static inline bool gsrt_dtype_is_known(uint32_t number)
{
    return gsrt_dtype_is_computed(number) || number == 39 || number == 1000 || number == 1001;
}

#endif
