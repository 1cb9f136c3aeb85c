/* What the scripts beside it run under mpirun, as keeper and worker: ranks <what> [argument]
 *   exchange MIB   every rank sends payloads of 0 bytes to MIB MiB to every other; all arrive, in order, intact
 *   hole FILE      of three ranks, the second stops in the middle of sending, the third sends behind it and leaves: the
 *                  first hears that it has left only after what it had sent; FILE: scratch, shared by the ranks
 *   idle           everyone waits for a second; the time of the CPU that this takes is small
 *   exit CODE      the last rank ends with CODE, the others with 0
 *   wait           says "waiting" and waits to be interrupted
 *   die            the last rank kills itself; the others are told; prints how long that took
 *   alone          says how many ranks there are
 *   latency COUNT  a 64-byte PING goes to and fro between ranks 0 and 1, both spinning; prints the time of one
 *                  way: the median over batches, and the best
 * ranks start N <what> [argument], outside of mpirun: starts mpirun with N ranks itself.
 * Output of rank 0 begins with "near LANE far LANE hosts N".
 */
#include "launch/interrupt.h"
#include "launch/keeper.h"
#include "launch/start_mpirun.h"
#include "launch/wireup.h"
#include "mailbox/codec.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 120000 };

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, "\n");                                                                                     \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

typedef struct job {
    gsrt_wireup wireup;
    uint64_t *received;    /* [rank_count] */
    uint32_t counted_peer; /* its one message must be here when it leaves; 0: nobody's */
    uint64_t bytes;
    uint32_t stop_count, down_count, writable_count;
} job;

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint8_t pattern(uint64_t number, size_t i)
{
    return (uint8_t)(number * 131 + i * 7 + (i >> 12));
}

static void on_receive(void *arg, uint32_t peer, const gsrt_envelope *envelope)
{
    job *j = arg;
    if (envelope->kind == GSRT_KIND_STOP) {
        j->stop_count++;
        return;
    }
    CHECK(envelope->kind == GSRT_KIND_ACTIVATION && envelope->sequence == j->received[peer] + 1, "from %u: %llu", peer,
          (unsigned long long)envelope->sequence);
    j->received[peer]++;
    for (size_t i = 0; envelope->payload != NULL && i < envelope->payload->len; i++)
        CHECK(envelope->payload->data[i] == pattern(envelope->sequence, i), "byte %zu of %zu", i,
              envelope->payload->len);
    j->bytes += envelope->payload == NULL ? 0 : envelope->payload->len;
}

static void on_writable(void *arg, uint32_t peer)
{
    (void)peer;
    ((job *)arg)->writable_count++;
}

static void on_down(void *arg, uint32_t peer, gsrt_status why)
{
    job *j = arg;
    (void)why;
    CHECK(j->counted_peer == 0 || peer != j->counted_peer || j->received[peer] == 1,
          "%u left, and what it had sent is not here", peer);
    j->down_count++;
}

/* Progress; block while there is nothing to do, at most wait_ms. */
static void turn(job *j, int wait_ms)
{
    gsrt_transport *t = j->wireup.transport;
    int fd;
    if (t->ops->progress(t) > 0 || t->ops->arm(t, &fd) != GSRT_OK)
        return;
    struct pollfd one = {.fd = fd, .events = POLLIN};
    (void)poll(&one, 1, wait_ms);
}

static void await(job *j, const uint32_t *counter, uint32_t value, const char *what)
{
    uint64_t deadline_us = now_us() + WAIT_MS * 1000ull;
    while (*counter < value) {
        CHECK(now_us() < deadline_us, "rank %u waited too long for %s", j->wireup.rank, what);
        turn(j, WAIT_MS);
    }
}

