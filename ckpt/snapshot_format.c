/* Bytes and meaning: manifests and parts. */
#include "ckpt/snapshot_impl.h"

#include "base/limits.h"

#include <inttypes.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* As they lie in the file; a big-endian machine would need another reader. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "snapshots are little-endian");
_Static_assert(sizeof(gsrt_snapshot_cell) == 16 && sizeof(gsrt_snapshot_request) == 8 &&
                   sizeof(gsrt_snapshot_file) == 24,
               "they are read in place");

typedef struct part_head {
    char magic[8];
    uint64_t number;
    uint32_t head_dim, cell_count;
} part_head;
_Static_assert(sizeof(part_head) == 24, "it is read in place");

typedef struct manifest_head {
    char magic[8];
    uint64_t number;
    uint32_t layer_count, kv_head_count, head_dim, request_count, part_count, zero;
} manifest_head;
_Static_assert(sizeof(manifest_head) == 40, "it is read in place");

static const char part_magic[8] = {'g', 's', 'r', 't', 's', 'n', 'p', 'P'};
static const char manifest_magic[8] = {'g', 's', 'r', 't', 's', 'n', 'p', 'M'};

enum { CELL_COUNT_MAX = 1 << 28, HEAD_DIM_MAX = 65536 };

/* ---- manifests ---- */

gsrt_status gsrt_snapshot_manifest_write(const gsrt_snapshot_manifest *manifest, gsrt_buffer *out)
{
    size_t first = out->len;
    manifest_head head = {.number = manifest->number,
                          .layer_count = manifest->shape.layer_count,
                          .kv_head_count = manifest->shape.kv_head_count,
                          .head_dim = manifest->shape.head_dim,
                          .request_count = manifest->request_count,
                          .part_count = manifest->file_count};
    memcpy(head.magic, manifest_magic, sizeof head.magic);
    gsrt_status status = gsrt_buffer_append(out, &head, sizeof head);
    if (status == GSRT_OK)
        status = gsrt_buffer_append(out, manifest->requests, manifest->request_count * sizeof *manifest->requests);
    if (status == GSRT_OK)
        status = gsrt_buffer_append(out, manifest->files, manifest->file_count * sizeof *manifest->files);
    if (status != GSRT_OK)
        return status;
    uint64_t hash = XXH3_64bits(out->data + first, out->len - first);
    return gsrt_buffer_append(out, &hash, sizeof hash);
}

static const char *manifest_fault(const manifest_head *head, const gsrt_snapshot_manifest *m)
{
    if (head->zero != 0 || m->shape.layer_count == 0 || m->shape.layer_count > GSRT_LAYER_COUNT_MAX ||
        m->shape.kv_head_count == 0 || m->shape.kv_head_count > HEAD_DIM_MAX || m->shape.head_dim == 0 ||
        m->shape.head_dim > HEAD_DIM_MAX)
        return "its shape cannot be that of a model";
    for (uint32_t i = 0; i < m->request_count; i++) {
        const gsrt_snapshot_request *r = &m->requests[i];
        if (r->request >= GSRT_REQUEST_COUNT_MAX || r->block_count == 0 ||
            r->block_count > GSRT_CONTEXT_MAX / GSRT_KV_BLOCK_POSITIONS || (i > 0 && r->request <= r[-1].request))
            return "its requests are not in order";
    }
    for (uint32_t i = 0; i < m->file_count; i++) {
        const gsrt_snapshot_file *f = &m->files[i];
        bool is_above = i == 0 || f->stage > f[-1].stage || (f->stage == f[-1].stage && f->member > f[-1].member);
        if (f->stage >= GSRT_STAGE_COUNT_MAX || f->member >= GSRT_GROUP_RANKS_MAX || !is_above)
            return "its parts are not in order";
    }
    return NULL;
}

