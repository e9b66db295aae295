/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_ISO_TIME_H
#define NET_ISO_TIME_H

#include <stdbool.h>
#include <time.h>

/*
 * Parse a time such as 2009-10-12T17:50:30.000Z, with or without the fraction,
 * which is dropped.  The zone is Z or +HH:MM.
 *
 * Returns false, and leaves `out` alone, if the text is something else.
 */
bool iso_time_parse(const char *text, time_t *out);

#endif
