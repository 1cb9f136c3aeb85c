/* A GGUF model file, read only: its metadata, its tensor table, and where the tensors' bytes are.
 *
 * The file is mapped, not read: opening touches the header only, and texts and arrays stay where they are. Everything
 * is checked once, at opening, against the file's real size before anything is allocated; afterwards nothing in it can
 * send a reader outside the file. Version 2 and 3, little-endian (big-endian files are refused).
 *
 * Legal order: open or open_span, read, free. Thread: opening and freeing by one thread; reading from any thread.
 * Cost: time O(bytes of the header), memory O(keys + tensors), below 64 MiB whatever the file says.
 * A file that another process shortens while it is mapped ends the process with SIGBUS, as any mapping does.
 */
#ifndef GSRT_MODEL_GGUF_H
#define GSRT_MODEL_GGUF_H

#include "base/diag.h"
#include "base/limits.h"
#include "base/span.h"

/* Types of metadata values; numbers are the file format's. */
typedef enum gsrt_gguf_type {
    GSRT_GGUF_U8 = 0,
    GSRT_GGUF_I8 = 1,
    GSRT_GGUF_U16 = 2,
    GSRT_GGUF_I16 = 3,
    GSRT_GGUF_U32 = 4,
    GSRT_GGUF_I32 = 5,
    GSRT_GGUF_F32 = 6,
    GSRT_GGUF_BOOL = 7,
    GSRT_GGUF_TEXT = 8,
    GSRT_GGUF_ARRAY = 9,
    GSRT_GGUF_U64 = 10,
    GSRT_GGUF_I64 = 11,
    GSRT_GGUF_F64 = 12,
} gsrt_gguf_type;

typedef struct gsrt_gguf gsrt_gguf;

typedef struct gsrt_gguf_tensor {
    const char *name;                         /* borrowed until free */
    const char *type_name;                    /* "q8_0"; static */
    uint32_t type;                            /* the file's number; known to the format, not always to gsrt_dtype */
    uint32_t dim_count;                       /* 1..4 */
    uint64_t dims[GSRT_TENSOR_DIM_COUNT_MAX]; /* dims[0] is contiguous; unused ones are 1; none is 0 */
    uint64_t offset_bytes;                    /* of the first element, from the start of the file */
    uint64_t size_bytes;                      /* offset_bytes + size_bytes lies within the file */
} gsrt_gguf_tensor;

/* An array value. Elements lie one after the other, unaligned, little-endian; texts each behind a 64-bit length. */
typedef struct gsrt_gguf_array {
    gsrt_gguf_type type; /* of the elements; never ARRAY */
    uint64_t count;
    gsrt_span bytes; /* borrowed until free */
} gsrt_gguf_array;

/* Map and check the file at `path`.
 * out      owned; free with gsrt_gguf_free.
 * returns  GSRT_OK | GSRT_EINPUT (no such file, not a regular file, not GGUF, anything wrong in it; *diag says what and
 *          where) | GSRT_ENOMEM.
 * test     tests/model/gguf_test.c
 */
GSRT_MUST_CHECK gsrt_status gsrt_gguf_open(const char *path, gsrt_gguf **out, gsrt_diag *diag);

/* The same for bytes in memory, borrowed until free; `name` stands for the file in messages and is copied. */
GSRT_MUST_CHECK gsrt_status gsrt_gguf_open_span(gsrt_span bytes, const char *name, gsrt_gguf **out, gsrt_diag *diag);

/* Unmaps. Accepts NULL; returns NULL. */
gsrt_gguf *gsrt_gguf_free(gsrt_gguf *gguf);

const char *gsrt_gguf_name(const gsrt_gguf *gguf);      /* the file's name as given; borrowed until free */
gsrt_span gsrt_gguf_bytes(const gsrt_gguf *gguf);       /* the whole file; borrowed until free */
bool gsrt_gguf_is_mapped(const gsrt_gguf *gguf);        /* false: opened from a span */
uint32_t gsrt_gguf_version(const gsrt_gguf *gguf);      /* 2 or 3 */
uint32_t gsrt_gguf_key_count(const gsrt_gguf *gguf);    /* metadata entries */
uint32_t gsrt_gguf_tensor_count(const gsrt_gguf *gguf); /* tensors */

