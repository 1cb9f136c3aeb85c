/* KV in a second memory tier: which one it is, and what moving it costs. Each position that lies there is written to it
 * once, and read in every step whose attention looks at it; it comes by way of the engine's own memory, so attention
 * itself takes as long as without. It is moved like what is exchanged: hidden as far as exchanges are.
 *
 * All that offload at once share what they share: by counts, an instance of a memory or of a contended part serves as
 * many engines as reach it, but no more than the deployment has.
 */
#include <math.h>
#include <string.h>

#include "placement/cost_impl.h"

/* ---- which memory ---- */

static bool is_of_tier(const gsrt_link *link)
{
    return (link->kind == GSRT_LINK_MEMORY || link->kind == GSRT_LINK_PCIE) && link->bandwidth.is_known &&
           link->latency.is_known;
}

/* The fastest that joins them; the first of equals. */
static uint32_t link_joining(const gsrt_fleet *f, uint32_t from, uint32_t to)
{
    uint32_t best = GSRT_FLEET_NONE;
    for (uint32_t i = 0; i < f->link_count; i++) {
        const gsrt_link *l = &f->links[i];
        if (l->from == from && l->to == to && is_of_tier(l) &&
            (best == GSRT_FLEET_NONE || l->bandwidth.value > f->links[best].bandwidth.value))
            best = i;
    }
    return best;
}

gsrt__far gsrt__far_of(const gsrt_fleet *fleet, uint32_t engine, uint32_t own)
{
    gsrt__far far = {GSRT_FLEET_NONE, GSRT_FLEET_NONE, GSRT_FLEET_NONE, 1};
    double best = 0;
    for (uint32_t memory = 0; memory < fleet->part_count; memory++) {
        if (fleet->parts[memory].kind != GSRT_PART_MEMORY || memory == own)
            continue;
        uint32_t read = link_joining(fleet, memory, engine), write = link_joining(fleet, engine, memory);
        if (read == GSRT_FLEET_NONE || write == GSRT_FLEET_NONE || fleet->links[read].bandwidth.value <= best)
            continue;
        uint64_t first;
        best = fleet->links[read].bandwidth.value;
        far = (gsrt__far){memory, read, write, gsrt_fleet_peers(fleet, write, 0, &first)};
    }
    return far;
}

/* ---- who shares it ---- */

/* Engines of a part whose way leads to one instance of `shared`. */
static double engines_each(const gsrt_fleet *f, uint32_t engine, uint32_t shared, bool is_to_all)
{
    uint32_t place = gsrt_fleet_common_place(f, engine, shared);
    uint64_t here = gsrt_fleet_count_in(f, engine, place), parts = gsrt_fleet_count_in(f, shared, place);
    return is_to_all ? (double)here : (double)((here + parts - 1) / parts);
}

static bool uses_own(const gsrt__walk *walk, uint32_t part, uint32_t memory)
{
    return walk->profile->engines[part].memory == memory;
}

/* Engines of a part that the deployment has, which reach `shared` for offloaded KV, or have it for their memory. */
static double engines_used(const gsrt__walk *walk, uint32_t part, uint32_t shared)
{
    const gsrt_deployment *d = walk->deployment;
    const gsrt__far *far = &walk->profile->engines[part].far;
    bool is_passed = far->memory != GSRT_FLEET_NONE &&
                     (far->memory == shared || walk->fleet->links[far->read].contention == shared ||
                      walk->fleet->links[far->write].contention == shared);
    double count = 0;
    for (uint32_t p = 0; p < d->pool_count; p++) {
        bool is_moved = is_passed && d->pools[p].kv_offload > 0;
        for (uint32_t s = 0; s < d->pools[p].stage_count && (is_moved || uses_own(walk, part, shared)); s++) {
            const gsrt_deployment_stage *stage = &d->pools[p].stages[s];
            for (uint32_t m = 0; m < stage->member_count; m++)
                if (stage->members[m].part == part)
                    count += (double)d->pools[p].replica_count * stage->members[m].instance_count;
        }
    }
    return count;
}

