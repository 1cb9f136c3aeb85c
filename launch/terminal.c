#include "launch/terminal.h"

#include "base/limits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

enum { BAR_CELLS = 24, BAR_PERIOD_NS = 100 * 1000 * 1000, HELD_BYTES_MAX = 64 << 20 };

static const char *const ERASE_LINE = "\r\033[K";

gsrt_terminal_options gsrt_terminal_options_find(void)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    bool is_dumb = term == NULL || strcmp(term, "dumb") == 0;
    gsrt_terminal_options found = {.out = stdout, .err = stderr};
    found.is_out_terminal = isatty(STDOUT_FILENO) == 1;
    found.is_err_terminal = isatty(STDERR_FILENO) == 1 && !is_dumb;
    found.is_coloured = found.is_err_terminal && (no_colour == NULL || no_colour[0] == 0);
    return found;
}

gsrt_status gsrt_terminal_init(gsrt_terminal *terminal, const gsrt_terminal_options *options, uint32_t request_count)
{
    *terminal = (gsrt_terminal){.options = *options, .request_count = request_count};
    terminal->streams = calloc(request_count == 0 ? 1 : request_count, sizeof *terminal->streams);
    if (terminal->streams == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < request_count; i++)
        gsrt_buffer_init(&terminal->streams[i].held, HELD_BYTES_MAX);
    return GSRT_OK;
}

void gsrt_terminal_fini(gsrt_terminal *terminal)
{
    for (uint32_t i = 0; terminal->streams != NULL && i < terminal->request_count; i++)
        gsrt_buffer_fini(&terminal->streams[i].held);
    free(terminal->streams);
    *terminal = (gsrt_terminal){0};
}

gsrt_status gsrt_terminal_status(const gsrt_terminal *terminal)
{
    return terminal->status;
}

/* ---- standard output ---- */

static void write_out(gsrt_terminal *terminal, const void *bytes, size_t len)
{
    uint64_t before = terminal->shown > terminal->position ? terminal->shown - terminal->position : 0;
    terminal->position += len;
    if (before >= len)
        return;
    len -= (size_t)before;
    if (fwrite((const uint8_t *)bytes + before, 1, len, terminal->options.out) != len && terminal->status == GSRT_OK)
        terminal->status = GSRT_EIO;
}

void gsrt_terminal_go_on(gsrt_terminal *terminal, uint64_t shown)
{
    terminal->shown = shown;
}

void gsrt_terminal_went_on(gsrt_terminal *terminal)
{
    terminal->shown = terminal->position;
}

static void flush_out(gsrt_terminal *terminal)
{
    if (fflush(terminal->options.out) != 0 && terminal->status == GSRT_OK)
        terminal->status = GSRT_EIO;
}

static void erase_bar(gsrt_terminal *terminal)
{
    if (!terminal->is_bar_shown)
        return;
    (void)fputs(ERASE_LINE, terminal->options.err);
    (void)fflush(terminal->options.err);
    terminal->is_bar_shown = false;
}

/* A model may write any bytes; a terminal would obey some of them. */
static void write_text(gsrt_terminal *terminal, const uint8_t *bytes, size_t len)
{
    size_t start = 0;
    for (size_t i = 0; terminal->options.is_out_terminal && i < len; i++) {
        bool is_control = (bytes[i] < 0x20 && bytes[i] != '\n' && bytes[i] != '\t') || bytes[i] == 0x7f;
        if (!is_control)
            continue;
        write_out(terminal, bytes + start, i - start);
        write_out(terminal, "?", 1);
        start = i + 1;
    }
    write_out(terminal, bytes + start, len - start);
    terminal->is_line_open = bytes[len - 1] != '\n';
}

static void begin_request(gsrt_terminal *terminal)
{
    if (terminal->has_header)
        return;
    terminal->has_header = true;
    if (terminal->request_count == 1)
        return;
    char line[64];
    int n = snprintf(line, sizeof line, "== request %" PRIu32 " ==\n", terminal->request_now);
    write_out(terminal, line, n > 0 ? (size_t)n : 0);
}

static void close_line(gsrt_terminal *terminal)
{
    if (terminal->is_line_open)
        write_out(terminal, "\n", 1);
    terminal->is_line_open = false;
}

/* Go on to the next request as long as the one that streams has ended. */
static void advance(gsrt_terminal *terminal)
{
    while (terminal->request_now < terminal->request_count && terminal->streams[terminal->request_now].has_ended) {
        erase_bar(terminal);
        begin_request(terminal);
        close_line(terminal);
        terminal->has_header = false;
        if (++terminal->request_now >= terminal->request_count)
            break;
        gsrt__terminal_stream *stream = &terminal->streams[terminal->request_now];
        begin_request(terminal);
        if (stream->held.len > 0)
            write_text(terminal, stream->held.data, stream->held.len);
        gsrt_buffer_fini(&stream->held);
    }
    flush_out(terminal);
}

