/* The few functions of NVML that we need, as its documentation declares them; no header of it is needed. */
#include "launch/fleet_nvml.h"

#include "launch/child.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ---- NVML's interface ---- */

typedef struct nvml_handle *nvml_device;

typedef struct nvml_pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} nvml_pci_info;
_Static_assert(sizeof(nvml_pci_info) == 68, "nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3");

typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;

typedef struct nvml_field_value {
    unsigned field, scope;
    long long timestamp, latency_us;
    unsigned value_type;
    int returned;
    union {
        double f64;
        unsigned u32;
        unsigned long long u64;
    } value;
} nvml_field_value;
_Static_assert(sizeof(nvml_field_value) == 40, "nvmlFieldValue_t");

enum {
    NVML_SUCCESS = 0,
    NVML_CLOCK_MEM = 2,
    NVML_FIELD_LINK_SPEED = 90, /* MB/s of each active link, one way */
    NVML_VALUE_U32 = 1,
    NVML_LINK_TO_GPU = 0,
    NVML_LINK_TO_SWITCH = 2,
    NVML_LINKS_MAX = 36, /* past the last one it answers with an error */
};

/* Its functions: NULL where the library lacks one. */
typedef struct library {
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver_version)(char *version, unsigned length);
    int (*device_count)(unsigned *count);
    int (*device_by_index)(unsigned index, nvml_device *device);
    int (*name)(nvml_device device, char *name, unsigned length);
    int (*pci_info)(nvml_device device, nvml_pci_info *info);
    int (*memory_info)(nvml_device device, nvml_memory *memory);
    int (*memory_bus_width)(nvml_device device, unsigned *bits);
    int (*clock_max)(nvml_device device, int clock, unsigned *mhz);
    int (*power_limit)(nvml_device device, unsigned *mw);
    int (*pcie_generation)(nvml_device device, unsigned *generation);
    int (*pcie_lanes)(nvml_device device, unsigned *lanes);
    int (*link_state)(nvml_device device, unsigned link, int *is_active);
    int (*link_remote_type)(nvml_device device, unsigned link, int *type);
    int (*link_remote_pci)(nvml_device device, unsigned link, nvml_pci_info *info);
    int (*field_values)(nvml_device device, int count, nvml_field_value *values);
} library;

static const struct {
    const char *name;
    size_t offset;
    bool is_required;
} symbols[] = {
    {"nvmlInit_v2", offsetof(library, init), true},
    {"nvmlShutdown", offsetof(library, shutdown), true},
    {"nvmlDeviceGetCount_v2", offsetof(library, device_count), true},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(library, device_by_index), true},
    {"nvmlDeviceGetPciInfo_v3", offsetof(library, pci_info), true},
    {"nvmlSystemGetDriverVersion", offsetof(library, driver_version), false},
    {"nvmlDeviceGetName", offsetof(library, name), false},
    {"nvmlDeviceGetMemoryInfo", offsetof(library, memory_info), false},
    {"nvmlDeviceGetMemoryBusWidth", offsetof(library, memory_bus_width), false},
    {"nvmlDeviceGetMaxClockInfo", offsetof(library, clock_max), false},
    {"nvmlDeviceGetEnforcedPowerLimit", offsetof(library, power_limit), false},
    {"nvmlDeviceGetMaxPcieLinkGeneration", offsetof(library, pcie_generation), false},
    {"nvmlDeviceGetMaxPcieLinkWidth", offsetof(library, pcie_lanes), false},
    {"nvmlDeviceGetNvLinkState", offsetof(library, link_state), false},
    {"nvmlDeviceGetNvLinkRemoteDeviceType", offsetof(library, link_remote_type), false},
    {"nvmlDeviceGetNvLinkRemotePciInfo_v2", offsetof(library, link_remote_pci), false},
    {"nvmlDeviceGetFieldValues", offsetof(library, field_values), false},
};

enum { SYMBOL_COUNT = sizeof symbols / sizeof symbols[0] };

/* ---- the child: what it says ---- */

/* How far it came; the rest of the answer is only worth looking at when it answered. */
typedef enum outcome { OUTCOME_ANSWERED, OUTCOME_ABSENT, OUTCOME_LACKS, OUTCOME_REFUSED } outcome;

typedef struct answer {
    outcome outcome;
    char text[256]; /* ABSENT: why it could not be opened */
    int32_t code;   /* LACKS: index of the symbol; REFUSED: what NVML returned */
    uint32_t device_count;
    gsrt_nvml facts;
    /* as it was said */
    uint32_t memory_mhz[GSRT_NVML_DEVICES_MAX], memory_bits[GSRT_NVML_DEVICES_MAX], power_mw[GSRT_NVML_DEVICES_MAX];
    uint32_t link_mbps[GSRT_NVML_DEVICES_MAX];
    int32_t device_codes[GSRT_NVML_DEVICES_MAX];
} answer;

