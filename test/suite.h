/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include <check.h>

/*
 * Run tests as one suite, each in a process of its own.
 *
 *  tests  array that ends in NULL
 *
 * Returns the exit status for main().
 */
int suite_run(const char *name, const TTest *const *tests);

#endif
