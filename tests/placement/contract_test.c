/* The contract: its document; each transformation, with each kind of rule; what evidence admits; what is taken back. */
#include "placement/contract.h"

#include <string.h>

#include "tests/placement/judged.h"
#include "tests/placement/made_workload.h"
#include "tests/unit.h"

/* ---- the document ---- */

START_TEST(documents_read_back)
{
    static const struct row {
        const char *text, *printed;
    } rows[] = {
        {"bitwise", "bitwise"},
        {"deterministic", "deterministic"},
        {"[{keep: bitwise}]", "bitwise"},
        {"[{regions: \"layer.*\", relative_error: 0.01}]",
         "[{regions: \"*\", keep: bitwise}, {regions: \"layer.*\", relative_error: 0.01}]"},
        {"- {keep: deterministic}\n- {regions: output, quality: 1.01, corpus: a.txt}\n"
         "- {regions: layer.0, exact_paths: ../p.txt}\n- {regions: embed, absolute_error: 1e-3}\n"
         "- {regions: \"layer.?\", divergence: 0.5, corpus: /b.txt}",
         "[{regions: \"*\", keep: deterministic}, {regions: \"output\", quality: 1.01, corpus: \"/texts/a.txt\"}, "
         "{regions: \"layer.0\", exact_paths: \"/p.txt\"}, {regions: \"embed\", absolute_error: 0.001}, "
         "{regions: \"layer.?\", divergence: 0.5, corpus: \"/b.txt\"}]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gsrt_buffer out;
        gsrt_buffer_init(&out, 1 << 16);
        gsrt_contract *contract = judged_contract(rows[i].text);
        ck_assert_int_eq(gsrt_contract_print(contract, &out), GSRT_OK);
        ck_assert_int_eq(gsrt_buffer_append(&out, "", 1), GSRT_OK);
        ck_assert_str_eq((const char *)out.data, rows[i].printed);
        gsrt_contract *again = judged_contract((const char *)out.data);
        ck_assert_uint_eq(again->rule_count, contract->rule_count);
        (void)gsrt_contract_free(again);
        (void)gsrt_contract_free(contract);
        gsrt_buffer_fini(&out);
    }
}
END_TEST

START_TEST(documents_are_refused)
{
    static const struct row {
        const char *text, *says;
    } rows[] = {
        {"bitwsie", "c.yaml: line 1, column 1: unknown word 'bitwsie'; did you mean 'bitwise'?"},
        {"5", "must be one of bitwise, deterministic"},
        {"", "must be one of bitwise, deterministic"},
        {"{relative_error: 0.1}", "must be a word or a list of rules"},
        {"[]", "must not be empty"},
        {"[bitwise]", "[0]: must be a mapping"},
        {"[{regions: a}]", "says nothing of its regions; add one of keep"},
        {"[{keep: bitwise, divergence: 1}]", "has both 'keep' and 'divergence'"},
        {"[{relative_error: 0.1, absolute_error: 1}]", "has both 'absolute_error' and 'relative_error'"},
        {"[{relative_error: 0}]", "must be between 1e-12 and 1"},
        {"[{relative_error: .nan}]", "must be a finite number"},
        {"[{divergence: -1}]", "must be between"},
        {"[{quality: 0.99, corpus: a}]", "must be between 1 and 100"},
        {"[{quality: 1.01}]", "does not say on which text"},
        {"[{keep: bitwise, corpus: a}]", "names a corpus"},
        {"[{exact_paths: a, corpus: a}]", "names a corpus"},
        {"[{regoins: a, keep: bitwise}]", "unknown key 'regoins' in [0]; did you mean 'regions'?"},
        {"[{regions: \"\", keep: bitwise}]", "[0].regions: must not be empty"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gsrt_contract *contract = NULL;
        gsrt_diag diag;
        ck_assert_int_eq(judged_read(rows[i].text, &contract, &diag), GSRT_EINPUT);
        ck_assert_msg(strstr(diag.text, rows[i].says) != NULL, "%s: '%s' instead of '%s'", rows[i].text, diag.text,
                      rows[i].says);
        ck_assert_ptr_null(contract);
    }
}
END_TEST

START_TEST(the_last_rule_that_matches_holds)
{
    gsrt_contract *c = judged_contract("[{regions: \"layer.*\", relative_error: 0.1}, {regions: layer.1, keep: "
                                       "deterministic}, {regions: \"?????\", divergence: 1}]");
    ck_assert_int_eq(gsrt_contract_rule_for(c, "layer.10")->kind, GSRT_CONTRACT_RELATIVE_ERROR);
    ck_assert_int_eq(gsrt_contract_rule_for(c, "layer.1")->kind, GSRT_CONTRACT_DETERMINISTIC);
    ck_assert_int_eq(gsrt_contract_rule_for(c, "embed")->kind, GSRT_CONTRACT_DIVERGENCE);
    ck_assert_int_eq(gsrt_contract_rule_for(c, "output")->kind, GSRT_CONTRACT_BITWISE);
    (void)gsrt_contract_free(c);
    ck_assert(gsrt_contract_glob_matches("*a*b", "xaab") && gsrt_contract_glob_matches("", "") &&
              gsrt_contract_glob_matches("**", "") && gsrt_contract_glob_matches("a?c*", "abcd"));
    ck_assert(!gsrt_contract_glob_matches("a?", "a") && !gsrt_contract_glob_matches("*a", "ab") &&
              !gsrt_contract_glob_matches("", "a") && !gsrt_contract_glob_matches("layer.1", "layer.10"));
    gsrt_workload *w = judged_workload(GSRT_DTYPE_F16);
    gsrt_diag diag = {0};
    c = judged_contract("[{regions: \"layer.*\", relative_error: 0.1}, {regions: \"leyer.*\", divergence: 1}]");
    ck_assert_int_eq(gsrt_contract_check(c, w, "c.yaml", &diag), GSRT_EINPUT);
    ck_assert_str_eq(diag.text,
                     "c.yaml: contract: no region of this model is called 'leyer.*'; its regions are 'embed' "
                     "to 'output'");
    (void)gsrt_contract_free(c);
    c = gsrt_contract_bitwise();
    ck_assert_int_eq(gsrt_contract_check(c, w, "c.yaml", NULL), GSRT_OK);
    (void)gsrt_contract_free(c);
    (void)gsrt_workload_free(w);
}
END_TEST

/* ---- transformations ---- */

/* What a case does to the plain deployment of one canonical engine. */
typedef void change_fn(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet);

static gsrt_deployment_stage *stage_of(gsrt_deployment *d)
{
    return &d->pools[0].stages[0];
}

static void nothing(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)d, (void)w, (void)fleet;
}
static void weights_q8(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)fleet;
    judged_narrow(d, w, 1, 1, GSRT_DTYPE_Q8_0);
}
static void weights_wider(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)fleet;
    judged_narrow(d, w, 1, 1, GSRT_DTYPE_F32);
}
static void weights_bf16(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)fleet;
    judged_narrow(d, w, 1, 1, GSRT_DTYPE_BF16);
}
static void kv_f16(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    d->choices[1].state_is_as_given = false;
    d->choices[1].state = GSRT_DTYPE_F16;
}
static void compute_bf16(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    d->choices[1].compute = GSRT_FORMAT_BF16;
}
static void compute_f64(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    d->choices[1].compute = GSRT_FORMAT_F64;
}
static void native(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w;
    stage_of(d)->members[0].part = gsrt_fleet_part_named(fleet, "gpu");
    for (uint32_t r = 0; r < d->region_count; r++)
        d->choices[r].arithmetic = GSRT_ARITHMETIC_NATIVE;
}
static void unproven(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w;
    stage_of(d)->members[0].part = gsrt_fleet_part_named(fleet, "gpu");
}
static void split(gsrt_deployment *d, gsrt_collective_algorithm algorithm)
{
    stage_of(d)->members[0].instance_count = 2;
    stage_of(d)->algorithm = algorithm;
}
static void ring(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    split(d, GSRT_ALGORITHM_RING);
}
static void tree(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    split(d, GSRT_ALGORITHM_TREE);
}
static void in_switch(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    split(d, GSRT_ALGORITHM_SWITCH);
}
static void gather(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    split(d, GSRT_ALGORITHM_GATHER);
}
static void subtrees(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    split(d, GSRT_ALGORITHM_SUBTREES);
}
static void ring_of_one(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    stage_of(d)->algorithm = GSRT_ALGORITHM_RING;
}
static void data(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    split(d, GSRT_ALGORITHM_GATHER);
    stage_of(d)->data_width = 2;
}
static void batch(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    d->pools[0].batch_max = 8;
}
static void chunks(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    d->pools[0].prefill_tokens = 32;
}
static void draft(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    d->pools[0].draft_tokens = 4;
}
static void offload(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    d->pools[0].kv_offload = 1;
}
static void overlap(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    split(d, GSRT_ALGORITHM_GATHER);
    stage_of(d)->overlaps = true;
}
static void context(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    split(d, GSRT_ALGORITHM_GATHER);
    stage_of(d)->context_width = 2;
}
static void replicas(gsrt_deployment *d, const gsrt_workload *w, const gsrt_fleet *fleet)
{
    (void)w, (void)fleet;
    d->pools[0].replica_count = 2;
}