gsrt_status gsrt_terminal_text(gsrt_terminal *terminal, uint32_t request, gsrt_span text)
{
    if (terminal->options.is_json || request >= terminal->request_count || terminal->streams[request].has_ended ||
        text.len == 0)
        return GSRT_OK;
    if (request != terminal->request_now)
        return gsrt_buffer_append(&terminal->streams[request].held, text.data, text.len);
    erase_bar(terminal);
    begin_request(terminal);
    write_text(terminal, text.data, text.len);
    terminal->has_text = true;
    flush_out(terminal);
    return GSRT_OK;
}

void gsrt_terminal_end(gsrt_terminal *terminal, uint32_t request)
{
    if (terminal->options.is_json || request >= terminal->request_count)
        return;
    terminal->streams[request].has_ended = true;
    if (request == terminal->request_now)
        advance(terminal);
}

void gsrt_terminal_finish(gsrt_terminal *terminal)
{
    erase_bar(terminal);
    for (uint32_t i = 0; i < terminal->request_count; i++)
        gsrt_terminal_end(terminal, i);
}

/* ---- standard error ---- */

void gsrt_terminal_progress(gsrt_terminal *terminal, const char *what, uint64_t done, uint64_t total, uint64_t now_ns)
{
    const gsrt_terminal_options *options = &terminal->options;
    bool is_text_there =
        options->is_out_terminal && terminal->has_text && terminal->request_now < terminal->request_count;
    if (!options->is_err_terminal || options->is_quiet || is_text_there || total == 0)
        return;
    if (terminal->bar_first_ns == 0 || done == 0)
        terminal->bar_first_ns = now_ns;
    if (terminal->is_bar_shown && now_ns - terminal->bar_ns < BAR_PERIOD_NS && done < total)
        return;
    terminal->bar_ns = now_ns;
    terminal->is_bar_shown = true;
    done = done > total ? total : done;
    char cells[BAR_CELLS + 1];
    size_t filled = (size_t)((double)done / (double)total * BAR_CELLS);
    memset(cells, '.', BAR_CELLS);
    memset(cells, '#', filled);
    cells[BAR_CELLS] = 0;
    double seconds = (double)(now_ns - terminal->bar_first_ns) / 1e9;
    const char *unit = options->unit == NULL ? "tokens" : options->unit;
    (void)fprintf(options->err, "%s%s [%s] %" PRIu64 "/%" PRIu64 " %s", ERASE_LINE, what, cells, done, total, unit);
    if (seconds > 0 && done > 0)
        (void)fprintf(options->err, "  %.1f %s/s", (double)done / seconds, unit);
    (void)fflush(options->err);
}

void gsrt_terminal_error(gsrt_terminal *terminal, const char *tool, const gsrt_diag *diag)
{
    erase_bar(terminal);
    close_line(terminal);
    flush_out(terminal);
    (void)fprintf(terminal->options.err, "%s: error: %s\n", tool,
                  diag->text[0] != 0 ? diag->text : gsrt_status_text(diag->status));
    (void)fflush(terminal->options.err);
}

void gsrt_terminal_note(gsrt_terminal *terminal, const char *format, ...)
{
    if (terminal->options.is_quiet)
        return;
    erase_bar(terminal);
    va_list args;
    va_start(args, format);
    (void)vfprintf(terminal->options.err, format, args);
    va_end(args);
    (void)fputc('\n', terminal->options.err);
}

/* "fleet" half of the table: CPUs of one name are one line, simulated devices a line each. */
static void write_devices(FILE *err, const gsrt_report_backend *backends, uint32_t backend_count)
{
    for (uint32_t i = 0; i < backend_count; i++) {
        const gsrt_report_backend *backend = &backends[i];
        (void)fprintf(err, "rank  %-3" PRIu32 " %s %s%s\n", backend->rank, backend->kind, backend->name,
                      backend->is_simulated ? " (simulated)" : "");
    }
}

