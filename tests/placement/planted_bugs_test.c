/* Bugs planted into a right deployment, one at a time: the checker finds each, by its reason and by no other. */
#include "tests/placement/deployment_site.h"

#define PLANT(name) static void name(site *s)

PLANT(an_engine_sits_twice)
{
    members_of(s, 1)->instance_first = 1;
}
PLANT(replicas_overlap)
{
    members_of(s, 0)->block_stride = members_of(s, 1)->block_stride = 2;
}
PLANT(one_replica_more_than_there_are_nodes)
{
    pool_of(s)->replica_count = 3;
}
PLANT(an_engine_that_is_a_memory)
{
    members_of(s, 1)->part = gsrt_fleet_part_named(s->fleet, "e.hbm");
}
PLANT(a_part_that_is_none)
{
    members_of(s, 0)->part = 1000;
}
PLANT(a_layer_is_missing)
{
    pool_of(s)->stages[1].layer_first = 3;
}
PLANT(a_layer_is_there_twice)
{
    pool_of(s)->stages[1].layer_first = 1;
}
PLANT(the_last_layer_is_missing)
{
    pool_of(s)->stages[1].layer_last = 2;
}
PLANT(a_layer_too_many)
{
    pool_of(s)->stages[1].layer_last = 4;
}
PLANT(nobody_decodes)
{
    pool_of(s)->phases = GSRT_PHASE_PREFILL;
}
PLANT(the_batch_is_in_more_parts_than_it_has)
{
    pool_of(s)->batch_max = 1, pool_of(s)->stages[0].data_width = 2;
}
PLANT(data_width_does_not_divide)
{
    pool_of(s)->stages[0].data_width = 3;
}
PLANT(experts_where_there_are_none)
{
    pool_of(s)->stages[0].expert_width = 2;
}
PLANT(all_shares_are_zero)
{
    members_of(s, 0)->share = 0;
}
PLANT(two_without_an_exchange)
{
    pool_of(s)->stages[0].algorithm = GSRT_ALGORITHM_NONE;
}

PLANT(the_batch_is_too_large_by_one)
{
    pool_of(s)->batch_max++;
}
PLANT(the_context_is_too_large_by_one)
{
    s->deployment->context_max++;
}
PLANT(kv_was_forgotten)
{
    gsrt_quantity *capacity = &part_of(s, "e.hbm")->capacity;
    capacity->value = capacity->lo = capacity->hi = NEEDED_BYTES - STATE_BYTES;
}
PLANT(buffers_were_forgotten)
{
    pool_of(s)->prefill_tokens = 65;
}
PLANT(the_capacity_is_only_likely)
{
    part_of(s, "e.hbm")->capacity.lo -= 1;
}
PLANT(an_uneven_share_fills_a_memory)
{
    gsrt_deployment_members both = *members_of(s, 0);
    ck_assert_int_eq(gsrt_deployment_add_members(s->deployment, 0, 0, 2), GSRT_OK);
    members_of(s, 0)[0] = members_of(s, 0)[1] = both;
    members_of(s, 0)[0].instance_count = members_of(s, 0)[1].instance_count = 1;
    members_of(s, 0)[1].instance_first = 1;
    members_of(s, 0)[1].share = 0;
}
PLANT(parts_of_the_context_do_not_divide)
{
    pool_of(s)->stages[1].context_width = 3;
}
PLANT(the_context_is_in_no_part)
{
    pool_of(s)->stages[1].context_width = 0;
}
PLANT(the_context_is_in_parts)
{
    gsrt_quantity *capacity = &part_of(s, "e.hbm")->capacity;
    capacity->value = capacity->lo = capacity->hi = NEEDED_BYTES + MERGED_BYTES;
    pool_of(s)->stages[1].context_width = 2;
}
PLANT(what_is_merged_was_forgotten)
{
    the_context_is_in_parts(s);
    part_of(s, "e.hbm")->capacity.lo -= 1;
}
PLANT(no_evidence_for_parts_of_the_context)
{
    the_context_is_in_parts(s);
    s->rules[0] = (gsrt_contract_rule){.glob = "*", .kind = GSRT_CONTRACT_DIVERGENCE, .bound = 1};
}
PLANT(the_author_forbids_parts_of_the_context)
{
    no_evidence_for_parts_of_the_context(s);
    s->workload->regions[3].legal &= ~(uint32_t)GSRT_LEGAL_REORDER;
}
PLANT(the_runtime_lacks_parts_of_the_context)
{
    the_context_is_in_parts(s), s->problem.is_for_execution = true, pool_of(s)->replica_count = 1;
}
PLANT(the_capacity_is_unknown)
{
    part_of(s, "e.hbm")->capacity = (gsrt_quantity){0};
}
PLANT(the_capacity_has_expired)
{
    part_of(s, "e.hbm")->capacity.valid_until_day = 19999;
}
PLANT(the_capacity_is_not_valid_yet)
{
    part_of(s, "e.hbm")->capacity.valid_from_day = 20001;
}
PLANT(the_memory_bandwidth_has_expired)
{
    link_of(s, "e.hbm", "e")->bandwidth.valid_until_day = 1;
}

