#include "placement/deployment_check.h"

#include "base/limits.h"
#include "placement/deployment_check_impl.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CONSTRAINT_BYTES_MAX = 512, VIOLATIONS_MAX = 256 };

/* The checker's own tables: bytes per engine instance, and footprints per memory instance. */
#define SCRATCH_BYTES_MAX ((size_t)1 << 30)

/* ---- the list ---- */

static bool is_noted(const gsrt_violations *list, const gsrt_violation *what, const char *text)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const gsrt_violation *v = &list->items[i];
        if (strcmp(v->rule, what->rule) == 0 && strcmp(v->reason, what->reason) == 0 && v->subject == what->subject &&
            v->index == what->index && strcmp(v->constraint, text) == 0)
            return true;
    }
    return false;
}

void gsrt__check_violate(gsrt__checking *c, const gsrt_violation *what, const char *format, ...)
{
    char text[CONSTRAINT_BYTES_MAX];
    gsrt_violations *list = c->out;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (list->count == VIOLATIONS_MAX || is_noted(list, what, text))
        return;
    if (list->items == NULL)
        list->items = gsrt_arena_take(&list->arena, VIOLATIONS_MAX, sizeof *list->items);
    char *constraint = gsrt_arena_copy_text(&list->arena, text, strlen(text));
    if (list->items == NULL || constraint == NULL) {
        c->status = GSRT_ENOMEM;
        return;
    }
    list->items[list->count] = *what;
    list->items[list->count++].constraint = constraint;
}

void gsrt_violations_fini(gsrt_violations *violations)
{
    gsrt_arena_fini(&violations->arena);
    violations->items = NULL;
    violations->count = 0;
}

const gsrt_violation *gsrt_violation_with(const gsrt_violations *violations, const char *reason)
{
    for (uint32_t i = 0; i < violations->count; i++) {
        if (strcmp(violations->items[i].reason, reason) == 0)
            return &violations->items[i];
    }
    return NULL;
}

/* ---- what the files share ---- */

void *gsrt__check_scratch(gsrt__checking *c, size_t count, size_t size)
{
    void *memory = gsrt_arena_take(&c->scratch, count, size);
    if (memory == NULL)
        c->status = GSRT_ENOMEM;
    return memory;
}

bool gsrt__check_is_usable(const gsrt__checking *c, const gsrt_quantity *quantity)
{
    return quantity->is_known && quantity->valid_from_day <= c->problem->today &&
           c->problem->today <= quantity->valid_until_day;
}

uint64_t gsrt__check_instance(const gsrt__stage_view *view, const gsrt__seat *seat, uint64_t replica)
{
    const gsrt_deployment_members *m = &view->it->members[seat->entry];
    uint64_t block = replica / m->block_replicas, beside = replica - block * m->block_replicas;
    return m->instance_first + block * m->block_stride + beside * m->instance_count + seat->within;
}

gsrt__check_units gsrt__check_dealt(uint64_t unit_count, const uint64_t *shares, uint32_t count, uint32_t at)
{
    uint64_t total = 0, given = 0;
    gsrt__check_units units = {0, 0};
    for (uint32_t i = 0; i < count; i++)
        total += shares[i];
    if (total == 0)
        return units;
    for (uint32_t i = 0; i < count; i++)
        given += unit_count * shares[i] / total;
    for (uint32_t i = 0; i <= at; i++) {
        uint64_t rest = unit_count * shares[i] % total, sooner = 0;
        for (uint32_t k = 0; k < count; k++) {
            uint64_t other = unit_count * shares[k] % total;
            sooner += other > rest || (other == rest && k < i) ? 1 : 0;
        }
        units.first += units.count;
        units.count = unit_count * shares[i] / total + (sooner < unit_count - given ? 1 : 0);
    }
    return units;
}

bool gsrt__check_stage_has(const gsrt__checking *c, const gsrt__stage_view *view, uint32_t region)
{
    const gsrt_region *r = &c->workload->regions[region];
    if (r->layer != GSRT_NO_INDEX)
        return view->it->layer_first <= r->layer && r->layer <= view->it->layer_last;
    return r->in == GSRT_NO_INDEX ? view->is_first : view->is_last;
}

/* ---- d1: the layers ---- */

