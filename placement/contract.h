/* The contract: what "the same answer" means, region by region; and the judge who says whether a deployment keeps it.
 *
 * A deployment differs from the workload's own arithmetic by *transformations*; each names its effect class and its
 * obligation (the registry, gsrt_transformation_of; docs/planning.md, "Contracts"). An exact one is proved by
 * construction (docs/numerics.md says why); anything else needs evidence: a validation on real weights that names
 * corpus, statistic, measured error and confidence. No obligation met, no plan.
 *
 * A rule limits what may be done inside its regions. Where nothing is done but what is exact, any rule is kept.
 *
 *     gsrt_contract_read(&reader, node, &contract);            gsrt_contract_check(contract, workload, file, &diag);
 *     gsrt_contract_judge(contract, workload, fleet, deployment, evidence, count, &verdict);
 *     if (!verdict.is_kept) ... verdict.reason, verdict.failing, verdict.obligation ...
 *     gsrt_verdict_fini(&verdict);
 *
 * Pure. Thread: any, of different objects.
 */
#ifndef GSRT_PLACEMENT_CONTRACT_H
#define GSRT_PLACEMENT_CONTRACT_H

#include "base/yaml_reader.h"
#include "placement/deployment.h"
#include "placement/rejection.h"

typedef enum gsrt_contract_kind {
    GSRT_CONTRACT_BITWISE,        /* not one bit */
    GSRT_CONTRACT_DETERMINISTIC,  /* the same plan and seed give the same bits */
    GSRT_CONTRACT_ABSOLUTE_ERROR, /* largest |difference| of a logit of a position <= bound */
    GSRT_CONTRACT_RELATIVE_ERROR, /* norm of the difference over norm, of the region's output at a position <= bound */
    GSRT_CONTRACT_DIVERGENCE,     /* KL of the next-token distribution of a position, nats <= bound */
    GSRT_CONTRACT_QUALITY,        /* perplexity on a corpus <= bound times that of the reference */
    GSRT_CONTRACT_EXACT_PATHS,    /* logits on selected paths are equal, bit for bit */
} gsrt_contract_kind;
enum { GSRT_CONTRACT_KIND_COUNT = GSRT_CONTRACT_EXACT_PATHS + 1 };

/* What a transformation does to the numbers. */
typedef enum gsrt_effect_class {
    GSRT_EFFECT_EXACT,       /* proved: the same bits */
    GSRT_EFFECT_REORDERED,   /* the same operations in another order */
    GSRT_EFFECT_NARROWED,    /* fewer bits: weights, activations or KV */
    GSRT_EFFECT_APPROXIMATE, /* another computation */
} gsrt_effect_class;
enum { GSRT_EFFECT_CLASS_COUNT = GSRT_EFFECT_APPROXIMATE + 1 };

/* ---- the document ---- */

typedef struct gsrt_contract_rule {
    const char *glob; /* over region names: "*", "layer.*", "layer.3"; '*' any run, '?' any one character */
    gsrt_contract_kind kind;
    double bound;       /* of those that have one; else 0 */
    const char *corpus; /* a path: what evidence must have been measured on; of exact paths: the paths; NULL: any */
} gsrt_contract_rule;

/* Rules in order; the last one that matches a region holds for it. The first one's glob is "*", so that every region is
 * matched by one: what nobody named is bitwise. */
typedef struct gsrt_contract {
    gsrt_arena arena;
    const gsrt_contract_rule *rules;
    uint32_t rule_count; /* >= 1 */
} gsrt_contract;

/* A node of a scenario: "bitwise", "deterministic", or a list of rules (docs/scenario.md). The reader says where it
 * stands; texts are copied. *out owned. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_contract_read(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                               gsrt_contract **out);
/* Append it as a YAML value on one line, which reads back as the same contract. Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_contract_print(const gsrt_contract *contract, gsrt_buffer *out);
/* A rule that names no region of the workload is refused: it would be kept by oversight. GSRT_OK | GSRT_EINPUT. */
GSRT_MUST_CHECK gsrt_status gsrt_contract_check(const gsrt_contract *contract, const gsrt_workload *workload,
                                                const char *file, gsrt_diag *diag);
