/* Who plays a role, and where an actor is that has left its birth rank.
 *
 * An actor keeps its address when it moves. Its birth rank, and every rank it passed, forwards (a sure place, set by
 * whoever moves it) and says so to the sender's rank with MOVED, which then sends directly (a learnt place). Learnt
 * places are hints: they are used for sending only, never for forwarding, so hints cannot make a message run in
 * circles.
 */
#include "actors/node_impl.h"

#include <stdlib.h>

gsrt_status gsrt_role_bind(gsrt_node *node, gsrt_address role, gsrt_address actor)
{
    if (!gsrt_address_is_role(role) || gsrt_address_is_role(actor))
        return GSRT_EINVAL;
    if (actor == GSRT_NOBODY) {
        (void)gsrt__map_remove(&node->roles, role, 0);
        return GSRT_OK;
    }
    uint64_t *bound;
    gsrt_status status = gsrt__map_put(&node->roles, role, 0, &bound);
    if (status == GSRT_OK)
        *bound = actor;
    return status;
}

gsrt_address gsrt_role_resolve(const gsrt_node *node, gsrt_address role)
{
    const uint64_t *bound = gsrt__map_find(&node->roles, role, 0);
    return bound == NULL ? GSRT_NOBODY : *bound;
}

bool gsrt__place_rank(const gsrt_node *node, gsrt_address address, uint32_t *out_rank)
{
    if (node->places.count == 0 || address == GSRT_NOBODY)
        return false;
    const uint64_t *place = gsrt__map_find(&node->places, address, 0);
    if (place == NULL || (*place & GSRT__PLACE_HERE) != 0)
        return false;
    *out_rank = (uint32_t)(*place & UINT32_MAX);
    return true;
}

void gsrt__place_learn(gsrt_node *node, gsrt_address address, uint32_t rank)
{
    /* where those born here have gone is known here, not learnt */
    if (rank >= node->options.rank_count || rank == node->options.rank || address == GSRT_NOBODY ||
        gsrt_address_is_role(address) || gsrt_address_rank(address) == node->options.rank)
        return;
    const uint64_t *known = gsrt__map_find(&node->places, address, 0);
    if (known != NULL && (*known & (GSRT__PLACE_HERE | GSRT__PLACE_SURE)) != 0)
        return;
    uint64_t *place;
    if (gsrt__map_put(&node->places, address, 0, &place) == GSRT_OK)
        *place = rank; /* when there is no room, messages go by way of the birth rank */
}

gsrt_status gsrt_node_forward(gsrt_node *node, gsrt_address actor, uint32_t rank)
{
    if (actor == GSRT_NOBODY || gsrt_address_is_role(actor) || rank >= node->options.rank_count ||
        rank == node->options.rank)
        return GSRT_EINVAL;
    if (gsrt__actor_find(node, actor) != NULL)
        return GSRT_ESTATE;
    uint64_t *place;
    gsrt_status status = gsrt__map_put(&node->places, actor, 0, &place);
    if (status == GSRT_OK)
        *place = rank | GSRT__PLACE_SURE;
    return status;
}

gsrt_status gsrt_node_adopt(gsrt_node *node, const gsrt_behaviour *behaviour, const void *arg, gsrt_address address,
                            gsrt_span streams)
{
    if (address == GSRT_NOBODY || gsrt_address_is_role(address) ||
        gsrt_address_rank(address) >= node->options.rank_count)
        return GSRT_EINVAL;
    if (gsrt__actor_find(node, address) != NULL)
        return GSRT_ESTATE;
    gsrt_status status = gsrt__streams_unpack(node, address, streams);
    if (status != GSRT_OK)
        return status;
    gsrt_address self;
    return gsrt__actor_start(node, behaviour, arg, address, &self);
}

/* Remove what lies on the lost rank: all places and roles of it. Order does not matter, for nothing is sent. */
static void forget(gsrt__map *map, bool (*is_lost)(uint64_t value, uint32_t rank), uint32_t rank)
{
    for (uint32_t i = 0; i < map->capacity;) {
        gsrt__map_entry *entry = &map->entries[i];
        if (entry->a != 0 && is_lost(entry->value, rank))
            (void)gsrt__map_remove(map, entry->a, entry->b); /* another may have moved to i */
        else
            i++;
    }
}

static bool place_is_lost(uint64_t value, uint32_t rank)
{
    return (value & GSRT__PLACE_HERE) == 0 && (value & UINT32_MAX) == rank;
}

static bool role_is_lost(uint64_t value, uint32_t rank)
{
    return gsrt_address_rank(value) == rank;
}

void gsrt__directory_rank_lost(gsrt_node *node, uint32_t rank)
{
    forget(&node->places, place_is_lost, rank);
    forget(&node->roles, role_is_lost, rank);
}
