/* Is this the file that its maker meant? Beside MODEL.gguf may stand MODEL.gguf.xxh3: one line, the XXH3 128-bit hash
 * of the whole file in 32 hexadecimal digits, two spaces, the file's name, as `xxhsum -H2` writes it.
 *
 * A file can be well formed and still hold other numbers than meant (a bit flipped on disk, weights in another order):
 * no check of the format finds that, and a model cannot vouch for itself. Only the manifest can.
 */
#ifndef GSRT_MODEL_MANIFEST_H
#define GSRT_MODEL_MANIFEST_H

#include "model/gguf.h"

typedef struct gsrt_manifest {
    bool is_present;              /* false: there is no manifest, nothing was checked */
    uint64_t hash_low, hash_high; /* of the file; 0 when nothing was checked */
    uint64_t hashed_bytes;        /* what checking read: the whole file */
    uint64_t hash_ns;             /* how long it took */
} gsrt_manifest;

/* Compare the file behind `gguf` with its manifest, where there is one.
 * out      what was done.
 * returns  GSRT_OK (equal, or no manifest) | GSRT_EINPUT (*diag: the hash differs, or the manifest is unreadable).
 * cost     reads the whole file once when there is a manifest: about 10 GB/s from memory, the disk's rate otherwise.
 * test     tests/model/manifest_test.c
 */
GSRT_MUST_CHECK gsrt_status gsrt_manifest_check(const gsrt_gguf *gguf, gsrt_manifest *out, gsrt_diag *diag);

#endif
