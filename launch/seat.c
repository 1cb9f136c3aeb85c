#include "launch/seat.h"

/* ---- on the leader ---- */

static gsrt_membership_fence fenced(void *arg, uint64_t now_ns)
{
    const gsrt_seat *seat = arg;
    return gsrt_member_fenced(&seat->member, now_ns);
}

static gsrt_status begin_emitting(void *arg, gsrt_diag *diag)
{
    gsrt_seat *seat = arg;
    return gsrt_outcome_begin_emitting(&seat->outcome, diag);
}

static gsrt_status on_violation(void *arg, const gsrt_violation_seen *seen, gsrt_diag *diag)
{
    gsrt_seat *seat = arg;
    return gsrt_outcome_violated(&seat->outcome, seen, seat->rank.epoch, diag);
}

static void all_is_done(void *arg)
{
    gsrt_seat *seat = arg;
    if (seat->is_concluding)
        return; /* a view change came in between: the report is being made already */
    seat->is_concluding = true;
    seat->options.conclude(seat->options.arg);
}

static gsrt_status lead(void *arg, gsrt_rank *rank, gsrt_address *out, gsrt_diag *diag)
{
    gsrt_seat *seat = arg;
    gsrt_outcome *outcome = &seat->outcome;
    const char *path = seat->options.directory(seat->options.arg);
    gsrt_status status = gsrt_outcome_open(outcome, rank->epoch, path, diag);
    if (status == GSRT_OK && path == NULL)
        status = seat->options.on_created(seat->options.arg, gsrt_run_directory_path(outcome->directory));
    if (status != GSRT_OK)
        return status;
    gsrt_gateway_options options = {.rank = rank,
                                    .answers = &outcome->answers,
                                    .directory = seat->options.is_twin /* traces must not tell where they lie */
                                                     ? "run"
                                                     : gsrt_run_directory_path(outcome->directory),
                                    .diag = diag,
                                    .scheduler_facts = &outcome->scheduler_facts,
                                    .accounts = outcome->accounts,
                                    .ready_ns = &outcome->ready_ns,
                                    .done_ns = &outcome->done_ns,
                                    .fenced = fenced,
                                    .begin_emitting = begin_emitting,
                                    .on_violation = on_violation,
                                    .on_done = all_is_done,
                                    .snapshots = &outcome->snapshots,
                                    .replicas = &outcome->replicas,
                                    .moves = &outcome->moves,
                                    .healing = &seat->healing,
                                    .watch = &outcome->watch,
                                    .arg = seat};
    return gsrt_gateway_start(&options, out);
}

/* ---- every rank ---- */

static gsrt_status open_files(void *arg, const char *directory, gsrt_diag *diag)
{
    gsrt_seat *seat = arg;
    return seat->options.on_start(seat->options.arg, directory, diag);
}

static void cut_off(void *arg, const uint32_t *sides, uint32_t duration_ms)
{
    const gsrt_seat *seat = arg;
    if (seat->options.on_cut_off != NULL)
        seat->options.on_cut_off(seat->options.arg, sides, duration_ms);
}

static void tell_fenced(void *arg)
{
    const gsrt_seat *seat = arg;
    if (seat->options.on_fenced != NULL)
        seat->options.on_fenced(seat->options.arg);
}

static void give_up(void *arg, const char *why)
{
    gsrt_seat *seat = arg;
    gsrt_status status =
        gsrt_diag_set(&seat->diag, GSRT_EQUORUM, NULL, NULL, "rank %u gives up: %s", gsrt_node_rank(seat->node), why);
    gsrt_node_finish(seat->node, gsrt_exit_code(status));
}

static void end_this_incarnation(void *arg)
{
    const gsrt_seat *seat = arg;
    gsrt_node_finish(seat->node, GSRT_EXIT_AGAIN);
}

static uint64_t join_wait_ns(void *arg, gsrt_actor *self, const gsrt_keeper_word *word)
{
    return gsrt_healing_join_wait_ns(&((gsrt_seat *)arg)->healing, self, word);
}

static void on_event(void *arg, const gsrt_membership_event *event)
{
    gsrt_healing_on_event(&((gsrt_seat *)arg)->healing, event);
}

