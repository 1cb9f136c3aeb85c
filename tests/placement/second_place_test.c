/* Second places: the most distant rank, whatever the plan, the hosts and who is there. */
#include "placement/second_place.h"

#include "placement/fallback.h"
#include "tests/unit.h"

enum { RANKS = 5 };

static const char *const one_host[] = {"a", "a", "a", "a", "a"};
static const char *const two_hosts[] = {"a", "a", "b", "b", "b"};
static const char *const spare_here[] = {"a", "b", "b", "a", "a"}; /* of rank 0, not of the others */

typedef struct example {
    const char *what;
    uint32_t role_count; /* ranks 0, 1 ... have one, the others none */
    const char *const *hosts;
    bool is_missing[RANKS];
    uint32_t wanted[RANKS];
} example;

#define NONE GSRT_NO_PLACE

static const example examples[] = {
    {"spares first", 3, one_host, {0}, {3, 4, 3, NONE, NONE}},
    {"hosts unknown", 3, NULL, {0}, {3, 4, 3, NONE, NONE}},
    {"a spare that is gone", 3, NULL, {[3] = true}, {4, 4, 4, NONE, NONE}},
    {"no spare: in turn, none twice", 5, NULL, {0}, {1, 2, 3, 4, 0}},
    {"the other host, even where a spare is here", 3, two_hosts, {0}, {3, 4, 0, NONE, NONE}},
    {"another host before a spare", 3, spare_here, {0}, {1, 3, 4, NONE, NONE}},
    {"all others are gone",
     1,
     one_host,
     {[1] = true, [2] = true, [3] = true, [4] = true},
     {NONE, NONE, NONE, NONE, NONE}},
};

static gsrt_plan *plan_of(uint32_t role_count)
{
    gsrt_plan_carrier c = {.stage_count = role_count, .role_count = role_count};
    for (uint32_t s = 0; s < role_count; s++) {
        c.layers[2 * s] = c.layers[2 * s + 1] = c.ranks[s] = s;
        c.member_counts[s] = c.shares[s] = 1;
    }
    gsrt_plan *plan;
    ck_assert_int_eq(gsrt_plan_unpack(&c, &plan), GSRT_OK);
    return plan;
}

START_TEST(the_most_distant_rank)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const example *e = &examples[i];
        bool is_there[RANKS];
        uint32_t places[RANKS];
        gsrt_plan *plan = plan_of(e->role_count);
        for (uint32_t rank = 0; rank < RANKS; rank++)
            is_there[rank] = !e->is_missing[rank];
        gsrt_plan_second_places(plan, e->hosts, is_there, RANKS, places);
        for (uint32_t rank = 0; rank < RANKS; rank++)
            ck_assert_msg(places[rank] == e->wanted[rank], "%s: of rank %u: %u, not %u", e->what, rank, places[rank],
                          e->wanted[rank]);
        gsrt_plan_free(plan);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {the_most_distant_rank};
    return unit_run("second place", tests, sizeof tests / sizeof tests[0]);
}
