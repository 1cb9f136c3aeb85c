/* Rules m1 to m5: what each engine must hold, counted tensor by tensor, and whether its memories hold it. */
#include "placement/deployment_check_impl.h"

#include "base/limits.h"

#include <string.h>

/* What a stage's seats have of an op's outputs. */
typedef struct op_view {
    const gsrt_op *op;
    bool is_attention_part; /* divided over T, not over W */
} op_view;

static uint64_t bytes_of(gsrt_dtype dtype, uint64_t rows, uint64_t columns)
{
    uint64_t block = gsrt_dtype_block(dtype);
    return rows * ((columns + block - 1) / block) * gsrt_dtype_block_bytes(dtype);
}

static bool is_attention(gsrt_op_kind kind)
{
    return kind == GSRT_OP_ATTENTION || kind == GSRT_OP_LATENT_ATTENTION;
}

/* The last op of a region's attention part: the first LINEAR after its last attention; its first op where there is
 * none, less one. */
static uint32_t attention_end(const gsrt_workload *w, const gsrt_region *region)
{
    uint32_t end = region->op_first, last = GSRT_NO_INDEX;
    for (uint32_t i = 0; i < region->op_count; i++) {
        if (is_attention(w->ops[region->op_first + i].kind))
            last = region->op_first + i;
    }
    if (last == GSRT_NO_INDEX)
        return end;
    for (end = last + 1; end < region->op_first + region->op_count && w->ops[end].kind != GSRT_OP_LINEAR; end++)
        ;
    return end + 1;
}

/* KV heads of query heads [first, first + count). */
static uint64_t kv_heads_of(const gsrt_workload *w, uint64_t first, uint64_t count)
{
    uint32_t each = w->head_count / w->kv_head_count;
    return count == 0 ? 0 : (first + count - 1) / each - first / each + 1;
}

/* Elements of units [first, first + count) of a width in units that the last of may be short. */
static uint64_t elements_of(gsrt__check_units units, uint64_t unit, uint64_t width)
{
    uint64_t first = units.first * unit, end = (units.first + units.count) * unit;
    return (end < width ? end : width) - (first < width ? first : width);
}

/* Elements of a value that seat `at` holds, by how the value is split. */
static uint64_t elements_held(const gsrt__checking *c, const gsrt__stage_view *view, uint32_t at, const op_view *o,
                              const gsrt_value *value)
{
    const gsrt__seat *seat = &view->seats[at];
    uint32_t width = o->is_attention_part ? view->tensor_width : view->width;
    if (o->op->kind == GSRT_OP_EXPERT_LINEAR)
        width = view->inner_width;
    uint32_t group = at / width * width;
    switch (value->split) {
    case GSRT_SPLIT_NONE: return value->width;
    case GSRT_SPLIT_HEADS:
        return value->is_kv ? kv_heads_of(c->workload, seat->head_first, seat->head_count) * value->unit
                            : (uint64_t)seat->head_count * value->unit;
    case GSRT_SPLIT_OUTPUT:
    case GSRT_SPLIT_VOCAB:
        if (width == 1) /* nobody to split it with, whatever the share */
            return value->width;
        return elements_of(
            gsrt__check_dealt((value->width + value->unit - 1) / value->unit, view->shares + group, width, at - group),
            value->unit, value->width);
    }
    return value->width;
}

