/* The watch, with a thread of its own and without: what it compares, what it leaves out, what it calls a violation, and
 * that the fallback is what the judge leaves. On a tiny model whose layer 0 is narrowed to q8_0. */
#include "launch/watch.h"

#include "backends/numerics.h"
#include "model/narrowed.h"
#include "model/validate.h"
#include "placement/evidence.h"
#include "placement/plan_choices.h"
#include "placement/workload_text.h"
#include "tests/launch/scratch.h"
#include "tests/model/opened_llama.h"
#include "tests/unit.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROMPT = 5, KNOWN = 3, POSITIONS = PROMPT + KNOWN, VOCAB = 67, TEXT_BYTES = 2048 };

static uint32_t prompt[PROMPT] = {3, 1, 4, 1, 5}, tokens[4] = {9, 2, 6, 5};

typedef struct site {
    opened_llama model;
    gsrt_loaded loaded;
    gsrt_scenario *scenario;
    gsrt_plan *plan;
    gsrt_answer answer;
    gsrt_answers answers;
    float rows[POSITIONS][VOCAB]; /* as narrowed weights give them */
    double largest;               /* divergence of these */
    scratch_directory scratch;
    const char *evidence; /* the file that the watch adds to */
} site;

static void run_passes(site *s)
{
    gsrt_reference *plain, *changed;
    gsrt_narrowed *narrowed;
    gsrt_region_choice *choices = calloc(s->model.workload->region_count, sizeof *choices);
    ck_assert_ptr_nonnull(choices);
    gsrt_plan_choices(s->plan, s->model.workload, choices);
    ck_assert_int_eq(gsrt_narrowed_create(s->model.weights, choices, &narrowed), GSRT_OK);
    ck_assert_int_eq(gsrt_reference_create(s->model.weights, POSITIONS, &plain), GSRT_OK);
    ck_assert_int_eq(gsrt_reference_create(s->model.weights, POSITIONS, &changed), GSRT_OK);
    gsrt_narrowed_apply(narrowed, changed);
    for (uint32_t p = 0; p < POSITIONS; p++) {
        const float *a, *b;
        double divergence, absolute;
        uint32_t token = p < PROMPT ? prompt[p] : tokens[p - PROMPT];
        ck_assert_int_eq(gsrt_reference_step(plain, token, p, &a), GSRT_OK);
        ck_assert_int_eq(gsrt_reference_step(changed, token, p, &b), GSRT_OK);
        gsrt_validate_compare(a, b, VOCAB, &divergence, &absolute);
        s->largest = divergence > s->largest ? divergence : s->largest;
        memcpy(s->rows[p], b, sizeof s->rows[p]);
    }
    ck_assert_double_gt(s->largest, 0);
    gsrt_reference_free(plain);
    gsrt_reference_free(changed);
    gsrt_narrowed_free(narrowed);
    free(choices);
}

