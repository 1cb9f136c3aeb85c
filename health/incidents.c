/* The time to recovery is kept as a running sum for each phase: each event that ends a phase adds what has passed since
 * the last such event. So the phases add up to the total whatever order things come in, and a further fault only means
 * that the phases begin again. */
#include "health/incidents_impl.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT_MAX ((uint64_t)GSRT_REQUEST_COUNT_MAX * GSRT_CONTEXT_MAX) /* rows or tokens of one event */

gsrt_incidents *gsrt_incidents_create(uint32_t request_count)
{
    gsrt_incidents *c = request_count > GSRT_REQUEST_COUNT_MAX ? NULL : calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->open = c->returning = GSRT__INCIDENT_NONE;
    c->request_count = request_count;
    c->emitted = calloc(request_count == 0 ? 1 : request_count, sizeof *c->emitted);
    return c->emitted == NULL ? gsrt_incidents_free(c) : c;
}

gsrt_incidents *gsrt_incidents_free(gsrt_incidents *c)
{
    if (c == NULL)
        return NULL;
    for (uint32_t i = 0; i < c->count; i++) {
        (void)gsrt_incident_free(c->slots[i]->incident);
        free(c->slots[i]);
    }
    free(c->slots);
    free(c->emitted);
    free(c);
    return NULL;
}

/* Put in by its number; the incident is taken on GSRT_OK. */
gsrt_status gsrt__incidents_put(gsrt_incidents *c, gsrt_incident *incident, uint32_t *out_index)
{
    if (c->count >= GSRT_INCIDENT_COUNT_MAX || incident->number > GSRT_INCIDENT_COUNT_MAX)
        return GSRT_ELIMIT;
    if (c->count == c->capacity) {
        uint32_t capacity = c->capacity == 0 ? 8 : 2 * c->capacity;
        gsrt__incident_slot **slots = realloc(c->slots, capacity * sizeof(gsrt__incident_slot *));
        if (slots == NULL)
            return GSRT_ENOMEM;
        c->slots = slots;
        c->capacity = capacity;
    }
    gsrt__incident_slot *made = calloc(1, sizeof *made);
    if (made == NULL)
        return GSRT_ENOMEM;
    made->incident = incident;
    uint32_t at = c->count++;
    for (; at > 0 && c->slots[at - 1]->incident->number > incident->number; at--)
        c->slots[at] = c->slots[at - 1];
    c->slots[at] = made;
    c->open += c->open >= (int64_t)at ? 1 : 0;
    *out_index = at;
    return GSRT_OK;
}

gsrt_status gsrt_incidents_adopt(gsrt_incidents *c, gsrt_incident *incident)
{
    bool is_open = incident->state == GSRT_INCIDENT_OPEN;
    uint32_t at;
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->slots[i]->incident->number == incident->number)
            return GSRT_EINVAL;
    }
    if ((is_open && c->open != GSRT__INCIDENT_NONE) || incident->fault_count == 0)
        return GSRT_EINVAL;
    gsrt_status status = gsrt__incidents_put(c, incident, &at);
    if (status != GSRT_OK)
        return status;
    memset(c->slots[at]->is_fault_told, 1, incident->fault_count);
    c->slots[at]->is_end_told = !is_open;
    if (is_open) { /* whoever had coordinated it is gone: a new view is agreed upon since its last sign */
        uint32_t entry_count = incident->entry_count;
        c->open = at;
        c->phase = GSRT_PHASE_AGREEMENT;
        c->has_view = false;
        for (uint32_t i = 0; i < entry_count; i++)
            c->has_view = c->has_view || incident->timeline[i].what == GSRT_INCIDENT_VIEW;
        c->since_ns = entry_count > 0 ? incident->timeline[entry_count - 1].at_ns : incident->faults[0].seen_ns;
    }
    return GSRT_OK;
}

