/* The checker of deployments on one that was computed by hand; planted_bugs_test.c has what is wrong. */
#include "placement/workload_text.h"
#include "tests/placement/deployment_site.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- the right one ---- */

START_TEST(a_right_one_is_right)
{
    site s;
    gsrt_violations found;
    site_make(&s);
    ck_assert_int_eq(gsrt_deployment_check(&s.problem, s.deployment, &s.cost, &found), GSRT_OK);
    for (uint32_t i = 0; i < found.count; i++)
        ck_assert_msg(false, "%s %s: %s", found.items[i].rule, found.items[i].reason, found.items[i].constraint);
    gsrt_violations_fini(&found);
    site_end(&s);
}
END_TEST

START_TEST(needs_what_was_computed_by_hand)
{
    site s;
    gsrt_violations found;
    site_make(&s);
    gsrt_quantity *capacity = &part_of(&s, "e.hbm")->capacity;
    capacity->value = capacity->lo = capacity->hi = NEEDED_BYTES - 1;
    ck_assert_int_eq(gsrt_deployment_check(&s.problem, s.deployment, NULL, &found), GSRT_OK);
    ck_assert_uint_eq(found.count, 1);
    ck_assert_str_eq(found.items[0].reason, GSRT_REASON_MEMORY);
    ck_assert_int_eq(found.items[0].subject, GSRT_SUBJECT_CAPACITY);
    ck_assert_str_eq(s.fleet->parts[found.items[0].index].name, "e.hbm");
    ck_assert_double_eq(found.items[0].needed.value, NEEDED_BYTES);
    ck_assert_double_eq(found.items[0].available.value, NEEDED_BYTES - 1);
    gsrt_violations_fini(&found);
    site_end(&s);
}
END_TEST

/* m5: the fastest of the tiers but its own, filled to the last byte; what is near is less, and the blocks that are
 * read. */
START_TEST(offloaded_kv_lies_where_it_was_computed_by_hand)
{
    static const struct {
        const char *memory;
        double bytes;
    } full[] = {{"e.hbm", NEEDED_BYTES - STATE_BYTES / 4 + STAGED_BYTES}, {"dram", FAR_BYTES}};
    for (int i = 0; i < 2; i++) {
        site s;
        gsrt_violations found;
        site_make(&s);
        offload(&s);
        ck_assert_int_eq(gsrt_deployment_check(&s.problem, s.deployment, &s.cost, &found), GSRT_OK);
        ck_assert_uint_eq(found.count, 0);
        gsrt_violations_fini(&found);
        part_of(&s, full[i].memory)->capacity.lo -= 1;
        ck_assert_int_eq(gsrt_deployment_check(&s.problem, s.deployment, NULL, &found), GSRT_OK);
        ck_assert_uint_eq(found.count, 1);
        ck_assert_str_eq(found.items[0].reason, GSRT_REASON_MEMORY);
        ck_assert_str_eq(s.fleet->parts[found.items[0].index].name, full[i].memory);
        ck_assert_double_eq(found.items[0].needed.value, full[i].bytes);
        gsrt_violations_fini(&found);
        site_end(&s);
    }
}
END_TEST

/* What a ring may do once it was measured, and not a moment before. */
START_TEST(evidence_must_be_of_just_this)
{
    static const char *const both[] = {"layer.2", "layer.3", "output"};
    const gsrt_evidence_change change = {"reduce:ring", both, 3};
    const gsrt_evidence_figure figure = {.statistic = GSRT_CONTRACT_DIVERGENCE, .measured = 0.5, .upper = 0.75};
    gsrt_workload_hash hash;
    char text[40];
    site s;
    site_make(&s);
    s.rules[0] = (gsrt_contract_rule){.glob = "*", .kind = GSRT_CONTRACT_DIVERGENCE, .bound = 1};
    pool_of(&s)->stages[1].algorithm = GSRT_ALGORITHM_RING;
    ck_assert_int_eq(gsrt_workload_hash_of(s.workload, &hash), GSRT_OK);
    (void)snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
    const gsrt_evidence right = {.workload_hash = text,
                                 .changes = &change,
                                 .change_count = 1,
                                 .corpus = "c",
                                 .confidence = 0.95,
                                 .coverage = 0.95,
                                 .figures = &figure,
                                 .figure_count = 1};
    gsrt_evidence_change fewer = change;
    fewer.region_count = 2;
    const gsrt_evidence_figure seen = {.statistic = GSRT_CONTRACT_DIVERGENCE, .measured = 1.25, .upper = 1.25};
    gsrt_evidence wrong[7] = {right, right, right, right, right, right, right};
    wrong[1].workload_hash = "00";
    wrong[2].changes = &fewer;
    wrong[3].confidence = 0.9;
    wrong[4].coverage = 0.5;
    wrong[5].figure_count = 0;
    wrong[6].figures = &seen;
    for (int i = 0; i < 8; i++) {
        gsrt_violations found;
        const gsrt_evidence pair[2] = {wrong[6], right}; /* the later violation wins */
        s.problem.evidence = i < 7 ? &wrong[i] : pair;
        s.problem.evidence_count = i < 7 ? 1 : 2;
        ck_assert_int_eq(gsrt_deployment_check(&s.problem, s.deployment, &s.cost, &found), GSRT_OK);
        if (i == 0)
            ck_assert_uint_eq(found.count, 0);
        else
            ck_assert_msg(gsrt_violation_with(&found, GSRT_REASON_CONTRACT_EVIDENCE) != NULL, "evidence %d", i);
        gsrt_violations_fini(&found);
    }
    site_end(&s);
}
END_TEST

