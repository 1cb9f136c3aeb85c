/* The canonical kernels, measured: what products of matrices and elementwise work take on this machine, through the
 * device, as the runtime does it.
 *
 * Legal order: create, perhaps pack, run any number of times, free. Thread: the one that created it; the device's
 * threads are started by create and joined by free. Memory is touched first by the caller, and lies where it runs.
 */
#ifndef GSRT_BACKENDS_KERNEL_PROBE_H
#define GSRT_BACKENDS_KERNEL_PROBE_H

#include "backends/device.h"

typedef enum gsrt_probe_kind {
    GSRT_PROBE_PRODUCT,     /* rows of activations by a matrix of weights */
    GSRT_PROBE_ELEMENTWISE, /* a norm, a gate and a sum over rows of activations */
} gsrt_probe_kind;

typedef struct gsrt_kernel_probe_options {
    gsrt_probe_kind kind;
    gsrt_dtype dtype;                 /* of the weights; PRODUCT */
    uint32_t k;                       /* elements of a row: of weights, or of activations; a multiple of 64 */
    uint32_t output_count;            /* rows of the matrix; PRODUCT */
    uint32_t k_group;                 /* as gsrt_matrix; 0 = 1 */
    uint32_t row_count_max;           /* of a run */
    uint32_t cpu_first, thread_count; /* as gsrt_device_options; bound */
} gsrt_kernel_probe_options;

typedef struct gsrt_kernel_probe gsrt_kernel_probe;

/* GSRT_OK: *out owned | GSRT_EINPUT: GSRT_ISA, *diag says why | GSRT_ENOMEM | as gsrt_device_create_cpu. */
GSRT_MUST_CHECK gsrt_status gsrt_kernel_probe_create(const gsrt_kernel_probe_options *options, gsrt_kernel_probe **out,
                                                     gsrt_diag *diag);
/* Accepts NULL; returns NULL. */
gsrt_kernel_probe *gsrt_kernel_probe_free(gsrt_kernel_probe *probe);

/* Bring the weights into the kernels' own layout. *out_bytes_per_s: how fast, by this thread; 0: there is no such
 * layout, or it was packed before. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_kernel_probe_pack(gsrt_kernel_probe *probe, double *out_bytes_per_s);

/* One job of `row_count` rows (1..row_count_max): seconds on the device; 0: it failed, or there is no room for them. */
double gsrt_kernel_probe_run(gsrt_kernel_probe *probe, uint32_t row_count);

size_t gsrt_kernel_probe_weight_bytes(const gsrt_kernel_probe *probe);
/* Operations of a run: a multiplication and an addition are two; elementwise, one for each element read or written. */
double gsrt_kernel_probe_operations(const gsrt_kernel_probe *probe, uint32_t row_count);

#endif
