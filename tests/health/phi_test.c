/* The phi accrual detector: who is suspected, when, and who is not. */
#include "base/random.h"
#include "health/member_actor.h"
#include "health/phi.h"

#include "tests/unit.h"

#include <math.h>
#include <stdlib.h>

#define MS 1000000ull
#define BEAT (10 * MS)

/* An observer of one peer (number 1 of 3), ticking once per interval. */
typedef struct observer {
    gsrt_phi *phi;
    uint64_t now_ns, due_ns;
    uint32_t suspected, trusted;
    uint64_t suspected_ns; /* when last */
} observer;

static void must(gsrt_status status)
{
    ck_assert_msg(status == GSRT_OK, "%s", gsrt_status_text(status));
}

static void take(observer *o)
{
    gsrt_phi_action action;
    ck_assert(gsrt_phi_check(o->phi));
    while (gsrt_phi_poll(o->phi, &action)) {
        ck_assert_uint_eq(action.peer, 1);
        if (action.kind == GSRT_PHI_SUSPECT) {
            ck_assert_uint_ge(action.phi_milli, 8000);
            o->suspected++;
            o->suspected_ns = o->now_ns;
        } else {
            o->trusted++;
        }
        ck_assert(o->suspected == o->trusted || o->suspected == o->trusted + 1);
    }
}

static void step(observer *o, gsrt_phi_event_kind kind, uint64_t now_ns)
{
    ck_assert_uint_ge(now_ns, o->now_ns);
    o->now_ns = now_ns;
    if (kind == GSRT_PHI_TICK)
        o->due_ns = now_ns + BEAT;
    gsrt_phi_step(o->phi, &(gsrt_phi_event){.kind = kind, .peer = 1, .now_ns = now_ns, .next_ns = o->due_ns});
    take(o);
}

/* Its ticks until now_ns, each in time. */
static void ticks_until(observer *o, uint64_t now_ns)
{
    while (o->due_ns <= now_ns)
        step(o, GSRT_PHI_TICK, o->due_ns);
}

static void hear(observer *o, uint64_t now_ns)
{
    ticks_until(o, now_ns);
    step(o, GSRT_PHI_HEARD, now_ns);
}

static observer observer_open(void)
{
    observer o = {0};
    must(gsrt_phi_create(&(gsrt_phi_options){.interval_ns = BEAT}, 3, &o.phi));
    step(&o, GSRT_PHI_WATCH, 1000 * MS);
    step(&o, GSRT_PHI_TICK, 1000 * MS);
    return o;
}

/* `count` heartbeats, one per interval. */
static void beat(observer *o, uint32_t count)
{
    for (uint64_t i = 0, from_ns = o->now_ns; i < count; i++)
        hear(o, from_ns + (i + 1) * BEAT);
}

START_TEST(a_silent_peer_is_suspected_within_the_bound)
{
    observer o = observer_open();
    beat(&o, 100);
    uint64_t bound_ns = gsrt_phi_bound_ns(o.phi, 1), heard_ns = o.now_ns;
    ck_assert_uint_gt(bound_ns, 3 * BEAT);
    ck_assert_uint_lt(bound_ns, 7 * BEAT / 2);
    ck_assert_uint_eq(gsrt_phi_bound_ns(o.phi, 0), UINT64_MAX);
    ticks_until(&o, heard_ns + 100 * BEAT);
    ck_assert_uint_eq(o.suspected, 1);
    ck_assert_uint_ge(o.suspected_ns, heard_ns + bound_ns);
    ck_assert_uint_le(o.suspected_ns, heard_ns + bound_ns + BEAT);
    ck_assert_uint_eq(o.trusted, 0);
    hear(&o, heard_ns + 101 * BEAT);
    ck_assert_uint_eq(o.trusted, 1);
    beat(&o, 100);
    ck_assert_uint_eq(o.suspected, 1);
    ck_assert_uint_lt(gsrt_phi_bound_ns(o.phi, 1), 7 * BEAT / 2); /* the silence has left the window */
    gsrt_phi_free(o.phi);
}
END_TEST

START_TEST(one_that_was_never_heard_is_suspected_too)
{
    observer o = observer_open();
    ticks_until(&o, 1000 * MS + 5 * BEAT);
    ck_assert_uint_eq(o.suspected, 1);
    gsrt_phi_free(o.phi);
}
END_TEST

