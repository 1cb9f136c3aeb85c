/* How a simulated device behaves over simulated time: a roofline with the truth's efficiencies, noise that depends on
 * (seed, job), and one thermal node (resistance to ambient, capacity) that throttles.
 *
 *     steady = ambient + power * R      T(t) = steady + (T0 - steady) * exp(-t / (R * C))
 */
#include "backends/profile_impl.h"
#include "backends/trig.h"
#include "base/random.h"

#include <math.h>

/* Stream of the noise ("truth"). */
#define TRUTH_STREAM 0x7472757468u

void gsrt__profile_state_init(gsrt_profile_state *state, const gsrt_profile *profile, uint64_t seed)
{
    const gsrt_profile_declared *d = &profile->declared;
    *state = (gsrt_profile_state){
        .seed = seed,
        .temperature_c = d->temperature_ambient.value + d->power_idle.value * d->thermal_resistance.value,
    };
}

/* `seconds` at `power_w`. */
static void heat(gsrt_profile_state *state, const gsrt_profile_declared *d, double seconds, double power_w)
{
    double resistance = d->thermal_resistance.value;
    double steady_c = d->temperature_ambient.value + power_w * resistance;
    double rest = gsrt_exp64(-seconds / (resistance * d->thermal_capacity.value));
    state->temperature_c = steady_c + (state->temperature_c - steady_c) * rest;
    state->energy_j += power_w * seconds;
}

static void update_throttle(gsrt_profile_state *state, const gsrt_profile *profile)
{
    double limit_c = profile->declared.temperature_throttle.value;
    if (state->temperature_c >= limit_c)
        state->is_throttled = true;
    else if (state->temperature_c < limit_c - profile->truth.throttle_hysteresis)
        state->is_throttled = false;
}

void gsrt__profile_idle(gsrt_profile_state *state, const gsrt_profile *profile, uint64_t ns)
{
    heat(state, &profile->declared, (double)ns * 1e-9, profile->declared.power_idle.value);
    update_throttle(state, profile);
}

/* About normal, mean 0 and deviation 1: the sum of three uniform numbers. */
static double noise_of(const gsrt_profile_state *state)
{
    double sum = 0.0;
    for (uint64_t i = 0; i < 3; i++)
        sum += gsrt_random_f64(state->seed, TRUTH_STREAM, state->job_count * 3 + i);
    return (sum - 1.5) * 2.0;
}

uint64_t gsrt__profile_work(gsrt_profile_state *state, const gsrt_profile *profile, const gsrt_job_cost *cost,
                            uint32_t row_count)
{
    const gsrt_profile_declared *d = &profile->declared;
    const gsrt_profile_truth *truth = &profile->truth;
    double filling = (double)row_count / ((double)row_count + truth->rows_half);
    double efficiency = truth->efficiency_compute * filling;
    double compute_s = (double)cost->attention_flops / (d->peak_flops[0].value * efficiency);
    for (int i = 0; i < 3; i++)
        compute_s += (double)cost->flops[i] / (d->peak_flops[i].value * efficiency);
    double bytes = (double)cost->weight_bytes + (double)cost->kv_bytes + (double)cost->activation_bytes;
    double memory_s = bytes / (d->memory_bandwidth.value * truth->efficiency_memory);
    double busy_s = fmax(compute_s, memory_s);
    double speed = state->is_throttled ? truth->throttle_factor : 1.0;
    double seconds = d->launch_overhead.value * truth->launch_factor + busy_s / speed;
    seconds *= fmax(0.1, 1.0 + truth->noise * noise_of(state));

    uint64_t ns = (uint64_t)fmax(1.0, fmin(seconds, 1e6) * 1e9);
    double use = seconds > 0.0 ? fmin(1.0, busy_s / seconds) : 0.0; /* throttling lowers the power with the speed */
    state->throttled_ns += state->is_throttled ? ns : 0;
    heat(state, d, seconds, d->power_idle.value + (d->power_max.value - d->power_idle.value) * use);
    update_throttle(state, profile);
    state->job_count++;
    return ns;
}
