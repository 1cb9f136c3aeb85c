/* Validation: what narrowing does to the answer, measured on real weights.
 *
 * Two passes of the plain executor (model/reference.h) over the same text: one as the workload says, one with
 * everything that the choices change, together. The kernels give the bits of the plain executor (docs/numerics.md), so
 * what is measured here is what a deployment with canonical kernels computes. Each non-empty line of the corpus is a
 * sequence, and sequences are the independent units of the sample: of a corpus with more of them than are asked for, a
 * random sample is drawn (seed 0: the same one every time).
 *
 * Of each position: the largest error of a logit, the divergence (KL, in nats, reference first) of the next token's
 * distribution at temperature 1, the relative error of the output of each region that is changed; of each next token
 * that the text has: how much less likely it became. Figures:
 *
 *   absolute_error, relative_error, divergence   measured and upper: the largest of all positions. With n sequences and
 *       confidence c, at least (1-c)^(1/n) of all such sequences stay below it (Wilks 1941), whatever their
 * distribution. quality       the ratio of the perplexities. Where the whole corpus was run, nothing cut, that is what
 * a quality floor is about, and upper is the same; else exp of the mean log ratio plus sqrt(1/(1-c) - 1) standard
 * errors of the ratio estimator over sequences (Cantelli's inequality with the sample's variance). exact_paths
 * positions with a different bit; only where the whole corpus was run, nothing cut.
 *
 * Deterministic: the same model, text and options give the same evidence, byte for byte, on every machine.
 * Thread: one; blocks. Cost: two plain passes, about 4 ns per weight and position; memory: the narrowed weights, twice
 * the KV of one sequence.
 */
#ifndef GSRT_MODEL_VALIDATE_H
#define GSRT_MODEL_VALIDATE_H

#include "model/tokenizer.h"
#include "model/weights.h"
#include "placement/evidence.h"

enum { GSRT_VALIDATE_SEQUENCES_DEFAULT = 128, GSRT_VALIDATE_POSITIONS_DEFAULT = 128 };

typedef void gsrt_validate_progress_fn(void *arg, uint32_t done, uint32_t count);

typedef struct gsrt_validate_options {
    const gsrt_region_choice *choices; /* [region_count]: what is to be validated, all at once; arithmetic CANONICAL */
    const char *corpus;                /* path of the text, as contract and evidence name it */
    gsrt_span text;                    /* its bytes */
    uint32_t sequence_count_max;       /* 0: the default above; UINT32_MAX: all */
    uint32_t position_count_max;       /* of each sequence; 0: the default above; UINT32_MAX: the model's context */
    double confidence;                 /* of the limits, in (0, 1); 0: 0.95 */
    gsrt_validate_progress_fn *progress; /* after each sequence; NULL: none */
    void *progress_arg;
} gsrt_validate_options;

/* Measure, and append the evidence to `list`.
 * returns  GSRT_OK | GSRT_EINPUT (*diag: nothing is changed; no line with a token; a byte without a token) |
 *          GSRT_EUNSUPPORTED (*diag names region and what no executor here computes) | GSRT_ENOMEM.
 * test     tests/model/validate_test.c */
GSRT_MUST_CHECK gsrt_status gsrt_validate(const gsrt_weights *weights, const gsrt_tokenizer *tokenizer,
                                          const gsrt_validate_options *options, gsrt_evidence_list *list,
                                          gsrt_diag *diag);

/* One position: its logits [vocab_count] as given and as changed. The divergence in nats, and the largest difference of
 * a logit; what is no number counts as DBL_MAX. Any thread whose MXCSR is canonical. */
void gsrt_validate_compare(const float *plain, const float *changed, uint32_t vocab_count, double *out_divergence,
                           double *out_absolute);

/* Which weights they are, as evidence has it: 32 digits and a zero. XXH3 (128 bits) over the tensors' bytes, chained in
 * the workload's order. Reads all weights. */
void gsrt_validate_hash_weights(const gsrt_weights *weights, char out[33]);

/* Forget what was measured on other weights. */
void gsrt_validate_keep_only(gsrt_evidence_list *list, const char *weights_hash);

#endif
