/* The number formats that weights may have, and their sizes. Numbers are GGUF's (ggml_type). */
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
} gsrt_dtype;

/* Elements per block: 1, or 32 for the quantised ones. */
static inline size_t gsrt_dtype_block(gsrt_dtype dtype)
{
    return dtype == GSRT_DTYPE_Q4_0 || dtype == GSRT_DTYPE_Q8_0 ? 32 : 1;
}

/* Bytes per block: f32 4, f16 and bf16 2, q8_0 34 (f16 scale, 32 int8), q4_0 18 (f16 scale, 16 bytes of nibbles). */
static inline size_t gsrt_dtype_block_bytes(gsrt_dtype dtype)
{
    switch (dtype) {
    case GSRT_DTYPE_F32: return 4;
    case GSRT_DTYPE_F16:
    case GSRT_DTYPE_BF16: return 2;
    case GSRT_DTYPE_Q8_0: return 34;
    case GSRT_DTYPE_Q4_0: return 18;
    }
    return 0;
}

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
    }
    return "?";
}

/* true when `number` (from a file) is one of the enum's values. */
static inline bool gsrt_dtype_is_known(uint32_t number)
{
    return number == 0 || number == 1 || number == 2 || number == 8 || number == 30;
}

#endif
