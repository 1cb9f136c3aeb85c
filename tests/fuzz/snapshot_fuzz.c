/* Any bytes as a part and as a manifest of a snapshot: what is accepted is within its bytes, and means what it says.
 * The manifest's checksum would hide the rest from the fuzzer, so the bytes are tried with the right one too. */
#include "ckpt/snapshot.h"

#include "base/limits.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_manifest(gsrt_span bytes)
{
    gsrt_snapshot_manifest manifest;
    gsrt_diag diag = {0};
    gsrt_buffer again;
    gsrt_status status = gsrt_snapshot_manifest_read(bytes, "fuzz", &manifest, &diag);
    if ((status == GSRT_OK) == (diag.status != GSRT_OK))
        abort();
    if (status != GSRT_OK)
        return;
    gsrt_buffer_init(&again, 1u << 26);
    if (gsrt_snapshot_manifest_write(&manifest, &again) != GSRT_OK || again.len != bytes.len ||
        memcmp(again.data, bytes.data, again.len) != 0)
        abort();
    gsrt_buffer_fini(&again);
}

static void read_part(gsrt_span bytes)
{
    gsrt_snapshot_view view;
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_snapshot_view_read(bytes, "fuzz", &view, &diag);
    if ((status == GSRT_OK) == (diag.status != GSRT_OK))
        abort();
    if (status != GSRT_OK)
        return;
    size_t count = (size_t)view.cell_count * 2 * GSRT_KV_BLOCK_POSITIONS * view.head_dim;
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &view.floats[i], sizeof bits);
        sum += bits;
    }
    for (uint32_t i = 0; i < view.cell_count; i++)
        sum += view.cells[i].block;
    volatile uint32_t kept = sum;
    (void)kept;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 8); /* aligned, and just as long as it says */
    if (copy == NULL)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    read_part(gsrt_span_of(copy, size));
    read_manifest(gsrt_span_of(copy, size));
    if (size >= sizeof(uint64_t)) {
        uint64_t hash = XXH3_64bits(copy, size - sizeof hash);
        memcpy(copy + size - sizeof hash, &hash, sizeof hash);
        read_manifest(gsrt_span_of(copy, size));
    }
    free(copy);
    return 0;
}
