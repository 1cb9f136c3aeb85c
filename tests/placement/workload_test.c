/* The workload: its tables, and every numbered rule of workload_check.c broken once. */
#include "placement/workload.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit.h"

/* A small right workload of one layer, and where its values and tensors are. */
typedef struct model {
    gsrt_workload *w;
    uint32_t x, norm, q, k, v, attn, out, sum, final, logits; /* values */
    uint32_t embd, gain, matrix;                              /* tensors */
} model;

enum { DIM = 8, VOCAB = 5 };

static uint32_t tensor(gsrt_workload *w, const char *name, uint32_t rows, uint32_t columns)
{
    uint32_t index;
    gsrt_tensor t = {
        .name = name, .row_count = rows, .column_count = columns, .size_bytes = (uint64_t)rows * columns * 4};
    ck_assert_int_eq(gsrt_workload_add_tensor(w, &t, &index), GSRT_OK);
    return index;
}

static uint32_t value(gsrt_workload *w, const char *name, uint32_t width, gsrt_split_kind split, uint32_t unit,
                      bool is_kv)
{
    uint32_t index;
    gsrt_value v = {.name = name, .width = width, .split = split, .unit = unit, .is_kv = is_kv};
    ck_assert_int_eq(gsrt_workload_add_value(w, &v, &index), GSRT_OK);
    return index;
}

static uint32_t op(gsrt_workload *w, gsrt_op_kind kind, uint32_t region, uint32_t in0, uint32_t in1, uint32_t in2,
                   uint32_t out, uint32_t tensor_index)
{
    static const gsrt_rope rope = {.dim_rotated = 4, .base = 10000, .scale = 1, .factors_tensor = GSRT_NO_INDEX};
    uint32_t index;
    gsrt_op o = {.kind = kind,
                 .region = region,
                 .layer = region == 1 ? 0 : GSRT_NO_INDEX,
                 .in = {in0, in1, in2},
                 .out = out,
                 .tensor = tensor_index,
                 .bias = GSRT_NO_INDEX,
                 .epsilon = 1e-5f,
                 .scale = 0.5f,
                 .head_dim = 4,
                 .k_group = 1,
                 .rope = kind == GSRT_OP_ROPE ? &rope : NULL};
    ck_assert_int_eq(gsrt_workload_add_op(w, &o, &index), GSRT_OK);
    return index;
}

static void region(gsrt_workload *w, const char *name, uint32_t layer, uint32_t first, uint32_t in, uint32_t out)
{
    uint32_t index;
    gsrt_region r = {
        .name = name, .layer = layer, .op_first = first, .op_count = w->op_count - first, .in = in, .out = out};
    ck_assert_int_eq(gsrt_workload_add_region(w, &r, &index), GSRT_OK);
}

#define NONE GSRT_NO_INDEX

