/* The tree is built from libyaml's events with a stack of our own, GSRT_YAML_DEPTH_MAX deep: no recursion, and nothing
 * is taken from the arena for what is refused. Memory: at most NODES_MAX nodes and twice the bytes of the document. */
#include "base/yaml.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

enum { PLACE_BYTES_MAX = 320 };

typedef struct builder {
    gsrt_yaml *yaml;
    const char *file;
    const char *origin; /* of every node made */
    gsrt_diag *diag;
    gsrt_yaml_node *stack[GSRT_YAML_DEPTH_MAX];
    uint32_t depth;
    uint32_t node_count;
    const char *key; /* read, its value not yet; NULL: none */
    uint32_t key_line, key_column;
    gsrt_yaml_node *root;
    uint32_t document_count;
    bool is_done;
} builder;

static gsrt_status refuse(builder *b, yaml_mark_t mark, const char *what)
{
    char place[PLACE_BYTES_MAX];
    gsrt_yaml_node at = {.line = (uint32_t)mark.line + 1, .column = (uint32_t)mark.column + 1, .origin = b->origin};
    return gsrt_diag_set(b->diag, GSRT_EINPUT, b->file, gsrt_yaml_place(&at, NULL, place, sizeof place), "%s", what);
}

/* ---- what a plain scalar means ---- */

static size_t skip_digits(const char *text, size_t at)
{
    while (text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static gsrt_yaml_type type_of_number(const char *text)
{
    size_t start = text[0] == '-' || text[0] == '+' ? 1 : 0;
    size_t at = skip_digits(text, start);
    size_t whole = at - start;
    if (text[at] == 0 && whole > 0)
        return whole > 1 && text[start] == '0' ? GSRT_YAML_AMBIGUOUS : GSRT_YAML_INTEGER;
    if (text[start] == '0' && whole == 1 && (text[at] == 'x' || text[at] == 'o' || text[at] == 'b'))
        return GSRT_YAML_AMBIGUOUS;
    if (text[at] == '.') {
        size_t end = skip_digits(text, at + 1);
        if (whole == 0 && end == at + 1)
            return GSRT_YAML_TEXT;
        at = end;
    } else if (whole == 0) {
        return GSRT_YAML_TEXT;
    }
    if (text[at] == 'e' || text[at] == 'E') {
        at++;
        at += text[at] == '-' || text[at] == '+' ? 1 : 0;
        size_t end = skip_digits(text, at);
        if (end == at)
            return GSRT_YAML_TEXT;
        at = end;
    }
    return text[at] == 0 ? GSRT_YAML_NUMBER : GSRT_YAML_TEXT;
}

static gsrt_yaml_type type_of_plain(const char *text)
{
    static const struct {
        const char *word;
        gsrt_yaml_type type;
    } words[] = {
        {"", GSRT_YAML_NULL},          {"~", GSRT_YAML_NULL},          {"null", GSRT_YAML_NULL},
        {"Null", GSRT_YAML_NULL},      {"NULL", GSRT_YAML_NULL},       {"true", GSRT_YAML_BOOL},
        {"false", GSRT_YAML_BOOL},     {"True", GSRT_YAML_AMBIGUOUS},  {"False", GSRT_YAML_AMBIGUOUS},
        {"TRUE", GSRT_YAML_AMBIGUOUS}, {"FALSE", GSRT_YAML_AMBIGUOUS}, {"yes", GSRT_YAML_AMBIGUOUS},
        {"Yes", GSRT_YAML_AMBIGUOUS},  {"YES", GSRT_YAML_AMBIGUOUS},   {"no", GSRT_YAML_AMBIGUOUS},
        {"No", GSRT_YAML_AMBIGUOUS},   {"NO", GSRT_YAML_AMBIGUOUS},    {"on", GSRT_YAML_AMBIGUOUS},
        {"On", GSRT_YAML_AMBIGUOUS},   {"ON", GSRT_YAML_AMBIGUOUS},    {"off", GSRT_YAML_AMBIGUOUS},
        {"Off", GSRT_YAML_AMBIGUOUS},  {"OFF", GSRT_YAML_AMBIGUOUS},   {".inf", GSRT_YAML_NUMBER},
        {"-.inf", GSRT_YAML_NUMBER},   {"+.inf", GSRT_YAML_NUMBER},    {".nan", GSRT_YAML_NUMBER},
        {".Inf", GSRT_YAML_NUMBER},    {"-.Inf", GSRT_YAML_NUMBER},    {".NaN", GSRT_YAML_NUMBER},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i].word) == 0)
            return words[i].type;
    }
    return type_of_number(text);
}

