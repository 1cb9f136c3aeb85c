/* The cost model: every equation against numbers computed by hand, what unknown inputs do, a whole prediction of a
 * workload small enough to be computed by hand, and which way a prediction moves.
 */
#include "placement/cost.h"

#include <math.h>
#include <string.h>

#include "placement/workload_text.h"
#include "tests/placement/fleets.h"
#include "tests/placement/made_workload.h"
#include "tests/unit.h"

/* ---- equations ---- */

typedef struct example {
    const char *equation;
    double inputs[GSRT_EQUATION_INPUT_COUNT_MAX];
    double wanted;
} example;

/* 1e9 operations at 1e12 * 0.5 take 2 ms; 4e6 bytes at 1e9 * 0.8 take 5 ms. And so on, by hand. */
static const example examples[] = {
    {"sum", {2, 3}, 5},
    {"larger", {2, 3}, 3},
    {"smaller", {2, 3}, 2},
    {"times", {4, 0.5}, 2},
    {"share", {1e12, 0.5}, 5e11},
    {"roofline", {1e9, 1e12, 0.5, 4e6, 1e9, 0.8}, 5e-3},
    {"roofline", {1e10, 1e12, 0.5, 4e6, 1e9, 0.8}, 20e-3},
    {"stream", {4e6, 1e9, 0.8}, 5e-3},
    {"launches", {10, 2e-6}, 20e-6},
    {"contention", {100e9, 400e9, 8}, 50e9},
    {"contention", {100e9, 400e9, 2}, 100e9},
    {"together", {8, 50e9}, 400e9},
    {"throttle", {100, 400}, 0.5},
    {"throttle", {500, 400}, 1},
    {"send", {2, 1e-6, 1e6, 1e9, 0.5}, 2 * (1e-6 + 2e-3)},
    {"gather", {1, 1e-6, 8e6, 1e9, 1, 4}, 1e-6 + 6e-3},
    {"subtrees", {1, 1e-6, 8e6, 1e9, 1, 4}, 2e-6 + 12e-3},
    {"ring", {1, 1e-6, 8e6, 1e9, 1, 4}, 6e-6 + 12e-3},
    {"tree", {1, 1e-6, 8e6, 1e9, 1, 5}, 6e-6 + 16e-3},
    {"switch", {3, 1e-6, 8e6, 1e9, 1, 4}, 3 * (2e-6 + 8e-3)},
    {"all-to-all", {2, 1e-6, 8e6, 1e9, 1, 4}, 2 * (1e-6 + 6e-3)},
    {"overlap", {5, 3, 0.5}, 6.5},
    {"pipeline fill", {10, 3, 4}, 19},
    {"round trip", {10, 12}, 12},
    {"stalled by prefills", {10e-3, 20, 0.1, 100, 0.5, 8}, 10e-3 + 1.6 / 100}, /* 4 of 20 were waited for */
    {"closed rate", {4, 0.5, 100, 0.02, 0}, 1},
    {"closed rate", {4, 0.5, 100, 0.02, 4}, 0.5}, /* half of each cycle nobody computes for it */
    {"burst", {4, 2, 0.5, 1, 2}, 4},              /* all at once: half of four prefills of 2 s */
    {"burst", {4, 2, 0.5, 0, 2}, 1},              /* at random: 0.5 * 2 / (2 * 0.5) */
    {"gathering", {10, 0.1, 2}, 2.0 / 3},         /* two more come within 1 s: (1 + 0.5 + 0.5) / 3 */
    {"queue", {0.5, 1, 0, 1}, 0.5},               /* M/D/1, half busy */
    {"queue", {0.5, 1, 1, 1}, 1},                 /* M/M/1 */
    {"queue", {2, 1, 1, 1}, GSRT_COST_NEVER_S},
    {"slot queue", {0.5, 1, 1, 1}, 1}, /* one slot: M/M/1 again */
    {"slot queue", {2, 1, 1, 1}, GSRT_COST_NEVER_S},
    {"there and back", {0.04, 0.05}, 0.09},
    {"latency", {1, 0.1, 11}, 2},
    {"tokens", {3, 100}, 300},
    {"accepted", {0.5, 2}, 1.75},
    {"time of each", {3, 1.5}, 2},
    {"power", {100, 700, 0.5, 700, 8}, 3200},
    {"power", {100, 700, 0.5, 300, 8}, 2400},
    {"energy", {3200, 1600}, 2},
    {"cost", {0.01, 1000}, 1e-5},
    {"price of power", {1000, 2e-8}, 2e-5},
    {"failures", {8, 4}, 2},
    {"own failures", {8, 4, 0.5}, 1},
    {"mttf", {0.25}, 4},
    {"fill level", {40e9, 80e9}, 0.5},
    {"ratio", {1, 4}, 0.25},
    {"part", {0.5, 0.5}, 0.25},
    {"busy", {3, 6}, 0.5},
    {"utilisation", {3, 0.1}, 0.3},
    {"little", {6, 3}, 2},
    {"each", {4}, 0.25},
    {"price", {8, 0.5}, 4},
    {"rates", {2, 3}, 6},
};

static void set_inputs(const gsrt_equation *equation, const double *values, gsrt_quantity *out)
{
    for (uint32_t i = 0; i < equation->input_count; i++)
        out[i] = gsrt_quantity_exact(values[i], equation->is_of_any_dimension ? (gsrt_dimension){.second = 1}
                                                                              : equation->inputs[i]);
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

START_TEST(equations_by_hand)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const gsrt_equation *equation = gsrt_equation_named(examples[i].equation);
        gsrt_quantity inputs[GSRT_EQUATION_INPUT_COUNT_MAX];
        ck_assert_msg(equation != NULL, "no equation '%s'", examples[i].equation);
        set_inputs(equation, examples[i].inputs, inputs);
        gsrt_quantity out = gsrt_equation_apply(equation, inputs);
        ck_assert(out.is_known);
        ck_assert_msg(is_near(out.value, examples[i].wanted), "%s: %.17g instead of %.17g", examples[i].equation,
                      out.value, examples[i].wanted);
        ck_assert(out.lo <= out.value && out.value <= out.hi);
        ck_assert(is_near(out.lo, out.value * equation->error_lo) && is_near(out.hi, out.value * equation->error_hi));
        if (!equation->is_of_any_dimension)
            ck_assert(gsrt_dimension_equal(out.dimension, equation->output));
    }
}
END_TEST

