/* Spawn and end of an actor.
 *
 *   (nothing) --start--> init runs --ok--> lives --end--> stop runs --> its calls, relations, timers are settled -->
 * (nothing)
 *                            +--error--> stop does not run ----------------^
 *
 * Memory of actors comes from blocks, cut by size, and goes to a free list of its size: no malloc after warm-up.
 */
#include "actors/node_impl.h"

#include <assert.h>
#include <stdlib.h>

enum { CLASS_BYTES = 64, BLOCK_BYTES = 64 * 1024 };

/* ---- memory ---- */

static size_t class_of(const gsrt_behaviour *behaviour)
{
    return (sizeof(gsrt_actor) + behaviour->state_bytes + CLASS_BYTES - 1) / CLASS_BYTES;
}

static void *block_add(gsrt_node *node)
{
    if (node->actor_block_count == node->actor_block_capacity) {
        uint32_t capacity = node->actor_block_capacity == 0 ? 8 : node->actor_block_capacity * 2;
        void **blocks = realloc(node->actor_blocks, capacity * sizeof(void *));
        if (blocks == NULL)
            return NULL;
        node->actor_blocks = blocks;
        node->actor_block_capacity = capacity;
    }
    void *block = aligned_alloc(CLASS_BYTES, BLOCK_BYTES);
    if (block == NULL)
        return NULL;
    node->actor_blocks[node->actor_block_count++] = block;
    node->actor_block_used = 0;
    return block;
}

static gsrt_actor *memory_take(gsrt_node *node, const gsrt_behaviour *behaviour)
{
    size_t class = class_of(behaviour);
    size_t bytes = class * CLASS_BYTES;
    void *memory;
    if (class >= GSRT__ACTOR_CLASS_COUNT) {
        memory = aligned_alloc(CLASS_BYTES, bytes);
    } else if (node->actor_free[class] != NULL) {
        memory = node->actor_free[class];
        memcpy(&node->actor_free[class], memory, sizeof(void *));
    } else {
        if ((node->actor_block_count == 0 || BLOCK_BYTES - node->actor_block_used < bytes) && block_add(node) == NULL)
            return NULL;
        memory = (uint8_t *)node->actor_blocks[node->actor_block_count - 1] + node->actor_block_used;
        node->actor_block_used += bytes;
    }
    if (memory != NULL)
        memset(memory, 0, bytes);
    return memory;
}

static void memory_give(gsrt_node *node, gsrt_actor *actor)
{
    size_t class = class_of(actor->behaviour);
    if (class >= GSRT__ACTOR_CLASS_COUNT) {
        free(actor);
        return;
    }
    memset(actor, 0, sizeof *actor); /* an address of nobody: no stale pointer finds a live actor */
    memcpy(actor, &node->actor_free[class], sizeof(void *));
    node->actor_free[class] = actor;
}

/* ---- slots ---- */

static gsrt_status slot_take(gsrt_node *node, uint32_t *out)
{
    if (node->slot_free_first != 0) {
        *out = node->slot_free_first - 1;
        node->slot_free_first = node->slots[*out].next_free;
    } else {
        if (node->slot_count >= GSRT_ACTOR_COUNT_MAX)
            return GSRT_ELIMIT;
        if (node->slot_count == node->slot_capacity) {
            uint32_t capacity = node->slot_capacity == 0 ? 64 : node->slot_capacity * 2;
            gsrt__slot *slots = realloc(node->slots, capacity * sizeof *slots);
            if (slots == NULL)
                return GSRT_ENOMEM;
            node->slots = slots;
            node->slot_capacity = capacity;
        }
        *out = node->slot_count++;
        node->slots[*out] = (gsrt__slot){0};
    }
    node->slots[*out].generation++;
    return GSRT_OK;
}

static void slot_give(gsrt_node *node, uint32_t slot)
{
    node->slots[slot].actor = NULL;
    if (node->slots[slot].generation >= GSRT__GENERATION_MAX)
        return; /* retired */
    node->slots[slot].next_free = node->slot_free_first;
    node->slot_free_first = slot + 1;
}

/* ---- life ---- */

static gsrt_actor *actor_make(gsrt_node *node, const gsrt_behaviour *behaviour, gsrt_address address, uint32_t slot)
{
    gsrt_actor *actor = memory_take(node, behaviour);
    if (actor == NULL)
        return NULL;
    actor->node = node;
    actor->behaviour = behaviour;
    actor->slot = slot;
    actor->is_moved_here = address != GSRT_NOBODY;
    actor->address =
        address != GSRT_NOBODY ? address : node->prefix << 32 | node->slots[slot].generation << GSRT__SLOT_BITS | slot;
    gsrt__list_init(&actor->relations);
    gsrt__list_init(&actor->timers);
    gsrt__list_init(&actor->calls_made);
    gsrt__list_init(&actor->calls_got);
    gsrt__list_init(&actor->refusals);
    gsrt__list_init(&actor->refused);
    node->slots[slot].actor = actor;
    node->actor_count++;
    return actor;
}

/* The others get what they were promised; then nothing of the actor is left. */
static void settle(gsrt_actor *actor, uint32_t reason)
{
    gsrt_node *node = actor->node;
    while (!gsrt__list_is_empty(&actor->timers))
        gsrt__timer_drop(node, GSRT__ITEM_OF(actor->timers.next, gsrt__timer, by_owner));
    while (!gsrt__list_is_empty(&actor->calls_made))
        gsrt__call_close(node, GSRT__ITEM_OF(actor->calls_made.next, gsrt__call, by_caller));
    while (!gsrt__list_is_empty(&actor->calls_got))
        gsrt__call_fail(node, GSRT__ITEM_OF(actor->calls_got.next, gsrt__call, by_callee), reason);
    gsrt__relations_end(actor, reason);
    gsrt__refusals_drop(actor);
    gsrt__refused_wake(node, &actor->refused);
    if (actor->is_moved_here)
        (void)gsrt__map_remove(&node->places, actor->address, 0);
    slot_give(node, actor->slot);
    node->actor_count--;
    memory_give(node, actor);
}

