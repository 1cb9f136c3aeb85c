/* The faults of a scenario and how it heals: what is read, what is refused and in which words, and the way back through
 * print. */
#include "launch/scenario.h"

#include "base/limits.h"
#include "health/incident.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>

static const char BEGIN[] = "gsrt: 1\n"
                            "name: a\n"
                            "plan: {stages: [{layers: [0, 0], ranks: [0, 1, 2, 3]}]}\n"
                            "faults:\n";
static const char END[] = "workload:\n" /* behind the faults: keys stand in any order */
                          "  model: /m.gguf\n"
                          "  requests: [{prompt: a, max_tokens: 40}, {prompt: b, max_tokens: 50}]\n";

static gsrt_status read_text(const char *faults, const gsrt_scenario_set *sets, size_t set_count, gsrt_scenario **out,
                             gsrt_diag *diag)
{
    static char text[65536];
    int n = snprintf(text, sizeof text, "%s%s%s", BEGIN, faults, END);
    ck_assert(n > 0 && (size_t)n < sizeof text);
    return gsrt_scenario_read_span(gsrt_span_of_text(text), "q.yaml", sets, set_count, out, diag);
}

static gsrt_scenario *accept(const char *faults)
{
    gsrt_diag diag = {0};
    gsrt_scenario *scenario = NULL;
    gsrt_status status = read_text(faults, NULL, 0, &scenario, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    return scenario;
}

static void refuse_text(const char *faults, const char *wanted)
{
    gsrt_diag diag = {0};
    gsrt_scenario *scenario = NULL;
    gsrt_status status = read_text(faults, NULL, 0, &scenario, &diag);
    ck_assert_str_eq(diag.text, wanted);
    ck_assert_int_eq(status, GSRT_EINPUT);
    ck_assert_ptr_null(scenario);
}

/* One fault, on line 5 from column 5 on. */
static void refuse(const char *fault, const char *wanted)
{
    char line[512], text[1024];
    (void)snprintf(line, sizeof line, "  - %s\n", fault);
    (void)snprintf(text, sizeof text, "q.yaml: line 5, column %s", wanted);
    refuse_text(line, text);
}

static void refuse_set(const char *key, const char *value, const char *wanted)
{
    gsrt_diag diag = {0};
    gsrt_scenario *scenario = NULL;
    const gsrt_scenario_set set = {key, value};
    ck_assert_int_eq(read_text("  - {kill: 1, when: {request: 0, token: 40}}\n", &set, 1, &scenario, &diag),
                     GSRT_EINPUT);
    ck_assert_str_eq(diag.text, wanted);
}

static const char EVERY[] = "  - {kill: 1, when: {request: 1, token: 50}}\n"
                            "  - {times: 64, kill: 1023, when: {seconds: 0}}\n"
                            "  - {stop: 2, when: {seconds: 1.5}, for: 3}\n"
                            "  - {partition: [[3, 0], [2]], when: {view: 2}, for: 0.001}\n"
                            "  - {slow: 1, factor: 5, when: {seconds: 0.2}, for: 6e2}\n";

START_TEST(every_kind_and_moment)
{
    gsrt_scenario *scenario = accept(EVERY);
    ck_assert_uint_eq(scenario->fault_count, 5);
    const gsrt_fault *f = scenario->faults;
    ck_assert(f[0].kind == GSRT_FAULT_KILL && f[0].rank == 1 && f[0].times == 1 && f[0].duration_ns == 0);
    ck_assert(f[0].when.kind == GSRT_MOMENT_TOKEN && f[0].when.request == 1 && f[0].when.token == 50);
    ck_assert(f[1].rank == 1023 && f[1].times == 64 && f[1].when.kind == GSRT_MOMENT_TIME && f[1].when.at_ns == 0);
    ck_assert(f[2].kind == GSRT_FAULT_STOP && f[2].rank == 2 && f[2].duration_ns == 3000000000 && f[2].times == 0);
    ck_assert(f[2].when.kind == GSRT_MOMENT_TIME && f[2].when.at_ns == 1500000000);
    ck_assert(f[3].kind == GSRT_FAULT_PARTITION && f[3].when.kind == GSRT_MOMENT_VIEW && f[3].when.epoch == 2);
    ck_assert(f[3].sides[0] == 1 && f[3].sides[1] == 0 && f[3].sides[2] == 2 && f[3].sides[3] == 1);
    ck_assert_uint_eq(f[3].duration_ns, 1000000);
    ck_assert(f[4].kind == GSRT_FAULT_SLOW && f[4].factor == 5 && f[4].when.at_ns == 200000000);
    ck_assert_uint_eq(f[4].duration_ns, 600000000000);
    ck_assert_int_eq(gsrt_faults_check(f, 5, GSRT_RANK_COUNT_MAX, NULL, NULL), GSRT_OK);
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_faults_check(f, 5, 4, scenario->file, &diag), GSRT_EINFEASIBLE);
    (void)gsrt_scenario_free(scenario);
}
END_TEST

