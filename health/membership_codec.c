/* Events and actions as msgpack, one array each: [kind, ...]. What a kind does not have is not written.
 *
 *   event    [1 BEGIN, now] [2 TICK, now] [3 SUSPECT, now, rank, incarnation] [4 WORD, now, wait, word]
 *            [5 UNREACHABLE, now, rank, incarnation] [6 DEPOSITED, now, epoch] [7 JOIN_ASKED, now, rank, incarnation]
 *            [8 MESSAGE, now, message]
 *   action   [1 FENCE, fence] [2 END_WORKER, rank, incarnation] [3 DEPOSIT, deposit] [4 SEND, rank, message]
 *            [5 INSTALL, view] [6 UNFENCE] [7 EXIT] [8 TIMER, at]
 *   options  [rank, incarnation, rank_count, lease, detection, retry, takeover, contact, first members or nil]
 *   word     [rank, incarnation, is_last, was_ordered, deposit]
 *   deposit  [epoch, ballot, members]
 *   view     [epoch, is_leased, members]; nil: none
 *   members  [incarnation or nil, ...] by rank
 *   message  [type, from rank, from incarnation, rank, incarnation, epoch, ballot, accepted ballot, time, view]
 */
#include "base/msgpack.h"
#include "health/membership_impl.h"

enum { OPTIONS_FIELD_COUNT = 9, MESSAGE_FIELD_COUNT = 10, WORD_FIELD_COUNT = 5, RECORD_FIELD_COUNT = 3 };

static void pack_members(gsrt_pack *pack, const uint32_t *incarnations, uint32_t rank_count)
{
    gsrt_pack_array(pack, rank_count);
    for (uint32_t rank = 0; rank < rank_count; rank++)
        if (incarnations[rank] == GSRT_NOT_A_MEMBER)
            gsrt_pack_nil(pack);
        else
            gsrt_pack_uint(pack, incarnations[rank]);
}

static uint32_t unpack_members(gsrt_unpack *unpack, uint32_t *incarnations)
{
    uint32_t rank_count = gsrt_unpack_array(unpack, GSRT_RANK_COUNT_MAX);
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        incarnations[rank] = GSRT_NOT_A_MEMBER;
        if (gsrt_unpack_peek(unpack) == GSRT_UNPACK_NIL)
            gsrt_unpack_nil(unpack);
        else
            incarnations[rank] = (uint32_t)gsrt_unpack_uint(unpack, GSRT_NOT_A_MEMBER - 1);
    }
    return rank_count;
}

static void pack_view(gsrt_pack *pack, const gsrt_membership_view *view)
{
    if (view->epoch == 0) {
        gsrt_pack_nil(pack);
        return;
    }
    gsrt_pack_array(pack, RECORD_FIELD_COUNT);
    gsrt_pack_uint(pack, view->epoch);
    gsrt_pack_bool(pack, view->is_leased);
    pack_members(pack, view->incarnations, view->rank_count);
}

static void unpack_view(gsrt_unpack *unpack, gsrt_membership_view *view)
{
    view->epoch = 0;
    view->rank_count = 0;
    view->is_leased = false;
    if (gsrt_unpack_peek(unpack) == GSRT_UNPACK_NIL) {
        gsrt_unpack_nil(unpack);
        return;
    }
    gsrt_unpack_record(unpack, RECORD_FIELD_COUNT);
    view->epoch = (uint32_t)gsrt_unpack_uint(unpack, UINT32_MAX - 1);
    view->is_leased = gsrt_unpack_bool(unpack);
    view->rank_count = unpack_members(unpack, view->incarnations);
    if (view->epoch == 0)
        gsrt_unpack_fail(unpack); /* that is nil */
}

static void pack_deposit(gsrt_pack *pack, const gsrt_deposit *deposit)
{
    gsrt_pack_array(pack, RECORD_FIELD_COUNT);
    gsrt_pack_uint(pack, deposit->epoch);
    gsrt_pack_uint(pack, deposit->ballot);
    pack_members(pack, deposit->incarnations, deposit->rank_count);
}

static void unpack_deposit(gsrt_unpack *unpack, gsrt_deposit *deposit)
{
    gsrt_unpack_record(unpack, RECORD_FIELD_COUNT);
    deposit->epoch = (uint32_t)gsrt_unpack_uint(unpack, UINT32_MAX);
    deposit->ballot = gsrt_unpack_uint(unpack, UINT64_MAX);
    deposit->rank_count = unpack_members(unpack, deposit->incarnations);
}

