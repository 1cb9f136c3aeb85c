#include "placement/scheduler_impl.h"

#include <stdlib.h>
#include <string.h>

const char *gsrt_finish_name(gsrt_finish finish)
{
    switch (finish) {
    case GSRT_FINISH_STOP: return "stop";
    case GSRT_FINISH_LENGTH: return "length";
    case GSRT_FINISH_REFUSED: return "refused";
    }
    return "?";
}

uint32_t gsrt_kv_blocks_of(uint32_t position_count)
{
    return (position_count + GSRT_KV_BLOCK_POSITIONS - 1) / GSRT_KV_BLOCK_POSITIONS;
}

static request *request_free(request *r)
{
    if (r != NULL) {
        free(r->tokens);
        free(r->hashes);
        free(r->blocks);
        free(r);
    }
    return NULL;
}

gsrt_scheduler *gsrt_scheduler_free(gsrt_scheduler *scheduler)
{
    if (scheduler != NULL) {
        for (uint32_t i = 0; i < scheduler->request_count; i++)
            request_free(scheduler->requests[i]);
        free(scheduler->requests);
        free(scheduler->flights);
        free(scheduler->move.is_copied);
        gsrt_block_pool_free(scheduler->pool);
        free(scheduler);
    }
    return NULL;
}

gsrt_status gsrt_scheduler_create(const gsrt_scheduler_options *options, gsrt_scheduler **out)
{
    if (options->prefill_chunk < 1 || options->prefill_chunk > GSRT_BATCH_ROWS_MAX || options->batch_requests < 1 ||
        options->batch_requests > GSRT_BATCH_SEQUENCES_MAX || options->window < 1 ||
        options->window > GSRT_STAGE_COUNT_MAX || options->stop_count > GSRT_SCHEDULER_STOPS_MAX)
        return GSRT_EINVAL;
    gsrt_scheduler *scheduler = calloc(1, sizeof *scheduler);
    if (scheduler == NULL)
        return GSRT_ENOMEM;
    scheduler->options = *options;
    for (uint32_t i = 0; i < options->stop_count; i++)
        scheduler->stops[i] = options->stops[i];
    scheduler->options.stops = scheduler->stops;
    scheduler->snapshot_next = options->snapshot_first;
    scheduler->pool = gsrt_block_pool_create(options->block_count);
    scheduler->flights = calloc(options->window, sizeof *scheduler->flights);
    scheduler->move.is_copied = calloc((size_t)options->block_count + 1, sizeof *scheduler->move.is_copied);
    if (scheduler->pool == NULL || scheduler->flights == NULL || scheduler->move.is_copied == NULL) {
        gsrt_scheduler_free(scheduler);
        return GSRT_ENOMEM;
    }
    *out = scheduler;
    return GSRT_OK;
}

static bool is_known(const gsrt_scheduler *scheduler, uint32_t number)
{
    for (uint32_t i = 0; i < scheduler->request_count; i++) {
        if (scheduler->requests[i]->number == number)
            return true;
    }
    return false;
}

static bool is_stop(const gsrt_scheduler *scheduler, uint32_t token)
{
    for (uint32_t i = 0; i < scheduler->options.stop_count; i++) {
        if (scheduler->stops[i] == token)
            return true;
    }
    return false;
}

/* The answer of `r` ends with its token number `index`. */
static bool is_end(const gsrt_scheduler *scheduler, const request *r, uint32_t index)
{
    return index + 1 == r->max_tokens ||
           (!r->is_ignoring_eos && is_stop(scheduler, r->tokens[r->prompt_count + index]));
}

/* The known tokens end the answer: nothing is left to draw. */
static bool is_complete(const gsrt_scheduler *scheduler, const request *r)
{
    return r->known_count > 0 && is_end(scheduler, r, r->known_count - 1);
}

/* Positions that are computed before the first new token: the last one of a complete answer never was. */
static uint32_t prefill_end(const gsrt_scheduler *scheduler, const request *r)
{
    return r->prompt_count + r->known_count - (is_complete(scheduler, r) ? 1 : 0);
}

