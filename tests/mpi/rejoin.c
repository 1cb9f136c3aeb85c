/* What rejoin.sh runs under mpirun, as keeper and worker: rejoin <what> [argument]
 *   rounds N   every rank in turn is killed from outside by its neighbour, N times in all; each time its next
 *              incarnation joins, and everybody hears from everybody again; prints what each step took
 *   storm N    the same, while all send to all without a pause
 *   stopped    rank 1 is stopped; rank 0 has its keeper end it; it comes back
 *   drilled    rank 0 has the keeper of rank 1 stop it for a while, then kill it; it comes back
 *   fenced     rank 1 ends with GSRT_EXIT_AGAIN; it comes back
 *   deaf       somebody dies in the middle of a message to rank 1, which hears nothing any more; it comes back
 *   two        ranks 1 and 2 are killed at the same moment; both come back, and find each other
 *   budget     rank 1 is killed until its keeper says that it was the last time; the others go on, and finish
 *   alone      all workers but those without a restart left are killed: everybody ends with 5
 *   keeper     the keeper of rank 1 is killed; rank 1 leaves, and its keeper cannot be reached
 *   early      the last rank dies before the wire-up
 * The script counts the lines; nothing here waits for a clock but to give up.
 */
#include "launch/interrupt.h"
#include "launch/keeper.h"
#include "launch/wireup.h"
#include "mailbox/body.h"
#include "mailbox/codec.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 120000, RANKS_MAX = 16 };

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, "\n");                                                                                     \
            kill(getppid(), SIGTERM);                                                                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* What ranks tell each other. */
typedef struct news {
    uint32_t round, deposited;
    int pid, keeper;
} news;

typedef struct peer {
    bool is_up, has_left;
    uint32_t incarnation;
    uint32_t sent_round, sent_deposited; /* told to this incarnation; UINT32_MAX: nothing yet */
    bool has_said;                       /* this incarnation */
    news said;
    gsrt_keeper_word word;
    uint32_t word_count, down_count, join_count;
    uint64_t word_us, down_us, join_us, said_us; /* when last */
} peer;

typedef struct job {
    gsrt_wireup wireup;
    gsrt_keepers *keepers;
    uint32_t rank, count, round, deposited, unreachable_count;
    uint32_t last_round; /* who has said that it is there, may go */
    uint64_t flood_count;
    gsrt_buffer scratch;
    peer peers[RANKS_MAX];
} job;

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- what happens ---- */

static void on_receive(void *arg, uint32_t rank, const gsrt_envelope *envelope)
{
    job *j = arg;
    peer *p = &j->peers[rank];
    const void *body;
    CHECK(p->is_up, "a message of rank %u, which is not there", rank);
    CHECK(envelope->kind == GSRT_KIND_PING, "kind %d", (int)envelope->kind);
    CHECK(gsrt_body_decode(envelope->kind, envelope->body, &j->scratch, &body) == GSRT_OK, "decode");
    gsrt_span data = ((const gsrt_msg_ping *)body)->data;
    if (data.len == 0)
        return; /* of a storm */
    CHECK(data.len == sizeof p->said, "%zu bytes", data.len);
    memcpy(&p->said, data.data, sizeof p->said);
    if (!p->has_said)
        p->said_us = now_us();
    p->has_said = true;
    if (p->said.round > j->round)
        j->round = p->said.round;
}

static void on_down(void *arg, uint32_t rank, gsrt_status why)
{
    job *j = arg;
    peer *p = &j->peers[rank];
    p->is_up = false;
    p->has_left = why == GSRT_ECANCELED || (p->has_said && p->said.round == j->last_round);
    p->has_said = p->has_said && p->has_left;
    p->down_count++;
    p->down_us = now_us();
}

