/* A snapshot: the KV of the requests that were open at one moment, on disk, free of any placement: cells keyed by
 * (request, layer, KV head, block), each K then V [GSRT_KV_BLOCK_POSITIONS, head_dim] f32, whole blocks only. Ranks
 * that hold other layers and heads than those that wrote it read what they need of it.
 *
 *     DIRECTORY/snapshots/N.part/S-M       one part per member of each stage, durable before it is announced
 *     DIRECTORY/snapshots/N.part/manifest  what the parts are, with their hashes; written when all are durable
 *     DIRECTORY/snapshots/N/               the same, renamed: committed
 *
 * Two phases: each writer makes its part durable (gsrt_snapshot_part_store) and says so; then the leader commits
 * (gsrt_snapshot_commit). What dies in between is never read, and removed by a later commit. The snapshot before the
 * newest is kept: a damaged one is refused by name, and the one before it is as good, only older.
 * docs/adr/0009-snapshot.md
 *
 * Files, little-endian: a part is "gsrtsnpP", u64 number, u32 head_dim, u32 cell_count, cells [cell_count] of u32
 * {request, layer, head, block}, strictly ascending, then the cells' floats. A manifest is "gsrtsnpM", u64 number, u32
 * {layer_count, kv_head_count, head_dim, request_count, part_count, 0}, requests [request_count] of u32 {request,
 * block_count}, ascending, parts [part_count] of {u32 stage, u32 member, u64 bytes, u64 xxh3}, ascending, u64 xxh3 of
 * all that. Another layout has another magic. Thread: one at a time for each object; the writer of a part is a thread
 * of its own. All but `cell` may block.
 */
#ifndef GSRT_CKPT_SNAPSHOT_H
#define GSRT_CKPT_SNAPSHOT_H

#include "base/buffer.h"
#include "base/diag.h"

typedef struct gsrt_snapshot_shape {
    uint32_t layer_count, kv_head_count, head_dim; /* of the model */
} gsrt_snapshot_shape;

typedef struct gsrt_snapshot_cell {
    uint32_t request, layer, head, block; /* layer and head of the model; block: from 0, of the request */
} gsrt_snapshot_cell;

/* ---- the bytes of a part: in a file, or the payload of a CELLS ---- */

typedef struct gsrt_snapshot_cells {
    uint8_t *data;
    uint32_t head_dim, cell_count, added;
} gsrt_snapshot_cells;

/* What a part with so many cells takes; 0: more than there can be. */
size_t gsrt_snapshot_cells_bytes(uint32_t head_dim, uint32_t cell_count);
/* Begin a part in `data`, [gsrt_snapshot_cells_bytes], borrowed. */
void gsrt_snapshot_cells_begin(gsrt_snapshot_cells *cells, uint8_t *data, uint64_t number, uint32_t head_dim,
                               uint32_t cell_count);
/* The next cell, above the one before: copy its K and V to *out_k and *out_v, [GSRT_KV_BLOCK_POSITIONS, head_dim] each.
 * Exactly cell_count times. */
void gsrt_snapshot_cells_add(gsrt_snapshot_cells *cells, const gsrt_snapshot_cell *cell, float **out_k, float **out_v);

/* ---- a part, in the making ---- */

typedef struct gsrt_snapshot_part gsrt_snapshot_part;

/* Room for cell_count cells. Owned; NULL: no memory. */
gsrt_snapshot_part *gsrt_snapshot_part_create(uint64_t number, uint32_t head_dim, uint32_t cell_count);
/* Its bytes, to which its cells are added, cell_count times; borrowed. */
gsrt_snapshot_cells *gsrt_snapshot_part_cells(gsrt_snapshot_part *part);
/* Its bytes, all cells added; borrowed. For tests; store writes them. */
gsrt_span gsrt_snapshot_part_bytes(const gsrt_snapshot_part *part);

/* Called once, on the writer's thread: the part is durable (GSRT_OK, with its size and hash), or is not. */
typedef void gsrt_snapshot_stored_fn(void *arg, uint64_t number, gsrt_status status, uint64_t bytes, uint64_t hash);
/* Make it durable as the part of (stage, member) below `directory`, beside the caller: `done` says when. Then
 * gsrt_snapshot_part_free. GSRT_OK: done will run once | GSRT_ENOMEM | GSRT_ELIMIT: the path: it will not. */
