#include "backends/rope.h"
#include "backends/trig.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { ROPE_BLOCK = 64 };

typedef float *_Atomic block_pointer;

struct gsrt_rope_table {
    uint32_t pair_count;
    uint32_t position_count;
    bool is_neox;
    double scale, mscale;
    double *freqs;         /* [pair_count] owned */
    double *mixes;         /* [pair_count] owned: YaRN's share of the unscaled angle; 0 without YaRN */
    block_pointer *blocks; /* [ceil(position_count / 64)] owned: [64][pair_count][2], NULL until used */
};

/* The pair index at which a wavelength makes `rotations` turns within the original context. */
static double yarn_dim(const gsrt_rope_options *options, double rotations)
{
    const double two_pi = 0x1.921fb54442d18p+2;
    return (double)options->dim_rotated * gsrt_log64((double)options->context_original / (rotations * two_pi)) /
           (2.0 * gsrt_log64((double)options->base));
}

static void fill_yarn(gsrt_rope_table *table, const gsrt_rope_options *options)
{
    double low = fmax(0.0, floor(yarn_dim(options, (double)options->yarn_beta_fast)));
    double high = fmin((double)options->dim_rotated - 1.0, ceil(yarn_dim(options, (double)options->yarn_beta_slow)));
    double extension = (double)options->yarn_extension_factor;
    for (uint32_t i = 0; i < table->pair_count; i++) {
        double y = ((double)i - low) / fmax(0.001, high - low);
        table->mixes[i] = (1.0 - fmin(1.0, fmax(0.0, y))) * extension;
    }
    table->mscale = (double)options->yarn_attention_factor;
    if (extension != 0.0)
        table->mscale *= 1.0 + 0.1 * gsrt_log64(1.0 / table->scale);
}

static bool is_valid(const gsrt_rope_options *options)
{
    if (options->dim_rotated == 0 || options->dim_rotated % 2 != 0 || options->dim_rotated > options->head_dim ||
        options->head_dim > GSRT_HEAD_DIM_MAX || options->position_count == 0 ||
        options->position_count > GSRT_CONTEXT_MAX)
        return false;
    if (!(options->base > 0.0f) || !isfinite(options->base) || !(options->scale > 0.0f) || !isfinite(options->scale))
        return false;
    if (!options->is_yarn)
        return true;
    return options->context_original > 0 && isfinite(options->yarn_extension_factor) &&
           isfinite(options->yarn_attention_factor) && options->yarn_beta_fast > 0.0f &&
           isfinite(options->yarn_beta_fast) && options->yarn_beta_slow > 0.0f && isfinite(options->yarn_beta_slow) &&
           options->base != 1.0f;
}

gsrt_rope_table *gsrt_rope_table_create(const gsrt_rope_options *options)
{
    if (!is_valid(options))
        return NULL;
    gsrt_rope_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return NULL;
    table->pair_count = options->dim_rotated / 2;
    table->position_count = options->position_count;
    table->is_neox = options->is_neox;
    table->scale = (double)options->scale;
    table->mscale = 1.0;
    table->freqs = calloc(table->pair_count, sizeof(double));
    table->mixes = calloc(table->pair_count, sizeof(double));
    table->blocks = calloc((table->position_count + ROPE_BLOCK - 1) / ROPE_BLOCK, sizeof(block_pointer));
    if (table->freqs == NULL || table->mixes == NULL || table->blocks == NULL)
        return gsrt_rope_table_free(table);
    double log_base = gsrt_log64((double)options->base);
    for (uint32_t i = 0; i < table->pair_count; i++) {
        double exponent = -((double)(2 * i) / (double)options->dim_rotated);
        table->freqs[i] = gsrt_exp64(exponent * log_base);
        if (options->factors != NULL)
            table->freqs[i] /= (double)options->factors[i];
    }
    if (options->is_yarn)
        fill_yarn(table, options);
    return table;
}

gsrt_rope_table *gsrt_rope_table_free(gsrt_rope_table *table)
{
    if (table == NULL)
        return NULL;
    for (uint32_t b = 0; table->blocks != NULL && b < (table->position_count + ROPE_BLOCK - 1) / ROPE_BLOCK; b++)
        free(atomic_load_explicit(&table->blocks[b], memory_order_relaxed));
    free(table->blocks);
    free(table->freqs);
    free(table->mixes);
    free(table);
    return NULL;
}

static float *make_block(const gsrt_rope_table *table, uint32_t block)
{
    float *values = malloc((size_t)ROPE_BLOCK * table->pair_count * 2 * sizeof(float));
    if (values == NULL)
        return NULL;
    float *at = values;
    for (uint32_t row = 0; row < ROPE_BLOCK; row++) {
        double position = (double)block * ROPE_BLOCK + (double)row;
        for (uint32_t i = 0; i < table->pair_count; i++) {
            double extrap = position * table->freqs[i];
            double theta = table->scale * extrap;
            double mix = table->mixes[i];
            if (mix != 0.0)
                theta = theta * (1.0 - mix) + extrap * mix;
            double s, c;
            gsrt_sincos64(theta, &s, &c);
            *at++ = (float)(c * table->mscale);
            *at++ = (float)(s * table->mscale);
        }
    }
    return values;
}

const float *gsrt_rope_row(const gsrt_rope_table *table, uint32_t position)
{
    if (position >= table->position_count)
        return NULL;
    uint32_t block = position / ROPE_BLOCK;
    /* acquire: partner of the exchange below */
    float *values = atomic_load_explicit(&table->blocks[block], memory_order_acquire);
    if (values == NULL) {
        float *made = make_block(table, block);
        if (made == NULL)
            return NULL;
        if (atomic_compare_exchange_strong_explicit(&table->blocks[block], &values, made, memory_order_acq_rel,
                                                    memory_order_acquire))
            values = made;
        else
            free(made); /* another thread was first; its numbers are the same */
    }
    return values + (size_t)(position % ROPE_BLOCK) * table->pair_count * 2;
}

uint32_t gsrt_rope_dim_rotated(const gsrt_rope_table *table)
{
    return table->pair_count * 2;
}

bool gsrt_rope_is_neox(const gsrt_rope_table *table)
{
    return table->is_neox;
}