/* The verdict's transformation of this name in this region; NULL: it makes none. */
static const gsrt_transformation *made(const gsrt_verdict *v, uint32_t region, const char *name)
{
    for (uint32_t i = 0; i < v->transformation_count; i++) {
        if (v->transformations[i].region == region && strcmp(v->transformations[i].name, name) == 0)
            return &v->transformations[i];
    }
    return NULL;
}

/* Each row: what it is called in layer.0, and the reason under a bitwise and under a deterministic rule (NULL: kept).
 */
START_TEST(every_transformation_has_its_effect_and_reason)
{
    static const struct row {
        change_fn *change;
        const char *name;
        gsrt_effect_class effect;
        const char *bitwise, *deterministic;
    } rows[] = {
        {nothing, NULL, GSRT_EFFECT_EXACT, NULL, NULL},
        {weights_q8, "weights:f16->q8_0", GSRT_EFFECT_NARROWED, GSRT_REASON_CONTRACT_NARROWED, NULL},
        {weights_bf16, "weights:f16->bf16", GSRT_EFFECT_NARROWED, GSRT_REASON_CONTRACT_NARROWED, NULL},
        {weights_wider, "weights:f16->f32", GSRT_EFFECT_EXACT, NULL, NULL},
        {kv_f16, "kv:f32->f16", GSRT_EFFECT_NARROWED, GSRT_REASON_CONTRACT_NARROWED, NULL},
        {compute_bf16, "compute:f32->bf16", GSRT_EFFECT_NARROWED, GSRT_REASON_CONTRACT_NARROWED, NULL},
        {compute_f64, "compute:f32->f64", GSRT_EFFECT_APPROXIMATE, GSRT_REASON_CONTRACT_UNPROVEN, NULL},
        {native, "kernels:native:attention 3+driver 1.2", GSRT_EFFECT_REORDERED, GSRT_REASON_CONTRACT_UNPROVEN,
         GSRT_REASON_CONTRACT_UNPROVEN},
        {unproven, "kernels:unproven", GSRT_EFFECT_REORDERED, GSRT_REASON_CONTRACT_UNPROVEN,
         GSRT_REASON_CONTRACT_UNPROVEN},
        {ring, "reduce:ring", GSRT_EFFECT_REORDERED, GSRT_REASON_CONTRACT_REORDERED, GSRT_REASON_CONTRACT_REORDERED},
        {tree, "reduce:tree", GSRT_EFFECT_REORDERED, GSRT_REASON_CONTRACT_REORDERED, GSRT_REASON_CONTRACT_REORDERED},
        {in_switch, "reduce:switch", GSRT_EFFECT_REORDERED, GSRT_REASON_CONTRACT_REORDERED,
         GSRT_REASON_CONTRACT_REORDERED},
        {context, "split:context", GSRT_EFFECT_REORDERED, GSRT_REASON_CONTRACT_REORDERED,
         GSRT_REASON_CONTRACT_REORDERED},
        {ring_of_one, NULL, GSRT_EFFECT_EXACT, NULL, NULL},
        {gather, "split:gather", GSRT_EFFECT_EXACT, NULL, NULL},
        {subtrees, "split:subtrees", GSRT_EFFECT_EXACT, NULL, NULL},
        {data, "split:data", GSRT_EFFECT_EXACT, NULL, NULL},
        {batch, "batch", GSRT_EFFECT_EXACT, NULL, NULL},
        {chunks, "prefill:chunks", GSRT_EFFECT_EXACT, NULL, NULL},
        {draft, "draft", GSRT_EFFECT_EXACT, NULL, NULL},
        {offload, "kv:offload", GSRT_EFFECT_EXACT, NULL, NULL},
        {overlap, "overlap", GSRT_EFFECT_EXACT, NULL, NULL},
        {replicas, "replicas", GSRT_EFFECT_EXACT, NULL, NULL},
    };
    gsrt_workload *w = judged_workload(GSRT_DTYPE_F16);
    gsrt_fleet *fleet = judged_fleet();
    gsrt_contract *contracts[] = {judged_contract("bitwise"), judged_contract("deterministic")};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gsrt_deployment *d = judged_deployment(w, fleet, "cpu", 1, GSRT_ALGORITHM_NONE);
        rows[i].change(d, w, fleet);
        for (int c = 0; c < 2; c++) {
            const char *wanted = c == 0 ? rows[i].bitwise : rows[i].deterministic;
            gsrt_verdict v;
            ck_assert_int_eq(gsrt_contract_judge(contracts[c], w, fleet, d, NULL, 0, &v), GSRT_OK);
            ck_assert_msg(v.is_kept == (wanted == NULL), "row %zu, contract %d: kept %d", i, c, v.is_kept);
            if (wanted != NULL) {
                ck_assert_str_eq(v.reason, wanted);
                gsrt_rejection rejection = gsrt_verdict_rejection(&v);
                ck_assert_str_eq(rejection.reason, wanted);
                ck_assert_msg(strstr(rejection.constraint, rows[i].name) != NULL, "%s", rejection.constraint);
                ck_assert_ptr_nonnull(rejection.change);
                ck_assert(!rejection.needed.is_known && !rejection.change_to.is_known);
            }
            const gsrt_transformation *t = rows[i].name == NULL ? NULL : made(&v, 1, rows[i].name);
            ck_assert_msg((t != NULL) == (rows[i].name != NULL), "row %zu", i);
            if (t != NULL) {
                ck_assert_int_eq(t->effect, rows[i].effect);
                ck_assert_int_eq(t->is_proved, t->effect == GSRT_EFFECT_EXACT);
            } else {
                ck_assert_uint_eq(v.transformation_count, 0);
            }
            gsrt_verdict_fini(&v);
        }
        (void)gsrt_deployment_free(d);
    }
    (void)gsrt_contract_free(contracts[0]);
    (void)gsrt_contract_free(contracts[1]);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_workload_free(w);
}
END_TEST

