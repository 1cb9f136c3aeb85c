#include "launch/twin_run.h"

#include "launch/interrupt.h"
#include "launch/plan_resolve.h"

#include <stdlib.h>

/* Events between two looks at the interrupt flag. */
enum { EVENTS_PER_LOOK = 10000 };

gsrt_status gsrt_twin_job_prepare(gsrt_twin_job *r)
{
    gsrt_status status = GSRT_OK;
    if (r->scenario == NULL)
        status =
            gsrt_scenario_read(r->options->scenario, r->options->sets, r->options->set_count, &r->scenario, &r->diag);
    if (status == GSRT_OK)
        status = gsrt_scenario_check_runs(r->scenario, &r->diag);
    if (status != GSRT_OK)
        return status;
    r->rank_count = r->options->rank_count > 0 ? r->options->rank_count : r->scenario->twin_rank_count;
    r->ranks = calloc(r->rank_count, sizeof *r->ranks);
    if (r->ranks == NULL)
        return GSRT_ENOMEM;
    for (uint32_t rank = 0; rank < r->rank_count; rank++)
        r->ranks[rank].run = r;
    /* the file is mapped once per rank, so that each counts the weights that it touches */
    for (uint32_t rank = 0; rank < r->rank_count && status == GSRT_OK; rank++)
        status = gsrt_loaded_open(r->scenario->model, rank == 0, &r->ranks[rank].loaded, &r->diag);
    if (status == GSRT_OK)
        status = gsrt_planning_resolve(r->scenario, &r->ranks[0].loaded, r->rank_count, &r->diag);
    if (status == GSRT_OK)
        status =
            gsrt_plan_check(r->scenario->plan, r->ranks[0].loaded.workload, r->rank_count, r->scenario->file, &r->diag);
    if (status == GSRT_OK)
        status = gsrt_faults_check(r->scenario->faults, r->scenario->fault_count, r->rank_count, r->scenario->file,
                                   &r->diag);
    return status == GSRT_OK ? gsrt_scenario_check_moves(r->scenario, r->rank_count, &r->diag) : status;
}

/* ---- the seat of one incarnation ---- */

/* What the node tells goes to the recorder; whoever looks on sees what has come to an actor. */
static void record_message(void *arg, uint64_t now_ns, const gsrt_envelope *envelope, bool is_sent)
{
    const gsrt_twin_rank *t = arg;
    const gsrt_twin_watch *watch = &t->run->watch;
    if (!is_sent && watch->on_message != NULL)
        watch->on_message(watch->arg, &t->seat, envelope);
    gsrt_recorder_message(t->recorder, now_ns, envelope, is_sent);
}

static void record_init(void *arg, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause,
                        const char *machine, gsrt_span bytes)
{
    gsrt_recorder_init(((gsrt_twin_rank *)arg)->recorder, now_ns, actor, id, cause, machine, bytes);
}

static void record_event(void *arg, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause,
                         const char *machine, gsrt_span bytes)
{
    gsrt_recorder_event(((gsrt_twin_rank *)arg)->recorder, now_ns, actor, id, cause, machine, bytes);
}

static void record_action(void *arg, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause,
                          const char *machine, gsrt_span bytes)
{
    gsrt_recorder_action(((gsrt_twin_rank *)arg)->recorder, now_ns, actor, id, cause, machine, bytes);
}

static gsrt_status open_recorder(gsrt_twin_rank *t, gsrt_node *node, uint32_t incarnation)
{
    gsrt_recorder_options options = {.is_held = true,
                                     .run_id = t->run->scenario->twin_seed,
                                     .rank = gsrt_node_rank(node),
                                     .incarnation = incarnation,
                                     .now_ns = gsrt_node_now_ns(node),
                                     .is_twin = true};
    gsrt_status status = gsrt_recorder_open(&options, &t->recorder, &t->run->diag);
    if (status == GSRT_OK)
        gsrt_node_set_recorder(node, &(gsrt_node_recorder){.arg = t,
                                                           .message = record_message,
                                                           .init = record_init,
                                                           .event = record_event,
                                                           .action = record_action});
    return status;
}

static gsrt_status place_recorder(void *arg, const char *directory, gsrt_diag *diag)
{
    (void)directory; /* traces must not tell where they lie */
    gsrt_twin_rank *t = arg;
    return gsrt_recorder_place(t->recorder, t->run->directory, 0, gsrt_node_now_ns(t->seat.node), diag);
}

static const char *directory_of(void *arg)
{
    return ((const gsrt_twin_rank *)arg)->run->directory;
}

