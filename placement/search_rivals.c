/* Rejected rivals: the closest of each reason are kept while a search runs; when it ends, they become deployments with
 * texts for people.
 *
 * Two candidates with the same signature (who works together and how) are one rival: the closer one stands for both.
 */
#include "placement/search_impl.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const reasons[] = {
    GSRT_REASON_WORSE,
    GSRT_REASON_MEMORY,
    GSRT_REASON_LIMIT,
    GSRT_REASON_POWER,
    GSRT_REASON_CONTRACT_NARROWED,
    GSRT_REASON_CONTRACT_REORDERED,
    GSRT_REASON_CONTRACT_UNPROVEN,
    GSRT_REASON_CONTRACT_EVIDENCE,
    GSRT_REASON_LEGAL,
    GSRT_REASON_CAPABILITY,
    GSRT_REASON_UNKNOWN,
    GSRT_REASON_UNREACHABLE,
    GSRT_REASON_DIVISIBILITY,
    GSRT_REASON_ENGINES,
    GSRT_REASON_POLICY,
    GSRT_REASON_NOT_EXECUTABLE,
    GSRT_REASON_CONTEXT,
};
enum { REASON_COUNT = sizeof reasons / sizeof reasons[0] };

gsrt_status gsrt__rivals_init(gsrt__search *s)
{
    s->rivals = calloc((size_t)REASON_COUNT * GSRT__RIVALS_MAX, sizeof *s->rivals);
    s->rival_counts = calloc(REASON_COUNT, sizeof *s->rival_counts);
    return s->rivals == NULL || s->rival_counts == NULL ? GSRT_ENOMEM : GSRT_OK;
}

void gsrt__rivals_fini(gsrt__search *s)
{
    for (uint32_t r = 0; s->rivals != NULL && s->rival_counts != NULL && r < REASON_COUNT; r++)
        for (uint32_t i = 0; i < s->rival_counts[r]; i++)
            free(s->rivals[(size_t)r * GSRT__RIVALS_MAX + i].sketch);
    free(s->rivals);
    free(s->rival_counts);
}

static uint32_t reason_index(const char *reason)
{
    uint32_t r = 0;
    while (r < REASON_COUNT - 1 && strcmp(reasons[r], reason) != 0)
        r++;
    assert(strcmp(reasons[r], reason) == 0);
    return r;
}

/* How far off: 1 is just missed. What no number says is farthest. */
static double distance(const gsrt__judgement *j)
{
    if (j->needed <= 0 || j->available <= 0)
        return 1e300;
    return j->needed > j->available ? j->needed / j->available : j->available / j->needed;
}

/* Before b in the list of a reason: fewer constraints that fail, then closer. */
static bool is_closer(const gsrt__judgement *a, const gsrt__judgement *b)
{
    if (a->is_feasible)
        return gsrt__is_better(a, b);
    if (a->failure_count != b->failure_count)
        return a->failure_count < b->failure_count;
    return distance(a) < distance(b);
}

/* A sketch without its unused stages: what lies behind the last pool's last stage is not copied. */
static gsrt__sketch *sketch_kept(gsrt__sketch *room, const gsrt__sketch *sketch)
{
    gsrt__sketch *kept = room != NULL ? room : malloc(sizeof *kept);
    if (kept != NULL)
        gsrt__sketch_copy(kept, sketch);
    return kept;
}

void gsrt__rival_note(gsrt__search *s, const gsrt__sketch *sketch, const gsrt__judgement *judgement)
{
    const char *reason = judgement->is_feasible ? GSRT_REASON_WORSE : judgement->reason;
    uint32_t r = reason_index(reason), at, count = s->rival_counts[r];
    gsrt__rival *list = &s->rivals[(size_t)r * GSRT__RIVALS_MAX];
    uint64_t signature = gsrt__sketch_signature(sketch);
    for (at = 0; at < count && list[at].signature != signature; at++) {
    }
    if (at < count && !is_closer(judgement, &list[at].judgement))
        return;
    if (at == count && count == GSRT__RIVALS_MAX) {
        at = count - 1; /* the farthest makes room */
        if (!is_closer(judgement, &list[at].judgement))
            return;
    } else if (at == count) {
        list[at] = (gsrt__rival){0};
        s->rival_counts[r]++;
    }
    gsrt__rival rival = {.judgement = *judgement, .signature = signature};
    rival.sketch = sketch_kept(list[at].sketch, sketch);
    if (rival.sketch == NULL) {
        s->status = GSRT_ENOMEM;
        s->rival_counts[r] = count;
        return;
    }
    for (; at > 0 && is_closer(judgement, &list[at - 1].judgement); at--)
        list[at] = list[at - 1];
    list[at] = rival;
}