/* Of one instance of `shared`: so many at most are at it at once. */
static double sharers_of(const gsrt__walk *walk, uint32_t shared)
{
    const gsrt_fleet *f = walk->fleet;
    double count = 0;
    for (uint32_t part = 0; part < f->part_count; part++) {
        const gsrt__engine *engine = &walk->profile->engines[part];
        if (f->parts[part].kind != GSRT_PART_ENGINE)
            continue;
        uint32_t link = uses_own(walk, part, shared) ? engine->link : engine->far.write;
        bool is_to_all =
            link != GSRT_FLEET_NONE && f->parts[shared].kind == GSRT_PART_MEMORY && f->links[link].is_to_all;
        double used = engines_used(walk, part, shared);
        count += used > 0 ? fmin(used, engines_each(f, part, shared, is_to_all)) : 0;
    }
    return fmax(1, count);
}

/* ---- how fast ---- */

/* What remains of `own` where `part` is shared, of which each engine reaches `instances`; nobody said how much it
 * passes: unknown, if it is. */
static gsrt__term contended(gsrt__walk *walk, gsrt__term own, uint32_t part, double instances)
{
    const gsrt_part *p = &walk->fleet->parts[part];
    double sharers = sharers_of(walk, part);
    if (!p->bandwidth.is_known && sharers <= 1)
        return own;
    gsrt_quantity q = gsrt__stated(walk->fleet, walk->question->mode, part, GSRT_FLEET_NONE, "bandwidth", p->bandwidth);
    const gsrt__term inputs[] = {
        own, gsrt__input(walk, p->name, "bandwidth", &q),
        gsrt__counted(walk, "engines for each that is reached", sharers / instances, GSRT__PLAIN)};
    return gsrt__derive(walk, GSRT__EQUATION_CONTENTION, "bandwidth of offloaded KV", inputs);
}

/* Bytes for an engine of each of `layers` layers, over a link from or to its second tier. */
static gsrt__term moved(gsrt__walk *walk, const gsrt__far *far, uint32_t link, double layers, double bytes,
                        const char *name)
{
    const gsrt_link *l = &walk->fleet->links[link];
    gsrt_cost_mode mode = walk->question->mode;
    gsrt_quantity latency = gsrt__stated(walk->fleet, mode, GSRT_FLEET_NONE, link, "latency", l->latency);
    gsrt_quantity own = gsrt__stated(walk->fleet, mode, GSRT_FLEET_NONE, link, "bandwidth", l->bandwidth);
    gsrt__term bandwidth = gsrt__input(walk, l->name, "bandwidth", &own);
    if (far->instances > 1)
        bandwidth =
            gsrt__derive2(walk, GSRT__EQUATION_TOGETHER, "bandwidth of all links to the tier",
                          gsrt__counted(walk, "instances of the tier", (double)far->instances, GSRT__PLAIN), bandwidth);
    bandwidth = contended(walk, bandwidth, far->memory, (double)far->instances);
    if (l->contention != GSRT_FLEET_NONE && l->contention != far->memory)
        bandwidth = contended(walk, bandwidth, l->contention, 1);
    const gsrt__term inputs[] = {gsrt__counted(walk, "layers that are alike", layers, GSRT__PLAIN),
                                 gsrt__input(walk, l->name, "latency", &latency),
                                 gsrt__counted(walk, "offloaded bytes", bytes, GSRT__BYTE), bandwidth,
                                 gsrt__assume(walk, GSRT__ASSUMPTION_LINK_SHARE)};
    return gsrt__derive(walk, GSRT__EQUATION_SEND, name, inputs);
}

/* Positions that a step reads from a sequence's part in the second tier, summed over its rows or sequences; and those
 * that it adds to it. A prompt's chunk has its own positions at hand: it reads what came before them. */
static void count_positions(const gsrt__walk *walk, const gsrt__cut *cut, const gsrt_state *state,
                            const gsrt_deployment_pool *pool, const gsrt__step *step, double *out_read,
                            double *out_written)
{
    double share = (double)pool->kv_offload / GSRT_KV_OFFLOAD_PARTS / gsrt__context_width(cut->stage),
           rows = gsrt__group_rows(walk, cut, step->rows);
    double context = state->window > 0 && state->window < step->context ? state->window : step->context;
    *out_written = share * rows;
    *out_read = step->phase == GSRT_PHASE_DECODE ? share * rows * context : share * fmax(0, context - (rows + 1) / 2);
}

