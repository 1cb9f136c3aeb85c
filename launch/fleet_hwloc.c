#include "launch/fleet_hwloc.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_REFUSED = 10, EXIT_EMPTY = 11, NAME_BYTES_MAX = 32, INFO_BYTES_MAX = 120, GPUS_MAX = 256 };

/* ---- the child: a topology as text ---- */

typedef struct writer {
    hwloc_topology_t topology;
    gsrt_buffer *out;
    gsrt_status status; /* the first failure stays */
    int package_count;
    int nic_count, engine_count, storage_count;
    hwloc_obj_t engines[GPUS_MAX]; /* PCI devices */
} writer;

#define PUT(w, ...) ((w)->status = (w)->status == GSRT_OK ? gsrt_buffer_print((w)->out, __VA_ARGS__) : (w)->status)

/* A number of `unit`; nothing where it is 0: hwloc's way to say that it does not know. */
static void put_number(writer *w, const char *key, double number, const char *unit)
{
    if (number > 0)
        PUT(w, ", %s: \"%.10g %s\"", key, number, unit);
}

/* Text from a foreign file: only what needs no escape. */
static void put_product(writer *w, const char *text)
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
    PUT(w, ", product: \"%s\"", clean);
}

/* The package around an object, or the only one; -1: none in particular. */
static int package_of(const writer *w, hwloc_obj_t object)
{
    for (hwloc_obj_t at = object; at != NULL; at = at->parent) {
        if (at->type == HWLOC_OBJ_PACKAGE)
            return (int)at->logical_index;
    }
    return w->package_count == 1 ? 0 : -1;
}

static void put_in(writer *w, int package)
{
    if (package < 0)
        PUT(w, ", in: node}\n");
    else
        PUT(w, ", in: package%d}\n", package);
}

