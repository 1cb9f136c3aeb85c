/* The twin's keepers: what a worker says to them, and what they do.
 *
 * A keeper is told of its worker's death at once, and says its word word_ns later, so that what the worker had
 * deposited before is in it. Each order takes the latency of the link to its keeper and keeper_ns. An order to end an
 * incarnation that is dead already is answered with the last word again.
 */
#include "actors/twin_impl.h"
#include "mailbox/ticket.h"

#include <stdlib.h>

static gsrt__twin_keeper *keeper_of(gsrt_keepers *keepers)
{
    return (gsrt__twin_keeper *)(void *)keepers;
}

/* ---- what the worker says ---- */

/* Room for a deposit only where there is one. */
static gsrt__order *order_make(gsrt__twin_keeper *keeper, gsrt__order_kind kind, const gsrt_deposit *deposit)
{
    gsrt_twin *twin = keeper->twin;
    gsrt__order *order = malloc(sizeof *order + (deposit == NULL ? 0 : sizeof *deposit));
    if (order == NULL) {
        twin->is_out_of_memory = true;
        return NULL;
    }
    *order = (gsrt__order){.kind = kind,
                           .from_rank = keeper->rank,
                           .from_incarnation = twin->nodes[keeper->rank].incarnation,
                           .asked_ns = twin->now_ns};
    if (deposit != NULL)
        *order->deposit = *deposit;
    return order;
}

static void order_send(gsrt_twin *twin, gsrt__order *order, uint32_t rank)
{
    uint64_t delay_ns = twin->options.recovery.keeper_ns;
    if (rank != order->from_rank)
        delay_ns += gsrt__link_of(twin, gsrt__pair_of(twin, order->from_rank, rank))->latency_ns;
    gsrt__event event = {.time_ns = twin->now_ns + delay_ns,
                         .rank = rank,
                         .peer = order->from_rank,
                         .load = order,
                         .kind = GSRT__EVENT_ORDER};
    if (gsrt__events_add(&twin->events, &event) != GSRT_OK) {
        twin->is_out_of_memory = true;
        free(order);
    }
}

static void twin_deposit(gsrt_keepers *keepers, const gsrt_deposit *deposit)
{
    gsrt__twin_keeper *keeper = keeper_of(keepers);
    gsrt__order *order = order_make(keeper, GSRT__ORDER_DEPOSIT, deposit);
    if (order != NULL)
        order_send(keeper->twin, order, keeper->rank);
}

static void twin_end_worker(gsrt_keepers *keepers, uint32_t rank, uint32_t incarnation)
{
    gsrt__twin_keeper *keeper = keeper_of(keepers);
    if (rank >= keeper->twin->options.rank_count)
        return;
    gsrt__order *order = order_make(keeper, GSRT__ORDER_END, NULL);
    if (order == NULL)
        return;
    order->incarnation = incarnation;
    order->epoch = keeper->deposit == NULL ? 0 : keeper->deposit->epoch;
    order_send(keeper->twin, order, rank);
}

static void twin_drill(gsrt_keepers *keepers, uint32_t rank, gsrt_drill what, uint32_t duration_ms)
{
    gsrt__twin_keeper *keeper = keeper_of(keepers);
    if (rank >= keeper->twin->options.rank_count)
        return;
    gsrt__order *order = order_make(keeper, GSRT__ORDER_DRILL, NULL);
    if (order == NULL)
        return;
    order->drill = what;
    order->duration_ms = duration_ms;
    order_send(keeper->twin, order, rank);
}

static void twin_finished(gsrt_keepers *keepers, uint32_t exit_code)
{
    gsrt__twin_keeper *keeper = keeper_of(keepers);
    (void)exit_code; /* the twin's owner reads those of the nodes */
    for (uint32_t rank = 0; rank < keeper->twin->options.rank_count; rank++) {
        gsrt__order *order = order_make(keeper, GSRT__ORDER_FINISHED, NULL);
        if (order == NULL)
            return;
        order_send(keeper->twin, order, rank);
    }
}

const gsrt_keepers_ops gsrt__twin_keepers_ops = {
    .deposit = twin_deposit, .end_worker = twin_end_worker, .drill = twin_drill, .finished = twin_finished};

gsrt_keepers *gsrt_twin_keepers(gsrt_twin *twin, uint32_t rank)
{
    return rank < twin->options.rank_count ? &twin->nodes[rank].keeper.base : NULL;
}

/* ---- words ---- */

bool gsrt__keeper_is_over(const gsrt__twin_keeper *keeper)
{
    return keeper->is_dead || keeper->is_spent || keeper->is_finished;
}

void gsrt__keeper_fini(gsrt__twin_keeper *keeper)
{
    free(keeper->deposit);
    free(keeper->last_word);
    keeper->deposit = NULL;
    keeper->last_word = NULL;
}

