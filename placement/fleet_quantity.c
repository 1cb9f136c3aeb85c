/* A quantity in an inventory: "80 GB [79, 81]", or {value: ..., source: ..., confidence: ..., since: ..., until: ...}.
 */
#include "placement/fleet_impl.h"

enum { FIELD_COUNT = GSRT__PROVENANCE_FIELDS + 1, VALUE_BYTES_MAX = 256, SOURCE_BYTES_MAX = 400 };

/* What is being read; the provenance first, as its rows expect. */
typedef struct stated {
    gsrt__provenance provenance;
    gsrt_dimension dimension;
    gsrt_quantity quantity;
} stated;

static gsrt_status read_source(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__provenance *provenance = object;
    if (node->type != GSRT_YAML_TEXT || node->text_len > SOURCE_BYTES_MAX ||
        !gsrt_source_parse(node->text, &provenance->source)) {
        char found[GSRT_YAML_FOUND_BYTES_MAX];
        return gsrt_yaml_refuse_as(reader, node, "bad_source",
                                   "must say what kind of source it is, found %s; write one of guess, declared, "
                                   "datasheet, paper, discovered, measured, a colon, and which",
                                   gsrt_yaml_found(node, found, sizeof found));
    }
    provenance->source_text = gsrt_arena_copy_text(reader->arena, node->text, node->text_len);
    return provenance->source_text == NULL ? GSRT_ENOMEM : GSRT_OK;
}

static gsrt_status read_day(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, int32_t *out)
{
    char found[GSRT_YAML_FOUND_BYTES_MAX];
    if (node->type != GSRT_YAML_TEXT || !gsrt_day_parse(node->text, out))
        return gsrt_yaml_refuse_as(reader, node, "bad_date", "must be a day, found %s; write it like 2026-11-30",
                                   gsrt_yaml_found(node, found, sizeof found));
    return GSRT_OK;
}

static gsrt_status check_validity(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                  const gsrt__provenance *provenance)
{
    if (provenance->from_day <= provenance->until_day)
        return GSRT_OK;
    return gsrt_yaml_refuse_as(reader, node, "validity_backwards", "'until' is before 'since'; change one of them");
}

static gsrt_status read_since(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__provenance *provenance = object;
    gsrt_status status = read_day(reader, node, &provenance->from_day);
    return status == GSRT_OK ? check_validity(reader, node, provenance) : status;
}

static gsrt_status read_until(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt__provenance *provenance = object;
    gsrt_status status = read_day(reader, node, &provenance->until_day);
    return status == GSRT_OK ? check_validity(reader, node, provenance) : status;
}

const gsrt_yaml_field gsrt__provenance_fields[GSRT__PROVENANCE_FIELDS] = {
    {"source", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_source, NULL},
    {"confidence", GSRT_YAML_FIELD_F64, offsetof(gsrt__provenance, confidence), 0, 1, NULL, NULL},
    {"since", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_since, NULL},
    {"until", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_until, NULL},
};

/* ---- the value ---- */

/* Any scalar: "80 GB", and 0.9 where a plain number is wanted. */
static gsrt_status read_value(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    stated *s = object;
    char found[GSRT_YAML_FOUND_BYTES_MAX];
    if (node->text == NULL || node->type == GSRT_YAML_NULL)
        return gsrt_yaml_refuse_as(reader, node, "wrong_type",
                                   "must be a number with its unit, found %s; write it like '80 GB'",
                                   gsrt_yaml_found(node, found, sizeof found));
    gsrt_quantity_problem problem;
    if (node->text_len > VALUE_BYTES_MAX)
        return gsrt_yaml_refuse_as(reader, node, "not_a_number", "%u bytes are no number; write it like '80 GB'",
                                   (unsigned)node->text_len);
    if (gsrt_quantity_parse(node->text, s->dimension, &s->quantity, &problem) != GSRT_OK)
        return gsrt_yaml_refuse_as(reader, node, problem.reason, "%s", problem.text);
    return GSRT_OK;
}

gsrt_status gsrt__quantity_read(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_dimension dimension,
                                gsrt_quantity *out)
{
    stated s = {.provenance = GSRT__PROVENANCE_NONE, .dimension = dimension};
    gsrt_yaml_field fields[FIELD_COUNT] = {{"value", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_value, "\"80 GB\""}};
    memcpy(fields + 1, gsrt__provenance_fields, sizeof gsrt__provenance_fields);
    gsrt_status status = node->type == GSRT_YAML_MAPPING ? gsrt_yaml_read_mapping(reader, node, fields, FIELD_COUNT, &s)
                                                         : read_value(reader, node, &s);
    if (status == GSRT_EINPUT) {
        *out = (gsrt_quantity){0};
        return GSRT_OK; /* said by the reader's sink; what depends on this number cannot be checked */
    }
    if (status != GSRT_OK)
        return status;
    if (s.provenance.source == GSRT_SOURCE_GUESS && s.provenance.confidence > 0.9)
        (void)gsrt_yaml_refuse_as(reader, node, "sure_guess",
                                  "a guess with confidence %g; name a source, or be less sure",
                                  s.provenance.confidence);
    *out = s.quantity;
    out->source = s.provenance.source;
    out->source_text = s.provenance.source_text;
    out->confidence = s.provenance.confidence;
    out->valid_from_day = s.provenance.from_day;
    out->valid_until_day = s.provenance.until_day;
    return GSRT_OK;
}

/* What a statement without a confidence of its own is worth: docs/fleet.md lists these. */
static double usual_confidence(gsrt_source source)
{
    static const double confidence[GSRT_SOURCE_COUNT] = {
        [GSRT_SOURCE_NONE] = 0.5,      [GSRT_SOURCE_GUESS] = 0.5, [GSRT_SOURCE_DECLARED] = 0.7,
        [GSRT_SOURCE_DATASHEET] = 0.9, [GSRT_SOURCE_PAPER] = 0.8, [GSRT_SOURCE_DISCOVERED] = 0.95,
        [GSRT_SOURCE_MEASURED] = 0.95,
    };
    return confidence[source];
}

void gsrt__quantity_settle(gsrt_quantity *quantity, const gsrt__provenance *entry, const gsrt__provenance *document)
{
    if (!quantity->is_known)
        return;
    const gsrt__provenance *levels[] = {entry, document};
    for (size_t i = 0; i < 2; i++) {
        const gsrt__provenance *level = levels[i];
        if (quantity->source == GSRT_SOURCE_NONE && level->source != GSRT_SOURCE_NONE) {
            quantity->source = level->source;
            quantity->source_text = level->source_text;
            if (quantity->confidence < 0)
                quantity->confidence = level->confidence;
        }
        if (quantity->source == GSRT_SOURCE_NONE && quantity->confidence < 0)
            quantity->confidence = level->confidence;
        if (quantity->valid_from_day == GSRT_DAY_FIRST && quantity->valid_until_day == GSRT_DAY_LAST) {
            quantity->valid_from_day = level->from_day;
            quantity->valid_until_day = level->until_day;
        }
    }
    if (quantity->confidence < 0)
        quantity->confidence = usual_confidence(quantity->source);
}
