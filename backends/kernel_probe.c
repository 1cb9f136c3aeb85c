#include "backends/kernel_probe.h"

#include "backends/device_impl.h"
#include "backends/pack.h"
#include "base/random.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { ELEMENTWISE_SLOTS = 4, INSTRS_MAX = 3, PATTERN_BLOCKS = 4096 };

struct gsrt_kernel_probe {
    gsrt_kernel_probe_options options;
    gsrt_matrix matrix; /* PRODUCT */
    uint8_t *weights;   /* [weight_bytes], mapped; NULL: none */
    size_t weight_bytes;
    float *norm; /* [k], ELEMENTWISE; owned */
    gsrt_slot slots[ELEMENTWISE_SLOTS];
    gsrt_instr instrs[INSTRS_MAX];
    gsrt_program program;
    gsrt_workspace *workspace; /* owned, like the next */
    gsrt_device *device;
    _Atomic uint32_t done_count;
    gsrt_status done_status; /* of the last one; read after done_count was seen to rise, like the next */
    uint64_t work_ns;
};

static void on_done(void *arg, gsrt_job *job, gsrt_status status, uint64_t work_ns)
{
    (void)job;
    gsrt_kernel_probe *p = arg;
    p->done_status = status;
    p->work_ns = work_ns;
    atomic_fetch_add_explicit(&p->done_count, 1, memory_order_release);
}

/* Random bits with harmless exponents; what the weights are does not matter to the speed. */
static void fill_weights(gsrt_dtype dtype, uint8_t *bytes, size_t len)
{
    size_t block = gsrt_dtype_block_bytes(dtype), pattern_bytes = PATTERN_BLOCKS * block;
    pattern_bytes = pattern_bytes < len ? pattern_bytes : len;
    for (size_t i = 0; i < pattern_bytes; i += 4) {
        uint64_t bits = gsrt_random_u64(1, 1, i);
        memcpy(bytes + i, &bits, pattern_bytes - i < 4 ? pattern_bytes - i : 4);
    }
    for (size_t i = 0; i < pattern_bytes; i += block) {
        float value = ((float)bytes[i] - 127.5f) * 0x1p-7f;
        uint16_t half = (uint16_t)(0x2000 | bytes[i]);
        if (dtype == GSRT_DTYPE_F32)
            memcpy(bytes + i, &value, 4);
        else if (dtype == GSRT_DTYPE_BF16)
            memcpy(bytes + i, (const uint8_t *)&value + 2, 2);
        else
            memcpy(bytes + i, &half, 2);
    }
    for (size_t at = pattern_bytes; at < len; at += pattern_bytes)
        memcpy(bytes + at, bytes, len - at < pattern_bytes ? len - at : pattern_bytes);
}

