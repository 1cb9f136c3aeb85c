/* The plain pass: the workload's op list for one request, one row at a time, on one thread, with the oracle's plain C
 * and a contiguous KV cache. What `verify: reference` compares every logit hash with.
 *
 * It shares nothing with the region actor, the device or the scheduler: no lowering, no batching, no paging, no
 * packing, no split. What both sides share is the workload and the mapped weights.
 *
 * Legal order: create, step for positions 0, 1, 2, ... (or back to an earlier one), free. Not thread safe; one thread.
 * Cost: time about 2 ns per weight and step; memory values + KV of position_count positions (touched as used).
 */
#ifndef GSRT_MODEL_REFERENCE_H
#define GSRT_MODEL_REFERENCE_H

#include "model/weights.h"

typedef struct gsrt_reference gsrt_reference;

/* position_count  positions that step may be asked for; at most the model's context.
 * weights         borrowed until free, with its workload.
 * out             owned; free with gsrt_reference_free.
 * returns  GSRT_OK | GSRT_EINVAL (position_count is 0 or past the context) | GSRT_ENOMEM.
 * test     tests/model/golden_test.c
 */
GSRT_MUST_CHECK gsrt_status gsrt_reference_create(const gsrt_weights *weights, uint32_t position_count,
                                                  gsrt_reference **out);
/* Accepts NULL; returns NULL. */
gsrt_reference *gsrt_reference_free(gsrt_reference *reference);

/* Run `token` at `position` on top of positions 0 .. position - 1, which must have been run.
 * out_logits  [vocab] raw f32, borrowed until the next step; NULL: not wanted, the output region is left out.
 * returns     GSRT_OK | GSRT_EINVAL (token past the vocabulary, position past what came before or past the end).
 */
GSRT_MUST_CHECK gsrt_status gsrt_reference_step(gsrt_reference *reference, uint32_t token, uint32_t position,
                                                const float **out_logits);

/* ---- for validation (model/validate.h): a pass that differs from the workload in what is named here. Before the first
 * step. ---- */

/* Op `op` (EMBED, LINEAR, LOGITS) reads these rows, in `dtype`, instead of its tensor's: as many, as long, one after
 * the other. rows  borrowed until free. */
void gsrt_reference_replace(gsrt_reference *reference, uint32_t op, gsrt_dtype dtype, const uint8_t *rows);

/* In region `region`, keys and values are rounded to `state` when they are stored, head by head, and inputs of its
 * products to `inputs`. F32: not at all. Whole blocks: the size of a head, and all inputs, are multiples of the
 * formats'. */
void gsrt_reference_round(gsrt_reference *reference, uint32_t region, gsrt_dtype state, gsrt_dtype inputs);

/* The value as the last step left it, [width]; borrowed until the next step. Of regions that the step ran. */
const float *gsrt_reference_value(const gsrt_reference *reference, uint32_t value);

#endif
