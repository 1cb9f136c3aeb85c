/* report.json and plan.json: what is in them, the same bytes every time, the exact verdict.
 * With --sample NAME this program prints a sample of each kind of file, for tests/checks/schemas.py. */
#include "launch/report.h"

#include "base/json.h"
#include "launch/scenario.h"
#include "launch/tokens.h"
#include "tests/unit.h"

#include <stdio.h>
#include <unistd.h>

static uint32_t ranks[][2] = {{0, 1}, {2, 0}}, shares[][2] = {{3, 5}, {1, 0}}, spares[] = {3};
static gsrt_plan_stage stages[] = {
    {.layer_first = 0, .layer_last = 2, .member_count = 2, .ranks = ranks[0], .shares = shares[0]},
    {.layer_first = 3, .layer_last = 4, .member_count = 1, .ranks = ranks[1], .shares = shares[1]},
};
static const gsrt_plan plan = {.stages = stages, .stage_count = 2, .spares = spares, .spare_count = 1};
static const char *const hosts[] = {"a", "a", "b", "b"};
static const gsrt_workload workload = {.name = "tiny",
                                       .architecture = "llama",
                                       .layer_count = 5,
                                       .head_count = 6,
                                       .vocab_count = 1024,
                                       .parameter_count = 9};
static const uint32_t prompt[] = {1, 403}, answer[] = {5, 6, 7};

static const gsrt_report_request requests[] = {
    {.prompt_tokens = prompt,
     .prompt_token_count = 2,
     .tokens = answer,
     .token_count = 3,
     .text = "a \"b\"\n\xff",
     .finish = "length",
     .ttft_ms = 12.34567,
     .decode_tokens_per_s = 100,
     .prefix_tokens_reused = 1},
    {.finish = "refused", .error = "does not fit", .ttft_ms = -1, .decode_tokens_per_s = -1},
};
static const gsrt_report_rank report_ranks[] = {
    {.rank = 0,
     .host = "h",
     .pid = 42,
     .has_role = true,
     .stage = 1,
     .member = 0,
     .isa = "avx2",
     .thread_count = 1,
     .weight_bytes_touched = UINT64_C(1) << 40,
     .steps = 7,
     .pack_ms = 1.5,
     .load_ms = 0.25},
    {.rank = 3, .host = "h", .pid = 43, .isa = "scalar", .thread_count = 1, .pack_ms = -1, .load_ms = -1},
};
static const gsrt_report_backend backends[] = {
    {.rank = 0, .kind = "cpu", .name = "a processor", .busy_ns = 1500000},
    {.rank = 3, .kind = "profile", .name = "npu", .is_simulated = true, .energy_j = 2.5, .temperature_c = 40.125},
};

static const uint32_t lost_ranks[] = {1, 2};
static const gsrt_report_failure failures[] = {
    {.incident = 1,
     .kind = "killed",
     .ranks = lost_ranks,
     .rank_count = 2,
     .detected_ms = 1.25,
     .recovered_ms = 21.4,
     .recomputed_tokens = 40,
     .method = "spare"},
    {.incident = 2, .kind = "unknown", .ranks = lost_ranks, .rank_count = 1, .detected_ms = -1, .recovered_ms = -1},
};

static const gsrt_report_replicas replicas = {.restored_positions = 128};

static const gsrt_report_move moves[] = {
    {.member = 1, .from = 1, .to = 3, .outcome = GSRT_MOVE_DONE, .pause_ms = 0.25, .bytes = 4096},
    {.stage = 1, .from = 2, .to = 3, .outcome = GSRT_MOVE_REFUSED, .pause_ms = -1, .why = "rank 3 has a role"},
};

static gsrt_report sample(void)
{
    return (gsrt_report){
        .name = "quickstart",
        .world = "real",
        .model_file = "tiny.gguf",
        .contract = {.kind = "bitwise", .is_verified = true, .compared = 200},
        .requests = requests,
        .request_count = 2,
        .plan = &plan,
        .workload = &workload,
        .ranks = report_ranks,
        .rank_count = 2,
        .backends = backends,
        .backend_count = 2,
        .replicas = &replicas,
        .failures = failures,
        .failure_count = 2,
        .moves = moves,
        .move_count = 2,
        .versions = {.gsrt = "0.1.0", .numerics = "1", .compiler = "cc"},
        .times =
            {.started = "2026-01-02T03:04:05Z", .load_ms = 1, .generate_ms = 2.0004, .verify_ms = -1, .total_ms = 9},
    };
}

