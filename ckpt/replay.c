#include "ckpt/replay.h"

#include "base/msgpack.h"

#include <stdio.h>
#include <stdlib.h>

/* A decided action that waits to be compared: a piece of the instance's bytes. */
typedef struct decided {
    size_t offset, len;
} decided;

typedef struct instance {
    gsrt_address actor;
    uint32_t kind;
    bool is_over; /* not compared any more: it differed, or events of it were lost */
    void *machine;
    uint64_t event_frame;     /* of the last event */
    gsrt_buffer bytes;        /* of the actions that it led to */
    gsrt_buffer actions;      /* decided[] */
    uint32_t compared, count; /* of them */
} instance;

struct gsrt_replay {
    const gsrt_replay_kind *kinds;
    uint32_t kind_count;
    instance *instances; /* [instance_count], in the order of their beginning */
    uint32_t instance_count, instance_capacity;
    gsrt_replay_account accounts[GSRT_REPLAY_KIND_COUNT_MAX];
    uint64_t unknown_count, lost_count;
    struct {
        gsrt_replay_difference what;   /* the first of its kind; borrows */
        gsrt_buffer recorded, decided; /* from these */
    } differences[GSRT_REPLAY_KIND_COUNT_MAX];
};

gsrt_status gsrt_replay_create(const gsrt_replay_kind *kinds, uint32_t kind_count, gsrt_replay **out)
{
    if (kind_count > GSRT_REPLAY_KIND_COUNT_MAX)
        return GSRT_EINVAL;
    gsrt_replay *replay = calloc(1, sizeof *replay);
    if (replay == NULL)
        return GSRT_ENOMEM;
    replay->kinds = kinds;
    replay->kind_count = kind_count;
    for (uint32_t i = 0; i < kind_count; i++) {
        replay->accounts[i].name = kinds[i].name;
        /* JSON of a frame: a byte of msgpack is at most "false," */
        gsrt_buffer_init(&replay->differences[i].recorded, 8 * (size_t)GSRT_TRACE_FRAME_BYTES_MAX);
        gsrt_buffer_init(&replay->differences[i].decided, 8 * (size_t)GSRT_TRACE_FRAME_BYTES_MAX);
    }
    *out = replay;
    return GSRT_OK;
}

static void instance_fini(const gsrt_replay *replay, instance *it)
{
    if (it->machine != NULL)
        replay->kinds[it->kind].destroy(it->machine);
    it->machine = NULL;
    gsrt_buffer_fini(&it->bytes);
    gsrt_buffer_fini(&it->actions);
}

gsrt_replay *gsrt_replay_free(gsrt_replay *replay)
{
    if (replay != NULL) {
        for (uint32_t i = 0; i < replay->instance_count; i++)
            instance_fini(replay, &replay->instances[i]);
        free(replay->instances);
        for (uint32_t i = 0; i < replay->kind_count; i++) {
            gsrt_buffer_fini(&replay->differences[i].recorded);
            gsrt_buffer_fini(&replay->differences[i].decided);
        }
        free(replay);
    }
    return NULL;
}

const gsrt_replay_account *gsrt_replay_accounts(const gsrt_replay *replay)
{
    return replay->accounts;
}

const gsrt_replay_difference *gsrt_replay_difference_of(const gsrt_replay *replay, uint32_t kind)
{
    return replay->accounts[kind].difference_count == 0 ? NULL : &replay->differences[kind].what;
}

const gsrt_replay_difference *gsrt_replay_first_difference(const gsrt_replay *replay)
{
    const gsrt_replay_difference *first = NULL;
    for (uint32_t i = 0; i < replay->kind_count; i++) {
        const gsrt_replay_difference *d = gsrt_replay_difference_of(replay, i);
        if (d != NULL && (first == NULL || d->frame_number < first->frame_number))
            first = d;
    }
    return first;
}

uint64_t gsrt_replay_difference_count(const gsrt_replay *replay)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < replay->kind_count; i++)
        count += replay->accounts[i].difference_count;
    return count;
}

uint64_t gsrt_replay_unknown_count(const gsrt_replay *replay)
{
    return replay->unknown_count;
}

uint64_t gsrt_replay_lost_count(const gsrt_replay *replay)
{
    return replay->lost_count;
}

/* ---- who is meant ---- */

static gsrt_status refuse(const gsrt_trace_frame *frame, const char *file, gsrt_diag *diag, const char *what)
{
    char place[64];
    (void)snprintf(place, sizeof place, "frame %llu, byte %zu", (unsigned long long)frame->number, frame->offset_bytes);
    return gsrt_diag_set(diag, GSRT_EINPUT, file, place, "%s; the trace is not what was written", what);
}