START_TEST(defaults)
{
    gsrt_scenario *scenario = accept("  []\n");
    ck_assert_uint_eq(scenario->fault_count, 0);
    ck_assert_uint_eq(scenario->restart_max, 3);
    ck_assert_uint_eq(scenario->restart_window_ms, 60000);
    ck_assert_int_eq(scenario->prefer, 0);
    ck_assert_uint_eq(scenario->contact_ms, 50);
    (void)gsrt_scenario_free(scenario);
}
END_TEST

START_TEST(what_happens)
{
    refuse("{when: {view: 2}}",
           "5: faults[0]: does nothing; add 'kill: RANK', 'stop: RANK', 'slow: RANK', 'corrupt: RANK' or "
           "'partition: [[RANK]]'");
    refuse("{kill: 1, stop: 2, for: 1, when: {view: 2}}",
           "5: faults[0]: has both 'kill' and 'stop'; give each its own item");
    refuse("{slow: 1, partition: [[1]], for: 1, when: {view: 2}}",
           "5: faults[0]: has both 'partition' and 'slow'; give each its own item");
    refuse("{kil: 1, when: {view: 2}}", "6: unknown key 'kil' in faults[0]; did you mean 'kill'?");
    refuse("{kill: 1024, when: {view: 2}}", "12: faults[0].kill: must be between 0 and 1023, found 1024");
    refuse("{kill: -1, when: {view: 2}}", "12: faults[0].kill: must be between 0 and 1023, found -1");
    refuse("{kill: [1], when: {view: 2}}", "12: faults[0].kill: must be an integer, found a list");
    refuse("{stop: x, for: 1, when: {view: 2}}", "12: faults[0].stop: must be an integer, found 'x' (text)");
    refuse("{slow: 0.5, for: 1, when: {view: 2}}", "12: faults[0].slow: must be an integer, found '0.5' (a number)");
    refuse("kill 1", "5: faults[0]: must be a mapping, found 'kill 1' (text)");
    refuse_text("  {kill: 1}\n", "q.yaml: line 5, column 3: faults: must be a list, found a mapping");
}
END_TEST

START_TEST(what_goes_with_it)
{
    refuse("{kill: 1, for: 2, when: {view: 2}}", "20: faults[0].for: a kill is over at once; remove it");
    refuse("{kill: 1, factor: 2, when: {view: 2}}", "23: faults[0].factor: only 'slow' has a factor; remove it");
    refuse("{stop: 1, when: {view: 2}}", "5: faults[0]: key 'for' is missing; add 'for: SECONDS'");
    refuse("{stop: 1, for: forever, when: {view: 2}}", "20: faults[0].for: must be a number, found 'forever' (text)");
    refuse("{stop: 1, for: 0, when: {view: 2}}", "20: faults[0].for: must be between 0.001 and 600, found 0");
    refuse("{stop: 1, for: 600.1, when: {view: 2}}", "20: faults[0].for: must be between 0.001 and 600, found 600.1");
    refuse("{stop: 1, for: .nan, when: {view: 2}}", "20: faults[0].for: must be a finite number, found .nan");
    refuse("{stop: 1, for: 1, times: 2, when: {view: 2}}",
           "30: faults[0].times: only a kill can be done again; remove it, or add another item");
    refuse("{kill: 1, times: 0, when: {view: 2}}", "22: faults[0].times: must be between 1 and 64, found 0");
    refuse("{kill: 1, times: 65, when: {view: 2}}", "22: faults[0].times: must be between 1 and 64, found 65");
    refuse("{corrupt: 1, for: 1, when: {view: 2}}", "23: faults[0].for: what is damaged stays so; remove it");
    refuse("{corrupt: 1, times: 2, when: {view: 2}}",
           "25: faults[0].times: only a kill can be done again; remove it, or add another item");
    refuse("{slow: 1, for: 1, when: {view: 2}}", "5: faults[0]: key 'factor' is missing; add 'factor: 2'");
    refuse("{slow: 1, for: 1, factor: 1, when: {view: 2}}",
           "31: faults[0].factor: must be above 1: how many times longer the rank takes");
    refuse("{slow: 1, for: 1, factor: 0.5, when: {view: 2}}",
           "31: faults[0].factor: must be between 1 and 1e+06, found 0.5");
}
END_TEST

