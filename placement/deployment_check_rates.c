/* Rules c1 and n1: what the engines must be able to do, and what the runtime must. */
#include "placement/deployment_check_impl.h"

#include "placement/workload_totals.h"

static bool is_rate_usable(const gsrt__checking *c, uint32_t part, gsrt_rate_class class, gsrt_format format)
{
    gsrt_quantity rate = gsrt_part_rate(&c->fleet->parts[part], class, format);
    return gsrt__check_is_usable(c, &rate) && rate.value > 0;
}

static void lack(gsrt__checking *c, uint32_t part, gsrt_rate_class class, gsrt_format format)
{
    gsrt__check_violate(c, &(gsrt_violation){.rule = "c1", .reason = GSRT_REASON_CAPABILITY},
                        "'%s' states no rate of %s in %s", c->fleet->parts[part].name, gsrt_rate_class_word(class),
                        gsrt_format_word(format));
}

/* Narrow formats have no attention of their own, unless the keys are as narrow. */
static gsrt_format attention_format(const gsrt_region_choice *choice, gsrt_dtype state)
{
    if (choice->arithmetic == GSRT_ARITHMETIC_CANONICAL)
        return GSRT_FORMAT_F32;
    switch (choice->compute) {
    case GSRT_FORMAT_I8:
    case GSRT_FORMAT_I4: return GSRT_FORMAT_F32;
    case GSRT_FORMAT_F8: return state == GSRT_DTYPE_F8_E4M3 ? GSRT_FORMAT_F8 : GSRT_FORMAT_BF16;
    case GSRT_FORMAT_F6:
    case GSRT_FORMAT_F4: return state == GSRT_DTYPE_F8_E4M3 ? GSRT_FORMAT_F8 : GSRT_FORMAT_BF16;
    case GSRT_FORMAT_F64:
    case GSRT_FORMAT_F32:
    case GSRT_FORMAT_TF32:
    case GSRT_FORMAT_BF16:
    case GSRT_FORMAT_F16:
    case GSRT_FORMAT_COUNT: break;
    }
    return choice->compute;
}

static void check_op(gsrt__checking *c, uint32_t part, const gsrt_op *op)
{
    const gsrt_region_choice *choice = &c->deployment->choices[op->region];
    gsrt_format format;
    switch (gsrt_op_class_of(op->kind)) {
    case GSRT_OP_CLASS_LOOKUP: break;
    case GSRT_OP_CLASS_MATRIX:
    case GSRT_OP_CLASS_EXPERT:
        if (!is_rate_usable(c, part, GSRT_CLASS_MATMUL, choice->compute))
            lack(c, part, GSRT_CLASS_MATMUL, choice->compute);
        break;
    case GSRT_OP_CLASS_ATTENTION:
        format =
            attention_format(choice, choice->state_is_as_given ? c->workload->states[op->state].dtype : choice->state);
        if (!is_rate_usable(c, part, GSRT_CLASS_ATTENTION, format) &&
            !is_rate_usable(c, part, GSRT_CLASS_MATMUL, format))
            lack(c, part, GSRT_CLASS_ATTENTION, format);
        break;
    case GSRT_OP_CLASS_ELEMENTWISE:
        if (!is_rate_usable(c, part, GSRT_CLASS_VECTOR, GSRT_FORMAT_F32))
            lack(c, part, GSRT_CLASS_VECTOR, GSRT_FORMAT_F32);
        break;
    }
}

void gsrt__check_rates(gsrt__checking *c)
{
    for (uint32_t s = 0; s < c->stage_count; s++) {
        const gsrt__stage_view *view = &c->stages[s];
        for (uint32_t m = 0; m < view->it->member_count; m++) {
            for (uint32_t i = 0; i < c->workload->op_count && view->it->members[m].share > 0; i++) {
                if (gsrt__check_stage_has(c, view, c->workload->ops[i].region))
                    check_op(c, view->it->members[m].part, &c->workload->ops[i]);
            }
        }
    }
}

/* ---- n1 ---- */

static void check_executable_stage(gsrt__checking *c, const gsrt__stage_view *view)
{
    const gsrt_deployment_stage *stage = view->it;
    gsrt_violation wrong = {.rule = "n1", .reason = GSRT_REASON_NOT_EXECUTABLE};
    bool is_exact = stage->algorithm == GSRT_ALGORITHM_NONE || stage->algorithm == GSRT_ALGORITHM_GATHER ||
                    stage->algorithm == GSRT_ALGORITHM_SUBTREES;
    if (stage->data_width > 1 || stage->expert_width > 1 || stage->context_width > 1 || !is_exact || stage->overlaps ||
        view->width > GSRT_GROUP_RANKS_MAX)
        gsrt__check_violate(c, &wrong, "pools[%u].stages[%u]: a split that the runtime lacks", view->pool, view->stage);
}

/* Kernels are the canonical ones; weights may be narrowed to what these read, KV may not. */
static bool is_choice_executable(const gsrt__checking *c, uint32_t region)
{
    static const gsrt_dtype narrow[] = {GSRT_DTYPE_Q4_0, GSRT_DTYPE_Q8_0, GSRT_DTYPE_BF16, GSRT_DTYPE_F16};
    const gsrt_region_choice *choice = &c->deployment->choices[region];
    bool is_read = choice->weights_are_as_given, has_products;
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++)
        is_read |= choice->weights == narrow[i];
    gsrt_format canonical = gsrt__check_format(c, &c->workload->regions[region], choice, &has_products);
    return is_read && choice->state_is_as_given && choice->arithmetic == GSRT_ARITHMETIC_CANONICAL &&
           (!has_products || choice->compute == canonical);
}

void gsrt__check_executable(gsrt__checking *c)
{
    const gsrt_deployment *d = c->deployment;
    gsrt_violation wrong = {.rule = "n1", .reason = GSRT_REASON_NOT_EXECUTABLE};
    gsrt_diag diag = {0};
    if (!c->problem->is_for_execution)
        return;
    if (gsrt_workload_executable(c->workload, NULL, &diag) != GSRT_OK)
        gsrt__check_violate(c, &wrong, "the workload: %s", diag.text);
    if (d->pool_count != 1 || d->pools[0].replica_count != 1 || d->pools[0].draft_tokens > 0 ||
        d->pools[0].kv_offload > 0 || d->pools[0].power_cap_w > 0 || d->pools[0].stage_count > GSRT_STAGE_COUNT_MAX)
        gsrt__check_violate(c, &wrong, "pools: replicas, phases, drafts, offloaded KV or caps that the runtime lacks");
    for (uint32_t p = 0; p < d->pool_count; p++) {
        uint32_t batch_max = c->problem->batch_max, chunk_max = c->problem->prefill_tokens_max;
        if (batch_max > 0 && d->pools[p].batch_max > batch_max)
            gsrt__check_violate(c, &wrong, "pools[%u]: batches of %u, and the runtime takes %u", p,
                                d->pools[p].batch_max, batch_max);
        if (chunk_max > 0 && d->pools[p].prefill_tokens > chunk_max)
            gsrt__check_violate(c, &wrong, "pools[%u]: prompts in chunks of %u, and the runtime takes %u", p,
                                d->pools[p].prefill_tokens, chunk_max);
    }
    for (uint32_t r = 0; r < d->region_count; r++) {
        if (!is_choice_executable(c, r))
            gsrt__check_violate(c, &wrong, "choices[%u]: kernels or formats that the runtime lacks", r);
    }
    for (uint32_t s = 0; s < c->stage_count; s++)
        check_executable_stage(c, &c->stages[s]);
}
