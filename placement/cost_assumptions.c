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
    [GSRT__ASSUMPTION_FUSION] = {"pieces of work that are launched, per op",
                                 0.7,
                                 0.4,
                                 1,
                                 {0},
                                 GSRT_SOURCE_GUESS,
                                 "guess: libraries fuse norms, rotations and activations with their neighbours"},
    [GSRT__ASSUMPTION_HOST_STEP] = {"host's work between steps",
                                    1e-3,
                                    1e-4,
                                    4e-3,
                                    {.second = 1},
                                    GSRT_SOURCE_GUESS,
                                    "guess: a scheduler in Python, a millisecond give or take a factor"},
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
    [GSRT__ASSUMPTION_SYNCHRONY] = {"synchrony of a closed system",
                                    0.5,
                                    0,
                                    1,
                                    {0},
                                    GSRT_SOURCE_GUESS,
                                    "guess: requests of equal lengths move in waves, others do not"},
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

const char *gsrt_cost_assumption_name(size_t index)
{
    return index < GSRT__ASSUMPTION_COUNT ? gsrt__assumptions[index].name : NULL;
}

gsrt_quantity gsrt_cost_assumed(const char *name)
{
    for (gsrt__assumption_id id = 0; id < GSRT__ASSUMPTION_COUNT; id++) {
        if (strcmp(gsrt__assumptions[id].name, name) == 0)
            return gsrt__assumed(id);
    }
    return (gsrt_quantity){0};
}
