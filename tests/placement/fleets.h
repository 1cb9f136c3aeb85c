/* Inventories as texts, for tests. */
#ifndef GSRT_TESTS_PLACEMENT_FLEETS_H
#define GSRT_TESTS_PLACEMENT_FLEETS_H

#include "placement/fleet.h"
#include "tests/unit.h"

/* Parse and read; *out_findings is initialised: fini it. */
static inline gsrt_status read_fleet(const char *text, const char *catalogue, gsrt_fleet **out,
                                     gsrt_findings *out_findings)
{
    gsrt_diag diag = {0};
    gsrt_yaml *yaml = NULL, *types = NULL;
    gsrt_findings_init(out_findings);
    gsrt_status status = gsrt_yaml_parse(gsrt_span_of_text(text), "f.yaml", &yaml, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    if (catalogue != NULL)
        ck_assert_int_eq(gsrt_yaml_parse(gsrt_span_of_text(catalogue), "c.yaml", &types, &diag), GSRT_OK);
    const gsrt_yaml *catalogues[] = {types};
    status = gsrt_fleet_read(yaml, catalogues, catalogue == NULL ? 0 : 1, out_findings, out);
    (void)gsrt_yaml_free(yaml);
    (void)gsrt_yaml_free(types);
    return status;
}

/* What was found, as one text in `room`. */
static inline const char *found(const gsrt_findings *findings, char *room, size_t room_bytes)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, room_bytes - 1);
    ck_assert_int_eq(gsrt_findings_print(findings, &text), GSRT_OK);
    if (text.len > 0)
        memcpy(room, text.data, text.len);
    room[text.len] = 0;
    gsrt_buffer_fini(&text);
    return room;
}

#define CATALOGUE                                                                                                      \
    "gsrt_catalogue: 1\n"                                                                                              \
    "source: \"datasheet: invented, 2026\"\n"                                                                          \
    "types:\n"                                                                                                         \
    "  - name: big\n"                                                                                                  \
    "    kind: engine\n"                                                                                               \
    "    product: Big One\n"                                                                                           \
    "    rates: {matmul: {bf16: \"990 TFLOPS\", f8: \"1980 TFLOPS\"}, vector: {f32: \"67 TFLOPS\"}}\n"                 \
    "    memory: [{tier: hbm, capacity: \"80 GB\", bandwidth: \"3.35 TB/s [3, 3.4]\"}]\n"                              \
    "    power_idle: \"70 W\"\n"                                                                                       \
    "    power_max: \"700 W\"\n"

/* 16,384 accelerators: 8 in a node, 16 nodes in a rack, 32 racks in each of 4 zones. */
#define LARGE                                                                                                          \
    "gsrt_fleet: 1\n"                                                                                                  \
    "name: large\n"                                                                                                    \
    "as_of: 2026-11-01\n"                                                                                              \
    "source: \"declared: the operator\"\n"                                                                             \
    "places:\n"                                                                                                        \
    "  - {name: home, kind: region}\n"                                                                                 \
    "  - {name: zone, kind: zone, in: home, count: 4, energy_price: \"0.08 $/kWh\"}\n"                                 \
    "  - {name: rack, kind: rack, in: zone, count: 32, power_budget: \"150 kW\"}\n"                                    \
    "  - {name: node, kind: node, in: [rack, feed], count: 16, trust: operator}\n"                                     \
    "  - {name: feed, kind: power, in: zone, count: 8}\n"                                                              \
    "parts:\n"                                                                                                         \
    "  - {name: gpu, type: big, in: node, count: 8, software: {driver: \"1.2\", attention: \"3\"}}\n"                  \
    "  - {name: mesh, kind: fabric, in: node, bandwidth: \"7.2 TB/s\"}\n"                                              \
    "  - {name: nic, kind: nic, in: node, count: 4, bandwidth: \"100 GB/s\"}\n"                                        \
    "  - {name: leaf, kind: switch, in: rack, count: 2}\n"                                                             \
    "links:\n"                                                                                                         \
    "  - {from: gpu, to: mesh, kind: coherent, both: true, coherent: true, bandwidth: \"450 GB/s\", latency: \"1 "     \
    "us\","                                                                                                            \
    " contention: mesh, collectives: [all_reduce]}\n"                                                                  \
    "  - {from: gpu, to: nic, kind: pcie, both: true, bandwidth: \"63 GB/s\", latency: \"900 ns\"}\n"                  \
    "  - {name: up, from: nic, to: leaf, kind: network, both: true, bandwidth: \"50 GB/s\", latency: \"2 us\","        \
    " energy: \"20 pJ/bit\", fails_with: rack, correlation: 0.5}\n"                                                    \
    "  - {name: out, from: leaf, to: leaf, kind: network, pairing: all, bandwidth: \"800 Gbit/s\"}\n"                  \
    "paths:\n"                                                                                                         \
    "  - {name: away, links: [\"gpu->nic\", up], latency: \"4 us\"}\n"                                                 \
    "measurements:\n"                                                                                                  \
    "  - {part: gpu, property: matmul.bf16, value: \"700 TFLOPS [680, 720]\", on: 2026-10-01,"                         \
    " source: \"measured: ours\"}\n"

#endif
