/* What is lost, why, and who is there: drills, first sights, words, views. */
#include "health/incidents_impl.h"

#include <inttypes.h>
#include <stdio.h>

enum { DRILL_GRACE_MS = 1000 };

static gsrt_incident_fault *find_fault(gsrt_incidents *c, uint32_t rank, uint32_t incarnation,
                                       gsrt__incident_slot **out)
{
    for (uint32_t i = c->count; i > 0; i--) {
        gsrt_incident_fault *fault = gsrt__incident_find(c->slots[i - 1]->incident, rank, incarnation);
        *out = c->slots[i - 1];
        if (fault != NULL)
            return fault;
    }
    *out = NULL;
    return NULL;
}

/* The newest incident that names the rank, whatever its incarnation; GSRT__INCIDENT_NONE. */
static int64_t find_rank(const gsrt_incidents *c, uint32_t rank)
{
    for (uint32_t i = c->count; i > 0; i--) {
        const gsrt_incident *incident = c->slots[i - 1]->incident;
        for (uint32_t k = 0; k < incident->fault_count; k++) {
            if (incident->faults[k].rank == rank)
                return i - 1;
        }
    }
    return GSRT__INCIDENT_NONE;
}

/* The drill that explains a first sight of `rank` now; kind 0: none. One rank's drill happens once; a partition's goes
 * on for others. A drill that nobody saw while it lasted explains nothing later. */
static gsrt_incident_event take_drill(gsrt_incidents *c, uint32_t rank)
{
    gsrt_incident_event found = {0};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->drill_count; i++) {
        const gsrt_incident_event *d = &c->drills[i];
        uint64_t until_ns = d->at_ns + ((uint64_t)d->for_ms + DRILL_GRACE_MS) * 1000000;
        bool is_partition = d->drill == GSRT_INCIDENT_PARTITION;
        bool is_over = d->for_ms > 0 && until_ns < c->now_ns;
        bool is_it = !is_over && (d->rank == rank || (is_partition && (found.kind == 0 || found.rank != rank)));
        if (is_it)
            found = *d;
        if (!is_over && (!is_it || is_partition))
            c->drills[kept++] = *d;
    }
    c->drill_count = kept;
    return found;
}

void gsrt__incidents_drill(gsrt_incidents *c, const gsrt_incident_event *e)
{
    if (c->drill_count == GSRT_INCIDENT_DRILLS_MAX) {
        c->drill_count--;
        memmove(c->drills, c->drills + 1, c->drill_count * sizeof c->drills[0]);
    }
    gsrt_incident_event *d = &c->drills[c->drill_count++];
    *d = *e;
    d->before = d->after = NULL;
    d->text = NULL;
    d->epoch = c->open != GSRT__INCIDENT_NONE && c->has_view ? c->epoch : 0;
    if (d->token == 0) {
        d->request = c->request;
        d->token = c->token;
    }
}

/* The next number; then a step that was abandoned shortly before is its loss. */
static gsrt_status open_incident(gsrt_incidents *c)
{
    uint32_t at, number = c->count == 0 ? 1 : c->slots[c->count - 1]->incident->number + 1;
    gsrt_incident *incident = gsrt__incident_create(number);
    gsrt_status status = incident == NULL ? GSRT_ENOMEM : gsrt__incidents_put(c, incident, &at);
    if (status != GSRT_OK) {
        (void)gsrt_incident_free(incident);
        return status;
    }
    c->open = at;
    c->returning = GSRT__INCIDENT_NONE;
    c->has_view = false;
    c->phase = GSRT_PHASE_AGREEMENT;
    c->since_ns = c->now_ns;
    if (c->abandoned.rows == 0)
        return GSRT_OK;
    incident->lost_rows = c->abandoned.rows;
    status = gsrt__incidents_note(c, c->slots[at], &c->abandoned, "%" PRIu64 " rows in flight", c->abandoned.rows);
    c->abandoned.rows = 0;
    return status;
}

static gsrt_status note_drill(gsrt_incidents *c, gsrt__incident_slot *s, const gsrt_incident_event *d)
{
    const char *kind = gsrt_incident_kind_name(d->drill);
    char place[64] = "before any token";
    if (d->token > 0)
        (void)snprintf(place, sizeof place, "token %" PRIu32 " of request %" PRIu32, d->token, d->request);
    if (d->drill == GSRT_INCIDENT_PARTITION)
        return gsrt__incidents_note(c, s, d, "%s, ordered at %s", kind, place);
    return gsrt__incidents_note(c, s, d, "rank %" PRIu32 " %s, ordered at %s", d->rank, kind, place);
}

