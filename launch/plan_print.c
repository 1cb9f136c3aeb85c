#include "launch/plan_print.h"

#include "launch/plan_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 6 };

/* The first failure stays. */
typedef struct page {
    const json_t *plan;
    gsrt_buffer *out;
    gsrt_status status;
    bool is_long;
} page;

static void put(page *p, const char *format, ...) GSRT_PRINTF(2, 3);

static void put(page *p, const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (len > 0 && p->status == GSRT_OK)
        p->status = gsrt_buffer_append(p->out, text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1);
}

static const char *text_at(const json_t *object, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? otherwise : text;
}

static double number_at(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* "12.3 ms" of {value, lo, hi, unit}; "unknown". */
static const char *quantity(const json_t *q, char room[GSRT_PLAN_WORDS_BYTES])
{
    if (json_is_object(q))
        return gsrt_plan_value(number_at(q, "value"), text_at(q, "unit", ""), room);
    (void)snprintf(room, GSRT_PLAN_WORDS_BYTES, "unknown");
    return room;
}

static const char *bound(const json_t *q, const char *key, char room[GSRT_PLAN_WORDS_BYTES])
{
    if (json_is_number(json_object_get(q, key)))
        return gsrt_plan_value(number_at(q, key), text_at(q, "unit", ""), room);
    (void)snprintf(room, GSRT_PLAN_WORDS_BYTES, "any");
    return room;
}

static size_t shown_of(const page *p, const json_t *list)
{
    size_t count = json_array_size(list);
    return p->is_long || count <= SHOWN ? count : SHOWN;
}

static void put_rest(page *p, const json_t *list)
{
    if (shown_of(p, list) < json_array_size(list))
        put(p, "  and %zu more\n", json_array_size(list) - shown_of(p, list));
}

static void put_lines(page *p, const char *title, const char *key)
{
    const json_t *list = json_object_get(p->plan, key);
    if (json_array_size(list) == 0)
        return;
    put(p, "%s\n", title);
    for (size_t i = 0; i < json_array_size(list); i++)
        put(p, "  %s\n",
            json_string_value(json_array_get(list, i)) == NULL ? "" : json_string_value(json_array_get(list, i)));
}

/* ---- sections ---- */

/* Into how many parts some stage of a pool divides the context. */
static json_int_t most_parts(const json_t *pool)
{
    const json_t *stages = json_object_get(pool, "stages");
    json_int_t most = 1;
    for (size_t i = 0; i < json_array_size(stages); i++) {
        json_int_t parts = json_integer_value(json_object_get(json_array_get(stages, i), "context_width"));
        most = parts > most ? parts : most;
    }
    return most;
}

static void put_choice(page *p)
{
    const json_t *choice = json_object_get(p->plan, "choice");
    const json_t *pools = json_object_get(choice, "pools");
    const json_t *search = json_object_get(p->plan, "search");
    if (!json_is_object(choice)) {
        put(p, "no plan is feasible (%s, %" JSON_INTEGER_FORMAT " evaluations)\n", text_at(search, "policy", "?"),
            json_integer_value(json_object_get(search, "evaluations")));
        return;
    }
    put(p, "choice\n  %s\n", text_at(choice, "words", "?"));
    for (size_t i = 0; i < json_array_size(pools); i++) {
        const json_t *pool = json_array_get(pools, i);
        put(p,
            "  pool %zu: %" JSON_INTEGER_FORMAT " replica(s) of %zu stage(s), batches of %" JSON_INTEGER_FORMAT
            ", prompts in chunks of %" JSON_INTEGER_FORMAT "\n",
            i, json_integer_value(json_object_get(pool, "replicas")), json_array_size(json_object_get(pool, "stages")),
            json_integer_value(json_object_get(pool, "batch_max")),
            json_integer_value(json_object_get(pool, "prefill_tokens")));
        if (json_integer_value(json_object_get(pool, "draft_tokens")) > 0)
            put(p, "          %" JSON_INTEGER_FORMAT " tokens drafted for each step\n",
                json_integer_value(json_object_get(pool, "draft_tokens")));
        json_int_t parts = most_parts(pool);
        if (parts > 1)
            put(p,
                "          the positions of a sequence in %" JSON_INTEGER_FORMAT " parts, attention over each merged\n",
                parts);
        if (json_number_value(json_object_get(pool, "kv_offload")) > 0)
            put(p, "          %g %% of the KV in a second memory tier, read from there in each step\n",
                100 * json_number_value(json_object_get(pool, "kv_offload")));
    }
    const json_t *regions = json_object_get(choice, "regions");
    for (size_t i = 0; i < shown_of(p, regions); i++) {
        const json_t *r = json_array_get(regions, i);
        put(p, "  %s .. %s: weights %s, KV %s, computed in %s, %s\n", text_at(r, "first", "?"), text_at(r, "last", "?"),
            text_at(r, "weights", "?"), text_at(r, "state", "?"), text_at(r, "compute", "?"),
            text_at(r, "arithmetic", "?"));
    }
    put_rest(p, regions);
    if (json_is_false(json_object_get(p->plan, "executable")))
        put(p, "  not executable: %s\n", text_at(p->plan, "missing", "?"));
}

static void put_predictions(page *p)
{
    const json_t *list = json_object_get(p->plan, "predictions");
    char value[GSRT_PLAN_WORDS_BYTES], lo[GSRT_PLAN_WORDS_BYTES], hi[GSRT_PLAN_WORDS_BYTES];
    put(p, "predicted          value        from         to\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i), *q = json_object_get(row, "value");
        char name[32];
        (void)snprintf(name, sizeof name, "%.16s %.8s", text_at(row, "measure", "?"), text_at(row, "percentile", ""));
        if (json_is_object(q) && strcmp(text_at(row, "measure", ""), "memory") == 0)
            put(p, "  %-16s %.3g %% of the fullest\n", name, number_at(q, "value") * 100);
        else if (json_is_object(q))
            put(p, "  %-16s %-12s %-12s %s\n", name, quantity(q, value), bound(q, "lo", lo), bound(q, "hi", hi));
        else
            put(p, "  %-16s unknown\n", name);
    }
}

/* Where requests are served, where it matters where they come from. */
static void put_served(page *p)
{
    const json_t *list = json_object_get(p->plan, "served");
    char more[GSRT_PLAN_WORDS_BYTES];
    if (json_array_size(list) > 0)
        put(p, "served in          requests     to the first token\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *r = json_array_get(list, i);
        char share[16];
        (void)snprintf(share, sizeof share, "%.3g %%", 100 * number_at(r, "share"));
        if (json_is_true(json_object_get(r, "origin")))
            put(p, "  %-16s %-12s they come from there\n", text_at(r, "region", "?"), share);
        else if (json_is_true(json_object_get(r, "enters")))
            put(p, "  %-16s %-12s %s more: they spill\n", text_at(r, "region", "?"), share,
                quantity(json_object_get(r, "more"), more));
        else
            put(p, "  %-16s %-12s a part of each is computed there\n", text_at(r, "region", "?"), share);
    }
}

static void put_memory(page *p)
{
    const json_t *list = json_object_get(p->plan, "memory");
    char w[GSRT_PLAN_WORDS_BYTES], s[GSRT_PLAN_WORDS_BYTES], b[GSRT_PLAN_WORDS_BYTES], c[GSRT_PLAN_WORDS_BYTES],
        k[GSRT_PLAN_WORDS_BYTES];
    put(p, "memory             weights      KV           buffers      peak         of\n");
    for (size_t i = 0; i < shown_of(p, list); i++) {
        const json_t *m = json_array_get(list, i);
        put(p, "  %-16s %-12s %-12s %-12s %-12s %s\n", text_at(m, "of", "?"),
            quantity(json_object_get(m, "weights"), w), quantity(json_object_get(m, "state"), s),
            quantity(json_object_get(m, "buffers"), b), quantity(json_object_get(m, "peak"), k),
            quantity(json_object_get(m, "capacity"), c));
        const json_t *far = json_object_get(m, "offloaded");
        if (json_is_object(far))
            put(p, "    offloaded to %s: KV %s; with all that reach it %s of %s\n", text_at(far, "to", "?"),
                quantity(json_object_get(far, "state"), s), quantity(json_object_get(far, "held"), b),
                quantity(json_object_get(far, "capacity"), c));
    }
    put_rest(p, list);
}

static void put_topology(page *p)
{
    put_lines(p, "topology (* is used)", "topology");
}

static void put_why(page *p)
{
    put_lines(p, "why this one", "why");
}

static void put_binding(page *p)
{
    const json_t *list = json_object_get(p->plan, "binding");
    char used[GSRT_PLAN_WORDS_BYTES], available[GSRT_PLAN_WORDS_BYTES];
    if (json_array_size(list) == 0)
        return;
    put(p, "constraints, the tightest first\n");
    for (size_t i = 0; i < shown_of(p, list); i++) {
        const json_t *b = json_array_get(list, i);
        put(p, "  %s: %s of %s (%.3g %%)\n", text_at(b, "constraint", "?"), quantity(json_object_get(b, "used"), used),
            quantity(json_object_get(b, "available"), available), number_at(b, "share") * 100);
    }
    put_rest(p, list);
}

static void put_proofs(page *p)
{
    const json_t *list = json_object_get(p->plan, "proofs");
    if (json_array_size(list) == 0)
        return;
    put(p, "the contract is kept\n");
    for (size_t i = 0; i < shown_of(p, list); i++) {
        const json_t *t = json_array_get(list, i);
        put(p, "  %s in %" JSON_INTEGER_FORMAT " region(s): %s, by %s: %s\n", text_at(t, "transformation", "?"),
            json_integer_value(json_object_get(t, "regions")), text_at(t, "effect", "?"),
            text_at(t, "admitted_by", "?"), text_at(t, "because", "?"));
    }
    put_rest(p, list);
}

static void put_assumptions(page *p)
{
    put_lines(p, "assumed", "assumptions");
}

static void put_debt(page *p)
{
    const json_t *list = json_object_get(p->plan, "debt");
    char value[GSRT_PLAN_WORDS_BYTES];
    if (json_array_size(list) == 0)
        return;
    put(p, "debt: inputs that nobody sourced, the most influential first\n");
    for (size_t i = 0; i < shown_of(p, list); i++) {
        const json_t *d = json_array_get(list, i);
        put(p, "  %s: %s (%s)\n", text_at(d, "what", "?"), quantity(json_object_get(d, "value"), value),
            text_at(json_object_get(d, "value"), "source", "no source"));
    }
    put_rest(p, list);
}

/* Where something was rehearsed. */
static const char *where_of(const json_t *rehearsed)
{
    return strcmp(text_at(rehearsed, "world", ""), "real") == 0 ? "on this machine" : "in the twin";
}

static void put_loss(page *p, const json_t *rehearsed)
{
    const json_t *recovered = json_object_get(rehearsed, "recovered_ms");
    if (!json_is_object(rehearsed) || json_integer_value(json_object_get(rehearsed, "exit")) != 0)
        return;
    if (strcmp(text_at(rehearsed, "method", ""), "none") == 0) {
        put(p, "    %s: the answers had ended before it was missed\n", where_of(rehearsed));
        return;
    }
    put(p, "    %s: %s", where_of(rehearsed), text_at(rehearsed, "method", "?"));
    if (json_is_number(recovered))
        put(p, ", the next token %.3g ms after %s", json_number_value(recovered),
            json_is_number(json_object_get(rehearsed, "detected_ms")) ? "the loss" : "it was seen");
    put(p, "%s\n", json_is_true(json_object_get(rehearsed, "verified")) ? ", same tokens as the reference" : "");
}

static void put_fallbacks(page *p)
{
    const json_t *list = json_object_get(p->plan, "fallbacks");
    char value[GSRT_PLAN_WORDS_BYTES];
    if (json_array_size(list) == 0)
        return;
    put(p, "when something is lost\n");
    for (size_t i = 0; i < shown_of(p, list); i++) {
        const json_t *f = json_array_get(list, i);
        if (json_is_true(json_object_get(f, "protected")))
            put(p, "  %s: %s, %s%s: %s\n", text_at(f, "without", "?"), text_at(f, "way", "?"),
                quantity(json_object_get(f, "objective"), value),
                json_is_true(json_object_get(f, "misses_limits")) ? ", missing a limit" : "", text_at(f, "plan", "?"));
        else
            put(p, "  %s: NOT protected: %s\n", text_at(f, "without", "?"), text_at(f, "why", "?"));
        put_loss(p, json_object_get(f, "rehearsed"));
    }
    put_rest(p, list);
    json_int_t left_out = json_integer_value(json_object_get(p->plan, "fallbacks_left_out"));
    if (left_out > 0)
        put(p, "  %" JSON_INTEGER_FORMAT " more that can be lost were not planned for\n", left_out);
}

static void put_rehearsal(page *p)
{
    const json_t *list = json_object_get(p->plan, "rehearsal");
    char predicted[GSRT_PLAN_WORDS_BYTES], observed[GSRT_PLAN_WORDS_BYTES], lo[GSRT_PLAN_WORDS_BYTES],
        hi[GSRT_PLAN_WORDS_BYTES];
    if (json_array_size(list) == 0)
        return;
    put(p, "rehearsed %s (* is chosen)\n", where_of(json_array_get(list, 0)));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *r = json_array_get(list, i), *q = json_object_get(r, "predicted");
        const char *unit = text_at(q, "unit", "");
        json_int_t exit_code = json_integer_value(json_object_get(r, "exit"));
        put(p, "%s predicted %s, ", json_is_true(json_object_get(r, "chosen")) ? "*" : " ", quantity(q, predicted));
        if (exit_code != 0)
            put(p, "ended with exit code %" JSON_INTEGER_FORMAT, exit_code);
        else if (json_is_number(json_object_get(r, "observed")))
            put(p, "observed %s", gsrt_plan_value(number_at(r, "observed"), unit, observed));
        else
            put(p, "which is not observed");
        if (json_is_false(json_object_get(r, "within")))
            put(p, " (outside of %s to %s)", bound(q, "lo", lo), bound(q, "hi", hi));
        if (json_is_string(json_object_get(r, "misses_limit")))
            put(p, ", MISSES A LIMIT: %s", text_at(r, "misses_limit", "?"));
        put(p, "%s: %s (%s)\n", json_is_true(json_object_get(r, "verified")) ? ", same tokens as the reference" : "",
            text_at(r, "plan", "?"), text_at(r, "run", "?"));
    }
}

