#include "actors/supervisor.h"

#include "base/limits.h"

typedef struct supervisor {
    gsrt_supervisor_machine machine;
    gsrt_supervisor_options options;
    gsrt_supervisor_child children[GSRT_CHILD_COUNT_MAX];
    gsrt_address addresses[GSRT_CHILD_COUNT_MAX]; /* GSRT_NOBODY: not up */
    uint32_t last_reason;                         /* of the end that is being mended */
    gsrt_status start_status;                     /* of the last start that failed */
} supervisor;

/* What is recorded is small: its room is taken and given back each time, since supervisors have little to do. */
static void record(gsrt_actor *self, const gsrt_supervisor_plan *plan, const gsrt_supervisor_event *event,
                   const gsrt_supervisor_action *action)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, GSRT_TRACE_FRAME_BYTES_MAX);
    gsrt_status status = plan != NULL    ? gsrt_supervisor_plan_encode(plan, &bytes)
                         : event != NULL ? gsrt_supervisor_event_encode(event, &bytes)
                                         : gsrt_supervisor_action_encode(action, &bytes);
    if (status == GSRT_OK && plan != NULL)
        gsrt_record_init(self, "supervisor", gsrt_buffer_span(&bytes));
    else if (status == GSRT_OK && event != NULL)
        gsrt_record_event(self, "supervisor", gsrt_buffer_span(&bytes));
    else if (status == GSRT_OK)
        gsrt_record_action(self, "supervisor", gsrt_buffer_span(&bytes));
    gsrt_buffer_fini(&bytes);
}

/* Asynchronous; its DOWN tells when. */
static void kill_child(gsrt_actor *self, gsrt_address child)
{
    gsrt_status status = gsrt_kill(self, child, GSRT_EXIT_SHUTDOWN);
    (void)status; /* fails only for somebody who is gone, which is as good */
}

static gsrt_status start_child(gsrt_actor *self, supervisor *me, uint32_t child)
{
    const gsrt_supervisor_child *what = &me->children[child];
    gsrt_address address;
    gsrt_status status = gsrt_spawn(self, what->behaviour, what->arg, &address);
    if (status != GSRT_OK)
        return status;
    status = gsrt_monitor(self, address);
    if (status == GSRT_OK && what->role != GSRT_NOBODY)
        status = gsrt_role_bind(gsrt_node_of(self), what->role, address);
    if (status != GSRT_OK) {
        gsrt_unmonitor(self, address);
        kill_child(self, address);
        return status;
    }
    me->addresses[child] = address;
    return GSRT_OK;
}

static gsrt_supervisor_event_kind try_start(gsrt_actor *self, supervisor *me, uint32_t child, bool is_restart)
{
    const gsrt_supervisor_options *options = &me->options;
    if (is_restart && options->restart_check != NULL &&
        options->restart_check(options->restart_check_arg, child, me->last_reason) != GSRT_OK)
        return GSRT_SUPERVISOR_REFUSED;
    gsrt_status status = start_child(self, me, child);
    if (status != GSRT_OK)
        me->start_status = status;
    return status == GSRT_OK ? GSRT_SUPERVISOR_STARTED : GSRT_SUPERVISOR_FAILED;
}

static void leave(gsrt_actor *self, supervisor *me)
{
    if (me->machine.is_given_up && me->options.finish_code != 0)
        gsrt_node_finish(gsrt_node_of(self), me->options.finish_code);
    gsrt_exit(self, me->machine.is_given_up ? GSRT_EXIT_CRASH : GSRT_EXIT_NORMAL);
}

/* Feed the event, carry out the action; starts are answered at once, so their answers are fed here as well. */
static void feed(gsrt_actor *self, supervisor *me, gsrt_supervisor_event event)
{
    for (;;) {
        event.now_ns = gsrt_now_ns(self);
        record(self, NULL, &event, NULL);
        gsrt_supervisor_action action = gsrt_supervisor_machine_step(&me->machine, &event);
        record(self, NULL, NULL, &action);
        event = (gsrt_supervisor_event){.child = action.child};
        switch (action.kind) {
        case GSRT_SUPERVISOR_WAIT: return;
        case GSRT_SUPERVISOR_LEAVE: leave(self, me); return;
        case GSRT_SUPERVISOR_STOP:
            /* its DOWN is the answer; when it is ending already, that one's */
            kill_child(self, me->addresses[action.child]);
            return;
        case GSRT_SUPERVISOR_START: event.kind = try_start(self, me, action.child, false); break;
        case GSRT_SUPERVISOR_RESTART: event.kind = try_start(self, me, action.child, true); break;
        }
    }
}

static void kill_children(gsrt_actor *self, supervisor *me)
{
    for (uint32_t i = me->machine.plan.child_count; i > 0; i--)
        if (me->addresses[i - 1] != GSRT_NOBODY)
            kill_child(self, me->addresses[i - 1]);
}

static gsrt_status supervisor_init(gsrt_actor *self, void *state, const void *arg)
{
    supervisor *me = state;
    me->options = *(const gsrt_supervisor_options *)arg;
    gsrt_supervisor_plan plan = {.strategy = me->options.strategy,
                                 .restart_max = me->options.restart_max,
                                 .window_ns = me->options.window_ns,
                                 .child_count = me->options.child_count};
    if (plan.child_count > GSRT_CHILD_COUNT_MAX)
        return GSRT_EINVAL;
    for (uint32_t i = 0; i < plan.child_count; i++) {
        me->children[i] = me->options.children[i];
        plan.when[i] = me->children[i].when;
    }
    me->options.children = NULL;
    gsrt_status status = gsrt_supervisor_machine_init(&me->machine, &plan);
    if (status != GSRT_OK)
        return status;
    record(self, &plan, NULL, NULL);
    feed(self, me, (gsrt_supervisor_event){.kind = GSRT_SUPERVISOR_BEGIN});
    if (me->machine.phase == GSRT_SUPERVISOR_UP)
        return GSRT_OK;
    kill_children(self, me);
    return me->start_status;
}

static void supervisor_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    supervisor *me = state;
    if (message->kind == GSRT_KIND_STOP) {
        feed(self, me, (gsrt_supervisor_event){.kind = GSRT_SUPERVISOR_END});
        return;
    }
    if (message->kind != GSRT_KIND_DOWN)
        return;
    const gsrt_msg_down *down = message->body;
    for (uint32_t i = 0; i < me->machine.plan.child_count; i++) {
        if (me->addresses[i] != down->subject)
            continue;
        me->addresses[i] = GSRT_NOBODY;
        if (me->machine.waits_for != i + 1 && !me->machine.is_condemned[i])
            me->last_reason = down->reason; /* not one that was ordered */
        bool is_abnormal = down->reason != GSRT_EXIT_NORMAL && down->reason != GSRT_EXIT_SHUTDOWN;
        feed(self, me, (gsrt_supervisor_event){.kind = GSRT_SUPERVISOR_ENDED, .child = i, .is_abnormal = is_abnormal});
        return;
    }
}

static void supervisor_stop(gsrt_actor *self, void *state, uint32_t reason)
{
    (void)reason;
    kill_children(self, state);
}

const gsrt_behaviour gsrt_supervisor = {.name = "supervisor",
                                        .state_bytes = sizeof(supervisor),
                                        .init = supervisor_init,
                                        .receive = supervisor_receive,
                                        .stop = supervisor_stop};
