/* From the queue to the actor. Signals are looked at here, in their place in the order: a DOWN or an EXIT reaches its
 * actor only while the relation or the call that it ends is there, so each comes at most once, and none after
 * gsrt_unmonitor, gsrt_unlink or gsrt_timer_cancel.
 */
#include "actors/node_impl.h"
#include "mailbox/codec.h"

/* What becomes of a record. */
typedef enum verdict {
    VERDICT_DELIVER,
    VERDICT_DONE, /* nothing more to do */
    VERDICT_DROP,
    VERDICT_END, /* the actor ends: exit_reason */
} verdict;

static verdict take_down(gsrt_node *node, gsrt_actor *actor, const gsrt__record *record, gsrt_msg_down *down)
{
    if (down->call != 0) {
        if (record->flags & GSRT__RECORD_IS_SURE)
            return VERDICT_DELIVER;
        gsrt__call *call = gsrt__call_find_made(node, actor->address, down->call);
        if (call == NULL)
            return VERDICT_DROP;
        down->subject = call->callee_as_given;
        gsrt__call_close(node, call);
        return VERDICT_DELIVER;
    }
    gsrt__relation *relation = gsrt__relation_find(node, actor->address, GSRT__WATCHES, down->subject);
    if (relation == NULL)
        return VERDICT_DROP;
    down->subject = relation->other_as;
    gsrt__relation_drop(node, relation);
    return VERDICT_DELIVER;
}

static verdict take_exit(gsrt_node *node, gsrt_actor *actor, const gsrt__record *record, gsrt_msg_exit *body)
{
    if (body->subject == record->as) { /* gsrt_kill: no trap holds it */
        actor->exit_reason = body->reason;
        return VERDICT_END;
    }
    gsrt__relation *relation = gsrt__relation_find(node, actor->address, GSRT__LINKED, body->subject);
    if (relation == NULL)
        return VERDICT_DROP;
    body->subject = relation->other_as;
    gsrt__relation_drop(node, relation);
    if (actor->is_trapping)
        return VERDICT_DELIVER;
    if (body->reason == GSRT_EXIT_NORMAL)
        return VERDICT_DONE;
    actor->exit_reason = body->reason;
    return VERDICT_END;
}

static verdict take_timer(gsrt_node *node, const gsrt__record *record)
{
    gsrt__timer *timer = gsrt__slab_find(&node->timers, record->call);
    if (timer == NULL)
        return VERDICT_DONE; /* cancelled after it went off */
    gsrt__timer_drop(node, timer);
    return VERDICT_DELIVER;
}

/* `actor` NULL: it is gone. `copy` holds the body of a DOWN or EXIT, which may be changed. */
static verdict take_signal(gsrt_node *node, gsrt_actor *actor, const gsrt__record *record, void *body)
{
    unsigned kind = record->kind;
    if (kind >= GSRT_KIND_MONITOR && kind <= GSRT_KIND_UNLINK) {
        gsrt__relation_signal(node, actor, record, body);
        return VERDICT_DONE;
    }
    if (actor == NULL)
        return VERDICT_DROP;
    if (kind == GSRT_KIND_DOWN)
        return take_down(node, actor, record, body);
    if (kind == GSRT_KIND_EXIT)
        return take_exit(node, actor, record, body);
    if (kind == GSRT_KIND_TIMER)
        return take_timer(node, record);
    return VERDICT_DELIVER;
}

static bool is_void(const gsrt_node *node, const gsrt__record *record)
{
#ifdef GSRT_PLANT_NO_CANCEL
    return false;
#endif
    return record->epoch != node->epoch && record->kind >= GSRT__DATA_KIND_FIRST &&
           !gsrt_kind_is_local_only((gsrt_kind)record->kind);
}

/* A reply that cannot be delivered, whose call is closed already: it ends in a DOWN after all. */
static void deliver_failure(gsrt_node *node, gsrt_actor *actor, const gsrt__record *record, uint32_t reason)
{
    gsrt_msg_down body = {.subject = record->from, .call = record->call, .reason = reason};
    gsrt_message message = {.kind = GSRT_KIND_DOWN,
                            .from = record->from,
                            .call = record->call,
                            .cause = record->cause,
                            .epoch = node->epoch,
                            .body = &body};
    actor->behaviour->receive(actor, actor->state, &message);
}

