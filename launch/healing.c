#include "launch/healing.h"

#include "launch/resume.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEN_COUNT_MAX = 256, ROWS_PER_STEP = 8 /* rows of a prefill take about an eighth of a step each */ };

static const uint64_t ms = 1000000;

/* An event that was kept, with its own copies of what it borrows. */
struct gsrt__seen {
    struct gsrt__seen *next;
    gsrt_incident_event event;
    uint32_t epoch;     /* of the view in which it was seen */
    uint32_t members[]; /* before, then after; empty for most */
};

static uint32_t own_rank(const gsrt_healing *h)
{
    return gsrt_node_rank(h->options.node);
}

static uint32_t rank_count(const gsrt_healing *h)
{
    return gsrt_node_rank_count(h->options.node);
}

static uint64_t now_ns(const gsrt_healing *h)
{
    return gsrt_node_now_ns(h->options.node);
}

/* ---- incidents ---- */

static void write_file(gsrt_healing *h, const gsrt_incident *incident)
{
    char name[48];
    gsrt_buffer json;
    gsrt_diag diag = {0};
    (void)snprintf(name, sizeof name, "incidents/%" PRIu32 ".json", incident->number);
    gsrt_buffer_init(&json, SIZE_MAX / 2);
    gsrt_status status = gsrt_incident_write(incident, &json);
    if (status == GSRT_OK)
        status = gsrt_run_directory_write(h->options.outcome->directory, name, gsrt_buffer_span(&json), &diag);
    if (status != GSRT_OK)
        gsrt_terminal_note(&h->options.outcome->terminal, "%s cannot be written: %s", name,
                           diag.status != GSRT_OK ? diag.text : gsrt_status_text(status));
    gsrt_buffer_fini(&json);
}

/* Who led before may not know it yet, or this rank may not know who leads next: the files are theirs. What happens
 * meanwhile is written with the next change. */
static bool may_another_lead(const gsrt_healing *h)
{
    return gsrt_member_fenced(h->options.member, now_ns(h)) != GSRT_FENCE_NONE;
}

static void tell_news(gsrt_healing *h)
{
    gsrt_incident_news news;
    while (gsrt_incidents_poll(h->incidents, &news)) {
        if (news.kind == GSRT_INCIDENT_NEWS_FAULT)
            gsrt_terminal_fault(&h->options.outcome->terminal, news.incident, news.fault);
        else if (news.kind == GSRT_INCIDENT_NEWS_ENDED)
            gsrt_terminal_recovery(&h->options.outcome->terminal, news.incident);
        else if (h->is_finishing || !may_another_lead(h))
            write_file(h, news.incident);
    }
}

static void keep(gsrt_healing *h, const gsrt_incident_event *event)
{
    if (h->seen_count >= SEEN_COUNT_MAX)
        return;
    size_t count = event->before != NULL ? event->rank_count : 0;
    struct gsrt__seen *seen = malloc(sizeof *seen + 2 * count * sizeof seen->members[0]);
    if (seen == NULL)
        return; /* the record of an incident is poorer; the recovery is not */
    seen->event = *event;
    seen->epoch = h->epoch;
    if (count > 0) {
        memcpy(seen->members, event->before, count * sizeof *event->before);
        memcpy(seen->members + count, event->after, count * sizeof *event->after);
        seen->event.before = seen->members;
        seen->event.after = seen->members + count;
    }
    seen->next = h->seen;
    h->seen = seen;
    h->seen_count += 1;
}

/* What was seen in views before `epoch`. */
static void forget_before(gsrt_healing *h, uint32_t epoch)
{
    struct gsrt__seen **at = &h->seen; /* newest first */
    while (*at != NULL && (*at)->epoch >= epoch)
        at = &(*at)->next;
    while (*at != NULL) {
        struct gsrt__seen *next = (*at)->next;
        free(*at);
        *at = next;
        h->seen_count -= 1;
    }
}

static void forget(gsrt_healing *h)
{
    forget_before(h, UINT32_MAX);
}