static void put_rejected(page *p)
{
    const json_t *list = json_object_get(p->plan, "rejected");
    char needed[GSRT_PLAN_WORDS_BYTES], available[GSRT_PLAN_WORDS_BYTES];
    if (json_array_size(list) == 0)
        return;
    put(p, "rejected\n");
    for (size_t i = 0; i < shown_of(p, list); i++) {
        const json_t *r = json_array_get(list, i);
        put(p, "  %s: %s\n    ", text_at(r, "reason", "?"), text_at(r, "plan", "?"));
        if (strcmp(text_at(r, "reason", ""), "worse") == 0) {
            put(p, "%s instead of %s\n", quantity(json_object_get(r, "objective"), needed),
                quantity(json_object_get(r, "needed"), available));
            continue;
        }
        bool is_rehearsed = strcmp(text_at(r, "reason", ""), "rehearsed") == 0;
        put(p, "%s", text_at(r, "constraint", "?"));
        if (is_rehearsed && json_is_object(json_object_get(r, "available")))
            put(p, ": %s instead of %s", quantity(json_object_get(r, "available"), available),
                quantity(json_object_get(r, "needed"), needed));
        else if (json_is_object(json_object_get(r, "needed")))
            put(p, "; needed %s, there is %s", quantity(json_object_get(r, "needed"), needed),
                quantity(json_object_get(r, "available"), available));
        if (!is_rehearsed && json_is_string(json_object_get(r, "change")))
            put(p, "; admitted by %s", text_at(r, "change", "?"));
        put(p, "\n");
    }
    put_rest(p, list);
}

