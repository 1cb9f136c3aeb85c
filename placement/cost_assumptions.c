/* What no inventory states and every prediction needs, each with where it comes from. None was fitted to the points
 * that bench/reality compares predictions with.
 */
#include <string.h>

#include "placement/cost_impl.h"

const gsrt__assumption gsrt__assumptions[GSRT__ASSUMPTION_COUNT] = {
    [GSRT__ASSUMPTION_MATMUL_SHARE] = {"share of the stated matmul rate",
                                       0.77,
                                       0.5,
                                       0.97,
                                       {0},
                                       GSRT_SOURCE_MEASURED,
                                       "measured: stas00/ml-engineering, maximum achievable matmul FLOPS of 20 "
                                       "accelerators: median 0.77, 0.51 to 0.97"},
    [GSRT__ASSUMPTION_EXPERT_SHARE] = {"share of the stated matmul rate that libraries achieve in experts",
                                       0.23,
                                       0.08,
                                       0.53,
                                       {0},
                                       GSRT_SOURCE_MEASURED,
                                       "measured: AIConfigurator campaign_checkpoints/h200_sxm/moe_perf.txt, vLLM "
                                       "0.20, most tokens of each of eleven shapes in FP8, BF16, INT4, cut among 1 to "
                                       "8, and LLMServingSim's table of one: 0.08 to 0.53, median 0.23"},
    [GSRT__ASSUMPTION_ATTENTION_SHARE] = {"share of the stated matmul rate in attention",
                                          0.5,
                                          0.35,
                                          0.75,
                                          {0},
                                          GSRT_SOURCE_PAPER,
                                          "paper: FlashAttention-3 (arXiv 2407.08608): 0.35 (version 2) to 0.75 of "
                                          "an H100's peak"},
    [GSRT__ASSUMPTION_MEMORY_SHARE] = {"share of the stated memory bandwidth",
                                       0.8,
                                       0.7,
                                       0.92,
                                       {0},
                                       GSRT_SOURCE_PAPER,
                                       "paper: AIConfigurator systems/h100_sxm.yaml 0.8, Calculon "
                                       "h100_80g_nvl8.json 0.9 (large)"},
    [GSRT__ASSUMPTION_MEASURED_SHARE] = {"share of what was measured",
                                         0.95,
                                         0.8,
                                         1,
                                         {0},
                                         GSRT_SOURCE_GUESS,
                                         "guess: measured rates are those of long runs"},
    [GSRT__ASSUMPTION_LINK_SHARE] = {"share of the stated link bandwidth",
                                     0.8,
                                     0.6,
                                     0.9,
                                     {0},
                                     GSRT_SOURCE_MEASURED,
                                     "measured: stas00/ml-engineering, ring all-reduce of 16 GiB: 367.2 of 450 "
                                     "GB/s (H200), 234.9 of 300 GB/s (A100)"},
    [GSRT__ASSUMPTION_SWITCH_SHARE] = {"share of the stated link bandwidth, sums in the switch",
                                       0.6,
                                       0.5,
                                       0.8,
                                       {0},
                                       GSRT_SOURCE_MEASURED,
                                       "measured: stas00/ml-engineering, all-reduce in the switch of 16 GiB: bus "
                                       "bandwidth 480 GB/s of 8 H200, that is 274 of 450 GB/s"},
    [GSRT__ASSUMPTION_START] = {"start of an exchange",
                                6.6e-6,
                                3.6e-6,
                                10e-6,
                                {.second = 1},
                                GSRT_SOURCE_PAPER,
                                "paper: NCCL src/graph/tuning.cc, base latency of LL: 6.6 to 6.8 us, 3.6 to 4.4 us in "
                                "its older releases; between two: LLMCompass 8.9 us, AIConfigurator, Calculon 10 us"},
    [GSRT__ASSUMPTION_SHORT_SHARE] = {"share of the link bandwidth that short messages get of it",
                                      0.25,
                                      0.25,
                                      0.33,
                                      {0},
                                      GSRT_SOURCE_PAPER,
                                      "paper: NCCL src/graph/tuning.cc, LL: a quarter, or a third where nothing is "
                                      "summed"},
    [GSRT__ASSUMPTION_LONG_START] = {"start of an exchange of long messages",
                                     14e-6,
                                     8.4e-6,
                                     14e-6,
                                     {.second = 1},
                                     GSRT_SOURCE_PAPER,
                                     "paper: NCCL src/graph/tuning.cc, base latency of LL128: 14 us, of Simple: 8.4 "
                                     "us"},
    [GSRT__ASSUMPTION_LONG_LATENCY] = {"latency of long messages over that of short ones",
                                       3.2,
                                       2.1,
                                       5.7,
                                       {0},
                                       GSRT_SOURCE_PAPER,
                                       "paper: NCCL src/graph/tuning.cc, a hop of LL128 over one of LL: 1.9 of 0.6 us "
                                       "(trees 1.25); of Simple 3.4 us"},
    [GSRT__ASSUMPTION_SWITCH_START] = {"start of a sum in the switch",
                                       23e-6,
                                       18e-6,
                                       25e-6,
                                       {.second = 1},
                                       GSRT_SOURCE_PAPER,
                                       "paper: NCCL src/graph/tuning.cc, latency of sums in the switch: 18 to 25 us"},
    [GSRT__ASSUMPTION_FUSION] = {"pieces of work that are launched, per op",
                                 0.6,
                                 0.4,
                                 1,
                                 {0},
                                 GSRT_SOURCE_PAPER,
                                 "paper: LLMServingSim's tables of vLLM: without attention 8 kernels for 14 ops of a "
                                 "Llama 3 layer, 9 for 16 of Qwen 3; interval: guess"},
    [GSRT__ASSUMPTION_ATTENTION_PIECES] = {"pieces of work of an attention",
                                           3.4,
                                           2.4,
                                           5,
                                           {0},
                                           GSRT_SOURCE_MEASURED,
                                           "measured: LLMServingSim, two devices: attention of one token to 16 "
                                           "positions takes 7.7 to 9.3 us, other ops of one token 1.8 to 3.2 us"},
    [GSRT__ASSUMPTION_HOST_STEP] = {"host's work between steps",
                                    1.3e-4,
                                    5e-5,
                                    4e-3,
                                    {.second = 1},
                                    GSRT_SOURCE_MEASURED,
                                    "measured: BLIS trained_physics_iter29, of vLLM: 0.13 ms; upper end: DistServe's "
                                    "profile of its engine, OPT-13B on one A100: 4 ms more than the weights take; "
                                    "lower end: guess"},
    [GSRT__ASSUMPTION_HOST_SEQUENCE] = {"host's work on a sequence of a step",
                                        4.4e-6,
                                        1e-6,
                                        1e-5,
                                        {.second = 1},
                                        GSRT_SOURCE_MEASURED,
                                        "measured: BLIS trained_physics_iter29, of vLLM: 4.4 us; interval: guess"},
    [GSRT__ASSUMPTION_HOST_REQUEST] = {"server's work on a request before it is queued",
                                       15.6e-3,
                                       1.3e-3,
                                       0.1,
                                       {.second = 1},
                                       GSRT_SOURCE_MEASURED,
                                       "measured: BLIS trained_physics_iter29, of vLLM: 15.6 ms; LLMServingSim's runs "
                                       "of vLLM, 600 requests: 5, 50, 95 %: 1.3, 15, 102 ms"},
    [GSRT__ASSUMPTION_EXPERT_IMBALANCE] = {"load of the fullest expert group over the mean",
                                           1.2,
                                           1,
                                           2,
                                           {0},
                                           GSRT_SOURCE_GUESS,
                                           "guess: chosen experts are not evenly spread"},
    [GSRT__ASSUMPTION_EXPOSED] = {"what overlapping does not hide",
                                  0.2,
                                  0,
                                  1,
                                  {0},
                                  GSRT_SOURCE_GUESS,
                                  "guess: the first and the last piece of an exchange stay visible"},
    [GSRT__ASSUMPTION_SYNCHRONY] = {"synchrony of a closed system, lengths differ",
                                    0.1,
                                    0.03,
                                    0.14,
                                    {0},
                                    GSRT_SOURCE_DERIVED,
                                    "derived: bench/closed_loop, lengths of 0.8 to 1 of the longest, servers that mix "
                                    "and others alike: 5, 50, 95 % of the cases"},
    [GSRT__ASSUMPTION_SYNCHRONY_EQUAL] = {"synchrony of a closed system, equal lengths",
                                          0.49,
                                          0.12,
                                          1,
                                          {0},
                                          GSRT_SOURCE_DERIVED,
                                          "derived: bench/closed_loop, servers that mix, equal lengths: 5, 50, 95 % "
                                          "of the cases"},
    [GSRT__ASSUMPTION_SYNCHRONY_FIRST] = {"synchrony of a closed system, equal lengths, prompts first",
                                          0.93,
                                          0.13,
                                          1,
                                          {0},
                                          GSRT_SOURCE_DERIVED,
                                          "derived: bench/closed_loop, servers that prefill first, equal lengths: 5, "
                                          "50, 95 % of the cases"},
    [GSRT__ASSUMPTION_ACCEPTANCE] = {"share of drafted tokens that are accepted",
                                     0.7,
                                     0.5,
                                     0.9,
                                     {0},
                                     GSRT_SOURCE_PAPER,
                                     "paper: Leviathan, Kalman, Matias 2023, table 2"},
};

gsrt_quantity gsrt__assumed(gsrt__assumption_id id)
{
    const gsrt__assumption *a = &gsrt__assumptions[id];
    return (gsrt_quantity){.value = a->value,
                           .lo = a->lo,
                           .hi = a->hi,
                           .dimension = a->dimension,
                           .is_known = true,
                           .confidence = a->source == GSRT_SOURCE_GUESS ? 0.5 : 0.9,
                           .source = a->source,
                           .source_text = a->source_text,
                           .valid_from_day = GSRT_DAY_FIRST,
                           .valid_until_day = GSRT_DAY_LAST};
}

gsrt_quantity gsrt_cost_assumed(const char *name)
{
    for (gsrt__assumption_id id = 0; id < GSRT__ASSUMPTION_COUNT; id++) {
        if (strcmp(gsrt__assumptions[id].name, name) == 0)
            return gsrt__assumed(id);
    }
    return (gsrt_quantity){0};
}
