#include "model/validate_figures.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "backends/trig.h"

static double bounded(double x)
{
    return isfinite(x) ? x : DBL_MAX;
}

static double larger(double a, double b)
{
    return bounded(b) > a ? bounded(b) : a;
}

/* ln of the sum of exp(logit): what is taken off a logit to have the logarithm of its probability. */
static double log_sum(const float *logits, uint32_t count)
{
    double largest = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < count; i++)
        largest = (double)logits[i] > largest ? (double)logits[i] : largest;
    for (uint32_t i = 0; i < count; i++)
        sum += gsrt_exp64((double)logits[i] - largest);
    return largest + gsrt_log64(sum);
}

void gsrt__figures_position(gsrt__figures *f, const float *plain, const float *changed, uint32_t vocab_count,
                            uint32_t target)
{
    double plain_sum = log_sum(plain, vocab_count), changed_sum = log_sum(changed, vocab_count), divergence = 0;
    for (uint32_t i = 0; i < vocab_count; i++) {
        double a = (double)plain[i], b = (double)changed[i];
        f->absolute = larger(f->absolute, fabs(a - b));
        divergence += gsrt_exp64(a - plain_sum) * ((a - plain_sum) - (b - changed_sum));
    }
    f->divergence = larger(f->divergence, divergence);
    f->position_count++;
    f->different_count += memcmp(plain, changed, vocab_count * sizeof *plain) != 0 ? 1 : 0;
    if (target == UINT32_MAX)
        return;
    f->lost += ((double)plain[target] - plain_sum) - ((double)changed[target] - changed_sum);
    f->target_count += 1;
}

void gsrt__figures_region(gsrt__figures *f, uint32_t region, const float *plain, const float *changed, uint32_t width)
{
    double difference = 0, norm = 0;
    for (uint32_t i = 0; i < width; i++) {
        double a = (double)plain[i], b = (double)changed[i];
        difference += (a - b) * (a - b);
        norm += a * a;
    }
    double relative = difference == 0 ? 0 : sqrt(difference) / sqrt(norm);
    f->relative[region] = larger(f->relative[region], relative);
}

void gsrt__figures_sequence(gsrt__figures *f)
{
    f->sequence_count++;
    f->sum_lost += f->lost;
    f->sum_targets += f->target_count;
    f->sum_lost_lost += f->lost * f->lost;
    f->sum_lost_targets += f->lost * f->target_count;
    f->sum_targets_targets += f->target_count * f->target_count;
    f->lost = f->target_count = 0;
}

/* The ratio estimator over sequences, r = sum of lost / sum of targets; its residuals lost - r * targets have the
 * sample variance s^2, and r the standard error sqrt(n) * s / sum of targets. */
bool gsrt__figures_quality(const gsrt__figures *f, double confidence, double *out_ratio, double *out_upper)
{
    double n = f->sequence_count;
    if (n < 2 || f->sum_targets == 0)
        return false;
    double r = f->sum_lost / f->sum_targets;
    double squares = f->sum_lost_lost - 2 * r * f->sum_lost_targets + r * r * f->sum_targets_targets;
    double error = squares > 0 ? sqrt(n * squares / (n - 1)) / f->sum_targets : 0;
    *out_ratio = isfinite(r) ? bounded(gsrt_exp64(r)) : DBL_MAX;
    *out_upper =
        isfinite(r) && isfinite(squares) ? bounded(gsrt_exp64(r + sqrt(1 / (1 - confidence) - 1) * error)) : DBL_MAX;
    return true;
}

double gsrt__figures_coverage(uint32_t sequence_count, double confidence)
{
    return gsrt_exp64(gsrt_log64(1 - confidence) / sequence_count);
}
