/* A transformer by its numbers: a workload without weights, said in a few keys of a scenario (docs/scenario.md), for
 * planning what has no config.json yet.
 *
 *     synthetic: {layers: 80, dim: 8192, heads: 64, kv_heads: 8, ffn: 28672, vocab: 128256, weights: bf16}
 *
 * RMS norms, RoPE, SwiGLU, grouped-query attention; experts in every layer where there are any.
 */
#ifndef GSRT_MODEL_SYNTHETIC_H
#define GSRT_MODEL_SYNTHETIC_H

#include "base/yaml_reader.h"
#include "placement/workload.h"

typedef struct gsrt_synthetic {
    const char *name;                /* of the model; default "synthetic" */
    uint32_t layers, dim, heads;     /* required, like ffn (unless there are experts) and vocab */
    uint32_t kv_heads;               /* default: heads; divides them */
    uint32_t head_dim;               /* default: dim / heads; even */
    uint32_t ffn;                    /* of a dense layer */
    uint32_t vocab, context;         /* context: default 32768 */
    uint32_t window;                 /* positions that each layer looks at; 0: all */
    uint32_t experts, chosen;        /* experts of each layer, and how many a token takes; 0: none */
    uint32_t expert_ffn, shared_ffn; /* shared: of the expert that every token takes; 0: none */
    bool is_tied;                    /* the output is the table of the embedding */
    gsrt_dtype weights, state;       /* formats of the matrices, and of KV; default bf16 */
} gsrt_synthetic;

/* Read the mapping `node`; hostile until then. *out is complete, and can be built. Texts are copied to the reader's
 * arena. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_synthetic_read(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                gsrt_synthetic *out);

/* Append it as a mapping of one line that reads back the same. Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_synthetic_print(const gsrt_synthetic *synthetic, gsrt_buffer *out);

/* *out owned: gsrt_workload_free. `file` is named in *diag. GSRT_OK | GSRT_EINPUT (a format whose blocks do not fit a
 * matrix) | GSRT_ENOMEM. Cost: O(layers).   test  tests/model/synthetic_test.c */
GSRT_MUST_CHECK gsrt_status gsrt_synthetic_build(const gsrt_synthetic *synthetic, const char *file, gsrt_workload **out,
                                                 gsrt_diag *diag);

#endif