/* A fault of the open incident, seen now for the first time; one is opened where there is none. */
static gsrt_status add_fault(gsrt_incidents *c, const gsrt_incident_event *e, gsrt_incident_fault **out,
                             gsrt__incident_slot **out_slot)
{
    gsrt_incident_event d = take_drill(c, e->rank);
    bool is_first = c->open == GSRT__INCIDENT_NONE;
    gsrt_status status = is_first ? open_incident(c) : GSRT_OK;
    if (status != GSRT_OK)
        return status;
    gsrt__incident_slot *s = c->slots[c->open];
    gsrt_incident *incident = s->incident;
    gsrt_incident_fault fault = {.rank = e->rank,
                                 .incarnation = e->incarnation,
                                 .drill = d.drill,
                                 .observer = e->observer,
                                 .proof = GSRT_PROOF_SUSPICION,
                                 .fault_ns = GSRT_INCIDENT_UNKNOWN_NS,
                                 .seen_ns = c->now_ns,
                                 .request = c->request,
                                 .token = c->token,
                                 .view = c->has_view ? c->epoch : 0};
    if (d.kind != 0) {
        fault.fault_ns = d.at_ns;
        fault.for_ms = d.for_ms;
        fault.request = d.request;
        fault.token = d.token;
        fault.view = d.epoch;
    }
    if (incident->fault_count > 0 && fault.seen_ns < incident->faults[incident->fault_count - 1].seen_ns)
        fault.seen_ns = incident->faults[incident->fault_count - 1].seen_ns; /* of a coordinator with a faster clock */
    gsrt__incidents_account(c, is_first ? GSRT_PHASE_DETECTION : c->phase, GSRT_PHASE_AGREEMENT);
    if (is_first && d.kind != 0)
        incident->phase_ns[GSRT_PHASE_DETECTION] = c->now_ns - d.at_ns;
    incident->is_checked = incident->is_restored = false;
    status = gsrt__incident_add_fault(incident, &fault, out);
    *out_slot = s;
    if (status == GSRT_OK && d.kind != 0)
        status = note_drill(c, s, &d);
    return status;
}

/* What is said of (rank, incarnation): a new fault, or more about one that is known. *out NULL: no fault of the group.
 */
static gsrt_status observe(gsrt_incidents *c, const gsrt_incident_event *e, gsrt_incident_detector detector,
                           gsrt_incident_proof proof, gsrt__incident_slot **out_slot)
{
    gsrt_incident_fault *fault = find_fault(c, e->rank, e->incarnation, out_slot);
    /* what becomes of one that the others have gone on without is no cause of it any more */
    bool is_settled = fault != NULL && fault->proof > GSRT_PROOF_SUSPICION &&
                      (c->open == GSRT__INCIDENT_NONE || *out_slot != c->slots[c->open]);
    if (fault == NULL && c->open == GSRT__INCIDENT_NONE && c->epoch > 0 && c->members[e->rank] != e->incarnation) {
        int64_t at = find_rank(c, e->rank); /* one that was not admitted yet has died: nobody waits for it */
        (void)take_drill(c, e->rank);
        *out_slot = at == GSRT__INCIDENT_NONE ? NULL : c->slots[at];
        return GSRT_OK;
    }
    if (fault == NULL) {
        gsrt_status status = add_fault(c, e, &fault, out_slot);
        if (status != GSRT_OK)
            return status;
        fault->detector = detector;
    }
    fault->proof = proof > fault->proof && !is_settled ? proof : fault->proof;
    fault->is_last = fault->is_last || e->is_last;
    (*out_slot)->is_changed = c->has_news = true;
    return GSRT_OK;
}

gsrt_status gsrt__incidents_suspected(gsrt_incidents *c, const gsrt_incident_event *e)
{
    gsrt__incident_slot *s;
    gsrt_status status = observe(c, e, e->detector, GSRT_PROOF_SUSPICION, &s);
    if (status != GSRT_OK)
        return status;
    return gsrt__incidents_note(c, s, e, "rank %" PRIu32 ".%" PRIu32 " by %s%s%s", e->rank, e->incarnation,
                                gsrt_incident_detector_name(e->detector), e->text == NULL ? "" : ": ",
                                e->text == NULL ? "" : e->text);
}

/* A word comes from many: once is enough. */
gsrt_status gsrt__incidents_word(gsrt_incidents *c, const gsrt_incident_event *e)
{
    gsrt__incident_slot *s;
    const gsrt_incident_fault *known = find_fault(c, e->rank, e->incarnation, &s);
    gsrt_incident_proof proof = e->was_ordered ? GSRT_PROOF_ENDED : GSRT_PROOF_DIED;
    if (known != NULL && known->proof >= GSRT_PROOF_ENDED && (known->is_last || !e->is_last))
        return GSRT_OK;
    gsrt_status status = observe(c, e, GSRT_DETECTOR_KEEPER, proof, &s);
    if (status != GSRT_OK)
        return status;
    return gsrt__incidents_note(c, s, e, "rank %" PRIu32 ".%" PRIu32 " %s%s", e->rank, e->incarnation,
                                e->was_ordered ? "was ended by order" : "died by itself",
                                e->is_last ? "; no next incarnation comes" : "");
}

