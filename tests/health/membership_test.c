/* The membership machine: what one does, and what a few do together under faults drawn from seeds. Built again with
 * each planted bug (GSRT_PLANT_*): then it passes when a seed finds it.
 */
#include "health/membership_impl.h"
#include "tests/health/cluster.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

#define MS ((uint64_t)1000000)

enum { SEED_COUNT = 1500, PLANTED_SEED_COUNT = 6000 };

static cluster_result run(uint64_t seed, unsigned faults)
{
    return cluster_run(2 + (uint32_t)(seed % 4), seed, faults, 1 + (uint32_t)(seed / 4 % 4));
}

#if defined(GSRT_PLANT_NO_FENCING) || defined(GSRT_PLANT_DOUBLE_VOTE)

START_TEST(the_planted_bug_is_found)
{
    uint64_t seed = 0;
    while (seed < PLANTED_SEED_COUNT && run(seed, CLUSTER_ALL).violation[0] == 0)
        seed++;
    ck_assert_msg(seed < PLANTED_SEED_COUNT, "no seed below %d finds it", PLANTED_SEED_COUNT);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {the_planted_bug_is_found};
    return unit_run("membership, planted", tests, sizeof tests / sizeof tests[0]);
}

#else

/* ---- one machine; its keeper answers at once ---- */

typedef struct solo {
    gsrt_membership *machine;
    uint64_t now_ns;
    uint32_t sent[GSRT_MEMBERSHIP_JOIN + 1]; /* by type, since the last step */
    gsrt_membership_message last;            /* sent */
    uint32_t ended;                          /* END_WORKER: rank + 1 */
    gsrt_membership_view installed;
    gsrt_membership_fence fence;
    bool has_left, is_keeper_slow;
    uint32_t unconfirmed; /* epoch */
} solo;

static void solo_drain(solo *s)
{
    gsrt_membership_action action;
    memset(&action, 0, sizeof action);
    while (gsrt_membership_poll(s->machine, &action)) {
        switch (action.kind) {
        case GSRT_MEMBERSHIP_FENCE: s->fence = action.fence; break;
        case GSRT_MEMBERSHIP_UNFENCE: s->fence = GSRT_FENCE_NONE; break;
        case GSRT_MEMBERSHIP_END_WORKER: s->ended = action.rank + 1; break;
        case GSRT_MEMBERSHIP_DEPOSIT: s->unconfirmed = action.deposit.epoch; break;
        case GSRT_MEMBERSHIP_SEND:
            s->sent[action.message.type]++;
            s->last = action.message;
            break;
        case GSRT_MEMBERSHIP_INSTALL: s->installed = action.view; break;
        case GSRT_MEMBERSHIP_EXIT: s->has_left = true; break;
        case GSRT_MEMBERSHIP_TIMER: ck_assert_uint_ge(action.at_ns, s->now_ns); break;
        }
    }
    ck_assert(gsrt_membership_check(s->machine));
}

static gsrt_status solo_step(solo *s, gsrt_membership_event event)
{
    event.now_ns = s->now_ns;
    memset(s->sent, 0, sizeof s->sent);
    s->ended = 0;
    gsrt_status status = gsrt_membership_step(s->machine, &event);
    solo_drain(s);
    while (status == GSRT_OK && s->unconfirmed != 0 && !s->is_keeper_slow) {
        gsrt_membership_event deposited = {
            .kind = GSRT_MEMBERSHIP_DEPOSITED, .now_ns = s->now_ns, .epoch = s->unconfirmed};
        s->unconfirmed = 0;
        ck_assert_int_eq(gsrt_membership_step(s->machine, &deposited), GSRT_OK);
        solo_drain(s);
    }
    return status;
}

static void solo_do(solo *s, gsrt_membership_event event)
{
    ck_assert_int_eq(solo_step(s, event), GSRT_OK);
}

static void solo_wait(solo *s, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        s->now_ns += MS;
        solo_do(s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_TICK});
    }
}

