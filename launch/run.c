#include "launch/run.h"

#include "launch/interrupt.h"
#include "launch/plan_resolve.h"
#include "launch/resume.h"
#include "launch/seat.h"
#include "launch/wireup.h"
#include "mailbox/ticket.h"
#include "mailbox/ucx.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOOK_NS = 500 * 1000 * 1000 };

/* What this process holds; undone in reverse by run_fini. */
typedef struct run {
    const gsrt_options *options;
    gsrt_diag diag;
    gsrt_keeper_handover keeper;
    gsrt_wireup wireup;
    gsrt_transport *transport; /* the node's */
    const char **hosts;        /* [rank_count] */
    gsrt_scenario *scenario;
    gsrt_loaded loaded;
    gsrt_recorder *recorder;
    gsrt_node *node;
    gsrt_seat seat;
    gsrt_terminal_options terminal;
    uint64_t start_ns;  /* when this process began */
    uint64_t looked_ns; /* for the end of the run, while this rank was fenced */
    pthread_t concluder;
    bool has_seat, has_concluder, is_deaf;
} run;

/* Read everything from outside and check it; the same on every rank, so that all agree without a word. */
static gsrt_status prepare(run *r)
{
    const char *resumed = r->options->resume;
    gsrt_status status = GSRT_OK;
    if (resumed != NULL && r->keeper.ticket.len == 0) /* a later incarnation is in the middle of it */
        status = gsrt_resume_check(resumed, &r->diag);
    if (status == GSRT_OK)
        status =
            gsrt_scenario_read(r->options->scenario, r->options->sets, r->options->set_count, &r->scenario, &r->diag);
    if (status == GSRT_OK && resumed != NULL)
        status = gsrt_resume_fit(resumed, r->scenario, r->wireup.rank_count, &r->diag);
    if (status == GSRT_OK)
        status = gsrt_scenario_check_runs(r->scenario, &r->diag);
    if (status == GSRT_OK)
        status = gsrt_loaded_open(r->scenario->model, r->wireup.rank == 0, &r->loaded, &r->diag);
    if (status == GSRT_OK)
        status = gsrt_planning_resolve(r->scenario, &r->loaded, r->wireup.rank_count, &r->diag);
    if (status == GSRT_OK)
        status =
            gsrt_plan_check(r->scenario->plan, r->loaded.workload, r->wireup.rank_count, r->scenario->file, &r->diag);
    if (status == GSRT_OK)
        status = gsrt_faults_check(r->scenario->faults, r->scenario->fault_count, r->wireup.rank_count,
                                   r->scenario->file, &r->diag);
    if (status == GSRT_OK && resumed == NULL) /* on fewer ranks than it began with, some moves are impossible */
        status = gsrt_scenario_check_moves(r->scenario, r->wireup.rank_count, &r->diag);
    return status;
}

static gsrt_status name_hosts(run *r)
{
    r->hosts = calloc(r->wireup.rank_count, sizeof *r->hosts);
    if (r->hosts == NULL)
        return GSRT_ENOMEM;
    for (uint32_t rank = 0; rank < r->wireup.rank_count; rank++)
        r->hosts[rank] = r->wireup.hosts[r->wireup.host_of[rank]];
    return GSRT_OK;
}

static uint64_t spin_ns_of(const run *r)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (r->scenario->spin_us >= 0)
        return (uint64_t)r->scenario->spin_us * 1000;
    return (long)r->wireup.rank_count > cores ? 0 : 20000;
}

/* Long enough for the other ranks of this processor to have their turn and answer; short against a step. */
static uint64_t yield_ns_of(const run *r)
{
    bool is_crowded = (long)r->wireup.rank_count > sysconf(_SC_NPROCESSORS_ONLN);
    return r->scenario->spin_us < 0 && is_crowded ? 100000 : 0;
}

/* At the wire-up, and again when the run directory is known, which a later incarnation must not have to guess. */
static gsrt_status give_ticket(run *r)
{
    return gsrt_wireup_give_ticket(&r->wireup, r->transport, gsrt_span_of_text(r->seat.rank.directory));
}