gsrt_status gsrt__incidents_unreachable(gsrt_incidents *c, const gsrt_incident_event *e)
{
    gsrt__incident_slot *s;
    const gsrt_incident_fault *known = find_fault(c, e->rank, e->incarnation, &s);
    if (known != NULL && known->proof >= GSRT_PROOF_UNREACHABLE)
        return GSRT_OK;
    gsrt_status status = observe(c, e, GSRT_DETECTOR_KEEPER, GSRT_PROOF_UNREACHABLE, &s);
    if (status != GSRT_OK)
        return status;
    return gsrt__incidents_note(c, s, e, "the keeper of rank %" PRIu32 ".%" PRIu32 " does not answer", e->rank,
                                e->incarnation);
}

/* ---- views ---- */

/* `rank` is back: where nothing is open, that belongs to the recovered incident that had lost it. */
static void begin_return(gsrt_incidents *c, uint32_t rank)
{
    int64_t at = find_rank(c, rank);
    if (c->open != GSRT__INCIDENT_NONE || c->returning != GSRT__INCIDENT_NONE || at == GSRT__INCIDENT_NONE ||
        c->slots[at]->incident->state != GSRT_INCIDENT_RECOVERED)
        return;
    c->returning = at;
    c->has_return_started = false;
    c->since_ns = c->now_ns;
}

gsrt_status gsrt__incidents_joined(gsrt_incidents *c, const gsrt_incident_event *e)
{
    if (e->incarnation <= c->joined[e->rank])
        return GSRT_OK; /* it asks again */
    c->joined[e->rank] = e->incarnation;
    begin_return(c, e->rank);
    if (c->open != GSRT__INCIDENT_NONE && c->phase == GSRT_PHASE_AGREEMENT)
        gsrt__incidents_account(c, GSRT_PHASE_RESTART, GSRT_PHASE_AGREEMENT); /* the view had waited for it */
    return gsrt__incidents_note(c, gsrt__incidents_target(c), e, "rank %" PRIu32 ".%" PRIu32, e->rank, e->incarnation);
}

/* "; without 1.0 2.0" or "; with 3.1"; cut where the text of an entry ends. */
static int print_changes(char *text, size_t room, const char *what, uint32_t rank_count, const uint32_t *old,
                         const uint32_t *new)
{
    int len = 0;
    for (uint32_t rank = 0; rank < rank_count && (size_t)len < room; rank++) {
        if (new[rank] == GSRT_NOT_A_MEMBER || new[rank] == old[rank])
            continue;
        len +=
            snprintf(text + len, room - (size_t)len, "%s %" PRIu32 ".%" PRIu32, len == 0 ? what : "", rank, new[rank]);
    }
    return (size_t)len < room ? len : (int)room - 1;
}

static gsrt_status note_view(gsrt_incidents *c, const gsrt_incident_event *e)
{
    char text[GSRT_INCIDENT_TEXT_BYTES] = "";
    uint32_t member_count = 0;
    for (uint32_t rank = 0; rank < e->rank_count; rank++)
        member_count += e->after[rank] != GSRT_NOT_A_MEMBER ? 1 : 0;
    int len = print_changes(text, sizeof text, "; without", e->rank_count, e->after, e->before);
    (void)print_changes(text + len, sizeof text - (size_t)len, "; with", e->rank_count, e->before, e->after);
    return gsrt__incidents_note(c, gsrt__incidents_target(c), e, "view %" PRIu32 ", %" PRIu32 " members%s", e->epoch,
                                member_count, text);
}

gsrt_status gsrt__incidents_view(gsrt_incidents *c, const gsrt_incident_event *e)
{
    gsrt_status status = GSRT_OK;
    gsrt__incident_slot *s;
    for (uint32_t rank = 0; rank < e->rank_count && status == GSRT_OK; rank++) {
        gsrt_incident_event lost = *e;
        lost.rank = rank;
        lost.incarnation = e->before[rank];
        if (e->before[rank] != GSRT_NOT_A_MEMBER && e->before[rank] != e->after[rank])
            status = observe(c, &lost, GSRT_DETECTOR_VIEW, GSRT_PROOF_LEFT_OUT, &s);
    }
    for (uint32_t rank = 0; rank < e->rank_count; rank++) {
        if (e->after[rank] != GSRT_NOT_A_MEMBER && e->before[rank] != e->after[rank])
            begin_return(c, rank);
    }
    memset(c->members, 0xff, sizeof c->members);
    memcpy(c->members, e->after, e->rank_count * sizeof e->after[0]);
    c->epoch = e->epoch;
    if (c->open != GSRT__INCIDENT_NONE) {
        gsrt__incidents_account(c, c->phase, GSRT_PHASE_RESTART);
        c->has_view = true;
    }
    return status == GSRT_OK ? note_view(c, e) : status;
}