gsrt_status gsrt_incidents_emitted(gsrt_incidents *c, uint32_t request, uint32_t token_count)
{
    if (request >= c->request_count)
        return GSRT_EINVAL;
    if (token_count > c->emitted[request]) {
        c->emitted[request] = c->token = token_count;
        c->request = request;
    }
    return GSRT_OK;
}

/* ---- the parts of a step ---- */

static bool is_valid(const gsrt_incidents *c, const gsrt_incident_event *e)
{
    bool is_partition = e->kind == GSRT_INCIDENT_DRILL && e->drill == GSRT_INCIDENT_PARTITION;
    bool has_place = e->kind == GSRT_INCIDENT_TOKEN || e->kind == GSRT_INCIDENT_RESTORED || e->token > 0;
    if (gsrt_incident_event_name(e->kind) == NULL || e->at_ns > GSRT__INCIDENT_NS_MAX ||
        e->observer >= GSRT_RANK_COUNT_MAX || (e->rank >= GSRT_RANK_COUNT_MAX && !is_partition) ||
        e->incarnation == UINT32_MAX || e->rows > COUNT_MAX || e->recomputed > COUNT_MAX)
        return false;
    if (has_place && (e->request >= c->request_count || e->token == 0 || e->token > GSRT_CONTEXT_MAX))
        return false;
    if (e->kind == GSRT_INCIDENT_DRILL)
        return is_partition || e->drill == GSRT_INCIDENT_KILLED || e->drill == GSRT_INCIDENT_STOPPED ||
               e->drill == GSRT_INCIDENT_VIOLATED;
    if (e->kind == GSRT_INCIDENT_SUSPECTED)
        return gsrt_incident_detector_name(e->detector) != NULL;
    if (e->kind == GSRT_INCIDENT_VIEW)
        return e->epoch > 0 && e->rank_count <= GSRT_RANK_COUNT_MAX && e->before != NULL && e->after != NULL;
    if (e->kind == GSRT_INCIDENT_CONSIDERED)
        return gsrt_incident_method_name(e->method) != NULL &&
               (e->predicted_ns <= GSRT__INCIDENT_NS_MAX || e->predicted_ns == GSRT_INCIDENT_UNKNOWN_NS);
    return true;
}

/* The one that what happens belongs to: open or returning; NULL. */
gsrt__incident_slot *gsrt__incidents_target(gsrt_incidents *c)
{
    int64_t at = c->open != GSRT__INCIDENT_NONE ? c->open : c->returning;
    return at == GSRT__INCIDENT_NONE ? NULL : c->slots[at];
}

/* An entry of the timeline; s NULL: nothing. */
gsrt_status gsrt__incidents_note(gsrt_incidents *c, gsrt__incident_slot *s, const gsrt_incident_event *e,
                                 const char *format, ...)
{
    char text[2 * GSRT_INCIDENT_TEXT_BYTES];
    gsrt_incident_entry entry = {.at_ns = e->at_ns, .rank = e->observer, .what = e->kind};
    if (s == NULL)
        return GSRT_OK;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gsrt__incident_text(entry.detail, text);
    s->is_changed = c->has_news = true;
    return gsrt__incident_add_entry(s->incident, &entry);
}

static uint64_t passed_ns(const gsrt_incidents *c)
{
    return c->now_ns > c->since_ns ? c->now_ns - c->since_ns : 0;
}

/* What has passed since the last change belongs to `phase`; then `next` goes on. Of the open one. */
void gsrt__incidents_account(gsrt_incidents *c, gsrt_incident_phase phase, gsrt_incident_phase next)
{
    uint64_t *sum_ns = &c->slots[c->open]->incident->phase_ns[phase];
    *sum_ns = gsrt__incident_sum(*sum_ns, passed_ns(c), GSRT__INCIDENT_NS_MAX);
    c->since_ns = c->now_ns;
    c->phase = next;
}

