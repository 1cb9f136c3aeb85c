/* Lowering for one to four members, even, uneven and zero shares, in every way of exchanging: the members' programs,
 * run in step with a plain exchange between them, give the bits of the reference pass; and what each member reads,
 * holds and sends is what its share says. Where the plan narrows regions, the reference reads the same narrowed
 * weights.
 */
#include "model/lower.h"

#include "backends/device.h"
#include "model/narrowed.h"
#include "placement/plan_choices.h"
#include "tests/model/opened_llama.h"
#include "tests/unit.h"

enum { MEMBERS_MAX = 4, ROWS = 5, WANTED = ROWS - 1 };

typedef struct member {
    gsrt_weights *weights;
    gsrt_lowered *lowered;
    gsrt_workspace *workspace;
    gsrt_kv *kv;
    gsrt_span pieces[MEMBERS_MAX]; /* allocated */
    gsrt_sample_result result;
} member;

typedef struct group {
    opened_llama model;
    gsrt_plan *plan;
    gsrt_device *device;
    uint32_t member_count;
    member members[MEMBERS_MAX];
} group;

static void done(void *arg, gsrt_job *job, gsrt_status status, uint64_t work_ns)
{
    (void)arg;
    (void)job;
    (void)work_ns;
    ck_assert_int_eq(status, GSRT_OK);
}

/* What the plans of a test narrow. */
typedef struct narrowing {
    gsrt_plan_narrowed narrowed[4];
    uint32_t count;
} narrowing;
static const narrowing nothing = {.count = 0};

static group open_narrowed(const tiny_llama *m, uint32_t *shares, uint32_t member_count, gsrt_exchange exchange,
                           const narrowing *n)
{
    group g = {.model = open_llama(m), .member_count = member_count};
    gsrt_diag diag = {0};
    g.plan = plan_of_one_stage(&g.model, shares, member_count, exchange);
    ck_assert_int_eq(gsrt_plan_narrow(g.plan, n->narrowed, n->count), GSRT_OK);
    ck_assert_int_eq(gsrt_plan_check(g.plan, g.model.workload, member_count, "test", &diag), GSRT_OK);
    gsrt_device_options device = {.done = done};
    ck_assert_int_eq(gsrt_isa_detect(&device.isa, NULL), GSRT_OK);
    ck_assert_msg(gsrt_device_create_inline(&device, &g.device, &diag) == GSRT_OK, "%s", diag.text);
    for (uint32_t i = 0; i < member_count; i++) {
        member *one = &g.members[i];
        ck_assert_int_eq(gsrt_weights_create(g.model.gguf, g.model.workload, &one->weights, &diag), GSRT_OK);
        ck_assert_int_eq(gsrt_lower(one->weights, g.plan, 0, i, m->context, &one->lowered), GSRT_OK);
        gsrt_lowered *l = one->lowered;
        ck_assert_int_eq(l->is_raw, l->narrowed_count > 0);
        if (l->is_raw)
            ck_assert_int_eq(gsrt_lowered_narrow(l, one->weights, NULL), GSRT_OK);
        l->is_raw = false;
        one->workspace = gsrt_workspace_create(&l->program, ROWS);
        one->kv = gsrt_kv_create(l->kv_layer_count, l->kv_head_count, g.model.workload->head_dim, 2);
        ck_assert(one->workspace != NULL && one->kv != NULL);
    }
    return g;
}

static group open_group(const tiny_llama *m, uint32_t *shares, uint32_t member_count, gsrt_exchange exchange)
{
    return open_narrowed(m, shares, member_count, exchange, &nothing);
}

static void drop_pieces(member *one)
{
    for (uint32_t i = 0; i < MEMBERS_MAX; i++) {
        free((void *)(uintptr_t)one->pieces[i].data);
        one->pieces[i] = gsrt_span_of(NULL, 0);
    }
}

static void close_group(group *g)
{
    for (uint32_t i = 0; i < g->member_count; i++) {
        member *one = &g->members[i];
        drop_pieces(one);
        gsrt_workspace_free(one->workspace);
        gsrt_kv_free(one->kv);
        gsrt_lowered_free(one->lowered);
        gsrt_weights_free(one->weights);
    }
    gsrt_device_free(g->device);
    gsrt_plan_free(g->plan);
    close_llama(&g->model);
}

static const uint32_t tokens[ROWS] = {3, 1, 4, 1, 5}, blocks[1] = {1}, wanted[1] = {WANTED};

