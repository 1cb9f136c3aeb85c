#include "launch/rank.h"

#include "launch/options.h"
#include "launch/rank_impl.h"
#include "mailbox/keepers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ASK_MS = 20,                        /* between two questions of a leader to those that are not present */
    HELD_MAX = GSRT_BODY_BYTES_MAX / 8, /* numbers of a PRESENT */
};

static gsrt_address role_of_root(uint32_t rank)
{
    return gsrt_address_of_role(GSRT_ROLE_NODE, 0, rank);
}

bool gsrt_rank_is_member(const gsrt_rank *r, uint32_t other)
{
    return other < gsrt_node_rank_count(r->node) && r->incarnations[other] != GSRT_NOT_A_MEMBER;
}

/* ---- the account ---- */

void gsrt_rank_read_facts(const gsrt_rank *r, gsrt_msg_facts *out)
{
    gsrt_node_facts node;
    gsrt_device_facts device = {.kind = "none", .name = "none"};
    gsrt_replica_facts replica = {0};
    gsrt_node_read_facts(r->node, &node);
    if (r->device.device != NULL)
        gsrt_device_read_facts(r->device.device, &device);
    if (r->replica != NULL)
        gsrt_replica_read_facts(r->replica, &replica);
    const gsrt_region_facts *region = &r->region_facts;
    bool is_real = !r->options.is_twin; /* in the twin nothing of this process and its clock may show */
    *out = (gsrt_msg_facts){.rank = gsrt_node_rank(r->node),
                            .pid = is_real ? (uint64_t)getpid() : 0,
                            .has_role = r->has_role,
                            .stage = r->stage,
                            .member = r->member,
                            .isa = gsrt_span_of_text(r->device.device == NULL ? "none" : gsrt_isa_name(device.isa)),
                            .threads = device.thread_count,
                            .weight_touched = gsrt_weights_touched_bytes(r->loaded->weights),
                            .weight_share = r->part == NULL ? 0 : r->part->lowered->share_bytes,
                            .weight_copies = r->part == NULL ? 0 : r->part->lowered->copy_bytes,
                            .rows_max = region->rows_max,
                            .rows = region->rows,
                            .steps = region->steps,
                            .gathered = region->gathered_bytes,
                            .reduced = region->reduced_bytes,
                            .packed = device.packed_bytes,
                            .pack_ns = is_real ? device.pack_ns : 0,
                            .load_ns = r->options.load_ns,
                            .kv_streamed = region->streamed_bytes,
                            .kv_gathered = r->gathered_bytes,
                            .kv_held = replica.bytes_highest,
                            .kv_left_out = replica.left_out,
                            .messages_sent = node.messages_sent,
                            .messages_received = node.messages_received,
                            .backend_kind = gsrt_span_of_text(device.kind),
                            .backend_name = gsrt_span_of_text(device.name),
                            .is_simulated = device.is_simulated || !is_real,
                            .busy_ns = is_real ? device.busy_ns : region->busy_ns,
                            .energy_j = r->device.profile == NULL ? -1 : device.energy_j,
                            .temperature_c = device.temperature_c};
}

/* ---- a view begins ---- */

/* End an actor of the view before. What it was to say to others is void already. */
static void end_old(gsrt_actor *self, gsrt_address *actor)
{
    if (*actor == GSRT_NOBODY)
        return;
    gsrt_unmonitor(self, *actor);
    gsrt_status status = gsrt_kill(self, *actor, GSRT_EXIT_SHUTDOWN);
    (void)status; /* whoever is gone already is as good */
    *actor = GSRT_NOBODY;
}

/* Links anew: what the old ones still held is void. */
static gsrt_status start_links(gsrt_actor *self, gsrt_rank *r)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t peer = 0; peer < gsrt_node_rank_count(r->node) && status == GSRT_OK; peer++) {
        if (r->link_actors[peer] != GSRT_NOBODY) {
            status = gsrt_kill(self, r->link_actors[peer], GSRT_EXIT_SHUTDOWN);
            r->link_actors[peer] = GSRT_NOBODY;
        }
        if (status != GSRT_OK || peer == gsrt_node_rank(r->node) || !gsrt_rank_is_member(r, peer))
            continue;
        status = gsrt_link_actor_start(r->node, peer, &r->links[peer]);
        if (status == GSRT_OK)
            r->link_actors[peer] = gsrt_role_resolve(r->node, gsrt_address_of_role(GSRT_ROLE_LINK, 0, peer));
    }
    return status;
}

