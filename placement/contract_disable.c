/* What is left of a deployment when the judge says no; and the choices that a piece of evidence speaks for. */
#include "placement/contract_impl.h"

#include <string.h>

/* ---- the choices of evidence ---- */

static bool dtype_named(const char *name, size_t len, gsrt_dtype *out)
{
    static const gsrt_dtype dtypes[] = {GSRT_DTYPE_F32,  GSRT_DTYPE_F16,   GSRT_DTYPE_BF16,    GSRT_DTYPE_Q8_0,
                                        GSRT_DTYPE_Q4_0, GSRT_DTYPE_MXFP4, GSRT_DTYPE_F8_E4M3, GSRT_DTYPE_NVFP4};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        const char *word = gsrt_dtype_name(dtypes[i]);
        if (strlen(word) == len && memcmp(word, name, len) == 0) {
            *out = dtypes[i];
            return true;
        }
    }
    return false;
}

static bool format_named(const char *name, gsrt_format *out)
{
    for (uint32_t i = 0; i < GSRT_FORMAT_COUNT; i++) {
        if (strcmp(gsrt_format_word((gsrt_format)i), name) == 0) {
            *out = (gsrt_format)i;
            return true;
        }
    }
    return false;
}

/* "NAME:FROM->TO": what stands behind the arrow; NULL: it is no such name. */
static const char *target_of(const char *transformation, gsrt_transformation_kind kind)
{
    const char *name = gsrt_transformation_of(kind)->name;
    size_t len = strlen(name);
    const char *arrow = strstr(transformation, "->");
    bool is_it = strncmp(transformation, name, len) == 0 && transformation[len] == ':' && arrow != NULL;
    return is_it ? arrow + 2 : NULL;
}

static uint32_t region_named(const gsrt_workload *workload, const char *name)
{
    for (uint32_t r = 0; r < workload->region_count; r++) {
        if (strcmp(workload->regions[r].name, name) == 0)
            return r;
    }
    return GSRT_NO_INDEX;
}

/* One change in the choice of one region; false: it is none that a choice can say. */
static bool choose(gsrt_region_choice *choice, const char *transformation)
{
    const char *to = target_of(transformation, GSRT_TRANSFORMATION_WEIGHTS);
    if (to != NULL) {
        choice->weights_are_as_given = false;
        return dtype_named(to, strlen(to), &choice->weights);
    }
    to = target_of(transformation, GSRT_TRANSFORMATION_STATE);
    if (to != NULL) {
        choice->state_is_as_given = false;
        return dtype_named(to, strlen(to), &choice->state);
    }
    return target_of(transformation, GSRT_TRANSFORMATION_COMPUTE) != NULL;
}

bool gsrt_evidence_choose(const gsrt_evidence *evidence, const gsrt_workload *workload, gsrt_region_choice *choices)
{
    for (uint32_t r = 0; r < workload->region_count; r++)
        choices[r] = (gsrt_region_choice){.weights_are_as_given = true, .state_is_as_given = true};
    for (uint32_t c = 0; c < evidence->change_count; c++) {
        for (uint32_t i = 0; i < evidence->changes[c].region_count; i++) {
            uint32_t r = region_named(workload, evidence->changes[c].regions[i]);
            if (r == GSRT_NO_INDEX || !choose(&choices[r], evidence->changes[c].transformation))
                return false;
        }
    }
    for (uint32_t r = 0; r < workload->region_count; r++)
        choices[r].compute = gsrt_region_compute(workload, r, &choices[r]);
    for (uint32_t c = 0; c < evidence->change_count; c++) {
        const char *to = target_of(evidence->changes[c].transformation, GSRT_TRANSFORMATION_COMPUTE);
        for (uint32_t i = 0; to != NULL && i < evidence->changes[c].region_count; i++) {
            uint32_t r = region_named(workload, evidence->changes[c].regions[i]);
            if (!format_named(to, &choices[r].compute))
                return false;
        }
    }
    return true;
}

/* ---- taking back ---- */

typedef struct taking {
    const gsrt_contract *contract;
    const gsrt_workload *workload;
    const gsrt_fleet *fleet;
    gsrt_deployment *deployment;
    const gsrt_evidence *evidence;
    size_t evidence_count;
    gsrt_verdict *verdict;
} taking;

