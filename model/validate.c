#include "model/validate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "backends/numerics.h"
#include "backends/oracle.h"
#include "base/random.h"
#include "model/narrow.h"
#include "model/narrowed.h"
#include "model/validate_figures.h"
#include "placement/workload_text.h"

enum { STREAM = 0x76616c69, HASH_BYTES = 33, METHOD_BYTES_MAX = 400 };

typedef struct line {
    const uint8_t *data;
    size_t len;
} line;

typedef struct validation {
    const gsrt_validate_options *options;
    const gsrt_weights *weights;
    const gsrt_workload *workload;
    const gsrt_tokenizer *tokenizer;
    gsrt_diag *diag;
    gsrt_arena arena;
    const gsrt_transformation *changes; /* [change_count] that are not exact */
    uint32_t change_count;
    bool *is_changed;        /* [region_count] */
    gsrt_narrowed *narrowed; /* what the changed pass reads; owned */
    line *lines;             /* [line_count] of the corpus, drawn ones first; owned */
    uint32_t line_count, drawn_count;
    uint32_t position_count; /* of a sequence at most */
    bool is_cut;             /* some line had more */
    double confidence;
    gsrt_reference *plain, *changed;
    gsrt__figures figures;
} validation;

/* ---- what is changed ---- */

static gsrt_status refuse(const validation *v, gsrt_status status, uint32_t region, const char *what)
{
    char place[GSRT_NAME_BYTES_MAX + 16];
    (void)snprintf(place, sizeof place, "region '%s'", v->workload->regions[region].name);
    return gsrt_diag_set(v->diag, status, v->options->corpus, place, "%s", what);
}

static bool is_half(gsrt_format format)
{
    return format == GSRT_FORMAT_F16 || format == GSRT_FORMAT_BF16;
}

static gsrt_status check_change(const validation *v, const gsrt_transformation *t)
{
    const gsrt_region_choice *choice = &v->options->choices[t->region];
    if (choice->arithmetic != GSRT_ARITHMETIC_CANONICAL)
        return refuse(v, GSRT_EUNSUPPORTED, t->region,
                      "native kernels are not here to be run; measure them where they are");
    if (t->kind == GSRT_TRANSFORMATION_WEIGHTS && !gsrt_narrow_is_known(choice->weights))
        return refuse(v, GSRT_EUNSUPPORTED, t->region,
                      "nothing here computes with such weights; f32, f16, bf16, q8_0 and q4_0 can be validated");
    if (t->kind == GSRT_TRANSFORMATION_STATE &&
        (!gsrt_narrow_is_known(choice->state) || v->workload->head_dim % gsrt_dtype_block(choice->state) != 0))
        return refuse(v, GSRT_EUNSUPPORTED, t->region,
                      "nothing here keeps KV in such a format; f16 and bf16 can be validated, and q8_0 and q4_0 where "
                      "heads are whole blocks of 32");
    if (t->kind == GSRT_TRANSFORMATION_COMPUTE &&
        (!is_half(choice->compute) || gsrt_region_compute(v->workload, t->region, choice) != GSRT_FORMAT_F32))
        return refuse(
            v, GSRT_EUNSUPPORTED, t->region,
            "nothing here computes so; products of f32, f16 and bf16 weights in f16 and bf16 can be validated");
    if (t->kind == GSRT_TRANSFORMATION_OPS)
        return refuse(v, GSRT_EUNSUPPORTED, t->region, "it is not deterministic by itself, which no sample shows");
    return GSRT_OK;
}

/* The changes that are not exact, each of a kind that can be run. */
static gsrt_status find_changes(validation *v)
{
    const gsrt_transformation *all;
    uint32_t count;
    gsrt_status status = gsrt_contract_choices(v->workload, v->options->choices, &v->arena, &all, &count);
    gsrt_transformation *kept = gsrt_arena_take(&v->arena, count, sizeof *kept);
    v->is_changed = gsrt_arena_take(&v->arena, v->workload->region_count, sizeof *v->is_changed);
    v->figures.relative = gsrt_arena_take(&v->arena, v->workload->region_count, sizeof(double));
    if (status != GSRT_OK || kept == NULL || v->is_changed == NULL || v->figures.relative == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].is_proved)
            continue;
        status = check_change(v, &all[i]);
        if (status != GSRT_OK)
            return status;
        kept[v->change_count++] = all[i];
        v->is_changed[all[i].region] = true;
    }
    v->changes = kept;
    return v->change_count > 0 ? GSRT_OK
                               : gsrt_diag_set(v->diag, GSRT_EINPUT, v->options->corpus, NULL,
                                               "nothing is changed that is not exact; there is nothing to validate");
}

