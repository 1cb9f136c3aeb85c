/* From the workload and a plan to what one member executes: a program for its device, cut where the group exchanges.
 *
 * Walks the op list of the stage's regions once. Each value is held as the member's share of it, or whole, or both, and
 * in f32 or quantised, as its readers need; where a reader needs the whole of a split value, an exchange is put in.
 *
 *   segment 0 | exchange 0 | segment 1 | exchange 1 | ... | segment n
 *
 * After exchange i segment i + 1 begins by placing the pieces (piece number = member). Segment 0 of a later stage
 * begins by placing the activation that came from the stage before (piece 0).
 *
 * A split product is taken in one of three ways, the cheapest by hops and bytes unless the plan names one: outputs are
 * split and the whole input is gathered; or K is split and whole subtrees are sent to everyone; or K is split, each
 * member finishes a range of the columns, and these are gathered (collectives/reduction.h). All give the bits of the
 * unsplit product (docs/numerics.md).
 *
 * Slots are reused once nobody reads their value any more. Maps and reads no weights, only points to them. What the
 * plan narrows has memory of the lowered program for the member's share of it, which gsrt_lowered_narrow fills.
 */
#ifndef GSRT_MODEL_LOWER_H
#define GSRT_MODEL_LOWER_H

#include "backends/program.h"
#include "base/arena.h"
#include "model/weights.h"
#include "placement/plan.h"

#include <stdatomic.h>

typedef struct gsrt_lowered_exchange {
    uint16_t slot;      /* this member's piece; GSRT_NO_SLOT: it has none */
    uint64_t senders;   /* bit per member: has columns */
    uint64_t receivers; /* bit per member: needs them */
    bool is_wanted;     /* its rows are the wanted rows */
    bool is_reduction;  /* pieces are subtrees of a sum */
    /* Not a scatter: every receiver gets the rows of the slot as they are. A scatter (collectives/reduction.h, by
     * ranges): the slot holds node_count nodes of scattered[member_count] columns each, and receiver m, this member
     * too, gets columns [scattered[m], scattered[m + 1]) of each of them. */
    bool is_scatter;
    uint32_t node_count;
    uint32_t scattered[GSRT_GROUP_RANKS_MAX + 1];
    uint32_t row_bytes[GSRT_GROUP_RANKS_MAX]; /* of each member's piece, as this member gets it */
} gsrt_lowered_exchange;

typedef struct gsrt_lowered_segment {
    uint32_t instr_first, instr_count;
} gsrt_lowered_segment;

typedef struct gsrt_lowered {
    gsrt_arena arena;
    gsrt_program program;
    const gsrt_lowered_segment *segments;
    uint32_t segment_count;
    const gsrt_lowered_exchange *exchanges; /* [segment_count - 1] */
    uint16_t slot_in;      /* where the activation of the stage before goes; GSRT_NO_SLOT: first stage */
    uint16_t slot_out;     /* what the next stage gets; GSRT_NO_SLOT: last stage */
    uint16_t slot_logits;  /* whole logits [wanted, vocab]; GSRT_NO_SLOT: not here */
    uint32_t embed_tensor; /* GSRT_NO_INDEX: no embedding here */
    uint32_t member, member_count;
    uint32_t kv_layer_count, kv_head_count, head_dim;
    gsrt_matrix **matrices; /* worth packing: [matrix_count] */
    uint32_t matrix_count;
    gsrt_rope_table **ropes;
    uint32_t rope_count;
    struct gsrt__lowered_rows *narrowed; /* [narrowed_count] */
    uint32_t narrowed_count;
    bool is_raw;          /* gsrt_lowered_narrow has still to be called */
    uint64_t share_bytes; /* of split tensors: this member's units */
    uint64_t copy_bytes;  /* of tensors that every member of the group holds (norms, and what cannot be split) */
} gsrt_lowered;

/* Lower what (stage, member) of a checked plan executes; its weights are declared as touched, embedding rows excepted.
 * context_max: positions that the angle tables cover. *out owned, borrows weights until freed.
 * GSRT_OK | GSRT_ENOMEM | GSRT_EUNSUPPORTED (an op that cannot be split like that). */
GSRT_MUST_CHECK gsrt_status gsrt_lower(gsrt_weights *weights, const gsrt_plan *plan, uint32_t stage, uint32_t member,
                                       uint32_t context_max, gsrt_lowered **out);
gsrt_lowered *gsrt_lowered_free(gsrt_lowered *lowered);

/* Where is_raw: read and narrow what the plan narrows; before that its program must not run, and nothing be packed. Any
 * thread, which nobody else disturbs with this one; the owner sets is_raw to false after it. is_cancelled  looked at
 * between two matrices; NULL: nobody does. GSRT_OK | GSRT_ECANCELED | GSRT_ENOMEM. As gsrt_narrow_weights. */
GSRT_MUST_CHECK gsrt_status gsrt_lowered_narrow(const gsrt_lowered *lowered, const gsrt_weights *weights,
                                                const atomic_bool *is_cancelled);

/* A drill: double what is narrowed, scale by scale (of f16 and bf16: number by number), where that stays finite.
 * Nothing may read it meanwhile, and none of it may have been packed. O(narrowed bytes). */
void gsrt_lowered_corrupt(gsrt_lowered *lowered);

#endif
