#include "model/lower.h"

#include "backends/numerics.h"
#include "collectives/exchange.h"
#include "collectives/reduction.h"
#include "model/lower_impl.h"

#include <stdlib.h>
#include <string.h>

/* Rows that an average step has, for choosing how to split a product: between decode and prefill. */
enum { TYPICAL_ROWS = 8 };

/* ---- which elements of a value a member holds ---- */

gsrt__range gsrt__share_of(const gsrt__lowering *l, uint32_t value, uint32_t member)
{
    const gsrt_value *v = &l->workload->values[value];
    uint32_t first[GSRT_GROUP_RANKS_MAX + 1];
    if (v->split == GSRT_SPLIT_NONE || l->member_count == 1)
        return (gsrt__range){0, v->width};
    uint32_t units = v->split == GSRT_SPLIT_HEADS ? l->workload->head_count : v->width / v->unit;
    gsrt_apportion(units, l->stage->shares, l->member_count, first);
    uint32_t a = first[member], b = first[member + 1];
    if (v->split == GSRT_SPLIT_HEADS && v->is_kv && a < b) {
        a = gsrt_kv_head_of(l->workload, a);
        b = gsrt_kv_head_of(l->workload, b - 1) + 1;
    }
    return a < b ? (gsrt__range){a * v->unit, (b - a) * v->unit} : (gsrt__range){0, 0};
}

bool gsrt__is_split(const gsrt__lowering *l, uint32_t value)
{
    return l->member_count > 1 && l->workload->values[value].split != GSRT_SPLIT_NONE;
}

/* Every member's share of `value` begins and ends at a multiple of `step`, or at the end. */
static bool is_aligned(const gsrt__lowering *l, uint32_t value, uint32_t step)
{
    uint32_t width = l->workload->values[value].width;
    for (uint32_t m = 0; m < l->member_count; m++) {
        gsrt__range r = gsrt__share_of(l, value, m);
        uint32_t end = r.first + r.count;
        if (r.count > 0 && (r.first % step != 0 || (end % step != 0 && end != width)))
            return false;
    }
    return true;
}

/* ---- the program under construction ---- */

uint16_t gsrt__new_slot(gsrt__lowering *l, gsrt_slot_format format, uint32_t width)
{
    for (uint32_t i = 0; i < l->slot_count; i++) {
        const gsrt_slot *s = &l->slots[i];
        if (l->is_slot_free[i] && s->format == format && s->width == width && s->is_wanted == l->is_wanted) {
            l->is_slot_free[i] = false;
            return (uint16_t)i;
        }
    }
    if (l->slot_count == GSRT__SLOTS_MAX) {
        l->status = GSRT_ELIMIT;
        return 0;
    }
    l->slots[l->slot_count] = (gsrt_slot){.format = format, .width = width, .is_wanted = l->is_wanted};
    return (uint16_t)l->slot_count++;
}

void gsrt__release_slot(gsrt__lowering *l, uint16_t slot)
{
    if (slot != GSRT_NO_SLOT)
        l->is_slot_free[slot] = true;
}

bool gsrt__lower_grow(gsrt__lowering *l, void **array, uint32_t count, size_t size)
{
    if (count != 0 && (count & (count - 1)) != 0)
        return true;
    void *larger = realloc(*array, (count == 0 ? 1 : (size_t)count * 2) * size);
    if (larger == NULL) {
        l->status = GSRT_ENOMEM;
        return false;
    }
    *array = larger;
    return true;
}

gsrt_instr gsrt__blank_instr(gsrt_instr_kind kind, uint16_t in, uint16_t out)
{
    return (gsrt_instr){.kind = kind, .in = {in, GSRT_NO_SLOT, GSRT_NO_SLOT}, .out = out};
}

void gsrt__emit(gsrt__lowering *l, const gsrt_instr *instr)
{
    if (gsrt__lower_grow(l, (void **)&l->instrs, l->instr_count, sizeof *l->instrs))
        l->instrs[l->instr_count++] = *instr;
}

static void end_segment(gsrt__lowering *l)
{
    if (!gsrt__lower_grow(l, (void **)&l->segments, l->segment_count, sizeof *l->segments))
        return;
    l->segments[l->segment_count++] =
        (gsrt_lowered_segment){.instr_first = l->segment_first, .instr_count = l->instr_count - l->segment_first};
    l->segment_first = l->instr_count;
}

