/* SipHash-2-4: the published vectors of its reference implementation. */
#include "mailbox/secret.h"

#include "tests/unit.h"

START_TEST(proves_as_published)
{
    gsrt_secret key;
    uint8_t text[16];
    for (uint8_t i = 0; i < 16; i++)
        key.bytes[i] = text[i] = i;
    ck_assert_uint_eq(gsrt_secret_prove(&key, gsrt_span_of(text, 0)), UINT64_C(0x726fdb47dd0e0e31));
    ck_assert_uint_eq(gsrt_secret_prove(&key, gsrt_span_of(text, 1)), UINT64_C(0x74f839c593dc67fd));
    ck_assert_uint_eq(gsrt_secret_prove(&key, gsrt_span_of(text, 8)), UINT64_C(0x93f5f5799a932462));
    ck_assert_uint_eq(gsrt_secret_prove(&key, gsrt_span_of(text, 15)), UINT64_C(0xa129ca6149be45e5));
}
END_TEST

START_TEST(draws_differ)
{
    gsrt_secret a = {{0}}, b = {{0}};
    ck_assert_int_eq(gsrt_secret_draw(&a, sizeof a), GSRT_OK);
    ck_assert_int_eq(gsrt_secret_draw(&b, sizeof b), GSRT_OK);
    ck_assert_mem_ne(&a, &b, sizeof a);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {proves_as_published, draws_differ};
    return unit_run("secret", tests, sizeof tests / sizeof tests[0]);
}
