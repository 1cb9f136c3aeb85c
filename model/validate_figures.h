/* Within model/validate*.c only: errors of positions, gathered by sequence. Pure. */
#ifndef GSRT_MODEL_VALIDATE_FIGURES_H
#define GSRT_MODEL_VALIDATE_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

/* Of what was looked at so far. What is no number counts as DBL_MAX: it is seen, and admits nothing. */
typedef struct gsrt__figures {
    double absolute, divergence;              /* the largest of all positions */
    double *relative;                         /* [region_count] likewise; borrowed */
    uint64_t position_count, different_count; /* positions; those with a different bit */
    uint32_t sequence_count;                  /* that have ended */
    /* Of the sequence that is open: by how much the text's tokens became less likely, and how many there were. */
    double lost, target_count;
    /* Over sequences: sums of lost, of targets, and of their squares and products. */
    double sum_lost, sum_targets, sum_lost_lost, sum_lost_targets, sum_targets_targets;
} gsrt__figures;

/* One position: logits [vocab_count] of both passes; target: the token that the text has next, UINT32_MAX: none. */
void gsrt__figures_position(gsrt__figures *f, const float *plain, const float *changed, uint32_t vocab_count,
                            uint32_t target);
/* The output of region `region` at this position, [width] of both passes. */
void gsrt__figures_region(gsrt__figures *f, uint32_t region, const float *plain, const float *changed, uint32_t width);
/* The sequence ends. */
void gsrt__figures_sequence(gsrt__figures *f);

/* The ratio of the perplexities, and its upper limit. false: there are no two sequences with targets. */
bool gsrt__figures_quality(const gsrt__figures *f, double confidence, double *out_ratio, double *out_upper);
/* Of all such sequences at least this share stays below the largest errors that were seen, with this confidence. */
double gsrt__figures_coverage(uint32_t sequence_count, double confidence);

#endif
