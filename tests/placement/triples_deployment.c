/* A deployment at random, without any sense but with a shape: engines that exist, none twice, layers in order. */
#include "tests/placement/triples.h"

#include "tests/unit.h"

/* What is drawn from. */
typedef struct drawing {
    const triple *t;
    dice d;
    gsrt_deployment *out;
    uint64_t used[64]; /* of each part: instances that have a seat */
} drawing;

static uint64_t room_of(const drawing *x, uint32_t part)
{
    const gsrt_part *p = &x->t->fleet->parts[part];
    return p->kind == GSRT_PART_ENGINE && part < 64 ? p->total - x->used[part] : 0;
}

/* Some engines that are left, for each replica; false: none are. */
static bool draw_members(drawing *x, uint64_t replicas, gsrt_deployment_members *out)
{
    uint32_t part = dice_below(&x->d, x->t->fleet->part_count);
    for (uint32_t i = 0; i < x->t->fleet->part_count; i++, part = (part + 1) % x->t->fleet->part_count) {
        uint64_t most = room_of(x, part) / replicas;
        if (most == 0)
            continue;
        uint32_t count = 1 + dice_below(&x->d, (uint32_t)(most < 4 ? most : 4));
        *out = (gsrt_deployment_members){.part = part, .instance_first = x->used[part], .instance_count = count};
        out->block_replicas = replicas;
        out->share = dice_below(&x->d, 10) == 0 ? 0 : 1 + dice_below(&x->d, 5);
        x->used[part] += count * replicas;
        return true;
    }
    return false;
}

static uint32_t divisor_of(dice *d, uint32_t width, uint32_t most)
{
    uint32_t divisor = 1 + dice_below(d, most < width ? most : width);
    return width % divisor == 0 && dice_chance(d, 40) ? divisor : 1;
}

static bool draw_stage(drawing *x, uint32_t pool, uint32_t s)
{
    gsrt_deployment_pool *p = &x->out->pools[pool];
    gsrt_deployment_stage *stage = &p->stages[s];
    uint32_t width = 0, experts = x->t->shape.experts, count = 1 + (dice_chance(&x->d, 30) ? 1u : 0u);
    gsrt_deployment_members drawn[2];
    for (uint32_t m = 0; m < count; m++) {
        if (!draw_members(x, p->replica_count, &drawn[m]))
            count = m;
        else
            width += drawn[m].instance_count;
    }
    if (count == 0)
        return false;
    drawn[0].share += drawn[0].share == 0 ? 1 : 0;
    ck_assert_int_eq(gsrt_deployment_add_members(x->out, pool, s, count), GSRT_OK);
    for (uint32_t m = 0; m < count; m++)
        stage->members[m] = drawn[m];
    stage->data_width = count == 1 ? divisor_of(&x->d, width, p->batch_max) : 1;
    stage->expert_width = experts > 0 ? divisor_of(&x->d, width, experts) : 1;
    bool has_parts = x->t->problem.demand.context_parallel;
    stage->context_width = has_parts ? divisor_of(&x->d, width / stage->data_width, width / stage->data_width) : 1;
    stage->algorithm =
        width == 1 ? GSRT_ALGORITHM_NONE : (gsrt_collective_algorithm)(1 + dice_below(&x->d, GSRT_ALGORITHM_COUNT - 1));
    stage->overlaps = dice_chance(&x->d, 20);
    return true;
}

static bool draw_pool(drawing *x, uint32_t pool)
{
    gsrt_deployment_pool *p = &x->out->pools[pool];
    uint32_t layers = x->t->workload->layer_count, stages = 1 + dice_below(&x->d, layers < 3 ? layers : 3);
    p->replica_count = 1 + dice_below(&x->d, 2);
    p->batch_max = 1u << dice_below(&x->d, 7);
    p->prefill_tokens = 1u << dice_below(&x->d, 11);
    p->power_cap_w = dice_chance(&x->d, 20) ? dice_between(&x->d, 50, 500) : 0;
    p->draft_tokens = dice_chance(&x->d, 20) ? dice_below(&x->d, 5) : 0;
    p->kv_offload = x->t->problem.demand.kv_offload ? dice_below(&x->d, GSRT_KV_OFFLOAD_PARTS + 1) : 0;
    ck_assert_int_eq(gsrt_deployment_add_stages(x->out, pool, stages), GSRT_OK);
    for (uint32_t s = 0; s < stages; s++) {
        p->stages[s].layer_first = layers * s / stages;
        p->stages[s].layer_last = layers * (s + 1) / stages - 1;
        if (!draw_stage(x, pool, s))
            return false;
    }
    return true;
}

static void draw_choices(drawing *x)
{
    static const gsrt_dtype weights[] = {GSRT_DTYPE_Q8_0, GSRT_DTYPE_Q4_0, GSRT_DTYPE_F8_E4M3, GSRT_DTYPE_F16};
    static const gsrt_dtype states[] = {GSRT_DTYPE_F16, GSRT_DTYPE_F8_E4M3, GSRT_DTYPE_Q8_0};
    bool is_native = dice_chance(&x->d, 40), is_narrow = dice_chance(&x->d, 40), has_states = dice_chance(&x->d, 30);
    gsrt_dtype weight = weights[dice_below(&x->d, 4)], state = states[dice_below(&x->d, 3)];
    for (uint32_t r = 0; r < x->out->region_count; r++) {
        gsrt_region_choice *choice = &x->out->choices[r];
        if (is_native)
            choice->arithmetic = GSRT_ARITHMETIC_NATIVE;
        if (is_narrow && dice_chance(&x->d, 90)) {
            choice->weights_are_as_given = false;
            choice->weights = weight;
        }
        if (has_states && dice_chance(&x->d, 90)) {
            choice->state_is_as_given = false;
            choice->state = state;
        }
        choice->compute =
            is_native && dice_chance(&x->d, 80) ? GSRT_FORMAT_BF16 : gsrt_region_compute(x->t->workload, r, choice);
    }
}

gsrt_deployment *triple_deploy(const triple *drawn, dice d)
{
    uint32_t pools = dice_chance(&d, 25) ? 2 : 1;
    drawing x = {.t = drawn, .d = d, .out = gsrt_deployment_create(drawn->workload, pools)};
    ck_assert_ptr_nonnull(x.out);
    x.out->context_max = 1 + dice_below(&x.d, drawn->workload->context_max);
    draw_choices(&x);
    for (uint32_t p = 0; p < pools; p++) {
        x.out->pools[p].phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
        if (pools == 2 && dice_chance(&x.d, 70))
            x.out->pools[p].phases = p == 0 ? GSRT_PHASE_PREFILL : GSRT_PHASE_DECODE;
        if (!draw_pool(&x, p))
            return gsrt_deployment_free(x.out);
    }
    return x.out;
}