static gsrt_status make_passes(validation *v)
{
    const gsrt_workload *w = v->workload;
    gsrt_status status = gsrt_reference_create(v->weights, v->position_count, &v->plain);
    if (status == GSRT_OK)
        status = gsrt_reference_create(v->weights, v->position_count, &v->changed);
    if (status == GSRT_OK)
        status = gsrt_narrowed_create(v->weights, v->options->choices, &v->narrowed);
    if (status == GSRT_OK)
        gsrt_narrowed_apply(v->narrowed, v->changed);
    for (uint32_t r = 0; r < w->region_count && status == GSRT_OK; r++) {
        const gsrt_region_choice *choice = &v->options->choices[r];
        if (v->is_changed[r])
            gsrt_reference_round(v->changed, r, choice->state_is_as_given ? GSRT_DTYPE_F32 : choice->state,
                                 gsrt_narrowed_inputs(choice));
    }
    return status;
}

/* ---- the corpus ---- */

static bool is_blank(const line *l)
{
    for (size_t i = 0; i < l->len; i++) {
        if (l->data[i] != ' ' && l->data[i] != '\t' && l->data[i] != '\r')
            return false;
    }
    return true;
}

/* Lines that are not empty; those that are drawn come first, in the order of the text. */
static gsrt_status find_lines(validation *v)
{
    gsrt_span text = v->options->text;
    size_t most = 1;
    for (size_t i = 0; i < text.len; i++)
        most += text.data[i] == '\n' ? 1 : 0;
    v->lines = malloc(most * sizeof *v->lines);
    if (v->lines == NULL)
        return GSRT_ENOMEM;
    for (size_t at = 0; at < text.len && v->line_count < UINT32_MAX;) {
        const uint8_t *end = memchr(text.data + at, '\n', text.len - at);
        line l = {.data = text.data + at, .len = end == NULL ? text.len - at : (size_t)(end - text.data) - at};
        if (!is_blank(&l))
            v->lines[v->line_count++] = l;
        at += l.len + 1;
    }
    return v->line_count > 0 ? GSRT_OK
                             : gsrt_diag_set(v->diag, GSRT_EINPUT, v->options->corpus, NULL,
                                             "has no line of text; each line that is not empty is a sequence");
}

static int by_place(const void *a, const void *b)
{
    const line *x = a, *y = b;
    return x->data < y->data ? -1 : x->data > y->data ? 1 : 0;
}

/* Without replacement: the first steps of a shuffle. */
static void draw_lines(validation *v)
{
    uint32_t most =
        v->options->sequence_count_max == 0 ? GSRT_VALIDATE_SEQUENCES_DEFAULT : v->options->sequence_count_max;
    v->drawn_count = most < v->line_count ? most : v->line_count;
    for (uint32_t i = 0; i < v->drawn_count; i++) {
        uint64_t other = i + gsrt_random_u64(0, STREAM, i) % (v->line_count - i);
        line swapped = v->lines[i];
        v->lines[i] = v->lines[other];
        v->lines[other] = swapped;
    }
    qsort(v->lines, v->drawn_count, sizeof *v->lines, by_place);
}

/* ---- the run ---- */

static gsrt_status run_position(validation *v, const uint32_t *tokens, uint32_t position, uint32_t count)
{
    const gsrt_workload *w = v->workload;
    const float *plain, *changed;
    gsrt_status status = gsrt_reference_step(v->plain, tokens[position], position, &plain);
    if (status == GSRT_OK)
        status = gsrt_reference_step(v->changed, tokens[position], position, &changed);
    if (status != GSRT_OK)
        return status;
    gsrt__figures_position(&v->figures, plain, changed, w->vocab_count,
                           position + 1 < count ? tokens[position + 1] : UINT32_MAX);
    for (uint32_t r = 0; r < w->region_count; r++) {
        uint32_t out = w->regions[r].out;
        if (v->is_changed[r])
            gsrt__figures_region(&v->figures, r, gsrt_reference_value(v->plain, out),
                                 gsrt_reference_value(v->changed, out), w->values[out].width);
    }
    return GSRT_OK;
}

