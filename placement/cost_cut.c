/* How much of a stage one engine has: units, rows, bytes; and what it keeps in memory. */
#include <math.h>

#include "base/limits.h"
#include "placement/cost_impl.h"
#include "placement/plan.h"

enum { WIDTH_EXACT_MAX = 1024 }; /* wider uneven groups: the share, rounded up */

gsrt__cut gsrt__cut_of(const gsrt_deployment_stage *stage, uint32_t member)
{
    gsrt__cut cut = {.stage = stage, .width = gsrt_deployment_stage_width(stage), .member = member, .is_even = true};
    for (uint32_t i = 0; i < member; i++)
        cut.first += stage->members[i].instance_count;
    for (uint32_t i = 1; i < stage->member_count; i++)
        cut.is_even = cut.is_even && stage->members[i].share == stage->members[0].share;
    cut.tensor_width = cut.width / (stage->data_width > 0 ? stage->data_width : 1);
    return cut;
}

static uint32_t groups_touched(uint32_t first, uint32_t end, uint32_t unit_count, uint32_t grouped)
{
    if (end <= first || grouped == 0)
        return end <= first ? 0 : end - first;
    uint32_t each = unit_count / grouped;
    return (end - 1) / each - first / each + 1;
}

/* Shares of the instances [first, first + count) of the stage. */
static void expand_shares(const gsrt__cut *cut, uint32_t first, uint32_t count, uint32_t *out)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < cut->stage->member_count; i++) {
        const gsrt_deployment_members *m = &cut->stage->members[i];
        for (uint32_t k = 0; k < m->instance_count; k++, at++) {
            if (at >= first && at < first + count)
                out[at - first] = m->share;
        }
    }
}

/* The most of the entry's instances in the group that begins at `group`. */
static uint32_t most_of_group(const gsrt__cut *cut, uint32_t unit_count, uint32_t group, uint32_t width,
                              uint32_t grouped, uint32_t together)
{
    uint32_t shares[WIDTH_EXACT_MAX], first[WIDTH_EXACT_MAX + 1], most = 0;
    uint32_t begin = cut->first > group ? cut->first - group : 0;
    uint32_t end = cut->first + cut->stage->members[cut->member].instance_count - group;
    uint64_t total = 0;
    expand_shares(cut, group, width, shares);
    for (uint32_t i = 0; i < width; i++)
        total += shares[i];
    if (total == 0)
        return 0;
    gsrt_apportion(unit_count, shares, width, first);
    for (uint32_t i = begin; i < (end < width ? end : width); i++) {
        uint32_t from = i / together * together;
        uint32_t units = groups_touched(first[from], first[from + together], unit_count, grouped);
        most = units > most ? units : most;
    }
    return most;
}

/* The first unit of a member, of those that are alike. */
static uint32_t even_first(uint32_t unit_count, uint32_t width, uint32_t member)
{
    uint32_t rest = unit_count % width;
    return member * (unit_count / width) + (member < rest ? member : rest);
}

static uint32_t even_most(const gsrt__cut *cut, uint32_t unit_count, uint32_t width, uint32_t grouped,
                          uint32_t together)
{
    uint32_t count = cut->stage->members[cut->member].instance_count;
    uint32_t most = 0;
    uint32_t begin = count >= width || cut->first % width + count > width ? 0 : cut->first % width;
    uint32_t end = begin + (count < width ? count : width);
    if (grouped == 0 && together == 1)
        return unit_count / width + (begin < unit_count % width ? 1 : 0);
    for (uint32_t i = begin; i < (end < width ? end : width); i++) {
        uint32_t from = i / together * together;
        uint32_t units = groups_touched(even_first(unit_count, width, from),
                                        even_first(unit_count, width, from + together), unit_count, grouped);
        most = units > most ? units : most;
    }
    return most;
}

