/* Transformers by their numbers: what they amount to, what is refused, and the way back through print. */
#include "model/synthetic.h"

#include "placement/workload_totals.h"
#include "tests/unit.h"

enum { ARENA_BYTES_MAX = 1 << 20, PRINT_BYTES_MAX = 4096 };

static gsrt_status read(const char *text, gsrt_arena *arena, gsrt_synthetic *out, gsrt_diag *diag)
{
    gsrt_yaml *yaml;
    ck_assert_int_eq(gsrt_yaml_parse(gsrt_span_of_text(text), "s.yaml", &yaml, diag), GSRT_OK);
    gsrt_yaml_reader reader = {.arena = arena, .subject_name = "it", .file = "s.yaml", .diag = diag};
    gsrt_status status = gsrt_synthetic_read(&reader, yaml->root, out);
    (void)gsrt_yaml_free(yaml);
    return status;
}

static gsrt_workload *build(const char *text)
{
    gsrt_arena arena;
    gsrt_synthetic synthetic;
    gsrt_workload *workload = NULL;
    gsrt_diag diag = {0};
    gsrt_arena_init(&arena, ARENA_BYTES_MAX);
    ck_assert_msg(read(text, &arena, &synthetic, &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_msg(gsrt_synthetic_build(&synthetic, "s.yaml", &workload, &diag) == GSRT_OK, "%s", diag.text);
    gsrt_arena_fini(&arena);
    return workload;
}

/* The numbers of Llama 3.1 8B give its published count of parameters. */
START_TEST(dense)
{
    gsrt_workload *w = build("{name: eight, layers: 32, dim: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocab: 128256}");
    gsrt_workload_totals totals;
    ck_assert_int_eq(gsrt_workload_totals_of(w, &totals), GSRT_OK);
    ck_assert_uint_eq(totals.parameters, 8030261248);
    ck_assert_uint_eq(totals.state_bytes_per_position, 131072);
    ck_assert_str_eq(w->name, "eight");
    ck_assert_uint_eq(w->layer_count, 32);
    ck_assert_uint_eq(w->regions[1].legal & GSRT_LEGAL_QUANTISE_WEIGHTS, GSRT_LEGAL_QUANTISE_WEIGHTS);
    gsrt_workload_free(w);
}
END_TEST

START_TEST(experts)
{
    gsrt_workload *w = build("{layers: 2, dim: 64, heads: 4, head_dim: 16, vocab: 100, experts: 8, experts_chosen: 2, "
                             "expert_ffn: 32, shared_ffn: 64, window: 16, tied: true, weights: q8_0, state: f8_e4m3}");
    gsrt_workload_totals totals;
    ck_assert_int_eq(gsrt_workload_totals_of(w, &totals), GSRT_OK);
    uint64_t layer = 4 * 64 * 64 + 2 * 64 + 8 * 64 + 8 * 3 * 64 * 32 + 3 * 64 * 64;
    ck_assert_uint_eq(totals.parameters, 2 * layer + 64 + 100 * 64);
    ck_assert_uint_eq(totals.parameters - totals.parameters_active, 2 * 6 * 3 * 64 * 32);
    ck_assert_uint_eq(totals.state_bytes_per_position, 2 * 2 * 64);
    ck_assert_uint_eq(totals.state_bytes_per_position_later, 0);
    gsrt_workload_free(w);
}
END_TEST

START_TEST(refusals)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"{}", "key 'layers' is missing; add 'layers: 32'"},
        {"{layers: 1, dim: 8, heads: 3, vocab: 9, ffn: 8}", "3 heads do not divide a dim of 8"},
        {"{layers: 1, dim: 8, heads: 4, kv_heads: 3, vocab: 9, ffn: 8}", "3 KV heads do not divide 4 heads"},
        {"{layers: 1, dim: 9, heads: 3, vocab: 9, ffn: 8}", "heads of 3 elements cannot be rotated"},
        {"{layers: 1, dim: 8, heads: 4, vocab: 9}", "key 'ffn' is missing; add 'ffn: 11008'"},
        {"{layers: 1, dim: 8, heads: 4, vocab: 9, ffn: 8, shared_ffn: 8}", "has keys of experts but no experts"},
        {"{layers: 1, dim: 8, heads: 4, vocab: 9, experts: 4}", "key 'expert_ffn' is missing"},
        {"{layers: 1, dim: 8, heads: 4, vocab: 9, experts: 4, expert_ffn: 8, experts_chosen: 5}",
         "a token must take 1 to 4 experts"},
        {"{layers: 1, dim: 8, heads: 65536, head_dim: 512, vocab: 9, ffn: 8}", "all heads together have more than"},
        {"{layers: 1, dim: 8, heads: 4, vocab: 9, ffn: 8, weights: f32x}", "unknown word 'f32x'"},
        {"{layers: 1, dim: 8, heads: 4, vocab: 9, fnn: 8}", "unknown key 'fnn'"},
        {"{layers: 9999, dim: 8, heads: 4, vocab: 9, ffn: 8}", "must be between 1 and 1024"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gsrt_arena arena;
        gsrt_synthetic synthetic;
        gsrt_diag diag = {0};
        gsrt_arena_init(&arena, ARENA_BYTES_MAX);
        ck_assert_int_eq(read(cases[i].text, &arena, &synthetic, &diag), GSRT_EINPUT);
        ck_assert_msg(strstr(diag.text, cases[i].wanted) != NULL, "%s: %s", cases[i].text, diag.text);
        gsrt_arena_fini(&arena);
    }
}
END_TEST

