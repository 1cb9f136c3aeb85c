#include "backends/exec_impl.h"
#include "backends/oracle.h"
#include "backends/pages.h"
#include "backends/rope.h"
#include "backends/sampling.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

gsrt_exec *gsrt__exec_create(const gsrt_kernels *kernels, gsrt_pool *pool)
{
    gsrt_exec *exec = calloc(1, sizeof *exec);
    if (exec == NULL)
        return NULL;
    exec->kernels = kernels;
    exec->pool = pool;
    exec->thread_count = gsrt__pool_thread_count(pool);
    return exec;
}

gsrt_exec *gsrt__exec_free(gsrt_exec *exec)
{
    if (exec == NULL)
        return NULL;
    gsrt__pages_free(exec->shared.data, exec->shared.bytes);
    gsrt__pages_free(exec->threads.data, exec->threads.bytes);
    free(exec);
    return NULL;
}

static uint8_t *grow(gsrt_scratch *scratch, size_t bytes)
{
    if (bytes > scratch->bytes || scratch->data == NULL) {
        gsrt__pages_free(scratch->data, scratch->bytes);
        scratch->bytes = (bytes + 4095) / 4096 * 4096 + 4096;
        scratch->data = gsrt__pages_create(scratch->bytes);
        if (scratch->data == NULL)
            scratch->bytes = 0;
    }
    return scratch->data;
}

uint8_t *gsrt__exec_shared(gsrt_exec *exec, size_t bytes)
{
    return grow(&exec->shared, bytes);
}

gsrt_status gsrt__exec_threads(gsrt_exec *exec, size_t bytes)
{
    exec->thread_bytes = (bytes + 127) / 64 * 64;
    return grow(&exec->threads, exec->thread_bytes * exec->thread_count) == NULL ? GSRT_ENOMEM : GSRT_OK;
}

/* ---- rows and ranges on all threads ---- */

typedef struct rows_run {
    const gsrt_exec *exec;
    const gsrt_job *job;
    const gsrt_instr *instr;
    const uint8_t *in[3];
    uint8_t *out;
    uint32_t width; /* of in0 */
    const gsrt_tree_step *steps;
    uint32_t node_count;
} rows_run;

static const float *f32_at(const uint8_t *slot, size_t index)
{
    return (const float *)(const void *)slot + index;
}

static float *out_at(const rows_run *run, size_t index)
{
    return (float *)(void *)run->out + index;
}

static void embed_rows(void *arg, uint32_t thread, uint32_t first, uint32_t end)
{
    (void)thread;
    const rows_run *run = arg;
    const gsrt_matrix *matrix = run->instr->matrix;
    for (uint32_t row = first; row < end; row++)
        run->exec->kernels->embed(matrix, run->job->tokens[row], out_at(run, (size_t)row * matrix->k_total));
}

static void rmsnorm_rows(void *arg, uint32_t thread, uint32_t first, uint32_t end)
{
    (void)thread;
    const rows_run *run = arg;
    for (uint32_t row = first; row < end; row++) {
        size_t at = (size_t)row * run->width;
        run->exec->kernels->rmsnorm(f32_at(run->in[0], at), run->instr->vector, run->width, run->instr->epsilon,
                                    out_at(run, at));
    }
}

/* Items are blocks of 32 elements, over all rows. */
static void quantise_blocks(void *arg, uint32_t thread, uint32_t first, uint32_t end)
{
    (void)thread;
    const rows_run *run = arg;
    run->exec->kernels->quantise(f32_at(run->in[0], (size_t)first * 32), (end - first) * 32,
                                 (gsrt_q8_block *)(void *)run->out + first);
}

/* Items are elements, over all rows. */
static void swiglu_elements(void *arg, uint32_t thread, uint32_t first, uint32_t end)
{
    (void)thread;
    const rows_run *run = arg;
    run->exec->kernels->swiglu(f32_at(run->in[0], first), f32_at(run->in[1], first), end - first, out_at(run, first));
}

static void add_elements(void *arg, uint32_t thread, uint32_t first, uint32_t end)
{
    (void)thread;
    const rows_run *run = arg;
    gsrt_oracle_add(f32_at(run->in[0], first), f32_at(run->in[1], first), end - first, out_at(run, first));
}

