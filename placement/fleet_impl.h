/* Inside placement/fleet*.c: the tables that reading, printing and checking share, and an inventory as it is while
 * names are still names. */
#ifndef GSRT_PLACEMENT_FLEET_IMPL_H
#define GSRT_PLACEMENT_FLEET_IMPL_H

#include "base/limits.h"
#include "base/yaml_reader.h"
#include "placement/fleet.h"

/* ---- tables (fleet_tables.c) ---- */

/* One quantity of a place, part, link, path or on-board memory: its key in the inventory, where it is, and what is
 * possible. */
typedef struct gsrt__property {
    const char *key;
    size_t offset; /* of the gsrt_quantity in the struct */
    gsrt_dimension dimension;
    double min, max; /* in base units: no such thing has been built outside of these */
    unsigned kinds;  /* parts: bits 1 << gsrt_part_kind that can have it; others: all */
} gsrt__property;

enum {
    GSRT__PLACE_PROPERTIES = 4,
    GSRT__PART_PROPERTIES = 7,
    GSRT__LINK_PROPERTIES = 7,
    GSRT__PATH_PROPERTIES = 2,
    GSRT__ONBOARD_PROPERTIES = 3,
};
extern const gsrt__property gsrt__place_properties[GSRT__PLACE_PROPERTIES];
extern const gsrt__property gsrt__part_properties[GSRT__PART_PROPERTIES];
extern const gsrt__property gsrt__link_properties[GSRT__LINK_PROPERTIES];
extern const gsrt__property gsrt__path_properties[GSRT__PATH_PROPERTIES];
extern const gsrt__property gsrt__onboard_properties[GSRT__ONBOARD_PROPERTIES];
extern const gsrt__property gsrt__rate_property; /* of every (class, format) */

static inline gsrt_quantity *gsrt__quantity_at(void *object, const gsrt__property *property)
{
    return (gsrt_quantity *)(void *)((char *)object + property->offset);
}

static inline const gsrt_quantity *gsrt__quantity_in(const void *object, const gsrt__property *property)
{
    return (const gsrt_quantity *)(const void *)((const char *)object + property->offset);
}

/* The property of that key; NULL: none. */
const gsrt__property *gsrt__property_named(const gsrt__property *properties, size_t count, const char *key);

/* All words of each kind, in the order of the enums. */
extern const char *const gsrt__place_kind_words[GSRT_PLACE_KIND_COUNT];
extern const char *const gsrt__part_kind_words[GSRT_PART_KIND_COUNT];
extern const char *const gsrt__tier_words[GSRT_TIER_COUNT];
extern const char *const gsrt__class_words[GSRT_CLASS_COUNT];
extern const char *const gsrt__format_words[GSRT_FORMAT_COUNT];
extern const char *const gsrt__link_kind_words[GSRT_LINK_KIND_COUNT];
extern const char *const gsrt__collective_words[GSRT_COLLECTIVE_COUNT];
extern const char *const gsrt__trust_words[GSRT_TRUST_COUNT];

/* ---- an inventory before names are resolved (fleet_read.c) ---- */

/* Where numbers come from. The first member of everything that has the keys source, confidence, since and until. */
typedef struct gsrt__provenance {
    gsrt_source source;
    const char *source_text;
    double confidence; /* below 0: not given */
    int32_t from_day, until_day;
} gsrt__provenance;

static const gsrt__provenance GSRT__PROVENANCE_NONE = {
    .confidence = -1, .from_day = GSRT_DAY_FIRST, .until_day = GSRT_DAY_LAST};

/* Names of places as they are written. */
typedef struct gsrt__in {
    const char *names[GSRT_FLEET_IN_MAX];
    uint32_t count;
} gsrt__in;

typedef struct gsrt__raw_place {
    gsrt__provenance provenance;
    gsrt_place place; /* but for within and total */
    gsrt__in in;
} gsrt__raw_place;

/* Memory that comes with an engine: a part and two links, once resolved. */
typedef struct gsrt__onboard {
    gsrt__provenance provenance;
    const char *name; /* behind the engine's and a point */
    gsrt_tier tier;
    uint32_t count; /* for each engine */
    gsrt_quantity capacity, bandwidth, latency;
} gsrt__onboard;

typedef struct gsrt__raw_part {
    gsrt__provenance provenance;
    gsrt_part part; /* but for within and total */
    gsrt__in in;
    const gsrt__onboard *memory; /* [memory_count] */
    uint32_t memory_count;
    bool has_kind;
    bool is_onboard; /* made from an engine, about which everything is said once */
} gsrt__raw_part;

typedef struct gsrt__raw_link {
    gsrt__provenance provenance;
    gsrt_link link; /* but for indices */
    const char *from, *to, *contention, *fails_with;
    bool is_both;
} gsrt__raw_link;

typedef struct gsrt__raw_path {
    gsrt__provenance provenance;
    gsrt_path path; /* but for links */
    const char **links;
    uint32_t link_count;
} gsrt__raw_path;

typedef struct gsrt__raw_measurement {
    gsrt__provenance provenance;
    gsrt_measurement measurement; /* but for indices */
    const char *place, *part, *link;
    const gsrt__property *row; /* of what was measured */
} gsrt__raw_measurement;