static void put_search(page *p)
{
    const json_t *search = json_object_get(p->plan, "search");
    put(p, "search: %s, %" JSON_INTEGER_FORMAT " evaluations, with a budget of %" JSON_INTEGER_FORMAT,
        text_at(search, "policy", "?"), json_integer_value(json_object_get(search, "evaluations")),
        json_integer_value(json_object_get(search, "budget")));
    if (json_is_number(json_object_get(search, "gap")))
        put(p, ", gap at most %.3g %%", number_at(search, "gap") * 100);
    put(p, "\n");
}

static const struct {
    const char *name;
    void (*put)(page *p);
} sections[] = {
    {"choice", put_choice},     {"predictions", put_predictions}, {"served", put_served},
    {"memory", put_memory},     {"topology", put_topology},       {"why", put_why},
    {"binding", put_binding},   {"proofs", put_proofs},           {"assumptions", put_assumptions},
    {"debt", put_debt},         {"fallbacks", put_fallbacks},     {"rehearsal", put_rehearsal},
    {"rejected", put_rejected}, {"search", put_search},
};
enum { SECTION_COUNT = sizeof sections / sizeof sections[0] };

const char *gsrt_plan_section_name(size_t index)
{
    return index < SECTION_COUNT ? sections[index].name : NULL;
}

