#include "health/incident_impl.h"

#include <inttypes.h>
#include <stdlib.h>

/* A drill of unknown length is repeated longer than any detector waits. */
enum { DRILL_MS = 60 * 1000 };

/* ---- names ---- */

static const char *name_in(const char *const *names, size_t count, unsigned at)
{
    return at < count ? names[at] : NULL;
}

#define NAME_IN(names, at) name_in(names, sizeof(names) / sizeof(names)[0], (unsigned)(at))

const char *gsrt_incident_kind_name(gsrt_incident_kind kind)
{
    static const char *const names[] = {NULL, "killed", "stopped", "left", "link", "partition", "unknown", "violated"};
    return NAME_IN(names, kind);
}

const char *gsrt_incident_detector_name(gsrt_incident_detector detector)
{
    static const char *const names[] = {NULL, "sentinel", "link", "silence", "message", "keeper", "view", "watch"};
    return NAME_IN(names, detector);
}

const char *gsrt_incident_proof_name(gsrt_incident_proof proof)
{
    static const char *const names[] = {NULL, "suspicion", "left_out", "unreachable", "ended", "died"};
    return NAME_IN(names, proof);
}

const char *gsrt_incident_method_name(gsrt_incident_method method)
{
    static const char *const names[] = {NULL, "in_place", "spare", "reshaped", "full"};
    return NAME_IN(names, method);
}

const char *gsrt_incident_state_name(gsrt_incident_state state)
{
    static const char *const names[] = {NULL, "open", "recovered", "not_needed", "failed"};
    return NAME_IN(names, state);
}

const char *gsrt_incident_phase_name(gsrt_incident_phase phase)
{
    static const char *const names[] = {"detection", "agreement", "restart", "restoring", "first_token"};
    return NAME_IN(names, phase);
}

const char *gsrt_incident_event_name(gsrt_incident_event_kind kind)
{
    static const char *const names[] = {NULL,      "drill", "suspected",  "word",    "unreachable",
                                        "joined",  "view",  "considered", "checked", "abandoned",
                                        "started", "ready", "restored",   "token",   "finished"};
    return NAME_IN(names, kind);
}

/* ---- building ---- */

gsrt_incident *gsrt__incident_create(uint32_t number)
{
    gsrt_incident *incident = calloc(1, sizeof *incident);
    if (incident == NULL)
        return NULL;
    incident->number = number;
    incident->state = GSRT_INCIDENT_OPEN;
    return incident;
}

gsrt_incident *gsrt_incident_free(gsrt_incident *incident)
{
    if (incident == NULL)
        return NULL;
    free(incident->faults);
    free(incident->ways);
    free(incident->timeline);
    free(incident);
    return NULL;
}

/* Room for one more item: the capacity is the next power of two, so that it need not be kept. NULL: no memory, and
 * `items` is as it was. */
static void *grown(void *items, uint32_t count, size_t item_bytes)
{
    bool is_full = (count & (count - 1)) == 0;
    if (!is_full)
        return items;
    return realloc(items, (count == 0 ? 1 : 2 * (size_t)count) * item_bytes);
}

gsrt_status gsrt__incident_add_fault(gsrt_incident *incident, const gsrt_incident_fault *fault,
                                     gsrt_incident_fault **out)
{
    if (incident->fault_count >= GSRT_RANK_COUNT_MAX)
        return GSRT_ELIMIT;
    gsrt_incident_fault *faults = grown(incident->faults, incident->fault_count, sizeof *faults);
    if (faults == NULL)
        return GSRT_ENOMEM;
    incident->faults = faults;
    faults[incident->fault_count] = *fault;
    if (out != NULL)
        *out = &faults[incident->fault_count];
    incident->fault_count++;
    return GSRT_OK;
}

gsrt_status gsrt__incident_add_way(gsrt_incident *incident, const gsrt_incident_way *way)
{
    if (incident->way_count >= GSRT_INCIDENT_WAYS_MAX) {
        incident->ways_left_out += incident->ways_left_out < UINT32_MAX ? 1 : 0;
        return GSRT_OK;
    }
    gsrt_incident_way *ways = grown(incident->ways, incident->way_count, sizeof *ways);
    if (ways == NULL)
        return GSRT_ENOMEM;
    incident->ways = ways;
    ways[incident->way_count++] = *way;
    return GSRT_OK;
}

