/* Can the runtime execute a deployment, or is it a prediction only? */
#ifndef GSRT_PLACEMENT_DEPLOYMENT_EXECUTABLE_H
#define GSRT_PLACEMENT_DEPLOYMENT_EXECUTABLE_H

#include "placement/deployment.h"

/* GSRT_OK: it can. GSRT_EUNSUPPORTED: *diag names the first thing that is missing, without a file ("pools[0]: replicas
 * beside each other"). Asked of the deployment alone: whether the workload's ops run, and whether there are weights,
 * says gsrt_workload_executable. O(stages). */
GSRT_MUST_CHECK gsrt_status gsrt_deployment_executable(const gsrt_deployment *deployment, gsrt_diag *diag);

#endif
