/* Two leaders and one tokens.jsonl: the one before may emit until its lease has run out, and the next one has been
 * chosen already. Each index is in the file once, whoever wrote it. */
#include "launch/outcome.h"

#include "tests/launch/scratch.h"
#include "tests/unit.h"

static const char SCENARIO[] = "gsrt: 1\n"
                               "name: two-leaders\n"
                               "workload:\n"
                               "  model: %s/models/tiny.gguf\n"
                               "  requests: [{prompt_tokens: [1, 2], max_tokens: 8, ignore_eos: true}]\n"
                               "plan: {stages: [{layers: [0, 4], ranks: [0]}]}\n";

typedef struct leader {
    gsrt_outcome outcome;
    uint32_t new_count, again_count; /* tokens that the sink has taken, or had */
} leader;

static scratch_directory scratch;
static gsrt_options options;
static gsrt_scenario *scenario;
static gsrt_loaded loaded;
static gsrt_terminal_options terminal;
static char directory[300];

static void count_token(void *arg, const gsrt_msg_token *token, bool is_new)
{
    leader *l = arg;
    (void)token;
    l->new_count += is_new;
    l->again_count += !is_new;
}

static void read_all(void)
{
    char text[1024], path[300];
    const char *source = getenv("GSRT_SRCDIR");
    gsrt_diag diag = {0};
    scratch = scratch_make();
    (void)snprintf(path, sizeof path, "%s/scenario.yaml", scratch.path);
    (void)snprintf(text, sizeof text, SCENARIO, source == NULL ? "." : source);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_msg(gsrt_scenario_read(path, NULL, 0, &scenario, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_loaded_open(scenario->model, true, &loaded, &diag) == GSRT_OK, "%s", diag.text);
    (void)snprintf(directory, sizeof directory, "%s/run", scratch.path);
    options = (gsrt_options){.directory = directory, .is_quiet = true};
    terminal.out = terminal.err = fopen("/dev/null", "w");
    ck_assert_ptr_nonnull(terminal.out);
}

static void close_all(void)
{
    gsrt_loaded_close(&loaded);
    gsrt_scenario_free(scenario);
    (void)fclose(terminal.out);
    scratch_remove(&scratch);
}

static void begin(leader *l)
{
    gsrt_diag diag = {0};
    *l = (leader){.outcome = {.options = &options,
                              .scenario = scenario,
                              .loaded = &loaded,
                              .is_twin = true,
                              .terminal_options = &terminal,
                              .rank_count = 1}};
    ck_assert_int_eq(gsrt_outcome_prepare(&l->outcome, &diag), GSRT_OK);
    l->outcome.answers.on_token = count_token;
    l->outcome.answers.on_token_arg = l;
}

static void open_view(leader *l, uint32_t epoch, const char *path)
{
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_outcome_open(&l->outcome, epoch, path, &diag) == GSRT_OK, "%s", diag.text);
}

static void begin_emitting(leader *l)
{
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_outcome_begin_emitting(&l->outcome, &diag) == GSRT_OK, "%s", diag.text);
}

static gsrt_status emit(leader *l, uint32_t index)
{
    gsrt_diag diag = {0};
    gsrt_msg_token token = {.index = index, .token = 5 + index, .hash_low = index, .hash_high = 7};
    return gsrt_answers_token(&l->outcome.answers, &token, 1000 + 10 * index, &diag);
}

