/* Calls and timers: what is due when.
 *
 * A call made here is one record that its caller's list, its callee's list (callee here) and the alarms share:
 *
 *   open --reply comes--> closed          a reply that finds no open call is late: dropped and counted
 *     +--timeout, end of callee, its rank, view change--> closed, one DOWN
 *
 * A call of another rank is noted here as well, so that the end of its callee can be told; its alarm is the caller's
 * time left, after which nobody waits for the answer.
 */
#include "actors/node_impl.h"

#include <assert.h>

/* ---- calls ---- */

gsrt__call *gsrt__call_find_made(const gsrt_node *node, gsrt_address caller, uint64_t number)
{
    gsrt__call *call = gsrt__slab_find(&node->calls, number);
    return call != NULL && !call->is_from_elsewhere && call->caller == caller ? call : NULL;
}

gsrt__call *gsrt__call_find_got(const gsrt_node *node, gsrt_address caller, uint64_t number)
{
    const uint64_t *handle = gsrt__map_find(&node->calls_got, caller, number);
    return handle == NULL ? NULL : gsrt__slab_find(&node->calls, *handle);
}

void gsrt__call_close(gsrt_node *node, gsrt__call *call)
{
    gsrt__alarms_cancel(&node->alarms, &call->alarm);
    gsrt__list_remove(&call->by_caller);
    gsrt__list_remove(&call->by_callee);
    if (call->is_from_elsewhere)
        (void)gsrt__map_remove(&node->calls_got, call->caller, call->number);
    gsrt__slab_give(&node->calls, call);
}

void gsrt__call_fail(gsrt_node *node, gsrt__call *call, uint32_t reason)
{
    gsrt_address caller = call->caller, callee = call->callee_as_given;
    uint64_t number = call->number;
    gsrt__call_close(node, call);
    gsrt__signal_down(node, caller, callee, number, reason);
}

static gsrt_status call_make(gsrt_node *node, uint64_t due_ns, gsrt__call **out)
{
    if (node->calls.count >= GSRT_CALL_COUNT_MAX)
        return GSRT_ELIMIT;
    gsrt__call *call = gsrt__slab_take(&node->calls);
    if (call == NULL)
        return GSRT_ENOMEM;
    gsrt__list_init(&call->by_caller);
    gsrt__list_init(&call->by_callee);
    call->alarm.what = GSRT__ALARM_CALL;
    gsrt_status status = gsrt__alarms_set(&node->alarms, &call->alarm, due_ns);
    if (status != GSRT_OK)
        gsrt__slab_give(&node->calls, call);
    else
        *out = call;
    return status;
}

gsrt_status gsrt__call_note_got(gsrt_node *node, gsrt_actor *callee, gsrt_address caller, uint64_t number,
                                uint64_t timeout_ns)
{
    if (timeout_ns > GSRT_TIMEOUT_NS_MAX)
        timeout_ns = GSRT_TIMEOUT_NS_MAX;
    gsrt__call *call;
    gsrt_status status = call_make(node, gsrt__now(node) + timeout_ns, &call);
    if (status != GSRT_OK)
        return status;
    uint64_t *handle;
    status = gsrt__map_put(&node->calls_got, caller, number, &handle);
    if (status != GSRT_OK) {
        gsrt__call_close(node, call);
        return status;
    }
    *handle = gsrt__slab_handle(&call->item);
    call->caller = caller;
    call->callee = call->callee_as_given = callee->address;
    call->number = number;
    call->is_from_elsewhere = true;
    gsrt__list_append(&callee->calls_got, &call->by_callee);
    return GSRT_OK;
}

/* The request itself; the call is in the lists already. */
static gsrt_status call_post(gsrt_actor *self, const gsrt__route *route, const gsrt__post *post)
{
    gsrt_node *node = self->node;
    switch (route->kind) {
    case GSRT__ROUTE_HERE: return gsrt__send_here(self, node, route->actor, post);
    case GSRT__ROUTE_RANK: return gsrt__send_to_rank(self, node, route->rank, post);
    case GSRT__ROUTE_NOWHERE: break;
    }
    node->facts.messages_dropped++;
    return GSRT_ENOACTOR;
}

gsrt_status gsrt_call(gsrt_actor *self, gsrt_address to, gsrt_kind kind, const void *body, gsrt_payload *payload,
                      uint64_t timeout_ns, uint64_t *out_call)
{
    gsrt_node *node = self->node;
    gsrt_status status = gsrt__send_check(kind, body);
    if (status != GSRT_OK)
        return status;
    if (timeout_ns == 0)
        return GSRT_EINVAL;
    if (timeout_ns > GSRT_TIMEOUT_NS_MAX)
        timeout_ns = GSRT_TIMEOUT_NS_MAX;
    gsrt__call *call;
    status = call_make(node, gsrt__now(node) + timeout_ns, &call);
    if (status != GSRT_OK)
        return status;
    gsrt__route route = gsrt__route_of(node, to);
    call->number = gsrt__slab_handle(&call->item);
    call->caller = self->address;
    call->callee = route.to;
    call->callee_as_given = to;
    call->callee_rank = route.rank;
    gsrt__list_append(&self->calls_made, &call->by_caller);
    if (route.kind == GSRT__ROUTE_HERE)
        gsrt__list_append(&route.actor->calls_got, &call->by_callee);
    gsrt__post post = {.kind = kind,
                       .from = self->address,
                       .to = route.to,
                       .call = call->number,
                       .timeout_ns = timeout_ns,
                       .body = body,
                       .payload = payload};
    uint64_t number = call->number;
    status = call_post(self, &route, &post);
    if (status == GSRT_ENOACTOR || status == GSRT_ELINK)
        gsrt__call_fail(node, call, status == GSRT_ELINK ? GSRT_EXIT_RANK_LOST : GSRT_EXIT_NO_ACTOR);
    else if (status != GSRT_OK) {
        gsrt__call_close(node, call);
        return status;
    }
    *out_call = number;
    return GSRT_OK;
}

