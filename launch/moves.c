#include "launch/moves.h"

#include "base/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what became of them ---- */

static gsrt_status keep(gsrt_moves *m, const gsrt_report_move *move)
{
    gsrt_report_move *done = realloc(m->done, (m->done_count + 1) * sizeof *done);
    if (done == NULL)
        return GSRT_ENOMEM;
    m->done = done;
    m->done[m->done_count++] = *move;
    if (move->outcome == GSRT_MOVE_DONE)
        gsrt_plan_move(m->plan, move->stage, move->member, move->to);
    return GSRT_OK;
}

static gsrt_status write_line(gsrt_moves *m, const gsrt_report_move *move, gsrt_diag *diag)
{
    int descriptor;
    gsrt_buffer line;
    gsrt_buffer_init(&line, GSRT_TOKEN_LINE_BYTES_MAX);
    gsrt_status status = gsrt_move_write_line(move, &line);
    if (status == GSRT_OK)
        status = gsrt_run_directory_append_file(m->directory, "moves.jsonl", &descriptor, diag);
    if (status == GSRT_OK) {
        if (write(descriptor, line.data, line.len) != (ssize_t)line.len)
            status = gsrt_diag_set(diag, GSRT_EIO, gsrt_run_directory_path(m->directory), "moves.jsonl",
                                   "cannot be written: %s", strerror(errno));
        (void)close(descriptor);
    }
    gsrt_buffer_fini(&line);
    return status;
}

static void remove_order(gsrt_moves *m)
{
    char path[GSRT_PATH_BYTES_MAX + 8];
    (void)snprintf(path, sizeof path, "%s/move", gsrt_run_directory_path(m->directory));
    (void)unlink(path);
    m->has_order = false;
}

/* A record that is missing is said; the move is as good. */
static void conclude(gsrt_moves *m, const gsrt_report_move *move)
{
    gsrt_diag diag = {0};
    gsrt_status status = keep(m, move);
    if (status == GSRT_OK)
        status = write_line(m, move, &diag);
    if (status != GSRT_OK)
        gsrt_terminal_note(m->terminal, "a move is not recorded: %s",
                           diag.status != GSRT_OK ? diag.text : gsrt_status_text(status));
    gsrt_terminal_move(m->terminal, move);
    if (move->order != 0)
        remove_order(m);
}

static gsrt_report_move record_of(const gsrt_move *move, uint32_t from, gsrt_move_outcome outcome)
{
    return (gsrt_report_move){.stage = move->stage,
                              .member = move->member,
                              .from = from,
                              .to = move->to,
                              .outcome = outcome,
                              .pause_ms = -1,
                              .order = move->order};
}

void gsrt_moves_done(gsrt_moves *m, uint64_t pause_ns, uint64_t bytes)
{
    gsrt_report_move record = record_of(&m->now, m->from, GSRT_MOVE_DONE);
    record.pause_ms = (double)(pause_ns / 1000) / 1e3;
    record.bytes = bytes;
    m->is_going_on = false;
    if (m->last != NULL)
        gsrt_plan_move(m->last, record.stage, record.member, record.to);
    conclude(m, &record);
}

void gsrt_moves_failed(gsrt_moves *m, bool is_refused, const char *why)
{
    if (!m->is_going_on)
        return;
    gsrt_report_move record = record_of(&m->now, m->from, is_refused ? GSRT_MOVE_REFUSED : GSRT_MOVE_ABANDONED);
    (void)snprintf(record.why, sizeof record.why, "%s", why);
    m->is_going_on = false;
    m->is_way_back_refused |= m->now.is_way_back && is_refused;
    conclude(m, &record);
}

/* ---- when ---- */

void gsrt_moves_skip(gsrt_moves *m, const uint32_t *token_counts, uint32_t request_count, uint64_t run_ns,
                     uint32_t epoch)
{
    for (uint32_t i = 0; i < m->scenario->move_count; i++) {
        if (gsrt_moment_is_past(&m->scenario->moves[i].when, token_counts, request_count, run_ns, epoch))
            m->states[i] = GSRT__MOVE_PAST;
    }
}

void gsrt_moves_token(gsrt_moves *m, uint32_t request, uint32_t token_count)
{
    for (uint32_t i = 0; i < m->scenario->move_count; i++) {
        if (m->states[i] == GSRT__MOVE_WAITING &&
            gsrt_moment_has_come_by_token(&m->scenario->moves[i].when, request, token_count))
            m->states[i] = GSRT__MOVE_DUE;
    }
}

void gsrt_moves_time(gsrt_moves *m, uint64_t run_ns)
{
    for (uint32_t i = 0; i < m->scenario->move_count; i++) {
        if (m->states[i] == GSRT__MOVE_WAITING && gsrt_moment_has_come_by_time(&m->scenario->moves[i].when, run_ns))
            m->states[i] = GSRT__MOVE_DUE;
    }
}