static void pack_word(gsrt_pack *pack, const gsrt_keeper_word *word)
{
    gsrt_pack_array(pack, WORD_FIELD_COUNT);
    gsrt_pack_uint(pack, word->rank);
    gsrt_pack_uint(pack, word->incarnation);
    gsrt_pack_bool(pack, word->is_last);
    gsrt_pack_bool(pack, word->was_ordered);
    pack_deposit(pack, &word->deposit);
}

static void unpack_word(gsrt_unpack *unpack, gsrt_keeper_word *word)
{
    gsrt_unpack_record(unpack, WORD_FIELD_COUNT);
    word->rank = (uint32_t)gsrt_unpack_uint(unpack, GSRT_RANK_COUNT_MAX - 1);
    word->incarnation = (uint32_t)gsrt_unpack_uint(unpack, UINT32_MAX);
    word->is_last = gsrt_unpack_bool(unpack);
    word->was_ordered = gsrt_unpack_bool(unpack);
    unpack_deposit(unpack, &word->deposit);
}

static void pack_message(gsrt_pack *pack, const gsrt_membership_message *message)
{
    gsrt_pack_array(pack, MESSAGE_FIELD_COUNT);
    gsrt_pack_uint(pack, message->type);
    gsrt_pack_uint(pack, message->from_rank);
    gsrt_pack_uint(pack, message->from_incarnation);
    gsrt_pack_uint(pack, message->rank);
    gsrt_pack_uint(pack, message->incarnation);
    gsrt_pack_uint(pack, message->epoch);
    gsrt_pack_uint(pack, message->ballot);
    gsrt_pack_uint(pack, message->accepted_ballot);
    gsrt_pack_uint(pack, message->time_ns);
    pack_view(pack, &message->value);
}

static void unpack_message(gsrt_unpack *unpack, gsrt_membership_message *message)
{
    gsrt_unpack_record(unpack, MESSAGE_FIELD_COUNT);
    uint64_t type = gsrt_unpack_uint(unpack, GSRT_MEMBERSHIP_JOIN);
    if (type < GSRT_MEMBERSHIP_PREPARE)
        gsrt_unpack_fail(unpack);
    message->type = (gsrt_membership_message_type)type;
    message->from_rank = (uint32_t)gsrt_unpack_uint(unpack, GSRT_RANK_COUNT_MAX - 1);
    message->from_incarnation = (uint32_t)gsrt_unpack_uint(unpack, UINT32_MAX);
    message->rank = (uint32_t)gsrt_unpack_uint(unpack, GSRT_RANK_COUNT_MAX - 1);
    message->incarnation = (uint32_t)gsrt_unpack_uint(unpack, UINT32_MAX);
    message->epoch = (uint32_t)gsrt_unpack_uint(unpack, UINT32_MAX);
    message->ballot = gsrt_unpack_uint(unpack, UINT64_MAX);
    message->accepted_ballot = gsrt_unpack_uint(unpack, UINT64_MAX);
    message->time_ns = gsrt_unpack_uint(unpack, UINT64_MAX);
    unpack_view(unpack, &message->value);
}

gsrt_status gsrt_membership_options_encode(const gsrt_membership_options *options, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, OPTIONS_FIELD_COUNT);
    gsrt_pack_uint(&pack, options->rank);
    gsrt_pack_uint(&pack, options->incarnation);
    gsrt_pack_uint(&pack, options->rank_count);
    gsrt_pack_uint(&pack, options->lease_ns);
    gsrt_pack_uint(&pack, options->detection_ns);
    gsrt_pack_uint(&pack, options->retry_ns);
    gsrt_pack_uint(&pack, options->takeover_ns);
    gsrt_pack_uint(&pack, options->contact_ns);
    if (options->first == NULL)
        gsrt_pack_nil(&pack);
    else
        pack_members(&pack, options->first, options->rank_count);
    return gsrt_pack_end(&pack);
}

