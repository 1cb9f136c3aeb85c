/* f32 to the formats that weights and states are narrowed to: what validation measures and what ranks compute with.
 * Pure; any thread whose MXCSR is canonical.
 *
 *   f16, bf16   to nearest, ties to even; past the largest: infinite
 *   q8_0        per 32: d = f16(largest |x| / 127), q = nearest(x / d) in -127..127
 *   q4_0        per 32: d = f16(x / -8) of the x with the largest |x| (the first), q = nearest(x / d) + 8 in 0..15
 *
 * A block whose d is 0 is all zeros; what is not finite becomes d = the largest f16, so that the error is seen.
 */
#ifndef GSRT_MODEL_NARROW_H
#define GSRT_MODEL_NARROW_H

#include "model/weights.h"

/* Can x be narrowed to it? f32 (as it is), f16, bf16, q8_0, q4_0. */
bool gsrt_narrow_is_known(gsrt_dtype dtype);

/* x [count] as bytes of `dtype`, which is known; count: whole blocks. */
void gsrt_narrow(const float *x, size_t count, gsrt_dtype dtype, uint8_t *out);

/* x [count] rounded to values of `dtype`: narrowed and widened again. out may be x. */
void gsrt_narrow_round(const float *x, size_t count, gsrt_dtype dtype, float *out);

/* Columns [k_first, + k_count), whole blocks of the formats, of rows [row_first, + row_count) of a matrix, rounded to
 * `weights`, and lying in `held`. */
typedef struct gsrt_narrowing {
    uint32_t tensor;
    gsrt_dtype weights, held; /* held: what products read; `weights`, or what inputs are rounded to, too */
    uint32_t row_first, row_count, k_first, k_count;
} gsrt_narrowing;

/* Bytes from a row to the next, and of all of them: as many bytes as the columns before k_first have stand in front,
 * so that a column lies where it does in a whole row (gsrt_matrix.rows). */
size_t gsrt_narrowing_row_bytes(const gsrt_narrowing *narrowing);
size_t gsrt_narrowing_bytes(const gsrt_narrowing *narrowing);
/* The same bits whatever the rows, the columns, and the caller's MXCSR. out [gsrt_narrowing_bytes]; what stands in
 * front is not written. GSRT_OK | GSRT_ENOMEM. About 5 ns per weight. */
GSRT_MUST_CHECK gsrt_status gsrt_narrow_weights(const gsrt_weights *weights, const gsrt_narrowing *narrowing,
                                                uint8_t *out);

/* One number: its bits in f16 and in bf16. */
uint16_t gsrt_narrow_f16(float x);
uint16_t gsrt_narrow_bf16(float x);

#endif