/* An exchange of slot `own`; widths[member] elements of each member's rows come to this one. */
static gsrt_lowered_exchange exchange_of(const gsrt__lowering *l, uint16_t own, gsrt_slot_format format,
                                         const uint32_t *widths, uint64_t receivers)
{
    gsrt_lowered_exchange e = {.slot = widths[l->member] > 0 ? own : (uint16_t)GSRT_NO_SLOT,
                               .receivers = receivers,
                               .is_wanted = l->is_wanted};
    for (uint32_t m = 0; m < l->member_count; m++) {
        gsrt_slot piece = {.format = format, .width = widths[m]};
        e.row_bytes[m] = (uint32_t)gsrt_slot_row_bytes(&piece);
        e.senders |= widths[m] > 0 ? 1ull << m : 0;
    }
    return e;
}

/* End the segment with the exchange and place the pieces, one after the other, into a new slot of all their width;
 * GSRT_NO_SLOT where this member does not need it. */
static uint16_t exchange(gsrt__lowering *l, const gsrt_lowered_exchange *e, gsrt_slot_format format,
                         const uint32_t *widths)
{
    uint32_t total = 0;
    for (uint32_t m = 0; m < l->member_count; m++)
        total += widths[m];
    end_segment(l);
    if (!gsrt__lower_grow(l, (void **)&l->exchanges, l->exchange_count, sizeof *l->exchanges))
        return 0;
    l->exchanges[l->exchange_count++] = *e;
    if ((e->receivers >> l->member & 1u) == 0)
        return GSRT_NO_SLOT;
    uint16_t whole = gsrt__new_slot(l, format, total);
    uint32_t column = 0;
    for (uint32_t m = 0; m < l->member_count; m++) {
        gsrt_instr place = gsrt__blank_instr(GSRT_INSTR_PLACE, GSRT_NO_SLOT, whole);
        place.column_first = column;
        place.piece = m;
        if (widths[m] > 0)
            gsrt__emit(l, &place);
        column += widths[m];
    }
    return whole;
}

static uint64_t everyone(const gsrt__lowering *l)
{
    return l->member_count == 64 ? UINT64_MAX : (1ull << l->member_count) - 1;
}

static uint16_t gather(gsrt__lowering *l, uint32_t value, uint16_t own, gsrt_slot_format format, uint64_t receivers)
{
    uint32_t widths[GSRT_GROUP_RANKS_MAX];
    for (uint32_t m = 0; m < l->member_count; m++)
        widths[m] = gsrt__share_of(l, value, m).count;
    gsrt_lowered_exchange e = exchange_of(l, own, format, widths, receivers);
    return exchange(l, &e, format, widths);
}

static uint16_t quantise(gsrt__lowering *l, uint16_t from, uint32_t width)
{
    uint16_t to = gsrt__new_slot(l, GSRT_SLOT_Q8, width);
    gsrt_instr instr = gsrt__blank_instr(GSRT_INSTR_QUANTISE, from, to);
    if (width > 0)
        gsrt__emit(l, &instr);
    return to;
}

/* ---- the forms in which a value is at hand ---- */

uint16_t gsrt__need_whole(gsrt__lowering *l, uint32_t value)
{
    gsrt__held *h = &l->held[value];
    if (h->whole == GSRT_NO_SLOT)
        h->whole = gather(l, value, h->share, GSRT_SLOT_F32, everyone(l));
    return h->whole;
}

static uint16_t need_whole_quantised(gsrt__lowering *l, uint32_t value)
{
    gsrt__held *h = &l->held[value];
    uint32_t width = l->workload->values[value].width;
    if (h->whole_q8 != GSRT_NO_SLOT)
        return h->whole_q8;
    if (h->whole == GSRT_NO_SLOT && is_aligned(l, value, 32)) {
        /* a quarter of the bytes: a block of 32 is quantised by itself, wherever that is done */
        h->share_q8 = quantise(l, h->share, gsrt__share_of(l, value, l->member).count);
        h->whole_q8 = gather(l, value, h->share_q8, GSRT_SLOT_Q8, everyone(l));
    } else {
        h->whole_q8 = quantise(l, gsrt__need_whole(l, value), width);
    }
    return h->whole_q8;
}

/* ---- products ---- */

/* The format in which this plan has the op's matrix. */
static gsrt_dtype dtype_of(const gsrt__lowering *l, const gsrt_op *op)
{
    return gsrt_choice_weights(&l->choices[op->region], l->workload, op);
}

