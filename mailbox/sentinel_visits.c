/* Visits of the sentinel: guests that come to its listener, and calls that it makes. */
#include "mailbox/sentinel_impl.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { GUEST_MS = 2000, GUEST_SAFE_MS = 100, REST_MS = 20 };

/* Have epoll tell when the visit can go on. */
static void rewatch(gsrt_sentinel *s, const gsrt_visit *visit, gsrt__sentinel_entry entry, uint32_t index)
{
    short events = gsrt_visit_events(visit);
    if (events != 0)
        (void)gsrt__sentinel_enter(s, visit->fd, events == POLLIN ? EPOLLIN : EPOLLOUT, entry, index);
}

/* Copy what an event lends out. */
static gsrt_span lend(gsrt_sentinel *s, gsrt_span bytes)
{
    gsrt_buffer_reset(&s->lent);
    return gsrt_buffer_append(&s->lent, bytes.data, bytes.len) == GSRT_OK ? gsrt_buffer_span(&s->lent) : (gsrt_span){0};
}

/* ---- the clock ---- */

static uint64_t call_due_ms(const gsrt__call *call)
{
    if (call->rest_until_ms != 0)
        return call->rest_until_ms;
    return call->visit.state == GSRT_VISIT_FAILED ? 1 : gsrt_visit_due_ms(&call->visit);
}

void gsrt__sentinel_set_timer(gsrt_sentinel *s)
{
    uint64_t due_ms = UINT64_MAX;
    for (uint32_t i = 0; i < GSRT_GUEST_COUNT_MAX && s->guest_count > 0; i++) {
        uint64_t due = gsrt_visit_due_ms(&s->guests[i]);
        due_ms = due < due_ms ? due : due_ms;
    }
    for (uint32_t i = 0; i < 2 * s->rank_count && s->call_count > 0; i++) {
        uint64_t due = s->calls[i] == NULL ? UINT64_MAX : call_due_ms(s->calls[i]);
        due_ms = due < due_ms ? due : due_ms;
    }
    if (due_ms == s->timer_ms)
        return;
    struct itimerspec at = {0};
    if (due_ms != UINT64_MAX)
        at.it_value = (struct timespec){.tv_sec = (time_t)(due_ms / 1000), .tv_nsec = (long)(due_ms % 1000) * 1000000};
    (void)timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &at, NULL);
    s->timer_ms = due_ms;
}

bool gsrt__sentinel_due(gsrt_sentinel *s, gsrt_sentinel_event *out)
{
    uint64_t now = gsrt_visit_now_ms();
    s->timer_ms = UINT64_MAX; /* it has rung: to be set again */
    for (uint32_t i = 0; i < GSRT_GUEST_COUNT_MAX; i++)
        if (gsrt_visit_due_ms(&s->guests[i]) <= now && gsrt__sentinel_guest(s, i, out))
            return true;
    for (uint32_t i = 0; i < 2 * s->rank_count; i++)
        if (s->calls[i] != NULL && call_due_ms(s->calls[i]) <= now && gsrt__sentinel_call_moved(s, i, out))
            return true;
    return false;
}

/* ---- guests ---- */

static void look_at_listener(gsrt_sentinel *s, bool is_full)
{
    if (s->is_full != is_full && s->listener >= 0)
        (void)gsrt__sentinel_enter(s, s->listener, is_full ? 0 : EPOLLIN, GSRT__ENTRY_LISTENER, 0);
    s->is_full = is_full;
}

static void guest_end(gsrt_sentinel *s, uint32_t index)
{
    gsrt_visit_fini(&s->guests[index]);
    s->guest_count--;
    look_at_listener(s, false);
}

