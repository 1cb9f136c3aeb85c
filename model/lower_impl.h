/* Inside model/: the state of one lowering, shared by lower.c (values, exchanges, products) and lower_ops.c (the walk
 * over the op list). */
#ifndef GSRT_MODEL_LOWER_IMPL_H
#define GSRT_MODEL_LOWER_IMPL_H

#include "model/lower.h"
#include "model/narrow.h"
#include "placement/contract.h"

enum { GSRT__SLOTS_MAX = 256 };

/* What a matrix reads instead of rows of the file. */
struct gsrt__lowered_rows {
    gsrt_narrowing what;
    uint8_t *bytes; /* owned */
};

typedef struct gsrt__range {
    uint32_t first, count; /* elements */
} gsrt__range;

/* The slots in which a value is at hand; GSRT_NO_SLOT: not in this form. */
typedef struct gsrt__held {
    uint16_t share, whole, share_q8, whole_q8;
    uint32_t last_use; /* op that reads it last */
} gsrt__held;

typedef struct gsrt__lowering {
    const gsrt_workload *workload;
    gsrt_weights *weights;
    const gsrt_plan *plan;
    const gsrt_plan_stage *stage;
    gsrt_region_choice *choices; /* [region_count]: the formats of the plan */
    uint32_t member, member_count;
    uint32_t context_max;
    gsrt_lowered *out;
    gsrt_status status; /* sticky */
    bool is_wanted;     /* rows are the wanted rows from here on */
    gsrt__held *held;   /* [value_count] */
    gsrt_slot slots[GSRT__SLOTS_MAX];
    bool is_slot_free[GSRT__SLOTS_MAX];
    uint32_t slot_count;
    gsrt_instr *instrs; /* grown by powers of two, like the two below */
    uint32_t instr_count, segment_first;
    gsrt_lowered_segment *segments;
    uint32_t segment_count;
    gsrt_lowered_exchange *exchanges;
    uint32_t exchange_count;
} gsrt__lowering;

bool gsrt__lower_grow(gsrt__lowering *l, void **array, uint32_t count, size_t size);
void gsrt__lower_narrow(gsrt__lowering *l, const gsrt_op *op, gsrt__range rows, gsrt__range k, gsrt_matrix *matrix);
void gsrt__lower_narrowed_free(gsrt_lowered *lowered);
gsrt__range gsrt__share_of(const gsrt__lowering *l, uint32_t value, uint32_t member);
bool gsrt__is_split(const gsrt__lowering *l, uint32_t value);
uint16_t gsrt__new_slot(gsrt__lowering *l, gsrt_slot_format format, uint32_t width);
void gsrt__release_slot(gsrt__lowering *l, uint16_t slot);
gsrt_instr gsrt__blank_instr(gsrt_instr_kind kind, uint16_t in, uint16_t out);
void gsrt__emit(gsrt__lowering *l, const gsrt_instr *instr);
uint16_t gsrt__need_whole(gsrt__lowering *l, uint32_t value);
void gsrt__lower_linear(gsrt__lowering *l, const gsrt_op *op);
void gsrt__lower_logits(gsrt__lowering *l, const gsrt_op *op);
const float *gsrt__lower_vector(gsrt__lowering *l, uint32_t tensor);
gsrt_matrix *gsrt__lower_embedding(gsrt__lowering *l, const gsrt_op *op);
gsrt_status gsrt__lower_finish(gsrt__lowering *l);

#endif
