/* The memory of a program's slots, and what a job costs. */
#include "backends/numerics.h"
#include "backends/pages.h"
#include "backends/program.h"

#include <stdlib.h>
#include <string.h>

struct gsrt_workspace {
    uint32_t slot_count;
    uint32_t rows_max;
    size_t bytes;
    uint8_t *memory;  /* owned; gsrt__pages_create */
    size_t offsets[]; /* [slot_count] of each slot in memory */
};

size_t gsrt_slot_row_bytes(const gsrt_slot *slot)
{
    if (slot->format == GSRT_SLOT_Q8)
        return slot->width / 32 * sizeof(gsrt_q8_block);
    return (size_t)slot->width * sizeof(float);
}

gsrt_workspace *gsrt_workspace_create(const gsrt_program *program, uint32_t rows_max)
{
    gsrt_workspace *workspace = calloc(1, sizeof *workspace + program->slot_count * sizeof(size_t));
    if (workspace == NULL)
        return NULL;
    workspace->slot_count = program->slot_count;
    workspace->rows_max = rows_max;
    size_t bytes = 0;
    for (uint32_t i = 0; i < program->slot_count; i++) {
        size_t slot_bytes;
        workspace->offsets[i] = bytes;
        if (!gsrt_size_mul(gsrt_slot_row_bytes(&program->slots[i]), rows_max, &slot_bytes) ||
            !gsrt_size_add(slot_bytes, 63, &slot_bytes) || !gsrt_size_add(bytes, slot_bytes & ~(size_t)63, &bytes))
            return gsrt_workspace_free(workspace);
    }
    workspace->bytes = bytes;
    workspace->memory = gsrt__pages_create(bytes);
    if (workspace->memory == NULL)
        return gsrt_workspace_free(workspace);
    memset(workspace->memory, 0, bytes);
    return workspace;
}

gsrt_workspace *gsrt_workspace_free(gsrt_workspace *workspace)
{
    if (workspace == NULL)
        return NULL;
    gsrt__pages_free(workspace->memory, workspace->bytes);
    free(workspace);
    return NULL;
}

void *gsrt_workspace_slot(gsrt_workspace *workspace, uint32_t slot)
{
    return slot < workspace->slot_count ? workspace->memory + workspace->offsets[slot] : NULL;
}

size_t gsrt_workspace_bytes(const gsrt_workspace *workspace)
{
    return workspace->bytes;
}

/* ---- cost ---- */

static uint32_t rows_of(const gsrt_job *job, uint16_t slot)
{
    if (slot >= job->program->slot_count)
        return job->row_count;
    return job->program->slots[slot].is_wanted ? job->wanted_count : job->row_count;
}

static uint64_t slot_bytes(const gsrt_job *job, uint16_t slot)
{
    if (slot >= job->program->slot_count)
        return 0;
    return rows_of(job, slot) * (uint64_t)gsrt_slot_row_bytes(&job->program->slots[slot]);
}

static void add_linear(const gsrt_job *job, const gsrt_instr *instr, gsrt_job_cost *cost)
{
    const gsrt_matrix *matrix = instr->matrix;
    uint64_t rows = rows_of(job, instr->out);
    uint64_t macs = rows * matrix->row_count * matrix->k_count;
    if (rows > 0)
        cost->weight_bytes += (uint64_t)matrix->row_count * (matrix->k_count / gsrt_dtype_block(matrix->dtype)) *
                              gsrt_dtype_block_bytes(matrix->dtype);
    int kind = gsrt_dtype_is_quantised(matrix->dtype) ? 2 : matrix->dtype == GSRT_DTYPE_F32 ? 0 : 1;
    cost->flops[kind] += 2 * macs;
}

static void add_attention(const gsrt_job *job, const gsrt_instr *instr, gsrt_job_cost *cost)
{
    for (uint32_t i = 0; i < job->sequence_count; i++) {
        const gsrt_job_sequence *sequence = &job->sequences[i];
        uint64_t first = sequence->position_first, count = sequence->row_count, pair_count;
        pair_count = count * first + count * (count + 1) / 2; /* (row, position) pairs */
        cost->attention_flops += 4 * pair_count * instr->head_count * instr->head_dim;
        cost->kv_bytes += 2 * sizeof(float) * (first + 2 * count) * instr->kv_head_count * instr->head_dim;
    }
}

gsrt_job_cost gsrt_job_cost_of(const gsrt_job *job)
{
    gsrt_job_cost cost = {0};
    for (uint32_t i = job->instr_first; i < job->instr_first + job->instr_count; i++) {
        const gsrt_instr *instr = &job->program->instrs[i];
        if (instr->kind == GSRT_INSTR_LINEAR)
            add_linear(job, instr, &cost);
        if (instr->kind == GSRT_INSTR_ATTENTION)
            add_attention(job, instr, &cost);
        if (instr->kind == GSRT_INSTR_EMBED)
            cost.weight_bytes += (uint64_t)job->row_count *
                                 (instr->matrix->k_total / gsrt_dtype_block(instr->matrix->dtype)) *
                                 gsrt_dtype_block_bytes(instr->matrix->dtype);
        for (int in = 0; in < 3; in++)
            cost.activation_bytes += slot_bytes(job, instr->in[in]);
        cost.activation_bytes += slot_bytes(job, instr->out);
    }
    return cost;
}