/* What cannot be sent now is asked for again, or sent again: the leader's timer is behind it. */
static gsrt_status tell_present(gsrt_actor *self, const gsrt_rank *r, uint32_t rank)
{
    gsrt_msg_present present = {.rank = gsrt_node_rank(r->node), .epoch = r->epoch};
    gsrt_buffer held;
    gsrt_status status = GSRT_OK;
    gsrt_buffer_init(&held, SIZE_MAX / 2);
    if (r->replica != NULL && rank == r->leader)
        status = gsrt_replica_tell(r->replica, HELD_MAX, &held);
    present.held = (const uint32_t *)(const void *)held.data;
    present.held_count = (uint32_t)(held.len / sizeof *present.held);
    if (status == GSRT_OK)
        status = gsrt_send(self, role_of_root(rank), GSRT_KIND_PRESENT, &present, NULL);
    gsrt_buffer_fini(&held);
    return status == GSRT_EFULL ? GSRT_OK : status;
}

/* The device has no job left, so nobody reads the old region's memory any more; then the leader is told. */
static gsrt_status say_present(gsrt_actor *self, gsrt_rank *r)
{
    end_old(self, &r->region);
    return tell_present(self, r, r->leader);
}

/* On the leader: until everybody has said PRESENT, ask again those that have not. What a member says before the leader
 * has begun the view, or before their processes are connected, is refused, as all that belongs to another view. */
static gsrt_status ask_for_present(gsrt_actor *self, gsrt_rank *r)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t rank = 0; rank < gsrt_node_rank_count(r->node) && status == GSRT_OK; rank++) {
        if (gsrt_rank_is_member(r, rank) && rank != gsrt_node_rank(r->node) && r->present_epoch[rank] != r->epoch)
            status = tell_present(self, r, rank);
    }
    return status == GSRT_OK ? gsrt_timer_start(self, ASK_MS * 1000000ull, r->epoch, NULL) : status;
}

static gsrt_status on_timer(gsrt_actor *self, gsrt_rank *r, const gsrt_msg_timer *timer)
{
    bool is_waiting = timer->tag == r->epoch && r->leader == gsrt_node_rank(r->node) && r->gateway == GSRT_NOBODY;
    return is_waiting ? ask_for_present(self, r) : GSRT_OK;
}

static gsrt_status on_view(gsrt_actor *self, gsrt_rank *r, const gsrt_msg_view *view)
{
    if (view->incarnations_count != gsrt_node_rank_count(r->node) || view->leader >= view->incarnations_count)
        return GSRT_EINVAL;
    r->epoch = view->epoch;
    r->leader = view->leader;
    memcpy(r->incarnations, view->incarnations, view->incarnations_count * sizeof *r->incarnations);
    end_old(self, &r->gateway);
    gsrt_status status = gsrt_role_bind(r->node, role_of_root(gsrt_node_rank(r->node)), r->root);
    if (status == GSRT_OK && r->replica != NULL)
        status = gsrt_role_bind(r->node, gsrt_address_of_role(GSRT_ROLE_REPLICA, 0, gsrt_node_rank(r->node)),
                                r->replica_actor);
    if (status == GSRT_OK)
        status = start_links(self, r);
    r->drain_call = r->gather_call = 0;
    r->is_starting = false;
    if (status == GSRT_OK && r->leader == gsrt_node_rank(r->node))
        status = gsrt_timer_start(self, ASK_MS * 1000000ull, r->epoch, NULL);
    if (status != GSRT_OK || r->device.actor == GSRT_NOBODY)
        return status == GSRT_OK ? say_present(self, r) : status;
    status =
        gsrt_role_bind(r->node, gsrt_address_of_role(GSRT_ROLE_DEVICE, 0, gsrt_node_rank(r->node)), r->device.actor);
    if (status == GSRT_OK)
        status = gsrt_call(self, r->device.actor, GSRT_KIND_DRAIN, &(gsrt_msg_drain){.epoch = r->epoch}, NULL,
                           GSRT__DRAIN_TIMEOUT_NS, &r->drain_call);
    return status;
}