gsrt_status gsrt_membership_options_decode(gsrt_span bytes, uint32_t *first, gsrt_membership_options *out)
{
    gsrt_unpack unpack;
    gsrt_membership_options options = {0};
    gsrt_unpack_init(&unpack, bytes);
    gsrt_unpack_record(&unpack, OPTIONS_FIELD_COUNT);
    options.rank = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_RANK_COUNT_MAX - 1);
    options.incarnation = (uint32_t)gsrt_unpack_uint(&unpack, UINT32_MAX);
    options.rank_count = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_RANK_COUNT_MAX);
    options.lease_ns = gsrt_unpack_uint(&unpack, UINT64_MAX);
    options.detection_ns = gsrt_unpack_uint(&unpack, UINT64_MAX);
    options.retry_ns = gsrt_unpack_uint(&unpack, UINT64_MAX);
    options.takeover_ns = gsrt_unpack_uint(&unpack, UINT64_MAX);
    options.contact_ns = gsrt_unpack_uint(&unpack, UINT64_MAX);
    if (gsrt_unpack_peek(&unpack) == GSRT_UNPACK_NIL) {
        gsrt_unpack_nil(&unpack);
    } else {
        options.first = first;
        if (unpack_members(&unpack, first) != options.rank_count)
            gsrt_unpack_fail(&unpack);
    }
    if (gsrt_unpack_end(&unpack) != GSRT_OK)
        return GSRT_EDECODE;
    *out = options;
    return GSRT_OK;
}

/* Values after the kind; 0: no such kind. */
static uint32_t event_field_count(uint64_t kind)
{
    static const uint8_t counts[] = {
        [GSRT_MEMBERSHIP_BEGIN] = 1,      [GSRT_MEMBERSHIP_TICK] = 1,        [GSRT_MEMBERSHIP_SUSPECT] = 3,
        [GSRT_MEMBERSHIP_WORD] = 3,       [GSRT_MEMBERSHIP_UNREACHABLE] = 3, [GSRT_MEMBERSHIP_DEPOSITED] = 2,
        [GSRT_MEMBERSHIP_JOIN_ASKED] = 3, [GSRT_MEMBERSHIP_MESSAGE] = 2};
    return kind < sizeof counts ? counts[kind] : 0;
}

gsrt_status gsrt_membership_event_encode(const gsrt_membership_event *event, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, 1 + event_field_count(event->kind));
    gsrt_pack_uint(&pack, event->kind);
    gsrt_pack_uint(&pack, event->now_ns);
    switch (event->kind) {
    case GSRT_MEMBERSHIP_BEGIN:
    case GSRT_MEMBERSHIP_TICK: break;
    case GSRT_MEMBERSHIP_SUSPECT:
    case GSRT_MEMBERSHIP_UNREACHABLE:
    case GSRT_MEMBERSHIP_JOIN_ASKED:
        gsrt_pack_uint(&pack, event->rank);
        gsrt_pack_uint(&pack, event->incarnation);
        break;
    case GSRT_MEMBERSHIP_WORD:
        gsrt_pack_uint(&pack, event->join_wait_ns);
        pack_word(&pack, &event->word);
        break;
    case GSRT_MEMBERSHIP_DEPOSITED: gsrt_pack_uint(&pack, event->epoch); break;
    case GSRT_MEMBERSHIP_MESSAGE: pack_message(&pack, &event->message); break;
    }
    return gsrt_pack_end(&pack);
}

gsrt_status gsrt_membership_event_decode(gsrt_span bytes, gsrt_membership_event *out)
{
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, bytes);
    uint32_t count = gsrt_unpack_array(&unpack, UINT8_MAX);
    uint64_t kind = gsrt_unpack_uint(&unpack, UINT8_MAX);
    if (event_field_count(kind) == 0 || count != 1 + event_field_count(kind))
        return GSRT_EDECODE;
    gsrt_membership_event event = {.kind = (gsrt_membership_event_kind)kind};
    event.now_ns = gsrt_unpack_uint(&unpack, UINT64_MAX);
    switch (event.kind) {
    case GSRT_MEMBERSHIP_BEGIN:
    case GSRT_MEMBERSHIP_TICK: break;
    case GSRT_MEMBERSHIP_SUSPECT:
    case GSRT_MEMBERSHIP_UNREACHABLE:
    case GSRT_MEMBERSHIP_JOIN_ASKED:
        event.rank = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_RANK_COUNT_MAX - 1);
        event.incarnation = (uint32_t)gsrt_unpack_uint(&unpack, UINT32_MAX);
        break;
    case GSRT_MEMBERSHIP_WORD:
        event.join_wait_ns = gsrt_unpack_uint(&unpack, UINT64_MAX);
        unpack_word(&unpack, &event.word);
        break;
    case GSRT_MEMBERSHIP_DEPOSITED: event.epoch = (uint32_t)gsrt_unpack_uint(&unpack, UINT32_MAX); break;
    case GSRT_MEMBERSHIP_MESSAGE: unpack_message(&unpack, &event.message); break;
    }
    if (gsrt_unpack_end(&unpack) != GSRT_OK)
        return GSRT_EDECODE;
    *out = event;
    return GSRT_OK;
}

