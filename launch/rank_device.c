#include "launch/rank_device.h"

#include "launch/plain_core.h"

/* The twin's model of a device: what its profile declares, or a plain core of today. */
static gsrt_device_model model_of(const gsrt_rank_device *r, uint32_t threads)
{
    if (r->profile == NULL) {
        double n = threads;
        return (gsrt_device_model){.flops_per_ns = {GSRT_CORE_FLOPS_F32 * n / 1e9, GSRT_CORE_FLOPS_F16 * n / 1e9,
                                                    GSRT_CORE_FLOPS_QUANTISED * n / 1e9},
                                   .bytes_per_ns = GSRT_CORE_BANDWIDTH * n / 1e9,
                                   .launch_ns = GSRT_CORE_LAUNCH_NS};
    }
    const gsrt_profile_declared *d = gsrt_profile_declared_of(r->profile);
    gsrt_device_model model = {.bytes_per_ns = d->memory_bandwidth.value / 1e9,
                               .launch_ns = (uint64_t)(d->launch_overhead.value * 1e9)};
    for (int i = 0; i < 3; i++)
        model.flops_per_ns[i] = d->peak_flops[i].value / 1e9;
    return model;
}

static gsrt_status create_device(gsrt_rank_device *r, uint32_t rank, const gsrt_scenario *scenario, uint32_t threads,
                                 gsrt_diag *diag)
{
    gsrt_device_options options = {.thread_count = threads,
                                   .cpu_first = rank * threads,
                                   .is_bound = scenario->is_binding,
                                   .is_packing = scenario->is_packing,
                                   .profile = r->profile,
                                   .profile_seed = scenario->twin_seed + rank,
                                   .time_scale = scenario->time_scale,
                                   .done = gsrt_device_bridge_done,
                                   .done_arg = &r->bridge};
    gsrt_status status = gsrt_isa_detect(&options.isa, diag);
    if (status != GSRT_OK)
        return status;
    if (r->is_twin)
        return gsrt_device_create_inline(&options, &r->device, diag);
    return r->profile == NULL ? gsrt_device_create_cpu(&options, &r->device, diag)
                              : gsrt_device_create_profile(&options, &r->device, diag);
}

gsrt_status gsrt_rank_device_start(gsrt_rank_device *r, gsrt_node *node, const gsrt_scenario *scenario, gsrt_diag *diag)
{
    uint32_t rank = gsrt_node_rank(node);
    if (r->actor != GSRT_NOBODY)
        return GSRT_OK;
    const gsrt_scenario_device *declared = gsrt_scenario_device_of(scenario, rank);
    uint32_t threads = declared != NULL && declared->thread_count > 0 ? declared->thread_count : scenario->thread_count;
    gsrt_status status = GSRT_OK;
    if (declared != NULL && declared->profile != NULL)
        status = gsrt_profile_open(declared->profile, &r->profile, diag);
    if (status == GSRT_OK && (!r->is_twin || r->is_numeric))
        status = create_device(r, rank, scenario, threads, diag);
    if (status != GSRT_OK)
        return status;
    gsrt_device_actor_options actor = {
        .device = r->device, .bridge = &r->bridge, .is_twin = r->is_twin, .model = model_of(r, threads)};
    status = gsrt_device_actor_start(node, &actor);
    if (status == GSRT_OK)
        r->actor = gsrt_role_resolve(node, gsrt_address_of_role(GSRT_ROLE_DEVICE, 0, rank));
    return status;
}

void gsrt_rank_device_stop(gsrt_rank_device *r)
{
    r->device = gsrt_device_free(r->device);
    r->profile = gsrt_profile_free(r->profile);
}
