#include "launch/watch.h"

#include "backends/numerics.h"
#include "base/limits.h"
#include "launch/admission.h"
#include "model/reference.h"
#include "model/validate.h"
#include "placement/plan_choices.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* A row that waits. */
typedef struct row {
    struct row *next;
    uint32_t request, position;
    float logits[]; /* [vocab] */
} row;

/* A watched request: its pass. Of the watch's thread. */
typedef struct pass {
    gsrt_reference *reference; /* NULL: not begun, or over */
    uint32_t next;             /* positions before it have been run */
} pass;

struct gsrt_watch {
    gsrt_watch_options options;
    uint32_t every;
    size_t vocab_count, row_bytes;
    pass *passes;                /* [request_count] */
    gsrt_region_choice *choices; /* [region_count] what is narrowed */
    pthread_t thread;
    bool has_thread;
    gsrt_admission admission; /* of the thread until is_admitted */
    gsrt_diag admission_diag;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    row *first, *last;
    size_t queued_bytes;
    bool is_admitted; /* the evidence was read, with this status */
    gsrt_status admission_status;
    bool is_computing, is_stopping, is_violated;
    gsrt_violation_seen violation;
    gsrt_watch_facts facts;
};

/* ---- what is watched ---- */

static void note_unwatched(gsrt_watch_facts *facts, const char *region, gsrt_contract_kind kind)
{
    size_t len = strlen(facts->unwatched);
    (void)snprintf(facts->unwatched + len, sizeof facts->unwatched - len, "%s%s of %s", len == 0 ? "" : ", ",
                   gsrt_contract_kind_word(kind), region);
}

static void lower_bound(double *bound, double by)
{
    *bound = *bound < 0 || by < *bound ? by : *bound;
}

static void find_bounds(gsrt_watch *w)
{
    const gsrt_workload *workload = w->options.loaded->workload;
    w->facts.divergence_bound = w->facts.absolute_error_bound = -1;
    for (uint32_t r = 0; r < workload->region_count; r++) {
        const char *name = workload->regions[r].name;
        const gsrt_contract_rule *rule = gsrt_contract_rule_for(w->options.scenario->asked, name);
        if (w->choices[r].weights_are_as_given)
            continue;
        if (rule->kind == GSRT_CONTRACT_DIVERGENCE)
            lower_bound(&w->facts.divergence_bound, rule->bound);
        else if (rule->kind == GSRT_CONTRACT_ABSOLUTE_ERROR)
            lower_bound(&w->facts.absolute_error_bound, rule->bound);
        else
            note_unwatched(&w->facts, name, rule->kind);
    }
}

bool gsrt_watch_wants(const gsrt_watch *w, uint32_t request)
{
    return w != NULL && request % w->every == 0 &&
           (w->facts.divergence_bound >= 0 || w->facts.absolute_error_bound >= 0);
}

/* ---- the plain pass ---- */

static uint32_t token_at(const gsrt_watch *w, uint32_t request, uint32_t position)
{
    const gsrt_answer *answer = &w->options.answers->items[request];
    return position < answer->prompt_count ? answer->prompt[position] : answer->tokens[position - answer->prompt_count];
}

/* Up to this position; its logits. NULL: it was compared before, or there is no memory to compare it. */
static const float *plain_logits(gsrt_watch *w, const row *item)
{
    pass *p = &w->passes[item->request];
    const gsrt_answer *answer = &w->options.answers->items[item->request];
    const float *logits = NULL;
    if (item->position < p->next)
        return NULL;
    if (p->reference == NULL &&
        gsrt_reference_create(w->options.loaded->weights, answer->prompt_count + answer->max_tokens, &p->reference) !=
            GSRT_OK)
        return NULL;
    for (; p->next <= item->position; p->next++) {
        bool is_it = p->next == item->position;
        if (gsrt_reference_step(p->reference, token_at(w, item->request, p->next), p->next, is_it ? &logits : NULL) !=
            GSRT_OK)
            return NULL;
    }
    return logits;
}