/* m1: rows of op->tensor, of all its stack, that seat `at` holds. */
static uint64_t rows_held(const gsrt__checking *c, const gsrt__stage_view *view, uint32_t at, const op_view *o)
{
    const gsrt_workload *w = c->workload;
    const gsrt_tensor *tensor = &w->tensors[o->op->tensor];
    const gsrt_value *out = &w->values[o->op->out];
    switch (o->op->kind) {
    case GSRT_OP_LINEAR:
    case GSRT_OP_LOGITS: return elements_held(c, view, at, o, out);
    case GSRT_OP_EMBED: return gsrt__check_dealt(tensor->row_count, view->shares, view->width, at).count;
    case GSRT_OP_LATENT_ATTENTION: return (uint64_t)tensor->row_count / w->head_count * view->seats[at].head_count;
    case GSRT_OP_EXPERT_LINEAR: {
        gsrt__check_units experts =
            gsrt__check_dealt(tensor->stack_count, view->expert_shares, view->it->expert_width, at / view->inner_width);
        return experts.count * elements_held(c, view, at, o, out);
    }
    case GSRT_OP_RMSNORM:
    case GSRT_OP_ROPE:
    case GSRT_OP_ATTENTION:
    case GSRT_OP_SWIGLU:
    case GSRT_OP_ADD:
    case GSRT_OP_LAYERNORM:
    case GSRT_OP_POSITION:
    case GSRT_OP_SCALE:
    case GSRT_OP_GELU:
    case GSRT_OP_GEGLU:
    case GSRT_OP_ROUTE:
    case GSRT_OP_COMBINE: break;
    }
    return (uint64_t)tensor->stack_count * tensor->row_count;
}