/* As many positions as there is room for; the token after the last one is a target still. */
static gsrt_status run_line(validation *v, const line *l)
{
    uint32_t *tokens = NULL;
    size_t count = 0;
    const gsrt_encode_options framed = {.is_framed = true};
    gsrt_status status =
        gsrt_tokenizer_encode(v->tokenizer, gsrt_span_of(l->data, l->len), &framed, &tokens, &count, v->diag);
    if (status == GSRT_ELIMIT)
        status = gsrt_diag_set(v->diag, GSRT_EINPUT, v->options->corpus, NULL,
                               "a line has %zu bytes, more than one request may; break it", l->len);
    uint32_t known = count < v->position_count ? (uint32_t)count : v->position_count;
    uint32_t end = count > known ? known + 1 : known;
    v->is_cut = v->is_cut || count > known;
    for (uint32_t p = 0; p < known && status == GSRT_OK; p++)
        status = run_position(v, tokens, p, end);
    if (status == GSRT_OK && count > 0)
        gsrt__figures_sequence(&v->figures);
    free(tokens);
    return status;
}

static gsrt_status run(validation *v)
{
    gsrt_status status = GSRT_OK;
    uint32_t mxcsr = gsrt_mxcsr_set();
    for (uint32_t i = 0; i < v->drawn_count && status == GSRT_OK; i++) {
        status = run_line(v, &v->lines[i]);
        if (status == GSRT_OK && v->options->progress != NULL)
            v->options->progress(v->options->progress_arg, i + 1, v->drawn_count);
    }
    gsrt_mxcsr_restore(mxcsr);
    return status;
}

/* ---- the evidence ---- */

static void print_hash(XXH128_hash_t hash, char out[HASH_BYTES])
{
    (void)snprintf(out, HASH_BYTES, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64, (uint64_t)hash.low64);
}

/* Changes by name, in the order in which names come up. */
static gsrt_status list_changes(validation *v, gsrt_evidence *e)
{
    gsrt_evidence_change *changes = gsrt_arena_take(&v->arena, v->change_count, sizeof *changes);
    if (changes == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < v->change_count; i++) {
        uint32_t c = 0;
        while (c < e->change_count && strcmp(changes[c].transformation, v->changes[i].name) != 0)
            c++;
        if (c < e->change_count)
            continue;
        const char **regions = gsrt_arena_take(&v->arena, v->change_count - i, sizeof *regions);
        if (regions == NULL)
            return GSRT_ENOMEM;
        changes[c] = (gsrt_evidence_change){.transformation = v->changes[i].name, .regions = regions};
        for (uint32_t k = i; k < v->change_count; k++) {
            if (strcmp(v->changes[k].name, v->changes[i].name) == 0)
                regions[changes[c].region_count++] = v->workload->regions[v->changes[k].region].name;
        }
        e->change_count++;
    }
    e->changes = changes;
    return GSRT_OK;
}

static void add_figure(gsrt_evidence *e, gsrt_evidence_figure *room, gsrt_contract_kind statistic, const char *region,
                       double measured, double upper)
{
    room[e->figure_count++] =
        (gsrt_evidence_figure){.statistic = statistic, .region = region, .measured = measured, .upper = upper};
}

static gsrt_status list_figures(validation *v, bool is_whole, gsrt_evidence *e)
{
    const gsrt__figures *f = &v->figures;
    gsrt_evidence_figure *room = gsrt_arena_take(&v->arena, 4 + v->workload->region_count, sizeof *room);
    double ratio, upper;
    if (room == NULL)
        return GSRT_ENOMEM;
    add_figure(e, room, GSRT_CONTRACT_ABSOLUTE_ERROR, NULL, f->absolute, f->absolute);
    add_figure(e, room, GSRT_CONTRACT_DIVERGENCE, NULL, f->divergence, f->divergence);
    if (gsrt__figures_quality(f, v->confidence, &ratio, &upper))
        add_figure(e, room, GSRT_CONTRACT_QUALITY, NULL, ratio, is_whole ? ratio : upper);
    if (is_whole)
        add_figure(e, room, GSRT_CONTRACT_EXACT_PATHS, NULL, (double)f->different_count, (double)f->different_count);
    for (uint32_t r = 0; r < v->workload->region_count; r++) {
        if (v->is_changed[r])
            add_figure(e, room, GSRT_CONTRACT_RELATIVE_ERROR, v->workload->regions[r].name, f->relative[r],
                       f->relative[r]);
    }
    e->figures = room;
    return GSRT_OK;
}

