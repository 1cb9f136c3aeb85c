#include "placement/plan.h"
#include "placement/plan_choices.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stages, ranks and shares at their ceilings, twice over. */
enum { ARENA_BYTES_MAX = 4 << 20, PLACE_BYTES_MAX = 48, LIST_BYTES_MAX = 384 };

gsrt_plan *gsrt_plan_create(uint32_t stage_count)
{
    gsrt_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return NULL;
    gsrt_arena_init(&plan->arena, ARENA_BYTES_MAX);
    plan->stages = gsrt_arena_take(&plan->arena, stage_count, sizeof *plan->stages);
    if (plan->stages == NULL)
        return gsrt_plan_free(plan);
    plan->stage_count = stage_count;
    return plan;
}

gsrt_plan *gsrt_plan_free(gsrt_plan *plan)
{
    if (plan == NULL)
        return NULL;
    gsrt_arena_fini(&plan->arena);
    free(plan);
    return NULL;
}

gsrt_status gsrt_plan_narrow(gsrt_plan *plan, const gsrt_plan_narrowed *narrowed, uint32_t count)
{
    gsrt_plan_narrowed *copy = gsrt_arena_take(&plan->arena, count, sizeof *copy);
    if (copy == NULL)
        return GSRT_ENOMEM;
    if (count > 0)
        memcpy(copy, narrowed, count * sizeof *copy);
    plan->narrowed = copy;
    plan->narrowed_count = count;
    return GSRT_OK;
}

/* ---- check ---- */

typedef struct place {
    char text[PLACE_BYTES_MAX];
} place;

static place place_of(uint32_t stage, const char *key)
{
    place made;
    (void)snprintf(made.text, sizeof made.text, "plan.stages[%" PRIu32 "].%s", stage, key);
    return made;
}

static gsrt_status check_overlaps(const gsrt_plan *plan, const char *file, gsrt_diag *diag)
{
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const gsrt_plan_stage *stage = &plan->stages[s];
        if (stage->layer_first > stage->layer_last)
            return gsrt_diag_set(diag, GSRT_EINPUT, file, place_of(s, "layers").text,
                                 "first layer %" PRIu32 " is past the last, %" PRIu32
                                 "; 'layers: [first, last]' is inclusive",
                                 stage->layer_first, stage->layer_last);
        for (uint32_t t = 0; t < s; t++) {
            const gsrt_plan_stage *other = &plan->stages[t];
            if (stage->layer_first > other->layer_last || other->layer_first > stage->layer_last)
                continue;
            uint32_t shared = stage->layer_first > other->layer_first ? stage->layer_first : other->layer_first;
            return gsrt_diag_set(diag, GSRT_EINPUT, file, place_of(s, "layers").text,
                                 "layer %" PRIu32 " is already in plan.stages[%" PRIu32
                                 "]; give each layer to exactly one stage",
                                 shared, t);
        }
    }
    return GSRT_OK;
}

/* "layer 3" or "layers 3 to 5" */
static place layers_named(uint32_t first, uint32_t last)
{
    place made;
    if (first == last)
        (void)snprintf(made.text, sizeof made.text, "layer %" PRIu32 " is", first);
    else
        (void)snprintf(made.text, sizeof made.text, "layers %" PRIu32 " to %" PRIu32 " are", first, last);
    return made;
}

static gsrt_status check_layers(const gsrt_plan *plan, const gsrt_workload *workload, const char *file, gsrt_diag *diag)
{
    gsrt_status status = check_overlaps(plan, file, diag);
    uint32_t next = 0;
    for (uint32_t s = 0; s < plan->stage_count && status == GSRT_OK; s++) {
        const gsrt_plan_stage *stage = &plan->stages[s];
        if (s > 0 && stage->layer_first < plan->stages[s - 1].layer_first)
            status = gsrt_diag_set(diag, GSRT_EINPUT, file, place_of(s, "layers").text,
                                   "the stages are not in the order of their layers; sort them");
        else if (stage->layer_first > next)
            status = gsrt_diag_set(diag, GSRT_EINPUT, file, place_of(s, "layers").text,
                                   "%s in no stage; give each layer to exactly one stage",
                                   layers_named(next, stage->layer_first - 1).text);
        else if (workload != NULL && stage->layer_last >= workload->layer_count)
            status =
                gsrt_diag_set(diag, GSRT_EINPUT, file, place_of(s, "layers").text,
                              "layer %" PRIu32 " is past the model's last, %" PRIu32 " (it has %" PRIu32 " layers)",
                              stage->layer_last, workload->layer_count - 1, workload->layer_count);
        next = stage->layer_last + 1;
    }
    if (status == GSRT_OK && workload != NULL && next < workload->layer_count)
        status =
            gsrt_diag_set(diag, GSRT_EINPUT, file, "plan.stages",
                          "%s in no stage (the model has %" PRIu32 " layers); give each layer to exactly one stage",
                          layers_named(next, workload->layer_count - 1).text, workload->layer_count);
    return status;
}

