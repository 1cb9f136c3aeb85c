#include "launch/outcome.h"

#include "backends/numerics.h"
#include "launch/interrupt.h"
#include "launch/output.h"
#include "launch/predicted.h"
#include "launch/report.h"
#include "launch/resume.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

uint64_t gsrt_outcome_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

gsrt_status gsrt_outcome_prepare(gsrt_outcome *o, gsrt_diag *diag)
{
    gsrt_replicas_init(&o->replicas, o->scenario->is_replicating, o->loaded->workload, o->hosts, o->rank_count);
    return gsrt_answers_init(&o->answers, o->scenario, o->loaded, diag);
}

static gsrt_status write_beginning(gsrt_outcome *o, gsrt_diag *diag)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_SCENARIO_BYTES_MAX);
    gsrt_status status = gsrt_scenario_print(o->scenario, &text);
    if (status == GSRT_OK)
        status = gsrt_run_directory_write(o->directory, "scenario.yaml", gsrt_buffer_span(&text), diag);
    gsrt_buffer_reset(&text);
    if (status == GSRT_OK)
        status = gsrt_report_write_plan_json(o->scenario->plan, o->loaded->workload, o->rank_count, o->hosts,
                                             o->scenario->is_replicating, o->scenario->planning.planned, &text);
    if (status == GSRT_OK)
        status = gsrt_run_directory_write(o->directory, "plan.json", gsrt_buffer_span(&text), diag);
    gsrt_buffer_fini(&text);
    return status == GSRT_OK ? gsrt_resume_note_model(o->directory, o->loaded, diag) : status;
}

static gsrt_status open_terminal(gsrt_outcome *o)
{
    gsrt_terminal_options terminal = o->terminal_options == NULL ? gsrt_terminal_options_find() : *o->terminal_options;
    terminal.is_json = o->options->is_json;
    terminal.is_quiet = o->options->is_quiet;
    terminal.verbosity = o->options->verbosity;
    gsrt_status status = gsrt_terminal_init(&o->terminal, &terminal, o->scenario->request_count);
    if (status != GSRT_OK)
        return status;
    o->has_terminal = true;
    o->answers.terminal = &o->terminal;
    o->accounts = calloc(o->rank_count, sizeof *o->accounts);
    return o->accounts == NULL ? GSRT_ENOMEM : GSRT_OK;
}

/* Whoever has led holds the tokens; who resumes the run wants nobody else to. A file system that knows no locks forbids
 * nothing. */
