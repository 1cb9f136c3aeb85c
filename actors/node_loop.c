/* The loop: what a node does in one round, how it waits, and how it ends. */
#include "actors/node_impl.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

/* ---- posts of other threads ---- */

gsrt_status gsrt_node_post_foreign(gsrt_node *node, gsrt_address to, gsrt_kind kind, const void *body)
{
    const gsrt_kind_info *info = gsrt_kind_describe((uint64_t)kind);
    if (info == NULL || !info->is_flat || info->body_bytes > GSRT__FOREIGN_BODY_BYTES ||
        gsrt__send_check(kind, body) != GSRT_OK)
        return GSRT_EINVAL;
    pthread_mutex_lock(&node->foreign_lock);
    uint32_t count = atomic_load_explicit(&node->foreign_count, memory_order_relaxed);
    if (count < GSRT_FOREIGN_COUNT_MAX) {
        gsrt__foreign *foreign = &node->foreign[count];
        foreign->to = to;
        foreign->kind = kind;
        memcpy(foreign->body, body, info->body_bytes);
        /* pairs with the acquire in take_foreign; the lock orders the content */
        atomic_store_explicit(&node->foreign_count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&node->foreign_lock);
    if (count == 0)
        gsrt_node_wake(node);
    return count < GSRT_FOREIGN_COUNT_MAX ? GSRT_OK : GSRT_EFULL;
}

void gsrt_node_wake(gsrt_node *node)
{
    int error = errno;
    uint64_t one = 1;
    /* fails only when the counter is full, which wakes as well */
    ssize_t written = write(node->wake_fd, &one, sizeof one);
    (void)written;
    errno = error;
}

static uint32_t take_foreign(gsrt_node *node)
{
    if (atomic_load_explicit(&node->foreign_count, memory_order_acquire) == 0)
        return 0;
    pthread_mutex_lock(&node->foreign_lock);
    uint32_t count = atomic_load_explicit(&node->foreign_count, memory_order_relaxed);
    gsrt__foreign *taken = node->foreign;
    node->foreign = node->foreign_taken;
    node->foreign_taken = taken;
    atomic_store_explicit(&node->foreign_count, 0, memory_order_relaxed);
    pthread_mutex_unlock(&node->foreign_lock);
    for (uint32_t i = 0; i < count; i++) {
        /* accepted already: room in the inbox is not asked for, the posts' own bound holds */
        gsrt__route route = gsrt__route_of(node, taken[i].to);
        gsrt__post post = {.kind = taken[i].kind, .to = route.to, .body = taken[i].body};
        gsrt_status status = GSRT_ENOACTOR;
        if (route.kind == GSRT__ROUTE_HERE)
            status = gsrt__enqueue(node, route.actor, &post, 0);
        else if (route.kind == GSRT__ROUTE_RANK && !gsrt_kind_is_local_only(post.kind))
            status = gsrt__wire_post_signal(node, route.rank, &post);
        if (status != GSRT_OK)
            node->facts.messages_dropped++;
    }
    return count;
}

/* ---- a round ---- */

static uint32_t ring_due(gsrt_node *node)
{
    if (node->alarms.count == 0 && node->held_first == NULL)
        return 0;
    uint64_t now = gsrt__round_now(node);
    uint32_t count = 0;
    gsrt__alarm *alarm;
    while ((alarm = gsrt__alarms_first(&node->alarms)) != NULL && alarm->due_ns <= now) {
        gsrt__alarms_cancel(&node->alarms, alarm);
        gsrt__alarm_ring(node, alarm);
        count++;
    }
    if (node->held_first != NULL)
        gsrt__wire_release_held(node, now);
    return count;
}

/* The caller says when the round's time is over. */
static uint32_t do_round(gsrt_node *node, uint32_t message_count_max)
{
    uint32_t done = 0;
    /* Above the mark nothing is taken from other ranks: their windows fill, and their senders are told. Sends within
     * the node stop at half of it, so they cannot close the door to the others. */
    if (node->transport != NULL && node->queue.bytes < 2ull * GSRT_INBOX_BYTES_MAX)
        done += node->transport->ops->progress(node->transport);
    done += take_foreign(node);
    done += ring_due(node);
    for (uint32_t i = 0; i < message_count_max && node->queue.count > 0; i++, done++)
        gsrt__deliver_first(node);
    return done;
}

uint32_t gsrt__node_round(gsrt_node *node, uint32_t message_count_max)
{
    node->is_round_timed = false;
    uint32_t done = do_round(node, message_count_max);
    node->is_round_timed = false;
    return done;
}

uint32_t gsrt_node_step(gsrt_node *node)
{
    return gsrt__node_round(node, GSRT__DISPATCH_BUDGET);
}

uint64_t gsrt_node_next_timer_ns(const gsrt_node *node)
{
    const gsrt__alarm *alarm = gsrt__alarms_first(&node->alarms);
    uint64_t next = alarm == NULL ? UINT64_MAX : alarm->due_ns;
    if (node->held_first != NULL && node->held_first->due_ns < next)
        next = node->held_first->due_ns;
    return next;
}

/* ---- waiting ---- */

static void block(gsrt_node *node, uint64_t until_ns)
{
    struct pollfd fds[2] = {{.fd = node->wake_fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    if (node->transport != NULL && node->transport->ops->arm(node->transport, &fds[1].fd) != GSRT_OK)
        return; /* something came in between */
    struct timespec wait, *timeout = NULL;
    if (until_ns != UINT64_MAX) {
        uint64_t now = gsrt__now(node);
        uint64_t left = until_ns > now ? until_ns - now : 0;
        wait = (struct timespec){.tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
        timeout = &wait;
    }
    if (ppoll(fds, 2, timeout, NULL) > 0 && (fds[0].revents & POLLIN) != 0) {
        uint64_t count;
        ssize_t got = read(node->wake_fd, &count, sizeof count);
        (void)got;
    }
}

/* What was posted leaves, or GSRT_FLUSH_MS pass. */
static void flush(gsrt_node *node)
{
    uint64_t end = gsrt__now(node) + GSRT_FLUSH_MS * 1000000ull;
    while (node->transport != NULL && !gsrt__wire_is_flushed(node)) {
        node->is_round_timed = false;
        uint64_t now = gsrt__round_now(node);
        if (now >= end)
            return;
        if (node->transport->ops->progress(node->transport) == 0)
            block(node, now + 1000000u < end ? now + 1000000u : end);
    }
    node->is_round_timed = false;
}

/* Spinning: a look at the clock costs as much as an idle round, so that there is one per GSRT__SPIN_ROUNDS of them,
 * whose time it is. What woke us from blocking and was nothing does not make us spin anew. */
void gsrt_node_run(gsrt_node *node)
{
    const gsrt_node_recorder *recorder = &node->options.recorder;
    uint64_t spin_ns = node->options.spin_ns, patience_ns = spin_ns + node->options.yield_ns, idle_since = 0;
    uint32_t idle_rounds = 0;
    while (!gsrt_node_is_finished(node)) {
        bool is_idle = do_round(node, GSRT__DISPATCH_BUDGET) == 0;
        if (is_idle && spin_ns > 0 && idle_rounds % GSRT__SPIN_ROUNDS != 0) {
            idle_rounds++;
            continue;
        }
        node->is_round_timed = false;
        if (!is_idle) {
            idle_rounds = 0;
            continue;
        }
        bool was_busy = idle_rounds == 0;
        idle_rounds++;
        if (was_busy && recorder->catch_up != NULL)
            recorder->catch_up(recorder->arg);
        uint64_t now = patience_ns > 0 ? gsrt__round_now(node) : 0;
        if (was_busy)
            idle_since = now;
        if (now - idle_since >= spin_ns) {
            if (now - idle_since < patience_ns)
                (void)sched_yield();
            else
                block(node, gsrt_node_next_timer_ns(node));
            node->is_round_timed = false;
        }
    }
    node->is_round_timed = false;
    flush(node);
}

void gsrt_node_finish(gsrt_node *node, int exit_code)
{
    int none = GSRT__EXIT_CODE_NONE;
    /* the first call's code stands; pairs with the acquire in gsrt_node_is_finished */
    (void)atomic_compare_exchange_strong(&node->exit_code, &none, exit_code);
    atomic_store_explicit(&node->is_finished, true, memory_order_release);
    gsrt_node_wake(node);
}

int gsrt_node_exit_code(const gsrt_node *node)
{
    int code = atomic_load(&node->exit_code);
    return code == GSRT__EXIT_CODE_NONE ? 0 : code;
}

bool gsrt_node_is_finished(const gsrt_node *node)
{
    return atomic_load_explicit(&node->is_finished, memory_order_acquire);
}
