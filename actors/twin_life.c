/* Deaths, starts and stops of the twin's ranks.
 *
 *   lives --kill, order, leave--> dead --WORD event--> the keeper has said it --START event--> lives (next incarnation)
 *                                                      or it is over: the budget is spent, the keeper is gone
 */
#include "actors/twin_impl.h"

#include <stdlib.h>

/* ---- death ---- */

/* Until when what a rank had on the wire to a peer still arrives: a quarter of the draws loses all, a quarter nothing.
 */
static uint64_t survives_until(const gsrt__twin_node *self, uint32_t peer)
{
    const gsrt_twin *twin = self->twin;
    const gsrt__pair *pair = gsrt__pair_of(twin, self->rank, peer);
    if (pair->last_arrival_ns <= twin->now_ns)
        return twin->now_ns;
    double u = gsrt__twin_draw(twin, GSRT__DRAW_WIRE, self->rank, peer, self->draw_count) * 2 - 0.5;
    if (u >= 1)
        return pair->last_arrival_ns;
    double span_ns = (double)gsrt__link_of(twin, pair)->latency_ns * (1 + twin->options.jitter);
    return twin->now_ns + (u <= 0 ? 0 : (uint64_t)(u * span_ns));
}

/* Of what is on its way from it, void what had not left, and what the wire loses. */
static void lose_in_flight(gsrt__twin_node *self)
{
    gsrt_twin *twin = self->twin;
    for (uint32_t i = 0; i < twin->events.count; i++) {
        const gsrt__event *event = &twin->events.heap[i];
        if (event->kind != GSRT__EVENT_ARRIVAL || event->peer != self->rank)
            continue;
        gsrt__parcel *parcel = event->load;
        if (parcel->kind == GSRT__PARCEL_MESSAGE || parcel->kind == GSRT__PARCEL_GREETING)
            parcel->is_void =
                parcel->is_void || parcel->left_ns > twin->now_ns || event->time_ns > survives_until(self, event->rank);
    }
}

/* The transports of its peers notice. */
static void tell_peers(gsrt__twin_node *self, gsrt__death how)
{
    gsrt_twin *twin = self->twin;
    for (uint32_t peer = 0; peer < twin->options.rank_count; peer++) {
        if (peer == self->rank || !gsrt__is_alive(&twin->nodes[peer]))
            continue;
        gsrt__pair *pair = gsrt__pair_of(twin, self->rank, peer);
        if (how != GSRT__DEATH_LEFT) {
            pair->last_arrival_ns = survives_until(self, peer);
            pair->link_free_ns = twin->now_ns;
        }
        gsrt__parcel *down = gsrt__twin_signal(twin, GSRT__PARCEL_DOWN, self->rank, peer, true,
                                               twin->now_ns + twin->options.recovery.detect_ns);
        if (down != NULL)
            down->why = how == GSRT__DEATH_LEFT ? GSRT_ECANCELED : GSRT_EPEER;
    }
}

/* Its actors' stop functions run, to free what they hold; nothing that they do reaches anybody. */
static void destroy_node(gsrt__twin_node *self, gsrt__death how)
{
    if (self->disk != NULL)
        gsrt_twin_disk_fail(self->disk, how != GSRT__DEATH_LEFT);
    self->is_dying = true;
    self->node->options.recorder = (gsrt_node_recorder){0};
    self->node = gsrt_node_free(self->node);
    self->is_dying = false;
    self->keeper.base.events = (gsrt_keepers_events){0};
    self->transport.events = (gsrt_transport_events){0};
    self->run_at_ns = UINT64_MAX;
    self->busy_until_ns = self->stopped_until_ns = 0;
    self->draw_count++;
}

void gsrt__twin_die(gsrt__twin_node *self, gsrt__death how)
{
    gsrt_twin *twin = self->twin;
    const gsrt_twin_recovery *recovery = &twin->options.recovery;
    gsrt__twin_note(twin, (uint64_t)how << 32 | self->rank);
    if (how != GSRT__DEATH_LEFT) {
        lose_in_flight(self);
        gsrt__keeper_lose_deposits(self);
    }
    tell_peers(self, how);
    destroy_node(self, how);
    gsrt__keeper_died(self, how);
    if (recovery->on_dead == NULL)
        return;
    bool was_inside = twin->is_inside;
    twin->is_inside = true;
    recovery->on_dead(recovery->arg, self->rank, self->incarnation, how != GSRT__DEATH_LEFT);
    twin->is_inside = was_inside;
}

void gsrt_twin_kill(gsrt_twin *twin, uint32_t rank)
{
    if (rank >= twin->options.rank_count || !gsrt__is_alive(&twin->nodes[rank]))
        return;
    gsrt__twin_node *self = &twin->nodes[rank];
    if (!twin->is_inside) {
        gsrt__twin_die(self, GSRT__DEATH_KILLED);
        return;
    }
    self->is_dying = true;
    gsrt__twin_plan(
        twin,
        &(gsrt__event){.time_ns = twin->now_ns, .rank = rank, .kind = GSRT__EVENT_DEATH, .number = self->incarnation});
}

