/* What a deployment takes besides time: power, money; and how soon something in it fails. */
#include <math.h>

#include "placement/cost_impl.h"

typedef struct upkeep {
    gsrt__term power, price, failures;
    bool is_set;
} upkeep;

static double engines_of(const gsrt_deployment_pool *pool, const gsrt_deployment_members *members)
{
    return (double)pool->replica_count * members->instance_count;
}

static void accumulate(gsrt__walk *walk, gsrt__term *sum, bool is_set, gsrt__term term, const char *name)
{
    *sum = is_set ? gsrt__derive2(walk, GSRT__EQUATION_SUM, name, *sum, term) : term;
}

/* Price of energy where a part stands: of the innermost place that states one. */
static gsrt_quantity energy_price_of(const gsrt_fleet *fleet, const gsrt_part *part, const char **out_place)
{
    for (uint32_t at = part->within.location; at != GSRT_FLEET_NONE; at = fleet->places[at].within.location) {
        *out_place = fleet->places[at].name;
        if (fleet->places[at].energy_price.is_known)
            return fleet->places[at].energy_price;
    }
    return (gsrt_quantity){0};
}

static void add_engines(gsrt__walk *walk, const gsrt_deployment_pool *pool, const gsrt_deployment_members *members,
                        gsrt__term busy, upkeep *sum)
{
    const gsrt_part *part = &walk->fleet->parts[members->part];
    const char *place = "";
    gsrt_quantity cap = pool->power_cap_w > 0 ? gsrt_quantity_exact(pool->power_cap_w, GSRT__WATT) : part->power_max;
    gsrt_quantity energy_price = energy_price_of(walk->fleet, part, &place);
    gsrt__term count = gsrt__counted(walk, "engines", engines_of(pool, members), GSRT__PLAIN);
    const gsrt__term inputs[] = {gsrt__input(walk, part->name, "power_idle", &part->power_idle),
                                 gsrt__input(walk, part->name, "power_max", &part->power_max), busy,
                                 gsrt__input(walk, part->name, "power at most", &cap), count};
    gsrt__term power = gsrt__derive(walk, GSRT__EQUATION_BUSY_POWER, "power of engines", inputs);
    gsrt__term price = gsrt__derive2(walk, GSRT__EQUATION_PRICE, "price of engines", count,
                                     gsrt__input(walk, part->name, "price", &part->price));
    if (energy_price.is_known)
        price = gsrt__derive2(walk, GSRT__EQUATION_SUM, "price of engines and their power", price,
                              gsrt__derive2(walk, GSRT__EQUATION_POWER_PRICE, "price of power", power,
                                            gsrt__input(walk, place, "energy_price", &energy_price)));
    gsrt__term failures = gsrt__derive2(walk, GSRT__EQUATION_FAILURES, "failures of engines", count,
                                        gsrt__input(walk, part->name, "mttf", &part->mttf));
    accumulate(walk, &sum->power, sum->is_set, power, "power");
    accumulate(walk, &sum->price, sum->is_set, price, "price");
    accumulate(walk, &sum->failures, sum->is_set, failures, "failures");
    sum->is_set = true;
}

/* ---- places and links: what fails together is counted once ---- */

/* Instances of a place that the deployment's engines stand in: from the first to the last. */
static double place_instances(const gsrt__walk *walk, uint32_t place)
{
    const gsrt_fleet *f = walk->fleet;
    const gsrt_deployment *d = walk->deployment;
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t p = 0; p < d->pool_count; p++) {
        for (uint32_t s = 0; d->pools[p].replica_count > 0 && s < d->pools[p].stage_count; s++) {
            for (uint32_t m = 0; m < d->pools[p].stages[s].member_count; m++) {
                const gsrt_deployment_members *members = &d->pools[p].stages[s].members[m];
                const gsrt_within *within = &f->parts[members->part].within;
                uint32_t at = within->location;
                bool is_in = false;
                for (; at != GSRT_FLEET_NONE && !is_in; at = f->places[at].within.location) {
                    is_in = at == place;
                    for (uint32_t k = 0; k < f->places[at].within.domain_count && !is_in; k++)
                        is_in = f->places[at].within.domains[k] == place;
                }
                for (uint32_t k = 0; k < within->domain_count && !is_in; k++)
                    is_in = within->domains[k] == place;
                if (!is_in)
                    continue;
                uint64_t total = f->parts[members->part].total, places = f->places[place].total;
                uint64_t begin = gsrt_deployment_instance(members, 0);
                uint64_t end =
                    gsrt_deployment_instance(members, d->pools[p].replica_count - 1) + members->instance_count - 1;
                end = end < total ? end : total - 1;
                begin = begin < total ? begin * places / total : places - 1;
                end = end * places / total;
                first = begin < first ? begin : first;
                last = end > last ? end : last;
            }
        }
    }
    return first == UINT64_MAX ? 0 : (double)(last - first + 1);
}