static gsrt_status find_generation(const run *r, const char *path, uint32_t *out, gsrt_diag *diag)
{
    gsrt_run_directory *directory;
    if (r->options->resume == NULL)
        return GSRT_OK;
    gsrt_status status = gsrt_run_directory_open(path, &directory, diag);
    if (status != GSRT_OK)
        return status;
    status = gsrt_resume_generation(directory, out, diag);
    gsrt_run_directory_free(directory);
    return status;
}

/* This rank's trace begins with its node, and is held in memory until START tells where the run directory is. */
static gsrt_status open_recorder(run *r)
{
    gsrt_recorder_options options = {.is_held = true,
                                     .rank = r->wireup.rank,
                                     .incarnation = r->wireup.incarnation,
                                     .now_ns = gsrt_outcome_clock_ns()};
    return gsrt_recorder_open(&options, &r->recorder, &r->diag);
}

static gsrt_status place_recorder(void *arg, const char *directory, gsrt_diag *diag)
{
    run *r = arg;
    gsrt_status status = give_ticket(r);
    uint32_t generation = 0;
    if (status == GSRT_OK)
        status = find_generation(r, directory, &generation, diag);
    return status == GSRT_OK ? gsrt_recorder_place(r->recorder, directory, generation, gsrt_outcome_clock_ns(), diag)
                             : status;
}

static gsrt_status create_node(run *r)
{
    gsrt_node_options options = {.rank = r->wireup.rank,
                                 .rank_count = r->wireup.rank_count,
                                 .incarnation = r->wireup.incarnation,
                                 .transport = r->wireup.transport,
                                 .spin_ns = spin_ns_of(r),
                                 .yield_ns = yield_ns_of(r),
                                 .recorder = {.arg = r->recorder,
                                              .message = gsrt_recorder_message,
                                              .init = gsrt_recorder_init,
                                              .event = gsrt_recorder_event,
                                              .action = gsrt_recorder_action,
                                              .catch_up = gsrt_recorder_catch_up}};
    gsrt_status status = gsrt_node_create(&options, &r->node);
    if (status != GSRT_OK)
        return status;
    r->transport = r->wireup.transport;
    r->wireup.transport = NULL; /* the node's now */
    return GSRT_OK;
}

/* The run has ended elsewhere, unheard (a link was down): its report says so. A report of a failure is no word for it:
 * whoever was cut off may have written it, while others go on. */
static bool is_over(const char *path, int *out_exit_code)
{
    gsrt_run_directory *directory = NULL;
    gsrt_buffer report;
    gsrt_diag diag = {0};
    gsrt_buffer_init(&report, SIZE_MAX / 2);
    gsrt_status status = path[0] == 0 ? GSRT_ENOTFOUND : gsrt_run_directory_open(path, &directory, &diag);
    if (status == GSRT_OK)
        status = gsrt_run_directory_read(directory, "report.json", &report, &diag);
    if (status == GSRT_OK)
        status = gsrt_report_read_exit(gsrt_buffer_span(&report), out_exit_code);
    gsrt_buffer_fini(&report);
    gsrt_run_directory_free(directory);
    return status == GSRT_OK && (*out_exit_code == 0 || *out_exit_code == 4);
}

/* ---- the seat ---- */

/* The reference pass and the report, beside the node, which goes on answering its peers meanwhile. */
static void *conclude(void *arg)
{
    run *r = arg;
    gsrt_msg_verdict verdict = {.exit_code = (uint32_t)gsrt_outcome_conclude(&r->seat.outcome, 0, NULL)};
    while (gsrt_node_post_foreign(r->node, r->seat.rank.root, GSRT_KIND_VERDICT, &verdict) == GSRT_EFULL)
        (void)sched_yield();
    return NULL;
}

static void start_concluding(void *arg)
{
    run *r = arg;
    r->has_concluder = pthread_create(&r->concluder, NULL, conclude, r) == 0;
    if (!r->has_concluder)
        gsrt_node_finish(r->node, 5);
}

static const char *directory_of(void *arg)
{
    const run *r = arg;
    return r->seat.rank.directory[0] == 0 ? NULL : r->seat.rank.directory;
}

static gsrt_status note_directory(void *arg, const char *directory)
{
    (void)arg;
    (void)directory;
    return GSRT_OK; /* START tells it to every rank, this one too */
}

