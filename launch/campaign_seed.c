#include "launch/campaign_seed.h"

#include "launch/interrupt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_PER_LOOK = 10000, ROUNDS_TO_SETTLE = 64 };

static const uint64_t ms = 1000000;

typedef struct seed_run {
    const gsrt_campaign_base *base;
    gsrt_options options;
    gsrt_twin_job job;
    gsrt_campaign campaign;
    gsrt_witness witness;
    bool is_keeper_killed[GSRT_RANK_COUNT_MAX];
    bool is_killed[GSRT_RANK_COUNT_MAX]; /* some incarnation of it, by a fault */
    gsrt_campaign_result *out;
} seed_run;

/* ---- the run without faults ---- */

static gsrt_status run_plainly(gsrt_campaign_base *base, gsrt_twin_job *job)
{
    gsrt_status status = gsrt_twin_job_prepare(job);
    if (status != GSRT_OK)
        return status;
    gsrt_scenario *scenario = job->scenario;
    base->seed_first = scenario->twin_seed;
    base->fault_count = scenario->fault_count;
    base->rank_count = job->rank_count;
    (void)snprintf(base->name, sizeof base->name, "%s", scenario->name);
    scenario->twin_seed = 0; /* whatever seed it is for: the same run */
    scenario->fault_count = 0;
    scenario->is_verifying = scenario->is_numeric_in_twin = true;
    status = gsrt_twin_job_start(job);
    if (status != GSRT_OK)
        return status;
    do
        status = gsrt_twin_run(job->twin, UINT64_MAX, EVENTS_PER_LOOK);
    while (status == GSRT_ELIMIT && !gsrt_interrupt_is_set());
    base->exit_code = gsrt_twin_job_conclude(job, status);
    gsrt_seat *leader = gsrt_twin_job_leader(job);
    if (base->exit_code != 0 || leader == NULL)
        return base->exit_code == 4 ? GSRT_ECONTRACT : GSRT_EPEER;
    base->begin_ns = leader->outcome.ready_ns;
    base->end_ns = leader->outcome.done_ns;
    return gsrt_campaign_answers_init(&base->answers, &leader->outcome.answers);
}

gsrt_status gsrt_campaign_base_init(gsrt_campaign_base *base, const gsrt_options *options,
                                    const gsrt_terminal_options *terminal, const char *directory, gsrt_diag *diag)
{
    *base = (gsrt_campaign_base){.options = options, .terminal = terminal};
    gsrt_options plain = *options;
    plain.directory = directory;
    gsrt_twin_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return GSRT_ENOMEM;
    job->options = &plain;
    job->watch.terminal = terminal;
    gsrt_status status = run_plainly(base, job);
    if (status != GSRT_OK && job->diag.status != GSRT_OK)
        *diag = job->diag;
    else if (status != GSRT_OK)
        status = gsrt_diag_set(diag, status, options->scenario, NULL, "the run without faults does not end well: %s",
                               gsrt_status_text(status));
    gsrt_twin_job_fini(job);
    free(job);
    return status;
}

void gsrt_campaign_base_fini(gsrt_campaign_base *base)
{
    gsrt_campaign_answers_fini(&base->answers);
}

/* ---- watching ---- */

static void on_token(void *arg, const gsrt_seat *seat, const gsrt_msg_token *token, bool is_new)
{
    gsrt_witness_token(&((seed_run *)arg)->witness, seat, token, is_new);
}

static bool may_emit(const gsrt_twin_rank *t)
{
    if (!t->is_started || t->seat.member.machine == NULL)
        return false;
    const gsrt_membership_view *view = gsrt_membership_installed(t->seat.member.machine);
    return gsrt_membership_coordinator(view) == gsrt_node_rank(t->seat.node) &&
           gsrt_member_fenced(&t->seat.member, gsrt_node_now_ns(t->seat.node)) == GSRT_FENCE_NONE;
}

