/* One model on one rank, driven directly: the file, its workload, the lowered program and a cpu device, with nothing of
 * the actors around it. It is the path that a region takes for a step, so that decode.c measures what GSRT computes
 * with, while the parts around it (messages, scheduler) are measured by others.
 *
 * Legal order: open, then prefill / decode / rewind any number of times, free. Owner thread only; blocks until done.
 */
#ifndef GSRT_BENCH_ENGINE_H
#define GSRT_BENCH_ENGINE_H

#include "backends/device.h"

typedef struct gsrt_engine gsrt_engine;

typedef struct gsrt_engine_options {
    const char *path;      /* GGUF */
    uint32_t thread_count; /* bound to the first processing units */
    uint32_t context;      /* positions there is room for; at most the model's */
    bool is_packing;       /* pack in the background */
} gsrt_engine_options;

/* out      owned.
 * returns  GSRT_OK | GSRT_EINPUT (the file, GSRT_ISA) | GSRT_ENOMEM | GSRT_EUNSUPPORTED; *diag says what. */
GSRT_MUST_CHECK gsrt_status gsrt_engine_open(const gsrt_engine_options *options, gsrt_engine **out, gsrt_diag *diag);
gsrt_engine *gsrt_engine_free(gsrt_engine *engine);

/* Start packing every matrix in the background, and wait until all are packed. *out_ns: how long the device packed. */
GSRT_MUST_CHECK gsrt_status gsrt_engine_pack(gsrt_engine *engine, uint64_t *out_ns);

/* Forget everything, then run `count` (1..GSRT_BATCH_ROWS_MAX) tokens in one step and draw one (greedy). */
GSRT_MUST_CHECK gsrt_status gsrt_engine_prefill(gsrt_engine *engine, uint32_t count, uint64_t *out_ns);

/* `count` tokens one by one, greedy, from where it is; out_ns[count]. GSRT_ELIMIT: past the context. */
GSRT_MUST_CHECK gsrt_status gsrt_engine_decode(gsrt_engine *engine, uint32_t count, uint64_t *out_ns);

/* Forget positions `position` and above. */
void gsrt_engine_rewind(gsrt_engine *engine, uint32_t position);

/* Bytes of weights, as they lie in the file, that one decoded token reads. */
uint64_t gsrt_engine_token_bytes(const gsrt_engine *engine);
const char *gsrt_engine_isa(const gsrt_engine *engine);

#endif