/* Pools apart: the keys and values travel; two stages: a pipeline. Native kernels take the proofs away. */
START_TEST(pools_stages_and_lost_proofs)
{
    gsrt_workload *w = judged_workload(GSRT_DTYPE_F16);
    gsrt_fleet *fleet = judged_fleet();
    gsrt_contract *bitwise = gsrt_contract_bitwise();
    gsrt_deployment *d = gsrt_deployment_create(w, 2);
    ck_assert_ptr_nonnull(d);
    d->context_max = 128;
    for (uint32_t p = 0; p < 2; p++) {
        d->pools[p].phases = p == 0 ? GSRT_PHASE_PREFILL : GSRT_PHASE_DECODE;
        d->pools[p].replica_count = d->pools[p].batch_max = 1;
        d->pools[p].prefill_tokens = 128;
        ck_assert_int_eq(gsrt_deployment_add_stages(d, p, 2), GSRT_OK);
        for (uint32_t s = 0; s < 2; s++) {
            gsrt_deployment_stage *stage = &d->pools[p].stages[s];
            stage->layer_first = s;
            stage->layer_last = s == 0 ? 0 : JUDGED_LAYERS - 1;
            stage->data_width = stage->expert_width = stage->context_width = 1;
            ck_assert_int_eq(gsrt_deployment_add_members(d, p, s, 1), GSRT_OK);
            stage->members[0] = (gsrt_deployment_members){.part = gsrt_fleet_part_named(fleet, "cpu"),
                                                          .instance_first = 2 * p + s,
                                                          .instance_count = 1,
                                                          .block_replicas = 1,
                                                          .share = 1};
        }
    }
    for (uint32_t r = 0; r < d->region_count; r++)
        d->choices[r].compute = GSRT_FORMAT_F32;
    gsrt_verdict v;
    ck_assert_int_eq(gsrt_contract_judge(bitwise, w, fleet, d, NULL, 0, &v), GSRT_OK);
    ck_assert(v.is_kept);
    ck_assert(made(&v, 1, "kv:transfer") != NULL && made(&v, EMBED_REGION, "kv:transfer") == NULL);
    ck_assert(made(&v, OUTPUT_REGION, "pipeline") != NULL && made(&v, OUTPUT_REGION, "replicas") != NULL);
    gsrt_verdict_fini(&v);
    w->regions[2].legal &= ~(uint32_t)GSRT_LEGAL_CHECKPOINT; /* its author does not want it copied */
    ck_assert_int_eq(gsrt_contract_judge(bitwise, w, fleet, d, NULL, 0, &v), GSRT_OK);
    ck_assert_str_eq(v.reason, GSRT_REASON_LEGAL);
    ck_assert_uint_eq(v.failing.region, 2);
    gsrt_verdict_fini(&v);
    (void)gsrt_deployment_free(d);

    /* The second stage alone is on engines without canonical kernels. */
    d = judged_deployment(w, fleet, "cpu", 2, GSRT_ALGORITHM_GATHER);
    d->pools[0].batch_max = 2;
    d->choices[3].arithmetic = GSRT_ARITHMETIC_NATIVE;
    ck_assert_int_eq(gsrt_contract_judge(bitwise, w, fleet, d, NULL, 0, &v), GSRT_OK);
    ck_assert_str_eq(v.reason, GSRT_REASON_CONTRACT_UNPROVEN);
    ck_assert_uint_eq(v.failing.region, 3);
    ck_assert(made(&v, 1, "batch")->is_proved && !made(&v, 3, "batch")->is_proved);
    ck_assert(!made(&v, 3, "split:gather")->is_proved);
    gsrt_verdict_fini(&v);
    (void)gsrt_deployment_free(d);
    (void)gsrt_contract_free(bitwise);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_workload_free(w);
}
END_TEST