uint32_t gsrt__units_of(const gsrt__cut *cut, uint32_t unit_count, uint32_t group_width, uint32_t grouped,
                        uint32_t together)
{
    const gsrt_deployment_members *m = &cut->stage->members[cut->member];
    if (group_width <= 1)
        return grouped == 0 ? unit_count : grouped;
    if (cut->is_even)
        return even_most(cut, unit_count, group_width, grouped, together);
    if (group_width > WIDTH_EXACT_MAX) {
        uint64_t total = 0;
        for (uint32_t i = 0; i < cut->stage->member_count; i++)
            total += (uint64_t)cut->stage->members[i].share * cut->stage->members[i].instance_count;
        uint64_t parts = (uint64_t)(cut->width / group_width) * together;
        uint64_t units = total == 0 ? 0 : (parts * unit_count * m->share + total - 1) / total;
        return units < unit_count ? (uint32_t)units : unit_count;
    }
    uint32_t most = 0;
    for (uint32_t group = cut->first / group_width * group_width; group < cut->first + m->instance_count;
         group += group_width) {
        uint32_t units = most_of_group(cut, unit_count, group, group_width, grouped, together);
        most = units > most ? units : most;
    }
    return most;
}

double gsrt__rows_of(const gsrt_workload *workload, const gsrt__cut *cut, const gsrt__piece *piece)
{
    const gsrt_workload *w = workload;
    uint32_t expert_width = cut->stage->expert_width > 0 ? cut->stage->expert_width : 1;
    uint32_t width = piece->class == GSRT__WORK_EXPERT ? cut->width / expert_width
                     : piece->is_attention             ? cut->tensor_width
                                                       : cut->width;
    if (piece->split == GSRT_SPLIT_NONE || width <= 1)
        return piece->rows;
    uint32_t units = piece->is_kv ? gsrt__units_of(cut, w->head_count, width, w->kv_head_count, 1)
                                  : gsrt__units_of(cut, (piece->rows + piece->unit - 1) / piece->unit, width, 0, 1);
    double rows = (double)units * piece->unit;
    return rows < piece->rows ? rows : piece->rows;
}

/* Experts are apportioned over the groups' summed shares: uneven groups only where shares are. */
double gsrt__experts_of(const gsrt__cut *cut, const gsrt__piece *piece)
{
    uint32_t groups = cut->stage->expert_width, each = groups > 0 ? cut->width / groups : cut->width;
    if (piece->class != GSRT__WORK_EXPERT || groups <= 1)
        return piece->expert_count;
    if (groups > WIDTH_EXACT_MAX || cut->is_even)
        return piece->expert_count / groups + (cut->first / each < piece->expert_count % groups ? 1 : 0);
    uint32_t shares[WIDTH_EXACT_MAX], first[WIDTH_EXACT_MAX + 1], sums[WIDTH_EXACT_MAX] = {0};
    uint32_t most = 0, begin = cut->first / each;
    uint32_t end = (cut->first + cut->stage->members[cut->member].instance_count - 1) / each;
    uint64_t total = 0;
    for (uint32_t g = 0; g < groups && each <= WIDTH_EXACT_MAX; g++) {
        expand_shares(cut, g * each, each, shares);
        for (uint32_t i = 0; i < each; i++)
            sums[g] += shares[i];
        total += sums[g];
    }
    if (total == 0)
        return 0;
    gsrt_apportion(piece->expert_count, sums, groups, first);
    for (uint32_t g = begin; g <= end; g++)
        most = first[g + 1] - first[g] > most ? first[g + 1] - first[g] : most;
    return most;
}

static double packed_bytes(uint32_t columns, gsrt_dtype dtype)
{
    size_t block = gsrt_dtype_block(dtype);
    return (double)((columns + block - 1) / block * gsrt_dtype_block_bytes(dtype));
}

double gsrt__row_bytes(const gsrt__piece *piece, const gsrt_region_choice *choice)
{
    bool is_narrowed =
        piece->can_narrow && !choice->weights_are_as_given && piece->columns % gsrt_dtype_block(choice->weights) == 0;
    return piece->is_weightless ? 0 : packed_bytes(piece->columns, is_narrowed ? choice->weights : piece->dtype);
}

double gsrt__position_bytes(const gsrt_workload *workload, const gsrt__cut *cut, const gsrt__layer_kind *kind,
                            const gsrt_region_choice *choice, uint32_t together)
{
    const gsrt_workload *w = workload;
    if (kind->state == GSRT_NO_INDEX)
        return 0;
    const gsrt_state *state = &w->states[kind->state];
    gsrt_dtype dtype = choice->state_is_as_given ? state->dtype : choice->state;
    if (state->kind == GSRT_STATE_LATENT)
        return gsrt__units_of(cut, kind->head_count, cut->tensor_width, 0, together) == 0
                   ? 0
                   : packed_bytes(state->key_width, dtype) + packed_bytes(state->value_width, dtype);
    uint32_t heads = gsrt__units_of(cut, w->head_count, cut->tensor_width, w->kv_head_count, together);
    return heads * (packed_bytes(state->key_width / w->kv_head_count, dtype) +
                    packed_bytes(state->value_width / w->kv_head_count, dtype));
}

