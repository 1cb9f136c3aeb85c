/* Inside model/gguf*.c only: what a parsed GGUF file is made of. */
#ifndef GSRT_MODEL_GGUF_IMPL_H
#define GSRT_MODEL_GGUF_IMPL_H

#include "base/arena.h"
#include "model/gguf.h"

/* One metadata entry; scalars and texts are decoded from `bytes` when asked for. */
typedef struct gsrt__gguf_entry {
    const char *key;       /* in the arena */
    gsrt_gguf_type type;   /* of the value */
    gsrt_gguf_array array; /* ARRAY only */
    gsrt_span bytes;       /* scalar: its bytes; TEXT: the text; borrowed from the file */
} gsrt__gguf_entry;

struct gsrt_gguf {
    gsrt_arena arena;   /* names and tables */
    const char *name;   /* of the file */
    gsrt_span bytes;    /* the whole file */
    void *mapping;      /* NULL: opened from a span */
    uint32_t version;   /* 2 or 3 */
    uint32_t key_count; /* entries */
    uint32_t tensor_count;
    gsrt__gguf_entry *entries;        /* [key_count], sorted by key */
    gsrt_gguf_tensor *tensors;        /* [tensor_count], in the file's order */
    const gsrt_gguf_tensor **by_name; /* [tensor_count], sorted by name */
};

/* Parse gguf->bytes into the tables. gguf->name, bytes and arena are set. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__gguf_parse(gsrt_gguf *gguf, gsrt_diag *diag);

/* The entry of `key`, NULL: none. */
const gsrt__gguf_entry *gsrt__gguf_find(const gsrt_gguf *gguf, const char *key);

#endif