static void solo_begin(solo *s, uint32_t rank, uint32_t incarnation, uint32_t rank_count)
{
    gsrt_membership_options options = {.rank = rank,
                                       .incarnation = incarnation,
                                       .rank_count = rank_count,
                                       .lease_ns = 40 * MS,
                                       .detection_ns = 8 * MS,
                                       .retry_ns = 3 * MS,
                                       .takeover_ns = 12 * MS,
                                       .contact_ns = 10 * MS};
    *s = (solo){.now_ns = 100 * MS, .fence = GSRT_FENCE_NO_VIEW};
    ck_assert_int_eq(gsrt_membership_create(&options, &s->machine), GSRT_OK);
    solo_do(s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_BEGIN});
}

static void solo_end(solo *s)
{
    s->machine = gsrt_membership_free(s->machine);
}

static void solo_message(solo *s, gsrt_membership_message message)
{
    gsrt_membership_event event = {.kind = GSRT_MEMBERSHIP_MESSAGE, .message = message};
    solo_do(s, event);
}

static void solo_pong(solo *s, uint32_t from)
{
    solo_message(
        s, (gsrt_membership_message){
               .type = GSRT_MEMBERSHIP_PONG, .from_rank = from, .epoch = s->installed.epoch, .time_ns = s->now_ns});
}

static gsrt_membership_view view_of(uint32_t epoch, uint32_t rank_count, uint32_t a, uint32_t b, uint32_t c)
{
    return (gsrt_membership_view){.epoch = epoch, .rank_count = rank_count, .incarnations = {a, b, c}};
}

static gsrt_membership_event word_of(uint32_t rank, uint32_t epoch, uint64_t ballot, gsrt_membership_view view)
{
    gsrt_membership_event event = {.kind = GSRT_MEMBERSHIP_WORD};
    event.word = (gsrt_keeper_word){.rank = rank};
    event.word.deposit = (gsrt_deposit){.epoch = epoch, .rank_count = view.rank_count, .ballot = ballot};
    memcpy(event.word.deposit.incarnations, view.incarnations, view.rank_count * sizeof *view.incarnations);
    return event;
}

static const uint32_t none = GSRT_NOT_A_MEMBER;

START_TEST(a_member_deposits_installs_and_emits_with_contact)
{
    solo s;
    solo_begin(&s, 1, 0, 2);
    ck_assert_uint_eq(s.installed.epoch, 1);
    ck_assert_int_eq(s.fence, GSRT_FENCE_CHANGING);
    solo_pong(&s, 0);
    ck_assert_int_eq(s.fence, GSRT_FENCE_NONE);
    solo_wait(&s, 39);
    ck_assert_int_eq(s.fence, GSRT_FENCE_NONE);
    ck_assert_int_eq(gsrt_membership_fenced(s.machine, s.now_ns + MS), GSRT_FENCE_NO_QUORUM); /* without an event */
    solo_wait(&s, 1);
    ck_assert_int_eq(s.fence, GSRT_FENCE_NO_QUORUM);
    solo_pong(&s, 0);
    ck_assert_int_eq(s.fence, GSRT_FENCE_NONE);
    solo_end(&s);
}
END_TEST

START_TEST(of_two_either_goes_on_after_a_word)
{
    for (uint32_t survivor = 0; survivor < 2; survivor++) {
        solo s;
        solo_begin(&s, survivor, 0, 2);
        solo_do(&s, word_of(1 - survivor, 1, GSRT__BALLOT_FINAL, view_of(1, 2, 0, 0, 0)));
        ck_assert_uint_eq(s.installed.epoch, 2);
        ck_assert_uint_eq(s.installed.incarnations[1 - survivor], none);
        ck_assert_int_eq(s.fence, GSRT_FENCE_NONE);
        solo_end(&s);
    }
}
END_TEST

