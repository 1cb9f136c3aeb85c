/* A library that answers as NVML's documentation says, for fleet_discover_test.c. FAKE_NVML says how it behaves:
 *   pair     two devices, four direct links between them and two to a switch (the default)
 *   seen     one, where FAKE_NVML_BUS says that it is
 *   absurd   one whose every number is the largest that fits, with a name that does not end
 *   lost     two, the second of which has fallen off the bus
 *   twins    two at one address
 *   many     more than there can be
 *   undriven no driver
 *   crash    a call that does not come back
 * Compiled with -DFAKE_LACKS_COUNT it lacks a function.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15 };

typedef struct device {
    unsigned index;
} device;

typedef struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} pci_info;

typedef struct memory {
    unsigned long long total, free, used;
} memory;

typedef struct field_value {
    unsigned field, scope;
    long long timestamp, latency_us;
    unsigned value_type;
    int returned;
    unsigned long long value;
} field_value;

static device devices[2] = {{0}, {1}};

static int is(const char *word)
{
    const char *said = getenv("FAKE_NVML");
    return strcmp(said == NULL ? "pair" : said, word) == 0;
}

API int nvmlInit_v2(void);
API int nvmlShutdown(void);
API int nvmlSystemGetDriverVersion(char *version, unsigned length);
API int nvmlDeviceGetCount_v2(unsigned *count);
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, device **out);
API int nvmlDeviceGetName(device *d, char *name, unsigned length);
API int nvmlDeviceGetPciInfo_v3(device *d, pci_info *info);
API int nvmlDeviceGetMemoryInfo(device *d, memory *out);
API int nvmlDeviceGetMemoryBusWidth(device *d, unsigned *bits);
API int nvmlDeviceGetMaxClockInfo(device *d, int clock, unsigned *mhz);
API int nvmlDeviceGetEnforcedPowerLimit(device *d, unsigned *mw);
API int nvmlDeviceGetMaxPcieLinkGeneration(device *d, unsigned *generation);
API int nvmlDeviceGetMaxPcieLinkWidth(device *d, unsigned *lanes);
API int nvmlDeviceGetNvLinkState(device *d, unsigned link, int *is_active);
API int nvmlDeviceGetNvLinkRemoteDeviceType(device *d, unsigned link, int *type);
API int nvmlDeviceGetNvLinkRemotePciInfo_v2(device *d, unsigned link, pci_info *info);
API int nvmlDeviceGetFieldValues(device *d, int count, field_value *values);

int nvmlInit_v2(void)
{
    if (is("crash"))
        abort();
    return is("undriven") ? DRIVER_NOT_LOADED : SUCCESS;
}

int nvmlShutdown(void)
{
    return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    if (is("absurd"))
        memset(version, 'x', length);
    else
        (void)snprintf(version, length, "550.90.07");
    return SUCCESS;
}

#ifndef FAKE_LACKS_COUNT
int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = is("many") ? UINT_MAX : is("seen") || is("absurd") ? 1 : 2;
    return SUCCESS;
}
#endif

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device **out)
{
    if (index >= 2)
        return INVALID_ARGUMENT;
    *out = &devices[index];
    return is("lost") && index == 1 ? GPU_IS_LOST : SUCCESS;
}

int nvmlDeviceGetName(device *d, char *name, unsigned length)
{
    if (is("absurd"))
        memset(name, 'x', length);
    else
        (void)snprintf(name, length, "Invented \"%u\"", d->index);
    return SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(device *d, pci_info *info)
{
    *info = (pci_info){.domain = 0xfab, .bus = is("twins") ? 1 : d->index + 1};
    if (is("seen") && sscanf(getenv("FAKE_NVML_BUS"), "%x:%x:%x", &info->domain, &info->bus, &info->device) != 3)
        return INVALID_ARGUMENT;
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(device *d, memory *out)
{
    (void)d;
    *out = (memory){.total = is("absurd") ? ULLONG_MAX : 80ull << 30};
    return SUCCESS;
}

int nvmlDeviceGetMemoryBusWidth(device *d, unsigned *bits)
{
    (void)d;
    *bits = is("absurd") ? UINT_MAX : 5120;
    return SUCCESS;
}

int nvmlDeviceGetMaxClockInfo(device *d, int clock, unsigned *mhz)
{
    (void)d;
    *mhz = is("absurd") ? UINT_MAX : 2619;
    return clock == 2 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetEnforcedPowerLimit(device *d, unsigned *mw)
{
    *mw = is("absurd") ? UINT_MAX : 700000;
    return d->index == 0 ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetMaxPcieLinkGeneration(device *d, unsigned *generation)
{
    (void)d;
    *generation = is("absurd") ? UINT_MAX : 5;
    return SUCCESS;
}

int nvmlDeviceGetMaxPcieLinkWidth(device *d, unsigned *lanes)
{
    (void)d;
    *lanes = is("absurd") ? UINT_MAX : 16;
    return SUCCESS;
}

/* Links 0 to 3 to the other, 4 and 5 to a switch, 6 is down. */
int nvmlDeviceGetNvLinkState(device *d, unsigned link, int *is_active)
{
    (void)d;
    *is_active = link < 6;
    return link < 7 || is("absurd") ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(device *d, unsigned link, int *type)
{
    (void)d;
    *type = link < 4 ? 0 : 2;
    return SUCCESS;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(device *d, unsigned link, pci_info *info)
{
    (void)link;
    return nvmlDeviceGetPciInfo_v3(&devices[1 - d->index], info);
}

int nvmlDeviceGetFieldValues(device *d, int count, field_value *values)
{
    (void)d;
    for (int i = 0; i < count; i++) {
        values[i].value_type = 1;
        values[i].value = is("absurd") ? UINT_MAX : 26562;
        values[i].returned = values[i].field == 90 ? SUCCESS : NOT_SUPPORTED;
    }
    return SUCCESS;
}
