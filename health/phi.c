#include "health/phi.h"

#include "base/limits.h"

#include <assert.h>
#include <stdlib.h>

/* Time is kept in microseconds and fractions in units of 2^-16, so that no sum leaves 64 bits: an interval counts at
 * most 2^28 us, the square of one is 2^56, of a window 2^63. */
enum {
    INTERVAL_US_MAX = 1 << 28,
    ONE = 1 << 16,
    DEVIATIONS_MAX = 64, /* phi is far past every threshold there */
    SLOPE = 104700,      /* 1.5976: Bowling et al. */
    CUBE = 4624,         /* 0.07056 */
    LN_10 = 150902,
    SOFTPLUS_STEP = ONE / 8,
    BURST_SHARE = 8,   /* heartbeats closer than this share of the interval came in a burst */
    INTERVALS_MAX = 4, /* a longer one is learnt as this many, so that what is learnt bounds the bound */
    THRESHOLD_MILLI_MAX = 20000,
};
#define INTERVAL_NS_MIN 100000ull
#define INTERVAL_NS_MAX                                                                                                \
    (GSRT_PHI_INTERVAL_MS_MAX * 1000000ull) /* what may be learnt from it stays below INTERVAL_US_MAX */

typedef struct peer_state {
    bool is_watched, is_suspected, is_told;     /* is_told: no action is due */
    uint32_t intervals_us[GSRT_PHI_WINDOW_MAX]; /* a ring of options.window */
    uint32_t interval_count;                    /* in the ring */
    uint32_t interval_next;                     /* where the next goes */
    uint32_t mean_us, deviation_us;             /* of the ring; deviation >= floor */
    uint64_t heard_ns;
    uint64_t deaf_then_ns; /* deaf_ns when it was heard */
    uint32_t phi_milli;    /* when it was suspected */
} peer_state;

struct gsrt_phi {
    gsrt_phi_options options;
    uint32_t peer_count, poll_next;
    uint32_t doubt;
    uint64_t due_ns;        /* of the observer's next tick; UINT64_MAX: not known yet */
    uint64_t now_ns;        /* of the last event */
    uint64_t deaf_ns;       /* in which the observer did not run, ever */
    uint64_t deaf_until_ns; /* counted so far, since due_ns */
    bool was_late;          /* since the last tick */
    peer_state peers[];     /* [peer_count] */
};

/* ---- arithmetic ---- */

/* ln(1 + exp(-i / 8)) */
static const int32_t softplus_tail[] = {
    45426, 41458, 37745, 34283, 31069, 28095, 25354, 22836, 20530, 18425, 16510, 14773, 13200, 11780, 10500, 9350, 8318,
    7394,  6567,  5829,  5170,  4583,  4061,  3597,  3184,  2818,  2493,  2205,  1950,  1724,  1523,  1346,  1189, 1051,
    928,   820,   724,   639,   565,   498,   440,   389,   343,   303,   267,   236,   208,   184,   162,   143,  126,
    112,   98,    87,    77,    68,    60,    53,    47,    41,    36,    32,    28,    25,    22,    19,    17,   15,
    13,    12,    10,    9,     8,     7,     6,     6,     5,     4,     4,     3,     3,     3,     2,     2,    2,
    2,     1,     1,     1,     1,     1,     1,     1,     1,     1,     0,     0,
};
enum { SOFTPLUS_COUNT = sizeof softplus_tail / sizeof softplus_tail[0] };

/* ln(1 + exp(x)), to 0.0005. */
static int64_t softplus(int64_t x)
{
    int64_t size = x < 0 ? -x : x, tail = 0;
    int64_t place = size / SOFTPLUS_STEP;
    if (place < SOFTPLUS_COUNT - 1)
        tail = softplus_tail[place] -
               (softplus_tail[place] - softplus_tail[place + 1]) * (size % SOFTPLUS_STEP) / SOFTPLUS_STEP;
    return (x > 0 ? x : 0) + tail;
}

/* -log10 of the normal tail beyond `deviations` (in 2^-16), in thousandths. */
static uint32_t phi_of(int64_t deviations)
{
    int64_t square = deviations * deviations / ONE;
    int64_t logit = deviations * (SLOPE + square * CUBE / ONE) / ONE;
    return (uint32_t)(softplus(logit) * 1000 / LN_10);
}

