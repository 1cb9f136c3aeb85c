/* YAML, as far as GSRT reads it: one document, a tree of nodes that know where they stand.
 *
 * An adapter over libyaml for files that people write. Bounded before it is believed: bytes, nesting, nodes, keys of a
 * mapping (base/limits.h). Refused, each with line, column and remedy: anchors and aliases (a small file could unfold
 * into a huge tree), tags, a second document, a key given twice, keys that are not plain text, a zero byte in text.
 *
 * What a plain scalar means follows YAML 1.2's core schema; words on which readers of YAML 1.1 and 1.2 disagree (yes,
 * off, 010, 0x10) are a type of their own, GSRT_YAML_AMBIGUOUS, so that nobody has to guess.
 *
 *     gsrt_yaml_parse(bytes, "run.yaml", &doc, &diag);
 *     const gsrt_yaml_node *model = gsrt_yaml_find(doc->root, "model");
 *     doc = gsrt_yaml_free(doc);
 *
 * Legal order: parse, set (overrides), read, free. Thread: one at a time. Cost: O(bytes), plus O(keys^2) per mapping.
 */
#ifndef GSRT_BASE_YAML_H
#define GSRT_BASE_YAML_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/diag.h"

typedef enum gsrt_yaml_type {
    GSRT_YAML_NULL,      /* nothing, ~, null */
    GSRT_YAML_BOOL,      /* true, false */
    GSRT_YAML_INTEGER,   /* [-+]?(0|[1-9][0-9]*) */
    GSRT_YAML_NUMBER,    /* with a point or an exponent; .inf and .nan too */
    GSRT_YAML_TEXT,      /* quoted, or plain and none of the others */
    GSRT_YAML_AMBIGUOUS, /* yes, no, on, off, 0x10, 0o10, 010 */
    GSRT_YAML_SEQUENCE,
    GSRT_YAML_MAPPING,
} gsrt_yaml_type;

typedef struct gsrt_yaml_node {
    gsrt_yaml_type type;
    uint32_t line, column; /* from 1 */
    const char *key;       /* within a mapping: its key, else NULL */
    uint32_t key_line, key_column;
    const char *text;     /* scalars: UTF-8, zero-terminated, no zero byte within; else NULL */
    uint32_t text_len;    /* bytes */
    uint32_t child_count; /* items of a sequence, keys of a mapping */
    struct gsrt_yaml_node *child_first, *child_last, *next;
    const char *origin; /* NULL: the file; else what put it there: "--set workload.model" */
} gsrt_yaml_node;

typedef struct gsrt_yaml {
    gsrt_arena arena; /* all nodes and texts */
    const char *file; /* as given to parse; a copy */
    gsrt_yaml_node *root;
} gsrt_yaml;

/* Parse one document. *out owned, freed with gsrt_yaml_free. `file` names the bytes in *diag. An empty document has a
 * GSRT_YAML_NULL root. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_yaml_parse(gsrt_span bytes, const char *file, gsrt_yaml **out, gsrt_diag *diag);

/* Accepts NULL; returns NULL. */
gsrt_yaml *gsrt_yaml_free(gsrt_yaml *yaml);

/* Put `value`, parsed as YAML, at `path`: keys separated by dots, items by [index] ("a.b[0].c"). Replaces what is
 * there; a missing key at the end of the path is added, missing mappings on the way too; index = count appends.
 * Errors name "--set path" as their place. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_yaml_set(gsrt_yaml *yaml, const char *path, const char *value, gsrt_diag *diag);

/* The value of `key` in a mapping; NULL: absent, or node is NULL or no mapping. Borrowed. */
const gsrt_yaml_node *gsrt_yaml_find(const gsrt_yaml_node *node, const char *key);

/* The node at `path` as in gsrt_yaml_set, "a.b[0].c"; NULL: absent, or the path is malformed. Borrowed. */
const gsrt_yaml_node *gsrt_yaml_at(const gsrt_yaml *yaml, const char *path);

/* Where a node stands, for gsrt_diag_set's place: "line 3, column 5", or its origin; with the path behind it. Returns
 * `room`. path may be NULL. */
const char *gsrt_yaml_place(const gsrt_yaml_node *node, const char *path, char *room, size_t room_bytes);

/* "text", "an integer" ... for messages; static. */
const char *gsrt_yaml_type_name(gsrt_yaml_type type);

/* Append `text` (UTF-8) as a double-quoted scalar that every reader of YAML and JSON takes back as the same text.
 * Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_yaml_print_text(gsrt_buffer *out, const char *text);

#endif
