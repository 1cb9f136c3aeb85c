/* An inventory as it is written: one table of fields per kind of entry, quantities by the tables of fleet_tables.c.
 * Here are the documents and the places; parts and links have files of their own. */
#include "base/limits.h"
#include "placement/fleet_impl.h"

#include <stdio.h>

enum { FIELD_COUNT_MAX = 40, PLACE_BYTES_MAX = 640 };

/* ---- places ---- */

static gsrt_status read_place_name(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_name(reader, node, &((gsrt__raw_place *)object)->place.name);
}

static gsrt_status read_place_kind(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    size_t index = 0;
    gsrt_status status = gsrt_yaml_read_word(reader, node, gsrt__place_kind_words, GSRT_PLACE_KIND_COUNT, &index);
    ((gsrt__raw_place *)object)->place.kind = (gsrt_place_kind)index;
    return status;
}

static gsrt_status read_place_in(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_in(reader, node, &((gsrt__raw_place *)object)->in);
}

static gsrt_status read_place_trust(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_trust(reader, node, &((gsrt__raw_place *)object)->place.trust);
}

static gsrt_status read_place_property(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_property_of(reader, node, gsrt__place_properties, GSRT__PLACE_PROPERTIES,
                                  &((gsrt__raw_place *)object)->place);
}

static const gsrt_yaml_field place_fields[] = {
    {"name", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_place_name, "NAME"},
    {"kind", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_place_kind, "node"},
    {"in", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_place_in, NULL},
    {"count", GSRT_YAML_FIELD_U32, offsetof(gsrt__raw_place, place.count), 1, GSRT_FLEET_COUNT_MAX, NULL, NULL},
    {"trust", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_place_trust, NULL},
};

