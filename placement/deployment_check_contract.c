/* Rules k1 and g1: every difference from the workload's own arithmetic, found again and held against the contract and
 * against what the regions' authors allow. The table of docs/planning.md, "What a plan must satisfy", row by row.
 */
#include "placement/deployment_check_impl.h"

#include "placement/workload_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CHANGE_BYTES_MAX = 600, CHANGES_MAX = 64 };

typedef enum effect {
    NOTHING, /* proved: the same bits */
    NARROWED,
    REORDERED,
    UNPROVED,  /* somebody's kernels, or a format that canonical kernels do not compute in */
    FORBIDDEN, /* canonical kernels that the engine does not name: no evidence helps */
} effect;

/* One difference, in one region. */
typedef struct change {
    const char *name;
    effect does;
    bool is_ordered; /* the same plan gives the same bits again */
    uint32_t legal;  /* what the author must allow */
} change;

typedef struct region_changes {
    gsrt__checking *c;
    uint32_t region;
    change items[CHANGES_MAX];
    uint32_t count;
} region_changes;

typedef struct judgement {
    gsrt__checking *c;
    region_changes *regions; /* [region_count] */
    uint64_t pair_count;     /* changes of all regions that are something */
    char hash[40];           /* of the workload; "" until it was needed */
} judgement;

static void add(region_changes *r, const char *name, effect does, bool is_ordered, uint32_t legal)
{
    for (uint32_t i = 0; i < r->count; i++) {
        if (strcmp(r->items[i].name, name) == 0)
            return;
    }
    const char *copy = gsrt_arena_copy_text(&r->c->scratch, name, strlen(name));
    if (copy == NULL || r->count == CHANGES_MAX)
        r->c->status = GSRT_ENOMEM;
    else
        r->items[r->count++] = (change){.name = copy, .does = does, .is_ordered = is_ordered, .legal = legal};
}

/* ---- what a region's choice changes ---- */

static bool is_product(gsrt_op_kind kind)
{
    return kind == GSRT_OP_LINEAR || kind == GSRT_OP_LOGITS || kind == GSRT_OP_EXPERT_LINEAR ||
           kind == GSRT_OP_LATENT_ATTENTION;
}

static bool has_sums(gsrt_op_kind kind)
{
    return is_product(kind) || kind == GSRT_OP_RMSNORM || kind == GSRT_OP_LAYERNORM || kind == GSRT_OP_ATTENTION ||
           kind == GSRT_OP_ROUTE || kind == GSRT_OP_COMBINE;
}

static void add_format(region_changes *r, const char *what, gsrt_dtype from, gsrt_dtype to, uint32_t legal)
{
    char name[CHANGE_BYTES_MAX];
    bool is_kept = to == GSRT_DTYPE_F32 && (from == GSRT_DTYPE_F16 || from == GSRT_DTYPE_BF16);
    size_t bytes_from = gsrt_dtype_block_bytes(from) * gsrt_dtype_block(to);
    size_t bytes_to = gsrt_dtype_block_bytes(to) * gsrt_dtype_block(from);
    (void)snprintf(name, sizeof name, "%s:%s->%s", what, gsrt_dtype_name(from), gsrt_dtype_name(to));
    if (from != to)
        add(r, name, is_kept ? NOTHING : bytes_to <= bytes_from ? NARROWED : UNPROVED, true, is_kept ? 0 : legal);
}

gsrt_format gsrt__check_format(const gsrt__checking *c, const gsrt_region *region, const gsrt_region_choice *choice,
                               bool *out_has_products)
{
    gsrt_format format = GSRT_FORMAT_F32;
    *out_has_products = false;
    for (uint32_t i = region->op_first; i < region->op_first + region->op_count; i++) {
        const gsrt_op *op = &c->workload->ops[i];
        if (!is_product(op->kind) || op->tensor == GSRT_NO_INDEX)
            continue;
        *out_has_products = true;
        gsrt_dtype dtype = gsrt__check_dtype(c->workload, choice, op);
        if (dtype == GSRT_DTYPE_Q8_0 || dtype == GSRT_DTYPE_Q4_0)
            format = GSRT_FORMAT_I8;
    }
    return format;
}

