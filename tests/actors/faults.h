/* What the tests of the twin's faults share: a cluster whose ranks write down what they hear, and run a small protocol
 * of supervised actors: each calls the others in turn, answers their calls, and sends each a numbered stream.
 */
#ifndef GSRT_TESTS_ACTORS_FAULTS_H
#define GSRT_TESTS_ACTORS_FAULTS_H

#include "actors/supervisor.h"
#include "actors/twin_impl.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { FAULTS_RANKS_MAX = 8, FAULTS_LOG_MAX = 4096 };
#define US 1000ull
#define MS 1000000ull
#define CALL_NS (5 * MS)

typedef enum heard_what { DEAD = 1, STARTED, SUSPECTED, JOINED, WORD, DEPOSITED, UNREACHABLE } heard_what;

typedef struct heard {
    heard_what what;
    uint64_t now_ns;
    uint32_t rank, incarnation; /* who heard it; DEAD, STARTED: who it is */
    uint32_t peer, value;       /* of whom; its incarnation, the status, the epoch */
    bool is_last, was_ordered;
    uint32_t epoch; /* WORD: of the deposit */
} heard;

struct cluster;

/* What belongs to one incarnation, freed with it. */
typedef struct member {
    struct cluster *cluster;
    gsrt_node *node;
    uint32_t rank, incarnation;
    gsrt_address echo;
    uint64_t calls_made, calls_ended, answers;
    uint64_t answered_ns[FAULTS_RANKS_MAX];      /* by rank: when its last answer came */
    uint32_t answered_by[FAULTS_RANKS_MAX];      /* its incarnation */
    uint64_t stream_last[FAULTS_RANKS_MAX][256]; /* by sender's rank and incarnation */
    uint32_t down_reason;                        /* of the last call that ended in a DOWN */
} member;

typedef struct cluster {
    gsrt_twin *twin;
    uint32_t rank_count;
    uint64_t tick_ns; /* of the protocol; 0: no protocol */
    member *members[FAULTS_RANKS_MAX];
    heard log[FAULTS_LOG_MAX];
    uint32_t log_count;
    gsrt_supervisor_child children[FAULTS_RANKS_MAX];
} cluster;

static inline void sound(gsrt_status status)
{
    ck_assert_msg(status == GSRT_OK, "%s", gsrt_status_text(status));
}

/* ---- listening ---- */

static inline void note(cluster *c, const heard *entry)
{
    ck_assert_uint_lt(c->log_count, FAULTS_LOG_MAX);
    c->log[c->log_count] = *entry;
    c->log[c->log_count++].now_ns = gsrt_twin_now_ns(c->twin);
}

static inline void on_suspect(void *arg, uint32_t rank, gsrt_status why)
{
    member *m = arg;
    note(m->cluster,
         &(heard){
             .what = SUSPECTED, .rank = m->rank, .incarnation = m->incarnation, .peer = rank, .value = (uint32_t)why});
    gsrt_node_rank_lost(m->node, rank);
}

static inline void on_join(void *arg, uint32_t rank, uint32_t incarnation)
{
    member *m = arg;
    note(m->cluster,
         &(heard){.what = JOINED, .rank = m->rank, .incarnation = m->incarnation, .peer = rank, .value = incarnation});
    gsrt_node_set_incarnation(m->node, rank, incarnation);
}

static inline void on_word(void *arg, const gsrt_keeper_word *word)
{
    member *m = arg;
    note(m->cluster, &(heard){.what = WORD,
                              .rank = m->rank,
                              .incarnation = m->incarnation,
                              .peer = word->rank,
                              .value = word->incarnation,
                              .is_last = word->is_last,
                              .was_ordered = word->was_ordered,
                              .epoch = word->deposit.epoch});
}

static inline void on_deposited(void *arg, uint32_t epoch)
{
    member *m = arg;
    note(m->cluster,
         &(heard){.what = DEPOSITED, .rank = m->rank, .incarnation = m->incarnation, .peer = m->rank, .value = epoch});
}

static inline void on_unreachable(void *arg, uint32_t rank, uint32_t incarnation)
{
    member *m = arg;
    note(m->cluster,
         &(heard){
             .what = UNREACHABLE, .rank = m->rank, .incarnation = m->incarnation, .peer = rank, .value = incarnation});
}

