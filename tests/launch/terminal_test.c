/* The terminal, byte by byte: what goes to standard output, what to standard error, and when. */
#include "launch/terminal.h"

#include "tests/unit.h"

#include <stdlib.h>

static const uint64_t MS = 1000000; /* in ns */

typedef struct screen {
    gsrt_terminal terminal;
    char *out, *err;
    size_t out_len, err_len;
    FILE *out_file, *err_file;
} screen;

static void open_screen(screen *s, gsrt_terminal_options options, uint32_t request_count)
{
    *s = (screen){0};
    s->out_file = open_memstream(&s->out, &s->out_len);
    s->err_file = open_memstream(&s->err, &s->err_len);
    ck_assert(s->out_file != NULL && s->err_file != NULL);
    options.out = s->out_file;
    options.err = s->err_file;
    ck_assert_int_eq(gsrt_terminal_init(&s->terminal, &options, request_count), GSRT_OK);
}

static void close_screen(screen *s, const char *out, const char *err)
{
    ck_assert_int_eq(gsrt_terminal_status(&s->terminal), GSRT_OK);
    gsrt_terminal_fini(&s->terminal);
    (void)fclose(s->out_file);
    (void)fclose(s->err_file);
    ck_assert_str_eq(s->out, out);
    ck_assert_str_eq(s->err, err);
    free(s->out);
    free(s->err);
}

static void say(screen *s, uint32_t request, const char *text)
{
    ck_assert_int_eq(gsrt_terminal_text(&s->terminal, request, gsrt_span_of_text(text)), GSRT_OK);
}

START_TEST(one_request_streams)
{
    screen s;
    open_screen(&s, (gsrt_terminal_options){0}, 1);
    say(&s, 0, "Once");
    (void)fflush(s.out_file);
    ck_assert_str_eq(s.out, "Once");
    say(&s, 0, " upon");
    gsrt_terminal_finish(&s.terminal);
    say(&s, 0, "too late");
    gsrt_terminal_finish(&s.terminal);
    close_screen(&s, "Once upon\n", "");
}
END_TEST

START_TEST(several_requests_come_in_order)
{
    screen s;
    open_screen(&s, (gsrt_terminal_options){0}, 4);
    say(&s, 1, "b1");
    say(&s, 0, "a1");
    say(&s, 3, "d1");
    say(&s, 0, "a2\n");
    gsrt_terminal_end(&s.terminal, 1);
    say(&s, 0, "a3");
    gsrt_terminal_end(&s.terminal, 0);
    (void)fflush(s.out_file);
    ck_assert_str_eq(s.out, "== request 0 ==\na1a2\na3\n== request 1 ==\nb1\n== request 2 ==\n");
    gsrt_terminal_end(&s.terminal, 2); /* refused: no text at all */
    say(&s, 3, "d2");
    gsrt_terminal_end(&s.terminal, 7); /* there is none */
    say(&s, 7, "nobody");
    gsrt_terminal_finish(&s.terminal);
    close_screen(&s, "== request 0 ==\na1a2\na3\n== request 1 ==\nb1\n== request 2 ==\n== request 3 ==\nd1d2\n", "");
}
END_TEST

START_TEST(control_bytes_do_not_reach_a_terminal)
{
    screen s;
    open_screen(&s, (gsrt_terminal_options){.is_out_terminal = true}, 1);
    say(&s, 0, "\033[2Ja\tb\n\x7f\xc3\xa9\r");
    gsrt_terminal_finish(&s.terminal);
    close_screen(&s, "?[2Ja\tb\n?\xc3\xa9?\n", "");
    open_screen(&s, (gsrt_terminal_options){0}, 1);
    say(&s, 0, "\033a");
    gsrt_terminal_finish(&s.terminal);
    close_screen(&s, "\033a\n", "");
}
END_TEST

