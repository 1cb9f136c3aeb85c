/* Plans, events and actions as msgpack, one array each.
 *
 *   plan     [strategy, restart_max, window_ns, [when, ...]]
 *   event    [kind, child, is_abnormal, now_ns]
 *   action   [kind, child]
 */
#include "actors/supervisor_machine.h"

#include "base/msgpack.h"

enum { PLAN_FIELD_COUNT = 4, EVENT_FIELD_COUNT = 4, ACTION_FIELD_COUNT = 2 };

gsrt_status gsrt_supervisor_plan_encode(const gsrt_supervisor_plan *plan, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, PLAN_FIELD_COUNT);
    gsrt_pack_uint(&pack, plan->strategy);
    gsrt_pack_uint(&pack, plan->restart_max);
    gsrt_pack_uint(&pack, plan->window_ns);
    gsrt_pack_array(&pack, plan->child_count);
    for (uint32_t i = 0; i < plan->child_count; i++)
        gsrt_pack_uint(&pack, plan->when[i]);
    return gsrt_pack_end(&pack);
}

gsrt_status gsrt_supervisor_plan_decode(gsrt_span bytes, gsrt_supervisor_plan *out)
{
    gsrt_unpack unpack;
    gsrt_supervisor_plan plan = {0};
    gsrt_unpack_init(&unpack, bytes);
    gsrt_unpack_record(&unpack, PLAN_FIELD_COUNT);
    plan.strategy = (gsrt_supervise_strategy)gsrt_unpack_uint(&unpack, GSRT_ONE_FOR_ALL);
    plan.restart_max = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_RESTART_COUNT_MAX);
    plan.window_ns = gsrt_unpack_uint(&unpack, UINT64_MAX);
    plan.child_count = gsrt_unpack_array(&unpack, GSRT_CHILD_COUNT_MAX);
    for (uint32_t i = 0; i < plan.child_count; i++)
        plan.when[i] = (gsrt_supervise_when)gsrt_unpack_uint(&unpack, GSRT_TEMPORARY);
    if (gsrt_unpack_end(&unpack) != GSRT_OK)
        return GSRT_EDECODE;
    *out = plan;
    return GSRT_OK;
}

gsrt_status gsrt_supervisor_event_encode(const gsrt_supervisor_event *event, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, EVENT_FIELD_COUNT);
    gsrt_pack_uint(&pack, event->kind);
    gsrt_pack_uint(&pack, event->child);
    gsrt_pack_bool(&pack, event->is_abnormal);
    gsrt_pack_uint(&pack, event->now_ns);
    return gsrt_pack_end(&pack);
}

gsrt_status gsrt_supervisor_event_decode(gsrt_span bytes, gsrt_supervisor_event *out)
{
    gsrt_unpack unpack;
    gsrt_supervisor_event event = {0};
    gsrt_unpack_init(&unpack, bytes);
    gsrt_unpack_record(&unpack, EVENT_FIELD_COUNT);
    event.kind = (gsrt_supervisor_event_kind)gsrt_unpack_uint(&unpack, GSRT_SUPERVISOR_END);
    event.child = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_CHILD_COUNT_MAX - 1);
    event.is_abnormal = gsrt_unpack_bool(&unpack);
    event.now_ns = gsrt_unpack_uint(&unpack, UINT64_MAX);
    if (gsrt_unpack_end(&unpack) != GSRT_OK)
        return GSRT_EDECODE;
    *out = event;
    return GSRT_OK;
}

gsrt_status gsrt_supervisor_action_encode(const gsrt_supervisor_action *action, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, ACTION_FIELD_COUNT);
    gsrt_pack_uint(&pack, action->kind);
    gsrt_pack_uint(&pack, action->child);
    return gsrt_pack_end(&pack);
}
