#include "launch/answers.h"

#include "model/narrowed.h"
#include "placement/plan_choices.h"
#include "placement/scheduler.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

gsrt_status gsrt_request_tokens(const gsrt_scenario *scenario, const gsrt_scenario_request *request,
                                const gsrt_tokenizer *tokenizer, uint32_t **out, size_t *out_count, gsrt_diag *diag)
{
    if (request->prompt_tokens == NULL && tokenizer == NULL)
        return gsrt_diag_set(diag, GSRT_EINPUT, scenario->file, request->place,
                             "the model has no tokenizer; give prompt_tokens");
    if (request->prompt_tokens == NULL)
        return gsrt_tokenizer_encode(tokenizer, gsrt_span_of_text(request->prompt),
                                     &(gsrt_encode_options){.is_framed = true}, out, out_count, diag);
    *out = calloc(request->prompt_token_count, sizeof **out);
    if (*out == NULL)
        return GSRT_ENOMEM;
    memcpy(*out, request->prompt_tokens, request->prompt_token_count * sizeof **out);
    *out_count = request->prompt_token_count;
    return GSRT_OK;
}

static gsrt_status tokenise(const gsrt_answers *a, const gsrt_scenario_request *request, gsrt_answer *answer,
                            gsrt_diag *diag)
{
    size_t count = 0;
    gsrt_status status = gsrt_request_tokens(a->scenario, request, a->loaded->tokenizer, &answer->prompt, &count, diag);
    if (status != GSRT_OK)
        return status;
    answer->prompt_count = (uint32_t)count;
    if (count == 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, a->scenario->file, request->place, "the prompt is empty; give a text");
    for (size_t i = 0; i < count; i++) {
        if (answer->prompt[i] >= a->loaded->workload->vocab_count)
            return gsrt_diag_set(diag, GSRT_EINPUT, a->scenario->file, request->place,
                                 "token %u is not in the vocabulary of %u; choose a smaller one", answer->prompt[i],
                                 a->loaded->workload->vocab_count);
    }
    if (count + request->max_tokens > a->loaded->workload->context_max)
        return gsrt_diag_set(diag, GSRT_EINPUT, a->scenario->file, request->place,
                             "a prompt of %zu tokens and max_tokens %u exceed the model's context of %u; lower "
                             "max_tokens or shorten the prompt",
                             count, request->max_tokens, a->loaded->workload->context_max);
    return GSRT_OK;
}

gsrt_status gsrt_answers_init(gsrt_answers *a, const gsrt_scenario *scenario, const gsrt_loaded *loaded,
                              gsrt_diag *diag)
{
    *a = (gsrt_answers){.scenario = scenario, .loaded = loaded};
    a->items = calloc(scenario->request_count, sizeof *a->items);
    if (a->items == NULL)
        return GSRT_ENOMEM;
    gsrt_status begun = gsrt_eras_init(&a->eras, scenario->plan, scenario->request_count);
    if (begun != GSRT_OK)
        return begun;
    for (uint32_t i = 0; i < scenario->request_count; i++) {
        const gsrt_scenario_request *request = &scenario->requests[i];
        gsrt_answer *answer = &a->items[i];
        gsrt_buffer_init(&answer->text, GSRT_TEXT_BYTES_MAX);
        gsrt_utf8_init(&answer->utf8);
        gsrt_status status = tokenise(a, request, answer, diag);
        if (status != GSRT_OK)
            return status;
        answer->max_tokens = request->max_tokens;
        answer->tokens = calloc(request->max_tokens, sizeof *answer->tokens);
        answer->hashes = calloc(request->max_tokens, 2 * sizeof *answer->hashes);
        if (answer->tokens == NULL || answer->hashes == NULL)
            return GSRT_ENOMEM;
        a->token_goal += request->max_tokens;
    }
    return GSRT_OK;
}