/* Keepers kill, stop and slow; what ranks and the transport can do is left. */
static void do_fault(void *arg, const gsrt_fault *fault)
{
    const run *r = arg;
    uint32_t sides[GSRT_RANK_COUNT_MAX];
    if (fault->kind == GSRT_FAULT_CORRUPT)
        gsrt_rank_corrupt(&r->seat.rank, fault->rank);
    if (fault->kind != GSRT_FAULT_PARTITION)
        return;
    for (uint32_t rank = 0; rank < r->wireup.rank_count; rank++)
        sides[rank] = fault->sides[rank];
    gsrt_rank_cut_off(&r->seat.rank, sides, (uint32_t)(fault->duration_ns / 1000000));
}

static void cut_off(void *arg, const uint32_t *sides, uint32_t duration_ms)
{
    const run *r = arg;
    if (gsrt_ucx_cut_off(r->transport, sides, duration_ms) != GSRT_OK)
        (void)fprintf(stderr, "gsrt-launch: rank %u: the partition is not done: no timer\n", r->wireup.rank);
}

/* Who was cut off from those that finished would wait for them in vain. */
static void look_for_end(void *arg)
{
    run *r = arg;
    int exit_code;
    uint64_t now = gsrt_outcome_clock_ns();
    if (r->wireup.rank_count == 1 || now < r->looked_ns + LOOK_NS)
        return;
    r->looked_ns = now;
    if (is_over(r->seat.rank.directory, &exit_code))
        gsrt_node_finish(r->node, exit_code);
}

static gsrt_status start_seat(run *r)
{
    gsrt_seat_options options = {.options = r->options,
                                 .scenario = r->scenario,
                                 .loaded = &r->loaded,
                                 .hosts = r->hosts,
                                 .ucx = r->wireup.near_lane[0] != 0 ? r->wireup.near_lane : NULL,
                                 .keepers = r->wireup.keepers,
                                 .incarnation = r->wireup.incarnation,
                                 .known_directory = gsrt_buffer_span(&r->wireup.blob),
                                 .start_ns = r->start_ns,
                                 .load_ns = gsrt_outcome_clock_ns() - r->start_ns,
                                 .terminal = &r->terminal,
                                 .arg = r,
                                 .directory = directory_of,
                                 .on_created = note_directory,
                                 .on_start = place_recorder,
                                 .on_cut_off = cut_off,
                                 .on_fenced = look_for_end,
                                 .do_fault = do_fault,
                                 .conclude = start_concluding};
    gsrt_status status = gsrt_wireup_give_budget(&r->wireup, r->scenario->restart_max, r->scenario->restart_window_ms);
    if (status != GSRT_OK)
        return status;
    r->has_seat = true;
    status = gsrt_seat_start(&r->seat, r->node, &options);
    return status == GSRT_OK ? give_ticket(r) : status;
}

static void interrupted(void *arg)
{
    gsrt_node_finish(arg, GSRT_EXIT_INTERRUPTED);
}

static int serve(run *r)
{
    gsrt_status status = name_hosts(r);
    if (status == GSRT_OK)
        status = open_recorder(r);
    if (status == GSRT_OK)
        status = create_node(r);
    if (status == GSRT_OK)
        status = start_seat(r);
    if (status != GSRT_OK)
        return gsrt_exit_code(status);
    gsrt_interrupt_on_wake(interrupted, r->node);
    gsrt_node_run(r->node);
    gsrt_interrupt_on_wake(NULL, NULL);
    r->is_deaf = gsrt_ucx_is_deaf(r->transport);
    bool is_left_alone = r->wireup.rank_count > 1 && gsrt_keeper_is_gone(&r->keeper); /* the others go on */
    if (!r->has_concluder)
        return is_left_alone ? gsrt_node_exit_code(r->node)
                             : gsrt_seat_conclude_early(&r->seat, gsrt_node_exit_code(r->node));
    (void)pthread_join(r->concluder, NULL);
    return gsrt_node_exit_code(r->node);
}