/* Two that have promised confirm nothing to each other: pings that answer pings would go on for ever. */
START_TEST(pings_are_not_answered_with_pings_without_end)
{
    solo s;
    uint32_t count = 0;
    gsrt_membership_message ping = {.type = GSRT_MEMBERSHIP_PING, .from_rank = 0, .epoch = 1};
    solo_begin(&s, 1, 0, 3);
    solo_message(
        &s, (gsrt_membership_message){.type = GSRT_MEMBERSHIP_PREPARE, .epoch = 1, .ballot = gsrt__ballot(0, 1, 0)});
    for (int i = 0; i < 1000; i++) {
        s.now_ns += MS / 100;
        ping.time_ns = s.now_ns;
        solo_message(&s, ping);
        ck_assert_uint_eq(s.sent[GSRT_MEMBERSHIP_PONG], 0);
        count += s.sent[GSRT_MEMBERSHIP_PING];
    }
    ck_assert_uint_ge(count, 1);
    ck_assert_uint_le(count, 16); /* two are asked every retry, 3 ms, and one is answered as often */
    solo_end(&s);
}
END_TEST

START_TEST(silence_is_made_certain_first)
{
    solo s;
    solo_begin(&s, 0, 0, 2);
    solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_SUSPECT, .rank = 1});
    ck_assert_uint_eq(s.ended, 2);
    ck_assert_uint_eq(s.installed.epoch, 1);
    solo_end(&s);
    solo_begin(&s, 2, 0, 3); /* the first proposer asks; the others a detection period later, each in its turn */
    solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_SUSPECT, .rank = 1});
    ck_assert_uint_eq(s.ended, 0);
    s.now_ns += 8 * MS;
    solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_TICK});
    ck_assert_uint_eq(s.ended, 0);
    s.now_ns += 2 * MS; /* its seat is the third: two eighths */
    solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_TICK});
    ck_assert_uint_eq(s.ended, 2);
    solo_end(&s);
}
END_TEST

/* Who was cut off does not end all the others when the cut is over: they may have gone on without it. */
START_TEST(those_out_of_reach_are_tried_again_one_by_one)
{
    solo s;
    solo_begin(&s, 0, 0, 4);
    for (uint32_t rank = 1; rank < 4; rank++) {
        solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_SUSPECT, .rank = rank});
        ck_assert_uint_eq(s.ended, rank + 1); /* at once */
    }
    for (uint32_t rank = 1; rank < 4; rank++)
        solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_UNREACHABLE, .rank = rank});
    for (uint32_t turn = 0; turn < 6; turn++) {
        s.ended = 0; /* every four detection periods */
        s.now_ns += turn == 0 ? 32 * MS : 0;
        solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_TICK});
        ck_assert_uint_eq(s.ended, 2 + turn % 3);
        s.ended = 0;
        s.now_ns += 16 * MS;
        solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_TICK});
        ck_assert_uint_eq(s.ended, 0);
        s.now_ns += 16 * MS;
    }
    solo_end(&s);
}
END_TEST

/* Who hears nobody may be the one that is cut off, and when that ends, the others must not all die of it. */
START_TEST(a_minority_ends_one_at_a_time)
{
    solo s;
    uint32_t asked = 0;
    solo_begin(&s, 3, 0, 4);
    for (uint32_t rank = 0; rank < 3; rank++)
        solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_SUSPECT, .rank = rank});
    for (int i = 0; i < 32; i++) { /* its first turn comes after 3 ms, the next one four detection periods later */
        s.now_ns += MS;
        solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_TICK});
        asked += s.ended != 0;
    }
    ck_assert_uint_eq(asked, 1);
    solo_end(&s);
}
END_TEST

START_TEST(of_two_cut_apart_only_the_lower_goes_on)
{
    solo s;
    solo_begin(&s, 0, 0, 2);
    solo_pong(&s, 1);
    solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_UNREACHABLE, .rank = 1});
    ck_assert_uint_eq(s.installed.epoch, 2);
    ck_assert_int_eq(s.fence, GSRT_FENCE_LEASE); /* the other one may still emit */
    solo_wait(&s, 40);
    ck_assert_int_eq(s.fence, GSRT_FENCE_LEASE);
    solo_wait(&s, 1);
    ck_assert_int_eq(s.fence, GSRT_FENCE_NONE);
    solo_end(&s);
    solo_begin(&s, 1, 0, 2);
    solo_pong(&s, 0);
    solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_UNREACHABLE, .rank = 0});
    solo_wait(&s, 40);
    ck_assert_int_eq(s.fence, GSRT_FENCE_UNREACHABLE); /* and says why */
    solo_wait(&s, 500);
    ck_assert_uint_eq(s.installed.epoch, 1);
    ck_assert_int_eq(s.fence, GSRT_FENCE_UNREACHABLE);
    solo_pong(&s, 0); /* healed, and nothing was decided meanwhile */
    ck_assert_int_eq(s.fence, GSRT_FENCE_NONE);
    solo_end(&s);
}
END_TEST

