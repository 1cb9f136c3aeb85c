#include "backends/device_actor.h"

#include "base/limits.h"

enum { JOBS_MAX = GSRT_STAGE_COUNT_MAX };

typedef struct entry {
    gsrt_address from;
    uint64_t call;
    uint64_t job; /* its pointer; 0: free */
    gsrt_status status;
    uint64_t work_ns;
} entry;

typedef struct device_state {
    gsrt_device_actor_options options;
    uint64_t free_at_ns; /* twin: when the device has done what it was given */
    entry entries[JOBS_MAX];
    gsrt_address drain_from; /* who wants to know when no job is left; GSRT_NOBODY */
    uint64_t drain_call;
    uint32_t drain_epoch;
} device_state;

uint64_t gsrt_device_model_ns(const gsrt_device_model *model, const gsrt_job_cost *cost)
{
    double compute = (double)cost->attention_flops / model->flops_per_ns[0];
    for (int i = 0; i < 3; i++)
        compute += (double)cost->flops[i] / model->flops_per_ns[i];
    double bytes = (double)cost->weight_bytes + (double)cost->kv_bytes + (double)cost->activation_bytes;
    double memory = bytes / model->bytes_per_ns;
    return model->launch_ns + (uint64_t)(compute > memory ? compute : memory);
}

void gsrt_device_bridge_done(void *arg, gsrt_job *job, gsrt_status status, uint64_t work_ns)
{
    gsrt_device_bridge *bridge = arg;
    if (bridge->is_twin) {
        bridge->last = status;
        return;
    }
    gsrt_msg_job_done done = {.job = (uint64_t)(uintptr_t)job, .status = (uint32_t)status, .work_ns = work_ns};
    /* the queue of foreign posts holds more than the jobs that can be in flight */
    gsrt_status posted = gsrt_node_post_foreign(bridge->node, bridge->actor, GSRT_KIND_JOB_DONE, &done);
    if (posted != GSRT_OK)
        __builtin_trap();
}

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    device_state *d = state;
    d->options = *(const gsrt_device_actor_options *)arg;
    d->options.bridge->node = gsrt_node_of(self);
    d->options.bridge->actor = gsrt_self(self);
    d->options.bridge->is_twin = d->options.is_twin;
    return GSRT_OK;
}

static void answer(gsrt_actor *self, entry *e, uint64_t job, gsrt_status status, uint64_t work_ns)
{
    gsrt_msg_job_done done = {.job = job, .status = (uint32_t)status, .work_ns = work_ns};
    gsrt_status replied = gsrt_reply(self, e->from, e->call, GSRT_KIND_JOB_DONE, &done, NULL);
    e->job = 0;
    if (replied != GSRT_OK)
        gsrt_exit(self, GSRT_EXIT_CRASH);
}

/* Whoever waits for the last job to end, is told. */
static void tell_if_drained(gsrt_actor *self, device_state *d)
{
    if (d->drain_from == GSRT_NOBODY)
        return;
    for (uint32_t i = 0; i < JOBS_MAX; i++) {
        if (d->entries[i].job != 0)
            return;
    }
    gsrt_msg_drained drained = {.epoch = d->drain_epoch};
    gsrt_status replied = gsrt_reply(self, d->drain_from, d->drain_call, GSRT_KIND_DRAINED, &drained, NULL);
    d->drain_from = GSRT_NOBODY;
    if (replied != GSRT_OK)
        gsrt_exit(self, GSRT_EXIT_CRASH);
}

static entry *find(device_state *d, uint64_t job)
{
    for (uint32_t i = 0; i < JOBS_MAX; i++) {
        if (d->entries[i].job == job)
            return &d->entries[i];
    }
    return NULL;
}

/* Compute now, tell later: at the time the model gives. */
static void start_in_twin(gsrt_actor *self, device_state *d, entry *e, gsrt_job *job)
{
    gsrt_job_cost cost = gsrt_job_cost_of(job);
    e->work_ns = gsrt_device_model_ns(&d->options.model, &cost);
    double slowness = gsrt_node_slowness(gsrt_node_of(self));
    if (slowness > 1)
        e->work_ns = (uint64_t)((double)e->work_ns * slowness);
    e->status = GSRT_OK;
    if (d->options.device != NULL) {
        e->status = gsrt_device_submit(d->options.device, job);
        if (e->status == GSRT_OK)
            e->status = d->options.bridge->last;
    }
    uint64_t now = gsrt_now_ns(self);
    d->free_at_ns = (d->free_at_ns > now ? d->free_at_ns : now) + e->work_ns;
    if (gsrt_timer_start(self, d->free_at_ns - now, e->job, NULL) != GSRT_OK)
        answer(self, e, e->job, GSRT_ELIMIT, 0);
}

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    device_state *d = state;
    if (message->kind == GSRT_KIND_JOB) {
        uint64_t pointer = ((const gsrt_msg_job *)message->body)->job;
        entry refused = {.from = message->from, .call = message->call};
        entry *e = find(d, 0);
        if (e == NULL) {
            answer(self, &refused, pointer, GSRT_EFULL, 0);
            return;
        }
        *e = (entry){.from = message->from, .call = message->call, .job = pointer};
        gsrt_job *job = (gsrt_job *)(uintptr_t)pointer;
        if (d->options.is_twin) {
            start_in_twin(self, d, e, job);
        } else {
            gsrt_status status = gsrt_device_submit(d->options.device, job);
            if (status != GSRT_OK)
                answer(self, e, pointer, status, 0);
        }
    } else if (message->kind == GSRT_KIND_DRAIN) {
        d->drain_from = message->from;
        d->drain_call = message->call;
        d->drain_epoch = ((const gsrt_msg_drain *)message->body)->epoch;
    } else if (message->kind == GSRT_KIND_JOB_DONE) {
        const gsrt_msg_job_done *done = message->body;
        entry *e = find(d, done->job);
        if (e != NULL)
            answer(self, e, done->job, (gsrt_status)done->status, done->work_ns);
    } else if (message->kind == GSRT_KIND_TIMER) {
        uint64_t job = ((const gsrt_msg_timer *)message->body)->tag;
        entry *e = find(d, job);
        if (e != NULL)
            answer(self, e, job, e->status, e->work_ns);
    }
    tell_if_drained(self, d);
}

static const gsrt_behaviour device_behaviour = {
    .name = "device", .state_bytes = sizeof(device_state), .init = init, .receive = receive};

gsrt_status gsrt_device_actor_start(gsrt_node *node, const gsrt_device_actor_options *options)
{
    gsrt_address address;
    gsrt_status status = gsrt_node_spawn(node, &device_behaviour, options, &address);
    if (status != GSRT_OK)
        return status;
    return gsrt_role_bind(node, gsrt_address_of_role(GSRT_ROLE_DEVICE, 0, gsrt_node_rank(node)), address);
}