static uint32_t root(uint64_t x)
{
    uint64_t low = 0, high = 1ull << 32;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (middle * middle <= x)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

static uint32_t to_us(uint64_t ns)
{
    uint64_t us = ns / 1000;
    return us < INTERVAL_US_MAX ? (uint32_t)us : INTERVAL_US_MAX;
}

/* ---- what is known of a peer ---- */

static void learn(const gsrt_phi *phi, peer_state *p)
{
    uint64_t sum = 0, squares = 0;
    for (uint32_t i = 0; i < p->interval_count; i++)
        sum += p->intervals_us[i];
    uint64_t mean = sum / p->interval_count;
    for (uint32_t i = 0; i < p->interval_count; i++) {
        uint64_t x = p->intervals_us[i];
        uint64_t apart = x > mean ? x - mean : mean - x;
        squares += apart * apart;
    }
    uint32_t floor_us = to_us(phi->options.deviation_floor_ns);
    p->mean_us = (uint32_t)mean;
    p->deviation_us = root(squares / p->interval_count);
    if (p->deviation_us < floor_us)
        p->deviation_us = floor_us;
}

static void put(const gsrt_phi *phi, peer_state *p, uint32_t interval_us)
{
    p->intervals_us[p->interval_next] = interval_us;
    p->interval_next = (p->interval_next + 1) % phi->options.window;
    if (p->interval_count < phi->options.window)
        p->interval_count++;
}

static uint64_t silence_ns(const gsrt_phi *phi, const peer_state *p, uint64_t now_ns)
{
    uint64_t since = now_ns > p->heard_ns ? now_ns - p->heard_ns : 0, deaf = phi->deaf_ns - p->deaf_then_ns;
    return since > deaf ? since - deaf : 0;
}

static uint32_t phi_after(const gsrt_phi *phi, const peer_state *p, uint64_t silence)
{
    int64_t silence_us = to_us(silence / (phi->doubt + 1));
    int64_t expected_us = (int64_t)p->mean_us + to_us(phi->options.pause_ns);
    int64_t deviations = (silence_us - expected_us) * ONE / p->deviation_us;
    if (deviations > (int64_t)DEVIATIONS_MAX * ONE)
        deviations = (int64_t)DEVIATIONS_MAX * ONE;
    if (deviations < -(int64_t)DEVIATIONS_MAX * ONE)
        deviations = -(int64_t)DEVIATIONS_MAX * ONE;
    return phi_of(deviations);
}

/* ---- the observer itself ---- */

/* What has passed since its tick was due, it has not run in. */
static void notice_own_time(gsrt_phi *phi, uint64_t now_ns)
{
    assert(now_ns >= phi->now_ns);
    phi->now_ns = now_ns;
    if (phi->due_ns >= now_ns || now_ns - phi->due_ns <= phi->options.late_ns)
        return;
    uint64_t from_ns = phi->deaf_until_ns > phi->due_ns ? phi->deaf_until_ns : phi->due_ns;
    phi->deaf_ns += now_ns - from_ns;
    phi->deaf_until_ns = now_ns;
    phi->was_late = true;
}

static void tick(gsrt_phi *phi, uint64_t next_ns)
{
    if (phi->was_late)
        phi->doubt += phi->doubt < GSRT_PHI_DOUBT_MAX;
    else
        phi->doubt -= phi->doubt > 0;
    phi->was_late = false;
    phi->due_ns = next_ns;
    for (uint32_t i = 0; i < phi->peer_count; i++) {
        peer_state *p = &phi->peers[i];
        if (!p->is_watched || p->is_suspected)
            continue;
        p->phi_milli = phi_after(phi, p, silence_ns(phi, p, phi->now_ns));
        if (p->phi_milli < phi->options.threshold_milli)
            continue;
        p->is_suspected = true;
        p->is_told = !p->is_told; /* whoever was not told that it is trusted again need not hear of either */
    }
}

/* ---- events ---- */

static void watch(gsrt_phi *phi, peer_state *p)
{
    /* the interval that was agreed, with a deviation of a quarter, as long as nothing better is known */
    uint64_t quarter = phi->options.interval_ns / 4;
    *p = (peer_state){.is_watched = true, .is_told = true, .heard_ns = phi->now_ns, .deaf_then_ns = phi->deaf_ns};
    put(phi, p, to_us(phi->options.interval_ns - quarter));
    put(phi, p, to_us(phi->options.interval_ns + quarter));
    learn(phi, p);
}

static void heard(gsrt_phi *phi, peer_state *p)
{
    uint64_t interval_ns = silence_ns(phi, p, phi->now_ns), most_ns = phi->options.interval_ns * INTERVALS_MAX;
    p->heard_ns = phi->now_ns;
    p->deaf_then_ns = phi->deaf_ns;
    /* those of a burst were sent an interval apart and held up together: they say nothing about how it beats */
    if (interval_ns >= phi->options.interval_ns / BURST_SHARE) {
        put(phi, p, to_us(interval_ns < most_ns ? interval_ns : most_ns));
        learn(phi, p);
    }
    if (p->is_suspected) {
        p->is_suspected = false;
        p->is_told = !p->is_told;
    }
}

void gsrt_phi_step(gsrt_phi *phi, const gsrt_phi_event *event)
{
    notice_own_time(phi, event->now_ns);
    if (event->kind == GSRT_PHI_TICK) {
        tick(phi, event->next_ns);
        phi->poll_next = 0;
        return;
    }
    if (event->peer >= phi->peer_count)
        return;
    peer_state *p = &phi->peers[event->peer];
    if (event->kind == GSRT_PHI_WATCH)
        watch(phi, p);
    else if (event->kind == GSRT_PHI_UNWATCH)
        p->is_watched = false;
    else if (p->is_watched)
        heard(phi, p);
    phi->poll_next = 0;
}

bool gsrt_phi_poll(gsrt_phi *phi, gsrt_phi_action *out)
{
    for (; phi->poll_next < phi->peer_count; phi->poll_next++) {
        peer_state *p = &phi->peers[phi->poll_next];
        if (!p->is_watched || p->is_told)
            continue;
        p->is_told = true;
        *out = (gsrt_phi_action){.kind = p->is_suspected ? GSRT_PHI_SUSPECT : GSRT_PHI_TRUST,
                                 .peer = phi->poll_next++,
                                 .phi_milli = p->is_suspected ? p->phi_milli : 0};
        return true;
    }
    return false;
}

/* ---- life, and what may be asked ---- */

static void set_default(uint64_t *value, uint64_t when_zero)
{
    if (*value == 0)
        *value = when_zero;
}

gsrt_status gsrt_phi_create(const gsrt_phi_options *options, uint32_t peer_count, gsrt_phi **out)
{
    if (options->interval_ns < INTERVAL_NS_MIN || options->interval_ns > INTERVAL_NS_MAX ||
        options->window > GSRT_PHI_WINDOW_MAX || options->threshold_milli > THRESHOLD_MILLI_MAX || peer_count == 0 ||
        peer_count > GSRT_RANK_COUNT_MAX || (options->deviation_floor_ns > 0 && options->deviation_floor_ns < 1000) ||
        options->deviation_floor_ns > INTERVAL_NS_MAX || options->pause_ns > GSRT_PHI_PAUSE_MS_MAX * 1000000ull)
        return GSRT_EINVAL;
    gsrt_phi *phi = calloc(1, sizeof *phi + peer_count * sizeof(peer_state));
    if (phi == NULL)
        return GSRT_ENOMEM;
    phi->options = *options;
    phi->peer_count = peer_count;
    phi->due_ns = UINT64_MAX;
    set_default(&phi->options.deviation_floor_ns, options->interval_ns / 4);
    set_default(&phi->options.pause_ns, options->interval_ns);
    set_default(&phi->options.late_ns, options->interval_ns / 2);
    if (options->threshold_milli == 0)
        phi->options.threshold_milli = 8000;
    if (options->window < 2)
        phi->options.window = options->window == 0 ? 64 : 2;
    *out = phi;
    return GSRT_OK;
}

gsrt_phi *gsrt_phi_free(gsrt_phi *phi)
{
    free(phi);
    return NULL;
}

uint32_t gsrt_phi_milli(const gsrt_phi *phi, uint32_t peer, uint64_t now_ns)
{
    if (peer >= phi->peer_count || !phi->peers[peer].is_watched)
        return 0;
    return phi_after(phi, &phi->peers[peer], silence_ns(phi, &phi->peers[peer], now_ns));
}

uint64_t gsrt_phi_bound_ns(const gsrt_phi *phi, uint32_t peer)
{
    if (peer >= phi->peer_count || !phi->peers[peer].is_watched)
        return UINT64_MAX;
    uint64_t low = 0, high = (uint64_t)INTERVAL_US_MAX * 1000 * (GSRT_PHI_DOUBT_MAX + 1);
    while (high - low > 1000) {
        uint64_t middle = low + (high - low) / 2;
        if (phi_after(phi, &phi->peers[peer], middle) >= phi->options.threshold_milli)
            high = middle;
        else
            low = middle;
    }
    return high;
}

uint32_t gsrt_phi_doubt(const gsrt_phi *phi)
{
    return phi->doubt;
}

bool gsrt_phi_check(const gsrt_phi *phi)
{
    bool is_sound = phi->doubt <= GSRT_PHI_DOUBT_MAX;
    for (uint32_t i = 0; i < phi->peer_count; i++) {
        const peer_state *p = &phi->peers[i];
        if (!p->is_watched)
            continue;
        uint32_t now = gsrt_phi_milli(phi, i, phi->now_ns);
        is_sound = is_sound && p->interval_count >= 2 && p->interval_count <= phi->options.window &&
                   p->interval_next < phi->options.window && p->deviation_us >= 1 && p->heard_ns <= phi->now_ns &&
                   p->deaf_then_ns <= phi->deaf_ns && now >= gsrt_phi_milli(phi, i, p->heard_ns) &&
                   gsrt_phi_milli(phi, i, phi->now_ns + phi->options.interval_ns) >= now;
    }
    return is_sound;
}