/* kind_count: none. */
static uint32_t kind_of(const gsrt_replay *replay, gsrt_span name)
{
    uint32_t kind = 0;
    while (kind < replay->kind_count && !gsrt_span_equal(name, gsrt_span_of_text(replay->kinds[kind].name)))
        kind++;
    return kind;
}

/* The last that began: an actor's address is not used twice, but nothing forbids it a second machine of a kind. */
static instance *instance_of(const gsrt_replay *replay, gsrt_address actor, uint32_t kind)
{
    for (uint32_t i = replay->instance_count; i > 0; i--) {
        if (replay->instances[i - 1].actor == actor && replay->instances[i - 1].kind == kind)
            return &replay->instances[i - 1];
    }
    return NULL;
}

/* ---- a difference ---- */

/* Its name and its values. What cannot be kept is left out: that there is a difference is said all the same. */
static void describe(const gsrt_replay *replay, uint32_t kind, gsrt_span action, gsrt_buffer *out)
{
    const char *name = replay->kinds[kind].action_name(action);
    gsrt_status status = gsrt_buffer_print(out, "%s ", name == NULL ? "unknown" : name);
    if (status != GSRT_OK || gsrt_trace_print_content(action, out) != GSRT_OK)
        gsrt_buffer_reset(out);
}

/* It is not compared any more, and needs its machine no more. */
static void end_instance(const gsrt_replay *replay, instance *it)
{
    it->is_over = true;
    if (it->machine != NULL)
        replay->kinds[it->kind].destroy(it->machine);
    it->machine = NULL;
}

static void differ(gsrt_replay *replay, instance *it, const gsrt_trace_frame *frame, const gsrt_span *recorded)
{
    end_instance(replay, it);
    if (replay->accounts[it->kind].difference_count++ > 0)
        return;
    gsrt_buffer *was = &replay->differences[it->kind].recorded, *is = &replay->differences[it->kind].decided;
    if (recorded != NULL)
        describe(replay, it->kind, *recorded, was);
    if (it->compared < it->count) {
        const decided *next = (const decided *)(const void *)it->actions.data + it->compared;
        describe(replay, it->kind, gsrt_span_of(it->bytes.data + next->offset, next->len), is);
    }
    replay->differences[it->kind].what = (gsrt_replay_difference){.frame_number = frame->number,
                                                                  .event_frame = it->event_frame,
                                                                  .actor = it->actor,
                                                                  .machine = replay->kinds[it->kind].name,
                                                                  .recorded = gsrt_buffer_span(was),
                                                                  .decided = gsrt_buffer_span(is)};
}

/* All that it decided must have been seen by now. */
static void expect_drawn(gsrt_replay *replay, instance *it, const gsrt_trace_frame *frame)
{
    if (!it->is_over && it->compared < it->count)
        differ(replay, it, frame, NULL);
}

/* ---- frames ---- */

static gsrt_status begin(gsrt_replay *replay, const gsrt_trace_frame *frame, const char *file, gsrt_diag *diag)
{
    uint32_t kind = kind_of(replay, frame->init.machine);
    if (kind == replay->kind_count) {
        replay->unknown_count++;
        return GSRT_OK;
    }
    if (replay->instance_count == GSRT_ACTOR_COUNT_MAX)
        return refuse(frame, file, diag, "more machines than GSRT_ACTOR_COUNT_MAX");
    if (replay->instance_count == replay->instance_capacity) {
        uint32_t capacity = replay->instance_capacity == 0 ? 8 : replay->instance_capacity * 2;
        instance *instances = realloc(replay->instances, capacity * sizeof *instances);
        if (instances == NULL)
            return GSRT_ENOMEM;
        replay->instances = instances;
        replay->instance_capacity = capacity;
    }
    instance *before = instance_of(replay, frame->init.actor, kind);
    if (before != NULL) {
        expect_drawn(replay, before, frame);
        end_instance(replay, before);
    }
    instance *it = &replay->instances[replay->instance_count];
    *it = (instance){.actor = frame->init.actor, .kind = kind, .event_frame = frame->number};
    gsrt_status status = replay->kinds[kind].create(frame->init.content, &it->machine);
    if (status == GSRT_ENOMEM)
        return status;
    if (status != GSRT_OK)
        return refuse(frame, file, diag, "a machine cannot have begun with these options");
    gsrt_buffer_init(&it->bytes, GSRT_REPLAY_ACTIONS_BYTES_MAX);
    gsrt_buffer_init(&it->actions, GSRT_REPLAY_ACTIONS_BYTES_MAX);
    replay->instance_count++;
    replay->accounts[kind].machine_count++;
    return GSRT_OK;
}