static gsrt_status check_group(const gsrt_plan_stage *stage, uint32_t s, const char *file, gsrt_diag *diag)
{
    if (stage->member_count == 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, place_of(s, "ranks").text,
                             "the stage has no rank; name at least one");
    if (stage->member_count > GSRT_GROUP_RANKS_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, place_of(s, "ranks").text,
                             "%" PRIu32 " ranks; a stage has at most %d", stage->member_count, GSRT_GROUP_RANKS_MAX);
    for (uint32_t m = 0; m < stage->member_count; m++) {
        if (stage->shares[m] > 0)
            return GSRT_OK;
    }
    return gsrt_diag_set(diag, GSRT_EINPUT, file, place_of(s, "split").text,
                         "all shares are 0; give at least one rank a share of the stage");
}

/* owners[rank]: 0 = nobody yet, 1 + stage, or IS_SPARE. */
enum { IS_SPARE = GSRT_STAGE_COUNT_MAX + 1 };

static gsrt_status claim(uint16_t *owners, uint32_t rank, uint16_t owner, const char *where, const char *file,
                         gsrt_diag *diag)
{
    if (rank >= GSRT_RANK_COUNT_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, where,
                             "rank %" PRIu32 " is past the highest that is possible, %d", rank,
                             GSRT_RANK_COUNT_MAX - 1);
    if (owners[rank] == owner)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, where, "rank %" PRIu32 " is named twice; name it once", rank);
    if (owners[rank] == IS_SPARE)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, where,
                             "rank %" PRIu32 " is already a spare; give each rank one role", rank);
    if (owners[rank] != 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, where,
                             "rank %" PRIu32 " already belongs to plan.stages[%d]; give each rank one role", rank,
                             owners[rank] - 1);
    owners[rank] = owner;
    return GSRT_OK;
}

static gsrt_status check_ranks(const gsrt_plan *plan, uint32_t rank_count, const char *file, gsrt_diag *diag)
{
    uint16_t owners[GSRT_RANK_COUNT_MAX] = {0};
    uint32_t highest = 0;
    gsrt_status status = GSRT_OK;
    for (uint32_t s = 0; s < plan->stage_count && status == GSRT_OK; s++) {
        const gsrt_plan_stage *stage = &plan->stages[s];
        status = check_group(stage, s, file, diag);
        for (uint32_t m = 0; m < stage->member_count && status == GSRT_OK; m++) {
            status = claim(owners, stage->ranks[m], (uint16_t)(s + 1), place_of(s, "ranks").text, file, diag);
            highest = stage->ranks[m] > highest ? stage->ranks[m] : highest;
        }
    }
    for (uint32_t i = 0; i < plan->spare_count && status == GSRT_OK; i++) {
        status = claim(owners, plan->spares[i], IS_SPARE, "plan.spares", file, diag);
        highest = plan->spares[i] > highest ? plan->spares[i] : highest;
    }
    if (status == GSRT_OK && highest >= rank_count)
        status = gsrt_diag_set(diag, GSRT_EINFEASIBLE, file, "plan",
                               "the plan names rank %" PRIu32 " and so needs %" PRIu32 " ranks, but there %s %" PRIu32
                               "; start more ranks (mpirun -n %" PRIu32 ") or change the plan",
                               highest, highest + 1, rank_count == 1 ? "is" : "are", rank_count, highest + 1);
    return status;
}

