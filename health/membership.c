#include "health/membership_impl.h"

#include <stdlib.h>

enum {
    TURNS = 8,         /* parts of a detection period, see turn_ns */
    AGAIN_PERIODS = 4, /* detection periods between two orders where they go to one after the other */
};

static const char *const fence_texts[] = {
    [GSRT_FENCE_NONE] = "nothing is in the way",
    [GSRT_FENCE_NO_VIEW] = "it has not been admitted to a view",
    [GSRT_FENCE_CHANGING] = "a view is being installed",
    [GSRT_FENCE_LEASE] = "the view waits until those that it leaves out have stopped",
    [GSRT_FENCE_NO_QUORUM] = "no contact with a quorum of the view for the length of the lease",
    [GSRT_FENCE_UNREACHABLE] = "no contact with a quorum of the view; keepers of silent members cannot be reached",
    [GSRT_FENCE_LEFT] = "a later view does not name it",
};

const char *gsrt_membership_fence_text(gsrt_membership_fence fence)
{
    return (unsigned)fence < sizeof fence_texts / sizeof *fence_texts ? fence_texts[fence] : "unknown";
}

static bool is_time(uint64_t ns)
{
    return ns >= 1 && ns <= GSRT_TIMEOUT_NS_MAX;
}

gsrt_status gsrt_membership_create(const gsrt_membership_options *options, gsrt_membership **out)
{
    if (options->rank_count < 1 || options->rank_count > GSRT_RANK_COUNT_MAX || options->rank >= options->rank_count ||
        options->incarnation == GSRT_NOT_A_MEMBER || !is_time(options->lease_ns) || !is_time(options->detection_ns) ||
        !is_time(options->retry_ns) || !is_time(options->takeover_ns) || !is_time(options->contact_ns) ||
        options->contact_ns > options->lease_ns)
        return GSRT_EINVAL;
    gsrt_membership_view first = {.epoch = 1, .rank_count = options->rank_count};
    for (uint32_t rank = 0; options->first != NULL && rank < options->rank_count; rank++)
        first.incarnations[rank] = options->first[rank];
    if (!gsrt__view_valid(&first, options->rank_count))
        return GSRT_EINVAL;
    gsrt_membership *machine = calloc(1, sizeof *machine);
    if (machine == NULL)
        return GSRT_ENOMEM;
    machine->options = *options;
    machine->options.first = NULL;
    machine->fence = GSRT_FENCE_NO_VIEW;
    machine->view.rank_count = machine->installed.rank_count = options->rank_count;
    for (uint32_t rank = 0; rank < options->rank_count; rank++)
        machine->view.incarnations[rank] = machine->installed.incarnations[rank] = GSRT_NOT_A_MEMBER;
    if (gsrt__is_member(&first, options->rank, options->incarnation))
        gsrt__adopt(machine, &first);
    *out = machine;
    return GSRT_OK;
}

gsrt_membership *gsrt_membership_free(gsrt_membership *machine)
{
    free(machine);
    return NULL;
}

const gsrt_membership_view *gsrt_membership_installed(const gsrt_membership *machine)
{
    return &machine->installed;
}

void gsrt__send(gsrt_membership *machine, uint32_t rank, gsrt_membership_message_type type)
{
    if (rank != machine->options.rank)
        machine->peers[rank].sends |= 1u << type;
}

static void leave(gsrt_membership *machine)
{
    machine->phase = GSRT__MEMBERSHIP_LEFT;
    machine->is_exit_due = true;
}

/* What was known about the peers, seen from the new view. */
static void turn_peers(gsrt_membership *machine, const gsrt_membership_view *view)
{
    for (uint32_t rank = 0; rank < view->rank_count; rank++) {
        gsrt__peer *peer = &machine->peers[rank];
        uint32_t incarnation = view->incarnations[rank];
        if (machine->view.incarnations[rank] != incarnation)
            peer->is_suspected = peer->is_unreachable = false;
        if (machine->view.incarnations[rank] != incarnation) {
            bool is_its = peer->next_word.is_known && peer->next_word.incarnation == incarnation;
            if (peer->word.is_known && !peer->next_word.is_known)
                peer->next_word = peer->word; /* it does not come back */
            peer->word = is_its ? peer->next_word : (gsrt__word_note){0};
        }
        if (incarnation != GSRT_NOT_A_MEMBER && peer->next_word.incarnation <= incarnation)
            peer->next_word = (gsrt__word_note){0};
        if (incarnation != GSRT_NOT_A_MEMBER && peer->join_incarnation <= incarnation)
            peer->is_joining = false;
        peer->hold_ns = 0;
        peer->has_voted = peer->is_relayed = false;
        peer->sends = 0;
    }
}

