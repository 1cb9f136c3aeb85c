/* A seat: what one incarnation of one rank holds in a run, in either world: its root (rank.h), its member actor, and
 * what it needs when it comes to lead. The worlds differ in what they give it: a node, keepers, where the run
 * directory lies, and how the report is made beside the node (run.c, twin_run.c).
 * Legal order: start, run the node, free the node, stop. Node's thread.
 */
#ifndef GSRT_LAUNCH_SEAT_H
#define GSRT_LAUNCH_SEAT_H

#include "health/member_actor.h"
#include "launch/healing.h"

typedef struct gsrt_seat_options {
    const gsrt_options *options; /* borrowed, like all pointers here */
    const gsrt_scenario *scenario;
    const gsrt_loaded *loaded;
    const char *const *hosts; /* [rank_count]; NULL: unknown */
    const char *ucx;          /* lane in use, for the report; NULL: none */
    gsrt_keepers *keepers;    /* NULL: none */
    uint32_t incarnation;
    gsrt_span known_directory;  /* what the incarnation before knew of the run directory; empty: nothing */
    uint64_t start_ns, load_ns; /* when this process began, and what loading the model took */
    bool is_twin;
    const gsrt_terminal_options *terminal; /* where the run is shown; NULL: what this process has */
    void *arg;                             /* of all below */
    /* As gsrt_answers.on_token; NULL: nobody is told. */
    void (*on_token)(void *arg, const gsrt_msg_token *token, bool is_new);
    /* The membership of this rank is about to do this; NULL: nobody is told. */
    void (*on_membership)(void *arg, const gsrt_membership_action *action);
    /* Where the run directory is; NULL: no leader has created it yet. */
    const char *(*directory)(void *arg);
    /* This rank, the first leader, has created it. */
    gsrt_status (*on_created)(void *arg, const char *directory);
    /* The run has begun: open what this rank writes. */
    gsrt_status (*on_start)(void *arg, const char *directory, gsrt_diag *diag);
    /* Have nothing pass between this rank and those on other sides; NULL: this world has another way. */
    void (*on_cut_off)(void *arg, const uint32_t *sides, uint32_t duration_ms);
    /* This rank may not emit, now and then while that is so; NULL: nobody is told. */
    void (*on_fenced)(void *arg);
    /* Carry out a fault that keepers cannot; NULL: this world has no way to. */
    void (*do_fault)(void *arg, const gsrt_fault *fault);
    /* Every answer is complete: have gsrt_outcome_conclude run, then VERDICT posted to the root. */
    void (*conclude)(void *arg);
} gsrt_seat_options;

typedef struct gsrt_seat {
    gsrt_seat_options options;
    gsrt_node *node;
    gsrt_rank rank;
    gsrt_member member;
    gsrt_healing healing;
    gsrt_outcome outcome; /* prepared from the start, opened when this rank leads */
    gsrt_diag diag;       /* why this rank ended the run */
    bool is_concluding;
} gsrt_seat;

/* GSRT_OK | GSRT_EINPUT (a prompt; *seat->diag) | GSRT_ENOMEM. In any case gsrt_seat_stop follows. */
GSRT_MUST_CHECK gsrt_status gsrt_seat_start(gsrt_seat *seat, gsrt_node *node, const gsrt_seat_options *options);
/* After the node was freed. */
void gsrt_seat_stop(gsrt_seat *seat);

/* This rank led the view that it saw last. */
bool gsrt_seat_is_leading(const gsrt_seat *seat);
/* Report a run that came to no report by itself; only where this rank leads, and the run does not go on without this
 * incarnation. Returns the exit code. */
int gsrt_seat_conclude_early(gsrt_seat *seat, int exit_code);

#endif