static bool check_layers(gsrt__checking *c, uint32_t pool)
{
    const gsrt_deployment_pool *p = &c->deployment->pools[pool];
    gsrt_violation wrong = {.rule = "d1", .reason = GSRT_REASON_DIVISIBILITY};
    uint32_t next = 0;
    for (uint32_t s = 0; s < p->stage_count; s++) {
        const gsrt_deployment_stage *stage = &p->stages[s];
        if (stage->layer_first != next || stage->layer_last < stage->layer_first) {
            gsrt__check_violate(c, &wrong, "pools[%u].stages[%u]: layers %u to %u do not follow layer %u", pool, s,
                                stage->layer_first, stage->layer_last, next);
            return false;
        }
        next = stage->layer_last + 1;
    }
    if (next == c->workload->layer_count)
        return true;
    gsrt__check_violate(c, &wrong, "pools[%u]: its stages have %u of the %u layers", pool, next,
                        c->workload->layer_count);
    return false;
}

/* ---- e1: engines that exist ---- */

static bool check_entry(gsrt__checking *c, uint32_t pool, uint32_t s, uint32_t m)
{
    const gsrt_deployment_pool *p = &c->deployment->pools[pool];
    const gsrt_deployment_members *it = &p->stages[s].members[m];
    gsrt_violation wrong = {.rule = "e1", .reason = GSRT_REASON_ENGINES};
    if (it->part >= c->fleet->part_count || c->fleet->parts[it->part].kind != GSRT_PART_ENGINE) {
        gsrt__check_violate(c, &wrong, "pools[%u].stages[%u].members[%u]: no engine of the fleet", pool, s, m);
        return false;
    }
    const gsrt_part *part = &c->fleet->parts[it->part];
    if (it->instance_count == 0 || it->block_replicas == 0) {
        gsrt__check_violate(c, &wrong, "pools[%u].stages[%u].members[%u]: no instance of '%s'", pool, s, m, part->name);
        return false;
    }
    /* with replicas in whole blocks and one incomplete one, the last instance is in one of the last two blocks */
    uint64_t last = p->replica_count - 1, highest = 0;
    for (uint64_t back = 0; back < 2 && back * it->block_replicas <= last; back++) {
        uint64_t block = last / it->block_replicas - back;
        uint64_t beside = back > 0 ? it->block_replicas - 1 : last % it->block_replicas;
        uint64_t end = it->instance_first + block * it->block_stride + (beside + 1) * it->instance_count;
        highest = end > highest ? end : highest;
    }
    if (highest <= part->total)
        return true;
    wrong.needed = gsrt_quantity_exact((double)highest, (gsrt_dimension){0});
    wrong.available = gsrt_quantity_exact((double)part->total, (gsrt_dimension){0});
    gsrt__check_violate(c, &wrong, "pools[%u].stages[%u].members[%u]: there are %" PRIu64 " of '%s'", pool, s, m,
                        part->total, part->name);
    return false;
}

/* ---- d1: the widths ---- */

static bool check_widths(gsrt__checking *c, uint32_t pool, uint32_t s, uint32_t width)
{
    const gsrt_deployment_pool *p = &c->deployment->pools[pool];
    const gsrt_deployment_stage *stage = &p->stages[s];
    gsrt_violation wrong = {.rule = "d1", .reason = GSRT_REASON_DIVISIBILITY};
    uint32_t experts = 0;
    for (uint32_t i = 0; i < c->workload->op_count; i++) {
        const gsrt_op *op = &c->workload->ops[i];
        bool is_here = op->layer != GSRT_NO_INDEX && stage->layer_first <= op->layer && op->layer <= stage->layer_last;
        if (op->kind == GSRT_OP_ROUTE && is_here)
            experts = experts == 0 || op->routing->expert_count < experts ? op->routing->expert_count : experts;
    }
    if (stage->data_width == 0 || width % stage->data_width != 0 || stage->expert_width == 0 ||
        width % stage->expert_width != 0) {
        gsrt__check_violate(c, &wrong, "pools[%u].stages[%u]: %u engines are not divided by %u and %u", pool, s, width,
                            stage->data_width, stage->expert_width);
        return false;
    }
    if (stage->context_width == 0 || width / stage->data_width % stage->context_width != 0) {
        gsrt__check_violate(c, &wrong, "pools[%u].stages[%u]: %u engines that share heads, the context in %u parts",
                            pool, s, width / stage->data_width, stage->context_width);
        return false;
    }
    if (stage->expert_width > (experts == 0 ? 1 : experts)) {
        wrong.needed = gsrt_quantity_exact(stage->expert_width, (gsrt_dimension){0});
        wrong.available = gsrt_quantity_exact(experts, (gsrt_dimension){0});
        gsrt__check_violate(c, &wrong, "pools[%u].stages[%u]: %u experts on %u groups", pool, s, experts,
                            stage->expert_width);
    }
    if (stage->data_width > p->batch_max) {
        wrong.needed = gsrt_quantity_exact(stage->data_width, (gsrt_dimension){0});
        wrong.available = gsrt_quantity_exact(p->batch_max, (gsrt_dimension){0});
        gsrt__check_violate(c, &wrong, "pools[%u].stages[%u]: a batch of %u in %u parts", pool, s, p->batch_max,
                            stage->data_width);
    }
    if ((width > 1) == (stage->algorithm == GSRT_ALGORITHM_NONE)) {
        gsrt__check_violate(c, &wrong, "pools[%u].stages[%u]: %u engines exchange by '%s'", pool, s, width,
                            gsrt_collective_algorithm_name(stage->algorithm));
    }
    return true;
}

