#include "backends/device_impl.h"

#include <assert.h>
#include <cpuid.h>
#include <string.h>
#include <time.h>

gsrt_device *gsrt_device_free(gsrt_device *device)
{
    return device == NULL ? NULL : device->ops->free(device);
}

gsrt_status gsrt_device_submit(gsrt_device *device, gsrt_job *job)
{
    assert(job->row_count >= 1 && job->row_count <= GSRT_BATCH_ROWS_MAX);
    assert(job->wanted_count <= job->row_count);
    return device->ops->submit(device, job);
}

gsrt_status gsrt_device_pack(gsrt_device *device, gsrt_matrix *matrix)
{
    return device->ops->pack(device, matrix);
}

void gsrt_device_read_facts(const gsrt_device *device, gsrt_device_facts *out)
{
    device->ops->read_facts(device, out);
}

uint64_t gsrt__now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void gsrt__processor_name(char out[GSRT_PROCESSOR_NAME_MAX])
{
    memset(out, 0, GSRT_PROCESSOR_NAME_MAX);
    unsigned words[12];
    for (unsigned i = 0; i < 3; i++)
        if (__get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]) == 0) {
            memcpy(out, "unknown processor", sizeof "unknown processor");
            return;
        }
    memcpy(out, words, sizeof words);
    size_t len = strlen(out);
    while (len > 0 && out[len - 1] == ' ')
        out[--len] = '\0';
}