static void on_join(void *arg, uint32_t rank, uint32_t incarnation)
{
    peer *p = &((job *)arg)->peers[rank];
    CHECK(!p->is_up, "rank %u joins, and is there already", rank);
    CHECK(p->join_count == 0 || incarnation > p->incarnation, "incarnation %u after %u", incarnation, p->incarnation);
    p->is_up = true;
    p->has_said = false;
    p->incarnation = incarnation;
    p->sent_round = p->sent_deposited = UINT32_MAX;
    p->join_count++;
    p->join_us = now_us();
}

static void on_word(void *arg, const gsrt_keeper_word *word)
{
    peer *p = &((job *)arg)->peers[word->rank];
    p->word = *word;
    p->word_count++;
    p->word_us = now_us();
}

static void on_deposited(void *arg, uint32_t epoch)
{
    ((job *)arg)->deposited = epoch;
}

static void on_unreachable(void *arg, uint32_t rank, uint32_t incarnation)
{
    (void)rank;
    (void)incarnation;
    ((job *)arg)->unreachable_count++;
}

/* Somebody was killed in the middle of a message. The next incarnation learns from the others which round it is. */
static void on_deaf(void *arg)
{
    const job *j = arg;
    fprintf(stderr, "rank %u is deaf, and starts again\n", j->rank);
    _exit(GSRT_EXIT_AGAIN);
}

/* ---- what is said ---- */

static bool post(job *j, uint32_t rank, gsrt_span data)
{
    uint8_t body[128];
    size_t len;
    gsrt_msg_ping ping = {.data = data};
    gsrt_transport *t = j->wireup.transport;
    CHECK(gsrt_body_encode(GSRT_KIND_PING, &ping, body, sizeof body, &len) == GSRT_OK, "encode");
    gsrt_envelope envelope = {.kind = GSRT_KIND_PING, .body = gsrt_span_of(body, len)};
    return t->ops->post(t, rank, &envelope) == GSRT_OK;
}

/* true: everybody who is there has been told. */
static bool tell_all(job *j)
{
    bool is_told = true;
    news mine = {.round = j->round, .deposited = j->deposited, .pid = getpid(), .keeper = getppid()};
    for (uint32_t rank = 0; rank < j->count; rank++) {
        peer *p = &j->peers[rank];
        if (rank == j->rank || !p->is_up || (p->sent_round == mine.round && p->sent_deposited == mine.deposited))
            continue;
        if (!post(j, rank, gsrt_span_of(&mine, sizeof mine))) {
            is_told = false;
            continue;
        }
        p->sent_round = mine.round;
        p->sent_deposited = mine.deposited;
    }
    return is_told;
}

static void turn(job *j)
{
    gsrt_transport *t = j->wireup.transport;
    int fd;
    (void)tell_all(j);
    if (t->ops->progress(t) > 0 || t->ops->arm(t, &fd) != GSRT_OK)
        return;
    struct pollfd one = {.fd = fd, .events = POLLIN};
    (void)poll(&one, 1, 1000);
}