gsrt_status gsrt__incident_add_entry(gsrt_incident *incident, const gsrt_incident_entry *entry)
{
    if (incident->entry_count >= GSRT_INCIDENT_ENTRIES_MAX) {
        incident->entries_left_out += incident->entries_left_out < UINT32_MAX ? 1 : 0;
        return GSRT_OK;
    }
    gsrt_incident_entry *timeline = grown(incident->timeline, incident->entry_count, sizeof *timeline);
    if (timeline == NULL)
        return GSRT_ENOMEM;
    incident->timeline = timeline;
    uint32_t at = incident->entry_count++;
    for (; at > 0 && timeline[at - 1].at_ns > entry->at_ns; at--)
        timeline[at] = timeline[at - 1];
    timeline[at] = *entry;
    return GSRT_OK;
}

gsrt_incident_fault *gsrt__incident_find(const gsrt_incident *incident, uint32_t rank, uint32_t incarnation)
{
    for (uint32_t i = 0; i < incident->fault_count; i++) {
        if (incident->faults[i].rank == rank && incident->faults[i].incarnation == incarnation)
            return &incident->faults[i];
    }
    return NULL;
}

void gsrt__incident_text(char out[GSRT_INCIDENT_TEXT_BYTES], const char *text)
{
    memset(out, 0, GSRT_INCIDENT_TEXT_BYTES);
    for (size_t i = 0; text != NULL && text[i] != 0 && i + 1 < GSRT_INCIDENT_TEXT_BYTES; i++)
        out[i] = (char)(text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?');
}

/* ---- what follows ---- */

gsrt_incident_kind gsrt_incident_fault_kind(const gsrt_incident_fault *fault)
{
    bool is_link = fault->detector == GSRT_DETECTOR_SENTINEL || fault->detector == GSRT_DETECTOR_LINK;
    if (fault->drill != 0)
        return fault->drill;
    if (fault->detector == GSRT_DETECTOR_MESSAGE)
        return GSRT_INCIDENT_LEFT;
    if (fault->detector == GSRT_DETECTOR_WATCH)
        return GSRT_INCIDENT_VIOLATED;
    if (fault->proof == GSRT_PROOF_DIED)
        return GSRT_INCIDENT_KILLED;
    if (fault->proof == GSRT_PROOF_UNREACHABLE)
        return GSRT_INCIDENT_PARTITION;
    if (fault->proof == GSRT_PROOF_ENDED && is_link)
        return GSRT_INCIDENT_LINK;
    if (fault->proof == GSRT_PROOF_ENDED && fault->detector == GSRT_DETECTOR_SILENCE)
        return GSRT_INCIDENT_STOPPED;
    return GSRT_INCIDENT_UNKNOWN;
}

gsrt_incident_kind gsrt_incident_kind_of(const gsrt_incident *incident)
{
    return incident->fault_count == 0 ? GSRT_INCIDENT_UNKNOWN : gsrt_incident_fault_kind(&incident->faults[0]);
}

uint64_t gsrt_incident_detection_ns(const gsrt_incident *incident)
{
    bool is_known = incident->fault_count > 0 && incident->faults[0].fault_ns != GSRT_INCIDENT_UNKNOWN_NS;
    return is_known ? incident->phase_ns[GSRT_PHASE_DETECTION] : GSRT_INCIDENT_UNKNOWN_NS;
}

uint64_t gsrt_incident_recovery_ns(const gsrt_incident *incident)
{
    uint64_t total_ns = 0;
    for (int phase = 0; phase < GSRT_PHASE_COUNT; phase++)
        total_ns += incident->phase_ns[phase];
    return incident->state == GSRT_INCIDENT_RECOVERED ? total_ns : GSRT_INCIDENT_UNKNOWN_NS;
}

uint32_t gsrt_incident_ranks(const gsrt_incident *incident, uint32_t *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < incident->fault_count; i++) {
        uint32_t at = 0;
        while (at < count && out[at] != incident->faults[i].rank)
            at++;
        out[at] = incident->faults[i].rank;
        count += at == count ? 1 : 0;
    }
    return count;
}

