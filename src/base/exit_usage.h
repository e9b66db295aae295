/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_EXIT_USAGE_H
#define BASE_EXIT_USAGE_H

/* Exit status for wrong usage, besides EXIT_SUCCESS and EXIT_FAILURE. */
enum {
    EXIT_USAGE = 2
};

#endif