/* 13. Told when another one may emit. */
static void check_leaders(seed_run *s)
{
    uint32_t leader = GSRT_NOT_A_MEMBER;
    for (uint32_t rank = 0; rank < s->job.rank_count; rank++) {
        if (!may_emit(&s->job.ranks[rank]))
            continue;
        if (leader != GSRT_NOT_A_MEMBER)
            gsrt_witness_note(&s->witness, "rank %u and rank %u lead, and both may emit", leader, rank);
        leader = rank;
    }
}

static void on_membership(void *arg, const gsrt_seat *seat, const gsrt_membership_action *action)
{
    seed_run *s = arg;
    gsrt_witness_membership(&s->witness, seat, action);
    if (action->kind == GSRT_MEMBERSHIP_UNFENCE)
        check_leaders(s);
}

static void on_message(void *arg, const gsrt_seat *seat, const gsrt_envelope *envelope)
{
    gsrt_witness_message(&((seed_run *)arg)->witness, seat, envelope);
}

static gsrt_status set_link_faults(const seed_run *s)
{
    gsrt_status status = GSRT_OK;
    const gsrt_campaign *c = &s->campaign;
    gsrt_twin_link slow = {.latency_ns = (uint64_t)((double)c->slow_ns / (1 + c->jitter)),
                           .bytes_per_ns = s->job.scenario->link.bandwidth_gbps / 8};
    for (uint32_t from = 0; from < s->job.rank_count; from++) {
        for (uint32_t to = 0; to < s->job.rank_count && status == GSRT_OK; to++) {
            if (gsrt_campaign_is_slow(c, from, to))
                gsrt_twin_set_link(s->job.twin, from, to, &slow);
            status = gsrt_twin_set_link_faults(s->job.twin, from, to, &c->link);
        }
    }
    return status;
}

static gsrt_status run_until(const seed_run *s, uint64_t until_ns)
{
    gsrt_status status;
    do
        status = gsrt_twin_run(s->job.twin, until_ns, EVENTS_PER_LOOK);
    while (status == GSRT_ELIMIT && !gsrt_interrupt_is_set());
    return status;
}

/* Until it has ended, or has emitted nothing for the time that a recovery may take. As gsrt_twin_run. */
static gsrt_status run_on(const seed_run *s)
{
    gsrt_status status;
    uint64_t before;
    do {
        before = s->witness.taken_count;
        status = run_until(s, gsrt_twin_now_ns(s->job.twin) + GSRT_CAMPAIGN_PROGRESS_MS * ms);
    } while (status == GSRT_ETIMEDOUT && s->witness.taken_count > before);
    return status;
}

/* The whole run, each fault at its time. As gsrt_twin_run. */
static gsrt_status run_through(seed_run *s)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < s->campaign.fault_count; i++) {
        const gsrt_campaign_fault *fault = &s->campaign.faults[i];
        status = run_until(s, fault->at_ns);
        if (status == GSRT_OK || status == GSRT_ENOMEM)
            return status; /* it was over before */
        if (fault->kind == GSRT_CAMPAIGN_KEEPER)
            s->is_keeper_killed[fault->rank] = true;
        s->is_killed[fault->rank] |= fault->kind == GSRT_CAMPAIGN_KEEPER || fault->kind == GSRT_CAMPAIGN_KILL;
        gsrt_campaign_do(fault, s->job.twin);
        s->out->fault_counts[fault->kind] += 1;
    }
    status = run_until(s, s->campaign.quiet_ns);
    return status == GSRT_ETIMEDOUT ? run_on(s) : status;
}

/* ---- 8: is there really no quorum ---- */

static const gsrt_membership_view *last_view(const seed_run *s)
{
    const gsrt_membership_view *last = NULL;
    for (uint32_t rank = 0; rank < s->job.rank_count; rank++) {
        const gsrt_twin_rank *t = &s->job.ranks[rank];
        if (!t->is_started || t->seat.member.machine == NULL)
            continue;
        const gsrt_membership_view *view = gsrt_membership_installed(t->seat.member.machine);
        if (view->epoch > 0 && (last == NULL || view->epoch > last->epoch))
            last = view;
    }
    return last;
}