/* Its actions, drawn until there is none. */
static gsrt_status draw_all(const gsrt_replay_kind *kind, instance *it)
{
    gsrt_status status = GSRT_OK;
    while (status == GSRT_OK) {
        decided next = {.offset = it->bytes.len};
        status = kind->draw(it->machine, &it->bytes);
        next.len = it->bytes.len - next.offset;
        if (status == GSRT_OK)
            status = gsrt_buffer_append(&it->actions, &next, sizeof next);
        it->count += status == GSRT_OK;
    }
    return status == GSRT_EEMPTY ? GSRT_OK : status;
}

static gsrt_status feed_event(gsrt_replay *replay, instance *it, const gsrt_trace_frame *frame, const char *file,
                              gsrt_diag *diag)
{
    const gsrt_replay_kind *kind = &replay->kinds[it->kind];
    expect_drawn(replay, it, frame);
    if (it->is_over) {
        replay->accounts[it->kind].skipped_count++;
        return GSRT_OK;
    }
    gsrt_buffer_reset(&it->bytes);
    gsrt_buffer_reset(&it->actions);
    it->compared = it->count = 0;
    it->event_frame = frame->number;
    replay->accounts[it->kind].event_count++;
    gsrt_status status = kind->step(it->machine, frame->event.content);
    if (status == GSRT_EDECODE)
        return refuse(frame, file, diag, "the machine knows no such event");
    if (status != GSRT_OK)
        return status == GSRT_ENOMEM ? status : GSRT_OK;
    status = draw_all(kind, it);
    if (status == GSRT_ELIMIT)
        return refuse(frame, file, diag, "one event leads to more actions than GSRT_REPLAY_ACTIONS_BYTES_MAX");
    return status;
}

static void compare_action(gsrt_replay *replay, instance *it, const gsrt_trace_frame *frame)
{
    if (it->is_over) {
        replay->accounts[it->kind].skipped_count++;
        return;
    }
    gsrt_span recorded = frame->action.content;
    replay->accounts[it->kind].action_count++;
    if (it->compared < it->count) {
        const decided *next = (const decided *)(const void *)it->actions.data + it->compared;
        if (gsrt_span_equal(recorded, gsrt_span_of(it->bytes.data + next->offset, next->len))) {
            it->compared++;
            return;
        }
    }
    differ(replay, it, frame, &recorded);
}

/* An event or an action: both have the same fields, in the same place. */
static gsrt_status move(gsrt_replay *replay, const gsrt_trace_frame *frame, const char *file, gsrt_diag *diag)
{
    bool is_event = frame->kind == GSRT_TRACE_EVENT;
    gsrt_span name = is_event ? frame->event.machine : frame->action.machine;
    uint32_t kind = kind_of(replay, name);
    if (kind == replay->kind_count) {
        replay->unknown_count++;
        return GSRT_OK;
    }
    instance *it = instance_of(replay, is_event ? frame->event.actor : frame->action.actor, kind);
    if (it == NULL && replay->lost_count == 0)
        return refuse(frame, file, diag, "an event or an action of a machine that has not begun");
    if (it == NULL) { /* its beginning was lost */
        replay->accounts[kind].skipped_count++;
        return GSRT_OK;
    }
    if (is_event)
        return feed_event(replay, it, frame, file, diag);
    compare_action(replay, it, frame);
    return GSRT_OK;
}

gsrt_status gsrt_replay_feed(gsrt_replay *replay, const gsrt_trace_frame *frame, const char *file, gsrt_diag *diag)
{
    switch (frame->kind) {
    case GSRT_TRACE_INIT: return begin(replay, frame, file, diag);
    case GSRT_TRACE_EVENT:
    case GSRT_TRACE_ACTION: return move(replay, frame, file, diag);
    case GSRT_TRACE_LOST:
        replay->lost_count += frame->lost.frame_count;
        for (uint32_t i = 0; i < replay->instance_count; i++)
            end_instance(replay, &replay->instances[i]);
        return GSRT_OK;
    case GSRT_TRACE_END:
        for (uint32_t i = 0; i < replay->instance_count; i++)
            expect_drawn(replay, &replay->instances[i], frame);
        return GSRT_OK;
    case GSRT_TRACE_RUN:
    case GSRT_TRACE_MESSAGE:
    case GSRT_TRACE_NOTE: return GSRT_OK;
    }
    return GSRT_OK;
}
