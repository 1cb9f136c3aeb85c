/* Can the runtime execute a deployment, or is it a prediction only? */
#ifndef GSRT_PLACEMENT_DEPLOYMENT_EXECUTABLE_H
#define GSRT_PLACEMENT_DEPLOYMENT_EXECUTABLE_H

#include "placement/deployment.h"

/* GSRT_OK: it can run this workload so. GSRT_EUNSUPPORTED: *diag names the first thing that is missing, without a file
 * ("pools[0]: replicas beside each other"). Whether the workload's ops run, and whether there are weights, says
 * gsrt_workload_executable. O(stages + ops). */
GSRT_MUST_CHECK gsrt_status gsrt_deployment_executable(const gsrt_deployment *deployment, const gsrt_workload *workload,
                                                       gsrt_diag *diag);

#endif
