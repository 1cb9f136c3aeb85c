#include "placement/scheduler_actor.h"

#include "actors/courier.h"
#include "mailbox/codec.h"

#include <stdlib.h>

typedef struct scheduler_state {
    gsrt_scheduler *machine;
    const gsrt_plan *plan;
    gsrt_scheduler_facts *facts;
    uint32_t flight_rows[GSRT_STAGE_COUNT_MAX]; /* of the steps in flight: a ring, as the machine's */
    uint32_t flight_first, flight_count;
    uint8_t *record; /* [GSRT_BODY_BYTES_MAX] room to encode what is recorded */
} scheduler_state;

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    (void)self;
    scheduler_state *s = state;
    const gsrt_scheduler_actor_options *options = arg;
    s->plan = options->plan;
    s->facts = options->facts;
    s->facts->rows_in_flight = 0;
    s->record = malloc(GSRT_BODY_BYTES_MAX);
    gsrt_status status = s->record == NULL ? GSRT_ENOMEM : gsrt_scheduler_create(&options->machine, &s->machine);
    if (status != GSRT_OK)
        free(s->record);
    return status;
}

static void note(gsrt_actor *self, scheduler_state *s, gsrt_kind kind, const void *body, bool is_event)
{
    size_t len;
    if (gsrt_body_encode(kind, body, s->record, GSRT_BODY_BYTES_MAX, &len) != GSRT_OK)
        return;
    if (is_event)
        gsrt_record_event(self, gsrt_kind_name(kind), gsrt_span_of(s->record, len));
    else
        gsrt_record_action(self, gsrt_kind_name(kind), gsrt_span_of(s->record, len));
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
    gsrt_status status = GSRT_OK;
    for (uint32_t stage = 0; stage < s->plan->stage_count && status == GSRT_OK; stage++) {
        for (uint32_t member = 0; member < s->plan->stages[stage].member_count && status == GSRT_OK; member++)
            status = gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REGION, stage, member), GSRT_KIND_STEP,
                                       step, NULL);
    }
    return status;
}

static void act(gsrt_actor *self, scheduler_state *s)
{
    const gsrt_address gateway = gsrt_address_of_role(GSRT_ROLE_GATEWAY, 0, 0);
    gsrt_scheduler_action action;
    gsrt_status status = GSRT_OK;
    while (status == GSRT_OK && gsrt_scheduler_poll(s->machine, &action)) {
        if (action.kind == GSRT_KIND_STEP) {
            note(self, s, GSRT_KIND_STEP, &action.step, false);
            status = send_step(self, s, &action.step);
        } else if (action.kind == GSRT_KIND_TOKEN) {
            note(self, s, GSRT_KIND_TOKEN, &action.token, false);
            status = gsrt_courier_send(self, gateway, GSRT_KIND_TOKEN, &action.token, NULL);
        } else {
            s->facts->prefix_tokens += action.finished.prefix_tokens;
            note(self, s, GSRT_KIND_FINISHED, &action.finished, false);
            status = gsrt_courier_send(self, gateway, GSRT_KIND_FINISHED, &action.finished, NULL);
        }
    }
    if (status != GSRT_OK)
        gsrt_exit(self, GSRT_EXIT_CRASH);
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
    gsrt_status status = GSRT_EKIND;
    if (message->kind == GSRT_KIND_SUBMIT) {
        note(self, s, GSRT_KIND_SUBMIT, message->body, true);
        status = gsrt_scheduler_submit(s->machine, message->body);
    } else if (message->kind == GSRT_KIND_TOKENS) {
        note(self, s, GSRT_KIND_TOKENS, message->body, true);
        status = gsrt_scheduler_tokens(s->machine, message->body);
        if (status == GSRT_OK)
            forget_flight(s);
    }
    if (status == GSRT_OK)
        act(self, s);
    else if (status != GSRT_EKIND)
        gsrt_exit(self, GSRT_EXIT_CRASH);
}

static void stop(gsrt_actor *self, void *state, uint32_t reason)
{
    (void)self;
    (void)reason;
    scheduler_state *s = state;
    s->machine = gsrt_scheduler_free(s->machine);
    free(s->record);
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
