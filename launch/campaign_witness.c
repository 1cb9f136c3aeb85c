#include "launch/campaign_witness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what the answers are ---- */

gsrt_status gsrt_campaign_answers_init(gsrt_campaign_answers *answers, const gsrt_answers *from)
{
    uint32_t count = from->scenario->request_count;
    *answers = (gsrt_campaign_answers){.request_count = count, .items = calloc(count, sizeof *answers->items)};
    if (answers->items == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const gsrt_answer *answer = &from->items[i];
        struct gsrt_campaign_answer *item = &answers->items[i];
        item->token_count = answer->token_count;
        item->finish = answer->finish;
        item->tokens = calloc(answer->token_count + 1, sizeof *item->tokens);
        item->hashes = calloc(answer->token_count + 1, 2 * sizeof *item->hashes);
        if (item->tokens == NULL || item->hashes == NULL)
            return GSRT_ENOMEM;
        memcpy(item->tokens, answer->tokens, answer->token_count * sizeof *item->tokens);
        memcpy(item->hashes, answer->hashes, answer->token_count * 2 * sizeof *item->hashes);
    }
    return GSRT_OK;
}

void gsrt_campaign_answers_fini(gsrt_campaign_answers *answers)
{
    for (uint32_t i = 0; answers->items != NULL && i < answers->request_count; i++) {
        free(answers->items[i].tokens);
        free(answers->items[i].hashes);
    }
    free(answers->items);
    answers->items = NULL;
}

/* ---- the witness ---- */

gsrt_status gsrt_witness_init(gsrt_witness *witness, const gsrt_campaign_answers *expected)
{
    *witness = (gsrt_witness){.expected = expected,
                              .next = calloc(expected->request_count, sizeof *witness->next),
                              .epochs = calloc(expected->request_count, sizeof *witness->epochs)};
    if (witness->next == NULL || witness->epochs == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < expected->request_count; i++) {
        witness->epochs[i] = calloc(expected->items[i].token_count + 1, sizeof *witness->epochs[i]);
        if (witness->epochs[i] == NULL)
            return GSRT_ENOMEM;
    }
    return GSRT_OK;
}

void gsrt_witness_fini(gsrt_witness *witness)
{
    for (uint32_t i = 0; witness->epochs != NULL && i < witness->expected->request_count; i++)
        free(witness->epochs[i]);
    free(witness->epochs);
    free(witness->views);
    free(witness->next);
    witness->epochs = NULL;
    witness->next = NULL;
    witness->views = NULL;
}

void gsrt_witness_note(gsrt_witness *witness, const char *format, ...)
{
    va_list arguments;
    if (witness->breach[0] != 0)
        return;
    va_start(arguments, format);
    (void)vsnprintf(witness->breach, sizeof witness->breach, format, arguments);
    va_end(arguments);
}

static bool is_equal(const struct gsrt_campaign_answer *item, uint32_t index, uint32_t token, uint64_t hash_low,
                     uint64_t hash_high)
{
    return index < item->token_count && item->tokens[index] == token && item->hashes[2 * index] == hash_low &&
           item->hashes[2 * index + 1] == hash_high;
}

/* Invariant 3. */
static void check_right_to_emit(gsrt_witness *witness, const gsrt_seat *seat, const gsrt_msg_token *token)
{
    uint32_t rank = gsrt_node_rank(seat->node), epoch = seat->rank.epoch;
    gsrt_membership_fence fence = gsrt_member_fenced(&seat->member, gsrt_node_now_ns(seat->node));
    if (fence != GSRT_FENCE_NONE)
        gsrt_witness_note(witness, "rank %u, view %u, emitted token %u of request %u while fenced: %s", rank, epoch,
                          token->index, token->request, gsrt_membership_fence_text(fence));
    if (gsrt_node_epoch(seat->node) != epoch || gsrt_membership_installed(seat->member.machine)->epoch != epoch)
        gsrt_witness_note(witness, "rank %u emitted token %u of request %u in view %u, which is not its view", rank,
                          token->index, token->request, epoch);
    if (epoch < witness->epoch)
        gsrt_witness_note(witness, "rank %u emitted token %u of request %u in view %u after view %u had emitted", rank,
                          token->index, token->request, epoch, witness->epoch);
    witness->epoch = epoch > witness->epoch ? epoch : witness->epoch;
}

