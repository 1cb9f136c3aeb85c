/* A small workload of Llama's shape, a fleet of two kinds of engines, and deployments on it. For tests of the contract.
 */
#ifndef GSRT_TESTS_PLACEMENT_JUDGED_H
#define GSRT_TESTS_PLACEMENT_JUDGED_H

#include <inttypes.h>
#include <stdio.h>

#include "placement/contract.h"
#include "placement/workload_text.h"
#include "tests/placement/fleets.h"

enum { JUDGED_LAYERS = 3, JUDGED_DIM = 64, JUDGED_MID = 48, JUDGED_VOCAB = 96 };
enum { EMBED_REGION = 0, OUTPUT_REGION = JUDGED_LAYERS + 1 };
#define NONE GSRT_NO_INDEX

static inline uint32_t judged_tensor(gsrt_workload *w, const char *of, uint32_t layer, gsrt_dtype dtype, uint32_t rows,
                                     uint32_t columns)
{
    char name[64];
    uint32_t index;
    (void)snprintf(name, sizeof name, "blk.%" PRIu32 ".%s", layer, of);
    gsrt_tensor t = {.name = name,
                     .dtype = dtype,
                     .stack_count = 1,
                     .row_count = rows,
                     .column_count = columns,
                     .size_bytes = (uint64_t)rows * columns / gsrt_dtype_block(dtype) * gsrt_dtype_block_bytes(dtype)};
    ck_assert_int_eq(gsrt_workload_add_tensor(w, &t, &index), GSRT_OK);
    return index;
}

static inline uint32_t judged_value(gsrt_workload *w, const char *of, uint32_t width, gsrt_split_kind split,
                                    uint32_t unit, bool is_kv)
{
    char name[64];
    uint32_t index;
    (void)snprintf(name, sizeof name, "%" PRIu32 ".%s", w->value_count, of);
    gsrt_value v = {.name = name,
                    .width = width,
                    .rows = split == GSRT_SPLIT_VOCAB ? GSRT_ROWS_WANTED : GSRT_ROWS_TOKENS,
                    .split = split,
                    .unit = unit,
                    .is_kv = is_kv};
    ck_assert_int_eq(gsrt_workload_add_value(w, &v, &index), GSRT_OK);
    return index;
}

static inline void judged_op(gsrt_workload *w, gsrt_op_kind kind, uint32_t layer, const uint32_t in[3], uint32_t out,
                             uint32_t tensor)
{
    uint32_t index;
    bool is_attention = kind == GSRT_OP_ATTENTION;
    gsrt_op o = {.kind = kind,
                 .region = w->region_count,
                 .layer = layer,
                 .state = is_attention ? layer : NONE,
                 .in = {in[0], in[1], in[2]},
                 .out = out,
                 .tensor = tensor,
                 .bias = NONE,
                 .epsilon = kind == GSRT_OP_RMSNORM ? 1e-5f : 0,
                 .scale = is_attention ? 0.125f : 0,
                 .head_dim = is_attention ? 32 : 0,
                 .k_group = 1};
    ck_assert_int_eq(gsrt_workload_add_op(w, &o, &index), GSRT_OK);
}

static inline void judged_region(gsrt_workload *w, const char *name, uint32_t layer, uint32_t first, uint32_t in,
                                 uint32_t out)
{
    uint32_t index;
    gsrt_region r = {
        .name = name, .layer = layer, .op_first = first, .op_count = w->op_count - first, .in = in, .out = out};
    gsrt_workload_describe(w, &r);
    ck_assert_int_eq(gsrt_workload_add_region(w, &r, &index), GSRT_OK);
}

