#include "launch/answers.h"

#include "model/reference.h"
#include "placement/scheduler.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static gsrt_status tokenise(const gsrt_answers *a, const gsrt_scenario_request *request, gsrt_answer *answer,
                            gsrt_diag *diag)
{
    size_t count = request->prompt_token_count;
    if (request->prompt_tokens != NULL) {
        answer->prompt = calloc(count, sizeof *answer->prompt);
        if (answer->prompt == NULL)
            return GSRT_ENOMEM;
        memcpy(answer->prompt, request->prompt_tokens, count * sizeof *answer->prompt);
    } else if (a->loaded->tokenizer == NULL) {
        return gsrt_diag_set(diag, GSRT_EINPUT, a->scenario->file, request->place,
                             "the model has no tokenizer; give prompt_tokens");
    } else {
        gsrt_status status =
            gsrt_tokenizer_encode(a->loaded->tokenizer, gsrt_span_of_text(request->prompt),
                                  &(gsrt_encode_options){.is_framed = true}, &answer->prompt, &count, diag);
        if (status != GSRT_OK)
            return status;
    }
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
    free(a->items);
    a->items = NULL;
}

gsrt_status gsrt_answers_token(gsrt_answers *a, const gsrt_msg_token *token, uint64_t now_ns)
{
    if (token->request >= a->scenario->request_count)
        return GSRT_EINVAL;
    gsrt_answer *answer = &a->items[token->request];
    if (token->index != answer->token_count || token->index >= answer->max_tokens)
        return GSRT_ESTATE;
    size_t text_first = answer->text.len;
    uint32_t previous = token->index > 0 ? answer->tokens[token->index - 1] : answer->prompt[answer->prompt_count - 1];
    if (a->loaded->tokenizer != NULL) {
        gsrt_status status = gsrt_utf8_push(
            &answer->utf8, gsrt_tokenizer_piece(a->loaded->tokenizer, token->token, previous), &answer->text);
        if (status != GSRT_OK)
            return status;
    }
    answer->tokens[token->index] = token->token;
    answer->hashes[2 * token->index] = token->hash_low;
    answer->hashes[2 * token->index + 1] = token->hash_high;
    answer->first_ns = token->index == 0 ? now_ns : answer->first_ns;
    answer->last_ns = now_ns;
    answer->token_count += 1;
    a->token_total += 1;
    gsrt_span text = gsrt_span_of(answer->text.data + text_first, answer->text.len - text_first);
    gsrt_token line = {.request = token->request,
                       .index = token->index,
                       .token = token->token,
                       .text = text,
                       .hash_low = token->hash_low,
                       .hash_high = token->hash_high};
    gsrt_status status = gsrt_tokens_append(a->sink, &line);
    if (status == GSRT_OK)
        status = gsrt_terminal_text(a->terminal, token->request, text);
    gsrt_terminal_progress(a->terminal, "generating", a->token_total, a->token_goal, now_ns);
    return status;
}

gsrt_status gsrt_answers_finished(gsrt_answers *a, const gsrt_msg_finished *finished)
{
    if (finished->request >= a->scenario->request_count)
        return GSRT_EINVAL;
    gsrt_answer *answer = &a->items[finished->request];
    answer->finish = finished->reason;
    answer->prefix_tokens = finished->prefix_tokens;
    a->finished_count += 1;
    size_t text_first = answer->text.len;
    gsrt_status status = gsrt_utf8_flush(&answer->utf8, &answer->text);
    if (status == GSRT_OK)
        status = gsrt_terminal_text(a->terminal, finished->request,
                                    gsrt_span_of(answer->text.data + text_first, answer->text.len - text_first));
    gsrt_terminal_end(a->terminal, finished->request);
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

static gsrt_status verify_one(const gsrt_answers *a, uint32_t number, gsrt_report_contract *out)
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
    for (uint32_t p = 0; p + 1 < answer->prompt_count + answer->token_count && status == GSRT_OK; p++) {
        bool is_compared = p + 1 >= answer->prompt_count;
        uint32_t index = p + 1 - answer->prompt_count;
        uint32_t token = p < answer->prompt_count ? answer->prompt[p] : answer->tokens[p - answer->prompt_count];
        const float *logits;
        status = gsrt_reference_step(reference, token, p, is_compared ? &logits : NULL);
        if (status != GSRT_OK || !is_compared)
            continue;
        XXH128_hash_t hash = XXH3_128bits(logits, bytes);
        out->compared += 1;
        if (hash.low64 != answer->hashes[2 * index] || hash.high64 != answer->hashes[2 * index + 1]) {
            if (out->different == 0) {
                out->first_request = number;
                out->first_index = index;
            }
            out->different += 1;
        }
    }
    gsrt_reference_free(reference);
    return status;
}

gsrt_status gsrt_answers_verify(const gsrt_answers *a, gsrt_report_contract *out)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < a->scenario->request_count && status == GSRT_OK; i++)
        status = verify_one(a, i, out);
    out->is_verified = status == GSRT_OK;
    return status;
}
