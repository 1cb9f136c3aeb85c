/* This machine as a fleet: whatever its sources say, or do, an inventory without an error comes out, or one line that
 * says why not. The library of accelerators is fake_nvml.c. */
#include "launch/fleet_discover.h"

#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };
static const int32_t TODAY = 20787; /* 2026-11-30 */

typedef struct discovered {
    gsrt_status status;
    gsrt_diag diag;
    gsrt_findings findings;
    gsrt_fleet *fleet;
} discovered;

static const char *fake(const char *name, char room[PATH_BYTES])
{
    const char *build = getenv("GSRT_BUILDDIR");
    (void)snprintf(room, PATH_BYTES, "%s/tests/launch/%s", build != NULL ? build : ".", name);
    return room;
}

/* With the fake library behaving so. What was found is an inventory in order. */
static discovered discover(const char *library, const char *behaviour)
{
    char path[PATH_BYTES];
    discovered d = {0};
    gsrt_findings_init(&d.findings);
    ck_assert_int_eq(setenv("FAKE_NVML", behaviour, 1), 0);
    gsrt_discovery discovery = {.nvml_path = library == NULL ? NULL : fake(library, path), .today = TODAY};
    d.status = gsrt_fleet_discover(&discovery, &d.findings, &d.fleet, &d.diag);
    ck_assert_uint_eq(d.findings.error_count, 0);
    if (d.status != GSRT_OK)
        return d;
    gsrt_findings checked;
    gsrt_findings_init(&checked);
    gsrt_fleet_check(d.fleet, TODAY, &checked);
    ck_assert_msg(checked.error_count == 0, "%s: %s", behaviour, checked.items[0].what);
    gsrt_findings_fini(&checked);
    return d;
}

static void discovered_fini(discovered *d)
{
    gsrt_findings_fini(&d->findings);
    (void)gsrt_fleet_free(d->fleet);
}

static bool is_noted(const discovered *d, const char *place, const char *what)
{
    for (size_t i = 0; i < d->findings.count; i++) {
        const gsrt_finding *f = &d->findings.items[i];
        if (strcmp(f->reason, "not_discovered") == 0 && strstr(f->place, place) != NULL &&
            strstr(f->what, what) != NULL)
            return true;
    }
    return false;
}

static const gsrt_part *part_of(const discovered *d, const char *name)
{
    uint32_t index = gsrt_fleet_part_named(d->fleet, name);
    ck_assert_msg(index != GSRT_FLEET_NONE, "no %s", name);
    return &d->fleet->parts[index];
}

static const gsrt_link *link_of(const discovered *d, const char *name)
{
    uint32_t index = gsrt_fleet_link_named(d->fleet, name);
    ck_assert_msg(index != GSRT_FLEET_NONE, "no %s", name);
    return &d->fleet->links[index];
}

static void check_said(const gsrt_quantity *q, double value, const char *source)
{
    ck_assert(q->is_known && q->lo <= q->value && q->value <= q->hi);
    ck_assert_double_eq_tol(q->value, value, value * 1e-6);
    ck_assert_str_eq(q->source_text, source);
}

/* The processor: which kernels it runs, and which counters can be read, or that none can, or that nobody can say. */
START_TEST(the_processor)
{
    discovered d = discover(NULL, "pair");
    ck_assert_msg(d.status == GSRT_OK, "%s", d.diag.text);
    const gsrt_part *cpu = part_of(&d, "cpu0");
    ck_assert_uint_eq(cpu->software_count, 1);
    ck_assert_str_eq(cpu->software[0].name, "gsrt-canonical");
    ck_assert(cpu->counters == NULL || cpu->counter_count > 0 || is_noted(&d, "counters", "no hardware counter"));
    ck_assert(cpu->counters != NULL || is_noted(&d, "counters", "PAPI"));
    ck_assert_ptr_null(cpu->rates); /* nothing is measured unasked */
    discovered_fini(&d);
}
END_TEST

START_TEST(two_with_links)
{
    discovered d = discover("fake_nvml.so", "pair");
    ck_assert_msg(d.status == GSRT_OK, "%s", d.diag.text);
    const gsrt_part *gpu = part_of(&d, "gpu0");
    ck_assert(gpu->kind == GSRT_PART_ENGINE);
    ck_assert_str_eq(gpu->product, "Invented ?0?");
    ck_assert_str_eq(gpu->software[0].name, "driver");
    ck_assert_str_eq(gpu->software[0].version, "550.90.07");
    check_said(&gpu->power_max, 700, "discovered: nvml");
    ck_assert(!part_of(&d, "gpu1")->power_max.is_known); /* not supported */
    check_said(&part_of(&d, "gpu0.memory")->capacity, 80.0 * (1 << 30), "discovered: nvml");
    check_said(&part_of(&d, "gpu0.memory")->bandwidth, 3.35232e12, "discovered: nvml");
    check_said(&link_of(&d, "gpu0->cpu0")->bandwidth, 63.0153846e9, "discovered: nvml");
    check_said(&link_of(&d, "gpu0->gpu1")->bandwidth, 4 * 26562e6, "discovered: nvml");
    check_said(&link_of(&d, "gpu1->gpu0")->bandwidth, 4 * 26562e6, "discovered: nvml");
    check_said(&link_of(&d, "fabric0->gpu1")->bandwidth, 2 * 26562e6, "discovered: nvml");
    discovered_fini(&d);
}
END_TEST