static gsrt__shared_word *word_make(gsrt__twin_node *self)
{
    gsrt__shared_word *word = malloc(sizeof *word);
    if (word == NULL) {
        self->twin->is_out_of_memory = true;
        return NULL;
    }
    word->references = 1;
    word->word = *self->keeper.last_word;
    return word;
}

static void word_send(gsrt__twin_node *self, gsrt__shared_word *word, uint32_t to)
{
    gsrt_twin *twin = self->twin;
    const gsrt__pair *pair = gsrt__pair_of(twin, self->rank, to);
    if (to == self->rank || twin->nodes[to].node == NULL || pair->blocked_until_ns > twin->now_ns)
        return;
    /* a connection of its own: not behind the messages */
    gsrt__parcel *parcel = gsrt__twin_signal(twin, GSRT__PARCEL_WORD, self->rank, to, false,
                                             twin->now_ns + gsrt__link_of(twin, pair)->latency_ns);
    if (parcel == NULL)
        return;
    parcel->is_by_link = true;
    word->references++;
    parcel->word = word;
}

static bool may_restart(const gsrt__twin_node *self)
{
    const gsrt_twin *twin = self->twin;
    const gsrt_twin_recovery *recovery = &twin->options.recovery;
    const gsrt__twin_keeper *keeper = &self->keeper;
    if (gsrt__keeper_is_over(keeper) || recovery->on_start == NULL || recovery->restart_max == 0 ||
        self->incarnation >= UINT8_MAX)
        return false;
    if (keeper->restart_count < recovery->restart_max)
        return true;
    uint64_t oldest_ns = keeper->restarts_ns[(keeper->restart_count - recovery->restart_max) % GSRT_TWIN_RESTART_MAX];
    return twin->now_ns - oldest_ns >= recovery->restart_window_ns;
}

void gsrt__keeper_died(gsrt__twin_node *self, gsrt__death how)
{
    gsrt_twin *twin = self->twin;
    gsrt__twin_keeper *keeper = &self->keeper;
    keeper->was_ordered = how == GSRT__DEATH_ORDERED;
    keeper->died_ns = twin->now_ns;
    if (keeper->last_word == NULL)
        keeper->last_word = calloc(1, sizeof *keeper->last_word);
    if (keeper->last_word == NULL) {
        twin->is_out_of_memory = true;
        return;
    }
    keeper->has_word = false;
    gsrt__twin_plan(twin, &(gsrt__event){.time_ns = twin->now_ns + twin->options.recovery.word_ns,
                                         .rank = self->rank,
                                         .kind = GSRT__EVENT_WORD,
                                         .number = self->incarnation});
}

void gsrt__keeper_say_word(gsrt__twin_node *self, uint32_t incarnation)
{
    gsrt_twin *twin = self->twin;
    gsrt__twin_keeper *keeper = &self->keeper;
    if (keeper->is_dead)
        return;
    keeper->is_spent = !may_restart(self);
    gsrt_keeper_word *last = keeper->last_word;
    last->rank = self->rank;
    last->incarnation = incarnation;
    last->is_last = keeper->is_spent;
    last->was_ordered = keeper->was_ordered;
    if (keeper->deposit != NULL)
        last->deposit = *keeper->deposit;
    keeper->has_word = true;
    gsrt__shared_word *word = word_make(self);
    for (uint32_t rank = 0; word != NULL && rank < twin->options.rank_count; rank++)
        word_send(self, word, rank);
    gsrt__shared_word_unref(word);
    if (keeper->is_spent)
        return;
    keeper->restarts_ns[keeper->restart_count++ % GSRT_TWIN_RESTART_MAX] = twin->now_ns;
    keeper->refused_ns = 0;
    uint64_t start_ns = keeper->died_ns + twin->options.recovery.restart_ns;
    gsrt__twin_plan(twin, &(gsrt__event){.time_ns = start_ns > twin->now_ns ? start_ns : twin->now_ns,
                                         .rank = self->rank,
                                         .kind = GSRT__EVENT_START,
                                         .number = incarnation + 1});
}

void gsrt__keeper_lose_deposits(gsrt__twin_node *self)
{
    gsrt_twin *twin = self->twin;
    double u = gsrt__twin_draw(twin, GSRT__DRAW_DEPOSIT, self->rank, self->rank, self->draw_count);
    uint64_t until_ns = twin->now_ns + (uint64_t)(u * (double)twin->options.recovery.keeper_ns);
    for (uint32_t i = 0; i < twin->events.count; i++) {
        const gsrt__event *event = &twin->events.heap[i];
        gsrt__order *order = event->load;
        if (event->kind == GSRT__EVENT_ORDER && order->kind == GSRT__ORDER_DEPOSIT && event->rank == self->rank)
            order->is_void = order->is_void || event->time_ns > until_ns;
    }
}

/* ---- what a keeper does ---- */

