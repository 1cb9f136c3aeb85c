#include "tests/placement/triples.h"

#include "base/buffer.h"
#include "placement/workload_totals.h"
#include "tests/placement/fleets.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TODAY = 20000, SITES_MAX = 2, KINDS_MAX = 3 }; /* 2024-10-04 */

/* Streams of dice: what is drawn in one does not move what is drawn in another. */
enum { STREAM_MODEL = 1, STREAM_FLEET, STREAM_CONTRACT, STREAM_TASK, STREAM_TIERS };

/* ---- the workload ---- */

static model_shape draw_shape(dice *d)
{
    static const uint32_t dims[] = {512, 1024, 2048}, vocabs[] = {1000, 4096, 32000}, windows[] = {0, 0, 128, 300};
    static const gsrt_dtype formats[] = {GSRT_DTYPE_F32,  GSRT_DTYPE_F16,  GSRT_DTYPE_BF16,
                                         GSRT_DTYPE_BF16, GSRT_DTYPE_Q8_0, GSRT_DTYPE_F8_E4M3};
    model_shape s = {.layers = 1 + dice_below(d, 4), .dim = dims[dice_below(d, 3)], .head_dim = 64};
    s.heads = s.dim / s.head_dim;
    s.kv_heads = s.heads >> dice_below(d, 4);
    s.ffn = s.dim * (2 + dice_below(d, 3)) - (dice_chance(d, 20) ? 32 * dice_below(d, 8) : 0);
    s.vocab = vocabs[dice_below(d, 3)];
    s.context = 512u << dice_below(d, 4);
    if (dice_chance(d, 30)) {
        s.experts = 4u << dice_below(d, 3);
        s.chosen = 1 + dice_below(d, 3);
        s.ffn = s.ffn / 128 * 32;
    }
    s.latent = dice_chance(d, 15) ? 128u : 0u;
    s.window = windows[dice_below(d, 4)];
    s.weights = formats[dice_below(d, 6)];
    s.state = dice_chance(d, 40) ? GSRT_DTYPE_F32 : GSRT_DTYPE_F16;
    s.is_tied = dice_chance(d, 30);
    s.is_rigid = dice_chance(d, 10);
    s.has_weights = dice_chance(d, 50);
    if (dice_chance(d, 30)) { /* what the runtime executes */
        s.experts = s.chosen = s.latent = s.window = 0;
        s.weights = dice_chance(d, 50) ? GSRT_DTYPE_F16 : GSRT_DTYPE_Q8_0;
        s.state = GSRT_DTYPE_F32;
        s.has_weights = true;
    }
    return s;
}

/* ---- the fleet ---- */

typedef struct inventory {
    dice d;
    gsrt_buffer text;
    uint32_t site_count, kind_count;
    uint32_t site_of[KINDS_MAX]; /* of a kind of engine */
    bool shares_memory[KINDS_MAX];
    double weight_bytes;
    bool is_spotless; /* nothing is missing, expired or untrusted */
    bool has_tiers;   /* engines reach memories besides their own */
} inventory;

static void print(inventory *i, const char *format, ...) GSRT_PRINTF(2, 3);
static void print(inventory *i, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    ck_assert_int_eq(gsrt_buffer_append(&i->text, line, strlen(line)), GSRT_OK);
}

/* ", key: value", which now and then is missing, or has expired. */
static void print_quantity(inventory *i, const char *key, double value, const char *unit)
{
    uint32_t luck = i->is_spotless ? 99 : dice_below(&i->d, 100);
    if (luck == 0)
        return;
    if (luck == 1)
        print(i, ", %s: {value: \"%.6g %s\", until: 2020-01-01}", key, value, unit);
    else if (luck < 10)
        print(i, ", %s: \"%.6g %s [%.6g, %.6g]\"", key, value, unit, value * 0.9, value * 1.1);
    else
        print(i, ", %s: \"%.6g %s\"", key, value, unit);
}

static void print_trust(inventory *i)
{
    if (!i->is_spotless && dice_chance(&i->d, 6))
        print(i, ", trust: tenant");
}