static void feed(gsrt_healing *h, const gsrt_incident_event *event)
{
    gsrt_status status = gsrt_incidents_step(h->incidents, event);
    (void)status; /* past a limit: a part of the record is missing, and it says so */
    tell_news(h);
}

static void note(gsrt_healing *h, gsrt_incident_event event)
{
    event.at_ns = now_ns(h);
    event.observer = own_rank(h);
    if (h->incidents != NULL)
        feed(h, &event);
    else
        keep(h, &event);
}

/* What was seen before this rank came to lead, oldest first. */
static void feed_seen(gsrt_healing *h)
{
    struct gsrt__seen *oldest = NULL;
    while (h->seen != NULL) {
        struct gsrt__seen *next = h->seen->next;
        h->seen->next = oldest;
        oldest = h->seen;
        h->seen = next;
    }
    h->seen = oldest;
    for (struct gsrt__seen *seen = oldest; seen != NULL; seen = seen->next)
        feed(h, &seen->event);
    forget(h);
}

/* ---- what the member actor sees ---- */

static gsrt_incident_detector detector_of(gsrt_status why)
{
    switch ((int)why) {
    case GSRT_EPEER: return GSRT_DETECTOR_SENTINEL;
    case GSRT_ELINK: return GSRT_DETECTOR_LINK;
    case GSRT_ECANCELED: return GSRT_DETECTOR_MESSAGE;
    case GSRT_ECONTRACT: return GSRT_DETECTOR_WATCH;
    default: return GSRT_DETECTOR_SILENCE;
    }
}

void gsrt_healing_on_event(void *arg, const gsrt_membership_event *event)
{
    gsrt_healing *h = arg;
    gsrt_incident_event seen = {.rank = event->rank, .incarnation = event->incarnation};
    if (event->kind == GSRT_MEMBERSHIP_SUSPECT) {
        seen.kind = GSRT_INCIDENT_SUSPECTED;
        seen.detector = detector_of(h->options.member->suspected_why);
        seen.text = seen.detector == GSRT_DETECTOR_WATCH ? h->violation : NULL;
    } else if (event->kind == GSRT_MEMBERSHIP_WORD) {
        seen.kind = GSRT_INCIDENT_WORD;
        seen.rank = event->word.rank;
        seen.incarnation = event->word.incarnation;
        seen.is_last = event->word.is_last;
        seen.was_ordered = event->word.was_ordered;
        h->word_ns[seen.rank] = event->now_ns;
    } else if (event->kind == GSRT_MEMBERSHIP_UNREACHABLE) {
        seen.kind = GSRT_INCIDENT_UNREACHABLE;
    } else if (event->kind == GSRT_MEMBERSHIP_JOIN_ASKED) {
        seen.kind = GSRT_INCIDENT_JOINED;
        if (h->word_ns[event->rank] != 0)
            h->respawn_ns = event->now_ns - h->word_ns[event->rank];
    } else {
        return;
    }
    note(h, seen);
}

/* Another has led, or will: what it knows is in its files. */
static void lay_down(gsrt_healing *h)
{
    h->incidents = gsrt_incidents_free(h->incidents);
    h->faults = gsrt_faults_free(h->faults);
}

static void on_view(gsrt_healing *h, const gsrt_membership_view *view)
{
    if (view->epoch != h->epoch + 1)
        lay_down(h); /* in views that this rank has missed, others have led */
    bool has_led = h->incidents != NULL;
    if (h->epoch == 0)
        h->begin_ns = now_ns(h);
    else
        note(h, (gsrt_incident_event){.kind = GSRT_INCIDENT_VIEW,
                                      .epoch = view->epoch,
                                      .rank_count = view->rank_count,
                                      .before = h->incarnations,
                                      .after = view->incarnations});
    if (has_led && h->options.outcome->scheduler_facts.rows_in_flight > 0) {
        note(h, (gsrt_incident_event){.kind = GSRT_INCIDENT_ABANDONED,
                                      .rows = h->options.outcome->scheduler_facts.rows_in_flight});
        h->options.outcome->scheduler_facts.rows_in_flight = 0;
    }
    memcpy(h->before, h->incarnations, view->rank_count * sizeof *h->before);
    memcpy(h->incarnations, view->incarnations, view->rank_count * sizeof *h->incarnations);
    h->epoch = view->epoch;
    if (gsrt_membership_coordinator(view) == own_rank(h))
        return;
    /* Another leads: it makes the incidents, and has seen what led to this view itself. It may be dead already, though:
     * what was seen in the view before is kept, and is known to whoever takes up an incident that has it. */
    forget_before(h, view->epoch - 1);
    h->incidents = gsrt_incidents_free(h->incidents);
    h->faults = gsrt_faults_free(h->faults);
}

