#include "launch/gateway.h"

#include <stdlib.h>

typedef struct gateway {
    gsrt_gateway_options options;
    gsrt_address *regions; /* [rank_count] */
    uint32_t ready_count, account_count;
} gateway;

static void fail(gsrt_actor *self)
{
    gsrt_gateway_stop_all(gsrt_node_of(self), 5);
    gsrt_node_finish(gsrt_node_of(self), 5);
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

static gsrt_status submit_all(gsrt_actor *self, const gateway *g)
{
    const gsrt_answers *answers = g->options.answers;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < answers->scenario->request_count && status == GSRT_OK; i++) {
        const gsrt_scenario_request *request = &answers->scenario->requests[i];
        gsrt_msg_submit submit = {.request = i,
                                  .prompt = answers->items[i].prompt,
                                  .prompt_count = answers->items[i].prompt_count,
                                  .max_tokens = request->max_tokens,
                                  .temperature = request->temperature,
                                  .top_k = request->top_k,
                                  .top_p = request->top_p,
                                  .seed = request->seed,
                                  .is_ignoring_eos = request->is_ignoring_eos,
                                  .is_logits_wanted = answers->logits != NULL};
        answers->items[i].submitted_ns = gsrt_now_ns(self);
        status = gsrt_send(self, gsrt_address_of_role(GSRT_ROLE_SCHEDULER, 0, 0), GSRT_KIND_SUBMIT, &submit, NULL);
    }
    return status;
}

static gsrt_status start_scheduler(gsrt_actor *self, const gateway *g, gsrt_address *out)
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
                    .block_count = gsrt_rank_kv_blocks(scenario, workload->context_max),
                    .window = scenario->plan->stage_count,
                    .context_max = workload->context_max,
                    .is_reusing_prefixes = scenario->is_reusing_prefixes,
                    .stops = stops,
                    .stop_count = stop_count},
        .plan = scenario->plan,
        .facts = g->options.scheduler_facts};
    return gsrt_scheduler_actor_start(gsrt_node_of(self), &options, out);
}

/* Everybody is there: say who is who, then begin. */
static gsrt_status begin(gsrt_actor *self, const gateway *g)
{
    gsrt_node *node = gsrt_node_of(self);
    const gsrt_plan *plan = g->options.rank->scenario->plan;
    uint64_t roles[GSRT_RANK_COUNT_MAX + 2], actors[GSRT_RANK_COUNT_MAX + 2];
    uint32_t count = 2;
    roles[0] = gsrt_address_of_role(GSRT_ROLE_GATEWAY, 0, 0);
    actors[0] = gsrt_self(self);
    roles[1] = gsrt_address_of_role(GSRT_ROLE_SCHEDULER, 0, 0);
    gsrt_status status = start_scheduler(self, g, &actors[1]);
    if (status == GSRT_OK)
        status = gsrt_monitor(self, actors[1]);
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        for (uint32_t m = 0; m < plan->stages[s].member_count; m++) {
            roles[count] = gsrt_address_of_role(GSRT_ROLE_REGION, s, m);
            actors[count++] = g->regions[plan->stages[s].ranks[m]];
        }
    }
    for (uint32_t i = 0; i < count && status == GSRT_OK; i++)
        status = gsrt_role_bind(node, roles[i], actors[i]);
    gsrt_msg_roles message = {.roles = roles, .roles_count = count, .actors = actors, .actors_count = count};
    for (uint32_t rank = 1; rank < gsrt_node_rank_count(node) && status == GSRT_OK; rank++)
        status = gsrt_send(self, gsrt_address_of_role(GSRT_ROLE_NODE, 0, rank), GSRT_KIND_ROLES, &message, NULL);
    return status == GSRT_OK ? submit_all(self, g) : status;
}

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    gateway *g = state;
    gsrt_node *node = gsrt_node_of(self);
    g->options = *(const gsrt_gateway_options *)arg;
    g->regions = calloc(gsrt_node_rank_count(node), sizeof *g->regions);
    if (g->regions == NULL)
        return GSRT_ENOMEM;
    g->regions[0] = g->options.rank->region;
    g->ready_count = 1;
    gsrt_status status = gsrt_role_bind(node, gsrt_address_of_role(GSRT_ROLE_NODE, 0, 0), gsrt_self(self));
    if (status == GSRT_OK)
        status = gsrt_rank_watch(g->options.rank, self);
    gsrt_msg_start start = {.directory = gsrt_span_of_text(g->options.directory)};
    for (uint32_t rank = 1; rank < gsrt_node_rank_count(node) && status == GSRT_OK; rank++)
        status = gsrt_send(self, gsrt_address_of_role(GSRT_ROLE_NODE, 0, rank), GSRT_KIND_START, &start, NULL);
    /* alone: nobody else's READY will start it */
    if (status == GSRT_OK && gsrt_node_rank_count(node) == 1)
        status = begin(self, g);
    return status;
}

