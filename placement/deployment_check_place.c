/* Rules p1 and p2: whom the places, engines and memories belong to, and what power they may draw. */
#include "placement/deployment_check_impl.h"

#include <string.h>

/* ---- p1 ---- */

static bool is_region_allowed(const gsrt__checking *c, uint32_t part)
{
    const gsrt_policy_rules *rules = &c->problem->rules;
    if (rules->regions_allowed == NULL)
        return true;
    for (uint32_t at = c->fleet->parts[part].within.location; at != GSRT_FLEET_NONE;
         at = c->fleet->places[at].within.location) {
        for (uint32_t i = 0; i < rules->region_allowed_count; i++) {
            if (c->fleet->places[at].kind == GSRT_PLACE_REGION &&
                strcmp(c->fleet->places[at].name, rules->regions_allowed[i]) == 0)
                return true;
        }
    }
    return false;
}

/* The links between an engine and a memory: those of kind memory, and to a second tier those of PCIe, too. */
static bool are_links_trusted(const gsrt__checking *c, uint32_t engine, uint32_t memory, bool is_far)
{
    for (uint32_t i = 0; i < c->fleet->link_count; i++) {
        const gsrt_link *link = &c->fleet->links[i];
        bool joins = (link->from == engine && link->to == memory) || (link->from == memory && link->to == engine);
        bool is_of_kind = link->kind == GSRT_LINK_MEMORY || (is_far && link->kind == GSRT_LINK_PCIE);
        if (joins && is_of_kind && link->trust < c->problem->rules.trust_min)
            return false;
    }
    return true;
}

void gsrt__check_trust(gsrt__checking *c)
{
    gsrt_violation wrong = {.rule = "p1", .reason = GSRT_REASON_POLICY};
    for (uint32_t p = 0; p < c->fleet->part_count; p++) {
        uint32_t memory = c->memory[p];
        if (c->used[p] == NULL)
            continue;
        if (!gsrt__check_is_trusted(c, p))
            gsrt__check_violate(c, &wrong, "'%s' is not trusted enough", c->fleet->parts[p].name);
        if (memory != GSRT_FLEET_NONE &&
            (!gsrt__check_is_trusted(c, memory) || !are_links_trusted(c, p, memory, false)))
            gsrt__check_violate(c, &wrong, "'%s', memory of '%s', is not trusted enough", c->fleet->parts[memory].name,
                                c->fleet->parts[p].name);
        uint32_t far = c->far[p];
        if (far != GSRT_FLEET_NONE && (!gsrt__check_is_trusted(c, far) || !are_links_trusted(c, p, far, true)))
            gsrt__check_violate(c, &wrong, "'%s', second memory tier of '%s', is not trusted enough",
                                c->fleet->parts[far].name, c->fleet->parts[p].name);
        if (!is_region_allowed(c, p))
            gsrt__check_violate(c, &wrong, "'%s' stands in no region that is allowed", c->fleet->parts[p].name);
    }
}

/* ---- p2 ---- */

/* What is drawn in each instance of each place. */
typedef struct draw {
    double **watts; /* [place_count][total] */
    uint32_t *seen; /* [place_count]: the engine instance that was counted there last */
    uint32_t engine;
    uint32_t part;
    double each;
    bool is_known;
} draw;

static void count_in_place(gsrt__checking *c, draw *d, uint32_t place, uint64_t instance);

/* In all that a thing stands in, of which it is instance `instance` of `total`. */
static void count_within(gsrt__checking *c, draw *d, const gsrt_within *within, uint64_t instance, uint64_t total)
{
    const gsrt_place *places = c->fleet->places;
    for (uint32_t i = 0; i < within->domain_count; i++) {
        /* dealt like links, in the closest location that holds both */
        const gsrt_place *domain = &places[within->domains[i]];
        uint32_t common = within->location;
        for (; common != GSRT_FLEET_NONE; common = places[common].within.location) {
            uint32_t at = domain->within.location;
            while (at != GSRT_FLEET_NONE && at != common)
                at = places[at].within.location;
            if (at == common)
                break;
        }
        uint64_t around = common == GSRT_FLEET_NONE ? 1 : places[common].total;
        uint64_t m = total / around, n = domain->total / around;
        count_in_place(c, d, within->domains[i], instance / m * n + instance % m * n / m);
    }
    if (within->location != GSRT_FLEET_NONE)
        count_in_place(c, d, within->location, instance / (total / places[within->location].total));
}

