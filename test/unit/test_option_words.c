/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/file_options.h"
#include "state/option_words.h"
#include "suite.h"

static int set(const char *name, uint64_t number)
{
    struct file_options options = file_default_options;
    struct file_params params = params_default;
    char text[32];
    int r;

    snprintf(text, sizeof(text), "%" PRIu64, number);
    r = file_options_set(&options, name, text);
    return r == -ENOENT ? params_set(&params, name, text) : r;
}

START_TEST(the_limits_that_are_told_are_those_that_count)
{
    const char *const names[] = {
        "clevel",  "typesize", "threads",     "commit", "lock",
        "timeout", "retries",  "connections", "grace",  "revalidate",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *from = strstr(option_values(names[i]), "from ");
        uint64_t min;
        uint64_t max;

        ck_assert_msg(from, "%s", names[i]);
        ck_assert_int_eq(
            sscanf(from, "from %" SCNu64 " to %" SCNu64, &min, &max), 2);
        ck_assert_int_eq(set(names[i], min), 0);
        ck_assert_int_eq(set(names[i], max), 0);
        ck_assert_int_eq(set(names[i], max + 1), -EINVAL);
        if (min > 0)
            ck_assert_int_eq(set(names[i], min - 1), -EINVAL);
    }
    ck_assert_int_eq(set("netcache_size", 16 << 20), 0);
    ck_assert_int_eq(set("netcache_size", (16 << 20) - 1), -EINVAL);
    ck_assert_int_eq(set("chunksize", 1 << 30), 0);
    ck_assert_int_eq(set("chunksize", (1 << 30) + 1), -EINVAL);
}
END_TEST

/* Set filters and typesize, which do not go together, and return why. */
static const char *clash(const char *filters, const char *typesize)
{
    static char text[OPTION_CLASH_LEN];
    struct file_params params = params_default;

    ck_assert_int_eq(params_set(&params, "filters", filters), 0);
    ck_assert_int_eq(params_set(&params, "typesize", typesize), 0);
    ck_assert_int_lt(params_check(&params), 0);
    option_clash(&params, text);
    return text;
}

START_TEST(a_clash_names_what_does_not_go_with_the_rest)
{
    ck_assert_ptr_nonnull(
        strstr(clash("shuffle+trunc_prec:10", "2"), "trunc_prec wants"));
    ck_assert_ptr_nonnull(strstr(clash("trunc_prec:24", "4"), "1 to 23"));
    ck_assert_ptr_nonnull(strstr(clash("int_trunc:70", "8"), "int_trunc"));
    ck_assert_ptr_nonnull(strstr(clash("ndcell:4", "8"), "an array"));
    ck_assert_ptr_nonnull(strstr(clash("trunc_prec:10+delta", "8"), "delta"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_limits_that_are_told_are_those_that_count,
        a_clash_names_what_does_not_go_with_the_rest,
        NULL,
    };

    return suite_run("option_words", tests);
}
