/* What a workload amounts to per layer, layers that are alike once, and what an engine reads from. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "placement/cost_impl.h"
#include "placement/workload_totals.h"

/* ---- layers ---- */

/* One region while it is read. */
typedef struct reading {
    const gsrt_workload *w;
    gsrt__layer_kind *kind;
    uint8_t *is_partial; /* [value_count] each member has only its part of the sum */
    uint8_t *is_gathered;
    uint32_t attention_last; /* op: the part for which data_width divides the batch ends here; GSRT_NO_INDEX: no such */
    uint32_t expert_count, chosen_count;
} reading;

static double row_width(const reading *r, uint32_t value)
{
    const gsrt_value *v = &r->w->values[value];
    return (double)v->width * (v->rows == GSRT_ROWS_CHOSEN ? r->chosen_count : 1);
}

static bool is_split(const reading *r, uint32_t value)
{
    return value != GSRT_NO_INDEX && r->w->values[value].split != GSRT_SPLIT_NONE;
}

static bool is_constant(const gsrt_workload *w, const gsrt_tensor *t)
{
    return t->is_constant || (t->is_view && w->tensors[t->base].is_constant);
}

static void add_whole(reading *r, uint32_t tensor)
{
    if (tensor != GSRT_NO_INDEX && !is_constant(r->w, &r->w->tensors[tensor]))
        r->kind->whole_bytes += (double)r->w->tensors[tensor].size_bytes;
}

static bool is_wide(gsrt_dtype dtype)
{
    return dtype == GSRT_DTYPE_F32 || dtype == GSRT_DTYPE_F16 || dtype == GSRT_DTYPE_BF16;
}

static gsrt__piece piece_of(const reading *r, uint32_t index, gsrt__work_class class)
{
    const gsrt_op *op = &r->w->ops[index];
    const gsrt_value *out = &r->w->values[op->out];
    const gsrt_tensor *t = &r->w->tensors[op->tensor];
    gsrt__piece piece;
    memset(&piece, 0, sizeof piece);
    piece.class = class;
    piece.split = class == GSRT__WORK_LOOKUP ? GSRT_SPLIT_VOCAB : out->split;
    piece.is_kv = out->is_kv;
    piece.rows = t->row_count;
    piece.columns = t->column_count;
    piece.unit = class == GSRT__WORK_LOOKUP ? 1 : piece.split == GSRT_SPLIT_NONE ? t->row_count : out->unit;
    if (class == GSRT__WORK_LATENT)
        piece.unit = t->row_count / (out->width / out->unit);
    piece.expert_count = class == GSRT__WORK_EXPERT ? r->expert_count : 1;
    piece.chosen_count = class == GSRT__WORK_EXPERT ? r->chosen_count : 1;
    piece.matrix_count = 1;
    piece.dtype = t->dtype;
    piece.is_attention = r->attention_last != GSRT_NO_INDEX && index <= r->attention_last;
    piece.can_narrow = op->kind != GSRT_OP_ROUTE && is_wide(t->dtype) && t->stack_count * (uint64_t)t->row_count > 1;
    piece.is_weightless = is_constant(r->w, t);
    return piece;
}

static void add_piece(reading *r, uint32_t index, gsrt__work_class class)
{
    gsrt__layer_kind *kind = r->kind;
    gsrt__piece piece = piece_of(r, index, class);
    for (uint32_t i = 0; i < kind->piece_count; i++) {
        gsrt__piece *other = &kind->pieces[i];
        uint32_t count = other->matrix_count;
        if (other->class == piece.class && other->split == piece.split && other->unit == piece.unit &&
            other->rows == piece.rows && other->columns == piece.columns && other->dtype == piece.dtype &&
            other->is_kv == piece.is_kv && other->is_attention == piece.is_attention &&
            other->can_narrow == piece.can_narrow && other->is_weightless == piece.is_weightless) {
            other->matrix_count = count + 1;
            return;
        }
    }
    if (kind->piece_count < GSRT__PIECE_COUNT_MAX)
        memcpy(&kind->pieces[kind->piece_count++], &piece, sizeof piece);
}

static void read_attention(reading *r, const gsrt_op *op)
{
    const gsrt_state *state = &r->w->states[op->state];
    gsrt__layer_kind *kind = r->kind;
    double heads = (double)(r->w->values[op->in[0]].width / op->head_dim);
    kind->state = op->state;
    kind->head_count = (uint32_t)heads;
    kind->score_elements_expanded = (double)r->w->values[op->in[0]].width + r->w->values[op->out].width;
    kind->score_elements = state->kind == GSRT_STATE_LATENT ? heads * (2.0 * state->value_width + state->key_width)
                                                            : kind->score_elements_expanded;
}

