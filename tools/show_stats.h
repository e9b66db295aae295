/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_SHOW_STATS_H
#define TOOLS_SHOW_STATS_H

#include <stdbool.h>

/*
 * Print what a mount has done: framefs --stats.
 *
 *  mountpoint  where it is
 *  json        as JSON, on one line
 *  watch       every second, until the mount is gone
 *
 * Returns the exit status.
 */
int show_stats(const char *mountpoint, bool json, bool watch);

#endif