const gsrt_dtype gsrt_plan_narrow_formats[GSRT_PLAN_NARROW_COUNT] = {GSRT_DTYPE_F16, GSRT_DTYPE_BF16, GSRT_DTYPE_Q8_0,
                                                                     GSRT_DTYPE_Q4_0};

bool gsrt_plan_is_narrow(gsrt_dtype dtype)
{
    for (size_t i = 0; i < GSRT_PLAN_NARROW_COUNT; i++)
        if (gsrt_plan_narrow_formats[i] == dtype)
            return true;
    return false;
}

static gsrt_status check_narrowed(const gsrt_plan *plan, const gsrt_workload *workload, const char *file,
                                  gsrt_diag *diag)
{
    for (uint32_t i = 0; i < plan->narrowed_count; i++) {
        const gsrt_plan_narrowed *narrowed = &plan->narrowed[i];
        char where[PLACE_BYTES_MAX];
        (void)snprintf(where, sizeof where, "plan.narrowed[%" PRIu32 "]", i);
        if (narrowed->place >= GSRT_PLAN_PLACE_COUNT || !gsrt_plan_is_narrow(narrowed->weights))
            return gsrt_diag_set(diag, GSRT_EINPUT, file, where,
                                 "is no region, or no format to narrow weights to; f16, bf16, q8_0 and q4_0 are");
        if (i > 0 && narrowed->place <= plan->narrowed[i - 1].place)
            return gsrt_diag_set(diag, GSRT_EINPUT, file, where,
                                 "is not after the one before; name each region once, in the model's order");
        bool is_layer = narrowed->place != GSRT_PLAN_EMBED && narrowed->place != GSRT_PLAN_OUTPUT;
        if (workload != NULL && is_layer && narrowed->place - GSRT_PLAN_LAYER >= workload->layer_count)
            return gsrt_diag_set(diag, GSRT_EINPUT, file, where, "layer %" PRIu32 " is past the model's last, %" PRIu32,
                                 narrowed->place - GSRT_PLAN_LAYER, workload->layer_count - 1);
    }
    return GSRT_OK;
}

gsrt_status gsrt_plan_check(const gsrt_plan *plan, const gsrt_workload *workload, uint32_t rank_count, const char *file,
                            gsrt_diag *diag)
{
    if (plan->stage_count == 0 || plan->stage_count > GSRT_STAGE_COUNT_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "plan.stages", "%" PRIu32 " stages; a plan has between 1 and %d",
                             plan->stage_count, GSRT_STAGE_COUNT_MAX);
    gsrt_status status = check_layers(plan, workload, file, diag);
    if (status == GSRT_OK)
        status = check_ranks(plan, rank_count, file, diag);
    return status == GSRT_OK ? check_narrowed(plan, workload, file, diag) : status;
}

/* ---- reading ---- */

bool gsrt_plan_role_of(const gsrt_plan *plan, uint32_t rank, uint32_t *out_stage, uint32_t *out_member)
{
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        for (uint32_t m = 0; m < plan->stages[s].member_count; m++) {
            if (plan->stages[s].ranks[m] != rank)
                continue;
            *out_stage = s;
            *out_member = m;
            return true;
        }
    }
    return false;
}

gsrt_plan_kv gsrt_plan_kv_of(const gsrt_plan *plan, const gsrt_workload *workload, uint32_t stage, uint32_t member)
{
    const gsrt_plan_stage *s = &plan->stages[stage];
    uint32_t first[GSRT_GROUP_RANKS_MAX + 1];
    gsrt_plan_kv kv = {.layer_first = s->layer_first, .layer_count = s->layer_last - s->layer_first + 1};
    gsrt_apportion(workload->head_count, s->shares, s->member_count, first);
    if (first[member] < first[member + 1]) {
        kv.head_first = gsrt_kv_head_of(workload, first[member]);
        kv.head_count = gsrt_kv_head_of(workload, first[member + 1] - 1) + 1 - kv.head_first;
    }
    return kv;
}

void gsrt_plan_move(gsrt_plan *plan, uint32_t stage, uint32_t member, uint32_t rank)
{
    uint32_t before = plan->stages[stage].ranks[member];
    plan->stages[stage].ranks[member] = rank;
    for (uint32_t i = 0; i < plan->spare_count && rank != before; i++) {
        if (plan->spares[i] == rank)
            plan->spares[i] = before;
    }
}