static void ask_links(const library *nvml, nvml_device device, const gsrt_nvml *all, gsrt_nvml_device *out,
                      uint32_t *out_mbps)
{
    nvml_field_value speed = {.field = NVML_FIELD_LINK_SPEED};
    if (nvml->field_values != NULL && nvml->field_values(device, 1, &speed) == NVML_SUCCESS &&
        speed.returned == NVML_SUCCESS && speed.value_type == NVML_VALUE_U32)
        *out_mbps = speed.value.u32;
    for (unsigned link = 0; nvml->link_state != NULL && link < NVML_LINKS_MAX; link++) {
        int is_active = 0, type = NVML_LINK_TO_GPU;
        nvml_pci_info peer = {0};
        if (nvml->link_state(device, link, &is_active) != NVML_SUCCESS || is_active != 1)
            continue;
        if (nvml->link_remote_type != NULL && nvml->link_remote_type(device, link, &type) != NVML_SUCCESS)
            continue;
        out->switch_links += type == NVML_LINK_TO_SWITCH;
        if (type != NVML_LINK_TO_GPU || nvml->link_remote_pci == NULL ||
            nvml->link_remote_pci(device, link, &peer) != NVML_SUCCESS)
            continue;
        for (uint32_t i = 0; i < all->device_count; i++)
            out->peer_links[i] += all->devices[i].is_there && all->devices[i].pci_domain == peer.domain &&
                                  all->devices[i].pci_bus == peer.bus && all->devices[i].pci_slot == peer.device;
    }
}

/* What is not supported is not said: 0. */
static void ask_device(const library *nvml, nvml_device device, uint32_t i, answer *a)
{
    gsrt_nvml_device *out = &a->facts.devices[i];
    nvml_memory memory = {0};
    if (nvml->name == NULL || nvml->name(device, out->name, sizeof out->name) != NVML_SUCCESS)
        out->name[0] = 0;
    if (nvml->memory_info != NULL && nvml->memory_info(device, &memory) == NVML_SUCCESS)
        out->memory_bytes = memory.total;
    if (nvml->memory_bus_width == NULL || nvml->memory_bus_width(device, &a->memory_bits[i]) != NVML_SUCCESS)
        a->memory_bits[i] = 0;
    if (nvml->clock_max == NULL || nvml->clock_max(device, NVML_CLOCK_MEM, &a->memory_mhz[i]) != NVML_SUCCESS)
        a->memory_mhz[i] = 0;
    if (nvml->power_limit == NULL || nvml->power_limit(device, &a->power_mw[i]) != NVML_SUCCESS)
        a->power_mw[i] = 0;
    if (nvml->pcie_generation == NULL || nvml->pcie_generation(device, &out->pcie_generation) != NVML_SUCCESS)
        out->pcie_generation = 0;
    if (nvml->pcie_lanes == NULL || nvml->pcie_lanes(device, &out->pcie_lanes) != NVML_SUCCESS)
        out->pcie_lanes = 0;
}

static void ask_devices(const library *nvml, answer *a)
{
    nvml_device devices[GSRT_NVML_DEVICES_MAX] = {NULL};
    a->facts.device_count = a->device_count <= GSRT_NVML_DEVICES_MAX ? a->device_count : 0;
    for (uint32_t i = 0; i < a->facts.device_count; i++) {
        gsrt_nvml_device *out = &a->facts.devices[i];
        nvml_pci_info pci = {0};
        a->device_codes[i] = nvml->device_by_index(i, &devices[i]);
        if (a->device_codes[i] == NVML_SUCCESS)
            a->device_codes[i] = nvml->pci_info(devices[i], &pci);
        out->is_there = a->device_codes[i] == NVML_SUCCESS;
        out->pci_domain = pci.domain;
        out->pci_bus = pci.bus;
        out->pci_slot = pci.device;
    }
    for (uint32_t i = 0; i < a->facts.device_count; i++) {
        if (!a->facts.devices[i].is_there)
            continue;
        ask_device(nvml, devices[i], i, a);
        ask_links(nvml, devices[i], &a->facts, &a->facts.devices[i], &a->link_mbps[i]);
    }
}