START_TEST(every_equation_has_an_example_a_formula_and_a_source)
{
    for (size_t i = 0; gsrt_equation_at(i) != NULL; i++) {
        const gsrt_equation *equation = gsrt_equation_at(i);
        bool is_shown = false;
        for (size_t k = 0; k < sizeof examples / sizeof *examples; k++)
            is_shown = is_shown || strcmp(examples[k].equation, equation->name) == 0;
        ck_assert_msg(is_shown, "%s", equation->name);
        ck_assert(equation->formula[0] != 0 && equation->source[0] != 0);
        ck_assert(equation->error_lo <= 1 && equation->error_hi >= 1);
        ck_assert((equation->error_source == GSRT_SOURCE_DERIVED) == (equation->error_lo == equation->error_hi));
        ck_assert_ptr_eq(gsrt_equation_named(equation->name), equation);
    }
}
END_TEST

/* What an equation says of its directions is so, around every example. */
START_TEST(directions_are_as_stated)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const gsrt_equation *equation = gsrt_equation_named(examples[i].equation);
        for (uint32_t k = 0; k < equation->input_count; k++) {
            double x[GSRT_EQUATION_INPUT_COUNT_MAX];
            memcpy(x, examples[i].inputs, sizeof x);
            double before = equation->compute(x);
            x[k] = x[k] * 1.01;
            double moved = (equation->compute(x) - before) * equation->directions[k];
            ck_assert_msg(moved >= 0, "%s, input %u", equation->name, k);
        }
    }
}
END_TEST

START_TEST(unknown_stays_unknown)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const gsrt_equation *equation = gsrt_equation_named(examples[i].equation);
        for (uint32_t k = 0; k < equation->input_count; k++) {
            gsrt_quantity inputs[GSRT_EQUATION_INPUT_COUNT_MAX];
            set_inputs(equation, examples[i].inputs, inputs);
            inputs[k] = (gsrt_quantity){0};
            ck_assert(!gsrt_equation_apply(equation, inputs).is_known);
        }
    }
}
END_TEST

/* Inputs of one equation are different things, which err independently: 10 % and 10 % make 14 %. */
START_TEST(intervals)
{
    gsrt_quantity inputs[2] = {gsrt_quantity_exact(100, (gsrt_dimension){0}),
                               gsrt_quantity_exact(2, (gsrt_dimension){.second = 1})};
    inputs[0].lo = 90;
    inputs[0].hi = 110;
    inputs[1].lo = 1.8;
    inputs[1].hi = 2.2;
    inputs[1].confidence = 0.9;
    gsrt_quantity out = gsrt_equation_apply(gsrt_equation_named("launches"), inputs);
    ck_assert_double_eq(out.value, 200);
    ck_assert(is_near(out.hi, 200 + sqrt(2) * 20) && is_near(out.lo, 200 - sqrt(2) * 20));
    ck_assert_double_eq(out.confidence, 0.9);
}
END_TEST

/* ---- a whole prediction ---- */

/* One layer of a product and a sum, without norms: 8 x 8 matrices in bf16, one KV head of four. */
static const char tiny[] =
    "gsrt-workload 1\n"
    "workload name=\"tiny\" architecture=\"tiny\" layers=1 dim=8 ffn=8 heads=2 kv_heads=1 head_dim=4 value_head_dim=4 "
    "vocab=16 context=64\n"
    "tensor name=\"embed\" dtype=bf16 stack=1 rows=16 columns=8 bytes=256\n"
    "tensor name=\"q\" dtype=bf16 stack=1 rows=8 columns=8 bytes=128\n"
    "tensor name=\"k\" dtype=bf16 stack=1 rows=4 columns=8 bytes=64\n"
    "tensor name=\"v\" dtype=bf16 stack=1 rows=4 columns=8 bytes=64\n"
    "tensor name=\"o\" dtype=bf16 stack=1 rows=8 columns=8 bytes=128\n"
    "tensor name=\"logits\" dtype=bf16 stack=1 rows=16 columns=8 bytes=256\n"
    "value name=\"x\" width=8\n"
    "value name=\"q\" width=8 split=heads unit=4\n"
    "value name=\"k\" width=4 split=heads unit=4 kv=true\n"
    "value name=\"v\" width=4 split=heads unit=4 kv=true\n"
    "value name=\"attn\" width=8 split=heads unit=4\n"
    "value name=\"out\" width=8 split=output unit=4\n"
    "value name=\"y\" width=8\n"
    "value name=\"logits\" width=16 rows=wanted split=vocab unit=1\n"
    "state name=\"kv\" kind=kv layer=0 dtype=bf16 key_width=4 value_width=4\n"
    "op kind=embed region=0 out=0 tensor=0 k_group=1\n"
    "op kind=linear region=1 layer=0 in0=0 out=1 tensor=1 k_group=1\n"
    "op kind=linear region=1 layer=0 in0=0 out=2 tensor=2 k_group=1\n"
    "op kind=linear region=1 layer=0 in0=0 out=3 tensor=3 k_group=1\n"
    "op kind=attention region=1 layer=0 state=0 in0=1 in1=2 in2=3 out=4 scale=0.5 head_dim=4 k_group=1\n"
    "op kind=linear region=1 layer=0 in0=4 out=5 tensor=4 k_group=4\n"
    "op kind=add region=1 layer=0 in0=0 in1=5 out=6 k_group=1\n"
    "op kind=logits region=2 in0=6 out=7 tensor=5 k_group=1\n"
    "region name=\"embed\" count=1 out=0 phases=prefill+decode deterministic=true\n"
    "region name=\"layer.0\" layer=0 first=1 count=6 in=0 out=6 phases=prefill+decode "
    "effects=reads_state+writes_state deterministic=true\n"
    "region name=\"output\" first=7 count=1 in=6 out=7 phases=prefill+decode sensitivity=choice effects=emits "
    "deterministic=true\n"
    "end\n";

