/* PCI devices: seen by hwloc, and accelerators also by NVML; one part each, however many see it. */
#include "launch/fleet_hwloc_impl.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES_MAX = 32 };

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

/* What NVML says of a PCI device, and its number there; NULL: nothing. */
static const gsrt_nvml_device *device_of(const gsrt__hwloc_writer *w, hwloc_obj_t pci, uint32_t *out_index)
{
    const struct hwloc_pcidev_attr_s *at = &pci->attr->pcidev;
    for (uint32_t i = 0; w->machine != NULL && i < w->machine->nvml.device_count; i++) {
        const gsrt_nvml_device *d = &w->machine->nvml.devices[i];
        if (d->is_there != 0 && d->pci_domain == at->domain && d->pci_bus == at->bus && d->pci_slot == at->dev) {
            *out_index = i;
            return d;
        }
    }
    return NULL;
}

/* "gpu0", "nic1", "nvme0", or false: nothing that computes, carries or stores. Counts, so each is asked once a pass. */
static bool name_device(gsrt__hwloc_writer *w, hwloc_obj_t pci, char name[NAME_BYTES_MAX], const char **out_kind)
{
    static const unsigned controller_3d = 0x0302; /* PCI class */
    uint32_t index = 0;
    bool is_device = device_of(w, pci, &index) != NULL;
    hwloc_obj_t block = device_below(pci, HWLOC_OBJ_OSDEV_BLOCK);
    bool is_engine =
        is_device || device_below(pci, HWLOC_OBJ_OSDEV_COPROC) != NULL || pci->attr->pcidev.class_id == controller_3d;
    bool is_nic =
        device_below(pci, HWLOC_OBJ_OSDEV_NETWORK) != NULL || device_below(pci, HWLOC_OBJ_OSDEV_OPENFABRICS) != NULL;
    if (is_engine && w->engine_count < GSRT__HWLOC_ENGINES_MAX) {
        w->engines[w->engine_count] = pci;
        if (is_device)
            w->engine_of_device[index] = w->engine_count;
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

/* ---- what NVML says ---- */

#define BY_NVML "source: \"discovered: nvml\"}"

static void put_said(gsrt__hwloc_writer *w, const char *key, double number, const char *unit)
{
    if (number > 0)
        GSRT__PUT(w, ", %s: {value: \"%.10g %s\", " BY_NVML, key, number, unit);
}

static void put_device(gsrt__hwloc_writer *w, const gsrt_nvml_device *d)
{
    gsrt__hwloc_put_text(w, ", product: ", d->name);
    put_said(w, "power_max", d->power_max_w, "W");
    if (w->machine->nvml.driver[0] != 0) {
        gsrt__hwloc_put_text(w, ", software: {driver: ", w->machine->nvml.driver);
        GSRT__PUT(w, "}");
    }
    if (d->memory_bytes == 0)
        return;
    GSRT__PUT(w, ", memory: [{tier: unknown, name: memory");
    put_said(w, "capacity", (double)d->memory_bytes, "B");
    put_said(w, "bandwidth", d->memory_bandwidth, "B/s");
    GSRT__PUT(w, "}]");
}

static bool has_direct_links(const gsrt__hwloc_writer *w)
{
    bool has_any = false;
    for (uint32_t i = 0; w->machine != NULL && i < w->machine->nvml.device_count; i++) {
        const gsrt_nvml_device *d = &w->machine->nvml.devices[i];
        for (uint32_t to = 0; to < w->machine->nvml.device_count; to++)
            has_any = has_any || (d->is_there != 0 && (d->peer_links[to] > 0 || d->switch_links > 0));
    }
    return has_any;
}

/* One link for all of the same ends, as wide as they are together. */
static void put_direct_links(gsrt__hwloc_writer *w)
{
    const gsrt_nvml *nvml = &w->machine->nvml;
    for (uint32_t i = 0; i < nvml->device_count; i++) {
        const gsrt_nvml_device *d = &nvml->devices[i];
        if (w->engine_of_device[i] < 0)
            continue;
        for (uint32_t to = 0; to < nvml->device_count; to++) {
            if (d->peer_links[to] == 0 || w->engine_of_device[to] < 0)
                continue;
            GSRT__PUT(w, "  - {from: gpu%d, to: gpu%d, kind: coherent", w->engine_of_device[i],
                      w->engine_of_device[to]);
            put_said(w, "bandwidth", d->link_bandwidth * d->peer_links[to], "B/s");
            GSRT__PUT(w, "}\n");
        }
        if (d->switch_links == 0)
            continue;
        GSRT__PUT(w, "  - {from: gpu%d, to: fabric0, kind: coherent, both: true", w->engine_of_device[i]);
        put_said(w, "bandwidth", d->link_bandwidth * d->switch_links, "B/s");
        GSRT__PUT(w, "}\n");
    }
}

/* The switches between accelerators are one part: NVML does not say which link ends in which. */
static void put_fabric(gsrt__hwloc_writer *w)
{
    bool is_there = false;
    for (uint32_t i = 0; w->machine != NULL && i < w->machine->nvml.device_count; i++)
        is_there =
            is_there || (w->machine->nvml.devices[i].is_there != 0 && w->machine->nvml.devices[i].switch_links > 0);
    if (is_there)
        GSRT__PUT(w, "  - {name: fabric0, kind: fabric, in: node}\n");
}

/* Devices that hwloc does not see, as in many containers. Where they hang is not known: at the first processor. */
static void put_unseen(gsrt__hwloc_writer *w, bool is_links)
{
    for (uint32_t i = 0; w->machine != NULL && i < w->machine->nvml.device_count; i++) {
        const gsrt_nvml_device *d = &w->machine->nvml.devices[i];
        if (d->is_there == 0 || w->engine_of_device[i] >= 0 || w->engine_count == GSRT__HWLOC_ENGINES_MAX)
            continue;
        w->engines[w->engine_count] = NULL;
        w->engine_of_device[i] = w->engine_count;
        if (is_links) {
            GSRT__PUT(w, "  - {from: gpu%d, to: cpu0, kind: pcie, both: true", w->engine_count);
            put_said(w, "bandwidth", gsrt_pcie_bandwidth(d->pcie_generation, d->pcie_lanes), "B/s");
            GSRT__PUT(w, "}\n");
        } else {
            GSRT__PUT(w, "  - {name: gpu%d, kind: engine", w->engine_count);
            put_device(w, d);
            gsrt__hwloc_put_in(w, -1);
        }
        w->engine_count++;
    }
}

/* ---- what hwloc says ---- */

static void put_own_memory(gsrt__hwloc_writer *w, hwloc_obj_t pci)
{
    hwloc_obj_t device = device_below(pci, HWLOC_OBJ_OSDEV_COPROC);
    const char *kib = device == NULL ? NULL : hwloc_obj_get_info_by_name(device, "CUDAGlobalMemorySize");
    double size_kib = kib == NULL ? 0 : strtod(kib, NULL);
    if (size_kib > 0)
        GSRT__PUT(w, ", memory: [{tier: unknown, name: memory, capacity: \"%.10g KiB\"}]", size_kib);
}

static void put_pci_device(gsrt__hwloc_writer *w, hwloc_obj_t pci, const char *name, const char *kind)
{
    uint32_t index = 0;
    const gsrt_nvml_device *d = device_of(w, pci, &index);
    GSRT__PUT(w, "  - {name: %s, kind: %s", name, kind);
    if (d != NULL) {
        put_device(w, d);
        return;
    }
    gsrt__hwloc_put_text(w,
                         ", product: ", pci->name != NULL ? pci->name : hwloc_obj_get_info_by_name(pci, "PCIDevice"));
    if (strcmp(kind, "engine") == 0)
        put_own_memory(w, pci);
}

static void put_pci_link(gsrt__hwloc_writer *w, hwloc_obj_t pci, const char *name, int root)
{
    uint32_t index = 0;
    const gsrt_nvml_device *d = device_of(w, pci, &index);
    double said = d == NULL ? 0 : gsrt_pcie_bandwidth(d->pcie_generation, d->pcie_lanes);
    GSRT__PUT(w, "  - {from: %s, to: root%d, kind: pcie, both: true", name, root);
    if (said > 0)
        put_said(w, "bandwidth", said, "B/s");
    else
        gsrt__hwloc_put_number(w, "bandwidth", (double)pci->attr->pcidev.linkspeed, "GB/s");
    GSRT__PUT(w, "}\n");
}

static void put_seen(gsrt__hwloc_writer *w, bool is_links)
{
    hwloc_obj_t last_root = NULL;
    int roots = 0;
    for (hwloc_obj_t pci = NULL; (pci = hwloc_get_next_pcidev(w->topology, pci)) != NULL;) {
        char name[NAME_BYTES_MAX];
        const char *kind;
        if (!name_device(w, pci, name, &kind))
            continue;
        hwloc_obj_t root = root_of(pci);
        int package = gsrt__hwloc_package_of(w, hwloc_get_non_io_ancestor_obj(w->topology, pci));
        bool is_new_root = roots == 0 || root != last_root; /* the devices of a root are neighbours */
        roots += is_new_root ? 1 : 0;
        last_root = root;
        if (is_links) {
            put_pci_link(w, pci, name, roots - 1);
            if (is_new_root)
                GSRT__PUT(w, "  - {from: root%d, to: cpu%d, kind: pcie, both: true}\n", roots - 1,
                          package < 0 ? 0 : package);
            continue;
        }
        if (is_new_root) {
            GSRT__PUT(w, "  - {name: root%d, kind: root", roots - 1);
            gsrt__hwloc_put_in(w, package);
        }
        put_pci_device(w, pci, name, kind);
        gsrt__hwloc_put_in(w, package);
    }
}

/* The engine that is, or holds, an object of a distance matrix; -1: none. */
static int engine_of(const gsrt__hwloc_writer *w, hwloc_obj_t object)
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
static void put_distances(gsrt__hwloc_writer *w)
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
            GSRT__PUT(w, "  - {from: gpu%d, to: gpu%d, kind: coherent", from, to);
            gsrt__hwloc_put_number(w, "bandwidth", (double)distances[d]->values[i], "MB/s");
            GSRT__PUT(w, "}\n");
        }
        hwloc_distances_release(w->topology, distances[d]);
    }
}

void gsrt__hwloc_put_devices(gsrt__hwloc_writer *w, bool is_links)
{
    w->engine_count = w->nic_count = w->storage_count = 0;
    for (uint32_t i = 0; i < GSRT_NVML_DEVICES_MAX; i++)
        w->engine_of_device[i] = -1;
    put_seen(w, is_links);
    put_unseen(w, is_links);
    if (!is_links)
        put_fabric(w);
    else if (has_direct_links(w))
        put_direct_links(w);
    else
        put_distances(w);
}
