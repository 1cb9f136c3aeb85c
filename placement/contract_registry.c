/* The registry of transformations, and what a choice means for one tensor or region. */
#include "placement/contract_impl.h"

#include <string.h>

#define BY_EVIDENCE                                                                                                    \
    "evidence of exactly this deployment's changes, on real weights of this workload, within the rule's bound"
#define BY_CONSTRUCTION "none: it is proved by construction, with canonical kernels on every engine of the region"

static const gsrt_transformation_facts facts[GSRT_TRANSFORMATION_KIND_COUNT] = {
    [GSRT_TRANSFORMATION_OPS] = {"ops", GSRT_EFFECT_REORDERED, false, 0, "a region whose ops are deterministic",
                                 "its author says that the same inputs can give other bits"},
    [GSRT_TRANSFORMATION_WEIGHTS] = {"weights", GSRT_EFFECT_NARROWED, false, GSRT_LEGAL_QUANTISE_WEIGHTS, BY_EVIDENCE,
                                     "each weight is rounded to another format; f16 and bf16 to f32 is exact: every "
                                     "value is kept, and sums are cut by K alone (docs/numerics.md, sections 1, 2)"},
    [GSRT_TRANSFORMATION_STATE] = {"kv", GSRT_EFFECT_NARROWED, false, GSRT_LEGAL_QUANTISE_STATE, BY_EVIDENCE,
                                   "each key and value is rounded when it is stored; f16 and bf16 to f32 is exact"},
    [GSRT_TRANSFORMATION_COMPUTE] = {"compute", GSRT_EFFECT_NARROWED, false, GSRT_LEGAL_QUANTISE_WEIGHTS, BY_EVIDENCE,
                                     "the inputs of products, weights among them, are rounded to another format"},
    [GSRT_TRANSFORMATION_NATIVE] = {"kernels:native", GSRT_EFFECT_REORDERED, false, GSRT_LEGAL_REORDER, BY_EVIDENCE,
                                    "sums are made in an order that nobody has stated, and that may change with the "
                                    "batch; evidence for one set of software says nothing of another"},
    [GSRT_TRANSFORMATION_UNPROVEN] = {"kernels:unproven", GSRT_EFFECT_REORDERED, false, 0,
                                      "engines whose software names " GSRT_CANONICAL_SOFTWARE,
                                      "canonical kernels are asked of an engine that does not claim to have them"},
    [GSRT_TRANSFORMATION_RING] = {"reduce:ring", GSRT_EFFECT_REORDERED, false, GSRT_LEGAL_REORDER, BY_EVIDENCE,
                                  "partial sums are added in ring order, from a member that depends on where an "
                                  "element stands in the message, and so on the batch"},
    [GSRT_TRANSFORMATION_TREE] = {"reduce:tree", GSRT_EFFECT_REORDERED, false, GSRT_LEGAL_REORDER, BY_EVIDENCE,
                                  "partial sums are added along a tree of members, another one for each half of the "
                                  "message"},
    [GSRT_TRANSFORMATION_SWITCH] = {"reduce:switch", GSRT_EFFECT_REORDERED, false, GSRT_LEGAL_REORDER, BY_EVIDENCE,
                                    "partial sums are added in the order in which they arrive"},
    [GSRT_TRANSFORMATION_CONTEXT] = {"split:context", GSRT_EFFECT_REORDERED, false, GSRT_LEGAL_REORDER, BY_EVIDENCE,
                                     "attention over parts of the context, merged: each part's sums are rescaled and "
                                     "added to the others', in an order that depends on where positions lie"},
    [GSRT_TRANSFORMATION_GATHER] = {"split:gather", GSRT_EFFECT_EXACT, true, 0, BY_CONSTRUCTION,
                                    "each output is computed whole, by one member, from the whole input: no sum is "
                                    "cut (docs/numerics.md, section 2: which rank never changes a result)"},
    [GSRT_TRANSFORMATION_SUBTREES] = {"split:subtrees", GSRT_EFFECT_EXACT, true, 0, BY_CONSTRUCTION,
                                      "members send whole subtrees of the canonical sum, and the same tree is "
                                      "finished (docs/numerics.md, section 2, a share of K)"},
    [GSRT_TRANSFORMATION_EXPERTS] = {"split:experts", GSRT_EFFECT_EXACT, true, GSRT_LEGAL_SPLIT_EXPERTS,
                                     BY_CONSTRUCTION,
                                     "an expert's product is made whole where the expert is, and its results are "
                                     "added where the token is, in the order of experts"},
    [GSRT_TRANSFORMATION_DATA] = {"split:data", GSRT_EFFECT_EXACT, true, 0, BY_CONSTRUCTION,
                                  "rows never meet: a row's result does not depend on who computes the others"},
    [GSRT_TRANSFORMATION_BATCH] = {"batch", GSRT_EFFECT_EXACT, true, 0, BY_CONSTRUCTION,
                                   "the order inside a sum is the same for one row and for many (docs/numerics.md, "
                                   "section 2)"},
    [GSRT_TRANSFORMATION_CHUNKS] = {"prefill:chunks", GSRT_EFFECT_EXACT, true, 0, BY_CONSTRUCTION,
                                    "attention's blocks are aligned to absolute positions, and a row's loops end at "
                                    "its own (docs/numerics.md, section 7)"},
    [GSRT_TRANSFORMATION_DRAFT] = {"draft", GSRT_EFFECT_EXACT, true, 0, BY_CONSTRUCTION,
                                   "a proposed token is kept only where the verified logits and the draw keyed by "
                                   "(seed, position) give that very token, greedy or sampled; logits of several rows "
                                   "are those of one"},
    [GSRT_TRANSFORMATION_OVERLAP] = {"overlap", GSRT_EFFECT_EXACT, true, 0, BY_CONSTRUCTION,
                                     "pieces are placed by number, not by arrival; when they arrive changes nothing"},
    [GSRT_TRANSFORMATION_PIPELINE] = {"pipeline", GSRT_EFFECT_EXACT, false, 0, BY_CONSTRUCTION,
                                      "activations are copied from stage to stage as they are"},
    [GSRT_TRANSFORMATION_REPLICAS] = {"replicas", GSRT_EFFECT_EXACT, false, 0, BY_CONSTRUCTION,
                                      "a request is computed by one of them, as if there were no other"},
    [GSRT_TRANSFORMATION_TRANSFER] = {"kv:transfer", GSRT_EFFECT_EXACT, false, GSRT_LEGAL_CHECKPOINT, BY_CONSTRUCTION,
                                      "keys and values are copied as they are stored"},
    [GSRT_TRANSFORMATION_OFFLOAD] = {"kv:offload", GSRT_EFFECT_EXACT, false, GSRT_LEGAL_OFFLOAD_STATE, BY_CONSTRUCTION,
                                     "where a position is stored is no part of the sum: keys and values are copied as "
                                     "they are, and attention takes them in the order of positions"},
    [GSRT_TRANSFORMATION_PAGE] = {"kv:page", GSRT_EFFECT_EXACT, false, GSRT_LEGAL_PAGE, BY_CONSTRUCTION,
                                  "where a position is stored is no part of the sum; equal prefixes have equal keys "
                                  "and values, and are found by their tokens"},
    [GSRT_TRANSFORMATION_RECOMPUTE] = {"recompute", GSRT_EFFECT_EXACT, false, GSRT_LEGAL_RECOMPUTE, BY_CONSTRUCTION,
                                       "a step that is run again writes the same values in the same places"},
};

