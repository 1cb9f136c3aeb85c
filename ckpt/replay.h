/* Replay: the events of a trace are fed to its machines, made anew, and every action is compared with the recorded one,
 * byte by byte.
 *
 * A machine of an actor begins with its INIT frame. After each EVENT all its actions are drawn at once, as its actor
 * did, and must be the ACTION frames that follow, in order; whatever is left at the machine's next event, or at END, is
 * missing in the trace. The first difference of a machine is its last: what follows would only follow from it.
 *
 *     gsrt_replay_create(kinds, count, &replay);
 *     while ((status = gsrt_trace_next(&reader, &frame, &diag)) == GSRT_OK && gsrt_replay_feed(...) == GSRT_OK) ...
 *     gsrt_replay_account(replay), gsrt_replay_difference(replay);  gsrt_replay_free(replay);
 *
 * After a frame LOST the machines that had begun are not compared any more, because events of theirs are missing.
 * A trace is outside input: the events of a machine are decoded strictly, by its kind; nothing that they say is
 * believed. Memory: the machines, and the actions that one event leads to, at most GSRT_REPLAY_ACTIONS_BYTES_MAX.
 * Cost: that of the machines, and O(bytes). Thread: one. Test: tests/ckpt/replay_test.c.
 */
#ifndef GSRT_CKPT_REPLAY_H
#define GSRT_CKPT_REPLAY_H

#include "ckpt/trace.h"
#include "mailbox/address.h"

/* How machines of one kind are made and moved; bytes are msgpack, as they stand in the trace. */
typedef struct gsrt_replay_kind {
    const char *name; /* as in the frames; static */
    /* *out: owned by the replay, `destroy`. GSRT_OK | GSRT_EDECODE | GSRT_EINVAL | GSRT_ENOMEM. */
    gsrt_status (*create)(gsrt_span options, void **out);
    void (*destroy)(void *machine);
    /* GSRT_OK: draw its actions | GSRT_EDECODE: no such event | GSRT_ENOMEM | else: refused, and nothing follows. */
    gsrt_status (*step)(void *machine, gsrt_span event);
    /* Append the next action. GSRT_OK | GSRT_EEMPTY: no more until the next event | GSRT_ENOMEM | GSRT_ELIMIT. */
    gsrt_status (*draw)(void *machine, gsrt_buffer *out);
    /* What an action is called, "send"; static; NULL: unknown. */
    const char *(*action_name)(gsrt_span action);
} gsrt_replay_kind;

enum { GSRT_REPLAY_KIND_COUNT_MAX = 8 };

/* Of all machines of one kind, in this trace. */
typedef struct gsrt_replay_account {
    const char *name;
    uint64_t machine_count, event_count; /* events fed */
    uint64_t action_count;               /* recorded actions compared, equal or not */
    uint64_t skipped_count;    /* events and actions that could not be replayed after a loss or a difference */
    uint64_t difference_count; /* machines that differ */
} gsrt_replay_account;

/* Where a trace and its machines first disagree. */
typedef struct gsrt_replay_difference {
    uint64_t frame_number; /* of the recorded action, or where one is missing */
    uint64_t event_frame;  /* of the event that it follows from */
    gsrt_address actor;
    const char *machine; /* kind's name */
    /* Each is empty where there is none; for a person: name and values. */
    gsrt_span recorded, decided;
} gsrt_replay_difference;

typedef struct gsrt_replay gsrt_replay;

/* kinds [kind_count], at most GSRT_REPLAY_KIND_COUNT_MAX: borrowed as long as it lives. GSRT_OK | GSRT_EINVAL |
 * GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_replay_create(const gsrt_replay_kind *kinds, uint32_t kind_count, gsrt_replay **out);
gsrt_replay *gsrt_replay_free(gsrt_replay *replay); /* accepts NULL; returns NULL */

/* The next frame of the trace, as the reader gave it. GSRT_OK, also for a difference | GSRT_EINPUT: the frame cannot be
 * what a machine was fed (*diag names `file` and frame); no more after it | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_replay_feed(gsrt_replay *replay, const gsrt_trace_frame *frame, const char *file,
                                             gsrt_diag *diag);

/* [kind_count], in the order of the kinds; borrowed. */
const gsrt_replay_account *gsrt_replay_accounts(const gsrt_replay *replay);
/* The first of a kind, and of all; NULL: none so far. Borrowed until free. */
const gsrt_replay_difference *gsrt_replay_difference_of(const gsrt_replay *replay, uint32_t kind);
const gsrt_replay_difference *gsrt_replay_first_difference(const gsrt_replay *replay);
/* Machines that differ, of all kinds. */
uint64_t gsrt_replay_difference_count(const gsrt_replay *replay);
/* Frames of machines that no kind replays. */
uint64_t gsrt_replay_unknown_count(const gsrt_replay *replay);
/* Frames that the recorder lost. */
uint64_t gsrt_replay_lost_count(const gsrt_replay *replay);

#endif
