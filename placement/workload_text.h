/* The workload as text: versioned, one record a line, read and written exactly.
 *
 *   gsrt-workload 1
 *   workload name="tiny" architecture="llama" layers=5 ...
 *   tensor name="token_embd.weight" dtype=q8_0 stack=1 rows=512 columns=64 ...
 *   value name="embed.x" width=64
 *   state name="blk.0.kv" dtype=f32 key_width=32 value_width=32
 *   op kind=rope region=1 layer=0 in0=2 out=2 head_dim=8
 *   rope rotated=8 base=10000 scale=1            (of the op before; routing likewise)
 *   region name="embed" first=0 count=1 out=0 phases=prefill+decode ...
 *   end
 *
 * Records in this order; the n-th of a kind has index n - 1. Keys in the order of the tables in workload_fields.c; a
 * key that is absent has its neutral value (0, false, the first name, no index), and one with its neutral value is
 * absent. Texts are printable ASCII, other bytes as \xHH; real numbers have the fewest digits that give the same float
 * back. So there is one text for one workload: reading and writing again gives the same bytes, and whatever is written
 * in another way is refused.
 */
#ifndef GSRT_PLACEMENT_WORKLOAD_TEXT_H
#define GSRT_PLACEMENT_WORKLOAD_TEXT_H

#include "base/buffer.h"
#include "placement/workload.h"

enum { GSRT_WORKLOAD_TEXT_VERSION = 1 };

/* Append the text of a checked workload. Errors as gsrt_buffer_append. test  tests/placement/workload_text_test.c */
GSRT_MUST_CHECK gsrt_status gsrt_workload_write(const gsrt_workload *workload, gsrt_buffer *out);

/* Read and check a text; hostile until then. *out owned: gsrt_workload_free. `file` is named in *diag, with the line.
 * GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. Cost: O(bytes). */
GSRT_MUST_CHECK gsrt_status gsrt_workload_read(gsrt_span text, const char *file, gsrt_workload **out, gsrt_diag *diag);

/* Which workload is it? XXH3 (128 bits) of its text: equal for equal workloads, on every machine and in every version
 * of the program that writes this version of the text. */
typedef struct gsrt_workload_hash {
    uint64_t low, high;
} gsrt_workload_hash;
GSRT_MUST_CHECK gsrt_status gsrt_workload_hash_of(const gsrt_workload *workload, gsrt_workload_hash *out);

/* Append the names of the bits that are set, joined by '+'; "-" where none is. Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_workload_print_phases(uint32_t phases, gsrt_buffer *out);
GSRT_MUST_CHECK gsrt_status gsrt_workload_print_legal(uint32_t legal, gsrt_buffer *out);
GSRT_MUST_CHECK gsrt_status gsrt_workload_print_effects(uint32_t effects, gsrt_buffer *out);

#endif