static void print_places(inventory *i)
{
    print(i, "places:\n");
    for (uint32_t s = 0; s < i->site_count; s++) {
        print(i, "  - {name: site%u, kind: region}\n", s);
        print(i, "  - {name: rack%u, kind: rack, in: site%u, count: %u", s, s, dice_chance(&i->d, 10) ? 2u : 1u);
        if (dice_chance(&i->d, 30))
            print_quantity(i, "power_budget", dice_between(&i->d, 500, 4000), "W");
        if (dice_chance(&i->d, 15))
            print_quantity(i, "cooling_budget", dice_between(&i->d, 500, 4000), "W");
        print_quantity(i, "energy_price", 0.1, "$/kWh");
        print(i, "}\n  - {name: node%u, kind: node, in: %s, count: %u", s,
              dice_chance(&i->d, 20) ? (s == 0 ? "[rack0, feed0]" : "[rack1, feed1]") : (s == 0 ? "rack0" : "rack1"),
              dice_chance(&i->d, 30) ? 2u : 1u);
        print_trust(i);
        print(i, "}\n  - {name: feed%u, kind: power, in: site%u", s, s);
        if (dice_chance(&i->d, 50))
            print_quantity(i, "power_budget", dice_between(&i->d, 500, 4000), "W");
        print(i, "}\n");
    }
}

static void print_rates(inventory *i)
{
    double base = exp2(dice_between(&i->d, 0, 6)); /* TFLOPS */
    print(i, ", rates: {matmul: {f32: \"%.6g TFLOPS\"", base);
    if (dice_chance(&i->d, 80))
        print_quantity(i, "bf16", base * 4, "TFLOPS");
    if (dice_chance(&i->d, 60))
        print_quantity(i, "f16", base * 4, "TFLOPS");
    if (dice_chance(&i->d, 75))
        print_quantity(i, "i8", base * 8, "TOPS");
    if (dice_chance(&i->d, 30))
        print_quantity(i, "f8", base * 8, "TFLOPS");
    print(i, "}");
    if (dice_chance(&i->d, 15))
        print(i, ", attention: {f32: \"%.6g TFLOPS\"}", base / 2);
    if (i->is_spotless || !dice_chance(&i->d, 4))
        print(i, ", vector: {f32: \"%.6g TFLOPS\"}", base / 2);
    print(i, "}");
}

/* Around what one engine of a few needs: some have room for all, some for a third. */
static double draw_capacity(inventory *i)
{
    return (i->weight_bytes * exp2(dice_between(&i->d, -1.5, 2.5)) + 3e7) / 1e6;
}

static void print_engine(inventory *i, uint32_t kind)
{
    print(i, "  - {name: e%u, kind: engine, in: node%u, count: %u", kind, i->site_of[kind], 1 + dice_below(&i->d, 4));
    print_rates(i);
    i->shares_memory[kind] = dice_chance(&i->d, 10);
    if (!i->shares_memory[kind]) {
        print(i, ", memory: [{tier: hbm");
        print_quantity(i, "capacity", draw_capacity(i), "MB");
        print_quantity(i, "bandwidth", exp2(dice_between(&i->d, 5, 11)), "GB/s");
        print(i, "}]");
    }
    print_quantity(i, "launch_overhead", dice_between(&i->d, 1, 20), "us");
    double watts = dice_between(&i->d, 50, 700);
    print_quantity(i, "power_max", watts, "W");
    print_quantity(i, "power_idle", watts / 8, "W");
    print_quantity(i, "price", dice_between(&i->d, 0.2, 4), "$/h");
    print_quantity(i, "mttf", dice_between(&i->d, 1000, 50000), "h");
    print_trust(i);
    if (dice_chance(&i->d, 88))
        print(i, ", software: {gsrt-canonical: \"1\", blas: \"%u\"}", dice_below(&i->d, 2));
    else if (dice_chance(&i->d, 80))
        print(i, ", software: {blas: \"2\"}");
    print(i, "}\n");
}

