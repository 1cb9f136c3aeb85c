/* How long a stage takes for one step: the work of its slowest member, exchanges, and what is sent on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "placement/cost_impl.h"

/* What one member does in one layer. */
typedef struct work {
    double matrix_operations, matrix_bytes;
    double expert_operations, expert_bytes;
    double attention_operations, attention_bytes;
    double stream_bytes;
} work;

/* ---- what is stated of engines ---- */

gsrt_quantity gsrt__stated(const gsrt_fleet *fleet, gsrt_cost_mode mode, uint32_t part, uint32_t link,
                           const char *property, gsrt_quantity claim)
{
    const gsrt_measurement *found = NULL;
    for (uint32_t i = 0; mode == GSRT_COST_CALIBRATED && i < fleet->measurement_count; i++) {
        const gsrt_measurement *m = &fleet->measurements[i];
        if (m->part == part && m->link == link && m->place == GSRT_FLEET_NONE && strcmp(m->property, property) == 0 &&
            (found == NULL || m->day >= found->day))
            found = m;
    }
    return found == NULL ? claim : found->value;
}

typedef struct stated_rate {
    gsrt_quantity rate;
    gsrt__assumption_id share;
    char property[48];
} stated_rate;

static bool is_measured(const gsrt_quantity *q)
{
    return q->source == GSRT_SOURCE_MEASURED || q->source == GSRT_SOURCE_DISCOVERED;
}

static stated_rate rate_of(const gsrt_fleet *fleet, uint32_t part, gsrt_rate_class class, gsrt_format format,
                           gsrt_cost_mode mode)
{
    stated_rate out = {.share = GSRT__ASSUMPTION_MATMUL_SHARE};
    gsrt_quantity claim = gsrt_part_rate(&fleet->parts[part], class, format);
    if (class == GSRT_CLASS_ATTENTION && !claim.is_known) {
        class = GSRT_CLASS_MATMUL;
        claim = gsrt_part_rate(&fleet->parts[part], class, format);
        out.share = GSRT__ASSUMPTION_ATTENTION_SHARE;
    }
    size_t at = 0;
    for (const char *word = gsrt_rate_class_word(class); *word != 0; word++)
        out.property[at++] = *word;
    out.property[at++] = '.';
    for (const char *word = gsrt_format_word(format); *word != 0; word++)
        out.property[at++] = *word;
    out.rate = gsrt__stated(fleet, mode, part, GSRT_FLEET_NONE, out.property, claim);
    if (is_measured(&out.rate) && out.share == GSRT__ASSUMPTION_MATMUL_SHARE)
        out.share = GSRT__ASSUMPTION_MEASURED_SHARE;
    return out;
}

static gsrt_quantity bandwidth_of(const gsrt_fleet *fleet, const gsrt__engine *engine, gsrt_cost_mode mode,
                                  gsrt__assumption_id *share)
{
    gsrt_quantity q = engine->bandwidth;
    if (engine->memory != GSRT_FLEET_NONE) {
        q = gsrt__stated(fleet, mode, engine->memory, GSRT_FLEET_NONE, "bandwidth", q);
        q = gsrt__stated(fleet, mode, GSRT_FLEET_NONE, engine->link, "bandwidth", q);
    }
    *share = is_measured(&q) ? GSRT__ASSUMPTION_MEASURED_SHARE : GSRT__ASSUMPTION_MEMORY_SHARE;
    return q;
}

gsrt_quantity gsrt_cost_rate(const gsrt_fleet *fleet, uint32_t part, gsrt_rate_class class, gsrt_format format,
                             gsrt_cost_mode mode)
{
    stated_rate rate = rate_of(fleet, part, class, format, mode);
    return gsrt_quantity_mul(rate.rate, gsrt__assumed(rate.share));
}

gsrt_quantity gsrt_cost_bandwidth(const gsrt_cost_profile *profile, uint32_t part, gsrt_cost_mode mode)
{
    gsrt__assumption_id share;
    gsrt_quantity q = bandwidth_of(profile->fleet, &profile->engines[part], mode, &share);
    return gsrt_quantity_mul(q, gsrt__assumed(share));
}

