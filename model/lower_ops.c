/* The walk over the op list: one function per kind of op, and the life of the values. */
#include "model/lower_impl.h"
#include "placement/plan_choices.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void lower_embed(gsrt__lowering *l, const gsrt_op *op)
{
    uint16_t out = gsrt__new_slot(l, GSRT_SLOT_F32, l->workload->values[op->out].width);
    gsrt_instr instr = gsrt__blank_instr(GSRT_INSTR_EMBED, GSRT_NO_SLOT, out);
    instr.matrix = gsrt__lower_embedding(l, op);
    gsrt__emit(l, &instr);
    l->held[op->out].whole = out;
}

static void lower_rmsnorm(gsrt__lowering *l, const gsrt_op *op)
{
    uint16_t in = gsrt__need_whole(l, op->in[0]);
    uint16_t out = gsrt__new_slot(l, GSRT_SLOT_F32, l->workload->values[op->out].width);
    gsrt_instr instr = gsrt__blank_instr(GSRT_INSTR_RMSNORM, in, out);
    instr.vector = gsrt__lower_vector(l, op->tensor);
    instr.epsilon = op->epsilon;
    gsrt__emit(l, &instr);
    l->held[op->out].whole = out;
}

/* The slot that holds this member's part of a value: its share, or all where the value is not split. */
static uint16_t own_part(const gsrt__lowering *l, uint32_t value)
{
    return gsrt__is_split(l, value) ? l->held[value].share : l->held[value].whole;
}

static void hold_own_part(gsrt__lowering *l, uint32_t value, uint16_t slot)
{
    if (gsrt__is_split(l, value))
        l->held[value].share = slot;
    else
        l->held[value].whole = slot;
}

static const gsrt_rope_table *rope_of(gsrt__lowering *l, const gsrt_op *op)
{
    const gsrt_rope *r = op->rope;
    gsrt_lowered *out = l->out;
    if (out->rope_count > 0)
        return out->ropes[0]; /* one rotation per model: checked by lower_rope */
    out->ropes = calloc(1, sizeof(gsrt_rope_table *));
    if (out->ropes == NULL) {
        l->status = GSRT_ENOMEM;
        return NULL;
    }
    gsrt_rope_options options = {
        .is_neox = r->is_neox,
        .head_dim = op->head_dim,
        .dim_rotated = r->dim_rotated,
        .base = r->base,
        .scale = r->scale,
        .factors = r->factors_tensor == GSRT_NO_INDEX ? NULL : gsrt__lower_vector(l, r->factors_tensor),
        .is_yarn = r->is_yarn,
        .context_original = r->context_original,
        .yarn_extension_factor = r->yarn_extension_factor,
        .yarn_attention_factor = r->yarn_attention_factor,
        .yarn_beta_fast = r->yarn_beta_fast,
        .yarn_beta_slow = r->yarn_beta_slow,
        .position_count = l->context_max};
    out->ropes[0] = gsrt_rope_table_create(&options);
    if (out->ropes[0] == NULL)
        l->status = GSRT_ENOMEM;
    else
        out->rope_count = 1;
    return out->ropes[0];
}

static void lower_rope(gsrt__lowering *l, const gsrt_op *op)
{
    const gsrt_op *ops = l->workload->ops;
    for (uint32_t i = 0; i < l->workload->op_count; i++) {
        if (ops[i].kind == GSRT_OP_ROPE &&
            (ops[i].head_dim != op->head_dim || memcmp(ops[i].rope, op->rope, sizeof *op->rope) != 0))
            l->status = GSRT_EUNSUPPORTED;
    }
    uint16_t slot = own_part(l, op->in[0]);
    gsrt_instr instr = gsrt__blank_instr(GSRT_INSTR_ROPE, slot, slot);
    instr.head_count = gsrt__share_of(l, op->in[0], l->member).count / op->head_dim;
    instr.head_dim = op->head_dim;
    instr.rope = rope_of(l, op);
    if (instr.head_count > 0)
        gsrt__emit(l, &instr);
    if (op->out != op->in[0]) {
        hold_own_part(l, op->out, slot);
        l->held[op->in[0]].share = l->held[op->in[0]].whole = GSRT_NO_SLOT;
    }
}