void gsrt_answers_fini(gsrt_answers *a)
{
    for (uint32_t i = 0; a->items != NULL && i < a->scenario->request_count; i++) {
        free(a->items[i].prompt);
        free(a->items[i].tokens);
        free(a->items[i].hashes);
        gsrt_buffer_fini(&a->items[i].text);
    }
    gsrt_eras_fini(&a->eras);
    free(a->items);
    a->items = NULL;
}

/* Of a token that somebody else has emitted: nobody knows when. */
enum { WITHOUT_TIME = 0 };

/* The next token of an answer, and the text that it completes. *out_text borrowed until the next token. */
static gsrt_status take(gsrt_answers *a, const gsrt_token *token, uint64_t now_ns, gsrt_span *out_text)
{
    gsrt_answer *answer = &a->items[token->request];
    size_t text_first = answer->text.len;
    uint32_t previous = token->index > 0 ? answer->tokens[token->index - 1] : answer->prompt[answer->prompt_count - 1];
    if (token->index != answer->token_count || token->index >= answer->max_tokens)
        return GSRT_ESTATE;
    if (a->loaded->tokenizer != NULL) {
        gsrt_status status = gsrt_utf8_push(
            &answer->utf8, gsrt_tokenizer_piece(a->loaded->tokenizer, token->token, previous), &answer->text);
        if (status != GSRT_OK)
            return status;
    }
    answer->tokens[token->index] = token->token;
    answer->hashes[2 * token->index] = token->hash_low;
    answer->hashes[2 * token->index + 1] = token->hash_high;
    if (answer->last_ns == 0) {
        answer->first_ns = now_ns;
        answer->first_timed = token->index;
    }
    answer->last_ns = now_ns;
    answer->token_count += 1;
    a->token_total += 1;
    *out_text = gsrt_span_of(answer->text.data + text_first, answer->text.len - text_first);
    return GSRT_OK;
}

/* What the terminal has not got of an answer. */
static gsrt_status show(gsrt_answers *a, uint32_t request)
{
    gsrt_answer *answer = &a->items[request];
    gsrt_status status = GSRT_OK;
    if (answer->text.len > answer->shown_bytes)
        status = gsrt_terminal_text(
            a->terminal, request,
            gsrt_span_of(answer->text.data + answer->shown_bytes, answer->text.len - answer->shown_bytes));
    answer->shown_bytes = answer->text.len;
    if (answer->finish != 0)
        gsrt_terminal_end(a->terminal, request);
    return status;
}

gsrt_status gsrt_answers_show(gsrt_answers *a)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < a->scenario->request_count && status == GSRT_OK; i++)
        status = show(a, i);
    return status;
}

bool gsrt_answers_is_of_era(const gsrt_answers *a, uint32_t request, uint32_t index)
{
    return gsrt_eras_of(&a->eras, request, index) == a->eras.count - 1;
}

/* It was emitted before: the same bits, or the contract is broken. */
static gsrt_status compare(const gsrt_answers *a, const gsrt_msg_token *token, gsrt_diag *diag)
{
    const gsrt_answer *answer = &a->items[token->request];
    if (!gsrt_answers_is_of_era(a, token->request, token->index))
        return GSRT_OK;
    if (answer->tokens[token->index] == token->token && answer->hashes[2 * token->index] == token->hash_low &&
        answer->hashes[2 * token->index + 1] == token->hash_high)
        return GSRT_OK;
    return gsrt_diag_set(diag, GSRT_ECONTRACT, NULL, NULL,
                         "request %u, token %u: computed again after a failure, it has other bits than were emitted",
                         token->request, token->index);
}

static void tell(const gsrt_answers *a, const gsrt_msg_token *token, bool is_new)
{
    if (a->on_token != NULL)
        a->on_token(a->on_token_arg, token, is_new);
}

/* Its step was run again. It goes to the sink all the same, which is who says what it takes. */
static gsrt_status again(gsrt_answers *a, const gsrt_msg_token *token, const gsrt_token *line, gsrt_diag *diag)
{
    gsrt_status status = compare(a, token, diag);
    if (status != GSRT_OK)
        return status;
    status = gsrt_tokens_append(a->sink, line);
    if (status == GSRT_OK || status == GSRT_ESTALE)
        tell(a, token, status == GSRT_OK);
    return status == GSRT_ESTALE ? GSRT_OK : status;
}