static void suspect(gsrt_membership *machine, uint32_t rank);

/* A later view was decided. */
void gsrt__adopt(gsrt_membership *machine, const gsrt_membership_view *view)
{
    if (view->epoch <= machine->view.epoch)
        return;
    uint32_t ours = view->incarnations[machine->options.rank];
    bool is_named = ours == machine->options.incarnation;
    if (machine->phase == GSRT__MEMBERSHIP_JOINING && !is_named) {
        if (ours != GSRT_NOT_A_MEMBER && ours > machine->options.incarnation)
            leave(machine);
        return;
    }
    bool is_seen = machine->accepted_ballot != 0 && gsrt__view_equal(&machine->accepted, view);
    machine->start_ns = gsrt__contact_start(machine, view->is_leased, is_seen ? machine->accepted_ns : machine->now_ns);
    turn_peers(machine, view);
    gsrt__view_copy(&machine->view, view);
    machine->promised_ballot = machine->accepted_ballot = machine->seen_ballot = machine->ballot = 0;
    machine->best_ballot = 0;
    machine->stage = GSRT__IDLE;
    machine->is_change_due = false;
    machine->not_before_ns = 0;
    if (!is_named) {
        leave(machine);
        return;
    }
    machine->phase = GSRT__MEMBERSHIP_MEMBER;
    gsrt__contact_reset(machine);
    for (uint32_t rank = 0; rank < view->rank_count; rank++)
        if (view->incarnations[rank] != GSRT_NOT_A_MEMBER && machine->peers[rank].is_joining)
            suspect(machine, rank); /* a later one is there: it is dead, and its word has still to be asked for */
}

/* Give the keeper what it is to hold next: first the view, then what was accepted for the one after it. */
static void deposit_advance(gsrt_membership *machine)
{
    if (machine->phase != GSRT__MEMBERSHIP_MEMBER || machine->given_epoch != 0)
        return;
    uint32_t epoch = machine->view.epoch;
    bool is_view_held =
        machine->held_epoch > epoch || (machine->held_epoch == epoch && machine->held_ballot == GSRT__BALLOT_FINAL);
    if (!is_view_held) {
        machine->given_epoch = epoch;
        machine->given_ballot = GSRT__BALLOT_FINAL;
    } else if (machine->accepted_ballot != 0 &&
               (machine->held_epoch <= epoch || machine->held_ballot != machine->accepted_ballot)) {
        machine->given_epoch = epoch + 1;
        machine->given_ballot = machine->accepted_ballot;
    }
    machine->is_deposit_due = machine->given_epoch != 0;
}

static void deposited(gsrt_membership *machine, uint32_t epoch)
{
    if (machine->given_epoch == 0 || epoch != machine->given_epoch)
        return;
    machine->held_epoch = machine->given_epoch;
    machine->held_ballot = machine->given_ballot;
    machine->given_epoch = 0;
    if (machine->phase != GSRT__MEMBERSHIP_MEMBER)
        return;
    if (machine->held_epoch == machine->view.epoch && machine->held_ballot == GSRT__BALLOT_FINAL) {
        gsrt__view_copy(&machine->installed, &machine->view);
        machine->installed_ns = machine->now_ns;
        machine->is_install_due = true;
    } else if (machine->held_epoch == machine->view.epoch + 1 && machine->held_ballot == machine->accepted_ballot) {
        gsrt__vote_deposited(machine);
    }
}

/* A part of the detection period that neighbours among the members do not share. Two that suspect each other since the
 * same instant, when the link between them broke, would else order each other's end at the same instant, and both die.
 */
static uint64_t turn_ns(const gsrt_membership *machine)
{
    uint32_t seat = 0;
    for (uint32_t rank = 0; rank < machine->options.rank; rank++)
        seat += machine->view.incarnations[rank] != GSRT_NOT_A_MEMBER;
    return machine->options.detection_ns / TURNS * (seat % TURNS);
}

