/* Values are built (launch/json_tree.h) in the order of docs/schemas/report.schema.json; that memory ran out is noticed
 * once, at the end, in print_tree. */
#include "launch/report.h"
#include "launch/eras.h"
#include "launch/json_tree.h"
#include "launch/predicted.h"
#include "launch/watch.h"

#include "placement/fallback.h"
#include "placement/second_place.h"

#include "base/json.h"
#include "base/limits.h"

#include <inttypes.h>

/* Rounded to a thousandth: what was measured is no more exact. Negative: unknown, null. */
static void set_measured(gsrt_tree *o, const char *key, double number)
{
    if (number < 0)
        gsrt_tree_set(o, key, json_null());
    else
        gsrt_tree_set(o, key, gsrt_json_real(number < 1e12 ? (double)(int64_t)(number * 1000 + 0.5) / 1000 : number));
}

static json_t *numbers(const uint32_t *items, uint32_t count)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < count && array != NULL; i++)
        array = gsrt_tree_append(array, gsrt_json_u64(items[i]));
    return array;
}

/* ---- plan ---- */

static json_t *units_of(uint32_t unit_count, const gsrt_plan_stage *stage)
{
    uint32_t first[GSRT_GROUP_RANKS_MAX + 1], units[GSRT_GROUP_RANKS_MAX];
    gsrt_apportion(unit_count, stage->shares, stage->member_count, first);
    for (uint32_t m = 0; m < stage->member_count; m++)
        units[m] = first[m + 1] - first[m];
    return numbers(units, stage->member_count);
}

static json_t *stage_json(const gsrt_plan *plan, const gsrt_workload *workload, uint32_t s)
{
    const gsrt_plan_stage *stage = &plan->stages[s];
    uint32_t layers[] = {stage->layer_first, stage->layer_last};
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_set(&o, "layers", numbers(layers, 2));
    gsrt_tree_set(&o, "ranks", numbers(stage->ranks, stage->member_count));
    gsrt_tree_set(&o, "split", numbers(stage->shares, stage->member_count));
    if (workload != NULL) {
        gsrt_tree_set(&o, "heads", units_of(workload->head_count, stage));
        if (s + 1 == plan->stage_count)
            gsrt_tree_set(&o, "vocab", units_of(workload->vocab_count, stage));
    }
    return o.value;
}

static void set_largest(json_t **all, const char *statistic, double seen, double bound)
{
    if (bound < 0)
        return; /* nothing of the kind was watched */
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_text(&o, "statistic", statistic);
    gsrt_tree_real(&o, "largest", seen);
    gsrt_tree_real(&o, "bound", bound);
    *all = gsrt_tree_append(*all, o.value);
}

static json_t *watched_json(const gsrt_report_narrowed *narrowed)
{
    const gsrt_watch_facts *facts = narrowed->watched;
    gsrt_tree o = {.value = json_object()};
    json_t *largest = json_array(), *violations = json_array();
    if (facts->position_count > 0) {
        set_largest(&largest, "divergence", facts->divergence, facts->divergence_bound);
        set_largest(&largest, "absolute_error", facts->absolute_error, facts->absolute_error_bound);
    }
    for (uint32_t i = 1; i < narrowed->eras->count; i++)
        violations = gsrt_tree_append(violations, gsrt_era_json(&narrowed->eras->items[i], "left"));
    gsrt_tree_u64(&o, "watch", narrowed->every);
    gsrt_tree_u64(&o, "positions", facts->position_count);
    gsrt_tree_u64(&o, "left_out", facts->left_out);
    gsrt_tree_set(&o, "seen", largest);
    gsrt_tree_text(&o, "unwatched", facts->unwatched[0] == 0 ? NULL : facts->unwatched);
    gsrt_tree_set(&o, "violations", violations);
    return o.value;
}