/* Two engines over a switch; everything is stated, rates so high that bytes decide. */
#define TWO(GPU_MORE)                                                                                                  \
    "gsrt_fleet: 1\n"                                                                                                  \
    "name: two\n"                                                                                                      \
    "source: \"declared: made up\"\n"                                                                                  \
    "places:\n"                                                                                                        \
    "  - {name: node, kind: node, energy_price: \"0.36 $/kWh\", mttf: \"1000 h\"}\n"                                   \
    "parts:\n"                                                                                                         \
    "  - name: gpu\n"                                                                                                  \
    "    kind: engine\n"                                                                                               \
    "    in: node\n"                                                                                                   \
    "    count: 2\n"                                                                                                   \
    "    rates: {matmul: {f32: \"1 TFLOPS\"}}\n"                                                                       \
    "    memory: [{tier: hbm, capacity: \"1 MB\", bandwidth: \"1 GB/s\"}]\n" GPU_MORE                                  \
    "  - {name: mesh, kind: switch, "                                                                                  \
    "in: node}\n"                                                                                                      \
    "links:\n"                                                                                                         \
    "  - {from: gpu, to: mesh, kind: network, both: true, bandwidth: \"1 GB/s\", latency: \"1 us\"}\n"

#define STATED                                                                                                         \
    "    launch_overhead: \"10 ns\"\n"                                                                                 \
    "    power_idle: \"100 W\"\n"                                                                                      \
    "    power_max: \"300 W\"\n"                                                                                       \
    "    price: \"3.6 $/h\"\n"                                                                                         \
    "    mttf: \"1000 h\"\n"

typedef struct world {
    gsrt_workload *workload;
    gsrt_fleet *fleet;
    gsrt_deployment *deployment;
    gsrt_demand demand;
    gsrt_findings findings;
} world;

/* One stage of all layers on `width` gpus. */
static gsrt_deployment *one_pool(const world *w, uint32_t width, gsrt_collective_algorithm algorithm)
{
    gsrt_deployment *d = gsrt_deployment_create(w->workload, 1);
    ck_assert_int_eq(gsrt_deployment_add_stages(d, 0, 1), GSRT_OK);
    ck_assert_int_eq(gsrt_deployment_add_members(d, 0, 0, 1), GSRT_OK);
    gsrt_deployment_pool *pool = &d->pools[0];
    *pool = (gsrt_deployment_pool){.phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE,
                                   .replica_count = 1,
                                   .stages = pool->stages,
                                   .stage_count = 1,
                                   .batch_max = 2,
                                   .prefill_tokens = 4};
    pool->stages[0].data_width = pool->stages[0].expert_width = pool->stages[0].context_width = 1;
    pool->stages[0].algorithm = algorithm;
    pool->stages[0].members[0] = (gsrt_deployment_members){
        .part = gsrt_fleet_part_named(w->fleet, "gpu"), .instance_count = width, .block_replicas = 1, .share = 1};
    d->context_max = 16;
    return d;
}

