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
#include "backends/device.h"
#include "backends/numerics.h"
#include "base/random.h"
#include "bench/fma.h"
#include "bench/membw.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { REPEATS_MAX = 9, ROWS = 512 };

typedef struct options {
    gsrt_membw *membw;
    uint32_t thread_count;
    size_t weight_bytes; /* of the decode matrices */
    int repeats;
} options;

typedef struct product {
    gsrt_matrix matrix;
    gsrt_slot slots[2];
    gsrt_instr instr;
    gsrt_program program;
    gsrt_workspace *workspace;
    size_t mapped_bytes;
} product;

static void fail(const char *what)
{
    fprintf(stderr, "kernels: %s\n", what);
    exit(1);
}

/* Weights: random bits with harmless exponents; what they are does not matter to the speed. */
static void fill_weights(gsrt_dtype dtype, uint8_t *bytes, size_t len)
{
    size_t block = gsrt_dtype_block_bytes(dtype);
    uint8_t pattern[4096 * 34];
    size_t pattern_bytes = 4096 * block;
    for (size_t i = 0; i < pattern_bytes; i += 4) {
        uint64_t bits = gsrt_random_u64(1, 1, i);
        memcpy(pattern + i, &bits, pattern_bytes - i < 4 ? pattern_bytes - i : 4);
    }
    for (size_t i = 0; i < pattern_bytes; i += block) {
        float value = ((float)pattern[i] - 127.5f) * 0x1p-7f;
        uint16_t half = (uint16_t)(0x2000 | pattern[i]);
        if (dtype == GSRT_DTYPE_F32)
            memcpy(pattern + i, &value, 4);
        else if (dtype == GSRT_DTYPE_BF16)
            memcpy(pattern + i, (uint8_t *)&value + 2, 2);
        else
            memcpy(pattern + i, &half, 2);
    }
    for (size_t at = 0; at < len; at += pattern_bytes)
        memcpy(bytes + at, pattern, len - at < pattern_bytes ? len - at : pattern_bytes);
}