const gsrt__rival *gsrt__rival_of(const gsrt__search *s, const char *reason, uint32_t index)
{
    uint32_t r = reason_index(reason);
    return index < s->rival_counts[r] ? &s->rivals[(size_t)r * GSRT__RIVALS_MAX + index] : NULL;
}

/* ---- texts ---- */

static const char *text_of(gsrt_arena *arena, gsrt_buffer *buffer)
{
    const char *text = gsrt_arena_copy_text(arena, (const char *)buffer->data, buffer->len);
    gsrt_buffer_reset(buffer);
    return text;
}

static gsrt_status print_place(const gsrt__judgement *j, gsrt_buffer *out)
{
    gsrt_status status = GSRT_OK;
    if (j->pool != GSRT_NO_INDEX)
        status = gsrt_buffer_print(out, "pools[%u]", j->pool);
    if (status == GSRT_OK && j->pool != GSRT_NO_INDEX && j->stage != GSRT_NO_INDEX)
        status = gsrt_buffer_print(out, ".stages[%u]", j->stage);
    if (status == GSRT_OK && j->stage != GSRT_NO_INDEX && j->member != GSRT_NO_INDEX)
        status = gsrt_buffer_print(out, ".members[%u]", j->member);
    if (status == GSRT_OK && j->pool != GSRT_NO_INDEX)
        status = gsrt_buffer_append(out, ": ", 2);
    return status;
}

static gsrt_status print_constraint(const gsrt__judgement *j, const char *reason, gsrt_buffer *out)
{
    gsrt_status status = print_place(j, out);
    if (status != GSRT_OK)
        return status;
    if (strcmp(reason, GSRT_REASON_MEMORY) == 0)
        return gsrt_buffer_print(out, "memory of '%s'", j->what);
    if (strcmp(reason, GSRT_REASON_POWER) == 0)
        return gsrt_buffer_print(out, "power budget of '%s'", j->what);
    if (strcmp(reason, GSRT_REASON_LIMIT) == 0)
        return gsrt_buffer_print(out, "limit of %s", j->what);
    if (strcmp(reason, GSRT_REASON_WORSE) == 0)
        return gsrt_buffer_print(out, "objective");
    if (strncmp(j->what, "a way", 5) == 0)
        return gsrt_buffer_print(out, "there is not %s", j->what);
    if (strcmp(reason, GSRT_REASON_POLICY) == 0)
        return gsrt_buffer_print(out, "the site's rules bar '%s'", j->what);
    if (strcmp(reason, GSRT_REASON_UNKNOWN) == 0 || strcmp(reason, GSRT_REASON_CAPABILITY) == 0)
        return gsrt_buffer_print(out, "nobody stated %s", j->what);
    return gsrt_buffer_print(out, "%s", j->what);
}

/* Four digits of it, towards what admits still more. */
static gsrt_quantity rounded(const gsrt_quantity *q, bool is_up)
{
    gsrt_quantity short_of = *q;
    char text[32];
    if (!(q->value > 0))
        return short_of;
    int exponent = (int)floor(log10(q->value)) - 3;
    double digits = q->value / pow(10, exponent); /* but for what the division has lost */
    (void)snprintf(text, sizeof text, "%.0fe%d", is_up ? ceil(digits - 1e-9) : floor(digits + 1e-9), exponent);
    short_of.value = short_of.lo = short_of.hi = strtod(text, NULL);
    return short_of;
}

static gsrt_status print_change(const gsrt__judgement *j, const gsrt_rejection *r, gsrt_buffer *out)
{
    bool is_unstated = strcmp(r->reason, GSRT_REASON_UNKNOWN) == 0 || strcmp(r->reason, GSRT_REASON_CAPABILITY) == 0;
    if (j->failure_count > 1)
        return gsrt_buffer_print(out, "no single change: %u constraints fail", j->failure_count);
    if (!r->change_to.is_known)
        return gsrt_buffer_print(out,
                                 is_unstated && strncmp(j->what, "a way", 5) != 0 ? "stating it" : "no other number");
    const gsrt_quantity to = rounded(&r->change_to, r->change_to.value > r->available.value);
    gsrt_status status = gsrt_buffer_print(out, "%s of ",
                                           strcmp(r->reason, GSRT_REASON_MEMORY) == 0  ? "a capacity"
                                           : strcmp(r->reason, GSRT_REASON_POWER) == 0 ? "a budget"
                                                                                       : "a limit");
    if (status == GSRT_OK)
        status = gsrt_quantity_print(&to, out);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, " instead of ");
    const gsrt_quantity from = rounded(&r->available, false);
    return status == GSRT_OK ? gsrt_quantity_print(&from, out) : status;
}

