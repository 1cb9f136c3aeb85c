/* The judge. Why evidence must be of exactly the set of changes: docs/planning.md, "Contracts". */
#include "placement/contract_impl.h"

#include "placement/workload_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 1200 };

/* Does a piece of evidence speak for the deployment? Asked once, and not before it matters. */
typedef enum speaking { UNASKED, SPEAKS, SILENT } speaking;

typedef struct judging {
    const gsrt_judge *judge;
    const gsrt_contract *contract; /* the judge's, or one with other bounds that is tried */
    const gsrt_workload *workload;
    gsrt_verdict *verdict;
    uint32_t change_count; /* transformations that are not exact */
    uint8_t *speaking;     /* [evidence_count] of the judge */
    gsrt_status status;
} judging;

/* ---- saying no ---- */

static const char *keep_text(judging *j, const char *format, ...) GSRT_PRINTF(2, 3);

static const char *keep_text(judging *j, const char *format, ...)
{
    char text[TEXT_BYTES_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *kept = gsrt_arena_copy_text(&j->verdict->arena, text, strlen(text));
    if (kept == NULL)
        j->status = GSRT_ENOMEM;
    return kept;
}

/* rule GSRT_NO_INDEX: the envelope of the region's author. */
static void refuse(judging *j, const gsrt_transformation *t, const char *reason, uint32_t rule, const char *obligation)
{
    const gsrt_region *region = &j->workload->regions[t->region];
    j->verdict->is_kept = false;
    j->verdict->reason = reason;
    j->verdict->failing = *t;
    j->verdict->rule = rule;
    j->verdict->obligation = obligation;
    if (rule == GSRT_NO_INDEX)
        j->verdict->constraint = keep_text(j, "region '%.100s': %.300s under error_relative_max %g", region->name,
                                           t->name, (double)region->error_relative_max);
    else if (j->contract->rules[rule].kind <= GSRT_CONTRACT_DETERMINISTIC)
        j->verdict->constraint = keep_text(j, "region '%.100s': %.300s under %s", region->name, t->name,
                                           gsrt_contract_kind_word(j->contract->rules[rule].kind));
    else
        j->verdict->constraint =
            keep_text(j, "region '%.100s': %.300s under %s %g", region->name, t->name,
                      gsrt_contract_kind_word(j->contract->rules[rule].kind), j->contract->rules[rule].bound);
}

static const char *reason_of(const gsrt_transformation *t)
{
    if (t->kind == GSRT_TRANSFORMATION_NATIVE || t->kind == GSRT_TRANSFORMATION_UNPROVEN ||
        t->kind == GSRT_TRANSFORMATION_OPS)
        return GSRT_REASON_CONTRACT_UNPROVEN;
    switch (t->effect) {
    case GSRT_EFFECT_NARROWED: return GSRT_REASON_CONTRACT_NARROWED;
    case GSRT_EFFECT_REORDERED: return GSRT_REASON_CONTRACT_REORDERED;
    case GSRT_EFFECT_EXACT:
    case GSRT_EFFECT_APPROXIMATE: break;
    }
    return GSRT_REASON_CONTRACT_UNPROVEN;
}

/* ---- evidence ---- */

static bool evidence_names(const gsrt_evidence *e, const char *transformation, const char *region)
{
    for (uint32_t c = 0; c < e->change_count; c++) {
        if (strcmp(e->changes[c].transformation, transformation) != 0)
            continue;
        for (uint32_t r = 0; r < e->changes[c].region_count; r++) {
            if (strcmp(e->changes[c].regions[r], region) == 0)
                return true;
        }
    }
    return false;
}

/* Was it measured of exactly what this deployment changes? Evidence names no pair twice, so as many pairs as there are
 * changes, all of them found, are the same set. */
static bool is_of_these_changes(const judging *j, const gsrt_evidence *e)
{
    uint64_t pair_count = 0;
    for (uint32_t c = 0; c < e->change_count; c++)
        pair_count += e->changes[c].region_count;
    if (pair_count != j->change_count)
        return false;
    for (uint32_t t = 0; t < j->verdict->transformation_count; t++) {
        const gsrt_transformation *made = &j->verdict->transformations[t];
        if (!made->is_proved && !evidence_names(e, made->name, j->workload->regions[made->region].name))
            return false;
    }
    return strcmp(j->judge->workload_hash, e->workload_hash) == 0;
}

static bool speaks(judging *j, size_t evidence)
{
    if (j->speaking[evidence] == UNASKED)
        j->speaking[evidence] = is_of_these_changes(j, &j->judge->evidence[evidence]) ? SPEAKS : SILENT;
    return j->speaking[evidence] == SPEAKS;
}

/* What is asked of evidence. */
typedef struct question {
    gsrt_contract_kind kind;
    const char *region; /* RELATIVE_ERROR: whose output */
    const char *corpus; /* NULL: any */
    double bound;
} question;

/* What all evidence together answers. */
typedef struct answer {
    bool has_set;                /* something was measured of this set */
    bool has_figure;             /* a figure that could admit it, strong enough */
    double upper;                /* the smallest of them */
    double worst;                /* the largest that any evidence has seen, however strong; -1: nothing was seen */
    double confidence, coverage; /* of what was too weak */
    const char *worst_corpus;
} answer;

/* Does the figure bound what is asked? *out the limit that it implies.
 * Logits that differ by at most e give a divergence of at most e^2 / 2: docs/planning.md, "Contracts". */
static bool implies(const gsrt_evidence_figure *figure, const question *q, double *out)
{
    if (q->kind == GSRT_CONTRACT_DIVERGENCE && figure->statistic == GSRT_CONTRACT_ABSOLUTE_ERROR) {
        *out = figure->upper * figure->upper / 2;
        return true;
    }
    *out = figure->upper;
    return figure->statistic == q->kind &&
           (q->kind != GSRT_CONTRACT_RELATIVE_ERROR || strcmp(figure->region, q->region) == 0);
}

static bool is_strong(const gsrt_evidence *e, gsrt_contract_kind kind)
{
    if (kind == GSRT_CONTRACT_EXACT_PATHS)
        return true; /* all of them were looked at */
    return e->confidence >= GSRT_EVIDENCE_CONFIDENCE_MIN &&
           (kind == GSRT_CONTRACT_QUALITY || e->coverage >= GSRT_EVIDENCE_COVERAGE_MIN);
}

/* The largest that was seen: what breaks the promise does so however it was measured. */
static void hear_violation(const gsrt_evidence *e, const question *q, answer *a)
{
    for (uint32_t f = 0; f < e->figure_count; f++) {
        const gsrt_evidence_figure *figure = &e->figures[f];
        double limit;
        if (implies(figure, q, &limit) && figure->statistic == q->kind && figure->measured > a->worst) {
            a->worst = figure->measured;
            a->worst_corpus = e->corpus;
        }
    }
}

static void hear_limit(const gsrt_evidence *e, const question *q, answer *a)
{
    a->has_set = true;
    for (uint32_t f = 0; f < e->figure_count; f++) {
        double limit;
        if (!implies(&e->figures[f], q, &limit))
            continue;
        if (!is_strong(e, q->kind)) {
            a->confidence = e->confidence;
            a->coverage = e->coverage;
        } else if (!a->has_figure || limit < a->upper) {
            a->has_figure = true;
            a->upper = limit;
        }
    }
}

static answer ask(judging *j, const question *q)
{
    answer a = {.worst = -1, .confidence = -1};
    /* Of one text; the others are promises about every position, wherever one is broken. */
    bool is_of_corpus = q->kind == GSRT_CONTRACT_QUALITY || q->kind == GSRT_CONTRACT_EXACT_PATHS;
    for (size_t i = 0; i < j->judge->evidence_count; i++) {
        const gsrt_evidence *e = &j->judge->evidence[i];
        bool is_here = q->corpus == NULL || strcmp(q->corpus, e->corpus) == 0;
        if ((!is_here && is_of_corpus) || !speaks(j, i))
            continue;
        hear_violation(e, q, &a);
        if (is_here)
            hear_limit(e, q, &a);
    }
    return a;
}

/* NULL: admitted. Else what is missing; *out_needed: the bound that would do, or below 0. */
static const char *judge_answer(judging *j, const question *q, const answer *a, double *out_needed)
{
    const char *word = gsrt_contract_kind_word(q->kind), *of = q->corpus == NULL ? "" : " on its corpus";
    *out_needed = -1;
    if (!a->has_set && !(a->worst > q->bound))
        return keep_text(j,
                         "evidence of exactly this deployment's %" PRIu32
                         " changes, measured together on real weights of this workload%s",
                         j->change_count, of);
    if (a->worst > q->bound) {
        *out_needed = a->has_figure && a->upper > a->worst ? a->upper : a->has_figure ? a->worst : -1;
        return keep_text(j, "%s of at most %.9g; %.9g was measured on '%.200s'", word, q->bound, a->worst,
                         a->worst_corpus);
    }
    if (!a->has_figure && a->confidence >= 0)
        return keep_text(j,
                         "%s with confidence and coverage of at least %g and %g (59 sequences); the evidence has %.4g "
                         "and %.4g",
                         word, GSRT_EVIDENCE_CONFIDENCE_MIN, GSRT_EVIDENCE_COVERAGE_MIN, a->confidence, a->coverage);
    if (!a->has_figure)
        return keep_text(j, "a figure for %s%s%s%s in the evidence of these changes", word,
                         q->region == NULL ? "" : " of region '", q->region == NULL ? "" : q->region,
                         q->region == NULL ? "" : "'");
    if (a->upper <= q->bound)
        return NULL;
    *out_needed = a->upper;
    return keep_text(j, "%s of at most %.9g; the evidence's upper limit is %.9g", word, q->bound, a->upper);
}

static uint32_t rule_index(const judging *j, const char *region)
{
    return (uint32_t)(gsrt_contract_rule_for(j->contract, region) - j->contract->rules);
}

/* The region's rule is one that evidence decides, and t is what is done there (the first of it). */
static void judge_rule(judging *j, const gsrt_transformation *t, uint32_t rule_at)
{
    const gsrt_region *region = &j->workload->regions[t->region];
    const gsrt_contract_rule *rule = &j->contract->rules[rule_at];
    bool is_relative = rule->kind == GSRT_CONTRACT_RELATIVE_ERROR;
    if (is_relative && region->sensitivity == GSRT_SENSITIVITY_CHOICE && (region->effects & GSRT_EFFECT_EMITS) == 0) {
        refuse(j, t, GSRT_REASON_CONTRACT_EVIDENCE, rule_at,
               "a rule on the answer (absolute_error, divergence, quality): the region chooses, and an error of any "
               "size can change the choice");
        return;
    }
    question q = {
        .kind = rule->kind, .region = is_relative ? region->name : NULL, .corpus = rule->corpus, .bound = rule->bound};
    answer a = ask(j, &q);
    double needed;
    const char *missing = judge_answer(j, &q, &a, &needed);
    if (missing == NULL)
        return;
    refuse(j, t, GSRT_REASON_CONTRACT_EVIDENCE, rule_at, missing);
    j->verdict->has_figures = needed >= 0 || a.worst > q.bound;
    j->verdict->upper = needed >= 0 ? needed : a.worst;
    j->verdict->bound = q.bound;
}

/* The author's envelope holds beside any rule. */
static void judge_envelope(judging *j, const gsrt_transformation *t)
{
    const gsrt_region *region = &j->workload->regions[t->region];
    if (!(region->error_relative_max > 0))
        return;
    question q = {
        .kind = GSRT_CONTRACT_RELATIVE_ERROR, .region = region->name, .bound = (double)region->error_relative_max};
    answer a = ask(j, &q);
    double needed;
    const char *missing = judge_answer(j, &q, &a, &needed);
    if (missing == NULL)
        return;
    refuse(j, t, GSRT_REASON_LEGAL, GSRT_NO_INDEX, missing);
    j->verdict->has_figures = needed >= 0 || a.worst > q.bound;
    j->verdict->upper = needed >= 0 ? needed : a.worst;
    j->verdict->bound = q.bound;
}

/* ---- proofs ---- */

static bool is_excluded(const gsrt_transformation *t, gsrt_contract_kind kind)
{
    if (t->is_proved)
        return false;
    /* Narrowed and computed in the canonical order it is deterministic; nobody vouches for the order of the others, and
     * no evidence can: what was measured of such kernels yesterday binds nobody. */
    if (kind == GSRT_CONTRACT_DETERMINISTIC)
        return t->effect == GSRT_EFFECT_REORDERED;
    return kind == GSRT_CONTRACT_BITWISE || t->kind == GSRT_TRANSFORMATION_UNPROVEN;
}

static bool is_legal(const judging *j, const gsrt_transformation *t)
{
    uint32_t legal = gsrt_transformation_of(t->kind)->legal;
    if (legal == GSRT_LEGAL_REORDER && !gsrt__contract_region_sums(j->workload, t->region))
        return true;
    return t->effect == GSRT_EFFECT_EXACT && (legal & (GSRT_LEGAL_QUANTISE_WEIGHTS | GSRT_LEGAL_QUANTISE_STATE)) != 0
               ? true /* widened, not narrowed */
               : (legal & ~j->workload->regions[t->region].legal) == 0;
}

/* items[count]: all that is done in one region. */
static void judge_region(judging *j, const gsrt_transformation *items, uint32_t count)
{
    uint32_t rule_at = rule_index(j, j->workload->regions[items[0].region].name);
    gsrt_contract_kind kind = j->contract->rules[rule_at].kind;
    const gsrt_transformation *first = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (is_excluded(&items[i], kind)) {
            const char *obligation =
                kind <= GSRT_CONTRACT_DETERMINISTIC && items[i].kind != GSRT_TRANSFORMATION_UNPROVEN
                    ? "another rule for this region, and evidence"
                    : gsrt_transformation_of(items[i].kind)->obligation;
            refuse(j, &items[i], reason_of(&items[i]), rule_at, obligation);
            return;
        }
        first = first == NULL && !items[i].is_proved ? &items[i] : first;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_legal(j, &items[i])) {
            refuse(j, &items[i], GSRT_REASON_LEGAL, rule_at, "the region's author allows it (legal)");
            return;
        }
    }
    if (first == NULL)
        return;
    if (kind > GSRT_CONTRACT_DETERMINISTIC)
        judge_rule(j, first, rule_at);
    if (j->verdict->is_kept)
        judge_envelope(j, first);
}