/* No row can follow: the last token of an answer is drawn, and never computed. */
static void end_pass(gsrt_watch *w, uint32_t request)
{
    pass *p = &w->passes[request];
    const gsrt_answer *answer = &w->options.answers->items[request];
    if (p->next + 1 >= answer->prompt_count + answer->max_tokens)
        p->reference = gsrt_reference_free(p->reference);
}

static void judge(gsrt_watch *w, const row *item, gsrt_contract_kind statistic, double seen, double bound)
{
    if (bound < 0 || seen <= bound || w->is_violated)
        return;
    w->is_violated = true;
    w->violation = (gsrt_violation_seen){.statistic = gsrt_contract_kind_word(statistic),
                                         .seen = seen,
                                         .bound = bound,
                                         .request = item->request,
                                         .position = item->position};
}

static void compare(gsrt_watch *w, const row *item)
{
    double divergence = 0, absolute = 0;
    uint32_t mxcsr = gsrt_mxcsr_set();
    const float *plain = plain_logits(w, item);
    bool is_compared = plain != NULL;
    if (is_compared)
        gsrt_validate_compare(plain, item->logits, (uint32_t)w->vocab_count, &divergence, &absolute);
    gsrt_mxcsr_restore(mxcsr);
    end_pass(w, item->request);
    (void)pthread_mutex_lock(&w->mutex);
    gsrt_watch_facts *facts = &w->facts;
    facts->position_count += is_compared ? 1 : 0;
    facts->divergence = divergence > facts->divergence ? divergence : facts->divergence;
    facts->absolute_error = absolute > facts->absolute_error ? absolute : facts->absolute_error;
    judge(w, item, GSRT_CONTRACT_DIVERGENCE, divergence, facts->divergence_bound);
    judge(w, item, GSRT_CONTRACT_ABSOLUTE_ERROR, absolute, facts->absolute_error_bound);
    (void)pthread_mutex_unlock(&w->mutex);
}

/* ---- the thread ---- */

static void admit(gsrt_watch *w)
{
    gsrt_status status = gsrt_admission_open(&w->admission, w->options.scenario, w->options.loaded,
                                             w->options.rank_count, w->options.evidence, &w->admission_diag);
    (void)pthread_mutex_lock(&w->mutex);
    w->is_admitted = true;
    w->admission_status = status;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->mutex);
}

/* The next row, owned; NULL: stop. */
static row *take(gsrt_watch *w)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->is_computing = false;
    while (!w->is_stopping && (w->first == NULL || w->is_violated))
        (void)pthread_cond_wait(&w->changed, &w->mutex);
    row *item = w->is_stopping ? NULL : w->first;
    if (item != NULL) {
        w->first = item->next;
        w->last = w->first == NULL ? NULL : w->last;
        w->queued_bytes -= w->row_bytes;
        w->is_computing = true;
    }
    (void)pthread_mutex_unlock(&w->mutex);
    return item;
}

static void *run(void *arg)
{
    gsrt_watch *w = arg;
    admit(w);
    for (row *item = take(w); item != NULL; item = take(w)) {
        compare(w, item);
        free(item);
    }
    return NULL;
}

static void enqueue(gsrt_watch *w, uint32_t request, uint32_t position, const float *logits)
{
    const gsrt_answer *answer = &w->options.answers->items[request];
    bool is_known = position < answer->prompt_count + answer->token_count;
    (void)pthread_mutex_lock(&w->mutex);
    bool has_room = is_known && !w->is_violated && w->queued_bytes + w->row_bytes <= GSRT_WATCH_BYTES_MAX;
    row *item = has_room ? malloc(w->row_bytes) : NULL;
    if (item != NULL) {
        *item = (row){.request = request, .position = position};
        memcpy(item->logits, logits, w->vocab_count * sizeof *logits);
        *(w->last == NULL ? &w->first : &w->last->next) = item;
        w->last = item;
        w->queued_bytes += w->row_bytes;
        (void)pthread_cond_broadcast(&w->changed);
    } else if (!w->is_violated) {
        w->facts.left_out += 1;
    }
    (void)pthread_mutex_unlock(&w->mutex);
}

/* Without a thread of its own. */
static void drain(gsrt_watch *w)
{
    while (w->first != NULL && !w->is_violated) {
        row *item = take(w);
        compare(w, item);
        free(item);
    }
    w->is_computing = false;
}