gsrt_format gsrt_cost_attention_format(const gsrt_region_choice *choice, gsrt_dtype state)
{
    if (choice->arithmetic == GSRT_ARITHMETIC_CANONICAL)
        return GSRT_FORMAT_F32;
    switch (choice->compute) {
    case GSRT_FORMAT_F64:
    case GSRT_FORMAT_F32:
    case GSRT_FORMAT_TF32:
    case GSRT_FORMAT_BF16:
    case GSRT_FORMAT_F16: return choice->compute;
    case GSRT_FORMAT_F8:
    case GSRT_FORMAT_F6:
    case GSRT_FORMAT_F4: return state == GSRT_DTYPE_F8_E4M3 ? GSRT_FORMAT_F8 : GSRT_FORMAT_BF16;
    case GSRT_FORMAT_I8:
    case GSRT_FORMAT_I4:
    case GSRT_FORMAT_COUNT: break;
    }
    return GSRT_FORMAT_F32;
}

/* ---- amounts ---- */

double gsrt__activation_bytes(const gsrt_region_choice *choice)
{
    return choice->arithmetic == GSRT_ARITHMETIC_CANONICAL ? 4 : 2;
}

/* Of `count` experts, each row choosing `chosen`: how many are chosen at all. source: expectation for independent,
 * even choices. */
static double touched(double experts, double count, double chosen, double rows)
{
    return experts * (1 - gsrt__power(1 - chosen / count, (uint64_t)ceil(rows)));
}

double gsrt__group_rows(const gsrt__walk *walk, const gsrt__cut *cut, double rows)
{
    double groups = cut->stage->data_width > 1 ? cut->stage->data_width : 1;
    return walk->is_smooth ? rows / groups : ceil(rows / groups);
}

static void add_matrices(const gsrt__walk *walk, const gsrt__cut *cut, const gsrt__piece *piece,
                         const gsrt_region_choice *choice, const gsrt__step *step, work *sum)
{
    const gsrt_deployment_stage *stage = cut->stage;
    double own_rows = gsrt__rows_of(walk->workload, cut, piece), count = piece->matrix_count;
    double row_bytes = gsrt__row_bytes(piece, choice), activation = gsrt__activation_bytes(choice);
    double rows = piece->class == GSRT__WORK_LOGITS ? step->sequences : step->rows;
    if (piece->is_attention)
        rows = gsrt__group_rows(walk, cut, rows);
    switch (piece->class) {
    case GSRT__WORK_LOOKUP: sum->stream_bytes += rows * (row_bytes + piece->columns * activation); return;
    case GSRT__WORK_EXPERT: {
        double groups = stage->expert_width > 1 ? stage->expert_width : 1;
        double pairs = rows * piece->chosen_count / groups;
        double experts = touched(gsrt__experts_of(cut, piece), piece->expert_count, piece->chosen_count, rows);
        sum->expert_operations += 2 * own_rows * piece->columns * pairs * count;
        sum->expert_bytes +=
            (experts * own_rows * row_bytes + pairs * (piece->columns + own_rows) * activation) * count;
        return;
    }
    case GSRT__WORK_MATRIX:
    case GSRT__WORK_LOGITS:
    case GSRT__WORK_LATENT:
        sum->matrix_operations += 2 * own_rows * piece->columns * rows * count;
        sum->matrix_bytes += (own_rows * row_bytes + rows * (piece->columns + own_rows) * activation) * count;
        return;
    }
}

static void add_attention(const gsrt__walk *walk, const gsrt__cut *cut, const gsrt__layer_kind *kind,
                          const gsrt_region_choice *choice, const gsrt__step *step, work *sum)
{
    const gsrt_state *state = &walk->workload->states[kind->state];
    double rows = gsrt__group_rows(walk, cut, step->rows);
    double context = state->window > 0 && state->window < step->context ? state->window : step->context;
    bool is_prefill = step->phase == GSRT_PHASE_PREFILL;
    uint32_t parts = is_prefill ? 1 : gsrt__context_width(cut->stage); /* prompts gather keys and values instead */
    double heads = gsrt__units_of(cut, kind->head_count, cut->tensor_width, 0, parts);
    double position = gsrt__position_bytes(walk->workload, cut, kind, choice, parts);
    context = fmax(context / parts, fmin(context, GSRT_KV_BLOCK_POSITIONS));
    double elements = is_prefill ? kind->score_elements_expanded : kind->score_elements;
    sum->attention_operations += 2 * elements * heads / kind->head_count * context * rows;
    sum->attention_bytes +=
        position * (is_prefill ? rows + context : rows * context) +
        rows * kind->score_elements_expanded * heads / kind->head_count * gsrt__activation_bytes(choice);
    if (parts > 1)
        sum->stream_bytes +=
            rows * gsrt__context_row_of(walk->workload, cut, kind).results * gsrt__activation_bytes(choice);
}

