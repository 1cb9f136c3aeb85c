#include "health/member_actor.h"

#include <stdlib.h>
#include <string.h>

enum { TIMER_MACHINE = 1, TIMER_LOOK = 2, TIMER_JOIN = 3 /* + the rank, times TIMER_COUNT */, TIMER_COUNT = 4 };

static const uint64_t ms = 1000000;

gsrt_member_options gsrt_member_options_of(uint32_t contact_ms)
{
    uint64_t lease_ms = 20ull * contact_ms, pause_ms = 8ull * contact_ms;
    if (lease_ms < 1000)
        lease_ms = 1000;
    if (pause_ms > GSRT_PHI_PAUSE_MS_MAX)
        pause_ms = contact_ms > GSRT_PHI_INTERVAL_MS_MAX ? 0 : GSRT_PHI_PAUSE_MS_MAX;
    return (gsrt_member_options){.machine = {.lease_ns = lease_ms * ms,
                                             .detection_ns = 50 * ms,
                                             .retry_ns = 20 * ms,
                                             .takeover_ns = 100 * ms,
                                             .contact_ns = contact_ms * ms},
                                 .join_hold_ns = 150 * ms,
                                 .pause_ns = pause_ms * ms,
                                 .give_up_ns = 15000 * ms};
}

gsrt_membership_fence gsrt_member_fenced(const gsrt_member *m, uint64_t now_ns)
{
    return gsrt_membership_fenced(m->machine, now_ns);
}

/* ---- what comes from outside the node becomes a message, so that it has its place in the order ---- */

static void tell(const gsrt_member *m, gsrt_kind kind, const void *body)
{
    gsrt_status status = gsrt_node_post(m->node, m->self, kind, body, NULL);
    if (status != GSRT_OK)
        gsrt_node_finish(m->node, GSRT_EXIT_AGAIN); /* no memory: what is not heard must not be guessed */
}

static void on_suspect(void *arg, uint32_t rank, gsrt_status why)
{
    const gsrt_member *m = arg;
    tell(m, GSRT_KIND_SUSPECT, &(gsrt_msg_suspect){.rank = rank, .incarnation = m->joined[rank], .why = (uint32_t)why});
}

static void on_join(void *arg, uint32_t rank, uint32_t incarnation)
{
    gsrt_member *m = arg;
    m->joined[rank] = incarnation;
    if (incarnation < m->incarnations[rank])
        return;                          /* a view has named a later one already */
    m->incarnations[rank] = incarnation; /* at once: what is told of the one before must not hurt this one */
    gsrt_node_set_incarnation(m->node, rank, incarnation);
    tell(m, GSRT_KIND_JOINED, &(gsrt_msg_joined){.rank = rank, .incarnation = incarnation});
}

/* The next incarnation will hear. Where the view has no other member there is nobody whom it could join: then this one
 * goes on to the end, and takes nobody in. */
static void on_deaf(void *arg)
{
    gsrt_member *m = arg;
    const gsrt_membership_view *view = gsrt_membership_installed(m->machine);
    uint32_t others = 0;
    for (uint32_t rank = 0; rank < view->rank_count; rank++)
        others += rank != gsrt_node_rank(m->node) && view->incarnations[rank] != GSRT_NOT_A_MEMBER;
    m->is_deaf = view->epoch != 0 && others == 0;
    if (!m->is_deaf)
        gsrt_node_finish(m->node, GSRT_EXIT_AGAIN);
}

static void on_word(void *arg, const gsrt_keeper_word *word)
{
    tell(arg, GSRT_KIND_WORD,
         &(gsrt_msg_word){.rank = word->rank,
                          .incarnation = word->incarnation,
                          .is_last = word->is_last,
                          .was_ordered = word->was_ordered,
                          .epoch = word->deposit.epoch,
                          .ballot = word->deposit.ballot,
                          .incarnations = word->deposit.incarnations,
                          .incarnations_count = word->deposit.epoch == 0 ? 0 : word->deposit.rank_count});
}

static void on_deposited(void *arg, uint32_t epoch)
{
    tell(arg, GSRT_KIND_DEPOSITED, &(gsrt_msg_deposited){.epoch = epoch});
}

static void on_unreachable(void *arg, uint32_t rank, uint32_t incarnation)
{
    tell(arg, GSRT_KIND_UNREACHABLE, &(gsrt_msg_unreachable){.rank = rank, .incarnation = incarnation});
}

/* ---- actions ---- */