static void run_fini(run *r)
{
    gsrt_node_free(r->node);
    if (r->has_seat)
        gsrt_seat_stop(&r->seat);
    if (r->recorder != NULL && gsrt_recorder_close(r->recorder, gsrt_outcome_clock_ns(), NULL) != GSRT_OK)
        (void)fprintf(stderr, "gsrt-launch: warning: the trace of rank %u could not be written to its end\n",
                      r->wireup.rank);
    gsrt_loaded_close(&r->loaded);
    gsrt_scenario_free(r->scenario);
    free(r->hosts);
    gsrt_wireup_fini(&r->wireup);
}

static gsrt_status wire_up(run *r)
{
    gsrt_wireup_options options = {.keeper = &r->keeper};
    gsrt_status status = r->keeper.ticket.len > 0 ? gsrt_wireup_join(&options, &r->wireup, &r->diag)
                                                  : gsrt_wireup_mpi(&options, &r->wireup, &r->diag);
    return status;
}

/* For an incarnation that begins after the end. */
static bool was_over(const run *r, int *out_exit_code)
{
    char path[4097];
    gsrt_ticket ticket;
    if (r->keeper.ticket.len == 0 || gsrt_ticket_decode(gsrt_buffer_span(&r->keeper.ticket), &ticket) != GSRT_OK)
        return false;
    (void)snprintf(path, sizeof path, "%.*s", (int)ticket.blob.len, (const char *)ticket.blob.data);
    gsrt_ticket_fini(&ticket);
    return is_over(path, out_exit_code);
}

/* The code of a rank that gives up: the next incarnation would fare no better, unless this one was never admitted. */
static int give_up(const run *r, int exit_code)
{
    int over_exit_code;
    if (is_over(r->seat.rank.directory, &over_exit_code))
        return over_exit_code;
    return r->seat.member.fence == GSRT_FENCE_NO_VIEW ? exit_code : GSRT_EXIT_GIVEN_UP;
}

int gsrt_run(const gsrt_options *options)
{
    run *r = calloc(1, sizeof *r);
    if (r == NULL)
        return 5;
    r->options = options;
    r->start_ns = gsrt_outcome_clock_ns();
    r->terminal = gsrt_terminal_options_find();
    r->keeper = (gsrt_keeper_handover){.pipe = -1, .listener = -1, .channel = -1};
    if (gsrt_interrupt_install() != GSRT_OK || (gsrt_keeper_is_worker() && gsrt_keeper_attach(&r->keeper) != GSRT_OK)) {
        free(r);
        return 5;
    }
    r->terminal.is_out_terminal |= r->keeper.is_out_terminal;
    int over_exit_code;
    if (was_over(r, &over_exit_code)) {
        gsrt_keeper_tell_finished(&r->keeper, over_exit_code);
        gsrt_keeper_handover_fini(&r->keeper);
        free(r);
        return over_exit_code;
    }
    gsrt_status status = wire_up(r);
    bool is_wired = status == GSRT_OK;
    if (is_wired)
        status = prepare(r);
    int exit_code = status == GSRT_OK ? serve(r) : is_wired ? gsrt_exit_code(status) : 5;
    const gsrt_diag *diag = r->seat.diag.status != GSRT_OK ? &r->seat.diag : &r->diag;
    bool is_giving_up = r->has_seat && r->seat.diag.status == GSRT_EQUORUM;
    if (is_giving_up)
        exit_code = give_up(r, exit_code);
    bool is_speaker = r->wireup.rank == 0 || is_giving_up || (r->has_seat && gsrt_seat_is_leading(&r->seat));
    if (exit_code != 0 && exit_code != GSRT_EXIT_AGAIN && diag->status != GSRT_OK && is_speaker)
        (void)fprintf(stderr, "gsrt-launch: error: %s\n", diag->text);
    if (exit_code == GSRT_EXIT_AGAIN)
        (void)fprintf(stderr, "gsrt-launch: rank %u starts again: %s\n", r->wireup.rank,
                      r->is_deaf                ? "a process that died left its shared-memory queue blocked"
                      : diag->status != GSRT_OK ? diag->text
                                                : "the others go on without this incarnation");
    run_fini(r);
    gsrt_keeper_handover_fini(&r->keeper);
    free(r);
    return exit_code;
}
