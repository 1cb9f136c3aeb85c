/* All matrices of a workload that choices change, as the choices have them: for plain passes (model/reference.h) that
 * compute what ranks with such a plan compute, or what a validation measures. Thread: one at a time; read from any.
 * Memory: the changed matrices in their formats; time as gsrt_narrow_weights. */
#ifndef GSRT_MODEL_NARROWED_H
#define GSRT_MODEL_NARROWED_H

#include "model/reference.h"
#include "placement/contract.h"

typedef struct gsrt_narrowed gsrt_narrowed;

/* choices [region_count]: weights in formats that gsrt_narrow_is_known; a compute of f16 or bf16 also rounds what
 * products read. weights  borrowed until free. *out owned. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_narrowed_create(const gsrt_weights *weights, const gsrt_region_choice *choices,
                                                 gsrt_narrowed **out);
gsrt_narrowed *gsrt_narrowed_free(gsrt_narrowed *narrowed); /* accepts NULL; returns NULL */

/* Have a pass read them, before its first step; borrowed until it is freed. */
void gsrt_narrowed_apply(const gsrt_narrowed *narrowed, gsrt_reference *reference);

/* What the inputs of a region's products are rounded to: F32: not at all. */
gsrt_dtype gsrt_narrowed_inputs(const gsrt_region_choice *choice);

#endif
