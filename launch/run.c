#include "launch/run.h"

#include "backends/numerics.h"
#include "ckpt/recorder.h"
#include "launch/gateway.h"
#include "launch/interrupt.h"
#include "launch/keeper.h"
#include "launch/report.h"
#include "launch/wireup.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* What this process holds; undone in reverse by run_fini. */
typedef struct run {
    const gsrt_options *options;
    gsrt_diag diag;
    gsrt_wireup wireup;
    gsrt_scenario *scenario;
    gsrt_loaded loaded;
    gsrt_node *node;
    gsrt_rank rank;
    gsrt_run_directory *directory; /* rank 0 */
    gsrt_recorder *recorder;       /* rank 0 */
    gsrt_terminal terminal;        /* rank 0 */
    gsrt_answers answers;          /* rank 0 */
    gsrt_scheduler_facts scheduler_facts;
    bool has_terminal, has_rank;
    uint64_t start_ns, loaded_ns;
} run;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

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
    if (status == GSRT_OK)
        status = gsrt_answers_init(&r->answers, r->scenario, &r->loaded, &r->diag);
    for (uint32_t i = 0; status == GSRT_OK && i < r->scenario->device_count; i++) {
        if (r->scenario->devices[i].profile != NULL)
            status = gsrt_diag_set(&r->diag, GSRT_EUNSUPPORTED, r->scenario->file, "fleet.devices",
                                   "accelerator profiles cannot be run yet; leave the key out to compute on the CPU");
    }
    return status;
}

static gsrt_status open_outputs(run *r)
{
    int descriptor = -1;
    gsrt_buffer yaml;
    gsrt_status status = gsrt_run_directory_create(r->options->directory, r->scenario->name, &r->directory, &r->diag);
    if (status != GSRT_OK)
        return status;
    gsrt_buffer_init(&yaml, GSRT_SCENARIO_BYTES_MAX);
    status = gsrt_scenario_print(r->scenario, &yaml);
    if (status == GSRT_OK)
        status = gsrt_run_directory_write(r->directory, "scenario.yaml", gsrt_buffer_span(&yaml), &r->diag);
    gsrt_buffer_reset(&yaml);
    if (status == GSRT_OK)
        status = gsrt_report_write_plan_json(r->scenario->plan, r->loaded.workload, &yaml);
    if (status == GSRT_OK)
        status = gsrt_run_directory_write(r->directory, "plan.json", gsrt_buffer_span(&yaml), &r->diag);
    gsrt_buffer_fini(&yaml);
    if (status == GSRT_OK)
        status = gsrt_run_directory_open_file(r->directory, "tokens.jsonl", &descriptor, &r->diag);
    if (status == GSRT_OK)
        status = gsrt_tokens_create(descriptor, r->scenario->request_count, &r->answers.sink);
    if (status == GSRT_OK && r->scenario->logits_file != NULL)
        status = gsrt_logits_file_create(r->directory, r->scenario->logits_file, r->scenario->request_count,
                                         r->loaded.workload->vocab_count, &r->answers.logits, &r->diag);
    gsrt_recorder_options recorder = {.directory = gsrt_run_directory_path(r->directory), .now_ns = now_ns()};
    if (status == GSRT_OK)
        status = gsrt_recorder_open(&recorder, &r->recorder, &r->diag);
    return status;
}

static uint64_t spin_ns_of(const run *r)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (r->scenario->spin_us >= 0)
        return (uint64_t)r->scenario->spin_us * 1000;
    return (long)r->wireup.rank_count > cores ? 0 : 20000;
}

static gsrt_status start_node(run *r)
{
    gsrt_node_options options = {.rank = r->wireup.rank,
                                 .rank_count = r->wireup.rank_count,
                                 .incarnation = r->wireup.incarnation,
                                 .transport = r->wireup.transport,
                                 .spin_ns = spin_ns_of(r)};
    if (r->recorder != NULL)
        options.recorder = (gsrt_node_recorder){.arg = r->recorder,
                                                .message = gsrt_recorder_message,
                                                .event = gsrt_recorder_event,
                                                .action = gsrt_recorder_action};
    gsrt_status status = gsrt_node_create(&options, &r->node);
    if (status != GSRT_OK)
        return status;
    r->wireup.transport = NULL; /* the node's now */
    r->has_rank = true;
    status = gsrt_rank_start(&r->rank, r->node, r->scenario, &r->loaded, &r->diag);
    if (status != GSRT_OK)
        return status;
    if (r->wireup.rank != 0)
        return gsrt_rank_root_start(&r->rank);
    gsrt_gateway_options gateway = {.rank = &r->rank, .answers = &r->answers, .scheduler_facts = &r->scheduler_facts};
    return gsrt_gateway_start(r->node, &gateway);
}

static void interrupted(void *arg)
{
    gsrt_node_finish(arg, GSRT_EXIT_INTERRUPTED);
}

