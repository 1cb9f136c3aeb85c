#include "launch/fleet_hwloc.h"

#include "launch/child.h"
#include "launch/fleet_hwloc_impl.h"
#include "placement/deployment.h"

#include <stdio.h>
#include <sys/wait.h>

enum { EXIT_REFUSED = 10, EXIT_EMPTY = 11, INFO_BYTES_MAX = 120 };

/* How long what was measured is believed: drivers, kernels and neighbours change. */
enum { MEASURED_DAYS = 365 };

/* ---- the child: a topology as text ---- */

void gsrt__hwloc_put_number(gsrt__hwloc_writer *w, const char *key, double number, const char *unit)
{
    if (number > 0)
        GSRT__PUT(w, ", %s: \"%.10g %s\"", key, number, unit);
}

void gsrt__hwloc_put_text(gsrt__hwloc_writer *w, const char *before, const char *text)
{
    if (text == NULL || *text == 0)
        return;
    char clean[INFO_BYTES_MAX];
    size_t len = 0;
    for (; text[len] != 0 && len + 1 < sizeof clean; len++) {
        bool is_plain = text[len] >= ' ' && text[len] < 0x7f && text[len] != '"' && text[len] != '\\';
        clean[len] = is_plain ? text[len] : '?';
    }
    clean[len] = 0;
    GSRT__PUT(w, "%s\"%s\"", before, clean);
}

int gsrt__hwloc_package_of(const gsrt__hwloc_writer *w, hwloc_obj_t object)
{
    for (hwloc_obj_t at = object; at != NULL; at = at->parent) {
        if (at->type == HWLOC_OBJ_PACKAGE)
            return (int)at->logical_index;
    }
    return w->package_count == 1 ? 0 : -1;
}

void gsrt__hwloc_put_in(gsrt__hwloc_writer *w, int package)
{
    if (package < 0)
        GSRT__PUT(w, ", in: node}\n");
    else
        GSRT__PUT(w, ", in: package%d}\n", package);
}

/* ---- processors and memories ---- */

/* A number that was measured, with its spread; nothing where it was not. */
static void put_measured(gsrt__hwloc_writer *w, const char *key, const gsrt_measured *m, const char *unit,
                         const char *how)
{
    char since[12], until[12];
    if (m->value <= 0)
        return;
    GSRT__PUT(w,
              "%s: {value: \"%.4g %s [%.4g, %.4g]\", source: \"measured: gsrt fleet discover, %s, %u passes\", since: "
              "%s, until: %s}",
              key, m->value, unit, m->lo, m->hi, how, (unsigned)w->machine->pass_count,
              gsrt_day_print(w->machine->measured_day, since),
              gsrt_day_print(w->machine->measured_day + MEASURED_DAYS, until));
}

static void put_rates(gsrt__hwloc_writer *w, const gsrt_measured_engine *engine)
{
    char how[64];
    (void)snprintf(how, sizeof how, "canonical kernels, %u thread%s", (unsigned)engine->thread_count,
                   engine->thread_count == 1 ? "" : "s");
    GSRT__PUT(w, ", rates: {");
    const char *between_classes = "";
    for (size_t c = 0; c < GSRT_CLASS_COUNT; c++) {
        const char *before = "";
        for (size_t f = 0; f < GSRT_FORMAT_COUNT; f++) {
            if (engine->rates[c][f].value <= 0)
                continue;
            if (*before == 0)
                GSRT__PUT(w, "%s%s: {", between_classes, gsrt_rate_class_word((gsrt_rate_class)c));
            GSRT__PUT(w, "%s", before);
            put_measured(w, gsrt_format_word((gsrt_format)f), &engine->rates[c][f], "FLOPS", how);
            before = ", ";
        }
        if (*before != 0) {
            GSRT__PUT(w, "}");
            between_classes = ", ";
        }
    }
    GSRT__PUT(w, "}");
    if (engine->launch.value > 0) {
        GSRT__PUT(w, ", ");
        put_measured(w, "launch_overhead", &engine->launch, "s", how);
    }
}

/* What this machine says of the processors that GSRT runs on: its own kernels, their counters, how fast they are. */
static void put_engine(gsrt__hwloc_writer *w, int index)
{
    const gsrt_machine *machine = w->machine;
    if (machine == NULL)
        return;
    GSRT__PUT(w, ", software: {" GSRT_CANONICAL_SOFTWARE ": \"1\"}");
    if (machine->has_counters) {
        const char *at = (const char *)machine->counters.data, *end = at + machine->counters.len;
        GSRT__PUT(w, ", counters: [");
        while (w->status == GSRT_OK && at < end) {
            const char *newline = memchr(at, '\n', (size_t)(end - at));
            size_t len = newline == NULL ? (size_t)(end - at) : (size_t)(newline - at);
            GSRT__PUT(w, "%s%.*s", at == (const char *)machine->counters.data ? "" : ", ", (int)len, at);
            at += len + 1;
        }
        GSRT__PUT(w, "]");
    }
    if (machine->measured_day != GSRT_DAY_FIRST && index < GSRT_MACHINE_PACKAGES_MAX)
        put_rates(w, &machine->engines[index]);
}