uint32_t gsrt_plan_rank_count(const gsrt_plan *plan)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        for (uint32_t m = 0; m < plan->stages[s].member_count; m++)
            count = plan->stages[s].ranks[m] >= count ? plan->stages[s].ranks[m] + 1 : count;
    }
    for (uint32_t i = 0; i < plan->spare_count; i++)
        count = plan->spares[i] >= count ? plan->spares[i] + 1 : count;
    return count;
}

const char *gsrt_exchange_name(gsrt_exchange exchange)
{
    static const char *const names[] = {
        [GSRT_EXCHANGE_AUTO] = "auto",
        [GSRT_EXCHANGE_GATHER] = "gather",
        [GSRT_EXCHANGE_REDUCE] = "reduce",
        [GSRT_EXCHANGE_SCATTER] = "scatter",
    };
    return names[exchange];
}

/* ---- print ---- */

/* Numbers separated by `separator`; a list that does not fit ends in "...". */
static void list_numbers(char text[LIST_BYTES_MAX], const uint32_t *numbers, uint32_t count, const char *separator)
{
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (used > LIST_BYTES_MAX - 20) {
            (void)snprintf(text + used, LIST_BYTES_MAX - used, "...");
            return;
        }
        int n = snprintf(text + used, LIST_BYTES_MAX - used, "%s%" PRIu32, i == 0 ? "" : separator, numbers[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

static gsrt_status print_stage(const gsrt_plan *plan, const gsrt_workload *workload, uint32_t s, gsrt_buffer *out)
{
    const gsrt_plan_stage *stage = &plan->stages[s];
    uint32_t count = stage->member_count < GSRT_GROUP_RANKS_MAX ? stage->member_count : GSRT_GROUP_RANKS_MAX;
    char layers[32], ranks[LIST_BYTES_MAX], split[LIST_BYTES_MAX], heads[LIST_BYTES_MAX] = "";
    if (stage->layer_first == stage->layer_last)
        (void)snprintf(layers, sizeof layers, "%" PRIu32, stage->layer_first);
    else
        (void)snprintf(layers, sizeof layers, "%" PRIu32 "-%" PRIu32, stage->layer_first, stage->layer_last);
    list_numbers(ranks, stage->ranks, count, ",");
    if (count == 1)
        return gsrt_buffer_print(out, "stage %-3" PRIu32 " layers %-9s ranks %s\n", s, layers, ranks);
    list_numbers(split, stage->shares, count, ":");
    if (workload != NULL) {
        uint32_t first[GSRT_GROUP_RANKS_MAX + 1], units[GSRT_GROUP_RANKS_MAX];
        gsrt_apportion(workload->head_count, stage->shares, count, first);
        for (uint32_t m = 0; m < count; m++)
            units[m] = first[m + 1] - first[m];
        list_numbers(heads, units, count, "+");
    }
    return gsrt_buffer_print(out, "stage %-3" PRIu32 " layers %-9s ranks %-11s split %s%s%s\n", s, layers, ranks, split,
                             heads[0] == 0 ? "" : "  heads ", heads);
}

gsrt_status gsrt_plan_print(const gsrt_plan *plan, const gsrt_workload *workload, gsrt_buffer *out)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t s = 0; s < plan->stage_count && status == GSRT_OK; s++)
        status = print_stage(plan, workload, s, out);
    if (status == GSRT_OK && plan->spare_count > 0) {
        char spares[LIST_BYTES_MAX];
        list_numbers(spares, plan->spares, plan->spare_count, ",");
        status = gsrt_buffer_print(out, "spare ranks %s\n", spares);
    }
    for (uint32_t i = 0; i < plan->narrowed_count && status == GSRT_OK; i++) {
        char room[GSRT_PLAN_PLACE_NAME_BYTES];
        status = gsrt_buffer_print(out, "%s%s %s", i == 0 ? "narrowed  " : ", ",
                                   gsrt_plan_place_name(plan->narrowed[i].place, room),
                                   gsrt_dtype_name(plan->narrowed[i].weights));
    }
    if (status == GSRT_OK && plan->narrowed_count > 0)
        status = gsrt_buffer_print(out, "\n");
    return status;
}
