#include "bench/helix_files.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 96 };

/* Words between white space; `line` is kept for messages. */
typedef struct words {
    gsrt_span text;
    size_t at, line;
    char word[WORD_BYTES]; /* the one that was read; cut when longer */
} words;

/* A zero would end the word. */
static char printable(uint8_t byte)
{
    return byte == 0 ? '?' : (char)byte;
}

static bool next_word(words *w)
{
    while (w->at < w->text.len && isspace(w->text.data[w->at])) {
        w->line += w->text.data[w->at] == '\n';
        w->at += 1;
    }
    size_t len = 0;
    for (; w->at < w->text.len && !isspace(w->text.data[w->at]); w->at++)
        if (len + 1 < WORD_BYTES)
            w->word[len++] = printable(w->text.data[w->at]);
    w->word[len] = 0;
    return len > 0;
}

/* The next line without its end, as the word; cut when longer. */
static bool next_line(words *w)
{
    if (w->at >= w->text.len)
        return false;
    size_t len = 0;
    for (; w->at < w->text.len && w->text.data[w->at] != '\n'; w->at++)
        if (len + 1 < WORD_BYTES && w->text.data[w->at] != '\r')
            w->word[len++] = printable(w->text.data[w->at]);
    w->at += 1;
    w->line += 1;
    w->word[len] = 0;
    return true;
}

static gsrt_status wrong(const words *w, const char *file, gsrt_diag *diag, const char *what)
{
    char place[48];
    (void)snprintf(place, sizeof place, "line %zu", w->line + 1);
    return gsrt_diag_set(diag, GSRT_EINPUT, file, place, "%s: '%s'", what, w->word);
}

/* A whole number below `end` at the start of text; *rest: what follows. */
static bool whole_number(const char *text, uint32_t end, uint32_t *out, const char **rest)
{
    uint32_t value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9'; c++) {
        value = value * 10 + (uint32_t)(*c - '0');
        if (value >= end)
            return false;
    }
    *out = value;
    *rest = c;
    return c != text;
}

/* "source", "sink" or a node at the start of text. */
static bool end_of_link(const char *text, uint32_t *out, const char **rest)
{
    static const struct {
        const char *word;
        uint32_t index;
    } ends[] = {{"source", GSRT_HELIX_SOURCE}, {"sink", GSRT_HELIX_SINK}};
    for (size_t i = 0; i < 2; i++)
        if (strncmp(text, ends[i].word, strlen(ends[i].word)) == 0) {
            *out = ends[i].index;
            *rest = text + strlen(ends[i].word);
            return true;
        }
    return whole_number(text, GSRT_HELIX_NODE_COUNT_MAX, out, rest);
}

/* "0<mark>sink" -> 64, 65; all of the text. */
static bool link_of(const char *text, char mark, uint32_t *from, uint32_t *to)
{
    const char *rest;
    return end_of_link(text, from, &rest) && *rest == mark && end_of_link(rest + 1, to, &rest) && *rest == 0;
}

static bool is_throughput(double value)
{
    return isfinite(value) && value >= 0.0;
}

/* After "name<mark>": the rest; NULL: another name. */
static const char *after(const char *text, const char *name)
{
    size_t len = strlen(name);
    return strncmp(text, name, len) == 0 ? text + len : NULL;
}

/* ---- the integer program */

/* node_throughput_constraint_I: - T hold_I_K ... ; a number followed by such a word is a coefficient. */
static bool take_coefficient(gsrt_helix_problem *p, uint32_t node, const char *hold, double value)
{
    uint32_t index, count;
    const char *rest;
    if (!whole_number(hold, GSRT_HELIX_NODE_COUNT_MAX, &index, &rest) || *rest != '_' || index != node ||
        !whole_number(rest + 1, GSRT_HELIX_LAYERS_MAX + 1, &count, &rest) || *rest != 0 || count == 0 ||
        !is_throughput(value))
        return false;
    p->throughput[node][count - 1] = value;
    if (count > p->layers_max[node])
        p->layers_max[node] = count;
    if (node >= p->node_count)
        p->node_count = node + 1;
    return true;
}