/* A share of the op's matrix; NULL: no memory. */
static gsrt_matrix *matrix_of(gsrt__lowering *l, const gsrt_op *op, gsrt__range rows, gsrt__range k)
{
    const gsrt_tensor *t = &l->workload->tensors[op->tensor];
    gsrt_matrix *matrix = gsrt_arena_take(&l->out->arena, 1, sizeof *matrix);
    if (matrix == NULL) {
        l->status = GSRT_ENOMEM;
        return NULL;
    }
    matrix->name = t->name;
    matrix->dtype = dtype_of(l, op);
    matrix->row_count = rows.count;
    matrix->k_total = t->column_count;
    matrix->k_first = k.first;
    matrix->k_count = k.count;
    matrix->k_group = op->k_group == 0 ? 1 : op->k_group;
    matrix->rows = gsrt_weights_rows(l->weights, op->tensor, rows.first, rows.count, NULL);
    matrix->row_stride_bytes = gsrt_weights_row_bytes(l->weights, op->tensor);
    if (matrix->dtype != t->dtype && rows.count > 0 && k.count > 0)
        gsrt__lower_narrow(l, op, rows, k, matrix);
    return matrix;
}

static gsrt_matrix *new_matrix(gsrt__lowering *l, const gsrt_op *op, gsrt__range rows, gsrt__range k)
{
    const gsrt_tensor *t = &l->workload->tensors[op->tensor];
    gsrt_matrix *matrix = matrix_of(l, op, rows, k);
    if (matrix != NULL && rows.count > 0 && k.count > 0) {
        gsrt_weights_touch(l->weights, op->tensor, rows.first, rows.count, k.first, k.count);
        uint64_t bytes = rows.count * gsrt_weights_row_bytes(l->weights, op->tensor) * k.count / t->column_count;
        bool is_whole = rows.count == t->row_count && k.count == t->column_count && l->member_count > 1;
        *(is_whole ? &l->out->copy_bytes : &l->out->share_bytes) += bytes;
        if (gsrt__lower_grow(l, (void **)&l->out->matrices, l->out->matrix_count, sizeof *l->out->matrices))
            l->out->matrices[l->out->matrix_count++] = matrix;
    }
    return matrix;
}

static const float *vector_at(gsrt__lowering *l, uint32_t tensor, uint32_t first, uint32_t count)
{
    if (tensor == GSRT_NO_INDEX)
        return NULL;
    gsrt_weights_touch(l->weights, tensor, 0, 1, first, count);
    l->out->copy_bytes += (uint64_t)count * sizeof(float);
    return gsrt_weights_vector(l->weights, tensor) + first;
}

/* Can the product be split over K as its input is split? Then chunk_ends[member] is one past each member's chunks. */
static bool find_chunk_ends(const gsrt__lowering *l, const gsrt_op *op, uint32_t *chunk_ends, uint32_t *out_count)
{
    const gsrt_tensor *t = &l->workload->tensors[op->tensor];
    if (!gsrt__is_split(l, op->in[0]) || l->held[op->in[0]].whole != GSRT_NO_SLOT ||
        l->held[op->in[0]].whole_q8 != GSRT_NO_SLOT || l->workload->values[op->in[0]].is_kv)
        return false;
    uint32_t chunk = gsrt_chunk_of(t->column_count, op->k_group == 0 ? 1 : op->k_group, dtype_of(l, op));
    if (!is_aligned(l, op->in[0], chunk))
        return false;
    uint32_t end = 0;
    for (uint32_t m = 0; m < l->member_count; m++) {
        gsrt__range r = gsrt__share_of(l, op->in[0], m);
        end = r.count > 0 ? (r.first + r.count + chunk - 1) / chunk : end;
        chunk_ends[m] = end;
    }
    *out_count = end;
    return true;
}

/* How the subtrees of a product split over K are put together. */
static gsrt_reduction reduction_of(gsrt__lowering *l, const gsrt_op *op, const uint32_t *chunk_ends,
                                   uint32_t chunk_count)
{
    uint32_t node_counts[GSRT_GROUP_RANKS_MAX];
    for (uint32_t m = 0; m < l->member_count; m++)
        node_counts[m] = gsrt_subtree_count(m == 0 ? 0 : chunk_ends[m - 1], chunk_ends[m], chunk_count);
    gsrt_reduction_options options = {.member_count = l->member_count,
                                      .node_counts = node_counts,
                                      .column_count = l->workload->tensors[op->tensor].row_count,
                                      .row_count = TYPICAL_ROWS,
                                      .way = l->plan->exchange == GSRT_EXCHANGE_SCATTER ? GSRT_REDUCTION_RANGES
                                                                                        : GSRT_REDUCTION_CHEAPER};
    gsrt_reduction reduction = {0};
    gsrt_status status = gsrt_reduction_plan(&options, &reduction);
    if (status != GSRT_OK)
        l->status = status;
    return reduction;
}

