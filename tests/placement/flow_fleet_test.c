/* A workload on a fleet as a flow instance: throughputs are the cost model's, links are routes', memory limits layers.
 */
#include "placement/flow_fleet.h"

#include "placement/cost_impl.h"
#include "placement/flow_bound.h"
#include "placement/flow_search.h"
#include "placement/workload_text.h"
#include "tests/placement/fleets.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS = 6, TEXT_BYTES = 1 << 16 };

/* LAYERS layers of attention and one product, 8 wide, bf16, as text. */
static gsrt_workload *layers_of_attention(void)
{
    static char text[TEXT_BYTES];
    gsrt_buffer out;
    gsrt_buffer_init(&out, TEXT_BYTES);
    gsrt_status status = gsrt_buffer_print(
        &out,
        "gsrt-workload 1\nworkload name=\"six\" architecture=\"six\" layers=%d dim=8 ffn=8 heads=2 kv_heads=1 "
        "head_dim=4 "
        "value_head_dim=4 vocab=16 context=64\ntensor name=\"embed\" dtype=bf16 stack=1 rows=16 columns=8 bytes=256\n",
        LAYERS);
    static const struct {
        const char *name;
        int rows;
    } tensors[] = {{"q", 8}, {"k", 4}, {"v", 4}, {"o", 8}};
    for (int l = 0; status == GSRT_OK && l < LAYERS; l++)
        for (int t = 0; status == GSRT_OK && t < 4; t++)
            status = gsrt_buffer_print(&out, "tensor name=\"%s.%d\" dtype=bf16 stack=1 rows=%d columns=8 bytes=%d\n",
                                       tensors[t].name, l, tensors[t].rows, tensors[t].rows * 16);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(&out, "tensor name=\"logits\" dtype=bf16 stack=1 rows=16 columns=8 bytes=256\n"
                                         "value name=\"x.0\" width=8\n");
    for (int l = 0; status == GSRT_OK && l < LAYERS; l++)
        status = gsrt_buffer_print(&out,
                                   "value name=\"q.%d\" width=8 split=heads unit=4\n"
                                   "value name=\"k.%d\" width=4 split=heads unit=4 kv=true\n"
                                   "value name=\"v.%d\" width=4 split=heads unit=4 kv=true\n"
                                   "value name=\"attn.%d\" width=8 split=heads unit=4\n"
                                   "value name=\"out.%d\" width=8 split=output unit=4\n"
                                   "value name=\"x.%d\" width=8\n",
                                   l, l, l, l, l, l + 1);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(&out, "value name=\"logits\" width=16 rows=wanted split=vocab unit=1\n");
    for (int l = 0; status == GSRT_OK && l < LAYERS; l++)
        status = gsrt_buffer_print(&out, "state name=\"kv.%d\" kind=kv layer=%d dtype=bf16 key_width=4 value_width=4\n",
                                   l, l);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(&out, "op kind=embed region=0 out=0 tensor=0 k_group=1\n");
    for (int l = 0; status == GSRT_OK && l < LAYERS; l++) {
        int r = l + 1, x = 6 * l, t = 4 * l;
        for (int i = 1; status == GSRT_OK && i <= 3; i++)
            status = gsrt_buffer_print(&out, "op kind=linear region=%d layer=%d in0=%d out=%d tensor=%d k_group=1\n", r,
                                       l, x, x + i, t + i);
        if (status == GSRT_OK)
            status = gsrt_buffer_print(&out,
                                       "op kind=attention region=%d layer=%d state=%d in0=%d in1=%d in2=%d out=%d "
                                       "scale=0.5 head_dim=4 k_group=1\n"
                                       "op kind=linear region=%d layer=%d in0=%d out=%d tensor=%d k_group=4\n"
                                       "op kind=add region=%d layer=%d in0=%d in1=%d out=%d k_group=1\n",
                                       r, l, l, x + 1, x + 2, x + 3, x + 4, r, l, x + 4, x + 5, t + 4, r, l, x, x + 5,
                                       x + 6);
    }
    if (status == GSRT_OK)
        status = gsrt_buffer_print(&out,
                                   "op kind=logits region=%d in0=%d out=%d tensor=%d k_group=1\n"
                                   "region name=\"embed\" count=1 out=0 phases=prefill+decode deterministic=true\n",
                                   LAYERS + 1, 6 * LAYERS, 6 * LAYERS + 1, 4 * LAYERS + 1);
    for (int l = 0; status == GSRT_OK && l < LAYERS; l++)
        status =
            gsrt_buffer_print(&out,
                              "region name=\"layer.%d\" layer=%d first=%d count=6 in=%d out=%d phases=prefill+decode "
                              "effects=reads_state+writes_state deterministic=true\n",
                              l, l, 1 + 6 * l, 6 * l, 6 * l + 6);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(&out,
                                   "region name=\"output\" first=%d count=1 in=%d out=%d phases=prefill+decode "
                                   "sensitivity=choice effects=emits deterministic=true\nend\n",
                                   1 + 6 * LAYERS, 6 * LAYERS, 6 * LAYERS + 1);
    ck_assert_int_eq(status, GSRT_OK);
    memcpy(text, out.data, out.len);
    gsrt_workload *workload = NULL;
    gsrt_diag diag = {0};
    status = gsrt_workload_read(gsrt_span_of(text, out.len), "six", &workload, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    gsrt_buffer_fini(&out);
    return workload;
}

#define ENGINE(NAME, CAPACITY, BANDWIDTH)                                                                              \
    "  - name: " NAME "\n"                                                                                             \
    "    kind: engine\n"                                                                                               \
    "    in: node\n"                                                                                                   \
    "    count: 3\n"                                                                                                   \
    "    rates: {matmul: {f32: \"1 TFLOPS\"}}\n"                                                                       \
    "    launch_overhead: \"10 ns\"\n"                                                                                 \
    "    memory: [{tier: hbm, capacity: \"" CAPACITY "\"" BANDWIDTH "}]\n"

#define FLEET(ENGINES)                                                                                                 \
    "gsrt_fleet: 1\n"                                                                                                  \
    "name: mixed\n"                                                                                                    \
    "source: \"declared: made up\"\n"                                                                                  \
    "places:\n"                                                                                                        \
    "  - {name: node, kind: node}\n"                                                                                   \
    "parts:\n" ENGINES "  - {name: mesh, kind: switch, in: node}\n"                                                    \
    "links:\n"                                                                                                         \
    "  - {from: fast, to: mesh, kind: network, both: true, bandwidth: \"1 GB/s\", latency: \"1 us\"}\n"                \
    "  - {from: slow, to: mesh, kind: network, both: true, bandwidth: \"1 GB/s\", latency: \"1 us\"}\n"

typedef struct world {
    gsrt_workload *workload;
    gsrt_fleet *fleet;
    gsrt_findings findings;
    gsrt_demand demand;
    gsrt_flow_engine engines[6];
    gsrt_flow_question question;
} world;

static void world_of(world *w, const char *fleet)
{
    memset(w, 0, sizeof *w);
    w->workload = layers_of_attention();
    ck_assert_int_eq(read_fleet(fleet, NULL, &w->fleet, &w->findings), GSRT_OK);
    w->demand = (gsrt_demand){.prompt_tokens = gsrt_quantity_exact(8, (gsrt_dimension){.token = 1}),
                              .output_tokens = gsrt_quantity_exact(4, (gsrt_dimension){.token = 1})};
    for (uint32_t i = 0; i < 6; i++)
        w->engines[i] = (gsrt_flow_engine){gsrt_fleet_part_named(w->fleet, i < 3 ? "fast" : "slow"), i % 3};
    w->question = (gsrt_flow_question){.workload = w->workload,
                                       .fleet = w->fleet,
                                       .demand = &w->demand,
                                       .engines = w->engines,
                                       .engine_count = 6,
                                       .batch_max = 4,
                                       .prefill_tokens = 8};
}

static void world_end(world *w)
{
    (void)gsrt_fleet_free(w->fleet);
    (void)gsrt_workload_free(w->workload);
    gsrt_findings_fini(&w->findings);
}

START_TEST(throughputs_are_the_cost_models)
{
    world w;
    world_of(
        &w, FLEET(ENGINE("fast", "1 MB", ", bandwidth: \"2 GB/s\"") ENGINE("slow", "1 MB", ", bandwidth: \"1 GB/s\"")));
    gsrt_flow_instance *instance = NULL;
    gsrt_diag diag = {0};
    w.question.batch_max = 1;
    ck_assert_msg(gsrt_flow_instance_of(&w.question, &diag, &instance) == GSRT_OK, "%s", diag.text);
    ck_assert_uint_eq(instance->layer_count, LAYERS);
    for (uint32_t k = 1; k <= LAYERS; k++) {
        ck_assert_int_gt(gsrt_flow_throughput(instance, 0, k), gsrt_flow_throughput(instance, 3, k));
        ck_assert_int_eq(gsrt_flow_throughput(instance, 0, k), gsrt_flow_throughput(instance, 2, k));
        if (k > 1)
            ck_assert_int_lt(gsrt_flow_throughput(instance, 0, k), gsrt_flow_throughput(instance, 0, k - 1));
    }
    /* all layers on one engine, as a deployment: a token is a decode step and two tokens of a prefill of eight */
    gsrt_deployment *d = gsrt_deployment_create(w.workload, 1);
    ck_assert_int_eq(gsrt_deployment_add_stages(d, 0, 1), GSRT_OK);
    ck_assert_int_eq(gsrt_deployment_add_members(d, 0, 0, 1), GSRT_OK);
    d->context_max = 12;
    d->pools[0].phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    d->pools[0].replica_count = d->pools[0].batch_max = 1;
    d->pools[0].prefill_tokens = 8;
    gsrt_deployment_stage *stage = &d->pools[0].stages[0];
    stage->layer_last = LAYERS - 1;
    stage->data_width = stage->expert_width = stage->context_width = 1;
    stage->members[0] =
        (gsrt_deployment_members){.part = w.engines[0].part, .instance_count = 1, .block_replicas = 1, .share = 1};
    gsrt_cost cost;
    gsrt_cost_question question = {.workload = w.workload, .fleet = w.fleet, .deployment = d, .demand = &w.demand};
    ck_assert_int_eq(gsrt_cost_predict(&question, NULL, &cost), GSRT_OK);
    double token_s = 1.0 / (cost.decode_step.value + 2.0 / 8.0 * cost.prefill_step.value);
    ck_assert_double_eq_tol(gsrt_flow_token_s(gsrt_flow_throughput(instance, 0, LAYERS)) / token_s, 1.0, 1e-9);
    gsrt_cost_fini(&cost);
    (void)gsrt_deployment_free(d);
    /* 1 GB/s, as much of it as a link achieves, for three rows of eight f32 per token */
    double share = gsrt__assumed(GSRT__ASSUMPTION_LINK_SHARE).value;
    ck_assert_double_eq_tol(gsrt_flow_token_s(gsrt_flow_link(instance, 0, 4)), 1e9 * share / (3 * 8 * 4), 1e-3);
    ck_assert_int_eq(gsrt_flow_link(instance, 0, 0), 0);
    (void)gsrt_flow_instance_free(instance);
    world_end(&w);
}
END_TEST

START_TEST(it_is_searched_and_bounded)
{
    world w;
    world_of(
        &w, FLEET(ENGINE("fast", "1 MB", ", bandwidth: \"2 GB/s\"") ENGINE("slow", "1 MB", ", bandwidth: \"1 GB/s\"")));
    gsrt_flow_instance *instance = NULL;
    uint32_t prices[6];
    gsrt_flow_hold holds[6];
    gsrt_flow_amount bound;
    gsrt_flow_found found;
    ck_assert_int_eq(gsrt_flow_instance_of(&w.question, NULL, &instance), GSRT_OK);
    ck_assert_int_eq(gsrt_flow_bound_find(instance, 100, prices, &bound), GSRT_OK);
    gsrt_flow_options options = {.policy = "local", .budget = 20000, .seed = 1, .bound = bound};
    ck_assert_int_eq(gsrt_flow_search(instance, &options, NULL, holds, &found), GSRT_OK);
    printf("six engines: %.0f token/s, at most %.0f\n", gsrt_flow_token_s(found.amount), gsrt_flow_token_s(bound));
    ck_assert_int_le(found.amount, bound);
    ck_assert_int_gt(found.amount, gsrt_flow_throughput(instance, 0, LAYERS) * 3);
    (void)gsrt_flow_instance_free(instance);
    world_end(&w);
}
END_TEST

START_TEST(memory_and_the_unknown)
{
    world w;
    /* one layer with its KV for six steps in flight and buffers takes 3 kB, all of them take 5.5; slow ones never said
     */
    world_of(&w, FLEET(ENGINE("fast", "4 kB", ", bandwidth: \"2 GB/s\"") ENGINE("slow", "1 MB", "")));
    gsrt_flow_instance *instance = NULL;
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_flow_instance_of(&w.question, &diag, &instance) == GSRT_OK, "%s", diag.text);
    ck_assert_int_gt(gsrt_flow_throughput(instance, 0, 1), 0);
    ck_assert_int_eq(gsrt_flow_throughput(instance, 0, LAYERS), 0);
    for (uint32_t k = 1; k <= LAYERS; k++)
        ck_assert_int_eq(gsrt_flow_throughput(instance, 3, k), 0);
    (void)gsrt_flow_instance_free(instance);
    w.question.engines += 3;
    w.question.engine_count = 3;
    ck_assert_int_eq(gsrt_flow_instance_of(&w.question, &diag, &instance), GSRT_EUNSUPPORTED);
    ck_assert_uint_gt(strlen(diag.text), 0);
    world_end(&w);
}
END_TEST

