/* bench/kernels [--quick] [threads...]: the kernels against what this machine can do, measured in the same run.
 *
 *   decode    one row: bytes of weights per second over the memory's read bandwidth, packed and from the file's layout
 *   few rows  2, 4, 8 rows: time over that of one row
 *   prefill   512 rows: multiply-adds per second over the peak of fused multiply-add of this core
 *   order     the canonical chunks and tree over one running sum, in the same kernel
 *
 * Everything goes through the device interface, as the runtime does. Each ratio is taken back to back and the median of
 * several is printed, because the machine may be shared. Read bandwidth: our own loop of vector loads over at least 1
 * GiB.
 */
#include "backends/kernel_probe.h"
#include "backends/memory_probe.h"
#include "bench/fma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MAX = 9, ROWS = 512 };

typedef struct options {
    gsrt_memory_probe *membw;
    uint32_t thread_count;
    size_t weight_bytes; /* of the decode matrices */
    int repeats;
} options;

static void fail(const char *what)
{
    fprintf(stderr, "kernels: %s\n", what);
    exit(1);
}

/* A product of matrices of about `weight_bytes` of weights; owned. */
static gsrt_kernel_probe *product_of(const options *o, gsrt_dtype dtype, uint32_t k, size_t weight_bytes,
                                     uint32_t k_group)
{
    size_t row_bytes = k / gsrt_dtype_block(dtype) * gsrt_dtype_block_bytes(dtype);
    uint32_t output_count = (uint32_t)(weight_bytes / row_bytes / 64 * 64);
    gsrt_kernel_probe_options asked = {.dtype = dtype,
                                       .k = k,
                                       .output_count = output_count,
                                       .k_group = k_group,
                                       .row_count_max = output_count > 32768 ? 8 : ROWS,
                                       .thread_count = o->thread_count};
    gsrt_kernel_probe *probe = NULL;
    gsrt_diag diag = {0};
    if (gsrt_kernel_probe_create(&asked, &probe, &diag) != GSRT_OK)
        fail(diag.status == GSRT_OK ? "no memory" : diag.text);
    return probe;
}

static double run(gsrt_kernel_probe *probe, uint32_t rows)
{
    double seconds = gsrt_kernel_probe_run(probe, rows);
    if (seconds <= 0)
        fail("a job failed");
    return seconds;
}