/* transformations are there, is_kept is true. */
static void judge_all(judging *j)
{
    const gsrt_transformation *items = j->verdict->transformations;
    uint32_t count = j->verdict->transformation_count;
    for (uint32_t first = 0; first < count && j->verdict->is_kept && j->status == GSRT_OK;) {
        uint32_t end = first + 1;
        while (end < count && items[end].region == items[first].region)
            end++;
        judge_region(j, items + first, end - first);
        first = end;
    }
}

/* The smallest bound of the failed rule with which all is kept, if there is one: what its regions need together, tried.
 */
static void find_needed_bound(judging *j)
{
    gsrt_verdict *v = j->verdict;
    if (v->is_kept || !v->has_figures || v->rule == GSRT_NO_INDEX ||
        j->contract->rules[v->rule].kind == GSRT_CONTRACT_EXACT_PATHS)
        return;
    gsrt_contract_rule *rules = gsrt_arena_take(&v->arena, j->contract->rule_count, sizeof *rules);
    if (rules == NULL) {
        j->status = GSRT_ENOMEM;
        return;
    }
    memcpy(rules, j->contract->rules, j->contract->rule_count * sizeof *rules);
    gsrt_contract tried = {.rules = rules, .rule_count = j->contract->rule_count};
    gsrt_verdict other = {.arena = v->arena,
                          .transformations = v->transformations,
                          .transformation_count = v->transformation_count,
                          .has_figures = true,
                          .rule = v->rule,
                          .upper = v->upper};
    judging inner = *j;
    inner.contract = &tried;
    inner.verdict = &other;
    /* Each turn raises the bound to what one more region needs: at most as many turns as regions. */
    while (!other.is_kept && other.has_figures && other.rule == v->rule && other.upper > rules[v->rule].bound &&
           inner.status == GSRT_OK) {
        rules[v->rule].bound = other.upper;
        other.is_kept = true;
        other.has_figures = false;
        judge_all(&inner);
    }
    v->arena = other.arena;
    j->status = inner.status;
    v->has_bound_needed = other.is_kept;
    v->bound_needed = other.is_kept ? rules[v->rule].bound : 0;
}