START_TEST(sides)
{
    refuse("{partition: [], for: 1, when: {view: 2}}", "17: faults[0].partition: must not be empty; give at least one");
    refuse("{partition: [[]], for: 1, when: {view: 2}}",
           "18: faults[0].partition[0]: must not be empty; give at least one");
    refuse("{partition: [0, 1], for: 1, when: {view: 2}}",
           "18: faults[0].partition[0]: must be a list of integers, found '0' (an integer)");
    refuse("{partition: [[0, 1], [2, 1]], for: 1, when: {view: 2}}",
           "30: faults[0].partition[1][1]: rank 1 is already in group 0; put each rank on one side");
    refuse("{partition: [[0, 1, 0]], for: 1, when: {view: 2}}",
           "25: faults[0].partition[0][2]: rank 0 is named twice; name it once");
    refuse("{partition: [[1024]], for: 1, when: {view: 2}}",
           "19: faults[0].partition[0][0]: must be between 0 and 1023, found 1024");
}
END_TEST

START_TEST(moments)
{
    refuse("{kill: 1}", "5: faults[0]: key 'when' is missing; add 'when: {seconds: 1}'");
    refuse("{kill: 1, when: 5}", "21: faults[0].when: must be a mapping, found '5' (an integer)");
    refuse("{kill: 1, when: {}}",
           "21: faults[0].when: names no moment; add 'request: R, token: N', 'seconds: S' or 'view: E'");
    refuse("{kill: 1, when: {request: 0}}", "21: faults[0].when: key 'token' is missing; add 'token: 1'");
    refuse("{kill: 1, when: {token: 1}}", "21: faults[0].when: key 'request' is missing; add 'request: 0'");
    refuse("{kill: 1, when: {request: 0, token: 1, seconds: 1}}",
           "21: faults[0].when: has both 'request' and 'seconds'; keep one of them");
    refuse("{kill: 1, when: {token: 1, view: 2}}", "21: faults[0].when: has both 'token' and 'view'; keep one of them");
    refuse("{kill: 1, when: {seconds: 1, view: 2}}",
           "21: faults[0].when: has both 'seconds' and 'view'; keep one of them");
    refuse("{kill: 1, when: {seconds: -0.1}}", "31: faults[0].when.seconds: must be between 0 and 1e+06, found -0.1");
    refuse("{kill: 1, when: {second: 1}}", "22: unknown key 'second' in faults[0].when; did you mean 'seconds'?");
    refuse("{kill: 1, when: {view: 1}}", "28: faults[0].when.view: must be between 2 and 1000000, found 1");
    refuse("{kill: 1, when: {request: 0, token: 0}}",
           "41: faults[0].when.token: must be between 1 and 1048576, found 0");
    refuse("{kill: 1, when: {request: 4096, token: 1}}",
           "31: faults[0].when.request: must be between 0 and 4095, found 4096");
    refuse("{kill: 1, when: {request: 2, token: 1}}",
           "31: faults[0].when.request: there is no request 2; the last one is 1");
    refuse("{kill: 1, when: {request: 0, token: 41}}",
           "41: faults[0].when.token: workload.requests[0] has at most 40 tokens; name one of them");
    refuse_text(
        "  - {kill: 1, when: {request: 1, token: 50}}\n  - {kill: 1, when: {request: 1, token: 51}}\n",
        "q.yaml: line 6, column 41: faults[1].when.token: workload.requests[1] has at most 50 tokens; name one of "
        "them");
    refuse_set(
        "workload.requests[0].max_tokens", "39",
        "q.yaml: line 5, column 41: faults[0].when.token: workload.requests[0] has at most 39 tokens; name one of "
        "them");
    refuse_set("faults[0].when.request", "7", "--set faults[0].when.request: there is no request 7; the last one is 1");
}
END_TEST