void gsrt_witness_token(gsrt_witness *witness, const gsrt_seat *seat, const gsrt_msg_token *token, bool is_new)
{
    uint32_t rank = gsrt_node_rank(seat->node), epoch = seat->rank.epoch;
    if (token->request >= witness->expected->request_count) {
        gsrt_witness_note(witness, "a token of request %u, which there is not", token->request);
        return;
    }
    const struct gsrt_campaign_answer *item = &witness->expected->items[token->request];
    check_right_to_emit(witness, seat, token);
    if (!is_equal(item, token->index, token->token, token->hash_low, token->hash_high)) {
        gsrt_witness_note(witness, "rank %u, view %u: token %u of request %u has other bits than without faults", rank,
                          epoch, token->index, token->request);
        return;
    }
    uint32_t *computed = &witness->epochs[token->request][token->index];
    if (*computed == epoch)
        gsrt_witness_note(witness, "token %u of request %u came twice in view %u", token->index, token->request, epoch);
    *computed = epoch;
    witness->taken_count += is_new;
    if (is_new && token->index != witness->next[token->request])
        gsrt_witness_note(witness, "rank %u, view %u: the sink took token %u of request %u where %u is due", rank,
                          epoch, token->index, token->request, witness->next[token->request]);
    if (is_new && token->index >= witness->next[token->request])
        witness->next[token->request] = token->index + 1;
}

/* ---- views ---- */

/* Invariant 5. */
static void see_view(gsrt_witness *witness, const gsrt_seat *seat, const gsrt_membership_view *view)
{
    size_t bytes = view->rank_count * sizeof view->incarnations[0];
    for (uint32_t i = 0; i < witness->view_count; i++) {
        if (witness->views[i].epoch != view->epoch)
            continue;
        if (memcmp(witness->views[i].incarnations, view->incarnations, bytes) != 0)
            gsrt_witness_note(witness, "rank %u has decided view %u with other members than another rank",
                              gsrt_node_rank(seat->node), view->epoch);
        return;
    }
    gsrt_membership_view *room = realloc(witness->views, (witness->view_count + 1) * sizeof *room);
    if (room == NULL) {
        gsrt_witness_note(witness, "%s", gsrt_status_text(GSRT_ENOMEM));
        return;
    }
    witness->views = room;
    witness->views[witness->view_count++] = *view;
}

/* Invariant 6. What is accepted is deposited first; a decided view is deposited under the highest ballot that there is,
 * and later ones are of later views. */
static void see_deposit(gsrt_witness *witness, const gsrt_seat *seat, const gsrt_deposit *deposit)
{
    witness->votes[gsrt_node_rank(seat->node)] = (struct gsrt_witness_vote){
        .incarnation = seat->options.incarnation, .epoch = deposit->epoch, .ballot = deposit->ballot};
}

static void see_promise(gsrt_witness *witness, const gsrt_seat *seat, const gsrt_membership_action *action)
{
    uint32_t rank = gsrt_node_rank(seat->node);
    const struct gsrt_witness_vote *vote = &witness->votes[rank];
    const gsrt_membership_message *promise = &action->message;
    if (vote->incarnation == seat->options.incarnation && vote->epoch == promise->epoch + 1 &&
        promise->accepted_ballot < vote->ballot)
        gsrt_witness_note(witness, "rank %u has accepted a view %u, and does not say so to rank %u, which proposes one",
                          rank, vote->epoch, action->rank);
}

