/* Paxos for the next view, among the members of this one.
 *
 * W is the weight of all members, X the members with a testament (dead, and all that they accepted is known), c the
 * claim in the ballot. A value may be proposed when the members Q that promised satisfy
 *     2 (w(Q) + w(X)) > W + c          the testaments stand for promises: the dead accept nothing more
 * and is decided when the members Q' that accepted satisfy
 *     2 w(Q') > W - c
 * With c = w(X) both say: more than half of the members that are left. Claims only rise with ballots, so for any two
 * ballots b <= b' the sum of (2) for b and (1) for b' exceeds 2 W: some member of Q' of b is in Q or X of b', and what
 * it accepted is reported there. From here on it is Paxos. A claim above w(X), taken over from a ballot of somebody who
 * knew of more deaths, makes (1) harder, not wrong.
 */
#include "health/membership_impl.h"

enum {
    INDEX_MAX = 7,
    ROUNDS_MAX = 4, /* after which the patience with another proposer grows no more */
};

static uint32_t weight_of(const gsrt_membership *machine, bool (*is_counted)(const gsrt_membership *, uint32_t))
{
    uint32_t weight = 0, lowest = gsrt__lowest(&machine->view);
    for (uint32_t rank = 0; rank < machine->view.rank_count; rank++)
        if (machine->view.incarnations[rank] != GSRT_NOT_A_MEMBER && is_counted(machine, rank))
            weight += rank == lowest ? 3 : 2;
    return weight;
}

static bool has_voted(const gsrt_membership *machine, uint32_t rank)
{
    return machine->peers[rank].has_voted;
}

static bool has_promised(const gsrt_membership *machine, uint32_t rank)
{
    return machine->peers[rank].has_voted || gsrt__has_testament(machine, rank);
}

/* May still vote. */
static bool may_answer(const gsrt_membership *machine, uint32_t rank)
{
    const gsrt__peer *peer = &machine->peers[rank];
    return rank == machine->options.rank ||
           (!gsrt__is_dead(machine, rank) && !peer->is_suspected && !peer->is_unreachable);
}

static bool may_promise(const gsrt_membership *machine, uint32_t rank)
{
    return may_answer(machine, rank) || gsrt__has_testament(machine, rank);
}

static bool may_accept(const gsrt_membership *machine, uint32_t rank)
{
    return rank == machine->options.rank || !gsrt__is_dead(machine, rank) || machine->peers[rank].has_voted;
}

static bool is_enough_to_propose(const gsrt_membership *machine, uint32_t weight, uint32_t claim)
{
    return 2 * weight > gsrt__weight_all(machine) + claim;
}