static void on_action(void *arg, const gsrt_membership_action *action, uint64_t now_ns)
{
    gsrt_seat *seat = arg;
    if (seat->options.on_membership != NULL)
        seat->options.on_membership(seat->options.arg, action);
    gsrt_healing_on_action(&seat->healing, action, now_ns);
}

static gsrt_status start_member(gsrt_seat *seat)
{
    gsrt_member_options member = gsrt_member_options_of(seat->options.scenario->contact_ms);
    member.machine.incarnation = seat->options.incarnation;
    member.keepers = seat->options.keepers;
    member.root = seat->rank.root;
    member.hooks = (gsrt_member_hooks){.arg = seat,
                                       .join_wait_ns = join_wait_ns,
                                       .on_event = on_event,
                                       .on_action = on_action,
                                       .on_exit = end_this_incarnation,
                                       .on_fenced = tell_fenced,
                                       .on_lost = give_up};
    return gsrt_member_start(&seat->member, seat->node, &member);
}

gsrt_status gsrt_seat_start(gsrt_seat *seat, gsrt_node *node, const gsrt_seat_options *o)
{
    *seat = (gsrt_seat){.options = *o,
                        .node = node,
                        .outcome = {.options = o->options,
                                    .scenario = o->scenario,
                                    .loaded = o->loaded,
                                    .is_twin = o->is_twin,
                                    .process = gsrt_node_rank(node) << 8 | o->incarnation,
                                    .terminal_options = o->terminal,
                                    .rank_count = gsrt_node_rank_count(node),
                                    .hosts = o->hosts,
                                    .start_ns = o->start_ns,
                                    .ucx = o->ucx}};
    gsrt_rank_options rank = {.is_twin = o->is_twin,
                              .is_numeric = o->scenario->is_numeric_in_twin,
                              .load_ns = o->load_ns,
                              .keepers = o->keepers,
                              .known_directory = o->known_directory,
                              .on_start = open_files,
                              .on_lead = lead,
                              .on_cut_off = cut_off,
                              .arg = seat};
    gsrt_status status = gsrt_outcome_prepare(&seat->outcome, &seat->diag);
    seat->outcome.answers.on_token = o->on_token;
    seat->outcome.answers.on_token_arg = o->arg;
    if (status == GSRT_OK)
        status = gsrt_rank_start(&seat->rank, node, o->scenario, o->loaded, &rank, &seat->diag);
    gsrt_healing_options healing = {.scenario = o->scenario,
                                    .node = node,
                                    .outcome = &seat->outcome,
                                    .member = &seat->member,
                                    .keepers = o->keepers,
                                    .arg = o->arg,
                                    .do_fault = o->do_fault};
    if (status == GSRT_OK)
        status = gsrt_healing_init(&seat->healing, &healing);
    return status == GSRT_OK ? start_member(seat) : status;
}

void gsrt_seat_stop(gsrt_seat *seat)
{
    gsrt_rank_stop(&seat->rank);
    gsrt_member_fini(&seat->member);
    gsrt_healing_fini(&seat->healing);
    gsrt_outcome_fini(&seat->outcome);
}

bool gsrt_seat_is_leading(const gsrt_seat *seat)
{
    return seat->outcome.led_epoch != 0 && seat->outcome.led_epoch == seat->rank.epoch;
}

/* A rank that gives up, or is asked to end, may have been cut off from those who finished. */
static bool has_another_reported(const gsrt_seat *seat)
{
    gsrt_buffer report;
    gsrt_diag diag = {0};
    gsrt_buffer_init(&report, SIZE_MAX / 2);
    gsrt_status status = gsrt_run_directory_read(seat->outcome.directory, "report.json", &report, &diag);
    gsrt_buffer_fini(&report);
    return status == GSRT_OK;
}

int gsrt_seat_conclude_early(gsrt_seat *seat, int exit_code)
{
    if (!gsrt_seat_is_leading(seat) || seat->outcome.directory == NULL)
        return exit_code;
    if (exit_code == GSRT_EXIT_AGAIN || has_another_reported(seat))
        return exit_code; /* the run goes on, or has gone on, without this incarnation */
    gsrt_healing_finished(&seat->healing, false);
    const char *error = seat->diag.status == GSRT_OK ? NULL : seat->diag.text;
    return gsrt_outcome_conclude(&seat->outcome, exit_code, error);
}
