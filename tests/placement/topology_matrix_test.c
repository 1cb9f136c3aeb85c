/* Matrices of `nvidia-smi topo -m`: what becomes of them, and how bad ones are refused. */
#include "placement/topology_matrix.h"

#include "tests/placement/fleets.h"

#include <stdio.h>

enum { TEXT_BYTES_MAX = 1 << 16 };

static gsrt_status translate(const char *text, char room[TEXT_BYTES_MAX], gsrt_diag *diag)
{
    gsrt_buffer out;
    gsrt_buffer_init(&out, TEXT_BYTES_MAX - 1);
    gsrt_status status = gsrt_topology_matrix_read(gsrt_span_of_text(text), "m.txt", &out, diag);
    if (out.len > 0)
        memcpy(room, out.data, out.len);
    room[out.len] = 0;
    gsrt_buffer_fini(&out);
    return status;
}

START_TEST(devices_switches_roots_boards)
{
    static char text[TEXT_BYTES_MAX];
    gsrt_diag diag = {0};
    ck_assert_int_eq(translate("me@node:~$ nvidia-smi topo -m\n"
                               "\t\033[4mGPU0\tGPU1\tGPU2\tmlx5_0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\n"
                               "GPU0\t X \tNV12\tSYS\tPXB\t0-3,8-11\t0\t\tN/A\n"
                               "GPU1\tNV12\t X \tSYS\tPHB\t0-3,8-11\t0\t\tN/A\n"
                               "GPU2\tSYS\tSYS\t X \tSYS\t4-7\t1\t\tN/A\n"
                               "mlx5_0\tPXB\tPHB\tSYS\t X \t\t\t\t\n"
                               "\nLegend:\n\n  X    = Self\n",
                               text, &diag),
                     GSRT_OK);
    gsrt_fleet *fleet = NULL;
    gsrt_findings findings;
    ck_assert_int_eq(read_fleet(text, NULL, &fleet, &findings), GSRT_OK);
    gsrt_fleet_check(fleet, 0, &findings);
    ck_assert_uint_eq(findings.error_count, 0);
    ck_assert_uint_gt(findings.note_count, 0);
    const gsrt_part *gpu = &fleet->parts[gsrt_fleet_part_named(fleet, "GPU2")];
    ck_assert_str_eq(fleet->places[gpu->within.location].name, "numa1");
    ck_assert_int_eq(fleet->parts[gsrt_fleet_part_named(fleet, "mlx5_0")].kind, GSRT_PART_NIC);
    static const char *const links[] = {"GPU0->GPU1",          "GPU1->GPU0",       "GPU0->switch-GPU0",
                                        "mlx5_0->switch-GPU0", "GPU1->root-GPU0",  "switch-GPU0->root-GPU0",
                                        "GPU2->root-GPU2",     "root-GPU2->system"};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        ck_assert_msg(gsrt_fleet_link_named(fleet, links[i]) != GSRT_FLEET_NONE, "%s", links[i]);
    gsrt_findings_fini(&findings);
    (void)gsrt_fleet_free(fleet);
}
END_TEST

START_TEST(bad_ones_are_refused)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "there is no line of columns"},
        {"GPU0 GPU1 CPU Affinity\nGPU0 X SYS\n", "line 2: it ends before the row of 'GPU1'"},
        {"GPU0 GPU1 CPU Affinity\nGPU0 X SYS\nGPU2 SYS X\n", "line 3: here should be the row of 'GPU1'"},
        {"GPU0 GPU1 CPU Affinity\nGPU0 X\nGPU1 SYS X\n", "line 2: the row ends before the column of 'GPU1'"},
        {"GPU0 GPU1 CPU Affinity\nGPU0 X WIFI\nGPU1 SYS X\n", "line 2: no such connection: 'WIFI'"},
        {"GPU0 GPU1 CPU Affinity\nGPU0 X NV0\nGPU1 NV0 X\n", "line 2: no such connection: 'NV0'"},
        {"GPU0 GPU1 CPU Affinity\nGPU0 X SYS\nGPU1 PHB X\n",
         "line 3: the connection is another one in the row of 'GPU0'"},
        {"GPU0 GPU1 CPU Affinity\nGPU0 X NV4\nGPU1 NV2 X\n", "line 3: the connection is another one"},
        {"GPU0 GPU1 CPU Affinity\nGPU0 SYS X\nGPU1 X SYS\n", "line 2: 'X' must stand in the column of 'GPU0'"},
        {"GPU0 GPU0 CPU Affinity\n", "line 1: there are two columns of 'GPU0'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static char text[TEXT_BYTES_MAX];
        gsrt_diag diag = {0};
        ck_assert_int_eq(translate(cases[i].text, text, &diag), GSRT_EINPUT);
        ck_assert_msg(strstr(diag.text, cases[i].says) != NULL, "%s: %s", cases[i].says, diag.text);
    }
    ck_assert(!gsrt_topology_matrix_is(gsrt_span_of_text("gsrt_fleet: 1\nname: GPU0\n")));
}
END_TEST

int main(void)
{
    const TTest *tests[] = {devices_switches_roots_boards, bad_ones_are_refused};
    return unit_run("topology_matrix", tests, sizeof tests / sizeof tests[0]);
}