/* What a choice means for a tensor, and for what products compute with. */
START_TEST(choices_narrow_matrices_of_whole_blocks)
{
    gsrt_workload *w = judged_workload(GSRT_DTYPE_F16);
    gsrt_region_choice q8 = {.weights = GSRT_DTYPE_Q8_0, .state_is_as_given = true};
    gsrt_region_choice as_given = {.weights_are_as_given = true, .state_is_as_given = true};
    const gsrt_op *ops = &w->ops[w->regions[1].op_first];
    ck_assert_int_eq(gsrt_choice_weights(&q8, w, &ops[0]), GSRT_DTYPE_F32);  /* a norm */
    ck_assert_int_eq(gsrt_choice_weights(&q8, w, &ops[1]), GSRT_DTYPE_Q8_0); /* q */
    ck_assert_int_eq(gsrt_choice_weights(&q8, w, &ops[6]), GSRT_DTYPE_F16);  /* down: 48 columns */
    ck_assert_int_eq(gsrt_choice_weights(&as_given, w, &ops[1]), GSRT_DTYPE_F16);
    ck_assert_int_eq(gsrt_region_compute(w, 1, &as_given), GSRT_FORMAT_F32);
    ck_assert_int_eq(gsrt_region_compute(w, 1, &q8), GSRT_FORMAT_I8);
    ck_assert_int_eq(gsrt_region_compute(w, EMBED_REGION, &q8), GSRT_FORMAT_F32); /* a lookup has no product */
    (void)gsrt_workload_free(w);
    /* What is quantised already is not quantised again. */
    w = judged_workload(GSRT_DTYPE_Q8_0);
    ck_assert_int_eq(gsrt_region_compute(w, 1, &as_given), GSRT_FORMAT_I8);
    gsrt_region_choice q4 = {.weights = GSRT_DTYPE_Q4_0, .state_is_as_given = true};
    ck_assert_int_eq(gsrt_choice_weights(&q4, w, &w->ops[w->regions[1].op_first + 1]), GSRT_DTYPE_Q8_0);
    (void)gsrt_workload_free(w);
}
END_TEST

/* ---- evidence ---- */

/* Evidence in the making: q8_0 weights in `regions`, and room for figures. */
typedef struct measured {
    char hash[40];
    gsrt_evidence_change changes[2];
    gsrt_evidence_figure figures[4];
    gsrt_evidence evidence;
} measured;

static void measure(measured *m, const gsrt_workload *w, const char *const *regions, uint32_t region_count,
                    gsrt_contract_kind statistic, const char *region, double upper)
{
    m->changes[0] =
        (gsrt_evidence_change){.transformation = "weights:f16->q8_0", .regions = regions, .region_count = region_count};
    m->figures[0] = (gsrt_evidence_figure){.statistic = statistic, .region = region, .measured = upper, .upper = upper};
    m->evidence = (gsrt_evidence){.workload_hash = judged_hash(w, m->hash),
                                  .changes = m->changes,
                                  .change_count = 1,
                                  .corpus = "/a.txt",
                                  .corpus_hash = "00000000000000000000000000000000",
                                  .sequence_count = 59,
                                  .position_count = 59,
                                  .confidence = 0.95,
                                  .coverage = 0.95,
                                  .method = "made up",
                                  .figures = m->figures,
                                  .figure_count = 1};
}

/* Judge, compare the reason (NULL: kept), and that the obligation says `says`. */
static gsrt_verdict expect(const gsrt_contract *c, const gsrt_workload *w, const gsrt_fleet *fleet,
                           const gsrt_deployment *d, const gsrt_evidence *evidence, size_t count, const char *reason,
                           const char *says)
{
    gsrt_verdict v;
    ck_assert_int_eq(gsrt_contract_judge(c, w, fleet, d, evidence, count, &v), GSRT_OK);
    ck_assert_msg(v.is_kept == (reason == NULL), "kept %d: %s: %s", v.is_kept, v.is_kept ? "" : v.constraint,
                  v.is_kept ? "" : v.obligation);
    if (reason != NULL) {
        ck_assert_str_eq(v.reason, reason);
        ck_assert_msg(strstr(v.obligation, says) != NULL, "'%s' instead of '%s'", v.obligation, says);
    }
    return v;
}

static void expect_only(const gsrt_contract *c, const gsrt_workload *w, const gsrt_fleet *fleet,
                        const gsrt_deployment *d, const gsrt_evidence *evidence, size_t count, const char *reason,
                        const char *says)
{
    gsrt_verdict v = expect(c, w, fleet, d, evidence, count, reason, says);
    gsrt_verdict_fini(&v);
}

static const char *const one_layer[] = {"layer.0"}, *const two_layers[] = {"layer.0", "layer.1"};
#define EVIDENCE GSRT_REASON_CONTRACT_EVIDENCE