/* Names come from files: what moves a cursor or hides text becomes '?'. */
static void clean(gsrt_buffer *out, size_t start)
{
    for (size_t i = start; i < out->len; i++) {
        if ((out->data[i] < 0x20 && out->data[i] != '\n') || out->data[i] == 0x7f)
            out->data[i] = '?';
    }
}

/* ---- what a prediction rests on ---- */

static const json_t *prediction_of(const json_t *plan, const char *what)
{
    const json_t *list = json_object_get(plan, "predictions");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        char name[48];
        (void)snprintf(name, sizeof name, "%.16s.%.8s", text_at(row, "measure", ""), text_at(row, "percentile", ""));
        if (strcmp(text_at(row, "measure", ""), what) == 0 || strcmp(name, what) == 0)
            return row;
    }
    return NULL;
}

/* Nothing follows where an input is unknown: which ones are. */
static void put_unstated(page *p, const json_t *row)
{
    const json_t *list = json_object_get(row, "influences");
    put(p, "%s %s: unknown, because nobody states\n", text_at(row, "measure", "?"), text_at(row, "percentile", ""));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (strcmp(text_at(item, "kind", ""), "input") == 0 && !json_is_object(json_object_get(item, "value")))
            put(p, "  %s\n", text_at(item, "what", "?"));
    }
}

