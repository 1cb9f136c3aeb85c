#include "placement/flow_chain.h"

#include <string.h>

/* Of the part of another layer that a group could pass: so that the walk has a slope where layers do not change. */
static const double ALMOST = 0.1;

gsrt_status gsrt_flow_chain_init(gsrt_flow_chain *chain, gsrt_arena *arena, uint32_t node_count)
{
    *chain = (gsrt_flow_chain){.places = gsrt_arena_take(arena, node_count, sizeof *chain->places)};
    if (chain->places == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < node_count; i++)
        chain->places[i].node = (uint16_t)i;
    return GSRT_OK;
}

void gsrt_flow_chain_copy(gsrt_flow_chain *to, const gsrt_flow_chain *from, uint32_t node_count)
{
    memcpy(to->places, from->places, node_count * sizeof *to->places);
    to->used = from->used;
}

/* Where the group of a used position begins; where the next one does. */
static uint32_t group_first(const gsrt_flow_chain *chain, uint32_t position)
{
    while (!chain->places[position].begins)
        position -= 1;
    return position;
}

static uint32_t group_end(const gsrt_flow_chain *chain, uint32_t position)
{
    do
        position += 1;
    while (position < chain->used && !chain->places[position].begins);
    return position;
}

/* The group of this position has changed; so have its joints (the next one's: when distances are found). */
static void touch(gsrt_flow_chain *chain, uint32_t position)
{
    if (position < chain->used)
        chain->places[group_first(chain, position)].length = GSRT_FLOW_UNKNOWN;
}

void gsrt_flow_chain_forget(gsrt_flow_chain *chain)
{
    for (uint32_t i = 0; i < chain->used; i++)
        chain->places[i].length = GSRT_FLOW_UNKNOWN;
}

void gsrt_flow_chain_spare(gsrt_flow_chain *chain, uint32_t from)
{
    if (from >= chain->used)
        return;
    gsrt_flow_place place = chain->places[from];
    uint32_t last = chain->used - 1;
    if (from < last && place.begins && !chain->places[from + 1].begins)
        chain->places[from + 1].begins = true;
    memmove(&chain->places[from], &chain->places[from + 1], (last - from) * sizeof place);
    chain->places[last] = place;
    chain->used = last;
    touch(chain, from); /* what is left of the group, or the one after it, which has another neighbour now */
    if (!place.begins)
        touch(chain, from - 1);
}

void gsrt_flow_chain_move(gsrt_flow_chain *chain, uint32_t from, uint32_t to, bool begins)
{
    gsrt_flow_chain_spare(chain, from);
    uint32_t spare = from > chain->used ? from : chain->used; /* where it stands now */
    if (to > chain->used)
        to = chain->used;
    gsrt_flow_place place = chain->places[spare];
    chain->places[spare] = chain->places[chain->used];
    memmove(&chain->places[to + 1], &chain->places[to], (chain->used - to) * sizeof place);
    place.begins = begins || to == 0;
    chain->places[to] = place;
    chain->used += 1;
    touch(chain, to);
    if (to > 0)
        touch(chain, to - 1);
    touch(chain, to + 1);
}

void gsrt_flow_chain_swap(gsrt_flow_chain *chain, uint32_t from, uint32_t with)
{
    uint16_t node = chain->places[from].node;
    chain->places[from].node = chain->places[with].node;
    chain->places[with].node = node;
    touch(chain, from);
    touch(chain, with);
}

void gsrt_flow_chain_cut(gsrt_flow_chain *chain, uint32_t at)
{
    chain->places[at].begins = !chain->places[at].begins;
    touch(chain, at);
    touch(chain, at - 1);
}

void gsrt_flow_chain_reverse(gsrt_flow_chain *chain, uint32_t first, uint32_t last)
{
    first = group_first(chain, first);
    last = group_end(chain, last) - 1;
    for (uint32_t a = first, b = last; a < b; a++, b--) {
        gsrt_flow_place place = chain->places[a];
        chain->places[a] = chain->places[b];
        chain->places[b] = place;
    }
    /* `begins` now says that a group ends here: it begins one after the last end */
    bool begins = true;
    for (uint32_t i = first; i <= last; i++) {
        bool ends = chain->places[i].begins;
        chain->places[i].begins = begins;
        chain->places[i].length = GSRT_FLOW_UNKNOWN;
        begins = ends;
    }
    touch(chain, last + 1);
}