START_TEST(the_bar)
{
    screen s;
    open_screen(&s, (gsrt_terminal_options){.is_err_terminal = true}, 1);
    gsrt_terminal_progress(&s.terminal, "generating", 0, 48, 1000 * MS);
    gsrt_terminal_progress(&s.terminal, "generating", 1, 48, 1050 * MS); /* too soon */
    gsrt_terminal_progress(&s.terminal, "generating", 24, 48, 3000 * MS);
    gsrt_terminal_finish(&s.terminal);
    close_screen(&s, "",
                 "\r\033[Kgenerating [........................] 0/48 tokens"
                 "\r\033[Kgenerating [############............] 24/48 tokens  12.0 tokens/s"
                 "\r\033[K");
    static const gsrt_terminal_options without[] = {{.is_err_terminal = false},
                                                    {.is_err_terminal = true, .is_quiet = true}};
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        open_screen(&s, without[i], 1);
        gsrt_terminal_progress(&s.terminal, "generating", 0, 48, 1000 * MS);
        gsrt_terminal_finish(&s.terminal);
        close_screen(&s, "", "");
    }
}
END_TEST

START_TEST(the_bar_does_not_run_through_the_text)
{
    screen s;
    open_screen(&s, (gsrt_terminal_options){.is_err_terminal = true, .is_out_terminal = true}, 1);
    gsrt_terminal_progress(&s.terminal, "loading", 1, 2, 1000 * MS);
    say(&s, 0, "text");
    gsrt_terminal_progress(&s.terminal, "generating", 1, 2, 2000 * MS);
    gsrt_terminal_end(&s.terminal, 0);
    gsrt_terminal_progress(&s.terminal, "verifying", 0, 2, 3000 * MS);
    gsrt_terminal_finish(&s.terminal);
    close_screen(&s, "text\n",
                 "\r\033[Kloading [############............] 1/2 tokens\r\033[K"
                 "\r\033[Kverifying [........................] 0/2 tokens\r\033[K");
}
END_TEST

/* ---- plan, report ---- */

static uint32_t ranks[] = {0, 1}, shares[] = {3, 5};
static gsrt_plan_stage stages[] = {
    {.layer_first = 0, .layer_last = 4, .member_count = 2, .ranks = ranks, .shares = shares}};
static const gsrt_plan plan = {.stages = stages, .stage_count = 1};
static const gsrt_report_backend backends[] = {
    {.rank = 0, .kind = "cpu", .name = "a processor"},
    {.rank = 1, .kind = "profile", .name = "npu", .is_simulated = true},
};
static const gsrt_report_request requests[] = {
    {.token_count = 3, .finish = "length", .ttft_ms = 12.34, .decode_tokens_per_s = 100, .prefix_tokens_reused = 4},
    {.finish = "refused", .error = "does not fit", .ttft_ms = -1, .decode_tokens_per_s = -1},
};

START_TEST(the_plan_says_what_is_simulated)
{
    const gsrt_workload workload = {.name = "tiny", .layer_count = 5, .head_count = 8, .parameter_count = 2000000};
    screen s;
    open_screen(&s, (gsrt_terminal_options){0}, 1);
    gsrt_terminal_plan(&s.terminal, "quickstart", &plan, &workload, backends, 2);
    close_screen(&s, "",
                 "quickstart: tiny, 5 layers, 2.00 M parameters\n"
                 "stage 0   layers 0-4       ranks 0,1         split 3:5  heads 3+5\n"
                 "rank  0   cpu a processor\nrank  1   profile npu (simulated)\n");
    open_screen(&s, (gsrt_terminal_options){.is_quiet = true}, 1);
    gsrt_terminal_plan(&s.terminal, "quickstart", &plan, &workload, backends, 2);
    close_screen(&s, "", "");
}
END_TEST

static void show(gsrt_terminal_options options, bool is_kept, const char *world, const char *out, const char *err)
{
    const gsrt_report report = {
        .world = world,
        .contract = {.kind = "bitwise", .is_verified = true, .compared = 3, .different = is_kept ? 0 : 1},
        .requests = requests,
        .request_count = 2,
        .backends = backends,
        .backend_count = strcmp(world, "real") == 0 ? 1 : 0};
    screen s;
    open_screen(&s, options, 2);
    gsrt_terminal_report(&s.terminal, &report, gsrt_span_of_text("{}\n"));
    close_screen(&s, out, err);
}

#define LINES                                                                                                          \
    "request 0: 3 tokens, length, first after 12.3 ms, then 100.0 tokens/s, 4 prompt tokens reused\n"                  \
    "request 1: refused: does not fit\n"
#define KEPT "contract bitwise: kept (3 of 3 logit hashes equal the reference)"
#define VIOLATED "contract bitwise: VIOLATED (1 of 3 logit hashes differ from the reference; first: request 0, token 0)"