gsrt_dtype gsrt__check_dtype(const gsrt_workload *w, const gsrt_region_choice *choice, const gsrt_op *op)
{
    const gsrt_tensor *t = &w->tensors[op->tensor];
    bool is_matrix = op->kind == GSRT_OP_LINEAR || op->kind == GSRT_OP_LOGITS || op->kind == GSRT_OP_EMBED ||
                     op->kind == GSRT_OP_EXPERT_LINEAR || op->kind == GSRT_OP_LATENT_ATTENTION;
    bool is_wide = t->dtype == GSRT_DTYPE_F32 || t->dtype == GSRT_DTYPE_F16 || t->dtype == GSRT_DTYPE_BF16;
    if (choice->weights_are_as_given || !is_matrix || !is_wide || t->is_constant ||
        (uint64_t)t->stack_count * t->row_count <= 1 || t->column_count % gsrt_dtype_block(choice->weights) != 0)
        return t->dtype;
    return choice->weights;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The largest use counts. */
static void note_use(const gsrt_workload *w, uint32_t tensor, gsrt_dtype dtype, uint64_t rows, uint64_t *bytes)
{
    const gsrt_tensor *t = &w->tensors[tensor];
    if (t->is_constant || (t->is_view && w->tensors[t->base].is_constant))
        return;
    bytes[tensor] = larger(bytes[tensor], bytes_of(dtype, rows, t->column_count));
}

static void note_whole(const gsrt_workload *w, uint32_t tensor, uint64_t *bytes)
{
    if (tensor != GSRT_NO_INDEX)
        note_use(w, tensor, w->tensors[tensor].dtype,
                 (uint64_t)w->tensors[tensor].stack_count * w->tensors[tensor].row_count, bytes);
}

static void note_op(const gsrt__checking *c, const gsrt__stage_view *view, uint32_t at, const op_view *o,
                    uint64_t *bytes)
{
    const gsrt_workload *w = c->workload;
    const gsrt_region_choice *choice = &c->deployment->choices[o->op->region];
    note_whole(w, o->op->bias, bytes);
    if (o->op->rope != NULL)
        note_whole(w, o->op->rope->factors_tensor, bytes);
    if (o->op->routing != NULL)
        note_whole(w, o->op->routing->correction_tensor, bytes);
    if (o->op->tensor == GSRT_NO_INDEX)
        return;
    note_use(w, o->op->tensor, gsrt__check_dtype(w, choice, o->op), rows_held(c, view, at, o), bytes);
}

/* m2: positions of a layer's state that are kept of a sequence: all, or, where they are divided, room for each block
 * that the first of those who divide them has. */
static uint64_t positions_of(const gsrt__checking *c, const gsrt__stage_view *view, const gsrt_op *op)
{
    uint64_t window = c->workload->states[op->state].window, context = c->deployment->context_max, kept = 0;
    uint64_t positions = window > 0 && window < context ? window : context;
    for (uint64_t at = 0; at < positions; at += (uint64_t)view->it->context_width * GSRT_KV_BLOCK_POSITIONS)
        kept += GSRT_KV_BLOCK_POSITIONS;
    return view->it->context_width == 1 || positions < kept ? positions : kept;
}

/* Query heads of all who divide positions with seat `at`. */
static gsrt__check_units heads_together(const gsrt__stage_view *view, uint32_t at)
{
    const gsrt__seat *first = &view->seats[at - at % view->it->context_width];
    gsrt__check_units heads = {.first = first->head_first};
    for (uint32_t i = 0; i < view->it->context_width; i++)
        heads.count += first[i].head_count;
    return heads;
}

/* One position of them. */
static uint64_t position_bytes(const gsrt__checking *c, const gsrt__stage_view *view, uint32_t at, const gsrt_op *op)
{
    const gsrt_workload *w = c->workload;
    const gsrt_state *state = &w->states[op->state];
    const gsrt_region_choice *choice = &c->deployment->choices[op->region];
    gsrt_dtype dtype = choice->state_is_as_given ? state->dtype : choice->state;
    gsrt__check_units queries = heads_together(view, at);
    uint64_t heads = kv_heads_of(w, queries.first, queries.count);
    if (state->kind == GSRT_STATE_LATENT)
        return heads == 0 ? 0 : bytes_of(dtype, 1, state->key_width) + bytes_of(dtype, 1, state->value_width);
    return heads * (bytes_of(dtype, 1, state->key_width / w->kv_head_count) +
                    bytes_of(dtype, 1, state->value_width / w->kv_head_count));
}

/* m3: elements that one row of a value takes on seat `at`. */
static uint64_t row_elements(const gsrt__checking *c, const gsrt__stage_view *view, uint32_t at, const op_view *o,
                             uint32_t chosen)
{
    const gsrt_value *value = &c->workload->values[o->op->out];
    bool is_gathered = view->it->algorithm == GSRT_ALGORITHM_GATHER || view->it->algorithm == GSRT_ALGORITHM_SUBTREES;
    uint64_t width = is_gathered ? value->width : elements_held(c, view, at, o, value);
    return value->rows == GSRT_ROWS_CHOSEN ? width * chosen : width;
}

static uint64_t buffer_bytes(const gsrt__checking *c, const gsrt__stage_view *view, uint64_t widest)
{
    const gsrt_deployment_pool *pool = &c->deployment->pools[view->pool];
    uint64_t wanted = (uint64_t)pool->batch_max * (1 + (uint64_t)pool->draft_tokens);
    uint64_t rows = wanted > pool->prefill_tokens ? wanted : pool->prefill_tokens;
    uint64_t elements = rows * (4 * (uint64_t)c->workload->dim + 2 * widest);
    if (view->is_last)
        elements += wanted * c->workload->vocab_count;
    if (view->width > 1)
        elements += 2 * rows * c->workload->dim;
    if (pool->stage_count > 1)
        elements += 2 * rows * c->workload->dim;
    return 4 * elements;
}

/* What the seats of one entry hold: each as much of each thing as the one of them that has most of it. */
typedef struct load {
    uint64_t *tensors; /* [tensor_count] bytes */
    uint64_t *states;  /* [state_count] bytes, of one sequence */
    uint64_t *far;     /* likewise, in the second tier */
    uint64_t staged;   /* bytes, of one sequence: of what is read from there */
    uint64_t merged;   /* elements of a row whose attention is merged */
    uint64_t widest;   /* elements of a row */
} load;

/* m3: of one row, the queries of all heads of those who divide positions, and what comes out, sent and received, each
 * with a log-sum-exp. */
static uint64_t merged_elements(const gsrt__checking *c, const gsrt__stage_view *view, uint32_t at, const gsrt_op *op)
{
    const gsrt_workload *w = c->workload;
    const gsrt_state *state = &w->states[op->state];
    uint64_t query = w->values[op->in[0]].width / w->head_count, result = w->values[op->out].width / w->head_count;
    if (view->it->context_width == 1)
        return 0;
    if (state->kind == GSRT_STATE_LATENT) { /* a latent is what queries meet, and what comes out */
        query = (uint64_t)state->key_width + state->value_width;
        result = state->value_width;
    }
    return heads_together(view, at).count * (query + 2 * (result + 1));
}

/* m2, m5: what a layer keeps of a sequence here and there, the oldest positions there; and room for two blocks of those
 * that are read. */
static void weigh_state(const gsrt__checking *c, const gsrt__stage_view *view, uint32_t at, const gsrt_op *op, load *l)
{
    uint64_t positions = positions_of(c, view, op), each = position_bytes(c, view, at, op);
    uint64_t there = positions * c->deployment->pools[view->pool].kv_offload / GSRT_KV_OFFLOAD_PARTS;
    uint64_t block = there < GSRT_KV_BLOCK_POSITIONS ? there : GSRT_KV_BLOCK_POSITIONS;
    l->states[op->state] = larger(l->states[op->state], (positions - there) * each);
    l->far[op->state] = larger(l->far[op->state], there * each);
    l->staged = larger(l->staged, 2 * block * each);
    l->merged = larger(l->merged, merged_elements(c, view, at, op));
}

static void weigh_seat(const gsrt__checking *c, const gsrt__stage_view *view, uint32_t at, load *l)
{
    const gsrt_workload *w = c->workload;
    uint32_t chosen = 1;
    for (uint32_t r = 0; r < w->region_count; r++) {
        const gsrt_region *region = &w->regions[r];
        uint32_t end = attention_end(w, region), op_end = region->op_first + region->op_count;
        for (uint32_t i = region->op_first; gsrt__check_stage_has(c, view, r) && i < op_end; i++) {
            op_view o = {.op = &w->ops[i], .is_attention_part = i < end};
            note_op(c, view, at, &o, l->tensors);
            if (o.op->routing != NULL)
                chosen = o.op->routing->chosen_count;
            if (is_attention(o.op->kind))
                weigh_state(c, view, at, o.op, l);
            if (o.op->kind != GSRT_OP_LOGITS)
                l->widest = larger(l->widest, row_elements(c, view, at, &o, chosen));
        }
    }
}

static void weigh_entry(const gsrt__checking *c, const gsrt__stage_view *view, uint32_t entry, load *l)
{
    const gsrt_deployment_pool *pool = &c->deployment->pools[view->pool];
    gsrt__seat total = {0};
    memset(l->tensors, 0, c->workload->tensor_count * sizeof *l->tensors);
    memset(l->states, 0, c->workload->state_count * sizeof *l->states);
    memset(l->far, 0, c->workload->state_count * sizeof *l->far);
    l->widest = l->staged = l->merged = 0;
    for (uint32_t at = 0; at < view->width; at++) {
        if (view->seats[at].entry == entry)
            weigh_seat(c, view, at, l);
    }
    for (uint32_t t = 0; t < c->workload->tensor_count; t++)
        total.weights_bytes += l->tensors[t];
    /* as many steps are in flight as there are stages */
    uint64_t sequences = (pool->batch_max + (uint64_t)view->it->data_width - 1) / view->it->data_width;
    for (uint32_t i = 0; i < c->workload->state_count; i++) {
        total.state_bytes += l->states[i] * sequences * pool->stage_count;
        total.offloaded_bytes += l->far[i] * sequences * pool->stage_count;
    }
    total.buffer_bytes = buffer_bytes(c, view, l->widest) + l->staged * sequences +
                         4 * l->merged * sequences * (1 + (uint64_t)pool->draft_tokens);
    for (uint32_t at = 0; at < view->width; at++) {
        if (view->seats[at].entry != entry)
            continue;
        view->seats[at].weights_bytes = total.weights_bytes;
        view->seats[at].state_bytes = total.state_bytes;
        view->seats[at].buffer_bytes = total.buffer_bytes;
        view->seats[at].offloaded_bytes = total.offloaded_bytes;
    }
}

/* ---- m4: whose memory ---- */

static bool is_joined(const gsrt_fleet *fleet, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < fleet->link_count; i++) {
        if (fleet->links[i].kind == GSRT_LINK_MEMORY && fleet->links[i].from == from && fleet->links[i].to == to)
            return true;
    }
    return false;
}