START_TEST(a_word_of_the_next_view_binds_its_survivor)
{
    solo s;
    gsrt_membership_view accepted = view_of(2, 3, 0, 0, none);
    solo_begin(&s, 1, 0, 3);
    solo_do(&s, word_of(2, 1, GSRT__BALLOT_FINAL, view_of(1, 3, 0, 0, 0)));
    ck_assert_uint_eq(s.installed.epoch, 1); /* it is rank 0's turn */
    solo_do(&s, word_of(0, 2, gsrt__ballot(2, 1, 0), accepted));
    /* the dead one's value is decided as view 2; the dead one is left out by view 3 */
    ck_assert_uint_eq(s.installed.epoch, 3);
    ck_assert_uint_eq(s.installed.incarnations[0], none);
    ck_assert_uint_eq(s.installed.incarnations[1], 0);
    solo_end(&s);
    solo_begin(&s, 1, 0, 3); /* without its ballot it is no testament: do not lead */
    solo_do(&s, word_of(2, 1, GSRT__BALLOT_FINAL, view_of(1, 3, 0, 0, 0)));
    solo_do(&s, word_of(0, 2, 0, accepted));
    solo_wait(&s, 200);
    ck_assert_uint_eq(s.installed.epoch, 1);
    ck_assert_int_eq(s.fence, GSRT_FENCE_NO_QUORUM);
    solo_end(&s);
    solo_begin(&s, 1, 0, 3); /* decided: it is adopted as it is */
    solo_do(&s, word_of(0, 7, GSRT__BALLOT_FINAL, view_of(7, 3, 0, 0, 4)));
    ck_assert_uint_eq(s.installed.epoch, 7);
    ck_assert_uint_eq(s.installed.incarnations[2], 4);
    solo_end(&s);
}
END_TEST

/* Its own word was lost, and the next incarnation died before it was admitted: the keeper still holds what the member
 * deposited. One that has been admitted has deposited a later view, which says nothing of what the member accepted. */
START_TEST(the_word_of_a_later_incarnation_is_a_testament_too)
{
    for (uint32_t epoch = 1; epoch <= 3; epoch += 2) {
        solo s;
        solo_begin(&s, 1, 0, 2);
        gsrt_membership_event word =
            word_of(0, epoch, epoch == 1 ? GSRT__BALLOT_FINAL : gsrt__ballot(0, 1, 0), view_of(epoch, 2, 0, 0, 0));
        word.word.incarnation = 1;
        solo_do(&s, word);
        solo_wait(&s, 200);
        ck_assert_uint_eq(s.installed.epoch, epoch == 1 ? 2 : 1);
        ck_assert_uint_eq(s.installed.incarnations[0], epoch == 1 ? none : 0);
        solo_end(&s);
    }
}
END_TEST

/* How long a machine leaves the turn to another one that goes silent after round `round`, in ms. */
static uint64_t patience_ms(uint32_t round)
{
    solo s;
    solo_begin(&s, 2, 0, 3);
    solo_message(&s,
                 (gsrt_membership_message){
                     .type = GSRT_MEMBERSHIP_PREPARE, .from_rank = 1, .epoch = 1, .ballot = gsrt__ballot(0, round, 1)});
    ck_assert_uint_eq(s.sent[GSRT_MEMBERSHIP_PROMISE], 1);
    uint64_t begin_ns = s.now_ns;
    do
        solo_wait(&s, 1);
    while (s.sent[GSRT_MEMBERSHIP_PREPARE] == 0 && s.now_ns < begin_ns + 10000 * MS);
    solo_end(&s);
    return (s.now_ns - begin_ns) / MS;
}

