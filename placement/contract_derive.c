/* From a deployment to its transformations: what it does that the workload does not say. */
#include "placement/contract_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { REGION_TRANSFORMATIONS_MAX = 64, NAME_BYTES_MAX = 600 };

/* What one region is made of, while it is looked at. */
typedef struct deriving {
    const gsrt_workload *workload;
    const gsrt_fleet *fleet;
    const gsrt_deployment *deployment;
    gsrt_arena *arena;
    uint32_t region;
    gsrt_transformation items[REGION_TRANSFORMATIONS_MAX];
    uint32_t count;
    const gsrt_part *native_part; /* whose name of native kernels the next is */
    const char *native_name;
    gsrt_status status;
} deriving;

/* Is there one of this kind and name? */
static bool is_there(const deriving *d, gsrt_transformation_kind kind, const char *name)
{
    for (uint32_t i = 0; i < d->count; i++) {
        const gsrt_transformation *t = &d->items[i];
        if (t->kind == kind && (t->name == name || strcmp(t->name, name) == 0))
            return true;
    }
    return false;
}

/* name: static, or of the arena. */
static void add_kept(deriving *d, gsrt_transformation_kind kind, gsrt_effect_class effect, const char *name)
{
    if (name != NULL && is_there(d, kind, name))
        return;
    if (name == NULL || d->count == REGION_TRANSFORMATIONS_MAX)
        d->status = GSRT_ENOMEM;
    else
        d->items[d->count++] = (gsrt_transformation){.name = name,
                                                     .kind = kind,
                                                     .region = d->region,
                                                     .effect = effect,
                                                     .is_proved = effect == GSRT_EFFECT_EXACT};
}

/* Add one unless it is there. name NULL: the registry's; else it is copied. */
static void add(deriving *d, gsrt_transformation_kind kind, gsrt_effect_class effect, const char *name)
{
    if (name == NULL)
        add_kept(d, kind, effect, gsrt_transformation_of(kind)->name);
    else if (!is_there(d, kind, name))
        add_kept(d, kind, effect, gsrt_arena_copy_text(d->arena, name, strlen(name)));
}

/* ---- formats ---- */

static double bits_of(gsrt_dtype dtype)
{
    return 8.0 * (double)gsrt_dtype_block_bytes(dtype) / (double)gsrt_dtype_block(dtype);
}

/* f16 and bf16 hold other values than each other; both are values of f32. */
static gsrt_effect_class effect_of(gsrt_dtype from, gsrt_dtype to)
{
    if ((from == GSRT_DTYPE_F16 || from == GSRT_DTYPE_BF16) && to == GSRT_DTYPE_F32)
        return GSRT_EFFECT_EXACT;
    return bits_of(to) <= bits_of(from) ? GSRT_EFFECT_NARROWED : GSRT_EFFECT_APPROXIMATE;
}

static void add_formats(deriving *d, gsrt_transformation_kind kind, gsrt_dtype from, gsrt_dtype to)
{
    char name[NAME_BYTES_MAX];
    if (from == to)
        return;
    (void)snprintf(name, sizeof name, "%s:%s->%s", gsrt_transformation_of(kind)->name, gsrt_dtype_name(from),
                   gsrt_dtype_name(to));
    add(d, kind, effect_of(from, to), name);
}

static uint32_t format_bits(gsrt_format format)
{
    switch (format) {
    case GSRT_FORMAT_F64: return 64;
    case GSRT_FORMAT_F32: return 32;
    case GSRT_FORMAT_TF32: return 19;
    case GSRT_FORMAT_BF16:
    case GSRT_FORMAT_F16: return 16;
    case GSRT_FORMAT_F8:
    case GSRT_FORMAT_I8: return 8;
    case GSRT_FORMAT_F6: return 6;
    case GSRT_FORMAT_F4:
    case GSRT_FORMAT_I4: return 4;
    case GSRT_FORMAT_COUNT: break;
    }
    return 0;
}