static void count_in_place(gsrt__checking *c, draw *d, uint32_t place, uint64_t instance)
{
    const gsrt_place *p = &c->fleet->places[place];
    if (d->seen[place] == d->engine || c->status != GSRT_OK)
        return;
    d->seen[place] = d->engine;
    if (p->power_budget.is_known || p->cooling_budget.is_known) {
        if (d->watts[place] == NULL)
            d->watts[place] = gsrt__check_scratch(c, p->total, sizeof(double));
        if (d->watts[place] == NULL)
            return;
        d->watts[place][instance] += d->each;
        if (!d->is_known)
            gsrt__check_violate(c, &(gsrt_violation){.rule = "p2", .reason = GSRT_REASON_UNKNOWN},
                                "power of '%s', of which '%s' has a budget", c->fleet->parts[d->part].name, p->name);
    }
    count_within(c, d, &p->within, instance, p->total);
}

static void check_budget(gsrt__checking *c, uint32_t place, const gsrt_quantity *budget, gsrt_subject subject,
                         const double *watts)
{
    const gsrt_place *p = &c->fleet->places[place];
    double most = 0;
    for (uint64_t i = 0; i < p->total; i++)
        most = watts[i] > most ? watts[i] : most;
    if (!budget->is_known)
        return;
    gsrt_violation wrong = {.rule = "p2", .reason = GSRT_REASON_POWER, .subject = subject, .index = place};
    wrong.needed = gsrt_quantity_exact(most, GSRT__WATTS);
    wrong.available = gsrt_quantity_exact(budget->lo, GSRT__WATTS);
    const char *what = subject == GSRT_SUBJECT_POWER ? "power" : "cooling";
    if (!gsrt__check_is_usable(c, budget)) {
        wrong.reason = GSRT_REASON_UNKNOWN;
        gsrt__check_violate(c, &wrong, "%s of '%s' has expired", what, p->name);
    } else if (most > budget->lo) {
        gsrt__check_violate(c, &wrong, "%s of '%s'", what, p->name);
    }
}

void gsrt__check_power(gsrt__checking *c)
{
    draw d = {.watts = gsrt__check_scratch(c, c->fleet->place_count, sizeof(double *)),
              .seen = gsrt__check_scratch(c, c->fleet->place_count, sizeof(uint32_t))};
    for (uint32_t s = 0; s < c->stage_count && c->status == GSRT_OK; s++) {
        const gsrt__stage_view *view = &c->stages[s];
        const gsrt_deployment_pool *pool = &c->deployment->pools[view->pool];
        for (uint32_t at = 0; at < view->width; at++) {
            const gsrt_part *part = &c->fleet->parts[view->seats[at].part];
            bool is_stated = gsrt__check_is_usable(c, &part->power_max);
            d.part = view->seats[at].part;
            d.is_known = is_stated || pool->power_cap_w > 0;
            d.each = is_stated ? part->power_max.value : pool->power_cap_w;
            if (pool->power_cap_w > 0 && pool->power_cap_w < d.each)
                d.each = pool->power_cap_w;
            if (pool->power_cap_w > 0 && gsrt__check_is_usable(c, &part->power_idle) &&
                pool->power_cap_w <= part->power_idle.hi)
                gsrt__check_violate(c, &(gsrt_violation){.rule = "p3", .reason = GSRT_REASON_POWER},
                                    "pools[%u]: a cap of %g W, and '%s' draws %g W when it does nothing", view->pool,
                                    pool->power_cap_w, part->name, part->power_idle.hi);
            for (uint64_t r = 0; r < pool->replica_count && c->status == GSRT_OK; r++) {
                d.engine++;
                count_within(c, &d, &part->within, gsrt__check_instance(view, &view->seats[at], r), part->total);
            }
        }
    }
    for (uint32_t p = 0; p < c->fleet->place_count && c->status == GSRT_OK; p++) {
        if (d.watts[p] == NULL)
            continue;
        check_budget(c, p, &c->fleet->places[p].power_budget, GSRT_SUBJECT_POWER, d.watts[p]);
        check_budget(c, p, &c->fleet->places[p].cooling_budget, GSRT_SUBJECT_COOLING, d.watts[p]);
    }
}