/* The bitwise contract for all regions; owned; NULL: no memory. */
gsrt_contract *gsrt_contract_bitwise(void);
/* Accepts NULL; returns NULL. */
gsrt_contract *gsrt_contract_free(gsrt_contract *contract);

/* The rule for a region; never NULL. */
const gsrt_contract_rule *gsrt_contract_rule_for(const gsrt_contract *contract, const char *region);
bool gsrt_contract_glob_matches(const char *glob, const char *name);

/* "bitwise", "deterministic", "absolute_error", ...; static. */
const char *gsrt_contract_kind_word(gsrt_contract_kind kind);
/* "exact", "reordered", ...; static. */
const char *gsrt_effect_class_word(gsrt_effect_class effect);

/* ---- transformations ---- */

/* The registry: all that a deployment can do to a workload. */
typedef enum gsrt_transformation_kind {
    /* never exact, but for widening; in this order within a region */
    GSRT_TRANSFORMATION_OPS,      /* the region itself is not deterministic */
    GSRT_TRANSFORMATION_WEIGHTS,  /* "weights:f16->q8_0" */
    GSRT_TRANSFORMATION_STATE,    /* "kv:f32->f16" */
    GSRT_TRANSFORMATION_COMPUTE,  /* "compute:f32->bf16": inputs of products */
    GSRT_TRANSFORMATION_NATIVE,   /* "kernels:native:attention 3+driver 1.2": by the software of the engine */
    GSRT_TRANSFORMATION_UNPROVEN, /* "kernels:unproven": canonical is asked of an engine that does not name it */
    GSRT_TRANSFORMATION_RING,     /* "reduce:ring" */
    GSRT_TRANSFORMATION_TREE,     /* "reduce:tree" */
    GSRT_TRANSFORMATION_SWITCH,   /* "reduce:switch" */
    GSRT_TRANSFORMATION_CONTEXT,  /* "split:context" */
    /* exact with canonical kernels */
    GSRT_TRANSFORMATION_GATHER,   /* "split:gather" */
    GSRT_TRANSFORMATION_SUBTREES, /* "split:subtrees" */
    GSRT_TRANSFORMATION_EXPERTS,  /* "split:experts" */
    GSRT_TRANSFORMATION_DATA,     /* "split:data" */
    GSRT_TRANSFORMATION_BATCH,    /* "batch" */
    GSRT_TRANSFORMATION_CHUNKS,   /* "prefill:chunks" */
    GSRT_TRANSFORMATION_DRAFT,    /* "draft" */
    GSRT_TRANSFORMATION_OVERLAP,  /* "overlap" */
    /* exact with any kernels: values are copied, or a step is run again */
    GSRT_TRANSFORMATION_PIPELINE,  /* "pipeline" */
    GSRT_TRANSFORMATION_REPLICAS,  /* "replicas" */
    GSRT_TRANSFORMATION_TRANSFER,  /* "kv:transfer": from a prefill pool to a decode pool */
    GSRT_TRANSFORMATION_OFFLOAD,   /* "kv:offload": a part of it lies in a second memory tier */
    GSRT_TRANSFORMATION_PAGE,      /* "kv:page": always done; shared by equal prefixes */
    GSRT_TRANSFORMATION_RECOMPUTE, /* "recompute": after a loss, or instead of keeping */
    GSRT_TRANSFORMATION_KIND_COUNT,
} gsrt_transformation_kind;

typedef struct gsrt_transformation_facts {
    const char *name; /* "weights"; what a transformation's own name begins with */
    gsrt_effect_class effect;
    bool needs_canonical;   /* exact with canonical kernels only: with others it is reordered */
    uint32_t legal;         /* gsrt_legal bits that the region's author must have left set */
    const char *obligation; /* what admits it */
    const char *because;    /* why it is exact; or what changes */
} gsrt_transformation_facts;
/* Static. */
const gsrt_transformation_facts *gsrt_transformation_of(gsrt_transformation_kind kind);

