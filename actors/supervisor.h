/* A supervisor: the actor that starts its children in order, and decides what happens when one ends.
 *
 * The decisions are those of actors/supervisor_machine.h; this is the actor around it. Supervisors are children of
 * supervisors: that makes the tree. A restart is never bare: restart_check is asked first whether there is a plan,
 * whose contract has been checked, to restart the child into; where it says no, the supervisor gives up and its own
 * parent decides. A supervisor that ends, however, ends its children, last one first.
 */
#ifndef GSRT_ACTORS_SUPERVISOR_H
#define GSRT_ACTORS_SUPERVISOR_H

#include "actors/node.h"
#include "actors/supervisor_machine.h"

typedef struct gsrt_supervisor_child {
    const gsrt_behaviour *behaviour;
    const void *arg;   /* of its init, at every start; borrowed as long as the supervisor lives */
    gsrt_address role; /* bound to it at every start; GSRT_NOBODY: none */
    gsrt_supervise_when when;
} gsrt_supervisor_child;

typedef struct gsrt_supervisor_options {
    gsrt_supervise_strategy strategy;
    uint32_t restart_max; /* restarts within window_ns of world time; one more, and it gives up */
    uint64_t window_ns;
    const gsrt_supervisor_child *children; /* [child_count], at most GSRT_CHILD_COUNT_MAX; copied */
    uint32_t child_count;
    gsrt_status (*restart_check)(void *arg, uint32_t child, uint32_t reason); /* GSRT_OK: go on; NULL: always */
    void *restart_check_arg;
    int finish_code; /* of a root: the node finishes with it when the supervisor gives up; 0: only the actor ends */
} gsrt_supervisor_options;

/* Spawn it with a gsrt_supervisor_options; spawn fails with the error of the child that could not be started. */
extern const gsrt_behaviour gsrt_supervisor;

#endif