void gsrt_watch_logits(gsrt_watch *w, const gsrt_msg_logits *message, const gsrt_payload *payload)
{
    uint32_t count =
        message->positions_count < message->requests_count ? message->positions_count : message->requests_count;
    if (payload == NULL || payload->len != count * w->vocab_count * sizeof(float))
        return;
    const float *rows = (const float *)(const void *)payload->data;
    for (uint32_t i = 0; i < count; i++) {
        if (message->requests[i] < w->options.scenario->request_count && gsrt_watch_wants(w, message->requests[i]))
            enqueue(w, message->requests[i], message->positions[i], rows + i * w->vocab_count);
    }
    if (w->options.is_inline)
        drain(w);
}

/* ---- life ---- */

gsrt_status gsrt_watch_create(const gsrt_watch_options *options, gsrt_watch **out)
{
    const gsrt_workload *workload = options->loaded->workload;
    gsrt_watch *w = calloc(1, sizeof *w);
    if (w == NULL)
        return GSRT_ENOMEM;
    *w = (gsrt_watch){.options = *options,
                      .every = options->scenario->watch,
                      .vocab_count = workload->vocab_count,
                      .row_bytes = sizeof(row) + workload->vocab_count * sizeof(float),
                      .passes = calloc((size_t)options->scenario->request_count + 1, sizeof *w->passes),
                      .choices = calloc(workload->region_count, sizeof *w->choices)};
    (void)pthread_mutex_init(&w->mutex, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    if (w->passes == NULL || w->choices == NULL) {
        (void)gsrt_watch_free(w);
        return GSRT_ENOMEM;
    }
    gsrt_plan_choices(options->plan, workload, w->choices);
    find_bounds(w);
    if (options->is_inline)
        admit(w);
    else
        w->has_thread = pthread_create(&w->thread, NULL, run, w) == 0;
    if (!options->is_inline && !w->has_thread) {
        (void)gsrt_watch_free(w);
        return GSRT_ENOMEM;
    }
    *out = w;
    return GSRT_OK;
}

gsrt_watch *gsrt_watch_free(gsrt_watch *w)
{
    if (w == NULL)
        return NULL;
    (void)pthread_mutex_lock(&w->mutex);
    w->is_stopping = true;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->mutex);
    if (w->has_thread)
        (void)pthread_join(w->thread, NULL);
    while (w->first != NULL) {
        row *next = w->first->next;
        free(w->first);
        w->first = next;
    }
    for (uint32_t i = 0; w->passes != NULL && i < w->options.scenario->request_count; i++)
        (void)gsrt_reference_free(w->passes[i].reference);
    gsrt_admission_fini(&w->admission);
    (void)pthread_mutex_destroy(&w->mutex);
    (void)pthread_cond_destroy(&w->changed);
    free(w->passes);
    free(w->choices);
    free(w);
    return NULL;
}

bool gsrt_watch_is_busy(gsrt_watch *w)
{
    if (w == NULL)
        return false;
    (void)pthread_mutex_lock(&w->mutex);
    bool is_busy = !w->is_violated && (w->first != NULL || w->is_computing);
    (void)pthread_mutex_unlock(&w->mutex);
    return is_busy;
}

bool gsrt_watch_violated(gsrt_watch *w, gsrt_violation_seen *out)
{
    if (w == NULL)
        return false;
    (void)pthread_mutex_lock(&w->mutex);
    bool is_violated = w->is_violated;
    *out = w->violation;
    (void)pthread_mutex_unlock(&w->mutex);
    return is_violated;
}

void gsrt_watch_read(gsrt_watch *w, gsrt_watch_facts *out)
{
    (void)pthread_mutex_lock(&w->mutex);
    *out = w->facts;
    (void)pthread_mutex_unlock(&w->mutex);
}

/* ---- what follows from a violation ---- */

