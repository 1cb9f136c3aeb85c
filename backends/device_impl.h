/* Inside backends: what the kinds of device share. */
#ifndef GSRT_BACKENDS_DEVICE_IMPL_H
#define GSRT_BACKENDS_DEVICE_IMPL_H

#include "backends/device.h"
#include "backends/exec.h"

typedef struct gsrt_device_ops {
    const char *kind;
    gsrt_device *(*free)(gsrt_device *device);
    gsrt_status (*submit)(gsrt_device *device, gsrt_job *job);
    gsrt_status (*pack)(gsrt_device *device, gsrt_matrix *matrix);
    void (*read_facts)(const gsrt_device *device, gsrt_device_facts *out);
} gsrt_device_ops;

/* First member of every kind's own struct. */
struct gsrt_device {
    const gsrt_device_ops *ops;
};

uint64_t gsrt__now_ns(void);

/* "AMD EPYC ...": the processor's brand, static storage of the caller. */
enum { GSRT_PROCESSOR_NAME_MAX = 64 };
void gsrt__processor_name(char out[GSRT_PROCESSOR_NAME_MAX]);

/* true when the job holds instruction 0 of its program: its rows count as rows of the device. */
static inline bool gsrt__job_counts_rows(const gsrt_job *job)
{
    return job->instr_first == 0 && job->instr_count > 0;
}

#endif