PLANT(requests_come_from_nowhere)
{
    s->problem.demand.origin = "elsewhere";
}

PLANT(a_second_tier_is_too_full_by_one)
{
    offload(s), part_of(s, "dram")->capacity.lo = FAR_BYTES - 1;
}
PLANT(blocks_of_offloaded_kv_were_forgotten)
{
    offload(s), part_of(s, "e.hbm")->capacity.lo -= STAGED_BYTES;
}
PLANT(the_second_tier_has_no_capacity)
{
    offload(s), part_of(s, "dram")->capacity = (gsrt_quantity){0};
}
PLANT(no_second_tier_is_reached)
{
    offload(s);
    link_of(s, "dram", "e")->bandwidth.valid_until_day = 1;
    link_of(s, "e", "cxl")->latency = (gsrt_quantity){0};
}
PLANT(a_second_tier_over_the_network)
{
    no_second_tier_is_reached(s);
    link_of(s, "e", "cxl")->kind = GSRT_LINK_NETWORK;
    link_of(s, "e", "cxl")->latency = link_of(s, "cxl", "e")->latency;
}
PLANT(more_than_all_kv_is_offloaded)
{
    offload(s), pool_of(s)->kv_offload = GSRT_KV_OFFLOAD_PARTS + 1, part_of(s, "dram")->capacity.lo *= 5;
}
PLANT(an_untrusted_second_tier)
{
    offload(s), part_of(s, "dram")->trust = GSRT_TRUST_TENANT;
}
PLANT(an_untrusted_way_to_the_second_tier)
{
    offload(s), link_of(s, "e", "dram")->trust = GSRT_TRUST_TENANT;
}
PLANT(the_author_forbids_a_second_tier)
{
    offload(s), s->workload->regions[3].legal &= ~(uint32_t)GSRT_LEGAL_OFFLOAD_STATE;
}
PLANT(the_runtime_lacks_a_second_tier)
{
    offload(s), s->problem.is_for_execution = true, pool_of(s)->replica_count = 1;
}

static gsrt_quantity *rate_of(site *s, gsrt_rate_class class, gsrt_format format)
{
    return (gsrt_quantity *)&part_of(s, "e")->rates[(size_t) class * GSRT_FORMAT_COUNT + format];
}

PLANT(no_rate_of_products)
{
    *rate_of(s, GSRT_CLASS_MATMUL, GSRT_FORMAT_F32) = (gsrt_quantity){0};
}
PLANT(no_rate_of_vectors)
{
    *rate_of(s, GSRT_CLASS_VECTOR, GSRT_FORMAT_F32) = (gsrt_quantity){0};
}
PLANT(an_expired_rate)
{
    rate_of(s, GSRT_CLASS_MATMUL, GSRT_FORMAT_F32)->valid_until_day = 1;
}