static json_t *plan_json(const gsrt_plan *plan, const gsrt_workload *workload)
{
    json_t *stages = json_array();
    for (uint32_t s = 0; s < plan->stage_count && stages != NULL; s++)
        stages = gsrt_tree_append(stages, stage_json(plan, workload, s));
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_text(&o, "schema", GSRT_PLAN_SCHEMA);
    gsrt_tree_set(&o, "stages", stages);
    gsrt_tree_set(&o, "spares", numbers(plan->spares, plan->spare_count));
    gsrt_tree_text(&o, "exchange", gsrt_exchange_name(plan->exchange));
    gsrt_tree_set(&o, "narrowed", gsrt_narrowed_json(plan->narrowed, plan->narrowed_count));
    return o.value;
}

/* ---- report ---- */

static bool is_verified(const gsrt_report_contract *contract)
{
    return contract->is_verified && contract->compared > 0;
}

static json_t *contract_json(const gsrt_report_contract *contract)
{
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_text(&o, "kind", contract->kind);
    gsrt_tree_set(&o, "verified", json_boolean(is_verified(contract)));
    gsrt_tree_set(&o, "kept",
                  contract->violations > 0 ? json_false()
                  : is_verified(contract)  ? json_boolean(contract->different == 0)
                                           : json_null());
    gsrt_tree_u64(&o, "compared", contract->compared);
    gsrt_tree_u64(&o, "different", contract->different);
    if (contract->different > 0) {
        gsrt_tree first = {.value = json_object()};
        gsrt_tree_u64(&first, "request", contract->first_request);
        gsrt_tree_u64(&first, "index", contract->first_index);
        gsrt_tree_set(&o, "first_different", first.value);
    }
    return o.value;
}

static json_t *request_json(const gsrt_report_request *request, uint32_t number)
{
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_u64(&o, "request", number);
    gsrt_tree_set(&o, "prompt_tokens", numbers(request->prompt_tokens, request->prompt_token_count));
    gsrt_tree_set(&o, "tokens", numbers(request->tokens, request->token_count));
    gsrt_tree_text(&o, "text", request->text == NULL ? "" : request->text);
    gsrt_tree_text(&o, "finish", request->finish);
    if (request->error != NULL)
        gsrt_tree_text(&o, "error", request->error);
    set_measured(&o, "ttft_ms", request->ttft_ms);
    set_measured(&o, "decode_tokens_per_s", request->decode_tokens_per_s);
    gsrt_tree_u64(&o, "prefix_tokens_reused", request->prefix_tokens_reused);
    return o.value;
}

static json_t *rank_json(const gsrt_report_rank *rank)
{
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_u64(&o, "rank", rank->rank);
    gsrt_tree_text(&o, "host", rank->host);
    gsrt_tree_set(&o, "pid", json_integer(rank->pid));
    gsrt_tree_set(&o, "stage", rank->has_role ? gsrt_json_u64(rank->stage) : json_null());
    gsrt_tree_set(&o, "member", rank->has_role ? gsrt_json_u64(rank->member) : json_null());
    gsrt_tree_text(&o, "isa", rank->isa);
    gsrt_tree_u64(&o, "threads", rank->thread_count);
    gsrt_tree_u64(&o, "weight_bytes_touched", rank->weight_bytes_touched);
    gsrt_tree_u64(&o, "weight_bytes_share", rank->weight_bytes_share);
    gsrt_tree_u64(&o, "weight_bytes_copies", rank->weight_bytes_copies);
    gsrt_tree_u64(&o, "rows_per_step_max", rank->rows_per_step_max);
    gsrt_tree_u64(&o, "rows_total", rank->rows_total);
    gsrt_tree_u64(&o, "steps", rank->steps);
    gsrt_tree_u64(&o, "gathered_bytes", rank->gathered_bytes);
    gsrt_tree_u64(&o, "reduced_bytes", rank->reduced_bytes);
    gsrt_tree_u64(&o, "packed_bytes", rank->packed_bytes);
    gsrt_tree_u64(&o, "kv_streamed_bytes", rank->kv_streamed_bytes);
    gsrt_tree_u64(&o, "kv_gathered_bytes", rank->kv_gathered_bytes);
    gsrt_tree_u64(&o, "kv_held_bytes", rank->kv_held_bytes);
    gsrt_tree_u64(&o, "kv_left_out", rank->kv_left_out);
    set_measured(&o, "pack_ms", rank->pack_ms);
    set_measured(&o, "load_ms", rank->load_ms);
    gsrt_tree_u64(&o, "messages_sent", rank->messages_sent);
    gsrt_tree_u64(&o, "messages_received", rank->messages_received);
    return o.value;
}