/* Nobody has a view any more: the members of the last one must have been killed, and not have ended one another. */
static bool is_everybody_killed(const seed_run *s, char *why, size_t why_bytes)
{
    const gsrt_membership_view *last = NULL;
    for (uint32_t i = 0; i < s->witness.view_count; i++) {
        if (last == NULL || s->witness.views[i].epoch > last->epoch)
            last = &s->witness.views[i];
    }
    for (uint32_t rank = 0; last != NULL && rank < last->rank_count; rank++) {
        if (last->incarnations[rank] == GSRT_NOT_A_MEMBER || s->is_killed[rank])
            continue;
        (void)snprintf(why, why_bytes, "nobody of view %u is left, and nobody has killed rank %u", last->epoch, rank);
        return false;
    }
    (void)snprintf(why, why_bytes, "every member of the last view was killed");
    return true;
}

/* Of those of the last view whose death is not certain, the living are no majority (weights: membership_view.c). */
static bool lacks_quorum(const seed_run *s, char *why, size_t why_bytes)
{
    const gsrt_membership_view *view = last_view(s);
    uint32_t living = 0, uncertain = 0, living_weight = 0, weight = 0;
    bool is_lowest = true;
    if (view == NULL)
        return is_everybody_killed(s, why, why_bytes);
    for (uint32_t rank = 0; rank < view->rank_count; rank++) {
        const gsrt_twin_rank *t = &s->job.ranks[rank];
        if (view->incarnations[rank] == GSRT_NOT_A_MEMBER)
            continue;
        uint32_t own = is_lowest ? 3 : 2;
        is_lowest = false;
        if (t->is_started && t->seat.options.incarnation == view->incarnations[rank]) {
            living += 1;
            living_weight += own;
        } else if (s->is_keeper_killed[rank]) {
            uncertain += 1;
        } else {
            continue;
        }
        weight += own;
    }
    (void)snprintf(why, why_bytes, "view %u: %u live, %u lost with their keepers", view->epoch, living, uncertain);
    return 2 * living_weight <= weight;
}

/* ---- 10 and 11: what is left ---- */

/* Actors that this rank has by its own account; the gateway's scheduler may have ended or not begun. */
static uint32_t actors_of(const gsrt_rank *r)
{
    uint32_t count = 2; /* root and member */
    count += r->replica_actor != GSRT_NOBODY;
    count += r->device.actor != GSRT_NOBODY;
    count += r->region != GSRT_NOBODY;
    count += r->gateway != GSRT_NOBODY;
    for (uint32_t peer = 0; peer < gsrt_node_rank_count(r->node); peer++)
        count += r->link_actors[peer] != GSRT_NOBODY;
    return count;
}

static void check_node(seed_run *s, uint32_t rank)
{
    gsrt_node *node = gsrt_twin_node(s->job.twin, rank);
    const gsrt_twin_rank *t = &s->job.ranks[rank];
    gsrt_node_facts facts;
    if (node == NULL || !t->is_started)
        return;
    gsrt_node_read_facts(node, &facts);
    if (facts.inbox_bytes_max > s->out->inbox_bytes_max)
        s->out->inbox_bytes_max = facts.inbox_bytes_max;
    /* orders to end that were under way when the node finished */
    for (int i = 0; i < ROUNDS_TO_SETTLE && gsrt_node_step(node) > 0; i++)
        ;
    gsrt_node_read_facts(node, &facts);
    uint32_t known = actors_of(&t->seat.rank), scheduler = t->seat.rank.gateway != GSRT_NOBODY;
    if (facts.actor_count > known + scheduler || facts.actor_count < known)
        gsrt_witness_note(&s->witness, "rank %u has %u actors at its end, %u of them belong to view %u", rank,
                          facts.actor_count, known + scheduler, t->seat.rank.epoch);
}

