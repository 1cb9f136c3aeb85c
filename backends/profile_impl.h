/* Inside backends: the truth of a profile. Only the device of kind profile reads it. */
#ifndef GSRT_BACKENDS_PROFILE_IMPL_H
#define GSRT_BACKENDS_PROFILE_IMPL_H

#include "backends/profile.h"
#include "backends/program.h"

/* How the simulated device really behaves. */
typedef struct gsrt_profile_truth {
    double efficiency_compute;  /* of the declared peak, at many rows: 0 < e <= 1 */
    double efficiency_memory;   /* of the declared bandwidth */
    double rows_half;           /* rows at which half of that compute efficiency is reached; 0: always all of it */
    double launch_factor;       /* times the declared launch overhead */
    double noise;               /* relative deviation of a job's time, about one sigma */
    double throttle_factor;     /* of the speed, while throttled */
    double throttle_hysteresis; /* K below the throttle temperature at which it ends */
} gsrt_profile_truth;

struct gsrt_profile {
    gsrt_profile_declared declared;
    gsrt_profile_truth truth;
};

/* Parse the two documents; names in *diag. out_truth_name [256]: the truth file that the profile names. */
GSRT_MUST_CHECK gsrt_status gsrt__profile_parse(gsrt_span bytes, const char *file, gsrt_profile_declared *out,
                                                char out_truth_name[256], gsrt_diag *diag);
GSRT_MUST_CHECK gsrt_status gsrt__profile_parse_truth(gsrt_span bytes, const char *file, gsrt_profile_truth *out,
                                                      gsrt_diag *diag);

/* A device's simulated state, in simulated time. */
typedef struct gsrt_profile_state {
    uint64_t seed, job_count;
    double temperature_c, energy_j;
    bool is_throttled;
    uint64_t throttled_ns;
} gsrt_profile_state;

void gsrt__profile_state_init(gsrt_profile_state *state, const gsrt_profile *profile, uint64_t seed);
/* Let `ns` pass without work. */
void gsrt__profile_idle(gsrt_profile_state *state, const gsrt_profile *profile, uint64_t ns);
/* Work on a job of this cost; returns its simulated time in ns (at least 1). A function of the state and its arguments.
 */
uint64_t gsrt__profile_work(gsrt_profile_state *state, const gsrt_profile *profile, const gsrt_job_cost *cost,
                            uint32_t row_count);

#endif
