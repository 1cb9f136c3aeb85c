/* The text form: exact both ways, and strict. */
#include "placement/workload_text.h"
#include "placement/workload_totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/placement/made_workload.h"
#include "tests/unit.h"

static gsrt_workload *read_text(const char *text)
{
    gsrt_workload *w;
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_workload_read(gsrt_span_of_text(text), "made", &w, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    return w;
}

START_TEST(the_same_bytes_again)
{
    gsrt_workload *w = read_text(made_workload);
    gsrt_buffer out;
    gsrt_buffer_init(&out, 1 << 20);
    ck_assert_int_eq(gsrt_workload_write(w, &out), GSRT_OK);
    ck_assert_uint_eq(out.len, strlen(made_workload));
    ck_assert_int_eq(memcmp(out.data, made_workload, out.len), 0);
    ck_assert_str_eq(w->name, "made \"here\"");
    ck_assert_uint_eq(w->tensor_count, 13);
    ck_assert_uint_eq(w->value_count, 15);
    ck_assert_uint_eq(w->op_count, 17);
    ck_assert_uint_eq(w->parameter_count, 40 + 8 + 96 + 48 + 64 + 64 + 32 + 4 + 128 + 128);
    ck_assert_float_eq(w->ops[5].rope->yarn_attention_factor, 1.3688879f);
    ck_assert_uint_eq(w->ops[10].routing->correction_tensor, 10);
    ck_assert_uint_eq(w->ops[11].in[2], GSRT_NO_INDEX);
    ck_assert_uint_eq(w->states[0].window, 8);
    ck_assert_uint_eq(w->regions[2].phases, GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE | GSRT_PHASE_DRAFT);
    ck_assert_int_eq(gsrt_workload_executable(w, "made", NULL), GSRT_EUNSUPPORTED);
    gsrt_buffer_fini(&out);
    gsrt_workload_free(w);
}
END_TEST

/* made_workload with the first `from` replaced by `to`. Owned. */
static char *changed(const char *from, const char *to)
{
    const char *at = strstr(made_workload, from);
    ck_assert_msg(at != NULL, "no '%s'", from);
    size_t len = strlen(made_workload) + strlen(to) + 1;
    char *text = malloc(len);
    ck_assert_ptr_nonnull(text);
    (void)snprintf(text, len, "%.*s%s%s", (int)(at - made_workload), made_workload, to, at + strlen(from));
    return text;
}

START_TEST(a_hash_for_each_workload)
{
    gsrt_workload_hash first, again, other;
    gsrt_workload *w = read_text(made_workload);
    ck_assert_int_eq(gsrt_workload_hash_of(w, &first), GSRT_OK);
    gsrt_workload_free(w);
    w = read_text(made_workload);
    ck_assert_int_eq(gsrt_workload_hash_of(w, &again), GSRT_OK);
    ck_assert(first.low == again.low && first.high == again.high);
    w->states[0].window = 9;
    ck_assert_int_eq(gsrt_workload_hash_of(w, &other), GSRT_OK);
    ck_assert(first.low != other.low || first.high != other.high);
    gsrt_workload_free(w);
}
END_TEST

START_TEST(only_the_one_way)
{
    const struct {
        const char *from, *to, *what;
    } wrong[] = {
        {"workload 1", "workload 2", "line 1: this is no workload of a version that is read"},
        {"gsrt-workload 1\n", "", "line 1: this is no workload"},
        {"layers=1 ", "layers=01 ", "line 2: layers: '01'"},
        {"layers=1 ", "layers=4294967297 ", "line 2: layers: '4294967297'"},
        {"layers=1 dim=8 ", "dim=8 layers=1 ", "line 2: unknown, twice, or not in its place: ' layers=1"},
        {"layers=1 ", "layers=1 layers=1 ", "line 2: unknown, twice"},
        {"layers=1 ", "", "layer count: 0 is not in"},
        {"layers=1 ", "layers=1  ", "line 2: unknown, twice"},
        {"layers=1 ", "layers=1 colour=3 ", "line 2: unknown, twice, or not in its place: ' colour=3"},
        {"here\\x22", "here\\x41", "line 2: this is written in another way"},
        {"here\\x22", "here\\x2", "line 2: name"},
        {"here\\x22", "here\\x00", "line 2: name"},
        {"name=\"embed\" ", "", "line 3: a key is missing: 'name'"},
        {"dtype=bf16 ", "", "line 3: a key is missing: 'dtype'"},
        {"kind=embed ", "", "a key is missing: 'kind'"},
        {"columns=8 bytes=80", "columns=8 layout=rows bytes=80", "line 3: this is written in another way, or left out"},
        {"dtype=bf16 ", "dtype=bf17 ", "line 3: dtype: 'bf17'"},
        {"bytes=80", "bytes=81", "tensor 'embed': its size"},
        {"epsilon=1e-06", "epsilon=0.000001", "this is written in another way, or left out: '0.000001'"},
        {"epsilon=1e-06", "epsilon=nan", "this is written in another way, or left out: 'nan'"},
        {"kind=linear ", "kind=Linear ", "kind: 'Linear'"},
        {"phases=prefill+decode ", "phases=decode+prefill ", "this is written in another way"},
        {"phases=prefill+decode ", "phases=prefill+decode+ ", "this is written in another way"},
        {"view=true", "view=false", "view: 'false'"},
        {"deterministic=true\n", "\n", "unknown, twice, or not in its place: ' '"},
        {"routing experts", "rooting experts", "unknown record, or not in its place: 'rooting"},
        {"routing experts", "rope experts", "unknown, twice, or not in its place"},
        {"end\n", "", "the text ends without 'end'"},
        {"end\n", "end", "the text ends without 'end'"},
        {"end\n", "end\nend\n", "there is more after 'end'"},
        {"state name", "tensor name", "unknown record, or not in its place"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *text = changed(wrong[i].from, wrong[i].to);
        gsrt_workload *w = NULL;
        gsrt_diag diag = {0};
        gsrt_status status = gsrt_workload_read(gsrt_span_of_text(text), "made", &w, &diag);
        ck_assert_msg(status == GSRT_EINPUT, "%zu: wanted a refusal with '%s'", i, wrong[i].what);
        ck_assert_msg(strstr(diag.text, wrong[i].what) != NULL, "%zu: wanted '%s' in '%s'", i, wrong[i].what,
                      diag.text);
        free(text);
    }
}
END_TEST

/* Each rule that is about more than what the runtime executes, broken once. */
START_TEST(the_rules_of_the_larger_models)
{
    const struct {
        const char *from, *to, *what;
    } wrong[] = {
        {"base_row=4", "base_row=5", "tensor 'kv_a[key]': it does not lie within"},
        {"stack=4 rows=4 columns=8 bytes=256", "stack=2 rows=4 columns=8 bytes=128",
         "not a stack of [outputs, inputs]"},
        {"width=4 rows=chosen", "width=4", "the rows of its values do not go together"},
        {"name=\"mixed\" width=8 ", "name=\"mixed\" width=8 rows=chosen ", "the rows of its values do not go together"},
        {"in1=8 out=9", "in1=3 out=9", "its second input is no routing"},
        {"chosen=2 groups=2", "chosen=3 groups=2", "the groups do not divide the experts, or hold too few"},
        {"chosen=2 groups=2", "chosen=5 groups=2", "it chooses no expert, or more than there are"},
        {"experts=4 ", "experts=5 ", "the tensor is not [experts, inputs]"},
        {"scale=2.5 correction=10", "scale=2.5 correction=1", "the correction is no vector of the experts"},
        {"rows=16 columns=4 bytes=128", "rows=15 columns=4 bytes=120", "[heads * (rest of the key + value), latent]"},
        {"key_width=2 value_width=4", "key_width=4 value_width=2", "not as wide as what is stored"},
        {"kind=latent layer", "kind=kv layer", "the state is not of its layer"},
        {"first=4 rotated=2", "first=5 rotated=2", "the number of rotated elements"},
        {"context_original=4096 ", "", "the YaRN parameters"},
        {"legal=recompute+page", "legal=recompute+page+quantise_weights+offload_weights+split_experts",
         "this is written"},
        {"rows=1 columns=1 bytes=4", "rows=1 columns=2 bytes=8", "the frequency factors are no vector"},
        {"sensitivity=choice legal=recompute+page", "legal=recompute+page", "it chooses, and is not marked so"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *text = changed(wrong[i].from, wrong[i].to);
        gsrt_workload *w = NULL;
        gsrt_diag diag = {0};
        gsrt_status status = gsrt_workload_read(gsrt_span_of_text(text), "made", &w, &diag);
        ck_assert_msg(status == GSRT_EINPUT, "%zu: wanted a refusal with '%s'", i, wrong[i].what);
        ck_assert_msg(strstr(diag.text, wrong[i].what) != NULL, "%zu: wanted '%s' in '%s'", i, wrong[i].what,
                      diag.text);
        free(text);
    }
}
END_TEST

START_TEST(sums)
{
    gsrt_workload *w = read_text(made_workload);
    gsrt_workload_totals t;
    ck_assert_int_eq(gsrt_workload_totals_of(w, &t), GSRT_OK);
    ck_assert_uint_eq(t.parameters, 612);
    ck_assert_uint_eq(t.parameters_active, 612 - 2 * 32 - 2 * 32); /* 2 of 4 experts */
    ck_assert_uint_eq(t.parameters_embedding, 0);                  /* tied */
    ck_assert_uint_eq(t.weight_bytes, 80 + 16 + 96 + 96 + 128 + 128 + 128 + 16 + 256 + 256);
    ck_assert_uint_eq(t.state_bytes_per_position, 12);
    ck_assert_uint_eq(t.state_bytes_per_position_later, 0);
    ck_assert_uint_eq(gsrt_workload_state_bytes(w, 5), 60);
    ck_assert_uint_eq(gsrt_workload_state_bytes(w, 500), 96); /* the window */
    const uint32_t counts[] = {1, 6, 2, 1, 7};
    for (int i = 0; i < GSRT_OP_CLASS_COUNT; i++)
        ck_assert_msg(t.op_counts[i] == counts[i], "%s: %u", gsrt_op_class_name((gsrt_op_class)i), t.op_counts[i]);
    gsrt_workload_free(w);
}
END_TEST

START_TEST(for_people)
{
    static const char *const lines[] = {
        "embed: prefill+decode; effects -; allows recompute+quantise_weights+offload_weights\n",
        "\n  linear           normed[8] -> latent[4]; kv_a[latent] bf16[4, 8]\n",
        "-> attn[8]; kv_b bf16[16, 4]; keeps 2 + 4 bf16 per position, the last 8\n",
        "-> routing[4]; gate f32[4, 8]; 2 of 4 experts\n",
        "\n  expert_linear    middle[8] routing[4] -> up[4 per expert]; experts.*.up bf16[4, 4, 8]\n",
        "\noutput: prefill+decode+draft; effects emits; allows recompute; it chooses\n",
    };
    gsrt_workload *w = read_text(made_workload);
    gsrt_buffer out;
    gsrt_buffer_init(&out, 1 << 20);
    ck_assert_int_eq(gsrt_workload_print(w, &out), GSRT_OK);
    ck_assert_int_eq(gsrt_buffer_append(&out, "", 1), GSRT_OK);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert_msg(strstr((const char *)out.data, lines[i]) != NULL, "no '%s' in\n%s", lines[i], out.data);
    gsrt_buffer_fini(&out);
    gsrt_workload_free(w);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {the_same_bytes_again,
                            a_hash_for_each_workload,
                            only_the_one_way,
                            the_rules_of_the_larger_models,
                            sums,
                            for_people};
    return unit_run("workload_text", tests, sizeof tests / sizeof tests[0]);
}
