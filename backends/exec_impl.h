/* Inside exec: what its files share. */
#ifndef GSRT_BACKENDS_EXEC_IMPL_H
#define GSRT_BACKENDS_EXEC_IMPL_H

#include "backends/exec.h"
#include "backends/kv_impl.h"

/* Memory that only grows, 64-byte aligned. */
typedef struct gsrt_scratch {
    uint8_t *data; /* owned */
    size_t bytes;
} gsrt_scratch;

struct gsrt_exec {
    const gsrt_kernels *kernels;
    gsrt_pool *pool;       /* borrowed */
    uint32_t thread_count; /* of the pool */
    gsrt_scratch shared;   /* prepared activations; sampling */
    gsrt_scratch threads;  /* thread_count equal parts */
    size_t thread_bytes;   /* of one part */
};

/* The bytes, or NULL: no memory. The old content is lost. */
uint8_t *gsrt__exec_shared(gsrt_exec *exec, size_t bytes);
/* Room of `bytes` for every thread; part t at gsrt__exec_thread(exec, t). */
GSRT_MUST_CHECK gsrt_status gsrt__exec_threads(gsrt_exec *exec, size_t bytes);
static inline uint8_t *gsrt__exec_thread(const gsrt_exec *exec, uint32_t thread)
{
    return exec->threads.data + thread * exec->thread_bytes;
}

/* Rows of a slot in this job. */
static inline uint32_t gsrt__job_rows(const gsrt_job *job, uint16_t slot)
{
    return job->program->slots[slot].is_wanted ? job->wanted_count : job->row_count;
}

/* Grain that makes one thread do everything where `work` (about ns of one thread) is too little to share. */
static inline uint32_t gsrt__exec_grain(const gsrt_exec *exec, uint32_t item_count, uint64_t work, uint32_t grain)
{
    enum { WORTH_SHARING_NS = 20000 };
    return exec->thread_count == 1 || work < WORTH_SHARING_NS ? (item_count == 0 ? 1 : item_count) : grain;
}

GSRT_MUST_CHECK gsrt_status gsrt__exec_linear(gsrt_exec *exec, const gsrt_job *job, const gsrt_instr *instr);
GSRT_MUST_CHECK gsrt_status gsrt__exec_attention(gsrt_exec *exec, const gsrt_job *job, const gsrt_instr *instr);

#endif