static void post(job *j, uint32_t peer, gsrt_kind kind, uint64_t sequence, gsrt_payload *payload)
{
    static const uint8_t body[] = {0x91, 0}; /* one number */
    gsrt_transport *t = j->wireup.transport;
    gsrt_envelope envelope = {
        .kind = kind, .sequence = sequence, .body = gsrt_span_of(body, sizeof body), .payload = payload};
    for (;;) {
        uint32_t writable = j->writable_count;
        gsrt_status status = t->ops->post(t, peer, &envelope);
        if (status == GSRT_OK)
            return;
        CHECK(status == GSRT_EFULL, "to %u: %s", peer, gsrt_status_name(status));
        await(j, &j->writable_count, writable + 1, "room");
    }
}

/* All have come here, and all that was sent has arrived. */
static void stop_together(job *j)
{
    uint32_t others = j->wireup.rank_count - 1;
    for (uint32_t peer = 0; peer < j->wireup.rank_count; peer++)
        if (peer != j->wireup.rank)
            post(j, peer, GSRT_KIND_STOP, 0, NULL);
    await(j, &j->stop_count, others, "the others");
    gsrt_transport *t = j->wireup.transport;
    while (!t->ops->is_flushed(t))
        (void)t->ops->progress(t);
}

static int do_exchange(job *j, size_t mib)
{
    size_t sizes[] = {0, 1, 64, 4095, 4096, 65537, 1 << 20, mib << 20};
    size_t count = sizeof sizes / sizeof sizes[0];
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        gsrt_payload *payload = sizes[i] == 0 ? NULL : gsrt_payload_create(sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            payload->data[k] = pattern(i + 1, k);
        for (uint32_t peer = 0; peer < j->wireup.rank_count; peer++)
            if (peer != j->wireup.rank)
                post(j, peer, GSRT_KIND_ACTIVATION, i + 1, payload);
        gsrt_payload_unref(payload);
        total += sizes[i];
    }
    stop_together(j);
    CHECK(j->bytes == total * (j->wireup.rank_count - 1), "%llu bytes", (unsigned long long)j->bytes);
    return 0;
}

/* ---- a hole in the queue of a receiver ---- */

enum { HOLE_BYTES = 4096, HOLE_TURNS = 2000 };

typedef struct hole {
    atomic_bool is_there, has_left; /* the message is half sent; its rank has left */
    atomic_uint turns;              /* of the receiver */
} hole;

static hole *shared_hole;
static uint8_t *trap; /* the payload: reading it begins the hole */

/* UCX reads the payload after it has taken a place in the receiver's queue. */
static void in_the_middle(int signal)
{
    (void)signal;
    atomic_store(&shared_hole->is_there, true);
    while (!atomic_load(&shared_hole->has_left))
        (void)sched_yield();
    /* long enough for the receiver to see the word of the one that left, and to find its queue empty */
    unsigned from = atomic_load(&shared_hole->turns);
    while (atomic_load(&shared_hole->turns) - from < HOLE_TURNS)
        (void)sched_yield();
    CHECK(mprotect(trap, HOLE_BYTES, PROT_READ) == 0, "mprotect");
}

static void share_hole(const char *path)
{
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0 && ftruncate(fd, HOLE_BYTES) == 0, "%s", path);
    shared_hole = mmap(NULL, HOLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    trap = mmap(NULL, HOLE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(shared_hole != MAP_FAILED && trap != MAP_FAILED, "mmap");
    close(fd);
}

static void flush(const job *j)
{
    gsrt_transport *t = j->wireup.transport;
    while (!t->ops->is_flushed(t))
        (void)t->ops->progress(t);
}

static void send_trap(job *j)
{
    gsrt_payload *payload = gsrt_payload_create(HOLE_BYTES);
    CHECK(payload != NULL, "memory");
    uint8_t *data = payload->data;
    struct sigaction action = {.sa_handler = in_the_middle};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0, "sigaction");
    payload->data = trap;
    post(j, 0, GSRT_KIND_STOP, 0, payload);
    flush(j);
    payload->data = data;
    gsrt_payload_unref(payload);
}