START_TEST(what_the_one_before_emits_late_is_not_emitted_again)
{
    leader before, next;
    read_all();
    begin(&before);
    begin(&next);
    open_view(&before, 1, NULL);
    begin_emitting(&before);
    ck_assert_int_eq(emit(&before, 0), GSRT_OK);
    open_view(&next, 2, directory);
    ck_assert_uint_eq(next.outcome.answers.items[0].token_count, 1);
    ck_assert_int_eq(emit(&before, 1), GSRT_OK); /* its lease has not run out */
    open_view(&next, 3, directory);              /* still nothing may be emitted, and another view begins */
    ck_assert_int_eq(emit(&before, 2), GSRT_OK);
    begin_emitting(&next);
    ck_assert_uint_eq(next.outcome.answers.items[0].token_count, 3);
    for (uint32_t index = 0; index < 5; index++) /* its steps begin from what it saw at first */
        ck_assert_int_eq(emit(&next, index), GSRT_OK);
    ck_assert_uint_eq(next.again_count, 3);
    ck_assert_uint_eq(next.new_count, 2);
    const gsrt_answer *answer = &next.outcome.answers.items[0]; /* timed: what it has emitted itself */
    ck_assert_uint_eq(answer->first_timed, 3);
    ck_assert(answer->first_ns == 1030 && answer->last_ns == 1040);
    open_view(&next, 4, directory); /* it goes on: nobody else can have emitted */
    begin_emitting(&next);
    ck_assert_int_eq(emit(&next, 5), GSRT_OK);
    gsrt_outcome_fini(&before.outcome);
    gsrt_outcome_fini(&next.outcome);

    char *text = scratch_read(&scratch, "run/tokens.jsonl", NULL);
    uint32_t lines = 0;
    for (const char *at = text; *at != 0; at = strchr(at, '\n') + 1) {
        char wanted[64];
        (void)snprintf(wanted, sizeof wanted, "{\"request\":0,\"index\":%u,", lines++);
        ck_assert_msg(strncmp(at, wanted, strlen(wanted)) == 0, "'%.40s' is not '%s'", at, wanted);
    }
    ck_assert_uint_eq(lines, 6);
    free(text);
    close_all();
}
END_TEST

START_TEST(an_answer_that_was_ended_late_has_ended)
{
    leader before, next;
    read_all();
    begin(&before);
    begin(&next);
    open_view(&before, 1, NULL);
    begin_emitting(&before);
    open_view(&next, 2, directory);
    for (uint32_t index = 0; index < 8; index++)
        ck_assert_int_eq(emit(&before, index), GSRT_OK);
    ck_assert_uint_eq(next.outcome.answers.finished_count, 0);
    begin_emitting(&next);
    ck_assert_uint_eq(next.outcome.answers.finished_count, 1);
    gsrt_outcome_fini(&before.outcome);
    gsrt_outcome_fini(&next.outcome);
    close_all();
}
END_TEST

START_TEST(a_budget_that_was_exceeded_late_is_known)
{
    leader before, next;
    gsrt_diag diag = {0};
    gsrt_buffer json;
    read_all();
    begin(&before);
    begin(&next);
    open_view(&before, 1, NULL);
    begin_emitting(&before);
    open_view(&next, 2, directory);
    const gsrt_violation_seen seen = {"divergence", 2, 1, 0, 3};
    gsrt_eras *eras = &before.outcome.answers.eras; /* its lease has not run out, and its watch sees something */
    ck_assert_int_eq(gsrt_eras_add(eras, 1, &seen, scenario->plan), GSRT_OK);
    gsrt_buffer_init(&json, 1 << 16);
    ck_assert_int_eq(gsrt_eras_print(eras, &json), GSRT_OK);
    ck_assert_int_eq(
        gsrt_run_directory_write(before.outcome.directory, "narrowed.json", gsrt_buffer_span(&json), &diag), GSRT_OK);
    gsrt_buffer_fini(&json);
    ck_assert_int_eq(gsrt_outcome_begin_emitting(&next.outcome, &diag), GSRT_ESTALE);
    ck_assert_uint_eq(next.outcome.answers.eras.count, 2);
    open_view(&next, 3, directory); /* with what is left */
    begin_emitting(&next);
    ck_assert(gsrt_eras_last(&next.outcome.answers.eras)->has_begun);
    gsrt_outcome_fini(&before.outcome);
    gsrt_outcome_fini(&next.outcome);
    close_all();
}
END_TEST

int main(void)
{
    const TTest *tests[] = {what_the_one_before_emits_late_is_not_emitted_again,
                            an_answer_that_was_ended_late_has_ended, a_budget_that_was_exceeded_late_is_known};
    return unit_run("outcome", tests, sizeof tests / sizeof tests[0]);
}