static void lower_attention(gsrt__lowering *l, const gsrt_op *op)
{
    gsrt__range q = gsrt__share_of(l, op->in[0], l->member), kv = gsrt__share_of(l, op->in[1], l->member);
    uint32_t head_first = q.first / op->head_dim, kv_first = kv.first / op->head_dim;
    uint16_t out = gsrt__new_slot(l, GSRT_SLOT_F32, q.count);
    gsrt_instr instr = gsrt__blank_instr(GSRT_INSTR_ATTENTION, own_part(l, op->in[0]), out);
    instr.in[1] = own_part(l, op->in[1]);
    instr.in[2] = own_part(l, op->in[2]);
    instr.scale = op->scale;
    instr.head_dim = op->head_dim;
    instr.head_count = q.count / op->head_dim;
    instr.kv_head_count = kv.count / op->head_dim;
    instr.kv_layer = op->layer - l->stage->layer_first;
    uint16_t *kv_of_head = gsrt_arena_take(&l->out->arena, instr.head_count + 1, sizeof *kv_of_head);
    if (kv_of_head == NULL) {
        l->status = GSRT_ENOMEM;
        return;
    }
    for (uint32_t h = 0; h < instr.head_count; h++)
        kv_of_head[h] = (uint16_t)(gsrt_kv_head_of(l->workload, head_first + h) - kv_first);
    instr.kv_of_head = kv_of_head;
    if (instr.head_count > 0)
        gsrt__emit(l, &instr);
    l->out->kv_head_count = instr.kv_head_count;
    l->out->head_dim = op->head_dim;
    hold_own_part(l, op->out, out);
}

/* Elementwise on the parts where all three are split alike, on the whole otherwise. */
static void lower_elementwise(gsrt__lowering *l, const gsrt_op *op, gsrt_instr_kind kind)
{
    bool is_share = gsrt__is_split(l, op->out);
    uint32_t width = is_share ? gsrt__share_of(l, op->out, l->member).count : l->workload->values[op->out].width;
    uint16_t left = is_share ? own_part(l, op->in[0]) : gsrt__need_whole(l, op->in[0]);
    uint16_t right = is_share ? own_part(l, op->in[1]) : gsrt__need_whole(l, op->in[1]);
    uint16_t out = gsrt__new_slot(l, GSRT_SLOT_F32, width);
    gsrt_instr instr = gsrt__blank_instr(kind, left, out);
    instr.in[1] = right;
    if (width > 0)
        gsrt__emit(l, &instr);
    hold_own_part(l, op->out, out);
}

static void lower_op(gsrt__lowering *l, const gsrt_op *op)
{
    switch (op->kind) {
    case GSRT_OP_EMBED: lower_embed(l, op); break;
    case GSRT_OP_RMSNORM: lower_rmsnorm(l, op); break;
    case GSRT_OP_LINEAR: gsrt__lower_linear(l, op); break;
    case GSRT_OP_ROPE: lower_rope(l, op); break;
    case GSRT_OP_ATTENTION: lower_attention(l, op); break;
    case GSRT_OP_SWIGLU: lower_elementwise(l, op, GSRT_INSTR_SWIGLU); break;
    case GSRT_OP_ADD: lower_elementwise(l, op, GSRT_INSTR_ADD); break;
    case GSRT_OP_LOGITS: gsrt__lower_logits(l, op); break;
    case GSRT_OP_LAYERNORM:
    case GSRT_OP_POSITION:
    case GSRT_OP_SCALE:
    case GSRT_OP_GELU:
    case GSRT_OP_GEGLU:
    case GSRT_OP_LATENT_ATTENTION:
    case GSRT_OP_ROUTE:
    case GSRT_OP_EXPERT_LINEAR:
    case GSRT_OP_COMBINE: assert(false && "refused by gsrt_weights_create"); break;
    }
}

static void release_value(gsrt__lowering *l, uint32_t value)
{
    gsrt__held *h = &l->held[value];
    gsrt__release_slot(l, h->share);
    gsrt__release_slot(l, h->whole);
    gsrt__release_slot(l, h->share_q8);
    gsrt__release_slot(l, h->whole_q8);
    h->share = h->whole = h->share_q8 = h->whole_q8 = GSRT_NO_SLOT;
}

static bool is_of_stage(const gsrt__lowering *l, const gsrt_region *region)
{
    uint32_t index = (uint32_t)(region - l->workload->regions);
    if (region->layer != GSRT_NO_INDEX)
        return region->layer >= l->stage->layer_first && region->layer <= l->stage->layer_last;
    return index == 0 ? l->stage == l->plan->stages : l->stage == l->plan->stages + l->plan->stage_count - 1;
}

static void find_last_uses(gsrt__lowering *l)
{
    const gsrt_workload *w = l->workload;
    for (uint32_t v = 0; v < w->value_count; v++)
        l->held[v] = (gsrt__held){GSRT_NO_SLOT, GSRT_NO_SLOT, GSRT_NO_SLOT, GSRT_NO_SLOT, 0};
    for (uint32_t i = 0; i < w->op_count; i++) {
        for (uint32_t j = 0; j < 3; j++) {
            if (w->ops[i].in[j] != GSRT_NO_INDEX)
                l->held[w->ops[i].in[j]].last_use = i;
        }
    }
}