START_TEST(one_way_is_a_deployment)
{
    world w;
    world_of(
        &w, FLEET(ENGINE("fast", "1 MB", ", bandwidth: \"2 GB/s\"") ENGINE("slow", "1 MB", ", bandwidth: \"1 GB/s\"")));
    gsrt_flow_instance *instance = NULL;
    gsrt_deployment *d = NULL;
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_flow_instance_of(&w.question, NULL, &instance), GSRT_OK);
    /* slow engine 1 first, then fast 2; fast 0 holds what leads nowhere */
    gsrt_flow_hold holds[6] = {[4] = {0, 2}, [2] = {2, 4}, [0] = {3, 1}};
    ck_assert_msg(gsrt_flow_deployment_of(&w.question, instance, holds, &diag, &d) == GSRT_OK, "%s", diag.text);
    ck_assert(d->pool_count == 1 && d->pools[0].stage_count == 2 && d->pools[0].batch_max == 4);
    const gsrt_deployment_stage *stages = d->pools[0].stages;
    ck_assert(stages[0].layer_first == 0 && stages[0].layer_last == 1 && stages[1].layer_first == 2 &&
              stages[1].layer_last == LAYERS - 1);
    ck_assert_uint_eq(stages[0].members[0].part, w.engines[4].part);
    ck_assert_uint_eq(stages[0].members[0].instance_first, 1);
    ck_assert_uint_eq(stages[1].members[0].instance_first, 2);
    gsrt_cost cost;
    gsrt_cost_question question = {.workload = w.workload, .fleet = w.fleet, .deployment = d, .demand = &w.demand};
    ck_assert_int_eq(gsrt_cost_predict(&question, NULL, &cost), GSRT_OK);
    ck_assert(cost.values[GSRT_MEASURE_THROUGHPUT][0].is_known);
    gsrt_cost_fini(&cost);
    (void)gsrt_deployment_free(d);
    holds[5] = (gsrt_flow_hold){0, 6}; /* another way */
    ck_assert_int_eq(gsrt_flow_deployment_of(&w.question, instance, holds, &diag, &d), GSRT_EUNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(diag.text, GSRT_FLOW_CAPABILITY));
    memset(holds, 0, sizeof holds);
    ck_assert_int_eq(gsrt_flow_deployment_of(&w.question, instance, holds, NULL, &d), GSRT_EUNSUPPORTED);
    (void)gsrt_flow_instance_free(instance);
    world_end(&w);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {throughputs_are_the_cost_models, one_way_is_a_deployment, it_is_searched_and_bounded,
                            memory_and_the_unknown};
    return unit_run("flow_fleet", tests, sizeof tests / sizeof tests[0]);
}