static gsrt_status conclude(validation *v, gsrt_evidence_list *list)
{
    char workload_hash[HASH_BYTES], weights_hash[HASH_BYTES], corpus_hash[HASH_BYTES], method[METHOD_BYTES_MAX];
    bool is_whole = v->drawn_count == v->line_count && !v->is_cut;
    gsrt_workload_hash hash;
    gsrt_status status = gsrt_workload_hash_of(v->workload, &hash);
    if (status != GSRT_OK)
        return status;
    print_hash((XXH128_hash_t){.low64 = hash.low, .high64 = hash.high}, workload_hash);
    print_hash(XXH3_128bits(v->options->text.data, v->options->text.len), corpus_hash);
    gsrt_validate_hash_weights(v->weights, weights_hash);
    (void)snprintf(method, sizeof method,
                   "plain executor, numerics version %d; %" PRIu32 " of %" PRIu32 " lines, at most %" PRIu32
                   " positions of each; largest errors by order statistic (Wilks)%s",
                   GSRT_NUMERICS_VERSION, v->drawn_count, v->line_count, v->position_count,
                   is_whole ? "; quality of the whole corpus"
                            : "; quality by ratio over lines, with Cantelli's inequality");
    gsrt_evidence e = {.workload_hash = workload_hash,
                       .weights_hash = weights_hash,
                       .corpus = v->options->corpus,
                       .corpus_hash = corpus_hash,
                       .sequence_count = v->figures.sequence_count,
                       .position_count = v->figures.position_count,
                       .confidence = v->confidence,
                       .coverage = gsrt__figures_coverage(v->figures.sequence_count, v->confidence),
                       .method = method};
    status = list_changes(v, &e);
    if (status == GSRT_OK)
        status = list_figures(v, is_whole, &e);
    return status == GSRT_OK ? gsrt_evidence_list_add(list, &e, v->diag) : status;
}

static void fini(validation *v)
{
    free(v->lines);
    (void)gsrt_reference_free(v->plain);
    (void)gsrt_reference_free(v->changed);
    (void)gsrt_narrowed_free(v->narrowed);
    gsrt_arena_fini(&v->arena);
}

gsrt_status gsrt_validate(const gsrt_weights *weights, const gsrt_tokenizer *tokenizer,
                          const gsrt_validate_options *options, gsrt_evidence_list *list, gsrt_diag *diag)
{
    const gsrt_workload *workload = gsrt_weights_workload(weights);
    uint32_t most = options->position_count_max == 0 ? GSRT_VALIDATE_POSITIONS_DEFAULT : options->position_count_max;
    validation v = {.options = options,
                    .weights = weights,
                    .workload = workload,
                    .tokenizer = tokenizer,
                    .diag = diag,
                    .position_count = most < workload->context_max ? most : workload->context_max,
                    .confidence = options->confidence == 0 ? GSRT_EVIDENCE_CONFIDENCE_MIN : options->confidence};
    if (!(v.confidence > 0 && v.confidence < 1))
        return gsrt_diag_set(diag, GSRT_EINPUT, options->corpus, NULL, "a confidence of %g; it is between 0 and 1",
                             v.confidence);
    gsrt_arena_init(&v.arena, GSRT_VERDICT_BYTES_MAX);
    gsrt_status status = find_changes(&v);
    if (status == GSRT_OK)
        status = find_lines(&v);
    if (status == GSRT_OK) {
        draw_lines(&v);
        status = make_passes(&v);
    }
    if (status == GSRT_OK)
        status = run(&v);
    if (status == GSRT_OK && v.figures.sequence_count == 0)
        status = gsrt_diag_set(diag, GSRT_EINPUT, options->corpus, NULL, "no line of it has a token; give some text");
    if (status == GSRT_OK)
        status = conclude(&v, list);
    fini(&v);
    return status;
}

void gsrt_validate_compare(const float *plain, const float *changed, uint32_t vocab_count, double *out_divergence,
                           double *out_absolute)
{
    gsrt__figures figures = {0};
    gsrt__figures_position(&figures, plain, changed, vocab_count, UINT32_MAX);
    *out_divergence = figures.divergence;
    *out_absolute = figures.absolute;
}

/* The hash of the hashes: any part can be hashed by itself. */
void gsrt_validate_hash_weights(const gsrt_weights *weights, char out[HASH_BYTES])
{
    const gsrt_workload *w = gsrt_weights_workload(weights);
    XXH128_hash_t all = {0};
    for (uint32_t t = 0; t < w->tensor_count; t++) {
        size_t bytes = 0;
        const uint8_t *rows = gsrt_weights_rows(weights, t, 0, w->tensors[t].row_count, &bytes);
        XXH128_hash_t one = XXH3_128bits(rows, bytes);
        XXH128_canonical_t both[2];
        XXH128_canonicalFromHash(&both[0], all);
        XXH128_canonicalFromHash(&both[1], one);
        all = XXH3_128bits(both, sizeof both);
    }
    print_hash(all, out);
}

void gsrt_validate_keep_only(gsrt_evidence_list *list, const char *weights_hash)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].weights_hash, weights_hash) == 0)
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}