/* What admits it, in a file. */
static void write_evidence(site *s)
{
    static const char *const regions[] = {"layer.0"};
    const gsrt_evidence_change change = {"weights:f32->q8_0", regions, 1};
    const gsrt_evidence_figure figure = {
        .statistic = GSRT_CONTRACT_DIVERGENCE, .measured = s->largest, .upper = s->largest};
    char workload[33], weights[33];
    gsrt_workload_hash hash;
    gsrt_evidence_list list;
    gsrt_buffer text;
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_workload_hash_of(s->model.workload, &hash), GSRT_OK);
    (void)snprintf(workload, sizeof workload, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
    gsrt_validate_hash_weights(s->model.weights, weights);
    const gsrt_evidence item = {.workload_hash = workload,
                                .weights_hash = weights,
                                .changes = &change,
                                .change_count = 1,
                                .corpus = "text",
                                .corpus_hash = weights,
                                .sequence_count = 60,
                                .position_count = 60,
                                .confidence = 0.95,
                                .coverage = 0.95,
                                .method = "made up",
                                .figures = &figure,
                                .figure_count = 1};
    gsrt_evidence_list_init(&list);
    gsrt_buffer_init(&text, 1 << 16);
    ck_assert_msg(gsrt_evidence_list_add(&list, &item, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_int_eq(gsrt_evidence_list_print(&list, &text), GSRT_OK);
    s->scratch = scratch_make();
    int descriptor = scratch_open(&s->scratch, "evidence.json");
    ck_assert(write(descriptor, text.data, text.len) == (ssize_t)text.len && close(descriptor) == 0);
    gsrt_buffer_fini(&text);
    gsrt_evidence_list_fini(&list);
}

static void read_scenario(site *s)
{
    char text[TEXT_BYTES];
    gsrt_diag diag = {0};
    (void)snprintf(
        text, sizeof text,
        "{gsrt: 1, name: w, workload: {model: m, requests: [{prompt_tokens: [3, 1, 4, 1, 5], max_tokens: 4}, "
        "{prompt_tokens: [3], max_tokens: 4}]}, contract: [{regions: layer.0, divergence: %.17g}], "
        "evidence: %s/evidence.json, watch: 2, plan: {stages: [{layers: [0, 1], ranks: [0]}], narrowed: [{region: "
        "layer.0, weights: q8_0}]}}",
        1.5 * s->largest, s->scratch.path);
    gsrt_status status = gsrt_scenario_read_span(gsrt_span_of_text(text), "s.yaml", NULL, 0, &s->scenario, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
}

static site open_site(void)
{
    const gsrt_plan_narrowed layer = {GSRT_PLAN_LAYER, GSRT_DTYPE_Q8_0};
    uint32_t shares[] = {1};
    uint32_t mxcsr = gsrt_mxcsr_set();
    site s = {.model = open_llama(&tiny_of_four_chunks)};
    s.plan = plan_of_one_stage(&s.model, shares, 1, GSRT_EXCHANGE_AUTO);
    ck_assert_int_eq(gsrt_plan_narrow(s.plan, &layer, 1), GSRT_OK);
    run_passes(&s);
    write_evidence(&s);
    read_scenario(&s);
    s.evidence = s.scenario->planning.evidence;
    gsrt_mxcsr_restore(mxcsr);
    return s;
}

/* Pointers to what the site holds, where it lies for good. */
static gsrt_watch *start(site *s, bool is_inline)
{
    gsrt_watch *watch;
    s->loaded = (gsrt_loaded){.gguf = s->model.gguf, .workload = s->model.workload, .weights = s->model.weights};
    s->answer = (gsrt_answer){
        .prompt = prompt, .prompt_count = PROMPT, .tokens = tokens, .token_count = KNOWN, .max_tokens = 4};
    s->answers = (gsrt_answers){.scenario = s->scenario, .loaded = &s->loaded, .items = &s->answer};
    gsrt_watch_options options = {.scenario = s->scenario,
                                  .loaded = &s->loaded,
                                  .answers = &s->answers,
                                  .plan = s->plan,
                                  .evidence = s->evidence,
                                  .rank_count = 1,
                                  .is_inline = is_inline};
    ck_assert_int_eq(gsrt_watch_create(&options, &watch), GSRT_OK);
    return watch;
}

static void close_site(site *s)
{
    scratch_remove(&s->scratch);
    (void)gsrt_plan_free(s->plan);
    (void)gsrt_scenario_free(s->scenario);
    close_llama(&s->model);
}

/* Rows [first, end) of request 0, and beside each one of request 1, which nobody watches. */
static void give(gsrt_watch *watch, const site *s, uint32_t first, uint32_t end)
{
    uint32_t requests[2 * POSITIONS], positions[2 * POSITIONS], count = 0;
    gsrt_payload *payload = gsrt_payload_create(2 * (end - first) * sizeof s->rows[0]);
    ck_assert_ptr_nonnull(payload);
    for (uint32_t p = first; p < end; p++) {
        for (uint32_t request = 0; request < 2; request++, count++) {
            memcpy(payload->data + count * sizeof s->rows[0], s->rows[p], sizeof s->rows[0]);
            requests[count] = request;
            positions[count] = p;
        }
    }
    gsrt_msg_logits message = {
        .requests = requests, .requests_count = count, .positions = positions, .positions_count = count};
    gsrt_watch_logits(watch, &message, payload);
    gsrt_payload_unref(payload);
    while (gsrt_watch_is_busy(watch))
        (void)sched_yield();
}

static void check(bool is_inline)
{
    site s = open_site();
    gsrt_watch *watch = start(&s, is_inline);
    gsrt_watch_facts facts;
    gsrt_violation_seen seen;
    gsrt_diag diag = {0};
    gsrt_buffer evidence;
    ck_assert(gsrt_watch_wants(watch, 0) && !gsrt_watch_wants(watch, 1) && !gsrt_watch_wants(NULL, 0));
    give(watch, &s, 0, 2);
    give(watch, &s, 4, POSITIONS - 1); /* what is left out is run through all the same */
    give(watch, &s, 0, 3);             /* again, in another view: once is enough */
    gsrt_watch_read(watch, &facts);
    ck_assert_uint_eq(facts.position_count, 5);
    ck_assert(facts.divergence > 0 && facts.divergence <= s.largest && facts.left_out == 0);
    ck_assert_double_eq(facts.divergence_bound, 1.5 * s.largest);
    ck_assert(facts.absolute_error_bound < 0 && facts.unwatched[0] == 0);
    ck_assert(!gsrt_watch_violated(watch, &seen));
    s.answer.token_count = KNOWN - 1; /* a row whose token nobody knows yet */
    give(watch, &s, POSITIONS - 1, POSITIONS);
    gsrt_watch_read(watch, &facts);
    ck_assert_uint_eq(facts.left_out, 1);
    s.answer.token_count = KNOWN;
    s.rows[POSITIONS - 1][7] += 50;
    give(watch, &s, POSITIONS - 1, POSITIONS);
    ck_assert(gsrt_watch_violated(watch, &seen));
    ck_assert(strcmp(seen.statistic, "divergence") == 0 && seen.seen > seen.bound && seen.bound == 1.5 * s.largest);
    ck_assert(seen.request == 0 && seen.position == POSITIONS - 1);
    gsrt_buffer_init(&evidence, 1 << 16);
    ck_assert_msg(gsrt_watch_disable(watch, &seen, s.plan, &evidence, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_uint_eq(s.plan->narrowed_count, 0);
    ck_assert_int_eq(gsrt_buffer_append(&evidence, "", 1), GSRT_OK);
    ck_assert_ptr_nonnull(strstr((const char *)evidence.data, "in use: w, request 0"));
    gsrt_buffer_fini(&evidence);
    (void)gsrt_watch_free(watch);
    close_site(&s);
}

static uint32_t count_of(const gsrt_buffer *text, const char *word)
{
    uint32_t count = 0;
    for (const char *at = (const char *)text->data; (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

/* A second violation of a run is added to the evidence of the first. */
START_TEST(violated_again)
{
    site s = open_site();
    char path[300];
    for (uint32_t turn = 1; turn <= 2; turn++) {
        const gsrt_plan_narrowed layer = {GSRT_PLAN_LAYER, GSRT_DTYPE_Q8_0};
        const gsrt_violation_seen seen = {"divergence", 2 * s.largest, 1.5 * s.largest, 0, turn};
        gsrt_diag diag = {0};
        gsrt_buffer evidence;
        gsrt_buffer_init(&evidence, 1 << 16);
        ck_assert_int_eq(gsrt_plan_narrow(s.plan, &layer, 1), GSRT_OK);
        gsrt_watch *watch = start(&s, true);
        ck_assert_msg(gsrt_watch_disable(watch, &seen, s.plan, &evidence, &diag) == GSRT_OK, "%s", diag.text);
        (void)gsrt_watch_free(watch);
        int descriptor = scratch_open(&s.scratch, turn == 1 ? "first.json" : "second.json");
        ck_assert(write(descriptor, evidence.data, evidence.len) == (ssize_t)evidence.len && close(descriptor) == 0);
        (void)snprintf(path, sizeof path, "%s/%s.json", s.scratch.path, turn == 1 ? "first" : "second");
        s.evidence = path;
        ck_assert_int_eq(gsrt_buffer_append(&evidence, "", 1), GSRT_OK);
        ck_assert_uint_eq(count_of(&evidence, "in use: w, request"), turn);
        gsrt_buffer_fini(&evidence);
    }
    close_site(&s);
}
END_TEST

START_TEST(with_a_thread)
{
    check(false);
}
END_TEST

START_TEST(at_once)
{
    check(true);
}
END_TEST

/* Freed while rows wait: nothing is lost, nobody is waited for in vain. */
START_TEST(freed_in_the_middle)
{
    site s = open_site();
    for (int i = 0; i < 8; i++) {
        gsrt_watch *watch = start(&s, false);
        gsrt_payload *payload = gsrt_payload_create(sizeof s.rows);
        uint32_t requests[POSITIONS] = {0}, positions[POSITIONS];
        ck_assert_ptr_nonnull(payload);
        memcpy(payload->data, s.rows, sizeof s.rows);
        for (uint32_t p = 0; p < POSITIONS; p++)
            positions[p] = p;
        gsrt_msg_logits message = {
            .requests = requests, .requests_count = POSITIONS, .positions = positions, .positions_count = POSITIONS};
        gsrt_watch_logits(watch, &message, payload);
        gsrt_payload_unref(payload);
        ck_assert_ptr_null(gsrt_watch_free(watch));
    }
    close_site(&s);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {with_a_thread, at_once, violated_again, freed_in_the_middle};
    return unit_run("watch", tests, sizeof tests / sizeof tests[0]);
}
