/* The profile of an accelerator that we do not have: what is declared about it, from JSON, and, apart from that, the
 * truth that only the device of kind profile reads. Predicting the truth from the declaration is then a real task.
 *
 * Two files: the profile (declared quantities, each with unit and source) names the truth file beside it. The schema is
 * docs/schemas/profile.schema.json. All input is hostile until checked: sizes, types, ranges, unknown keys.
 * Thread: read once, then only read.
 */
#ifndef GSRT_BACKENDS_PROFILE_H
#define GSRT_BACKENDS_PROFILE_H

#include "base/diag.h"
#include "base/span.h"

#include <stdint.h>

typedef struct gsrt_profile gsrt_profile;

enum { GSRT_PROFILE_NAME_MAX = 64, GSRT_PROFILE_SOURCE_MAX = 200, GSRT_PROFILE_BYTES_MAX = 65536 };

/* One declared number: value in SI units (FLOP/s, B/s, B, s, W, K/W, J/K; temperatures in degrees Celsius). */
typedef struct gsrt_profile_quantity {
    double value;
    char source[GSRT_PROFILE_SOURCE_MAX]; /* where it is from, or "invented" */
} gsrt_profile_quantity;

typedef struct gsrt_profile_declared {
    char name[GSRT_PROFILE_NAME_MAX];
    gsrt_profile_quantity peak_flops[3]; /* by class of weights: see gsrt_job_cost */
    gsrt_profile_quantity memory_bandwidth, memory_bytes, launch_overhead;
    gsrt_profile_quantity power_idle, power_max;
    gsrt_profile_quantity thermal_resistance, thermal_capacity;
    gsrt_profile_quantity temperature_ambient, temperature_throttle;
} gsrt_profile_declared;

/* Read the profile at `path` and its truth. *out owned. GSRT_OK | GSRT_EINPUT | GSRT_EIO | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_profile_open(const char *path, gsrt_profile **out, gsrt_diag *diag);
gsrt_profile *gsrt_profile_free(gsrt_profile *profile);

/* Borrowed until the profile is freed. */
const gsrt_profile_declared *gsrt_profile_declared_of(const gsrt_profile *profile);

#endif