/* Ops: 0 embed | 1 norm, 2 q, 3 k, 4 v, 5 rope, 6 attention, 7 linear, 8 add | 9 norm, 10 logits. */
static model build(void)
{
    model m = {.w = gsrt_workload_create()};
    gsrt_workload *w = m.w;
    ck_assert_ptr_nonnull(w);
    w->layer_count = w->kv_head_count = 1;
    w->dim = w->ffn_dim = DIM;
    w->head_count = 2;
    w->head_dim = 4;
    w->vocab_count = VOCAB;
    w->context_max = 16;
    m.embd = tensor(w, "embd", VOCAB, DIM);
    m.gain = tensor(w, "gain", 1, DIM);
    m.matrix = tensor(w, "matrix", DIM, DIM);
    uint32_t narrow = tensor(w, "narrow", 4, DIM);
    m.x = value(w, "x", DIM, GSRT_SPLIT_NONE, 0, false);
    m.norm = value(w, "norm", DIM, GSRT_SPLIT_NONE, 0, false);
    m.q = value(w, "q", DIM, GSRT_SPLIT_HEADS, 4, false);
    m.k = value(w, "k", 4, GSRT_SPLIT_HEADS, 4, true);
    m.v = value(w, "v", 4, GSRT_SPLIT_HEADS, 4, true);
    m.attn = value(w, "attn", DIM, GSRT_SPLIT_HEADS, 4, false);
    m.out = value(w, "out", DIM, GSRT_SPLIT_OUTPUT, 2, false);
    m.sum = value(w, "sum", DIM, GSRT_SPLIT_NONE, 0, false);
    m.final = value(w, "final", DIM, GSRT_SPLIT_NONE, 0, false);
    m.logits = value(w, "logits", VOCAB, GSRT_SPLIT_VOCAB, 1, false);
    op(w, GSRT_OP_EMBED, 0, NONE, NONE, NONE, m.x, m.embd);
    region(w, "embed", NONE, 0, NONE, m.x);
    op(w, GSRT_OP_RMSNORM, 1, m.x, NONE, NONE, m.norm, m.gain);
    op(w, GSRT_OP_LINEAR, 1, m.norm, NONE, NONE, m.q, m.matrix);
    op(w, GSRT_OP_LINEAR, 1, m.norm, NONE, NONE, m.k, narrow);
    op(w, GSRT_OP_LINEAR, 1, m.norm, NONE, NONE, m.v, narrow);
    op(w, GSRT_OP_ROPE, 1, m.q, NONE, NONE, m.q, NONE);
    op(w, GSRT_OP_ATTENTION, 1, m.q, m.k, m.v, m.attn, NONE);
    op(w, GSRT_OP_LINEAR, 1, m.attn, NONE, NONE, m.out, m.matrix);
    op(w, GSRT_OP_ADD, 1, m.x, m.out, NONE, m.sum, NONE);
    region(w, "layer.0", 0, 1, m.x, m.sum);
    op(w, GSRT_OP_RMSNORM, 2, m.sum, NONE, NONE, m.final, m.gain);
    op(w, GSRT_OP_LOGITS, 2, m.final, NONE, NONE, m.logits, m.embd);
    region(w, "output", NONE, 9, m.sum, m.logits);
    return m;
}

/* The check refuses the (broken) workload with these words; frees it. */
static void refuse(model *m, const char *what)
{
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_workload_check(m->w, "m.gguf", &diag);
    ck_assert_msg(status == GSRT_EINPUT, "wanted a refusal with '%s', got %s", what, gsrt_status_name(status));
    ck_assert_msg(strncmp(diag.text, "m.gguf: ", 8) == 0 && strstr(diag.text, what) != NULL, "wanted '%s' in '%s'",
                  what, diag.text);
    gsrt_workload_free(m->w);
}

START_TEST(the_right_one_passes)
{
    model m = build();
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_workload_check(m.w, "m.gguf", &diag) == GSRT_OK, "%s", diag.text);
    ck_assert_uint_eq(gsrt_kv_head_of(m.w, 1), 0);
    ck_assert_str_eq(m.w->values[m.out].name, "out");
    gsrt_workload_free(m.w);
}
END_TEST

START_TEST(tables_grow)
{
    gsrt_workload *w = gsrt_workload_create();
    char name[16];
    for (uint32_t i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "t%u", i);
        ck_assert_uint_eq(tensor(w, name, i + 1, 3), i);
        ck_assert_uint_eq(value(w, name, i + 1, GSRT_SPLIT_NONE, 0, false), i);
        ck_assert_uint_eq(op(w, GSRT_OP_ROPE, 0, i, NONE, NONE, i, NONE), i);
    }
    ck_assert_str_eq(w->tensors[777].name, "t777"); /* a copy: `name` has changed since */
    ck_assert_uint_eq(w->values[123].width, 124);
    ck_assert_float_eq(w->ops[5].rope->base, 10000);
    gsrt_workload_free(w);
    gsrt_workload_free(NULL);
}
END_TEST