void gsrt_healing_on_action(void *arg, const gsrt_membership_action *action, uint64_t at_ns)
{
    (void)at_ns;
    if (action->kind == GSRT_MEMBERSHIP_INSTALL)
        on_view(arg, &action->view);
}

/* ---- which way back ---- */

static void consider(gsrt_healing *h, const gsrt_heal_answer *answer, gsrt_incident_method method)
{
    if (answer->is_possible[method] && method != answer->method)
        note(h, (gsrt_incident_event){.kind = GSRT_INCIDENT_CONSIDERED,
                                      .epoch = h->epoch,
                                      .method = method,
                                      .predicted_ns = answer->loss_ns[method],
                                      .text = h->options.scenario->prefer != 0 ? "the scenario prefers another"
                                                                               : "it was predicted to cost more"});
}

/* Rows whose KV is lost, and steps that the run has left, as far as this rank knows: it does when it leads. */
static void estimate(const gsrt_healing *h, gsrt_heal_question *question)
{
    const gsrt_answers *answers = &h->options.outcome->answers;
    uint64_t rows = 0;
    for (uint32_t i = 0; h->incidents != NULL && i < answers->scenario->request_count; i++) {
        const gsrt_answer *answer = &answers->items[i];
        if (answer->finish != 0)
            continue;
        uint64_t positions = answer->prompt_count + answer->token_count;
        bool is_held = h->options.scenario->is_replicating && positions > GSRT_KV_BLOCK_POSITIONS;
        rows += is_held ? GSRT_KV_BLOCK_POSITIONS : positions; /* the replicas have the rest */
        uint32_t left = answer->max_tokens - answer->token_count;
        question->steps_left = left > question->steps_left ? left : question->steps_left;
    }
    if (h->view_tokens > 1)
        question->step_ns = (now_ns(h) - h->first_token_ns) / (h->view_tokens - 1);
    question->recompute_ns = rows * question->step_ns / ROWS_PER_STEP;
}

/* Asked, recorded, answered, recorded: a decision that `gsrt replay` takes again. With the plan each time: moves change
 * it. */
static gsrt_status ask_healer(gsrt_actor *self, const gsrt_heal_question *question, gsrt_heal_answer *out)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, GSRT_BODY_BYTES_MAX);
    if (gsrt_heal_options_encode(question->full, question->rank_count, &bytes) == GSRT_OK)
        gsrt_record_init(self, "healer", gsrt_buffer_span(&bytes));
    gsrt_buffer_reset(&bytes);
    if (gsrt_heal_question_encode(question, &bytes) == GSRT_OK)
        gsrt_record_event(self, "healer", gsrt_buffer_span(&bytes));
    gsrt_status status = gsrt_heal(question, out);
    gsrt_buffer_reset(&bytes);
    if (status == GSRT_OK && gsrt_heal_answer_encode(out, &bytes) == GSRT_OK)
        gsrt_record_action(self, "healer", gsrt_buffer_span(&bytes));
    gsrt_buffer_fini(&bytes);
    return status;
}