static bool check_stage(gsrt__checking *c, uint32_t pool, uint32_t s)
{
    const gsrt_deployment_stage *stage = &c->deployment->pools[pool].stages[s];
    uint64_t width = 0;
    for (uint32_t m = 0; m < stage->member_count; m++) {
        if (!check_entry(c, pool, s, m))
            return false;
        width += stage->members[m].instance_count;
    }
    if (width == 0 || width > GSRT_FLEET_TOTAL_MAX) {
        gsrt__check_violate(c, &(gsrt_violation){.rule = "e1", .reason = GSRT_REASON_ENGINES},
                            "pools[%u].stages[%u]: %" PRIu64 " engines", pool, s, width);
        return false;
    }
    return check_widths(c, pool, s, (uint32_t)width);
}

static bool check_pool(gsrt__checking *c, uint32_t pool)
{
    const gsrt_deployment_pool *p = &c->deployment->pools[pool];
    gsrt_violation wrong = {.rule = "d1", .reason = GSRT_REASON_DIVISIBILITY};
    if (p->replica_count == 0 || p->replica_count > GSRT_FLEET_TOTAL_MAX || p->stage_count == 0 || p->batch_max == 0 ||
        p->prefill_tokens == 0 || p->phases == 0) {
        gsrt__check_violate(c, &wrong, "pools[%u]: nothing is computed in it", pool);
        return false;
    }
    if (p->kv_offload > GSRT_KV_OFFLOAD_PARTS)
        gsrt__check_violate(c, &wrong, "pools[%u]: %u of %d parts of the KV are offloaded", pool, p->kv_offload,
                            GSRT_KV_OFFLOAD_PARTS);
    bool is_right = check_layers(c, pool);
    for (uint32_t s = 0; s < p->stage_count && is_right; s++)
        is_right = check_stage(c, pool, s);
    return is_right;
}

/* ---- the view: each seat of each stage ---- */

/* The T shares that `at` stands among, for the heads. */
static void find_heads(const gsrt__checking *c, gsrt__stage_view *view, uint32_t at)
{
    uint32_t group = at / view->tensor_width * view->tensor_width;
    gsrt__check_units heads =
        gsrt__check_dealt(c->workload->head_count, view->shares + group, view->tensor_width, at - group);
    view->seats[at].head_first = (uint32_t)heads.first;
    view->seats[at].head_count = (uint32_t)heads.count;
}

static void view_stage(gsrt__checking *c, gsrt__stage_view *view)
{
    const gsrt_deployment_stage *stage = view->it;
    view->tensor_width = view->width / stage->data_width;
    view->inner_width = view->width / stage->expert_width;
    view->seats = gsrt__check_scratch(c, view->width, sizeof *view->seats);
    view->shares = gsrt__check_scratch(c, view->width, sizeof *view->shares);
    view->expert_shares = gsrt__check_scratch(c, stage->expert_width, sizeof *view->expert_shares);
    if (c->status != GSRT_OK)
        return;
    uint32_t at = 0;
    for (uint32_t m = 0; m < stage->member_count; m++) {
        for (uint32_t i = 0; i < stage->members[m].instance_count; i++, at++) {
            view->seats[at] = (gsrt__seat){.entry = m, .within = i, .part = stage->members[m].part};
            view->shares[at] = stage->members[m].share;
            view->expert_shares[at / view->inner_width] += stage->members[m].share;
        }
    }
    for (at = 0; at < view->width; at++)
        find_heads(c, view, at);
}