/* ---- the report ---- */

static double ms(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns >= from_ns ? (double)(to_ns - from_ns) / 1e6 : -1;
}

static void report_requests(const run *r, gsrt_report_request *out)
{
    for (uint32_t i = 0; i < r->scenario->request_count; i++) {
        const gsrt_answer *a = &r->answers.items[i];
        bool has_rate = a->token_count > 1 && a->last_ns > a->first_ns;
        out[i] = (gsrt_report_request){.prompt_tokens = a->prompt,
                                       .prompt_token_count = a->prompt_count,
                                       .tokens = a->tokens,
                                       .token_count = a->token_count,
                                       .text = a->text.len > 0 ? (const char *)a->text.data : "",
                                       .finish = a->finish == 0 ? "failed" : gsrt_finish_name((gsrt_finish)a->finish),
                                       .ttft_ms = a->token_count > 0 ? ms(a->submitted_ns, a->first_ns) : -1,
                                       .decode_tokens_per_s = has_rate ? (double)(a->token_count - 1) * 1e9 /
                                                                             (double)(a->last_ns - a->first_ns)
                                                                       : -1,
                                       .prefix_tokens_reused = a->prefix_tokens};
    }
}

/* Rank 0's own account; the other ranks' facts are not gathered yet. */
static void report_rank(const run *r, const gsrt_device_facts *device, gsrt_report_rank *out)
{
    gsrt_node_facts node;
    gsrt_node_read_facts(r->node, &node);
    *out = (gsrt_report_rank){.rank = 0,
                              .host = r->wireup.hosts[r->wireup.host_of[0]],
                              .pid = getpid(),
                              .has_role = r->rank.has_role,
                              .stage = r->rank.stage,
                              .member = r->rank.member,
                              .isa = gsrt_isa_name(device->isa),
                              .thread_count = device->thread_count,
                              .weight_bytes_touched = gsrt_weights_touched_bytes(r->loaded.weights),
                              .rows_per_step_max = r->rank.region_facts.rows_max,
                              .rows_total = r->rank.region_facts.rows,
                              .steps = r->rank.region_facts.steps,
                              .gathered_bytes = r->rank.region_facts.gathered_bytes,
                              .reduced_bytes = r->rank.region_facts.reduced_bytes,
                              .packed_bytes = device->packed_bytes,
                              .pack_ms = (double)device->pack_ns / 1e6,
                              .load_ms = ms(r->start_ns, r->loaded_ns),
                              .messages_sent = node.messages_sent,
                              .messages_received = node.messages_received};
    if (r->rank.lowered != NULL) {
        out->weight_bytes_share = r->rank.lowered->share_bytes;
        out->weight_bytes_copies = r->rank.lowered->copy_bytes;
    }
}

static gsrt_status write_report(run *r, int exit_code, const gsrt_report_contract *contract, uint64_t done_ns)
{
    gsrt_report_request *requests = calloc(r->scenario->request_count, sizeof *requests);
    gsrt_report_rank rank;
    gsrt_device_facts device = {0};
    gsrt_buffer json;
    if (requests == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < r->scenario->request_count; i++) {
        if (gsrt_buffer_append(&r->answers.items[i].text, "", 1) != GSRT_OK) { /* a zero at its end */
            free(requests);
            return GSRT_ENOMEM;
        }
    }
    if (r->rank.device != NULL)
        gsrt_device_read_facts(r->rank.device, &device);
    report_requests(r, requests);
    report_rank(r, &device, &rank);
    gsrt_report_backend backend = {.rank = 0,
                                   .kind = device.kind == NULL ? "none" : device.kind,
                                   .name = device.name == NULL ? "none" : device.name,
                                   .is_simulated = device.is_simulated,
                                   .busy_ns = device.busy_ns,
                                   .energy_j = -1};
    gsrt_report report = {.exit_code = exit_code,
                          .name = r->scenario->name,
                          .world = "real",
                          .model_file = r->scenario->model,
                          .contract = *contract,
                          .requests = requests,
                          .request_count = r->scenario->request_count,
                          .plan = r->scenario->plan,
                          .workload = r->loaded.workload,
                          .ranks = &rank,
                          .rank_count = 1,
                          .backends = &backend,
                          .backend_count = r->rank.device == NULL ? 0 : 1,
                          .versions = {.gsrt = GSRT_VERSION, .numerics = "1", .compiler = __VERSION__},
                          .times = {.load_ms = ms(r->start_ns, r->loaded_ns),
                                    .generate_ms = ms(r->loaded_ns, done_ns),
                                    .verify_ms = contract->is_verified ? ms(done_ns, now_ns()) : -1,
                                    .total_ms = ms(r->start_ns, now_ns())}};
    gsrt_buffer_init(&json, SIZE_MAX / 2);
    gsrt_status status = gsrt_report_write_json(&report, &json);
    if (status == GSRT_OK)
        status = gsrt_run_directory_write(r->directory, "report.json", gsrt_buffer_span(&json), &r->diag);
    gsrt_terminal_report(&r->terminal, &report, gsrt_buffer_span(&json));
    gsrt_buffer_fini(&json);
    free(requests);
    return status;
}