START_TEST(evidence_is_of_exactly_what_is_done)
{
    gsrt_workload *w = judged_workload(GSRT_DTYPE_F16);
    gsrt_fleet *fleet = judged_fleet();
    gsrt_contract *c = judged_contract("[{regions: \"layer.*\", divergence: 0.01}]");
    gsrt_deployment *d = judged_deployment(w, fleet, "cpu", 1, GSRT_ALGORITHM_NONE);
    measured one, two;
    judged_narrow(d, w, 1, 2, GSRT_DTYPE_Q8_0);
    measure(&one, w, one_layer, 1, GSRT_CONTRACT_DIVERGENCE, NULL, 0.001);
    measure(&two, w, two_layers, 2, GSRT_CONTRACT_DIVERGENCE, NULL, 0.009);
    expect_only(c, w, fleet, d, NULL, 0, EVIDENCE, "evidence of exactly this deployment's 2 changes");
    expect_only(c, w, fleet, d, &one.evidence, 1, EVIDENCE, "exactly this deployment's 2 changes");
    expect_only(c, w, fleet, d, &two.evidence, 1, NULL, NULL);
    /* One layer less, and the evidence for both says nothing: errors can cancel each other. */
    d->choices[2] = d->choices[3];
    expect_only(c, w, fleet, d, &two.evidence, 1, EVIDENCE, "exactly this deployment's 1 change");
    expect_only(c, w, fleet, d, &one.evidence, 1, NULL, NULL);
    /* Another format, another workload. */
    judged_narrow(d, w, 1, 1, GSRT_DTYPE_Q4_0);
    expect_only(c, w, fleet, d, &one.evidence, 1, EVIDENCE, "exactly");
    judged_narrow(d, w, 1, 1, GSRT_DTYPE_Q8_0);
    one.hash[0] ^= 1;
    expect_only(c, w, fleet, d, &one.evidence, 1, EVIDENCE, "exactly");
    one.hash[0] ^= 1;
    /* The rest is bitwise: outside of the declared regions nothing is narrowed, whatever evidence there is. */
    static const char *const outside[] = {"layer.0", "output"};
    judged_narrow(d, w, OUTPUT_REGION, OUTPUT_REGION, GSRT_DTYPE_Q8_0);
    measure(&two, w, outside, 2, GSRT_CONTRACT_DIVERGENCE, NULL, 0.001);
    gsrt_verdict v = expect(c, w, fleet, d, &two.evidence, 1, GSRT_REASON_CONTRACT_NARROWED, "another rule");
    ck_assert_uint_eq(v.failing.region, OUTPUT_REGION);
    ck_assert_str_eq(v.constraint, "region 'output': weights:f16->q8_0 under bitwise");
    gsrt_verdict_fini(&v);
    (void)gsrt_deployment_free(d);
    (void)gsrt_contract_free(c);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_workload_free(w);
}
END_TEST

/* Each kind of rule: what its figure must be; a stronger statistic; what is too weak. */
START_TEST(every_kind_of_rule)
{
    static const struct row {
        const char *rule;
        gsrt_contract_kind statistic;
        const char *region;
        double upper;
        const char *reason, *says;
    } rows[] = {
        {"absolute_error: 0.5", GSRT_CONTRACT_ABSOLUTE_ERROR, NULL, 0.5, NULL, NULL},
        {"absolute_error: 0.5", GSRT_CONTRACT_ABSOLUTE_ERROR, NULL, 0.51, EVIDENCE, "0.51"},
        {"absolute_error: 0.5", GSRT_CONTRACT_DIVERGENCE, NULL, 0.0001, EVIDENCE, "a figure for absolute_error"},
        {"relative_error: 0.1", GSRT_CONTRACT_RELATIVE_ERROR, "layer.0", 0.1, NULL, NULL},
        {"relative_error: 0.1", GSRT_CONTRACT_RELATIVE_ERROR, "layer.1", 0.1, EVIDENCE, "of region 'layer.0'"},
        {"relative_error: 0.1", GSRT_CONTRACT_RELATIVE_ERROR, "layer.0", 0.11, EVIDENCE, "at most 0.1"},
        {"relative_error: 0.1", GSRT_CONTRACT_ABSOLUTE_ERROR, NULL, 0.001, EVIDENCE, "a figure for relative_error"},
        {"divergence: 0.02", GSRT_CONTRACT_DIVERGENCE, NULL, 0.02, NULL, NULL},
        {"divergence: 0.02", GSRT_CONTRACT_DIVERGENCE, NULL, 0.021, EVIDENCE, "at most 0.02"},
        {"divergence: 0.03125", GSRT_CONTRACT_ABSOLUTE_ERROR, NULL, 0.25, NULL, NULL}, /* 0.25^2 / 2 */
        {"divergence: 0.03125", GSRT_CONTRACT_ABSOLUTE_ERROR, NULL, 0.26, EVIDENCE, "upper limit is 0.0338"},
        {"divergence: 0.02", GSRT_CONTRACT_QUALITY, NULL, 1, EVIDENCE, "a figure for divergence"},
        {"divergence: 0.02, corpus: /a.txt", GSRT_CONTRACT_DIVERGENCE, NULL, 0.02, NULL, NULL},
        {"divergence: 0.02, corpus: /b.txt", GSRT_CONTRACT_DIVERGENCE, NULL, 0.02, EVIDENCE, "on its corpus"},
        {"divergence: 0.02, corpus: /b.txt", GSRT_CONTRACT_DIVERGENCE, NULL, 0.03, EVIDENCE,
         "was measured on '/a.txt'"},
        {"quality: 1.01, corpus: /a.txt", GSRT_CONTRACT_QUALITY, NULL, 1.01, NULL, NULL},
        {"quality: 1.01, corpus: /a.txt", GSRT_CONTRACT_QUALITY, NULL, 1.02, EVIDENCE, "at most 1.01"},
        {"quality: 1.01, corpus: /b.txt", GSRT_CONTRACT_QUALITY, NULL, 1.5, EVIDENCE, "on its corpus"},
        {"exact_paths: /a.txt", GSRT_CONTRACT_EXACT_PATHS, NULL, 0, NULL, NULL},
        {"exact_paths: /a.txt", GSRT_CONTRACT_EXACT_PATHS, NULL, 3, EVIDENCE, "3 was measured"},
        {"exact_paths: /b.txt", GSRT_CONTRACT_EXACT_PATHS, NULL, 0, EVIDENCE, "on its corpus"},
    };
    gsrt_workload *w = judged_workload(GSRT_DTYPE_F16);
    gsrt_fleet *fleet = judged_fleet();
    gsrt_deployment *d = judged_deployment(w, fleet, "cpu", 1, GSRT_ALGORITHM_NONE);
    judged_narrow(d, w, 1, 1, GSRT_DTYPE_Q8_0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128];
        measured m;
        (void)snprintf(text, sizeof text, "[{%s}]", rows[i].rule);
        gsrt_contract *c = judged_contract(text);
        measure(&m, w, one_layer, 1, rows[i].statistic, rows[i].region, rows[i].upper);
        expect_only(c, w, fleet, d, &m.evidence, 1, rows[i].reason, rows[i].says);
        /* What admits it would not, were it weaker: of fewer sequences, or less sure. */
        bool is_of_largest =
            rows[i].statistic != GSRT_CONTRACT_QUALITY && rows[i].statistic != GSRT_CONTRACT_EXACT_PATHS;
        m.evidence.coverage = 0.949;
        if (rows[i].reason == NULL)
            expect_only(c, w, fleet, d, &m.evidence, 1, is_of_largest ? EVIDENCE : NULL, "(59 sequences)");
        m.evidence.coverage = 0.95;
        m.evidence.confidence = 0.949;
        if (rows[i].reason == NULL)
            expect_only(c, w, fleet, d, &m.evidence, 1,
                        rows[i].statistic == GSRT_CONTRACT_EXACT_PATHS ? NULL : EVIDENCE, "(59 sequences)");
        (void)gsrt_contract_free(c);
    }
    (void)gsrt_deployment_free(d);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_workload_free(w);
}
END_TEST