static void put_processors(writer *w)
{
    for (int i = 0; i < w->package_count || i == 0; i++) {
        hwloc_obj_t package = w->package_count == 0
                                  ? hwloc_get_root_obj(w->topology)
                                  : hwloc_get_obj_by_type(w->topology, HWLOC_OBJ_PACKAGE, (unsigned)i);
        PUT(w, "  - {name: cpu%d, kind: engine", i);
        put_product(w, hwloc_obj_get_info_by_name(package, "CPUModel"));
        put_in(w, w->package_count == 0 ? -1 : i);
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
static double attribute_of(const writer *w, hwloc_memattr_id_t id, hwloc_obj_t memory)
{
    struct hwloc_location initiator;
    hwloc_uint64_t value;
    return hwloc_memattr_get_best_initiator(w->topology, id, memory, 0, &initiator, &value) == 0 ? (double)value : 0;
}

static void put_memories(writer *w, bool is_links)
{
    int count = hwloc_get_nbobjs_by_type(w->topology, HWLOC_OBJ_NUMANODE);
    for (int i = 0; i < count; i++) {
        hwloc_obj_t memory = hwloc_get_obj_by_type(w->topology, HWLOC_OBJ_NUMANODE, (unsigned)i);
        int package = package_of(w, memory);
        if (!is_links) {
            PUT(w, "  - {name: numa%d, kind: memory, tier: %s", i, tier_of(memory));
            put_number(w, "capacity", (double)memory->attr->numanode.local_memory, "B");
            put_number(w, "bandwidth", attribute_of(w, HWLOC_MEMATTR_ID_BANDWIDTH, memory), "MiB/s");
            put_in(w, package);
            continue;
        }
        for (int p = 0; p < w->package_count || p == 0; p++) {
            if (package >= 0 && package != p) /* the others reach it through that one */
                continue;
            PUT(w, "  - {from: numa%d, to: cpu%d, kind: memory, both: true", i, p);
            put_number(w, "latency", attribute_of(w, HWLOC_MEMATTR_ID_LATENCY, memory), "ns");
            PUT(w, "}\n");
        }
    }
    for (int p = 1; is_links && p < w->package_count; p++)
        PUT(w, "  - {from: cpu%d, to: cpu0, kind: coherent, both: true, coherent: true}\n", p);
}

/* The operating system's device of that type below a PCI device; NULL: none. */
static hwloc_obj_t device_below(hwloc_obj_t pci, hwloc_obj_osdev_type_t type)
{
    for (hwloc_obj_t at = pci->io_first_child; at != NULL; at = at->next_sibling) {
        if (at->type == HWLOC_OBJ_OS_DEVICE && at->attr->osdev.type == type)
            return at;
    }
    return NULL;
}

static hwloc_obj_t root_of(hwloc_obj_t pci)
{
    hwloc_obj_t at = pci->parent, root = NULL;
    for (; at != NULL && at->type == HWLOC_OBJ_BRIDGE; at = at->parent)
        root = at;
    return root;
}

/* "gpu0", "nic1", "nvme0", or false: nothing that computes, carries or stores. Counts, so each is asked once a pass. */
static bool name_device(writer *w, hwloc_obj_t pci, char name[NAME_BYTES_MAX], const char **out_kind)
{
    static const unsigned controller_3d = 0x0302; /* PCI class */
    hwloc_obj_t block = device_below(pci, HWLOC_OBJ_OSDEV_BLOCK);
    bool is_engine = device_below(pci, HWLOC_OBJ_OSDEV_COPROC) != NULL || pci->attr->pcidev.class_id == controller_3d;
    bool is_nic =
        device_below(pci, HWLOC_OBJ_OSDEV_NETWORK) != NULL || device_below(pci, HWLOC_OBJ_OSDEV_OPENFABRICS) != NULL;
    if (is_engine && w->engine_count < GPUS_MAX) {
        w->engines[w->engine_count] = pci;
        (void)snprintf(name, NAME_BYTES_MAX, "gpu%d", w->engine_count++);
        *out_kind = "engine";
    } else if (is_nic) {
        (void)snprintf(name, NAME_BYTES_MAX, "nic%d", w->nic_count++);
        *out_kind = "nic";
    } else if (block != NULL && block->name != NULL && strncmp(block->name, "nvme", 4) == 0) {
        (void)snprintf(name, NAME_BYTES_MAX, "nvme%d", w->storage_count++);
        *out_kind = "memory, tier: nvme";
    } else {
        return false;
    }
    return true;
}

static void put_own_memory(writer *w, hwloc_obj_t pci)
{
    hwloc_obj_t device = device_below(pci, HWLOC_OBJ_OSDEV_COPROC);
    const char *kib = device == NULL ? NULL : hwloc_obj_get_info_by_name(device, "CUDAGlobalMemorySize");
    double size_kib = kib == NULL ? 0 : strtod(kib, NULL);
    if (size_kib > 0)
        PUT(w, ", memory: [{tier: unknown, name: memory, capacity: \"%.10g KiB\"}]", size_kib);
}

static void put_devices(writer *w, bool is_links)
{
    w->engine_count = w->nic_count = w->storage_count = 0;
    hwloc_obj_t last_root = NULL;
    int roots = 0;
    for (hwloc_obj_t pci = NULL; (pci = hwloc_get_next_pcidev(w->topology, pci)) != NULL;) {
        char name[NAME_BYTES_MAX];
        const char *kind;
        if (!name_device(w, pci, name, &kind))
            continue;
        hwloc_obj_t root = root_of(pci);
        int package = package_of(w, hwloc_get_non_io_ancestor_obj(w->topology, pci));
        bool is_new_root = roots == 0 || root != last_root; /* the devices of a root are neighbours */
        roots += is_new_root ? 1 : 0;
        last_root = root;
        if (is_links) {
            PUT(w, "  - {from: %s, to: root%d, kind: pcie, both: true", name, roots - 1);
            put_number(w, "bandwidth", (double)pci->attr->pcidev.linkspeed, "GB/s");
            PUT(w, "}\n");
            if (is_new_root)
                PUT(w, "  - {from: root%d, to: cpu%d, kind: pcie, both: true}\n", roots - 1, package < 0 ? 0 : package);
            continue;
        }
        if (is_new_root) {
            PUT(w, "  - {name: root%d, kind: root", roots - 1);
            put_in(w, package);
        }
        PUT(w, "  - {name: %s, kind: %s", name, kind);
        put_product(w, pci->name != NULL ? pci->name : hwloc_obj_get_info_by_name(pci, "PCIDevice"));
        if (strcmp(kind, "engine") == 0)
            put_own_memory(w, pci);
        put_in(w, package);
    }
}

/* The engine that is, or holds, an object of a distance matrix; -1: none. */
static int engine_of(const writer *w, hwloc_obj_t object)
{
    for (hwloc_obj_t at = object; at != NULL; at = at->parent) {
        for (int i = 0; i < w->engine_count; i++) {
            if (w->engines[i] == at)
                return i;
        }
    }
    return -1;
}

/* Bandwidths between accelerators, in MB/s. Distances of NUMA nodes are relative, and say nothing in bytes. */
static void put_distances(writer *w)
{
    struct hwloc_distances_s *distances[4];
    unsigned count = 4;
    if (hwloc_distances_get_by_name(w->topology, "NVLinkBandwidth", &count, distances, 0) != 0)
        return;
    for (unsigned d = 0; d < count && d < 4; d++) {
        unsigned n = distances[d]->nbobjs;
        for (unsigned i = 0; i < n * n; i++) {
            int from = engine_of(w, distances[d]->objs[i / n]), to = engine_of(w, distances[d]->objs[i % n]);
            if (from < 0 || to < 0 || from == to || distances[d]->values[i] == 0)
                continue;
            PUT(w, "  - {from: gpu%d, to: gpu%d, kind: coherent", from, to);
            put_number(w, "bandwidth", (double)distances[d]->values[i], "MB/s");
            PUT(w, "}\n");
        }
        hwloc_distances_release(w->topology, distances[d]);
    }
}

static gsrt_status write_topology(hwloc_topology_t topology, bool is_here, gsrt_buffer *out)
{
    writer w = {.topology = topology, .out = out};
    w.package_count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
    if (w.package_count < 0)
        w.package_count = 0;
    PUT(&w, "gsrt_fleet: 1\nname: %s\nsource: \"discovered: hwloc\"\nplaces:\n  - {name: node, kind: node}\n",
        is_here ? "here" : "topology");
    for (int i = 0; i < w.package_count; i++)
        PUT(&w, "  - {name: package%d, kind: board, in: node}\n", i);
    PUT(&w, "parts:\n");
    put_processors(&w);
    put_memories(&w, false);
    put_devices(&w, false);
    PUT(&w, "links:\n");
    put_memories(&w, true);
    put_devices(&w, true);
    put_distances(&w);
    return w.status;
}

/* Never returns. */
static void run_child(gsrt_span xml, int to)
{
    const struct rlimit time_s = {GSRT_FLEET_HWLOC_CPU_S, GSRT_FLEET_HWLOC_CPU_S}, core = {0, 0};
    (void)setrlimit(RLIMIT_CPU, &time_s);
    (void)setrlimit(RLIMIT_CORE, &core);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const struct rlimit bytes = {GSRT_FLEET_HWLOC_BYTES, GSRT_FLEET_HWLOC_BYTES};
    (void)setrlimit(RLIMIT_AS, &bytes); /* sanitizers map much more, and use little of it */
#endif
    (void)alarm(2 * GSRT_FLEET_HWLOC_CPU_S);
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0)
        (void)dup2(nowhere, STDERR_FILENO); /* what is wrong is said by the parent, once */
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        _exit(EXIT_REFUSED);
    (void)hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if ((xml.data != NULL && hwloc_topology_set_xmlbuffer(topology, (const char *)xml.data, (int)xml.len) != 0) ||
        hwloc_topology_load(topology) != 0)
        _exit(EXIT_REFUSED);
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU) <= 0)
        _exit(EXIT_EMPTY);
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_FLEET_HWLOC_TEXT_BYTES);
    if (write_topology(topology, xml.data == NULL, &text) != GSRT_OK)
        _exit(EXIT_REFUSED);
    for (size_t done = 0; done < text.len;) {
        ssize_t n = write(to, text.data + done, text.len - done);
        if (n <= 0)
            _exit(EXIT_REFUSED);
        done += (size_t)n;
    }
    _exit(0);
}