const gsrt_transformation_facts *gsrt_transformation_of(gsrt_transformation_kind kind)
{
    return &facts[kind];
}

/* ---- choices ---- */

static bool is_wide(gsrt_dtype dtype)
{
    return dtype == GSRT_DTYPE_F32 || dtype == GSRT_DTYPE_F16 || dtype == GSRT_DTYPE_BF16;
}

static bool is_narrowable(gsrt_op_kind kind)
{
    return kind == GSRT_OP_EMBED || kind == GSRT_OP_LINEAR || kind == GSRT_OP_LOGITS || kind == GSRT_OP_EXPERT_LINEAR ||
           kind == GSRT_OP_LATENT_ATTENTION;
}

gsrt_dtype gsrt_choice_weights(const gsrt_region_choice *choice, const gsrt_workload *workload, const gsrt_op *op)
{
    const gsrt_tensor *tensor = &workload->tensors[op->tensor];
    bool is_matrix = (uint64_t)tensor->stack_count * tensor->row_count > 1;
    if (choice->weights_are_as_given || !is_matrix || !is_wide(tensor->dtype) || !is_narrowable(op->kind) ||
        tensor->column_count % gsrt_dtype_block(choice->weights) != 0)
        return tensor->dtype;
    return choice->weights;
}

gsrt_format gsrt_region_compute(const gsrt_workload *workload, uint32_t region, const gsrt_region_choice *choice)
{
    const gsrt_region *r = &workload->regions[region];
    for (uint32_t i = 0; i < r->op_count; i++) {
        const gsrt_op *op = &workload->ops[r->op_first + i];
        if (op->kind == GSRT_OP_EMBED || !is_narrowable(op->kind) || op->tensor == GSRT_NO_INDEX)
            continue;
        gsrt_dtype dtype = gsrt_choice_weights(choice, workload, op);
        if (dtype == GSRT_DTYPE_Q8_0 || dtype == GSRT_DTYPE_Q4_0)
            return GSRT_FORMAT_I8;
    }
    return GSRT_FORMAT_F32;
}
