/* Any bytes as events and actions of the membership machine: what decodes has one form, and a machine of three ranks
 * that is fed the events, one after the other, keeps its invariants whatever they say.
 */
#include "base/msgpack.h"
#include "health/membership.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static bool is_equal(const gsrt_buffer *a, const gsrt_buffer *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

typedef struct fuzz {
    gsrt_buffer first, second;
    gsrt_membership *machine;
} fuzz;

static void act(fuzz *f)
{
    gsrt_membership_action action, back;
    memset(&action, 0, sizeof action);
    for (int drawn = 0; gsrt_membership_poll(f->machine, &action); drawn++) {
        must(drawn < 100);
        gsrt_buffer_reset(&f->first);
        gsrt_buffer_reset(&f->second);
        must(gsrt_membership_action_encode(&action, &f->first) == GSRT_OK);
        must(gsrt_membership_action_decode(gsrt_buffer_span(&f->first), &back) == GSRT_OK);
        must(gsrt_membership_action_encode(&back, &f->second) == GSRT_OK);
        must(is_equal(&f->first, &f->second));
        if (action.kind == GSRT_MEMBERSHIP_SEND)
            must(gsrt_membership_message_validate(&action.message, 3) == GSRT_OK);
    }
}

static void one_event(fuzz *f, gsrt_span bytes)
{
    gsrt_membership_event event, back;
    gsrt_membership_action action;
    if (gsrt_membership_action_decode(bytes, &action) == GSRT_OK) {
        gsrt_buffer_reset(&f->first);
        must(gsrt_membership_action_encode(&action, &f->first) == GSRT_OK);
    }
    if (gsrt_membership_event_decode(bytes, &event) != GSRT_OK)
        return;
    gsrt_buffer_reset(&f->first);
    gsrt_buffer_reset(&f->second);
    must(gsrt_membership_event_encode(&event, &f->first) == GSRT_OK);
    must(gsrt_membership_event_decode(gsrt_buffer_span(&f->first), &back) == GSRT_OK);
    must(gsrt_membership_event_encode(&back, &f->second) == GSRT_OK);
    must(is_equal(&f->first, &f->second));
    gsrt_status status = gsrt_membership_step(f->machine, &event);
    must(status == GSRT_OK || status == GSRT_EINVAL);
    act(f);
    must(gsrt_membership_check(f->machine));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz f = {0};
    gsrt_membership_options options = {.rank = 1,
                                       .rank_count = 3,
                                       .lease_ns = 40000000,
                                       .detection_ns = 8000000,
                                       .retry_ns = 3000000,
                                       .takeover_ns = 12000000,
                                       .contact_ns = 10000000};
    gsrt_buffer_init(&f.first, 1 << 20);
    gsrt_buffer_init(&f.second, 1 << 20);
    must(gsrt_membership_create(&options, &f.machine) == GSRT_OK);
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, gsrt_span_of(data, size));
    while (gsrt_unpack_left(&unpack) > 0) {
        gsrt_span bytes = gsrt_unpack_skip(&unpack);
        if (gsrt_unpack_is_ok(&unpack))
            one_event(&f, bytes);
    }
    gsrt_membership_free(f.machine);
    gsrt_buffer_fini(&f.first);
    gsrt_buffer_fini(&f.second);
    return 0;
}
