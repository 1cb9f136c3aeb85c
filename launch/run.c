#include "launch/run.h"

#include "health/member_actor.h"
#include "launch/interrupt.h"
#include "launch/keeper.h"
#include "launch/outcome.h"
#include "launch/wireup.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* What this process holds; undone in reverse by run_fini. */
typedef struct run {
    const gsrt_options *options;
    gsrt_diag diag;
    gsrt_wireup wireup;
    const char **hosts; /* [rank_count] */
    gsrt_scenario *scenario;
    gsrt_loaded loaded;
    gsrt_recorder *recorder;
    gsrt_node *node;
    gsrt_rank rank;
    gsrt_member member;
    gsrt_outcome outcome; /* opened when this rank leads */
    bool has_rank;
    bool is_concluding; /* the thread was started */
    pthread_t concluder;
} run;

/* Read everything from outside and check it; the same on every rank, so that all agree without a word. */
static gsrt_status prepare(run *r)
{
    gsrt_status status =
        gsrt_scenario_read(r->options->scenario, r->options->sets, r->options->set_count, &r->scenario, &r->diag);
    if (status == GSRT_OK)
        status = gsrt_loaded_open(r->scenario->model, r->wireup.rank == 0, &r->loaded, &r->diag);
    if (status == GSRT_OK)
        status =
            gsrt_plan_check(r->scenario->plan, r->loaded.workload, r->wireup.rank_count, r->scenario->file, &r->diag);
    r->outcome.options = r->options;
    r->outcome.scenario = r->scenario;
    r->outcome.loaded = &r->loaded;
    r->outcome.rank_count = r->wireup.rank_count;
    r->outcome.ucx = r->wireup.near_lane[0] != 0 ? r->wireup.near_lane : NULL;
    if (status == GSRT_OK)
        status = gsrt_outcome_prepare(&r->outcome, &r->diag);
    return status;
}

static gsrt_status name_hosts(run *r)
{
    r->hosts = calloc(r->wireup.rank_count, sizeof *r->hosts);
    if (r->hosts == NULL)
        return GSRT_ENOMEM;
    for (uint32_t rank = 0; rank < r->wireup.rank_count; rank++)
        r->hosts[rank] = r->wireup.hosts[r->wireup.host_of[rank]];
    r->outcome.hosts = r->hosts;
    return GSRT_OK;
}

static uint64_t spin_ns_of(const run *r)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (r->scenario->spin_us >= 0)
        return (uint64_t)r->scenario->spin_us * 1000;
    return (long)r->wireup.rank_count > cores ? 0 : 20000;
}

/* This rank's trace. Every rank learns where the run directory is by START, which its trace begins after. */
static gsrt_status open_recorder(void *arg, const char *directory, gsrt_diag *diag)
{
    run *r = arg;
    gsrt_recorder_options options = {.directory = directory,
                                     .rank = r->wireup.rank,
                                     .incarnation = r->wireup.incarnation,
                                     .now_ns = gsrt_outcome_clock_ns()};
    return gsrt_recorder_open(&options, &r->recorder, diag);
}

static void record_message(void *arg, uint64_t now_ns, const gsrt_envelope *envelope, bool is_sent)
{
    run *r = arg;
    if (r->recorder != NULL)
        gsrt_recorder_message(r->recorder, now_ns, envelope, is_sent);
}

static void record_event(void *arg, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause,
                         const char *machine, gsrt_span bytes)
{
    run *r = arg;
    if (r->recorder != NULL)
        gsrt_recorder_event(r->recorder, now_ns, actor, id, cause, machine, bytes);
}

static void record_action(void *arg, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause,
                          const char *machine, gsrt_span bytes)
{
    run *r = arg;
    if (r->recorder != NULL)
        gsrt_recorder_action(r->recorder, now_ns, actor, id, cause, machine, bytes);
}

static gsrt_status create_node(run *r)
{
    gsrt_node_options options = {
        .rank = r->wireup.rank,
        .rank_count = r->wireup.rank_count,
        .incarnation = r->wireup.incarnation,
        .transport = r->wireup.transport,
        .spin_ns = spin_ns_of(r),
        .recorder = {.arg = r, .message = record_message, .event = record_event, .action = record_action}};
    gsrt_status status = gsrt_node_create(&options, &r->node);
    if (status != GSRT_OK)
        return status;
    r->wireup.transport = NULL; /* the node's now */
    return GSRT_OK;
}

/* ---- on the leader ---- */

/* The reference pass and the report, beside the node, which goes on answering its peers meanwhile. */
static void *conclude(void *arg)
{
    run *r = arg;
    gsrt_msg_verdict verdict = {.exit_code = (uint32_t)gsrt_outcome_conclude(&r->outcome, 0, NULL)};
    while (gsrt_node_post_foreign(r->node, r->rank.root, GSRT_KIND_VERDICT, &verdict) == GSRT_EFULL)
        (void)sched_yield();
    return NULL;
}

static void all_is_done(void *arg)
{
    run *r = arg;
    if (r->is_concluding)
        return; /* a view change came in between: the report is being made already */
    r->is_concluding = pthread_create(&r->concluder, NULL, conclude, r) == 0;
    if (!r->is_concluding)
        gsrt_node_finish(r->node, 5);
}

