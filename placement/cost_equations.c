/* The registry: every number of a prediction is an input or comes from one of these. */
#include <math.h>

#include "placement/cost_impl.h"

#define GSRT__SHARED "definition"

/* ---- what they compute; x are the inputs in the order of the table ---- */

static double sum(const double *x)
{
    return x[0] + x[1];
}

static double larger(const double *x)
{
    return fmax(x[0], x[1]);
}

static double smaller(const double *x)
{
    return fmin(x[0], x[1]);
}

static double times(const double *x)
{
    return x[0] == 0 || x[1] == 0 ? 0 : x[0] * x[1];
}

/* 0 of anything is 0, however slow. */
static double over(double amount, double rate)
{
    return amount == 0 ? 0 : amount / rate;
}

static double roofline(const double *x)
{
    return fmax(over(x[0], x[1] * x[2]), over(x[3], x[4] * x[5]));
}

static double stream(const double *x)
{
    return over(x[0], x[1] * x[2]);
}

static double contention(const double *x)
{
    return fmin(x[0], x[1] / x[2]);
}

/* Dynamic power rises with the clock between linearly and cubed: here the square. */
static double throttle(const double *x)
{
    return fmin(1, sqrt(fmax(0, x[0]) / x[1]));
}

static double send(const double *x)
{
    return x[0] * (x[1] + over(x[2], x[3] * x[4]));
}

static double gather(const double *x)
{
    return x[0] * (x[1] + over(x[2] * (1 - 1 / x[5]), x[3] * x[4]));
}

static double ring(const double *x)
{
    return x[0] * (2 * (x[5] - 1) * x[1] + over(2 * x[2] * (1 - 1 / x[5]), x[3] * x[4]));
}

/* Two rounds, each member with all others at once: of sums, then of what they amount to. */
static double subtrees(const double *x)
{
    return x[0] * (2 * x[1] + over(2 * x[2] * (1 - 1 / x[5]), x[3] * x[4]));
}

/* Levels of a binary tree over `width`. */
static double levels(double width)
{
    double count = 0;
    for (double reach = 1; reach < width; reach *= 2)
        count++;
    return count;
}

static double tree(const double *x)
{
    return x[0] * (2 * levels(x[5]) * x[1] + over(2 * x[2], x[3] * x[4]));
}

static double in_switch(const double *x)
{
    return x[0] * (2 * x[1] + over(x[2], x[3] * x[4]));
}

static double overlap(const double *x)
{
    return fmax(x[0], x[1]) + x[2] * fmin(x[0], x[1]);
}

static double pipeline_fill(const double *x)
{
    return x[0] + (x[2] - 1) * x[1];
}

static double stalled(const double *x)
{
    return x[0] + fmax(0, x[1] - x[4] * x[5]) * x[2] / x[3];
}

static double closed_rate(const double *x)
{
    return x[0] / (x[0] * x[1] + x[2] * x[3] + x[4]);
}

/* Waiting for the prefills of others: between a random arrival (x[2] of the time one is running) and all at once (x[4]
 * of them come before it). */
static double burst(const double *x)
{
    double busy = fmin(x[2], 0.999), random = fmin(busy * x[1] / (2 * (1 - busy)), x[0] * x[1]);
    return random + x[3] * fmax(0, x[4] * x[1] - random);
}

/* The first of those that gather waits for all steps, those that come meanwhile for half of them on average. */
static double gathering(const double *x)
{
    double wait = x[0] * x[1], others = x[2] * wait;
    return wait * (1 + others / 2) / (1 + others);
}

/* Mean waiting of M/G/1, times what makes it a percentile of an exponential tail. */
static double queue(const double *x)
{
    double busy = x[0] * x[1];
    return busy >= 1 ? GSRT_COST_NEVER_S : fmin(GSRT_COST_NEVER_S, x[3] * busy * x[1] * (1 + x[2]) / (2 * (1 - busy)));
}