START_TEST(an_observer_that_was_late_suspects_nobody)
{
    for (uint64_t late_ms = 6; late_ms < 20000; late_ms = late_ms * 3 / 2) {
        observer o = observer_open();
        beat(&o, 100);
        /* its timer fires late, and in the same round what has waited comes, before it or after it */
        uint64_t late_ns = o.due_ns + late_ms * MS;
        if (late_ms % 2 == 0)
            step(&o, GSRT_PHI_HEARD, late_ns);
        step(&o, GSRT_PHI_TICK, late_ns);
        ck_assert_uint_eq(gsrt_phi_doubt(o.phi), 1);
        for (uint64_t i = 0; i < 5; i++)
            step(&o, GSRT_PHI_HEARD, late_ns + 1 + i);
        beat(&o, 50);
        ck_assert_uint_eq(o.suspected, 0);
        ck_assert_uint_eq(gsrt_phi_doubt(o.phi), 0);
        ck_assert_uint_lt(gsrt_phi_bound_ns(o.phi, 1), 4 * BEAT); /* it has not learnt from its own sleep */
        /* who is dead then is still found, once it runs again */
        uint64_t heard_ns = o.now_ns;
        step(&o, GSRT_PHI_TICK, o.due_ns + late_ms * MS);
        uint64_t awake_ns = o.now_ns;
        ticks_until(&o, awake_ns + 10 * BEAT);
        ck_assert_uint_eq(o.suspected, 1);
        ck_assert_uint_gt(o.suspected_ns, heard_ns + 3 * BEAT);
        ck_assert_uint_le(o.suspected_ns, awake_ns + 5 * BEAT);
        gsrt_phi_free(o.phi);
    }
}
END_TEST

START_TEST(an_observer_that_is_often_late_doubts_itself)
{
    observer o = observer_open();
    beat(&o, 100);
    uint64_t bound_ns = gsrt_phi_bound_ns(o.phi, 1);
    for (uint32_t i = 1; i <= 12; i++) {
        step(&o, GSRT_PHI_TICK, o.due_ns + BEAT);
        step(&o, GSRT_PHI_HEARD, o.now_ns);
        ck_assert_uint_eq(gsrt_phi_doubt(o.phi), i < GSRT_PHI_DOUBT_MAX ? i : GSRT_PHI_DOUBT_MAX);
    }
    uint64_t doubtful_ns = gsrt_phi_bound_ns(o.phi, 1);
    ck_assert_uint_gt(doubtful_ns, 8 * bound_ns);
    ck_assert_uint_lt(doubtful_ns, 11 * bound_ns);
    for (uint32_t i = 1; i <= GSRT_PHI_DOUBT_MAX; i++) {
        hear(&o, o.now_ns + BEAT);
        ck_assert_uint_eq(gsrt_phi_doubt(o.phi), GSRT_PHI_DOUBT_MAX - i);
    }
    ck_assert_uint_eq(o.suspected, 0);
    gsrt_phi_free(o.phi);
}
END_TEST

START_TEST(a_burst_is_not_a_rhythm)
{
    observer o = observer_open();
    beat(&o, 100);
    uint64_t bound_ns = gsrt_phi_bound_ns(o.phi, 1);
    for (uint32_t i = 0; i < 200; i++) { /* the network holds two up, then they come with the third */
        ticks_until(&o, o.now_ns + 3 * BEAT);
        for (uint32_t j = 0; j < 3; j++)
            step(&o, GSRT_PHI_HEARD, o.now_ns + j * 1000);
    }
    ck_assert_uint_eq(o.suspected, 0);
    ck_assert_uint_ge(gsrt_phi_bound_ns(o.phi, 1), bound_ns); /* not shorter because many came at once */
    beat(&o, 3);
    for (uint32_t i = 0; i < 1000; i++)
        step(&o, GSRT_PHI_HEARD, o.now_ns + 1);
    ck_assert_uint_ge(gsrt_phi_bound_ns(o.phi, 1), bound_ns);
    beat(&o, 100);
    ck_assert_uint_eq(o.suspected, 0);
    ck_assert_uint_eq(gsrt_phi_bound_ns(o.phi, 1), bound_ns);
    gsrt_phi_free(o.phi);
}
END_TEST

START_TEST(a_slower_rhythm_is_learnt_and_bounded)
{
    observer o = observer_open();
    beat(&o, 100);
    for (uint32_t i = 0; i < 200; i++)
        hear(&o, o.now_ns + 7 * BEAT / 2);
    uint32_t before = o.suspected;
    ck_assert_uint_lt(before, 8);
    for (uint32_t i = 0; i < 200; i++)
        hear(&o, o.now_ns + 7 * BEAT / 2);
    ck_assert_uint_eq(o.suspected, before);
    for (uint64_t i = 0; i < 400; i++) /* whatever it does, silence is found in the end */
        hear(&o, o.now_ns + (i % 2 == 0 ? 14 : 1) * BEAT);
    ck_assert_uint_lt(gsrt_phi_bound_ns(o.phi, 1), 16 * BEAT);
    gsrt_phi_free(o.phi);
}
END_TEST

