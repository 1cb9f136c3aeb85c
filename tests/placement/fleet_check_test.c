/* Inventories that are malformed, contradictory, stale, implausible, malicious or incomplete: each is found, with its
 * reason, its place and a remedy; and nothing else is. */
#include "placement/findings.h"

#include "base/limits.h"
#include "tests/placement/fleets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_BYTES_MAX = 1 << 16, TEXT_BYTES_MAX = 8192 };
static const int32_t TODAY = 20787; /* 2026-11-30 */

#define DDR "memory: [{tier: ddr, capacity: \"8 GB\", bandwidth: \"50 GB/s\"}]"
#define HEAD "gsrt_fleet: 1\nname: t\n"
/* An engine with everything, to which the cases add. */
#define ENGINE "parts:\n  - {name: e, kind: engine, rates: {matmul: {f32: \"1 TFLOPS\"}}, " DDR ""
#define GOOD HEAD ENGINE "}\n"
#define WITH(keys) HEAD ENGINE ", " keys "}\n"
#define AND(items) HEAD ENGINE "}\n" items
#define NODE "places:\n  - {name: n, kind: node}\n  - {name: m, kind: node}\n"
#define LINK(keys)                                                                                                     \
    AND("  - {name: s, kind: switch, bandwidth: \"10 GB/s\"}\n"                                                        \
        "links:\n  - {from: e, to: s, kind: network, bandwidth: \"1 GB/s\"}\n  - {from: s, to: e, kind: network, "     \
        "bandwidth: \"1 GB/s\", name: x, " keys "}\n")

