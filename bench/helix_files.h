/* The published planner instances of Helix (Mei et al., ASPLOS 2025), read from their own files: clusters (.ini),
 * profiles (.csv), the integer program that Gurobi was given (.lp), the placement that it found (.ini) and its value
 * (.sol). For benchmarks and tests; a file that is not as expected gives one line that says so. Any thread.
 */
#ifndef GSRT_BENCH_HELIX_FILES_H
#define GSRT_BENCH_HELIX_FILES_H

#include "base/diag.h"
#include "base/span.h"
#include "placement/flow_instance.h"

enum {
    GSRT_HELIX_NODE_COUNT_MAX = 64,
    GSRT_HELIX_LAYERS_MAX = 32, /* of one node */
    GSRT_HELIX_TYPE_BYTES = 16,
    GSRT_HELIX_POINT_COUNT_MAX = 128,
    GSRT_HELIX_SOURCE = GSRT_HELIX_NODE_COUNT_MAX,
    GSRT_HELIX_SINK = GSRT_HELIX_NODE_COUNT_MAX + 1,
};

typedef struct gsrt_helix_problem {
    uint32_t node_count, layer_count;
    char types[GSRT_HELIX_NODE_COUNT_MAX][GSRT_HELIX_TYPE_BYTES]; /* "A100"; of a cluster only */
    uint32_t layers_max[GSRT_HELIX_NODE_COUNT_MAX];
    double throughput[GSRT_HELIX_NODE_COUNT_MAX][GSRT_HELIX_LAYERS_MAX]; /* token/s with 1, 2, ... layers */
    double links[GSRT_HELIX_SINK + 1][GSRT_HELIX_SINK + 1]; /* from, to: token/s (of a cluster: as the file says it,
                                                               B/s); 0: none */
} gsrt_helix_problem;

/* ms per layer of so many tokens, sorted by tokens. */
typedef struct gsrt_helix_profile {
    uint32_t count;
    uint32_t tokens[GSRT_HELIX_POINT_COUNT_MAX];
    double layer_ms[GSRT_HELIX_POINT_COUNT_MAX];
} gsrt_helix_profile;

/* Each sets *out as a whole. GSRT_OK | GSRT_EINPUT. */
GSRT_MUST_CHECK gsrt_status gsrt_helix_read_cluster(gsrt_span text, const char *file, gsrt_diag *diag,
                                                    gsrt_helix_problem *out);
GSRT_MUST_CHECK gsrt_status gsrt_helix_read_program(gsrt_span text, const char *file, gsrt_diag *diag,
                                                    gsrt_helix_problem *out);
GSRT_MUST_CHECK gsrt_status gsrt_helix_read_profile(gsrt_span text, const char *file, gsrt_diag *diag,
                                                    gsrt_helix_profile *out);
/* out [GSRT_HELIX_NODE_COUNT_MAX]; nodes that the file does not name hold nothing. */
GSRT_MUST_CHECK gsrt_status gsrt_helix_read_placement(gsrt_span text, const char *file, gsrt_diag *diag,
                                                      gsrt_flow_hold *out);
GSRT_MUST_CHECK gsrt_status gsrt_helix_read_objective(gsrt_span text, const char *file, gsrt_diag *diag, double *out);

/* The problem as a flow instance, exact edges (their programs allow no partial inference). *out owned.
 * GSRT_OK | GSRT_EINVAL: a node without throughputs, a link of none | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_helix_instance(const gsrt_helix_problem *problem, gsrt_flow_instance **out);

#endif
