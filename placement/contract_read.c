/* The document: rules from YAML and back. */
#include "placement/contract.h"

#include "base/json.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_words[GSRT_CONTRACT_KIND_COUNT] = {
    [GSRT_CONTRACT_BITWISE] = "bitwise",
    [GSRT_CONTRACT_DETERMINISTIC] = "deterministic",
    [GSRT_CONTRACT_ABSOLUTE_ERROR] = "absolute_error",
    [GSRT_CONTRACT_RELATIVE_ERROR] = "relative_error",
    [GSRT_CONTRACT_DIVERGENCE] = "divergence",
    [GSRT_CONTRACT_QUALITY] = "quality",
    [GSRT_CONTRACT_EXACT_PATHS] = "exact_paths",
};

static const gsrt_contract_rule bitwise_rule = {.glob = "*", .kind = GSRT_CONTRACT_BITWISE};

const char *gsrt_contract_kind_word(gsrt_contract_kind kind)
{
    return kind_words[kind];
}

const char *gsrt_effect_class_word(gsrt_effect_class effect)
{
    static const char *const words[GSRT_EFFECT_CLASS_COUNT] = {"exact", "reordered", "narrowed", "approximate"};
    return words[effect];
}

/* ---- globs ---- */

/* Greedy: after a mismatch the last '*' takes one more. O(glob * name) at worst. */
bool gsrt_contract_glob_matches(const char *glob, const char *name)
{
    const char *star = NULL, *retry = NULL;
    while (*name != 0) {
        if (*glob == '*') {
            star = glob++;
            retry = name;
        } else if (*glob == '?' || *glob == *name) {
            glob++;
            name++;
        } else if (star != NULL) {
            glob = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*glob == '*')
        glob++;
    return *glob == 0;
}

const gsrt_contract_rule *gsrt_contract_rule_for(const gsrt_contract *contract, const char *region)
{
    for (uint32_t i = contract->rule_count; i > 1; i--) {
        if (gsrt_contract_glob_matches(contract->rules[i - 1].glob, region))
            return &contract->rules[i - 1];
    }
    return &contract->rules[0];
}

gsrt_status gsrt_contract_check(const gsrt_contract *contract, const gsrt_workload *workload, const char *file,
                                gsrt_diag *diag)
{
    for (uint32_t i = 1; i < contract->rule_count; i++) {
        const char *glob = contract->rules[i].glob;
        uint32_t r = 0;
        while (r < workload->region_count && !gsrt_contract_glob_matches(glob, workload->regions[r].name))
            r++;
        if (r == workload->region_count)
            return gsrt_diag_set(diag, GSRT_EINPUT, file, "contract",
                                 "no region of this model is called '%.80s'; its regions are '%.80s' to '%.80s'", glob,
                                 workload->regions[0].name, workload->regions[workload->region_count - 1].name);
    }
    return GSRT_OK;
}

/* ---- reading ---- */

/* One item of the list, as it is written. */
typedef struct rule_draft {
    const char *regions, *keep, *corpus, *paths;
    double bounds[GSRT_CONTRACT_KIND_COUNT];
} rule_draft;

static gsrt_status read_keep(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    rule_draft *draft = object;
    size_t index;
    gsrt_status status = gsrt_yaml_read_word(reader, node, kind_words, GSRT_CONTRACT_DETERMINISTIC + 1, &index);
    if (status == GSRT_OK)
        draft->keep = kind_words[index];
    return status;
}

#define BOUND_OF(kind) offsetof(rule_draft, bounds) + (kind) * sizeof(double)
static const gsrt_yaml_field rule_fields[] = {
    {"regions", GSRT_YAML_FIELD_TEXT, offsetof(rule_draft, regions), 1, GSRT_NAME_BYTES_MAX, NULL, NULL},
    {"keep", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_keep, NULL},
    {"absolute_error", GSRT_YAML_FIELD_F64, BOUND_OF(GSRT_CONTRACT_ABSOLUTE_ERROR), 1e-12, 1e6, NULL, NULL},
    {"relative_error", GSRT_YAML_FIELD_F64, BOUND_OF(GSRT_CONTRACT_RELATIVE_ERROR), 1e-12, 1, NULL, NULL},
    {"divergence", GSRT_YAML_FIELD_F64, BOUND_OF(GSRT_CONTRACT_DIVERGENCE), 1e-12, 100, NULL, NULL},
    {"quality", GSRT_YAML_FIELD_F64, BOUND_OF(GSRT_CONTRACT_QUALITY), 1, 100, NULL, NULL},
    {"exact_paths", GSRT_YAML_FIELD_PATH, offsetof(rule_draft, paths), 0, 0, NULL, NULL},
    {"corpus", GSRT_YAML_FIELD_PATH, offsetof(rule_draft, corpus), 0, 0, NULL, NULL},
};

/* What kind of rule the draft is: it must name exactly one. */
static gsrt_status kind_of(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const rule_draft *draft,
                           gsrt_contract_kind *out)
{
    const char *first = NULL;
    for (uint32_t kind = GSRT_CONTRACT_DETERMINISTIC; kind < GSRT_CONTRACT_KIND_COUNT; kind++) {
        const char *key = kind == GSRT_CONTRACT_DETERMINISTIC ? "keep" : kind_words[kind];
        if (gsrt_yaml_find(node, key) == NULL)
            continue;
        if (first != NULL)
            return gsrt_yaml_refuse(reader, node, "has both '%s' and '%s'; make two rules of it, or keep one", first,
                                    key);
        first = key;
        *out = (gsrt_contract_kind)kind;
    }
    if (first == NULL)
        return gsrt_yaml_refuse(reader, node,
                                "says nothing of its regions; add one of keep, absolute_error, relative_error, "
                                "divergence, quality, exact_paths");
    if (draft->keep != NULL && strcmp(draft->keep, kind_words[GSRT_CONTRACT_BITWISE]) == 0)
        *out = GSRT_CONTRACT_BITWISE;
    return GSRT_OK;
}

static gsrt_status read_rule(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_contract_rule *rule = object;
    rule_draft draft = {.regions = bitwise_rule.glob};
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, rule_fields, &draft);
    if (status == GSRT_OK)
        status = kind_of(reader, node, &draft, &rule->kind);
    if (status != GSRT_OK)
        return status;
    bool is_measured = rule->kind > GSRT_CONTRACT_DETERMINISTIC && rule->kind != GSRT_CONTRACT_EXACT_PATHS;
    if (draft.corpus != NULL && !is_measured)
        return gsrt_yaml_refuse(reader, node, "names a corpus, and nothing is measured on it; leave 'corpus' out");
    if (draft.corpus == NULL && rule->kind == GSRT_CONTRACT_QUALITY)
        return gsrt_yaml_refuse(reader, node, "does not say on which text; add 'corpus: FILE.txt'");
    rule->glob = draft.regions;
    rule->bound = draft.bounds[rule->kind];
    rule->corpus = rule->kind == GSRT_CONTRACT_EXACT_PATHS ? draft.paths : draft.corpus;
    return GSRT_OK;
}

