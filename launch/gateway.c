#include "launch/gateway.h"

#include "actors/courier.h"
#include "launch/healing.h"
#include "launch/moves.h"
#include "launch/options.h"
#include "launch/replicas.h"
#include "launch/snapshots.h"

#include <stdlib.h>

/* What waits until this rank may emit again. */
typedef struct held {
    bool is_finished; /* which of the two */
    gsrt_msg_token token;
    gsrt_msg_finished finished;
} held;

enum {
    HOLD_MS = 2,   /* between two looks at the fence */
    ORDER_MS = 20, /* between two looks for an order from outside */
    WATCH_MS = 5,  /* between two looks at the watch */
    TIMER_HOLD = 0,
    TIMER_FAULT = 1,
    TIMER_ORDER = 2,
    TIMER_WATCH = 3,
};

typedef struct gateway {
    gsrt_gateway_options options;
    uint32_t epoch;        /* in which it was started: in a later one it does nothing but wait for its end */
    gsrt_plan *plan;       /* of the view; owned */
    gsrt_address *regions; /* [rank_count] */
    gsrt_address scheduler;
    uint32_t member_count, ready_count, account_count;
    held *held; /* [held_capacity]; owned */
    uint32_t held_count, held_capacity;
    uint64_t snapshot, snapshot_next; /* what the view begins from, 0: nothing; and the number of the next one */
    uint32_t *restored;               /* [request_count] blocks that are not computed again; owned */
    uint32_t *spared;                 /* [request_count] of the known ones, not computed again; owned */
    uint32_t *known;                  /* [request_count] tokens that had been emitted before this view; owned */
    bool is_emitting;                 /* this view has begun to emit */
    bool is_violated;                 /* and emits nothing more: another is due */
    bool is_waiting;                  /* every answer has ended; the watch has not */
    gsrt_move move;                   /* going on, as options.moves says */
    gsrt_address moved;               /* its new region; GSRT_NOBODY: none yet */
} gateway;

/* The run ends here, with the code of `status`. */
static void fail(gsrt_actor *self, const gateway *g, gsrt_status status)
{
    gsrt_diag *diag = g->options.diag;
    if (diag->status == GSRT_OK)
        status = gsrt_diag_set(diag, status, NULL, NULL, "the run cannot go on: %s", gsrt_status_text(status));
    gsrt_rank_end_all(g->options.rank, (uint32_t)gsrt_exit_code(diag->status));
    gsrt_node_finish(gsrt_node_of(self), gsrt_exit_code(diag->status));
}

static void copy_text(char *to, size_t capacity, gsrt_span from)
{
    size_t len = from.len < capacity - 1 ? from.len : capacity - 1;
    memcpy(to, from.data, len);
    to[len] = 0;
}

void gsrt_account_keep(gsrt_account *account, const gsrt_msg_facts *facts)
{
    account->facts = *facts;
    copy_text(account->isa, sizeof account->isa, facts->isa);
    copy_text(account->kind, sizeof account->kind, facts->backend_kind);
    copy_text(account->name, sizeof account->name, facts->backend_name);
    account->is_known = true;
}

/* By the courier, as the scheduler's steps: order is kept. */
static gsrt_status send_to_members(gsrt_actor *self, const gateway *g, gsrt_kind kind, const void *body)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t rank = 0; rank < gsrt_node_rank_count(gsrt_node_of(self)) && status == GSRT_OK; rank++) {
        if (gsrt_rank_is_member(g->options.rank, rank))
            status = gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_NODE, 0, rank), kind, body, NULL);
    }
    return status;
}

/* ---- the end: everybody's account ---- */

static gsrt_status ask_for_accounts(gsrt_actor *self, gateway *g)
{
    if (*g->options.done_ns == 0)
        *g->options.done_ns = gsrt_now_ns(self);
    return send_to_members(self, g, GSRT_KIND_ASK_FACTS,
                           &(gsrt_msg_ask_facts){.rank = gsrt_node_rank(gsrt_node_of(self))});
}