/* ---- the protocol ---- */

typedef struct echo_state {
    member *member;
    uint64_t *memory; /* owned: leaks when stop does not run */
    uint64_t sent[FAULTS_RANKS_MAX];
    uint64_t tick;
} echo_state;

static inline gsrt_address echo_role(uint32_t rank)
{
    return gsrt_address_of_role(GSRT_ROLE_NODE, 0, rank);
}

static inline gsrt_status echo_init(gsrt_actor *self, void *state, const void *arg)
{
    echo_state *e = state;
    e->member = *(member *const *)arg;
    e->memory = calloc(16, sizeof *e->memory);
    e->member->echo = gsrt_self(self);
    if (e->memory == NULL)
        return GSRT_ENOMEM;
    return e->member->cluster->tick_ns == 0 ? GSRT_OK : gsrt_timer_start(self, e->member->cluster->tick_ns, 0, NULL);
}

static inline void echo_stop(gsrt_actor *self, void *state, uint32_t reason)
{
    echo_state *e = state;
    (void)self;
    (void)reason;
    free(e->memory);
}

static inline void echo_tick(gsrt_actor *self, echo_state *e)
{
    member *m = e->member;
    uint32_t count = m->cluster->rank_count;
    uint32_t to = (m->rank + 1 + (uint32_t)(e->tick++ % (count - 1))) % count;
    sound(gsrt_timer_start(self, m->cluster->tick_ns, 0, NULL));
    gsrt_msg_ack number = {.value = e->sent[to] + 1};
    if (gsrt_send(self, echo_role(to), GSRT_KIND_ACK, &number, NULL) == GSRT_OK)
        e->sent[to]++;
    uint64_t call;
    if (gsrt_call(self, echo_role(to), GSRT_KIND_PING, &(gsrt_msg_ping){.number = e->tick}, NULL, CALL_NS, &call) ==
        GSRT_OK)
        m->calls_made++;
    if (e->tick % 97 == 96) {           /* now and then it crashes, and its supervisor starts it again */
        m->calls_ended = m->calls_made; /* nobody is left to be told of these */
        gsrt_exit(self, GSRT_EXIT_CRASH);
    }
}

static inline void echo_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    echo_state *e = state;
    member *m = e->member;
    uint32_t rank = gsrt_address_rank(message->from), incarnation = gsrt_address_incarnation(message->from);
    if (message->kind == GSRT_KIND_TIMER) {
        echo_tick(self, e);
    } else if (message->kind == GSRT_KIND_PING) {
        sound(gsrt_reply(self, message->from, message->call, GSRT_KIND_PONG,
                         &(gsrt_msg_pong){.number = ((const gsrt_msg_ping *)message->body)->number}, NULL));
    } else if (message->kind == GSRT_KIND_PONG) {
        m->calls_ended++;
        m->answers++;
        m->answered_ns[rank] = gsrt_now_ns(self);
        m->answered_by[rank] = incarnation;
    } else if (message->kind == GSRT_KIND_DOWN) {
        m->calls_ended++;
        m->down_reason = ((const gsrt_msg_down *)message->body)->reason;
    } else if (message->kind == GSRT_KIND_ACK) {
        uint64_t value = ((const gsrt_msg_ack *)message->body)->value, *last = &m->stream_last[rank][incarnation];
        /* a restarted sender begins at 1 again; else in order, each at most once */
        ck_assert_msg(value > *last || value == 1, "rank %u got %llu of rank %u after %llu", m->rank,
                      (unsigned long long)value, rank, (unsigned long long)*last);
        *last = value;
    }
    ck_assert_uint_le(m->calls_ended, m->calls_made);
}

static const gsrt_behaviour echo_behaviour = {"echo", sizeof(echo_state), echo_init, echo_receive, echo_stop};

/* ---- the cluster ---- */