/* Norm, q, k, v, attention, product, sum; then a product up to 48 and back: 48 columns are no whole blocks of 32. */
static inline uint32_t judged_layer(gsrt_workload *w, uint32_t layer, uint32_t x, gsrt_dtype dtype)
{
    char name[32];
    uint32_t first = w->op_count, kv;
    uint32_t norm = judged_value(w, "norm", JUDGED_DIM, GSRT_SPLIT_NONE, 0, false);
    uint32_t q = judged_value(w, "q", JUDGED_DIM, GSRT_SPLIT_HEADS, 32, false);
    uint32_t k = judged_value(w, "k", JUDGED_DIM, GSRT_SPLIT_HEADS, 32, true);
    uint32_t v = judged_value(w, "v", JUDGED_DIM, GSRT_SPLIT_HEADS, 32, true);
    uint32_t attn = judged_value(w, "attn", JUDGED_DIM, GSRT_SPLIT_HEADS, 32, false);
    uint32_t mid = judged_value(w, "mid", JUDGED_MID, GSRT_SPLIT_OUTPUT, 16, false);
    uint32_t back = judged_value(w, "back", JUDGED_DIM, GSRT_SPLIT_OUTPUT, 16, false);
    uint32_t sum = judged_value(w, "sum", JUDGED_DIM, GSRT_SPLIT_NONE, 0, false);
    (void)snprintf(name, sizeof name, "blk.%" PRIu32 ".kv", layer);
    gsrt_state state = {
        .name = name, .layer = layer, .dtype = GSRT_DTYPE_F32, .key_width = JUDGED_DIM, .value_width = JUDGED_DIM};
    ck_assert_int_eq(gsrt_workload_add_state(w, &state, &kv), GSRT_OK);
    judged_op(w, GSRT_OP_RMSNORM, layer, (uint32_t[]){x, NONE, NONE}, norm,
              judged_tensor(w, "norm", layer, GSRT_DTYPE_F32, 1, JUDGED_DIM));
    const uint32_t outs[] = {q, k, v};
    for (int i = 0; i < 3; i++)
        judged_op(w, GSRT_OP_LINEAR, layer, (uint32_t[]){norm, NONE, NONE}, outs[i],
                  judged_tensor(w,
                                i == 0   ? "q"
                                : i == 1 ? "k"
                                         : "v",
                                layer, dtype, JUDGED_DIM, JUDGED_DIM));
    judged_op(w, GSRT_OP_ATTENTION, layer, (uint32_t[]){q, k, v}, attn, NONE);
    judged_op(w, GSRT_OP_LINEAR, layer, (uint32_t[]){attn, NONE, NONE}, mid,
              judged_tensor(w, "up", layer, dtype, JUDGED_MID, JUDGED_DIM));
    judged_op(w, GSRT_OP_LINEAR, layer, (uint32_t[]){mid, NONE, NONE}, back,
              judged_tensor(w, "down", layer, GSRT_DTYPE_F16, JUDGED_DIM, JUDGED_MID));
    judged_op(w, GSRT_OP_ADD, layer, (uint32_t[]){x, back, NONE}, sum, NONE);
    (void)snprintf(name, sizeof name, "layer.%" PRIu32, layer);
    judged_region(w, name, layer, first, x, sum);
    return sum;
}

/* Regions: embed, layer.0 .. layer.2, output. dtype: of the matrices (whole blocks). Owned. */
static inline gsrt_workload *judged_workload(gsrt_dtype dtype)
{
    gsrt_workload *w = gsrt_workload_create();
    gsrt_diag diag = {0};
    ck_assert_ptr_nonnull(w);
    w->name = "judged";
    w->architecture = "made";
    w->layer_count = JUDGED_LAYERS;
    w->dim = w->ffn_dim = JUDGED_DIM;
    w->head_count = w->kv_head_count = 2;
    w->head_dim = w->value_head_dim = 32;
    w->vocab_count = JUDGED_VOCAB;
    w->context_max = 256;
    uint32_t table = judged_tensor(w, "embd", 0, dtype, JUDGED_VOCAB, JUDGED_DIM);
    uint32_t x = judged_value(w, "x", JUDGED_DIM, GSRT_SPLIT_NONE, 0, false);
    judged_op(w, GSRT_OP_EMBED, NONE, (uint32_t[]){NONE, NONE, NONE}, x, table);
    judged_region(w, "embed", NONE, 0, NONE, x);
    for (uint32_t layer = 0; layer < JUDGED_LAYERS; layer++)
        x = judged_layer(w, layer, x, dtype);
    uint32_t first = w->op_count;
    uint32_t final = judged_value(w, "final", JUDGED_DIM, GSRT_SPLIT_NONE, 0, false);
    uint32_t logits = judged_value(w, "logits", JUDGED_VOCAB, GSRT_SPLIT_VOCAB, 1, false);
    judged_op(w, GSRT_OP_RMSNORM, NONE, (uint32_t[]){x, NONE, NONE}, final,
              judged_tensor(w, "final", 0, GSRT_DTYPE_F32, 1, JUDGED_DIM));
    judged_op(w, GSRT_OP_LOGITS, NONE, (uint32_t[]){final, NONE, NONE}, logits, table);
    judged_region(w, "output", NONE, first, x, logits);
    ck_assert_msg(gsrt_workload_check(w, "judged", &diag) == GSRT_OK, "%s", diag.text);
    return w;
}

