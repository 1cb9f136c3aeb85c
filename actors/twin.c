/* The twin's life and its loop.
 *
 * A node has at most one RUN to come that counts (run_at_ns); events of earlier plans are passed over.
 */
#include "actors/twin_impl.h"

#include <stdlib.h>

/* ---- events ---- */

void gsrt__twin_plan(gsrt_twin *twin, const gsrt__event *event)
{
    if (event->time_ns != UINT64_MAX && gsrt__events_add(&twin->events, event) != GSRT_OK)
        twin->is_out_of_memory = true;
}

void gsrt__twin_plan_run(gsrt__twin_node *self, uint64_t time_ns)
{
    if (time_ns < self->busy_until_ns)
        time_ns = self->busy_until_ns;
    if (time_ns < self->stopped_until_ns)
        time_ns = self->stopped_until_ns;
    if (time_ns >= self->run_at_ns)
        return;
    self->run_at_ns = time_ns;
    gsrt__twin_plan(self->twin, &(gsrt__event){.time_ns = time_ns, .rank = self->rank, .kind = GSRT__EVENT_RUN});
}

/* Its next round: at once when something waits, else with its next timer. */
void gsrt__twin_plan_next(gsrt__twin_node *self)
{
    const gsrt_node *node = self->node;
    uint64_t now_ns = self->twin->now_ns;
    if (node->queue.count > 0 || self->basket_first != NULL || atomic_load(&node->foreign_count) > 0)
        gsrt__twin_plan_run(self, now_ns);
    uint64_t timer_ns = gsrt_node_next_timer_ns(node);
    if (timer_ns != UINT64_MAX)
        gsrt__twin_plan_run(self, timer_ns > now_ns ? timer_ns : now_ns);
}

static void load_free(const gsrt__event *event)
{
    if (event->kind == GSRT__EVENT_ARRIVAL)
        gsrt__parcel_free(event->load);
    else
        free(event->load);
}

/* ---- life ---- */

static uint64_t twin_clock(void *arg)
{
    return ((const gsrt_twin *)arg)->now_ns; /* while a node runs, the time of its event */
}

gsrt_status gsrt__twin_node_make(gsrt__twin_node *self)
{
    gsrt_twin *twin = self->twin;
    gsrt_node_options options = {.rank = self->rank,
                                 .rank_count = twin->options.rank_count,
                                 .incarnation = self->incarnation,
                                 .transport = &self->transport,
                                 .clock_ns = twin_clock,
                                 .clock_arg = twin};
    if (twin->options.recorders != NULL)
        options.recorder = twin->options.recorders[self->rank];
    gsrt_status status = gsrt_node_create(&options, &self->node);
    if (status != GSRT_OK)
        return status;
    for (uint32_t peer = 0; peer < twin->options.rank_count; peer++)
        if (peer != self->rank)
            gsrt_node_set_incarnation(self->node, peer, twin->nodes[peer].incarnation);
    if (self->slowness > 1)
        gsrt_node_set_slowness(self->node, self->slowness);
    return GSRT_OK;
}

static void node_init(gsrt_twin *twin, uint32_t rank)
{
    gsrt__twin_node *self = &twin->nodes[rank];
    self->transport.ops = &gsrt__twin_transport_ops;
    self->twin = twin;
    self->rank = rank;
    self->run_at_ns = UINT64_MAX;
    self->slowness = 1;
    self->facts.name = "twin";
    self->keeper.base.ops = &gsrt__twin_keepers_ops;
    self->keeper.twin = twin;
    self->keeper.rank = rank;
}

static void set_default(uint64_t *value, uint64_t when_zero)
{
    if (*value == 0)
        *value = when_zero;
}

static void set_defaults(gsrt_twin_recovery *recovery)
{
    set_default(&recovery->detect_ns, 1000000);
    set_default(&recovery->word_ns, 1000000);
    set_default(&recovery->keeper_ns, 20000);
    set_default(&recovery->unreachable_ns, 200000000);
    set_default(&recovery->restart_ns, 20000000);
    set_default(&recovery->link_timeout_ns, 2000000000);
    set_default(&recovery->restart_window_ns, 60000000000);
    if (recovery->word_ns < recovery->keeper_ns)
        recovery->word_ns =
            recovery->keeper_ns; /* a keeper reads what its worker said before it says that it is dead */
}

