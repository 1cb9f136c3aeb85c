/* Faults: when each is due, in which order, how often; what a later leader leaves out; lists that lie. */
#include "health/faults.h"

#include "base/random.h"
#include "tests/unit.h"

#include <math.h>
#include <string.h>

enum { RANKS = 4 };

static const uint64_t second_ns = UINT64_C(1000000000);

static gsrt_faults *machine_of(const gsrt_fault *faults, uint32_t count)
{
    gsrt_faults *machine;
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_faults_check(faults, count, RANKS, NULL, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_int_eq(gsrt_faults_create(faults, count, RANKS, &machine), GSRT_OK);
    return machine;
}

static void expect(gsrt_faults *machine, const uint32_t *indices, uint32_t count)
{
    uint32_t index = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_msg(gsrt_faults_poll(machine, &index), "fault %u is not due", indices[i]);
        ck_assert_uint_eq(index, indices[i]);
    }
    ck_assert_msg(!gsrt_faults_poll(machine, &index), "fault %u is due", index);
}
#define EXPECT(machine, ...)                                                                                           \
    expect(machine, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define EXPECT_NONE(machine) expect(machine, NULL, 0)

#define NOBODY GSRT_NOT_A_MEMBER
#define VIEW(machine, epoch, ...) gsrt_faults_view(machine, epoch, (const uint32_t[RANKS]){__VA_ARGS__})

static gsrt_fault kill_at(uint32_t rank, uint32_t request, uint32_t token)
{
    return (gsrt_fault){.kind = GSRT_FAULT_KILL,
                        .rank = rank,
                        .times = 1,
                        .when = {.kind = GSRT_MOMENT_TOKEN, .request = request, .token = token}};
}

static gsrt_fault stop_at(uint32_t rank, uint64_t at_ns)
{
    return (gsrt_fault){
        .kind = GSRT_FAULT_STOP, .rank = rank, .duration_ns = second_ns, .when = {GSRT_MOMENT_TIME, .at_ns = at_ns}};
}

static const uint8_t halves[GSRT_RANK_COUNT_MAX] = {1, 1, 2, 2};
static const uint8_t one_group[GSRT_RANK_COUNT_MAX] = {1, 0, 0, 1};

static gsrt_fault partition_at(const uint8_t *sides, uint32_t epoch)
{
    return (gsrt_fault){.kind = GSRT_FAULT_PARTITION,
                        .sides = sides,
                        .duration_ns = 1,
                        .when = {.kind = GSRT_MOMENT_VIEW, .epoch = epoch}};
}

static gsrt_fault slow_by(double factor)
{
    return (gsrt_fault){
        .kind = GSRT_FAULT_SLOW, .factor = factor, .duration_ns = 1, .when = {.kind = GSRT_MOMENT_TIME}};
}

START_TEST(tokens)
{
    const gsrt_fault faults[] = {kill_at(1, 0, 40), kill_at(2, 3, 1), kill_at(3, 0, 41)};
    gsrt_faults *machine = machine_of(faults, 3);
    EXPECT_NONE(machine);
    gsrt_faults_token(machine, 0, 39);
    gsrt_faults_token(machine, 1, 1000);
    gsrt_faults_token(machine, UINT32_MAX, UINT32_MAX);
    EXPECT_NONE(machine);
    gsrt_faults_token(machine, 0, 40);
    EXPECT(machine, 0);
    gsrt_faults_token(machine, 0, 40); /* emitted again after a recovery: not done again */
    EXPECT_NONE(machine);
    gsrt_faults_token(machine, 3, 1);
    gsrt_faults_token(machine, 0, 45); /* several at once */
    EXPECT(machine, 1, 2);
    ck_assert_uint_eq(gsrt_faults_next_ns(machine), UINT64_MAX);
    ck_assert_ptr_null(gsrt_faults_free(machine));
    ck_assert_ptr_null(gsrt_faults_free(NULL));
}
END_TEST

START_TEST(times_of_the_clock)
{
    const gsrt_fault faults[] = {stop_at(1, 3 * second_ns), stop_at(2, second_ns), stop_at(3, 0)};
    gsrt_faults *machine = machine_of(faults, 3);
    ck_assert_uint_eq(gsrt_faults_next_ns(machine), 0);
    EXPECT_NONE(machine);
    gsrt_faults_time(machine, 0);
    ck_assert_uint_eq(gsrt_faults_next_ns(machine), second_ns);
    EXPECT(machine, 2);
    gsrt_faults_time(machine, second_ns - 1);
    EXPECT_NONE(machine);
    gsrt_faults_time(machine, 9 * second_ns); /* late: both, in the order of the list */
    ck_assert_uint_eq(gsrt_faults_next_ns(machine), UINT64_MAX);
    EXPECT(machine, 0, 1);
    gsrt_faults_time(machine, 10 * second_ns);
    EXPECT_NONE(machine);
    gsrt_faults_free(machine);
}
END_TEST

START_TEST(views)
{
    const gsrt_fault faults[] = {partition_at(halves, 2), partition_at(one_group, 3), partition_at(halves, 5)};
    gsrt_faults *machine = machine_of(faults, 3);
    VIEW(machine, 1, 0, 0, 0, 0);
    EXPECT_NONE(machine);
    VIEW(machine, 2, 0, NOBODY, 0, 0);
    EXPECT(machine, 0);
    VIEW(machine, 2, 0, NOBODY, 0, 0); /* told twice */
    EXPECT_NONE(machine);
    VIEW(machine, 4, 0, 1, 0, 0); /* nobody here saw view 3 begin */
    EXPECT(machine, 1);
    VIEW(machine, 5, 0, 1, 0, NOBODY);
    EXPECT(machine, 2);
    gsrt_faults_free(machine);
}
END_TEST

START_TEST(order_of_the_list)
{
    const gsrt_fault faults[] = {stop_at(1, second_ns), partition_at(halves, 2), kill_at(1, 0, 1), slow_by(5)};
    gsrt_faults *machine = machine_of(faults, 4);
    gsrt_faults_token(machine, 0, 1);
    VIEW(machine, 2, 0, 0, 0, 0);
    gsrt_faults_time(machine, second_ns);
    uint32_t index;
    ck_assert(gsrt_faults_poll(machine, &index) && index == 0);
    gsrt_faults_time(machine, 2 * second_ns); /* in between: nothing changes */
    EXPECT(machine, 1, 2, 3);
    gsrt_faults_free(machine);
}
END_TEST

START_TEST(kills_are_repeated)
{
    gsrt_fault faults[] = {kill_at(1, 0, 10), kill_at(2, 0, 10)};
    faults[0].times = 3;
    gsrt_faults *machine = machine_of(faults, 2);
    VIEW(machine, 1, 0, 0, 0, 0);
    gsrt_faults_token(machine, 0, 10);
    EXPECT(machine, 0, 1);
    gsrt_faults_token(machine, 0, 11);
    VIEW(machine, 2, 0, 0, NOBODY, 0); /* it was not missed yet: the same incarnation is not killed twice */
    EXPECT_NONE(machine);
    VIEW(machine, 3, 0, NOBODY, 1, 0);
    EXPECT_NONE(machine);
    VIEW(machine, 4, 0, 2, 1, 0); /* one incarnation died before it was a member */
    VIEW(machine, 5, 0, 2, 1, 0);
    EXPECT(machine, 0);
    VIEW(machine, 6, 0, 3, 1, 0); /* back before it was missed */
    EXPECT(machine, 0);
    VIEW(machine, 7, 0, 4, 1, 0);
    EXPECT_NONE(machine);
    gsrt_faults_free(machine);
}
END_TEST

START_TEST(what_an_earlier_leader_did)
{
    const gsrt_fault faults[] = {kill_at(0, 0, 40),       kill_at(1, 0, 41),      kill_at(1, 2, 1),
                                 stop_at(1, second_ns),   stop_at(1, 5),          slow_by(2),
                                 partition_at(halves, 2), partition_at(halves, 3)};
    gsrt_faults *machine = machine_of(faults, 8);
    gsrt_faults_skip(machine, (const uint32_t[]){40, 7}, 2, second_ns - 1, 3); /* request 2 has no count */
    EXPECT_NONE(machine);
    ck_assert_uint_eq(gsrt_faults_next_ns(machine), second_ns);
    VIEW(machine, 3, NOBODY, 0, 0, 0);
    EXPECT(machine, 7); /* the view that begins now */
    gsrt_faults_token(machine, 0, 40);
    gsrt_faults_time(machine, 100);
    EXPECT_NONE(machine);
    gsrt_faults_token(machine, 0, 41);
    gsrt_faults_token(machine, 2, 1);
    gsrt_faults_time(machine, second_ns);
    EXPECT(machine, 1, 2, 3);
    gsrt_faults_free(machine);
    machine = machine_of(faults, 8);
    gsrt_faults_skip(machine, NULL, 0, 0, 0); /* nothing but what is due at once */
    EXPECT_NONE(machine);
    ck_assert_uint_eq(gsrt_faults_next_ns(machine), 5);
    gsrt_faults_free(machine);
}
END_TEST

/* A kill with `times` 3 that earlier leaders have begun: what the next leader, whose first view has the rank as
 * `incarnation`, does to it and to the incarnations that follow. */
static void inherit(uint32_t incarnation, uint32_t wanted_first, uint32_t wanted_count)
{
    gsrt_fault fault = kill_at(2, 0, 1);
    fault.times = 3;
    gsrt_faults *machine = machine_of(&fault, 1);
    gsrt_faults_skip(machine, (const uint32_t[]){1}, 1, 0, 2);
    EXPECT_NONE(machine);
    VIEW(machine, 2, 0, 0, NOBODY, 0); /* how far it is, nobody can tell yet */
    EXPECT_NONE(machine);
    for (uint32_t i = incarnation; i < incarnation + 6; i++) {
        VIEW(machine, 3 + i, 0, 0, i, 0);
        bool is_wanted = i >= wanted_first && i < wanted_first + wanted_count;
        uint32_t index;
        ck_assert_msg(gsrt_faults_poll(machine, &index) == is_wanted, "from %u on: incarnation %u", incarnation, i);
    }
    gsrt_faults_free(machine);
}

START_TEST(kills_that_an_earlier_leader_began)
{
    inherit(0, 1, 2); /* it was killed and not missed yet, or the kill was lost with the leader */
    inherit(1, 1, 2);
    inherit(2, 2, 1);
    inherit(3, 0, 0);
    inherit(9, 0, 0);
}
END_TEST

START_TEST(nothing_to_do)
{
    gsrt_faults *machine = machine_of(NULL, 0);
    gsrt_faults_skip(machine, NULL, 0, UINT64_MAX, UINT32_MAX);
    gsrt_faults_token(machine, 0, 1);
    gsrt_faults_time(machine, UINT64_MAX);
    VIEW(machine, UINT32_MAX, 0, 0, 0, 0);
    EXPECT_NONE(machine);
    ck_assert_uint_eq(gsrt_faults_next_ns(machine), UINT64_MAX);
    gsrt_faults_free(machine);
}
END_TEST

/* ---- lists that lie ---- */

static void refuse(const gsrt_fault *faults, uint32_t count, uint32_t rank_count, gsrt_status wanted, const char *text)
{
    gsrt_diag diag = {0};
    gsrt_faults *machine = NULL;
    ck_assert_int_eq(gsrt_faults_check(faults, count, rank_count, "q.yaml", &diag), wanted);
    ck_assert_str_eq(diag.text, text);
    ck_assert_int_eq(gsrt_faults_create(faults, count, rank_count, &machine), GSRT_EINVAL);
    ck_assert_ptr_null(machine);
}

START_TEST(ranks_that_are_not_there)
{
    const gsrt_fault faults[] = {kill_at(1, 0, 1), kill_at(3, 0, 1), partition_at(halves, 2),
                                 partition_at(one_group, 2)};
    refuse(
        faults, 2, 3, GSRT_EINFEASIBLE,
        "q.yaml: faults[1]: names rank 3 and so needs 4 ranks, but there are 3; start more ranks (mpirun -n 4) or name "
        "another");
    refuse(
        &faults[2], 1, 1, GSRT_EINFEASIBLE,
        "q.yaml: faults[0]: names rank 3 and so needs 4 ranks, but there is 1; start more ranks (mpirun -n 4) or name "
        "another");
    static const uint8_t all[GSRT_RANK_COUNT_MAX] = {1, 1, 1, 1};
    const gsrt_fault nobody_else = partition_at(all, 2);
    refuse(&nobody_else, 1, 4, GSRT_EINFEASIBLE,
           "q.yaml: faults[0]: puts all 4 ranks on one side; start more ranks or leave one out of the group");
    ck_assert_int_eq(gsrt_faults_check(&nobody_else, 1, 5, NULL, NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_faults_check(faults, 4, 4, NULL, NULL), GSRT_OK);
    gsrt_faults *machine = NULL;
    ck_assert_int_eq(gsrt_faults_create(NULL, 0, 0, &machine), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_faults_create(NULL, 0, GSRT_RANK_COUNT_MAX + 1, &machine), GSRT_EINVAL);
}
END_TEST

START_TEST(values_past_the_limits)
{
    static gsrt_fault many[GSRT_FAULT_COUNT_MAX + 1];
    for (uint32_t i = 0; i <= GSRT_FAULT_COUNT_MAX; i++)
        many[i] = kill_at(i % RANKS, 0, 1 + i);
    ck_assert_int_eq(gsrt_faults_check(many, GSRT_FAULT_COUNT_MAX, RANKS, NULL, NULL), GSRT_OK);
    refuse(many, GSRT_FAULT_COUNT_MAX + 1, RANKS, GSRT_EINPUT, "q.yaml: faults: 257 faults; at most 256 are allowed");
    refuse(NULL, UINT32_MAX, RANKS, GSRT_EINPUT, "q.yaml: faults: 4294967295 faults; at most 256 are allowed");

    const gsrt_fault kill = kill_at(1, 0, 1), stop = stop_at(1, 1), slow = slow_by(2), cut = partition_at(halves, 2);
    const uint64_t longest_ns = GSRT_DRILL_MS_MAX * (second_ns / 1000), latest_ns = GSRT_FAULT_SECONDS_MAX * second_ns;
    gsrt_fault bad[40];
    uint32_t count = 0;
#define BAD(of, member, value) (bad[count] = (of), bad[count++].member = (value))
    BAD(kill, kind, (gsrt_fault_kind)0);
    BAD(kill, kind, (gsrt_fault_kind)77);
    BAD(kill, rank, GSRT_RANK_COUNT_MAX);
    BAD(kill, times, 0);
    BAD(kill, times, GSRT_FAULT_TIMES_MAX + 1);
    BAD(kill, duration_ns, 1);
    BAD(kill, factor, 2);
    BAD(kill, sides, halves);
    BAD(kill, when.kind, (gsrt_moment_kind)0);
    BAD(kill, when.kind, (gsrt_moment_kind)9);
    BAD(kill, when.token, 0);
    BAD(kill, when.token, GSRT_CONTEXT_MAX + 1);
    BAD(kill, when.request, GSRT_REQUEST_COUNT_MAX);
    BAD(kill, when.at_ns, 1);
    BAD(kill, when.epoch, 2);
    BAD(stop, times, 1);
    BAD(stop, duration_ns, 0);
    BAD(stop, duration_ns, longest_ns + 1);
    BAD(stop, when.at_ns, latest_ns + 1);
    BAD(stop, when.token, 1);
    BAD(stop, when.epoch, 2);
    const gsrt_fault corrupt = {.kind = GSRT_FAULT_CORRUPT, .rank = 1, .when = stop.when};
    ck_assert_int_eq(gsrt_faults_check(&corrupt, 1, 2, "s.yaml", NULL), GSRT_OK);
    BAD(corrupt, duration_ns, 1);
    BAD(corrupt, times, 1);
    BAD(corrupt, factor, 2);
    BAD(slow, factor, 1);
    BAD(slow, factor, NAN);
    BAD(slow, factor, INFINITY);
    BAD(slow, factor, 2.0 * GSRT_FAULT_FACTOR_MAX);
    BAD(cut, sides, NULL);
    BAD(cut, rank, 1);
    BAD(cut, when.epoch, 1);
    BAD(cut, when.epoch, GSRT_FAULT_EPOCH_MAX + 1);
    BAD(cut, when.request, 1);
#undef BAD
    for (uint32_t i = 0; i < count; i++)
        refuse(&bad[i], 1, RANKS, GSRT_EINPUT,
               "q.yaml: faults[0]: is no fault: a value is past its limits, or belongs to another kind; see "
               "docs/scenario.md");
    gsrt_fault edge[] = {stop, slow, kill};
    edge[0].when.at_ns = latest_ns;
    edge[0].duration_ns = longest_ns;
    edge[1].factor = GSRT_FAULT_FACTOR_MAX;
    edge[2].times = GSRT_FAULT_TIMES_MAX;
    ck_assert_int_eq(gsrt_faults_check(edge, 3, RANKS, NULL, NULL), GSRT_OK);
    ck_assert_str_eq(gsrt_fault_kind_name(GSRT_FAULT_PARTITION), "partition");
    ck_assert_str_eq(gsrt_fault_kind_name((gsrt_fault_kind)77), "?");
}
END_TEST

/* ---- against a plain model ---- */

enum { MODEL_FAULTS = 12, MODEL_EVENTS = 60, MODEL_SEEDS = 500 };

/* A fault as the model sees it: has its moment come, which incarnation was it done to last, how often. */
typedef struct plain {
    bool has_come;
    uint32_t done_count, incarnation;
} plain;

static uint32_t draw(uint64_t seed, uint64_t stream, uint64_t index, uint32_t below)
{
    return (uint32_t)(gsrt_random_u64(seed, stream, index) % below);
}

static gsrt_fault random_fault(uint64_t seed, uint64_t i)
{
    gsrt_fault fault = draw(seed, 1, i, 2) == 0 ? kill_at(draw(seed, 2, i, RANKS), 0, 1) : stop_at(0, 1);
    fault.times = fault.kind == GSRT_FAULT_KILL ? 1 + draw(seed, 3, i, 3) : 0;
    fault.when.kind = (gsrt_moment_kind)(1 + draw(seed, 4, i, 3));
    bool is_token = fault.when.kind == GSRT_MOMENT_TOKEN;
    fault.when.request = is_token ? draw(seed, 5, i, 2) : 0;
    fault.when.token = is_token ? 1 + draw(seed, 6, i, 20) : 0;
    fault.when.at_ns = fault.when.kind == GSRT_MOMENT_TIME ? draw(seed, 7, i, 20) : 0;
    fault.when.epoch = fault.when.kind == GSRT_MOMENT_VIEW ? 2 + draw(seed, 8, i, 10) : 0;
    return fault;
}

/* Everything that has happened so far: the model looks at it as a whole after each event. */
typedef struct history {
    uint32_t tokens[2], epoch;
    uint64_t now_ns;
    bool has_time, has_view_changed;
    uint32_t members[RANKS], last[RANKS];
} history;

static bool is_due(const gsrt_fault *fault, plain *p, const history *h)
{
    if (!p->has_come) {
        switch (fault->when.kind) {
        case GSRT_MOMENT_TOKEN: p->has_come = h->tokens[fault->when.request] >= fault->when.token; break;
        case GSRT_MOMENT_TIME: p->has_come = h->has_time && h->now_ns >= fault->when.at_ns; break;
        case GSRT_MOMENT_VIEW: p->has_come = h->epoch >= fault->when.epoch; break;
        }
        return p->has_come;
    }
    return h->has_view_changed && p->done_count < fault->times && h->members[fault->rank] != NOBODY &&
           h->members[fault->rank] > p->incarnation;
}

/* The next event of the seed, to the machine and to the history. */
static void happen(uint64_t seed, uint64_t e, gsrt_faults *machine, history *h)
{
    h->has_view_changed = false;
    switch (draw(seed, 9, e, 3)) {
    case 0: {
        uint32_t request = draw(seed, 10, e, 2);
        h->tokens[request] += draw(seed, 11, e, 4);
        gsrt_faults_token(machine, request, h->tokens[request]);
        break;
    }
    case 1:
        h->now_ns += draw(seed, 12, e, 4);
        h->has_time = true;
        gsrt_faults_time(machine, h->now_ns);
        break;
    default:
        h->epoch += 1;
        h->has_view_changed = true;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            bool is_back = h->members[rank] == NOBODY || draw(seed, 13 + rank, e, 4) == 0;
            h->members[rank] = draw(seed, 20 + rank, e, 3) == 0 ? NOBODY : h->last[rank] + is_back;
            if (h->members[rank] != NOBODY)
                h->last[rank] = h->members[rank];
        }
        gsrt_faults_view(machine, h->epoch, h->members);
    }
}

START_TEST(against_a_model)
{
    uint32_t done_total = 0, again_total = 0;
    for (uint64_t seed = 1; seed <= MODEL_SEEDS; seed++) {
        gsrt_fault faults[MODEL_FAULTS];
        plain model[MODEL_FAULTS] = {0};
        history h = {0};
        for (uint64_t i = 0; i < MODEL_FAULTS; i++)
            faults[i] = random_fault(seed, i);
        gsrt_faults *machine = machine_of(faults, MODEL_FAULTS);
        for (uint64_t e = 0; e < MODEL_EVENTS; e++) {
            happen(seed, e, machine, &h);
            for (uint32_t i = 0; i < MODEL_FAULTS; i++) {
                if (!is_due(&faults[i], &model[i], &h))
                    continue;
                uint32_t index;
                ck_assert_msg(gsrt_faults_poll(machine, &index) && index == i, "seed %u, event %u: fault %u",
                              (unsigned)seed, (unsigned)e, i);
                done_total++;
                again_total += model[i].done_count > 0;
                model[i].done_count++;
                model[i].incarnation = h.last[faults[i].rank];
            }
            EXPECT_NONE(machine);
        }
        gsrt_faults_free(machine);
    }
    ck_assert_uint_gt(done_total, MODEL_SEEDS * 5); /* the events do reach the faults */
    ck_assert_uint_gt(again_total, MODEL_SEEDS);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {tokens,
                            times_of_the_clock,
                            views,
                            order_of_the_list,
                            kills_are_repeated,
                            what_an_earlier_leader_did,
                            kills_that_an_earlier_leader_began,
                            nothing_to_do,
                            ranks_that_are_not_there,
                            values_past_the_limits,
                            against_a_model};
    return unit_run("faults", tests, sizeof tests / sizeof tests[0]);
}