static bool is_enough_to_decide(const gsrt_membership *machine, uint32_t weight, uint32_t claim)
{
    return 2 * weight + claim > gsrt__weight_all(machine);
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t next_claim(const gsrt_membership *machine)
{
    uint32_t claim = gsrt__weight_testaments(machine);
    claim = max_u32(claim, gsrt__ballot_claim(machine->promised_ballot));
    return max_u32(claim, gsrt__ballot_claim(machine->seen_ballot));
}

/* Leave the turn to the owner of this ballot for a while: the smaller our rank, the shorter; and twice as long in each
 * round, because where messages take longer than that, two would outbid each other for ever. */
static void yield_to(gsrt_membership *machine, uint64_t ballot)
{
    uint32_t index = 1;
    for (uint32_t rank = 0; rank < machine->options.rank && index <= INDEX_MAX; rank++)
        index += machine->view.incarnations[rank] != GSRT_NOT_A_MEMBER ? 1 : 0;
    uint32_t round = gsrt__ballot_round(ballot);
    uint64_t patience_ns = (index * machine->options.takeover_ns << (round < ROUNDS_MAX ? round : ROUNDS_MAX)) / 2;
    machine->stage = GSRT__IDLE;
    machine->not_before_ns = gsrt__is_dead(machine, gsrt__ballot_rank(ballot)) ? 0 : machine->now_ns + patience_ns;
}

static void send_to_members(gsrt_membership *machine, gsrt_membership_message_type type)
{
    for (uint32_t rank = 0; rank < machine->view.rank_count; rank++)
        if (machine->view.incarnations[rank] != GSRT_NOT_A_MEMBER && !gsrt__is_dead(machine, rank) &&
            !machine->peers[rank].has_voted)
            gsrt__send(machine, rank, type);
    machine->retry_ns = machine->now_ns + machine->options.retry_ns;
}

static void begin_stage(gsrt_membership *machine, gsrt__membership_stage stage)
{
    machine->stage = stage;
    for (uint32_t rank = 0; rank < machine->view.rank_count; rank++)
        machine->peers[rank].has_voted = false;
}

static void promise(gsrt_membership *machine, uint64_t ballot)
{
    if (machine->promised_ballot == 0) {
        machine->promised_ns = machine->now_ns;
        for (uint32_t rank = 0; rank < machine->view.rank_count; rank++)
            machine->peers[rank].sends &= ~(1u << GSRT_MEMBERSHIP_PONG);
    }
#ifdef GSRT_PLANT_DOUBLE_VOTE
    if (ballot != machine->promised_ballot)
        machine->accepted_ballot = 0; /* forgets how it voted */
#endif
    machine->promised_ballot = ballot;
}

static void accept(gsrt_membership *machine, uint64_t ballot, const gsrt_membership_view *value)
{
    promise(machine, ballot);
    if (machine->accepted_ballot == ballot)
        return;
    if (machine->accepted_ballot == 0 || !gsrt__view_equal(&machine->accepted, value))
        machine->accepted_ns = machine->now_ns;
    machine->accepted_ballot = ballot;
    gsrt__view_copy(&machine->accepted, value);
}

/* What we want: the members that are not dead and can be reached, and those that ask to join. */
static void compose(gsrt_membership *machine)
{
    const gsrt_membership_view *view = &machine->view;
    gsrt_membership_view *next = &machine->proposal;
    /* a view that has not begun hands its wait on */
    *next = (gsrt_membership_view){
        .epoch = view->epoch + 1, .rank_count = view->rank_count, .is_leased = machine->now_ns < machine->start_ns};
    for (uint32_t rank = 0; rank < view->rank_count; rank++) {
        const gsrt__peer *peer = &machine->peers[rank];
        bool is_dead = gsrt__is_dead(machine, rank);
        bool is_kept = rank == machine->options.rank || (!is_dead && !peer->is_unreachable);
        next->incarnations[rank] = is_kept ? view->incarnations[rank] : GSRT_NOT_A_MEMBER;
        if (!is_kept && !is_dead && view->incarnations[rank] != GSRT_NOT_A_MEMBER)
            next->is_leased = true;
        if (peer->is_joining)
            next->incarnations[rank] = peer->join_incarnation;
    }
    uint32_t old = gsrt_membership_coordinator(view);
    if (old != gsrt_membership_coordinator(next) && !gsrt__is_dead(machine, old))
        next->is_leased = true;
}

static void decide_if_enough(gsrt_membership *machine)
{
    if (machine->stage != GSRT__ACCEPTING ||
        !is_enough_to_decide(machine, weight_of(machine, has_voted), gsrt__ballot_claim(machine->ballot)))
        return;
    gsrt_membership_view old;
    gsrt__view_copy(&old, &machine->view);
    gsrt__adopt(machine, &machine->proposal);
    for (uint32_t rank = 0; rank < old.rank_count; rank++)
        if (old.incarnations[rank] != GSRT_NOT_A_MEMBER || machine->view.incarnations[rank] != GSRT_NOT_A_MEMBER)
            gsrt__send(machine, rank, GSRT_MEMBERSHIP_DECIDED);
}

static void propose_if_enough(gsrt_membership *machine)
{
    if (machine->stage != GSRT__PREPARING ||
        !is_enough_to_propose(machine, weight_of(machine, has_promised), gsrt__ballot_claim(machine->ballot)))
        return;
    if (machine->late.epoch == machine->view.epoch + 1 && machine->late_ballot > machine->best_ballot) {
        machine->best_ballot = machine->late_ballot;
        gsrt__view_copy(&machine->best, &machine->late);
    }
    if (machine->best_ballot != 0)
        gsrt__view_copy(&machine->proposal, &machine->best);
    else
        compose(machine);
    begin_stage(machine, GSRT__ACCEPTING);
    accept(machine, machine->ballot, &machine->proposal); /* counts when the keeper has it */
    send_to_members(machine, GSRT_MEMBERSHIP_ACCEPT);
}

static void prepare(gsrt_membership *machine)
{
    uint32_t round = max_u32(gsrt__ballot_round(machine->promised_ballot), gsrt__ballot_round(machine->seen_ballot));
    round = max_u32(round, gsrt__ballot_round(machine->ballot));
    if (round >= GSRT__ROUND_MAX)
        return;
    machine->ballot = gsrt__ballot(next_claim(machine), round + 1, machine->options.rank);
    promise(machine, machine->ballot);
    machine->best_ballot = machine->accepted_ballot;
    if (machine->accepted_ballot != 0)
        gsrt__view_copy(&machine->best, &machine->accepted);
    begin_stage(machine, GSRT__PREPARING);
    machine->peers[machine->options.rank].has_voted = true;
    send_to_members(machine, GSRT_MEMBERSHIP_PREPARE);
    propose_if_enough(machine);
}

/* ---- messages; the sender is a member of our view, and means the next one ---- */

void gsrt__vote_prepare(gsrt_membership *machine, const gsrt_membership_message *message)
{
    if (message->ballot < machine->promised_ballot) {
        gsrt__send(machine, message->from_rank, GSRT_MEMBERSHIP_REJECT);
        return;
    }
    if (message->ballot > machine->promised_ballot) {
        promise(machine, message->ballot);
        yield_to(machine, message->ballot);
    }
    gsrt__send(machine, message->from_rank, GSRT_MEMBERSHIP_PROMISE);
}

void gsrt__vote_promise(gsrt_membership *machine, const gsrt_membership_message *message)
{
    if (machine->stage != GSRT__PREPARING || message->ballot != machine->ballot)
        return;
    machine->peers[message->from_rank].has_voted = true;
    if (message->accepted_ballot > machine->best_ballot) {
        machine->best_ballot = message->accepted_ballot;
        gsrt__view_copy(&machine->best, &message->value);
    }
    propose_if_enough(machine);
}

void gsrt__vote_reject(gsrt_membership *machine, const gsrt_membership_message *message)
{
    if (message->ballot > machine->seen_ballot)
        machine->seen_ballot = message->ballot;
    if (machine->stage != GSRT__IDLE && message->ballot > machine->ballot)
        yield_to(machine, message->ballot);
}

void gsrt__vote_accept(gsrt_membership *machine, const gsrt_membership_message *message)
{
    if (message->ballot < machine->promised_ballot) {
        gsrt__send(machine, message->from_rank, GSRT_MEMBERSHIP_REJECT);
        return;
    }
    if (message->ballot != machine->promised_ballot)
        yield_to(machine, message->ballot);
    accept(machine, message->ballot, &message->value);
    if (machine->held_epoch == machine->view.epoch + 1 && machine->held_ballot == message->ballot)
        gsrt__send(machine, message->from_rank, GSRT_MEMBERSHIP_ACCEPTED);
}

void gsrt__vote_accepted(gsrt_membership *machine, const gsrt_membership_message *message)
{
    if (machine->stage != GSRT__ACCEPTING || message->ballot != machine->ballot)
        return;
    machine->peers[message->from_rank].has_voted = true;
    decide_if_enough(machine);
}

void gsrt__vote_deposited(gsrt_membership *machine)
{
    uint32_t owner = gsrt__ballot_rank(machine->accepted_ballot);
    if (machine->accepted_ballot != machine->promised_ballot)
        return; /* a higher ballot was promised meanwhile; to report what was not accepted does no harm */
    if (owner != machine->options.rank) {
        gsrt__send(machine, owner, GSRT_MEMBERSHIP_ACCEPTED);
    } else if (machine->stage == GSRT__ACCEPTING && machine->ballot == machine->accepted_ballot) {
        machine->peers[owner].has_voted = true;
        decide_if_enough(machine);
    }
}

void gsrt__vote_words(gsrt_membership *machine)
{
    if (machine->promised_ballot != 0 && gsrt__is_dead(machine, gsrt__ballot_rank(machine->promised_ballot)))
        machine->not_before_ns = 0;
    bool is_stuck = machine->stage == GSRT__ACCEPTING &&
                    !is_enough_to_decide(machine, weight_of(machine, may_accept), gsrt__ballot_claim(machine->ballot));
    if (machine->stage == GSRT__PREPARING || is_stuck)
        machine->stage = GSRT__IDLE; /* again, without the dead */
}

/* ---- time ---- */

static bool is_change_due(const gsrt_membership *machine)
{
    if (machine->promised_ballot != 0)
        return true;
    for (uint32_t rank = 0; rank < machine->view.rank_count; rank++) {
        const gsrt__peer *peer = &machine->peers[rank];
        bool is_member = machine->view.incarnations[rank] != GSRT_NOT_A_MEMBER;
        if (peer->is_joining || (is_member && (peer->is_unreachable || gsrt__is_dead(machine, rank))))
            return true;
    }
    return false;
}

/* Until when the next incarnation of a dead member is waited for. */
static uint64_t hold_until(const gsrt_membership *machine)
{
    uint64_t until = 0;
    for (uint32_t rank = 0; rank < machine->view.rank_count; rank++) {
        const gsrt__peer *peer = &machine->peers[rank];
        if (peer->hold_ns > until && !peer->is_joining && gsrt__is_dead(machine, rank))
            until = peer->hold_ns;
    }
    return until;
}

bool gsrt__vote_is_feasible(const gsrt_membership *machine)
{
    uint32_t claim = next_claim(machine);
    return is_enough_to_propose(machine, weight_of(machine, may_promise), claim) &&
           is_enough_to_decide(machine, weight_of(machine, may_answer), claim);
}

static uint64_t turn_ns(const gsrt_membership *machine)
{
    uint64_t turn = machine->propose_ns, hold = hold_until(machine);
    turn = turn > machine->not_before_ns ? turn : machine->not_before_ns;
    return turn > hold ? turn : hold;
}

void gsrt__vote_advance(gsrt_membership *machine)
{
    bool was_due = machine->is_change_due;
    machine->is_change_due = is_change_due(machine);
    if (!machine->is_change_due) {
        machine->stage = GSRT__IDLE;
        return;
    }
    uint64_t turn = machine->now_ns + gsrt__position(machine, machine->options.rank) * machine->options.takeover_ns;
    if (!was_due || turn < machine->propose_ns)
        machine->propose_ns = turn;
    if (machine->stage != GSRT__IDLE) {
        if (machine->now_ns >= machine->retry_ns)
            send_to_members(machine,
                            machine->stage == GSRT__PREPARING ? GSRT_MEMBERSHIP_PREPARE : GSRT_MEMBERSHIP_ACCEPT);
    } else if (machine->now_ns >= turn_ns(machine) && gsrt__vote_is_feasible(machine)) {
        prepare(machine);
    }
}

uint64_t gsrt__vote_timer(const gsrt_membership *machine)
{
    if (machine->phase != GSRT__MEMBERSHIP_MEMBER || !machine->is_change_due)
        return UINT64_MAX;
    if (machine->stage != GSRT__IDLE)
        return machine->retry_ns;
    uint64_t turn = turn_ns(machine);
    return turn > machine->now_ns ? turn : UINT64_MAX; /* not feasible: an event must change that */
}