/* ---- building ---- */

/* A node at `mark`, linked to what is open. *out is NULL on error. */
static gsrt_status add_node(builder *b, gsrt_yaml_type type, yaml_mark_t mark, gsrt_yaml_node **out)
{
    if (b->node_count >= GSRT_YAML_NODES_MAX)
        return refuse(b, mark, "too many values; split the document");
    gsrt_yaml_node *node = gsrt_arena_take(&b->yaml->arena, 1, sizeof *node);
    if (node == NULL)
        return GSRT_ENOMEM;
    b->node_count++;
    *node = (gsrt_yaml_node){
        .type = type, .line = (uint32_t)mark.line + 1, .column = (uint32_t)mark.column + 1, .origin = b->origin};
    *out = node;
    if (b->depth == 0) {
        b->root = node;
        return GSRT_OK;
    }
    gsrt_yaml_node *parent = b->stack[b->depth - 1];
    if (parent->type == GSRT_YAML_MAPPING) {
        node->key = b->key;
        node->key_line = b->key_line;
        node->key_column = b->key_column;
        b->key = NULL;
    }
    if (parent->child_last == NULL)
        parent->child_first = node;
    else
        parent->child_last->next = node;
    parent->child_last = node;
    parent->child_count++;
    return GSRT_OK;
}

static bool is_key_next(const builder *b)
{
    return b->depth > 0 && b->stack[b->depth - 1]->type == GSRT_YAML_MAPPING && b->key == NULL;
}

static gsrt_status take_key(builder *b, const yaml_event_t *event, const char *text)
{
    gsrt_yaml_node *parent = b->stack[b->depth - 1];
    if (parent->child_count >= GSRT_YAML_KEYS_MAX)
        return refuse(b, event->start_mark, "too many keys in one mapping");
    const gsrt_yaml_node *other = gsrt_yaml_find(parent, text);
    if (other != NULL) {
        char what[PLACE_BYTES_MAX];
        (void)snprintf(what, sizeof what, "key '%.80s' is given twice, first in line %u; remove one", text,
                       (unsigned)other->key_line);
        return refuse(b, event->start_mark, what);
    }
    b->key = text;
    b->key_line = (uint32_t)event->start_mark.line + 1;
    b->key_column = (uint32_t)event->start_mark.column + 1;
    return GSRT_OK;
}

static gsrt_status take_scalar(builder *b, const yaml_event_t *event)
{
    const char *bytes = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    if (event->data.scalar.anchor != NULL)
        return refuse(b, event->start_mark, "anchors (&name) are not supported; write the value out");
    if (event->data.scalar.tag != NULL)
        return refuse(b, event->start_mark, "tags (!name) are not supported; write the plain value");
    if (memchr(bytes, 0, len) != NULL)
        return refuse(b, event->start_mark, "text with a zero byte is not supported; remove it");
    const char *text = gsrt_arena_copy_text(&b->yaml->arena, bytes, len);
    if (text == NULL)
        return GSRT_ENOMEM;
    if (is_key_next(b))
        return take_key(b, event, text);
    bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    gsrt_yaml_node *node;
    gsrt_status status = add_node(b, is_plain ? type_of_plain(text) : GSRT_YAML_TEXT, event->start_mark, &node);
    if (status != GSRT_OK)
        return status;
    node->text = text;
    node->text_len = (uint32_t)len;
    return GSRT_OK;
}