static gsrt_contract *contract_create(void)
{
    gsrt_contract *contract = calloc(1, sizeof *contract);
    if (contract != NULL)
        gsrt_arena_init(&contract->arena, GSRT_CONTRACT_BYTES_MAX);
    return contract;
}

gsrt_contract *gsrt_contract_free(gsrt_contract *contract)
{
    if (contract != NULL)
        gsrt_arena_fini(&contract->arena);
    free(contract);
    return NULL;
}

/* The rules behind each other; in front of them, unless the first one says it for all, that all is bitwise. */
static gsrt_status keep_rules(gsrt_contract *contract, const gsrt_contract_rule *items, uint32_t count)
{
    uint32_t before = strcmp(items[0].glob, bitwise_rule.glob) == 0 ? 0 : 1;
    gsrt_contract_rule *rules = gsrt_arena_take(&contract->arena, before + count, sizeof *rules);
    if (rules == NULL)
        return GSRT_ENOMEM;
    rules[0] = bitwise_rule;
    memcpy(rules + before, items, count * sizeof *items);
    contract->rules = rules;
    contract->rule_count = before + count;
    return GSRT_OK;
}

static gsrt_status read_list(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_contract *contract)
{
    void *items;
    uint32_t count;
    gsrt_arena *arena = reader->arena;
    reader->arena = &contract->arena;
    gsrt_status status = gsrt_yaml_read_items(reader, node, &contract->arena, sizeof(gsrt_contract_rule), 1,
                                              GSRT_CONTRACT_RULE_COUNT_MAX, read_rule, &items, &count);
    reader->arena = arena;
    return status == GSRT_OK ? keep_rules(contract, items, count) : status;
}