static void find_memory(gsrt__checking *c, uint32_t part)
{
    const gsrt_fleet *fleet = c->fleet;
    double best = 0;
    for (uint32_t i = 0; i < fleet->link_count; i++) {
        const gsrt_link *link = &fleet->links[i];
        if (link->kind != GSRT_LINK_MEMORY || link->to != part || fleet->parts[link->from].kind != GSRT_PART_MEMORY ||
            !gsrt__check_is_usable(c, &link->bandwidth) || !is_joined(fleet, part, link->from))
            continue;
        bool is_better =
            link->bandwidth.value > best || (link->bandwidth.value == best && link->from < c->memory[part]);
        if (is_better) {
            best = link->bandwidth.value;
            c->memory[part] = link->from;
        }
    }
}

static uint32_t link_between(const gsrt_fleet *fleet, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < fleet->link_count; i++) {
        if (fleet->links[i].kind == GSRT_LINK_MEMORY && fleet->links[i].from == from && fleet->links[i].to == to)
            return i;
    }
    return GSRT_FLEET_NONE;
}

/* Those of a seat that lie in one of its memories, over the instances that it reaches by a link. */
static void fill(gsrt__checking *c, const gsrt__stage_view *view, const gsrt__seat *seat, uint32_t link, uint64_t bytes,
                 double **filled)
{
    uint32_t memory = c->fleet->links[link].to;
    double total = (double)bytes;
    if (filled[memory] == NULL)
        filled[memory] = gsrt__check_scratch(c, c->fleet->parts[memory].total, sizeof(double));
    uint64_t replicas = c->deployment->pools[view->pool].replica_count;
    for (uint64_t r = 0; r < replicas && c->status == GSRT_OK; r++) {
        uint64_t first;
        uint64_t count = gsrt_fleet_peers(c->fleet, link, gsrt__check_instance(view, seat, r), &first);
        for (uint64_t i = 0; i < count; i++)
            filled[memory][first + i] += total / (double)count;
    }
}

