#include "launch/plan_validate.h"

#include "base/limits.h"
#include "launch/read_file.h"
#include "model/validate.h"

#include <stdlib.h>

/* As few as admit a claim with the usual confidence and coverage (placement/contract.h), and a few more. */
enum { SEQUENCES = 64, POSITIONS = 64 };

/* What is tried; each region that may be changed so is. */
typedef struct attempt {
    bool is_weights, is_state;
} attempt;
static const attempt attempts[] = {{.is_state = true}, {.is_weights = true}, {.is_weights = true, .is_state = true}};

static bool admits_errors(const gsrt_contract_rule *rule)
{
    return rule->kind != GSRT_CONTRACT_BITWISE && rule->kind != GSRT_CONTRACT_DETERMINISTIC &&
           rule->kind != GSRT_CONTRACT_EXACT_PATHS;
}

/* The first text that a rule which admits errors names; NULL: none does. */
static const char *corpus_of(const gsrt_contract *contract)
{
    for (uint32_t i = 0; i < contract->rule_count; i++) {
        if (admits_errors(&contract->rules[i]) && contract->rules[i].corpus != NULL)
            return contract->rules[i].corpus;
    }
    return NULL;
}

/* A matrix of 16 or 32 bits that q8_0 would narrow. */
static bool has_wide_weights(const gsrt_workload *w, const gsrt_region *region, const gsrt_region_choice *choice)
{
    for (uint32_t i = region->op_first; i < region->op_first + region->op_count; i++) {
        if (w->ops[i].tensor != GSRT_NO_INDEX && gsrt_choice_weights(choice, w, &w->ops[i]) == GSRT_DTYPE_Q8_0 &&
            w->tensors[w->ops[i].tensor].dtype != GSRT_DTYPE_Q8_0)
            return true;
    }
    return false;
}

static bool has_wide_state(const gsrt_workload *w, const gsrt_region *region)
{
    for (uint32_t i = 0; i < w->state_count; i++) {
        if (w->states[i].layer == region->layer && w->states[i].dtype == GSRT_DTYPE_F32)
            return true;
    }
    return false;
}

/* Set choices[region_count]; false: the attempt changes nothing. */
static bool choose(const gsrt_planning *p, const attempt *tried, gsrt_region_choice *choices)
{
    const gsrt_workload *w = p->workload;
    bool is_changed = false;
    for (uint32_t i = 0; i < w->region_count; i++) {
        const gsrt_region *region = &w->regions[i];
        gsrt_region_choice *choice = &choices[i];
        *choice = (gsrt_region_choice){.weights_are_as_given = true, .state_is_as_given = true};
        bool is_open = admits_errors(gsrt_contract_rule_for(p->problem.contract, region->name));
        gsrt_region_choice narrow = {.weights = GSRT_DTYPE_Q8_0, .state_is_as_given = true};
        if (is_open && tried->is_weights && (region->legal & GSRT_LEGAL_QUANTISE_WEIGHTS) != 0 &&
            has_wide_weights(w, region, &narrow)) {
            choice->weights = GSRT_DTYPE_Q8_0;
            choice->weights_are_as_given = false;
        }
        if (is_open && tried->is_state && (region->legal & GSRT_LEGAL_QUANTISE_STATE) != 0 &&
            has_wide_state(w, region)) {
            choice->state = GSRT_DTYPE_F16;
            choice->state_is_as_given = false;
        }
        choice->compute = gsrt_region_compute(w, i, choice);
        is_changed |= !choice->weights_are_as_given || !choice->state_is_as_given;
    }
    return is_changed;
}

static gsrt_status measure(gsrt_planning *p, const char *corpus, gsrt_span text, gsrt_diag *diag)
{
    gsrt_region_choice *choices = calloc(p->workload->region_count, sizeof *choices);
    gsrt_status status = choices == NULL ? GSRT_ENOMEM : GSRT_OK;
    uint32_t measured = 0;
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0] && status == GSRT_OK; i++) {
        bool is_both = attempts[i].is_weights && attempts[i].is_state;
        if ((is_both && measured < 2) || !choose(p, &attempts[i], choices))
            continue;
        gsrt_validate_options options = {.choices = choices,
                                         .corpus = corpus,
                                         .text = text,
                                         .sequence_count_max = SEQUENCES,
                                         .position_count_max = POSITIONS};
        status = gsrt_validate(p->loaded->weights, p->loaded->tokenizer, &options, &p->evidence, diag);
        if (status == GSRT_EUNSUPPORTED) /* nobody here computes that: no evidence, and no plan with it */
            status = GSRT_OK;
        else
            measured++;
    }
    free(choices);
    if (status == GSRT_OK && measured == 0)
        status = gsrt_diag_set(diag, GSRT_EINPUT, p->scenario->file, "contract",
                               "leaves nothing open that could be measured; leave '--validate' out");
    return status;
}

gsrt_status gsrt_plan_validate(gsrt_planning *planning, gsrt_diag *diag)
{
    gsrt_planning *p = planning;
    const char *corpus = corpus_of(p->problem.contract);
    gsrt_buffer text;
    if (p->loaded == NULL)
        return gsrt_diag_set(diag, GSRT_EINPUT, p->scenario->file, "workload",
                             "has no weights, and without weights nothing is accepted by measurement; give a 'model'");
    if (corpus == NULL)
        return gsrt_diag_set(diag, GSRT_EINPUT, p->scenario->file, "contract",
                             "names no text to measure on; add 'corpus: TEXT' to a rule that admits errors");
    gsrt_buffer_init(&text, GSRT_SCENARIO_BYTES_MAX);
    gsrt_status status = gsrt_read_file(corpus, "give a text with a sequence on each line", &text, diag);
    if (status == GSRT_OK)
        status = measure(p, corpus, gsrt_buffer_span(&text), diag);
    gsrt_buffer_fini(&text);
    p->problem.evidence = p->evidence.items;
    p->problem.evidence_count = p->evidence.count;
    return status;
}