static gsrt_status note_directory(void *arg, const char *directory)
{
    gsrt_twin_job *r = ((gsrt_twin_rank *)arg)->run;
    r->directory = strdup(directory);
    return r->directory == NULL ? GSRT_ENOMEM : GSRT_OK;
}

/* At once: in the twin nobody waits for it. */
static void conclude(void *arg)
{
    gsrt_twin_rank *t = arg;
    t->run->exit_code = gsrt_outcome_conclude(&t->seat.outcome, 0, NULL);
    t->run->is_concluded = true;
    gsrt_msg_verdict verdict = {.exit_code = (uint32_t)t->run->exit_code};
    if (gsrt_node_post(t->seat.node, t->seat.rank.root, GSRT_KIND_VERDICT, &verdict, NULL) != GSRT_OK)
        gsrt_node_finish(t->seat.node, 5);
}

static void token_taken(void *arg, const gsrt_msg_token *token, bool is_new)
{
    const gsrt_twin_rank *t = arg;
    const gsrt_twin_watch *watch = &t->run->watch;
    if (watch->on_token != NULL)
        watch->on_token(watch->arg, &t->seat, token, is_new);
}

static void membership_acts(void *arg, const gsrt_membership_action *action)
{
    const gsrt_twin_rank *t = arg;
    const gsrt_twin_watch *watch = &t->run->watch;
    if (watch->on_membership != NULL)
        watch->on_membership(watch->arg, &t->seat, action);
}

static void do_fault(void *arg, const gsrt_fault *fault)
{
    gsrt_twin *twin = ((const gsrt_twin_rank *)arg)->run->twin;
    if (fault->kind == GSRT_FAULT_PARTITION)
        gsrt_twin_partition(twin, fault->sides, fault->duration_ns);
    else if (fault->kind == GSRT_FAULT_SLOW)
        gsrt_twin_slow(twin, fault->rank, fault->factor, fault->duration_ns);
    else if (fault->kind == GSRT_FAULT_CORRUPT)
        gsrt_rank_corrupt(&((const gsrt_twin_rank *)arg)->seat.rank, fault->rank);
}

static gsrt_status start_rank(void *arg, gsrt_node *node, uint32_t rank, uint32_t incarnation)
{
    gsrt_twin_job *r = arg;
    gsrt_twin_rank *t = &r->ranks[rank];
    gsrt_seat_options options = {.options = r->options,
                                 .scenario = r->scenario,
                                 .loaded = &t->loaded,
                                 .keepers = gsrt_twin_keepers(r->twin, rank),
                                 .incarnation = incarnation,
                                 .is_twin = true,
                                 .terminal = r->watch.terminal,
                                 .arg = t,
                                 .on_token = token_taken,
                                 .on_membership = membership_acts,
                                 .directory = directory_of,
                                 .on_created = note_directory,
                                 .on_start = place_recorder,
                                 .do_fault = do_fault,
                                 .conclude = conclude};
    gsrt_status status = open_recorder(t, node, incarnation);
    if (status != GSRT_OK)
        return status;
    t->is_started = true;
    status = gsrt_seat_start(&t->seat, node, &options);
    if (status != GSRT_OK && r->diag.status == GSRT_OK)
        r->diag = t->seat.diag; /* said before the seats are undone */
    return status;
}

static void end_rank(void *arg, uint32_t rank, uint32_t incarnation, bool was_killed)
{
    gsrt_twin_job *r = arg;
    gsrt_twin_rank *t = &r->ranks[rank];
    uint64_t now_ns = r->twin == NULL ? r->end_ns : gsrt_twin_now_ns(r->twin);
    (void)incarnation;
    if (!t->is_started)
        return;
    t->is_started = false;
    gsrt_seat_stop(&t->seat);
    gsrt_status status = was_killed
                             ? gsrt_recorder_abandon(t->recorder, NULL) /* its trace is torn, as a kill leaves it */
                             : gsrt_recorder_close(t->recorder, now_ns, NULL);
    if (status != GSRT_OK)
        (void)fprintf(stderr, "gsrt: warning: the trace of rank %u could not be written to its end\n", rank);
    t->recorder = NULL;
    if (r->diag.status == GSRT_OK)
        r->diag = t->seat.diag;
}

/* ---- the run ---- */