static gsrt_status on_facts(gsrt_actor *self, gateway *g, const gsrt_msg_facts *facts)
{
    if (!gsrt_rank_is_member(g->options.rank, facts->rank) || g->account_count >= g->member_count)
        return GSRT_EINVAL;
    (void)self;
    gsrt_account_keep(&g->options.accounts[facts->rank], facts);
    g->account_count += 1;
    if (g->account_count < g->member_count)
        return GSRT_OK;
    gsrt_healing_finished(g->options.healing, true);
    g->options.on_done(g->options.arg);
    return GSRT_OK;
}

/* What the watch has not seen yet belongs to the report. */
static gsrt_status ask_if_all_ended(gsrt_actor *self, gateway *g)
{
    const gsrt_answers *answers = g->options.answers;
    if (answers->finished_count < answers->scenario->request_count || g->is_violated)
        return GSRT_OK;
    g->is_waiting = gsrt_watch_is_busy(*g->options.watch);
    return g->is_waiting ? GSRT_OK : ask_for_accounts(self, g);
}

/* What this view computes is not to be emitted: in another one, with what is left of what was narrowed, if anything is
 * to follow. */
static gsrt_status begin_anew(gateway *g, const gsrt_violation_seen *seen)
{
    const gsrt_answers *answers = g->options.answers;
    if (answers->finished_count == answers->scenario->request_count)
        return GSRT_OK;
    if (g->member_count == 1)
        return gsrt_diag_set(g->options.diag, GSRT_EPEER, NULL, NULL,
                             "a budget was exceeded, and one rank alone cannot begin anew; go on with 'gsrt-launch "
                             "--resume %s'",
                             g->options.directory);
    g->is_violated = true;
    gsrt_healing_violated(g->options.healing, g->plan, seen);
    return GSRT_OK;
}

/* A budget is exceeded: what was emitted stays, and what follows is computed anew in another view; where nothing
 * follows, that is all. */
static gsrt_status on_violation(gsrt_actor *self, gateway *g, const gsrt_violation_seen *seen)
{
    gsrt_status status = g->options.on_violation(g->options.arg, seen, g->options.diag);
    if (status == GSRT_OK)
        status = begin_anew(g, seen);
    return status == GSRT_OK && g->is_waiting && !g->is_violated ? ask_if_all_ended(self, g) : status;
}

static gsrt_status look_at_watch(gsrt_actor *self, gateway *g)
{
    gsrt_violation_seen seen;
    if (!g->is_violated && gsrt_watch_violated(*g->options.watch, &seen))
        return on_violation(self, g, &seen);
    return g->is_waiting ? ask_if_all_ended(self, g) : GSRT_OK;
}

static gsrt_status keep_watching(gsrt_actor *self, gateway *g)
{
    gsrt_status status = look_at_watch(self, g);
    bool is_over = *g->options.watch == NULL || g->is_violated;
    return status == GSRT_OK && !is_over ? gsrt_timer_start(self, WATCH_MS * 1000000ull, TIMER_WATCH, NULL) : status;
}

static gsrt_status on_logits(gsrt_actor *self, gateway *g, const gsrt_msg_logits *logits, const gsrt_payload *payload)
{
    gsrt_watch *watch = *g->options.watch;
    gsrt_status status = GSRT_OK;
    if (watch != NULL)
        gsrt_watch_logits(watch, logits, payload);
    if (g->options.answers->logits != NULL)
        status = gsrt_answers_logits(g->options.answers, logits, payload);
    return status == GSRT_OK ? look_at_watch(self, g) : status;
}

/* The replicas of these requests are of no use any more. */
static gsrt_status forget(gsrt_actor *self, const gateway *g, const uint32_t *requests, uint32_t count)
{
    gsrt_msg_forget message = {.requests = requests, .requests_count = count};
    gsrt_status status = GSRT_OK;
    for (uint32_t rank = 0; rank < gsrt_node_rank_count(gsrt_node_of(self)) && status == GSRT_OK; rank++) {
        if (g->options.replicas->is_on && gsrt_rank_is_member(g->options.rank, rank))
            status = gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REPLICA, 0, rank), GSRT_KIND_FORGET,
                                       &message, NULL);
    }
    return status;
}

