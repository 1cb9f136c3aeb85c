#include "placement/objective.h"

typedef struct row {
    const char *word;
    gsrt_dimension dimension;
    bool is_maximised;
} row;

static const row measures[GSRT_MEASURE_COUNT] = {
    [GSRT_MEASURE_TTFT] = {"ttft", {.second = 1}, false},
    [GSRT_MEASURE_TPOT] = {"tpot", {.second = 1}, false},
    [GSRT_MEASURE_LATENCY] = {"latency", {.second = 1}, false},
    [GSRT_MEASURE_THROUGHPUT] = {"throughput", {.token = 1, .second = -1}, true},
    [GSRT_MEASURE_COST] = {"cost", {.dollar = 1, .token = -1}, false},
    [GSRT_MEASURE_ENERGY] = {"energy", {.joule = 1, .token = -1}, false},
    [GSRT_MEASURE_POWER] = {"power", {.joule = 1, .second = -1}, false},
    [GSRT_MEASURE_MEMORY] = {"memory", {0}, false},
    [GSRT_MEASURE_MTTF] = {"mttf", {.second = 1}, true},
};

bool gsrt_measure_is_maximised(gsrt_measure measure)
{
    return measures[measure].is_maximised;
}

gsrt_dimension gsrt_measure_dimension(gsrt_measure measure)
{
    return measures[measure].dimension;
}

const char *gsrt_measure_word(gsrt_measure measure)
{
    return measures[measure].word;
}

const char *gsrt_percentile_word(gsrt_percentile percentile)
{
    static const char *const words[GSRT_PERCENTILE_COUNT] = {"p50", "p95", "p99"};
    return words[percentile];
}