static json_t *backend_json(const gsrt_report_backend *backend)
{
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_u64(&o, "rank", backend->rank);
    gsrt_tree_text(&o, "kind", backend->kind);
    gsrt_tree_text(&o, "name", backend->name);
    gsrt_tree_set(&o, "simulated", json_boolean(backend->is_simulated));
    set_measured(&o, "busy_ms", (double)backend->busy_ns / 1e6);
    if (backend->is_simulated) {
        set_measured(&o, "energy_j", backend->energy_j);
        set_measured(&o, "temperature_c", backend->temperature_c);
    }
    return o.value;
}

static json_t *failure_json(const gsrt_report_failure *failure)
{
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_u64(&o, "incident", failure->incident);
    gsrt_tree_text(&o, "kind", failure->kind);
    gsrt_tree_set(&o, "ranks", numbers(failure->ranks, failure->rank_count));
    set_measured(&o, "detected_ms", failure->detected_ms);
    set_measured(&o, "recovered_ms", failure->recovered_ms);
    gsrt_tree_u64(&o, "lost_tokens", failure->lost_tokens);
    gsrt_tree_u64(&o, "recomputed_tokens", failure->recomputed_tokens);
    gsrt_tree_text(&o, "method", failure->method);
    return o.value;
}

const char *gsrt_move_outcome_name(gsrt_move_outcome outcome)
{
    switch (outcome) {
    case GSRT_MOVE_DONE: return "done";
    case GSRT_MOVE_REFUSED: return "refused";
    case GSRT_MOVE_ABANDONED: return "abandoned";
    }
    return "?";
}

static json_t *move_json(const gsrt_report_move *move)
{
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_u64(&o, "stage", move->stage);
    gsrt_tree_u64(&o, "member", move->member);
    gsrt_tree_u64(&o, "from", move->from);
    gsrt_tree_u64(&o, "to", move->to);
    gsrt_tree_text(&o, "outcome", gsrt_move_outcome_name(move->outcome));
    set_measured(&o, "pause_ms", move->pause_ms);
    gsrt_tree_u64(&o, "bytes", move->bytes);
    gsrt_tree_text(&o, "why", move->why[0] == 0 ? NULL : move->why);
    return o.value;
}

static json_t *versions_json(const gsrt_report_versions *versions)
{
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_text(&o, "gsrt", versions->gsrt);
    gsrt_tree_text(&o, "numerics", versions->numerics);
    gsrt_tree_text(&o, "git", versions->git);
    gsrt_tree_text(&o, "ucx", versions->ucx);
    gsrt_tree_text(&o, "mpi", versions->mpi);
    gsrt_tree_text(&o, "compiler", versions->compiler);
    return o.value;
}

static json_t *times_json(const gsrt_report_times *times)
{
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_text(&o, "started", times->started);
    set_measured(&o, "load_ms", times->load_ms);
    set_measured(&o, "generate_ms", times->generate_ms);
    set_measured(&o, "verify_ms", times->verify_ms);
    set_measured(&o, "total_ms", times->total_ms);
    return o.value;
}

