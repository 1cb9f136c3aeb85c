/* Faults that a run is asked to suffer, and the machine that says when each is due.
 *
 * A pure machine: no clock, no I/O; the same events in the same order give the same faults. The leader of a run has
 * one: it feeds what it emits, its time and its views, and has done what poll names (mailbox/keepers.h: a drill).
 *
 *   events    token (another token of a request was emitted), time, view (it has begun)
 *   actions   the index of a fault that is due, drawn with gsrt_faults_poll until none is left
 *
 * A fault:  WAITING -> DUE -> DONE                what it waits for: a token, a time, or a view
 *                       ^  `-> AGAIN -> DUE       kill with times > 1: until its rank is a member as a later
 * incarnation
 *
 * Each is due once, a kill `times` times. When the leader itself is lost, the next one makes its own machine and says
 * with gsrt_faults_skip what was due before it. How often a kill was then done already follows from its rank's
 * incarnation, because each incarnation before the present one has died: so a kill may be done fewer times than asked,
 * where something else ended its rank too, never more.
 *
 * Legal order: create, skip (at most once, first of all), events and polls, free.
 * Thread: the owner's. Memory: 16 bytes per fault and 4 per rank. Cost: an event O(faults), a view O(faults + ranks).
 */
#ifndef GSRT_HEALTH_FAULTS_H
#define GSRT_HEALTH_FAULTS_H

#include "base/diag.h"
#include "health/moment.h"
#include "mailbox/keepers.h"

typedef enum gsrt_fault_kind {
    GSRT_FAULT_KILL = 1,  /* its process is gone at once */
    GSRT_FAULT_STOP,      /* its process does not run for a while, and then goes on */
    GSRT_FAULT_PARTITION, /* ranks on different sides do not reach each other for a while */
    GSRT_FAULT_SLOW,      /* a rank takes `factor` times as long for a while */
    GSRT_FAULT_CORRUPT,   /* the narrowed weights of a rank are damaged: their scales are doubled */
} gsrt_fault_kind;
const char *gsrt_fault_kind_name(gsrt_fault_kind kind); /* "kill", "stop", "partition", "slow", "corrupt"; static */

/* Fields that say nothing about its kind are 0. */
typedef struct gsrt_fault {
    gsrt_fault_kind kind;
    uint32_t rank;        /* of all but partitions */
    uint32_t times;       /* kill: 1..GSRT_FAULT_TIMES_MAX */
    uint64_t duration_ns; /* of all but kills and corruptions: 1 .. GSRT_DRILL_MS_MAX */
    double factor;        /* slow: above 1, at most GSRT_FAULT_FACTOR_MAX */
    const uint8_t *sides; /* partition: [GSRT_RANK_COUNT_MAX], the number of each rank's side; 0: nobody named it */
    gsrt_moment when;
} gsrt_fault;

/* Check faults[count], whoever wrote them, for a job of rank_count ranks. `file` is named in *diag; places are the
 * scenario's ("faults[2]"). GSRT_OK | GSRT_EINPUT (a value that no fault can have) | GSRT_EINFEASIBLE (legal, but not
 * with so many ranks). O(count * ranks). */
GSRT_MUST_CHECK gsrt_status gsrt_faults_check(const gsrt_fault *faults, uint32_t count, uint32_t rank_count,
                                              const char *file, gsrt_diag *diag);

typedef struct gsrt_faults gsrt_faults;

/* faults [count], borrowed until free; NULL where count is 0. *out owned.
 * GSRT_OK | GSRT_EINVAL (gsrt_faults_check refuses them, or there are no ranks) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_faults_create(const gsrt_fault *faults, uint32_t count, uint32_t rank_count,
                                               gsrt_faults **out);
gsrt_faults *gsrt_faults_free(gsrt_faults *machine); /* accepts NULL; returns NULL */

/* An earlier leader had emitted token_counts[request_count] tokens when it was lost; the run is now_ns old; view
 * `epoch` is the one that begins. What was due at these tokens, at this time, or in a view before `epoch`, has been
 * done. */
void gsrt_faults_skip(gsrt_faults *machine, const uint32_t *token_counts, uint32_t request_count, uint64_t now_ns,
                      uint32_t epoch);

/* Event: `token_count` tokens of `request` have been emitted so far. Other requests than any fault's are legal. */
void gsrt_faults_token(gsrt_faults *machine, uint32_t request, uint32_t token_count);
/* Event: the run is now_ns old. */
void gsrt_faults_time(gsrt_faults *machine, uint64_t now_ns);
/* Event: view `epoch` has begun. incarnations [rank_count as created]: of its members; GSRT_NOT_A_MEMBER. One that is
 * not later than the last is ignored. */
void gsrt_faults_view(gsrt_faults *machine, uint32_t epoch, const uint32_t *incarnations);

/* The next fault that is due, in the order of the list; it counts as done. false: none until the next event. */
bool gsrt_faults_poll(gsrt_faults *machine, uint32_t *out_index);
/* When the next fault is due that waits for a time; UINT64_MAX: none. Nothing that is due already counts. */
uint64_t gsrt_faults_next_ns(const gsrt_faults *machine);

#endif
