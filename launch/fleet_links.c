/* Rank 0 plays ball with one rank after the other: 64 bytes to and fro for the latency, then some MiB there and an
 * empty message back for the bandwidth. Whoever is played with throws back what it gets, the large ones empty. */
#include "launch/fleet_links.h"

#include "launch/wireup.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PASSES = 9, BALL_BYTES = 64, BALLS_A_PASS = 200, LOAD_BYTES = 4 << 20, WAIT_MS = 30000, SPIN_MS = 5 };

typedef struct player {
    gsrt_wireup wireup;
    bool is_yielding; /* more ranks than processing units */
    uint64_t received_count;
    uint32_t received_peer;
    gsrt_payload *received; /* owned; what is to be thrown back */
    bool is_over;
    gsrt_status broken; /* whoever is needed is lost */
} player;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void on_receive(void *arg, uint32_t peer, const gsrt_envelope *envelope)
{
    player *p = arg;
    if (envelope->kind == GSRT_KIND_STOP) {
        p->is_over = true;
        return;
    }
    p->received_count++;
    p->received_peer = peer;
    (void)gsrt_payload_unref(p->received);
    p->received = gsrt_payload_ref(envelope->payload);
}

static void on_writable(void *arg, uint32_t peer)
{
    (void)arg, (void)peer;
}

/* The others only need rank 0; rank 0 needs everybody until it has said that it is over. */
static void on_down(void *arg, uint32_t peer, gsrt_status why)
{
    player *p = arg;
    (void)why;
    if (!p->is_over && (peer == 0 || p->wireup.rank == 0))
        p->broken = GSRT_EPEER;
}

static gsrt_status throw_to(player *p, uint32_t peer, gsrt_kind kind, gsrt_payload *payload)
{
    static const uint8_t body[] = {0x91, 0}; /* one number */
    gsrt_envelope envelope = {
        .kind = kind, .sequence = p->received_count + 1, .body = gsrt_span_of(body, sizeof body), .payload = payload};
    return p->wireup.transport->ops->post(p->wireup.transport, peer, &envelope);
}

/* Until something more has come, or all is over. Spins at first, then blocks; is_turn: an answer is due, and late after
 * WAIT_MS. Else others play first, for as long as that takes: whoever is lost is told by the transport. */
static gsrt_status await(player *p, uint64_t seen_count, bool is_turn)
{
    gsrt_transport *t = p->wireup.transport;
    uint64_t start_ns = now_ns();
    while (p->received_count == seen_count && !p->is_over && p->broken == GSRT_OK) {
        int fd;
        uint64_t waited_ms = (now_ns() - start_ns) / 1000000;
        if (is_turn && waited_ms > WAIT_MS)
            return GSRT_ETIMEDOUT;
        if (t->ops->progress(t) > 0)
            continue;
        if (p->is_yielding)
            (void)sched_yield();
        if (waited_ms >= SPIN_MS && t->ops->arm(t, &fd) == GSRT_OK)
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, WAIT_MS);
    }
    return p->broken;
}

static gsrt_status be_played_with(player *p)
{
    gsrt_status status = GSRT_OK;
    for (uint64_t seen = 0; status == GSRT_OK; seen = p->received_count) {
        status = await(p, seen, false);
        if (p->is_over || status != GSRT_OK)
            return status;
        bool is_ball = p->received == NULL || p->received->len <= BALL_BYTES;
        status = throw_to(p, p->received_peer, GSRT_KIND_ACTIVATION, is_ball ? p->received : NULL);
    }
    return status;
}