/* Parts by name: "cpu" has canonical kernels, "gpu" has its own. */
static inline gsrt_fleet *judged_fleet(void)
{
    gsrt_fleet *fleet = NULL;
    gsrt_findings findings;
    char room[1024];
    gsrt_status status =
        read_fleet("gsrt_fleet: 1\n"
                   "name: two-kinds\n"
                   "places:\n"
                   "  - {name: node, kind: node}\n"
                   "parts:\n"
                   "  - {name: cpu, kind: engine, in: node, count: 4, software: {gsrt-canonical: \"1\"}}\n"
                   "  - {name: gpu, kind: engine, in: node, count: 4, software: {driver: \"1.2\", "
                   "attention: \"3\"}}\n",
                   NULL, &fleet, &findings);
    ck_assert_msg(status == GSRT_OK, "%s", found(&findings, room, sizeof room));
    gsrt_findings_fini(&findings);
    return fleet;
}

/* One pool of one stage on so many engines of the part. Owned. */
static inline gsrt_deployment *judged_deployment(const gsrt_workload *w, const gsrt_fleet *fleet, const char *part,
                                                 uint32_t engine_count, gsrt_collective_algorithm algorithm)
{
    gsrt_deployment *d = gsrt_deployment_create(w, 1);
    ck_assert_ptr_nonnull(d);
    d->context_max = 128;
    gsrt_deployment_pool *pool = &d->pools[0];
    pool->phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    pool->replica_count = pool->batch_max = 1;
    pool->prefill_tokens = 128;
    ck_assert_int_eq(gsrt_deployment_add_stages(d, 0, 1), GSRT_OK);
    gsrt_deployment_stage *stage = &pool->stages[0];
    stage->layer_last = w->layer_count - 1;
    stage->data_width = stage->expert_width = stage->context_width = 1;
    stage->algorithm = algorithm;
    ck_assert_int_eq(gsrt_deployment_add_members(d, 0, 0, 1), GSRT_OK);
    stage->members[0] = (gsrt_deployment_members){
        .part = gsrt_fleet_part_named(fleet, part), .instance_count = engine_count, .block_replicas = 1, .share = 1};
    for (uint32_t r = 0; r < d->region_count; r++)
        d->choices[r].compute = gsrt_region_compute(w, r, &d->choices[r]);
    return d;
}

/* Regions [first, last] with other weights. */
static inline void judged_narrow(gsrt_deployment *d, const gsrt_workload *w, uint32_t first, uint32_t last,
                                 gsrt_dtype weights)
{
    for (uint32_t r = first; r <= last; r++) {
        d->choices[r].weights_are_as_given = false;
        d->choices[r].weights = weights;
        d->choices[r].compute = gsrt_region_compute(w, r, &d->choices[r]);
    }
}

static inline gsrt_status judged_read(const char *text, gsrt_contract **out, gsrt_diag *diag)
{
    gsrt_yaml *yaml = NULL;
    gsrt_arena arena;
    gsrt_arena_init(&arena, 1 << 20);
    *diag = (gsrt_diag){0};
    gsrt_status status = gsrt_yaml_parse(gsrt_span_of_text(text), "c.yaml", &yaml, diag);
    gsrt_yaml_reader reader = {.arena = &arena,
                               .subject_name = "the contract",
                               .file = "c.yaml",
                               .directory = "/texts",
                               .working = "/texts",
                               .diag = diag};
    if (status == GSRT_OK)
        status = gsrt_contract_read(&reader, yaml->root, out);
    (void)gsrt_yaml_free(yaml);
    gsrt_arena_fini(&arena);
    return status;
}

static inline gsrt_contract *judged_contract(const char *text)
{
    gsrt_contract *contract = NULL;
    gsrt_diag diag;
    ck_assert_msg(judged_read(text, &contract, &diag) == GSRT_OK, "%s", diag.text);
    return contract;
}

static inline const char *judged_hash(const gsrt_workload *w, char room[40])
{
    gsrt_workload_hash hash;
    ck_assert_int_eq(gsrt_workload_hash_of(w, &hash), GSRT_OK);
    (void)snprintf(room, 40, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
    return room;
}

#endif