const gsrt_incident_way *gsrt_incident_chosen(const gsrt_incident *incident)
{
    for (uint32_t i = incident->way_count; i > 0; i--) {
        const gsrt_incident_way *way = &incident->ways[i - 1];
        if (way->is_chosen && way->method == incident->method)
            return way;
    }
    return NULL;
}

static gsrt_status print_seconds(uint64_t ms, gsrt_buffer *out)
{
    if (ms % 1000 == 0)
        return gsrt_buffer_print(out, "%" PRIu64, ms / 1000);
    return gsrt_buffer_print(out, "%" PRIu64 ".%03" PRIu64, ms / 1000, ms % 1000);
}

static gsrt_status print_when(const gsrt_incident_fault *fault, gsrt_buffer *out)
{
    if (fault->view >= 2)
        return gsrt_buffer_print(out, ", when: {view: %" PRIu32 "}", fault->view);
    if (fault->token > 0)
        return gsrt_buffer_print(out, ", when: {request: %" PRIu32 ", token: %" PRIu32 "}", fault->request,
                                 fault->token);
    uint64_t at_ms = (fault->fault_ns != GSRT_INCIDENT_UNKNOWN_NS ? fault->fault_ns : fault->seen_ns) / 1000000;
    gsrt_status status = gsrt_buffer_print(out, ", when: {seconds: ");
    if (status == GSRT_OK)
        status = print_seconds(at_ms == 0 ? 1 : at_ms, out);
    return status == GSRT_OK ? gsrt_buffer_print(out, "}") : status;
}

static gsrt_status print_for(const gsrt_incident_fault *fault, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, ", for: ");
    return status == GSRT_OK ? print_seconds(fault->for_ms > 0 ? fault->for_ms : DRILL_MS, out) : status;
}

static bool is_partition(const gsrt_incident *incident, uint32_t i)
{
    return gsrt_incident_fault_kind(&incident->faults[i]) == GSRT_INCIDENT_PARTITION;
}

/* Ranks that no group names are a group of their own, so that one group is enough. */
static gsrt_status print_group(const gsrt_incident *incident, uint32_t from, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, "partition: [[%" PRIu32, incident->faults[from].rank);
    for (uint32_t i = from + 1; i < incident->fault_count && is_partition(incident, from) && status == GSRT_OK; i++) {
        uint32_t at = from;
        while (at < i && (!is_partition(incident, at) || incident->faults[at].rank != incident->faults[i].rank))
            at++;
        if (at == i && is_partition(incident, i))
            status = gsrt_buffer_print(out, ", %" PRIu32, incident->faults[i].rank);
    }
    return status == GSRT_OK ? gsrt_buffer_print(out, "]]") : status;
}

static gsrt_status print_fault(const gsrt_incident *incident, uint32_t i, gsrt_buffer *out)
{
    const gsrt_incident_fault *fault = &incident->faults[i];
    gsrt_incident_kind kind = gsrt_incident_fault_kind(fault);
    bool is_group = kind == GSRT_INCIDENT_PARTITION || kind == GSRT_INCIDENT_LINK;
    gsrt_status status = gsrt_buffer_print(out, "  - {");
    if (status == GSRT_OK && is_group)
        status = print_group(incident, i, out);
    else if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "%s: %" PRIu32,
                                   kind == GSRT_INCIDENT_STOPPED    ? "stop"
                                   : kind == GSRT_INCIDENT_VIOLATED ? "corrupt"
                                                                    : "kill",
                                   fault->rank);
    if (status == GSRT_OK)
        status = print_when(fault, out);
    if (status == GSRT_OK && (is_group || kind == GSRT_INCIDENT_STOPPED))
        status = print_for(fault, out);
    return status == GSRT_OK ? gsrt_buffer_print(out, "}\n") : status;
}

gsrt_status gsrt_incident_print_faults(const gsrt_incident *incident, gsrt_buffer *out)
{
    size_t start = out->len;
    bool has_partition = false;
    gsrt_status status = gsrt_buffer_print(out, "faults:\n");
    for (uint32_t i = 0; i < incident->fault_count && status == GSRT_OK; i++) {
        if (!is_partition(incident, i) || !has_partition)
            status = print_fault(incident, i, out);
        has_partition = has_partition || is_partition(incident, i);
    }
    if (status != GSRT_OK)
        out->len = start;
    return status;
}
