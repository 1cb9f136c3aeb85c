#include "model/region_actor.h"

#include "actors/courier.h"
#include "collectives/exchange.h"
#include "model/region_move.h"
#include "model/region_replica.h"
#include "model/region_snapshot.h"
#include "model/step.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A device that has not answered by then is broken; sized for the largest step on the slowest machine. */
#define JOB_TIMEOUT_NS (600ull * 1000 * 1000 * 1000)

typedef enum region_phase { IDLE, COMPUTING, EXCHANGING } region_phase;

typedef struct region {
    gsrt_region_options options;
    region_phase phase;
    uint32_t epoch;                   /* in which it was started: in a later one it does nothing but wait for its end */
    gsrt__step *first, *last;         /* steps received; `first` is in hand unless IDLE */
    gsrt_exchange_store *pieces;      /* of the group */
    gsrt_exchange_store *activations; /* of the stage before, keyed by step */
    uint32_t segment;                 /* COMPUTING: the one that runs; EXCHANGING: the one that waits */
    gsrt_job job;
    gsrt_span spans[GSRT_GROUP_RANKS_MAX]; /* pieces of the running segment */
    gsrt__region_stream *stream;           /* to the second place; NULL: there is none */
    gsrt_snapshot_part *part;              /* being written; NULL: none */
    gsrt__region_copy copy;
    gsrt_node *node; /* for its writer, as the two below */
    gsrt_address self;
    atomic_bool is_stopping;
    bool is_corruption_due; /* a drill, once the job that runs is done */
} region;

static void begin_next(gsrt_actor *self, region *r);
static void finish_step(gsrt_actor *self, region *r);

static void fail(gsrt_actor *self)
{
    gsrt_exit(self, GSRT_EXIT_CRASH);
}

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    region *r = state;
    r->options = *(const gsrt_region_options *)arg;
    r->epoch = gsrt_node_epoch(gsrt_node_of(self));
    r->node = gsrt_node_of(self);
    r->self = gsrt_self(self);
    atomic_init(&r->is_stopping, false);
    r->pieces = gsrt_exchange_store_create(r->options.lowered->member_count);
    r->activations = gsrt_exchange_store_create(1);
    bool is_protected = r->options.replica != NULL && r->options.second_place != GSRT_NO_PLACE;
    r->stream = is_protected ? calloc(1, sizeof *r->stream) : NULL;
    if (r->pieces != NULL && r->activations != NULL && (r->stream != NULL || !is_protected))
        return GSRT_OK;
    free(r->stream);
    gsrt_exchange_store_free(r->pieces);
    gsrt_exchange_store_free(r->activations);
    return GSRT_ENOMEM;
}

static void stop(gsrt_actor *self, void *state, uint32_t reason)
{
    (void)self;
    (void)reason;
    region *r = state;
    while (r->first != NULL) {
        gsrt__step *next = r->first->next;
        gsrt__step_free(r->first);
        r->first = next;
    }
    gsrt_exchange_store_free(r->pieces);
    gsrt_exchange_store_free(r->activations);
    free(r->stream);
    /* read by part_is_stored, which must not wait for this thread to empty the node's queue */
    atomic_store_explicit(&r->is_stopping, true, memory_order_relaxed);
    r->part = gsrt_snapshot_part_free(r->part);
    gsrt__region_copy_fini(&r->copy);
}

/* ---- a segment ---- */

static uint32_t rows_of(const gsrt__step *step, bool is_wanted)
{
    return is_wanted ? step->wanted_count : step->row_count;
}

static bool is_computing(const region *r)
{
    return r->options.kv != NULL;
}

static void submit(gsrt_actor *self, region *r)
{
    const gsrt_lowered_segment *segment = &r->options.lowered->segments[r->segment];
    r->phase = COMPUTING;
    r->job.instr_first = segment->instr_first;
    r->job.instr_count = segment->instr_count;
    r->job.pieces = r->spans;
    uint64_t call;
    gsrt_msg_job message = {.job = (uint64_t)(uintptr_t)&r->job};
    gsrt_address device = gsrt_address_of_role(GSRT_ROLE_DEVICE, 0, gsrt_node_rank(gsrt_node_of(self)));
    if (gsrt_call(self, device, GSRT_KIND_JOB, &message, NULL, JOB_TIMEOUT_NS, &call) != GSRT_OK)
        fail(self);
}

