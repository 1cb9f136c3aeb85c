/* Inside of the keeper; only launch/keeper*.c include it. */
#ifndef GSRT_LAUNCH_KEEPER_IMPL_H
#define GSRT_LAUNCH_KEEPER_IMPL_H

#include "base/limits.h"
#include "launch/keeper.h"
#include "launch/output.h"
#include "mailbox/channel.h"
#include "mailbox/note.h"
#include "mailbox/visit.h"

#include <poll.h>
#include <signal.h>
#include <sys/types.h>

enum { GSRT__KEEPER_GUEST_COUNT_MAX = 16 };

/* The worker's descriptors, as numbers, in the environment of the worker only:
 * pipe, channel, listener, ticket (-1: none), port of the keeper, incarnation, is its standard output a terminal. */
#define GSRT__KEEPER_VARIABLE "GSRT_WORKER"
enum { GSRT__KEEPER_NUMBER_COUNT = 7 };

/* Next incarnations within the window. */
typedef struct gsrt__keeper_budget {
    uint32_t max, count;
    uint64_t taken_ms[GSRT_KEEPER_RESTARTS_MAX]; /* when; a ring */
} gsrt__keeper_budget;

typedef struct gsrt__keeper {
    char **argv;
    sigset_t mask; /* of signals, before this one blocked some */
    uint32_t window_ms;
    bool has_own_restarts, has_own_window; /* by its environment, which the worker does not change */
    gsrt__keeper_budget restarts;          /* of workers that died */
    gsrt__keeper_budget agains;            /* of workers that asked for their next incarnation */
    int signals, listener, worker_listener;
    uint16_t port, worker_port;
    gsrt_place place; /* of this host */
    /* the worker */
    pid_t worker; /* 0: none */
    int pipe_end, channel;
    uint32_t incarnation;
    gsrt_channel_reader reader;
    gsrt_output output;
    bool must_say_deposited;
    bool was_asked;                     /* a signal was passed on: there will be no next one */
    uint64_t kill_at_ms;                /* patience ends; UINT64_MAX: never */
    bool was_ordered;                   /* to be killed */
    uint64_t refused_ms;                /* when it first was not; 0: never */
    uint64_t continue_at_ms;            /* a drill's end; UINT64_MAX: none */
    uint64_t slow_until_ms;             /* a drill's end; 0: none */
    uint32_t slow_run_ms, slow_stop_ms; /* in turns */
    uint64_t slow_turn_ms;              /* the next change */
    bool is_slow_stopped;
    bool is_finished; /* the run is over */
    bool has_end;     /* and the worker's patience is counted */
    int finished_code;
    /* what it gave */
    bool has_ticket;
    gsrt_buffer ticket_bytes;
    gsrt_ticket ticket; /* borrows from ticket_bytes */
    gsrt_secret secret;
    /* the word of its death */
    bool has_word;
    gsrt_keeper_word word;
    uint64_t say_again_ms;  /* UINT64_MAX: never */
    uint64_t last_heard_ms; /* that somebody else lives */
    gsrt_visit *words;      /* [rank_count] under way */
    uint32_t word_count;
    gsrt_visit guests[GSRT__KEEPER_GUEST_COUNT_MAX];
    uint32_t guest_count;
} gsrt__keeper;

/* keeper_desk.c: what others say to it, and it to them */
void gsrt__keeper_say_word(gsrt__keeper *k, bool is_new); /* to all; is_new: what was under way is void */
/* Fill pollfds; the number of them, at most GSRT__KEEPER_GUEST_COUNT_MAX + 1 + rank_count. */
uint32_t gsrt__keeper_desk_poll(gsrt__keeper *k, struct pollfd *out);
uint64_t gsrt__keeper_desk_due_ms(const gsrt__keeper *k);
void gsrt__keeper_desk_work(gsrt__keeper *k); /* whatever can be done now */
void gsrt__keeper_desk_fini(gsrt__keeper *k);

#endif
