#include "placement/scheduler_actor.h"

#include "actors/courier.h"
#include "base/limits.h"
#include "placement/scheduler_codec.h"

typedef struct scheduler_state {
    gsrt_scheduler *machine;
    const gsrt_plan *plan;
    gsrt_scheduler_facts *facts;
    uint32_t flight_rows[GSRT_STAGE_COUNT_MAX]; /* of the steps in flight: a ring, as the machine's */
    uint32_t flight_first, flight_count;
    gsrt_buffer record; /* room to encode what is recorded */
} scheduler_state;

/* What cannot be encoded ends the actor: what follows from it could not be replayed. */
static gsrt_status note_event(gsrt_actor *self, scheduler_state *s, const gsrt_message *message)
{
    gsrt_buffer_reset(&s->record);
    gsrt_status status = gsrt_scheduler_record_encode(message->kind, message->body, &s->record);
    if (status == GSRT_OK)
        gsrt_record_event(self, "scheduler", gsrt_buffer_span(&s->record));
    return status;
}

static gsrt_status note_action(gsrt_actor *self, scheduler_state *s, const gsrt_scheduler_action *action)
{
    gsrt_buffer_reset(&s->record);
    gsrt_status status = gsrt_scheduler_action_encode(action, &s->record);
    if (status == GSRT_OK)
        gsrt_record_action(self, "scheduler", gsrt_buffer_span(&s->record));
    return status;
}

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    scheduler_state *s = state;
    const gsrt_scheduler_actor_options *options = arg;
    s->plan = options->plan;
    s->facts = options->facts;
    s->facts->rows_in_flight = 0;
    gsrt_buffer_init(&s->record, 2 * (size_t)GSRT_BODY_BYTES_MAX);
    gsrt_status status = gsrt_scheduler_options_encode(&options->machine, &s->record);
    if (status == GSRT_OK)
        status = gsrt_scheduler_create(&options->machine, &s->machine);
    if (status == GSRT_OK)
        gsrt_record_init(self, "scheduler", gsrt_buffer_span(&s->record));
    else
        gsrt_buffer_fini(&s->record);
    return status;
}

static gsrt_status send_to_regions(gsrt_actor *self, const scheduler_state *s, gsrt_kind kind, const void *body)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t stage = 0; stage < s->plan->stage_count && status == GSRT_OK; stage++) {
        for (uint32_t member = 0; member < s->plan->stages[stage].member_count && status == GSRT_OK; member++)
            status = gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REGION, stage, member), kind, body, NULL);
    }
    return status;
}

static gsrt_status send_step(gsrt_actor *self, scheduler_state *s, const gsrt_msg_step *step)
{
    s->facts->steps += 1;
    s->facts->rows += step->tokens_count;
    s->facts->rows_in_flight += step->tokens_count;
    s->flight_rows[(s->flight_first + s->flight_count++) % GSRT_STAGE_COUNT_MAX] = step->tokens_count;
    if (step->tokens_count > s->facts->rows_max)
        s->facts->rows_max = step->tokens_count;
    if (step->requests_count > s->facts->sequences_max)
        s->facts->sequences_max = step->requests_count;
    return send_to_regions(self, s, GSRT_KIND_STEP, step);
}

static gsrt_status carry_out(gsrt_actor *self, scheduler_state *s, const gsrt_scheduler_action *action)
{
    const gsrt_address gateway = gsrt_address_of_role(GSRT_ROLE_GATEWAY, 0, 0);
    if (action->kind == GSRT_KIND_STEP)
        return send_step(self, s, &action->step);
    if (action->kind == GSRT_KIND_TOKEN)
        return gsrt_courier_send(self, gateway, GSRT_KIND_TOKEN, &action->token, NULL);
    if (action->kind == GSRT_KIND_RESTORE)
        return send_to_regions(self, s, GSRT_KIND_RESTORE, &action->restore);
    if (action->kind == GSRT_KIND_SNAPSHOT) {
        gsrt_status status = gsrt_courier_send(self, gateway, GSRT_KIND_SNAPSHOT, &action->snapshot, NULL);
        return status == GSRT_OK ? send_to_regions(self, s, GSRT_KIND_SNAPSHOT, &action->snapshot) : status;
    }
    if (action->kind == GSRT_KIND_COPY)
        return gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REGION, action->copy.stage, action->copy.member),
                                 GSRT_KIND_COPY, &action->copy, NULL);
    if (action->kind == GSRT_KIND_HANDOVER)
        return gsrt_courier_send(self, gateway, GSRT_KIND_HANDOVER, &action->handover, NULL);
    s->facts->prefix_tokens += action->finished.prefix_tokens;
    return gsrt_courier_send(self, gateway, GSRT_KIND_FINISHED, &action->finished, NULL);
}

/* All actions are drawn and recorded, also after one that could not be carried out: a trace holds whole decisions. */
static gsrt_status act(gsrt_actor *self, scheduler_state *s)
{
    gsrt_scheduler_action action;
    gsrt_status status = GSRT_OK;
    while (gsrt_scheduler_poll(s->machine, &action)) {
        gsrt_status noted = note_action(self, s, &action);
        if (status == GSRT_OK)
            status = noted == GSRT_OK ? carry_out(self, s, &action) : noted;
    }
    return status;
}

static void forget_flight(scheduler_state *s)
{
    s->facts->rows_in_flight -= s->flight_rows[s->flight_first];
    s->flight_first = (s->flight_first + 1) % GSRT_STAGE_COUNT_MAX;
    s->flight_count -= 1;
}

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    scheduler_state *s = state;
    if (!gsrt_scheduler_is_event(message->kind))
        return;
    gsrt_status status = note_event(self, s, message);
    if (status == GSRT_OK)
        status = gsrt_scheduler_step(s->machine, message->kind, message->body);
    if (status == GSRT_OK && message->kind == GSRT_KIND_TOKENS)
        forget_flight(s);
    bool was_held = gsrt_scheduler_is_held(s->machine);
    if (status == GSRT_OK)
        status = act(self, s);
    if (!was_held && gsrt_scheduler_is_held(s->machine))
        s->facts->held_ns = gsrt_now_ns(self);
    if (status != GSRT_OK)
        gsrt_exit(self, GSRT_EXIT_CRASH);
}

static void stop(gsrt_actor *self, void *state, uint32_t reason)
{
    (void)self;
    (void)reason;
    scheduler_state *s = state;
    s->machine = gsrt_scheduler_free(s->machine);
    gsrt_buffer_fini(&s->record);
}

static const gsrt_behaviour scheduler_behaviour = {
    .name = "scheduler", .state_bytes = sizeof(scheduler_state), .init = init, .receive = receive, .stop = stop};

gsrt_status gsrt_scheduler_actor_start(gsrt_node *node, const gsrt_scheduler_actor_options *options, gsrt_address *out)
{
    gsrt_address address;
    gsrt_status status = gsrt_node_spawn(node, &scheduler_behaviour, options, &address);
    if (status != GSRT_OK)
        return status;
    *out = address;
    return gsrt_role_bind(node, gsrt_address_of_role(GSRT_ROLE_SCHEDULER, 0, 0), address);
}
