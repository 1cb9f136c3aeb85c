#include "launch/twin_run.h"

#include "actors/twin.h"
#include "health/member_actor.h"
#include "launch/interrupt.h"
#include "launch/outcome.h"

#include <stdlib.h>

/* Events between two looks at the interrupt flag. */
enum { EVENTS_PER_LOOK = 10000 };

struct twin_run;

/* What one rank of the twin holds; all but `run` and `loaded` belong to one incarnation. */
typedef struct twin_rank {
    struct twin_run *run;
    gsrt_loaded loaded;
    gsrt_rank rank;
    gsrt_member member;
    gsrt_outcome outcome; /* opened when it leads */
    gsrt_recorder *recorder;
    gsrt_diag diag;
    bool is_started;
} twin_rank;

typedef struct twin_run {
    const gsrt_options *options;
    gsrt_diag diag;
    gsrt_scenario *scenario;
    uint32_t rank_count;
    twin_rank *ranks; /* [rank_count] */
    gsrt_twin *twin;
    char *directory; /* of the run, once its first leader has created it; owned */
    int exit_code;   /* of the report */
    bool is_concluded;
    uint64_t end_ns; /* virtual time when the twin was freed */
} twin_run;

static gsrt_status prepare(twin_run *r)
{
    gsrt_status status =
        gsrt_scenario_read(r->options->scenario, r->options->sets, r->options->set_count, &r->scenario, &r->diag);
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
        status =
            gsrt_plan_check(r->scenario->plan, r->ranks[0].loaded.workload, r->rank_count, r->scenario->file, &r->diag);
    return status;
}

static gsrt_status open_recorder(twin_rank *t, uint32_t rank, uint32_t incarnation)
{
    gsrt_recorder_options options = {.directory = t->run->directory,
                                     .run_id = t->run->scenario->twin_seed,
                                     .rank = rank,
                                     .incarnation = incarnation,
                                     .now_ns = gsrt_twin_now_ns(t->run->twin),
                                     .is_twin = true};
    return gsrt_recorder_open(&options, &t->recorder, &t->diag);
}

/* ---- on the leader ---- */

static void all_is_done(void *arg)
{
    twin_rank *t = arg;
    t->run->exit_code = gsrt_outcome_conclude(&t->outcome, 0, NULL);
    t->run->is_concluded = true;
    gsrt_msg_verdict verdict = {.exit_code = (uint32_t)t->run->exit_code};
    if (gsrt_node_post(t->rank.node, t->rank.root, GSRT_KIND_VERDICT, &verdict, NULL) != GSRT_OK)
        gsrt_node_finish(t->rank.node, 5);
}

static gsrt_membership_fence fenced(void *arg, uint64_t now_ns)
{
    const twin_rank *t = arg;
    return gsrt_member_fenced(&t->member, now_ns);
}

static gsrt_status lead(void *arg, gsrt_rank *rank, gsrt_address *out, gsrt_diag *diag)
{
    twin_rank *t = arg;
    gsrt_status status =
        gsrt_outcome_open(&t->outcome, rank->epoch, t->run->directory, gsrt_twin_now_ns(t->run->twin), diag);
    if (status == GSRT_OK && t->run->directory == NULL) {
        t->run->directory = strdup(gsrt_run_directory_path(t->outcome.directory));
        status = t->run->directory == NULL ? GSRT_ENOMEM : GSRT_OK;
    }
    if (status != GSRT_OK)
        return status;
    gsrt_gateway_options options = {.rank = rank,
                                    .answers = &t->outcome.answers,
                                    .directory = "run", /* traces must not tell where they lie */
                                    .diag = diag,
                                    .scheduler_facts = &t->outcome.scheduler_facts,
                                    .accounts = t->outcome.accounts,
                                    .ready_ns = &t->outcome.ready_ns,
                                    .done_ns = &t->outcome.done_ns,
                                    .fenced = fenced,
                                    .on_done = all_is_done,
                                    .arg = t};
    return gsrt_gateway_start(&options, out);
}

/* ---- every rank, every incarnation ---- */

static void give_up(void *arg, const char *why)
{
    twin_rank *t = arg;
    gsrt_status status =
        gsrt_diag_set(&t->diag, GSRT_EQUORUM, NULL, NULL, "rank %u gives up: %s", gsrt_node_rank(t->rank.node), why);
    gsrt_node_finish(t->rank.node, gsrt_exit_code(status));
}

static void end_this_incarnation(void *arg)
{
    const twin_rank *t = arg;
    gsrt_node_finish(t->rank.node, GSRT_EXIT_AGAIN);
}

static gsrt_status open_files(void *arg, const char *directory, gsrt_diag *diag)
{
    (void)directory;
    (void)diag;
    twin_rank *t = arg;
    const gsrt_node *node = t->rank.node;
    gsrt_status status = open_recorder(t, gsrt_node_rank(node), t->member.options.machine.incarnation);
    if (status == GSRT_OK)
        gsrt_node_set_recorder(t->rank.node, &(gsrt_node_recorder){.arg = t->recorder,
                                                                   .message = gsrt_recorder_message,
                                                                   .event = gsrt_recorder_event,
                                                                   .action = gsrt_recorder_action});
    return status;
}