static void ask(const char *path, answer *a)
{
    library nvml = {0};
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *why = dlerror();
        a->outcome = OUTCOME_ABSENT;
        (void)snprintf(a->text, sizeof a->text, "%s", why == NULL ? "" : why);
        return;
    }
    for (int32_t i = 0; i < SYMBOL_COUNT; i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        memcpy((char *)&nvml + symbols[i].offset, &symbol, sizeof symbol);
        if (symbol == NULL && symbols[i].is_required && a->outcome == OUTCOME_ANSWERED) {
            a->outcome = OUTCOME_LACKS;
            a->code = i;
        }
    }
    if (a->outcome != OUTCOME_ANSWERED)
        return;
    a->code = nvml.init();
    if (a->code == NVML_SUCCESS)
        a->code = nvml.device_count(&a->device_count);
    if (a->code != NVML_SUCCESS) {
        a->outcome = OUTCOME_REFUSED;
        return;
    }
    if (nvml.driver_version == NULL || nvml.driver_version(a->facts.driver, sizeof a->facts.driver) != NVML_SUCCESS)
        a->facts.driver[0] = 0;
    ask_devices(&nvml, a);
    (void)nvml.shutdown();
}

static int run_child(void *arg, gsrt_buffer *out)
{
    static answer a; /* zero */
    ask(arg, &a);
    return gsrt_buffer_append(out, &a, sizeof a) == GSRT_OK ? 0 : 1;
}

/* ---- the parent: what of it can be ---- */

/* Far beyond what has been built; the inventory's own limits are looser. */
static const double memory_bytes_max = 1e14, memory_bandwidth_max = 1e15, power_max_w = 1e5, link_bandwidth_max = 1e13;
enum { PCI_DOMAIN_MAX = 0xffffff, PCI_BUS_MAX = 255, PCI_SLOT_MAX = 31, PCIE_LANES_MAX = 32 };

double gsrt_pcie_bandwidth(uint32_t generation, uint32_t lanes)
{
    /* B/s of a lane: transfers by bits of payload: 8 of 10, 128 of 130, then flits of 242 of 256 bytes */
    static const double of_lane[] = {0,
                                     250e6,
                                     500e6,
                                     8e9 / 8 * 128 / 130,
                                     16e9 / 8 * 128 / 130,
                                     32e9 / 8 * 128 / 130,
                                     64e9 / 8 * 242 / 256,
                                     128e9 / 8 * 242 / 256};
    return generation < sizeof of_lane / sizeof of_lane[0] ? of_lane[generation] * lanes : 0;
}

/* A text that ends, of printing characters; otherwise it is emptied. */
static void clean(char *text, size_t bytes)
{
    size_t len = strnlen(text, bytes);
    bool is_good = len < bytes;
    for (size_t i = 0; i < len; i++)
        is_good = is_good && text[i] >= ' ' && text[i] < 0x7f;
    if (!is_good)
        len = 0;
    memset(text + len, 0, bytes - len);
}

/* `value`, or 0 and a note where it cannot be. */
static double plausible(gsrt_findings *findings, uint32_t device, const char *what, double value, double max)
{
    if (value <= max)
        return value;
    char place[64];
    (void)snprintf(place, sizeof place, "this machine: nvml: device %u", (unsigned)device);
    gsrt_findings_add(findings, "not_discovered", place, "%g %s: nothing has that much; left out, see 'nvidia-smi -q'",
                      value, what);
    return 0;
}

static void check_device(answer *a, uint32_t i, gsrt_findings *findings)
{
    gsrt_nvml_device *d = &a->facts.devices[i];
    char place[64];
    (void)snprintf(place, sizeof place, "this machine: nvml: device %u", (unsigned)i);
    if (d->is_there != 1) {
        d->is_there = 0;
        gsrt_findings_add(findings, "not_discovered", place, "does not answer (NVML returns %d); see 'nvidia-smi'",
                          (int)a->device_codes[i]);
        return;
    }
    bool is_twice = false;
    for (uint32_t before = 0; before < i; before++) {
        const gsrt_nvml_device *other = &a->facts.devices[before];
        is_twice = is_twice || (other->is_there && other->pci_domain == d->pci_domain && other->pci_bus == d->pci_bus &&
                                other->pci_slot == d->pci_slot);
    }
    if (is_twice || d->pci_domain > PCI_DOMAIN_MAX || d->pci_bus > PCI_BUS_MAX || d->pci_slot > PCI_SLOT_MAX) {
        gsrt_findings_add(findings, "not_discovered", place,
                          "has a PCI address that %s (%x:%x:%x); left out, see 'nvidia-smi -q'",
                          is_twice ? "another one has" : "there is not", (unsigned)d->pci_domain, (unsigned)d->pci_bus,
                          (unsigned)d->pci_slot);
        d->is_there = 0;
        return;
    }
    clean(d->name, sizeof d->name);
    d->memory_bytes = (uint64_t)plausible(findings, i, "bytes of memory", (double)d->memory_bytes, memory_bytes_max);
    d->memory_bandwidth =
        plausible(findings, i, "B/s of memory", 2e6 * a->memory_mhz[i] * a->memory_bits[i] / 8, memory_bandwidth_max);
    d->power_max_w = plausible(findings, i, "W", a->power_mw[i] * 1e-3, power_max_w);
    d->link_bandwidth = plausible(findings, i, "B/s of a link", a->link_mbps[i] * 1e6, link_bandwidth_max);
    d->pcie_lanes = (uint32_t)plausible(findings, i, "PCIe lanes", d->pcie_lanes, PCIE_LANES_MAX);
    if (d->pcie_generation > 0 && gsrt_pcie_bandwidth(d->pcie_generation, 1) == 0) {
        gsrt_findings_add(findings, "not_discovered", place, "PCIe of generation %u: not known to GSRT; left out",
                          (unsigned)d->pcie_generation);
        d->pcie_generation = 0;
    }
    d->peer_links[i] = 0;
    for (uint32_t to = 0; to < GSRT_NVML_DEVICES_MAX; to++)
        d->peer_links[to] = d->peer_links[to] > NVML_LINKS_MAX ? 0 : d->peer_links[to];
    d->switch_links = d->switch_links > NVML_LINKS_MAX ? 0 : d->switch_links;
}