/* On the leader: once every member has begun the view, the gateway begins the run, or goes on with it. On the others it
 * is the leader's question (ask_for_present). */
static gsrt_status on_present(gsrt_actor *self, gsrt_rank *r, const gsrt_msg_present *present)
{
    uint32_t rank_count = gsrt_node_rank_count(r->node);
    if (present->rank >= rank_count)
        return GSRT_OK; /* refused: it names nobody */
    if (present->rank != gsrt_node_rank(r->node) && present->rank == r->leader)
        return present->epoch == r->epoch && r->drain_call == 0 && r->region == GSRT_NOBODY ? say_present(self, r)
                                                                                            : GSRT_OK;
    if (present->epoch >= r->present_epoch[present->rank]) {
        r->present_epoch[present->rank] = present->epoch;
        if (r->holdings != NULL &&
            gsrt_holdings_note(r->holdings, present->rank, present->held, present->held_count) == GSRT_ENOMEM)
            return GSRT_ENOMEM;
    }
    if (r->leader != gsrt_node_rank(r->node) || r->gateway != GSRT_NOBODY || r->epoch == 0)
        return GSRT_OK;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        if (gsrt_rank_is_member(r, rank) && r->present_epoch[rank] != r->epoch)
            return GSRT_OK;
    }
    gsrt_status status = r->options.on_lead(r->options.arg, r, &r->gateway, r->diag);
    if (status == GSRT_OK)
        return gsrt_monitor(self, r->gateway);
    /* no other rank would fare better: its inputs and its directory are the same */
    gsrt_rank_end_all(r, (uint32_t)gsrt_exit_code(status));
    gsrt_node_finish(r->node, gsrt_exit_code(status));
    return GSRT_OK;
}

/* ---- the root actor ---- */

/* Another rank plays the role that this one had (launch/moves.h): it is a spare now. Its region has no job left, and
 * nobody knows it any more. */
static void leave_role(gsrt_actor *self, gsrt_rank *r)
{
    end_old(self, &r->region);
    r->has_role = false;
    r->part = NULL;
    gsrt_parts_rest(&r->parts, NULL);
}

/* When a view begins, and again when a region has moved. */
static gsrt_status on_roles(gsrt_actor *self, gsrt_rank *r, const gsrt_msg_roles *roles)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < roles->roles_count && i < roles->actors_count && status == GSRT_OK; i++)
        status = gsrt_role_bind(r->node, roles->roles[i], roles->actors[i]);
    gsrt_address own = gsrt_address_of_role(GSRT_ROLE_REGION, r->stage, r->member);
    if (r->region != GSRT_NOBODY && gsrt_role_resolve(r->node, own) != r->region)
        leave_role(self, r);
    return status;
}

static gsrt_status on_facts_wanted(gsrt_actor *self, const gsrt_rank *r, gsrt_address asker)
{
    gsrt_msg_facts facts;
    gsrt_rank_read_facts(r, &facts);
    return gsrt_send(self, asker, GSRT_KIND_FACTS, &facts, NULL);
}

/* The keepers know too: those without a worker end, and the code of a worker that ends now is no death. */
static void tell_keepers(const gsrt_rank *r, uint32_t exit_code)
{
    gsrt_keepers *keepers = r->options.keepers;
    if (keepers != NULL)
        keepers->ops->finished(keepers, exit_code);
}

void gsrt_rank_end_all(const gsrt_rank *r, uint32_t exit_code)
{
    tell_keepers(r, exit_code);
    gsrt_msg_end end = {.exit_code = exit_code};
    for (uint32_t rank = 0; rank < gsrt_node_rank_count(r->node); rank++) {
        if (rank == gsrt_node_rank(r->node) || !gsrt_rank_is_member(r, rank))
            continue;
        gsrt_status status = gsrt_node_post(r->node, role_of_root(rank), GSRT_KIND_END, &end, NULL);
        (void)status; /* whoever cannot be told is told by its keeper */
    }
}