static void print_parts(inventory *i)
{
    print(i, "parts:\n");
    for (uint32_t k = 0; k < i->kind_count; k++)
        print_engine(i, k);
    for (uint32_t s = 0; s < i->site_count; s++) {
        print(i, "  - {name: ddr%u, kind: memory, tier: ddr, in: node%u", s, s);
        print_quantity(i, "capacity", draw_capacity(i) * 2, "MB");
        if (i->has_tiers && s == 0)
            print(i, ", bandwidth: \"200 GB/s\"");
        print(i, "}\n  - {name: mesh%u, kind: fabric, in: node%u", s, s);
        print_quantity(i, "bandwidth", exp2(dice_between(&i->d, 5, 11)), "GB/s");
        print_trust(i);
        print(i, "}\n  - {name: nic%u, kind: nic, in: node%u, bandwidth: \"50 GB/s\"}\n", s, s);
        print(i, "  - {name: leaf%u, kind: switch, in: rack%u, bandwidth: \"400 GB/s\"", s, s);
        print_trust(i);
        print(i, "}\n");
        if (i->has_tiers)
            print(i, "  - {name: cxl%u, kind: memory, tier: cxl, in: node%u, count: 2, capacity: \"%.6g MB\"}\n", s, s,
                  i->weight_bytes / 2e6);
    }
}

static void print_link(inventory *i, const char *kind, const char *from, uint32_t from_number, const char *to,
                       uint32_t to_number, double gigabytes, double microseconds)
{
    print(i, "  - {from: %s%u, to: %s%u, kind: %s, both: true", from, from_number, to, to_number, kind);
    print_quantity(i, "bandwidth", gigabytes, "GB/s");
    print_quantity(i, "latency", microseconds, "us");
    print_quantity(i, "energy", 20, "pJ/bit");
    if (!i->is_spotless && dice_chance(&i->d, 3))
        print(i, ", trust: untrusted");
    if (strcmp(to, "mesh") == 0 && dice_chance(&i->d, 30))
        print(i, ", collectives: [all_reduce]");
    print(i, "}\n");
}

static void print_links(inventory *i)
{
    print(i, "links:\n");
    for (uint32_t k = 0; k < i->kind_count; k++) {
        uint32_t s = i->site_of[k];
        if (i->shares_memory[k])
            print_link(i, "memory", "e", k, "ddr", s, dice_between(&i->d, 30, 300), 0.1);
        if (dice_chance(&i->d, 85))
            print_link(i, "coherent", "e", k, "mesh", s, dice_between(&i->d, 20, 400), 1);
        if (dice_chance(&i->d, 80))
            print_link(i, "pcie", "e", k, "nic", s, dice_between(&i->d, 8, 60), 2);
    }
    for (uint32_t s = 0; s < i->site_count; s++)
        print_link(i, "network", "nic", s, "leaf", s, dice_between(&i->d, 3, 50), 3);
    if (i->site_count == 2 && dice_chance(&i->d, 80))
        print_link(i, "wan", "leaf", 0, "leaf", 1, dice_between(&i->d, 1, 10), 1000);
}

/* May KV be offloaded? */
static bool may_offload(uint64_t seed)
{
    return seed % 3 == 0;
}

/* Ways to the memory of the host, which some engines have for their own, and to two others; slower than to their own.
 */
static void print_tiers(inventory *i)
{
    for (uint32_t k = 0; k < i->kind_count; k++) {
        uint32_t s = i->site_of[k];
        if (!i->shares_memory[k] && dice_chance(&i->d, 80))
            print_link(i, dice_chance(&i->d, 50) ? "memory" : "pcie", "e", k, "ddr", s, dice_between(&i->d, 8, 30), 1);
        if (dice_chance(&i->d, 30))
            print_link(i, "pcie", "e", k, "cxl", s, dice_between(&i->d, 8, 30), 2);
    }
}

static void draw_fleet(triple *t, dice d, double weight_bytes)
{
    inventory i = {.d = d, .weight_bytes = weight_bytes, .has_tiers = may_offload(t->seed)};
    gsrt_buffer_init(&i.text, TRIPLE_INVENTORY_BYTES - 1);
    i.site_count = dice_chance(&i.d, 25) ? 2 : 1;
    i.kind_count = dice_chance(&i.d, 15) ? 3 : 1 + dice_below(&i.d, 2);
    i.is_spotless = dice_chance(&i.d, 50);
    for (uint32_t k = 0; k < i.kind_count; k++)
        i.site_of[k] = k < i.site_count ? k : dice_below(&i.d, i.site_count);
    i.site_count = i.kind_count < i.site_count ? i.kind_count : i.site_count;
    print(&i, "gsrt_fleet: 1\nname: drawn\nsource: \"declared: drawn\"\n");
    print_places(&i);
    print_parts(&i);
    print_links(&i);
    i.d = (dice){.seed = t->seed, .stream = STREAM_TIERS};
    if (i.has_tiers)
        print_tiers(&i);
    memcpy(t->inventory, i.text.data, i.text.len);
    t->inventory[i.text.len] = 0;
    gsrt_buffer_fini(&i.text);
    t->fleet = triple_fleet(t);
}

