#include "placement/flow_fleet.h"

#include "placement/cost_impl.h"
#include "placement/flow_evaluate.h"

#include <math.h>

/* Activations between stages: canonical, as gsrt_deployment_create chooses. */
static const double ACTIVATION_BYTES = 4.0;

typedef struct view {
    const gsrt_flow_question *question;
    const gsrt_cost_profile *profile;
    gsrt__request request;
} view;

/* The middle of three stages of one engine each, so that neither embedding nor logits are its work; the whole, where
 * there is no such middle. */
typedef struct slice {
    gsrt_deployment *deployment;
    uint32_t stage; /* the one that holds the layers in question */
} slice;

static gsrt_status add_stage(gsrt_deployment *d, uint32_t stage, uint32_t first, uint32_t last, gsrt_flow_engine engine)
{
    gsrt_status status = gsrt_deployment_add_members(d, 0, stage, 1);
    if (status != GSRT_OK)
        return status;
    gsrt_deployment_stage *s = &d->pools[0].stages[stage];
    s->layer_first = first;
    s->layer_last = last;
    s->data_width = s->expert_width = s->context_width = 1;
    s->members[0] = (gsrt_deployment_members){
        .part = engine.part, .instance_first = engine.instance, .instance_count = 1, .block_replicas = 1, .share = 1};
    return GSRT_OK;
}

/* One pool of one replica with room for stages. */
static gsrt_deployment *make_pipeline(const view *v, uint32_t stage_count)
{
    gsrt_deployment *d = gsrt_deployment_create(v->question->workload, 1);
    if (d == NULL)
        return NULL;
    d->context_max = (uint32_t)(v->request.prompt_most + v->request.cached + v->request.output_most);
    d->pools[0].phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    d->pools[0].replica_count = d->pools[0].batch_max = 1;
    d->pools[0].prefill_tokens = v->question->prefill_tokens;
    return gsrt_deployment_add_stages(d, 0, stage_count) == GSRT_OK ? d : gsrt_deployment_free(d);
}

static gsrt_status make_slice(const view *v, gsrt_flow_engine engine, uint32_t count, slice *out)
{
    uint32_t layers = v->question->workload->layer_count;
    bool has_middle = count + 2 <= layers;
    gsrt_deployment *d = make_pipeline(v, has_middle ? 3 : 1);
    gsrt_status status = d == NULL ? GSRT_ENOMEM : GSRT_OK;
    if (status == GSRT_OK && !has_middle)
        status = add_stage(d, 0, 0, count - 1, engine);
    for (uint32_t stage = 0; status == GSRT_OK && has_middle && stage < 3; stage++)
        status = add_stage(d, stage,
                           stage == 0   ? 0
                           : stage == 1 ? 1
                                        : count + 1,
                           stage == 0   ? 0
                           : stage == 1 ? count
                                        : layers - 1,
                           engine);
    *out = (slice){.deployment = d, .stage = has_middle ? 1 : 0};
    if (status != GSRT_OK)
        out->deployment = gsrt_deployment_free(d);
    return status;
}

static gsrt__walk walk_over(const view *v, const gsrt_cost_question *question)
{
    return (gsrt__walk){.question = question,
                        .profile = v->profile,
                        .workload = question->workload,
                        .fleet = question->fleet,
                        .deployment = question->deployment};
}

static gsrt_cost_question question_of(const view *v, const gsrt_deployment *deployment)
{
    return (gsrt_cost_question){.workload = v->question->workload,
                                .fleet = v->question->fleet,
                                .deployment = deployment,
                                .demand = v->question->demand,
                                .mode = v->question->mode,
                                .profile = v->profile,
                                .today = v->question->today};
}

/* Seconds that the stage computes in one step; < 0: unknown. */
static double step_seconds(gsrt__walk *walk, uint32_t stage, gsrt__step step)
{
    gsrt__stage_time time = gsrt__stage_step(walk, 0, stage, &step);
    if (!time.total.quantity.is_known)
        return -1.0;
    double transfer = time.transfer.quantity.is_known ? time.transfer.quantity.value : 0.0;
    return time.total.quantity.value - transfer;
}