/* A free seat; when there is none, that of the one who sits longest, unless it has just come. */
static uint32_t find_seat(gsrt_sentinel *s)
{
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < GSRT_GUEST_COUNT_MAX; i++) {
        if (s->guests[i].state == GSRT_VISIT_IDLE)
            return i;
        if (s->guest_since_ms[i] < s->guest_since_ms[oldest])
            oldest = i;
    }
    if (s->guest_since_ms[oldest] + GUEST_SAFE_MS > gsrt_visit_now_ms())
        return GSRT_GUEST_COUNT_MAX;
    s->refused++;
    guest_end(s, oldest);
    return oldest;
}

static gsrt_welcome judge(const gsrt_sentinel *s, const gsrt_note *hello)
{
    const gsrt__sentinel_peer *p = &s->peers[hello->from];
    if (hello->from == s->rank || hello->incarnation < p->known || (p->has_met && hello->incarnation <= p->met))
        return GSRT_WELCOME_STALE;
    return p->call != NULL && hello->from < s->rank ? GSRT_WELCOME_BUSY : GSRT_WELCOME_GOOD;
}

static bool answer(gsrt_sentinel *s, gsrt_visit *visit, const gsrt_note *note)
{
    gsrt_buffer_reset(&s->scratch);
    return gsrt_note_encode(note, &s->scratch) == GSRT_OK &&
           gsrt_visit_answer(visit, gsrt_buffer_span(&s->scratch)) == GSRT_OK;
}

/* The guest has proved itself, and spoken. true: *out is an event. */
static bool hear(gsrt_sentinel *s, uint32_t index, gsrt_sentinel_event *out)
{
    gsrt_visit *visit = &s->guests[index];
    gsrt_note note = {.word = &s->word};
    s->guest_welcome[index] = GSRT_WELCOME_STALE;
    if (gsrt_note_decode(gsrt_visit_note(visit), s->rank_count, &note) != GSRT_OK || note.to != s->rank ||
        (note.kind != GSRT_NOTE_HELLO && note.kind != GSRT_NOTE_WORD) ||
        (visit->is_timeless && note.kind != GSRT_NOTE_WORD)) {
        s->refused++;
        guest_end(s, index);
        return false;
    }
    gsrt_note reply = {.kind = GSRT_NOTE_HEARD, .from = s->rank, .to = note.from, .incarnation = s->incarnation};
    if (note.kind == GSRT_NOTE_WORD) {
        (void)answer(s, visit, &reply);
        *out = (gsrt_sentinel_event){.kind = GSRT_SENTINEL_WORD, .peer = note.word->rank, .word = note.word};
        return true;
    }
    reply.kind = GSRT_NOTE_WELCOME;
    reply.welcome = s->guest_welcome[index] = judge(s, &note);
    reply.card = reply.welcome == GSRT_WELCOME_GOOD ? s->card : (gsrt_span){0};
    s->refused += reply.welcome == GSRT_WELCOME_STALE;
    (void)answer(s, visit, &reply);
    return false;
}

/* The answer has left. A good hello stays as the connection of its rank. true: *out is an event. */
static bool settle(gsrt_sentinel *s, uint32_t index, gsrt_sentinel_event *out)
{
    gsrt_visit *visit = &s->guests[index];
    gsrt_note note = {0};
    bool is_good = s->guest_welcome[index] == GSRT_WELCOME_GOOD &&
                   gsrt_note_decode(gsrt_visit_note(visit), s->rank_count, &note) == GSRT_OK &&
                   note.kind == GSRT_NOTE_HELLO && judge(s, &note) == GSRT_WELCOME_GOOD &&
                   gsrt__sentinel_adopt(s, note.from, note.incarnation, gsrt_visit_take(visit));
    if (is_good)
        *out = (gsrt_sentinel_event){
            .kind = GSRT_SENTINEL_MET, .peer = note.from, .incarnation = note.incarnation, .card = lend(s, note.card)};
    guest_end(s, index);
    return is_good;
}