static inline gsrt_status member_start(cluster *c, gsrt_node *node, uint32_t rank, uint32_t incarnation)
{
    member *m = calloc(1, sizeof *m);
    ck_assert_ptr_nonnull(m);
    *m = (member){.cluster = c, .node = node, .rank = rank, .incarnation = incarnation};
    ck_assert_ptr_null(c->members[rank]);
    c->members[rank] = m;
    gsrt_node_on_suspect(node, on_suspect, m);
    gsrt_node_on_join(node, on_join, m);
    gsrt_keepers_events events = {
        .arg = m, .on_word = on_word, .on_deposited = on_deposited, .on_unreachable = on_unreachable};
    gsrt_keepers_listen(gsrt_twin_keepers(c->twin, rank), &events);
    c->children[rank] = (gsrt_supervisor_child){
        .behaviour = &echo_behaviour, .arg = &c->members[rank], .role = echo_role(rank), .when = GSRT_PERMANENT};
    gsrt_supervisor_options options = {.strategy = GSRT_ONE_FOR_ONE,
                                       .restart_max = 10,
                                       .window_ns = 1000 * MS,
                                       .children = &c->children[rank],
                                       .child_count = 1};
    gsrt_address address;
    return gsrt_node_spawn(node, &gsrt_supervisor, &options, &address);
}

static inline void on_dead(void *arg, uint32_t rank, uint32_t incarnation, bool was_killed)
{
    (void)was_killed;
    cluster *c = arg;
    note(c, &(heard){.what = DEAD, .rank = rank, .incarnation = incarnation});
    ck_assert_uint_eq(c->members[rank]->incarnation, incarnation);
    free(c->members[rank]);
    c->members[rank] = NULL;
}

static inline gsrt_status on_start(void *arg, gsrt_node *node, uint32_t rank, uint32_t incarnation)
{
    cluster *c = arg;
    note(c, &(heard){.what = STARTED, .rank = rank, .incarnation = incarnation});
    return member_start(c, node, rank, incarnation);
}

/* options: rank_count 0 becomes 3, restart_max 0 becomes 100; callbacks are set here. */
static inline cluster *cluster_open(gsrt_twin_options options, uint64_t tick_ns)
{
    cluster *c = calloc(1, sizeof *c);
    ck_assert_ptr_nonnull(c);
    options.rank_count = options.rank_count == 0 ? 3 : options.rank_count;
    if (!(options.link.bytes_per_ns > 0))
        options.link = (gsrt_twin_link){50 * US, 1.0};
    if (options.recovery.restart_max == 0)
        options.recovery.restart_max = GSRT_TWIN_RESTART_MAX;
    options.recovery.arg = c;
    options.recovery.on_dead = on_dead;
    options.recovery.on_start = on_start;
    c->rank_count = options.rank_count;
    c->tick_ns = tick_ns;
    sound(gsrt_twin_create(&options, &c->twin));
    for (uint32_t rank = 0; rank < c->rank_count; rank++)
        sound(member_start(c, gsrt_twin_node(c->twin, rank), rank, 0));
    for (uint32_t rank = 0; rank < c->rank_count; rank++) /* a role of another rank resolves there */
        ck_assert_uint_ne(c->members[rank]->echo, GSRT_NOBODY);
    return c;
}

static inline void cluster_until(cluster *c, uint64_t until_ns)
{
    gsrt_status status = gsrt_twin_run(c->twin, until_ns, UINT64_MAX);
    ck_assert_msg(status == GSRT_ETIMEDOUT || status == GSRT_EEMPTY, "%s", gsrt_status_text(status));
}

static inline void cluster_check(const cluster *c)
{
    for (uint32_t rank = 0; rank < c->rank_count; rank++)
        ck_assert(gsrt_twin_node(c->twin, rank) == NULL || gsrt_node_check(gsrt_twin_node(c->twin, rank)));
}

static inline void cluster_close(cluster *c)
{
    cluster_check(c);
    gsrt_twin_free(c->twin);
    for (uint32_t rank = 0; rank < c->rank_count; rank++)
        free(c->members[rank]);
    free(c);
}

/* The number of entries of this kind that `rank` heard of `peer`; *out_first the first. */
static inline uint32_t heard_of(const cluster *c, heard_what what, uint32_t rank, uint32_t peer, heard *out_first)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->log_count; i++) {
        const heard *entry = &c->log[i];
        if (entry->what != what || entry->rank != rank || (what != DEAD && what != STARTED && entry->peer != peer))
            continue;
        if (count++ == 0 && out_first != NULL)
            *out_first = *entry;
    }
    return count;
}

#endif
