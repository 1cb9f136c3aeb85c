#include "bench/engine.h"

#include "bench/measure.h"
#include "model/import_llama.h"
#include "model/lower.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { SPIN_US = 100 };

struct gsrt_engine {
    gsrt_gguf *gguf;
    gsrt_workload *workload;
    gsrt_weights *weights;
    gsrt_plan *plan;
    gsrt_lowered *lowered;
    gsrt_workspace *workspace_one, *workspace_many;
    gsrt_kv *kv;
    gsrt_device *device;
    uint32_t *blocks; /* [context / GSRT_KV_BLOCK_POSITIONS] */
    uint32_t context, position, token;
    gsrt_isa isa;
    sem_t done;
    bool has_done;
    gsrt_status status; /* of the last job; written before `done` is posted */
};

static void note_done(void *arg, gsrt_job *job, gsrt_status status, uint64_t work_ns)
{
    (void)job;
    (void)work_ns;
    gsrt_engine *engine = arg;
    engine->status = status;
    sem_post(&engine->done);
}

gsrt_engine *gsrt_engine_free(gsrt_engine *engine)
{
    if (engine == NULL)
        return NULL;
    if (engine->device != NULL)
        gsrt_device_free(engine->device);
    for (uint32_t i = 0; engine->lowered != NULL && i < engine->lowered->matrix_count; i++)
        gsrt_matrix_unpack(engine->lowered->matrices[i]);
    gsrt_workspace_free(engine->workspace_one);
    gsrt_workspace_free(engine->workspace_many);
    gsrt_kv_free(engine->kv);
    gsrt_lowered_free(engine->lowered);
    gsrt_plan_free(engine->plan);
    gsrt_weights_free(engine->weights);
    gsrt_workload_free(engine->workload);
    gsrt_gguf_free(engine->gguf);
    if (engine->has_done)
        sem_destroy(&engine->done);
    free(engine->blocks);
    free(engine);
    return NULL;
}

/* One stage, one member: everything on rank 0. */
static gsrt_status make_plan(gsrt_engine *engine, const char *path, gsrt_diag *diag)
{
    engine->plan = gsrt_plan_create(1);
    if (engine->plan == NULL)
        return GSRT_ENOMEM;
    gsrt_plan_stage *stage = &engine->plan->stages[0];
    stage->layer_last = engine->workload->layer_count - 1;
    stage->member_count = 1;
    stage->ranks = gsrt_arena_take(&engine->plan->arena, 1, sizeof *stage->ranks);
    stage->shares = gsrt_arena_take(&engine->plan->arena, 1, sizeof *stage->shares);
    if (stage->ranks == NULL || stage->shares == NULL)
        return GSRT_ENOMEM;
    stage->ranks[0] = 0;
    stage->shares[0] = 1;
    return gsrt_plan_check(engine->plan, engine->workload, 1, path, diag);
}

static gsrt_status load(gsrt_engine *engine, const gsrt_engine_options *options, gsrt_diag *diag)
{
    gsrt_status status = gsrt_gguf_open(options->path, &engine->gguf, diag);
    if (status == GSRT_OK)
        status = gsrt_import_gguf(engine->gguf, &engine->workload, diag);
    if (status == GSRT_OK)
        status = gsrt_weights_create(engine->gguf, engine->workload, &engine->weights, diag);
    if (status == GSRT_OK && options->context > engine->workload->context_max)
        status = gsrt_diag_set(diag, GSRT_EINPUT, options->path, NULL, "its context is %u, %u is wanted; ask for less",
                               engine->workload->context_max, options->context);
    if (status == GSRT_OK)
        status = make_plan(engine, options->path, diag);
    if (status == GSRT_OK)
        status = gsrt_lower(engine->weights, engine->plan, 0, 0, options->context, &engine->lowered);
    return status;
}

static gsrt_status make_memory(gsrt_engine *engine)
{
    uint32_t block_count = (engine->context + GSRT_KV_BLOCK_POSITIONS - 1) / GSRT_KV_BLOCK_POSITIONS;
    const gsrt_lowered *lowered = engine->lowered;
    engine->workspace_one = gsrt_workspace_create(&lowered->program, 1);
    engine->workspace_many = gsrt_workspace_create(&lowered->program, GSRT_BATCH_ROWS_MAX);
    engine->kv = gsrt_kv_create(lowered->kv_layer_count, lowered->kv_head_count, lowered->head_dim, block_count);
    engine->blocks = malloc(block_count * sizeof *engine->blocks);
    if (engine->workspace_one == NULL || engine->workspace_many == NULL || engine->kv == NULL || engine->blocks == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < block_count; i++)
        engine->blocks[i] = i;
    return GSRT_OK;
}