static void end_open(gsrt_incidents *c, gsrt_incident_state state)
{
    gsrt__incidents_account(c, c->phase, c->phase);
    c->slots[c->open]->incident->state = state;
    c->slots[c->open]->is_changed = c->has_news = true;
    c->open = GSRT__INCIDENT_NONE;
}

static void end_return(gsrt_incidents *c)
{
    uint64_t *sum_ns = &c->slots[c->returning]->incident->return_ns;
    *sum_ns = gsrt__incident_sum(*sum_ns, passed_ns(c), GSRT__INCIDENT_NS_MAX);
    c->returning = GSRT__INCIDENT_NONE;
}

/* ---- the way back ---- */

static gsrt_status on_considered(gsrt_incidents *c, const gsrt_incident_event *e)
{
    gsrt__incident_slot *s = gsrt__incidents_target(c);
    gsrt_incident_way way = {
        .method = e->method, .view = e->epoch, .predicted_ns = e->predicted_ns, .is_chosen = e->is_chosen};
    char predicted[64] = "not predicted";
    if (s == NULL)
        return GSRT_OK;
    if (way.predicted_ns != GSRT_INCIDENT_UNKNOWN_NS) {
        way.predicted_ns -= way.predicted_ns % GSRT__INCIDENT_US_NS;
        (void)snprintf(predicted, sizeof predicted, "predicted %.1f ms", (double)way.predicted_ns / 1e6);
    }
    gsrt__incident_text(way.why, e->text);
    if (way.is_chosen && c->open != GSRT__INCIDENT_NONE)
        s->incident->method = way.method;
    gsrt_status status = gsrt__incident_add_way(s->incident, &way);
    if (status != GSRT_OK)
        return status;
    return gsrt__incidents_note(c, s, e, "%s, %s, %s: %s", gsrt_incident_method_name(way.method), predicted,
                                way.is_chosen ? "chosen" : "not chosen", way.why);
}

static gsrt_status on_abandoned(gsrt_incidents *c, const gsrt_incident_event *e)
{
    gsrt__incident_slot *s = gsrt__incidents_target(c);
    if (s == NULL) {
        uint64_t rows = gsrt__incident_sum(c->abandoned.rows, e->rows, GSRT__INCIDENT_TOTAL_MAX);
        c->abandoned = *e;
        c->abandoned.rows = rows;
        return GSRT_OK;
    }
    s->incident->lost_rows = gsrt__incident_sum(s->incident->lost_rows, e->rows, GSRT__INCIDENT_TOTAL_MAX);
    return gsrt__incidents_note(c, s, e, "%" PRIu64 " rows in flight", e->rows);
}

static gsrt_status on_started(gsrt_incidents *c, const gsrt_incident_event *e)
{
    if (c->open != GSRT__INCIDENT_NONE)
        gsrt__incidents_account(c, c->phase, GSRT_PHASE_RESTORING);
    else
        c->has_return_started = c->returning != GSRT__INCIDENT_NONE;
    return gsrt__incidents_note(c, gsrt__incidents_target(c), e, "view %" PRIu32, e->epoch);
}

static gsrt_status on_ready(gsrt_incidents *c, const gsrt_incident_event *e)
{
    gsrt_status status =
        gsrt__incidents_note(c, gsrt__incidents_target(c), e, "%s", e->is_idle ? "no request is open" : "");
    if (c->open != GSRT__INCIDENT_NONE &&
        c->phase == GSRT_PHASE_RESTORING) { /* not of a START before a further fault */
        gsrt__incidents_account(c, GSRT_PHASE_RESTORING, GSRT_PHASE_FIRST_TOKEN);
        if (e->is_idle)
            end_open(c, GSRT_INCIDENT_RECOVERED);
    } else if (c->returning != GSRT__INCIDENT_NONE && c->has_return_started && e->is_idle) {
        end_return(c);
    }
    return status;
}

