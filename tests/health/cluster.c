#include "tests/health/cluster.h"
#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS ((uint64_t)1000000)
enum { RESTART_MAX = 3 };

typedef enum item_kind { ITEM_EVENT, ITEM_TIMER, ITEM_START, ITEM_DETECT, ITEM_ORDER, ITEM_FAULT } item_kind;

typedef struct item {
    uint64_t at_ns, sequence;
    item_kind kind;
    uint32_t to, incarnation; /* GSRT_NOT_A_MEMBER: whichever */
    uint32_t from;            /* of an order or a message */
    uint32_t size;
    uint8_t *bytes; /* an encoded event; owned */
} item;

typedef struct process {
    gsrt_membership *machine; /* NULL: dead */
    uint32_t incarnation;
    uint64_t stopped_until_ns;
    uint64_t timer_ns;
    bool is_unfenced; /* as it was told */
    uint32_t epoch;   /* installed */
    bool was_silent[CLUSTER_RANKS_MAX];
    uint32_t actions_left; /* until it is killed; 0: not */
} process;

typedef struct keeper {
    bool is_lost;
    gsrt_deposit deposit, before; /* held; the one before the last */
    bool is_confirmed;
    bool has_word[CLUSTER_INCARNATIONS_MAX];
    gsrt_keeper_word words[CLUSTER_INCARNATIONS_MAX];
} keeper;

struct cluster {
    uint32_t rank_count;
    uint64_t seed, draws;
    unsigned faults;
    uint64_t loss_percent;
    uint64_t takeover_ns; /* short ones let proposers get in each other's way */
    uint64_t now_ns, sequence;
    item *heap;
    uint32_t item_count, item_room;
    process processes[CLUSTER_RANKS_MAX];
    keeper keepers[CLUSTER_RANKS_MAX];
    uint32_t side[CLUSTER_RANKS_MAX];
    uint64_t parted_until_ns;
    bool has_value[CLUSTER_EPOCHS_MAX];
    gsrt_membership_view values[CLUSTER_EPOCHS_MAX];
    gsrt_buffer scratch;
    cluster_result result;
};

static uint64_t draw(cluster *c, uint64_t below)
{
    return gsrt_random_u64(c->seed, 0, c->draws++) % below;
}

static bool is_quiet(const cluster *c)
{
    return c->now_ns >= CLUSTER_FAULTS_MS * MS;
}

static bool chance(cluster *c, uint64_t percent)
{
    return !is_quiet(c) && (c->faults & CLUSTER_NETWORK) != 0 && draw(c, 100) < percent;
}

static void violate(cluster *c, const char *what, uint32_t rank, uint32_t epoch)
{
    if (c->result.violation[0] == 0)
        snprintf(c->result.violation, sizeof c->result.violation, "seed %llu at %llu us: rank %u, epoch %u: %s",
                 (unsigned long long)c->seed, (unsigned long long)(c->now_ns / 1000), rank, epoch, what);
}

/* ---- the queue ---- */