gsrt_status gsrt_scheduler_submit(gsrt_scheduler *scheduler, const gsrt_msg_submit *submit)
{
    if (submit->prompt_count == 0 || submit->max_tokens == 0 || submit->known_count > submit->max_tokens ||
        is_known(scheduler, submit->request))
        return GSRT_EINVAL;
    if (scheduler->request_count == scheduler->request_capacity) {
        uint32_t capacity = scheduler->request_capacity == 0 ? 16 : scheduler->request_capacity * 2;
        request **requests = realloc(scheduler->requests, capacity * sizeof(request *));
        if (requests == NULL)
            return GSRT_ENOMEM;
        scheduler->requests = requests;
        scheduler->request_capacity = capacity;
    }
    size_t total = (size_t)submit->prompt_count + submit->max_tokens;
    bool fits =
        total <= scheduler->options.context_max && gsrt_kv_blocks_of((uint32_t)total) <= scheduler->options.block_count;
    request *r = calloc(1, sizeof *r);
    if (r == NULL)
        return GSRT_ENOMEM;
    *r = (request){.number = submit->request,
                   .state = fits ? WAITING : FINISHED,
                   .finish = GSRT_FINISH_REFUSED,
                   .max_tokens = submit->max_tokens,
                   .prompt_count = submit->prompt_count,
                   .token_count = submit->prompt_count + submit->known_count,
                   .known_count = submit->known_count,
                   .restored = submit->restored,
                   .is_ignoring_eos = submit->is_ignoring_eos,
                   .is_logits_wanted = submit->is_logits_wanted,
                   .is_watched = submit->is_watched,
                   .temperature = submit->temperature,
                   .top_p = submit->top_p,
                   .top_k = submit->top_k,
                   .seed = submit->seed,
                   .block_count = fits ? gsrt_kv_blocks_of((uint32_t)total) : 0};
    if (fits) {
        r->tokens = calloc(total, sizeof *r->tokens);
        r->hashes = calloc(submit->max_tokens, 2 * sizeof *r->hashes);
        r->blocks = calloc(r->block_count, sizeof *r->blocks);
        if (r->tokens == NULL || r->hashes == NULL || r->blocks == NULL) {
            request_free(r);
            return GSRT_ENOMEM;
        }
        memcpy(r->tokens, submit->prompt, submit->prompt_count * sizeof *r->tokens);
        if (submit->known_count > 0)
            memcpy(r->tokens + submit->prompt_count, submit->known, submit->known_count * sizeof *r->tokens);
        for (uint32_t i = 0; i + 1 < submit->known_count; i++) {
            if (is_end(scheduler, r, i)) { /* nothing can follow it */
                request_free(r);
                return GSRT_EINVAL;
            }
        }
    }
    if (r->restored > 0 &&
        (!fits || r->restored % GSRT_KV_BLOCK_POSITIONS != 0 || r->restored >= prefill_end(scheduler, r))) {
        request_free(r);
        return GSRT_EINVAL;
    }
    scheduler->requests[scheduler->request_count++] = r;
    return GSRT_OK;
}

/* ---- admission ---- */

/* Leading whole blocks of the prompt that are known; its last position is always computed, for its logits. */
static uint32_t match_prefix(const gsrt_scheduler *scheduler, const request *r, uint32_t *blocks)
{
    uint32_t count = 0, previous = GSRT_NO_BLOCK;
    if (!scheduler->options.is_reusing_prefixes || r->is_logits_wanted || r->restored > 0)
        return 0;
    while ((count + 1) * GSRT_KV_BLOCK_POSITIONS < r->prompt_count) {
        uint32_t block = gsrt_block_pool_find(scheduler->pool, previous, r->tokens + count * GSRT_KV_BLOCK_POSITIONS);
        if (block == GSRT_NO_BLOCK)
            break;
        blocks[count++] = previous = block;
    }
    return count;
}