static void product_init(product *p, gsrt_dtype dtype, uint32_t k, size_t weight_bytes, uint32_t k_group)
{
    memset(p, 0, sizeof *p);
    size_t row_bytes = k / gsrt_dtype_block(dtype) * gsrt_dtype_block_bytes(dtype);
    uint32_t row_count = (uint32_t)(weight_bytes / row_bytes / 64 * 64);
    p->mapped_bytes = row_bytes * row_count;
    uint8_t *rows = mmap(NULL, p->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (rows == MAP_FAILED)
        fail("no memory for the weights");
    fill_weights(dtype, rows, p->mapped_bytes);
    p->matrix = (gsrt_matrix){.name = "weights",
                              .dtype = dtype,
                              .row_count = row_count,
                              .k_total = k,
                              .k_count = k,
                              .k_group = k_group,
                              .rows = rows,
                              .row_stride_bytes = row_bytes};
    bool is_quantised = gsrt_dtype_is_quantised(dtype);
    p->slots[0] = (gsrt_slot){.format = is_quantised ? GSRT_SLOT_Q8 : GSRT_SLOT_F32, .width = k};
    p->slots[1] = (gsrt_slot){.format = GSRT_SLOT_F32, .width = row_count};
    p->instr =
        (gsrt_instr){.kind = GSRT_INSTR_LINEAR, .in = {0, GSRT_NO_SLOT, GSRT_NO_SLOT}, .out = 1, .matrix = &p->matrix};
    p->program = (gsrt_program){.instrs = &p->instr, .instr_count = 1, .slots = p->slots, .slot_count = 2};
    uint32_t rows_max = row_count > 32768 ? 8 : ROWS;
    p->workspace = gsrt_workspace_create(&p->program, rows_max);
    if (p->workspace == NULL)
        fail("no memory for the activations");
    for (uint32_t i = 0; i < k * rows_max && !is_quantised; i++)
        ((float *)gsrt_workspace_slot(p->workspace, 0))[i] = gsrt_random_f32(2, 2, i) - 0.5f;
    gsrt_q8_block *blocks = gsrt_workspace_slot(p->workspace, 0);
    for (uint32_t b = 0; b < k / 32 * rows_max && is_quantised; b++) {
        blocks[b].scale = 0x1p-7f;
        for (uint32_t i = 0; i < 32; i++)
            blocks[b].q[i] = (int8_t)(gsrt_random_u64(2, 2, b * 32 + i) % 255) - 127;
    }
}

static void product_fini(product *p)
{
    gsrt_matrix_unpack(&p->matrix);
    gsrt_workspace_free(p->workspace);
    munmap((void *)(uintptr_t)p->matrix.rows, p->mapped_bytes);
}

typedef struct finished {
    _Atomic uint32_t count;
    uint64_t work_ns;
} finished;

static void on_done(void *arg, gsrt_job *job, gsrt_status status, uint64_t work_ns)
{
    (void)job;
    finished *f = arg;
    if (status != GSRT_OK)
        fail("a job failed");
    f->work_ns = work_ns;
    atomic_fetch_add_explicit(&f->count, 1, memory_order_release);
}

static gsrt_device *device_create(const options *o, finished *f)
{
    gsrt_device_options device_options = {.thread_count = o->thread_count,
                                          .is_packing = true,
                                          .is_bound = true,
                                          .spin_us = 100,
                                          .done = on_done,
                                          .done_arg = f};
    gsrt_device *device = NULL;
    gsrt_diag diag = {0};
    if (gsrt_isa_detect(&device_options.isa, &diag) != GSRT_OK ||
        gsrt_device_create_cpu(&device_options, &device, &diag) != GSRT_OK)
        fail(diag.text);
    return device;
}

/* Seconds of one job of `rows` rows. */
static double run(gsrt_device *device, finished *f, product *p, uint32_t rows)
{
    gsrt_job_sequence sequence = {.row_count = rows};
    gsrt_job job = {.program = &p->program,
                    .instr_count = 1,
                    .workspace = p->workspace,
                    .row_count = rows,
                    .sequences = &sequence,
                    .sequence_count = 1};
    uint32_t before = atomic_load(&f->count);
    if (gsrt_device_submit(device, &job) != GSRT_OK)
        fail("a job was refused");
    while (atomic_load_explicit(&f->count, memory_order_acquire) == before)
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    return (double)f->work_ns * 1e-9;
}

static void wait_packed(product *p)
{
    while (atomic_load(&p->matrix.packed) == NULL)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
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
    product p;
    product_init(&p, dtype, k, o->weight_bytes, 1);
    finished f = {0};
    gsrt_device *device = device_create(o, &f);
    double file[REPEATS_MAX], packed[REPEATS_MAX], few[3][REPEATS_MAX], gb[REPEATS_MAX];
    double bytes = (double)p.mapped_bytes;
    for (int i = 0; i < o->repeats; i++) {
        double bandwidth = gsrt_membw_run(o->membw, o->thread_count);
        file[i] = bytes / run(device, &f, &p, 1) / bandwidth;
    }
    if (gsrt_device_pack(device, &p.matrix) != GSRT_OK)
        fail("could not pack");
    wait_packed(&p);
    for (int i = 0; i < o->repeats; i++) {
        double bandwidth = gsrt_membw_run(o->membw, o->thread_count);
        double one = run(device, &f, &p, 1);
        gb[i] = bytes / one * 1e-9;
        packed[i] = bytes / one / bandwidth;
        for (int n = 0; n < 3; n++)
            few[n][i] = run(device, &f, &p, 2u << n) / one;
    }
    gsrt_device_facts facts;
    gsrt_device_read_facts(device, &facts);
    printf("decode  %-5s K %-5u threads %u   packed %5.1f GB/s = %.2f of read bandwidth; file %.2f; 2, 4, 8 rows take "
           "%.2f %.2f %.2f; packing %.2f GB/s\n",
           gsrt_dtype_name(dtype), k, o->thread_count, median(gb, o->repeats), median(packed, o->repeats),
           median(file, o->repeats), median(few[0], o->repeats), median(few[1], o->repeats), median(few[2], o->repeats),
           (double)facts.packed_bytes / (double)facts.pack_ns);
    fflush(stdout);
    gsrt_device_free(device);
    product_fini(&p);
}

static void bench_prefill(const options *o, gsrt_dtype dtype, uint32_t k)
{
    product p;
    product_init(&p, dtype, k, (size_t)2048 * k / gsrt_dtype_block(dtype) * gsrt_dtype_block_bytes(dtype), 1);
    finished f = {0};
    gsrt_device *device = device_create(o, &f);
    double file[REPEATS_MAX], packed[REPEATS_MAX], rate[REPEATS_MAX];
    double macs = (double)p.matrix.row_count * k * ROWS;
    for (int i = 0; i < o->repeats; i++) {
        double peak = gsrt_fma_peak() * o->thread_count;
        file[i] = macs / run(device, &f, &p, ROWS) / peak;
    }
    if (gsrt_device_pack(device, &p.matrix) != GSRT_OK)
        fail("could not pack");
    wait_packed(&p);
    for (int i = 0; i < o->repeats; i++) {
        double peak = gsrt_fma_peak() * o->thread_count;
        double one = macs / run(device, &f, &p, ROWS);
        rate[i] = one * 2e-9;
        packed[i] = one / peak;
    }
    printf("prefill %-5s K %-5u threads %u   packed %6.1f GFLOP/s = %.2f of the FMA peak; file %.2f\n",
           gsrt_dtype_name(dtype), k, o->thread_count, median(rate, o->repeats), median(packed, o->repeats),
           median(file, o->repeats));
    fflush(stdout);
    gsrt_device_free(device);
    product_fini(&p);
}

/* The same product with one chunk that covers all of K (k_group = K): one running sum in the same kernel. */
static void bench_order(const options *o, gsrt_dtype dtype, uint32_t k, uint32_t rows)
{
    product chunks, running;
    size_t bytes =
        rows == 1 ? o->weight_bytes / 2 : (size_t)2048 * k / gsrt_dtype_block(dtype) * gsrt_dtype_block_bytes(dtype);
    product_init(&chunks, dtype, k, bytes, 1);
    product_init(&running, dtype, k, bytes, k);
    finished f = {0};
    gsrt_device *device = device_create(o, &f);
    if (gsrt_device_pack(device, &chunks.matrix) != GSRT_OK || gsrt_device_pack(device, &running.matrix) != GSRT_OK)
        fail("could not pack");
    wait_packed(&chunks);
    wait_packed(&running);
    double ratio[REPEATS_MAX];
    for (int i = 0; i < o->repeats; i++)
        ratio[i] = run(device, &f, &chunks, rows) / run(device, &f, &running, rows);
    printf("order   %-5s K %-5u rows %-3u   canonical chunks of %u and tree take %.3f of one running sum\n",
           gsrt_dtype_name(dtype), k, rows, gsrt_chunk_of(k, 1, dtype), median(ratio, o->repeats));
    fflush(stdout);
    gsrt_device_free(device);
    product_fini(&chunks);
    product_fini(&running);
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
    o.membw = gsrt_membw_create((size_t)1 << 30);
    if (o.membw == NULL)
        fail("no memory for the read bandwidth");
    for (int t = 0; t < thread_kinds; t++) {
        o.thread_count = threads[t];
        printf("read bandwidth %.1f GB/s, FMA peak %.1f GFLOP/s per core, %u threads\n",
               gsrt_membw_run(o.membw, o.thread_count) * 1e-9, gsrt_fma_peak() * 2e-9, o.thread_count);
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
    gsrt_membw_free(o.membw);
    return 0;
}