static void derive_choice(deriving *d)
{
    const gsrt_workload *w = d->workload;
    const gsrt_region *region = &w->regions[d->region];
    const gsrt_region_choice *choice = &d->deployment->choices[d->region];
    bool has_products = false;
    for (uint32_t i = 0; i < region->op_count; i++) {
        const gsrt_op *op = &w->ops[region->op_first + i];
        has_products = has_products || op->kind == GSRT_OP_LINEAR || op->kind == GSRT_OP_LOGITS ||
                       op->kind == GSRT_OP_EXPERT_LINEAR || op->kind == GSRT_OP_LATENT_ATTENTION;
        if (op->tensor != GSRT_NO_INDEX)
            add_formats(d, GSRT_TRANSFORMATION_WEIGHTS, w->tensors[op->tensor].dtype,
                        gsrt_choice_weights(choice, w, op));
    }
    for (uint32_t i = 0; i < region->op_count; i++) {
        uint32_t state = w->ops[region->op_first + i].state;
        if (state != GSRT_NO_INDEX && !choice->state_is_as_given)
            add_formats(d, GSRT_TRANSFORMATION_STATE, w->states[state].dtype, choice->state);
    }
    gsrt_format canonical = gsrt_region_compute(w, d->region, choice);
    if (has_products && choice->compute != canonical) {
        char name[NAME_BYTES_MAX];
        (void)snprintf(name, sizeof name, "compute:%s->%s", gsrt_format_word(canonical),
                       gsrt_format_word(choice->compute));
        add(d, GSRT_TRANSFORMATION_COMPUTE,
            format_bits(choice->compute) < format_bits(canonical) ? GSRT_EFFECT_NARROWED : GSRT_EFFECT_APPROXIMATE,
            name);
    }
}

/* ---- kernels ---- */

bool gsrt__contract_part_is_canonical(const gsrt_part *part)
{
    for (uint32_t i = 0; i < part->software_count; i++) {
        if (strcmp(part->software[i].name, GSRT_CANONICAL_SOFTWARE) == 0)
            return true;
    }
    return false;
}

/* "kernels:native:attention 3+driver 1.2"; NULL: no memory. */
static const char *native_name_of(const deriving *d, const gsrt_part *part)
{
    char name[NAME_BYTES_MAX];
    int used = snprintf(name, sizeof name, "%s", gsrt_transformation_of(GSRT_TRANSFORMATION_NATIVE)->name);
    for (uint32_t i = 0; i < part->software_count && used > 0 && (size_t)used < sizeof name; i++) {
        const gsrt_software *s = &part->software[i];
        used += snprintf(name + used, sizeof name - (size_t)used, "%s%s%s%s", i == 0 ? ":" : "+", s->name,
                         s->version[0] == 0 ? "" : " ", s->version);
    }
    return gsrt_arena_copy_text(d->arena, name, strlen(name));
}

static void add_native(deriving *d, const gsrt_part *part)
{
    if (d->native_part != part)
        d->native_name = native_name_of(d, part);
    d->native_part = part;
    add_kept(d, GSRT_TRANSFORMATION_NATIVE, GSRT_EFFECT_REORDERED, d->native_name);
}

static void derive_kernels(deriving *d, const gsrt_deployment_stage *stage)
{
    bool is_native = d->deployment->choices[d->region].arithmetic == GSRT_ARITHMETIC_NATIVE;
    for (uint32_t m = 0; m < stage->member_count; m++) {
        const gsrt_part *part = &d->fleet->parts[stage->members[m].part];
        if (is_native)
            add_native(d, part);
        else if (!gsrt__contract_part_is_canonical(part))
            add(d, GSRT_TRANSFORMATION_UNPROVEN, GSRT_EFFECT_REORDERED, NULL);
    }
}

/* ---- stages ---- */

bool gsrt__contract_stage_runs(const gsrt_workload *workload, uint32_t region, const gsrt_deployment_pool *pool,
                               uint32_t stage)
{
    uint32_t layer = workload->regions[region].layer;
    if (layer != GSRT_NO_INDEX)
        return pool->stages[stage].layer_first <= layer && layer <= pool->stages[stage].layer_last;
    for (uint32_t r = 0; r < region; r++) {
        if (workload->regions[r].layer != GSRT_NO_INDEX)
            return stage == pool->stage_count - 1;
    }
    return stage == 0;
}

