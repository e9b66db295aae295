/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_REPORT_H
#define TREE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "tree/node.h"

/* Is an error a fault of the file, and not just a passing one? */
bool report_is_fault(int error);

/*
 * Log a fault of a frame, with the frame's name under SOURCE.  Each fault is
 * logged once until the file changes, and at most MAX_FAULTS of them.  Each
 * call counts the fault in the table, even if it is not logged.
 *
 *  st     attributes of the file that has the fault; NULL if they are not known
 *  error  a negative errno; ignored unless report_is_fault()
 */
void report_fault(struct node_table *table, struct node *node,
                  const struct stat *st, int error, const struct fault *fault);

/* Bytes of a file that could not be written out. */
struct unwritten {
    uint64_t off; /* both 0 if the range is not known */
    uint64_t end;
    int error;        /* why: a negative errno */
    const char *fate; /* a word that follows "are" in the message, such as
                         "lost" */
};

/* Log that bytes of a file could not be written out. */
void report_lost(struct node_table *table, struct node *node,
                 const struct unwritten *bytes);

/* Log a text about a file, a lower-case phrase. */
void report_text(struct node_table *table, struct node *node, const char *text);

/* Accepts NULL. */
void fault_log_free(struct fault_log *log);

#endif