uint64_t gsrt_healing_join_wait_ns(gsrt_healing *h, gsrt_actor *self, const gsrt_keeper_word *word)
{
    bool is_there[GSRT_RANK_COUNT_MAX];
    gsrt_heal_answer answer;
    if (h->epoch == 0 || word->incarnation != h->incarnations[word->rank])
        return 0;
    for (uint32_t rank = 0; rank < rank_count(h); rank++)
        is_there[rank] = h->incarnations[rank] != GSRT_NOT_A_MEMBER && rank != word->rank;
    gsrt_heal_question question = {.full = h->full,
                                   .is_there = is_there,
                                   .rank_count = rank_count(h),
                                   .is_last = word->is_last,
                                   .prefer = h->options.scenario->prefer,
                                   .respawn_ns = h->respawn_ns,
                                   .take_ns = h->take_ns};
    estimate(h, &question);
    if (ask_healer(self, &question, &answer) != GSRT_OK)
        return 0;
    for (int method = 1; method < GSRT_HEAL_METHOD_COUNT; method++)
        consider(h, &answer, (gsrt_incident_method)method);
    if (answer.method != GSRT_METHOD_IN_PLACE)
        return 0;
    uint64_t patience_ns = 4 * h->respawn_ns;
    return patience_ns < 2000 * ms ? patience_ns : 2000 * ms;
}

/* ---- on the leader ---- */

static gsrt_status take_up_incidents(gsrt_healing *h, gsrt_diag *diag)
{
    gsrt_outcome *outcome = h->options.outcome;
    gsrt_status status = GSRT_OK;
    for (uint32_t number = 1; status == GSRT_OK && number <= GSRT_INCIDENT_COUNT_MAX; number++) {
        char name[48];
        gsrt_buffer bytes;
        gsrt_incident *incident;
        (void)snprintf(name, sizeof name, "incidents/%" PRIu32 ".json", number);
        gsrt_buffer_init(&bytes, GSRT_INCIDENT_FILE_BYTES_MAX);
        status = gsrt_run_directory_read(outcome->directory, name, &bytes, diag);
        if (status == GSRT_OK)
            status = gsrt_incident_read(gsrt_buffer_span(&bytes), name, &incident, diag);
        gsrt_buffer_fini(&bytes);
        if (status == GSRT_OK) {
            status = gsrt_incidents_adopt(h->incidents, incident);
            if (status != GSRT_OK)
                gsrt_incident_free(incident);
        }
    }
    for (uint32_t i = 0; i < outcome->scenario->request_count && status == GSRT_ENOTFOUND; i++) {
        gsrt_status told = gsrt_incidents_emitted(h->incidents, i, outcome->answers.items[i].token_count);
        status = told == GSRT_OK ? status : told;
    }
    return status == GSRT_ENOTFOUND ? GSRT_OK : status;
}

/* What was done before this rank came to lead, is done. */
static void skip_past(gsrt_healing *h)
{
    const gsrt_answers *answers = &h->options.outcome->answers;
    uint32_t *counts = calloc(answers->scenario->request_count, sizeof *counts);
    if (counts == NULL)
        return;
    for (uint32_t i = 0; i < answers->scenario->request_count; i++)
        counts[i] = answers->items[i].token_count;
    uint64_t run_ns = now_ns(h) - h->begin_ns;
    if (h->faults != NULL)
        gsrt_faults_skip(h->faults, counts, answers->scenario->request_count, run_ns, h->epoch);
    gsrt_moves_skip(&h->options.outcome->moves, counts, answers->scenario->request_count, run_ns, h->epoch);
    free(counts);
}

static gsrt_incident_kind kind_of(gsrt_fault_kind kind)
{
    return kind == GSRT_FAULT_KILL        ? GSRT_INCIDENT_KILLED
           : kind == GSRT_FAULT_PARTITION ? GSRT_INCIDENT_PARTITION
           : kind == GSRT_FAULT_CORRUPT   ? GSRT_INCIDENT_VIOLATED
                                          : GSRT_INCIDENT_STOPPED;
}

static uint32_t milli_of(double factor)
{
    double milli = factor * 1000 + 0.5; /* at most 1e9, the scenario says */
    return milli < 1001 ? 1001 : (uint32_t)milli;
}

