/* SPDX-License-Identifier: BSD-3-Clause */
#include "suite.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int suite_run(const char *name, const TTest *const *tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    SRunner *runner = srunner_create(suite);
    int nfailed;

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 600);
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

void suite_data_path(char path[SUITE_DATA_MAX], const char *format, ...)
{
    const char *data = getenv("FRAMEFS_TEST_DATA");
    va_list args;
    int len;

    ck_assert_ptr_nonnull(data);
    len = snprintf(path, SUITE_DATA_MAX, "%s/", data);
    ck_assert_int_lt(len, SUITE_DATA_MAX);
    va_start(args, format);
    len += vsnprintf(path + len, (size_t)(SUITE_DATA_MAX - len), format, args);
    va_end(args);
    ck_assert_int_lt(len, SUITE_DATA_MAX);
}

uint8_t *suite_read(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    uint8_t *bytes;

    ck_assert_msg(file != NULL, "%s", path);
    ck_assert_int_eq(fstat(fileno(file), &st), 0);
    *len = (size_t)st.st_size;
    bytes = malloc(*len);
    ck_assert_uint_eq(fread(bytes, 1, *len, file), *len);
    fclose(file);
    return bytes;
}