static gsrt_status read_word(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_contract *contract)
{
    size_t index;
    gsrt_status status = gsrt_yaml_read_word(reader, node, kind_words, GSRT_CONTRACT_DETERMINISTIC + 1, &index);
    if (status != GSRT_OK)
        return status;
    const gsrt_contract_rule rule = {.glob = bitwise_rule.glob, .kind = (gsrt_contract_kind)index};
    return keep_rules(contract, &rule, 1);
}

gsrt_status gsrt_contract_read(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_contract **out)
{
    gsrt_contract *contract = contract_create();
    if (contract == NULL)
        return GSRT_ENOMEM;
    gsrt_status status;
    if (node->type == GSRT_YAML_SEQUENCE)
        status = read_list(reader, node, contract);
    else if (node->type == GSRT_YAML_MAPPING)
        status = gsrt_yaml_refuse(reader, node,
                                  "must be a word or a list of rules, found a mapping; begin the rule "
                                  "with '- '");
    else
        status = read_word(reader, node, contract);
    if (status == GSRT_OK)
        *out = contract;
    else
        (void)gsrt_contract_free(contract);
    return status;
}

gsrt_contract *gsrt_contract_bitwise(void)
{
    gsrt_contract *contract = contract_create();
    return contract == NULL || keep_rules(contract, &bitwise_rule, 1) == GSRT_OK ? contract
                                                                                 : gsrt_contract_free(contract);
}

/* ---- printing ---- */

static gsrt_status print_path(gsrt_buffer *out, const char *key, const char *path)
{
    gsrt_status status = gsrt_buffer_print(out, "%s: ", key);
    return status == GSRT_OK ? gsrt_yaml_print_text(out, path) : status;
}

static gsrt_status print_rule(const gsrt_contract_rule *rule, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, "{regions: ");
    if (status == GSRT_OK)
        status = gsrt_yaml_print_text(out, rule->glob);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, ", ");
    if (status != GSRT_OK)
        return status;
    if (rule->kind <= GSRT_CONTRACT_DETERMINISTIC) {
        status = gsrt_buffer_print(out, "keep: %s", kind_words[rule->kind]);
    } else if (rule->kind == GSRT_CONTRACT_EXACT_PATHS) {
        status = print_path(out, kind_words[rule->kind], rule->corpus);
    } else {
        status = gsrt_buffer_print(out, "%s: ", kind_words[rule->kind]);
        if (status == GSRT_OK)
            status = gsrt_json_print_f64(out, rule->bound);
        if (status == GSRT_OK && rule->corpus != NULL)
            status = print_path(out, ", corpus", rule->corpus);
    }
    return status == GSRT_OK ? gsrt_buffer_print(out, "}") : status;
}

gsrt_status gsrt_contract_print(const gsrt_contract *contract, gsrt_buffer *out)
{
    if (contract->rule_count == 1 && contract->rules[0].kind <= GSRT_CONTRACT_DETERMINISTIC)
        return gsrt_buffer_print(out, "%s", kind_words[contract->rules[0].kind]);
    gsrt_status status = gsrt_buffer_print(out, "[");
    for (uint32_t i = 0; i < contract->rule_count && status == GSRT_OK; i++) {
        if (i > 0)
            status = gsrt_buffer_print(out, ", ");
        if (status == GSRT_OK)
            status = print_rule(&contract->rules[i], out);
    }
    return status == GSRT_OK ? gsrt_buffer_print(out, "]") : status;
}