static void do_fault(gsrt_healing *h, const gsrt_fault *fault)
{
    gsrt_keepers *keepers = h->options.keepers;
    uint32_t for_ms = (uint32_t)(fault->duration_ns / ms);
    if (fault->kind != GSRT_FAULT_SLOW)
        note(h, (gsrt_incident_event){.kind = GSRT_INCIDENT_DRILL,
                                      .rank = fault->kind == GSRT_FAULT_PARTITION ? GSRT_NOT_A_MEMBER : fault->rank,
                                      .incarnation =
                                          fault->kind == GSRT_FAULT_PARTITION ? 0 : h->incarnations[fault->rank],
                                      .drill = kind_of(fault->kind),
                                      .for_ms = for_ms});
    if (fault->kind == GSRT_FAULT_KILL && keepers != NULL)
        keepers->ops->drill(keepers, fault->rank, GSRT_DRILL_KILL, 0);
    else if (fault->kind == GSRT_FAULT_STOP && keepers != NULL)
        keepers->ops->drill(keepers, fault->rank, GSRT_DRILL_STOP, for_ms);
    else if (fault->kind == GSRT_FAULT_SLOW && keepers != NULL && keepers->ops->slow != NULL)
        keepers->ops->slow(keepers, fault->rank, milli_of(fault->factor), for_ms);
    else if (h->options.do_fault != NULL)
        h->options.do_fault(h->options.arg, fault);
}

/* Written down before it is done, for whoever resumes the run: at most once, rather than again. */
static void note_fault(gsrt_healing *h, uint32_t number)
{
    gsrt_outcome *outcome = h->options.outcome;
    gsrt_diag diag = {0};
    if (!outcome->is_twin && gsrt_resume_note_fault(outcome->directory, number, &diag) != GSRT_OK)
        gsrt_terminal_note(&outcome->terminal, "%s", diag.text);
}

static void do_faults(gsrt_healing *h)
{
    uint32_t index;
    while (h->faults != NULL && gsrt_faults_poll(h->faults, &index)) {
        note_fault(h, index);
        do_fault(h, &h->options.scenario->faults[index]);
    }
}

uint64_t gsrt_healing_look(gsrt_healing *h)
{
    uint64_t run_ns = now_ns(h) - h->begin_ns, next = UINT64_MAX;
    gsrt_moves *moves = &h->options.outcome->moves;
    if (h->faults != NULL) {
        gsrt_faults_time(h->faults, run_ns);
        do_faults(h);
        next = gsrt_faults_next_ns(h->faults);
    }
    gsrt_moves_time(moves, run_ns);
    next = gsrt_moves_next_ns(moves) < next ? gsrt_moves_next_ns(moves) : next;
    return next == UINT64_MAX ? next : h->begin_ns + next;
}

/* How this view's plan came about, for a person. */
static void say_method(gsrt_healing *h, const gsrt_plan *plan, gsrt_way way)
{
    char text[GSRT_INCIDENT_TEXT_BYTES] = "the survivors divide the work anew";
    const gsrt_plan *full = h->full;
    gsrt_incident_method method = way == GSRT_WAY_SPARE      ? GSRT_METHOD_SPARE
                                  : way == GSRT_WAY_RESHAPED ? GSRT_METHOD_RESHAPED
                                                             : GSRT_METHOD_FULL;
    uint32_t stage, member;
    if (method == GSRT_METHOD_SPARE) {
        for (uint32_t rank = 0; rank < rank_count(h); rank++) {
            if (gsrt_plan_role_of(plan, rank, &stage, &member) && !gsrt_plan_role_of(full, rank, &stage, &member)) {
                (void)gsrt_plan_role_of(plan, rank, &stage, &member);
                (void)snprintf(text, sizeof text, "spare rank %" PRIu32 " took stage %" PRIu32 " member %" PRIu32, rank,
                               stage, member);
            }
        }
    } else if (method == GSRT_METHOD_FULL) {
        (void)snprintf(text, sizeof text, "everybody with a role is there%s",
                       gsrt_plan_is_equal(plan, full) ? "" : ", and what others took goes back while tokens go on");
        for (uint32_t rank = 0; rank < rank_count(h); rank++) {
            if (h->incarnations[rank] == h->before[rank] || h->incarnations[rank] == GSRT_NOT_A_MEMBER ||
                !gsrt_plan_role_of(plan, rank, &stage, &member))
                continue;
            method = GSRT_METHOD_IN_PLACE;
            (void)snprintf(text, sizeof text,
                           "the next incarnation of rank %" PRIu32 " took stage %" PRIu32 " member %" PRIu32 " again",
                           rank, stage, member);
        }
    }
    note(h, (gsrt_incident_event){.kind = GSRT_INCIDENT_CONSIDERED,
                                  .epoch = h->epoch,
                                  .method = method,
                                  .predicted_ns = GSRT_INCIDENT_UNKNOWN_NS,
                                  .is_chosen = true,
                                  .text = text});
}

