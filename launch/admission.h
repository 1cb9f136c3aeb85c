/* By what right a run narrows weights: its contract, the evidence, the judge (placement/contract.h); and what is left
 * when evidence takes that right away.
 * Legal order: open, any of the others, fini. Thread: its owner's. Cost of open: a pass over the weights, whose hash
 * the evidence names; the others as gsrt_contract_judge.
 */
#ifndef GSRT_LAUNCH_ADMISSION_H
#define GSRT_LAUNCH_ADMISSION_H

#include "launch/loaded.h"
#include "launch/rank_fleet.h"
#include "launch/scenario.h"
#include "placement/evidence.h"

typedef struct gsrt_admission {
    const gsrt_scenario *scenario; /* borrowed, like the next */
    const gsrt_loaded *loaded;
    gsrt_rank_fleet ranks;
    gsrt_evidence_list evidence;
} gsrt_admission;

/* Append to `list` what the file says of these weights; loaded NULL: there are none, and nothing is said of them; path
 * NULL: there is no evidence. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_admission_read_evidence(const char *path, const gsrt_loaded *loaded,
                                                         gsrt_evidence_list *list, gsrt_diag *diag);

/* evidence: a path; NULL: none. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. In any case gsrt_admission_fini. */
GSRT_MUST_CHECK gsrt_status gsrt_admission_open(gsrt_admission *admission, const gsrt_scenario *scenario,
                                                const gsrt_loaded *loaded, uint32_t rank_count, const char *evidence,
                                                gsrt_diag *diag);
void gsrt_admission_fini(gsrt_admission *admission); /* zeroed is fine */

/* Does the contract keep what the plan narrows? GSRT_OK | GSRT_EINFEASIBLE: no, *diag names region, transformation,
 * rule, and what would admit it | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_admission_check(const gsrt_admission *admission, const gsrt_plan *plan,
                                                 gsrt_diag *diag);
/* Take back from the plan what the contract does not keep any more (gsrt_contract_disable); *out_count: how many
 * changes. GSRT_OK | GSRT_ECONTRACT: what is left is not kept either | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_admission_disable(const gsrt_admission *admission, gsrt_plan *plan,
                                                   uint32_t *out_count);

#endif
