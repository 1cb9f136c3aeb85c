/* Links, paths and measurements of an inventory. */
#include "base/limits.h"
#include "placement/fleet_impl.h"

/* ---- links ---- */

static gsrt_status read_link_name(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    /* '>' too: the name that a link has of itself is "from->to" */
    return gsrt__read_name_of(reader, node, GSRT__NAME_BYTES ">", GSRT_FLEET_LINK_NAME_BYTES_MAX,
                              &((gsrt__raw_link *)object)->link.name);
}

static gsrt_status read_link_reference(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_link *raw = object;
    const char **to = strcmp(node->key, "from") == 0         ? &raw->from
                      : strcmp(node->key, "to") == 0         ? &raw->to
                      : strcmp(node->key, "contention") == 0 ? &raw->contention
                                                             : &raw->fails_with;
    return gsrt__read_reference(reader, node, to);
}

static gsrt_status read_link_kind(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    size_t index = 0;
    gsrt_status status = gsrt_yaml_read_word(reader, node, gsrt__link_kind_words, GSRT_LINK_KIND_COUNT, &index);
    ((gsrt__raw_link *)object)->link.kind = (gsrt_link_kind)index;
    return status;
}

static gsrt_status read_link_pairing(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    static const char *const words[] = {"dealt", "all"};
    size_t index = 0;
    gsrt_status status = gsrt_yaml_read_word(reader, node, words, 2, &index);
    ((gsrt__raw_link *)object)->link.is_to_all = index == 1;
    return status;
}

static gsrt_status read_link_trust(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_trust(reader, node, &((gsrt__raw_link *)object)->link.trust);
}

static gsrt_status read_collective(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    size_t index = 0;
    gsrt_status status = gsrt_yaml_read_word(reader, node, gsrt__collective_words, GSRT_COLLECTIVE_COUNT, &index);
    *(unsigned *)object = 1u << index;
    return status;
}

static gsrt_status read_collectives(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_link *raw = object;
    void *items;
    uint32_t count;
    gsrt_status status = gsrt_yaml_read_items(reader, node, &gsrt__inventory_of(reader)->scratch, sizeof(unsigned), 0,
                                              GSRT_COLLECTIVE_COUNT, read_collective, &items, &count);
    for (uint32_t i = 0; status == GSRT_OK && i < count; i++)
        raw->link.collectives |= ((unsigned *)items)[i];
    return status;
}

static gsrt_status read_link_property(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_property_of(reader, node, gsrt__link_properties, GSRT__LINK_PROPERTIES,
                                  &((gsrt__raw_link *)object)->link);
}

static const gsrt_yaml_field link_fields[] = {
    {"name", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_link_name, NULL},
    {"from", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_link_reference, "PART"},
    {"to", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_link_reference, "PART"},
    {"both", GSRT_YAML_FIELD_BOOL, offsetof(gsrt__raw_link, is_both), 0, 0, NULL, NULL},
    {"kind", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_link_kind, "pcie"},
    {"pairing", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_link_pairing, NULL},
    {"coherent", GSRT_YAML_FIELD_BOOL, offsetof(gsrt__raw_link, link.is_coherent), 0, 0, NULL, NULL},
    {"collectives", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_collectives, NULL},
    {"contention", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_link_reference, NULL},
    {"fails_with", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_link_reference, NULL},
    {"trust", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_link_trust, NULL},
};

