/* Reading a mapping of YAML into a struct by a table of fields.
 *
 * A field names its key once; type, range and error text follow from the row. The reader knows where it is
 * ("workload.requests[3].seed"), so that every error says file, line, column, path, what is wrong, and the remedy.
 *
 * Two ways to take errors. Without a sink the first one fills the diag and ends the reading. With a sink each is handed
 * over, and reading goes on with the next key or item; what was refused keeps the value it had, and the result is
 * GSRT_EINPUT in the end.
 *
 * Thread: one at a time. Cost: O(keys * fields) per mapping.
 */
#ifndef GSRT_BASE_YAML_READER_H
#define GSRT_BASE_YAML_READER_H

#include "base/yaml.h"

enum { GSRT_YAML_PATH_BYTES_MAX = 256 };

/* Takes one refusal. reason: a word for programs, static ("unknown_key", "wrong_type", "missing_key", "unknown_word",
 * "out_of_range", "bad_value", or a caller's own). file: NULL where the value is not from a file. what: what is wrong
 * and the remedy; place and what are borrowed for the call. */
typedef void gsrt_yaml_sink_fn(void *sink_context, const char *reason, const char *file, const char *place,
                               const char *what);

typedef struct gsrt_yaml_reader {
    gsrt_arena *arena;        /* texts and items that are read lie here; borrowed */
    void *subject;            /* what the whole document is read into, for rows that need more than their own object */
    const char *subject_name; /* "the scenario": in messages about its root */
    const char *file;         /* as the user gave it */
    const char *directory;    /* of the file, absolute: paths in the file are relative to it; NULL: it has no paths */
    const char *working;      /* the working directory: paths of --set are relative to it; NULL: as above */
    gsrt_diag *diag;          /* without a sink: the first refusal */
    gsrt_yaml_sink_fn *sink;  /* NULL: the first refusal ends the reading */
    void *sink_context;
    char path[GSRT_YAML_PATH_BYTES_MAX]; /* of the value being read; "" at the root */
    size_t path_len;
} gsrt_yaml_reader;

typedef enum gsrt_yaml_field_type {
    GSRT_YAML_FIELD_U32,
    GSRT_YAML_FIELD_U64, /* the full range */
    GSRT_YAML_FIELD_I32,
    GSRT_YAML_FIELD_F32,
    GSRT_YAML_FIELD_F64,
    GSRT_YAML_FIELD_BOOL,
    GSRT_YAML_FIELD_TEXT, /* const char *, not empty, min..max bytes */
    GSRT_YAML_FIELD_PATH, /* const char *, made absolute */
    GSRT_YAML_FIELD_CALL, /* read(reader, node, object) does it */
} gsrt_yaml_field_type;

typedef gsrt_status gsrt_yaml_read_fn(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object);

typedef struct gsrt_yaml_field {
    const char *key;
    gsrt_yaml_field_type type;
    size_t offset;           /* in the object */
    double min, max;         /* numbers: of the value; text: of its bytes */
    gsrt_yaml_read_fn *read; /* CALL */
    const char *example;     /* not NULL: the key is required, and this is what to add */
} gsrt_yaml_field;

/* Read `node`, which must be a mapping, into `object` by fields[count]. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_yaml_read_mapping(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                   const gsrt_yaml_field *fields, size_t count, void *object);
/* The same for an array of fields. */
#define GSRT_YAML_READ_FIELDS(reader, node, fields, object)                                                            \
    gsrt_yaml_read_mapping(reader, node, fields, sizeof(fields) / sizeof((fields)[0]), object)

/* Read one value into `object` by its field. */
GSRT_MUST_CHECK gsrt_status gsrt_yaml_read_field(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                 const gsrt_yaml_field *field, void *object);

/* Call `read` on each item of the sequence `node`, with objects of `size` bytes in *out_items [*out_count], zeroed, in
 * `arena`; index is in the reader's path. count_min..count_max items. */
GSRT_MUST_CHECK gsrt_status gsrt_yaml_read_items(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                 gsrt_arena *arena, size_t size, uint32_t count_min, uint32_t count_max,
                                                 gsrt_yaml_read_fn *read, void **out_items, uint32_t *out_count);

/* A list of integers 0..max, in `arena`. */
GSRT_MUST_CHECK gsrt_status gsrt_yaml_read_u32s(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_arena *arena,
                                                uint32_t max, uint32_t count_min, uint32_t count_max,
                                                const uint32_t **out_items, uint32_t *out_count);

/* One of words[count]; *out_index which. */
GSRT_MUST_CHECK gsrt_status gsrt_yaml_read_word(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                const char *const *words, size_t count, size_t *out_index);

/* Refuse `node` as "bad_value": place and path are added in front of the message. Returns GSRT_EINPUT. */
gsrt_status gsrt_yaml_refuse(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char *format, ...)
    GSRT_PRINTF(3, 4);

/* The same with a reason of its own, static. */
gsrt_status gsrt_yaml_refuse_as(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char *reason,
                                const char *format, ...) GSRT_PRINTF(4, 5);

/* The same for the value of `key`, which the mapping `node` has, at its own place. */
gsrt_status gsrt_yaml_refuse_key(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char *key,
                                 const char *format, ...) GSRT_PRINTF(4, 5);

/* "'5' (an integer)", "a list": what was found. Returns `room`. */
const char *gsrt_yaml_found(const gsrt_yaml_node *node, char *room, size_t room_bytes);
enum { GSRT_YAML_FOUND_BYTES_MAX = 128 };

/* Lengthen and shorten the reader's path. key or, when it is NULL, [index]. Returns what to give to leave. */
size_t gsrt_yaml_path_enter(gsrt_yaml_reader *reader, const char *key, uint32_t index);
void gsrt_yaml_path_leave(gsrt_yaml_reader *reader, size_t mark);

#endif
