/* Monitors and links. Each is kept at both ends, by a record in its owner's list; an end on another rank is kept there:
 *
 *   A monitors B:  A --WATCHES B--   ... MONITOR ...   --WATCHED_BY A-- B
 *   A links B:     A --LINKED B---   ...  LINK   ...   --LINKED A------ B
 *
 * When B ends, each of its records sends its word (DOWN, EXIT) after everything that B has sent; A's record stays until
 * that word is delivered, and without the record the word is void.
 */
#include "actors/node_impl.h"

static uint64_t key_of(gsrt_address owner, gsrt__relation_kind kind)
{
    return owner | (uint64_t)kind << 56; /* owners are actors: their tag bits are free */
}

gsrt__relation *gsrt__relation_find(const gsrt_node *node, gsrt_address owner, gsrt__relation_kind kind,
                                    gsrt_address other)
{
    const uint64_t *handle = gsrt__map_find(&node->relation_map, key_of(owner, kind), other);
    return handle == NULL ? NULL : gsrt__slab_find(&node->relations, *handle);
}

static gsrt_status relation_add(gsrt_actor *owner, gsrt__relation_kind kind, gsrt_address other, gsrt_address other_as,
                                gsrt_address owner_as, uint32_t other_rank)
{
    gsrt_node *node = owner->node;
    if (gsrt__relation_find(node, owner->address, kind, other) != NULL)
        return GSRT_OK;
    if (node->relations.count >= GSRT_RELATION_COUNT_MAX)
        return GSRT_ELIMIT;
    gsrt__relation *relation = gsrt__slab_take(&node->relations);
    if (relation == NULL)
        return GSRT_ENOMEM;
    uint64_t *handle;
    gsrt_status status = gsrt__map_put(&node->relation_map, key_of(owner->address, kind), other, &handle);
    if (status != GSRT_OK) {
        gsrt__slab_give(&node->relations, relation);
        return status;
    }
    *handle = gsrt__slab_handle(&relation->item);
    relation->owner = owner;
    relation->kind = kind;
    relation->other = other;
    relation->other_as = other_as;
    relation->owner_as = owner_as;
    relation->other_rank = other_rank;
    gsrt__list_append(&owner->relations, &relation->by_owner);
    return GSRT_OK;
}

void gsrt__relation_drop(gsrt_node *node, gsrt__relation *relation)
{
    (void)gsrt__map_remove(&node->relation_map, key_of(relation->owner->address, relation->kind), relation->other);
    gsrt__list_remove(&relation->by_owner);
    gsrt__slab_give(&node->relations, relation);
}

static bool drop_if_there(gsrt_node *node, gsrt_address owner, gsrt__relation_kind kind, gsrt_address other)
{
    gsrt__relation *relation = gsrt__relation_find(node, owner, kind, other);
    if (relation != NULL)
        gsrt__relation_drop(node, relation);
    return relation != NULL;
}

static gsrt_status signal_exit(gsrt_node *node, gsrt_address from, gsrt_address to, gsrt_address subject,
                               uint32_t reason)
{
    gsrt_msg_exit body = {.subject = subject, .reason = reason};
    gsrt__post post = {.kind = GSRT_KIND_EXIT, .from = from, .to = to, .body = &body};
    return gsrt__signal(node, &post, 0);
}

/* MONITOR, UNMONITOR, LINK and UNLINK have bodies of one shape: the address of who asks. */
static gsrt_status signal_wish(gsrt_actor *self, gsrt_address other, gsrt_kind kind)
{
    gsrt_msg_monitor body = {.watcher = self->address};
    _Static_assert(sizeof(gsrt_msg_monitor) == sizeof(gsrt_msg_link), "one shape");
    _Static_assert(sizeof(gsrt_msg_monitor) == sizeof(gsrt_msg_unmonitor), "one shape");
    _Static_assert(sizeof(gsrt_msg_monitor) == sizeof(gsrt_msg_unlink), "one shape");
    gsrt__post post = {.kind = kind, .from = self->address, .to = other, .body = &body};
    return gsrt__signal(self->node, &post, 0);
}

/* Tell `self` that there is nobody to relate to. */
static void signal_absence(gsrt_actor *self, gsrt__relation_kind kind, gsrt_address other, uint32_t reason)
{
    if (kind == GSRT__WATCHES)
        gsrt__signal_down(self->node, self->address, other, 0, reason);
    else if (signal_exit(self->node, GSRT_NOBODY, self->address, other, reason) != GSRT_OK)
        self->node->facts.messages_dropped++;
}

static gsrt_status relate(gsrt_actor *self, gsrt_address other, gsrt__relation_kind mine, gsrt__relation_kind theirs,
                          gsrt_kind wish)
{
    gsrt_node *node = self->node;
    gsrt__route route = gsrt__route_of(node, other);
    if (route.to == self->address || other == GSRT_NOBODY)
        return GSRT_EINVAL;
    if (gsrt__relation_find(node, self->address, mine, route.to) != NULL)
        return GSRT_OK;
    gsrt_status status = relation_add(self, mine, route.to, other, self->address, route.rank);
    if (status != GSRT_OK)
        return status;
    if (route.kind == GSRT__ROUTE_NOWHERE)
        signal_absence(self, mine, route.to, GSRT_EXIT_NO_ACTOR);
    else if (route.kind == GSRT__ROUTE_HERE) {
        status = relation_add(route.actor, theirs, self->address, self->address, route.to, node->options.rank);
        if (status != GSRT_OK)
            (void)drop_if_there(node, self->address, mine, route.to);
    } else if (signal_wish(self, route.to, wish) != GSRT_OK)
        signal_absence(self, mine, route.to, GSRT_EXIT_RANK_LOST);
    return status;
}

