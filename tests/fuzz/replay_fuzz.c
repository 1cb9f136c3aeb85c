/* Any frames, with checksums taken for right: the machines of a run are made and fed whatever they say.
 *
 *   input = piece*     piece = what-u8 length-u16 content     what: machine * 8 + kind of frame
 */
#include "launch/replay_machines.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static gsrt_trace_frame frame_of(uint8_t what, gsrt_span content, uint64_t number)
{
    static const gsrt_trace_kind kinds[] = {GSRT_TRACE_INIT, GSRT_TRACE_EVENT, GSRT_TRACE_ACTION, GSRT_TRACE_LOST,
                                            GSRT_TRACE_END};
    const char *machine = gsrt_replay_machines[what / 8 % GSRT_REPLAY_MACHINE_COUNT].name;
    gsrt_trace_frame frame = {.kind = kinds[what % 8 % 5], .number = number};
    if (frame.kind == GSRT_TRACE_INIT)
        frame.init = (gsrt_trace_init){.machine = gsrt_span_of_text(machine), .content = content};
    if (frame.kind == GSRT_TRACE_EVENT)
        frame.event = (gsrt_trace_event){.machine = gsrt_span_of_text(machine), .content = content};
    if (frame.kind == GSRT_TRACE_ACTION)
        frame.action = (gsrt_trace_action){.machine = gsrt_span_of_text(machine), .content = content};
    return frame;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_replay *replay;
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_replay_create(gsrt_replay_machines, GSRT_REPLAY_MACHINE_COUNT, &replay);
    if (status != GSRT_OK)
        return 0;
    uint64_t number = 0;
    for (size_t at = 0; at + 3 <= size && status == GSRT_OK;) {
        size_t length = data[at + 1] | (size_t)data[at + 2] << 8;
        length = length < size - at - 3 ? length : size - at - 3;
        gsrt_trace_frame frame = frame_of(data[at], gsrt_span_of(data + at + 3, length), number++);
        status = gsrt_replay_feed(replay, &frame, "fuzz", &diag);
        at += 3 + length;
    }
    if ((status == GSRT_EINPUT) != (diag.status == GSRT_EINPUT))
        abort();
    const gsrt_replay_difference *difference = gsrt_replay_first_difference(replay);
    if ((difference != NULL) != (gsrt_replay_difference_count(replay) > 0))
        abort();
    gsrt_replay_free(replay);
    return 0;
}
