#include "base/json.h"
#include "base/limits.h"
#include "launch/replay_impl.h"

#include <inttypes.h>
#include <stdio.h>

enum { EXCERPT_BEFORE_BYTES = 80, EXCERPT_BYTES = 320 };

/* ---- for a person ---- */

static size_t common_prefix(gsrt_span a, gsrt_span b)
{
    size_t at = 0;
    while (at < a.len && at < b.len && a.data[at] == b.data[at])
        at++;
    return at;
}

/* A long one is cut to what is around the difference; its name stays. */
static gsrt_status print_action(const char *what, gsrt_span text, size_t differs_at, gsrt_buffer *out)
{
    if (text.len == 0)
        return gsrt_buffer_print(out, "    %s: no action\n", what);
    size_t name = 0;
    while (name < text.len && text.data[name] != ' ')
        name++;
    size_t from = differs_at > name + EXCERPT_BEFORE_BYTES ? differs_at - EXCERPT_BEFORE_BYTES : 0;
    size_t count = text.len - from < EXCERPT_BYTES ? text.len - from : EXCERPT_BYTES;
    gsrt_status status = gsrt_buffer_print(out, "    %s: ", what);
    if (status == GSRT_OK && from > 0)
        status = gsrt_buffer_print(out, "%.*s ...", (int)name, (const char *)text.data);
    if (status == GSRT_OK)
        status = gsrt_buffer_append(out, text.data + from, count);
    return status == GSRT_OK ? gsrt_buffer_print(out, "%s\n", from + count < text.len ? "..." : "") : status;
}

static gsrt_status print_difference(const gsrt_replay_difference *d, gsrt_buffer *out)
{
    size_t at = common_prefix(d->recorded, d->decided);
    gsrt_status status = gsrt_buffer_print(
        out, "  differs at frame %" PRIu64 ": %s of actor %u.%u.%u, after the event of frame %" PRIu64 "\n",
        d->frame_number, d->machine, gsrt_address_rank(d->actor), gsrt_address_incarnation(d->actor),
        gsrt_address_serial(d->actor), d->event_frame);
    if (status == GSRT_OK)
        status = print_action("recorded", d->recorded, at, out);
    return status == GSRT_OK ? print_action("replayed", d->decided, at, out) : status;
}

static gsrt_status print_account(const gsrt_replay_account *a, gsrt_buffer *out)
{
    gsrt_status status =
        gsrt_buffer_print(out, "  %s: %" PRIu64 " event%s fed, %" PRIu64 " action%s compared", a->name, a->event_count,
                          a->event_count == 1 ? "" : "s", a->action_count, a->action_count == 1 ? "" : "s");
    if (status == GSRT_OK && a->machine_count > 1)
        status = gsrt_buffer_print(out, ", %" PRIu64 " machines", a->machine_count);
    if (status == GSRT_OK && a->difference_count > 1)
        status = gsrt_buffer_print(out, ", %" PRIu64 " of them differ", a->difference_count);
    if (status == GSRT_OK && a->skipped_count > 0)
        status = gsrt_buffer_print(out, ", %" PRIu64 " frames not replayed", a->skipped_count);
    return status == GSRT_OK ? gsrt_buffer_append(out, "\n", 1) : status;
}

/* What was fed and compared, and the first difference, of each kind of machine. */
static gsrt_status print_machines(const gsrt_replay *replay, gsrt_buffer *out)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < GSRT_REPLAY_MACHINE_COUNT && status == GSRT_OK; i++) {
        const gsrt_replay_account *a = &gsrt_replay_accounts(replay)[i];
        const gsrt_replay_difference *d = gsrt_replay_difference_of(replay, i);
        if (a->machine_count > 0 || a->skipped_count > 0)
            status = print_account(a, out);
        if (status == GSRT_OK && d != NULL)
            status = print_difference(d, out);
    }
    return status;
}