gsrt_status gsrt__actor_start(gsrt_node *node, const gsrt_behaviour *behaviour, const void *arg, gsrt_address address,
                              gsrt_address *out)
{
    if (behaviour == NULL || behaviour->receive == NULL || behaviour->state_bytes > GSRT_PAYLOAD_BYTES_MAX)
        return GSRT_EINVAL;
    if (node->is_freeing)
        return GSRT_ESTATE;
    uint32_t slot;
    gsrt_status status = slot_take(node, &slot);
    if (status != GSRT_OK)
        return status;
    gsrt_actor *actor = actor_make(node, behaviour, address, slot);
    if (actor == NULL) {
        slot_give(node, slot);
        return GSRT_ENOMEM;
    }
    if (actor->is_moved_here) {
        uint64_t *place;
        status = gsrt__map_put(&node->places, address, 0, &place);
        if (status == GSRT_OK)
            *place = GSRT__PLACE_HERE | slot;
    }
    if (status == GSRT_OK && behaviour->init != NULL) {
        gsrt_actor *before = node->running;
        node->running = actor;
        status = behaviour->init(actor, actor->state, arg);
        node->running = before;
    }
    if (status != GSRT_OK) {
        actor->is_ending = true;
        settle(actor, GSRT_EXIT_CRASH);
        return status;
    }
    *out = actor->address;
    if (actor->is_ending)
        gsrt__actor_end(actor, actor->exit_reason);
    return GSRT_OK;
}

void gsrt__actor_end(gsrt_actor *actor, uint32_t reason)
{
    gsrt_node *node = actor->node;
    assert(!actor->is_in_stop);
    actor->is_ending = true;
    actor->is_in_stop = true;
    if (actor->behaviour->stop != NULL) {
        gsrt_actor *before = node->running;
        node->running = actor;
        actor->behaviour->stop(actor, actor->state, reason);
        node->running = before;
    }
    settle(actor, reason);
}

gsrt_actor *gsrt__actor_find_moved(const gsrt_node *node, gsrt_address address)
{
    if (address == GSRT_NOBODY)
        return NULL;
    const uint64_t *place = gsrt__map_find(&node->places, address, 0);
    if (place == NULL || (*place & GSRT__PLACE_HERE) == 0)
        return NULL;
    gsrt_actor *actor = node->slots[(uint32_t)*place].actor;
    return actor != NULL && actor->address == address ? actor : NULL;
}

/* ---- what an actor may ask ---- */

gsrt_address gsrt_self(const gsrt_actor *self)
{
    return self->address;
}

gsrt_node *gsrt_node_of(const gsrt_actor *self)
{
    return self->node;
}

uint64_t gsrt_now_ns(const gsrt_actor *self)
{
    return gsrt__now(self->node);
}

gsrt_status gsrt_spawn(gsrt_actor *self, const gsrt_behaviour *behaviour, const void *arg, gsrt_address *out)
{
    return gsrt__actor_start(self->node, behaviour, arg, GSRT_NOBODY, out);
}

gsrt_status gsrt_node_spawn(gsrt_node *node, const gsrt_behaviour *behaviour, const void *arg, gsrt_address *out)
{
    uint64_t cause = node->cause;
    node->cause = 0;
    gsrt_status status = gsrt__actor_start(node, behaviour, arg, GSRT_NOBODY, out);
    node->cause = cause;
    return status;
}

void gsrt_exit(gsrt_actor *self, uint32_t reason)
{
    if (self->is_ending)
        return; /* the first reason stands */
    self->is_ending = true;
    self->exit_reason = reason;
}

void gsrt_trap_exits(gsrt_actor *self, bool is_trapping)
{
    self->is_trapping = is_trapping;
}

/* ---- the trace ---- */

/* 63..54 rank, 53..34 slot, 33..0 the slot's own counter: the same in every run with the same inputs. */
static uint64_t event_id(gsrt_actor *actor)
{
    uint64_t count = ++actor->node->slots[actor->slot].event_count;
    return (uint64_t)actor->node->options.rank << 54 | (uint64_t)actor->slot << 34 | (count & ((1ull << 34) - 1));
}

void gsrt_record_init(gsrt_actor *self, const char *machine, gsrt_span bytes)
{
    gsrt_node *node = self->node;
    uint64_t id = event_id(self);
    const gsrt_node_recorder *recorder = &node->options.recorder;
    if (recorder->init != NULL)
        recorder->init(recorder->arg, gsrt__round_now(node), self->address, id, node->cause, machine, bytes);
}

void gsrt_record_event(gsrt_actor *self, const char *machine, gsrt_span bytes)
{
    gsrt_node *node = self->node;
    uint64_t id = event_id(self);
    const gsrt_node_recorder *recorder = &node->options.recorder;
    if (recorder->event != NULL)
        recorder->event(recorder->arg, gsrt__round_now(node), self->address, id, node->cause, machine, bytes);
    node->cause = id; /* what follows, follows from it */
}

void gsrt_record_action(gsrt_actor *self, const char *machine, gsrt_span bytes)
{
    gsrt_node *node = self->node;
    uint64_t id = event_id(self);
    const gsrt_node_recorder *recorder = &node->options.recorder;
    if (recorder->action != NULL)
        recorder->action(recorder->arg, gsrt__round_now(node), self->address, id, node->cause, machine, bytes);
}