/* It is silent: have its keeper end it, at once if we are the first to propose, else a detection period later. */
static void suspect(gsrt_membership *machine, uint32_t rank)
{
    gsrt__peer *peer = &machine->peers[rank];
    if (peer->is_suspected)
        return;
    peer->is_suspected = true;
    bool is_first = gsrt__position(machine, machine->options.rank) == 0;
    peer->ask_ns = machine->now_ns + (is_first ? 0 : machine->options.detection_ns) + turn_ns(machine);
}

/* Suspected, and no word yet. */
static bool is_to_be_asked(const gsrt_membership *machine, uint32_t rank)
{
    const gsrt__peer *peer = &machine->peers[rank];
    return peer->is_suspected && machine->view.incarnations[rank] != GSRT_NOT_A_MEMBER && !peer->word.is_known;
}

static void ask(gsrt_membership *machine, uint32_t rank)
{
    machine->peers[rank].is_to_end = true;
    machine->peers[rank].ask_ns = machine->now_ns + machine->options.detection_ns;
}

/* Whether `rank` is asked when its turn has come, whoever else is. Those that could not be reached are not, and nobody
 * is where those that are not suspected are no majority: then it may be us who are cut off, the others may have gone on
 * without us, and all would die of us when the partition ends. */
static bool is_asked_at_once(const gsrt_membership *machine, uint32_t rank)
{
    return !machine->peers[rank].is_unreachable && gsrt__vote_is_feasible(machine);
}

/* The others one after the other. Of the first that is reached and dies, the word tells the view that it was in. */
static void ask_one(gsrt_membership *machine)
{
    uint32_t count = machine->view.rank_count;
    if (machine->now_ns < machine->again_ns)
        return;
    for (uint32_t i = 1; i <= count; i++) {
        uint32_t rank = (machine->again_rank + i) % count;
        if (is_asked_at_once(machine, rank) || !is_to_be_asked(machine, rank) ||
            machine->now_ns < machine->peers[rank].ask_ns)
            continue;
        ask(machine, rank);
        machine->again_rank = rank;
        machine->again_ns = machine->now_ns + AGAIN_PERIODS * machine->options.detection_ns;
        return;
    }
}

static void ask_advance(gsrt_membership *machine)
{
    for (uint32_t rank = 0; rank < machine->view.rank_count; rank++) {
        if (is_asked_at_once(machine, rank) && is_to_be_asked(machine, rank) &&
            machine->now_ns >= machine->peers[rank].ask_ns)
            ask(machine, rank);
    }
    ask_one(machine);
}

/* When the next order is due, if it is one to `rank`. */
static uint64_t ask_timer(const gsrt_membership *machine, uint32_t rank)
{
    const gsrt__peer *peer = &machine->peers[rank];
    if (!is_to_be_asked(machine, rank))
        return UINT64_MAX;
    return !is_asked_at_once(machine, rank) && peer->ask_ns < machine->again_ns ? machine->again_ns : peer->ask_ns;
}

static void join_asked(gsrt_membership *machine, uint32_t rank, uint32_t incarnation, bool is_relayed)
{
    gsrt__peer *peer = &machine->peers[rank];
    uint32_t member = machine->view.incarnations[rank];
    if (rank == machine->options.rank) {
        if (incarnation > machine->options.incarnation)
            leave(machine); /* our keeper has started another one */
        return;
    }
    if (machine->phase != GSRT__MEMBERSHIP_MEMBER)
        return;
    if (member != GSRT_NOT_A_MEMBER && incarnation <= member) {
        gsrt__send(machine, rank, GSRT_MEMBERSHIP_DECIDED);
        return;
    }
    if ((peer->next_word.is_known && peer->next_word.incarnation >= incarnation) ||
        (peer->is_joining && peer->join_incarnation > incarnation))
        return; /* dead already */
    bool is_news = !gsrt__is_dead(machine, rank);
    peer->is_joining = true;
    peer->join_incarnation = incarnation;
    if (!is_relayed && gsrt__position(machine, machine->options.rank) > 0)
        peer->is_relayed = true;
    if (member != GSRT_NOT_A_MEMBER && is_news) {
        suspect(machine, rank); /* it is dead; its keeper's word says what it had accepted */
        gsrt__vote_words(machine);
    }
}