void gsrt_witness_membership(gsrt_witness *witness, const gsrt_seat *seat, const gsrt_membership_action *action)
{
    if (action->kind == GSRT_MEMBERSHIP_INSTALL)
        see_view(witness, seat, &action->view);
    else if (action->kind == GSRT_MEMBERSHIP_DEPOSIT)
        see_deposit(witness, seat, &action->deposit);
    else if (action->kind == GSRT_MEMBERSHIP_SEND && action->message.type == GSRT_MEMBERSHIP_DECIDED)
        see_view(witness, seat, &action->message.value);
    else if (action->kind == GSRT_MEMBERSHIP_SEND && action->message.type == GSRT_MEMBERSHIP_PROMISE)
        see_promise(witness, seat, action);
}

/* ---- messages ---- */

void gsrt_witness_message(gsrt_witness *witness, const gsrt_seat *seat, const gsrt_envelope *envelope)
{
    uint32_t epoch = gsrt_node_epoch(seat->node);
    if (envelope->kind >= GSRT_KIND_START && !gsrt_kind_is_local_only(envelope->kind) && envelope->epoch != epoch)
        gsrt_witness_note(witness, "%s of view %u has come to an actor of rank %u in view %u",
                          gsrt_kind_name(envelope->kind), envelope->epoch, gsrt_node_rank(seat->node), epoch);
}

/* ---- the end ---- */

typedef struct reading {
    gsrt_witness *witness;
    uint64_t line_count;
} reading;

static gsrt_status check_line(void *arg, const gsrt_token *token)
{
    reading *r = arg;
    r->line_count += 1;
    if (!is_equal(&r->witness->expected->items[token->request], token->index, token->token, token->hash_low,
                  token->hash_high))
        gsrt_witness_note(r->witness, "tokens.jsonl: token %u of request %u has other bits than without faults",
                          token->index, token->request);
    return GSRT_OK;
}

/* What whoever reads the file gets. */
static void check_file(gsrt_witness *witness, gsrt_run_directory *directory, uint64_t token_total)
{
    int descriptor;
    gsrt_tokens *tokens;
    gsrt_diag diag = {0};
    reading r = {.witness = witness};
    gsrt_status status = gsrt_run_directory_reopen_file(directory, "tokens.jsonl", &descriptor, &diag);
    if (status == GSRT_OK)
        status = gsrt_tokens_create(descriptor, witness->expected->request_count, &tokens);
    if (status != GSRT_OK) {
        gsrt_witness_note(witness, "tokens.jsonl cannot be read: %s", gsrt_status_text(status));
        return;
    }
    status = gsrt_tokens_restore(tokens, "tokens.jsonl", false, check_line, &r, &diag);
    if (status != GSRT_OK)
        gsrt_witness_note(witness, "%s", diag.text);
    else if (r.line_count != token_total)
        gsrt_witness_note(witness, "tokens.jsonl has %llu tokens of %llu", (unsigned long long)r.line_count,
                          (unsigned long long)token_total);
    gsrt_tokens_free(tokens);
}

void gsrt_witness_complete(gsrt_witness *witness, gsrt_seat *leader)
{
    const gsrt_answers *answers = &leader->outcome.answers;
    uint64_t token_total = 0;
    for (uint32_t i = 0; i < witness->expected->request_count; i++) {
        const struct gsrt_campaign_answer *item = &witness->expected->items[i];
        const gsrt_answer *answer = &answers->items[i];
        token_total += item->token_count;
        if (witness->next[i] != item->token_count || answer->token_count != item->token_count)
            gsrt_witness_note(witness, "request %u ended with %u tokens, its sink has %u, of %u", i,
                              answer->token_count, witness->next[i], item->token_count);
        else if (answer->finish != item->finish)
            gsrt_witness_note(witness, "request %u ended for another reason than without faults", i);
    }
    if (leader->outcome.directory != NULL)
        check_file(witness, leader->outcome.directory, token_total);
}