gsrt_status gsrt_engine_open(const gsrt_engine_options *options, gsrt_engine **out, gsrt_diag *diag)
{
    gsrt_engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL)
        return gsrt_diag_set(diag, GSRT_ENOMEM, options->path, NULL, "no memory; free some");
    engine->context = options->context;
    engine->has_done = sem_init(&engine->done, 0, 0) == 0;
    gsrt_status status = engine->has_done ? load(engine, options, diag) : GSRT_ENOMEM;
    if (status == GSRT_OK)
        status = make_memory(engine);
    if (status == GSRT_OK)
        status = gsrt_isa_detect(&engine->isa, diag);
    if (status == GSRT_OK)
        status = gsrt_device_create_cpu(&(gsrt_device_options){.isa = engine->isa,
                                                               .thread_count = options->thread_count,
                                                               .is_bound = true,
                                                               .is_packing = options->is_packing,
                                                               .spin_us = SPIN_US,
                                                               .done = note_done,
                                                               .done_arg = engine},
                                        &engine->device, diag);
    if (status != GSRT_OK) {
        gsrt_engine_free(engine);
        return gsrt_diag_set(diag, status, options->path, NULL, "cannot be run: %s", gsrt_status_text(status));
    }
    *out = engine;
    return GSRT_OK;
}

gsrt_status gsrt_engine_pack(gsrt_engine *engine, uint64_t *out_ns)
{
    gsrt_lowered *lowered = engine->lowered;
    for (uint32_t i = 0; i < lowered->matrix_count; i++) {
        gsrt_status status = gsrt_device_pack(engine->device, lowered->matrices[i]);
        if (status != GSRT_OK)
            return status;
    }
    /* The device says nothing when it has finished; it has when its packing time stands still. A matrix without a
     * packed form stays as it is. */
    gsrt_device_facts before, now = {0};
    int still_count = 0;
    while (still_count < 10) {
        before = now;
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        gsrt_device_read_facts(engine->device, &now);
        still_count = now.pack_ns == before.pack_ns ? still_count + 1 : 0;
    }
    *out_ns = now.pack_ns;
    return GSRT_OK;
}

static gsrt_job make_job(gsrt_engine *engine, const uint32_t *tokens, const gsrt_job_sequence *sequence)
{
    return (gsrt_job){.program = &engine->lowered->program,
                      .instr_count = engine->lowered->program.instr_count,
                      .workspace = sequence->row_count == 1 ? engine->workspace_one : engine->workspace_many,
                      .kv = engine->kv,
                      .row_count = sequence->row_count,
                      .tokens = tokens,
                      .sequences = sequence,
                      .sequence_count = 1};
}

/* Run tokens[count] at the current position and draw the next one. */
static gsrt_status run(gsrt_engine *engine, const uint32_t *tokens, uint32_t count, uint64_t *out_ns)
{
    if (count > engine->context - engine->position)
        return GSRT_ELIMIT;
    uint64_t begin_ns = gsrt_measure_now_ns();
    gsrt_job_sequence sequence = {.row_count = count, .position_first = engine->position, .blocks = engine->blocks};
    gsrt_job job = make_job(engine, tokens, &sequence);
    uint32_t wanted = count - 1;
    gsrt_sampling sampling = {.is_sampled = true, .top_p = 1};
    gsrt_sample_result result;
    job.wanted = &wanted;
    job.wanted_count = 1;
    job.sampling = &sampling;
    job.results = &result;
    gsrt_status status = gsrt_device_submit(engine->device, &job);
    if (status != GSRT_OK)
        return status;
    while (sem_wait(&engine->done) != 0 && errno == EINTR)
        ;
    *out_ns = gsrt_measure_now_ns() - begin_ns;
    if (engine->status == GSRT_OK) {
        engine->position += count;
        engine->token = result.token;
    }
    return engine->status;
}

gsrt_status gsrt_engine_prefill(gsrt_engine *engine, uint32_t count, uint64_t *out_ns)
{
    uint32_t tokens[GSRT_BATCH_ROWS_MAX];
    if (count == 0 || count > GSRT_BATCH_ROWS_MAX)
        return GSRT_EINVAL;
    for (uint32_t i = 0; i < count; i++)
        tokens[i] = 259 + i * 37 % (engine->workload->vocab_count - 259);
    engine->position = 0;
    return run(engine, tokens, count, out_ns);
}

gsrt_status gsrt_engine_decode(gsrt_engine *engine, uint32_t count, uint64_t *out_ns)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; status == GSRT_OK && i < count; i++) {
        uint32_t token = engine->token;
        status = run(engine, &token, 1, &out_ns[i]);
    }
    return status;
}

void gsrt_engine_rewind(gsrt_engine *engine, uint32_t position)
{
    if (position < engine->position)
        engine->position = position;
}

uint64_t gsrt_engine_token_bytes(const gsrt_engine *engine)
{
    const gsrt_workload *workload = engine->workload;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < workload->op_count; i++) {
        const gsrt_op *op = &workload->ops[i];
        if (op->kind == GSRT_OP_LINEAR || op->kind == GSRT_OP_LOGITS)
            bytes += workload->tensors[op->tensor].size_bytes;
    }
    return bytes;
}

const char *gsrt_engine_isa(const gsrt_engine *engine)
{
    return gsrt_isa_name(engine->isa);
}