void gsrt_moves_view(gsrt_moves *m, uint32_t epoch)
{
    for (uint32_t i = 0; i < m->scenario->move_count; i++) {
        if (m->states[i] == GSRT__MOVE_WAITING && gsrt_moment_has_come_by_view(&m->scenario->moves[i].when, epoch))
            m->states[i] = GSRT__MOVE_DUE;
    }
}

uint64_t gsrt_moves_next_ns(const gsrt_moves *m)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < m->scenario->move_count; i++) {
        const gsrt_moment *when = &m->scenario->moves[i].when;
        if (m->states[i] == GSRT__MOVE_WAITING && when->kind == GSRT_MOMENT_TIME && when->at_ns < next)
            next = when->at_ns;
    }
    return next;
}

void gsrt_moves_look(gsrt_moves *m)
{
    gsrt_diag diag = {0};
    if (m->has_order)
        return;
    gsrt_status status = gsrt_move_read_order(m->directory, &m->order, &diag);
    m->has_order = status == GSRT_OK;
    if (status == GSRT_OK || status == GSRT_ENOTFOUND)
        return;
    gsrt_terminal_note(m->terminal, "%s", diag.status != GSRT_OK ? diag.text : gsrt_status_text(status));
    remove_order(m);
}

/* ---- the plan of a view ---- */

/* Everybody who has a role in the plan that is carried out is still there, as the same incarnation. */
static bool has_lost_nobody(const gsrt_moves *m, uint32_t epoch, const uint32_t *incarnations, uint32_t rank_count)
{
    if (m->last == NULL || m->last_epoch + 1 != epoch || !gsrt_plan_has_layout_of(m->last, m->plan))
        return false;
    for (uint32_t s = 0; s < m->last->stage_count; s++) {
        for (uint32_t i = 0; i < m->last->stages[s].member_count; i++) {
            uint32_t rank = m->last->stages[s].ranks[i];
            if (rank >= rank_count || incarnations[rank] == GSRT_NOT_A_MEMBER ||
                incarnations[rank] != m->last_members[rank])
                return false;
        }
    }
    return true;
}

gsrt_status gsrt_moves_choose(const gsrt_moves *m, uint32_t epoch, const uint32_t *incarnations, uint32_t rank_count,
                              gsrt_plan **out, gsrt_way *out_way)
{
    bool is_there[GSRT_RANK_COUNT_MAX];
    for (uint32_t rank = 0; rank < rank_count; rank++)
        is_there[rank] = incarnations[rank] != GSRT_NOT_A_MEMBER;
    const gsrt_plan *full = has_lost_nobody(m, epoch, incarnations, rank_count) ? m->last : m->plan;
    return gsrt_plan_without(full, is_there, rank_count, out, out_way);
}

gsrt_status gsrt_moves_begun(gsrt_moves *m, const gsrt_plan *plan, uint32_t epoch, const uint32_t *incarnations,
                             uint32_t rank_count)
{
    gsrt_plan *copy;
    gsrt_status status = gsrt_plan_copy(plan, &copy);
    if (status != GSRT_OK)
        return status;
    gsrt_plan_free(m->last);
    m->last = copy;
    m->last_epoch = epoch;
    memcpy(m->last_members, incarnations, rank_count * sizeof *incarnations);
    m->is_way_back_refused = false;
    return GSRT_OK;
}

/* ---- which ---- */

const char *gsrt_move_why_not(const gsrt_move *move, const gsrt_plan *plan, const gsrt_plan *full,
                              const bool *is_member, uint32_t rank_count, char *room, size_t room_bytes)
{
    uint32_t stage, member;
    if (!gsrt_plan_has_layout_of(plan, full))
        return "the survivors of a failure have divided the work anew";
    if (move->stage >= plan->stage_count || move->member >= plan->stages[move->stage].member_count)
        return "the plan has no such stage and member";
    if (move->to >= rank_count || !is_member[move->to])
        (void)snprintf(room, room_bytes, "rank %" PRIu32 " is not there", move->to);
    else if (gsrt_plan_role_of(plan, move->to, &stage, &member))
        (void)snprintf(room, room_bytes, "rank %" PRIu32 " has stage %" PRIu32 " member %" PRIu32, move->to, stage,
                       member);
    else
        return NULL;
    return room;
}