bool gsrt__sentinel_guest(gsrt_sentinel *s, uint32_t index, gsrt_sentinel_event *out)
{
    gsrt_visit *visit = &s->guests[index];
    if (visit->state == GSRT_VISIT_IDLE)
        return false;
    if (gsrt_visit_move(visit) == GSRT_VISIT_HEARD && hear(s, index, out)) {
        rewatch(s, visit, GSRT__ENTRY_GUEST, index);
        if (visit->state == GSRT_VISIT_DONE || visit->state == GSRT_VISIT_FAILED)
            guest_end(s, index);
        return true;
    }
    if (visit->state == GSRT_VISIT_DONE)
        return settle(s, index, out);
    if (visit->state == GSRT_VISIT_FAILED) {
        s->refused++;
        guest_end(s, index);
        return false;
    }
    rewatch(s, visit, GSRT__ENTRY_GUEST, index);
    return false;
}

bool gsrt__sentinel_accept(gsrt_sentinel *s, gsrt_sentinel_event *out)
{
    uint32_t index = find_seat(s);
    if (index == GSRT_GUEST_COUNT_MAX) {
        look_at_listener(s, true);
        return false;
    }
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return false;
    uint64_t now = gsrt_visit_now_ms();
    if (gsrt_visit_receive(&s->guests[index], fd, &s->secret, now + GUEST_MS) != GSRT_OK)
        return false;
    s->guest_since_ms[index] = now;
    s->guest_count++;
    return gsrt__sentinel_guest(s, index, out); /* its hello may be there already */
}

/* ---- calls ---- */

void gsrt__sentinel_end_call(gsrt_sentinel *s, gsrt__call *call)
{
    s->calls[call->index] = NULL;
    s->call_count--;
    if (call->is_join) {
        s->join_count--;
        s->peers[call->peer].call = NULL;
    }
    gsrt_visit_fini(&call->visit);
    free(call);
}

static gsrt_status call_create(gsrt_sentinel *s, uint32_t peer, uint64_t deadline_ms, gsrt__call **out)
{
    uint32_t index = 0;
    while (index < 2 * s->rank_count && s->calls[index] != NULL)
        index++;
    if (index == 2 * s->rank_count)
        return GSRT_EFULL;
    gsrt__call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return GSRT_ENOMEM;
    *call = (gsrt__call){.index = index, .peer = peer, .deadline_ms = deadline_ms};
    s->calls[index] = call;
    s->call_count++;
    *out = call;
    return GSRT_OK;
}

static gsrt_status call_start(gsrt_sentinel *s, gsrt__call *call, uint16_t port, gsrt_span note)
{
    gsrt_route route = gsrt_place_route(&s->place, &s->peers[call->peer].place, port);
    gsrt_status status = gsrt_visit_call(&call->visit, &route, &s->secret, note, false, call->deadline_ms);
    if (status == GSRT_OK)
        rewatch(s, &call->visit, GSRT__ENTRY_CALL, call->index);
    return status;
}

static gsrt_status say_hello(gsrt_sentinel *s, gsrt__call *call)
{
    gsrt_note hello = {
        .kind = GSRT_NOTE_HELLO, .from = s->rank, .to = call->peer, .incarnation = s->incarnation, .card = s->card};
    call->rest_until_ms = 0;
    gsrt_buffer_reset(&s->scratch);
    gsrt_status status = gsrt_note_encode(&hello, &s->scratch);
    if (status == GSRT_OK)
        status = call_start(s, call, s->peers[call->peer].place.port, gsrt_buffer_span(&s->scratch));
    return status;
}

gsrt_status gsrt__sentinel_begin_join(gsrt_sentinel *s, uint32_t peer, uint64_t deadline_ms)
{
    gsrt__call *call;
    gsrt_status status = call_create(s, peer, deadline_ms, &call);
    if (status != GSRT_OK)
        return status;
    call->is_join = true;
    s->join_count++;
    s->peers[peer].call = call;
    status = say_hello(s, call);
    if (status != GSRT_OK)
        gsrt__sentinel_end_call(s, call);
    return status;
}

