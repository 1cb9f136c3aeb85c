/* msgpack: a writer over msgpack-c, and a strict reader of our own that never allocates (docs/adr/0006-msgpack.md).
 *
 * Both are cursors with a sticky error: write or read straight through, check once at the end.
 *
 *     gsrt_pack_init(&pack, &buffer);              gsrt_unpack_init(&unpack, span);
 *     gsrt_pack_array(&pack, 2);                   gsrt_unpack_record(&unpack, 2);
 *     gsrt_pack_uint(&pack, epoch);                uint64_t epoch = gsrt_unpack_uint(&unpack, UINT32_MAX);
 *     gsrt_pack_text(&pack, "reason");             gsrt_span why = gsrt_unpack_str(&unpack, GSRT_NAME_BYTES_MAX);
 *     status = gsrt_pack_end(&pack);               status = gsrt_unpack_end(&unpack);
 *
 * After a failure every read returns 0, false or an empty span and consumes nothing, so values read before the check
 * are harmless, but mean nothing: use them after gsrt_unpack_end or gsrt_unpack_is_ok said so. Loops over counts end by
 * themselves: a count is at most what the bytes that are left can hold.
 *
 * Thread: a cursor belongs to one thread. Cost: a few ns per value; no system call; no allocation but the growth of
 * the writer's buffer.
 */
#ifndef GSRT_BASE_MSGPACK_H
#define GSRT_BASE_MSGPACK_H

#include "base/buffer.h"
#include "base/limits.h"
#include "base/span.h"
#include "base/status.h"

/* ---- writer ---- */

typedef struct gsrt_pack {
    gsrt_buffer *buffer; /* appended to; borrowed until end; NULL when the room is fixed */
    uint8_t *room;       /* fixed room [capacity]; borrowed until end */
    size_t capacity;     /* bytes of room */
    size_t len;          /* bytes written since init */
    gsrt_status status;  /* the first error; later writes do nothing */
} gsrt_pack;

/* Append to `buffer`. */
void gsrt_pack_init(gsrt_pack *pack, gsrt_buffer *buffer);
/* Write into `room` [capacity]; too small is GSRT_ELIMIT at the end. */
void gsrt_pack_init_fixed(gsrt_pack *pack, void *room, size_t capacity);

void gsrt_pack_nil(gsrt_pack *pack);
void gsrt_pack_bool(gsrt_pack *pack, bool value);
void gsrt_pack_uint(gsrt_pack *pack, uint64_t value); /* shortest encoding */
void gsrt_pack_int(gsrt_pack *pack, int64_t value);   /* shortest encoding */
void gsrt_pack_f32(gsrt_pack *pack, float value);     /* bit exact, NaN payloads too */
void gsrt_pack_f64(gsrt_pack *pack, double value);    /* bit exact */
void gsrt_pack_str(gsrt_pack *pack, gsrt_span text);  /* without terminating zero */
void gsrt_pack_text(gsrt_pack *pack, const char *text);
void gsrt_pack_bin(gsrt_pack *pack, gsrt_span bytes);
/* Headers: `count` values (array) or `count` pairs of values (map) must follow. */
void gsrt_pack_array(gsrt_pack *pack, uint32_t count);
void gsrt_pack_map(gsrt_pack *pack, uint32_t count);

/* GSRT_OK: pack->len bytes were written. GSRT_ENOMEM | GSRT_ELIMIT: the room was too small; what was appended is cut
 * off again from a buffer, and unspecified in a fixed room. */
GSRT_MUST_CHECK gsrt_status gsrt_pack_end(gsrt_pack *pack);

/* ---- reader ---- */

typedef struct gsrt_unpack {
    gsrt_span span;  /* borrowed */
    size_t offset;   /* of the next value; after a failure, of the value that was refused */
    bool has_failed; /* sticky */
} gsrt_unpack;

/* What the next value is. */
typedef enum gsrt_unpack_type {
    GSRT_UNPACK_NONE, /* nothing is left, or the cursor has failed, or the byte is no msgpack type that we read (ext) */
    GSRT_UNPACK_NIL,
    GSRT_UNPACK_BOOL,
    GSRT_UNPACK_UINT, /* an integer >= 0 in an unsigned encoding */
    GSRT_UNPACK_INT,  /* an integer in a signed encoding */
    GSRT_UNPACK_F32,
    GSRT_UNPACK_F64,
    GSRT_UNPACK_STR,
    GSRT_UNPACK_BIN,
    GSRT_UNPACK_ARRAY,
    GSRT_UNPACK_MAP,
} gsrt_unpack_type;

static inline void gsrt_unpack_init(gsrt_unpack *unpack, gsrt_span span)
{
    *unpack = (gsrt_unpack){.span = span};
}

static inline bool gsrt_unpack_is_ok(const gsrt_unpack *unpack)
{
    return !unpack->has_failed;
}

/* Refuse the input from the outside, e.g. when two values contradict each other. */
static inline void gsrt_unpack_fail(gsrt_unpack *unpack)
{
    unpack->has_failed = true;
}

/* Bytes after the cursor; 0 after a failure. */
static inline size_t gsrt_unpack_left(const gsrt_unpack *unpack)
{
    return unpack->has_failed ? 0 : unpack->span.len - unpack->offset;
}

gsrt_unpack_type gsrt_unpack_peek(const gsrt_unpack *unpack);

/* Each reads one value of exactly that type, or fails. Integers of any width and signedness are accepted where the
 * value fits in min..max; longer encodings than needed are accepted; ext types never are. */
uint64_t gsrt_unpack_uint(gsrt_unpack *unpack, uint64_t max);
int64_t gsrt_unpack_int(gsrt_unpack *unpack, int64_t min, int64_t max);
bool gsrt_unpack_bool(gsrt_unpack *unpack);
void gsrt_unpack_nil(gsrt_unpack *unpack);
float gsrt_unpack_f32(gsrt_unpack *unpack);
double gsrt_unpack_f64(gsrt_unpack *unpack);
/* Borrowed from the span; at most bytes_max bytes. Text is not checked for UTF-8 and has no terminating zero. */
gsrt_span gsrt_unpack_str(gsrt_unpack *unpack, size_t bytes_max);
gsrt_span gsrt_unpack_bin(gsrt_unpack *unpack, size_t bytes_max);
/* The number of values (array) or pairs (map) that follow: at most count_max and GSRT_MSGPACK_ITEMS_MAX, and no more
 * than the bytes that are left can hold. */
uint32_t gsrt_unpack_array(gsrt_unpack *unpack, uint32_t count_max);
uint32_t gsrt_unpack_map(gsrt_unpack *unpack, uint32_t count_max);
/* An array header of exactly `count` values. */
void gsrt_unpack_record(gsrt_unpack *unpack, uint32_t count);

/* Pass over one whole value of any type but ext, nested at most GSRT_MSGPACK_DEPTH_MAX deep. Returns its bytes,
 * borrowed. Cost: O(bytes), no recursion. */
gsrt_span gsrt_unpack_skip(gsrt_unpack *unpack);

/* GSRT_OK: nothing failed and nothing is left. Else GSRT_EDECODE. */
GSRT_MUST_CHECK gsrt_status gsrt_unpack_end(gsrt_unpack *unpack);

#endif