static void begin(gsrt_actor *self, region *r)
{
    gsrt__step *step = r->first;
    const gsrt_lowered *lowered = r->options.lowered;
    gsrt_region_facts *facts = r->options.facts;
    facts->steps += 1;
    facts->rows += step->row_count;
    facts->wanted_rows += step->wanted_count;
    facts->rows_max = step->row_count > facts->rows_max ? step->row_count : facts->rows_max;
    r->job = (gsrt_job){.program = &lowered->program,
                        .workspace = r->options.workspace,
                        .kv = r->options.kv,
                        .row_count = step->row_count,
                        .tokens = step->tokens,
                        .sequences = step->sequences,
                        .sequence_count = step->sequence_count,
                        .wanted = step->wanted,
                        .wanted_count = step->wanted_count,
                        .sampling = step->sampling,
                        .results = step->results};
    if (lowered->embed_tensor != GSRT_NO_INDEX) {
        uint32_t width = gsrt_weights_workload(r->options.weights)->tensors[lowered->embed_tensor].column_count;
        for (uint32_t i = 0; i < step->row_count; i++)
            gsrt_weights_touch(r->options.weights, lowered->embed_tensor, step->tokens[i], 1, 0, width);
    }
    if (lowered->slot_in != GSRT_NO_SLOT) {
        gsrt_payload *activation = gsrt_exchange_store_get(r->activations, step->number, 0, 0);
        facts->activation_bytes += activation->len;
        r->spans[0] = gsrt_span_of(activation->data, activation->len);
        r->job.piece_count = 1;
    }
    r->segment = 0;
    submit(self, r);
}

/* ---- an exchange ---- */

/* A copy of rows of a slot, to send: the slot is used again before the last receiver has read it. */
static gsrt_payload *copy_slot(const region *r, uint32_t slot, uint32_t rows)
{
    size_t bytes = rows * gsrt_slot_row_bytes(&r->options.lowered->program.slots[slot]);
    gsrt_payload *payload = gsrt_payload_create(bytes);
    if (payload == NULL)
        return NULL;
    if (is_computing(r))
        memcpy(payload->data, gsrt_workspace_slot(r->options.workspace, slot), bytes);
    else
        memset(payload->data, 0, bytes);
    return payload;
}

/* The same for member `to` of a scatter: its columns of each node. */
static gsrt_payload *copy_columns(const region *r, const gsrt_lowered_exchange *e, uint32_t to, uint32_t rows)
{
    size_t bytes = (e->scattered[to + 1] - e->scattered[to]) * sizeof(float);
    size_t node_bytes = e->scattered[r->options.lowered->member_count] * sizeof(float);
    size_t node_count = (size_t)rows * e->node_count;
    gsrt_payload *payload = gsrt_payload_create(node_count * bytes);
    if (payload == NULL)
        return NULL;
    if (!is_computing(r)) {
        memset(payload->data, 0, payload->len);
        return payload;
    }
    const uint8_t *from = gsrt_workspace_slot(r->options.workspace, e->slot);
    from += e->scattered[to] * sizeof(float);
    for (size_t node = 0; node < node_count; node++)
        memcpy(payload->data + node * bytes, from + node * node_bytes, bytes);
    return payload;
}

/* Each receiver its own columns. This member's own wait with those of the others: they do not lie in one run either. */
static gsrt_status scatter_piece(gsrt_actor *self, region *r, const gsrt_lowered_exchange *e, uint32_t rows)
{
    const gsrt_lowered *lowered = r->options.lowered;
    gsrt_msg_piece message = {.step = r->first->number, .exchange = r->segment, .member = lowered->member};
    gsrt_status status = GSRT_OK;
    for (uint32_t m = 0; m < lowered->member_count && status == GSRT_OK; m++) {
        gsrt_payload *payload = copy_columns(r, e, m, rows);
        if (payload == NULL)
            return GSRT_ENOMEM;
        if (m == lowered->member)
            status = gsrt_exchange_store_put(r->pieces, message.step, message.exchange, m, payload);
        else
            status = gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REGION, r->options.stage, m),
                                       GSRT_KIND_PIECE, &message, payload);
        gsrt_payload_unref(payload);
    }
    return status;
}

