/* The fleet: what is read, that order cannot be seen, that it prints and reads back, and how instances are dealt. */
#include "placement/fleet.h"

#include "base/random.h"
#include "tests/placement/fleets.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_BYTES_MAX = 1 << 20 };
static const int32_t TODAY = 20787; /* 2026-11-30 */

/* Read, with nothing found; owned. */
static gsrt_fleet *fleet_of(const char *text)
{
    gsrt_fleet *fleet = NULL;
    gsrt_findings findings;
    static char words[TEXT_BYTES_MAX];
    gsrt_status status = read_fleet(text, CATALOGUE, &fleet, &findings);
    ck_assert_msg(status == GSRT_OK && findings.count == 0, "%s", found(&findings, words, sizeof words));
    gsrt_fleet_check(fleet, TODAY, &findings);
    ck_assert_msg(findings.error_count == 0, "%s", found(&findings, words, sizeof words));
    gsrt_findings_fini(&findings);
    return fleet;
}

static char *printed(const gsrt_fleet *fleet)
{
    gsrt_buffer out;
    gsrt_buffer_init(&out, TEXT_BYTES_MAX);
    ck_assert_int_eq(gsrt_fleet_print(fleet, &out), GSRT_OK);
    ck_assert_int_eq(gsrt_buffer_append(&out, "", 1), GSRT_OK);
    return (char *)out.data;
}

START_TEST(a_large_fleet_is_small)
{
    gsrt_fleet *fleet = fleet_of(LARGE);
    const gsrt_part *gpu = &fleet->parts[gsrt_fleet_part_named(fleet, "gpu")];
    ck_assert_uint_eq(gpu->total, 16384);
    ck_assert_uint_eq(fleet->places[gsrt_fleet_place_named(fleet, "node")].total, 2048);
    ck_assert_uint_eq(fleet->places[gsrt_fleet_place_named(fleet, "feed")].total, 32);
    ck_assert_uint_eq(fleet->part_count, 5);
    ck_assert_uint_eq(fleet->link_count, 9);
    ck_assert_uint_lt(fleet->arena.bytes_used, 64 << 10);

    ck_assert_str_eq(gpu->product, "Big One");
    ck_assert_ptr_null(gpu->vendor);
    ck_assert_uint_eq(gpu->software_count, 2);
    ck_assert_str_eq(gpu->software[0].name, "attention");
    gsrt_quantity rate = gsrt_part_rate(gpu, GSRT_CLASS_MATMUL, GSRT_FORMAT_F8);
    ck_assert(rate.is_known && rate.value == 1.98e15 && rate.source == GSRT_SOURCE_DATASHEET);
    ck_assert_str_eq(rate.source_text, "datasheet: invented, 2026");
    ck_assert_double_eq(rate.confidence, 0.9);
    ck_assert(!gsrt_part_rate(gpu, GSRT_CLASS_MATMUL, GSRT_FORMAT_F4).is_known);
    ck_assert(!gsrt_part_rate(gpu, GSRT_CLASS_ATTENTION, GSRT_FORMAT_BF16).is_known);

    const gsrt_part *memory = &fleet->parts[gsrt_fleet_part_named(fleet, "gpu.hbm")];
    ck_assert(memory->kind == GSRT_PART_MEMORY && memory->tier == GSRT_TIER_HBM && memory->total == 16384);
    const gsrt_link *read = &fleet->links[gsrt_fleet_link_named(fleet, "gpu.hbm->gpu")];
    ck_assert(read->kind == GSRT_LINK_MEMORY && read->bandwidth.lo == 3e12 && read->bandwidth.hi == 3.4e12);
    ck_assert_str_eq(fleet->parts[read->contention].name, "gpu.hbm");
    const gsrt_link *up = &fleet->links[gsrt_fleet_link_named(fleet, "up")];
    ck_assert_str_eq(fleet->places[up->fails_with].name, "rack");
    ck_assert(up->correlation.value == 0.5 && up->latency.source == GSRT_SOURCE_DECLARED);
    ck_assert(gsrt_fleet_link_named(fleet, "up.back") != GSRT_FLEET_NONE);
    ck_assert(gsrt_fleet_part_named(fleet, "cpu") == GSRT_FLEET_NONE);
    ck_assert(fleet->links[gsrt_fleet_link_named(fleet, "gpu->mesh")].collectives == 1u << GSRT_COLLECTIVE_ALL_REDUCE);
    (void)gsrt_fleet_free(fleet);
}
END_TEST