/* Added to `attention`: what data groups divide rows for; to `rest`: what all members share. The same for both: all. */
static void add_work(const gsrt__walk *walk, const gsrt__cut *cut, uint32_t region, const gsrt__step *step,
                     work *attention, work *rest)
{
    const gsrt__layer_kind *kind = &walk->profile->kinds[walk->profile->kind_of_region[region]];
    const gsrt_region_choice *choice = &walk->deployment->choices[region];
    for (uint32_t i = 0; i < kind->piece_count; i++)
        add_matrices(walk, cut, &kind->pieces[i], choice, step, kind->pieces[i].is_attention ? attention : rest);
    if (kind->state != GSRT_NO_INDEX)
        add_attention(walk, cut, kind, choice, step, attention);
}

static double whole_bytes(const gsrt__walk *walk, uint32_t region, const gsrt__step *step)
{
    const gsrt__layer_kind *kind = &walk->profile->kinds[walk->profile->kind_of_region[region]];
    return step->rows * kind->elementwise_whole * gsrt__activation_bytes(&walk->deployment->choices[region]);
}

static work work_of(const gsrt__walk *walk, const gsrt__cut *cut, uint32_t region, const gsrt__step *step)
{
    const gsrt__layer_kind *kind = &walk->profile->kinds[walk->profile->kind_of_region[region]];
    work sum = {0};
    add_work(walk, cut, region, step, &sum, &sum);
    double split = kind->elementwise_split / cut->width;
    sum.stream_bytes +=
        step->rows * (kind->elementwise_whole + split) * gsrt__activation_bytes(&walk->deployment->choices[region]);
    return sum;
}

/* ---- time of a member ---- */

typedef struct engine_terms {
    const char *name;
    gsrt__term bandwidth, bandwidth_share, overhead, throttle;
    bool is_capped;
} engine_terms;

static engine_terms engine_terms_of(gsrt__walk *walk, uint32_t part, double cap_w)
{
    const gsrt_part *p = &walk->fleet->parts[part];
    gsrt_cost_mode mode = walk->question->mode;
    gsrt__assumption_id share;
    gsrt_quantity bandwidth = bandwidth_of(walk->fleet, &walk->profile->engines[part], mode, &share);
    gsrt_quantity overhead =
        gsrt__stated(walk->fleet, mode, part, GSRT_FLEET_NONE, "launch_overhead", p->launch_overhead);
    engine_terms terms = {.name = p->name,
                          .bandwidth = gsrt__input(walk, p->name, "memory bandwidth", &bandwidth),
                          .bandwidth_share = gsrt__assume(walk, share),
                          .overhead = gsrt__input(walk, p->name, "launch_overhead", &overhead),
                          .is_capped = cap_w > 0 && !(p->power_max.is_known && cap_w >= p->power_max.hi)};
    if (!terms.is_capped)
        return terms;
    gsrt_quantity cap = gsrt_quantity_exact(cap_w, GSRT__WATT);
    gsrt_quantity above = gsrt_quantity_sub(cap, p->power_idle);
    if (!(above.lo > 0)) /* it may leave nothing: no rate is known */
        above = (gsrt_quantity){0};
    gsrt_quantity room = gsrt_quantity_sub(p->power_max, p->power_idle);
    terms.throttle = gsrt__derive2(walk, GSRT__EQUATION_THROTTLE, "rate that a power cap leaves",
                                   gsrt__input(walk, p->name, "power cap above idle", &above),
                                   gsrt__input(walk, p->name, "power_max above idle", &room));
    return terms;
}

