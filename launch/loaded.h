/* A model file and all that follows from it, as one rank holds it. Read-only after open. */
#ifndef GSRT_LAUNCH_LOADED_H
#define GSRT_LAUNCH_LOADED_H

#include "model/manifest.h"
#include "model/tokenizer.h"
#include "model/weights.h"

typedef struct gsrt_loaded {
    gsrt_gguf *gguf;
    gsrt_workload *workload;
    gsrt_weights *weights;
    gsrt_tokenizer *tokenizer; /* NULL: the file has none */
    gsrt_manifest manifest;
} gsrt_loaded;

/* Map, check and import. is_hashed: compare with the manifest too (one rank does). On error nothing is held.
 * GSRT_OK | GSRT_EINPUT (*diag) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_loaded_open(const char *path, bool is_hashed, gsrt_loaded *out, gsrt_diag *diag);
void gsrt_loaded_close(gsrt_loaded *loaded);

#endif
