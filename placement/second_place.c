#include "placement/second_place.h"

#include <string.h>

/* Less is better; compared field by field. */
typedef struct rating {
    bool is_same_host, has_role;
    uint32_t burden; /* whose second place it is already */
} rating;

static bool is_better(const rating *a, const rating *b)
{
    if (a->is_same_host != b->is_same_host)
        return !a->is_same_host;
    if (a->has_role != b->has_role)
        return !a->has_role;
    return a->burden < b->burden;
}

void gsrt_plan_second_places(const gsrt_plan *plan, const char *const *hosts, const bool *is_there, uint32_t rank_count,
                             uint32_t *out)
{
    uint32_t burdens[GSRT_RANK_COUNT_MAX] = {0}, stage, member;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        rating best = {0};
        out[rank] = GSRT_NO_PLACE;
        if (!gsrt_plan_role_of(plan, rank, &stage, &member))
            continue;
        for (uint32_t i = 1; i < rank_count; i++) {
            uint32_t other = (rank + i) % rank_count;
            rating r = {.is_same_host = hosts != NULL && strcmp(hosts[rank], hosts[other]) == 0,
                        .has_role = gsrt_plan_role_of(plan, other, &stage, &member),
                        .burden = burdens[other]};
            if (!is_there[other] || (out[rank] != GSRT_NO_PLACE && !is_better(&r, &best)))
                continue;
            best = r;
            out[rank] = other;
        }
        if (out[rank] != GSRT_NO_PLACE)
            burdens[out[rank]] += 1;
    }
}