static gsrt__term member_moves(gsrt__walk *walk, uint32_t pool, uint32_t stage, uint32_t member, const gsrt__step *step)
{
    const gsrt_deployment_pool *in = &walk->deployment->pools[pool];
    const gsrt__far *far = &walk->profile->engines[in->stages[stage].members[member].part].far;
    gsrt__cut cut = gsrt__cut_of(&in->stages[stage], member);
    gsrt_quantity unknown = {0};
    uint32_t cursor = 0, region, count;
    gsrt__term sum = gsrt__counted(walk, "nothing is offloaded", 0, GSRT__SECOND);
    if (far->memory == GSRT_FLEET_NONE)
        return gsrt__input(walk, NULL, "no second memory tier", &unknown);
    while (gsrt__next_region(walk, pool, stage, &cursor, &region, &count)) {
        const gsrt__layer_kind *kind = &walk->profile->kinds[walk->profile->kind_of_region[region]];
        double read, written;
        if (kind->state == GSRT_NO_INDEX)
            continue;
        double each = gsrt__position_bytes(walk->workload, &cut, kind, &walk->deployment->choices[region],
                                           gsrt__context_width(cut.stage));
        count_positions(walk, &cut, &walk->workload->states[kind->state], in, step, &read, &written);
        if (read > 0)
            sum = gsrt__derive2(walk, GSRT__EQUATION_SUM, "offloaded KV", sum,
                                moved(walk, far, far->read, count, read * each, "offloaded KV that is read"));
        sum = gsrt__derive2(walk, GSRT__EQUATION_SUM, "offloaded KV", sum,
                            moved(walk, far, far->write, count, written * each, "KV that is offloaded"));
    }
    return sum;
}

gsrt__term gsrt__offload_step(gsrt__walk *walk, uint32_t pool, uint32_t stage, const gsrt__step *step)
{
    const gsrt_deployment_stage *s = &walk->deployment->pools[pool].stages[stage];
    const char *phase = step->phase == GSRT_PHASE_PREFILL ? "prefill" : "decode";
    gsrt__term slowest = {0};
    for (uint32_t m = 0; m < s->member_count; m++) {
        gsrt__walk_at(walk, "pool %u stage %u member %u %s: ", pool, stage, m, phase);
        gsrt__term moves = member_moves(walk, pool, stage, m, step);
        slowest = m == 0 ? moves : gsrt__derive2(walk, GSRT__EQUATION_LARGER, "slowest to offload", slowest, moves);
    }
    gsrt__walk_at(walk, "pool %u stage %u %s: ", pool, stage, phase);
    return slowest;
}

/* ---- how full ---- */

/* Bytes that an engine of an entry puts into each instance of a memory that it reaches. */
static double put_there(const gsrt__walk *walk, const gsrt_cost_memory *m, uint32_t part, uint32_t memory)
{
    const gsrt__engine *engine = &walk->profile->engines[part];
    double bytes = m->far == memory ? m->offloaded.value / (double)engine->far.instances : 0;
    if (engine->memory == memory)
        bytes += (m->weights.value + m->state.value + m->buffers.value) / (double)engine->memory_instances;
    return bytes;
}

gsrt__term gsrt__offload_fill(gsrt__walk *walk, const gsrt_cost_memory *memories, uint32_t count,
                              gsrt_cost_memory *memory)
{
    const gsrt_fleet *f = walk->fleet;
    double held = 0;
    for (uint32_t part = 0; part < f->part_count; part++) {
        double most = 0, used = engines_used(walk, part, memory->far);
        for (uint32_t i = 0; i < count && used > 0; i++) {
            const gsrt_cost_memory *m = &memories[i];
            if (walk->deployment->pools[m->pool].stages[m->stage].members[m->member].part == part)
                most = fmax(most, put_there(walk, m, part, memory->far));
        }
        if (most > 0) {
            const gsrt__engine *engine = &walk->profile->engines[part];
            uint32_t link = engine->memory == memory->far ? engine->link : engine->far.write;
            held += most * fmin(used, engines_each(f, part, memory->far, f->links[link].is_to_all));
        }
    }
    uint32_t of = walk->deployment->pools[memory->pool].stages[memory->stage].members[memory->member].part;
    gsrt__walk_at(walk, "pool %u stage %u member %u: ", memory->pool, memory->stage, memory->member);
    gsrt__term bytes = gsrt__counted(walk, "bytes in the second memory tier",
                                     held * (double)walk->profile->engines[of].far.instances, GSRT__BYTE);
    memory->far_held = bytes.quantity;
    return gsrt__derive2(
        walk, GSRT__EQUATION_FILL_LEVEL, "fill level of the second memory tier", bytes,
        gsrt__input(walk, f->parts[of].name, "capacity of the second memory tier", &memory->far_capacity));
}