/* libraries_experts: products of a mixture's experts, by libraries, which are far from what they do of plain products.
 */
static gsrt__term roofline(gsrt__walk *walk, const engine_terms *engine, uint32_t part, gsrt_rate_class class,
                           gsrt_format format, double operations, double bytes, bool libraries_experts,
                           const char *name)
{
    stated_rate rate = rate_of(walk->fleet, part, class, format, walk->question->mode);
    if (libraries_experts && rate.share == GSRT__ASSUMPTION_MATMUL_SHARE)
        rate.share = GSRT__ASSUMPTION_EXPERT_SHARE;
    gsrt__term stated = gsrt__input(walk, engine->name, rate.property, &rate.rate);
    if (engine->is_capped)
        stated = gsrt__derive2(walk, GSRT__EQUATION_SHARE, "capped rate", stated, engine->throttle);
    const gsrt__term inputs[] = {gsrt__counted(walk, "operations", operations, GSRT__OP),
                                 stated,
                                 gsrt__assume(walk, rate.share),
                                 gsrt__counted(walk, "bytes", bytes, GSRT__BYTE),
                                 engine->bandwidth,
                                 engine->bandwidth_share};
    return gsrt__derive(walk, GSRT__EQUATION_ROOFLINE, name, inputs);
}

static void add(gsrt__walk *walk, gsrt__term *sum, bool *is_set, gsrt__term term, const char *name)
{
    *sum = *is_set ? gsrt__derive2(walk, GSRT__EQUATION_SUM, name, *sum, term) : term;
    *is_set = true;
}

/* One layer's work, without launches. */
static gsrt__term layer_work(gsrt__walk *walk, const engine_terms *engine, uint32_t part, const gsrt__cut *cut,
                             uint32_t region, const work *amounts)
{
    const gsrt__layer_kind *kind = &walk->profile->kinds[walk->profile->kind_of_region[region]];
    const gsrt_region_choice *choice = &walk->deployment->choices[region];
    gsrt__term sum = {0};
    bool is_set = false;
    if (amounts->matrix_operations > 0)
        add(walk, &sum, &is_set,
            roofline(walk, engine, part, GSRT_CLASS_MATMUL, choice->compute, amounts->matrix_operations,
                     amounts->matrix_bytes, false, "matrices"),
            "work");
    if (amounts->expert_operations > 0) {
        gsrt__term experts =
            roofline(walk, engine, part, GSRT_CLASS_MATMUL, choice->compute, amounts->expert_operations,
                     amounts->expert_bytes, choice->arithmetic == GSRT_ARITHMETIC_NATIVE, "experts");
        if (cut->stage->expert_width > 1)
            experts = gsrt__derive2(walk, GSRT__EQUATION_TIMES, "experts of the fullest group",
                                    gsrt__assume(walk, GSRT__ASSUMPTION_EXPERT_IMBALANCE), experts);
        add(walk, &sum, &is_set, experts, "work");
    }
    if (amounts->attention_operations > 0) {
        const gsrt_state *state = &walk->workload->states[kind->state];
        gsrt_format format =
            gsrt_cost_attention_format(choice, choice->state_is_as_given ? state->dtype : choice->state);
        add(walk, &sum, &is_set,
            roofline(walk, engine, part, GSRT_CLASS_ATTENTION, format, amounts->attention_operations,
                     amounts->attention_bytes, false, "attention"),
            "work");
    }
    const gsrt__term inputs[] = {gsrt__counted(walk, "bytes passed through", amounts->stream_bytes, GSRT__BYTE),
                                 engine->bandwidth, engine->bandwidth_share};
    add(walk, &sum, &is_set, gsrt__derive(walk, GSRT__EQUATION_STREAM, "norms, sums, activations", inputs), "work");
    return sum;
}

static gsrt__term launches_of(gsrt__walk *walk, double pieces, gsrt__term overhead, const char *name)
{
    return gsrt__derive2(walk, GSRT__EQUATION_LAUNCHES, name,
                         gsrt__counted(walk, "pieces of work", pieces, GSRT__PLAIN), overhead);
}