static gsrt_status read_place(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_place *raw = object;
    *raw = (gsrt__raw_place){.provenance = GSRT__PROVENANCE_NONE, .place = {.count = 1, .trust = GSRT_TRUST_COUNT}};
    raw->place.where = gsrt__where_of(reader, node);
    if (raw->place.where == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = GSRT__READ_ENTRY(reader, node, place_fields, gsrt__place_properties, read_place_property, raw);
    gsrt__settle_all(reader, gsrt__place_properties, GSRT__PLACE_PROPERTIES, &raw->provenance, &raw->place);
    return status;
}

/* ---- documents ---- */

/* Items of a list into `out` of what the root is read into. */
static gsrt_status read_list(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, size_t size, uint32_t count_max,
                             gsrt_yaml_read_fn *read, void **out, uint32_t *out_count)
{
    return gsrt_yaml_read_items(reader, node, &gsrt__inventory_of(reader)->scratch, size, 0, count_max, read, out,
                                out_count);
}

static gsrt_status read_root_list(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__inventory *inventory = object;
    void *items = NULL;
    gsrt_status status;
    if (strcmp(node->key, "places") == 0) {
        status = read_list(reader, node, sizeof *inventory->places, GSRT_FLEET_PLACES_MAX, read_place, &items,
                           &inventory->place_count);
        inventory->places = items;
    } else if (strcmp(node->key, "parts") == 0) {
        status = read_list(reader, node, sizeof *inventory->parts, GSRT_FLEET_PARTS_MAX, gsrt__read_part, &items,
                           &inventory->part_count);
        inventory->parts = items;
    } else if (strcmp(node->key, "links") == 0) {
        status = read_list(reader, node, sizeof *inventory->links, GSRT_FLEET_LINKS_MAX, gsrt__read_link, &items,
                           &inventory->link_count);
        inventory->links = items;
    } else if (strcmp(node->key, "paths") == 0) {
        status = read_list(reader, node, sizeof *inventory->paths, GSRT_FLEET_PATHS_MAX, gsrt__read_path, &items,
                           &inventory->path_count);
        inventory->paths = items;
    } else {
        status = read_list(reader, node, sizeof *inventory->measurements, GSRT_FLEET_MEASUREMENTS_MAX,
                           gsrt__read_measurement, &items, &inventory->measurement_count);
        inventory->measurements = items;
    }
    return status;
}

static gsrt_status read_fleet_name(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_name(reader, node, &((gsrt__inventory *)object)->name);
}

static gsrt_status read_as_of(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    if (node->type != GSRT_YAML_TEXT || !gsrt_day_parse(node->text, &((gsrt__inventory *)object)->as_of_day))
        return gsrt_yaml_refuse_as(reader, node, "bad_date", "must be a day; write it like 2026-11-30");
    return GSRT_OK;
}

static const gsrt_yaml_field fleet_fields[] = {
    {"gsrt_fleet", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__read_nothing, "1"},
    {"name", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_fleet_name, "NAME"},
    {"as_of", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_as_of, NULL},
    {"catalogues", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__read_nothing, NULL},
    {"types", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__read_nothing, NULL},
    {"places", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_root_list, NULL},
    {"parts", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_root_list, "[]"},
    {"links", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_root_list, NULL},
    {"paths", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_root_list, NULL},
    {"measurements", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_root_list, NULL},
};

static const gsrt_yaml_field catalogue_fields[] = {
    {"gsrt_catalogue", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__read_nothing, "1"},
    {"types", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__read_nothing, "[]"},
};

static void take_refusal(void *sink_context, const char *reason, const char *file, const char *place, const char *what)
{
    char where[PLACE_BYTES_MAX];
    (void)snprintf(where, sizeof where, "%.200s%s%.400s", file == NULL ? "" : file, file == NULL ? "" : ": ", place);
    gsrt_findings_add(sink_context, reason, where, "%s", what);
}

static gsrt_status check_version(gsrt_yaml_reader *reader, const gsrt_yaml_node *root, const char *key)
{
    const gsrt_yaml_node *version = gsrt_yaml_find(root, key);
    if (version == NULL || (version->type == GSRT_YAML_INTEGER && strcmp(version->text, "1") == 0))
        return GSRT_OK;
    return gsrt_yaml_refuse_as(reader, version, "unsupported_version",
                               "only version 1 of this format is read; write '%s: 1'", key);
}

/* Append the types of a document to those that are known. */
static gsrt_status read_types(gsrt_yaml_reader *reader, const gsrt_yaml_node *root)
{
    gsrt__inventory *inventory = gsrt__inventory_of(reader);
    const gsrt_yaml_node *node = gsrt_yaml_find(root, "types");
    if (node == NULL)
        return GSRT_OK;
    void *items;
    uint32_t count;
    size_t mark = gsrt_yaml_path_enter(reader, "types", 0);
    gsrt_status status = read_list(reader, node, sizeof *inventory->types, GSRT_FLEET_TYPES_MAX - inventory->type_count,
                                   gsrt__read_part, &items, &count);
    gsrt_yaml_path_leave(reader, mark);
    if (status != GSRT_OK || count == 0)
        return status;
    gsrt__raw_part *all = gsrt_arena_take(&inventory->scratch, (size_t)inventory->type_count + count, sizeof *all);
    if (all == NULL)
        return GSRT_ENOMEM;
    if (inventory->type_count > 0)
        memcpy(all, inventory->types, inventory->type_count * sizeof *all);
    memcpy(all + inventory->type_count, items, count * sizeof *all);
    for (uint32_t i = inventory->type_count; i < inventory->type_count + count; i++) {
        for (uint32_t before = 0; before < i; before++) {
            const gsrt_part *type = &all[i].part, *other = &all[before].part;
            if (strcmp(type->name, other->name) != 0)
                continue;
            gsrt_findings_add(inventory->findings, "duplicate_name", type->where,
                              "there are two types '%.100s', the other at %.300s; give one another name", type->name,
                              other->where);
            status = GSRT_EINPUT;
        }
    }
    inventory->types = all;
    inventory->type_count += count;
    return status;
}

static gsrt_status read_document(const gsrt_yaml *yaml, const char *what, const char *version_key,
                                 const gsrt_yaml_field *fields, size_t field_count, gsrt__inventory *inventory)
{
    gsrt_yaml_reader reader = {.arena = inventory->arena,
                               .subject = inventory,
                               .subject_name = what,
                               .file = yaml->file,
                               .sink = take_refusal,
                               .sink_context = inventory->findings};
    inventory->provenance = GSRT__PROVENANCE_NONE;
    gsrt_status status = check_version(&reader, yaml->root, version_key);
    if (status != GSRT_OK)
        return status;
    /* Where numbers come from, then types, then the rest: each needs those before it. */
    for (size_t i = 0; i < GSRT__PROVENANCE_FIELDS && yaml->root->type == GSRT_YAML_MAPPING; i++) {
        const gsrt_yaml_node *node = gsrt_yaml_find(yaml->root, gsrt__provenance_fields[i].key);
        size_t mark = gsrt_yaml_path_enter(&reader, gsrt__provenance_fields[i].key, 0);
        gsrt_status own =
            node == NULL ? GSRT_OK
                         : gsrt_yaml_read_field(&reader, node, &gsrt__provenance_fields[i], &inventory->provenance);
        gsrt_yaml_path_leave(&reader, mark);
        status = own == GSRT_OK ? status : own;
    }
    gsrt_status types = read_types(&reader, yaml->root);
    status = types == GSRT_OK ? status : types;
    gsrt_yaml_field all[FIELD_COUNT_MAX];
    for (size_t i = 0; i < field_count; i++)
        all[i] = fields[i];
    for (size_t i = 0; i < GSRT__PROVENANCE_FIELDS; i++)
        all[field_count + i] =
            (gsrt_yaml_field){gsrt__provenance_fields[i].key, GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__read_nothing, NULL};
    gsrt_status rest =
        gsrt_yaml_read_mapping(&reader, yaml->root, all, field_count + GSRT__PROVENANCE_FIELDS, inventory);
    return rest == GSRT_OK ? status : rest;
}

gsrt_status gsrt__inventory_read(const gsrt_yaml *document, const gsrt_yaml *const *catalogues, size_t catalogue_count,
                                 gsrt__inventory *inventory)
{
    gsrt_status worst = GSRT_OK;
    for (size_t i = 0; i < catalogue_count && worst != GSRT_ENOMEM; i++) {
        gsrt_status status = read_document(catalogues[i], "the catalogue", "gsrt_catalogue", catalogue_fields,
                                           sizeof catalogue_fields / sizeof catalogue_fields[0], inventory);
        worst = status == GSRT_OK ? worst : status;
    }
    if (worst == GSRT_ENOMEM)
        return worst;
    gsrt_status status = read_document(document, "the inventory", "gsrt_fleet", fleet_fields,
                                       sizeof fleet_fields / sizeof fleet_fields[0], inventory);
    return status == GSRT_OK ? worst : status;
}
