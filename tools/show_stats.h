/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_SHOW_STATS_H
#define TOOLS_SHOW_STATS_H

#include <stdbool.h>

/*
 * Print the statistics of a mount, for framefs --stats.
 *
 *  mountpoint  directory of the mount
 *  json        print JSON, on one line
 *  watch       print every second, until the mount is gone
 *
 * Returns the exit status.
 */
int show_stats(const char *mountpoint, bool json, bool watch);

/* Print them once, in the text format of Prometheus.  Returns the exit
   status. */
int show_stats_prometheus(const char *mountpoint);

#endif
