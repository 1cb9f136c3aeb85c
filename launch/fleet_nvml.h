/* What the driver's library of management (NVML) says of the accelerators of this machine. It is opened at run time, if
 * it is there, and asked in a child process: it may hang or crash. What it says is checked like any input.
 */
#ifndef GSRT_LAUNCH_FLEET_NVML_H
#define GSRT_LAUNCH_FLEET_NVML_H

#include "base/diag.h"
#include "placement/findings.h"

enum { GSRT_NVML_DEVICES_MAX = 64, GSRT_NVML_TEXT_BYTES_MAX = 96 };

/* Numbers are 0, texts empty where it says nothing, or what no device can have. */
typedef struct gsrt_nvml_device {
    char name[GSRT_NVML_TEXT_BYTES_MAX];
    uint8_t is_there; /* 0: the device answers nothing that can be used; else 1 */
    uint32_t pci_domain, pci_bus, pci_slot;
    uint64_t memory_bytes;
    double memory_bandwidth; /* B/s: its clock, twice, by its width */
    double power_max_w;      /* what it is allowed to draw now */
    uint32_t pcie_generation, pcie_lanes;
    double link_bandwidth;                      /* B/s of one direct link, one way */
    uint32_t peer_links[GSRT_NVML_DEVICES_MAX]; /* direct links to each device */
    uint32_t switch_links;                      /* to a switch between them */
} gsrt_nvml_device;

typedef struct gsrt_nvml {
    char driver[GSRT_NVML_TEXT_BYTES_MAX]; /* its version */
    uint32_t device_count;
    gsrt_nvml_device devices[GSRT_NVML_DEVICES_MAX];
} gsrt_nvml;

/* Ask the library at `path`; NULL: libnvidia-ml.so.1, where the system finds it; empty: none. What is missing or cannot
 * be is left out, and a note in *findings says so. GSRT_OK: *out is set; no devices where there is no library |
 * GSRT_EINPUT: *diag says why: the library that somebody named is none | GSRT_ENOMEM | GSRT_EIO: no process. thread,
 * cost: as gsrt_child_run. */
GSRT_MUST_CHECK gsrt_status gsrt_fleet_nvml(const char *path, gsrt_nvml *out, gsrt_findings *findings, gsrt_diag *diag);

/* B/s of a PCIe link, one way, without its encoding; 0: no such generation. */
double gsrt_pcie_bandwidth(uint32_t generation, uint32_t lanes);

enum { GSRT_FLEET_NVML_CPU_S = 30 };

#endif