/* Elements of a value that the member with the smallest share receives when it is gathered. */
static uint32_t gathered_width(const gsrt__lowering *l, uint32_t value)
{
    uint32_t total = 0, smallest = UINT32_MAX;
    if (!gsrt__is_split(l, value))
        return 0;
    for (uint32_t m = 0; m < l->member_count; m++) {
        uint32_t count = gsrt__share_of(l, value, m).count;
        total += count;
        smallest = count < smallest ? count : smallest;
    }
    return total - smallest;
}

/* Is it cheaper than gathering the input and splitting the outputs, which are gathered by whoever needs them? */
static bool prefers_reduce(const gsrt__lowering *l, const gsrt_op *op, const gsrt_reduction *reduction)
{
    if (l->plan->exchange != GSRT_EXCHANGE_AUTO)
        return l->plan->exchange != GSRT_EXCHANGE_GATHER;
    uint64_t input = gathered_width(l, op->in[0]), output = gathered_width(l, op->out) * (uint64_t)sizeof(float);
    if (gsrt_dtype_is_quantised(dtype_of(l, op)))
        input = input / 32 * sizeof(gsrt_q8_block);
    else
        input *= sizeof(float);
    return gsrt_reduction_cost_bytes(reduction, TYPICAL_ROWS) <
           gsrt_exchange_cost_bytes(2, (input + output) * TYPICAL_ROWS);
}

/* Everybody's subtrees, over the columns that this member finishes; `sums` holds its own over all columns. */
static uint16_t exchange_sums(gsrt__lowering *l, uint16_t sums, const gsrt_reduction *reduction)
{
    uint32_t widths[GSRT_GROUP_RANKS_MAX];
    for (uint32_t m = 0; m < l->member_count; m++) {
        gsrt_reduction_piece piece = gsrt_reduction_piece_of(reduction, 0, m, l->member);
        widths[m] = piece.node_count * piece.column_count;
    }
    gsrt_lowered_exchange e = exchange_of(l, sums, GSRT_SLOT_F32, widths, everyone(l));
    e.is_reduction = true;
    e.is_scatter = reduction->way == GSRT_REDUCTION_RANGES;
    e.node_count = gsrt_reduction_piece_of(reduction, 0, l->member, l->member).node_count;
    for (uint32_t m = 0; m <= l->member_count; m++)
        e.scattered[m] = reduction->column_firsts[m];
    return exchange(l, &e, GSRT_SLOT_F32, widths);
}

/* From the columns that each member has finished to the whole sums. */
static uint16_t gather_ranges(gsrt__lowering *l, uint16_t own, const gsrt_reduction *reduction)
{
    uint32_t widths[GSRT_GROUP_RANKS_MAX];
    for (uint32_t m = 0; m < l->member_count; m++)
        widths[m] = gsrt_reduction_share(reduction, m).column_count;
    gsrt_lowered_exchange e = exchange_of(l, own, GSRT_SLOT_F32, widths, everyone(l));
    return exchange(l, &e, GSRT_SLOT_F32, widths);
}

static void lower_split_over_k(gsrt__lowering *l, const gsrt_op *op, const uint32_t *chunk_ends,
                               const gsrt_reduction *reduction)
{
    const gsrt_tensor *t = &l->workload->tensors[op->tensor];
    gsrt__held *h = &l->held[op->in[0]];
    gsrt__range rows = {0, t->row_count}, k = gsrt__share_of(l, op->in[0], l->member);
    gsrt_reduction_piece share = gsrt_reduction_share(reduction, l->member);
    uint32_t own_nodes = gsrt_reduction_piece_of(reduction, 0, l->member, l->member).node_count;
    uint16_t in = h->share;
    if (gsrt_dtype_is_quantised(dtype_of(l, op))) {
        if (h->share_q8 == GSRT_NO_SLOT)
            h->share_q8 = quantise(l, h->share, k.count);
        in = h->share_q8;
    }
    gsrt_matrix *matrix = new_matrix(l, op, rows, k);
    uint16_t sums = gsrt__new_slot(l, GSRT_SLOT_F32, own_nodes * t->row_count);
    gsrt_instr linear = gsrt__blank_instr(GSRT_INSTR_LINEAR, in, sums);
    linear.matrix = matrix;
    if (k.count > 0)
        gsrt__emit(l, &linear);
    uint16_t all = exchange_sums(l, sums, reduction);
    gsrt__release_slot(l, sums);
    uint32_t *ends = gsrt_arena_take(&l->out->arena, l->member_count, sizeof *ends);
    if (ends == NULL || matrix == NULL) {
        l->status = GSRT_ENOMEM;
        return;
    }
    memcpy(ends, chunk_ends, l->member_count * sizeof *ends);
    uint16_t finished = gsrt__new_slot(l, GSRT_SLOT_F32, share.column_count);
    gsrt_instr tree = gsrt__blank_instr(GSRT_INSTR_TREE, all, finished);
    tree.matrix = matrix;
    tree.chunk_ends = ends;
    tree.share_count = l->member_count;
    tree.vector = vector_at(l, op->bias, share.column_first, share.column_count);
    gsrt__emit(l, &tree);
    gsrt__release_slot(l, all);
    if (reduction->way == GSRT_REDUCTION_RANGES) {
        l->held[op->out].whole = gather_ranges(l, finished, reduction);
        gsrt__release_slot(l, finished);
    } else {
        l->held[op->out].whole = finished;
    }
}