static bool is_before(const item *a, const item *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

static void push(cluster *c, item added)
{
    if (c->item_count == c->item_room) {
        c->item_room = c->item_room == 0 ? 256 : 2 * c->item_room;
        c->heap = realloc(c->heap, c->item_room * sizeof *c->heap);
        if (c->heap == NULL)
            abort();
    }
    added.sequence = c->sequence++;
    uint32_t at = c->item_count++;
    while (at > 0 && is_before(&added, &c->heap[(at - 1) / 2])) {
        c->heap[at] = c->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    c->heap[at] = added;
}

static item pop(cluster *c)
{
    item first = c->heap[0], last = c->heap[--c->item_count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= c->item_count)
            break;
        if (child + 1 < c->item_count && is_before(&c->heap[child + 1], &c->heap[child]))
            child++;
        if (is_before(&last, &c->heap[child]))
            break;
        c->heap[at] = c->heap[child];
        at = child;
    }
    c->heap[at] = last;
    return first;
}

static void push_event(cluster *c, uint64_t delay_ns, uint32_t from, uint32_t to, uint32_t incarnation,
                       const gsrt_membership_event *event)
{
    gsrt_buffer_reset(&c->scratch);
    if (gsrt_membership_event_encode(event, &c->scratch) != GSRT_OK)
        abort();
    item added = {.at_ns = c->now_ns + delay_ns,
                  .kind = ITEM_EVENT,
                  .to = to,
                  .from = from,
                  .incarnation = incarnation,
                  .size = (uint32_t)c->scratch.len,
                  .bytes = malloc(c->scratch.len)};
    if (added.bytes == NULL)
        abort();
    memcpy(added.bytes, c->scratch.data, c->scratch.len);
    push(c, added);
}

/* ---- keepers and processes ---- */

static bool is_joined(const cluster *c, uint32_t a, uint32_t b)
{
    return c->now_ns >= c->parted_until_ns || c->side[a] == c->side[b];
}

static bool is_stopped(const cluster *c, uint32_t rank)
{
    return c->processes[rank].stopped_until_ns > c->now_ns;
}

static void say(cluster *c, const gsrt_keeper_word *word, uint32_t to)
{
    if (!is_joined(c, word->rank, to) || chance(c, 10))
        return;
    static const uint64_t waits_ms[] = {0, 0, 5, 25};
    gsrt_membership_event event = {
        .kind = GSRT_MEMBERSHIP_WORD, .join_wait_ns = waits_ms[draw(c, 4)] * MS, .word = *word};
    push_event(c, MS / 5 + draw(c, 2 * MS), word->rank, to, GSRT_NOT_A_MEMBER, &event);
}

static void end_process(cluster *c, uint32_t rank, bool was_ordered)
{
    process *p = &c->processes[rank];
    keeper *k = &c->keepers[rank];
    if (p->machine == NULL)
        return;
    p->machine = gsrt_membership_free(p->machine);
    p->is_unfenced = false;
    if (k->is_lost)
        return;
    if (!k->is_confirmed && draw(c, 2) == 0)
        k->deposit = k->before; /* it was still on its way */
    bool is_last = p->incarnation >= RESTART_MAX;
    k->has_word[p->incarnation] = true;
    k->words[p->incarnation] = (gsrt_keeper_word){.rank = rank,
                                                  .incarnation = p->incarnation,
                                                  .is_last = is_last,
                                                  .was_ordered = was_ordered,
                                                  .deposit = k->deposit};
    for (uint32_t to = 0; to < c->rank_count; to++)
        if (to != rank)
            say(c, &k->words[p->incarnation], to);
    if (!is_last)
        push(c, (item){.at_ns = c->now_ns + 5 * MS + draw(c, 20 * MS), .kind = ITEM_START, .to = rank});
}

static void deliver(cluster *c, uint32_t rank, gsrt_membership_event *event);

static void start_process(cluster *c, uint32_t rank, uint32_t incarnation)
{
    process *p = &c->processes[rank];
    keeper *k = &c->keepers[rank];
    *p = (process){.incarnation = incarnation};
    k->deposit = k->before = (gsrt_deposit){.rank_count = c->rank_count};
    k->is_confirmed = true;
    gsrt_membership_options options = {.rank = rank,
                                       .incarnation = incarnation,
                                       .rank_count = c->rank_count,
                                       .lease_ns = 40 * MS,
                                       .detection_ns = 8 * MS,
                                       .retry_ns = 3 * MS,
                                       .takeover_ns = c->takeover_ns,
                                       .contact_ns = 10 * MS};
    if (gsrt_membership_create(&options, &p->machine) != GSRT_OK)
        abort();
    deliver(c, rank, &(gsrt_membership_event){.kind = GSRT_MEMBERSHIP_BEGIN});
    push(c, (item){.at_ns = c->now_ns + draw(c, 5 * MS), .kind = ITEM_DETECT, .to = rank, .incarnation = incarnation});
}

/* ---- invariants ---- */

static void check_value(cluster *c, uint32_t rank, const gsrt_membership_view *view)
{
    if (view->epoch >= CLUSTER_EPOCHS_MAX) {
        violate(c, "too many epochs", rank, view->epoch);
        return;
    }
    gsrt_membership_view *value = &c->values[view->epoch];
    if (!c->has_value[view->epoch]) {
        c->has_value[view->epoch] = true;
        *value = *view;
    } else if (memcmp(value->incarnations, view->incarnations, c->rank_count * sizeof *view->incarnations) != 0) {
        violate(c, "two values of one epoch", rank, view->epoch);
    }
}

static bool emits(const cluster *c, uint32_t rank)
{
    const process *p = &c->processes[rank];
    return p->machine != NULL && !is_stopped(c, rank) &&
           gsrt_membership_fenced(p->machine, c->now_ns) == GSRT_FENCE_NONE;
}

static void check_all(cluster *c)
{
    const gsrt_membership_view *newest = NULL;
    uint32_t coordinators = 0;
    for (uint32_t rank = 0; rank < c->rank_count; rank++)
        if (emits(c, rank)) {
            const gsrt_membership_view *view = gsrt_membership_installed(c->processes[rank].machine);
            if (newest == NULL || view->epoch > newest->epoch)
                newest = view;
            coordinators += gsrt_membership_coordinator(view) == rank;
        }
    if (coordinators > 1)
        violate(c, "two coordinators emit", 0, newest->epoch);
    for (uint32_t rank = 0; newest != NULL && rank < c->rank_count; rank++)
        if (emits(c, rank) && newest->incarnations[rank] != c->processes[rank].incarnation)
            violate(c, "it emits, and a view that begun without it", rank, newest->epoch);
}

/* ---- what machines order ---- */

static void sent(cluster *c, uint32_t from, uint32_t to, const gsrt_membership_message *message)
{
    gsrt_membership_event event = {.kind = GSRT_MEMBERSHIP_MESSAGE, .message = *message};
    if (!is_joined(c, from, to) || chance(c, c->loss_percent))
        return;
    uint32_t copies = chance(c, 5) ? 2 : 1;
    for (uint32_t i = 0; i < copies; i++)
        push_event(c, MS / 20 + draw(c, MS) + (chance(c, 5) ? draw(c, 30 * MS) : 0), from, to, GSRT_NOT_A_MEMBER,
                   &event);
}

static void act(cluster *c, uint32_t rank, const gsrt_membership_action *action)
{
    process *p = &c->processes[rank];
    keeper *k = &c->keepers[rank];
    gsrt_membership_event event = {0};
    switch (action->kind) {
    case GSRT_MEMBERSHIP_FENCE: p->is_unfenced = false; break;
    case GSRT_MEMBERSHIP_UNFENCE: p->is_unfenced = true; break;
    case GSRT_MEMBERSHIP_END_WORKER:
        if (!chance(c, 10))
            push(c, (item){.at_ns = c->now_ns + MS / 5,
                           .kind = ITEM_ORDER,
                           .to = action->rank,
                           .incarnation = action->incarnation,
                           .from = rank});
        break;
    case GSRT_MEMBERSHIP_DEPOSIT:
        if (!k->is_confirmed)
            violate(c, "a deposit before the last was confirmed", rank, action->deposit.epoch);
        k->before = k->deposit;
        k->deposit = action->deposit;
        k->is_confirmed = false;
        event.kind = GSRT_MEMBERSHIP_DEPOSITED;
        event.epoch = action->deposit.epoch;
        push_event(c, MS / 20 + draw(c, MS / 5), rank, rank, p->incarnation, &event);
        break;
    case GSRT_MEMBERSHIP_SEND:
        if (action->message.type == GSRT_MEMBERSHIP_ACCEPTED &&
            (!k->is_confirmed || k->deposit.ballot != action->message.ballot))
            violate(c, "acknowledged without a deposit", rank, action->message.epoch);
        sent(c, rank, action->rank, &action->message);
        break;
    case GSRT_MEMBERSHIP_INSTALL:
        if (action->view.epoch <= p->epoch)
            violate(c, "epochs go back", rank, action->view.epoch);
        if (k->deposit.epoch < action->view.epoch)
            violate(c, "installed without a deposit", rank, action->view.epoch);
        p->epoch = action->view.epoch;
        check_value(c, rank, &action->view);
        break;
    case GSRT_MEMBERSHIP_EXIT: end_process(c, rank, false); break;
    case GSRT_MEMBERSHIP_TIMER:
        p->timer_ns = action->at_ns;
        push(c, (item){.at_ns = action->at_ns > c->now_ns ? action->at_ns : c->now_ns,
                       .kind = ITEM_TIMER,
                       .to = rank,
                       .incarnation = p->incarnation});
        break;
    }
}

static void digest(cluster *c, uint32_t rank, const gsrt_membership_action *action)
{
    gsrt_buffer_reset(&c->scratch);
    if (gsrt_membership_action_encode(action, &c->scratch) != GSRT_OK)
        abort();
    uint64_t hash = c->result.digest ^ rank;
    for (size_t i = 0; i < c->scratch.len; i++)
        hash = (hash ^ c->scratch.data[i]) * 0x100000001b3u;
    c->result.digest = hash;
}

static void deliver(cluster *c, uint32_t rank, gsrt_membership_event *event)
{
    process *p = &c->processes[rank];
    static const gsrt_membership_action none;
    gsrt_membership_action action = none;
    event->now_ns = c->now_ns;
    c->result.steps++;
    if (gsrt_membership_step(p->machine, event) != GSRT_OK)
        violate(c, "an event was refused", rank, 0);
    if (!gsrt_membership_check(p->machine))
        violate(c, "gsrt_membership_check", rank, p->epoch);
    while (p->machine != NULL && gsrt_membership_poll(p->machine, &action)) {
        digest(c, rank, &action);
        act(c, rank, &action);
        if (p->actions_left != 0 && --p->actions_left == 0)
            end_process(c, rank, false);
    }
    if (p->machine != NULL && p->is_unfenced != (gsrt_membership_fenced(p->machine, c->now_ns) == GSRT_FENCE_NONE))
        violate(c, "what it was told of the fence is not what holds", rank, p->epoch);
    check_all(c);
}

/* ---- the world ---- */

static void order(cluster *c, const item *i)
{
    keeper *k = &c->keepers[i->to];
    if (k->is_lost || !is_joined(c, i->from, i->to)) {
        gsrt_membership_event event = {
            .kind = GSRT_MEMBERSHIP_UNREACHABLE, .rank = i->to, .incarnation = i->incarnation};
        push_event(c, 2 * MS, i->from, i->from, GSRT_NOT_A_MEMBER, &event);
    } else if (c->processes[i->to].machine != NULL && c->processes[i->to].incarnation == i->incarnation) {
        end_process(c, i->to, true);
    } else if (i->incarnation < CLUSTER_INCARNATIONS_MAX && k->has_word[i->incarnation]) {
        say(c, &k->words[i->incarnation], i->from);
    }
}

static void detect(cluster *c, uint32_t rank)
{
    process *p = &c->processes[rank];
    gsrt_membership_view view = *gsrt_membership_installed(p->machine);
    uint32_t incarnation = p->incarnation;
    for (uint32_t peer = 0; peer < c->rank_count && view.epoch != 0; peer++) {
        process *other = &c->processes[peer];
        if (peer == rank || view.incarnations[peer] == GSRT_NOT_A_MEMBER || p->machine == NULL)
            continue;
        bool is_silent = other->machine == NULL || other->incarnation != view.incarnations[peer] ||
                         !is_joined(c, rank, peer) || is_stopped(c, peer);
        bool is_wrong = (c->faults & CLUSTER_SUSPECT_WRONGLY) != 0 && !is_quiet(c) && draw(c, 400) == 0;
        if ((is_silent && p->was_silent[peer]) || is_wrong) {
            gsrt_membership_event event = {
                .kind = GSRT_MEMBERSHIP_SUSPECT, .rank = peer, .incarnation = view.incarnations[peer]};
            deliver(c, rank, &event);
        }
        p->was_silent[peer] = is_silent;
    }
    push(c, (item){.at_ns = c->now_ns + 8 * MS, .kind = ITEM_DETECT, .to = rank, .incarnation = incarnation});
}

static void fault(cluster *c)
{
    uint32_t rank = (uint32_t)draw(c, c->rank_count);
    process *p = &c->processes[rank];
    uint64_t rest_ns = CLUSTER_FAULTS_MS * MS - c->now_ns, until_ns = c->now_ns + draw(c, rest_ns) / 2;
    unsigned kind = 1u << draw(c, 6);
    if ((kind & c->faults) == 0)
        kind = c->faults & (CLUSTER_KILL | CLUSTER_STOP | CLUSTER_PARTITION | CLUSTER_LOSE_HOST);
    if ((kind & CLUSTER_KILL) != 0)
        end_process(c, rank, false);
    else if ((kind & CLUSTER_KILL_IN_ACTION) != 0)
        p->actions_left = 1 + (uint32_t)draw(c, 40);
    else if ((kind & CLUSTER_STOP) != 0)
        p->stopped_until_ns = until_ns;
    else if ((kind & CLUSTER_PARTITION) != 0) {
        for (uint32_t i = 0; i < c->rank_count; i++)
            c->side[i] = (uint32_t)draw(c, 2);
        c->parted_until_ns = until_ns;
    } else if ((kind & CLUSTER_LOSE_HOST) != 0) {
        c->keepers[rank].is_lost = true;
        end_process(c, rank, false);
    }
}

static void happen(cluster *c, item *i)
{
    process *p = &c->processes[i->to];
    bool is_there = p->machine != NULL && (i->incarnation == GSRT_NOT_A_MEMBER || i->incarnation == p->incarnation);
    bool is_for_process = i->kind == ITEM_EVENT || i->kind == ITEM_TIMER || i->kind == ITEM_DETECT;
    if (is_for_process && is_there && is_stopped(c, i->to)) {
        i->at_ns = p->stopped_until_ns;
        push(c, *i);
        return;
    }
    if (is_for_process && is_there && i->kind == ITEM_EVENT) {
        gsrt_membership_event event;
        if (gsrt_membership_event_decode(gsrt_span_of(i->bytes, i->size), &event) != GSRT_OK)
            violate(c, "an event cannot be decoded", i->to, 0);
        if (event.kind == GSRT_MEMBERSHIP_DEPOSITED)
            c->keepers[i->to].is_confirmed = true;
        if (event.kind != GSRT_MEMBERSHIP_MESSAGE || is_joined(c, i->from, i->to))
            deliver(c, i->to, &event);
    } else if (is_there && i->kind == ITEM_TIMER) {
        if (i->at_ns >= p->timer_ns)
            deliver(c, i->to, &(gsrt_membership_event){.kind = GSRT_MEMBERSHIP_TICK});
    } else if (is_there && i->kind == ITEM_DETECT) {
        detect(c, i->to);
    } else if (i->kind == ITEM_START && !c->keepers[i->to].is_lost) {
        start_process(c, i->to, p->incarnation + 1);
    } else if (i->kind == ITEM_ORDER) {
        order(c, i);
    } else if (i->kind == ITEM_FAULT) {
        fault(c);
    }
    free(i->bytes);
}

/* ---- after the last fault ---- */

/* Whether the last view can be followed by another, by what is left of it. */
static bool could_live(cluster *c)
{
    uint32_t last = CLUSTER_EPOCHS_MAX - 1;
    while (last > 0 && !c->has_value[last])
        last--;
    const gsrt_membership_view *view = &c->values[last];
    uint32_t all = 1, alive = 0, lost = 0;
    bool is_known = false, is_lowest = true;
    for (uint32_t rank = 0; rank < c->rank_count; rank++) {
        if (view->incarnations[rank] == GSRT_NOT_A_MEMBER)
            continue;
        process *p = &c->processes[rank];
        uint32_t weight = is_lowest ? 3 : 2;
        is_lowest = false;
        all += 2;
        if (p->machine != NULL && p->incarnation == view->incarnations[rank]) {
            alive += weight;
            is_known = is_known || p->epoch == last;
        } else if (c->keepers[rank].is_lost) {
            lost += weight;
        }
    }
    /* the dead with a keeper are subtracted, and claims may count the words that lost keepers had said */
    uint32_t dead = all - alive - lost;
    return is_known && (lost == 0 ? alive > 0 : 2 * alive > all + lost || 2 * alive > all - dead + 2 * lost);
}

/* All that are alive are in one view, of just them, and may emit; else it says who is not. */
static bool lives(cluster *c, bool is_last_chance)
{
    uint32_t epoch = 0;
    const char *what = NULL;
    for (uint32_t rank = 0; rank < c->rank_count; rank++)
        if (c->processes[rank].machine != NULL && c->processes[rank].epoch > epoch)
            epoch = c->processes[rank].epoch;
    for (uint32_t rank = 0; rank < c->rank_count; rank++) {
        process *p = &c->processes[rank];
        const char *wrong = NULL;
        if (p->machine == NULL)
            wrong =
                epoch != 0 && c->values[epoch].incarnations[rank] != GSRT_NOT_A_MEMBER ? "dead, and a member" : NULL;
        else if (p->epoch != epoch)
            wrong = "not in the last view";
        else if (!emits(c, rank))
            wrong = gsrt_membership_fence_text(gsrt_membership_fenced(p->machine, c->now_ns));
        if (wrong != NULL && is_last_chance)
            violate(c, wrong, rank, p->epoch);
        what = wrong != NULL ? wrong : what;
    }
    return what == NULL;
}

/* When the faults have ended, and restarts are done: whether all is well already. */
static bool is_settled(cluster *c)
{
    return c->now_ns >= (CLUSTER_FAULTS_MS + CLUSTER_RESTARTS_MS) * MS && could_live(c) && lives(c, false);
}

cluster_result cluster_run(uint32_t rank_count, uint64_t seed, unsigned faults, uint32_t fault_count)
{
    cluster *c = calloc(1, sizeof *c);
    if (c == NULL)
        abort();
    c->rank_count = rank_count;
    c->seed = seed;
    c->faults = faults;
    c->loss_percent = 5u << draw(c, 4);
    c->takeover_ns = (1 + draw(c, 12)) * MS;
    gsrt_buffer_init(&c->scratch, 1 << 16);
    for (uint32_t rank = 0; rank < rank_count; rank++)
        start_process(c, rank, 0);
    for (uint32_t i = 0; i < fault_count; i++)
        push(c, (item){.at_ns = 5 * MS + draw(c, (CLUSTER_FAULTS_MS - 20) * MS), .kind = ITEM_FAULT});
    bool is_calm = false, is_done = false;
    while (c->item_count > 0 && c->result.violation[0] == 0 && !is_done) {
        item next = pop(c);
        c->now_ns = next.at_ns;
        if (c->now_ns > (CLUSTER_FAULTS_MS + CLUSTER_BOUND_MS) * MS) {
            free(next.bytes);
            break;
        }
        for (uint32_t rank = 0; !is_calm && is_quiet(c) && rank < rank_count; rank++)
            c->processes[rank].actions_left = 0;
        is_calm = is_quiet(c);
        is_done = next.kind == ITEM_DETECT && is_settled(c);
        happen(c, &next);
    }
    c->result.could_live = could_live(c);
    if (c->result.could_live && c->result.violation[0] == 0 && !is_done)
        lives(c, true);
    for (uint32_t i = 1; i < CLUSTER_EPOCHS_MAX; i++)
        c->result.epoch = c->has_value[i] ? i : c->result.epoch;
    cluster_result result = c->result;
    for (uint32_t i = 0; i < c->item_count; i++)
        free(c->heap[i].bytes);
    for (uint32_t rank = 0; rank < rank_count; rank++)
        c->processes[rank].machine = gsrt_membership_free(c->processes[rank].machine);
    free(c->heap);
    gsrt_buffer_fini(&c->scratch);
    free(c);
    return result;
}
