/* A simulator of a few membership machines: virtual time, a network that loses, repeats, delays and reorders, keepers,
 * and faults drawn from a seed. After each step the invariants over all machines are checked; after the last fault the
 * survivors must come to one view within CLUSTER_BOUND_MS.
 */
#ifndef GSRT_TESTS_HEALTH_CLUSTER_H
#define GSRT_TESTS_HEALTH_CLUSTER_H

#include "health/membership.h"

enum {
    CLUSTER_RANKS_MAX = 5,
    CLUSTER_INCARNATIONS_MAX = 24,
    CLUSTER_EPOCHS_MAX = 512,
    CLUSTER_FAULTS_MS = 200,  /* when the last fault is over */
    CLUSTER_RESTARTS_MS = 40, /* then the last incarnation has started */
    CLUSTER_BOUND_MS = 400,
};

typedef struct cluster cluster;

typedef struct cluster_result {
    char violation[160]; /* empty: none */
    uint64_t digest;     /* of every action, in order */
    uint32_t epoch;      /* the last that was installed */
    uint64_t steps;
    bool could_live; /* a quorum of the last view could be formed: it was required to be */
} cluster_result;

/* What the seed may draw. */
typedef enum cluster_fault {
    CLUSTER_KILL = 1 << 0,
    CLUSTER_KILL_IN_ACTION = 1 << 1, /* right after one of its next actions */
    CLUSTER_STOP = 1 << 2,
    CLUSTER_PARTITION = 1 << 3,
    CLUSTER_LOSE_HOST = 1 << 4, /* the keeper too */
    CLUSTER_SUSPECT_WRONGLY = 1 << 5,
    CLUSTER_NETWORK = 1 << 6, /* losses, repetitions, long delays */
    CLUSTER_ALL = (1 << 7) - 1,
} cluster_fault;

cluster_result cluster_run(uint32_t rank_count, uint64_t seed, unsigned faults, uint32_t fault_count);

#endif
