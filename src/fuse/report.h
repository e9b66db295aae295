/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_REPORT_H
#define FUSE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "fuse/node.h"

/* Does an error say something of the file, and not just of the moment? */
bool report_is_fault(int error);

/*
 * Log what is wrong with a frame, with the name that it has under SOURCE; once
 * for each fault, until the file changes.
 *
 *  state  stamp of the file's state
 *  error  a negative errno; logged only if report_is_fault()
 */
void report_fault(struct node_table *table, struct node *node, uint64_t state,
                  int error, const struct fault *fault);

/* Accepts NULL. */
void fault_log_free(struct fault_log *log);

#endif