static gsrt_status judge(taking *t)
{
    gsrt_verdict_fini(t->verdict);
    return gsrt_contract_judge(t->contract, t->workload, t->fleet, t->deployment, t->evidence, t->evidence_count,
                               t->verdict);
}

static uint32_t change_count(const gsrt_verdict *verdict)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < verdict->transformation_count; i++)
        count += verdict->transformations[i].is_proved ? 0 : 1;
    return count;
}

static bool makes(const gsrt_verdict *verdict, const gsrt_workload *workload, const char *name, const char *region)
{
    for (uint32_t i = 0; i < verdict->transformation_count; i++) {
        const gsrt_transformation *made = &verdict->transformations[i];
        if (strcmp(made->name, name) == 0 && strcmp(workload->regions[made->region].name, region) == 0)
            return true;
    }
    return false;
}

/* Does it speak of a part of what is done, and of nothing more? 0: no; else of how many changes. */
static uint64_t part_of(const gsrt_evidence *e, const gsrt_verdict *verdict, const gsrt_workload *workload)
{
    uint64_t count = 0;
    for (uint32_t c = 0; c < e->change_count; c++) {
        for (uint32_t r = 0; r < e->changes[c].region_count; r++, count++) {
            if (!makes(verdict, workload, e->changes[c].transformation, e->changes[c].regions[r]))
                return 0;
        }
    }
    return count;
}

/* The largest part of what is done that evidence admits by itself, from more changes to fewer; ties to the first.
 * *out: was there one? Then the deployment makes it, and the verdict is of that. */
static gsrt_status keep_a_part(taking *t, bool *out)
{
    *out = false;
    gsrt_verdict whole = *t->verdict; /* of what is done: read while others are judged */
    *t->verdict = (gsrt_verdict){0};
    gsrt_region_choice *choices = t->deployment->choices;
    gsrt_region_choice *before = gsrt_arena_take(&whole.arena, t->workload->region_count, sizeof *before);
    uint64_t below = UINT64_MAX;
    gsrt_status status = before == NULL ? GSRT_ENOMEM : GSRT_OK;
    if (status == GSRT_OK)
        memcpy(before, choices, t->workload->region_count * sizeof *before);
    while (status == GSRT_OK && !*out && below > 0) {
        uint64_t largest = 0;
        for (size_t i = 0; i < t->evidence_count; i++) {
            uint64_t count = part_of(&t->evidence[i], &whole, t->workload);
            largest = count < below && count > largest ? count : largest;
        }
        for (size_t i = 0; status == GSRT_OK && largest > 0 && !*out && i < t->evidence_count; i++) {
            if (part_of(&t->evidence[i], &whole, t->workload) != largest ||
                !gsrt_evidence_choose(&t->evidence[i], t->workload, choices))
                continue;
            status = judge(t);
            *out = status == GSRT_OK && t->verdict->is_kept;
        }
        below = largest;
    }
    if (status == GSRT_OK && !*out) {
        memcpy(choices, before, t->workload->region_count * sizeof *before);
        status = judge(t);
    }
    gsrt_verdict_fini(&whole);
    return status;
}

static bool is_canonical_everywhere(const taking *t, uint32_t region)
{
    for (uint32_t p = 0; p < t->deployment->pool_count; p++) {
        const gsrt_deployment_pool *pool = &t->deployment->pools[p];
        for (uint32_t s = 0; s < pool->stage_count; s++) {
            if (!gsrt__contract_stage_runs(t->workload, region, pool, s))
                continue;
            for (uint32_t m = 0; m < pool->stages[s].member_count; m++) {
                if (!gsrt__contract_part_is_canonical(&t->fleet->parts[pool->stages[s].members[m].part]))
                    return false;
            }
        }
    }
    return true;
}

/* Gathers instead of reductions, in every stage that computes the region. */
static bool take_back_reductions(taking *t, uint32_t region)
{
    bool is_changed = false;
    for (uint32_t p = 0; p < t->deployment->pool_count; p++) {
        gsrt_deployment_pool *pool = &t->deployment->pools[p];
        for (uint32_t s = 0; s < pool->stage_count; s++) {
            if (!gsrt__contract_stage_runs(t->workload, region, pool, s) ||
                pool->stages[s].algorithm < GSRT_ALGORITHM_RING)
                continue;
            pool->stages[s].algorithm = GSRT_ALGORITHM_GATHER;
            is_changed = true;
        }
    }
    return is_changed;
}