/* Evidence for native kernels names the software; canonical kernels that nobody claims cannot be had by evidence. */
START_TEST(kernels_by_evidence)
{
    static const char *const all[] = {"embed", "layer.0", "layer.1", "layer.2", "output"};
    gsrt_workload *w = judged_workload(GSRT_DTYPE_F16);
    gsrt_fleet *fleet = judged_fleet();
    gsrt_contract *c = judged_contract("[{divergence: 0.01}]");
    gsrt_deployment *d = judged_deployment(w, fleet, "gpu", 1, GSRT_ALGORITHM_NONE);
    measured m;
    measure(&m, w, all, 5, GSRT_CONTRACT_DIVERGENCE, NULL, 0.001);
    m.changes[0].transformation = "kernels:unproven";
    expect_only(c, w, fleet, d, &m.evidence, 1, GSRT_REASON_CONTRACT_UNPROVEN, GSRT_CANONICAL_SOFTWARE);
    for (uint32_t r = 0; r < d->region_count; r++)
        d->choices[r].arithmetic = GSRT_ARITHMETIC_NATIVE;
    m.changes[0].transformation = "kernels:native:attention 3+driver 1.1";
    expect_only(c, w, fleet, d, &m.evidence, 1, EVIDENCE, "exactly");
    m.changes[0].transformation = "kernels:native:attention 3+driver 1.2";
    expect_only(c, w, fleet, d, &m.evidence, 1, NULL, NULL);
    d->pools[0].batch_max = 2; /* another batch is another order now */
    expect_only(c, w, fleet, d, &m.evidence, 1, EVIDENCE, "this deployment's 10 changes");
    (void)gsrt_deployment_free(d);
    (void)gsrt_contract_free(c);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_workload_free(w);
}
END_TEST

/* What the region's author says: what may be done to it at all, how far off it may be, that it chooses. */
START_TEST(the_author_is_heard)
{
    gsrt_workload *w = judged_workload(GSRT_DTYPE_F16);
    gsrt_fleet *fleet = judged_fleet();
    gsrt_contract *c = judged_contract("[{divergence: 0.01}]"), *loose = judged_contract("deterministic");
    gsrt_deployment *d = judged_deployment(w, fleet, "cpu", 1, GSRT_ALGORITHM_NONE);
    judged_narrow(d, w, 1, 1, GSRT_DTYPE_Q8_0);
    w->regions[1].error_relative_max = 0.25f;
    measured m;
    measure(&m, w, one_layer, 1, GSRT_CONTRACT_DIVERGENCE, NULL, 0.001);
    expect_only(loose, w, fleet, d, NULL, 0, GSRT_REASON_LEGAL, "exactly this deployment's 1 change");
    gsrt_verdict v = expect(c, w, fleet, d, &m.evidence, 1, GSRT_REASON_LEGAL, "relative_error of region 'layer.0'");
    ck_assert_uint_eq(v.rule, GSRT_NO_INDEX);
    ck_assert_str_eq(v.constraint, "region 'layer.0': weights:f16->q8_0 under error_relative_max 0.25");
    gsrt_verdict_fini(&v);
    m.figures[1] = (gsrt_evidence_figure){
        .statistic = GSRT_CONTRACT_RELATIVE_ERROR, .region = "layer.0", .measured = 0.2, .upper = 0.26};
    m.evidence.figure_count = 2;
    v = expect(c, w, fleet, d, &m.evidence, 1, GSRT_REASON_LEGAL, "upper limit is 0.26");
    gsrt_rejection rejection = gsrt_verdict_rejection(&v);
    ck_assert_double_eq(rejection.needed.value, 0.26);
    ck_assert_double_eq(rejection.available.value, 0.25);
    ck_assert(!rejection.change_to.is_known);
    gsrt_verdict_fini(&v);
    m.figures[1].upper = 0.25;
    expect_only(c, w, fleet, d, &m.evidence, 1, NULL, NULL);
    expect_only(loose, w, fleet, d, &m.evidence, 1, NULL, NULL);
    w->regions[1].legal &= ~(uint32_t)GSRT_LEGAL_QUANTISE_WEIGHTS;
    expect_only(c, w, fleet, d, &m.evidence, 1, GSRT_REASON_LEGAL, "author");
    w->regions[1].legal |= GSRT_LEGAL_QUANTISE_WEIGHTS;
    w->regions[1].is_deterministic = false;
    expect_only(loose, w, fleet, d, &m.evidence, 1, GSRT_REASON_CONTRACT_UNPROVEN, "another rule");
    w->regions[1].is_deterministic = true;
    /* A region that chooses: no bound on its error bounds what the choice does. The output is the answer itself. */
    (void)gsrt_contract_free(c);
    c = judged_contract("[{relative_error: 0.3}]");
    expect_only(c, w, fleet, d, &m.evidence, 1, NULL, NULL);
    w->regions[1].sensitivity = GSRT_SENSITIVITY_CHOICE;
    expect_only(c, w, fleet, d, &m.evidence, 1, EVIDENCE, "the region chooses");
    (void)gsrt_contract_free(c);
    (void)gsrt_contract_free(loose);
    (void)gsrt_deployment_free(d);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_workload_free(w);
}
END_TEST