static gsrt_status describe(gsrt__search *s, const gsrt__judgement *j, gsrt_arena *arena, gsrt_rejection *r)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_SEARCH_TEXT_BYTES_MAX);
    r->reason = j->is_feasible ? GSRT_REASON_WORSE : j->reason;
    if (j->is_feasible) {
        r->needed = s->best_judgement.objective;
        r->available = j->objective;
    } else if (j->needed > 0 || j->available > 0) {
        r->needed = gsrt_quantity_exact(j->needed, j->dimension);
        r->available = gsrt_quantity_exact(j->available, j->dimension);
    }
    if (j->change_to >= 0 && !j->is_feasible && j->failure_count == 1)
        r->change_to = gsrt_quantity_exact(j->change_to, j->dimension);
    gsrt_status status = GSRT_OK;
    if (j->constraint != NULL)
        status = gsrt_buffer_print(&text, "%s", j->constraint);
    else
        status = print_constraint(j, r->reason, &text);
    if (status == GSRT_OK && (r->constraint = text_of(arena, &text)) == NULL)
        status = GSRT_ENOMEM;
    if (status == GSRT_OK && j->change != NULL && j->failure_count == 1)
        status = gsrt_buffer_print(&text, "%s", j->change);
    else if (status == GSRT_OK && j->is_feasible)
        status = gsrt_buffer_print(&text, "it is admitted, and was not chosen");
    else if (status == GSRT_OK)
        status = print_change(j, r, &text);
    if (status == GSRT_OK && (r->change = text_of(arena, &text)) == NULL)
        status = GSRT_ENOMEM;
    gsrt_buffer_fini(&text);
    return status;
}

/* ---- the result ---- */

/* Bits of the classes that take part; classes past 64 share bits. */
static uint64_t classes_of(const gsrt__sketch *sketch)
{
    uint64_t bits = 0;
    for (uint32_t p = 0; p < sketch->pool_count; p++)
        for (uint32_t i = 0; i < sketch->pools[p].stage_count; i++)
            for (uint32_t m = 0; m < sketch->pools[p].stages[i].member_count; m++)
                bits |= UINT64_C(1) << (sketch->pools[p].stages[i].members[m].class % 64);
    return bits;
}

/* A rival that uses other engines than all that were taken of this reason so far, or any other in the second round. */
static gsrt__rival *next_of(gsrt__search *s, uint32_t r, const bool *is_taken)
{
    gsrt__rival *list = &s->rivals[(size_t)r * GSRT__RIVALS_MAX], *any = NULL;
    for (uint32_t i = 0; i < s->rival_counts[r]; i++) {
        if (is_taken[i] || (s->has_best && list[i].signature == gsrt__sketch_signature(&s->best)))
            continue;
        bool is_new = true;
        for (uint32_t k = 0; k < s->rival_counts[r]; k++)
            is_new = is_new && !(is_taken[k] && classes_of(list[k].sketch) == classes_of(list[i].sketch));
        if (is_new)
            return &list[i];
        any = any == NULL ? &list[i] : any;
    }
    return any;
}

static gsrt_status rival_made(gsrt__search *s, gsrt__rival *from, gsrt_search_result *result)
{
    gsrt_rival *to = &result->rivals[result->rival_count];
    gsrt_deployment *d = NULL;
    uint32_t full;
    gsrt_status status = gsrt__sketch_deploy(s, from->sketch, &d, &full);
    if (status != GSRT_OK)
        return status;
    if (from->judgement.objective.is_known)
        from->judgement.objective = gsrt__objective_of(s, d);
    *to = (gsrt_rival){.deployment = d, .objective = from->judgement.objective};
    result->rival_count++;
    if (s->status != GSRT_OK)
        return s->status;
    return describe(s, &from->judgement, &result->arena, &to->rejection);
}

/* Round by round, one of each reason, until there is no more room. */
gsrt_status gsrt__rivals_report(gsrt__search *s, gsrt_search_result *result)
{
    static_assert(GSRT__RIVALS_MAX < 1000, "the flags below are small");
    bool is_taken[REASON_COUNT][GSRT__RIVALS_MAX] = {0};
    uint32_t room = s->options->kept_max, before;
    result->rivals = gsrt_arena_take(&result->arena, room, sizeof *result->rivals);
    if (result->rivals == NULL)
        return GSRT_ENOMEM;
    do {
        before = result->rival_count;
        for (uint32_t r = 0; r < REASON_COUNT && result->rival_count < room; r++) {
            gsrt__rival *rival = next_of(s, r, is_taken[r]);
            if (rival == NULL)
                continue;
            is_taken[r][rival - &s->rivals[(size_t)r * GSRT__RIVALS_MAX]] = true;
            gsrt_status status = rival_made(s, rival, result);
            if (status != GSRT_OK)
                return status;
        }
    } while (result->rival_count > before && result->rival_count < room);
    return GSRT_OK;
}
