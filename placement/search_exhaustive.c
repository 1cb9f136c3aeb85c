/* Every candidate of a small instance: each sequence of groups made of the engines that are left, each cut of the
 * layers into runs, each collective, mode, overlap, replica count, chunk and batch of the lattice. Batches beyond the
 * first that exceeds a memory are left out: what is held grows with the batch, so they exceed it, too.
 *
 * The recursion is over stages; the space is finite and counted in evaluations, so the budget ends it (is_complete
 * tells).
 */
#include "placement/search_impl.h"

#include <assert.h>
#include <string.h>

typedef struct walk {
    gsrt__search *s;
    gsrt__sketch *sketch; /* one pool, as far as it has been built */
    uint64_t *left;       /* [class_count] engines that are left */
    bool is_smallest;     /* one replica, the smallest batch and chunk, no overlap only */
    bool ends_at_first;   /* feasible one */
    bool is_over;         /* no budget is left */
} walk;

/* All batches and chunks of a candidate whose structure is complete. */
static void try_sizes(walk *w)
{
    gsrt__sketch_pool *pool = &w->sketch->pools[0];
    uint32_t least = 1;
    for (uint32_t i = 0; i < pool->stage_count; i++)
        least = pool->stages[i].data_width > least ? pool->stages[i].data_width : least;
    uint32_t most = gsrt__batch_most(w->s), chunk = 0, next_chunk = gsrt__chunk_most(w->s);
    next_chunk = next_chunk < GSRT__CHUNK_MIN ? next_chunk : GSRT__CHUNK_MIN;
    while (next_chunk != chunk) {
        pool->prefill_tokens = chunk = next_chunk;
        next_chunk = w->is_smallest ? chunk : gsrt__next_chunk(w->s, chunk, true);
        uint32_t batch = 0, next = gsrt__batch_on_lattice(w->s, least);
        next = next < least ? least : next;
        while (next != batch) {
            gsrt__judgement j;
            pool->batch_max = batch = next;
            if (!gsrt__consider(w->s, w->sketch, &j) || (w->ends_at_first && j.is_feasible)) {
                w->is_over = true;
                return;
            }
            if (w->is_smallest || (!j.is_feasible && strcmp(j.reason, GSRT_REASON_MEMORY) == 0))
                break; /* larger ones do not fit either */
            do
                next++;
            while (gsrt__batch_on_lattice(w->s, next) != next && next < most);
            next = next > most ? batch : next;
        }
    }
}

/* With each share of the KV in a second memory tier. */
static void try_offloads(walk *w)
{
    gsrt__sketch_pool *pool = &w->sketch->pools[0];
    pool->kv_offload = 0;
    do
        try_sizes(w);
    while (!w->is_over && gsrt__set_offload_next(w->s, pool));
}

/* With the context in each number of parts. */
static void try_contexts(walk *w)
{
    gsrt__sketch_pool *pool = &w->sketch->pools[0];
    (void)gsrt__set_context(pool, 1);
    do
        try_offloads(w);
    while (!w->is_over && gsrt__set_context_next(w->s, pool));
    (void)gsrt__set_context(pool, 1);
}

static void try_replicas(walk *w)
{
    gsrt__sketch_pool *pool = &w->sketch->pools[0];
    pool->replica_count = 1;
    bool is_one = w->s->problem->is_for_execution || w->is_smallest;
    uint64_t most = is_one ? 1 : gsrt__replicas_max(w->s, w->sketch, 0);
    for (uint64_t r = 1; r <= most && !w->is_over; r++) {
        pool->replica_count = r;
        try_contexts(w);
    }
}

static void try_overlaps(walk *w)
{
    gsrt__sketch_pool *pool = &w->sketch->pools[0];
    for (uint32_t on = 0; on < (w->s->problem->is_for_execution || w->is_smallest ? 1 : 2) && !w->is_over; on++) {
        for (uint32_t i = 0; i < pool->stage_count; i++)
            pool->stages[i].overlaps = on == 1;
        try_replicas(w);
    }
}

static void try_modes(walk *w)
{
    gsrt__sketch_pool *pool = &w->sketch->pools[0];
    for (uint32_t mode = 0; mode < GSRT__MODE_COUNT && !w->is_over; mode++) {
        pool->batch_max = 1;
        if (!gsrt__set_mode(w->s, pool, (gsrt__mode)mode) && mode != GSRT__MODE_TENSOR)
            continue;
        try_overlaps(w);
    }
    (void)gsrt__set_mode(w->s, pool, GSRT__MODE_TENSOR);
}

