/* What a person sees of a run.
 *
 * Standard output: the text, as it is made, and nothing else; with --json the report alone.
 * Standard error: the plan as a small table, a progress bar (on a terminal only), a line per request, the verdict,
 * errors. --quiet leaves the errors and a violated contract.
 *
 * Several requests: their texts come out one after another, in order, each under a line "== request N ==". The first
 * that has not ended streams; what the later ones make meanwhile is kept and follows when their turn comes. On a
 * terminal control bytes within the text are shown as '?'.
 *
 * Legal order: init; plan; any of prompt, text, end, progress; finish; verdict; fini. No clock within: the caller says
 * what time it is. Thread: one. Cost: one write per call at most, progress at most ten times a second.
 */
#ifndef GSRT_LAUNCH_TERMINAL_H
#define GSRT_LAUNCH_TERMINAL_H

#include "base/buffer.h"
#include "base/diag.h"
#include "health/incident.h"
#include "launch/report.h"

#include <stdio.h>

typedef struct gsrt_terminal_options {
    FILE *out, *err; /* borrowed until fini */
    bool is_out_terminal, is_err_terminal;
    bool is_coloured; /* escape sequences for colours, on err, if it is a terminal */
    bool is_json, is_quiet;
    uint32_t verbosity;
    const char *unit; /* of progress; NULL: tokens */
} gsrt_terminal_options;

typedef struct gsrt__terminal_stream {
    gsrt_buffer held; /* text that waits for its turn */
    bool has_ended;
} gsrt__terminal_stream;

typedef struct gsrt_terminal {
    gsrt_terminal_options options;
    uint32_t request_count;
    uint32_t request_now;           /* the one that streams */
    gsrt__terminal_stream *streams; /* [request_count] */
    bool has_header, has_text;      /* of request_now: written */
    bool is_line_open;              /* out stands within a line */
    bool is_bar_shown;
    uint64_t position, shown; /* of the answer's bytes: made here, the first of them shown by others */
    uint64_t bar_ns, bar_first_ns;
    gsrt_status status; /* first failed write to out */
} gsrt_terminal;

/* What this process has: isatty, NO_COLOR and TERM are looked at. */
gsrt_terminal_options gsrt_terminal_options_find(void);

/* GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_terminal_init(gsrt_terminal *terminal, const gsrt_terminal_options *options,
                                               uint32_t request_count);
void gsrt_terminal_fini(gsrt_terminal *terminal);

/* The plan, and the device of each rank (backends may be NULL); simulated ones say so. workload may be NULL. */
void gsrt_terminal_plan(gsrt_terminal *terminal, const char *name, const gsrt_plan *plan, const gsrt_workload *workload,
                        const gsrt_report_backend *backends, uint32_t backend_count);

/* The first `shown` bytes of the answer were shown by those who led the run before: what follows is counted from where
 * this terminal stands, and written from there on. UINT64_MAX: nothing is written until that is known. */
void gsrt_terminal_go_on(gsrt_terminal *terminal, uint64_t shown);
/* All of what came is shown by now. */
void gsrt_terminal_went_on(gsrt_terminal *terminal);

/* More text of `request`: whole UTF-8 characters. GSRT_ENOMEM: it could not be kept (it is in the report all the same).
 */
GSRT_MUST_CHECK gsrt_status gsrt_terminal_text(gsrt_terminal *terminal, uint32_t request, gsrt_span text);

/* No more text of `request` will come. Later calls for it are ignored. */
void gsrt_terminal_end(gsrt_terminal *terminal, uint32_t request);

/* Redraw the bar: done of total tokens (or what the options name), at now_ns of any monotonic clock. `what`: "loading",
 * "generating", "verifying". Not drawn where text streams to the same terminal. */
void gsrt_terminal_progress(gsrt_terminal *terminal, const char *what, uint64_t done, uint64_t total, uint64_t now_ns);

/* The bar goes away; what is held comes out. */
void gsrt_terminal_finish(gsrt_terminal *terminal);

/* A line per request, with -v one per rank and backend, and the verdict; with --json the report on out. `json` is what
 * gsrt_report_write_json made. Call finish before. */
void gsrt_terminal_report(gsrt_terminal *terminal, const gsrt_report *report, gsrt_span json);

/* "gsrt-launch: error: ..." on err, whatever the options. */
void gsrt_terminal_error(gsrt_terminal *terminal, const char *tool, const gsrt_diag *diag);

/* A remark on err: not with --quiet. */
void gsrt_terminal_note(gsrt_terminal *terminal, const char *format, ...) GSRT_PRINTF(2, 3);

/* A remark for a fault that is certain and for what became of it, as
 *     rank 1 was killed; seen after 1.3 ms
 *     recovered: spare rank 3 took stage 0 member 1 after 21.4 ms (detection 1.3, agreement 2.0, restart 9.1, restoring
 *         4.0, first token 5.0); 40 tokens computed again, none lost          (one line)
 * The recovery of an incident that is not open; index < fault_count. Not with --quiet. */
void gsrt_terminal_fault(gsrt_terminal *terminal, const gsrt_incident *incident, uint32_t index);
void gsrt_terminal_recovery(gsrt_terminal *terminal, const gsrt_incident *incident);

/* What became of a move, as
 *     moved: stage 0 member 1 from rank 1 to rank 3; steps were held for 0.4 ms, 131072 bytes of KV copied
 * Not with --quiet. */
void gsrt_terminal_move(gsrt_terminal *terminal, const gsrt_report_move *move);

/* GSRT_OK | GSRT_EIO: something could not be written to out (a closed pipe, a full disk). */
gsrt_status gsrt_terminal_status(const gsrt_terminal *terminal);

#endif