gsrt_status gsrt_twin_create(const gsrt_twin_options *options, gsrt_twin **out)
{
    if (options->rank_count == 0 || options->rank_count > GSRT_RANK_COUNT_MAX || !(options->link.bytes_per_ns > 0) ||
        !(options->jitter >= 0 && options->jitter <= 1e6) || options->recovery.restart_max > GSRT_TWIN_RESTART_MAX)
        return GSRT_EINVAL;
    gsrt_twin *twin = calloc(1, sizeof *twin);
    if (twin == NULL)
        return GSRT_ENOMEM;
    twin->options = *options;
    set_defaults(&twin->options.recovery);
    twin->nodes = calloc(options->rank_count, sizeof *twin->nodes);
    twin->pairs = calloc((size_t)options->rank_count * options->rank_count, sizeof *twin->pairs);
    gsrt_status status = twin->nodes == NULL || twin->pairs == NULL ? GSRT_ENOMEM : GSRT_OK;
    for (uint32_t rank = 0; status == GSRT_OK && rank < options->rank_count; rank++) {
        node_init(twin, rank);
        status = gsrt__twin_node_make(&twin->nodes[rank]);
    }
    twin->options.recorders = NULL; /* copied into the nodes */
    if (status != GSRT_OK) {
        gsrt_twin_free(twin);
        return status;
    }
    *out = twin;
    return GSRT_OK;
}

gsrt_twin *gsrt_twin_free(gsrt_twin *twin)
{
    if (twin == NULL)
        return NULL;
    for (uint32_t rank = 0; twin->nodes != NULL && rank < twin->options.rank_count; rank++)
        twin->nodes[rank].node = gsrt_node_free(twin->nodes[rank].node);
    while (twin->events.count > 0) {
        gsrt__event event = gsrt__events_take(&twin->events);
        load_free(&event);
    }
    for (uint32_t rank = 0; twin->nodes != NULL && rank < twin->options.rank_count; rank++) {
        gsrt__keeper_fini(&twin->nodes[rank].keeper);
        gsrt_twin_disk_free(twin->nodes[rank].disk);
    }
    gsrt__events_fini(&twin->events);
    free(twin->nodes);
    free(twin->pairs);
    free(twin->link_faults);
    free(twin);
    return NULL;
}

gsrt_node *gsrt_twin_node(gsrt_twin *twin, uint32_t rank)
{
    return rank < twin->options.rank_count ? twin->nodes[rank].node : NULL;
}

gsrt_disk *gsrt_twin_disk_of(gsrt_twin *twin, uint32_t rank)
{
    if (rank >= twin->options.rank_count)
        return NULL;
    gsrt__twin_node *self = &twin->nodes[rank];
    if (self->disk == NULL)
        self->disk = gsrt_twin_disk_create(twin->options.seed, rank);
    return self->disk == NULL ? NULL : gsrt_twin_disk_door(self->disk);
}

void gsrt_twin_set_link(gsrt_twin *twin, uint32_t from, uint32_t to, const gsrt_twin_link *link)
{
    if (from < twin->options.rank_count && to < twin->options.rank_count && link->bytes_per_ns > 0)
        gsrt__pair_of(twin, from, to)->link = *link;
}

uint64_t gsrt_twin_now_ns(const gsrt_twin *twin)
{
    return twin->now_ns;
}

uint64_t gsrt_twin_event_count(const gsrt_twin *twin)
{
    return twin->event_count;
}

uint32_t gsrt_twin_waiting_max(const gsrt_twin *twin)
{
    return twin->waiting_max;
}

uint64_t gsrt_twin_digest(const gsrt_twin *twin)
{
    return twin->digest;
}

/* ---- the digest ---- */

static uint64_t mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * 0x9E3779B97F4A7C15u;
    return digest ^ digest >> 29;
}

void gsrt__twin_note(gsrt_twin *twin, uint64_t value)
{
    twin->digest = mix(mix(twin->digest, twin->now_ns), value);
}