/* Those that ended in earlier views: whoever led them may not have come to tell. */
static gsrt_status forget_ended(gsrt_actor *self, const gateway *g)
{
    const gsrt_answers *answers = g->options.answers;
    uint32_t ended[GSRT_REQUEST_COUNT_MAX], count = 0;
    for (uint32_t i = 0; i < answers->scenario->request_count; i++) {
        if (answers->items[i].finish != 0)
            ended[count++] = i;
    }
    return count == 0 ? GSRT_OK : forget(self, g, ended, count);
}

static gsrt_status on_finished(gsrt_actor *self, gateway *g, const gsrt_msg_finished *finished)
{
    gsrt_answers *answers = g->options.answers;
    if (finished->request < answers->scenario->request_count && answers->items[finished->request].finish != 0)
        return forget(self, g, &finished->request, 1); /* whoever led before had ended it (begin_emitting) */
    gsrt_status status = gsrt_answers_finished(answers, finished);
    if (status == GSRT_OK)
        status = forget(self, g, &finished->request, 1);
    return status == GSRT_OK ? ask_if_all_ended(self, g) : status;
}

/* ---- moves: START to the new rank, MOVE to the scheduler, ROLES to all ---- */

/* To everybody (GSRT_NOT_A_MEMBER), or to the rank that takes a role in the middle of a view: whoever was to be
 * restored from the snapshot is by then (placement/scheduler_move.c). */
static gsrt_status say_start(gsrt_actor *self, const gateway *g, const gsrt_plan *plan, uint32_t rank)
{
    gsrt_plan_carrier *carrier = malloc(sizeof *carrier);
    if (carrier == NULL)
        return GSRT_ENOMEM;
    const gsrt_replicas *replicas = g->options.replicas;
    bool is_view = rank == GSRT_NOT_A_MEMBER;
    gsrt_plan_pack(plan, carrier);
    gsrt_msg_start start = {.directory = gsrt_span_of_text(g->options.directory),
                            .layers = carrier->layers,
                            .layers_count = 2 * carrier->stage_count,
                            .member_counts = carrier->member_counts,
                            .member_counts_count = carrier->stage_count,
                            .ranks = carrier->ranks,
                            .ranks_count = carrier->role_count,
                            .shares = carrier->shares,
                            .shares_count = carrier->role_count,
                            .spares = carrier->spares,
                            .spares_count = carrier->spare_count,
                            .exchange = carrier->exchange,
                            .narrowed = carrier->narrowed,
                            .narrowed_count = 2 * carrier->narrowed_count,
                            .snapshot = is_view ? g->snapshot : 0,
                            .second_places = replicas->second_places,
                            .second_places_count = replicas->is_on ? replicas->rank_count : 0,
                            .transfers = (const uint32_t *)(const void *)replicas->transfers.data,
                            .transfers_count = is_view ? (uint32_t)(replicas->transfers.len / sizeof(uint32_t)) : 0};
    gsrt_status status =
        is_view ? send_to_members(self, g, GSRT_KIND_START, &start)
                : gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_NODE, 0, rank), GSRT_KIND_START, &start, NULL);
    free(carrier);
    return status;
}

/* Who is who, to everybody: by the courier, so that it comes before the steps of those who are named. */
static gsrt_status say_roles(gsrt_actor *self, const gateway *g)
{
    uint64_t roles[GSRT_RANK_COUNT_MAX + 2], actors[GSRT_RANK_COUNT_MAX + 2];
    uint32_t count = 2;
    gsrt_status status = GSRT_OK;
    roles[0] = gsrt_address_of_role(GSRT_ROLE_GATEWAY, 0, 0);
    actors[0] = gsrt_self(self);
    roles[1] = gsrt_address_of_role(GSRT_ROLE_SCHEDULER, 0, 0);
    actors[1] = g->scheduler;
    for (uint32_t s = 0; s < g->plan->stage_count; s++) {
        for (uint32_t m = 0; m < g->plan->stages[s].member_count; m++) {
            roles[count] = gsrt_address_of_role(GSRT_ROLE_REGION, s, m);
            actors[count++] = g->regions[g->plan->stages[s].ranks[m]];
        }
    }
    /* bound here first: the messages to the others and to this rank's own root take different ways */
    for (uint32_t i = 0; i < count && status == GSRT_OK; i++)
        status = gsrt_role_bind(gsrt_node_of(self), roles[i], actors[i]);
    gsrt_msg_roles message = {.roles = roles, .roles_count = count, .actors = actors, .actors_count = count};
    return status == GSRT_OK ? send_to_members(self, g, GSRT_KIND_ROLES, &message) : status;
}

