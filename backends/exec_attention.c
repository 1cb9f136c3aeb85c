/* ATTENTION: store the new keys and values, then one item per (tile of rows, KV head), so that a block of keys and
 * values is read once for all the queries that share it. Each query keeps its own stack of partial results: the binary
 * counter that makes the canonical tree. */
#include "backends/exec_impl.h"

#include <assert.h>

enum { QUERIES_MAX = 8 }; /* queries that walk over the blocks together */

typedef struct attention_run {
    gsrt_exec *exec;
    const gsrt_job *job;
    const gsrt_instr *instr;
    const float *q;
    float *out;
    size_t width;       /* of q and out */
    uint32_t tile_rows; /* rows per item */
} attention_run;

/* A query and its stack: entry e at floats[e * (2 + head_pad)]: m, l, o[head_pad]. */
typedef struct query_state {
    const float *q;
    float *out;
    uint32_t position_count;
    uint32_t depth;
    float *stack;
} query_state;

/* Bytes for one query: a stack of tree depth + the entry being made. */
static size_t stack_floats(const gsrt_kv *kv)
{
    return (GSRT_TREE_DEPTH_MAX + 2) * ((size_t)kv->head_pad + 16);
}

static float *entry_at(const gsrt_kv *kv, const query_state *query, uint32_t index)
{
    return query->stack + index * ((size_t)kv->head_pad + 16);
}

/* Merge the two topmost entries; o starts 16 floats after m and l to stay aligned. */
static void merge_top(const gsrt_kernels *kernels, const gsrt_kv *kv, query_state *query)
{
    float *left = entry_at(kv, query, query->depth - 2), *right = entry_at(kv, query, query->depth - 1);
    kernels->combine(kv->head_pad, &left[0], &left[1], left + 16, right[0], right[1], right + 16);
    query->depth--;
}

static void finish_query(const gsrt_kernels *kernels, const gsrt_kv *kv, query_state *query)
{
    while (query->depth > 1)
        merge_top(kernels, kv, query);
    const float *whole = entry_at(kv, query, 0);
    for (uint32_t d = 0; d < kv->head_dim; d++)
        query->out[d] = whole[16 + d] / whole[1];
}

static void attend_queries(const attention_run *run, uint32_t kv_head, const uint32_t *blocks, query_state *queries,
                           uint32_t query_count)
{
    const gsrt_kernels *kernels = run->exec->kernels;
    const gsrt_kv *kv = run->job->kv;
    uint32_t position_end = 0;
    for (uint32_t i = 0; i < query_count; i++)
        if (queries[i].position_count > position_end)
            position_end = queries[i].position_count;
    for (uint32_t b = 0; b * GSRT_ATTENTION_BLOCK < position_end; b++) {
        gsrt_attention_block block = {
            .k = gsrt__kv_k(kv, run->instr->kv_layer, kv_head, blocks[b]),
            .v = gsrt__kv_v(kv, run->instr->kv_layer, kv_head, blocks[b]),
            .head_dim = kv->head_dim,
            .head_pad = kv->head_pad,
            .scale = run->instr->scale,
        };
        for (uint32_t i = 0; i < query_count; i++) {
            query_state *query = &queries[i];
            if (query->position_count <= b * GSRT_ATTENTION_BLOCK)
                continue;
            block.count = query->position_count - b * GSRT_ATTENTION_BLOCK;
            if (block.count > GSRT_ATTENTION_BLOCK)
                block.count = GSRT_ATTENTION_BLOCK;
            float *entry = entry_at(kv, query, query->depth++);
            kernels->attend(&block, query->q, &entry[0], &entry[1], entry + 16);
            for (uint32_t bits = b; (bits & 1) != 0; bits >>= 1)
                merge_top(kernels, kv, query);
        }
    }
    for (uint32_t i = 0; i < query_count; i++)
        finish_query(kernels, kv, &queries[i]);
}

/* Rows [row, row_end) of one sequence with one KV head. */
static void attend_tile(const attention_run *run, const gsrt_job_sequence *sequence, uint32_t row, uint32_t row_end,
                        uint32_t kv_head, uint8_t *scratch)
{
    const gsrt_instr *instr = run->instr;
    query_state queries[QUERIES_MAX];
    uint32_t query_count = 0;
    for (; row < row_end; row++)
        for (uint32_t head = 0; head < instr->head_count; head++) {
            if (instr->kv_of_head[head] != kv_head)
                continue;
            size_t at = (size_t)(sequence->row_first + row) * run->width + (size_t)head * instr->head_dim;
            queries[query_count] = (query_state){
                .q = run->q + at,
                .out = run->out + at,
                .position_count = sequence->position_first + row + 1,
                .stack = (float *)(void *)scratch + query_count * stack_floats(run->job->kv),
            };
            if (++query_count == QUERIES_MAX) {
                attend_queries(run, kv_head, sequence->blocks, queries, query_count);
                query_count = 0;
            }
        }
    if (query_count > 0)
        attend_queries(run, kv_head, sequence->blocks, queries, query_count);
}

