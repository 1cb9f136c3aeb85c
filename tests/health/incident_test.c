/* Incidents: what a collector makes of faults, alone and overlapping; the file and its reader.
 * With --sample NAME this program prints a sample file, for tests/checks/schemas.py. */
#include "health/incidents.h"

#include "base/random.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 4, REQUESTS = 2 };
#define OUT GSRT_NOT_A_MEMBER
static const uint64_t MS = 1000000; /* in ns */

static const uint32_t everybody[RANKS] = {0, 0, 0, 0}, without_1[RANKS] = {0, OUT, 0, 0}, again_1[RANKS] = {0, 1, 0, 0},
                      without_12[RANKS] = {0, OUT, OUT, 0}, without_0[RANKS] = {OUT, OUT, 0, 0};

/* For what the samples need too: libcheck's own asserts work in a test only. */
static void must(bool is_true)
{
    if (!is_true)
        abort();
}

/* Every step leaves the invariants whole. */
static void step(gsrt_incidents *c, gsrt_incident_event event)
{
    must(gsrt_incidents_step(c, &event) == GSRT_OK);
    must(gsrt_incidents_check(c));
}

#define STEP(c, what, at, ...)                                                                                         \
    step(c, (gsrt_incident_event){.kind = GSRT_INCIDENT_##what, .at_ns = (uint64_t)((at)*1e6), __VA_ARGS__})

static void view(gsrt_incidents *c, double at_ms, uint32_t epoch, const uint32_t *before, const uint32_t *after)
{
    STEP(c, VIEW, at_ms, .epoch = epoch, .rank_count = RANKS, .before = before, .after = after);
}

static void emit(gsrt_incidents *c, double first_ms, uint32_t request, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i <= to; i++)
        STEP(c, TOKEN, first_ms + (i - from), .request = request, .token = i);
}

/* 40 tokens of request 0 by 40 ms, in view 1. */
static gsrt_incidents *under_way(void)
{
    gsrt_incidents *c = gsrt_incidents_create(REQUESTS);
    must(c != NULL);
    view(c, 0, 1, everybody, everybody);
    emit(c, 1, 0, 1, 40);
    must(gsrt_incidents_count(c) == 0);
    return c;
}

/* From the word to the view, the choice and START: times from at_ms on. */
static void recover(gsrt_incidents *c, double at_ms, uint32_t epoch, const uint32_t *before, const uint32_t *after)
{
    view(c, at_ms + 2, epoch, before, after);
    STEP(c, CONSIDERED, at_ms + 2, .epoch = epoch, .method = GSRT_METHOD_IN_PLACE, .predicted_ns = 90 * MS,
         .text = "slower");
    STEP(c, CONSIDERED, at_ms + 2, .epoch = epoch, .method = GSRT_METHOD_SPARE, .predicted_ns = 20 * MS,
         .is_chosen = true, .text = "spare rank 3 took stage 0 member 1");
    STEP(c, CHECKED, at_ms + 3, .text = "contract bitwise");
    STEP(c, STARTED, at_ms + 11, .epoch = epoch);
}

static void single_kill(gsrt_incidents *c)
{
    STEP(c, DRILL, 40.2, .rank = 1, .drill = GSRT_INCIDENT_KILLED);
    emit(c, 40.5, 0, 41, 41); /* it was on its way out */
    STEP(c, ABANDONED, 41, .rows = 3);
    STEP(c, SUSPECTED, 41.5, .observer = 2, .rank = 1, .detector = GSRT_DETECTOR_SENTINEL);
    STEP(c, WORD, 42, .rank = 1);
    STEP(c, WORD, 42.5, .observer = 2, .rank = 1);
    recover(c, 42, 2, everybody, without_1);
    STEP(c, READY, 57, .is_idle = false);
    STEP(c, RESTORED, 60, .request = 0, .token = 41);
    STEP(c, TOKEN, 62, .request = 0, .token = 42, .recomputed = 41);
    emit(c, 63, 0, 43, 50);
}

static const gsrt_incident *only(const gsrt_incidents *c)
{
    ck_assert_uint_eq(gsrt_incidents_count(c), 1);
    return gsrt_incidents_at(c, 0);
}

static void written(const gsrt_incident *incident, gsrt_buffer *out)
{
    gsrt_buffer_init(out, GSRT_JSON_BYTES_MAX);
    must(gsrt_incident_write(incident, out) == GSRT_OK);
}

/* What was written, read, and the same bytes written again. */
static gsrt_incident *round_trip(const gsrt_incident *incident)
{
    gsrt_buffer first, second;
    gsrt_incident *read = NULL;
    gsrt_diag diag = {0};
    written(incident, &first);
    gsrt_status status = gsrt_incident_read(gsrt_buffer_span(&first), "1.json", &read, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    written(read, &second);
    ck_assert(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
    return read;
}

static void check_faults(const gsrt_incident *incident, const char *wanted)
{
    gsrt_buffer out;
    gsrt_buffer_init(&out, 1 << 16);
    ck_assert_int_eq(gsrt_incident_print_faults(incident, &out), GSRT_OK);
    ck_assert_int_eq(gsrt_buffer_append(&out, "", 1), GSRT_OK);
    ck_assert_str_eq((const char *)out.data, wanted);
    gsrt_buffer_fini(&out);
}

static void check_phases(const gsrt_incident *incident, const double wanted_ms[GSRT_PHASE_COUNT])
{
    for (int phase = 0; phase < GSRT_PHASE_COUNT; phase++)
        ck_assert_uint_eq(incident->phase_ns[phase], (uint64_t)(wanted_ms[phase] * 1e6 + 0.5));
}

/* All news until there is none: a letter each, and the number of the fault. */
static void check_news(gsrt_incidents *c, const char *wanted)
{
    char found[64] = "";
    size_t len = 0;
    gsrt_incident_news news;
    while (gsrt_incidents_poll(c, &news) && len + 2 < sizeof found) {
        found[len++] = news.kind == GSRT_INCIDENT_NEWS_FAULT   ? (char)('0' + news.fault)
                       : news.kind == GSRT_INCIDENT_NEWS_ENDED ? 'e'
                                                               : 'c';
    }
    ck_assert_str_eq(found, wanted);
}

START_TEST(a_single_kill)
{
    static const double phases_ms[] = {1.3, 2.5, 9, 4, 5};
    gsrt_incidents *c = under_way();
    single_kill(c);
    const gsrt_incident *incident = only(c);
    ck_assert_int_eq(incident->state, GSRT_INCIDENT_RECOVERED);
    ck_assert_int_eq(gsrt_incident_kind_of(incident), GSRT_INCIDENT_KILLED);
    ck_assert_int_eq(incident->method, GSRT_METHOD_SPARE);
    check_phases(incident, phases_ms);
    ck_assert_uint_eq(gsrt_incident_detection_ns(incident), 1300000);
    ck_assert_uint_eq(gsrt_incident_recovery_ns(incident), 21800000); /* 40.2 to 62 */
    ck_assert_uint_eq(incident->lost_tokens, 0);
    ck_assert_uint_eq(incident->recomputed_tokens, 41);
    ck_assert_uint_eq(incident->lost_rows, 3);
    ck_assert(incident->is_checked && incident->is_restored);
    ck_assert_str_eq(gsrt_incident_chosen(incident)->why, "spare rank 3 took stage 0 member 1");
    ck_assert_uint_eq(incident->way_count, 2);
    ck_assert_uint_eq(incident->faults[0].observer, 2);
    ck_assert_int_eq(incident->faults[0].detector, GSRT_DETECTOR_SENTINEL);
    ck_assert_int_eq(incident->faults[0].proof, GSRT_PROOF_DIED);
    check_faults(incident, "faults:\n  - {kill: 1, when: {request: 0, token: 40}}\n");
    /* drill, abandoned, suspected, word (once), view, 2 considered, checked, started, ready, restored, token */
    ck_assert_uint_eq(incident->entry_count, 12);
    ck_assert_int_eq(incident->timeline[0].what, GSRT_INCIDENT_DRILL);
    ck_assert_int_eq(incident->timeline[1].what, GSRT_INCIDENT_ABANDONED);
    ck_assert_str_eq(incident->timeline[4].detail, "view 2, 3 members; without 1.0");
    ck_assert_int_eq(incident->timeline[11].what, GSRT_INCIDENT_TOKEN);
    (void)gsrt_incident_free(round_trip(incident));
    (void)gsrt_incidents_free(c);
}
END_TEST

START_TEST(news_come_once)
{
    gsrt_incidents *c = under_way();
    check_news(c, "");
    STEP(c, SUSPECTED, 41, .rank = 1, .detector = GSRT_DETECTOR_SENTINEL);
    check_news(c, "c"); /* not certain yet */
    STEP(c, WORD, 42, .rank = 1);
    check_news(c, "0c");
    STEP(c, WORD, 43, .rank = 1);
    check_news(c, "");
    recover(c, 42, 2, everybody, without_1);
    STEP(c, TOKEN, 62, .request = 0, .token = 41);
    check_news(c, "ec");
    emit(c, 63, 0, 42, 50);
    check_news(c, "");
    STEP(c, SUSPECTED, 80, .observer = 3, .rank = 1, .detector = GSRT_DETECTOR_LINK); /* late, of the same */
    check_news(c, "c");
    ck_assert_int_eq(only(c)->timeline[only(c)->entry_count - 1].what, GSRT_INCIDENT_SUSPECTED);
    (void)gsrt_incidents_free(c);
}
END_TEST

START_TEST(a_kill_during_a_recovery_belongs_to_it)
{
    gsrt_incidents *c = under_way();
    STEP(c, WORD, 42, .rank = 1);
    recover(c, 42, 2, everybody, without_1); /* START at 53 */
    STEP(c, DRILL, 53.5, .rank = 2, .drill = GSRT_INCIDENT_KILLED);
    STEP(c, WORD, 54, .rank = 2, .is_last = true);
    ck_assert(!gsrt_incidents_at(c, 0)->is_checked);
    STEP(c, READY, 54.5, .is_idle = false);       /* of the old START */
    emit(c, 55, 0, 41, 41);                       /* of before the faults: no recovery */
    STEP(c, TOKEN, 55, .request = 1, .token = 1); /* the same */
    view(c, 57, 3, without_1, without_12);
    STEP(c, CONSIDERED, 57, .epoch = 3, .method = GSRT_METHOD_RESHAPED, .predicted_ns = GSRT_INCIDENT_UNKNOWN_NS,
         .is_chosen = true, .text = "ranks 0 and 3 divide the work");
    STEP(c, STARTED, 66, .epoch = 3);
    STEP(c, READY, 66, .is_idle = false);
    STEP(c, TOKEN, 70, .request = 0, .token = 42, .recomputed = 41);
    const gsrt_incident *incident = only(c);
    uint32_t ranks[GSRT_RANK_COUNT_MAX];
    ck_assert_int_eq(incident->state, GSRT_INCIDENT_RECOVERED);
    ck_assert_int_eq(incident->method, GSRT_METHOD_RESHAPED);
    ck_assert_uint_eq(gsrt_incident_ranks(incident, ranks), 2);
    ck_assert(ranks[0] == 1 && ranks[1] == 2 && incident->faults[1].is_last);
    ck_assert_uint_eq(incident->phase_ns[GSRT_PHASE_AGREEMENT], 5 * MS); /* 42 to 44, 54 to 57 */
    ck_assert_uint_eq(incident->phase_ns[GSRT_PHASE_RESTART], 18 * MS);  /* 44 to 53, 57 to 66 */
    ck_assert_uint_eq(incident->phase_ns[GSRT_PHASE_RESTORING], 1 * MS); /* 53 to 54, 66 */
    ck_assert_uint_eq(gsrt_incident_recovery_ns(incident), 28 * MS);
    ck_assert_uint_eq(gsrt_incident_detection_ns(incident), GSRT_INCIDENT_UNKNOWN_NS);
    check_faults(incident, "faults:\n  - {kill: 1, when: {request: 0, token: 40}}\n  - {kill: 2, when: {view: 2}}\n");
    (void)gsrt_incident_free(round_trip(incident));
    STEP(c, WORD, 80, .rank = 3);
    ck_assert_uint_eq(gsrt_incidents_count(c), 2); /* a token lies between */
    (void)gsrt_incidents_free(c);
}
END_TEST

START_TEST(kinds)
{
    static const struct {
        gsrt_incident_detector detector;
        gsrt_incident_event_kind then; /* 0: nothing more */
        bool was_ordered;
        gsrt_incident_kind wanted;
        const char *faults;
    } cases[] = {
        {GSRT_DETECTOR_SENTINEL, GSRT_INCIDENT_WORD, false, GSRT_INCIDENT_KILLED, "kill: 2"},
        {GSRT_DETECTOR_SILENCE, GSRT_INCIDENT_WORD, false, GSRT_INCIDENT_KILLED, "kill: 2"},
        {GSRT_DETECTOR_SILENCE, GSRT_INCIDENT_WORD, true, GSRT_INCIDENT_STOPPED, "stop: 2"},
        {GSRT_DETECTOR_LINK, GSRT_INCIDENT_WORD, true, GSRT_INCIDENT_LINK, "partition: [[2]]"},
        {GSRT_DETECTOR_SENTINEL, GSRT_INCIDENT_WORD, true, GSRT_INCIDENT_LINK, "partition: [[2]]"},
        {GSRT_DETECTOR_SILENCE, GSRT_INCIDENT_UNREACHABLE, false, GSRT_INCIDENT_PARTITION, "partition: [[2]]"},
        {GSRT_DETECTOR_MESSAGE, 0, false, GSRT_INCIDENT_LEFT, "kill: 2"},
        {GSRT_DETECTOR_SILENCE, 0, false, GSRT_INCIDENT_UNKNOWN, "kill: 2"},
        {GSRT_DETECTOR_WATCH, GSRT_INCIDENT_WORD, true, GSRT_INCIDENT_VIOLATED, "corrupt: 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char wanted[128];
        gsrt_incidents *c = under_way();
        STEP(c, SUSPECTED, 50, .rank = 2, .detector = cases[i].detector);
        if (cases[i].then != 0)
            step(c, (gsrt_incident_event){
                        .kind = cases[i].then, .at_ns = 51 * MS, .rank = 2, .was_ordered = cases[i].was_ordered});
        ck_assert_int_eq(gsrt_incident_kind_of(only(c)), cases[i].wanted);
        (void)snprintf(wanted, sizeof wanted, "faults:\n  - {%s, when: {request: 0, token: 40}%s}\n", cases[i].faults,
                       cases[i].faults[0] == 'k' || cases[i].faults[0] == 'c' ? "" : ", for: 60");
        check_faults(only(c), wanted);
        (void)gsrt_incident_free(round_trip(only(c)));
        (void)gsrt_incidents_free(c);
    }
}
END_TEST

START_TEST(a_stop_is_what_was_ordered)
{
    gsrt_incidents *c = under_way();
    STEP(c, DRILL, 45, .rank = 2, .drill = GSRT_INCIDENT_STOPPED, .for_ms = 1500, .request = 0, .token = 39);
    STEP(c, SUSPECTED, 145, .rank = 2, .detector = GSRT_DETECTOR_SILENCE);
    STEP(c, WORD, 146, .rank = 2, .was_ordered = true);
    ck_assert_int_eq(gsrt_incident_kind_of(only(c)), GSRT_INCIDENT_STOPPED);
    ck_assert_uint_eq(gsrt_incident_detection_ns(only(c)), 100 * MS);
    check_faults(only(c), "faults:\n  - {stop: 2, when: {request: 0, token: 39}, for: 1.500}\n");
    (void)gsrt_incidents_free(c);
    c = under_way(); /* nobody noticed it; what comes long after it is not its doing */
    STEP(c, DRILL, 45, .rank = 2, .drill = GSRT_INCIDENT_STOPPED, .for_ms = 100);
    STEP(c, WORD, 9000, .rank = 2);
    ck_assert_int_eq(gsrt_incident_kind_of(only(c)), GSRT_INCIDENT_KILLED);
    ck_assert_uint_eq(only(c)->faults[0].fault_ns, GSRT_INCIDENT_UNKNOWN_NS);
    (void)gsrt_incidents_free(c);
}
END_TEST

START_TEST(a_partition_takes_many)
{
    gsrt_incidents *c = gsrt_incidents_create(REQUESTS);
    ck_assert_ptr_nonnull(c);
    STEP(c, DRILL, 1200, .rank = GSRT_NOT_A_MEMBER, .drill = GSRT_INCIDENT_PARTITION, .for_ms = 2000);
    STEP(c, SUSPECTED, 1300, .rank = 1, .detector = GSRT_DETECTOR_SILENCE);
    STEP(c, SUSPECTED, 1300, .rank = 2, .detector = GSRT_DETECTOR_SILENCE);
    STEP(c, UNREACHABLE, 1400, .rank = 2);
    STEP(c, UNREACHABLE, 1400, .rank = 1);
    STEP(c, UNREACHABLE, 1500, .rank = 1);
    ck_assert_uint_eq(only(c)->fault_count, 2);
    ck_assert_uint_eq(only(c)->faults[1].fault_ns, 1200 * MS);
    check_faults(only(c), "faults:\n  - {partition: [[1, 2]], when: {seconds: 1.200}, for: 2}\n");
    (void)gsrt_incident_free(round_trip(only(c)));
    (void)gsrt_incidents_free(c);
}
END_TEST

START_TEST(in_place_the_wait_for_the_process_is_restart)
{
    gsrt_incidents *c = under_way();
    STEP(c, WORD, 42, .rank = 1);
    STEP(c, JOINED, 50, .rank = 1, .incarnation = 1);
    STEP(c, JOINED, 51, .rank = 1, .incarnation = 1); /* it asks again */
    view(c, 53, 2, everybody, again_1);
    STEP(c, CONSIDERED, 53, .epoch = 2, .method = GSRT_METHOD_IN_PLACE, .predicted_ns = 9 * MS, .is_chosen = true);
    STEP(c, STARTED, 54, .epoch = 2);
    STEP(c, READY, 58, .is_idle = false);
    STEP(c, TOKEN, 60, .request = 0, .token = 41, .recomputed = 40);
    ck_assert_uint_eq(only(c)->phase_ns[GSRT_PHASE_AGREEMENT], 3 * MS);
    ck_assert_uint_eq(only(c)->phase_ns[GSRT_PHASE_RESTART], 9 * MS);
    ck_assert_uint_eq(gsrt_incident_recovery_ns(only(c)), 18 * MS);
    ck_assert_int_eq(only(c)->method, GSRT_METHOD_IN_PLACE);
    ck_assert_uint_eq(only(c)->return_ns, 0);
    STEP(c, WORD, 70, .rank = 1, .incarnation = 1);
    ck_assert_uint_eq(gsrt_incidents_count(c), 2);
    (void)gsrt_incidents_free(c);
}
END_TEST

START_TEST(who_joins_back_is_no_incident)
{
    gsrt_incidents *c = under_way();
    single_kill(c);
    uint64_t recovery_ns = gsrt_incident_recovery_ns(only(c));
    STEP(c, WORD, 90, .rank = 1, .incarnation = 1); /* died before it was admitted: nobody had waited for it */
    STEP(c, JOINED, 100, .rank = 1, .incarnation = 2);
    emit(c, 101, 0, 51, 52);
    view(c, 105, 3, without_1, (const uint32_t[RANKS]){0, 2, 0, 0});
    STEP(c, ABANDONED, 105, .rows = 2);
    STEP(c, CONSIDERED, 105, .epoch = 3, .method = GSRT_METHOD_FULL, .predicted_ns = 9 * MS, .is_chosen = true);
    STEP(c, CHECKED, 105, .text = "contract bitwise");
    STEP(c, STARTED, 106, .epoch = 3);
    STEP(c, READY, 108, .is_idle = false);
    STEP(c, TOKEN, 111, .request = 0, .token = 53, .recomputed = 52);
    const gsrt_incident *incident = only(c);
    ck_assert_uint_eq(gsrt_incident_recovery_ns(incident), recovery_ns);
    ck_assert_uint_eq(incident->return_ns, 11 * MS);
    ck_assert_uint_eq(incident->recomputed_tokens, 41 + 52);
    ck_assert_uint_eq(incident->lost_rows, 3 + 2);
    ck_assert_int_eq(incident->method, GSRT_METHOD_SPARE);
    ck_assert_str_eq(gsrt_incident_chosen(incident)->why, "spare rank 3 took stage 0 member 1");
    check_faults(incident, "faults:\n  - {kill: 1, when: {request: 0, token: 40}}\n");
    (void)gsrt_incident_free(round_trip(incident));
    (void)gsrt_incidents_free(c);
}
END_TEST

START_TEST(lost_tokens_are_counted_not_assumed)
{
    gsrt_incidents *c = under_way();
    single_kill(c); /* 50 tokens */
    ck_assert_uint_eq(only(c)->lost_tokens, 0);
    emit(c, 90, 0, 49, 50); /* again */
    ck_assert_uint_eq(only(c)->lost_tokens, 2);
    STEP(c, TOKEN, 95, .request = 1, .token = 4); /* 1 to 3 are missing */
    ck_assert_uint_eq(only(c)->lost_tokens, 5);
    (void)gsrt_incidents_free(c);
}
END_TEST

START_TEST(ends_without_a_token)
{
    for (int is_complete = 0; is_complete < 2; is_complete++) {
        gsrt_incidents *c = under_way();
        STEP(c, WORD, 50, .rank = 1);
        STEP(c, FINISHED, 60, .is_complete = is_complete != 0);
        ck_assert_int_eq(only(c)->state, is_complete ? GSRT_INCIDENT_NOT_NEEDED : GSRT_INCIDENT_FAILED);
        ck_assert_uint_eq(gsrt_incident_recovery_ns(only(c)), GSRT_INCIDENT_UNKNOWN_NS);
        check_news(c, "0ec");
        (void)gsrt_incident_free(round_trip(only(c)));
        (void)gsrt_incidents_free(c);
    }
    gsrt_incidents *c = under_way(); /* nothing is asked */
    STEP(c, WORD, 50, .rank = 3);
    view(c, 51, 2, everybody, (const uint32_t[RANKS]){0, 0, 0, OUT});
    STEP(c, STARTED, 52, .epoch = 2);
    STEP(c, READY, 54, .is_idle = true);
    ck_assert_int_eq(only(c)->state, GSRT_INCIDENT_RECOVERED);
    ck_assert_uint_eq(gsrt_incident_recovery_ns(only(c)), 4 * MS);
    (void)gsrt_incidents_free(c);
}
END_TEST

START_TEST(a_view_alone_tells_of_a_loss)
{
    gsrt_incidents *c = under_way();
    view(c, 50, 2, everybody, without_12);
    ck_assert_uint_eq(only(c)->fault_count, 2);
    ck_assert_int_eq(gsrt_incident_kind_of(only(c)), GSRT_INCIDENT_UNKNOWN);
    ck_assert_int_eq(only(c)->faults[1].proof, GSRT_PROOF_LEFT_OUT);
    (void)gsrt_incidents_free(c);
}
END_TEST

START_TEST(a_coordinator_that_takes_over_goes_on)
{
    gsrt_incidents *first = under_way(), *second = gsrt_incidents_create(REQUESTS);
    single_kill(first);
    STEP(first, WORD, 100, .rank = 2);
    ck_assert_uint_eq(gsrt_incidents_count(first), 2);
    gsrt_incident *one = round_trip(gsrt_incidents_at(first, 0)), *two = round_trip(gsrt_incidents_at(first, 1));
    gsrt_incident *same = round_trip(gsrt_incidents_at(first, 1));
    (void)gsrt_incidents_free(first);

    ck_assert_int_eq(gsrt_incidents_adopt(second, two), GSRT_OK); /* in any order */
    ck_assert_int_eq(gsrt_incidents_adopt(second, one), GSRT_OK);
    ck_assert_int_eq(gsrt_incidents_adopt(second, same), GSRT_EINVAL);
    same->number = 3;
    ck_assert_int_eq(gsrt_incidents_adopt(second, same), GSRT_EINVAL); /* a second open one */
    (void)gsrt_incident_free(same);
    ck_assert_int_eq(gsrt_incidents_emitted(second, 0, 50), GSRT_OK);
    ck_assert_int_eq(gsrt_incidents_emitted(second, REQUESTS, 1), GSRT_EINVAL);
    check_news(second, "");

    STEP(second, WORD, 103, .observer = 2, .rank = 0); /* that one was the coordinator */
    check_news(second, "1c");
    view(second, 104, 3, without_1, without_0);
    STEP(second, STARTED, 106, .epoch = 3);
    STEP(second, TOKEN, 109, .request = 0, .token = 51, .recomputed = 50);
    check_news(second, "ec");
    ck_assert_uint_eq(gsrt_incidents_count(second), 2);
    const gsrt_incident *incident = gsrt_incidents_at(second, 1);
    ck_assert_uint_eq(incident->number, 2);
    ck_assert_uint_eq(incident->fault_count, 2);
    ck_assert_uint_eq(incident->lost_tokens, 0);
    ck_assert_uint_eq(gsrt_incident_recovery_ns(incident), 9 * MS); /* since the first word */
    STEP(second, WORD, 200, .rank = 3);
    ck_assert_uint_eq(gsrt_incidents_at(second, 2)->number, 3);
    (void)gsrt_incidents_free(second);
}
END_TEST

/* Any event that is within the limits, whether it makes sense or not. */
static gsrt_incident_event random_event(uint64_t seed, uint64_t i, uint32_t views[2][RANKS])
{
    static const gsrt_incident_kind drills[] = {GSRT_INCIDENT_PARTITION, GSRT_INCIDENT_STOPPED, GSRT_INCIDENT_KILLED};
    uint64_t draw = gsrt_random_u64(seed, 0, i), more = gsrt_random_u64(seed, 1, i);
    gsrt_incident_event e = {.kind = (gsrt_incident_event_kind)(1 + draw % GSRT_INCIDENT_FINISHED),
                             .at_ns = i * MS - more % (3 * MS),
                             .observer = (uint32_t)(draw >> 8) % RANKS,
                             .rank = (uint32_t)(draw >> 16) % RANKS,
                             .incarnation = (uint32_t)(draw >> 24) % 3,
                             .drill = drills[more % 3],
                             .for_ms = (uint32_t)(draw >> 32) % 20,
                             .detector = (gsrt_incident_detector)(1 + more % GSRT_DETECTOR_VIEW),
                             .is_last = (draw >> 40) % 2 == 0,
                             .was_ordered = (draw >> 41) % 2 == 0,
                             .epoch = 1 + (uint32_t)i,
                             .rank_count = RANKS,
                             .before = views[0],
                             .after = views[1],
                             .method = (gsrt_incident_method)(1 + more % GSRT_METHOD_FULL),
                             .predicted_ns = more % 2 == 0 ? GSRT_INCIDENT_UNKNOWN_NS : more % MS,
                             .is_chosen = (draw >> 42) % 2 == 0,
                             .rows = more % 9,
                             .is_idle = (draw >> 43) % 4 == 0,
                             .request = (uint32_t)(draw >> 44) % REQUESTS,
                             .token = 1 + (uint32_t)(more % 200),
                             .recomputed = more % 5,
                             .is_complete = (draw >> 46) % 2 == 0};
    if (e.kind == GSRT_INCIDENT_FINISHED && more % 8 != 0)
        e.kind = GSRT_INCIDENT_TOKEN;
    memcpy(views[0], views[1], sizeof views[0]);
    if (e.kind == GSRT_INCIDENT_VIEW)
        views[1][e.rank] = (draw >> 48) % 2 == 0 ? OUT : e.incarnation;
    return e;
}

/* *ended: incidents that are said to have ended so far. */
static void hear_news(gsrt_incidents *c, uint64_t now_ns, uint32_t *ended, uint32_t *recovered)
{
    gsrt_incident_news news;
    while (gsrt_incidents_poll(c, &news)) {
        const gsrt_incident *incident = news.incident;
        const gsrt_incident_fault *first = &incident->faults[0];
        bool is_known = first->fault_ns != GSRT_INCIDENT_UNKNOWN_NS;
        *ended += news.kind == GSRT_INCIDENT_NEWS_ENDED ? 1 : 0;
        if (news.kind == GSRT_INCIDENT_NEWS_ENDED && incident->state == GSRT_INCIDENT_RECOVERED) {
            ck_assert_uint_eq(gsrt_incident_recovery_ns(incident),
                              now_ns - (is_known ? first->fault_ns : first->seen_ns));
            (*recovered)++;
        }
    }
}

START_TEST(whatever_comes_is_accounted_for)
{
    uint32_t recovered = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        uint32_t views[2][RANKS] = {{0}, {0}}, ended = 0;
        uint64_t now_ns = 0;
        gsrt_incidents *c = gsrt_incidents_create(REQUESTS);
        ck_assert_ptr_nonnull(c);
        for (uint64_t i = 4; i < 200; i++) {
            gsrt_incident_event event = random_event(seed, i, views);
            step(c, event);
            uint64_t at_ns = event.at_ns - event.at_ns % 1000;
            now_ns = at_ns > now_ns ? at_ns : now_ns;
            hear_news(c, now_ns, &ended, &recovered);
        }
        for (uint32_t i = 0; i < gsrt_incidents_count(c); i++)
            (void)gsrt_incident_free(round_trip(gsrt_incidents_at(c, i)));
        ck_assert_uint_ge(ended + 1, gsrt_incidents_count(c)); /* all but the last, which may be open */
        (void)gsrt_incidents_free(c);
    }
    ck_assert_uint_gt(recovered, 60);
}
END_TEST

START_TEST(events_past_the_limits_change_nothing)
{
    static const gsrt_incident_event bad[] = {
        {.kind = 0},
        {.kind = (gsrt_incident_event_kind)99},
        {.kind = GSRT_INCIDENT_WORD, .rank = GSRT_RANK_COUNT_MAX},
        {.kind = GSRT_INCIDENT_WORD, .incarnation = GSRT_NOT_A_MEMBER},
        {.kind = GSRT_INCIDENT_WORD, .observer = GSRT_RANK_COUNT_MAX},
        {.kind = GSRT_INCIDENT_WORD, .at_ns = UINT64_MAX},
        {.kind = GSRT_INCIDENT_SUSPECTED},
        {.kind = GSRT_INCIDENT_DRILL, .drill = GSRT_INCIDENT_LINK},
        {.kind = GSRT_INCIDENT_DRILL, .drill = GSRT_INCIDENT_KILLED, .rank = GSRT_NOT_A_MEMBER},
        {.kind = GSRT_INCIDENT_VIEW, .epoch = 1},
        {.kind = GSRT_INCIDENT_VIEW, .epoch = 0, .before = everybody, .after = everybody},
        {.kind = GSRT_INCIDENT_CONSIDERED},
        {.kind = GSRT_INCIDENT_CONSIDERED, .method = GSRT_METHOD_FULL, .predicted_ns = UINT64_MAX - 1},
        {.kind = GSRT_INCIDENT_ABANDONED, .rows = UINT64_MAX},
        {.kind = GSRT_INCIDENT_TOKEN, .request = REQUESTS, .token = 1},
        {.kind = GSRT_INCIDENT_TOKEN, .request = 0, .token = 0},
        {.kind = GSRT_INCIDENT_TOKEN, .request = 0, .token = GSRT_CONTEXT_MAX + 1},
        {.kind = GSRT_INCIDENT_TOKEN, .request = 0, .token = 1, .recomputed = UINT64_MAX},
    };
    gsrt_incidents *c = under_way();
    ck_assert_ptr_null(gsrt_incidents_create(GSRT_REQUEST_COUNT_MAX + 1));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(gsrt_incidents_step(c, &bad[i]) == GSRT_EINVAL, "event %zu was taken", i);
    ck_assert_uint_eq(gsrt_incidents_count(c), 0);
    (void)gsrt_incidents_free(c);
}
END_TEST

START_TEST(long_timelines_are_cut_and_say_so)
{
    gsrt_incidents *c = under_way();
    STEP(c, WORD, 50, .rank = 1);
    for (uint32_t i = 0; i < GSRT_INCIDENT_ENTRIES_MAX + 100; i++)
        STEP(c, SUSPECTED, 51, .rank = 1, .observer = i % RANKS, .detector = GSRT_DETECTOR_LINK);
    for (uint32_t i = 0; i < GSRT_INCIDENT_WAYS_MAX + 3; i++)
        STEP(c, CONSIDERED, 52, .method = GSRT_METHOD_FULL,
             .text = "a text with a tab\t and \xc3\xa9, and so long that "
                     "it does not fit into what there is for one text "
                     "of an incident, which is less than two hundred "
                     "bytes and cannot grow");
    ck_assert_uint_eq(only(c)->entry_count, GSRT_INCIDENT_ENTRIES_MAX);
    ck_assert_uint_eq(only(c)->entries_left_out, 101 + GSRT_INCIDENT_WAYS_MAX + 3);
    ck_assert_uint_eq(only(c)->way_count, GSRT_INCIDENT_WAYS_MAX);
    ck_assert_uint_eq(only(c)->ways_left_out, 3);
    (void)gsrt_incident_free(round_trip(only(c)));
    (void)gsrt_incidents_free(c);
}
END_TEST

/* ---- hostile files ---- */

static void check_refused(const char *text, size_t len, const char *wanted)
{
    gsrt_incident *incident = NULL;
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_incident_read(gsrt_span_of(text, len), "1.json", &incident, &diag);
    ck_assert_msg(status == GSRT_EINPUT, "accepted, although: %s", wanted);
    ck_assert_ptr_null(incident);
    ck_assert_msg(strstr(diag.text, wanted) != NULL, "'%s' is not in '%s'", wanted, diag.text);
}

START_TEST(hostile_files)
{
    static const struct {
        const char *old, *new, *wanted; /* the first `old` of a good file becomes `new` */
    } cases[] = {
        {"gsrt-incident/1", "gsrt-incident/2", "1.json: schema: must be \"gsrt-incident/1\""},
        {"\"incident\": 1", "\"incident\": 0", "1.json: incident: must be an integer from 1 to 4096"},
        {"\"incident\": 1", "\"incident\": 1.5", "incident: must be an integer"},
        {"\"kind\": \"killed\"", "\"kind\": \"stopped\"", "kind: does not follow"},
        {"\"state\": \"recovered\"", "\"state\": \"open\"", "rto_ms: does not follow"},
        {"\"state\": \"recovered\"", "\"state\": \"won\"", "state: must be one of open, recovered, not_needed, failed"},
        {"\"state\"", "\"statf\"", "state: is missing"},
        {"\"method\": \"spare\"", "\"method\": 7", "method: must be one of"},
        {"\"rank\": 1", "\"rank\": 1024", "faults[0].rank: must be an integer from 0 to 1023"},
        {"\"drill\": \"killed\"", "\"drill\": \"stopped\"", "kind: does not follow"},
        {"\"observer\": 2", "\"observer\": -1", "faults[0].observer: must be an integer"},
        {"\"last\": false", "\"last\": 0", "faults[0].last: must be true or false"},
        {"\"fault_ms\": 40.2", "\"fault_ms\": 99", "faults[0].seen_ms: is before the fault"},
        {"\"fault_ms\": 40.2", "\"fault_ms\": null", "rto_ms.detection: is not"},
        {"\"fault_ms\": 40.2", "\"fault_ms\": 40.2000001", "faults: does not follow"},
        {"\"seen_ms\": 41.5", "\"seen_ms\": 1e300", "faults[0].seen_ms: must be milliseconds"},
        {"\"seen_ms\": 41.5", "\"seen_ms\": \"41.5\"", "faults[0].seen_ms: must be milliseconds"},
        {"\"detection\": 1.3", "\"detection\": 1.4", "rto_ms.detection: is not"},
        {"\"agreement\": 2.5", "\"agreement\": -2.5", "rto_ms.agreement: must be milliseconds"},
        {"\"rpo_tokens\": 0", "\"rpo_tokens\": true", "rpo_tokens: must be an integer"},
        {"\"rpo_tokens\": 0", "\"rpo_tokens\": 0, \"extra\": 1", "unknown key 'extra'"},
        {"\"rpo_tokens\": 0", "\"rpo_tokens\": 0, \"rto\": 1", "unknown key 'rto'"},
        {"\"way\": \"in_place\"", "\"way\": \"prayer\"", "alternatives[0].way: must be one of"},
        {"\"why\": \"slower\"", "\"why\": \"slo\\u0007er\"", "alternatives[0].why: must be printable ASCII"},
        {"\"why\": \"slower\"", "\"why\": \"slo\\u0000er\"", "no valid JSON"},
        {"\"why\": \"slower\"", "\"why\": \"slower\", \"but\": 1", "alternatives: does not follow"},
        {"\"t_ms\": 40.2", "\"t_ms\": 400", "timeline[1].t_ms: is before"},
        {"\"what\": \"drill\"", "\"what\": \"dril\"", "timeline[0].what: must be one of drill, suspected"},
        {"\"timeline\": [", "\"timeline\": [7,", "timeline: must hold objects only"},
        {"\"timeline\": [", "\"timeline\": {}, \"left\": [", "timeline: must be a list"},
        {"\"faults\": [", "\"faults\": [], \"left\": [", "faults: must name at least one"},
        {"kill: 1, when", "kill: 2, when", "reproduce: does not follow"},
    };
    gsrt_incidents *c = under_way();
    gsrt_buffer good;
    single_kill(c);
    written(only(c), &good);
    ck_assert_int_eq(gsrt_buffer_append(&good, "", 1), GSRT_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gsrt_buffer bad;
        const char *text = (const char *)good.data, *at = strstr(text, cases[i].old);
        ck_assert_msg(at != NULL, "no %s in the sample", cases[i].old);
        gsrt_buffer_init(&bad, GSRT_JSON_BYTES_MAX);
        ck_assert_int_eq(
            gsrt_buffer_print(&bad, "%.*s%s%s", (int)(at - text), text, cases[i].new, at + strlen(cases[i].old)),
            GSRT_OK);
        check_refused((const char *)bad.data, bad.len, cases[i].wanted);
        gsrt_buffer_fini(&bad);
    }
    check_refused("", 0, "1.json");
    check_refused("[]", 2, "schema");
    check_refused("{\"schema\": \"gsrt-incident/1\"}", 29, "incident: is missing");
    gsrt_buffer_fini(&good);
    (void)gsrt_incidents_free(c);
}
END_TEST

START_TEST(a_fault_twice_is_refused)
{
    gsrt_incidents *c = under_way();
    gsrt_buffer out;
    gsrt_incident *incident;
    STEP(c, WORD, 50, .rank = 1);
    STEP(c, WORD, 51, .rank = 2);
    incident = round_trip(only(c));
    incident->faults[1].rank = 1;
    written(incident, &out);
    check_refused((const char *)out.data, out.len, "faults[1].rank: is here a second time");
    gsrt_buffer_fini(&out);
    incident->faults[1].rank = 2;
    incident->faults[1].seen_ns = 1 * MS;
    written(incident, &out);
    check_refused((const char *)out.data, out.len, "faults[1].seen_ms: is before that of the fault before it");
    gsrt_buffer_fini(&out);
    (void)gsrt_incident_free(incident);
    (void)gsrt_incidents_free(c);
}
END_TEST

/* ---- samples ---- */

static int print_sample(const char *name)
{
    gsrt_incidents *c = under_way();
    gsrt_buffer out;
    single_kill(c);
    if (strcmp(name, "incident") != 0) {
        STEP(c, SUSPECTED, 100, .rank = 2, .detector = GSRT_DETECTOR_SILENCE);
        STEP(c, UNREACHABLE, 140, .rank = 2);
    }
    if (strcmp(name, "incident-failed") == 0)
        STEP(c, FINISHED, 200, .is_complete = false);
    written(gsrt_incidents_at(c, gsrt_incidents_count(c) - 1), &out);
    size_t printed = fwrite(out.data, 1, out.len, stdout);
    bool is_whole = printed == out.len;
    gsrt_buffer_fini(&out);
    (void)gsrt_incidents_free(c);
    return is_whole ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--sample") == 0)
        return print_sample(argv[2]);
    const TTest *tests[] = {a_single_kill,
                            news_come_once,
                            a_kill_during_a_recovery_belongs_to_it,
                            kinds,
                            a_stop_is_what_was_ordered,
                            a_partition_takes_many,
                            in_place_the_wait_for_the_process_is_restart,
                            who_joins_back_is_no_incident,
                            lost_tokens_are_counted_not_assumed,
                            ends_without_a_token,
                            a_view_alone_tells_of_a_loss,
                            a_coordinator_that_takes_over_goes_on,
                            whatever_comes_is_accounted_for,
                            events_past_the_limits_change_nothing,
                            long_timelines_are_cut_and_say_so,
                            hostile_files,
                            a_fault_twice_is_refused};
    return unit_run("incident", tests, sizeof tests / sizeof tests[0]);
}