static gsrt_status send_piece(gsrt_actor *self, region *r, const gsrt_lowered_exchange *e, uint32_t rows)
{
    const gsrt_lowered *lowered = r->options.lowered;
    gsrt_msg_piece message = {.step = r->first->number, .exchange = r->segment, .member = lowered->member};
    gsrt_status status = GSRT_OK;
    if (e->slot == GSRT_NO_SLOT)
        return GSRT_OK;
    if (e->is_scatter)
        return scatter_piece(self, r, e, rows);
    gsrt_payload *payload = copy_slot(r, e->slot, rows);
    if (payload == NULL)
        return GSRT_ENOMEM;
    for (uint32_t m = 0; m < lowered->member_count && status == GSRT_OK; m++) {
        if (m != lowered->member && (e->receivers >> m & 1u) != 0)
            status = gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REGION, r->options.stage, m),
                                       GSRT_KIND_PIECE, &message, payload);
    }
    gsrt_payload_unref(payload);
    return status;
}

/* Whose pieces of this exchange must lie in the store: those of the others, and in a scatter one's own too. */
static uint64_t needed_pieces(const region *r, const gsrt_lowered_exchange *e, uint32_t rows)
{
    uint64_t own = 1ull << r->options.lowered->member;
    if (rows == 0 || (e->receivers & own) == 0)
        return 0;
    return e->is_scatter ? e->senders : e->senders & ~own;
}

/* Hand the pieces to the next segment, each where it lies. false: one has the wrong size. */
static bool take_pieces(region *r, const gsrt_lowered_exchange *e, uint32_t rows)
{
    const gsrt_lowered *lowered = r->options.lowered;
    uint64_t needed = needed_pieces(r, e, rows);
    r->job.piece_count = lowered->member_count;
    for (uint32_t m = 0; m < lowered->member_count; m++) {
        size_t bytes = (size_t)rows * e->row_bytes[m];
        r->spans[m] = gsrt_span_of(NULL, 0);
        if ((needed >> m & 1u) != 0) {
            gsrt_payload *piece = gsrt_exchange_store_get(r->pieces, r->first->number, r->segment, m);
            if (piece->len != bytes)
                return false;
            r->spans[m] = gsrt_span_of(piece->data, piece->len);
            if (m != lowered->member)
                *(e->is_reduction ? &r->options.facts->reduced_bytes : &r->options.facts->gathered_bytes) += bytes;
        } else if (m == lowered->member && e->slot != GSRT_NO_SLOT && is_computing(r)) {
            r->spans[m] = gsrt_span_of(gsrt_workspace_slot(r->options.workspace, e->slot), bytes);
        }
    }
    return true;
}

static void try_exchange(gsrt_actor *self, region *r)
{
    const gsrt_lowered_exchange *e = &r->options.lowered->exchanges[r->segment];
    uint32_t rows = rows_of(r->first, e->is_wanted);
    if (!gsrt_exchange_store_has(r->pieces, r->first->number, r->segment, needed_pieces(r, e, rows)))
        return;
    if (!take_pieces(r, e, rows)) {
        fail(self);
        return;
    }
    r->options.facts->exchanges += 1;
    r->segment += 1;
    if (r->options.lowered->segments[r->segment].instr_count > 0)
        submit(self, r);
    else
        finish_step(self, r); /* the rest is another member's */
}

/* ---- moves ---- */

/* A COPY begins when nothing that it may not miss is going on: a part that is not durable, whose writer would be lost
 * with this region; and, where no step will follow, the last one, which may end here after it has come back. */
static gsrt_status try_copy(gsrt_actor *self, region *r)
{
    if (r->copy.region == GSRT_NOBODY || r->copy.has_begun || r->part != NULL)
        return GSRT_OK;
    if (r->copy.is_held && r->first != NULL)
        return GSRT_OK;
    return gsrt__region_copy_go_on(&r->copy, self, &r->options);
}