static void check_memory(seed_run *s)
{
    uint32_t pairs = s->job.rank_count * s->job.rank_count;
    s->out->waiting_max = gsrt_twin_waiting_max(s->job.twin);
    if (s->out->waiting_max > GSRT_CAMPAIGN_WAITING_MAX * pairs)
        gsrt_witness_note(&s->witness, "%u events of the twin waited at once; at most %u are expected",
                          s->out->waiting_max, GSRT_CAMPAIGN_WAITING_MAX * pairs);
    if (s->out->inbox_bytes_max > GSRT_CAMPAIGN_INBOX_BYTES_MAX)
        gsrt_witness_note(&s->witness, "%llu bytes waited in the inboxes of one node; at most %d are expected",
                          (unsigned long long)s->out->inbox_bytes_max, GSRT_CAMPAIGN_INBOX_BYTES_MAX);
}

/* ---- 12: the incidents ---- */

/* When the drawn fault began that this is the sight of; GSRT_INCIDENT_UNKNOWN_NS: none was drawn for it. */
static uint64_t begin_of(const seed_run *s, const gsrt_incident_fault *seen)
{
    uint64_t begin_ns = GSRT_INCIDENT_UNKNOWN_NS;
    for (uint32_t i = 0; i < s->campaign.fault_count; i++) {
        const gsrt_campaign_fault *fault = &s->campaign.faults[i];
        bool is_of_rank = fault->kind == GSRT_CAMPAIGN_PARTITION || fault->rank == seen->rank;
        if (is_of_rank && fault->kind != GSRT_CAMPAIGN_SLOW && fault->at_ns <= seen->seen_ns)
            begin_ns = fault->at_ns;
    }
    return begin_ns;
}

static uint32_t us(uint64_t ns)
{
    return ns / 1000 > UINT32_MAX ? UINT32_MAX : (uint32_t)(ns / 1000);
}

static void keep_recovery(seed_run *s, const gsrt_incident *incident)
{
    const gsrt_incident_fault *first = &incident->faults[0];
    uint64_t total_ns = gsrt_incident_recovery_ns(incident), late_ns = 0;
    if (incident->state != GSRT_INCIDENT_RECOVERED || total_ns == GSRT_INCIDENT_UNKNOWN_NS)
        return;
    s->out->method_counts[incident->method] += 1;
    if (s->out->recovery_count == GSRT_CAMPAIGN_RECOVERIES_MAX)
        return;
    uint64_t begin_ns = first->fault_ns == GSRT_INCIDENT_UNKNOWN_NS ? begin_of(s, first) : first->seen_ns;
    if (begin_ns != GSRT_INCIDENT_UNKNOWN_NS)
        late_ns = first->seen_ns - begin_ns;
    gsrt_campaign_recovery *out = &s->out->recoveries[s->out->recovery_count++];
    for (int phase = 0; phase < GSRT_PHASE_COUNT; phase++)
        out->phase_us[phase] = us(incident->phase_ns[phase] + (phase == GSRT_PHASE_DETECTION ? late_ns : 0));
    out->total_us = us(total_ns + late_ns);
}

static void read_incidents(seed_run *s, const gsrt_incidents *incidents)
{
    s->out->incident_count = gsrt_incidents_count(incidents);
    if (!gsrt_incidents_check(incidents))
        gsrt_witness_note(&s->witness, "the incidents do not hold together (gsrt_incidents_check)");
    for (uint32_t i = 0; i < s->out->incident_count; i++) {
        const gsrt_incident *incident = gsrt_incidents_at(incidents, i);
        if (incident->lost_tokens > 0)
            gsrt_witness_note(&s->witness, "incident %u says that %llu tokens were lost", incident->number,
                              (unsigned long long)incident->lost_tokens);
        keep_recovery(s, incident);
    }
}

/* ---- the verdict ---- */

