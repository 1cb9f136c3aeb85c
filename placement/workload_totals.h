/* What a workload amounts to, and how it looks: sums over the op list, and the op list for people. */
#ifndef GSRT_PLACEMENT_WORKLOAD_TOTALS_H
#define GSRT_PLACEMENT_WORKLOAD_TOTALS_H

#include "base/buffer.h"
#include "placement/workload.h"

/* What kind of work an op is: the throughput of an engine is known per (class, dtype). */
typedef enum gsrt_op_class {
    GSRT_OP_CLASS_LOOKUP,      /* rows of a table: EMBED, POSITION */
    GSRT_OP_CLASS_MATRIX,      /* one matrix for all rows: LINEAR, LOGITS, ROUTE */
    GSRT_OP_CLASS_EXPERT,      /* another matrix for each (token, expert): EXPERT_LINEAR */
    GSRT_OP_CLASS_ATTENTION,   /* all positions so far: ATTENTION, LATENT_ATTENTION */
    GSRT_OP_CLASS_ELEMENTWISE, /* the rest */
} gsrt_op_class;
enum { GSRT_OP_CLASS_COUNT = GSRT_OP_CLASS_ELEMENTWISE + 1 };

gsrt_op_class gsrt_op_class_of(gsrt_op_kind kind);
const char *gsrt_op_class_name(gsrt_op_class op_class);

typedef struct gsrt_workload_totals {
    uint64_t parameters;           /* all; the same as workload->parameter_count */
    uint64_t parameters_active;    /* of one token: all but the experts that it does not choose. Tables count whole, as
                                      makers of models count (OpenAI leaves the embedding out: subtract the next) */
    uint64_t parameters_embedding; /* of tables that are looked up only; 0 where the output is tied */
    uint64_t weight_bytes;         /* of all parameters, in their formats */
    uint64_t state_bytes_per_position;       /* of one sequence, while no window is full */
    uint64_t state_bytes_per_position_later; /* when all windows are full: of the states without one */
    uint32_t op_counts[GSRT_OP_CLASS_COUNT];
} gsrt_workload_totals;

/* Of a checked workload. GSRT_OK | GSRT_ENOMEM. Cost: O(ops + tensors). */
GSRT_MUST_CHECK gsrt_status gsrt_workload_totals_of(const gsrt_workload *workload, gsrt_workload_totals *out);

/* Bytes of all states of one sequence of `positions` positions. */
uint64_t gsrt_workload_state_bytes(const gsrt_workload *workload, uint32_t positions);

/* Append the op list for people: one block per region, layers that are alike in one block. Of a checked workload.
 * Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_workload_print(const gsrt_workload *workload, gsrt_buffer *out);

#endif
