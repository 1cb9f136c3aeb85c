/* Payloads and views: who keeps whom alive, and where a view may lie. */
#include "base/limits.h"
#include "mailbox/payload.h"
#include "tests/unit.h"

#include <string.h>
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { HAS_OWN_ALLOCATOR = 1 };
#else
enum { HAS_OWN_ALLOCATOR = 0 };
#endif

START_TEST(a_view_is_a_part_and_keeps_the_whole)
{
    gsrt_payload *whole = gsrt_payload_create(256);
    ck_assert_ptr_nonnull(whole);
    whole->data[64] = 7;
    gsrt_payload *view = gsrt_payload_view(whole, 64, 100);
    ck_assert_ptr_nonnull(view);
    ck_assert_ptr_eq(view->data, whole->data + 64);
    ck_assert_uint_eq(view->len, 100);
    gsrt_payload *inner = gsrt_payload_view(view, 64, 36);
    ck_assert_ptr_nonnull(inner);
    ck_assert_uint_eq(atomic_load(&whole->references), 2);
    gsrt_payload_unref(whole);
    gsrt_payload_unref(view);
    inner->data[0] = 9; /* the memory is there as long as the innermost view: seen by the address sanitizer */
    ck_assert_uint_eq(inner->data[-64], 7);
    gsrt_payload_unref(inner);
}
END_TEST

START_TEST(a_view_ends_within_the_whole_and_is_aligned)
{
    gsrt_payload *whole = gsrt_payload_create(256);
    ck_assert_ptr_nonnull(whole);
    ck_assert_ptr_null(gsrt_payload_view(whole, 32, 10));
    ck_assert_ptr_null(gsrt_payload_view(whole, 192, 65));
    ck_assert_ptr_null(gsrt_payload_view(whole, 320, 0));
    ck_assert_ptr_null(gsrt_payload_view(whole, 64, SIZE_MAX));
    gsrt_payload_unref(gsrt_payload_view(whole, 256, 0)); /* nothing, at its end */
    ck_assert_uint_eq(atomic_load(&whole->references), 1);
    gsrt_payload_unref(whole);
}
END_TEST

static long minor_faults(void)
{
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

/* What was freed serves again: the kernel is not asked for its pages anew (a sanitizer's allocator has its own ways).
 */
START_TEST(memory_is_kept)
{
    enum { BYTES = 4 << 20, PAGES = BYTES / 4096, ROUNDS = 10 };
    gsrt_payload_keep_memory();
    long before = minor_faults();
    for (int i = 0; i < ROUNDS; i++) {
        gsrt_payload *payload = gsrt_payload_create(BYTES);
        ck_assert_ptr_nonnull(payload);
        memset(payload->data, i, BYTES);
        gsrt_payload_unref(payload);
    }
    long faults = minor_faults() - before;
    ck_assert_msg(HAS_OWN_ALLOCATOR || faults < 2 * PAGES, "%ld page faults for %d pages", faults, PAGES);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {a_view_is_a_part_and_keeps_the_whole, a_view_ends_within_the_whole_and_is_aligned,
                            memory_is_kept};
    return unit_run("payload", tests, sizeof tests / sizeof tests[0]);
}
