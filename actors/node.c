/* Create and free a node, its facts, and the check of all invariants. */
#include "actors/node_impl.h"
#include "mailbox/codec.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static uint64_t monotonic_ns(void *arg)
{
    (void)arg;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void node_init(gsrt_node *node, const gsrt_node_options *options)
{
    node->options = *options;
    if (node->options.clock_ns == NULL)
        node->options.clock_ns = monotonic_ns;
    node->transport = options->transport;
    node->slowness = 1;
    node->prefix = gsrt_address_of_actor(options->rank, options->incarnation, 0) >> 32;
    atomic_init(&node->exit_code, GSRT__EXIT_CODE_NONE);
    atomic_init(&node->is_finished, false);
    atomic_init(&node->foreign_count, 0);
    gsrt__list_init(&node->refused);
    gsrt_buffer_init(&node->encode, GSRT_BODY_BYTES_MAX);
    gsrt_buffer_init(&node->decode, GSRT_BODY_FLAT_BYTES_MAX);
    gsrt__slab_init(&node->timers, sizeof(gsrt__timer), GSRT_TIMER_COUNT_MAX);
    gsrt__slab_init(&node->calls, sizeof(gsrt__call), GSRT_CALL_COUNT_MAX);
    gsrt__slab_init(&node->relations, sizeof(gsrt__relation), GSRT_RELATION_COUNT_MAX);
    gsrt__slab_init(&node->refusals, sizeof(gsrt__refusal), GSRT_REFUSAL_COUNT_MAX);
    gsrt__map_init(&node->calls_got, GSRT_CALL_COUNT_MAX);
    gsrt__map_init(&node->relation_map, GSRT_RELATION_COUNT_MAX);
    gsrt__map_init(&node->roles, GSRT_ROLE_COUNT_MAX);
    gsrt__map_init(&node->places, GSRT_PLACE_COUNT_MAX);
    gsrt__map_init(&node->sent, GSRT_STREAM_COUNT_MAX);
    gsrt__map_init(&node->seen, GSRT_STREAM_COUNT_MAX);
    pthread_mutex_init(&node->foreign_lock, NULL);
}

gsrt_status gsrt_node_create(const gsrt_node_options *options, gsrt_node **out)
{
    if (options->rank_count == 0 || options->rank_count > GSRT_RANK_COUNT_MAX || options->rank >= options->rank_count ||
        options->incarnation > UINT8_MAX)
        return GSRT_EINVAL;
    gsrt_node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return GSRT_ENOMEM;
    node_init(node, options);
    node->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    node->peers = calloc(options->rank_count, sizeof *node->peers);
    node->foreign = malloc(GSRT_FOREIGN_COUNT_MAX * sizeof *node->foreign);
    node->foreign_taken = malloc(GSRT_FOREIGN_COUNT_MAX * sizeof *node->foreign_taken);
    bool is_queue_made = gsrt__queue_init(&node->queue);
    if (node->wake_fd < 0 || node->peers == NULL || node->foreign == NULL || node->foreign_taken == NULL ||
        !is_queue_made) {
        node->transport = NULL; /* stays the caller's */
        gsrt_node_free(node);
        return GSRT_ENOMEM;
    }
    for (uint32_t rank = 0; rank < options->rank_count; rank++) {
        node->peers[rank].incarnation = node->peers[rank].joined = (uint8_t)options->incarnation;
        gsrt__list_init(&node->peers[rank].refused);
    }
    if (node->transport != NULL)
        gsrt__wire_listen(node);
    *out = node;
    return GSRT_OK;
}

gsrt_node *gsrt_node_free(gsrt_node *node)
{
    if (node == NULL)
        return NULL;
    node->is_freeing = true; /* nobody is spawned any more */
    for (uint32_t slot = node->slot_count; slot > 0; slot--)
        if (node->slots[slot - 1].actor != NULL)
            gsrt__actor_end(node->slots[slot - 1].actor, GSRT_EXIT_SHUTDOWN);
    assert(node->actor_count == 0);
    gsrt__wire_drop_held(node);
    for (uint32_t rank = 0; node->peers != NULL && rank < node->options.rank_count; rank++)
        gsrt__wire_drop_pending(node, rank);
    gsrt__queue_fini(&node->queue);
    if (node->transport != NULL)
        node->transport->ops->free(node->transport);
    for (uint32_t i = 0; i < node->actor_block_count; i++)
        free(node->actor_blocks[i]);
    free(node->actor_blocks);
    free(node->slots);
    free(node->peers);
    free(node->foreign);
    free(node->foreign_taken);
    gsrt__alarms_fini(&node->alarms);
    gsrt__slab_fini(&node->timers);
    gsrt__slab_fini(&node->calls);
    gsrt__slab_fini(&node->relations);
    gsrt__slab_fini(&node->refusals);
    gsrt__map_fini(&node->calls_got);
    gsrt__map_fini(&node->relation_map);
    gsrt__map_fini(&node->roles);
    gsrt__map_fini(&node->places);
    gsrt__map_fini(&node->sent);
    gsrt__map_fini(&node->seen);
    gsrt_buffer_fini(&node->encode);
    gsrt_buffer_fini(&node->decode);
    pthread_mutex_destroy(&node->foreign_lock);
    if (node->wake_fd >= 0)
        close(node->wake_fd);
    free(node);
    return NULL;
}

uint32_t gsrt_node_rank(const gsrt_node *node)
{
    return node->options.rank;
}

uint32_t gsrt_node_rank_count(const gsrt_node *node)
{
    return node->options.rank_count;
}

uint32_t gsrt_node_epoch(const gsrt_node *node)
{
    return node->epoch;
}

uint64_t gsrt_node_now_ns(const gsrt_node *node)
{
    return gsrt__now(node);
}

const gsrt_transport *gsrt_node_transport(const gsrt_node *node)
{
    return node->transport;
}

void gsrt_node_read_facts(const gsrt_node *node, gsrt_node_facts *out)
{
    *out = node->facts;
    out->inbox_bytes_max = node->queue.bytes_most;
    out->actor_count = node->actor_count;
    out->call_count = node->calls.count;
    out->timer_count = node->timers.count;
    out->relation_count = node->relations.count;
}

/* ---- views and losses ---- */

/* End the open calls that `is_meant` names, in the order of their records. */
static void fail_calls(gsrt_node *node, bool (*is_meant)(const gsrt__call *call, uint32_t rank), uint32_t rank,
                       uint32_t reason)
{
    for (uint32_t i = 0; i < node->calls.made; i++) {
        gsrt__slab_item *item = gsrt__slab_at(&node->calls, i);
        gsrt__call *call = (gsrt__call *)(void *)item;
        if (!gsrt__slab_is_alive(item) || !is_meant(call, rank))
            continue;
        if (call->is_from_elsewhere)
            gsrt__call_close(node, call); /* its own node tells its caller */
        else
            gsrt__call_fail(node, call, reason);
    }
}

static bool call_is_of_rank(const gsrt__call *call, uint32_t rank)
{
    return call->is_from_elsewhere ? gsrt_address_rank(call->caller) == rank : call->callee_rank == rank;
}

static bool call_is_any(const gsrt__call *call, uint32_t rank)
{
    (void)call;
    (void)rank;
    return true;
}

static void lose(gsrt_node *node, uint32_t rank)
{
    gsrt__wire_drop_pending(node, rank);
    gsrt__courier_drop(node, rank);
    fail_calls(node, call_is_of_rank, rank, GSRT_EXIT_RANK_LOST);
    gsrt__relations_rank_lost(node, rank);
    gsrt__directory_rank_lost(node, rank);
    gsrt__wire_release_held(node, UINT64_MAX);
    gsrt__refused_wake(node, &node->peers[rank].refused);
}

void gsrt_node_rank_lost(gsrt_node *node, uint32_t rank)
{
    if (rank >= node->options.rank_count || rank == node->options.rank || node->peers[rank].is_lost)
        return;
    node->peers[rank].is_lost = true;
    if (node->transport != NULL)
        node->transport->ops->cut(node->transport, rank);
    lose(node, rank);
}

void gsrt_node_on_suspect(gsrt_node *node, void (*on_suspect)(void *arg, uint32_t rank, gsrt_status why), void *arg)
{
    node->on_suspect = on_suspect;
    node->on_suspect_arg = arg;
}

void gsrt_node_set_epoch(gsrt_node *node, uint32_t epoch)
{
    if (epoch <= node->epoch)
        return;
    node->epoch = epoch;
    fail_calls(node, call_is_any, 0, GSRT_EXIT_EPOCH);
    gsrt__map_clear(&node->roles);
    gsrt__wire_drop_held(node);
}

void gsrt_node_set_incarnation(gsrt_node *node, uint32_t rank, uint32_t incarnation)
{
    if (rank >= node->options.rank_count || rank == node->options.rank || incarnation > UINT8_MAX ||
        incarnation == node->peers[rank].incarnation)
        return;
    if (!node->peers[rank].is_lost) {
        node->peers[rank].is_lost = true; /* what its loss makes the node say must not go to the new one */
        lose(node, rank);
    }
    node->peers[rank].is_lost = false;
    node->peers[rank].incarnation = (uint8_t)incarnation;
}

void gsrt_node_on_join(gsrt_node *node, void (*on_join)(void *arg, uint32_t rank, uint32_t incarnation), void *arg)
{
    node->on_join = on_join;
    node->on_join_arg = arg;
}

void gsrt_node_on_deaf(gsrt_node *node, void (*on_deaf)(void *arg), void *arg)
{
    node->on_deaf = on_deaf;
    node->on_deaf_arg = arg;
}

void gsrt_node_set_recorder(gsrt_node *node, const gsrt_node_recorder *recorder)
{
    node->options.recorder = *recorder;
}

void gsrt_node_set_slowness(gsrt_node *node, double slowness)
{
    node->slowness = slowness;
}

double gsrt_node_slowness(const gsrt_node *node)
{
    return node->slowness;
}

/* ---- check ---- */

static bool check_actor(const gsrt_node *node, uint32_t slot)
{
    const gsrt_actor *actor = node->slots[slot].actor;
    uint32_t serial = node->slots[slot].generation << GSRT__SLOT_BITS | slot;
    if (actor->slot != slot || actor->node != node || actor->is_in_stop)
        return false;
    if (!actor->is_moved_here && actor->address != (node->prefix << 32 | serial))
        return false;
    if (gsrt__actor_find(node, actor->address) != actor)
        return false;
    for (const gsrt__list *i = actor->relations.next; i != &actor->relations; i = i->next) {
        const gsrt__relation *relation = GSRT__ITEM_OF(i, gsrt__relation, by_owner);
        if (relation->owner != actor ||
            gsrt__relation_find(node, actor->address, (gsrt__relation_kind)relation->kind, relation->other) != relation)
            return false;
        if (relation->kind == GSRT__WATCHED_BY && gsrt__actor_find(node, relation->other) != NULL &&
            gsrt__relation_find(node, relation->other, GSRT__WATCHES, relation->owner_as) == NULL)
            return false;
    }
    for (const gsrt__list *i = actor->calls_made.next; i != &actor->calls_made; i = i->next)
        if (GSRT__ITEM_OF(i, gsrt__call, by_caller)->caller != actor->address)
            return false;
    for (const gsrt__list *i = actor->timers.next; i != &actor->timers; i = i->next)
        if (GSRT__ITEM_OF(i, gsrt__timer, by_owner)->owner != actor)
            return false;
    return true;
}

static bool check_calls(const gsrt_node *node)
{
    uint32_t alive = 0;
    for (uint32_t i = 0; i < node->calls.made; i++) {
        const gsrt__slab_item *item = gsrt__slab_at(&node->calls, i);
        const gsrt__call *call = (const gsrt__call *)(const void *)item;
        if (!gsrt__slab_is_alive(item))
            continue;
        alive++;
        if (call->alarm.place == 0)
            return false;
        if (!call->is_from_elsewhere && gsrt__list_is_empty(&call->by_caller))
            return false;
        if (call->is_from_elsewhere &&
            (gsrt__list_is_empty(&call->by_callee) || gsrt__call_find_got(node, call->caller, call->number) != call))
            return false;
    }
    return alive == node->calls.count;
}

/* The records are counted against the actors on a copy of the counts that is taken down again: no memory is needed,
 * because every counted record of a live actor is in its waiting_count. */
static bool check_queue(const gsrt_node *node)
{
    uint64_t counted = 0, waiting = 0, bytes = 0, count = 0;
    for (uint32_t slot = 0; slot < node->slot_count; slot++)
        if (node->slots[slot].actor != NULL)
            waiting += node->slots[slot].actor->waiting_count;
    uint32_t offset = node->queue.head_offset;
    for (const gsrt__queue_chunk *chunk = node->queue.head; chunk != NULL; chunk = chunk->next, offset = 0)
        while (offset < chunk->used) {
            const gsrt__record *record = (const gsrt__record *)(const void *)(chunk->data + offset);
            const gsrt_actor *actor = node->slots[record->slot].actor;
            count++;
            counted += actor != NULL && actor->address == record->to && (record->flags & GSRT__RECORD_IS_COUNTED) != 0;
            bytes +=
                gsrt__queue_record_bytes(record->body_bytes) + (record->payload == NULL ? 0 : record->payload->len);
            offset += (uint32_t)gsrt__queue_record_bytes(record->body_bytes);
        }
    return counted == waiting && bytes == node->queue.bytes && count == node->queue.count;
}

static bool check_way(const gsrt__way *way)
{
    uint32_t count = 0;
    for (const gsrt__letter *letter = way->first; letter != NULL; letter = letter->next)
        count++;
    return count == way->waiting_count && (count == 0 || way->link != NULL);
}

bool gsrt_node_check(const gsrt_node *node)
{
    for (uint32_t rank = 0; rank < node->options.rank_count; rank++)
        if (!check_way(&node->peers[rank].way))
            return false;
    uint32_t alive = 0;
    for (uint32_t slot = 0; slot < node->slot_count; slot++)
        if (node->slots[slot].actor != NULL) {
            alive++;
            if (!check_actor(node, slot))
                return false;
        }
    return alive == node->actor_count && check_calls(node) && check_queue(node) && gsrt__alarms_check(&node->alarms) &&
           node->relation_map.count == node->relations.count && node->calls_got.count <= node->calls.count;
}
