#include "launch/twin_run.h"

#include "actors/twin.h"
#include "launch/interrupt.h"
#include "launch/outcome.h"

#include <stdlib.h>

/* Events between two looks at the interrupt flag. */
enum { EVENTS_PER_LOOK = 10000 };

/* What one rank of the twin holds. */
typedef struct twin_rank {
    gsrt_loaded loaded;
    gsrt_rank rank;
    gsrt_recorder *recorder;
    bool is_started;
} twin_rank;

typedef struct twin_run {
    const gsrt_options *options;
    gsrt_diag diag;
    gsrt_scenario *scenario;
    uint32_t rank_count;
    twin_rank *ranks;              /* [rank_count] */
    gsrt_node_recorder *recorders; /* [rank_count] */
    gsrt_twin *twin;
    gsrt_outcome outcome;
} twin_run;

static gsrt_status prepare(twin_run *r)
{
    gsrt_status status =
        gsrt_scenario_read(r->options->scenario, r->options->sets, r->options->set_count, &r->scenario, &r->diag);
    if (status != GSRT_OK)
        return status;
    r->rank_count = r->options->rank_count > 0 ? r->options->rank_count : r->scenario->twin_rank_count;
    r->ranks = calloc(r->rank_count, sizeof *r->ranks);
    r->recorders = calloc(r->rank_count, sizeof *r->recorders);
    if (r->ranks == NULL || r->recorders == NULL)
        return GSRT_ENOMEM;
    /* the file is mapped once per rank, so that each counts the weights that it touches */
    for (uint32_t rank = 0; rank < r->rank_count && status == GSRT_OK; rank++)
        status = gsrt_loaded_open(r->scenario->model, rank == 0, &r->ranks[rank].loaded, &r->diag);
    if (status == GSRT_OK)
        status =
            gsrt_plan_check(r->scenario->plan, r->ranks[0].loaded.workload, r->rank_count, r->scenario->file, &r->diag);
    r->outcome = (gsrt_outcome){.options = r->options,
                                .scenario = r->scenario,
                                .loaded = &r->ranks[0].loaded,
                                .rank_count = r->rank_count,
                                .is_twin = true};
    return status == GSRT_OK ? gsrt_outcome_prepare(&r->outcome, &r->diag) : status;
}

static gsrt_status open_recorders(twin_run *r)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t rank = 0; rank < r->rank_count && status == GSRT_OK; rank++) {
        gsrt_recorder_options options = {.directory = gsrt_run_directory_path(r->outcome.directory),
                                         .run_id = r->scenario->twin_seed,
                                         .rank = rank,
                                         .is_twin = true};
        status = gsrt_recorder_open(&options, &r->ranks[rank].recorder, &r->diag);
        r->recorders[rank] = (gsrt_node_recorder){.arg = r->ranks[rank].recorder,
                                                  .message = gsrt_recorder_message,
                                                  .event = gsrt_recorder_event,
                                                  .action = gsrt_recorder_action};
    }
    return status;
}

static gsrt_status create_twin(twin_run *r)
{
    gsrt_twin_options options = {.rank_count = r->rank_count,
                                 .seed = r->scenario->twin_seed,
                                 .link = {.latency_ns = (uint64_t)(r->scenario->link.latency_us * 1000),
                                          .bytes_per_ns = r->scenario->link.bandwidth_gbps / 8},
                                 .recorders = r->recorders};
    return gsrt_twin_create(&options, &r->twin);
}

static gsrt_status start_ranks(twin_run *r)
{
    gsrt_rank_options options = {.is_twin = true, .is_numeric = r->scenario->is_numeric_in_twin};
    gsrt_status status = GSRT_OK;
    for (uint32_t rank = 0; rank < r->rank_count && status == GSRT_OK; rank++) {
        twin_rank *t = &r->ranks[rank];
        t->is_started = true;
        status = gsrt_rank_start(&t->rank, gsrt_twin_node(r->twin, rank), r->scenario, &t->loaded, &options, &r->diag);
        if (status == GSRT_OK && rank != 0)
            status = gsrt_rank_root_start(&t->rank);
    }
    gsrt_gateway_options gateway = {.rank = &r->ranks[0].rank,
                                    .answers = &r->outcome.answers,
                                    .directory = "", /* traces must not tell where they lie */
                                    .diag = &r->diag,
                                    .scheduler_facts = &r->outcome.scheduler_facts,
                                    .accounts = r->outcome.accounts,
                                    .done_ns = &r->outcome.done_ns};
    return status == GSRT_OK ? gsrt_gateway_start(gsrt_twin_node(r->twin, 0), &gateway) : status;
}

static int serve(twin_run *r)
{
    gsrt_status status = gsrt_outcome_open(&r->outcome, &r->diag);
    if (status == GSRT_OK)
        status = open_recorders(r);
    if (status == GSRT_OK)
        status = create_twin(r);
    if (status == GSRT_OK)
        status = start_ranks(r);
    if (status != GSRT_OK)
        return gsrt_exit_code(status);
    do
        status = gsrt_twin_run(r->twin, UINT64_MAX, EVENTS_PER_LOOK);
    while (status == GSRT_ELIMIT && !gsrt_interrupt_is_set());
    int exit_code = status == GSRT_OK ? gsrt_node_exit_code(gsrt_twin_node(r->twin, 0)) : 5;
    if (gsrt_interrupt_is_set())
        exit_code = GSRT_EXIT_INTERRUPTED;
    else if (status == GSRT_EEMPTY)
        (void)gsrt_diag_set(&r->diag, status, r->scenario->file, NULL,
                            "the twin came to a standstill after %llu events; run it with -v and report it",
                            (unsigned long long)gsrt_twin_event_count(r->twin));
    const char *error = r->diag.status == GSRT_OK ? NULL : r->diag.text;
    return gsrt_outcome_conclude(&r->outcome, exit_code, error);
}

static void run_fini(twin_run *r)
{
    uint64_t now_ns = r->twin == NULL ? 0 : gsrt_twin_now_ns(r->twin);
    gsrt_twin_free(r->twin);
    for (uint32_t rank = 0; r->ranks != NULL && rank < r->rank_count; rank++) {
        if (r->ranks[rank].is_started)
            gsrt_rank_stop(&r->ranks[rank].rank);
        if (r->ranks[rank].recorder != NULL && gsrt_recorder_close(r->ranks[rank].recorder, now_ns, NULL) != GSRT_OK)
            (void)fprintf(stderr, "gsrt: warning: the trace of rank %u could not be written to its end\n", rank);
    }
    gsrt_outcome_fini(&r->outcome);
    for (uint32_t rank = 0; r->ranks != NULL && rank < r->rank_count; rank++)
        gsrt_loaded_close(&r->ranks[rank].loaded);
    free(r->ranks);
    free(r->recorders);
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