static json_t *model_json(const gsrt_report *report)
{
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_text(&o, "file", report->model_file);
    gsrt_tree_text(&o, "hash", report->model_hash);
    if (report->workload != NULL) {
        gsrt_tree_text(&o, "name", report->workload->name);
        gsrt_tree_text(&o, "architecture", report->workload->architecture);
        gsrt_tree_u64(&o, "layers", report->workload->layer_count);
        gsrt_tree_u64(&o, "parameters", report->workload->parameter_count);
    }
    return o.value;
}

static json_t *snapshots_json(const gsrt_report_snapshots *snapshots)
{
    json_t *refused = json_array();
    for (uint32_t i = 0; i < snapshots->refused_count; i++) {
        gsrt_tree one = {.value = json_object()};
        gsrt_tree_u64(&one, "number", snapshots->refused[i].number);
        gsrt_tree_text(&one, "why", snapshots->refused[i].why);
        refused = gsrt_tree_append(refused, one.value);
    }
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_u64(&o, "committed", snapshots->committed);
    gsrt_tree_u64(&o, "failed", snapshots->failed);
    gsrt_tree_set(&o, "restored", snapshots->restored == 0 ? json_null() : gsrt_json_u64(snapshots->restored));
    gsrt_tree_u64(&o, "restored_positions", snapshots->restored_positions);
    gsrt_tree_set(&o, "refused", refused);
    return o.value;
}

static json_t *replicas_json(const gsrt_report *report)
{
    uint64_t streamed_bytes = 0, gathered_bytes = 0;
    for (uint32_t i = 0; i < report->rank_count; i++) {
        streamed_bytes += report->ranks[i].kv_streamed_bytes;
        gathered_bytes += report->ranks[i].kv_gathered_bytes;
    }
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_u64(&o, "streamed_bytes", streamed_bytes);
    gsrt_tree_u64(&o, "gathered_bytes", gathered_bytes);
    gsrt_tree_u64(&o, "restored_positions", report->replicas->restored_positions);
    return o.value;
}

static json_t *report_json(const gsrt_report *report)
{
    json_t *requests = json_array(), *ranks = json_array(), *backends = json_array(), *failures = json_array();
    json_t *moves = json_array();
    for (uint32_t i = 0; i < report->request_count; i++)
        requests = gsrt_tree_append(requests, request_json(&report->requests[i], i));
    for (uint32_t i = 0; i < report->rank_count; i++)
        ranks = gsrt_tree_append(ranks, rank_json(&report->ranks[i]));
    for (uint32_t i = 0; i < report->backend_count; i++)
        backends = gsrt_tree_append(backends, backend_json(&report->backends[i]));
    for (uint32_t i = 0; i < report->failure_count; i++)
        failures = gsrt_tree_append(failures, failure_json(&report->failures[i]));
    for (uint32_t i = 0; i < report->move_count; i++)
        moves = gsrt_tree_append(moves, move_json(&report->moves[i]));
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_text(&o, "schema", GSRT_REPORT_SCHEMA);
    gsrt_tree_set(&o, "exit", json_integer(report->exit_code));
    gsrt_tree_text(&o, "name", report->name);
    gsrt_tree_text(&o, "world", report->world);
    gsrt_tree_text(&o, "error", report->error);
    gsrt_tree_set(&o, "contract", contract_json(&report->contract));
    gsrt_tree_set(&o, "requests", requests);
    gsrt_tree_set(&o, "plan", report->plan == NULL ? json_null() : plan_json(report->plan, report->workload));
    gsrt_tree_set(&o, "predicted", report->predicted == NULL ? json_null() : gsrt_predicted_json(report));
    gsrt_tree_set(&o, "model", model_json(report));
    gsrt_tree_set(&o, "ranks", ranks);
    gsrt_tree_set(&o, "backends", backends);
    gsrt_tree_set(&o, "failures", failures);
    gsrt_tree_set(&o, "moves", moves);
    if (report->narrowed != NULL)
        gsrt_tree_set(&o, "narrowed", watched_json(report->narrowed));
    gsrt_tree_set(&o, "snapshots", report->snapshots == NULL ? json_null() : snapshots_json(report->snapshots));
    gsrt_tree_set(&o, "replicas", report->replicas == NULL ? json_null() : replicas_json(report));
    gsrt_tree_set(&o, "versions", versions_json(&report->versions));
    gsrt_tree_set(&o, "times", times_json(&report->times));
    return o.value;
}

