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
    gsrt_tensor t = {.name = name,
                     .stack_count = 1,
                     .row_count = rows,
                     .column_count = columns,
                     .size_bytes = (uint64_t)rows * columns * 4};
    ck_assert_int_eq(gsrt_workload_add_tensor(w, &t, &index), GSRT_OK);
    return index;
}

static uint32_t value(gsrt_workload *w, const char *name, uint32_t width, gsrt_split_kind split, uint32_t unit,
                      bool is_kv)
{
    uint32_t index;
    gsrt_value v = {.name = name,
                    .width = width,
                    .rows = split == GSRT_SPLIT_VOCAB ? GSRT_ROWS_WANTED : GSRT_ROWS_TOKENS,
                    .split = split,
                    .unit = unit,
                    .is_kv = is_kv};
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
                 .state = kind == GSRT_OP_ATTENTION ? 0 : GSRT_NO_INDEX,
                 .in = {in0, in1, in2},
                 .out = out,
                 .tensor = tensor_index,
                 .bias = GSRT_NO_INDEX,
                 .epsilon = 1e-5f,
                 .scale = 0.5f,
                 .head_dim = kind == GSRT_OP_ROPE || kind == GSRT_OP_ATTENTION ? 4 : 0,
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
    gsrt_workload_describe(w, &r);
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
    w->head_dim = w->value_head_dim = 4;
    w->name = "m";
    w->architecture = "made";
    w->has_weights = true;
    w->vocab_count = VOCAB;
    w->context_max = 16;
    m.embd = tensor(w, "embd", VOCAB, DIM);
    m.gain = tensor(w, "gain", 1, DIM);
    m.matrix = tensor(w, "matrix", DIM, DIM);
    uint32_t narrow = tensor(w, "narrow", 4, DIM);
    gsrt_state kv = {.name = "kv", .key_width = 4, .value_width = 4};
    uint32_t state;
    ck_assert_int_eq(gsrt_workload_add_state(w, &kv, &state), GSRT_OK);
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
    refuse_op(0, offsetof(gsrt_op, tensor), NONE, "the tensor is missing");
    refuse_op(1, offsetof(gsrt_op, tensor), 2, "no vector as long as its input");
    refuse_op(1, offsetof(gsrt_op, epsilon), bits(-1), "epsilon must not be negative");
    refuse_op(1, offsetof(gsrt_op, epsilon), bits(NAN), "a constant is not finite");
    refuse_op(2, offsetof(gsrt_op, tensor), 0, "the tensor is not [outputs, inputs]");
    refuse_op(2, offsetof(gsrt_op, bias), 2, "the bias is no vector");
    refuse_op(2, offsetof(gsrt_op, k_group), 3, "no whole number of groups");
    refuse_op(2, offsetof(gsrt_op, k_group), 0, "no whole number of groups");
    refuse_op(2, offsetof(gsrt_op, in) + 4, 0, "more inputs than its kind reads");
    refuse_op(5, offsetof(gsrt_op, head_dim), 8, "it must rotate heads");
    refuse_op(6, offsetof(gsrt_op, in) + 4, 2, "query, key, value and output must be split by heads");
    refuse_op(6, offsetof(gsrt_op, scale), bits(0), "head size, layer or scale is wrong");
    refuse_op(6, offsetof(gsrt_op, in) + 8, NONE, "an input is missing");
    refuse_op(8, offsetof(gsrt_op, in) + 4, 3, "its values differ in width");
    refuse_op(10, offsetof(gsrt_op, kind), GSRT_OP_RMSNORM, "the rows of its values do not go together");
    refuse_op(7, offsetof(gsrt_op, kind), GSRT_OP_LOGITS, "the rows of its values do not go together");
    refuse_op(7, offsetof(gsrt_op, kind), 77, "");
    refuse_op(7, offsetof(gsrt_op, layer), NONE, "its layer is not its region's");
}
END_TEST

START_TEST(rule_4_traits)
{
    model m = build();
    ck_assert_uint_eq(m.w->regions[0].effects, 0);
    ck_assert_uint_eq(m.w->regions[1].effects, GSRT_EFFECT_READS_STATE | GSRT_EFFECT_WRITES_STATE);
    ck_assert_uint_eq(m.w->regions[2].effects, GSRT_EFFECT_EMITS);
    ck_assert_uint_eq(m.w->regions[2].sensitivity, GSRT_SENSITIVITY_CHOICE);
    ck_assert_uint_eq(m.w->regions[0].legal & GSRT_LEGAL_PAGE, 0);
    m.w->regions[1].legal &= ~(uint32_t)GSRT_LEGAL_PAGE; /* an author may forbid */
    m.w->regions[1].error_relative_max = 0.01f;
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_workload_check(m.w, "m.gguf", &diag) == GSRT_OK, "%s", diag.text);
    m.w->regions[0].legal |= GSRT_LEGAL_PAGE;
    refuse(&m, "region 'embed': it allows what its ops do not");
    m = build();
    m.w->regions[1].effects = GSRT_EFFECT_READS_STATE;
    refuse(&m, "region 'layer.0': its effects are not those of its ops");
    m = build();
    m.w->regions[1].phases = 0;
    refuse(&m, "region 'layer.0': it runs in no phase");
    m = build();
    m.w->regions[2].sensitivity = GSRT_SENSITIVITY_SMOOTH;
    refuse(&m, "region 'output': it chooses");
    m = build();
    m.w->regions[2].error_relative_max = NAN;
    refuse(&m, "region 'output': its error envelope");
}
END_TEST

