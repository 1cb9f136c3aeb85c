#include "actors/supervisor_machine.h"

gsrt_status gsrt_supervisor_machine_init(gsrt_supervisor_machine *machine, const gsrt_supervisor_plan *plan)
{
    if (plan->child_count > GSRT_CHILD_COUNT_MAX || plan->restart_max > GSRT_RESTART_COUNT_MAX ||
        (unsigned)plan->strategy > GSRT_ONE_FOR_ALL)
        return GSRT_EINVAL;
    *machine = (gsrt_supervisor_machine){.plan = *plan};
    return GSRT_OK;
}

/* Note a restart; false: it is one too many. */
static bool spend(gsrt_supervisor_machine *machine, uint64_t now_ns)
{
    uint32_t most = machine->plan.restart_max;
    if (most == 0)
        return false;
    uint64_t *oldest = &machine->restarts_ns[machine->restart_count % most];
    bool is_too_many = machine->restart_count >= most && now_ns - *oldest < machine->plan.window_ns;
    if (is_too_many)
        return false;
    *oldest = now_ns;
    machine->restart_count++;
    return true;
}

static void give_up(gsrt_supervisor_machine *machine)
{
    machine->is_given_up = true;
    machine->phase = GSRT_SUPERVISOR_ENDING;
}

/* A child that should be up is not: decide who is restarted with it. */
static void lose(gsrt_supervisor_machine *machine, uint32_t child, uint64_t now_ns)
{
    if (!spend(machine, now_ns)) {
        give_up(machine);
        return;
    }
    uint32_t first = machine->plan.strategy == GSRT_ONE_FOR_ALL ? 0 : child;
    uint32_t end = machine->plan.strategy == GSRT_ONE_FOR_ONE ? child + 1 : machine->plan.child_count;
    for (uint32_t i = first; i < end; i++)
        machine->is_condemned[i] = machine->is_up[i];
    machine->phase = GSRT_SUPERVISOR_MENDING;
}

static void end_of(gsrt_supervisor_machine *machine, const gsrt_supervisor_event *event)
{
    uint32_t child = event->child;
    if (!machine->is_up[child])
        return;
    bool is_ordered = machine->waits_for == child + 1;
    bool is_condemned = machine->is_condemned[child];
    machine->is_up[child] = machine->is_condemned[child] = false;
    if (is_ordered)
        machine->waits_for = 0;
    gsrt_supervise_when when = machine->plan.when[child];
    if (when == GSRT_TEMPORARY)
        machine->is_wanted[child] = false;
    if (is_ordered || is_condemned || machine->phase == GSRT_SUPERVISOR_ENDING)
        return; /* as was wanted */
    if (when == GSRT_TEMPORARY || (when == GSRT_TRANSIENT && !event->is_abnormal))
        machine->is_wanted[child] = false;
    else
        lose(machine, child, event->now_ns);
}

static gsrt_supervisor_action order(gsrt_supervisor_machine *machine, gsrt_supervisor_action_kind kind, uint32_t child)
{
    machine->waits_for = child + 1;
    return (gsrt_supervisor_action){.kind = kind, .child = child};
}

/* What is to be done next in this phase. */
static gsrt_supervisor_action next(gsrt_supervisor_machine *machine)
{
    gsrt_supervisor_action wait = {.kind = GSRT_SUPERVISOR_WAIT};
    if (machine->waits_for != 0)
        return wait;
    bool is_ending = machine->phase == GSRT_SUPERVISOR_ENDING;
    if (!is_ending && machine->phase != GSRT_SUPERVISOR_MENDING)
        return wait;
    for (uint32_t i = machine->plan.child_count; i > 0; i--)
        if (machine->is_up[i - 1] && (is_ending || machine->is_condemned[i - 1]))
            return order(machine, GSRT_SUPERVISOR_STOP, i - 1);
    if (is_ending) {
        machine->phase = GSRT_SUPERVISOR_GONE;
        return (gsrt_supervisor_action){.kind = GSRT_SUPERVISOR_LEAVE};
    }
    for (uint32_t i = 0; i < machine->plan.child_count; i++)
        if (!machine->is_up[i] && machine->is_wanted[i])
            return order(machine, machine->restart_count > 0 ? GSRT_SUPERVISOR_RESTART : GSRT_SUPERVISOR_START, i);
    machine->phase = GSRT_SUPERVISOR_UP;
    return wait;
}

gsrt_supervisor_action gsrt_supervisor_machine_step(gsrt_supervisor_machine *machine,
                                                    const gsrt_supervisor_event *event)
{
    uint32_t child = event->child;
    bool is_first = machine->phase == GSRT_SUPERVISOR_FRESH;
    if (is_first != (event->kind == GSRT_SUPERVISOR_BEGIN) || machine->phase == GSRT_SUPERVISOR_GONE ||
        (!is_first && event->kind != GSRT_SUPERVISOR_END && child >= machine->plan.child_count))
        return (gsrt_supervisor_action){.kind = GSRT_SUPERVISOR_WAIT};
    bool is_answer = machine->waits_for == child + 1 && !machine->is_up[child];
    switch (event->kind) {
    case GSRT_SUPERVISOR_BEGIN:
        for (uint32_t i = 0; i < machine->plan.child_count; i++)
            machine->is_wanted[i] = true;
        machine->phase = GSRT_SUPERVISOR_MENDING;
        break;
    case GSRT_SUPERVISOR_STARTED:
        if (is_answer) {
            machine->is_up[child] = true;
            machine->waits_for = 0;
        }
        break;
    case GSRT_SUPERVISOR_FAILED:
        if (is_answer) {
            machine->waits_for = 0;
            if (machine->restart_count == 0)
                give_up(machine); /* the first start: nothing is gained by trying again */
            else
                lose(machine, child, event->now_ns);
        }
        break;
    case GSRT_SUPERVISOR_REFUSED:
        if (is_answer) {
            machine->waits_for = 0;
            give_up(machine);
        }
        break;
    case GSRT_SUPERVISOR_ENDED: end_of(machine, event); break;
    case GSRT_SUPERVISOR_END: machine->phase = GSRT_SUPERVISOR_ENDING; break;
    }
    return next(machine);
}
