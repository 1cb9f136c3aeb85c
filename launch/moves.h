/* Moves of regions: which are due, the one that is going on, what became of each. On the leader; beside it the gateway,
 * which carries a move out (launch/gateway.c), and the scheduler, which says when (placement/scheduler_move.c).
 *
 *   a scenario's `moves`, or an order from outside --due--> begin --> done | refused | abandoned
 *   a role's own rank, back after a failure        -------^
 *
 * One at a time, in the order in which they came due, those of the way back last. What became of each is a line of
 * moves.jsonl, so that whoever leads next knows the plan that they have made: a view change begins from that one, not
 * from the scenario's. An order
 * (`gsrt-launch move`) is a file in the run directory, "move": there because whoever may write there may decide what
 * the run does anyway, and every leader finds it. It is removed after its line was written, so that an order whose
 * leader dies is tried again by the next.
 *
 * Node's thread. Legal order: open, view, (events, begin, done and refuse in any number), ..., fini.
 */
#ifndef GSRT_LAUNCH_MOVES_H
#define GSRT_LAUNCH_MOVES_H

#include "launch/report.h"
#include "launch/run_directory.h"
#include "launch/scenario.h"
#include "launch/terminal.h"
#include "placement/fallback.h"

/* What is asked for. */
typedef struct gsrt_move {
    uint32_t stage, member, to;
    uint64_t order; /* that it is; 0: none */
    bool is_way_back;
} gsrt_move;

typedef enum gsrt__move_state { GSRT__MOVE_WAITING, GSRT__MOVE_DUE, GSRT__MOVE_PAST } gsrt__move_state;

typedef struct gsrt_moves {
    const gsrt_scenario *scenario; /* borrowed, like the next two */
    gsrt_run_directory *directory;
    gsrt_terminal *terminal;
    gsrt_plan *plan;          /* the scenario's, with what has been moved; owned */
    gsrt_plan *last;          /* that is carried out, or was in the last view that this rank led; NULL: none; owned */
    uint32_t last_epoch;      /* of that view */
    uint32_t *last_members;   /* [GSRT_RANK_COUNT_MAX] the incarnations of its members; owned */
    bool is_way_back_refused; /* in this view */
    gsrt__move_state *states; /* [scenario->move_count]; owned */
    gsrt_report_move *done;   /* [done_count] what became of each; owned */
    uint32_t done_count;
    /* the one that is going on */
    bool is_going_on;
    gsrt_move now;
    uint32_t from;
    /* the order that is there */
    bool has_order;
    gsrt_move order;
} gsrt_moves;

/* This rank comes to lead: take up what became of earlier ones. GSRT_OK | GSRT_EINPUT: moves.jsonl is not what a leader
 * writes (*diag) | GSRT_EIO | GSRT_ENOMEM. In any case gsrt_moves_fini. */
GSRT_MUST_CHECK gsrt_status gsrt_moves_open(gsrt_moves *moves, const gsrt_scenario *scenario,
                                            gsrt_run_directory *directory, gsrt_terminal *terminal, gsrt_diag *diag);
void gsrt_moves_fini(gsrt_moves *moves); /* zeroed is fine */

/* The moment of some has gone by before this rank came to lead (health/moment.h). */
void gsrt_moves_skip(gsrt_moves *moves, const uint32_t *token_counts, uint32_t request_count, uint64_t run_ns,
                     uint32_t epoch);
/* The plan of view `epoch` for these members: incarnations [rank_count], GSRT_NOT_A_MEMBER of the others. That of the
 * view before, where this rank led it and it has lost nobody with a role: whoever has come back takes its own role
 * later, by a move, while tokens go on. Else that for whoever is there (placement/fallback.h). *out owned. Errors as
 * gsrt_plan_without. */
GSRT_MUST_CHECK gsrt_status gsrt_moves_choose(const gsrt_moves *moves, uint32_t epoch, const uint32_t *incarnations,
                                              uint32_t rank_count, gsrt_plan **out, gsrt_way *out_way);
/* `plan` of view `epoch` is carried out from now on. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_moves_begun(gsrt_moves *moves, const gsrt_plan *plan, uint32_t epoch,
                                             const uint32_t *incarnations, uint32_t rank_count);

/* Events: as gsrt_faults_token, gsrt_faults_time, gsrt_faults_view. */
void gsrt_moves_token(gsrt_moves *moves, uint32_t request, uint32_t token_count);
void gsrt_moves_time(gsrt_moves *moves, uint64_t run_ns);
void gsrt_moves_view(gsrt_moves *moves, uint32_t epoch);
/* When the next waits for a time; UINT64_MAX: none. */
uint64_t gsrt_moves_next_ns(const gsrt_moves *moves);
/* Is there an order? A look at the directory. */
void gsrt_moves_look(gsrt_moves *moves);

/* The next that is due and possible in `plan`, that of the view; what is not is refused. is_member [rank_count]: who is
 * in the view. It goes on from here. false: none, or one goes on already. */
bool gsrt_moves_begin(gsrt_moves *moves, const gsrt_plan *plan, const bool *is_member, uint32_t rank_count,
                      gsrt_move *out);
/* It is done: the steps were held for pause_ns. */
void gsrt_moves_done(gsrt_moves *moves, uint64_t pause_ns, uint64_t bytes);
/* It came to nothing; nothing to do where none goes on. is_refused: it could not begin. */
void gsrt_moves_failed(gsrt_moves *moves, bool is_refused, const char *why);

/* Would this be a move? NULL: yes; else why not, static or in `room`. */
const char *gsrt_move_why_not(const gsrt_move *move, const gsrt_plan *plan, const gsrt_plan *full,
                              const bool *is_member, uint32_t rank_count, char *room, size_t room_bytes);

/* ---- lines and orders (launch/moves_file.c) ---- */

/* Append one line of moves.jsonl. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_move_write_line(const gsrt_report_move *move, gsrt_buffer *out);
/* A line without its newline, hostile input. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_move_read_line(gsrt_span line, gsrt_report_move *out, gsrt_diag *diag);
/* An order, hostile input; `file` names it. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_move_parse_order(gsrt_span bytes, const char *file, gsrt_move *out, gsrt_diag *diag);
/* The order in the directory. GSRT_OK | GSRT_ENOTFOUND | GSRT_EINPUT | GSRT_EIO | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_move_read_order(gsrt_run_directory *directory, gsrt_move *out, gsrt_diag *diag);

#endif
