/* A tiny Llama model, opened: file, workload, weights; and plans of one stage over it. For tests. */
#ifndef GSRT_TESTS_MODEL_OPENED_LLAMA_H
#define GSRT_TESTS_MODEL_OPENED_LLAMA_H

#include <check.h>

#include "model/import_llama.h"
#include "model/weights.h"
#include "placement/plan.h"
#include "tests/model/tiny_llama.h"

/* Every product has four chunks of K, of two heads each in the attention's output. */
static const tiny_llama tiny_of_four_chunks = {.layers = 2,
                                               .dim = 64,
                                               .ffn = 1024,
                                               .heads = 8,
                                               .kv_heads = 4,
                                               .head_dim = 128,
                                               .vocab = 67,
                                               .context = 32,
                                               .has_output = true,
                                               .has_biases = true};

typedef struct opened_llama {
    gsrt_buffer file;
    gsrt_gguf *gguf;
    gsrt_workload *workload;
    gsrt_weights *weights;
} opened_llama;

static inline opened_llama open_llama(const tiny_llama *m)
{
    opened_llama o = {0};
    gsrt_diag diag = {0};
    gguf_writer w;
    tiny_write(&w, m);
    gguf_end(&w, &o.file);
    ck_assert_msg(gsrt_gguf_open_span(gsrt_buffer_span(&o.file), "m.gguf", &o.gguf, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_import_gguf(o.gguf, &o.workload, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_weights_create(o.gguf, o.workload, &o.weights, &diag) == GSRT_OK, "%s", diag.text);
    return o;
}

static inline void close_llama(opened_llama *o)
{
    gsrt_weights_free(o->weights);
    gsrt_workload_free(o->workload);
    gsrt_gguf_free(o->gguf);
    gsrt_buffer_fini(&o->file);
}

/* All layers on members with these shares (borrowed). */
static inline gsrt_plan *plan_of_one_stage(const opened_llama *o, uint32_t *shares, uint32_t member_count,
                                           gsrt_exchange exchange)
{
    static uint32_t ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
    gsrt_plan *plan = gsrt_plan_create(1);
    gsrt_diag diag = {0};
    ck_assert_ptr_nonnull(plan);
    plan->exchange = exchange;
    plan->stages[0] = (gsrt_plan_stage){
        .layer_last = o->workload->layer_count - 1, .member_count = member_count, .ranks = ranks, .shares = shares};
    ck_assert_msg(gsrt_plan_check(plan, o->workload, member_count, "p", &diag) == GSRT_OK, "%s", diag.text);
    return plan;
}

#endif
