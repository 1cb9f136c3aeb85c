/* How Helix derives the throughputs of its planner instances from profiles: what a node that holds k layers passes.
 *
 * A node's KV memory (vLLM blocks left beside k layers, a table in its sources) holds so many requests; the share of a
 * request's round trip that it spends on this node says how many are there at a time; the profiles say how long a layer
 * takes for their prompts and decoded tokens. The round trip depends on the speed of all machines of the cluster, which
 * Helix settles in ten rounds. Requests have 750 tokens in and 240 out. Any thread.
 * Source: Thesys-lab/Helix-ASPLOS25, simulator/model_manager (Apache-2.0); as a public fork of it
 * (xogusrns123/Helix-ASPLOS25) has them.
 */
#ifndef GSRT_BENCH_HELIX_MODEL_H
#define GSRT_BENCH_HELIX_MODEL_H

#include "bench/helix_files.h"

typedef struct gsrt_helix_case {
    const char *name;      /* folder of milp/ */
    const char *cluster;   /* file of clusters/ */
    const char *model;     /* "llama1_30b", "llama2_70b": prefix of profiles/ */
    bool has_program;      /* .lp, placement and value are there */
    bool has_pruned_links; /* the program has fewer links than the cluster: taken from it */
} gsrt_helix_case;

/* Those whose programs are there, then those of which only cluster and result are; name NULL ends the list. */
extern const gsrt_helix_case gsrt_helix_cases[];

typedef struct gsrt_helix_published {
    gsrt_helix_problem program;                      /* from the .lp: what Gurobi was given */
    gsrt_helix_problem imported;                     /* from cluster and profiles, by our own arithmetic */
    gsrt_flow_hold holds[GSRT_HELIX_NODE_COUNT_MAX]; /* Gurobi's placement */
    double objective;                                /* and its value */
} gsrt_helix_published;

/* All of one case from `folder` (.../planner/helix); without a program: `imported` only. GSRT_OK | GSRT_EINPUT,
 * GSRT_EIO with *diag. */
GSRT_MUST_CHECK gsrt_status gsrt_helix_open(const char *folder, const gsrt_helix_case *which, gsrt_diag *diag,
                                            gsrt_helix_published *out);

#endif
