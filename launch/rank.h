/* One rank's part of a run: its links, its device, its region, and the root actor that answers to node 0.
 *
 * The same in both worlds. In the twin the device computes inline (numerics on) or not at all (off), and its time is
 * the model's. Legal order: start, root_start, run the node, free the node, stop.
 */
#ifndef GSRT_LAUNCH_RANK_H
#define GSRT_LAUNCH_RANK_H

#include "backends/device_actor.h"
#include "backends/profile.h"
#include "collectives/link_actor.h"
#include "launch/loaded.h"
#include "launch/scenario.h"
#include "model/region_actor.h"

typedef struct gsrt_rank_options {
    bool is_twin;
    bool is_numeric;  /* twin: compute the numbers */
    uint64_t load_ns; /* what loading the model took, for the report */
    /* the run directory exists: open this rank's own files there; NULL: nothing to do */
    gsrt_status (*on_start)(void *arg, const char *directory, gsrt_diag *diag);
    void *on_start_arg;
} gsrt_rank_options;

typedef struct gsrt_rank {
    gsrt_rank_options options;
    const gsrt_scenario *scenario; /* borrowed, like the two below */
    const gsrt_loaded *loaded;
    gsrt_node *node;
    bool has_role;
    uint32_t stage, member;
    gsrt_address region;
    gsrt_lowered *lowered;
    gsrt_profile *profile; /* NULL: the CPU itself */
    gsrt_device *device;   /* NULL: no role, or nothing is computed */
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
                                            const gsrt_loaded *loaded, const gsrt_rank_options *options,
                                            gsrt_diag *diag);
/* After the node was freed. */
void gsrt_rank_stop(gsrt_rank *rank);

/* The root actor of a rank other than 0: answers START with READY, takes ROLES, ASK_FACTS and STOP; ends the rank with
 * 5 when one of its actors has ended. */
GSRT_MUST_CHECK gsrt_status gsrt_rank_root_start(gsrt_rank *rank);
/* Monitor the rank's own actors: `self` gets a DOWN when one ends. */
GSRT_MUST_CHECK gsrt_status gsrt_rank_watch(const gsrt_rank *rank, gsrt_actor *self);
/* The rank's own account. Texts are borrowed from the rank. */
void gsrt_rank_read_facts(const gsrt_rank *rank, gsrt_msg_facts *out);

#endif