static uint32_t bits_of(gsrt_format format)
{
    static const uint32_t bits[GSRT_FORMAT_COUNT] = {
        [GSRT_FORMAT_F64] = 64, [GSRT_FORMAT_F32] = 32, [GSRT_FORMAT_TF32] = 19, [GSRT_FORMAT_BF16] = 16,
        [GSRT_FORMAT_F16] = 16, [GSRT_FORMAT_F8] = 8,   [GSRT_FORMAT_F6] = 6,    [GSRT_FORMAT_F4] = 4,
        [GSRT_FORMAT_I8] = 8,   [GSRT_FORMAT_I4] = 4};
    return bits[format];
}

static void find_choice(region_changes *r)
{
    const gsrt__checking *c = r->c;
    uint32_t region = r->region;
    const gsrt_region *it = &c->workload->regions[region];
    const gsrt_region_choice *choice = &c->deployment->choices[region];
    char name[CHANGE_BYTES_MAX];
    bool has_products;
    for (uint32_t i = it->op_first; i < it->op_first + it->op_count; i++) {
        const gsrt_op *op = &c->workload->ops[i];
        if (op->tensor != GSRT_NO_INDEX)
            add_format(r, "weights", c->workload->tensors[op->tensor].dtype, gsrt__check_dtype(c->workload, choice, op),
                       GSRT_LEGAL_QUANTISE_WEIGHTS);
        if (op->state != GSRT_NO_INDEX && !choice->state_is_as_given)
            add_format(r, "kv", c->workload->states[op->state].dtype, choice->state, GSRT_LEGAL_QUANTISE_STATE);
    }
    gsrt_format canonical = gsrt__check_format(c, it, choice, &has_products);
    if (!has_products || choice->compute == canonical)
        return;
    (void)snprintf(name, sizeof name, "compute:%s->%s", gsrt_format_word(canonical), gsrt_format_word(choice->compute));
    add(r, name, bits_of(choice->compute) < bits_of(canonical) ? NARROWED : UNPROVED, true,
        GSRT_LEGAL_QUANTISE_WEIGHTS);
}

/* ---- what its engines and its split change ---- */

static bool region_has(const gsrt__checking *c, uint32_t region, bool (*is_it)(gsrt_op_kind))
{
    const gsrt_region *it = &c->workload->regions[region];
    for (uint32_t i = it->op_first; i < it->op_first + it->op_count; i++) {
        if (is_it(c->workload->ops[i].kind))
            return true;
    }
    return false;
}

static bool is_expert(gsrt_op_kind kind)
{
    return kind == GSRT_OP_EXPERT_LINEAR;
}

static bool attends(gsrt_op_kind kind)
{
    return kind == GSRT_OP_ATTENTION || kind == GSRT_OP_LATENT_ATTENTION;
}

static void find_kernels(region_changes *r, const gsrt_part *part)
{
    const gsrt__checking *c = r->c;
    char name[CHANGE_BYTES_MAX];
    size_t used = (size_t)snprintf(name, sizeof name, "kernels:native");
    bool is_canonical = false;
    for (uint32_t i = 0; i < part->software_count; i++) {
        const gsrt_software *s = &part->software[i];
        is_canonical = is_canonical || strcmp(s->name, GSRT_CANONICAL_SOFTWARE) == 0;
        if (used < sizeof name)
            used += (size_t)snprintf(name + used, sizeof name - used, "%c%s%s%s", i == 0 ? ':' : '+', s->name,
                                     s->version[0] == 0 ? "" : " ", s->version);
    }
    if (c->deployment->choices[r->region].arithmetic == GSRT_ARITHMETIC_NATIVE)
        add(r, name, UNPROVED, false, region_has(c, r->region, has_sums) ? GSRT_LEGAL_REORDER : 0);
    else if (!is_canonical)
        add(r, "kernels:unproven", FORBIDDEN, false, 0);
}