START_TEST(the_export_reads_back)
{
    gsrt_fleet *fleet = fleet_of(LARGE);
    char *first = printed(fleet);
    gsrt_fleet *again = NULL;
    gsrt_findings findings;
    static char words[TEXT_BYTES_MAX];
    /* without the catalogue: all types are applied */
    gsrt_status status = read_fleet(first, NULL, &again, &findings);
    ck_assert_msg(status == GSRT_OK && findings.count == 0, "%s", found(&findings, words, sizeof words));
    char *second = printed(again);
    ck_assert_str_eq(first, second);
    gsrt_fleet_check(again, TODAY, &findings);
    ck_assert_uint_eq(findings.error_count, 0);
    gsrt_findings_fini(&findings);
    free(first);
    free(second);
    (void)gsrt_fleet_free(fleet);
    (void)gsrt_fleet_free(again);
}
END_TEST

/* Which counters an engine has, that it has none, and that nobody said: three things. */
START_TEST(counters)
{
    gsrt_fleet *fleet = fleet_of("gsrt_fleet: 1\nname: c\nparts:\n"
                                 "  - {name: a, kind: engine, counters: [PAPI_TOT_INS, PAPI_L1_DCM]}\n"
                                 "  - {name: b, kind: engine, counters: []}\n"
                                 "  - {name: c, kind: engine}\n");
    ck_assert_uint_eq(fleet->parts[0].counter_count, 2);
    ck_assert_str_eq(fleet->parts[0].counters[0], "PAPI_L1_DCM");
    ck_assert(fleet->parts[1].counters != NULL && fleet->parts[1].counter_count == 0);
    ck_assert_ptr_null(fleet->parts[2].counters);
    char *text = printed(fleet);
    ck_assert_ptr_nonnull(strstr(text, "    counters: [\"PAPI_L1_DCM\", \"PAPI_TOT_INS\"]\n"));
    ck_assert_ptr_nonnull(strstr(text, "    counters: []\n"));
    (void)gsrt_fleet_free(fleet);
    fleet = fleet_of(text);
    char *again = printed(fleet);
    ck_assert_str_eq(text, again);
    free(text);
    free(again);
    (void)gsrt_fleet_free(fleet);
}
END_TEST

/* The items of each list of LARGE, in any order, and of keys too: the same bytes. */
START_TEST(order_cannot_be_seen)
{
    gsrt_fleet *fleet = fleet_of(LARGE);
    char *expected = printed(fleet);
    (void)gsrt_fleet_free(fleet);
    for (uint64_t seed = 0; seed < 50; seed++) {
        char text[sizeof LARGE] = "";
        const char *lines[64];
        size_t lengths[64], count = 0;
        for (const char *at = LARGE; *at != 0; count++) {
            lines[count] = at;
            lengths[count] = strcspn(at, "\n") + 1;
            at += lengths[count];
        }
        for (size_t first = 0, end; first < count; first = end) { /* each run of items is shuffled */
            bool is_item = strncmp(lines[first], "  - ", 4) == 0;
            for (end = first + 1; is_item && end < count && strncmp(lines[end], "  - ", 4) == 0;)
                end++;
            for (size_t i = end - 1; i > first; i--) {
                size_t other = first + gsrt_random_u64(seed, 1, i) % (i - first + 1), length = lengths[i];
                const char *line = lines[i];
                lines[i] = lines[other];
                lengths[i] = lengths[other];
                lines[other] = line;
                lengths[other] = length;
            }
        }
        for (size_t i = 0; i < count; i++)
            strncat(text, lines[i], lengths[i]);
        fleet = fleet_of(text);
        char *shuffled = printed(fleet);
        ck_assert_str_eq(shuffled, expected);
        free(shuffled);
        (void)gsrt_fleet_free(fleet);
    }
    free(expected);
}
END_TEST

