/* Parts of an inventory, and the types that they begin as. */
#include "base/limits.h"
#include "base/nearest.h"
#include "placement/fleet_impl.h"

#include <stdlib.h>

enum { TEXT_BYTES_MAX = 200 };

static gsrt_status read_part_name(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_name(reader, node, &((gsrt__raw_part *)object)->part.name);
}

static gsrt_status read_part_kind(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_part *raw = object;
    size_t index = 0;
    gsrt_status status = gsrt_yaml_read_word(reader, node, gsrt__part_kind_words, GSRT_PART_KIND_COUNT, &index);
    if (status != GSRT_OK)
        return status;
    if (raw->has_kind && raw->part.kind != (gsrt_part_kind)index)
        return gsrt_yaml_refuse_as(reader, node, "misplaced_key",
                                   "its type is %s; leave 'kind' out, or take another type",
                                   gsrt__part_kind_words[raw->part.kind]);
    raw->part.kind = (gsrt_part_kind)index;
    raw->has_kind = true;
    return GSRT_OK;
}

static gsrt_status read_part_in(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_in(reader, node, &((gsrt__raw_part *)object)->in);
}

static gsrt_status read_part_trust(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_trust(reader, node, &((gsrt__raw_part *)object)->part.trust);
}

static gsrt_status read_tier(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_tier *out)
{
    size_t index = GSRT_TIER_UNKNOWN;
    gsrt_status status = gsrt_yaml_read_word(reader, node, gsrt__tier_words, GSRT_TIER_COUNT, &index);
    *out = (gsrt_tier)index;
    return status;
}

static gsrt_status read_part_tier(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_tier(reader, node, &((gsrt__raw_part *)object)->part.tier);
}

static gsrt_status read_part_property(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_property_of(reader, node, gsrt__part_properties, GSRT__PART_PROPERTIES,
                                  &((gsrt__raw_part *)object)->part);
}

/* rates: {matmul: {bf16: "312 TFLOPS"}}; the words are the keys. */
typedef struct rate_subject {
    gsrt_quantity *of_class; /* [GSRT_FORMAT_COUNT] */
} rate_subject;

static gsrt_status read_rate(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    const rate_subject *subject = object;
    for (size_t f = 0; f < GSRT_FORMAT_COUNT; f++) {
        if (strcmp(gsrt__format_words[f], node->key) == 0)
            return gsrt__quantity_read(reader, node, gsrt__rate_property.dimension, &subject->of_class[f]);
    }
    return GSRT_EINVAL;
}

static gsrt_status read_rates_of_class(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_quantity *rates = object; /* [GSRT_CLASS_COUNT][GSRT_FORMAT_COUNT] */
    gsrt_yaml_field fields[GSRT_FORMAT_COUNT];
    for (size_t f = 0; f < GSRT_FORMAT_COUNT; f++)
        fields[f] = (gsrt_yaml_field){gsrt__format_words[f], GSRT_YAML_FIELD_CALL, 0, 0, 0, read_rate, NULL};
    for (size_t c = 0; c < GSRT_CLASS_COUNT; c++) {
        rate_subject subject = {rates + c * GSRT_FORMAT_COUNT};
        if (strcmp(gsrt__class_words[c], node->key) == 0)
            return GSRT_YAML_READ_FIELDS(reader, node, fields, &subject);
    }
    return GSRT_EINVAL;
}

static gsrt_status read_rates(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    enum { RATE_COUNT = GSRT_CLASS_COUNT * GSRT_FORMAT_COUNT };
    gsrt__raw_part *raw = object;
    gsrt_yaml_field fields[GSRT_CLASS_COUNT];
    for (size_t c = 0; c < GSRT_CLASS_COUNT; c++)
        fields[c] = (gsrt_yaml_field){gsrt__class_words[c], GSRT_YAML_FIELD_CALL, 0, 0, 0, read_rates_of_class, NULL};
    gsrt_quantity *rates = gsrt_arena_take(reader->arena, RATE_COUNT, sizeof *rates);
    if (rates == NULL)
        return GSRT_ENOMEM;
    if (raw->part.rates != NULL) /* of the type: other parts have them too */
        memcpy(rates, raw->part.rates, RATE_COUNT * sizeof *rates);
    raw->part.rates = rates;
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, fields, rates);
    for (size_t i = 0; i < RATE_COUNT; i++)
        gsrt__quantity_settle(&rates[i], &raw->provenance, &gsrt__inventory_of(reader)->provenance);
    return status;
}