/* What is exchanged where inputs are gathered: each split value that someone needs whole, once. */
static void count_gathers(reading *r, const gsrt_op *op)
{
    bool needs_whole = op->kind == GSRT_OP_LINEAR || op->kind == GSRT_OP_LOGITS || op->kind == GSRT_OP_ROUTE ||
                       op->kind == GSRT_OP_EXPERT_LINEAR || !is_split(r, op->out);
    for (uint32_t i = 0; needs_whole && i < 3; i++) {
        if (!is_split(r, op->in[i]) || r->is_gathered[op->in[i]])
            continue;
        r->is_gathered[op->in[i]] = 1;
        r->kind->gather_elements += row_width(r, op->in[i]);
        r->kind->gather_count++;
    }
}

static void reduce(reading *r, uint32_t value)
{
    if (value == GSRT_NO_INDEX || !r->is_partial[value])
        return;
    r->is_partial[value] = 0;
    r->kind->reduce_elements += row_width(r, value);
    r->kind->reduce_count++;
}

/* What is exchanged where products are split over K: sums, as late as they can be put together. */
static void count_reductions(reading *r, const gsrt_op *op)
{
    bool both = op->in[0] != GSRT_NO_INDEX && r->is_partial[op->in[0]] &&
                (op->in[1] == GSRT_NO_INDEX || r->is_partial[op->in[1]]);
    bool passes = (op->kind == GSRT_OP_ADD && both) ||
                  ((op->kind == GSRT_OP_COMBINE || op->kind == GSRT_OP_SCALE) && r->is_partial[op->in[0]]);
    for (uint32_t i = 0; !passes && i < 3; i++)
        reduce(r, op->in[i]);
    bool begins = (op->kind == GSRT_OP_LINEAR || op->kind == GSRT_OP_EXPERT_LINEAR) && is_split(r, op->in[0]);
    r->is_partial[op->out] = passes || begins;
}

static void read_elementwise(reading *r, const gsrt_op *op)
{
    double elements = row_width(r, op->out);
    for (uint32_t i = 0; i < 3; i++)
        elements += op->in[i] == GSRT_NO_INDEX ? 0 : row_width(r, op->in[i]);
    if (is_split(r, op->out))
        r->kind->elementwise_split += elements;
    else
        r->kind->elementwise_whole += elements;
}

static void read_op(reading *r, uint32_t index)
{
    const gsrt_op *op = &r->w->ops[index];
    switch (op->kind) {
    case GSRT_OP_EMBED: add_piece(r, index, GSRT__WORK_LOOKUP); break;
    case GSRT_OP_LOGITS: add_piece(r, index, GSRT__WORK_LOGITS); break;
    case GSRT_OP_EXPERT_LINEAR:
        r->kind->dispatch_elements =
            r->kind->dispatch_elements > 0 ? r->kind->dispatch_elements : r->w->values[op->in[0]].width;
        add_piece(r, index, GSRT__WORK_EXPERT);
        break;
    case GSRT_OP_ROUTE:
        r->expert_count = op->routing->expert_count;
        r->chosen_count = op->routing->chosen_count;
        add_whole(r, op->routing->correction_tensor);
        add_piece(r, index, GSRT__WORK_MATRIX);
        break;
    case GSRT_OP_LINEAR: add_piece(r, index, GSRT__WORK_MATRIX); break;
    case GSRT_OP_LATENT_ATTENTION:
        read_attention(r, op);
        add_piece(r, index, GSRT__WORK_LATENT);
        break;
    case GSRT_OP_ATTENTION:
        read_attention(r, op);
        add_whole(r, op->tensor);
        break;
    case GSRT_OP_POSITION:
    case GSRT_OP_RMSNORM:
    case GSRT_OP_ROPE:
    case GSRT_OP_SWIGLU:
    case GSRT_OP_ADD:
    case GSRT_OP_LAYERNORM:
    case GSRT_OP_SCALE:
    case GSRT_OP_GELU:
    case GSRT_OP_GEGLU:
    case GSRT_OP_COMBINE:
        add_whole(r, op->tensor);
        if (op->rope != NULL)
            add_whole(r, op->rope->factors_tensor);
        read_elementwise(r, op);
        break;
    }
    add_whole(r, op->bias);
    count_gathers(r, op);
    count_reductions(r, op);
    if (gsrt_op_class_of(op->kind) == GSRT_OP_CLASS_ATTENTION)
        r->kind->attention_count++;
    else
        r->kind->op_count++;
    if (!is_split(r, op->out) && row_width(r, op->out) > r->kind->widest_whole)
        r->kind->widest_whole = row_width(r, op->out);
}

