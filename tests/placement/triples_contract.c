/* The contract of a random problem, and what was measured before: evidence of a few deployments that a search could
 * choose, strong or weak, of this workload or of another. */
#include "tests/placement/triples.h"

#include "placement/workload_text.h"
#include "tests/unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHANGES_MAX = 8 };

/* Evidence while it is made. */
typedef struct making {
    triple *t;
    dice d;
    gsrt_evidence_change changes[CHANGES_MAX];
    uint32_t change_count;
} making;

static void *take(triple *t, size_t count, size_t size)
{
    void *memory = gsrt_arena_take(&t->arena, count, size);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* ---- which regions ---- */

static bool is_any(const gsrt_workload *w, const gsrt_region *region)
{
    (void)w;
    (void)region;
    return true;
}

static bool has_op(const gsrt_workload *w, const gsrt_region *region, gsrt_op_kind kind)
{
    for (uint32_t i = 0; i < region->op_count; i++) {
        if (w->ops[region->op_first + i].kind == kind)
            return true;
    }
    return false;
}

/* All but the embedding have products, and sums. */
static bool has_products(const gsrt_workload *w, const gsrt_region *region)
{
    return !has_op(w, region, GSRT_OP_EMBED);
}

static bool has_state(const gsrt_workload *w, const gsrt_region *region)
{
    return has_op(w, region, GSRT_OP_ATTENTION) || has_op(w, region, GSRT_OP_LATENT_ATTENTION);
}

static void add_change(making *m, const char *name, bool (*is_in)(const gsrt_workload *, const gsrt_region *))
{
    const gsrt_workload *w = m->t->workload;
    const char **regions = take(m->t, w->region_count, sizeof *regions);
    gsrt_evidence_change *change = &m->changes[m->change_count++];
    *change = (gsrt_evidence_change){.regions = regions};
    change->transformation = gsrt_arena_copy_text(&m->t->arena, name, strlen(name));
    for (uint32_t r = 0; r < w->region_count; r++) {
        if (is_in(w, &w->regions[r]))
            regions[change->region_count++] = w->regions[r].name;
    }
}

/* ---- which changes ---- */

static void add_narrower(making *m)
{
    static const char *const to[] = {"q8_0", "f8_e4m3", "q4_0"};
    char name[64];
    gsrt_dtype from = m->t->shape.weights;
    bool is_wide = from == GSRT_DTYPE_F32 || from == GSRT_DTYPE_F16 || from == GSRT_DTYPE_BF16;
    (void)snprintf(name, sizeof name, "weights:%s->%s", gsrt_dtype_name(from), to[dice_below(&m->d, 3)]);
    if (is_wide && dice_chance(&m->d, 75))
        add_change(m, name, dice_chance(&m->d, 50) ? is_any : has_state);
    (void)snprintf(name, sizeof name, "kv:%s->%s", gsrt_dtype_name(m->t->shape.state),
                   m->t->shape.state == GSRT_DTYPE_F32 && dice_chance(&m->d, 50) ? "f16" : "f8_e4m3");
    if (m->change_count == 0 || dice_chance(&m->d, 40))
        add_change(m, name, has_state);
    if (m->t->problem.demand.context_parallel && dice_chance(&m->d, 50))
        add_change(m, "split:context", has_state);
}

/* Some engine's own kernels, as a search would use them: batches, chunks, and a ring if need be. */
static void add_native(making *m)
{
    const gsrt_fleet *fleet = m->t->fleet;
    char name[256];
    uint32_t engine = dice_below(&m->d, fleet->part_count);
    while (fleet->parts[engine].kind != GSRT_PART_ENGINE)
        engine = (engine + 1) % fleet->part_count;
    size_t used = (size_t)snprintf(name, sizeof name, "kernels:native");
    for (uint32_t i = 0; i < fleet->parts[engine].software_count; i++) {
        const gsrt_software *s = &fleet->parts[engine].software[i];
        used += (size_t)snprintf(name + used, sizeof name - used, "%c%s %s", i == 0 ? ':' : '+', s->name, s->version);
    }
    add_change(m, name, is_any);
    if (m->t->problem.demand.context_parallel && dice_chance(&m->d, 50))
        add_change(m, "split:context", has_state);
    bool is_quantised = m->t->shape.weights == GSRT_DTYPE_Q8_0;
    (void)snprintf(name, sizeof name, "compute:%s->bf16", is_quantised ? "i8" : "f32");
    if (dice_chance(&m->d, 60))
        add_change(m, name, has_products);
    if (dice_chance(&m->d, 80))
        add_change(m, "batch", is_any);
    if (dice_chance(&m->d, 80))
        add_change(m, "prefill:chunks", is_any);
    if (dice_chance(&m->d, 30))
        add_change(m, "reduce:ring", has_products);
    else if (dice_chance(&m->d, 30))
        add_change(m, "split:gather", is_any);
}

/* A figure of the statistic of each rule, and for relative errors of each region. */
static void add_figures(making *m, gsrt_evidence *e)
{
    const triple *t = m->t;
    uint32_t room = t->contract.rule_count * t->workload->region_count;
    gsrt_evidence_figure *figures = take(m->t, room, sizeof *figures);
    for (uint32_t r = 0; r < t->contract.rule_count; r++) {
        const gsrt_contract_rule *rule = &t->rules[r];
        bool is_relative = rule->kind == GSRT_CONTRACT_RELATIVE_ERROR;
        if (rule->kind <= GSRT_CONTRACT_DETERMINISTIC || !dice_chance(&m->d, 95))
            continue;
        for (uint32_t i = 0; i < (is_relative ? t->workload->region_count : 1); i++) {
            double factor = exp2(dice_between(&m->d, -4, dice_chance(&m->d, 75) ? 0 : 2));
            gsrt_evidence_figure *f = &figures[e->figure_count++];
            *f = (gsrt_evidence_figure){.statistic = rule->kind, .upper = rule->bound * factor};
            f->measured = f->upper * dice_between(&m->d, 0.5, 1);
            f->region = is_relative ? t->workload->regions[i].name : NULL;
        }
    }
    e->figures = figures;
}

static void add_evidence(making *m, const char *hash)
{
    triple *t = m->t;
    gsrt_evidence *e = &t->evidence[t->problem.evidence_count++];
    gsrt_evidence_change *changes = take(t, m->change_count, sizeof *changes);
    memcpy(changes, m->changes, m->change_count * sizeof *changes);
    *e = (gsrt_evidence){.workload_hash = dice_chance(&m->d, 93) ? hash : "00000000000000000000000000000000",
                         .changes = changes,
                         .change_count = m->change_count,
                         .corpus = dice_chance(&m->d, 90) ? "corpus.txt" : "other.txt",
                         .corpus_hash = "0123456789abcdef0123456789abcdef",
                         .sequence_count = 100,
                         .position_count = 1000,
                         .confidence = dice_chance(&m->d, 93) ? 0.95 : 0.9,
                         .coverage = dice_chance(&m->d, 93) ? 0.95 : 0.5,
                         .method = "drawn"};
    add_figures(m, e);
}

/* ---- the rules ---- */

static gsrt_contract_rule draw_rule(dice *d, const char *glob)
{
    static const gsrt_contract_kind kinds[] = {GSRT_CONTRACT_ABSOLUTE_ERROR, GSRT_CONTRACT_RELATIVE_ERROR,
                                               GSRT_CONTRACT_DIVERGENCE, GSRT_CONTRACT_QUALITY};
    gsrt_contract_rule rule = {.glob = glob, .kind = kinds[dice_below(d, 4)]};
    rule.bound =
        rule.kind == GSRT_CONTRACT_QUALITY ? 1 + exp2(dice_between(d, -8, -3)) : exp2(dice_between(d, -10, -2));
    if (rule.kind == GSRT_CONTRACT_QUALITY || dice_chance(d, 30))
        rule.corpus = "corpus.txt";
    return rule;
}

static void draw_rules(triple *t, dice *d)
{
    static const char *const globs[] = {"layer.*", "layer.0", "output", "embed", "layer.?"};
    uint32_t luck = dice_below(d, 100), count = 0;
    t->rules[count++] = (gsrt_contract_rule){.glob = "*", .kind = GSRT_CONTRACT_BITWISE};
    if (luck >= 40 && luck < 50)
        t->rules[count++] = (gsrt_contract_rule){.glob = "*", .kind = GSRT_CONTRACT_DETERMINISTIC};
    else if (luck >= 50)
        t->rules[count++] = draw_rule(d, luck < 85 ? "*" : "layer.*");
    if (luck >= 50 && dice_chance(d, 25)) {
        t->rules[count] = draw_rule(d, globs[dice_below(d, 5)]);
        if (dice_chance(d, 40))
            t->rules[count].kind = (gsrt_contract_kind)dice_below(d, 2);
        count++;
    }
    t->contract = (gsrt_contract){.rules = t->rules, .rule_count = count};
}

void triple_draw_contract(dice d, triple *out)
{
    gsrt_workload_hash hash;
    char text[40];
    draw_rules(out, &d);
    ck_assert_int_eq(gsrt_workload_hash_of(out->workload, &hash), GSRT_OK);
    (void)snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
    const char *kept = gsrt_arena_copy_text(&out->arena, text, strlen(text));
    uint32_t count = out->rules[out->contract.rule_count - 1].kind > GSRT_CONTRACT_DETERMINISTIC
                         ? dice_below(&d, TRIPLE_EVIDENCE_MAX + 1)
                         : 0;
    for (uint32_t i = 0; i < count; i++) {
        making m = {.t = out, .d = d};
        m.d.stream += 1000 + i;
        if (out->problem.demand.context_parallel && dice_chance(&m.d, 40))
            add_change(&m, "split:context", has_state);
        else if (dice_chance(&m.d, 50))
            add_narrower(&m);
        else
            add_native(&m);
        add_evidence(&m, kept);
    }
    out->problem.contract = &out->contract;
    out->problem.evidence = out->evidence;
}