/* token/s with this batch; 0: unknown. */
static double passed(const view *v, gsrt__walk *walk, uint32_t stage, uint32_t batch)
{
    const gsrt__request *r = &v->request;
    double chunk = fmin(v->question->prefill_tokens, r->prompt), at_least = chunk > 1.0 ? chunk : 1.0;
    double decode_s = step_seconds(walk, stage,
                                   (gsrt__step){.phase = GSRT_PHASE_DECODE,
                                                .rows = batch,
                                                .sequences = batch,
                                                .context = r->cached + r->prompt + (r->output + 1) / 2});
    double prefill_s = step_seconds(
        walk, stage,
        (gsrt__step){
            .phase = GSRT_PHASE_PREFILL, .rows = at_least, .sequences = 1, .context = r->cached + (r->prompt + 1) / 2});
    if (decode_s < 0.0 || prefill_s < 0.0)
        return 0.0;
    double token_s = decode_s / batch + r->prompt / r->output * prefill_s / at_least;
    return token_s > 0.0 ? 1.0 / token_s : 0.0;
}

/* Does the batch's KV fit beside the weights, with in_flight times as many steps under way as the deployment has? */
static bool fits(gsrt__walk *walk, uint32_t stage, double in_flight)
{
    gsrt_cost_memory m;
    gsrt__stage_memory(walk, 0, stage, 0, &m);
    if (!m.weights.is_known || !m.state.is_known || !m.buffers.is_known || !m.capacity.is_known)
        return false;
    return m.weights.value + m.state.value * in_flight + m.buffers.value <= m.capacity.value;
}

static gsrt_status throughput_of(const view *v, gsrt_flow_engine engine, uint32_t count, double *out)
{
    slice s;
    gsrt_status status = make_slice(v, engine, count, &s);
    *out = 0.0;
    if (status != GSRT_OK)
        return status;
    gsrt_cost_question question = question_of(v, s.deployment);
    gsrt__walk walk = walk_over(v, &question);
    /* as many steps are in flight as stages of this size hold all layers */
    double stages = (double)((v->question->workload->layer_count + count - 1) / count);
    for (uint64_t batch = 1; batch <= v->question->batch_max; batch *= 2) {
        s.deployment->pools[0].batch_max = (uint32_t)batch;
        if (!fits(&walk, s.stage, stages / (double)s.deployment->pools[0].stage_count))
            break;
        *out = fmax(*out, passed(v, &walk, s.stage, (uint32_t)batch));
    }
    (void)gsrt_deployment_free(s.deployment);
    return walk.status;
}

/* Nodes of one part are alike: asked once. *any: one of them passes something. */
static gsrt_status set_nodes(const view *v, gsrt_flow_instance *instance, bool *any)
{
    double token_s[GSRT_LAYER_COUNT_MAX];
    uint32_t layers = v->question->workload->layer_count;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; status == GSRT_OK && i < v->question->engine_count; i++) {
        uint32_t same = 0;
        while (v->question->engines[same].part != v->question->engines[i].part)
            same += 1;
        if (same < i) {
            instance->nodes[i] = instance->nodes[same];
            continue;
        }
        for (uint32_t k = 1; status == GSRT_OK && k <= layers; k++) {
            status = throughput_of(v, v->question->engines[i], k, &token_s[k - 1]);
            *any = *any || token_s[k - 1] > 0.0;
        }
        if (status == GSRT_OK)
            status = gsrt_flow_instance_set_node(instance, i, token_s, layers);
    }
    return status;
}

static gsrt_status set_links(const view *v, gsrt_flow_instance *instance)
{
    gsrt_deployment *none = gsrt_deployment_create(v->question->workload, 1);
    if (none == NULL)
        return GSRT_ENOMEM;
    gsrt_cost_question question = question_of(v, none);
    gsrt__walk walk = walk_over(v, &question);
    double share = gsrt__assumed(GSRT__ASSUMPTION_LINK_SHARE).value;
    double token_bytes =
        (1.0 + v->request.prompt / v->request.output) * (double)v->question->workload->dim * ACTIVATION_BYTES;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; status == GSRT_OK && i < v->question->engine_count; i++) {
        gsrt_flow_engine from = v->question->engines[i];
        status = gsrt_flow_instance_set_link(instance, gsrt_flow_source(instance), i, INFINITY);
        if (status == GSRT_OK)
            status = gsrt_flow_instance_set_link(instance, i, gsrt_flow_sink(instance), INFINITY);
        for (uint32_t j = 0; status == GSRT_OK && j < v->question->engine_count; j++) {
            gsrt_flow_engine to = v->question->engines[j];
            if (i == j)
                continue;
            gsrt__reach reach = gsrt__reach_between(&walk, from.part, from.instance, to.part, to.instance, 1);
            if (reach.bandwidth.quantity.is_known)
                status =
                    gsrt_flow_instance_set_link(instance, i, j, reach.bandwidth.quantity.value * share / token_bytes);
        }
    }
    (void)gsrt_deployment_free(none);
    return status == GSRT_OK ? walk.status : status;
}