/* What is to be said of the trace as a whole. */
static gsrt_status print_state(const gsrt__replayed_trace *trace, gsrt_buffer *out)
{
    const gsrt_replay *replay = trace->replay;
    gsrt_status status = GSRT_OK;
    if (trace->is_torn)
        status = gsrt_buffer_print(
            out,
            "  torn at byte %zu: it has no end frame, which is as it should be only if this incarnation was killed\n",
            trace->torn_at_bytes);
    if (status == GSRT_OK && gsrt_replay_lost_count(replay) > 0)
        status = gsrt_buffer_print(out,
                                   "  %" PRIu64 " frames were lost while recording: machines that began before cannot "
                                   "be replayed\n",
                                   gsrt_replay_lost_count(replay));
    if (status == GSRT_OK && gsrt_replay_unknown_count(replay) > 0)
        status = gsrt_buffer_print(out, "  %" PRIu64 " frames of machines that this program cannot replay\n",
                                   gsrt_replay_unknown_count(replay));
    if (status == GSRT_OK && trace->damage.status != GSRT_OK)
        status = gsrt_buffer_print(out, "  damaged: %s\n", trace->damage.text);
    return status;
}

static bool is_noteworthy(const gsrt__replayed_trace *trace)
{
    return trace->damage.status != GSRT_OK || gsrt_replay_difference_count(trace->replay) > 0;
}

static const char *verdict_of(const gsrt__replayed_run *run)
{
    return run->is_damaged ? "damaged" : run->is_different ? "different" : "equal";
}

gsrt_status gsrt__replayed_run_print(const gsrt__replayed_run *run, bool is_quiet, gsrt_buffer *out)
{
    uint64_t events = 0, actions = 0;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < run->trace_count && status == GSRT_OK; i++) {
        const gsrt__replayed_trace *trace = &run->traces[i];
        const gsrt_replay_account *accounts = gsrt_replay_accounts(trace->replay);
        for (uint32_t k = 0; k < GSRT_REPLAY_MACHINE_COUNT; k++) {
            events += accounts[k].event_count;
            actions += accounts[k].action_count;
        }
        if (is_quiet && !is_noteworthy(trace))
            continue;
        status = gsrt_buffer_print(out, "rank %u, incarnation %u", trace->rank, trace->incarnation);
        if (status == GSRT_OK && trace->generation > 0)
            status = gsrt_buffer_print(out, ", generation %u", trace->generation);
        if (status == GSRT_OK)
            status = gsrt_buffer_print(out, ": %" PRIu64 " frames\n", trace->frame_count);
        if (status == GSRT_OK)
            status = print_machines(trace->replay, out);
        if (status == GSRT_OK)
            status = print_state(trace, out);
    }
    for (uint32_t rank = 0; rank < run->rank_count && status == GSRT_OK; rank++) {
        if (!gsrt__replayed_run_has_rank(run, rank))
            status = gsrt_buffer_print(out, "rank %u: no trace\n", rank);
    }
    if (status != GSRT_OK || is_quiet)
        return status;
    return gsrt_buffer_print(out, "replay %s (%u trace%s, %" PRIu64 " events fed, %" PRIu64 " actions compared)\n",
                             verdict_of(run), run->trace_count, run->trace_count == 1 ? "" : "s", events, actions);
}

/* ---- for a program ---- */

static gsrt_status json_text(gsrt_buffer *out, const char *key, gsrt_span text, bool is_null)
{
    gsrt_status status = gsrt_buffer_print(out, ",\"%s\":", key);
    if (status != GSRT_OK)
        return status;
    return is_null ? gsrt_buffer_append(out, "null", 4) : gsrt_json_print_text(out, text);
}

