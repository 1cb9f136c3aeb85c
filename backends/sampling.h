/* From logits to a token (docs/numerics.md, section 8). Any thread with canonical MXCSR. */
#ifndef GSRT_BACKENDS_SAMPLING_H
#define GSRT_BACKENDS_SAMPLING_H

#include "backends/program.h"

/* Bytes of scratch that gsrt_sample needs for `vocab_count` logits. */
size_t gsrt_sample_scratch_bytes(uint32_t vocab_count);

/* Hash the row and, if sampling->is_sampled, draw a token. logits [vocab_count], vocab_count >= 1; scratch 16-byte
 * aligned. Cost: greedy one pass; otherwise a radix sort, about 8 ns per logit. */
gsrt_sample_result gsrt_sample(const float *logits, uint32_t vocab_count, const gsrt_sampling *sampling, void *scratch);

#endif
