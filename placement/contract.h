/* The contract: what "the same answer" means, region by region; and the judge who says whether a deployment keeps it.
 *
 * A deployment differs from the workload's own arithmetic by *transformations*; each names its effect class and its
 * obligation. An exact one is proved by construction (docs/numerics.md says why); anything else needs evidence: a
 * validation on real weights that names corpus, statistic, measured error and confidence. No obligation met, no plan.
 */
#ifndef GSRT_PLACEMENT_CONTRACT_H
#define GSRT_PLACEMENT_CONTRACT_H

#include "placement/deployment.h"

typedef enum gsrt_contract_kind {
    GSRT_CONTRACT_BITWISE,        /* not one bit */
    GSRT_CONTRACT_DETERMINISTIC,  /* the same plan and seed give the same bits */
    GSRT_CONTRACT_ABSOLUTE_ERROR, /* largest |difference| of a logit <= bound */
    GSRT_CONTRACT_RELATIVE_ERROR, /* norm of the difference over norm, of the region's output <= bound */
    GSRT_CONTRACT_DIVERGENCE,     /* KL of the next-token distribution, nats <= bound */
    GSRT_CONTRACT_QUALITY,        /* perplexity on a corpus <= bound times that of the reference */
    GSRT_CONTRACT_EXACT_PATHS,    /* logits on selected paths are equal */
} gsrt_contract_kind;
enum { GSRT_CONTRACT_KIND_COUNT = GSRT_CONTRACT_EXACT_PATHS + 1 };

/* What a transformation does to the numbers. */
typedef enum gsrt_effect_class {
    GSRT_EFFECT_EXACT,       /* proved: the same bits */
    GSRT_EFFECT_REORDERED,   /* the same operations in another order */
    GSRT_EFFECT_NARROWED,    /* fewer bits: weights, activations or KV */
    GSRT_EFFECT_APPROXIMATE, /* another computation */
} gsrt_effect_class;

typedef struct gsrt_contract_rule {
    const char *glob; /* over region names: "*", "layer.*", "layer.3" */
    gsrt_contract_kind kind;
    double bound;       /* of those that have one */
    const char *corpus; /* of quality and exact paths: a path; else NULL */
} gsrt_contract_rule;

/* Rules in order; the last one that matches a region holds for it. Every region is matched by one (checked). */
typedef struct gsrt_contract {
    gsrt_arena arena;
    const gsrt_contract_rule *rules;
    uint32_t rule_count;
} gsrt_contract;

/* One difference between the workload's own arithmetic and a deployment's. */
typedef struct gsrt_transformation {
    const char *name; /* "weights:f16->q8_0", "kv:f16->f8_e4m3", "reduce:ring", "kernels:native", "split:gather"; static
                         or of the verdict's arena */
    uint32_t region;  /* of the workload */
    gsrt_effect_class effect;
    bool is_proved; /* by construction */
} gsrt_transformation;

/* What was measured of transformations on real weights. Borrowed texts. */
typedef struct gsrt_evidence {
    const char *transformation, *glob; /* which, in which regions; all of them together, as measured */
    const char *workload_hash;         /* of the weights' workload, hex */
    gsrt_contract_kind statistic;      /* ABSOLUTE_ERROR, RELATIVE_ERROR, DIVERGENCE or QUALITY */
    double measured, upper;            /* the largest that was seen (quality: the ratio); its upper confidence limit */
    double confidence;                 /* of `upper` */
    const char *corpus;
    uint64_t position_count; /* how many positions were compared */
} gsrt_evidence;

typedef struct gsrt_verdict {
    bool is_kept;
    const char *reason; /* a code of placement/rejection.h; NULL when kept */
    gsrt_transformation failing;
    const char *obligation;                     /* what would have admitted it; of `arena` */
    gsrt_arena arena;                           /* of what follows */
    const gsrt_transformation *transformations; /* all that the deployment makes, in the order of regions */
    uint32_t transformation_count;
} gsrt_verdict;

/* "bitwise", or a list of rules. A node of a scenario; texts are copied. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_contract_read(const gsrt_yaml_node *node, gsrt_diag *diag, gsrt_contract **out);
/* The bitwise contract for all regions; owned; NULL: no memory. */
gsrt_contract *gsrt_contract_bitwise(void);
gsrt_contract *gsrt_contract_free(gsrt_contract *contract);

/* The rule for a region; never NULL of a checked contract. */
const gsrt_contract_rule *gsrt_contract_rule_for(const gsrt_contract *contract, const char *region);

/* Does the deployment keep the contract, with this evidence? *out is set up here; freed with gsrt_verdict_fini.
 * O(regions
 * * evidence). GSRT_OK (also where it is not kept) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_contract_judge(const gsrt_contract *contract, const gsrt_workload *workload,
                                                const gsrt_fleet *fleet, const gsrt_deployment *deployment,
                                                const gsrt_evidence *evidence, size_t evidence_count,
                                                gsrt_verdict *out);
void gsrt_verdict_fini(gsrt_verdict *verdict);

#endif
