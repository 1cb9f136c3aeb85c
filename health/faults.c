#include "health/faults.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_BYTES_MAX = 32 };

static const uint64_t duration_ns_max = GSRT_DRILL_MS_MAX * UINT64_C(1000000);

typedef enum fault_state { WAITING, DUE, AGAIN, DONE } fault_state;

typedef struct entry {
    fault_state state;
    uint32_t done_count;
    uint32_t incarnation; /* AGAIN: of its rank when it was done last */
    bool is_inherited;    /* AGAIN: an earlier leader has done it; how often is seen when the rank is a member */
} entry;

struct gsrt_faults {
    const gsrt_fault *faults;
    entry *entries; /* [count] */
    uint32_t count, rank_count;
    uint32_t epoch;         /* of the last view; 0: none yet */
    uint32_t *incarnations; /* [rank_count] with which each was a member last; 0 before any view */
};

const char *gsrt_fault_kind_name(gsrt_fault_kind kind)
{
    switch (kind) {
    case GSRT_FAULT_KILL: return "kill";
    case GSRT_FAULT_STOP: return "stop";
    case GSRT_FAULT_PARTITION: return "partition";
    case GSRT_FAULT_SLOW: return "slow";
    case GSRT_FAULT_CORRUPT: return "corrupt";
    }
    return "?";
}

/* ---- check ---- */

static bool is_kind_legal(const gsrt_fault *fault)
{
    bool is_kill = fault->kind == GSRT_FAULT_KILL, is_slow = fault->kind == GSRT_FAULT_SLOW;
    bool is_partition = fault->kind == GSRT_FAULT_PARTITION, is_corrupt = fault->kind == GSRT_FAULT_CORRUPT;
    if (!is_kill && !is_slow && !is_partition && !is_corrupt && fault->kind != GSRT_FAULT_STOP)
        return false;
    bool is_factor_legal = is_slow
                               ? isfinite(fault->factor) && fault->factor > 1 && fault->factor <= GSRT_FAULT_FACTOR_MAX
                               : fault->factor == 0;
    bool is_duration_legal = is_kill || is_corrupt ? fault->duration_ns == 0
                                                   : fault->duration_ns >= 1 && fault->duration_ns <= duration_ns_max;
    bool is_times_legal = is_kill ? fault->times >= 1 && fault->times <= GSRT_FAULT_TIMES_MAX : fault->times == 0;
    return is_factor_legal && is_duration_legal && is_times_legal && (fault->sides != NULL) == is_partition &&
           fault->rank < GSRT_RANK_COUNT_MAX && (!is_partition || fault->rank == 0);
}

/* The highest rank that a fault names. */
static uint32_t highest_rank(const gsrt_fault *fault)
{
    if (fault->kind != GSRT_FAULT_PARTITION)
        return fault->rank;
    uint32_t highest = 0;
    for (uint32_t rank = 0; rank < GSRT_RANK_COUNT_MAX; rank++) {
        if (fault->sides[rank] != 0)
            highest = rank;
    }
    return highest;
}

static bool has_two_sides(const gsrt_fault *fault, uint32_t rank_count)
{
    for (uint32_t rank = 1; rank < rank_count; rank++) {
        if (fault->sides[rank] != fault->sides[0])
            return true;
    }
    return false;
}

static gsrt_status check_one(const gsrt_fault *fault, uint32_t rank_count, const char *file, const char *place,
                             gsrt_diag *diag)
{
    if (!is_kind_legal(fault) || !gsrt_moment_is_legal(&fault->when))
        return gsrt_diag_set(
            diag, GSRT_EINPUT, file, place,
            "is no fault: a value is past its limits, or belongs to another kind; see docs/scenario.md");
    uint32_t highest = highest_rank(fault);
    if (highest >= rank_count)
        return gsrt_diag_set(diag, GSRT_EINFEASIBLE, file, place,
                             "names rank %" PRIu32 " and so needs %" PRIu32 " ranks, but there %s %" PRIu32
                             "; start more ranks (mpirun -n %" PRIu32 ") or name another",
                             highest, highest + 1, rank_count == 1 ? "is" : "are", rank_count, highest + 1);
    if (fault->kind == GSRT_FAULT_PARTITION && !has_two_sides(fault, rank_count))
        return gsrt_diag_set(diag, GSRT_EINFEASIBLE, file, place,
                             "puts all %" PRIu32 " ranks on one side; start more ranks or leave one out of the group",
                             rank_count);
    return GSRT_OK;
}

gsrt_status gsrt_faults_check(const gsrt_fault *faults, uint32_t count, uint32_t rank_count, const char *file,
                              gsrt_diag *diag)
{
    if (count > GSRT_FAULT_COUNT_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "faults", "%" PRIu32 " faults; at most %d are allowed", count,
                             GSRT_FAULT_COUNT_MAX);
    for (uint32_t i = 0; i < count; i++) {
        char place[PLACE_BYTES_MAX];
        (void)snprintf(place, sizeof place, "faults[%" PRIu32 "]", i);
        gsrt_status status = check_one(&faults[i], rank_count, file, place, diag);
        if (status != GSRT_OK)
            return status;
    }
    return GSRT_OK;
}

