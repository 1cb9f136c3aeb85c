/* The lease: who has had no contact with a quorum of its view for lease_ns, emits nothing.
 *
 * Contact is measured from when a ping left, and a member answers no ping of a view after it promised a ballot of the
 * next. The quorum here is the heavier half of all members, the dead included. So, by the sums of membership_vote.c,
 * each such quorum has a member among those that promised (and stopped confirming) or that died before the value was
 * proposed: lease_ns after a proposal was seen, nobody in the old view emits any more without knowing of the new one.
 */
#include "health/membership_impl.h"

#include <stdlib.h>

enum { DRIFT = 256 }; /* clocks run at the same rate within 1 / DRIFT */

typedef struct until {
    uint64_t ns;
    uint32_t weight;
} until;

static int latest_first(const void *a, const void *b)
{
    const until *x = a, *y = b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static uint64_t contact_of(const gsrt_membership *machine, uint32_t rank)
{
    if (rank != machine->options.rank)
        return machine->peers[rank].contact_ns;
    return (machine->promised_ballot != 0 ? machine->promised_ns : machine->now_ns) + machine->options.lease_ns;
}

/* Until when contact with a quorum holds; equal times make the order of the sort irrelevant. */
static uint64_t quorum_contact(const gsrt_membership *machine)
{
    until untils[GSRT_RANK_COUNT_MAX];
    uint32_t count = 0, weight = 0, lowest = gsrt__lowest(&machine->view), all = gsrt__weight_all(machine);
    for (uint32_t rank = 0; rank < machine->view.rank_count; rank++) {
        if (machine->view.incarnations[rank] == GSRT_NOT_A_MEMBER)
            continue;
        untils[count] = (until){.ns = contact_of(machine, rank), .weight = rank == lowest ? 3 : 2};
        weight += untils[count].ns > machine->now_ns ? untils[count].weight : 0;
        count++;
    }
    if (2 * weight <= all)
        return 0;
    qsort(untils, count, sizeof *untils, latest_first);
    weight = 0;
    for (uint32_t i = 0; i < count; i++) {
        weight += untils[i].weight;
        if (2 * weight > all)
            return untils[i].ns;
    }
    return 0;
}

/* Times only rise, so what was found before is never too late. */
static void refresh(gsrt_membership *machine)
{
    uint64_t contact = quorum_contact(machine);
    if (contact > machine->contact_ns)
        machine->contact_ns = contact;
}

void gsrt__contact_reset(gsrt_membership *machine)
{
    for (uint32_t rank = 0; rank < machine->view.rank_count; rank++)
        machine->peers[rank].contact_ns = machine->peers[rank].ping_back_ns = 0;
    machine->contact_ns = 0;
    machine->ping_ns = 0;
}

void gsrt__contact_pong(gsrt_membership *machine, const gsrt_membership_message *message)
{
    gsrt__peer *peer = &machine->peers[message->from_rank];
    if (message->time_ns > machine->now_ns)
        return;
    if (peer->is_unreachable && message->time_ns > peer->unreachable_ns)
        peer->is_unreachable = peer->is_suspected = false; /* the ping left after its keeper did not answer: it lives */
    uint64_t contact = message->time_ns + machine->options.lease_ns;
    if (contact > peer->contact_ns)
        peer->contact_ns = contact;
    if (machine->contact_ns < machine->now_ns + machine->options.lease_ns - machine->options.contact_ns)
        refresh(machine);
}

gsrt_membership_fence gsrt_membership_fenced(const gsrt_membership *machine, uint64_t now_ns)
{
    if (machine->phase == GSRT__MEMBERSHIP_LEFT)
        return GSRT_FENCE_LEFT;
    if (machine->view.epoch == 0)
        return GSRT_FENCE_NO_VIEW;
    if (machine->installed.epoch != machine->view.epoch)
        return GSRT_FENCE_CHANGING;
#ifdef GSRT_PLANT_NO_FENCING
    return GSRT_FENCE_NONE;
#endif
    if (now_ns < machine->start_ns)
        return GSRT_FENCE_LEASE;
    if (now_ns < machine->contact_ns)
        return GSRT_FENCE_NONE;
    if (machine->contact_ns == 0 && now_ns - machine->installed_ns < machine->options.lease_ns)
        return GSRT_FENCE_CHANGING;
    for (uint32_t rank = 0; rank < machine->view.rank_count; rank++)
        if (machine->peers[rank].is_unreachable && machine->view.incarnations[rank] != GSRT_NOT_A_MEMBER)
            return GSRT_FENCE_UNREACHABLE;
    return GSRT_FENCE_NO_QUORUM;
}

void gsrt__contact_advance(gsrt_membership *machine)
{
    uint64_t now = machine->now_ns;
    if (machine->phase == GSRT__MEMBERSHIP_JOINING && now >= machine->ping_ns) {
        for (uint32_t rank = 0; rank < machine->options.rank_count; rank++)
            gsrt__send(machine, rank, GSRT_MEMBERSHIP_JOIN);
        machine->ping_ns = now + machine->options.retry_ns;
    }
    if (machine->phase == GSRT__MEMBERSHIP_MEMBER && now >= machine->ping_ns) {
        refresh(machine);
        bool has_contact = now < machine->contact_ns;
        /* without contact everybody is asked: whoever is in a later view says so */
        for (uint32_t rank = 0; rank < machine->view.rank_count; rank++)
            if (!has_contact ||
                (machine->view.incarnations[rank] != GSRT_NOT_A_MEMBER && !gsrt__is_dead(machine, rank)))
                gsrt__send(machine, rank, GSRT_MEMBERSHIP_PING);
        machine->ping_ns = now + (has_contact ? machine->options.contact_ns : machine->options.retry_ns);
    }
    gsrt_membership_fence fence = gsrt_membership_fenced(machine, now);
    if (fence != machine->fence) {
        machine->fence = fence;
        machine->is_fence_due = true;
    }
}

uint64_t gsrt__contact_timer(const gsrt_membership *machine)
{
    if (machine->phase == GSRT__MEMBERSHIP_LEFT)
        return UINT64_MAX;
    uint64_t next = machine->ping_ns;
    if (machine->fence == GSRT_FENCE_NONE && machine->contact_ns > machine->now_ns && machine->contact_ns < next)
        next = machine->contact_ns;
    if (machine->fence == GSRT_FENCE_LEASE && machine->start_ns < next)
        next = machine->start_ns;
    return next;
}

/* A view begins `start_ns`: `seen_ns` is when its value was first seen. */
uint64_t gsrt__contact_start(const gsrt_membership *machine, bool is_leased, uint64_t seen_ns)
{
    uint64_t lease = machine->options.lease_ns;
#ifdef GSRT_PLANT_NO_FENCING
    lease = 0;
#endif
    return is_leased ? seen_ns + lease + lease / DRIFT + 1 : 0;
}