START_TEST(rule_1_counts)
{
    model m = build();
    m.w->layer_count = 0;
    refuse(&m, "layer count: 0 is not in 1..1024");
    m = build();
    m.w->dim = GSRT_DIM_MAX + 1;
    refuse(&m, "embedding length");
    m = build();
    m.w->head_dim = GSRT_HEAD_DIM_MAX + 1;
    refuse(&m, "head size");
    m = build();
    m.w->kv_head_count = 3;
    refuse(&m, "KV head count: 3 is not in 1..2");
    m = build();
    m.w->head_count = 3;
    m.w->kv_head_count = 2;
    refuse(&m, "does not divide");
}
END_TEST

START_TEST(rule_2_tensors)
{
    model m = build();
    m.w->tensors[m.matrix].size_bytes--;
    refuse(&m, "tensor 'matrix': its size does not follow");
    m = build();
    m.w->tensors[m.matrix].dtype = GSRT_DTYPE_Q8_0;
    refuse(&m, "tensor 'matrix': its rows are no whole number of quantisation blocks");
    m = build();
    m.w->tensors[m.gain].row_count = 0;
    refuse(&m, "tensor 'gain': a dimension is 0");
    m = build();
    m.w->tensors[m.gain].offset_bytes = UINT64_MAX - 3;
    refuse(&m, "tensor 'gain': its size");
    m = build();
    m.w->tensors[m.gain].dtype = (gsrt_dtype)99;
    refuse(&m, "tensor 'gain': its type is not supported");
}
END_TEST

START_TEST(rule_3_values)
{
    const struct {
        gsrt_split_kind split;
        uint32_t width, unit;
        bool is_kv;
    } wrong[] = {{GSRT_SPLIT_NONE, DIM, 1, false},    {GSRT_SPLIT_NONE, 0, 0, false},
                 {GSRT_SPLIT_HEADS, DIM, 2, false},   {GSRT_SPLIT_HEADS, DIM, 4, true},
                 {GSRT_SPLIT_OUTPUT, DIM, 3, false},  {GSRT_SPLIT_OUTPUT, DIM, 0, false},
                 {GSRT_SPLIT_VOCAB, VOCAB, 5, false}, {GSRT_SPLIT_VOCAB, DIM, 1, false}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        model m = build();
        gsrt_value *v = &m.w->values[m.out];
        v->split = wrong[i].split;
        v->width = wrong[i].width;
        v->unit = wrong[i].unit;
        v->is_kv = wrong[i].is_kv;
        refuse(&m, "value 'out': its width does not follow");
    }
}
END_TEST

START_TEST(rule_4_regions)
{
    model m = build();
    m.w->layer_count = 2;
    refuse(&m, "one per layer");
    m = build();
    m.w->regions[1].layer = 1;
    refuse(&m, "region 'layer.0': regions are not in the order");
    m = build();
    m.w->regions[1].op_first = 2;
    refuse(&m, "its ops do not follow");
    m = build();
    m.w->regions[2].op_count = 1;
    refuse(&m, "some ops belong to no region");
    m = build();
    m.w->regions[2].op_count = UINT32_MAX;
    refuse(&m, "its ops do not follow");
    m = build();
    m.w->ops[3].region = 0;
    refuse(&m, "it names another region");
    m = build();
    m.w->regions[1].in = m.norm;
    refuse(&m, "what enters it is not what leaves the region before");
}
END_TEST

/* One field of one op is set to something else. */
static void refuse_op(uint32_t index, size_t field, uint32_t number, const char *what)
{
    model m = build();
    memcpy((char *)&m.w->ops[index] + field, &number, sizeof number);
    refuse(&m, what);
}

static uint32_t bits(float number)
{
    uint32_t out;
    memcpy(&out, &number, sizeof out);
    return out;
}