PLANT(a_quantised_layer)
{
    s->deployment->choices[2].weights_are_as_given = false, s->deployment->choices[2].weights = GSRT_DTYPE_Q4_0;
}
PLANT(a_quantised_kv)
{
    s->deployment->choices[1].state_is_as_given = false, s->deployment->choices[1].state = GSRT_DTYPE_F16;
}
PLANT(narrow_inputs)
{
    s->deployment->choices[1].compute = GSRT_FORMAT_BF16;
}
PLANT(a_ring)
{
    pool_of(s)->stages[1].algorithm = GSRT_ALGORITHM_RING;
}
PLANT(own_kernels)
{
    s->deployment->choices[5].arithmetic = GSRT_ARITHMETIC_NATIVE;
}
PLANT(kernels_that_the_engine_does_not_name)
{
    part_of(s, "e")->software_count = 0;
}
PLANT(a_ring_that_is_only_deterministic)
{
    s->rules[0].kind = GSRT_CONTRACT_DETERMINISTIC;
    pool_of(s)->stages[1].algorithm = GSRT_ALGORITHM_TREE;
}
PLANT(no_evidence)
{
    s->rules[0] = (gsrt_contract_rule){.glob = "*", .kind = GSRT_CONTRACT_DIVERGENCE, .bound = 1};
    pool_of(s)->stages[1].algorithm = GSRT_ALGORITHM_RING;
}
PLANT(what_the_author_forbids)
{
    no_evidence(s);
    s->workload->regions[4].legal &= ~(uint32_t)GSRT_LEGAL_REORDER;
}

PLANT(the_mesh_says_no_bandwidth)
{
    link_of(s, "e", "mesh")->bandwidth = (gsrt_quantity){0};
    link_of(s, "e", "nic")->bandwidth = (gsrt_quantity){0};
}
PLANT(no_way_back)
{
    link_of(s, "mesh", "e")->latency = (gsrt_quantity){0};
    link_of(s, "nic", "e")->latency.valid_until_day = 1;
}
PLANT(a_replica_in_two_nodes_without_a_network)
{
    link_of(s, "leaf", "nic")->bandwidth = (gsrt_quantity){0};
    members_of(s, 1)->instance_first = 6;
    members_of(s, 1)->block_stride = 0;
    pool_of(s)->replica_count = 1;
}
PLANT(the_switch_adds_nothing)
{
    pool_of(s)->stages[1].algorithm = GSRT_ALGORITHM_SWITCH;
}

PLANT(an_untrusted_engine)
{
    part_of(s, "e")->trust = GSRT_TRUST_TENANT;
}
PLANT(an_untrusted_memory)
{
    part_of(s, "e.hbm")->trust = GSRT_TRUST_TENANT;
}
PLANT(an_untrusted_place)
{
    place_of(s, "rack")->trust = GSRT_TRUST_UNTRUSTED;
}
PLANT(an_untrusted_feed)
{
    place_of(s, "feed")->trust = GSRT_TRUST_TENANT;
}
PLANT(untrusted_ways)
{
    part_of(s, "mesh")->trust = GSRT_TRUST_TENANT;
    link_of(s, "e", "nic")->trust = GSRT_TRUST_TENANT;
}
PLANT(a_region_that_is_not_allowed)
{
    s->regions[0] = "elsewhere";
}

PLANT(the_rack_has_too_little_power)
{
    place_of(s, "rack")->power_budget.lo = 3199;
}
PLANT(the_rack_is_cooled_too_little)
{
    place_of(s, "rack")->cooling_budget.lo = 3199;
}
PLANT(a_feed_has_too_little_power)
{
    place_of(s, "feed")->power_budget.lo = 1599;
}
PLANT(a_cap_leaves_nothing)
{
    part_of(s, "e")->power_idle = known(40, GSRT_MEASURE_POWER);
    pool_of(s)->power_cap_w = 40;
}
PLANT(nobody_knows_the_power)
{
    part_of(s, "e")->power_max = (gsrt_quantity){0};
}