static const struct {
    const char *reason; /* of the one finding */
    const char *text;
    const char *place; /* is in its place */
    const char *what;  /* is in its text */
} cases[] = {
    /* malformed: the reader */
    {"missing_key", "gsrt_fleet: 1\nparts: []\n", "f.yaml: line 1, column 1", "key 'name' is missing"},
    {"unknown_key", WITH("colour: red"), "line 4, column 128", "unknown key 'colour' in parts[0]"},
    {"unknown_key", WITH("trsut: tenant"), "f.yaml: line 4", "did you mean 'trust'?"},
    {"wrong_type", HEAD "parts: 3\n", "parts", "must be a list"},
    {"wrong_type", HEAD "parts: [3]\n", "parts[0]", "must be a mapping"},
    {"wrong_type", WITH("power_max: [1, 2]"), "parts[0].power_max", "a number with its unit"},
    {"out_of_range", WITH("count: 0"), "parts[0].count", "between 1 and 1048576"},
    {"out_of_range", WITH("power_max: {value: \"9 W\", confidence: 1.5}"), "power_max.confidence", "between 0 and 1"},
    {"unsupported_version", "gsrt_fleet: 2\nname: t\nparts: []\n", "line 1, column 13", "only version 1"},
    {"unknown_word", HEAD "parts: [{name: a, kind: quantum}]\n", "parts[0].kind", "unknown word 'quantum'"},
    {"unknown_word", HEAD "parts: [{name: a, kind: memory, tier: core}]\n", "parts[0].tier", "'core'"},
    {"unknown_key", HEAD "parts: [{name: a, kind: engine, rates: {matmul: {bf32: \"1 TFLOPS\"}}}]\n", "",
     "did you mean 'f32'?"},
    {"unknown_key", HEAD "parts: [{name: a, kind: engine, rates: {matmull: {f32: \"1 TFLOPS\"}}}]\n", "",
     "did you mean 'matmul'?"},
    {"wrong_type", WITH("counters: PAPI_TOT_CYC"), "parts[0].counters", "must be a list"},
    {"unknown_word", LINK("collectives: [all_scatter]"), "links[1].collectives[0]", "all_scatter"},
    {"unknown_word", WITH("trust: friend"), "parts[0].trust", "friend"},
    /* malformed: quantities */
    {"not_a_number", WITH("power_max: plenty"), "parts[0].power_max", "does not begin with a number"},
    {"not_a_number", WITH("power_max: .inf"), "parts[0].power_max", "'.inf'"},
    {"missing_unit", WITH("power_max: 700"), "parts[0].power_max", "no unit"},
    {"unknown_unit", WITH("power_max: \"700 watts\""), "parts[0].power_max", "'watts'"},
    {"ambiguous_unit", LINK("latency: \"1 us\"") "paths: [{name: p, links: [x], bandwidth: \"1 Gb/s\"}]\n",
     "paths[0].bandwidth", "bits or bytes"},
    {"wrong_dimension", WITH("power_max: \"700 GB\""), "parts[0].power_max", "a unit of B, and this is measured in W"},
    {"lo_above_hi", WITH("power_max: \"700 W [800, 600]\""), "parts[0].power_max", "above the highest"},
    {"value_outside_interval", WITH("power_max: \"700 W [710, 720]\""), "parts[0].power_max", "outside of its own"},
    {"bad_source", WITH("power_max: {value: \"9 W\", source: \"my cousin\"}"), "power_max.source", "guess, declared"},
    {"bad_date", WITH("power_max: {value: \"9 W\", until: 2026-02-30}"), "power_max.until", "2026-11-30"},
    {"validity_backwards", WITH("power_max: {value: \"9 W\", since: 2026-05-01, until: 2026-04-01}"), "power_max.until",
     "'until' is before 'since'"},
    {"sure_guess", WITH("power_max: {value: \"9 W\", source: \"guess: x\", confidence: 0.99}"), "parts[0].power_max",
     "less sure"},
    /* names and references */
    {"bad_name", HEAD "parts: [{name: \"a\\u202Eb\", kind: engine}]\n", "parts[0].name", "letters, digits"},
    {"bad_name", HEAD "parts: [{name: \"../../etc\", kind: engine}]\n", "parts[0].name", "letters, digits"},
    {"bad_name", WITH("counters: [\"PAPI_TOT_CYC\\n\"]"), "parts[0].counters[0]", "letters, digits"},
    {"duplicate_name", WITH("counters: [PAPI_L1_DCM, PAPI_TOT_CYC, PAPI_L1_DCM]"), "parts[0].counters",
     "'PAPI_L1_DCM'"},
    {"duplicate_name", AND("  - {name: e, kind: engine, rates: {matmul: {f32: \"1 TFLOPS\"}}}\n"), "parts[1]",
     "first at f.yaml: line 4"},
    {"duplicate_name", AND("places: [{name: n, kind: node}, {name: n, kind: rack}]\n"), "places[1]", "given twice"},
    {"duplicate_name", AND("types: [{name: t, kind: nic}, {name: t, kind: nic}]\n"), "types[1]", "two types 't'"},
    {"unknown_name", WITH("in: nowhere"), "parts[0].in", "there is no place 'nowhere'"},
    {"unknown_name", HEAD NODE "parts: [{name: a, kind: engine, in: N}]\n", "parts[0].in", "did you mean"},
    {"unknown_name", HEAD "parts: [{name: a, type: tiny}]\n", "parts[0].type", "there is no type 'tiny'"},
    {"unknown_name", LINK("contention: bus"), "links[1].contention", "there is no part 'bus'"},
    {"unknown_name", LINK("fails_with: rack"), "links[1].fails_with", "there is no place 'rack'"},
    {"unknown_name", LINK("latency: \"1 us\"") "paths: [{name: p, links: [y]}]\n", "paths[0].links",
     "there is no link 'y'"},
    {"unknown_name", GOOD "measurements: [{part: f, property: power_max, value: \"1 W\", on: 2026-01-01}]\n",
     "measurements[0].part", "'f'"},
    {"misplaced_key", WITH("capacity: \"8 GB\""), "parts[0].capacity", "kind engine has no 'capacity'"},
    {"misplaced_key", HEAD "parts: [{name: a, kind: nic, counters: []}]\n", "parts[0].counters", "kind nic has no"},
    {"misplaced_key", LINK("correlation: 0.5"), "links[1].correlation", "add 'fails_with'"},
    {"misplaced_key", GOOD "measurements: [{part: e, property: capacity, value: \"1 GB\", on: 2026-01-01}]\n",
     "measurements[0].property", "no such property"},
    {"unknown_word", GOOD "measurements: [{part: e, property: beauty, value: \"1 GB\", on: 2026-01-01}]\n",
     "measurements[0].property", "'beauty'"},
    {"missing_key", GOOD "measurements: [{property: power_max, value: \"1 W\", on: 2026-01-01}]\n", "measurements[0]",
     "one of 'place', 'part'"},
    {"missing_key", HEAD "parts: [{name: a}]\n", "parts[0]", "neither 'type' nor 'kind'"},
    /* where things stand */
    {"two_places", HEAD "places: [{name: a, kind: rack}, {name: b, kind: rack}]\n" ENGINE ", in: [a, b]}\n",
     "parts[0].in", "two places at once"},
    {"two_places",
     HEAD "places: [{name: a, kind: rack}, {name: b, kind: rack}, {name: f, kind: power, in: b}]\n" ENGINE
          ", in: [a, f]}\n",
     "parts[0].in", "power domain 'f'"},
    {"place_in_itself", HEAD "places: [{name: a, kind: rack, in: b}, {name: b, kind: rack, in: a}]\n" ENGINE "}\n",
     "places[0].in", "within itself"},
    {"place_order", HEAD "places: [{name: a, kind: node}, {name: b, kind: rack, in: a}]\n" ENGINE "}\n", "places[1].in",
     "a rack cannot be in 'a', a node"},
    {"too_many",
     HEAD "places: [{name: a, kind: rack, count: 1000000}, {name: b, kind: node, in: a, count: 1000000}]\n" ENGINE
          "}\n",
     "places[1].count", "more than 16777216"},
    {"uneven_pairing",
     HEAD "places: [{name: n, kind: node}, {name: f, kind: power, in: n, count: 2}]\n" ENGINE
          ", in: [n, f], count: 5}\n",
     "parts[0].in", "cannot be dealt evenly"},
    {"trust_raised", HEAD "places: [{name: n, kind: node, trust: untrusted}]\n" ENGINE ", in: n, trust: attested}\n",
     "parts[0].trust", "attested within 'n'"},
    {"trust_raised",
     WITH("trust: tenant") "  - {name: s, kind: switch}\nlinks: [{from: e, to: s, kind: network, trust: operator, "
                           "bandwidth: \"1 GB/s\"}]\n",
     "links[0].trust", "an end of it is tenant"},
    /* the graph */
    {"link_to_itself", GOOD "links: [{from: e, to: e, kind: network, bandwidth: \"1 GB/s\"}]\n", "links[0].to",
     "begins and ends"},
    {"uneven_pairing",
     HEAD "parts:\n  - {name: e, kind: engine, count: 4, rates: {matmul: {f32: \"1 TFLOPS\"}}, " DDR "}\n"
          "  - {name: s, kind: nic, count: 3}\nlinks: [{from: e, to: s, kind: pcie, bandwidth: \"1 GB/s\"}]\n",
     "links[0]", "4 'e' cannot be dealt evenly to 3 's'"},
    {"link_above_endpoint",
     AND("  - {name: s, kind: nic, bandwidth: \"10 GB/s\"}\nlinks: [{from: e, to: s, kind: pcie, bandwidth: \"20 "
         "GB/s\"}]\n"),
     "links[0].bandwidth", "'s' passes 10 GB/s"},
    {"one_way_coherence", LINK("coherent: true"), "links[1].coherent", "no coherent link back"},
    {"contention_elsewhere",
     HEAD NODE "parts:\n  - {name: e, in: n, kind: engine, rates: {matmul: {f32: \"1 TFLOPS\"}}, " DDR "}\n"
               "  - {name: s, in: n, kind: nic}\n  - {name: r, in: m, kind: root, bandwidth: \"9 GB/s\"}\n"
               "links:\n  - {from: e, to: s, kind: pcie, bandwidth: \"1 GB/s\", contention: r}\n  - {from: r, to: s, "
               "kind: pcie, bandwidth: \"1 GB/s\"}\n",
     "links[0].contention", "'r' stands elsewhere"},
    {"memory_link_without_memory",
     AND("  - {name: s, kind: nic}\nlinks: [{from: e, to: s, kind: memory, bandwidth: \"1 GB/s\"}]\n"), "links[0].kind",
     "neither end"},
    {"collectives_on_memory",
     AND("  - {name: k, kind: memory, capacity: \"1 GB\", bandwidth: \"9 GB/s\"}\nlinks: [{from: k, to: e, kind: "
         "memory, bandwidth: \"1 GB/s\", collectives: [broadcast]}]\n"),
     "links[0].collectives", "no collectives"},
    {"path_broken", LINK("latency: \"1 us\"") "paths: [{name: p, links: [x, x]}]\n", "paths[0].links",
     "put the links in order"},
    {"path_above_link", LINK("latency: \"1 us\"") "paths: [{name: p, links: [x], bandwidth: \"2 GB/s\"}]\n",
     "paths[0].bandwidth", "over 'x'"},
    {"path_below_latency", LINK("latency: \"1 us\"") "paths: [{name: p, links: [x], latency: \"10 ns\"}]\n",
     "paths[0].latency", "take 1 us together"},
    {"memory_unreached", AND("  - {name: k, kind: memory, capacity: \"1 GB\", bandwidth: \"9 GB/s\"}\n"), "parts[1]",
     "no engine can read 'k'"},
    {"part_unreached", AND("  - {name: s, kind: nic}\n"), "parts[1]", "linked to nothing"},
    {"idle_above_max", WITH("power_idle: \"90 W\", power_max: \"80 W\""), "parts[0].power_idle", "90 W idle"},
    {"budget_below_idle",
     HEAD "places: [{name: n, kind: node, power_budget: \"500 W\"}]\n" ENGINE
          ", in: n, count: 8, power_idle: \"70 W\"}\n",
     "places[0].power_budget", "needs 560 W"},
    {"budget_below_idle",
     HEAD "places: [{name: r, kind: rack}, {name: c, kind: cooling, in: r, count: 2, cooling_budget: \"100 W\"}, "
          "{name: n, kind: node, in: [r, c], count: 4}]\n" ENGINE ", in: n, power_idle: \"70 W\"}\n",
     "places[1].cooling_budget", "needs 140 W"},
    {"faster_than_light",
     HEAD "places: [{name: a, kind: region}, {name: b, kind: region}]\n" ENGINE
          ", in: a}\n  - {name: s, kind: switch, in: b}\n"
          "links: [{from: e, to: s, kind: wan, bandwidth: \"1 GB/s\", latency: \"3 us\"}]\n",
     "links[0].latency", "light takes longer"},
    /* implausible, stale */
    {"outside_physical_limits", WITH("power_max: \"700 MW\""), "parts[0].power_max", "look for a slipped unit"},
    {"outside_physical_limits",
     HEAD "parts: [{name: e, kind: engine, rates: {matmul: {f32: \"9e9 Pop/s\"}}, " DDR "}]\n",
     "parts[0].rates.matmul.f32", "is outside"},
    {"wide_interval", WITH("power_max: \"90 W [0.01, 95]\""), "parts[0].power_max", "next to nothing"},
    {"rate_above_power",
     HEAD "parts: [{name: e, kind: engine, power_max: \"10 W\", rates: {matmul: {i8: \"100 Pop/s\"}}, " DDR "}]\n",
     "parts[0].rates.matmul.i8", "nothing computes that much"},
    {"expired", WITH("price: {value: \"2 $/h\", until: 2026-11-29}"), "parts[0].price", "valid until 2026-11-29"},
    {"not_yet_valid", WITH("price: {value: \"2 $/h\", since: 2026-12-01}"), "parts[0].price", "valid from 2026-12-01"},
    {"from_the_future", "as_of: 2027-01-01\n" GOOD, "t.as_of", "still to come"},
    {"from_the_future", GOOD "measurements: [{part: e, property: power_max, value: \"1 W\", on: 2027-01-01}]\n",
     "measurements[0].on", "still to come"},
    /* claims and measurements */
    {"claim_contradicted",
     WITH("trust: untrusted, power_max: {value: \"50 W\", source: \"declared: them\"}") "measurements: [{part: e, "
                                                                                        "property: power_max, value: "
                                                                                        "\"400 W\", on: 2026-01-01}]\n",
     "measurements[0].value", "50 W is claimed by somebody who is not trusted, and 400 W"},
    {"measurement_differs",
     WITH("power_max: {value: \"50 W [45, 55]\", source: \"datasheet: x\"}") "measurements: [{part: e, property: "
                                                                             "power_max, value: \"60 W [59, 61]\", on: "
                                                                             "2026-01-01}]\n",
     "measurements[0].value", "was measured"},
    {"measurement_differs",
     GOOD "measurements: [{part: e, property: matmul.f32, value: \"300 GFLOPS\", on: 2026-01-01}]\n",
     "measurements[0].value", "1 Top/s is claimed"},
    {"measurements_disagree",
     GOOD "measurements: [{part: e, property: power_max, value: \"60 W\", on: 2026-01-01}, {part: e, property: "
          "power_max, value: \"20 W\", on: 2026-01-01}]\n",
     "measurements[0].value", "repeat the measurement"},
    {"own_measurement", WITH("trust: untrusted, power_max: {value: \"50 W\", source: \"measured: them\"}"),
     "parts[0].power_max", "call it 'declared'"},
    /* what nobody stated */
    {"no_engine", HEAD "parts: []\n", "t.parts", "add an engine"},
    {"rates_unknown", HEAD "parts: [{name: e, kind: engine, " DDR "}]\n", "parts[0].rates", "take a type"},
    {"engine_without_memory", HEAD "parts: [{name: e, kind: engine, rates: {matmul: {f32: \"1 TFLOPS\"}}}]\n",
     "parts[0]", "what memory 'e' computes from"},
    {"capacity_unknown",
     HEAD "parts: [{name: e, kind: engine, rates: {matmul: {f32: \"1 TFLOPS\"}}, memory: [{tier: ddr, bandwidth: \"50 "
          "GB/s\"}]}]\n",
     "parts[0].capacity", "what 'e.ddr' holds"},
    {"bandwidth_unknown", AND("  - {name: s, kind: nic}\nlinks: [{from: e, to: s, kind: pcie}]\n"),
     "links[0].bandwidth", "how fast"},
    {"contention_unknown",
     AND("  - {name: s, kind: nic}\nlinks: [{from: e, to: s, kind: pcie, bandwidth: \"1 GB/s\", contention: s}]\n"),
     "links[0].contention", "passes at once"},
};

enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

static void check(const char *text, gsrt_findings *findings, gsrt_status *out_status)
{
    gsrt_fleet *fleet = NULL;
    *out_status = read_fleet(text, NULL, &fleet, findings);
    if (*out_status == GSRT_OK)
        gsrt_fleet_check(fleet, TODAY, findings);
    (void)gsrt_fleet_free(fleet);
}

START_TEST(each_is_found)
{
    for (size_t i = 0; i < CASE_COUNT; i++) {
        static char words[WORDS_BYTES_MAX];
        gsrt_findings findings;
        gsrt_status status;
        check(cases[i].text, &findings, &status);
        found(&findings, words, sizeof words);
        ck_assert_msg(findings.count == 1, "%s\n%zu findings, %s expected:\n%s", cases[i].text, findings.count,
                      cases[i].reason, words);
        const gsrt_finding *finding = &findings.items[0];
        ck_assert_msg(strcmp(finding->reason, cases[i].reason) == 0, "%s: %s", cases[i].reason, words);
        ck_assert_msg(strstr(finding->place, cases[i].place) != NULL, "'%s' is not in the place: %s", cases[i].place,
                      words);
        ck_assert_msg(strstr(finding->what, cases[i].what) != NULL, "'%s' is not said: %s", cases[i].what, words);
        bool is_note = finding->class == GSRT_FINDING_MISSING;
        ck_assert_uint_eq(findings.error_count, is_note ? 0 : 1);
        ck_assert_uint_eq(findings.note_count, is_note ? 1 : 0);
        gsrt_findings_fini(&findings);
    }
}
END_TEST