/* The report as parsed again; json_decref it. */
static json_t *written(const gsrt_report *report)
{
    gsrt_buffer out;
    json_t *value = NULL;
    gsrt_diag diag = {0};
    gsrt_buffer_init(&out, 1 << 20);
    ck_assert_int_eq(gsrt_report_write_json(report, &out), GSRT_OK);
    gsrt_status status = gsrt_json_parse(gsrt_buffer_span(&out), "report.json", &value, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    gsrt_buffer_fini(&out);
    return value;
}

START_TEST(what_is_in_a_report)
{
    gsrt_report report = sample();
    json_t *value = written(&report);
    const char *schema, *text, *finish, *error;
    int code, reused, stage, compared;
    int is_kept, is_simulated, is_spare_null, heads;
    json_int_t touched;
    double ttft, generate;
    json_t *stage_of_spare;
    ck_assert_int_eq(
        json_unpack(value,
                    "{s:s, s:i, s:{s:b, s:i}, s:[{s:s, s:s, s:f, s:i}, {s:s}], s:[{s:i, s:I}, {s:o}], s:[{}, {s:b}]}",
                    "schema", &schema, "exit", &code, "contract", "kept", &is_kept, "compared", &compared, "requests",
                    "text", &text, "finish", &finish, "ttft_ms", &ttft, "prefix_tokens_reused", &reused, "error",
                    &error, "ranks", "stage", &stage, "weight_bytes_touched", &touched, "stage", &stage_of_spare,
                    "backends", "simulated", &is_simulated),
        0);
    ck_assert_str_eq(schema, "gsrt-report/1");
    ck_assert_int_eq(code, 0);
    ck_assert(is_kept && compared == 200 && reused == 1 && stage == 1 && is_simulated);
    ck_assert_str_eq(text, "a \"b\"\n\xef\xbf\xbd");
    ck_assert_str_eq(finish, "length");
    ck_assert_str_eq(error, "does not fit");
    ck_assert(ttft == 12.346); /* a thousandth of a millisecond is enough */
    ck_assert(touched == (json_int_t)1 << 40);
    is_spare_null = json_is_null(stage_of_spare);
    ck_assert(is_spare_null);
    ck_assert_int_eq(json_unpack(value, "{s:{s:[{s:[i]}]}, s:{s:F}}", "plan", "stages", "heads", &heads, "times",
                                 "generate_ms", &generate),
                     0);
    ck_assert_int_eq(heads, 2); /* 6 heads by 3:5 */
    ck_assert(generate == 2);
    ck_assert(json_is_null(json_object_get(json_object_get(value, "times"), "verify_ms")));
    ck_assert(json_is_null(json_object_get(value, "error")));
    ck_assert_ptr_null(json_object_get(json_array_get(json_object_get(value, "backends"), 0), "energy_j"));
    ck_assert_uint_eq(json_array_size(json_object_get(json_array_get(json_object_get(value, "requests"), 0), "tokens")),
                      3);
    json_decref(value);
}
END_TEST

START_TEST(failures_are_listed)
{
    gsrt_report report = sample();
    json_t *value = written(&report), *detected, *recovered, *method;
    int incident, first, second, lost, recomputed;
    double detected_ms, recovered_ms;
    const char *kind, *spare;
    ck_assert_int_eq(json_unpack(value, "{s:[{s:i, s:s, s:[i, i], s:F, s:F, s:i, s:i, s:s}, {s:o, s:o, s:o}]}",
                                 "failures", "incident", &incident, "kind", &kind, "ranks", &first, &second,
                                 "detected_ms", &detected_ms, "recovered_ms", &recovered_ms, "lost_tokens", &lost,
                                 "recomputed_tokens", &recomputed, "method", &spare, "detected_ms", &detected,
                                 "recovered_ms", &recovered, "method", &method),
                     0);
    ck_assert(incident == 1 && first == 1 && second == 2 && lost == 0 && recomputed == 40);
    ck_assert(detected_ms == 1.25 && recovered_ms == 21.4);
    ck_assert_str_eq(kind, "killed");
    ck_assert_str_eq(spare, "spare");
    bool are_unknown = json_is_null(detected) && json_is_null(recovered) && json_is_null(method);
    ck_assert(are_unknown);
    json_decref(value);
    report.failures = NULL;
    report.failure_count = 0;
    value = written(&report);
    bool is_empty_list =
        json_is_array(json_object_get(value, "failures")) && json_array_size(json_object_get(value, "failures")) == 0;
    ck_assert(is_empty_list);
    json_decref(value);
}
END_TEST

START_TEST(moves_are_listed)
{
    gsrt_report report = sample();
    json_t *value = written(&report), *pause, *why;
    int stage, member, from, to, bytes;
    double pause_ms;
    const char *outcome, *other;
    ck_assert_int_eq(json_unpack(value, "{s:[{s:i, s:i, s:i, s:i, s:s, s:F, s:i, s:o}, {s:s, s:o}]}", "moves", "stage",
                                 &stage, "member", &member, "from", &from, "to", &to, "outcome", &outcome, "pause_ms",
                                 &pause_ms, "bytes", &bytes, "why", &why, "outcome", &other, "pause_ms", &pause),
                     0);
    ck_assert(stage == 0 && member == 1 && from == 1 && to == 3 && pause_ms == 0.25 && bytes == 4096);
    ck_assert_str_eq(outcome, "done");
    ck_assert_str_eq(other, "refused");
    bool is_unknown = json_is_null(pause) && json_is_null(why);
    ck_assert(is_unknown);
    json_decref(value);
}
END_TEST

START_TEST(a_run_that_failed_has_a_report)
{
    gsrt_report report = {.exit_code = 2,
                          .name = "x",
                          .world = "real",
                          .error = "x.yaml: bad",
                          .contract = {.kind = "bitwise"},
                          .versions = {.gsrt = "0.1.0", .numerics = "1"},
                          .times = {.load_ms = -1, .generate_ms = -1, .verify_ms = -1, .total_ms = -1}};
    json_t *value = written(&report);
    ck_assert_str_eq(json_string_value(json_object_get(value, "error")), "x.yaml: bad");
    ck_assert(json_is_null(json_object_get(value, "plan")));
    ck_assert(json_is_null(json_object_get(json_object_get(value, "contract"), "kept")));
    json_decref(value);
}
END_TEST

START_TEST(the_same_bytes_every_time)
{
    gsrt_report report = sample();
    gsrt_buffer first, second, small;
    gsrt_buffer_init(&first, 1 << 20);
    gsrt_buffer_init(&second, 1 << 20);
    gsrt_buffer_init(&small, 300);
    ck_assert_int_eq(gsrt_report_write_json(&report, &first), GSRT_OK);
    ck_assert_int_eq(gsrt_report_write_json(&report, &second), GSRT_OK);
    ck_assert(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
    ck_assert_int_eq(gsrt_report_write_json(&report, &small), GSRT_ELIMIT);
    ck_assert_uint_eq(small.len, 0);
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
    gsrt_buffer_fini(&small);
}
END_TEST

START_TEST(plan_file)
{
    gsrt_buffer out;
    gsrt_buffer_init(&out, 1 << 16);
    ck_assert_int_eq(gsrt_report_write_plan_json(&plan, NULL, 0, NULL, false, NULL, &out), GSRT_OK);
    ck_assert_int_eq(gsrt_buffer_append(&out, "", 1), GSRT_OK);
    ck_assert_str_eq((const char *)out.data,
                     "{\n  \"schema\": \"gsrt-plan/1\",\n  \"stages\": [\n    {\n      \"layers\": [0, 2],\n"
                     "      \"ranks\": [0, 1],\n      \"split\": [3, 5]\n    },\n    {\n      \"layers\": [3, 4],\n"
                     "      \"ranks\": [2],\n      \"split\": [1]\n    }\n  ],\n  \"spares\": [3],\n"
                     "  \"exchange\": \"auto\",\n"
                     "  \"narrowed\": []\n}\n");
    gsrt_buffer_fini(&out);
}
END_TEST

/* What the ranks streamed is added up; without replicas there is nothing to say. */
START_TEST(replicas_in_a_report)
{
    gsrt_report report = sample();
    gsrt_report_rank two[2] = {report_ranks[0], report_ranks[1]};
    two[0].kv_streamed_bytes = 1000;
    two[1].kv_streamed_bytes = 234;
    two[1].kv_gathered_bytes = 55;
    report.ranks = two;
    json_t *value = written(&report);
    int streamed, gathered, positions, of_second;
    ck_assert_int_eq(json_unpack(value, "{s:{s:i, s:i, s:i}, s:[{}, {s:i}]}", "replicas", "streamed_bytes", &streamed,
                                 "gathered_bytes", &gathered, "restored_positions", &positions, "ranks",
                                 "kv_streamed_bytes", &of_second),
                     0);
    ck_assert(streamed == 1234 && gathered == 55 && positions == 128 && of_second == 234);
    json_decref(value);
    report.replicas = NULL;
    value = written(&report);
    ck_assert(json_is_null(json_object_get(value, "replicas")));
    json_decref(value);
}
END_TEST

/* Who keeps whose KV a second time, and who has nobody for it. */
START_TEST(replicas_of_a_plan)
{
    static uint32_t alone_rank[] = {0}, alone_share[] = {1};
    static gsrt_plan_stage alone_stage[] = {{0, 4, 1, alone_rank, alone_share}};
    const gsrt_plan alone = {.stages = alone_stage, .stage_count = 1};
    static const struct {
        uint32_t rank, on;
        bool is_other_host;
    } wanted[] = {{0, 3, true}, {1, 3, true}, {2, 0, true}};
    gsrt_buffer out;
    json_t *value;
    gsrt_buffer_init(&out, 1 << 16);
    ck_assert_int_eq(gsrt_report_write_plan_json(&plan, &workload, 4, hosts, true, NULL, &out), GSRT_OK);
    ck_assert_int_eq(gsrt_json_parse(gsrt_buffer_span(&out), "plan.json", &value, NULL), GSRT_OK);
    const json_t *all = json_object_get(value, "replicas");
    ck_assert_uint_eq(json_array_size(all), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *one = json_array_get(all, i);
        ck_assert_int_eq(json_integer_value(json_object_get(one, "rank")), wanted[i].rank);
        ck_assert_int_eq(json_integer_value(json_object_get(one, "on")), wanted[i].on);
        ck_assert_int_eq(json_is_true(json_object_get(one, "other_host")), wanted[i].is_other_host);
    }
    json_decref(value);
    gsrt_buffer_reset(&out);
    ck_assert_int_eq(gsrt_report_write_plan_json(&alone, NULL, 1, NULL, true, NULL, &out), GSRT_OK);
    ck_assert_int_eq(gsrt_json_parse(gsrt_buffer_span(&out), "plan.json", &value, NULL), GSRT_OK);
    ck_assert(json_is_null(json_object_get(json_array_get(json_object_get(value, "replicas"), 0), "on")));
    json_decref(value);
    gsrt_buffer_fini(&out);
}
END_TEST

/* Every rank and every host, each with what becomes of the plan, or why not. */
START_TEST(fallbacks_of_a_plan)
{
    static const char *const one_host[] = {"a", "a", "a", "a"};
    gsrt_buffer out;
    json_t *value;
    gsrt_buffer_init(&out, 1 << 16);
    ck_assert_int_eq(gsrt_report_write_plan_json(&plan, &workload, 4, hosts, false, NULL, &out), GSRT_OK);
    ck_assert_int_eq(gsrt_json_parse(gsrt_buffer_span(&out), "plan.json", &value, NULL), GSRT_OK);
    const json_t *all = json_object_get(value, "fallbacks");
    ck_assert_uint_eq(json_array_size(all), 4 + 2);
    static const char *const ways[] = {"spare", "spare", "spare", "full", "reshaped", "reshaped"};
    for (size_t i = 0; i < 6; i++) {
        const json_t *fallback = json_array_get(all, i);
        ck_assert(json_is_true(json_object_get(fallback, "protected")));
        ck_assert_str_eq(json_string_value(json_object_get(fallback, "way")), ways[i]);
        ck_assert_uint_eq(json_array_size(json_object_get(fallback, "without")), i < 4 ? 1 : 2);
    }
    json_decref(value);
    gsrt_buffer_reset(&out);
    ck_assert_int_eq(gsrt_report_write_plan_json(&plan, &workload, 4, one_host, false, NULL, &out), GSRT_OK);
    ck_assert_int_eq(gsrt_json_parse(gsrt_buffer_span(&out), "plan.json", &value, NULL), GSRT_OK);
    const json_t *host = json_array_get(json_object_get(value, "fallbacks"), 4);
    ck_assert(json_is_false(json_object_get(host, "protected")));
    ck_assert_str_eq(json_string_value(json_object_get(host, "why")), "nobody is left");
    json_decref(value);
    gsrt_buffer_fini(&out);
}
END_TEST

START_TEST(verdicts)
{
    static const struct {
        gsrt_report_contract contract;
        const char *wanted;
    } cases[] = {
        {{.kind = "bitwise", .is_verified = true, .compared = 200},
         "contract bitwise: kept (200 of 200 logit hashes equal the reference)"},
        {{.kind = "bitwise",
          .is_verified = true,
          .compared = 200,
          .different = 3,
          .first_request = 1,
          .first_index = 17},
         "contract bitwise: VIOLATED (3 of 200 logit hashes differ from the reference; first: request 1, token 17)"},
        {{.kind = "bitwise"}, "contract bitwise: not verified (verify: none)"},
        {{.kind = "bitwise", .unverified_because = "the run failed"},
         "contract bitwise: not verified (the run failed)"},
        {{.kind = "bitwise", .is_verified = true}, "contract bitwise: not verified (there was nothing to compare)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gsrt_buffer out;
        gsrt_buffer_init(&out, 1024);
        ck_assert_int_eq(gsrt_report_print_verdict(&cases[i].contract, &out), GSRT_OK);
        ck_assert_int_eq(gsrt_buffer_append(&out, "", 1), GSRT_OK);
        ck_assert_str_eq((const char *)out.data, cases[i].wanted);
        gsrt_buffer_fini(&out);
    }
}
END_TEST

/* ---- samples ---- */

static gsrt_status print_tokens(void)
{
    gsrt_tokens *tokens;
    gsrt_status status = gsrt_tokens_create(dup(STDOUT_FILENO), 1, &tokens);
    for (uint32_t i = 0; i < 3 && status == GSRT_OK; i++) {
        const gsrt_token token = {.index = i, .token = answer[i], .text = gsrt_span_of("\xc3\xa9\n", i), .hash_low = i};
        status = gsrt_tokens_append(tokens, &token);
    }
    (void)gsrt_tokens_free(tokens);
    return status;
}

static gsrt_status print_scenario(gsrt_buffer *out)
{
    static const char text[] =
        "{gsrt: 1, name: a, workload: {model: m, requests: [{prompt: \"x\\x85y\"}, {prompt_tokens: "
        "[1]}]}, plan: {stages: [{layers: [0, 1], ranks: [0, 1]}], spares: [2]}, output: {logits: "
        "l}, fleet: {devices: [{rank: 0, profile: p, threads: 2}, {rank: 1}]}, faults: [{kill: 1, times: 2, when: "
        "{request: 0, token: 4}}, {stop: 2, for: 0.5, when: {seconds: 1}}, {partition: [[2, 0]], for: 3, when: {view: "
        "2}}, {slow: 0, factor: 1.5, for: 6e2, when: {seconds: 0}}]}";
    gsrt_scenario *scenario;
    gsrt_status status = gsrt_scenario_read_span(gsrt_span_of_text(text), "/s/a.yaml", NULL, 0, &scenario, NULL);
    if (status != GSRT_OK)
        return status;
    status = gsrt_scenario_print(scenario, out);
    (void)gsrt_scenario_free(scenario);
    return status;
}

static int print_sample(const char *name)
{
    gsrt_buffer out;
    gsrt_report report = sample();
    gsrt_status status = GSRT_EINVAL;
    gsrt_buffer_init(&out, 1 << 20);
    if (strcmp(name, "report") == 0)
        status = gsrt_report_write_json(&report, &out);
    else if (strcmp(name, "plan") == 0)
        status = gsrt_report_write_plan_json(&plan, &workload, 4, hosts, true, NULL, &out);
    else if (strcmp(name, "scenario") == 0)
        status = print_scenario(&out);
    else if (strcmp(name, "tokens") == 0)
        status = print_tokens();
    if (status == GSRT_OK && out.len > 0)
        (void)fwrite(out.data, 1, out.len, stdout);
    gsrt_buffer_fini(&out);
    return status == GSRT_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--sample") == 0)
        return print_sample(argv[2]);
    const TTest *tests[] = {what_is_in_a_report,       failures_are_listed,
                            moves_are_listed,          a_run_that_failed_has_a_report,
                            the_same_bytes_every_time, plan_file,
                            replicas_in_a_report,      replicas_of_a_plan,
                            fallbacks_of_a_plan,       verdicts};
    return unit_run("report", tests, sizeof tests / sizeof tests[0]);
}