/* One difference between the workload's own arithmetic and a deployment's. */
typedef struct gsrt_transformation {
    const char *name; /* "weights:f16->q8_0", "kv:f16->f8_e4m3", "reduce:ring", "split:gather"; static or of the
                         verdict's arena */
    gsrt_transformation_kind kind;
    uint32_t region; /* of the workload */
    gsrt_effect_class effect;
    bool is_proved; /* by construction: effect is EXACT */
} gsrt_transformation;

/* The format that an op's tensor has under a choice for its region. Only matrices of 16 or 32 bits that products or
 * lookups read are narrowed (no vectors, nothing of ROUTE and POSITION), and only where a row is whole blocks of the
 * format; others keep their own. The op has a tensor. */
gsrt_dtype gsrt_choice_weights(const gsrt_region_choice *choice, const gsrt_workload *workload, const gsrt_op *op);
/* What canonical kernels compute with: i8 where a matrix of the region, as chosen, is q8_0 or q4_0; else f32. */
gsrt_format gsrt_region_compute(const gsrt_workload *workload, uint32_t region, const gsrt_region_choice *choice);

/* What choices[region_count] make by themselves, whatever the fleet: of weights, state and inputs of products, region
 * by region. *out, and its names, are of `arena`. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_contract_choices(const gsrt_workload *workload, const gsrt_region_choice *choices,
                                                  gsrt_arena *arena, const gsrt_transformation **out,
                                                  uint32_t *out_count);

/* ---- evidence ---- */

/* One transformation and all regions in which it was made. */
typedef struct gsrt_evidence_change {
    const char *transformation;
    const char *const *regions; /* [region_count] names, ascending in the workload's order; none twice */
    uint32_t region_count;
} gsrt_evidence_change;

typedef struct gsrt_evidence_figure {
    gsrt_contract_kind statistic; /* ABSOLUTE_ERROR .. EXACT_PATHS */
    const char *region;           /* RELATIVE_ERROR: whose output; else NULL: of the answer */
    double measured; /* the largest that was seen; QUALITY: the ratio; EXACT_PATHS: positions whose bits differ */
    double upper;    /* its upper confidence limit */
} gsrt_evidence_figure;

/* What was measured, on real weights, of transformations that were made together, and of nothing else. All borrowed. */
typedef struct gsrt_evidence {
    const char *workload_hash; /* hex, 32 digits: gsrt_workload_hash_of, high before low */
    const char *weights_hash;  /* hex, 32 digits: of the weights themselves. A workload does not know them, so the
                                  judge cannot ask; whoever has them keeps what was measured on others away from it */
    const gsrt_evidence_change *changes; /* [change_count] */
    uint32_t change_count;
    const char *corpus;      /* a path */
    const char *corpus_hash; /* hex, 32 digits: XXH3 (128 bits) of its bytes */
    uint32_t sequence_count; /* the independent units of the sample */
    uint64_t position_count; /* that were compared */
    double confidence;       /* of the limits */
    double coverage;         /* how much of what the corpus stands for stays below the limits of the largest errors */
    const char *method;      /* how, for people */
    const gsrt_evidence_figure *figures; /* [figure_count] */
    uint32_t figure_count;
} gsrt_evidence;

/* Less than this admits nothing. 59 sequences give both. */
#define GSRT_EVIDENCE_CONFIDENCE_MIN 0.95
#define GSRT_EVIDENCE_COVERAGE_MIN 0.95

/* Set choices[region_count] to what the evidence was measured of: the deployments for which it can speak. Choices of
 * other regions are as given. false: it names a region that the workload lacks, or something that is no choice. */
bool gsrt_evidence_choose(const gsrt_evidence *evidence, const gsrt_workload *workload, gsrt_region_choice *choices);

/* ---- the judge ---- */

