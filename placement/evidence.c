/* Reading takes values out of the tree as they are; whether they are evidence is asked in one place, for files and
 * callers alike (check). */
#include "placement/evidence.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/nearest.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "gsrt-evidence/1"

enum { PLACE_BYTES_MAX = 160, HASH_DIGITS = 32 };

void gsrt_evidence_list_init(gsrt_evidence_list *list)
{
    *list = (gsrt_evidence_list){0};
    gsrt_arena_init(&list->arena, GSRT_EVIDENCE_BYTES_MAX);
}

void gsrt_evidence_list_fini(gsrt_evidence_list *list)
{
    gsrt_arena_fini(&list->arena);
    free(list->items);
    *list = (gsrt_evidence_list){0};
}

/* ---- is it evidence? ---- */

typedef struct checking {
    const char *file;
    size_t index;
    gsrt_diag *diag;
} checking;

static gsrt_status refuse(const checking *c, const char *where, const char *what)
{
    char place[PLACE_BYTES_MAX + 40];
    (void)snprintf(place, sizeof place, "evidence[%zu].%s", c->index, where);
    return gsrt_diag_set(c->diag, GSRT_EINPUT, c->file, place, "%s", what);
}

static bool is_text(const char *text)
{
    return text != NULL && text[0] != 0 && strlen(text) <= GSRT_EVIDENCE_TEXT_BYTES_MAX;
}

static bool is_hash(const char *text)
{
    return text != NULL && strlen(text) == HASH_DIGITS && strspn(text, "0123456789abcdef") == HASH_DIGITS;
}

/* base^count, by squaring: base is in 0..1. */
static double power_of(double base, uint32_t count)
{
    double result = 1;
    for (; count > 0; count /= 2, base *= base)
        result *= count % 2 == 1 ? base : 1;
    return result;
}

static gsrt_status check_change(const checking *c, const gsrt_evidence *e, uint32_t at)
{
    char where[PLACE_BYTES_MAX];
    const gsrt_evidence_change *change = &e->changes[at];
    (void)snprintf(where, sizeof where, "changes[%" PRIu32 "]", at);
    if (!is_text(change->transformation))
        return refuse(c, where, "names no transformation; give one, \"weights:f16->q8_0\"");
    for (uint32_t i = 0; i < at; i++) {
        if (strcmp(e->changes[i].transformation, change->transformation) == 0)
            return refuse(c, where, "names a transformation that was named before; put their regions together");
    }
    if (change->region_count == 0 || change->region_count > GSRT_EVIDENCE_REGION_COUNT_MAX)
        return refuse(c, where, "must name the regions in which it was made; name at least one, and each once");
    for (uint32_t r = 0; r < change->region_count; r++) {
        if (!is_text(change->regions[r]))
            return refuse(c, where, "has a region without a name; name each");
        for (uint32_t i = 0; i < r; i++) {
            if (strcmp(change->regions[i], change->regions[r]) == 0)
                return refuse(c, where, "names a region twice; name each once");
        }
    }
    return GSRT_OK;
}

static gsrt_status check_figure(const checking *c, const gsrt_evidence *e, uint32_t at)
{
    char where[PLACE_BYTES_MAX];
    const gsrt_evidence_figure *f = &e->figures[at];
    (void)snprintf(where, sizeof where, "figures[%" PRIu32 "]", at);
    if (f->statistic <= GSRT_CONTRACT_DETERMINISTIC || (int)f->statistic >= GSRT_CONTRACT_KIND_COUNT)
        return refuse(c, where, "has no statistic; name what was measured");
    bool is_relative = f->statistic == GSRT_CONTRACT_RELATIVE_ERROR;
    if (is_relative != (f->region != NULL) || (is_relative && !is_text(f->region)))
        return refuse(c, where,
                      "a relative error is of a region's output, the others are of the answer; name the region "
                      "there, and only there");
    if (!isfinite(f->measured) || !isfinite(f->upper) || f->measured < 0 || f->upper < f->measured)
        return refuse(c, where, "needs 0 <= measured <= upper; an upper limit below what was seen is none");
    for (uint32_t i = 0; i < at; i++) {
        const gsrt_evidence_figure *other = &e->figures[i];
        if (other->statistic == f->statistic && (!is_relative || strcmp(other->region, f->region) == 0))
            return refuse(c, where, "states a statistic twice; keep one");
    }
    return GSRT_OK;
}