static gsrt_status make_product(gsrt_kernel_probe *p)
{
    const gsrt_kernel_probe_options *o = &p->options;
    size_t row_bytes = o->k / gsrt_dtype_block(o->dtype) * gsrt_dtype_block_bytes(o->dtype);
    p->weight_bytes = row_bytes * o->output_count;
    void *mapped = mmap(NULL, p->weight_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return GSRT_ENOMEM;
    p->weights = mapped;
    fill_weights(o->dtype, p->weights, p->weight_bytes);
    p->matrix = (gsrt_matrix){.name = "weights",
                              .dtype = o->dtype,
                              .row_count = o->output_count,
                              .k_total = o->k,
                              .k_count = o->k,
                              .k_group = o->k_group > 0 ? o->k_group : 1,
                              .rows = p->weights,
                              .row_stride_bytes = row_bytes};
    bool is_quantised = gsrt_dtype_is_quantised(o->dtype);
    p->slots[0] = (gsrt_slot){.format = is_quantised ? GSRT_SLOT_Q8 : GSRT_SLOT_F32, .width = o->k};
    p->slots[1] = (gsrt_slot){.format = GSRT_SLOT_F32, .width = o->output_count};
    p->instrs[0] =
        (gsrt_instr){.kind = GSRT_INSTR_LINEAR, .in = {0, GSRT_NO_SLOT, GSRT_NO_SLOT}, .out = 1, .matrix = &p->matrix};
    p->program = (gsrt_program){.instrs = p->instrs, .instr_count = 1, .slots = p->slots, .slot_count = 2};
    return GSRT_OK;
}

static gsrt_status make_elementwise(gsrt_kernel_probe *p)
{
    const gsrt_kernel_probe_options *o = &p->options;
    p->norm = calloc(o->k, sizeof *p->norm);
    if (p->norm == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < o->k; i++)
        p->norm[i] = gsrt_random_f32(3, 3, i);
    for (uint32_t i = 0; i < ELEMENTWISE_SLOTS; i++)
        p->slots[i] = (gsrt_slot){.format = GSRT_SLOT_F32, .width = o->k};
    p->instrs[0] = (gsrt_instr){.kind = GSRT_INSTR_RMSNORM,
                                .in = {0, GSRT_NO_SLOT, GSRT_NO_SLOT},
                                .out = 1,
                                .vector = p->norm,
                                .epsilon = 1e-5f};
    p->instrs[1] = (gsrt_instr){.kind = GSRT_INSTR_SWIGLU, .in = {0, 1, GSRT_NO_SLOT}, .out = 2};
    p->instrs[2] = (gsrt_instr){.kind = GSRT_INSTR_ADD, .in = {1, 2, GSRT_NO_SLOT}, .out = 3};
    p->program = (gsrt_program){
        .instrs = p->instrs, .instr_count = INSTRS_MAX, .slots = p->slots, .slot_count = ELEMENTWISE_SLOTS};
    return GSRT_OK;
}

static void fill_activations(gsrt_kernel_probe *p)
{
    size_t count = (size_t)p->options.k * p->options.row_count_max;
    void *first = gsrt_workspace_slot(p->workspace, 0);
    if (p->slots[0].format == GSRT_SLOT_F32) {
        for (size_t i = 0; i < count; i++)
            ((float *)first)[i] = gsrt_random_f32(2, 2, i) - 0.5f;
        return;
    }
    gsrt_q8_block *blocks = first;
    for (size_t b = 0; b < count / 32; b++) {
        blocks[b].scale = 0x1p-7f;
        for (uint32_t i = 0; i < 32; i++)
            blocks[b].q[i] = (int8_t)((int)(gsrt_random_u64(2, 2, b * 32 + i) % 255) - 127);
    }
}

gsrt_status gsrt_kernel_probe_create(const gsrt_kernel_probe_options *options, gsrt_kernel_probe **out, gsrt_diag *diag)
{
    gsrt_kernel_probe *p = calloc(1, sizeof *p);
    if (p == NULL)
        return GSRT_ENOMEM;
    p->options = *options;
    gsrt_device_options device = {.thread_count = options->thread_count,
                                  .cpu_first = options->cpu_first,
                                  .is_bound = true,
                                  .spin_us = 100,
                                  .done = on_done,
                                  .done_arg = p};
    gsrt_status status = options->kind == GSRT_PROBE_PRODUCT ? make_product(p) : make_elementwise(p);
    if (status == GSRT_OK)
        p->workspace = gsrt_workspace_create(&p->program, options->row_count_max);
    if (status == GSRT_OK && p->workspace == NULL)
        status = GSRT_ENOMEM;
    if (status == GSRT_OK)
        status = gsrt_isa_detect(&device.isa, diag);
    if (status == GSRT_OK)
        status = gsrt_device_create_cpu(&device, &p->device, diag);
    if (status != GSRT_OK) {
        (void)gsrt_kernel_probe_free(p);
        return status;
    }
    fill_activations(p);
    *out = p;
    return GSRT_OK;
}

gsrt_kernel_probe *gsrt_kernel_probe_free(gsrt_kernel_probe *p)
{
    if (p == NULL)
        return NULL;
    (void)gsrt_device_free(p->device);
    gsrt_matrix_unpack(&p->matrix);
    (void)gsrt_workspace_free(p->workspace);
    if (p->weights != NULL)
        (void)munmap(p->weights, p->weight_bytes);
    free(p->norm);
    free(p);
    return NULL;
}

gsrt_status gsrt_kernel_probe_pack(gsrt_kernel_probe *p, double *out_bytes_per_s)
{
    gsrt_device_facts facts;
    gsrt_device_read_facts(p->device, &facts);
    gsrt_packing packing;
    *out_bytes_per_s = 0;
    gsrt_status status =
        p->weights == NULL ? GSRT_EUNSUPPORTED : gsrt__packing_start(&packing, gsrt_kernels_of(facts.isa), &p->matrix);
    if (status == GSRT_EUNSUPPORTED)
        return GSRT_OK;
    if (status != GSRT_OK)
        return status;
    double bytes = (double)packing.packed->bytes;
    uint64_t start_ns = gsrt__now_ns();
    while (!gsrt__packing_step(&packing))
        ;
    *out_bytes_per_s = bytes / ((double)(gsrt__now_ns() - start_ns) * 1e-9);
    return GSRT_OK;
}

double gsrt_kernel_probe_run(gsrt_kernel_probe *p, uint32_t row_count)
{
    gsrt_job_sequence sequence = {.row_count = row_count};
    gsrt_job job = {.program = &p->program,
                    .instr_count = p->program.instr_count,
                    .workspace = p->workspace,
                    .row_count = row_count,
                    .sequences = &sequence,
                    .sequence_count = 1};
    uint32_t before = atomic_load_explicit(&p->done_count, memory_order_acquire);
    if (row_count == 0 || row_count > p->options.row_count_max || gsrt_device_submit(p->device, &job) != GSRT_OK)
        return 0;
    while (atomic_load_explicit(&p->done_count, memory_order_acquire) == before)
        (void)nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    return p->done_status == GSRT_OK ? (double)p->work_ns * 1e-9 : 0;
}

size_t gsrt_kernel_probe_weight_bytes(const gsrt_kernel_probe *p)
{
    return p->weight_bytes;
}

double gsrt_kernel_probe_operations(const gsrt_kernel_probe *p, uint32_t row_count)
{
    double elements = (double)p->options.k * row_count;
    return p->options.kind == GSRT_PROBE_PRODUCT ? 2 * elements * p->options.output_count
                                                 : (2 + 3 + 3) * elements; /* in and out of the three */
}