/* The last op of the part that data_width divides: the first LINEAR after the last attention. */
static uint32_t attention_end(const gsrt_workload *w, const gsrt_region *region)
{
    uint32_t end = GSRT_NO_INDEX;
    bool is_after = false;
    for (uint32_t i = region->op_first; i < region->op_first + region->op_count; i++) {
        if (gsrt_op_class_of(w->ops[i].kind) == GSRT_OP_CLASS_ATTENTION) {
            is_after = true;
            end = i;
        } else if (is_after && w->ops[i].kind == GSRT_OP_LINEAR) {
            is_after = false;
            end = i;
        }
    }
    return end;
}

/* Are they alike but for which state they write? */
static bool is_alike(const gsrt_workload *w, const gsrt__layer_kind *a, const gsrt__layer_kind *b)
{
    gsrt__layer_kind x, y;
    if ((a->state == GSRT_NO_INDEX) != (b->state == GSRT_NO_INDEX))
        return false;
    if (a->state != GSRT_NO_INDEX) {
        const gsrt_state *s = &w->states[a->state], *t = &w->states[b->state];
        if (s->kind != t->kind || s->dtype != t->dtype || s->key_width != t->key_width ||
            s->value_width != t->value_width || s->window != t->window)
            return false;
    }
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    x.state = y.state = 0;
    return memcmp(&x, &y, sizeof x) == 0;
}

static void read_region(gsrt_cost_profile *p, uint32_t index, uint8_t *marks)
{
    const gsrt_workload *w = p->workload;
    const gsrt_region *region = &w->regions[index];
    gsrt__layer_kind *kind = &p->kinds[p->kind_count];
    memset(kind, 0, sizeof *kind);
    memset(marks, 0, 2 * (size_t)w->value_count);
    kind->state = GSRT_NO_INDEX;
    reading r = {.w = w,
                 .kind = kind,
                 .is_partial = marks,
                 .is_gathered = marks + w->value_count,
                 .attention_last = attention_end(w, region),
                 .expert_count = 1,
                 .chosen_count = 1};
    for (uint32_t i = 0; i < region->op_count; i++)
        read_op(&r, region->op_first + i);
    reduce(&r, region->out);
    uint32_t like = 0;
    while (like < p->kind_count && !is_alike(w, &p->kinds[like], kind))
        like++;
    p->kind_of_region[index] = like;
    p->kind_count += like == p->kind_count ? 1 : 0;
    if (region->layer != GSRT_NO_INDEX)
        p->region_of_layer[region->layer] = index;
    else if (w->ops[region->op_first].kind == GSRT_OP_EMBED)
        p->region_embed = index;
    else
        p->region_output = index;
}

static uint32_t table_of(const gsrt_workload *w, gsrt_op_kind kind)
{
    for (uint32_t i = 0; i < w->op_count; i++) {
        if (w->ops[i].kind == kind)
            return w->ops[i].tensor;
    }
    return GSRT_NO_INDEX;
}

/* ---- engines ---- */

/* Of the memory that the engine reads: the fastest link, the lower index of equals. */
static bool is_written_too(const gsrt_fleet *f, uint32_t part, uint32_t memory)
{
    for (uint32_t i = 0; i < f->link_count; i++) {
        if (f->links[i].kind == GSRT_LINK_MEMORY && f->links[i].from == part && f->links[i].to == memory)
            return true;
    }
    return false;
}

static uint32_t memory_link_of(const gsrt_fleet *f, uint32_t part)
{
    uint32_t found = GSRT_FLEET_NONE;
    double best = 0;
    for (uint32_t i = 0; i < f->link_count; i++) {
        const gsrt_link *link = &f->links[i];
        if (link->kind != GSRT_LINK_MEMORY || link->to != part || f->parts[link->from].kind != GSRT_PART_MEMORY ||
            !is_written_too(f, part, link->from))
            continue;
        double bandwidth = link->bandwidth.is_known ? link->bandwidth.value : 0;
        bool is_better =
            found == GSRT_FLEET_NONE || bandwidth > best || (bandwidth == best && link->from < f->links[found].from);
        best = is_better ? bandwidth : best;
        found = is_better ? i : found;
    }
    return found;
}

uint32_t gsrt_cost_second_tier(const gsrt_fleet *fleet, uint32_t part)
{
    uint32_t link = memory_link_of(fleet, part);
    return gsrt__far_of(fleet, part, link == GSRT_FLEET_NONE ? link : fleet->links[link].from).memory;
}

