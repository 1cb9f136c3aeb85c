/* Inside launch/scenario*.c: reading one mapping of YAML into one struct by a table of fields.
 *
 * A field names its key once; type, range, default place and error text follow from the row. The reader knows where it
 * is ("workload.requests[3].seed"), so that every error says file, line, column, path, what is wrong, and the remedy.
 */
#ifndef GSRT_LAUNCH_SCENARIO_IMPL_H
#define GSRT_LAUNCH_SCENARIO_IMPL_H

#include "base/yaml.h"
#include "launch/scenario.h"

enum { GSRT__PATH_BYTES_MAX = 256 };

typedef struct gsrt__reader {
    gsrt_scenario *scenario;
    const char *file;      /* as the user gave it */
    const char *directory; /* of the file, absolute: paths in the file are relative to it */
    const char *working;   /* the working directory: paths of --set are relative to it */
    gsrt_diag *diag;
    char path[GSRT__PATH_BYTES_MAX]; /* of the value being read; "" at the root */
    size_t path_len;
} gsrt__reader;

typedef enum gsrt__field_type {
    GSRT__FIELD_U32,
    GSRT__FIELD_U64, /* the full range */
    GSRT__FIELD_I32,
    GSRT__FIELD_F32,
    GSRT__FIELD_F64,
    GSRT__FIELD_BOOL,
    GSRT__FIELD_TEXT, /* const char *, not empty, min..max bytes */
    GSRT__FIELD_PATH, /* const char *, made absolute */
    GSRT__FIELD_CALL, /* read(reader, node, object) does it */
} gsrt__field_type;

typedef gsrt_status gsrt__read_fn(gsrt__reader *reader, const gsrt_yaml_node *node, void *object);

typedef struct gsrt__field {
    const char *key;
    gsrt__field_type type;
    size_t offset;       /* in the object */
    double min, max;     /* numbers: of the value; text: of its bytes */
    gsrt__read_fn *read; /* CALL */
    const char *example; /* not NULL: the key is required, and this is what to add */
} gsrt__field;

/* Read `node`, which must be a mapping, into `object` by fields[count]. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__read_mapping(gsrt__reader *reader, const gsrt_yaml_node *node,
                                               const gsrt__field *fields, size_t count, void *object);
/* The same for an array of fields. */
#define GSRT__READ_FIELDS(reader, node, fields, object)                                                                \
    gsrt__read_mapping(reader, node, fields, sizeof(fields) / sizeof((fields)[0]), object)

/* Read one value into `object` by its field. */
GSRT_MUST_CHECK gsrt_status gsrt__read_field(gsrt__reader *reader, const gsrt_yaml_node *node, const gsrt__field *field,
                                             void *object);

/* Call `read` on each item of the sequence `node`, with objects of `size` bytes in *out_items [*out_count], zeroed, in
 * `arena`; index is in the reader's path. count_min..count_max items. */
GSRT_MUST_CHECK gsrt_status gsrt__read_items(gsrt__reader *reader, const gsrt_yaml_node *node, gsrt_arena *arena,
                                             size_t size, uint32_t count_min, uint32_t count_max, gsrt__read_fn *read,
                                             void **out_items, uint32_t *out_count);

/* A list of integers 0..max, in `arena`. */
GSRT_MUST_CHECK gsrt_status gsrt__read_u32s(gsrt__reader *reader, const gsrt_yaml_node *node, gsrt_arena *arena,
                                            uint32_t max, uint32_t count_min, uint32_t count_max,
                                            const uint32_t **out_items, uint32_t *out_count);

/* One of words[count]; *out_index which. */
GSRT_MUST_CHECK gsrt_status gsrt__read_word(gsrt__reader *reader, const gsrt_yaml_node *node, const char *const *words,
                                            size_t count, size_t *out_index);

/* Refuse `node`: place and path are added in front of the message. Returns GSRT_EINPUT. */
gsrt_status gsrt__refuse(gsrt__reader *reader, const gsrt_yaml_node *node, const char *format, ...) GSRT_PRINTF(3, 4);

/* "'5' (an integer)", "a list": what was found. Returns `room`. */
const char *gsrt__found(const gsrt_yaml_node *node, char *room, size_t room_bytes);
enum { GSRT__FOUND_BYTES_MAX = 128 };

/* Lengthen and shorten the reader's path. key or, when it is NULL, [index]. Returns what to give to leave. */
size_t gsrt__path_enter(gsrt__reader *reader, const char *key, uint32_t index);
void gsrt__path_leave(gsrt__reader *reader, size_t mark);

/* faults: and healing: (launch/scenario_faults.c); object is the gsrt_scenario. */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_faults(gsrt__reader *reader, const gsrt_yaml_node *node, void *object);
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_healing(gsrt__reader *reader, const gsrt_yaml_node *node, void *object);
/* The word of healing.prefer; static. */
const char *gsrt__prefer_word(gsrt_incident_method prefer);
/* Do the faults fit the workload? When all of `root` has been read, because keys stand in any order. */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_check_faults(gsrt__reader *reader, const gsrt_yaml_node *root);

/* The root of a scenario, version and all (launch/scenario_keys.c). */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_root(gsrt__reader *reader, const gsrt_yaml_node *root);

#endif