/* M/M/c by Sakasegawa's approximation, the exponent between whole numbers by a straight line. */
static double slot_queue(const double *x)
{
    double slots = x[2], busy = x[0] * x[1] / slots;
    if (busy >= 1)
        return GSRT_COST_NEVER_S;
    double exponent = sqrt(2 * (slots + 1)) - 1, whole = floor(exponent), part = exponent - whole;
    double power = gsrt__power(busy, (uint64_t)whole);
    power = power * (1 - part) + power * busy * part;
    return fmin(GSRT_COST_NEVER_S, x[3] * power * x[1] / (slots * (1 - busy)));
}

static double latency(const double *x)
{
    return x[0] + fmax(0, x[2] - 1) * x[1];
}

/* 1 + a + a^2 + ... + a^drafted. */
static double accepted(const double *x)
{
    double tokens = 1, power = 1;
    for (double i = 0; i < x[1]; i++) {
        power *= x[0];
        tokens += power;
    }
    return tokens;
}

static double quotient(const double *x)
{
    return x[0] == 0 ? 0 : x[0] / x[1];
}

static double busy_power(const double *x)
{
    return fmin(fmax(x[0], x[3]), x[0] + (x[1] - x[0]) * x[2]) * x[4];
}

static double inverse(const double *x)
{
    return 1 / x[0];
}

static double failures(const double *x)
{
    return x[0] / x[1];
}

static double own_failures(const double *x)
{
    return x[0] * (1 - x[2]) / x[1];
}

/* ---- the table ---- */

#define PLAIN                                                                                                          \
    {                                                                                                                  \
        0                                                                                                              \
    }
#define SECOND                                                                                                         \
    {                                                                                                                  \
        .second = 1                                                                                                    \
    }
#define BYTE                                                                                                           \
    {                                                                                                                  \
        .byte = 1                                                                                                      \
    }
#define OPS                                                                                                            \
    {                                                                                                                  \
        .op = 1                                                                                                        \
    }
#define PER_SECOND                                                                                                     \
    {                                                                                                                  \
        .second = -1                                                                                                   \
    }
#define BYTE_RATE                                                                                                      \
    {                                                                                                                  \
        .byte = 1, .second = -1                                                                                        \
    }
#define OP_RATE                                                                                                        \
    {                                                                                                                  \
        .op = 1, .second = -1                                                                                          \
    }
#define WATT                                                                                                           \
    {                                                                                                                  \
        .joule = 1, .second = -1                                                                                       \
    }
#define TOKENS                                                                                                         \
    {                                                                                                                  \
        .token = 1                                                                                                     \
    }
#define TOKEN_RATE                                                                                                     \
    {                                                                                                                  \
        .token = 1, .second = -1                                                                                       \
    }
#define MONEY_RATE                                                                                                     \
    {                                                                                                                  \
        .dollar = 1, .second = -1                                                                                      \
    }

/* Of collectives: how many, latency, bytes of each, bandwidth, share, members. */
#define COLLECTIVE_INPUTS                                                                                              \
    6, {PLAIN, SECOND, BYTE, BYTE_RATE, PLAIN, PLAIN}, SECOND, false,                                                  \
    {                                                                                                                  \
        1, 1, 1, -1, -1, 1                                                                                             \
    }

#define ALPHA_BETA "alpha-beta model: Thakur, Rabenseifner, Gropp 2005; "
#define NO_ERROR 1, 1, GSRT_SOURCE_DERIVED
/* How far off an equation is, as we judge it: debt until a calibration measures it. */
#define GUESSED(LO, HI) LO, HI, GSRT_SOURCE_GUESS
/* As far off as it was on measurements that no prediction is scored against. */
#define MEASURED(LO, HI) LO, HI, GSRT_SOURCE_MEASURED
/* All-reduces of 4 MiB to 16 GiB among 8 of three accelerators (stas00/ml-engineering) took 1 to 2.2 times as long; the
 * lower end is a guess. */
#define EXCHANGED GUESSED(0.8, 2.2)