static void unrelate(gsrt_actor *self, gsrt_address other, gsrt__relation_kind mine, gsrt__relation_kind theirs,
                     gsrt_kind wish)
{
    gsrt_node *node = self->node;
    gsrt__route route = gsrt__route_of(node, other);
    if (!drop_if_there(node, self->address, mine, route.to))
        return;
    if (route.kind == GSRT__ROUTE_HERE)
        (void)drop_if_there(node, route.to, theirs, self->address);
    else if (route.kind == GSRT__ROUTE_RANK)
        (void)signal_wish(self, route.to, wish); /* a lost rank needs no telling */
}

gsrt_status gsrt_monitor(gsrt_actor *self, gsrt_address other)
{
    return relate(self, other, GSRT__WATCHES, GSRT__WATCHED_BY, GSRT_KIND_MONITOR);
}

void gsrt_unmonitor(gsrt_actor *self, gsrt_address other)
{
    unrelate(self, other, GSRT__WATCHES, GSRT__WATCHED_BY, GSRT_KIND_UNMONITOR);
}

gsrt_status gsrt_link(gsrt_actor *self, gsrt_address other)
{
    return relate(self, other, GSRT__LINKED, GSRT__LINKED, GSRT_KIND_LINK);
}

void gsrt_unlink(gsrt_actor *self, gsrt_address other)
{
    unrelate(self, other, GSRT__LINKED, GSRT__LINKED, GSRT_KIND_UNLINK);
}

gsrt_status gsrt_kill(gsrt_actor *self, gsrt_address other, uint32_t reason)
{
    gsrt_node *node = self->node;
    gsrt__route route = gsrt__route_of(node, other);
    if (signal_exit(node, self->address, route.to, route.to, reason) != GSRT_OK)
        node->facts.messages_dropped++; /* it is gone already */
    return GSRT_OK;
}

void gsrt__relation_signal(gsrt_node *node, gsrt_actor *actor, const gsrt__record *record, const void *body)
{
    gsrt_address asker = ((const gsrt_msg_monitor *)body)->watcher;
    if (asker != record->from || asker == GSRT_NOBODY || gsrt_address_is_role(asker)) {
        node->facts.messages_refused++;
        return;
    }
    bool is_link = record->kind == GSRT_KIND_LINK || record->kind == GSRT_KIND_UNLINK;
    gsrt__relation_kind kind = is_link ? GSRT__LINKED : GSRT__WATCHED_BY;
    if (record->kind == GSRT_KIND_UNMONITOR || record->kind == GSRT_KIND_UNLINK) {
        if (actor != NULL)
            (void)drop_if_there(node, actor->address, kind, asker);
        return;
    }
    uint32_t reason = GSRT_EXIT_NO_ACTOR;
    if (actor != NULL) {
        uint32_t rank = gsrt_address_rank(asker);
        (void)gsrt__place_rank(node, asker, &rank);
        if (relation_add(actor, kind, asker, asker, record->as, rank) == GSRT_OK)
            return;
        reason = GSRT_EXIT_REFUSED;
    }
    if (is_link)
        (void)signal_exit(node, GSRT_NOBODY, asker, record->as, reason);
    else
        gsrt__signal_down(node, asker, record->as, 0, reason);
}

void gsrt__relations_end(gsrt_actor *actor, uint32_t reason)
{
    gsrt_node *node = actor->node;
    while (!gsrt__list_is_empty(&actor->relations)) {
        gsrt__relation *relation = GSRT__ITEM_OF(actor->relations.next, gsrt__relation, by_owner);
        gsrt__relation_kind kind = (gsrt__relation_kind)relation->kind;
        gsrt_address other = relation->other, owner_as = relation->owner_as;
        gsrt__relation_drop(node, relation);
        if (kind == GSRT__WATCHES) {
            if (gsrt__actor_find(node, other) != NULL)
                (void)drop_if_there(node, other, GSRT__WATCHED_BY, actor->address);
            else
                (void)signal_wish(actor, other, GSRT_KIND_UNMONITOR);
        } else if (kind == GSRT__WATCHED_BY) {
            gsrt__signal_down(node, other, owner_as, 0, reason);
        } else {
            (void)signal_exit(node, actor->address, other, owner_as, reason);
        }
    }
}

void gsrt__relations_rank_lost(gsrt_node *node, uint32_t rank)
{
    for (uint32_t slot = 0; slot < node->slot_count; slot++) {
        gsrt_actor *actor = node->slots[slot].actor;
        if (actor == NULL)
            continue;
        for (gsrt__list *i = actor->relations.next, *next = i->next; i != &actor->relations; i = next, next = i->next) {
            gsrt__relation *relation = GSRT__ITEM_OF(i, gsrt__relation, by_owner);
            if (relation->other_rank != rank)
                continue;
            if (relation->kind == GSRT__WATCHED_BY)
                gsrt__relation_drop(node, relation);
            else
                signal_absence(actor, (gsrt__relation_kind)relation->kind, relation->other, GSRT_EXIT_RANK_LOST);
        }
    }
}