START_TEST(the_good_one_has_none)
{
    gsrt_findings findings;
    gsrt_status status;
    check(GOOD, &findings, &status);
    ck_assert(status == GSRT_OK && findings.count == 0);
    gsrt_findings_fini(&findings);
}
END_TEST

/* Every reason has a case here, and is explained in docs/fleet.md. */
START_TEST(every_reason_is_tested_and_explained)
{
    static char manual[1 << 18];
    char path[512];
    const char *source = getenv("GSRT_SRCDIR");
    (void)snprintf(path, sizeof path, "%s/docs/fleet.md", source == NULL ? "." : source);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    manual[fread(manual, 1, sizeof manual - 1, file)] = 0;
    (void)fclose(file);
    size_t count = 0;
    for (; gsrt_finding_reason(count) != NULL; count++) {
        const char *reason = gsrt_finding_reason(count);
        char quoted[64];
        bool is_tested = strcmp(reason, "bad_value") == 0          /* of readers without words of their own */
                         || strcmp(reason, "not_discovered") == 0; /* tests/launch/fleet_discover_test.c */
        for (size_t i = 0; i < CASE_COUNT; i++)
            is_tested = is_tested || strcmp(cases[i].reason, reason) == 0;
        (void)snprintf(quoted, sizeof quoted, "`%s`", reason);
        ck_assert_msg(is_tested, "%s", reason);
        ck_assert_msg(strstr(manual, quoted) != NULL, "docs/fleet.md does not explain %s", reason);
    }
    ck_assert_uint_ge(count, 40);
}
END_TEST