/* ---- the layers of a stage ---- */

static bool is_same_choice(const gsrt_region_choice *a, const gsrt_region_choice *b)
{
    return a->weights_are_as_given == b->weights_are_as_given && a->state_is_as_given == b->state_is_as_given &&
           a->compute == b->compute && a->arithmetic == b->arithmetic &&
           (a->weights_are_as_given || a->weights == b->weights) && (a->state_is_as_given || a->state == b->state);
}

static bool is_same_region(const gsrt__walk *walk, uint32_t a, uint32_t b)
{
    return walk->profile->kind_of_region[a] == walk->profile->kind_of_region[b] &&
           is_same_choice(&walk->deployment->choices[a], &walk->deployment->choices[b]);
}

/* Cursor 0: embed; 1 + layer: that layer; past all of them: output. */
bool gsrt__next_region(const gsrt__walk *walk, uint32_t pool, uint32_t stage, uint32_t *cursor, uint32_t *region,
                       uint32_t *count)
{
    const gsrt_cost_profile *p = walk->profile;
    const gsrt_deployment_pool *in = &walk->deployment->pools[pool];
    const gsrt_deployment_stage *s = &in->stages[stage];
    *count = 1;
    if (*cursor == 0) {
        *cursor = 1 + s->layer_first;
        *region = p->region_embed;
        if (stage == 0 && *region != GSRT_NO_INDEX)
            return true;
    }
    for (; *cursor <= 1 + s->layer_last; (*cursor)++) {
        uint32_t layer = *cursor - 1, earlier = s->layer_first;
        *region = p->region_of_layer[layer];
        while (earlier < layer && !is_same_region(walk, p->region_of_layer[earlier], *region))
            earlier++;
        if (earlier < layer)
            continue;
        for (uint32_t later = layer + 1; later <= s->layer_last; later++)
            *count += is_same_region(walk, p->region_of_layer[later], *region) ? 1 : 0;
        (*cursor)++;
        return true;
    }
    *region = p->region_output;
    return (*cursor)++ == 2 + s->layer_last && stage + 1 == in->stage_count && *region != GSRT_NO_INDEX;
}

/* ---- memory ---- */

typedef struct kept {
    double weights, state, offloaded, widest;
    double staged; /* of one sequence: two blocks of what comes from the second tier, of the layer with most */
    double row;    /* elements, of a row that attends in parts: of the layer with most */
    double tied;   /* of the tensor that both embeds and computes the logits: its largest use */
} kept;

uint64_t gsrt__far_positions(const gsrt_deployment_pool *pool, uint64_t positions)
{
    return positions * pool->kv_offload / GSRT_KV_OFFLOAD_PARTS;
}

static void keep_state(const gsrt__walk *walk, const gsrt__cut *cut, const gsrt_deployment_pool *pool, uint32_t region,
                       uint32_t count, kept *sum)
{
    const gsrt__layer_kind *kind = &walk->profile->kinds[walk->profile->kind_of_region[region]];
    uint32_t window = walk->workload->states[kind->state].window, context = walk->deployment->context_max;
    uint64_t positions = gsrt__context_part(cut->stage, window > 0 && window < context ? window : context);
    double each = gsrt__position_bytes(walk->workload, cut, kind, &walk->deployment->choices[region],
                                       gsrt__context_width(cut->stage));
    double far = (double)gsrt__far_positions(pool, positions);
    double staged = 2 * (far < GSRT_KV_BLOCK_POSITIONS ? far : GSRT_KV_BLOCK_POSITIONS) * each;
    if (gsrt__context_width(cut->stage) > 1) {
        gsrt__context_row row = gsrt__context_row_of(walk->workload, cut, kind);
        sum->row = fmax(sum->row, row.queries + 2 * row.results);
    }
    sum->state += each * ((double)positions - far) * count;
    sum->offloaded += each * far * count;
    sum->staged = staged > sum->staged ? staged : sum->staged;
}