static gsrt_status open_node(builder *b, gsrt_yaml_type type, yaml_mark_t mark, bool has_anchor, bool has_tag)
{
    if (has_anchor)
        return refuse(b, mark, "anchors (&name) are not supported; write the value out");
    if (has_tag)
        return refuse(b, mark, "tags (!name) are not supported; write the plain value");
    if (is_key_next(b))
        return refuse(b, mark, "a key must be plain text");
    if (b->depth >= GSRT_YAML_DEPTH_MAX)
        return refuse(b, mark, "nested too deep");
    gsrt_yaml_node *node;
    gsrt_status status = add_node(b, type, mark, &node);
    if (status == GSRT_OK)
        b->stack[b->depth++] = node;
    return status;
}

static gsrt_status take_event(builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT: return GSRT_OK;
    case YAML_STREAM_END_EVENT: b->is_done = true; return GSRT_OK;
    case YAML_DOCUMENT_START_EVENT:
        if (b->document_count++ > 0)
            return refuse(b, event->start_mark, "a second document; only one is read, remove the '---'");
        return GSRT_OK;
    case YAML_ALIAS_EVENT:
        return refuse(b, event->start_mark, "aliases (*name) are not supported; write the value out");
    case YAML_SCALAR_EVENT: return take_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_node(b, GSRT_YAML_SEQUENCE, event->start_mark, event->data.sequence_start.anchor != NULL,
                         event->data.sequence_start.tag != NULL);
    case YAML_MAPPING_START_EVENT:
        return open_node(b, GSRT_YAML_MAPPING, event->start_mark, event->data.mapping_start.anchor != NULL,
                         event->data.mapping_start.tag != NULL);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: b->depth--; return GSRT_OK;
    }
    return GSRT_OK;
}

static gsrt_status report_syntax(builder *b, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return GSRT_ENOMEM;
    char what[PLACE_BYTES_MAX];
    const char *problem = parser->problem == NULL ? "cannot be read" : parser->problem;
    if (parser->error == YAML_READER_ERROR) {
        (void)snprintf(what, sizeof what, "byte %zu", parser->problem_offset);
        return gsrt_diag_set(b->diag, GSRT_EINPUT, b->file, b->origin == NULL ? what : b->origin,
                             "no valid UTF-8 text: %s", problem);
    }
    (void)snprintf(what, sizeof what, "no valid YAML: %s%s%s", problem, parser->context == NULL ? "" : " ",
                   parser->context == NULL ? "" : parser->context);
    return refuse(b, parser->problem_mark, what);
}

