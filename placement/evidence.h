/* evidence.json: what was measured of transformations on real weights (docs/schemas/evidence.schema.json).
 *
 * Read as hostile, written the same way every time: the same evidence gives the same bytes, and they read back as the
 * same evidence. Thread: one at a time.
 */
#ifndef GSRT_PLACEMENT_EVIDENCE_H
#define GSRT_PLACEMENT_EVIDENCE_H

#include "base/buffer.h"
#include "placement/contract.h"

typedef struct gsrt_evidence_list {
    gsrt_arena arena;     /* of everything below */
    gsrt_evidence *items; /* [count] */
    size_t count, capacity;
} gsrt_evidence_list;

void gsrt_evidence_list_init(gsrt_evidence_list *list);
void gsrt_evidence_list_fini(gsrt_evidence_list *list);

/* Append a copy of *item, texts and all. GSRT_OK | GSRT_EINPUT: it is no evidence (*diag says why: empty sets, figures
 * that are no numbers, a region twice) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_evidence_list_add(gsrt_evidence_list *list, const gsrt_evidence *item,
                                                   gsrt_diag *diag);

/* Append what the document holds. `file` is named in *diag. On error nothing is appended.
 * GSRT_OK | GSRT_EINPUT (file, place, remedy) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_evidence_list_read(gsrt_evidence_list *list, gsrt_span json, const char *file,
                                                    gsrt_diag *diag);

/* Append the document. Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_evidence_list_print(const gsrt_evidence_list *list, gsrt_buffer *out);

#endif