static void check_capacity(gsrt__checking *c, uint32_t memory, const double *filled)
{
    const gsrt_part *part = &c->fleet->parts[memory];
    double most = 0;
    for (uint64_t i = 0; i < part->total; i++)
        most = filled[i] > most ? filled[i] : most;
    gsrt_violation wrong = {.rule = "m4", .subject = GSRT_SUBJECT_CAPACITY, .index = memory};
    wrong.needed = gsrt_quantity_exact(most, GSRT__BYTES);
    if (!gsrt__check_is_usable(c, &part->capacity)) {
        wrong.reason = GSRT_REASON_UNKNOWN;
        gsrt__check_violate(c, &wrong, "capacity of '%s'", part->name);
    } else if (most > part->capacity.lo) {
        wrong.reason = GSRT_REASON_MEMORY;
        wrong.available = gsrt_quantity_exact(part->capacity.lo, GSRT__BYTES);
        gsrt__check_violate(c, &wrong, "memory of '%s'", part->name);
    }
}

static void find_memories(gsrt__checking *c)
{
    c->memory = gsrt__check_scratch(c, c->fleet->part_count, sizeof *c->memory);
    for (uint32_t p = 0; c->status == GSRT_OK && p < c->fleet->part_count; p++) {
        c->memory[p] = GSRT_FLEET_NONE;
        if (c->used[p] == NULL)
            continue;
        find_memory(c, p);
        if (c->memory[p] == GSRT_FLEET_NONE)
            gsrt__check_violate(c, &(gsrt_violation){.rule = "m4", .reason = GSRT_REASON_UNKNOWN},
                                "no memory of '%s' states its bandwidth", c->fleet->parts[p].name);
    }
}

static void fill_both(gsrt__checking *c, const gsrt__stage_view *view, const gsrt__seat *seat, double **filled)
{
    uint32_t memory = c->memory[seat->part];
    if (memory != GSRT_FLEET_NONE)
        fill(c, view, seat, link_between(c->fleet, seat->part, memory),
             seat->weights_bytes + seat->state_bytes + seat->buffer_bytes, filled);
    if (seat->offloaded_bytes > 0 && c->far[seat->part] != GSRT_FLEET_NONE)
        fill(c, view, seat, c->far_link[seat->part], seat->offloaded_bytes, filled);
}

