/* The ways to compute that are worth trying: as the workload is given, what each piece of evidence was measured of, and
 * what a weaker contract may admit without evidence. Which of them the contract keeps, on which engines and with which
 * collective, is asked once of the judge, with the smallest deployment that shows it.
 */
#include "placement/search_impl.h"
#include "placement/workload_totals.h"

#include <assert.h>
#include <string.h>

/* Narrowings that canonical kernels compute with; tried where regions allow them. */
static const struct {
    const char *name;
    bool has_weights, has_state, is_native, is_wide; /* wide: narrow formats are widened before they are multiplied */
    gsrt_dtype weights, state;
} variants[] = {
    {"weights q8_0", true, false, false, false, GSRT_DTYPE_Q8_0, GSRT_DTYPE_F32},
    {"state f16", false, true, false, false, GSRT_DTYPE_F32, GSRT_DTYPE_F16},
    {"weights q8_0, state f16", true, true, false, false, GSRT_DTYPE_Q8_0, GSRT_DTYPE_F16},
    {"weights q4_0, state f16", true, true, false, false, GSRT_DTYPE_Q4_0, GSRT_DTYPE_F16},
    {"native kernels", false, false, true, false, GSRT_DTYPE_F32, GSRT_DTYPE_F32},
    {"native kernels, products in bf16", false, false, true, true, GSRT_DTYPE_F32, GSRT_DTYPE_F32},
};

/* What products read: the formats that an engine needs rates of. */
static void note_formats(const gsrt_workload *w, gsrt__numeric *n)
{
    for (uint32_t i = 0; i < w->op_count; i++) {
        const gsrt_op *op = &w->ops[i];
        const gsrt_region_choice *choice = &n->choices[op->region];
        gsrt_op_class class = gsrt_op_class_of(op->kind);
        if (class == GSRT_OP_CLASS_MATRIX || class == GSRT_OP_CLASS_EXPERT)
            n->matrix_formats |= 1u << choice->compute;
        if (class == GSRT_OP_CLASS_ATTENTION) {
            gsrt_dtype state = choice->state_is_as_given ? w->states[op->state].dtype : choice->state;
            n->attention_formats |= 1u << gsrt_cost_attention_format(choice, state);
        }
    }
}

static bool is_new(const gsrt__search *s, const gsrt_region_choice *choices, uint32_t count)
{
    for (uint32_t n = 0; n < s->numeric_count; n++) {
        bool is_same = true;
        for (uint32_t r = 0; r < count && is_same; r++) {
            const gsrt_region_choice *a = &choices[r], *b = &s->numerics[n].choices[r];
            is_same =
                a->compute == b->compute && a->arithmetic == b->arithmetic &&
                a->weights_are_as_given == b->weights_are_as_given && a->state_is_as_given == b->state_is_as_given &&
                (a->weights_are_as_given || a->weights == b->weights) && (a->state_is_as_given || a->state == b->state);
        }
        if (is_same)
            return false;
    }
    return true;
}

static gsrt_status add(gsrt__search *s, const char *name, const gsrt_region_choice *choices)
{
    const gsrt_workload *w = s->problem->workload;
    if (s->numeric_count == GSRT__NUMERICS_MAX || !is_new(s, choices, w->region_count))
        return GSRT_OK;
    gsrt__numeric *n = &s->numerics[s->numeric_count];
    *n = (gsrt__numeric){.name = name};
    n->choices = gsrt_arena_take(&s->arena, w->region_count, sizeof *n->choices);
    if (n->choices == NULL)
        return GSRT_ENOMEM;
    memcpy(n->choices, choices, w->region_count * sizeof *choices);
    note_formats(w, n);
    s->numeric_count++;
    return GSRT_OK;
}