gsrt_status gsrt_answers_token(gsrt_answers *a, const gsrt_msg_token *token, uint64_t now_ns, gsrt_diag *diag)
{
    if (token->request >= a->scenario->request_count)
        return GSRT_EINVAL;
    gsrt_token line = {.request = token->request,
                       .index = token->index,
                       .token = token->token,
                       .hash_low = token->hash_low,
                       .hash_high = token->hash_high};
    if (token->index < a->items[token->request].token_count)
        return again(a, token, &line, diag);
    gsrt_status status = take(a, &line, now_ns, &line.text);
    if (status == GSRT_OK)
        status = gsrt_tokens_append(a->sink, &line);
    if (status == GSRT_OK) {
        tell(a, token, true);
        status = show(a, token->request);
    }
    gsrt_terminal_progress(a->terminal, "generating", a->token_total, a->token_goal, now_ns);
    return status;
}

static gsrt_status end_answer(gsrt_answers *a, uint32_t request, uint32_t reason)
{
    gsrt_answer *answer = &a->items[request];
    answer->finish = reason;
    a->finished_count += 1;
    return gsrt_utf8_flush(&answer->utf8, &answer->text);
}

uint32_t gsrt_answer_restorable(const gsrt_answer *answer)
{
    uint32_t position_count = answer->prompt_count + answer->token_count;
    /* the last position has never been computed; the one before it gave the last known token */
    uint32_t left = answer->token_count > 0 ? 2 : 1;
    return position_count > left ? (position_count - left) / GSRT_KV_BLOCK_POSITIONS : 0;
}

gsrt_status gsrt_answers_finished(gsrt_answers *a, const gsrt_msg_finished *finished)
{
    if (finished->request >= a->scenario->request_count || a->items[finished->request].finish != 0)
        return GSRT_EINVAL;
    a->items[finished->request].prefix_tokens = finished->prefix_tokens;
    gsrt_status status = end_answer(a, finished->request, finished->reason);
    return status == GSRT_OK ? show(a, finished->request) : status;
}

/* ---- taking up what another process has emitted ---- */

static gsrt_status restore_one(void *arg, const gsrt_token *token)
{
    gsrt_answers *a = arg;
    gsrt_span text;
    if (token->token >= a->loaded->workload->vocab_count)
        return GSRT_EINPUT;
    if (token->index < a->items[token->request].token_count)
        return GSRT_OK; /* known: this process led before, or has looked before */
    return take(a, token, WITHOUT_TIME, &text);
}

/* Which ones were complete follows from their tokens. */
static gsrt_status end_complete(gsrt_answers *a)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < a->scenario->request_count && status == GSRT_OK; i++) {
        const gsrt_answer *answer = &a->items[i];
        if (answer->finish != 0 || answer->token_count == 0)
            continue;
        bool is_stop = !a->scenario->requests[i].is_ignoring_eos && a->loaded->tokenizer != NULL &&
                       gsrt_tokenizer_is_stop(a->loaded->tokenizer, answer->tokens[answer->token_count - 1]);
        if (is_stop || answer->token_count == answer->max_tokens)
            status = end_answer(a, i, is_stop ? GSRT_FINISH_STOP : GSRT_FINISH_LENGTH);
    }
    return status;
}

gsrt_status gsrt_answers_restore(gsrt_answers *a, const char *file, bool is_ours, gsrt_diag *diag)
{
    gsrt_status status = gsrt_tokens_restore(a->sink, file, is_ours, restore_one, a, diag);
    if (status == GSRT_OK)
        status = end_complete(a);
    if (status != GSRT_OK && diag->status == GSRT_OK)
        status = gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "these are not the tokens of this scenario");
    return status;
}