static void judge(seed_run *s, gsrt_status status, int exit_code)
{
    gsrt_twin_job *job = &s->job;
    gsrt_seat *leader = gsrt_twin_job_leader(job);
    char text[160] = "";
    if (status == GSRT_ETIMEDOUT)
        gsrt_witness_note(&s->witness, "it neither ended nor emitted anything for %d ms, and no fault was going on",
                          GSRT_CAMPAIGN_PROGRESS_MS);
    else if (status != GSRT_OK)
        gsrt_witness_note(&s->witness, "the twin stands still: %s", gsrt_status_text(status));
    else if (job->is_concluded && exit_code == 0 && leader != NULL)
        gsrt_witness_complete(&s->witness, leader);
    else if (exit_code != 5 || !lacks_quorum(s, text, sizeof text))
        gsrt_witness_note(&s->witness, "it ended with %d: %s (%s)", exit_code,
                          job->diag.status == GSRT_OK ? "no reason given" : job->diag.text, text);
    for (uint32_t rank = 0; rank < job->rank_count; rank++)
        check_node(s, rank);
    check_memory(s);
    if (leader != NULL && leader->healing.incidents != NULL)
        read_incidents(s, leader->healing.incidents);
    s->out->end = s->witness.breach[0] != 0             ? GSRT_CAMPAIGN_BROKEN
                  : job->is_concluded && exit_code == 0 ? GSRT_CAMPAIGN_COMPLETE
                                                        : GSRT_CAMPAIGN_NO_QUORUM;
    (void)snprintf(s->out->why, sizeof s->out->why, "%s", s->witness.breach[0] != 0 ? s->witness.breach : text);
}

static gsrt_status prepare(seed_run *s, uint64_t seed, const char *directory)
{
    gsrt_status status = gsrt_witness_init(&s->witness, &s->base->answers);
    s->options = *s->base->options;
    s->options.directory = directory;
    s->options.is_quiet = true;
    s->job.options = &s->options;
    s->job.watch = (gsrt_twin_watch){.arg = s,
                                     .terminal = s->base->terminal,
                                     .on_token = on_token,
                                     .on_membership = on_membership,
                                     .on_message = on_message};
    if (status == GSRT_OK)
        status = gsrt_twin_job_prepare(&s->job);
    if (status != GSRT_OK)
        return status;
    gsrt_campaign_draw(seed, s->job.rank_count, s->base->begin_ns, s->base->end_ns, &s->campaign);
    s->job.watch.jitter = s->campaign.jitter;
    for (uint32_t i = 0; i < s->job.scenario->fault_count; i++) {
        const gsrt_fault *fault = &s->job.scenario->faults[i];
        s->is_killed[fault->rank] |= fault->kind == GSRT_FAULT_KILL;
    }
    s->job.scenario->twin_seed = seed;
    s->job.scenario->is_verifying = false; /* the witness knows the reference already */
    s->job.scenario->is_numeric_in_twin = true;
    status = gsrt_twin_job_start(&s->job);
    return status == GSRT_OK ? set_link_faults(s) : status;
}

void gsrt_campaign_run_seed(const gsrt_campaign_base *base, uint64_t seed, const char *directory,
                            gsrt_campaign_result *out)
{
    *out = (gsrt_campaign_result){.seed = seed, .end = GSRT_CAMPAIGN_BROKEN};
    seed_run *s = calloc(1, sizeof *s);
    if (s == NULL) {
        (void)snprintf(out->why, sizeof out->why, "%s", gsrt_status_text(GSRT_ENOMEM));
        return;
    }
    s->base = base;
    s->out = out;
    gsrt_status status = prepare(s, seed, directory);
    if (status == GSRT_OK) {
        status = run_through(s);
        out->virtual_ns = gsrt_twin_now_ns(s->job.twin);
        out->event_count = gsrt_twin_event_count(s->job.twin);
        out->digest = gsrt_twin_digest(s->job.twin);
        out->after_quiet_ns = (int64_t)out->virtual_ns - (int64_t)s->campaign.quiet_ns;
        judge(s, status, gsrt_twin_job_conclude(&s->job, status));
    } else {
        (void)snprintf(out->why, sizeof out->why, "it cannot start: %.200s",
                       s->job.diag.status == GSRT_OK ? gsrt_status_text(status) : s->job.diag.text);
    }
    gsrt_twin_job_fini(&s->job);
    gsrt_witness_fini(&s->witness);
    free(s);
}