static void record(gsrt_actor *self, gsrt_member *m, const gsrt_membership_event *event,
                   const gsrt_membership_action *action)
{
    gsrt_buffer_reset(&m->record);
    gsrt_status status = event != NULL ? gsrt_membership_event_encode(event, &m->record)
                                       : gsrt_membership_action_encode(action, &m->record);
    if (status != GSRT_OK)
        return;
    if (event != NULL)
        gsrt_record_event(self, "membership", gsrt_buffer_span(&m->record));
    else
        gsrt_record_action(self, "membership", gsrt_buffer_span(&m->record));
}

static void record_options(gsrt_actor *self, gsrt_member *m)
{
    gsrt_buffer_reset(&m->record);
    if (gsrt_membership_options_encode(&m->options.machine, &m->record) == GSRT_OK)
        gsrt_record_init(self, "membership", gsrt_buffer_span(&m->record));
}

static void send(gsrt_actor *self, uint32_t to, const gsrt_membership_message *message)
{
    gsrt_msg_membership body = {.type = (uint32_t)message->type,
                                .from_rank = message->from_rank,
                                .from_incarnation = message->from_incarnation,
                                .rank = message->rank,
                                .incarnation = message->incarnation,
                                .epoch = message->epoch,
                                .ballot = message->ballot,
                                .accepted_ballot = message->accepted_ballot,
                                .time_ns = message->time_ns};
    if (gsrt_membership_message_has_value(message)) {
        body.value_epoch = message->value.epoch;
        body.is_leased = message->value.is_leased;
        body.incarnations = message->value.incarnations;
        body.incarnations_count = message->value.rank_count;
    }
    gsrt_address role = gsrt_address_of_role(GSRT_ROLE_MEMBER, 0, to);
    gsrt_status status = gsrt_send(self, role, GSRT_KIND_MEMBERSHIP, &body, NULL);
    (void)status; /* a full window or a lost peer: the machine sends again */
}

static void step_phi(gsrt_member *m, gsrt_phi_event_kind kind, uint32_t peer)
{
    if (m->phi != NULL)
        gsrt_phi_step(m->phi, &(gsrt_phi_event){.kind = kind, .peer = peer, .now_ns = gsrt_node_now_ns(m->node)});
}

/* The view's members are who this node speaks with; its data messages of other views are void from here on. */
static gsrt_status install(gsrt_actor *self, gsrt_member *m, const gsrt_membership_view *view)
{
    uint32_t own = gsrt_node_rank(m->node);
    m->installed_ns = gsrt_now_ns(self);
    m->is_changing = false;
    gsrt_node_set_epoch(m->node, view->epoch);
    for (uint32_t rank = 0; rank < view->rank_count; rank++) {
        if (rank == own)
            continue;
        uint32_t incarnation = view->incarnations[rank];
        step_phi(m, incarnation == GSRT_NOT_A_MEMBER ? GSRT_PHI_UNWATCH : GSRT_PHI_WATCH, rank);
        if (incarnation != GSRT_NOT_A_MEMBER && incarnation >= m->incarnations[rank]) {
            m->incarnations[rank] = incarnation;
            gsrt_node_set_incarnation(m->node, rank, incarnation);
        }
    }
    gsrt_status status = gsrt_role_bind(m->node, gsrt_address_of_role(GSRT_ROLE_MEMBER, 0, own), m->self);
    if (status == GSRT_OK)
        status = gsrt_role_bind(m->node, gsrt_address_of_role(GSRT_ROLE_NODE, 0, own), m->options.root);
    gsrt_msg_view message = {.epoch = view->epoch,
                             .leader = gsrt_membership_coordinator(view),
                             .incarnations = view->incarnations,
                             .incarnations_count = view->rank_count};
    return status == GSRT_OK ? gsrt_send(self, m->options.root, GSRT_KIND_VIEW, &message, NULL) : status;
}

static void set_timer(gsrt_actor *self, gsrt_member *m, uint64_t at_ns)
{
    uint64_t now = gsrt_now_ns(self);
    if (m->timer != 0)
        gsrt_timer_cancel(self, m->timer);
    m->timer = 0;
    if (gsrt_timer_start(self, at_ns > now ? at_ns - now : 0, TIMER_MACHINE, &m->timer) != GSRT_OK)
        gsrt_exit(self, GSRT_EXIT_CRASH);
}

