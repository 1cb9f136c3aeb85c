/* LINEAR: rewrite the activations once, then panels of outputs on all threads. */
#include "backends/exec_impl.h"
#include "backends/pack.h"

#include <assert.h>

typedef struct linear_run {
    gsrt_exec *exec;
    const gsrt_linear_ops *ops;
    gsrt_linear_task task;
} linear_run;

static void prepare_rows(void *arg, uint32_t thread, uint32_t first, uint32_t end)
{
    (void)thread;
    linear_run *run = arg;
    run->ops->prepare(&run->task, first, end);
}

static void compute_panels(void *arg, uint32_t thread, uint32_t first, uint32_t end)
{
    linear_run *run = arg;
    uint32_t row_count = run->task.matrix->row_count;
    uint32_t out_end = end * GSRT_PANEL_OUTPUTS < row_count ? end * GSRT_PANEL_OUTPUTS : row_count;
    run->ops->linear(&run->task, first * GSRT_PANEL_OUTPUTS, out_end, gsrt__exec_thread(run->exec, thread));
}

/* The fewest panels that a thread takes: products of matrices work on groups of 64 outputs; fewer rows are one stream
 * of weights, which should be long. */
static uint32_t panel_grain(const gsrt_exec *exec, uint32_t panel_count, uint32_t row_count)
{
    uint32_t grain = row_count >= 16 ? 2 : panel_count / (exec->thread_count * 8);
    return grain == 0 ? 1 : grain;
}

gsrt_status gsrt__exec_linear(gsrt_exec *exec, const gsrt_job *job, const gsrt_instr *instr)
{
    const gsrt_slot *in = &job->program->slots[instr->in[0]], *out = &job->program->slots[instr->out];
    gsrt_matrix *matrix = instr->matrix;
    linear_run run = {
        .exec = exec,
        .ops = gsrt_linear_ops_of(exec->kernels, matrix->dtype),
        .task = {.matrix = matrix,
                 .packed = gsrt__packed_data(matrix, exec->kernels->isa),
                 .chunking = gsrt_chunking_of(matrix),
                 .x = gsrt_workspace_slot(job->workspace, instr->in[0]),
                 .x_stride_bytes = gsrt_slot_row_bytes(in),
                 .row_count = gsrt__job_rows(job, instr->out),
                 .bias = instr->vector,
                 .out = gsrt_workspace_slot(job->workspace, instr->out),
                 .out_stride = out->width},
    };
    gsrt_linear_task *task = &run.task;
    assert(in->width == matrix->k_count && in->is_wanted == out->is_wanted);
    assert((in->format == GSRT_SLOT_Q8) == gsrt_dtype_is_quantised(matrix->dtype));
    assert(out->format == GSRT_SLOT_F32 && out->width == task->chunking.subtree_count * matrix->row_count);
    if (task->row_count == 0 || matrix->row_count == 0)
        return GSRT_OK;

    uint64_t macs = (uint64_t)task->row_count * matrix->row_count * matrix->k_count;
    uint64_t work_ns = exec->kernels->isa == GSRT_ISA_SCALAR ? macs * 2 : macs / 16;
    size_t prepared_bytes = run.ops->prepared_bytes(task);
    if (prepared_bytes > 0) {
        task->prepared = gsrt__exec_shared(exec, prepared_bytes);
        if (task->prepared == NULL)
            return GSRT_ENOMEM;
    }
    gsrt_status status = gsrt__exec_threads(exec, run.ops->scratch_bytes(task));
    if (status != GSRT_OK)
        return status;
    if (prepared_bytes > 0) {
        uint64_t prepare_ns = (uint64_t)task->row_count * matrix->k_count / 4;
        gsrt__pool_run(exec->pool, prepare_rows, &run, task->row_count,
                       gsrt__exec_grain(exec, task->row_count, prepare_ns, 16));
    }
    uint32_t panel_count = (matrix->row_count + GSRT_PANEL_OUTPUTS - 1) / GSRT_PANEL_OUTPUTS;
    uint32_t grain = panel_grain(exec, panel_count, task->row_count);
    gsrt__pool_run(exec->pool, compute_panels, &run, panel_count, gsrt__exec_grain(exec, panel_count, work_ns, grain));
    return GSRT_OK;
}
