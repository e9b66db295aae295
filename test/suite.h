/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include <check.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SUITE_PATH_MAX = 256,  /* bytes in the path of a directory, with its NUL */
    SUITE_DATA_MAX = 4096, /* the same of a file in test/data */
};

/*
 * Run tests as one suite, each in a process of its own.
 *
 *  tests  array that ends in NULL
 *
 * Returns the exit status for main().
 */
int suite_run(const char *name, const TTest *const *tests);

/*
 * Make a directory of the test's own, below $TMPDIR or /tmp, and store its
 * path; remove it with all that it holds.
 */
void suite_make_dir(char path[SUITE_PATH_MAX]);
void suite_remove_dir(const char *path);

/* Store the path of a file in test/data, whose name there is formatted. */
void suite_data_path(char path[SUITE_DATA_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Read a whole file.  Returns `len` bytes, which the caller frees. */
uint8_t *suite_read(const char *path, size_t *len);

#endif