static bool is_native_in(const gsrt__walk *walk, uint32_t region)
{
    return walk->deployment->choices[region].arithmetic == GSRT_ARITHMETIC_NATIVE;
}

/* Launches for `count` layers: ops that libraries fuse, and attention, which they make of several pieces. The canonical
 * runtime submits a stage's ops as one, and again after each exchange (model/region_actor). */
static gsrt__term layer_launches(gsrt__walk *walk, const gsrt__cut *cut, uint32_t region, uint32_t count, bool is_first,
                                 gsrt__term overhead)
{
    const gsrt__layer_kind *kind = &walk->profile->kinds[walk->profile->kind_of_region[region]];
    if (!is_native_in(walk, region)) {
        bool gathers = gsrt__exchange_equation(cut->stage->algorithm) == GSRT__EQUATION_GATHER;
        double exchanges = cut->width <= 1 ? 0 : gathers ? kind->gather_count : kind->reduce_count;
        exchanges += gsrt__context_width(cut->stage) > 1 ? 2 * kind->attention_count : 0;
        return launches_of(walk, exchanges * count + (is_first ? 1 : 0), overhead, "launches");
    }
    double merges = gsrt__context_width(cut->stage) > 1 ? kind->attention_count : 0;
    gsrt__term ops =
        gsrt__derive2(walk, GSRT__EQUATION_TIMES, "launches of fused ops", gsrt__assume(walk, GSRT__ASSUMPTION_FUSION),
                      launches_of(walk, (kind->op_count + merges) * count, overhead, "launches"));
    if (kind->attention_count == 0)
        return ops;
    gsrt__term attention =
        gsrt__derive2(walk, GSRT__EQUATION_TIMES, "launches of attention's pieces",
                      gsrt__assume(walk, GSRT__ASSUMPTION_ATTENTION_PIECES),
                      launches_of(walk, (double)kind->attention_count * count, overhead, "launches of attention"));
    return gsrt__derive2(walk, GSRT__EQUATION_SUM, "launches of layers that are alike", ops, attention);
}

typedef struct member_time {
    gsrt__term total, work;
} member_time;

static member_time member_step(gsrt__walk *walk, uint32_t pool, uint32_t stage, uint32_t member, const gsrt__step *step)
{
    const gsrt_deployment_pool *in = &walk->deployment->pools[pool];
    const gsrt_deployment_stage *s = &in->stages[stage];
    uint32_t part = s->members[member].part, cursor = 0, region, count;
    engine_terms engine = engine_terms_of(walk, part, in->power_cap_w);
    gsrt__cut cut = gsrt__cut_of(s, member);
    gsrt__term launches = {0}, work_sum = {0};
    bool has_launches = false, has_work = false;
    while (gsrt__next_region(walk, pool, stage, &cursor, &region, &count)) {
        work amounts = work_of(walk, &cut, region, step);
        gsrt__term layers = layer_work(walk, &engine, part, &cut, region, &amounts);
        gsrt__term times = gsrt__counted(walk, "layers that are alike", count, GSRT__PLAIN);
        add(walk, &work_sum, &has_work,
            count == 1 ? layers
                       : gsrt__derive2(walk, GSRT__EQUATION_TIMES, "work of layers that are alike", times, layers),
            "work of all layers");
        gsrt__term pieces = layer_launches(walk, &cut, region, count, !has_launches, engine.overhead);
        add(walk, &launches, &has_launches, pieces, "launches of all layers");
    }
    return (member_time){gsrt__derive2(walk, GSRT__EQUATION_SUM, "time of a member", work_sum, launches), work_sum};
}

/* ---- exchanges ---- */

/* Experts lie apart, and tokens too: each goes to all members that share one of its experts, and comes back. */
static gsrt__term dispatch(gsrt__walk *walk, const gsrt__group *group, const gsrt_deployment_stage *s,
                           const gsrt__layer_kind *kind, double rows, double activation, bool is_native)
{
    uint32_t chosen = 1, sharers = group->width / s->expert_width;
    for (uint32_t i = 0; i < kind->piece_count; i++)
        chosen = kind->pieces[i].chosen_count > chosen ? kind->pieces[i].chosen_count : chosen;
    double reached = (double)(chosen < s->expert_width ? chosen : s->expert_width) * sharers;
    double bytes = rows / s->data_width * reached * kind->dispatch_elements * activation;
    const gsrt__exchanged what = {GSRT__EQUATION_ALL_TO_ALL, group->width, 2, bytes, is_native};
    return gsrt__exchange(walk, group, &what, "tokens to experts and back");
}

