/* Inside the checker: what its files share. */
#ifndef GSRT_PLACEMENT_DEPLOYMENT_CHECK_IMPL_H
#define GSRT_PLACEMENT_DEPLOYMENT_CHECK_IMPL_H

#include "placement/deployment_check.h"

#define GSRT__BYTES ((gsrt_dimension){.byte = 1})
#define GSRT__WATTS ((gsrt_dimension){.joule = 1, .second = -1})
#define GSRT__TOKENS ((gsrt_dimension){.token = 1})

/* One engine's seat in a stage, the same in each replica. */
typedef struct gsrt__seat {
    uint32_t entry;      /* of the stage's members */
    uint32_t within;     /* which of the entry's instances */
    uint32_t part;       /* the engine */
    uint32_t head_first; /* query heads */
    uint32_t head_count;
    uint64_t weights_bytes, state_bytes, buffer_bytes;
    uint64_t offloaded_bytes; /* in its second tier */
} gsrt__seat;

/* A stage, with its W seats in order. */
typedef struct gsrt__stage_view {
    uint32_t pool, stage;
    const gsrt_deployment_stage *it;
    uint32_t width;        /* W */
    uint32_t tensor_width; /* T: those who share the heads */
    uint32_t inner_width;  /* TE: those who share an expert */
    bool is_first, is_last;
    gsrt__seat *seats;       /* [width] */
    uint64_t *shares;        /* [width] */
    uint64_t *expert_shares; /* [expert_width]: of each group, summed */
} gsrt__stage_view;

typedef struct gsrt__checking {
    const gsrt_search_problem *problem;
    const gsrt_workload *workload;
    const gsrt_fleet *fleet;
    const gsrt_deployment *deployment;
    gsrt_violations *out;
    gsrt_arena scratch;
    gsrt_status status;       /* sticky: ENOMEM */
    gsrt__stage_view *stages; /* [stage_count]: of all pools, in order */
    uint32_t stage_count;
    uint8_t **used;           /* [part_count]: of engines [total]: sits somewhere; else NULL */
    uint32_t *memory;         /* [part_count]: of engines the memory that they use; GSRT_FLEET_NONE */
    uint32_t *far, *far_link; /* [part_count]: the second tier of those that offload, and a link to it; likewise */
} gsrt__checking;

/* Instance of the fleet on which seat `s` of replica `replica` is. */
uint64_t gsrt__check_instance(const gsrt__stage_view *view, const gsrt__seat *seat, uint64_t replica);

/* Known, and not expired. */
bool gsrt__check_is_usable(const gsrt__checking *c, const gsrt_quantity *quantity);

/* Which units member `at` has, of `count` with these shares: the largest remainder gets what is left, the lowest
 * first. */
typedef struct gsrt__check_units {
    uint64_t first, count;
} gsrt__check_units;
gsrt__check_units gsrt__check_dealt(uint64_t unit_count, const uint64_t *shares, uint32_t count, uint32_t at);

/* Add a violation, unless the same rule was violated for the same subject and text already. The text is printed. */
void gsrt__check_violate(gsrt__checking *c, const gsrt_violation *what, const char *format, ...) GSRT_PRINTF(3, 4);

/* Region of the workload in this stage? */
bool gsrt__check_stage_has(const gsrt__checking *c, const gsrt__stage_view *view, uint32_t region);

/* The part, and all that it stands in, are of trust_min or above. */
bool gsrt__check_is_trusted(const gsrt__checking *c, uint32_t part);

/* What canonical kernels compute the region in, and whether it has products at all. */
gsrt_format gsrt__check_format(const gsrt__checking *c, const gsrt_region *region, const gsrt_region_choice *choice,
                               bool *out_has_products);
/* In which format op->tensor lies in memory under a choice for its region. */
gsrt_dtype gsrt__check_dtype(const gsrt_workload *workload, const gsrt_region_choice *choice, const gsrt_op *op);

/* Memory of `bytes` zeroed; NULL: sets c->status. */
void *gsrt__check_scratch(gsrt__checking *c, size_t count, size_t size);

bool gsrt__check_shape(gsrt__checking *c);                         /* d1, e1, x1; false: what it names does not exist */
void gsrt__check_memory(gsrt__checking *c);                        /* m1..m5 */
void gsrt__check_power(gsrt__checking *c);                         /* p2 */
void gsrt__check_routes(gsrt__checking *c);                        /* l1, p1 of what the routes use */
void gsrt__check_origin(gsrt__checking *c);                        /* l2 */
void gsrt__check_trust(gsrt__checking *c);                         /* p1 of engines and memories */
void gsrt__check_rates(gsrt__checking *c);                         /* c1 */
void gsrt__check_contract(gsrt__checking *c);                      /* g1, k1 */
void gsrt__check_executable(gsrt__checking *c);                    /* n1 */
void gsrt__check_limits(gsrt__checking *c, const gsrt_cost *cost); /* o1 */

#endif