gsrt_status gsrt_helix_read_program(gsrt_span text, const char *file, gsrt_diag *diag, gsrt_helix_problem *out)
{
    words w = {.text = text};
    gsrt_helix_problem p = {0};
    enum { OTHER, THROUGHPUT, LINK, END } kind = OTHER;
    uint32_t node = 0, from = 0, to = 0;
    double number = NAN;
    while (next_word(&w) && strcmp(w.word, "Bounds") != 0) {
        const char *rest, *name;
        size_t len = strlen(w.word);
        if (w.word[len - 1] == ':') {
            w.word[len - 1] = 0;
            kind = after(w.word, "end_constraint_") != NULL ? END : OTHER;
            if ((name = after(w.word, "node_throughput_constraint_")) != NULL) {
                kind = THROUGHPUT;
                if (!whole_number(name, GSRT_HELIX_NODE_COUNT_MAX, &node, &rest) || *rest != 0)
                    return wrong(&w, file, diag, "no such node");
            } else if ((name = after(w.word, "edge_flow_constr_")) != NULL) {
                kind = LINK;
                if (!link_of(name, '_', &from, &to))
                    return wrong(&w, file, diag, "no such link");
            }
            number = NAN;
            continue;
        }
        char *end;
        double value = strtod(w.word, &end);
        if (*end == 0) {
            number = value;
            if (kind == END && value >= 1.0 && value <= (double)GSRT_LAYER_COUNT_MAX)
                p.layer_count = (uint32_t)value; /* the last number of the row is its right side */
            continue;
        }
        if (kind == THROUGHPUT && (name = after(w.word, "hold_")) != NULL && !take_coefficient(&p, node, name, number))
            return wrong(&w, file, diag, "no throughput of this node");
        if (kind == LINK && after(w.word, "switch_") != NULL) {
            if (!is_throughput(number))
                return wrong(&w, file, diag, "a link without a capacity");
            p.links[from][to] = number;
        }
        number = NAN;
    }
    if (p.node_count == 0 || p.layer_count == 0)
        return wrong(&w, file, diag, "no program of this kind");
    *out = p;
    return GSRT_OK;
}

/* ---- the cluster */

/* "1000 * mbps": as Helix counts, bytes per second. */
static bool bandwidth_of(const char *text, double *out)
{
    static const struct {
        const char *word;
        double value;
    } units[] = {{"kbps", 1e3}, {"mbps", 1e6}, {"gbps", 1e9}};
    char *rest;
    double value = strtod(text, &rest);
    while (*rest == ' ' || *rest == '*')
        rest += 1;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(rest, units[i].word) == 0 && is_throughput(value)) {
            *out = value * units[i].value;
            return true;
        }
    return false;
}

gsrt_status gsrt_helix_read_cluster(gsrt_span text, const char *file, gsrt_diag *diag, gsrt_helix_problem *out)
{
    words w = {.text = text};
    gsrt_helix_problem p = {0};
    enum { OTHER, NODE, LINK } kind = OTHER;
    uint32_t node = 0, from = 0, to = 0;
    while (next_line(&w)) {
        const char *rest, *name;
        size_t len = strlen(w.word);
        if (len > 0 && w.word[0] == '[' && w.word[len - 1] == ']') {
            w.word[len - 1] = 0;
            kind = OTHER;
            if ((name = after(w.word, "[ComputeNode-")) != NULL) {
                kind = NODE;
                if (!whole_number(name, GSRT_HELIX_NODE_COUNT_MAX, &node, &rest) || *rest != 0)
                    return wrong(&w, file, diag, "no such node");
                p.node_count = node >= p.node_count ? node + 1 : p.node_count;
            } else if ((name = after(w.word, "[Link-")) != NULL) {
                kind = LINK;
                if (!link_of(name, '-', &from, &to))
                    return wrong(&w, file, diag, "no such link");
            }
        } else if (kind == NODE && (name = after(w.word, "type=")) != NULL) {
            if (strlen(name) == 0 || strlen(name) >= GSRT_HELIX_TYPE_BYTES)
                return wrong(&w, file, diag, "no type of machine");
            (void)snprintf(p.types[node], sizeof p.types[node], "%s", name);
        } else if (kind == LINK && (name = after(w.word, "bandwidth=")) != NULL) {
            if (!bandwidth_of(name, &p.links[from][to]))
                return wrong(&w, file, diag, "no bandwidth");
            if (from != GSRT_HELIX_SOURCE && to != GSRT_HELIX_SINK)
                p.links[to][from] = p.links[from][to]; /* both ways */
        }
    }
    for (uint32_t i = 0; i < p.node_count; i++)
        if (p.types[i][0] == 0)
            return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "ComputeNode-%u has no type", i);
    if (p.node_count == 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "no compute nodes");
    *out = p;
    return GSRT_OK;
}

/* ---- profiles, placements, objectives */