static gsrt_status check(const checking *c, const gsrt_evidence *e)
{
    if (!is_hash(e->workload_hash))
        return refuse(c, "workload", "must be the workload's hash, 32 hexadecimal digits; validate again");
    if (!is_hash(e->weights_hash))
        return refuse(c, "weights", "must be the hash of the weights, 32 hexadecimal digits; validate again");
    if (!is_text(e->corpus))
        return refuse(c, "corpus", "must name the text that was run; validate again");
    if (!is_hash(e->corpus_hash))
        return refuse(c, "corpus_hash", "must be the hash of the text, 32 hexadecimal digits; validate again");
    if (!is_text(e->method))
        return refuse(c, "method", "must say how the limits were made; validate again");
    if (e->sequence_count == 0 || e->position_count < e->sequence_count)
        return refuse(c, "positions",
                      "must be at least one for each sequence, and there is at least one; validate again");
    if (!(e->confidence > 0 && e->confidence <= 1 && e->coverage >= 0 && e->coverage <= 1))
        return refuse(c, "confidence", "and coverage must be above 0 and at most 1; validate again");
    /* n independent sequences below a limit show no more than this (Wilks): docs/planning.md, "Contracts". */
    if (power_of(e->coverage, e->sequence_count) > (1 - e->confidence) * (1 + 1e-9) && e->coverage > 0)
        return refuse(c, "coverage", "is more than so many sequences can show with this confidence; run more of them");
    if (e->change_count == 0 || e->change_count > GSRT_EVIDENCE_CHANGE_COUNT_MAX)
        return refuse(c, "changes", "must say what was changed, in at most 256 entries; name each transformation");
    if (e->figure_count == 0 || e->figure_count > GSRT_EVIDENCE_FIGURE_COUNT_MAX)
        return refuse(c, "figures", "must say what was measured, in at most 4096 entries; validate again");
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < e->change_count && status == GSRT_OK; i++)
        status = check_change(c, e, i);
    for (uint32_t i = 0; i < e->figure_count && status == GSRT_OK; i++)
        status = check_figure(c, e, i);
    return status;
}

/* ---- keeping ---- */

static const char *keep(gsrt_evidence_list *list, const char *text, bool *is_whole)
{
    const char *kept = text == NULL ? NULL : gsrt_arena_copy_text(&list->arena, text, strlen(text));
    *is_whole = *is_whole && (text == NULL || kept != NULL);
    return kept;
}

static bool keep_changes(gsrt_evidence_list *list, gsrt_evidence *kept)
{
    bool is_whole = true;
    gsrt_evidence_change *changes = gsrt_arena_take(&list->arena, kept->change_count, sizeof *changes);
    for (uint32_t c = 0; changes != NULL && c < kept->change_count && is_whole; c++) {
        const gsrt_evidence_change *from = &kept->changes[c];
        const char **regions = gsrt_arena_take(&list->arena, from->region_count, sizeof *regions);
        is_whole = regions != NULL;
        for (uint32_t r = 0; is_whole && r < from->region_count; r++)
            regions[r] = keep(list, from->regions[r], &is_whole);
        changes[c] = (gsrt_evidence_change){.transformation = keep(list, from->transformation, &is_whole),
                                            .regions = regions,
                                            .region_count = from->region_count};
    }
    kept->changes = changes;
    return changes != NULL && is_whole;
}

static bool keep_figures(gsrt_evidence_list *list, gsrt_evidence *kept)
{
    bool is_whole = true;
    gsrt_evidence_figure *figures = gsrt_arena_take(&list->arena, kept->figure_count, sizeof *figures);
    for (uint32_t f = 0; figures != NULL && f < kept->figure_count && is_whole; f++) {
        figures[f] = kept->figures[f];
        figures[f].region = keep(list, kept->figures[f].region, &is_whole);
    }
    kept->figures = figures;
    return figures != NULL && is_whole;
}

