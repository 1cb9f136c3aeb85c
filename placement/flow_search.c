#include "placement/flow_search.h"

#include "base/random.h"
#include "placement/flow_chain.h"
#include "placement/flow_evaluate.h"

#include <string.h>

static const char *const policies[] = {"greedy", "local"};

/* Of the budget of "local": halvings share what the nodes' moves at the end do not get. */
enum { GREEDY_COUNT = 24, HALVING_COUNT = 6, EXACT_SHARE = 8, ROUND_COUNT = 4 };
/* Metropolis over chains, in layers. */
static const double WARMEST = 0.1, COLDEST = 0.01;
/* Of the best's flow, over placements. */
static const double LOSABLE = 2.0;

typedef struct flow_search {
    gsrt_arena arena;
    const gsrt_flow_instance *instance;
    const gsrt_flow_options *options;
    gsrt_flow_evaluator *evaluator;
    gsrt_flow_chain current, candidate;
    gsrt_flow_target target;
    gsrt_flow_hold *best;         /* [node_count] of the caller */
    gsrt_flow_hold *tried, *here; /* [node_count] */
    gsrt_flow_found found;
    uint64_t evaluation_limit; /* of the phase */
    uint64_t stream, counter;  /* of random numbers */
} flow_search;

const char *gsrt_flow_policy_name(size_t index)
{
    return index < sizeof policies / sizeof policies[0] ? policies[index] : NULL;
}

static uint64_t draw(flow_search *s)
{
    return gsrt_random_u64(s->options->seed, s->stream, s->counter++);
}

/* [0, count) from 32 bits. */
static uint32_t part_of(uint32_t bits, uint32_t count)
{
    return (uint32_t)(((uint64_t)bits * count) >> 32);
}

static double chance(flow_search *s)
{
    return gsrt_random_f64(s->options->seed, s->stream, s->counter++);
}

static bool is_over(const flow_search *s)
{
    return s->found.evaluation_count >= s->evaluation_limit || s->found.amount >= s->options->bound;
}

/* The exact score of what was tried; kept when it is the best. */
static gsrt_flow_amount score(flow_search *s)
{
    gsrt_flow_amount amount = gsrt_flow_evaluate(s->evaluator, s->tried);
    if (amount > s->found.amount) {
        s->found.amount = amount;
        memcpy(s->best, s->tried, s->instance->node_count * sizeof *s->best);
    }
    return amount;
}

/* May what ends the chain (the source, while it is empty) pass `wanted` on to this node, as far as links go? */
static bool is_linked(const flow_search *s, uint32_t node, gsrt_flow_amount wanted)
{
    uint32_t used = s->current.used;
    uint32_t from = used == 0 ? gsrt_flow_source(s->instance) : s->current.places[used - 1].node;
    return gsrt_flow_link(s->instance, from, node) >= wanted;
}

/* Links of `wanted` and more to spare nodes. */
static uint32_t ways_on(const flow_search *s, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t i = s->current.used; i < s->instance->node_count; i++)
        count += gsrt_flow_link(s->instance, node, s->current.places[i].node) >= s->target.wanted;
    return count;
}

/* Where among the spare nodes the next one stands, `keep` left for the end: one that is linked, with the fewest ways on
 * (Warnsdorff's rule: what is hard to reach comes while it can be), then with the most layers alone, or throughput.
 * node_count: none. */
static uint32_t next_node(const flow_search *s, bool is_weak, bool is_start, uint32_t keep)
{
    uint32_t n = s->instance->node_count, found = n, fewest = 0;
    gsrt_flow_amount most = 0;
    for (uint32_t i = s->current.used; i < n; i++) {
        uint32_t node = s->current.places[i].node, length = s->target.lengths[node];
        if (node == keep || (length > 0) == is_weak || (is_start && !is_linked(s, node, s->target.wanted)))
            continue;
        uint32_t ways = ways_on(s, node);
        gsrt_flow_amount worth = is_weak ? gsrt_flow_throughput(s->instance, node, 1) : (gsrt_flow_amount)length;
        if (found == n || ways < fewest || (ways == fewest && worth > most)) {
            found = i;
            fewest = ways;
            most = worth;
        }
    }
    return found;
}

/* A chain for `wanted`: strong nodes alone, weak ones together until they are strong enough, then one that reaches the
 * sink. */