void gsrt_terminal_plan(gsrt_terminal *terminal, const char *name, const gsrt_plan *plan, const gsrt_workload *workload,
                        const gsrt_report_backend *backends, uint32_t backend_count)
{
    const gsrt_terminal_options *options = &terminal->options;
    if (options->is_quiet)
        return;
    erase_bar(terminal);
    (void)fprintf(options->err, "%s", name);
    if (workload != NULL)
        (void)fprintf(options->err, ": %s, %" PRIu32 " layers, %.2f M parameters",
                      workload->name == NULL ? "model" : workload->name, workload->layer_count,
                      (double)workload->parameter_count / 1e6);
    (void)fputc('\n', options->err);
    gsrt_buffer table;
    gsrt_buffer_init(&table, GSRT_REPORT_BYTES_MAX);
    if (gsrt_plan_print(plan, workload, &table) == GSRT_OK)
        (void)fwrite(table.data, 1, table.len, options->err);
    gsrt_buffer_fini(&table);
    if (backends != NULL)
        write_devices(options->err, backends, backend_count);
    (void)fflush(options->err);
}

/* ---- the end of a run ---- */

static void write_request(FILE *err, const gsrt_report_request *request, uint32_t number)
{
    (void)fprintf(err, "request %" PRIu32 ": ", number);
    if (request->error != NULL) {
        (void)fprintf(err, "%s: %s\n", request->finish, request->error);
        return;
    }
    (void)fprintf(err, "%" PRIu32 " tokens, %s", request->token_count, request->finish);
    if (request->ttft_ms >= 0)
        (void)fprintf(err, ", first after %.1f ms", request->ttft_ms);
    if (request->decode_tokens_per_s >= 0)
        (void)fprintf(err, ", then %.1f tokens/s", request->decode_tokens_per_s);
    if (request->prefix_tokens_reused > 0)
        (void)fprintf(err, ", %" PRIu32 " prompt tokens reused", request->prefix_tokens_reused);
    (void)fputc('\n', err);
}

static void write_rank(FILE *err, const gsrt_report_rank *rank)
{
    (void)fprintf(err, "rank %" PRIu32 ": %s pid %" PRId64 ", %s, %" PRIu32 " threads, ", rank->rank, rank->host,
                  rank->pid, rank->isa, rank->thread_count);
    if (rank->has_role)
        (void)fprintf(err, "stage %" PRIu32 " member %" PRIu32, rank->stage, rank->member);
    else
        (void)fprintf(err, "no role");
    (void)fprintf(err,
                  ", weights %" PRIu64 " B touched of %" PRIu64 " B + %" PRIu64 " B copies, %" PRIu64
                  " steps, rows at most %" PRIu32 ", gathered %" PRIu64 " B, reduced %" PRIu64 " B, packed %" PRIu64
                  " B in %.1f ms, messages %" PRIu64 " out %" PRIu64 " in\n",
                  rank->weight_bytes_touched, rank->weight_bytes_share, rank->weight_bytes_copies, rank->steps,
                  rank->rows_per_step_max, rank->gathered_bytes, rank->reduced_bytes, rank->packed_bytes, rank->pack_ms,
                  rank->messages_sent, rank->messages_received);
}

static void write_verdict(gsrt_terminal *terminal, const gsrt_report_contract *contract)
{
    gsrt_buffer line;
    gsrt_buffer_init(&line, GSRT_DIAG_TEXT_MAX);
    bool is_violated = contract->is_verified && contract->different > 0;
    const char *colour = is_violated ? "\033[1;31m" : contract->is_verified ? "\033[1;32m" : "\033[1m";
    bool is_coloured = terminal->options.is_coloured;
    if ((!terminal->options.is_quiet || is_violated) && gsrt_report_print_verdict(contract, &line) == GSRT_OK)
        (void)fprintf(terminal->options.err, "%s%.*s%s\n", is_coloured ? colour : "", (int)line.len,
                      (const char *)line.data, is_coloured ? "\033[0m" : "");
    gsrt_buffer_fini(&line);
}

void gsrt_terminal_report(gsrt_terminal *terminal, const gsrt_report *report, gsrt_span json)
{
    const gsrt_terminal_options *options = &terminal->options;
    if (options->is_json) {
        write_out(terminal, json.data, json.len);
        flush_out(terminal);
    }
    bool is_simulated = strcmp(report->world, "twin") == 0;
    for (uint32_t i = 0; i < report->backend_count && !is_simulated; i++)
        is_simulated = report->backends[i].is_simulated;
    if (!options->is_quiet && is_simulated)
        (void)fprintf(options->err, "%s: the times below are simulated\n",
                      strcmp(report->world, "twin") == 0 ? "twin" : "simulated devices took part");
    for (uint32_t i = 0; i < report->request_count && !options->is_quiet; i++)
        write_request(options->err, &report->requests[i], i);
    for (uint32_t i = 0; i < report->rank_count && options->verbosity > 0; i++)
        write_rank(options->err, &report->ranks[i]);
    write_verdict(terminal, &report->contract);
    (void)fflush(options->err);
}