bool gsrt__contract_region_sums(const gsrt_workload *workload, uint32_t region)
{
    const gsrt_region *r = &workload->regions[region];
    for (uint32_t i = 0; i < r->op_count; i++) {
        switch (workload->ops[r->op_first + i].kind) {
        case GSRT_OP_RMSNORM:
        case GSRT_OP_LAYERNORM:
        case GSRT_OP_LINEAR:
        case GSRT_OP_LOGITS:
        case GSRT_OP_ATTENTION:
        case GSRT_OP_LATENT_ATTENTION:
        case GSRT_OP_ROUTE:
        case GSRT_OP_EXPERT_LINEAR:
        case GSRT_OP_COMBINE: return true;
        case GSRT_OP_EMBED:
        case GSRT_OP_ROPE:
        case GSRT_OP_SWIGLU:
        case GSRT_OP_ADD:
        case GSRT_OP_POSITION:
        case GSRT_OP_SCALE:
        case GSRT_OP_GELU:
        case GSRT_OP_GEGLU: break;
        }
    }
    return false;
}

/* With canonical kernels it is exact; with others its proof is gone. */
static void add_canonical(deriving *d, gsrt_transformation_kind kind)
{
    bool is_canonical = d->deployment->choices[d->region].arithmetic == GSRT_ARITHMETIC_CANONICAL;
    add(d, kind, is_canonical ? GSRT_EFFECT_EXACT : GSRT_EFFECT_REORDERED, NULL);
}

static void derive_exchange(deriving *d, const gsrt_deployment_stage *stage)
{
    static const gsrt_transformation_kind kinds[GSRT_ALGORITHM_COUNT] = {
        [GSRT_ALGORITHM_GATHER] = GSRT_TRANSFORMATION_GATHER, [GSRT_ALGORITHM_SUBTREES] = GSRT_TRANSFORMATION_SUBTREES,
        [GSRT_ALGORITHM_RING] = GSRT_TRANSFORMATION_RING,     [GSRT_ALGORITHM_TREE] = GSRT_TRANSFORMATION_TREE,
        [GSRT_ALGORITHM_SWITCH] = GSRT_TRANSFORMATION_SWITCH,
    };
    if (gsrt_deployment_stage_width(stage) <= 1 || stage->algorithm == GSRT_ALGORITHM_NONE)
        return;
    gsrt_transformation_kind kind = kinds[stage->algorithm];
    if (gsrt_transformation_of(kind)->effect == GSRT_EFFECT_EXACT)
        add_canonical(d, kind);
    else if (gsrt__contract_region_sums(d->workload, d->region))
        add(d, kind, GSRT_EFFECT_REORDERED, NULL);
}

static bool has_op(const gsrt_workload *w, uint32_t region, gsrt_op_kind kind)
{
    for (uint32_t i = 0; i < w->regions[region].op_count; i++) {
        if (w->ops[w->regions[region].op_first + i].kind == kind)
            return true;
    }
    return false;
}

static bool has_attention(const gsrt_workload *w, uint32_t region)
{
    return has_op(w, region, GSRT_OP_ATTENTION) || has_op(w, region, GSRT_OP_LATENT_ATTENTION);
}

/* Calls `look` for each stage of each pool that computes the region. */
static void for_stages(deriving *d, void (*look)(deriving *, const gsrt_deployment_stage *))
{
    for (uint32_t p = 0; p < d->deployment->pool_count; p++) {
        const gsrt_deployment_pool *pool = &d->deployment->pools[p];
        for (uint32_t s = 0; s < pool->stage_count; s++) {
            if (gsrt__contract_stage_runs(d->workload, d->region, pool, s))
                look(d, &pool->stages[s]);
        }
    }
}

static void derive_split(deriving *d, const gsrt_deployment_stage *stage)
{
    if (stage->context_width > 1 && has_attention(d->workload, d->region))
        add(d, GSRT_TRANSFORMATION_CONTEXT, GSRT_EFFECT_REORDERED, NULL);
    if (stage->expert_width > 1 && has_op(d->workload, d->region, GSRT_OP_EXPERT_LINEAR))
        add_canonical(d, GSRT_TRANSFORMATION_EXPERTS);
    if (stage->data_width > 1)
        add_canonical(d, GSRT_TRANSFORMATION_DATA);
    if (stage->overlaps)
        add_canonical(d, GSRT_TRANSFORMATION_OVERLAP);
}

static bool has_phases(const gsrt_deployment *deployment, uint32_t phases)
{
    for (uint32_t p = 0; p < deployment->pool_count; p++) {
        if (deployment->pools[p].phases == phases)
            return true;
    }
    return false;
}