static bool take_back_context(taking *t, uint32_t region)
{
    bool is_changed = false;
    for (uint32_t p = 0; p < t->deployment->pool_count; p++) {
        gsrt_deployment_pool *pool = &t->deployment->pools[p];
        for (uint32_t s = 0; s < pool->stage_count; s++) {
            if (!gsrt__contract_stage_runs(t->workload, region, pool, s) || pool->stages[s].context_width <= 1)
                continue;
            pool->stages[s].context_width = 1;
            is_changed = true;
        }
    }
    return is_changed;
}

/* Undo what fails; false: it cannot be undone here. */
static bool take_back(taking *t, const gsrt_transformation *failing)
{
    uint32_t region = failing->region;
    gsrt_region_choice *choice = &t->deployment->choices[region];
    switch (failing->kind) {
    case GSRT_TRANSFORMATION_WEIGHTS: choice->weights_are_as_given = true; break;
    case GSRT_TRANSFORMATION_STATE: choice->state_is_as_given = true; return true;
    case GSRT_TRANSFORMATION_COMPUTE: break;
    case GSRT_TRANSFORMATION_RING:
    case GSRT_TRANSFORMATION_TREE:
    case GSRT_TRANSFORMATION_SWITCH: return take_back_reductions(t, region);
    case GSRT_TRANSFORMATION_CONTEXT: return take_back_context(t, region);
    case GSRT_TRANSFORMATION_NATIVE:
    case GSRT_TRANSFORMATION_GATHER:
    case GSRT_TRANSFORMATION_SUBTREES:
    case GSRT_TRANSFORMATION_EXPERTS:
    case GSRT_TRANSFORMATION_DATA:
    case GSRT_TRANSFORMATION_BATCH:
    case GSRT_TRANSFORMATION_CHUNKS:
    case GSRT_TRANSFORMATION_DRAFT:
    case GSRT_TRANSFORMATION_OVERLAP:
        if (failing->is_proved || !is_canonical_everywhere(t, region))
            return false;
        choice->arithmetic = GSRT_ARITHMETIC_CANONICAL;
        break;
    case GSRT_TRANSFORMATION_OPS:
    case GSRT_TRANSFORMATION_UNPROVEN:
    case GSRT_TRANSFORMATION_PIPELINE:
    case GSRT_TRANSFORMATION_REPLICAS:
    case GSRT_TRANSFORMATION_TRANSFER:
    case GSRT_TRANSFORMATION_OFFLOAD:
    case GSRT_TRANSFORMATION_PAGE:
    case GSRT_TRANSFORMATION_RECOMPUTE:
    case GSRT_TRANSFORMATION_KIND_COUNT: return false;
    }
    choice->compute = gsrt_region_compute(t->workload, region, choice);
    return true;
}

gsrt_status gsrt_contract_disable(const gsrt_contract *contract, const gsrt_workload *workload, const gsrt_fleet *fleet,
                                  gsrt_deployment *deployment, const gsrt_evidence *evidence, size_t evidence_count,
                                  gsrt_verdict *out, uint32_t *out_count)
{
    taking t = {.contract = contract,
                .workload = workload,
                .fleet = fleet,
                .deployment = deployment,
                .evidence = evidence,
                .evidence_count = evidence_count,
                .verdict = out};
    *out = (gsrt_verdict){0};
    gsrt_status status = judge(&t);
    uint32_t before = status == GSRT_OK ? change_count(out) : 0;
    bool is_kept = status == GSRT_OK && out->is_kept;
    if (status == GSRT_OK && !is_kept)
        status = keep_a_part(&t, &is_kept);
    /* Each turn undoes something for good, so there are at most a few of them per region. */
    while (status == GSRT_OK && !out->is_kept) {
        gsrt_transformation failing = out->failing;
        if (!take_back(&t, &failing))
            break;
        status = judge(&t);
    }
    if (status == GSRT_OK)
        *out_count = before - change_count(out);
    return status;
}
