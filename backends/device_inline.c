/* The inline device: the kernels on the calling thread; a job is done before submit returns. */
#include "backends/device_impl.h"
#include "backends/pack.h"

#include <stdlib.h>

typedef struct inline_device {
    gsrt_device base;
    gsrt_device_options options;
    gsrt_pool *pool; /* of one thread */
    gsrt_exec *exec;
    gsrt_device_facts facts;
    char name[GSRT_PROCESSOR_NAME_MAX];
} inline_device;

static gsrt_device *inline_free(gsrt_device *device)
{
    inline_device *self = (inline_device *)device;
    gsrt__exec_free(self->exec);
    gsrt__pool_free(self->pool);
    free(self);
    return NULL;
}

static gsrt_status inline_submit(gsrt_device *device, gsrt_job *job)
{
    inline_device *self = (inline_device *)device;
    uint64_t start_ns = gsrt__now_ns();
    uint32_t mxcsr = gsrt_mxcsr_set();
    gsrt_status status = gsrt__exec_run(self->exec, job);
    gsrt_mxcsr_restore(mxcsr);
    uint64_t work_ns = gsrt__now_ns() - start_ns;
    self->facts.job_count++;
    self->facts.row_count += gsrt__job_counts_rows(job) ? job->row_count : 0;
    self->facts.busy_ns += work_ns;
    self->options.done(self->options.done_arg, job, status, work_ns);
    return GSRT_OK;
}

static gsrt_status inline_pack(gsrt_device *device, gsrt_matrix *matrix)
{
    inline_device *self = (inline_device *)device;
    if (!self->options.is_packing)
        return GSRT_OK;
    gsrt_packing packing;
    uint64_t start_ns = gsrt__now_ns();
    gsrt_status status = gsrt__packing_start(&packing, gsrt_kernels_of(self->options.isa), matrix);
    if (status == GSRT_EUNSUPPORTED)
        return GSRT_OK; /* nothing to pack is no failure */
    if (status != GSRT_OK)
        return status;
    self->facts.packed_bytes += packing.packed->bytes;
    while (!gsrt__packing_step(&packing))
        ;
    self->facts.pack_ns += gsrt__now_ns() - start_ns;
    return GSRT_OK;
}

static void inline_read_facts(const gsrt_device *device, gsrt_device_facts *out)
{
    *out = ((const inline_device *)device)->facts;
}

gsrt_status gsrt_device_create_inline(const gsrt_device_options *options, gsrt_device **out, gsrt_diag *diag)
{
    static const gsrt_device_ops ops = {
        .kind = "inline",
        .free = inline_free,
        .submit = inline_submit,
        .pack = inline_pack,
        .read_facts = inline_read_facts,
    };
    const gsrt_kernels *kernels = gsrt_kernels_of(options->isa);
    if (kernels == NULL)
        return gsrt_diag_set(diag, GSRT_EUNSUPPORTED, NULL, "device", "the %s kernels were not built",
                             gsrt_isa_name(options->isa));
    inline_device *self = calloc(1, sizeof *self);
    if (self == NULL)
        return gsrt_diag_set(diag, GSRT_ENOMEM, NULL, "device", "out of memory");
    self->base.ops = &ops;
    self->options = *options;
    self->pool = gsrt__pool_create(&(gsrt_pool_options){.thread_count = 1});
    self->exec = self->pool == NULL ? NULL : gsrt__exec_create(kernels, self->pool);
    if (self->exec == NULL) {
        inline_free(&self->base);
        return gsrt_diag_set(diag, GSRT_ENOMEM, NULL, "device", "out of memory");
    }
    gsrt__processor_name(self->name);
    self->facts = (gsrt_device_facts){.kind = ops.kind, .name = self->name, .isa = options->isa, .thread_count = 1};
    *out = &self->base;
    return GSRT_OK;
}