/* Of activations, or logits; false: none are exchanged. */
static bool activation_exchanges(gsrt__walk *walk, const gsrt__group *group, const gsrt_deployment_stage *s,
                                 uint32_t region, const gsrt__step *step, gsrt__term *out)
{
    const gsrt__layer_kind *kind = &walk->profile->kinds[walk->profile->kind_of_region[region]];
    const gsrt_region_choice *choice = &walk->deployment->choices[region];
    bool gathers = s->algorithm == GSRT_ALGORITHM_GATHER || s->algorithm == GSRT_ALGORITHM_NONE, is_set = false;
    double count = gathers ? kind->gather_count : kind->reduce_count;
    double elements = gathers ? kind->gather_elements : kind->reduce_elements,
           activation = gsrt__activation_bytes(choice);
    uint32_t tensor = group->width / (s->data_width > 0 ? s->data_width : 1);
    gsrt__equation_id equation = gsrt__exchange_equation(s->algorithm);
    bool is_native = is_native_in(walk, region);
    if (kind->pieces[0].class == GSRT__WORK_LOGITS ||
        (kind->piece_count > 0 && region == walk->profile->region_output)) {
        const gsrt__exchanged what = {GSRT__EQUATION_GATHER, group->width, 1,
                                      step->sequences * walk->workload->vocab_count * activation, is_native};
        *out = gsrt__exchange(walk, group, &what, "logits");
        return true;
    }
    if (count == 0)
        return false;
    gsrt__exchanged what = {equation, group->width, count, elements / count * step->rows * activation, is_native};
    if (s->data_width <= 1) {
        *out = gsrt__exchange(walk, group, &what, "exchanges");
        return true;
    }
    double of_attention = floor(count / 2);
    const gsrt__exchanged within = {equation, tensor, of_attention, what.bytes / s->data_width, is_native};
    what.count -= of_attention;
    if (tensor > 1)
        add(walk, out, &is_set, gsrt__exchange(walk, group, &within, "exchanges of attention"), "exchanges");
    if (kind->dispatch_elements > 0 && s->expert_width > 1)
        add(walk, out, &is_set, dispatch(walk, group, s, kind, step->rows, activation, is_native), "exchanges");
    else
        add(walk, out, &is_set, gsrt__exchange(walk, group, &what, "exchanges of the rest"), "exchanges");
    return is_set;
}

/* Exchanges of one layer; false: there are none. */
static bool layer_exchanges(gsrt__walk *walk, const gsrt__group *group, const gsrt_deployment_stage *s, uint32_t region,
                            const gsrt__step *step, gsrt__term *out)
{
    const gsrt__layer_kind *kind = &walk->profile->kinds[walk->profile->kind_of_region[region]];
    bool is_set = activation_exchanges(walk, group, s, region, step, out);
    if (gsrt__context_width(s) > 1 && kind->state != GSRT_NO_INDEX)
        add(walk, out, &is_set, gsrt__context_exchanges(walk, group, s, region, step),
            "exchanges of activations and between parts of the context");
    return is_set;
}

static gsrt__term stage_exchanges(gsrt__walk *walk, uint32_t pool, uint32_t stage, const gsrt__step *step)
{
    const gsrt_deployment_stage *s = &walk->deployment->pools[pool].stages[stage];
    gsrt__term sum = {0}, one = {0};
    bool is_set = false;
    uint32_t cursor = 0, region, count;
    if (gsrt_deployment_stage_width(s) > 1) {
        gsrt__group group = gsrt__group_of(walk, s);
        while (gsrt__next_region(walk, pool, stage, &cursor, &region, &count)) {
            if (!layer_exchanges(walk, &group, s, region, step, &one))
                continue;
            gsrt__term times = gsrt__counted(walk, "layers that are alike", count, GSRT__PLAIN);
            add(walk, &sum, &is_set,
                count == 1
                    ? one
                    : gsrt__derive2(walk, GSRT__EQUATION_TIMES, "exchanges of layers that are alike", times, one),
                "exchanges of all layers");
        }
    }
    return is_set ? sum : gsrt__counted(walk, "no exchanges", 0, GSRT__SECOND);
}