START_TEST(too_many)
{
    static char text[32768];
    size_t len = 0;
    for (uint32_t i = 0; i < GSRT_FAULT_COUNT_MAX; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "  - {kill: 1, when: {view: 2}}\n");
    gsrt_scenario *scenario = accept(text);
    ck_assert_uint_eq(scenario->fault_count, GSRT_FAULT_COUNT_MAX);
    (void)gsrt_scenario_free(scenario);
    (void)snprintf(text + len, sizeof text - len, "  - {kill: 1, when: {view: 2}}\n");
    refuse_text(text, "q.yaml: line 5, column 3: faults: must have at most 256 items, found 257");
    len = 0;
    for (uint32_t i = 0; i <= GSRT_FAULT_SIDE_COUNT_MAX; i++)
        len +=
            (size_t)snprintf(text + len, sizeof text - len, "%s[%u]", i == 0 ? "  - {for: 1, partition: [" : ", ", i);
    (void)snprintf(text + len, sizeof text - len, "], when: {view: 2}}\n");
    refuse_text(text, "q.yaml: line 5, column 25: faults[0].partition: must have at most 255 items, found 256");
}
END_TEST

START_TEST(healing)
{
    static const gsrt_scenario_set sets[] = {{"healing.restarts", "0"},
                                             {"healing.restart_window_s", "0.25"},
                                             {"healing.prefer", "in_place"},
                                             {"healing.contact_ms", "60000"}};
    gsrt_scenario *scenario = NULL;
    gsrt_diag diag = {0};
    ck_assert_msg(read_text("  []\n", sets, 4, &scenario, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_uint_eq(scenario->restart_max, 0);
    ck_assert_uint_eq(scenario->restart_window_ms, 250);
    ck_assert_int_eq(scenario->prefer, GSRT_METHOD_IN_PLACE);
    ck_assert_uint_eq(scenario->contact_ms, 60000);
    (void)gsrt_scenario_free(scenario);
    refuse_set("healing", "5", "--set healing: must be a mapping, found '5' (an integer)");
    refuse_set("healing.restarts", "65", "--set healing.restarts: must be between 0 and 64, found 65");
    refuse_set("healing.restart_window_s", "0",
               "--set healing.restart_window_s: must be between 0.001 and 86400, found 0");
    refuse_set("healing.prefer", "spares", "--set healing.prefer: unknown word 'spares'; did you mean 'spare'?");
    refuse_set("healing.contact_ms", "9", "--set healing.contact_ms: must be between 10 and 60000, found 9");
    refuse_set("healing.contact_ms", "60001", "--set healing.contact_ms: must be between 10 and 60000, found 60001");
    refuse_set("healing.contact_ms", "2.5", "--set healing.contact_ms: must be an integer, found '2.5' (a number)");
    refuse_set("healing.restart", "1",
               "--set healing.restart: unknown key 'restart' in healing; did you mean 'restarts'?");
}
END_TEST

/* Printed, read, and printed again: the same text, and the same faults. */
static void round_trip_of(const char *faults, const gsrt_scenario_set *sets, size_t set_count)
{
    gsrt_scenario *scenario = NULL, *again = NULL;
    gsrt_diag diag = {0};
    ck_assert_msg(read_text(faults, sets, set_count, &scenario, &diag) == GSRT_OK, "%s", diag.text);
    gsrt_buffer first, second;
    gsrt_buffer_init(&first, 1 << 20);
    gsrt_buffer_init(&second, 1 << 20);
    ck_assert_int_eq(gsrt_scenario_print(scenario, &first), GSRT_OK);
    gsrt_status status = gsrt_scenario_read_span(gsrt_buffer_span(&first), "again.yaml", NULL, 0, &again, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    ck_assert_int_eq(gsrt_scenario_print(again, &second), GSRT_OK);
    ck_assert(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
    ck_assert_uint_eq(again->fault_count, scenario->fault_count);
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        const gsrt_fault *a = &scenario->faults[i], *b = &again->faults[i];
        ck_assert(a->kind == b->kind && a->rank == b->rank && a->times == b->times && a->factor == b->factor);
        ck_assert(a->when.kind == b->when.kind && a->when.request == b->when.request &&
                  a->when.token == b->when.token && a->when.epoch == b->when.epoch);
        ck_assert_uint_eq(a->duration_ns, b->duration_ns);
        ck_assert_uint_eq(a->when.at_ns, b->when.at_ns);
        ck_assert(a->sides == NULL || memcmp(a->sides, b->sides, GSRT_RANK_COUNT_MAX) == 0);
    }
    ck_assert(scenario->restart_max == again->restart_max && scenario->prefer == again->prefer);
    ck_assert_uint_eq(scenario->restart_window_ms, again->restart_window_ms);
    ck_assert_uint_eq(scenario->contact_ms, again->contact_ms);
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
    (void)gsrt_scenario_free(again);
    (void)gsrt_scenario_free(scenario);
}

START_TEST(round_trip)
{
    static const char odd[] = "  - {corrupt: 2, when: {request: 0, token: 3}}\n"
                              "  - {slow: 0, factor: 1.0000000000000002, for: 599.999999999, when: {seconds: 0.1}}\n"
                              "  - {stop: 0, for: 0.0010000004, when: {seconds: 123456.789012345678}}\n"
                              "  - {stop: 0, for: 0.3333333333333333, when: {seconds: 1e-9}}\n";
    static const char *const words[] = {"auto", "in_place", "spare", "reshape"};
    round_trip_of(EVERY, NULL, 0);
    round_trip_of(odd, NULL, 0);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const gsrt_scenario_set sets[] = {{"healing.prefer", words[i]},
                                          {"healing.restarts", "64"},
                                          {"healing.restart_window_s", "0.0015"},
                                          {"healing.contact_ms", "10"}};
        round_trip_of("  []\n", sets, 4);
    }
}
END_TEST

START_TEST(shipped)
{
    const char *source = getenv("GSRT_SRCDIR");
    char path[4096];
    gsrt_diag diag = {0};
    gsrt_scenario *scenario = NULL;
    (void)snprintf(path, sizeof path, "%s/scenarios/faulted-cluster.yaml", source != NULL ? source : ".");
    ck_assert_msg(gsrt_scenario_read(path, NULL, 0, &scenario, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_uint_eq(scenario->fault_count, 2);
    ck_assert_msg(gsrt_faults_check(scenario->faults, 2, gsrt_plan_rank_count(scenario->plan), path, &diag) == GSRT_OK,
                  "%s", diag.text);
    (void)gsrt_scenario_free(scenario);
}
END_TEST

START_TEST(what_reproduces_an_incident_is_read)
{
    gsrt_incident_fault faults[] = {
        {.rank = 1, .drill = GSRT_INCIDENT_KILLED, .request = 0, .token = 40},
        {.rank = 2, .drill = GSRT_INCIDENT_STOPPED, .for_ms = 1500, .view = 2},
        {.rank = 3, .drill = GSRT_INCIDENT_PARTITION, .fault_ns = 1200000000, .for_ms = 2000},
        {.rank = 0, .drill = GSRT_INCIDENT_PARTITION, .fault_ns = 1200000000, .for_ms = 2000},
        {.rank = 2, .incarnation = 1, .detector = GSRT_DETECTOR_LINK, .proof = GSRT_PROOF_ENDED, .view = 3},
    };
    const gsrt_incident incident = {.faults = faults, .fault_count = 5};
    gsrt_buffer out;
    gsrt_buffer_init(&out, 1 << 16);
    ck_assert_int_eq(gsrt_incident_print_faults(&incident, &out), GSRT_OK);
    ck_assert_int_eq(gsrt_buffer_append(&out, "", 1), GSRT_OK);
    ck_assert(strncmp((const char *)out.data, "faults:\n", 8) == 0);
    gsrt_scenario *scenario = accept((const char *)out.data + 8);
    const gsrt_fault *read = scenario->faults;
    ck_assert_uint_eq(scenario->fault_count, 4);
    ck_assert(read[0].kind == GSRT_FAULT_KILL && read[0].rank == 1 && read[0].when.kind == GSRT_MOMENT_TOKEN);
    ck_assert(read[0].when.request == 0 && read[0].when.token == 40);
    ck_assert(read[1].kind == GSRT_FAULT_STOP && read[1].rank == 2 && read[1].when.kind == GSRT_MOMENT_VIEW);
    ck_assert(read[1].when.epoch == 2 && read[1].duration_ns == 1500000000);
    ck_assert(read[2].kind == GSRT_FAULT_PARTITION && read[2].when.kind == GSRT_MOMENT_TIME);
    ck_assert(read[2].when.at_ns == 1200000000 && read[2].duration_ns == 2000000000);
    ck_assert(read[2].sides[3] == read[2].sides[0] && read[2].sides[3] != read[2].sides[1]);
    ck_assert(read[3].kind == GSRT_FAULT_PARTITION && read[3].sides[2] != read[3].sides[0]);
    (void)gsrt_scenario_free(scenario);
    gsrt_buffer_fini(&out);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {what_reproduces_an_incident_is_read,
                            every_kind_and_moment,
                            defaults,
                            what_happens,
                            what_goes_with_it,
                            sides,
                            moments,
                            too_many,
                            healing,
                            round_trip,
                            shipped};
    return unit_run("scenario faults", tests, sizeof tests / sizeof tests[0]);
}
