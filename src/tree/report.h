/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_REPORT_H
#define TREE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "tree/node.h"

/* Does an error say something of the file, and not just of the moment? */
bool report_is_fault(int error);

/*
 * Log what is wrong with a frame, with the name that it has under SOURCE; once
 * for each fault, until the file changes.  Count it each time.
 *
 *  state  stamp of the file's state
 *  error  a negative errno; logged only if report_is_fault()
 */
void report_fault(struct node_table *table, struct node *node, uint64_t state,
                  int error, const struct fault *fault);

/*
 * Log that bytes of a file could not be written out.
 *
 *  off, end  where they lie; both 0 if that is not known
 *  fate      what becomes of them
 */
void report_lost(struct node_table *table, struct node *node, int error,
                 uint64_t off, uint64_t end, const char *fate);

/* Accepts NULL. */
void fault_log_free(struct fault_log *log);

#endif