static void try_algorithms(walk *w)
{
    gsrt__sketch_pool *pool = &w->sketch->pools[0];
    bool has_group = false;
    for (uint32_t i = 0; i < pool->stage_count; i++)
        has_group = has_group || gsrt__stage_width(&pool->stages[i]) > 1;
    for (uint32_t a = GSRT_ALGORITHM_NONE; a < GSRT_ALGORITHM_COUNT && !w->is_over; a++) {
        bool is_admitted = has_group == (a != GSRT_ALGORITHM_NONE);
        for (uint32_t i = 0; i < pool->stage_count && is_admitted; i++) {
            gsrt__sketch_stage *stage = &pool->stages[i];
            bool is_group = gsrt__stage_width(stage) > 1;
            stage->algorithm = is_group ? (gsrt_collective_algorithm)a : GSRT_ALGORITHM_NONE;
            for (uint32_t m = 0; m < stage->member_count; m++)
                is_admitted = is_admitted &&
                              (!is_group ||
                               gsrt__is_admitted(w->s, w->sketch->numeric, stage->members[m].class, stage->algorithm));
        }
        if (is_admitted)
            try_modes(w);
    }
}

static void try_stage(walk *w, uint32_t layer);

/* The group of the next stage is complete: give it each run of layers that begins at `layer`. */
static void try_runs(walk *w, const gsrt__sketch_stage *group, uint32_t layer)
{
    gsrt__sketch_pool *pool = &w->sketch->pools[0];
    gsrt__sketch_stage *stage = &pool->stages[pool->stage_count++];
    for (uint32_t last = layer; last < w->s->layer_count && !w->is_over; last++) {
        *stage = *group;
        stage->layer_first = layer;
        stage->layer_last = last;
        if (last + 1 == w->s->layer_count)
            try_algorithms(w);
        else
            try_stage(w, last + 1);
    }
    pool->stage_count--;
}

/* Members of the next stage from class `class` on. */
static void try_members(walk *w, uint32_t class, gsrt__sketch_member *members, uint32_t count, uint32_t layer)
{
    if (class == w->s->class_count) {
        for (uint32_t kind = 0; count > 0 && kind < (count > 1 ? GSRT__SHARE_COUNT : 1) && !w->is_over; kind++) {
            gsrt__sketch_stage group;
            (void)gsrt__mixed_group(w->s, w->sketch->numeric, members, count, (gsrt__share_kind)kind, &group);
            try_runs(w, &group, layer);
        }
        return;
    }
    uint64_t most = w->left[class];
    bool is_usable = w->s->classes[class].barred == NULL && gsrt__incapable(w->s, class, w->sketch->numeric) == NULL &&
                     count < GSRT__SKETCH_MEMBERS;
    for (uint64_t n = 0; n <= (is_usable ? most : 0) && !w->is_over; n++) {
        w->left[class] = most - n;
        if (n > 0)
            members[count] = (gsrt__sketch_member){class, (uint32_t)n, 1};
        try_members(w, class + 1, members, count + (n > 0 ? 1 : 0), layer);
    }
    w->left[class] = most;
}

static void try_stage(walk *w, uint32_t layer)
{
    gsrt__sketch_member members[GSRT__SKETCH_MEMBERS];
    try_members(w, 0, members, 0, layer);
}

static void walk_all(gsrt__search *s, bool is_smallest, bool ends_at_first)
{
    walk w = {.s = s, .sketch = gsrt__sketch_room(s), .is_smallest = is_smallest, .ends_at_first = ends_at_first};
    w.left = gsrt_arena_take(&s->arena, s->class_count, sizeof *w.left);
    if (w.sketch == NULL || w.left == NULL) {
        s->status = GSRT_ENOMEM;
        return;
    }
    for (uint32_t c = 0; c < s->class_count; c++)
        w.left[c] = s->classes[c].total;
    w.sketch->pool_count = 1;
    w.sketch->pools[0].phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    w.sketch->pools[0].power_cap_w = 0;
    w.sketch->pools[0].draft_tokens = 0;
    w.sketch->pools[0].kv_offload = 0;
    for (uint32_t n = 0; n < s->numeric_count && !w.is_over; n++) {
        w.sketch->numeric = n;
        w.sketch->pools[0].stage_count = 0;
        if (!s->numerics[n].is_refused)
            try_stage(&w, 0);
    }
    s->is_complete = !ends_at_first && !w.is_over && s->status == GSRT_OK;
    gsrt__sketch_give_back(s, w.sketch);
}

void gsrt__search_exhaustive(gsrt__search *s)
{
    walk_all(s, false, false);
}

/* So many evaluations from now on. */
static void set_budget(gsrt__search *s, uint64_t more)
{
    s->budget_now = more > UINT64_MAX - s->evaluation_count ? UINT64_MAX : s->evaluation_count + more;
}

void gsrt__search_any(gsrt__search *s)
{
    set_budget(s, s->options->budget / 4);
    walk_all(s, true, true);
    set_budget(s, s->options->budget);
    if (!s->has_best && s->status == GSRT_OK)
        walk_all(s, false, true);
}