static gsrt_status add(gsrt_evidence_list *list, const gsrt_evidence *item, const checking *c)
{
    gsrt_status status = check(c, item);
    if (status != GSRT_OK)
        return status;
    if (list->count == GSRT_EVIDENCE_COUNT_MAX)
        return refuse(c, "workload", "is one more than the 4096 that are kept together; leave out what is old");
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 8 : 2 * list->capacity;
        gsrt_evidence *items = realloc(list->items, capacity * sizeof *items);
        if (items == NULL)
            return GSRT_ENOMEM;
        list->items = items;
        list->capacity = capacity;
    }
    gsrt_evidence kept = *item;
    bool is_whole = keep_changes(list, &kept) && keep_figures(list, &kept);
    kept.workload_hash = keep(list, item->workload_hash, &is_whole);
    kept.weights_hash = keep(list, item->weights_hash, &is_whole);
    kept.corpus = keep(list, item->corpus, &is_whole);
    kept.corpus_hash = keep(list, item->corpus_hash, &is_whole);
    kept.method = keep(list, item->method, &is_whole);
    if (!is_whole)
        return GSRT_ENOMEM;
    list->items[list->count++] = kept;
    return GSRT_OK;
}

gsrt_status gsrt_evidence_list_add(gsrt_evidence_list *list, const gsrt_evidence *item, gsrt_diag *diag)
{
    return add(list, item, &(checking){.index = list->count, .diag = diag});
}

/* ---- reading ---- */

typedef struct reader {
    const char *file;
    gsrt_diag *diag;
    gsrt_arena arena; /* arrays, until they are kept */
    char where[PLACE_BYTES_MAX];
    gsrt_status status; /* sticky */
} reader;

static void refuse_read(reader *r, const char *key, const char *what)
{
    char place[PLACE_BYTES_MAX + 80];
    (void)snprintf(place, sizeof place, "%s%s%.64s", r->where, r->where[0] == 0 || key[0] == 0 ? "" : ".", key);
    if (r->status == GSRT_OK)
        r->status = gsrt_diag_set(r->diag, GSRT_EINPUT, r->file, place[0] == 0 ? NULL : place, "%s", what);
}