/* From here on only the rows whose logits are wanted matter. */
static void select_wanted(gsrt__lowering *l, uint32_t value)
{
    uint16_t all = gsrt__need_whole(l, value);
    l->is_wanted = true;
    uint16_t wanted = gsrt__new_slot(l, GSRT_SLOT_F32, l->workload->values[value].width);
    gsrt_instr instr = gsrt__blank_instr(GSRT_INSTR_SELECT, all, wanted);
    gsrt__emit(l, &instr);
    uint32_t last_use = l->held[value].last_use;
    release_value(l, value);
    l->held[value].whole = wanted;
    l->held[value].last_use = last_use;
}

static void lower_region(gsrt__lowering *l, const gsrt_region *region)
{
    const gsrt_workload *w = l->workload;
    for (uint32_t i = region->op_first; i < region->op_first + region->op_count && l->status == GSRT_OK; i++) {
        const gsrt_op *op = &w->ops[i];
        lower_op(l, op);
        for (uint32_t j = 0; j < 3; j++) {
            if (op->in[j] != GSRT_NO_INDEX && op->in[j] != op->out && l->held[op->in[j]].last_use == i)
                release_value(l, op->in[j]);
        }
    }
}

static void enter_stage(gsrt__lowering *l, uint32_t value)
{
    l->out->slot_in = gsrt__new_slot(l, GSRT_SLOT_F32, l->workload->values[value].width);
    l->held[value].whole = l->out->slot_in;
    gsrt_instr place = gsrt__blank_instr(GSRT_INSTR_PLACE, GSRT_NO_SLOT, l->out->slot_in);
    gsrt__emit(l, &place);
}

static void lower_stage(gsrt__lowering *l)
{
    const gsrt_workload *w = l->workload;
    const gsrt_region *last = NULL;
    find_last_uses(l);
    for (uint32_t r = 0; r < w->region_count && l->status == GSRT_OK; r++) {
        const gsrt_region *region = &w->regions[r];
        if (!is_of_stage(l, region))
            continue;
        if (last == NULL && r > 0)
            enter_stage(l, region->in);
        if (r + 1 == w->region_count)
            select_wanted(l, region->in);
        lower_region(l, region);
        last = region;
    }
    if (l->status == GSRT_OK && last != &w->regions[w->region_count - 1])
        l->out->slot_out = gsrt__need_whole(l, last->out);
}

gsrt_lowered *gsrt_lowered_free(gsrt_lowered *lowered)
{
    if (lowered == NULL)
        return NULL;
    for (uint32_t i = 0; i < lowered->rope_count; i++)
        gsrt_rope_table_free(lowered->ropes[i]);
    free(lowered->ropes);
    gsrt__lower_narrowed_free(lowered);
    free(lowered->matrices);
    free((void *)(uintptr_t)lowered->program.instrs);
    free((void *)(uintptr_t)lowered->segments);
    free((void *)(uintptr_t)lowered->exchanges);
    gsrt_arena_fini(&lowered->arena);
    free(lowered);
    return NULL;
}

gsrt_status gsrt_lower(gsrt_weights *weights, const gsrt_plan *plan, uint32_t stage, uint32_t member,
                       uint32_t context_max, gsrt_lowered **out)
{
    const gsrt_workload *workload = gsrt_weights_workload(weights);
    gsrt__lowering *l = calloc(1, sizeof *l);
    gsrt_lowered *lowered = calloc(1, sizeof *lowered);
    gsrt__held *held = calloc(workload->value_count, sizeof *held);
    gsrt_region_choice *choices = calloc(workload->region_count, sizeof *choices);
    gsrt_status status = GSRT_ENOMEM;
    if (l != NULL && lowered != NULL && held != NULL && choices != NULL) {
        gsrt_plan_choices(plan, workload, choices);
        const gsrt_plan_stage *s = &plan->stages[stage];
        *l = (gsrt__lowering){.workload = workload,
                              .weights = weights,
                              .plan = plan,
                              .stage = s,
                              .choices = choices,
                              .member = member,
                              .member_count = s->member_count,
                              .context_max = context_max,
                              .out = lowered,
                              .held = held};
        gsrt_arena_init(&lowered->arena, SIZE_MAX / 2);
        lowered->slot_in = lowered->slot_out = lowered->slot_logits = GSRT_NO_SLOT;
        lowered->embed_tensor = GSRT_NO_INDEX;
        lowered->member = member;
        lowered->member_count = s->member_count;
        lowered->kv_layer_count = s->layer_last - s->layer_first + 1;
        lower_stage(l);
        status = gsrt__lower_finish(l);
        free(l->instrs);
        free(l->segments);
        free(l->exchanges);
    }
    free(choices);
    free(held);
    free(l);
    if (status != GSRT_OK) {
        gsrt_lowered_free(lowered);
        return status;
    }
    *out = lowered;
    return GSRT_OK;
}