static void put_processors(gsrt__hwloc_writer *w)
{
    for (int i = 0; i < w->package_count || i == 0; i++) {
        hwloc_obj_t package = w->package_count == 0
                                  ? hwloc_get_root_obj(w->topology)
                                  : hwloc_get_obj_by_type(w->topology, HWLOC_OBJ_PACKAGE, (unsigned)i);
        GSRT__PUT(w, "  - {name: cpu%d, kind: engine", i);
        gsrt__hwloc_put_text(w, ", product: ", hwloc_obj_get_info_by_name(package, "CPUModel"));
        put_engine(w, i);
        gsrt__hwloc_put_in(w, w->package_count == 0 ? -1 : i);
    }
}

static const char *tier_of(hwloc_obj_t memory)
{
    static const struct {
        const char *subtype, *tier;
    } tiers[] = {{"MCDRAM", "hbm"}, {"HBM", "hbm"}, {"DRAM", "ddr"}, {"CXL-DRAM", "cxl"}, {"GPUMemory", "hbm"}};
    for (size_t i = 0; memory->subtype != NULL && i < sizeof tiers / sizeof tiers[0]; i++) {
        if (strcmp(memory->subtype, tiers[i].subtype) == 0)
            return tiers[i].tier;
    }
    return "unknown";
}

/* The best that any initiator sees; 0: not known. MiB/s or ns. */
static double attribute_of(const gsrt__hwloc_writer *w, hwloc_memattr_id_t id, hwloc_obj_t memory)
{
    struct hwloc_location initiator;
    hwloc_uint64_t value;
    return hwloc_memattr_get_best_initiator(w->topology, id, memory, 0, &initiator, &value) == 0 ? (double)value : 0;
}

/* How fast a memory is read was measured; NULL: it was not. */
static const gsrt_measured_memory *measured_memory(const gsrt__hwloc_writer *w, int index)
{
    bool is_measured = w->machine != NULL && w->machine->measured_day != GSRT_DAY_FIRST &&
                       index < GSRT_MACHINE_DOMAINS_MAX && w->machine->memories[index].all_threads.value > 0;
    return is_measured ? &w->machine->memories[index] : NULL;
}

static void put_read_bandwidth(gsrt__hwloc_writer *w, const gsrt_measured_memory *m)
{
    char how[96];
    (void)snprintf(how, sizeof how, "read by %u thread%s (by one: %.3g GB/s)", (unsigned)m->thread_count,
                   m->thread_count == 1 ? "" : "s", m->one_thread.value * 1e-9);
    GSRT__PUT(w, ", ");
    put_measured(w, "bandwidth", &m->all_threads, "B/s", how);
}

static void put_memory(gsrt__hwloc_writer *w, hwloc_obj_t memory, int index)
{
    const gsrt_measured_memory *measured = measured_memory(w, index);
    GSRT__PUT(w, "  - {name: numa%d, kind: memory, tier: %s", index, tier_of(memory));
    gsrt__hwloc_put_number(w, "capacity", (double)memory->attr->numanode.local_memory, "B");
    if (measured != NULL)
        put_read_bandwidth(w, measured);
    else
        gsrt__hwloc_put_number(w, "bandwidth", attribute_of(w, HWLOC_MEMATTR_ID_BANDWIDTH, memory), "MiB/s");
    gsrt__hwloc_put_in(w, gsrt__hwloc_package_of(w, memory));
}

static void put_memory_links(gsrt__hwloc_writer *w, hwloc_obj_t memory, int index)
{
    const gsrt_measured_memory *measured = measured_memory(w, index);
    int package = gsrt__hwloc_package_of(w, memory);
    for (int p = 0; p < w->package_count || p == 0; p++) {
        if (package >= 0 && package != p) /* the others reach it through that one */
            continue;
        GSRT__PUT(w, "  - {from: numa%d, to: cpu%d, kind: memory, both: true", index, p);
        gsrt__hwloc_put_number(w, "latency", attribute_of(w, HWLOC_MEMATTR_ID_LATENCY, memory), "ns");
        if (measured != NULL) { /* every way to it carries what it gives, but not more together */
            put_read_bandwidth(w, measured);
            GSRT__PUT(w, ", contention: numa%d", index);
        }
        GSRT__PUT(w, "}\n");
    }
}

static void put_memories(gsrt__hwloc_writer *w, bool is_links)
{
    int count = hwloc_get_nbobjs_by_type(w->topology, HWLOC_OBJ_NUMANODE);
    for (int i = 0; i < count; i++) {
        hwloc_obj_t memory = hwloc_get_obj_by_type(w->topology, HWLOC_OBJ_NUMANODE, (unsigned)i);
        if (is_links)
            put_memory_links(w, memory, i);
        else
            put_memory(w, memory, i);
    }
    for (int p = 1; is_links && p < w->package_count; p++)
        GSRT__PUT(w, "  - {from: cpu%d, to: cpu0, kind: coherent, both: true, coherent: true}\n", p);
}