static void deliver(gsrt_node *node, gsrt_actor *actor, const gsrt__record *record, const void *body)
{
    bool is_signal = (record->flags & GSRT__RECORD_IS_SIGNAL) != 0;
    gsrt_message message = {.kind = (gsrt_kind)record->kind,
                            .from = record->from,
                            .call = is_signal ? 0 : record->call,
                            .is_reply = (record->flags & GSRT__RECORD_IS_REPLY) != 0,
                            .cause = record->cause,
                            .epoch = record->epoch,
                            .body = body,
                            .payload = record->payload};
    if (record->kind == GSRT_KIND_DOWN)
        message.call = ((const gsrt_msg_down *)body)->call;
    const gsrt_node_recorder *recorder = &node->options.recorder;
    if (recorder->message != NULL && !(record->flags & GSRT__RECORD_IS_ENCODED)) {
        /* never encoded: its body is empty here */
        gsrt_envelope envelope = {.kind = message.kind,
                                  .epoch = record->epoch,
                                  .from = record->from,
                                  .to = record->to,
                                  .cause = record->cause,
                                  .call = message.call,
                                  .is_reply = message.is_reply,
                                  .payload = record->payload};
        recorder->message(recorder->arg, gsrt__round_now(node), &envelope, false);
    }
    actor->behaviour->receive(actor, actor->state, &message);
}

/* The body of an encoded record; NULL: refused. */
static const void *decode(gsrt_node *node, const gsrt__record *record)
{
    const void *body;
    gsrt_status status =
        gsrt_body_decode((gsrt_kind)record->kind, gsrt_span_of(record->body, record->body_bytes), &node->decode, &body);
    if (status == GSRT_OK)
        return body;
    node->facts.messages_refused++;
    return NULL;
}

static verdict run(gsrt_node *node, gsrt_actor *actor, const gsrt__record *record)
{
    uint32_t failure = GSRT_EXIT_NORMAL;
    const void *body = record->body;
    if (is_void(node, record)) {
        node->facts.messages_refused++;
        failure = GSRT_EXIT_EPOCH;
    } else if (record->flags & GSRT__RECORD_IS_ENCODED) {
        body = decode(node, record);
        failure = body == NULL ? GSRT_EXIT_REFUSED : GSRT_EXIT_NORMAL;
    }
    if (failure != GSRT_EXIT_NORMAL) {
        gsrt__call *got = record->call == 0 ? NULL : gsrt__call_find_got(node, record->from, record->call);
        if (got != NULL && !(record->flags & GSRT__RECORD_IS_REPLY))
            gsrt__call_fail(node, got, failure);
        else if (actor != NULL && (record->flags & GSRT__RECORD_IS_REPLY))
            deliver_failure(node, actor, record, failure);
        return VERDICT_DONE;
    }
    if (!(record->flags & GSRT__RECORD_IS_SIGNAL)) {
        if (actor == NULL)
            return VERDICT_DROP;
        deliver(node, actor, record, body);
        return VERDICT_DONE;
    }
    union {
        gsrt_msg_down down;
        gsrt_msg_exit exit;
    } copy;
    void *signal = (void *)(uintptr_t)body;
    if (record->kind == GSRT_KIND_DOWN)
        signal = memcpy(&copy.down, body, sizeof copy.down);
    else if (record->kind == GSRT_KIND_EXIT)
        signal = memcpy(&copy.exit, body, sizeof copy.exit);
    verdict then = take_signal(node, actor, record, signal);
    if (then == VERDICT_DELIVER)
        deliver(node, actor, record, signal);
    return then;
}

void gsrt__deliver_first(gsrt_node *node)
{
    gsrt__record *record = gsrt__queue_first(&node->queue);
    gsrt_actor *actor = node->slots[record->slot].actor;
    if (actor != NULL && actor->address != record->to)
        actor = NULL;
    if (actor != NULL && (record->flags & GSRT__RECORD_IS_COUNTED)) {
        actor->waiting_count--;
        if (!gsrt__list_is_empty(&actor->refused) && actor->waiting_count <= GSRT_INBOX_MESSAGES_MAX / 2)
            gsrt__refused_wake(node, &actor->refused);
    }
    node->cause = record->cause;
    node->running = actor;
    verdict then = run(node, actor, record);
    if (then == VERDICT_DROP)
        node->facts.messages_dropped++;
    gsrt__queue_remove_first(&node->queue);
    node->delivered_count++;
    if (actor != NULL && (then == VERDICT_END || actor->is_ending))
        gsrt__actor_end(actor, actor->exit_reason);
    node->running = NULL;
    node->cause = 0;
    if (!gsrt__list_is_empty(&node->refused) && node->queue.bytes <= GSRT_INBOX_BYTES_MAX / 2)
        gsrt__refused_wake(node, &node->refused);
}
