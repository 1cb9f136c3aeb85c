/* A device: takes jobs, runs them in order of submission, and says when each is done. One interface, several kinds:
 *   cpu      threads bound with hwloc, kernels of the instruction set found (or forced by GSRT_ISA)
 *   inline   the same kernels on the calling thread, done before submit returns (the twin with numerics on)
 *   profile  cpu's numbers with the timing, memory, power and heat of a declared accelerator; always `simulated`
 * Completion is a callback on a device thread (cpu, profile) or on the caller (inline): it must only hand the news on.
 * Legal order: create, pack / submit any number of times, drain, free.
 */
#ifndef GSRT_BACKENDS_DEVICE_H
#define GSRT_BACKENDS_DEVICE_H

#include "backends/kv.h"
#include "backends/program.h"
#include "base/diag.h"

typedef enum gsrt_isa { GSRT_ISA_SCALAR, GSRT_ISA_AVX2, GSRT_ISA_AVX512 } gsrt_isa;
const char *gsrt_isa_name(gsrt_isa isa);
/* The best this processor has, or what GSRT_ISA in the environment forces (scalar|avx2|avx512).
 * GSRT_EINPUT with *diag: unknown word, or an instruction set that this processor lacks. */
GSRT_MUST_CHECK gsrt_status gsrt_isa_detect(gsrt_isa *out_isa, gsrt_diag *diag);

typedef struct gsrt_device gsrt_device;

/* Jobs that may wait on one device; a region has one in flight per step of its pipeline. */
enum { GSRT_DEVICE_JOBS_MAX = 1024 };

/* Called exactly once per submitted job. `work_ns`: time it took on the device (measured; for a profile: simulated). */
typedef void gsrt_device_done_fn(void *arg, gsrt_job *job, gsrt_status status, uint64_t work_ns);

typedef struct gsrt_device_options {
    gsrt_isa isa;
    uint32_t thread_count; /* 0 = 1 */
    uint32_t cpu_first;    /* bind thread i to processing unit (cpu_first + i) mod count of those allowed */
    bool is_bound;         /* bind at all */
    bool is_packing;       /* pack matrices in the background */
    uint32_t spin_us;      /* threads that wait for work spin this long before they block; 0 where ranks * threads
                              outnumber cores */
    const struct gsrt_profile *profile; /* kind profile only; borrowed */
    uint64_t profile_seed;              /* noise of the truth */
    double time_scale;                  /* profile: real over simulated time; 0 = 1 */
    gsrt_device_done_fn *done;
    void *done_arg;
} gsrt_device_options;

GSRT_MUST_CHECK gsrt_status gsrt_device_create_cpu(const gsrt_device_options *options, gsrt_device **out,
                                                   gsrt_diag *diag);
GSRT_MUST_CHECK gsrt_status gsrt_device_create_inline(const gsrt_device_options *options, gsrt_device **out,
                                                      gsrt_diag *diag);
GSRT_MUST_CHECK gsrt_status gsrt_device_create_profile(const gsrt_device_options *options, gsrt_device **out,
                                                       gsrt_diag *diag);
/* Waits for running jobs (their done has run), joins the threads. Accepts NULL; returns NULL. */
gsrt_device *gsrt_device_free(gsrt_device *device);

/* Queue `job`; it and all it points to are borrowed until done has run. Never blocks (inline: computes).
 * GSRT_OK: done will run exactly once. GSRT_EFULL: it will not. Owner thread only. */
GSRT_MUST_CHECK gsrt_status gsrt_device_submit(gsrt_device *device, gsrt_job *job);

/* Ask for `matrix` to be packed into the kernel's layout in the background (low priority, between jobs); the same bits
 * before, during and after. Owner thread only. gsrt_device_free, then gsrt_matrix_unpack, free the memory. */
GSRT_MUST_CHECK gsrt_status gsrt_device_pack(gsrt_device *device, gsrt_matrix *matrix);
void gsrt_matrix_unpack(gsrt_matrix *matrix);

typedef struct gsrt_device_facts {
    const char *kind;  /* "cpu", "inline", "profile" */
    const char *name;  /* of the processor, or of the profile */
    bool is_simulated; /* true for profile (timing, power, heat) */
    gsrt_isa isa;
    uint32_t thread_count;
    uint64_t job_count, row_count; /* rows: summed over jobs that hold instruction 0 of their program */
    uint64_t busy_ns;
    uint64_t packed_bytes, pack_ns; /* cost of packing, total */
    uint64_t memory_bytes_max;      /* profile: its memory; cpu: 0 */
    double energy_j, temperature_c; /* profile, simulated; else 0 */
    uint64_t throttled_ns;          /* profile */
    uint64_t late_count;            /* profile: jobs whose simulated time had passed before the CPU was done */
} gsrt_device_facts;

/* A snapshot; owner thread. */
void gsrt_device_read_facts(const gsrt_device *device, gsrt_device_facts *out);

#endif