static world world_of(const char *fleet, uint32_t width, gsrt_collective_algorithm algorithm)
{
    world w = {0};
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_workload_read(gsrt_span_of_text(tiny), "tiny", &w.workload, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    ck_assert_int_eq(read_fleet(fleet, NULL, &w.fleet, &w.findings), GSRT_OK);
    w.deployment = one_pool(&w, width, algorithm);
    w.demand = (gsrt_demand){.prompt_tokens = gsrt_quantity_exact(8, (gsrt_dimension){.token = 1}),
                             .output_tokens = gsrt_quantity_exact(4, (gsrt_dimension){.token = 1})};
    return w;
}

static void world_end(world *w)
{
    (void)gsrt_deployment_free(w->deployment);
    (void)gsrt_fleet_free(w->fleet);
    (void)gsrt_workload_free(w->workload);
    gsrt_findings_fini(&w->findings);
}

static gsrt_cost predict(const world *w, gsrt_derivation *why)
{
    gsrt_cost cost;
    gsrt_cost_question question = {
        .workload = w->workload, .fleet = w->fleet, .deployment = w->deployment, .demand = &w->demand};
    ck_assert_int_eq(gsrt_cost_predict(&question, why, &cost), GSRT_OK);
    return cost;
}

/* By hand, in bytes, f32 activations, a batch of 2, 10.5 positions each (8 of the prompt, and 2.5 of the answer):
 *   embed   2 rows of 16 + 32                                                                      =   96 streamed
 *   layer   weights 384; activations 2 * (2 * (8 + 8) + 2 * (8 + 4)) * 4 = 448                     =  832 matrices
 *           KV 2 * 10.5 * 16 = 336; q and out 2 * 16 * 4 = 128                                     =  464 attention
 *           the sum: 2 rows of 3 * 8 * 4                                                           =  192 streamed
 *   output  weights 256; activations 2 * (8 + 16) * 4 = 192                                        =  448 matrices
 * 2,032 bytes at 0.8 GB/s are 2.54 us; they are launched as one piece of work in 10 ns. */
START_TEST(a_decode_step_by_hand)
{
    world w = world_of(TWO(STATED), 1, GSRT_ALGORITHM_NONE);
    gsrt_cost cost = predict(&w, NULL);
    ck_assert_msg(is_near(cost.decode_step.value, 2.55e-6), "%.17g", cost.decode_step.value);
    ck_assert(cost.decode_step.lo < cost.decode_step.value && cost.decode_step.value < cost.decode_step.hi);
    ck_assert_double_eq(cost.transfer_share.value, 0);
    ck_assert_uint_eq(cost.memory_count, 1);
    ck_assert_double_eq(cost.memories[0].weights.value, 896);
    ck_assert_double_eq(cost.memories[0].state.value, 2 * 16 * 16);
    /* 4 rows of 4 * 8 + 2 * 8 elements, and two rows of logits */
    ck_assert_double_eq(cost.memories[0].buffers.value, 4 * (4 * 48 + 2 * 16));
    ck_assert_double_eq(cost.memories[0].capacity.value, 1e6);
    /* in two chunks of four: 2 requests / (2 * 2 chunks + 4 tokens) */
    double rate = 2 / (4 * cost.prefill_step.value + 4 * cost.decode_step.value);
    ck_assert(is_near(cost.values[GSRT_MEASURE_THROUGHPUT][0].value, 4 * rate));
    /* engines and node: two failures in 1000 h */
    ck_assert(is_near(cost.values[GSRT_MEASURE_MTTF][0].value, 500 * 3600.0));
    /* 1 $ in 1000 s, and the energy at 0.1 $ per MJ */
    double power = cost.values[GSRT_MEASURE_POWER][0].value, tokens = cost.values[GSRT_MEASURE_THROUGHPUT][0].value;
    ck_assert(power > 100 && power < 300);
    ck_assert(is_near(cost.values[GSRT_MEASURE_COST][0].value, (1e-3 + 1e-7 * power) / tokens));
    ck_assert(is_near(cost.values[GSRT_MEASURE_ENERGY][0].value, power / tokens));
    gsrt_cost_fini(&cost);
    world_end(&w);
}
END_TEST

/* The same step by its causes: what rests on one moves together, whatever sums it is in, and causes are added in
 * squares. 832 + 448 + 464 bytes are rooflines, 288 are streamed, all from the same memory; the launch is stated
 * exactly. */
START_TEST(an_interval_by_hand)
{
    world w = world_of(TWO(STATED), 1, GSRT_ALGORITHM_NONE);
    gsrt_cost cost = predict(&w, NULL), plain;
    const gsrt_equation *roofline = gsrt_equation_named("roofline"), *stream = gsrt_equation_named("stream");
    gsrt_quantity share = gsrt_cost_assumed("share of the stated memory bandwidth");
    double bytes = 2032 / 1e9, rooflines = 1744 / 0.8e9, streamed = 288 / 0.8e9;
    double by_share = bytes / share.lo - bytes / share.value, by_roofline = rooflines * (roofline->error_hi - 1);
    double by_stream = streamed * (stream->error_hi - 1);
    double above = sqrt(by_share * by_share + by_roofline * by_roofline + by_stream * by_stream);
    ck_assert_msg(is_near(cost.decode_step.hi, 2.55e-6 + above), "%.17g", cost.decode_step.hi - 2.55e-6 - above);
    by_share = bytes / share.value - bytes / share.hi;
    by_roofline = rooflines * (1 - roofline->error_lo);
    by_stream = streamed * (1 - stream->error_lo);
    double below = sqrt(by_share * by_share + by_roofline * by_roofline + by_stream * by_stream);
    ck_assert_msg(is_near(cost.decode_step.lo, 2.55e-6 - below), "%.17g", cost.decode_step.lo - 2.55e-6 + below);
    gsrt_cost_question question = {
        .workload = w.workload, .fleet = w.fleet, .deployment = w.deployment, .demand = &w.demand, .is_plain = true};
    ck_assert_int_eq(gsrt_cost_predict(&question, NULL, &plain), GSRT_OK);
    for (gsrt_measure m = 0; m < GSRT_MEASURE_COUNT; m++) {
        for (gsrt_percentile p = 0; p < GSRT_PERCENTILE_COUNT; p++) {
            const gsrt_quantity *with = &cost.values[m][p], *without = &plain.values[m][p];
            ck_assert_double_eq(with->value, without->value);
            ck_assert(with->lo <= with->value && with->value <= with->hi);
            ck_assert(without->lo == without->value && without->hi == without->value);
        }
    }
    gsrt_cost_fini(&cost);
    gsrt_cost_fini(&plain);
    world_end(&w);
}
END_TEST

/* Native kernels: fused ops and attention are launched (10 ns each), the host works on the step and its sequences, an
 * exchange is started, and a short one gets a part of the bandwidth; and a request is received before it is queued. */
START_TEST(what_libraries_add)
{
    world w = world_of(TWO(STATED), 1, GSRT_ALGORITHM_NONE);
    gsrt_cost canonical = predict(&w, NULL);
    for (uint32_t i = 0; i < w.deployment->region_count; i++)
        w.deployment->choices[i].arithmetic = GSRT_ARITHMETIC_NATIVE;
    gsrt_derivation why;
    gsrt_derivation_init(&why);
    gsrt_cost native = predict(&w, &why);
    double attention = 0, host = 0;
    for (uint32_t i = 0; i < why.count; i++) {
        if (strstr(why.nodes[i].name, "decode: launches of attention's pieces") != NULL)
            attention += why.nodes[i].value.value;
        if (strstr(why.nodes[i].name, "decode: host's work") != NULL &&
            strcmp(why.nodes[i].equation == NULL ? "" : why.nodes[i].equation, "sum") == 0)
            host = why.nodes[i].value.value;
    }
    ck_assert(is_near(attention, 10e-9 * gsrt_cost_assumed("pieces of work of an attention").value));
    ck_assert(is_near(host, gsrt_cost_assumed("host's work between steps").value +
                                2 * gsrt_cost_assumed("host's work on a sequence of a step").value));
    ck_assert(native.values[GSRT_MEASURE_TTFT][0].value - canonical.values[GSRT_MEASURE_TTFT][0].value >
              gsrt_cost_assumed("server's work on a request before it is queued").value);
    gsrt_cost_fini(&canonical);
    gsrt_cost_fini(&native);
    gsrt_derivation_fini(&why);
    world_end(&w);
    w = world_of(TWO(STATED), 2, GSRT_ALGORITHM_RING);
    canonical = predict(&w, NULL);
    for (uint32_t i = 0; i < w.deployment->region_count; i++)
        w.deployment->choices[i].arithmetic = GSRT_ARITHMETIC_NATIVE;
    native = predict(&w, NULL);
    /* bf16 activations: half of the bytes, at a quarter of the bandwidth; one sum, and the logits */
    double bytes = (64 + 64) / 2 / (0.25 * 0.8e9);
    ck_assert(is_near(native.transfer_share.value * native.decode_step.value,
                      4e-6 + 2e-6 + bytes + 2 * gsrt_cost_assumed("start of an exchange").value));
    gsrt_cost_fini(&canonical);
    gsrt_cost_fini(&native);
    world_end(&w);
}
END_TEST

/* Gather: the heads' outputs (8) and what comes of them (8), 2 rows in f32, 64 bytes each time, half of it from the
 * other: 2 us of latency, 32 bytes at 0.8 GB/s. And the logits: 2 rows of 16. */
START_TEST(exchanges_by_hand)
{
    world w = world_of(TWO(STATED), 2, GSRT_ALGORITHM_GATHER);
    gsrt_cost cost = predict(&w, NULL);
    double each = 2e-6 + 32 / 0.8e9, logits = 2e-6 + 64 / 0.8e9;
    ck_assert(is_near(cost.transfer_share.value * cost.decode_step.value, 2 * each + logits));
    gsrt_cost_fini(&cost);
    world_end(&w);
    /* sums: once, 64 bytes: two steps of the ring, two times half of it */
    w = world_of(TWO(STATED), 2, GSRT_ALGORITHM_RING);
    cost = predict(&w, NULL);
    ck_assert(is_near(cost.transfer_share.value * cost.decode_step.value, 4e-6 + 64 / 0.8e9 + logits));
    gsrt_cost_fini(&cost);
    world_end(&w);
    /* no link says that it can */
    w = world_of(TWO(STATED), 2, GSRT_ALGORITHM_SWITCH);
    cost = predict(&w, NULL);
    ck_assert(!cost.decode_step.is_known && !cost.values[GSRT_MEASURE_TPOT][0].is_known);
    ck_assert(cost.values[GSRT_MEASURE_MEMORY][0].is_known);
    gsrt_cost_fini(&cost);
    world_end(&w);
}
END_TEST

#define HOSTED(DRAM)                                                                                                   \
    TWO(STATED "  - {name: dram, kind: memory, tier: ddr, in: node, capacity: \"1 kB\"" DRAM "}\n")                    \
    "  - {from: gpu, to: dram, kind: pcie, both: true, bandwidth: \"0.5 GB/s\", latency: \"1 us\"}\n"

/* A quarter of the KV. Of 16 positions of 16 bytes, 4 of each of two sequences lie there, and as many have room twice
 * where they are read. A decode step reads a quarter of 336 bytes and writes a quarter of 32, a prompt's chunk of 4
 * reads a quarter of the two positions before it, and writes one; each way takes 1 us, and 0.8 of 0.5 GB/s. With
 * another replica the memory's 0.6 GB/s are shared, and it is a quarter full. */
START_TEST(offloaded_kv_by_hand)
{
    for (uint32_t replicas = 1; replicas <= 2; replicas++) {
        world w = world_of(HOSTED(", bandwidth: \"0.6 GB/s\""), 1, GSRT_ALGORITHM_NONE);
        double bandwidth = replicas == 1 ? 0.4e9 : 0.24e9;
        gsrt_cost near = predict(&w, NULL);
        w.deployment->pools[0].kv_offload = 1;
        w.deployment->pools[0].replica_count = replicas;
        w.deployment->pools[0].stages[0].members[0].block_stride = 1;
        gsrt_cost cost = predict(&w, NULL);
        double moved = 2e-6 + 92 / bandwidth, chunk = 2e-6 + 24 / bandwidth;
        ck_assert(fabs(cost.decode_step.value - near.decode_step.value - moved) < 1e-15);
        ck_assert(fabs(cost.prefill_step.value - near.prefill_step.value - chunk) < 1e-15);
        ck_assert(is_near(cost.transfer_share.value * cost.decode_step.value, moved));
        ck_assert_double_eq(cost.memories[0].state.value, 2 * 12 * 16);
        ck_assert_double_eq(cost.memories[0].offloaded.value, 2 * 4 * 16);
        ck_assert_double_eq(cost.memories[0].buffers.value, near.memories[0].buffers.value + 2 * 2 * 4 * 16);
        ck_assert_str_eq(w.fleet->parts[cost.memories[0].far].name, "dram");
        ck_assert(is_near(cost.values[GSRT_MEASURE_MEMORY][0].value, 0.128 * replicas));
        gsrt_cost_fini(&near);
        gsrt_cost_fini(&cost);
        world_end(&w);
        /* nobody says what two may read of it at once */
        w = world_of(HOSTED(""), 1, GSRT_ALGORITHM_NONE);
        w.deployment->pools[0].kv_offload = GSRT_KV_OFFLOAD_PARTS;
        w.deployment->pools[0].replica_count = replicas;
        cost = predict(&w, NULL);
        ck_assert_int_eq(cost.decode_step.is_known, replicas == 1);
        gsrt_cost_fini(&cost);
        world_end(&w);
    }
}
END_TEST

/* Two heads that share a KV head, on two engines: both keep it, of 128 positions 16 bytes each; in two parts of the
 * context 64. A decode step of two rows reads half of 202.5 positions, with both heads; it gathers queries (2 rows of 8
 * elements in f32) and merges what comes out (2 rows of two heads, 4 elements and a log-sum-exp). A prompt's chunk of 4
 * gathers the 98 positions before it, of which half lie with the other. Both are launched again after each exchange. */
START_TEST(parts_of_the_context_by_hand)
{
    world w = world_of(TWO(STATED), 2, GSRT_ALGORITHM_GATHER);
    w.demand.prompt_tokens = gsrt_quantity_exact(200, (gsrt_dimension){.token = 1});
    w.deployment->context_max = 128;
    gsrt_cost whole = predict(&w, NULL);
    w.deployment->pools[0].stages[0].context_width = 2;
    gsrt_cost cost = predict(&w, NULL);
    double exchanged = 4e-6 + (32 + 40) / 0.8e9, gathered = 2e-6 + 98 * 16 / 2 / 0.8e9;
    double saved = 2 * 202.5 * 16 / 2 - 2 * 16 / 2 * 4 - 2 * 10 * 4;
    ck_assert(is_near(cost.decode_step.value - whole.decode_step.value, exchanged + 20e-9 - saved / 0.8e9));
    ck_assert(is_near(cost.prefill_step.value - whole.prefill_step.value, gathered + 20e-9));
    ck_assert_double_eq(whole.memories[0].state.value, 2 * 128 * 16);
    ck_assert_double_eq(cost.memories[0].state.value, 2 * 64 * 16);
    ck_assert_double_eq(cost.memories[0].weights.value, whole.memories[0].weights.value);
    ck_assert_double_eq(cost.memories[0].buffers.value, whole.memories[0].buffers.value + 4 * 2 * 2 * (4 + 2 * 5));
    gsrt_cost_fini(&whole);
    gsrt_cost_fini(&cost);
    world_end(&w);
}
END_TEST

START_TEST(what_nobody_stated_is_unknown)
{
    world w = world_of(TWO(""), 1, GSRT_ALGORITHM_NONE);
    gsrt_cost cost = predict(&w, NULL);
    for (gsrt_measure m = 0; m < GSRT_MEASURE_COUNT; m++)
        ck_assert_msg(cost.values[m][0].is_known == (m == GSRT_MEASURE_MEMORY), "%s", gsrt_measure_word(m));
    gsrt_cost_fini(&cost);
    world_end(&w);
}
END_TEST

/* Recorded or not, with a profile or without: the same. Every node follows from its inputs. */
START_TEST(the_derivation_is_the_prediction)
{
    world w = world_of(TWO(STATED), 2, GSRT_ALGORITHM_RING);
    gsrt_derivation why;
    gsrt_derivation_init(&why);
    gsrt_cost with = predict(&w, &why), without = predict(&w, NULL);
    for (gsrt_measure m = 0; m < GSRT_MEASURE_COUNT; m++) {
        for (gsrt_percentile p = 0; p < GSRT_PERCENTILE_COUNT; p++) {
            const gsrt_quantity *node = &why.nodes[with.nodes[m][p]].value;
            ck_assert_double_eq(with.values[m][p].value, without.values[m][p].value);
            ck_assert_double_eq(with.values[m][p].lo, node->lo);
            ck_assert_double_eq(with.values[m][p].hi, node->hi);
            ck_assert(gsrt_dimension_equal(node->dimension, gsrt_measure_dimension(m)));
        }
    }
    for (uint32_t i = 0; i < why.count; i++) {
        const gsrt_cost_node *node = &why.nodes[i];
        const gsrt_equation *equation = node->equation == NULL ? NULL : gsrt_equation_named(node->equation);
        gsrt_quantity inputs[GSRT_EQUATION_INPUT_COUNT_MAX];
        for (uint32_t k = 0; equation != NULL && k < equation->input_count; k++) {
            ck_assert_uint_lt(node->inputs[k], i);
            inputs[k] = why.nodes[node->inputs[k]].value;
        }
        if (equation != NULL)
            ck_assert_double_eq(gsrt_equation_apply(equation, inputs).value, node->value.value);
    }
    gsrt_cost_fini(&with);
    gsrt_cost_fini(&without);
    gsrt_derivation_fini(&why);
    world_end(&w);
}
END_TEST

/* What moves the time between tokens: the interval of the memory's share, the roofline's error; and which is a guess.
 */
START_TEST(influences_are_ordered)
{
    world w = world_of(TWO(STATED), 1, GSRT_ALGORITHM_NONE);
    gsrt_derivation why;
    gsrt_influence found[64];
    bool has_failed, has_debt = false, has_share = false;
    gsrt_derivation_init(&why);
    gsrt_cost cost = predict(&w, &why);
    uint32_t node = cost.nodes[GSRT_MEASURE_TPOT][GSRT_PERCENTILE_50];
    size_t count = gsrt_derivation_influences(&why, node, found, 64, &has_failed);
    ck_assert(!has_failed && count > 10 && count <= 64);
    ck_assert_str_eq(found[0].equation == NULL ? "" : found[0].equation, "roofline");
    for (size_t i = 0; i < count; i++) {
        ck_assert(i == 0 || found[i - 1].width >= found[i].width);
        if (found[i].node == GSRT_NO_INDEX) {
            has_debt = has_debt || (found[i].is_debt && strcmp(found[i].equation, "stream") == 0);
            continue;
        }
        const gsrt_cost_node *input = &why.nodes[found[i].node];
        ck_assert(input->equation == NULL);
        has_share = has_share || (strstr(input->name, "memory bandwidth") != NULL && found[i].width > 0);
    }
    ck_assert(has_share && has_debt);
    gsrt_cost_fini(&cost);
    gsrt_derivation_fini(&why);
    world_end(&w);
}
END_TEST

/* More traffic waits longer; more than there is capacity for waits for ever. */
START_TEST(open_traffic)
{
    world w = world_of(TWO(STATED), 1, GSRT_ALGORITHM_NONE);
    gsrt_cost cost = predict(&w, NULL);
    double most = cost.values[GSRT_MEASURE_THROUGHPUT][0].value / 4, last = 0;
    gsrt_cost_fini(&cost);
    for (int i = 1; i <= 9; i += 2) {
        w.demand.arrival = gsrt_quantity_exact(most * i / 10, (gsrt_dimension){.second = -1});
        cost = predict(&w, NULL);
        const gsrt_quantity *ttft = cost.values[GSRT_MEASURE_TTFT];
        ck_assert(ttft[0].value > last && ttft[0].value < ttft[1].value && ttft[1].value < ttft[2].value);
        ck_assert(is_near(cost.values[GSRT_MEASURE_THROUGHPUT][0].value, 4 * most * i / 10));
        last = ttft[0].value;
        gsrt_cost_fini(&cost);
    }
    w.demand.arrival = gsrt_quantity_exact(most * 1.1, (gsrt_dimension){.second = -1});
    cost = predict(&w, NULL);
    ck_assert(cost.values[GSRT_MEASURE_TTFT][0].value >= GSRT_COST_NEVER_S);
    ck_assert(is_near(cost.values[GSRT_MEASURE_THROUGHPUT][0].value, 4 * most));
    gsrt_cost_fini(&cost);
    world_end(&w);
}
END_TEST

static double recorded(const gsrt_derivation *why, const char *name)
{
    for (uint32_t i = 0; i < why->count; i++) {
        if (strcmp(why->nodes[i].name, name) == 0)
            return why->nodes[i].value.value;
    }
    ck_abort_msg("no '%s'", name);
    return 0;
}

static double median_of(const world *w, gsrt_measure measure, gsrt_derivation *why)
{
    gsrt_cost cost = predict(w, why);
    double value = cost.values[measure][0].value;
    gsrt_cost_fini(&cost);
    return value;
}

/* 8 requests of 8 tokens; a step that holds nothing else has room for four prompts. Prompts first: all eight come at
 * once, but for a hundredth, and each waits for 3.5 before it and for 1.5 others of its own step; what it has waited
 * for does not stall it later. By the equations of the derivation, not by its code. */
START_TEST(servers_that_prefill_first)
{
    world w = world_of(TWO(STATED), 1, GSRT_ALGORITHM_NONE);
    gsrt_derivation why;
    w.deployment->pools[0].batch_max = 8;
    w.deployment->pools[0].prefill_tokens = 32;
    w.demand.prefills_first = true;
    gsrt_derivation_init(&why);
    double ttft = median_of(&w, GSRT_MEASURE_TTFT, &why), tpot = median_of(&w, GSRT_MEASURE_TPOT, NULL);
    double each = recorded(&why, "pool 0 prefill of several: time of each prompt");
    double own = recorded(&why, "pool 0 prefill: prefill of a prompt");
    double step = recorded(&why, "pool 0 stage 0 decode: stage");
    double busy = recorded(&why, "pool 0 p50: share of time in prefills");
    double synchrony = gsrt_cost_assumed("synchrony of a closed system, equal lengths, prompts first").value;
    double random = busy * each / (2 * (1 - busy));
    ck_assert(each < own); /* four prompts read the weights once */
    ck_assert_msg(is_near(ttft, own + step / 2 + random + synchrony * (5 * each - random)), "%.17g", ttft);
    ck_assert_msg(is_near(tpot, step + (7 - synchrony * 5) * each / 4), "%.17g", tpot);
    gsrt_derivation_fini(&why);

    /* both at once: no room for four prompts beside the answers, and the prompt's step is one in which others decode */
    w.demand.prefills_first = false;
    gsrt_derivation_init(&why);
    double mixed = median_of(&w, GSRT_MEASURE_TTFT, &why), mixed_tpot = median_of(&w, GSRT_MEASURE_TPOT, NULL);
    synchrony = gsrt_cost_assumed("synchrony of a closed system, equal lengths").value;
    each = recorded(&why, "pool 0 prefill of several: time of each prompt");
    busy = recorded(&why, "pool 0 p50: share of time in prefills");
    random = busy * each / (2 * (1 - busy));
    ck_assert_msg(is_near(mixed, own + 1.5 * step + random + synchrony * (4.5 * each - random)), "%.17g", mixed);
    ck_assert_msg(is_near(mixed_tpot, step + (7 - synchrony * 4.5) * each / 4), "%.17g", mixed_tpot);
    gsrt_derivation_fini(&why);

    /* requests of different lengths do not stay together, whoever comes first, and do not fill steps */
    w.demand.prefills_first = true;
    w.demand.prompt_tokens.lo = 6;
    ck_assert(median_of(&w, GSRT_MEASURE_TTFT, NULL) < ttft);
    ck_assert(median_of(&w, GSRT_MEASURE_TPOT, NULL) > tpot);
    world_end(&w);
}
END_TEST

/* A prompt waits for others, ten steps at most; those that come meanwhile wait for less, and are prefilled with it. */
START_TEST(prompts_that_gather)
{
    world w = world_of(TWO(STATED), 1, GSRT_ALGORITHM_NONE);
    gsrt_derivation why;
    double at_once = median_of(&w, GSRT_MEASURE_TTFT, NULL), tpot = median_of(&w, GSRT_MEASURE_TPOT, NULL);
    w.demand.gather_steps = 10;
    gsrt_derivation_init(&why);
    double gathered = median_of(&w, GSRT_MEASURE_TTFT, &why);
    double step = recorded(&why, "pool 0 stage 0 decode: stage");
    double rate = recorded(&why, "pool 0: requests per second, waiting included"), others = 10 * step * rate;
    double waited = recorded(&why, "pool 0 p50: waiting for other prompts");
    /* a chunk holds no second prompt; fewer prefills are under way at a time than before */
    ck_assert_msg(is_near(waited, 10 * step * (1 + others / 2) / (1 + others)), "%.17g", waited);
    ck_assert(gathered < at_once + waited && gathered > at_once + 0.9 * waited);
    /* Little: two requests, each of which now waits in its cycle, too; as long as if nobody's rate had fallen */
    double before = recorded(&why, "pool 0: requests of a replica per second");
    double wait = 10 * step * (1 + 5 * step * before) / (1 + 10 * step * before);
    ck_assert_msg(is_near(rate, 2 / (2 / before + wait)), "%.17g", rate);
    ck_assert_double_eq(median_of(&w, GSRT_MEASURE_TPOT, NULL), tpot);
    gsrt_derivation_fini(&why);
    world_end(&w);
}
END_TEST

/* Of a mixture's experts libraries achieve less than of other products; canonical kernels are as good at both. */
START_TEST(experts_by_libraries)
{
    world w = world_of(TWO(STATED), 1, GSRT_ALGORITHM_NONE);
    gsrt_diag diag = {0};
    (void)gsrt_deployment_free(w.deployment);
    (void)gsrt_workload_free(w.workload);
    ck_assert_int_eq(gsrt_workload_read(gsrt_span_of_text(made_workload), "made", &w.workload, &diag), GSRT_OK);
    w.deployment = one_pool(&w, 1, GSRT_ALGORITHM_NONE);
    for (uint32_t a = 0; a < GSRT_ARITHMETIC_COUNT; a++) {
        gsrt_derivation why;
        uint32_t found = 0;
        for (uint32_t i = 0; i < w.deployment->region_count; i++)
            w.deployment->choices[i].arithmetic = (gsrt_arithmetic)a;
        gsrt_derivation_init(&why);
        gsrt_cost cost = predict(&w, &why);
        for (uint32_t i = 0; i < why.count; i++) {
            const char *name = strrchr(why.nodes[i].name, ':');
            if (name == NULL || strcmp(why.nodes[i].equation == NULL ? "" : why.nodes[i].equation, "roofline") != 0)
                continue;
            bool is_of_experts = strcmp(name, ": experts") == 0;
            const char *share = why.nodes[why.nodes[i].inputs[2]].name;
            found += is_of_experts ? 1 : 0;
            ck_assert_msg((strstr(share, "in experts") != NULL) == (is_of_experts && a == GSRT_ARITHMETIC_NATIVE),
                          "%s: %s", why.nodes[i].name, share);
        }
        ck_assert_uint_ge(found, 2); /* a prefill and a decode step */
        gsrt_cost_fini(&cost);
        gsrt_derivation_fini(&why);
    }
    world_end(&w);
}
END_TEST

/* 16 accelerators of two nodes: the ring crosses once, over all NICs of a node; a gather of each goes through its own.
 * By hand: 4 NICs for 8 gpus, so each has half of 100 GB/s, but the network's 50 GB/s are shared by two, too: 25. */
START_TEST(routes_through_a_large_fleet)
{
    world w = world_of(TWO(STATED), 1, GSRT_ALGORITHM_NONE);
    gsrt_derivation why;
    (void)gsrt_fleet_free(w.fleet);
    gsrt_findings_fini(&w.findings);
    ck_assert_int_eq(read_fleet(LARGE, CATALOGUE, &w.fleet, &w.findings), GSRT_OK);
    gsrt_deployment_stage *stage = &w.deployment->pools[0].stages[0];
    stage->members[0].part = gsrt_fleet_part_named(w.fleet, "gpu");
    stage->members[0].instance_count = 16;
    stage->algorithm = GSRT_ALGORITHM_RING;
    for (uint32_t i = 0; i < w.deployment->region_count; i++)
        w.deployment->choices[i].compute = GSRT_FORMAT_BF16;
    gsrt_derivation_init(&why);
    gsrt_cost cost = predict(&w, &why);
    double out_of_a_node = 0, latency = 0;
    for (uint32_t i = 0; i < why.count; i++) {
        if (strcmp(why.nodes[i].name, "pool 0 stage 0 decode: bandwidth out of a node") == 0)
            out_of_a_node = why.nodes[i].value.value;
        if (strcmp(why.nodes[i].name, "pool 0 stage 0 decode: latency") == 0 && why.nodes[i].value.value > latency)
            latency = why.nodes[i].value.value;
    }
    ck_assert_msg(is_near(out_of_a_node, 8 * 25e9), "%.17g", out_of_a_node);
    ck_assert_msg(fabs(latency - 5.8e-6) < 1e-12, "%.17g", latency); /* 0.9 + 2 + 2 + 0.9 us */
    gsrt_cost_fini(&cost);
    gsrt_derivation_fini(&why);
    /* the two last of the first rack are no neighbours of the next rack's: no link says what its latency is */
    stage->members[0].instance_first = 120;
    cost = predict(&w, NULL);
    ck_assert(!cost.decode_step.is_known);
    gsrt_cost_fini(&cost);
    /* more than there are: nothing to reach */
    stage->members[0].instance_first = 16380;
    cost = predict(&w, NULL);
    ck_assert(!cost.decode_step.is_known && cost.values[GSRT_MEASURE_MEMORY][0].is_known);
    gsrt_cost_fini(&cost);
    world_end(&w);
}
END_TEST

/* A prefill pool and a
 * decode pool: the slower sets the rate. */
START_TEST(pools_of_one_phase)
{
    world w = world_of(TWO(STATED), 1, GSRT_ALGORITHM_NONE);
    gsrt_cost whole = predict(&w, NULL);
    gsrt_deployment *apart = gsrt_deployment_create(w.workload, 2);
    apart->context_max = 16;
    for (uint32_t p = 0; p < 2; p++) {
        ck_assert_int_eq(gsrt_deployment_add_stages(apart, p, 1), GSRT_OK);
        ck_assert_int_eq(gsrt_deployment_add_members(apart, p, 0, 1), GSRT_OK);
        gsrt_deployment_stage *stages = apart->pools[p].stages;
        gsrt_deployment_members *members = stages[0].members;
        apart->pools[p] = w.deployment->pools[0];
        apart->pools[p].stages = stages;
        apart->pools[p].phases = p == 0 ? GSRT_PHASE_PREFILL : GSRT_PHASE_DECODE;
        stages[0] = w.deployment->pools[0].stages[0];
        stages[0].members = members;
        members[0] = w.deployment->pools[0].stages[0].members[0];
        members[0].instance_first = p;
    }
    (void)gsrt_deployment_free(w.deployment);
    w.deployment = apart;
    gsrt_cost cost = predict(&w, NULL);
    double prefills = 1 / (2 * whole.prefill_step.value), decodes = 2 / (4 * whole.decode_step.value);
    ck_assert(is_near(cost.values[GSRT_MEASURE_THROUGHPUT][0].value, 4 * fmin(prefills, decodes)));
    ck_assert(is_near(cost.values[GSRT_MEASURE_TPOT][0].value, whole.decode_step.value));
    ck_assert(cost.values[GSRT_MEASURE_TTFT][0].value > 2 * whole.prefill_step.value + 2e-6); /* KV travels */
    ck_assert_uint_eq(cost.memory_count, 2);
    gsrt_cost_fini(&cost);
    gsrt_cost_fini(&whole);
    world_end(&w);
}
END_TEST

/* No value is below what the exported rates allow. */
START_TEST(bounds_hold)
{
    world w = world_of(TWO(STATED), 1, GSRT_ALGORITHM_NONE);
    gsrt_cost_profile *profile = gsrt_cost_profile_create(w.workload, w.fleet);
    uint32_t gpu = gsrt_fleet_part_named(w.fleet, "gpu");
    gsrt_quantity bandwidth = gsrt_cost_bandwidth(profile, gpu, GSRT_COST_SOURCED);
    gsrt_quantity rate = gsrt_cost_rate(w.fleet, gpu, GSRT_CLASS_MATMUL, GSRT_FORMAT_F32, GSRT_COST_SOURCED);
    ck_assert_double_eq(bandwidth.value, 0.8e9);
    ck_assert(is_near(rate.value, 0.77e12));
    ck_assert(!gsrt_cost_rate(w.fleet, gpu, GSRT_CLASS_MATMUL, GSRT_FORMAT_F8, GSRT_COST_SOURCED).is_known);
    gsrt_cost cost = predict(&w, NULL);
    ck_assert(cost.decode_step.value >= 640 / bandwidth.value);
    gsrt_cost_fini(&cost);
    (void)gsrt_cost_profile_free(profile);
    world_end(&w);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {equations_by_hand,
                            every_equation_has_an_example_a_formula_and_a_source,
                            directions_are_as_stated,
                            unknown_stays_unknown,
                            intervals,
                            a_decode_step_by_hand,
                            an_interval_by_hand,
                            what_libraries_add,
                            exchanges_by_hand,
                            offloaded_kv_by_hand,
                            parts_of_the_context_by_hand,
                            what_nobody_stated_is_unknown,
                            the_derivation_is_the_prediction,
                            influences_are_ordered,
                            open_traffic,
                            servers_that_prefill_first,
                            prompts_that_gather,
                            experts_by_libraries,
                            routes_through_a_large_fleet,
                            pools_of_one_phase,
                            bounds_hold};
    return unit_run("cost", tests, sizeof tests / sizeof tests[0]);
}