/* Else two whose messages take longer than that would outbid each other for ever. */
/* It asked to join before we heard of the view that names the one before it. */
START_TEST(the_word_of_a_member_that_has_a_successor_is_asked_for)
{
    solo s;
    solo_begin(&s, 2, 0, 3);
    solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_JOIN_ASKED, .rank = 1, .incarnation = 2});
    solo_message(&s, (gsrt_membership_message){
                         .type = GSRT_MEMBERSHIP_DECIDED, .from_rank = 0, .epoch = 2, .value = view_of(2, 3, 0, 1, 0)});
    ck_assert_uint_eq(s.installed.incarnations[1], 1);
    uint64_t until_ns = s.now_ns + 60 * MS;
    while (s.ended != 1 + 1 && s.now_ns < until_ns) {
        s.now_ns += MS;
        solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_TICK});
    }
    ck_assert_uint_eq(s.ended, 1 + 1);
    solo_end(&s);
}
END_TEST

START_TEST(another_proposer_is_given_longer_each_round)
{
    ck_assert_uint_eq(patience_ms(1), 36); /* the third seat: three takeovers */
    ck_assert_uint_eq(patience_ms(2), 72);
    ck_assert_uint_eq(patience_ms(4), 288);
    ck_assert_uint_eq(patience_ms(1000), 288);
}
END_TEST

START_TEST(a_dead_one_is_waited_for_as_long_as_allowed)
{
    for (int is_back = 0; is_back < 2; is_back++) {
        solo s;
        solo_begin(&s, 0, 0, 2);
        gsrt_membership_event word = word_of(1, 1, GSRT__BALLOT_FINAL, view_of(1, 2, 0, 0, 0));
        word.join_wait_ns = 20 * MS;
        solo_do(&s, word);
        solo_wait(&s, 19);
        ck_assert_uint_eq(s.installed.epoch, 1);
        if (is_back)
            solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_JOIN_ASKED, .rank = 1, .incarnation = 1});
        else
            solo_wait(&s, 1);
        ck_assert_uint_eq(s.installed.epoch, 2);
        ck_assert_uint_eq(s.installed.incarnations[1], is_back ? 1 : none);
        solo_end(&s);
    }
    solo s;
    solo_begin(&s, 0, 0, 2);
    gsrt_membership_event word = word_of(1, 1, GSRT__BALLOT_FINAL, view_of(1, 2, 0, 0, 0));
    word.join_wait_ns = 20 * MS;
    word.word.is_last = true; /* nobody comes */
    solo_do(&s, word);
    ck_assert_uint_eq(s.installed.epoch, 2);
    solo_end(&s);
}
END_TEST

START_TEST(who_is_left_out_leaves_and_joins_anew)
{
    solo s;
    solo_begin(&s, 1, 0, 2);
    solo_message(
        &s, (gsrt_membership_message){.type = GSRT_MEMBERSHIP_DECIDED, .epoch = 2, .value = view_of(2, 2, 0, none, 0)});
    ck_assert(s.has_left);
    ck_assert_int_eq(s.fence, GSRT_FENCE_LEFT);
    solo_end(&s);
    solo_begin(&s, 1, 1, 2); /* its next incarnation has no view */
    ck_assert_uint_eq(s.sent[GSRT_MEMBERSHIP_JOIN], 1);
    ck_assert_uint_eq(gsrt_membership_installed(s.machine)->epoch, 0);
    solo_message(
        &s, (gsrt_membership_message){.type = GSRT_MEMBERSHIP_DECIDED, .epoch = 3, .value = view_of(3, 2, 0, 1, 0)});
    ck_assert_uint_eq(s.installed.epoch, 3);
    solo_end(&s);
}
END_TEST

