#include "launch/move_command.h"

#include "base/json.h"
#include "base/limits.h"
#include "launch/interrupt.h"
#include "launch/moves.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 10 };

typedef struct command {
    const gsrt_options *options;
    gsrt_run_directory *directory;
    uint64_t order; /* names it: the line that answers has the same */
    gsrt_diag diag;
} command;

static bool is_there(const command *c, const char *name)
{
    char path[GSRT_PATH_BYTES_MAX + 32];
    (void)snprintf(path, sizeof path, "%s/%s", gsrt_run_directory_path(c->directory), name);
    return access(path, F_OK) == 0;
}

/* A run that goes on holds a lock on its tokens, or has at least not reported. */
static gsrt_status check_run(command *c)
{
    const char *path = gsrt_run_directory_path(c->directory);
    if (!is_there(c, "scenario.yaml"))
        return gsrt_diag_set(&c->diag, GSRT_EINPUT, path, NULL,
                             "is no run directory: it has no scenario.yaml; name the directory that a run wrote");
    if (is_there(c, "report.json"))
        return gsrt_diag_set(&c->diag, GSRT_EINPUT, path, NULL, "this run has ended; nothing moves any more");
    return GSRT_OK;
}

/* Exactly one order can be there: written beside, then linked under its name, whole. */
static gsrt_status give_order(command *c)
{
    const gsrt_options *o = c->options;
    char path[GSRT_PATH_BYTES_MAX + 32], beside[GSRT_PATH_BYTES_MAX + 64], name[48];
    gsrt_buffer text;
    gsrt_buffer_init(&text, 1024);
    gsrt_status status = getrandom(&c->order, sizeof c->order, 0) == sizeof c->order ? GSRT_OK : GSRT_EIO;
    c->order = (c->order >> 1) | 1; /* a number that JSON holds, and not 0 */
    (void)snprintf(name, sizeof name, "move.%llx", (unsigned long long)c->order);
    (void)snprintf(path, sizeof path, "%s/move", gsrt_run_directory_path(c->directory));
    (void)snprintf(beside, sizeof beside, "%s/%s", gsrt_run_directory_path(c->directory), name);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(&text, "{\"stage\": %u, \"member\": %u, \"to\": %u, \"order\": %llu}\n", o->stage,
                                   o->member, o->to, (unsigned long long)c->order);
    if (status == GSRT_OK)
        status = gsrt_run_directory_write(c->directory, name, gsrt_buffer_span(&text), &c->diag);
    if (status == GSRT_OK && link(beside, path) != 0)
        status = gsrt_diag_set(&c->diag, errno == EEXIST ? GSRT_EINPUT : GSRT_EIO, path, NULL,
                               errno == EEXIST ? "another order is open; wait for its end" : "cannot be made");
    (void)unlink(beside);
    gsrt_buffer_fini(&text);
    return status;
}

/* The line that answers. GSRT_EEMPTY: not yet. */
static gsrt_status find_answer(command *c, gsrt_report_move *out)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, GSRT_JSON_BYTES_MAX);
    gsrt_status status = gsrt_run_directory_read(c->directory, "moves.jsonl", &bytes, &c->diag);
    const uint8_t *at = bytes.data, *end = bytes.data + bytes.len, *line_end;
    bool is_found = false;
    for (; status == GSRT_OK && !is_found && at < end; at = line_end + 1) {
        line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL)
            break; /* being written */
        status = gsrt_move_read_line(gsrt_span_of(at, (size_t)(line_end - at)), out, &c->diag);
        is_found = status == GSRT_OK && out->order == c->order;
    }
    gsrt_buffer_fini(&bytes);
    if (status == GSRT_ENOTFOUND)
        status = GSRT_OK;
    return status == GSRT_OK && !is_found ? GSRT_EEMPTY : status;
}

static void take_back(command *c)
{
    char path[GSRT_PATH_BYTES_MAX + 32];
    gsrt_move there;
    gsrt_diag diag = {0};
    (void)snprintf(path, sizeof path, "%s/move", gsrt_run_directory_path(c->directory));
    if (gsrt_move_read_order(c->directory, &there, &diag) == GSRT_OK && there.order == c->order)
        (void)unlink(path);
}

static gsrt_status wait_for_answer(command *c, gsrt_report_move *out)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
    while (true) {
        bool has_ended = is_there(c, "report.json"); /* asked first: the line is written before */
        gsrt_status status = find_answer(c, out);
        if (status != GSRT_EEMPTY)
            return status;
        if (gsrt_interrupt_is_set()) {
            take_back(c);
            return gsrt_diag_set(&c->diag, GSRT_ECANCELED, NULL, NULL, "interrupted; the order is taken back");
        }
        if (has_ended) {
            take_back(c);
            return gsrt_diag_set(&c->diag, GSRT_EPEER, NULL, NULL, "the run ended before the move");
        }
        (void)nanosleep(&pause, NULL);
    }
}

static int say(const command *c, const gsrt_report_move *move)
{
    if (move->outcome != GSRT_MOVE_DONE) {
        (void)fprintf(stderr, "gsrt-launch: error: %s: %s\n", gsrt_move_outcome_name(move->outcome), move->why);
        return move->outcome == GSRT_MOVE_REFUSED ? 3 : 5;
    }
    if (c->options->is_json)
        (void)printf("{\"stage\": %u, \"member\": %u, \"from\": %u, \"to\": %u, \"pause_ms\": %.3f, \"bytes\": %llu}\n",
                     move->stage, move->member, move->from, move->to, move->pause_ms, (unsigned long long)move->bytes);
    else if (!c->options->is_quiet)
        (void)printf("moved: stage %u member %u from rank %u to rank %u; steps were held for %.1f ms, %llu bytes of KV "
                     "copied\n",
                     move->stage, move->member, move->from, move->to, move->pause_ms, (unsigned long long)move->bytes);
    return 0;
}

int gsrt_move_command(const gsrt_options *options)
{
    command c = {.options = options};
    gsrt_report_move move;
    gsrt_status status = gsrt_interrupt_install();
    if (status == GSRT_OK)
        status = gsrt_run_directory_open(options->run, &c.directory, &c.diag);
    if (status == GSRT_OK)
        status = check_run(&c);
    if (status == GSRT_OK)
        status = give_order(&c);
    if (status == GSRT_OK)
        status = wait_for_answer(&c, &move);
    if (status != GSRT_OK)
        (void)fprintf(stderr, "gsrt-launch: error: %s\n",
                      c.diag.status != GSRT_OK ? c.diag.text : gsrt_status_text(status));
    int exit_code = status == GSRT_OK ? say(&c, &move) : gsrt_exit_code(status);
    gsrt_run_directory_free(c.directory);
    return exit_code;
}