/* d1: those who share the heads have something to share. */
static void check_shares(gsrt__checking *c, const gsrt__stage_view *view)
{
    for (uint32_t first = 0; first < view->width; first += view->tensor_width) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < view->tensor_width; i++)
            sum += view->shares[first + i];
        if (sum == 0)
            gsrt__check_violate(c, &(gsrt_violation){.rule = "d1", .reason = GSRT_REASON_DIVISIBILITY},
                                "pools[%u].stages[%u]: all shares are 0", view->pool, view->stage);
    }
}

static void view_all(gsrt__checking *c)
{
    for (uint32_t p = 0; p < c->deployment->pool_count; p++)
        c->stage_count += c->deployment->pools[p].stage_count;
    c->stages = gsrt__check_scratch(c, c->stage_count, sizeof *c->stages);
    uint32_t next = 0;
    for (uint32_t p = 0; p < c->deployment->pool_count && c->status == GSRT_OK; p++) {
        const gsrt_deployment_pool *pool = &c->deployment->pools[p];
        for (uint32_t s = 0; s < pool->stage_count && c->status == GSRT_OK; s++) {
            gsrt__stage_view *view = &c->stages[next++];
            *view = (gsrt__stage_view){.pool = p, .stage = s, .it = &pool->stages[s], .is_first = s == 0};
            view->is_last = s + 1 == pool->stage_count;
            for (uint32_t m = 0; m < view->it->member_count; m++)
                view->width += view->it->members[m].instance_count;
            view_stage(c, view);
            if (c->status == GSRT_OK)
                check_shares(c, view);
        }
    }
}

/* ---- e1: nobody twice ---- */

static void claim(gsrt__checking *c, const gsrt__stage_view *view, const gsrt__seat *seat, uint64_t replica)
{
    uint64_t instance = gsrt__check_instance(view, seat, replica);
    const gsrt_part *part = &c->fleet->parts[seat->part];
    if (c->used[seat->part] == NULL)
        c->used[seat->part] = gsrt__check_scratch(c, part->total, 1);
    if (c->used[seat->part] == NULL)
        return;
    if (c->used[seat->part][instance] != 0)
        gsrt__check_violate(c, &(gsrt_violation){.rule = "e1", .reason = GSRT_REASON_ENGINES},
                            "pools[%u].stages[%u].members[%u]: '%s' %" PRIu64 " has a seat already", view->pool,
                            view->stage, seat->entry, part->name, instance);
    c->used[seat->part][instance] = 1;
}

static void claim_all(gsrt__checking *c)
{
    c->used = gsrt__check_scratch(c, c->fleet->part_count, sizeof *c->used);
    for (uint32_t s = 0; s < c->stage_count && c->status == GSRT_OK; s++) {
        const gsrt__stage_view *view = &c->stages[s];
        uint64_t replicas = c->deployment->pools[view->pool].replica_count;
        for (uint64_t r = 0; r < replicas && c->status == GSRT_OK; r++) {
            for (uint32_t i = 0; i < view->width && c->status == GSRT_OK; i++)
                claim(c, view, &view->seats[i], r);
        }
    }
}

/* ---- x1: positions ---- */

static void check_context(gsrt__checking *c)
{
    const gsrt_demand *demand = &c->problem->demand;
    const gsrt_deployment *d = c->deployment;
    gsrt_violation wrong = {.rule = "x1", .reason = GSRT_REASON_CONTEXT};
    if (d->context_max > c->workload->context_max) {
        wrong.needed = gsrt_quantity_exact(d->context_max, GSRT__TOKENS);
        wrong.available = gsrt_quantity_exact(c->workload->context_max, GSRT__TOKENS);
        gsrt__check_violate(c, &wrong, "the model knows %u positions", c->workload->context_max);
    }
    if (!demand->prompt_tokens.is_known || !demand->output_tokens.is_known) {
        wrong.reason = GSRT_REASON_UNKNOWN;
        gsrt__check_violate(c, &wrong, "nobody said how long requests are");
        return;
    }
    double longest = demand->prompt_tokens.hi + demand->output_tokens.hi;
    if (longest > d->context_max) {
        wrong.subject = GSRT_SUBJECT_CONTEXT;
        wrong.needed = gsrt_quantity_exact(longest, GSRT__TOKENS);
        wrong.available = gsrt_quantity_exact(d->context_max, GSRT__TOKENS);
        gsrt__check_violate(c, &wrong, "KV is kept for %u positions", d->context_max);
    }
}