START_TEST(an_acceptor_deposits_before_it_answers)
{
    solo s;
    uint64_t ballot = gsrt__ballot(0, 1, 0);
    gsrt_membership_view value = view_of(2, 3, 0, 0, none);
    solo_begin(&s, 1, 0, 3);
    solo_message(&s, (gsrt_membership_message){.type = GSRT_MEMBERSHIP_PREPARE, .epoch = 1, .ballot = ballot});
    ck_assert_uint_eq(s.sent[GSRT_MEMBERSHIP_PROMISE], 1);
    ck_assert_uint_eq(s.last.accepted_ballot, 0);
    s.is_keeper_slow = true;
    gsrt_membership_message accept = {.type = GSRT_MEMBERSHIP_ACCEPT, .epoch = 1, .ballot = ballot, .value = value};
    solo_message(&s, accept);
    solo_message(&s, accept);
    ck_assert_uint_eq(s.sent[GSRT_MEMBERSHIP_ACCEPTED], 0);
    ck_assert_uint_eq(s.unconfirmed, 2);
    s.is_keeper_slow = false;
    solo_do(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_TICK});
    ck_assert_uint_eq(s.sent[GSRT_MEMBERSHIP_ACCEPTED], 1);
    solo_message(&s, accept); /* its answer was lost */
    ck_assert_uint_eq(s.sent[GSRT_MEMBERSHIP_ACCEPTED], 1);
    /* what was accepted is told to a higher ballot, and a lower one is refused */
    solo_message(&s, (gsrt_membership_message){
                         .type = GSRT_MEMBERSHIP_PREPARE, .from_rank = 2, .epoch = 1, .ballot = gsrt__ballot(0, 2, 2)});
    ck_assert_uint_eq(s.last.type, GSRT_MEMBERSHIP_PROMISE);
    ck_assert_uint_eq(s.last.accepted_ballot, ballot);
    ck_assert(gsrt__view_equal(&s.last.value, &value));
    solo_message(&s, accept);
    ck_assert_uint_eq(s.sent[GSRT_MEMBERSHIP_REJECT], 1);
    ck_assert_uint_eq(s.last.ballot, gsrt__ballot(0, 2, 2));
    /* and contact in this view is confirmed no more */
    solo_message(&s, (gsrt_membership_message){.type = GSRT_MEMBERSHIP_PING, .epoch = 1, .time_ns = s.now_ns});
    ck_assert_uint_eq(s.sent[GSRT_MEMBERSHIP_PONG], 0);
    solo_end(&s);
}
END_TEST

START_TEST(messages_past_the_limits_are_refused)
{
    gsrt_membership_view value = view_of(2, 3, 0, 0, none), empty = view_of(2, 3, none, none, none);
    uint64_t ballot = gsrt__ballot(0, 1, 0);
    const gsrt_membership_message bad[] = {
        {.type = 0, .epoch = 1},
        {.type = GSRT_MEMBERSHIP_JOIN + 1, .epoch = 1},
        {.type = GSRT_MEMBERSHIP_PING, .from_rank = 3, .epoch = 1},
        {.type = GSRT_MEMBERSHIP_PING, .from_rank = 1, .epoch = 1}, /* ourselves */
        {.type = GSRT_MEMBERSHIP_PING, .from_incarnation = none, .epoch = 1},
        {.type = GSRT_MEMBERSHIP_PING, .epoch = 1, .ballot = 1 << 16},
        {.type = GSRT_MEMBERSHIP_JOIN, .rank = 3},
        {.type = GSRT_MEMBERSHIP_PREPARE, .epoch = 1},
        {.type = GSRT_MEMBERSHIP_PREPARE, .epoch = 0, .ballot = ballot},
        {.type = GSRT_MEMBERSHIP_PREPARE, .epoch = 1, .ballot = gsrt__ballot(0, 1, 2)}, /* somebody else's */
        {.type = GSRT_MEMBERSHIP_PREPARE, .epoch = 1, .ballot = gsrt__ballot(8, 1, 0)}, /* heavier than all */
        {.type = GSRT_MEMBERSHIP_PREPARE, .epoch = 1, .ballot = GSRT__BALLOT_FINAL},
        {.type = GSRT_MEMBERSHIP_PROMISE, .epoch = 1, .ballot = ballot, .accepted_ballot = ballot},
        {.type = GSRT_MEMBERSHIP_ACCEPT, .epoch = 1, .ballot = ballot},
        {.type = GSRT_MEMBERSHIP_ACCEPT, .epoch = 2, .ballot = ballot, .value = value}, /* of another view */
        {.type = GSRT_MEMBERSHIP_ACCEPT, .epoch = 1, .ballot = ballot, .value = empty},
        {.type = GSRT_MEMBERSHIP_DECIDED, .epoch = 2},
        {.type = GSRT_MEMBERSHIP_DECIDED, .epoch = 3, .value = value},
        {.type = GSRT_MEMBERSHIP_DECIDED, .epoch = 2, .value = view_of(2, 2, 0, 0, 0)},
    };
    solo s;
    solo_begin(&s, 1, 0, 3);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        gsrt_membership_event event = {.kind = GSRT_MEMBERSHIP_MESSAGE, .message = bad[i]};
        ck_assert_msg(solo_step(&s, event) == GSRT_EINVAL, "message %zu was taken", i);
    }
    ck_assert_int_eq(solo_step(&s, (gsrt_membership_event){.kind = GSRT_MEMBERSHIP_SUSPECT, .rank = 3}), GSRT_EINVAL);
    ck_assert_uint_eq(s.installed.epoch, 1);
    solo_end(&s);
}
END_TEST