/* software: {driver: "550.90"}: any names; kept in their order. */
static gsrt_status read_software(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_part *raw = object;
    if (node->type != GSRT_YAML_MAPPING || node->child_count > GSRT_FLEET_WORDS_MAX)
        return gsrt_yaml_refuse_as(
            reader, node, "wrong_type",
            "must be a mapping of at most %d names to versions; write it like {driver: \"550.90\"}",
            GSRT_FLEET_WORDS_MAX);
    gsrt_software *items = gsrt_arena_take(reader->arena, node->child_count, sizeof *items);
    if (items == NULL)
        return GSRT_ENOMEM;
    uint32_t count = 0;
    for (const gsrt_yaml_node *child = node->child_first; child != NULL; child = child->next) {
        if (!gsrt__is_name(child->key, GSRT__NAME_BYTES, GSRT_FLEET_NAME_BYTES_MAX))
            return gsrt_yaml_refuse_as(reader, child, "bad_name",
                                       "'%.60s' is no name of software; use letters, digits, "
                                       "'_', '-' and '.'",
                                       child->key);
        if (child->text == NULL || child->text_len > TEXT_BYTES_MAX)
            return gsrt_yaml_refuse_as(reader, child, "wrong_type", "must be a version; write it in quotes");
        gsrt_software *item = &items[count++];
        item->name = gsrt_arena_copy_text(reader->arena, child->key, strlen(child->key));
        item->version = gsrt_arena_copy_text(reader->arena, child->text, child->text_len);
        if (item->name == NULL || item->version == NULL)
            return GSRT_ENOMEM;
        for (gsrt_software *at = item; at > items && strcmp(at[-1].name, at->name) > 0; at--) {
            gsrt_software swapped = at[-1];
            at[-1] = *at;
            *at = swapped;
        }
    }
    raw->part.software = items;
    raw->part.software_count = count;
    return GSRT_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static gsrt_status read_counter(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_name(reader, node, object);
}

/* counters: [PAPI_TOT_CYC]: any names; kept in their order. An empty list: there are none. */
static gsrt_status read_counters(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_part *raw = object;
    void *items = NULL;
    uint32_t count = 0;
    gsrt_status status = gsrt_yaml_read_items(reader, node, reader->arena, sizeof(const char *), 0,
                                              GSRT_FLEET_COUNTERS_MAX, read_counter, &items, &count);
    if (status != GSRT_OK)
        return status;
    const char **names = items;
    static const char *const none[1] = {NULL};
    if (count > 0)
        qsort(names, count, sizeof *names, compare_names);
    for (uint32_t i = 1; i < count; i++) {
        if (strcmp(names[i - 1], names[i]) == 0)
            return gsrt_yaml_refuse_as(reader, node, "duplicate_name", "'%.60s' stands there twice; remove one",
                                       names[i]);
    }
    raw->part.counters = count > 0 ? names : none;
    raw->part.counter_count = count;
    return GSRT_OK;
}

static gsrt_status read_onboard_name(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_name(reader, node, &((gsrt__onboard *)object)->name);
}

static gsrt_status read_onboard_tier(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_tier(reader, node, &((gsrt__onboard *)object)->tier);
}

static gsrt_status read_onboard_property(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__read_property_of(reader, node, gsrt__onboard_properties, GSRT__ONBOARD_PROPERTIES, object);
}

static const gsrt_yaml_field memory_fields[] = {
    {"name", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_onboard_name, NULL},
    {"tier", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_onboard_tier, "hbm"},
    {"count", GSRT_YAML_FIELD_U32, offsetof(gsrt__onboard, count), 1, GSRT_FLEET_COUNT_MAX, NULL, NULL},
};

static gsrt_status read_onboard(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__onboard *onboard = object;
    *onboard = (gsrt__onboard){.provenance = GSRT__PROVENANCE_NONE, .count = 1};
    gsrt_status status =
        GSRT__READ_ENTRY(reader, node, memory_fields, gsrt__onboard_properties, read_onboard_property, onboard);
    if (onboard->name == NULL)
        onboard->name = gsrt__tier_words[onboard->tier];
    return status;
}

static gsrt_status read_memory(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_part *raw = object;
    void *items;
    gsrt_status status = gsrt_yaml_read_items(reader, node, reader->arena, sizeof(gsrt__onboard), 0,
                                              GSRT_FLEET_WORDS_MAX, read_onboard, &items, &raw->memory_count);
    if (status != GSRT_OK)
        return status;
    gsrt__onboard *memory = items;
    for (uint32_t i = 0; i < raw->memory_count; i++) {
        for (size_t p = 0; p < GSRT__ONBOARD_PROPERTIES; p++) {
            gsrt_quantity *quantity = gsrt__quantity_at(&memory[i], &gsrt__onboard_properties[p]);
            gsrt__quantity_settle(
                quantity, memory[i].provenance.source != GSRT_SOURCE_NONE ? &memory[i].provenance : &raw->provenance,
                &gsrt__inventory_of(reader)->provenance);
        }
    }
    raw->memory = memory;
    return GSRT_OK;
}

static const gsrt_yaml_field part_fields[] = {
    {"name", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_part_name, "NAME"},
    {"type", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__read_nothing, NULL},
    {"kind", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_part_kind, NULL},
    {"in", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_part_in, NULL},
    {"count", GSRT_YAML_FIELD_U32, offsetof(gsrt__raw_part, part.count), 1, GSRT_FLEET_COUNT_MAX, NULL, NULL},
    {"trust", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_part_trust, NULL},
    {"vendor", GSRT_YAML_FIELD_TEXT, offsetof(gsrt__raw_part, part.vendor), 1, TEXT_BYTES_MAX, NULL, NULL},
    {"product", GSRT_YAML_FIELD_TEXT, offsetof(gsrt__raw_part, part.product), 1, TEXT_BYTES_MAX, NULL, NULL},
    {"tier", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_part_tier, NULL},
    {"rates", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_rates, NULL},
    {"memory", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_memory, NULL},
    {"software", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_software, NULL},
    {"counters", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_counters, NULL},
};

/* Keys that the kind of a part does not have. */
static gsrt_status check_keys(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const gsrt__raw_part *raw)
{
    static const struct {
        const char *key;
        gsrt_part_kind kind;
    } owned[] = {{"tier", GSRT_PART_MEMORY},
                 {"rates", GSRT_PART_ENGINE},
                 {"memory", GSRT_PART_ENGINE},
                 {"counters", GSRT_PART_ENGINE}};
    gsrt_status worst = GSRT_OK;
    for (const gsrt_yaml_node *child = node->child_first; child != NULL; child = child->next) {
        const gsrt__property *property = gsrt__property_named(gsrt__part_properties, GSRT__PART_PROPERTIES, child->key);
        bool is_good = property == NULL || (property->kinds & 1u << raw->part.kind) != 0;
        for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
            is_good = is_good && (strcmp(owned[i].key, child->key) != 0 || owned[i].kind == raw->part.kind);
        if (is_good)
            continue;
        size_t mark = gsrt_yaml_path_enter(reader, child->key, 0);
        worst = gsrt_yaml_refuse_as(reader, child, "misplaced_key", "a part of kind %s has no '%s'; remove it",
                                    gsrt__part_kind_words[raw->part.kind], child->key);
        gsrt_yaml_path_leave(reader, mark);
    }
    return worst;
}

/* Begin *raw as its type. */
static gsrt_status take_type(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt__raw_part *raw)
{
    const gsrt__inventory *inventory = gsrt__inventory_of(reader);
    size_t mark = gsrt_yaml_path_enter(reader, "type", 0);
    const char *names[GSRT_FLEET_TYPES_MAX];
    gsrt_status status = GSRT_OK;
    const gsrt__raw_part *type = NULL;
    for (uint32_t i = 0; i < inventory->type_count; i++) {
        names[i] = inventory->types[i].part.name;
        if (type == NULL && node->type == GSRT_YAML_TEXT && strcmp(names[i], node->text) == 0)
            type = &inventory->types[i];
    }
    if (type != NULL) {
        *raw = *type;
        raw->provenance = GSRT__PROVENANCE_NONE;
        raw->part.name = NULL;
    } else {
        const char *text = node->text == NULL ? "" : node->text;
        const char *nearest = gsrt_nearest(text, names, inventory->type_count);
        status = gsrt_yaml_refuse_as(reader, node, "unknown_name", "there is no type '%.60s'; %s%s%s", text,
                                     nearest == NULL ? "add it to 'types', or name a catalogue that has it"
                                                     : "did you mean '",
                                     nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
    }
    gsrt_yaml_path_leave(reader, mark);
    return status;
}

gsrt_status gsrt__read_part(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__raw_part *raw = object;
    *raw = (gsrt__raw_part){.provenance = GSRT__PROVENANCE_NONE, .part = {.count = 1, .trust = GSRT_TRUST_COUNT}};
    const gsrt_yaml_node *type = gsrt_yaml_find(node, "type");
    gsrt_status status = type == NULL ? GSRT_OK : take_type(reader, type, raw);
    raw->part.where = gsrt__where_of(reader, node);
    if (status == GSRT_ENOMEM || raw->part.where == NULL)
        return GSRT_ENOMEM;
    gsrt_status own = GSRT__READ_ENTRY(reader, node, part_fields, gsrt__part_properties, read_part_property, raw);
    status = own == GSRT_OK ? status : own;
    if (status == GSRT_OK && !raw->has_kind)
        status = gsrt_yaml_refuse_as(reader, node, "missing_key", "neither 'type' nor 'kind'; add 'kind: engine'");
    if (status == GSRT_OK)
        status = check_keys(reader, node, raw);
    gsrt__settle_all(reader, gsrt__part_properties, GSRT__PART_PROPERTIES, &raw->provenance, &raw->part);
    return status;
}