/* What no device has is left out, and said. */
START_TEST(absurd_numbers)
{
    discovered d = discover("fake_nvml.so", "absurd");
    ck_assert_msg(d.status == GSRT_OK, "%s", d.diag.text);
    const gsrt_part *gpu = part_of(&d, "gpu0");
    ck_assert(gpu->product == NULL && gpu->software_count == 0 && !gpu->power_max.is_known);
    ck_assert_uint_eq(gsrt_fleet_part_named(d.fleet, "gpu0.memory"), GSRT_FLEET_NONE);
    ck_assert(!link_of(&d, "gpu0->cpu0")->bandwidth.is_known);
    ck_assert(!link_of(&d, "gpu0->fabric0")->bandwidth.is_known);
    static const char *const said[] = {
        "bytes of memory", "B/s of memory", " W:", "B/s of a link", "lanes", "generation"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        ck_assert_msg(is_noted(&d, "nvml: device 0", said[i]), "%s", said[i]);
    discovered_fini(&d);
}
END_TEST

START_TEST(devices_that_are_none)
{
    static const struct {
        const char *behaviour, *place, *what;
        bool is_first_there;
    } cases[] = {{"lost", "device 1", "NVML returns 15", true},
                 {"twins", "device 1", "another one has", true},
                 {"many", "nvml", "4294967295 devices", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        discovered d = discover("fake_nvml.so", cases[i].behaviour);
        ck_assert_msg(d.status == GSRT_OK, "%s", d.diag.text);
        ck_assert_msg(is_noted(&d, cases[i].place, cases[i].what), "%s", cases[i].behaviour);
        ck_assert_int_eq(gsrt_fleet_part_named(d.fleet, "gpu0") != GSRT_FLEET_NONE, cases[i].is_first_there);
        ck_assert_uint_eq(gsrt_fleet_part_named(d.fleet, "gpu1"), GSRT_FLEET_NONE);
        discovered_fini(&d);
    }
}
END_TEST

/* Somebody named it: then it must be one. */
START_TEST(libraries_that_are_none)
{
    static const struct {
        const char *library, *behaviour, *what;
    } cases[] = {{"fake_nvml.so", "undriven", "refuses (NVML returns 9: the driver is not loaded)"},
                 {"fake_nvml.so", "crash", "ended with signal 6"},
                 {"fake_nvml_old.so", "pair", "lacks nvmlDeviceGetCount_v2"},
                 {"fake_nvml.c", "pair", "could not be opened"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        discovered d = discover(cases[i].library, cases[i].behaviour);
        ck_assert_int_eq(d.status, GSRT_EINPUT);
        ck_assert_msg(strstr(d.diag.text, cases[i].library) != NULL && strstr(d.diag.text, cases[i].what) != NULL &&
                          strstr(d.diag.text, "; ") != NULL,
                      "%s", d.diag.text);
        discovered_fini(&d);
    }
}
END_TEST

/* What hwloc sees too is one part: where hwloc says, with the numbers of NVML. */
START_TEST(a_device_that_hwloc_sees)
{
    char path[PATH_BYTES];
    const char *data = getenv("GSRT_SHARED_DATA"), *source = getenv("GSRT_SRCDIR");
    (void)snprintf(path, sizeof path, "%s%s/hardware/hwloc/xml-v2/32em64t-2n8c2t-pci-normalio.xml",
                   data != NULL     ? data
                   : source != NULL ? source
                                    : ".",
                   data != NULL ? "" : "/../shared/data");
    if (access(path, R_OK) != 0) {
        printf("SKIP: no %s (set GSRT_SHARED_DATA)\n", path);
        return;
    }
    ck_assert_int_eq(setenv("HWLOC_XMLFILE", path, 1), 0);
    discovered alone = discover("fake_nvml.so", "pair");
    ck_assert_int_eq(setenv("FAKE_NVML_BUS", "0:83:0", 1), 0);
    discovered d = discover("fake_nvml.so", "seen");
    ck_assert_msg(d.status == GSRT_OK && alone.status == GSRT_OK, "%s%s", d.diag.text, alone.diag.text);
    /* two more devices with their memories; one memory of a device that was there; a fabric in both */
    ck_assert_uint_eq(d.fleet->part_count + 3, alone.fleet->part_count);
    const gsrt_part *gpu = NULL;
    for (uint32_t i = 0; i < d.fleet->part_count; i++) {
        const char *product = d.fleet->parts[i].product;
        gpu = product != NULL && strcmp(product, "Invented ?0?") == 0 ? &d.fleet->parts[i] : gpu;
    }
    ck_assert_ptr_nonnull(gpu);
    ck_assert_str_eq(d.fleet->places[gpu->within.location].name, "package1");
    uint32_t link_count = 0;
    for (uint32_t i = 0; i < d.fleet->link_count; i++) {
        const gsrt_link *link = &d.fleet->links[i];
        if (&d.fleet->parts[link->from] == gpu && d.fleet->parts[link->to].kind == GSRT_PART_ROOT) {
            check_said(&link->bandwidth, 63.0153846e9, "discovered: nvml");
            link_count++;
        }
    }
    ck_assert_uint_eq(link_count, 1);
    discovered_fini(&alone);
    discovered_fini(&d);
}
END_TEST

static void check_measured(const gsrt_quantity *q)
{
    ck_assert(q->is_known && q->source == GSRT_SOURCE_MEASURED && q->confidence < 1);
    ck_assert(0 < q->lo && q->lo <= q->value && q->value <= q->hi);
    ck_assert(q->valid_from_day == TODAY && q->valid_until_day > TODAY);
}

/* Little of it, because how fast this machine is does not matter here. */
START_TEST(what_is_measured)
{
    gsrt_findings findings;
    gsrt_findings_init(&findings);
    gsrt_diag diag = {0};
    gsrt_fleet *fleet = NULL;
    gsrt_discovery discovery = {.is_measuring = true,
                                .measuring = {.pass_count = 3, .memory_bytes = 4 << 20, .matrix_width = 128},
                                .today = TODAY};
    gsrt_status status = gsrt_fleet_discover(&discovery, &findings, &fleet, &diag);
    ck_assert_msg(status == GSRT_OK && findings.error_count == 0, "%s", diag.text);
    const gsrt_part *cpu = &fleet->parts[gsrt_fleet_part_named(fleet, "cpu0")];
    static const gsrt_format formats[] = {GSRT_FORMAT_F32, GSRT_FORMAT_F16, GSRT_FORMAT_BF16, GSRT_FORMAT_I8};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        gsrt_quantity rate = gsrt_part_rate(cpu, GSRT_CLASS_MATMUL, formats[i]);
        check_measured(&rate);
    }
    gsrt_quantity vector = gsrt_part_rate(cpu, GSRT_CLASS_VECTOR, GSRT_FORMAT_F32);
    check_measured(&vector);
    check_measured(&cpu->launch_overhead);
    uint32_t numa = gsrt_fleet_part_named(fleet, "numa0");
    check_measured(&fleet->parts[numa].bandwidth);
    const gsrt_link *link = &fleet->links[gsrt_fleet_link_named(fleet, "numa0->cpu0")];
    check_measured(&link->bandwidth);
    ck_assert_uint_eq(link->contention, numa);
    gsrt_fleet_check(fleet, TODAY, &findings);
    for (size_t i = 0; i < findings.count; i++) /* how far they are apart is this machine's affair */
        ck_assert_msg(findings.items[i].class == GSRT_FINDING_MISSING ||
                          strcmp(findings.items[i].reason, "wide_interval") == 0,
                      "%s", findings.items[i].what);
    gsrt_findings_fini(&findings);
    (void)gsrt_fleet_free(fleet);
}
END_TEST

START_TEST(kernels_that_there_are_not)
{
    gsrt_findings findings;
    gsrt_findings_init(&findings);
    gsrt_diag diag = {0};
    gsrt_fleet *fleet = NULL;
    ck_assert_int_eq(setenv("GSRT_ISA", "abacus", 1), 0);
    gsrt_discovery discovery = {.nvml_path = "", .is_measuring = true, .today = TODAY};
    ck_assert_int_eq(gsrt_fleet_discover(&discovery, &findings, &fleet, &diag), GSRT_EINPUT);
    ck_assert_msg(strstr(diag.text, "abacus") != NULL, "%s", diag.text);
    for (size_t i = 0; i < findings.count; i++) /* nor was a library asked for */
        ck_assert_ptr_null(strstr(findings.items[i].place, "nvidia"));
    gsrt_findings_fini(&findings);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {
        the_processor,           two_with_links,           absurd_numbers,   devices_that_are_none,
        libraries_that_are_none, a_device_that_hwloc_sees, what_is_measured, kernels_that_there_are_not};
    return unit_run("fleet_discover", tests, sizeof tests / sizeof tests[0]);
}