PLANT(requests_are_longer_than_the_kv)
{
    s->problem.demand.output_tokens.hi = 57;
}
PLANT(more_positions_than_the_model_knows)
{
    s->workload->context_max = 255;
}
PLANT(nobody_knows_the_demand)
{
    s->problem.demand.prompt_tokens = (gsrt_quantity){0};
}
PLANT(a_limit_is_exceeded)
{
    s->cost.values[GSRT_MEASURE_TPOT][0].value = 0.0201;
}
PLANT(a_throughput_is_too_low)
{
    s->problem.objective.limits[0] =
        (gsrt_objective_limit){.measure = GSRT_MEASURE_THROUGHPUT, .bound = known(1001, GSRT_MEASURE_THROUGHPUT)};
}
PLANT(the_objective_is_unknown)
{
    s->cost.values[GSRT_MEASURE_THROUGHPUT][0] = (gsrt_quantity){0};
}
PLANT(more_arrives_than_is_served)
{
    s->cost.values[GSRT_MEASURE_TTFT][0] = known(GSRT_COST_NEVER_S, GSRT_MEASURE_TTFT);
}
PLANT(the_runtime_lacks_replicas)
{
    s->problem.is_for_execution = true;
}
PLANT(the_runtime_takes_no_such_batch)
{
    s->problem.is_for_execution = true;
    pool_of(s)->replica_count = 1;
    s->problem.batch_max = pool_of(s)->batch_max - 1;
}
PLANT(the_runtime_takes_no_such_chunk)
{
    s->problem.is_for_execution = true;
    pool_of(s)->replica_count = 1;
    s->problem.prefill_tokens_max = pool_of(s)->prefill_tokens - 1;
}
PLANT(the_runtime_lacks_the_split)
{
    s->problem.is_for_execution = true;
    pool_of(s)->replica_count = 1;
    pool_of(s)->stages[0].overlaps = true;
}

#define BUG(plant, reason)                                                                                             \
    {                                                                                                                  \
#plant, plant, GSRT_REASON_##reason, ""                                                                        \
    }
/* besides: what else follows from it, in any order */
#define BUG_AND(plant, reason, besides)                                                                                \
    {                                                                                                                  \
#plant, plant, GSRT_REASON_##reason, besides                                                                   \
    }
