/* The connections that stay: who is there, who has gone. How they come about: sentinel_visits.c. */
#include "mailbox/sentinel_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { LEAVING = 'L', JOINED = 'J', EVENTS_PER_LOOK = 16 };

bool gsrt__sentinel_enter(gsrt_sentinel *s, int fd, uint32_t events, gsrt__sentinel_entry entry, uint32_t index)
{
    struct epoll_event event = {.events = events, .data.u64 = (uint64_t)entry << 32 | index};
    /* a closed descriptor's number may have come back: so not by remembering what was entered */
    return epoll_ctl(s->epoll, EPOLL_CTL_MOD, fd, &event) == 0 ||
           (errno == ENOENT && epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) == 0);
}

/* ---- opening and closing ---- */

static bool open_descriptors(gsrt_sentinel *s, int listener)
{
    uint16_t port;
    s->listener = listener;
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (listener < 0 ? gsrt_place_listen(&s->listener, &port) != GSRT_OK
                     : gsrt_place_port_of(listener, &port) != GSRT_OK || fcntl(listener, F_SETFL, O_NONBLOCK) != 0)
        return false;
    gsrt_place_find(&s->place);
    s->place.port = port;
    return s->epoll >= 0 && s->timer >= 0 && gsrt__sentinel_enter(s, s->timer, EPOLLIN, GSRT__ENTRY_TIMER, 0);
}

gsrt_status gsrt_sentinel_create(uint32_t rank, uint32_t rank_count, int listener, gsrt_sentinel **out, gsrt_diag *diag)
{
    gsrt_sentinel *s = calloc(1, sizeof *s);
    if (s == NULL)
        return GSRT_ENOMEM;
    s->rank = rank;
    s->rank_count = rank_count;
    s->listener = s->epoll = s->timer = -1;
    s->peers = calloc(rank_count, sizeof *s->peers);
    s->calls = calloc(2 * (size_t)rank_count, sizeof(gsrt__call *));
    gsrt_buffer_init(&s->scratch, GSRT_NOTE_BYTES_MAX);
    gsrt_buffer_init(&s->lent, GSRT_NOTE_BYTES_MAX);
    s->timer_ms = UINT64_MAX;
    for (uint32_t i = 0; i < rank_count && s->peers != NULL; i++)
        s->peers[i].fd = -1;
    bool has_memory = s->peers != NULL && s->calls != NULL;
    gsrt_status status = has_memory ? GSRT_OK : GSRT_ENOMEM;
    if (has_memory && !open_descriptors(s, listener))
        status = gsrt_diag_set(diag, GSRT_EIO, NULL, NULL, "cannot listen on a TCP port: %s", strerror(errno));
    if (status != GSRT_OK)
        s = gsrt_sentinel_free(s);
    else
        *out = s;
    return status;
}

gsrt_sentinel *gsrt_sentinel_free(gsrt_sentinel *sentinel)
{
    if (sentinel == NULL)
        return NULL;
    for (uint32_t peer = 0; peer < sentinel->rank_count && sentinel->peers != NULL; peer++)
        gsrt_sentinel_drop(sentinel, peer);
    for (uint32_t i = 0; i < GSRT_GUEST_COUNT_MAX; i++)
        gsrt_visit_fini(&sentinel->guests[i]);
    for (uint32_t i = 0; i < 2 * sentinel->rank_count && sentinel->calls != NULL; i++)
        if (sentinel->calls[i] != NULL)
            gsrt__sentinel_end_call(sentinel, sentinel->calls[i]);
    const int fds[] = {sentinel->listener, sentinel->timer, sentinel->epoll};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    gsrt_buffer_fini(&sentinel->scratch);
    gsrt_buffer_fini(&sentinel->lent);
    free(sentinel->peers);
    free(sentinel->calls);
    free(sentinel);
    return NULL;
}

const gsrt_place *gsrt_sentinel_place(const gsrt_sentinel *sentinel)
{
    return &sentinel->place;
}

void gsrt_sentinel_introduce(gsrt_sentinel *sentinel, uint32_t incarnation, gsrt_span card, const gsrt_secret *secret)
{
    sentinel->incarnation = incarnation;
    sentinel->card = card;
    sentinel->secret = *secret;
}

void gsrt_sentinel_expect(gsrt_sentinel *sentinel, uint32_t peer, uint32_t incarnation, const gsrt_place *place)
{
    sentinel->peers[peer].known = incarnation;
    sentinel->peers[peer].place = *place;
}

/* ---- the first connection of all ---- */

static gsrt_status name_missing(const gsrt_sentinel *s, uint32_t timeout_ms, gsrt_diag *diag)
{
    char text[32];
    for (uint32_t peer = 0; peer < s->rank_count; peer++) {
        if (peer == s->rank || (s->peers[peer].fd >= 0 && !s->peers[peer].is_unconfirmed))
            continue;
        (void)snprintf(text, sizeof text, "rank %u", peer);
        return gsrt_diag_set(diag, GSRT_ETIMEDOUT, NULL, text, "has not connected to rank %u within %u ms", s->rank,
                             timeout_ms);
    }
    return GSRT_OK;
}

