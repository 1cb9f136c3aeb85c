/* The scalar pieces of the canonical arithmetic (docs/numerics.md): widening, exp, and the shape of a canonical sum.
 * Pure functions; any thread whose MXCSR is canonical (gsrt_mxcsr_set).
 */
#ifndef GSRT_BACKENDS_NUMERICS_H
#define GSRT_BACKENDS_NUMERICS_H

#include "backends/program.h"

#include <math.h>

/* Raised whenever a bit of any result may change. */
#define GSRT_NUMERICS_VERSION 1

/* Stream of the sampler's random numbers ("sample"). */
#define GSRT_SAMPLING_STREAM 0x73616d706c65u

/* Positions of a canonical attention block. */
#define GSRT_ATTENTION_BLOCK GSRT_KV_BLOCK_POSITIONS

/* Levels of a canonical tree: chunk counts stay at most 65 (a chunk is more than half its target), blocks of positions
 * at most GSRT_CONTEXT_MAX / 64 = 2^14. */
enum { GSRT_TREE_DEPTH_MAX = 16, GSRT_CHUNK_COUNT_MAX = 80 };

static inline uint32_t gsrt_bits_of(float value)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float gsrt_float_of(uint32_t bits)
{
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float gsrt_widen_bf16(uint16_t half)
{
    return gsrt_float_of((uint32_t)half << 16);
}

/* Exact, denormals included. */
static inline float gsrt_widen_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t rest = half & 0x7fffu;
    if (rest >= 0x7c00u)
        return gsrt_float_of(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest >= 0x400u)
        return gsrt_float_of(sign | ((rest << 13) + (112u << 23)));
    float magnitude = (float)rest * 0x1p-24f; /* exact */
    return gsrt_float_of(sign | gsrt_bits_of(magnitude));
}

static inline uint16_t gsrt_load_u16(const uint8_t *bytes)
{
    uint16_t value;
    __builtin_memcpy(&value, bytes, sizeof value);
    return value;
}

/* docs/numerics.md, section 4. */
static inline float gsrt_exp_f32(float x)
{
    float t = fmaf(x, 0x1.715476p+0f, 0x1.8p+23f);
    float n = t - 0x1.8p+23f;
    float r = fmaf(n, -0x1.63p-1f, x);
    r = fmaf(n, 0x1.bd0106p-13f, r);
    float p = 0x1.6d117cp-10f;
    p = fmaf(p, r, 0x1.120be2p-7f);
    p = fmaf(p, r, 0x1.555518p-5f);
    p = fmaf(p, r, 0x1.5554dcp-3f);
    p = fmaf(p, r, 0.5f);
    p = fmaf(p, r, 1.0f);
    p = fmaf(p, r, 1.0f);
    if (x > 88.0f)
        return INFINITY;
    if (x < -87.0f)
        return 0.0f;
    uint32_t power = (gsrt_bits_of(t) << 23) + 0x3f800000u; /* the low bits of t are n */
    return p * gsrt_float_of(power);
}

/* ---- the shape of a canonical sum ---- */

static inline uint32_t gsrt_chunk_count(uint32_t k_total, uint32_t chunk)
{
    return (k_total + chunk - 1) / chunk;
}

/* End of the subtree that starts at chunk `first` in a share that ends at `end`, of `count` chunks. */
uint32_t gsrt_subtree_end(uint32_t first, uint32_t end, uint32_t count);

/* The chunks of one matrix (a share of K or all of it). */
typedef struct gsrt_chunking {
    uint32_t chunk;         /* elements */
    uint32_t count;         /* chunks of the whole K */
    uint32_t first, end;    /* chunks of the share */
    uint32_t subtree_count; /* sums that LINEAR emits: 1 when the share is everything */
} gsrt_chunking;

/* k_first must be a multiple of the chunk, and the share must end at a chunk's end. */
gsrt_chunking gsrt_chunking_of(const gsrt_matrix *matrix);

/* Steps that finish a tree over given subtrees: in order, node[into] += node[from]; the result is node[0]. */
typedef struct gsrt_tree_step {
    uint16_t into, from;
} gsrt_tree_step;

/* Plan the rest of the tree over `chunk_count` chunks for shares that end at chunk_ends[share_count] (ascending, the
 * last is chunk_count; empty shares are legal). steps [node_count - 1]; returns the number of nodes, 0 when the ends
 * are not ascending or do not cover. `steps_max` bounds the writes; more are counted, not written. */
uint32_t gsrt_tree_plan(uint32_t chunk_count, const uint32_t *chunk_ends, uint32_t share_count, gsrt_tree_step *steps,
                        uint32_t steps_max);

/* ---- rounding mode of the calling thread ---- */

/* Round to nearest, no flushing of denormals, exceptions masked. Returns the old value. */
uint32_t gsrt_mxcsr_set(void);
void gsrt_mxcsr_restore(uint32_t old);
/* true when the control bits are canonical. */
bool gsrt_mxcsr_is_canonical(void);

#endif