static void carry_out(gsrt_actor *self, gsrt_member *m, const gsrt_membership_action *action)
{
    gsrt_keepers *keepers = m->options.keepers;
    switch (action->kind) {
    case GSRT_MEMBERSHIP_SEND: send(self, action->rank, &action->message); break;
    case GSRT_MEMBERSHIP_DEPOSIT:
        if (keepers != NULL)
            keepers->ops->deposit(keepers, &action->deposit);
        else
            on_deposited(m, action->deposit.epoch); /* alone: nobody could ask for it */
        break;
    case GSRT_MEMBERSHIP_END_WORKER:
        if (keepers != NULL)
            keepers->ops->end_worker(keepers, action->rank, action->incarnation);
        break;
    case GSRT_MEMBERSHIP_INSTALL:
        if (install(self, m, &action->view) != GSRT_OK)
            gsrt_exit(self, GSRT_EXIT_CRASH);
        break;
    case GSRT_MEMBERSHIP_TIMER: set_timer(self, m, action->at_ns); break;
    case GSRT_MEMBERSHIP_EXIT:
        if (m->options.hooks.on_exit != NULL)
            m->options.hooks.on_exit(m->options.hooks.arg);
        break;
    case GSRT_MEMBERSHIP_FENCE: /* emitting asks for it: gsrt_member_fenced */
        m->fence = action->fence;
        m->fenced_ns = m->fenced_ns == 0 ? gsrt_now_ns(self) : m->fenced_ns;
        break;
    case GSRT_MEMBERSHIP_UNFENCE: m->fenced_ns = 0; break;
    }
}

static void step(gsrt_actor *self, gsrt_member *m, gsrt_membership_event *event)
{
    const gsrt_member_hooks *hooks = &m->options.hooks;
    gsrt_membership_action action;
    event->now_ns = gsrt_now_ns(self);
    record(self, m, event, NULL);
    if (hooks->on_event != NULL)
        hooks->on_event(hooks->arg, event);
    if (gsrt_membership_step(m->machine, event) != GSRT_OK)
        return; /* past the limits, and nothing has changed */
    while (gsrt_membership_poll(m->machine, &action)) {
        record(self, m, NULL, &action);
        if (hooks->on_action != NULL)
            hooks->on_action(hooks->arg, &action, event->now_ns);
        carry_out(self, m, &action);
    }
}

/* ---- events ---- */

static void suspect(gsrt_actor *self, gsrt_member *m, uint32_t rank, uint32_t incarnation, gsrt_status why)
{
    m->suspected_why = why;
    m->is_changing = true;
    gsrt_membership_event event = {.kind = GSRT_MEMBERSHIP_SUSPECT, .rank = rank, .incarnation = incarnation};
    step(self, m, &event);
}

/* Nothing may be emitted, and perhaps there is no hope of it. */
static void look_at_fence(const gsrt_member *m, uint64_t now)
{
    const gsrt_member_hooks *hooks = &m->options.hooks;
    if (m->fenced_ns != 0 && hooks->on_fenced != NULL)
        hooks->on_fenced(hooks->arg);
    if (m->fenced_ns != 0 && m->options.give_up_ns > 0 && now > m->fenced_ns + m->options.give_up_ns &&
        hooks->on_lost != NULL)
        hooks->on_lost(hooks->arg, gsrt_membership_fence_text(m->fence));
}

/* Who has not been heard for too long. */
static void look(gsrt_actor *self, gsrt_member *m)
{
    uint64_t now = gsrt_now_ns(self), period = m->options.machine.contact_ns;
    gsrt_phi_action action;
    if (m->phi != NULL) {
        gsrt_phi_step(m->phi, &(gsrt_phi_event){.kind = GSRT_PHI_TICK, .now_ns = now, .next_ns = now + period});
        while (gsrt_phi_poll(m->phi, &action)) {
            if (action.kind == GSRT_PHI_SUSPECT)
                suspect(self, m, action.peer, m->incarnations[action.peer], GSRT_ETIMEDOUT);
        }
    }
    look_at_fence(m, now);
    if (gsrt_timer_start(self, period, TIMER_LOOK, NULL) != GSRT_OK)
        gsrt_exit(self, GSRT_EXIT_CRASH);
}

/* A view that has just begun is left alone until it has done something: a rank that only comes back would make all
 * begin again. One that is waited for is no such case: then a change is due anyway. Returns until when; 0: no hold. */