/* What goes on to the next stage; from the last one the tokens go back to the first. */
static gsrt__term send_on(gsrt__walk *walk, uint32_t pool, uint32_t stage, const gsrt__step *step)
{
    const gsrt_deployment_pool *in = &walk->deployment->pools[pool];
    if (in->stage_count == 1)
        return gsrt__counted(walk, "nothing is sent on", 0, GSRT__SECOND);
    const gsrt_deployment_stage *s = &in->stages[stage], *next = &in->stages[(stage + 1) % in->stage_count];
    bool is_last = stage + 1 == in->stage_count;
    uint32_t region = walk->profile->region_of_layer[s->layer_last];
    double bytes = is_last
                       ? 4 * step->sequences
                       : step->rows * walk->workload->dim * gsrt__activation_bytes(&walk->deployment->choices[region]);
    const gsrt_deployment_members *from = &s->members[s->member_count - 1], *to = &next->members[0];
    gsrt__reach reach = gsrt__reach_between(walk, from->part, from->instance_first + from->instance_count - 1, to->part,
                                            to->instance_first, is_last ? 1 : gsrt_deployment_stage_width(s));
    const gsrt__term inputs[] = {gsrt__counted(walk, "messages", 1, GSRT__PLAIN), reach.latency,
                                 gsrt__counted(walk, "bytes sent on", bytes, GSRT__BYTE), reach.bandwidth,
                                 gsrt__assume(walk, GSRT__ASSUMPTION_LINK_SHARE)};
    return gsrt__derive(walk, GSRT__EQUATION_SEND, is_last ? "tokens back to the first stage" : "to the next stage",
                        inputs);
}

gsrt__stage_time gsrt__stage_step(gsrt__walk *walk, uint32_t pool, uint32_t stage, const gsrt__step *step)
{
    const gsrt_deployment_stage *s = &walk->deployment->pools[pool].stages[stage];
    member_time slowest = {0};
    for (uint32_t m = 0; m < s->member_count; m++) {
        gsrt__walk_at(walk, "pool %u stage %u member %u %s: ", pool, stage, m, step->name);
        member_time time = member_step(walk, pool, stage, m, step);
        if (m == 0) {
            slowest = time;
            continue;
        }
        slowest.total = gsrt__derive2(walk, GSRT__EQUATION_LARGER, "slowest member", slowest.total, time.total);
        slowest.work = gsrt__derive2(walk, GSRT__EQUATION_LARGER, "most work", slowest.work, time.work);
    }
    gsrt__walk_at(walk, "pool %u stage %u %s: ", pool, stage, step->name);
    gsrt__term exchanges = stage_exchanges(walk, pool, stage, step);
    if (walk->deployment->pools[pool].kv_offload > 0)
        exchanges = gsrt__derive2(walk, GSRT__EQUATION_SUM, "exchanges and offloaded KV", exchanges,
                                  gsrt__offload_step(walk, pool, stage, step));
    gsrt__term together;
    if (s->overlaps) {
        const gsrt__term inputs[] = {slowest.total, exchanges, gsrt__assume(walk, GSRT__ASSUMPTION_EXPOSED)};
        together = gsrt__derive(walk, GSRT__EQUATION_OVERLAP, "work and exchanges", inputs);
    } else {
        together = gsrt__derive2(walk, GSRT__EQUATION_SUM, "work and exchanges", slowest.total, exchanges);
    }
    gsrt__term on = send_on(walk, pool, stage, step);
    gsrt__stage_time out = {.total = gsrt__derive2(walk, GSRT__EQUATION_SUM, "stage", together, on),
                            .transfer = gsrt__derive2(walk, GSRT__EQUATION_SUM, "transfers", exchanges, on)};
    out.busy = gsrt__derive2(walk, GSRT__EQUATION_RATIO, "busy", slowest.work, out.total);
    return out;
}

/* ---- one layer ---- */