gsrt_fleet *triple_fleet(const triple *drawn)
{
    gsrt_fleet *fleet = NULL;
    gsrt_findings findings;
    char room[4096];
    gsrt_status status = read_fleet(drawn->inventory, NULL, &fleet, &findings);
    ck_assert_msg(status == GSRT_OK && findings.count == 0, "seed %llu: %s\n%s", (unsigned long long)drawn->seed,
                  found(&findings, room, sizeof room), drawn->inventory);
    gsrt_findings_fini(&findings);
    return fleet;
}

/* ---- what is asked ---- */

static gsrt_quantity exactly(double value, gsrt_dimension dimension)
{
    gsrt_quantity q = gsrt_quantity_exact(value, dimension);
    q.valid_from_day = GSRT_DAY_FIRST;
    q.valid_until_day = GSRT_DAY_LAST;
    return q;
}

static gsrt_quantity spread(double value, double width)
{
    gsrt_quantity q = exactly(value, (gsrt_dimension){.token = 1});
    q.lo = value - width;
    q.hi = value + width;
    return q;
}

/* Bounds that some of the plans keep. */
static double draw_bound(dice *d, gsrt_measure measure)
{
    switch (measure) {
    case GSRT_MEASURE_TTFT: return exp2(dice_between(d, -9, 1));
    case GSRT_MEASURE_TPOT: return exp2(dice_between(d, -13, -4));
    case GSRT_MEASURE_LATENCY: return exp2(dice_between(d, -6, 4));
    case GSRT_MEASURE_THROUGHPUT: return exp2(dice_between(d, 6, 16));
    case GSRT_MEASURE_COST: return exp2(dice_between(d, -26, -16));
    case GSRT_MEASURE_ENERGY: return exp2(dice_between(d, -6, 4));
    case GSRT_MEASURE_POWER: return exp2(dice_between(d, 6, 12));
    case GSRT_MEASURE_MEMORY: return dice_between(d, 0.2, 1);
    case GSRT_MEASURE_MTTF: return exp2(dice_between(d, 18, 28));
    case GSRT_MEASURE_COUNT: break;
    }
    return 1;
}

static bool has_percentiles(gsrt_measure measure)
{
    return measure == GSRT_MEASURE_TTFT || measure == GSRT_MEASURE_TPOT || measure == GSRT_MEASURE_LATENCY;
}

static void draw_objective(dice *d, gsrt_objective *objective)
{
    static const gsrt_measure aims[] = {GSRT_MEASURE_TTFT,    GSRT_MEASURE_TPOT,       GSRT_MEASURE_LATENCY,
                                        GSRT_MEASURE_LATENCY, GSRT_MEASURE_THROUGHPUT, GSRT_MEASURE_THROUGHPUT,
                                        GSRT_MEASURE_COST,    GSRT_MEASURE_ENERGY};
    *objective = (gsrt_objective){.measure = aims[dice_below(d, sizeof aims / sizeof aims[0])]};
    if (has_percentiles(objective->measure))
        objective->percentile = (gsrt_percentile)dice_below(d, GSRT_PERCENTILE_COUNT);
    objective->limit_count = dice_chance(d, 60) ? 0 : 1 + dice_below(d, 2);
    for (uint32_t i = 0; i < objective->limit_count; i++) {
        gsrt_measure measure = (gsrt_measure)dice_below(d, GSRT_MEASURE_COUNT);
        objective->limits[i] = (gsrt_objective_limit){.measure = measure};
        if (has_percentiles(measure))
            objective->limits[i].percentile = (gsrt_percentile)dice_below(d, GSRT_PERCENTILE_COUNT);
        objective->limits[i].bound = exactly(draw_bound(d, measure), gsrt_measure_dimension(measure));
    }
}