GSRT_MUST_CHECK gsrt_status gsrt_snapshot_part_store(gsrt_snapshot_part *part, const char *directory, uint32_t stage,
                                                     uint32_t member, gsrt_snapshot_stored_fn *done, void *arg);
/* Waits for the writer. Accepts NULL; returns NULL. */
gsrt_snapshot_part *gsrt_snapshot_part_free(gsrt_snapshot_part *part);

/* ---- the manifest ---- */

typedef struct gsrt_snapshot_request {
    uint32_t request, block_count; /* leading whole blocks */
} gsrt_snapshot_request;

typedef struct gsrt_snapshot_file {
    uint32_t stage, member;
    uint64_t bytes, hash;
} gsrt_snapshot_file;

typedef struct gsrt_snapshot_manifest {
    uint64_t number;
    gsrt_snapshot_shape shape;
    const gsrt_snapshot_request *requests; /* [request_count], ascending by request */
    const gsrt_snapshot_file *files;       /* [file_count], ascending by stage and member */
    uint32_t request_count, file_count;
} gsrt_snapshot_manifest;

GSRT_MUST_CHECK gsrt_status gsrt_snapshot_manifest_write(const gsrt_snapshot_manifest *manifest, gsrt_buffer *out);
/* `bytes`, aligned to 8, are borrowed by *out. GSRT_OK | GSRT_EINPUT: *diag. */
GSRT_MUST_CHECK gsrt_status gsrt_snapshot_manifest_read(gsrt_span bytes, const char *file, gsrt_snapshot_manifest *out,
                                                        gsrt_diag *diag);
/* The cells of a part: `bytes`, aligned to 8, borrowed. GSRT_OK | GSRT_EINPUT: *diag. */
typedef struct gsrt_snapshot_view {
    const gsrt_snapshot_cell *cells; /* [cell_count] */
    const float *floats;             /* of cell i: from i * 2 * GSRT_KV_BLOCK_POSITIONS * head_dim on */
    uint32_t cell_count, head_dim;
    uint64_t number;
} gsrt_snapshot_view;
GSRT_MUST_CHECK gsrt_status gsrt_snapshot_view_read(gsrt_span bytes, const char *file, gsrt_snapshot_view *out,
                                                    gsrt_diag *diag);

/* All parts are durable: commit, and remove all but this snapshot and the newest before it.
 * GSRT_OK | GSRT_EIO | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_snapshot_commit(const char *directory, const gsrt_snapshot_manifest *manifest,
                                                 gsrt_diag *diag);
/* One more than any that is there, committed or not; 1 where there is none. */
uint64_t gsrt_snapshot_next_number(const char *directory);

/* ---- reading ---- */

typedef struct gsrt_snapshot gsrt_snapshot;

/* Map snapshot `number`. is_checked: read all of it: hashes, and that the parts hold every cell of every request
 * exactly once; else only as much as reading needs. *out owned. GSRT_OK | GSRT_EINPUT: damaged, *diag says where |
 * GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_snapshot_open(const char *directory, uint64_t number, bool is_checked,
                                               gsrt_snapshot **out, gsrt_diag *diag);
/* The newest one that passes the check and is of this shape; `refused` is told of each newer one that does not. *out
 * owned; NULL: there is none. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_snapshot_find(const char *directory, const gsrt_snapshot_shape *shape,
                                               void (*refused)(void *arg, uint64_t number, const char *why), void *arg,
                                               gsrt_snapshot **out);
gsrt_snapshot *gsrt_snapshot_free(gsrt_snapshot *snapshot); /* accepts NULL; returns NULL */
const gsrt_snapshot_manifest *gsrt_snapshot_manifest_of(const gsrt_snapshot *snapshot);
/* Leading blocks of `request` that it holds; 0: none. */
uint32_t gsrt_snapshot_blocks(const gsrt_snapshot *snapshot, uint32_t request);
/* K and V of a cell, borrowed from the snapshot; false: it is not there. O(parts * log cells). */
bool gsrt_snapshot_get(const gsrt_snapshot *snapshot, const gsrt_snapshot_cell *cell, const float **out_k,
                       const float **out_v);

#endif