static bool admit(gsrt_scheduler *scheduler, request *r)
{
    uint32_t reused = match_prefix(scheduler, r, r->blocks);
    for (uint32_t i = 0; i < reused; i++)
        gsrt_block_pool_ref(scheduler->pool, r->blocks[i]);
    if (gsrt_block_pool_free_count(scheduler->pool) < r->block_count - reused) {
        for (uint32_t i = reused; i > 0; i--)
            gsrt_block_pool_unref(scheduler->pool, r->blocks[i - 1]);
        return false;
    }
    for (uint32_t i = reused; i < r->block_count; i++) {
        r->blocks[i] = gsrt_block_pool_take(scheduler->pool);
        scheduler->move.is_copied[r->blocks[i]] = false;
    }
    r->state = PREFILL;
    r->noted_blocks = reused;
    r->prefix_count = reused * GSRT_KV_BLOCK_POSITIONS;
    r->is_restoring = r->restored > 0;
    r->issued = r->computed = r->is_restoring ? r->restored : r->prefix_count;
    if (r->restored >= r->prompt_count) /* token i of the answer is drawn at position prompt_count - 1 + i */
        r->drawn = r->emitted = r->restored + 1 - r->prompt_count;
    scheduler->admitted_count += 1;
    return true;
}

static void admit_waiting(gsrt_scheduler *scheduler)
{
    for (uint32_t i = scheduler->live_first; i < scheduler->request_count; i++) {
        if (scheduler->admitted_count >= scheduler->options.batch_requests)
            return;
        /* in order: a large request is not overtaken for ever by small ones */
        if (scheduler->requests[i]->state == WAITING && !admit(scheduler, scheduler->requests[i]))
            return;
    }
}

static void finish(gsrt_scheduler *scheduler, request *r, gsrt_finish how)
{
    r->state = FINISHED;
    r->finish = how;
    scheduler->admitted_count -= 1;
    /* the first blocks are the likeliest to be asked for again: release them last */
    for (uint32_t i = r->block_count; i > 0; i--)
        gsrt_block_pool_unref(scheduler->pool, r->blocks[i - 1]);
    r->block_count = 0;
}

/* ---- a step ---- */

static void draft_want(draft *d, const request *r, uint32_t row, bool is_sampled)
{
    uint32_t at = d->wanted_count++;
    d->wanted[at] = row;
    d->is_sampled[at] = is_sampled ? 1 : 0;
    d->temperatures[at] = r->temperature;
    d->top_ks[at] = r->top_k;
    d->top_ps[at] = r->top_p;
    d->seeds[at] = r->seed;
}

/* Add rows [issued, issued + row_count) of `r`. */
static void draft_add(draft *d, flight *f, request *r, uint32_t row_count)
{
    uint32_t sequence = d->sequence_count++;
    uint32_t end = r->issued + row_count;
    d->requests[sequence] = r->number;
    d->row_counts[sequence] = row_count;
    d->positions[sequence] = r->issued;
    d->block_counts[sequence] = gsrt_kv_blocks_of(end);
    memcpy(d->blocks + d->block_total, r->blocks, d->block_counts[sequence] * sizeof *d->blocks);
    d->block_total += d->block_counts[sequence];
    f->sequences[sequence].request = r;
    f->sequences[sequence].row_count = row_count;
    f->sequences[sequence].wanted_first = d->wanted_count;
    f->sequences[sequence].end = end;
    f->sequences[sequence].sampled_count = 0;
    for (uint32_t i = 0; i < row_count; i++) {
        bool is_sampled = r->issued + i + 1 >= r->prompt_count; /* a token follows this position */
        d->tokens[d->row_count] = r->tokens[r->issued + i];
        if (is_sampled || r->is_logits_wanted)
            draft_want(d, r, d->row_count, is_sampled);
        f->sequences[sequence].sampled_count += is_sampled ? 1 : 0;
        d->row_count += 1;
    }
    f->sequences[sequence].wanted_count = d->wanted_count - f->sequences[sequence].wanted_first;
    d->is_logits_wanted |= r->is_logits_wanted || (r->is_watched && f->sequences[sequence].sampled_count > 0);
    r->issued = end;
}

static bool has_room(const draft *d, const request *r)
{
    return d->row_count < GSRT_BATCH_ROWS_MAX && d->sequence_count < GSRT_BATCH_SEQUENCES_MAX &&
           d->block_total + r->block_count <= sizeof d->blocks / sizeof d->blocks[0];
}