static gsrt_status hold(const gsrt_outcome *o, int descriptor, bool is_resuming, gsrt_diag *diag)
{
    if (is_resuming && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return gsrt_diag_set(
            diag, GSRT_EINPUT, gsrt_run_directory_path(o->directory), NULL,
            "this run is still going on: a process holds its tokens.jsonl; wait for its end, or end it");
    (void)flock(descriptor, LOCK_SH | LOCK_NB);
    return GSRT_OK;
}

typedef enum opening { BEGINNING, TAKING_OVER, RESUMING } opening;

static gsrt_status open_tokens(gsrt_outcome *o, opening how, gsrt_diag *diag)
{
    static gsrt_status (*const ways[])(gsrt_run_directory *, const char *, int *, gsrt_diag *) = {
        [BEGINNING] = gsrt_run_directory_open_file,
        [TAKING_OVER] = gsrt_run_directory_reopen_file,
        [RESUMING] = gsrt_run_directory_append_file, /* it may have died before it had any */
    };
    int descriptor = -1;
    gsrt_status status = ways[how](o->directory, "tokens.jsonl", &descriptor, diag);
    o->answers.sink = gsrt_tokens_free(o->answers.sink);
    if (status == GSRT_OK)
        status = gsrt_tokens_create(descriptor, o->scenario->request_count, &o->answers.sink);
    return status == GSRT_OK ? hold(o, descriptor, how == RESUMING, diag) : status;
}

static gsrt_status open_logits(gsrt_outcome *o, bool is_new, gsrt_diag *diag)
{
    if (o->scenario->logits_file == NULL || o->answers.logits != NULL)
        return GSRT_OK;
    return gsrt_logits_file_open(o->directory, o->scenario->logits_file, is_new, o->scenario->request_count,
                                 o->loaded->workload->vocab_count, &o->answers.logits, diag);
}

/* From where on the answer is to be shown. Where nobody counts (the twin, no keeper), all that was emitted was shown.
 */
static gsrt_status find_shown(gsrt_outcome *o, opening how, gsrt_diag *diag)
{
    uint64_t shown = 0;
    uint32_t owner;
    int descriptor;
    gsrt_terminal_go_on(&o->terminal, how == TAKING_OVER ? UINT64_MAX : 0);
    if (o->is_twin || o->options->is_json)
        return GSRT_OK;
    gsrt_status status = how == TAKING_OVER
                             ? gsrt_run_directory_reopen_file(o->directory, GSRT_OUTPUT_FILE, &descriptor, diag)
                             : gsrt_run_directory_open_file(o->directory, GSRT_OUTPUT_FILE, &descriptor, diag);
    if (status != GSRT_OK)
        return status;
    bool is_known = gsrt_output_read_position(descriptor, &shown, &owner) == GSRT_OK;
    if (is_known && owner == o->process) { /* nobody else has shown anything since */
        (void)close(descriptor);
        gsrt_terminal_went_on(&o->terminal);
        return GSRT_OK;
    }
    if (is_known || how != TAKING_OVER) {
        gsrt_terminal_go_on(&o->terminal, shown);
        status = gsrt_output_add_position(descriptor, shown, o->process);
        if (status == GSRT_OK && gsrt_output_announce(fileno(o->terminal.options.out), descriptor) != GSRT_OK &&
            ftruncate(descriptor, 0) != 0)
            status = GSRT_EIO;
    }
    (void)close(descriptor);
    return status;
}

static gsrt_status begin(gsrt_outcome *o, gsrt_diag *diag)
{
    gsrt_terminal_plan(&o->terminal, o->scenario->name, o->scenario->plan, o->loaded->workload, NULL, 0);
    gsrt_terminal_note(&o->terminal, "restarts  of a rank at most %u in %u s, of all %u", o->scenario->restart_max,
                       o->scenario->restart_window_ms / 1000, o->scenario->restart_max * o->rank_count);
    gsrt_status status = gsrt_run_directory_create(o->options->directory, o->scenario->name, &o->directory, diag);
    if (status == GSRT_OK)
        status = write_beginning(o, diag);
    if (status == GSRT_OK)
        status = open_tokens(o, BEGINNING, diag);
    if (status == GSRT_OK)
        status = find_shown(o, BEGINNING, diag);
    o->is_beginner = status == GSRT_OK;
    return status == GSRT_OK ? open_logits(o, true, diag) : status;
}

/* The first leader of a run that is gone on with: as a later leader, but all of it is shown, from the beginning. */
static gsrt_status resume(gsrt_outcome *o, gsrt_diag *diag)
{
    gsrt_terminal_plan(&o->terminal, o->scenario->name, o->scenario->plan, o->loaded->workload, NULL, 0);
    uint32_t generation;
    gsrt_status status = gsrt_run_directory_open(o->options->resume, &o->directory, diag);
    if (status == GSRT_OK)
        status = gsrt_resume_check_model(o->directory, o->loaded, diag);
    if (status == GSRT_OK)
        status = open_tokens(o, RESUMING, diag);
    if (status == GSRT_OK)
        status = gsrt_resume_begin(o->directory, &generation, diag);
    if (status == GSRT_OK)
        status = find_shown(o, RESUMING, diag);
    if (status == GSRT_OK)
        status = gsrt_answers_restore(&o->answers, "tokens.jsonl", true, diag);
    if (status == GSRT_OK)
        status = gsrt_answers_show(&o->answers);
    if (status == GSRT_OK)
        status = open_logits(o, o->answers.token_total == 0, diag);
    if (status != GSRT_OK)
        return status;
    o->is_resumed = true;
    gsrt_terminal_note(&o->terminal, "resumed with %llu of at most %llu tokens",
                       (unsigned long long)o->answers.token_total, (unsigned long long)o->answers.token_goal);
    return GSRT_OK;
}

/* Whoever led before may still emit, until his lease has run out: what there is now is only to begin from. */
static gsrt_status take_over(gsrt_outcome *o, const char *path, gsrt_diag *diag)
{
    gsrt_status status = GSRT_OK;
    if (o->directory == NULL)
        status = gsrt_run_directory_open(path, &o->directory, diag);
    if (status == GSRT_OK)
        status = open_tokens(o, TAKING_OVER, diag);
    if (status == GSRT_OK)
        status = open_logits(o, false, diag);
    return status == GSRT_OK ? gsrt_answers_restore(&o->answers, "tokens.jsonl", false, diag) : status;
}

/* Where the scenario asks for them; the twin keeps none. */
static void keep_snapshots(gsrt_outcome *o)
{
    const gsrt_workload *w = o->loaded->workload;
    gsrt_snapshot_shape shape = {
        .layer_count = w->layer_count, .kv_head_count = w->kv_head_count, .head_dim = w->head_dim};
    if (!o->is_twin && o->scenario->snapshot_tokens > 0)
        gsrt_snapshots_init(&o->snapshots, gsrt_run_directory_path(o->directory), &shape, &o->terminal);
}

/* ---- what is narrowed ---- */

#define ERAS_FILE "narrowed.json"
#define EVIDENCE_FILE "evidence.json"

/* What earlier leaders wrote; then the plan narrows what the last era does. */
static gsrt_status take_up_eras(gsrt_outcome *o, gsrt_diag *diag)
{
    gsrt_eras *eras = &o->answers.eras;
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, GSRT_JSON_BYTES_MAX);
    gsrt_status status = gsrt_run_directory_read(o->directory, ERAS_FILE, &bytes, diag);
    if (status == GSRT_OK)
        status = gsrt_eras_read(eras, gsrt_buffer_span(&bytes), ERAS_FILE, diag);
    gsrt_buffer_fini(&bytes);
    if (status == GSRT_ENOTFOUND)
        return GSRT_OK;
    const gsrt_era *last = gsrt_eras_last(eras);
    return status == GSRT_OK ? gsrt_plan_narrow(o->moves.plan, last->narrowed, last->narrowed_count) : status;
}

