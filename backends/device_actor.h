/* The device actor: the device of one rank as an actor. A JOB (a call with a pointer to a gsrt_job) is answered by
 * JOB_DONE when the device has done it.
 *
 * In the real world the device computes on its own threads and its completion comes back as a foreign post, so the node
 * never waits for a matrix. In the twin the job is computed at once (numerics on) or not at all (off), and JOB_DONE
 * comes at the modelled time, one job after the other. A DRAIN (a call) is answered by DRAINED when no job is left: at
 * a change of views a job whose answer nobody waits for any more still runs, and what it uses must not be freed.
 *
 * Legal order: bridge_init, create the device with done = gsrt_device_bridge_done and done_arg = &bridge, start; free
 * the node before the device, the device before the bridge.
 */
#ifndef GSRT_BACKENDS_DEVICE_ACTOR_H
#define GSRT_BACKENDS_DEVICE_ACTOR_H

#include "actors/node.h"
#include "backends/device.h"

/* A simple roofline, for the twin. All > 0. */
typedef struct gsrt_device_model {
    double flops_per_ns[3]; /* by class of weights: see gsrt_job_cost */
    double bytes_per_ns;    /* memory */
    uint64_t launch_ns;     /* per job */
} gsrt_device_model;

/* Time of a job on this model: launch + max(compute, memory). */
uint64_t gsrt_device_model_ns(const gsrt_device_model *model, const gsrt_job_cost *cost);

/* Joins a device's completions to the node. */
typedef struct gsrt_device_bridge {
    gsrt_node *node;
    gsrt_address actor;
    bool is_twin;
    gsrt_status last; /* twin: status of the job that was computed inline */
} gsrt_device_bridge;

gsrt_device_done_fn gsrt_device_bridge_done;

typedef struct gsrt_device_actor_options {
    gsrt_device *device; /* borrowed; twin with numerics off: NULL */
    gsrt_device_bridge *bridge;
    bool is_twin;
    gsrt_device_model model; /* twin */
} gsrt_device_actor_options;

/* Start it on `node` and bind GSRT_ROLE_DEVICE of this rank. */
GSRT_MUST_CHECK gsrt_status gsrt_device_actor_start(gsrt_node *node, const gsrt_device_actor_options *options);

#endif