gsrt_status gsrt_helix_read_profile(gsrt_span text, const char *file, gsrt_diag *diag, gsrt_helix_profile *out)
{
    words w = {.text = text};
    gsrt_helix_profile p = {0};
    while (next_word(&w)) {
        const char *rest;
        char *end;
        if (p.count == GSRT_HELIX_POINT_COUNT_MAX)
            return wrong(&w, file, diag, "too many points");
        if (!whole_number(w.word, 1000000, &p.tokens[p.count], &rest) || *rest != ',' ||
            (p.count > 0 && p.tokens[p.count] <= p.tokens[p.count - 1]))
            return wrong(&w, file, diag, "no number of tokens above the last one");
        p.layer_ms[p.count] = strtod(rest + 1, &end);
        if (end == rest + 1 || *end != 0 || !is_throughput(p.layer_ms[p.count]))
            return wrong(&w, file, diag, "no time in ms");
        p.count += 1;
    }
    if (p.count == 0)
        return wrong(&w, file, diag, "no points");
    *out = p;
    return GSRT_OK;
}

gsrt_status gsrt_helix_read_placement(gsrt_span text, const char *file, gsrt_diag *diag, gsrt_flow_hold *out)
{
    words w = {.text = text};
    gsrt_flow_hold holds[GSRT_HELIX_NODE_COUNT_MAX] = {0}, *hold = NULL;
    uint32_t offset = 0;
    while (next_word(&w)) {
        const char *rest, *name = after(w.word, "offset=");
        uint32_t index, layer;
        if (name != NULL && (!whole_number(name, GSRT_HELIX_NODE_COUNT_MAX, &offset, &rest) || *rest != 0))
            return wrong(&w, file, diag, "no offset");
        const char *number = w.word;
        if ((name = after(w.word, "compute_node_")) != NULL) {
            if (!whole_number(name, GSRT_HELIX_NODE_COUNT_MAX + offset, &index, &rest) || index < offset ||
                rest[0] != '=' || rest[1] != '[')
                return wrong(&w, file, diag, "no such node");
            hold = &holds[index - offset];
            *hold = (gsrt_flow_hold){0};
            number = rest + 2;
        } else if (hold == NULL) {
            continue;
        }
        if (!whole_number(number, GSRT_LAYER_COUNT_MAX, &layer, &rest) || (*rest != ',' && *rest != ']') ||
            (hold->count > 0 && layer != hold->first + hold->count))
            return wrong(&w, file, diag, "layers do not follow each other");
        hold->first = hold->count == 0 ? layer : hold->first;
        hold->count += 1;
        if (*rest == ']')
            hold = NULL;
    }
    memcpy(out, holds, sizeof holds);
    return GSRT_OK;
}

gsrt_status gsrt_helix_read_objective(gsrt_span text, const char *file, gsrt_diag *diag, double *out)
{
    words w = {.text = text};
    while (next_line(&w)) {
        const char *value = after(w.word, "# Objective value = ");
        if (value == NULL)
            continue;
        char *end;
        double objective = strtod(value, &end);
        if (end == value || !isfinite(objective))
            break;
        *out = objective;
        return GSRT_OK;
    }
    return wrong(&w, file, diag, "no objective value");
}

gsrt_status gsrt_helix_instance(const gsrt_helix_problem *problem, gsrt_flow_instance **out)
{
    gsrt_flow_instance *instance = gsrt_flow_instance_create(problem->node_count, problem->layer_count, false);
    if (instance == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; status == GSRT_OK && i < problem->node_count; i++)
        status = gsrt_flow_instance_set_node(instance, i, problem->throughput[i], problem->layers_max[i]);
    for (uint32_t from = 0; status == GSRT_OK && from <= GSRT_HELIX_SINK; from++)
        for (uint32_t to = 0; status == GSRT_OK && to <= GSRT_HELIX_SINK; to++) {
            uint32_t ends[2] = {from, to};
            if (!(problem->links[from][to] > 0.0))
                continue;
            for (int i = 0; i < 2; i++) {
                if (ends[i] >= GSRT_HELIX_SOURCE)
                    ends[i] = ends[i] - GSRT_HELIX_SOURCE + problem->node_count;
                else if (ends[i] >= problem->node_count)
                    status = GSRT_EINVAL;
            }
            if (status == GSRT_OK)
                status = gsrt_flow_instance_set_link(instance, ends[0], ends[1], problem->links[from][to]);
        }
    if (status == GSRT_OK)
        *out = instance;
    else
        (void)gsrt_flow_instance_free(instance);
    return status;
}