static gsrt_status on_copy(gsrt_actor *self, region *r, const gsrt_msg_copy *message)
{
    gsrt_status status = gsrt__region_copy_note(&r->copy, &r->options, message);
    return status == GSRT_OK ? try_copy(self, r) : status;
}

/* ---- the end of a step ---- */

static gsrt_status pass_on(gsrt_actor *self, region *r)
{
    const gsrt_lowered *lowered = r->options.lowered;
    uint32_t next_count = r->options.plan->stages[r->options.stage + 1].member_count;
    gsrt_status status = GSRT_OK;
    gsrt_payload *payload = NULL;
    /* each member of the next stage is served by one of this stage, in turn */
    for (uint32_t m = lowered->member; m < next_count && status == GSRT_OK; m += lowered->member_count) {
        if (payload == NULL)
            payload = copy_slot(r, lowered->slot_out, r->first->row_count);
        gsrt_msg_activation message = {.step = r->first->number};
        status = payload == NULL
                     ? GSRT_ENOMEM
                     : gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REGION, r->options.stage + 1, m),
                                         GSRT_KIND_ACTIVATION, &message, payload);
    }
    gsrt_payload_unref(payload);
    return status;
}

static gsrt_status send_logits(gsrt_actor *self, region *r)
{
    gsrt__step *step = r->first;
    gsrt_payload *payload = copy_slot(r, r->options.lowered->slot_logits, step->wanted_count);
    if (payload == NULL)
        return GSRT_ENOMEM;
    gsrt_msg_logits message = {.requests = step->wanted_requests,
                               .requests_count = step->wanted_count,
                               .positions = step->wanted_positions,
                               .positions_count = step->wanted_count};
    gsrt_status status =
        gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_GATEWAY, 0, 0), GSRT_KIND_LOGITS, &message, payload);
    gsrt_payload_unref(payload);
    return status;
}

static gsrt_status send_tokens(gsrt_actor *self, region *r)
{
    gsrt__step *step = r->first;
    uint32_t tokens[GSRT_BATCH_ROWS_MAX];
    uint64_t lows[GSRT_BATCH_ROWS_MAX], highs[GSRT_BATCH_ROWS_MAX];
    for (uint32_t i = 0; i < step->wanted_count; i++) {
        tokens[i] = step->results[i].token;
        lows[i] = step->results[i].hash_low;
        highs[i] = step->results[i].hash_high;
    }
    gsrt_msg_tokens message = {.step = step->number,
                               .tokens = tokens,
                               .tokens_count = step->wanted_count,
                               .hash_lows = lows,
                               .hash_lows_count = step->wanted_count,
                               .hash_highs = highs,
                               .hash_highs_count = step->wanted_count};
    return gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_SCHEDULER, 0, 0), GSRT_KIND_TOKENS, &message, NULL);
}

/* What the others wait for has left already. */
static gsrt_status keep_blocks(gsrt_actor *self, region *r)
{
    gsrt_status status = gsrt__region_keep(&r->options, r->stream, r->first);
    return status == GSRT_OK ? gsrt__region_send_part(self, &r->options, r->stream) : status;
}

static gsrt_status on_kept(gsrt_actor *self, region *r, const gsrt_msg_kept *kept)
{
    gsrt__region_note_kept(r->stream, kept);
    return gsrt__region_send_part(self, &r->options, r->stream);
}

static void finish_step(gsrt_actor *self, region *r)
{
    const gsrt_lowered *lowered = r->options.lowered;
    gsrt__step *step = r->first;
    gsrt_status status = GSRT_OK;
    if (lowered->slot_out != GSRT_NO_SLOT)
        status = pass_on(self, r);
    if (lowered->slot_logits != GSRT_NO_SLOT && lowered->member == 0) {
        if (step->is_logits_wanted && step->wanted_count > 0)
            status = send_logits(self, r);
        if (status == GSRT_OK)
            status = send_tokens(self, r);
    }
    if (status == GSRT_OK && r->stream != NULL)
        status = keep_blocks(self, r);
    if (status != GSRT_OK)
        fail(self);
    gsrt_exchange_store_drop(r->activations, step->number, 0);
    r->first = step->next;
    if (r->first == NULL)
        r->last = NULL;
    gsrt__step_free(step);
    r->phase = IDLE;
    if (status == GSRT_OK)
        begin_next(self, r);
}