/* The format that the region's largest matrix is given in: what native kernels multiply. */
static gsrt_format native_format(const gsrt_workload *w, uint32_t region)
{
    uint64_t most = 0;
    gsrt_dtype dtype = GSRT_DTYPE_F32;
    const gsrt_region *r = &w->regions[region];
    for (uint32_t i = r->op_first; i < r->op_first + r->op_count; i++) {
        const gsrt_op *op = &w->ops[i];
        if (op->tensor != GSRT_NO_INDEX && w->tensors[op->tensor].size_bytes > most) {
            most = w->tensors[op->tensor].size_bytes;
            dtype = w->tensors[op->tensor].dtype;
        }
    }
    switch (dtype) {
    case GSRT_DTYPE_F16: return GSRT_FORMAT_F16;
    case GSRT_DTYPE_BF16: return GSRT_FORMAT_BF16;
    case GSRT_DTYPE_F8_E4M3: return GSRT_FORMAT_F8;
    case GSRT_DTYPE_Q4_0:
    case GSRT_DTYPE_Q8_0: return GSRT_FORMAT_I8;
    case GSRT_DTYPE_MXFP4:
    case GSRT_DTYPE_NVFP4: return GSRT_FORMAT_F4;
    case GSRT_DTYPE_F32: return GSRT_FORMAT_F32;
    }
    return GSRT_FORMAT_F32;
}

static void vary(const gsrt__search *s, size_t variant, gsrt_region_choice *choices)
{
    const gsrt_workload *w = s->problem->workload;
    for (uint32_t r = 0; r < w->region_count; r++) {
        gsrt_region_choice *c = &choices[r];
        if (variants[variant].has_weights && (w->regions[r].legal & GSRT_LEGAL_QUANTISE_WEIGHTS) != 0) {
            c->weights_are_as_given = false;
            c->weights = variants[variant].weights;
        }
        if (variants[variant].has_state && (w->regions[r].legal & GSRT_LEGAL_QUANTISE_STATE) != 0) {
            c->state_is_as_given = false;
            c->state = variants[variant].state;
        }
        if (variants[variant].is_native) {
            c->arithmetic = GSRT_ARITHMETIC_NATIVE;
            c->compute = native_format(w, r);
            bool is_narrow = c->compute != GSRT_FORMAT_F32 && c->compute != GSRT_FORMAT_F16;
            c->compute = variants[variant].is_wide && is_narrow ? GSRT_FORMAT_BF16 : c->compute;
        } else {
            c->compute = gsrt_region_compute(w, r, c);
        }
    }
}

gsrt_status gsrt__numerics_find(gsrt__search *s)
{
    const gsrt_search_problem *q = s->problem;
    gsrt_deployment *as_given = gsrt_deployment_create(q->workload, 1);
    gsrt_region_choice *choices = gsrt_arena_take(&s->arena, q->workload->region_count, sizeof *choices);
    gsrt_status status = as_given == NULL || choices == NULL ? GSRT_ENOMEM : GSRT_OK;
    if (status == GSRT_OK)
        status = add(s, "as given", as_given->choices);
    for (size_t e = 0; status == GSRT_OK && e < q->evidence_count; e++)
        if (gsrt_evidence_choose(&q->evidence[e], q->workload, choices))
            status = add(s, "as in evidence", choices);
    for (size_t v = 0; status == GSRT_OK && v < sizeof variants / sizeof variants[0]; v++) {
        memcpy(choices, as_given->choices, q->workload->region_count * sizeof *choices);
        vary(s, v, choices);
        status = add(s, variants[v].name, choices);
    }
    (void)gsrt_deployment_free(as_given);
    return status;
}

/* ---- which the contract keeps ---- */

enum { VARIANTS = 8 };

/* The smallest deployment that shows it. variant: bits: without batches, with whole prompts in one step; with the
 * context in parts. */