static gsrt_status name_unreachable(const gsrt_sentinel *s, uint32_t peer, gsrt_diag *diag)
{
    char text[32];
    (void)snprintf(text, sizeof text, "rank %u", peer);
    return gsrt_diag_set(diag, GSRT_ELINK, NULL, text,
                         "cannot be reached over TCP from rank %u (host %s, port %u); is there a firewall between the "
                         "hosts",
                         s->rank, s->peers[peer].place.host, s->peers[peer].place.port);
}

gsrt_status gsrt_sentinel_connect(gsrt_sentinel *sentinel, uint32_t timeout_ms, gsrt_diag *diag)
{
    uint64_t deadline_ms = gsrt_visit_now_ms() + timeout_ms;
    uint32_t joined = 0;
    gsrt_status status = GSRT_OK;
    (void)gsrt__sentinel_enter(sentinel, sentinel->listener, EPOLLIN, GSRT__ENTRY_LISTENER, 0);
    for (uint32_t peer = 0; peer < sentinel->rank && status == GSRT_OK; peer++)
        status = gsrt__sentinel_begin_join(sentinel, peer, deadline_ms);
    gsrt__sentinel_set_timer(sentinel);
    while (status == GSRT_OK && joined + 1 < sentinel->rank_count) {
        gsrt_sentinel_event event;
        uint64_t now = gsrt_visit_now_ms();
        if (gsrt_sentinel_poll(sentinel, &event)) {
            joined += event.kind == GSRT_SENTINEL_JOINED;
            if (event.kind == GSRT_SENTINEL_UNREACHABLE || event.kind == GSRT_SENTINEL_REFUSED ||
                event.kind == GSRT_SENTINEL_GONE)
                status = name_unreachable(sentinel, event.peer, diag);
        } else if (now >= deadline_ms) {
            status = name_missing(sentinel, timeout_ms, diag);
        } else {
            struct pollfd one = {.fd = sentinel->epoll, .events = POLLIN};
            (void)poll(&one, 1, (int)(deadline_ms - now));
        }
    }
    return status;
}

gsrt_status gsrt_sentinel_join(gsrt_sentinel *sentinel, uint32_t timeout_ms)
{
    uint64_t deadline_ms = gsrt_visit_now_ms() + timeout_ms;
    gsrt_status status = GSRT_OK;
    (void)gsrt__sentinel_enter(sentinel, sentinel->listener, EPOLLIN, GSRT__ENTRY_LISTENER, 0);
    for (uint32_t peer = 0; peer < sentinel->rank_count && status == GSRT_OK; peer++)
        if (peer != sentinel->rank)
            status = gsrt__sentinel_begin_join(sentinel, peer, deadline_ms);
    gsrt__sentinel_set_timer(sentinel);
    return status;
}

/* ---- watching ---- */

int gsrt_sentinel_fd(const gsrt_sentinel *sentinel)
{
    return sentinel->epoll;
}

gsrt_status gsrt_sentinel_watch(gsrt_sentinel *sentinel, int fd, uint32_t tag, bool is_writing)
{
    uint32_t events = is_writing ? EPOLLIN | EPOLLOUT : EPOLLIN;
    return gsrt__sentinel_enter(sentinel, fd, events, GSRT__ENTRY_WATCHED, tag) ? GSRT_OK : GSRT_EIO;
}

static void set_join_due(gsrt_sentinel *s, gsrt__sentinel_peer *peer, bool is_due)
{
    s->join_due_count += (uint32_t)is_due - (uint32_t)peer->is_join_due;
    peer->is_join_due = is_due;
}

bool gsrt__sentinel_adopt(gsrt_sentinel *s, uint32_t peer, uint32_t incarnation, int fd)
{
    gsrt__sentinel_peer *p = &s->peers[peer];
    uint8_t word = JOINED;
    bool is_caller = p->call != NULL && p->call->visit.state == GSRT_VISIT_DONE;
    gsrt_sentinel_drop(s, peer);
    if (p->call != NULL && !is_caller)
        gsrt__sentinel_end_call(s, p->call); /* its call was the one that wins */
    if (!gsrt__sentinel_enter(s, fd, EPOLLIN | EPOLLRDHUP, GSRT__ENTRY_PEER, peer) ||
        (is_caller && send(fd, &word, 1, MSG_NOSIGNAL) != 1)) {
        close(fd);
        return false;
    }
    p->fd = fd;
    p->is_leaving = false;
    p->is_unconfirmed = !is_caller;
    p->has_met = true;
    p->met = p->known = incarnation;
    s->peer_count++;
    set_join_due(s, p, is_caller);
    return true;
}

void gsrt_sentinel_confirm(gsrt_sentinel *sentinel, uint32_t peer)
{
    sentinel->peers[peer].is_unconfirmed = false;
    set_join_due(sentinel, &sentinel->peers[peer], false);
}