static void word_said(gsrt_membership *machine, const gsrt_keeper_word *word, uint64_t join_wait_ns)
{
    gsrt__peer *peer = &machine->peers[word->rank];
    uint32_t member = machine->view.incarnations[word->rank];
    if (word->rank == machine->options.rank) {
        if (word->incarnation > machine->options.incarnation)
            leave(machine);
        return;
    }
    gsrt__word_note note = {.is_known = true,
                            .incarnation = word->incarnation,
                            .epoch = word->deposit.epoch,
                            .ballot = word->deposit.ballot};
    bool is_new = false;
    if (word->incarnation == member) {
        is_new = !peer->word.is_known;
        if (is_new && !word->is_last && join_wait_ns != 0)
            peer->hold_ns = machine->now_ns + join_wait_ns;
        peer->word = note;
    } else if ((member == GSRT_NOT_A_MEMBER || word->incarnation > member) &&
               (!peer->next_word.is_known || word->incarnation > peer->next_word.incarnation)) {
        peer->next_word = note;
        is_new = member != GSRT_NOT_A_MEMBER && !peer->word.is_known;
        if (is_new)
            peer->word = note; /* the member died before that one, and its keeper still holds what it deposited */
    }
    if (peer->is_joining && peer->join_incarnation <= word->incarnation)
        peer->is_joining = false;
    const gsrt_deposit *deposit = &word->deposit;
    bool is_later = deposit->epoch > machine->late.epoch ||
                    (deposit->epoch == machine->late.epoch && deposit->ballot > machine->late_ballot);
    if (deposit->epoch > machine->view.epoch && deposit->ballot != 0 &&
        (is_later || deposit->ballot == GSRT__BALLOT_FINAL)) {
        /* whether it was leased is not known: to wait is never wrong */
        gsrt_membership_view view = {.epoch = deposit->epoch, .rank_count = deposit->rank_count, .is_leased = true};
        for (uint32_t rank = 0; rank < deposit->rank_count; rank++)
            view.incarnations[rank] = deposit->incarnations[rank];
        if (deposit->ballot == GSRT__BALLOT_FINAL) {
            gsrt__adopt(machine, &view);
        } else {
            machine->late_ballot = deposit->ballot;
            gsrt__view_copy(&machine->late, &view);
            is_new = true;
        }
    }
    if (is_new)
        gsrt__vote_words(machine);
}

static void pinged(gsrt_membership *machine, const gsrt_membership_message *message)
{
    gsrt__peer *peer = &machine->peers[message->from_rank];
    if (machine->promised_ballot == 0) {
        peer->pong_ns = message->time_ns;
        gsrt__send(machine, message->from_rank, GSRT_MEMBERSHIP_PONG);
    }
    if (peer->contact_ns > machine->now_ns || machine->now_ns < peer->ping_back_ns)
        return;
    /* it has come into this view; but where both have promised, no PONG ends an exchange of pings */
    gsrt__send(machine, message->from_rank, GSRT_MEMBERSHIP_PING);
    peer->ping_back_ns = machine->now_ns + machine->options.retry_ns;
}

static void received(gsrt_membership *machine, const gsrt_membership_message *message)
{
    uint32_t from = message->from_rank;
    if (message->type == GSRT_MEMBERSHIP_DECIDED) {
        gsrt__adopt(machine, &message->value);
        return;
    }
    if (message->type == GSRT_MEMBERSHIP_JOIN) {
        join_asked(machine, message->rank, message->incarnation, message->rank != from);
        return;
    }
    if (machine->phase != GSRT__MEMBERSHIP_MEMBER)
        return;
    if (message->epoch != machine->view.epoch) { /* who is behind, learns; when it is us, we ask */
        gsrt__send(machine, from,
                   message->epoch < machine->view.epoch ? GSRT_MEMBERSHIP_DECIDED : GSRT_MEMBERSHIP_PING);
        return;
    }
    if (!gsrt__is_member(&machine->view, from, message->from_incarnation))
        return;
    switch (message->type) {
    case GSRT_MEMBERSHIP_PREPARE: gsrt__vote_prepare(machine, message); break;
    case GSRT_MEMBERSHIP_PROMISE: gsrt__vote_promise(machine, message); break;
    case GSRT_MEMBERSHIP_REJECT: gsrt__vote_reject(machine, message); break;
    case GSRT_MEMBERSHIP_ACCEPT: gsrt__vote_accept(machine, message); break;
    case GSRT_MEMBERSHIP_ACCEPTED: gsrt__vote_accepted(machine, message); break;
    case GSRT_MEMBERSHIP_PING: pinged(machine, message); break;
    case GSRT_MEMBERSHIP_PONG: gsrt__contact_pong(machine, message); break;
    case GSRT_MEMBERSHIP_DECIDED:
    case GSRT_MEMBERSHIP_JOIN: break;
    }
}