static void rope_rows(void *arg, uint32_t thread, uint32_t first, uint32_t end)
{
    (void)thread;
    const rows_run *run = arg;
    const gsrt_job *job = run->job;
    for (uint32_t s = 0; s < job->sequence_count; s++) {
        const gsrt_job_sequence *sequence = &job->sequences[s];
        uint32_t row = first > sequence->row_first ? first : sequence->row_first;
        uint32_t row_end = sequence->row_first + sequence->row_count;
        for (; row < row_end && row < end; row++) {
            uint32_t position = sequence->position_first + row - sequence->row_first;
            (void)gsrt_oracle_rope(out_at(run, (size_t)row * run->width), run->instr->head_count, run->instr->head_dim,
                                   run->instr->rope, position); /* its rows were made by check_rope */
        }
    }
}

/* Columns in tiles, so that the nodes of a tile lie in registers and the first-level cache. */
static void tree_rows(void *arg, uint32_t thread, uint32_t first, uint32_t end)
{
    enum { TILE = 16 };
    (void)thread;
    const rows_run *run = arg;
    uint32_t width = run->width / run->node_count;
    for (uint32_t row = first; row < end; row++)
        for (uint32_t column = 0; column < width; column += TILE) {
            float nodes[GSRT_CHUNK_COUNT_MAX][TILE];
            uint32_t count = width - column < TILE ? width - column : TILE;
            const float *from = f32_at(run->in[0], (size_t)row * run->width + column);
            for (uint32_t n = 0; n < run->node_count; n++)
                memcpy(nodes[n], from + (size_t)n * width, count * sizeof(float));
            for (uint32_t i = 0; i + 1 < run->node_count; i++)
                for (uint32_t c = 0; c < count; c++)
                    nodes[run->steps[i].into][c] = nodes[run->steps[i].into][c] + nodes[run->steps[i].from][c];
            float *to = out_at(run, (size_t)row * width + column);
            for (uint32_t c = 0; c < count; c++)
                to[c] = run->instr->vector == NULL ? nodes[0][c] : nodes[0][c] + run->instr->vector[column + c];
        }
}

/* ---- instructions ---- */

static void run_rows(gsrt_exec *exec, rows_run *run, gsrt_pool_fn *fn, uint32_t row_count, uint64_t ns_per_row)
{
    uint32_t grain = row_count / (exec->thread_count * 4);
    gsrt__pool_run(exec->pool, fn, run, row_count,
                   gsrt__exec_grain(exec, row_count, row_count * ns_per_row, grain == 0 ? 1 : grain));
}

/* Items of which one costs about a ns. */
static void run_items(gsrt_exec *exec, rows_run *run, gsrt_pool_fn *fn, uint64_t item_count, uint32_t grain)
{
    assert(item_count <= UINT32_MAX / 2);
    gsrt__pool_run(exec->pool, fn, run, (uint32_t)item_count,
                   gsrt__exec_grain(exec, (uint32_t)item_count, item_count, grain));
}

static gsrt_status check_tokens(const gsrt_job *job, const gsrt_instr *instr)
{
    for (uint32_t row = 0; row < job->row_count; row++)
        if (job->tokens[row] >= instr->matrix->row_count)
            return GSRT_EINVAL;
    return GSRT_OK;
}

/* Makes the rows of the table that the job needs. */
static gsrt_status check_rope(const gsrt_job *job, const gsrt_instr *instr)
{
    for (uint32_t s = 0; s < job->sequence_count; s++) {
        const gsrt_job_sequence *sequence = &job->sequences[s];
        for (uint32_t i = 0; i < sequence->row_count; i++)
            if (gsrt_rope_row(instr->rope, sequence->position_first + i) == NULL)
                return GSRT_EINVAL;
    }
    return GSRT_OK;
}

static gsrt_status run_tree(gsrt_exec *exec, rows_run *run, uint32_t rows)
{
    gsrt_tree_step steps[GSRT_CHUNK_COUNT_MAX];
    const gsrt_matrix *matrix = run->instr->matrix;
    uint32_t chunk = gsrt_chunk_of(matrix->k_total, matrix->k_group, matrix->dtype);
    run->node_count = gsrt_tree_plan(gsrt_chunk_count(matrix->k_total, chunk), run->instr->chunk_ends,
                                     run->instr->share_count, steps, GSRT_CHUNK_COUNT_MAX);
    run->steps = steps;
    uint32_t out_width = run->job->program->slots[run->instr->out].width;
    if (run->node_count == 0 || run->width != out_width * run->node_count)
        return GSRT_EINVAL;
    run_rows(exec, run, tree_rows, rows, run->width);
    return GSRT_OK;
}

static void select_rows(const rows_run *run)
{
    size_t row_bytes = gsrt_slot_row_bytes(&run->job->program->slots[run->instr->in[0]]);
    for (uint32_t i = 0; i < run->job->wanted_count; i++)
        memcpy(run->out + i * row_bytes, run->in[0] + run->job->wanted[i] * row_bytes, row_bytes);
}