static int do_hole(job *j, const char *path)
{
    CHECK(j->wireup.rank_count == 3, "three ranks");
    share_hole(path);
    stop_together(j);
    if (j->wireup.rank == 1) {
        send_trap(j);
    } else if (j->wireup.rank == 2) {
        while (!atomic_load(&shared_hole->is_there))
            (void)sched_yield();
        post(j, 0, GSRT_KIND_ACTIVATION, 1, NULL);
        flush(j);
        gsrt_wireup_fini(&j->wireup);
        atomic_store(&shared_hole->has_left, true);
    } else {
        j->counted_peer = 2;
        for (; j->down_count == 0; atomic_fetch_add(&shared_hole->turns, 1))
            (void)j->wireup.transport->ops->progress(j->wireup.transport);
        await(j, &j->stop_count, 3, "what was sent in halves");
        CHECK(j->received[2] == 1, "received %llu", (unsigned long long)j->received[2]);
    }
    return 0;
}

static int do_idle(job *j)
{
    stop_together(j);
    struct rusage before, after;
    uint64_t until_us = now_us() + 1000000;
    getrusage(RUSAGE_SELF, &before);
    for (uint64_t now = now_us(); now < until_us; now = now_us())
        turn(j, (int)((until_us - now) / 1000) + 1);
    getrusage(RUSAGE_SELF, &after);
    long used_us =
        (after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000 +
        after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec;
    printf("idle: rank %u used %ld us of a second\n", j->wireup.rank, used_us);
    CHECK(used_us < 100000, "%ld us", used_us);
    return 0;
}

static int do_wait(job *j)
{
    stop_together(j);
    printf("waiting %u\n", j->wireup.rank);
    fflush(stdout);
    while (!gsrt_interrupt_is_set())
        turn(j, WAIT_MS);
    printf("interrupted %u\n", j->wireup.rank);
    fflush(stdout); /* which is no terminal: the keeper reads it */
    return GSRT_EXIT_INTERRUPTED;
}

static int do_die(job *j)
{
    uint32_t last = j->wireup.rank_count - 1;
    stop_together(j);
    if (j->wireup.rank == last) {
        raise(SIGKILL);
    }
    uint64_t start_us = now_us();
    await(j, &j->down_count, 1, "the death");
    printf("rank %u was told after about %llu us\n", j->wireup.rank, (unsigned long long)(now_us() - start_us));
    return 0;
}

/* The whole way of a message but for the actors: body and envelope encoded, sent, decoded, body decoded. */
enum { BATCH_COUNT = 200 };

typedef struct rally {
    job *j;
    gsrt_buffer scratch;
    uint32_t left, batch;            /* round trips */
    uint64_t at_us[BATCH_COUNT + 1]; /* when a batch ended; [0]: the start */
} rally;

static void serve(rally *r)
{
    uint8_t data[64] = {0}, body[128];
    size_t len;
    gsrt_msg_ping ping = {.number = r->left, .data = gsrt_span_of(data, sizeof data)};
    gsrt_transport *t = r->j->wireup.transport;
    CHECK(gsrt_body_encode(GSRT_KIND_PING, &ping, body, sizeof body, &len) == GSRT_OK, "encode");
    gsrt_envelope envelope = {.kind = GSRT_KIND_PING,
                              .from = gsrt_address_of_actor(r->j->wireup.rank, 0, 3),
                              .to = gsrt_address_of_actor(1 - r->j->wireup.rank, 0, 3),
                              .sequence = r->left,
                              .body = gsrt_span_of(body, len)};
    CHECK(t->ops->post(t, 1 - r->j->wireup.rank, &envelope) == GSRT_OK, "post");
}

static void on_ball(void *arg, uint32_t peer, const gsrt_envelope *envelope)
{
    rally *r = arg;
    const void *body;
    (void)peer;
    if (envelope->kind == GSRT_KIND_STOP) {
        r->j->stop_count++;
        return;
    }
    CHECK(gsrt_body_decode(envelope->kind, envelope->body, &r->scratch, &body) == GSRT_OK, "decode");
    CHECK(((const gsrt_msg_ping *)body)->data.len == 64, "length");
    if (r->j->wireup.rank == 0 && r->left % r->batch == 1)
        r->at_us[BATCH_COUNT - r->left / r->batch] = now_us();
    if (r->j->wireup.rank == 0 && --r->left == 0)
        return;
    serve(r);
    if (r->j->wireup.rank == 1)
        r->left--;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int do_latency(job *j, uint32_t count)
{
    rally r = {.j = j, .batch = count / BATCH_COUNT + 2};
    gsrt_transport *t = j->wireup.transport;
    gsrt_transport_events before = t->events;
    CHECK(j->wireup.rank_count == 2, "two ranks");
    r.left = r.batch * BATCH_COUNT;
    gsrt_buffer_init(&r.scratch, GSRT_BODY_FLAT_BYTES_MAX);
    t->events = (gsrt_transport_events){.arg = &r, .on_receive = on_ball};
    stop_together(j);
    r.at_us[0] = now_us();
    if (j->wireup.rank == 0)
        serve(&r);
    while (r.left > 0)
        (void)t->ops->progress(t);
    for (int i = 0; i < BATCH_COUNT && j->wireup.rank == 0; i++)
        r.at_us[i] = r.at_us[i + 1] - r.at_us[i];
    qsort(r.at_us, BATCH_COUNT, sizeof r.at_us[0], by_value);
    if (j->wireup.rank == 0)
        printf("latency %.3f us one way, best %.3f\n", (double)r.at_us[BATCH_COUNT / 2] / r.batch / 2,
               (double)r.at_us[0] / r.batch / 2);
    t->events = before;
    gsrt_buffer_fini(&r.scratch);
    return 0;
}

static int run(job *j, int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(what, "exchange") == 0)
        return do_exchange(j, (size_t)number);
    if (strcmp(what, "hole") == 0 && argc > 2)
        return do_hole(j, argv[2]);
    if (strcmp(what, "idle") == 0)
        return do_idle(j);
    if (strcmp(what, "wait") == 0)
        return do_wait(j);
    if (strcmp(what, "die") == 0)
        return do_die(j);
    if (strcmp(what, "latency") == 0)
        return do_latency(j, (uint32_t)number);
    if (strcmp(what, "exit") == 0) {
        stop_together(j);
        return j->wireup.rank == j->wireup.rank_count - 1 ? number : 0;
    }
    if (strcmp(what, "alone") == 0) {
        printf("%u ranks\n", j->wireup.rank_count);
        return 0;
    }
    fprintf(stderr, "ranks: do not know '%s'\n", what);
    return 1;
}

int main(int argc, char **argv)
{
    bool must_start = argc > 3 && strcmp(argv[1], "start") == 0;
    if (must_start && !gsrt_mpirun_is_around())
        return gsrt_start_mpirun((uint32_t)atoi(argv[2]), argv);
    if (!gsrt_keeper_is_worker())
        return gsrt_keeper_run(argv);
    job j = {0};
    gsrt_diag diag = {0};
    gsrt_keeper_handover keeper;
    gsrt_wireup_options options = {.keeper = &keeper};
    CHECK(gsrt_interrupt_install() == GSRT_OK && gsrt_keeper_attach(&keeper) == GSRT_OK, "keeper");
    CHECK(gsrt_wireup_mpi(&options, &j.wireup, &diag) == GSRT_OK, "%s", diag.text);
    j.received = calloc(j.wireup.rank_count, sizeof *j.received);
    gsrt_transport_listen(
        j.wireup.transport,
        &(gsrt_transport_events){.arg = &j, .on_receive = on_receive, .on_writable = on_writable, .on_down = on_down});
    if (j.wireup.rank == 0)
        printf("near %s far %s hosts %u\n", j.wireup.near_lane, j.wireup.far_lane, j.wireup.host_count);
    int code = must_start ? run(&j, argc - 2, argv + 2) : run(&j, argc, argv);
    gsrt_wireup_fini(&j.wireup);
    gsrt_keeper_handover_fini(&keeper);
    free(j.received);
    return code;
}