static double engines_of_part(const gsrt_deployment *d, uint32_t part)
{
    double count = 0;
    for (uint32_t p = 0; p < d->pool_count; p++) {
        for (uint32_t s = 0; s < d->pools[p].stage_count; s++) {
            for (uint32_t m = 0; m < d->pools[p].stages[s].member_count; m++) {
                if (d->pools[p].stages[s].members[m].part == part)
                    count += engines_of(&d->pools[p], &d->pools[p].stages[s].members[m]);
            }
        }
    }
    return count;
}

/* Places and the links that begin at engines, where they state an MTTF: what states none is not counted. */
static gsrt__term add_surroundings(gsrt__walk *walk, gsrt__term failures)
{
    const gsrt_fleet *f = walk->fleet;
    for (uint32_t i = 0; i < f->place_count; i++) {
        double count = f->places[i].mttf.is_known ? place_instances(walk, i) : 0;
        if (count == 0)
            continue;
        gsrt__term of_places = gsrt__derive2(walk, GSRT__EQUATION_FAILURES, "failures of places",
                                             gsrt__counted(walk, "places used", count, GSRT__PLAIN),
                                             gsrt__input(walk, f->places[i].name, "mttf", &f->places[i].mttf));
        failures = gsrt__derive2(walk, GSRT__EQUATION_SUM, "failures", failures, of_places);
    }
    for (uint32_t i = 0; i < f->link_count; i++) {
        const gsrt_link *link = &f->links[i];
        double count = link->mttf.is_known && f->parts[link->from].kind == GSRT_PART_ENGINE
                           ? engines_of_part(walk->deployment, link->from)
                           : 0;
        if (count == 0)
            continue;
        gsrt_quantity none = gsrt_quantity_exact(0, GSRT__PLAIN);
        const gsrt__term inputs[] = {
            gsrt__counted(walk, "links used", count, GSRT__PLAIN), gsrt__input(walk, link->name, "mttf", &link->mttf),
            gsrt__input(walk, link->name, "correlation", link->correlation.is_known ? &link->correlation : &none)};
        failures = gsrt__derive2(walk, GSRT__EQUATION_SUM, "failures", failures,
                                 gsrt__derive(walk, GSRT__EQUATION_OWN_FAILURES, "failures of links", inputs));
    }
    return failures;
}

void gsrt__upkeep(gsrt__walk *walk, const gsrt__load *loads, gsrt__term throughput, gsrt__term *out_power,
                  gsrt__term *out_energy, gsrt__term *out_cost, gsrt__term *out_mttf)
{
    const gsrt_deployment *d = walk->deployment;
    upkeep sum = {0};
    for (uint32_t p = 0; p < d->pool_count; p++) {
        gsrt__walk_at(walk, "pool %u: ", p);
        gsrt__term active = gsrt__counted(walk, "share of time in use", loads[p].activity, GSRT__PLAIN);
        gsrt__term busy =
            gsrt__derive2(walk, GSRT__EQUATION_PART, "busy", active, loads[p].busy[loads[p].does_decode ? 1 : 0]);
        for (uint32_t s = 0; s < d->pools[p].stage_count; s++) {
            for (uint32_t m = 0; m < d->pools[p].stages[s].member_count; m++)
                add_engines(walk, &d->pools[p], &d->pools[p].stages[s].members[m], busy, &sum);
        }
    }
    gsrt__walk_at(walk, "%s", "");
    sum.failures = add_surroundings(walk, sum.failures);
    *out_power = sum.power;
    *out_energy = gsrt__derive2(walk, GSRT__EQUATION_ENERGY, "energy of a token", sum.power, throughput);
    *out_cost = gsrt__derive2(walk, GSRT__EQUATION_MONEY, "cost of a token", sum.price, throughput);
    *out_mttf = gsrt__derive(walk, GSRT__EQUATION_MTTF, "time until something fails", &sum.failures);
}