static gsrt_status on_ready(gsrt_actor *self, gateway *g, const gsrt_msg_ready *ready)
{
    if (ready->rank >= gsrt_node_rank_count(gsrt_node_of(self)))
        return GSRT_EINVAL;
    if (ready->exit_code != 0)
        return gsrt_diag_set(g->options.diag, GSRT_EPEER, NULL, NULL, "rank %u cannot start: %.*s", ready->rank,
                             (int)ready->why.len, (const char *)ready->why.data);
    g->regions[ready->rank] = ready->region;
    g->ready_count += 1;
    return g->ready_count == gsrt_node_rank_count(gsrt_node_of(self)) ? begin(self, g) : GSRT_OK;
}

static void end_if_all_are_known(gsrt_actor *self, const gateway *g)
{
    gsrt_node *node = gsrt_node_of(self);
    if (g->account_count < gsrt_node_rank_count(node))
        return;
    gsrt_gateway_stop_all(node, 0);
    gsrt_node_finish(node, 0);
}

/* The last answer has ended: ask every rank what it did. */
static gsrt_status ask_for_accounts(gsrt_actor *self, gateway *g)
{
    gsrt_node *node = gsrt_node_of(self);
    gsrt_msg_facts own;
    gsrt_status status = GSRT_OK;
    *g->options.done_ns = gsrt_now_ns(self);
    gsrt_rank_read_facts(g->options.rank, &own);
    gsrt_account_keep(&g->options.accounts[0], &own);
    g->account_count = 1;
    for (uint32_t rank = 1; rank < gsrt_node_rank_count(node) && status == GSRT_OK; rank++)
        status = gsrt_send(self, gsrt_address_of_role(GSRT_ROLE_NODE, 0, rank), GSRT_KIND_ASK_FACTS,
                           &(gsrt_msg_ask_facts){.rank = rank}, NULL);
    end_if_all_are_known(self, g);
    return status;
}

static gsrt_status on_facts(gsrt_actor *self, gateway *g, const gsrt_msg_facts *facts)
{
    if (facts->rank >= gsrt_node_rank_count(gsrt_node_of(self)) || g->options.accounts[facts->rank].is_known)
        return GSRT_EINVAL;
    gsrt_account_keep(&g->options.accounts[facts->rank], facts);
    g->account_count += 1;
    end_if_all_are_known(self, g);
    return GSRT_OK;
}

static gsrt_status on_finished(gsrt_actor *self, gateway *g, const gsrt_msg_finished *finished)
{
    gsrt_answers *answers = g->options.answers;
    gsrt_status status = gsrt_answers_finished(answers, finished);
    if (status == GSRT_OK && answers->finished_count == answers->scenario->request_count)
        status = ask_for_accounts(self, g);
    return status;
}

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    gateway *g = state;
    gsrt_answers *answers = g->options.answers;
    gsrt_status status = GSRT_OK;
    if (message->kind == GSRT_KIND_READY)
        status = on_ready(self, g, message->body);
    else if (message->kind == GSRT_KIND_TOKEN)
        status = gsrt_answers_token(answers, message->body, gsrt_now_ns(self));
    else if (message->kind == GSRT_KIND_LOGITS)
        status = gsrt_answers_logits(answers, message->body, message->payload);
    else if (message->kind == GSRT_KIND_FINISHED)
        status = on_finished(self, g, message->body);
    else if (message->kind == GSRT_KIND_FACTS)
        status = on_facts(self, g, message->body);
    else if (message->kind == GSRT_KIND_DOWN)
        status = GSRT_EDOWN; /* the scheduler, or this rank's device or region */
    if (status != GSRT_OK)
        fail(self);
}

static void stop(gsrt_actor *self, void *state, uint32_t reason)
{
    (void)self;
    (void)reason;
    free(((gateway *)state)->regions);
}

static const gsrt_behaviour gateway_behaviour = {
    .name = "gateway", .state_bytes = sizeof(gateway), .init = init, .receive = receive, .stop = stop};

gsrt_status gsrt_gateway_start(gsrt_node *node, const gsrt_gateway_options *options)
{
    gsrt_address address;
    return gsrt_node_spawn(node, &gateway_behaviour, options, &address);
}

void gsrt_gateway_stop_all(gsrt_node *node, uint32_t exit_code)
{
    gsrt_msg_stop stop_message = {.exit_code = exit_code};
    for (uint32_t rank = 1; rank < gsrt_node_rank_count(node); rank++) {
        gsrt_status status =
            gsrt_node_post(node, gsrt_address_of_role(GSRT_ROLE_NODE, 0, rank), GSRT_KIND_STOP, &stop_message, NULL);
        (void)status; /* a rank that cannot be told ends when its peers are gone */
    }
}