void gsrt_rank_cut_off(const gsrt_rank *r, const uint32_t *sides, uint32_t duration_ms)
{
    gsrt_msg_cut_off cut_off = {
        .sides = sides, .sides_count = gsrt_node_rank_count(r->node), .duration_ms = duration_ms};
    for (uint32_t rank = 0; rank < gsrt_node_rank_count(r->node); rank++) {
        if (rank == gsrt_node_rank(r->node) || !gsrt_rank_is_member(r, rank))
            continue;
        gsrt_status status = gsrt_node_post(r->node, role_of_root(rank), GSRT_KIND_CUT_OFF, &cut_off, NULL);
        (void)status; /* then it hears nothing of the others, which is what it is about */
    }
    if (r->options.on_cut_off != NULL)
        r->options.on_cut_off(r->options.arg, sides, duration_ms);
}

void gsrt_rank_corrupt(const gsrt_rank *r, uint32_t rank)
{
    gsrt_msg_corrupt corrupt = {.rank = rank};
    if (!gsrt_rank_is_member(r, rank))
        return;
    gsrt_status status = gsrt_node_post(r->node, role_of_root(rank), GSRT_KIND_CORRUPT, &corrupt, NULL);
    (void)status; /* then it is not done, and nothing is seen */
}

static void on_cut_off(const gsrt_rank *r, const gsrt_msg_cut_off *cut_off)
{
    if (cut_off->sides_count == gsrt_node_rank_count(r->node) && r->options.on_cut_off != NULL)
        r->options.on_cut_off(r->options.arg, cut_off->sides, cut_off->duration_ms);
}

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    gsrt_rank *r = *(gsrt_rank *const *)arg;
    *(gsrt_rank **)state = r;
    return r->replica == NULL ? GSRT_OK : gsrt_monitor(self, r->replica_actor);
}

/* An actor of this rank has ended by itself, or its device does not answer: this process is no good any more. */
static bool is_fatal(const gsrt_rank *r, const gsrt_message *message)
{
    gsrt_address subject = ((const gsrt_msg_down *)message->body)->subject;
    if (message->call != 0)
        return (message->call == r->drain_call || message->call == r->gather_call) &&
               ((const gsrt_msg_down *)message->body)->reason != GSRT_EXIT_EPOCH;
    return subject == r->region || subject == r->gateway || subject == r->device.actor || subject == r->replica_actor;
}

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    gsrt_rank *r = *(gsrt_rank **)state;
    gsrt_status status = GSRT_OK;
    if (message->kind == GSRT_KIND_VIEW) {
        status = on_view(self, r, message->body);
    } else if (message->kind == GSRT_KIND_DRAINED && message->call == r->drain_call) {
        r->drain_call = 0;
        status = say_present(self, r);
    } else if (message->kind == GSRT_KIND_GATHERED && message->call == r->gather_call) {
        r->gather_call = 0;
        status = gsrt__rank_say_ready(self, r, GSRT_OK, "");
    } else if (message->kind == GSRT_KIND_PRESENT) {
        status = on_present(self, r, message->body);
    } else if (message->kind == GSRT_KIND_TIMER) {
        status = on_timer(self, r, message->body);
    } else if (message->kind == GSRT_KIND_START) {
        status = gsrt__rank_on_start(self, r, message);
    } else if (message->kind == GSRT_KIND_NARROWED) {
        status = gsrt__rank_on_narrowed(self, r, message->body);
    } else if (message->kind == GSRT_KIND_ROLES) {
        status = on_roles(self, r, message->body);
    } else if (message->kind == GSRT_KIND_ASK_FACTS) {
        status = on_facts_wanted(self, r, message->from);
    } else if (message->kind == GSRT_KIND_CUT_OFF) {
        on_cut_off(r, message->body);
    } else if (message->kind == GSRT_KIND_CORRUPT) {
        if (r->region != GSRT_NOBODY)
            status = gsrt_send(self, r->region, GSRT_KIND_CORRUPT, message->body, NULL);
    } else if (message->kind == GSRT_KIND_DOWN) {
        status = is_fatal(r, message) ? GSRT_EDOWN : GSRT_OK;
    } else if (message->kind == GSRT_KIND_VERDICT) {
        uint32_t exit_code = ((const gsrt_msg_verdict *)message->body)->exit_code;
        gsrt_rank_end_all(r, exit_code);
        gsrt_node_finish(r->node, (int)exit_code);
    } else if (message->kind == GSRT_KIND_END) {
        uint32_t exit_code = ((const gsrt_msg_end *)message->body)->exit_code;
        tell_keepers(r, exit_code);
        gsrt_node_finish(r->node, (int)exit_code);
    }
    if (status == GSRT_OK)
        return;
    if (r->diag->status == GSRT_OK)
        (void)gsrt_diag_set(r->diag, status, NULL, NULL, "%s: %s", gsrt_kind_name(message->kind),
                            gsrt_status_text(status));
    gsrt_node_finish(r->node, GSRT_EXIT_AGAIN);
}