static void run_segment(const group *g, member *one, uint32_t segment)
{
    const gsrt_job_sequence sequence = {.row_count = ROWS, .blocks = blocks};
    const gsrt_sampling sampling = {.is_sampled = true};
    gsrt_job job = {.program = &one->lowered->program,
                    .instr_first = one->lowered->segments[segment].instr_first,
                    .instr_count = one->lowered->segments[segment].instr_count,
                    .workspace = one->workspace,
                    .kv = one->kv,
                    .row_count = ROWS,
                    .tokens = tokens,
                    .sequences = &sequence,
                    .sequence_count = 1,
                    .wanted = wanted,
                    .wanted_count = 1,
                    .sampling = &sampling,
                    .results = &one->result,
                    .pieces = one->pieces,
                    .piece_count = g->member_count};
    if (job.instr_count > 0)
        ck_assert_int_eq(gsrt_device_submit(g->device, &job), GSRT_OK);
}

/* What `from` gives to `to`: the rows as they are, or the receiver's columns of each node. */
static gsrt_span piece_between(const group *g, uint32_t exchange, uint32_t from, uint32_t to)
{
    const member *sender = &g->members[from];
    const gsrt_lowered_exchange *e = &sender->lowered->exchanges[exchange];
    uint32_t rows = e->is_wanted ? 1 : ROWS;
    if (e->slot == GSRT_NO_SLOT)
        return gsrt_span_of(NULL, 0);
    const gsrt_slot *slot = &sender->lowered->program.slots[e->slot];
    ck_assert_int_eq(slot->is_wanted, e->is_wanted);
    const uint8_t *data = gsrt_workspace_slot(sender->workspace, e->slot);
    size_t bytes = rows * gsrt_slot_row_bytes(slot), at = 0;
    uint8_t *piece = malloc(bytes);
    ck_assert_ptr_nonnull(piece);
    if (!e->is_scatter) {
        memcpy(piece, data, bytes);
        return gsrt_span_of(piece, bytes);
    }
    uint32_t width = e->scattered[g->member_count];
    ck_assert_uint_eq(slot->width, e->node_count * width);
    for (uint32_t node = 0; node < rows * e->node_count; node++)
        for (uint32_t column = e->scattered[to]; column < e->scattered[to + 1]; column++, at += sizeof(float))
            memcpy(piece + at, data + ((size_t)node * width + column) * sizeof(float), sizeof(float));
    return gsrt_span_of(piece, at);
}

static void exchange_pieces(group *g, uint32_t exchange)
{
    for (uint32_t to = 0; to < g->member_count; to++) {
        const gsrt_lowered_exchange *e = &g->members[to].lowered->exchanges[exchange];
        uint32_t rows = e->is_wanted ? 1 : ROWS;
        drop_pieces(&g->members[to]);
        for (uint32_t from = 0; from < g->member_count; from++) {
            const gsrt_lowered_exchange *theirs = &g->members[from].lowered->exchanges[exchange];
            ck_assert_uint_eq(e->receivers, theirs->receivers);
            ck_assert_uint_eq(e->senders, theirs->senders);
            ck_assert_int_eq(e->is_scatter, theirs->is_scatter);
            ck_assert_int_eq((e->senders >> from & 1) != 0, theirs->slot != GSRT_NO_SLOT);
            if ((e->receivers >> to & 1) == 0)
                continue;
            g->members[to].pieces[from] = piece_between(g, exchange, from, to);
            ck_assert_uint_eq(g->members[to].pieces[from].len, (size_t)rows * e->row_bytes[from]);
        }
    }
}

/* Each member in step with the others; the logits are on member 0. */
static void run_group(group *g)
{
    uint32_t segment_count = g->members[0].lowered->segment_count;
    for (uint32_t segment = 0; segment < segment_count; segment++) {
        for (uint32_t i = 0; i < g->member_count; i++) {
            ck_assert_uint_eq(g->members[i].lowered->segment_count, segment_count);
            run_segment(g, &g->members[i], segment);
        }
        if (segment + 1 < segment_count)
            exchange_pieces(g, segment);
    }
}

static void check_logits(const group *g, const float *logits)
{
    const member *first = &g->members[0];
    ck_assert_uint_ne(first->lowered->slot_logits, GSRT_NO_SLOT);
    ck_assert_mem_eq(gsrt_workspace_slot(first->workspace, first->lowered->slot_logits), logits,
                     g->model.workload->vocab_count * sizeof *logits);
}

/* The members have all weights together, KV heads that two of them need twice; each declares what it reads, and no
 * more. */