gsrt_status gsrt_flow_instance_of(const gsrt_flow_question *question, gsrt_diag *diag, gsrt_flow_instance **out)
{
    view v = {.question = question, .request = gsrt__request_of(question->demand)};
    gsrt_cost_profile *profile = gsrt_cost_profile_create(question->workload, question->fleet);
    gsrt_flow_instance *instance =
        gsrt_flow_instance_create(question->engine_count, question->workload->layer_count, false);
    gsrt_status status = profile == NULL || instance == NULL ? GSRT_ENOMEM : GSRT_OK;
    bool any = false;
    v.profile = profile;
    if (status == GSRT_OK)
        status = set_nodes(&v, instance, &any);
    if (status == GSRT_OK)
        status = set_links(&v, instance);
    if (status == GSRT_OK && !any)
        status = gsrt_diag_set(diag, GSRT_EUNSUPPORTED, NULL, NULL,
                               "no engine can hold a layer, or a rate, bandwidth or capacity was never stated");
    (void)gsrt_cost_profile_free(profile);
    if (status == GSRT_OK)
        *out = instance;
    else
        (void)gsrt_flow_instance_free(instance);
    return status;
}

/* The engines that tokens pass, in the order of their layers: order [engine_count]; *count: how many. False: there is
 * more than one way, or none. */
static bool find_way(const gsrt_flow_instance *instance, const gsrt_flow_evaluator *evaluator,
                     const gsrt_flow_hold *holds, uint32_t *order, uint32_t *count)
{
    uint32_t at = gsrt_flow_source(instance), sink = gsrt_flow_sink(instance);
    *count = 0;
    while (at != sink) {
        uint32_t next = at;
        for (uint32_t to = 0; to <= sink; to++) {
            if (to == gsrt_flow_source(instance) || gsrt_flow_routed(evaluator, at, to) == 0)
                continue;
            if (next != at)
                return false;
            next = to;
        }
        if (next == at)
            return false;
        if (next != sink)
            order[(*count)++] = next;
        at = next;
    }
    return *count > 0 && holds[order[0]].first == 0;
}

static gsrt_status make_stages(const view *v, const gsrt_flow_hold *holds, const uint32_t *order, uint32_t count,
                               gsrt_deployment **out)
{
    gsrt_deployment *d = make_pipeline(v, count);
    if (d == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; status == GSRT_OK && i < count; i++) {
        gsrt_flow_hold hold = holds[order[i]];
        status = add_stage(d, i, hold.first, hold.first + hold.count - 1, v->question->engines[order[i]]);
    }
    gsrt_cost_question question = question_of(v, d);
    gsrt__walk walk = walk_over(v, &question);
    uint32_t batch_max = 1;
    bool does_fit = status == GSRT_OK;
    for (uint64_t batch = 1; does_fit && batch <= v->question->batch_max; batch *= 2) {
        d->pools[0].batch_max = (uint32_t)batch;
        for (uint32_t i = 0; does_fit && i < count; i++)
            does_fit = fits(&walk, i, 1.0);
        if (does_fit)
            batch_max = (uint32_t)batch;
    }
    d->pools[0].batch_max = batch_max;
    if (status == GSRT_OK)
        status = walk.status;
    *out = status == GSRT_OK ? d : gsrt_deployment_free(d);
    return status;
}

gsrt_status gsrt_flow_deployment_of(const gsrt_flow_question *question, const gsrt_flow_instance *instance,
                                    const gsrt_flow_hold *holds, gsrt_diag *diag, gsrt_deployment **out)
{
    view v = {.question = question, .request = gsrt__request_of(question->demand)};
    uint32_t order[GSRT_FLOW_NODE_COUNT_MAX], count;
    gsrt_cost_profile *profile = gsrt_cost_profile_create(question->workload, question->fleet);
    gsrt_flow_evaluator *evaluator = gsrt_flow_evaluator_create(instance);
    gsrt_status status = profile == NULL || evaluator == NULL ? GSRT_ENOMEM : GSRT_OK;
    v.profile = profile;
    if (status == GSRT_OK) {
        (void)gsrt_flow_evaluate(evaluator, holds);
        if (!find_way(instance, evaluator, holds, order, &count))
            status = gsrt_diag_set(diag, GSRT_EUNSUPPORTED, NULL, NULL,
                                   "tokens take no way through the layers, or more than one; missing: %s",
                                   GSRT_FLOW_CAPABILITY);
    }
    gsrt_deployment *deployment = NULL;
    if (status == GSRT_OK)
        status = make_stages(&v, holds, order, count, &deployment);
    if (status == GSRT_OK)
        *out = deployment;
    (void)gsrt_flow_evaluator_free(evaluator);
    (void)gsrt_cost_profile_free(profile);
    return status;
}
