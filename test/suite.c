/* SPDX-License-Identifier: BSD-3-Clause */
#include "suite.h"

int suite_run(const char *name, const TTest *const *tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    SRunner *runner = srunner_create(suite);
    int nfailed;

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    for (; *tests; tests++)
        tcase_add_test(tcase, *tests);
    srunner_run_all(runner, CK_NORMAL);
    nfailed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return nfailed != 0;
}