static void check_weights(const group *g)
{
    uint64_t total = 0, shared = 0, whole = 0;
    for (uint32_t i = 0; i < g->member_count; i++) {
        const gsrt_lowered *l = g->members[i].lowered;
        total += l->share_bytes + l->copy_bytes;
        shared += l->share_bytes;
        ck_assert_uint_le(gsrt_weights_touched_bytes(g->members[i].weights), l->share_bytes + l->copy_bytes);
        ck_assert_uint_le(l->matrix_count, 7 * g->model.workload->layer_count + 1);
    }
    for (uint32_t t = 0; t < g->model.workload->tensor_count; t++) {
        const gsrt_tensor *tensor = &g->model.workload->tensors[t];
        if (tensor->row_count > 1 && t != g->members[0].lowered->embed_tensor)
            whole += tensor->row_count * gsrt_weights_row_bytes(g->model.weights, t);
    }
    ck_assert_uint_ge(total, whole);
    ck_assert_uint_le(shared, whole + whole / 2);
}

static uint32_t shares_of_four[][MEMBERS_MAX] = {{1},       {1, 1},       {3, 1},       {1, 0, 3},
                                                 {1, 1, 1}, {1, 1, 1, 1}, {0, 2, 1, 1}, {7, 5, 3, 1}};
static const uint32_t member_counts[] = {1, 2, 2, 3, 3, 4, 4, 4};
enum { SHARES_COUNT = sizeof member_counts / sizeof member_counts[0] };

static gsrt_narrowed *narrowed_of(const opened_llama *model, const narrowing *n)
{
    gsrt_plan *plan = gsrt_plan_create(0);
    gsrt_region_choice *choices = calloc(model->workload->region_count, sizeof *choices);
    gsrt_narrowed *narrowed;
    ck_assert(plan != NULL && choices != NULL && gsrt_plan_narrow(plan, n->narrowed, n->count) == GSRT_OK);
    gsrt_plan_choices(plan, model->workload, choices);
    ck_assert_int_eq(gsrt_narrowed_create(model->weights, choices, &narrowed), GSRT_OK);
    free(choices);
    gsrt_plan_free(plan);
    return narrowed;
}

static void check_narrowed(gsrt_exchange exchange, const narrowing *n)
{
    opened_llama model = open_llama(&tiny_of_four_chunks);
    gsrt_reference *reference;
    const float *logits = NULL;
    ck_assert_int_eq(gsrt_reference_create(model.weights, ROWS, &reference), GSRT_OK);
    gsrt_narrowed *narrowed = narrowed_of(&model, n);
    gsrt_narrowed_apply(narrowed, reference);
    for (uint32_t p = 0; p < ROWS; p++)
        ck_assert_int_eq(gsrt_reference_step(reference, tokens[p], p, &logits), GSRT_OK);
    for (uint32_t i = 0; i < SHARES_COUNT; i++) {
        group g = open_narrowed(&tiny_of_four_chunks, shares_of_four[i], member_counts[i], exchange, n);
        run_group(&g);
        check_logits(&g, logits);
        if (n->count == 0 || n->narrowed[0].place != GSRT_PLAN_EMBED) /* a narrowed table is read whole */
            check_weights(&g);
        close_group(&g);
    }
    gsrt_reference_free(reference);
    gsrt_narrowed_free(narrowed);
    close_llama(&model);
}

static void check_all(gsrt_exchange exchange)
{
    check_narrowed(exchange, &nothing);
}

START_TEST(gathering_gives_the_bits)
{
    check_all(GSRT_EXCHANGE_GATHER);
}
END_TEST

START_TEST(reducing_gives_the_bits)
{
    check_all(GSRT_EXCHANGE_REDUCE);
}
END_TEST

START_TEST(scattering_gives_the_bits)
{
    check_all(GSRT_EXCHANGE_SCATTER);
}
END_TEST

START_TEST(choosing_gives_the_bits)
{
    check_all(GSRT_EXCHANGE_AUTO);
}
END_TEST