static void hold_deposit(gsrt__twin_node *self, const gsrt__order *order)
{
    gsrt_twin *twin = self->twin;
    gsrt__twin_keeper *keeper = &self->keeper;
    if (keeper->deposit == NULL)
        keeper->deposit = malloc(sizeof *keeper->deposit);
    if (keeper->deposit == NULL) {
        twin->is_out_of_memory = true;
        return;
    }
    *keeper->deposit = *order->deposit;
    gsrt__parcel *parcel = gsrt__twin_signal(twin, GSRT__PARCEL_DEPOSITED, self->rank, self->rank, false,
                                             twin->now_ns + twin->options.recovery.keeper_ns);
    if (parcel == NULL)
        return;
    parcel->to_incarnation = order->from_incarnation;
    parcel->number = order->deposit->epoch;
}

static void say_unreachable(gsrt__twin_node *self, const gsrt__order *order)
{
    gsrt_twin *twin = self->twin;
    uint64_t time_ns = order->asked_ns + twin->options.recovery.unreachable_ns;
    gsrt__parcel *parcel = gsrt__twin_signal(twin, GSRT__PARCEL_UNREACHABLE, self->rank, order->from_rank, false,
                                             time_ns > twin->now_ns ? time_ns : twin->now_ns);
    if (parcel == NULL)
        return;
    parcel->to_incarnation = order->from_incarnation;
    parcel->number = order->incarnation;
}

/* The worker runs, and has gone on without the one that asks, who does not know that yet. */
static bool must_refuse(gsrt__twin_node *self, const gsrt__order *order)
{
    gsrt__twin_keeper *keeper = &self->keeper;
    uint64_t now_ns = self->twin->now_ns;
    if (keeper->deposit == NULL || self->stopped_until_ns > now_ns ||
        !gsrt_deposit_leaves_out(keeper->deposit, order->from_rank, order->from_incarnation, order->epoch))
        return false;
    keeper->refused_ns = keeper->refused_ns == 0 ? now_ns : keeper->refused_ns;
    return now_ns - keeper->refused_ns < GSRT_KEEPER_REFUSES_MS * 1000000ull;
}

static void end_worker(gsrt__twin_node *self, const gsrt__order *order)
{
    gsrt__twin_keeper *keeper = &self->keeper;
    if (gsrt__is_alive(self) && order->incarnation == self->incarnation) {
        if (!must_refuse(self, order))
            gsrt__twin_die(self, GSRT__DEATH_ORDERED);
        return;
    }
    if (!keeper->has_word || order->incarnation > keeper->last_word->incarnation)
        return; /* its word is about to come, or nobody can know that incarnation */
    gsrt__shared_word *word = word_make(self);
    if (word != NULL)
        word_send(self, word, order->from_rank);
    gsrt__shared_word_unref(word);
}

/* A worker that has finished is dead for whoever asks, and no other comes. */
static void bury_finished(gsrt__twin_node *self)
{
    gsrt__twin_keeper *keeper = &self->keeper;
    if (self->node == NULL || !gsrt_node_is_finished(self->node))
        return;
    if (keeper->last_word == NULL)
        keeper->last_word = calloc(1, sizeof *keeper->last_word);
    if (keeper->last_word == NULL) {
        self->twin->is_out_of_memory = true;
        return;
    }
    *keeper->last_word =
        (gsrt_keeper_word){.rank = self->rank, .incarnation = self->incarnation, .is_last = true, .was_ordered = false};
    if (keeper->deposit != NULL)
        keeper->last_word->deposit = *keeper->deposit;
    keeper->has_word = keeper->is_spent = true;
}

static bool is_reached(const gsrt__twin_node *self, const gsrt__order *order)
{
    const gsrt_twin *twin = self->twin;
    return !self->keeper.is_dead &&
           gsrt__pair_of(twin, order->from_rank, self->rank)->blocked_until_ns <= twin->now_ns &&
           gsrt__pair_of(twin, self->rank, order->from_rank)->blocked_until_ns <= twin->now_ns;
}

void gsrt__keeper_carry_out(gsrt__twin_node *self, gsrt__order *order)
{
    gsrt_twin *twin = self->twin;
    if (order->is_void) {
        free(order);
        return;
    }
    if (!is_reached(self, order)) {
        if (order->kind == GSRT__ORDER_END)
            say_unreachable(self, order);
        free(order);
        return;
    }
    switch (order->kind) {
    case GSRT__ORDER_DEPOSIT: hold_deposit(self, order); break;
    case GSRT__ORDER_END:
        bury_finished(self);
        end_worker(self, order);
        break;
    case GSRT__ORDER_DRILL:
        if (order->drill == GSRT_DRILL_KILL)
            gsrt_twin_kill(twin, self->rank);
        else
            gsrt_twin_stop(twin, self->rank, order->duration_ms * 1000000ull);
        break;
    case GSRT__ORDER_FINISHED: self->keeper.is_finished = true; break;
    }
    free(order);
}