/* Attention in parts is admitted by evidence of just that, in the layers that attend; and taken back without. */
START_TEST(context_in_parts)
{
    static const char *const layers[] = {"layer.0", "layer.1", "layer.2"};
    gsrt_workload *w = judged_workload(GSRT_DTYPE_F16);
    gsrt_fleet *fleet = judged_fleet();
    gsrt_contract *c = judged_contract("[{divergence: 0.01}]");
    gsrt_deployment *d = judged_deployment(w, fleet, "cpu", 2, GSRT_ALGORITHM_GATHER);
    gsrt_verdict v;
    uint32_t count;
    measured m;
    measure(&m, w, layers, 3, GSRT_CONTRACT_DIVERGENCE, NULL, 0.001);
    m.changes[0].transformation = "split:context";
    stage_of(d)->context_width = 2;
    expect_only(c, w, fleet, d, NULL, 0, EVIDENCE, "exactly");
    expect_only(c, w, fleet, d, &m.evidence, 1, NULL, NULL);
    w->regions[1].legal &= ~(uint32_t)GSRT_LEGAL_REORDER;
    expect_only(c, w, fleet, d, &m.evidence, 1, GSRT_REASON_LEGAL, "author");
    ck_assert_int_eq(gsrt_contract_disable(c, w, fleet, d, NULL, 0, &v, &count), GSRT_OK);
    ck_assert(v.is_kept && count == 3 && stage_of(d)->context_width == 1);
    gsrt_verdict_fini(&v);
    (void)gsrt_deployment_free(d);
    (void)gsrt_contract_free(c);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_workload_free(w);
}
END_TEST

START_TEST(experts_apart)
{
    gsrt_workload *w;
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_workload_read(gsrt_span_of_text(made_workload), "made", &w, &diag) == GSRT_OK, "%s", diag.text);
    gsrt_fleet *fleet = judged_fleet();
    gsrt_contract *bitwise = gsrt_contract_bitwise();
    gsrt_deployment *d = judged_deployment(w, fleet, "cpu", 2, GSRT_ALGORITHM_GATHER);
    stage_of(d)->expert_width = 2;
    gsrt_verdict v = expect(bitwise, w, fleet, d, NULL, 0, NULL, NULL);
    ck_assert(made(&v, 1, "split:experts")->is_proved && made(&v, 0, "split:experts") == NULL);
    gsrt_verdict_fini(&v);
    w->regions[1].legal &= ~(uint32_t)GSRT_LEGAL_SPLIT_EXPERTS;
    expect_only(bitwise, w, fleet, d, NULL, 0, GSRT_REASON_LEGAL, "author");
    (void)gsrt_deployment_free(d);
    (void)gsrt_contract_free(bitwise);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_workload_free(w);
}
END_TEST

/* The smallest bound that would do really does, and one smaller by 1 % does not. */
START_TEST(the_smallest_change_is_one)
{
    gsrt_workload *w = judged_workload(GSRT_DTYPE_F16);
    gsrt_fleet *fleet = judged_fleet();
    gsrt_deployment *d = judged_deployment(w, fleet, "cpu", 1, GSRT_ALGORITHM_NONE);
    judged_narrow(d, w, 1, 2, GSRT_DTYPE_Q8_0);
    measured m;
    measure(&m, w, two_layers, 2, GSRT_CONTRACT_RELATIVE_ERROR, "layer.0", 0.2);
    m.figures[1] = (gsrt_evidence_figure){
        .statistic = GSRT_CONTRACT_RELATIVE_ERROR, .region = "layer.1", .measured = 0.3, .upper = 0.4};
    m.evidence.figure_count = 2;
    gsrt_contract *c = judged_contract("[{relative_error: 0.1}]");
    gsrt_verdict v = expect(c, w, fleet, d, &m.evidence, 1, EVIDENCE, "0.2 was measured on '/a.txt'");
    gsrt_rejection rejection = gsrt_verdict_rejection(&v);
    ck_assert_double_eq(rejection.needed.value, 0.2);
    ck_assert_double_eq(rejection.available.value, 0.1);
    ck_assert(rejection.change_to.is_known);
    ck_assert_double_eq(rejection.change_to.value, 0.4);
    gsrt_verdict_fini(&v);
    (void)gsrt_contract_free(c);
    c = judged_contract("[{relative_error: 0.4}]");
    expect_only(c, w, fleet, d, &m.evidence, 1, NULL, NULL);
    (void)gsrt_contract_free(c);
    c = judged_contract("[{relative_error: 0.396}]");
    expect_only(c, w, fleet, d, &m.evidence, 1, EVIDENCE, "upper limit is 0.4");
    (void)gsrt_contract_free(c);
    /* Where another rule fails too, no bound of this one helps. */
    c = judged_contract("[{relative_error: 0.1}, {regions: layer.1, divergence: 1}]");
    v = expect(c, w, fleet, d, &m.evidence, 1, EVIDENCE, "");
    ck_assert(!gsrt_verdict_rejection(&v).change_to.is_known);
    gsrt_verdict_fini(&v);
    (void)gsrt_contract_free(c);
    (void)gsrt_deployment_free(d);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_workload_free(w);
}
END_TEST

/* ---- a violation, and what is left ---- */