static void advance(gsrt_membership *machine)
{
    if (machine->phase == GSRT__MEMBERSHIP_MEMBER) {
        ask_advance(machine);
        gsrt__vote_advance(machine);
        deposit_advance(machine);
    }
    gsrt__contact_advance(machine);
    uint64_t next = gsrt__vote_timer(machine), contact = gsrt__contact_timer(machine);
    next = contact < next ? contact : next;
    for (uint32_t rank = 0; machine->phase == GSRT__MEMBERSHIP_MEMBER && rank < machine->view.rank_count; rank++)
        if (ask_timer(machine, rank) < next)
            next = ask_timer(machine, rank);
    if (next != UINT64_MAX && (next != machine->timer_ns || machine->timer_ns <= machine->now_ns)) {
        machine->timer_ns = next;
        machine->is_timer_due = true;
    }
    machine->cursor = 0;
}

gsrt_status gsrt_membership_message_validate(const gsrt_membership_message *message, uint32_t rank_count)
{
    bool is_voting = message->type >= GSRT_MEMBERSHIP_PREPARE && message->type <= GSRT_MEMBERSHIP_ACCEPTED;
    bool is_owner = message->type == GSRT_MEMBERSHIP_PREPARE || message->type == GSRT_MEMBERSHIP_ACCEPT;
    if (message->type < GSRT_MEMBERSHIP_PREPARE || message->type > GSRT_MEMBERSHIP_JOIN ||
        message->from_rank >= rank_count || message->from_incarnation == GSRT_NOT_A_MEMBER ||
        message->rank >= rank_count || message->incarnation == GSRT_NOT_A_MEMBER || message->epoch == UINT32_MAX)
        return GSRT_EINVAL;
    if (is_voting != (message->ballot != 0) || (is_voting && message->epoch == 0))
        return GSRT_EINVAL;
    for (int i = 0; i < 2; i++) {
        uint64_t ballot = i == 0 ? message->ballot : message->accepted_ballot;
        if (gsrt__ballot_rank(ballot) >= rank_count || gsrt__ballot_round(ballot) > GSRT__ROUND_MAX ||
            gsrt__ballot_claim(ballot) > 2 * rank_count + 1)
            return GSRT_EINVAL;
    }
    if (is_owner && gsrt__ballot_rank(message->ballot) != message->from_rank)
        return GSRT_EINVAL;
    bool is_report = message->type == GSRT_MEMBERSHIP_PROMISE && message->accepted_ballot != 0;
    bool has_value = is_report || message->type == GSRT_MEMBERSHIP_ACCEPT || message->type == GSRT_MEMBERSHIP_DECIDED;
    if ((message->accepted_ballot != 0) != is_report || (message->value.epoch != 0) != has_value)
        return GSRT_EINVAL;
    if (has_value && (!gsrt__view_valid(&message->value, rank_count) ||
                      message->value.epoch != message->epoch + (message->type == GSRT_MEMBERSHIP_DECIDED ? 0u : 1u)))
        return GSRT_EINVAL;
    return GSRT_OK;
}

bool gsrt_membership_message_has_value(const gsrt_membership_message *message)
{
    return message->type == GSRT_MEMBERSHIP_ACCEPT || message->type == GSRT_MEMBERSHIP_DECIDED ||
           (message->type == GSRT_MEMBERSHIP_PROMISE && message->accepted_ballot != 0);
}

static bool is_valid_word(const gsrt_keeper_word *word, uint32_t rank_count)
{
    const gsrt_deposit *deposit = &word->deposit;
    return word->rank < rank_count && word->incarnation != GSRT_NOT_A_MEMBER && deposit->epoch < UINT32_MAX &&
           (deposit->epoch == 0 || deposit->rank_count == rank_count);
}