typedef struct gsrt_verdict {
    bool is_kept;
    const char *reason; /* a code of placement/rejection.h; NULL when kept */
    gsrt_transformation failing;
    uint32_t rule;          /* of the contract: which one it fails; GSRT_NO_INDEX: the region's author's envelope */
    const char *obligation; /* what would admit it; of `arena` */
    bool has_figures;       /* the two below: evidence says no by a number */
    double upper, bound;
    bool has_bound_needed; /* the smallest bound of the rule with which the whole is kept */
    double bound_needed;
    const char *constraint;                     /* "region 'layer.3': weights:f16->q8_0 under bitwise"; of `arena` */
    gsrt_arena arena;                           /* of what follows */
    const gsrt_transformation *transformations; /* all that the deployment makes, in the order of regions */
    uint32_t transformation_count;
} gsrt_verdict;

/* Who has read the contract, the workload and all evidence, for many deployments. Borrows them. */
typedef struct gsrt_judge {
    const gsrt_contract *contract;
    const gsrt_workload *workload;
    const gsrt_evidence *evidence; /* [evidence_count] */
    size_t evidence_count;
    char workload_hash[40]; /* as evidence has it; "" where there is none */
} gsrt_judge;

/* GSRT_OK | GSRT_ENOMEM. O(workload) where there is evidence. */
GSRT_MUST_CHECK gsrt_status gsrt_judge_init(gsrt_judge *judge, const gsrt_contract *contract,
                                            const gsrt_workload *workload, const gsrt_evidence *evidence,
                                            size_t evidence_count);

/* Does the deployment keep the contract, with this evidence? In this order, region by region: what a bitwise or
 * deterministic rule excludes (GSRT_REASON_CONTRACT_NARROWED, _REORDERED, _UNPROVEN); what the region's author forbids
 * (GSRT_REASON_LEGAL); what has no evidence, or too little, or evidence that says no (GSRT_REASON_CONTRACT_EVIDENCE);
 * what leaves the author's envelope (GSRT_REASON_LEGAL).
 *
 * Evidence speaks for a deployment only when it was measured of exactly the transformations that are not exact, in
 * exactly their regions, all together, with this workload. Then each rule of a region where something is done needs a
 * figure of its own statistic, or of one that implies it, with `upper` within the bound; and no evidence for the same
 * set may have seen more than the bound: a violation that was measured later wins.
 *
 * *out is set up here; freed with gsrt_verdict_fini. The deployment refers to parts and layers that exist.
 * GSRT_OK (also where it is not kept) | GSRT_ENOMEM. O(regions * (stages + evidence)). */
GSRT_MUST_CHECK gsrt_status gsrt_judge_decide(const gsrt_judge *judge, const gsrt_fleet *fleet,
                                              const gsrt_deployment *deployment, gsrt_verdict *out);
/* Of one deployment. */
GSRT_MUST_CHECK gsrt_status gsrt_contract_judge(const gsrt_contract *contract, const gsrt_workload *workload,
                                                const gsrt_fleet *fleet, const gsrt_deployment *deployment,
                                                const gsrt_evidence *evidence, size_t evidence_count,
                                                gsrt_verdict *out);
void gsrt_verdict_fini(gsrt_verdict *verdict);

/* The verdict as a rejection; its texts are the verdict's. Of one that is not kept. */
gsrt_rejection gsrt_verdict_rejection(const gsrt_verdict *verdict);

/* Take back from the deployment what the judge does not admit, region by region, until the contract is kept or nothing
 * is left to take back: choices as the workload has them, canonical kernels where all engines have them, gathers
 * instead of reductions. What has evidence of its own stays. *out as gsrt_contract_judge of what is left, *out_count
 * how many changes were taken back. Whether the result fits a memory is another question. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_contract_disable(const gsrt_contract *contract, const gsrt_workload *workload,
                                                  const gsrt_fleet *fleet, gsrt_deployment *deployment,
                                                  const gsrt_evidence *evidence, size_t evidence_count,
                                                  gsrt_verdict *out, uint32_t *out_count);

#endif