/* Rows of 100 elements are no whole number of blocks of 32. */
START_TEST(blocks_must_fit)
{
    gsrt_arena arena;
    gsrt_synthetic synthetic;
    gsrt_workload *workload;
    gsrt_diag diag = {0};
    gsrt_arena_init(&arena, ARENA_BYTES_MAX);
    ck_assert_int_eq(
        read("{layers: 1, dim: 100, heads: 10, ffn: 64, vocab: 9, weights: q4_0}", &arena, &synthetic, &diag), GSRT_OK);
    ck_assert_int_eq(gsrt_synthetic_build(&synthetic, "s.yaml", &workload, &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "no whole number of blocks of 32"));
    gsrt_arena_fini(&arena);
}
END_TEST

START_TEST(round_trip)
{
    static const char *const texts[] = {
        "{layers: 3, dim: 64, heads: 4, ffn: 32, vocab: 9}",
        "{name: 'a \"b\"', layers: 3, dim: 64, heads: 4, kv_heads: 2, head_dim: 8, vocab: 9, context: 77, window: 3, "
        "experts: 2, experts_chosen: 1, expert_ffn: 32, tied: true, weights: mxfp4, state: f32}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        gsrt_arena arena;
        gsrt_synthetic first, second;
        gsrt_diag diag = {0};
        gsrt_buffer text, again;
        gsrt_arena_init(&arena, ARENA_BYTES_MAX);
        gsrt_buffer_init(&text, PRINT_BYTES_MAX);
        gsrt_buffer_init(&again, PRINT_BYTES_MAX);
        ck_assert_int_eq(read(texts[i], &arena, &first, &diag), GSRT_OK);
        ck_assert_int_eq(gsrt_synthetic_print(&first, &text), GSRT_OK);
        ck_assert_int_eq(gsrt_buffer_append(&text, "", 1), GSRT_OK);
        ck_assert_msg(read((const char *)text.data, &arena, &second, &diag) == GSRT_OK, "%s", diag.text);
        ck_assert_int_eq(gsrt_synthetic_print(&second, &again), GSRT_OK);
        ck_assert_int_eq(memcmp(text.data, again.data, again.len), 0);
        ck_assert_uint_eq(text.len, again.len + 1);
        gsrt_buffer_fini(&text);
        gsrt_buffer_fini(&again);
        gsrt_arena_fini(&arena);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {dense, experts, refusals, blocks_must_fit, round_trip};
    return unit_run("synthetic", tests, sizeof tests / sizeof tests[0]);
}