/* ---- the machine ---- */

gsrt_status gsrt_faults_create(const gsrt_fault *faults, uint32_t count, uint32_t rank_count, gsrt_faults **out)
{
    if (rank_count == 0 || rank_count > GSRT_RANK_COUNT_MAX ||
        gsrt_faults_check(faults, count, rank_count, NULL, NULL) != GSRT_OK)
        return GSRT_EINVAL;
    gsrt_faults *machine = calloc(1, sizeof *machine);
    if (machine == NULL)
        return GSRT_ENOMEM;
    *machine = (gsrt_faults){.faults = faults,
                             .entries = calloc(count == 0 ? 1 : count, sizeof *machine->entries),
                             .count = count,
                             .rank_count = rank_count,
                             .incarnations = calloc(rank_count, sizeof *machine->incarnations)};
    if (machine->entries == NULL || machine->incarnations == NULL) {
        (void)gsrt_faults_free(machine);
        return GSRT_ENOMEM;
    }
    *out = machine;
    return GSRT_OK;
}

gsrt_faults *gsrt_faults_free(gsrt_faults *machine)
{
    if (machine != NULL) {
        free(machine->entries);
        free(machine->incarnations);
        free(machine);
    }
    return NULL;
}

void gsrt_faults_skip(gsrt_faults *machine, const uint32_t *token_counts, uint32_t request_count, uint64_t now_ns,
                      uint32_t epoch)
{
    for (uint32_t i = 0; i < machine->count; i++) {
        const gsrt_fault *fault = &machine->faults[i];
        entry *e = &machine->entries[i];
        if (!gsrt_moment_is_past(&fault->when, token_counts, request_count, now_ns, epoch))
            continue;
        e->done_count = 1;
        e->is_inherited = fault->times > 1;
        e->state = e->is_inherited ? AGAIN : DONE;
    }
}

void gsrt_faults_token(gsrt_faults *machine, uint32_t request, uint32_t token_count)
{
    for (uint32_t i = 0; i < machine->count; i++) {
        if (machine->entries[i].state == WAITING &&
            gsrt_moment_has_come_by_token(&machine->faults[i].when, request, token_count))
            machine->entries[i].state = DUE;
    }
}

void gsrt_faults_time(gsrt_faults *machine, uint64_t now_ns)
{
    for (uint32_t i = 0; i < machine->count; i++) {
        if (machine->entries[i].state == WAITING && gsrt_moment_has_come_by_time(&machine->faults[i].when, now_ns))
            machine->entries[i].state = DUE;
    }
}

/* A kill that waits for its rank, which is a member now. An inherited one was done to each earlier incarnation, and has
 * at least once been tried. */
static void kill_again(const gsrt_fault *fault, entry *e, uint32_t incarnation)
{
    if (e->is_inherited) {
        e->is_inherited = false;
        e->done_count = incarnation > 1 ? incarnation : 1;
        e->incarnation = incarnation > 0 ? incarnation - 1 : 0;
    }
    if (e->done_count >= fault->times)
        e->state = DONE;
    else if (incarnation > e->incarnation)
        e->state = DUE;
}

void gsrt_faults_view(gsrt_faults *machine, uint32_t epoch, const uint32_t *incarnations)
{
    if (epoch <= machine->epoch)
        return;
    machine->epoch = epoch;
    for (uint32_t rank = 0; rank < machine->rank_count; rank++) {
        if (incarnations[rank] != GSRT_NOT_A_MEMBER)
            machine->incarnations[rank] = incarnations[rank];
    }
    for (uint32_t i = 0; i < machine->count; i++) {
        const gsrt_fault *fault = &machine->faults[i];
        entry *e = &machine->entries[i];
        if (e->state == WAITING && gsrt_moment_has_come_by_view(&fault->when, epoch))
            e->state = DUE;
        else if (e->state == AGAIN && incarnations[fault->rank] != GSRT_NOT_A_MEMBER)
            kill_again(fault, e, incarnations[fault->rank]);
    }
}

bool gsrt_faults_poll(gsrt_faults *machine, uint32_t *out_index)
{
    for (uint32_t i = 0; i < machine->count; i++) {
        const gsrt_fault *fault = &machine->faults[i];
        entry *e = &machine->entries[i];
        if (e->state != DUE)
            continue;
        e->done_count++;
        e->state = e->done_count < fault->times ? AGAIN : DONE;
        e->incarnation = machine->incarnations[fault->rank];
        *out_index = i;
        return true;
    }
    return false;
}

uint64_t gsrt_faults_next_ns(const gsrt_faults *machine)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < machine->count; i++) {
        const gsrt_moment *when = &machine->faults[i].when;
        if (machine->entries[i].state == WAITING && when->kind == GSRT_MOMENT_TIME && when->at_ns < next)
            next = when->at_ns;
    }
    return next;
}
