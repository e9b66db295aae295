/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_SHOW_PROMETHEUS_H
#define TOOLS_SHOW_PROMETHEUS_H

/*
 * Print the statistics of a mount in the text format of Prometheus.
 *
 *  mountpoint  its path, which each figure gets as a label
 *  text        the statistics as JSON
 *
 * Returns 0, or -ENODATA if the JSON lacks a figure.
 */
int show_prometheus(const char *mountpoint, const char *text);

#endif