static gsrt_status place_piece(const rows_run *run, uint32_t rows)
{
    const gsrt_slot *slot = &run->job->program->slots[run->instr->out];
    if (rows == 0)
        return GSRT_OK;
    if (run->instr->piece >= run->job->piece_count)
        return GSRT_EINVAL;
    gsrt_span piece = run->job->pieces[run->instr->piece];
    size_t row_bytes = gsrt_slot_row_bytes(slot), piece_bytes = piece.len / rows;
    size_t first = slot->format == GSRT_SLOT_Q8 ? run->instr->column_first / 32 * sizeof(gsrt_q8_block)
                                                : run->instr->column_first * sizeof(float);
    if (piece_bytes * rows != piece.len || first > row_bytes || piece_bytes > row_bytes - first)
        return GSRT_EINVAL;
    for (uint32_t row = 0; row < rows; row++)
        memcpy(run->out + row * row_bytes + first, piece.data + row * piece_bytes, piece_bytes);
    return GSRT_OK;
}

static gsrt_status sample_rows(gsrt_exec *exec, const rows_run *run)
{
    uint8_t *scratch = gsrt__exec_shared(exec, gsrt_sample_scratch_bytes(run->width));
    if (scratch == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < run->job->wanted_count; i++)
        run->job->results[i] =
            gsrt_sample(f32_at(run->in[0], (size_t)i * run->width), run->width, &run->job->sampling[i], scratch);
    return GSRT_OK;
}

static gsrt_status run_instr(gsrt_exec *exec, const gsrt_job *job, const gsrt_instr *instr)
{
    rows_run run = {.exec = exec, .job = job, .instr = instr};
    for (int i = 0; i < 3; i++)
        if (instr->in[i] != GSRT_NO_SLOT)
            run.in[i] = gsrt_workspace_slot(job->workspace, instr->in[i]);
    uint16_t main_slot = instr->in[0] != GSRT_NO_SLOT ? instr->in[0] : instr->out;
    uint16_t out = instr->kind == GSRT_INSTR_ROPE ? instr->in[0] : instr->out;
    if (out != GSRT_NO_SLOT)
        run.out = gsrt_workspace_slot(job->workspace, out);
    run.width = job->program->slots[main_slot].width;
    uint32_t rows = gsrt__job_rows(job, main_slot);
    uint64_t elements = (uint64_t)rows * run.width;
    gsrt_status status = GSRT_OK;

    switch (instr->kind) {
    case GSRT_INSTR_EMBED:
        status = check_tokens(job, instr);
        if (status == GSRT_OK)
            run_rows(exec, &run, embed_rows, job->row_count, instr->matrix->k_total);
        break;
    case GSRT_INSTR_RMSNORM: run_rows(exec, &run, rmsnorm_rows, rows, run.width / 4); break;
    case GSRT_INSTR_QUANTISE: run_items(exec, &run, quantise_blocks, elements / 32, 64); break;
    case GSRT_INSTR_LINEAR: status = gsrt__exec_linear(exec, job, instr); break;
    case GSRT_INSTR_TREE: status = run_tree(exec, &run, rows); break;
    case GSRT_INSTR_ROPE:
        status = check_rope(job, instr);
        if (status == GSRT_OK)
            run_rows(exec, &run, rope_rows, rows, run.width);
        break;
    case GSRT_INSTR_ATTENTION: status = gsrt__exec_attention(exec, job, instr); break;
    case GSRT_INSTR_SWIGLU: run_items(exec, &run, swiglu_elements, elements, 4096); break;
    case GSRT_INSTR_ADD: run_items(exec, &run, add_elements, elements, 16384); break;
    case GSRT_INSTR_SELECT: select_rows(&run); break;
    case GSRT_INSTR_PLACE: status = place_piece(&run, rows); break;
    case GSRT_INSTR_SAMPLE: status = sample_rows(exec, &run); break;
    }
    return status;
}

gsrt_status gsrt__exec_run(gsrt_exec *exec, const gsrt_job *job)
{
    assert(gsrt_mxcsr_is_canonical());
    assert(job->instr_first + job->instr_count <= job->program->instr_count);
    for (uint32_t i = 0; i < job->instr_count; i++) {
        gsrt_status status = run_instr(exec, job, &job->program->instrs[job->instr_first + i]);
        if (status != GSRT_OK)
            return status;
    }
    return GSRT_OK;
}
