/* Planning: from a scenario to a deployment that keeps everything that was asked, and what is predicted of it.
 *
 *     gsrt_planning_open(&planning, scenario, loaded, rank_count, today, &diag);   reads all that the scenario names
 *     gsrt_planning_search(&planning, &diag);                                      then: choice, cost, verdict, rivals
 *     gsrt_planning_fini(&planning);
 *
 * Everything after open is a pure function of what was read: the same on every rank, on every machine. What a plan is
 * made for, the fleet, is either an inventory or the ranks of the job (launch/rank_fleet.h); only the latter is planned
 * for execution.
 */
#ifndef GSRT_LAUNCH_PLANNING_H
#define GSRT_LAUNCH_PLANNING_H

#include "launch/loaded.h"
#include "launch/rank_fleet.h"
#include "launch/scenario.h"
#include "model/config_json.h"
#include "placement/deployment_check.h"
#include "placement/evidence.h"
#include "placement/workload_text.h"

typedef struct gsrt_planning {
    const gsrt_scenario *scenario; /* borrowed */
    uint32_t rank_count;           /* of the job; of an inventory nobody asks */
    gsrt_loaded own_loaded;        /* where nobody gave one */
    const gsrt_loaded *loaded;     /* NULL: there are no weights */
    gsrt_workload *own_workload;   /* without weights */
    const gsrt_workload *workload;
    gsrt_workload_hash hash;
    gsrt_config_report config; /* notes about a config.json */
    bool is_of_ranks;          /* `ranks` is set, and its fleet is the fleet */
    gsrt_rank_fleet ranks;
    gsrt_fleet *inventory;
    gsrt_findings findings; /* about the inventory */
    gsrt_evidence_list evidence;
    gsrt_search_problem problem; /* refers to all of this */
    /* after the search */
    gsrt_search_result *result;
    gsrt_deployment *choice; /* the best; NULL: nothing is feasible */
    gsrt_cost cost;          /* of the choice, like the rest */
    gsrt_derivation why;
    gsrt_verdict verdict;
    bool has_choice; /* cost and verdict are set up */
} gsrt_planning;

/* Read workload, fleet and evidence, derive the demand from the requests where it is not given.
 * loaded: the model, borrowed; NULL: it is opened here, or there is none. rank_count: of the job. today: days since
 * 1970-01-01: what has expired of an inventory is unknown; the ranks' fleet has nothing that expires.
 * GSRT_OK | GSRT_EINPUT (*diag; where the inventory is at fault findings say so, too) | GSRT_EUNSUPPORTED | GSRT_EIO |
 * GSRT_ENOMEM. Call fini in any case. */
GSRT_MUST_CHECK gsrt_status gsrt_planning_open(gsrt_planning *planning, const gsrt_scenario *scenario,
                                               const gsrt_loaded *loaded, uint32_t rank_count, int32_t today,
                                               gsrt_diag *diag);

/* Search, then let the independent checker look at what was found.
 * GSRT_OK: there is a choice | GSRT_EINFEASIBLE: there is none; result->rivals say why | GSRT_EUNSUPPORTED: the policy
 * cannot take this problem | GSRT_ESTATE: the checker refuses what the search found, which is a bug | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_planning_search(gsrt_planning *planning, gsrt_diag *diag);
void gsrt_planning_fini(gsrt_planning *planning);

/* Predict one deployment of the same problem. *out: gsrt_cost_fini. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_planning_predict(const gsrt_planning *planning, const gsrt_deployment *deployment,
                                                  gsrt_derivation *why, gsrt_cost *out);

/* Take rival `rival`, which keeps everything, instead of the choice, which becomes the rival in its place. Checked like
 * any choice: errors as gsrt_planning_search. */
GSRT_MUST_CHECK gsrt_status gsrt_planning_prefer(gsrt_planning *planning, uint32_t rival, gsrt_diag *diag);
/* `rival` was not chosen, though the model prefers it: `why`, and seen by other means, the objective is `its`, and
 * `chosen` of the choice (base units; < 0: unknown). GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_planning_note_seen(gsrt_planning *planning, uint32_t rival, const char *why,
                                                    double its, double chosen);

/* What was predicted of a plan, for the report of its run. */
void gsrt_planning_note_predicted(const gsrt_cost *cost, gsrt_scenario_planning *out);

/* What the runtime lacks to run the choice; GSRT_OK: nothing. */
GSRT_MUST_CHECK gsrt_status gsrt_planning_executable(const gsrt_planning *planning, gsrt_diag *diag);

#endif