static gsrt_membership_fence fenced(void *arg, uint64_t now_ns)
{
    const run *r = arg;
    return gsrt_member_fenced(&r->member, now_ns);
}

static gsrt_status lead(void *arg, gsrt_rank *rank, gsrt_address *out, gsrt_diag *diag)
{
    run *r = arg;
    const char *path = rank->directory[0] == 0 ? NULL : rank->directory;
    gsrt_status status = gsrt_outcome_open(&r->outcome, rank->epoch, path, gsrt_outcome_clock_ns(), diag);
    if (status != GSRT_OK)
        return status;
    gsrt_gateway_options options = {.rank = rank,
                                    .answers = &r->outcome.answers,
                                    .directory = gsrt_run_directory_path(r->outcome.directory),
                                    .diag = diag,
                                    .scheduler_facts = &r->outcome.scheduler_facts,
                                    .accounts = r->outcome.accounts,
                                    .ready_ns = &r->outcome.ready_ns,
                                    .done_ns = &r->outcome.done_ns,
                                    .fenced = fenced,
                                    .on_done = all_is_done,
                                    .arg = r};
    return gsrt_gateway_start(&options, out);
}

/* ---- every rank ---- */

static void give_up(void *arg, const char *why)
{
    run *r = arg;
    gsrt_status status = gsrt_diag_set(&r->diag, GSRT_EQUORUM, NULL, NULL, "rank %u gives up: %s", r->wireup.rank, why);
    gsrt_node_finish(r->node, gsrt_exit_code(status));
}

static void end_this_incarnation(void *arg)
{
    run *r = arg;
    gsrt_node_finish(r->node, GSRT_EXIT_AGAIN);
}

static gsrt_status start_actors(run *r)
{
    gsrt_rank_options rank = {
        .load_ns = gsrt_outcome_clock_ns() - r->outcome.start_ns, .on_start = open_recorder, .on_lead = lead, .arg = r};
    r->has_rank = true;
    gsrt_status status = gsrt_rank_start(&r->rank, r->node, r->scenario, &r->loaded, &rank, &r->diag);
    gsrt_member_options member = gsrt_member_options_default();
    member.machine.incarnation = r->wireup.incarnation;
    member.keepers = r->wireup.keepers;
    member.root = r->rank.root;
    member.hooks = (gsrt_member_hooks){.arg = r, .on_exit = end_this_incarnation, .on_lost = give_up};
    return status == GSRT_OK ? gsrt_member_start(&r->member, r->node, &member) : status;
}

static void interrupted(void *arg)
{
    gsrt_node_finish(arg, GSRT_EXIT_INTERRUPTED);
}

static int serve(run *r)
{
    gsrt_status status = name_hosts(r);
    if (status == GSRT_OK)
        status = create_node(r);
    if (status == GSRT_OK)
        status = start_actors(r);
    if (status != GSRT_OK)
        return gsrt_exit_code(status);
    gsrt_interrupt_on_wake(interrupted, r->node);
    gsrt_node_run(r->node);
    gsrt_interrupt_on_wake(NULL, NULL);
    int exit_code = gsrt_node_exit_code(r->node);
    if (r->is_concluding) {
        (void)pthread_join(r->concluder, NULL);
    } else if (r->outcome.led_epoch != 0 && r->outcome.led_epoch == r->rank.epoch) {
        const char *error = r->diag.status == GSRT_OK ? NULL : r->diag.text;
        exit_code = gsrt_outcome_conclude(&r->outcome, exit_code, error);
    }
    return exit_code;
}

static void run_fini(run *r)
{
    gsrt_node_free(r->node);
    if (r->has_rank) {
        gsrt_rank_stop(&r->rank);
        gsrt_member_fini(&r->member);
    }
    if (r->recorder != NULL && gsrt_recorder_close(r->recorder, gsrt_outcome_clock_ns(), NULL) != GSRT_OK)
        (void)fprintf(stderr, "gsrt-launch: warning: the trace of rank %u could not be written to its end\n",
                      r->wireup.rank);
    gsrt_outcome_fini(&r->outcome);
    gsrt_loaded_close(&r->loaded);
    gsrt_scenario_free(r->scenario);
    free(r->hosts);
    gsrt_wireup_fini(&r->wireup);
}

int gsrt_run(const gsrt_options *options)
{
    run *r = calloc(1, sizeof *r);
    if (r == NULL)
        return 5;
    r->options = options;
    r->outcome.start_ns = gsrt_outcome_clock_ns();
    if (gsrt_interrupt_install() != GSRT_OK || (gsrt_keeper_is_worker() && gsrt_keeper_attach() != GSRT_OK)) {
        free(r);
        return 5;
    }
    gsrt_status status = gsrt_wireup_mpi(&(gsrt_wireup_options){0}, &r->wireup, &r->diag);
    bool is_wired = status == GSRT_OK;
    if (is_wired)
        status = prepare(r);
    int exit_code = status == GSRT_OK ? serve(r) : is_wired ? gsrt_exit_code(status) : 5;
    if (exit_code != 0 && r->diag.status != GSRT_OK && (r->wireup.rank == 0 || r->outcome.led_epoch != 0))
        (void)fprintf(stderr, "gsrt-launch: error: %s\n", r->diag.text);
    run_fini(r);
    free(r);
    return exit_code;
}