START_TEST(options_past_the_limits_are_refused)
{
    uint32_t nobody[2] = {none, none};
    gsrt_membership_options good = {
        .rank_count = 2, .lease_ns = 4, .detection_ns = 1, .retry_ns = 1, .takeover_ns = 1, .contact_ns = 1};
    gsrt_membership_options bad[5] = {good, good, good, good, good};
    bad[0].rank_count = GSRT_RANK_COUNT_MAX + 1;
    bad[1].rank = 2;
    bad[2].lease_ns = 0;
    bad[3].contact_ns = 5;
    bad[4].first = nobody;
    gsrt_membership *machine = NULL;
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(gsrt_membership_create(&bad[i], &machine), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_membership_create(&good, &machine), GSRT_OK);
    gsrt_membership_free(machine);
}
END_TEST

START_TEST(events_and_actions_have_one_form)
{
    gsrt_buffer first, second;
    gsrt_buffer_init(&first, 1 << 16);
    gsrt_buffer_init(&second, 1 << 16);
    gsrt_membership_view view = view_of(2, 3, 0, none, 7);
    for (uint32_t kind = 0; kind <= GSRT_MEMBERSHIP_MESSAGE + 1; kind++) {
        gsrt_membership_event event = {
            .kind = (gsrt_membership_event_kind)kind, .now_ns = 1u << 30, .rank = 2, .incarnation = 9, .epoch = 4};
        gsrt_membership_event back;
        if (kind == GSRT_MEMBERSHIP_WORD)
            event.word = word_of(2, 2, 70000, view).word;
        if (kind == GSRT_MEMBERSHIP_MESSAGE)
            event.message =
                (gsrt_membership_message){.type = GSRT_MEMBERSHIP_ACCEPT, .epoch = 1, .ballot = 1 << 16, .value = view};
        gsrt_buffer_reset(&first);
        gsrt_buffer_reset(&second);
        ck_assert_int_eq(gsrt_membership_event_encode(&event, &first), GSRT_OK);
        bool is_known = kind >= GSRT_MEMBERSHIP_BEGIN && kind <= GSRT_MEMBERSHIP_MESSAGE;
        ck_assert_int_eq(gsrt_membership_event_decode(gsrt_buffer_span(&first), &back),
                         is_known ? GSRT_OK : GSRT_EDECODE);
        if (!is_known)
            continue;
        ck_assert_int_eq(gsrt_membership_event_encode(&back, &second), GSRT_OK);
        ck_assert_mem_eq(first.data, second.data, first.len);
        ck_assert_int_eq(gsrt_membership_event_decode(gsrt_span_of(first.data, first.len - 1), &back), GSRT_EDECODE);
    }
    for (uint32_t kind = GSRT_MEMBERSHIP_FENCE; kind <= GSRT_MEMBERSHIP_TIMER; kind++) {
        gsrt_membership_action action = {.kind = (gsrt_membership_action_kind)kind,
                                         .rank = 2,
                                         .incarnation = 9,
                                         .at_ns = 1u << 20,
                                         .fence = GSRT_FENCE_LEASE};
        gsrt_membership_action back;
        if (kind == GSRT_MEMBERSHIP_DEPOSIT)
            action.deposit = word_of(2, 2, 70000, view).word.deposit;
        if (kind == GSRT_MEMBERSHIP_INSTALL)
            action.view = view;
        if (kind == GSRT_MEMBERSHIP_SEND)
            action.message = (gsrt_membership_message){.type = GSRT_MEMBERSHIP_PING, .epoch = 1, .time_ns = 5};
        gsrt_buffer_reset(&first);
        gsrt_buffer_reset(&second);
        ck_assert_int_eq(gsrt_membership_action_encode(&action, &first), GSRT_OK);
        ck_assert_int_eq(gsrt_membership_action_decode(gsrt_buffer_span(&first), &back), GSRT_OK);
        ck_assert_int_eq(gsrt_membership_action_encode(&back, &second), GSRT_OK);
        ck_assert_mem_eq(first.data, second.data, first.len);
    }
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
}
END_TEST

