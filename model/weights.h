/* The weights of a workload as they lie in the mapped file: nothing is read, copied or converted here.
 *
 * A rank asks for its share (rows of a tensor) and declares what it will read; the declared bytes, each row of a tensor
 * counted once, are what the report gives as "weight bytes touched".
 *
 * Legal order: create, rows / touch / prefetch / release any number of times, free; the GGUF file and the workload live
 * longer. Thread: rows and release from any thread; the others from the owner. Cost: one bit per row of every tensor.
 */
#ifndef GSRT_MODEL_WEIGHTS_H
#define GSRT_MODEL_WEIGHTS_H

#include "model/gguf.h"
#include "placement/workload.h"

typedef struct gsrt_weights gsrt_weights;

/* out      owned; free with gsrt_weights_free. `workload` was imported from `gguf`; both borrowed until free.
 * returns  GSRT_OK | GSRT_EINPUT (a tensor lies outside the file: not this workload's file; *diag) | GSRT_EUNSUPPORTED
 *          (gsrt_workload_executable: who has weights, has a workload that runs) | GSRT_ENOMEM.
 * test     tests/model/weights_test.c
 */
GSRT_MUST_CHECK gsrt_status gsrt_weights_create(const gsrt_gguf *gguf, const gsrt_workload *workload,
                                                gsrt_weights **out, gsrt_diag *diag);
/* Accepts NULL; returns NULL. */
gsrt_weights *gsrt_weights_free(gsrt_weights *weights);

const gsrt_workload *gsrt_weights_workload(const gsrt_weights *weights);

/* Bytes of one row of `tensor` (an index of the workload), which is also the stride from row to row. */
uint64_t gsrt_weights_row_bytes(const gsrt_weights *weights, uint32_t tensor);

/* Rows [row_first, row_first + row_count) of `tensor`: their first byte; *out_bytes (may be NULL) their size. Aligned
 * for the element type where row_first is 0. NULL: there are no such rows. Borrowed until free. */
const uint8_t *gsrt_weights_rows(const gsrt_weights *weights, uint32_t tensor, uint32_t row_first, uint32_t row_count,
                                 size_t *out_bytes);

/* An f32 vector (norm, bias, rope factors): [column_count] of it. NULL: `tensor` is none. Borrowed until free. */
const float *gsrt_weights_vector(const gsrt_weights *weights, uint32_t tensor);

/* Declare that this rank reads columns [column_first, + column_count) of these rows; whole quantisation blocks. Rows
 * that were declared before are not counted again. Rows and columns outside the tensor are not counted. */
void gsrt_weights_touch(gsrt_weights *weights, uint32_t tensor, uint32_t row_first, uint32_t row_count,
                        uint32_t column_first, uint32_t column_count);

/* Bytes declared so far, and bytes of all tensors together. */
uint64_t gsrt_weights_touched_bytes(const gsrt_weights *weights);
uint64_t gsrt_weights_total_bytes(const gsrt_weights *weights);

/* Tell the system that these rows are needed soon (it starts reading them), or not any more (the process gives the
 * pages back; reading them again is legal and loads them again). Advice: failures are of no consequence. */
void gsrt_weights_prefetch(const gsrt_weights *weights, uint32_t tensor, uint32_t row_first, uint32_t row_count);
void gsrt_weights_release(const gsrt_weights *weights, uint32_t tensor, uint32_t row_first, uint32_t row_count);

#endif