static void note_arrival(gsrt_twin *twin, const gsrt__event *event)
{
    const gsrt__parcel *parcel = event->load;
    uint64_t digest = mix(twin->digest, event->time_ns);
    digest = mix(digest, (uint64_t)event->peer << 32 | event->rank);
    if (parcel->kind != GSRT__PARCEL_MESSAGE) {
        twin->digest = mix(digest, (uint64_t)parcel->from_incarnation << 32 | (uint64_t)parcel->kind << 1 | 1);
        return;
    }
    digest = mix(digest, (uint64_t)parcel->envelope.kind << 1 | parcel->is_void);
    digest = mix(digest, parcel->envelope.from);
    digest = mix(digest, parcel->envelope.to);
    digest = mix(digest, parcel->envelope.sequence);
    for (size_t i = 0; i < parcel->envelope.body.len; i++)
        digest = (digest ^ parcel->body[i]) * 0x100000001B3u;
    twin->digest = digest;
}

/* ---- the loop ---- */

/* false: it was an old plan. */
static bool run(gsrt__twin_node *self, uint64_t time_ns)
{
    if (time_ns != self->run_at_ns)
        return false;
    self->run_at_ns = UINT64_MAX;
    if (self->node == NULL || self->is_dying || gsrt_node_is_finished(self->node))
        return false;
    if (self->stopped_until_ns > time_ns) {
        gsrt__twin_plan_run(self, time_ns);
        return false;
    }
    gsrt__twin_run_node(self);
    return true;
}

static bool carry_out(gsrt_twin *twin, const gsrt__event *event)
{
    gsrt__twin_node *self = &twin->nodes[event->rank];
    twin->now_ns = event->time_ns;
    switch (event->kind) {
    case GSRT__EVENT_RUN: return run(self, event->time_ns);
    case GSRT__EVENT_ARRIVAL:
        note_arrival(twin, event);
        gsrt__twin_arrive(twin, event->rank, event->load);
        return true;
    case GSRT__EVENT_ORDER: gsrt__keeper_carry_out(self, event->load); return true;
    case GSRT__EVENT_DEATH:
        if (self->node != NULL && self->incarnation == event->number)
            gsrt__twin_die(self, GSRT__DEATH_KILLED);
        return true;
    case GSRT__EVENT_LEAVE: gsrt__twin_leave(self, event->number); return true;
    case GSRT__EVENT_WORD: gsrt__keeper_say_word(self, event->number); return true;
    case GSRT__EVENT_START: gsrt__twin_start(self, event->number); return true;
    case GSRT__EVENT_BREAK: gsrt__twin_break(twin, event->rank, event->peer, event->number); return true;
    case GSRT__EVENT_FAST:
        if (self->slow_number != event->number)
            return false;
        self->slowness = 1;
        if (self->node != NULL)
            gsrt_node_set_slowness(self->node, 1);
        return true;
    }
    return false;
}

static bool is_done(const gsrt__twin_node *self)
{
    return self->node == NULL ? gsrt__keeper_is_over(&self->keeper) : gsrt_node_is_finished(self->node);
}

static bool is_all_done(const gsrt_twin *twin)
{
    for (uint32_t rank = 0; rank < twin->options.rank_count; rank++)
        if (!is_done(&twin->nodes[rank]))
            return false;
    return true;
}

gsrt_status gsrt_twin_run(gsrt_twin *twin, uint64_t until_ns, uint64_t event_count_max)
{
    for (uint32_t rank = 0; rank < twin->options.rank_count; rank++)
        gsrt__twin_look_at(&twin->nodes[rank]); /* what was done to it from outside */
    uint64_t count = 0;
    while (!twin->is_out_of_memory) {
        if (twin->events.count == 0 || twin->events.heap[0].time_ns > until_ns) {
            if (is_all_done(twin))
                return GSRT_OK;
            if (twin->now_ns < until_ns && until_ns != UINT64_MAX)
                twin->now_ns = until_ns;
            return twin->events.count == 0 ? GSRT_EEMPTY : GSRT_ETIMEDOUT;
        }
        if (count >= event_count_max)
            return is_all_done(twin) ? GSRT_OK : GSRT_ELIMIT;
        if (twin->events.count > twin->waiting_max)
            twin->waiting_max = twin->events.count;
        gsrt__event event = gsrt__events_take(&twin->events);
        if (carry_out(twin, &event)) {
            count++;
            twin->event_count++;
        }
    }
    return GSRT_ENOMEM;
}