#define AWAIT(j, condition)                                                                                            \
    do {                                                                                                               \
        uint64_t until_us = now_us() + WAIT_MS * 1000ull;                                                              \
        while (!(condition)) {                                                                                         \
            CHECK(now_us() < until_us, "rank %u, round %u: it did not happen", (j)->rank, (j)->round);                 \
            turn(j);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Every rank is there and has said that it is in this round (or has said so, and left: it is the last). */
static bool is_settled(const job *j)
{
    for (uint32_t rank = 0; rank < j->count; rank++) {
        const peer *p = &j->peers[rank];
        if (rank != j->rank && ((!p->is_up && !p->has_left) || !p->has_said || p->said.round != j->round))
            return false;
    }
    return true;
}

static void make_deposit(job *j)
{
    gsrt_deposit deposit = {.epoch = j->round + 1, .rank_count = j->count};
    for (uint32_t rank = 0; rank < j->count; rank++)
        deposit.incarnations[rank] = rank == j->rank ? j->wireup.incarnation : j->peers[rank].incarnation;
    j->keepers->ops->deposit(j->keepers, &deposit);
}

/* All is said: nothing is lost by ending now. */
static void flush(job *j)
{
    gsrt_transport *t = j->wireup.transport;
    while (!tell_all(j) || !t->ops->is_flushed(t))
        (void)t->ops->progress(t);
}

/* ---- the drills ---- */

static void send_flood(job *j)
{
    for (uint32_t rank = 0; rank < j->count; rank++)
        if (rank != j->rank && j->peers[rank].is_up)
            for (int i = 0; i < 32; i++)
                j->flood_count += post(j, rank, (gsrt_span){0});
    (void)j->wireup.transport->ops->progress(j->wireup.transport);
}

/* Rank `victim` is killed, and comes back. Prints the times since the kill. */
static void kill_and_await(job *j, uint32_t victim)
{
    peer *p = &j->peers[victim];
    uint32_t words = p->word_count, before = p->incarnation;
    AWAIT(j, p->said.deposited == j->round + 1);
    uint64_t start_us = now_us();
    CHECK(kill(p->said.pid, SIGKILL) == 0, "rank %u", victim);
    AWAIT(j, p->word_count > words && p->is_up && p->incarnation == before + 1 && p->has_said);
    CHECK(p->word.incarnation == before && !p->word.was_ordered && !p->word.is_last, "incarnation %u",
          p->word.incarnation);
    /* A killer that this left deaf starts again and kills once more in the same round: the victim may have this round's
     * deposit from the incarnation before it. */
    CHECK(p->word.deposit.epoch == j->round + 1 && p->word.deposit.incarnations[victim] <= before,
          "epoch %u, not %u; incarnation %u, not %u", p->word.deposit.epoch, j->round + 1,
          p->word.deposit.incarnations[victim], before);
    printf("round %u rank %u incarnation %u: down %lld word %lld join %lld said %lld us\n", j->round, victim,
           p->incarnation, (long long)(p->down_us - start_us), (long long)(p->word_us - start_us),
           (long long)(p->join_us - start_us), (long long)(p->said_us - start_us));
    fflush(stdout);
}

static int do_rounds(job *j, uint32_t round_count, bool has_storm)
{
    uint64_t until_us = now_us() + WAIT_MS * 1000ull;
    uint32_t deposited_round = UINT32_MAX;
    j->last_round = round_count;
    for (;;) {
        CHECK(now_us() < until_us, "rank %u waits too long in round %u", j->rank, j->round);
        if (has_storm)
            send_flood(j);
        turn(j);
        if (!is_settled(j))
            continue;
        if (j->round >= round_count)
            break;
        if (deposited_round != j->round) {
            make_deposit(j);
            deposited_round = j->round;
            until_us = now_us() + WAIT_MS * 1000ull;
        }
        uint32_t victim = j->round % j->count;
        if ((victim + 1) % j->count == j->rank) {
            kill_and_await(j, victim);
            j->round++;
        }
    }
    flush(j);
    return 0;
}

/* The others wait until rank 0 calls the next round. */
static int follow(job *j, uint32_t round)
{
    uint32_t deposited_round = UINT32_MAX;
    while (j->round < round) {
        turn(j);
        if (is_settled(j) && deposited_round != j->round) {
            make_deposit(j);
            deposited_round = j->round;
        }
        if (gsrt_interrupt_is_set())
            return GSRT_EXIT_INTERRUPTED;
    }
    flush(j);
    return 0;
}

static int do_stopped(job *j)
{
    peer *p = &j->peers[1];
    if (j->rank != 0)
        return follow(j, 1);
    AWAIT(j, is_settled(j) && p->said.deposited == 1);
    CHECK(kill(p->said.pid, SIGSTOP) == 0, "stop");
    uint64_t start_us = now_us();
    j->keepers->ops->end_worker(j->keepers, 1, 0);
    AWAIT(j, p->word_count > 0 && p->is_up && p->incarnation == 1);
    CHECK(p->word.was_ordered && p->word.incarnation == 0, "word");
    printf("ordered: word %lld us, join %lld us\n", (long long)(p->word_us - start_us),
           (long long)(p->join_us - start_us));
    /* who asks again, hears the same: it is dead */
    uint32_t words = p->word_count;
    j->keepers->ops->end_worker(j->keepers, 1, 0);
    AWAIT(j, p->word_count > words);
    CHECK(p->word.incarnation == 0 && p->is_up, "word");
    AWAIT(j, is_settled(j));
    j->round = 1;
    flush(j);
    return 0;
}

static int do_drilled(job *j)
{
    peer *p = &j->peers[1];
    if (j->rank != 0)
        return follow(j, 1);
    AWAIT(j, is_settled(j) && p->said.deposited == 1);
    j->keepers->ops->drill(j->keepers, 1, GSRT_DRILL_STOP, 50);
    j->keepers->ops->drill(j->keepers, 1, GSRT_DRILL_KILL, 0);
    AWAIT(j, p->word_count > 0 && p->is_up && p->incarnation == 1 && p->has_said);
    CHECK(!p->word.was_ordered, "word");
    j->round = 1;
    flush(j);
    return 0;
}

static int do_fenced(job *j)
{
    peer *p = &j->peers[1];
    if (j->rank == 1 && j->wireup.incarnation == 0) {
        AWAIT(j, is_settled(j) && j->peers[0].said.deposited == 1);
        return GSRT_EXIT_AGAIN;
    }
    if (j->rank != 0)
        return follow(j, 1);
    AWAIT(j, is_settled(j));
    make_deposit(j);
    AWAIT(j, p->is_up && p->incarnation == 1 && p->has_said && p->word_count > 0);
    j->round = 1;
    flush(j);
    return 0;
}

/* ---- a queue that is blocked ---- */

enum { QUEUE_COUNT_MAX = 64, QUEUE_WORDS = 64, OF_UCX_ITSELF = 4 /* messages at most */ };

static const uint64_t COUNT_MASK = UINT64_MAX >> 1; /* the highest bit says that the receiver sleeps */

typedef struct queues {
    volatile uint64_t *at[QUEUE_COUNT_MAX]; /* the beginnings of the shared memory that this process has */
    uint64_t words[QUEUE_COUNT_MAX][QUEUE_WORDS];
    uint32_t count;
    uint64_t received; /* messages, by then */
} queues;

static uint64_t count_received(const job *j)
{
    gsrt_transport_facts facts;
    j->wireup.transport->ops->read_facts(j->wireup.transport, &facts);
    return facts.messages_received;
}

static void look_at_queues(const job *j, queues *out)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    CHECK(maps != NULL, "maps");
    *out = (queues){.received = count_received(j)};
    while (fgets(line, sizeof line, maps) != NULL && out->count < QUEUE_COUNT_MAX) {
        uintptr_t start;
        if (strstr(line, "/SYSV") == NULL || sscanf(line, "%" SCNxPTR, &start) != 1)
            continue;
        out->at[out->count] = (volatile uint64_t *)start; /* NOLINT: that is what the file is for */
        for (uint32_t i = 0; i < QUEUE_WORDS; i++)
            out->words[out->count][i] = out->at[out->count][i];
        out->count++;
    }
    (void)fclose(maps);
}

/* Do what a sender does that takes its place in the queue of this rank and dies: the number of places that were taken
 * is the word that has grown by the number of messages that came, and a few. */
static void block_queue(const job *j, const queues *before)
{
    uint64_t count = count_received(j) - before->received;
    for (uint32_t q = 0; q < before->count; q++)
        for (uint32_t i = 0; i < QUEUE_WORDS; i++)
            if (((before->at[q][i] - before->words[q][i]) & COUNT_MASK) - count <= OF_UCX_ITSELF) {
                before->at[q][i]++;
                return;
            }
    CHECK(false, "no queue has grown by %llu", (unsigned long long)count);
}

static int do_deaf(job *j)
{
    enum { MESSAGES = 7 };
    static queues before;
    peer *p = &j->peers[1 - j->rank];
    if (j->rank == 1 && j->wireup.incarnation > 0)
        return follow(j, 2);
    AWAIT(j, is_settled(j));
    make_deposit(j);
    AWAIT(j, j->deposited == 1 && p->said.deposited == 1);
    if (j->rank == 1) {
        look_at_queues(j, &before);
        j->round = 1;
        AWAIT(j, count_received(j) >= before.received + MESSAGES + 1); /* they say that it is round 1, too */
        block_queue(j, &before);
        AWAIT(j, false);
    }
    AWAIT(j, p->said.round == 1);
    (void)tell_all(j);
    for (int i = 0; i < MESSAGES; i++)
        CHECK(post(j, 1, (gsrt_span){0}), "post");
    AWAIT(j, p->word_count > 0 && p->is_up && p->incarnation == 1 && p->has_said);
    CHECK(!p->word.was_ordered && !p->word.is_last, "word");
    j->round = 2;
    flush(j);
    return 0;
}

static int do_two(job *j)
{
    if (j->rank != 0)
        return follow(j, 1);
    AWAIT(j, is_settled(j));
    for (uint32_t rank = 1; rank <= 2; rank++)
        AWAIT(j, j->peers[rank].said.deposited == 1);
    int pids[] = {j->peers[1].said.pid, j->peers[2].said.pid};
    CHECK(kill(pids[0], SIGKILL) == 0 && kill(pids[1], SIGKILL) == 0, "kill");
    for (uint32_t rank = 1; rank <= 2; rank++)
        AWAIT(j, j->peers[rank].is_up && j->peers[rank].incarnation == 1 && j->peers[rank].word_count > 0);
    /* they settle only when they have heard of each other, and say so by a deposit */
    for (uint32_t rank = 1; rank <= 2; rank++)
        AWAIT(j, j->peers[rank].has_said && j->peers[rank].said.deposited == 1);
    j->round = 1;
    flush(j);
    return 0;
}

static int do_budget(job *j)
{
    peer *p = &j->peers[1];
    if (j->rank != 0)
        return follow(j, 1);
    uint32_t kills = 0;
    while (!p->word.is_last) {
        AWAIT(j, p->is_up && p->has_said);
        uint32_t words = p->word_count;
        int pid = p->said.pid;
        CHECK(kill(pid, SIGKILL) == 0, "kill");
        kills++;
        AWAIT(j, p->word_count > words && (p->word.is_last || (p->is_up && p->said.pid != pid)));
    }
    AWAIT(j, !p->is_up);
    printf("killed %u times\n", kills);
    j->round = 1;
    j->keepers->ops->finished(j->keepers, 0);
    flush(j);
    return 0;
}

static bool has_lost_somebody(const job *j)
{
    for (uint32_t rank = 0; rank < j->count; rank++)
        if (j->peers[rank].down_count > 0)
            return true;
    return false;
}

/* Nobody is told that the run is over: the keepers find out. */
static int do_alone(job *j)
{
    AWAIT(j, is_settled(j) || has_lost_somebody(j)); /* who had heard of all, and has gone already */
    make_deposit(j);
    AWAIT(j, j->deposited == 1);
    flush(j); /* the others have to hear that this rank was there */
    raise(SIGKILL);
    return 0;
}

static int do_keeper(job *j)
{
    peer *p = &j->peers[1];
    if (j->rank != 0)
        return follow(j, 1);
    AWAIT(j, is_settled(j) && p->said.deposited == 1);
    CHECK(kill(p->said.keeper, SIGKILL) == 0, "kill");
    AWAIT(j, !p->is_up);
    CHECK(p->has_left, "it did not say that it leaves");
    j->keepers->ops->end_worker(j->keepers, 1, 0);
    AWAIT(j, j->unreachable_count > 0);
    CHECK(p->word_count == 0, "a word of nobody");
    printf("left, and its keeper cannot be reached\n");
    j->round = 1;
    flush(j);
    return 0;
}

static int run(job *j, const char *what, uint32_t number)
{
    const struct {
        const char *name;
        int (*function)(job *j);
    } drills[] = {{"stopped", do_stopped}, {"drilled", do_drilled}, {"fenced", do_fenced}, {"two", do_two},
                  {"deaf", do_deaf},       {"budget", do_budget},   {"alone", do_alone},   {"keeper", do_keeper}};
    for (size_t i = 0; i < sizeof drills / sizeof drills[0]; i++)
        if (strcmp(what, drills[i].name) == 0)
            return drills[i].function(j);
    if (strcmp(what, "rounds") == 0 || strcmp(what, "storm") == 0)
        return do_rounds(j, number, what[0] == 's');
    fprintf(stderr, "rejoin: do not know '%s'\n", what);
    return 1;
}

static void open_job(job *j, gsrt_keeper_handover *keeper)
{
    gsrt_diag diag = {0};
    gsrt_wireup_options options = {.keeper = keeper};
    bool is_first = keeper->ticket.len == 0;
    gsrt_status status =
        is_first ? gsrt_wireup_mpi(&options, &j->wireup, &diag) : gsrt_wireup_join(&options, &j->wireup, &diag);
    if (status != GSRT_OK) {
        fprintf(stderr, "rejoin: %s\n", diag.text);
        exit(5);
    }
    CHECK(is_first || gsrt_span_equal(gsrt_buffer_span(&j->wireup.blob), gsrt_span_of_text("blob")), "blob");
    j->rank = j->wireup.rank;
    j->count = j->wireup.rank_count;
    CHECK(j->count <= RANKS_MAX, "%u ranks", j->count);
    for (uint32_t rank = 0; rank < j->count; rank++)
        j->peers[rank] = (peer){.is_up = is_first, .sent_round = UINT32_MAX, .sent_deposited = UINT32_MAX};
    j->keepers = j->wireup.keepers;
    j->last_round = UINT32_MAX;
    gsrt_buffer_init(&j->scratch, GSRT_BODY_FLAT_BYTES_MAX);
    gsrt_transport_listen(
        j->wireup.transport,
        &(gsrt_transport_events){
            .arg = j, .on_receive = on_receive, .on_down = on_down, .on_join = on_join, .on_deaf = on_deaf});
    gsrt_keepers_listen(
        j->keepers, &(gsrt_keepers_events){
                        .arg = j, .on_word = on_word, .on_deposited = on_deposited, .on_unreachable = on_unreachable});
    CHECK(gsrt_wireup_give_ticket(&j->wireup, j->wireup.transport, gsrt_span_of_text("blob")) == GSRT_OK, "ticket");
}

int main(int argc, char **argv)
{
    if (!gsrt_keeper_is_worker())
        return gsrt_keeper_run(argv);
    static job j;
    gsrt_keeper_handover keeper;
    const char *what = argc > 1 ? argv[1] : "", *rank = getenv("PMIX_RANK"), *last = getenv("OMPI_COMM_WORLD_SIZE");
    CHECK(gsrt_interrupt_install() == GSRT_OK && gsrt_keeper_attach(&keeper) == GSRT_OK, "keeper");
    if (strcmp(what, "early") == 0 && rank != NULL && last != NULL && atoi(rank) == atoi(last) - 1)
        raise(SIGKILL);
    open_job(&j, &keeper);
    int code = run(&j, what, argc > 2 ? (uint32_t)atoi(argv[2]) : 0);
    gsrt_wireup_fini(&j.wireup);
    gsrt_keeper_handover_fini(&keeper);
    gsrt_buffer_fini(&j.scratch);
    return code;
}
