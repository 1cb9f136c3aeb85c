/* The keys of a scenario's moves. */
#include "base/limits.h"
#include "launch/scenario_impl.h"

#include "placement/fallback.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { WHAT_BYTES = 96 };

static gsrt_status read_when(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__scenario_read_moment(reader, node, &((gsrt_scenario_move *)object)->when);
}

static const gsrt_yaml_field move_fields[] = {
    {"stage", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario_move, stage), 0, GSRT_STAGE_COUNT_MAX - 1, NULL, "0"},
    {"member", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario_move, member), 0, GSRT_GROUP_RANKS_MAX - 1, NULL, "0"},
    {"to", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario_move, to), 0, GSRT_RANK_COUNT_MAX - 1, NULL, "RANK"},
    {"when", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_when, "{seconds: 1}"},
};

static gsrt_status read_move(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return GSRT_YAML_READ_FIELDS(reader, node, move_fields, object);
}

gsrt_status gsrt__scenario_read_moves(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_scenario *scenario = object;
    void *items;
    gsrt_status status = gsrt_yaml_read_items(reader, node, &scenario->arena, sizeof *scenario->moves, 0,
                                              GSRT_MOVE_COUNT_MAX, read_move, &items, &scenario->move_count);
    if (status == GSRT_OK)
        scenario->moves = items;
    return status;
}

/* What is wrong with `move`, and the key at fault; NULL: nothing. `plan`: as the moves before this one have left it.
 * Where the scenario has faults, nobody knows who has which role by then: it is found out when the move is due. */
static const char *fault_of(const gsrt_scenario *scenario, const gsrt_scenario_move *move, const gsrt_plan *plan,
                            char *what, size_t size)
{
    uint32_t stage, member;
    if (move->stage >= plan->stage_count) {
        (void)snprintf(what, size, "the plan has no stage %" PRIu32 "; the last one is %" PRIu32, move->stage,
                       plan->stage_count - 1);
        return "stage";
    }
    if (move->member >= plan->stages[move->stage].member_count) {
        (void)snprintf(what, size, "stage %" PRIu32 " has no member %" PRIu32 "; the last one is %" PRIu32, move->stage,
                       move->member, plan->stages[move->stage].member_count - 1);
        return "member";
    }
    if (scenario->fault_count == 0 && gsrt_plan_role_of(plan, move->to, &stage, &member)) {
        (void)snprintf(what, size,
                       "rank %" PRIu32 " has stage %" PRIu32 " member %" PRIu32 " by then; name a rank without a role",
                       move->to, stage, member);
        return "to";
    }
    return NULL;
}

static gsrt_status check_move(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const gsrt_scenario_move *move,
                              gsrt_plan *plan)
{
    char what[WHAT_BYTES];
    const char *key = fault_of(gsrt__scenario_of(reader), move, plan, what, sizeof what);
    if (key != NULL)
        return gsrt_yaml_refuse_key(reader, node, key, "%s", what);
    gsrt_plan_move(plan, move->stage, move->member, move->to);
    return GSRT_OK;
}

/* plan NULL: it is still to be made, and looked at with it (gsrt_scenario_check_moves). */
static gsrt_status check_list(gsrt_yaml_reader *reader, const gsrt_yaml_node *list, gsrt_plan *plan)
{
    gsrt_status status = GSRT_OK;
    const gsrt_yaml_node *child = list->child_first;
    for (uint32_t i = 0; child != NULL && status == GSRT_OK; i++, child = child->next) {
        const gsrt_scenario_move *move = &gsrt__scenario_of(reader)->moves[i];
        size_t mark = gsrt_yaml_path_enter(reader, NULL, i);
        status = gsrt__scenario_check_moment(reader, child, &move->when);
        if (status == GSRT_OK && plan != NULL)
            status = check_move(reader, child, move, plan);
        gsrt_yaml_path_leave(reader, mark);
    }
    return status;
}

gsrt_status gsrt__scenario_check_moves(gsrt_yaml_reader *reader, const gsrt_yaml_node *root)
{
    const gsrt_yaml_node *list = gsrt_yaml_find(root, "moves");
    const gsrt_scenario *scenario = gsrt__scenario_of(reader);
    gsrt_plan *plan = NULL;
    if (scenario->move_count == 0)
        return GSRT_OK;
    gsrt_status status = scenario->plan == NULL ? GSRT_OK : gsrt_plan_copy(scenario->plan, &plan);
    if (status != GSRT_OK)
        return status;
    size_t mark = gsrt_yaml_path_enter(reader, "moves", 0);
    status = check_list(reader, list, plan);
    gsrt_yaml_path_leave(reader, mark);
    gsrt_plan_free(plan);
    return status;
}

/* plan NULL: as above. */
static gsrt_status check_against(const gsrt_scenario *scenario, uint32_t rank_count, gsrt_plan *plan, gsrt_diag *diag)
{
    for (uint32_t i = 0; i < scenario->move_count; i++) {
        const gsrt_scenario_move *move = &scenario->moves[i];
        char place[32], what[WHAT_BYTES];
        (void)snprintf(place, sizeof place, "moves[%" PRIu32 "]", i);
        if (move->to >= rank_count)
            return gsrt_diag_set(diag, GSRT_EINFEASIBLE, scenario->file, place,
                                 "names rank %" PRIu32 " and so needs %" PRIu32 " ranks, but there %s %" PRIu32
                                 "; start more ranks (mpirun -n %" PRIu32 ") or name another",
                                 move->to, move->to + 1, rank_count == 1 ? "is" : "are", rank_count, move->to + 1);
        if (plan == NULL)
            continue;
        const char *key = fault_of(scenario, move, plan, what, sizeof what);
        if (key != NULL) {
            (void)snprintf(place, sizeof place, "moves[%" PRIu32 "].%s", i, key);
            return gsrt_diag_set(diag, GSRT_EINFEASIBLE, scenario->file, place, "%s; 'gsrt plan' shows who has which",
                                 what);
        }
        gsrt_plan_move(plan, move->stage, move->member, move->to);
    }
    return GSRT_OK;
}

gsrt_status gsrt_scenario_check_moves(const gsrt_scenario *scenario, uint32_t rank_count, gsrt_diag *diag)
{
    gsrt_plan *plan = NULL;
    if (scenario->move_count == 0)
        return GSRT_OK;
    gsrt_status status = scenario->plan == NULL ? GSRT_OK : gsrt_plan_copy(scenario->plan, &plan);
    if (status == GSRT_OK)
        status = check_against(scenario, rank_count, plan, diag);
    gsrt_plan_free(plan);
    return status;
}