static uint64_t hold_until_ns(const gsrt_member *m, uint64_t now)
{
    uint64_t until_ns = m->installed_ns + m->options.join_hold_ns;
    return m->installed_ns != 0 && !m->is_changing && now < until_ns ? until_ns : 0;
}

static void on_message(gsrt_actor *self, gsrt_member *m, const gsrt_msg_membership *body)
{
    gsrt_membership_event event = {.kind = GSRT_MEMBERSHIP_MESSAGE,
                                   .message = {.type = (gsrt_membership_message_type)body->type,
                                               .from_rank = body->from_rank,
                                               .from_incarnation = body->from_incarnation,
                                               .rank = body->rank,
                                               .incarnation = body->incarnation,
                                               .epoch = body->epoch,
                                               .ballot = body->ballot,
                                               .accepted_ballot = body->accepted_ballot,
                                               .time_ns = body->time_ns,
                                               .value = {.epoch = body->value_epoch,
                                                         .is_leased = body->is_leased,
                                                         .rank_count = body->incarnations_count}}};
    if (body->incarnations_count > 0)
        memcpy(event.message.value.incarnations, body->incarnations,
               body->incarnations_count * sizeof *body->incarnations);
    if (body->from_rank < gsrt_node_rank_count(m->node) && body->from_incarnation == m->incarnations[body->from_rank])
        step_phi(m, GSRT_PHI_HEARD, body->from_rank);
    if (body->type == GSRT_MEMBERSHIP_JOIN && hold_until_ns(m, gsrt_now_ns(self)) != 0)
        return; /* it asks again */
    step(self, m, &event);
}

static void ask_to_join(gsrt_actor *self, gsrt_member *m, uint32_t rank, uint32_t incarnation)
{
    uint64_t now = gsrt_now_ns(self), until_ns = hold_until_ns(m, now);
    if (incarnation != m->incarnations[rank] || m->is_deaf)
        return; /* a later one has come meanwhile; or it would never be heard */
    if (until_ns != 0) {
        if (gsrt_timer_start(self, until_ns - now, TIMER_JOIN + (uint64_t)rank * TIMER_COUNT, NULL) != GSRT_OK)
            gsrt_exit(self, GSRT_EXIT_CRASH);
        return;
    }
    step(self, m,
         &(gsrt_membership_event){.kind = GSRT_MEMBERSHIP_JOIN_ASKED, .rank = rank, .incarnation = incarnation});
}

static void on_joined(gsrt_actor *self, gsrt_member *m, const gsrt_msg_joined *joined)
{
    if (joined->rank < gsrt_node_rank_count(m->node))
        ask_to_join(self, m, joined->rank, joined->incarnation);
}

static void on_word_message(gsrt_actor *self, gsrt_member *m, const gsrt_msg_word *word)
{
    gsrt_membership_event event = {
        .kind = GSRT_MEMBERSHIP_WORD,
        .word = {.rank = word->rank,
                 .incarnation = word->incarnation,
                 .is_last = word->is_last,
                 .was_ordered = word->was_ordered,
                 .deposit = {.epoch = word->epoch, .ballot = word->ballot, .rank_count = word->incarnations_count}}};
    if (word->incarnations_count > 0)
        memcpy(event.word.deposit.incarnations, word->incarnations,
               word->incarnations_count * sizeof *word->incarnations);
    if (word->rank >= gsrt_node_rank_count(m->node))
        return;
    /* what is under way with it is void; a later incarnation that has connected already stays */
    m->is_changing = true;
    if (word->incarnation == m->incarnations[word->rank])
        gsrt_node_rank_lost(m->node, word->rank);
    if (m->options.hooks.join_wait_ns != NULL)
        event.join_wait_ns = m->options.hooks.join_wait_ns(m->options.hooks.arg, self, &event.word);
    step(self, m, &event);
}

static void on_suspected(gsrt_actor *self, gsrt_member *m, const gsrt_msg_suspect *message)
{
    if (message->rank >= gsrt_node_rank_count(m->node))
        return;
    if (message->incarnation == m->incarnations[message->rank])
        gsrt_node_rank_lost(m->node, message->rank); /* its connection is gone, whatever has become of it */
    suspect(self, m, message->rank, message->incarnation, (gsrt_status)message->why);
}

static void on_timer(gsrt_actor *self, gsrt_member *m, uint64_t tag)
{
    uint32_t rank = (uint32_t)(tag / TIMER_COUNT);
    if (tag == TIMER_LOOK) {
        look(self, m);
    } else if (tag == TIMER_MACHINE) {
        m->timer = 0;
        step(self, m, &(gsrt_membership_event){.kind = GSRT_MEMBERSHIP_TICK});
    } else {
        ask_to_join(self, m, rank, m->incarnations[rank]);
    }
}

