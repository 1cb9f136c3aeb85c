/* A profile and its truth: whatever is accepted has values in range, and simulates without a NaN. */
#include "backends/profile_impl.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check is a crash, which is what a fuzzer looks for. */
static void must(bool is_true)
{
    if (!is_true)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_profile profile = {
        .truth = {.efficiency_compute = 1, .efficiency_memory = 1, .launch_factor = 1, .throttle_factor = 1}};
    char truth_name[256];
    gsrt_diag diag = {0};
    gsrt_span bytes = gsrt_span_of(data, size);
    if (gsrt__profile_parse_truth(bytes, "fuzz", &profile.truth, &diag) == GSRT_OK)
        must(profile.truth.efficiency_compute > 0 && profile.truth.noise <= 0.5);
    if (gsrt__profile_parse(bytes, "fuzz", &profile.declared, truth_name, &diag) != GSRT_OK)
        return 0;
    gsrt_profile_state state;
    gsrt_job_cost cost = {.weight_bytes = UINT64_MAX / 2, .flops = {1, UINT64_MAX / 2, 3}};
    gsrt__profile_state_init(&state, &profile, 1);
    for (int i = 0; i < 10; i++) {
        gsrt__profile_idle(&state, &profile, 1000000000);
        must(gsrt__profile_work(&state, &profile, &cost, 1) >= 1);
    }
    must(isfinite(state.temperature_c) && isfinite(state.energy_j));
    return 0;
}