/* Decoding rows first, spread over the pipeline; then prompt rows, oldest request first. */
static bool draft_step(gsrt_scheduler *scheduler, flight *f)
{
    draft *d = &scheduler->draft;
    d->row_count = d->sequence_count = d->wanted_count = d->block_total = 0;
    d->is_logits_wanted = false;
    uint32_t window = scheduler->options.window;
    uint32_t decode_max = (scheduler->admitted_count + window - 1) / window;
    for (uint32_t i = scheduler->live_first; i < scheduler->request_count; i++) {
        request *r = scheduler->requests[i];
        if (r->state == DECODE && r->issued < r->token_count && d->sequence_count < decode_max && has_room(d, r))
            draft_add(d, f, r, 1);
    }
    uint32_t prompt_rows = scheduler->options.prefill_chunk;
    for (uint32_t i = scheduler->live_first; i < scheduler->request_count && prompt_rows > 0; i++) {
        request *r = scheduler->requests[i];
        if (r->state != PREFILL || r->issued >= prefill_end(scheduler, r) || !has_room(d, r))
            continue;
        uint32_t rows = prefill_end(scheduler, r) - r->issued;
        rows = rows < prompt_rows ? rows : prompt_rows;
        rows = rows < GSRT_BATCH_ROWS_MAX - d->row_count ? rows : GSRT_BATCH_ROWS_MAX - d->row_count;
        draft_add(d, f, r, rows);
        prompt_rows -= rows;
    }
    f->sequence_count = d->sequence_count;
    f->wanted_count = d->wanted_count;
    return d->row_count > 0;
}

static gsrt_msg_step step_message(const draft *d, uint64_t step)
{
    return (gsrt_msg_step){.step = step,
                           .tokens = d->tokens,
                           .tokens_count = d->row_count,
                           .requests = d->requests,
                           .requests_count = d->sequence_count,
                           .row_counts = d->row_counts,
                           .row_counts_count = d->sequence_count,
                           .positions = d->positions,
                           .positions_count = d->sequence_count,
                           .block_counts = d->block_counts,
                           .block_counts_count = d->sequence_count,
                           .blocks = d->blocks,
                           .blocks_count = d->block_total,
                           .wanted = d->wanted,
                           .wanted_count = d->wanted_count,
                           .is_sampled = d->is_sampled,
                           .is_sampled_count = d->wanted_count,
                           .temperatures = d->temperatures,
                           .temperatures_count = d->wanted_count,
                           .top_ks = d->top_ks,
                           .top_ks_count = d->wanted_count,
                           .top_ps = d->top_ps,
                           .top_ps_count = d->wanted_count,
                           .seeds = d->seeds,
                           .seeds_count = d->wanted_count,
                           .is_logits_wanted = d->is_logits_wanted};
}

/* ---- a step came back ---- */

/* Offer the blocks that are now full and computed to the prefix table. */
static void note_blocks(gsrt_scheduler *scheduler, request *r)
{
    while ((r->noted_blocks + 1) * GSRT_KV_BLOCK_POSITIONS <= r->computed) {
        uint32_t at = r->noted_blocks;
        uint32_t previous = at == 0 ? GSRT_NO_BLOCK : r->blocks[at - 1];
        uint32_t known =
            gsrt_block_pool_note(scheduler->pool, r->blocks[at], previous, r->tokens + at * GSRT_KV_BLOCK_POSITIONS);
        if (known != r->blocks[at]) {
            /* the same content stands elsewhere already: share it, so that chains of both lead on */
            gsrt_block_pool_ref(scheduler->pool, known);
            gsrt_block_pool_unref(scheduler->pool, r->blocks[at]);
            r->blocks[at] = known;
        }
        r->noted_blocks += 1;
    }
}

/* Token number `index` of the answer: new, or one that was known and has been computed again. The latter is taken as it
 * came: whoever emits it compares. */
