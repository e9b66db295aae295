/* SPDX-License-Identifier: BSD-3-Clause */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

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

void suite_make_dir(char path[SUITE_PATH_MAX])
{
    const char *tmp = getenv("TMPDIR");

    snprintf(path, SUITE_PATH_MAX, "%s/framefs-test-XXXXXX",
             tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(path));
}

void suite_remove_dir(const char *path)
{
    char command[SUITE_PATH_MAX + 16];

    snprintf(command, sizeof(command), "rm -r '%s'", path);
    ck_assert_int_eq(system(command), 0);
}