/* ---- the way to other hosts ---- */

/* A switch that is in none of them, and half of the way to it. */
static void put_network(gsrt__hwloc_writer *w, bool is_links)
{
    const gsrt_measured_links *links = w->machine == NULL ? NULL : &w->machine->links;
    if (links == NULL || links->far_latency.value <= 0)
        return;
    if (!is_links) {
        GSRT__PUT(w, "  - {name: network, kind: switch}\n");
        return;
    }
    char how[128];
    gsrt_measured half = {links->far_latency.value / 2, links->far_latency.lo / 2, links->far_latency.hi / 2};
    (void)snprintf(how, sizeof how, "messages between ranks on %u hosts over %s", (unsigned)links->host_count,
                   links->far_lane);
    GSRT__PUT(w, "  - {from: cpu0, to: network, kind: network, both: true, ");
    put_measured(w, "latency", &half, "s", how);
    GSRT__PUT(w, ", ");
    put_measured(w, "bandwidth", &links->far_bandwidth, "B/s", how);
    GSRT__PUT(w, "}\n");
}

static gsrt_status write_topology(hwloc_topology_t topology, const gsrt_machine *machine, gsrt_buffer *out)
{
    gsrt__hwloc_writer w = {.topology = topology, .machine = machine, .out = out};
    w.package_count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
    if (w.package_count < 0)
        w.package_count = 0;
    GSRT__PUT(&w, "gsrt_fleet: 1\nname: %s\nsource: \"discovered: hwloc\"\nplaces:\n  - {name: node, kind: node}\n",
              machine != NULL ? "here" : "topology");
    for (int i = 0; i < w.package_count; i++)
        GSRT__PUT(&w, "  - {name: package%d, kind: board, in: node}\n", i);
    GSRT__PUT(&w, "parts:\n");
    put_processors(&w);
    put_memories(&w, false);
    gsrt__hwloc_put_devices(&w, false);
    put_network(&w, false);
    GSRT__PUT(&w, "links:\n");
    put_memories(&w, true);
    gsrt__hwloc_put_devices(&w, true);
    put_network(&w, true);
    return w.status;
}

typedef struct subject {
    gsrt_span xml;
    const gsrt_machine *machine;
} subject;

/* In the child: returns its exit code. */
static int read_topology(void *arg, gsrt_buffer *out)
{
    const subject *s = arg;
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return EXIT_REFUSED;
    (void)hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    bool is_here = s->machine != NULL;
    if ((!is_here && hwloc_topology_set_xmlbuffer(topology, (const char *)s->xml.data, (int)s->xml.len) != 0) ||
        hwloc_topology_load(topology) != 0)
        return EXIT_REFUSED;
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU) <= 0)
        return EXIT_EMPTY;
    return write_topology(topology, s->machine, out) == GSRT_OK ? 0 : EXIT_REFUSED;
}

/* ---- the parent ---- */

static gsrt_status judge(int how, gsrt_span xml, const char *file, gsrt_diag *diag)
{
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0)
        return GSRT_OK;
    bool is_next = xml.data != NULL && memmem(xml.data, xml.len, "<topology version=\"3", 20) != NULL;
    if (is_next)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL,
                             "exported by hwloc 3, which hwloc 2 does not read; export it there with 'lstopo "
                             "--export-xml-flags v2'");
    char end[48];
    if (WIFSIGNALED(how))
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "hwloc %s over this topology; export it again with lstopo",
                             gsrt_child_end(how, end, sizeof end));
    if (WEXITSTATUS(how) == EXIT_EMPTY)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "a topology without processors; export a whole machine");
    return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "no topology that hwloc reads; export it again with lstopo");
}

static gsrt_status run(subject *s, const char *file, gsrt_buffer *out, gsrt_diag *diag)
{
    static const gsrt_child_limits limits = {GSRT_FLEET_HWLOC_CPU_S, GSRT_FLEET_HWLOC_BYTES,
                                             GSRT_FLEET_HWLOC_TEXT_BYTES};
    int how = 0;
    gsrt_status status = gsrt_child_run(&limits, read_topology, s, out, &how);
    return status == GSRT_OK ? judge(how, s->xml, file, diag) : status;
}

gsrt_status gsrt_fleet_hwloc_file(gsrt_span xml, const char *file, gsrt_buffer *out, gsrt_diag *diag)
{
    return xml.len > INT32_MAX ? GSRT_EIO : run(&(subject){.xml = xml}, file, out, diag);
}

gsrt_status gsrt_fleet_hwloc_here(const gsrt_machine *machine, gsrt_buffer *out, gsrt_diag *diag)
{
    return run(&(subject){.machine = machine}, "this machine", out, diag);
}
