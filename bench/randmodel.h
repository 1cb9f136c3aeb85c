/* A model of any size whose weights mean nothing: a Llama-architecture GGUF v3 file, for benchmarks and for tests.
 *
 * The same options give the same bytes everywhere. Weights are drawn so that activations and logits keep a size near 1:
 * uniform, standard deviation 1 / sqrt(K); norms within 0.9..1.1; embeddings of deviation 1. Vectors are always f32.
 * The vocabulary is synthetic but complete (SentencePiece kind: <unk>, <s>, </s>, the 256 byte tokens, printable ASCII,
 * then words made of letters, with scores and types), so that other engines load the file and any text can be
 * tokenised. Cost: about 1 GB/s, 1 MiB of memory beside the vocabulary. Any thread; the file is written by the
 * caller's.
 */
#ifndef GSRT_BENCH_RANDMODEL_H
#define GSRT_BENCH_RANDMODEL_H

#include "base/diag.h"
#include "base/dtype.h"

typedef struct gsrt_randmodel_options {
    gsrt_dtype dtype;       /* of every matrix */
    uint32_t dim;           /* embedding length: a multiple of 32 and of head_count */
    uint32_t layer_count;   /* at least 1 */
    uint32_t hidden;        /* feed forward length: a multiple of 32 */
    uint32_t head_count;    /* query heads; dim / head_count is even */
    uint32_t kv_head_count; /* divides head_count */
    uint32_t vocab_count;   /* at least GSRT_RANDMODEL_VOCAB_MIN */
    uint32_t context;       /* positions */
    uint64_t seed;
    bool is_tied; /* no output.weight: the embedding is the output matrix */
} gsrt_randmodel_options;

enum { GSRT_RANDMODEL_VOCAB_MIN = 259 + 96, GSRT_RANDMODEL_VOCAB_MAX = 512 * 1024 };

/* A preset by name: "tiny" (dim 64; one chunk of K), "small" (dim 512, hidden 1536: K of 2 and of 6 chunks of 256;
 * about 10 million weights), "1b" (dim 2048, 16 layers, hidden 8192, 32/8 heads, vocabulary 32000: 1.1 billion
 * weights). false: no such preset, *out untouched. dtype q8_0, seed 1. */
bool gsrt_randmodel_preset(const char *name, gsrt_randmodel_options *out);

/* GSRT_OK | GSRT_EINVAL with *diag naming the option that is out of range. */
GSRT_MUST_CHECK gsrt_status gsrt_randmodel_check(const gsrt_randmodel_options *options, gsrt_diag *diag);

/* Write the model to `path`; an existing file is replaced. *out_bytes (may be NULL): size of the file.
 * GSRT_OK | GSRT_EINVAL (options) | GSRT_EIO, GSRT_ENOMEM: no file is left behind. */
GSRT_MUST_CHECK gsrt_status gsrt_randmodel_write(const gsrt_randmodel_options *options, const char *path,
                                                 uint64_t *out_bytes, gsrt_diag *diag);

/* Bytes of all matrices that one decoded token reads: every one but the embedding, or with it when it is tied. */
uint64_t gsrt_randmodel_token_bytes(const gsrt_randmodel_options *options);

#endif