START_TEST(a_violation_disables_and_the_fallback_is_verified)
{
    gsrt_workload *w = judged_workload(GSRT_DTYPE_F16);
    gsrt_fleet *fleet = judged_fleet();
    gsrt_contract *c = judged_contract("[{regions: \"layer.*\", divergence: 0.01}]");
    gsrt_deployment *d = judged_deployment(w, fleet, "cpu", 2, GSRT_ALGORITHM_GATHER);
    measured m[3];
    measure(&m[0], w, one_layer, 1, GSRT_CONTRACT_DIVERGENCE, NULL, 0.002);
    measure(&m[1], w, two_layers, 2, GSRT_CONTRACT_DIVERGENCE, NULL, 0.008);
    const gsrt_evidence before[] = {m[0].evidence, m[1].evidence};
    ck_assert(gsrt_evidence_choose(&before[1], w, d->choices));
    ck_assert_int_eq(d->choices[2].weights, GSRT_DTYPE_Q8_0);
    ck_assert_int_eq(d->choices[2].compute, GSRT_FORMAT_I8);
    ck_assert(d->choices[3].weights_are_as_given);
    expect_only(c, w, fleet, d, before, 2, NULL, NULL);

    /* In use more is seen than the bound: one weak look is enough. */
    measure(&m[2], w, two_layers, 2, GSRT_CONTRACT_DIVERGENCE, NULL, 0.02);
    m[2].evidence.corpus = "traffic";
    m[2].evidence.sequence_count = 1;
    m[2].evidence.position_count = 1;
    m[2].evidence.coverage = m[2].evidence.confidence = 0.05;
    const gsrt_evidence after[] = {m[0].evidence, m[1].evidence, m[2].evidence};
    expect_only(c, w, fleet, d, after, 3, EVIDENCE, "0.02 was measured on 'traffic'");
    gsrt_verdict v;
    uint32_t count = 0;
    ck_assert_int_eq(gsrt_contract_disable(c, w, fleet, d, after, 3, &v, &count), GSRT_OK);
    ck_assert(v.is_kept);
    ck_assert_uint_eq(count, 1);
    ck_assert(!d->choices[1].weights_are_as_given && d->choices[2].weights_are_as_given); /* the first is verified */
    ck_assert_int_eq(d->choices[2].compute, GSRT_FORMAT_F32);
    gsrt_verdict_fini(&v);

    /* Nothing is known of the first layer alone: all as given. */
    ck_assert(gsrt_evidence_choose(&before[1], w, d->choices));
    ck_assert_int_eq(gsrt_contract_disable(c, w, fleet, d, after + 1, 2, &v, &count), GSRT_OK);
    ck_assert(v.is_kept);
    ck_assert_uint_eq(count, 2);
    ck_assert(d->choices[1].weights_are_as_given && d->choices[2].weights_are_as_given);
    gsrt_verdict_fini(&v);

    /* Everything at once, under bitwise: kernels, reductions, keys and values, activations. */
    (void)gsrt_contract_free(c);
    c = gsrt_contract_bitwise();
    judged_narrow(d, w, 0, OUTPUT_REGION, GSRT_DTYPE_Q4_0);
    stage_of(d)->algorithm = GSRT_ALGORITHM_RING;
    d->choices[1].arithmetic = GSRT_ARITHMETIC_NATIVE;
    d->choices[2].compute = GSRT_FORMAT_F4;
    kv_f16(d, w, fleet);
    ck_assert_int_eq(gsrt_contract_disable(c, w, fleet, d, NULL, 0, &v, &count), GSRT_OK);
    ck_assert(v.is_kept);
    ck_assert_uint_gt(count, 8);
    ck_assert_int_eq(stage_of(d)->algorithm, GSRT_ALGORITHM_GATHER);
    ck_assert_int_eq(d->choices[1].arithmetic, GSRT_ARITHMETIC_CANONICAL);
    ck_assert(d->choices[1].state_is_as_given && d->choices[OUTPUT_REGION].weights_are_as_given);
    gsrt_verdict_fini(&v);

    /* Engines without canonical kernels: nothing can be taken back, and the verdict says why. */
    stage_of(d)->members[0].part = gsrt_fleet_part_named(fleet, "gpu");
    ck_assert_int_eq(gsrt_contract_disable(c, w, fleet, d, NULL, 0, &v, &count), GSRT_OK);
    ck_assert(!v.is_kept);
    ck_assert_uint_eq(count, 0);
    ck_assert_str_eq(v.reason, GSRT_REASON_CONTRACT_UNPROVEN);
    gsrt_verdict_fini(&v);
    (void)gsrt_deployment_free(d);
    (void)gsrt_contract_free(c);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_workload_free(w);
}
END_TEST

START_TEST(evidence_that_is_no_choice)
{
    gsrt_workload *w = judged_workload(GSRT_DTYPE_F16);
    gsrt_region_choice choices[JUDGED_LAYERS + 2];
    static const char *const nowhere[] = {"layer.9"};
    measured m;
    measure(&m, w, one_layer, 1, GSRT_CONTRACT_DIVERGENCE, NULL, 0.1);
    m.changes[1] = (gsrt_evidence_change){.transformation = "kv:f32->bf16", .regions = two_layers, .region_count = 2};
    m.evidence.change_count = 2;
    ck_assert(gsrt_evidence_choose(&m.evidence, w, choices));
    ck_assert(choices[1].weights == GSRT_DTYPE_Q8_0 && choices[1].state == GSRT_DTYPE_BF16);
    ck_assert(choices[2].weights_are_as_given && choices[2].state == GSRT_DTYPE_BF16);
    m.changes[1].transformation = "compute:i8->i4";
    m.changes[1].region_count = 1;
    ck_assert(gsrt_evidence_choose(&m.evidence, w, choices));
    ck_assert_int_eq(choices[1].compute, GSRT_FORMAT_I4);
    static const char *const wrong[] = {"reduce:ring", "weights:f16", "weights:f16->q9", "kv:f16->",
                                        "compute:f32->q8_0"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        m.changes[1].transformation = wrong[i];
        ck_assert_msg(!gsrt_evidence_choose(&m.evidence, w, choices), "%s", wrong[i]);
    }
    m.changes[1].transformation = "kv:f32->f16";
    m.changes[1].regions = nowhere;
    ck_assert(!gsrt_evidence_choose(&m.evidence, w, choices));
    (void)gsrt_workload_free(w);
}
END_TEST

START_TEST(the_registry_is_whole)
{
    for (int kind = 0; kind < GSRT_TRANSFORMATION_KIND_COUNT; kind++) {
        const gsrt_transformation_facts *f = gsrt_transformation_of((gsrt_transformation_kind)kind);
        ck_assert(f->name != NULL && f->obligation != NULL && f->because != NULL && strlen(f->because) > 20);
        ck_assert_ptr_nonnull(gsrt_effect_class_word(f->effect));
        ck_assert(!f->needs_canonical || f->effect == GSRT_EFFECT_EXACT);
        for (int other = 0; other < kind; other++)
            ck_assert_str_ne(f->name, gsrt_transformation_of((gsrt_transformation_kind)other)->name);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {documents_read_back,
                            documents_are_refused,
                            the_last_rule_that_matches_holds,
                            every_transformation_has_its_effect_and_reason,
                            pools_stages_and_lost_proofs,
                            choices_narrow_matrices_of_whole_blocks,
                            evidence_is_of_exactly_what_is_done,
                            every_kind_of_rule,
                            kernels_by_evidence,
                            the_author_is_heard,
                            context_in_parts,
                            experts_apart,
                            the_smallest_change_is_one,
                            a_violation_disables_and_the_fallback_is_verified,
                            evidence_that_is_no_choice,
                            the_registry_is_whole};
    return unit_run("contract", tests, sizeof tests / sizeof tests[0]);
}
