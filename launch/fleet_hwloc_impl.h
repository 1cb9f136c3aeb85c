/* Inside launch/fleet_hwloc*.c: a topology being written as an inventory, in the child. */
#ifndef GSRT_LAUNCH_FLEET_HWLOC_IMPL_H
#define GSRT_LAUNCH_FLEET_HWLOC_IMPL_H

#include "launch/fleet_machine.h"

#include <hwloc.h>

enum { GSRT__HWLOC_ENGINES_MAX = 256 };

typedef struct gsrt__hwloc_writer {
    hwloc_topology_t topology;
    const gsrt_machine *machine; /* NULL: a topology of somewhere else */
    gsrt_buffer *out;
    gsrt_status status; /* the first failure stays */
    int package_count;
    int nic_count, engine_count, storage_count;
    hwloc_obj_t engines[GSRT__HWLOC_ENGINES_MAX]; /* gpu0, gpu1, ...: PCI devices; NULL: hwloc does not see it */
    int engine_of_device[GSRT_NVML_DEVICES_MAX];  /* which of them each device of NVML is; -1: not yet seen */
} gsrt__hwloc_writer;

#define GSRT__PUT(w, ...)                                                                                              \
    ((w)->status = (w)->status == GSRT_OK ? gsrt_buffer_print((w)->out, __VA_ARGS__) : (w)->status)

/* A number of `unit`; nothing where it is 0: hwloc's way to say that it does not know. */
void gsrt__hwloc_put_number(gsrt__hwloc_writer *w, const char *key, double number, const char *unit);
/* `before`, and text from somewhere else in quotes, of what needs no escape; nothing where there is none. */
void gsrt__hwloc_put_text(gsrt__hwloc_writer *w, const char *before, const char *text);
/* "in" and the end of the entry; a package below 0: in none in particular. */
void gsrt__hwloc_put_in(gsrt__hwloc_writer *w, int package);
/* The package around an object, or the only one; -1: none in particular. */
int gsrt__hwloc_package_of(const gsrt__hwloc_writer *w, hwloc_obj_t object);

/* Accelerators, NICs, storage, their PCIe roots, and the links between them (fleet_hwloc_devices.c). */
void gsrt__hwloc_put_devices(gsrt__hwloc_writer *w, bool is_links);

#endif