static gsrt_status write_eras(gsrt_outcome *o, gsrt_diag *diag)
{
    gsrt_buffer json;
    gsrt_buffer_init(&json, GSRT_JSON_BYTES_MAX);
    gsrt_status status = gsrt_eras_print(&o->answers.eras, &json);
    if (status == GSRT_OK)
        status = gsrt_run_directory_write(o->directory, ERAS_FILE, gsrt_buffer_span(&json), diag);
    gsrt_buffer_fini(&json);
    return status;
}

/* Of the last era, when this rank begins to emit: what was emitted before stays. */
static gsrt_status begin_era(gsrt_outcome *o, gsrt_diag *diag)
{
    if (gsrt_eras_last(&o->answers.eras)->has_begun)
        return GSRT_OK;
    uint32_t *counts = calloc((size_t)o->scenario->request_count + 1, sizeof *counts);
    if (counts == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < o->scenario->request_count; i++)
        counts[i] = o->answers.items[i].token_count;
    gsrt_eras_begin(&o->answers.eras, counts);
    free(counts);
    return write_eras(o, diag);
}

static gsrt_status open_watch(gsrt_outcome *o)
{
    bool is_real = !o->is_twin || o->scenario->is_numeric_in_twin;
    if (o->watch != NULL || o->moves.plan->narrowed_count == 0 || o->scenario->watch == 0 || !is_real)
        return GSRT_OK;
    bool has_own = o->answers.eras.count > 1; /* with what was seen earlier in this run */
    (void)snprintf(o->evidence, sizeof o->evidence, "%s/" EVIDENCE_FILE, gsrt_run_directory_path(o->directory));
    gsrt_watch_options options = {.scenario = o->scenario,
                                  .evidence = has_own ? o->evidence : o->scenario->planning.evidence,
                                  .loaded = o->loaded,
                                  .answers = &o->answers,
                                  .plan = o->moves.plan,
                                  .rank_count = o->rank_count,
                                  .is_inline = o->is_twin};
    return gsrt_watch_create(&options, &o->watch);
}