/* Seconds of one round. */
static gsrt_status play(player *p, uint32_t peer, gsrt_payload *payload, uint32_t count, double *out_s)
{
    gsrt_status status = GSRT_OK;
    uint64_t start_ns = now_ns();
    for (uint32_t i = 0; i < count && status == GSRT_OK; i++) {
        uint64_t seen = p->received_count;
        status = throw_to(p, peer, GSRT_KIND_ACTIVATION, payload);
        if (status == GSRT_OK)
            status = await(p, seen, true);
    }
    *out_s = (double)(now_ns() - start_ns) * 1e-9 / count;
    return status;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first pass warms up. Widens *latency and *bandwidth by what this peer does. */
static gsrt_status measure_peer(player *p, uint32_t peer, gsrt_payload *ball, gsrt_payload *load,
                                gsrt_measured *latency, gsrt_measured *bandwidth)
{
    double latencies[PASSES], bandwidths[PASSES], round_s = 0, load_s = 0;
    gsrt_status status = GSRT_OK;
    for (int i = -1; i < PASSES && status == GSRT_OK; i++) {
        status = play(p, peer, ball, BALLS_A_PASS, &round_s);
        if (status == GSRT_OK)
            status = play(p, peer, load, 1, &load_s);
        latencies[i < 0 ? 0 : i] = round_s / 2;
        bandwidths[i < 0 ? 0 : i] = LOAD_BYTES / load_s;
    }
    if (status != GSRT_OK)
        return status;
    qsort(latencies, PASSES, sizeof *latencies, compare);
    qsort(bandwidths, PASSES, sizeof *bandwidths, compare);
    bool is_first = latency->value <= 0;
    if (is_first || latencies[PASSES / 2] > latency->value)
        latency->value = latencies[PASSES / 2]; /* of several: the slowest */
    latency->lo = is_first || latencies[0] < latency->lo ? latencies[0] : latency->lo;
    latency->hi = latencies[PASSES - 1] > latency->hi ? latencies[PASSES - 1] : latency->hi;
    if (is_first || bandwidths[PASSES / 2] < bandwidth->value)
        bandwidth->value = bandwidths[PASSES / 2];
    bandwidth->lo = is_first || bandwidths[0] < bandwidth->lo ? bandwidths[0] : bandwidth->lo;
    bandwidth->hi = bandwidths[PASSES - 1] > bandwidth->hi ? bandwidths[PASSES - 1] : bandwidth->hi;
    return GSRT_OK;
}

static gsrt_status measure_all(player *p, gsrt_measured_links *out)
{
    const gsrt_wireup *w = &p->wireup;
    gsrt_payload *ball = gsrt_payload_create(BALL_BYTES), *load = gsrt_payload_create(LOAD_BYTES);
    gsrt_status status = ball == NULL || load == NULL ? GSRT_ENOMEM : GSRT_OK;
    if (status == GSRT_OK) {
        memset(ball->data, 1, BALL_BYTES);
        memset(load->data, 1, LOAD_BYTES);
    }
    for (uint32_t rank = 1; rank < w->rank_count && status == GSRT_OK; rank++) {
        bool is_near = w->host_of[rank] == w->host_of[0], is_first = true;
        for (uint32_t before = 1; before < rank; before++)
            is_first = is_first && w->host_of[before] != w->host_of[rank];
        if (is_first)
            status = measure_peer(p, rank, ball, load, is_near ? &out->near_latency : &out->far_latency,
                                  is_near ? &out->near_bandwidth : &out->far_bandwidth);
    }
    p->is_over = true;
    for (uint32_t rank = 1; rank < w->rank_count; rank++) {
        gsrt_status told = throw_to(p, rank, GSRT_KIND_STOP, NULL);
        status = status == GSRT_OK ? told : status;
    }
    (void)gsrt_payload_unref(ball);
    (void)gsrt_payload_unref(load);
    return status;
}

/* A lane's name is that of an interface, which may be called anything. */
static void copy_lane(const char *lane, char out[64])
{
    size_t len = 0;
    for (; lane[len] != 0 && len < 63; len++) {
        bool is_plain = lane[len] > ' ' && lane[len] < 0x7f && lane[len] != '"' && lane[len] != '\\';
        out[len] = is_plain ? lane[len] : '?';
    }
    out[len] = 0;
}

gsrt_status gsrt_fleet_links_measure(gsrt_measured_links *out, gsrt_diag *diag)
{
    player p = {.broken = GSRT_OK};
    *out = (gsrt_measured_links){.rank_count = 1, .host_count = 1};
    gsrt_status status = gsrt_wireup_mpi(&(gsrt_wireup_options){0}, &p.wireup, diag);
    if (status != GSRT_OK)
        return status;
    out->rank = p.wireup.rank;
    out->rank_count = p.wireup.rank_count;
    out->host_count = p.wireup.host_count;
    gsrt_transport *t = p.wireup.transport;
    if (out->rank_count > 1) {
        gsrt_transport_events events = {
            .arg = &p, .on_receive = on_receive, .on_writable = on_writable, .on_down = on_down};
        gsrt_transport_listen(t, &events);
        p.is_yielding = (long)p.wireup.rank_count > sysconf(_SC_NPROCESSORS_ONLN);
        copy_lane(p.wireup.near_lane, out->near_lane);
        copy_lane(p.wireup.far_lane, out->far_lane);
        status = out->rank == 0 ? measure_all(&p, out) : be_played_with(&p);
        for (uint64_t start_ns = now_ns(); !t->ops->is_flushed(t) && (now_ns() - start_ns) / 1000000 < WAIT_MS;)
            (void)t->ops->progress(t);
    }
    (void)gsrt_payload_unref(p.received);
    gsrt_wireup_fini(&p.wireup);
    return status == GSRT_OK
               ? GSRT_OK
               : gsrt_diag_set(diag, status, NULL, "ranks", "could not measure between them: %s; start them again",
                               gsrt_status_text(status));
}
