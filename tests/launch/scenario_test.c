/* Scenarios: what is read, what is refused and in which words, overrides, and the way back through print. */
#include "launch/scenario.h"

#include "base/limits.h"
#include "placement/search.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char GOOD[] = "gsrt: 1\n"
                           "name: quickstart\n"
                           "workload:\n"
                           "  model: models/tiny.gguf\n"
                           "  requests:\n"
                           "    - {prompt: \"Once upon a time\", max_tokens: 200, temperature: 0, seed: 1}\n"
                           "    - {prompt_tokens: [1, 403], ignore_eos: true, temperature: 0.7, top_k: 5, top_p: 0.9}\n"
                           "contract: bitwise\n"
                           "plan:\n"
                           "  stages:\n"
                           "    - {layers: [0, 2], ranks: [0, 1], split: [3, 5]}\n"
                           "    - {layers: [3, 4], ranks: [2, 4]}\n"
                           "  spares: [3]\n"
                           "verify: reference\n"
                           "output: {logits: FILE}\n";

static gsrt_scenario *read_text(const char *text, const gsrt_scenario_set *sets, size_t set_count)
{
    gsrt_diag diag = {0};
    gsrt_scenario *scenario = NULL;
    gsrt_status status =
        gsrt_scenario_read_span(gsrt_span_of_text(text), "/s/q.yaml", sets, set_count, &scenario, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    return scenario;
}

START_TEST(everything_is_read)
{
    gsrt_scenario *scenario = read_text(GOOD, NULL, 0);
    ck_assert_str_eq(scenario->file, "/s/q.yaml");
    ck_assert_str_eq(scenario->name, "quickstart");
    ck_assert_str_eq(scenario->model, "/s/models/tiny.gguf");
    ck_assert_uint_eq(scenario->request_count, 2);
    const gsrt_scenario_request *first = &scenario->requests[0], *second = &scenario->requests[1];
    ck_assert_str_eq(first->prompt, "Once upon a time");
    ck_assert_ptr_null(first->prompt_tokens);
    ck_assert_uint_eq(first->max_tokens, 200);
    ck_assert(first->temperature == 0 && first->top_p == 1 && first->top_k == 0 && !first->is_ignoring_eos);
    ck_assert_uint_eq(first->seed, 1);
    ck_assert_str_eq(first->place, "workload.requests[0]");
    ck_assert_ptr_null(second->prompt);
    ck_assert_uint_eq(second->prompt_token_count, 2);
    ck_assert_uint_eq(second->prompt_tokens[1], 403);
    ck_assert(second->temperature == 0.7F && second->top_p == 0.9F && second->top_k == 5 && second->is_ignoring_eos);
    ck_assert_uint_eq(second->max_tokens, GSRT_SCENARIO_MAX_TOKENS_DEFAULT);
    const gsrt_plan *plan = scenario->plan;
    ck_assert_uint_eq(plan->stage_count, 2);
    ck_assert_uint_eq(plan->stages[0].layer_last, 2);
    ck_assert_uint_eq(plan->stages[0].shares[1], 5);
    ck_assert_uint_eq(plan->stages[1].shares[0], plan->stages[1].shares[1]);
    ck_assert_uint_eq(plan->spare_count, 1);
    ck_assert_int_eq(plan->exchange, GSRT_EXCHANGE_AUTO);
    ck_assert(scenario->is_verifying);
    ck_assert_str_eq(scenario->logits_file, "FILE");
    ck_assert_uint_eq(scenario->twin_rank_count, 5);
    (void)gsrt_scenario_free(scenario);
    ck_assert_ptr_null(gsrt_scenario_free(NULL));
}
END_TEST

START_TEST(defaults)
{
    gsrt_scenario *scenario = read_text("gsrt: 1\nname: a\nworkload: {model: /m.gguf, requests: [{prompt: ''}]}\n"
                                        "plan: {stages: [{layers: [0, 0], ranks: [0]}]}\n",
                                        NULL, 0);
    ck_assert_str_eq(scenario->model, "/m.gguf");
    ck_assert_str_eq(scenario->contract, "bitwise");
    ck_assert(!scenario->is_verifying && scenario->is_packing && scenario->is_reusing_prefixes && scenario->is_binding);
    ck_assert(scenario->is_numeric_in_twin && scenario->time_scale == 1 && scenario->link.latency_us == 5);
    ck_assert(scenario->link.bandwidth_gbps == 100);
    ck_assert_uint_eq(scenario->thread_count, 1);
    ck_assert_uint_eq(scenario->prefill_chunk, GSRT_BATCH_ROWS_MAX);
    ck_assert_uint_eq(scenario->batch_requests, 8);
    ck_assert_uint_eq(scenario->kv_block_count, 0);
    ck_assert_int_eq(scenario->spin_us, -1);
    ck_assert_uint_eq(scenario->twin_seed, 1);
    ck_assert_ptr_null(scenario->logits_file);
    (void)gsrt_scenario_free(scenario);
}
END_TEST

START_TEST(overrides)
{
    static const gsrt_scenario_set sets[] = {
        {"workload.requests[0].seed", "18446744073709551615"},
        {"workload.requests[1].prompt_tokens", "[7]"},
        {"plan.exchange", "reduce"},
        {"plan.stages[0].split", "[0, 1]"},
        {"runtime.threads", "2"},
        {"runtime.spin_us", "-1"},
        {"twin.link", "{latency_us: 2.5, bandwidth_gbps: 10}"},
        {"twin.numerics", "false"},
        {"fleet.devices", "[{rank: 1, profile: p.json}, {rank: 0, threads: 3}]"},
        {"workload.model", "/abs/m.gguf"},
    };
    gsrt_scenario *scenario = read_text(GOOD, sets, sizeof sets / sizeof sets[0]);
    ck_assert_uint_eq(scenario->requests[0].seed, UINT64_MAX);
    ck_assert_uint_eq(scenario->requests[1].prompt_tokens[0], 7);
    ck_assert_int_eq(scenario->plan->exchange, GSRT_EXCHANGE_REDUCE);
    ck_assert_uint_eq(scenario->plan->stages[0].shares[0], 0);
    ck_assert_uint_eq(scenario->thread_count, 2);
    ck_assert(scenario->link.latency_us == 2.5 && scenario->link.bandwidth_gbps == 10);
    ck_assert(!scenario->is_numeric_in_twin);
    ck_assert_uint_eq(scenario->device_count, 2);
    ck_assert_uint_eq(scenario->devices[1].thread_count, 3);
    ck_assert_ptr_null(scenario->devices[1].profile);
    ck_assert_str_eq(scenario->model, "/abs/m.gguf");
    char here[4096], wanted[4200];
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    (void)snprintf(wanted, sizeof wanted, "%s/p.json", here); /* of --set: relative to the working directory */
    ck_assert_str_eq(scenario->devices[0].profile, wanted);
    (void)gsrt_scenario_free(scenario);
}
END_TEST

START_TEST(paths_are_relative_to_the_file)
{
    static const struct {
        const char *file, *model, *wanted;
    } cases[] = {
        {"/s/q.yaml", "m.gguf", "/s/m.gguf"},
        {"/s/q.yaml", "../m.gguf", "/m.gguf"},
        {"/s/q.yaml", "./a/./m.gguf", "/s/a/./m.gguf"},
        {"/q.yaml", "../../m.gguf", "/m.gguf"},
        {"/s/t/q.yaml", "..//..//m", "/m"},
        {"/s/q.yaml", "/m", "/m"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        (void)snprintf(
            text, sizeof text,
            "{gsrt: 1, name: a, workload: {model: %s, requests: [{prompt: x}]}, plan: {stages: [{layers: [0, "
            "0], ranks: [0]}]}}",
            cases[i].model);
        gsrt_scenario *scenario;
        ck_assert_int_eq(gsrt_scenario_read_span(gsrt_span_of_text(text), cases[i].file, NULL, 0, &scenario, NULL),
                         GSRT_OK);
        ck_assert_str_eq(scenario->model, cases[i].wanted);
        (void)gsrt_scenario_free(scenario);
    }
}
END_TEST

/* ---- errors ---- */

static void refuse_text(const char *text, const char *wanted)
{
    gsrt_diag diag = {0};
    gsrt_scenario *scenario = NULL;
    gsrt_status status = gsrt_scenario_read_span(gsrt_span_of_text(text), "q.yaml", NULL, 0, &scenario, &diag);
    ck_assert_ptr_null(scenario);
    ck_assert_str_eq(diag.text, wanted);
    ck_assert_str_eq(gsrt_status_name(status), "EINPUT");
}

/* GOOD with the first `from` replaced by `to`. */
static void refuse_edit(const char *from, const char *to, const char *wanted)
{
    static char text[8192];
    const char *at = strstr(GOOD, from);
    ck_assert_ptr_nonnull(at);
    (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - GOOD), GOOD, to, at + strlen(from));
    refuse_text(text, wanted);
}

static void refuse_set(const char *key, const char *value, const char *wanted)
{
    gsrt_diag diag = {0};
    gsrt_scenario *scenario = NULL;
    const gsrt_scenario_set set = {key, value};
    gsrt_status status = gsrt_scenario_read_span(gsrt_span_of_text(GOOD), "q.yaml", &set, 1, &scenario, &diag);
    ck_assert_str_eq(diag.text, wanted);
    ck_assert_str_eq(gsrt_status_name(status), "EINPUT");
    ck_assert_ptr_null(scenario);
}

START_TEST(unknown_keys_are_suggested)
{
    refuse_edit(
        "  model:", "  modle:", "q.yaml: line 4, column 3: unknown key 'modle' in workload; did you mean 'model'?");
    refuse_edit("contract:", "contrcat:",
                "q.yaml: line 8, column 1: unknown key 'contrcat' in the scenario; did you mean 'contract'?");
    refuse_edit(
        "max_tokens", "max_token",
        "q.yaml: line 6, column 36: unknown key 'max_token' in workload.requests[0]; did you mean 'max_tokens'?");
    refuse_edit("split", "spilt",
                "q.yaml: line 11, column 39: unknown key 'spilt' in plan.stages[0]; did you mean 'split'?");
    refuse_edit("output: {logits: FILE}", "output: {zebra: FILE}",
                "q.yaml: line 15, column 10: unknown key 'zebra' in output; known are logits");
    refuse_edit(
        "verify: reference", "replicas: 3",
        "q.yaml: line 14, column 1: unknown key 'replicas' in the scenario; known are gsrt, name, workload, "
        "contract, evidence, objective, demand, rules, plan, verify, watch, output, faults, moves, healing, runtime, "
        "fleet, twin");
    refuse_set("runtime.thread", "1", "--set runtime.thread: unknown key 'thread' in runtime; did you mean 'threads'?");
}
END_TEST

START_TEST(missing_keys_are_named)
{
    refuse_text("", "q.yaml: line 1, column 1: must be a mapping, found nothing");
    refuse_text("[1]", "q.yaml: line 1, column 1: must be a mapping, found a list");
    refuse_text("just text", "q.yaml: line 1, column 1: must be a mapping, found 'just text' (text)");
    refuse_edit("gsrt: 1\n", "", "q.yaml: line 1, column 1: key 'gsrt' is missing; add 'gsrt: 1'");
    refuse_edit("name: quickstart\n", "", "q.yaml: line 1, column 1: key 'name' is missing; add 'name: NAME'");
    refuse_edit("  model: models/tiny.gguf\n", "",
                "q.yaml: line 4, column 3: workload: key 'model' is missing; add 'model: FILE.gguf'");
    refuse_edit("layers: [3, 4], ", "",
                "q.yaml: line 12, column 7: plan.stages[1]: key 'layers' is missing; add 'layers: [FIRST, LAST]'");
    refuse_edit("ranks: [2, 4]", "",
                "q.yaml: line 12, column 7: plan.stages[1]: key 'ranks' is missing; add 'ranks: [0]'");
    refuse_text("{gsrt: 1, name: a, workload: {model: m, requests: [{prompt: x}]}}",
                "q.yaml: line 1, column 1: key 'plan' is missing; add 'plan: auto'");
    refuse_text("{gsrt: 1, name: a, plan: {stages: [{layers: [0, 0], ranks: [0]}]}}",
                "q.yaml: line 1, column 1: key 'workload' is missing; add 'workload: {model: FILE.gguf, requests: "
                "[{prompt: \"...\"}]}'");
    refuse_set("fleet.devices", "[{threads: 1}]",
               "--set fleet.devices: fleet.devices[0]: key 'rank' is missing; add 'rank: 0'");
}
END_TEST

START_TEST(versions_and_names)
{
    refuse_edit(
        "gsrt: 1", "gsrt: 2",
        "q.yaml: line 1, column 7: gsrt: version 2 of the scenario format is not supported; this is GSRT " GSRT_VERSION
        ", which reads version 1");
    refuse_edit("gsrt: 1", "gsrt: one",
                "q.yaml: line 1, column 7: gsrt: must be the version of the format, 1, found 'one' (text)");
    refuse_text("{gsrt: 2, other: keys}", "q.yaml: line 1, column 8: gsrt: version 2 of the scenario format is not "
                                          "supported; this is GSRT " GSRT_VERSION ", which reads version 1");
    refuse_edit("name: quickstart", "name: 5",
                "q.yaml: line 2, column 7: name: must be text, found '5' (an integer); put it in quotes");
    refuse_edit("name: quickstart", "name: \"\"", "q.yaml: line 2, column 7: name: must not be empty");
    refuse_edit("name: quickstart", "name: a/b",
                "q.yaml: line 2, column 7: name: 'a/b' cannot name a directory; use letters, digits, '_', '-' and '.', "
                "and begin with a letter or digit");
    refuse_edit("name: quickstart", "name: ..",
                "q.yaml: line 2, column 7: name: '..' cannot name a directory; use letters, digits, '_', '-' and '.', "
                "and begin with a letter or digit");
}
END_TEST

START_TEST(wrong_types)
{
    refuse_edit("max_tokens: 200", "max_tokens: many",
                "q.yaml: line 6, column 48: workload.requests[0].max_tokens: must be an integer, found 'many' (text)");
    refuse_edit(
        "max_tokens: 200", "max_tokens: 2.5",
        "q.yaml: line 6, column 48: workload.requests[0].max_tokens: must be an integer, found '2.5' (a number)");
    refuse_edit("max_tokens: 200", "max_tokens: 0x10",
                "q.yaml: line 6, column 48: workload.requests[0].max_tokens: must be an integer, found '0x10' (an "
                "ambiguous word)");
    refuse_edit("max_tokens: 200", "max_tokens: ",
                "q.yaml: line 6, column 48: workload.requests[0].max_tokens: must be an integer, found nothing");
    refuse_edit("seed: 1", "seed: []",
                "q.yaml: line 6, column 75: workload.requests[0].seed: must be an integer, found a list");
    refuse_edit("temperature: 0,", "temperature: hot,",
                "q.yaml: line 6, column 66: workload.requests[0].temperature: must be a number, found 'hot' (text)");
    refuse_edit("ignore_eos: true", "ignore_eos: yes",
                "q.yaml: line 7, column 45: workload.requests[1].ignore_eos: must be true or false, found 'yes' (an "
                "ambiguous word)");
    refuse_edit("ranks: [2, 4]", "ranks: 2",
                "q.yaml: line 12, column 31: plan.stages[1].ranks: must be a list of integers, found '2' (an integer)");
    refuse_edit("ranks: [2, 4]", "ranks: [2, x]",
                "q.yaml: line 12, column 35: plan.stages[1].ranks[1]: must be an integer, found 'x' (text)");
    refuse_edit("model: models/tiny.gguf", "model: {a: b}",
                "q.yaml: line 4, column 10: workload.model: must be text, found a mapping");
    refuse_edit(
        "prompt: \"Once upon a time\"", "prompt: 1984",
        "q.yaml: line 6, column 16: workload.requests[0].prompt: must be text, found '1984' (an integer); put it "
        "in quotes");
    refuse_set("plan", "none", "--set plan: unknown word 'none'; it must be one of auto");
    refuse_set("plan.stages", "{}", "--set plan.stages: must be a list, found a mapping");
    refuse_set("workload.requests[0]", "hello", "--set workload.requests[0]: must be a mapping, found 'hello' (text)");
}
END_TEST

START_TEST(out_of_range)
{
    refuse_set("workload.requests[0].max_tokens", "0",
               "--set workload.requests[0].max_tokens: must be between 1 and 1048576, found 0");
    refuse_set("workload.requests[0].max_tokens", "-5",
               "--set workload.requests[0].max_tokens: must be between 1 and 1048576, found -5");
    refuse_set("workload.requests[0].max_tokens", "99999999999999999999999",
               "--set workload.requests[0].max_tokens: must be between 1 and 1048576, found 99999999999999999999999");
    refuse_set("workload.requests[0].seed", "-1",
               "--set workload.requests[0].seed: must be between 0 and 18446744073709551615, found -1");
    refuse_set("workload.requests[0].seed", "18446744073709551616",
               "--set workload.requests[0].seed: must be between 0 and 18446744073709551615, found "
               "18446744073709551616");
    refuse_set("workload.requests[0].temperature", "-0.1",
               "--set workload.requests[0].temperature: must be between 0 and 100, found -0.1");
    refuse_set("workload.requests[0].temperature", ".nan",
               "--set workload.requests[0].temperature: must be a finite number, found .nan");
    refuse_set("workload.requests[0].temperature", ".inf",
               "--set workload.requests[0].temperature: must be a finite number, found .inf");
    refuse_set("workload.requests[0].temperature", "1e999",
               "--set workload.requests[0].temperature: must be a finite number, found 1e999");
    refuse_set("workload.requests[0].top_p", "0",
               "--set workload.requests[0].top_p: must be between 1e-06 and 1, found 0");
    refuse_set("workload.requests[1].prompt_tokens", "[1, -2]",
               "--set workload.requests[1].prompt_tokens: workload.requests[1].prompt_tokens[1]: must be between 0 and "
               "1048575, found -2");
    refuse_set("runtime.threads", "0", "--set runtime.threads: must be between 1 and 256, found 0");
    refuse_set("runtime.prefill_chunk", "513", "--set runtime.prefill_chunk: must be between 1 and 512, found 513");
    refuse_set("runtime.batch", "257", "--set runtime.batch: must be between 1 and 256, found 257");
    refuse_set("runtime.spin_us", "-2", "--set runtime.spin_us: must be between -1 and 1000000, found -2");
    refuse_set("twin.link.bandwidth_gbps", "0",
               "--set twin.link.bandwidth_gbps: must be between 1e-06 and 1e+06, found 0");
    refuse_set("fleet.time_scale", "-1", "--set fleet.time_scale: must be between 1e-06 and 1e+06, found -1");
    refuse_set("plan.spares", "[1024]", "--set plan.spares: plan.spares[0]: must be between 0 and 1023, found 1024");
    refuse_set("plan.stages[0].layers", "[0, 2000]",
               "--set plan.stages[0].layers: plan.stages[0].layers[1]: must be between 0 and 1023, found 2000");
}
END_TEST

START_TEST(requests)
{
    refuse_set("workload.requests", "[]", "--set workload.requests: must not be empty; give at least one");
    refuse_set(
        "workload.requests[0].prompt_tokens", "[1]",
        "q.yaml: line 6, column 7: workload.requests[0]: has both 'prompt' and 'prompt_tokens'; keep one of them");
    refuse_set("workload.requests[0]", "{seed: 1}",
               "--set workload.requests[0]: has no prompt; add 'prompt: \"...\"' or 'prompt_tokens: [...]'");
    refuse_set("workload.requests[1].prompt_tokens", "[]",
               "--set workload.requests[1].prompt_tokens: must not be empty; give at least one");
    refuse_set("workload.requests[3]", "{prompt: x}",
               "--set workload.requests[3]: index 3 is past the end; the list has 2 items");
    refuse_set("workload.requests[0].prompt", "\"a\\0b\"",
               "--set workload.requests[0].prompt: text with a zero byte is not supported; remove it");
}
END_TEST

START_TEST(words)
{
    refuse_edit(
        "contract: bitwise", "contract: bounded",
        "q.yaml: line 8, column 11: contract: unknown word 'bounded'; it must be one of bitwise, deterministic");
    refuse_edit("contract: bitwise", "contract: bitwize",
                "q.yaml: line 8, column 11: contract: unknown word 'bitwize'; did you mean 'bitwise'?");
    refuse_edit("verify: reference", "verify: refrence",
                "q.yaml: line 14, column 9: verify: unknown word 'refrence'; did you mean 'reference'?");
    refuse_edit("verify: reference", "verify: true",
                "q.yaml: line 14, column 9: verify: must be one of none, reference, found 'true' (true or false)");
    refuse_set("plan.exchange", "broadcast",
               "--set plan.exchange: unknown word 'broadcast'; it must be one of auto, gather, reduce, scatter");
    refuse_set("output.logits", "\"\"", "--set output.logits: must not be empty");
}
END_TEST

START_TEST(plans)
{
    refuse_edit(
        "layers: [3, 4]", "layers: [2, 4]",
        "q.yaml: line 12, column 16: plan.stages[1].layers: layer 2 is already in plan.stages[0]; give each layer "
        "to exactly one stage");
    refuse_edit("layers: [3, 4]", "layers: [4, 4]",
                "q.yaml: line 12, column 16: plan.stages[1].layers: layer 3 is in no stage; give each layer to exactly "
                "one stage");
    refuse_edit("layers: [3, 4]", "layers: [4]",
                "q.yaml: line 12, column 16: plan.stages[1].layers: must have 2 items, found 1");
    refuse_edit("ranks: [2, 4]", "ranks: [1, 4]",
                "q.yaml: line 12, column 31: plan.stages[1].ranks: rank 1 already belongs to plan.stages[0]; give each "
                "rank one role");
    refuse_edit("ranks: [2, 4]", "ranks: []",
                "q.yaml: line 12, column 31: plan.stages[1].ranks: must not be empty; give at least one");
    refuse_edit("spares: [3]", "spares: [4]",
                "q.yaml: line 13, column 11: plan.spares: rank 4 already belongs to plan.stages[1]; give each rank one "
                "role");
    refuse_edit("split: [3, 5]", "split: [3]",
                "q.yaml: line 11, column 46: plan.stages[0].split: 1 shares for 2 ranks; give one share per rank");
    refuse_edit("split: [3, 5]", "split: [0, 0]",
                "q.yaml: line 11, column 46: plan.stages[0].split: all shares are 0; give at least one rank a share of "
                "the stage");
    refuse_edit("split: [3, 5]", "split: [1, -1]",
                "q.yaml: line 11, column 50: plan.stages[0].split[1]: must be between 0 and 1000000, found -1");
    refuse_set("plan.stages", "[]", "--set plan.stages: must not be empty; give at least one");
    refuse_set("fleet.devices", "[{rank: 2}, {rank: 2}]",
               "--set fleet.devices: fleet.devices[1]: rank 2 already has a device; give each rank one");
}
END_TEST

START_TEST(files)
{
    gsrt_diag diag = {0};
    gsrt_scenario *scenario = NULL;
    ck_assert_int_eq(gsrt_scenario_read("/nowhere/q.yaml", NULL, 0, &scenario, &diag), GSRT_EINPUT);
    ck_assert_str_eq(diag.text,
                     "/nowhere/q.yaml: the scenario cannot be opened: No such file or directory; check its path");
    diag = (gsrt_diag){0};
    ck_assert_int_eq(gsrt_scenario_read("/", NULL, 0, &scenario, &diag), GSRT_EINPUT);
    ck_assert_str_eq(diag.text, "/: is a directory; name the scenario's YAML file");
    diag = (gsrt_diag){0};
    ck_assert_int_eq(gsrt_scenario_read("/dev/zero", NULL, 0, &scenario, &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "is larger than 8388608 bytes; is it a scenario?"));
    ck_assert_ptr_null(scenario);
}
END_TEST

/* ---- print and read back ---- */

static void print(const gsrt_scenario *scenario, gsrt_buffer *out)
{
    gsrt_buffer_init(out, 1 << 20);
    ck_assert_int_eq(gsrt_scenario_print(scenario, out), GSRT_OK);
}

START_TEST(round_trip)
{
    static const gsrt_scenario_set sets[] = {
        {"workload.requests[0].prompt", "\"quote \\\" back \\\\ tab\\t line\\nbreak \\x85 \\u2028 caf\xc3\xa9 \\x07\""},
        {"workload.requests[1].temperature", "0.1"},
        {"fleet.devices", "[{rank: 1, profile: \"p q.json\"}, {rank: 0, threads: 3}]"},
        {"fleet.time_scale", "0.333333333333333333"},
        {"runtime.prefix_reuse", "false"},
        {"twin.ranks", "9"},
    };
    gsrt_scenario *scenario = read_text(GOOD, sets, sizeof sets / sizeof sets[0]);
    gsrt_buffer first, second;
    print(scenario, &first);
    gsrt_diag diag = {0};
    gsrt_scenario *again;
    gsrt_status status =
        gsrt_scenario_read_span(gsrt_buffer_span(&first), "/elsewhere/scenario.yaml", NULL, 0, &again, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    ck_assert_str_eq(again->requests[0].prompt, scenario->requests[0].prompt);
    ck_assert_str_eq(again->model, scenario->model);
    ck_assert(again->requests[1].temperature == 0.1F && again->time_scale == scenario->time_scale);
    ck_assert_uint_eq(again->twin_rank_count, 9);
    print(again, &second);
    ck_assert(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
    gsrt_buffer small;
    gsrt_buffer_init(&small, 100);
    ck_assert_int_eq(gsrt_scenario_print(scenario, &small), GSRT_ELIMIT);
    ck_assert_uint_eq(small.len, 0);
    gsrt_buffer_fini(&small);
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
    (void)gsrt_scenario_free(again);
    (void)gsrt_scenario_free(scenario);
}
END_TEST

static const char PLANNED[] =
    "gsrt: 1\nname: p\n"
    "workload: {synthetic: {layers: 2, dim: 64, heads: 4, ffn: 128, vocab: 100}}\n"
    "contract: [{regions: 'layer.*', relative_error: 0.01}]\n"
    "objective: {measure: tpot, percentile: p99, limits: [{measure: throughput, bound: '100 tok/s'}]}\n"
    "demand: {prompt_tokens: '512 tok [64, 2048]', output_tokens: 128, arrival_per_s: 2.5, prefix_share: 0.25, "
    "context_parallel: true, draft_tokens: 3, prefills_first: true, gather_steps: 20, kv_offload: true, "
    "origin: 'eu: 1'}\n"
    "rules: {trust: operator, regions: [eu, us]}\n"
    "plan: {policy: local, budget: 77, seed: 9}\n"
    "fleet: {inventory: i.yaml}\n";

/* What a plan is made for, and the way back. */
START_TEST(planning)
{
    gsrt_scenario *scenario = read_text(PLANNED, NULL, 0), *again = NULL;
    const gsrt_scenario_planning *p = &scenario->planning;
    gsrt_diag diag = {0};
    ck_assert_ptr_null(scenario->plan);
    ck_assert_ptr_null(scenario->model);
    ck_assert_uint_eq(scenario->synthetic->layers, 2);
    ck_assert_uint_eq(scenario->request_count, 0);
    ck_assert(p->is_auto && p->budget == 77 && p->seed == 9);
    ck_assert_str_eq(p->policy, "local");
    ck_assert_str_eq(p->inventory, "/s/i.yaml");
    ck_assert(p->objective.measure == GSRT_MEASURE_TPOT && p->objective.percentile == GSRT_PERCENTILE_99);
    ck_assert_uint_eq(p->objective.limit_count, 1);
    ck_assert(p->objective.limits[0].bound.value == 100);
    ck_assert(p->demand.prompt_tokens.lo == 64 && p->demand.output_tokens.value == 128);
    ck_assert(p->demand.arrival.value == 2.5 && p->demand.prefix_share == 0.25 && p->demand.draft_tokens == 3);
    ck_assert(p->demand.prefills_first && p->demand.gather_steps == 20);
    ck_assert(p->demand.kv_offload && p->demand.context_parallel);
    ck_assert_str_eq(p->demand.origin, "eu: 1");
    ck_assert_uint_eq(p->rules->region_allowed_count, 2);
    ck_assert_int_eq(p->rules->trust_min, GSRT_TRUST_OPERATOR);
    ck_assert_int_eq(gsrt_scenario_check_runs(scenario, &diag), GSRT_EINPUT);
    gsrt_buffer first, second;
    print(scenario, &first);
    gsrt_status status =
        gsrt_scenario_read_span(gsrt_buffer_span(&first), "/elsewhere/scenario.yaml", NULL, 0, &again, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    print(again, &second);
    ck_assert(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
    (void)gsrt_scenario_free(again);
    (void)gsrt_scenario_free(scenario);
}
END_TEST

/* The defaults, and a plan that is to be made for the ranks of a job. */
START_TEST(planning_of_ranks)
{
    gsrt_scenario *scenario = read_text("{gsrt: 1, name: a, workload: {model: m, requests: [{prompt: x}]}, plan: auto, "
                                        "objective: cost, fleet: {devices: [{rank: 6, declares: {memory: '2 GiB'}}]}}",
                                        NULL, 0);
    gsrt_diag diag = {0};
    ck_assert(scenario->planning.is_auto && scenario->planning.budget == GSRT_SCENARIO_BUDGET_DEFAULT);
    ck_assert_str_eq(scenario->planning.policy, "dp");
    ck_assert_int_eq(scenario->planning.objective.measure, GSRT_MEASURE_COST);
    ck_assert_uint_eq(scenario->twin_rank_count, 7);
    ck_assert(scenario->devices[0].memory.value == 2147483648.0 && !scenario->devices[0].rates[0].is_known);
    ck_assert_int_eq(gsrt_scenario_check_runs(scenario, &diag), GSRT_OK);
    (void)gsrt_scenario_free(scenario);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {everything_is_read,
                            defaults,
                            overrides,
                            paths_are_relative_to_the_file,
                            unknown_keys_are_suggested,
                            missing_keys_are_named,
                            versions_and_names,
                            wrong_types,
                            out_of_range,
                            requests,
                            words,
                            plans,
                            files,
                            round_trip,
                            planning,
                            planning_of_ranks};
    return unit_run("scenario", tests, sizeof tests / sizeof tests[0]);
}