static void keep_region(const gsrt__walk *walk, const gsrt__cut *cut, const gsrt_deployment_pool *pool, uint32_t region,
                        uint32_t count, kept *sum)
{
    const gsrt__layer_kind *kind = &walk->profile->kinds[walk->profile->kind_of_region[region]];
    const gsrt_region_choice *choice = &walk->deployment->choices[region];
    bool is_whole = cut->stage->algorithm == GSRT_ALGORITHM_GATHER || cut->stage->algorithm == GSRT_ALGORITHM_SUBTREES;
    double weights = kind->whole_bytes;
    for (uint32_t i = 0; i < kind->piece_count; i++) {
        const gsrt__piece *piece = &kind->pieces[i];
        double rows = gsrt__rows_of(walk->workload, cut, piece);
        double bytes = rows * gsrt__row_bytes(piece, choice) * gsrt__experts_of(cut, piece) * piece->matrix_count;
        bool is_tied =
            walk->profile->output_is_tied && (piece->class == GSRT__WORK_LOGITS || piece->class == GSRT__WORK_LOOKUP);
        if (is_tied)
            sum->tied = bytes > sum->tied ? bytes : sum->tied;
        else
            weights += bytes;
        double width = (is_whole ? piece->rows : rows) * piece->chosen_count;
        if (piece->class != GSRT__WORK_LOGITS && piece->class != GSRT__WORK_LOOKUP &&
            piece->class != GSRT__WORK_LATENT && width > sum->widest)
            sum->widest = width;
    }
    if (kind->widest_whole > sum->widest)
        sum->widest = kind->widest_whole;
    sum->weights += weights * count;
    if (kind->state != GSRT_NO_INDEX)
        keep_state(walk, cut, pool, region, count, sum);
}

/* Of all instances of a memory that an engine reaches. */
static gsrt_quantity capacity_of(const gsrt__walk *walk, uint32_t memory, uint64_t instances)
{
    gsrt_quantity q = memory == GSRT_FLEET_NONE ? (gsrt_quantity){0} : walk->fleet->parts[memory].capacity;
    if (walk->question->today != 0 && !gsrt_quantity_is_valid_on(&q, walk->question->today))
        q = (gsrt_quantity){0};
    q.value *= (double)instances;
    q.lo *= (double)instances;
    q.hi *= (double)instances;
    return q;
}

void gsrt__stage_memory(gsrt__walk *walk, uint32_t pool, uint32_t stage, uint32_t member, gsrt_cost_memory *out)
{
    const gsrt_deployment_pool *in = &walk->deployment->pools[pool];
    const gsrt_deployment_stage *s = &in->stages[stage];
    const gsrt__engine *engine = &walk->profile->engines[s->members[member].part];
    gsrt__cut cut = gsrt__cut_of(s, member);
    kept sum = {0};
    uint32_t cursor = 0, region, count;
    while (gsrt__next_region(walk, pool, stage, &cursor, &region, &count))
        keep_region(walk, &cut, in, region, count, &sum);
    uint32_t data = s->data_width > 0 ? s->data_width : 1, dim = walk->workload->dim;
    double wanted = (double)in->batch_max * (1 + in->draft_tokens);
    double rows = in->prefill_tokens > wanted ? in->prefill_tokens : wanted;
    double of_step = (double)((in->batch_max + data - 1) / data), sequences = of_step * in->stage_count;
    double elements = rows * (4.0 * dim + 2 * sum.widest) + (cut.width > 1 ? 2 * rows * dim : 0) +
                      (in->stage_count > 1 ? 2 * rows * dim : 0) +
                      (stage + 1 == in->stage_count ? wanted * walk->workload->vocab_count : 0) +
                      of_step * (1 + in->draft_tokens) * sum.row;
    *out = (gsrt_cost_memory){.pool = pool, .stage = stage, .member = member, .far = GSRT_FLEET_NONE};
    out->weights = gsrt_quantity_exact(sum.weights + sum.tied, GSRT__BYTE);
    out->state = gsrt_quantity_exact(sum.state * sequences, GSRT__BYTE);
    out->buffers = gsrt_quantity_exact(4 * elements + sum.staged * of_step, GSRT__BYTE);
    out->capacity = capacity_of(walk, engine->memory, engine->memory_instances);
    out->offloaded = gsrt_quantity_exact(sum.offloaded * sequences, GSRT__BYTE);
    if (in->kv_offload > 0)
        out->far = engine->far.memory;
    out->far_capacity = capacity_of(walk, out->far, engine->far.instances);
}