START_TEST(all_of_them_at_once)
{
    static char words[WORDS_BYTES_MAX];
    gsrt_findings findings;
    gsrt_status status;
    check(HEAD "as_of: yesterday\ncolour: red\nplaces:\n  - {name: n, kind: nod}\n  - {kind: rack, count: -1}\nparts:\n"
               "  - {name: a, kind: engine, power_max: 3, power_idle: \"3 GB\", rates: {matmul: {f32: \"1 W\"}}}\n"
               "  - {name: \"\", kind: memory, launch_overhead: \"2 s [3, 1]\"}\n",
          &findings, &status);
    ck_assert_int_eq(status, GSRT_EINPUT);
    found(&findings, words, sizeof words);
    ck_assert_msg(findings.error_count == 10, "%s", words);
    gsrt_findings_fini(&findings);
}
END_TEST

START_TEST(more_than_are_kept)
{
    gsrt_findings findings;
    gsrt_findings_init(&findings);
    for (int i = 0; i < GSRT_FINDING_COUNT_MAX + 5; i++)
        gsrt_findings_add(&findings, "unknown_name", "x: y", "number %d\n; none", i);
    ck_assert_uint_eq(findings.count, GSRT_FINDING_COUNT_MAX);
    ck_assert_uint_eq(findings.error_count, GSRT_FINDING_COUNT_MAX + 5);
    ck_assert_str_eq(findings.items[3].what, "number 3?; none");
    static char words[WORDS_BYTES_MAX];
    found(&findings, words, sizeof words);
    ck_assert(strstr(words, "\n5 more were found") != NULL);
    gsrt_findings_fini(&findings);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {each_is_found, the_good_one_has_none, every_reason_is_tested_and_explained,
                            all_of_them_at_once, more_than_are_kept};
    return unit_run("fleet_check", tests, sizeof tests / sizeof tests[0]);
}