/* ---- many ---- */

START_TEST(without_faults_nothing_changes)
{
    for (uint32_t rank_count = 1; rank_count <= CLUSTER_RANKS_MAX; rank_count++) {
        cluster_result result = cluster_run(rank_count, 1, 0, 0);
        ck_assert_str_eq(result.violation, "");
        ck_assert_uint_eq(result.epoch, 1);
        ck_assert(result.could_live);
    }
}
END_TEST

START_TEST(two_ranks_survive_the_loss_of_either)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        cluster_result result = cluster_run(2, seed, CLUSTER_KILL | CLUSTER_NETWORK, 1);
        ck_assert_str_eq(result.violation, "");
        ck_assert(result.could_live);
    }
}
END_TEST

START_TEST(the_same_seed_gives_the_same_actions)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        cluster_result first = run(seed, CLUSTER_ALL), second = run(seed, CLUSTER_ALL);
        ck_assert_uint_eq(first.digest, second.digest);
        ck_assert_uint_eq(first.steps, second.steps);
    }
    ck_assert_uint_ne(run(0, CLUSTER_ALL).digest, run(4, CLUSTER_ALL).digest);
}
END_TEST

START_TEST(seeds_keep_the_invariants_and_come_to_a_view)
{
    unsigned lived = 0;
    for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
        cluster_result result = run(seed, CLUSTER_ALL);
        ck_assert_str_eq(result.violation, "");
        lived += result.could_live;
    }
    ck_assert_uint_gt(lived, SEED_COUNT / 2); /* the rest lost its quorum, and rightly stays fenced */
}
END_TEST

int main(void)
{
    const TTest *tests[] = {
        a_member_deposits_installs_and_emits_with_contact,
        of_two_either_goes_on_after_a_word,
        pings_are_not_answered_with_pings_without_end,
        silence_is_made_certain_first,
        those_out_of_reach_are_tried_again_one_by_one,
        a_minority_ends_one_at_a_time,
        of_two_cut_apart_only_the_lower_goes_on,
        a_word_of_the_next_view_binds_its_survivor,
        the_word_of_a_later_incarnation_is_a_testament_too,
        the_word_of_a_member_that_has_a_successor_is_asked_for,
        another_proposer_is_given_longer_each_round,
        a_dead_one_is_waited_for_as_long_as_allowed,
        who_is_left_out_leaves_and_joins_anew,
        an_acceptor_deposits_before_it_answers,
        messages_past_the_limits_are_refused,
        options_past_the_limits_are_refused,
        events_and_actions_have_one_form,
        without_faults_nothing_changes,
        two_ranks_survive_the_loss_of_either,
        the_same_seed_gives_the_same_actions,
        seeds_keep_the_invariants_and_come_to_a_view,
    };
    return unit_run("membership", tests, sizeof tests / sizeof tests[0]);
}

#endif