static gsrt_flow_amount group_throughput(const gsrt_flow_instance *instance, const gsrt_flow_chain *chain,
                                         uint32_t first, uint32_t end, uint32_t count)
{
    gsrt_flow_amount sum = 0;
    for (uint32_t i = first; i < end; i++)
        sum += gsrt_flow_throughput(instance, chain->places[i].node, count);
    return sum;
}

typedef struct group {
    uint32_t first, end, length; /* first == end: source or sink */
} group;

/* The most layers with which the group passes what is wanted; *almost: the share of it with one more. */
static uint32_t group_length(const gsrt_flow_instance *instance, const gsrt_flow_chain *chain, uint32_t first,
                             uint32_t end, gsrt_flow_amount wanted, double *almost)
{
    uint32_t count = 0;
    gsrt_flow_amount next = 0;
    for (uint32_t i = first; i < end; i++)
        if (instance->nodes[chain->places[i].node].layers_max > count)
            count = instance->nodes[chain->places[i].node].layers_max;
    for (; count > 0; count--) {
        gsrt_flow_amount passed = group_throughput(instance, chain, first, end, count);
        if (passed >= wanted)
            break;
        next = passed;
    }
    *almost = (double)next / (double)wanted;
    return count;
}

gsrt_status gsrt_flow_target_init(gsrt_flow_target *target, gsrt_arena *arena, uint32_t node_count)
{
    *target = (gsrt_flow_target){.lengths = gsrt_arena_take(arena, node_count, sizeof *target->lengths),
                                 .almost = gsrt_arena_take(arena, node_count, sizeof *target->almost)};
    return target->lengths != NULL && target->almost != NULL ? GSRT_OK : GSRT_ENOMEM;
}

void gsrt_flow_target_set(gsrt_flow_target *target, const gsrt_flow_instance *instance, gsrt_flow_amount wanted)
{
    target->wanted = wanted;
    for (uint32_t i = 0; i < instance->node_count; i++) {
        gsrt_flow_place place = {.node = (uint16_t)i, .begins = true};
        gsrt_flow_chain alone = {.places = &place, .used = 1};
        target->lengths[i] = (uint16_t)group_length(instance, &alone, 0, 1, wanted, &target->almost[i]);
    }
}

/* What one node hands over to those of a group, or takes from them, over its links. */
static gsrt_flow_amount handed(const gsrt_flow_instance *instance, const gsrt_flow_chain *chain, uint32_t node,
                               group with, bool is_out, gsrt_flow_amount throughput)
{
    gsrt_flow_amount sum = 0;
    for (uint32_t i = with.first; i < with.end && sum < throughput; i++) {
        uint32_t other = chain->places[i].node;
        sum += is_out ? gsrt_flow_link(instance, node, other) : gsrt_flow_link(instance, other, node);
    }
    return sum < throughput ? sum : throughput;
}

/* All that the nodes of a group could hand over to the next, or take from the one before. */
static gsrt_flow_amount handed_by(const gsrt_flow_instance *instance, const gsrt_flow_chain *chain, group by,
                                  group with, bool is_out)
{
    gsrt_flow_amount sum = 0;
    for (uint32_t i = by.first; i < by.end; i++) {
        uint32_t node = chain->places[i].node;
        gsrt_flow_amount throughput = gsrt_flow_throughput(instance, node, by.length);
        if (with.first < with.end) {
            sum += handed(instance, chain, node, with, is_out, throughput);
        } else {
            gsrt_flow_amount link = is_out ? gsrt_flow_link(instance, node, gsrt_flow_sink(instance))
                                           : gsrt_flow_link(instance, gsrt_flow_source(instance), node);
            sum += link < throughput ? link : throughput;
        }
    }
    return sum;
}

/* What lacks of `wanted` between two groups, as a share: less than all that either side could hand over, node by node,
 * is never carried. (It may be less: the exact score tells.) */