gsrt_status gsrt_judge_init(gsrt_judge *judge, const gsrt_contract *contract, const gsrt_workload *workload,
                            const gsrt_evidence *evidence, size_t evidence_count)
{
    gsrt_workload_hash hash;
    *judge = (gsrt_judge){
        .contract = contract, .workload = workload, .evidence = evidence, .evidence_count = evidence_count};
    if (evidence_count == 0)
        return GSRT_OK;
    gsrt_status status = gsrt_workload_hash_of(workload, &hash);
    if (status == GSRT_OK)
        (void)snprintf(judge->workload_hash, sizeof judge->workload_hash, "%016" PRIx64 "%016" PRIx64, hash.high,
                       hash.low);
    return status;
}

gsrt_status gsrt_judge_decide(const gsrt_judge *judge, const gsrt_fleet *fleet, const gsrt_deployment *deployment,
                              gsrt_verdict *out)
{
    *out = (gsrt_verdict){.is_kept = true, .rule = GSRT_NO_INDEX};
    gsrt_arena_init(&out->arena, GSRT_VERDICT_BYTES_MAX);
    judging j = {.judge = judge, .contract = judge->contract, .workload = judge->workload, .verdict = out};
    j.status = gsrt__contract_derive(judge->workload, fleet, deployment, &out->arena, &out->transformations,
                                     &out->transformation_count);
    for (uint32_t i = 0; j.status == GSRT_OK && i < out->transformation_count; i++)
        j.change_count += out->transformations[i].is_proved ? 0 : 1;
    j.speaking = gsrt_arena_take(&out->arena, judge->evidence_count + 1, sizeof *j.speaking);
    if (j.speaking == NULL)
        j.status = GSRT_ENOMEM;
    if (j.status == GSRT_OK)
        judge_all(&j);
    if (j.status == GSRT_OK)
        find_needed_bound(&j);
    if (j.status != GSRT_OK)
        gsrt_verdict_fini(out);
    return j.status;
}