/* The next that is due, if none goes on. The new rank takes the part while tokens go on. */
static gsrt_status try_move(gsrt_actor *self, gateway *g)
{
    bool is_member[GSRT_RANK_COUNT_MAX];
    uint32_t rank_count = gsrt_node_rank_count(gsrt_node_of(self));
    gsrt_plan *plan;
    if (g->options.moves->is_going_on || g->ready_count < g->member_count)
        return GSRT_OK;
    for (uint32_t r = 0; r < rank_count; r++)
        is_member[r] = gsrt_rank_is_member(g->options.rank, r);
    if (!gsrt_moves_begin(g->options.moves, g->plan, is_member, rank_count, &g->move))
        return GSRT_OK;
    g->moved = GSRT_NOBODY;
    gsrt_status status = gsrt_plan_copy(g->plan, &plan);
    if (status != GSRT_OK)
        return status;
    gsrt_plan_move(plan, g->move.stage, g->move.member, g->move.to);
    gsrt_replicas_place(g->options.replicas, plan);
    status = say_start(self, g, plan, g->move.to);
    gsrt_plan_free(plan);
    return status;
}

/* The new region is there: the old one may begin to give away what it has. */
static gsrt_status on_moved_ready(gsrt_actor *self, gateway *g, const gsrt_msg_ready *ready)
{
    char why[GSRT_MOVE_WHY_BYTES];
    if (!g->options.moves->is_going_on)
        return GSRT_OK; /* every answer had ended before */
    if (ready->rank != g->move.to || g->moved != GSRT_NOBODY)
        return GSRT_EINVAL;
    if (ready->exit_code != 0) {
        (void)snprintf(why, sizeof why, "%.*s", (int)ready->why.len, (const char *)ready->why.data);
        gsrt_moves_failed(g->options.moves, true, why);
        return try_move(self, g);
    }
    g->moved = ready->region;
    gsrt_msg_move message = {.stage = g->move.stage, .member = g->move.member, .region = g->moved};
    return gsrt_send(self, g->scheduler, GSRT_KIND_MOVE, &message, NULL);
}

/* No step is out, and the new region has all: from here on it is the region. */
static gsrt_status on_handover(gsrt_actor *self, gateway *g, const gsrt_msg_handover *handover)
{
    if (!g->options.moves->is_going_on)
        return GSRT_OK; /* every answer had ended before */
    uint32_t before = g->plan->stages[g->move.stage].ranks[g->move.member];
    g->regions[before] = GSRT_NOBODY;
    g->regions[g->move.to] = g->moved;
    gsrt_plan_move(g->plan, g->move.stage, g->move.member, g->move.to);
    gsrt_status status = say_roles(self, g);
    gsrt_msg_resume resume = {.stage = g->move.stage, .member = g->move.member};
    if (status == GSRT_OK)
        status = gsrt_send(self, g->scheduler, GSRT_KIND_RESUME, &resume, NULL);
    if (status != GSRT_OK)
        return status;
    gsrt_moves_done(g->options.moves, gsrt_now_ns(self) - g->options.scheduler_facts->held_ns, handover->bytes);
    return try_move(self, g);
}

