#include "launch/replay_machines.h"

#include "actors/supervisor_machine.h"
#include "base/msgpack.h"
#include "health/healer.h"
#include "health/membership.h"
#include "mailbox/codec.h"
#include "placement/scheduler_codec.h"

#include <stdlib.h>

/* ---- membership ---- */

static gsrt_status create_membership(gsrt_span bytes, void **out)
{
    uint32_t first[GSRT_RANK_COUNT_MAX];
    gsrt_membership_options options;
    gsrt_membership *machine;
    gsrt_status status = gsrt_membership_options_decode(bytes, first, &options);
    if (status == GSRT_OK)
        status = gsrt_membership_create(&options, &machine);
    if (status == GSRT_OK)
        *out = machine;
    return status;
}

static void destroy_membership(void *machine)
{
    gsrt_membership_free(machine);
}

static gsrt_status step_membership(void *machine, gsrt_span bytes)
{
    gsrt_membership_event event;
    gsrt_status status = gsrt_membership_event_decode(bytes, &event);
    return status == GSRT_OK ? gsrt_membership_step(machine, &event) : status;
}

static gsrt_status draw_membership(void *machine, gsrt_buffer *out)
{
    gsrt_membership_action action;
    return gsrt_membership_poll(machine, &action) ? gsrt_membership_action_encode(&action, out) : GSRT_EEMPTY;
}

static const char *name_membership(gsrt_span bytes)
{
    gsrt_membership_action action;
    gsrt_status status = gsrt_membership_action_decode(bytes, &action);
    return status == GSRT_OK ? gsrt_membership_action_name(action.kind) : NULL;
}

/* ---- scheduler ---- */

typedef struct scheduler {
    gsrt_scheduler *machine;
    gsrt_buffer scratch; /* of the event being decoded */
} scheduler;

static void destroy_scheduler(void *machine)
{
    scheduler *s = machine;
    gsrt_scheduler_free(s->machine);
    gsrt_buffer_fini(&s->scratch);
    free(s);
}

static gsrt_status create_scheduler(gsrt_span bytes, void **out)
{
    uint32_t stops[GSRT_SCHEDULER_STOPS_MAX];
    gsrt_scheduler_options options;
    gsrt_status status = gsrt_scheduler_options_decode(bytes, stops, &options);
    scheduler *s = status == GSRT_OK ? calloc(1, sizeof *s) : NULL;
    if (s == NULL)
        return status == GSRT_OK ? GSRT_ENOMEM : status;
    gsrt_buffer_init(&s->scratch, GSRT_BODY_FLAT_BYTES_MAX);
    status = gsrt_scheduler_create(&options, &s->machine);
    if (status == GSRT_OK)
        *out = s;
    else
        destroy_scheduler(s);
    return status;
}

static gsrt_status step_scheduler(void *machine, gsrt_span bytes)
{
    scheduler *s = machine;
    gsrt_kind kind;
    const void *body;
    gsrt_status status = gsrt_scheduler_record_decode(bytes, &s->scratch, &kind, &body);
    if (status != GSRT_OK)
        return status == GSRT_ENOMEM ? status : GSRT_EDECODE;
    return gsrt_scheduler_is_event(kind) ? gsrt_scheduler_step(s->machine, kind, body) : GSRT_EDECODE;
}

static gsrt_status draw_scheduler(void *machine, gsrt_buffer *out)
{
    gsrt_scheduler_action action;
    if (!gsrt_scheduler_poll(((scheduler *)machine)->machine, &action))
        return GSRT_EEMPTY;
    return gsrt_scheduler_action_encode(&action, out);
}

static const char *name_scheduler(gsrt_span bytes)
{
    gsrt_kind kind;
    return gsrt_scheduler_record_kind(bytes, &kind) == GSRT_OK ? gsrt_kind_name(kind) : NULL;
}

/* ---- supervisor ---- */

typedef struct supervisor {
    gsrt_supervisor_machine machine;
    gsrt_supervisor_action action;
    bool is_drawn; /* one event, one action */
} supervisor;