static void take_token(gsrt_scheduler *scheduler, request *r, uint32_t index, uint32_t token, uint64_t low,
                       uint64_t high)
{
    r->tokens[r->prompt_count + index] = token;
    r->hashes[2 * index] = low;
    r->hashes[2 * index + 1] = high;
    r->drawn = index + 1;
    if (index >= r->known_count) {
        r->token_count += 1;
        r->state = DECODE;
    }
    if (r->drawn < r->known_count || !is_end(scheduler, r, index))
        return;
    finish(scheduler, r, is_stop(scheduler, token) && !r->is_ignoring_eos ? GSRT_FINISH_STOP : GSRT_FINISH_LENGTH);
}

gsrt_status gsrt_scheduler_tokens(gsrt_scheduler *scheduler, const gsrt_msg_tokens *tokens)
{
    flight *f = &scheduler->flights[scheduler->flight_first];
    if (scheduler->flight_count == 0 || tokens->step != f->step || tokens->tokens_count != f->wanted_count ||
        tokens->hash_lows_count != f->wanted_count || tokens->hash_highs_count != f->wanted_count)
        return GSRT_EINVAL;
    for (uint32_t i = 0; i < f->sequence_count; i++) {
        request *r = f->sequences[i].request;
        r->computed += f->sequences[i].row_count;
        note_blocks(scheduler, r);
        uint32_t count = f->sequences[i].sampled_count;
        uint32_t first = f->sequences[i].wanted_first + f->sequences[i].wanted_count - count;
        uint32_t index = f->sequences[i].end + 1 - count - r->prompt_count; /* of the first one's token */
        for (uint32_t k = 0; k < count && r->state != FINISHED; k++)
            take_token(scheduler, r, index + k, tokens->tokens[first + k], tokens->hash_lows[first + k],
                       tokens->hash_highs[first + k]);
    }
    scheduler->flight_first = (scheduler->flight_first + 1) % scheduler->options.window;
    scheduler->flight_count -= 1;
    return GSRT_OK;
}

bool gsrt_scheduler_is_event(gsrt_kind kind)
{
    return kind == GSRT_KIND_SUBMIT || kind == GSRT_KIND_TOKENS || kind == GSRT_KIND_MOVE || kind == GSRT_KIND_COPIED ||
           kind == GSRT_KIND_RESUME;
}

gsrt_status gsrt_scheduler_step(gsrt_scheduler *scheduler, gsrt_kind kind, const void *body)
{
    switch ((int)kind) {
    case GSRT_KIND_SUBMIT: return gsrt_scheduler_submit(scheduler, body);
    case GSRT_KIND_TOKENS: return gsrt_scheduler_tokens(scheduler, body);
    case GSRT_KIND_MOVE: return gsrt_scheduler_move(scheduler, body);
    case GSRT_KIND_COPIED: return gsrt_scheduler_copied(scheduler, body);
    case GSRT_KIND_RESUME: return gsrt_scheduler_resume(scheduler);
    default: return GSRT_EINVAL;
    }
}

/* ---- actions ---- */

static bool poll_answers(gsrt_scheduler *scheduler, gsrt_scheduler_action *out)
{
    for (uint32_t i = scheduler->live_first; i < scheduler->request_count; i++) {
        request *r = scheduler->requests[i];
        uint32_t index = r->emitted;
        if (index < r->drawn) {
            out->kind = GSRT_KIND_TOKEN;
            out->token = (gsrt_msg_token){.request = r->number,
                                          .index = index,
                                          .token = r->tokens[r->prompt_count + index],
                                          .hash_low = r->hashes[2 * index],
                                          .hash_high = r->hashes[2 * index + 1]};
            r->emitted += 1;
            scheduler->token_count += index >= r->known_count ? 1 : 0;
            return true;
        }
        if (r->state == FINISHED && !r->is_reported) {
            out->kind = GSRT_KIND_FINISHED;
            out->finished = (gsrt_msg_finished){.request = r->number,
                                                .reason = (uint32_t)r->finish,
                                                .prompt_tokens = r->prompt_count,
                                                .prefix_tokens = r->prefix_count};
            r->is_reported = true;
            return true;
        }
    }
    while (scheduler->live_first < scheduler->request_count && scheduler->requests[scheduler->live_first]->is_reported)
        scheduler->live_first += 1;
    return false;
}