static const struct {
    const char *name;
    void (*plant)(site *);
    const char *reason, *besides;
} bugs[] = {
    BUG_AND(an_engine_sits_twice, ENGINES, "memory"),
    BUG_AND(replicas_overlap, ENGINES, "memory power"),
    BUG(one_replica_more_than_there_are_nodes, ENGINES),
    BUG(an_engine_that_is_a_memory, ENGINES),
    BUG(a_part_that_is_none, ENGINES),
    BUG(a_layer_is_missing, DIVISIBILITY),
    BUG(a_layer_is_there_twice, DIVISIBILITY),
    BUG(the_last_layer_is_missing, DIVISIBILITY),
    BUG(a_layer_too_many, DIVISIBILITY),
    BUG(nobody_decodes, DIVISIBILITY),
    BUG(the_batch_is_in_more_parts_than_it_has, DIVISIBILITY),
    BUG(data_width_does_not_divide, DIVISIBILITY),
    BUG(experts_where_there_are_none, DIVISIBILITY),
    BUG(all_shares_are_zero, DIVISIBILITY),
    BUG(two_without_an_exchange, DIVISIBILITY),
    BUG(the_batch_is_too_large_by_one, MEMORY),
    BUG(the_context_is_too_large_by_one, MEMORY),
    BUG(kv_was_forgotten, MEMORY),
    BUG(buffers_were_forgotten, MEMORY),
    BUG(the_capacity_is_only_likely, MEMORY),
    BUG(an_uneven_share_fills_a_memory, MEMORY),
    BUG(parts_of_the_context_do_not_divide, DIVISIBILITY),
    BUG(the_context_is_in_no_part, DIVISIBILITY),
    BUG(the_context_is_in_parts, CONTRACT_REORDERED),
    BUG_AND(what_is_merged_was_forgotten, MEMORY, "contract_reordered"),
    BUG(no_evidence_for_parts_of_the_context, CONTRACT_EVIDENCE),
    BUG_AND(the_author_forbids_parts_of_the_context, LEGAL, "contract_evidence"),
    BUG_AND(the_runtime_lacks_parts_of_the_context, NOT_EXECUTABLE, "contract_reordered"),
    BUG(the_capacity_is_unknown, UNKNOWN),
    BUG(the_capacity_has_expired, UNKNOWN),
    BUG(the_capacity_is_not_valid_yet, UNKNOWN),
    BUG(the_memory_bandwidth_has_expired, UNKNOWN),
    BUG(a_second_tier_is_too_full_by_one, MEMORY),
    BUG(blocks_of_offloaded_kv_were_forgotten, MEMORY),
    BUG(the_second_tier_has_no_capacity, UNKNOWN),
    BUG(no_second_tier_is_reached, UNREACHABLE),
    BUG(a_second_tier_over_the_network, UNREACHABLE),
    BUG(more_than_all_kv_is_offloaded, DIVISIBILITY),
    BUG(an_untrusted_second_tier, POLICY),
    BUG(an_untrusted_way_to_the_second_tier, POLICY),
    BUG(the_author_forbids_a_second_tier, LEGAL),
    BUG(the_runtime_lacks_a_second_tier, NOT_EXECUTABLE),
    BUG(no_rate_of_products, CAPABILITY),
    BUG(no_rate_of_vectors, CAPABILITY),
    BUG(an_expired_rate, CAPABILITY),
    BUG_AND(a_quantised_layer, CONTRACT_NARROWED, "contract_unproven"),
    BUG(a_quantised_kv, CONTRACT_NARROWED),
    BUG(narrow_inputs, CONTRACT_NARROWED),
    BUG(a_ring, CONTRACT_REORDERED),
    BUG_AND(own_kernels, CONTRACT_UNPROVEN, "contract_reordered"),
    BUG(kernels_that_the_engine_does_not_name, CONTRACT_UNPROVEN),
    BUG(a_ring_that_is_only_deterministic, CONTRACT_REORDERED),
    BUG(no_evidence, CONTRACT_EVIDENCE),
    BUG_AND(what_the_author_forbids, LEGAL, "contract_evidence"),
    BUG(the_mesh_says_no_bandwidth, UNREACHABLE),
    BUG(no_way_back, UNREACHABLE),
    BUG(requests_come_from_nowhere, UNREACHABLE),
    BUG(a_replica_in_two_nodes_without_a_network, UNREACHABLE),
    BUG_AND(the_switch_adds_nothing, CAPABILITY, "contract_reordered"),
    BUG(an_untrusted_engine, POLICY),
    BUG(an_untrusted_memory, POLICY),
    BUG(an_untrusted_place, POLICY),
    BUG(an_untrusted_feed, POLICY),
    BUG(untrusted_ways, POLICY),
    BUG(a_region_that_is_not_allowed, POLICY),
    BUG(the_rack_has_too_little_power, POWER),
    BUG(the_rack_is_cooled_too_little, POWER),
    BUG(a_feed_has_too_little_power, POWER),
    BUG(a_cap_leaves_nothing, POWER),
    BUG(nobody_knows_the_power, UNKNOWN),
    BUG(requests_are_longer_than_the_kv, CONTEXT),
    BUG(more_positions_than_the_model_knows, CONTEXT),
    BUG(nobody_knows_the_demand, UNKNOWN),
    BUG(a_limit_is_exceeded, LIMIT),
    BUG(a_throughput_is_too_low, LIMIT),
    BUG(more_arrives_than_is_served, LIMIT),
    BUG(the_objective_is_unknown, UNKNOWN),
    BUG(the_runtime_lacks_replicas, NOT_EXECUTABLE),
    BUG(the_runtime_takes_no_such_batch, NOT_EXECUTABLE),
    BUG(the_runtime_takes_no_such_chunk, NOT_EXECUTABLE),
    BUG(the_runtime_lacks_the_split, NOT_EXECUTABLE),
};

/* In all its violations. */
static void look_for(const char *name, const char *reason, const char *besides, const gsrt_violations *found)
{
    ck_assert_msg(gsrt_violation_with(found, reason) != NULL, "%s: no '%s' among %u violations", name, reason,
                  found->count);
    for (uint32_t v = 0; v < found->count; v++)
        ck_assert_msg(strcmp(found->items[v].reason, reason) == 0 || strstr(besides, found->items[v].reason) != NULL,
                      "%s: '%s' besides '%s': %s", name, found->items[v].reason, reason, found->items[v].constraint);
}

START_TEST(each_planted_bug_is_found)
{
    for (size_t i = 0; i < sizeof bugs / sizeof bugs[0]; i++) {
        site s;
        gsrt_violations found;
        site_make(&s);
        bugs[i].plant(&s);
        ck_assert_int_eq(gsrt_deployment_check(&s.problem, s.deployment, &s.cost, &found), GSRT_OK);
        look_for(bugs[i].name, bugs[i].reason, bugs[i].besides, &found);
        gsrt_violations_fini(&found);
        site_end(&s);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {each_planted_bug_is_found};
    return unit_run("planted_bugs", tests, sizeof tests / sizeof tests[0]);
}