/* Intervals as a loaded machine gives them: most within a tenth, one in a hundred up to an interval late, one in a
 * thousand up to `stall` intervals. Returns how often a living peer was suspected. */
static uint32_t false_suspicions(uint64_t seed, uint32_t count, double stall)
{
    observer o = observer_open();
    uint64_t sent_ns = o.now_ns;
    for (uint64_t i = 0; i < count; i++) {
        double u = gsrt_random_f64(seed, 1, i), v = gsrt_random_f64(seed, 2, i), late = 0.1 * v;
        if (u < 0.001)
            late = stall * v;
        else if (u < 0.01)
            late = v;
        sent_ns += BEAT;
        uint64_t arrival_ns = sent_ns + (uint64_t)(late * (double)BEAT);
        hear(&o, arrival_ns > o.now_ns ? arrival_ns : o.now_ns);
    }
    gsrt_phi_free(o.phi);
    return o.suspected;
}

START_TEST(jitter_is_seldom_taken_for_death)
{
    uint32_t usual = 0, harsh = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        usual += false_suspicions(seed, 10000, 2);
        harsh += false_suspicions(seed, 10000, 8);
    }
    ck_assert_uint_eq(usual, 0);   /* of 100,000 */
    ck_assert_uint_gt(harsh, 10);  /* stalls of up to 8 intervals are: a detector that never errs finds nobody */
    ck_assert_uint_lt(harsh, 100); /* of about 100 */
}
END_TEST

START_TEST(phi_is_the_formula_of_the_source)
{
    observer o = observer_open(); /* nothing known: mean one interval, deviation a quarter, pause one interval */
    uint32_t before = 0;
    for (int32_t i = -700; i < 1200; i++) {
        double z = i / 100.0;
        uint64_t silence_ns = 2 * BEAT + (uint64_t)(int64_t)(z * (double)(BEAT / 4));
        double exact = log10(1 + exp(z * (1.5976 + 0.07056 * z * z)));
        uint32_t phi = gsrt_phi_milli(o.phi, 1, 1000 * MS + silence_ns);
        ck_assert_double_eq_tol(phi / 1000.0, exact, 0.002 + exact * 0.002);
        ck_assert_uint_ge(phi, before);
        if (z > -3 && z < 3) /* and that of the normal distribution, where the approximation is one */
            ck_assert_double_eq_tol(phi / 1000.0, -log10(erfc(z / sqrt(2)) / 2), 0.05);
        before = phi;
    }
    ck_assert_uint_gt(gsrt_phi_milli(o.phi, 1, UINT64_MAX / 2), 1000000);
    gsrt_phi_free(o.phi);
}
END_TEST

START_TEST(who_is_not_watched_is_not_suspected)
{
    gsrt_phi *phi;
    gsrt_phi_action action;
    must(gsrt_phi_create(&(gsrt_phi_options){.interval_ns = BEAT}, 4, &phi));
    for (uint32_t peer = 0; peer < 6; peer++)
        gsrt_phi_step(phi, &(gsrt_phi_event){.kind = GSRT_PHI_WATCH, .peer = peer, .now_ns = 1});
    gsrt_phi_step(phi, &(gsrt_phi_event){.kind = GSRT_PHI_UNWATCH, .peer = 2, .now_ns = 2});
    gsrt_phi_step(phi, &(gsrt_phi_event){.kind = GSRT_PHI_TICK, .now_ns = 10 * BEAT, .next_ns = 11 * BEAT});
    for (uint32_t peer = 0; peer < 4; peer++) { /* all others, in order */
        if (peer == 2)
            continue;
        ck_assert(gsrt_phi_poll(phi, &action));
        ck_assert_uint_eq(action.peer, peer);
        ck_assert_int_eq(action.kind, GSRT_PHI_SUSPECT);
    }
    ck_assert(!gsrt_phi_poll(phi, &action));
    gsrt_phi_step(phi, &(gsrt_phi_event){.kind = GSRT_PHI_HEARD, .peer = 2, .now_ns = 10 * BEAT + 1});
    gsrt_phi_step(phi, &(gsrt_phi_event){.kind = GSRT_PHI_HEARD, .peer = 9, .now_ns = 10 * BEAT + 1});
    ck_assert(!gsrt_phi_poll(phi, &action));
    ck_assert_uint_eq(gsrt_phi_milli(phi, 2, 20 * BEAT), 0);
    /* its next incarnation begins anew, without a word about the one before */
    gsrt_phi_step(phi, &(gsrt_phi_event){.kind = GSRT_PHI_WATCH, .peer = 0, .now_ns = 10 * BEAT + 2});
    ck_assert(!gsrt_phi_poll(phi, &action));
    gsrt_phi_free(phi);
    ck_assert_int_eq(gsrt_phi_create(&(gsrt_phi_options){0}, 1, &phi), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_phi_create(&(gsrt_phi_options){.interval_ns = BEAT}, 0, &phi), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_phi_create(&(gsrt_phi_options){.interval_ns = BEAT, .window = 129}, 1, &phi), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_phi_create(&(gsrt_phi_options){.interval_ns = 5000 * MS}, 1, &phi), GSRT_EINVAL);
}
END_TEST

