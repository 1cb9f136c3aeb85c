/* One rank's device: from its first role on, for the whole run. What it is, the scenario says (fleet.devices); in the
 * twin it computes inline (numerics on) or not at all (off), and its time is the model's. Node's thread. Legal order:
 * zeroed but for is_twin and is_numeric, start (again and again), stop after the node was freed.
 */
#ifndef GSRT_LAUNCH_RANK_DEVICE_H
#define GSRT_LAUNCH_RANK_DEVICE_H

#include "backends/device_actor.h"
#include "backends/profile.h"
#include "launch/scenario.h"

typedef struct gsrt_rank_device {
    bool is_twin, is_numeric;
    gsrt_profile *profile; /* NULL: the CPU itself */
    gsrt_device *device;   /* NULL: no role yet, or nothing is computed */
    gsrt_device_bridge bridge;
    gsrt_address actor; /* GSRT_NOBODY: no role yet */
} gsrt_rank_device;

/* Start it, with its actor, if that was not done. GSRT_OK | GSRT_EINPUT: the profile | GSRT_ENOMEM | as
 * gsrt_node_spawn. */
GSRT_MUST_CHECK gsrt_status gsrt_rank_device_start(gsrt_rank_device *device, gsrt_node *node,
                                                   const gsrt_scenario *scenario, gsrt_diag *diag);
void gsrt_rank_device_stop(gsrt_rank_device *device); /* zeroed is fine */

#endif