/* Run libyaml over `bytes`; *out_root is in yaml's arena. */
static gsrt_status build(gsrt_yaml *yaml, gsrt_span bytes, const char *origin, gsrt_yaml_node **out_root,
                         gsrt_diag *diag)
{
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0)
        return GSRT_ENOMEM;
    yaml_parser_set_input_string(&parser, bytes.data == NULL ? (const unsigned char *)"" : bytes.data, bytes.len);
    builder b = {.yaml = yaml, .file = origin == NULL ? yaml->file : NULL, .origin = origin, .diag = diag};
    gsrt_status status = GSRT_OK;
    while (status == GSRT_OK && !b.is_done) {
        yaml_event_t event;
        if (yaml_parser_parse(&parser, &event) == 0) {
            status = report_syntax(&b, &parser);
            break;
        }
        status = take_event(&b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (status == GSRT_OK && b.root == NULL) {
        static const yaml_mark_t start = {0};
        status = add_node(&b, GSRT_YAML_NULL, start, &b.root);
        if (status == GSRT_OK)
            b.root->text = "";
    }
    if (status == GSRT_OK)
        *out_root = b.root;
    return status;
}

gsrt_status gsrt_yaml_parse(gsrt_span bytes, const char *file, gsrt_yaml **out, gsrt_diag *diag)
{
    if (bytes.len > GSRT_SCENARIO_BYTES_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "%zu bytes; at most %d are read", bytes.len,
                             (int)GSRT_SCENARIO_BYTES_MAX);
    gsrt_yaml *yaml = calloc(1, sizeof *yaml);
    if (yaml == NULL)
        return GSRT_ENOMEM;
    gsrt_arena_init(&yaml->arena, GSRT_YAML_ARENA_BYTES_MAX);
    yaml->file = gsrt_arena_copy_text(&yaml->arena, file, strlen(file));
    gsrt_status status = yaml->file == NULL ? GSRT_ENOMEM : build(yaml, bytes, NULL, &yaml->root, diag);
    if (status != GSRT_OK) {
        (void)gsrt_yaml_free(yaml);
        return status;
    }
    *out = yaml;
    return GSRT_OK;
}

gsrt_yaml *gsrt_yaml_free(gsrt_yaml *yaml)
{
    if (yaml == NULL)
        return NULL;
    gsrt_arena_fini(&yaml->arena);
    free(yaml);
    return NULL;
}

/* ---- reading ---- */

const gsrt_yaml_node *gsrt_yaml_find(const gsrt_yaml_node *node, const char *key)
{
    if (node == NULL || node->type != GSRT_YAML_MAPPING)
        return NULL;
    for (const gsrt_yaml_node *child = node->child_first; child != NULL; child = child->next) {
        if (strcmp(child->key, key) == 0)
            return child;
    }
    return NULL;
}

const char *gsrt_yaml_place(const gsrt_yaml_node *node, const char *path, char *room, size_t room_bytes)
{
    size_t path_len = path == NULL ? 0 : strlen(path);
    size_t origin_len = node->origin == NULL ? 0 : strlen(node->origin);
    bool is_said = path_len <= origin_len && path_len > 0 && strcmp(node->origin + origin_len - path_len, path) == 0;
    const char *separator = path == NULL || is_said ? "" : ": ";
    if (node->origin != NULL)
        (void)snprintf(room, room_bytes, "%s%s%s", node->origin, separator, path == NULL || is_said ? "" : path);
    else
        (void)snprintf(room, room_bytes, "line %u, column %u%s%s", (unsigned)node->line, (unsigned)node->column,
                       separator, path == NULL ? "" : path);
    return room;
}

const char *gsrt_yaml_type_name(gsrt_yaml_type type)
{
    static const char *const names[] = {
        [GSRT_YAML_NULL] = "nothing",       [GSRT_YAML_BOOL] = "true or false",
        [GSRT_YAML_INTEGER] = "an integer", [GSRT_YAML_NUMBER] = "a number",
        [GSRT_YAML_TEXT] = "text",          [GSRT_YAML_AMBIGUOUS] = "an ambiguous word",
        [GSRT_YAML_SEQUENCE] = "a list",    [GSRT_YAML_MAPPING] = "a mapping",
    };
    return names[type];
}

/* ---- overrides ---- */

typedef struct path_step {
    const char *key; /* [key_len]; NULL: an index */
    size_t key_len;
    uint32_t index;
} path_step;

/* Take one step off *path; false: malformed. */
static bool take_step(const char **path, bool is_first, path_step *out)
{
    const char *at = *path;
    if (*at == '[') {
        uint32_t index = 0;
        const char *digit = at + 1;
        for (; *digit >= '0' && *digit <= '9' && digit - at < 8; digit++)
            index = index * 10 + (uint32_t)(*digit - '0');
        if (digit == at + 1 || *digit != ']')
            return false;
        *out = (path_step){.index = index};
        *path = digit + 1;
        return true;
    }
    if (!is_first) {
        if (*at != '.')
            return false;
        at++;
    }
    size_t len = strcspn(at, ".[");
    if (len == 0)
        return false;
    *out = (path_step){.key = at, .key_len = len};
    *path = at + len;
    return true;
}

/* The link that points at the child `step` names: of the child itself, or of the end, where a new one goes. NULL: the
 * parent is of another type, or the index is past its end. */
static gsrt_yaml_node **link_of(gsrt_yaml_node *parent, const path_step *step)
{
    gsrt_yaml_node **link = &parent->child_first;
    if (step->key != NULL) {
        if (parent->type != GSRT_YAML_MAPPING)
            return NULL;
        while (*link != NULL &&
               !(strlen((*link)->key) == step->key_len && memcmp((*link)->key, step->key, step->key_len) == 0))
            link = &(*link)->next;
        return link;
    }
    if (parent->type != GSRT_YAML_SEQUENCE || step->index > parent->child_count)
        return NULL;
    for (uint32_t i = 0; i < step->index; i++)
        link = &(*link)->next;
    return link;
}

const gsrt_yaml_node *gsrt_yaml_at(const gsrt_yaml *yaml, const char *path)
{
    gsrt_yaml_node *node = yaml->root;
    bool is_first = true;
    while (node != NULL && *path != 0) {
        path_step step;
        if (!take_step(&path, is_first, &step))
            return NULL;
        is_first = false;
        gsrt_yaml_node **link = link_of(node, &step);
        node = link == NULL ? NULL : *link;
    }
    return node;
}

/* Put `node` where `link` points, in place of what is there. */
static gsrt_status put(gsrt_yaml *yaml, gsrt_yaml_node *parent, gsrt_yaml_node **link, const path_step *step,
                       gsrt_yaml_node *node)
{
    if (step->key != NULL) {
        node->key = gsrt_arena_copy_text(&yaml->arena, step->key, step->key_len);
        if (node->key == NULL)
            return GSRT_ENOMEM;
    }
    gsrt_yaml_node *old = *link;
    node->next = old == NULL ? NULL : old->next;
    *link = node;
    if (old == NULL)
        parent->child_count++;
    if (node->next == NULL)
        parent->child_last = node;
    return GSRT_OK;
}

/* Walk `path` from the root and put `value` at its end. */
static gsrt_status set_at(gsrt_yaml *yaml, const char *path, gsrt_yaml_node *value, gsrt_diag *diag)
{
    gsrt_yaml_node *parent = yaml->root;
    bool is_first = true;
    do {
        path_step step;
        if (!take_step(&path, is_first, &step))
            return gsrt_diag_set(diag, GSRT_EINPUT, NULL, value->origin,
                                 "no path of keys and indexes; write it like workload.requests[0].seed");
        is_first = false;
        gsrt_yaml_node **link = link_of(parent, &step);
        if (link == NULL && step.key == NULL && parent->type == GSRT_YAML_SEQUENCE)
            return gsrt_diag_set(diag, GSRT_EINPUT, NULL, value->origin,
                                 "index %u is past the end; the list has %u items", (unsigned)step.index,
                                 (unsigned)parent->child_count);
        if (link == NULL)
            return gsrt_diag_set(diag, GSRT_EINPUT, NULL, value->origin, "cannot look for %s '%.*s' in %s",
                                 step.key == NULL ? "an index" : "the key", (int)step.key_len,
                                 step.key == NULL ? "" : step.key, gsrt_yaml_type_name(parent->type));
        if (*path == 0)
            return put(yaml, parent, link, &step, value);
        if (*link == NULL) {
            gsrt_yaml_node *made = gsrt_arena_take(&yaml->arena, 1, sizeof *made);
            if (made == NULL)
                return GSRT_ENOMEM;
            *made = (gsrt_yaml_node){.type = GSRT_YAML_MAPPING, .origin = value->origin};
            gsrt_status status = put(yaml, parent, link, &step, made);
            if (status != GSRT_OK)
                return status;
        }
        parent = *link;
    } while (true);
}

gsrt_status gsrt_yaml_set(gsrt_yaml *yaml, const char *path, const char *value, gsrt_diag *diag)
{
    char origin[PLACE_BYTES_MAX];
    (void)snprintf(origin, sizeof origin, "--set %.200s", path);
    const char *copy = gsrt_arena_copy_text(&yaml->arena, origin, strlen(origin));
    if (copy == NULL)
        return GSRT_ENOMEM;
    if (strlen(value) > GSRT_SCENARIO_BYTES_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, NULL, copy, "the value is too long");
    gsrt_yaml_node *node;
    gsrt_status status = build(yaml, gsrt_span_of_text(value), copy, &node, diag);
    return status == GSRT_OK ? set_at(yaml, path, node, diag) : status;
}