/* Orders come from outside at any time; the twin has no outside. */
static gsrt_status look_for_order(gsrt_actor *self, gateway *g)
{
    gsrt_moves_look(g->options.moves);
    gsrt_status status = try_move(self, g);
    return status == GSRT_OK ? gsrt_timer_start(self, ORDER_MS * 1000000ull, TIMER_ORDER, NULL) : status;
}

/* ---- emitting, while this rank may ---- */

static bool is_fenced(gsrt_actor *self, const gateway *g)
{
#ifdef GSRT_PLANT_EARLY_EMISSION
    return false;
#endif
    return g->options.fenced(g->options.arg, gsrt_now_ns(self)) != GSRT_FENCE_NONE;
}

/* Whoever led before was allowed to emit until this rank was: what he emitted since this view was opened counts as
 * known before it, and is computed again here. */
static gsrt_status begin_emitting(gsrt_actor *self, gateway *g)
{
    const gsrt_answers *answers = g->options.answers;
    if (g->is_emitting)
        return GSRT_OK;
    g->is_emitting = true;
    gsrt_status status = g->options.begin_emitting(g->options.arg, g->options.diag);
    if (status == GSRT_ESTALE) /* whoever led before has seen a budget exceeded */
        status = begin_anew(g, &gsrt_eras_last(&answers->eras)->why);
    for (uint32_t i = 0; i < answers->scenario->request_count && status == GSRT_OK; i++) {
        g->known[i] = answers->items[i].token_count;
        gsrt_healing_known(g->options.healing, i, g->known[i]);
    }
    return status == GSRT_OK ? ask_if_all_ended(self, g) : status;
}

static gsrt_status emit(gsrt_actor *self, gateway *g, const held *what)
{
    gsrt_status status = begin_emitting(self, g);
    if (status != GSRT_OK || g->is_violated)
        return status;
    if (what->is_finished)
        return on_finished(self, g, &what->finished);
    const gsrt_msg_token *token = &what->token;
    status = gsrt_answers_token(g->options.answers, token, gsrt_now_ns(self), g->options.diag);
    if (status != GSRT_OK)
        return status;
    if (token->index < g->known[token->request] &&
        gsrt_answers_is_of_era(g->options.answers, token->request, token->index))
        gsrt_healing_restored(g->options.healing, token->request, token->index + 1);
    else if (token->index >= g->known[token->request])
        gsrt_healing_token(g->options.healing, token->request, token->index + 1, g->known[token->request],
                           g->spared[token->request]);
    return try_move(self, g);
}

/* Now, or in its turn when the fence is down. At most one step's tokens come while it is up for each request. */
static gsrt_status emit_or_hold(gsrt_actor *self, gateway *g, const held *what)
{
    if (g->held_count == 0 && !is_fenced(self, g))
        return emit(self, g, what);
    if (g->held_count == g->held_capacity) {
        uint32_t capacity = g->held_capacity == 0 ? 64 : 2 * g->held_capacity;
        held *room = realloc(g->held, capacity * sizeof *room);
        if (room == NULL)
            return GSRT_ENOMEM;
        g->held = room;
        g->held_capacity = capacity;
    }
    g->held[g->held_count++] = *what;
    return g->held_count == 1 ? gsrt_timer_start(self, HOLD_MS * 1000000ull, TIMER_HOLD, NULL) : GSRT_OK;
}

static gsrt_status emit_held(gsrt_actor *self, gateway *g)
{
    gsrt_status status = GSRT_OK;
    if (is_fenced(self, g))
        return gsrt_timer_start(self, HOLD_MS * 1000000ull, TIMER_HOLD, NULL);
    for (uint32_t i = 0; i < g->held_count && status == GSRT_OK; i++)
        status = emit(self, g, &g->held[i]);
    g->held_count = 0;
    return status;
}

/* ---- the beginning: who is who, and the requests ---- */