static bool poll_restore(gsrt_scheduler *scheduler, gsrt_scheduler_action *out)
{
    for (uint32_t i = scheduler->live_first; i < scheduler->request_count; i++) {
        request *r = scheduler->requests[i];
        if (!r->is_restoring)
            continue;
        r->is_restoring = false;
        out->kind = GSRT_KIND_RESTORE;
        out->restore = (gsrt_msg_restore){
            .request = r->number, .blocks = r->blocks, .blocks_count = r->restored / GSRT_KV_BLOCK_POSITIONS};
        return true;
    }
    return false;
}

/* Between two steps, so that it comes to every region after the same ones: the blocks that are computed by then do not
 * change any more, and are not given to others before a later step. */
static bool poll_snapshot(gsrt_scheduler *scheduler, gsrt_scheduler_action *out)
{
    draft *d = &scheduler->draft;
    if (scheduler->move.phase != STAYING) /* its region may be gone before its part is durable */
        return false;
    if (scheduler->options.snapshot_tokens == 0 || scheduler->token_count < scheduler->options.snapshot_tokens)
        return false;
    d->sequence_count = d->block_total = 0;
    for (uint32_t i = scheduler->live_first; i < scheduler->request_count; i++) {
        const request *r = scheduler->requests[i];
        uint32_t count = r->computed / GSRT_KV_BLOCK_POSITIONS;
        if ((r->state != PREFILL && r->state != DECODE) || count == 0 ||
            d->block_total + count > sizeof d->blocks / sizeof d->blocks[0])
            continue; /* what does not fit is computed again */
        d->requests[d->sequence_count] = r->number;
        d->block_counts[d->sequence_count++] = count;
        memcpy(d->blocks + d->block_total, r->blocks, count * sizeof *d->blocks);
        d->block_total += count;
    }
    if (d->sequence_count == 0)
        return false;
    scheduler->token_count = 0;
    out->kind = GSRT_KIND_SNAPSHOT;
    out->snapshot = (gsrt_msg_snapshot){.number = scheduler->snapshot_next++,
                                        .requests = d->requests,
                                        .requests_count = d->sequence_count,
                                        .block_counts = d->block_counts,
                                        .block_counts_count = d->sequence_count,
                                        .blocks = d->blocks,
                                        .blocks_count = d->block_total};
    return true;
}

bool gsrt_scheduler_poll(gsrt_scheduler *scheduler, gsrt_scheduler_action *out)
{
    if (poll_answers(scheduler, out) || gsrt__scheduler_poll_move(scheduler, out))
        return true;
    if (gsrt_scheduler_is_held(scheduler) || scheduler->flight_count == scheduler->options.window)
        return false;
    admit_waiting(scheduler);
    if (poll_restore(scheduler, out) || poll_snapshot(scheduler, out))
        return true;
    uint32_t slot = (scheduler->flight_first + scheduler->flight_count) % scheduler->options.window;
    flight *f = &scheduler->flights[slot];
    if (!draft_step(scheduler, f))
        return false;
    f->step = ++scheduler->step_last;
    scheduler->flight_count += 1;
    out->kind = GSRT_KIND_STEP;
    out->step = step_message(&scheduler->draft, f->step);
    return true;
}

bool gsrt_scheduler_check(const gsrt_scheduler *scheduler)
{
    if (!gsrt_block_pool_check(scheduler->pool) || scheduler->flight_count > scheduler->options.window)
        return false;
    for (uint32_t i = 0; i < scheduler->request_count; i++) {
        const request *r = scheduler->requests[i];
        if (r->state == PREFILL || r->state == DECODE) {
            if (r->block_count != gsrt_kv_blocks_of(r->prompt_count + r->max_tokens) || r->computed > r->issued ||
                r->issued > r->token_count || r->emitted > r->drawn || r->drawn + r->prompt_count > r->token_count)
                return false;
            for (uint32_t b = 0; b < r->block_count; b++) {
                if (gsrt_block_pool_is_free(scheduler->pool, r->blocks[b]))
                    return false;
            }
        }
    }
    return true;
}
