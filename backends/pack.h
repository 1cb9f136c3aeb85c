/* Inside backends: matrices in a kernel's own layout. The layouts are the kernels'; this is the memory and its life:
 *   absent -> being filled (gsrt_packing, by one thread, panel by panel) -> published (read by all) -> unpacked
 */
#ifndef GSRT_BACKENDS_PACK_H
#define GSRT_BACKENDS_PACK_H

#include "backends/kernels.h"

struct gsrt_packed {
    gsrt_isa isa;
    size_t bytes;
    uint8_t *data; /* owned; gsrt__pages_create */
};

/* One matrix while it is being packed. */
typedef struct gsrt_packing {
    const gsrt_kernels *kernels;
    gsrt_matrix *matrix; /* borrowed */
    struct gsrt_packed *packed;
    uint32_t panel_next, panel_count;
} gsrt_packing;

/* GSRT_OK; GSRT_EUNSUPPORTED: this matrix has no packed form or is packed already; GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__packing_start(gsrt_packing *packing, const gsrt_kernels *kernels,
                                                gsrt_matrix *matrix);
/* Pack the next panel; true when that was the last one and the matrix now shows it. */
bool gsrt__packing_step(gsrt_packing *packing);
/* Give up half way. */
void gsrt__packing_drop(gsrt_packing *packing);

/* The packed data of `matrix` for `isa`, or NULL. */
const uint8_t *gsrt__packed_data(const gsrt_matrix *matrix, gsrt_isa isa);

#endif
