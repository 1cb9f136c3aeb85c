/* Within placement/ only: what the files that check a workload share. */
#ifndef GSRT_PLACEMENT_WORKLOAD_IMPL_H
#define GSRT_PLACEMENT_WORKLOAD_IMPL_H

#include "placement/workload.h"

typedef struct gsrt__workload_check {
    const gsrt_workload *workload;
    const char *file;
    gsrt_diag *diag;
    uint32_t *writer; /* [value_count]: op that wrote it last, GSRT_NO_INDEX = none yet */
    bool *is_read;    /* [value_count] */
    bool *is_written; /* [state_count] */
    bool *is_used;    /* [tensor_count] */
} gsrt__workload_check;

/* Set the diag, with the remedy, and return GSRT_EINPUT. */
gsrt_status gsrt__workload_fail(const gsrt__workload_check *c, const char *place, const char *what);
gsrt_status gsrt__workload_fail_op(const gsrt__workload_check *c, const gsrt_op *op, const char *what);

/* Rule 5. Inputs that are named, and the output, are known to exist. */
GSRT_MUST_CHECK gsrt_status gsrt__workload_check_shape(const gsrt__workload_check *c, const gsrt_op *op);

#endif