static void build_greedily(flow_search *s, gsrt_flow_amount wanted)
{
    uint32_t n = s->instance->node_count, at, keep = n;
    gsrt_flow_amount gathered = wanted;
    gsrt_flow_target_set(&s->target, s->instance, wanted);
    s->current.used = 0;
    for (uint32_t i = 0; i < n; i++)
        if (gsrt_flow_link(s->instance, i, gsrt_flow_sink(s->instance)) >= wanted && s->target.lengths[i] > 0 &&
            (keep == n || s->target.lengths[i] < s->target.lengths[keep]))
            keep = i;
    while ((at = next_node(s, false, true, keep)) < n)
        gsrt_flow_chain_move(&s->current, at, s->current.used, true);
    while ((at = next_node(s, true, gathered >= wanted, keep)) < n) {
        bool begins = gathered >= wanted;
        gathered = (begins ? 0 : gathered) + gsrt_flow_throughput(s->instance, s->current.places[at].node, 1);
        gsrt_flow_chain_move(&s->current, at, s->current.used, begins);
    }
    for (at = s->current.used; at < n; at++)
        if (s->current.places[at].node == keep) {
            gsrt_flow_chain_move(&s->current, at, s->current.used, true);
            break;
        }
}

/* The most that such a chain serves, by halving. */
static void search_greedily(flow_search *s)
{
    gsrt_flow_amount served = 0, least = s->options->bound, wanted = least;
    for (uint32_t i = 0; i < GREEDY_COUNT && !is_over(s) && wanted > 0; i++) {
        build_greedily(s, wanted);
        (void)gsrt_flow_chain_distance(s->instance, &s->current, &s->target);
        gsrt_flow_chain_holds(s->instance, &s->current, s->tried);
        s->found.evaluation_count += 1;
        gsrt_flow_amount amount = score(s);
        if (amount >= wanted)
            served = wanted;
        else
            least = wanted;
        wanted = served + (least - served) / 2;
    }
}

static void change(flow_search *s, gsrt_flow_chain *chain)
{
    uint64_t bits = draw(s), more = draw(s);
    uint32_t n = s->instance->node_count, kind = (uint32_t)bits & 15;
    uint32_t from = part_of((uint32_t)(bits >> 32), n), to = part_of((uint32_t)more, chain->used + 1);
    uint32_t with = part_of((uint32_t)(more >> 32), n);
    if (kind < 6 || chain->used == 0) {
        gsrt_flow_chain_move(chain, from, to, (kind & 1) != 0);
    } else if (kind < 12) {
        gsrt_flow_chain_swap(chain, from, with);
    } else if (kind < 14 && to < chain->used && with < chain->used) {
        gsrt_flow_chain_reverse(chain, to < with ? to : with, to < with ? with : to);
    } else if (kind < 15 && to > 0 && to < chain->used) {
        gsrt_flow_chain_cut(chain, to);
    } else {
        gsrt_flow_chain_spare(chain, from);
    }
}

/* exp(-x) for x >= 0, near enough for a coin, the same on every machine: (1 - x / 16)^16. */
static double fading(double x)
{
    if (x >= 16.0)
        return 0.0;
    double y = 1.0 - x / 16.0;
    y *= y;
    y *= y;
    y *= y;
    return y * y;
}

/* Walk until a chain serves `wanted` with more than was known, or the steps are over. */
static bool walk(flow_search *s, gsrt_flow_amount wanted, uint64_t step_count)
{
    uint32_t n = s->instance->node_count;
    gsrt_flow_target_set(&s->target, s->instance, wanted);
    gsrt_flow_chain_forget(&s->current);
    gsrt_flow_distance here = gsrt_flow_chain_distance(s->instance, &s->current, &s->target);
    s->stream += 1;
    s->counter = 0;
    for (uint64_t step = 0; step < step_count && !is_over(s); step++) {
        double left = (double)(step_count - step) / (double)step_count;
        double warmth = COLDEST + (WARMEST - COLDEST) * left * left;
        gsrt_flow_chain_copy(&s->candidate, &s->current, n);
        change(s, &s->candidate);
        gsrt_flow_distance there = gsrt_flow_chain_distance(s->instance, &s->candidate, &s->target);
        s->found.evaluation_count += 1;
        if (there.total > here.total && chance(s) >= fading((there.total - here.total) / warmth))
            continue;
        gsrt_flow_chain swapped = s->current;
        s->current = s->candidate;
        s->candidate = swapped;
        here = there;
        if (!there.is_served || is_over(s))
            continue;
        gsrt_flow_amount before = s->found.amount;
        s->found.evaluation_count += 1;
        gsrt_flow_chain_holds(s->instance, &s->current, s->tried);
        if (score(s) > before)
            return true;
    }
    return false;
}

/* Between the best that is served and the least that was not: halve. The bound itself is tried first. */
static void search_chains(flow_search *s)
{
    gsrt_flow_amount least = s->options->bound, wanted = least;
    uint64_t slice = s->evaluation_limit / HALVING_COUNT;
    for (uint32_t i = 0; i < HALVING_COUNT && !is_over(s);) {
        if (!walk(s, wanted, slice)) {
            least = wanted;
            i += 1;
        }
        if (least - s->found.amount < 2)
            break;
        wanted = s->found.amount + (least - s->found.amount) / 2;
    }
}

