/* START: the part that the plan of a view gives to this rank, narrowed where the plan says so, and its region. */
#include "launch/options.h"
#include "launch/rank_impl.h"
#include "placement/fallback.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void unpack_carrier(const gsrt_msg_start *start, gsrt_plan_carrier *out)
{
    /* counts are within the table's limits; what does not fit together is refused by gsrt_plan_unpack */
    out->stage_count = start->layers_count == 2 * start->member_counts_count ? start->member_counts_count : 0;
    out->role_count = start->ranks_count == start->shares_count ? start->ranks_count : 0;
    out->spare_count = start->spares_count;
    out->exchange = start->exchange;
    out->narrowed_count = start->narrowed_count / 2;
    memcpy(out->layers, start->layers, start->layers_count * sizeof *out->layers);
    memcpy(out->member_counts, start->member_counts, start->member_counts_count * sizeof *out->member_counts);
    memcpy(out->ranks, start->ranks, start->ranks_count * sizeof *out->ranks);
    memcpy(out->shares, start->shares, start->shares_count * sizeof *out->shares);
    memcpy(out->spares, start->spares, start->spares_count * sizeof *out->spares);
    memcpy(out->narrowed, start->narrowed, start->narrowed_count * sizeof *out->narrowed);
}

static gsrt_status take_plan(gsrt_rank *r, const gsrt_msg_start *start, gsrt_diag *diag)
{
    gsrt_plan_carrier *carrier = malloc(sizeof *carrier);
    gsrt_plan *plan;
    if (carrier == NULL)
        return GSRT_ENOMEM;
    unpack_carrier(start, carrier);
    gsrt_status status = gsrt_plan_unpack(carrier, &plan);
    free(carrier);
    if (status != GSRT_OK)
        return status;
    gsrt_plan_free(r->plan);
    r->plan = plan;
    return gsrt_plan_check(plan, r->loaded->workload, gsrt_node_rank_count(r->node), r->scenario->file, diag);
}

static gsrt_status start_region(gsrt_actor *self, gsrt_rank *r)
{
    gsrt_region_options options = {.lowered = r->part->lowered,
                                   .plan = r->plan,
                                   .stage = r->stage,
                                   .member = r->member,
                                   .weights = r->loaded->weights,
                                   .kv = r->part->kv,
                                   .workspace = r->part->workspace,
                                   .rows_max = GSRT_BATCH_ROWS_MAX,
                                   .vocab_count = r->loaded->workload->vocab_count,
                                   .directory =
                                       r->options.is_twin || r->scenario->snapshot_tokens == 0 ? NULL : r->directory,
                                   .snapshot = r->snapshot,
                                   .replica = r->replica,
                                   .second_place = r->second_place,
                                   .facts = &r->region_facts};
    gsrt_status status = gsrt_region_actor_start(r->node, &options, &r->region);
    return status == GSRT_OK ? gsrt_monitor(self, r->region) : status;
}

/* ---- narrowing: longer than the others wait for a word, so that it has its own thread ---- */

static void *narrow(void *arg)
{
    gsrt_rank *r = arg;
    gsrt_status status = gsrt_lowered_narrow(r->raw->lowered, r->loaded->weights, &r->is_stopping);
    gsrt_msg_narrowed narrowed = {.status = (uint32_t)status};
    while (gsrt_node_post_foreign(r->node, r->root, GSRT_KIND_NARROWED, &narrowed) == GSRT_EFULL &&
           !atomic_load_explicit(&r->is_stopping, memory_order_relaxed)) /* set by stop */
        (void)sched_yield();
    return NULL;
}

/* In the twin at once: a thread has no place in virtual time, and what it does costs none. */
static gsrt_status begin_narrowing(gsrt_rank *r)
{
    if (r->options.is_twin) {
        gsrt_status status = gsrt_lowered_narrow(r->part->lowered, r->loaded->weights, NULL);
        r->part->lowered->is_raw = status != GSRT_OK;
        return status;
    }
    r->raw = r->part;
    if (pthread_create(&r->narrower, NULL, narrow, r) == 0)
        return GSRT_OK;
    r->raw = NULL;
    return GSRT_ENOMEM;
}

void gsrt__rank_end_narrowing(gsrt_rank *r)
{
    if (r->raw != NULL)
        (void)pthread_join(r->narrower, NULL);
    r->raw = NULL;
}

/* Take the part that the plan gives to this rank, if it gives one; its region, unless the part is raw. */
static gsrt_status take_part(gsrt_actor *self, gsrt_rank *r, gsrt_diag *diag)
{
    bool is_first = r->device.actor == GSRT_NOBODY;
    r->has_role = gsrt_plan_role_of(r->plan, gsrt_node_rank(r->node), &r->stage, &r->member);
    r->part = NULL;
    if (!r->has_role) {
        gsrt_parts_rest(&r->parts, NULL);
        return GSRT_OK;
    }
    gsrt_status status = gsrt_rank_device_start(&r->device, r->node, r->scenario, diag);
    if (status == GSRT_OK && is_first)
        status = gsrt_monitor(self, r->device.actor);
    r->parts.device = r->device.device;
    if (status == GSRT_OK)
        status = gsrt_parts_take(&r->parts, r->plan, r->stage, r->member, &r->part);
    if (status == GSRT_OK && r->part->lowered->is_raw)
        status = begin_narrowing(r);
    if (status == GSRT_OK && !r->part->lowered->is_raw) /* in the twin a part that was raw is taken once more */
        status = gsrt_parts_take(&r->parts, r->plan, r->stage, r->member, &r->part);
    return status == GSRT_OK && !r->part->lowered->is_raw ? start_region(self, r) : status;
}