static gsrt_status validate(const gsrt_membership *machine, const gsrt_membership_event *event)
{
    uint32_t rank_count = machine->options.rank_count;
    switch (event->kind) {
    case GSRT_MEMBERSHIP_BEGIN:
    case GSRT_MEMBERSHIP_TICK:
    case GSRT_MEMBERSHIP_DEPOSITED: return GSRT_OK;
    case GSRT_MEMBERSHIP_SUSPECT:
    case GSRT_MEMBERSHIP_UNREACHABLE:
    case GSRT_MEMBERSHIP_JOIN_ASKED:
        return event->rank < rank_count && event->incarnation != GSRT_NOT_A_MEMBER ? GSRT_OK : GSRT_EINVAL;
    case GSRT_MEMBERSHIP_WORD:
        return is_valid_word(&event->word, rank_count) && event->join_wait_ns <= GSRT_TIMEOUT_NS_MAX ? GSRT_OK
                                                                                                     : GSRT_EINVAL;
    case GSRT_MEMBERSHIP_MESSAGE:
        return event->message.from_rank != machine->options.rank
                   ? gsrt_membership_message_validate(&event->message, rank_count)
                   : GSRT_EINVAL;
    }
    return GSRT_EINVAL;
}

gsrt_status gsrt_membership_step(gsrt_membership *machine, const gsrt_membership_event *event)
{
    gsrt_status status = event->now_ns <= GSRT_TIMEOUT_NS_MAX ? validate(machine, event) : GSRT_EINVAL;
    if (status != GSRT_OK)
        return status;
    if (event->now_ns > machine->now_ns)
        machine->now_ns = event->now_ns;
    if (machine->phase == GSRT__MEMBERSHIP_LEFT || machine->has_begun == (event->kind == GSRT_MEMBERSHIP_BEGIN))
        return GSRT_OK;
    gsrt__peer *peer = &machine->peers[event->rank % machine->options.rank_count];
    bool is_about_member =
        event->rank != machine->options.rank && gsrt__is_member(&machine->view, event->rank, event->incarnation);
    switch (event->kind) {
    case GSRT_MEMBERSHIP_BEGIN: machine->has_begun = true; break;
    case GSRT_MEMBERSHIP_TICK: break;
    case GSRT_MEMBERSHIP_SUSPECT:
        if (is_about_member)
            suspect(machine, event->rank);
        break;
    case GSRT_MEMBERSHIP_WORD: word_said(machine, &event->word, event->join_wait_ns); break;
    case GSRT_MEMBERSHIP_UNREACHABLE:
        if (is_about_member) {
            suspect(machine, event->rank);
            peer->is_unreachable = true;
            peer->unreachable_ns = machine->now_ns;
        }
        break;
    case GSRT_MEMBERSHIP_DEPOSITED: deposited(machine, event->epoch); break;
    case GSRT_MEMBERSHIP_JOIN_ASKED: join_asked(machine, event->rank, event->incarnation, false); break;
    case GSRT_MEMBERSHIP_MESSAGE: received(machine, &event->message); break;
    }
    advance(machine);
    return GSRT_OK;
}

/* ---- what is to be done ---- */

static void fill_message(const gsrt_membership *machine, uint32_t to, gsrt_membership_message_type type,
                         gsrt_membership_message *out)
{
    const gsrt_membership_view *value = NULL;
    *out = (gsrt_membership_message){.type = type,
                                     .from_rank = machine->options.rank,
                                     .from_incarnation = machine->options.incarnation,
                                     .epoch = machine->view.epoch};
    switch (type) {
    case GSRT_MEMBERSHIP_PREPARE: out->ballot = machine->ballot; break;
    case GSRT_MEMBERSHIP_PROMISE:
        out->ballot = machine->promised_ballot;
        out->accepted_ballot = machine->accepted_ballot;
        value = machine->accepted_ballot != 0 ? &machine->accepted : NULL;
        break;
    case GSRT_MEMBERSHIP_REJECT: out->ballot = machine->promised_ballot; break;
    case GSRT_MEMBERSHIP_ACCEPT:
        out->ballot = machine->ballot;
        value = &machine->proposal;
        break;
    case GSRT_MEMBERSHIP_ACCEPTED: out->ballot = machine->accepted_ballot; break;
    case GSRT_MEMBERSHIP_DECIDED: value = &machine->view; break;
    case GSRT_MEMBERSHIP_PING: out->time_ns = machine->now_ns; break;
    case GSRT_MEMBERSHIP_PONG: out->time_ns = machine->peers[to].pong_ns; break;
    case GSRT_MEMBERSHIP_JOIN:
        out->epoch = 0;
        out->rank = machine->options.rank;
        out->incarnation = machine->options.incarnation;
        break;
    }
    if (value != NULL)
        gsrt__view_copy(&out->value, value);
}