static void read_engine(gsrt_cost_profile *p, uint32_t part)
{
    const gsrt_fleet *f = p->fleet;
    gsrt__engine *engine = &p->engines[part];
    *engine = (gsrt__engine){.memory = GSRT_FLEET_NONE, .link = memory_link_of(f, part)};
    if (engine->link != GSRT_FLEET_NONE)
        engine->memory = f->links[engine->link].from;
    engine->far = gsrt__far_of(f, part, engine->memory);
    if (engine->link == GSRT_FLEET_NONE)
        return;
    const gsrt_link *link = &f->links[engine->link];
    const gsrt_part *memory = &f->parts[engine->memory];
    uint32_t place = gsrt_fleet_common_place(f, part, engine->memory);
    uint64_t engines = gsrt_fleet_count_in(f, part, place), memories = gsrt_fleet_count_in(f, engine->memory, place);
    engine->memory_instances = link->is_to_all ? memories : memories > engines ? memories / engines : 1;
    engine->sharers = link->is_to_all ? engines : engines > memories ? engines / memories : 1;
    double own = (double)engine->memory_instances, shared = own / (double)engine->sharers;
    engine->bandwidth = link->bandwidth;
    double factor = own;
    if (memory->bandwidth.is_known &&
        (!link->bandwidth.is_known || memory->bandwidth.value * shared <= link->bandwidth.value * own)) {
        engine->bandwidth = memory->bandwidth;
        factor = shared;
    } else if (!memory->bandwidth.is_known && link->contention == engine->memory && engine->sharers > 1) {
        engine->bandwidth = (gsrt_quantity){0};
    }
    engine->bandwidth.value *= factor;
    engine->bandwidth.lo *= factor;
    engine->bandwidth.hi *= factor;
}

static void order_links(gsrt_cost_profile *p)
{
    const gsrt_fleet *f = p->fleet;
    uint32_t used = 0;
    for (uint32_t part = 0; part < f->part_count; part++) {
        p->link_first[part + 1] = 0;
    }
    for (uint32_t i = 0; i < f->link_count; i++)
        p->link_first[f->links[i].from + 1]++;
    for (uint32_t part = 0; part < f->part_count; part++)
        p->link_first[part + 1] += p->link_first[part];
    for (uint32_t i = f->link_count; i-- > 0;) {
        uint32_t *end = &p->link_first[f->links[i].from + 1];
        p->link_order[--*end] = i;
        used++;
    }
    /* each end went down to its begin: shift them back */
    for (uint32_t part = 0; part < f->part_count; part++)
        p->link_first[part] = p->link_first[part + 1];
    p->link_first[f->part_count] = used;
}

gsrt_cost_profile *gsrt_cost_profile_free(gsrt_cost_profile *profile)
{
    if (profile != NULL)
        gsrt_arena_fini(&profile->arena);
    free(profile);
    return NULL;
}

gsrt_cost_profile *gsrt_cost_profile_create(const gsrt_workload *workload, const gsrt_fleet *fleet)
{
    gsrt_cost_profile *p = calloc(1, sizeof *p);
    uint8_t *marks = calloc(2 * (size_t)workload->value_count + 1, 1);
    if (p == NULL || marks == NULL) {
        free(marks);
        free(p);
        return NULL;
    }
    gsrt_arena_init(&p->arena, GSRT_COST_BYTES_MAX);
    p->workload = workload;
    p->fleet = fleet;
    p->region_embed = p->region_output = GSRT_NO_INDEX;
    p->kinds = gsrt_arena_take(&p->arena, (size_t)workload->region_count + 1, sizeof *p->kinds);
    p->kind_of_region = gsrt_arena_take(&p->arena, workload->region_count, sizeof *p->kind_of_region);
    p->region_of_layer = gsrt_arena_take(&p->arena, workload->layer_count, sizeof *p->region_of_layer);
    p->engines = gsrt_arena_take(&p->arena, fleet->part_count, sizeof *p->engines);
    p->link_order = gsrt_arena_take(&p->arena, fleet->link_count, sizeof *p->link_order);
    p->link_first = gsrt_arena_take(&p->arena, (size_t)fleet->part_count + 1, sizeof *p->link_first);
    bool has_room = p->kinds != NULL && p->kind_of_region != NULL && p->region_of_layer != NULL && p->engines != NULL &&
                    p->link_order != NULL && p->link_first != NULL;
    for (uint32_t i = 0; has_room && i < workload->region_count; i++)
        read_region(p, i, marks);
    for (uint32_t i = 0; has_room && i < fleet->part_count; i++) {
        if (fleet->parts[i].kind == GSRT_PART_ENGINE)
            read_engine(p, i);
    }
    free(marks);
    if (!has_room)
        return gsrt_cost_profile_free(p);
    order_links(p);
    uint32_t table = table_of(workload, GSRT_OP_EMBED);
    p->output_is_tied = table != GSRT_NO_INDEX && table == table_of(workload, GSRT_OP_LOGITS);
    return p;
}