/* Trust that nobody stated is GSRT_TRUST_COUNT here: a place's is that of the place around it, a part's that of its
 * place, a link's the lower one of its ends; at the top it is the operator's. */
typedef struct gsrt__inventory {
    gsrt__provenance provenance; /* for everything that has none of its own */
    gsrt_arena *arena;           /* the fleet's */
    gsrt_arena scratch;          /* what is not needed once names are resolved */
    gsrt_findings *findings;
    const char *name;
    int32_t as_of_day;
    gsrt__raw_part *types; /* [type_count], of the inventory and its catalogues */
    gsrt__raw_place *places;
    gsrt__raw_part *parts;
    gsrt__raw_link *links;
    gsrt__raw_path *paths;
    gsrt__raw_measurement *measurements;
    uint32_t type_count, place_count, part_count, link_count, path_count, measurement_count;
} gsrt__inventory;

/* ---- reading entries (fleet_entry.c) ---- */

static inline gsrt__inventory *gsrt__inventory_of(const gsrt_yaml_reader *reader)
{
    return reader->subject;
}

#define GSRT__NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

/* 1 to bytes_max of the `allowed`, not beginning with '-' or '.'. */
bool gsrt__is_name(const char *text, const char *allowed, size_t bytes_max);
GSRT_MUST_CHECK gsrt_status gsrt__read_name_of(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                               const char *allowed, size_t bytes_max, const char **out);
/* A place, part, path or type. */
GSRT_MUST_CHECK gsrt_status gsrt__read_name(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char **out);
/* A name of something else: looked up later. */
GSRT_MUST_CHECK gsrt_status gsrt__read_reference(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                 const char **out);
GSRT_MUST_CHECK gsrt_status gsrt__read_in(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt__in *in);
GSRT_MUST_CHECK gsrt_status gsrt__read_trust(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_trust *out);
/* For keys that were read before the others. */
GSRT_MUST_CHECK gsrt_status gsrt__read_nothing(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object);
/* "fleet.yaml: line 3, column 5: parts[2]" in the fleet's arena; NULL: no memory. */
const char *gsrt__where_of(const gsrt_yaml_reader *reader, const gsrt_yaml_node *node);

/* Read `node` by `own` rows, those of provenance, and a row for each property. */
GSRT_MUST_CHECK gsrt_status gsrt__read_entry(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                             const gsrt_yaml_field *own, size_t own_count,
                                             const gsrt__property *properties, size_t property_count,
                                             gsrt_yaml_read_fn *read_property, void *object);
#define GSRT__READ_ENTRY(reader, node, own, properties, read_property, object)                                         \
    gsrt__read_entry(reader, node, own, sizeof(own) / sizeof((own)[0]), properties,                                    \
                     sizeof(properties) / sizeof((properties)[0]), read_property, object)

/* Read the quantity that node->key names into `object`, of which `properties` are those. */
GSRT_MUST_CHECK gsrt_status gsrt__read_property_of(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                   const gsrt__property *properties, size_t count, void *object);
void gsrt__settle_all(gsrt_yaml_reader *reader, const gsrt__property *properties, size_t count,
                      const gsrt__provenance *provenance, void *object);

/* One item of a list: a part or type, a link, a path, a measurement. */
GSRT_MUST_CHECK gsrt_status gsrt__read_part(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object);
GSRT_MUST_CHECK gsrt_status gsrt__read_link(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object);
GSRT_MUST_CHECK gsrt_status gsrt__read_path(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object);
GSRT_MUST_CHECK gsrt_status gsrt__read_measurement(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object);

/* ---- the steps ---- */

/* The inventory as it is written, types applied. Errors as gsrt_fleet_read. */
GSRT_MUST_CHECK gsrt_status gsrt__inventory_read(const gsrt_yaml *document, const gsrt_yaml *const *catalogues,
                                                 size_t catalogue_count, gsrt__inventory *inventory);

/* Names to indices, on-board memory to parts and links, counts to totals (fleet_resolve.c). Errors as
 * gsrt_fleet_read. */
GSRT_MUST_CHECK gsrt_status gsrt__inventory_resolve(gsrt__inventory *inventory, gsrt_fleet *fleet);

/* Read a quantity as a text, or as a mapping with its provenance (fleet_quantity.c). A value that cannot be understood
 * is refused and leaves *out unknown, with GSRT_OK: other checks go on. Its confidence is -1 until
 * gsrt__quantity_settle has been called. */
GSRT_MUST_CHECK gsrt_status gsrt__quantity_read(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                gsrt_dimension dimension, gsrt_quantity *out);
/* Give a quantity just read what it does not say itself: from its entry, then from the document. */
void gsrt__quantity_settle(gsrt_quantity *quantity, const gsrt__provenance *entry, const gsrt__provenance *document);
/* Rows for the keys of gsrt__provenance. */
enum { GSRT__PROVENANCE_FIELDS = 4 };
extern const gsrt_yaml_field gsrt__provenance_fields[GSRT__PROVENANCE_FIELDS];

/* fleet.c: the index of `name` in items[count] of `size` bytes each, whose first member is the name, by which they are
 * sorted; GSRT_FLEET_NONE. */
uint32_t gsrt__fleet_named(const void *items, uint32_t count, size_t size, const char *name);

#endif