gsrt_status gsrt_sentinel_call(gsrt_sentinel *sentinel, uint32_t peer, uint16_t port, gsrt_span note,
                               uint32_t timeout_ms, uint32_t tag)
{
    gsrt__call *call;
    gsrt_status status = call_create(sentinel, peer, gsrt_visit_now_ms() + timeout_ms, &call);
    if (status != GSRT_OK)
        return status;
    call->tag = tag;
    status = call_start(sentinel, call, port, note);
    if (status != GSRT_OK)
        gsrt__sentinel_end_call(sentinel, call);
    gsrt__sentinel_set_timer(sentinel);
    return status;
}

/* The one that was called has answered a hello. true: *out is an event. */
static bool take_welcome(gsrt_sentinel *s, gsrt__call *call, gsrt_sentinel_event *out)
{
    uint32_t peer = call->peer;
    gsrt_note note = {0};
    const gsrt__sentinel_peer *p = &s->peers[peer];
    bool is_sound = gsrt_note_decode(gsrt_visit_note(&call->visit), s->rank_count, &note) == GSRT_OK &&
                    note.kind == GSRT_NOTE_WELCOME && note.from == peer && note.to == s->rank;
    if (is_sound && note.welcome == GSRT_WELCOME_BUSY) { /* it will call; or its call fails, and ours is tried again */
        gsrt_visit_fini(&call->visit);
        call->rest_until_ms = gsrt_visit_now_ms() + REST_MS;
        return false;
    }
    *out = (gsrt_sentinel_event){.kind = GSRT_SENTINEL_UNREACHABLE, .peer = peer};
    if (is_sound && note.welcome == GSRT_WELCOME_STALE)
        out->kind = GSRT_SENTINEL_REFUSED;
    bool is_new = is_sound && note.welcome == GSRT_WELCOME_GOOD && note.incarnation >= p->known &&
                  (!p->has_met || note.incarnation > p->met);
    if (is_new && gsrt__sentinel_adopt(s, peer, note.incarnation, gsrt_visit_take(&call->visit)))
        *out = (gsrt_sentinel_event){
            .kind = GSRT_SENTINEL_MET, .peer = peer, .incarnation = note.incarnation, .card = lend(s, note.card)};
    gsrt__sentinel_end_call(s, call);
    return true;
}

static bool call_failed(gsrt_sentinel *s, gsrt__call *call, gsrt_sentinel_event *out)
{
    *out = (gsrt_sentinel_event){
        .kind = call->is_join ? GSRT_SENTINEL_UNREACHABLE : GSRT_SENTINEL_SILENT, .peer = call->peer, .tag = call->tag};
    gsrt__sentinel_end_call(s, call);
    return true;
}

bool gsrt__sentinel_call_moved(gsrt_sentinel *s, uint32_t index, gsrt_sentinel_event *out)
{
    gsrt__call *call = s->calls[index];
    if (call == NULL)
        return false;
    if (call->rest_until_ms != 0) {
        uint64_t now = gsrt_visit_now_ms();
        if (now < call->rest_until_ms)
            return false;
        if (now >= call->deadline_ms || say_hello(s, call) != GSRT_OK)
            return call_failed(s, call, out);
    }
    gsrt_visit_state state = gsrt_visit_move(&call->visit);
    if (state == GSRT_VISIT_FAILED)
        return call_failed(s, call, out);
    if (state != GSRT_VISIT_DONE) {
        rewatch(s, &call->visit, GSRT__ENTRY_CALL, index);
        return false;
    }
    if (call->is_join)
        return take_welcome(s, call, out);
    *out = (gsrt_sentinel_event){.kind = GSRT_SENTINEL_ANSWERED,
                                 .peer = call->peer,
                                 .tag = call->tag,
                                 .note = lend(s, gsrt_visit_note(&call->visit))};
    gsrt__sentinel_end_call(s, call);
    return true;
}
