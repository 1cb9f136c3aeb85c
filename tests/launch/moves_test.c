/* Moves on the leader: when they are due, which are refused, what is written of them and taken up again; and what a
 * scenario may ask for. */
#include "launch/moves.h"

#include "tests/launch/scratch.h"
#include "tests/unit.h"

enum { RANKS = 4 };

static const char BEGIN[] =
    "gsrt: 1\n"
    "name: a\n"
    "plan: {stages: [{layers: [0, 0], ranks: [0, 1]}, {layers: [1, 1], ranks: [2]}], spares: [3]}\n"
    "moves:\n";
static const char END[] = "workload:\n"
                          "  model: /m.gguf\n"
                          "  requests: [{prompt: a, max_tokens: 40}, {prompt: b, max_tokens: 50}]\n";

static gsrt_status read_text(const char *moves, const char *more, gsrt_scenario **out, gsrt_diag *diag)
{
    char text[4096];
    int n = snprintf(text, sizeof text, "%s%s%s%s", BEGIN, moves, END, more);
    ck_assert(n > 0 && (size_t)n < sizeof text);
    return gsrt_scenario_read_span(gsrt_span_of_text(text), "q.yaml", NULL, 0, out, diag);
}

static gsrt_scenario *accept(const char *moves, const char *more)
{
    gsrt_diag diag = {0};
    gsrt_scenario *scenario = NULL;
    gsrt_status status = read_text(moves, more, &scenario, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    return scenario;
}

/* One move, on line 5 from column 5 on. */
static void refuse(const char *move, const char *wanted)
{
    char line[256], text[512];
    gsrt_diag diag = {0};
    gsrt_scenario *scenario = NULL;
    (void)snprintf(line, sizeof line, "  - %s\n", move);
    (void)snprintf(text, sizeof text, "q.yaml: line 5, column %s", wanted);
    gsrt_status status = read_text(line, "", &scenario, &diag);
    ck_assert_str_eq(diag.text, text);
    ck_assert_int_eq(status, GSRT_EINPUT);
    ck_assert_ptr_null(scenario);
}

static const char THREE[] = "  - {stage: 0, member: 1, to: 3, when: {request: 0, token: 10}}\n"
                            "  - {stage: 1, member: 0, to: 1, when: {seconds: 0.5}}\n"
                            "  - {stage: 0, member: 1, to: 2, when: {view: 2}}\n";

START_TEST(a_scenario_is_read_and_printed)
{
    gsrt_scenario *scenario = accept(THREE, ""), *again;
    gsrt_buffer text;
    gsrt_diag diag = {0};
    ck_assert_uint_eq(scenario->move_count, 3);
    const gsrt_scenario_move *m = scenario->moves;
    ck_assert(m[0].stage == 0 && m[0].member == 1 && m[0].to == 3 && m[0].when.kind == GSRT_MOMENT_TOKEN);
    ck_assert(m[1].stage == 1 && m[1].to == 1 && m[1].when.at_ns == 500000000);
    ck_assert(m[2].to == 2 && m[2].when.kind == GSRT_MOMENT_VIEW && m[2].when.epoch == 2);
    gsrt_buffer_init(&text, 65536);
    ck_assert_int_eq(gsrt_scenario_print(scenario, &text), GSRT_OK);
    ck_assert_int_eq(gsrt_scenario_read_span(gsrt_buffer_span(&text), "p.yaml", NULL, 0, &again, &diag), GSRT_OK);
    ck_assert_uint_eq(again->move_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const gsrt_scenario_move *n = &again->moves[i];
        ck_assert(m[i].stage == n->stage && m[i].member == n->member && m[i].to == n->to);
        ck_assert(m[i].when.kind == n->when.kind && m[i].when.request == n->when.request &&
                  m[i].when.token == n->when.token && m[i].when.at_ns == n->when.at_ns &&
                  m[i].when.epoch == n->when.epoch);
    }
    ck_assert_int_eq(gsrt_scenario_check_moves(scenario, 4, &diag), GSRT_OK);
    ck_assert_int_eq(gsrt_scenario_check_moves(scenario, 3, &diag), GSRT_EINFEASIBLE);
    ck_assert_str_eq(diag.text,
                     "q.yaml: moves[0]: names rank 3 and so needs 4 ranks, but there are 3; start more ranks "
                     "(mpirun -n 4) or name another");
    gsrt_buffer_fini(&text);
    gsrt_scenario_free(again);
    gsrt_scenario_free(scenario);
}
END_TEST

/* "plan: auto": what can be said without a plan at once, the rest once it is there. */
static gsrt_status check_later(const char *moves, gsrt_diag *diag)
{
    char text[4096];
    gsrt_scenario *written = accept(THREE, ""), *scenario = NULL;
    *diag = (gsrt_diag){0};
    (void)snprintf(text, sizeof text, "gsrt: 1\nname: a\nplan: auto\nmoves:\n%s%s", moves, END);
    gsrt_status status = gsrt_scenario_read_span(gsrt_span_of_text(text), "q.yaml", NULL, 0, &scenario, diag);
    if (status == GSRT_OK)
        status = gsrt_plan_copy(written->plan, &scenario->plan);
    if (status == GSRT_OK)
        status = gsrt_scenario_check_moves(scenario, RANKS, diag);
    gsrt_scenario_free(scenario);
    gsrt_scenario_free(written);
    return status;
}

START_TEST(moves_of_a_plan_that_is_still_to_be_made)
{
    gsrt_diag diag = {0};
    ck_assert_int_eq(check_later(THREE, &diag), GSRT_OK);
    ck_assert_int_eq(check_later("  - {stage: 2, member: 0, to: 3, when: {seconds: 1}}\n", &diag), GSRT_EINFEASIBLE);
    ck_assert_str_eq(diag.text, "q.yaml: moves[0].stage: the plan has no stage 2; the last one is 1; 'gsrt plan' shows "
                                "who has which");
    ck_assert_int_eq(check_later("  - {stage: 0, member: 1, to: 3, when: {seconds: 1}}\n"
                                 "  - {stage: 0, member: 0, to: 3, when: {seconds: 2}}\n",
                                 &diag),
                     GSRT_EINFEASIBLE);
    ck_assert_str_eq(diag.text, "q.yaml: moves[1].to: rank 3 has stage 0 member 1 by then; name a rank without a role; "
                                "'gsrt plan' shows who has which");
    ck_assert_int_eq(check_later("  - {stage: 0, member: 1, to: 3, when: {request: 0, token: 41}}\n", &diag),
                     GSRT_EINPUT);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    refuse("{stage: 0, member: 1, when: {seconds: 1}}", "5: moves[0]: key 'to' is missing; add 'to: RANK'");
    refuse("{stage: 0, member: 1, to: 3}", "5: moves[0]: key 'when' is missing; add 'when: {seconds: 1}'");
    refuse("{stage: 2, member: 0, to: 3, when: {seconds: 1}}",
           "13: moves[0].stage: the plan has no stage 2; the last one is 1");
    refuse("{stage: 1, member: 1, to: 3, when: {seconds: 1}}",
           "24: moves[0].member: stage 1 has no member 1; the last one is 0");
    refuse("{stage: 0, member: 1, to: 2, when: {seconds: 1}}",
           "31: moves[0].to: rank 2 has stage 1 member 0 by then; name a rank without a role");
    refuse("{stage: 0, member: 1, to: 1, when: {seconds: 1}}",
           "31: moves[0].to: rank 1 has stage 0 member 1 by then; name a rank without a role");
    refuse("{stage: 0, member: 1, to: 3, when: {request: 0, token: 41}}",
           "60: moves[0].when.token: workload.requests[0] has at most 40 tokens; name one of them");
    gsrt_diag diag = {0};
    gsrt_scenario *scenario = NULL;
    ck_assert_int_eq(read_text("  - {stage: 0, member: 1, to: 3, when: {seconds: 1}}\n"
                               "  - {stage: 0, member: 0, to: 3, when: {seconds: 2}}\n",
                               "", &scenario, &diag),
                     GSRT_EINPUT); /* it is taken by then */
    ck_assert_str_eq(diag.text, "q.yaml: line 6, column 31: moves[1].to: rank 3 has stage 0 member 1 by then; name a "
                                "rank without a role");
    gsrt_scenario_free(accept("  - {stage: 0, member: 1, to: 1, when: {seconds: 1}}\n", /* who knows by then */
                              "faults: [{kill: 1, when: {seconds: 0.5}}]\n"));
}
END_TEST

/* ---- on the leader ---- */

typedef struct scene {
    scratch_directory scratch;
    gsrt_scenario *scenario;
    gsrt_run_directory *directory;
    gsrt_terminal terminal;
    char *err;
    size_t err_len;
    FILE *err_file;
    gsrt_moves moves;
    bool is_member[RANKS];
} scene;

static void reopen(scene *s)
{
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_moves_open(&s->moves, s->scenario, s->directory, &s->terminal, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
}

static void open_scene(scene *s, const char *moves)
{
    gsrt_diag diag = {0};
    *s = (scene){.scratch = scratch_make(), .scenario = accept(moves, ""), .is_member = {true, true, true, true}};
    char path[300];
    (void)snprintf(path, sizeof path, "%s/run", s->scratch.path);
    ck_assert_int_eq(gsrt_run_directory_create(path, "a", &s->directory, &diag), GSRT_OK);
    s->err_file = open_memstream(&s->err, &s->err_len);
    gsrt_terminal_options options = {.out = s->err_file, .err = s->err_file};
    ck_assert_int_eq(gsrt_terminal_init(&s->terminal, &options, 2), GSRT_OK);
    reopen(s);
}

static void close_scene(scene *s, const char *wanted)
{
    gsrt_moves_fini(&s->moves);
    gsrt_terminal_fini(&s->terminal);
    (void)fclose(s->err_file);
    ck_assert_str_eq(s->err, wanted);
    free(s->err);
    gsrt_run_directory_free(s->directory);
    gsrt_scenario_free(s->scenario);
    scratch_remove(&s->scratch);
}

static bool begin(scene *s, gsrt_move *out)
{
    return gsrt_moves_begin(&s->moves, s->moves.plan, s->is_member, RANKS, out);
}

static void write_file(scene *s, const char *name, const char *text)
{
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_run_directory_write(s->directory, name, gsrt_span_of_text(text), &diag), GSRT_OK);
}

START_TEST(each_is_due_once_and_one_goes_on)
{
    scene s;
    gsrt_move move;
    open_scene(&s, THREE);
    ck_assert(!begin(&s, &move));
    gsrt_moves_token(&s.moves, 0, 9);
    gsrt_moves_token(&s.moves, 1, 30);
    ck_assert(!begin(&s, &move));
    ck_assert_uint_eq(gsrt_moves_next_ns(&s.moves), 500000000);
    gsrt_moves_token(&s.moves, 0, 10);
    ck_assert(begin(&s, &move));
    ck_assert(move.stage == 0 && move.member == 1 && move.to == 3 && move.order == 0);
    gsrt_moves_time(&s.moves, 500000000);
    ck_assert_uint_eq(gsrt_moves_next_ns(&s.moves), UINT64_MAX);
    gsrt_moves_done(&s.moves, 1234567, 4096);
    ck_assert(s.moves.plan->stages[0].ranks[1] == 3 && s.moves.plan->spares[0] == 1);
    ck_assert(s.scenario->plan->stages[0].ranks[1] == 1);
    gsrt_moves_token(&s.moves, 0, 11);
    ck_assert(begin(&s, &move));
    ck_assert(move.stage == 1 && move.to == 1);
    gsrt_moves_failed(&s.moves, false, "a view change came in between");
    gsrt_moves_failed(&s.moves, false, "nothing goes on");
    ck_assert(!begin(&s, &move));
    gsrt_moves_view(&s.moves, 3);
    ck_assert(!begin(&s, &move)); /* rank 2 never left its role */
    ck_assert_uint_eq(s.moves.done_count, 3);
    close_scene(&s,
                "moved: stage 0 member 1 from rank 1 to rank 3; steps were held for 1.2 ms, 4096 bytes of KV copied\n"
                "move of stage 1 member 0 to rank 1 abandoned: a view change came in between\n"
                "move of stage 0 member 1 to rank 2 refused: rank 2 has stage 1 member 0\n");
}
END_TEST

START_TEST(the_next_leader_takes_up_what_was_moved)
{
    scene s;
    gsrt_move move;
    open_scene(&s, THREE);
    gsrt_moves_token(&s.moves, 0, 10);
    ck_assert(begin(&s, &move));
    gsrt_moves_done(&s.moves, 1000000, 10);
    gsrt_moves_time(&s.moves, 500000000);
    ck_assert(begin(&s, &move));
    s.is_member[1] = false;
    gsrt_moves_failed(&s.moves, true, "it \"cannot\"");
    reopen(&s);
    ck_assert_uint_eq(s.moves.done_count, 2);
    const gsrt_report_move *done = s.moves.done;
    ck_assert(done[0].outcome == GSRT_MOVE_DONE && done[0].from == 1 && done[0].to == 3 && done[0].bytes == 10);
    ck_assert(done[0].pause_ms == 1 && done[0].why[0] == 0);
    ck_assert(done[1].outcome == GSRT_MOVE_REFUSED && done[1].pause_ms < 0);
    ck_assert_str_eq(done[1].why, "it \"cannot\"");
    ck_assert(s.moves.plan->stages[0].ranks[1] == 3 && s.moves.plan->stages[1].ranks[0] == 2);
    gsrt_moves_skip(&s.moves, (const uint32_t[]){10, 0}, 2, 500000000, 2);
    gsrt_moves_token(&s.moves, 0, 40);
    gsrt_moves_time(&s.moves, 900000000);
    ck_assert(!begin(&s, &move));
    gsrt_moves_view(&s.moves, 2);
    gsrt_plan_move(s.moves.plan, 1, 0, 1); /* rank 2 has no role any more */
    ck_assert(begin(&s, &move));
    ck_assert(move.stage == 0 && move.to == 2);
    close_scene(&s, "moved: stage 0 member 1 from rank 1 to rank 3; steps were held for 1.0 ms, 10 bytes of KV copied\n"
                    "move of stage 1 member 0 to rank 1 refused: it \"cannot\"\n");
}
END_TEST

START_TEST(a_torn_line_is_cut_off_and_others_are_refused)
{
    static const char good[] = "{\"stage\":0,\"member\":1,\"from\":1,\"to\":3,\"outcome\":\"done\",\"pause_ms\":1,"
                               "\"bytes\":5,\"why\":null,\"order\":0}\n";
    static const char *const bad[] = {
        "\n",
        "x\n",
        "{}\n",
        "[1]\n",
        "{\"stage\":256,\"member\":1,\"from\":1,\"to\":3,\"outcome\":\"done\",\"pause_ms\":1,\"bytes\":5,\"why\":null,"
        "\"order\":0}\n",
        "{\"stage\":0,\"member\":1,\"from\":1,\"to\":3,\"outcome\":\"gone\",\"pause_ms\":1,\"bytes\":5,\"why\":null,"
        "\"order\":0}\n",
        "{\"stage\":0,\"member\":1,\"from\":1,\"to\":3,\"outcome\":\"done\",\"pause_ms\":1,\"bytes\":-5,\"why\":null,"
        "\"order\":0}\n",
        "{\"stage\":0,\"member\":1,\"from\":1,\"to\":3,\"outcome\":\"done\",\"pause_ms\":1,\"bytes\":5,\"why\":7,"
        "\"order\":0}\n",
        "{\"stage\":0,\"member\":1,\"from\":1,\"to\":3,\"outcome\":\"done\",\"pause_ms\":1,\"bytes\":5,\"why\":null,"
        "\"order\":0,\"more\":1}\n"};
    scene s;
    char text[1024];
    open_scene(&s, THREE);
    for (size_t cut = 0; cut + 1 < sizeof good; cut++) {
        (void)snprintf(text, sizeof text, "%s%.*s", good, (int)cut, good);
        write_file(&s, "moves.jsonl", text);
        reopen(&s);
        ck_assert_uint_eq(s.moves.done_count, 1);
        char *left = scratch_read(&s.scratch, "run/moves.jsonl", NULL);
        ck_assert_str_eq(left, good);
        free(left);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        gsrt_diag diag = {0};
        (void)snprintf(text, sizeof text, "%s%s", good, bad[i]);
        write_file(&s, "moves.jsonl", text);
        ck_assert_int_eq(gsrt_moves_open(&s.moves, s.scenario, s.directory, &s.terminal, &diag), GSRT_EINPUT);
        ck_assert_int_ne(diag.text[0], 0);
    }
    close_scene(&s, "");
}
END_TEST

/* A run that is resumed with another plan. */
START_TEST(what_does_not_fit_the_plan_is_left_out)
{
    scene s;
    open_scene(&s, "  []\n");
    write_file(&s, "moves.jsonl",
               "{\"stage\":7,\"member\":1,\"from\":1,\"to\":3,\"outcome\":\"done\",\"pause_ms\":1,\"bytes\":5,"
               "\"why\":null,\"order\":0}\n"
               "{\"stage\":0,\"member\":1,\"from\":1,\"to\":2,\"outcome\":\"done\",\"pause_ms\":1,\"bytes\":5,"
               "\"why\":null,\"order\":0}\n");
    reopen(&s);
    ck_assert_uint_eq(s.moves.done_count, 0);
    ck_assert_uint_eq(s.moves.plan->stages[0].ranks[1], 1);
    close_scene(&s, "");
}
END_TEST

START_TEST(an_order_is_taken_once_and_its_line_names_it)
{
    scene s;
    gsrt_move move;
    open_scene(&s, "  []\n");
    gsrt_moves_look(&s.moves);
    ck_assert(!begin(&s, &move));
    write_file(&s, "move", "{\"stage\": 0, \"member\": 1, \"to\": 3, \"order\": 77}\n");
    gsrt_moves_look(&s.moves);
    ck_assert(begin(&s, &move));
    ck_assert(move.member == 1 && move.to == 3 && move.order == 77);
    gsrt_moves_look(&s.moves);
    ck_assert(scratch_has(&s.scratch, "run/move")); /* until it is done: whoever leads next finds it */
    gsrt_moves_done(&s.moves, 0, 1);
    ck_assert(!scratch_has(&s.scratch, "run/move"));
    ck_assert_uint_eq(s.moves.done[0].order, 77);
    gsrt_moves_look(&s.moves);
    ck_assert(!begin(&s, &move));
    write_file(&s, "move", "{\"stage\": 0, \"member\": 1, \"to\": 9, \"order\": 78}\n");
    gsrt_moves_look(&s.moves);
    ck_assert(!begin(&s, &move));
    ck_assert(s.moves.done[1].outcome == GSRT_MOVE_REFUSED && s.moves.done[1].order == 78);
    ck_assert(!scratch_has(&s.scratch, "run/move"));
    write_file(&s, "move", "{\"stage\": 0}");
    gsrt_moves_look(&s.moves);
    ck_assert(!begin(&s, &move));
    ck_assert(!scratch_has(&s.scratch, "run/move"));
    char wanted[600];
    (void)snprintf(wanted, sizeof wanted,
                   "moved: stage 0 member 1 from rank 1 to rank 3; steps were held for 0.0 ms, 1 bytes of KV copied\n"
                   "move of stage 0 member 1 to rank 9 refused: rank 9 is not there\n"
                   "%s/run: move: is no order; it is removed\n",
                   s.scratch.path);
    close_scene(&s, wanted);
}
END_TEST

/* ---- the way back ---- */

static gsrt_way choose(scene *s, uint32_t epoch, const uint32_t *incarnations, uint32_t wanted)
{
    gsrt_plan *plan;
    gsrt_way way;
    ck_assert_int_eq(gsrt_moves_choose(&s->moves, epoch, incarnations, RANKS, &plan, &way), GSRT_OK);
    ck_assert_uint_eq(plan->stages[0].ranks[1], wanted);
    ck_assert_int_eq(gsrt_moves_begun(&s->moves, plan, epoch, incarnations, RANKS), GSRT_OK);
    gsrt_plan_free(plan);
    return way;
}

#define LOST GSRT_NOT_A_MEMBER

START_TEST(who_comes_back_takes_its_role_by_a_move)
{
    scene s;
    gsrt_move move;
    open_scene(&s, "  []\n");
    ck_assert_int_eq(choose(&s, 1, (const uint32_t[]){0, 0, 0, 0}, 1), GSRT_WAY_FULL);
    ck_assert_int_eq(choose(&s, 2, (const uint32_t[]){0, LOST, 0, 0}, 3), GSRT_WAY_SPARE);
    s.is_member[1] = false;
    ck_assert(!gsrt_moves_begin(&s.moves, s.moves.last, s.is_member, RANKS, &move));
    ck_assert_int_eq(choose(&s, 3, (const uint32_t[]){0, 1, 0, 0}, 3), GSRT_WAY_FULL);
    s.is_member[1] = true;
    ck_assert(gsrt_moves_begin(&s.moves, s.moves.last, s.is_member, RANKS, &move));
    ck_assert(move.stage == 0 && move.member == 1 && move.to == 1 && move.order == 0);
    gsrt_moves_failed(&s.moves, true, "no memory");
    ck_assert(!gsrt_moves_begin(&s.moves, s.moves.last, s.is_member, RANKS, &move)); /* not in this view again */
    ck_assert_int_eq(choose(&s, 4, (const uint32_t[]){0, 1, 0, 0}, 3), GSRT_WAY_FULL);
    ck_assert(gsrt_moves_begin(&s.moves, s.moves.last, s.is_member, RANKS, &move));
    gsrt_moves_done(&s.moves, 0, 1);
    ck_assert_uint_eq(s.moves.last->stages[0].ranks[1], 1);
    ck_assert(!gsrt_moves_begin(&s.moves, s.moves.last, s.is_member, RANKS, &move));
    ck_assert_int_eq(choose(&s, 5, (const uint32_t[]){0, 1, 0, 0}, 1), GSRT_WAY_FULL);
    close_scene(&s,
                "move of stage 0 member 1 to rank 1 refused: no memory\n"
                "moved: stage 0 member 1 from rank 3 to rank 1; steps were held for 0.0 ms, 1 bytes of KV copied\n");
}
END_TEST

/* Then the view has nothing to keep, and everybody takes the role that is his. */
START_TEST(the_full_plan_where_there_is_nothing_to_keep)
{
    scene s;
    open_scene(&s, "  []\n");
    (void)choose(&s, 1, (const uint32_t[]){0, 0, 0, 0}, 1);
    (void)choose(&s, 2, (const uint32_t[]){0, LOST, 0, 0}, 3);
    (void)choose(&s, 3, (const uint32_t[]){0, 1, LOST, 0}, 1); /* rank 2 is lost too */
    (void)choose(&s, 4, (const uint32_t[]){0, LOST, 1, 0}, 3);
    (void)choose(&s, 5, (const uint32_t[]){0, 2, 2, 0}, 1); /* rank 2 is another process */
    (void)choose(&s, 6, (const uint32_t[]){0, LOST, 2, 0}, 3);
    (void)choose(&s, 8, (const uint32_t[]){0, 3, 2, 0}, 1); /* a view that another has led */
    close_scene(&s, "");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {a_scenario_is_read_and_printed,
                                  moves_of_a_plan_that_is_still_to_be_made,
                                  what_cannot_be_is_refused,
                                  each_is_due_once_and_one_goes_on,
                                  the_next_leader_takes_up_what_was_moved,
                                  a_torn_line_is_cut_off_and_others_are_refused,
                                  what_does_not_fit_the_plan_is_left_out,
                                  an_order_is_taken_once_and_its_line_names_it,
                                  who_comes_back_takes_its_role_by_a_move,
                                  the_full_plan_where_there_is_nothing_to_keep};
    return unit_run("moves", tests, sizeof tests / sizeof tests[0]);
}