START_TEST(instances_are_dealt)
{
    gsrt_fleet *fleet = fleet_of(LARGE);
    uint32_t nic = gsrt_fleet_link_named(fleet, "gpu->nic"), up = gsrt_fleet_link_named(fleet, "up");
    uint32_t out = gsrt_fleet_link_named(fleet, "out"), back = gsrt_fleet_link_named(fleet, "nic->gpu");
    uint64_t first = 0;
    /* 8 gpus and 4 nics in a node: two share one */
    static const uint64_t of_gpu[][2] = {{0, 0}, {1, 0}, {2, 1}, {7, 3}, {8, 4}, {16383, 8191}};
    for (size_t i = 0; i < sizeof of_gpu / sizeof of_gpu[0]; i++) {
        ck_assert_uint_eq(gsrt_fleet_peers(fleet, nic, of_gpu[i][0], &first), 1);
        ck_assert_uint_eq(first, of_gpu[i][1]);
    }
    ck_assert_uint_eq(gsrt_fleet_peers(fleet, back, 5, &first), 2);
    ck_assert_uint_eq(first, 10);
    /* 64 nics and 2 leaves in a rack */
    ck_assert_uint_eq(gsrt_fleet_peers(fleet, up, 31, &first), 1);
    ck_assert_uint_eq(first, 0);
    ck_assert_uint_eq(gsrt_fleet_peers(fleet, up, 32, &first), 1);
    ck_assert_uint_eq(first, 1);
    ck_assert_uint_eq(gsrt_fleet_peers(fleet, up, 64, &first), 1);
    ck_assert_uint_eq(first, 2);
    /* all the leaves of one rack */
    ck_assert_uint_eq(gsrt_fleet_peers(fleet, out, 5, &first), 2);
    ck_assert_uint_eq(first, 4);
    uint32_t gpu = gsrt_fleet_part_named(fleet, "gpu"), leaf = gsrt_fleet_part_named(fleet, "leaf");
    uint32_t rack = gsrt_fleet_common_place(fleet, gpu, leaf);
    ck_assert_str_eq(fleet->places[rack].name, "rack");
    ck_assert_uint_eq(gsrt_fleet_count_in(fleet, gpu, rack), 128);
    ck_assert_uint_eq(gsrt_fleet_count_in(fleet, gpu, GSRT_FLEET_NONE), 16384);
    (void)gsrt_fleet_free(fleet);
}
END_TEST

START_TEST(trust_is_inherited)
{
    gsrt_fleet *fleet = fleet_of("gsrt_fleet: 1\nname: t\nplaces:\n"
                                 "  - {name: theirs, kind: zone, trust: tenant}\n"
                                 "  - {name: node, kind: node, in: theirs}\n"
                                 "parts:\n"
                                 "  - {name: a, type: big, in: node}\n"
                                 "  - {name: b, type: big}\n"
                                 "links: [{from: a, to: b, kind: network, bandwidth: \"1 GB/s\"}]\n");
    ck_assert_int_eq(fleet->places[gsrt_fleet_place_named(fleet, "node")].trust, GSRT_TRUST_TENANT);
    ck_assert_int_eq(fleet->parts[gsrt_fleet_part_named(fleet, "a")].trust, GSRT_TRUST_TENANT);
    ck_assert_int_eq(fleet->parts[gsrt_fleet_part_named(fleet, "a.hbm")].trust, GSRT_TRUST_TENANT);
    ck_assert_int_eq(fleet->parts[gsrt_fleet_part_named(fleet, "b")].trust, GSRT_TRUST_OPERATOR);
    ck_assert_int_eq(fleet->links[gsrt_fleet_link_named(fleet, "a->b")].trust, GSRT_TRUST_TENANT);
    (void)gsrt_fleet_free(fleet);
}
END_TEST

START_TEST(where_numbers_come_from)
{
    gsrt_fleet *fleet = fleet_of("gsrt_fleet: 1\nname: t\nsource: \"guess: me\"\nparts:\n"
                                 "  - name: a\n"
                                 "    type: big\n"
                                 "    source: \"declared: them\"\n"
                                 "    confidence: 0.6\n"
                                 "    power_idle: {value: \"60 W\", source: \"measured: us\", since: 2026-01-01}\n"
                                 "    launch_overhead: \"3 us\"\n"
                                 "    price: {value: \"2 $/h\", confidence: 0.3}\n"
                                 "  - {name: b, type: big, launch_overhead: \"3 us\"}\n");
    const gsrt_part *a = &fleet->parts[gsrt_fleet_part_named(fleet, "a")];
    const gsrt_part *b = &fleet->parts[gsrt_fleet_part_named(fleet, "b")];
    ck_assert(a->power_idle.source == GSRT_SOURCE_MEASURED && a->power_idle.confidence == 0.95);
    ck_assert(a->power_idle.valid_from_day == 20454 && a->power_idle.valid_until_day == GSRT_DAY_LAST);
    ck_assert(a->power_max.source == GSRT_SOURCE_DATASHEET && a->power_max.confidence == 0.9);
    ck_assert(a->launch_overhead.source == GSRT_SOURCE_DECLARED && a->launch_overhead.confidence == 0.6);
    ck_assert(a->price.source == GSRT_SOURCE_DECLARED && a->price.confidence == 0.3);
    ck_assert(b->launch_overhead.source == GSRT_SOURCE_GUESS && b->launch_overhead.confidence == 0.5);
    ck_assert(!b->price.is_known);
    (void)gsrt_fleet_free(fleet);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {a_large_fleet_is_small, the_export_reads_back, counters,
                            order_cannot_be_seen,   instances_are_dealt,   trust_is_inherited,
                            where_numbers_come_from};
    return unit_run("fleet", tests, sizeof tests / sizeof tests[0]);
}