gsrt_status gsrt_contract_judge(const gsrt_contract *contract, const gsrt_workload *workload, const gsrt_fleet *fleet,
                                const gsrt_deployment *deployment, const gsrt_evidence *evidence, size_t evidence_count,
                                gsrt_verdict *out)
{
    gsrt_judge judge;
    gsrt_status status = gsrt_judge_init(&judge, contract, workload, evidence, evidence_count);
    return status == GSRT_OK ? gsrt_judge_decide(&judge, fleet, deployment, out) : status;
}

void gsrt_verdict_fini(gsrt_verdict *verdict)
{
    gsrt_arena_fini(&verdict->arena);
    *verdict = (gsrt_verdict){0};
}

gsrt_rejection gsrt_verdict_rejection(const gsrt_verdict *verdict)
{
    const gsrt_dimension plain = {0};
    gsrt_rejection r = {.reason = verdict->reason, .constraint = verdict->constraint, .change = verdict->obligation};
    if (verdict->has_figures) {
        r.needed = gsrt_quantity_exact(verdict->upper, plain);
        r.available = gsrt_quantity_exact(verdict->bound, plain);
    }
    if (verdict->has_bound_needed)
        r.change_to = gsrt_quantity_exact(verdict->bound_needed, plain);
    return r;
}