static void find_stage(region_changes *r, const gsrt__stage_view *view)
{
    const gsrt__checking *c = r->c;
    uint32_t region = r->region;
    const gsrt_deployment_stage *stage = view->it;
    bool is_native = c->deployment->choices[region].arithmetic == GSRT_ARITHMETIC_NATIVE;
    bool sums = region_has(c, region, has_sums);
    effect exact = is_native ? REORDERED : NOTHING;
    for (uint32_t m = 0; m < stage->member_count; m++)
        find_kernels(r, &c->fleet->parts[stage->members[m].part]);
    if (view->width > 1 && stage->algorithm == GSRT_ALGORITHM_GATHER)
        add(r, "split:gather", exact, !is_native, 0);
    else if (view->width > 1 && stage->algorithm == GSRT_ALGORITHM_SUBTREES)
        add(r, "split:subtrees", exact, !is_native, 0);
    else if (view->width > 1 && stage->algorithm != GSRT_ALGORITHM_NONE && sums)
        add(r,
            stage->algorithm == GSRT_ALGORITHM_RING   ? "reduce:ring"
            : stage->algorithm == GSRT_ALGORITHM_TREE ? "reduce:tree"
                                                      : "reduce:switch",
            REORDERED, false, GSRT_LEGAL_REORDER);
    if (stage->context_width > 1 && region_has(c, region, attends))
        add(r, "split:context", REORDERED, false, GSRT_LEGAL_REORDER);
    if (stage->expert_width > 1 && region_has(c, region, is_expert))
        add(r, "split:experts", exact, !is_native, GSRT_LEGAL_SPLIT_EXPERTS);
    if (stage->data_width > 1)
        add(r, "split:data", exact, !is_native, 0);
    if (stage->overlaps)
        add(r, "overlap", exact, !is_native, 0);
}

static void find_pools(region_changes *r)
{
    const gsrt_deployment *d = r->c->deployment;
    bool is_native = d->choices[r->region].arithmetic == GSRT_ARITHMETIC_NATIVE;
    effect exact = is_native ? REORDERED : NOTHING;
    uint32_t effects = r->c->workload->regions[r->region].effects;
    bool is_prefilled_apart = false, is_decoded_apart = false, is_offloaded = false;
    for (uint32_t p = 0; p < d->pool_count; p++) {
        const gsrt_deployment_pool *pool = &d->pools[p];
        if (pool->batch_max > 1)
            add(r, "batch", exact, !is_native, 0);
        if ((pool->phases & GSRT_PHASE_PREFILL) != 0 && pool->prefill_tokens < d->context_max)
            add(r, "prefill:chunks", exact, !is_native, 0);
        if (pool->draft_tokens > 0)
            add(r, "draft", exact, !is_native, 0);
        is_prefilled_apart = is_prefilled_apart || pool->phases == GSRT_PHASE_PREFILL;
        is_decoded_apart = is_decoded_apart || pool->phases == GSRT_PHASE_DECODE;
        is_offloaded = is_offloaded || pool->kv_offload > 0;
    }
    bool has_state = (effects & (GSRT_EFFECT_READS_STATE | GSRT_EFFECT_WRITES_STATE)) != 0;
    if (has_state && is_prefilled_apart && is_decoded_apart)
        add(r, "kv:transfer", NOTHING, true, GSRT_LEGAL_CHECKPOINT);
    if (has_state && is_offloaded)
        add(r, "kv:offload", NOTHING, true, GSRT_LEGAL_OFFLOAD_STATE);
}

static void find_changes(region_changes *r)
{
    const gsrt__checking *c = r->c;
    if (!c->workload->regions[r->region].is_deterministic)
        add(r, "ops", UNPROVED, false, 0);
    find_choice(r);
    for (uint32_t s = 0; s < c->stage_count; s++) {
        if (gsrt__check_stage_has(c, &c->stages[s], r->region))
            find_stage(r, &c->stages[s]);
    }
    find_pools(r);
}

/* ---- evidence ---- */

static const change *change_named(const region_changes *r, const char *name)
{
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->items[i].does != NOTHING && strcmp(r->items[i].name, name) == 0)
            return &r->items[i];
    }
    return NULL;
}

static uint32_t region_named(const gsrt_workload *w, const char *name)
{
    uint32_t region = 0;
    while (region < w->region_count && strcmp(w->regions[region].name, name) != 0)
        region++;
    return region;
}