/* A role whose own rank is there, without one, while another has it. */
static bool take_way_back(const gsrt_moves *m, const gsrt_plan *plan, const bool *is_member, uint32_t rank_count,
                          gsrt_move *out)
{
    uint32_t stage, member;
    if (m->is_way_back_refused || !gsrt_plan_has_layout_of(plan, m->plan))
        return false;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        for (uint32_t i = 0; i < plan->stages[s].member_count; i++) {
            uint32_t own = m->plan->stages[s].ranks[i];
            if (own >= rank_count || !is_member[own] || gsrt_plan_role_of(plan, own, &stage, &member))
                continue;
            *out = (gsrt_move){.stage = s, .member = i, .to = own, .is_way_back = true};
            return true;
        }
    }
    return false;
}

static bool take_due(gsrt_moves *m, gsrt_move *out)
{
    for (uint32_t i = 0; i < m->scenario->move_count; i++) {
        const gsrt_scenario_move *asked = &m->scenario->moves[i];
        if (m->states[i] != GSRT__MOVE_DUE)
            continue;
        m->states[i] = GSRT__MOVE_PAST;
        *out = (gsrt_move){.stage = asked->stage, .member = asked->member, .to = asked->to};
        return true;
    }
    if (m->has_order)
        *out = m->order;
    return m->has_order;
}

bool gsrt_moves_begin(gsrt_moves *m, const gsrt_plan *plan, const bool *is_member, uint32_t rank_count, gsrt_move *out)
{
    char room[GSRT_MOVE_WHY_BYTES];
    while (!m->is_going_on && (take_due(m, &m->now) || take_way_back(m, plan, is_member, rank_count, &m->now))) {
        const char *why_not =
            gsrt_move_why_not(&m->now, plan, m->scenario->plan, is_member, rank_count, room, sizeof room);
        bool is_role = m->now.stage < plan->stage_count && m->now.member < plan->stages[m->now.stage].member_count;
        m->from = is_role ? plan->stages[m->now.stage].ranks[m->now.member] : m->now.to;
        m->is_going_on = true;
        if (why_not != NULL)
            gsrt_moves_failed(m, true, why_not);
        else
            *out = m->now;
    }
    return m->is_going_on;
}

/* ---- life ---- */

static bool fits(const gsrt_moves *m, const gsrt_report_move *move)
{
    uint32_t stage, member;
    if (move->outcome != GSRT_MOVE_DONE)
        return true;
    return move->stage < m->plan->stage_count && move->member < m->plan->stages[move->stage].member_count &&
           move->to < GSRT_RANK_COUNT_MAX &&
           (!gsrt_plan_role_of(m->plan, move->to, &stage, &member) || (stage == move->stage && member == move->member));
}

/* A resumed run may have other ranks, and so another plan: what does not fit it is left out. A torn last line is cut
 * off: nobody has acted on it. */
static gsrt_status take_up(gsrt_moves *m, gsrt_span bytes, gsrt_diag *diag)
{
    const uint8_t *at = bytes.data, *end = bytes.data + bytes.len, *line_end;
    gsrt_status status = GSRT_OK;
    for (; at < end && status == GSRT_OK; at = line_end + 1) {
        gsrt_report_move move;
        line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL)
            return gsrt_run_directory_write(m->directory, "moves.jsonl",
                                            gsrt_span_of(bytes.data, (size_t)(at - bytes.data)), diag);
        status = gsrt_move_read_line(gsrt_span_of(at, (size_t)(line_end - at)), &move, diag);
        if (status == GSRT_OK && fits(m, &move))
            status = keep(m, &move);
    }
    return status;
}

gsrt_status gsrt_moves_open(gsrt_moves *m, const gsrt_scenario *scenario, gsrt_run_directory *directory,
                            gsrt_terminal *terminal, gsrt_diag *diag)
{
    gsrt_moves_fini(m);
    *m = (gsrt_moves){.scenario = scenario, .directory = directory, .terminal = terminal};
    m->states = calloc(scenario->move_count + 1, sizeof *m->states);
    m->last_members = calloc(GSRT_RANK_COUNT_MAX, sizeof *m->last_members);
    gsrt_status status =
        m->states == NULL || m->last_members == NULL ? GSRT_ENOMEM : gsrt_plan_copy(scenario->plan, &m->plan);
    if (status != GSRT_OK)
        return status;
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, GSRT_JSON_BYTES_MAX);
    status = gsrt_run_directory_read(directory, "moves.jsonl", &bytes, diag);
    if (status == GSRT_OK)
        status = take_up(m, gsrt_buffer_span(&bytes), diag);
    else if (status == GSRT_ENOTFOUND)
        status = GSRT_OK;
    gsrt_buffer_fini(&bytes);
    return status;
}

void gsrt_moves_fini(gsrt_moves *m)
{
    gsrt_plan_free(m->plan);
    gsrt_plan_free(m->last);
    free(m->last_members);
    free(m->states);
    free(m->done);
    *m = (gsrt_moves){0};
}