static void stop(gsrt_actor *self, void *state, uint32_t reason)
{
    gsrt_rank *r = *(gsrt_rank **)state;
    (void)self;
    (void)reason;
    atomic_store_explicit(&r->is_stopping, true, memory_order_relaxed); /* read by narrow */
    gsrt__rank_end_narrowing(r);
}

static const gsrt_behaviour root_behaviour = {
    .name = "root", .state_bytes = sizeof(gsrt_rank *), .init = init, .receive = receive, .stop = stop};

/* ---- life ---- */

static gsrt_status start_replica(gsrt_rank *r)
{
    const gsrt_workload *w = r->loaded->workload;
    r->shape = (gsrt_snapshot_shape){
        .layer_count = w->layer_count, .kv_head_count = w->kv_head_count, .head_dim = w->head_dim};
    if (!r->scenario->is_replicating)
        return GSRT_OK;
    r->replica = gsrt_replica_create(&r->shape, GSRT_REPLICA_BYTES_MAX);
    r->holdings = gsrt_holdings_create(&r->shape, gsrt_node_rank_count(r->node));
    if (r->replica == NULL || r->holdings == NULL)
        return GSRT_ENOMEM;
    gsrt_replica_actor_options options = {
        .replica = r->replica, .shape = &r->shape, .gathered_bytes = &r->gathered_bytes};
    return gsrt_replica_actor_start(r->node, &options, &r->replica_actor);
}

gsrt_status gsrt_rank_start(gsrt_rank *r, gsrt_node *node, const gsrt_scenario *scenario, const gsrt_loaded *loaded,
                            const gsrt_rank_options *options, gsrt_diag *diag)
{
    uint32_t rank_count = gsrt_node_rank_count(node);
    *r = (gsrt_rank){.options = *options,
                     .scenario = scenario,
                     .loaded = loaded,
                     .node = node,
                     .diag = diag,
                     .device = {.is_twin = options->is_twin, .is_numeric = options->is_numeric},
                     .parts = {.scenario = scenario, .loaded = loaded}};
    gsrt__rank_set_directory(r, options->known_directory);
    r->links = calloc(rank_count, sizeof *r->links);
    r->link_actors = calloc(rank_count, sizeof *r->link_actors);
    r->incarnations = calloc(rank_count, sizeof *r->incarnations);
    r->present_epoch = calloc(rank_count, sizeof *r->present_epoch);
    if (r->links == NULL || r->link_actors == NULL || r->incarnations == NULL || r->present_epoch == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = start_replica(r);
    if (status == GSRT_OK)
        status = gsrt_node_spawn(node, &root_behaviour, &r, &r->root);
    if (status == GSRT_OK)
        status = gsrt_role_bind(node, role_of_root(gsrt_node_rank(node)), r->root);
    return status;
}

void gsrt_rank_stop(gsrt_rank *r)
{
    gsrt_rank_device_stop(&r->device);
    r->snapshot = gsrt_snapshot_free(r->snapshot);
    r->replica = gsrt_replica_free(r->replica);
    r->holdings = gsrt_holdings_free(r->holdings);
    gsrt_parts_free(&r->parts);
    r->plan = gsrt_plan_free(r->plan);
    free(r->transfers);
    r->transfers = NULL;
    free(r->links);
    free(r->link_actors);
    free(r->incarnations);
    free(r->present_epoch);
    r->links = NULL;
    r->link_actors = NULL;
    r->incarnations = r->present_epoch = NULL;
}