/* Print and release; NULL: building it ran out of memory. */
static gsrt_status print_tree(json_t *tree, gsrt_buffer *out)
{
    if (tree == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = gsrt_json_print(tree, false, out);
    json_decref(tree);
    return status;
}

gsrt_status gsrt_report_write_json(const gsrt_report *report, gsrt_buffer *out)
{
    return print_tree(report_json(report), out);
}

/* ---- fallbacks: what the plan becomes without one rank, or one host ---- */

/* Without `lost`, a rank of the domain; the domain is that rank alone, or all of its host. */
static json_t *fallback_json(const gsrt_plan *plan, const gsrt_workload *workload, uint32_t rank_count,
                             const char *const *hosts, uint32_t lost, bool is_host)
{
    bool is_there[GSRT_RANK_COUNT_MAX];
    gsrt_plan *without = NULL;
    gsrt_way way;
    gsrt_diag diag = {0};
    gsrt_tree o = {.value = json_object()};
    json_t *ranks = json_array();
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        is_there[rank] = is_host ? strcmp(hosts[rank], hosts[lost]) != 0 : rank != lost;
        if (!is_there[rank])
            ranks = gsrt_tree_append(ranks, gsrt_json_u64(rank));
    }
    gsrt_status status = gsrt_plan_without(plan, is_there, rank_count, &without, &way);
    if (status == GSRT_OK)
        status = gsrt_plan_check(without, workload, rank_count, "plan", &diag);
    gsrt_tree_text(&o, "domain", is_host ? "host" : "rank");
    gsrt_tree_set(&o, "without", ranks);
    gsrt_tree_set(&o, "protected", json_boolean(status == GSRT_OK));
    if (status != GSRT_OK) {
        gsrt_tree_text(&o, "why", diag.status != GSRT_OK ? diag.text : "nobody is left");
    } else {
        json_t *stages = json_array();
        for (uint32_t s = 0; s < without->stage_count && stages != NULL; s++)
            stages = gsrt_tree_append(stages, stage_json(without, workload, s));
        gsrt_tree_text(&o, "way", gsrt_way_name(way));
        gsrt_tree_text(&o, "contract", without->narrowed_count == 0 ? "bitwise" : "budgets");
        gsrt_tree_set(&o, "stages", stages);
    }
    gsrt_plan_free(without);
    return o.value;
}

static bool is_first_of_its_host(const char *const *hosts, uint32_t rank)
{
    for (uint32_t other = 0; other < rank; other++) {
        if (strcmp(hosts[other], hosts[rank]) == 0)
            return false;
    }
    return true;
}

static json_t *fallbacks_json(const gsrt_plan *plan, const gsrt_workload *workload, uint32_t rank_count,
                              const char *const *hosts)
{
    json_t *all = json_array();
    for (uint32_t rank = 0; rank < rank_count; rank++)
        all = gsrt_tree_append(all, fallback_json(plan, workload, rank_count, hosts, rank, false));
    for (uint32_t rank = 0; hosts != NULL && rank < rank_count; rank++) {
        if (is_first_of_its_host(hosts, rank))
            all = gsrt_tree_append(all, fallback_json(plan, workload, rank_count, hosts, rank, true));
    }
    return all;
}