static gsrt_status note_token(gsrt_incidents *c, gsrt__incident_slot *s, const gsrt_incident_event *e, uint32_t lost,
                              bool is_new)
{
    char text[64] = "";
    if (lost > 0)
        (void)snprintf(text, sizeof text, "; %" PRIu32 " %s", lost, is_new ? "skipped before it" : "emitted again");
    return gsrt__incidents_note(c, s, e, "token %" PRIu32 " of request %" PRIu32 "; %" PRIu64 " computed again%s",
                                e->token, e->request, e->recomputed, text);
}

static gsrt_status on_token(gsrt_incidents *c, const gsrt_incident_event *e)
{
    uint32_t had = c->emitted[e->request];
    bool is_new = e->token > had;
    uint32_t lost = is_new ? e->token - had - 1 : 1;
    gsrt__incident_slot *s = gsrt__incidents_target(c);
    gsrt__incident_slot *latest = s != NULL || c->count == 0 ? s : c->slots[c->count - 1];
    gsrt_status status = GSRT_OK;
    if (is_new) {
        c->emitted[e->request] = c->token = e->token;
        c->request = e->request;
    }
    if (latest != NULL && lost + e->recomputed > 0) {
        gsrt_incident *incident = latest->incident;
        incident->recomputed_tokens =
            gsrt__incident_sum(incident->recomputed_tokens, e->recomputed, GSRT__INCIDENT_TOTAL_MAX);
        incident->lost_tokens = gsrt__incident_sum(incident->lost_tokens, lost, GSRT__INCIDENT_TOTAL_MAX);
        latest->is_changed = c->has_news = true;
    }
    bool ends_open = is_new && c->open != GSRT__INCIDENT_NONE && c->phase >= GSRT_PHASE_RESTORING;
    bool ends_return = is_new && c->returning != GSRT__INCIDENT_NONE && c->has_return_started;
    if (latest != NULL && (lost > 0 || ends_open || ends_return))
        status = note_token(c, latest, e, lost, is_new);
    if (ends_open)
        end_open(c, GSRT_INCIDENT_RECOVERED);
    if (ends_return)
        end_return(c);
    if (s == NULL)
        c->abandoned.rows = 0;
    return status;
}

static gsrt_status on_finished(gsrt_incidents *c, const gsrt_incident_event *e)
{
    gsrt_status status = gsrt__incidents_note(c, gsrt__incidents_target(c), e, "%s",
                                              e->is_complete ? "every answer is complete" : "answers are missing");
    if (c->open != GSRT__INCIDENT_NONE)
        end_open(c, e->is_complete ? GSRT_INCIDENT_NOT_NEEDED : GSRT_INCIDENT_FAILED);
    c->returning = GSRT__INCIDENT_NONE;
    return status;
}

static gsrt_status dispatch(gsrt_incidents *c, const gsrt_incident_event *e)
{
    gsrt__incident_slot *s = gsrt__incidents_target(c);
    switch (e->kind) {
    case GSRT_INCIDENT_DRILL: gsrt__incidents_drill(c, e); return GSRT_OK;
    case GSRT_INCIDENT_SUSPECTED: return gsrt__incidents_suspected(c, e);
    case GSRT_INCIDENT_WORD: return gsrt__incidents_word(c, e);
    case GSRT_INCIDENT_UNREACHABLE: return gsrt__incidents_unreachable(c, e);
    case GSRT_INCIDENT_JOINED: return gsrt__incidents_joined(c, e);
    case GSRT_INCIDENT_VIEW: return gsrt__incidents_view(c, e);
    case GSRT_INCIDENT_CONSIDERED: return on_considered(c, e);
    case GSRT_INCIDENT_CHECKED:
        if (c->open != GSRT__INCIDENT_NONE)
            s->incident->is_checked = true;
        return gsrt__incidents_note(c, s, e, "%s", e->text == NULL ? "" : e->text);
    case GSRT_INCIDENT_ABANDONED: return on_abandoned(c, e);
    case GSRT_INCIDENT_STARTED: return on_started(c, e);
    case GSRT_INCIDENT_READY: return on_ready(c, e);
    case GSRT_INCIDENT_RESTORED:
        if (c->open != GSRT__INCIDENT_NONE)
            s->incident->is_restored = true;
        return gsrt__incidents_note(c, s, e, "token %" PRIu32 " of request %" PRIu32 " is the one that was emitted",
                                    e->token, e->request);
    case GSRT_INCIDENT_TOKEN: return on_token(c, e);
    case GSRT_INCIDENT_FINISHED: return on_finished(c, e);
    }
    return GSRT_EINVAL;
}