/* Measured of this very workload? */
static bool has_hash(judgement *j, const char *wanted)
{
    gsrt_workload_hash hash;
    if (j->hash[0] == 0) {
        j->c->status = gsrt_workload_hash_of(j->c->workload, &hash);
        if (j->c->status != GSRT_OK)
            return false;
        (void)snprintf(j->hash, sizeof j->hash, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
    }
    return strcmp(j->hash, wanted) == 0;
}

/* Every pair of the evidence is a change of the deployment, and there are as many of them. */
static bool is_about(judgement *j, const gsrt_evidence *e)
{
    uint64_t pairs = 0;
    for (uint32_t k = 0; k < e->change_count; k++) {
        for (uint32_t i = 0; i < e->changes[k].region_count; i++, pairs++) {
            uint32_t region = region_named(j->c->workload, e->changes[k].regions[i]);
            if (region == j->c->workload->region_count ||
                change_named(&j->regions[region], e->changes[k].transformation) == NULL)
                return false;
        }
    }
    return pairs == j->pair_count && has_hash(j, e->workload_hash);
}

/* The limit that a figure puts on what `rule` bounds; below 0: none. */
static double limit_of(const gsrt_evidence_figure *f, gsrt_contract_kind kind, const char *region)
{
    if (kind == GSRT_CONTRACT_DIVERGENCE && f->statistic == GSRT_CONTRACT_ABSOLUTE_ERROR)
        return f->upper * f->upper / 2;
    if (f->statistic != kind || (kind == GSRT_CONTRACT_RELATIVE_ERROR && strcmp(f->region, region) != 0))
        return -1;
    return f->upper;
}

typedef struct finding {
    double upper; /* the lowest limit that evidence of strength gives; below 0: none does */
    double worst; /* the highest that was measured at all; below 0: nothing was */
} finding;

static finding hear(judgement *j, gsrt_contract_kind kind, const char *region, const char *corpus)
{
    finding found = {-1, -1};
    bool is_of_a_text = kind == GSRT_CONTRACT_QUALITY || kind == GSRT_CONTRACT_EXACT_PATHS;
    for (size_t i = 0; i < j->c->problem->evidence_count; i++) {
        const gsrt_evidence *e = &j->c->problem->evidence[i];
        bool is_of_corpus = corpus == NULL || strcmp(corpus, e->corpus) == 0;
        bool is_strong = kind == GSRT_CONTRACT_EXACT_PATHS ||
                         (e->confidence >= 0.95 && (kind == GSRT_CONTRACT_QUALITY || e->coverage >= 0.95));
        if (!is_about(j, e))
            continue;
        for (uint32_t f = 0; f < e->figure_count; f++) {
            const gsrt_evidence_figure *figure = &e->figures[f];
            double limit = limit_of(figure, kind, region);
            if (limit < 0)
                continue;
            if (figure->statistic == kind && (is_of_corpus || !is_of_a_text) && figure->measured > found.worst)
                found.worst = figure->measured;
            if (is_of_corpus && is_strong && (found.upper < 0 || limit < found.upper))
                found.upper = limit;
        }
    }
    return found;
}

/* ---- the rules ---- */

static bool glob_matches(const char *glob, const char *name)
{
    if (*glob == '*')
        return glob_matches(glob + 1, name) || (*name != 0 && glob_matches(glob, name + 1));
    if (*glob == 0 || *name == 0)
        return *glob == *name;
    return (*glob == '?' || *glob == *name) && glob_matches(glob + 1, name + 1);
}

/* The last rule that names the region; NULL: bitwise. */
static const gsrt_contract_rule *rule_of(const gsrt_contract *contract, const char *region)
{
    const gsrt_contract_rule *found = NULL;
    for (uint32_t i = 0; i < contract->rule_count; i++)
        found = glob_matches(contract->rules[i].glob, region) ? &contract->rules[i] : found;
    return found;
}

static const char *reason_of(effect does)
{
    switch (does) {
    case NARROWED: return GSRT_REASON_CONTRACT_NARROWED;
    case REORDERED: return GSRT_REASON_CONTRACT_REORDERED;
    case NOTHING:
    case UNPROVED:
    case FORBIDDEN: break;
    }
    return GSRT_REASON_CONTRACT_UNPROVEN;
}

/* What evidence must show: of the rule, or of the author's envelope. */
static void check_figure(judgement *j, uint32_t region, gsrt_contract_kind kind, double bound, const char *corpus,
                         const gsrt_violation *wrong)
{
    const gsrt_region *it = &j->c->workload->regions[region];
    finding found = hear(j, kind, it->name, corpus);
    gsrt_violation v = *wrong;
    double needed = found.worst > found.upper ? found.worst : found.upper;
    if (found.upper >= 0 && found.upper <= bound && found.worst <= bound)
        return;
    if (needed >= 0) {
        v.needed = gsrt_quantity_exact(needed, (gsrt_dimension){0});
        v.available = gsrt_quantity_exact(bound, (gsrt_dimension){0});
    }
    gsrt__check_violate(j->c, &v, "region '%s': what was measured of its changes", it->name);
}

static void check_evidence(judgement *j, uint32_t region, const gsrt_contract_rule *rule)
{
    const gsrt_region *it = &j->c->workload->regions[region];
    gsrt_violation wrong = {.rule = "k1", .reason = GSRT_REASON_CONTRACT_EVIDENCE, .subject = GSRT_SUBJECT_RULE};
    wrong.index = (uint32_t)(rule - j->c->problem->contract->rules);
    bool chooses = it->sensitivity == GSRT_SENSITIVITY_CHOICE && (it->effects & GSRT_EFFECT_EMITS) == 0;
    if (rule->kind == GSRT_CONTRACT_RELATIVE_ERROR && chooses)
        gsrt__check_violate(j->c, &wrong, "region '%s' chooses: no error of its own is small", it->name);
    else
        check_figure(j, region, rule->kind, rule->bound, rule->corpus, &wrong);
}

static void check_region(judgement *j, uint32_t region)
{
    const gsrt_region *it = &j->c->workload->regions[region];
    const gsrt_contract_rule *rule = rule_of(j->c->problem->contract, it->name);
    gsrt_contract_kind kind = rule == NULL ? GSRT_CONTRACT_BITWISE : rule->kind;
    bool is_changed = false;
    for (uint32_t i = 0; i < j->regions[region].count; i++) {
        const change *made = &j->regions[region].items[i];
        bool is_excluded = made->does != NOTHING && (kind == GSRT_CONTRACT_BITWISE || made->does == FORBIDDEN ||
                                                     (kind == GSRT_CONTRACT_DETERMINISTIC && !made->is_ordered));
        is_changed = is_changed || made->does != NOTHING;
        if (is_excluded)
            gsrt__check_violate(j->c, &(gsrt_violation){.rule = "k1", .reason = reason_of(made->does)},
                                "region '%s': %s", it->name, made->name);
        if ((made->legal & ~it->legal) != 0)
            gsrt__check_violate(j->c, &(gsrt_violation){.rule = "g1", .reason = GSRT_REASON_LEGAL},
                                "region '%s' does not allow %s", it->name, made->name);
    }
    if (is_changed && kind > GSRT_CONTRACT_DETERMINISTIC)
        check_evidence(j, region, rule);
    if (is_changed && it->error_relative_max > 0)
        check_figure(j, region, GSRT_CONTRACT_RELATIVE_ERROR, (double)it->error_relative_max, NULL,
                     &(gsrt_violation){.rule = "g1", .reason = GSRT_REASON_LEGAL});
}

void gsrt__check_contract(gsrt__checking *c)
{
    judgement j = {.c = c, .regions = gsrt__check_scratch(c, c->workload->region_count, sizeof *j.regions)};
    for (uint32_t r = 0; r < c->workload->region_count && c->status == GSRT_OK; r++) {
        j.regions[r].c = c;
        j.regions[r].region = r;
        find_changes(&j.regions[r]);
        for (uint32_t i = 0; i < j.regions[r].count; i++)
            j.pair_count += j.regions[r].items[i].does != NOTHING ? 1 : 0;
    }
    for (uint32_t r = 0; r < c->workload->region_count && c->status == GSRT_OK; r++)
        check_region(&j, r);
}