/* Who has no second place is told so, and runs. */
static json_t *second_places_json(const gsrt_plan *plan, uint32_t rank_count, const char *const *hosts)
{
    bool is_there[GSRT_RANK_COUNT_MAX];
    uint32_t places[GSRT_RANK_COUNT_MAX], stage, member;
    json_t *all = json_array();
    for (uint32_t rank = 0; rank < rank_count; rank++)
        is_there[rank] = true;
    gsrt_plan_second_places(plan, hosts, is_there, rank_count, places);
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        if (!gsrt_plan_role_of(plan, rank, &stage, &member))
            continue;
        gsrt_tree o = {.value = json_object()};
        bool is_known = places[rank] != GSRT_NO_PLACE && hosts != NULL;
        gsrt_tree_u64(&o, "rank", rank);
        gsrt_tree_set(&o, "on", places[rank] == GSRT_NO_PLACE ? json_null() : gsrt_json_u64(places[rank]));
        gsrt_tree_set(&o, "other_host",
                      is_known ? json_boolean(strcmp(hosts[rank], hosts[places[rank]]) != 0) : json_null());
        all = gsrt_tree_append(all, o.value);
    }
    return all;
}

gsrt_status gsrt_report_write_plan_json(const gsrt_plan *plan, const gsrt_workload *workload, uint32_t rank_count,
                                        const char *const *hosts, bool is_replicating, const char *planned,
                                        gsrt_buffer *out)
{
    gsrt_tree o = {.value = plan_json(plan, workload)};
    json_t *tree = NULL;
    if (planned != NULL) {
        gsrt_status status = gsrt_json_parse(gsrt_span_of_text(planned), "planned", &tree, NULL);
        if (status != GSRT_OK) {
            json_decref(o.value);
            return status;
        }
        gsrt_tree_set(&o, "planned", tree);
    }
    if (rank_count > 0)
        gsrt_tree_set(&o, "fallbacks", fallbacks_json(plan, workload, rank_count, hosts));
    if (rank_count > 0 && is_replicating)
        gsrt_tree_set(&o, "replicas", second_places_json(plan, rank_count, hosts));
    return print_tree(o.value, out);
}

gsrt_status gsrt_report_print_verdict(const gsrt_report_contract *contract, gsrt_buffer *out)
{
    const gsrt_violation_seen *seen = contract->violation;
    if (contract->violations > 0)
        return gsrt_buffer_print(out,
                                 "contract %s: VIOLATED (%s %.6g of at most %.6g in request %" PRIu32
                                 " at position %" PRIu32 "; what violated it was disabled)",
                                 contract->kind, seen->statistic, seen->seen, seen->bound, seen->request,
                                 seen->position);
    if (!is_verified(contract)) {
        const char *nothing = contract->is_verified ? "there was nothing to compare" : "verify: none";
        return gsrt_buffer_print(out, "contract %s: not verified (%s)", contract->kind,
                                 contract->unverified_because != NULL ? contract->unverified_because : nothing);
    }
    if (contract->different > 0)
        return gsrt_buffer_print(
            out,
            "contract %s: VIOLATED (%" PRIu64 " of %" PRIu64
            " logit hashes differ from the reference; first: request %" PRIu32 ", token %" PRIu32 ")",
            contract->kind, contract->different, contract->compared, contract->first_request, contract->first_index);
    return gsrt_buffer_print(out, "contract %s: kept (%" PRIu64 " of %" PRIu64 " logit hashes equal the reference)",
                             contract->kind, contract->compared, contract->compared);
}

gsrt_status gsrt_report_read_exit(gsrt_span json, int *out)
{
    json_t *root;
    gsrt_status status = gsrt_json_parse(json, "report.json", &root, NULL);
    if (status != GSRT_OK)
        return status;
    const json_t *exit_code = json_object_get(root, "exit");
    json_int_t value = json_is_integer(exit_code) ? json_integer_value(exit_code) : -1;
    json_decref(root);
    if (value < 0 || value > 255)
        return GSRT_EINPUT;
    *out = (int)value;
    return GSRT_OK;
}
