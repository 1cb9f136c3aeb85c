/* One rank's part of a run: its links, its device, its region, and the root actor that answers to node 0.
 * The same in both worlds. Legal order: start, run the node, free the node, stop. */
#ifndef GSRT_LAUNCH_RANK_H
#define GSRT_LAUNCH_RANK_H

#include "backends/device_actor.h"
#include "collectives/link_actor.h"
#include "launch/loaded.h"
#include "launch/scenario.h"
#include "model/region_actor.h"

typedef struct gsrt_rank {
    const gsrt_scenario *scenario; /* borrowed, like the two below */
    const gsrt_loaded *loaded;
    gsrt_node *node;
    bool has_role;
    uint32_t stage, member;
    gsrt_address region;
    gsrt_lowered *lowered;
    gsrt_device *device;
    gsrt_device_bridge bridge;
    gsrt_kv *kv;
    gsrt_workspace *workspace;
    gsrt_region_facts region_facts;
    gsrt_link_facts *links; /* [rank_count] */
} gsrt_rank;

/* KV blocks of every region: as the scenario says, or as many as its admitted requests can need at most. */
uint32_t gsrt_rank_kv_blocks(const gsrt_scenario *scenario, uint32_t context_max);

/* Build everything on `node`. On error what was started is undone by gsrt_rank_stop.
 * GSRT_OK | GSRT_EINPUT (GSRT_ISA) | GSRT_ENOMEM | GSRT_EUNSUPPORTED; *diag says why. */
GSRT_MUST_CHECK gsrt_status gsrt_rank_start(gsrt_rank *rank, gsrt_node *node, const gsrt_scenario *scenario,
                                            const gsrt_loaded *loaded, gsrt_diag *diag);
/* After the node was freed. */
void gsrt_rank_stop(gsrt_rank *rank);

/* The root actor of this rank: says READY to node 0, takes ROLES and STOP. Spawn it before or after start. */
GSRT_MUST_CHECK gsrt_status gsrt_rank_root_start(gsrt_rank *rank);

#endif