/* The next thing to send or to order; false: none. */
static bool draw_from_peers(gsrt_membership *machine, gsrt_membership_action *out)
{
    for (; machine->cursor < machine->options.rank_count; machine->cursor++) {
        uint32_t rank = machine->cursor;
        gsrt__peer *peer = &machine->peers[rank];
        if (peer->is_to_end) {
            peer->is_to_end = false;
            out->kind = GSRT_MEMBERSHIP_END_WORKER;
            out->rank = rank;
            out->incarnation = machine->view.incarnations[rank];
            return true;
        }
        out->kind = GSRT_MEMBERSHIP_SEND;
        if (peer->is_relayed) {
            uint32_t first = 0;
            while (machine->view.incarnations[first] == GSRT_NOT_A_MEMBER || gsrt__is_dead(machine, first) ||
                   machine->peers[first].is_suspected)
                first++; /* ends at our own rank */
            peer->is_relayed = false;
            fill_message(machine, first, GSRT_MEMBERSHIP_JOIN, &out->message);
            out->message.rank = rank;
            out->message.incarnation = peer->join_incarnation;
            out->rank = first;
            if (first != machine->options.rank)
                return true;
        }
        if (peer->sends != 0) {
            unsigned type = (unsigned)__builtin_ctz(peer->sends);
            peer->sends &= peer->sends - 1;
            out->rank = rank;
            fill_message(machine, rank, (gsrt_membership_message_type)type, &out->message);
            return true;
        }
    }
    return false;
}

static bool take(bool *flag)
{
    bool was_set = *flag;
    *flag = false;
    return was_set;
}

bool gsrt_membership_poll(gsrt_membership *machine, gsrt_membership_action *out)
{
    out->rank = out->incarnation = 0;
    out->at_ns = 0;
    out->fence = GSRT_FENCE_NONE;
    if (machine->fence != GSRT_FENCE_NONE && take(&machine->is_fence_due)) {
        out->kind = GSRT_MEMBERSHIP_FENCE;
        out->fence = machine->fence;
        return true;
    }
    if (take(&machine->is_deposit_due)) {
        bool is_view = machine->given_epoch == machine->view.epoch;
        const gsrt_membership_view *view = is_view ? &machine->view : &machine->accepted;
        out->kind = GSRT_MEMBERSHIP_DEPOSIT;
        out->deposit = (gsrt_deposit){
            .epoch = machine->given_epoch, .rank_count = view->rank_count, .ballot = machine->given_ballot};
        for (uint32_t rank = 0; rank < view->rank_count; rank++)
            out->deposit.incarnations[rank] = view->incarnations[rank];
        return true;
    }
    if (draw_from_peers(machine, out))
        return true;
    if (take(&machine->is_install_due)) {
        out->kind = GSRT_MEMBERSHIP_INSTALL;
        gsrt__view_copy(&out->view, &machine->installed);
        return true;
    }
    if (take(&machine->is_fence_due)) {
        out->kind = GSRT_MEMBERSHIP_UNFENCE;
        return true;
    }
    if (take(&machine->is_exit_due)) {
        out->kind = GSRT_MEMBERSHIP_EXIT;
        return true;
    }
    if (take(&machine->is_timer_due)) {
        out->kind = GSRT_MEMBERSHIP_TIMER;
        out->at_ns = machine->timer_ns;
        return true;
    }
    return false;
}

bool gsrt_membership_check(const gsrt_membership *machine)
{
    uint32_t rank = machine->options.rank, incarnation = machine->options.incarnation;
    const gsrt_membership_view *installed = &machine->installed;
    if (installed->epoch > machine->view.epoch)
        return false;
    if (installed->epoch != 0 && !gsrt__is_member(installed, rank, incarnation))
        return false;
    if (machine->phase == GSRT__MEMBERSHIP_MEMBER && !gsrt__is_member(&machine->view, rank, incarnation))
        return false;
    if (machine->held_epoch < installed->epoch || machine->accepted_ballot > machine->promised_ballot)
        return false;
    if (machine->peers[rank].sends != 0)
        return false; /* to itself */
    for (uint32_t peer = 0; peer < machine->options.rank_count; peer++) {
        uint32_t sends = machine->peers[peer].sends;
        if ((sends & 1u << GSRT_MEMBERSHIP_PONG) != 0 && machine->promised_ballot != 0)
            return false;
        if ((sends & 1u << GSRT_MEMBERSHIP_ACCEPTED) != 0 &&
            (machine->held_epoch != machine->view.epoch + 1 || machine->held_ballot != machine->accepted_ballot))
            return false;
    }
    return true;
}