gsrt__cost_layer gsrt__cost_layer_of(const gsrt_cost_question *question, uint32_t region, const gsrt__step *step)
{
    gsrt__walk walk = {.question = question,
                       .profile = question->profile,
                       .workload = question->workload,
                       .fleet = question->fleet,
                       .deployment = question->deployment,
                       .is_smooth = true};
    const gsrt_deployment_pool *pool = &question->deployment->pools[0];
    const gsrt_deployment_stage *s = &pool->stages[0];
    gsrt__cost_layer out = {.exposed = s->overlaps ? gsrt__assumed(GSRT__ASSUMPTION_EXPOSED).value : 1,
                            .is_known = true};
    for (uint32_t m = 0; m < s->member_count; m++) {
        gsrt__cut cut = gsrt__cut_of(s, m);
        engine_terms engine = engine_terms_of(&walk, s->members[m].part, pool->power_cap_w);
        work amounts = work_of(&walk, &cut, region, step);
        gsrt__term layer = layer_work(&walk, &engine, s->members[m].part, &cut, region, &amounts);
        gsrt__term launches = layer_launches(&walk, &cut, region, 1, false, engine.overhead);
        out.is_known = out.is_known && layer.quantity.is_known && launches.quantity.is_known;
        double whole = whole_bytes(&walk, region, step);
        double bandwidth = engine.bandwidth.quantity.value * engine.bandwidth_share.quantity.value;
        out.work_s = fmax(out.work_s, layer.quantity.value + launches.quantity.value);
        out.fixed_s = fmax(out.fixed_s, launches.quantity.value + whole / bandwidth);
    }
    gsrt__term exchange = {0};
    if (gsrt_deployment_stage_width(s) > 1) {
        gsrt__group group = gsrt__group_of(&walk, s);
        if (layer_exchanges(&walk, &group, s, region, step, &exchange)) {
            out.is_known = out.is_known && exchange.quantity.is_known;
            out.exchange_s = exchange.quantity.value;
        }
    }
    return out;
}

static void add_part(work *sum, const work *whole, double members)
{
    sum->matrix_operations += whole->matrix_operations / members;
    sum->matrix_bytes += whole->matrix_bytes / members;
    sum->expert_operations += whole->expert_operations / members;
    sum->expert_bytes += whole->expert_bytes / members;
    sum->attention_operations += whole->attention_operations / members;
    sum->attention_bytes += whole->attention_bytes / members;
    sum->stream_bytes += whole->stream_bytes / members;
}

double gsrt__cost_work_at_least(const gsrt_cost_question *question, uint32_t region, const gsrt__step *step,
                                double sharers, double members)
{
    gsrt__walk walk = {.question = question,
                       .profile = question->profile,
                       .workload = question->workload,
                       .fleet = question->fleet,
                       .deployment = question->deployment,
                       .is_smooth = true};
    const gsrt_deployment_stage *s = &question->deployment->pools[0].stages[0];
    const gsrt__layer_kind *kind = &walk.profile->kinds[walk.profile->kind_of_region[region]];
    gsrt_deployment_members one = s->members[0];
    gsrt_deployment_stage alone = *s;
    one.instance_count = 1;
    alone.members = &one;
    alone.data_width = alone.expert_width = alone.context_width = 1;
    const gsrt__cut cut = gsrt__cut_of(&alone, 0), as_set = gsrt__cut_of(s, 0);
    work attention = {0}, rest = {0}, sum = {.stream_bytes = whole_bytes(&walk, region, step)};
    add_work(&walk, &cut, region, step, &attention, &rest);
    rest.stream_bytes +=
        step->rows * kind->elementwise_split * gsrt__activation_bytes(&question->deployment->choices[region]);
    add_part(&sum, &attention, sharers);
    add_part(&sum, &rest, members);
    engine_terms engine = engine_terms_of(&walk, one.part, 0);
    alone.expert_width = s->expert_width; /* the fullest group of experts does more than the mean */
    gsrt__term layer = layer_work(&walk, &engine, one.part, &cut, region, &sum);
    gsrt__term launches = layer_launches(&walk, &as_set, region, 1, false, engine.overhead);
    return layer.quantity.value + launches.quantity.value;
}