void gsrt__lower_linear(gsrt__lowering *l, const gsrt_op *op)
{
    const gsrt_tensor *t = &l->workload->tensors[op->tensor];
    uint32_t chunk_ends[GSRT_GROUP_RANKS_MAX], chunk_count;
    if (op->kind == GSRT_OP_LINEAR && find_chunk_ends(l, op, chunk_ends, &chunk_count)) {
        gsrt_reduction reduction = reduction_of(l, op, chunk_ends, chunk_count);
        if (l->status != GSRT_OK)
            return;
        if (prefers_reduce(l, op, &reduction)) {
            lower_split_over_k(l, op, chunk_ends, &reduction);
            return;
        }
    }
    uint16_t in =
        gsrt_dtype_is_quantised(dtype_of(l, op)) ? need_whole_quantised(l, op->in[0]) : gsrt__need_whole(l, op->in[0]);
    gsrt__range rows = gsrt__share_of(l, op->out, l->member);
    uint16_t out = gsrt__new_slot(l, GSRT_SLOT_F32, rows.count);
    gsrt_instr linear = gsrt__blank_instr(GSRT_INSTR_LINEAR, in, out);
    if (rows.count > 0) {
        linear.matrix = new_matrix(l, op, rows, (gsrt__range){0, t->column_count});
        linear.vector = vector_at(l, op->bias, rows.first, rows.count);
        gsrt__emit(l, &linear);
    }
    if (gsrt__is_split(l, op->out))
        l->held[op->out].share = out;
    else
        l->held[op->out].whole = out;
}

/* The logits: whole on member 0 only, who samples. */
void gsrt__lower_logits(gsrt__lowering *l, const gsrt_op *op)
{
    gsrt__lower_linear(l, op);
    gsrt__held *h = &l->held[op->out];
    if (gsrt__is_split(l, op->out))
        h->whole = gather(l, op->out, h->share, GSRT_SLOT_F32, 1);
    l->out->slot_logits = h->whole;
    if (l->member == 0) {
        gsrt_instr sample = gsrt__blank_instr(GSRT_INSTR_SAMPLE, h->whole, GSRT_NO_SLOT);
        gsrt__emit(l, &sample);
    }
}

const float *gsrt__lower_vector(gsrt__lowering *l, uint32_t tensor)
{
    return vector_at(l, tensor, 0, l->workload->tensors[tensor].column_count);
}

gsrt_matrix *gsrt__lower_embedding(gsrt__lowering *l, const gsrt_op *op)
{
    const gsrt_tensor *t = &l->workload->tensors[op->tensor];
    gsrt_matrix *matrix = matrix_of(l, op, (gsrt__range){0, t->row_count}, (gsrt__range){0, t->column_count});
    if (matrix != NULL && matrix->dtype != t->dtype) /* else what is looked up is declared then */
        gsrt_weights_touch(l->weights, op->tensor, 0, t->row_count, 0, t->column_count);
    l->out->embed_tensor = op->tensor;
    return matrix;
}

gsrt_status gsrt__lower_finish(gsrt__lowering *l)
{
    gsrt_lowered *out = l->out;
    end_segment(l);
    if (l->status != GSRT_OK)
        return l->status;
    gsrt_slot *slots = gsrt_arena_take(&out->arena, l->slot_count, sizeof *slots);
    if (slots == NULL)
        return GSRT_ENOMEM;
    memcpy(slots, l->slots, l->slot_count * sizeof *slots);
    /* handed over: freed by gsrt_lowered_free */
    out->program =
        (gsrt_program){.instrs = l->instrs, .instr_count = l->instr_count, .slots = slots, .slot_count = l->slot_count};
    out->segments = l->segments;
    out->segment_count = l->segment_count;
    out->exchanges = l->exchanges;
    l->instrs = NULL;
    l->segments = NULL;
    l->exchanges = NULL;
    return GSRT_OK;
}