/* What follows from the pools, for a region that keeps state or not. */
static void derive_pools(deriving *d)
{
    const gsrt_deployment *deployment = d->deployment;
    const gsrt_region *region = &d->workload->regions[d->region];
    bool has_state = (region->effects & (GSRT_EFFECT_READS_STATE | GSRT_EFFECT_WRITES_STATE)) != 0;
    uint64_t replica_count = 0;
    bool is_batched = false, is_chunked = false, is_drafted = false, is_piped = false, is_offloaded = false;
    for (uint32_t p = 0; p < deployment->pool_count; p++) {
        const gsrt_deployment_pool *pool = &deployment->pools[p];
        replica_count += pool->replica_count;
        is_batched = is_batched || pool->batch_max > 1;
        is_chunked =
            is_chunked || ((pool->phases & GSRT_PHASE_PREFILL) != 0 && pool->prefill_tokens < deployment->context_max);
        is_drafted = is_drafted || pool->draft_tokens > 0;
        is_piped = is_piped || pool->stage_count > 1;
        is_offloaded = is_offloaded || pool->kv_offload > 0;
    }
    if (is_batched)
        add_canonical(d, GSRT_TRANSFORMATION_BATCH);
    if (is_chunked)
        add_canonical(d, GSRT_TRANSFORMATION_CHUNKS);
    if (is_drafted)
        add_canonical(d, GSRT_TRANSFORMATION_DRAFT);
    if (is_piped)
        add(d, GSRT_TRANSFORMATION_PIPELINE, GSRT_EFFECT_EXACT, NULL);
    if (replica_count > 1)
        add(d, GSRT_TRANSFORMATION_REPLICAS, GSRT_EFFECT_EXACT, NULL);
    if (has_state && has_phases(deployment, GSRT_PHASE_PREFILL) && has_phases(deployment, GSRT_PHASE_DECODE))
        add(d, GSRT_TRANSFORMATION_TRANSFER, GSRT_EFFECT_EXACT, NULL);
    if (has_state && is_offloaded)
        add(d, GSRT_TRANSFORMATION_OFFLOAD, GSRT_EFFECT_EXACT, NULL);
}

static void derive_region(deriving *d)
{
    d->count = 0;
    if (!d->workload->regions[d->region].is_deterministic)
        add(d, GSRT_TRANSFORMATION_OPS, GSRT_EFFECT_REORDERED, NULL);
    derive_choice(d);
    for_stages(d, derive_kernels);
    for_stages(d, derive_exchange);
    for_stages(d, derive_split);
    derive_pools(d);
}

gsrt_status gsrt__contract_derive(const gsrt_workload *workload, const gsrt_fleet *fleet,
                                  const gsrt_deployment *deployment, gsrt_arena *arena, const gsrt_transformation **out,
                                  uint32_t *out_count)
{
    deriving d = {.workload = workload, .fleet = fleet, .deployment = deployment, .arena = arena};
    uint32_t capacity = 0, count = 0;
    gsrt_transformation *items = NULL;
    for (d.region = 0; d.region < workload->region_count && d.status == GSRT_OK; d.region++) {
        derive_region(&d);
        if (count + d.count > capacity) {
            capacity = 2 * capacity + d.count * (workload->region_count - d.region);
            gsrt_transformation *more = gsrt_arena_take(arena, capacity, sizeof *more);
            if (more == NULL)
                return GSRT_ENOMEM;
            if (count > 0)
                memcpy(more, items, count * sizeof *items);
            items = more;
        }
        if (d.count > 0)
            memcpy(items + count, d.items, d.count * sizeof *items);
        count += d.count;
    }
    *out = items;
    *out_count = count;
    return d.status;
}

gsrt_status gsrt_contract_choices(const gsrt_workload *workload, const gsrt_region_choice *choices, gsrt_arena *arena,
                                  const gsrt_transformation **out, uint32_t *out_count)
{
    /* On no engines: what is left is what the choices say. They are not written. */
    const gsrt_deployment nowhere = {.choices = (gsrt_region_choice *)(uintptr_t)choices,
                                     .region_count = workload->region_count};
    return gsrt__contract_derive(workload, NULL, &nowhere, arena, out, out_count);
}