/* Everything again, because the child's memory was the library's to write in. */
static void check_answer(answer *a, gsrt_findings *findings)
{
    clean(a->facts.driver, sizeof a->facts.driver);
    if (a->device_count > GSRT_NVML_DEVICES_MAX)
        gsrt_findings_add(findings, "not_discovered", "this machine: nvml",
                          "speaks of %u devices: more than there can be; all left out, see 'nvidia-smi'",
                          (unsigned)a->device_count);
    if (a->facts.device_count > GSRT_NVML_DEVICES_MAX)
        a->facts.device_count = 0;
    for (uint32_t i = 0; i < a->facts.device_count; i++)
        check_device(a, i, findings);
}

/* The library that somebody named must be one; that of the system may be absent, or without its driver. */
static gsrt_status judge(const char *path, int how, const answer *a, gsrt_findings *findings, gsrt_diag *diag)
{
    char what[320], end[48];
    const char *file = path != NULL ? path : "libnvidia-ml.so.1";
    if (how != 0)
        (void)snprintf(what, sizeof what, "%s; see whether 'nvidia-smi' does", gsrt_child_end(how, end, sizeof end));
    else if (a->outcome == OUTCOME_ABSENT)
        (void)snprintf(what, sizeof what, "could not be opened (%.200s); accelerators are seen by hwloc alone",
                       a->text);
    else if (a->outcome == OUTCOME_LACKS)
        (void)snprintf(what, sizeof what, "lacks %s; give the library of a driver of this decade",
                       a->code >= 0 && a->code < SYMBOL_COUNT ? symbols[a->code].name : "a function");
    else if (a->outcome == OUTCOME_REFUSED)
        (void)snprintf(what, sizeof what, "refuses (NVML returns %d%s); see 'nvidia-smi'", (int)a->code,
                       a->code == 9 ? ": the driver is not loaded" : "");
    else
        return GSRT_OK;
    if (path != NULL)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "%s", what);
    char place[64];
    (void)snprintf(place, sizeof place, "this machine: %s", file);
    gsrt_findings_add(findings, "not_discovered", place, "%s", what);
    return GSRT_OK;
}

gsrt_status gsrt_fleet_nvml(const char *path, gsrt_nvml *out, gsrt_findings *findings, gsrt_diag *diag)
{
    static const gsrt_child_limits limits = {GSRT_FLEET_NVML_CPU_S, 0, sizeof(answer)};
    memset(out, 0, sizeof *out);
    if (path != NULL && path[0] == 0)
        return GSRT_OK;
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, sizeof(answer));
    int how = 0;
    char file[] = "libnvidia-ml.so.1";
    gsrt_status status =
        gsrt_child_run(&limits, run_child, path != NULL ? (void *)(uintptr_t)path : file, &bytes, &how);
    if (status == GSRT_OK && how == 0 && bytes.len != sizeof(answer))
        status = GSRT_EIO;
    answer *a = (answer *)(void *)bytes.data;
    if (status == GSRT_OK)
        status = judge(path, how, a, findings, diag);
    if (status == GSRT_OK && how == 0 && a->outcome == OUTCOME_ANSWERED) {
        check_answer(a, findings);
        *out = a->facts;
    }
    gsrt_buffer_fini(&bytes);
    return status;
}