/* Bytes per second. */
static double pack(gsrt_kernel_probe *probe)
{
    double bytes_per_s = 0;
    if (gsrt_kernel_probe_pack(probe, &bytes_per_s) != GSRT_OK)
        fail("no memory to pack into");
    return bytes_per_s;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

/* Decode and few rows of one type. */
static void bench_decode(const options *o, gsrt_dtype dtype, uint32_t k)
{
    gsrt_kernel_probe *p = product_of(o, dtype, k, o->weight_bytes, 1);
    double file[REPEATS_MAX], packed[REPEATS_MAX], few[3][REPEATS_MAX], gb[REPEATS_MAX];
    double bytes = (double)gsrt_kernel_probe_weight_bytes(p);
    for (int i = 0; i < o->repeats; i++) {
        double bandwidth = gsrt_memory_probe_run(o->membw, 0, o->thread_count);
        file[i] = bytes / run(p, 1) / bandwidth;
    }
    double packing = pack(p);
    for (int i = 0; i < o->repeats; i++) {
        double bandwidth = gsrt_memory_probe_run(o->membw, 0, o->thread_count);
        double one = run(p, 1);
        gb[i] = bytes / one * 1e-9;
        packed[i] = bytes / one / bandwidth;
        for (int n = 0; n < 3; n++)
            few[n][i] = run(p, 2u << n) / one;
    }
    printf("decode  %-5s K %-5u threads %u   packed %5.1f GB/s = %.2f of read bandwidth; file %.2f; 2, 4, 8 rows take "
           "%.2f %.2f %.2f; packing %.2f GB/s\n",
           gsrt_dtype_name(dtype), k, o->thread_count, median(gb, o->repeats), median(packed, o->repeats),
           median(file, o->repeats), median(few[0], o->repeats), median(few[1], o->repeats), median(few[2], o->repeats),
           packing * 1e-9);
    fflush(stdout);
    gsrt_kernel_probe_free(p);
}

static void bench_prefill(const options *o, gsrt_dtype dtype, uint32_t k)
{
    gsrt_kernel_probe *p =
        product_of(o, dtype, k, (size_t)2048 * k / gsrt_dtype_block(dtype) * gsrt_dtype_block_bytes(dtype), 1);
    double file[REPEATS_MAX], packed[REPEATS_MAX], rate[REPEATS_MAX];
    double macs = gsrt_kernel_probe_operations(p, ROWS) / 2;
    for (int i = 0; i < o->repeats; i++) {
        double peak = gsrt_fma_peak() * o->thread_count;
        file[i] = macs / run(p, ROWS) / peak;
    }
    (void)pack(p);
    for (int i = 0; i < o->repeats; i++) {
        double peak = gsrt_fma_peak() * o->thread_count;
        double one = macs / run(p, ROWS);
        rate[i] = one * 2e-9;
        packed[i] = one / peak;
    }
    printf("prefill %-5s K %-5u threads %u   packed %6.1f GFLOP/s = %.2f of the FMA peak; file %.2f\n",
           gsrt_dtype_name(dtype), k, o->thread_count, median(rate, o->repeats), median(packed, o->repeats),
           median(file, o->repeats));
    fflush(stdout);
    gsrt_kernel_probe_free(p);
}

/* The same product with one chunk that covers all of K (k_group = K): one running sum in the same kernel. */
static void bench_order(const options *o, gsrt_dtype dtype, uint32_t k, uint32_t rows)
{
    size_t bytes =
        rows == 1 ? o->weight_bytes / 2 : (size_t)2048 * k / gsrt_dtype_block(dtype) * gsrt_dtype_block_bytes(dtype);
    gsrt_kernel_probe *chunks = product_of(o, dtype, k, bytes, 1), *running = product_of(o, dtype, k, bytes, k);
    (void)pack(chunks);
    (void)pack(running);
    double ratio[REPEATS_MAX];
    for (int i = 0; i < o->repeats; i++)
        ratio[i] = run(chunks, rows) / run(running, rows);
    printf("order   %-5s K %-5u rows %-3u   canonical chunks of %u and tree take %.3f of one running sum\n",
           gsrt_dtype_name(dtype), k, rows, gsrt_chunk_of(k, 1, dtype), median(ratio, o->repeats));
    fflush(stdout);
    gsrt_kernel_probe_free(chunks);
    gsrt_kernel_probe_free(running);
}

int main(int argc, char **argv)
{
    static const gsrt_dtype dtypes[] = {GSRT_DTYPE_Q8_0, GSRT_DTYPE_F16, GSRT_DTYPE_BF16, GSRT_DTYPE_Q4_0,
                                        GSRT_DTYPE_F32};
    options o = {.weight_bytes = (size_t)1 << 30, .repeats = 7};
    uint32_t threads[8] = {1, 2};
    int thread_kinds = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            o.weight_bytes = (size_t)256 << 20;
            o.repeats = 3;
        } else if (thread_kinds < 8 && atoi(argv[i]) > 0) {
            threads[thread_kinds++] = (uint32_t)atoi(argv[i]);
        } else {
            fail("usage: kernels [--quick] [threads...]");
        }
    }
    thread_kinds = thread_kinds == 0 ? 2 : thread_kinds;
    o.membw = gsrt_memory_probe_create((size_t)1 << 30, GSRT_MEMORY_ANYWHERE);
    if (o.membw == NULL)
        fail("no memory for the read bandwidth");
    for (int t = 0; t < thread_kinds; t++) {
        o.thread_count = threads[t];
        printf("read bandwidth %.1f GB/s, FMA peak %.1f GFLOP/s per core, %u threads\n",
               gsrt_memory_probe_run(o.membw, 0, o.thread_count) * 1e-9, gsrt_fma_peak() * 2e-9, o.thread_count);
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
            bench_decode(&o, dtypes[d], 2048);
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
            bench_prefill(&o, dtypes[d], 2048);
    }
    o.thread_count = threads[0];
    for (size_t d = 0; d < 2; d++) {
        bench_order(&o, dtypes[d], 8192, 1);
        bench_order(&o, dtypes[d], 8192, ROWS);
    }
    gsrt_memory_probe_free(o.membw);
    return 0;
}