/* An object that has all of keys[count] but the optional last ones, and no other. */
static void expect_keys(reader *r, const json_t *o, const char *const *keys, size_t count, size_t optional_count)
{
    const char *key;
    json_t *value;
    if (r->status == GSRT_OK && !json_is_object(o))
        refuse_read(r, "", "must be an object");
    json_object_foreach((json_t *)(uintptr_t)o, key, value)
    {
        size_t i = 0;
        while (i < count && strcmp(keys[i], key) != 0)
            i++;
        if (i < count)
            continue;
        char what[200];
        const char *nearest = gsrt_nearest(key, keys, count);
        (void)snprintf(what, sizeof what, "unknown key; %s%s%s", nearest == NULL ? "remove it" : "did you mean '",
                       nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
        refuse_read(r, key, what);
    }
    for (size_t i = 0; i + optional_count < count && r->status == GSRT_OK; i++) {
        if (json_object_get(o, keys[i]) == NULL)
            refuse_read(r, keys[i], "is missing; use the file as it was written");
    }
}

static const char *get_text(reader *r, const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    const char *text = json_string_value(value);
    if (r->status == GSRT_OK && value != NULL && (text == NULL || strlen(text) != json_string_length(value)))
        refuse_read(r, key, "must be text without a zero byte");
    return text;
}

static double get_real(reader *r, const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    if (r->status == GSRT_OK && !json_is_number(value))
        refuse_read(r, key, "must be a number");
    return json_number_value(value);
}

static uint64_t get_count(reader *r, const json_t *o, const char *key, uint64_t max)
{
    const json_t *value = json_object_get(o, key);
    json_int_t number = json_integer_value(value);
    if (r->status == GSRT_OK && (!json_is_integer(value) || number < 0 || (uint64_t)number > max))
        refuse_read(r, key, "must be a count");
    return r->status == GSRT_OK ? (uint64_t)number : 0;
}

/* Room for as many objects of `size` as the list has; NULL: an error. */
static void *get_list(reader *r, const json_t *o, const char *key, uint32_t count_max, size_t size, uint32_t *out_count)
{
    const json_t *list = json_object_get(o, key);
    if (r->status == GSRT_OK && (!json_is_array(list) || json_array_size(list) > count_max))
        refuse_read(r, key, "must be a list, and not so long");
    if (r->status != GSRT_OK)
        return NULL;
    *out_count = (uint32_t)json_array_size(list);
    void *room = gsrt_arena_take(&r->arena, *out_count, size);
    r->status = room == NULL ? GSRT_ENOMEM : GSRT_OK;
    return room;
}

/* Enter item `index` of list `key`: what to give to leave. */
static size_t enter(reader *r, const char *key, size_t index)
{
    size_t mark = strlen(r->where);
    (void)snprintf(r->where + mark, sizeof r->where - mark, "%s%s[%zu]", mark == 0 ? "" : ".", key, index);
    return mark;
}

static void read_changes(reader *r, const json_t *o, gsrt_evidence *e)
{
    static const char *const keys[] = {"transformation", "regions"};
    gsrt_evidence_change *changes =
        get_list(r, o, "changes", GSRT_EVIDENCE_CHANGE_COUNT_MAX, sizeof *changes, &e->change_count);
    for (uint32_t i = 0; r->status == GSRT_OK && i < e->change_count; i++) {
        const json_t *item = json_array_get(json_object_get(o, "changes"), i);
        size_t mark = enter(r, "changes", i);
        expect_keys(r, item, keys, 2, 0);
        changes[i].transformation = get_text(r, item, "transformation");
        const char **regions =
            get_list(r, item, "regions", GSRT_EVIDENCE_REGION_COUNT_MAX, sizeof *regions, &changes[i].region_count);
        for (uint32_t k = 0; r->status == GSRT_OK && k < changes[i].region_count; k++) {
            regions[k] = json_string_value(json_array_get(json_object_get(item, "regions"), k));
            if (regions[k] == NULL)
                refuse_read(r, "regions", "must be names");
        }
        changes[i].regions = regions;
        r->where[mark] = 0;
    }
    e->changes = changes;
}

static void read_figures(reader *r, const json_t *o, gsrt_evidence *e)
{
    static const char *const keys[] = {"statistic", "measured", "upper", "region"};
    gsrt_evidence_figure *figures =
        get_list(r, o, "figures", GSRT_EVIDENCE_FIGURE_COUNT_MAX, sizeof *figures, &e->figure_count);
    for (uint32_t i = 0; r->status == GSRT_OK && i < e->figure_count; i++) {
        const json_t *item = json_array_get(json_object_get(o, "figures"), i);
        size_t mark = enter(r, "figures", i);
        expect_keys(r, item, keys, 4, 1);
        const char *word = get_text(r, item, "statistic");
        uint32_t kind = GSRT_CONTRACT_ABSOLUTE_ERROR;
        while (kind < GSRT_CONTRACT_KIND_COUNT && word != NULL &&
               strcmp(gsrt_contract_kind_word((gsrt_contract_kind)kind), word) != 0)
            kind++;
        if (kind == GSRT_CONTRACT_KIND_COUNT)
            refuse_read(r, "statistic", "must be absolute_error, relative_error, divergence, quality or exact_paths");
        figures[i] = (gsrt_evidence_figure){.statistic = (gsrt_contract_kind)kind,
                                            .region = get_text(r, item, "region"),
                                            .measured = get_real(r, item, "measured"),
                                            .upper = get_real(r, item, "upper")};
        r->where[mark] = 0;
    }
    e->figures = figures;
}

static void read_item(reader *r, const json_t *o, gsrt_evidence *e)
{
    static const char *const keys[] = {"workload",  "weights",    "changes",  "corpus", "corpus_hash", "sequences",
                                       "positions", "confidence", "coverage", "method", "figures"};
    expect_keys(r, o, keys, sizeof keys / sizeof keys[0], 0);
    e->workload_hash = get_text(r, o, "workload");
    e->weights_hash = get_text(r, o, "weights");
    e->corpus = get_text(r, o, "corpus");
    e->corpus_hash = get_text(r, o, "corpus_hash");
    e->method = get_text(r, o, "method");
    e->sequence_count = (uint32_t)get_count(r, o, "sequences", UINT32_MAX);
    e->position_count = get_count(r, o, "positions", INT64_MAX);
    e->confidence = get_real(r, o, "confidence");
    e->coverage = get_real(r, o, "coverage");
    read_changes(r, o, e);
    read_figures(r, o, e);
}

static void read_root(reader *r, const json_t *root, gsrt_evidence_list *list)
{
    static const char *const keys[] = {"schema", "evidence"};
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (!json_is_object(root) || schema == NULL || strcmp(schema, SCHEMA) != 0) {
        refuse_read(r, "schema", "must be \"" SCHEMA "\"; is it a file of evidence?");
        return;
    }
    expect_keys(r, root, keys, 2, 0);
    const json_t *items = json_object_get(root, "evidence");
    if (r->status == GSRT_OK && !json_is_array(items))
        refuse_read(r, "evidence", "must be a list");
    for (size_t i = 0; r->status == GSRT_OK && i < json_array_size(items); i++) {
        gsrt_evidence item = {0};
        size_t mark = enter(r, "evidence", i);
        read_item(r, json_array_get(items, i), &item);
        r->where[mark] = 0;
        if (r->status == GSRT_OK)
            r->status = add(list, &item, &(checking){.file = r->file, .index = i, .diag = r->diag});
    }
}

gsrt_status gsrt_evidence_list_read(gsrt_evidence_list *list, gsrt_span json, const char *file, gsrt_diag *diag)
{
    json_t *root;
    gsrt_status status = gsrt_json_parse(json, file, &root, diag);
    if (status != GSRT_OK)
        return status;
    reader r = {.file = file, .diag = diag};
    gsrt_arena_init(&r.arena, GSRT_EVIDENCE_BYTES_MAX);
    size_t before = list->count;
    read_root(&r, root, list);
    if (r.status != GSRT_OK)
        list->count = before;
    gsrt_arena_fini(&r.arena);
    json_decref(root);
    return r.status;
}

/* ---- writing: a failed allocation yields NULL, which gsrt_json_print refuses ---- */

static void set(json_t **object, const char *key, json_t *value)
{
    if (*object != NULL && (value == NULL || json_object_set_new(*object, key, value) != 0)) {
        json_decref(*object);
        *object = NULL;
    } else if (*object == NULL) {
        json_decref(value);
    }
}

static void append(json_t **array, json_t *item)
{
    if (*array != NULL && (item == NULL || json_array_append_new(*array, item) != 0)) {
        json_decref(*array);
        *array = NULL;
    } else if (*array == NULL) {
        json_decref(item);
    }
}

static json_t *change_json(const gsrt_evidence_change *change)
{
    json_t *o = json_object(), *regions = json_array();
    for (uint32_t r = 0; r < change->region_count; r++)
        append(&regions, gsrt_json_text(change->regions[r]));
    set(&o, "transformation", gsrt_json_text(change->transformation));
    set(&o, "regions", regions);
    return o;
}

static json_t *figure_json(const gsrt_evidence_figure *figure)
{
    json_t *o = json_object();
    set(&o, "statistic", gsrt_json_text(gsrt_contract_kind_word(figure->statistic)));
    if (figure->region != NULL)
        set(&o, "region", gsrt_json_text(figure->region));
    set(&o, "measured", gsrt_json_real(figure->measured));
    set(&o, "upper", gsrt_json_real(figure->upper));
    return o;
}

static json_t *evidence_json(const gsrt_evidence *e)
{
    json_t *o = json_object(), *changes = json_array(), *figures = json_array();
    for (uint32_t c = 0; c < e->change_count; c++)
        append(&changes, change_json(&e->changes[c]));
    for (uint32_t f = 0; f < e->figure_count; f++)
        append(&figures, figure_json(&e->figures[f]));
    set(&o, "workload", gsrt_json_text(e->workload_hash));
    set(&o, "weights", gsrt_json_text(e->weights_hash));
    set(&o, "changes", changes);
    set(&o, "corpus", gsrt_json_text(e->corpus));
    set(&o, "corpus_hash", gsrt_json_text(e->corpus_hash));
    set(&o, "sequences", gsrt_json_u64(e->sequence_count));
    set(&o, "positions", gsrt_json_u64(e->position_count));
    set(&o, "confidence", gsrt_json_real(e->confidence));
    set(&o, "coverage", gsrt_json_real(e->coverage));
    set(&o, "method", gsrt_json_text(e->method));
    set(&o, "figures", figures);
    return o;
}

gsrt_status gsrt_evidence_list_print(const gsrt_evidence_list *list, gsrt_buffer *out)
{
    json_t *root = json_object(), *items = json_array();
    for (size_t i = 0; i < list->count; i++)
        append(&items, evidence_json(&list->items[i]));
    set(&root, "schema", json_string(SCHEMA));
    set(&root, "evidence", items);
    gsrt_status status = root == NULL ? GSRT_ENOMEM : gsrt_json_print(root, false, out);
    json_decref(root);
    return status;
}
