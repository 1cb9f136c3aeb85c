/* A deployment: what is chosen for a workload on a fleet. Which engines do what, in which formats, in which batches.
 *
 * Pools of replicas that are alike; a replica is a pipeline of stages; a stage is a run of layers on a group of
 * engines. Which instances of a part a replica takes is said by arithmetic, so that a deployment on 16,384 engines is
 * as small as one on four. What is chosen here may be more than the runtime executes (gsrt_deployment_executable).
 *
 * Choices that exclude each other are one field each: a stage has one collective algorithm, a region one format.
 *
 * Pure. Built by whoever searches, checked by placement/deployment_check.h, then only read. Thread: reading from any.
 */
#ifndef GSRT_PLACEMENT_DEPLOYMENT_H
#define GSRT_PLACEMENT_DEPLOYMENT_H

#include "placement/fleet.h"
#include "placement/workload.h"

/* How sums are made. */
typedef enum gsrt_arithmetic {
    GSRT_ARITHMETIC_CANONICAL, /* docs/numerics.md, bit for bit: the same on every engine that has such kernels */
    GSRT_ARITHMETIC_NATIVE,    /* whatever the engine's own libraries do: another order, unproven */
} gsrt_arithmetic;
enum { GSRT_ARITHMETIC_COUNT = GSRT_ARITHMETIC_NATIVE + 1 };

/* The library of canonical kernels: an engine has them when its software names it. A capability, no product. */
#define GSRT_CANONICAL_SOFTWARE "gsrt-canonical"

/* How the members of a stage exchange activations. */
typedef enum gsrt_collective_algorithm {
    GSRT_ALGORITHM_NONE,     /* one member */
    GSRT_ALGORITHM_GATHER,   /* gather the inputs, split the outputs: exact for any split */
    GSRT_ALGORITHM_SUBTREES, /* split over K, whole subtrees of the canonical sum are sent: exact */
    GSRT_ALGORITHM_RING,     /* all-reduce by a ring: another order */
    GSRT_ALGORITHM_TREE,     /* by a (double binary) tree: another order */
    GSRT_ALGORITHM_SWITCH,   /* in the switch, where links say that they can: another order */
} gsrt_collective_algorithm;
enum { GSRT_ALGORITHM_COUNT = GSRT_ALGORITHM_SWITCH + 1 };

/* How a region is computed. */
typedef struct gsrt_region_choice {
    gsrt_dtype weights;         /* as they lie in memory; that of the workload: unchanged */
    gsrt_dtype state;           /* of KV; likewise */
    gsrt_format compute;        /* of the inputs of products */
    gsrt_arithmetic arithmetic; /* of its sums */
    bool weights_are_as_given;  /* `weights` is not read: each tensor keeps its own format */
    bool state_is_as_given;     /* likewise */
} gsrt_region_choice;

/* Neighbouring instances of one part, for each replica of a pool: replica r has
 * [instance_first + (r / block_replicas) * block_stride + (r % block_replicas) * instance_count, + instance_count).
 * block_replicas is >= 1: so many replicas stand side by side before the next block (a node, say) begins. */
typedef struct gsrt_deployment_members {
    uint32_t part; /* an engine of the fleet */
    uint64_t instance_first;
    uint32_t instance_count; /* >= 1 */
    uint64_t block_replicas, block_stride;
    uint32_t share; /* of the split, of each instance; units are apportioned by largest remainder (gsrt_apportion) */
} gsrt_deployment_members;

typedef struct gsrt_deployment_stage {
    uint32_t layer_first, layer_last; /* inclusive; stage 0 also embeds, the last one also computes the logits */
    gsrt_deployment_members *members; /* [member_count]; W = the sum of their instance_count */
    uint32_t member_count;
    uint32_t data_width; /* the batch is divided by so many in attention; W = data_width * tensor width of attention */
    uint32_t expert_width;  /* experts lie apart on so many; W = expert_width * tensor width of experts; 1 without */
    uint32_t context_width; /* context parallelism: the positions of each sequence lie, block by block, on so many
                               neighbours, which attend with the heads of all of them and merge what comes out; divides
                               the tensor width of attention; 1: each has all positions */
    gsrt_collective_algorithm algorithm;
    uint32_t collective_chunk_bytes; /* pieces of a large message; 0: whole */
    bool overlaps;                   /* exchanges go on while the next product is computed */
} gsrt_deployment_stage;

enum { GSRT_KV_OFFLOAD_PARTS = 4 }; /* a share of the KV is so many quarters */

typedef struct gsrt_deployment_pool {
    uint32_t phases; /* gsrt_phase bits; prefill and decode in different pools: the KV travels */
    uint64_t replica_count;
    gsrt_deployment_stage *stages;
    uint32_t stage_count;
    uint32_t batch_max;      /* sequences of a decode step of a replica, >= 1 */
    uint32_t prefill_tokens; /* tokens of a prefill step (chunk) at most */
    double power_cap_w;      /* of each engine; 0: none */
    uint32_t draft_tokens;   /* speculative decoding: tokens proposed at once; 0: none */
    uint32_t kv_offload;     /* KV offloading: of the positions of each sequence, so many of GSRT_KV_OFFLOAD_PARTS lie
                                in a second memory tier of its engine (docs/planning.md, m5); 0: none */
} gsrt_deployment_pool;

typedef struct gsrt_deployment {
    gsrt_arena arena; /* everything lives here */
    gsrt_deployment_pool *pools;
    uint32_t pool_count;
    gsrt_region_choice *choices; /* [region_count of the workload] */
    uint32_t region_count;
    uint32_t context_max; /* positions that KV is kept for, of each sequence of a batch */
} gsrt_deployment;

/* Room for these, zeroed, all choices as the workload has them; owned; NULL: no memory. */
gsrt_deployment *gsrt_deployment_create(const gsrt_workload *workload, uint32_t pool_count);
gsrt_deployment *gsrt_deployment_copy(const gsrt_deployment *deployment); /* owned; NULL: no memory */
gsrt_deployment *gsrt_deployment_free(gsrt_deployment *deployment);
/* Zeroed arrays from the arena. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_deployment_add_stages(gsrt_deployment *deployment, uint32_t pool, uint32_t count);
GSRT_MUST_CHECK gsrt_status gsrt_deployment_add_members(gsrt_deployment *deployment, uint32_t pool, uint32_t stage,
                                                        uint32_t count);

/* Engines of one stage of a replica: W. */
uint32_t gsrt_deployment_stage_width(const gsrt_deployment_stage *stage);
/* Engines of all replicas of all pools. */
uint64_t gsrt_deployment_engine_count(const gsrt_deployment *deployment);
/* First instance of member entry `members` for replica `replica`. */
uint64_t gsrt_deployment_instance(const gsrt_deployment_members *members, uint64_t replica);

const char *gsrt_arithmetic_name(gsrt_arithmetic arithmetic);                    /* "canonical", "native" */
const char *gsrt_collective_algorithm_name(gsrt_collective_algorithm algorithm); /* "gather", ... */

#endif