gsrt_status gsrt__read_link(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_link *raw = object;
    *raw = (gsrt__raw_link){.provenance = GSRT__PROVENANCE_NONE, .link = {.trust = GSRT_TRUST_COUNT}};
    raw->link.where = gsrt__where_of(reader, node);
    if (raw->link.where == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = GSRT__READ_ENTRY(reader, node, link_fields, gsrt__link_properties, read_link_property, raw);
    gsrt__settle_all(reader, gsrt__link_properties, GSRT__LINK_PROPERTIES, &raw->provenance, &raw->link);
    return status;
}

static gsrt_status read_path_name(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_name(reader, node, &((gsrt__raw_path *)object)->path.name);
}

static gsrt_status read_path_link(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_reference(reader, node, object);
}

static gsrt_status read_path_links(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_path *raw = object;
    void *items;
    gsrt_status status = gsrt_yaml_read_items(reader, node, &gsrt__inventory_of(reader)->scratch, sizeof(char *), 1,
                                              GSRT_FLEET_PATH_LINKS_MAX, read_path_link, &items, &raw->link_count);
    if (status == GSRT_OK)
        raw->links = items;
    return status;
}

static gsrt_status read_path_property(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_property_of(reader, node, gsrt__path_properties, GSRT__PATH_PROPERTIES,
                                  &((gsrt__raw_path *)object)->path);
}

static const gsrt_yaml_field path_fields[] = {
    {"name", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_path_name, "NAME"},
    {"links", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_path_links, "[LINK]"},
};

gsrt_status gsrt__read_path(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_path *raw = object;
    *raw = (gsrt__raw_path){.provenance = GSRT__PROVENANCE_NONE};
    raw->path.where = gsrt__where_of(reader, node);
    if (raw->path.where == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = GSRT__READ_ENTRY(reader, node, path_fields, gsrt__path_properties, read_path_property, raw);
    gsrt__settle_all(reader, gsrt__path_properties, GSRT__PATH_PROPERTIES, &raw->provenance, &raw->path);
    return status;
}

/* ---- measurements ---- */

static gsrt_status read_subject(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_measurement *raw = object;
    const char **to = strcmp(node->key, "place") == 0  ? &raw->place
                      : strcmp(node->key, "part") == 0 ? &raw->part
                                                       : &raw->link;
    return gsrt__read_reference(reader, node, to);
}

static gsrt_status read_on(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_measurement *raw = object;
    if (node->type != GSRT_YAML_TEXT || !gsrt_day_parse(node->text, &raw->measurement.day))
        return gsrt_yaml_refuse_as(reader, node, "bad_date", "must be a day; write it like 2026-11-30");
    return GSRT_OK;
}

static const gsrt_yaml_field measurement_fields[] = {
    {"place", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_subject, NULL},
    {"part", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_subject, NULL},
    {"link", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_subject, NULL},
    {"property", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__read_nothing, "bandwidth"},
    {"value", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__read_nothing, "\"1 GB/s\""},
    {"on", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_on, "2026-11-30"},
};

/* "matmul.bf16"? */
static bool is_rate(const char *key)
{
    const char *point = strchr(key, '.');
    for (size_t c = 0; point != NULL && c < GSRT_CLASS_COUNT; c++) {
        size_t len = strlen(gsrt__class_words[c]);
        for (size_t f = 0; f < GSRT_FORMAT_COUNT; f++) {
            if (strncmp(key, gsrt__class_words[c], len) == 0 && key + len == point &&
                strcmp(gsrt__format_words[f], point + 1) == 0)
                return true;
        }
    }
    return false;
}

/* The property decides the unit of the value, so it is looked at first, whatever the order of the keys. */
static gsrt_status read_measured(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt__raw_measurement *raw)
{
    const gsrt_yaml_node *key = gsrt_yaml_find(node, "property"), *value = gsrt_yaml_find(node, "value");
    if ((raw->place != NULL) + (raw->part != NULL) + (raw->link != NULL) != 1)
        return gsrt_yaml_refuse_as(reader, node, "missing_key", "of what? give one of 'place', 'part' and 'link'");
    const char *text = key->text == NULL ? "" : key->text;
    const gsrt__property *row =
        raw->place != NULL  ? gsrt__property_named(gsrt__place_properties, GSRT__PLACE_PROPERTIES, text)
        : raw->link != NULL ? gsrt__property_named(gsrt__link_properties, GSRT__LINK_PROPERTIES, text)
        : is_rate(text)     ? &gsrt__rate_property
                            : gsrt__property_named(gsrt__part_properties, GSRT__PART_PROPERTIES, text);
    size_t mark = gsrt_yaml_path_enter(reader, "property", 0);
    gsrt_status status = GSRT_OK;
    if (row == NULL)
        status = gsrt_yaml_refuse_as(
            reader, key, "unknown_word",
            "'%.60s' is no property of a %s; write it like bandwidth, or matmul.bf16 of engines", text,
            raw->place != NULL  ? "place"
            : raw->link != NULL ? "link"
                                : "part");
    gsrt_yaml_path_leave(reader, mark);
    if (status != GSRT_OK)
        return status;
    mark = gsrt_yaml_path_enter(reader, "value", 0);
    status = gsrt__quantity_read(reader, value, row->dimension, &raw->measurement.value);
    gsrt_yaml_path_leave(reader, mark);
    raw->row = row;
    raw->measurement.property = gsrt_arena_copy_text(reader->arena, text, strlen(text));
    return raw->measurement.property == NULL ? GSRT_ENOMEM : status;
}

gsrt_status gsrt__read_measurement(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_measurement *raw = object;
    *raw = (gsrt__raw_measurement){.provenance = GSRT__PROVENANCE_NONE};
    raw->measurement.where = gsrt__where_of(reader, node);
    if (raw->measurement.where == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = gsrt__read_entry(reader, node, measurement_fields,
                                          sizeof measurement_fields / sizeof measurement_fields[0], NULL, 0, NULL, raw);
    if (status == GSRT_OK)
        status = read_measured(reader, node, raw);
    gsrt__quantity_settle(&raw->measurement.value, &raw->provenance, &GSRT__PROVENANCE_NONE);
    return status;
}