/* What it has seen is reported; then it is over. */
static void close_watch(gsrt_outcome *o)
{
    gsrt_watch_facts facts;
    if (o->watch == NULL)
        return;
    gsrt_watch_read(o->watch, &facts);
    facts.position_count += o->watched.position_count;
    facts.left_out += o->watched.left_out;
    facts.divergence = facts.divergence > o->watched.divergence ? facts.divergence : o->watched.divergence;
    facts.absolute_error =
        facts.absolute_error > o->watched.absolute_error ? facts.absolute_error : o->watched.absolute_error;
    /* what an earlier one was held to stays beside what it saw */
    if (facts.divergence_bound < 0 && o->watched.divergence > 0)
        facts.divergence_bound = o->watched.divergence_bound;
    if (facts.absolute_error_bound < 0 && o->watched.absolute_error > 0)
        facts.absolute_error_bound = o->watched.absolute_error_bound;
    o->watched = facts;
    o->watch = gsrt_watch_free(o->watch);
}

gsrt_status gsrt_outcome_violated(gsrt_outcome *o, const gsrt_violation_seen *seen, uint32_t epoch, gsrt_diag *diag)
{
    gsrt_buffer evidence;
    gsrt_buffer_init(&evidence, GSRT_JSON_BYTES_MAX);
    gsrt_status status = gsrt_watch_disable(o->watch, seen, o->moves.plan, &evidence, diag);
    if (evidence.len > 0) /* whatever becomes of the run: what was seen, was seen */
        status = gsrt_run_directory_write(o->directory, EVIDENCE_FILE, gsrt_buffer_span(&evidence), diag) == GSRT_OK
                     ? status
                     : GSRT_EIO;
    gsrt_buffer_fini(&evidence);
    if (status == GSRT_OK)
        status = gsrt_eras_add(&o->answers.eras, epoch, seen, o->moves.plan);
    if (status == GSRT_OK)
        status = write_eras(o, diag);
    close_watch(o);
    gsrt_terminal_note(&o->terminal, "contract violated: %s %.6g of at most %.6g, request %u position %u; %s",
                       seen->statistic, seen->seen, seen->bound, seen->request, seen->position,
                       status != GSRT_OK                    ? "nothing can take its place"
                       : o->moves.plan->narrowed_count == 0 ? "from here on with weights as given"
                                                            : "from here on with what is left of what was narrowed");
    return status;
}

/* It was this rank that emitted in the view before `epoch`, too. */
static bool is_emitting_on(const gsrt_outcome *o, uint32_t epoch)
{
    return o->emitting_epoch != 0 && o->emitting_epoch + 1 == epoch;
}

gsrt_status gsrt_outcome_open(gsrt_outcome *o, uint32_t epoch, const char *path, gsrt_diag *diag)
{
    gsrt_status status = o->has_terminal ? GSRT_OK : open_terminal(o);
    o->led_epoch = epoch;
    if (status != GSRT_OK)
        return status;
    if (is_emitting_on(o, epoch))
        return open_watch(o);
    close_watch(o); /* of an earlier lead: others may have led since */
    status = path != NULL ? take_over(o, path, diag) : o->options->resume != NULL ? resume(o, diag) : begin(o, diag);
    if (status == GSRT_OK && o->snapshots.directory == NULL)
        keep_snapshots(o);
    if (status == GSRT_OK)
        status = gsrt_moves_open(&o->moves, o->scenario, o->directory, &o->terminal, diag);
    if (status == GSRT_OK)
        status = take_up_eras(o, diag);
    return status == GSRT_OK ? open_watch(o) : status;
}

gsrt_status gsrt_outcome_begin_emitting(gsrt_outcome *o, gsrt_diag *diag)
{
    bool is_first = !is_emitting_on(o, o->led_epoch);
    uint32_t era_count = o->answers.eras.count;
    o->emitting_epoch = o->led_epoch;
    if (!is_first)
        return begin_era(o, diag);
    gsrt_status status = gsrt_answers_restore(&o->answers, "tokens.jsonl", true, diag);
    if (status == GSRT_OK)
        status = find_shown(o, TAKING_OVER, diag);
    if (status == GSRT_OK)
        status = gsrt_answers_show(&o->answers);
    gsrt_terminal_went_on(&o->terminal);
    if (status == GSRT_OK)
        status = take_up_eras(o, diag);
    if (status == GSRT_OK && o->answers.eras.count > era_count) {
        close_watch(o);
        return GSRT_ESTALE;
    }
    return status == GSRT_OK ? begin_era(o, diag) : status;
}