void gsrt__twin_leave(gsrt__twin_node *self, uint32_t incarnation)
{
    gsrt_twin *twin = self->twin;
    if (self->incarnation != incarnation || !gsrt__is_alive(self))
        return;
    if (self->stopped_until_ns > twin->now_ns) /* it learns of it when it goes on */
        gsrt__twin_plan(twin, &(gsrt__event){.time_ns = self->stopped_until_ns,
                                             .rank = self->rank,
                                             .kind = GSRT__EVENT_LEAVE,
                                             .number = incarnation});
    else
        gsrt__twin_die(self, GSRT__DEATH_LEFT);
}

void gsrt_twin_kill_keeper(gsrt_twin *twin, uint32_t rank)
{
    if (rank >= twin->options.rank_count || twin->nodes[rank].keeper.is_dead)
        return;
    gsrt__twin_node *self = &twin->nodes[rank];
    self->keeper.is_dead = true;
    gsrt__twin_plan(twin, &(gsrt__event){.time_ns = twin->now_ns + twin->options.recovery.keeper_ns,
                                         .rank = rank,
                                         .kind = GSRT__EVENT_LEAVE,
                                         .number = self->incarnation});
}

/* ---- start ---- */

static void greet(gsrt__twin_node *self)
{
    gsrt_twin *twin = self->twin;
    for (uint32_t peer = 0; peer < twin->options.rank_count; peer++) {
        gsrt__pair *pair = gsrt__pair_of(twin, self->rank, peer);
        if (peer == self->rank) {
            pair->to_incarnation = (uint8_t)self->incarnation;
            pair->in_flight = 0;
            pair->is_refused = false;
            continue;
        }
        gsrt__parcel *greeting = gsrt__twin_signal(twin, GSRT__PARCEL_GREETING, self->rank, peer, true,
                                                   twin->now_ns + gsrt__link_of(twin, pair)->latency_ns);
        if (greeting != NULL)
            greeting->to_incarnation = GSRT__INCARNATION_ANY;
    }
}

void gsrt__twin_start(gsrt__twin_node *self, uint32_t incarnation)
{
    gsrt_twin *twin = self->twin;
    const gsrt_twin_recovery *recovery = &twin->options.recovery;
    if (self->node != NULL || incarnation != self->incarnation + 1 || gsrt__keeper_is_over(&self->keeper))
        return;
    self->incarnation = incarnation;
    for (uint32_t peer = 0; peer < twin->options.rank_count; peer++)
        if (peer != self->rank)
            gsrt__pair_of(twin, self->rank, peer)->state = GSRT__PAIR_FRESH;
    if (gsrt__twin_node_make(self) != GSRT_OK) {
        twin->is_out_of_memory = true;
        return;
    }
    gsrt__twin_note(twin, (uint64_t)incarnation << 48 | self->rank);
    if (self->disk != NULL)
        gsrt_twin_disk_mend(self->disk);
    bool was_inside = twin->is_inside;
    twin->is_inside = true;
    gsrt_status status = recovery->on_start(recovery->arg, self->node, self->rank, incarnation);
    twin->is_inside = was_inside;
    if (status != GSRT_OK) {
        gsrt__twin_die(self, GSRT__DEATH_KILLED);
        return;
    }
    if (self->is_dying)
        return; /* killed while it was put together */
    greet(self);
    gsrt__twin_plan_next(self);
}

/* ---- a round ---- */

void gsrt__twin_look_at(gsrt__twin_node *self)
{
    int again = self->twin->options.recovery.again_exit_code;
    if (self->node == NULL || self->is_dying)
        return; /* is_dying: its DEATH event is planned */
    if (again != 0 && gsrt_node_is_finished(self->node) && gsrt_node_exit_code(self->node) == again)
        gsrt__twin_die(self, GSRT__DEATH_LEFT);
    else
        gsrt__twin_plan_next(self);
}

void gsrt__twin_run_node(gsrt__twin_node *self)
{
    gsrt_twin *twin = self->twin;
    gsrt_node *node = self->node;
    double message_ns = (double)twin->options.message_ns * self->slowness;
    uint64_t before = node->delivered_count;
    twin->is_inside = true;
    (void)gsrt__node_round(node, message_ns > 0 ? 1 : GSRT__DISPATCH_BUDGET);
    twin->is_inside = false;
    self->busy_until_ns = twin->now_ns + (uint64_t)message_ns * (node->delivered_count - before);
    gsrt__twin_look_at(self);
}

void gsrt_twin_stop(gsrt_twin *twin, uint32_t rank, uint64_t duration_ns)
{
    if (rank >= twin->options.rank_count || !gsrt__is_alive(&twin->nodes[rank]))
        return;
    gsrt__twin_node *self = &twin->nodes[rank];
    uint64_t until_ns = gsrt__later(twin->now_ns, duration_ns);
    if (self->stopped_until_ns < until_ns)
        self->stopped_until_ns = until_ns;
}

void gsrt_twin_slow(gsrt_twin *twin, uint32_t rank, double factor, uint64_t duration_ns)
{
    if (rank >= twin->options.rank_count || twin->nodes[rank].node == NULL || !(factor >= 1 && factor <= 1e9))
        return;
    gsrt__twin_node *self = &twin->nodes[rank];
    self->slowness = factor;
    self->slow_number++;
    gsrt_node_set_slowness(self->node, factor);
    gsrt__twin_plan(twin, &(gsrt__event){.time_ns = gsrt__later(twin->now_ns, duration_ns),
                                         .rank = rank,
                                         .kind = GSRT__EVENT_FAST,
                                         .number = self->slow_number});
}