static gsrt_status json_difference(const gsrt_replay_difference *d, gsrt_buffer *out)
{
    if (d == NULL)
        return gsrt_buffer_print(out, ",\"difference\":null");
    gsrt_status status =
        gsrt_buffer_print(out, ",\"difference\":{\"frame\":%" PRIu64 ",\"event_frame\":%" PRIu64 ",\"actor\":%" PRIu64,
                          d->frame_number, d->event_frame, d->actor);
    if (status == GSRT_OK)
        status = json_text(out, "recorded", d->recorded, d->recorded.len == 0);
    if (status == GSRT_OK)
        status = json_text(out, "decided", d->decided, d->decided.len == 0);
    return status == GSRT_OK ? gsrt_buffer_append(out, "}", 1) : status;
}

static gsrt_status json_machines(const gsrt_replay *replay, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, ",\"machines\":[");
    bool is_first = true;
    for (uint32_t i = 0; i < GSRT_REPLAY_MACHINE_COUNT && status == GSRT_OK; i++) {
        const gsrt_replay_account *a = &gsrt_replay_accounts(replay)[i];
        if (a->machine_count == 0 && a->skipped_count == 0)
            continue;
        status = gsrt_buffer_print(out,
                                   "%s{\"machine\":\"%s\",\"count\":%" PRIu64 ",\"events\":%" PRIu64
                                   ",\"actions\":%" PRIu64 ",\"skipped\":%" PRIu64 ",\"differing\":%" PRIu64,
                                   is_first ? "" : ",", a->name, a->machine_count, a->event_count, a->action_count,
                                   a->skipped_count, a->difference_count);
        if (status == GSRT_OK)
            status = json_difference(gsrt_replay_difference_of(replay, i), out);
        if (status == GSRT_OK)
            status = gsrt_buffer_append(out, "}", 1);
        is_first = false;
    }
    return status == GSRT_OK ? gsrt_buffer_append(out, "]", 1) : status;
}

static gsrt_status json_trace(const gsrt__replayed_trace *trace, gsrt_buffer *out)
{
    const gsrt_replay *replay = trace->replay;
    gsrt_status status = gsrt_buffer_print(out,
                                           "{\"rank\":%u,\"incarnation\":%u,\"generation\":%u,\"frames\":%" PRIu64
                                           ",\"is_torn\":%s,\"lost_frames\":%" PRIu64 ",\"unknown_frames\":%" PRIu64,
                                           trace->rank, trace->incarnation, trace->generation, trace->frame_count,
                                           trace->is_torn ? "true" : "false", gsrt_replay_lost_count(replay),
                                           gsrt_replay_unknown_count(replay));
    if (status == GSRT_OK)
        status = json_text(out, "file", gsrt_span_of_text(trace->path), false);
    if (status == GSRT_OK)
        status = json_text(out, "world", gsrt_span_of_text(trace->world), trace->world[0] == 0);
    if (status == GSRT_OK)
        status = json_text(out, "damage", gsrt_span_of_text(trace->damage.text), trace->damage.status == GSRT_OK);
    if (status == GSRT_OK)
        status = json_machines(replay, out);
    return status == GSRT_OK ? gsrt_buffer_append(out, "}", 1) : status;
}

gsrt_status gsrt__replayed_run_print_json(const gsrt__replayed_run *run, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, "{\"verdict\":\"%s\"", verdict_of(run));
    if (status == GSRT_OK)
        status = json_text(out, "run", gsrt_span_of_text(run->directory), false);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, ",\"traces\":[");
    for (uint32_t i = 0; i < run->trace_count && status == GSRT_OK; i++) {
        status = gsrt_buffer_print(out, "%s", i == 0 ? "" : ",");
        if (status == GSRT_OK)
            status = json_trace(&run->traces[i], out);
    }
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "],\"ranks_without_trace\":[");
    bool is_first = true;
    for (uint32_t rank = 0; rank < run->rank_count && status == GSRT_OK; rank++) {
        if (gsrt__replayed_run_has_rank(run, rank))
            continue;
        status = gsrt_buffer_print(out, "%s%u", is_first ? "" : ",", rank);
        is_first = false;
    }
    return status == GSRT_OK ? gsrt_buffer_print(out, "]}\n") : status;
}
