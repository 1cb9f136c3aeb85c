/* The in-process transport fulfils the contract of a transport, between two threads. */
#include "mailbox/inproc.h"

#include "tests/mailbox/transport_suite.h"
#include "tests/unit.h"

#include <pthread.h>

static void *run_side(void *arg)
{
    suite_run(arg, 2000);
    return NULL;
}

START_TEST(fulfils_the_contract)
{
    suite_side sides[2] = {{.rank = 0}, {.rank = 1}};
    gsrt_transport *pairs[4][2];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(gsrt_inproc_create(2, pairs[i]), GSRT_OK);
    for (uint32_t rank = 0; rank < 2; rank++) {
        suite_listen(&sides[rank].control, pairs[0][rank], rank);
        suite_listen(&sides[rank].data, pairs[1][rank], rank);
        suite_listen(&sides[rank].cut, pairs[2][rank], rank);
        suite_listen(&sides[rank].down, pairs[3][rank], rank);
    }
    pthread_t other;
    ck_assert_int_eq(pthread_create(&other, NULL, run_side, &sides[1]), 0);
    run_side(&sides[0]);
    pthread_join(other, NULL);
    suite_fini(&sides[0]);
    suite_fini(&sides[1]);
}
END_TEST

static void count_receive(void *arg, uint32_t peer, const gsrt_envelope *envelope)
{
    (void)envelope;
    ((uint32_t *)arg)[peer]++;
}

START_TEST(many_endpoints_and_itself)
{
    enum { COUNT = 5 };
    gsrt_transport *ends[COUNT];
    uint32_t seen[COUNT][COUNT] = {0};
    ck_assert_int_eq(gsrt_inproc_create(COUNT, ends), GSRT_OK);
    for (uint32_t rank = 0; rank < COUNT; rank++)
        gsrt_transport_listen(ends[rank], &(gsrt_transport_events){.arg = seen[rank], .on_receive = count_receive});
    gsrt_envelope envelope = {.kind = GSRT_KIND_STOP};
    for (uint32_t from = 0; from < COUNT; from++)
        for (uint32_t to = 0; to < COUNT; to++)
            for (uint32_t i = 0; i <= from; i++)
                ck_assert_int_eq(ends[from]->ops->post(ends[from], to, &envelope), GSRT_OK);
    ck_assert_int_eq(ends[0]->ops->post(ends[0], COUNT, &envelope), GSRT_ELINK);
    for (uint32_t to = 0; to < COUNT; to++)
        ck_assert_uint_eq(ends[to]->ops->progress(ends[to]), COUNT * (COUNT + 1) / 2);
    for (uint32_t to = 0; to < COUNT; to++)
        for (uint32_t from = 0; from < COUNT; from++)
            ck_assert_uint_eq(seen[to][from], from + 1);
    for (uint32_t rank = 0; rank < COUNT; rank++)
        ends[rank]->ops->free(ends[rank]);
    gsrt_transport *none[1];
    ck_assert_int_eq(gsrt_inproc_create(0, none), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_inproc_create(GSRT_RANK_COUNT_MAX + 1, none), GSRT_EINVAL);
}
END_TEST

START_TEST(payloads_are_shared)
{
    gsrt_transport *ends[2];
    uint32_t seen[2] = {0};
    ck_assert_int_eq(gsrt_inproc_create(2, ends), GSRT_OK);
    gsrt_transport_listen(ends[1], &(gsrt_transport_events){.arg = seen, .on_receive = count_receive});
    gsrt_payload *payload = gsrt_payload_create(1000);
    gsrt_envelope envelope = {.kind = GSRT_KIND_ACTIVATION, .payload = payload};
    ck_assert_int_eq(ends[0]->ops->post(ends[0], 1, &envelope), GSRT_OK);
    ck_assert_uint_eq(atomic_load(&payload->references), 2);
    (void)ends[1]->ops->progress(ends[1]);
    ck_assert_uint_eq(seen[0], 1);
    ck_assert_uint_eq(atomic_load(&payload->references), 1);
    /* what was never received is given back */
    ck_assert_int_eq(ends[0]->ops->post(ends[0], 1, &envelope), GSRT_OK);
    ends[0]->ops->cut(ends[0], 1);
    ck_assert_uint_eq(atomic_load(&payload->references), 1);
    ck_assert_int_eq(ends[0]->ops->post(ends[0], 0, &envelope), GSRT_OK);
    ends[0]->ops->free(ends[0]);
    ends[1]->ops->free(ends[1]);
    ck_assert_uint_eq(atomic_load(&payload->references), 1);
    gsrt_payload_unref(payload);
    ck_assert_ptr_null(gsrt_payload_create((size_t)GSRT_PAYLOAD_BYTES_MAX + 1));
}
END_TEST

int main(void)
{
    const TTest *tests[] = {fulfils_the_contract, many_endpoints_and_itself, payloads_are_shared};
    return unit_run("inproc", tests, sizeof tests / sizeof tests[0]);
}