/* ---- the actor ---- */

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    gsrt_member *m = *(gsrt_member *const *)arg;
    *(gsrt_member **)state = m;
    m->self = gsrt_self(self);
    record_options(self, m);
    m->fence = GSRT_FENCE_NO_VIEW;
    m->fenced_ns = gsrt_now_ns(self) + 1; /* 0 means that it may emit */
    gsrt_status status =
        gsrt_role_bind(m->node, gsrt_address_of_role(GSRT_ROLE_MEMBER, 0, gsrt_node_rank(m->node)), m->self);
    if (status == GSRT_OK)
        status = gsrt_timer_start(self, m->options.machine.contact_ns, TIMER_LOOK, NULL);
    if (status == GSRT_OK)
        step(self, m, &(gsrt_membership_event){.kind = GSRT_MEMBERSHIP_BEGIN});
    return status;
}

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    gsrt_member *m = *(gsrt_member **)state;
    switch ((unsigned)message->kind) {
    case GSRT_KIND_MEMBERSHIP: on_message(self, m, message->body); break;
    case GSRT_KIND_SUSPECT: on_suspected(self, m, message->body); break;
    case GSRT_KIND_JOINED: on_joined(self, m, message->body); break;
    case GSRT_KIND_WORD: on_word_message(self, m, message->body); break;
    case GSRT_KIND_DEPOSITED:
        step(self, m,
             &(gsrt_membership_event){.kind = GSRT_MEMBERSHIP_DEPOSITED,
                                      .epoch = ((const gsrt_msg_deposited *)message->body)->epoch});
        break;
    case GSRT_KIND_UNREACHABLE: {
        const gsrt_msg_unreachable *body = message->body;
        m->is_changing = true;
        step(self, m,
             &(gsrt_membership_event){
                 .kind = GSRT_MEMBERSHIP_UNREACHABLE, .rank = body->rank, .incarnation = body->incarnation});
        break;
    }
    case GSRT_KIND_TIMER: on_timer(self, m, ((const gsrt_msg_timer *)message->body)->tag); break;
    default: break;
    }
}

static const gsrt_behaviour member_behaviour = {
    .name = "member", .state_bytes = sizeof(gsrt_member *), .init = init, .receive = receive};

gsrt_status gsrt_member_start(gsrt_member *m, gsrt_node *node, const gsrt_member_options *options)
{
    uint32_t rank_count = gsrt_node_rank_count(node);
    *m = (gsrt_member){.options = *options, .node = node};
    gsrt_buffer_init(&m->record, GSRT_BODY_BYTES_MAX);
    m->options.machine.rank = gsrt_node_rank(node);
    m->options.machine.rank_count = rank_count;
    m->incarnations = calloc(rank_count, sizeof *m->incarnations);
    m->joined = calloc(rank_count, sizeof *m->joined);
    if (m->incarnations == NULL || m->joined == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = gsrt_membership_create(&m->options.machine, &m->machine);
    gsrt_phi_options phi = {.interval_ns = options->machine.contact_ns, .pause_ns = options->pause_ns};
    if (status == GSRT_OK && options->pause_ns > 0)
        status = gsrt_phi_create(&phi, rank_count, &m->phi);
    gsrt_address address;
    if (status == GSRT_OK)
        status = gsrt_node_spawn(node, &member_behaviour, &m, &address);
    if (status != GSRT_OK)
        return status;
    gsrt_node_on_suspect(node, on_suspect, m);
    gsrt_node_on_join(node, on_join, m);
    gsrt_node_on_deaf(node, on_deaf, m);
    if (options->keepers != NULL)
        gsrt_keepers_listen(options->keepers, &(gsrt_keepers_events){.arg = m,
                                                                     .on_word = on_word,
                                                                     .on_deposited = on_deposited,
                                                                     .on_unreachable = on_unreachable});
    return GSRT_OK;
}

void gsrt_member_fini(gsrt_member *m)
{
    m->machine = gsrt_membership_free(m->machine);
    m->phi = gsrt_phi_free(m->phi);
    gsrt_buffer_fini(&m->record);
    free(m->incarnations);
    free(m->joined);
    m->incarnations = m->joined = NULL;
}