/* What came on the connection of `peer`. true: it is gone. */
static bool is_gone(gsrt_sentinel *s, uint32_t peer)
{
    gsrt__sentinel_peer *p = &s->peers[peer];
    uint8_t said[16];
    for (;;) {
        ssize_t n = recv(p->fd, said, sizeof said, 0);
        for (ssize_t i = 0; i < n; i++) {
            p->is_leaving = p->is_leaving || said[i] == LEAVING;
            if (said[i] == JOINED && p->is_unconfirmed) {
                p->is_unconfirmed = false;
                set_join_due(s, p, true);
            }
        }
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return true;
        if (n < 0 && errno == EAGAIN)
            return p->is_leaving; /* its word is enough */
    }
}

static bool tell_joined(gsrt_sentinel *s, gsrt_sentinel_event *out)
{
    for (uint32_t peer = 0; peer < s->rank_count && s->join_due_count > 0; peer++)
        if (s->peers[peer].is_join_due) {
            set_join_due(s, &s->peers[peer], false);
            *out = (gsrt_sentinel_event){.kind = GSRT_SENTINEL_JOINED, .peer = peer, .incarnation = s->peers[peer].met};
            return true;
        }
    return false;
}

static bool look_at_peer(gsrt_sentinel *s, uint32_t peer, gsrt_sentinel_event *out)
{
    if (peer >= s->rank_count || s->peers[peer].fd < 0 || !is_gone(s, peer))
        return false;
    if (tell_joined(s, out)) /* it joined, and went at once: that comes with the next look */
        return true;
    *out = (gsrt_sentinel_event){.kind = GSRT_SENTINEL_GONE, .peer = peer, .is_leaving = s->peers[peer].is_leaving};
    gsrt_sentinel_drop(s, peer);
    return true;
}

static bool look_at(gsrt_sentinel *s, uint64_t data, gsrt_sentinel_event *out)
{
    uint32_t index = (uint32_t)data;
    uint64_t count;
    switch ((gsrt__sentinel_entry)(data >> 32)) {
    case GSRT__ENTRY_PEER: return look_at_peer(s, index, out);
    case GSRT__ENTRY_GUEST: return gsrt__sentinel_guest(s, index, out);
    case GSRT__ENTRY_CALL: return gsrt__sentinel_call_moved(s, index, out);
    case GSRT__ENTRY_LISTENER: return gsrt__sentinel_accept(s, out);
    case GSRT__ENTRY_TIMER:
        if (read(s->timer, &count, sizeof count) < 0)
            return false; /* set anew in between */
        return gsrt__sentinel_due(s, out);
    case GSRT__ENTRY_WATCHED:
        *out = (gsrt_sentinel_event){.kind = GSRT_SENTINEL_READY, .tag = index};
        return index != UINT32_MAX;
    }
    return false;
}

bool gsrt_sentinel_poll(gsrt_sentinel *sentinel, gsrt_sentinel_event *out)
{
    struct epoll_event events[EVENTS_PER_LOOK];
    if (sentinel->join_due_count > 0 && tell_joined(sentinel, out))
        return true;
    bool has_event = false;
    int n = epoll_wait(sentinel->epoll, events, EVENTS_PER_LOOK, 0);
    for (int i = 0; i < n && !has_event; i++)
        has_event = look_at(sentinel, events[i].data.u64, out);
    if (!has_event && sentinel->join_due_count > 0)
        has_event = tell_joined(sentinel, out);
    if (n > 0)
        gsrt__sentinel_set_timer(sentinel);
    return has_event;
}

/* ---- ending ---- */

void gsrt_sentinel_drop(gsrt_sentinel *sentinel, uint32_t peer)
{
    if (peer >= sentinel->rank_count || sentinel->peers[peer].fd < 0)
        return;
    gsrt__sentinel_peer *p = &sentinel->peers[peer];
    close(p->fd); /* leaves the epoll set by itself */
    p->fd = -1;
    set_join_due(sentinel, p, false);
    sentinel->peer_count--;
}

void gsrt_sentinel_leave(gsrt_sentinel *sentinel)
{
    uint8_t word = LEAVING;
    for (uint32_t peer = 0; peer < sentinel->rank_count; peer++)
        if (sentinel->peers[peer].fd >= 0)
            (void)send(sentinel->peers[peer].fd, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sentinel->listener < 0)
        return;
    /* not by closing alone: the keeper has it too, and the set would keep it */
    (void)epoll_ctl(sentinel->epoll, EPOLL_CTL_DEL, sentinel->listener, NULL);
    close(sentinel->listener);
    sentinel->listener = -1;
}

uint32_t gsrt_sentinel_peer_count(const gsrt_sentinel *sentinel)
{
    return sentinel->peer_count;
}

uint32_t gsrt_sentinel_join_count(const gsrt_sentinel *sentinel)
{
    return sentinel->join_count;
}

uint64_t gsrt_sentinel_refused_count(const gsrt_sentinel *sentinel)
{
    return sentinel->refused;
}
