#include "launch/admission.h"

#include "base/limits.h"
#include "launch/read_file.h"
#include "model/validate.h"
#include "placement/plan_choices.h"

/* What was measured on other weights says nothing of these; without weights nobody knows which they were. */
static void forget_others(const gsrt_loaded *loaded, gsrt_evidence_list *list)
{
    char hash[33] = "";
    if (loaded != NULL)
        gsrt_validate_hash_weights(loaded->weights, hash);
    gsrt_validate_keep_only(list, hash);
}

gsrt_status gsrt_admission_read_evidence(const char *path, const gsrt_loaded *loaded, gsrt_evidence_list *list,
                                         gsrt_diag *diag)
{
    if (path == NULL)
        return GSRT_OK;
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_JSON_BYTES_MAX);
    gsrt_status status = gsrt_read_file(path, "give what 'gsrt plan --validate' has written", &text, diag);
    if (status == GSRT_OK)
        status = gsrt_evidence_list_read(list, gsrt_buffer_span(&text), path, diag);
    gsrt_buffer_fini(&text);
    if (status == GSRT_OK)
        forget_others(loaded, list);
    return status;
}

gsrt_status gsrt_admission_open(gsrt_admission *admission, const gsrt_scenario *scenario, const gsrt_loaded *loaded,
                                uint32_t rank_count, const char *evidence, gsrt_diag *diag)
{
    *admission = (gsrt_admission){.scenario = scenario, .loaded = loaded};
    gsrt_evidence_list_init(&admission->evidence);
    gsrt_status status = gsrt_contract_check(scenario->asked, loaded->workload, scenario->file, diag);
    if (status == GSRT_OK)
        status = gsrt_rank_fleet_open(scenario, rank_count, &admission->ranks, diag);
    return status == GSRT_OK ? gsrt_admission_read_evidence(evidence, loaded, &admission->evidence, diag) : status;
}

void gsrt_admission_fini(gsrt_admission *admission)
{
    if (admission->scenario != NULL) {
        gsrt_evidence_list_fini(&admission->evidence);
        gsrt_rank_fleet_fini(&admission->ranks);
    }
    *admission = (gsrt_admission){0};
}

static gsrt_deployment *deployment_of(const gsrt_admission *a, const gsrt_plan *plan)
{
    const gsrt_workload *workload = a->loaded->workload;
    return gsrt_rank_fleet_deployment(&a->ranks, workload, plan, a->scenario->batch_requests,
                                      a->scenario->prefill_chunk, workload->context_max);
}

gsrt_status gsrt_admission_check(const gsrt_admission *a, const gsrt_plan *plan, gsrt_diag *diag)
{
    gsrt_verdict verdict = {0};
    gsrt_deployment *d = deployment_of(a, plan);
    if (d == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = gsrt_contract_judge(a->scenario->asked, a->loaded->workload, a->ranks.fleet, d,
                                             a->evidence.items, a->evidence.count, &verdict);
    if (status == GSRT_OK && !verdict.is_kept)
        status = gsrt_diag_set(diag, GSRT_EINFEASIBLE, a->scenario->file, "plan.narrowed", "%s (%s); needed: %s",
                               verdict.constraint, verdict.reason, verdict.obligation);
    gsrt_verdict_fini(&verdict);
    (void)gsrt_deployment_free(d);
    return status;
}

gsrt_status gsrt_admission_disable(const gsrt_admission *a, gsrt_plan *plan, uint32_t *out_count)
{
    gsrt_verdict verdict;
    gsrt_deployment *d = deployment_of(a, plan);
    if (d == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = gsrt_contract_disable(a->scenario->asked, a->loaded->workload, a->ranks.fleet, d,
                                               a->evidence.items, a->evidence.count, &verdict, out_count);
    if (status == GSRT_OK && !verdict.is_kept)
        status = GSRT_ECONTRACT;
    if (status == GSRT_OK)
        status = gsrt_plan_take_choices(plan, a->loaded->workload, d->choices);
    gsrt_verdict_fini(&verdict);
    (void)gsrt_deployment_free(d);
    return status;
}