/* One node holds something else, next to what another holds or anywhere; or two exchange what they hold. */
static void change_holds(flow_search *s)
{
    uint64_t bits = draw(s), more = draw(s);
    uint32_t n = s->instance->node_count, kind = (uint32_t)more & 7;
    uint32_t node = part_of((uint32_t)bits, n), other = part_of((uint32_t)(bits >> 32), n);
    gsrt_flow_hold *hold = &s->tried[node];
    if (kind < 2) {
        gsrt_flow_hold was = *hold;
        *hold = s->tried[other];
        s->tried[other] = was;
        return;
    }
    uint32_t count = part_of((uint32_t)(more >> 32), s->instance->nodes[node].layers_max + 1);
    uint32_t first = s->tried[other].first, end = first + s->tried[other].count;
    if (kind < 4)
        first = end;
    else if (kind < 5)
        first = first > count ? first - count : 0;
    else if (kind < 6)
        first = part_of((uint32_t)draw(s), s->instance->layer_count);
    else if (kind < 7)
        first = end > count ? end - count : 0;
    if (count > s->instance->layer_count - first)
        first = s->instance->layer_count - count;
    *hold = (gsrt_flow_hold){.first = first, .count = count};
}

/* Rounds from the best: one change, or two at once half as often, and so on; kept when it loses no more than a share of
 * the best, which falls to nothing within the round (threshold accepting, Dueck and Scheuer 1990). */
static void search_nodes(flow_search *s)
{
    uint32_t n = s->instance->node_count;
    uint64_t begin = s->found.evaluation_count, slice = (s->evaluation_limit - begin) / ROUND_COUNT + 1;
    gsrt_flow_amount here = 0;
    s->stream += 1;
    s->counter = 0;
    for (uint64_t step = 0; !is_over(s); step++) {
        if (step % slice == 0) {
            memcpy(s->here, s->best, n * sizeof *s->here);
            here = s->found.amount;
        }
        double left = 1.0 - (double)(step % slice) / (double)slice;
        memcpy(s->tried, s->here, n * sizeof *s->tried);
        do
            change_holds(s);
        while ((draw(s) & 1) != 0);
        s->found.evaluation_count += 1;
        if (!gsrt_flow_holds_check(s->instance, s->tried))
            continue; /* exchanged with a node that cannot hold so many */
        gsrt_flow_amount amount = score(s);
        if (amount < here - (gsrt_flow_amount)(LOSABLE * left * left * left * (double)s->found.amount))
            continue;
        memcpy(s->here, s->tried, n * sizeof *s->here);
        here = amount;
    }
}

static gsrt_status begin(flow_search *s)
{
    uint32_t n = s->instance->node_count;
    gsrt_arena_init(&s->arena, GSRT_FLOW_BYTES_MAX);
    s->evaluator = gsrt_flow_evaluator_create(s->instance);
    s->tried = gsrt_arena_take(&s->arena, n, sizeof *s->tried);
    s->here = gsrt_arena_take(&s->arena, n, sizeof *s->here);
    if (s->evaluator == NULL || s->tried == NULL || s->here == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = gsrt_flow_chain_init(&s->current, &s->arena, n);
    if (status == GSRT_OK)
        status = gsrt_flow_chain_init(&s->candidate, &s->arena, n);
    return status == GSRT_OK ? gsrt_flow_target_init(&s->target, &s->arena, n) : status;
}

gsrt_status gsrt_flow_search(const gsrt_flow_instance *instance, const gsrt_flow_options *options, gsrt_diag *diag,
                             gsrt_flow_hold *holds, gsrt_flow_found *found)
{
    size_t policy = 0;
    while (gsrt_flow_policy_name(policy) != NULL && strcmp(gsrt_flow_policy_name(policy), options->policy) != 0)
        policy += 1;
    if (gsrt_flow_policy_name(policy) == NULL)
        return gsrt_diag_set(diag, GSRT_EINPUT, NULL, NULL, "no policy '%s' for flow placements; greedy or local",
                             options->policy);
    flow_search s = {.instance = instance, .options = options, .best = holds, .evaluation_limit = options->budget};
    gsrt_status status = begin(&s);
    memset(holds, 0, instance->node_count * sizeof *holds);
    if (status == GSRT_OK)
        search_greedily(&s);
    if (status == GSRT_OK && strcmp(options->policy, "local") == 0) {
        s.evaluation_limit = options->budget - options->budget / EXACT_SHARE;
        search_chains(&s);
        s.evaluation_limit = options->budget;
        search_nodes(&s);
    }
    if (status == GSRT_OK)
        *found = s.found;
    s.evaluator = gsrt_flow_evaluator_free(s.evaluator);
    gsrt_arena_fini(&s.arena);
    return status;
}