gsrt_status gsrt_answers_logits(gsrt_answers *a, const gsrt_msg_logits *message, const gsrt_payload *payload)
{
    size_t vocab = a->loaded->workload->vocab_count;
    if (a->logits == NULL || payload == NULL || message->positions_count != message->requests_count ||
        payload->len != message->positions_count * vocab * sizeof(float))
        return GSRT_EINVAL;
    const float *rows = (const float *)(const void *)payload->data;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < message->positions_count && status == GSRT_OK; i++)
        status = gsrt_logits_file_write(a->logits, message->requests[i], message->positions[i], rows + i * vocab, NULL);
    return status;
}

static gsrt_status verify_one(const gsrt_answers *a, uint32_t number, uint32_t era, const gsrt_narrowed *narrowed,
                              gsrt_report_contract *out)
{
    const gsrt_answer *answer = &a->items[number];
    size_t bytes = a->loaded->workload->vocab_count * sizeof(float);
    if (answer->token_count == 0)
        return GSRT_OK;
    gsrt_reference *reference;
    gsrt_status status =
        gsrt_reference_create(a->loaded->weights, answer->prompt_count + answer->token_count, &reference);
    if (status != GSRT_OK)
        return status;
    gsrt_narrowed_apply(narrowed, reference);
    for (uint32_t p = 0; p + 1 < answer->prompt_count + answer->token_count && status == GSRT_OK; p++) {
        uint32_t index = p + 1 - answer->prompt_count;
        bool is_compared = p + 1 >= answer->prompt_count && gsrt_eras_of(&a->eras, number, index) == era;
        uint32_t token = p < answer->prompt_count ? answer->prompt[p] : answer->tokens[p - answer->prompt_count];
        const float *logits;
        status = gsrt_reference_step(reference, token, p, is_compared ? &logits : NULL);
        if (status != GSRT_OK || !is_compared)
            continue;
        XXH128_hash_t hash = XXH3_128bits(logits, bytes);
        out->compared += 1;
        if (hash.low64 != answer->hashes[2 * index] || hash.high64 != answer->hashes[2 * index + 1]) {
            if (out->different == 0 || number < out->first_request) { /* eras are gone through one by one */
                out->first_request = number;
                out->first_index = index;
            }
            out->different += 1;
        }
    }
    gsrt_reference_free(reference);
    return status;
}

/* Some token of the request is of this era. */
static bool has_tokens_of(const gsrt_answers *a, uint32_t number, uint32_t era)
{
    for (uint32_t i = 0; i < a->items[number].token_count; i++) {
        if (gsrt_eras_of(&a->eras, number, i) == era)
            return true;
    }
    return false;
}

/* The reference reads weights as the era has them. */
static gsrt_status narrow(const gsrt_answers *a, uint32_t era, gsrt_narrowed **out)
{
    const gsrt_workload *workload = a->loaded->workload;
    const gsrt_plan plan = {.narrowed = a->eras.items[era].narrowed,
                            .narrowed_count = a->eras.items[era].narrowed_count};
    gsrt_region_choice *choices = calloc(workload->region_count, sizeof *choices);
    if (choices == NULL)
        return GSRT_ENOMEM;
    gsrt_plan_choices(&plan, workload, choices);
    gsrt_status status = gsrt_narrowed_create(a->loaded->weights, choices, out);
    free(choices);
    return status;
}

gsrt_status gsrt_answers_verify(const gsrt_answers *a, gsrt_report_contract *out)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t era = 0; era < a->eras.count && status == GSRT_OK; era++) {
        gsrt_narrowed *narrowed = NULL;
        status = narrow(a, era, &narrowed);
        for (uint32_t i = 0; i < a->scenario->request_count && status == GSRT_OK; i++) {
            if (has_tokens_of(a, i, era))
                status = verify_one(a, i, era, narrowed, out);
        }
        (void)gsrt_narrowed_free(narrowed);
    }
    out->is_verified = status == GSRT_OK;
    return status;
}