/* Rank 0 after the loop: compare with the reference, write down what happened. */
static int conclude(run *r, int exit_code)
{
    gsrt_report_contract contract = {.kind = r->scenario->contract};
    uint64_t done_ns = now_ns();
    gsrt_terminal_finish(&r->terminal);
    if (exit_code == 0 && r->scenario->is_verifying) {
        uint32_t mxcsr = gsrt_mxcsr_set();
        gsrt_status status = gsrt_answers_verify(&r->answers, &contract);
        gsrt_mxcsr_restore(mxcsr);
        if (status != GSRT_OK)
            exit_code = 5;
        else if (contract.different > 0)
            exit_code = 4;
    } else if (exit_code != 0) {
        contract.unverified_because = exit_code == GSRT_EXIT_INTERRUPTED ? "interrupted" : "the run failed";
    }
    if (write_report(r, exit_code, &contract, done_ns) != GSRT_OK && exit_code == 0)
        exit_code = 5;
    return exit_code;
}

static int serve(run *r)
{
    gsrt_status status = start_node(r);
    r->loaded_ns = now_ns();
    if (status != GSRT_OK)
        return gsrt_exit_code(status);
    gsrt_interrupt_on_wake(interrupted, r->node);
    gsrt_node_run(r->node);
    gsrt_interrupt_on_wake(NULL, NULL);
    int exit_code = gsrt_node_exit_code(r->node);
    return r->wireup.rank == 0 ? conclude(r, exit_code) : exit_code;
}

static void run_fini(run *r)
{
    gsrt_node_free(r->node);
    if (r->has_rank)
        gsrt_rank_stop(&r->rank);
    if (r->recorder != NULL && gsrt_recorder_close(r->recorder, now_ns(), NULL) != GSRT_OK)
        (void)fprintf(stderr, "gsrt-launch: warning: the trace could not be written to its end\n");
    gsrt_tokens_free(r->answers.sink);
    gsrt_logits_file_free(r->answers.logits);
    if (r->answers.items != NULL)
        gsrt_answers_fini(&r->answers);
    if (r->has_terminal)
        gsrt_terminal_fini(&r->terminal);
    gsrt_run_directory_free(r->directory);
    gsrt_loaded_close(&r->loaded);
    gsrt_scenario_free(r->scenario);
    gsrt_wireup_fini(&r->wireup);
}

static int run_rank_0(run *r)
{
    gsrt_terminal_options terminal = gsrt_terminal_options_find();
    terminal.is_json = r->options->is_json;
    terminal.is_quiet = r->options->is_quiet;
    terminal.verbosity = r->options->verbosity;
    if (gsrt_terminal_init(&r->terminal, &terminal, r->scenario->request_count) != GSRT_OK)
        return 5;
    r->has_terminal = true;
    r->answers.terminal = &r->terminal;
    gsrt_terminal_plan(&r->terminal, r->scenario->name, r->scenario->plan, r->loaded.workload, NULL, 0);
    gsrt_status status = open_outputs(r);
    return status == GSRT_OK ? serve(r) : gsrt_exit_code(status);
}

int gsrt_run(const gsrt_options *options)
{
    run *r = calloc(1, sizeof *r);
    if (r == NULL)
        return 5;
    r->options = options;
    r->start_ns = now_ns();
    if (gsrt_interrupt_install() != GSRT_OK || (gsrt_keeper_is_worker() && gsrt_keeper_attach() != GSRT_OK)) {
        free(r);
        return 5;
    }
    int exit_code;
    gsrt_status status = gsrt_wireup_mpi(&(gsrt_wireup_options){0}, &r->wireup, &r->diag);
    if (status == GSRT_OK)
        status = prepare(r);
    if (status != GSRT_OK)
        exit_code = status == GSRT_EUNSUPPORTED ? 2 : gsrt_exit_code(status);
    else if (r->wireup.rank == 0)
        exit_code = run_rank_0(r);
    else
        exit_code = serve(r);
    if (exit_code != 0 && r->diag.status != GSRT_OK && r->wireup.rank == 0)
        (void)fprintf(stderr, "gsrt-launch: error: %s\n", r->diag.text);
    if (exit_code != 0 && r->wireup.rank == 0 && r->node != NULL) {
        /* the others wait in their loops: tell them */
        gsrt_gateway_stop_all(r->node, (uint32_t)exit_code);
        gsrt_node_finish(r->node, exit_code);
        gsrt_node_run(r->node);
    }
    run_fini(r);
    free(r);
    return exit_code;
}