static gsrt_status create_supervisor(gsrt_span bytes, void **out)
{
    gsrt_supervisor_plan plan;
    gsrt_status status = gsrt_supervisor_plan_decode(bytes, &plan);
    supervisor *s = status == GSRT_OK ? calloc(1, sizeof *s) : NULL;
    if (s == NULL)
        return status == GSRT_OK ? GSRT_ENOMEM : status;
    s->is_drawn = true;
    status = gsrt_supervisor_machine_init(&s->machine, &plan);
    if (status == GSRT_OK)
        *out = s;
    else
        free(s);
    return status;
}

static gsrt_status step_supervisor(void *machine, gsrt_span bytes)
{
    supervisor *s = machine;
    gsrt_supervisor_event event;
    gsrt_status status = gsrt_supervisor_event_decode(bytes, &event);
    if (status != GSRT_OK)
        return status;
    s->action = gsrt_supervisor_machine_step(&s->machine, &event);
    s->is_drawn = false;
    return GSRT_OK;
}

static gsrt_status draw_supervisor(void *machine, gsrt_buffer *out)
{
    supervisor *s = machine;
    if (s->is_drawn)
        return GSRT_EEMPTY;
    s->is_drawn = true;
    return gsrt_supervisor_action_encode(&s->action, out);
}

static const char *name_supervisor(gsrt_span bytes)
{
    static const char *const names[] = {"wait", "start", "restart", "stop", "leave"};
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, bytes);
    (void)gsrt_unpack_array(&unpack, UINT8_MAX);
    uint64_t kind = gsrt_unpack_uint(&unpack, sizeof names / sizeof names[0] - 1);
    return gsrt_unpack_is_ok(&unpack) ? names[kind] : NULL;
}

/* ---- healer ---- */

typedef struct healer {
    gsrt_plan *full;
    uint32_t rank_count;
    gsrt_heal_answer answer;
    bool is_drawn; /* one question, one answer, or none */
} healer;

static void destroy_healer(void *machine)
{
    healer *h = machine;
    gsrt_plan_free(h->full);
    free(h);
}

static gsrt_status create_healer(gsrt_span bytes, void **out)
{
    healer *h = calloc(1, sizeof *h);
    if (h == NULL)
        return GSRT_ENOMEM;
    h->is_drawn = true;
    gsrt_status status = gsrt_heal_options_decode(bytes, &h->full, &h->rank_count);
    if (status == GSRT_OK)
        *out = h;
    else
        destroy_healer(h);
    return status;
}

static gsrt_status step_healer(void *machine, gsrt_span bytes)
{
    healer *h = machine;
    bool is_there[GSRT_RANK_COUNT_MAX];
    gsrt_heal_question question;
    gsrt_status status = gsrt_heal_question_decode(bytes, h->rank_count, is_there, &question);
    if (status != GSRT_OK)
        return status;
    question.full = h->full;
    status = gsrt_heal(&question, &h->answer);
    h->is_drawn = status != GSRT_OK;
    return status == GSRT_ENOMEM ? status : GSRT_OK;
}

static gsrt_status draw_healer(void *machine, gsrt_buffer *out)
{
    healer *h = machine;
    if (h->is_drawn)
        return GSRT_EEMPTY;
    h->is_drawn = true;
    return gsrt_heal_answer_encode(&h->answer, out);
}

static const char *name_healer(gsrt_span bytes)
{
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, bytes);
    (void)gsrt_unpack_array(&unpack, UINT8_MAX);
    uint64_t method = gsrt_unpack_uint(&unpack, GSRT_HEAL_METHOD_COUNT - 1);
    return gsrt_unpack_is_ok(&unpack) ? gsrt_incident_method_name((gsrt_incident_method)method) : NULL;
}

const gsrt_replay_kind gsrt_replay_machines[GSRT_REPLAY_MACHINE_COUNT] = {
    {"membership", create_membership, destroy_membership, step_membership, draw_membership, name_membership},
    {"scheduler", create_scheduler, destroy_scheduler, step_scheduler, draw_scheduler, name_scheduler},
    {"supervisor", create_supervisor, free, step_supervisor, draw_supervisor, name_supervisor},
    {"healer", create_healer, destroy_healer, step_healer, draw_healer, name_healer},
};