/* Tensor `index` (< tensor_count), in the file's order. Borrowed until free. */
const gsrt_gguf_tensor *gsrt_gguf_tensor_at(const gsrt_gguf *gguf, uint32_t index);

/* The tensor called `name`, NULL: there is none. Borrowed until free. Cost: O(log tensors). */
const gsrt_gguf_tensor *gsrt_gguf_tensor_find(const gsrt_gguf *gguf, const char *name);

/* Is there a metadata entry `key`? Cost of this and of all getters: O(log keys). */
bool gsrt_gguf_has(const gsrt_gguf *gguf, const char *key);

/* The value of `key`. Integers of any type are taken where the value fits, floats of both sizes.
 * returns  GSRT_OK | GSRT_ENOTFOUND (no such key; *diag untouched) | GSRT_EINPUT (wrong type or out of range).
 */
GSRT_MUST_CHECK gsrt_status gsrt_gguf_u32(const gsrt_gguf *gguf, const char *key, uint32_t *out, gsrt_diag *diag);
GSRT_MUST_CHECK gsrt_status gsrt_gguf_f32(const gsrt_gguf *gguf, const char *key, float *out, gsrt_diag *diag);
GSRT_MUST_CHECK gsrt_status gsrt_gguf_bool(const gsrt_gguf *gguf, const char *key, bool *out, gsrt_diag *diag);
/* out  borrowed until free; not terminated; any bytes. */
GSRT_MUST_CHECK gsrt_status gsrt_gguf_text(const gsrt_gguf *gguf, const char *key, gsrt_span *out, gsrt_diag *diag);
/* out  an array whose elements have any type; the reader checks it with gsrt_gguf_array_* below. */
GSRT_MUST_CHECK gsrt_status gsrt_gguf_array_of(const gsrt_gguf *gguf, const char *key, gsrt_gguf_array *out,
                                               gsrt_diag *diag);

/* As above, with `fallback` where there is no such key. GSRT_OK | GSRT_EINPUT. */
GSRT_MUST_CHECK gsrt_status gsrt_gguf_u32_or(const gsrt_gguf *gguf, const char *key, uint32_t fallback, uint32_t *out,
                                             gsrt_diag *diag);
GSRT_MUST_CHECK gsrt_status gsrt_gguf_f32_or(const gsrt_gguf *gguf, const char *key, float fallback, float *out,
                                             gsrt_diag *diag);
GSRT_MUST_CHECK gsrt_status gsrt_gguf_bool_or(const gsrt_gguf *gguf, const char *key, bool fallback, bool *out,
                                              gsrt_diag *diag);

/* Note that `key` is missing and return GSRT_EINPUT: turns the ENOTFOUND of a getter into the user's error. */
gsrt_status gsrt_gguf_missing(const gsrt_gguf *gguf, const char *key, gsrt_diag *diag);

/* Array elements. */
bool gsrt_gguf_type_is_integer(gsrt_gguf_type type); /* U8..I32, U64, I64 */
bool gsrt_gguf_type_is_float(gsrt_gguf_type type);   /* F32, F64 */
const char *gsrt_gguf_type_name(gsrt_gguf_type type);
/* Element `index` (< count) of an integer array; a U64 past INT64_MAX reads as INT64_MAX. */
int64_t gsrt_gguf_array_integer(const gsrt_gguf_array *array, uint64_t index);
/* Element `index` (< count) of a float array. */
double gsrt_gguf_array_float(const gsrt_gguf_array *array, uint64_t index);
/* The next text of a TEXT array: start with *rest = array->bytes. false: no more. */
bool gsrt_gguf_array_next_text(gsrt_span *rest, gsrt_span *out);

#endif