gsrt_status gsrt_incidents_step(gsrt_incidents *c, const gsrt_incident_event *event)
{
    if (!is_valid(c, event))
        return GSRT_EINVAL;
    gsrt_incident_event e = *event;
    uint64_t at_ns = e.at_ns - e.at_ns % GSRT__INCIDENT_US_NS;
    c->now_ns = at_ns > c->now_ns ? at_ns : c->now_ns;
    e.at_ns = c->now_ns;
    return dispatch(c, &e);
}

/* ---- what there is to tell ---- */

static bool poll_slot(gsrt__incident_slot *s, gsrt_incident_news *out)
{
    const gsrt_incident *incident = s->incident;
    bool has_ended = incident->state != GSRT_INCIDENT_OPEN;
    *out = (gsrt_incident_news){.incident = incident};
    for (uint32_t i = 0; i < incident->fault_count; i++) {
        const gsrt_incident_fault *fault = &incident->faults[i];
        bool is_certain = fault->drill != 0 || fault->proof > GSRT_PROOF_SUSPICION ||
                          fault->detector == GSRT_DETECTOR_MESSAGE || fault->detector == GSRT_DETECTOR_WATCH ||
                          has_ended;
        if (s->is_fault_told[i] || !is_certain)
            continue;
        s->is_fault_told[i] = 1;
        out->kind = GSRT_INCIDENT_NEWS_FAULT;
        out->fault = i;
        return true;
    }
    if (has_ended && !s->is_end_told) {
        s->is_end_told = true;
        out->kind = GSRT_INCIDENT_NEWS_ENDED;
        return true;
    }
    out->kind = GSRT_INCIDENT_NEWS_CHANGED;
    bool is_changed = s->is_changed;
    s->is_changed = false;
    return is_changed;
}

bool gsrt_incidents_poll(gsrt_incidents *c, gsrt_incident_news *out)
{
    for (uint32_t i = 0; i < c->count && c->has_news; i++) {
        if (poll_slot(c->slots[i], out))
            return true;
    }
    c->has_news = false;
    return false;
}

uint32_t gsrt_incidents_count(const gsrt_incidents *c)
{
    return c->count;
}

const gsrt_incident *gsrt_incidents_at(const gsrt_incidents *c, uint32_t index)
{
    return c->slots[index]->incident;
}

bool gsrt_incidents_check(const gsrt_incidents *c)
{
    int64_t open = GSRT__INCIDENT_NONE;
    for (uint32_t i = 0; i < c->count; i++) {
        const gsrt_incident *incident = c->slots[i]->incident;
        bool is_open = incident->state == GSRT_INCIDENT_OPEN;
        if (i > 0 && incident->number <= c->slots[i - 1]->incident->number)
            return false;
        if (incident->fault_count == 0 || (is_open && open != GSRT__INCIDENT_NONE))
            return false;
        for (uint32_t k = 1; k < incident->entry_count; k++) {
            if (incident->timeline[k].at_ns < incident->timeline[k - 1].at_ns)
                return false;
        }
        open = is_open ? i : open;
    }
    return open == c->open && (c->open == GSRT__INCIDENT_NONE || c->returning == GSRT__INCIDENT_NONE);
}