static void draw_demand(dice *d, const model_shape *shape, gsrt_demand *demand)
{
    double room = shape->context * dice_between(d, 0.1, dice_chance(d, 5) ? 1.5 : 0.95);
    double prompt = 1 + floor(room * dice_between(d, 0.1, 0.9)),
           output = 1 + floor(room - prompt > 0 ? room - prompt : 0);
    *demand = (gsrt_demand){.prompt_tokens = spread(prompt, dice_chance(d, 15) ? floor(prompt / 4) : 0),
                            .output_tokens = spread(output, dice_chance(d, 15) ? floor(output / 4) : 0)};
    if (dice_chance(d, 30))
        demand->arrival = exactly(exp2(dice_between(d, -4, 8)), (gsrt_dimension){.second = -1});
    else
        demand->concurrency = dice_below(d, 4) == 0 ? 0 : 1u << dice_below(d, 7);
    demand->prefix_share = dice_chance(d, 20) ? dice_between(d, 0, 0.9) : 0;
}

static void draw_rules(dice *d, triple *t)
{
    gsrt_policy_rules *rules = &t->problem.rules;
    rules->trust_min = dice_chance(d, 50) ? GSRT_TRUST_OPERATOR : dice_chance(d, 50) ? GSRT_TRUST_TENANT : 0;
    t->regions[0] = dice_chance(d, 80) ? "site0" : "elsewhere";
    t->regions[1] = "site1";
    if (dice_chance(d, 20)) {
        rules->regions_allowed = t->regions;
        rules->region_allowed_count = 1 + dice_below(d, 2);
    }
}

static bool is_executable(const gsrt_workload *workload)
{
    gsrt_diag diag = {0};
    return gsrt_workload_executable(workload, "made", &diag) == GSRT_OK;
}

void triple_draw(uint64_t seed, triple *out)
{
    gsrt_workload_totals totals;
    dice model = {.seed = seed, .stream = STREAM_MODEL}, fleet = {.seed = seed, .stream = STREAM_FLEET};
    dice task = {.seed = seed, .stream = STREAM_TASK};
    *out = (triple){.seed = seed, .shape = draw_shape(&model)};
    out->workload = made_model(&out->shape);
    ck_assert_int_eq(gsrt_workload_totals_of(out->workload, &totals), GSRT_OK);
    draw_fleet(out, fleet, (double)totals.weight_bytes);
    out->problem = (gsrt_search_problem){.workload = out->workload, .fleet = out->fleet, .today = TODAY};
    draw_objective(&task, &out->problem.objective);
    draw_demand(&task, &out->shape, &out->problem.demand);
    out->problem.demand.prefills_first = seed % 3 == 0;
    out->problem.demand.gather_steps = seed % 5 == 0 ? 1 + (uint32_t)(seed / 5 % 32) : 0;
    out->problem.demand.draft_tokens = seed % 4 == 0 ? 1 + (uint32_t)(seed / 4 % 4) : 0;
    out->problem.demand.kv_offload = may_offload(seed);
    out->problem.demand.origin = seed % 5 < 2 ? (seed % 31 == 0 ? "nowhere" : "site0") : NULL;
    out->problem.demand.context_parallel = seed % 3 < 2;
    draw_rules(&task, out);
    out->problem.is_for_execution = dice_chance(&task, is_executable(out->workload) ? 40 : 2);
    out->problem.batch_max = seed % 2 == 0 ? 1 + (uint32_t)(seed / 2 % 19) : 0;
    out->problem.prefill_tokens_max = seed % 3 == 0 ? 7 + (uint32_t)(seed / 3 % 400) : 0;
    gsrt_arena_init(&out->arena, (size_t)1 << 20);
    triple_draw_contract((dice){.seed = seed, .stream = STREAM_CONTRACT}, out);
}

void triple_drop(triple *drawn)
{
    drawn->workload = gsrt_workload_free(drawn->workload);
    drawn->fleet = gsrt_fleet_free(drawn->fleet);
    gsrt_arena_fini(&drawn->arena);
}
