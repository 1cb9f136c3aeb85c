/* A plan: which rank executes which part of the workload.
 *
 * Stages are runs of layers, in pipeline order; stage 0 also embeds, the last one also computes the logits. A stage is
 * carried by a group of ranks (its members, in order); inside the group tensors are split by `split`, a share per
 * member. A split gives each member a contiguous run of units of every split value (query heads, output chunks,
 * vocabulary rows), apportioned by largest remainder, ties to the lowest member; zero units are legal.
 *
 * Pure: no MPI, no UCX, no clock. A plan is built (from a scenario), checked once against the workload and the number
 * of ranks, and from then on read-only.
 */
#ifndef GSRT_PLACEMENT_PLAN_H
#define GSRT_PLACEMENT_PLAN_H

#include "base/buffer.h"
#include "placement/workload.h"

typedef enum gsrt_exchange {
    GSRT_EXCHANGE_AUTO,    /* the cheapest for each product, by bytes and hops (model/lower) */
    GSRT_EXCHANGE_GATHER,  /* gather the inputs, split the outputs */
    GSRT_EXCHANGE_REDUCE,  /* split over K wherever the shares are whole chunks, sums put together in the cheaper of the
                              two ways (collectives/reduction.h); gather elsewhere */
    GSRT_EXCHANGE_SCATTER, /* the same, always by ranges of columns */
} gsrt_exchange;

/* A region by its place in the workload's order: embed, layer.N, output. */
enum {
    GSRT_PLAN_EMBED = 0,
    GSRT_PLAN_LAYER = 1, /* + N */
    GSRT_PLAN_OUTPUT = GSRT_LAYER_COUNT_MAX + 1,
    GSRT_PLAN_PLACE_COUNT
};

/* A region whose weights are computed with in another format than the file's (placement/plan_choices.h). */
/* What weights may be narrowed to: canonical kernels compute with them. */
enum { GSRT_PLAN_NARROW_COUNT = 4 };
extern const gsrt_dtype gsrt_plan_narrow_formats[GSRT_PLAN_NARROW_COUNT];
bool gsrt_plan_is_narrow(gsrt_dtype dtype);

typedef struct gsrt_plan_narrowed {
    uint32_t place;
    gsrt_dtype weights;
} gsrt_plan_narrowed;

typedef struct gsrt_plan_stage {
    uint32_t layer_first, layer_last; /* inclusive */
    uint32_t member_count;            /* >= 1 */
    uint32_t *ranks;                  /* [member_count] */
    uint32_t *shares;                 /* [member_count], relative; all equal when the scenario gives none */
} gsrt_plan_stage;

typedef struct gsrt_plan {
    gsrt_arena arena;
    gsrt_plan_stage *stages;
    uint32_t stage_count;
    uint32_t *spares;
    uint32_t spare_count;
    gsrt_exchange exchange;
    gsrt_plan_narrowed *narrowed; /* [narrowed_count], places ascending; all other regions are as the file has them */
    uint32_t narrowed_count;
} gsrt_plan;

/* Room for stage_count stages, zeroed; owned; NULL: no memory. */
gsrt_plan *gsrt_plan_create(uint32_t stage_count);
gsrt_plan *gsrt_plan_free(gsrt_plan *plan);

/* Have it narrow these places, ascending, and no others; copied. GSRT_OK | GSRT_ENOMEM: nothing has changed. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_narrow(gsrt_plan *plan, const gsrt_plan_narrowed *narrowed, uint32_t count);

/* Check the plan against the workload (NULL: only what does not need one) and rank_count.
 * Each layer exactly once and in order; ranks below rank_count (else GSRT_EINFEASIBLE: "needs N ranks"), no rank in two
 * roles, shares not all zero; narrowed places ascending, in the model, in formats that kernels compute with. `file` is
 * named in *diag; places are the scenario's ("plan.stages[1].ranks"). GSRT_OK | GSRT_EINPUT | GSRT_EINFEASIBLE. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_check(const gsrt_plan *plan, const gsrt_workload *workload, uint32_t rank_count,
                                            const char *file, gsrt_diag *diag);

/* Stage and member of `rank`; false: it has none (spare or idle). */
bool gsrt_plan_role_of(const gsrt_plan *plan, uint32_t rank, uint32_t *out_stage, uint32_t *out_member);

/* The KV that a member holds: its layers, and the KV heads that its query heads need, which may be another's too where
 * the query heads of one KV head are split. */
typedef struct gsrt_plan_kv {
    uint32_t layer_first, layer_count, head_first, head_count;
} gsrt_plan_kv;
gsrt_plan_kv gsrt_plan_kv_of(const gsrt_plan *plan, const gsrt_workload *workload, uint32_t stage, uint32_t member);
/* `rank`, which has no other role, takes the role from whoever has it, who takes its place among the spares. Nothing to
 * do where it has the role already. */
void gsrt_plan_move(gsrt_plan *plan, uint32_t stage, uint32_t member, uint32_t rank);

/* One more than the highest rank that the plan names, spares included: how many ranks it needs. */
uint32_t gsrt_plan_rank_count(const gsrt_plan *plan);

/* "auto", "gather", "reduce", "scatter"; static. */
const char *gsrt_exchange_name(gsrt_exchange exchange);

/* Apportion `unit_count` units over shares[count] by largest remainder (Hamilton), ties to the lowest index.
 * out_first[count + 1]: member i has units [out_first[i], out_first[i + 1]). Exact integer arithmetic. Sum of the
 * shares > 0. source: Balinski & Young, "Fair Representation". */
void gsrt_apportion(uint32_t unit_count, const uint32_t *shares, uint32_t count, uint32_t *out_first);

/* A line per stage, one for the spares and one for what is narrowed, for people. workload may be NULL: then without the
 * units of each member. The plan has been checked. Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_print(const gsrt_plan *plan, const gsrt_workload *workload, gsrt_buffer *out);

#endif
