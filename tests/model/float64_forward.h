/* A Llama forward pass in double precision, written from the definition of the architecture: no op list, no workload,
 * no code of the runtime but the file reader. Weights are dequantised to double; nothing else is rounded. For tests:
 * aborts on a file that it does not understand. RoPE plain, linear, YaRN and with frequency factors; biases of the
 * attention.
 */
#ifndef GSRT_TESTS_MODEL_FLOAT64_FORWARD_H
#define GSRT_TESTS_MODEL_FLOAT64_FORWARD_H

#include "model/gguf.h"

typedef struct float64_model float64_model;

/* `gguf` is borrowed while loading only. */
float64_model *float64_create(const gsrt_gguf *gguf, uint32_t position_count);
void float64_free(float64_model *model);

/* logits [vocab], borrowed until the next step. Positions in order from 0. */
const double *float64_step(float64_model *model, uint32_t token, uint32_t position);
uint32_t float64_vocab(const float64_model *model);

#endif
