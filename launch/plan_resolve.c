#include "launch/plan_resolve.h"

#include "base/limits.h"
#include "launch/admission.h"
#include "launch/plan_json.h"

#include <string.h>

/* What the run directory and the report say of it. */
static gsrt_status keep(const gsrt_planning *p, gsrt_scenario_planning *out)
{
    gsrt_plan_fallbacks fallbacks;
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_REPORT_BYTES_MAX);
    json_t *tree = NULL;
    gsrt_status status = gsrt_plan_fallbacks_find(p, &fallbacks);
    if (status == GSRT_OK) {
        tree = gsrt_plan_json(p, &fallbacks, NULL);
        status = tree == NULL ? GSRT_ENOMEM : gsrt_json_print(tree, false, &text);
    }
    if (status == GSRT_OK)
        status = gsrt_buffer_append(&text, "", 1);
    if (status == GSRT_OK)
        out->planned = strdup((const char *)text.data);
    if (status == GSRT_OK && out->planned == NULL)
        status = GSRT_ENOMEM;
    json_decref(tree);
    gsrt_buffer_fini(&text);
    gsrt_plan_fallbacks_fini(&fallbacks);
    gsrt_planning_note_predicted(&p->cost, out);
    return status;
}

/* A plan that somebody wrote narrows by no other right than one that was found. */
static gsrt_status check_written(const gsrt_scenario *scenario, const gsrt_loaded *loaded, uint32_t rank_count,
                                 gsrt_diag *diag)
{
    gsrt_admission admission;
    if (scenario->plan->narrowed_count == 0)
        return GSRT_OK;
    gsrt_status status = gsrt_plan_check(scenario->plan, loaded->workload, rank_count, scenario->file, diag);
    if (status != GSRT_OK)
        return status;
    status = gsrt_admission_open(&admission, scenario, loaded, rank_count, scenario->planning.evidence, diag);
    if (status == GSRT_OK)
        status = gsrt_admission_check(&admission, scenario->plan, diag);
    gsrt_admission_fini(&admission);
    return status;
}

static gsrt_status look_for_plan(gsrt_scenario *scenario, const gsrt_loaded *loaded, uint32_t rank_count,
                                 gsrt_diag *diag)
{
    gsrt_planning planning;
    gsrt_status status = gsrt_planning_open(&planning, scenario, loaded, rank_count, 0, diag);
    if (status == GSRT_OK)
        status = gsrt_planning_search(&planning, diag);
    if (status == GSRT_OK)
        status = keep(&planning, &scenario->planning);
    if (status == GSRT_OK)
        status = gsrt_rank_fleet_plan(&planning.ranks, planning.workload, planning.choice, &scenario->plan, diag);
    if (status == GSRT_OK) {
        scenario->batch_requests = planning.choice->pools[0].batch_max;
        scenario->prefill_chunk = planning.choice->pools[0].prefill_tokens;
    }
    gsrt_planning_fini(&planning);
    return status;
}

gsrt_status gsrt_planning_resolve(gsrt_scenario *scenario, const gsrt_loaded *loaded, uint32_t rank_count,
                                  gsrt_diag *diag)
{
    gsrt_status status = scenario->plan != NULL ? check_written(scenario, loaded, rank_count, diag)
                                                : look_for_plan(scenario, loaded, rank_count, diag);
    if (status == GSRT_OK && scenario->plan->narrowed_count > 0)
        scenario->contract = "budgets";
    return status;
}