/* ---- the parent ---- */

/* All that comes, up to the ceiling. */
static gsrt_status take_all(int from, gsrt_buffer *out)
{
    uint8_t part[4096];
    for (;;) {
        ssize_t n = read(from, part, sizeof part);
        if (n == 0)
            return GSRT_OK;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return GSRT_EIO;
        gsrt_status status = gsrt_buffer_append(out, part, (size_t)n);
        if (status != GSRT_OK)
            return status;
    }
}

static gsrt_status judge(int how, gsrt_span xml, const char *file, gsrt_diag *diag)
{
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0)
        return GSRT_OK;
    bool is_next = xml.data != NULL && memmem(xml.data, xml.len, "<topology version=\"3", 20) != NULL;
    if (is_next)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL,
                             "exported by hwloc 3, which hwloc 2 does not read; export it there with 'lstopo "
                             "--export-xml-flags v2'");
    if (WIFSIGNALED(how))
        return gsrt_diag_set(
            diag, GSRT_EINPUT, file, NULL, "the topology %s (hwloc ended with signal %d); export it again with lstopo",
            WTERMSIG(how) == SIGALRM || WTERMSIG(how) == SIGXCPU ? "takes too long" : "is damaged", WTERMSIG(how));
    if (WEXITSTATUS(how) == EXIT_EMPTY)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "a topology without processors; export a whole machine");
    return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "no topology that hwloc reads; export it again with lstopo");
}

gsrt_status gsrt_fleet_hwloc(gsrt_span xml, const char *file, gsrt_buffer *out, gsrt_diag *diag)
{
    int ends[2];
    if (xml.len > INT32_MAX || pipe2(ends, O_CLOEXEC) != 0)
        return GSRT_EIO;
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        run_child(xml, ends[1]);
    }
    (void)close(ends[1]);
    gsrt_status status = child < 0 ? GSRT_EIO : take_all(ends[0], out);
    (void)close(ends[0]);
    int how = 0;
    while (child > 0 && waitpid(child, &how, 0) < 0) {
        if (errno != EINTR)
            return GSRT_EIO;
    }
    return status == GSRT_OK ? judge(how, xml, file, diag) : status;
}
