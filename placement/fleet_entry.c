/* What all entries of an inventory have in common: names, places, trust, where they stand, quantities by table. */
#include "base/limits.h"
#include "placement/fleet_impl.h"

#include <stdio.h>

enum { FIELD_COUNT_MAX = 40, PLACE_BYTES_MAX = 640 };

/* "fleet.yaml: line 3, column 5: parts[2]" in the fleet's arena; NULL: no memory. */
const char *gsrt__where_of(const gsrt_yaml_reader *reader, const gsrt_yaml_node *node)
{
    char place[PLACE_BYTES_MAX], text[PLACE_BYTES_MAX];
    gsrt_yaml_place(node, reader->path_len == 0 ? NULL : reader->path, place, sizeof place);
    int len = snprintf(text, sizeof text, "%.200s: %.400s", reader->file, place);
    return gsrt_arena_copy_text(reader->arena, text, len > 0 ? (size_t)len : 0);
}

bool gsrt__is_name(const char *text, const char *allowed, size_t bytes_max)
{
    size_t len = strspn(text, allowed);
    return len > 0 && len <= bytes_max && text[len] == 0 && text[0] != '-' && text[0] != '.';
}

gsrt_status gsrt__read_name_of(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char *allowed,
                               size_t bytes_max, const char **out)
{
    bool is_scalar = node->text != NULL && node->type != GSRT_YAML_NULL;
    if (!is_scalar || !gsrt__is_name(node->text, allowed, bytes_max)) {
        char found[GSRT_YAML_FOUND_BYTES_MAX];
        return gsrt_yaml_refuse_as(reader, node, "bad_name",
                                   "must be 1 to %zu letters, digits, '_', '-' or '.', and begin with no '-' or '.', "
                                   "found %s",
                                   bytes_max, gsrt_yaml_found(node, found, sizeof found));
    }
    *out = gsrt_arena_copy_text(reader->arena, node->text, node->text_len);
    return *out == NULL ? GSRT_ENOMEM : GSRT_OK;
}

gsrt_status gsrt__read_name(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char **out)
{
    return gsrt__read_name_of(reader, node, GSRT__NAME_BYTES, GSRT_FLEET_NAME_BYTES_MAX, out);
}

/* A name of something else: looked up later. */
gsrt_status gsrt__read_reference(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const char **out)
{
    if (node->type != GSRT_YAML_TEXT || node->text_len == 0 || node->text_len > GSRT_FLEET_LINK_NAME_BYTES_MAX) {
        char found[GSRT_YAML_FOUND_BYTES_MAX];
        return gsrt_yaml_refuse_as(reader, node, "wrong_type", "must be a name, found %s",
                                   gsrt_yaml_found(node, found, sizeof found));
    }
    *out = gsrt_arena_copy_text(reader->arena, node->text, node->text_len);
    return *out == NULL ? GSRT_ENOMEM : GSRT_OK;
}

gsrt_status gsrt__read_in(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt__in *in)
{
    if (node->type != GSRT_YAML_SEQUENCE) {
        in->count = 1;
        return gsrt__read_reference(reader, node, &in->names[0]);
    }
    if (node->child_count > GSRT_FLEET_IN_MAX)
        return gsrt_yaml_refuse_as(reader, node, "out_of_range", "at most %d places, found %u", GSRT_FLEET_IN_MAX,
                                   (unsigned)node->child_count);
    gsrt_status worst = GSRT_OK;
    in->count = 0;
    for (const gsrt_yaml_node *child = node->child_first; child != NULL; child = child->next) {
        gsrt_status status = gsrt__read_reference(reader, child, &in->names[in->count]);
        in->count += status == GSRT_OK ? 1 : 0;
        worst = status == GSRT_OK ? worst : status;
    }
    return worst;
}

gsrt_status gsrt__read_trust(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_trust *out)
{
    size_t index = GSRT_TRUST_OPERATOR;
    gsrt_status status = gsrt_yaml_read_word(reader, node, gsrt__trust_words, GSRT_TRUST_COUNT, &index);
    *out = (gsrt_trust)index;
    return status;
}

gsrt_status gsrt__read_nothing(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    (void)reader, (void)node, (void)object;
    return GSRT_OK; /* read before the others */
}

/* Read `node` by `own` rows, those of provenance, and a row for each property. */
gsrt_status gsrt__read_entry(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const gsrt_yaml_field *own,
                             size_t own_count, const gsrt__property *properties, size_t property_count,
                             gsrt_yaml_read_fn *read_property, void *object)
{
    gsrt_yaml_field fields[FIELD_COUNT_MAX];
    size_t count = 0;
    for (size_t i = 0; i < own_count; i++)
        fields[count++] = own[i];
    for (size_t i = 0; i < GSRT__PROVENANCE_FIELDS; i++)
        fields[count++] = gsrt__provenance_fields[i];
    for (size_t i = 0; i < property_count; i++)
        fields[count++] = (gsrt_yaml_field){properties[i].key, GSRT_YAML_FIELD_CALL, 0, 0, 0, read_property, NULL};
    return gsrt_yaml_read_mapping(reader, node, fields, count, object);
}
/* Read the quantity that node->key names into `object`, of which `properties` are those. */
gsrt_status gsrt__read_property_of(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                   const gsrt__property *properties, size_t count, void *object)
{
    const gsrt__property *property = gsrt__property_named(properties, count, node->key);
    return gsrt__quantity_read(reader, node, property->dimension, gsrt__quantity_at(object, property));
}

void gsrt__settle_all(gsrt_yaml_reader *reader, const gsrt__property *properties, size_t count,
                      const gsrt__provenance *provenance, void *object)
{
    for (size_t i = 0; i < count; i++)
        gsrt__quantity_settle(gsrt__quantity_at(object, &properties[i]), provenance,
                              &gsrt__inventory_of(reader)->provenance);
}
