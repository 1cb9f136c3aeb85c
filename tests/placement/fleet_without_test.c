/* What is left of a fleet without a place or a part. */
#include "placement/fleet_without.h"

#include "tests/placement/fleets.h"

static const char RACKS[] =
    "gsrt_fleet: 1\nname: f\n"
    "places:\n"
    "  - {name: rack, kind: rack, count: 2}\n"
    "  - {name: node, kind: node, in: rack, count: 4}\n"
    "  - {name: feed, kind: power, in: rack, count: 2}\n"
    "parts:\n"
    "  - {name: gpu, kind: engine, in: [node, feed], count: 8, memory: [{tier: hbm, capacity: \"80 GB\", bandwidth: "
    "\"3 "
    "TB/s\"}]}\n"
    "  - {name: host, kind: engine, count: 1, memory: [{tier: ddr, capacity: \"8 GB\", bandwidth: \"9 GB/s\"}]}\n"
    "  - {name: mesh, kind: fabric, in: node, bandwidth: \"1 TB/s\"}\n"
    "links:\n"
    "  - {from: gpu, to: mesh, kind: coherent, both: true, bandwidth: \"450 GB/s\", fails_with: node}\n"
    "paths:\n  - {name: there, links: [\"gpu->mesh\", \"mesh->gpu\"]}\n"
    "measurements:\n"
    "  - {part: gpu, property: launch_overhead, value: \"2 us\", on: 2026-01-01, source: \"measured: us\"}\n";

static gsrt_fleet *fleet_of(const char *text)
{
    gsrt_fleet *fleet = NULL;
    gsrt_findings findings;
    char room[4096];
    gsrt_status status = read_fleet(text, NULL, &fleet, &findings);
    ck_assert_msg(status == GSRT_OK && findings.error_count == 0, "%s", found(&findings, room, sizeof room));
    gsrt_findings_fini(&findings);
    return fleet;
}

static uint64_t total(const gsrt_fleet *fleet, const char *part)
{
    uint32_t index = gsrt_fleet_part_named(fleet, part);
    return index == GSRT_FLEET_NONE ? 0 : fleet->parts[index].total;
}

static gsrt_fleet_domain place(const gsrt_fleet *fleet, const char *name)
{
    return (gsrt_fleet_domain){.place = gsrt_fleet_place_named(fleet, name), .part = GSRT_FLEET_NONE};
}

static gsrt_fleet_domain part(const gsrt_fleet *fleet, const char *name)
{
    return (gsrt_fleet_domain){.place = GSRT_FLEET_NONE, .part = gsrt_fleet_part_named(fleet, name)};
}

static void expect(gsrt_fleet_domain domain, const gsrt_fleet *fleet, uint64_t gpus, uint64_t hosts, uint32_t links,
                   uint32_t paths)
{
    gsrt_fleet *left = NULL;
    ck_assert_int_eq(gsrt_fleet_without(fleet, domain, &left), GSRT_OK);
    ck_assert_uint_eq(total(left, "gpu"), gpus);
    ck_assert_uint_eq(total(left, "gpu.hbm"), gpus);
    ck_assert_uint_eq(total(left, "host"), hosts);
    ck_assert_uint_eq(left->link_count, links);
    ck_assert_uint_eq(left->path_count, paths);
    (void)gsrt_fleet_free(left);
}

START_TEST(counts)
{
    gsrt_fleet *fleet = fleet_of(RACKS);
    ck_assert_uint_eq(total(fleet, "gpu"), 64);
    expect(place(fleet, "rack"), fleet, 32, 1, 6, 1);
    expect(place(fleet, "node"), fleet, 48, 1, 6, 1); /* one in each rack */
    expect(place(fleet, "feed"), fleet, 32, 1, 6, 1); /* half of what was dealt to two */
    expect(part(fleet, "gpu"), fleet, 56, 1, 6, 1);   /* one in each node */
    expect(part(fleet, "host"), fleet, 64, 0, 4, 1);
    expect(part(fleet, "mesh"), fleet, 64, 1, 4, 0);
    (void)gsrt_fleet_free(fleet);
}
END_TEST

START_TEST(membership)
{
    gsrt_fleet *fleet = fleet_of(RACKS);
    uint32_t gpu = gsrt_fleet_part_named(fleet, "gpu"), host = gsrt_fleet_part_named(fleet, "host");
    ck_assert(gsrt_fleet_is_in(fleet, gpu, place(fleet, "rack")));
    ck_assert(gsrt_fleet_is_in(fleet, gpu, place(fleet, "feed")));
    ck_assert(!gsrt_fleet_is_in(fleet, host, place(fleet, "rack")));
    ck_assert(gsrt_fleet_is_in(fleet, host, part(fleet, "host")));
    (void)gsrt_fleet_free(fleet);
}
END_TEST

START_TEST(nothing_left)
{
    gsrt_fleet *fleet = fleet_of("{gsrt_fleet: 1, name: f, places: [{name: home, kind: node}], parts: [{name: a, kind: "
                                 "engine, in: home}]}");
    gsrt_fleet *left = NULL;
    ck_assert_int_eq(gsrt_fleet_without(fleet, place(fleet, "home"), &left), GSRT_EEMPTY);
    ck_assert_int_eq(gsrt_fleet_without(fleet, part(fleet, "a"), &left), GSRT_EEMPTY);
    (void)gsrt_fleet_free(fleet);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {counts, membership, nothing_left};
    return unit_run("fleet_without", tests, sizeof tests / sizeof tests[0]);
}