void gsrt__rank_set_directory(gsrt_rank *r, gsrt_span path)
{
    size_t len = path.len < sizeof r->directory ? path.len : 0;
    if (len > 0)
        memcpy(r->directory, path.data, len);
    r->directory[len] = 0;
}

static gsrt_status open_files(gsrt_rank *r, const gsrt_msg_start *start, gsrt_diag *diag)
{
    if (r->has_files || start->directory.len == 0)
        return GSRT_OK;
    r->has_files = true;
    gsrt__rank_set_directory(r, start->directory);
    return r->options.on_start == NULL ? GSRT_OK : r->options.on_start(r->options.arg, r->directory, diag);
}

/* The leader has read all of it; here only what is needed is looked at. The old view's region is gone. */
static gsrt_status open_snapshot(gsrt_rank *r, const gsrt_msg_start *start, gsrt_diag *diag)
{
    r->snapshot = gsrt_snapshot_free(r->snapshot);
    if (start->snapshot == 0)
        return GSRT_OK;
    return gsrt_snapshot_open(r->directory, start->snapshot, false, &r->snapshot, diag);
}

gsrt_status gsrt__rank_say_ready(gsrt_actor *self, const gsrt_rank *r, gsrt_status status, const char *why)
{
    gsrt_msg_ready ready = {.rank = gsrt_node_rank(r->node),
                            .region = r->region,
                            .exit_code = (uint32_t)gsrt_exit_code(status),
                            .why = gsrt_span_of_text(why)};
    return gsrt_send(self, r->starter, GSRT_KIND_READY, &ready, NULL);
}

/* Only then the region may be told to restore what other ranks hold. */
static gsrt_status gather(gsrt_actor *self, gsrt_rank *r)
{
    gsrt_msg_gather message = {.transfers = r->transfers, .transfers_count = r->transfers_count};
    return gsrt_call(self, r->replica_actor, GSRT_KIND_GATHER, &message, NULL, GSRT__DRAIN_TIMEOUT_NS, &r->gather_call);
}

/* What START says beyond the plan, for when the part is ready. */
static gsrt_status keep_start(gsrt_rank *r, const gsrt_msg_start *start)
{
    uint32_t rank = gsrt_node_rank(r->node);
    free(r->transfers);
    r->second_place = rank < start->second_places_count ? start->second_places[rank] : GSRT_NO_PLACE;
    r->transfers_count = start->transfers_count;
    r->transfers = calloc((size_t)start->transfers_count + 1, sizeof *r->transfers);
    if (r->transfers == NULL)
        return GSRT_ENOMEM;
    if (start->transfers_count > 0)
        memcpy(r->transfers, start->transfers, start->transfers_count * sizeof *r->transfers);
    return GSRT_OK;
}

static gsrt_status refuse_start(gsrt_actor *self, gsrt_rank *r, gsrt_status status, gsrt_diag *diag)
{
    r->has_role = r->is_starting = false;
    if (diag->status == GSRT_OK)
        status = gsrt_diag_set(diag, status, r->scenario->file, NULL, "rank %u cannot start its part: %s",
                               gsrt_node_rank(r->node), gsrt_status_text(status));
    return gsrt__rank_say_ready(self, r, status, diag->text);
}

/* From START on, and again when something was narrowed: the part, its region, READY. While another view's part is being
 * narrowed, this one waits. */
static gsrt_status go_on_starting(gsrt_actor *self, gsrt_rank *r)
{
    gsrt_diag diag = {0};
    if (r->raw != NULL)
        return GSRT_OK;
    gsrt_status status = take_part(self, r, &diag);
    if (status != GSRT_OK)
        return refuse_start(self, r, status, &diag);
    if (r->raw != NULL)
        return GSRT_OK;
    r->is_starting = false;
    return r->transfers_count > 0 && r->replica != NULL ? gather(self, r) : gsrt__rank_say_ready(self, r, GSRT_OK, "");
}

gsrt_status gsrt__rank_on_start(gsrt_actor *self, gsrt_rank *r, const gsrt_message *message)
{
    gsrt_diag diag = {0};
    const gsrt_msg_start *start = message->body;
    if (r->region != GSRT_NOBODY || r->drain_call != 0 || r->gather_call != 0 || r->is_starting)
        return GSRT_OK; /* refused: this view has been started */
    r->starter = message->from;
    gsrt_status status = open_files(r, start, &diag);
    if (status == GSRT_OK)
        status = take_plan(r, start, &diag);
    if (status == GSRT_OK)
        status = open_snapshot(r, start, &diag);
    if (status == GSRT_OK)
        status = keep_start(r, start);
    if (status != GSRT_OK)
        return refuse_start(self, r, status, &diag);
    r->is_starting = true;
    return go_on_starting(self, r);
}

/* Of this view's part or of an earlier one's: it may have been left meanwhile. */
gsrt_status gsrt__rank_on_narrowed(gsrt_actor *self, gsrt_rank *r, const gsrt_msg_narrowed *narrowed)
{
    gsrt_diag diag = {0};
    gsrt_part *part = r->raw;
    if (part == NULL)
        return GSRT_OK;
    gsrt__rank_end_narrowing(r);
    part->lowered->is_raw = narrowed->status != (uint32_t)GSRT_OK;
    if (!r->is_starting)
        return GSRT_OK;
    return part->lowered->is_raw ? refuse_start(self, r, (gsrt_status)narrowed->status, &diag)
                                 : go_on_starting(self, r);
}