static gsrt_status reply_here(gsrt_actor *self, const gsrt__post *post)
{
    gsrt_node *node = self->node;
    gsrt__call *call = gsrt__call_find_made(node, post->to, post->call);
    gsrt_actor *caller = gsrt__actor_find(node, post->to);
    if (call == NULL || caller == NULL) {
        node->facts.messages_dropped++;
        return GSRT_OK;
    }
    gsrt_status status = gsrt__enqueue(node, caller, post, GSRT__RECORD_IS_REPLY);
    if (status == GSRT_OK) {
        node->facts.messages_local++;
        gsrt__call_close(node, call);
    }
    return status;
}

gsrt_status gsrt_reply(gsrt_actor *self, gsrt_address to, uint64_t call, gsrt_kind kind, const void *body,
                       gsrt_payload *payload)
{
    gsrt_node *node = self->node;
    gsrt_status status = gsrt__send_check(kind, body);
    if (status != GSRT_OK)
        return status;
    if (call == 0 || gsrt_address_is_role(to))
        return GSRT_EINVAL;
    gsrt__post post = {.kind = kind,
                       .from = self->address,
                       .to = to,
                       .call = call,
                       .is_reply = true,
                       .body = body,
                       .payload = payload};
    gsrt__route route = gsrt__route_of(node, to);
    if (route.kind == GSRT__ROUTE_HERE)
        return reply_here(self, &post);
    if (route.kind == GSRT__ROUTE_NOWHERE) {
        node->facts.messages_dropped++;
        return GSRT_OK;
    }
    status = gsrt__send_to_rank(self, node, route.rank, &post);
    gsrt__call *got = gsrt__call_find_got(node, to, call);
    if (status == GSRT_ELINK)
        node->facts.messages_dropped++;
    if ((status == GSRT_OK || status == GSRT_ELINK) && got != NULL)
        gsrt__call_close(node, got);
    return status == GSRT_ELINK ? GSRT_OK : status;
}

/* ---- timers ---- */

void gsrt__timer_drop(gsrt_node *node, gsrt__timer *timer)
{
    gsrt__alarms_cancel(&node->alarms, &timer->alarm);
    gsrt__list_remove(&timer->by_owner);
    gsrt__slab_give(&node->timers, timer);
}

gsrt_status gsrt_timer_start(gsrt_actor *self, uint64_t delay_ns, uint64_t tag, uint64_t *out_timer)
{
    gsrt_node *node = self->node;
    if (delay_ns > GSRT_TIMEOUT_NS_MAX)
        delay_ns = GSRT_TIMEOUT_NS_MAX;
    if (node->timers.count >= GSRT_TIMER_COUNT_MAX)
        return GSRT_ELIMIT;
    gsrt__timer *timer = gsrt__slab_take(&node->timers);
    if (timer == NULL)
        return GSRT_ENOMEM;
    timer->alarm.what = GSRT__ALARM_TIMER;
    gsrt_status status = gsrt__alarms_set(&node->alarms, &timer->alarm, gsrt__now(node) + delay_ns);
    if (status != GSRT_OK) {
        gsrt__slab_give(&node->timers, timer);
        return status;
    }
    timer->owner = self;
    timer->tag = tag;
    timer->cause = node->cause;
    gsrt__list_append(&self->timers, &timer->by_owner);
    if (out_timer != NULL)
        *out_timer = gsrt__slab_handle(&timer->item);
    return GSRT_OK;
}

void gsrt_timer_cancel(gsrt_actor *self, uint64_t handle)
{
    gsrt__timer *timer = gsrt__slab_find(&self->node->timers, handle);
    if (timer != NULL && timer->owner == self)
        gsrt__timer_drop(self->node, timer);
}

/* The record names the timer, which lives until the record is delivered: so a cancel in between still counts. */
static void timer_ring(gsrt_node *node, gsrt__timer *timer)
{
    gsrt_msg_timer body = {.tag = timer->tag};
    gsrt__post post = {.kind = GSRT_KIND_TIMER,
                       .from = timer->owner->address,
                       .to = timer->owner->address,
                       .call = gsrt__slab_handle(&timer->item),
                       .body = &body};
    uint64_t cause = node->cause;
    node->cause = timer->cause;
    if (gsrt__enqueue(node, timer->owner, &post, GSRT__RECORD_IS_SIGNAL) != GSRT_OK) {
        node->facts.messages_dropped++;
        gsrt__timer_drop(node, timer);
    }
    node->cause = cause;
}

void gsrt__alarm_ring(gsrt_node *node, gsrt__alarm *alarm)
{
    assert(alarm->place == 0);
    if (alarm->what == GSRT__ALARM_TIMER) {
        timer_ring(node, GSRT__ITEM_OF(alarm, gsrt__timer, alarm));
        return;
    }
    gsrt__call *call = GSRT__ITEM_OF(alarm, gsrt__call, alarm);
    if (call->is_from_elsewhere)
        gsrt__call_close(node, call);
    else
        gsrt__call_fail(node, call, GSRT_EXIT_TIMEOUT);
}
