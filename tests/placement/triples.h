/* Random planning problems: a workload, a fleet, a contract, an objective and the rules of a site, all drawn from one
 * seed. The same seed gives the same problem on every machine. For tests.
 */
#ifndef GSRT_TESTS_PLACEMENT_TRIPLES_H
#define GSRT_TESTS_PLACEMENT_TRIPLES_H

#include "base/random.h"
#include "placement/search.h"

/* The shape of a transformer. */
typedef struct model_shape {
    uint32_t layers, dim, heads, kv_heads, head_dim, ffn, vocab, context;
    uint32_t experts, chosen; /* 0: dense */
    uint32_t latent;          /* width of MLA's latent; 0: keys and values of heads */
    uint32_t window;          /* of every second layer; 0: none */
    gsrt_dtype weights, state;
    bool is_tied, has_weights;
    bool is_rigid; /* its author allows nothing to be done to layer 0 but to run it */
} model_shape;

/* Checked; owned by the caller. */
gsrt_workload *made_model(const model_shape *shape);

/* Numbers one after the other. */
typedef struct dice {
    uint64_t seed, stream, counter;
} dice;

static inline uint32_t dice_below(dice *d, uint32_t count)
{
    return (uint32_t)(gsrt_random_u64(d->seed, d->stream, d->counter++) % count);
}

static inline bool dice_chance(dice *d, uint32_t percent)
{
    return dice_below(d, 100) < percent;
}

/* From lo to hi. */
static inline double dice_between(dice *d, double lo, double hi)
{
    return lo + (hi - lo) * gsrt_random_f64(d->seed, d->stream, d->counter++);
}

enum { TRIPLE_INVENTORY_BYTES = 16384, TRIPLE_RULES_MAX = 4, TRIPLE_EVIDENCE_MAX = 4 };

typedef struct triple {
    uint64_t seed;
    model_shape shape;
    gsrt_workload *workload;
    char inventory[TRIPLE_INVENTORY_BYTES]; /* YAML, of `fleet` */
    gsrt_fleet *fleet;
    gsrt_arena arena; /* of contract and evidence */
    gsrt_contract contract;
    gsrt_contract_rule rules[TRIPLE_RULES_MAX];
    gsrt_evidence evidence[TRIPLE_EVIDENCE_MAX];
    const char *regions[2];
    gsrt_search_problem problem; /* borrows all of the above */
} triple;

/* Draw number `seed`; fails the test where it is no right problem. */
void triple_draw(uint64_t seed, triple *out);
void triple_drop(triple *drawn);
/* Its fleet once more; owned by the caller. */
gsrt_fleet *triple_fleet(const triple *drawn);

/* A deployment at random, of engines that exist and layers in order; owned. NULL: there are not enough engines. */
gsrt_deployment *triple_deploy(const triple *drawn, dice d);

/* Its last part: contract and evidence. The workload and the fleet are there. */
void triple_draw_contract(dice d, triple *out);

#endif
