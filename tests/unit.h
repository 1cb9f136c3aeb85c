/* The main function that every unit test shares: run the listed libcheck tests of one noun.
 *
 *     int main(void)
 *     {
 *         const TTest *tests[] = {cut_inside, cut_outside_is_refused};
 *         return unit_run("span", tests, sizeof tests / sizeof tests[0]);
 *     }
 */
#ifndef GSRT_TESTS_UNIT_H
#define GSRT_TESTS_UNIT_H

#include <check.h>
#include <stddef.h>

static inline int unit_run(const char *noun, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(noun);
    TCase *tcase = tcase_create(noun);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

#endif