/* A mixture of everything; the actions, hashed. */
static uint64_t run_random(uint64_t seed)
{
    gsrt_phi *phi;
    gsrt_phi_action action;
    uint64_t now_ns = 0, digest = 0;
    gsrt_phi_options options = {.interval_ns = 1 * MS, .window = 2 + (uint32_t)(seed % 100)};
    must(gsrt_phi_create(&options, 8, &phi));
    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t draw = gsrt_random_u64(seed, 9, i);
        gsrt_phi_event event = {.kind = GSRT_PHI_HEARD, .peer = (uint32_t)(draw >> 8) % 8};
        if (draw % 16 == 0)
            event.kind = GSRT_PHI_WATCH;
        else if (draw % 64 == 1)
            event.kind = GSRT_PHI_UNWATCH;
        else if (draw % 16 < 6)
            event.kind = GSRT_PHI_TICK;
        now_ns += (draw >> 16) % (draw % 7 == 0 ? 4 * MS : MS / 4);
        event.now_ns = now_ns;
        event.next_ns = now_ns + (draw >> 40) % (2 * MS);
        gsrt_phi_step(phi, &event);
        ck_assert(gsrt_phi_check(phi));
        while (draw % 3 != 0 && gsrt_phi_poll(phi, &action))
            digest =
                (digest ^ ((uint64_t)action.phi_milli << 16 | action.peer << 4 | (uint64_t)action.kind) ^ i << 48) *
                0x9E3779B97F4A7C15u;
    }
    gsrt_phi_free(phi);
    return digest;
}

START_TEST(the_same_events_give_the_same_bits_everywhere)
{
    uint64_t all = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        uint64_t digest = run_random(seed);
        ck_assert_uint_eq(run_random(seed), digest);
        all = all * 31 + digest;
    }
    ck_assert_uint_eq(all,
                      5660762641838018834u); /* as it was when this was written: replays of old traces depend on it */
}
END_TEST

/* Whatever beat a scenario may ask for: the machines take it, and the bounds are those that its documentation names. */
START_TEST(every_beat_of_a_run_is_taken)
{
    static const struct {
        uint32_t contact_ms, lease_ms, pause_ms;
    } beats[] = {{GSRT_CONTACT_MS_MIN, 1000, 80},
                 {50, 1000, 400},
                 {51, 1020, 408},
                 {1000, 20000, 8000},
                 {1001, 20020, 8000},
                 {4000, 80000, 8000},
                 {4001, 80020, 0},
                 {GSRT_CONTACT_MS_MAX, 1200000, 0}};
    for (size_t i = 0; i < sizeof beats / sizeof beats[0]; i++) {
        gsrt_member_options options = gsrt_member_options_of(beats[i].contact_ms);
        ck_assert_uint_eq(options.machine.contact_ns, beats[i].contact_ms * MS);
        ck_assert_uint_eq(options.machine.lease_ns, beats[i].lease_ms * MS);
        ck_assert_uint_eq(options.pause_ns, beats[i].pause_ms * MS);
        options.machine.rank_count = 2;
        gsrt_membership *machine = NULL;
        must(gsrt_membership_create(&options.machine, &machine));
        (void)gsrt_membership_free(machine);
        gsrt_phi *phi = NULL;
        if (options.pause_ns != 0)
            must(gsrt_phi_create(
                &(gsrt_phi_options){.interval_ns = options.machine.contact_ns, .pause_ns = options.pause_ns}, 2, &phi));
        (void)gsrt_phi_free(phi);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {every_beat_of_a_run_is_taken,
                            a_silent_peer_is_suspected_within_the_bound,
                            one_that_was_never_heard_is_suspected_too,
                            an_observer_that_was_late_suspects_nobody,
                            an_observer_that_is_often_late_doubts_itself,
                            a_burst_is_not_a_rhythm,
                            a_slower_rhythm_is_learnt_and_bounded,
                            jitter_is_seldom_taken_for_death,
                            phi_is_the_formula_of_the_source,
                            who_is_not_watched_is_not_suspected,
                            the_same_events_give_the_same_bits_everywhere};
    return unit_run("phi", tests, sizeof tests / sizeof tests[0]);
}