/* IDLE: begin the next step if all it needs is here. In other states the step in hand ends first. */
static void begin_next(gsrt_actor *self, region *r)
{
    if (r->phase == IDLE && r->first == NULL && try_copy(self, r) != GSRT_OK)
        fail(self);
    if (r->phase != IDLE || r->first == NULL)
        return;
    if (r->options.lowered->slot_in != GSRT_NO_SLOT && !gsrt_exchange_store_has(r->activations, r->first->number, 0, 1))
        return;
    begin(self, r);
}

/* ---- snapshots ---- */

/* On the writer's thread. */
static void part_is_stored(void *arg, uint64_t number, gsrt_status status, uint64_t bytes, uint64_t hash)
{
    region *r = arg;
    gsrt_msg_snapshot_written written = {.number = number, .status = (uint32_t)status, .bytes = bytes, .hash = hash};
    while (gsrt_node_post_foreign(r->node, r->self, GSRT_KIND_SNAPSHOT_WRITTEN, &written) == GSRT_EFULL &&
           !atomic_load_explicit(&r->is_stopping, memory_order_relaxed)) /* set by stop */
        (void)sched_yield();
}

static gsrt_status say_part(gsrt_actor *self, const region *r, const gsrt_msg_snapshot_written *written)
{
    gsrt_msg_snapshot_part message = {.number = written->number,
                                      .stage = r->options.stage,
                                      .member = r->options.member,
                                      .status = written->status,
                                      .bytes = written->bytes,
                                      .hash = written->hash};
    return gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_GATEWAY, 0, 0), GSRT_KIND_SNAPSHOT_PART, &message,
                             NULL);
}

static gsrt_status on_snapshot(gsrt_actor *self, region *r, const gsrt_msg_snapshot *message)
{
    bool is_busy = r->part != NULL;
    gsrt_status status = is_busy || r->options.directory == NULL || !is_computing(r)
                             ? GSRT_EFULL
                             : gsrt__region_collect(&r->options, message, &r->part);
    if (status == GSRT_OK)
        status = gsrt_snapshot_part_store(r->part, r->options.directory, r->options.stage, r->options.member,
                                          part_is_stored, r);
    if (status == GSRT_OK)
        return GSRT_OK;
    if (!is_busy)
        r->part = gsrt_snapshot_part_free(r->part);
    return say_part(self, r, &(gsrt_msg_snapshot_written){.number = message->number, .status = (uint32_t)status});
}

static gsrt_status on_snapshot_written(gsrt_actor *self, region *r, const gsrt_msg_snapshot_written *written)
{
    r->part = gsrt_snapshot_part_free(r->part);
    gsrt_status status = say_part(self, r, written);
    return status == GSRT_OK ? try_copy(self, r) : status;
}

/* ---- a drill ---- */

/* The device reads it while a job runs. */
static void corrupt(region *r)
{
    r->is_corruption_due = r->phase == COMPUTING;
    if (!r->is_corruption_due)
        gsrt_lowered_corrupt(r->options.lowered);
}

/* ---- messages ---- */

static void on_step(gsrt_actor *self, region *r, const gsrt_msg_step *message)
{
    const gsrt_workload *workload = gsrt_weights_workload(r->options.weights);
    gsrt__step_limits limits = {.rows_max = r->options.rows_max,
                                .vocab_count = workload->vocab_count,
                                .block_count = is_computing(r) ? gsrt_kv_block_count(r->options.kv) : UINT32_MAX,
                                .position_count = workload->context_max};
    gsrt__step *step;
    if (gsrt__step_create(message, &limits, &step) != GSRT_OK) {
        fail(self);
        return;
    }
    if (r->last != NULL)
        r->last->next = step;
    else
        r->first = step;
    r->last = step;
    begin_next(self, r);
}