/* One KV head, two engines: both hold it. A latent likewise. Experts lie apart. With the context in two parts each
 * holds all heads, of half of the blocks: of 356 positions 64 more than of 256. */
START_TEST(what_is_shared_is_held_by_each)
{
    static const struct {
        uint32_t kv_heads, latent, experts, expert_width, parts;
        double state_bytes;
    } cases[] = {
        {8, 0, 0, 1, 1, 4 * 128 * 4.0},      {1, 0, 0, 1, 1, 1 * 128 * 4.0}, {2, 0, 0, 1, 1, 1 * 128 * 4.0},
        {8, 128, 0, 1, 1, (32 + 128) * 4.0}, {8, 0, 8, 2, 1, 4 * 128 * 4.0}, {8, 0, 0, 1, 2, 8 * 128 * 4.0},
        {1, 0, 0, 1, 2, 1 * 128 * 4.0},      {2, 0, 0, 1, 2, 2 * 128 * 4.0}, {8, 128, 0, 1, 2, (32 + 128) * 4.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const model_shape shape = {.layers = 1,
                                   .dim = 512,
                                   .heads = 8,
                                   .kv_heads = cases[i].kv_heads,
                                   .head_dim = 64,
                                   .ffn = 512,
                                   .vocab = 1000,
                                   .context = 1024,
                                   .latent = cases[i].latent,
                                   .experts = cases[i].experts,
                                   .chosen = 2,
                                   .weights = GSRT_DTYPE_F16,
                                   .state = GSRT_DTYPE_F32};
        double needed[2];
        for (uint32_t context = 0; context < 2; context++) {
            site s;
            gsrt_violations found;
            site_make(&s);
            (void)gsrt_deployment_free(s.deployment);
            (void)gsrt_workload_free(s.workload);
            s.problem.workload = s.workload = made_model(&shape);
            s.deployment = gsrt_deployment_create(s.workload, 1);
            ck_assert_int_eq(gsrt_deployment_add_stages(s.deployment, 0, 1), GSRT_OK);
            ck_assert_int_eq(gsrt_deployment_add_members(s.deployment, 0, 0, 1), GSRT_OK);
            pool_of(&s)->phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
            pool_of(&s)->replica_count = pool_of(&s)->batch_max = pool_of(&s)->prefill_tokens = 1;
            *members_of(&s, 0) = (gsrt_deployment_members){gsrt_fleet_part_named(s.fleet, "e"), 0, 2, 1, 0, 1};
            pool_of(&s)->stages[0].data_width = 1;
            pool_of(&s)->stages[0].context_width = cases[i].parts;
            pool_of(&s)->stages[0].expert_width = cases[i].expert_width;
            pool_of(&s)->stages[0].algorithm = GSRT_ALGORITHM_GATHER;
            s.deployment->context_max = 256 + 100 * context;
            part_of(&s, "e.hbm")->capacity.lo = 1;
            ck_assert_int_eq(gsrt_deployment_check(&s.problem, s.deployment, NULL, &found), GSRT_OK);
            const gsrt_violation *full = gsrt_violation_with(&found, GSRT_REASON_MEMORY);
            ck_assert_ptr_nonnull(full);
            needed[context] = full->needed.value;
            gsrt_violations_fini(&found);
            site_end(&s);
        }
        ck_assert_double_eq(needed[1] - needed[0], (cases[i].parts == 1 ? 100 : 64) * cases[i].state_bytes);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {
        a_right_one_is_right,          needs_what_was_computed_by_hand, offloaded_kv_lies_where_it_was_computed_by_hand,
        evidence_must_be_of_just_this, what_is_shared_is_held_by_each,
    };
    return unit_run("deployment_check", tests, sizeof tests / sizeof tests[0]);
}
