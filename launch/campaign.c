#include "launch/campaign.h"

#include "base/random.h"

enum { MESSAGES = 500 }; /* of an answer, one after the other over one link, about */

static const double ms = 1e6; /* in ns */

/* Streams of the twin's own draws have their purpose in the same place: theirs are small. */
static const uint64_t stream = UINT64_C(0xCA) << 56;

typedef struct dice {
    uint64_t seed, count;
} dice;

static double draw(dice *d)
{
    return gsrt_random_f64(d->seed, stream, d->count++);
}

static uint32_t draw_below(dice *d, uint32_t count)
{
    return (uint32_t)(gsrt_random_u64(d->seed, stream, d->count++) % count);
}

/* From `low` up to `octaves` times its double, each octave as often as the others; without libm, whose versions differ.
 */
static double draw_octaves(dice *d, double low, int octaves)
{
    double at = octaves * draw(d);
    int octave = (int)at;
    return low * (1 + (at - octave)) * (double)(UINT64_C(1) << octave);
}

const char *gsrt_campaign_kind_name(gsrt_campaign_kind kind)
{
    switch (kind) {
    case GSRT_CAMPAIGN_KILL: return "kill";
    case GSRT_CAMPAIGN_STOP: return "stop";
    case GSRT_CAMPAIGN_KEEPER: return "keeper";
    case GSRT_CAMPAIGN_PARTITION: return "partition";
    case GSRT_CAMPAIGN_SLOW: return "slow";
    case GSRT_CAMPAIGN_KIND_COUNT: break;
    }
    return "?";
}

static gsrt_campaign_kind draw_kind(dice *d, uint32_t rank_count)
{
    static const uint8_t percent[] = {35, 25, 5, 25, 10};
    _Static_assert(sizeof percent == GSRT_CAMPAIGN_KIND_COUNT, "one for each kind");
    uint32_t at = draw_below(d, 100), kind = 0;
    while (at >= percent[kind])
        at -= percent[kind++];
    return kind == GSRT_CAMPAIGN_PARTITION && rank_count == 1 ? GSRT_CAMPAIGN_STOP : (gsrt_campaign_kind)kind;
}

/* Each rank on one of two sides; when all came to lie on one, one of them goes to the other. */
static void draw_sides(dice *d, uint32_t rank_count, uint8_t *sides)
{
    uint32_t second_count = 0;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        sides[rank] = (uint8_t)draw_below(d, 2);
        second_count += sides[rank];
    }
    if (second_count == 0 || second_count == rank_count)
        sides[draw_below(d, rank_count)] ^= 1;
}

static void draw_fault(dice *d, uint32_t rank_count, uint64_t at_ns, gsrt_campaign_fault *out)
{
    *out = (gsrt_campaign_fault){.kind = draw_kind(d, rank_count), .at_ns = at_ns};
    switch (out->kind) {
    case GSRT_CAMPAIGN_STOP: out->duration_ns = (uint64_t)draw_octaves(d, 1 * ms, 12); break;
    case GSRT_CAMPAIGN_PARTITION:
        out->duration_ns = (uint64_t)draw_octaves(d, 1 * ms, 13);
        draw_sides(d, rank_count, out->sides);
        return;
    case GSRT_CAMPAIGN_SLOW:
        out->duration_ns = (uint64_t)draw_octaves(d, 1 * ms, 11);
        out->factor = draw_octaves(d, 1.5, 6);
        break;
    case GSRT_CAMPAIGN_KILL:
    case GSRT_CAMPAIGN_KEEPER:
    case GSRT_CAMPAIGN_KIND_COUNT: break;
    }
    out->rank = draw_below(d, rank_count);
}

/* Good links, or some that take up to a thousand times as long, at random, so that a vote is long enough to be hit, or
 * ten thousand times, so that it is longer than the time after which the next rank proposes; and such that lose, repeat
 * and delay. */
static void draw_links(dice *d, gsrt_campaign *out)
{
    bool is_jittery = draw(d) < 0.5, is_bad = draw(d) < 0.5;
    int octaves = draw(d) < 0.4 ? 14 : 10;
    double jitter = draw_octaves(d, 1, octaves), loss = draw(d), duplication = draw(d), delay = draw(d);
    uint64_t retransmit_ns = (uint64_t)draw_octaves(d, 0.2 * ms, 7), delay_ns = (uint64_t)draw_octaves(d, 0.01 * ms, 9);
    out->jitter = is_jittery ? jitter : 0;
    if (is_bad)
        out->link = (gsrt_twin_link_faults){.loss = 0.03 * loss * loss,
                                            .duplication = 0.05 * duplication,
                                            .delay = 0.05 * delay * delay,
                                            .retransmit_ns = retransmit_ns,
                                            .delay_ns = delay_ns};
}

/* What one rank says to another, or to all, arrives long after what others say: messages of the view before, too, and
 * what it proposes when others have begun to propose. */
static void draw_slow_links(dice *d, uint32_t rank_count, gsrt_campaign *out)
{
    bool is_slow = draw(d) < 0.4 && rank_count > 1, is_to_all = draw(d) < 0.5;
    uint32_t from = draw_below(d, rank_count), to = draw_below(d, rank_count);
    double latency_ns = draw_octaves(d, 0.05 * ms, 13);
    if (!is_slow)
        return;
    out->slow_from = from;
    out->slow_to = to == from ? (to + 1) % rank_count : to;
    out->slow_is_to_all = is_to_all;
    out->slow_ns = (uint64_t)latency_ns;
}

static void sort(gsrt_campaign *c)
{
    for (uint32_t i = 1; i < c->fault_count; i++) {
        for (uint32_t k = i; k > 0 && c->faults[k - 1].at_ns > c->faults[k].at_ns; k--) {
            gsrt_campaign_fault later = c->faults[k - 1];
            c->faults[k - 1] = c->faults[k];
            c->faults[k] = later;
        }
    }
}