static gsrt_status submit_all(gsrt_actor *self, gateway *g)
{
    const gsrt_answers *answers = g->options.answers;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < answers->scenario->request_count && status == GSRT_OK; i++) {
        const gsrt_scenario_request *request = &answers->scenario->requests[i];
        gsrt_answer *answer = &answers->items[i];
        g->known[i] = answer->token_count;
        if (answer->finish != 0)
            continue;
        gsrt_msg_submit submit = {.request = i,
                                  .prompt = answer->prompt,
                                  .prompt_count = answer->prompt_count,
                                  .known = answer->tokens,
                                  .known_count = answer->token_count,
                                  .restored = g->restored[i] * GSRT_KV_BLOCK_POSITIONS,
                                  .max_tokens = request->max_tokens,
                                  .temperature = request->temperature,
                                  .top_k = request->top_k,
                                  .top_p = request->top_p,
                                  .seed = request->seed,
                                  .is_ignoring_eos = request->is_ignoring_eos,
                                  .is_logits_wanted = answers->logits != NULL,
                                  .is_watched = gsrt_watch_wants(*g->options.watch, i)};
        *(g->options.replicas->restored[i] > 0 ? &g->options.replicas->report.restored_positions
                                               : &g->options.snapshots->report.restored_positions) += submit.restored;
        if (submit.restored >= answer->prompt_count) /* as the scheduler counts them */
            g->spared[i] = submit.restored + 1 - answer->prompt_count;
        if (answer->submitted_ns == 0)
            answer->submitted_ns = gsrt_now_ns(self);
        status = gsrt_send(self, g->scheduler, GSRT_KIND_SUBMIT, &submit, NULL);
    }
    return status == GSRT_OK ? ask_if_all_ended(self, g) : status; /* all may have ended before this view */
}

static gsrt_status start_scheduler(gsrt_actor *self, gateway *g)
{
    const gsrt_rank *rank = g->options.rank;
    const gsrt_scenario *scenario = rank->scenario;
    const gsrt_workload *workload = rank->loaded->workload;
    const gsrt_tokenizer *tokenizer = rank->loaded->tokenizer;
    uint32_t stops[GSRT_SCHEDULER_STOPS_MAX], stop_count = 0;
    for (uint32_t t = 0; tokenizer != NULL && t < workload->vocab_count && stop_count < GSRT_SCHEDULER_STOPS_MAX; t++) {
        if (gsrt_tokenizer_is_stop(tokenizer, t))
            stops[stop_count++] = t;
    }
    gsrt_scheduler_actor_options options = {
        .machine = {.prefill_chunk = scenario->prefill_chunk,
                    .batch_requests = scenario->batch_requests,
                    .block_count = gsrt_part_kv_blocks(scenario, workload->context_max),
                    .window = g->plan->stage_count,
                    .context_max = workload->context_max,
                    .is_reusing_prefixes = scenario->is_reusing_prefixes,
                    .snapshot_tokens = g->options.snapshots->directory == NULL ? 0 : scenario->snapshot_tokens,
                    .snapshot_first = g->snapshot_next,
                    .stops = stops,
                    .stop_count = stop_count},
        .plan = g->plan,
        .facts = g->options.scheduler_facts};
    gsrt_status status = gsrt_scheduler_actor_start(gsrt_node_of(self), &options, &g->scheduler);
    return status == GSRT_OK ? gsrt_monitor(self, g->scheduler) : status;
}

/* Faults and moves that are due by time. */
static gsrt_status look_at_faults(gsrt_actor *self, gateway *g)
{
    uint64_t next_ns = gsrt_healing_look(g->options.healing), now_ns = gsrt_now_ns(self);
    gsrt_status status = try_move(self, g);
    if (next_ns == UINT64_MAX || status != GSRT_OK)
        return status;
    return gsrt_timer_start(self, next_ns > now_ns ? next_ns - now_ns : 0, TIMER_FAULT, NULL);
}