/* The evidence that admitted what is narrowed: of the same changes. */
static const gsrt_evidence *admitting(const gsrt_watch *w)
{
    const gsrt_workload *workload = w->options.loaded->workload;
    gsrt_region_choice *choices = calloc(workload->region_count, sizeof *choices);
    const gsrt_evidence *found = NULL;
    for (size_t i = 0; choices != NULL && found == NULL && i < w->admission.evidence.count; i++) {
        const gsrt_evidence *e = &w->admission.evidence.items[i];
        bool is_it = gsrt_evidence_choose(e, workload, choices);
        for (uint32_t r = 0; r < workload->region_count && is_it; r++) {
            const gsrt_region_choice *a = &choices[r], *b = &w->choices[r];
            is_it = a->compute == b->compute && a->state_is_as_given &&
                    a->weights_are_as_given == b->weights_are_as_given &&
                    (a->weights_are_as_given || a->weights == b->weights);
        }
        found = is_it ? e : NULL;
    }
    free(choices);
    return found;
}

/* What was run: the tokens up to the position. */
static gsrt_status hash_tokens(const gsrt_watch *w, const gsrt_violation_seen *seen, char out[33])
{
    size_t count = (size_t)seen->position + 1;
    uint32_t *tokens = malloc(count * sizeof *tokens);
    if (tokens == NULL)
        return GSRT_ENOMEM;
    for (uint32_t p = 0; p < count; p++)
        tokens[p] = token_at(w, seen->request, p);
    XXH128_hash_t hash = XXH3_128bits(tokens, count * sizeof *tokens);
    (void)snprintf(out, 33, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64, (uint64_t)hash.low64);
    free(tokens);
    return GSRT_OK;
}

static gsrt_status add_evidence(gsrt_watch *w, const gsrt_violation_seen *seen, gsrt_diag *diag)
{
    const gsrt_evidence *from = admitting(w);
    char hash[33], corpus[128];
    if (from == NULL)
        return gsrt_diag_set(diag, GSRT_ECONTRACT, w->options.scenario->file, "evidence",
                             "does not speak of what is narrowed any more");
    if (hash_tokens(w, seen, hash) != GSRT_OK)
        return GSRT_ENOMEM;
    (void)snprintf(corpus, sizeof corpus, "in use: %.64s, request %" PRIu32, w->options.scenario->name, seen->request);
    bool is_divergence = strcmp(seen->statistic, gsrt_contract_kind_word(GSRT_CONTRACT_DIVERGENCE)) == 0;
    gsrt_evidence_figure figure = {.statistic = is_divergence ? GSRT_CONTRACT_DIVERGENCE : GSRT_CONTRACT_ABSOLUTE_ERROR,
                                   .measured = seen->seen,
                                   .upper = seen->seen};
    gsrt_evidence e = *from;
    e.corpus = corpus;
    e.corpus_hash = hash;
    e.sequence_count = 1;
    e.position_count = seen->position + 1;
    e.confidence = GSRT_EVIDENCE_CONFIDENCE_MIN;
    e.coverage = 0.04; /* one sequence shows no more: it admits nothing, and need not */
    e.method = "the answer of a run, compared with a plain pass over weights as given; seen, not sampled";
    e.figures = &figure;
    e.figure_count = 1;
    return gsrt_evidence_list_add(&w->admission.evidence, &e, diag);
}

gsrt_status gsrt_watch_disable(gsrt_watch *w, const gsrt_violation_seen *seen, gsrt_plan *plan,
                               gsrt_buffer *out_evidence, gsrt_diag *diag)
{
    uint32_t count = 0;
    (void)pthread_mutex_lock(&w->mutex);
    while (!w->is_admitted)
        (void)pthread_cond_wait(&w->changed, &w->mutex);
    gsrt_status status = w->admission_status;
    (void)pthread_mutex_unlock(&w->mutex);
    if (status != GSRT_OK) {
        *diag = w->admission_diag;
        return status;
    }
    status = add_evidence(w, seen, diag);
    if (status == GSRT_OK)
        status = gsrt_evidence_list_print(&w->admission.evidence, out_evidence);
    if (status == GSRT_OK)
        status = gsrt_admission_disable(&w->admission, plan, &count);
    if (status == GSRT_OK && count == 0)
        status = GSRT_ECONTRACT;
    if (status == GSRT_ECONTRACT && diag->status == GSRT_OK)
        status = gsrt_diag_set(diag, status, w->options.scenario->file, "contract",
                               "was violated, and no plan without what violated it is kept");
    return status;
}