START_TEST(the_end)
{
    show((gsrt_terminal_options){0}, true, "real", "", LINES KEPT "\n");
    show((gsrt_terminal_options){0}, true, "twin", "", "twin: the times below are simulated\n" LINES KEPT "\n");
    show((gsrt_terminal_options){.is_json = true}, true, "real", "{}\n", LINES KEPT "\n");
    show((gsrt_terminal_options){.is_json = true, .is_quiet = true}, true, "real", "{}\n", "");
    show((gsrt_terminal_options){.is_quiet = true}, false, "real", "", VIOLATED "\n");
    show((gsrt_terminal_options){.is_coloured = true}, true, "real", "", LINES "\033[1;32m" KEPT "\033[0m\n");
    show((gsrt_terminal_options){.is_coloured = true}, false, "real", "", LINES "\033[1;31m" VIOLATED "\033[0m\n");
}
END_TEST

START_TEST(with_json_nothing_else_is_on_standard_output)
{
    screen s;
    open_screen(&s, (gsrt_terminal_options){.is_json = true}, 2);
    say(&s, 0, "text");
    gsrt_terminal_end(&s.terminal, 0);
    gsrt_terminal_finish(&s.terminal);
    close_screen(&s, "", "");
}
END_TEST

START_TEST(errors_and_notes)
{
    screen s;
    gsrt_diag diag = {0};
    (void)gsrt_diag_set(&diag, GSRT_EINPUT, "f", "line 1", "bad; mend it");
    open_screen(&s, (gsrt_terminal_options){.is_quiet = true}, 1);
    say(&s, 0, "text");
    gsrt_terminal_note(&s.terminal, "hidden");
    gsrt_terminal_error(&s.terminal, "gsrt-launch", &diag);
    close_screen(&s, "text\n", "gsrt-launch: error: f: line 1: bad; mend it\n");
    open_screen(&s, (gsrt_terminal_options){0}, 1);
    gsrt_terminal_note(&s.terminal, "run directory %s", "runs/a-1");
    diag = (gsrt_diag){.status = GSRT_ENOMEM};
    gsrt_terminal_error(&s.terminal, "gsrt", &diag);
    close_screen(&s, "", "run directory runs/a-1\ngsrt: error: out of memory\n");
}
END_TEST

START_TEST(others_have_shown_the_beginning)
{
    static const char whole[] = "== request 0 ==\nOne\n== request 1 ==\nTwo\n";
    for (size_t shown = 0; shown < sizeof whole; shown++) { /* wherever whoever led before was killed */
        screen s;
        open_screen(&s, (gsrt_terminal_options){0}, 2);
        gsrt_terminal_go_on(&s.terminal, shown);
        say(&s, 1, "Tw"); /* what was taken up; it holds all that was shown */
        say(&s, 0, "One");
        gsrt_terminal_end(&s.terminal, 0);
        say(&s, 1, "o");
        gsrt_terminal_end(&s.terminal, 1);
        gsrt_terminal_finish(&s.terminal);
        close_screen(&s, whole + shown, "");
    }
    screen s;
    open_screen(&s, (gsrt_terminal_options){0}, 1);
    gsrt_terminal_go_on(&s.terminal, UINT64_MAX);
    say(&s, 0, "shown");
    gsrt_terminal_went_on(&s.terminal);
    say(&s, 0, " and new");
    close_screen(&s, " and new", "");
}
END_TEST

START_TEST(a_full_disk_is_noticed)
{
    FILE *full = fopen("/dev/full", "w");
    ck_assert_ptr_nonnull(full);
    gsrt_terminal terminal;
    const gsrt_terminal_options options = {.out = full, .err = stderr};
    ck_assert_int_eq(gsrt_terminal_init(&terminal, &options, 1), GSRT_OK);
    ck_assert_int_eq(gsrt_terminal_text(&terminal, 0, gsrt_span_of_text("x")), GSRT_OK);
    gsrt_terminal_finish(&terminal);
    ck_assert_int_eq(gsrt_terminal_status(&terminal), GSRT_EIO);
    gsrt_terminal_fini(&terminal);
    (void)fclose(full);
}
END_TEST

START_TEST(colours_are_a_choice)
{
    ck_assert_int_eq(setenv("NO_COLOR", "1", 1), 0);
    ck_assert(!gsrt_terminal_options_find().is_coloured);
}
END_TEST