/* Everybody is there: say who is who, then begin. */
static gsrt_status begin(gsrt_actor *self, gateway *g)
{
    gsrt_status status = start_scheduler(self, g);
    if (status == GSRT_OK)
        status = say_roles(self, g);
    if (status == GSRT_OK)
        status = gsrt_moves_begun(g->options.moves, g->plan, g->epoch, g->options.rank->incarnations,
                                  gsrt_node_rank_count(gsrt_node_of(self)));
    if (*g->options.ready_ns == 0)
        *g->options.ready_ns = gsrt_now_ns(self);
    gsrt_healing_ready(g->options.healing);
    if (status == GSRT_OK)
        status = look_at_faults(self, g);
    if (status == GSRT_OK)
        status = forget_ended(self, g);
    if (status == GSRT_OK && !g->options.rank->options.is_twin)
        status = look_for_order(self, g);
    if (status == GSRT_OK && !g->options.rank->options.is_twin && *g->options.watch != NULL)
        status = keep_watching(self, g);
    return status == GSRT_OK ? submit_all(self, g) : status;
}

static gsrt_status on_ready(gsrt_actor *self, gateway *g, const gsrt_msg_ready *ready)
{
    if (!gsrt_rank_is_member(g->options.rank, ready->rank))
        return GSRT_EINVAL;
    if (g->ready_count == g->member_count)
        return on_moved_ready(self, g, ready);
    if (ready->exit_code != 0) {
        gsrt_status status = ready->exit_code == 2   ? GSRT_EINPUT
                             : ready->exit_code == 3 ? GSRT_EINFEASIBLE
                                                     : GSRT_EPEER;
        return gsrt_diag_set(g->options.diag, status, NULL, NULL, "rank %u cannot start: %.*s", ready->rank,
                             (int)ready->why.len, (const char *)ready->why.data);
    }
    g->regions[ready->rank] = ready->region;
    g->ready_count += 1;
    return g->ready_count == g->member_count ? begin(self, g) : GSRT_OK;
}

/* ---- life ---- */

static gsrt_status choose_plan(gsrt_actor *self, gateway *g)
{
    const gsrt_rank *rank = g->options.rank;
    uint32_t rank_count = gsrt_node_rank_count(gsrt_node_of(self));
    bool is_there[GSRT_RANK_COUNT_MAX];
    gsrt_way way;
    for (uint32_t r = 0; r < rank_count; r++) {
        is_there[r] = gsrt_rank_is_member(rank, r);
        g->member_count += is_there[r] ? 1 : 0;
    }
    gsrt_status status =
        gsrt_moves_choose(g->options.moves, rank->epoch, rank->incarnations, rank_count, &g->plan, &way);
    if (status == GSRT_OK)
        status = gsrt_plan_check(g->plan, rank->loaded->workload, rank_count, rank->scenario->file, g->options.diag);
    if (status == GSRT_OK)
        gsrt_replicas_begin(g->options.replicas, g->plan, rank->holdings, is_there);
    return status == GSRT_OK ? gsrt_healing_lead(g->options.healing, g->plan, way, g->options.diag) : status;
}

/* Which blocks of each open request need not be computed again: those of the snapshot, or of replicas where they have
 * more. */
static gsrt_status choose_restored(const gateway *g)
{
    const gsrt_answers *answers = g->options.answers;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < answers->scenario->request_count && status == GSRT_OK; i++) {
        const gsrt_answer *answer = &answers->items[i];
        /* every row is wanted in the file of logits, which may have been lost */
        /* nor is what is held of use where other weights have made it; who holds what of which era, nobody asks */
        bool is_void = answer->finish != 0 || answers->logits != NULL || answers->eras.count > 1;
        uint32_t block_max = is_void ? 0 : gsrt_answer_restorable(answer);
        uint32_t from_disk = gsrt_snapshots_blocks(g->options.snapshots, i), from_replicas;
        from_disk = from_disk < block_max ? from_disk : block_max;
        status = gsrt_replicas_restore(g->options.replicas, i, block_max, from_disk, &from_replicas);
        if (status == GSRT_OK)
            g->restored[i] = from_replicas > 0 ? from_replicas : from_disk;
    }
    return status;
}

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    gateway *g = state;
    gsrt_node *node = gsrt_node_of(self);
    g->options = *(const gsrt_gateway_options *)arg;
    g->epoch = gsrt_node_epoch(node);
    gsrt_moves_failed(g->options.moves, false, "a view change came in between");
    g->regions = calloc(gsrt_node_rank_count(node), sizeof *g->regions);
    g->known = calloc(g->options.answers->scenario->request_count, sizeof *g->known);
    g->spared = calloc(g->options.answers->scenario->request_count, sizeof *g->spared);
    g->restored = calloc(g->options.answers->scenario->request_count, sizeof *g->restored);
    gsrt_status status = g->regions == NULL || g->known == NULL || g->spared == NULL || g->restored == NULL
                             ? GSRT_ENOMEM
                             : choose_plan(self, g);
    if (status == GSRT_OK) /* there is none before the first token */
        status = gsrt_snapshots_find(g->options.snapshots, g->options.answers->token_total > 0, &g->snapshot,
                                     &g->snapshot_next);
    if (status == GSRT_OK)
        status = choose_restored(g);
    if (status == GSRT_OK)
        status = say_start(self, g, g->plan, GSRT_NOT_A_MEMBER);
    if (status != GSRT_OK) {
        free(g->regions);
        free(g->known);
        free(g->spared);
        free(g->restored);
        g->plan = gsrt_plan_free(g->plan);
    }
    return status;
}