/* Values after the kind, plus 1; 0: no such kind. */
static uint32_t action_value_count(uint64_t kind)
{
    static const uint8_t counts[] = {
        [GSRT_MEMBERSHIP_FENCE] = 2, [GSRT_MEMBERSHIP_END_WORKER] = 3, [GSRT_MEMBERSHIP_DEPOSIT] = 2,
        [GSRT_MEMBERSHIP_SEND] = 3,  [GSRT_MEMBERSHIP_INSTALL] = 2,    [GSRT_MEMBERSHIP_UNFENCE] = 1,
        [GSRT_MEMBERSHIP_EXIT] = 1,  [GSRT_MEMBERSHIP_TIMER] = 2};
    return kind < sizeof counts ? counts[kind] : 0;
}

gsrt_status gsrt_membership_action_encode(const gsrt_membership_action *action, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, action_value_count(action->kind));
    gsrt_pack_uint(&pack, action->kind);
    switch (action->kind) {
    case GSRT_MEMBERSHIP_FENCE: gsrt_pack_uint(&pack, action->fence); break;
    case GSRT_MEMBERSHIP_END_WORKER:
        gsrt_pack_uint(&pack, action->rank);
        gsrt_pack_uint(&pack, action->incarnation);
        break;
    case GSRT_MEMBERSHIP_DEPOSIT: pack_deposit(&pack, &action->deposit); break;
    case GSRT_MEMBERSHIP_SEND:
        gsrt_pack_uint(&pack, action->rank);
        pack_message(&pack, &action->message);
        break;
    case GSRT_MEMBERSHIP_INSTALL: pack_view(&pack, &action->view); break;
    case GSRT_MEMBERSHIP_UNFENCE:
    case GSRT_MEMBERSHIP_EXIT: break;
    case GSRT_MEMBERSHIP_TIMER: gsrt_pack_uint(&pack, action->at_ns); break;
    }
    return gsrt_pack_end(&pack);
}

gsrt_status gsrt_membership_action_decode(gsrt_span bytes, gsrt_membership_action *out)
{
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, bytes);
    uint32_t count = gsrt_unpack_array(&unpack, UINT8_MAX);
    uint64_t kind = gsrt_unpack_uint(&unpack, UINT8_MAX);
    if (action_value_count(kind) == 0 || count != action_value_count(kind))
        return GSRT_EDECODE;
    gsrt_membership_action action = {.kind = (gsrt_membership_action_kind)kind};
    switch (action.kind) {
    case GSRT_MEMBERSHIP_FENCE: action.fence = (gsrt_membership_fence)gsrt_unpack_uint(&unpack, GSRT_FENCE_LEFT); break;
    case GSRT_MEMBERSHIP_END_WORKER:
        action.rank = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_RANK_COUNT_MAX - 1);
        action.incarnation = (uint32_t)gsrt_unpack_uint(&unpack, UINT32_MAX);
        break;
    case GSRT_MEMBERSHIP_DEPOSIT: unpack_deposit(&unpack, &action.deposit); break;
    case GSRT_MEMBERSHIP_SEND:
        action.rank = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_RANK_COUNT_MAX - 1);
        unpack_message(&unpack, &action.message);
        break;
    case GSRT_MEMBERSHIP_INSTALL: unpack_view(&unpack, &action.view); break;
    case GSRT_MEMBERSHIP_UNFENCE:
    case GSRT_MEMBERSHIP_EXIT: break;
    case GSRT_MEMBERSHIP_TIMER: action.at_ns = gsrt_unpack_uint(&unpack, UINT64_MAX); break;
    }
    if (gsrt_unpack_end(&unpack) != GSRT_OK)
        return GSRT_EDECODE;
    *out = action;
    return GSRT_OK;
}

const char *gsrt_membership_action_name(gsrt_membership_action_kind kind)
{
    switch (kind) {
    case GSRT_MEMBERSHIP_FENCE: return "fence";
    case GSRT_MEMBERSHIP_END_WORKER: return "end_worker";
    case GSRT_MEMBERSHIP_DEPOSIT: return "deposit";
    case GSRT_MEMBERSHIP_SEND: return "send";
    case GSRT_MEMBERSHIP_INSTALL: return "install";
    case GSRT_MEMBERSHIP_UNFENCE: return "unfence";
    case GSRT_MEMBERSHIP_EXIT: return "exit";
    case GSRT_MEMBERSHIP_TIMER: return "timer";
    }
    return NULL;
}