static void on_job_done(gsrt_actor *self, region *r, const gsrt_msg_job_done *done)
{
    r->options.facts->busy_ns += done->work_ns;
    if (done->status != GSRT_OK) {
        fail(self);
        return;
    }
    if (r->is_corruption_due) {
        r->is_corruption_due = false;
        gsrt_lowered_corrupt(r->options.lowered);
    }
    if (r->segment > 0)
        gsrt_exchange_store_drop(r->pieces, r->first->number, r->segment - 1);
    if (r->segment + 1 == r->options.lowered->segment_count) {
        finish_step(self, r);
        return;
    }
    const gsrt_lowered_exchange *e = &r->options.lowered->exchanges[r->segment];
    uint32_t rows = rows_of(r->first, e->is_wanted);
    r->phase = EXCHANGING;
    if (rows > 0 && send_piece(self, r, e, rows) != GSRT_OK)
        fail(self);
    else
        try_exchange(self, r);
}

static gsrt_status on_activation(gsrt_actor *self, region *r, const gsrt_message *message)
{
    uint64_t step = ((const gsrt_msg_activation *)message->body)->step;
    gsrt_status status = gsrt_exchange_store_put(r->activations, step, 0, 0, message->payload);
    if (status == GSRT_OK)
        begin_next(self, r);
    return status;
}

static gsrt_status on_piece(gsrt_actor *self, region *r, const gsrt_message *message)
{
    const gsrt_msg_piece *piece = message->body;
    if (piece->member == r->options.lowered->member)
        return GSRT_EINVAL;
    gsrt_status status =
        gsrt_exchange_store_put(r->pieces, piece->step, piece->exchange, piece->member, message->payload);
    if (status == GSRT_OK && r->phase == EXCHANGING)
        try_exchange(self, r);
    return status;
}

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    region *r = state;
    gsrt_status status = GSRT_OK;
    if (gsrt_node_epoch(gsrt_node_of(self)) != r->epoch)
        return; /* its job may still run: whoever changed the view waits for the device, then ends this actor */
    if (message->kind == GSRT_KIND_STEP)
        on_step(self, r, message->body);
    else if (message->kind == GSRT_KIND_JOB_DONE && r->phase == COMPUTING)
        on_job_done(self, r, message->body);
    else if (message->kind == GSRT_KIND_ACTIVATION)
        status = on_activation(self, r, message);
    else if (message->kind == GSRT_KIND_PIECE)
        status = on_piece(self, r, message);
    else if (message->kind == GSRT_KIND_SNAPSHOT)
        status = on_snapshot(self, r, message->body);
    else if (message->kind == GSRT_KIND_SNAPSHOT_WRITTEN)
        status = on_snapshot_written(self, r, message->body);
    else if (message->kind == GSRT_KIND_RESTORE && is_computing(r))
        status = gsrt__region_restore(&r->options, message->body);
    else if (message->kind == GSRT_KIND_KEPT && r->stream != NULL)
        status = on_kept(self, r, message->body);
    else if (message->kind == GSRT_KIND_CORRUPT)
        corrupt(r);
    else if (message->kind == GSRT_KIND_COPY)
        status = on_copy(self, r, message->body);
    else if (message->kind == GSRT_KIND_PAGES)
        status = gsrt__region_take_pages(self, &r->options, message);
    else if (message->kind == GSRT_KIND_PAGES_TAKEN)
        status = gsrt__region_copy_taken(&r->copy, self, &r->options, message->body);
    else if (message->kind == GSRT_KIND_DOWN)
        status = GSRT_EDOWN; /* the device did not answer */
    if (status != GSRT_OK)
        fail(self);
}

static const gsrt_behaviour region_behaviour = {
    .name = "region", .state_bytes = sizeof(region), .init = init, .receive = receive, .stop = stop};

gsrt_status gsrt_region_actor_start(gsrt_node *node, const gsrt_region_options *options, gsrt_address *out)
{
    return gsrt_node_spawn(node, &region_behaviour, options, out);
}