const gsrt_equation gsrt__equations[GSRT__EQUATION_COUNT] = {
    [GSRT__EQUATION_SUM] = {"sum", "a + b", GSRT__SHARED, NO_ERROR, 2, {PLAIN}, PLAIN, true, {1, 1}, sum},
    [GSRT__EQUATION_LARGER] = {"larger", "max(a, b)", GSRT__SHARED, NO_ERROR, 2, {PLAIN}, PLAIN, true, {1, 1}, larger},
    [GSRT__EQUATION_SMALLER] =
        {"smaller", "min(a, b)", GSRT__SHARED, NO_ERROR, 2, {PLAIN}, PLAIN, true, {1, 1}, smaller},
    [GSRT__EQUATION_TIMES] =
        {"times", "count * time", GSRT__SHARED, NO_ERROR, 2, {PLAIN, SECOND}, SECOND, false, {1, 1}, times},
    [GSRT__EQUATION_SHARE] =
        {"share", "stated * share", GSRT__SHARED, NO_ERROR, 2, {OP_RATE, PLAIN}, OP_RATE, false, {1, 1}, times},
    [GSRT__EQUATION_ROOFLINE] = {"roofline",
                                 "max(operations / (rate * share), bytes / (bandwidth * share))",
                                 "Williams, Waterman, Patterson 2009; error: LLMServingSim's tables, products of a "
                                 "layer by number of tokens, two devices, three models, 5 to 95 %",
                                 MEASURED(0.8, 1.35),
                                 6,
                                 {OPS, OP_RATE, PLAIN, BYTE, BYTE_RATE, PLAIN},
                                 SECOND,
                                 false,
                                 {1, -1, -1, 1, -1, -1},
                                 roofline},
    [GSRT__EQUATION_STREAM] = {"stream",
                               "bytes / (bandwidth * share)",
                               "McCalpin's STREAM; caches help; error: LLMServingSim's tables, norms, sums and "
                               "activations of 1024 tokens and more, 5 to 95 %: 0.2 to 0.75, and up to 1.1 where no "
                               "cache helps (guess)",
                               GUESSED(0.2, 1.1),
                               3,
                               {BYTE, BYTE_RATE, PLAIN},
                               SECOND,
                               false,
                               {1, -1, -1},
                               stream},
    [GSRT__EQUATION_LAUNCHES] = {"launches",
                                 "pieces of work * overhead",
                                 GSRT__SHARED,
                                 NO_ERROR,
                                 2,
                                 {PLAIN, SECOND},
                                 SECOND,
                                 false,
                                 {1, 1},
                                 times},
    [GSRT__EQUATION_CONTENTION] = {"contention",
                                   "min(own bandwidth, shared bandwidth / senders)",
                                   "fair sharing: max-min fairness of one bottleneck",
                                   NO_ERROR,
                                   3,
                                   {BYTE_RATE, BYTE_RATE, PLAIN},
                                   BYTE_RATE,
                                   false,
                                   {1, 1, -1},
                                   contention},
    [GSRT__EQUATION_TOGETHER] = {"together",
                                 "members of a node * bandwidth of each out of it",
                                 "rings and trees cross between nodes once, over all NICs of a node (NCCL)",
                                 NO_ERROR,
                                 2,
                                 {PLAIN, BYTE_RATE},
                                 BYTE_RATE,
                                 false,
                                 {1, 1},
                                 times},
    [GSRT__EQUATION_THROTTLE] = {"throttle",
                                 "min(1, sqrt(cap above idle / maximum above idle))",
                                 "dynamic power as the square of the clock: between linear and cubed",
                                 GUESSED(0.8, 1.15),
                                 2,
                                 {WATT, WATT},
                                 PLAIN,
                                 false,
                                 {1, -1},
                                 throttle},
    [GSRT__EQUATION_SEND] = {"send",
                             "count * (latency + bytes / (bandwidth * share))",
                             ALPHA_BETA "Hockney 1994",
                             EXCHANGED,
                             5,
                             {PLAIN, SECOND, BYTE, BYTE_RATE, PLAIN},
                             SECOND,
                             false,
                             {1, 1, 1, -1, -1},
                             send},
    [GSRT__EQUATION_GATHER] = {"gather", "count * (latency + bytes * (1 - 1/n) / (bandwidth * share))",
                               ALPHA_BETA "all at once", EXCHANGED, COLLECTIVE_INPUTS, gather},
    [GSRT__EQUATION_SUBTREES] = {"subtrees", "count * (2 latency + 2 bytes * (1 - 1/n) / (bandwidth * share))",
                                 ALPHA_BETA "docs/numerics.md: sums by ranges, then a gather", EXCHANGED,
                                 COLLECTIVE_INPUTS, subtrees},
    [GSRT__EQUATION_RING] = {"ring", "count * (2 (n - 1) latency + 2 bytes * (1 - 1/n) / (bandwidth * share))",
                             ALPHA_BETA "Patarasuk, Yuan 2009", EXCHANGED, COLLECTIVE_INPUTS, ring},
    [GSRT__EQUATION_TREE] = {"tree", "count * (2 ceil(log2 n) latency + 2 bytes / (bandwidth * share))",
                             ALPHA_BETA "Sanders, Speck, Traeff 2009", EXCHANGED, COLLECTIVE_INPUTS, tree},
    [GSRT__EQUATION_SWITCH] = {"switch", "count * (2 latency + bytes / (bandwidth * share))",
                               ALPHA_BETA "Klenk et al. 2020: once up, once down", EXCHANGED, COLLECTIVE_INPUTS,
                               in_switch},
    [GSRT__EQUATION_ALL_TO_ALL] = {"all-to-all", "count * (latency + bytes * (1 - 1/n) / (bandwidth * share))",
                                   ALPHA_BETA "each to each at once", EXCHANGED, COLLECTIVE_INPUTS, gather},
    [GSRT__EQUATION_OVERLAP] = {"overlap",
                                "max(a, b) + what is not hidden * min(a, b)",
                                GSRT__SHARED,
                                NO_ERROR,
                                3,
                                {SECOND, SECOND, PLAIN},
                                SECOND,
                                false,
                                {1, 1, 1},
                                overlap},
    [GSRT__EQUATION_PIPELINE_FILL] = {"pipeline fill",
                                      "all stages + (chunks - 1) * slowest stage",
                                      "Huang et al. 2019 (GPipe)",
                                      NO_ERROR,
                                      3,
                                      {SECOND, SECOND, PLAIN},
                                      SECOND,
                                      false,
                                      {1, 1, 1},
                                      pipeline_fill},
    [GSRT__EQUATION_ROUND_TRIP] = {"round trip",
                                   "max(all stages, steps in flight * slowest stage)",
                                   "Huang et al. 2019 (GPipe): a bubble where stages are uneven",
                                   NO_ERROR,
                                   2,
                                   {SECOND, SECOND},
                                   SECOND,
                                   false,
                                   {1, 1},
                                   larger},
    [GSRT__EQUATION_STALLED] = {"stalled by prefills",
                                "step + (prefills of others - synchrony * those that a wave waits for) * time of one / "
                                "tokens",
                                "Agrawal et al. 2024 (Sarathi-Serve): chunks of prompts run between decode steps; "
                                "what was waited for is over",
                                GUESSED(0.9, 1.1),
                                6,
                                {SECOND, PLAIN, SECOND, PLAIN, PLAIN, PLAIN},
                                SECOND,
                                false,
                                {1, 1, 1, -1, -1, -1},
                                stalled},
    [GSRT__EQUATION_CLOSED_RATE] = {"closed rate",
                                    "n / (n * prefill + tokens * step + waiting)",
                                    "Little 1961: n requests that follow each other",
                                    NO_ERROR,
                                    5,
                                    {PLAIN, SECOND, PLAIN, SECOND, SECOND},
                                    PER_SECOND,
                                    false,
                                    {1, -1, -1, -1, -1},
                                    closed_rate},
    [GSRT__EQUATION_BURST] = {"burst",
                              "M/D/1 waiting, and synchrony of the way from there to all prompts at once: those "
                              "before it * prefill",
                              "Pollaczek 1930; a closed system of equal lengths moves in waves",
                              GUESSED(0.9, 1.1),
                              5,
                              {PLAIN, SECOND, PLAIN, PLAIN, PLAIN},
                              SECOND,
                              false,
                              {1, 1, 1, 1, 1},
                              burst},
    [GSRT__EQUATION_GATHERING] = {"gathering",
                                  "w (1 + n/2) / (1 + n), w = steps * step, n = rate * w",
                                  "the first of n + 1 waits for w, the others half of it: random arrivals",
                                  NO_ERROR,
                                  3,
                                  {PLAIN, SECOND, PER_SECOND},
                                  SECOND,
                                  false,
                                  {1, 1, -1},
                                  gathering},
    [GSRT__EQUATION_QUEUE] = {"queue",
                              "factor * busy * service * (1 + cv^2) / (2 (1 - busy)), busy = rate * service",
                              "Pollaczek 1930 (M/G/1); factor: quantile of an exponential over its mean",
                              GUESSED(0.7, 1.3),
                              4,
                              {PER_SECOND, SECOND, PLAIN, PLAIN},
                              SECOND,
                              false,
                              {1, 1, 1, 1},
                              queue},
    [GSRT__EQUATION_SLOT_QUEUE] = {"slot queue",
                                   "factor * busy^(sqrt(2 (c + 1)) - 1) * service / (c (1 - busy)), busy = rate * "
                                   "service / c",
                                   "Sakasegawa 1977 (M/M/c); factor as in queue",
                                   GUESSED(0.7, 1.3),
                                   4,
                                   {PER_SECOND, SECOND, PLAIN, PLAIN},
                                   SECOND,
                                   false,
                                   {1, 1, -1, 1},
                                   slot_queue},
    [GSRT__EQUATION_THERE_AND_BACK] = {"there and back",
                                       "latency there + latency back",
                                       "a prompt's way and its answer's; queues and what is sent again only add",
                                       GUESSED(1, 1.5),
                                       2,
                                       {SECOND, SECOND},
                                       SECOND,
                                       false,
                                       {1, 1},
                                       sum},
    [GSRT__EQUATION_LATENCY] = {"latency",
                                "first token + (tokens - 1) * time of each",
                                GSRT__SHARED,
                                NO_ERROR,
                                3,
                                {SECOND, SECOND, PLAIN},
                                SECOND,
                                false,
                                {1, 1, 1},
                                latency},
    [GSRT__EQUATION_TOKENS] = {"tokens",
                               "requests per second * tokens of each",
                               GSRT__SHARED,
                               NO_ERROR,
                               2,
                               {PER_SECOND, TOKENS},
                               TOKEN_RATE,
                               false,
                               {1, 1},
                               times},
    [GSRT__EQUATION_ACCEPTED] = {"accepted",
                                 "1 + a + a^2 + ... + a^drafted",
                                 "Leviathan, Kalman, Matias 2023",
                                 NO_ERROR,
                                 2,
                                 {PLAIN, PLAIN},
                                 PLAIN,
                                 false,
                                 {1, 1},
                                 accepted},
    [GSRT__EQUATION_QUOTIENT_TIME] =
        {"time of each", "time / count", GSRT__SHARED, NO_ERROR, 2, {SECOND, PLAIN}, SECOND, false, {1, -1}, quotient},
    [GSRT__EQUATION_BUSY_POWER] = {"power",
                                   "min(cap, idle + (maximum - idle) * busy) * engines",
                                   "linear in utilisation: Fan, Weber, Barroso 2007",
                                   GUESSED(0.8, 1.2),
                                   5,
                                   {WATT, WATT, PLAIN, WATT, PLAIN},
                                   WATT,
                                   false,
                                   {1, 1, 1, 1, 1},
                                   busy_power},
    [GSRT__EQUATION_ENERGY] = {"energy",
                               "power / throughput",
                               GSRT__SHARED,
                               NO_ERROR,
                               2,
                               {WATT, TOKEN_RATE},
                               {.joule = 1, .token = -1},
                               false,
                               {1, -1},
                               quotient},
    [GSRT__EQUATION_MONEY] = {"cost",
                              "price / throughput",
                              GSRT__SHARED,
                              NO_ERROR,
                              2,
                              {MONEY_RATE, TOKEN_RATE},
                              {.dollar = 1, .token = -1},
                              false,
                              {1, -1},
                              quotient},
    [GSRT__EQUATION_POWER_PRICE] = {"price of power",
                                    "power * price",
                                    GSRT__SHARED,
                                    NO_ERROR,
                                    2,
                                    {WATT, {.dollar = 1, .joule = -1}},
                                    MONEY_RATE,
                                    false,
                                    {1, 1},
                                    times},
    [GSRT__EQUATION_FAILURES] = {"failures",
                                 "count / mttf",
                                 "independent, of constant rate: exponential lifetimes",
                                 GUESSED(0.5, 2),
                                 2,
                                 {PLAIN, SECOND},
                                 PER_SECOND,
                                 false,
                                 {1, -1},
                                 failures},
    [GSRT__EQUATION_OWN_FAILURES] = {"own failures",
                                     "count * (1 - correlation) / mttf",
                                     "what fails with its place is counted there",
                                     GUESSED(0.5, 2),
                                     3,
                                     {PLAIN, SECOND, PLAIN},
                                     PER_SECOND,
                                     false,
                                     {1, -1, -1},
                                     own_failures},
    [GSRT__EQUATION_MTTF] =
        {"mttf", "1 / failures", GSRT__SHARED, NO_ERROR, 1, {PER_SECOND}, SECOND, false, {-1}, inverse},
    [GSRT__EQUATION_FILL_LEVEL] =
        {"fill level", "bytes / capacity", GSRT__SHARED, NO_ERROR, 2, {BYTE, BYTE}, PLAIN, false, {1, -1}, quotient},
    [GSRT__EQUATION_RATIO] =
        {"ratio", "time / time", GSRT__SHARED, NO_ERROR, 2, {SECOND, SECOND}, PLAIN, false, {1, -1}, quotient},
    [GSRT__EQUATION_PART] =
        {"part", "share * share", GSRT__SHARED, NO_ERROR, 2, {PLAIN, PLAIN}, PLAIN, false, {1, 1}, times},
    [GSRT__EQUATION_BUSY] =
        {"busy", "rate / most", GSRT__SHARED, NO_ERROR, 2, {PER_SECOND, PER_SECOND}, PLAIN, false, {1, -1}, quotient},
    [GSRT__EQUATION_UTILISATION] =
        {"utilisation", "rate * time", "Little 1961", NO_ERROR, 2, {PER_SECOND, SECOND}, PLAIN, false, {1, 1}, times},
    [GSRT__EQUATION_LITTLE] = {"little",
                               "requests / rate",
                               "Little 1961",
                               NO_ERROR,
                               2,
                               {PLAIN, PER_SECOND},
                               SECOND,
                               false,
                               {1, -1},
                               quotient},
    [GSRT__EQUATION_EACH] = {"each", "1 / time", GSRT__SHARED, NO_ERROR, 1, {SECOND}, PER_SECOND, false, {-1}, inverse},
    [GSRT__EQUATION_PRICE] =
        {"price", "count * price", GSRT__SHARED, NO_ERROR, 2, {PLAIN, MONEY_RATE}, MONEY_RATE, false, {1, 1}, times},
    [GSRT__EQUATION_RATES] =
        {"rates", "replicas * rate", GSRT__SHARED, NO_ERROR, 2, {PLAIN, PER_SECOND}, PER_SECOND, false, {1, 1}, times},
};