bool gsrt__check_shape(gsrt__checking *c)
{
    const gsrt_deployment *d = c->deployment;
    gsrt_violation wrong = {.rule = "d1", .reason = GSRT_REASON_DIVISIBILITY};
    if (d->pool_count == 0 || d->region_count != c->workload->region_count) {
        gsrt__check_violate(c, &wrong, "%u pools, choices for %u of %u regions", d->pool_count, d->region_count,
                            c->workload->region_count);
        return false;
    }
    bool is_right = true;
    uint32_t phases = 0;
    for (uint32_t p = 0; p < d->pool_count && is_right; p++) {
        phases |= d->pools[p].phases;
        is_right = check_pool(c, p);
    }
    if (is_right && ((phases & GSRT_PHASE_PREFILL) == 0 || (phases & GSRT_PHASE_DECODE) == 0))
        gsrt__check_violate(c, &wrong, "no pool does %s", (phases & GSRT_PHASE_PREFILL) == 0 ? "prefill" : "decode");
    if (is_right) {
        view_all(c);
        claim_all(c);
        check_context(c);
    }
    return is_right && c->status == GSRT_OK;
}

/* ---- o1 ---- */

static void check_limit(gsrt__checking *c, uint32_t index, const gsrt_cost *cost)
{
    const gsrt_objective_limit *limit = &c->problem->objective.limits[index];
    const gsrt_quantity *predicted = &cost->values[limit->measure][limit->percentile];
    gsrt_violation wrong = {.rule = "o1", .reason = GSRT_REASON_LIMIT, .subject = GSRT_SUBJECT_LIMIT, .index = index};
    bool is_maximised = limit->measure == GSRT_MEASURE_THROUGHPUT || limit->measure == GSRT_MEASURE_MTTF;
    if (!predicted->is_known) {
        wrong.reason = GSRT_REASON_UNKNOWN;
        gsrt__check_violate(c, &wrong, "limits[%u]: %s is unknown", index, gsrt_measure_word(limit->measure));
        return;
    }
    wrong.needed = *predicted;
    wrong.available = limit->bound;
    bool is_kept = is_maximised ? predicted->value >= limit->bound.value : predicted->value <= limit->bound.value;
    if (!is_kept)
        gsrt__check_violate(c, &wrong, "limits[%u]: %s", index, gsrt_measure_word(limit->measure));
}

void gsrt__check_limits(gsrt__checking *c, const gsrt_cost *cost)
{
    const gsrt_objective *objective = &c->problem->objective;
    const gsrt_quantity *predicted = &cost->values[objective->measure][objective->percentile];
    if (!predicted->is_known || !isfinite(predicted->value))
        gsrt__check_violate(c, &(gsrt_violation){.rule = "o1", .reason = GSRT_REASON_UNKNOWN},
                            "the objective, %s, is not known", gsrt_measure_word(objective->measure));
    const gsrt_quantity *wait = &cost->values[GSRT_MEASURE_TTFT][GSRT_PERCENTILE_50];
    if (wait->is_known && wait->value >= GSRT_COST_NEVER_S)
        gsrt__check_violate(c, &(gsrt_violation){.rule = "o1", .reason = GSRT_REASON_LIMIT},
                            "more requests arrive than can be served");
    for (uint32_t i = 0; i < objective->limit_count; i++)
        check_limit(c, i, cost);
}

gsrt_status gsrt_deployment_check(const gsrt_search_problem *problem, const gsrt_deployment *deployment,
                                  const gsrt_cost *cost, gsrt_violations *out)
{
    *out = (gsrt_violations){0};
    gsrt_arena_init(&out->arena, SCRATCH_BYTES_MAX);
    gsrt__checking c = {.problem = problem,
                        .workload = problem->workload,
                        .fleet = problem->fleet,
                        .deployment = deployment,
                        .out = out,
                        .status = GSRT_OK};
    gsrt_arena_init(&c.scratch, SCRATCH_BYTES_MAX);
    if (gsrt__check_shape(&c)) {
        gsrt__check_memory(&c);
        gsrt__check_rates(&c);
        gsrt__check_contract(&c);
        gsrt__check_trust(&c);
        gsrt__check_power(&c);
        gsrt__check_routes(&c);
        gsrt__check_origin(&c);
        gsrt__check_executable(&c);
        if (cost != NULL)
            gsrt__check_limits(&c, cost);
    }
    gsrt_arena_fini(&c.scratch);
    return c.status;
}