START_TEST(faults_and_recoveries)
{
    gsrt_incident_fault faults[] = {
        {.rank = 1,
         .drill = GSRT_INCIDENT_KILLED,
         .detector = GSRT_DETECTOR_SENTINEL,
         .proof = GSRT_PROOF_DIED,
         .fault_ns = 40 * MS,
         .seen_ns = 41 * MS + 300000},
        {.rank = 2,
         .detector = GSRT_DETECTOR_SENTINEL,
         .observer = 3,
         .proof = GSRT_PROOF_DIED,
         .fault_ns = GSRT_INCIDENT_UNKNOWN_NS,
         .seen_ns = 42 * MS},
        {.rank = 2, .detector = GSRT_DETECTOR_SILENCE, .proof = GSRT_PROOF_UNREACHABLE, .fault_ns = UINT64_MAX},
    };
    gsrt_incident_way ways[] = {
        {.method = GSRT_METHOD_SPARE, .is_chosen = true, .why = "spare rank 3 took stage 0 member 1"},
        {.method = GSRT_METHOD_FULL, .is_chosen = true, .why = "of a return"}};
    gsrt_incident incident = {.number = 1,
                              .state = GSRT_INCIDENT_RECOVERED,
                              .method = GSRT_METHOD_SPARE,
                              .faults = faults,
                              .fault_count = 3,
                              .ways = ways,
                              .way_count = 2,
                              .phase_ns = {1300000, 2 * MS, 9100000, 4 * MS, 5 * MS},
                              .recomputed_tokens = 40};
    screen s;
    open_screen(&s, (gsrt_terminal_options){.is_quiet = true, .is_out_terminal = true, .is_err_terminal = true}, 1);
    say(&s, 0, "Once");
    gsrt_terminal_fault(&s.terminal, &incident, 0);
    gsrt_terminal_recovery(&s.terminal, &incident);
    close_screen(&s, "Once", "");
    open_screen(&s, (gsrt_terminal_options){0}, 1);
    for (uint32_t i = 0; i < 3; i++)
        gsrt_terminal_fault(&s.terminal, &incident, i);
    gsrt_terminal_recovery(&s.terminal, &incident);
    faults[0].fault_ns = GSRT_INCIDENT_UNKNOWN_NS;
    incident.phase_ns[GSRT_PHASE_DETECTION] = 0;
    incident.way_count = 0;
    incident.lost_tokens = 2;
    gsrt_terminal_recovery(&s.terminal, &incident);
    incident.state = GSRT_INCIDENT_FAILED;
    gsrt_terminal_recovery(&s.terminal, &incident);
    incident.state = GSRT_INCIDENT_NOT_NEEDED;
    gsrt_terminal_recovery(&s.terminal, &incident);
    close_screen(
        &s, "",
        "rank 1 was killed; seen after 1.3 ms\n"
        "rank 2 died; seen by rank 3 (sentinel)\n"
        "rank 2 was cut off; seen by rank 0 (silence)\n"
        "recovered: spare rank 3 took stage 0 member 1 after 21.4 ms (detection 1.3, agreement 2.0, restart 9.1, "
        "restoring 4.0, first token 5.0); 40 tokens computed again, none lost\n"
        "recovered: spare after 20.1 ms (agreement 2.0, restart 9.1, restoring 4.0, first token 5.0); 40 tokens "
        "computed again, 2 lost\n"
        "incident 1: not recovered\n"
        "incident 1: nothing to recover, every answer was complete\n");
    open_screen(&s, (gsrt_terminal_options){.is_out_terminal = true, .is_err_terminal = true}, 1);
    say(&s, 0, "Once");
    gsrt_terminal_fault(&s.terminal, &incident, 1); /* not within the line of the text */
    close_screen(&s, "Once", "\nrank 2 died; seen by rank 3 (sentinel)\n");
}
END_TEST

int main(void)
{
    const TTest *tests[] = {one_request_streams,
                            several_requests_come_in_order,
                            control_bytes_do_not_reach_a_terminal,
                            others_have_shown_the_beginning,
                            the_bar,
                            the_bar_does_not_run_through_the_text,
                            the_plan_says_what_is_simulated,
                            the_end,
                            with_json_nothing_else_is_on_standard_output,
                            errors_and_notes,
                            faults_and_recoveries,
                            a_full_disk_is_noticed,
                            colours_are_a_choice};
    return unit_run("terminal", tests, sizeof tests / sizeof tests[0]);
}