void gsrt_campaign_draw(uint64_t seed, uint32_t rank_count, uint64_t begin_ns, uint64_t end_ns, gsrt_campaign *out)
{
    dice d = {.seed = seed};
    *out = (gsrt_campaign){0};
    draw_links(&d, out);
    draw_slow_links(&d, rank_count, out);
    uint32_t wanted = 1 + draw_below(&d, GSRT_CAMPAIGN_FAULTS_MAX);
    uint64_t before_ns = begin_ns;
    double span_ns = (double)(end_ns - begin_ns) * (1 + out->jitter / 16); /* an eighth of a step is latency */
    span_ns += MESSAGES * (double)out->slow_ns / 2;
    while (out->fault_count < wanted) {
        double within_ns = span_ns * draw(&d), gap_ns = draw_octaves(&d, 0.01 * ms, 18);
        bool is_soon = draw(&d) < 0.5 && out->fault_count > 0;
        uint64_t at_ns = is_soon ? before_ns + (uint64_t)gap_ns : begin_ns + (uint64_t)within_ns;
        gsrt_campaign_fault *fault = &out->faults[out->fault_count++];
        draw_fault(&d, rank_count, at_ns, fault);
        before_ns = at_ns;
        bool is_leader_stopped = draw(&d) < 0.3;
        double longer = draw_octaves(&d, 0.5, 2);
        if (fault->kind != GSRT_CAMPAIGN_PARTITION || !is_leader_stopped || out->fault_count == wanted)
            continue;
        out->faults[out->fault_count++] = (gsrt_campaign_fault){
            .kind = GSRT_CAMPAIGN_STOP, .at_ns = at_ns, .duration_ns = (uint64_t)((double)fault->duration_ns * longer)};
    }
    sort(out);
    for (uint32_t i = 0; i < out->fault_count; i++) {
        uint64_t over_ns = out->faults[i].at_ns + out->faults[i].duration_ns;
        out->quiet_ns = over_ns > out->quiet_ns ? over_ns : out->quiet_ns;
    }
}

bool gsrt_campaign_is_slow(const gsrt_campaign *c, uint32_t from, uint32_t to)
{
    return c->slow_ns > 0 && from == c->slow_from && to != from && (c->slow_is_to_all || to == c->slow_to);
}

static gsrt_status print_fault(const gsrt_campaign_fault *fault, uint32_t rank_count, gsrt_buffer *out)
{
    gsrt_status status =
        gsrt_buffer_print(out, "  %.6f s: %s", (double)fault->at_ns / 1e9, gsrt_campaign_kind_name(fault->kind));
    if (fault->kind != GSRT_CAMPAIGN_PARTITION)
        return status == GSRT_OK ? gsrt_buffer_print(out, " of rank %u", fault->rank) : status;
    for (int side = 0; side < 2; side++) {
        const char *before = side == 0 ? " of ranks " : " from ";
        for (uint32_t rank = 0; rank < rank_count && status == GSRT_OK; rank++) {
            if (fault->sides[rank] != side)
                continue;
            status = gsrt_buffer_print(out, "%s%u", before, rank);
            before = ", ";
        }
    }
    return status;
}

gsrt_status gsrt_campaign_print_faults(const gsrt_campaign *c, uint32_t rank_count, gsrt_buffer *out)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < c->fault_count && status == GSRT_OK; i++) {
        const gsrt_campaign_fault *fault = &c->faults[i];
        status = print_fault(fault, rank_count, out);
        if (status == GSRT_OK && fault->kind == GSRT_CAMPAIGN_SLOW)
            status = gsrt_buffer_print(out, ", %.1f times", fault->factor);
        if (status == GSRT_OK && fault->duration_ns > 0)
            status = gsrt_buffer_print(out, " for %.6f s", (double)fault->duration_ns / 1e9);
        if (status == GSRT_OK)
            status = gsrt_buffer_print(out, "\n");
    }
    for (uint32_t to = 0; to < rank_count && status == GSRT_OK; to++) {
        if (gsrt_campaign_is_slow(c, c->slow_from, to))
            status = gsrt_buffer_print(out, "  the link from rank %u to rank %u: latency up to %.2f ms\n", c->slow_from,
                                       to, (double)c->slow_ns / 1e6);
    }
    if (status != GSRT_OK)
        return status;
    return gsrt_buffer_print(
        out,
        "  links: latency up to %.2f times; lost %.2f %%, repeated %.2f %%, delayed %.2f %% by up to "
        "%.2f ms, sent again after %.2f ms\n",
        1 + c->jitter, 100 * c->link.loss, 100 * c->link.duplication, 100 * c->link.delay,
        (double)c->link.delay_ns / 1e6, (double)c->link.retransmit_ns / 1e6);
}

void gsrt_campaign_do(const gsrt_campaign_fault *fault, gsrt_twin *twin)
{
    switch (fault->kind) {
    case GSRT_CAMPAIGN_KILL: gsrt_twin_kill(twin, fault->rank); break;
    case GSRT_CAMPAIGN_STOP: gsrt_twin_stop(twin, fault->rank, fault->duration_ns); break;
    case GSRT_CAMPAIGN_KEEPER: gsrt_twin_kill_keeper(twin, fault->rank); break;
    case GSRT_CAMPAIGN_PARTITION: gsrt_twin_partition(twin, fault->sides, fault->duration_ns); break;
    case GSRT_CAMPAIGN_SLOW: gsrt_twin_slow(twin, fault->rank, fault->factor, fault->duration_ns); break;
    case GSRT_CAMPAIGN_KIND_COUNT: break;
    }
}