gsrt_status gsrt_healing_lead(gsrt_healing *h, const gsrt_plan *plan, gsrt_way way, gsrt_diag *diag)
{
    const gsrt_scenario *scenario = h->options.scenario;
    gsrt_status status = GSRT_OK;
    bool is_new = h->incidents == NULL;
    if (is_new) {
        h->incidents = gsrt_incidents_create(scenario->request_count);
        status = h->incidents == NULL ? GSRT_ENOMEM : take_up_incidents(h, diag);
        if (status == GSRT_OK && scenario->fault_count > 0)
            status = gsrt_faults_create(scenario->faults, scenario->fault_count, rank_count(h), &h->faults);
        if (status == GSRT_OK && (h->epoch > 1 || h->options.outcome->is_resumed))
            skip_past(h);
    }
    if (status != GSRT_OK)
        return status;
    h->full = h->options.outcome->moves.plan;
    feed_seen(h);
    if (h->epoch > 1) {
        char text[GSRT_INCIDENT_TEXT_BYTES];
        (void)snprintf(text, sizeof text, "contract %s", plan->narrowed_count > 0 ? "budgets" : "bitwise");
        say_method(h, plan, way);
        note(h, (gsrt_incident_event){.kind = GSRT_INCIDENT_CHECKED, .text = text});
        note(h, (gsrt_incident_event){.kind = GSRT_INCIDENT_STARTED, .epoch = h->epoch});
    }
    h->started_ns = now_ns(h);
    h->view_tokens = 0;
    h->has_restored = false;
    return GSRT_OK;
}

static bool is_narrowed(const gsrt_plan *plan, const gsrt_plan_stage *stage)
{
    for (uint32_t i = 0; i < plan->narrowed_count; i++) {
        uint32_t place = plan->narrowed[i].place;
        bool is_first = stage == plan->stages, is_last = stage == plan->stages + plan->stage_count - 1;
        if (place == GSRT_PLAN_EMBED ? is_first
            : place == GSRT_PLAN_OUTPUT
                ? is_last
                : place - GSRT_PLAN_LAYER >= stage->layer_first && place - GSRT_PLAN_LAYER <= stage->layer_last)
            return true;
    }
    return false;
}

void gsrt_healing_violated(gsrt_healing *h, const gsrt_plan *plan, const gsrt_violation_seen *seen)
{
    uint32_t rank = own_rank(h);
    for (uint32_t s = 0; s < plan->stage_count && rank == own_rank(h); s++) {
        for (uint32_t m = 0; m < plan->stages[s].member_count && rank == own_rank(h); m++)
            rank = is_narrowed(plan, &plan->stages[s]) ? plan->stages[s].ranks[m] : rank;
    }
    (void)snprintf(h->violation, sizeof h->violation, "%s %.6g of at most %.6g, request %" PRIu32 " position %" PRIu32,
                   seen->statistic, seen->seen, seen->bound, seen->request, seen->position);
    gsrt_msg_suspect suspect = {.rank = rank, .incarnation = h->incarnations[rank], .why = (uint32_t)GSRT_ECONTRACT};
    gsrt_keepers *keepers = h->options.keepers;
    gsrt_status status = GSRT_ESTATE;
    if (rank != own_rank(h))
        status = gsrt_node_post(h->options.node, h->options.member->self, GSRT_KIND_SUSPECT, &suspect, NULL);
    else if (keepers != NULL) /* nobody suspects itself: the next incarnation, or another rank, goes on */
        keepers->ops->end_worker(keepers, rank, suspect.incarnation);
    if (status != GSRT_OK && (rank != own_rank(h) || keepers == NULL))
        gsrt_node_finish(h->options.node, GSRT_EXIT_AGAIN);
}

