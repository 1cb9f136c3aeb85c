/* A replica: KV cells of open requests in the memory of a rank, its own and those of other ranks that it protects. Held
 * as they came, parts of a snapshot (ckpt/snapshot.h) of one request and one block each, and found by cell. What it
 * holds lets a later view restore instead of computing again, and nothing else depends on it: what finds no room is
 * left out. A cell follows from the request's tokens alone, so that whoever computed it computed the same bits, and one
 * that is there already is not replaced.
 *
 * Pure: no clock, no I/O. Thread: one at a time. Memory: bytes_max of parts that were taken with is_bounded, and the
 * parts that were asked for by name (a gathering: as much as the KV that they are for). Legal order: create, put, get,
 * forget ... in any number, free. docs/adr/0010-replica.md
 */
#ifndef GSRT_CKPT_REPLICA_H
#define GSRT_CKPT_REPLICA_H

#include "ckpt/snapshot.h"
#include "mailbox/payload.h"

typedef struct gsrt_replica gsrt_replica;

typedef struct gsrt_replica_facts {
    uint64_t bytes, bytes_highest; /* held now, and at most */
    uint64_t left_out;             /* parts that found no room */
} gsrt_replica_facts;

/* Owned; NULL: no memory. */
gsrt_replica *gsrt_replica_create(const gsrt_snapshot_shape *shape, size_t bytes_max);
gsrt_replica *gsrt_replica_free(gsrt_replica *replica); /* accepts NULL; returns NULL */

/* Take a part: ref'ed, and not to be changed any more. is_bounded: only while there is room, and only of requests that
 * are not over (forget). *out its cells, borrowed from the payload; may be NULL.
 * GSRT_OK: it is held, by this part or another | GSRT_EINPUT: it is no part with cells of one request and block of this
 * model | GSRT_EFULL: left out | GSRT_ESTATE: the request is over | GSRT_ENOMEM. O(cells). */
GSRT_MUST_CHECK gsrt_status gsrt_replica_put(gsrt_replica *replica, gsrt_payload *part, bool is_bounded,
                                             gsrt_snapshot_view *out);
/* There is room for so many bytes more. */
bool gsrt_replica_has_room(const gsrt_replica *replica, size_t bytes);
/* The request is over: its cells go, and later ones are not taken. */
void gsrt_replica_forget(gsrt_replica *replica, uint32_t request);

/* K and V of a cell, as gsrt_snapshot_get; borrowed until the request is forgotten. O(parts of its block * log cells).
 */
bool gsrt_replica_get(const gsrt_replica *replica, const gsrt_snapshot_cell *cell, const float **out_k,
                      const float **out_v);
/* The part that holds a cell; borrowed likewise. NULL: none. */
gsrt_payload *gsrt_replica_part_of(const gsrt_replica *replica, const gsrt_snapshot_cell *cell);
/* Leading blocks of `request` that are held, [layer_count * kv_head_count] by layer, then head; borrowed until the next
 * put or forget. NULL: none. O(1). */
const uint32_t *gsrt_replica_counts(const gsrt_replica *replica, uint32_t request);
/* Append what is held, as numbers for a PRESENT (ckpt/holdings.h): at most number_max numbers; requests that do not fit
 * are left out. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_replica_tell(const gsrt_replica *replica, uint32_t number_max, gsrt_buffer *out);
void gsrt_replica_read_facts(const gsrt_replica *replica, gsrt_replica_facts *out);

#endif