START_TEST(rule_2_views)
{
    const gsrt_tensor right = {.name = "part",
                               .stack_count = 1,
                               .row_count = 4,
                               .column_count = DIM,
                               .size_bytes = 4 * DIM * 4,
                               .is_view = true,
                               .base = 2,
                               .base_row = 4};
    uint32_t index;
    model m = build();
    uint64_t before = m.w->parameter_count;
    ck_assert_int_eq(gsrt_workload_add_tensor(m.w, &right, &index), GSRT_OK);
    ck_assert_uint_eq(m.w->parameter_count, before); /* the same elements again */
    m.w->ops[3].tensor = index;
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_workload_check(m.w, "m.gguf", &diag) == GSRT_OK, "%s", diag.text);
    m.w->tensors[index].base_row = 5;
    refuse(&m, "tensor 'part': it does not lie within");
    m = build();
    ck_assert_int_eq(gsrt_workload_add_tensor(m.w, &right, &index), GSRT_OK);
    refuse(&m, "part: no op reads this tensor");
    m = build();
    ck_assert_int_eq(gsrt_workload_add_tensor(m.w, &right, &index), GSRT_OK);
    m.w->tensors[index].base = index;
    refuse(&m, "tensor 'part': the tensor that it is a view of is missing");
    m = build();
    m.w->parameter_count++;
    refuse(&m, "parameter count");
}
END_TEST

START_TEST(rule_8_states)
{
    uint32_t index;
    model m = build();
    m.w->states[0].key_width = 8;
    refuse(&m, "op 6 (attention): the state is not of its layer");
    m = build();
    m.w->states[0].layer = 1;
    refuse(&m, "state 'kv': its layer");
    m = build();
    ck_assert_int_eq(gsrt_workload_add_state(m.w, &m.w->states[0], &index), GSRT_OK);
    refuse(&m, "kv: nothing writes this state");
    m = build();
    m.w->ops[6].state = NONE;
    refuse(&m, "op 6 (attention): the state is missing");
    m = build();
    m.w->ops[7].state = 0;
    refuse(&m, "its kind has none");
}
END_TEST

START_TEST(what_runs)
{
    model m = build();
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_workload_executable(m.w, "m.gguf", &diag), GSRT_OK);
    m.w->states[0].window = 8;
    ck_assert_int_eq(gsrt_workload_executable(m.w, "m.gguf", &diag), GSRT_EUNSUPPORTED);
    ck_assert_str_eq(diag.text,
                     "m.gguf: kv: states are kept in f32 and without a window; it can be planned for, not run");
    gsrt_workload_free(m.w);
    const struct {
        size_t field;
        uint32_t op, bits;
    } wrong[] = {{offsetof(gsrt_op, kind), 8, GSRT_OP_GEGLU}, {offsetof(gsrt_op, gain_offset), 1, bits(1)},
                 {offsetof(gsrt_op, head_dim), 1, 4},         {offsetof(gsrt_op, softcap), 6, bits(50)},
                 {offsetof(gsrt_op, softcap), 10, bits(30)},  {offsetof(gsrt_op, tensor), 6, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        m = build();
        memcpy((char *)&m.w->ops[wrong[i].op] + wrong[i].field, &wrong[i].bits, 4);
        diag = (gsrt_diag){0};
        ck_assert_int_eq(gsrt_workload_executable(m.w, "m.gguf", &diag), GSRT_EUNSUPPORTED);
        ck_assert_msg(strstr(diag.text, "no kernel") != NULL, "%s", diag.text);
        gsrt_workload_free(m.w);
    }
    m = build();
    m.w->has_weights = false;
    ck_assert_int_eq(gsrt_workload_executable(m.w, "m.gguf", NULL), GSRT_EUNSUPPORTED);
    m.w->has_weights = true;
    m.w->tensors[m.matrix].dtype = GSRT_DTYPE_F8_E4M3;
    ck_assert_int_eq(gsrt_workload_executable(m.w, "m.gguf", NULL), GSRT_EUNSUPPORTED);
    m.w->tensors[m.matrix].dtype = GSRT_DTYPE_F32;
    m.w->tensors[m.gain].dtype = GSRT_DTYPE_BF16; /* right, and yet no kernel reads it */
    ck_assert_int_eq(gsrt_workload_executable(m.w, "m.gguf", NULL), GSRT_EUNSUPPORTED);
    gsrt_workload_free(m.w);
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
    refuse(&m, "the rotation or the routing is missing");
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
    const TTest *tests[] = {the_right_one_passes, tables_grow,    rule_1_counts, rule_2_tensors, rule_2_views,
                            rule_3_values,        rule_4_regions, rule_4_traits, rule_5_ops,     rule_5_rope,
                            rules_6_and_7_flow,   rule_8_states,  what_runs};
    return unit_run("workload", tests, sizeof tests / sizeof tests[0]);
}