static bool is_idle(const gsrt_healing *h)
{
    const gsrt_answers *answers = &h->options.outcome->answers;
    return answers->finished_count == answers->scenario->request_count;
}

void gsrt_healing_ready(gsrt_healing *h)
{
    h->take_ns = now_ns(h) - h->started_ns;
    if (h->epoch > 1)
        note(h, (gsrt_incident_event){.kind = GSRT_INCIDENT_READY, .is_idle = is_idle(h)});
    if (h->faults != NULL)
        gsrt_faults_view(h->faults, h->epoch, h->incarnations);
    gsrt_moves_view(&h->options.outcome->moves, h->epoch);
    do_faults(h);
}

void gsrt_healing_known(gsrt_healing *h, uint32_t request, uint32_t token_count)
{
    gsrt_status status = gsrt_incidents_emitted(h->incidents, request, token_count);
    (void)status; /* the request is one of the scenario's */
}

void gsrt_healing_restored(gsrt_healing *h, uint32_t request, uint32_t token_count)
{
    if (!h->has_restored)
        note(h, (gsrt_incident_event){.kind = GSRT_INCIDENT_RESTORED, .request = request, .token = token_count});
    h->has_restored = true;
}

void gsrt_healing_token(gsrt_healing *h, uint32_t request, uint32_t token_count, uint32_t known, uint32_t spared)
{
    if (h->view_tokens == 0)
        h->first_token_ns = now_ns(h);
    h->view_tokens += 1;
    bool is_first = token_count == known + 1;
    note(h, (gsrt_incident_event){.kind = GSRT_INCIDENT_TOKEN,
                                  .request = request,
                                  .token = token_count,
                                  .recomputed = is_first ? known - spared : 0});
    if (h->faults != NULL)
        gsrt_faults_token(h->faults, request, token_count);
    gsrt_moves_token(&h->options.outcome->moves, request, token_count);
    do_faults(h);
}

void gsrt_healing_finished(gsrt_healing *h, bool is_complete)
{
    gsrt_outcome *outcome = h->options.outcome;
    gsrt_moves_failed(&outcome->moves, false, "every answer had ended, or the run had");
    if (h->incidents == NULL)
        return;
    h->is_finishing = true;
    note(h, (gsrt_incident_event){.kind = GSRT_INCIDENT_FINISHED, .is_complete = is_complete});
    gsrt_status status = gsrt_outcome_note_failures(outcome, h->incidents);
    if (status != GSRT_OK)
        gsrt_terminal_note(&outcome->terminal, "report.json lacks the failures: %s", gsrt_status_text(status));
}

/* ---- life ---- */

gsrt_status gsrt_healing_init(gsrt_healing *h, const gsrt_healing_options *options)
{
    *h = (gsrt_healing){.options = *options, .full = options->scenario->plan, .respawn_ns = 40 * ms, .take_ns = 5 * ms};
    h->incarnations = calloc(gsrt_node_rank_count(options->node), sizeof *h->incarnations);
    h->before = calloc(gsrt_node_rank_count(options->node), sizeof *h->before);
    return h->incarnations == NULL || h->before == NULL ? GSRT_ENOMEM : GSRT_OK;
}

void gsrt_healing_fini(gsrt_healing *h)
{
    forget(h);
    h->incidents = gsrt_incidents_free(h->incidents);
    h->faults = gsrt_faults_free(h->faults);
    free(h->incarnations);
    free(h->before);
    h->before = NULL;
    h->incarnations = NULL;
}