void gsrt_outcome_fini(gsrt_outcome *o)
{
    o->watch = gsrt_watch_free(o->watch);
    gsrt_snapshots_fini(&o->snapshots);
    gsrt_replicas_fini(&o->replicas);
    gsrt_moves_fini(&o->moves);
    o->answers.sink = gsrt_tokens_free(o->answers.sink);
    o->answers.logits = gsrt_logits_file_free(o->answers.logits);
    if (o->answers.items != NULL)
        gsrt_answers_fini(&o->answers);
    if (o->has_terminal)
        gsrt_terminal_fini(&o->terminal);
    o->directory = gsrt_run_directory_free(o->directory);
    free(o->accounts);
    free(o->failures);
    free(o->failure_ranks);
    o->failures = NULL;
    o->failure_ranks = NULL;
    o->accounts = NULL;
}

/* ---- the report ---- */

static double failure_ms(uint64_t ns)
{
    return ns == GSRT_INCIDENT_UNKNOWN_NS ? -1 : (double)ns / 1e6;
}

gsrt_status gsrt_outcome_note_failures(gsrt_outcome *o, const gsrt_incidents *incidents)
{
    uint32_t count = gsrt_incidents_count(incidents), fault_total = 0, at = 0;
    for (uint32_t i = 0; i < count; i++)
        fault_total += gsrt_incidents_at(incidents, i)->fault_count;
    free(o->failures);
    free(o->failure_ranks);
    o->failure_count = 0;
    o->failures = calloc(count + 1, sizeof *o->failures);
    o->failure_ranks = calloc(fault_total + GSRT_RANK_COUNT_MAX, sizeof *o->failure_ranks);
    if (o->failures == NULL || o->failure_ranks == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const gsrt_incident *incident = gsrt_incidents_at(incidents, i);
        uint32_t rank_count = gsrt_incident_ranks(incident, o->failure_ranks + at);
        o->failures[o->failure_count++] =
            (gsrt_report_failure){.incident = incident->number,
                                  .kind = gsrt_incident_kind_name(gsrt_incident_kind_of(incident)),
                                  .ranks = o->failure_ranks + at,
                                  .rank_count = rank_count,
                                  .detected_ms = failure_ms(gsrt_incident_detection_ns(incident)),
                                  .recovered_ms = failure_ms(gsrt_incident_recovery_ns(incident)),
                                  .lost_tokens = incident->lost_tokens,
                                  .recomputed_tokens = incident->recomputed_tokens,
                                  .method = gsrt_incident_method_name(incident->method)};
        at += rank_count;
    }
    return GSRT_OK;
}

static double ms(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns >= from_ns && to_ns > 0 ? (double)(to_ns - from_ns) / 1e6 : -1;
}

static gsrt_status report_requests(gsrt_outcome *o, gsrt_report_request *out)
{
    for (uint32_t i = 0; i < o->scenario->request_count; i++) {
        gsrt_answer *a = &o->answers.items[i];
        uint32_t timed = a->token_count - a->first_timed; /* the others came from whoever led before */
        bool has_rate = a->last_ns > a->first_ns && timed > 1;
        bool has_first = o->is_beginner && a->last_ns > 0 && a->first_timed == 0 && a->submitted_ns > 0;
        gsrt_status status = gsrt_buffer_append(&a->text, "", 1); /* a zero at its end */
        if (status != GSRT_OK)
            return status;
        out[i] = (gsrt_report_request){
            .prompt_tokens = a->prompt,
            .prompt_token_count = a->prompt_count,
            .tokens = a->tokens,
            .token_count = a->token_count,
            .text = (const char *)a->text.data,
            .finish = a->finish == 0 ? "failed" : gsrt_finish_name((gsrt_finish)a->finish),
            .error = a->finish == GSRT_FINISH_REFUSED ? "it can never fit: runtime.kv_blocks is too small" : NULL,
            .timed_count = a->last_ns > 0 ? timed : 0,
            .ttft_ms = has_first ? ms(a->submitted_ns, a->first_ns) : -1,
            .decode_tokens_per_s = has_rate ? (double)(timed - 1) * 1e9 / (double)(a->last_ns - a->first_ns) : -1,
            .prefix_tokens_reused = a->prefix_tokens};
    }
    return GSRT_OK;
}

