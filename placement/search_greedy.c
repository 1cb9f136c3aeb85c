/* The quickest answer: each class of engines by itself in the smallest group that holds the workload, the largest batch
 * that fits; then class after class beside the best, as long as that is better.
 */
#include "placement/search_impl.h"

#include <string.h>

gsrt_collective_algorithm gsrt__first_algorithm(gsrt__search *s, uint32_t numeric, uint32_t class, uint32_t width)
{
    static const gsrt_collective_algorithm order[] = {GSRT_ALGORITHM_RING, GSRT_ALGORITHM_TREE, GSRT_ALGORITHM_SWITCH,
                                                      GSRT_ALGORITHM_SUBTREES, GSRT_ALGORITHM_GATHER};
    for (size_t i = 0; width > 1 && i < sizeof order / sizeof order[0]; i++)
        if (gsrt__is_admitted(s, numeric, class, order[i]))
            return order[i];
    return width > 1 ? GSRT_ALGORITHM_GATHER : GSRT_ALGORITHM_NONE;
}

static bool smallest_shape(gsrt__search *s, uint32_t numeric, uint32_t class, gsrt__shape *out)
{
    const gsrt__engine_class *c = &s->classes[class];
    double needed = 1.1 * gsrt__replica_bytes(s, numeric, 1);
    if (c->capacity <= 0)
        return false;
    uint64_t node = c->levels[0], engines = 1;
    while ((double)engines * c->capacity < needed && engines < c->total)
        engines = engines < node ? (engines * 2 < node ? engines * 2 : node) : engines + node;
    uint32_t width = (uint32_t)(engines < node ? engines : node);
    *out = (gsrt__shape){.class = class,
                         .width = width,
                         .stage_count = (uint32_t)(engines / width),
                         .algorithm = gsrt__first_algorithm(s, numeric, class, width)};
    return true;
}

bool gsrt__pools_join(gsrt__search *s, gsrt__sketch *sketch, gsrt__judgement *j, const gsrt__sketch_pool *pool)
{
    if (sketch->pool_count == GSRT__SKETCH_POOLS || s->problem->is_for_execution || s->is_small)
        return false;
    gsrt__judgement found;
    gsrt__sketch_pool *last = &sketch->pools[sketch->pool_count];
    gsrt__sketch_pool_copy(last, pool);
    uint64_t most = gsrt__replicas_max(s, sketch, sketch->pool_count);
    last->replica_count = last->replica_count < most ? last->replica_count : most;
    sketch->pool_count++;
    for (uint32_t as_first = 0; most > 0 && as_first < 2; as_first++) {
        /* the contract may have been asked about one exchange only: then all pools take that of the first */
        for (uint32_t i = 0; as_first == 1 && i < last->stage_count; i++) {
            const gsrt__sketch_stage *first = &sketch->pools[0].stages[0];
            last->stages[i].algorithm =
                gsrt__stage_width(&last->stages[i]) > 1 ? first->algorithm : GSRT_ALGORITHM_NONE;
            last->stages[i].overlaps = first->overlaps;
        }
        if (!gsrt__consider(s, sketch, &found))
            break;
        if (gsrt__is_better(&found, j)) {
            *j = found;
            return true;
        }
        if (found.is_feasible || strncmp(found.reason, "contract", 8) != 0)
            break;
    }
    sketch->pool_count--;
    return false;
}

void gsrt__search_greedy(gsrt__search *s)
{
    gsrt__sketch *one = gsrt__sketch_room(s), *joined = gsrt__sketch_room(s);
    gsrt__sketch_pool *pools = gsrt_arena_take(&s->arena, s->class_count, sizeof *pools);
    gsrt__judgement *judgements = gsrt_arena_take(&s->arena, s->class_count, sizeof *judgements);
    if (one == NULL || joined == NULL || pools == NULL || judgements == NULL) {
        s->status = GSRT_ENOMEM;
        return;
    }
    for (uint32_t n = 0; n < s->numeric_count; n++) {
        uint32_t best = GSRT_NO_INDEX;
        for (uint32_t c = 0; !s->numerics[n].is_refused && c < s->class_count; c++) {
            gsrt__shape shape;
            judgements[c] = (gsrt__judgement){0};
            one->pool_count = 1;
            one->numeric = n;
            if (!smallest_shape(s, n, c, &shape) || !gsrt__shape_pool(s, n, &shape, &one->pools[0]))
                continue;
            uint64_t most = s->problem->is_for_execution ? 1 : gsrt__replicas_max(s, one, 0);
            one->pools[0].replica_count = most > 0 ? most : 1;
            if (!gsrt__fit_batch(s, one, 0, &judgements[c]))
                return;
            gsrt__sketch_pool_copy(&pools[c], &one->pools[0]);
            if (best == GSRT_NO_INDEX || gsrt__is_better(&judgements[c], &judgements[best]))
                best = c;
        }
        if (best == GSRT_NO_INDEX || !judgements[best].is_feasible)
            continue;
        joined->pool_count = 1;
        joined->numeric = n;
        gsrt__sketch_pool_copy(&joined->pools[0], &pools[best]);
        gsrt__judgement j = judgements[best];
        for (uint32_t c = 0; c < s->class_count; c++)
            if (c != best && judgements[c].is_feasible)
                (void)gsrt__pools_join(s, joined, &j, &pools[c]);
    }
    gsrt__sketch_give_back(s, one);
    gsrt__sketch_give_back(s, joined);
}