gsrt_status gsrt_snapshot_manifest_read(gsrt_span bytes, const char *file, gsrt_snapshot_manifest *out, gsrt_diag *diag)
{
    manifest_head head;
    uint64_t hash;
    if (bytes.len < sizeof head + sizeof hash)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "it is cut off");
    memcpy(&head, bytes.data, sizeof head);
    if (memcmp(head.magic, manifest_magic, sizeof head.magic) != 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "it is no manifest of a snapshot of this version");
    uint64_t wanted = sizeof head + sizeof hash + (uint64_t)head.request_count * sizeof(gsrt_snapshot_request) +
                      (uint64_t)head.part_count * sizeof(gsrt_snapshot_file);
    if (bytes.len != wanted)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "it has %zu bytes, and should have %" PRIu64, bytes.len,
                             wanted);
    memcpy(&hash, bytes.data + bytes.len - sizeof hash, sizeof hash);
    if (hash != XXH3_64bits(bytes.data, bytes.len - sizeof hash))
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "its checksum is wrong");
    gsrt_snapshot_manifest m = {
        .number = head.number,
        .shape = {.layer_count = head.layer_count, .kv_head_count = head.kv_head_count, .head_dim = head.head_dim},
        .requests = (const gsrt_snapshot_request *)(const void *)(bytes.data + sizeof head),
        .request_count = head.request_count,
        .file_count = head.part_count};
    m.files = (const gsrt_snapshot_file *)(const void *)(m.requests + m.request_count);
    const char *fault = manifest_fault(&head, &m);
    if (fault != NULL)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "%s", fault);
    *out = m;
    return GSRT_OK;
}

/* ---- parts ---- */

size_t gsrt_snapshot_cells_bytes(uint32_t head_dim, uint32_t cell_count)
{
    size_t bytes, cell_bytes = sizeof(gsrt_snapshot_cell) + 2 * GSRT_KV_BLOCK_POSITIONS * head_dim * sizeof(float);
    if (head_dim == 0 || head_dim > HEAD_DIM_MAX || cell_count > CELL_COUNT_MAX ||
        !gsrt_size_mul(cell_count, cell_bytes, &bytes))
        return 0;
    return sizeof(part_head) + bytes;
}

void gsrt_snapshot_cells_begin(gsrt_snapshot_cells *cells, uint8_t *data, uint64_t number, uint32_t head_dim,
                               uint32_t cell_count)
{
    part_head head = {.number = number, .head_dim = head_dim, .cell_count = cell_count};
    memcpy(head.magic, part_magic, sizeof head.magic);
    memcpy(data, &head, sizeof head);
    *cells = (gsrt_snapshot_cells){.data = data, .head_dim = head_dim, .cell_count = cell_count};
}

void gsrt_snapshot_cells_add(gsrt_snapshot_cells *cells, const gsrt_snapshot_cell *cell, float **out_k, float **out_v)
{
    size_t floats = (size_t)GSRT_KV_BLOCK_POSITIONS * cells->head_dim;
    uint8_t *keys = cells->data + sizeof(part_head);
    float *first = (float *)(void *)(keys + cells->cell_count * sizeof *cell);
    memcpy(keys + cells->added * sizeof *cell, cell, sizeof *cell);
    *out_k = first + cells->added * 2 * floats;
    *out_v = *out_k + floats;
    cells->added += 1;
}

static bool is_ascending(const gsrt_snapshot_cell *cells, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (gsrt__snapshot_compare(&cells[i - 1], &cells[i]) >= 0)
            return false;
    }
    return true;
}

gsrt_status gsrt_snapshot_view_read(gsrt_span bytes, const char *file, gsrt_snapshot_view *out, gsrt_diag *diag)
{
    part_head head;
    if (bytes.len < sizeof head)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "it is cut off");
    memcpy(&head, bytes.data, sizeof head);
    if (memcmp(head.magic, part_magic, sizeof head.magic) != 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "it is no part of a snapshot of this version");
    if (head.head_dim == 0 || head.head_dim > HEAD_DIM_MAX || head.cell_count > CELL_COUNT_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "its shape cannot be that of a model");
    uint64_t cell_bytes = 2ull * GSRT_KV_BLOCK_POSITIONS * head.head_dim * sizeof(float);
    uint64_t wanted = sizeof head + head.cell_count * (sizeof(gsrt_snapshot_cell) + cell_bytes);
    if (bytes.len != wanted)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "it has %zu bytes, and should have %" PRIu64, bytes.len,
                             wanted);
    gsrt_snapshot_view view = {.cells = (const gsrt_snapshot_cell *)(const void *)(bytes.data + sizeof head),
                               .cell_count = head.cell_count,
                               .head_dim = head.head_dim,
                               .number = head.number};
    view.floats = (const float *)(const void *)(view.cells + view.cell_count);
    if (!is_ascending(view.cells, view.cell_count))
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "its cells are not in order");
    *out = view;
    return GSRT_OK;
}

int gsrt__snapshot_compare(const gsrt_snapshot_cell *a, const gsrt_snapshot_cell *b)
{
    if (a->request != b->request)
        return a->request < b->request ? -1 : 1;
    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    if (a->head != b->head)
        return a->head < b->head ? -1 : 1;
    return a->block == b->block ? 0 : a->block < b->block ? -1 : 1;
}