static double lack(const gsrt_flow_instance *instance, const gsrt_flow_chain *chain, group from, group to,
                   gsrt_flow_amount wanted)
{
    gsrt_flow_amount carried = wanted;
    if (from.first < from.end)
        carried = handed_by(instance, chain, from, to, true);
    if (to.first < to.end) {
        gsrt_flow_amount taken = handed_by(instance, chain, to, from, false);
        carried = taken < carried ? taken : carried;
    }
    return carried >= wanted ? 0.0 : (double)(wanted - carried) / (double)wanted;
}

/* The group that begins at `first`; is_new: it was not known. */
static group group_at(const gsrt_flow_instance *instance, gsrt_flow_chain *chain, uint32_t first,
                      const gsrt_flow_target *target, bool *is_new)
{
    gsrt_flow_place *place = &chain->places[first];
    group g = {.first = first, .end = group_end(chain, first), .length = place->length};
    *is_new = place->length == GSRT_FLOW_UNKNOWN;
    if (!*is_new)
        return g;
    if (g.end == first + 1) {
        g.length = target->lengths[place->node];
        place->almost = target->almost[place->node];
    } else {
        g.length = group_length(instance, chain, first, g.end, target->wanted, &place->almost);
    }
    place->length = (uint16_t)g.length;
    return g;
}

gsrt_flow_distance gsrt_flow_chain_distance(const gsrt_flow_instance *instance, gsrt_flow_chain *chain,
                                            const gsrt_flow_target *target)
{
    gsrt_flow_distance distance = {0};
    group before = {0}, here;
    double lacks = 0.0, almost = 0.0;
    bool is_changed = false; /* a group since the last one that counts, itself included */
    for (uint32_t first = 0; first < chain->used; first = here.end) {
        bool is_new;
        here = group_at(instance, chain, first, target, &is_new);
        is_changed = is_changed || is_new;
        almost += chain->places[first].almost;
        if (here.length == 0)
            continue;
        if (is_changed)
            chain->places[first].lack = lack(instance, chain, before, here, target->wanted);
        lacks += chain->places[first].lack;
        before = here;
        is_changed = is_new;
        distance.layer_count += here.length;
    }
    lacks += before.length > 0 ? lack(instance, chain, before, (group){0}, target->wanted) : 1.0;
    double missing = 0.0;
    if (distance.layer_count < instance->layer_count)
        missing = (double)(instance->layer_count - distance.layer_count);
    distance.total = missing + lacks - ALMOST * almost;
    distance.is_served = distance.layer_count >= instance->layer_count && !(lacks > 0.0);
    return distance;
}

/* The group that passes least and holds more than one layer; `used`: there is none. */
static uint32_t weakest(const gsrt_flow_instance *instance, const gsrt_flow_chain *chain)
{
    uint32_t found = chain->used;
    gsrt_flow_amount least = INT64_MAX;
    for (uint32_t first = 0, end; first < chain->used; first = end) {
        end = group_end(chain, first);
        if (chain->places[first].length < 2)
            continue;
        gsrt_flow_amount passed = group_throughput(instance, chain, first, end, chain->places[first].length);
        if (passed < least) {
            least = passed;
            found = first;
        }
    }
    return found;
}

void gsrt_flow_chain_holds(const gsrt_flow_instance *instance, gsrt_flow_chain *chain, gsrt_flow_hold *holds)
{
    uint32_t sum = 0, layer = 0, from;
    memset(holds, 0, instance->node_count * sizeof *holds);
    for (uint32_t first = 0; first < chain->used; first = group_end(chain, first))
        sum += chain->places[first].length;
    for (; sum > instance->layer_count && (from = weakest(instance, chain)) < chain->used; sum--)
        chain->places[from].length -= 1;
    for (uint32_t first = 0, end; first < chain->used && layer < instance->layer_count; first = end) {
        uint32_t length = chain->places[first].length;
        end = group_end(chain, first);
        for (uint32_t i = first; i < end; i++)
            if (length <= instance->nodes[chain->places[i].node].layers_max)
                holds[chain->places[i].node] = (gsrt_flow_hold){.first = layer, .count = length};
        layer += length;
    }
    gsrt_flow_chain_forget(chain);
}