START_TEST(narrowing_gives_the_bits)
{
    static const narrowing all[] = {
        {{{GSRT_PLAN_LAYER, GSRT_DTYPE_Q8_0}}, 1},
        {{{GSRT_PLAN_EMBED, GSRT_DTYPE_Q4_0},
          {GSRT_PLAN_LAYER + 1, GSRT_DTYPE_Q4_0},
          {GSRT_PLAN_OUTPUT, GSRT_DTYPE_BF16}},
         3},
        {{{GSRT_PLAN_LAYER, GSRT_DTYPE_F16},
          {GSRT_PLAN_LAYER + 1, GSRT_DTYPE_BF16},
          {GSRT_PLAN_OUTPUT, GSRT_DTYPE_Q8_0}},
         3},
    };
    static const gsrt_exchange exchanges[] = {GSRT_EXCHANGE_GATHER, GSRT_EXCHANGE_REDUCE, GSRT_EXCHANGE_SCATTER};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (size_t e = 0; e < sizeof exchanges / sizeof exchanges[0]; e++)
            check_narrowed(exchanges[e], &all[i]);
}
END_TEST

typedef struct counts {
    uint32_t exchanges, reductions, scatters;
} counts;

static counts count(uint32_t *shares, uint32_t member_count, gsrt_exchange exchange)
{
    group g = open_group(&tiny_of_four_chunks, shares, member_count, exchange);
    counts c = {.exchanges = g.members[0].lowered->segment_count - 1};
    for (uint32_t i = 0; i < c.exchanges; i++) {
        c.reductions += g.members[0].lowered->exchanges[i].is_reduction;
        c.scatters += g.members[0].lowered->exchanges[i].is_scatter;
    }
    close_group(&g);
    return c;
}

/* Two products per layer read a split input: the attention's output and the feed-forward's. */
START_TEST(exchanges_are_those_of_the_plan)
{
    uint32_t even[] = {1, 1}, odd[] = {1, 1, 1};
    counts gather = count(even, 2, GSRT_EXCHANGE_GATHER), reduce = count(even, 2, GSRT_EXCHANGE_REDUCE);
    counts scatter = count(even, 2, GSRT_EXCHANGE_SCATTER), alone = count(even, 1, GSRT_EXCHANGE_SCATTER);
    ck_assert_uint_eq(gather.exchanges, 2 * 4 + 1); /* input and outputs of each, and the logits */
    ck_assert_uint_eq(gather.reductions, 0);
    ck_assert_uint_eq(reduce.exchanges, 2 * 2 + 1);
    ck_assert_uint_eq(reduce.reductions, 2 * 2);
    ck_assert_uint_eq(reduce.scatters, 0); /* small: whole subtrees to everyone cost less */
    ck_assert_uint_eq(scatter.exchanges, 2 * 4 + 1);
    ck_assert_uint_eq(scatter.reductions, 2 * 2);
    ck_assert_uint_eq(scatter.scatters, 2 * 2);
    ck_assert_uint_eq(alone.exchanges, 0);
    ck_assert_uint_eq(count(odd, 3, GSRT_EXCHANGE_SCATTER).reductions, 0); /* shares cut chunks */
}
END_TEST

/* A slot is as wide as what is placed into it, and a piece never lies beyond it. */
START_TEST(slots_hold_what_is_placed)
{
    for (uint32_t i = 0; i < SHARES_COUNT; i++) {
        group g = open_group(&tiny_of_four_chunks, shares_of_four[i], member_counts[i], GSRT_EXCHANGE_SCATTER);
        for (uint32_t m = 0; m < g.member_count; m++) {
            const gsrt_lowered *l = g.members[m].lowered;
            for (uint32_t s = 1; s < l->segment_count; s++) {
                uint64_t placed = 0, bytes = 0;
                uint16_t slot = GSRT_NO_SLOT;
                for (uint32_t k = 0; k < l->segments[s].instr_count; k++) {
                    const gsrt_instr *instr = &l->program.instrs[l->segments[s].instr_first + k];
                    if (instr->kind != GSRT_INSTR_PLACE)
                        break;
                    ck_assert(slot == GSRT_NO_SLOT || slot == instr->out);
                    slot = instr->out;
                    placed += l->exchanges[s - 1].row_bytes[instr->piece];
                }
                if (slot != GSRT_NO_SLOT)
                    bytes = gsrt_slot_row_bytes(&l->program.slots[slot]);
                ck_assert_uint_eq(placed, bytes);
                ck_assert_uint_eq(bytes > 0, (l->exchanges[s - 1].receivers >> m & 1) != 0);
            }
        }
        close_group(&g);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {gathering_gives_the_bits, reducing_gives_the_bits,  scattering_gives_the_bits,
                            choosing_gives_the_bits,  narrowing_gives_the_bits, exchanges_are_those_of_the_plan,
                            slots_hold_what_is_placed};
    return unit_run("lower", tests, sizeof tests / sizeof tests[0]);
}