static gsrt_status start_rank(void *arg, gsrt_node *node, uint32_t rank, uint32_t incarnation)
{
    twin_run *r = arg;
    twin_rank *t = &r->ranks[rank];
    t->is_started = true;
    t->outcome = (gsrt_outcome){.options = r->options,
                                .scenario = r->scenario,
                                .loaded = &t->loaded,
                                .rank_count = r->rank_count,
                                .is_twin = true};
    gsrt_rank_options options = {.is_twin = true,
                                 .is_numeric = r->scenario->is_numeric_in_twin,
                                 .on_start = open_files,
                                 .on_lead = lead,
                                 .arg = t};
    gsrt_status status = gsrt_outcome_prepare(&t->outcome, &r->diag);
    if (status == GSRT_OK)
        status = gsrt_rank_start(&t->rank, node, r->scenario, &t->loaded, &options, &t->diag);
    gsrt_member_options member = gsrt_member_options_default();
    member.machine.incarnation = incarnation;
    member.keepers = gsrt_twin_keepers(r->twin, rank);
    member.root = t->rank.root;
    member.hooks = (gsrt_member_hooks){.arg = t, .on_exit = end_this_incarnation, .on_lost = give_up};
    return status == GSRT_OK ? gsrt_member_start(&t->member, node, &member) : status;
}

static void end_rank(void *arg, uint32_t rank, uint32_t incarnation)
{
    twin_run *r = arg;
    twin_rank *t = &r->ranks[rank];
    uint64_t now_ns = r->twin == NULL ? r->end_ns : gsrt_twin_now_ns(r->twin);
    (void)incarnation;
    if (!t->is_started)
        return;
    t->is_started = false;
    gsrt_rank_stop(&t->rank);
    gsrt_member_fini(&t->member);
    gsrt_outcome_fini(&t->outcome);
    if (t->recorder != NULL && gsrt_recorder_close(t->recorder, now_ns, NULL) != GSRT_OK)
        (void)fprintf(stderr, "gsrt: warning: the trace of rank %u could not be written to its end\n", rank);
    t->recorder = NULL;
    if (t->diag.status != GSRT_OK && r->diag.status == GSRT_OK)
        r->diag = t->diag;
}

/* ---- the run ---- */

static gsrt_status create_twin(twin_run *r)
{
    gsrt_twin_options options = {.rank_count = r->rank_count,
                                 .seed = r->scenario->twin_seed,
                                 .link = {.latency_ns = (uint64_t)(r->scenario->link.latency_us * 1000),
                                          .bytes_per_ns = r->scenario->link.bandwidth_gbps / 8},
                                 .recovery = {.restart_max = 3,
                                              .again_exit_code = GSRT_EXIT_AGAIN,
                                              .arg = r,
                                              .on_dead = end_rank,
                                              .on_start = start_rank}};
    return gsrt_twin_create(&options, &r->twin);
}

/* The report of a run that did not come to one: by whoever led last, else there is none. */
static int conclude_failure(twin_run *r, int exit_code)
{
    twin_rank *last = NULL;
    for (uint32_t rank = 0; rank < r->rank_count; rank++) {
        twin_rank *t = &r->ranks[rank];
        if (t->is_started && t->outcome.led_epoch > (last == NULL ? 0 : last->outcome.led_epoch))
            last = t;
        if (t->diag.status != GSRT_OK && r->diag.status == GSRT_OK)
            r->diag = t->diag;
    }
    const char *error = r->diag.status == GSRT_OK ? NULL : r->diag.text;
    return last == NULL || last->outcome.directory == NULL ? exit_code
                                                           : gsrt_outcome_conclude(&last->outcome, exit_code, error);
}

static int first_exit_code(twin_run *r)
{
    for (uint32_t rank = 0; rank < r->rank_count; rank++) {
        const gsrt_node *node = gsrt_twin_node(r->twin, rank);
        if (node != NULL && gsrt_node_is_finished(node))
            return gsrt_node_exit_code(node);
    }
    return 5;
}

static int serve(twin_run *r)
{
    gsrt_status status = create_twin(r);
    for (uint32_t rank = 0; rank < r->rank_count && status == GSRT_OK; rank++)
        status = start_rank(r, gsrt_twin_node(r->twin, rank), rank, 0);
    if (status != GSRT_OK)
        return gsrt_exit_code(status);
    do
        status = gsrt_twin_run(r->twin, UINT64_MAX, EVENTS_PER_LOOK);
    while (status == GSRT_ELIMIT && !gsrt_interrupt_is_set());
    if (gsrt_interrupt_is_set())
        return conclude_failure(r, GSRT_EXIT_INTERRUPTED);
    if (status == GSRT_EEMPTY)
        (void)gsrt_diag_set(&r->diag, status, r->scenario->file, NULL,
                            "the twin came to a standstill after %llu events; run it with -v and report it",
                            (unsigned long long)gsrt_twin_event_count(r->twin));
    if (r->is_concluded)
        return r->exit_code;
    return conclude_failure(r, status == GSRT_OK ? first_exit_code(r) : 5);
}

static void run_fini(twin_run *r)
{
    r->end_ns = r->twin == NULL ? 0 : gsrt_twin_now_ns(r->twin);
    r->twin = gsrt_twin_free(r->twin);
    for (uint32_t rank = 0; r->ranks != NULL && rank < r->rank_count; rank++) {
        end_rank(r, rank, 0);
        gsrt_loaded_close(&r->ranks[rank].loaded);
    }
    free(r->ranks);
    free(r->directory);
    gsrt_scenario_free(r->scenario);
}

int gsrt_twin_run_scenario(const gsrt_options *options)
{
    twin_run *r = calloc(1, sizeof *r);
    if (r == NULL || gsrt_interrupt_install() != GSRT_OK) {
        free(r);
        return 5;
    }
    r->options = options;
    gsrt_status status = prepare(r);
    int exit_code = status == GSRT_OK ? serve(r) : gsrt_exit_code(status);
    if (exit_code != 0 && r->diag.status != GSRT_OK)
        (void)fprintf(stderr, "gsrt: error: %s\n", r->diag.text);
    run_fini(r);
    free(r);
    return exit_code;
}