static gsrt_status create_twin(gsrt_twin_job *r)
{
    gsrt_twin_options options = {.rank_count = r->rank_count,
                                 .seed = r->scenario->twin_seed,
                                 .jitter = r->watch.jitter,
                                 .link = {.latency_ns = (uint64_t)(r->scenario->link.latency_us * 1000),
                                          .bytes_per_ns = r->scenario->link.bandwidth_gbps / 8},
                                 .recovery = {.restart_max = r->scenario->restart_max,
                                              .restart_window_ns = r->scenario->restart_window_ms * 1000000ull,
                                              .again_exit_code = GSRT_EXIT_AGAIN,
                                              .arg = r,
                                              .on_dead = end_rank,
                                              .on_start = start_rank}};
    return gsrt_twin_create(&options, &r->twin);
}

gsrt_seat *gsrt_twin_job_leader(gsrt_twin_job *r)
{
    gsrt_seat *last = NULL;
    for (uint32_t rank = 0; rank < r->rank_count; rank++) {
        gsrt_seat *seat = &r->ranks[rank].seat;
        if (r->ranks[rank].is_started && gsrt_seat_is_leading(seat) &&
            (last == NULL || seat->rank.epoch > last->rank.epoch))
            last = seat;
    }
    return last;
}

/* The report of a run that did not come to one: by whoever led last, else there is none. */
static int conclude_early(gsrt_twin_job *r, int exit_code)
{
    gsrt_seat *last = gsrt_twin_job_leader(r);
    for (uint32_t rank = 0; rank < r->rank_count; rank++) {
        if (r->ranks[rank].is_started && r->diag.status == GSRT_OK)
            r->diag = r->ranks[rank].seat.diag;
    }
    return last == NULL ? exit_code : gsrt_seat_conclude_early(last, exit_code);
}

static int first_exit_code(gsrt_twin_job *r)
{
    for (uint32_t rank = 0; rank < r->rank_count; rank++) {
        const gsrt_node *node = gsrt_twin_node(r->twin, rank);
        if (node != NULL && gsrt_node_is_finished(node))
            return gsrt_node_exit_code(node);
    }
    return 5;
}

gsrt_status gsrt_twin_job_start(gsrt_twin_job *r)
{
    gsrt_status status = create_twin(r);
    for (uint32_t rank = 0; rank < r->rank_count && status == GSRT_OK; rank++)
        status = start_rank(r, gsrt_twin_node(r->twin, rank), rank, 0);
    return status;
}

int gsrt_twin_job_conclude(gsrt_twin_job *r, gsrt_status status)
{
    if (gsrt_interrupt_is_set())
        return conclude_early(r, GSRT_EXIT_INTERRUPTED);
    if (status == GSRT_EEMPTY)
        (void)gsrt_diag_set(&r->diag, status, r->scenario->file, NULL,
                            "the twin came to a standstill after %llu events; run it with -v and report it",
                            (unsigned long long)gsrt_twin_event_count(r->twin));
    if (r->is_concluded)
        return r->exit_code;
    return conclude_early(r, status == GSRT_OK ? first_exit_code(r) : 5);
}

int gsrt_twin_job_serve(gsrt_twin_job *r)
{
    gsrt_status status = gsrt_twin_job_start(r);
    if (status != GSRT_OK)
        return gsrt_exit_code(status);
    do
        status = gsrt_twin_run(r->twin, UINT64_MAX, EVENTS_PER_LOOK);
    while (status == GSRT_ELIMIT && !gsrt_interrupt_is_set());
    return gsrt_twin_job_conclude(r, status);
}

void gsrt_twin_job_fini(gsrt_twin_job *r)
{
    r->end_ns = r->twin == NULL ? 0 : gsrt_twin_now_ns(r->twin);
    r->twin = gsrt_twin_free(r->twin);
    for (uint32_t rank = 0; r->ranks != NULL && rank < r->rank_count; rank++) {
        end_rank(r, rank, 0, false);
        gsrt_loaded_close(&r->ranks[rank].loaded);
    }
    free(r->ranks);
    free(r->directory);
    gsrt_scenario_free(r->scenario);
}

int gsrt_twin_run_scenario(const gsrt_options *options)
{
    gsrt_twin_job *r = calloc(1, sizeof *r);
    if (r == NULL || gsrt_interrupt_install() != GSRT_OK) {
        free(r);
        return 5;
    }
    r->options = options;
    gsrt_status status = gsrt_twin_job_prepare(r);
    int exit_code = status == GSRT_OK ? gsrt_twin_job_serve(r) : gsrt_exit_code(status);
    if (exit_code != 0 && r->diag.status != GSRT_OK)
        (void)fprintf(stderr, "gsrt: error: %s\n", r->diag.text);
    gsrt_twin_job_fini(r);
    free(r);
    return exit_code;
}