static gsrt_status on_timer(gsrt_actor *self, gateway *g, const gsrt_msg_timer *timer)
{
    return timer->tag == TIMER_HOLD    ? emit_held(self, g)
           : timer->tag == TIMER_ORDER ? look_for_order(self, g)
           : timer->tag == TIMER_WATCH ? keep_watching(self, g)
                                       : look_at_faults(self, g);
}

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    gateway *g = state;
    gsrt_status status = GSRT_OK;
    if (gsrt_node_epoch(gsrt_node_of(self)) != g->epoch)
        return;
    if (message->kind == GSRT_KIND_READY)
        status = on_ready(self, g, message->body);
    else if (message->kind == GSRT_KIND_TOKEN)
        status = emit_or_hold(self, g, &(held){.token = *(const gsrt_msg_token *)message->body});
    else if (message->kind == GSRT_KIND_SNAPSHOT)
        status = gsrt_snapshots_begin(g->options.snapshots, message->body, g->plan);
    else if (message->kind == GSRT_KIND_SNAPSHOT_PART)
        gsrt_snapshots_part(g->options.snapshots, message->body);
    else if (message->kind == GSRT_KIND_LOGITS)
        status = on_logits(self, g, message->body, message->payload);
    else if (message->kind == GSRT_KIND_FINISHED)
        status =
            emit_or_hold(self, g, &(held){.is_finished = true, .finished = *(const gsrt_msg_finished *)message->body});
    else if (message->kind == GSRT_KIND_TIMER)
        status = on_timer(self, g, message->body);
    else if (message->kind == GSRT_KIND_HANDOVER)
        status = on_handover(self, g, message->body);
    else if (message->kind == GSRT_KIND_FACTS)
        status = on_facts(self, g, message->body);
    else if (message->kind == GSRT_KIND_DOWN)
        status = GSRT_EDOWN; /* the scheduler */
    if (status != GSRT_OK)
        fail(self, g, status);
}

static void stop(gsrt_actor *self, void *state, uint32_t reason)
{
    gateway *g = state;
    (void)reason;
    if (g->scheduler != GSRT_NOBODY) {
        gsrt_unmonitor(self, g->scheduler);
        gsrt_status status = gsrt_kill(self, g->scheduler, GSRT_EXIT_SHUTDOWN);
        (void)status; /* when it is gone already, that is as good */
    }
    free(g->regions);
    free(g->held);
    free(g->known);
    free(g->spared);
    free(g->restored);
    g->plan = gsrt_plan_free(g->plan);
}

static const gsrt_behaviour gateway_behaviour = {
    .name = "gateway", .state_bytes = sizeof(gateway), .init = init, .receive = receive, .stop = stop};

gsrt_status gsrt_gateway_start(const gsrt_gateway_options *options, gsrt_address *out)
{
    return gsrt_node_spawn(options->rank->node, &gateway_behaviour, options, out);
}
