#include "launch/terminal.h"

#include <inttypes.h>
#include <stdio.h>

/* Text that streams to the same terminal stands in an open line: the remark begins its own. */
static void begin_remark(gsrt_terminal *terminal)
{
    const gsrt_terminal_options *options = &terminal->options;
    if (!options->is_quiet && terminal->is_line_open && options->is_out_terminal && options->is_err_terminal)
        (void)fputc('\n', options->err);
}

/* What happened to a rank, after "rank 1 ". */
static const char *fate(const gsrt_incident_fault *fault)
{
    switch (gsrt_incident_fault_kind(fault)) {
    case GSRT_INCIDENT_KILLED: return fault->drill != 0 ? "was killed" : "died";
    case GSRT_INCIDENT_STOPPED: return fault->drill != 0 ? "was stopped" : "was silent";
    case GSRT_INCIDENT_LEFT: return "left";
    case GSRT_INCIDENT_LINK: return "lost its connection";
    case GSRT_INCIDENT_PARTITION: return "was cut off";
    case GSRT_INCIDENT_VIOLATED: return fault->drill != 0 ? "was corrupted" : "left the budget";
    case GSRT_INCIDENT_UNKNOWN: return "was lost";
    }
    return "was lost";
}

void gsrt_terminal_fault(gsrt_terminal *terminal, const gsrt_incident *incident, uint32_t index)
{
    const gsrt_incident_fault *fault = &incident->faults[index];
    begin_remark(terminal);
    if (fault->fault_ns != GSRT_INCIDENT_UNKNOWN_NS)
        gsrt_terminal_note(terminal, "rank %" PRIu32 " %s; seen after %.1f ms", fault->rank, fate(fault),
                           (double)(fault->seen_ns - fault->fault_ns) / 1e6);
    else
        gsrt_terminal_note(terminal, "rank %" PRIu32 " %s; seen by rank %" PRIu32 " (%s)", fault->rank, fate(fault),
                           fault->observer, gsrt_incident_detector_name(fault->detector));
}

/* "detection 1.3, agreement 2.0, ..."; what is not known is left out. */
static void print_phases(const gsrt_incident *incident, char *text, size_t room)
{
    size_t len = 0;
    for (int phase = 0; phase < GSRT_PHASE_COUNT; phase++) {
        char name[32];
        if (phase == GSRT_PHASE_DETECTION && gsrt_incident_detection_ns(incident) == GSRT_INCIDENT_UNKNOWN_NS)
            continue;
        (void)snprintf(name, sizeof name, "%s", gsrt_incident_phase_name((gsrt_incident_phase)phase));
        for (char *c = name; *c != 0; c++)
            *c = (char)(*c == '_' ? ' ' : *c);
        int n = snprintf(text + len, room - len, "%s%s %.1f", len == 0 ? "" : ", ", name,
                         (double)incident->phase_ns[phase] / 1e6);
        len += n > 0 ? (size_t)n : 0;
    }
}

void gsrt_terminal_recovery(gsrt_terminal *terminal, const gsrt_incident *incident)
{
    char phases[256] = "", lost[32] = "none";
    const gsrt_incident_way *way = gsrt_incident_chosen(incident);
    const char *method = gsrt_incident_method_name(incident->method);
    const char *how = way != NULL && way->why[0] != 0 ? way->why : method;
    begin_remark(terminal);
    if (incident->state == GSRT_INCIDENT_NOT_NEEDED)
        gsrt_terminal_note(terminal, "incident %" PRIu32 ": nothing to recover, every answer was complete",
                           incident->number);
    if (incident->state == GSRT_INCIDENT_FAILED)
        gsrt_terminal_note(terminal, "incident %" PRIu32 ": not recovered", incident->number);
    if (incident->state != GSRT_INCIDENT_RECOVERED)
        return;
    print_phases(incident, phases, sizeof phases);
    if (incident->lost_tokens > 0)
        (void)snprintf(lost, sizeof lost, "%" PRIu64, incident->lost_tokens);
    gsrt_terminal_note(terminal, "recovered: %s after %.1f ms (%s); %" PRIu64 " tokens computed again, %s lost",
                       how == NULL ? "the run went on" : how, (double)gsrt_incident_recovery_ns(incident) / 1e6, phases,
                       incident->recomputed_tokens, lost);
}

void gsrt_terminal_move(gsrt_terminal *terminal, const gsrt_report_move *move)
{
    begin_remark(terminal);
    if (move->outcome == GSRT_MOVE_DONE)
        gsrt_terminal_note(terminal,
                           "moved: stage %" PRIu32 " member %" PRIu32 " from rank %" PRIu32 " to rank %" PRIu32
                           "; steps were held for %.1f ms, %" PRIu64 " bytes of KV copied",
                           move->stage, move->member, move->from, move->to, move->pause_ms, move->bytes);
    else
        gsrt_terminal_note(terminal, "move of stage %" PRIu32 " member %" PRIu32 " to rank %" PRIu32 " %s: %s",
                           move->stage, move->member, move->to, gsrt_move_outcome_name(move->outcome), move->why);
}