/* ---- m5: the second tier ---- */

/* The fastest link of the kinds that join a second tier, which says what it does; GSRT_FLEET_NONE: there is none. */
static uint32_t tier_link(const gsrt__checking *c, uint32_t from, uint32_t to)
{
    uint32_t found = GSRT_FLEET_NONE;
    for (uint32_t i = c->fleet->link_count; i-- > 0;) {
        const gsrt_link *link = &c->fleet->links[i];
        if (link->from != from || link->to != to || !gsrt__check_is_usable(c, &link->bandwidth) ||
            !gsrt__check_is_usable(c, &link->latency))
            continue;
        if ((link->kind == GSRT_LINK_MEMORY || link->kind == GSRT_LINK_PCIE) &&
            (found == GSRT_FLEET_NONE || link->bandwidth.value >= c->fleet->links[found].bandwidth.value))
            found = i;
    }
    return found;
}

static void find_far(gsrt__checking *c, uint32_t part)
{
    double fastest = 0;
    for (uint32_t m = 0; m < c->fleet->part_count; m++) {
        if (c->fleet->parts[m].kind != GSRT_PART_MEMORY || m == c->memory[part])
            continue;
        uint32_t out = tier_link(c, part, m), back = tier_link(c, m, part);
        if (out == GSRT_FLEET_NONE || back == GSRT_FLEET_NONE || c->fleet->links[back].bandwidth.value <= fastest)
            continue;
        fastest = c->fleet->links[back].bandwidth.value;
        c->far[part] = m;
        c->far_link[part] = out;
    }
}

static void find_tiers(gsrt__checking *c)
{
    c->far = gsrt__check_scratch(c, c->fleet->part_count, sizeof *c->far);
    c->far_link = gsrt__check_scratch(c, c->fleet->part_count, sizeof *c->far_link);
    for (uint32_t p = 0; c->status == GSRT_OK && p < c->fleet->part_count; p++)
        c->far[p] = c->far_link[p] = GSRT_FLEET_NONE;
    for (uint32_t s = 0; c->status == GSRT_OK && s < c->stage_count; s++) {
        const gsrt__stage_view *view = &c->stages[s];
        for (uint32_t m = 0; m < view->it->member_count && c->deployment->pools[view->pool].kv_offload > 0; m++) {
            uint32_t part = view->it->members[m].part;
            find_far(c, part);
            if (c->far[part] == GSRT_FLEET_NONE)
                gsrt__check_violate(c, &(gsrt_violation){.rule = "m5", .reason = GSRT_REASON_UNREACHABLE},
                                    "pools[%u].stages[%u].members[%u]: no second memory tier of '%s'", view->pool,
                                    view->stage, m, c->fleet->parts[part].name);
        }
    }
}

void gsrt__check_memory(gsrt__checking *c)
{
    double **filled = gsrt__check_scratch(c, c->fleet->part_count, sizeof *filled);
    load l = {.tensors = gsrt__check_scratch(c, c->workload->tensor_count, sizeof *l.tensors),
              .states = gsrt__check_scratch(c, c->workload->state_count, sizeof *l.states),
              .far = gsrt__check_scratch(c, c->workload->state_count, sizeof *l.far)};
    find_memories(c);
    find_tiers(c);
    for (uint32_t s = 0; s < c->stage_count && c->status == GSRT_OK; s++) {
        const gsrt__stage_view *view = &c->stages[s];
        for (uint32_t m = 0; m < view->it->member_count; m++)
            weigh_entry(c, view, m, &l);
        for (uint32_t at = 0; at < view->width && c->status == GSRT_OK; at++)
            fill_both(c, view, &view->seats[at], filled);
    }
    for (uint32_t p = 0; p < c->fleet->part_count && c->status == GSRT_OK; p++) {
        if (filled[p] != NULL)
            check_capacity(c, p, filled[p]);
    }
}