static void put_cone(page *p, const json_t *row)
{
    const json_t *list = json_object_get(row, "influences"), *q = json_object_get(row, "value");
    char value[GSRT_PLAN_WORDS_BYTES], lo[GSRT_PLAN_WORDS_BYTES], hi[GSRT_PLAN_WORDS_BYTES];
    const char *unit = text_at(q, "unit", "");
    if (!json_is_object(q)) {
        put_unstated(p, row);
        return;
    }
    put(p, "%s %s: %s, %s to %s; it rests on %" JSON_INTEGER_FORMAT " inputs and errors\n",
        text_at(row, "measure", "?"), text_at(row, "percentile", ""), quantity(q, value), bound(q, "lo", lo),
        bound(q, "hi", hi), json_integer_value(json_object_get(row, "rests_on")));
    put(p, "  moves it by    what\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i), *its = json_object_get(item, "value");
        char width[GSRT_PLAN_WORDS_BYTES];
        bool is_input = strcmp(text_at(item, "kind", ""), "input") == 0;
        put(p, "  %-14s %s%s", gsrt_plan_value(number_at(item, "width"), unit, width), is_input ? "" : "error of ",
            text_at(item, "what", "?"));
        if (is_input)
            put(p, " = %s (%s)", quantity(its, value), text_at(its, "source", "no source"));
        put(p, "%s\n", json_is_true(json_object_get(item, "debt")) ? " DEBT" : "");
    }
}

gsrt_status gsrt_plan_print_section(const json_t *plan, const char *section, gsrt_buffer *out)
{
    page p = {.plan = plan, .out = out, .is_long = true};
    size_t start = out->len;
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (strcmp(sections[i].name, section) == 0) {
            sections[i].put(&p);
            if (out->len == start)
                put(&p, "%s: nothing of the kind in this plan\n", section);
            clean(out, start);
            return p.status;
        }
    }
    const json_t *row = prediction_of(plan, section);
    if (row == NULL)
        return GSRT_ENOTFOUND;
    put_cone(&p, row);
    clean(out, start);
    return p.status;
}

gsrt_status gsrt_plan_print_page(const json_t *plan, bool is_long, gsrt_buffer *out)
{
    page p = {.plan = plan, .out = out, .is_long = is_long};
    size_t start = out->len;
    const json_t *workload = json_object_get(plan, "workload"), *fleet = json_object_get(plan, "fleet");
    const char *percentile = text_at(json_object_get(plan, "objective"), "percentile", "");
    put(&p, "%s: %s (%s) on %s, %" JSON_INTEGER_FORMAT " engine(s); objective %s%s%s\n\n", text_at(plan, "name", "?"),
        text_at(workload, "name", "?"), text_at(workload, "architecture", "?"), text_at(fleet, "name", "?"),
        json_integer_value(json_object_get(fleet, "engines")),
        text_at(json_object_get(plan, "objective"), "measure", "?"), *percentile == 0 ? "" : " ", percentile);
    bool has_choice = json_is_object(json_object_get(plan, "choice"));
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        bool is_of_choice = i >= 1 && i <= 9 && sections[i].put != put_topology && sections[i].put != put_assumptions;
        if (has_choice || !is_of_choice)
            sections[i].put(&p);
    }
    clean(out, start);
    return p.status;
}