START_TEST(rule_5_ops)
{
    refuse_op(0, offsetof(gsrt_op, tensor), 2, "op 0 (embed of 'matrix'): the tensor is not [vocabulary");
    refuse_op(0, offsetof(gsrt_op, tensor), NONE, "the tensor is not [vocabulary");
    refuse_op(1, offsetof(gsrt_op, tensor), 2, "no f32 vector as long as its input");
    refuse_op(1, offsetof(gsrt_op, epsilon), bits(-1), "epsilon must not be negative");
    refuse_op(1, offsetof(gsrt_op, epsilon), bits(NAN), "epsilon must not be negative");
    refuse_op(2, offsetof(gsrt_op, tensor), 0, "the tensor is not [outputs, inputs]");
    refuse_op(2, offsetof(gsrt_op, bias), 2, "the bias is no f32 vector");
    refuse_op(2, offsetof(gsrt_op, k_group), 3, "no whole number of groups");
    refuse_op(2, offsetof(gsrt_op, k_group), 0, "no whole number of groups");
    refuse_op(2, offsetof(gsrt_op, in) + 4, 0, "more inputs than its kind reads");
    refuse_op(5, offsetof(gsrt_op, head_dim), 8, "it must rotate heads");
    refuse_op(6, offsetof(gsrt_op, in) + 4, 2, "query, key, value and output must be split by heads");
    refuse_op(6, offsetof(gsrt_op, scale), bits(0), "head size, layer or scale is wrong");
    refuse_op(6, offsetof(gsrt_op, in) + 8, NONE, "an input is missing");
    refuse_op(8, offsetof(gsrt_op, in) + 4, 3, "its values differ in width");
    refuse_op(10, offsetof(gsrt_op, kind), GSRT_OP_RMSNORM, "no f32 vector");
    refuse_op(7, offsetof(gsrt_op, kind), GSRT_OP_LOGITS, "logits are split by vocabulary");
    refuse_op(7, offsetof(gsrt_op, kind), 77, "");
    refuse_op(7, offsetof(gsrt_op, layer), NONE, "its layer is not its region's");
}
END_TEST

START_TEST(rule_5_rope)
{
    static const gsrt_rope right = {.dim_rotated = 4, .base = 10000, .scale = 1, .factors_tensor = GSRT_NO_INDEX};
    gsrt_rope wrong[8] = {right, right, right, right, right, right, right, right};
    wrong[0].dim_rotated = 3;
    wrong[1].dim_rotated = 6;
    wrong[2].dim_rotated = 0;
    wrong[3].base = 0;
    wrong[4].scale = NAN;
    wrong[5].factors_tensor = 2;
    wrong[6].is_yarn = true;
    wrong[7].base = INFINITY;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        model m = build();
        m.w->ops[5].rope = &wrong[i];
        refuse(&m, "op 5 (rope)");
    }
    model m = build();
    m.w->ops[5].rope = NULL;
    refuse(&m, "it must rotate heads");
}
END_TEST

START_TEST(rules_6_and_7_flow)
{
    refuse_op(2, offsetof(gsrt_op, in), 7, "reads a value that nothing has written yet");
    refuse_op(2, offsetof(gsrt_op, out), 1, "writes a value that was written before");
    refuse_op(2, offsetof(gsrt_op, out), NONE, "it has no output");
    refuse_op(9, offsetof(gsrt_op, in), 0, "reads a value of another region");
    model m = build();
    m.w->regions[2].out = m.sum; /* written in layer.0 */
    refuse(&m, "output: the value that leaves this region is not written in it");
    m = build();
    value(m.w, "idle", DIM, GSRT_SPLIT_NONE, 0, false);
    refuse(&m, "idle: nothing reads this value");
}
END_TEST

int main(void)
{
    const TTest *tests[] = {the_right_one_passes, tables_grow, rule_1_counts, rule_2_tensors,    rule_3_values,
                            rule_4_regions,       rule_5_ops,  rule_5_rope,   rules_6_and_7_flow};
    return unit_run("workload", tests, sizeof tests / sizeof tests[0]);
}