static void report_rank(const gsrt_outcome *o, uint32_t rank, gsrt_report_rank *out)
{
    const gsrt_account *account = &o->accounts[rank];
    const gsrt_msg_facts *f = &account->facts;
    *out = (gsrt_report_rank){.rank = rank,
                              .host = o->hosts == NULL ? NULL : o->hosts[rank],
                              .pid = (int64_t)f->pid,
                              .has_role = f->has_role,
                              .stage = f->stage,
                              .member = f->member,
                              .isa = account->isa,
                              .thread_count = f->threads,
                              .weight_bytes_touched = f->weight_touched,
                              .weight_bytes_share = f->weight_share,
                              .weight_bytes_copies = f->weight_copies,
                              .rows_per_step_max = f->rows_max,
                              .rows_total = f->rows,
                              .steps = f->steps,
                              .gathered_bytes = f->gathered,
                              .reduced_bytes = f->reduced,
                              .packed_bytes = f->packed,
                              .pack_ms = (double)f->pack_ns / 1e6,
                              .load_ms = (double)f->load_ns / 1e6,
                              .kv_streamed_bytes = f->kv_streamed,
                              .kv_gathered_bytes = f->kv_gathered,
                              .kv_held_bytes = f->kv_held,
                              .kv_left_out = f->kv_left_out,
                              .messages_sent = f->messages_sent,
                              .messages_received = f->messages_received};
}

static void report_backend(const gsrt_outcome *o, uint32_t rank, gsrt_report_backend *out)
{
    const gsrt_account *account = &o->accounts[rank];
    *out = (gsrt_report_backend){.rank = rank,
                                 .kind = account->kind,
                                 .name = account->name,
                                 .is_simulated = account->facts.is_simulated,
                                 .busy_ns = account->facts.busy_ns,
                                 .energy_j = o->is_twin ? -1 : account->facts.energy_j, /* the twin has no heat */
                                 .temperature_c = o->is_twin ? -1 : account->facts.temperature_c};
}

/* Ranks that have not given their account are left out, and are missing visibly. */
static void report_ranks(const gsrt_outcome *o, gsrt_report_rank *ranks, gsrt_report_backend *backends,
                         gsrt_report *report)
{
    for (uint32_t rank = 0; rank < o->rank_count; rank++) {
        if (!o->accounts[rank].is_known)
            continue;
        report_rank(o, rank, &ranks[report->rank_count++]);
        if (o->accounts[rank].facts.has_role)
            report_backend(o, rank, &backends[report->backend_count++]);
    }
    report->ranks = ranks;
    report->backends = backends;
}

static gsrt_status write_report(gsrt_outcome *o, gsrt_report *report)
{
    gsrt_buffer json;
    gsrt_diag diag = {0};
    gsrt_buffer_init(&json, SIZE_MAX / 2);
    gsrt_status status = gsrt_report_write_json(report, &json);
    if (status == GSRT_OK)
        status = gsrt_run_directory_write(o->directory, "report.json", gsrt_buffer_span(&json), &diag);
    if (diag.status != GSRT_OK)
        gsrt_terminal_error(&o->terminal, gsrt_tool_name(o->options->tool), &diag);
    gsrt_terminal_report(&o->terminal, report, gsrt_buffer_span(&json));
    gsrt_buffer_fini(&json);
    return status;
}

/* Of what the plan was chosen by, where one was looked for. */
static void note_predicted(gsrt_outcome *o, const gsrt_report *report)
{
    char text[256];
    if (report->predicted != NULL && gsrt_predicted_text(report, text, sizeof text))
        gsrt_terminal_note(&o->terminal, "predicted %s", text);
}