static void probe(const gsrt__search *s, uint32_t numeric, uint32_t class, gsrt_collective_algorithm algorithm,
                  uint32_t variant, gsrt__sketch *out)
{
    uint32_t width = algorithm == GSRT_ALGORITHM_NONE ? 1 : 2;
    out->pool_count = 1;
    out->numeric = numeric;
    gsrt__sketch_pool *pool = &out->pools[0];
    pool->phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    pool->replica_count = 1;
    pool->batch_max = (variant & 1) != 0 ? 1 : 2;
    pool->prefill_tokens = (variant & 2) != 0 ? s->context_max : 1;
    pool->power_cap_w = 0;
    pool->draft_tokens = 0;
    pool->kv_offload = 0;
    pool->stage_count = 1;
    pool->stages[0] = (gsrt__sketch_stage){.members = {{class, width, 1}},
                                           .member_count = 1,
                                           .layer_last = s->layer_count - 1,
                                           .data_width = 1,
                                           .expert_width = 1,
                                           .context_width = (variant & 4) != 0 ? width : 1,
                                           .algorithm = algorithm};
}

/* With canonical kernels the size of batches and chunks changes nothing; for others evidence may be of one kind only.
 */
static uint32_t sizes_count(const gsrt__search *s, uint32_t numeric)
{
    const gsrt__numeric *n = &s->numerics[numeric];
    for (uint32_t r = 0; r < s->problem->workload->region_count; r++)
        if (n->choices[r].arithmetic == GSRT_ARITHMETIC_NATIVE)
            return 4;
    return 1;
}

/* Is this variant another than those before it? */
static bool is_looked_at(const gsrt__search *s, uint32_t numeric, gsrt_collective_algorithm algorithm, uint32_t variant)
{
    bool is_in_parts = (variant & 4) != 0;
    return variant % 4 < sizes_count(s, numeric) &&
           (!is_in_parts || (algorithm != GSRT_ALGORITHM_NONE && gsrt__may_divide_context(s)));
}

bool gsrt__is_admitted(gsrt__search *s, uint32_t numeric, uint32_t class, gsrt_collective_algorithm algorithm)
{
    uint8_t *all = &s->admitted[((size_t)numeric * s->class_count + class) * GSRT_ALGORITHM_COUNT];
    uint8_t *known = &all[algorithm];
    gsrt__judgement j = {0};
    if (*known != 0)
        return *known == 1;
    for (uint32_t variant = VARIANTS; *known == 0 && variant-- > 0;) {
        if (!is_looked_at(s, numeric, algorithm, variant))
            continue;
        probe(s, numeric, class, algorithm, variant, &s->probe);
        gsrt__judge_contract(s, &s->probe, &j);
        if (j.failure_count == 0)
            *known = 1;
        else if (strcmp(j.reason, GSRT_REASON_CONTRACT_UNPROVEN) == 0)
            for (uint32_t a = 0; a < GSRT_ALGORITHM_COUNT; a++)
                all[a] = 2; /* the kernels are not proved: no exchange mends that */
    }
    if (*known == 1)
        return true;
    *known = 2;
    bool exists = gsrt__stage_width(&s->probe.pools[0].stages[0]) <= s->classes[class].total;
    if (s->status == GSRT_OK && exists) /* with all that fails, so that a change is named only where one is enough */
        (void)gsrt__consider(s, &s->probe, &j);
    return false;
}

gsrt_status gsrt__admitted_find(gsrt__search *s)
{
    s->admitted = gsrt_arena_take(&s->arena, (size_t)s->numeric_count * s->class_count, GSRT_ALGORITHM_COUNT);
    if (s->admitted == NULL)
        return GSRT_ENOMEM;
    for (uint32_t n = 0; n < s->numeric_count; n++) {
        s->numerics[n].is_refused = true;
        for (uint32_t c = 0; c < s->class_count; c++)
            for (uint32_t a = 0; a < GSRT_ALGORITHM_COUNT; a++)
                if ((a == GSRT_ALGORITHM_NONE || s->classes[c].total > 1 || s->class_count > 1) &&
                    gsrt__is_admitted(s, n, c, (gsrt_collective_algorithm)a))
                    s->numerics[n].is_refused = false;
    }
    return s->status;
}
