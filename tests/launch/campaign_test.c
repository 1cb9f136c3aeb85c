/* What seeds draw: the same for the same seed, within its limits, and of every kind. */
#include "launch/campaign.h"

#include "tests/unit.h"

enum { SEEDS = 2000, RANKS = 4 };

static const uint64_t ms = 1000000;

START_TEST(a_seed_draws_the_same_whatever_is_beside_it)
{
    static gsrt_campaign a, b;
    for (uint64_t seed = 0; seed < 50; seed++) {
        gsrt_campaign_draw(seed, RANKS, 5 * ms, 70 * ms, &a);
        gsrt_campaign_draw(seed + 1, RANKS, 5 * ms, 70 * ms, &b);
        ck_assert(a.faults[0].at_ns != b.faults[0].at_ns || a.faults[0].kind != b.faults[0].kind);
        gsrt_campaign_draw(seed, RANKS, 5 * ms, 70 * ms, &b);
        ck_assert_mem_eq(&a, &b, sizeof a);
    }
}
END_TEST

static void check_fault(const gsrt_campaign_fault *fault, uint32_t rank_count)
{
    bool is_lasting = fault->kind != GSRT_CAMPAIGN_KILL && fault->kind != GSRT_CAMPAIGN_KEEPER;
    uint32_t second_count = 0;
    ck_assert_uint_ge(fault->at_ns, 5 * ms);
    ck_assert_uint_lt(fault->rank, rank_count);
    ck_assert(is_lasting ? fault->duration_ns > 0 && fault->duration_ns < 20000 * ms : fault->duration_ns == 0);
    ck_assert(fault->kind == GSRT_CAMPAIGN_SLOW ? fault->factor > 1 && fault->factor < 100 : fault->factor == 0);
    for (uint32_t rank = 0; rank < rank_count; rank++)
        second_count += fault->sides[rank];
    ck_assert(fault->kind == GSRT_CAMPAIGN_PARTITION ? second_count > 0 && second_count < rank_count
                                                     : second_count == 0);
}

START_TEST(everything_is_drawn_and_nothing_past_its_limits)
{
    static gsrt_campaign c;
    uint32_t kinds[GSRT_CAMPAIGN_KIND_COUNT] = {0}, counts[GSRT_CAMPAIGN_FAULTS_MAX + 1] = {0};
    uint32_t bad_links = 0, jittery = 0, overlaps = 0, slow = 0, slow_to_all = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        gsrt_campaign_draw(seed, RANKS, 5 * ms, 70 * ms, &c);
        ck_assert(c.fault_count >= 1 && c.fault_count <= GSRT_CAMPAIGN_FAULTS_MAX);
        counts[c.fault_count] += 1;
        bad_links += c.link.loss > 0;
        jittery += c.jitter > 0;
        slow += c.slow_ns > 0;
        slow_to_all += gsrt_campaign_is_slow(&c, 1, 0) && gsrt_campaign_is_slow(&c, 1, 2);
        ck_assert(c.slow_ns < 1000 * ms && (c.slow_ns == 0 || c.slow_from != c.slow_to));
        ck_assert(!gsrt_campaign_is_slow(&c, c.slow_from, c.slow_from));
        ck_assert(c.link.loss >= 0 && c.link.loss <= 0.03 && c.link.duplication <= 0.05 && c.link.delay <= 0.05);
        for (uint32_t i = 0; i < c.fault_count; i++) {
            const gsrt_campaign_fault *fault = &c.faults[i];
            check_fault(fault, RANKS);
            kinds[fault->kind] += 1;
            ck_assert_uint_le(fault->at_ns + fault->duration_ns, c.quiet_ns);
            ck_assert(i == 0 || fault->at_ns >= c.faults[i - 1].at_ns);
            overlaps += i > 0 && fault->at_ns < c.faults[i - 1].at_ns + c.faults[i - 1].duration_ns;
        }
    }
    for (int kind = 0; kind < GSRT_CAMPAIGN_KIND_COUNT; kind++)
        ck_assert_msg(kinds[kind] > SEEDS / 20, "%s: %u", gsrt_campaign_kind_name((gsrt_campaign_kind)kind),
                      kinds[kind]);
    for (int count = 1; count <= GSRT_CAMPAIGN_FAULTS_MAX; count++)
        ck_assert_uint_gt(counts[count], SEEDS / 10);
    ck_assert(slow > SEEDS / 3 && slow_to_all > SEEDS / 40);
    ck_assert(bad_links > SEEDS / 3 && jittery > SEEDS / 3 && overlaps > SEEDS / 5);
}
END_TEST

START_TEST(one_rank_has_no_partitions)
{
    static gsrt_campaign c;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        gsrt_campaign_draw(seed, 1, 5 * ms, 5 * ms, &c);
        for (uint32_t i = 0; i < c.fault_count; i++) {
            ck_assert_int_ne(c.faults[i].kind, GSRT_CAMPAIGN_PARTITION);
            check_fault(&c.faults[i], 1);
        }
    }
}
END_TEST

START_TEST(it_is_told_in_words)
{
    static gsrt_campaign c = {.faults = {{.kind = GSRT_CAMPAIGN_PARTITION, .at_ns = 1500000, .sides = {0, 1, 0}},
                                         {.kind = GSRT_CAMPAIGN_SLOW, .at_ns = 2000000, .rank = 2, .factor = 3}},
                              .fault_count = 2};
    c.faults[0].duration_ns = c.faults[1].duration_ns = 250 * ms;
    static const char wanted[] =
        "  0.001500 s: partition of ranks 0, 2 from 1 for 0.250000 s\n"
        "  0.002000 s: slow of rank 2, 3.0 times for 0.250000 s\n"
        "  links: latency up to 1.00 times; lost 0.00 %, repeated 0.00 %, delayed 0.00 % by up to 0.00 ms, sent again "
        "after 0.00 ms\n";
    gsrt_buffer text;
    gsrt_buffer_init(&text, 4096);
    ck_assert_int_eq(gsrt_campaign_print_faults(&c, 3, &text), GSRT_OK);
    ck_assert_uint_eq(text.len, strlen(wanted));
    ck_assert_mem_eq(text.data, wanted, text.len);
    gsrt_buffer_fini(&text);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {a_seed_draws_the_same_whatever_is_beside_it,
                            everything_is_drawn_and_nothing_past_its_limits, one_rank_has_no_partitions,
                            it_is_told_in_words};
    return unit_run("campaign", tests, sizeof tests / sizeof tests[0]);
}
