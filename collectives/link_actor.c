#include "collectives/link_actor.h"

typedef struct link {
    uint32_t peer;
} link;

typedef struct link_arg {
    uint32_t peer;
    gsrt_link_facts *facts;
} link_arg;

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    const link_arg *given = arg;
    ((link *)state)->peer = given->peer;
    return gsrt_courier_open(self, given->peer, given->facts);
}

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    const link *l = state;
    if (message->kind == GSRT_KIND_WRITABLE)
        gsrt_courier_flush(self, l->peer);
}

static void stop(gsrt_actor *self, void *state, uint32_t reason)
{
    (void)reason;
    gsrt_courier_close(self, ((const link *)state)->peer);
}

static const gsrt_behaviour link_behaviour = {
    .name = "link", .state_bytes = sizeof(link), .init = init, .receive = receive, .stop = stop};

gsrt_status gsrt_link_actor_start(gsrt_node *node, uint32_t peer, gsrt_link_facts *facts)
{
    gsrt_address address;
    gsrt_status status = gsrt_node_spawn(node, &link_behaviour, &(link_arg){peer, facts}, &address);
    if (status != GSRT_OK)
        return status;
    return gsrt_role_bind(node, gsrt_address_of_role(GSRT_ROLE_LINK, 0, peer), address);
}