static uint32_t tile_count_of(const attention_run *run, const gsrt_job_sequence *sequence)
{
    return (sequence->row_count + run->tile_rows - 1) / run->tile_rows;
}

/* Items are numbered tile by tile over the sequences, KV heads innermost. */
static void attend_items(void *arg, uint32_t thread, uint32_t first, uint32_t end)
{
    const attention_run *run = arg;
    uint32_t kv_heads = run->instr->kv_head_count, item = 0;
    for (uint32_t s = 0; s < run->job->sequence_count && item < end; s++) {
        const gsrt_job_sequence *sequence = &run->job->sequences[s];
        uint32_t item_count = tile_count_of(run, sequence) * kv_heads;
        uint32_t from = first > item ? first - item : 0;
        uint32_t to = end - item < item_count ? end - item : item_count;
        for (uint32_t i = from; i < to; i++) {
            uint32_t row = i / kv_heads * run->tile_rows;
            uint32_t row_end = row + run->tile_rows < sequence->row_count ? row + run->tile_rows : sequence->row_count;
            attend_tile(run, sequence, row, row_end, i % kv_heads, gsrt__exec_thread(run->exec, thread));
        }
        item += item_count;
    }
}

/* Write the job's keys and values into their pages. */
static gsrt_status store(const gsrt_job *job, const gsrt_instr *instr)
{
    const float *k = gsrt_workspace_slot(job->workspace, instr->in[1]);
    const float *v = gsrt_workspace_slot(job->workspace, instr->in[2]);
    size_t width = (size_t)instr->kv_head_count * instr->head_dim;
    for (uint32_t s = 0; s < job->sequence_count; s++) {
        const gsrt_job_sequence *sequence = &job->sequences[s];
        uint32_t position_end = sequence->position_first + sequence->row_count;
        for (uint32_t b = 0; b * GSRT_ATTENTION_BLOCK < position_end; b++)
            if (sequence->blocks[b] >= job->kv->block_count)
                return GSRT_EINVAL;
        for (uint32_t row = 0; row < sequence->row_count; row++) {
            uint32_t position = sequence->position_first + row;
            size_t at = (size_t)(sequence->row_first + row) * width;
            for (uint32_t head = 0; head < instr->kv_head_count; head++, at += instr->head_dim)
                gsrt__kv_store(job->kv, instr->kv_layer, head, sequence->blocks[position / GSRT_ATTENTION_BLOCK],
                               position % GSRT_ATTENTION_BLOCK, k + at, v + at);
        }
    }
    return GSRT_OK;
}

gsrt_status gsrt__exec_attention(gsrt_exec *exec, const gsrt_job *job, const gsrt_instr *instr)
{
    if (instr->head_count == 0 && instr->kv_head_count == 0)
        return GSRT_OK;
    assert(job->kv != NULL && instr->head_dim == job->kv->head_dim && instr->kv_head_count == job->kv->kv_head_count);
    assert(instr->head_dim <= GSRT_HEAD_DIM_MAX);
    gsrt_status status = store(job, instr);
    if (status != GSRT_OK)
        return status;
    status = gsrt__exec_threads(exec, QUERIES_MAX * stack_floats(job->kv) * sizeof(float));
    if (status != GSRT_OK)
        return status;

    attention_run run = {
        .exec = exec,
        .job = job,
        .instr = instr,
        .q = gsrt_workspace_slot(job->workspace, instr->in[0]),
        .out = gsrt_workspace_slot(job->workspace, instr->out),
        .width = (size_t)instr->head_count * instr->head_dim,
    };
    uint32_t sharing = instr->kv_head_count == 0 ? 1 : instr->head_count / instr->kv_head_count;
    run.tile_rows = sharing >= QUERIES_MAX || sharing == 0 ? 1 : QUERIES_MAX / sharing;
    uint32_t item_count = 0;
    uint64_t work_ns = 0;
    for (uint32_t s = 0; s < job->sequence_count; s++) {
        const gsrt_job_sequence *sequence = &job->sequences[s];
        item_count += tile_count_of(&run, sequence) * instr->kv_head_count;
        work_ns += (uint64_t)sequence->row_count * (sequence->position_first + sequence->row_count / 2) *
                   instr->head_count * instr->head_dim / (exec->kernels->isa == GSRT_ISA_SCALAR ? 1 : 8);
    }
    gsrt__pool_run(exec->pool, attend_items, &run, item_count, gsrt__exec_grain(exec, item_count, work_ns, 1));
    return GSRT_OK;
}
