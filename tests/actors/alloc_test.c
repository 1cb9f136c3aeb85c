/* Every allocation fails once, then every one and all after it: nothing breaks, nothing leaks (under the address
 * sanitizer), invariants hold, and after a single failure each call still ends exactly once.
 * Linked with --wrap for the four ways to get memory.
 */
#include "tests/unit.h"

#include "actors/node.h"
#include "actors/twin.h"

#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);

static struct {
    uint64_t count, fail_at; /* 0: never */
    bool is_for_good;
    bool is_on;
} memory;

static bool fails(void)
{
    if (!memory.is_on)
        return false;
    memory.count++;
    return memory.fail_at != 0 &&
           (memory.is_for_good ? memory.count >= memory.fail_at : memory.count == memory.fail_at);
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    return fails() ? NULL : __real_aligned_alloc(align, bytes);
}

/* ---- a bit of everything ---- */

enum { CALL_COUNT = 30 };

static struct {
    gsrt_address server;
    uint32_t calls_made, calls_ended;
} story;

static void server_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    uint32_t *count = state;
    if (message->kind != GSRT_KIND_PING)
        return;
    gsrt_status status = GSRT_OK;
    if (message->call != 0 && message->call % 3 != 0)
        status = gsrt_reply(self, message->from, message->call, GSRT_KIND_PONG, &(gsrt_msg_pong){0}, message->payload);
    if (status != GSRT_OK)
        return; /* the caller's time runs out */
    if (++*count == CALL_COUNT)
        gsrt_exit(self, GSRT_EXIT_CRASH); /* some calls are open still */
}

static const gsrt_behaviour server = {"server", sizeof(uint32_t), NULL, server_receive, NULL};
static const gsrt_behaviour child = {"child", 300, NULL, server_receive, NULL};

/* Whatever of this fails, the rest goes on. */
static void client_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    uint32_t *turn = state;
    if (message->is_reply || (message->kind == GSRT_KIND_DOWN && message->call != 0))
        story.calls_ended++;
    if (*turn >= CALL_COUNT)
        return;
    ++*turn;
    gsrt_status ignored;
    uint64_t call;
    gsrt_address address;
    gsrt_payload *payload = gsrt_payload_create(100);
    if (gsrt_call(self, story.server, GSRT_KIND_PING, &(gsrt_msg_ping){0}, payload, 1000000, &call) == GSRT_OK)
        story.calls_made++;
    gsrt_payload_unref(payload);
    ignored = gsrt_spawn(self, &child, NULL, &address);
    if (ignored == GSRT_OK)
        ignored = *turn % 2 != 0 ? gsrt_monitor(self, address) : gsrt_kill(self, address, GSRT_EXIT_NORMAL);
    ignored = gsrt_monitor(self, story.server);
    gsrt_trap_exits(self, true);
    ignored = gsrt_link(self, story.server);
    ignored = gsrt_timer_start(self, 1000, 1, NULL);
    static const uint8_t data[30000];
    ignored = gsrt_send(self, story.server, GSRT_KIND_PONG, &(gsrt_msg_pong){.data = {data, sizeof data}}, NULL);
    (void)ignored;
}

static const gsrt_behaviour client = {"client", sizeof(uint32_t), NULL, client_receive, NULL};

static void tell(bool is_far)
{
    gsrt_twin *twin = NULL;
    gsrt_address address;
    memset(&story, 0, sizeof story);
    memory.count = 0;
    memory.is_on = true;
    gsrt_status status = gsrt_twin_create(&(gsrt_twin_options){.rank_count = is_far ? 2 : 1, .link = {1000, 1}}, &twin);
    if (status == GSRT_OK)
        status = gsrt_node_spawn(gsrt_twin_node(twin, is_far ? 1 : 0), &server, NULL, &story.server);
    if (status == GSRT_OK)
        status = gsrt_node_spawn(gsrt_twin_node(twin, 0), &client, NULL, &address);
    for (uint64_t i = 0; status == GSRT_OK && i < CALL_COUNT; i++)
        status = gsrt_node_post(gsrt_twin_node(twin, 0), address, GSRT_KIND_ACK, &(gsrt_msg_ack){.value = i}, NULL);
    if (twin != NULL)
        (void)gsrt_twin_run(twin, UINT64_MAX, 100000);
    memory.is_on = false;
    for (uint32_t rank = 0; twin != NULL && rank < (is_far ? 2u : 1u); rank++)
        ck_assert(gsrt_node_check(gsrt_twin_node(twin, rank)));
    if (status == GSRT_OK && !memory.is_for_good) {
        (void)gsrt_twin_run(twin, UINT64_MAX, 100000);
        ck_assert_msg(story.calls_ended == story.calls_made, "allocation %lu: %u calls, %u ends", memory.fail_at,
                      story.calls_made, story.calls_ended);
    }
    gsrt_twin_free(twin);
}

static void tell_with_failures(bool is_far, bool is_for_good)
{
    memory.fail_at = 0;
    memory.is_for_good = false;
    tell(is_far);
    ck_assert_uint_eq(story.calls_made, CALL_COUNT);
    uint64_t count = memory.count;
    ck_assert_uint_gt(count, 20);
    memory.is_for_good = is_for_good;
    for (uint64_t n = 1; n <= count; n++) {
        memory.fail_at = n;
        tell(is_far);
    }
}

START_TEST(every_allocation_may_fail_within_a_node)
{
    tell_with_failures(false, false);
    tell_with_failures(false, true);
}
END_TEST

START_TEST(every_allocation_may_fail_between_nodes)
{
    tell_with_failures(true, false);
    tell_with_failures(true, true);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {every_allocation_may_fail_within_a_node, every_allocation_may_fail_between_nodes};
    return unit_run("alloc", tests, sizeof tests / sizeof tests[0]);
}