static int verify(gsrt_outcome *o, int exit_code, gsrt_report_contract *contract)
{
    if (exit_code != 0) {
        contract->unverified_because = exit_code == GSRT_EXIT_INTERRUPTED ? "interrupted" : "the run failed";
        return exit_code;
    }
    if (o->is_twin && !o->scenario->is_numeric_in_twin) {
        contract->unverified_because = "twin.numerics is off";
        return exit_code;
    }
    if (!o->scenario->is_verifying)
        return exit_code;
    uint32_t mxcsr = gsrt_mxcsr_set();
    gsrt_status status = gsrt_answers_verify(&o->answers, contract);
    gsrt_mxcsr_restore(mxcsr);
    if (status != GSRT_OK)
        return 5;
    return contract->different > 0 ? 4 : exit_code;
}

int gsrt_outcome_conclude(gsrt_outcome *o, int exit_code, const char *error)
{
    uint64_t begin_ns = gsrt_outcome_clock_ns();
    gsrt_report_contract contract = {.kind = o->scenario->contract};
    char model_hash[33] = "";
    gsrt_terminal_finish(&o->terminal);
    close_watch(o);
    contract.violations = o->answers.eras.count - 1;
    if (contract.violations > 0)
        contract.violation = &o->answers.eras.items[1].why;
    exit_code = verify(o, exit_code, &contract);
    exit_code = exit_code == 0 && contract.violations > 0 ? 4 : exit_code;
    gsrt_report_narrowed narrowed = {.eras = &o->answers.eras, .every = o->scenario->watch, .watched = &o->watched};
    gsrt_report_request *requests = calloc(o->scenario->request_count, sizeof *requests);
    gsrt_report_rank *ranks = calloc(o->rank_count, sizeof *ranks);
    gsrt_report_backend *backends = calloc(o->rank_count, sizeof *backends);
    const gsrt_manifest *manifest = &o->loaded->manifest;
    gsrt_report_predicted predicted = {.values = o->scenario->planning.predicted,
                                       .time_scale = o->scenario->time_scale,
                                       .measure = o->scenario->planning.objective.measure,
                                       .percentile = o->scenario->planning.objective.percentile};
    (void)snprintf(model_hash, sizeof model_hash, "%016llx%016llx", (unsigned long long)manifest->hash_high,
                   (unsigned long long)manifest->hash_low);
    gsrt_report report = {
        .exit_code = exit_code,
        .name = o->scenario->name,
        .world = o->is_twin ? "twin" : "real",
        .error = error,
        .model_file = o->scenario->model,
        .model_hash = manifest->is_present ? model_hash : NULL,
        .contract = contract,
        .requests = requests,
        .request_count = o->scenario->request_count,
        .snapshots = o->snapshots.directory == NULL ? NULL : &o->snapshots.report,
        .replicas = o->replicas.is_on ? &o->replicas.report : NULL,
        .failures = o->failures,
        .failure_count = o->failure_count,
        .moves = o->moves.done,
        .move_count = o->moves.done_count,
        .narrowed = o->scenario->plan->narrowed_count == 0 ? NULL : &narrowed,
        .plan = o->scenario->plan,
        .predicted = &predicted,
        .workload = o->loaded->workload,
        .versions = {.gsrt = GSRT_VERSION, .numerics = "1", .ucx = o->ucx, .compiler = __VERSION__},
        .times = {.load_ms = ms(o->start_ns, o->ready_ns),
                  .generate_ms = ms(o->ready_ns, o->done_ns),
                  .verify_ms = contract.is_verified ? ms(begin_ns, gsrt_outcome_clock_ns()) : -1,
                  .total_ms = o->is_twin ? ms(0, o->done_ns) : ms(o->start_ns, gsrt_outcome_clock_ns())}};
    gsrt_status status = GSRT_ENOMEM;
    if (requests != NULL && ranks != NULL && backends != NULL)
        status = report_requests(o, requests);
    if (status == GSRT_OK) {
        report_ranks(o, ranks, backends, &report);
        note_predicted(o, &report);
        status = write_report(o, &report);
    }
    free(requests);
    free(ranks);
    free(backends);
    return status != GSRT_OK && exit_code == 0 ? 5 : exit_code;
}
